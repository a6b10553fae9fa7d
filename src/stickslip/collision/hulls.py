"""Convex hulls of corners: the corner that is farthest along a direction, their faces, and a hull on a plane.

Corners are gone through one by one, which for the tens of them that parts of machines have is quicker than any search;
the cost of a contact grows in proportion to them. A face has eight corners at most: of one with more, those that leave
most of its area (scene/meshes.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.collision.manifold import KEPT, ROOM, spread
from stickslip.collision.planes import ball_on_plane
from stickslip.collision.vectors import inner, row
from stickslip.jit import bare
from stickslip.scene.model import Floats, Integers

SHALLOW = 1e-6  # of the size: gaps that differ by less are equally deep
FULL: Any = np.int64(ROOM - 2)


class Hulls(NamedTuple):
    """The hulls of a Model: hull_range, hull_corner, hull_face and hull_rim, see there."""

    ranges: Integers
    corners: Floats
    faces: Floats
    rims: Floats


@bare
def farthest_corner(hulls, shape, d):
    """The corner farthest along d."""
    corners, best, found = hulls.corners, -math.inf, hulls.ranges[shape, 0]
    for k in range(hulls.ranges[shape, 0], hulls.ranges[shape, 1]):
        height = inner(row(corners, k), d)
        if height > best:
            best, found = height, k
    return row(corners, found)


@bare
def face_against(hulls, shape, d):
    """The number of the face that points most against d."""
    faces, least, found = hulls.faces, math.inf, hulls.ranges[shape, 2]
    for f in range(hulls.ranges[shape, 2], hulls.ranges[shape, 3]):
        along = inner(row(faces, f), d)
        if along < least:
            least, found = along, f
    return found


@bare
def side_of_face(hulls, f, k, u, v):
    """Side k of a face, in its plane with the axes u and v, u × v outward: a x + b y <= h within it."""
    rims, first, count = hulls.rims, int(hulls.faces[f, 4]), int(hulls.faces[f, 5])
    p, q = row(rims, first + k), row(rims, first + (k + 1) % count)
    x, y = inner(u, p), inner(v, p)
    along_u, along_v = inner(u, q) - x, inner(v, q) - y
    length = math.hypot(along_u, along_v)
    a, b = along_v / length, -along_u / length
    return a, b, a * x + b * y


@bare
def hull_plane(A, plane, margin, hulls, spots, count):
    """The corners within the margin; of many the deepest and those that span the greatest area with it."""
    size = max(A.size[0], A.size[1], A.size[2])
    corners, first = hulls.corners, hulls.ranges[A.number, 0]
    for k in range(first, hulls.ranges[A.number, 1]):
        count = ball_on_plane(A, row(corners, k), 0.0, plane, margin, k - first, spots, count)
        if count == FULL:
            count = spread(spots, count, SHALLOW * size)
    return spread(spots, count, SHALLOW * size) if count > KEPT else count
