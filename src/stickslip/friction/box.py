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

from stickslip.friction.bounded import Bounded


@dataclass(frozen=True)
class Box(Bounded):
    """Bounds ±μ p_n of the step before, tangent by tangent."""

    turned: ClassVar[bool] = False
