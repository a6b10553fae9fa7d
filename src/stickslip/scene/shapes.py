"""The shapes bodies are made of: what they measure, where they sit in their body, and their mass properties.

Each has, about its own centre and axes and for unit density,
    volume   V = ∫ dV                inertia   the principal moments ∫ (|x|² 1 - x xᵀ) dV, a diagonal           (1)
    area     A of its cut y = 0      moment    ∫ |x|² dA of that cut, about y                                   (2)
where (2) is what planar scenes use: there a sphere is a disc, a box and a cylinder are rectangles, a capsule is a
stadium. A plane and a point have no mass properties of their own. A hull has a centroid elsewhere than at its origin,
and an inertia that is a matrix, about it (scene/meshes.py).

Position and orientation say where the centre of the shape is in the axes of its body; a shape in a planar scene may
be placed by (x, z) and an angle about y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from stickslip.checks import Refused, is_number, number, numbers, positive
from stickslip.scene.meshes import ConvexHull, Solid, convex_hull, solid
from stickslip.scene.model import Floats, Shape
from stickslip.scene.values import (
    ORIGIN,
    UPRIGHT,
    OrientationLike,
    PointsLike,
    SizeLike,
    Vector3,
    VectorLike,
    direction,
    orientation,
    vector,
)


@dataclass(frozen=True)
class Plane:
    """The half space of all x with normal · x <= offset."""

    normal: VectorLike = (0.0, 0.0, 1.0)  # kept as three numbers of length 1
    offset: float = 0.0  # [m]

    kind: ClassVar = Shape.PLANE

    def __post_init__(self) -> None:
        normal = vector("Plane", "normal", self.normal, planar=is_pair(self.normal))
        store(self, normal=direction("Plane", "normal", normal), offset=number("Plane", "offset", self.offset))


@dataclass(frozen=True)
class Point:
    """A single point: a particle, or a foot of a body whose mass and inertia are given."""

    position: VectorLike = ORIGIN  # kept as three numbers   [m]

    kind: ClassVar = Shape.SPHERE
    orientation: ClassVar = UPRIGHT
    volume: ClassVar = 0.0
    inertia: ClassVar = ORIGIN
    area: ClassVar = 0.0
    moment: ClassVar = 0.0
    bound: ClassVar = 0.0

    def __post_init__(self) -> None:
        store(self, position=place("Point", self.position))


@dataclass(frozen=True)
class Sphere:
    """A ball; in planar scenes a disc."""

    radius: float  # [m]
    position: VectorLike = ORIGIN  # kept as three numbers   [m]
    orientation: OrientationLike = UPRIGHT  # kept as a quaternion

    kind: ClassVar = Shape.SPHERE

    def __post_init__(self) -> None:
        settle(self, "radius")

    @property
    def volume(self) -> float:
        return 4 / 3 * math.pi * self.radius**3

    @property
    def inertia(self) -> Vector3:
        moment = 2 / 5 * self.volume * self.radius**2
        return moment, moment, moment

    @property
    def area(self) -> float:
        return math.pi * self.radius**2

    @property
    def moment(self) -> float:
        return self.area * self.radius**2 / 2

    @property
    def bound(self) -> float:
        return self.radius


@dataclass(frozen=True)
class Box:
    """A box of three lengths, or a cube of one. Two lengths, along x and z, make a rectangle for a planar scene."""

    size: SizeLike  # given as one, two or three lengths, kept as three   [m]
    position: VectorLike = ORIGIN  # kept as three numbers   [m]
    orientation: OrientationLike = UPRIGHT  # kept as a quaternion

    kind: ClassVar = Shape.BOX

    def __post_init__(self) -> None:
        lengths = (self.size,) if is_number(self.size) else self.size
        expected = "one positive length, three, or two (x, z) in a planar scene, in m"
        try:
            found = numbers("Box", "size", lengths, (1, 2, 3), expected)
        except Refused:
            raise Refused("Box", "size", self.size, expected) from None
        if len(found) == 3 and found[1] == 0:
            found = (found[0], found[2])
        if min(found) <= 0:
            raise Refused("Box", "size", self.size, expected)
        size = {1: found * 3, 2: (found[0], 0.0, found[-1]), 3: found}[len(found)]
        store(self, size=size)
        settle(self)

    @property
    def volume(self) -> float:
        return math.prod(self.size)

    @property
    def inertia(self) -> Vector3:
        a, b, c = (length**2 for length in self.size)
        share = self.volume / 12
        return share * (b + c), share * (a + c), share * (a + b)

    @property
    def area(self) -> float:
        return self.size[0] * self.size[2]

    @property
    def moment(self) -> float:
        return self.area * (self.size[0] ** 2 + self.size[2] ** 2) / 12

    @property
    def bound(self) -> float:
        return math.hypot(*self.size) / 2


@dataclass(frozen=True)
class Bar:
    """What is round about local z, and `length` long."""

    radius: float  # [m]
    length: float  # [m]
    position: VectorLike = ORIGIN  # kept as three numbers   [m]
    orientation: OrientationLike = UPRIGHT  # kept as a quaternion

    def __post_init__(self) -> None:
        settle(self, "radius", "length")  # type: ignore[arg-type]  # there are only those below


class Capsule(Bar):
    """All points within `radius` of an axis along local z; `length` is that of the axis, the caps not counted."""

    kind: ClassVar = Shape.CAPSULE

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    @property
    def inertia(self) -> Vector3:
        """A cylinder and two half balls, whose centres of mass are 3/8 r outside the ends of the axis."""
        r, length = self.radius, self.length
        middle, caps = math.pi * r**2 * length, 4 / 3 * math.pi * r**3
        along = middle * r**2 / 2 + caps * 2 / 5 * r**2
        across = middle * (3 * r**2 + length**2) / 12 + caps * (2 / 5 * r**2 + length**2 / 4 + 3 / 8 * length * r)
        return across, across, along

    @property
    def area(self) -> float:
        return self.radius * (2 * self.length + math.pi * self.radius)

    @property
    def moment(self) -> float:
        """A rectangle and two half discs, whose centres are 4 r / (3 π) outside the ends of the axis."""
        r, length = self.radius, self.length
        middle, caps = 2 * r * length, math.pi * r**2
        return middle * (4 * r**2 + length**2) / 12 + caps * (r**2 / 2 + length**2 / 4 + 4 / (3 * math.pi) * length * r)

    @property
    def bound(self) -> float:
        return self.radius + self.length / 2


class Cylinder(Bar):
    """A round bar about local z; in planar scenes its cut along the axis, a rectangle."""

    kind: ClassVar = Shape.CYLINDER

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.length

    @property
    def inertia(self) -> Vector3:
        across = self.volume * (3 * self.radius**2 + self.length**2) / 12
        return across, across, self.volume * self.radius**2 / 2

    @property
    def area(self) -> float:
        return 2 * self.radius * self.length

    @property
    def moment(self) -> float:
        return self.area * (4 * self.radius**2 + self.length**2) / 12

    @property
    def bound(self) -> float:
        return math.hypot(self.radius, self.length / 2)


@dataclass(frozen=True)
class Hull:
    """The convex hull of points; of those given, its corners are kept. Not for planar scenes."""

    corners: PointsLike  # (n, 3), given in any way, kept as a tuple of its corners   [m]
    position: VectorLike = ORIGIN  # kept as three numbers   [m]
    orientation: OrientationLike = UPRIGHT  # kept as a quaternion

    kind: ClassVar = Shape.HULL

    def __post_init__(self) -> None:
        store(self, corners=tuple(tuple(map(float, corner)) for corner in self.hull.corners))
        settle(self)

    @cached_property
    def hull(self) -> ConvexHull:
        return convex_hull("Hull", "corners", self.corners)

    @cached_property
    def solid(self) -> Solid:
        return solid(self.hull.corners, self.hull.triangles)

    @property
    def volume(self) -> float:
        return self.solid.volume

    @property
    def centroid(self) -> Floats:
        return self.solid.centroid

    @property
    def inertia(self) -> Floats:
        return self.solid.inertia

    @property
    def middle(self) -> Floats:
        """The centre of the box about it, from which collision sees it."""
        return (self.hull.corners.min(axis=0) + self.hull.corners.max(axis=0)) / 2

    @property
    def bound(self) -> float:
        return float(np.linalg.norm(self.hull.corners - self.middle, axis=1).max())


Convex: TypeAlias = Sphere | Box | Capsule | Cylinder | Hull
AnyShape: TypeAlias = Plane | Point | Convex
SHAPES = {shape.__name__.lower(): shape for shape in (Plane, Point, Sphere, Box, Capsule, Cylinder, Hull)}


def model_size(shape: AnyShape, planar: bool) -> Vector3:
    """The three numbers of `Model.shape_size`; a box in the plane has no depth."""
    match shape:
        case Sphere():
            return shape.radius, 0.0, 0.0
        case Box():
            x, y, z = shape.size
            return x / 2, 0.0 if planar else y / 2, z / 2
        case Capsule() | Cylinder():
            return shape.radius, shape.length / 2, 0.0
        case Hull():
            x, y, z = (float(width) / 2 for width in np.ptp(shape.hull.corners, axis=0))
            return x, y, z
        case _:
            return ORIGIN


def settle(shape: Convex, *lengths: str) -> None:
    """Make these lengths, position and orientation canonical; the plane's short forms are taken everywhere."""
    owner = type(shape).__name__
    for name in lengths:
        store(shape, **{name: positive(owner, name, getattr(shape, name), "a positive length in m")})
    if shape.position is not ORIGIN:
        store(shape, position=place(owner, shape.position))
    if shape.orientation is not UPRIGHT:
        store(shape, orientation=orientation(owner, shape.orientation, planar=is_number(shape.orientation)))


def place(owner: str, position: Any) -> Vector3:
    return vector(owner, "position", position, planar=is_pair(position))


def is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list | np.ndarray) and len(value) == 2


def store(shape: AnyShape, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(shape, name, value)
