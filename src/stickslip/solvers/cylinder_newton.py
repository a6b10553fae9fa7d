"""Nonsmooth Newton's method for friction cylinders, on the natural map of problems/cylinder.py.

    Φ(r) = ( min(r_n, u_n),   r_t - P_g(r_t - u_t) ),    u = W r + q,   P_g the projection onto the disc |.| <= g   (1)

contact by contact, in the scaled variables r_i / s_i and s_i u_i with s_i = √(d / tr W_ii), in which the diagonal of W
is of order one. Steps and what is done where they stall are those of solvers/dense_newton.py: it finishes what
Gauss-Seidel is slow at, contacts in a row or between joints, up to some hundred of them. Matrices are dense.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, count, not_negative
from stickslip.jit import kernel
from stickslip.problems.blocks import contact_weights
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.matrix import Dense, Vector, as_dense, both_sides
from stickslip.solvers.dense_newton import Map, newton_or_proximal
from stickslip.solvers.solution import Solution, conclude, expect, start_from


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class CylinderNewton:
    """Nonsmooth Newton for CylinderProblem; an iteration is one step."""

    tol: float = 1e-8
    max_iter: int = 1000

    def solve(self, problem: CylinderProblem, x0: Vector | None = None) -> Solution:
        """Newton's method from x0, zero where there is none, and where it stalls the proximal point method."""
        started = expect(self, problem, CylinderProblem)
        map_ = CylinderMap.of(problem)
        r = start_from(problem, x0) / map_.unit
        # the problem is monotone: it is never too far for proximal steps
        r, ended, steps = newton_or_proximal(map_, r, self.tol, self.max_iter, math.inf)
        return conclude(problem, self, map_.unit * r, ended, steps, started)


@dataclass(frozen=True, eq=False)
class CylinderMap(Map):
    """Φ of (1) and its derivative; the unit is s."""

    bound: Vector

    @classmethod
    def of(cls, problem: CylinderProblem) -> CylinderMap:
        s = np.sqrt(contact_weights(problem.blocks.diagonal))
        scale = np.repeat(s, problem.dimension)
        W, q, one = both_sides(as_dense(problem.W), scale), scale * problem.q, np.ones(problem.size)
        return cls(problem, W, q, scale, one, problem.bound / s)

    def __call__(self, x: Vector) -> tuple[Vector, Dense]:
        """Φ and Φ'."""
        value, jacobian = np.empty(x.size), np.zeros((x.size, x.size))
        cylinder_map(self.W, x, self.W @ x + self.q, self.bound, value, jacobian)
        return value, jacobian


@kernel
def cylinder_map(W, r, u, bound, value, jacobian):
    """Φ and its derivative in place; the latter is zero at first."""
    d, size = r.size // bound.size if bound.size > 0 else 1, r.size
    for i in range(bound.size):
        n = d * i
        if r[n] <= u[n]:  # open
            value[n], jacobian[n, n] = r[n], 1.0
        else:
            value[n] = u[n]
            for k in range(size):
                jacobian[n, k] = W[n, k]
        y = 0.0
        for a in range(n + 1, n + d):
            y += (r[a] - u[a]) ** 2
        y = math.sqrt(y)
        if y <= bound[i]:  # stick
            for a in range(n + 1, n + d):
                value[a] = u[a]
                for k in range(size):
                    jacobian[a, k] = W[a, k]
            continue
        across = bound[i] / y  # slip: the projection is across y, its derivative across (I - y yᵀ / |y|²)
        for a in range(n + 1, n + d):
            value[a] = r[a] - across * (r[a] - u[a])
            jacobian[a, a] += 1.0
            for c in range(n + 1, n + d):
                D = -across * (r[a] - u[a]) * (r[c] - u[c]) / y**2
                if a == c:
                    D += across
                jacobian[a, c] -= D
                for k in range(size):
                    jacobian[a, k] += D * W[c, k]
