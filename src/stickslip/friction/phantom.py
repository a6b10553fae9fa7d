"""The phantom-inertia model: friction bounded by the normal impulse of the same step, in an LCP of full rank.

A contact's sliding velocity is E w_up - E w_lo, w_up, w_lo >= 0, along k axes E of its tangent plane. With W, q the
response of friction/active.py, unknowns (p_t, p_n, w_up, w_lo) and the pairing of (35) of [1]:

    u_t + ε_t p_t + d_t - E w_up + E w_lo = 0                          p_t free
    u_n + ε_n p_n + d_n >= 0                                       ⊥   p_n  >= 0
    σ_lo = μ p_n + Eᵀ p_t + ρ w_lo >= 0                            ⊥   w_up >= 0
    σ_up = μ p_n - Eᵀ p_t + ρ w_up >= 0                            ⊥   w_lo >= 0                               (1)

The phantom inertia ρ > 0 makes the matrix regular and changes nothing else: w_up and w_lo are never positive together,
for then 2 μ p_n + ρ (w_up + w_lo) = 0. A contact that slides has the axes along and across its velocity, and the
lateral relaxation of friction/bounded.py, or more axes, from its velocity on at equal angles, and no such relaxation;
one that sticks has `directions` axes and bristles. Redundant contacts still
need a relaxation for the matrix to be regular: ρ is for friction, not for the Jacobian.

p_t is posed in units in which the diagonal of its rows is of order one: ε_t differs by many decades between contacts
that carry a load and those that do not.

Block pivoting solves most steps at once, started from the step before, but may cycle: the pair (w_up, w_lo) has the
minor ρ (2 a - ρ), a the inertia that the contact's axis feels, and the matrix is no P-matrix where ρ > 2 a; with more
than two axes it may also meet singular blocks [1]. Lemke's method minds neither. "auto" tries them in this order.

[1] Peiret, Kövecses, Font-Llagunes, A friction model for non-singular complementarity formulations for multibody
    systems with contacts, DETC2017-67988 (printed errors corrected).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from stickslip.checks import checked, not_negative, truth
from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows
from stickslip.friction.assembly import Unknowns, couple, posed_as, room_for_unknowns
from stickslip.friction.bounded import friction_along, lateral_relaxation
from stickslip.friction.directions import axes, sliding_axis
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.polyhedral import AXES
from stickslip.friction.stabilisation import RELAXATION, Stabilisation
from stickslip.jit import kernel
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.mixed import MixedLCP


@dataclass(frozen=True)
@checked(inertia=not_negative, directions=AXES, lateral=truth, sliding_directions=AXES)
class Phantom(Formulation):
    """Friction bounds of the same step, made regular by a phantom inertia."""

    inertia: float = 1.0  # ρ   [kg]
    directions: int = 2  # axes of a contact that sticks; 1 in the plane, whatever is said here
    lateral: bool = True  # friction across the direction of sliding, (43) of [1]; without, there is none, (34)
    sliding_directions: int = 2  # axes of a contact that slides; 1 in the plane
    _: KW_ONLY
    stabilisation: Stabilisation = RELAXATION

    lagged: ClassVar[bool] = True
    bristles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.sliding_directions > 2 and not self.lateral:
            raise InputError(
                f"Phantom: sliding_directions is {self.sliding_directions} without lateral friction, expected 2"
            )
        super().__post_init__()  # type: ignore[misc]  # made by `checked`

    def posed(self, rows: ActiveRows) -> Posed:
        E, F = axes(self.directions, rows.dimension), axes(self.sliding_directions, rows.dimension)
        diagonal = np.ascontiguousarray(rows.W.diagonal())
        unknowns = Unknowns(*phantom_unknowns(float(self.inertia), self.lateral, E, F, diagonal, rows.h, *rows.lagged))
        normal = (rows.dimension - 1) * rows.count + np.arange(rows.count)
        return posed_as(MixedLCP, rows, unknowns, unknowns.start, normal)

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        E, F = axes(self.directions, rows.dimension), axes(self.sliding_directions, rows.dimension)
        return left_on_axes(E, F if self.lateral else F[:, :1].copy(), rows.mu, rows.sliding, rows.slip, p)


@kernel
def left_on_axes(E, F, mu, sliding, slip, p):
    """μ p_n less the friction along the axis that has most of it."""
    left = np.empty(mu.size)
    for i in range(mu.size):
        t, o = friction_along(sliding[i], slip[i], p[i])
        used, across = 0.0, F if sliding[i] else E
        for j in range(across.shape[1]):
            used = max(used, abs(across[0, j] * t + (across[1, j] * o if across.shape[0] > 1 else 0.0)))
        left[i] = mu[i] * p[i, 0] - used
    return left


@kernel
def phantom_unknowns(rho, lateral, E, F, diagonal, h, mu, sliding, slip, previous, compliance, bristle, lower, upper):
    """(1) with unknowns p_t, p_n, w_up, w_lo, λ, contact after contact in each; axes E of contacts that stick, and F,
    in the frame of their velocity, of those that slide.

    The starting point are the impulses of the step before, and the velocity at the start of this one.
    """
    k, d = previous.shape
    tangents, count = d - 1, 0  # axes in all
    for i in range(k):
        count += F.shape[1] if sliding[i] else E.shape[1]
    unknowns = room_for_unknowns(d * k + 2 * count, tangents * k + (4 * tangents + 4) * count, d * k, lower, upper)
    row, value, place, entry, offset, low, _, start = unknowns
    up, e = d * k, 0
    for i in range(k):
        n, t, o = d * i, tangents * i, tangents * i + tangents - 1  # row of the normal; unknowns of the tangents
        c, s = sliding_axis(slip[i]) if sliding[i] else (1.0, 0.0)
        own = 0.0  # mean entry of the diagonal
        for a in range(tangents):
            own += diagonal[n + 1 + a] / tangents
        for a in range(t, o + 1):
            relaxed = compliance[i]
            if sliding[i] and a > t and F.shape[1] == 2:
                relaxed = lateral_relaxation(h, mu[i], previous[i, 0], slip[i], compliance[i])
            scale = 1.0 / math.sqrt(own + relaxed) if own + relaxed > 0.0 else 1.0
            row[a, 0], row[a, 1] = n + 1, n + d - 1
            value[a, 0], value[a, 1] = (scale * c, scale * s) if a == t else (-scale * s, scale * c)
            start[a] = (value[a, 0] * previous[i, 1] + value[a, 1] * previous[i, d - 1]) / scale**2
            low[a], offset[a] = -np.inf, 0.0 if sliding[i] else scale * bristle[i, a - t]
            e = couple(place, entry, e, a, a, relaxed * scale**2)
        p_n = tangents * k + i
        row[p_n, 0], value[p_n, 0], start[p_n] = n, 1.0, previous[i, 0]
        for j in range(F.shape[1] if sliding[i] else E.shape[1]):
            lo = up + count
            bound = 0.0 if sliding[i] and j > 0 and not lateral else mu[i]
            for a in range(t, o + 1):
                scale = math.hypot(value[a, 0], value[a, 1])
                along = scale * (F[a - t, j] if sliding[i] else E[a - t, j])
                e = couple(place, entry, e, a, up, -along)
                e = couple(place, entry, e, a, lo, along)
                e = couple(place, entry, e, up, a, along)
                e = couple(place, entry, e, lo, a, -along)
            e = couple(place, entry, e, up, p_n, bound)
            e = couple(place, entry, e, lo, p_n, bound)
            e = couple(place, entry, e, up, lo, rho)
            e = couple(place, entry, e, lo, up, rho)
            if sliding[i] and j == 0:
                start[up] = math.hypot(slip[i, 0], slip[i, d - 2] if d == 3 else 0.0)
            up += 1
    return unknowns
