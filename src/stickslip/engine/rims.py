"""A rim that rolls: its lowest point, where it touches a plane, runs round it within a step.

A cylinder with the axis a and a plane with the normal n touch at ρ from the centre,

    ρ = -r m/s ± l a,      m = n - c a,   c = n·a,   s = |m|

As the body turns with ω, a' = ω × a moves ρ by ρ', beside what the body carries along. The velocity of the body where
it touches, v + ω × ρ, changes by

    b = h ω × ρ'                                                                                                   (1)

in a step, at unchanged v and ω. A contact that sticks, u_t = 0 at the end of every step, so starts the next one with
the slip b_t, and its friction p_t does the work ½ p_t·b_t, which an Euler disk gains. Where the friction of the step
before says that it would, the law of the contact sees

    u_t + SHARE b_t                                                                                                (2)

With one half the slip before and after the impulse would be opposite, and friction would do no work, as where it rolls;
with a little more it takes some, about what is given by taking back overlaps. Where rolling loses by b_t it is left
alone.

The gap of the rim, up to what does not turn, is ψ = n·x - r s ± l c. Its row knows how it changes at first; as the axis
turns by h ω it ends further down by

    δ = r (s⁺ - s - h s˙) ∓ l (c⁺ - c - h c˙),      c⁺, s⁺ those of the axis at the end,  s˙ = -c c˙/s           (3)

So a rim that is approached, u_n < 0, is asked to part with w = δ/h after the impulse, and is where it was at the end of
the step. A mass that falls by f = h g in a step, and moves with its velocity at the end, as what is stopped does,
changes its energy by ½ m (w² + 2 f w - u_n²) then. So w is at most √(f² + u_n²) - f, and nothing is gained; the rest of
δ is an overlap, which is taken back as any other.
"""

from __future__ import annotations

import math

from stickslip.collision.placement import AXES, CYLINDER, PLANE, SIZE
from stickslip.collision.planes import LOWER_RIM, UPPER_RIM
from stickslip.jit import bare

SHARE = 0.7  # in (2): friction takes what taking back overlaps gives
FASTEST = 0.5  # of the radius: what a rim that lies all but level runs round in a step is nothing to go by


@bare
def run_round(kind, table, a, b, sign, feature, h, gravity, v, frame, before, p, q):
    """Change the velocities q, along the frame, of a contact of shape a, of a body that moves with v, with shape b by
    (2) and (3); it had the impulse p and the normal velocity `before`; `sign` is -1 where p and q are those of b.
    Nothing where they are no cylinder on a plane."""
    if kind[a] != CYLINDER or kind[b] != PLANE or (feature not in (LOWER_RIM, UPPER_RIM)):
        return
    r, half = table[a, SIZE], table[a, SIZE + 1]
    x, y, z = table[a, AXES + 6], table[a, AXES + 7], table[a, AXES + 8]
    n_x, n_y, n_z = table[b, AXES + 6], table[b, AXES + 7], table[b, AXES + 8]
    c = n_x * x + n_y * y + n_z * z
    m_x, m_y, m_z = n_x - c * x, n_y - c * y, n_z - c * z
    s = math.sqrt(m_x * m_x + m_y * m_y + m_z * m_z)
    if not s > 0.0:
        return
    x, y, z = v[4] * z - v[5] * y, v[5] * x - v[3] * z, v[3] * y - v[4] * x  # a'
    rate = n_x * x + n_y * y + n_z * z  # c'
    a_x, a_y, a_z = table[a, AXES + 6], table[a, AXES + 7], table[a, AXES + 8]
    along = -half if feature == LOWER_RIM else half
    grows = c * rate / (s * s)  # -s'/s
    d_x = r * (rate * a_x + c * x - grows * m_x) / s + along * x
    d_y = r * (rate * a_y + c * y - grows * m_y) / s + along * y
    d_z = r * (rate * a_z + c * z - grows * m_z) / s + along * z
    if not h * math.sqrt(d_x * d_x + d_y * d_y + d_z * d_z) <= FASTEST * r:
        return
    across = (n_x * v[3] + n_y * v[4] + n_z * v[5]) * (a_x * v[3] + a_y * v[4] + a_z * v[5])
    sunk = sinks(r, along, c, s, rate, across, h, math.sqrt(v[3] ** 2 + v[4] ** 2 + v[5] ** 2))
    falls = h * abs(n_x * gravity[0] + n_y * gravity[1] + n_z * gravity[2])
    if before < 0.0 and sunk > 0.0:
        q[0] -= min(sunk / h, math.hypot(falls, before) - falls)
    u_x, u_y, u_z = v[4] * d_z - v[5] * d_y, v[5] * d_x - v[3] * d_z, v[3] * d_y - v[4] * d_x
    gains = 0.0
    for k in range(1, min(q.size, 3)):
        gains += sign * p[k] * (frame[k, 0] * u_x + frame[k, 1] * u_y + frame[k, 2] * u_z)
    if gains > 0.0:
        for k in range(1, min(q.size, 3)):
            q[k] += sign * SHARE * h * (frame[k, 0] * u_x + frame[k, 1] * u_y + frame[k, 2] * u_z)


@bare
def sinks(r, along, c, s, rate, across, h, spin):
    """δ of (3), with c˙ = `rate` and (n·ω)(ω·a) = `across`; the axis turns by h `spin` about ω."""
    if not spin > 0.0:
        return 0.0
    cosine = math.cos(h * spin)
    end = c * cosine + rate / spin * math.sin(h * spin) + across / (spin * spin) * (1.0 - cosine)
    return r * (math.sqrt(max(1.0 - end * end, 0.0)) - s + h * c * rate / s) - along * (end - c - h * rate)
