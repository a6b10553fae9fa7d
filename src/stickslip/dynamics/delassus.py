"""The Delassus matrix W = J M⁻¹ Jᵀ of the contacts, block by block, straight from their rows.

Two contacts have a block if they share a free body. The contacts of each body are listed first; those of the two bodies
of contact i, merged, are the blocks of its row, in order.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import kernel
from stickslip.problems.blocks import ContactBlocks


@kernel
def delassus_blocks(free, rows, count, d):
    """W of the first `count` contacts, of d components each. `free` (nb,): whether a body moves by the forces on it."""
    body, J, Y = rows.body, rows.jacobian, rows.response
    start, members = contacts_of_bodies(free, body, count)
    row_start = np.zeros(count + 1, np.uint32)
    most = 0
    for i in range(count):
        for side in range(2):
            most += start[body[i, side] + 1] - start[body[i, side]]
    first = np.empty(most, np.uint32)
    total = 0
    for i in range(count):
        total = merge(start, members, body[i, 0], body[i, 1], i, d, first, total)
        row_start[i + 1] = total
    diagonal, others = np.zeros((d * d, count)), np.zeros((d * d, total))
    first = first[:total].copy()
    place = row_start.copy()  # of the next block of each row
    for i in range(count):
        set_block(free, body, J, Y, i, i, d, i, diagonal)
        for k in range(row_start[i], row_start[i + 1]):
            j = np.int64(first[k]) // d
            if j > i:  # rows are in order, so the blocks (j, i) of row j come up in the order of i
                set_block(free, body, J, Y, i, j, d, k, others)
                transpose(others, d, k, place[j])
                place[j] += np.uint32(1)
    return ContactBlocks(diagonal, others, row_start, first)


@kernel
def contacts_of_bodies(free, body, count):
    """Contacts start[b] … start[b + 1] - 1 of `members` are those of the free body b, in order."""
    start = np.zeros(free.size + 1, np.int64)
    for i in range(count):
        for side in range(2):
            if free[body[i, side]]:
                start[body[i, side] + 1] += 1
    for b in range(free.size):
        start[b + 1] += start[b]
    members = np.empty(start[free.size], np.int64)
    place = start.copy()
    for i in range(count):
        for side in range(2):
            b = body[i, side]
            if free[b]:
                members[place[b]] = i
                place[b] += 1
    return start, members


@kernel
def merge(start, members, a, b, i, d, first, total):
    """Append d j for the contacts j ≠ i of the bodies a and b to `first`, in order, each once."""
    p, p_end, q, q_end = start[a], start[a + 1], start[b], start[b + 1]
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and members[p] <= members[q]):
            j = members[p]
            if q < q_end and members[q] == j:
                q += 1
            p += 1
        else:
            j = members[q]
            q += 1
        if j != i:
            first[total] = d * j
            total += 1
    return total


@kernel
def set_block(free, body, J, Y, i, j, d, k, W):
    """W_ij = Σ J_i M⁻¹ J_jᵀ over the free bodies they share, into column k of W."""
    for s in range(2):
        if free[body[i, s]]:
            for t in range(2):
                if body[j, t] == body[i, s]:
                    if d == 3:
                        add_space(J[i, s], Y[j, t], k, W)
                    else:
                        add_plane(J[i, s], Y[j, t], k, W)


@kernel
def add_space(J, Y, k, W):
    for a in range(3):
        x, y, z, x_1, x_2, x_3 = J[a, 0], J[a, 1], J[a, 2], J[a, 3], J[a, 4], J[a, 5]
        for c in range(3):
            W[3 * a + c, k] += (
                x * Y[c, 0] + y * Y[c, 1] + z * Y[c, 2] + x_1 * Y[c, 3] + x_2 * Y[c, 4] + x_3 * Y[c, 5]
            )  # fmt: skip


@kernel
def add_plane(J, Y, k, W):
    for a in range(2):
        for c in range(2):
            W[2 * a + c, k] += J[a, 0] * Y[c, 0] + J[a, 2] * Y[c, 2] + J[a, 4] * Y[c, 4]


@kernel
def transpose(W, d, k, mirror):
    """The block in column `mirror` is that of column k, transposed."""
    for a in range(d):
        for c in range(d):
            W[d * c + a, mirror] = W[d * a + c, k]
