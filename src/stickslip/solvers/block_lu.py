"""Sparse LU of W + D for one pattern of contacts and many block diagonals D, inside compiled loops.

W is the Delassus matrix in 3 x 3 blocks, one for each pair of contacts that share a body; D changes from one
factorisation to the next and need not be symmetric. Whole contacts are eliminated, in an order found once:

    A_kk -> A_kk⁻¹,     L_ik = A_ik A_kk⁻¹,     A_ij -= L_ik A_kj        for all i, j that contact k still touches.

The order is minimum degree, on the graph of contacts kept as rows of bits, so that eliminating contact k is one `or`
of a row for each of its neighbours: a pass takes every contact whose degree is at most the threshold, which rises when
a pass finds none. Piles and stacks hang together loosely: 276 capsules with 970 blocks off the diagonal fill to 1028,
and one factorisation takes 20 µs where SuperLU takes 2 ms.

Rows are exchanged only inside the 3 x 3 blocks of the diagonal, not between contacts. The caller sees the error in
what it solves.
Planar contacts are padded with a second tangent that does nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import kernel
from stickslip.problems.matrix import Dense

MOST_CONTACTS = 4096  # the rows of bits take n²/8 bytes
MOST_UPDATES = 4_000_000  # block products of one factorisation


class BlockPattern(NamedTuple):
    """The blocks below the diagonal of L, column after column in the order of elimination, and their updates."""

    order: NDArray[np.uint32]  # (nc,)      the contact eliminated k-th
    start: NDArray[np.uint32]  # (nc + 1,)  blocks start[k] … start[k + 1] - 1 are those of column k
    row: NDArray[np.uint32]  # (nl,)        a block's row, as a place in the order
    target: NDArray[np.uint32]  # (nu,)     for each column and each pair of its blocks e2 < e1: the block they update
    own: NDArray[np.int32]  # (nb,)        where block k of W.others goes: e >= 0 in L, -1 - e in U


@kernel
def analyse(W, most_updates):
    """The pattern for a ContactBlocks W. Where it would need more updates than the limit, `start` is empty."""
    d = 2 if W.diagonal.shape[0] == 4 else 3
    n = W.diagonal.shape[1]
    bits = graph(W, d, n)
    order, start, row, updates = eliminate(bits, n, most_updates)
    if updates > most_updates:
        nothing = np.zeros(0, np.uint32)
        return BlockPattern(nothing, nothing, nothing, nothing, np.zeros(0, np.int32))
    place = np.empty(n, np.uint32)
    for k in range(n):
        place[order[k]] = k
    for e in range(row.size):
        row[e] = place[row[e]]
    for k in range(n):
        row[start[k] : start[k + 1]].sort()
    return BlockPattern(order, start, row, update_targets(start, row, updates), own_places(W, d, place, start, row))


@kernel
def graph(W, d, n):
    """Row i has bit j set where contacts i and j share a block, either way round."""
    words = (n + 63) // 64
    bits = np.zeros((n, words), np.uint64)
    one = np.uint64(1)
    for i in range(n):
        for k in range(W.start[i], W.start[i + 1]):
            j = int(W.first[k]) // d
            bits[i, j >> 6] |= one << np.uint64(j & 63)
            bits[j, i >> 6] |= one << np.uint64(i & 63)
    return bits


@kernel
def count_bits(row):
    total = 0
    for w in range(row.size):
        total += count_bits_of(row[w])
    return total


@kernel
def count_bits_of(word):
    """The bits set in a word of 64, added up in pairs, nibbles and bytes."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def eliminate(bits, n, most_updates):
    """Order, columns and the number of pairs in them, by passes of minimum degree."""
    words = bits.shape[1]
    one, zero = np.uint64(1), np.uint64(0)
    degree = np.empty(n, np.int64)
    for i in range(n):
        degree[i] = count_bits(bits[i])
    order = np.empty(n, np.uint32)
    start = np.zeros(n + 1, np.uint32)
    row = np.empty(4 * n + 64, np.uint32)
    done, size, updates = 0, 0, 0
    while done < n:
        threshold = n
        for i in range(n):
            if 0 <= degree[i] < threshold:
                threshold = degree[i]
        for i in range(n):
            if not 0 <= degree[i] <= threshold:
                continue
            if size + degree[i] > row.size:
                longer = np.empty(2 * row.size + degree[i], np.uint32)
                longer[:size] = row[:size]
                row = longer
            first = size
            for w in range(words):
                word = bits[i, w]
                while word != zero:
                    lowest = word & (~word + one)
                    row[size] = 64 * w + count_bits_of(lowest - one)
                    size += 1
                    word ^= lowest
            for e in range(first, size):
                j = int(row[e])
                for w in range(words):
                    bits[j, w] |= bits[i, w]
                bits[j, j >> 6] &= ~(one << np.uint64(j & 63))
                bits[j, i >> 6] &= ~(one << np.uint64(i & 63))
            for e in range(first, size):
                degree[row[e]] = count_bits(bits[row[e]])
            updates += (size - first) * (size - first - 1) // 2
            degree[i] = -1
            order[done] = i
            done += 1
            start[done] = size
            if updates > most_updates:
                return order, start, row[:size], updates
    return order, start, row[:size].copy(), updates


@kernel
def update_targets(start, row, updates):
    """For column k and its blocks e2 < e1 in rows j < i: the block of column j in row i."""
    target = np.empty(updates, np.uint32)
    t = 0
    for k in range(start.size - 1):
        for e2 in range(int(start[k]), int(start[k + 1])):
            f = int(start[row[e2]])
            for e1 in range(e2 + 1, int(start[k + 1])):
                while row[f] != row[e1]:
                    f += 1
                target[t] = f
                t += 1
    return target


@kernel
def own_places(W, d, place, start, row):
    own = np.empty(W.first.size, np.int32)
    for contact in range(place.size):
        for k in range(W.start[contact], W.start[contact + 1]):
            i, j = int(place[contact]), int(place[int(W.first[k]) // d])
            low, high = (i, j) if i < j else (j, i)
            e = int(start[low]) + np.searchsorted(row[start[low] : start[low + 1]], high)
            own[k] = e if i > j else -1 - e
    return own


class BlockMatrix(NamedTuple):
    """A matrix on a BlockPattern: what lies on, below and above the diagonal, a block in 9 numbers, row by row."""

    diagonal: Dense  # (nc, 9)
    lower: Dense  # (nl, 9)   block e is (row[e], k)
    upper: Dense  # (nl, 9)   block e is (k, row[e])


@kernel
def blank(pattern):
    blocks = pattern.row.size
    return BlockMatrix(np.zeros((pattern.order.size, 9)), np.zeros((blocks, 9)), np.zeros((blocks, 9)))


@kernel
def scatter(pattern, W, scale, rigid, A):
    """A = S W S in the order of elimination. Tangents of contacts where rigid[i] is set become identity rows."""
    d = 2 if W.diagonal.shape[0] == 4 else 3
    A.diagonal[:] = 0.0
    A.lower[:] = 0.0
    A.upper[:] = 0.0
    for k in range(pattern.order.size):
        i = pattern.order[k]
        for a in range(d):
            for c in range(d):
                if not rigid[i] or (a == 0 and c == 0):
                    A.diagonal[k, 3 * a + c] = scale[i] * scale[i] * W.diagonal[d * a + c, i]
        if rigid[i]:
            A.diagonal[k, 4] = 1.0
        if rigid[i] or d == 2:
            A.diagonal[k, 8] = 1.0
    for i in range(pattern.order.size):
        for k in range(W.start[i], W.start[i + 1]):
            j = int(W.first[k]) // d
            e = pattern.own[k]
            for a in range(d):
                for c in range(d):
                    if (rigid[i] and a > 0) or (rigid[j] and c > 0):
                        continue
                    value = scale[i] * scale[j] * W.others[d * a + c, k]
                    if e >= 0:
                        A.lower[e, 3 * a + c] = value
                    else:
                        A.upper[-1 - e, 3 * a + c] = value


@kernel
def factorise(pattern, A):
    """A = L U in place: `diagonal` becomes the inverses of U's diagonal blocks, `lower` L, `upper` U. False where a
    diagonal block is singular or not finite."""
    start, row, target = pattern.start, pattern.row, pattern.target
    D, L, U = A.diagonal, A.lower, A.upper
    one = np.uint32(1)
    t = np.uint64(0)
    for k in range(np.uint32(pattern.order.size)):
        if not invert(D, k):
            return False
        end = start[k + one]
        for e in range(start[k], end):
            multiply(L, e, D, k)
        for e2 in range(start[k], end):
            subtract_product(D, row[e2], L, e2, U, e2)
            for e1 in range(e2 + one, end):
                f = target[t]
                subtract_product(L, f, L, e1, U, e2)
                subtract_product(U, f, L, e2, U, e1)
                t += one
    return True


@kernel
def solve(pattern, A, x):
    """x <- A⁻¹ x for a factorised A; x is (nc, 3), contacts in their own order."""
    order, start, row = pattern.order, pattern.start, pattern.row
    D, L, U = A.diagonal, A.lower, A.upper
    one = np.uint32(1)
    for k in range(np.uint32(order.size)):
        b = order[k]
        x0, x1, x2 = x[b, 0], x[b, 1], x[b, 2]
        for e in range(start[k], start[k + one]):
            c = order[row[e]]
            for a in range(3):
                x[c, a] -= L[e, 3 * a] * x0 + L[e, 3 * a + 1] * x1 + L[e, 3 * a + 2] * x2
    last = np.uint32(order.size - 1)
    for done in range(np.uint32(order.size)):
        at = last - done
        b = order[at]
        y0, y1, y2 = x[b, 0], x[b, 1], x[b, 2]
        for e in range(start[at], start[at + one]):
            c = order[row[e]]
            x0, x1, x2 = x[c, 0], x[c, 1], x[c, 2]
            y0 -= U[e, 0] * x0 + U[e, 1] * x1 + U[e, 2] * x2
            y1 -= U[e, 3] * x0 + U[e, 4] * x1 + U[e, 5] * x2
            y2 -= U[e, 6] * x0 + U[e, 7] * x1 + U[e, 8] * x2
        for a in range(3):
            x[b, a] = D[at, 3 * a] * y0 + D[at, 3 * a + 1] * y1 + D[at, 3 * a + 2] * y2


@kernel
def invert(D, m):
    """Block m by its inverse; False where it is singular or not finite.

    By elimination with row exchanges: cofactors lose the smallest eigenvalue of a block, and with it two digits and
    more of what an interior point method can reach.
    """
    a, b, c, d, e, f, g, h, i = D[m, 0], D[m, 1], D[m, 2], D[m, 3], D[m, 4], D[m, 5], D[m, 6], D[m, 7], D[m, 8]
    first, second, third = np.uint32(0), np.uint32(1), np.uint32(2)
    if abs(d) > abs(a):
        a, b, c, d, e, f, first, second = d, e, f, a, b, c, second, first
    if abs(g) > abs(a):
        a, b, c, g, h, i, first, third = g, h, i, a, b, c, third, first
    inverse_a = 1.0 / a
    d, g = d * inverse_a, g * inverse_a  # L below the diagonal
    e, f, h, i = e - d * b, f - d * c, h - g * b, i - g * c
    if abs(h) > abs(e):
        e, f, d, second, h, i, g, third = h, i, g, third, e, f, d, second
    inverse_e = 1.0 / e
    h = h * inverse_e
    i = i - h * f
    if not 0.0 < abs(a * e * i) < np.inf:
        return False
    inverse_i = 1.0 / i
    three = np.uint32(3)
    # L⁻¹ = [1, 0, 0; -d, 1, 0; d h - g, -h, 1], then U⁻¹ from below; column k belongs to the row that came k-th
    x, y, z = (d * h - g) * inverse_i, -h * inverse_i, inverse_i
    D[m, three + three + first], D[m, three + three + second], D[m, three + three + third] = x, y, z
    p, q, r = (-d - f * x) * inverse_e, (1.0 - f * y) * inverse_e, -f * z * inverse_e
    D[m, three + first], D[m, three + second], D[m, three + third] = p, q, r
    D[m, first] = (1.0 - b * p - c * x) * inverse_a
    D[m, second] = (-b * q - c * y) * inverse_a
    D[m, third] = (-b * r - c * z) * inverse_a
    return True


@kernel
def multiply(X, x, Y, y):
    """Block x of X <- itself times block y of Y."""
    y0, y1, y2, y3, y4, y5, y6, y7, y8 = Y[y, 0], Y[y, 1], Y[y, 2], Y[y, 3], Y[y, 4], Y[y, 5], Y[y, 6], Y[y, 7], Y[y, 8]
    for a in range(0, 9, 3):
        p, q, r = X[x, a], X[x, a + 1], X[x, a + 2]
        X[x, a], X[x, a + 1], X[x, a + 2] = p * y0 + q * y3 + r * y6, p * y1 + q * y4 + r * y7, p * y2 + q * y5 + r * y8


@kernel
def subtract_product(Z, z, X, x, Y, y):
    """Block z of Z <- itself less block x of X times block y of Y."""
    y0, y1, y2, y3, y4, y5, y6, y7, y8 = Y[y, 0], Y[y, 1], Y[y, 2], Y[y, 3], Y[y, 4], Y[y, 5], Y[y, 6], Y[y, 7], Y[y, 8]
    p, q, r = X[x, 0], X[x, 1], X[x, 2]
    Z[z, 0] -= p * y0 + q * y3 + r * y6
    Z[z, 1] -= p * y1 + q * y4 + r * y7
    Z[z, 2] -= p * y2 + q * y5 + r * y8
    p, q, r = X[x, 3], X[x, 4], X[x, 5]
    Z[z, 3] -= p * y0 + q * y3 + r * y6
    Z[z, 4] -= p * y1 + q * y4 + r * y7
    Z[z, 5] -= p * y2 + q * y5 + r * y8
    p, q, r = X[x, 6], X[x, 7], X[x, 8]
    Z[z, 6] -= p * y0 + q * y3 + r * y6
    Z[z, 7] -= p * y1 + q * y4 + r * y7
    Z[z, 8] -= p * y2 + q * y5 + r * y8
