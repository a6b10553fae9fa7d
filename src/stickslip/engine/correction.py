"""All contacts at once, to first order: what Gauss–Seidel needs where it is slow, in stacks, whose errors travel one
body a sweep.

Let the contacts that press go on as they do: those inside their cone stick, the others slide on. The change δ of their
impulses that takes the velocities e they should not have to zero, e = u where they stick and u_n where they slide, is
that of (W + c + α) δ = -e; many contacts share the load, so W is singular, and α is what settles how. With M⁻¹ = L Lᵀ
and G = J L this is a system in the bodies, well conditioned whatever the contacts,

    (I + Gᵀ κ G) z = -Gᵀ κ e,        δ = -κ (e + G z),        κ = 1/(c + α),

with a block of 6 x 6 for each body and pair of bodies that touch. It is factorised by Cholesky's method within its
envelope, bodies with few contacts first. A body that rests on many then comes last and fills nothing.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel

SOFT = 1e-5  # α as a share of tr W_ii / d
INSIDE = 1.0 - 1e-9  # |p_t| / μ p_n up to which a contact sticks
DEAREST = 60  # products of blocks in the factorisation, per contact, beyond which it is not tried


@kernel
def correct(rows, free, inverse_mass, inverse, law, p, u, delta):
    """Fill δ. Returns False where the factorisation would cost too much."""
    body, contacts = rows.body, law.mu.size
    place, first, offset = envelope(free, body, contacts)
    products = 0
    for r in range(first.size):
        products += (r + 1 - first[r]) ** 2
    if products > DEAREST * contacts:
        return False
    G, kappa = scaled_rows(rows, free, inverse_mass, inverse, law, p)
    A, z = np.zeros((offset[first.size], 6, 6)), np.zeros((first.size, 6))
    assemble(free, body, place, first, offset, G, kappa, u, A, z)
    factorise(first, offset, A)
    substitute(first, offset, A, z)
    d = p.size // contacts
    for i in range(contacts):
        for c in range(d):
            e = u[d * i + c]
            for side in range(2):
                if free[body[i, side]]:
                    at = place[body[i, side]]
                    for k in range(6):
                        e += G[i, side, c, k] * z[at, k]
            delta[d * i + c] = -kappa[i, c] * e
    return True


@kernel
def envelope(free, body, contacts):
    """The place of each free body in the order of elimination; for each place the first one it is coupled to; and where
    its row of blocks begins."""
    degree = np.zeros(free.size, np.int64)
    for i in range(contacts):
        for side in range(2):
            degree[body[i, side]] += 1
    most, touched = degree.max(), 0
    begin, place = np.zeros(most + 2, np.int64), np.zeros(free.size, np.int64)
    for b in range(free.size):
        if free[b] and degree[b] > 0:
            begin[degree[b] + 1] += 1
            touched += 1
    for k in range(most + 1):
        begin[k + 1] += begin[k]
    for b in range(free.size):
        if free[b] and degree[b] > 0:
            place[b] = begin[degree[b]]
            begin[degree[b]] += 1
    first, offset = np.arange(touched), np.zeros(touched + 1, np.int64)
    for i in range(contacts):
        a, b = body[i, 0], body[i, 1]
        if free[a] and free[b]:
            low, high = min(place[a], place[b]), max(place[a], place[b])
            first[high] = min(first[high], low)
    for r in range(touched):
        offset[r + 1] = offset[r] + r + 1 - first[r]
    return place, first, offset


@kernel
def scaled_rows(rows, free, inverse_mass, inverse, law, p):
    """G by contact and side, and κ by contact and component, zero where it is not held."""
    contacts = law.mu.size
    d = p.size // contacts
    G, kappa = np.zeros((contacts, 2, 3, 6)), np.zeros((contacts, 3))
    L, known = np.zeros((free.size, 3, 3)), np.zeros(free.size, np.bool_)
    for i in range(contacts):
        if not p[d * i] > 0.0:
            continue
        soft, square = SOFT / law.scales[2, i] ** 2, 0.0
        for c in range(1, d):
            square += p[d * i + c] ** 2
        kappa[i, 0] = 1.0 / (soft + law.compliance[i])
        if square < (INSIDE * law.mu[i] * p[d * i]) ** 2:
            for c in range(1, d):
                kappa[i, c] = 1.0 / soft
        for side in range(2):
            b = rows.body[i, side]
            if not free[b]:
                continue
            if not known[b]:
                known[b] = True
                lower_factor(inverse[b], L[b])
            for c in range(d):
                J, g = rows.jacobian[i, side, c], G[i, side, c]
                for k in range(3):
                    g[k] = J[k] * math.sqrt(inverse_mass[b, k])
                    g[3 + k] = J[3] * L[b, 0, k] + J[4] * L[b, 1, k] + J[5] * L[b, 2, k]
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
def assemble(free, body, place, first, offset, G, kappa, u, A, z):
    """A = I + Gᵀ κ G, lower half within the envelope, and z = -Gᵀ κ e."""
    d = u.size // kappa.shape[0]
    for r in range(first.size):
        for k in range(6):
            A[offset[r + 1] - 1, k, k] = 1.0
    for i in range(kappa.shape[0]):
        for s in range(2):
            if not free[body[i, s]]:
                continue
            r = place[body[i, s]]
            for c in range(d):
                for k in range(6):
                    z[r, k] -= G[i, s, c, k] * kappa[i, c] * u[d * i + c]
            for t in range(2):
                if free[body[i, t]] and place[body[i, t]] <= r:
                    block = A[offset[r] + place[body[i, t]] - first[r]]
                    for c in range(d):
                        g, f = G[i, s, c], G[i, t, c]
                        for a in range(6):
                            weighted = kappa[i, c] * g[a]
                            for b in range(6):
                                block[a, b] += weighted * f[b]


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
