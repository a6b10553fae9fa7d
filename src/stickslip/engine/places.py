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
        g, b = G[t], z[place[t]]
        s = sign[place[t]]
        x, y, w = s * p_n, s * p_1, s * p_2
        if components > 2:
            for r in range(6):
                b[r] += g[0, r] * x + g[1, r] * y + g[2, r] * w
        elif components > 1:
            for r in range(6):
                b[r] += g[0, r] * x + g[1, r] * y
        else:
            for r in range(6):
                b[r] += g[0, r] * x


@bare
def velocity(start, place, G, i, components, z):
    """G_i z in so many components, and zeros."""
    u_n, u_1, u_2 = 0.0, 0.0, 0.0
    for t in range(start[i], start[i + 1]):
        g, b = G[t], z[place[t]]
        x, y, w, k, m, n = b[0], b[1], b[2], b[3], b[4], b[5]
        u_n += g[0, 0] * x + g[0, 1] * y + g[0, 2] * w + g[0, 3] * k + g[0, 4] * m + g[0, 5] * n
        if components > 1:
            u_1 += g[1, 0] * x + g[1, 1] * y + g[1, 2] * w + g[1, 3] * k + g[1, 4] * m + g[1, 5] * n
        if components > 2:
            u_2 += g[2, 0] * x + g[2, 1] * y + g[2, 2] * w + g[2, 3] * k + g[2, 4] * m + g[2, 5] * n
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
            if row[x + 1] - row[x] == row[y + 1] - row[y] == 3:
                put_products(start[i], start[i + 1], place, sign, mark, G, row[x], row[y], W)
                continue
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
    """W <- W + s A Bᵀ of 6 columns each, in the rows from x to x_end and the columns from y to y_end."""
    for a in range(x_end - x):
        f, g, h, k, m, n = s * A[a, 0], s * A[a, 1], s * A[a, 2], s * A[a, 3], s * A[a, 4], s * A[a, 5]
        for b in range(y_end - y):
            W[x + a, y + b] += f * B[b, 0] + g * B[b, 1] + h * B[b, 2] + k * B[b, 3] + m * B[b, 4] + n * B[b, 5]


@bare
def put_products(begin, end, place, sign, mark, G, x, y, W):
    """W of two contacts in space, at row x and column y: their nine sums over all places stay in registers, and do not
    wait for each other."""
    n_n, n_t, n_o, t_n, t_t, t_o, o_n, o_t, o_o = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for at in range(begin, end):
        if mark[place[at]] > 0:
            s, A, B = sign[place[at]], G[at], G[mark[place[at]] - 1]
            for k in range(6):
                n, t, o, f, g, h = s * A[0, k], s * A[1, k], s * A[2, k], B[0, k], B[1, k], B[2, k]
                n_n, n_t, n_o = n_n + n * f, n_t + n * g, n_o + n * h
                t_n, t_t, t_o = t_n + t * f, t_t + t * g, t_o + t * h
                o_n, o_t, o_o = o_n + o * f, o_t + o * g, o_o + o * h
    W[x, y], W[x, y + 1], W[x, y + 2] = n_n, n_t, n_o
    W[x + 1, y], W[x + 1, y + 1], W[x + 1, y + 2] = t_n, t_t, t_o
    W[x + 2, y], W[x + 2, y + 1], W[x + 2, y + 2] = o_n, o_t, o_o
