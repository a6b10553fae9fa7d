"""The values a scene is told, made canonical where they enter: finite floats in plain tuples, unit quaternions.

A planar scene lives in y = 0. There a vector may be given as (x, z), and what turns as one number, about y. An
orientation is a quaternion, a pair (axis, angle), or in the plane an angle about y, which turns z towards x.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np

from stickslip.checks import Refused, is_number, number, numbers
from stickslip.scene.model import Floats

T = TypeVar("T")
Vector3: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]

# What may be given for them; scene/schema.py says how each is written in a file
VectorLike: TypeAlias = Annotated[Any, "three numbers; in the plane also two, (x, z)"]
TurnLike: TypeAlias = Annotated[Any, "three numbers; in the plane also one, about y"]
OrientationLike: TypeAlias = Annotated[Any, "a quaternion, or (axis, angle); in the plane also an angle about y"]
SizeLike: TypeAlias = Annotated[Any, "one length or three; in the plane also two, along x and z"]
PointsLike: TypeAlias = Annotated[Any, "points, three numbers each"]
MeshLike: TypeAlias = Annotated[Any, "a file, points, or a mesh"]
InertiaLike: TypeAlias = Annotated[Any, "a number, three principal moments or a matrix; in the plane a number"]

ORIGIN: Vector3 = (0.0, 0.0, 0.0)
UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
UNTURNED = np.eye(3)
ROUNDING = 1e-15  # a quaternion as long as this close to 1 is left alone, so that what was saved is what is loaded
SUBNORMAL = 2.0**-1000  # lengths below have fewer digits


def vector(owner: str, field: str, value: Any, planar: bool = False) -> Vector3:
    """Three finite numbers; in the plane also two, (x, z), and then nothing along y."""
    if not planar:
        return numbers(owner, field, value, (3,), "three finite numbers (x, y, z)")  # type: ignore[return-value]
    expected = "two finite numbers (x, z), or three with y = 0, in a planar scene"
    found = numbers(owner, field, value, (2, 3), expected)
    if len(found) == 2:
        return found[0], 0.0, found[1]
    if found[1] != 0:
        raise Refused(owner, field, value, expected)
    return found  # type: ignore[return-value]


def turning(owner: str, field: str, value: Any, planar: bool = False) -> Vector3:
    """A spin or a torque: three finite numbers; in the plane one number, about y, or three with none about x and z."""
    if not planar:
        return vector(owner, field, value)
    expected = "a finite number (about y), or three with x = z = 0, in a planar scene"
    if is_number(value):
        return 0.0, number(owner, field, value, expected), 0.0
    x, y, z = numbers(owner, field, value, (3,), expected)
    if x != 0 or z != 0:
        raise Refused(owner, field, value, expected)
    return x, y, z


def direction(owner: str, field: str, value: Any, planar: bool = False) -> Vector3:
    """A vector of length 1 along the one given."""
    found = unit(*vector(owner, field, value, planar))
    if found is None:
        raise Refused(owner, field, value, "a direction, a vector that is not zero")
    return found[0], found[1], found[2]


def unit(*parts: float) -> tuple[float, ...] | None:
    """The numbers over their length, or as they are where that is 1 but for rounding; None where it is zero or
    infinite."""
    length = math.hypot(*parts)
    if length == 0 or math.isinf(length):
        return None
    if abs(length - 1.0) <= ROUNDING:
        return parts
    if length < SUBNORMAL:  # numbers that have lost digits have to be larger before they are divided
        return unit(*(part / SUBNORMAL for part in parts))
    return tuple(part / length for part in parts)


def orientation(owner: str, value: Any, planar: bool = False) -> Quaternion:
    """A unit quaternion from one, from (axis, angle), or in the plane from an angle about y."""
    if planar and is_number(value):
        return about((0.0, 1.0, 0.0), number(owner, "orientation", value))
    expected = "a quaternion (w, x, y, z) that is not zero, or (axis, angle)"
    if isinstance(value, tuple | list) and len(value) == 2:
        try:
            found = about(direction(owner, "orientation", value[0]), number(owner, "orientation", value[1]))
        except Refused:
            raise Refused(owner, "orientation", value, expected) from None
    else:
        parts = unit(*numbers(owner, "orientation", value, (4,), expected))
        if parts is None:
            raise Refused(owner, "orientation", value, expected)
        found = (parts[0], parts[1], parts[2], parts[3])
    if planar and (found[1] != 0 or found[3] != 0):
        raise Refused(owner, "orientation", value, "an angle about y, or a turn about y, in a planar scene")
    return found


def about(axis: Vector3, angle: float) -> Quaternion:
    """The turn by an angle about a unit axis."""
    sine = math.sin(angle / 2)
    return math.cos(angle / 2), sine * axis[0] + 0.0, sine * axis[1] + 0.0, sine * axis[2] + 0.0  # no -0


def rotation_matrix(quaternion: Quaternion) -> Floats:
    """Body axes to world axes."""
    if quaternion is UPRIGHT:
        return UNTURNED.copy()
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotated(quaternion: Floats, vector: Floats) -> Floats:
    """R(q) v for unit quaternions (..., 4) and vectors (..., 3)."""
    w, axis = quaternion[..., :1], quaternion[..., 1:]
    twice = 2.0 * np.cross(axis, vector)
    return vector + w * twice + np.cross(axis, twice)


def frame_along(axis: Vector3) -> Floats:
    """A right-handed frame, as columns, whose z is a unit axis [1].

    [1] Duff et al., Building an orthonormal basis, revisited, J. Computer Graphics Techniques 6 (2017) 1-8.
    """
    x, y, z = axis
    sign = math.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    return np.array([[1 + sign * x * x * a, b, x], [sign * b, sign + y * y * a, y], [-sign * x, -y, z]])
