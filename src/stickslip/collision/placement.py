"""Where the shapes are now: from the poses of the bodies, once a step.

In a planar scene a shape is what the plane y = 0 cuts out of it: a cylinder whose axis lies in the plane is a
rectangle, one whose axis stands on it is a disc, and so is such a capsule. Boxes become prisms, all of the same large
length along y, so that nothing is ever nearest, or least overlapping, along y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.errors import InputError
from stickslip.jit import bare
from stickslip.scene.model import Floats, Integers, Model, Shape

PLANE, SPHERE, BOX, CAPSULE, CYLINDER, HULL = (int(shape) for shape in Shape)
MEANT = np.arange(3) < np.array([[0], [1], [3], [2], [2], [3]])  # which sizes of a shape mean something
Vector = tuple[float, float, float]


# columns of where shapes are, which is all that is needed to find pairs, and of how they lie there
CENTRE, HALF, REACH, BOUND, PLACES = 0, 3, 6, 7, 8
AXES, SIZE, COLUMNS = 0, 9, 12


class Placed(NamedTuple):
    """One shape in its place. Made of numbers alone: kernels pass it on at no cost."""

    kind: int
    size: Vector
    centre: Vector
    axes: tuple[Vector, Vector, Vector]  # in world axes
    number: int  # of the shape, by which a hull is looked up


def tabulate(model: Model) -> tuple[Integers, Floats, Floats]:
    """The kinds of the shapes as collision sees them, where they are (ns, PLACES) and how they lie (ns, COLUMNS);
    `place` completes these.

    Columns of the first: centre, half lengths of the box about the shape, grown by the reach of its body, or the normal
    of a plane, that reach, and the radius of a ball that holds the shape. Of the second: three axes, and size (see
    Shape). No more arrays than that, as every one that a kernel touches costs it time; but two, as many shapes touch
    nothing, and memory is read by the line.
    """
    kind = model.shape.copy()
    where, table = np.zeros((kind.size, PLACES)), np.zeros((kind.size, COLUMNS))
    size = table[:, SIZE : SIZE + 3]
    size[:], where[:, BOUND] = np.where(MEANT[kind], model.shape_size, 0.0), model.shape_bound
    if model.planar:
        flatten(kind, size, np.abs(model.shape_rotation[:, 1, :]))
    balls = kind == SPHERE
    if balls.any():
        table[balls, AXES : AXES + 9], where[balls, BOUND] = np.eye(3).ravel(), size[balls, 0]
    return kind, where, table


def flatten(kind: Integers, size: Floats, upright: Floats) -> None:
    """Put in place of each shape what the plane y = 0 cuts out of it; `upright` says how far its axes point along y."""
    for s in range(kind.size):
        along_y, across_y = upright[s] > 1 - 1e-12, upright[s] < 1e-6
        if kind[s] in (BOX, CYLINDER, CAPSULE) and not along_y.any():
            raise InputError(f"shape {s}: it is oblique to the plane y = 0, expected one of its axes along y")
        if kind[s] == BOX and not along_y[1]:
            raise InputError(f"shape {s}: the local y of a box has to be along the world's y in a planar scene")
        if kind[s] == PLANE and not across_y[2]:
            raise InputError(f"shape {s}: the plane's normal leaves the plane y = 0 of a planar scene")
        if kind[s] in (CAPSULE, CYLINDER) and along_y[2]:
            kind[s], size[s] = SPHERE, (size[s, 0], 0.0, 0.0)
        elif kind[s] == CYLINDER and along_y[1]:
            kind[s], size[s] = BOX, (size[s, 0], 0.0, size[s, 1])
        elif kind[s] == CYLINDER:
            raise InputError(f"shape {s}: the local y of a cylinder has to be along the world's y in a planar scene")
    size[kind == BOX, 1] = 4 * size[kind == BOX].max(initial=1.0)


@bare
def place(kind, body, local, turn, position, quaternion, reach, planar, where, table):
    """Set the centres and axes of the shapes, their reach, and the boxes about them; axes of spheres stay the world's.

    `body`, `local` and `turn` are the model's shape_body, shape_position and shape_rotation.
    """
    last = -1
    R = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    for s in range(body.size):
        b = body[s]
        if b != last:
            R = rows_of(quaternion[b, 0], quaternion[b, 1], quaternion[b, 2], quaternion[b, 3])
            last = b
        where[s, REACH] = reach[b]
        for k in range(3):
            r = R[k]
            where[s, k] = position[b, k] + (r[0] * local[s, 0] + r[1] * local[s, 1] + r[2] * local[s, 2])
            if kind[s] == SPHERE:
                where[s, HALF + k] = where[s, BOUND] + reach[b]
                continue
            size = (table[s, SIZE], table[s, SIZE + 1], table[s, SIZE + 2])
            x = r[0] * turn[s, 0, 0] + r[1] * turn[s, 1, 0] + r[2] * turn[s, 2, 0]
            y = r[0] * turn[s, 0, 1] + r[1] * turn[s, 1, 1] + r[2] * turn[s, 2, 1]
            z = r[0] * turn[s, 0, 2] + r[1] * turn[s, 1, 2] + r[2] * turn[s, 2, 2]
            table[s, AXES + k], table[s, AXES + 3 + k], table[s, AXES + 6 + k] = x, y, z
            where[s, HALF + k] = z if kind[s] == PLANE else half_length(kind[s], size, x, y, z) + reach[b]
        if planar:
            where[s, HALF + 1] = 0.0


@bare
def rows_of(w, x, y, z):
    """The rows of the rotation matrix of a unit quaternion."""
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@bare
def placed(kind, where, table, s):
    """Shape s as a value."""
    x = (table[s, AXES], table[s, AXES + 1], table[s, AXES + 2])
    y = (table[s, AXES + 3], table[s, AXES + 4], table[s, AXES + 5])
    z = (table[s, AXES + 6], table[s, AXES + 7], table[s, AXES + 8])
    size = (table[s, SIZE], table[s, SIZE + 1], table[s, SIZE + 2])
    return Placed(kind[s], size, (where[s, CENTRE], where[s, CENTRE + 1], where[s, CENTRE + 2]), (x, y, z), s)


@bare
def half_length(kind, size, x, y, z):
    """How far a shape, or the box about a hull, extends along a direction that has these components along its axes."""
    if kind in (BOX, HULL):
        return abs(x) * size[0] + abs(y) * size[1] + abs(z) * size[2]
    if kind == CYLINDER:
        return math.hypot(x, y) * size[0] + abs(z) * size[1]
    return size[0] + abs(z) * size[1]  # of a sphere the half length is 0
