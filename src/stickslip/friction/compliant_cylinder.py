"""Contacts as springs and dampers over friction cylinders, with a fixed point on the normal impulse.

    p in C(g):   (W p + q + D p)ᵀ (y - p) >= 0  for all y in C(g),      C(g) = {p_n >= 0, |p_t| <= g}           (1)

with D as in friction/compliant_cone.py, and g = μ p_n. With g given, (1) is monotone; its fixed point g = μ p_n is
Coulomb's law with compliant contacts, and nothing lifts. So it is posed as a cone problem under Coulomb's law. The
method of [1] is Tresca's: solve (1), update g, repeat (solvers/fixed_point.py); it may cycle for large μ, so it is not
the default.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011,
    (17).
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.friction.cones import CompliantContacts


@dataclass(frozen=True)
class CompliantCylinder(CompliantContacts):
    """Springs and dampers over cylinders whose radius follows the normal impulse."""
