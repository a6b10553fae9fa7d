"""The hybrid regularised model: friction along and across the direction of sliding, bounds from the step before.

A contact that slides has the axes e_t along its velocity and e_l across. Along e_t friction is at its bound, or stops
the contact; across, a relaxation turns the force towards the velocity,

    ε_l = |u_t| / (μ p_n)   of the step before,                                                                (1)

as if friction were -μ p_n u / |u_t| linearised in the lateral velocity. A contact that sticks has bristles in its own
tangents, friction/stabilisation.py. Bounds are ±μ p_n of the step before, as in friction/bounded.py.

[1] Peiret, Gholami, Kövecses, Font-Llagunes, A regularized contact model for multibody system simulation, ASME IDETC
    2016; as read in Peiret, Kövecses, Font-Llagunes, DETC2017-67988, (43).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.friction.active import ActiveRows
from stickslip.friction.bounded import posed_bounded
from stickslip.friction.directions import sliding_frame
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.stabilisation import RELAXATION, Stabilisation
from stickslip.problems.matrix import Dense

LEAST_FORCE = 1e-6  # a smaller normal force counts as this in the lateral relaxation   [N]


@dataclass(frozen=True)
class Hybrid(Formulation):
    """Sliding and lateral directions, bristles where contacts stick, bounds ±μ p_n of the step before."""

    stabilisation: Stabilisation = RELAXATION

    lagged: ClassVar[bool] = True

    def posed(self, rows: ActiveRows) -> Posed:
        return posed_bounded(rows, sliding_frame(rows.slip, rows.sliding), *tangent_relaxation(rows))


def tangent_relaxation(rows: ActiveRows) -> tuple[Dense, Dense]:
    """ε and d of the tangents in the frames: bristles where a contact sticks, (1) where it slides."""
    compliance = np.repeat(rows.compliance_tangent[:, None], rows.dimension - 1, axis=1)
    if rows.dimension == 3:
        speed = np.linalg.norm(rows.slip, axis=1)
        bound = rows.mu * np.maximum(rows.previous[:, 0], rows.h * LEAST_FORCE)
        lateral = rows.sliding & (bound > 0)
        compliance[lateral, 1] = speed[lateral] / bound[lateral]
    return compliance, np.where(rows.sliding[:, None], 0.0, rows.bristle)
