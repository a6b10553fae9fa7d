"""Friction with bounds from the step before, as a mixed LCP: what Box and Hybrid share.

    w = (Tᵀ W T + ε) z + Tᵀ q + d,    0 <= z_n,   |z_t| <= μ p_n of the step before                            (1)

z are the impulses in frames T of the contacts: their own tangents, or the axes (e_t, e_l) along and across the sliding
velocity. A contact that sticks has bristles in its own tangents, friction/stabilisation.py: ε = ε_t, d = d_t. In axes
of its own, one that slides has the lateral relaxation

    ε_l = |u_t| / (μ p_n)   of the step before,                                                                (2)

as if friction were -μ p_n u / |u_t| linearised in the lateral velocity. Bounded joint rows follow. A contact that is
new has no step before, hence no friction in its first step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.friction.active import ActiveRows
from stickslip.friction.assembly import Unknowns, couple, posed_as, room_for_unknowns
from stickslip.friction.directions import sliding_axis
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.stabilisation import RELAXATION, Stabilisation
from stickslip.jit import kernel
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.mixed import MixedLCP

LEAST_FORCE = 1e-6  # a smaller normal force counts as this in the lateral relaxation   [N]


@dataclass(frozen=True)
class Bounded(Formulation):
    """(1) in the contacts' own tangents, or, `turned`, in the axes of those that slide."""

    stabilisation: Stabilisation = RELAXATION

    turned: ClassVar[bool]
    lagged: ClassVar[bool] = True
    bristles: ClassVar[bool] = True

    def posed(self, rows: ActiveRows) -> Posed:
        unknowns = Unknowns(*bounded_unknowns(self.turned, rows.h, *rows.lagged))
        return posed_as(MixedLCP, rows, unknowns, unknowns.start, rows.normal)

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        """What is left of the bounds μ p_n, of the step before, along the axis where that is least."""
        return left_inside(self.turned, rows.mu, rows.sliding, rows.slip, rows.previous, p)


@kernel
def left_inside(turned, mu, sliding, slip, previous, p):
    left = np.empty(mu.size)
    for i in range(mu.size):
        t, o = friction_along(turned and sliding[i], slip[i], p[i])
        left[i] = mu[i] * max(previous[i, 0], 0.0) - max(abs(t), abs(o))
    return left


@kernel
def friction_along(turned, slip, p):
    """The friction of a contact along and across its velocity, or along its tangents; in the plane the second is 0."""
    if p.size == 2:
        return p[1], 0.0
    c, s = sliding_axis(slip) if turned else (1.0, 0.0)
    return c * p[1] + s * p[2], c * p[2] - s * p[1]


@kernel
def bounded_unknowns(turned, h, mu, sliding, slip, previous, compliance, bristle, lower, upper):
    """(1) as Unknowns; the starting point are the impulses of the step before, and none for joint rows."""
    k, d = previous.shape
    unknowns = room_for_unknowns(d * k, (d - 1) * k, d * k, lower, upper)
    row, value, place, entry, offset, low, high, start = unknowns
    e = 0
    for i in range(k):
        n, t, o = d * i, d * i + 1, d * i + d - 1  # rows; in the plane there is no o, and its values are zero
        c, s = sliding_axis(slip[i]) if turned and sliding[i] else (1.0, 0.0)
        bound = mu[i] * max(previous[i, 0], 0.0)
        row[n, 0], value[n, 0], start[n] = n, 1.0, previous[i, 0]
        row[t, 0], row[t, 1], value[t, 0], value[t, 1] = t, o, c, s
        if d == 3:
            row[o, 0], row[o, 1], value[o, 0], value[o, 1] = t, o, -s, c
        for a in range(t, o + 1):
            low[a], high[a] = -bound, bound
            start[a] = value[a, 0] * previous[i, 1] + value[a, 1] * previous[i, d - 1]
            offset[a] = 0.0 if sliding[i] else bristle[i, a - t]
            relaxed = compliance[i]
            if turned and sliding[i] and a > t:
                relaxed = lateral_relaxation(h, mu[i], previous[i, 0], slip[i], relaxed)
            e = couple(place, entry, e, a, a, relaxed)
    return unknowns


@kernel
def lateral_relaxation(h, mu, p_n, slip, otherwise):
    """(2) of a contact in space that slides; without friction there is none."""
    bound = mu * max(p_n, h * LEAST_FORCE)
    return math.hypot(slip[0], slip[1]) / bound if bound > 0.0 else otherwise
