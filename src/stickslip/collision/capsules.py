"""Capsules against capsules and boxes, as what they are: balls strung along a segment.

The nearest points of two segments are those of [1], section 5.1.9. The squared distance of the point o + t a to a box
about the origin,
    Σ_k max(|o_k + t a_k| - h_k, 0)²,
is convex in t, with a derivative that is linear between the six t at which the segment crosses the plane of a face: the
minimum is found exactly. Where the segment runs through the box, the overlap is least along a normal of the box or
along the cross product of the segment and an edge.

The balls at both ends of the part that is over the other segment, or over a face on which the capsule lies rather than
stands, touch where they are within reach (features 0 and 1): it would roll over the nearest ball into the other shape.
Only nearly parallel ones have ends beside the nearest ball. A ball in between touches where it is nearer than the ends
(BETWEEN). Every contact is thus that of one ball of the capsule with the other shape, whatever the angle.

[1] Ericson, Real-time collision detection, Morgan Kaufmann 2005.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.collision.manifold import GAP, NONE, swap
from stickslip.collision.placement import Vector
from stickslip.collision.spheres import ball, distance_to_box, touch_ball
from stickslip.collision.vectors import ahead, cross, inner, into_frame, into_world, minus, sign
from stickslip.jit import bare

BETWEEN: Any = np.int64(2)
PARALLEL = 0.1  # sine of the angle below which segments are nearly so
STANDS = math.sqrt(0.5)  # cosine between the axis and the normal of a face, above which it stands there
FLAT = 0.99  # cosine above which the nearest direction is nearly that of a face
NEARER = 1e-12  # by how much of its size the ball in between must be nearer than the ends
PREFERENCE = 1e-6  # by how much of its size an edge must overlap less than a face to be preferred


class Segment(NamedTuple):
    """Balls strung along centre + t direction, |t| <= half."""

    centre: Vector
    direction: Vector
    half: float
    radius: float


@bare
def capsule_capsule(A, B, margin, spots, count):
    first = Segment(A.centre, A.axes[2], A.size[1], A.size[0])
    second = Segment(B.centre, B.axes[2], B.size[1], B.size[0])
    return segment_segment(first, second, margin, spots, count)


@bare
def segment_segment(A, B, margin, spots, count):
    a, b, d, L, K = A.direction, B.direction, minus(A.centre, B.centre), A.half, B.half
    cosine, normal = inner(a, b), cross(a, b)
    square_sine, a_d, b_d = inner(normal, normal), inner(a, d), inner(b, d)
    s = 0.0
    if square_sine > 0.0:
        s = max(-L, min(L, (cosine * b_d - a_d) / square_sine))
    t = max(-K, min(K, b_d + cosine * s))
    between = max(-L, min(L, cosine * t - a_d))
    over = K * abs(cosine)  # segment B, seen along A, reaches this far from its centre, which is at -a_d
    low, high = max(-L, -a_d - over), min(L, -a_d + over)
    for k, s in enumerate((between, low, high)):
        if k > 0 and square_sine >= PARALLEL * PARALLEL and abs(s - between) <= A.radius:
            continue
        t = max(-K, min(K, b_d + cosine * s))
        n = ahead(ahead(d, s, a), -t, b)
        distance = math.sqrt(inner(n, n))
        n = (n[0] / distance, n[1] / distance, n[2] / distance) if distance > 0.0 else (0.0, 0.0, 1.0)
        feature = BETWEEN if k == 0 else k - 1
        centre = ahead(A.centre, s, a)
        count = touch_ball(centre, A.radius, distance - B.radius, n, margin, feature, spots, count)
        if count == 0 or high <= low:
            return count
    return leave_ends(spots, count, NEARER * (A.radius + L))


@bare
def leave_ends(spots, count, nearer):
    """Drop the ball in between, which came first, where an end is as near."""
    for k in range(1, count):
        if spots[k, GAP] <= spots[0, GAP] + nearer:
            swap(spots, NONE, count - 1)
            return count - 1
    return count


@bare
def capsule_box(A, B, margin, spots, count):
    h, L, radius = B.size, A.size[1], A.size[0]
    # the axis of the capsule is o + t a, |t| <= L, in the frame of the box
    o, a = into_frame(B.axes, minus(A.centre, B.centre)), into_frame(B.axes, A.axes[2])
    nearest = nearest_to_box(o, a, L, h)
    distance, n = distance_to_box(h, ahead(o, nearest, a))
    if distance <= 0.0:
        return capsule_in_box(A, B, o, a, margin, spots, count)
    face = 1 if abs(n[1]) > FLAT else 2 if abs(n[2]) > FLAT else 0
    low, high = over_face(o, a, L, h, face)
    alone = abs(n[face]) <= FLAT or abs(a[face]) >= STANDS or high <= low
    for k, t in enumerate((nearest, low, high)):
        if k > 0 and abs(a[face]) >= PARALLEL and abs(t - nearest) <= radius:
            continue
        feature = BETWEEN if k == 0 else k - 1
        count = ball(B, ahead(A.centre, t, A.axes[2]), radius, margin, feature, spots, count)
        if alone or count == 0:
            return count
    return leave_ends(spots, count, NEARER * (radius + L))


@bare
def nearest_to_box(o, a, L, h):
    """The t in [-L, L] at which o + t a is nearest to the box."""
    low, high = -L, L
    for k in range(6):
        c = k // 2
        if a[c] != 0.0:
            t = (h[c] * (2 * (k % 2) - 1) - o[c]) / a[c]
            if low < t < high:
                if slope_of_square(o, a, t, h) > 0.0:
                    high = t
                else:
                    low = t
    before, after = slope_of_square(o, a, low, h), slope_of_square(o, a, high, h)
    if before >= 0.0:
        return low
    if after <= 0.0:
        return high
    return low - before * (high - low) / (after - before)


@bare
def slope_of_square(o, a, t, h):
    """Half the derivative of the squared distance to the box."""
    slope = 0.0
    for k in range(3):
        y = o[k] + t * a[k]
        slope += (y - max(-h[k], min(h[k], y))) * a[k]
    return slope


@bare
def over_face(o, a, L, h, face):
    """The part of the segment between the four planes about a face; where there is none, its end is below its start."""
    low, high = -L, L
    for k in range(3):
        if k == face:
            continue
        if a[k] == 0.0:
            if abs(o[k]) > h[k]:
                high = -math.inf
            continue
        first, last = (-h[k] - o[k]) / a[k], (h[k] - o[k]) / a[k]
        low, high = max(low, min(first, last)), min(high, max(first, last))
    return low, high


@bare
def capsule_in_box(A, B, o, a, margin, spots, count):
    """The axis of the capsule runs through the box: out of it along the direction of least overlap."""
    h, L = B.size, A.size[1]
    least, face, edge, n_u, n_v = math.inf, NONE, NONE - 1, 0.0, 0.0
    for k in range(3):
        overlap = h[k] + L * abs(a[k]) - abs(o[k])
        if overlap < least:
            least, face = overlap, k
    least -= PREFERENCE * (L + h[face])
    for k in range(3):
        u, v = (k + 1) % 3, (k + 2) % 3
        length = math.hypot(a[u], a[v])  # of a × e_k
        if length > 1e-6:
            out = (o[u] * a[v] - o[v] * a[u]) / length
            overlap = (h[u] * abs(a[v]) + h[v] * abs(a[u])) / length - abs(out)
            if overlap < least:
                least, edge, n_u, n_v = overlap, k, sign(out) * a[v] / length, -sign(out) * a[u] / length
    if edge >= 0:  # one ball, where the axis passes the edge, seen along it
        u, v = (edge + 1) % 3, (edge + 2) % 3
        t = (h[u] * sign(n_u) - o[u]) * a[u] + (h[v] * sign(n_v) - o[v]) * a[v]
        t = max(-L, min(L, t / (a[u] ** 2 + a[v] ** 2)))
        n = (0.0, n_u, n_v) if edge == 0 else (n_v, 0.0, n_u) if edge == 1 else (n_u, n_v, 0.0)
        n = into_world(B.axes, n)
        return touch_ball(ahead(A.centre, t, A.axes[2]), A.size[0], -least, n, margin, BETWEEN, spots, count)
    side = sign(o[face])
    n = into_world(B.axes, (side * (face == 0), side * (face == 1), side * (face == 2)))
    low, high = over_face(o, a, L, h, face)
    for end in range(2):
        t = high if end else low
        distance = side * (o[face] + t * a[face]) - h[face]
        count = touch_ball(ahead(A.centre, t, A.axes[2]), A.size[0], distance, n, margin, end, spots, count)
    return count
