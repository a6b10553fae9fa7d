"""Nonsmooth Newton's method for distributed contacts, on the natural map of problems/limit_surface.py.

    Φ(x) = ( c_n - max(c_n - ρ a_n, 0),   s - P_λB(s - ρ τ) ),    λ = μ max(c_n, 0),   ρ_i = 4 / tr W_ii            (1)

Φ is piecewise smooth. With D the derivative of the projection and ∂P/∂λ = (P - D y) / λ, y = s - ρ τ, a row block is

    I - D (I - ρ W_s) - μ ∂P/∂λ e_nᵀ      of s,          e_nᵀ or ρ W_n      of c_n, open or closed.

Steps and what is done where they stall are those of solvers/dense_newton.py. It converges fast from nearby; from afar
nothing is promised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, count, not_negative
from stickslip.jit import kernel
from stickslip.problems.blocks import contact_weights
from stickslip.problems.friction_sets import nearest
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector, as_dense, both_sides
from stickslip.solvers.dense_newton import Map, newton_or_proximal
from stickslip.solvers.limit_surface_gauss_seidel import furthest
from stickslip.solvers.solution import Solution, conclude, expect, start_from

CLOSE = 1e-4  # residual up to which a stall may be one of redundant contacts, and proximal steps are worth trying


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class LimitSurfaceNewton:
    """Nonsmooth Newton for LimitSurfaceProblem; an iteration is one step."""

    tol: float = 1e-8
    max_iter: int = 1000

    def solve(self, problem: LimitSurfaceProblem, x0: Vector | None = None) -> Solution:
        """Newton's method from x0, zero where there is none, and where it stalls the proximal point method."""
        started = expect(self, problem, LimitSurfaceProblem)
        form = problem.scaled
        x = form.coordinates(start_from(problem, x0))
        x, ended, steps = newton_or_proximal(NaturalMap.of(problem), x, self.tol, self.max_iter, CLOSE)
        return conclude(problem, self, form.forces(x), ended, steps, started)


@dataclass(frozen=True, eq=False)
class NaturalMap(Map):
    """Φ of (1) and its derivative; W = E A E."""

    problem: LimitSurfaceProblem
    rho: Vector
    ends: Dense  # where a given slip puts s

    @classmethod
    def of(cls, problem: LimitSurfaceProblem) -> NaturalMap:
        form = problem.scaled
        ends = np.zeros_like(form.way)
        furthest(*form.law, ends)
        W, rho = both_sides(as_dense(problem.A), form.E), contact_weights(form.W.diagonal)
        return cls(problem, W, form.q, form.E, np.repeat(rho, 4), rho, ends)

    def __call__(self, x: Vector) -> tuple[Vector, Dense]:
        """Φ and Φ'."""
        form = self.problem.scaled
        value, jacobian = np.empty(x.size), np.empty((x.size, x.size))
        natural_map(self.W, x, self.W @ x + self.q, *form.law, self.ends, self.rho, value, jacobian)
        return value, jacobian


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
