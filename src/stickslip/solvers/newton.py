"""Semismooth Newton for the mixed LCP: one equation a row, Φ(z) = 0, by Newton's method with a line search.

Fischer-Burmeister:  φ(a, b) = a + b - √(a² + b²) is zero just where 0 <= a ⊥ b >= 0. Bounds compose it [2]:

    Φ_i = φ(z - lower, -φ(upper - z, -w)),    w = M z + q                                                    (1)

which is φ(z - lower, w), -φ(upper - z, -w) or w where a bound or both are missing. ψ = ½|Φ|² is smooth.
The min map is  z - P(z - w),  P the projection on [lower, upper]. Either has the derivative D_z + D_w M with
diagonal D_z, D_w >= 0, and a Newton direction d solves

    (M + D_z / D_w + ν) d = -Φ / D_w.                                                                        (2)

Globalisation is the same for both [1, 3]: the min map lends the direction, ψ of Fischer-Burmeister judges it. d is
taken if ∇ψᵀd <= -DESCENT |d|^2.1, else -∇ψ, each with an Armijo line search that compares with the worst of the last
MEMORY values of ψ [4].

ν = 0 at first. Contact problems with redundant supports have singular systems (2): where there is no factor, no
descent, or a step below SHORT, ν = c min(1, |Φ|) with c ten times larger (from FIRST on), and with c ten times smaller
after a full step. So the regularisation vanishes with the residual [5].

With M positive semidefinite stationary points of ψ solve the problem [1], and near the end a step is exact as soon as
the active set is. The problem is scaled inside (scaling.py). If the iteration ends above tol the active set is guessed
and the linear system that it leaves is solved (polish.py); that is kept if the residual falls.

[1] De Luca, Facchinei, Kanzow, A semismooth equation approach to the solution of nonlinear complementarity
    problems, Mathematical Programming 75 (1996) 407-439.
[2] Billups, Algorithms for complementarity problems and generalized equations, PhD thesis, Wisconsin 1995.
[3] De Luca, Facchinei, Kanzow, A theoretical and numerical comparison of some semismooth algorithms for
    complementarity problems, Computational Optimization and Applications 16 (2000) 173-205.
[4] Grippo, Lampariello, Lucidi, A nonmonotone line search technique for Newton's method, SIAM J. Numerical
    Analysis 23 (1986) 707-716.
[5] Yamashita, Fukushima, On the rate of convergence of the Levenberg-Marquardt method, Computing Supplement 15
    (2001) 239-249.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from stickslip.checks import checked, count, not_negative, one_of
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP
from stickslip.solvers.linear import Shifted, shifted
from stickslip.solvers.polish import polished
from stickslip.solvers.scaling import Scaled, scaled
from stickslip.solvers.solution import Solution, Status, conclude, expect, start_from

DESCENT = 1e-12
MEMORY = 5
ARMIJO = 1e-4
SHORT = 0.1  # a step below this asks for a larger ν
SHORTEST = 1e-12  # a line search that comes down to this has failed
FIRST, LAST, LARGEST = 1e-4, 1e-8, 1.0  # c when it is first needed, below which it is zero again, at most
LEAST_WEIGHT = 1e-20  # D_w of a row whose Φ does not depend on w
ATTEMPTS = 3  # factorisations an iteration, with growing ν


@dataclass(frozen=True, kw_only=True)
@checked(function=one_of("fischer-burmeister", "min"), tol=not_negative, max_iter=count)
class SemismoothNewton:
    """Semismooth Newton for LCP and MixedLCP; `function` is "fischer-burmeister" or "min"."""

    function: Literal["fischer-burmeister", "min"] = "fischer-burmeister"
    tol: float = 1e-10
    max_iter: int = 100

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        """Solve from x0, or from zero, either moved into the bounds."""
        started = expect(self, problem, LCP, MixedLCP)
        box = scaled(problem)
        start = np.clip(box.inside(start_from(problem, x0)), box.lower, box.upper)
        with np.errstate(all="ignore"):  # overflow shows in the residual
            z, ended, iterations = iterate(self, box, start)
        return conclude(problem, self, box.outside(z), ended, iterations, started)


class Equations(NamedTuple):
    """Φ and the diagonals of its derivative D_z + D_w M."""

    value: Vector
    by_z: Vector
    by_w: Vector


def iterate(settings: SemismoothNewton, box: Scaled, z: Vector) -> tuple[Vector, Status, int]:
    """The best z on the way, in the scaled problem."""
    system = shifted(box.M)
    recent: deque[float] = deque(maxlen=MEMORY)
    best, least, ended, c = z, math.inf, Status.MAX_ITER, 0.0
    for iterations in range(settings.max_iter + 1):
        w = box.M @ z + box.q
        error = box.residual(z, w)
        if error <= settings.tol:
            return z, Status.SOLVED, iterations
        if not math.isfinite(error):
            ended = Status.NONFINITE
            break
        if error < least:
            best, least = z, error
        if iterations == settings.max_iter:
            break
        smooth = equations(fischer_map, box, z, w)
        equation = smooth if settings.function == "fischer-burmeister" else equations(min_map, box, z, w)
        slope = smooth.by_z * smooth.value + box.M.T @ (smooth.by_w * smooth.value)
        direction, c = descent_direction(box, system, equation, slope, c)
        recent.append(merit(smooth))
        step = line_search(box, z, w, direction, float(slope @ direction), max(recent))
        if step <= SHORTEST:
            ended = Status.STALLED
            break
        c = larger(c) if step < SHORT else smaller(c) if step == 1.0 else c
        z = z + step * direction
    w = box.M @ best + box.q
    at_bound = equations(min_map, box, best, w).by_w == 0.0
    return polished(box, system, best, at_bound, least), ended, iterations


def descent_direction(
    box: Scaled, system: Shifted, equation: Equations, slope: Vector, c: float
) -> tuple[Vector, float]:
    """d of (2) with ν = c min(1, |Φ|), c raised where that is no descent; else minus the gradient of ψ."""
    weight = np.maximum(equation.by_w, LEAST_WEIGHT)
    rhs = -equation.value / weight
    size = min(1.0, float(np.linalg.norm(equation.value)))
    for _ in range(ATTEMPTS):
        diagonal = equation.by_z / weight + c * size
        factor = system.factorise(diagonal)
        if factor is not None:
            d = factor.solve(rhs)
            d += factor.solve(rhs - box.M @ d - diagonal * d)  # one step of iterative refinement
            if slope @ d <= -DESCENT * np.linalg.norm(d) ** 2.1:  # never true of NaN
                return d, c
        c = larger(c)
    return -slope, c


def larger(c: float) -> float:
    return min(max(10.0 * c, FIRST), LARGEST)


def smaller(c: float) -> float:
    return 0.1 * c if 0.1 * c >= LAST else 0.0


def line_search(box: Scaled, z: Vector, w: Vector, direction: Vector, slope: float, worst: float) -> float:
    """The first of 1, ½, ¼ … that brings ψ below the worst recent value, by a share of the slope."""
    change = box.M @ direction
    step = 1.0
    while step > SHORTEST:
        if merit(equations(fischer_map, box, z + step * direction, w + step * change)) <= worst + ARMIJO * step * slope:
            break
        step *= 0.5
    return step


def equations(row_map: Any, box: Scaled, z: Vector, w: Vector) -> Equations:
    result = Equations(np.empty_like(z), np.empty_like(z), np.empty_like(z))
    row_map(z, w, box.lower, box.upper, *result)
    return result


def merit(equation: Equations) -> float:
    """ψ."""
    return 0.5 * float(equation.value @ equation.value)


@kernel
def fischer(a, b):
    """φ and its derivatives by a and b; at the kink (0, 0) those along the diagonal."""
    r = math.hypot(a, b)
    if r == 0.0:
        return 0.0, 1.0 - math.sqrt(0.5), 1.0 - math.sqrt(0.5)
    # no cancellation: a + b - r = 2 a b / (a + b + r), 1 - a / r = b² / (r (r + a))
    value = 2.0 * a * b / (a + b + r) if a + b > 0.0 else a + b - r
    by_a = b / r * (b / (r + a)) if a > 0.0 else 1.0 - a / r
    by_b = a / r * (a / (r + b)) if b > 0.0 else 1.0 - b / r
    return value, by_a, by_b


@kernel
def fischer_map(z, w, lower, upper, value, by_z, by_w):
    """Φ of (1), and its derivatives by z and w, row by row."""
    for i in range(z.size):
        inner, inner_z, inner_w = w[i], 0.0, 1.0
        if upper[i] < np.inf:
            inner, inner_z, inner_w = fischer(upper[i] - z[i], -w[i])
            inner = -inner
        if lower[i] > -np.inf:
            value[i], outer_z, outer_w = fischer(z[i] - lower[i], inner)
            by_z[i] = outer_z + outer_w * inner_z
            by_w[i] = outer_w * inner_w
        else:
            value[i], by_z[i], by_w[i] = inner, inner_z, inner_w


@kernel
def min_map(z, w, lower, upper, value, by_z, by_w):
    """z - P(z - w), and an element of its derivatives."""
    for i in range(z.size):
        if z[i] - w[i] < lower[i]:
            value[i], by_z[i], by_w[i] = z[i] - lower[i], 1.0, 0.0
        elif z[i] - w[i] > upper[i]:
            value[i], by_z[i], by_w[i] = z[i] - upper[i], 1.0, 0.0
        else:
            value[i], by_z[i], by_w[i] = w[i], 0.0, 1.0
