"""Frictional contact as a complementarity problem over cones. A contact's components are (normal, tangents).

    u = W r + q,      K ∋ r  ⊥  u + μ |u_t| e_n ∈ K*,      K = {r : |r_t| <= μ r_n}  per contact          (1)

W = Hᵀ M⁻¹ H is the Delassus matrix, q the contact velocity of the free motion, r the impulses. The shift
μ |u_t| e_n turns Coulomb's law, which is not associated, into a normality rule [1].

Without the shift the law is *associated* (convexified): K ∋ r ⊥ u ∈ K*, the optimality condition of the convex problem
min ½ rᵀ W r + qᵀ r over K [3]. It agrees with Coulomb's law where contacts stick or are open; where they slip they
also separate, u_n = μ |u_t|.

The global form keeps the bodies in sight:  M v = H r + f,  u = Hᵀ v + w,  so q = Hᵀ M⁻¹ f + w.

[1] De Saxcé, Feng, The bipotential method, Mathematical and Computer Modelling 28 (1998) 225-245.
[2] Acary, Brémond, Huber, On solving contact problems with Coulomb friction, Springer 2018.
[3] Anitescu, Optimization-based simulation of nonsmooth rigid multibody dynamics, Math. Programming 105 (2006) 113-143.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from stickslip.checks import checked, instance, one_of, vector
from stickslip.errors import InputError
from stickslip.problems.blocks import OfContacts, contact_weights
from stickslip.problems.matrix import Dense, Frozen, Indices, Matrix, Sparse, Vector, as_sparse, canonical, square

Law = Literal["coulomb", "associated"]
LAWS = get_args(Law)


@dataclass(frozen=True, eq=False)
class BodyForm(Frozen):
    """The bodies behind the contacts:  M v = H r + f,  u = Hᵀ v + w.  M and H are kept sparse."""

    M: Sparse  # (nv, nv)     mass                                   [kg, kg m²]
    H: Sparse  # (nv, d nc)   contact forces to generalized forces
    f: Vector  # (nv,)        applied impulse and momentum           [N s]
    w: Vector  # (d nc,)      contact velocity not due to v          [m/s]

    def __post_init__(self) -> None:
        self.hold(M=as_sparse(square("ConeProblem", "M", self.M)))
        rows = self.M.shape[0]
        jacobian = canonical("ConeProblem", "H", self.H)
        if jacobian.ndim != 2 or jacobian.shape[0] != rows:
            raise InputError(f"ConeProblem: H has shape {jacobian.shape}, expected a matrix with {rows} rows as M has")
        self.hold(H=as_sparse(jacobian))
        self.hold(f=vector("ConeProblem", "f", self.f, rows))
        self.hold(w=vector("ConeProblem", "w", self.w, jacobian.shape[1]))


@dataclass(frozen=True, eq=False)
@checked(bodies=instance(BodyForm), law=one_of(*LAWS))
class ConeProblem(OfContacts):
    """Find r with  u = W r + q,  K ∋ r ⊥ u + μ|u_t| e_n ∈ K*, contact by contact, (1) of problems/cone.py."""

    W: Matrix  # (d nc, d nc)  Delassus matrix, dense or SciPy-sparse   [1/kg]
    q: Vector  # (d nc,)       contact velocity of the free motion      [m/s]
    mu: Vector  # (nc,)        friction coefficient, >= 0               [-]
    bodies: BodyForm | None = None  # where the problem came in its global form
    law: Law = "coulomb"  # or "associated": without the shift μ|u_t| e_n

    def __post_init__(self) -> None:
        self.check("mu", "a friction coefficient")
        if self.bodies is not None and self.bodies.w.size != self.q.size:
            raise InputError(
                f"ConeProblem: bodies.H has {self.bodies.w.size} columns, expected {self.q.size} as q has entries"
            )

    @classmethod
    def from_bodies(cls, M: Any, H: Any, f: Any, mu: Any, w: Any | None = None, law: Law = "coulomb") -> ConeProblem:
        """From the global form. W is assembled sparsely, one connected block of M at a time."""
        H = canonical("ConeProblem", "H", H)
        columns = H.shape[1] if H.ndim == 2 else 0  # a wrong H is refused by BodyForm
        bodies = BodyForm(M, H, f, np.zeros(columns) if w is None else w)
        W, free = delassus(bodies.M, bodies.H, bodies.f)
        return cls(W, free + bodies.w, mu, bodies, law)

    @property
    def contacts(self) -> int:
        return self.mu.size

    @property
    def shift(self) -> Vector:
        """What multiplies |u_t| in the shift: μ under Coulomb's law, zero under the associated one."""
        return self.mu if self.law == "coulomb" else np.zeros_like(self.mu)

    @cached_property
    def weights(self) -> Vector:
        """ρ_i = d / tr(W_ii), or 1: the impulse that a velocity of contact i is worth."""
        return contact_weights(self.blocks.diagonal)

    def __repr__(self) -> str:
        law = "" if self.law == "coulomb" else f", law={self.law!r}"
        return f"ConeProblem(contacts={self.contacts}, dimension={self.dimension}{law})"


LARGEST_BLOCK = 64  # rows of M that hang together; beyond, M is factored and its inverse never formed


def delassus(M: Sparse, H: Sparse, f: Vector) -> tuple[Sparse, Vector]:
    """W = Hᵀ M⁻¹ H and Hᵀ M⁻¹ f, with M⁻¹ formed block by block where M decouples (one block a body)."""
    label = csgraph.connected_components(M, directed=False)[1].astype(np.int64)
    sizes = np.bincount(label)
    if sizes.max(initial=0) > LARGEST_BLOCK:
        return coupled_delassus(M, H, f)
    inverse = block_inverse(M, label, sizes)
    return canonical_product(H.T @ (inverse @ H)), H.T @ (inverse @ f)


def coupled_delassus(M: Sparse, H: Sparse, f: Vector, columns: int = 256) -> tuple[Sparse, Vector]:
    """The same with a sparse factorisation of M, `columns` columns of H at a time."""
    try:
        factors = sparse_linalg.splu(sparse.csc_array(M))
    except RuntimeError:
        raise InputError("ConeProblem: M is singular, expected an invertible mass matrix") from None
    parts = [
        sparse.csr_array(H.T @ factors.solve(H[:, first : first + columns].toarray()))
        for first in range(0, H.shape[1], columns)
    ]
    W = canonical_product(sparse.hstack(parts)) if parts else sparse.csr_array((0, 0))
    return W, H.T @ factors.solve(f)


def canonical_product(product: Any) -> Sparse:
    W: Sparse = sparse.csr_array(product)
    W.sum_duplicates()
    return W


def block_inverse(M: Sparse, label: Indices, sizes: Indices) -> Sparse:
    """The inverse of a matrix that decouples into blocks: row i belongs to block label[i], of sizes[label[i]] rows.

    Blocks of equal size are gathered into one (blocks, size, size) array and inverted at once.
    """
    order = np.argsort(label, kind="stable")  # rows, block after block
    starts = np.cumsum(sizes) - sizes
    place = np.empty_like(order)  # of a row inside its own block
    place[order] = np.arange(order.size) - starts[label[order]]
    entries = M.tocoo()
    parts = []
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        number = np.full(sizes.size, -1)
        number[chosen] = np.arange(chosen.size)
        owner = number[label[entries.row]]
        mine = owner >= 0
        blocks = np.zeros((chosen.size, size, size))
        blocks[owner[mine], place[entries.row[mine]], place[entries.col[mine]]] = entries.data[mine]
        rows = order[starts[chosen][:, None] + np.arange(size)]
        parts.append(
            (invert_blocks(blocks, rows).ravel(), np.repeat(rows, size, axis=1).ravel(), np.tile(rows, size).ravel())
        )
    if not parts:
        return M
    values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=M.shape))


def invert_blocks(blocks: Dense, rows: Indices) -> Dense:
    try:
        return np.asarray(np.linalg.inv(blocks), np.float64)
    except np.linalg.LinAlgError:
        bad = int(np.argmin(np.abs(np.linalg.det(blocks))))
        raise InputError(
            f"ConeProblem: M is singular in the block of rows {rows[bad].tolist()}, expected an invertible mass matrix"
        ) from None
