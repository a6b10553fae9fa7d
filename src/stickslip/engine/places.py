"""What the impulses of blocks do at the places they act on, and what blocks feel of it: see engine/rows.py.

z = Σ s G_jᵀ p_j,        u_i - q_i = G_i z
W_ij = Σ s G_i G_jᵀ over the places of both
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import bare, kernel


@bare
def push(start, place, sign, G, i, components, p_n, p_1, p_2, z):
    """z <- z + s G_iᵀ p of an impulse with so many components."""
    for t in range(start[i], start[i + 1]):
        b = place[t]
        s = sign[b]
        for r in range(6):
            x = G[t, 0, r] * p_n
            if components > 1:
                x += G[t, 1, r] * p_1
            if components > 2:
                x += G[t, 2, r] * p_2
            z[b, r] += s * x


@bare
def velocity(start, place, G, i, components, z):
    """G_i z in so many components, and zeros."""
    u_n, u_1, u_2 = 0.0, 0.0, 0.0
    for t in range(start[i], start[i + 1]):
        b = place[t]
        for r in range(6):
            u_n += G[t, 0, r] * z[b, r]
        if components > 1:
            for r in range(6):
                u_1 += G[t, 1, r] * z[b, r]
        if components > 2:
            for r in range(6):
                u_2 += G[t, 2, r] * z[b, r]
    return u_n, u_1, u_2


@bare
def set_unit(start, place, sign, G, i, c, impulse, z):
    """z at the places of block i is that of an impulse in its component c, or none."""
    for t in range(start[i], start[i + 1]):
        b = place[t]
        for r in range(6):
            z[b, r] = sign[b] * impulse * G[t, c, r]


@bare
def felt(start, place, G, i, c, z):
    """G_i z in component c."""
    total = 0.0
    for t in range(start[i], start[i + 1]):
        for r in range(6):
            total += G[t, c, r] * z[place[t], r]
    return total


@kernel
def delassus(start, place, sign, G, member, row, mark):
    """W of some blocks, whose rows begin at `row`; `mark` (places,) is zero, and so it is left."""
    W = np.empty((row[member.size], row[member.size]))
    fill_delassus(start, place, sign, G, member, row, mark, W)
    return W


@bare
def fill_delassus(start, place, sign, G, member, row, mark, W):
    """The same in place."""
    size = row[member.size]
    for x in range(size):
        for y in range(x + 1):
            W[x, y] = 0.0
    for y in range(member.size):
        j = member[y]
        for t in range(start[j], start[j + 1]):
            mark[place[t]] = t + 1
        for x in range(y, member.size):
            i = member[x]
            for s in range(start[i], start[i + 1]):
                t = mark[place[s]] - 1
                if t >= 0:
                    add_product(sign[place[s]], G[s], G[t], row[x], row[x + 1], row[y], row[y + 1], W)
        for t in range(start[j], start[j + 1]):
            mark[place[t]] = 0
    for x in range(size):
        for y in range(x):
            W[y, x] = W[x, y]


@bare
def add_product(s, A, B, x, x_end, y, y_end, W):
    """W <- W + s A Bᵀ of 6 columns each, in the rows from x to x_end and the columns from y to y_end. The three
    components of a contact are written out: their sums do not wait for each other."""
    for a in range(x_end - x):
        f, g, h, k, m, n = s * A[a, 0], s * A[a, 1], s * A[a, 2], s * A[a, 3], s * A[a, 4], s * A[a, 5]
        w = W[x + a]
        if y_end - y == 3:
            w[y] += f * B[0, 0] + g * B[0, 1] + h * B[0, 2] + k * B[0, 3] + m * B[0, 4] + n * B[0, 5]
            w[y + 1] += f * B[1, 0] + g * B[1, 1] + h * B[1, 2] + k * B[1, 3] + m * B[1, 4] + n * B[1, 5]
            w[y + 2] += f * B[2, 0] + g * B[2, 1] + h * B[2, 2] + k * B[2, 3] + m * B[2, 4] + n * B[2, 5]
        else:
            for b in range(y_end - y):
                w[y + b] += f * B[b, 0] + g * B[b, 1] + h * B[b, 2] + k * B[b, 3] + m * B[b, 4] + n * B[b, 5]
