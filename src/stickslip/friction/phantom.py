"""The phantom-inertia model: friction bounded by the normal impulse of the same step, in an LCP of full rank.

A contact's sliding velocity is E w_up - E w_lo, w_up, w_lo >= 0, along k axes E of its tangent plane. With W, q the
response of friction/active.py, unknowns (p_t, p_n, w_up, w_lo) and the pairing of (35) of [1]:

    u_t + ε_t p_t + d_t - E w_up + E w_lo = 0                          p_t free
    u_n + ε_n p_n + d_n >= 0                                       ⊥   p_n  >= 0
    σ_lo = μ p_n + Eᵀ p_t + ρ w_lo >= 0                            ⊥   w_up >= 0
    σ_up = μ p_n - Eᵀ p_t + ρ w_up >= 0                            ⊥   w_lo >= 0                               (1)

The phantom inertia ρ > 0 makes the matrix regular and changes nothing else: w_up and w_lo are never positive together,
for then 2 μ p_n + ρ (w_up + w_lo) = 0. A contact that slides has the axes along and across its velocity, and the
lateral relaxation of friction/hybrid.py; one that sticks has `directions` axes and bristles. Redundant contacts still
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

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows
from stickslip.friction.assembly import matrix_like, pose_mixed
from stickslip.friction.directions import axes, sliding_frame
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.hybrid import tangent_relaxation
from stickslip.friction.impact import RowImpulses
from stickslip.friction.polyhedral import check_directions
from stickslip.friction.stabilisation import RELAXATION, Stabilisation
from stickslip.problems.matrix import Dense, Indices, Vector


@dataclass(frozen=True)
class Phantom(Formulation):
    """Friction bounds of the same step, made regular by a phantom inertia."""

    inertia: float = 1.0  # ρ   [kg]
    directions: int = 2  # axes of a contact that sticks; 1 in the plane, whatever is said here
    lateral: bool = True  # friction across the direction of sliding, (43) of [1]; without, there is none, (34)
    _: KW_ONLY
    stabilisation: Stabilisation = RELAXATION

    lagged: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.inertia < np.inf:
            raise InputError(f"Phantom: inertia is {self.inertia!r}, expected a number >= 0")
        check_directions("Phantom", self.directions, 2)
        super().__post_init__()

    def posed(self, rows: ActiveRows) -> Posed:
        parts = Parts.of(rows, self.directions)
        compliance, offset = tangent_relaxation(rows)
        scale = tangent_scale(rows, compliance)
        own = sliding_frame(rows.slip, rows.sliding)
        frame = own * scale[:, None, :]
        size = parts.joint.start + rows.joint.size
        P = matrix_like(
            rows.W,
            (rows.q.size, size),
            [
                (rows.tangent[:, :, None], parts.tangent[:, None, :], frame),
                (rows.normal, parts.normal, 1.0),
                (rows.joint, np.arange(size)[parts.joint], 1.0),
            ],
        )
        owner = parts.owner
        axis = parts.axis * scale[owner]
        p_t, p_n = parts.tangent[owner], parts.normal[owner]
        up, lo = parts.up[:, None], parts.lo[:, None]
        mu = self.bounds(rows, owner)
        K = matrix_like(
            rows.W,
            (size, size),
            [
                (parts.tangent, parts.tangent, compliance * scale**2),
                (p_t, up, -axis),
                (p_t, lo, axis),
                (up, p_t, axis),
                (lo, p_t, -axis),
                (parts.up, p_n, mu),
                (parts.lo, p_n, mu),
                (parts.up, parts.lo, self.inertia),
                (parts.lo, parts.up, self.inertia),
            ],
        )
        lower, upper, d = np.zeros(size), np.full(size, np.inf), np.zeros(size)
        lower[parts.tangent], d[parts.tangent] = -np.inf, scale * offset
        lower[parts.joint], upper[parts.joint] = rows.lower, rows.upper
        problem = pose_mixed(rows.W, rows.q, P, K, d, lower, upper)

        def decode(x: Vector) -> RowImpulses:
            p = np.empty((rows.count, rows.dimension))
            p[:, 0] = x[parts.normal]
            p[:, 1:] = np.einsum("iab,ib->ia", frame, x[parts.tangent])
            return RowImpulses(p, x[parts.joint])

        return Posed(problem, phantom_start(rows, parts, own / scale[:, None, :]), decode)

    def bounds(self, rows: ActiveRows, owner: Indices) -> Vector:
        """μ of each axis: that of its contact, or none across the direction of sliding."""
        mu = rows.mu[owner]
        if not self.lateral:
            second = np.concatenate([[False], owner[1:] == owner[:-1]]) if owner.size else np.zeros(0, bool)
            mu = np.where(rows.sliding[owner] & second, 0.0, mu)
        return mu


def phantom_start(rows: ActiveRows, parts: Parts, frame: Dense) -> Vector:
    """The impulses of the step before, and the velocity at the start of this one; `frame` takes p_t to its unknowns."""
    x = np.zeros(parts.joint.start + rows.joint.size)
    x[parts.normal] = rows.previous[:, 0]
    x[parts.tangent] = np.einsum("iba,ib->ia", frame, rows.previous[:, 1:])
    speed = np.linalg.norm(rows.slip, axis=1)
    first = np.searchsorted(parts.owner, np.arange(rows.count))  # the first axis of each contact
    x[parts.up[first]] = np.where(rows.sliding, speed, 0.0)
    return x


def tangent_scale(rows: ActiveRows, compliance: Dense) -> Dense:
    """p_t = scale z_t: the unknowns z_t have entries of order one on the diagonal, whatever the relaxation."""
    own = rows.W.diagonal()[rows.tangent].mean(axis=1, keepdims=True) + compliance
    return 1 / np.sqrt(np.where(own > 0, own, 1.0))


@dataclass(frozen=True, eq=False)
class Parts:
    """Where the unknowns are: p_t, p_n, w_up, w_lo, λ, contact after contact in each."""

    tangent: Indices  # (k, d - 1)
    normal: Indices  # (k,)
    up: Indices  # (a,)   one for each axis of each contact
    lo: Indices  # (a,)
    joint: slice
    owner: Indices  # (a,)   the contact of an axis
    axis: Dense  # (a, d - 1)   in the frame of its contact

    @classmethod
    def of(cls, rows: ActiveRows, directions: int) -> Parts:
        k, tangents = rows.count, rows.dimension - 1
        sticking, along = axes(directions, rows.dimension).T, np.eye(tangents)
        chosen = [along if slides else sticking for slides in rows.sliding]
        owner = np.repeat(np.arange(k), np.array([len(axis) for axis in chosen], np.int64))
        start = k * rows.dimension
        return cls(
            tangent=np.arange(tangents * k).reshape(k, tangents),
            normal=tangents * k + np.arange(k),
            up=start + np.arange(owner.size),
            lo=start + owner.size + np.arange(owner.size),
            joint=slice(start + 2 * owner.size, None),
            owner=owner,
            axis=np.concatenate(chosen) if chosen else np.zeros((0, tangents)),
        )
