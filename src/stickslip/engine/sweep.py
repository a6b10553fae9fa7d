"""Nonsmooth Gauss–Seidel in the velocities of the bodies: no Delassus matrix but its own blocks.

Block after block is solved exactly with the others held, and the bodies it reaches are moved at once:

    u_i = J_i v + w_i + ε_i p_i,    p_i <- the impulse of block i alone under (W_ii, u_i - W_ii p_i),
    v <- v + Y_i Δp_i,              W_ii = J_i Y_i + ε_i

Y = M⁻¹Jᵀ, through joints where there are some. A contact alone is solved by solvers/contact.py, a bounded joint row by
λ <- λ - u / W_ii, cut to its bounds. A sweep costs what the rows cost, however many share a body. It is not
over-relaxed: from the impulses of the step before there is little left to do, and over-relaxation stirs the corners of
a box, whose loads are not determined.

The residual is that of problems/residual.py, with the natural map λ - P(λ - u) of bounded rows beside the contacts'.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine.correct import correct_bodies, correct_rows
from stickslip.engine.rows import ACTIVE, CORRECTION, SWEEPS
from stickslip.jit import inlined, kernel
from stickslip.problems.residual import by_velocities, over, project
from stickslip.solvers.nsgs import impulse, planar_impulse, within

CLOSER = 0.7  # share of tol that is aimed for: what is left adds up from step to step
SLOW = 2  # sweeps after which all blocks are corrected at once


@inlined
def settle(work, rules, island):
    """Sweep over an island, once at least, until its residual is at most tol. Returns sweeps, residual, whether it is
    solved, and the method.

    One sweep is made even where the start is good enough: errors within tol, left alone, would add up from step to
    step. Where sweeps are slow, all blocks are corrected at once, as long as that does more.
    """
    rows, law, answer, n, tol = work.rows, work.law, work.answer, work.count[ACTIVE], CLOSER * rules.tol
    begin, end = work.islands.start[island], work.islands.start[island + 1]
    member = work.islands.member[begin:end]
    p, v, free = answer.p, answer.v, answer.free
    soft = law.compliance_tangent if rules.relaxes_friction else law.compliance_tangent[:0]
    best, least = 0.0, np.inf
    if any_of(member, n, answer.moved):
        # The best of p, p + trend and p - trend/2. The second follows a smooth motion. The third is for a contact that
        # closed a gap in one step and stopped in the next: it rests with the mean of these impulses, and either of them
        # would make it open again.
        for share in (0.0, 1.0, -0.5):
            start_at(member, n, law.mu, answer.start, share, answer.trend, p)
            respond(member, n, rows.start, rows.reached, rows.response, p, free, v)
            error, _ = judged(
                member, n, rows.body, rows.jacobian, work.moving, law.w, law.compliance, soft, law.mu, law.shift,
                law.scale, law.lower, law.upper, law.q, v, tol, p, answer.u,
            )  # fmt: skip
            if error < least:
                best, least = share, error
        start_at(member, n, law.mu, answer.start, best, answer.trend, p)
    respond(member, n, rows.start, rows.reached, rows.response, p, free, v)
    patience = rules.patience if member.size <= rules.few else rules.long_patience
    promising, due, last, before, helps, method = 0.0, 1, 0, 0.0, True, SWEEPS
    error, solved, made = np.inf, False, 0
    while made < rules.sweeps:
        made += 1
        change = sweep(
            member, n, rows.body, rows.jacobian, rows.start, rows.reached, rows.response, work.moving, law.w,
            law.compliance, soft, law.mu, law.own, law.inverse, law.lower, law.upper, rules.associated, p, v,
        )  # fmt: skip
        if not (made == due or made == rules.sweeps or not promising < change < np.inf):
            continue
        respond(member, n, rows.start, rows.reached, rows.response, p, free, v)
        error, solved = judged(
            member, n, rows.body, rows.jacobian, work.moving, law.w, law.compliance, soft, law.mu, law.shift,
            law.scale, law.lower, law.upper, law.q, v, tol, p, answer.u,
        )  # fmt: skip
        if not solved and made >= SLOW and helps:
            method = CORRECTION
            error_after, solved = corrected(
                member, n, rows.body, rows.jacobian, rows.start, rows.reached, rows.response, work.moving, work.free,
                work.bodies.inverse_mass, work.bodies.inverse, law.w, law.compliance, soft, law.mu, law.shift,
                law.scale, law.lower, law.upper, law.q, work.islands.stiff[island] == 1, work.islands.degree,
                work.islands.label, error, tol, p, answer.u, free, v,
            )  # fmt: skip
            helps = error_after < 0.5 * error
            error = error_after
        hope = patience if last >= 8 else 4 * patience  # the first rate is not much to go by
        slow = not helps and last >= 4 and not within(hope, made - last, before, error, rules.tol)
        enough = not helps and error <= rules.tol
        if solved or enough or slow or change == 0.0 or not error < np.inf:
            break
        promising, due = change * tol / error, made + 2 if helps and made >= SLOW else 2 * made
        last, before = made, error
    if not solved and error <= rules.tol:  # close enough, if not to what was aimed for
        error, solved = judged(
            member, n, rows.body, rows.jacobian, work.moving, law.w, law.compliance, soft, law.mu, law.shift,
            law.scale, law.lower, law.upper, law.q, v, rules.tol, p, answer.u,
        )  # fmt: skip
    return made, error, solved, method


@kernel
def any_of(member, n, flags):
    """Is one of the contacts flagged?"""
    for k in range(member.size):  # noqa: SIM110
        if member[k] < n and flags[member[k]]:
            return True
    return False


@kernel
def corrected(
    member, n, body, J, start, reached, Y, moving, movable, inverse_mass, inverse, w, compliance, soft, mu, shift,
    scale, lower, upper, q, stiff, degree, place, error, tol, p, u, free, v,
):  # fmt: skip
    """Correct all blocks of an island at once, if that makes its residual smaller. Returns it, and whether it is
    solved."""
    kept, delta = p.copy(), np.zeros((member.size, J.shape[2]))
    if stiff:
        tried = correct_rows(
            member, n, body, J, start, reached, Y, compliance, soft, mu, scale, lower, upper, p, u, delta
        )
    else:
        tried = correct_bodies(
            member, body, J, movable, inverse_mass, inverse, compliance, soft, mu, scale, p, u, degree, place, delta
        )
    if not tried:
        return error, False
    add(member, n, mu, lower, upper, delta, p)
    respond(member, n, start, reached, Y, p, free, v)
    error_after, solved = judged(
        member, n, body, J, moving, w, compliance, soft, mu, shift, scale, lower, upper, q, v, tol, p, u
    )
    if error_after < error:
        return error_after, solved
    p[:] = kept
    respond(member, n, start, reached, Y, p, free, v)
    return error, False


@kernel
def start_at(member, n, mu, start, share, trend, p):
    """p = start + share * trend, cut back to the cones."""
    d = p.size // mu.size
    for k in range(member.size):
        i = member[k]
        if i < n:
            for c in range(d):
                p[d * i + c] = start[d * i + c] + share * trend[d * i + c]
            into_cone(mu[i], d, d * i, p)


@kernel
def add(member, n, mu, lower, upper, delta, p):
    """p <- p + δ, cut back to cones and bounds."""
    d = p.size // mu.size
    for k in range(member.size):
        i = member[k]
        if i < n:
            for c in range(d):
                p[d * i + c] += delta[k, c]
            into_cone(mu[i], d, d * i, p)
        else:
            p[d * i] = min(max(p[d * i] + delta[k, 0], lower[i]), upper[i])


@kernel
def into_cone(mu, d, at, p):
    """Cut the impulse at place `at` back to its cone."""
    normal, square = max(p[at], 0.0), 0.0
    for c in range(1, d):
        square += p[at + c] ** 2
    p[at] = normal
    if square > (mu * normal) ** 2:
        for c in range(1, d):
            p[at + c] *= mu * normal / math.sqrt(square)


@kernel
def respond(member, n, start, reached, Y, p, free, v):
    """v of the bodies that blocks reach: `free`, and what their impulses do."""
    D = Y.shape[1]
    for k in range(member.size):
        for t in range(start[member[k]], start[member[k] + 1]):
            b = reached[t]
            for r in range(6):
                v[b, r] = free[b, r]
    for k in range(member.size):
        i = member[k]
        for t in range(start[i], start[i + 1]):
            b = reached[t]
            for c in range(D if i < n else 1):
                x = p[D * i + c]
                for r in range(6):
                    v[b, r] += Y[t, c, r] * x


@kernel
def velocity_of(body, J, moving, i, c, v):
    """Component c of block i: J v."""
    u = 0.0
    for side in range(2):
        b = body[i, side]
        if moving[b]:
            for k in range(6):
                u += J[i, side, c, k] * v[b, k]
    return u


@kernel
def judged(member, n, body, J, moving, w, compliance, soft, mu, shift, scale, lower, upper, q, v, tol, p, u):
    """The velocities u of some blocks, in place; their residual, and whether they are solved. v is that of p."""
    D, relaxed = p.size // mu.size, soft.size > 0
    far, p_p, u_u, q_q, far_s, p_s, u_s, q_s = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(member.size):
        i = member[k]
        at, s = D * i, scale[i]
        p_n, p_1, p_2, u_1, u_2, q_1, q_2 = p[at], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        u_n, q_n = velocity_of(body, J, moving, i, 0, v) + w[i] + compliance[i] * p_n, q[at]
        if i < n:
            p_1, u_1, q_1 = p[at + 1], velocity_of(body, J, moving, i, 1, v), q[at + 1]
            if relaxed:
                u_1 += soft[i] * p_1
            if D >= 3:
                p_2, u_2, q_2 = p[at + 2], velocity_of(body, J, moving, i, 2, v), q[at + 2]
                if relaxed:
                    u_2 += soft[i] * p_2
                u[at + 2] = u_2
            u[at + 1] = u_1
            far += cone_distance(mu[i], shift[i], p_n, p_1, p_2, u_n, u_1, u_2)
            far_s += cone_distance(mu[i], shift[i], p_n / s, p_1 / s, p_2 / s, s * u_n, s * u_1, s * u_2)
        else:
            far += (p_n - min(max(p_n - u_n, lower[i]), upper[i])) ** 2
            far_s += ((p_n - min(max(p_n - s * s * u_n, lower[i]), upper[i])) / s) ** 2
        u[at] = u_n
        p_square, u_square = p_n * p_n + p_1 * p_1 + p_2 * p_2, u_n * u_n + u_1 * u_1 + u_2 * u_2
        q_square = q_n * q_n + q_1 * q_1 + q_2 * q_2
        p_p, u_u, q_q = p_p + p_square, u_u + u_square, q_q + q_square
        p_s, u_s, q_s = p_s + p_square / (s * s), u_s + s * s * u_square, q_s + s * s * q_square
    error = over(math.sqrt(far), math.sqrt(max(p_p, u_u, q_q)))
    if not error <= tol:
        return error, False
    return error, by_velocities(math.sqrt(far_s), math.sqrt(p_s), math.sqrt(u_s), math.sqrt(q_s)) <= math.sqrt(tol)


@kernel
def cone_distance(mu, shift, p_n, p_1, p_2, u_n, u_1, u_2):
    """|p - P_K(p - ũ)|² of one contact, ũ = u + shift |u_t| e_n."""
    y_n, y_1, y_2 = p_n - u_n - shift * math.sqrt(u_1 * u_1 + u_2 * u_2), p_1 - u_1, p_2 - u_2
    x_n, x_1, x_2 = project(mu, y_n, y_1, y_2, math.sqrt(y_1 * y_1 + y_2 * y_2))
    return (p_n - x_n) ** 2 + (p_1 - x_1) ** 2 + (p_2 - x_2) ** 2


@kernel
def sweep(
    member, n, body, J, start, reached, Y, moving, w, compliance, soft, mu, own, V, lower, upper, associated, p, v
):  # fmt: skip
    """One pass over blocks in order; p and v are updated in place. Returns |Δp|."""
    d, total, relaxed = 2 if own.shape[0] == 4 else 3, 0.0, soft.size > 0
    for k in range(member.size):
        i = member[k]
        at, contact = d * i, i < n
        x_n, x_1, x_2, p_1, p_2, u_1, u_2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        p_n = p[at]
        u_n = w[i] + compliance[i] * p_n
        for side in range(2):
            b = body[i, side]
            if moving[b]:
                for r in range(6):
                    u_n += J[i, side, 0, r] * v[b, r]
                    if contact:
                        u_1 += J[i, side, 1, r] * v[b, r]
                        if d == 3:
                            u_2 += J[i, side, 2, r] * v[b, r]
        if not contact:
            x_n = min(max(p_n - u_n / own[0, i], lower[i]), upper[i]) if own[0, i] > 0.0 else p_n
        elif not own[0, i] > 0.0:  # joints hold its normal
            p_1, p_2 = p[at + 1], p[at + 2] if d == 3 else 0.0
        elif d == 3:
            p_1, p_2 = p[at + 1], p[at + 2]
            if relaxed:
                u_1, u_2 = u_1 + soft[i] * p_1, u_2 + soft[i] * p_2
            u_n -= own[0, i] * p_n + own[1, i] * p_1 + own[2, i] * p_2
            u_1 -= own[3, i] * p_n + own[4, i] * p_1 + own[5, i] * p_2
            u_2 -= own[6, i] * p_n + own[7, i] * p_1 + own[8, i] * p_2
            x_n, x_1, x_2 = impulse(own, V, mu[i], associated, i, u_n, u_1, u_2)
        else:
            p_1 = p[at + 1]
            if relaxed:
                u_1 += soft[i] * p_1
            u_n -= own[0, i] * p_n + own[1, i] * p_1
            u_1 -= own[2, i] * p_n + own[3, i] * p_1
            x_n, x_1 = planar_impulse(own, mu[i], associated, i, u_n, u_1)
        d_n, d_1, d_2 = x_n - p_n, x_1 - p_1, x_2 - p_2
        change = d_n * d_n + d_1 * d_1 + d_2 * d_2
        if change == 0.0:
            continue
        total += change
        p[at] = x_n
        if contact:
            p[at + 1] = x_1
            if d == 3:
                p[at + 2] = x_2
        for t in range(start[i], start[i + 1]):
            b = reached[t]
            for r in range(6):
                v[b, r] += Y[t, 0, r] * d_n
                if contact:
                    v[b, r] += Y[t, 1, r] * d_1
                    if d == 3:
                        v[b, r] += Y[t, 2, r] * d_2
    return math.sqrt(total)
