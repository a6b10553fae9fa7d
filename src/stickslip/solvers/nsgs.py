"""Nonsmooth Gauss-Seidel for friction problems: contact after contact, each solved exactly with the others held.

    q_i' = q_i + Σ_{j≠i} W_ij r_j  with the newest r_j,      r_i <- the impulse of contact i alone under (W_ii, q_i')

The local problem is solved by solvers/contact.py, so an iterate changes only where a contact is not yet right.
Convergence is linear at best, slow where contacts are redundant, and not guaranteed: the residual tells.

Where it takes more than a few sweeps, impulses are over-relaxed [2]: r_i goes ω times the way to the new impulse and is
cut back to its cone. ω rises with the sweeps, from 1 to `relaxation`, so that what is solved at once stays so; whenever
the residual has not fallen, ω - 1 is halved for good. That takes a third to a half fewer sweeps.

A contact none of whose neighbours has moved since it was solved is left alone: it would get the same impulse again. For
that it is solved once without over-relaxation.
The residual costs about half a sweep. Its ratio to the change |Δr| of a sweep settles quickly, so it is computed after
1, 2, 4, 8, … sweeps, and whenever the change has become so small that by the last ratio it should be below tol.

W is read in blocks, problems/blocks.py.

[1] Jourdan, Alart, Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998) 31-47.
[2] Young, Iterative methods for solving partial difference equations of elliptic type, Transactions of the American
    Mathematical Society 76 (1954) 92-111.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, count, not_negative, positive, whole
from stickslip.jit import bare, kernel
from stickslip.problems.blocks import ContactBlocks, invert_block
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Vector
from stickslip.problems.residual import judge_cone
from stickslip.solvers.contact import solve_contact, solve_inverted, solve_planar_contact
from stickslip.solvers.contact_associated import solve_associated, solve_planar_associated
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, SOLVED, STALLED, in_chunks

RELAXATION = 1.4
RISE = ((4, 0.5), (16, 0.75), (32, 1.0))  # after so many sweeps, the share of relaxation - 1 that ω - 1 has
REGULAR = 1e-2  # det W_ii over the product of its diagonal, above which its inverse loses nothing
BARELY = 1e-4  # -q_n over |q_t|, above which neither does the sticking impulse


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, patience=whole, relaxation=positive)
class NSGS:
    """Nonsmooth Gauss-Seidel for ConeProblem; an iteration is one sweep over the contacts."""

    tol: float = 1e-8
    max_iter: int = 50_000
    patience: int = 0  # give up when, by the rate so far, it would take more sweeps than this; 0: never
    relaxation: float = RELAXATION  # ω at most; 1: none

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol."""
        started = expect(self, problem, ConeProblem)
        r = start_from(problem, x0)
        data = (*problem.blocks, problem.q, problem.mu, problem.shift, problem.law == "associated")
        settings = (0.999 * self.tol, self.patience, float(self.relaxation))  # conclude sums W r in another order
        once = self.patience > 0
        ended, sweeps = in_chunks(lambda most: iterate_blocks(*data, *settings, most, r), self.max_iter, once)
        return conclude(problem, self, r, ended, sweeps, started)


@kernel
def iterate_blocks(diagonal, others, start, first, q, mu, shift, associated, tol, patience, relaxation, max_iter, r):
    """`iterate` for a call from Python, where each array goes over faster than a tuple of arrays."""
    W = ContactBlocks(diagonal, others, start, first)
    return iterate(W, q, mu, shift, associated, tol, max_iter, patience, r, relaxation)


@kernel
def iterate(W, q, mu, shift, associated, tol, max_iter, patience, r, relaxation=RELAXATION):
    """Sweep until the residual is at most tol; r is updated in place. Returns the status and the sweeps made."""
    u = np.empty_like(q)
    V = inverses(W.diagonal, mu)
    moved = np.ones(r.size, np.bool_)
    change, promising, due = np.inf, 0.0, 1
    last, before = 0, 0.0
    omega, beyond = 1.0, relaxation - 1.0
    for sweeps in range(max_iter + 1):
        if sweeps > 0:
            change = sweep(W, V, q, mu, associated, sweeps == 1, omega, r, moved)
        if sweeps in (0, due, max_iter) or not promising < change < np.inf:
            error, solved = judge_cone(W, q, mu, shift, tol, r, u)
            ended = ending(error, solved, change, tol, patience, sweeps, last, before)
            if ended >= 0:
                return ended, sweeps
            if sweeps > 0:
                if omega > 1.0 and not error < before:
                    beyond *= 0.5
                omega = 1.0 + beyond * risen(sweeps)
                promising, due = change * tol / error, 2 * sweeps
                last, before = sweeps, error
    return MAX_ITER, max_iter


@kernel
def ending(error, solved, change, tol, patience, sweeps, last, before):
    """The status with which an iteration ends whose residual is `error` after so many sweeps, the last of which changed
    the impulses by `change`; -1 where it goes on. The residual was `before` after `last` sweeps."""
    if solved:
        return SOLVED
    if not error < np.inf:
        return NONFINITE
    if change == 0.0:
        return STALLED
    hope = patience if last >= 8 else 4 * patience  # the first rate is not much to go by
    if patience > 0 and last >= 4 and not within(hope, sweeps - last, before, error, tol):
        return MAX_ITER
    return -1


@kernel
def within(patience, sweeps, before, error, tol):
    """Would the decrease from `before` to `error` in so many sweeps lead to tol in `patience` more?"""
    if not 0.0 < error < before:
        return False
    return sweeps * math.log(error / tol) <= patience * math.log(before / error)


@kernel
def risen(sweeps):
    share = 0.0
    for after, part in RISE:
        if sweeps >= after:
            share = part
    return share


@kernel
def sweep(W, V, q, mu, associated, all_, omega, r, moved):
    """One pass over the contacts in order; r is updated in place. Returns |Δr|.

    `moved`, at the place of a contact's normal impulse, says whether its last visit changed it; without `all_`,
    contacts whose neighbours did not move are passed over.
    """
    if W.diagonal.shape[0] == 4:
        return sweep_plane(W, q, mu, associated, all_, omega, r, moved)
    return sweep_space(W, V, q, mu, associated, all_, omega, r, moved)


@kernel
def sweep_space(W, V, q, mu, associated, all_, omega, r, moved):
    D, first, start = W.diagonal, W.first, W.start
    # the rows apart: the compiler then computes their addresses once, not for each contact
    B = W.others
    B_nn, B_n1, B_n2, B_1n, B_11, B_12, B_2n, B_21, B_22 = B[0], B[1], B[2], B[3], B[4], B[5], B[6], B[7], B[8]
    one, two = np.uint32(1), np.uint32(2)
    total = 0.0
    for i in range(mu.size):
        begin, end, b = start[i], start[i + 1], np.uint32(3 * i)
        still = not all_ and all_still(moved, first, begin, end)
        if still and (omega == 1.0 or not moved[b]):
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
        if omega > 1.0 and not still:
            r_n, r_1, r_2 = relaxed(omega, mu[i], r_n, r_1, r_2, r[b], r[b + one], r[b + two])
        change = (r_n - r[b]) ** 2 + (r_1 - r[b + one]) ** 2 + (r_2 - r[b + two]) ** 2
        total += change
        moved[b] = change != 0.0
        r[b], r[b + one], r[b + two] = r_n, r_1, r_2
    return math.sqrt(total)


@kernel
def sweep_plane(W, q, mu, associated, all_, omega, r, moved):
    D, first, start = W.diagonal, W.first, W.start
    B = W.others
    B_nn, B_n1, B_1n, B_11 = B[0], B[1], B[2], B[3]
    one = np.uint32(1)
    total = 0.0
    for i in range(mu.size):
        begin, end, b = start[i], start[i + 1], np.uint32(2 * i)
        still = not all_ and all_still(moved, first, begin, end)
        if still and (omega == 1.0 or not moved[b]):
            moved[b] = False
            continue
        u_n, u_1 = q[b], q[b + one]
        for k in range(begin, end):
            j = first[k]
            r_n, r_1 = r[j], r[j + one]
            u_n += B_nn[k] * r_n + B_n1[k] * r_1
            u_1 += B_1n[k] * r_n + B_11[k] * r_1
        r_n, r_1 = planar_impulse(D, mu[i], associated, i, u_n, u_1)
        if omega > 1.0 and not still:
            r_n, r_1, _ = relaxed(omega, mu[i], r_n, r_1, 0.0, r[b], r[b + one], 0.0)
        change = (r_n - r[b]) ** 2 + (r_1 - r[b + one]) ** 2
        total += change
        moved[b] = change != 0.0
        r[b], r[b + one] = r_n, r_1
    return math.sqrt(total)


@kernel
def relaxed(omega, mu, x_n, x_1, x_2, r_n, r_1, r_2):
    """From r by ω times the way to x, and back to the cone; x itself where it is open or that would open it."""
    y_n, y_1, y_2 = r_n + omega * (x_n - r_n), r_1 + omega * (x_1 - r_1), r_2 + omega * (x_2 - r_2)
    if not (x_n > 0.0 and y_n > 0.0):
        return x_n, x_1, x_2
    square, limit = y_1 * y_1 + y_2 * y_2, mu * y_n
    if square > limit * limit:
        cut = limit / math.sqrt(square)
        y_1, y_2 = cut * y_1, cut * y_2
    return y_n, y_1, y_2


@kernel
def all_still(moved, first, begin, end):
    k = begin
    while k < end and not moved[first[k]]:
        k += np.uint32(1)
    return k == end


@bare
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


@bare
def planar_impulse(D, mu, associated, i, q_n, q_1):
    if associated:
        return solve_planar_associated(mu, D[0, i], D[1, i], D[2, i], D[3, i], q_n, q_1)
    return solve_planar_contact(mu, D[0, i], D[1, i], D[2, i], D[3, i], q_n, q_1)


@kernel
def inverses(D, mu):
    """W_ii⁻¹, nine entries a contact; zeros where the block is close to singular or μ = 0. None in the plane."""
    V = np.empty((D.shape[1] if D.shape[0] == 9 else 0, 9))
    invert_blocks(D, mu, V)
    return V


@bare
def invert_blocks(D, mu, V):
    for i in range(V.shape[0]):
        det, V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5], V[i, 6], V[i, 7], V[i, 8] = invert_block(
            D[0, i], D[1, i], D[2, i], D[3, i], D[4, i], D[5, i], D[6, i], D[7, i], D[8, i]
        )
        regular = mu[i] > 0.0 and det > REGULAR * D[0, i] * D[4, i] * D[8, i]
        for k in range(9):
            V[i, k] = V[i, k] / det if regular else 0.0
