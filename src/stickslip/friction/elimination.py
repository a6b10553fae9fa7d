"""Bilateral joint rows are solved for, so that a formulation sees contacts and bounded joint rows only.

With x = (p, λ of the bounded rows), λ_b of the bilateral ones and J, B their columns of (H, G), (1) to (3) of
friction/contact_problem.py are

    (u, g) = Jᵀ M⁻¹ J x + Jᵀ M⁻¹ B λ_b + Jᵀ M⁻¹ f + (w, b)        Σ on the diagonal of joint rows
    0      = Bᵀ M⁻¹ J x + S λ_b        + Bᵀ M⁻¹ f + b_b           S = Bᵀ M⁻¹ B + Σ_b

and, λ_b eliminated,  (u, g) = W x + q  with  W = Jᵀ (M⁻¹ - M⁻¹ B S⁻¹ Bᵀ M⁻¹) J  (+ Σ).

Joints may be redundant: then S is singular, and its pseudo-inverse in the scale of its diagonal is taken. Velocities do
not depend on which inverse it is; rows that contradict each other are met in the mean.

Up to DENSE rows everything is dense. Beyond, S decouples into groups of joints that hang together; a group of more than
LARGEST_GROUP rows is factorised sparsely, and must not be redundant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from stickslip.errors import InputError
from stickslip.problems.cone import block_inverse
from stickslip.problems.matrix import Dense, Indices, Matrix, Sparse, Vector, as_dense, as_sparse, asymmetry

if TYPE_CHECKING:
    from stickslip.friction.contact_problem import ContactProblem

DENSE = 256  # velocities, contact components and joint rows in all
LARGEST_GROUP = 1000  # joint rows
RANK = 1e-12  # eigenvalues of the scaled S below this share of the largest count as zero
ROUNDING = 1e-13  # what elimination leaves of an entry, as a share of its terms, is zero
SYMMETRIC = 1e-12  # asymmetry of M up to this share of its largest entry is rounding


@dataclass(frozen=True, eq=False)
class Response:
    """(u, g) = W x + q,  x = (p, λ of the bounded rows);  λ of the bilateral rows = reaction x + reaction_free."""

    W: Matrix  # (n, n)   symmetric
    q: Vector  # (n,)
    bounded: Indices  # joint rows
    bilateral: Indices  # joint rows
    reaction: Matrix  # (bilateral, n)
    reaction_free: Vector  # (bilateral,)

    def joints(self, x: Vector) -> Vector:
        """λ of all joint rows."""
        impulses = np.empty(self.bounded.size + self.bilateral.size)
        impulses[self.bounded] = x[x.size - self.bounded.size :]
        impulses[self.bilateral] = self.reaction @ x + self.reaction_free
        return impulses


def respond(problem: ContactProblem) -> Response:
    free = np.isinf(problem.lower) & np.isinf(problem.upper)
    bounded, bilateral = np.flatnonzero(~free), np.flatnonzero(free)
    dense = problem.f.size + problem.H.shape[1] + free.size <= DENSE
    R, q = joined(problem, np.concatenate([bounded, bilateral]), as_dense if dense else as_sparse)
    n = q.size - bilateral.size
    if bilateral.size == 0:
        return Response(R, q, bounded, bilateral, np.zeros((0, n)), np.zeros(0))
    S, C = R[n:, n:], R[n:, :n]
    solve = pseudo_solve if dense else solve_groups
    reaction, reaction_free = solve(S, C, q[n:])
    free, held = q[:n], C.T @ reaction_free
    W = without_rounding(symmetric(R[:n, :n] + C.T @ reaction), R.diagonal()[:n])
    moved = np.where(np.abs(free + held) > ROUNDING * (np.abs(free) + np.abs(held)), free + held, 0.0)
    return Response(W, moved, bounded, bilateral, reaction, reaction_free)


def without_rounding(W: Matrix, free: Vector) -> Matrix:
    """W without entries that elimination leaves of zero, beside the diagonal that it had before: a contact that joints
    hold moves by nothing, and not by -1e-16."""
    size = np.sqrt(np.maximum(free, 0.0))
    if isinstance(W, np.ndarray):
        return np.where(np.abs(W) > ROUNDING * size[:, None] * size, W, 0.0)
    row = np.repeat(np.arange(size.size), np.diff(W.indptr))
    W.data[np.abs(W.data) <= ROUNDING * size[row] * size[W.indices]] = 0.0
    W.eliminate_zeros()
    return W


def joined(problem: ContactProblem, order: Indices, form: Any) -> tuple[Matrix, Vector]:
    """Velocities of contacts and of joint rows in the given order: matrix and free part, nothing eliminated."""
    J = form(problem.H)
    if order.size:
        G = form(problem.G)[:, order]
        J = np.hstack([J, G]) if isinstance(J, np.ndarray) else sparse.csr_array(sparse.hstack([J, G]))
    compliance = np.concatenate([np.zeros(problem.H.shape[1]), problem.compliance[order]])
    R = with_diagonal(symmetric(J.T @ (form(problem.inverse) @ J)), compliance)
    known = np.concatenate([problem.w, problem.b[order]])
    return R, J.T @ problem.inverse_mass(problem.f) + known


def symmetric(matrix: Matrix) -> Matrix:
    """The matrix without its rounding: ½ (A + Aᵀ)."""
    whole = 0.5 * (matrix + matrix.T)
    return whole if isinstance(whole, np.ndarray) else sparse.csr_array(whole)


def with_diagonal(matrix: Matrix, entries: Vector) -> Matrix:
    """A copy with entries added to the diagonal."""
    if not entries.any():
        return matrix
    if isinstance(matrix, np.ndarray):
        changed: Dense = matrix.copy()
        changed[np.diag_indices(entries.size)] += entries
        return changed
    return sparse.csr_array(matrix + sparse.diags_array(entries))


def pseudo_solve(S: Dense, C: Dense, c: Vector) -> tuple[Dense, Vector]:
    """-S⁺ C and -S⁺ c, S symmetric and positive semidefinite."""
    diagonal = np.diag(S)
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(scale[:, None] * S * scale)
    kept = values > RANK * values[-1]
    root = (vectors[:, kept] / np.sqrt(values[kept])).T * scale
    return -root.T @ (root @ C), -root.T @ (root @ c)


def solve_groups(S: Sparse, C: Sparse, c: Vector) -> tuple[Sparse, Vector]:
    """The same by groups of rows that hang together."""
    groups, label = csgraph.connected_components(S, directed=False)
    parts, offset = [], np.empty(c.size)
    for group in range(groups):
        rows = np.flatnonzero(label == group)
        touched = C[rows]
        columns = np.unique(touched.indices)
        small = rows.size <= LARGEST_GROUP
        solve, form = (pseudo_solve, as_dense) if small else (sparse_solve, sparse.csc_array)
        values, offset[rows] = solve(form(S[rows][:, rows]), touched[:, columns].toarray(), c[rows])
        parts.append((values.ravel(), np.repeat(rows, columns.size), np.tile(columns, rows.size)))
    values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_array((values, (rows, columns)), shape=C.shape), offset


def sparse_solve(S: Sparse, C: Dense, c: Vector) -> tuple[Dense, Vector]:
    try:
        factors = sparse_linalg.splu(S)
    except RuntimeError:
        raise InputError(
            f"ContactProblem: {S.shape[0]} joint rows that hang together are redundant, expected independent ones or a "
            f"compliance where there are more than {LARGEST_GROUP}"
        ) from None
    return -factors.solve(C), -factors.solve(c)


def inverse_of(M: Matrix) -> Matrix:
    """M⁻¹, dense for a small M and sparse, block by block, for a large one."""
    if asymmetry(M) > SYMMETRIC:
        apart = float(abs(M - M.T).max())
        raise InputError(f"ContactProblem: M - Mᵀ has entries of {apart:.1e}, expected a symmetric mass matrix")
    if M.shape[0] > DENSE:
        M = as_sparse(M)
        label = csgraph.connected_components(M, directed=False)[1].astype(np.int64)
        return symmetric(block_inverse(M, label, np.bincount(label)))
    try:
        return symmetric(np.linalg.inv(as_dense(M)))
    except np.linalg.LinAlgError:
        raise InputError("ContactProblem: M is singular, expected an invertible mass matrix") from None
