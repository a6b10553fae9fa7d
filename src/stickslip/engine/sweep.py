"""Nonsmooth Gauss–Seidel in the velocities of the bodies: no Delassus matrix but its own blocks.

Block after block is solved exactly with the others held, and the places it acts on (engine/rows.py) are moved at once:

    u_i = q_i + G_i z + ε_i p_i,    p_i <- the impulse of block i alone under (W_ii, u_i - W_ii p_i),
    z <- z + s G_iᵀ Δp_i,           W_ii = s G_i G_iᵀ + ε_i

A contact alone is solved by solvers/contact.py, a bounded joint row by λ <- λ - u / W_ii, cut to its bounds. A sweep
costs what the rows cost, however many share a body. Contacts of large islands are over-relaxed, as in solvers/nsgs.py.
Those of small ones are not: from the impulses of the step before there is little left to do, and over-relaxation stirs
the corners of a box, whose loads are not determined.

The residual is that of problems/residual.py, with the natural map λ - P(λ - u) of bounded rows beside the contacts'.
"""

from __future__ import annotations

import math

from stickslip.engine.places import push, velocity
from stickslip.jit import bare
from stickslip.problems.residual import by_velocities, over, project
from stickslip.solvers.nsgs import impulse, planar_impulse
from stickslip.solvers.nsgs import relaxed as over_relaxed

STRAIN = 10.0  # how many times greater than expected, or than others, impulses are that a grip makes


@bare
def start_at(member, n, mu, start, share, trend, p):
    """p = start + share * trend, cut back to the cones."""
    d = p.size // mu.size
    for k in range(member.size):
        i = member[k]
        if i < n:
            for c in range(d):
                p[d * i + c] = start[d * i + c] + share * trend[d * i + c]
            into_cone(mu[i], d, d * i, p)


@bare
def into_cone(mu, d, at, p):
    """Cut the impulse at place `at` back to its cone."""
    normal, square = max(p[at], 0.0), 0.0
    for c in range(1, d):
        square += p[at + c] ** 2
    p[at] = normal
    if square > (mu * normal) ** 2:
        for c in range(1, d):
            p[at + c] *= mu * normal / math.sqrt(square)


@bare
def respond(member, n, sign, start, place, G, p, z):
    """z at the places of blocks: what their impulses do."""
    clear(member, start, place, z)
    add_up(member, n, sign, start, place, G, p, z)


@bare
def clear(member, start, place, z):
    for k in range(member.size):
        for t in range(start[member[k]], start[member[k] + 1]):
            b = place[t]
            for r in range(6):
                z[b, r] = 0.0


@bare
def add_up(member, n, sign, start, place, G, p, z):
    """Add what the impulses of blocks do to z."""
    D = G.shape[1]
    for k in range(member.size):
        i = member[k]
        at, contact = D * i, i < n
        p_1, p_2 = p[at + 1] if contact else 0.0, p[at + 2] if contact and D > 2 else 0.0
        push(start, place, sign, G, i, min(D, 3) if contact else 1, p[at], p_1, p_2, z)
        if contact and D > 3:  # a moment
            for t in range(start[i], start[i + 1]):
                for r in range(6):
                    z[place[t], r] += sign[place[t]] * G[t, 3, r] * p[at + 3]


@bare
def judged(member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, tol, p, u):
    """The velocities u of some blocks, in place; their residual, and whether they are solved. z is that of p."""
    find_velocities(member, n, start, place, G, compliance, soft, q, z, p, u)
    return measured(member, n, mu, shift, scale, lower, upper, q, tol, p, u)


@bare
def find_velocities(member, n, start, place, G, compliance, soft, q, z, p, u):
    D, relaxed = G.shape[1], soft.size > 0
    for k in range(member.size):
        i = member[k]
        at = D * i
        u_n, u_1, u_2 = velocity(start, place, G, i, min(D, 3) if i < n else 1, z)
        u[at] = u_n + q[at] + compliance[i] * p[at]
        if i < n:
            slack = soft[i] if relaxed else 0.0
            u[at + 1] = u_1 + q[at + 1] + slack * p[at + 1]
            if D >= 3:
                u[at + 2] = u_2 + q[at + 2] + slack * p[at + 2]


@bare
def measured(member, n, mu, shift, scale, lower, upper, q, tol, p, u):
    """The residual of some blocks with their velocities u, and whether they are solved."""
    far, p_p, u_u, q_q = distances(member, n, False, mu, shift, scale, lower, upper, q, p, u)
    error = relative(far, p_p, u_u, q_q)
    if not error <= tol:
        return error, False
    far, p_p, u_u, q_q = distances(member, n, True, mu, shift, scale, lower, upper, q, p, u)
    return error, scaled_error(far, p_p, u_u, q_q) <= math.sqrt(tol)


@bare
def relative(far, p_p, u_u, q_q):
    """The residual by the sums of `distances`."""
    return over(math.sqrt(far), math.sqrt(max(p_p, u_u, q_q)))


@bare
def scaled_error(far, p_p, u_u, q_q):
    """The same by scaled ones."""
    return by_velocities(math.sqrt(far), math.sqrt(p_p), math.sqrt(u_u), math.sqrt(q_q))


@bare
def distances(member, n, scaled, mu, shift, scale, lower, upper, q, p, u):
    """The squares of p - P(p - u) of the law of some blocks, of p, u and q; in p/s and s u where they are scaled."""
    D, far, p_p, u_u, q_q = p.size // mu.size, 0.0, 0.0, 0.0, 0.0
    for k in range(member.size):
        i = member[k]
        at, s = D * i, scale[i] if scaled else 1.0
        over_s = 1.0 / s
        p_n, u_n, q_n = over_s * p[at], s * u[at], s * q[at]
        p_p, u_u, q_q = p_p + p_n * p_n, u_u + u_n * u_n, q_q + q_n * q_n
        if i >= n:
            far += (p_n - min(max(p_n - u_n, over_s * lower[i]), over_s * upper[i])) ** 2
            continue
        p_1, p_2, u_1, u_2 = over_s * p[at + 1], 0.0, s * u[at + 1], 0.0
        q_q += (s * q[at + 1]) ** 2
        if D >= 3:
            p_2, u_2 = over_s * p[at + 2], s * u[at + 2]
            q_q += (s * q[at + 2]) ** 2
        p_p, u_u = p_p + p_1 * p_1 + p_2 * p_2, u_u + u_1 * u_1 + u_2 * u_2
        far += cone_distance(mu[i], shift[i], p_n, p_1, p_2, u_n, u_1, u_2)
    return far, p_p, u_u, q_q


@bare
def strained(member, n, scale, q, p):
    """Is the impulse of a contact STRAIN times greater than those of all blocks together that would stop each alone?"""
    d, expected = p.size // scale.size, 0.0
    for k in range(member.size):
        i = member[k]
        for c in range(d if i < n else 1):
            expected += scale[i] ** 2 * abs(q[d * i + c])
    for k in range(member.size):
        i = member[k]
        for c in range(d if i < n else 0):
            if not abs(p[d * i + c]) <= STRAIN * expected:
                return True
    return False


@bare
def cone_distance(mu, shift, p_n, p_1, p_2, u_n, u_1, u_2):
    """|p - P_K(p - ũ)|² of one contact, ũ = u + shift |u_t| e_n."""
    y_n, y_1, y_2 = p_n - u_n - shift * math.sqrt(u_1 * u_1 + u_2 * u_2), p_1 - u_1, p_2 - u_2
    x_n, x_1, x_2 = project(mu, y_n, y_1, y_2, math.sqrt(y_1 * y_1 + y_2 * y_2))
    return (p_n - x_n) ** 2 + (p_1 - x_1) ** 2 + (p_2 - x_2) ** 2


@bare
def sweep(
    member, n, sign, start, place, G, q, compliance, soft, mu, own, V, lower, upper, associated, omega, p, z
):  # fmt: skip
    """One pass over blocks in order; p and z are updated in place. Returns |Δp|."""
    d, total, relaxed = 2 if own.shape[0] == 4 else 3, 0.0, soft.size > 0
    for k in range(member.size):
        i = member[k]
        at, contact = d * i, i < n
        x_n, x_1, x_2, p_1, p_2 = 0.0, 0.0, 0.0, 0.0, 0.0
        p_n = p[at]
        u_n, u_1, u_2 = velocity(start, place, G, i, d if contact else 1, z)
        u_n += q[at] + compliance[i] * p_n
        if contact:
            u_1, u_2 = u_1 + q[at + 1], u_2 + q[at + 2] if d == 3 else 0.0
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
        if contact and omega > 1.0:
            x_n, x_1, x_2 = over_relaxed(omega, mu[i], x_n, x_1, x_2, p_n, p_1, p_2)
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
        push(start, place, sign, G, i, d if contact else 1, d_n, d_1, d_2, z)
    return math.sqrt(total)
