"""Nonsmooth Gauss-Seidel for friction problems: contact after contact, each solved exactly with the others held.

    q_i' = q_i + Σ_{j≠i} W_ij r_j  with the newest r_j,      r_i <- the impulse of contact i alone under (W_ii, q_i')

The local problem is solved by solvers/contact.py, so an iterate changes only where a contact is not yet right.
Convergence is linear at best, slow where contacts are redundant, and not guaranteed: the residual tells.

W is kept in blocks of d x d, one for each pair of contacts that share a body, the diagonal ones apart. Component
(a, c) of all blocks is one row of memory: a sweep then reads d² streams in order, which the compiler vectorises.

[1] Jourdan, Alart, Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998) 31-47.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Dense, Matrix, Vector, as_sparse
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
        W = contact_blocks(problem.W, problem.dimension)
        tol = 0.999 * self.tol  # conclude multiplies by W in another order of summation
        ended, sweeps = iterate(W, problem.q, problem.mu, tol, min(CHUNK, self.max_iter), r)
        while ended == MAX_ITER and sweeps < self.max_iter:
            ended, more = iterate(W, problem.q, problem.mu, tol, min(CHUNK, self.max_iter - sweeps), r)
            sweeps += more
        return conclude(problem, self, r, Status(ended), sweeps, started)


class ContactBlocks(NamedTuple):
    """W by pairs of contacts. Row d a + c of `diagonal` and `blocks` holds component (a, c) of every block."""

    diagonal: Dense  # (d d, nc)
    blocks: Dense  # (d d, nb)         the others, contact after contact
    start: NDArray[np.uint32]  # (nc + 1,)   blocks start[i] … start[i + 1] - 1 are those of contact i
    first: NDArray[np.uint32]  # (nb,)       d j: where the impulse of the block's other contact begins


def contact_blocks(W: Matrix, d: int) -> ContactBlocks:
    """W in d x d blocks; a pair of contacts without a block has none stored."""
    contacts = W.shape[0] // d
    if contacts == 0:
        none = np.zeros((d * d, 0))
        return ContactBlocks(none, none, np.zeros(1, np.uint32), np.zeros(0, np.uint32))
    block_rows = sparse.bsr_array(as_sparse(W), blocksize=(d, d))
    row = np.repeat(np.arange(contacts), np.diff(block_rows.indptr))
    own = row == block_rows.indices
    diagonal = np.zeros((contacts, d * d))
    diagonal[row[own]] = block_rows.data[own].reshape(-1, d * d)
    others = block_rows.data[~own].reshape(-1, d * d)
    start = np.concatenate([[0], np.cumsum(np.bincount(row[~own], minlength=contacts))])
    return ContactBlocks(
        np.ascontiguousarray(diagonal.T),
        np.ascontiguousarray(others.T),
        start.astype(np.uint32),
        (d * block_rows.indices[~own]).astype(np.uint32),
    )


@kernel
def iterate(W, q, mu, tol, max_iter, r):
    """Sweep until the residual is at most tol; r is updated in place. Returns the status and the sweeps made."""
    u = np.empty_like(q)
    rho = np.ones(mu.size)
    d = 2 if W.diagonal.shape[0] == 4 else 3
    for sweeps in range(max_iter + 1):
        # judging costs about half a sweep: after 0, 1, 2, 4, 8 of them, then every 8, and at the end
        if sweeps % 8 == 0 or sweeps == 1 or sweeps == 2 or sweeps == 4 or sweeps == max_iter:
            velocities(W, q, r, u)
            distance = cone_map_length(r, u, mu, rho, d)
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


@kernel
def velocities(W, q, r, u):
    """u = W r + q."""
    D = W.diagonal
    planar = D.shape[0] == 4
    for i in range(D.shape[1]):
        u_n, u_1, u_2 = without_own(W, q, r, i)
        if planar:
            b = 2 * i
            u[b] = u_n + D[0, i] * r[b] + D[1, i] * r[b + 1]
            u[b + 1] = u_1 + D[2, i] * r[b] + D[3, i] * r[b + 1]
        else:
            b = 3 * i
            u[b] = u_n + D[0, i] * r[b] + D[1, i] * r[b + 1] + D[2, i] * r[b + 2]
            u[b + 1] = u_1 + D[3, i] * r[b] + D[4, i] * r[b + 1] + D[5, i] * r[b + 2]
            u[b + 2] = u_2 + D[6, i] * r[b] + D[7, i] * r[b + 1] + D[8, i] * r[b + 2]


@kernel
def without_own(W, q, r, i):
    """q_i + Σ_{j≠i} W_ij r_j. Indices are unsigned: signed ones cost a test for negative values at each access."""
    B, first = W.blocks, W.first
    one, two = np.uint32(1), np.uint32(2)
    if B.shape[0] == 4:
        u_n, u_1 = q[2 * i], q[2 * i + 1]
        for k in range(W.start[i], W.start[i + 1]):
            j = first[k]
            r_n, r_1 = r[j], r[j + one]
            u_n += B[0, k] * r_n + B[1, k] * r_1
            u_1 += B[2, k] * r_n + B[3, k] * r_1
        return u_n, u_1, 0.0
    u_n, u_1, u_2 = q[3 * i], q[3 * i + 1], q[3 * i + 2]
    for k in range(W.start[i], W.start[i + 1]):
        j = first[k]
        r_n, r_1, r_2 = r[j], r[j + one], r[j + two]
        u_n += B[0, k] * r_n + B[1, k] * r_1 + B[2, k] * r_2
        u_1 += B[3, k] * r_n + B[4, k] * r_1 + B[5, k] * r_2
        u_2 += B[6, k] * r_n + B[7, k] * r_1 + B[8, k] * r_2
    return u_n, u_1, u_2
