"""The parts of a scene as plain values: bodies, joints, forces and pairs, each checked by `Scene` when it is added.

A free body has its mass properties from its shapes, which are homogeneous and of one density ρ, by
    m = ρ Σ Vᵢ,    c = Σ Vᵢ xᵢ / Σ Vᵢ,    I = ρ Σ (Rᵢ Iᵢ Rᵢᵀ + Vᵢ (|dᵢ|² 1 - dᵢ dᵢᵀ)),    dᵢ = xᵢ - c         (1)
(shapes that overlap count twice), or as they are given. In a planar scene areas and moments about y take the place of
volumes and inertias, and the density is a mass per area.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from stickslip.checks import Refused, as_floats, is_number, positive
from stickslip.scene.materials import Material
from stickslip.scene.model import Floats, Joint, Kind
from stickslip.scene.shapes import AnyShape, Hull, Plane, Point
from stickslip.scene.values import ORIGIN, UPRIGHT, Quaternion, Vector3, rotation_matrix

Matrix3: TypeAlias = tuple[Vector3, Vector3, Vector3]
Motion: TypeAlias = Vector3 | Callable[[float], Any]  # of a moving body: constant, or a function of time
ForceFunction: TypeAlias = Callable[[float, Any], Any]  # (time, StateView) -> (force, torque)

RIGID = Material()
ROUND_OFF = 1e-9  # relative, in the triangle inequality of principal moments


@dataclass(frozen=True)
class Body:
    """What names a body: the scene hands it out, and takes it back wherever a body is meant."""

    index: int
    name: str
    scene: int  # which scene it belongs to

    def __repr__(self) -> str:
        return f"Body({self.index}, {self.name!r})"


BodyLike: TypeAlias = Annotated[Body | str, "a body, or its name"]


@dataclass(frozen=True)
class JointHandle:
    """What names a joint."""

    index: int
    kind: Joint

    def __repr__(self) -> str:
        return f"JointHandle({self.index}, {self.kind.name.lower()})"


@dataclass(frozen=True)
class BodyDescription:
    name: str
    kind: Kind
    shapes: tuple[AnyShape, ...] = ()
    mass: float | None = None  # [kg]
    density: float | None = None  # [kg/m³], in a planar scene [kg/m²]
    inertia: Matrix3 | None = None  # about the centre of mass, body axes; from the shapes where None   [kg m²]
    centre: Vector3 | None = None  # of mass, in the body; from the shapes where None   [m]
    position: Vector3 = ORIGIN  # of the origin of the body   [m]
    orientation: Quaternion = UPRIGHT
    velocity: Motion = ORIGIN  # of the centre of mass   [m/s]
    spin: Motion = ORIGIN  # [rad/s]
    material: Material = RIGID


@dataclass(frozen=True)
class JointDescription:
    kind: Joint
    a: int
    b: int | None  # None is the world
    position: Vector3  # world, when the scene begins   [m]
    axis: Vector3  # unit, world, when the scene begins
    name: str
    limits: tuple[float, float] | None = None  # [rad] or [m]
    target: float | None = None  # position that a servo wants   [rad] or [m]
    speed: float = 0.0  # of the motor   [rad/s] or [m/s]
    strength: float = 0.0  # of the motor, 0 where there is none   [N m] or [N]
    stiffness: float = 0.0  # of a servo   [N m/rad] or [N/m]
    gain: float = 0.0  # of a servo   [N m s/rad] or [N s/m]
    effort: float = 0.0  # along the coordinate   [N m] or [N]
    compliance: float | tuple[float, ...] = 0.0  # of all directions, or six: along and about x, y, z   [m/N, rad/(N m)]
    damping: float | tuple[float, ...] = 0.0  # likewise   [N s/m, N m s]
    collide: bool = False


@dataclass(frozen=True)
class Force:
    """A constant force and torque in world axes; the force acts at a point of the body, or at its centre of mass."""

    body: int
    force: Vector3  # [N]
    torque: Vector3 = ORIGIN  # [N m]
    point: Vector3 | None = None  # in the body, seen from its origin   [m]


class MassProperties(NamedTuple):
    mass: float  # [kg]
    centre: Floats  # (3,)   [m]
    inertia: Floats  # (3, 3)   about the centre, body axes; only about y in the plane; zeros for a particle   [kg m²]


def extent(shapes: tuple[AnyShape, ...], planar: bool) -> float:
    """Volume, in the plane area, of all shapes together; a plane has none of its own."""
    return sum(measure(shape, planar) for shape in shapes if not isinstance(shape, Plane))


def measure(shape: Any, planar: bool) -> float:
    return shape.area if planar else shape.volume


def centroid(shape: Any) -> Floats:
    """Of a shape, in the axes of its body."""
    if isinstance(shape, Hull):
        return shape.position + rotation_matrix(shape.orientation) @ shape.centroid
    return np.array(shape.position)


PARTICLE = (Point(),)


def is_particle(body: BodyDescription) -> bool:
    """A particle does not turn."""
    return body.inertia is None and body.shapes == PARTICLE


def mass_properties(body: BodyDescription, planar: bool) -> MassProperties:
    """Of a free body, by (1), where they are not given."""
    total = extent(body.shapes, planar)
    mass = body.density * total if body.mass is None else body.mass  # type: ignore[operator]
    if is_particle(body):
        return MassProperties(mass, np.zeros(3), np.zeros((3, 3)))
    solids: list[tuple[Any, Floats]] = [
        (shape, centroid(shape)) for shape in body.shapes if not isinstance(shape, Plane)
    ]
    centre = np.zeros(3)
    if body.centre is not None:
        centre = np.array(body.centre)
    elif total > 0:
        for shape, middle in solids:
            centre += measure(shape, planar) / total * middle
    if body.inertia is not None:
        return MassProperties(mass, centre, np.array(body.inertia))
    inertia = np.zeros((3, 3))
    for shape, middle in solids:
        d = middle - centre
        if planar:
            inertia[1, 1] += shape.moment + shape.area * (d @ d)
        else:
            turn = rotation_matrix(shape.orientation)
            own = np.array(shape.inertia)
            inertia += (turn @ own if own.ndim == 2 else turn * own) @ turn.T
            if d.any():
                inertia += shape.volume * ((d @ d) * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, centre, mass / total * inertia)


def inertia_matrix(owner: str, value: Any, planar: bool) -> Matrix3:
    """A given inertia: a number for all axes (in the plane about y), three principal moments, or the matrix."""
    if planar:
        moment = positive(owner, "inertia", value, "a positive number, about y, in a planar scene")
        return (0.0, 0.0, 0.0), (0.0, moment, 0.0), (0.0, 0.0, 0.0)
    expected = "a positive number, three principal moments, or a symmetric 3 x 3 matrix"
    try:
        given = as_floats(owner, "inertia", value)
    except Refused:
        raise Refused(owner, "inertia", value, expected) from None
    if is_number(value):
        matrix = float(given) * np.eye(3)
    else:
        matrix = np.diag(given) if given.shape == (3,) else given
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all() or (matrix != matrix.T).any():
        raise Refused(owner, "inertia", value, expected)
    least, middle, most = (float(moment) for moment in np.linalg.eigvalsh(matrix))
    if least <= 0:
        raise Refused(owner, "inertia", value, f"a positive definite one (its least principal moment is {least:g})")
    if least + middle < most * (1 - ROUND_OFF):
        moments = f"{least:g}, {middle:g} and {most:g}"
        raise Refused(owner, "inertia", value, f"principal moments of which none exceeds the other two ({moments})")
    return tuple(tuple(float(entry) for entry in row) for row in matrix)  # type: ignore[return-value]
