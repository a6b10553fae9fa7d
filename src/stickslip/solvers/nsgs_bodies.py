"""Nonsmooth Gauss-Seidel in the velocities of the bodies: the iteration of solvers/nsgs.py without the Delassus matrix.

    M v = H r + f,    u = Hᵀ v + w                                                                           (1)

The newest v is kept beside r. Contact i reads its velocity u_i = H_iᵀ v + w_i and takes its own part W_ii r_i away,
W_ii = H_iᵀ M⁻¹ H_i; the exact local solve gives its new impulse, and v follows by M⁻¹ H_i Δr_i. But for rounding the
iterates are those of NSGS(relaxation=1). What is stored and read grows with the contacts, not with the pairs of
contacts that share a body: a body with many contacts, a drum full of balls say, costs no more than its contacts. Now
and then v is computed afresh from (1), so that rounding does not pile up.

M must decouple into blocks (one a body, as a rule) of at most LARGEST_BLOCK rows.

[1] Tasora, Anitescu, A matrix-free cone complementarity approach for solving large-scale, nonsmooth, rigid body
    dynamics, Computer Methods in Applied Mechanics and Engineering 200 (2011) 439-453.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from stickslip.checks import checked, count, not_negative
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.blocks import by_component
from stickslip.problems.cone import LARGEST_BLOCK, BodyForm, ConeProblem, block_inverse
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.residual import judge_velocities
from stickslip.solvers.nsgs import ending, impulse, inverses, planar_impulse
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, in_chunks

AFRESH = 100  # sweeps at most between two computations of v from r


class ContactRows(NamedTuple):
    """The rows of v that each contact acts on, contact after contact, with the entries of H and M⁻¹H there."""

    H: Dense  # (d, ne)
    response: Dense  # (d, ne)      of M⁻¹ H
    row: NDArray[np.uint32]  # (ne,)        of v
    start: NDArray[np.uint32]  # (nc + 1,)    entries start[i] … start[i + 1] - 1 are those of contact i
    free: Vector  # (nv,)        M⁻¹ f
    w: Vector  # (d nc,)
    diagonal: Dense  # (d d, nc)    W_ii by rows


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count)
class BodyNSGS:
    """Matrix-free nonsmooth Gauss-Seidel for a ConeProblem with bodies; an iteration is one sweep over the contacts."""

    tol: float = 1e-8
    max_iter: int = 50_000

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol."""
        started = expect(self, problem, ConeProblem)
        if problem.bodies is None:
            raise InputError("BodyNSGS: the problem has no bodies, expected one with M and H; NSGS needs W alone")
        r = start_from(problem, x0)
        rows = contact_rows(problem.bodies, problem.dimension)
        q, mu, shift, associated = problem.q, problem.mu, problem.shift, problem.law == "associated"
        tol = 0.999 * self.tol  # conclude multiplies by W
        data = (rows, q, mu, shift, associated, tol)
        ended, sweeps = in_chunks(lambda most: iterate_bodies(*data, most, r), self.max_iter)
        return conclude(problem, self, r, ended, sweeps, started)


def contact_rows(bodies: BodyForm, d: int) -> ContactRows:
    """H and M⁻¹H by contacts of d components."""
    label = csgraph.connected_components(bodies.M, directed=False)[1].astype(np.int64)
    sizes = np.bincount(label)
    if sizes.max(initial=0) > LARGEST_BLOCK:
        raise InputError(
            f"BodyNSGS: {sizes.max()} rows of M hang together, expected at most {LARGEST_BLOCK}; NSGS takes any M"
        )
    inverse = block_inverse(bodies.M, label, sizes)
    # of each contact the d columns of H, then those of M⁻¹ H: together they have one pattern
    order = np.arange(2 * bodies.w.size).reshape(2, -1, d).swapaxes(0, 1).ravel()
    columns = sparse.csc_array(sparse.hstack([bodies.H, inverse @ bodies.H]))[:, order]
    blocks = sparse.bsr_array(columns.T, blocksize=(2 * d, 1))
    blocks.sort_indices()
    row, start = blocks.indices.astype(np.uint32), blocks.indptr.astype(np.uint32)
    H, response = by_component(blocks.data).reshape(2, d, -1)
    diagonal = np.zeros((d * d, start.size - 1))
    own_blocks(H, response, start, diagonal)
    return ContactRows(H, response, row, start, inverse @ bodies.f, bodies.w, diagonal)


@kernel
def own_blocks(H, response, start, diagonal):
    """W_ii = H_iᵀ (M⁻¹ H_i)."""
    d = H.shape[0]
    for i in range(start.size - 1):
        for a in range(d):
            for c in range(d):
                for k in range(start[i], start[i + 1]):
                    diagonal[d * a + c, i] += H[a, k] * response[c, k]


@kernel
def iterate_bodies(rows, q, mu, shift, associated, tol, max_iter, r):
    """Sweep until the residual is at most tol; r is updated in place. Returns the status and the sweeps made."""
    u, v = np.empty_like(q), np.empty_like(rows.free)
    V = inverses(rows.diagonal, mu)
    change, promising, due = np.inf, 0.0, 1
    body_velocities(rows, r, v)
    for sweeps in range(max_iter + 1):
        if sweeps > 0:
            change = sweep_bodies(rows, V, mu, associated, r, v)
        if sweeps in (0, due, max_iter) or not promising < change < np.inf:
            body_velocities(rows, r, v)
            contact_velocities(rows, v, u)
            error, solved = judge_velocities(rows.diagonal, q, mu, shift, tol, r, u)
            ended = ending(error, solved, change, tol, 0, sweeps, 0, error)
            if ended >= 0:
                return ended, sweeps
            if sweeps > 0:
                promising, due = change * tol / error, sweeps + min(3 * sweeps, AFRESH)
    return MAX_ITER, max_iter


@kernel
def body_velocities(rows, r, v):
    """v = M⁻¹ (H r + f)."""
    d = rows.H.shape[0]
    v[:] = rows.free
    for i in range(rows.start.size - 1):
        for k in range(rows.start[i], rows.start[i + 1]):
            for c in range(d):
                v[rows.row[k]] += rows.response[c, k] * r[d * i + c]


@kernel
def contact_velocities(rows, v, u):
    """u = Hᵀ v + w."""
    d = rows.H.shape[0]
    u[:] = rows.w
    for i in range(rows.start.size - 1):
        for k in range(rows.start[i], rows.start[i + 1]):
            for c in range(d):
                u[d * i + c] += rows.H[c, k] * v[rows.row[k]]


@kernel
def sweep_bodies(rows, V, mu, associated, r, v):
    """One pass over the contacts in order; r and v are updated in place. Returns |Δr|."""
    if rows.H.shape[0] == 2:
        return sweep_bodies_plane(rows, mu, associated, r, v)
    return sweep_bodies_space(rows, V, mu, associated, r, v)


@kernel
def sweep_bodies_space(rows, V, mu, associated, r, v):
    D, w, row, start = rows.diagonal, rows.w, rows.row, rows.start
    H_n, H_1, H_2 = rows.H[0], rows.H[1], rows.H[2]
    G_n, G_1, G_2 = rows.response[0], rows.response[1], rows.response[2]
    one, two = np.uint32(1), np.uint32(2)
    total = 0.0
    for i in range(mu.size):
        begin, end, b = start[i], start[i + 1], np.uint32(3 * i)
        u_n, u_1, u_2 = w[b], w[b + one], w[b + two]
        for k in range(begin, end):
            moving = v[row[k]]
            u_n += H_n[k] * moving
            u_1 += H_1[k] * moving
            u_2 += H_2[k] * moving
        r_n, r_1, r_2 = r[b], r[b + one], r[b + two]
        u_n -= D[0, i] * r_n + D[1, i] * r_1 + D[2, i] * r_2
        u_1 -= D[3, i] * r_n + D[4, i] * r_1 + D[5, i] * r_2
        u_2 -= D[6, i] * r_n + D[7, i] * r_1 + D[8, i] * r_2
        x_n, x_1, x_2 = impulse(D, V, mu[i], associated, i, u_n, u_1, u_2)
        d_n, d_1, d_2 = x_n - r_n, x_1 - r_1, x_2 - r_2
        change = d_n * d_n + d_1 * d_1 + d_2 * d_2
        if change != 0.0:
            total += change
            r[b], r[b + one], r[b + two] = x_n, x_1, x_2
            for k in range(begin, end):
                v[row[k]] += G_n[k] * d_n + G_1[k] * d_1 + G_2[k] * d_2
    return math.sqrt(total)


@kernel
def sweep_bodies_plane(rows, mu, associated, r, v):
    D, w, row, start = rows.diagonal, rows.w, rows.row, rows.start
    H_n, H_1, G_n, G_1 = rows.H[0], rows.H[1], rows.response[0], rows.response[1]
    one = np.uint32(1)
    total = 0.0
    for i in range(mu.size):
        begin, end, b = start[i], start[i + 1], np.uint32(2 * i)
        u_n, u_1 = w[b], w[b + one]
        for k in range(begin, end):
            moving = v[row[k]]
            u_n += H_n[k] * moving
            u_1 += H_1[k] * moving
        r_n, r_1 = r[b], r[b + one]
        u_n -= D[0, i] * r_n + D[1, i] * r_1
        u_1 -= D[2, i] * r_n + D[3, i] * r_1
        x_n, x_1 = planar_impulse(D, mu[i], associated, i, u_n, u_1)
        d_n, d_1 = x_n - r_n, x_1 - r_1
        change = d_n * d_n + d_1 * d_1
        if change != 0.0:
            total += change
            r[b], r[b + one] = x_n, x_1
            for k in range(begin, end):
                v[row[k]] += G_n[k] * d_n + G_1[k] * d_1
    return math.sqrt(total)
