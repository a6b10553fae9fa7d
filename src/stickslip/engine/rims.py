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
with a little more it never does any. Where rolling loses by b_t it is left alone.
"""

from __future__ import annotations

import math

from stickslip.collision.placement import AXES, CYLINDER, PLANE, SIZE
from stickslip.collision.planes import LOWER_RIM, UPPER_RIM
from stickslip.jit import bare

SHARE = 0.6  # in (2)
FASTEST = 0.5  # of the radius: what a rim that lies all but level runs round in a step is nothing to go by


@bare
def run_round(kind, table, a, b, sign, feature, h, v, frame, p, q):
    """Add SHARE of (1) to the velocities q along the tangents of the frame, of a contact of shape a, of a body that
    moves with v, with shape b, which had the impulse p; `sign` is -1 where p and q are those of b. Nothing where they
    are no cylinder on a plane."""
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
    u_x, u_y, u_z = v[4] * d_z - v[5] * d_y, v[5] * d_x - v[3] * d_z, v[3] * d_y - v[4] * d_x
    gains = 0.0
    for k in range(1, min(q.size, 3)):
        gains += sign * p[k] * (frame[k, 0] * u_x + frame[k, 1] * u_y + frame[k, 2] * u_z)
    if gains > 0.0:
        for k in range(1, min(q.size, 3)):
            q[k] += sign * SHARE * h * (frame[k, 0] * u_x + frame[k, 1] * u_y + frame[k, 2] * u_z)
