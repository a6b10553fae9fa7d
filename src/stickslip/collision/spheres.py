"""A ball against any shape, from the signed distance of its centre. A point is a ball of radius 0.

Where the centre is inside the shape, the nearest face decides. Where there is no direction (two centres coincide, a
centre is on an axis), one axis of the shape is taken.
"""

from __future__ import annotations

import math

from stickslip.collision.manifold import put
from stickslip.collision.placement import BOX, CYLINDER, PLANE
from stickslip.collision.vectors import ahead, into_frame, into_world, minus, sign
from stickslip.jit import bare


@bare
def ball(B, centre, radius, margin, feature, spots, count):
    """The contact of a ball with shape B, if their gap is at most the margin."""
    distance, n = distance_to(B.kind, B.size, into_frame(B.axes, minus(centre, B.centre)))
    return touch_ball(centre, radius, distance, into_world(B.axes, n), margin, feature, spots, count)


@bare
def touch_ball(centre, radius, distance, n, margin, feature, spots, count):
    """The contact of a ball with a shape that is `distance` from its centre, n pointing from shape to ball."""
    point = ahead(centre, -0.5 * (distance + radius), n)
    return put(spots, count, feature, distance - radius, margin, point, n)


@bare
def distance_to(kind, size, point):
    """Signed distance of a point to a shape, and the direction away from it, in the frame of the shape."""
    x, y, z = point
    if kind == PLANE:
        return z, (0.0, 0.0, 1.0)
    if kind == BOX:
        return distance_to_box(size, point)
    half = size[1]
    if kind == CYLINDER:
        across = math.hypot(x, y)
        out, up = across - size[0], abs(z) - half
        if up >= out and out <= 0.0:
            return up, (0.0, 0.0, sign(z))
        u_x, u_y = (x / across, y / across) if across > 0.0 else (1.0, 0.0)
        if up <= 0.0:
            return out, (u_x, u_y, 0.0)
        distance = math.hypot(out, up)
        return distance, (out / distance * u_x, out / distance * u_y, up / distance * sign(z))
    z -= max(-half, min(half, z))  # of a capsule; a sphere has no half length
    distance = math.sqrt(x * x + y * y + z * z)
    if distance > 0.0:
        return distance - size[0], (x / distance, y / distance, z / distance)
    return -size[0], (0.0, 0.0, 1.0)


@bare
def distance_to_box(h, point):
    """Signed distance of a point to a box about the origin, and the direction away from it."""
    x, y, z = point
    d_x = x - max(-h[0], min(h[0], x))
    d_y = y - max(-h[1], min(h[1], y))
    d_z = z - max(-h[2], min(h[2], z))
    distance = math.sqrt(d_x * d_x + d_y * d_y + d_z * d_z)
    if distance > 0.0:
        return distance, (d_x / distance, d_y / distance, d_z / distance)
    d_x, d_y, d_z = h[0] - abs(x), h[1] - abs(y), h[2] - abs(z)
    if d_z <= d_x and d_z <= d_y:
        return -d_z, (0.0, 0.0, sign(z))
    if d_x <= d_y:
        return -d_x, (sign(x), 0.0, 0.0)
    return -d_y, (0.0, sign(y), 0.0)
