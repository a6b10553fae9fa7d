"""Nonsmooth Gauss-Seidel for friction problems: contact after contact, each solved exactly with the others held.

    q_i' = q_i + Σ_{j≠i} W_ij r_j  with the newest r_j,      r_i <- the impulse of contact i alone under (W_ii, q_i')

The local problem is solved by solvers/contact.py, so an iterate changes only where a contact is not yet right.
Convergence is linear at best, slow where contacts are redundant, and not guaranteed: the residual tells.

W is read in blocks, problems/blocks.py.

[1] Jourdan, Alart, Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998) 31-47.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.blocks import velocities, without_own
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Vector
from stickslip.problems.residual import TINY, cone_map_length, length
from stickslip.solvers.contact import solve_contact, solve_planar_contact
from stickslip.solvers.solution import Solution, Status, conclude, start_from

SOLVED, MAX_ITER, NONFINITE = int(Status.SOLVED), int(Status.MAX_ITER), int(Status.NONFINITE)
CHUNK = 1000  # sweeps in one compiled call; in between, Ctrl-C is heard


@dataclass(frozen=True, kw_only=True)
class NSGS:
    """Nonsmooth Gauss-Seidel for ConeProblem; an iteration is one sweep over the contacts."""

    tol: float = 1e-8
    max_iter: int = 50_000

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol."""
        if not isinstance(problem, ConeProblem):
            raise InputError(f"NSGS: the problem is {problem!r}, expected a ConeProblem")
        started = time.perf_counter()
        r = start_from(problem, x0)
        W = problem.blocks
        tol = 0.999 * self.tol  # conclude multiplies by W in another order of summation
        ended, sweeps = iterate(W, problem.q, problem.mu, problem.shift, tol, min(CHUNK, self.max_iter), r)
        while ended == MAX_ITER and sweeps < self.max_iter:
            ended, more = iterate(W, problem.q, problem.mu, problem.shift, tol, min(CHUNK, self.max_iter - sweeps), r)
            sweeps += more
        return conclude(problem, self, r, Status(ended), sweeps, started)


@kernel
def iterate(W, q, mu, shift, tol, max_iter, r):
    """Sweep until the residual is at most tol; r is updated in place. Returns the status and the sweeps made."""
    u = np.empty_like(q)
    rho = np.ones(mu.size)
    d = 2 if W.diagonal.shape[0] == 4 else 3
    for sweeps in range(max_iter + 1):
        # judging costs about half a sweep: after 0, 1, 2, 4, 8 of them, then every 8, and at the end
        if sweeps % 8 == 0 or sweeps == 1 or sweeps == 2 or sweeps == 4 or sweeps == max_iter:
            velocities(W, q, r, u)
            distance = cone_map_length(r, u, mu, shift, rho, d)
            scale = max(length(q), length(r), length(u))
            if not (distance < np.inf and scale < np.inf):
                return NONFINITE, sweeps
            if distance <= tol * (scale if scale > TINY else 1.0):
                return SOLVED, sweeps
        if sweeps < max_iter:
            sweep(W, q, mu, r)
    return MAX_ITER, max_iter


@kernel
def sweep(W, q, mu, r):
    """One pass over the contacts in order; r is updated in place."""
    D = W.diagonal
    planar = D.shape[0] == 4
    for i in range(mu.size):
        q_n, q_1, q_2 = without_own(W, q, r, i)
        if planar:
            b = 2 * i
            r[b], r[b + 1] = solve_planar_contact(mu[i], D[0, i], D[1, i], D[2, i], D[3, i], q_n, q_1)
        else:
            b = 3 * i
            r[b], r[b + 1], r[b + 2] = solve_contact(
                mu[i], D[0, i], D[1, i], D[2, i], D[3, i], D[4, i], D[5, i], D[6, i], D[7, i], D[8, i], q_n, q_1, q_2
            )
