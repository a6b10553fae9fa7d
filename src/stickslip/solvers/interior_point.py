"""Interior point for the monotone mixed LCP:  w = M z + q with M positive semidefinite. Every finite bound b has a

    slack s = ±(z_i - b) >= 0,    a force f >= 0,    s f = 0,    and    M z + q = Σ ±f  over the bounds of a row

with + for a lower bound and - for an upper one. A free row is the equation M z + q = 0, native to the method.
Mehrotra's predictor-corrector [1] follows the central path s f = μ from an infeasible start; each of its two
directions solves

    (M + Σ f/s + ρ) dz = -r + Σ ± c/s,      r = M z + q - Σ ±f,      ds = ±dz,      s df + f ds = c          (1)

with the same factors. z and w depend on each other, so one step length serves all. A product s f that falls below
NEIGHBOURHOOD times the mean μ is brought back there by raising f [2, chapter 6; 4, eq. 16]; r takes note.

ρ = PROXIMAL is the proximal term of [3]: a step solves the problem with ρ (z - z_k) added, z_k being where it
starts, so a limit solves the problem itself. Where active contacts are redundant (M singular on them) it keeps dz
from wandering along the null space once f/s has sunk below rounding.

The problem is scaled inside (scaling.py). If the iteration ends above tol the active set is guessed and the linear
system that it leaves is solved (polish.py); that is kept if the residual falls.

With M not positive semidefinite nothing is promised and nothing is checked (that would cost a factorisation): it
often works, for Stewart-Trinkle friction say, or ends with STALLED or MAX_ITER. A problem without solution ends so too,
its iterates growing.

[1] Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 2 (1992) 575-601.
[2] Wright, Primal-Dual Interior-Point Methods, SIAM 1997.
[3] Pougkakiotis, Gondzio, An interior point-proximal method of multipliers for convex quadratic programming,
    Computational Optimization and Applications 78 (2021) 307-351.
[4] Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
    nonlinear programming, Mathematical Programming 106 (2006) 25-57.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import checked, count, not_negative
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP
from stickslip.solvers.linear import Factor, shifted
from stickslip.solvers.polish import PROXIMAL, polished
from stickslip.solvers.scaling import Scaled, scaled
from stickslip.solvers.solution import Solution, Status, conclude, expect, start_from

NEIGHBOURHOOD = 1e-3
BOUNDARY = 0.995  # share of the way to the nearest bound that is taken, at least
PATIENCE = 50  # iterations without a smaller residual that end the iteration


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class InteriorPoint:
    """Mehrotra's predictor-corrector for LCP and MixedLCP with a positive semidefinite M."""

    tol: float = 1e-10
    max_iter: int = 100

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        """Solve. x0 only moves the start, one scaled unit away from the bounds: interior points gain little from it."""
        started = expect(self, problem, LCP, MixedLCP)
        box = scaled(problem)
        with np.errstate(all="ignore"):  # overflow shows in the residual
            z, ended, iterations = follow_path(self, box, box.inside(start_from(problem, x0)))
        return conclude(problem, self, box.outside(z), ended, iterations, started)


class Bounds(NamedTuple):
    """The finite bounds, lower ones first."""

    row: NDArray[np.intp]
    value: Vector
    sign: Vector  # +1 lower, -1 upper


class Point(NamedTuple):
    """An iterate, or a direction."""

    z: Vector
    slack: Vector  # one a bound
    force: Vector


def follow_path(settings: InteriorPoint, box: Scaled, near: Vector) -> tuple[Vector, Status, int]:
    """The best z on the way, in the scaled problem."""
    start = np.clip(near, box.lower, box.upper)
    if box.residual(start, box.M @ start + box.q) <= settings.tol:
        return start, Status.SOLVED, 0
    bounds = finite_bounds(box)
    system = shifted(box.M)
    point = interior_start(box, bounds, near)
    best, least, since, ended = point, math.inf, 0, Status.MAX_ITER
    for iterations in range(settings.max_iter + 1):
        w = box.M @ point.z + box.q
        error = box.residual(point.z, w)
        if error <= settings.tol:
            return point.z, Status.SOLVED, iterations
        if error < least:
            best, least, since = point, error, iterations
        if iterations == settings.max_iter:
            break
        barrier = by_row(bounds, point.force / point.slack, box.q.size) + PROXIMAL
        factor = system.factorise(barrier) if math.isfinite(error) else None
        if factor is None or iterations - since == PATIENCE:
            ended = Status.STALLED if math.isfinite(error) else Status.NONFINITE
            break
        point = predict_and_correct(box, bounds, barrier, factor, point, w)
    return polished(box, system, best.z, at_bounds(best, bounds), least), ended, iterations


def finite_bounds(box: Scaled) -> Bounds:
    low, high = np.flatnonzero(np.isfinite(box.lower)), np.flatnonzero(np.isfinite(box.upper))
    return Bounds(
        np.concatenate([low, high]),
        np.concatenate([box.lower[low], box.upper[high]]),
        np.concatenate([np.ones(low.size), -np.ones(high.size)]),
    )


def by_row(bounds: Bounds, values: Vector, n: int) -> Vector:
    """The sum over the bounds of each row."""
    return np.asarray(np.bincount(bounds.row, values, n), np.float64)


def interior_start(box: Scaled, bounds: Bounds, near: Vector) -> Point:
    """z near the given one, a unit away from its bounds or half-way between them; products of order 1."""
    margin = np.minimum(1.0, 0.5 * (box.upper - box.lower))
    z = np.clip(near, box.lower + margin, box.upper - margin)
    w = box.M @ z + box.q
    slack = np.maximum(bounds.sign * (z[bounds.row] - bounds.value), margin[bounds.row])
    force = np.maximum(bounds.sign * w[bounds.row], 1.0) / np.maximum(slack, 1.0)
    return Point(z, slack, force)


def predict_and_correct(box: Scaled, bounds: Bounds, barrier: Vector, factor: Factor, point: Point, w: Vector) -> Point:
    """One iteration: the affine direction shows how far μ can fall, the second one aims there."""
    row, _, sign = bounds
    _, slack, force = point
    r = w - by_row(bounds, sign * force, w.size)

    def direction(c: Vector) -> Point:
        rhs = by_row(bounds, sign * (c / slack), w.size) - r
        dz = factor.solve(rhs)
        dz += factor.solve(rhs - box.M @ dz - barrier * dz)  # one step of iterative refinement
        ds = sign * dz[row]
        return Point(dz, ds, (c - force * ds) / slack)

    product = slack * force
    mean = mean_product(point)
    affine = direction(-product)
    reached = mean_product(moved(point, affine, min(1.0, step_to_boundary(point, affine))))
    target = mean * (reached / mean) ** 3 if mean > 0.0 else 0.0  # no bounds, no path
    corrected = direction(target - product - affine.slack * affine.force)
    step = min(1.0, max(BOUNDARY, 1.0 - mean) * step_to_boundary(point, corrected))
    return central(moved(point, corrected, step))


def moved(point: Point, direction: Point, step: float) -> Point:
    return Point(*(x + step * dx for x, dx in zip(point, direction, strict=True)))


def step_to_boundary(point: Point, direction: Point) -> float:
    """The longest step that keeps slacks and forces >= 0."""
    fall = max(np.max(-direction.slack / point.slack, initial=0.0), np.max(-direction.force / point.force, initial=0.0))
    return float(1.0 / fall) if fall > 0.0 else math.inf


def mean_product(point: Point) -> float:
    """μ."""
    return float(point.slack @ point.force) / max(point.slack.size, 1)


def central(point: Point) -> Point:
    """Forces raised until no product is below NEIGHBOURHOOD times the mean."""
    return point._replace(force=np.maximum(point.force, NEIGHBOURHOOD * mean_product(point) / point.slack))


def at_bounds(point: Point, bounds: Bounds) -> NDArray[np.bool_]:
    """The rows at a bound: s / f below μ^(-1/4).

    A product s f = μ is split unevenly where complementarity is strict, and near s = f = μ^(1/2) where it is not [2].
    """
    close = point.slack < point.force * max(mean_product(point), np.finfo(float).tiny) ** -0.25
    held = np.zeros(point.z.size, bool)
    held[bounds.row[close]] = True
    return held
