"""Nonsmooth Newton's method for distributed contacts, on the natural map of problems/limit_surface.py.

    Φ(x) = ( c_n - max(c_n - ρ a_n, 0),   s - P_λB(s - ρ τ) ),    λ = μ max(c_n, 0),   ρ_i = 4 / tr W_ii            (1)

Φ is piecewise smooth. With D the derivative of the projection and ∂P/∂λ = (P - D y) / λ, y = s - ρ τ, a row block is

    I - D (I - ρ W_s) - μ ∂P/∂λ e_nᵀ      of s,          e_nᵀ or ρ W_n      of c_n, open or closed.

A step is the least one that solves the linear equations (forces need not be unique), or where |Φ| does not fall along
it, the Levenberg-Marquardt step -(Φ'ᵀΦ' + |Φ| I)⁻¹ Φ'ᵀΦ [1]. It converges fast from nearby; from afar nothing is
promised. Matrices are dense.

[1] Facchinei, Pang, Finite-Dimensional Variational Inequalities and Complementarity Problems, Springer 2003, chapter 8.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from stickslip.jit import kernel
from stickslip.problems.blocks import contact_weights
from stickslip.problems.friction_sets import nearest
from stickslip.problems.limit_surface import LimitSurfaceProblem, judge_limit_surface
from stickslip.problems.matrix import Dense, Vector, as_dense, both_sides
from stickslip.solvers.limit_surface_gauss_seidel import furthest
from stickslip.solvers.solution import Solution, Status, conclude, expect, start_from

SHORTEST = 1e-4  # step length that is still tried
DESCENT = 1e-4  # share of the promised decrease that is asked for


@dataclass(frozen=True, kw_only=True)
class LimitSurfaceNewton:
    """Nonsmooth Newton for LimitSurfaceProblem; an iteration is one step."""

    tol: float = 1e-8
    max_iter: int = 200

    def solve(self, problem: LimitSurfaceProblem, x0: Vector | None = None) -> Solution:
        """Newton's method from x0, zero where there is none."""
        expect(self, problem, LimitSurfaceProblem)
        started = time.perf_counter()
        x, ended, steps = newton(NaturalMap.of(problem), problem, start_from(problem, x0), self.tol, self.max_iter)
        return conclude(problem, self, x, ended, steps, started)


@dataclass(frozen=True, eq=False)
class NaturalMap:
    """Φ of (1) and its derivative."""

    problem: LimitSurfaceProblem
    W: Dense  # E A E
    rho: Vector
    ends: Dense  # where a given slip puts s

    @classmethod
    def of(cls, problem: LimitSurfaceProblem) -> NaturalMap:
        form = problem.scaled
        ends = np.zeros_like(form.way)
        furthest(*form.law, ends)
        return cls(problem, both_sides(as_dense(problem.A), form.E), contact_weights(form.W.diagonal), ends)

    def __call__(self, x: Vector) -> tuple[Vector, Dense]:
        """Φ and Φ'."""
        form = self.problem.scaled
        value, jacobian = np.empty(x.size), np.empty((x.size, x.size))
        natural_map(self.W, x, self.W @ x + form.q, *form.law, self.ends, self.rho, value, jacobian)
        return value, jacobian


def newton(
    map_: NaturalMap, problem: LimitSurfaceProblem, c: Vector, tol: float, max_iter: int
) -> tuple[Vector, Status, int]:
    """Forces c, how it ended, and the steps made."""
    form = problem.scaled
    x = form.coordinates(c)
    value, jacobian = map_(x)
    for steps in range(max_iter + 1):
        if judge_limit_surface(problem, form.forces(x), tol)[2]:
            return form.forces(x), Status.SOLVED, steps
        if not np.isfinite(value).all() or not np.isfinite(jacobian).all():
            return form.forces(x), Status.NONFINITE, steps
        if steps == max_iter:
            break
        for step in directions(value, jacobian):
            found = descend(map_, x, value, step)
            if found is not None:
                x, value, jacobian = found
                break
        else:
            return form.forces(x), Status.STALLED, steps
    return form.forces(x), Status.MAX_ITER, max_iter


def directions(value: Vector, jacobian: Dense) -> Iterator[Vector]:
    """Newton's step, then Levenberg and Marquardt's."""
    yield newton_step(value, jacobian)
    damped = jacobian.T @ jacobian + float(np.linalg.norm(value)) * np.eye(value.size)
    yield linalg.solve(damped, -jacobian.T @ value, assume_a="pos", check_finite=False)


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


@kernel
def natural_map(W, x, y, mu, way, alive, state, kind, planes, gauge, ends, rho, value, jacobian):
    """Φ and its derivative in place; y = W x + q."""
    target, near, D = np.empty(3), np.empty(3), np.empty((3, 3))
    jacobian[:] = 0.0
    size = x.size
    for i in range(mu.size):
        b = 4 * i
        c_n = x[b]
        if c_n <= rho[i] * y[b]:
            value[b] = c_n
            jacobian[b, b] = 1.0
        else:
            value[b] = rho[i] * y[b]
            for k in range(size):
                jacobian[b, k] = rho[i] * W[b, k]
        bound = mu[i] * max(c_n, 0.0)
        if way[i, 0] != 0.0 or way[i, 1] != 0.0 or way[i, 2] != 0.0:
            for j in range(3):
                value[b + 1 + j] = x[b + 1 + j] - bound * ends[i, j]
                jacobian[b + 1 + j, b + 1 + j] = 1.0
                if c_n > 0.0:
                    jacobian[b + 1 + j, b] = -mu[i] * ends[i, j]
            continue
        for j in range(3):
            target[j] = x[b + 1 + j] - rho[i] * y[b + 1 + j]
        own = planes[kind[i, 1] : kind[i, 2]]
        nearest(kind[i, 0], own, gauge, state[i], alive[i], bound, target, near, D, True)
        for j in range(3):
            row = b + 1 + j
            value[row] = x[row] - near[j]
            moved = near[j]
            for a in range(3):
                moved -= D[j, a] * target[a]
                jacobian[row, b + 1 + a] -= D[j, a]
                for k in range(size):
                    jacobian[row, k] += rho[i] * D[j, a] * W[b + 1 + a, k]
            jacobian[row, row] += 1.0
            if bound > 0.0:
                jacobian[row, b] -= mu[i] * moved / bound
