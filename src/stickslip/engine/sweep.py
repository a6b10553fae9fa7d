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

from stickslip.dynamics.held import row_rate
from stickslip.engine.correct import correct
from stickslip.engine.rows import ACTIVE, BOUNDED, CORRECTION, SWEEPS
from stickslip.jit import inlined, kernel
from stickslip.problems.residual import by_velocities, over, project
from stickslip.solvers.nsgs import impulse, planar_impulse, within

SLOW = 2  # sweeps after which all blocks are corrected at once


@inlined
def settle(work, rules, island, moved):
    """Sweep over an island, once at least, until its residual is at most tol. Returns sweeps, residual, whether it is
    solved, and the method.

    One sweep is made even where the start is good enough: errors within tol, left alone, would add up from step to
    step. Where sweeps are slow, all blocks are corrected at once, as long as that does more.
    """
    begin, end, tol = work.islands.start[island], work.islands.start[island + 1], rules.tol
    if moved:
        choose_start(work, rules, begin, end)
    respond(work, begin, end)
    patience = rules.patience if end - begin <= rules.few else rules.long_patience
    error, promising, due, last, before, helps, method = np.inf, 0.0, 1, 0, 0.0, True, SWEEPS
    for sweeps in range(1, rules.sweeps + 1):
        change = sweep(work, rules, begin, end)
        if sweeps in (due, rules.sweeps) or not promising < change < np.inf:
            respond(work, begin, end)
            error, solved = judged(work, rules, begin, end)
            if solved:
                return sweeps, error, True, method
            if sweeps >= SLOW and helps:
                method = CORRECTION
                error_after, solved = corrected(work, rules, island, error)
                if solved:
                    return sweeps, error_after, True, method
                helps = error_after < 0.5 * error
                error = error_after
            hope = patience if last >= 8 else 4 * patience  # the first rate is not much to go by
            slow = not helps and last >= 4 and not within(hope, sweeps - last, before, error, tol)
            if slow or change == 0.0 or not error < np.inf:
                return sweeps, error, False, method
            promising, due = change * tol / error, sweeps + 2 if helps and sweeps >= SLOW else 2 * sweeps
            last, before = sweeps, error
    return rules.sweeps, error, False, method


@kernel
def corrected(work, rules, island, error):
    """Correct all blocks of an island at once, if that makes its residual smaller. Returns it, and whether it is
    solved."""
    begin, end = work.islands.start[island], work.islands.start[island + 1]
    D, n, p, bounded = work.rows.jacobian.shape[2], work.count[ACTIVE], work.answer.p, work.answer.bounded
    kept, delta = np.empty((end - begin, D)), np.zeros((end - begin, D))
    if not correct(work, rules, island, delta):
        return error, False
    for k in range(begin, end):
        i = work.islands.member[k]
        if i < n:
            for c in range(D):
                kept[k - begin, c] = p[D * i + c]
                p[D * i + c] += delta[k - begin, c]
            into_cone(work.law.mu[i], D, D * i, p)
        else:
            kept[k - begin, 0] = bounded[i - n]
            moved = bounded[i - n] + delta[k - begin, 0]
            bounded[i - n] = min(max(moved, work.law.lower[i - n]), work.law.upper[i - n])
    respond(work, begin, end)
    error_there, solved = judged(work, rules, begin, end)
    if error_there < error:
        return error_there, solved
    for k in range(begin, end):
        i = work.islands.member[k]
        if i < n:
            for c in range(D):
                p[D * i + c] = kept[k - begin, c]
        else:
            bounded[i - n] = kept[k - begin, 0]
    respond(work, begin, end)
    return error, False


@kernel
def choose_start(work, rules, begin, end):
    """Replace p by the best of p, p + trend and p - trend/2.

    The second follows a smooth motion. The third is for a contact that closed a gap in one step and stopped in the
    next: it rests with the mean of these impulses, and either of them would make it open again.
    """
    answer, best, least = work.answer, 0.0, np.inf
    for share in (0.0, 1.0, -0.5):
        start_at(work, begin, end, share)
        respond(work, begin, end)
        error, _ = judged(work, rules, begin, end)
        if error < least:
            best, least = share, error
    start_at(work, begin, end, best)


@kernel
def start_at(work, begin, end, share):
    D, answer = work.rows.jacobian.shape[2], work.answer
    for k in range(begin, end):
        i = work.islands.member[k]
        if i < work.count[ACTIVE]:
            for c in range(D):
                answer.p[D * i + c] = answer.start[D * i + c] + share * answer.trend[D * i + c]
            into_cone(work.law.mu[i], D, D * i, answer.p)


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
def respond(work, begin, end):
    """v of the bodies that an island reaches: `free`, and what its impulses do."""
    rows, free, v = work.rows, work.answer.free, work.answer.v
    for k in range(begin, end):
        i = work.islands.member[k]
        for t in range(rows.start[i], rows.start[i + 1]):
            b = rows.reached[t]
            for r in range(6):
                v[b, r] = free[b, r]
    D, n, p = rows.jacobian.shape[2], work.count[ACTIVE], work.answer.p
    for k in range(begin, end):
        i = work.islands.member[k]
        for t in range(rows.start[i], rows.start[i + 1]):
            Y, velocity = rows.response[t], v[rows.reached[t]]
            if i >= n:
                for r in range(6):
                    velocity[r] += Y[0, r] * work.answer.bounded[i - n]
            else:
                for c in range(D):
                    for r in range(6):
                        velocity[r] += Y[c, r] * p[D * i + c]


@kernel
def velocity_of(work, i, c):
    """Component c of contact i: J v, without the terms of the law."""
    rows, u = work.rows, 0.0
    for side in range(2):
        b = rows.body[i, side]
        if work.moving[b]:
            for k in range(6):
                u += rows.jacobian[i, side, c, k] * work.answer.v[b, k]
    return u


@kernel
def judged(work, rules, begin, end):
    """The velocities u of an island, in place; its residual, and whether it is solved. v is that of its impulses."""
    law, answer, n = work.law, work.answer, work.count[ACTIVE]
    d = 2 if law.own.shape[0] == 4 else 3
    far, p_p, u_u, q_q, far_s, p_s, u_s, q_s = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(begin, end):
        i = work.islands.member[k]
        if i < n:
            at = d * i
            soft = law.compliance_tangent[i] if rules.relaxes_friction else 0.0
            p_n, p_1, p_2 = answer.p[at], answer.p[at + 1], answer.p[at + 2] if d == 3 else 0.0
            u_n = velocity_of(work, i, 0) + law.w[i] + law.compliance[i] * p_n
            u_1 = velocity_of(work, i, 1) + soft * p_1
            u_2 = velocity_of(work, i, 2) + soft * p_2 if d == 3 else 0.0
            answer.u[at], answer.u[at + 1] = u_n, u_1
            if d == 3:
                answer.u[at + 2] = u_2
            q_n, q_1, q_2 = law.q[at], law.q[at + 1], law.q[at + 2] if d == 3 else 0.0
            s = law.scale[i]
            distance = cone_distance(law.mu[i], law.shift[i], p_n, p_1, p_2, u_n, u_1, u_2)
            scaled = cone_distance(law.mu[i], law.shift[i], p_n / s, p_1 / s, p_2 / s, s * u_n, s * u_1, s * u_2)
            p_square, u_square = p_n * p_n + p_1 * p_1 + p_2 * p_2, u_n * u_n + u_1 * u_1 + u_2 * u_2
            q_square, rho = q_n * q_n + q_1 * q_1 + q_2 * q_2, s * s
        else:
            t = i - n
            x, u = answer.bounded[t], bounded_rate(work, t)
            answer.bounded_u[t] = u
            rho = 1.0 / law.bounded_own[t] if law.bounded_own[t] > 0.0 else 1.0
            distance = (x - min(max(x - u, law.lower[t]), law.upper[t])) ** 2
            scaled = (x - min(max(x - rho * u, law.lower[t]), law.upper[t])) ** 2 / rho
            p_square, u_square, q_square = x * x, u * u, law.bounded_q[t] ** 2
        far, p_p, u_u, q_q = far + distance, p_p + p_square, u_u + u_square, q_q + q_square
        far_s, p_s, u_s, q_s = far_s + scaled, p_s + p_square / rho, u_s + rho * u_square, q_s + rho * q_square
    error = over(math.sqrt(far), math.sqrt(max(p_p, u_u, q_q)))
    if not error <= rules.tol:
        return error, False
    believed = by_velocities(math.sqrt(far_s), math.sqrt(p_s), math.sqrt(u_s), math.sqrt(q_s)) <= math.sqrt(rules.tol)
    return error, believed


@kernel
def cone_distance(mu, shift, p_n, p_1, p_2, u_n, u_1, u_2):
    """|p - P_K(p - ũ)|² of one contact, ũ = u + shift |u_t| e_n."""
    y_n, y_1, y_2 = p_n - u_n - shift * math.sqrt(u_1 * u_1 + u_2 * u_2), p_1 - u_1, p_2 - u_2
    x_n, x_1, x_2 = project(mu, y_n, y_1, y_2, math.sqrt(y_1 * y_1 + y_2 * y_2))
    return (p_n - x_n) ** 2 + (p_1 - x_1) ** 2 + (p_2 - x_2) ** 2


@kernel
def bounded_rate(work, t):
    """u of a bounded row: its rate, bias and compliance."""
    joints, i = work.held.rows, work.rows.number[t]
    return row_rate(joints, i, work.answer.v) + joints.bias[i] + joints.compliance[i] * work.answer.bounded[t]


@kernel
def sweep(work, rules, begin, end):
    """One pass over the blocks of an island in order; impulses and v are updated in place. Returns |Δp|."""
    total, n = 0.0, work.count[ACTIVE]
    for k in range(begin, end):
        i = work.islands.member[k]
        total += visit(work, rules, i) if i < n else visit_bounded(work, i - n, i)
    return math.sqrt(total)


@kernel
def visit(work, rules, i):
    """Solve a contact with the others held. Returns |Δp|²."""
    rows, law, p, D = work.rows, work.law, work.answer.p, work.law.own
    d = 2 if D.shape[0] == 4 else 3
    at = d * i
    soft = law.compliance_tangent[i] if rules.relaxes_friction else 0.0
    p_n, p_1, p_2 = p[at], p[at + 1], p[at + 2] if d == 3 else 0.0
    u_n, u_1, u_2 = law.w[i] + law.compliance[i] * p_n, soft * p_1, soft * p_2
    for side in range(2):
        b = rows.body[i, side]
        if work.moving[b]:
            J, v = rows.jacobian[i, side], work.answer.v[b]
            for k in range(6):
                u_n += J[0, k] * v[k]
                u_1 += J[1, k] * v[k]
                if d == 3:
                    u_2 += J[2, k] * v[k]
    if d == 3:
        u_n -= D[0, i] * p_n + D[1, i] * p_1 + D[2, i] * p_2
        u_1 -= D[3, i] * p_n + D[4, i] * p_1 + D[5, i] * p_2
        u_2 -= D[6, i] * p_n + D[7, i] * p_1 + D[8, i] * p_2
        x_n, x_1, x_2 = impulse(D, law.inverse, law.mu[i], rules.associated, i, u_n, u_1, u_2)
    else:
        u_n -= D[0, i] * p_n + D[1, i] * p_1
        u_1 -= D[2, i] * p_n + D[3, i] * p_1
        x_n, x_1 = planar_impulse(D, law.mu[i], rules.associated, i, u_n, u_1)
        x_2 = 0.0
    d_n, d_1, d_2 = x_n - p_n, x_1 - p_1, x_2 - p_2
    change = d_n * d_n + d_1 * d_1 + d_2 * d_2
    if change == 0.0:
        return 0.0
    p[at], p[at + 1] = x_n, x_1
    if d == 3:
        p[at + 2] = x_2
    for t in range(rows.start[i], rows.start[i + 1]):
        Y, v = rows.response[t], work.answer.v[rows.reached[t]]
        for k in range(6):
            v[k] += Y[0, k] * d_n + Y[1, k] * d_1
        if d == 3:
            for k in range(6):
                v[k] += Y[2, k] * d_2
    return change


@kernel
def visit_bounded(work, t, i):
    """Solve a bounded joint row with the others held. Returns Δλ²."""
    law, rows, own, before = work.law, work.rows, work.law.bounded_own[t], work.answer.bounded[t]
    if not own > 0.0:
        return 0.0
    x = min(max(before - bounded_rate(work, t) / own, law.lower[t]), law.upper[t])
    if x == before:
        return 0.0
    work.answer.bounded[t] = x
    for k in range(rows.start[i], rows.start[i + 1]):
        Y, v = rows.response[k, 0], work.answer.v[rows.reached[k]]
        for r in range(6):
            v[r] += Y[r] * (x - before)
    return (x - before) ** 2


@kernel
def judge_all(work, rules):
    """The velocities of all blocks for the impulses that the answer holds."""
    respond(work, 0, work.count[ACTIVE] + work.count[BOUNDED])
    return judged(work, rules, 0, work.count[ACTIVE] + work.count[BOUNDED])
