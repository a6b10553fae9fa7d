"""Square linear systems: the one place where solvers meet LAPACK, SuperLU and qdldl.

    factor = factorise(A)             # A = M[F][:, F], dense or CSR; None where a pivot is exactly zero
    x = factor.solve(b)
    factor.weakest_pivot()            # scale-free; at most SINGULAR where A is singular to working precision

    many = shifted(M)                 # M + diag(d) for many d
    many.factorise(d).solve(b)

What is used when was measured (one core, milliseconds to factorise a contact matrix with n rows):

    n, share of non-zeros     107, 17 %   256, 3 %   463, 1.7 %   570, 4 %   2473, 0.35 %
    LAPACK LU / Cholesky    0.06 / 0.04  0.75 / 0.42  2.4 / 1.5   5.4 / 3.2     276 / 133
    SuperLU                        0.25         0.47       0.52        1.8           6.6
    qdldl, a new pattern           0.15         0.30       0.35        1.1           5.0
    qdldl, the same pattern        0.03         0.04       0.04       0.46           2.7

So small or full matrices go to LAPACK whatever their storage, sparse ones to qdldl where the caller knows them to
be symmetric and definite, and to SuperLU otherwise, with minimum degree on A + Aᵀ and threshold pivoting that
prefers the diagonal: 2.4 times faster than its default ordering on the sphere pile, as accurate.

Nothing is perturbed: a matrix that cannot be factorised is said to be so.

[1] Vanderbei, Symmetric quasidefinite matrices, SIAM J. Optimization 5 (1995) 100-113: LDLᵀ exists in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import qdldl
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from stickslip.jit import dense, kernel
from stickslip.problems.matrix import Dense, Matrix, Sparse, Vector, as_dense, as_sparse, asymmetry

SMALL = 128  # rows up to which LAPACK wins at any density
FULL = 0.1  # share of non-zeros from which LAPACK wins at any size
SINGULAR = 1e-13  # a weakest pivot below this is rounding: the matrix is singular to working precision
SYMMETRIC = 1e-12  # asymmetry up to this share of the largest entry is rounding
FAITHFUL = 1e-8  # the relative error to which an LDLᵀ without pivoting must reproduce a known product


class Factor(Protocol):
    """A factorised square matrix A = L U (rows and columns permuted)."""

    def solve(self, rhs: Vector) -> Vector:
        """x with A x = rhs, a vector or the columns of a matrix."""

    def weakest_pivot(self) -> float:
        """min_j |U_jj| / Σ_k |L_jk U_kj|: the share of a pivot that survived cancellation, 0 where it is NaN.

        Scaling rows or columns does not change it, as long as the same pivots are taken.
        """


def factorise(matrix: Matrix, definite: bool = False) -> Factor | None:
    """The factors of a square matrix, or None where a pivot is exactly zero.

    `definite`: the caller knows the matrix to be symmetric, and positive definite unless it is singular. Then Cholesky
    is used, or LDLᵀ; None also says that Cholesky met a negative pivot.
    """
    if suits_lapack(matrix):
        dense = as_dense(matrix)
        return cholesky(dense) if definite else lu(dense)
    return ldl(as_sparse(matrix)) if definite else sparse_lu(as_sparse(matrix))


def suits_lapack(matrix: Matrix) -> bool:
    n = matrix.shape[0]
    return n <= SMALL or not sparse.issparse(matrix) or matrix.nnz >= FULL * n * n


# dense


@dataclass(frozen=True, eq=False)
class Cholesky:
    """A = L Lᵀ."""

    L: Dense  # lower triangle; what lies above is not used
    diagonal: Vector  # of A

    def solve(self, rhs: Vector) -> Vector:
        return lapack.dpotrs(self.L, rhs, lower=1)[0] if rhs.size else rhs.copy()

    def weakest_pivot(self) -> float:
        return smallest(self.L.diagonal() ** 2 / self.diagonal)


@dataclass(frozen=True, eq=False)
class LU:
    """Aᵀ = P L U: a C-ordered A is its transpose to LAPACK, and needs no copy of its own."""

    LU: Dense
    pivots: NDArray[np.int32]

    def solve(self, rhs: Vector) -> Vector:
        return lapack.dgetrs(self.LU, self.pivots, rhs, trans=1)[0] if rhs.size else rhs.copy()

    def weakest_pivot(self) -> float:
        return dense_weakest_pivot(self.LU)


def cholesky(matrix: Dense) -> Cholesky | None:
    if matrix.shape[0] == 0:
        return Cholesky(matrix, np.empty(0))
    L, failed = lapack.dpotrf(matrix.T, lower=1, clean=0)
    return None if failed else Cholesky(L, matrix.diagonal())


def lu(matrix: Dense) -> LU | None:
    if matrix.shape[0] == 0:
        return LU(matrix, np.empty(0, np.int32))
    factors, pivots, failed = lapack.dgetrf(matrix.T)
    return None if failed else LU(factors, pivots)


@kernel
def dense_weakest_pivot(LU):
    weakest = 1.0
    for j in range(LU.shape[0]):
        pivot = abs(LU[j, j])
        total = pivot
        for k in range(j):
            total += abs(LU[j, k] * LU[k, j])
        share = pivot / total
        if math.isnan(share):
            return 0.0
        weakest = min(weakest, share)
    return weakest


# small and dense, inside compiled code


@dense
def eliminate(A, swaps):
    """P A = L U in place, by rows with the largest pivot of a column; False where a pivot is zero or not finite. The
    rows below are changed for two columns at once, which reads and writes them half as often; what the next pivot is,
    is found on the way."""
    n, at, largest = A.shape[0], 0, 0.0
    for i in range(n):
        if abs(A[i, 0]) > largest:
            at, largest = i, abs(A[i, 0])
    for j in range(0, n, 2):
        if not exchange(A, j, at, swaps):
            return False
        if j + 1 == n:
            return True
        inverse, above, at, largest = 1.0 / A[j, j], A[j, j + 1], j + 1, 0.0
        for i in range(j + 1, n):
            x = A[i, j] * inverse
            y = A[i, j + 1] - x * above
            A[i, j], A[i, j + 1] = x, y
            if abs(y) > largest:
                at, largest = i, abs(y)
        if not exchange(A, j + 1, at, swaps):
            return False
        first, second, share, inverse = A[j, j + 2 :], A[j + 1, j + 2 :], A[j + 1, j], 1.0 / A[j + 1, j + 1]
        for c in range(n - j - 2):
            second[c] -= share * first[c]
        at, largest = j + 2, 0.0
        for i in range(j + 2, n):
            row, x, y = A[i, j + 2 :], A[i, j], A[i, j + 1] * inverse
            A[i, j + 1] = y
            for c in range(n - j - 2):
                row[c] -= x * first[c] + y * second[c]
            if abs(row[0]) > largest:
                at, largest = i, abs(row[0])
    return True


@dense
def exchange(A, j, at, swaps):
    """Take row `at` for row j. Is there a pivot then?"""
    swaps[j] = at
    if at != j:
        for c in range(A.shape[0]):
            A[j, c], A[at, c] = A[at, c], A[j, c]
    return 0.0 < abs(A[j, j]) < np.inf


@dense
def substitute(LU, swaps, b):
    """b <- A⁻¹ b, with the factors of `eliminate`, two rows at a time: their sums do not wait for each other."""
    n = b.size
    for j in range(n):
        b[j], b[swaps[j]] = b[swaps[j]], b[j]
    for i in range(0, n - 1, 2):
        first, second, x, y = LU[i], LU[i + 1], b[i], b[i + 1]
        for j in range(i):
            x -= first[j] * b[j]
            y -= second[j] * b[j]
        b[i], b[i + 1] = x, y - second[i] * x
    odd = n % 2
    if odd == 1:
        last, x = LU[n - 1], b[n - 1]
        for j in range(n - 1):
            x -= last[j] * b[j]
        b[n - 1] = x / last[n - 1]
    for i in range(n - odd - 2, -1, -2):
        first, second, x, y = LU[i], LU[i + 1], b[i], b[i + 1]
        for j in range(i + 2, n):
            x -= first[j] * b[j]
            y -= second[j] * b[j]
        b[i + 1] = y / second[i + 1]
        b[i] = (x - first[i + 1] * b[i + 1]) / first[i]


# sparse


@dataclass(frozen=True, eq=False)
class SparseLU:
    """Aᵀ = L U, permuted: the CSR arrays of A are the CSC arrays of Aᵀ, which SuperLU reads as they are."""

    superlu: Any

    def solve(self, rhs: Vector) -> Vector:
        return self.superlu.solve(rhs, "T")

    def weakest_pivot(self) -> float:
        L, U = abs(self.superlu.L), abs(self.superlu.U)
        return smallest(U.diagonal() / L.T.multiply(U).sum(axis=0))


@dataclass(frozen=True, eq=False)
class LDL:
    """A = L D Lᵀ, permuted, D diagonal of any sign."""

    qdldl: qdldl.Solver

    def solve(self, rhs: Vector) -> Vector:
        if rhs.ndim == 2:
            return np.column_stack([self.qdldl.solve(column) for column in rhs.T]) if rhs.size else np.empty_like(rhs)
        return self.qdldl.solve(rhs)

    def weakest_pivot(self) -> float:
        L, D, _ = self.qdldl.factors()  # L without its unit diagonal
        D = np.abs(D)
        return smallest(D / (D + L.multiply(L) @ D))


def sparse_lu(matrix: Sparse) -> SparseLU | None:
    n = matrix.shape[0]
    found = superlu(sparse.csc_array((matrix.data, matrix.indices, matrix.indptr), shape=(n, n)))
    return None if found is None else SparseLU(found)


def superlu(matrix: sparse.csc_array) -> Any | None:
    try:
        return sparse_linalg.splu(
            matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options={"SymmetricMode": True}
        )
    except RuntimeError:  # "Factor is exactly singular"
        return None


def ldl(matrix: Sparse) -> LDL | None:
    """LDLᵀ of a symmetric matrix that is definite, or quasidefinite [1]."""
    try:
        return LDL(qdldl.Solver(upper_triangle(matrix), upper=True))
    except RuntimeError:  # a pivot or a whole diagonal entry is zero
        return None


def upper_triangle(matrix: Sparse) -> Any:
    """The upper triangle of a symmetric CSR matrix, as CSC: of a row's entries those up to the diagonal."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = matrix.indices <= row
    starts = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csc_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


def smallest(shares: Vector) -> float:
    weakest = float(np.min(shares, initial=1.0))
    return weakest if weakest > 0.0 else 0.0


# one matrix, many diagonals


class Shifted(Protocol):
    """M + diag(d), to be factorised for many d >= 0; M is equilibrated."""

    def factorise(self, d: Vector) -> Factor | None:
        """The factors of M + diag(d), good until the next call; None where a pivot is exactly zero."""


def shifted(M: Matrix) -> Shifted:
    """The fastest way to factorise M + diag(d) again and again, by size, density and symmetry of M."""
    if not sparse.issparse(M) and M.shape[0] > SMALL and np.count_nonzero(M) < FULL * M.size:
        M = sparse.csr_array(M)
    if suits_lapack(M):
        dense = as_dense(M)
        return DenseShifted(dense, asymmetry(dense) <= SYMMETRIC)
    general = SparseShifted(with_diagonal(M))
    signs = symmetrising_signs(general.M)
    return general if signs is None else SignedShifted(general, signs)


@dataclass(frozen=True, eq=False)
class DenseShifted:
    """Cholesky where M is symmetric and the sum positive definite, LU otherwise."""

    M: Dense
    symmetric: bool

    def factorise(self, d: Vector) -> Factor | None:
        e = balance(d)
        A = self.M * e * e[:, None]
        A.flat[:: A.shape[0] + 1] += d * e * e
        return balanced(e, (cholesky(A) if self.symmetric else None) or lu(A))


@dataclass(frozen=True, eq=False)
class SparseShifted:
    M: Sparse  # with every diagonal entry stored

    def factorise(self, d: Vector) -> Factor | None:
        e = balance(d)
        A = self.plus(d)
        A.data *= e[A.indices] * np.repeat(e, np.diff(A.indptr))
        return balanced(e, sparse_lu(A))

    def plus(self, d: Vector) -> Sparse:
        """M + diag(d), good until the next call."""
        self.sum.data[:] = self.M.data
        self.sum.data[self.diagonal] += d
        return self.sum

    @cached_property
    def sum(self) -> Sparse:
        return self.M.copy()

    @cached_property
    def diagonal(self) -> NDArray[np.intp]:
        """Where the diagonal lies in M.data."""
        n = self.M.shape[0]
        return np.flatnonzero(self.M.indices == np.repeat(np.arange(n), np.diff(self.M.indptr)))


@dataclass(frozen=True, eq=False)
class SignedShifted:
    """A sparse M with M_ij = ±M_ji, made symmetric by signs σ on its rows: + throughout where M is symmetric, the
    contacts against the bodies in M = [[A, -H], [Hᵀ, 0]].

    With M positive semidefinite σ (M + diag(d)) is quasidefinite [1]: qdldl factorises it on an ordering found once.
    A factor that does not reproduce a known product to FAITHFUL is dropped for SuperLU's, which pivots: that
    happens where M is not semidefinite, and where the sum is singular.
    """

    general: SparseShifted
    signs: Vector

    def factorise(self, d: Vector) -> Factor | None:
        factor = self.refactorise(d)
        return factor if reproduces(factor, self.general.plus(d)) else self.general.factorise(d)

    def refactorise(self, d: Vector) -> ScaledFactor:
        self.upper.data[:] = self.entries
        self.upper.data[self.upper.indptr[1:] - 1] += self.signs * d  # a column's last entry is its diagonal
        self.solver.update(self.upper, upper=True)  # keeps old factors where a pivot is zero, and does not say so
        return ScaledFactor(self.signs, np.ones(d.size), LDL(self.solver))

    @cached_property
    def upper(self) -> Any:
        """The upper triangle of (σ M + (σ M)ᵀ) / 2."""
        M = self.general.M
        signed = sparse.csr_array((M.data * np.repeat(self.signs, np.diff(M.indptr)), M.indices, M.indptr), M.shape)
        transposed = sparse.csr_array(signed.T)
        transposed.sort_indices()
        signed.data = (signed.data + transposed.data) / 2  # the pattern is symmetric
        return upper_triangle(signed)

    @cached_property
    def entries(self) -> Vector:
        return self.upper.data.copy()

    @cached_property
    def solver(self) -> qdldl.Solver:
        """Ordered and analysed once, on the diagonal σ: only the pattern matters here."""
        start = self.upper.copy()
        start.data[:] = 0.0
        start.data[self.upper.indptr[1:] - 1] = self.signs
        return qdldl.Solver(start, upper=True)


@dataclass(frozen=True, eq=False)
class ScaledFactor:
    """The factors of diag(rows) A diag(columns) for A."""

    rows: Vector
    columns: Vector
    factor: Factor

    def solve(self, rhs: Vector) -> Vector:
        return (self.columns * self.factor.solve((self.rows * rhs.T).T).T).T

    def weakest_pivot(self) -> float:
        return self.factor.weakest_pivot()


def balance(d: Vector) -> Vector:
    """E that brings the diagonal of M + diag(d) near 1 where M is equilibrated: LU picks its pivots by size, and
    with d between 1e-16 and 1e16 the errors of single rows fell from order 1 to 1e-4 or less."""
    return 1.0 / np.sqrt(1.0 + d)


def balanced(e: Vector, factor: Factor | None) -> ScaledFactor | None:
    return None if factor is None else ScaledFactor(e, e, factor)


def reproduces(factor: Factor, A: Sparse) -> bool:
    """Does the factor find x with A x = A 1 to the relative error FAITHFUL, row by row?"""
    x = factor.solve(A.sum(axis=1))
    return bool((np.abs(A @ (x - 1.0)) <= FAITHFUL * (abs(A) @ (np.abs(x) + 1.0))).all())  # never true of NaN


def with_diagonal(M: Sparse) -> Sparse:
    """M with every diagonal entry stored, zero or not."""
    diagonal = M.diagonal()
    bump = np.abs(diagonal) + 1.0  # no sum with it is zero, so no entry is dropped
    stored = sparse.csr_array(M + sparse.diags_array(bump))
    stored.sort_indices()
    stored.setdiag(diagonal)
    return stored


def symmetrising_signs(M: Sparse) -> Vector | None:
    """σ with σ_i M_ij = σ_j M_ji up to rounding, or None where there is none."""
    transposed = sparse.csr_array(M.T)
    transposed.sort_indices()
    if not np.array_equal(M.indices, transposed.indices):
        return None
    n, row = M.shape[0], np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    rounding = SYMMETRIC * np.abs(M.data).max(initial=0.0)
    equal, opposite = (np.abs(M.data - sign * transposed.data) <= rounding for sign in (1.0, -1.0))
    linked = (M.indices != row) & ~(equal & opposite)
    if (linked & ~equal & ~opposite).any():
        return None
    # a graph of 2 n nodes, "row i is +" and "row i is -": what hangs together holds together
    i, j, other = row[linked], M.indices[linked], np.where(opposite[linked], n, 0)
    pairs = np.concatenate([i, i + n]), np.concatenate([j + other, j + n - other])
    graph = sparse.csr_array((np.ones(2 * i.size), pairs), shape=(2 * n, 2 * n))
    plus, minus = csgraph.connected_components(graph, directed=False)[1].reshape(2, n)
    return None if (plus == minus).any() else np.where(plus < minus, 1.0, -1.0)
