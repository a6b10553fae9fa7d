"""Block principal pivoting of Júdice and Pires for  w = M z + q,  lower <= z <= upper  (mixed problems with bounds).

The rows are split into F (z inside its bounds, w = 0), L (z = lower, w >= 0) and U (z = upper, w <= 0). With the sets
given, z_F solves M_FF z_F = -(q_F + M_FL l_L + M_FU u_U), and the rows that break their condition are

    H = {i in F : z_i < l_i or z_i > u_i}  ∪  {i in L : w_i < 0}  ∪  {i in U : w_i > 0}.

All of H changes sides at once, usually for a handful of factorisations whatever the size. A block step may cycle, so
the paper's safeguard counts |H|: if `patience` block steps in a row bring no new minimum, single pivots follow, on the
last index of H only (Murty's rule, finite for P-matrices), until the minimum falls and block steps resume.

Matrices of friction need be no P-matrices, and Murty's rule may cycle on them too. So after n single pivots without a
new minimum each row of H changes sides with probability ½, by a generator that starts the same in every solve. For the
same reason a singular M_FF (to working precision) is no end: such a step is made again from the sets before it, with
half of the rows; where the first sets are singular, with those that have no x0. The method stops (STALLED) only where
these are, or where a single change of H leads to a singular M_FF as often as there are rows. x0 gives the first sets.
Up to SMALL rows a dense problem is solved in one call into compiled code: there the way in and out of LAPACK is what
costs.

[1] Júdice, Pires, A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
    problems, Computers and Operations Research 21 (1994) 587-596; the box case: Investigação Operacional 12 (1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import checked, count, not_negative, whole
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector, affine_dense, asymmetry
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import relative_box_map, residual
from stickslip.solvers.basis import equilibrate_dense, scaled
from stickslip.solvers.linear import SINGULAR, dense_weakest_pivot, eliminate, factorise, substitute
from stickslip.solvers.reduction import block
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, SOLVED, STALLED, Status

INSIDE, AT_LOWER, AT_UPPER = 0, -1, 1
SMALL = 48  # rows
ROUNDING = 1e-14  # violations below this share of the largest value, in scaled units, are rounding

LCG_FACTOR, LCG_OFFSET, LCG_MODULUS, SEED = 1103515245, 12345, 2**31, 1  # a linear congruential generator

Sides = NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, patience=whole)
class JudicePires:
    """Block principal pivoting. `patience`: block steps without progress before single pivots."""

    tol: float = 1e-10
    max_iter: int | None = None  # factorisations; None: 1000 + 2 n
    patience: int = 10

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        started = expect(self, problem, LCP, MixedLCP)
        lower, upper = problem.lower, problem.upper
        sides = first_sides(problem, lower, upper, x0)
        limit = 1000 + 2 * problem.size if self.max_iter is None else self.max_iter
        if problem.size <= SMALL and isinstance(problem.M, np.ndarray):
            z, ended, iterations = run_small(problem.M, problem.q, lower, upper, sides, self.patience, limit, self.tol)
        else:
            z, ended, iterations = run(self, problem, lower, upper, sides, limit)
        return conclude(problem, self, z, ended, iterations, started)


def run(
    settings: JudicePires, problem: LCP | MixedLCP, lower: Vector, upper: Vector, sides: Sides, limit: int
) -> tuple[Vector, Status, int]:
    definite = asymmetry(problem.M) == 0.0
    _, row, column = scaled(problem)
    z = at_bounds(lower, upper, sides)
    fewest, patience, single = problem.size + 1, settings.patience, problem.size
    change, dice, singular = np.zeros_like(sides), SEED, 0
    for iteration in range(1, limit + 1):
        if not basic_point(problem, lower, upper, sides, z, definite):
            singular += 1
            if singular > problem.size or not again(sides, change, lower, upper, iteration == 1):
                return z, Status.STALLED, iteration
            dice = some_of(change, dice)
            sides += change
            continue
        singular = 0
        w = problem.value(z)
        change = violations(z / column, row * w, lower / column, upper / column, sides)
        count = int(np.count_nonzero(change))
        if count == 0:
            return np.clip(z, lower, upper), Status.SOLVED, iteration
        if count < fewest:
            fewest, patience, single = count, settings.patience, problem.size
        elif patience > 0:
            patience -= 1
        elif residual(problem, np.clip(z, lower, upper)) <= settings.tol:  # what is left to exchange is rounding
            return np.clip(z, lower, upper), Status.SOLVED, iteration
        elif single > 0:
            single -= 1
            change[: last_of(change)] = 0
        else:
            dice = some_of(change, dice)
        sides += change
    return np.clip(z, lower, upper), Status.MAX_ITER, limit


@kernel
def run_small(M, q, lower, upper, sides, most_patience, limit, tol):
    """The same for a small dense problem, in one call."""
    n = q.size
    _, row, column = equilibrate_dense(M)
    low, high, z, w = lower / column, upper / column, np.zeros(n), np.empty(n)
    fewest, patience, single = n + 1, most_patience, n
    change, dice, singular = np.zeros(n, np.int8), SEED, 0
    for iteration in range(1, limit + 1):
        z[:] = at_bounds(lower, upper, sides)
        if not small_basic_point(M, q, sides, z, w):
            singular += 1
            if singular > n or not again(sides, change, lower, upper, iteration == 1):
                return z, STALLED, iteration
            dice = some_of(change, dice)
            for i in range(n):
                sides[i] += change[i]
            continue
        singular = 0
        affine_dense(M, z, q, w)
        change = violations(z / column, row * w, low, high, sides)
        count = np.count_nonzero(change)
        if count == 0:
            return np.minimum(np.maximum(z, lower), upper), SOLVED, iteration
        if count < fewest:
            fewest, patience, single = count, most_patience, n
        elif patience > 0:
            patience -= 1
        else:
            inside = np.minimum(np.maximum(z, lower), upper)
            affine_dense(M, inside, q, w)
            if relative_box_map(inside, w, q, lower, upper) <= tol:  # what is left to exchange is rounding
                return inside, SOLVED, iteration
            if single > 0:
                single -= 1
                change[: last_of(change)] = 0
            else:
                dice = some_of(change, dice)
        for i in range(n):
            sides[i] += change[i]
    return np.minimum(np.maximum(z, lower), upper), MAX_ITER, limit


def first_sides(problem: LCP | MixedLCP, lower: Vector, upper: Vector, x0: Vector | None) -> Sides:
    """From x0 by the natural map: inside where z - w lies within the bounds. Without x0, at a bound if there is one."""
    if x0 is None:
        sides = np.zeros(problem.size, np.int8)
        sides[np.isfinite(upper)] = AT_UPPER
        sides[np.isfinite(lower)] = AT_LOWER
        return sides
    start = start_from(problem, x0)
    if isinstance(problem.M, np.ndarray):
        return sides_from(problem.M, problem.q, lower, upper, start)
    z = np.clip(start, lower, upper)
    return suggested_sides(z, problem.value(z), problem.q, lower, upper)


@kernel
def sides_from(M, q, lower, upper, x0):
    """The same for a dense M, in one call."""
    z, w = np.minimum(np.maximum(x0, lower), upper), np.empty_like(q)
    affine_dense(M, z, q, w)
    return suggested_sides(z, w, q, lower, upper)


@kernel
def suggested_sides(z, w, q, lower, upper):
    """A row at its bound whose w is rounding stays there, as a contact that carries nothing: inside, it may be the one
    too many for M_FF to be regular."""
    sides = np.zeros(z.size, np.int8)
    small = 0.0
    for i in range(z.size):
        small = max(small, ROUNDING * abs(q[i]))
    for i in range(z.size):
        if z[i] - w[i] >= upper[i] - small:
            sides[i] = AT_UPPER
        elif z[i] - w[i] <= lower[i] + small:
            sides[i] = AT_LOWER
        if lower[i] == upper[i]:
            sides[i] = AT_LOWER
    return sides


@kernel
def at_bounds(lower, upper, sides):
    """z at its bounds, zero where it is inside."""
    z = np.zeros(lower.size)
    for i in range(z.size):
        if sides[i] != INSIDE:
            z[i] = lower[i] if sides[i] == AT_LOWER else upper[i]
    return z


def basic_point(problem: LCP | MixedLCP, lower: Vector, upper: Vector, sides: Sides, z: Vector, definite: bool) -> bool:
    """Put z at its bounds and solve for the rows inside, refined once; False where M_FF is singular."""
    z[:] = at_bounds(lower, upper, sides)
    F = np.flatnonzero(sides == INSIDE)
    if F.size == 0:
        return True
    factor = factorise(block(problem.M, F, F), definite=definite)
    if factor is None or factor.weakest_pivot() <= SINGULAR:
        return False
    for _ in range(2):
        z[F] -= factor.solve(problem.value(z)[F])
    return True


@kernel
def small_basic_point(M, q, sides, z, w):
    """Solve for the rows inside of a z that is at its bounds, refined once; False where M_FF is singular."""
    F = np.flatnonzero(sides == INSIDE)
    k = F.size
    block, swaps, step = np.empty((k, k)), np.empty(k, np.int64), np.empty(k)
    for a in range(k):
        for b in range(k):
            block[a, b] = M[F[a], F[b]]
    if not eliminate(block, swaps) or dense_weakest_pivot(block) <= SINGULAR:
        return False
    for _ in range(2):
        affine_dense(M, z, q, w)
        for a in range(k):
            step[a] = w[F[a]]
        substitute(block, swaps, step)
        for a in range(k):
            z[F[a]] -= step[a]
    return True


@kernel
def violations(z, w, lower, upper, sides):
    """What must be added to `sides` so that every row that breaks its condition changes over."""
    change = np.zeros(z.size, np.int8)
    small_z, small_w = 0.0, 0.0
    for i in range(z.size):
        small_z, small_w = max(small_z, ROUNDING * abs(z[i])), max(small_w, ROUNDING * abs(w[i]))
    for i in range(z.size):
        if sides[i] == INSIDE:
            if z[i] < lower[i] - small_z:
                change[i] = AT_LOWER
            elif z[i] > upper[i] + small_z:
                change[i] = AT_UPPER
        elif lower[i] < upper[i]:
            if sides[i] == AT_LOWER and w[i] < -small_w:
                change[i] = 1
            elif sides[i] == AT_UPPER and w[i] > small_w:
                change[i] = -1
    return change


@kernel
def some_of(change, dice):
    """Each change is kept with probability ½, at least one; returns the next state of the generator."""
    kept, last, its_change = 0, -1, 0
    for i in range(change.size):
        if change[i] != 0:
            dice, last, its_change = (LCG_FACTOR * dice + LCG_OFFSET) % LCG_MODULUS, i, change[i]
            if dice < LCG_MODULUS // 2:
                kept += 1
            else:
                change[i] = 0
    if kept == 0 and last >= 0:
        change[last] = its_change
    return dice


@kernel
def again(sides, change, lower, upper, first):
    """Take a change that led to singular equations back; the first sets become those without a starting point. False
    where nothing can be changed."""
    moved = False
    for i in range(sides.size):
        if first:
            side = AT_LOWER if lower[i] > -np.inf else AT_UPPER if upper[i] < np.inf else INSIDE
            moved = moved or sides[i] != side
            sides[i] = side
        else:
            moved = moved or change[i] != 0
            sides[i] -= change[i]
    return moved


@kernel
def last_of(wrong):
    """The last row that changes."""
    last = wrong.size - 1
    while wrong[last] == 0:
        last -= 1
    return last
