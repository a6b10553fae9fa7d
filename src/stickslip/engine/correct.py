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

from stickslip.jit import kernel

SOFT = 1e-5  # α as a share of tr W_ii / d
INSIDE = 1.0 - 1e-9  # |p_t| / μ p_n up to which a contact sticks
DEAREST = 60  # products of blocks in the factorisation, per contact, beyond which it is not tried
MOST_ROWS = 240  # of an island with joints


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
def correct_rows(
    member, n, body, J, start, reached, Y, compliance, soft, mu, scale, lower, upper, p, u, delta
):  # fmt: skip
    """Fill δ (member, D) by W over the rows that are held. Returns False where that would cost too much."""
    d = p.size // mu.size
    if d * member.size > MOST_ROWS:
        return False
    block, component, kappa = np.empty(d * member.size, np.int64), np.empty(d * member.size, np.int64), np.empty(4)
    e, given, size = np.empty(d * member.size), np.empty(d * member.size), 0
    for k in range(member.size):
        i = member[k]
        if i < n:
            resistance(i, d, compliance, soft, mu, scale, p, kappa)
        else:
            inside = lower[i] < p[d * i] < upper[i]
            kappa[0] = 1.0 / (SOFT / scale[i] ** 2 + compliance[i]) if inside else 0.0
        for c in range(d if i < n else 1):
            if kappa[c] > 0.0:
                block[size], component[size], e[size], given[size] = k, c, u[d * i + c], 1.0 / kappa[c]
                size += 1
    A = np.empty((size, size))
    for x in range(size):
        for y in range(x + 1):
            A[x, y] = coupling(
                body, J, start, reached, Y, member[block[x]], component[x], member[block[y]], component[y]
            )
        A[x, x] += given[x]
    lower_factor(A.copy(), A)
    for x in range(size):
        for y in range(x):
            e[x] -= A[x, y] * e[y]
        e[x] = e[x] / A[x, x] if A[x, x] > 0.0 else 0.0
    for x in range(size - 1, -1, -1):
        for y in range(x + 1, size):
            e[x] -= A[y, x] * e[y]
        e[x] = e[x] / A[x, x] if A[x, x] > 0.0 else 0.0
        delta[block[x], component[x]] = -e[x]
    return True


@kernel
def coupling(body, J, start, reached, Y, i, c, j, k):
    """W between component c of block i and component k of block j, without compliance."""
    total, a, b = 0.0, body[i, 0], body[i, 1]
    for t in range(start[j], start[j + 1]):
        if reached[t] == a:
            for r in range(6):
                total += J[i, 0, c, r] * Y[t, k, r]
        if reached[t] == b:
            for r in range(6):
                total += J[i, 1, c, r] * Y[t, k, r]
    return total


@kernel
def correct_bodies(
    member, body, J, free, inverse_mass, inverse, compliance, soft, mu, scale, p, u, degree, place, delta
):  # fmt: skip
    """The same by the bodies; `degree` (bodies,) is zero, and so it is left, `place` (bodies,) is room."""
    d = p.size // mu.size
    first, offset = envelope(member, body, free, degree, place)
    products = 0
    for r in range(first.size):
        products += (r + 1 - first[r]) ** 2
    if products > DEAREST * member.size:
        return False
    G, kappa = scaled_rows(member, body, J, free, inverse_mass, inverse, d, compliance, soft, mu, scale, p)
    A, z = np.zeros((offset[first.size], 6, 6)), np.zeros((first.size, 6))
    assemble(member, body, free, place, first, offset, G, kappa, u, d, A, z)
    factorise(first, offset, A)
    substitute(first, offset, A, z)
    for k in range(member.size):
        i = member[k]
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
def envelope(member, body, free, degree, place):
    """The place of each free body in the order of elimination is filled in; for each place the first one it is coupled
    to, and where its row of blocks begins, are returned."""
    most, touched = 0, 0
    for k in range(member.size):
        for side in range(2):
            b = body[member[k], side]
            if free[b]:
                touched += 1 if degree[b] == 0 else 0
                degree[b] += 1
                most = max(most, degree[b])
    start, bodies, seen = np.zeros(most + 2, np.int64), np.empty(touched, np.int64), 0
    for k in range(member.size):
        for side in range(2):
            b = body[member[k], side]
            if free[b] and degree[b] > 0:
                bodies[seen] = b
                seen += 1
                start[degree[b] + 1] += 1
                degree[b] = -degree[b]
    for k in range(most + 1):
        start[k + 1] += start[k]
    for k in range(touched):
        b = bodies[k]
        place[b] = start[-degree[b]]
        start[-degree[b]] += 1
        degree[b] = 0
    first, offset = np.arange(touched), np.zeros(touched + 1, np.int64)
    for k in range(member.size):
        a, b = body[member[k], 0], body[member[k], 1]
        if free[a] and free[b]:
            low, high = min(place[a], place[b]), max(place[a], place[b])
            first[high] = min(first[high], low)
    for r in range(touched):
        offset[r + 1] = offset[r] + r + 1 - first[r]
    return first, offset


@kernel
def scaled_rows(member, body, J, free, inverse_mass, inverse, d, compliance, soft, mu, scale, p):
    """G by contact and side, and κ by contact and component, zero where it is not held."""
    G, kappa, L, last = np.zeros((member.size, 2, 3, 6)), np.zeros((member.size, 3)), np.zeros((3, 3)), -1
    for k in range(member.size):
        i = member[k]
        resistance(i, d, compliance, soft, mu, scale, p, kappa[k])
        if kappa[k, 0] == 0.0:
            continue
        for side in range(2):
            b = body[i, side]
            if not free[b]:
                continue
            if b != last:
                lower_factor(inverse[b], L)
                last = b
            for c in range(d):
                j, g = J[i, side, c], G[k, side, c]
                for r in range(3):
                    g[r] = j[r] * math.sqrt(inverse_mass[b, r])
                    g[3 + r] = j[3] * L[0, r] + j[4] * L[1, r] + j[5] * L[2, r]
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
def assemble(member, body, free, place, first, offset, G, kappa, u, d, A, z):
    """A = I + Gᵀ κ G, lower half within the envelope, and z = -Gᵀ κ e."""
    for r in range(first.size):
        for k in range(6):
            A[offset[r + 1] - 1, k, k] = 1.0
    for k in range(member.size):
        i = member[k]
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
