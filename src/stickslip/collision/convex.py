"""Any two of box, capsule, cylinder and hull: the way of greatest separation, or of least overlap, by one iteration.

With e_A(n), how far A extends from its centre along a unit vector n, and d from the centre of B to that of A, they
overlap along n by
    h(n) = e_A(-n) + e_B(n) - n·d,
and the gap between them is max_n -h(n), be it positive or negative. For shapes that are apart GJK finds n. Where they
touch or overlap, shape A is first moved out along the best n known, until they are apart by δ along it:
    n <- direction of the distance between A + s n and B,      s = max(0, h(n) + δ).
As the moved shapes are δ apart along the old n, their distance is at least δ, so h(n) never grows, and n ends in a
local minimum: a concave-convex procedure [1]. With a face in contact the first step is the last; with rounded surfaces
the error shrinks by (h + δ) / (ρ + δ) a step, ρ the radius of curvature of the difference of the shapes. The start is
the best of the directions in which faces, edges and round sides can meet, and, for a deep overlap, all good ones. A
hull is an arbitrary one: of it only the axes, and for a deep overlap the faces, are among the guesses.

Then, where n is normal to a face, the outline of the other shape is clipped by it (collision/faces.py); where a line of
one shape runs along one of the other, both ends touch, as strings of balls (collision/capsules.py). The nearest points
are a contact of their own where they are nearer than all those. A hull that is nearest with an edge or a corner may all
but lie on a face: the points of that face that are within reach, and farther apart, are contacts beside. Gaps come out
to about 1e-10 of the size, and normals between round surfaces, on which the gap depends only in second order, to about
1e-5.

[1] Yuille, Rangarajan, The concave-convex procedure, Neural Computation 15 (2003) 915-936.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.collision.capsules import BETWEEN, Segment, segment_segment
from stickslip.collision.faces import FEATURES, face_contacts
from stickslip.collision.gjk import direction_between
from stickslip.collision.hulls import face_against, farthest_corner
from stickslip.collision.manifold import FEATURE, NONE, drop_beside_last, keep_above, least_gap, put, spread, swap
from stickslip.collision.placement import BOX, CAPSULE, CYLINDER, HULL, SPHERE, half_length
from stickslip.collision.vectors import ahead, cross, inner, into_frame, into_world, minus, row, sign
from stickslip.jit import bare

MOST: Any = np.int64(30)  # moves
FEW: Any = np.int64(3)  # moves from a guess, by which it must have become better than the best so far
MOVED = 1e-3  # δ over the size of the smaller shape
GUESSES = 18
DEEP = 0.005  # overlap over the size of the smaller shape, above which other guesses are followed
FARTHEST = 0.2  # how much more, over that size, these may overlap
SETTLED = 1e-20  # square of the change of n at which it has
NEAR_FACE = 1e-3  # angle between n and the normal of a face, below which the latter is taken
SHALLOW = 1e-6  # of the size: by so much the overlap may be greater then
BESIDE = 0.06  # 1 - cosine between n and the normal of a face of a hull, below which the face may touch as well
ALONG = 0.1  # cosine between n and a line of a shape, below which the line is in contact
NEARER = 1e-10  # of the size: by how much the nearest points must be nearer than the others
NEAREST: Any = np.int64(12 * FEATURES)  # the feature of the nearest points


@bare
def convex_pair(A, B, margin, hulls, simplex, outline, clipped, spots, count):
    d, size = minus(A.centre, B.centre), extent(B)
    if A.kind != SPHERE:
        size = min(size, extent(A))
    # of a capsule only the axis is looked at, of a ball the centre; their radii come back in the gap
    radius_a, radius_b = rounding(A), rounding(B)
    h, n = math.inf, d
    for k in range(GUESSES):
        h, n = better(A, B, d, h, n, guess(A, B, d, k, hulls), hulls)
    if not -h - radius_a - radius_b <= margin:
        return count
    h, n, middle = descend(A, B, d, h, n, MOVED * size, MOST, hulls, simplex)
    if h > DEEP * size:
        for k in range(GUESSES + faces_of(A, hulls) + faces_of(B, hulls)):
            h_k, n_k = better(A, B, d, math.inf, n, guess(A, B, d, k, hulls), hulls)
            if h_k < h + FARTHEST * size:
                h_k, n_k, _ = descend(A, B, d, h_k, n_k, MOVED * size, FEW, hulls, simplex)
            if h_k < h - SHALLOW * size:
                h, n, middle = descend(A, B, d, h_k, n_k, MOVED * size, MOST, hulls, simplex)
    h, n = snap(A, B, d, h, n, SHALLOW * size, hulls)
    gap = -h - radius_a - radius_b
    if not gap <= margin:
        return count
    if A.kind != SPHERE:
        count = around(A, B, n, gap, margin, hulls, outline, clipped, spots, count)
    nearer = gap < least_gap(spots, count) - NEARER * size
    count = spread(spots, count, SHALLOW * size)
    if nearer:
        point = ahead(ahead(B.centre, 0.5, middle), 0.5 * (radius_b - radius_a), n)
        if A.kind == SPHERE:
            point = ahead(A.centre, -radius_a - 0.5 * gap, n)
        count = put(spots, count, NEAREST, gap, margin, point, n)
    return drop_beside_last(spots, count)


@bare
def extent(A):
    return max(A.size[0], A.size[1], A.size[2])


@bare
def rounding(A):
    """The radius that is left out: of a ball and of a capsule."""
    return A.size[0] if A.kind in (CAPSULE, SPHERE) else 0.0


@bare
def overlap(A, B, d, n, hulls):
    """h(n) of the unit vector n."""
    return extends(A, (-n[0], -n[1], -n[2]), hulls) + extends(B, n, hulls) - inner(n, d)


@bare
def extends(A, n, hulls):
    """e_A(n), of a capsule that of its axis."""
    if A.kind == HULL:
        x = into_frame(A.axes, n)
        return inner(x, farthest_corner(hulls, A.number, x))
    return half_width(A, n)


@bare
def half_width(A, n):
    """Of a shape that is symmetric; of a capsule, that of its axis."""
    x, y, z = into_frame(A.axes, n)
    return half_length(A.kind, A.size, x, y, z) - rounding(A)


@bare
def first_axis(A):
    """The lines of a box run along all three of its axes, those of the others along the third."""
    return 0 if A.kind == BOX else 2


@bare
def better(A, B, d, h, n, candidate, hulls):
    """The direction of less overlap, n or the candidate (of any length), turned from B to A; of a hull either way."""
    length = math.sqrt(inner(candidate, candidate))
    if length > 1e-6:
        turned = sign(inner(candidate, d)) / length
        for _ in range(2 if HULL in (A.kind, B.kind) else 1):
            m = ahead((0.0, 0.0, 0.0), turned, candidate)
            h_m = overlap(A, B, d, m, hulls)
            if h_m < h:
                h, n = h_m, m
            turned = -turned
    return h, n


@bare
def faces_of(A, hulls):
    """How many faces a hull has, 0 for other shapes."""
    return hulls.ranges[A.number, 3] - hulls.ranges[A.number, 2] if A.kind == HULL else NONE


@bare
def guess(A, B, d, k, hulls):
    """Directions to start from: axes of the shapes, their cross products, radii of round sides, the centres, faces."""
    if k >= GUESSES:
        own = k - GUESSES - faces_of(A, hulls)
        if own < 0:
            return into_world(A.axes, row(hulls.faces, hulls.ranges[A.number, 3] + own))
        return into_world(B.axes, row(hulls.faces, hulls.ranges[B.number, 2] + own))
    if k < 15:
        return separating_axis(A.axes, B.axes, k)
    if k < 17:
        a = A.axes[2] if k == 15 else B.axes[2]
        return ahead(d, -inner(a, d), a)
    return d


@bare
def separating_axis(a, b, k):
    """The axes a of one shape, the axes b of another, and their cross products."""
    if k < 3:
        return a[k]
    if k < 6:
        return b[k - 3]
    return cross(a[(k - 6) // 3], b[k % 3])


@bare
def descend(A, B, d, h, n, apart, moves, hulls, simplex):
    """From n with h(n) to a local minimum. Returns h, n, and twice the point midway, seen from the centre of B."""
    middle = d
    for _ in range(moves):
        shift = max(0.0, h + apart)
        m, middle = direction_between(A, B, ahead(d, shift, n), hulls, simplex)
        middle = ahead(middle, -shift, n)  # as A is moved back
        change = minus(m, n)
        h_new, n_new, step = overlap(A, B, d, m, hulls), m, 1.0
        if not h_new < h:
            break
        while h_new < h:  # farther the same way, as long as that is better
            h, n = h_new, n_new
            h_new, n_new = better(A, B, d, h, n, ahead(m, step, change), hulls)
            step = 2.0 * step + 1.0
        if shift == 0.0 or inner(change, change) <= SETTLED:
            break
    return h, n, middle


@bare
def face_along(A, n, tolerance, hulls):
    """The axis of A whose face has the outward normal n, or the face of a hull; -1 where there is no such face."""
    if A.kind == HULL:
        x = into_frame(A.axes, n)
        face = face_against(hulls, A.number, (-x[0], -x[1], -x[2]))
        return face if inner(row(hulls.faces, face), x) > 1.0 - tolerance else NONE - 1
    if A.kind not in (CAPSULE, SPHERE):
        for k in range(first_axis(A), 3):
            if abs(inner(A.axes[k], n)) > 1.0 - tolerance:
                return NONE + k
    return NONE - 1


@bare
def outward(A, face, n, hulls):
    """The outward normal of a face that `face_along` found."""
    if A.kind == HULL:
        return into_world(A.axes, row(hulls.faces, face))
    return ahead((0.0, 0.0, 0.0), sign(inner(A.axes[face], n)), A.axes[face])


@bare
def snap(A, B, d, h, n, shallow, hulls):
    """The normal of a face that is as good as n and all but equal to it, or n."""
    for k in range(2):
        shape, away = (B, 1.0) if k == 0 else (A, -1.0)
        out = ahead((0.0, 0.0, 0.0), away, n)
        face = face_along(shape, out, 0.5 * NEAR_FACE**2, hulls)
        if face >= 0:
            m = ahead((0.0, 0.0, 0.0), away, outward(shape, face, out, hulls))
            h_m = overlap(A, B, d, m, hulls)
            if h_m <= h + shallow:
                return h_m, m
    return h, n


@bare
def around(A, B, n, gap, margin, hulls, outline, clipped, spots, count):
    """Contacts of a face with an outline, or of a line with a line; none where there is neither."""
    hull = HULL in (A.kind, B.kind)
    for k in range(4 if hull else 2):
        face, other, away = (B, A, 1.0) if k % 2 == 0 else (A, B, -1.0)
        axis = face_along(face, ahead((0.0, 0.0, 0.0), away, n), 1e-12 if k < 2 else BESIDE, hulls)
        if axis >= 0:
            side = 1.0 if face.kind == HULL else away * sign(inner(face.axes[axis], n))
            count = face_contacts(face, axis, side, other, away, margin, hulls, outline, clipped, spots, count)
            return count if k < 2 else keep_above(spots, count, gap)
    if hull:
        return count
    axis_a, axis_b = line_along(A, n), line_along(B, n)
    if axis_a < 0 or axis_b < 0:
        return count
    count = segment_segment(line(A, axis_a, n, -1.0), line(B, axis_b, n, 1.0), margin, spots, count)
    if count > 0 and spots[0, FEATURE] == BETWEEN:  # the nearest points of the shapes themselves are at hand
        swap(spots, NONE, count - 1)
        return count - 1
    return count


@bare
def line_along(A, n):
    """The axis of A along which its line in contact runs, -1 where there is no such line."""
    found, least = NONE - 1, ALONG
    for k in range(first_axis(A), 3):
        along = abs(inner(A.axes[k], n))
        if along < least:
            found, least = k, along
    return found


@bare
def line(A, axis, n, outward):
    """The edge of a box along `axis`, or the axis of another shape with the radius that it shows along n."""
    centre, direction = A.centre, A.axes[axis]
    if A.kind != BOX:
        along = inner(direction, n) if A.kind == CYLINDER else 0.0
        return Segment(centre, direction, A.size[1], A.size[0] * math.sqrt(1.0 - along * along))
    for k in range(3):
        if k != axis:
            centre = ahead(centre, sign(outward * inner(A.axes[k], n)) * A.size[k], A.axes[k])
    return Segment(centre, direction, A.size[axis], 0.0)
