"""Nonsmooth Gauss-Seidel for friction problems: contact after contact, each solved exactly with the others held.

    q_i' = q_i + Σ_{j≠i} W_ij r_j  with the newest r_j,      r_i <- the impulse of contact i alone under (W_ii, q_i')

The local problem is solved by solvers/contact.py, so an iterate changes only where a contact is not yet right.
Convergence is linear at best, slow where contacts are redundant, and not guaranteed: the residual tells.

A contact none of whose neighbours has moved since it was solved is left alone: it would get the same impulse again.
The residual costs about half a sweep. Its ratio to the change |Δr| of a sweep settles quickly, so it is computed after
1, 2, 4, 8, … sweeps, and whenever the change has become so small that by the last ratio it should be below tol.

W is read in blocks, problems/blocks.py.

[1] Jourdan, Alart, Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998) 31-47.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Vector
from stickslip.problems.residual import judge_cone
from stickslip.solvers.contact import invert_block, solve_contact, solve_inverted, solve_planar_contact
from stickslip.solvers.contact_associated import solve_associated, solve_planar_associated
from stickslip.solvers.solution import Solution, Status, conclude, start_from

SOLVED, MAX_ITER, STALLED, NONFINITE = (
    int(status) for status in (Status.SOLVED, Status.MAX_ITER, Status.STALLED, Status.NONFINITE)
)
CHUNK = 1000  # sweeps in one compiled call; in between, Ctrl-C is heard
REGULAR = 1e-2  # det W_ii over the product of its diagonal, above which its inverse loses nothing
BARELY = 1e-4  # -q_n over |q_t|, above which neither does the sticking impulse


@dataclass(frozen=True, kw_only=True)
class NSGS:
    """Nonsmooth Gauss-Seidel for ConeProblem; an iteration is one sweep over the contacts."""

    tol: float = 1e-8
    max_iter: int = 50_000
    patience: int = 0  # give up when, by the rate so far, it would take more sweeps than this; 0: never

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol."""
        if not isinstance(problem, ConeProblem):
            raise InputError(f"NSGS: the problem is {problem!r}, expected a ConeProblem")
        started = time.perf_counter()
        r = start_from(problem, x0)
        W, q, mu, shift = problem.blocks, problem.q, problem.mu, problem.shift
        associated = problem.law == "associated"
        tol = 0.999 * self.tol  # conclude multiplies by W in another order of summation
        ended, sweeps = iterate(W, q, mu, shift, associated, tol, min(CHUNK, self.max_iter), self.patience, r)
        while ended == MAX_ITER and sweeps < self.max_iter and not self.patience:
            more = min(CHUNK, self.max_iter - sweeps)
            ended, made = iterate(W, q, mu, shift, associated, tol, more, self.patience, r)
            sweeps += made
        return conclude(problem, self, r, Status(ended), sweeps, started)


@kernel
def iterate(W, q, mu, shift, associated, tol, max_iter, patience, r):
    """Sweep until the residual is at most tol; r is updated in place. Returns the status and the sweeps made."""
    u = np.empty_like(q)
    V = inverses(W.diagonal, mu)
    moved = np.ones(r.size, np.bool_)
    change, promising, due = np.inf, 0.0, 1
    last, before = 0, 0.0
    for sweeps in range(max_iter + 1):
        if sweeps > 0:
            change = sweep(W, V, q, mu, associated, sweeps == 1, r, moved)
        if sweeps in (0, due, max_iter) or not promising < change < np.inf:
            error, solved = judge_cone(W, q, mu, shift, tol, r, u)
            if solved:
                return SOLVED, sweeps
            if not error < np.inf:
                return NONFINITE, sweeps
            if change == 0.0:
                return STALLED, sweeps
            if patience > 0 and last >= 8 and not within(patience, sweeps - last, before, error, tol):
                return MAX_ITER, sweeps
            if sweeps > 0:
                promising, due = change * tol / error, 2 * sweeps
                last, before = sweeps, error
    return MAX_ITER, max_iter


@kernel
def within(patience, sweeps, before, error, tol):
    """Would the decrease from `before` to `error` in so many sweeps lead to tol in `patience` more?"""
    if not 0.0 < error < before:
        return False
    return sweeps * math.log(error / tol) <= patience * math.log(before / error)


@kernel
def sweep(W, V, q, mu, associated, all_, r, moved):
    """One pass over the contacts in order; r is updated in place. Returns |Δr|.

    `moved`, at the place of a contact's normal impulse, says whether its last visit changed it; without `all_`,
    contacts whose neighbours did not move are passed over.
    """
    if W.diagonal.shape[0] == 4:
        return sweep_plane(W, q, mu, associated, all_, r, moved)
    return sweep_space(W, V, q, mu, associated, all_, r, moved)


@kernel
def sweep_space(W, V, q, mu, associated, all_, r, moved):
    D, first, start = W.diagonal, W.first, W.start
    # the rows apart: the compiler then computes their addresses once, not for each contact
    B = W.others
    B_nn, B_n1, B_n2, B_1n, B_11, B_12, B_2n, B_21, B_22 = B[0], B[1], B[2], B[3], B[4], B[5], B[6], B[7], B[8]
    one, two = np.uint32(1), np.uint32(2)
    total = 0.0
    for i in range(mu.size):
        begin, end, b = start[i], start[i + 1], np.uint32(3 * i)
        if not all_ and all_still(moved, first, begin, end):
            moved[b] = False
            continue
        u_n, u_1, u_2 = q[b], q[b + one], q[b + two]
        for k in range(begin, end):
            j = first[k]
            r_n, r_1, r_2 = r[j], r[j + one], r[j + two]
            u_n += B_nn[k] * r_n + B_n1[k] * r_1 + B_n2[k] * r_2
            u_1 += B_1n[k] * r_n + B_11[k] * r_1 + B_12[k] * r_2
            u_2 += B_2n[k] * r_n + B_21[k] * r_1 + B_22[k] * r_2
        r_n, r_1, r_2 = impulse(D, V, mu[i], associated, i, u_n, u_1, u_2)
        change = (r_n - r[b]) ** 2 + (r_1 - r[b + one]) ** 2 + (r_2 - r[b + two]) ** 2
        total += change
        moved[b] = change != 0.0
        r[b], r[b + one], r[b + two] = r_n, r_1, r_2
    return math.sqrt(total)


@kernel
def sweep_plane(W, q, mu, associated, all_, r, moved):
    D, first, start = W.diagonal, W.first, W.start
    B = W.others
    B_nn, B_n1, B_1n, B_11 = B[0], B[1], B[2], B[3]
    one = np.uint32(1)
    total = 0.0
    for i in range(mu.size):
        begin, end, b = start[i], start[i + 1], np.uint32(2 * i)
        if not all_ and all_still(moved, first, begin, end):
            moved[b] = False
            continue
        u_n, u_1 = q[b], q[b + one]
        for k in range(begin, end):
            j = first[k]
            r_n, r_1 = r[j], r[j + one]
            u_n += B_nn[k] * r_n + B_n1[k] * r_1
            u_1 += B_1n[k] * r_n + B_11[k] * r_1
        r_n, r_1 = planar_impulse(D, mu[i], associated, i, u_n, u_1)
        change = (r_n - r[b]) ** 2 + (r_1 - r[b + one]) ** 2
        total += change
        moved[b] = change != 0.0
        r[b], r[b + one] = r_n, r_1
    return math.sqrt(total)


@kernel
def all_still(moved, first, begin, end):
    k = begin
    while k < end and not moved[first[k]]:
        k += np.uint32(1)
    return k == end


@kernel
def impulse(D, V, mu, associated, i, q_n, q_1, q_2):
    """The impulse of contact i alone: by the inverse of its block where that is at hand."""
    if associated:
        return solve_associated(
            mu, D[0, i], D[1, i], D[2, i], D[3, i], D[4, i], D[5, i], D[6, i], D[7, i], D[8, i], q_n, q_1, q_2
        )
    if V[i, 0] > 0.0 and -q_n > BARELY * (abs(q_1) + abs(q_2)):
        return solve_inverted(
            mu, V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5], V[i, 6], V[i, 7], V[i, 8], q_n, q_1, q_2
        )
    return solve_contact(
        mu, D[0, i], D[1, i], D[2, i], D[3, i], D[4, i], D[5, i], D[6, i], D[7, i], D[8, i], q_n, q_1, q_2
    )


@kernel
def planar_impulse(D, mu, associated, i, q_n, q_1):
    if associated:
        return solve_planar_associated(mu, D[0, i], D[1, i], D[2, i], D[3, i], q_n, q_1)
    return solve_planar_contact(mu, D[0, i], D[1, i], D[2, i], D[3, i], q_n, q_1)


@kernel
def inverses(D, mu):
    """W_ii⁻¹, nine entries a contact; zeros where the block is close to singular or μ = 0. None in the plane."""
    contacts = D.shape[1] if D.shape[0] == 9 else 0
    V = np.zeros((contacts, 9))
    for i in range(contacts):
        det, V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5], V[i, 6], V[i, 7], V[i, 8] = invert_block(
            D[0, i], D[1, i], D[2, i], D[3, i], D[4, i], D[5, i], D[6, i], D[7, i], D[8, i]
        )
        regular = mu[i] > 0.0 and det > REGULAR * D[0, i] * D[4, i] * D[8, i]
        for k in range(9):
            V[i, k] = V[i, k] / det if regular else 0.0
    return V
