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
from stickslip.collision.spheres import touch_ball
from stickslip.collision.vectors import ahead, inner, into_frame, into_world, minus
from stickslip.jit import bare

LEVEL = 1e-10  # sine of the tilt below which a rim has no lowest point
STANDS = math.sqrt(0.5)  # cosine of the tilt above which a cylinder stands rather than lies
# the features of the lowest points of the rims at -z and +z; those of the four fixed spots, +x, +y, -x, -y, follow
LOWER_RIM: Any = np.int64(0)
UPPER_RIM: Any = np.int64(8)


@bare
def ball_on_plane(A, local, radius, plane, margin, feature, spots, count):
    """The contact with a plane of a ball of shape A, given in its frame."""
    n = plane.axes[2]
    height = inner(n, minus(A.centre, plane.centre)) + inner(into_frame(A.axes, n), local)
    return touch_ball(ahead(A.centre, 1.0, into_world(A.axes, local)), radius, height, n, margin, feature, spots, count)


@bare
def capsule_plane(A, plane, margin, spots, count):
    for end in range(2):
        z = (2 * end - 1) * A.size[1]
        count = ball_on_plane(A, (0.0, 0.0, z), A.size[0], plane, margin, end, spots, count)
    return count


@bare
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


@bare
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
