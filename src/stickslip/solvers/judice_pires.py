"""Block principal pivoting of Júdice and Pires for  w = M z + q,  lower <= z <= upper  (mixed problems with bounds).

The rows are split into F (z inside its bounds, w = 0), L (z = lower, w >= 0) and U (z = upper, w <= 0). With the sets
given, z_F solves M_FF z_F = -(q_F + M_FL l_L + M_FU u_U), and the rows that break their condition are

    H = {i in F : z_i < l_i or z_i > u_i}  ∪  {i in L : w_i < 0}  ∪  {i in U : w_i > 0}.

All of H changes sides at once, usually for a handful of factorisations whatever the size. A block step may cycle, so
the paper's safeguard counts |H|: if `patience` block steps in a row bring no new minimum, single pivots follow, on the
last index of H only (Murty's rule, finite for P-matrices), until the minimum falls and block steps resume.

M must have regular M_FF along the way: positive definite, or a P-matrix. Where one is singular to working precision
the method stops (STALLED). x0 gives the first sets.

[1] Júdice, Pires, A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
    problems, Computers and Operations Research 21 (1994) 587-596; the box case: Investigação Operacional 12 (1992).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Matrix, Vector
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import residual
from stickslip.solvers.basis import scaled
from stickslip.solvers.linear import SINGULAR, factorise
from stickslip.solvers.solution import Solution, Status, conclude, start_from

INSIDE, AT_LOWER, AT_UPPER = 0, -1, 1
ROUNDING = 1e-14  # violations below this share of the largest value, in scaled units, are rounding

Sides = NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
class JudicePires:
    """Block principal pivoting. `patience`: block steps without progress before single pivots."""

    tol: float = 1e-10
    max_iter: int | None = None  # factorisations; None: 100 + 2 n
    patience: int = 10

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        started = time.perf_counter()
        if isinstance(problem, LCP):
            lower, upper = np.zeros(problem.size), np.full(problem.size, np.inf)
        elif isinstance(problem, MixedLCP):
            lower, upper = problem.lower, problem.upper
        else:
            raise InputError(f"JudicePires: got a {type(problem).__name__}, expected an LCP or MixedLCP")
        sides = first_sides(problem, lower, upper, x0)
        z, ended, iterations = run(self, problem, lower, upper, sides)
        return conclude(problem, self, z, ended, iterations, started)


def run(
    settings: JudicePires, problem: LCP | MixedLCP, lower: Vector, upper: Vector, sides: Sides
) -> tuple[Vector, Status, int]:
    definite = is_symmetric(problem.M)
    _, row, column = scaled(problem)
    z = at_bounds(lower, upper, sides)
    fewest, patience = problem.size + 1, settings.patience
    limit = 100 + 2 * problem.size if settings.max_iter is None else settings.max_iter
    for iteration in range(1, limit + 1):
        if not basic_point(problem, lower, upper, sides, z, definite):
            return z, Status.STALLED, iteration
        w = problem.value(z)
        wrong = violations(z / column, row * w, lower / column, upper / column, sides)
        count = int(np.count_nonzero(wrong))
        if count == 0:
            return np.clip(z, lower, upper), Status.SOLVED, iteration
        if count < fewest:
            fewest, patience = count, settings.patience
        elif patience > 0:
            patience -= 1
        elif residual(problem, np.clip(z, lower, upper)) <= settings.tol:  # what is left to exchange is rounding
            return np.clip(z, lower, upper), Status.SOLVED, iteration
        else:
            last = np.flatnonzero(wrong)[-1]
            wrong[:last] = 0
        sides += wrong
    return np.clip(z, lower, upper), Status.MAX_ITER, limit


def first_sides(problem: LCP | MixedLCP, lower: Vector, upper: Vector, x0: Vector | None) -> Sides:
    """From x0 by the natural map: inside where z - w lies within the bounds. Without x0, at a bound if there is one."""
    sides = np.zeros(problem.size, np.int8)
    if x0 is None:
        sides[np.isfinite(upper)] = AT_UPPER
        sides[np.isfinite(lower)] = AT_LOWER
        return sides
    z = np.clip(start_from(problem, x0), lower, upper)
    target = z - problem.value(z)
    sides[target <= lower] = AT_LOWER
    sides[target >= upper] = AT_UPPER
    sides[(lower == upper)] = AT_LOWER
    return sides


def at_bounds(lower: Vector, upper: Vector, sides: Sides) -> Vector:
    return np.where(sides == AT_LOWER, lower, np.where(sides == AT_UPPER, upper, 0.0))


def basic_point(problem: LCP | MixedLCP, lower: Vector, upper: Vector, sides: Sides, z: Vector, definite: bool) -> bool:
    """Put z at its bounds and solve for the rows inside, refined once; False where M_FF is singular."""
    z[:] = at_bounds(lower, upper, sides)
    F = np.flatnonzero(sides == INSIDE)
    if F.size == 0:
        return True
    block = submatrix(problem.M, F)
    factor = factorise(block, definite=definite)
    if factor is None or factor.weakest_pivot() <= SINGULAR:
        return False
    for _ in range(2):
        z[F] -= factor.solve(problem.value(z)[F])
    return True


def submatrix(M: Matrix, F: NDArray[np.int64]) -> Matrix:
    return sparse.csr_array(M[F][:, F]) if sparse.issparse(M) else M[np.ix_(F, F)]


def violations(z: Vector, w: Vector, lower: Vector, upper: Vector, sides: Sides) -> Sides:
    """What must be added to `sides` so that every row that breaks its condition changes over."""
    small_z, small_w = ROUNDING * np.abs(z).max(initial=0.0), ROUNDING * np.abs(w).max(initial=0.0)
    change = np.zeros(z.size, np.int8)
    inside = sides == INSIDE
    change[inside & (z < lower - small_z)] = AT_LOWER
    change[inside & (z > upper + small_z)] = AT_UPPER
    change[(sides == AT_LOWER) & (w < -small_w) & (lower < upper)] = 1
    change[(sides == AT_UPPER) & (w > small_w) & (lower < upper)] = -1
    return change


def is_symmetric(M: Matrix) -> bool:
    difference = M - M.T
    if sparse.issparse(difference):
        return difference.nnz == 0 or bool(np.abs(difference.data).max() == 0.0)
    return not difference.any()
