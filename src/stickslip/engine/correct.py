"""All blocks of an island at once, to first order: what Gauss–Seidel needs where it is slow, in stacks, whose errors
travel one body a sweep, and in mechanisms, whose rows all hang together.

Let the contacts that press go on as they do: those inside their cone stick, the others slide on; bounded joint rows
inside their bounds hold. The change δ of their impulses that takes the velocities e they should not have to zero, e = u
where they stick and u_n where they slide, is that of (W + ε + α) δ = -e; many contacts share the load, so W is
singular, and α is what settles how.

In an island without joints this is solved as a system in the bodies, well conditioned whatever the contacts: with
M⁻¹ = L Lᵀ and G = J L

    (I + Gᵀ κ G) z = -Gᵀ κ e,        δ = -κ (e + G z),        κ = 1/(ε + α),

with a block of 6 x 6 for each body and pair of bodies that touch. It is factorised by Cholesky's method within its
envelope, bodies with few contacts first. A body that rests on many then comes last and fills nothing.

In an island with joints an impulse reaches many bodies, but mechanisms have few contacts: there W is formed and
factorised, dense, over the rows that are held.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine.rows import ACTIVE
from stickslip.jit import kernel

SOFT = 1e-5  # α as a share of tr W_ii / d
INSIDE = 1.0 - 1e-9  # |p_t| / μ p_n up to which a contact sticks
DEAREST = 60  # products of blocks in the factorisation, per contact, beyond which it is not tried
MOST_ROWS = 240  # of an island with joints


@kernel
def correct(work, rules, island, delta):
    """Fill δ, block by block of the island. Returns False where the factorisation would cost too much."""
    if work.islands.stiff[island] == 1:
        return correct_rows(work, rules, island, delta)
    return correct_bodies(work, rules, island, delta)


@kernel
def resistance(work, rules, i, kappa):
    """κ of each component of contact i, zero where it is not held."""
    law, p, d = work.law, work.answer.p, 2 if work.law.own.shape[0] == 4 else 3
    for c in range(d):
        kappa[c] = 0.0
    if not p[d * i] > 0.0:
        return
    soft, square = SOFT / law.scale[i] ** 2, 0.0
    for c in range(1, d):
        square += p[d * i + c] ** 2
    kappa[0] = 1.0 / (soft + law.compliance[i])
    if square < (INSIDE * law.mu[i] * p[d * i]) ** 2:
        relaxed = law.compliance_tangent[i] if rules.relaxes_friction else 0.0
        for c in range(1, d):
            kappa[c] = 1.0 / (soft + relaxed)


@kernel
def correct_rows(work, rules, island, delta):
    """By W over the rows that are held."""
    begin, end = work.islands.start[island], work.islands.start[island + 1]
    n, rows, answer = work.count[ACTIVE], work.rows, work.answer
    d = 2 if work.law.own.shape[0] == 4 else 3
    if d * (end - begin) > MOST_ROWS:
        return False
    block, component, kappa = np.empty(d * (end - begin), np.int64), np.empty(d * (end - begin), np.int64), np.empty(3)
    e, soft, size = np.empty(d * (end - begin)), np.empty(d * (end - begin)), 0
    for k in range(begin, end):
        i = work.islands.member[k]
        if i < n:
            resistance(work, rules, i, kappa)
            for c in range(d):
                if kappa[c] > 0.0:
                    block[size], component[size] = k, c
                    e[size], soft[size] = answer.u[d * i + c], 1.0 / kappa[c]
                    size += 1
        elif work.law.lower[i - n] < answer.bounded[i - n] < work.law.upper[i - n]:
            block[size], component[size] = k, 0
            e[size], soft[size] = answer.bounded_u[i - n], SOFT * work.law.bounded_own[i - n]
            soft[size] += work.held.rows.compliance[rows.number[i - n]]
            size += 1
    A = np.empty((size, size))
    for x in range(size):
        i = work.islands.member[block[x]]
        for y in range(x + 1):
            A[x, y] = coupling(work, i, component[x], work.islands.member[block[y]], component[y])
        A[x, x] += soft[x]
    lower_factor(A.copy(), A)
    for x in range(size):
        for y in range(x):
            e[x] -= A[x, y] * e[y]
        e[x] = e[x] / A[x, x] if A[x, x] > 0.0 else 0.0
    for x in range(size - 1, -1, -1):
        for y in range(x + 1, size):
            e[x] -= A[y, x] * e[y]
        e[x] = e[x] / A[x, x] if A[x, x] > 0.0 else 0.0
        delta[block[x] - begin, component[x]] = -e[x]
    return True


@kernel
def coupling(work, i, c, j, k):
    """W between component c of block i and component k of block j."""
    rows, joints, n, total = work.rows, work.held.rows, work.count[ACTIVE], 0.0
    a, b = (rows.body[i, 0], rows.body[i, 1]) if i < n else (joints.body_a[rows.number[i - n]], joints.body_b[rows.number[i - n]])
    for t in range(rows.start[j], rows.start[j + 1]):
        body = rows.reached[t]
        if body == a:
            J = rows.jacobian[i, 0, c] if i < n else joints.jacobian_a[rows.number[i - n]]
            for r in range(6):
                total += J[r] * rows.response[t, k, r]
        if body == b:
            J = rows.jacobian[i, 1, c] if i < n else joints.jacobian_b[rows.number[i - n]]
            for r in range(6):
                total += J[r] * rows.response[t, k, r]
    return total


@kernel
def correct_bodies(work, rules, island, delta):
    """By the bodies."""
    begin, end = work.islands.start[island], work.islands.start[island + 1]
    member, body, free, u = work.islands.member, work.rows.body, work.free, work.answer.u
    d = 2 if work.law.own.shape[0] == 4 else 3
    place, first, offset = envelope(work, begin, end)
    products = 0
    for r in range(first.size):
        products += (r + 1 - first[r]) ** 2
    if products > DEAREST * (end - begin):
        return False
    G, kappa = scaled_rows(work, rules, begin, end)
    A, z = np.zeros((offset[first.size], 6, 6)), np.zeros((first.size, 6))
    assemble(work, begin, end, place, first, offset, G, kappa, A, z)
    factorise(first, offset, A)
    substitute(first, offset, A, z)
    for k in range(end - begin):
        i = member[begin + k]
        for c in range(d):
            e = u[d * i + c]
            for side in range(2):
                if free[body[i, side]]:
                    at = place[body[i, side]]
                    for r in range(6):
                        e += G[k, side, c, r] * z[at, r]
            delta[k, c] = -kappa[k, c] * e
    return True


@kernel
def envelope(work, begin, end):
    """The place of each free body in the order of elimination; for each place the first one it is coupled to; and where
    its row of blocks begins."""
    member, body, free, degree = work.islands.member, work.rows.body, work.free, work.islands.degree
    most, touched = 0, 0
    for k in range(begin, end):
        for side in range(2):
            b = body[member[k], side]
            if free[b]:
                touched += 1 if degree[b] == 0 else 0
                degree[b] += 1
                most = max(most, degree[b])
    start, bodies, place = np.zeros(most + 2, np.int64), np.empty(touched, np.int64), work.islands.label
    seen = 0
    for k in range(begin, end):
        for side in range(2):
            b = body[member[k], side]
            if free[b] and degree[b] > 0:
                bodies[seen] = b
                seen += 1
                start[degree[b] + 1] += 1
                degree[b] = -degree[b]
    for k in range(most + 1):
        start[k + 1] += start[k]
    bodies.sort()
    for k in range(touched):
        b = bodies[k]
        place[b] = start[-degree[b]]
        start[-degree[b]] += 1
        degree[b] = 0
    first, offset = np.arange(touched), np.zeros(touched + 1, np.int64)
    for k in range(begin, end):
        a, b = body[member[k], 0], body[member[k], 1]
        if free[a] and free[b]:
            low, high = min(place[a], place[b]), max(place[a], place[b])
            first[high] = min(first[high], low)
    for r in range(touched):
        offset[r + 1] = offset[r] + r + 1 - first[r]
    return place, first, offset


@kernel
def scaled_rows(work, rules, begin, end):
    """G by contact and side, and κ by contact and component, zero where it is not held."""
    member, rows, free, bodies = work.islands.member, work.rows, work.free, work.bodies
    d = 2 if work.law.own.shape[0] == 4 else 3
    G, kappa, L = np.zeros((end - begin, 2, 3, 6)), np.zeros((end - begin, 3)), np.zeros((3, 3))
    last = -1
    for k in range(end - begin):
        i = member[begin + k]
        resistance(work, rules, i, kappa[k])
        if kappa[k, 0] == 0.0:
            continue
        for side in range(2):
            b = rows.body[i, side]
            if not free[b]:
                continue
            if b != last:
                lower_factor(bodies.inverse[b], L)
                last = b
            for c in range(d):
                J, g = rows.jacobian[i, side, c], G[k, side, c]
                for r in range(3):
                    g[r] = J[r] * math.sqrt(bodies.inverse_mass[b, r])
                    g[3 + r] = J[3] * L[0, r] + J[4] * L[1, r] + J[5] * L[2, r]
    return G, kappa


@kernel
def lower_factor(K, L):
    """L with L Lᵀ = K; a zero on the diagonal, an axis about which nothing turns, gives a zero column."""
    n = K.shape[0]
    for j in range(n):
        square = K[j, j]
        for k in range(j):
            square -= L[j, k] * L[j, k]
        pivot = math.sqrt(square) if square > 0.0 else 0.0
        L[j, j] = pivot
        for i in range(j + 1, n):
            rest = K[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = rest / pivot if pivot > 0.0 else 0.0


@kernel
def assemble(work, begin, end, place, first, offset, G, kappa, A, z):
    """A = I + Gᵀ κ G, lower half within the envelope, and z = -Gᵀ κ e."""
    member, body, free, u = work.islands.member, work.rows.body, work.free, work.answer.u
    d = 2 if work.law.own.shape[0] == 4 else 3
    for r in range(first.size):
        for k in range(6):
            A[offset[r + 1] - 1, k, k] = 1.0
    for k in range(end - begin):
        i = member[begin + k]
        for s in range(2):
            if not free[body[i, s]]:
                continue
            r = place[body[i, s]]
            for c in range(d):
                for x in range(6):
                    z[r, x] -= G[k, s, c, x] * kappa[k, c] * u[d * i + c]
            for t in range(2):
                if free[body[i, t]] and place[body[i, t]] <= r:
                    block = A[offset[r] + place[body[i, t]] - first[r]]
                    for c in range(d):
                        g, f = G[k, s, c], G[k, t, c]
                        for x in range(6):
                            weighted = kappa[k, c] * g[x]
                            for y in range(6):
                                block[x, y] += weighted * f[y]


@kernel
def factorise(first, offset, A):
    """A = C Cᵀ in place, row of blocks after row."""
    for r in range(first.size):
        for c in range(first[r], r + 1):
            X = A[offset[r] + c - first[r]]
            for k in range(max(first[r], first[c]), c):
                subtract(X, A[offset[r] + k - first[r]], A[offset[c] + k - first[c]])
            if c < r:
                divide(X, A[offset[c + 1] - 1])
            else:
                lower_factor(X.copy(), X)


@kernel
def subtract(X, Y, Z):
    """X <- X - Y Zᵀ."""
    for a in range(6):
        for b in range(6):
            total = 0.0
            for k in range(6):
                total += Y[a, k] * Z[b, k]
            X[a, b] -= total


@kernel
def divide(X, C):
    """X <- X C⁻ᵀ with C lower triangular."""
    for a in range(6):
        for b in range(6):
            rest = X[a, b]
            for k in range(b):
                rest -= X[a, k] * C[b, k]
            X[a, b] = rest / C[b, b]


@kernel
def substitute(first, offset, A, z):
    """z <- (C Cᵀ)⁻¹ z."""
    for r in range(first.size):
        for c in range(first[r], r):
            X = A[offset[r] + c - first[r]]
            for a in range(6):
                for b in range(6):
                    z[r, a] -= X[a, b] * z[c, b]
        C = A[offset[r + 1] - 1]
        for a in range(6):
            for b in range(a):
                z[r, a] -= C[a, b] * z[r, b]
            z[r, a] /= C[a, a]
    for r in range(first.size - 1, -1, -1):
        C = A[offset[r + 1] - 1]
        for a in range(5, -1, -1):
            for b in range(a + 1, 6):
                z[r, a] -= C[b, a] * z[r, b]
            z[r, a] /= C[a, a]
        for c in range(first[r], r):
            X = A[offset[r] + c - first[r]]
            for b in range(6):
                for a in range(6):
                    z[c, b] -= X[a, b] * z[r, a]
