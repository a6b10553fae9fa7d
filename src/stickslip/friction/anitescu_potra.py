"""Anitescu and Potra's time step: the polyhedral LCP of friction/polyhedral.py at velocity level.

Only contacts that have closed take part, and their velocities are complementary to impulses, whatever the gap: without
stabilisation, an overlap of up to one step's approach stays. The LCP always has a solution, and Lemke's method finds
it; where contacts are redundant it is one of many.

[1] Anitescu, Potra, Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
    complementarity problems, Nonlinear Dynamics 14 (1997) 231-247.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.friction.active import active_contacts, active_rows
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import SLIP_SPEED
from stickslip.friction.impact import NEWTON, Impact, check_impact, check_speed
from stickslip.friction.polyhedral import check_directions, polyhedral_impulses, pose_polyhedral
from stickslip.friction.stabilisation import Stabilisation, check_stabilisation
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP


@dataclass(frozen=True)
class AnitescuPotra:
    """Polyhedral cones at velocity level."""

    directions: int = 8  # of friction, in the tangent plane; 2 in the plane, whatever is said here
    stabilisation: Stabilisation = None
    impact: Impact = NEWTON
    slip_speed: float = SLIP_SPEED  # above which friction is kinetic   [m/s]

    solver: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        check_directions("AnitescuPotra", self.directions, 3)
        check_stabilisation("AnitescuPotra", self.stabilisation)
        check_impact("AnitescuPotra", self.impact)
        check_speed("AnitescuPotra", "slip_speed", self.slip_speed)

    def pose(self, problem: ContactProblem) -> LCP | MixedLCP:
        rows = active_rows(problem, self.stabilisation, self.impact, self.slip_speed)
        return pose_polyhedral(rows, self.directions)

    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        contacts = active_contacts(problem, self.stabilisation, self.impact)
        return polyhedral_impulses(problem, contacts, self.directions, x)

    def start(self, problem: ContactProblem) -> None:
        """None: of the methods of `auto` Lemke's then comes first, and it takes no starting point."""
