"""The Delassus matrix by pairs of contacts: d x d blocks, one for each pair that shares a body, the diagonal ones apart.

Component (a, c) of all blocks is one row of memory: a pass over them reads d² streams in order, which the compiler
vectorises. Indices are unsigned: signed ones cost a test for negative values at each access.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.jit import kernel
from stickslip.problems.matrix import Dense, Matrix


class ContactBlocks(NamedTuple):
    """W by pairs of contacts. Row d a + c of `diagonal` and `others` holds component (a, c) of every block."""

    diagonal: Dense  # (d d, nc)
    others: Dense  # (d d, nb)         contact after contact
    start: NDArray[np.uint32]  # (nc + 1,)   blocks start[i] … start[i + 1] - 1 are those of contact i
    first: NDArray[np.uint32]  # (nb,)       d j: where the impulse of the block's other contact begins


def contact_blocks(W: Matrix, d: int) -> ContactBlocks:
    """W in d x d blocks; a pair of contacts without a block has none stored."""
    if not sparse.issparse(W):
        W = sparse.csr_array(W)
    start, first = pattern(W.indptr, W.indices, d)
    diagonal, others = np.zeros((d * d, start.size - 1)), np.zeros((d * d, first.size))
    fill(W.indptr, W.indices, W.data, d, start, first, diagonal, others)
    return ContactBlocks(diagonal, others, start, first)


@kernel
def pattern(indptr, indices, d):
    """The other contacts each contact shares an entry with, in order: start and first of ContactBlocks."""
    contacts = (indptr.size - 1) // d
    start = np.zeros(contacts + 1, np.uint32)
    first = np.empty(indices.size, np.uint32)
    seen = np.full(contacts, -1)
    count = 0
    for i in range(contacts):
        begin = count
        for k in range(indptr[d * i], indptr[d * i + d]):
            j = indices[k] // d
            if j != i and seen[j] != i:
                seen[j] = i
                first[count] = d * j
                count += 1
        first[begin:count].sort()
        start[i + 1] = count
    return start, first[:count].copy()


@kernel
def fill(indptr, indices, data, d, start, first, diagonal, others):
    place = np.zeros(start.size, np.int64)  # of the block (i, j) among the others, for the i at hand
    for i in range(start.size - 1):
        for k in range(start[i], start[i + 1]):
            place[first[k] // d] = k
        for a in range(d):
            for k in range(indptr[d * i + a], indptr[d * i + a + 1]):
                j, c = indices[k] // d, indices[k] % d
                if j == i:
                    diagonal[d * a + c, i] += data[k]
                else:
                    others[d * a + c, place[j]] += data[k]


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
    """q_i + Σ_{j≠i} W_ij r_j."""
    B, first = W.others, W.first
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
