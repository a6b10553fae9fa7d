"""One contact, solved exactly:  u = W r + q with a 3 x 3 block W, under Coulomb's law, (1) of problems/cone.py.

    open    q_n >= 0                      r = 0
    stick   u = 0                         r = -W⁻¹ q, where that lies in the cone
    slip    u_n = 0,  u_t = -λ r_t        |r_t| = μ r_n  for some λ >= 0                                    (1)

With r_n eliminated, r_n = -(q_n + w_nt · r_t) / W_nn, stick and slip are one equation in the tangent plane,

    (S + λ I) r_t = -b,    S = W_tt - w_tn w_ntᵀ / W_nn,    b = q_t - w_tn q_n / W_nn,                      (2)

and sticking is λ = 0. The 2 x 2 inverse is written out, so W may be unsymmetric:

    r_t = -p / d,   p = adj(S) b + λ b,   d = λ² + λ tr S + det S,   r_n = N / (W_nn d),   N = w_nt · p - q_n d.

Where V = W⁻¹ is at hand the same is said from the sticking impulse s = -V q, without a division:

    (I + λ V_tt) r_t = s_t,   r_n = s_n - λ v_nt · r_t,
    r_t = p / d,   p = s_t + λ adj(V_tt) s_t,   d = 1 + λ tr V_tt + λ² det V_tt.

The scalar ψ(λ) = μ r_n / |r_t| - 1 is linear for isotropic S and close to linear otherwise (as 1/|r_t| is in
trust-region methods [1]). Where sticking is outside the cone ψ(0) < 0, and ψ -> inf, so a root exists whenever
the symmetric part of W is positive definite. It lies below

    λ = |b| (W_nn + μ |w_nt|) / (-μ q_n),      because |r_t| <= |b| / λ in (2),

and Newton's method, kept inside a bracket, finds it to rounding in one to four steps. In the plane the slip is
closed: with σ the sign of b, r_t = -σ μ r_n and r_n = -q_n / (W_nn - σ μ w_nt).

[1] Moré, Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4 (1983) 553-572.
[2] Bonnefon, Daviet, Quartic formulation of Coulomb 3D frictional contact, INRIA RT-0400 (2011).
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel

NEWTON_LIMIT = 100  # a bisection alone ends before
NEWTON_STEP = 1e-9  # after a relative step this small the next error is its square, below rounding
FAR = 1e16  # λ / tr S above which S no longer turns r_t away from -b
ROUNDING = 1e-15  # |b| / |q_t| below which b is what subtraction left of zero
SINGULAR = 1e-14  # det S / |W_tt|² below which S counts as singular


@kernel
def solve_contact(mu, W_nn, W_n1, W_n2, W_1n, W_11, W_12, W_2n, W_21, W_22, q_n, q_1, q_2):
    """The impulse (r_n, r_1, r_2) of one contact. Where q_n < 0, W_nn must be positive."""
    if q_n >= 0.0:
        return 0.0, 0.0, 0.0
    s_11, s_12 = W_11 - W_1n * W_n1 / W_nn, W_12 - W_1n * W_n2 / W_nn
    s_21, s_22 = W_21 - W_2n * W_n1 / W_nn, W_22 - W_2n * W_n2 / W_nn
    b_1, b_2 = q_1 - W_1n * q_n / W_nn, q_2 - W_2n * q_n / W_nn
    b = math.sqrt(b_1 * b_1 + b_2 * b_2)
    if mu == 0.0 or b <= ROUNDING * (abs(q_1) + abs(q_2)):
        return -q_n / W_nn, 0.0, 0.0

    trace, det = s_11 + s_22, s_11 * s_22 - s_12 * s_21
    c_1, c_2 = s_22 * b_1 - s_12 * b_2, s_11 * b_2 - s_21 * b_1
    size = abs(W_11) + abs(W_22)
    if det <= SINGULAR * size * size and abs(c_1) + abs(c_2) <= SINGULAR * size * b:
        # rank one with b in its range, or zero: S acts on b as its trace does
        trace = trace if trace > SINGULAR * size else 0.0
        c_1, c_2, det, trace = trace * b_1, trace * b_2, trace * trace, 2.0 * trace

    normal = W_n1 * c_1 + W_n2 * c_2 - q_n * det
    if det > 0.0 and mu * normal / W_nn >= math.sqrt(c_1 * c_1 + c_2 * c_2):
        return normal / (W_nn * det), -c_1 / det, -c_2 / det

    pull = W_n1 * b_1 + W_n2 * b_2
    hold, push = b * W_nn - mu * pull, -mu * q_n
    if hold > FAR * trace * push:
        r_n = -q_n * b / hold
        return r_n, -mu * r_n * b_1 / b, -mu * r_n * b_2 / b
    high = b * (W_nn + mu * math.sqrt(W_n1 * W_n1 + W_n2 * W_n2)) / push
    guess = hold / push - 0.5 * trace  # the root for isotropic S
    if not guess > 0.0:
        guess = 0.0 if det > 0.0 else 0.5 * high
    least = det / trace if trace > 0.0 else 0.0  # at most the smaller eigenvalue of S
    multiplier = slip_root(mu / W_nn, c_1, c_2, b_1, b_2, normal, pull - q_n * trace, -q_n, guess, high, least)

    p_1, p_2 = c_1 + multiplier * b_1, c_2 + multiplier * b_2
    p = math.sqrt(p_1 * p_1 + p_2 * p_2)
    d = (multiplier + trace) * multiplier + det
    r_n = (W_n1 * p_1 + W_n2 * p_2 - q_n * d) / (W_nn * d)
    return r_n, -mu * r_n * p_1 / p, -mu * r_n * p_2 / p


@kernel
def solve_inverted(mu, V_nn, V_n1, V_n2, V_1n, V_11, V_12, V_2n, V_21, V_22, q_n, q_1, q_2):
    """The same impulse from V = W⁻¹ in two thirds of the time. W must be far from singular, μ > 0, and -q_n not
    tiny against |q_t|: where λ is large, -q_n / W_nn would be what is left of a difference of sticking impulses."""
    if q_n >= 0.0:
        return 0.0, 0.0, 0.0
    s_n = -(V_nn * q_n + V_n1 * q_1 + V_n2 * q_2)
    s_1 = -(V_1n * q_n + V_11 * q_1 + V_12 * q_2)
    s_2 = -(V_2n * q_n + V_21 * q_1 + V_22 * q_2)
    limit, held = mu * s_n, s_1 * s_1 + s_2 * s_2
    if s_n > 0.0 and held <= limit * limit:
        return s_n, s_1, s_2

    trace, det = V_11 + V_22, V_11 * V_22 - V_12 * V_21
    a_1, a_2 = V_22 * s_1 - V_12 * s_2, V_11 * s_2 - V_21 * s_1
    across, turned = V_n1 * s_1 + V_n2 * s_2, V_n1 * a_1 + V_n2 * a_2
    # the root if V_tt s_t were a multiple of s_t
    guess = (math.sqrt(held) - limit) * held / (mu * (s_n * (trace * held - a_1 * s_1 - a_2 * s_2) - across * held))
    n_1, n_2 = s_n * trace - across, s_n * det - turned
    if not 0.0 < guess < np.inf:
        a = math.sqrt(a_1 * a_1 + a_2 * a_2)
        guess = (a / mu - n_1) / n_2 + math.sqrt(held) / a  # the root where λ is large
        if not 0.0 < guess < np.inf:
            guess = 0.0
    multiplier = slip_root(mu, s_1, s_2, a_1, a_2, s_n, n_1, n_2, guess, np.inf, 1.0 / trace)
    d = 1.0 + multiplier * (trace + multiplier * det)
    p_1, p_2 = s_1 + multiplier * a_1, s_2 + multiplier * a_2
    return s_n - multiplier * (V_n1 * p_1 + V_n2 * p_2) / d, p_1 / d, p_2 / d


@kernel
def slip_root(mu, c_1, c_2, b_1, b_2, n_0, n_1, n_2, guess, high, least):
    """λ > 0 with |c + λ b| = μ (n_0 + λ n_1 + λ² n_2), from a guess below `high`; steps count against λ + least."""
    low, multiplier = 0.0, guess
    for _ in range(NEWTON_LIMIT):
        p_1, p_2 = c_1 + multiplier * b_1, c_2 + multiplier * b_2
        square = p_1 * p_1 + p_2 * p_2
        normal = n_0 + multiplier * (n_1 + multiplier * n_2)
        excess = math.sqrt(square) - mu * normal
        if excess > 0.0:
            low = multiplier
        else:
            high = multiplier
        slope = (n_1 + 2.0 * multiplier * n_2) * square - normal * (p_1 * b_1 + p_2 * b_2)
        step = excess * (square / (mu * slope))
        multiplier += step
        if abs(step) <= NEWTON_STEP * (multiplier + least):
            break
        if not low < multiplier < high:
            multiplier = 0.5 * (low + high) if high < np.inf else 2.0 * low + least
    return multiplier


@kernel
def solve_planar_contact(mu, W_nn, W_n1, W_1n, W_11, q_n, q_1):
    """The impulse (r_n, r_1) of one contact in the plane."""
    if q_n >= 0.0:
        return 0.0, 0.0
    b = W_nn * q_1 - W_1n * q_n  # that of (2), times W_nn
    if mu == 0.0 or abs(b) <= ROUNDING * W_nn * abs(q_1):
        return -q_n / W_nn, 0.0
    det = W_nn * W_11 - W_n1 * W_1n
    normal = W_n1 * q_1 - W_11 * q_n
    if det > SINGULAR * W_nn * abs(W_11) and abs(b) <= mu * normal:
        return normal / det, -b / det
    way = 1.0 if b > 0.0 else -1.0
    r_n = -q_n / (W_nn - way * mu * W_n1)
    return r_n, -way * mu * r_n


@kernel
def respond(mu, shift, y_n, y_1, y_2):
    """The impulse r of one contact with u = r - y under its law,  K ∋ r ⊥ u + shift |u_t| e_n ∈ K*.

    With shift 0 it is the projection of y on K; with shift μ the normal impulse is max(y_n, 0), and the tangential one
    is cut to μ times it. Where the contact slips, r_t = μ r_n y_t / |y_t| and u_n = (μ - shift) |u_t| give r_n.
    """
    y_t = math.hypot(y_1, y_2)
    excess = mu - shift
    if y_n + excess * y_t <= 0.0:
        return 0.0, 0.0, 0.0
    if y_t <= mu * y_n:
        return y_n, y_1, y_2
    r_n = (y_n + excess * y_t) / (1.0 + excess * mu)
    if y_t < 1e-300:  # 1/y_t must not overflow: compiled code multiplies by it
        return r_n, 0.0, 0.0
    return r_n, mu * r_n * y_1 / y_t, mu * r_n * y_2 / y_t
