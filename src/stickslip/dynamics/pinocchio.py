"""Robots from URDF and MJCF files as generalized systems, with the dynamics of Pinocchio [1].

    robot = load_robot("arm.urdf", FramePoint("tip", friction=0.5))        a frame's origin may touch the ground z = 0
    q = robot.pose({"elbow": -1.2})                                         other joints neutral

M is the composite rigid body algorithm's, the bias that of inverse dynamics without acceleration; both include
armature, and neither the friction nor the damping of joints that a file may give. A row of A is a world axis of the
contact times the Jacobian of the point. Floating bases and continuous joints have more coordinates than velocities; q
moves by Pinocchio's integration on the manifold. What a robot's own shapes would touch is not looked for.

`Robot.touching` puts a point on its plane by one joint. Along a revolute joint the gap is g(φ) = a + b cos φ + c sin φ
and along a prismatic one it is linear, so two more values of it give the solution in closed form.

[1] Carpentier et al., The Pinocchio C++ library, IEEE International Symposium on System Integrations (SII) 2019.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import (
    Refused,
    checked,
    fraction,
    instance,
    mapping,
    not_negative,
    number,
    several,
    text,
    truth,
    vector,
    whole,
)
from stickslip.checks import path as file_path
from stickslip.dynamics.contact_rows import fill_frame
from stickslip.dynamics.generalized import ContactPoint
from stickslip.dynamics.model_files import described
from stickslip.errors import FileError, InputError, extra
from stickslip.problems.matrix import Dense, Vector
from stickslip.remade import Remade, remade

UNIT = 1e-9  # how far from 1 the length of a normal may be
OWNER = "load_robot"
POINT = several(3, "three finite numbers (x, y, z)")  # a kind of argument
ROUNDING = 1e-12  # m², of a moment of inertia over its mass, that is none


@dataclass(frozen=True)
@checked(
    frame=text,
    point=POINT,
    normal=POINT,
    offset=number,
    friction=not_negative,
    friction_kinetic=not_negative,
    restitution=fraction,
)
class FramePoint:
    """A point fixed to a frame of a robot, and the plane normal · x = offset it may touch."""

    frame: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in the frame   [m]
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)  # of the plane, of length 1, to the side where the robot is
    offset: float = 0.0  # [m]
    friction: float = 0.0
    friction_kinetic: float | None = None
    restitution: float = 0.0

    def __post_init__(self) -> None:
        length = math.hypot(*self.normal)
        if abs(length - 1) > UNIT:
            raise InputError(f"FramePoint: normal is {self.normal} of length {length:.6g}, expected a unit vector")


def writable(owner: str, field: str, value: Any) -> Any:
    """A kind of argument: an array of coordinates that can be written to."""
    if not (isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1 and value.flags.writeable):
        raise Refused(owner, field, value, "an array of floats that can be written to, as pose() returns it")
    return value


@dataclass(frozen=True, eq=False)
class Robot(Remade):
    """A System (dynamics/generalized.py) whose functions are Pinocchio's."""

    name: str
    model: Any  # pinocchio.Model
    data: Any  # pinocchio.Data, its room to work: one thread at a time
    contacts: tuple[ContactPoint, ...]

    constraint = None
    __deepcopy__ = None  # type: ignore[assignment]  # a copy is read anew: it has room of its own to work

    @property
    def coordinates(self) -> int:
        return int(self.model.nq)

    @property
    def velocities(self) -> int:
        return int(self.model.nv)

    @property
    def pin(self) -> Any:
        """Pinocchio itself."""
        import pinocchio

        return pinocchio

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that move."""
        return tuple(self.model.names)[1:]

    @cached_property
    def above(self) -> NDArray[np.bool_]:
        """The entries of M that Pinocchio computes: on and above the diagonal."""
        return np.triu(np.ones((self.velocities, self.velocities), bool))

    def mass(self, q: Vector) -> Dense:
        upper = np.reshape(self.pin.crba(self.model, self.data, q), (self.velocities, self.velocities))
        return np.where(self.above, upper, upper.T)

    def bias(self, q: Vector, v: Vector) -> Vector:
        return np.array(self.pin.nonLinearEffects(self.model, self.data, q, v))

    def velocity_map(self, q: Vector) -> Dense:
        return np.reshape(self.pin.tangentMap(self.model, q), (self.coordinates, self.velocities))

    def moved(self, q: Vector, displacement: Vector) -> Vector:
        return np.array(self.pin.integrate(self.model, q, displacement))

    @checked(joints=mapping)
    def pose(self, joints: Mapping[str, float] | None = None) -> Vector:
        """q with these joints at these angles or travels (rad, m), the others neutral."""
        q = np.array(self.pin.neutral(self.model))
        for name, value in (joints or {}).items():
            self.set_joint(q, text("pose", "joints", name), number("pose", f"joints[{name!r}]", value))
        return q

    @checked(q=writable, name=text, value=number)
    def set_joint(self, q: Vector, name: str, value: float) -> None:
        """Write the angle or travel of one joint into q."""
        vector(self.name, "q", q, self.coordinates)
        joint = self.joint(name)
        if joint.nq == 1:
            q[joint.idx_q] = value
        else:  # a continuous joint is kept as cosine and sine
            q[joint.idx_q], q[joint.idx_q + 1] = math.cos(value), math.sin(value)

    @checked(name=text)
    def joint(self, name: str) -> Any:
        """The joint of a name, which must have one degree of freedom."""
        if name not in self.joints:
            raise InputError(f"{self.name}: joint is {name!r}, expected one of {', '.join(self.joints)}")
        joint = self.model.joints[self.model.getJointId(name)]
        if joint.nv != 1:
            raise InputError(f"{self.name}: joint is {name!r}, expected one with one degree of freedom, not {joint.nv}")
        return joint

    def is_prismatic(self, name: str) -> bool:
        return bool(self.joint(name).shortname().startswith("JointModelP"))

    def limits(self, name: str) -> tuple[float, float]:
        """Least and greatest angle or travel of a joint; those of a continuous one are a turn."""
        joint = self.joint(name)
        if joint.nq == 2:
            return -math.pi, math.pi
        i = joint.idx_q
        return float(self.model.lowerPositionLimit[i]), float(self.model.upperPositionLimit[i])

    @checked(joint=text, contact=whole)
    def touching(self, q: Vector, joint: str, contact: int = 0) -> Vector:
        """q with one joint moved so that a contact point lies on its plane: the nearest way within the joint's limits.

        NaN where there is none.
        """
        if contact >= len(self.contacts):
            raise InputError(f"{self.name}: contact is {contact}, expected a number below {len(self.contacts)}")
        q = vector(self.name, "q", q, self.coordinates)
        kind, gap = self.joint(joint), self.contacts[contact].gap
        if not kind.shortname().startswith(("JointModelP", "JointModelR")):
            raise InputError(f"{self.name}: joint is {joint!r}, expected one that is prismatic or revolute")

        def moved(by: float) -> Vector:
            step = np.zeros(self.velocities)
            step[kind.idx_v] = by
            return self.moved(q, step)

        now = gap(q)
        if self.is_prismatic(joint):
            slope = gap(moved(1.0)) - now
            ways = [-now / slope] if slope else []
        else:
            quarter, half = gap(moved(math.pi / 2)), gap(moved(math.pi))
            a, b = (now + half) / 2, (now - half) / 2
            c, swing = quarter - a, math.hypot(b, quarter - a)
            towards, spread = math.atan2(c, b), math.acos(-a / swing) if abs(a) < swing else math.nan
            ways = [math.remainder(towards + s * spread, 2 * math.pi) for s in (-1, 1)] if spread == spread else []
        least, greatest = self.limits(joint)
        for by in sorted(ways, key=abs):
            found = moved(by)
            if kind.nq == 2 or least <= found[kind.idx_q] <= greatest:
                return found
        return np.full(self.coordinates, math.nan)

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, joints={list(self.joints)})"


@remade
@checked(path=file_path, points=instance(FramePoint), gravity=POINT, floating=truth)
def load_robot(
    path: str | os.PathLike[str],
    *points: FramePoint,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    floating: bool = False,
) -> Robot:
    """A robot from a URDF (.urdf) or MJCF (.xml, .mjcf) file, with the points of it that may touch planes.

    `floating`: with a free base, for a URDF, which does not say.
    """
    pin = extra(OWNER, "pinocchio", "Pinocchio", "robots")
    file = Path(path)
    model = read_model(pin, file, floating)
    model.gravity.linear = np.array(gravity)
    frames = [add_point(pin, model, i, point) for i, point in enumerate(points)]
    data = model.createData()
    contacts = tuple(contact_point(pin, model, data, *pair) for pair in zip(frames, points, strict=True))
    return Robot(model.name or file.stem, model, data, contacts)


def read_model(pin: Any, file: Path, floating: bool) -> Any:
    tree = described(OWNER, file, floating, "a URDF or MJCF file", "<robot> (URDF) or <mujoco> (MJCF)")
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    if tree.tag == "mujoco" and any(len(part) for part in tree.iter("equality")):
        raise FileError(f"{OWNER}: {str(file)!r} has equality constraints, expected a mechanism without loops")
    for joint in tree.iter("joint"):
        ends = [end.get("link") for end in joint if end.tag in ("parent", "child")]
        if len(ends) == 2 and ends[0] == ends[1]:
            raise FileError(f"{OWNER}: {str(file)!r} joins link {ends[0]!r} to itself, expected two links")
    try:
        model = pin.buildModelFromMJCF(str(file)) if tree.tag == "mujoco" else pin.buildModelFromUrdf(str(file), *root)
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise FileError(f"{OWNER}: {str(file)!r} could not be read, Pinocchio says: {reason}") from None
    for name, body in zip(model.names, model.inertias, strict=True):
        if not (0.0 <= body.mass < np.inf and (np.linalg.eigvalsh(body.inertia) >= -ROUNDING * body.mass).all()):
            raise FileError(
                f"{OWNER}: {str(file)!r} gives what joint {name!r} moves the mass {body.mass:g} and an inertia with "
                f"negative moments or no numbers, expected those of a body"
            )
    return model


def add_point(pin: Any, model: Any, number: int, point: FramePoint) -> int:
    """A frame of its own for a contact point; its number."""
    names = [frame.name for frame in model.frames]
    if point.frame not in names:
        raise InputError(f"{OWNER}: frame is {point.frame!r}, expected one of {', '.join(names)}")
    frame = model.frames[names.index(point.frame)]
    place = frame.placement * pin.SE3(np.eye(3), np.array(point.point, float))
    added = pin.Frame(f"contact {number}", frame.parentJoint, names.index(point.frame), place, pin.FrameType.OP_FRAME)
    if frame.parentJoint == 0:
        raise InputError(f"{OWNER}: frame is {point.frame!r}, which cannot move; expected one behind a joint")
    return int(model.addFrame(added, False))


def contact_point(pin: Any, model: Any, data: Any, frame: int, point: FramePoint) -> ContactPoint:
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    still = np.zeros(model.nv)

    def place(q: Vector) -> Vector:
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, frame).translation

    def jacobian(q: Vector) -> Dense:
        return np.reshape(pin.computeFrameJacobian(model, data, q, frame, world), (6, -1))[:3]

    def acceleration(q: Vector, v: Vector) -> Vector:
        pin.forwardKinematics(model, data, q, v, still)
        return pin.getFrameClassicalAcceleration(model, data, frame, world).linear

    return on_its_plane(point, place, jacobian, acceleration)


def on_its_plane(
    point: FramePoint,
    place: Callable[[Vector], Vector],
    jacobian: Callable[[Vector], Dense],
    acceleration: Callable[[Vector, Vector], Vector] | None = None,
) -> ContactPoint:
    """The contact of a point with its plane: from where it is in the world, how it moves with v, and its acceleration
    where v stays as it is; None: by central difference."""
    axes = np.zeros((3, 3))  # normal, tangent and other tangent of the plane
    n_x, n_y, n_z = map(float, point.normal)
    fill_frame(n_x, n_y, n_z, False, axes)
    return ContactPoint(
        gap=lambda q: float(axes[0] @ place(q)) - point.offset,
        rows=lambda q: axes @ jacobian(q),
        drift=None if acceleration is None else lambda q, v: axes @ acceleration(q, v),
        name=point.frame,
        **{name: getattr(point, name) for name in ("friction", "friction_kinetic", "restitution")},
    )


def read_plane(text: str) -> tuple[tuple[float, float, float], float]:
    """Normal and offset of a plane `z=0`; `-x=0.5` is the plane x = -0.5 with its normal towards -x."""
    axis, equals, value = text.replace(" ", "").partition("=")
    sign, letter = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis)
    try:
        offset = float(value)
    except ValueError:
        offset = math.nan
    if not equals or letter not in ("x", "y", "z") or not math.isfinite(offset):
        raise InputError(f"plane is {text!r}, expected an axis and a number, such as z=0 or -x=0.5")
    x, y, z = (sign if letter == name else 0.0 for name in "xyz")
    return (x, y, z), offset
