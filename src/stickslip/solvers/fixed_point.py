"""Coulomb friction as a sequence of monotone problems: freeze what is not convex in the law, solve, update, repeat.

    Tresca        freeze the friction bound g = μ r_n:  an affine variational inequality over cylinders,
                  find r in C with (x - r) · (W r + q) >= 0 for all x in C,  C = {r_n >= 0, |r_t| <= g}        (1)
    De Saxcé      freeze the shift s = μ |u_t|:  the associated law with q + s e_n, a convex cone problem      (2)

Either is a map whose fixed point solves the problem: g -> μ r_n [1], s -> μ |u_t| [2, 3]. Both contract for small μ
and may cycle for large; the residual of Coulomb's law tells. The inner problems are solved to INEXACT times the
residual at hand, started from the last impulses. Anderson mixing of the last `memory` updates [4] helps: of 13 public
problems either fixed point solves ten without it and all with it, within 100 and 60 inner problems.

(1) stands for itself: CylinderProblem with bounds that are given, and CylinderGaussSeidel, which goes over the contacts
and solves each exactly. With r_n eliminated, S = W_tt - w_tn w_ntᵀ / W_nn and b = q_t - w_tn q_n / W_nn, a contact is

    (S + λ I) r_t = -b,   |r_t| <= g  ⊥  λ >= 0,                                                              (3)

or, where that asks r_n to be negative, the same with W_tt and q_t. Newton's method on 1/|r_t| finds λ [5].

[1] Haslinger, Dostál, Kučera, On a splitting type algorithm for the numerical realization of contact problems with
    Coulomb friction, Computer Methods in Applied Mechanics and Engineering 191 (2002) 2261-2281.
[2] De Saxcé, Feng, The bipotential method, Mathematical and Computer Modelling 28 (1998) 225-245.
[3] Acary, Cadoux, Lemaréchal, Malick, A formulation of the linear discrete Coulomb friction problem via convex
    optimization, ZAMM 91 (2011) 155-175.
[4] Walker, Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numerical Analysis 49 (2011) 1715-1735.
[5] Moré, Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4 (1983) 553-572.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.checks import checked, count, not_negative, whole
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.blocks import without_own
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.residual import judge, judge_cylinder
from stickslip.solvers.cone_newton import ConeNewton
from stickslip.solvers.contact import slip_root
from stickslip.solvers.solution import Solution, Solver, conclude, expect, solver_value, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, SOLVED, Status, in_chunks

INEXACT = 0.01  # the residual asked of an inner solution, as a share of the outer one; smaller where nothing moved
LEAST_SHARE = 1e-8
NEGLIGIBLE = 1e-10  # singular values below this share of the largest are left out of the mixing
SINGULAR = 1e-14  # det S / |S|² below which S counts as singular


# cylinders


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class CylinderGaussSeidel:
    """Block Gauss-Seidel for CylinderProblem; an iteration is one sweep over the contacts."""

    tol: float = 1e-8
    max_iter: int = 50_000

    def solve(self, problem: CylinderProblem, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol."""
        started = expect(self, problem, CylinderProblem)
        r = start_from(problem, x0)
        data = (problem.blocks, problem.q, problem.bound, 0.999 * self.tol)  # conclude sums W r in another order
        ended, sweeps = in_chunks(lambda most: iterate_cylinders(*data, most, r), self.max_iter)
        return conclude(problem, self, r, ended, sweeps, started)


@kernel
def iterate_cylinders(W, q, bound, tol, max_iter, r):
    """Sweep until the residual of (1) is at most tol; r is updated in place. Returns the status and the sweeps made."""
    u = np.empty_like(q)
    D = W.diagonal
    planar = D.shape[0] == 4
    for sweeps in range(max_iter + 1):
        # judging costs about half a sweep: after 0, 1, 2, 4, 8 of them, then every 8, and at the end
        if sweeps % 8 == 0 or sweeps == 1 or sweeps == 2 or sweeps == 4 or sweeps == max_iter:
            error, solved = judge_cylinder(W, q, bound, tol, r, u)
            if solved:
                return SOLVED, sweeps
            if not error < np.inf:
                return NONFINITE, sweeps
        if sweeps == max_iter:
            break
        for i in range(bound.size):
            q_n, q_1, q_2 = without_own(W, q, r, i)
            if planar:
                s = D[3, i] - D[2, i] * D[1, i] / D[0, i] if D[0, i] > 0.0 else D[3, i]  # an isotropic S
                r[2 * i], r[2 * i + 1], _ = solve_cylinder(
                    bound[i], D[0, i], D[1, i], 0.0, D[2, i], D[3, i], 0.0, 0.0, 0.0, s, q_n, q_1, 0.0
                )
            else:
                r[3 * i], r[3 * i + 1], r[3 * i + 2] = solve_cylinder(
                    bound[i], D[0, i], D[1, i], D[2, i], D[3, i], D[4, i], D[5, i], D[6, i], D[7, i], D[8, i],
                    q_n, q_1, q_2,
                )  # fmt: skip
    return MAX_ITER, max_iter


@kernel
def solve_cylinder(bound, W_nn, W_n1, W_n2, W_1n, W_11, W_12, W_2n, W_21, W_22, q_n, q_1, q_2):
    """The impulse (r_n, r_1, r_2) of one contact. Where it closes, W_nn must be positive."""
    if W_nn > 0.0:
        k_1, k_2 = W_1n / W_nn, W_2n / W_nn
        r_1, r_2 = solve_disc(
            bound, W_11 - k_1 * W_n1, W_12 - k_1 * W_n2, W_21 - k_2 * W_n1, W_22 - k_2 * W_n2,
            q_1 - k_1 * q_n, q_2 - k_2 * q_n,
        )  # fmt: skip
        r_n = -(q_n + W_n1 * r_1 + W_n2 * r_2) / W_nn
        if not r_n < 0.0:
            return r_n, r_1, r_2
    elif q_n < 0.0:
        return np.inf, 0.0, 0.0
    r_1, r_2 = solve_disc(bound, W_11, W_12, W_21, W_22, q_1, q_2)
    return 0.0, r_1, r_2


@kernel
def solve_disc(bound, s_11, s_12, s_21, s_22, b_1, b_2):
    """r of (3): |r| <= bound with S r + b = -λ r, λ >= 0, and λ = 0 inside the disc."""
    b = math.sqrt(b_1 * b_1 + b_2 * b_2)
    if bound == 0.0 or b == 0.0:
        return 0.0, 0.0
    trace, det = s_11 + s_22, s_11 * s_22 - s_12 * s_21
    c_1, c_2 = s_22 * b_1 - s_12 * b_2, s_11 * b_2 - s_21 * b_1  # adj(S) b
    size = abs(s_11) + abs(s_22)
    if det <= SINGULAR * size * size and abs(c_1) + abs(c_2) <= SINGULAR * size * b:
        # rank one with b in its range, or zero: S acts on b as its trace does
        c_1, c_2, det, trace = trace * b_1, trace * b_2, trace * trace, 2.0 * trace
    if det > 0.0 and math.sqrt(c_1 * c_1 + c_2 * c_2) <= bound * det:
        return -c_1 / det, -c_2 / det

    high = b / bound
    guess = high - 0.5 * trace  # the root for isotropic S
    if not guess > 0.0:
        guess = 0.5 * high
    # (3) with p = c + λ b and d = λ² + λ trace + det:  |p| = bound d
    multiplier = slip_root(bound, c_1, c_2, b_1, b_2, det, trace, 1.0, guess, high, 0.0)
    p_1, p_2 = c_1 + multiplier * b_1, c_2 + multiplier * b_2
    p = math.sqrt(p_1 * p_1 + p_2 * p_2)
    return -bound * p_1 / p, -bound * p_2 / p


# the two fixed points


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, memory=whole, inner=solver_value)
class Tresca:
    """Fixed point on the friction bounds, for ConeProblem under Coulomb's law; an iteration is one inner problem."""

    tol: float = 1e-8
    max_iter: int = 200
    memory: int = 3  # updates that are mixed; 0 for none
    inner: Solver = CylinderGaussSeidel()  # of CylinderProblem; its tol is set on the way

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Solve from the bounds that x0 gives, or from zero: the first inner problem is then without friction."""
        started = expect(self, problem, ConeProblem)
        if problem.law != "coulomb":
            raise InputError(f"Tresca: the problem's law is {problem.law!r}, expected 'coulomb'")
        d = problem.dimension

        def solve_inner(bound: Vector, r: Vector, tol: float) -> tuple[Vector, bool]:
            cylinders = CylinderProblem(problem.W, problem.q, np.maximum(bound, 0.0))
            answer = with_tolerance(self.inner, tol).solve(cylinders, r)
            return answer.x, answer.solved

        def image(r: Vector, u: Vector) -> Vector:
            return problem.mu * np.maximum(r[::d], 0.0)

        return conclude(problem, self, *fixed_point(self, problem, self.max_iter, solve_inner, image, x0), started)


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, memory=whole, inner=solver_value)
class DeSaxceFixedPoint:
    """Fixed point on the shift μ|u_t|, for ConeProblem; an iteration is one inner problem.

    Under the associated law there is no shift: the inner solver's answer and its iterations are returned.
    """

    tol: float = 1e-8
    max_iter: int = 200
    memory: int = 3  # updates that are mixed; 0 for none
    inner: Solver = field(default_factory=ConeNewton)  # of the associated law; its tol is set on the way

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Solve from the shift that x0 gives, or from zero."""
        started = expect(self, problem, ConeProblem)
        d = problem.dimension
        if problem.law == "associated":
            answer = with_tolerance(self.inner, self.tol).solve(problem, x0)
            return conclude(problem, self, answer.x, answer.status, answer.iterations, started)

        def solve_inner(shift: Vector, r: Vector, tol: float) -> tuple[Vector, bool]:
            q = problem.q.copy()
            q[::d] += np.maximum(shift, 0.0)
            answer = with_tolerance(self.inner, tol).solve(ConeProblem(problem.W, q, problem.mu, law="associated"), r)
            return answer.x, answer.solved

        def image(r: Vector, u: Vector) -> Vector:
            return problem.mu * slip_speed(u, d)

        return conclude(problem, self, *fixed_point(self, problem, self.max_iter, solve_inner, image, x0), started)


def fixed_point(
    settings: Any,
    problem: ConeProblem,
    max_iter: int,
    solve_inner: Callable[[Vector, Vector, float], tuple[Vector, bool]],
    image: Callable[[Vector, Vector], Vector],
    x0: Vector | None,
) -> tuple[Vector, Status, int]:
    """Iterate p <- image(r, u) with r of the inner problem that p stands for. Returns the best r on the way, how it
    ended and when; `settings` has tol and memory.

    The first p is the image of x0, or zero where there is none. solve_inner(p, r, tol) starts from r, and says beside
    the new r whether it reached tol.
    """
    r, tol, memory = start_from(problem, x0), settings.tol, settings.memory
    u, error, solved = judge(problem, r, tol)
    parameter = image(r, u)
    if x0 is None:
        parameter = np.zeros_like(parameter)
    best, least, share = r, error, INEXACT
    points: deque[Vector] = deque(maxlen=memory + 1)
    images: deque[Vector] = deque(maxlen=memory + 1)
    for iterations in range(max_iter):
        if solved:
            return r, Status.SOLVED, iterations
        before = r
        r, reached = solve_inner(parameter, before, share * max(min(error, 1.0), tol))
        if np.array_equal(r, before):
            share *= INEXACT
            if not reached or share < LEAST_SHARE:
                return best, Status.STALLED, iterations + 1
        u, error, solved = judge(problem, r, tol)
        if not math.isfinite(error):
            return best, Status.NONFINITE, iterations + 1
        if solved or error < least:
            best, least = r, error
        points.append(parameter)
        images.append(image(r, u))
        parameter = mixed(points, images)
    return best, Status.MAX_ITER, max_iter


def mixed(points: Sequence[Vector], images: Sequence[Vector]) -> Vector:
    """The next point by Anderson's mixing: the affine combination of the images whose points moved least."""
    if len(points) == 1:
        return images[-1]
    moves = [image - point for point, image in zip(points, images, strict=True)]
    move_changes = np.column_stack([moves[-1] - move for move in list(moves)[:-1]])
    image_changes = np.column_stack([images[-1] - image for image in list(images)[:-1]])
    weights = np.linalg.lstsq(move_changes, moves[-1], rcond=NEGLIGIBLE)[0]
    return images[-1] - image_changes @ weights


def slip_speed(u: Vector, d: int) -> Vector:
    """|u_t| contact by contact."""
    tangents: Dense = u.reshape(-1, d)[:, 1:]
    return np.asarray(np.hypot.reduce(tangents, axis=1), np.float64)


def with_tolerance(solver: Solver, tol: float) -> Any:
    """The same solver with another tol."""
    return replace(solver, tol=tol)  # type: ignore[type-var]
