"""One contact under the associated law, solved exactly:  K ∋ r ⊥ u = W r + q ∈ K*  with a 3 x 3 block W.

For symmetric W this is min ½ rᵀ W r + qᵀ r over the cone; W may be unsymmetric with a positive definite symmetric part.

    open    q ∈ K*: q_n >= μ |q_t|             r = 0
    stick   u = 0                              r = -W⁻¹ q, where that lies in the cone
    edge    u = c (μ, -r_t / |r_t|), c >= 0    |r_t| = μ r_n

Measured in μ r_n and u_n / μ the cone is |r_t| <= r_n, and the edge reads, with λ = c / |r_t|,

    N(λ) r = -q,   N(λ) = W + λ J,   J = diag(-1, 1, 1),   |r_t| = r_n,   λ >= 0.                            (1)

By Cramer's rule r = -p / D with the polynomials p = adj(N) q of degree two and D = det N of degree three, so that
|p_t| = |p_n|: a quartic. Its root is unique once the sign of r_n is minded: it is where

    Φ(λ) = sgn(D) |p_t| + p_n

passes from plus to minus. Φ is positive at 0 unless the contact sticks, and negative at infinity unless it is open.
Where D changes sign Φ jumps, but not through zero: there p is a multiple of the e with N e = 0, for which
eᵀ J e = -eᵀ W e / λ < 0, so |e_t| < |e_n|. Φ over λ + ½ tr W_tt is linear for isotropic W_tt without coupling; Newton's
method on that, kept inside a bracket, finds the root. What is lost to rounding grows with the condition of W_tt.

At the root itself r = -p / D may be 0 / 0 (q_n = 0 without coupling, say), so r comes from the tangent rows of (1),

    r_t = -(A + B r_n),   A = T⁻¹ q_t,   B = T⁻¹ w_tn,   T = W_tt + λ I,   |A + B r_n| = r_n,

which has one positive root wherever |B| < 1, as it is where D = 0.

[1] Bonnefon, Daviet, Quartic formulation of Coulomb 3D frictional contact, INRIA RT-0400 (2011).
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.solvers.contact import NEWTON_LIMIT, NEWTON_STEP, SINGULAR

NARROW = 1e-9  # 1 - |B|² above which the tangent rows give r_n


@kernel
def solve_associated(mu, W_nn, W_n1, W_n2, W_1n, W_11, W_12, W_2n, W_21, W_22, q_n, q_1, q_2):
    """The impulse (r_n, r_1, r_2) of one contact under the associated law."""
    q_t = math.sqrt(q_1 * q_1 + q_2 * q_2)
    if q_n >= mu * q_t:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return -q_n / W_nn, 0.0, 0.0
    q_n, W_nn = q_n / mu, W_nn / (mu * mu)
    a_1, a_2, b_1, b_2 = W_n1 / mu, W_n2 / mu, W_1n / mu, W_2n / mu

    trace, delta = W_11 + W_22, W_11 * W_22 - W_12 * W_21
    c_1, c_2 = W_22 * q_1 - W_12 * q_2, W_11 * q_2 - W_21 * q_1  # adj(W_tt) q_t
    e_1, e_2 = W_22 * b_1 - W_12 * b_2, W_11 * b_2 - W_21 * b_1  # adj(W_tt) w_tn
    s_11, s_12, s_21, s_22 = (
        W_11 - b_1 * a_1 / W_nn,
        W_12 - b_1 * a_2 / W_nn,
        W_21 - b_2 * a_1 / W_nn,
        W_22 - b_2 * a_2 / W_nn,
    )
    k_1, k_2 = q_1 - b_1 * q_n / W_nn, q_2 - b_2 * q_n / W_nn
    # the coefficients of p and D by powers of λ; those of λ⁰ by the Schur complement S of W_nn, which loses less
    x_0, x_1, x_2 = W_nn * (s_22 * k_1 - s_12 * k_2), W_nn * k_1 - c_1, -q_1
    y_0, y_1, y_2 = W_nn * (s_11 * k_2 - s_21 * k_1), W_nn * k_2 - c_2, -q_2
    D_0, D_1 = W_nn * (s_11 * s_22 - s_12 * s_21), W_nn * (s_11 + s_22) - delta
    D_2, D_3 = W_nn - trace, -1.0
    n_0, n_1, n_2 = (q_n * D_0 - a_1 * x_0 - a_2 * y_0) / W_nn, q_n * trace - a_1 * q_1 - a_2 * q_2, q_n

    # a singular W with q in its range: p and D share the factor λ, or λ² where the rank is one
    a, b = math.sqrt(a_1 * a_1 + a_2 * a_2), math.sqrt(b_1 * b_1 + b_2 * b_2)
    small_t, small_n = SINGULAR * (W_nn * q_t + b * abs(q_n)), SINGULAR * (trace * abs(q_n) + a * q_t)
    if abs(D_0) <= SINGULAR * W_nn * trace * trace and small(n_0, x_0, y_0, trace * small_n, trace * small_t):
        n_0, n_1, n_2, x_0, x_1, x_2, y_0, y_1, y_2 = n_1, n_2, 0.0, x_1, x_2, 0.0, y_1, y_2, 0.0
        D_0, D_1, D_2, D_3 = D_1, D_2, D_3, 0.0
        if abs(D_0) <= SINGULAR * (W_nn + trace) * trace and small(
            n_0, x_0, y_0, small_n, small_t + SINGULAR * trace * q_t
        ):
            n_0, n_1, x_0, x_1, y_0, y_1 = n_1, 0.0, x_1, 0.0, y_1, 0.0
            D_0, D_1, D_2 = D_1, D_2, 0.0
            c_1, c_2, e_1, e_2 = trace * q_1, trace * q_2, trace * b_1, trace * b_2  # W_tt acts as its trace does
            delta, trace = trace * trace, 2.0 * trace

    sign = 1.0 if D_0 > 0.0 else -1.0
    if D_0 != 0.0 and -sign * n_0 >= math.sqrt(x_0 * x_0 + y_0 * y_0):
        return -n_0 / (mu * D_0), -x_0 / D_0, -y_0 / D_0

    half = 0.5 * trace
    least = abs(D_0) / (W_nn + trace) ** 2
    multiplier = (W_nn * q_t + q_n * half) / (q_t - q_n)  # the root for isotropic W_tt without coupling
    if not 0.0 < multiplier < np.inf:
        multiplier = 0.5 * (W_nn if W_nn < half else half)
    multiplier = boundary_root(n_0, n_1, n_2, x_0, x_1, x_2, y_0, y_1, y_2, D_0, D_1, D_2, D_3, multiplier, half, least)
    T = (multiplier + trace) * multiplier + delta
    A_1, A_2 = (c_1 + multiplier * q_1) / T, (c_2 + multiplier * q_2) / T
    B_1, B_2 = (e_1 + multiplier * b_1) / T, (e_2 + multiplier * b_2) / T
    room, lean, square = 1.0 - B_1 * B_1 - B_2 * B_2, A_1 * B_1 + A_2 * B_2, A_1 * A_1 + A_2 * A_2
    if room > NARROW:
        root = math.sqrt(lean * lean + room * square)
        r_n = (lean + root) / room if lean > 0.0 else square / (root - lean)
    else:
        D = D_0 + multiplier * (D_1 + multiplier * (D_2 + multiplier * D_3))
        r_n = -(n_0 + multiplier * (n_1 + multiplier * n_2)) / D
    return r_n / mu, -(A_1 + B_1 * r_n), -(A_2 + B_2 * r_n)


@kernel
def boundary_root(n_0, n_1, n_2, x_0, x_1, x_2, y_0, y_1, y_2, D_0, D_1, D_2, D_3, multiplier, half, least):
    """λ by Newton's method kept inside its bracket, from a first guess; n, x, y and D by powers of λ."""
    low, high = 0.0, np.inf
    for _ in range(NEWTON_LIMIT):
        normal = n_0 + multiplier * (n_1 + multiplier * n_2)
        p_1, p_2 = x_0 + multiplier * (x_1 + multiplier * x_2), y_0 + multiplier * (y_1 + multiplier * y_2)
        g_1, g_2 = x_1 + 2.0 * multiplier * x_2, y_1 + 2.0 * multiplier * y_2
        D = D_0 + multiplier * (D_1 + multiplier * (D_2 + multiplier * D_3))
        p = math.sqrt(p_1 * p_1 + p_2 * p_2) * (1.0 if D > 0.0 else -1.0)
        value = p + normal
        if value > 0.0:
            low = multiplier
        else:
            high = multiplier
        slope = (p_1 * g_1 + p_2 * g_2) / p + n_1 + 2.0 * multiplier * n_2
        step = value / (value / (multiplier + half) - slope)
        if p == 0.0 or abs(step) <= NEWTON_STEP * (multiplier + least):
            multiplier += step if p != 0.0 else 0.0
            break
        multiplier += step
        if not low < multiplier < high:
            multiplier = 0.5 * (low + high) if high < np.inf else 2.0 * low + half
    return multiplier


@kernel
def small(normal, first, second, limit_n, limit_t):
    return abs(normal) <= limit_n and abs(first) + abs(second) <= limit_t


@kernel
def solve_planar_associated(mu, W_nn, W_n1, W_1n, W_11, q_n, q_1):
    """The impulse (r_n, r_1) of one contact in the plane, where the edge is one of two rays."""
    if q_n >= mu * abs(q_1):
        return 0.0, 0.0
    det = W_nn * W_11 - W_n1 * W_1n
    normal, tangent = W_n1 * q_1 - W_11 * q_n, W_1n * q_n - W_nn * q_1
    if det > SINGULAR * W_nn * abs(W_11) and abs(tangent) <= mu * normal:
        return normal / det, tangent / det
    both, square = mu * (W_n1 + W_1n), W_nn + mu * mu * W_11
    right, left = -(q_n + mu * q_1) / (square + both), -(q_n - mu * q_1) / (square - both)
    c_right = -(q_1 + right * (W_1n + mu * W_11))
    c_left = q_1 + left * (W_1n - mu * W_11)
    if right > 0.0 and (left <= 0.0 or c_right >= c_left):
        return right, mu * right
    return left, -mu * left
