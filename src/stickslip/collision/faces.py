"""A face of one shape against the outline that the other turns to it: clipped by the sides of the face.

The face, called the reference, is a rectangle of a box, the cap of a cylinder or a face of a hull; its frame has the
centre of the shape as origin and the outward normal as third axis. What is turned to it, the incident outline, is the
face of a box or hull or the cap of a cylinder that points most against it, or the lowest line of a cylinder that lies
or of a capsule. The part of the outline over the face [1] has corners of the outline, points where an edge of it
crosses a side, and corners of the face; which of these a contact is makes its feature. The cap of a cylinder is taken
as the octagon of eight points fixed on its rim.

A corner that is outside a side by less than SLACK of the face's size counts as over it: two equal boxes, one on the
other, keep the same four contacts when one has drifted or turned a little.

An outline is an array of rows (x, y, z, corner, edge) in the frame of the reference: which corner of the shape it is,
or the crossing of which edge and side, and the label of the edge to the next point.

[1] Sutherland, Hodgman, Reentrant polygon clipping, Communications of the ACM 17 (1974) 32-42.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.collision.hulls import face_against, side_of_face
from stickslip.collision.manifold import NONE, ROOM, put
from stickslip.collision.placement import BOX, CYLINDER, HULL
from stickslip.collision.vectors import across, ahead, cross, inner, into_frame, into_world, minus, row, sign
from stickslip.jit import bare
from stickslip.scene.model import Floats

CORNER, EDGE, COLUMNS = 3, 4, 5
SLACK = 1e-5
OCTANT = math.pi / 4
SIDES = 256  # label of the first side of the reference; below are the edges of the incident outline
LABELS = 512
FEATURES = LABELS * (LABELS + 1)  # corners, then pairs of labels
CLEARLY = 1.001  # how much more a face must point against the reference to be preferred to one of a lower axis
STANDS = math.sqrt(0.5)  # cosine above which the cap of a cylinder, not its side, is turned to a face
HULL_FACES = 16  # number of the first face of a hull; below are those of boxes and cylinders, and other features


def outline() -> Floats:
    return np.zeros((ROOM, COLUMNS))


@bare
def face_contacts(A, axis, side, B, away, margin, hulls, outline, clipped, spots, count):
    """Contacts of the face of A on `side` of `axis` with B; `away` times its outward normal is theirs.

    Of a hull `axis` is the number of the face and `side` is 1.
    """
    face = 2 * axis + (side > 0.0) + 6 * (away < 0.0)
    if A.kind == HULL:
        faces, f = hulls.faces, axis
        n = into_world(A.axes, row(faces, f))
        u = across(n)
        v = cross(n, u)
        h_u, h_v, level, sides = max(A.size[0], A.size[1]), A.size[2], faces[f, 3], int(faces[f, 5])
        face = HULL_FACES + 2 * (f - hulls.ranges[A.number, 2]) + (away < 0.0)
    else:
        u, v, n = A.axes[(axis + 1) % 3], A.axes[(axis + 2) % 3], A.axes[axis]
        n = (side * n[0], side * n[1], side * n[2])
        h_u, h_v, level, sides = A.size[(axis + 1) % 3], A.size[(axis + 2) % 3], A.size[axis], 4
        if A.kind == CYLINDER:
            h_u, level, sides = A.size[0], A.size[1], 8
    slack = SLACK * max(h_u, h_v)
    points = incident_outline(B, n, hulls, outline)
    for k in range(points):  # into the frame (u, v, n) of the face
        point = ahead(minus(B.centre, A.centre), 1.0, row(outline, k))
        outline[k, 0], outline[k, 1], outline[k, 2] = inner(u, point), inner(v, point), inner(n, point)
    for k in range(sides):
        if A.kind == HULL:
            a, b, h = side_of_face(hulls, axis, k, into_frame(A.axes, u), into_frame(A.axes, v))
        elif sides == 4:  # +u, +v, -u, -v
            a, b, h = (k == 0) - 1.0 * (k == 2), (k == 1) - 1.0 * (k == 3), h_v if k % 2 else h_u
        else:
            a, b, h = math.cos((k + 0.5) * OCTANT), math.sin((k + 0.5) * OCTANT), h_u * math.cos(0.5 * OCTANT)
        points = clip(outline, points, a, b, h, slack, SIDES + k, clipped)
    for k in range(points):
        gap = outline[k, 2] - level
        point = ahead(ahead(A.centre, outline[k, 0], u), outline[k, 1], v)
        point, normal = ahead(point, level + 0.5 * gap, n), (away * n[0], away * n[1], away * n[2])
        count = put(spots, count, face * FEATURES + outline[k, CORNER], gap, margin, point, normal)
    return count


@bare
def incident_outline(B, n, hulls, outline):
    """What shape B turns against n, as seen from its centre along world axes. Returns how many points it has."""
    d = into_frame(B.axes, n)
    if B.kind == HULL:
        f, rims = face_against(hulls, B.number, d), hulls.rims
        first, points = int(hulls.faces[f, 4]), int(hulls.faces[f, 5])
        for k in range(points):
            r = first + k
            outline[k, 0], outline[k, 1], outline[k, 2] = into_world(B.axes, row(rims, r))
            outline[k, CORNER] = outline[k, EDGE] = int(rims[r, 3]) % SIDES
        return points
    if B.kind == BOX:
        axis = NONE
        if abs(d[1]) > CLEARLY * abs(d[0]):
            axis = 1
        if abs(d[2]) > CLEARLY * abs(d[axis]):
            axis = 2
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for k in range(4):  # the corners ++, -+, --, +- of u and v
            corner = (int(k % 3 == 0) << u) | (int(k < 2) << v) | (int(d[axis] < 0.0) << axis)
            along = v if k % 2 else u
            x = B.size[0] if corner & 1 else -B.size[0]
            y = B.size[1] if corner & 2 else -B.size[1]
            z = B.size[2] if corner & 4 else -B.size[2]
            outline[k, 0], outline[k, 1], outline[k, 2] = into_world(B.axes, (x, y, z))
            outline[k, CORNER], outline[k, EDGE] = corner, 8 * along + (corner & ~(1 << along))
        return 4
    radius, half = B.size[0], B.size[1]
    stands = B.kind == CYLINDER and abs(d[2]) > STANDS
    radial = math.hypot(d[0], d[1])
    for k in range(8 if stands else 2):
        if stands:  # the rim
            x, y, z = radius * math.cos(k * OCTANT), radius * math.sin(k * OCTANT), -sign(d[2]) * half
        elif B.kind == CYLINDER:  # the lowest line of its side
            x, y, z = -radius * d[0] / radial, -radius * d[1] / radial, (2 * k - 1) * half
        else:  # the lowest points of the balls of a capsule
            x, y, z = -radius * d[0], -radius * d[1], (2 * k - 1) * half - radius * d[2]
        outline[k, 0], outline[k, 1], outline[k, 2] = into_world(B.axes, (x, y, z))
        outline[k, CORNER] = outline[k, EDGE] = k + 8 * (d[2] < 0.0) if stands else k
    return 8 if stands else 2


@bare
def clip(outline, points, a, b, h, slack, label, clipped):
    """Cut off what has a x + b y > h; corners up to `slack` beyond stay whole. Returns the points left."""
    beyond = False
    for k in range(points):
        beyond = beyond or a * outline[k, 0] + b * outline[k, 1] > h + slack
    if not beyond:
        return points
    left = 0
    for k in range(points):
        following = (k + 1) % points
        here = a * outline[k, 0] + b * outline[k, 1] - h
        there = a * outline[following, 0] + b * outline[following, 1] - h
        inside, inside_next = here <= slack, there <= slack
        if inside:
            for c in range(COLUMNS):
                clipped[left, c] = outline[k, c]
            left += 1
        if inside == inside_next or (points == 2 and k == 1):  # a segment has one edge only
            continue
        if inside and here >= 0.0:
            clipped[left - 1, EDGE] = label  # the corner itself is where the outline leaves
        elif not (inside_next and there >= 0.0):
            t, edge = here / (here - there), outline[k, EDGE]
            for c in range(3):
                clipped[left, c] = outline[k, c] + t * (outline[following, c] - outline[k, c])
            clipped[left, CORNER] = LABELS * (1.0 + min(edge, label)) + max(edge, label)
            clipped[left, EDGE] = label if inside else edge
            left += 1
    for k in range(left):
        for c in range(COLUMNS):
            outline[k, c] = clipped[k, c]
    return left
