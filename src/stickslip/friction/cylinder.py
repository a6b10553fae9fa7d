"""Friction cylinders with given normal forces, the time step of (17) of Preclik, Popa and Rüde [1].

    p in C:   (W p + q + D p)ᵀ (y - p) >= 0  for all y in C,      C = {p_n >= 0, |p_t| <= μ p̄_n} by contacts  (1)

with D as in friction/compliant_cone.py and p̄_n a "reasonable approximation of the normal reactions": here the normal
impulse of the step before. (1) is monotone, and where D > 0 its solution is unique; nothing lifts. Friction comes a
step late: a contact that was just closed has the impulse of a solve without friction for p̄_n, one that opens keeps
friction for a step.

"Or a fixed-point iteration can be wrapped around" [1]: with `fixed_point`, (1) is solved again with p̄_n = p_n until
both agree (solvers/fixed_point.py), which is Coulomb's law on springs and dampers. It contracts for small μ.
CompliantCylinder is the same law for any solver.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from stickslip.checks import checked, truth
from stickslip.friction.active import ActiveRows
from stickslip.friction.cones import JointContacts, cone_rows, cone_unknowns
from stickslip.friction.formulation import Formulation, Posed, friction_size
from stickslip.friction.stabilisation import RELAXATION, RELAXING, Relaxation
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.matrix import Dense, Vector


@dataclass(frozen=True)
@checked(fixed_point=truth, stabilisation=RELAXING)
class Cylinder(Formulation):
    """Springs and dampers over cylinders whose radius is given by the step before, or found by a fixed point."""

    fixed_point: bool = False
    _: KW_ONLY
    stabilisation: Relaxation = RELAXATION

    lagged: ClassVar[bool] = True
    relaxes_friction: ClassVar[bool] = True
    tolerance: ClassVar[float] = CylinderProblem.tolerance

    @property
    def solver(self) -> str:  # type: ignore[override]
        return "tresca" if self.fixed_point else "auto"

    def posed(self, rows: ActiveRows) -> Posed:
        W, q, mu = cone_rows(rows, "coulomb", relaxed=True)
        if self.fixed_point:
            return Posed(ConeProblem(W, q, mu), *cone_unknowns(rows))
        reach = JointContacts.of(rows).reach if rows.lower.size else np.zeros(0)
        bound = np.concatenate([rows.mu * np.maximum(rows.previous[:, 0], 0.0), reach])
        return Posed(CylinderProblem(W, q, bound), *cone_unknowns(rows))

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        p_n = p[:, 0] if self.fixed_point else np.maximum(rows.previous[:, 0], 0.0)
        return rows.mu * p_n - friction_size(rows, p)
