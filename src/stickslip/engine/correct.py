"""All blocks of an island at once, to first order: what Gauss–Seidel needs where it is slow, in stacks, whose errors
travel one body a sweep.

Let the contacts that press go on as they do: those inside their cone stick, the others slide on. The change δ of their
impulses that takes the velocities e they should not have to zero, e = u where they stick and u_n where they slide, is
that of (W + ε + α) δ = -e; many contacts share the load, so W is singular, and α is what settles how.

It is solved as a system in the bodies, well conditioned whatever the contacts: with
W = G Gᵀ as in engine/rows.py

    (I + Gᵀ κ G) z = -Gᵀ κ e,        δ = -κ (e + G z),        κ = 1/(ε + α),

with a block of 6 x 6 for each body and pair of bodies that touch. It is factorised by Cholesky's method within its
envelope, bodies with few contacts first. A body that rests on many then comes last and fills nothing.

Islands with joints, where an impulse reaches many bodies, are left to engine/newton.py.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel

SOFT = 1e-5  # α as a share of tr W_ii / d
INSIDE = 1.0 - 1e-9  # |p_t| / μ p_n up to which a contact sticks
DEAREST = 60  # products of blocks in the factorisation, per contact, beyond which it is not tried
CONTACTS_A_BODY = 4  # from which factorising over the bodies takes less than over the contacts
TOO_DEAR, LOOSE, PACKED = range(3)  # what an island is like


@kernel
def resistance(i, d, compliance, soft, mu, scale, p, kappa):
    """κ of each component of contact i, zero where it is not held."""
    for c in range(d):
        kappa[c] = 0.0
    if not p[d * i] > 0.0:
        return
    given, square = SOFT / scale[i] ** 2, 0.0
    for c in range(1, d):
        square += p[d * i + c] ** 2
    kappa[0] = 1.0 / (given + compliance[i])
    if square < (INSIDE * mu[i] * p[d * i]) ** 2:
        for c in range(1, d):
            kappa[c] = 1.0 / (given + (soft[i] if soft.size > 0 else 0.0))


@kernel
def correct_bodies(member, start, place, G, compliance, soft, mu, scale, p, u, degree, order, delta):
    """Find δ, unless it is TOO_DEAR. Tells whether there are many contacts a body, PACKED, or few, LOOSE; `degree`
    (places,) is zero, and so it is left, `order` (bodies,) is room."""
    d = p.size // mu.size
    first, offset = envelope(member, start, place, degree, order)
    products = 0
    for r in range(first.size):
        products += (r + 1 - first[r]) ** 2
    if products > DEAREST * member.size:
        return TOO_DEAR
    kappa = np.zeros((member.size, 3))
    for k in range(member.size):
        resistance(member[k], d, compliance, soft, mu, scale, p, kappa[k])
    A, z = np.zeros((offset[first.size], 6, 6)), np.zeros((first.size, 6))
    assemble(member, start, place, G, order, first, offset, kappa, u, d, A, z)
    factorise(first, offset, A)
    substitute(first, offset, A, z)
    for k in range(member.size):
        i = member[k]
        for c in range(d):
            e = u[d * i + c]
            for t in range(start[i], start[i + 1]):
                at = order[place[t]]
                for r in range(6):
                    e += G[t, c, r] * z[at, r]
            delta[k, c] = -kappa[k, c] * e
    return PACKED if member.size >= CONTACTS_A_BODY * first.size else LOOSE


@kernel
def envelope(member, start, place, degree, order):
    """The number of each body in the order of elimination is filled in; for each the first one it is coupled to, and
    where its row of blocks begins, are returned."""
    most, touched = 0, 0
    for k in range(member.size):
        for t in range(start[member[k]], start[member[k] + 1]):
            b = place[t]
            touched += 1 if degree[b] == 0 else 0
            degree[b] += 1
            most = max(most, degree[b])
    begin, bodies, seen = np.zeros(most + 2, np.int64), np.empty(touched, np.int64), 0
    for k in range(member.size):
        for t in range(start[member[k]], start[member[k] + 1]):
            b = place[t]
            if degree[b] > 0:
                bodies[seen] = b
                seen += 1
                begin[degree[b] + 1] += 1
                degree[b] = -degree[b]
    for k in range(most + 1):
        begin[k + 1] += begin[k]
    for k in range(touched):
        b = bodies[k]
        order[b] = begin[-degree[b]]
        begin[-degree[b]] += 1
        degree[b] = 0
    first, offset = np.arange(touched), np.zeros(touched + 1, np.int64)
    for k in range(member.size):
        t = start[member[k]]
        if start[member[k] + 1] == t + 2:
            low, high = min(order[place[t]], order[place[t + 1]]), max(order[place[t]], order[place[t + 1]])
            first[high] = min(first[high], low)
    for r in range(touched):
        offset[r + 1] = offset[r] + r + 1 - first[r]
    return first, offset


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
def assemble(member, start, place, G, order, first, offset, kappa, u, d, A, z):
    """A = I + Gᵀ κ G, lower half within the envelope, and z = -Gᵀ κ e."""
    for r in range(first.size):
        for k in range(6):
            A[offset[r + 1] - 1, k, k] = 1.0
    for k in range(member.size):
        i = member[k]
        if kappa[k, 0] == 0.0:
            continue
        for s in range(start[i], start[i + 1]):
            r = order[place[s]]
            for c in range(d):
                for x in range(6):
                    z[r, x] -= G[s, c, x] * kappa[k, c] * u[d * i + c]
            for t in range(start[i], start[i + 1]):
                if order[place[t]] <= r:
                    block = A[offset[r] + order[place[t]] - first[r]]
                    for c in range(d):
                        g, f = G[s, c], G[t, c]
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
