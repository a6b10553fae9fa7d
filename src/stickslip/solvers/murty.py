"""Murty's least-index principal pivoting for  w = M z + q,  0 <= z ⊥ w >= 0.

Of each pair one variable is basic. While a basic variable is negative, the least such index changes sides: z_i for
w_i or w_i for z_i. For P-matrices this ends at the unique solution whatever q is [1]; it needs no artificial
variable, and starts anywhere. Where the diagonal pivot is zero M is not a P-matrix and the method stops (STALLED).
In the worst case, which Murty and Fathi built, the number of pivots is exponential.

The basis is kept factorised, see basis.py.

[1] Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974) 123-130.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import checked, count, not_negative
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP
from stickslip.solvers.basis import IDENTITY, basic_solution, copy, defect, factorise, forward, load, scaled
from stickslip.solvers.reduction import reduce
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, SOLVED, STALLED, Status

REFACTOR = -1  # the kernel's word for: the eta file is full
NEGATIVE = 1e-14  # basic values above minus this share of the largest are rounding
PIVOT_SHARE = 1e-13  # a diagonal pivot below this share of its column is zero


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, refactor=count)
class Murty:
    """Least-index principal pivoting, for P-matrices. `refactor`: pivots between two factorisations."""

    tol: float = 1e-10
    max_iter: int | None = None  # pivots; None: 1000 + 50 n
    refactor: int = 100

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        """Solve. Of an LCP, the pairs with x0 > 0 start with z basic."""
        started = expect(self, problem, LCP, MixedLCP)
        start, reduced = start_from(problem, x0), reduce(problem)
        if reduced is None:
            return conclude(problem, self, start, Status.STALLED, 0, started)
        inside = start > 0 if isinstance(problem, LCP) else np.zeros(reduced.lcp.size, bool)
        z, ended, pivots = run(self, reduced.lcp, inside)
        return conclude(problem, self, reduced.expand(z), ended, pivots, started)


def run(settings: Murty, problem: LCP, inside: NDArray[np.bool_]) -> tuple[Vector, Status, int]:
    """Pivot on the scaled problem, factorising the basis afresh every `refactor` pivots."""
    n = problem.size
    columns, row, column = scaled(problem)
    q, unused = problem.q * row, np.zeros(n)
    limit = 1000 + 50 * n if settings.max_iter is None else settings.max_iter
    basis = np.arange(n) + n * inside.astype(np.int64)
    x, factor, ended, pivots = np.zeros(n), IDENTITY, REFACTOR, 0
    while ended == REFACTOR:
        fresh = factorise(columns, unused, basis) if (basis >= n).any() else IDENTITY
        if fresh is None:
            return np.zeros(n), Status.STALLED, pivots
        factor = fresh
        ended, pivots = advance(columns, factor, q, unused, settings.refactor, limit, basis, x, pivots)
    return basic_solution(basis, x, column), Status(ended), pivots


@kernel
def advance(columns, factor, q, d, capacity, limit, basis, x, pivots):
    """Principal pivots from a factorised basis, until x = B⁻¹ q >= 0 or the eta file is full."""
    n = q.size
    etas, eta_rows = np.empty((capacity, n)), np.empty(capacity, np.int64)
    place, direction = np.empty(n, np.int64), np.empty(n)
    s, work = np.empty(n), np.empty(n)
    for r in range(n):
        place[basis[r] % n] = r
    copy(q, x)
    forward(columns, factor, d, etas, eta_rows, 0, x, s, work)
    count = 0
    while True:
        i = least_negative_pair(x, place)
        if i == -2:
            return NONFINITE, pivots
        if i == -1 and count > 0:  # decide on values computed from the data, refined once
            defect(columns, q, d, basis, x, direction)
            forward(columns, factor, d, etas, eta_rows, count, direction, s, work)
            for r in range(n):
                x[r] += direction[r]
            i = least_negative_pair(x, place)
        if i == -1:
            return SOLVED, pivots
        if pivots >= limit:
            return MAX_ITER, pivots
        if count == capacity:
            return REFACTOR, pivots
        r = place[i]
        entering = basis[r] + n if basis[r] < n else basis[r] - n
        load(columns, d, entering, direction)
        forward(columns, factor, d, etas, eta_rows, count, direction, s, work)
        if not abs(direction[r]) > PIVOT_SHARE * largest(direction):
            return STALLED, pivots
        step = x[r] / direction[r]
        for k in range(n):
            x[k] -= step * direction[k]
        x[r] = step
        copy(direction, etas[count])
        eta_rows[count] = r
        basis[r] = entering
        count += 1
        pivots += 1


@kernel
def least_negative_pair(x, place):
    """The least index whose basic variable is negative beyond rounding; -1: none, -2: not a number."""
    scale = largest(x)
    if not scale < np.inf:
        return -2
    for i in range(x.size):
        if x[place[i]] < -NEGATIVE * scale:
            return i
    return -1


@kernel
def largest(x):
    """The largest |x_i|, or NaN."""
    found = 0.0
    for i in range(x.size):
        if not abs(x[i]) <= found:
            found = abs(x[i])
    return found
