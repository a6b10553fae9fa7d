"""Two boxes, by separating axes [1]: the normals of their faces and the cross products of their edges.

Along an axis n they are apart by |n·d| - e_A(n) - e_B(n), e the half width of a box and d between the centres. The
greatest of these over the 15 axes is minus the overlap where they overlap, and where they are apart it is their
distance, if it comes from points over the face, or between the ends of the edges, of that axis. If not, a corner is
nearest to a corner or an edge: `box_box` returns UNSETTLED, and collision/convex.py finds it.

Edges that cross are one contact. Boxes that lie all but flat on each other are often nearest there, and would roll over
it into each other: the points of the best face that are farther apart than the edges, and within reach, are contacts
beside it.

The faces of the first box come first, and an axis is taken only where clearly better than those before it: two boxes in
contact keep the same face as reference when others are as good.

[1] Gottschalk, Lin, Manocha, OBBTree: a hierarchical structure for rapid interference detection, SIGGRAPH 1996.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.collision.convex import extent, half_width, line, separating_axis
from stickslip.collision.faces import FEATURES, face_contacts
from stickslip.collision.manifold import NONE, drop_beside_last, keep_above, least_gap, put, spread
from stickslip.collision.vectors import ahead, inner, minus, sign
from stickslip.jit import bare

UNSETTLED: Any = np.int64(-1)
PREFERENCE = 1e-6  # of the size: by how much another axis must be better
RELATIVE = 1e-3  # and by how much of the overlap
SHALLOW = 1e-6  # of the size: gaps that differ by less are equally deep
EDGES: Any = np.int64(13 * FEATURES)  # the features of crossing edges


@bare
def box_box(A, B, margin, hulls, outline, clipped, spots, count):
    d, size = minus(A.centre, B.centre), min(extent(A), extent(B))
    best, axis, face_axis = -math.inf, NONE, NONE
    for k in range(15):
        n = separating_axis(A.axes, B.axes, k)
        length = math.sqrt(inner(n, n)) if k >= 6 else 1.0
        if length < 1e-4:  # edges that are all but parallel: faces serve
            continue
        apart = (abs(inner(n, d)) - half_width(A, n) - half_width(B, n)) / length
        if not apart <= margin:
            return count
        if k == 0 or apart > best + PREFERENCE * size + RELATIVE * max(0.0, -best):
            best, axis = apart, k
        if k < 6:
            face_axis = axis
    n = separating_axis(A.axes, B.axes, face_axis)
    side = sign(inner(n, d))
    face, other, away = (A, B, -1.0) if face_axis < 3 else (B, A, 1.0)
    count = face_contacts(face, face_axis % 3, away * side, other, away, margin, hulls, outline, clipped, spots, count)
    if axis >= 6:
        count = spread(spots, keep_above(spots, count, best), SHALLOW * size)
        return drop_beside_last(spots, crossing_edges(A, B, axis, d, best, spots, count))
    if best > 0.0 and least_gap(spots, count) > best + 4.0 * PREFERENCE * size:
        return UNSETTLED
    return spread(spots, count, SHALLOW * size)


@bare
def crossing_edges(A, B, axis, d, apart, spots, count):
    """The contact of an edge of A with one of B, along their common normal."""
    n = separating_axis(A.axes, B.axes, axis)
    n = ahead((0.0, 0.0, 0.0), sign(inner(n, d)) / math.sqrt(inner(n, n)), n)
    first, second = line(A, (axis - 6) // 3, n, -1.0), line(B, axis % 3, n, 1.0)
    a, b, c = first.direction, second.direction, minus(first.centre, second.centre)
    cosine, a_c, b_c = inner(a, b), inner(a, c), inner(b, c)
    s = (cosine * b_c - a_c) / (1.0 - cosine * cosine)
    t = b_c + cosine * s
    if apart > 0.0 and (abs(s) > first.half or abs(t) > second.half):
        return UNSETTLED
    p, q = ahead(first.centre, s, a), ahead(second.centre, t, b)
    feature = EDGES + 16 * axis + 4 * which_edge(A, (axis - 6) // 3, n) + which_edge(B, axis % 3, n)
    return put(spots, count, feature, apart, np.inf, ahead(p, 0.5, minus(q, p)), n)


@bare
def which_edge(A, axis, n):
    """Which of the four edges along an axis is farthest along n, or along -n."""
    u, v = inner(A.axes[(axis + 1) % 3], n), inner(A.axes[(axis + 2) % 3], n)
    return 2 * (u > 0.0) + (v > 0.0)
