"""Newton's method over all blocks of a small island at once, where sweeps are slow: in mechanisms, whose rows all hang
together, and under bodies that slide on several contacts.

Contacts obey (1) of solvers/cone_newton.py, or (2) under the associated law, and bounded joint rows λ = P(λ - u), all
in the scaled variables r = p/s and s u: F(r, u) = 0 with u = W r + q. With A and B the derivatives of F a step solves

    (A + B (W + α)) dr = -F                                                                                    (a)

dense. W is singular where contacts share a load; α > 0 keeps steps short there, and where F is far from linear: it is
lowered after steps that help and raised after others. Steps are taken whole, cut back to cones and bounds. The best
impulses are kept, and it is given up where PATIENCE steps in a row have not bettered them.

Which of many impulses that move the bodies alike? Those of springs, equally stiff at all blocks, in the limit of stiff
ones: the least Σ p² [1]. They solve F(r, u + e r) = 0 with e -> 0, e = ε s². In islands of up to SPREAD_ROWS a few
steps of Newton's method at a small ε find them; then steps (a) with e for α, which leave loads that move nothing as
they are, take back what ε does to the velocities.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011,
    (24).
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.places import delassus
from stickslip.engine.sweep import into_cone, judged, respond
from stickslip.jit import bare, kernel
from stickslip.solvers.cone_newton import alart_curnier, natural_map
from stickslip.solvers.linear import eliminate, substitute

STEPS, PATIENCE = 20, 4
ALPHA, LEAST, CHANGE = 1e-2, 1e-6, 10.0  # α at first and at least, and the factor it changes by
CLOSER = 0.1  # share of tol that it goes down to: a step more costs less than the next start just above tol
MOST_ROWS = 150
SOFT = 1e-6  # ε, of the largest that e becomes
SPREAD_ROWS = 24  # up to which the least loads are found: those of a body on eight contacts
SPREADS, BACK = 4, 2  # steps at ε at most, and back


@kernel
def newton(
    member, n, sign, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, size, associated, mark,
    error, tol, p, u, z,
):  # fmt: skip
    """Impulses with a smaller residual, in place, where there are some; u and z become theirs. `size` rows in all;
    `mark` (places,) is zero, and so it is left. Returns the residual, and whether the island is solved."""
    d = G.shape[1]
    row, at, s = rows_of(member, n, d, size, scale)
    contacts = (size - member.size) // (d - 1)
    W = scaled_matrix(member, sign, start, place, G, compliance, soft, row, s, mark)
    mu_of, shift_of = mu[member[:contacts]], shift[member[:contacts]]
    low, high = lower[member[contacts:]], upper[member[contacts:]]
    r, u_r, F = np.empty(size), np.empty(size), np.empty(size)
    M, swaps = np.empty((size, size)), np.empty(size, np.int64)
    A, B = np.empty((contacts, d, d)), np.empty((contacts, d, d))
    kept, solved, idle, alpha, e = p[at], False, 0, ALPHA, np.empty(size)
    if size <= SPREAD_ROWS:
        softly, largest = True, np.max(s)
        for x in range(size):
            e[x] = SOFT * (s[x] / largest) ** 2
        for k in range(SPREADS + BACK):
            read(at, s, p, u, r, u_r)
            if softly:
                add_product(e, r, u_r)
                linearise(associated, mu_of, shift_of, low, high, s, r, u_r, F, A, B)
                softly = k == 0 or (k < SPREADS and not small(F, CLOSER * tol, r))
                if softly:
                    fill_matrix(d, e, A, B, W, low, high, s, r, u_r, M)
                    if not eliminate(M, swaps):
                        break
                else:
                    read(at, s, p, u, r, u_r)
            if not softly:
                linearise(associated, mu_of, shift_of, low, high, s, r, u_r, F, A, B)
            substitute(M, swaps, F)
            take(member, n, d, mu, lower, upper, at, s, F, p)
            respond(member, n, sign, start, place, G, p, z)
            now, solved = judged(
                member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, CLOSER * tol, p, u
            )
            if solved and not softly:
                return now, True
        p[at] = kept
        respond(member, n, sign, start, place, G, p, z)
        judged(member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, tol, p, u)
    for _ in range(STEPS):
        e[:] = alpha
        read(at, s, p, u, r, u_r)
        linearise(associated, mu_of, shift_of, low, high, s, r, u_r, F, A, B)
        fill_matrix(d, e, A, B, W, low, high, s, r, u_r, M)
        if not eliminate(M, swaps):
            break
        substitute(M, swaps, F)
        take(member, n, d, mu, lower, upper, at, s, F, p)
        respond(member, n, sign, start, place, G, p, z)
        now, solved = judged(
            member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, CLOSER * tol, p, u
        )
        idle, alpha = idle + 1, max(alpha / CHANGE, LEAST) if now < error else alpha * CHANGE
        if now < error:
            idle, error, kept = 0, now, p[at]
        if solved or idle == PATIENCE or not now < np.inf:
            break
    if not solved:
        p[at] = kept
        respond(member, n, sign, start, place, G, p, z)
        error, solved = judged(
            member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, tol, p, u
        )
    return error, solved


@bare
def add_product(e, r, u):
    """u <- u + e r"""
    for x in range(r.size):
        u[x] += e[x] * r[x]


@bare
def small(F, share, r):
    """Is F at most so large a share of r?"""
    F_F, r_r = 0.0, 0.0
    for x in range(r.size):
        F_F, r_r = F_F + F[x] ** 2, r_r + r[x] ** 2
    return share * share * r_r >= F_F


@bare
def read(at, s, p, u, r, u_r):
    """The scaled impulses and velocities of the rows."""
    for x in range(at.size):
        r[x], u_r[x] = p[at[x]] / s[x], s[x] * u[at[x]]


@kernel
def linearise(associated, mu, shift, low, high, s, r, u, F, A, B):
    """F of all rows, and its derivatives at contacts."""
    if associated:
        natural_map(r, u, mu, shift, F, A, B)
    else:
        alart_curnier(r, u, mu, shift, F, A, B)
    first = r.size - low.size
    for k in range(low.size):
        x = first + k
        F[x] = r[x] - min(max(r[x] - u[x], low[k] / s[x]), high[k] / s[x])


@bare
def take(member, n, d, mu, lower, upper, at, s, F, p):
    """A step whole, cut back to cones and bounds."""
    for x in range(at.size):
        p[at[x]] -= s[x] * F[x]
    for k in range(member.size):
        i = member[k]
        if i < n:
            into_cone(mu[i], d, d * i, p)
        else:
            p[d * i] = min(max(p[d * i], lower[i]), upper[i])


@kernel
def rows_of(member, n, d, size, scale):
    """Where the rows of each block begin, the place in p of each row, contacts first, and its scale."""
    row, at, s = np.zeros(member.size + 1, np.int64), np.empty(size, np.int64), np.empty(size)
    for k in range(member.size):
        i = member[k]
        row[k + 1] = row[k] + (d if i < n else 1)
        for x in range(row[k], row[k + 1]):
            at[x], s[x] = d * i + x - row[k], scale[i]
    return row, at, s


@kernel
def scaled_matrix(member, sign, start, place, G, compliance, soft, row, s, mark):
    """s (W + ε) s of the rows of some blocks."""
    W = delassus(start, place, sign, G, member, row, mark)
    for k in range(member.size):
        for x in range(row[k], row[k + 1]):
            W[x, x] += compliance[member[k]] if x == row[k] else soft[member[k]] if soft.size > 0 else 0.0
    for x in range(s.size):
        for y in range(s.size):
            W[x, y] *= s[x] * s[y]
    return W


@bare
def fill_matrix(d, e, A, B, W, low, high, s, r, u, M):
    """A + B (W + e), where A and B of a bounded row that is inside its bounds are 0 and 1, of others 1 and 0."""
    size, contacts = r.size, A.shape[0]
    for k in range(contacts):
        for a in range(d):
            x = d * k + a
            for y in range(size):
                M[x, y] = 0.0
            for c in range(d):
                share = B[k, a, c]
                if share != 0.0:
                    for y in range(size):
                        M[x, y] += share * W[d * k + c, y]
                M[x, d * k + c] += A[k, a, c] + e[d * k + c] * share
    for k in range(low.size):
        x = d * contacts + k
        inside = low[k] / s[x] < r[x] - u[x] < high[k] / s[x]
        for y in range(size):
            M[x, y] = W[x, y] if inside else 0.0
        M[x, x] += e[x] if inside else 1.0
