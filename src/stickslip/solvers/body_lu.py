"""Linear systems of contacts, factorised over their bodies.

Methods for friction problems solve x + K W x = c with a K of 3 x 3 a contact, again and again. Over the contacts
(solvers/block_lu.py) the factors fill where bodies have faces: a contact is coupled to all others of its two bodies.
Where the bodies are known, W = G Gᵀ + ε with a G of 3 x 6 for each of the one or two bodies that a contact stands on
(its legs). ε goes into K, and

    x + K G Gᵀ x = c      <=>      (I + Gᵀ K G) z = Gᵀ c,      x = c - K G z                                     (1)

has six unknowns a body, however many contacts there are between two of them: 740 contacts in a tower of Jenga are 53
bodies, and a step of the interior point method takes 0.7 ms instead of 15. K need not be symmetric. A body is two rows
of blocks of 3 x 3, of its velocity and of its spin, so that block_lu orders and factorises this matrix too.

K is large where contacts hold, and x then is a small difference: methods that need many digits refine it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import kernel
from stickslip.problems.blocks import ContactBlocks
from stickslip.problems.matrix import Dense
from stickslip.solvers.block_lu import (
    MOST_UPDATES,
    BlockMatrix,
    BlockPattern,
    analyse,
    blank,
    factorise,
    scatter,
    solve,
)


class Legs(NamedTuple):
    """The bodies behind the contacts: contact i stands on its legs start[i] … start[i + 1] - 1, one or two."""

    start: NDArray[np.int64]  # (nc + 1,)
    body: NDArray[np.int64]  # (legs,)   0 … nb - 1
    G: Dense  # (legs, 3, 6)   the third row is zero in the plane
    give: Dense  # (nc, 3)   ε
    bodies: int  # nb; zero where the bodies are not known


class BodySystem(NamedTuple):
    """I + Gᵀ K G, K to come."""

    legs: Legs
    slot: NDArray[np.int64]  # (legs,)   which pair (its body, that of the other leg) a leg belongs to
    pair: NDArray[np.int64]  # (nb + 1,)   where the pairs of a body begin
    own: Dense  # (nb, 6, 6)   blocks of bodies
    other: Dense  # (pairs, 6, 6)   and of pairs
    halves: ContactBlocks  # the same in blocks of 3 x 3
    pattern: BlockPattern
    A: BlockMatrix


@kernel
def no_legs():
    return Legs(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((0, 3, 6)), np.zeros((0, 3)), 0)


@kernel
def own_blocks(legs, d):
    """The blocks W_ii, as the diagonal of ContactBlocks."""
    diagonal = np.zeros((d * d, legs.start.size - 1))
    for i in range(legs.start.size - 1):
        for a in range(d):
            diagonal[(d + 1) * a, i] = legs.give[i, a]
            for c in range(d):
                for t in range(legs.start[i], legs.start[i + 1]):
                    for k in range(6):
                        diagonal[d * a + c, i] += legs.G[t, a, k] * legs.G[t, c, k]
    return diagonal


@kernel
def scaled_legs(legs, scale, smooth):
    """Those of contacts scaled so, S W S; tangents of those that are smooth take no part."""
    G, give = legs.G.copy(), legs.give.copy()
    for i in range(scale.size):
        for a in range(3):
            share = 0.0 if smooth[i] and a > 0 else scale[i]
            give[i, a] *= share * share
            for t in range(legs.start[i], legs.start[i + 1]):
                for k in range(6):
                    G[t, a, k] *= share
    return Legs(legs.start, legs.body, G, give, legs.bodies)


@kernel
def add_products(legs, x, u):
    """u <- u + W x, three numbers a contact."""
    z = np.zeros((2 * legs.bodies, 3))
    for i in range(x.shape[0]):
        push(legs, i, x, z)
    for i in range(x.shape[0]):
        for a in range(3):
            u[i, a] += legs.give[i, a] * x[i, a] + felt(legs, i, a, z)


@kernel
def push(legs, i, x, z):
    """z <- z + G_iᵀ x_i, two rows of z a body."""
    G = legs.G
    for t in range(legs.start[i], legs.start[i + 1]):
        at = 2 * legs.body[t]
        for k in range(3):
            z[at, k] += G[t, 0, k] * x[i, 0] + G[t, 1, k] * x[i, 1] + G[t, 2, k] * x[i, 2]
            z[at + 1, k] += G[t, 0, k + 3] * x[i, 0] + G[t, 1, k + 3] * x[i, 1] + G[t, 2, k + 3] * x[i, 2]


@kernel
def felt(legs, i, a, z):
    """G_i z in component a."""
    total = 0.0
    for t in range(legs.start[i], legs.start[i + 1]):
        at = 2 * legs.body[t]
        for k in range(3):
            total += legs.G[t, a, k] * z[at, k] + legs.G[t, a, k + 3] * z[at + 1, k]
    return total


@kernel
def body_system(legs):
    """The system of these legs. Where it would take too many products to factorise, the pattern is empty."""
    slot, pair, other = pairs_of(legs)
    halves = room_for_halves(pair, other)
    pattern = analyse(halves, MOST_UPDATES)
    own, across = np.zeros((legs.bodies, 6, 6)), np.zeros((other.size, 6, 6))
    return BodySystem(legs, slot, pair, own, across, halves, pattern, blank(pattern))


@kernel
def pairs_of(legs):
    """Bodies that share contacts: the pair of each leg, where those of each body begin, and the other body of each."""
    begin, partner = np.zeros(legs.bodies + 1, np.int64), np.full(legs.body.size, -1)
    for i in range(legs.start.size - 1):
        t = legs.start[i]
        if legs.start[i + 1] == t + 2:
            partner[t], partner[t + 1] = legs.body[t + 1], legs.body[t]
    for t in range(partner.size):
        if partner[t] >= 0:
            begin[legs.body[t] + 1] += 1
    for b in range(legs.bodies):
        begin[b + 1] += begin[b]
    on, at = np.empty(begin[legs.bodies], np.int64), begin.copy()  # legs by their bodies
    for t in range(partner.size):
        if partner[t] >= 0:
            on[at[legs.body[t]]] = t
            at[legs.body[t]] += 1
    slot, pair, other = np.full(partner.size, -1), np.zeros(legs.bodies + 1, np.int64), np.empty(on.size, np.int64)
    seen, number, found = np.full(legs.bodies, -1), np.empty(legs.bodies, np.int64), 0
    for b in range(legs.bodies):
        for k in range(begin[b], begin[b + 1]):
            c = partner[on[k]]
            if seen[c] != b:
                seen[c], number[c], other[found] = b, found, c
                found += 1
            slot[on[k]] = number[c]
        pair[b + 1] = found
    return slot, pair, other[:found].copy()


@kernel
def room_for_halves(pair, other):
    """Body b is the rows of blocks 2 b and 2 b + 1. Beside the diagonal each has its other half, then two blocks for
    each body that it shares a contact with."""
    n = 2 * (pair.size - 1)
    start, first = np.zeros(n + 1, np.uint32), np.empty(4 * other.size + n, np.uint32)
    k = 0
    for b in range(pair.size - 1):
        for x in range(2):
            first[k] = 3 * (2 * b + 1 - x)
            k += 1
            for e in range(pair[b], pair[b + 1]):
                first[k], first[k + 1] = 6 * other[e], 6 * other[e] + 3
                k += 2
            start[2 * b + x + 1] = k
    return ContactBlocks(np.empty((9, n)), np.empty((9, k)), start, first)


@kernel
def factorise_bodies(system, K):
    """Factorise I + Gᵀ K G; False where that fails."""
    assemble(system.legs, system.slot, K, system.own, system.other)
    fill_halves(system.pair, system.own, system.other, system.halves)
    n = 2 * system.legs.bodies
    scatter(system.pattern, system.halves, np.ones(n), np.zeros(n, np.bool_), system.A)
    return factorise(system.pattern, system.A)


@kernel
def assemble(legs, slot, K, own, other):
    """I + Gᵀ K G by bodies and pairs of them."""
    G, KG = legs.G, np.empty((2, 3, 6))
    own[:] = 0.0
    other[:] = 0.0
    for b in range(legs.bodies):
        for k in range(6):
            own[b, k, k] = 1.0
    for i in range(legs.start.size - 1):
        first, end = legs.start[i], legs.start[i + 1]
        for t in range(first, end):
            for a in range(3):
                x, y, z = K[i, 3 * a], K[i, 3 * a + 1], K[i, 3 * a + 2]
                for k in range(6):
                    KG[t - first, a, k] = x * G[t, 0, k] + y * G[t, 1, k] + z * G[t, 2, k]
        for s in range(first, end):
            for t in range(first, end):
                block, right = own[legs.body[s]] if s == t else other[slot[s]], KG[t - first]
                for j in range(6):
                    x, y, z = G[s, 0, j], G[s, 1, j], G[s, 2, j]
                    for k in range(6):
                        block[j, k] += x * right[0, k] + y * right[1, k] + z * right[2, k]


@kernel
def fill_halves(pair, own, other, halves):
    """The blocks of 3 x 3 of those of 6 x 6."""
    for b in range(pair.size - 1):
        for x in range(2):
            k, row = halves.start[2 * b + x], 3 * x
            for a in range(3):
                for c in range(3):
                    halves.diagonal[3 * a + c, 2 * b + x] = own[b, row + a, row + c]
                    halves.others[3 * a + c, k] = own[b, row + a, 3 - row + c]
                    for e in range(pair[b], pair[b + 1]):
                        at = k + 1 + 2 * (e - pair[b])
                        halves.others[3 * a + c, at] = other[e, row + a, c]
                        halves.others[3 * a + c, at + 1] = other[e, row + a, 3 + c]


@kernel
def solve_bodies(system, K, c, x):
    """x of (1), with the factors at hand."""
    legs, z = system.legs, np.zeros((2 * system.legs.bodies, 3))
    for i in range(c.shape[0]):
        push(legs, i, c, z)
    solve(system.pattern, system.A, z)
    for i in range(c.shape[0]):
        u, v, w = felt(legs, i, 0, z), felt(legs, i, 1, z), felt(legs, i, 2, z)
        for a in range(3):
            x[i, a] = c[i, a] - (K[i, 3 * a] * u + K[i, 3 * a + 1] * v + K[i, 3 * a + 2] * w)


@kernel
def multiply(K, b, x):
    """x = K b, contact by contact."""
    for i in range(b.shape[0]):
        u, v, w = b[i, 0], b[i, 1], b[i, 2]
        for a in range(3):
            x[i, a] = K[i, 3 * a] * u + K[i, 3 * a + 1] * v + K[i, 3 * a + 2] * w
