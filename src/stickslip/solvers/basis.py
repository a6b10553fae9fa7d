"""The basis of a complementarity pivoting method, factorised; nothing drifts.

    I w - M z - d z0 = q,        basic variables x_B = B⁻¹ q                                                (1)

Variables are numbered: i is w_i, n + j is z_j, 2 n is the artificial z0 of Lemke's method. There is no tableau. The
basis is B = B_0 E_1 E_2 ... E_c: B_0 factorised (dense LU, or sparse where M is sparse), then one eta column per
pivot, the column that entered as it stood then [1]. Every few dozen pivots B is factorised afresh and the basic
values are computed again from the data. Basic slacks are unit columns, so of B_0 only the k rows whose slack is not
basic need factors: a solve costs O(n k) multiplications for dense M, and the fill of a sparse LU for sparse M.

Rows and columns of M are multiplied by positive powers of two that bring their absolute sums near one [2]. Signs,
zeros and complementarity are untouched, and the answer is scaled back exactly.

[1] Dantzig, Orchard-Hays, The product form for the inverse in the simplex method, MTAC 8 (1954) 64-67.
[2] Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector, as_dense, density
from stickslip.problems.mixed import MixedLCP
from stickslip.solvers.linear import superlu

Integers = NDArray[np.int64]

SPARSE_FROM, SPARSE_BELOW = 50, 0.15  # rows and density at which the columns of M are kept sparse
SPARSE_FACTORS_FROM = 120  # rows of B_0 from which sparse factors pay, if M is sparse


class Columns(NamedTuple):
    """The columns of the scaled M: row j of `dense`, or the sparse triple where `dense` is empty."""

    dense: Vector  # (n, n) or (0, 0)
    starts: Integers
    rows: Integers
    values: Vector


class Factor(NamedTuple):
    """B_0 restricted to the rows whose slack is not basic: dense LU (by columns) or sparse L and U."""

    rows: Integers  # (k,)  rows of B_0, which are also the places of its variables in the basis
    variables: Integers  # (k,)  n + j for z_j, 2 n for z0
    lu: Vector  # (k, k) or (0, 0): row j is column j of the LU factors
    swaps: Integers  # (k,) LAPACK's row interchanges
    row_order: Integers
    column_order: Integers
    lower_starts: Integers
    lower_rows: Integers
    lower_values: Vector
    upper_starts: Integers
    upper_rows: Integers
    upper_values: Vector


NO_INTEGERS = np.zeros(0, np.int64)
NO_MATRIX = np.zeros((0, 0))
NO_VALUES = np.zeros(0)
NO_SPARSE = (NO_INTEGERS,) * 4 + (NO_VALUES, NO_INTEGERS, NO_INTEGERS, NO_VALUES)
IDENTITY = Factor(NO_INTEGERS, NO_INTEGERS, NO_MATRIX, NO_INTEGERS, *NO_SPARSE)


def scaled(problem: LCP | MixedLCP) -> tuple[Columns, Vector, Vector]:
    """The columns of R M C and the positive powers of two R, C that bring row and column sums near one."""
    M, full = problem.M, density(problem.M) > SPARSE_BELOW or problem.size < SPARSE_FROM
    if full:
        dense, row, column = equilibrate_dense(as_dense(M))
        return Columns(dense, NO_INTEGERS, NO_INTEGERS, NO_VALUES), row, column
    by_columns = sparse.csc_array(M)
    values, row, column = equilibrate_sparse(by_columns)
    starts, rows = by_columns.indptr.astype(np.int64), by_columns.indices.astype(np.int64)
    return Columns(NO_MATRIX, starts, rows, values), row, column


def factorise(columns: Columns, d: Vector, basis: Integers) -> Factor | None:
    """Put basic slacks, and z_i where w_i is not basic, in row i, and factorise; None where B is singular."""
    n = d.size
    by_row = np.where(np.isin(np.arange(n) + n, basis), np.arange(n) + n, 2 * n)  # z0 takes the row of no one else
    by_row[basis[basis < n]] = basis[basis < n]
    basis[:] = by_row
    rows = np.flatnonzero(by_row >= n)
    variables = by_row[rows]
    if columns.dense.size or rows.size < SPARSE_FACTORS_FROM:
        block = basis_block(columns, d, rows, variables)  # row t is the column of variable t
        lu, swaps, fault = lapack.dgetrf(block.T, overwrite_a=True)
        if fault != 0:
            return None
        return Factor(rows, variables, lu.T, swaps.astype(np.int64), *NO_SPARSE)
    factors = superlu(sparse_block(columns, d, rows, variables))
    if factors is None:
        return None
    sparse_parts: tuple[Any, ...] = (factors.perm_r.astype(np.int64), factors.perm_c.astype(np.int64))
    sparse_parts += sorted_arrays(factors.L) + sorted_arrays(factors.U)
    return Factor(rows, variables, NO_MATRIX, NO_INTEGERS, *sparse_parts)


def sorted_arrays(triangle: sparse.csc_array) -> tuple[Any, ...]:
    triangle.sort_indices()
    return triangle.indptr.astype(np.int64), triangle.indices.astype(np.int64), triangle.data


def sparse_block(columns: Columns, d: Vector, rows: Integers, variables: Integers) -> sparse.csc_array:
    """The rows and variables of B_0 that need factors, with the full column of z0 where it is basic."""
    n = d.size
    matrix = sparse.csc_array((columns.values, columns.rows, columns.starts), shape=(n, n))
    block = -matrix[:, np.minimum(variables - n, n - 1)][rows]
    artificial = np.flatnonzero(variables == 2 * n)
    if artificial.size == 0:
        return sparse.csc_array(block)
    keep = np.ones(variables.size)
    keep[artificial] = 0.0
    column = sparse.csc_array((-d[rows], (np.arange(rows.size), np.repeat(artificial, rows.size))), shape=block.shape)
    return sparse.csc_array(block @ sparse.dia_array((keep[None, :], [0]), shape=block.shape) + column)


@kernel
def equilibrate_dense(M):
    """Row j of the result is column j of R M C, whose absolute row and column sums are near one."""
    n = M.shape[0]
    row, column, row_sum, column_sum = np.ones(n), np.ones(n), np.empty(n), np.empty(n)
    for _ in range(2):
        for j in range(n):
            column_sum[j] = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                a = abs(M[i, j]) * row[i] * column[j]
                total += a
                column_sum[j] += a
            row_sum[i] = total
        rescale(row, row_sum)
        rescale(column, column_sum)
    to_powers_of_two(row)
    to_powers_of_two(column)
    scaled = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            scaled[j, i] = M[i, j] * row[i] * column[j]
    return scaled, row, column


def equilibrate_sparse(matrix: sparse.csc_array) -> tuple[Vector, Vector, Vector]:
    """The values of R M C for M by columns, as in equilibrate_dense."""
    n, rows, columns = matrix.shape[0], matrix.indices, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    row, column = np.ones(n), np.ones(n)
    for _ in range(2):
        size = np.abs(matrix.data) * row[rows] * column[columns]
        row_sum, column_sum = (np.bincount(at, size, n) for at in (rows, columns))
        rescale(row, row_sum)
        rescale(column, column_sum)
    to_powers_of_two(row)
    to_powers_of_two(column)
    return matrix.data * row[rows] * column[columns], row, column


@kernel
def rescale(factor, total):
    for i in range(factor.size):
        if total[i] > 0.0:
            factor[i] /= math.sqrt(total[i])


@kernel
def to_powers_of_two(factor):
    for i in range(factor.size):
        factor[i] = 2.0 ** round(math.log2(factor[i]))


@kernel
def basis_block(columns, d, rows, variables):
    """Row t is the column of variable t in B_0, restricted to `rows`."""
    n, k = d.size, rows.size
    block, column = np.empty((k, k)), np.empty(n)
    for t in range(k):
        load(columns, d, variables[t], column)
        for s in range(k):
            block[t, s] = column[rows[s]]
    return block


@kernel
def load(columns, d, variable, column):
    """The column of a variable in (1): e_i for w_i, -M_j for z_j, -d for z0."""
    for i in range(d.size):
        column[i] = 0.0
    if variable < d.size:
        column[variable] = 1.0
    else:
        subtract_column(columns, d, variable, 1.0, column)


@kernel
def subtract_column(columns, d, variable, factor, y):
    """y -= factor (M_j, or d for z0)."""
    n = d.size
    if variable == 2 * n:
        for i in range(n):
            y[i] -= factor * d[i]
    elif columns.dense.shape[0] > 0:
        source = columns.dense[variable - n]
        for i in range(n):
            y[i] -= factor * source[i]
    else:
        j = variable - n
        for e in range(columns.starts[j], columns.starts[j + 1]):
            y[columns.rows[e]] -= factor * columns.values[e]


@kernel
def solve_factor(factor, s, work):
    """s <- B_RR⁻¹ s, with the dense or the sparse factors."""
    k = s.size
    if factor.lu.shape[0] > 0:
        lu = factor.lu
        for t in range(k):
            other = factor.swaps[t]
            if other != t:
                s[t], s[other] = s[other], s[t]
        for j in range(k):
            v = s[j]
            if v != 0.0:
                for i in range(j + 1, k):
                    s[i] -= v * lu[j, i]
        for j in range(k - 1, -1, -1):
            if s[j] != 0.0:
                v = s[j] / lu[j, j]
                s[j] = v
                for i in range(j):
                    s[i] -= v * lu[j, i]
        return
    for i in range(k):
        work[factor.row_order[i]] = s[i]
    for j in range(k):  # the diagonal of L is one and stands first in its column
        v = work[j]
        if v != 0.0:
            for e in range(factor.lower_starts[j] + 1, factor.lower_starts[j + 1]):
                work[factor.lower_rows[e]] -= v * factor.lower_values[e]
    for j in range(k - 1, -1, -1):  # the diagonal of U stands last
        if work[j] != 0.0:
            last = factor.upper_starts[j + 1] - 1
            v = work[j] / factor.upper_values[last]
            work[j] = v
            for e in range(factor.upper_starts[j], last):
                work[factor.upper_rows[e]] -= v * factor.upper_values[e]
    for i in range(k):
        s[i] = work[factor.column_order[i]]


@kernel
def forward(columns, factor, d, etas, eta_rows, count, y, s, work):
    """y <- B⁻¹ y,  B = B_0 E_1 ... E_count."""
    k = factor.rows.size
    if k > 0:
        for t in range(k):
            s[t] = y[factor.rows[t]]
        solve_factor(factor, s[:k], work)
        for t in range(k):
            if s[t] != 0.0:
                subtract_column(columns, d, factor.variables[t], -s[t], y)
        for t in range(k):
            y[factor.rows[t]] = s[t]
    for e in range(count):
        r = eta_rows[e]
        if y[r] != 0.0:
            eta = etas[e]
            v = y[r] / eta[r]
            for i in range(y.size):
                y[i] -= v * eta[i]
            y[r] = v


@kernel
def copy(source, target):
    for i in range(source.size):
        target[i] = source[i]


@kernel
def defect(columns, q, d, basis, x, rest):
    """rest = q - B x."""
    n = q.size
    copy(q, rest)
    for i in range(n):
        if basis[i] < n:
            rest[basis[i]] -= x[i]
        else:
            subtract_column(columns, d, basis[i], -x[i], rest)


@kernel
def basic_solution(basis, x, column):
    """z from the basic values, scaled back; rounding below zero is zero."""
    n = x.size
    z = np.zeros(n)
    for i in range(n):
        if n <= basis[i] < 2 * n:
            z[basis[i] - n] = max(x[i], 0.0) * column[basis[i] - n]
    return z
