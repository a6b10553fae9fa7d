"""Stewart and Trinkle's time step: the polyhedral LCP of friction/polyhedral.py with the gap term ψ/h.

A contact may close its gap within the step but no more, so nothing is ever penetrated and an impact takes two steps:
the first ends at ψ = 0, the second without velocity.

[1] Stewart, Trinkle, An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb
    friction, International Journal for Numerical Methods in Engineering 39 (1996) 2673-2691.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.friction.active import active_contacts, active_rows
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import SLIP_SPEED
from stickslip.friction.impact import NEWTON, Impact, check_impact, check_speed
from stickslip.friction.polyhedral import check_directions, polyhedral_impulses, pose_polyhedral
from stickslip.friction.stabilisation import GAP, Stabilisation, check_stabilisation
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP


@dataclass(frozen=True)
class StewartTrinkle:
    """Polyhedral cones at the end of the step, with the gap term."""

    directions: int = 8  # of friction, in the tangent plane; 2 in the plane, whatever is said here
    stabilisation: Stabilisation = GAP
    impact: Impact = NEWTON
    slip_speed: float = SLIP_SPEED  # above which friction is kinetic   [m/s]

    solver: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        check_directions("StewartTrinkle", self.directions, 3)
        check_stabilisation("StewartTrinkle", self.stabilisation)
        check_impact("StewartTrinkle", self.impact)
        check_speed("StewartTrinkle", "slip_speed", self.slip_speed)

    def pose(self, problem: ContactProblem) -> LCP | MixedLCP:
        rows = active_rows(problem, self.stabilisation, self.impact, self.slip_speed)
        return pose_polyhedral(rows, self.directions)

    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        contacts = active_contacts(problem, self.stabilisation, self.impact)
        return polyhedral_impulses(problem, contacts, self.directions, x)

    def start(self, problem: ContactProblem) -> None:
        """None: of the methods of `auto` Lemke's then comes first, and it takes no starting point."""
