"""One impact at a point with friction, the impulse followed along its path: Routh's method [1] in space [2].

The normal impulse P is the clock of the impact. While the contact slips in the direction s = u_t/|u_t|

    du/dP = W (1, -μ s),                                                                                           (1)

W the response (d, d) of the contact. Where the slip ends it sticks, if friction can hold it: with t = -W_tt⁻¹ W_tn, if
|t| <= μ, du_t = 0 and du/dP = W (1, t). If not it slips on, or back, in a direction s in which the slip grows,
W_tn - μ W_tt s = c s with c >= 0. Compression ends where u_n = 0, and restitution where

    Poisson    P = (1 + e) P_c                          P_c the impulse of compression
    Stronge    ∫ u_n dP over restitution = -e² ∫ u_n dP over compression [3]

In the plane s is ±1, u runs along straight lines, and all is exact. In space s turns while the contact slips: (1) is
integrated by the midpoint rule in steps that turn it little. With Stronge's hypothesis the energy that the impact
brings, p·½ (u + u⁺), is never positive: the normal brings -(1 - e²) of the work of compression, friction at most 0.

[1] Routh, Dynamics of a System of Rigid Bodies, Elementary Part, 7th ed., Macmillan 1905, art. 187-197.
[2] Keller, Impact with friction, J. Applied Mechanics 53 (1986) 1-4.
[3] Stronge, Rigid body collisions with friction, Proc. Royal Society London A 431 (1990) 169-181.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel

FINE = 1000  # steps by which compression is divided in space, where the slip turns
MOST = 100 * FINE  # steps at most
STOPPED = 1e-13  # slip, over the speed of the approach, below which it has ended
STRAIGHT = 1e-9  # sine of the angle between slip and its rate that is rounding
ANGLES = 720  # among which a direction is looked for in which slip grows


@kernel
def single_impact(W, u, mu, e, stronge):
    """The impulse (d,) of an impact with the response W (d, d), symmetric and positive definite, and the velocity u
    (d,) before it, u_n < 0."""
    d = u.size
    p, now, rate, s = np.zeros(d), u.copy(), np.zeros(d), np.zeros(d)
    small, compression, work, done, restores = -STOPPED * u[0], 0.0, 0.0, 0.0, False
    step_most = -u[0] / W[0, 0] / FINE if d > 2 else math.inf
    for _ in range(MOST):
        slip = slip_rate(W, now, mu, small, s, rate)
        step, stops = step_most if slip else math.inf, False
        if slip:  # where the slip ends, if nothing else comes first
            speed, against = 0.0, 0.0
            for a in range(1, d):
                speed += now[a] * now[a]
                against += now[a] * rate[a]
            speed = math.sqrt(speed)
            if speed > small and against < 0.0 and -speed * speed / against <= step:
                step, stops = -speed * speed / against, True
        ends, last = False, False
        if not restores and rate[0] > 0.0 and -now[0] / rate[0] <= step:
            step, ends, stops = -now[0] / rate[0], True, False
        if restores:
            left = (1.0 + e) * compression - p[0]
            if stronge:
                left = remaining(now[0], rate[0], e * e * work - done)
            if left <= step:
                step, last, stops = left, True, False
        if not step < math.inf:  # u_n falls for ever: no impulse ends this
            break
        if d > 2 and slip and not stops:  # the midpoint rule
            for a in range(d):
                s[a] = now[a] + 0.5 * step * rate[a]
            half = s.copy()
            slip_rate(W, half, mu, small, s, rate)
        u_before = now[0]
        p[0] += step
        for a in range(1, d):
            p[a] += step * s[a]
        if d > 2 and slip:
            straighten(now, small, rate)
        for a in range(d):
            now[a] += step * rate[a]
        if stops:
            for a in range(1, d):
                now[a] = 0.0
        if restores:
            done += 0.5 * step * (u_before + now[0])
        else:
            work -= 0.5 * step * (u_before + now[0])
        if ends:
            restores, compression, now[0] = True, p[0], 0.0
            if e == 0.0:
                break
        if last:
            break
    return p


@kernel
def straighten(u, small, rate):
    """Slip that does not turn but for rounding does not turn: across a slip that has just begun that would grow."""
    speed, change = math.hypot(u[1], u[2]), math.hypot(rate[1], rate[2])
    if speed > small and abs(u[1] * rate[2] - u[2] * rate[1]) <= STRAIGHT * speed * change:
        along = (u[1] * rate[1] + u[2] * rate[2]) / speed
        rate[1], rate[2] = along * u[1] / speed, along * u[2] / speed


@kernel
def remaining(u, rate, work):
    """The impulse after which ∫ u_n dP is `work`, u_n growing from u at a rate."""
    if work <= 0.0:
        return 0.0
    if rate <= 0.0:
        return math.inf
    return 2.0 * work / (u + math.sqrt(u * u + 2.0 * rate * work))


@kernel
def slip_rate(W, u, mu, small, s, rate):
    """Fill dp_t/dP into s[1:] and du/dP of (1). Does the contact slip?"""
    d = u.size
    speed = 0.0
    for a in range(1, d):
        speed += u[a] * u[a]
    speed = math.sqrt(speed)
    slips = speed > small
    s[0] = 1.0
    for a in range(1, d):
        s[a] = -mu * u[a] / speed if slips else 0.0
    if not slips and not holding(W, mu, s):
        growing(W, mu, s)
        slips = True
    for a in range(d):
        rate[a] = 0.0
        for c in range(d):
            rate[a] += W[a, c] * s[c]
    return slips


@kernel
def holding(W, mu, s):
    """Fill in the friction that keeps a contact from slipping. Is it within μ?"""
    if s.size == 2:
        s[1] = -W[1, 0] / W[1, 1]
        return abs(s[1]) <= mu
    det = W[1, 1] * W[2, 2] - W[1, 2] * W[2, 1]
    s[1] = -(W[2, 2] * W[1, 0] - W[1, 2] * W[2, 0]) / det
    s[2] = -(W[1, 1] * W[2, 0] - W[2, 1] * W[1, 0]) / det
    return s[1] * s[1] + s[2] * s[2] <= mu * mu


@kernel
def growing(W, mu, s):
    """Fill in friction against a direction in which slip from nothing grows along itself."""
    if s.size == 2:
        s[1] = -mu if W[1, 0] - mu * W[1, 1] > 0.0 else mu
        return
    low, best, found = 0.0, -math.inf, 0.0
    last = across(W, mu, 0.0)[0]
    for k in range(1, ANGLES + 1):
        angle = 2.0 * math.pi * k / ANGLES
        now, _ = across(W, mu, angle)
        if last == 0.0 or last * now < 0.0:
            a, b, f_a = low, angle, last
            for _ in range(60):
                middle = 0.5 * (a + b)
                f, _ = across(W, mu, middle)
                if f_a * f <= 0.0:
                    b = middle
                else:
                    a, f_a = middle, f
            _, along = across(W, mu, 0.5 * (a + b))
            if along > best:
                best, found = along, 0.5 * (a + b)
        low, last = angle, now
    s[1], s[2] = -mu * math.cos(found), -mu * math.sin(found)


@kernel
def across(W, mu, angle):
    """The parts of W_tn - μ W_tt s across and along s, at an angle."""
    x, y = math.cos(angle), math.sin(angle)
    f_x = W[1, 0] - mu * (W[1, 1] * x + W[1, 2] * y)
    f_y = W[2, 0] - mu * (W[2, 1] * x + W[2, 2] * y)
    return f_y * x - f_x * y, f_x * x + f_y * y
