"""Newton's method for a body on a few contacts, in its six velocities: the loads of a box that slides.

The problem and the loads that are chosen are those of engine/newton.py: Coulomb's law as (1) of solvers/cone_newton.py,
with compliances e -> 0 that make the loads those of springs. All blocks of the island act on one place, so that with
the rows H = s G of the contacts, r = p/s and z = Hᵀ r

    v = s q + H z + ε r,      F(r, v + e r) = 0                                                                (1)

A step of Newton's method, A dr + B (H dz + E dr) = -F with E = ε + e and dz = Hᵀ dr, is block by block

    dr = -c - C H dz,      c = T⁻¹ F,   C = T⁻¹ B,   T = A + B E                                               (2)

    (1 + Hᵀ C H) dz = -Hᵀ c                                                                                    (3)

six equations however many contacts there are, where those of engine/newton.py are as many as rows. With a = μ y_n/|y_t|
and t = y_t/|y_t|, β = a/(1 - (1 - E_t) a),

    stick   T⁻¹ = C = 1/E                          open   T⁻¹ = 1,  C = 0
    slip    T⁻¹ = [1/E_n, 0; μ t (1 - E_n)/E_n, 1 + β (1 - E_t)(1 - t tᵀ)],      C = [1/E_n, 0; μ t/E_n, β (1 - t tᵀ)]
"""

from __future__ import annotations

import math

from stickslip.engine.newton import BACK, CLOSER, SOFT, SPREAD_ROWS, SPREADS
from stickslip.engine.sweep import into_cone, measured
from stickslip.jit import bare
from stickslip.solvers.linear import eliminate, substitute

MOST_CONTACTS = SPREAD_ROWS // 3
EACH = 46  # numbers of a contact that it needs room for, and 48 in all


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
    member, b, n, start, G, compliance, soft, mu, shift, scale, lower, upper, q, numbers, swaps, error,
    tol, p, u, z,
):  # fmt: skip
    """The impulses p of contacts that act on place b, from those at hand with the residual `error`, and u and z: solved
    to a share of tol, or as they were. Returns the residual, and whether it is solved. `numbers` and `swaps` (6,) are
    room."""
    m = member.size
    H, r, v, kept = (
        numbers[: 18 * m].reshape(m, 3, 6), numbers[18 * m : 21 * m].reshape(m, 3),
        numbers[21 * m : 24 * m].reshape(m, 3), numbers[24 * m : 27 * m].reshape(m, 3),
    )  # fmt: skip
    F, E, T, C = (
        numbers[27 * m : 30 * m].reshape(m, 3), numbers[30 * m : 32 * m].reshape(m, 2),
        numbers[32 * m : 38 * m].reshape(m, 6), numbers[38 * m : 44 * m].reshape(m, 6),
    )  # fmt: skip
    e, hard = numbers[44 * m : 45 * m], numbers[45 * m : 46 * m]
    K, d_z = numbers[EACH * m : EACH * m + 36].reshape(6, 6), numbers[EACH * m + 36 : EACH * m + 42]
    largest = 0.0
    for k in range(m):
        largest = max(largest, scale[member[k]])
    for k in range(m):
        i = member[k]
        s, slack = scale[i], soft[i] if soft.size > 0 else 0.0
        e[k], hard[k] = SOFT * (s / largest) ** 2, 0.0
        E[k, 0], E[k, 1] = s * s * compliance[i] + e[k], s * s * slack + e[k]
        for c in range(3):
            kept[k, c] = p[3 * i + c]
            for a in range(6):
                H[k, c, a] = s * G[start[i], c, a]
        into_cone(mu[i], 3, 3 * i, p)
        for c in range(3):
            r[k, c] = p[3 * i + c] / s
    respond(H, r, z[b])
    softly = True
    for k in range(SPREADS + BACK):
        velocities(member, scale, q, H, e, E, z[b], r, v)
        if softly:
            small = defect(member, mu, e, r, v, CLOSER * tol, F)
            softly = k == 0 or (k < SPREADS and not small)
            if softly:
                linearise(member, mu, e, E, r, v, T, C)
                fill(H, C, K)
                if not eliminate(K, swaps):
                    break
        if not softly:
            defect(member, mu, hard, r, v, tol, F)
        solve(H, T, C, K, swaps, F, d_z)
        for j in range(m):
            for c in range(3):
                r[j, c] -= F[j, c]
            into_cone(mu[member[j]], 3, 0, r[j])
        respond(H, r, z[b])
        if not softly:
            velocities(member, scale, q, H, e, E, z[b], r, v)
            write(member, scale, r, v, p, u)
            now, solved = measured(member, n, mu, shift, scale, lower, upper, q, CLOSER * tol, p, u)
            if solved:
                return now, True
    for j in range(m):
        for c in range(3):
            r[j, c] = kept[j, c] / scale[member[j]]
    respond(H, r, z[b])
    velocities(member, scale, q, H, e, E, z[b], r, v)
    write(member, scale, r, v, p, u)
    for j in range(m):
        for c in range(3):
            p[3 * member[j] + c] = kept[j, c]
    return error, False


@bare
def write(member, scale, r, v, p, u):
    """p and u from their scaled values."""
    for k in range(r.shape[0]):
        s, at = scale[member[k]], 3 * member[k]
        for c in range(3):
            p[at + c], u[at + c] = s * r[k, c], v[k, c] / s


@bare
def respond(H, r, z):
    """z <- Hᵀ r."""
    for a in range(6):
        z[a] = 0.0
    for k in range(r.shape[0]):
        x, y, w, h = r[k, 0], r[k, 1], r[k, 2], H[k]
        for a in range(6):
            z[a] += h[0, a] * x + h[1, a] * y + h[2, a] * w


@bare
def velocities(member, scale, q, H, e, E, z, r, v):
    """v of (1)."""
    for k in range(r.shape[0]):
        s, at, h = scale[member[k]], 3 * member[k], H[k]
        n, t = E[k, 0] - e[k], E[k, 1] - e[k]  # ε
        x, y, w = s * q[at] + n * r[k, 0], s * q[at + 1] + t * r[k, 1], s * q[at + 2] + t * r[k, 2]
        for a in range(6):
            x, y, w = x + h[0, a] * z[a], y + h[1, a] * z[a], w + h[2, a] * z[a]
        v[k, 0], v[k, 1], v[k, 2] = x, y, w


@bare
def defect(member, mu, give, r, v, share, F):
    """F at (r, v + give r). Is it at most so large a share of r?"""
    F_F, r_r = 0.0, 0.0
    for k in range(r.shape[0]):
        r_n, r_1, r_2 = r[k, 0], r[k, 1], r[k, 2]
        x_n, x_1, x_2 = v[k, 0] + give[k] * r_n, v[k, 1] + give[k] * r_1, v[k, 2] + give[k] * r_2
        y_1, y_2 = r_1 - x_1, r_2 - x_2
        square, most = y_1 * y_1 + y_2 * y_2, mu[member[k]] * (r_n - x_n)
        if r_n <= x_n:  # open
            x_n, x_1, x_2 = r_n, r_1, r_2
        elif square > most * most:  # slip
            across = most / math.sqrt(square)
            x_1, x_2 = r_1 - across * y_1, r_2 - across * y_2
        F[k, 0], F[k, 1], F[k, 2] = x_n, x_1, x_2
        F_F, r_r = F_F + x_n * x_n + x_1 * x_1 + x_2 * x_2, r_r + r_n * r_n + r_1 * r_1 + r_2 * r_2
    return share * share * r_r >= F_F


@bare
def linearise(member, mu, e, E, r, v, T, C):
    """T⁻¹ and C of (2) at (r, v + e r), lower triangles by rows."""
    for k in range(r.shape[0]):
        m, give, E_n, E_t = mu[member[k]], 1.0 - e[k], E[k, 0], E[k, 1]
        y_n, y_1, y_2 = give * r[k, 0] - v[k, 0], give * r[k, 1] - v[k, 1], give * r[k, 2] - v[k, 2]
        square = y_1 * y_1 + y_2 * y_2
        if y_n <= 0.0:  # open
            put(T[k], 1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
            put(C[k], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        elif square <= (m * y_n) ** 2:  # stick
            put(T[k], 1.0 / E_n, 0.0, 0.0, 1.0 / E_t, 0.0, 1.0 / E_t)
            put(C[k], 1.0 / E_n, 0.0, 0.0, 1.0 / E_t, 0.0, 1.0 / E_t)
        else:  # slip
            long, over_E = 1.0 / math.sqrt(square), 1.0 / E_n
            t_1, t_2, a = y_1 * long, y_2 * long, m * y_n * long
            beta, given, taken = a / (1.0 - (1.0 - E_t) * a), m * (1.0 - E_n) * over_E, m * over_E
            x, y, z = t_2 * t_2, -t_1 * t_2, t_1 * t_1  # 1 - t tᵀ
            gamma = beta * (1.0 - E_t)
            put(T[k], over_E, given * t_1, given * t_2, 1.0 + gamma * x, gamma * y, 1.0 + gamma * z)
            put(C[k], over_E, taken * t_1, taken * t_2, beta * x, beta * y, beta * z)


@bare
def put(M, n_n, n_1, n_2, m_11, m_12, m_22):
    M[0], M[1], M[2], M[3], M[4], M[5] = n_n, n_1, n_2, m_11, m_12, m_22


@bare
def fill(H, C, K):
    """The matrix of (3)."""
    for a in range(6):
        for c in range(6):
            K[a, c] = 0.0
        K[a, a] = 1.0
    for k in range(C.shape[0]):
        h, n_n, n_1, n_2, m_11, m_12, m_22 = H[k], C[k, 0], C[k, 1], C[k, 2], C[k, 3], C[k, 4], C[k, 5]
        for a in range(6):
            x = n_n * h[0, a] + n_1 * h[1, a] + n_2 * h[2, a]
            y, w = m_11 * h[1, a] + m_12 * h[2, a], m_12 * h[1, a] + m_22 * h[2, a]
            for c in range(6):
                K[a, c] += x * h[0, c] + y * h[1, c] + w * h[2, c]


@bare
def solve(H, T, C, K, swaps, F, z):
    """F <- -dr of (2) and (3), with the factors of K; z is room."""
    for k in range(F.shape[0]):
        f_n, f_1, f_2 = F[k, 0], F[k, 1], F[k, 2]
        F[k, 0] = T[k, 0] * f_n
        F[k, 1] = T[k, 1] * f_n + T[k, 3] * f_1 + T[k, 4] * f_2
        F[k, 2] = T[k, 2] * f_n + T[k, 4] * f_1 + T[k, 5] * f_2
    respond(H, F, z)
    substitute(K, swaps, z)
    for k in range(F.shape[0]):  # z is -dz
        x, y, w, h = 0.0, 0.0, 0.0, H[k]
        for a in range(6):
            x, y, w = x + h[0, a] * z[a], y + h[1, a] * z[a], w + h[2, a] * z[a]
        F[k, 0] -= C[k, 0] * x
        F[k, 1] -= C[k, 1] * x + C[k, 3] * y + C[k, 4] * w
        F[k, 2] -= C[k, 2] * x + C[k, 4] * y + C[k, 5] * w
