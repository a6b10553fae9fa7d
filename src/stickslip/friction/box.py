"""Box friction: each tangent of a contact has its own bounds, ±μ p_n with the normal impulse of the step before [1, 2].

A mixed LCP with bounds, (1) of friction/bounded.py, in the contact's own tangents; a contact that sticks has bristles
in both. It is monotone, but friction depends on how the tangents lie: a square instead of a circle, √2 too strong along
its diagonal.

[1] Lacoursière, A regularized time stepper for multibody systems, UMINF 06.04 (2006).
[2] Peiret, Kövecses, Font-Llagunes, A friction model for non-singular complementarity formulations, DETC2017-67988.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.friction.active import ActiveRows, active_contacts, active_rows
from stickslip.friction.bounded import bounded_impulses, bounded_start, pose_bounded
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import SLIP_SPEED
from stickslip.friction.impact import NEWTON, Impact, check_impact, check_speed
from stickslip.friction.stabilisation import RELAXATION, Stabilisation, check_stabilisation
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.mixed import MixedLCP


@dataclass(frozen=True)
class Box:
    """Bounds ±μ p_n of the step before, tangent by tangent."""

    stabilisation: Stabilisation = RELAXATION
    impact: Impact = NEWTON
    slip_speed: float = SLIP_SPEED  # above which friction is kinetic   [m/s]

    solver: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        check_stabilisation("Box", self.stabilisation)
        check_impact("Box", self.impact)
        check_speed("Box", "slip_speed", self.slip_speed)

    def pose(self, problem: ContactProblem) -> MixedLCP:
        rows = self.rows(problem)
        compliance = np.broadcast_to(rows.compliance_tangent[:, None], rows.bristle.shape)
        offset = np.where(rows.sliding[:, None], 0.0, rows.bristle)
        return pose_bounded(rows, own_frames(rows.count, rows.dimension), compliance, offset)

    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        contacts = active_contacts(problem, self.stabilisation, self.impact)
        return bounded_impulses(problem, contacts, own_frames(contacts.size, problem.dimension), x)

    def start(self, problem: ContactProblem) -> Vector:
        rows = self.rows(problem)
        return bounded_start(rows, own_frames(rows.count, rows.dimension))

    def rows(self, problem: ContactProblem) -> ActiveRows:
        return active_rows(problem, self.stabilisation, self.impact, self.slip_speed)


def own_frames(count: int, dimension: int) -> Dense:
    return np.broadcast_to(np.eye(dimension - 1), (count, dimension - 1, dimension - 1))
