"""How a contact's gap enters the velocities of a step. It is named and chosen, never hidden:

    0 <= p_n  ⊥  u_n + ε p_n + d >= 0                                                                         (1)

    Gap(recovery,     ε = 0,  d = ψ/h where ψ > TOUCHING: the gap may close, no more [1];
        brake)        d = recovery ψ/h elsewhere: this share of the overlap is taken back in a step. Recovery 1 takes
                      it back at once and leaves the velocity of that behind; a small share does so gently. It holds
                      for gaps that are rounding too, else contacts at rest would open and close for ever.
                      Deep overlaps are taken back no faster than with √(2 brake |ψ|), the speed that a deceleration
                      `brake` stops at the surface. Where it is less than gravity, what has been pushed out does not
                      jump, whatever its size and the step
    Relaxation(k, b)  ε = 1/(h² k + h b),  d = ε h k ψ: a spring and a damper, met implicitly [2];
                      a rigid contact, k = ∞, has ε = 0 and d = ψ/h
    None              ε = d = 0 where the contact is closed, ψ <= TOUCHING; open contacts are left out. What overlaps
                      stays so

Friction has a relaxation of its own, a bristle of stiffness k_t and damping b_t [2]:

    u_t + ε_t p_t + d_t,    ε_t = 1/(h² k_t + h b_t),   d_t = -ε_t (p_t + h b_t u_t) of the step before          (2)

What they make of a contact is in friction/terms.py.

[1] Stewart, Trinkle, An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb
    friction, International Journal for Numerical Methods in Engineering 39 (1996) 2673-2691.
[2] Lacoursière, A regularized time stepper for multibody systems, UMINF 06.04 (2006); (40) to (42) of Peiret, Kövecses,
    Font-Llagunes, A friction model for non-singular complementarity formulations, DETC2017-67988.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from stickslip.checks import bound, checked, fraction, instance, not_negative, number_that, real

TOUCHING = 1e-9  # gaps up to this are rounding   [m]


deceleration = number_that(lambda found: found > 0, "a positive deceleration, or inf", real)  # a kind of argument


@dataclass(frozen=True)
@checked(recovery=fraction, brake=deceleration)
class Gap:
    """The gap term ψ/h, with a share of an overlap taken back in a step, deep ones gently."""

    recovery: float = 1.0
    brake: float = math.inf  # deceleration that stops at the surface what is pushed out   [m/s²]


@dataclass(frozen=True)
@checked(stiffness=bound, damping=not_negative, stiffness_tangent=bound, damping_tangent=not_negative)
class Relaxation:
    """Springs and dampers; where a value is None, it is the contact's own."""

    stiffness: float | None = None  # normal   [N/m]
    damping: float | None = None  # normal   [N s/m]
    stiffness_tangent: float | None = None  # [N/m]
    damping_tangent: float | None = None  # [N s/m]


Stabilisation: TypeAlias = Gap | Relaxation | None
GAP, GENTLE, RELAXATION = Gap(1.0), Gap(0.2, brake=1.0), Relaxation()  # the defaults
RELAXING = instance(Relaxation, expected="Relaxation()")  # kinds of argument
STABILISATION = instance(Gap, Relaxation, type(None), expected="Gap(), Relaxation() or None")
