"""Newton's method on a piecewise smooth map Φ(x) = 0 that is dense, with proximal steps where it stalls.

A step is the least one that solves Φ' dx = -Φ (forces need not be unique), or where |Φ| does not fall along it, the
Levenberg-Marquardt step -(Φ'ᵀΦ' + |Φ| I)⁻¹ Φ'ᵀΦ [1].

Where redundant contacts do not quite agree, such as four wheels of a car on gaps that differ in the last digits, the
equations of contacts that are all closed have no solution: one must open, and another take its load. Newton's method
stalls close by. Then it is tried on maps with W + α and q - α c, c the forces at hand, which are regular: the proximal
point method, in which such a load moves by as much as they disagree over α in one step. α, relative to the diagonal of
W, is lowered after success and raised after failure. Where c stays, it solves the problem itself, whatever α is.

[1] Facchinei, Pang, Finite-Dimensional Variational Inequalities and Complementarity Problems, Springer 2003, chapters 8
    and 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg

from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.residual import judge
from stickslip.solvers.status import Status

SHORTEST = 1e-4  # step length that is still tried
DESCENT = 1e-4  # share of the promised decrease that is asked for
ALPHA, LOWEST, HIGHEST = 1e-2, 1e-10, 1e2  # α at first, at least and at most
LOWER, RAISE = 0.3, 10.0  # α after success and after failure
INNER, REDUCTION = 12, 0.01  # steps on a proximal problem at most, and the share of |Φ| that ends them


@dataclass(frozen=True, eq=False)
class Map:
    """Φ of a problem with the matrix W and the vector q, in scaled variables."""

    problem: Any
    W: Dense
    q: Vector
    unit: Vector  # x of the problem over that here
    weights: Vector  # (n,)   ρ of each component: α is relative to 1 / ρ

    def __call__(self, x: Vector) -> tuple[Vector, Dense]:
        """Φ and Φ'."""
        raise NotImplementedError

    def judged(self, x: Vector, tol: float) -> tuple[float, bool]:
        """The residual of the problem, and whether x solves it."""
        return judge(self.problem, self.unit * x, tol)[1:]

    def around(self, centre: Vector, alpha: float) -> Self:
        """The map of W + α / ρ and q - α c / ρ."""
        added = alpha / self.weights
        return replace(self, W=self.W + np.diag(added), q=self.q - added * centre)


def newton_or_proximal(map_: Map, x: Vector, tol: float, max_iter: int, close: float) -> tuple[Vector, Status, int]:
    """Newton's method, and where it stalls at a residual of at most `close` the proximal point method."""
    x, ended, steps = newton(map_, x, tol, max_iter)
    if ended is Status.STALLED and map_.judged(x, tol)[0] <= close:
        near, end, more = proximal_point(map_, x, tol, max_iter - steps)
        steps += more
        if end is Status.SOLVED:
            return near, end, steps
    return x, ended, steps


def newton(map_: Map, x: Vector, tol: float, max_iter: int) -> tuple[Vector, Status, int]:
    """x, how it ended, and the steps made."""
    value, jacobian = map_(x)
    for steps in range(max_iter + 1):
        if map_.judged(x, tol)[1]:
            return x, Status.SOLVED, steps
        if not np.isfinite(value).all() or not np.isfinite(jacobian).all():
            return x, Status.NONFINITE, steps
        if steps == max_iter:
            break
        found = moved(map_, x, value, jacobian)
        if found is None:
            return x, Status.STALLED, steps
        x, value, jacobian = found
    return x, Status.MAX_ITER, max_iter


def proximal_point(map_: Map, x: Vector, tol: float, max_iter: int) -> tuple[Vector, Status, int]:
    """Proximal problems one after the other: x, how it ended, and the steps made."""
    alpha, steps = ALPHA, 0
    while steps < max_iter:
        if map_.judged(x, tol)[1]:
            return x, Status.SOLVED, steps
        near, reached, made = solve_around(map_.around(x, alpha), x, min(INNER, max_iter - steps))
        steps += max(made, 1)
        if reached:
            x, alpha = near, max(LOWER * alpha, LOWEST)
        else:
            alpha *= RAISE
        if alpha > HIGHEST:
            return x, Status.STALLED, steps
    return x, Status.MAX_ITER, steps


def solve_around(map_: Map, x: Vector, limit: int) -> tuple[Vector, bool, int]:
    """Newton's method on a proximal problem until |Φ| has fallen to the share REDUCTION: x, whether it has, and the
    steps made."""
    value, jacobian = map_(x)
    target = REDUCTION * float(np.linalg.norm(value))
    for steps in range(limit):
        found = moved(map_, x, value, jacobian)
        if found is None:
            return x, False, steps
        x, value, jacobian = found
        if np.linalg.norm(value) <= target:
            return x, True, steps + 1
    return x, False, limit


def moved(map_: Map, x: Vector, value: Vector, jacobian: Dense) -> tuple[Vector, Vector, Dense] | None:
    """x after a step that lowers |Φ|, with Φ and Φ' there; None where none does."""
    found = descend(map_, x, value, newton_step(value, jacobian))
    if found is None:  # then Levenberg and Marquardt's
        damped = jacobian.T @ jacobian + float(np.linalg.norm(value)) * np.eye(value.size)
        step = linalg.solve(damped, -jacobian.T @ value, assume_a="pos", check_finite=False)
        found = descend(map_, x, value, step)
    return found


def newton_step(value: Vector, jacobian: Dense) -> Vector:
    """The least one that solves the linear equations."""
    return linalg.lstsq(jacobian, -value, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]


def descend(
    map_: Callable[[Vector], tuple[Vector, Dense]], x: Vector, value: Vector, step: Vector
) -> tuple[Vector, Vector, Dense] | None:
    """The first of x + step, x + step / 2, … that lowers the length of the map, with the map and its derivative there.
    None where it stays."""
    before, length = float(np.linalg.norm(value)), 1.0
    while length >= SHORTEST:
        trial = x + length * step
        new, jacobian = map_(trial)
        if np.linalg.norm(new) <= (1 - DESCENT * length) * before:
            return trial, new, jacobian
        length *= 0.5
    return None
