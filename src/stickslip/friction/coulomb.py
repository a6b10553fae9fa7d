"""Coulomb's law as it is: round cones, friction against the sliding velocity, 0 <= p_n ⊥ u_n >= 0.

The cone problem of problems/cone.py with the gap term in its normals, friction/stabilisation.py. The default takes back
a fifth of an overlap in a step: enough to keep piles from sinking, too little to make them jump. Joints are eliminated
or become contacts of the problem: friction/elimination.py and friction/cones.py.

Where contacts are redundant (a box on four corners) the impulses are not unique, and under friction the motion may not
be either. Relaxation() makes it so: then the load is shared as equal springs share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.friction.active import ActiveRows, active_contacts, active_rows
from stickslip.friction.cones import cone_impulses, cone_start, pose_cones
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import SLIP_SPEED
from stickslip.friction.impact import NEWTON, Impact, check_impact, check_speed
from stickslip.friction.stabilisation import GENTLE, Stabilisation, check_stabilisation
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Vector


@dataclass(frozen=True)
class Coulomb:
    """Isotropic Coulomb friction without facets. A Relaxation acts on the normals only."""

    stabilisation: Stabilisation = GENTLE
    impact: Impact = NEWTON
    slip_speed: float = SLIP_SPEED  # above which friction is kinetic   [m/s]

    solver: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        check_stabilisation("Coulomb", self.stabilisation)
        check_impact("Coulomb", self.impact)
        check_speed("Coulomb", "slip_speed", self.slip_speed)

    def pose(self, problem: ContactProblem) -> ConeProblem:
        rows = self.rows(problem)
        return pose_cones(rows, "coulomb", np.zeros(rows.count))

    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        return cone_impulses(problem, active_contacts(problem, self.stabilisation, self.impact), x)

    def start(self, problem: ContactProblem) -> Vector:
        return cone_start(self.rows(problem))

    def rows(self, problem: ContactProblem) -> ActiveRows:
        return active_rows(problem, self.stabilisation, self.impact, self.slip_speed)
