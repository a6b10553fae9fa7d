"""Contacts and bounded rows of a mechanism with few velocities, by Newton's method in the space of the velocities.

With M = Lᵀ L and X = A L⁻¹, the rows of contacts and bounded rows, p their impulses and y_f = L⁻ᵀ f,

    u = X y + ε p + d,     y = y_f + Xᵀ p,     v⁺ = L⁻¹ y                                                          (1)

and p obeys Coulomb's law, F(p, u) = 0, Alart and Curnier's equation of solvers/cone_newton.py; bounded rows have
λ = P(λ - u), and rows without bounds u = 0. All is scaled, r = p / s. With A and B the derivatives of F, block by block
of a contact, a step is

    D dr + B Y dy = -F,   dy = Yᵀ dr,   D = A + B (α + ε),   K = D⁻¹ B      =>      (I + Yᵀ K Y) dy = -Yᵀ D⁻¹ F   (2)

so what is factorised has as many rows as the mechanism has velocities, however many contacts there are. α > 0 keeps
steps short where contacts share a load; it is lowered after steps that help and raised after others, as in
engine/newton.py, and small in the first step, which is the last where contacts go on as they are. M is factorised
from the leaves of the mechanism to its root, which fills nothing [1], and a row of X has entries where A has: those of
the joints between its contact and the root. Only they are kept. One step is made even where the start is good enough:
errors within tol, left alone, would add up. Where all this fails, it begins again from the best impulses with α = 1,
changes that by less, and goes on over steps that make it worse.

[1] Featherstone, Efficient factorization of the joint-space inertia matrix for branched kinematic trees, Int. J.
    Robotics Research 24 (2005) 487-500.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.dynamics.model_rows import BOUNCE, BOUND, ERROR, GAP, MU, WAS, effective_mass, found_rows, met
from stickslip.engine.newton import linearise
from stickslip.engine.sweep import cone_distance, into_cone
from stickslip.friction.terms import TAKES_PART, bounces, friction_of, normal_terms, part
from stickslip.jit import bare, kernel
from stickslip.problems.contact_states import state_of
from stickslip.problems.residual import by_velocities, over
from stickslip.solvers.linear import eliminate, substitute

STEPS, PATIENCE, SATISFIED = 30, 6, 2  # at most, and how many without help end it, the latter within tol
MORE_STEPS, MORE_PATIENCE = 100, 20  # of the cautious ones
ALPHA, FIRST, LEAST, GREATEST = 1e-2, 1e-3, 1e-9, 10.0  # α: its scale, in the first step, at least and at most
CHANGE, CAUTIOUS = 10.0, 3.0  # factors by which it changes
PART, SLIDES, STATE = 0, 1, 2  # columns of what a contact did
BRAKE = 100.0  # deceleration that stops at zero what takes an error of constraints back   [m/s², rad/s²]
CLOSER = 0.1  # share of tol that it goes down to
UNSOLVED, SOLVED, CLOSE = 0, 1, 2  # within tol, and within CLOSER of it


@kernel
def model_step(
    memory, words, fields, count, geom_body, tree, centre, axes, efc_J, efc_error, efc_bound, efc_kind, efc_number,
    equalities, frictions, limits, old_contact, old_tag, first_new, M, force, v, damping, servo, springs, spring_dof,
    stiff, impulse, old_key, old_joints, recovery, leave, law, tol,
):  # fmt: skip
    """A step of a model from what MuJoCo has in its memory: what `found_rows` returns, (v, f), and what `solve_step`
    does. `impulse` (nc before, 3), `old_key` and `old_joints` are those of the step before; with `leave`, overlaps are
    left as they are."""
    found = found_rows(
        memory, words, fields, count, geom_body, tree, centre, axes, efc_J, efc_error, efc_bound, efc_kind, efc_number,
        equalities, frictions, limits, old_contact, old_tag, first_new,
    )  # fmt: skip
    J, contact, tag, rows, row, key, _ = found
    start = np.empty((2, v.size))
    start[0], start[1] = v, force
    own, momentum = effective_mass(M, force, v, law.h, damping, servo, springs, spring_dof, stiff)
    if leave:
        contact, row = met(contact, row)
    wanted, lower, upper = bounded(row, law.h, recovery, law.brake)
    warm = carried(tag, impulse, 3)
    warm_rows = carried_rows(key, old_key, old_joints)
    answer = solve_step(own, momentum, v, J, contact, rows, wanted, lower, upper, warm, warm_rows, law, tol)
    return found, start, answer


@kernel
def bounded(row, h, recovery, brake):
    """Velocity that constraints, dry friction and limits ask for, with the opposite sign, and the bounds of their
    impulses: the bound in `row` is inf of constraints, -inf of limits. A share `recovery` of an error is taken back; of
    a large one, as of a limit that does not hold at the start, as much as can be braked: by `brake` at limits, as
    gently as overlaps are."""
    count = len(row)
    wanted, lower, upper = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        error, bound = row[i, ERROR], row[i, BOUND]
        limit = bound == -np.inf
        most = min(brake, BRAKE) if limit else BRAKE
        back = min(recovery * abs(error) / h, math.sqrt(2.0 * most * abs(error)))
        wanted[i] = error / h if limit and error > 0.0 else math.copysign(back, error)
        lower[i] = 0.0 if limit else -h * bound
        upper[i] = np.inf if limit else h * bound
    return wanted, lower, upper


@kernel
def carried(tag, impulse, d):
    """(nc, d) the impulses of the step before at the contacts of now."""
    start = np.zeros((len(tag), d))
    for i in range(len(tag)):
        was = tag[i, WAS]
        if 0 <= was < len(impulse):
            for c in range(min(d, impulse.shape[1])):
                start[i, c] = impulse[was, c]
    return start


@kernel
def carried_rows(key, old_key, old):
    """(m,) the same at bounded rows, which are known by their keys."""
    start = np.zeros(key.size)
    for i in range(key.size):
        for k in range(old_key.size):
            j = (i + k) % old_key.size  # most often they are in the same place
            if key[i] == old_key[j]:
                start[i] = old[j]
                break
    return start


@kernel
def solve_step(M, f, v, A, contact, rows, wanted, lower, upper, start, start_rows, law, tol):
    """The impulses of a step: of contacts (nc, 3) and of bounded rows (m,), both from a start. Returns whether it is
    solved, the residual, the steps made, v⁺, both impulses, and of contacts (nc, 3) whether they take part, slide at
    the start, and their states; last the worst wrong velocity of a contact, and which that is."""
    n, count, m = v.size, len(contact), wanted.size
    p, joints, end = np.zeros((count, 3)), np.zeros(m), np.zeros(n)
    did = np.zeros((count, 3), np.int64)
    L = M.copy()
    if not factorise(L):
        return False, np.inf, 0, end, p, joints, did, 0.0, -1
    y_f = f.copy()
    from_leaves(L, y_f)
    end[:] = y_f
    from_root(L, end)
    k, member, u_0 = 0, np.empty(count, np.int64), np.zeros(3)
    offset, soft = np.empty(count), np.empty(count)
    for i in range(count):
        free = 0.0
        u_0[:] = 0.0
        for j in range(n):
            free += A[3 * i, j] * end[j]
            for c in range(3):
                u_0[c] += A[3 * i + c, j] * v[j]
        gap, mu, bounce = contact[i, GAP], contact[i, MU], contact[i, BOUNCE]
        bounced = bounces(law, gap, bounce, u_0[0], free)
        _, sliding = friction_of(law, mu, mu, math.sqrt(u_0[1] ** 2 + u_0[2] ** 2))
        did[i, PART], did[i, SLIDES] = part(law, gap, bounced), sliding
        if did[i, PART] == TAKES_PART:
            offset[k], soft[k] = normal_terms(law, gap, bounce, u_0[0], bounced, math.inf, 0.0)
            member[k] = i
            k += 1
    size = 3 * k + m
    if size == 0:
        return True, 0.0, 0, end, p, joints, did, 0.0, -1
    X, q, s, r, give = np.empty((size, n)), np.zeros(size), np.empty(size), np.zeros(size), np.zeros(size)
    low, high, cone = np.empty(m), np.empty(m), np.empty(k)
    for b in range(k):
        i = member[b]
        cone[b], give[3 * b], q[3 * b] = contact[i, MU], soft[b], offset[b]
        for a in range(3):
            X[3 * b + a] = A[3 * i + a]
            r[3 * b + a] = start[i, a]
    for b in range(m):
        X[3 * k + b], q[3 * k + b], r[3 * k + b] = rows[b], wanted[b], start_rows[b]
    for x in range(size):
        from_leaves(L, X[x])
    scale(X, k, s)
    for x in range(size):
        total = q[x]
        for j in range(n):
            total += X[x, j] * y_f[j]
        q[x], r[x], give[x] = s[x] * total, r[x] / s[x], s[x] * s[x] * give[x]
    Y, place = gathered(X, k, s)
    for b in range(m):
        low[b], high[b] = lower[b] / s[3 * k + b], upper[b] / s[3 * k + b]
    y, u = np.zeros(n), np.empty(size)
    error, solved, steps = iterate(Y, place, q, give, s, cone, low, high, tol, r, y, u)
    for j in range(n):
        end[j] = y_f[j] + y[j]
    from_root(L, end)
    greatest, wrong, worst = 0.0, 0.0, -1
    for b in range(k):
        a = 3 * b
        greatest = max(greatest, s[a] * r[a])
        far = math.sqrt(cone_distance(cone[b], cone[b], r[a], r[a + 1], r[a + 2], u[a], u[a + 1], u[a + 2])) / s[a]
        if far > wrong:
            wrong, worst = far, member[b]
    for b in range(k):
        i, at = member[b], 3 * b
        for a in range(3):
            p[i, a] = s[at] * r[at + a]
        u_1, u_2 = 0.0, 0.0
        for j in range(n):
            u_1, u_2 = u_1 + A[3 * i + 1, j] * end[j], u_2 + A[3 * i + 2, j] * end[j]
        left = cone[b] * p[i, 0] - math.sqrt(p[i, 1] ** 2 + p[i, 2] ** 2)
        did[i, STATE] = state_of(p[i, 0], left, math.sqrt(u_1 * u_1 + u_2 * u_2), s[at] ** 2, tol * greatest)
    for b in range(m):
        joints[b] = s[3 * k + b] * r[3 * k + b]
    return solved, error, steps, end, p, joints, did, wrong, worst


@kernel
def iterate(Y, place, q, c, s, mu, low, high, tol, r, y, u):
    """Newton's method (2) from r, in place; y becomes Yᵀ r, and u the velocities. Returns the residual, whether it is
    solved, and the steps made."""
    size, n = r.size, y.size
    k = mu.size
    F, best, unscaled = np.empty(size), np.empty(size), np.ones(size)
    A, B, K = np.empty((k, 3, 3)), np.empty((k, 3, 3)), np.empty((k, 3, 3))
    S, swaps, KY, dy = np.empty((n, n)), np.empty(n, np.int64), np.empty((size, n + 1)), np.empty(n)
    inside(r, mu, low, high)
    error, good = judge(Y, place, q, c, s, mu, low, high, tol, r, y, u)
    best[:] = r
    steps, now = 0, good
    for cautious in (False, True):
        if cautious and (good >= SOLVED or not error < np.inf):
            break
        if cautious:
            r[:] = best
            judge(Y, place, q, c, s, mu, low, high, tol, r, y, u)
        alpha, change = (1.0, CAUTIOUS) if cautious else (first_alpha(error, tol), CHANGE)
        last, idle, made = error, 0, 0
        while made < (MORE_STEPS if cautious else STEPS) and error < np.inf:
            made += 1
            linearise(False, mu, mu, low, high, unscaled, r, u, F, A, B)
            blocks(A, B, alpha, c, F, K)
            if not reduced(Y, place, K, alpha, c, low, high, r, u, F, KY, S, dy):
                break
            if not eliminate(S, swaps):
                break
            substitute(S, swaps, dy)
            for x in range(size):
                total, at = F[x], place[block(x, k)]
                for e in range(1, at[0] + 1):
                    total += KY[x, e] * dy[at[e]]
                r[x] -= total
            inside(r, mu, low, high)
            reached, now = judge(Y, place, q, c, s, mu, low, high, tol, r, y, u)
            helped, try_out = reached < last, made == 1 and not cautious
            idle, alpha = (0, max(alpha / change, LEAST)) if helped else (idle + 1, min(alpha * change, GREATEST))
            if reached < error or (try_out and now == CLOSE):
                error, good = reached, now
                best[:] = r
            tired = idle == (SATISFIED if good >= SOLVED else MORE_PATIENCE if cautious else PATIENCE)
            if now == CLOSE or tired or not reached < np.inf:
                break
            if try_out:
                usual = min(ALPHA, max(math.sqrt(error) * ALPHA, LEAST))
                alpha = usual if helped else max(usual, alpha)
                if not helped:
                    r[:] = best
                    judge(Y, place, q, c, s, mu, low, high, tol, r, y, u)
            last = reached if cautious else error
        steps += made
    if now != CLOSE:
        r[:] = best
        error, good = judge(Y, place, q, c, s, mu, low, high, tol, r, y, u)
    return error, good >= SOLVED, steps


@bare
def first_alpha(error, tol):
    """α of the first step: one that may be the last, for it leaves about α times the error, and as large as that
    allows: where contacts share a load, impulses move by the error over α."""
    return min(FIRST, max(error * ALPHA, CLOSER * CLOSER * tol / max(error, tol), LEAST))


@bare
def block(x, k):
    """The block of a row: that of a contact, or a bounded row."""
    return x // 3 if x < 3 * k else x - 2 * k


@kernel
def gathered(X, k, s):
    """The entries of each row, scaled, from 1 on in Y, and where they were, block by block, with their number at 0."""
    size, n = X.shape
    Y, place = np.empty((size, n + 1)), np.zeros((size - 2 * k, n + 1), np.int64)
    for b in range(size - 2 * k):
        first, rows = (3 * b, 3) if b < k else (b + 2 * k, 1)
        count = 0
        for j in range(n):
            some = False
            for x in range(first, first + rows):
                some = some or X[x, j] != 0.0
            if some:
                count += 1
                place[b, count] = j
                for x in range(first, first + rows):
                    Y[x, count] = s[x] * X[x, j]
        place[b, 0] = count
    return Y, place


@bare
def blocks(A, B, alpha, c, F, K):
    """K = D⁻¹ B and F <- D⁻¹ F of contacts, D = A + B (α + ε)."""
    for b in range(len(A)):
        e0, e1 = alpha + c[3 * b], alpha
        d00, d01, d02 = A[b, 0, 0] + B[b, 0, 0] * e0, A[b, 0, 1] + B[b, 0, 1] * e1, A[b, 0, 2] + B[b, 0, 2] * e1
        d10, d11, d12 = A[b, 1, 0] + B[b, 1, 0] * e0, A[b, 1, 1] + B[b, 1, 1] * e1, A[b, 1, 2] + B[b, 1, 2] * e1
        d20, d21, d22 = A[b, 2, 0] + B[b, 2, 0] * e0, A[b, 2, 1] + B[b, 2, 1] * e1, A[b, 2, 2] + B[b, 2, 2] * e1
        c00, c01, c02 = d11 * d22 - d12 * d21, d02 * d21 - d01 * d22, d01 * d12 - d02 * d11
        c10, c11, c12 = d12 * d20 - d10 * d22, d00 * d22 - d02 * d20, d02 * d10 - d00 * d12
        c20, c21, c22 = d10 * d21 - d11 * d20, d01 * d20 - d00 * d21, d00 * d11 - d01 * d10
        over_ = 1.0 / (d00 * c00 + d01 * c10 + d02 * c20)
        for j in range(3):
            x, y, z = B[b, 0, j], B[b, 1, j], B[b, 2, j]
            K[b, 0, j] = over_ * (c00 * x + c01 * y + c02 * z)
            K[b, 1, j] = over_ * (c10 * x + c11 * y + c12 * z)
            K[b, 2, j] = over_ * (c20 * x + c21 * y + c22 * z)
        x, y, z = F[3 * b], F[3 * b + 1], F[3 * b + 2]
        F[3 * b] = over_ * (c00 * x + c01 * y + c02 * z)
        F[3 * b + 1] = over_ * (c10 * x + c11 * y + c12 * z)
        F[3 * b + 2] = over_ * (c20 * x + c21 * y + c22 * z)


@bare
def reduced(Y, place, K, alpha, c, low, high, r, u, F, KY, S, dy):
    """K Y, I + Yᵀ K Y and -Yᵀ D⁻¹ F of (2); F of bounded rows becomes D⁻¹ F. False where something is not finite."""
    size, n, k = r.size, dy.size, len(K)
    for i in range(n):
        dy[i] = 0.0
        for j in range(n):
            S[i, j] = 1.0 if i == j else 0.0
    for x in range(size):
        row, at = KY[x], place[block(x, k)]
        count, carries = at[0], True
        if x < 3 * k:
            b, a = x // 3, x % 3
            f, g, h = K[b, a, 0], K[b, a, 1], K[b, a, 2]
            carries = f != 0.0 or g != 0.0 or h != 0.0
            for e in range(1, count + 1):
                row[e] = f * Y[3 * b, e] + g * Y[3 * b + 1, e] + h * Y[3 * b + 2, e]
        else:
            b = x - 3 * k
            carries = low[b] < r[x] - u[x] < high[b]
            share = 1.0 / (alpha + c[x]) if carries else 0.0
            F[x] *= share if carries else 1.0
            for e in range(1, count + 1):
                row[e] = share * Y[x, e]
        if not abs(F[x]) < np.inf:
            return False
        for e in range(1, count + 1):
            value, into = Y[x, e], S[at[e]]
            dy[at[e]] -= value * F[x]
            if carries:
                for j in range(1, count + 1):
                    into[at[j]] += value * row[j]
    return True


@bare
def inside(r, mu, low, high):
    """Cut impulses back to their cones and bounds."""
    k = mu.size
    for b in range(k):
        into_cone(mu[b], 3, 3 * b, r)
    for b in range(low.size):
        x = 3 * k + b
        r[x] = min(max(r[x], low[b]), high[b])


@bare
def judge(Y, place, q, c, s, mu, low, high, tol, r, y, u):
    """y = Yᵀ r and the scaled velocities u, in place; the residual of engine/sweep.py, and whether that is SOLVED or
    CLOSE."""
    size, n, k = r.size, y.size, mu.size
    for j in range(n):
        y[j] = 0.0
    for x in range(size):
        if r[x] != 0.0:
            at = place[block(x, k)]
            for e in range(1, at[0] + 1):
                y[at[e]] += Y[x, e] * r[x]
    far, far_s, p_p, u_u, q_q, p_s, u_s, q_s = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for x in range(size):
        total, at = q[x] + c[x] * r[x], place[block(x, k)]
        for e in range(1, at[0] + 1):
            total += Y[x, e] * y[at[e]]
        u[x] = total
        e = s[x] * s[x]
        p_p, u_u, q_q = p_p + e * r[x] ** 2, u_u + total * total / e, q_q + q[x] ** 2 / e
        p_s, u_s, q_s = p_s + r[x] ** 2, u_s + total * total, q_s + q[x] ** 2
    for b in range(k):
        a, e = 3 * b, s[3 * b]
        far += cone_distance(mu[b], mu[b], e * r[a], e * r[a + 1], e * r[a + 2], u[a] / e, u[a + 1] / e, u[a + 2] / e)
        far_s += cone_distance(mu[b], mu[b], r[a], r[a + 1], r[a + 2], u[a], u[a + 1], u[a + 2])
    for b in range(low.size):
        x = 3 * k + b
        e = s[x]
        far += (e * r[x] - min(max(e * r[x] - u[x] / e, e * low[b]), e * high[b])) ** 2
        far_s += (r[x] - min(max(r[x] - u[x], low[b]), high[b])) ** 2
    error = over(math.sqrt(far), math.sqrt(max(p_p, u_u, q_q)))
    if not error <= tol:
        return error, UNSOLVED
    other = by_velocities(math.sqrt(far_s), math.sqrt(p_s), math.sqrt(u_s), math.sqrt(q_s))
    if error <= CLOSER * tol and other <= math.sqrt(CLOSER * tol):
        return error, CLOSE
    return error, SOLVED if other <= math.sqrt(tol) else UNSOLVED


@bare
def factorise(L):
    """L of M = Lᵀ L in the lower triangle, in place; False where M is not positive definite."""
    for i in range(L.shape[0] - 1, -1, -1):
        if not L[i, i] > 0.0:
            return False
        L[i, i] = math.sqrt(L[i, i])
        for j in range(i):
            L[i, j] /= L[i, i]
        for j in range(i):
            share = L[i, j]
            if share != 0.0:
                for e in range(j + 1):
                    L[j, e] -= share * L[i, e]
    return True


@bare
def from_leaves(L, b):
    """b <- L⁻ᵀ b; zeros of joints that do not lie towards the root stay."""
    for i in range(b.size - 1, -1, -1):
        if b[i] != 0.0:
            b[i] /= L[i, i]
            for j in range(i):
                b[j] -= L[i, j] * b[i]


@bare
def from_root(L, b):
    """b <- L⁻¹ b"""
    for i in range(b.size):
        total = b[i]
        for j in range(i):
            total -= L[i, j] * b[j]
        b[i] = total / L[i, i]


@bare
def scale(X, k, s):
    """s² = 3 / tr W_ii of contacts, 1 / W_ii of bounded rows, 1 where that is zero."""
    size, n = X.shape
    for x in range(size):
        own = 0.0
        for j in range(n):
            own += X[x, j] * X[x, j]
        s[x] = own
    for b in range(k):
        own = s[3 * b] + s[3 * b + 1] + s[3 * b + 2]
        s[3 * b] = s[3 * b + 1] = s[3 * b + 2] = math.sqrt(3.0 / own) if own > 0.0 else 1.0
    for x in range(3 * k, size):
        s[x] = 1.0 / math.sqrt(s[x]) if s[x] > 0.0 else 1.0
