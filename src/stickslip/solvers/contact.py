"""One contact, solved exactly:  u = W r + q with a 3 x 3 block W, under Coulomb's law, (1) of problems/cone.py.

    open    q_n >= 0                      r = 0
    stick   u = 0                         r = -W⁻¹ q, where that lies in the cone
    slip    u_n = 0,  u_t = -λ r_t        |r_t| = μ r_n  for some λ >= 0                                    (1)

With r_n eliminated, r_n = -(q_n + w_nt · r_t) / W_nn, stick and slip are one equation in the tangent plane,

    (S + λ I) r_t = -b,    S = W_tt - w_tn w_ntᵀ / W_nn,    b = q_t - w_tn q_n / W_nn,                      (2)

and sticking is λ = 0. The 2 x 2 inverse is written out, so W may be unsymmetric:

    r_t = -p / d,   p = adj(S) b + λ b,   d = λ² + λ tr S + det S,   r_n = N / (W_nn d),   N = w_nt · p - q_n d.

The scalar ψ(λ) = μ r_n / |r_t| - 1 is linear for isotropic S and close to linear otherwise (as 1/|r_t| is in
trust-region methods [1]). Where sticking is outside the cone ψ(0) < 0, and ψ -> inf, so a root exists whenever
the symmetric part of W is positive definite. It lies below

    λ = |b| (W_nn + μ |w_nt|) / (-μ q_n),      because |r_t| <= |b| / λ in (2),

and Newton's method, kept inside that bracket, finds it to rounding. A contact in the plane is the same problem
with nothing along the second tangent, and an S that is isotropic: one Newton step.

[1] Moré, Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4 (1983) 553-572.
[2] Bonnefon, Daviet, Quartic formulation of Coulomb 3D frictional contact, INRIA RT-0400 (2011).
"""

from __future__ import annotations

import math

from stickslip.jit import kernel

NEWTON_LIMIT = 100  # a bisection alone ends before; Newton's method takes three to six
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

    return slip(mu, W_nn, W_n1, W_n2, q_n, b_1, b_2, c_1, c_2, trace, det)


@kernel
def slip(mu, W_nn, W_n1, W_n2, q_n, b_1, b_2, c_1, c_2, trace, det):
    """The impulse on the boundary of the cone, from the root of ψ; c = adj(S) b."""
    b = math.sqrt(b_1 * b_1 + b_2 * b_2)
    pull = W_n1 * b_1 + W_n2 * b_2
    hold, push = b * W_nn - mu * pull, -mu * q_n
    if hold > FAR * trace * push:
        r_n = -q_n * b / hold
        return r_n, -mu * r_n * b_1 / b, -mu * r_n * b_2 / b

    low, high = 0.0, b * (W_nn + mu * math.sqrt(W_n1 * W_n1 + W_n2 * W_n2)) / push
    multiplier = hold / push - 0.5 * trace  # the root for isotropic S
    if not multiplier > 0.0:
        multiplier = 0.0 if det > 0.0 else 0.5 * high
    least = det / trace if trace > 0.0 else 0.0  # at most the smaller eigenvalue of S
    for _ in range(NEWTON_LIMIT):
        p_1, p_2 = c_1 + multiplier * b_1, c_2 + multiplier * b_2
        p = math.sqrt(p_1 * p_1 + p_2 * p_2)
        normal = W_n1 * p_1 + W_n2 * p_2 - q_n * ((multiplier + trace) * multiplier + det)
        excess = p - mu * normal / W_nn
        if excess > 0.0:
            low = multiplier
        else:
            high = multiplier
        slope = pull - q_n * (2.0 * multiplier + trace) - normal * (p_1 * b_1 + p_2 * b_2) / (p * p)
        step = excess * W_nn / (mu * slope)
        multiplier += step
        if abs(step) <= NEWTON_STEP * (multiplier + least):
            break
        if not low < multiplier < high:
            multiplier = 0.5 * (low + high)

    p_1, p_2 = c_1 + multiplier * b_1, c_2 + multiplier * b_2
    p = math.sqrt(p_1 * p_1 + p_2 * p_2)
    d = (multiplier + trace) * multiplier + det
    r_n = (W_n1 * p_1 + W_n2 * p_2 - q_n * d) / (W_nn * d)
    return r_n, -mu * r_n * p_1 / p, -mu * r_n * p_2 / p


@kernel
def solve_planar_contact(mu, W_nn, W_n1, W_1n, W_11, q_n, q_1):
    """The impulse (r_n, r_1) of one contact in the plane: the same with nothing along the second tangent."""
    if q_n >= 0.0:
        return 0.0, 0.0
    s = W_11 - W_1n * W_n1 / W_nn
    r_n, r_1, _ = solve_contact(mu, W_nn, W_n1, 0.0, W_1n, W_11, 0.0, 0.0, 0.0, s, q_n, q_1, 0.0)
    return r_n, r_1
