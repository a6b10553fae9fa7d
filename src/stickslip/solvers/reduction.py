"""A mixed problem with bounds as an LCP, and the way back, for methods that know only  0 <= z ⊥ w >= 0.

    fixed      lower = upper     a constant: moved into q
    one bound  [l, inf)          z = l + z';      (-inf, u]:  z = u - z' with the row negated
    boxed      [l, u]            z = l + z', and a second pair  0 <= t ⊥ (u - l) - z' >= 0  with  w + t >= 0
    free       (-inf, inf)       eliminated: z_F = -M_FF⁻¹ (q_F + M_FC z_C) leaves the Schur complement

If M_FF is singular to working precision, a few complementary pairs J are pivoted along with the free rows, so that
M_αα is regular for α = F ∪ J, and change roles: the LCP is written in w_J instead of z_J (a principal pivot
transform: monotone stays monotone). Equations that depend on the others even then are left out, and their variables
are zero; if such an equation contradicts the others, the residual of the answer shows it.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009, sections 1.5 and 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Matrix, Vector, as_dense, both_sides
from stickslip.problems.mixed import MixedLCP
from stickslip.solvers.linear import SINGULAR, Factor, factorise

Integers = NDArray[np.int64]


class Reduced(NamedTuple):
    """An LCP in place of a problem."""

    lcp: LCP
    expand: Callable[[Vector], Vector]  # the problem's z from the LCP's


def reduce(problem: LCP | MixedLCP) -> Reduced | None:
    """The LCP, which may be the problem itself, and the way back; None where no regular block was found."""
    if isinstance(problem, LCP):
        return Reduced(problem, lambda z: z)
    lower, upper = problem.lower, problem.upper
    kept = np.flatnonzero(lower < upper)
    sign = np.where(np.isinf(lower[kept]) & np.isfinite(upper[kept]), -1.0, 1.0)
    base = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    M = flipped(problem.M, kept, sign)
    q = sign * problem.value(base)[kept]
    free = np.isinf(lower[kept]) & np.isinf(upper[kept])
    boxed = np.flatnonzero(np.isfinite(lower[kept]) & np.isfinite(upper[kept]))
    width = (upper - lower)[kept[boxed]]
    M, q = with_upper_bounds(M, q, boxed, width)
    is_free = np.zeros(q.size, bool)
    is_free[: free.size] = free
    eliminated = eliminate(M, q, is_free)
    if eliminated is None:
        return None
    lcp, fill = eliminated

    def expand(z: Vector) -> Vector:
        full = base.copy()
        full[kept] += sign * fill(z)[: kept.size]
        return np.clip(full, lower, upper)

    return Reduced(lcp, expand)


def flipped(M: Matrix, kept: Integers, sign: Vector) -> Matrix:
    """The kept rows and columns, each multiplied by its sign."""
    if kept.size == M.shape[0] and (sign > 0).all():
        return M
    return both_sides(block(M, kept, kept), sign)


def with_upper_bounds(M: Matrix, q: Vector, boxed: Integers, width: Vector) -> tuple[Matrix, Vector]:
    """[M E; -Eᵀ 0] and (q, width): the pair t ⊥ width - z' for every boxed row."""
    if boxed.size == 0:
        return M, q
    n, b = q.size, boxed.size
    extended = np.concatenate([q, width])
    if sparse.issparse(M):
        E = sparse.csr_array((np.ones(b), (boxed, np.arange(b))), shape=(n, b))
        return sparse.csr_array(sparse.block_array([[M, E], [-E.T, None]])), extended
    block = np.zeros((n + b, n + b))
    block[:n, :n] = M
    block[boxed, n + np.arange(b)] = 1.0
    block[n + np.arange(b), boxed] = -1.0
    return block, extended


def eliminate(M: Matrix, q: Vector, is_free: NDArray[np.bool_]) -> Reduced | None:
    """The LCP in the rows C that are not free, after a principal pivot on the free ones."""
    F, C = np.flatnonzero(is_free), np.flatnonzero(~is_free)
    if F.size == 0:
        return Reduced(LCP(M, q), lambda z: z)
    rows, columns, swapped = F, F, np.zeros(0, np.int64)
    inverse = invert(M, F, F)
    if inverse is None:
        M = as_dense(M)
        rows, columns, swapped = regular_block(M, F, C)
        inverse = invert(M, rows, columns)
    if inverse is None:
        return None
    rest = np.setdiff1d(C, swapped)
    gain, offset = inverse(block(M, rows, rest)), inverse(q[rows])  # z_α = A⁻¹ w_α - gain z_rest - offset
    across = block(M, rest, columns)
    S, s = block(M, rest, rest) - across @ gain, q[rest] - across @ offset
    if swapped.size:  # the principal pivot transform: the LCP in (z_rest, w_J), whose slacks are (w_rest, z_J)
        of_w = inverse((rows[:, None] == swapped).astype(float))  # z_α per w_J
        mine = np.arange(columns.size - swapped.size, columns.size)  # J stands last
        S, s = np.block([[S, across @ of_w], [-gain[mine], of_w[mine]]]), np.append(s, -offset[mine])

    def fill(z: Vector) -> Vector:
        full = np.zeros(q.size)
        full[rest] = z[: rest.size]
        w = np.zeros(q.size)
        w[swapped] = z[rest.size :]
        full[columns] = inverse(w[rows]) - gain @ full[rest] - offset
        return full

    return Reduced(LCP(S, s), fill)


def block(M: Matrix, rows: Integers, columns: Integers) -> Matrix:
    return sparse.csr_array(M[rows][:, columns]) if sparse.issparse(M) else M[np.ix_(rows, columns)]


def invert(M: Matrix, rows: Integers, columns: Integers) -> Callable[[Any], Any] | None:
    """b -> M[rows, columns]⁻¹ b for vectors and matrices; None where the block is singular to working precision."""
    if rows.size == 0:
        return lambda b: b
    A = block(M, rows, columns)
    if not sparse.issparse(A):
        return solving(factorise(A))
    if A.nnz == rows.size and (A.indices == np.arange(rows.size)).all():  # diagonal, as a mass matrix
        return lambda b: sparse.csr_array(b.multiply(1.0 / A.data[:, None])) if b.ndim == 2 else b / A.data
    solve = solving(factorise(A))
    if solve is None:
        return None
    return lambda b: sparse.csr_array(solve(b.toarray())) if b.ndim == 2 else solve(b)


def solving(factor: Factor | None) -> Callable[[Any], Any] | None:
    if factor is None or factor.weakest_pivot() <= SINGULAR:
        return None
    return lambda b: factor.solve(np.asfortranarray(b))


def regular_block(M: Dense, F: Integers, C: Integers) -> tuple[Integers, Integers, Integers]:
    """Rows and columns of a regular block that holds as many free ones as possible, and the pairs J it needs of C."""
    rows, columns = regular_part(M[np.ix_(F, F)])
    rows, columns = F[rows], F[columns]
    R, K = np.setdiff1d(F, rows), np.setdiff1d(F, columns)
    gain = np.linalg.solve(M[np.ix_(rows, columns)], M[np.ix_(rows, np.concatenate([K, C]))])
    left = M[np.ix_(np.concatenate([R, C]), np.concatenate([K, C]))]
    left = left - M[np.ix_(np.concatenate([R, C]), columns)] @ gain
    scale = np.abs(M).max(initial=0.0)
    left[np.abs(left) <= 1e-12 * scale] = 0.0
    equations, pairs = regular_part(left[: R.size, K.size :])
    chosen, variables = regular_part(left[R.size + pairs, : K.size])
    pairs = pairs[chosen]
    equations = equations[: pairs.size]
    J = C[pairs]
    return np.concatenate([rows, R[equations], J]), np.concatenate([columns, K[variables], J]), J


def regular_part(block: Dense) -> tuple[Integers, Integers]:
    """Rows and columns of a regular submatrix as large as the rank: QR with pivoting, of columns and then of rows."""
    if block.size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    size = np.abs(block).max(axis=1, keepdims=True)
    block = block / np.where(size > 0, size, 1.0)
    _, R, columns = linalg.qr(block, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int((pivots > 1e-11 * pivots.max()).sum())
    columns = np.sort(columns[:rank])
    _, _, rows = linalg.qr(block[:, columns].T, mode="economic", pivoting=True)
    return np.sort(rows[:rank]), columns


# The same for small dense problems, inside compiled code.

PAIR, EQUATION = 0, 1  # kinds of row of the table


@kernel
def reduce_small(M, q, lower, upper):
    """The dictionary  right = table (left, 1)  of a small problem after its free variables are pivoted in.

    left_i is z' of the i-th row that is not fixed, then t of the boxed ones; right_i is its w. Variable i is left_i,
    variable size + i is right_i; `basic` and `nonbasic` say where they stand. False: some equation is left over.
    """
    n = q.size
    size = 0
    for i in range(n):
        if lower[i] < upper[i]:
            size += 2 if -np.inf < lower[i] and upper[i] < np.inf else 1
    row_of, sign, base = np.empty(size, np.int64), np.ones(size), np.empty(n)
    kept = 0
    for i in range(n):
        base[i] = lower[i] if lower[i] > -np.inf else (upper[i] if upper[i] < np.inf else 0.0)
        if lower[i] < upper[i]:
            row_of[kept] = i
            sign[kept] = -1.0 if lower[i] == -np.inf and upper[i] < np.inf else 1.0
            kept += 1
    table, kind = np.zeros((size, size + 1)), np.zeros(size, np.int64)
    k = kept
    for a in range(kept):
        i = row_of[a]
        kind[a] = EQUATION if lower[i] == -np.inf and upper[i] == np.inf else PAIR
        total = q[i]
        for j in range(n):
            total += M[i, j] * base[j]
        table[a, size] = sign[a] * total
        for b in range(kept):
            table[a, b] = sign[a] * M[i, row_of[b]] * sign[b]
        if -np.inf < lower[i] and upper[i] < np.inf:  # the pair t ⊥ width - z'
            row_of[k] = i
            table[a, k], table[k, a], table[k, size] = 1.0, -1.0, upper[i] - lower[i]
            k += 1
    basic, nonbasic = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(size):
        basic[i], nonbasic[i] = size + i, i
    regular = pivot_free_in(table, kind, basic, nonbasic)
    return regular, table, kind, basic, nonbasic, row_of[:kept], sign, base


@kernel
def pivot_free_in(table, kind, basic, nonbasic):
    """Free variables become basic and equations nonbasic; False if some cannot, to working precision.

    Three rounds: an equation against a free variable; an equation left over against the left side of a pair, which then
    has both sides basic; a free variable left over against the right side of such a pair, whose roles are then swapped.
    """
    size = kind.size
    smallest = 0.0
    for i in range(size):
        for j in range(size):
            smallest = max(smallest, 1e-11 * abs(table[i, j]))
    both_basic = np.zeros(size, np.bool_)
    for wanted in (EQUATION, PAIR):
        for r in range(size):
            if basic[r] >= size and kind[basic[r] - size] == EQUATION:
                c = strongest_column(table, kind, nonbasic, r, wanted, smallest)
                if c >= 0:
                    if wanted == PAIR:
                        both_basic[nonbasic[c]] = True
                    exchange(table, basic, nonbasic, r, c)
                elif wanted == PAIR:
                    return False
    for c in range(size):
        if nonbasic[c] < size and kind[nonbasic[c]] == EQUATION:
            r = strongest_row(table, both_basic, basic, c, smallest)
            if r < 0:
                return False
            both_basic[basic[r] - size] = False
            exchange(table, basic, nonbasic, r, c)
    return True


@kernel
def strongest_column(table, kind, nonbasic, r, wanted, smallest):
    """The left side of the wanted kind with the largest entry in row r; -1 where none is above `smallest`."""
    best, c = smallest, -1
    for j in range(kind.size):
        if abs(table[r, j]) > best and nonbasic[j] < kind.size and kind[nonbasic[j]] == wanted:
            best, c = abs(table[r, j]), j
    return c


@kernel
def strongest_row(table, both_basic, basic, c, smallest):
    """The right side, of a pair with both sides basic, with the largest entry in column c; -1 where there is none."""
    best, r = smallest, -1
    for i in range(basic.size):
        if abs(table[i, c]) > best and basic[i] >= basic.size and both_basic[basic[i] - basic.size]:
            best, r = abs(table[i, c]), i
    return r


@kernel
def exchange(table, basic, nonbasic, r, c):
    """Let the basic variable of row r and the nonbasic one of column c change places in  x_B = table (x_N, 1)."""
    inverse = 1.0 / table[r, c]
    for j in range(table.shape[1]):
        table[r, j] *= -inverse
    table[r, c] = inverse
    for i in range(table.shape[0]):
        factor = table[i, c]
        if i != r and factor != 0.0:
            table[i, c] = 0.0
            for j in range(table.shape[1]):
                table[i, j] += factor * table[r, j]
    basic[r], nonbasic[c] = nonbasic[c], basic[r]


@kernel
def small_lcp(table, kind, basic, nonbasic):
    """M and q of the LCP between the basic and the nonbasic sides of the pairs."""
    size = kind.size
    place, column, pairs = np.empty(size, np.int64), np.empty(size, np.int64), 0
    for i in range(size):
        pairs += kind[i] == PAIR
    for i in range(size):
        place[basic[i] % size], column[nonbasic[i] % size] = i, i
    M, q, a = np.empty((pairs, pairs)), np.empty(pairs), 0
    for i in range(size):
        if kind[i] == PAIR:
            q[a] = table[place[i], size]
            b = 0
            for j in range(size):
                if kind[j] == PAIR:
                    M[a, b] = table[place[i], column[j]]
                    b += 1
            a += 1
    return M, q


@kernel
def expand_small(z, table, kind, basic, nonbasic, row_of, sign, base, lower, upper):
    """The mixed problem's z from the LCP's: nonbasic sides of the pairs are z, all equations are zero."""
    size = kind.size
    value, order, k = np.zeros(size), np.empty(size, np.int64), 0
    for i in range(size):
        order[i] = k
        k += kind[i] == PAIR
    for j in range(size):
        v = nonbasic[j] % size
        value[j] = z[order[v]] if kind[v] == PAIR else 0.0
    left = np.zeros(size)
    for j in range(size):
        if nonbasic[j] < size:
            left[nonbasic[j]] = value[j]
    for i in range(size):
        if basic[i] < size:
            total = table[i, size]
            for j in range(size):
                total += table[i, j] * value[j]
            left[basic[i]] = total
    x = base.copy()
    for a in range(row_of.size):
        i = row_of[a]
        x[i] = min(max(base[i] + sign[a] * left[a], lower[i]), upper[i])
    return x
