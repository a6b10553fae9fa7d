"""Gauss-Seidel for distributed contacts: contact after contact, each solved exactly with the others held.

    q_i' = q_i + Σ_{j≠i} W_ij x_j  with the newest x_j,      x_i <- the force of contact i alone under (W_ii, q_i')

in the scaled variables of problems/limit_surface.py, x = (c_n, s) and y = (a_n, τ). One contact: with c_n eliminated,
c_n = -(q_n + w_nt · s) / W_nn,

    open    q_n >= 0                            c_n = 0, s = 0
    slide   a given slip, s = -μ c_n m          c_n = -q_n / (W_nn - μ w_nt · m), m the point of B that -slip points to
    roll    s = P_λB(s - τ),  λ = μ c_n         τ = S s + b,  S = W_tt - w_tn w_ntᵀ / W_nn,  b = q_t - w_tn q_n / W_nn

For the Ellipsoid, B the unit ball, a contact that slips has (S + κ I) s = -b with κ >= 0 and |s| = μ c_n: one equation
for κ, ψ(κ) = μ c_n / |s| - 1 = 0, close to linear, by Newton's method inside a bracket as in solvers/contact.py. For a
FrictionMap it has S s + κ n + b = 0 with n = ∇f(s), f(s) = μ c_n: Newton's method from the last s. Other sets, and
whatever that leaves, take Newton's method on s - P_λB(s - ρ τ) = 0, with projected steps where it does not descend.

[1] Jourdan, Alart, Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998) 31-47.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, count, not_negative, whole
from stickslip.jit import kernel
from stickslip.problems.blocks import invert_block
from stickslip.problems.friction_sets import BALL, GAUGE, MIXED, curve, invert, nearest, slope
from stickslip.problems.limit_surface import LimitSurfaceProblem, judge_contacts
from stickslip.problems.matrix import Vector
from stickslip.solvers.nsgs import ending
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, in_chunks

ROOT_LIMIT = 100  # a bisection alone ends before
ROOT_STEP = 1e-9  # after a relative step this small the next error is its square, below rounding
LOCAL_LIMIT = 40  # of Newton's method on one contact
EXACT = 1e-14  # change of s, relative, that ends it
SHORT, KEPT = 1e-8, 1e-3  # steps on a gauge's surface that end it, and that leave its curvature as it is
SINGULAR = 1e-14  # det S over the product of its scales below which a contact cannot be said to stick
FAR, TURNS, STILL = 1e3, 100, 1e-15  # of the search for the point that a given slip leads to


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, patience=whole)
class LimitSurfaceGaussSeidel:
    """Gauss-Seidel for LimitSurfaceProblem; an iteration is one sweep over the contacts."""

    tol: float = 1e-8
    max_iter: int = 20_000
    patience: int = 0  # give up when, by the rate so far, it would take more sweeps than this; 0: never

    def solve(self, problem: LimitSurfaceProblem, x0: Vector | None = None) -> Solution:
        """Sweep from x0 (zero where there is none) until the residual is at most tol."""
        started = expect(self, problem, LimitSurfaceProblem)
        form = problem.scaled
        x = form.coordinates(start_from(problem, x0))
        settings = (0.999 * self.tol, self.patience)  # conclude sums A c in another order
        data, once = (*form.W, form.q, *form.law, *settings), self.patience > 0
        ended, sweeps = in_chunks(lambda most: iterate(*data, most, x), self.max_iter, once)
        return conclude(problem, self, form.forces(x), ended, sweeps, started)


@kernel
def iterate(
    diagonal, others, start, first, q, mu, way, alive, state, kind, planes, gauge, tol, patience, max_iter, x
):  # fmt: skip
    """Sweep until the residual is at most tol; x is updated in place. Returns the status and the sweeps made."""
    law = (mu, way, alive, state, kind, planes, gauge)
    y, kappa = np.empty_like(q), np.zeros(mu.size)
    ends = np.zeros_like(way)
    furthest(*law, ends)
    change, promising, due = np.inf, 0.0, 1
    last, before = 0, 0.0
    for sweeps in range(max_iter + 1):
        if sweeps > 0:
            change = sweep(diagonal, others, start, first, q, *law, ends, kappa, x)
        if sweeps in (0, due, max_iter) or not promising < change < np.inf:
            accelerations(diagonal, others, start, first, q, x, y)
            error, solved = judge_contacts(diagonal, x, y, q, *law, tol)
            ended = ending(error, solved, change, tol, patience, sweeps, last, before)
            if ended >= 0:
                return ended, sweeps
            if sweeps > 0:
                promising, due = change * tol / error, 2 * sweeps
                last, before = sweeps, error
    return MAX_ITER, max_iter


@kernel
def furthest(mu, way, alive, state, kind, planes, gauge, ends):
    """The point of B that works most against a given slip, contact by contact; zero where there is none.

    Of the ball and of the disc with its interval in closed form. Of other sets it is the fixed point of
    m <- P_B(m - FAR slip): each turn divides the distance from it by FAR times the curvature of the set.
    """
    far, before, D = np.empty(3), np.empty(3), np.empty((3, 3))
    for i in range(mu.size):
        if not (way[i, 0] != 0.0 or way[i, 1] != 0.0 or way[i, 2] != 0.0):
            continue
        if kind[i, 0] == BALL:
            for j in range(3):
                ends[i, j] = -way[i, j]
        elif kind[i, 0] == MIXED:
            size = math.sqrt(way[i, 0] ** 2 + way[i, 1] ** 2)
            for j in range(2):
                ends[i, j] = -way[i, j] / size if size > 0.0 else 0.0
            ends[i, 2] = -math.copysign(1.0, way[i, 2]) if way[i, 2] != 0.0 else 0.0
        else:
            own = planes[kind[i, 1] : kind[i, 2]]
            for j in range(3):
                ends[i, j] = 0.0
            for _ in range(TURNS):
                for j in range(3):
                    before[j] = ends[i, j]
                    far[j] = ends[i, j] - FAR * way[i, j]
                nearest(kind[i, 0], own, gauge, state[i], alive[i], 1.0, far, ends[i], D, False)
                moved, size = 0.0, 0.0
                for j in range(3):
                    moved, size = moved + abs(ends[i, j] - before[j]), size + abs(ends[i, j])
                if not moved > STILL * size:
                    break


@kernel
def accelerations(diagonal, others, start, first, q, x, y):
    """y = W x + q."""
    for i in range(diagonal.shape[1]):
        b = 4 * i
        free(others, start, first, q, x, i, y[b : b + 4])
        for a in range(4):
            for c in range(4):
                y[b + a] += diagonal[4 * a + c, i] * x[b + c]


@kernel
def sweep(D, B, start, first, q, mu, way, alive, state, kind, planes, gauge, ends, kappa, x):
    """One pass over the contacts in order; x is updated in place. Returns |Δx|."""
    total = 0.0
    y = np.empty(4)
    s, S, b, w = np.empty(3), np.empty((3, 3)), np.empty(3), np.empty(3)
    room = np.empty((4, 3, 3))
    for i in range(mu.size):
        at = 4 * i
        free(B, start, first, q, x, i, y)
        W_nn = D[0, i]
        slides = way[i, 0] != 0.0 or way[i, 1] != 0.0 or way[i, 2] != 0.0
        if y[0] >= 0.0 or not W_nn > 0.0:
            normal = 0.0
            s[:] = 0.0
        elif slides:
            hold = W_nn
            for j in range(3):
                hold += mu[i] * D[1 + j, i] * ends[i, j]
            normal = -y[0] / hold if hold > 0.0 else np.nan  # no force of this contact alone keeps it closed
            for j in range(3):
                s[j] = mu[i] * normal * ends[i, j]
        else:
            w[0], w[1], w[2] = -D[1, i] / W_nn, -D[2, i] / W_nn, -D[3, i] / W_nn
            for j in range(3):
                b[j] = y[1 + j] - D[4 * (1 + j), i] * y[0] / W_nn
                s[j] = x[at + 1 + j]
                for k in range(3):
                    S[j, k] = D[4 * (1 + j) + 1 + k, i] + D[4 * (1 + j), i] * w[k]
            offset = -y[0] / W_nn
            own = planes[kind[i, 1] : kind[i, 2]]
            kappa[i] = roll(mu[i], alive[i], state[i], kind[i, 0], own, gauge, offset, w, S, b, kappa[i], room, s)
            normal = max(offset + w[0] * s[0] + w[1] * s[1] + w[2] * s[2], 0.0)
        total += (normal - x[at]) ** 2
        x[at] = normal
        for j in range(3):
            total += (s[j] - x[at + 1 + j]) ** 2
            x[at + 1 + j] = s[j]
    return math.sqrt(total)


@kernel
def free(B, start, first, q, x, i, y):
    """y = q_i + Σ_{j≠i} W_ij x_j."""
    one, two, three = np.uint32(1), np.uint32(2), np.uint32(3)
    B_0, B_1, B_2, B_3, B_4, B_5, B_6, B_7 = B[0], B[1], B[2], B[3], B[4], B[5], B[6], B[7]
    B_8, B_9, B_10, B_11, B_12, B_13, B_14, B_15 = B[8], B[9], B[10], B[11], B[12], B[13], B[14], B[15]
    b = np.uint32(4 * i)
    y_n, y_t, y_o, y_r = q[b], q[b + one], q[b + two], q[b + three]
    for k in range(start[i], start[i + 1]):
        j = first[k]
        x_n, x_t, x_o, x_r = x[j], x[j + one], x[j + two], x[j + three]
        y_n += B_0[k] * x_n + B_1[k] * x_t + B_2[k] * x_o + B_3[k] * x_r
        y_t += B_4[k] * x_n + B_5[k] * x_t + B_6[k] * x_o + B_7[k] * x_r
        y_o += B_8[k] * x_n + B_9[k] * x_t + B_10[k] * x_o + B_11[k] * x_r
        y_r += B_12[k] * x_n + B_13[k] * x_t + B_14[k] * x_o + B_15[k] * x_r
    y[0], y[1], y[2], y[3] = y_n, y_t, y_o, y_r


@kernel
def roll(mu, alive, at, kind, planes, gauge, offset, w, S, b, kappa, room, s):
    """Of a contact that rolls: s with s = P_λB(s - S s - b), λ = μ c_n, c_n = offset + w · s. Returns κ for the next
    time; s holds that of the last sweep."""
    if mu == 0.0:
        s[:] = 0.0
        return kappa
    for j in range(3):
        if not alive[j]:
            s[j] = 0.0
            S[j, j] = 1.0  # its other entries, and b, are zero
    if kind == BALL:
        return roll_on_ball(mu, offset, w, S, b, kappa, s)
    if (
        kind >= GAUGE
        and gauge is not None
        and roll_on_gauge(mu, alive, at, gauge, kind - GAUGE, offset, w, S, b, room, s)
    ):
        return kappa
    roll_by_projection(mu, alive, at, kind, planes, gauge, offset, w, S, b, s)
    return kappa


@kernel
def roll_on_ball(mu, offset, w, S, b, kappa, s):
    """(S + κ I) s = -b, |s| = μ c_n; κ = 0 where it sticks."""
    size = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    if size == 0.0:
        s[:] = 0.0
        return 0.0
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    least = SINGULAR * trace  # with which a singular S can be solved for, exact to rounding
    normal, length, slope_ = on_ray(least, offset, w, S, b, s)
    if normal >= 0.0 and length <= mu * normal:
        return 0.0
    width = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    low, high = least, size * (1.0 + mu * width) / (mu * offset)
    if not low < kappa < high:
        kappa = min(max(size / (mu * offset) - trace / 3.0, 2.0 * low), 0.5 * (low + high))
    for _ in range(ROOT_LIMIT):
        normal, length, slope_ = on_ray(kappa, offset, w, S, b, s)
        value = mu * normal / length - 1.0
        if value < 0.0:
            low = kappa
        else:
            high = kappa
        # d(c_n / |s|)/dκ from the slopes of c_n and of |s|
        step = -value / (mu * slope_)
        kappa += step
        if abs(step) <= ROOT_STEP * (kappa + trace):
            break
        if not low < kappa < high:
            kappa = 0.5 * (low + high)
    normal, length, slope_ = on_ray(kappa, offset, w, S, b, s)
    cut = mu * max(normal, 0.0) / length
    for j in range(3):
        s[j] *= cut
    return kappa


@kernel
def on_ray(kappa, offset, w, S, b, s):
    """s = -(S + κ I)⁻¹ b; returns c_n, |s| and the derivative of c_n / |s| by κ."""
    det, v_00, v_01, v_02, v_10, v_11, v_12, v_20, v_21, v_22 = invert_block(
        S[0, 0] + kappa, S[0, 1], S[0, 2], S[1, 0], S[1, 1] + kappa, S[1, 2], S[2, 0], S[2, 1], S[2, 2] + kappa
    )
    over = 1.0 / det
    s_0 = -over * (v_00 * b[0] + v_01 * b[1] + v_02 * b[2])
    s_1 = -over * (v_10 * b[0] + v_11 * b[1] + v_12 * b[2])
    s_2 = -over * (v_20 * b[0] + v_21 * b[1] + v_22 * b[2])
    d_0 = -over * (v_00 * s_0 + v_01 * s_1 + v_02 * s_2)
    d_1 = -over * (v_10 * s_0 + v_11 * s_1 + v_12 * s_2)
    d_2 = -over * (v_20 * s_0 + v_21 * s_1 + v_22 * s_2)
    length = math.sqrt(s_0 * s_0 + s_1 * s_1 + s_2 * s_2)
    normal = offset + w[0] * s_0 + w[1] * s_1 + w[2] * s_2
    shrink = (s_0 * d_0 + s_1 * d_1 + s_2 * d_2) / length
    s[0], s[1], s[2] = s_0, s_1, s_2
    return normal, length, (w[0] * d_0 + w[1] * d_1 + w[2] * d_2 - normal * shrink / length) / length


@kernel
def roll_on_gauge(mu, alive, at, gauge, which, offset, w, S, b, room, s):
    """S s + κ n + b = 0, n = ∇f(s), f(s) = μ c_n, by Newton's method from the s at hand, or else from where the contact
    would stick. True where it ends."""
    V, n = room[0], room[1, 0]
    last_0, last_1, last_2 = s[0], s[1], s[2]
    det = invert(S, V)
    regular = det > SINGULAR * S[0, 0] * S[1, 1] * S[2, 2]
    for j in range(3):
        s[j] = -(V[j, 0] * b[0] + V[j, 1] * b[1] + V[j, 2] * b[2]) if regular else -b[j]
    stick_0, stick_1, stick_2 = s[0], s[1], s[2]
    normal = offset + w[0] * s[0] + w[1] * s[1] + w[2] * s[2]
    if regular and normal >= 0.0 and slope(gauge, which, at, alive, s, n) <= mu * normal:
        return True
    if last_0 != 0.0 or last_1 != 0.0 or last_2 != 0.0:
        s[0], s[1], s[2] = last_0, last_1, last_2
        if slip_on_gauge(mu, alive, at, gauge, which, offset, w, S, b, room, s):
            return True
    s[0], s[1], s[2] = stick_0, stick_1, stick_2
    if slip_on_gauge(mu, alive, at, gauge, which, offset, w, S, b, room, s):
        return True
    s[0], s[1], s[2] = last_0, last_1, last_2
    return False


@kernel
def slip_on_gauge(mu, alive, at, gauge, which, offset, w, S, b, room, s):
    """The iteration of `roll_on_gauge`. The curvature of the gauge is kept while steps are short."""
    V, n, r, H, M = room[0], room[1, 0], room[1, 1], room[2], room[3]
    value = slope(gauge, which, at, alive, s, n)
    bound = mu * (offset + w[0] * s[0] + w[1] * s[1] + w[2] * s[2])
    if not bound > 0.0:
        bound = mu * offset
    scale = bound / value
    kappa, square = 0.0, n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    for j in range(3):
        s[j] *= scale  # onto the surface; n stays the same
    for j in range(3):
        kappa -= (S[j, 0] * s[0] + S[j, 1] * s[1] + S[j, 2] * s[2] + b[j]) * n[j] / square
    value = bound
    change, size = 1.0, 0.0
    for steps in range(12):
        if steps > 0:
            value = slope(gauge, which, at, alive, s, n)
        if not kappa > 0.0:
            return False
        if change > KEPT * size:
            curve(gauge, which, at, alive, s, n, H)
            for j in range(3):
                for k in range(3):
                    M[j, k] = S[j, k] + kappa * H[j, k]
            invert(M, V)
        gap = value - mu * (offset + w[0] * s[0] + w[1] * s[1] + w[2] * s[2])
        # δ = V (r - κ⁺ n), where κ⁺ is such that the surface is met:  (n - μ w) · δ = -gap
        for j in range(3):
            r[j] = -(S[j, 0] * s[0] + S[j, 1] * s[1] + S[j, 2] * s[2] + b[j])
        met, turn = gap, 0.0
        for j in range(3):
            along = n[j] - mu * w[j]
            met += along * (V[j, 0] * r[0] + V[j, 1] * r[1] + V[j, 2] * r[2])
            turn += along * (V[j, 0] * n[0] + V[j, 1] * n[1] + V[j, 2] * n[2])
        kappa = met / turn
        change, size = 0.0, 0.0
        for j in range(3):
            step = 0.0
            for k in range(3):
                step += V[j, k] * (r[k] - kappa * n[k])
            s[j] += step
            change += abs(step)
            size += abs(s[j])
        if not size < np.inf:
            return False
        if change <= SHORT * size:  # the error left is its square, or this times KEPT
            return kappa > 0.0
    return False


@kernel
def roll_by_projection(mu, alive, at, kind, planes, gauge, offset, w, S, b, s):
    """Newton's method on G(s) = s - P_λB(s - ρ (S s + b)), with steps s <- P_λB(...) where it does not descend."""
    rho = 1.0 / max(S[0, 0] + S[1, 1] + S[2, 2], 1e-300)
    p, target, step = np.empty(3), np.empty(3), np.empty(3)
    D, M, V = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    before, best = s.copy(), np.inf
    for _ in range(LOCAL_LIMIT):
        bound = mu * max(offset + w[0] * s[0] + w[1] * s[1] + w[2] * s[2], 0.0)
        size = 0.0
        for j in range(3):
            target[j] = s[j] - rho * (S[j, 0] * s[0] + S[j, 1] * s[1] + S[j, 2] * s[2] + b[j])
            size += abs(target[j]) + abs(s[j])
        nearest(kind, planes, gauge, at, alive, bound, target, p, D, True)
        error = abs(s[0] - p[0]) + abs(s[1] - p[1]) + abs(s[2] - p[2])
        if not error > EXACT * size:  # or NaN, which the residual will show
            return
        if error >= best:
            s[:] = before  # the projected point of where Newton's step began
            best = np.inf
            continue
        best = error
        before[:] = p
        for j in range(3):
            moved = 0.0  # ∂P/∂λ, of a set that scales with λ
            for k in range(3):
                moved += D[j, k] * target[k]
            moved = (p[j] - moved) / bound if bound > 0.0 else 0.0
            for k in range(3):
                turned = D[j, k]
                for a in range(3):
                    turned -= rho * D[j, a] * S[a, k]
                M[j, k] = (1.0 if j == k else 0.0) - turned - moved * mu * w[k]
        det = invert(M, V)
        whole = True
        for j in range(3):
            step[j] = V[j, 0] * (p[0] - s[0]) + V[j, 1] * (p[1] - s[1]) + V[j, 2] * (p[2] - s[2])
            whole = whole and abs(step[j]) < np.inf
        if det == 0.0 or not whole:
            s[:] = p
            best = np.inf
            continue
        for j in range(3):
            s[j] += step[j]
