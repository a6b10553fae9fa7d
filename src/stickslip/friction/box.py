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

from stickslip.friction.active import ActiveRows
from stickslip.friction.bounded import left_of_bounds, posed_bounded
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.stabilisation import RELAXATION, Stabilisation
from stickslip.problems.matrix import Dense, Vector


@dataclass(frozen=True)
class Box(Formulation):
    """Bounds ±μ p_n of the step before, tangent by tangent."""

    stabilisation: Stabilisation = RELAXATION

    lagged: ClassVar[bool] = True
    bristles: ClassVar[bool] = True

    def posed(self, rows: ActiveRows) -> Posed:
        return posed_bounded(rows, turned=False)

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        return left_of_bounds(rows, p, turned=False)
