"""Nonsmooth Gauss–Seidel in the velocities of the bodies, for the compiled loop: no Delassus matrix but its own blocks.

Contact after contact is solved exactly with the others held (solvers/contact.py), and its bodies are moved at once:

    u_i = J_i v + w_i + c_i p_i,    p_i <- the impulse of contact i alone under (W_ii, u_i - W_ii p_i),
    v <- v + M⁻¹ J_iᵀ Δp_i,         W_ii = J_i M⁻¹ J_iᵀ + c_i

with w the terms of gap and impact and c the compliance, both of the normals alone. A sweep costs what the rows of the
contacts cost, however many of them share a body. It is not over-relaxed: from the impulses of the step before there is
little left to do, and over-relaxation stirs the corners of a box, whose loads are not determined.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.dynamics.contact_rows import move, push, relative
from stickslip.jit import inlined, kernel
from stickslip.problems.residual import by_velocities, cone_lengths, over
from stickslip.scene.model import Floats
from stickslip.engine.correction import correct
from stickslip.solvers.nsgs import impulse, invert_blocks, planar_impulse, within

SLOW = 2  # sweeps after which all contacts are corrected at once


class Law(NamedTuple):
    """What a step asks of its contacts; d = 2 in the plane, 3 in space."""

    q: Floats  # (d nc,)   velocities of the contacts if there were no impulses, with w
    w: Floats  # (nc,)   terms of gap and impact at the normals
    compliance: Floats  # (nc,)   at the normals
    mu: Floats  # (nc,)
    own: Floats  # (d², nc)   W_ii, entries by rows
    scales: Floats  # (3, nc)   ones, and what makes impulses and velocities comparable: 1/√ρ, √ρ, ρ = d / tr W_ii


class Answer(NamedTuple):
    """What a step finds, and where it starts from."""

    start: Floats  # (d nc,)   impulses of the step before
    trend: Floats  # (d nc,)   how they changed in it
    p: Floats  # (d nc,)   impulses
    u: Floats  # (d nc,)   velocities of the contacts, with w and c p
    v: Floats  # (nb, 6)   velocities of the bodies
    V: Floats  # (nc, 9)   W_ii⁻¹ where that is of use, see solvers/nsgs.py; none in the plane


@kernel
def room_for_law(d, contacts):
    return Law(
        np.empty(d * contacts),
        np.empty(contacts),
        np.empty(contacts),
        np.empty(contacts),
        np.empty((d * d, contacts)),
        np.empty((3, contacts)),
    )


@kernel
def room_for_answer(d, contacts, v):
    size = d * contacts
    return Answer(
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty_like(v),
        np.empty((contacts if d == 3 else 0, 9)),
    )


@inlined
def settle(rows, bodies, moving, free, law, moved, tol, max_iter, patience, answer):
    """Sweep, once at least, until the residual is at most tol. Returns the sweeps, the residual and whether it is
    solved.

    One sweep is made even where p is good enough: errors within tol, left alone, would add up from step to step. Where
    sweeps are slow, all contacts are corrected at once, as long as that does more.
    """
    p, u, v, V, free_v = answer.p, answer.u, answer.v, answer.V, bodies.v
    if moved:
        start(rows, moving, law, free_v, answer.trend, tol, p, u, v)
    respond(rows, law, free_v, p, v)
    invert_blocks(law.own, law.mu, V)
    error, promising, due, last, before, helps = np.inf, 0.0, 1, 0, 0.0, True
    for sweeps in range(1, max_iter + 1):
        change = sweep(rows, moving, law, V, p, v)
        if sweeps in (due, max_iter) or not promising < change < np.inf:
            error, solved = judged(rows, moving, law, free_v, tol, p, u, v)
            if solved:
                return sweeps, error, True
            if sweeps >= SLOW and helps:
                error_after, solved = corrected(rows, bodies, moving, free, law, tol, error, p, u, v)
                if solved:
                    return sweeps, error_after, True
                helps = error_after < 0.5 * error
                error = error_after
            hope = patience if last >= 8 else 4 * patience  # the first rate is not much to go by
            slow = not helps and last >= 4 and not within(hope, sweeps - last, before, error, tol)
            if slow or change == 0.0 or not error < np.inf:
                return sweeps, error, False
            promising, due = change * tol / error, sweeps + 2 if helps and sweeps >= SLOW else 2 * sweeps
            last, before = sweeps, error
    return max_iter, error, False


@kernel
def corrected(rows, bodies, moving, free, law, tol, error, p, u, v):
    """Correct all contacts at once, if that makes the residual smaller. p, u and v are left in place. Returns the
    residual and whether it is solved."""
    delta, trial = np.empty_like(p), np.empty_like(p)
    if not correct(rows, free, bodies.inverse_mass, bodies.inverse, law, p, u, delta):
        return error, False
    extrapolate(law.mu, p, 1.0, delta, trial)
    error_there, solved = judged(rows, moving, law, bodies.v, tol, trial, u, v)
    if error_there < error:
        p[:] = trial
        return error_there, solved
    respond(rows, law, bodies.v, p, v)
    return error, False


@kernel
def start(rows, moving, law, free_v, trend, tol, p, u, v):
    """Replace p by the best of p, p + trend and p - trend/2.

    The second follows a smooth motion. The third is for a contact that closed a gap in one step and stopped in the
    next: it rests with the mean of these impulses, and either of them would make it open again.
    """
    best, trial, least = p.copy(), np.empty_like(p), np.inf
    for share in (0.0, 1.0, -0.5):
        extrapolate(law.mu, p, share, trend, trial)
        error, _ = judged(rows, moving, law, free_v, tol, trial, u, v)
        if error < least:
            best[:], least = trial, error
    p[:] = best


@kernel
def extrapolate(mu, p, share, trend, ahead):
    """p + share * trend, cut back to the cones."""
    d = p.size // mu.size
    for i in range(mu.size):
        b, square = d * i, 0.0
        for c in range(d):
            ahead[b + c] = p[b + c] + share * trend[b + c]
        for c in range(1, d):
            square += ahead[b + c] ** 2
        normal = max(ahead[b], 0.0)
        ahead[b] = normal
        if square > (mu[i] * normal) ** 2:
            for c in range(1, d):
                ahead[b + c] *= mu[i] * normal / math.sqrt(square)


@kernel
def judged(rows, moving, law, free_v, tol, p, u, v):
    """The velocities v and u that p leads to, in place; its residual, and whether it solves the problem. The measures
    are those of problems/residual.py, without its arrays."""
    respond(rows, law, free_v, p, v)
    velocities(rows, moving, law, p, v, u)
    one, force, speed = law.scales[0], law.scales[1], law.scales[2]
    distance, size_p, size_u, size_q = cone_lengths(p, u, law.q, law.mu, law.mu, one, one)
    error = over(distance, max(size_q, size_p, size_u))
    if not error <= tol:
        return error, False
    distance, size_p, size_u, size_q = cone_lengths(p, u, law.q, law.mu, law.mu, force, speed)
    return error, by_velocities(distance, size_p, size_u, size_q) <= math.sqrt(tol)


@kernel
def sweep(rows, moving, law, V, p, v):
    """One pass over the contacts in order; p and v are updated in place. Returns |Δp|."""
    body, J, Y, w, compliance, mu, D = rows.body, rows.jacobian, rows.response, law.w, law.compliance, law.mu, law.own
    d = 2 if D.shape[0] == 4 else 3
    total = 0.0
    for i in range(mu.size):
        a, b, at = body[i, 0], body[i, 1], d * i
        p_n, p_1, p_2 = p[at], p[at + 1], p[at + 2] if d == 3 else 0.0
        u_n, u_1, u_2 = w[i] + compliance[i] * p_n, 0.0, 0.0
        if moving[a]:
            n, t, o = relative(J[i, 0], v[a])
            u_n, u_1, u_2 = u_n + n, u_1 + t, u_2 + o
        if moving[b]:
            n, t, o = relative(J[i, 1], v[b])
            u_n, u_1, u_2 = u_n + n, u_1 + t, u_2 + o
        if d == 3:
            u_n -= D[0, i] * p_n + D[1, i] * p_1 + D[2, i] * p_2
            u_1 -= D[3, i] * p_n + D[4, i] * p_1 + D[5, i] * p_2
            u_2 -= D[6, i] * p_n + D[7, i] * p_1 + D[8, i] * p_2
            x_n, x_1, x_2 = impulse(D, V, mu[i], False, i, u_n, u_1, u_2)
        else:
            u_n -= D[0, i] * p_n + D[1, i] * p_1
            u_1 -= D[2, i] * p_n + D[3, i] * p_1
            x_n, x_1 = planar_impulse(D, mu[i], False, i, u_n, u_1)
            x_2 = 0.0
        change = (x_n - p_n) ** 2 + (x_1 - p_1) ** 2 + (x_2 - p_2) ** 2
        if change == 0.0:
            continue
        total += change
        p[at], p[at + 1] = x_n, x_1
        if d == 3:
            p[at + 2] = x_2
        move(Y[i, 0], x_n - p_n, x_1 - p_1, x_2 - p_2, v[a])
        move(Y[i, 1], x_n - p_n, x_1 - p_1, x_2 - p_2, v[b])
    return math.sqrt(total)


@kernel
def respond(rows, law, free_v, p, v):
    """v = v_free + M⁻¹ Jᵀ p."""
    for b in range(v.shape[0]):
        for k in range(6):
            v[b, k] = free_v[b, k]
    push(rows, law.mu.size, p, v)


@kernel
def velocities(rows, moving, law, p, v, u):
    """u = J v + w + c p."""
    d = 2 if law.own.shape[0] == 4 else 3
    for i in range(law.mu.size):
        a, b = rows.body[i, 0], rows.body[i, 1]
        u_n, u_1, u_2 = law.w[i] + law.compliance[i] * p[d * i], 0.0, 0.0
        if moving[a]:
            n, t, o = relative(rows.jacobian[i, 0], v[a])
            u_n, u_1, u_2 = u_n + n, u_1 + t, u_2 + o
        if moving[b]:
            n, t, o = relative(rows.jacobian[i, 1], v[b])
            u_n, u_1, u_2 = u_n + n, u_1 + t, u_2 + o
        u[d * i], u[d * i + 1] = u_n, u_1
        if d == 3:
            u[d * i + 2] = u_2


@kernel
def own_blocks(rows, law):
    """W_ii = J_i M⁻¹ J_iᵀ + c_i and the scales that it gives."""
    contacts, own, d = law.mu.size, law.own, 2 if law.own.shape[0] == 4 else 3
    for i in range(contacts):
        for a in range(d):
            for c in range(d):
                total = 0.0
                for side in range(2):
                    J, Y = rows.jacobian[i, side, a], rows.response[i, side, c]
                    for k in range(6):
                        total += J[k] * Y[k]
                own[d * a + c, i] = total
        own[0, i] += law.compliance[i]
        trace = own[0, i] + own[3, i] if d == 2 else own[0, i] + own[4, i] + own[8, i]
        rho = d / trace if trace > 0.0 else 1.0
        law.scales[0, i], law.scales[1, i], law.scales[2, i] = 1.0, 1.0 / math.sqrt(rho), math.sqrt(rho)
