"""Newton's method for a body on a few contacts, in its six velocities: the loads of a box that slides.

The problem and the loads that are chosen are those of engine/newton.py: a cone law F(r, v) = 0 in scaled variables, as
in solvers/cone_newton.py, with compliances e -> 0 that make the loads those of springs. All blocks of the island act on
one place, so that with the rows H = s G of the contacts, r = p/s and z = Hᵀ r

    v = s q + H z + ε r,      F(r, v + e r) = 0                                                                (1)

A step of Newton's method, A dr + B (H dz + E dr) = -F with E = ε + e and dz = Hᵀ dr, is block by block

    dr = -T⁻¹ F - C H dz,      T = A + B E,   C = T⁻¹ B                                                        (2)

    (1 + Hᵀ C H) dz = -Hᵀ T⁻¹ F                                                                                (3)

six equations however many contacts there are, where those of engine/newton.py are as many as rows.
"""

from __future__ import annotations

from stickslip.engine.newton import BACK, SOFT, SPREAD_ROWS, SPREADS, length, linearise
from stickslip.engine.sweep import into_cone, measured
from stickslip.jit import bare
from stickslip.problems.blocks import invert_block
from stickslip.solvers.linear import eliminate, substitute

MOST_CONTACTS = SPREAD_ROWS // 3


@bare
def one_place(member, n, start, place):
    """The place that all blocks act on, where they are some contacts that act on one alone; else -1."""
    if not 1 < member.size <= MOST_CONTACTS:
        return -1
    b = place[start[member[0]]]
    for k in range(member.size):
        i = member[k]
        if i >= n or start[i + 1] != start[i] + 1 or place[start[i]] != b:
            return -1
    return b


@bare
def find_loads(
    member, b, n, start, G, compliance, soft, mu, shift, scale, lower, upper, q, associated, numbers, swaps, error, tol,
    p, u, z,
):  # fmt: skip
    """The impulses p of contacts that act on place b, from those at hand with the residual `error`, and u and z: solved
    to tol, or as they were. Returns the residual, and whether it is solved. `numbers` and `swaps` (6,) are room."""
    m, size = member.size, 3 * member.size
    H, blocks = numbers[: 6 * size].reshape(m, 3, 6), numbers[6 * size : 18 * size].reshape(4, m, 3, 3)
    A, B, T, C = blocks[0], blocks[1], blocks[2], blocks[3]
    vectors = numbers[18 * size : 25 * size].reshape(7, size)
    r, v, x, F, e, eps, kept = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5], vectors[6]
    law = numbers[25 * size : 25 * size + 2 * m].reshape(2, m)
    K, d_z = numbers[26 * size : 26 * size + 36].reshape(6, 6), numbers[26 * size + 36 : 26 * size + 42]
    none, largest = numbers[:0], 0.0
    for k in range(m):
        largest = max(largest, scale[member[k]])
    for k in range(m):
        i = member[k]
        s = scale[i]
        law[0, k], law[1, k] = mu[i], shift[i]
        for c in range(3):
            slack = compliance[i] if c == 0 else soft[i] if soft.size > 0 else 0.0
            e[3 * k + c], eps[3 * k + c], kept[3 * k + c] = SOFT * (s / largest) ** 2, s * s * slack, p[3 * i + c]
            for a in range(6):
                H[k, c, a] = s * G[start[i], c, a]
        into_cone(mu[i], 3, 3 * i, p)
        for c in range(3):
            r[3 * k + c] = p[3 * i + c] / s
    respond(H, r, z[b])
    softly = True
    for k in range(SPREADS + BACK):
        velocities(member, scale, q, H, eps, z[b], r, v)
        if softly:
            for j in range(size):
                x[j] = v[j] + e[j] * r[j]
            linearise(associated, law[0], law[1], none, none, none, r, x, F, A, B)
            softly = k == 0 or (k < SPREADS and length(F) > tol * length(r))
            if softly:
                divide(A, B, eps, e, T, C)
                fill(H, C, K)
                if not eliminate(K, swaps):
                    break
        if not softly:
            linearise(associated, law[0], law[1], none, none, none, r, v, F, A, B)
        solve(H, T, C, K, swaps, F, x, d_z)
        for j in range(size):
            r[j] -= F[j]
        for j in range(m):
            into_cone(law[0, j], 3, 3 * j, r)
        respond(H, r, z[b])
        if not softly:
            velocities(member, scale, q, H, eps, z[b], r, v)
            write(member, scale, r, v, p, u)
            now, solved = measured(member, n, mu, shift, scale, lower, upper, q, tol, p, u)
            if solved:
                return now, True
    for j in range(size):
        r[j] = kept[j] / scale[member[j // 3]]
    respond(H, r, z[b])
    velocities(member, scale, q, H, eps, z[b], r, v)
    write(member, scale, r, v, p, u)
    for j in range(size):
        p[3 * member[j // 3] + j % 3] = kept[j]
    return error, False


@bare
def write(member, scale, r, v, p, u):
    """p and u from their scaled values."""
    for k in range(member.size):
        s, at = scale[member[k]], 3 * member[k]
        for c in range(3):
            p[at + c], u[at + c] = s * r[3 * k + c], v[3 * k + c] / s


@bare
def respond(H, r, z):
    """z <- Hᵀ r."""
    for a in range(6):
        z[a] = 0.0
    for k in range(H.shape[0]):
        x, y, w, h = r[3 * k], r[3 * k + 1], r[3 * k + 2], H[k]
        for a in range(6):
            z[a] += h[0, a] * x + h[1, a] * y + h[2, a] * w


@bare
def velocities(member, scale, q, H, eps, z, r, v):
    """v of (1)."""
    felt(H, z, v)
    for k in range(member.size):
        s, at = scale[member[k]], 3 * member[k]
        for c in range(3):
            j = 3 * k + c
            v[j] += s * q[at + c] + eps[j] * r[j]


@bare
def felt(H, z, v):
    """v <- H z."""
    for k in range(H.shape[0]):
        x, y, w, h = 0.0, 0.0, 0.0, H[k]
        for a in range(6):
            x, y, w = x + h[0, a] * z[a], y + h[1, a] * z[a], w + h[2, a] * z[a]
        v[3 * k], v[3 * k + 1], v[3 * k + 2] = x, y, w


@bare
def divide(A, B, eps, e, T, C):
    """T⁻¹ and C of (2)."""
    for k in range(A.shape[0]):
        a, b, n, t = A[k], B[k], eps[3 * k] + e[3 * k], eps[3 * k + 1] + e[3 * k + 1]  # E
        det, n_n, n_1, n_2, o_n, o_1, o_2, w_n, w_1, w_2 = invert_block(
            a[0, 0] + b[0, 0] * n, a[0, 1] + b[0, 1] * t, a[0, 2] + b[0, 2] * t,
            a[1, 0] + b[1, 0] * n, a[1, 1] + b[1, 1] * t, a[1, 2] + b[1, 2] * t,
            a[2, 0] + b[2, 0] * n, a[2, 1] + b[2, 1] * t, a[2, 2] + b[2, 2] * t,
        )  # fmt: skip
        inverse, over = T[k], 1.0 / det
        inverse[0, 0], inverse[0, 1], inverse[0, 2] = n_n * over, n_1 * over, n_2 * over
        inverse[1, 0], inverse[1, 1], inverse[1, 2] = o_n * over, o_1 * over, o_2 * over
        inverse[2, 0], inverse[2, 1], inverse[2, 2] = w_n * over, w_1 * over, w_2 * over
        for c in range(3):
            x, y, w = b[0, c], b[1, c], b[2, c]
            for r in range(3):
                C[k, r, c] = inverse[r, 0] * x + inverse[r, 1] * y + inverse[r, 2] * w


@bare
def fill(H, C, K):
    """The matrix of (3)."""
    for a in range(6):
        for c in range(6):
            K[a, c] = 0.0
        K[a, a] = 1.0
    for k in range(C.shape[0]):
        h, M = H[k], C[k]
        for c in range(6):
            x, y, w = h[0, c], h[1, c], h[2, c]
            f = M[0, 0] * x + M[0, 1] * y + M[0, 2] * w
            g = M[1, 0] * x + M[1, 1] * y + M[1, 2] * w
            l = M[2, 0] * x + M[2, 1] * y + M[2, 2] * w  # noqa: E741
            for a in range(6):
                K[a, c] += h[0, a] * f + h[1, a] * g + h[2, a] * l


@bare
def solve(H, T, C, K, swaps, F, x, z):
    """F <- -dr of (2) and (3), with the factors of K; x and z are room."""
    multiply(T, F, x)
    respond(H, x, z)
    substitute(K, swaps, z)  # -dz
    felt(H, z, F)
    for k in range(C.shape[0]):
        M, f, g, h = C[k], F[3 * k], F[3 * k + 1], F[3 * k + 2]
        for c in range(3):
            F[3 * k + c] = x[3 * k + c] - (M[c, 0] * f + M[c, 1] * g + M[c, 2] * h)


@bare
def multiply(T, F, x):
    """x <- T F, block by block."""
    for k in range(T.shape[0]):
        M, f, g, h = T[k], F[3 * k], F[3 * k + 1], F[3 * k + 2]
        for c in range(3):
            x[3 * k + c] = M[c, 0] * f + M[c, 1] * g + M[c, 2] * h
