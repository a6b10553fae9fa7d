"""Alternating directions (ADMM) for friction problems: one solve with a kept factorisation of W + κ I an iteration.

The impulses appear twice, as r in the equations of motion and as z in the contact law. In the form of Douglas and
Rachford, with one vector y that holds z and the velocity, κ (z - y):

    z = P(y),      (W + κ I) r = κ (2 z - y) - q,      y <- y + α (r - z)                                        (1)

P is the law of each contact alone under u = κ (z - y), `respond` of solvers/contact.py: the projection on K under
the associated law [1], and under Coulomb's law the disc of radius μ max(y_n, 0). So De Saxcé's shift μ|u_t| is that of
the newest velocity. A shift of the last iteration on the right of (1), as in [2], bears a smaller κ (RockPile), but
needed 2 to 7 times the iterations on Capsules. At a fixed point r = z, u = W z + q = κ (z - y) and z solve the problem.

The unknowns are scaled by one number a contact so that W_ii has mean diagonal 1; cones do not notice.

The penalty κ decides the speed. z misses being a solution by W (z - r), which a larger κ makes smaller, and by
κ (z - z_before), which a smaller one does. Both are velocities, and are measured in the norm of the residual. κ is
moved until their ratio is BALANCE, as [3] balances its residuals; W + κ I is factorised again only if κ changes by more
than REFACTOR, and the question is put more and more seldom. Under Coulomb's law too small a κ circles: where the
residual is SETBACK times its best, κ is raised and not lowered below that again. The best z met is the answer.

The cost is the factorisation: in a wide three-dimensional pile its fill grows faster than the number of contacts.

[1] Tasora, Mangoni, Benatti, Garziera, Solving variational inequalities and cone complementarity problems in nonsmooth
    dynamics using the alternating direction method of multipliers, Int. J. Numer. Methods Eng. (2021).
[2] Acary, Brémond, Huber, On solving contact problems with Coulomb friction, Springer 2018.
[3] Carpentier, Montaut, Le Lidec, From compliant to rigid contact simulation: a unified and efficient approach,
    arXiv 2405.17020 (2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.checks import between, checked, count, not_negative, positive
from stickslip.jit import kernel
from stickslip.problems.blocks import velocities
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Vector, both_sides
from stickslip.problems.residual import judge, judge_cone, length
from stickslip.solvers.contact import respond
from stickslip.solvers.linear import shifted
from stickslip.solvers.solution import Solution, Status, conclude, expect, start_from

CHECK = 10  # iterations between two looks at the residual, which cost two products with W
BALANCE = 3.0  # |W (z - r)| / |κ (z - z_before)| to aim at; chosen on the public problems, as what follows
REFACTOR = 2.0
FIRST_CHANGE, SELDOM = 10, 1.5  # κ is asked after 10 iterations, then each time 1.5 times as late
LARGEST_CHANGE = 10.0
LEAST_PENALTY, LARGEST_PENALTY = 1e-4, 1e3
SETBACK = 100.0


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, penalty=positive, relaxation=between(0, 2))
class ADMM:
    """Alternating directions for ConeProblem; an iteration is one solve with the factors of W + κ I."""

    tol: float = 1e-8
    max_iter: int = 20_000
    penalty: float = 0.1  # κ to begin with, in units of the mean diagonal of W
    relaxation: float = 1.5  # α, between 0 and 2

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Iterate from x0 (zero where there is none) until the residual is at most tol; STALLED where W + κ I is
        singular."""
        started = expect(self, problem, ConeProblem)
        x = start_from(problem, x0)
        u, error, solved = judge(problem, x, self.tol)
        if solved:
            return conclude(problem, self, x, Status.SOLVED, 0, started)
        ended, iterations = alternate(problem, self, x, u, error)
        return conclude(problem, self, x, ended, iterations, started)


def alternate(problem: ConeProblem, settings: ADMM, x: Vector, u: Vector, best: float) -> tuple[Status, int]:
    """Iterate (1) from the impulses x, with velocities u and the residual `best`; x becomes the best z met.

    Returns how it ended and when.
    """
    q, mu, shift, d = problem.q, problem.mu, problem.shift, problem.dimension
    scale = np.repeat(np.sqrt(problem.weights), d)  # impulses are scale z
    matrix, scaled_q = shifted(both_sides(problem.W, scale)), scale * q
    kappa, floor = settings.penalty, LEAST_PENALTY
    factor = matrix.factorise(np.full(q.size, kappa))
    z = x / scale
    y = z - scale * u / kappa
    rhs, u_z, u_r = np.empty_like(q), np.empty_like(q), np.empty_like(q)
    advance(y, z, z, rhs, scaled_q, mu, shift, kappa, 0.0, d)
    tol = 0.999 * settings.tol  # conclude multiplies by W in another order of summation
    change_at, gap, drift, looks = FIRST_CHANGE, float(FIRST_CHANGE), 0.0, 0
    for k in range(1, settings.max_iter + 1):
        if factor is None:
            return Status.STALLED, k - 1
        r = factor.solve(rhs)
        look = k % CHECK == 0 or k == 1 or k == settings.max_iter
        if look:
            z_before = z.copy()
        advance(y, r, z, rhs, scaled_q, mu, shift, kappa, settings.relaxation, d)
        if not look:
            continue
        x_z = scale * z
        error, solved = judge_cone(problem.blocks, q, mu, shift, tol, x_z, u_z)
        velocities(problem.blocks, q, scale * r, u_r)
        if solved or error < best:
            best, x[:] = error, x_z
        if solved:
            return Status.SOLVED, k
        if not math.isfinite(error):
            return Status.NONFINITE, k
        drift += math.log(ratio(length(u_z - u_r), BALANCE * kappa * length((z - z_before) / scale)))
        looks += 1
        if k < change_at:
            continue
        if error > SETBACK * best:
            floor = min(2.0 * REFACTOR * kappa, LARGEST_PENALTY)
        wanted = min(max(kappa * math.exp(drift / looks), floor), LARGEST_PENALTY)
        gap *= SELDOM
        change_at, drift, looks = k + int(gap), 0.0, 0
        if not 1 / REFACTOR <= wanted / kappa <= REFACTOR:
            y = z + (kappa / wanted) * (y - z)  # the same velocity κ (z - y)
            kappa = wanted
            factor = matrix.factorise(np.full(q.size, kappa))
            advance(y, z, z, rhs, scaled_q, mu, shift, kappa, 0.0, d)
    return Status.MAX_ITER, settings.max_iter


def ratio(a: float, b: float) -> float:
    """a / b, kept within LARGEST_CHANGE of 1; 1 where both are zero."""
    if a >= LARGEST_CHANGE * b:
        return LARGEST_CHANGE if a > 0 else 1.0
    return max(a / b, 1 / LARGEST_CHANGE)


@kernel
def advance(y, r, z, rhs, q, mu, shift, kappa, alpha, d):
    """y += α (r - z), then z = P(y) and the right side κ (2 z - y) - q of the next solve, all in place."""
    for i in range(mu.size):
        b = d * i
        for j in range(b, b + d):
            y[j] += alpha * (r[j] - z[j])
        y_2 = y[b + 2] if d == 3 else 0.0
        z_n, z_1, z_2 = respond(mu[i], shift[i], y[b], y[b + 1], y_2)
        z[b], z[b + 1] = z_n, z_1
        if d == 3:
            z[b + 2] = z_2
        for j in range(b, b + d):
            rhs[j] = kappa * (2.0 * z[j] - y[j]) - q[j]
