"""The hybrid regularised model: friction along and across the direction of sliding, bounds from the step before.

A contact that slides has the axes e_t along its velocity and e_l across. Along e_t friction is at its bound, or stops
the contact; across, the relaxation (2) of friction/bounded.py turns the force towards the velocity. A contact that
sticks has bristles in its own tangents.

[1] Peiret, Gholami, Kövecses, Font-Llagunes, A regularized contact model for multibody system simulation, ASME IDETC
    2016; as read in Peiret, Kövecses, Font-Llagunes, DETC2017-67988, (43).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.friction.bounded import Bounded


@dataclass(frozen=True)
class Hybrid(Bounded):
    """Sliding and lateral directions, bristles where contacts stick, bounds ±μ p_n of the step before."""

    turned: ClassVar[bool] = True
