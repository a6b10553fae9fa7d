"""Contacts as springs and dampers, in an affine variational inequality over friction cones.

    p in K:   (W p + q + D p)ᵀ (y - p) >= 0  for all y in K,      D = diag(ε_n, ε_t, ε_t)                      (1)

ε_n = 1/(h² k + h b) and d = ε_n h k ψ of a spring and a damper met implicitly, ε_t = 1/(h² k_t + h b_t): friction is a
damper of coefficient γ = h k_t + b_t, for its spring starts anew in each step [1]. A contact without values of its own
is rigid, D = 0. With s D instead of D and s -> 0 the impulses tend to those of the rigid problem that minimise pᵀ D p:
engine/stiff_limit.py.

The law is the associated one of problems/cone.py: where a contact slides it also lifts, u_n = μ |u_t|. A body that
slides fast therefore flies; friction/compliant_cylinder.py does not have this. A contact that sticks creeps with
ε_t p_t.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011,
    (16) to (22).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.friction.cones import CompliantContacts
from stickslip.problems.cone import Law


@dataclass(frozen=True)
class CompliantCone(CompliantContacts):
    """Springs and dampers over cones, with the associated law."""

    cone_law: ClassVar[Law] = "associated"
