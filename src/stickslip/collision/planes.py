"""Shapes against a plane, the half space below its local z = 0: by their lowest points, in closed form.

A box meets it with its corners, a capsule with the balls at its ends. A cylinder that lies meets it with the lowest
points of its two rims, one that stands with its lower rim: the lowest point, and of four spots that are fixed on the
rim those three that are not next to it. Where the rim is level there is no lowest point: then with all four of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.collision.manifold import GAP, KEPT, swap
from stickslip.collision.placement import AXES, CENTRE, SIZE
from stickslip.collision.spheres import touch_ball
from stickslip.collision.vectors import ahead, inner, into_frame, into_world, minus
from stickslip.jit import kernel

LEVEL = 1e-10  # sine of the tilt below which a rim has no lowest point
STANDS = math.sqrt(0.5)  # cosine of the tilt above which a cylinder stands rather than lies
# the features of the lowest points of the rims at -z and +z; those of the four fixed spots, +x, +y, -x, -y, follow
LOWER_RIM: Any = np.int64(0)
UPPER_RIM: Any = np.int64(8)


@kernel
def ball_on_plane(A, local, radius, plane, margin, feature, spots, count):
    """The contact with a plane of a ball of shape A, given in its frame."""
    n = plane.axes[2]
    centre = into_world(A.axes, local)
    height = inner(n, ahead(minus(A.centre, plane.centre), 1.0, centre))
    return touch_ball(ahead(A.centre, 1.0, centre), radius, height, n, margin, feature, spots, count)


@kernel
def capsule_plane(A, plane, margin, spots, count):
    for end in range(2):
        z = (2 * end - 1) * A.size[1]
        count = ball_on_plane(A, (0.0, 0.0, z), A.size[0], plane, margin, end, spots, count)
    return count


@kernel
def box_plane(A, plane, margin, spots, count):
    """The corners within the margin, the four lowest of them; corner 1 x + 2 y + 4 z of the signs."""
    h = A.size
    for corner in range(8):
        x = h[0] if corner & 1 else -h[0]
        y = h[1] if corner & 2 else -h[1]
        z = h[2] if corner & 4 else -h[2]
        count = ball_on_plane(A, (x, y, z), 0.0, plane, margin, corner, spots, count)
    while count > KEPT:
        count -= 1
        highest = count
        for k in range(count):
            if spots[k, GAP] > spots[highest, GAP]:
                highest = k
        swap(spots, highest, count)
    return count


@kernel
def cylinder_plane(A, plane, margin, spots, count):
    radius, half = A.size[0], A.size[1]
    n_x, n_y, n_z = into_frame(A.axes, plane.axes[2])
    tilt = math.hypot(n_x, n_y)
    lower = -half if n_z >= 0.0 else half
    rim, other_rim = (LOWER_RIM, UPPER_RIM) if n_z >= 0.0 else (UPPER_RIM, LOWER_RIM)
    nearest = -1
    if tilt >= LEVEL:
        x, y = -radius * n_x / tilt, -radius * n_y / tilt
        count = ball_on_plane(A, (x, y, lower), 0.0, plane, margin, rim, spots, count)
        if abs(n_z) < STANDS:
            return ball_on_plane(A, (x, y, -lower), 0.0, plane, margin, other_rim, spots, count)
        if abs(x) >= abs(y):
            nearest = 0 if x > 0.0 else 2
        else:
            nearest = 1 if y > 0.0 else 3
    for spot in range(4):
        if spot != nearest:
            x, y = (radius * (1 - spot), 0.0) if spot % 2 == 0 else (0.0, radius * (2 - spot))
            count = ball_on_plane(A, (x, y, lower), 0.0, plane, margin, rim + 1 + spot, spots, count)
    return count


@kernel
def is_rim(feature):
    """Is a contact of a cylinder with a plane at the lowest point of a rim?"""
    return feature in (LOWER_RIM, UPPER_RIM)


@kernel
def lowest_on_rim(table, s, lower, centre, v, time, n_x, n_y, n_z):
    """The lowest point over a plane with the normal n of the lower or upper rim of cylinder s, after a `time`, as seen
    from the centre of its body that moves with v."""
    a_x, a_y, a_z = turned(table[s, AXES + 6], table[s, AXES + 7], table[s, AXES + 8], v, time)
    c_x, c_y, c_z = turned(
        table[s, CENTRE] - centre[0], table[s, CENTRE + 1] - centre[1], table[s, CENTRE + 2] - centre[2], v, time
    )
    along = n_x * a_x + n_y * a_y + n_z * a_z
    d_x, d_y, d_z = n_x - along * a_x, n_y - along * a_y, n_z - along * a_z
    out = table[s, SIZE] / math.sqrt(d_x * d_x + d_y * d_y + d_z * d_z)
    half = -table[s, SIZE + 1] if lower else table[s, SIZE + 1]
    return c_x + half * a_x - out * d_x, c_y + half * a_y - out * d_y, c_z + half * a_z - out * d_z


@kernel
def turned(x, y, z, v, time):
    """A vector fixed in a body that turns with the last three of v, after a time; of the same length."""
    t_x, t_y, t_z = x + time * (v[4] * z - v[5] * y), y + time * (v[5] * x - v[3] * z), z + time * (v[3] * y - v[4] * x)
    square, new = x * x + y * y + z * z, t_x * t_x + t_y * t_y + t_z * t_z
    scale = math.sqrt(square / new) if new > 0.0 else 1.0
    return scale * t_x, scale * t_y, scale * t_z
