"""Newton's method over all blocks of a small island at once, where sweeps are slow: in mechanisms, whose rows all hang
together, and under bodies that slide on several contacts.

Contacts obey (1) of solvers/cone_newton.py, or (2) under the associated law, and bounded joint rows λ = P(λ - u), all
in the scaled variables r = p/s and s u: F(r, u) = 0 with u = W r + q. With A and B the derivatives of F a step solves

    (A + B (W + α)) dr = -F

dense. W is singular where contacts share a load; α > 0 settles how, and keeps steps short where F is far from linear:
it is lowered after steps that help and raised after others. Steps are taken whole, cut back to cones and bounds. The
best impulses are kept, and it is given up where PATIENCE steps in a row have not bettered them.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.places import delassus
from stickslip.engine.sweep import into_cone, judged, respond
from stickslip.jit import kernel
from stickslip.solvers.cone_newton import alart_curnier, natural_map
from stickslip.solvers.linear import eliminate, substitute

STEPS, PATIENCE = 20, 4
ALPHA, LEAST, CHANGE = 1e-2, 1e-6, 10.0  # α at first and at least, and the factor it changes by
CLOSER = 0.1  # share of tol that it goes down to: a step more costs less than the next start just above tol
MOST_ROWS = 150


@kernel
def newton(
    member, n, sign, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, size, associated, mark,
    error, tol, p, u, z,
):  # fmt: skip
    """Impulses with a smaller residual, in place, where there are some; u and z become theirs. `size` rows in all;
    `mark` (places,) is zero, and so it is left.
    Returns the residual, and whether the island is solved."""
    d = G.shape[1]
    row, at, s = rows_of(member, n, d, size, scale)
    contacts = (size - member.size) // (d - 1)
    W = scaled_matrix(member, sign, start, place, G, compliance, soft, row, s, mark)
    mu_of, shift_of = mu[member[:contacts]], shift[member[:contacts]]
    r, u_r, F = np.empty(size), np.empty(size), np.empty(size)
    M, swaps = np.empty((size, size)), np.empty(size, np.int64)
    A, B = np.empty((contacts, d, d)), np.empty((contacts, d, d))
    best, solved, idle, alpha = p[at], False, 0, ALPHA
    for _ in range(STEPS):
        for x in range(size):
            r[x], u_r[x] = p[at[x]] / s[x], s[x] * u[at[x]]
        if associated:
            natural_map(r, u_r, mu_of, shift_of, F, A, B)
        else:
            alart_curnier(r, u_r, mu_of, shift_of, F, A, B)
        matrix_of_contacts(d, alpha, A, B, W, M)
        for k in range(contacts, member.size):
            bounded_row(d * contacts + k - contacts, lower[member[k]], upper[member[k]], s, alpha, r, u_r, W, F, M)
        if not eliminate(M, swaps):
            break
        substitute(M, swaps, F)
        for x in range(size):
            p[at[x]] -= s[x] * F[x]
        for k in range(member.size):
            i = member[k]
            if i < n:
                into_cone(mu[i], d, d * i, p)
            else:
                p[d * i] = min(max(p[d * i], lower[i]), upper[i])
        respond(member, n, sign, start, place, G, p, z)
        now, solved = judged(
            member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, CLOSER * tol, p, u
        )
        idle, alpha = idle + 1, max(alpha / CHANGE, LEAST) if now < error else alpha * CHANGE
        if now < error:
            idle, error, best = 0, now, p[at]
        if solved or idle == PATIENCE or not now < np.inf:
            break
    if not solved:
        p[at] = best
        respond(member, n, sign, start, place, G, p, z)
        error, solved = judged(
            member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, tol, p, u
        )
    return error, solved


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


@kernel
def matrix_of_contacts(d, alpha, A, B, W, M):
    """The rows of contacts of A + B (W + α)."""
    size = W.shape[0]
    for k in range(A.shape[0]):
        for a in range(d):
            x = d * k + a
            for y in range(size):
                M[x, y] = 0.0
            for c in range(d):
                share = B[k, a, c]
                if share != 0.0:
                    for y in range(size):
                        M[x, y] += share * W[d * k + c, y]
                M[x, d * k + c] += A[k, a, c] + alpha * share


@kernel
def bounded_row(x, lower, upper, s, alpha, r, u, W, F, M):
    """Row x, of a joint: u = 0 within the bounds, else r at one of them."""
    wanted = r[x] - u[x]
    low, high = lower / s[x], upper / s[x]
    inside = low < wanted < high
    for y in range(W.shape[0]):
        M[x, y] = W[x, y] if inside else 0.0
    M[x, x] += alpha if inside else 1.0
    F[x] = u[x] if inside else r[x] - (low if wanted <= low else high)
