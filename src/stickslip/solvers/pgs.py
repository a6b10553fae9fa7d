"""Projected Gauss-Seidel and SOR for the mixed LCP: row after row, with the newest z everywhere,

    z_i <- P(z_i - ω w_i / M_ii),    w_i = M_i z + q_i,    P the projection on [lower_i, upper_i].

With ω = 1 a step solves its row exactly. For symmetric positive semidefinite M with a positive diagonal and 0 < ω < 2
the iteration descends on ½ zᵀMz + qᵀz, and converges to a solution if there is one [1, 2]. For other M it may
cycle or diverge; strict diagonal dominance and ω <= 1 are enough [3]. Convergence is linear, and slow where contacts
are redundant or stacked high.

Every row that is not fixed needs M_ii > 0. Rows with a zero diagonal, such as the multipliers of equality
constraints, are beyond this method and refused; InteriorPoint and SemismoothNewton take them.

A sweep over a sparse matrix is one pass over its entries, with unsigned indices (5 times faster than signed ones on
the sphere pile). From a share of FULL non-zeros on, rows are read as dense ones, without indices: 2 to 5 times faster.

[1] Cryer, The solution of a quadratic programming problem using systematic overrelaxation, SIAM J. Control 9 (1971)
    385-392.
[2] Luo, Tseng, On the convergence of a matrix splitting algorithm for the symmetric monotone linear
    complementarity problem, SIAM J. Control and Optimization 29 (1991) 1037-1060.
[3] Murty, Linear Complementarity, Linear and Nonlinear Programming, Heldermann 1988, chapter 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import between, checked, count, not_negative
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Matrix, Vector, as_dense, as_sparse, density
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import box_map_length, residual_scale
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, SOLVED, STALLED

FULL = 0.4  # share of non-zeros from which dense rows are faster
CHECK = 8  # sweeps between two residuals; a residual costs as much as a sweep


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, omega=between(0, 2))
class PGS:
    """Projected Gauss-Seidel (omega = 1) or SOR for LCP and MixedLCP; an iteration is one sweep over the rows."""

    tol: float = 1e-10
    max_iter: int = 10_000
    omega: float = 1.0

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol.

        STALLED says that a sweep changed nothing, so that rounding is above tol; NONFINITE that z diverged.
        """
        started = expect(self, problem, LCP, MixedLCP)
        lower, upper = problem.lower, problem.upper
        step = self.omega / positive_diagonal(problem.M, lower < upper)
        # a little below tol: conclude multiplies by M in another order of summation
        goal = 0.999 * self.tol * residual_scale(problem)
        z = np.clip(start_from(problem, x0), lower, upper)
        with np.errstate(all="ignore"):  # overflow ends the iteration
            ended, sweeps = relax(rows_of(problem.M), problem.q, step, lower, upper, goal, self.max_iter, z)
        return conclude(problem, self, z, ended, sweeps, started)


def positive_diagonal(M: Matrix, movable: NDArray[np.bool_]) -> Vector:
    """The diagonal of M; 1 in a fixed row, which is projected to its value whatever w is."""
    diagonal = np.where(movable, M.diagonal(), 1.0)
    if not (diagonal > 0.0).all():
        i = int(np.argmin(diagonal > 0.0))
        raise InputError(
            f"PGS: M[{i}, {i}] is {diagonal[i]:g}, expected a positive diagonal, which Gauss-Seidel divides by; "
            f"InteriorPoint and SemismoothNewton take such rows"
        )
    return diagonal


class Rows(NamedTuple):
    """The rows of M: dense, or in CSR where `dense` is empty."""

    dense: Dense
    starts: NDArray[np.uint64]
    columns: NDArray[np.uint32]
    entries: Vector


def rows_of(M: Matrix) -> Rows:
    if density(M) >= FULL:
        return Rows(as_dense(M), np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0))
    csr = as_sparse(M)
    return Rows(np.empty((0, 0)), csr.indptr.astype(np.uint64), csr.indices.astype(np.uint32), csr.data)


@kernel
def relax(rows, q, step, lower, upper, goal, max_iter, z):
    """Sweep until |z - P(z - w)| <= goal. z is updated in place; returns a Status and the sweeps done."""
    w = np.empty_like(q)
    changed = True
    for done in range(max_iter + 1):
        if done % CHECK == 0 or done == max_iter or not changed:
            multiply(rows, q, z, w)
            error = box_map_length(z, w, lower, upper)
            if error <= goal:
                return SOLVED, done
            if not error < np.inf:
                return NONFINITE, done
            if not changed:
                return STALLED, done
        if done < max_iter:
            changed = sweep(rows, q, step, lower, upper, z)
    return MAX_ITER, max_iter


@kernel
def sweep(rows, q, step, lower, upper, z):
    """One pass over the rows; says whether z changed. The product M_i z stands inline: a call costs 5 times more."""
    dense, starts, columns, entries = rows
    is_dense = dense.size > 0
    changed = False
    for i in range(z.size):
        w = q[i]
        if is_dense:
            for j in range(z.size):
                w += dense[i, j] * z[j]
        else:
            for k in range(starts[i], starts[i + 1]):
                w += entries[k] * z[columns[k]]
        target = z[i] - step[i] * w
        if target < lower[i]:
            target = lower[i]
        elif target > upper[i]:
            target = upper[i]
        changed |= target != z[i]  # true for NaN too
        z[i] = target
    return changed


@kernel
def multiply(rows, q, z, w):
    """w = M z + q."""
    dense, starts, columns, entries = rows
    is_dense = dense.size > 0
    for i in range(z.size):
        total = q[i]
        if is_dense:
            for j in range(z.size):
                total += dense[i, j] * z[j]
        else:
            for k in range(starts[i], starts[i + 1]):
                total += entries[k] * z[columns[k]]
        w[i] = total
