"""Accelerated projected gradient for friction problems: one product with W an iteration, and nothing to factorise.

Under the associated law the impulses minimise ½ rᵀ W r + qᵀ r over K, and W y + q is the gradient at y:

    r⁺ = P(y - t ρ (W y + q)),      y⁺ = r⁺ + β (r⁺ - r),      β from Nesterov's sequence                        (1)

with ρ_i = d / tr(W_ii), one number a contact, so that the cone and its projection stay what they are. The step t is
shortened where W bends more than 1/t along r⁺ - y, and slowly lengthened [1]; the momentum starts again where it points
uphill [2]. W y needs no product of its own: it is extrapolated as y is.

Under Coulomb's law the shift μ|u_t| e_n could be held and updated in an outer fixed point [3, 4], or ride along in the
gradient, as extragradient methods for the variational inequality do [4]. Here it is implicit: P answers the law
itself for a contact whose W_ii is 1 / (t ρ_i), see `respond` of solvers/contact.py. On the public problems that took
about as many iterations as the shift in the gradient, or fewer, and a shift held for 10 or 50 iterations took several
times as many.

That map is not a gradient's, so full momentum can circle. A run is cut into windows: after one without progress β is
bounded by 1 - slack, and slack doubled; after one with progress it is halved again. Nothing proves convergence under
Coulomb's law: the residual, with W as it is and not its symmetric part, decides.

[1] Mazhar, Heyn, Negrut, Tasora, Using Nesterov's method to accelerate multibody dynamics with friction and contact,
    ACM Transactions on Graphics 34 (2015) 32.
[2] O'Donoghue, Candès, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15 (2015) 715-732.
[3] Tasora, Anitescu, A matrix-free cone complementarity approach for solving large-scale, nonsmooth, rigid body
    dynamics, Computer Methods in Applied Mechanics and Engineering 200 (2011) 439-453.
[4] Acary, Brémond, Huber, On solving contact problems with Coulomb friction, Springer 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, count, not_negative
from stickslip.jit import kernel
from stickslip.problems.blocks import velocities
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Vector
from stickslip.problems.residual import judge_velocities
from stickslip.solvers.contact import respond
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, SOLVED

WINDOW = 100  # iterations in one compiled call; in between, progress is looked at and Ctrl-C heard
LEAST_SLACK, MOST_SLACK = 0.02, 0.5
LENGTHEN = 1.02  # of the step, an iteration


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class APGD:
    """Accelerated projected gradient for ConeProblem; an iteration is one product with W, or a few."""

    tol: float = 1e-8
    max_iter: int = 20_000

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Descend from x0 (zero where there is none) until the residual is at most tol."""
        started = expect(self, problem, ConeProblem)
        W, q, mu, shift = problem.blocks, problem.q, problem.mu, problem.shift
        tol = 0.999 * self.tol  # conclude multiplies by W in another order of summation
        r = start_from(problem, x0)
        u = problem.value(r)
        y, u_y = r.copy(), u.copy()
        pace = np.ones(2)  # the step t, and Nesterov's θ
        ended, iterations, slack, best = MAX_ITER, 0, 0.0, math.inf
        while ended == MAX_ITER and iterations < self.max_iter:
            limit = min(WINDOW, self.max_iter - iterations)
            ended, made, least = descend(W, q, mu, shift, problem.weights, tol, limit, 1.0 - slack, r, u, y, u_y, pace)
            iterations += made
            if least < best:
                best, slack = least, slack / 2
            else:
                slack = min(max(2 * slack, LEAST_SLACK), MOST_SLACK)
                pace[1] = 1.0
                y[:], u_y[:] = r, u
        return conclude(problem, self, r, ended, iterations, started)


@kernel
def descend(W, q, mu, shift, rho, tol, max_iter, most_momentum, r, u, y, u_y, pace):
    """Iterate (1) until the residual of r is at most tol; u = W r + q and u_y = W y + q follow.

    Returns the status, the iterations made and the least residual met.
    """
    d = 2 if W.diagonal.shape[0] == 4 else 3
    r_new, u_new = np.empty_like(r), np.empty_like(r)
    t, theta = pace[0], pace[1]
    least = np.inf
    for iterations in range(max_iter + 1):
        residual, solved = judge_velocities(W.diagonal, q, mu, shift, tol, r, u)
        if not residual < np.inf:
            return NONFINITE, iterations, least
        if solved:
            return SOLVED, iterations, residual
        if iterations == max_iter:
            break
        least = min(least, residual)
        too_long = True
        while too_long:
            project_step(y, u_y, t, rho, mu, shift, d, r_new)
            velocities(W, q, r_new, u_new)
            bend, size = 0.0, 0.0  # δᵀ W δ and δᵀ δ / ρ along δ = r_new - y
            for j in range(r.size):
                delta = r_new[j] - y[j]
                bend += delta * (u_new[j] - u_y[j])
                size += delta * delta / rho[j // d]
            too_long = t * bend > (1.0 + 1e-9) * size  # false for NaN, which the residual will show
            if too_long:
                t *= max(0.3, 0.95 * size / (t * bend))
        uphill = 0.0
        for j in range(r.size):
            uphill += (y[j] - r_new[j]) * (r_new[j] - r[j]) / rho[j // d]
        beta = 0.0
        if uphill > 0.0:
            theta = 1.0
        else:
            following = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
            beta = min(theta * (1.0 - theta) / (theta * theta + following), most_momentum)
            theta = following
        for j in range(r.size):
            y[j] = r_new[j] + beta * (r_new[j] - r[j])
            u_y[j] = u_new[j] + beta * (u_new[j] - u[j])
            r[j], u[j] = r_new[j], u_new[j]
        if bend > 0.0:
            t *= LENGTHEN
    pace[0], pace[1] = t, theta
    return MAX_ITER, max_iter, least


@kernel
def project_step(y, u_y, t, rho, mu, shift, d, r):
    """r = P(y - t ρ u_y), contact by contact."""
    for i in range(mu.size):
        b = d * i
        step = t * rho[i]
        y_2 = y[b + 2] - step * u_y[b + 2] if d == 3 else 0.0
        r_n, r_1, r_2 = respond(mu[i], shift[i], y[b] - step * u_y[b], y[b + 1] - step * u_y[b + 1], y_2)
        r[b], r[b + 1] = r_n, r_1
        if d == 3:
            r[b + 2] = r_2
