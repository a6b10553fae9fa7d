"""Friction with bounds from the step before, as a mixed LCP: what Box and Hybrid share.

    w = (Tᵀ W T + ε) z + Tᵀ q + d,    0 <= z_n,   |z_t| <= μ p_n of the step before                            (1)

z are the impulses in frames T of the contacts, ε and d the relaxations in these frames; bounded joint rows follow. A
contact that is new has no step before, hence no friction in its first step.
"""

from __future__ import annotations

import numpy as np

from stickslip.friction.active import ActiveRows
from stickslip.friction.assembly import matrix_like, pose_mixed
from stickslip.friction.formulation import Posed
from stickslip.friction.impact import RowImpulses
from stickslip.problems.matrix import Dense, Matrix, Vector


def posed_bounded(rows: ActiveRows, frame: Dense, compliance: Dense, offset: Dense) -> Posed:
    """(1) with frames (k, d - 1, d - 1) and relaxations (k, d - 1) of the tangents."""
    size = rows.q.size
    bound = rows.mu * np.maximum(rows.previous[:, 0], 0.0)
    lower, upper, d = np.zeros(size), np.full(size, np.inf), np.zeros(size)
    lower[rows.tangent], upper[rows.tangent], d[rows.tangent] = -bound[:, None], bound[:, None], offset
    lower[rows.joint], upper[rows.joint] = rows.lower, rows.upper
    K = matrix_like(rows.W, (size, size), [(rows.tangent, rows.tangent, compliance)])
    problem = pose_mixed(rows.W, rows.q, turned(rows, frame), K, d, lower, upper)

    def decode(z: Vector) -> RowImpulses:
        p = z[: rows.previous.size].reshape(rows.previous.shape).copy()
        p[:, 1:] = np.einsum("iab,ib->ia", frame, p[:, 1:])
        return RowImpulses(p, z[p.size :])

    return Posed(problem, bounded_start(rows, frame), decode)


def turned(rows: ActiveRows, frame: Dense) -> Matrix:
    """T: impulses in the frames to impulses in the contacts' own components."""
    return matrix_like(
        rows.W,
        (rows.q.size, rows.q.size),
        [
            (rows.normal, rows.normal, 1.0),
            (rows.tangent[:, :, None], rows.tangent[:, None, :], frame),
            (rows.joint, rows.joint, 1.0),
        ],
    )


def bounded_start(rows: ActiveRows, frame: Dense) -> Vector:
    """The impulses of the step before, in the frames; none for joint rows."""
    p = rows.previous.copy()
    p[:, 1:] = np.einsum("iba,ib->ia", frame, p[:, 1:])
    return np.concatenate([p.ravel(), np.zeros(rows.joint.size)])
