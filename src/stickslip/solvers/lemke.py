"""Lemke's method for  w = M z + q,  0 <= z ⊥ w >= 0,  with a lexicographic ratio test and a refactored basis.

A covering vector d > 0 and one artificial variable make the problem feasible:

    I w - M z - d z0 = q,      w, z, z0 >= 0,   z_i w_i = 0                                                  (1)

z0 enters, the most violated w leaves, and from then on the complement of whatever left enters. The method
ends when z0 leaves (a solution) or when nothing blocks the entering variable (a ray). It solves every problem
with M positive semidefinite, copositive-plus or a P-matrix, if there is a solution [1, chapter 4].

*Ties.* The right-hand side is q + ε p with p a fixed positive vector of irregular entries, and the ratio test compares
B⁻¹ (q, p) lexicographically [2]: the perturbed problem is degenerate for small ε only if p lies on one of finitely
many hyperplanes, so no basis repeats. One more column does the work of the n columns of the usual rule.

*Accuracy.* The basis is factorised, scaled and refactorised after `refactor` pivots (basis.py), and the last one is
refined against the data. If the residual still misses tol, the run is repeated once, factorising eight times as often.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009.
[2] Eaves, The linear complementarity problem, Management Science 17 (1971) 612-634.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from stickslip.checks import checked, count, not_negative, positive, tuple_of, vector
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector, density
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import residual, residual_scale
from stickslip.solvers.basis import (
    IDENTITY,
    SPARSE_BELOW,
    Columns,
    Factor,
    basic_solution,
    copy,
    defect,
    equilibrate_dense,
    factorise,
    forward,
    load,
    scaled,
)
from stickslip.solvers.reduction import Reduced, expand_small, reduce, reduce_small, small_lcp
from stickslip.solvers.solution import Ray, Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, RAY, SOLVED, STALLED, Status

Certify = Callable[[LCP | MixedLCP, float], Ray]  # of a ray: the problem, what is allowed, and its certificate

REFACTOR = -1  # the kernel's word for: the eta file is full
VALUES, TILT, PIVOT, REFINE = range(4)  # what a solve with B is for

PIVOT_SHARE = 1e-11  # entries of a column below this share of its largest one block nothing
TIE_SHARE = 1e-7  # among tied rows, entries below this share of the largest are taken for rounding
TIE = 1e-13  # ratios that differ by this share of the largest right-hand side are tied
LOST = 1e-6  # a basic value below minus this share of the largest, after factorising, means feasibility is lost
LARGEST_PROGRAM = 1000  # rows up to which a ray is followed by a linear program that looks for a proof
SMALL, SMALL_MIXED = 128, 100  # rows up to which a dense problem is solved in one call into compiled code


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, covering=tuple_of(positive), refactor=count)
class Lemke:
    """Lemke's method. `covering`: any positive vector d; `refactor`: pivots between two factorisations."""

    tol: float = 1e-10
    max_iter: int | None = None  # pivots; None: 1000 + 50 n
    covering: tuple[float, ...] | None = None  # None: ones, after scaling
    refactor: int = 100

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        """Solve. x0 is not used: Lemke starts from the slack basis."""
        started = expect(self, problem, LCP, MixedLCP)
        if x0 is not None:
            start_from(problem, x0)
        if isinstance(problem, MixedLCP) and self.covering is None and suits_one_call(problem):
            answer = solve_small_mixed(self, problem, started)
            if answer.solved:
                return answer
        reduced = reduce(problem)
        if reduced is None:
            return conclude(problem, self, np.zeros(problem.size), Status.STALLED, 0, started)
        answer = self.run(problem, reduced, self.refactor, 0, started)
        if answer.status is Status.STALLED and self.refactor > 1:
            answer = self.run(problem, reduced, max(1, self.refactor // 8), answer.iterations, started)
        return answer

    def run(
        self, problem: LCP | MixedLCP, reduced: Reduced, refactor: int, pivots_before: int, started: float
    ) -> Solution:
        """One run of the method. A ray that starts at a solution needs no proof, which is what takes time."""
        z, ended, pivots, ray = run(self, reduced, refactor)
        x = reduced.expand(z)
        certificate = None
        if ray is not None and not residual(problem, x) <= self.tol:
            certificate = ray(problem, self.tol * residual_scale(problem))
        return conclude(problem, self, x, ended, pivots_before + pivots, started, certificate)


def run(settings: Lemke, reduced: Reduced, refactor: int) -> tuple[Vector, Status, int, Certify | None]:
    """One run on the scaled problem; of a ray, the way to its certificate."""
    problem, n = reduced.lcp, reduced.lcp.size
    limit = 1000 + 50 * n if settings.max_iter is None else settings.max_iter
    if n <= SMALL and settings.covering is None and not sparse.issparse(problem.M):
        ended, pivots, z = run_small(problem.M, problem.q, refactor, limit)
        if ended == SOLVED:
            return z, Status.SOLVED, pivots, None
    columns, row, column = scaled(problem)
    q = problem.q * row
    d = np.ones(n) if settings.covering is None else vector("Lemke", "covering", settings.covering, n) * row
    basis, x, direction = np.arange(n), np.empty(n), np.empty(n)
    factor, entering, pivots = IDENTITY, 2 * n, 0
    while True:
        ended, pivots, entering = advance(columns, factor, q, d, refactor, limit, basis, x, direction, entering, pivots)
        if ended != REFACTOR:
            break
        fresh = factorise(columns, d, basis)
        if fresh is None:
            ended = STALLED
            break
        factor = fresh
    z = basic_solution(basis, x, column)

    def ray(problem: LCP | MixedLCP, allowed: float) -> Ray:
        """That along which nothing blocks, in the LCP's own numbers, and a proof that `problem` is infeasible if there
        is one. Of an LCP the ray itself often is. `allowed` is by how much a row of what counts as a solution may be
        wrong."""
        slope = np.zeros(2 * n + 1)
        slope[basis] = np.maximum(-direction, 0.0)
        slope[entering] = 1.0
        dz = slope[n : 2 * n] * column
        enough = isinstance(problem, LCP) and refutes(problem, dz, allowed)
        proof = dz if enough else farkas(problem, allowed)
        return Ray(z, dz, float(x[basis == 2 * n].sum()), float(slope[2 * n]), proof)

    return z, Status(ended), pivots, ray if ended == RAY else None


def suits_one_call(problem: MixedLCP) -> bool:
    """Elimination without blocks beats LAPACK and its overhead for few rows, or for some more with many zeros."""
    if sparse.issparse(problem.M) or problem.size > 2 * SMALL:
        return False
    return problem.size <= SMALL_MIXED or density(problem.M) <= SPARSE_BELOW


def solve_small_mixed(settings: Lemke, problem: MixedLCP, started: float) -> Solution:
    limit = 1000 + 50 * problem.size if settings.max_iter is None else settings.max_iter
    ended, pivots, z = run_small_mixed(problem.M, problem.q, problem.lower, problem.upper, settings.refactor, limit)
    return conclude(problem, settings, z, Status.STALLED if ended == REFACTOR else Status(ended), pivots, started)


@np.errstate(over="ignore", invalid="ignore")  # what is not finite proves nothing
def farkas(problem: LCP | MixedLCP, allowed: float) -> Vector | None:
    """A proof, by linear programming, that no z within its bounds gives every row the sign that its bounds ask for.

    Where only z_i >= l_i is asked, w_i >= 0 must be; where only z_i <= u_i, w_i <= 0; where nothing, w_i = 0; and w_i
    may be anything where z_i has both bounds. So vᵀ w >= 0 for every v of such signs, whereas

        vᵀ w = qᵀ v + (Mᵀ v)ᵀ z <= qᵀ v + uᵀ a - lᵀ b        with  Mᵀ v = a - b,  a, b >= 0,

    where a_i = 0 if u_i, b_i = 0 if l_i is infinite. A v that makes the right-hand side -1 is the proof. None: no v.
    """
    n, lower, upper = problem.size, problem.lower, problem.upper
    if n > LARGEST_PROGRAM:
        return None
    scaled = sparse.csc_array(problem.M).T  # rows and columns of M in units of their largest entries
    row = largest_entries(scaled, 0)
    scaled = scaled @ sparse.diags_array(1 / row)
    column = largest_entries(scaled, 1)
    above, below = np.isfinite(upper), np.isfinite(lower)
    gain = np.concatenate([problem.q / row, (column * upper)[above], -(column * lower)[below]])
    if not np.isfinite(gain).all():
        return None
    unit = sparse.csc_array(sparse.eye_array(n))
    balance = sparse.hstack([sparse.diags_array(1 / column) @ scaled, -unit[:, above], unit[:, below]])
    sides = above.sum() + below.sum()
    found = linprog(
        np.concatenate([below * 1.0 - above, np.zeros(sides)]),
        A_eq=sparse.vstack([balance, sparse.csr_array(gain[None])]),
        b_eq=np.concatenate([np.zeros(n), [-1.0]]),
        bounds=[*zip(np.where(below, 0.0, -np.inf), np.where(above, 0.0, np.inf), strict=True), *[(0, None)] * sides],
    )
    if found.status != 0:
        return None
    v = np.clip(found.x[:n], np.where(below, 0.0, -np.inf), np.where(above, 0.0, np.inf)) / row
    return v if refutes(problem, v, allowed) else None


def largest_entries(M: sparse.sparray, axis: int) -> Vector:
    """Of the columns (axis 0) or rows; 1 where there are none."""
    largest: Vector = np.abs(M).max(axis=axis).toarray().ravel()
    return np.where(largest > 0, largest, 1.0)


@np.errstate(over="ignore", invalid="ignore")
def refutes(problem: LCP | MixedLCP, v: Vector, allowed: float) -> bool:
    """Does v, of the signs that `farkas` asks for, prove it: is vᵀ w < 0 beyond rounding and beyond what is allowed?

    Where each z is within its bounds and each w of its sign but for `allowed`, vᵀ w is at least -allowed |v|₁ and at
    most as above plus allowed |Mᵀ v|₁. Against an infinite bound Mᵀ v must be zero up to rounding.
    """
    reach, size = problem.M.T @ v, np.abs(problem.M).T @ np.abs(v)
    end = np.where(reach > 0, problem.upper, problem.lower)
    closed = np.isfinite(end)
    gain = float(problem.q @ v + reach[closed] @ end[closed])
    weight = float(np.abs(problem.q) @ np.abs(v) + size[closed] @ np.abs(end[closed]))
    short = 1e-9 * weight + allowed * float(np.abs(v).sum() + np.abs(reach).sum())
    rounding = (problem.size + 2) * np.finfo(float).eps * size
    return bool((np.abs(reach) <= rounding)[~closed].all() and gain < -short)


@kernel
def irregular(p):
    """Positive entries between 1 and 2 in no simple ratio to each other."""
    for i in range(p.size):
        p[i] = 1.0 + ((i + 1) * 0.6180339887498949) % 1.0


@kernel
def run_small(M, q, capacity, limit):
    """The whole method in one call, for problems so small that the way into compiled code is what costs."""
    n = q.size
    dense, row, column = equilibrate_dense(M)
    no_integers, no_values = np.empty(0, np.int64), np.empty(0)
    columns = Columns(dense, no_integers, no_integers, no_values)
    factor = Factor(
        no_integers, no_integers, np.empty((0, 0)), no_integers, no_integers, no_integers, no_integers, no_integers,
        no_values, no_integers, no_integers, no_values,
    )  # fmt: skip
    basis, x, direction = np.arange(n), np.empty(n), np.empty(n)
    ended, pivots, _ = advance(columns, factor, q * row, np.ones(n), capacity, limit, basis, x, direction, 2 * n, 0)
    return ended, pivots, basic_solution(basis, x, column)


@kernel
def run_small_mixed(M, q, lower, upper, capacity, limit):
    """The same for a mixed problem: reduced, solved and expanded in one call; STALLED if equations are redundant."""
    regular, table, kind, basic, nonbasic, row_of, sign, base = reduce_small(M, q, lower, upper)
    if not regular:
        return STALLED, 0, np.zeros(q.size)
    S, s = small_lcp(table, kind, basic, nonbasic)
    ended, pivots, z = run_small(S, s, capacity, limit)
    return ended, pivots, expand_small(z, table, kind, basic, nonbasic, row_of, sign, base, lower, upper)


@kernel
def advance(columns, factor, q, d, capacity, limit, basis, x, direction, entering, pivots):
    """Pivot until the method ends or the eta file is full. Each pass of the loop is one solve with B:

    the basic values x = B⁻¹ q and their tilt p, from the data; then a pivot a pass; at the end, refinement of x.
    """
    n = q.size
    etas, eta_rows, p = np.empty((capacity, n)), np.empty(capacity, np.int64), np.empty(n)
    s, work, tied = np.empty(n), np.empty(n), np.empty(n, np.int64)
    count, task, scale = 0, VALUES, 0.0
    irregular(p)
    for i in range(n):
        scale = max(scale, abs(q[i]))
    if pivots == 0:
        r = most_violated(q, p, d)
        if r < 0 or limit < 1:
            return SOLVED if r < 0 else MAX_ITER, 0, entering
        copy(q, x)
        load(columns, d, entering, direction)
        exchange(basis, x, p, direction, r, 2 * n, etas, eta_rows, 0)
        entering, pivots, count, task = n + r, 1, 1, PIVOT
    while True:
        if task == VALUES:
            copy(q, direction)
        elif task == TILT:
            copy(p, direction)
        elif task == PIVOT:
            if pivots >= limit:
                return MAX_ITER, pivots, entering
            if count == capacity:
                return REFACTOR, pivots, entering
            load(columns, d, entering, direction)
        else:
            defect(columns, q, d, basis, x, direction)

        forward(columns, factor, d, etas, eta_rows, count, direction, s, work)

        if task == VALUES:
            copy(direction, x)
            if feasibility_lost(x):
                return STALLED, pivots, entering
            task = TILT
        elif task == TILT:
            copy(direction, p)
            task = PIVOT
        elif task == PIVOT:
            r = blocking_row(basis, x, p, direction, scale, tied)
            if r < 0:
                return RAY if r == -1 else NONFINITE, pivots, entering
            leaving = basis[r]
            exchange(basis, x, p, direction, r, entering, etas, eta_rows, count)
            count += 1
            pivots += 1
            entering = leaving + n if leaving < n else leaving - n
            if leaving == 2 * n:
                task = REFINE
        else:
            for i in range(n):
                x[i] += direction[i]
            if task == REFINE + 1:
                return SOLVED, pivots, entering
            task += 1


@kernel
def feasibility_lost(x):
    """After factorising afresh: is a basic value clearly negative?"""
    largest, least = 0.0, 0.0
    for i in range(x.size):
        largest = max(largest, abs(x[i]))
        least = min(least, x[i])
    return least < -LOST * largest


@kernel
def most_violated(q, p, d):
    """The row where q + ε p most needs z0; -1 where q >= 0 already."""
    r = -1
    for i in range(q.size):
        if q[i] < 0.0:
            if r < 0:
                r = i
            else:
                a, b = q[i] * d[r], q[r] * d[i]
                if a < b or (a == b and p[i] * d[r] < p[r] * d[i]):
                    r = i
    return r


@kernel
def exchange(basis, x, p, direction, r, entering, etas, eta_rows, count):
    """Let `entering` take the place of row r, and remember its column as an eta column."""
    step = x[r] / direction[r]
    if step < 0.0:  # a basic value that rounding left below zero
        step = 0.0
    tilt = p[r] / direction[r]
    for i in range(x.size):
        x[i] -= step * direction[i]
        p[i] -= tilt * direction[i]
    x[r], p[r] = step, tilt
    copy(direction, etas[count])
    eta_rows[count] = r
    basis[r] = entering


@kernel
def blocking_row(basis, x, p, direction, scale, tied):
    """The row that blocks first, ties broken by p; z0 is preferred. -1: none blocks, -2: not a number."""
    n = x.size
    largest, total = 0.0, 0.0
    for i in range(n):
        a = abs(direction[i])
        total += a
        if a > largest:
            largest = a
    if not total < np.inf:
        return -2
    threshold, bound = PIVOT_SHARE * largest, np.inf
    for i in range(n):
        room = max(x[i], 0.0) + TIE * scale
        if room < bound * direction[i] and direction[i] > threshold:  # in this order: the first is seldom true
            bound = room / direction[i]
    if bound == np.inf:
        return -1
    count, strongest = 0, 0.0
    for i in range(n):
        if x[i] <= bound * direction[i] and direction[i] > threshold:
            if basis[i] == 2 * n:
                return i
            strongest = max(strongest, direction[i])
            tied[count] = i
            count += 1
    best = -1
    for k in range(count):
        i = tied[k]
        strong = direction[i] > TIE_SHARE * strongest
        if strong and (best < 0 or p[i] * direction[best] < p[best] * direction[i]):
            best = i
    return best
