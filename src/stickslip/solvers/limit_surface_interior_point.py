"""Interior point method for distributed contacts on ellipsoids, after that of solvers/cone_interior_point.py.

In the scaled variables of problems/limit_surface.py, x = (c_n, s) and u = (a_n, τ) = W x + q, with a multiplier β:

    0 <= c_n ⊥ a_n >= 0,        z = (μ c_n, s) ∈ L ⊥ y = (β, τ) ∈ L,        L = {v : v_0 >= |(v_1, v_2, v_3)|}     (1)

Where c_n > 0 the second pair says β = |τ| and friction against τ, the maximum-work condition; where c_n = 0, β is any
number >= |τ|. The method follows the path on which all products are σ > 0,

    c_n a_n = σ,        z ∘ y = (μ c_n β + s · τ,  μ c_n τ + β s) = σ (1, 0, 0, 0),                                (2)

by Newton's method on (2), u eliminated, with Mehrotra's predictor and corrector [1]; variables stay inside the cones.
Where a step would be short, one that keeps σ, or raises it, leads away from the boundary. Piles of boxes, over whose
contacts sweeps creep, take 15 to 30 steps, vehicles whose wheels share their load up to 300. Friction makes the problem
not monotone: it may fail. Matrices are dense; contacts must roll, σ of problems/limit_surface.py being their own.

[1] Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 2 (1992) 575-601.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import checked, count, not_negative, shown
from stickslip.errors import InputError
from stickslip.problems.blocks import contact_weights
from stickslip.problems.friction_sets import Ellipsoid
from stickslip.problems.limit_surface import LimitSurfaceProblem, judge_limit_surface
from stickslip.problems.matrix import Dense, Vector, as_dense, both_sides
from stickslip.solvers.solution import Solution, Solver, Status, conclude, expect, start_from

BOUNDARY = 0.95  # share of the way to the boundary of the cones that a step may go
SHORT = 0.1  # a step that is shorter is replaced by one that keeps more of σ,
CENTRED, PUSHED = 0.8, 10.0  # this share of it, and then more than all: away from the boundary
LEAST = 1e-3  # share of σ that is asked for at least


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class LimitSurfaceInteriorPoint:
    """Interior point method for a LimitSurfaceProblem with ellipsoids; an iteration is one step, two linear solves."""

    tol: float = 1e-8
    max_iter: int = 300

    def solve(self, problem: LimitSurfaceProblem, x0: Vector | None = None) -> Solution:
        """It starts from the middle of the cones, whatever x0 is."""
        started = expect_ellipsoid(self, problem)
        if problem.sliding.any():
            i = int(np.argmax(problem.sliding))
            raise InputError(f"LimitSurfaceInteriorPoint: contact {i} has a slip of its own, expected ones that roll")
        start_from(problem, x0)
        path = Path.of(problem)
        at, ended, steps = path.start(), Status.MAX_ITER, 0
        while not judge_limit_surface(problem, path.forces(at), self.tol)[2] and steps < self.max_iter:
            following = path.step(at)
            if following is None:
                ended = Status.NONFINITE
                break
            at, steps = following, steps + 1
        return conclude(problem, self, path.forces(at), ended, steps, started)


def expect_ellipsoid(solver: Solver, problem: object) -> float:
    """`expect` for methods that know ellipsoids alone."""
    if not (isinstance(problem, LimitSurfaceProblem) and isinstance(problem.surface, Ellipsoid)):
        expected = "a LimitSurfaceProblem with an Ellipsoid"
        raise InputError(f"{type(solver).__name__}: the problem is {shown(problem)}, expected {expected}")
    return expect(solver, problem, LimitSurfaceProblem)


class Point(NamedTuple):
    """An iterate, or a step."""

    x: Dense  # (nc, 4)   c_n, s
    u: Dense  # (nc, 4)   a_n, τ
    beta: Vector  # (nc,)

    def moved(self, step: Point, length: float) -> Point:
        return Point(self.x + length * step.x, self.u + length * step.u, self.beta + length * step.beta)


@dataclass(frozen=True, eq=False)
class Path:
    """(2) of a problem, contacts scaled to tr W_ii = 4 and q to 1."""

    problem: LimitSurfaceProblem
    W: Dense  # (4 nc, 4 nc)
    q: Vector  # (4 nc,)
    mu: Vector  # (nc,)   1 where there is no friction: then no component of s carries any
    unit: Vector  # (4 nc,)   x of the problem over that here

    @classmethod
    def of(cls, problem: LimitSurfaceProblem) -> Path:
        form = problem.scaled
        rubs = np.repeat(problem.mu > 0, 4)
        rubs[::4] = True
        scale = np.repeat(np.sqrt(contact_weights(form.W.diagonal)), 4) * rubs
        q = scale * form.q
        size = float(np.linalg.norm(q)) or 1.0
        W = both_sides(both_sides(as_dense(problem.A), form.E), scale)
        return cls(problem, W, q / size, np.where(problem.mu > 0, problem.mu, 1.0), size * scale)

    def start(self) -> Point:
        """All products are 1, in the middle of the cones."""
        middle = np.zeros((self.mu.size, 4))
        middle[:, 0] = 1.0
        return Point(middle, middle.copy(), 1.0 / self.mu)

    def forces(self, at: Point) -> Vector:
        return self.problem.scaled.forces(self.unit * at.x.ravel())

    def products(self, a: Point, b: Point) -> Dense:
        """(5, nc) c_n a_n and the four of z ∘ y, c_n and s of the one with a_n, τ and β of the other."""
        pressed = self.mu * a.x[:, 0]
        along = pressed * b.beta + np.einsum("ij,ij->i", a.x[:, 1:], b.u[:, 1:])
        across = pressed[:, None] * b.u[:, 1:] + b.beta[:, None] * a.x[:, 1:]
        return np.vstack([a.x[:, 0] * b.u[:, 0], along, across.T])

    def mean(self, at: Point) -> float:
        """σ: the mean of the products that are to be alike."""
        normal, along, *_ = self.products(at, at)
        return float((normal.sum() + along.sum()) / (2 * max(self.mu.size, 1)))

    def step(self, at: Point) -> Point | None:
        """The next iterate, or None where there is none."""
        sigma = self.mean(at)
        jacobian = self.jacobian(at)
        predictor = self.direction(at, jacobian, 0.0, None)
        if predictor is None:
            return None
        length, step = min(1.0, self.reach(at, predictor)), predictor
        after = self.mean(at.moved(predictor, length)) / sigma
        share = min(max(after**3, LEAST), 1.0)
        for target, ahead in ((share, predictor if length >= SHORT else None), (CENTRED, None), (PUSHED, None)):
            chosen = self.direction(at, jacobian, target * sigma, ahead)
            if chosen is None:
                return None
            length, step = min(1.0, BOUNDARY * self.reach(at, chosen)), chosen
            if length >= SHORT:
                break
        return at.moved(step, length)

    def jacobian(self, at: Point) -> Dense:
        """Of (2) by x and β, with du = W dx: rows c_n a_n, then the four of z ∘ y, contact after contact in each."""
        nc, W = self.mu.size, self.W.reshape(-1, 4, 4 * self.mu.size)
        i, pressed = np.arange(nc), self.mu * at.x[:, 0]
        J = np.zeros((5, nc, 5 * nc))
        J[0, :, : 4 * nc] = at.x[:, :1] * W[:, 0]
        J[0, i, 4 * i] += at.u[:, 0]
        J[1, :, : 4 * nc] = np.einsum("ij,ijk->ik", at.x[:, 1:], W[:, 1:])
        J[1, i, 4 * i] += self.mu * at.beta
        J[1, i, 4 * nc + i] = pressed
        for j in range(1, 4):
            J[1, i, 4 * i + j] += at.u[:, j]
            J[1 + j, :, : 4 * nc] = pressed[:, None] * W[:, j]
            J[1 + j, i, 4 * i] += self.mu * at.u[:, j]
            J[1 + j, i, 4 * i + j] += at.beta
            J[1 + j, i, 4 * nc + i] = at.x[:, j]
        return J.reshape(5 * nc, 5 * nc)

    def direction(self, at: Point, jacobian: Dense, sigma: float, ahead: Point | None) -> Point | None:
        """Newton's step on (2), with the products of the predictor `ahead` taken off; None where it is not finite."""
        nc, defect = self.mu.size, at.u - (self.W @ at.x.ravel() + self.q).reshape(-1, 4)
        wanted: Any = np.array([[sigma], [sigma], [0.0], [0.0], [0.0]]) - self.products(at, at)
        wanted += self.products(at, Point(at.x, defect, np.zeros(nc)))  # what du = W dx - defect leaves behind
        if ahead is not None:
            wanted -= self.products(ahead, ahead)
        try:
            found = np.linalg.solve(jacobian, wanted.ravel())
        except np.linalg.LinAlgError:
            found = np.linalg.lstsq(jacobian, wanted.ravel(), rcond=None)[0]
        if not np.isfinite(found).all():
            return None
        dx = found[: 4 * nc]
        return Point(dx.reshape(-1, 4), (self.W @ dx).reshape(-1, 4) - defect, found[4 * nc :])

    def reach(self, at: Point, step: Point) -> float:
        """How far a step may go until it meets the boundary of a cone."""
        scale = np.ones((self.mu.size, 4))
        scale[:, 0] = self.mu
        y, dy = (np.column_stack([each.beta, each.u[:, 1:]]) for each in (at, step))
        return min(
            to_zero(at.x[:, 0], step.x[:, 0]),
            to_zero(at.u[:, 0], step.u[:, 0]),
            to_boundary(scale * at.x, scale * step.x),
            to_boundary(y, dy),
        )


def to_zero(values: Vector, change: Any) -> float:
    """How far values may change until one of them is zero."""
    falling = change < 0
    return float((-values[falling] / change[falling]).min(initial=np.inf))


@np.errstate(divide="ignore", invalid="ignore")
def to_boundary(v: Dense, d: Dense) -> float:
    """The least positive root of |v_t + a d_t|² = (v_0 + a d_0)² over the rows, all inside L."""
    a = (d[:, 1:] ** 2).sum(axis=1) - d[:, 0] ** 2
    b = (v[:, 1:] * d[:, 1:]).sum(axis=1) - v[:, 0] * d[:, 0]
    c = (v[:, 1:] ** 2).sum(axis=1) - v[:, 0] ** 2
    root = -(b + np.copysign(np.sqrt(np.maximum(b * b - a * c, 0.0)), b))
    roots = np.concatenate([root / a, c / root])
    meets = np.concatenate([b * b >= a * c] * 2) & (roots > 0) & np.isfinite(roots)
    return min(to_zero(v[:, 0], d[:, 0]), float(roots[meets].min(initial=np.inf)))
