"""Contact as a spring and a damper: a constitutive law, where the others are constraints.

    λ_n = max(0, -k g - b u_n)   where the gap g < 0, else 0                                                     (1)
    λ_t = -μ λ_n u_t / max(|u_t|, u_s)                                                                           (2)

The forces are functions of the state, so they exist and are unique whatever the friction: a contact that jams is
compressed until it stops sliding, and pushed apart again, as an impact without collision [1, 2]. Rigid contact is the
limit of stiff springs. Below the slip speed u_s friction grows with the velocity: a contact that sticks creeps.

Such a law makes no mathematical problem of a step; engine/integrate.py integrates it with an adaptive step.

[1] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378, section 5.
[2] Shen, Stronge, Painlevé paradox during oblique impact with friction, European Journal of Mechanics A 30 (2011)
    457-467.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, not_negative, positive
from stickslip.problems.matrix import Vector


@dataclass(frozen=True)
@checked(stiffness=positive, damping=not_negative, slip_speed=positive)
class Penalty:
    """Spring and damper along the normal, and Coulomb friction with its kinetic coefficient."""

    stiffness: float  # k   [N/m]
    damping: float = 0.0  # b   [N s/m]
    slip_speed: float = 1e-3  # u_s   [m/s]

    def force(self, gap: float, u: Vector, mu: float) -> Vector:
        """λ (d,) of a contact with velocity u, both normal first   [N]."""
        force = np.zeros(u.size)
        if gap < 0:
            force[0] = max(0.0, -self.stiffness * gap - self.damping * u[0])
            force[1:] = -mu * force[0] * u[1:] / max(float(np.linalg.norm(u[1:])), self.slip_speed)
        return force

    def stored(self, gap: float) -> float:
        """Energy in the spring   [J]."""
        return 0.5 * self.stiffness * min(gap, 0.0) ** 2
