"""A scene: what a person describes, checked as it is said, to be compiled to arrays (`compile_scene`).

    scene = Scene()                                     # gravity (0, 0, -9.81)
    scene.add_plane(friction=1.0)
    box = scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(0, 5, 0), spin=(0, 0, 6.283))

Bodies are numbered as they are added. A `Body` stands for one, and so does its name, wherever a body is asked for.
Positions and orientations are those of the frame in which the shapes of a body are placed; a velocity is that of the
centre of mass. Everything is in SI units and world axes.

A body is free, static, or moving: moved as prescribed, by a constant velocity and spin or by functions of time. Mass
and density of a body that is not free play no part.

`Scene(planar=True)` is the plane y = 0: positions, velocities and forces may be given as (x, z), spins and torques as
a number (about y), the orientation as an angle (about y, z towards x), the size of a box as two lengths. Its bodies
have no depth, so a density is a mass per area.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypedDict, Unpack

import numpy as np

from stickslip.checks import Refused, bound, not_negative, number, positive, real, truth
from stickslip.scene.descriptions import (
    RIGID,
    Body,
    BodyDescription,
    BodyLike,
    Force,
    ForceFunction,
    JointDescription,
    JointHandle,
    Motion,
    extent,
    inertia_matrix,
    is_particle,
)
from stickslip.scene.friction_law import FrictionLaw
from stickslip.scene.materials import FIELDS, Material, coefficient
from stickslip.scene.meshes import is_closed, read_mesh, solid
from stickslip.scene.model import Joint, Kind
from stickslip.scene.shapes import SHAPES, AnyShape, Box, Capsule, Cylinder, Hull, Plane, Point, Sphere
from stickslip.scene.values import (
    ORIGIN,
    InertiaLike,
    MeshLike,
    OrientationLike,
    SizeLike,
    TurnLike,
    Vector3,
    VectorLike,
    direction,
    orientation,
    turning,
    vector,
)

WORLD = "world"  # the body that does not move and has no shape, to which joints without a second body hold

_scenes = itertools.count()  # so that the body of one scene is not taken for that of another


class Pair(TypedDict, total=False):
    """The fields of a Material, each as a keyword; what is None is not said."""

    friction: float | FrictionLaw | None
    friction_kinetic: float | None
    restitution: float | None
    stiffness: float | None
    damping: float | None
    stiffness_tangent: float | None
    damping_tangent: float | None
    patch: float | None
    surface: Any


class Surface(Pair, total=False):
    """A Material, and fields that replace its own."""

    material: Material | None


class Moved(Surface, total=False):
    """What a plane may be told beside."""

    velocity: VectorLike
    spin: TurnLike
    moving: bool
    name: str | None


class Settings(Moved, total=False):
    """What every body with a shape may be told: the keywords of `Scene.add_body`."""

    mass: float | None
    density: float | None
    inertia: InertiaLike | None
    position: VectorLike
    orientation: OrientationLike
    static: bool


class Compound(Settings, total=False):
    """And what only a body of several shapes may."""

    centre: VectorLike | None


class Held(TypedDict, total=False):
    """What every joint may be told; see `Scene.add_hinge`."""

    compliance: float | VectorLike
    damping: float | VectorLike
    collide: bool
    name: str | None


class Driven(Held, total=False):
    """What a joint with a coordinate may be told beside."""

    limits: VectorLike | None
    speed: float
    strength: float
    target: float | None
    stiffness: float
    gain: float
    effort: float


JOINT_FIELDS: dict[str, Any] = {
    "strength": bound, "collide": truth, "speed": number, "target": number, "effort": number,
}  # fmt: skip  # kinds of those that may be other than a number >= 0
BODY_FIELDS = {field.name: field.default for field in fields(BodyDescription)[3:-1]}  # mass to spin


class Scene:
    """Bodies, joints, forces and what pairs of bodies do; editable at any time, also after it was compiled."""

    def __init__(self, gravity: VectorLike = (0.0, 0.0, -9.81), planar: bool = False) -> None:
        self.planar = truth("Scene", "planar", planar)
        self.gravity: Vector3 = vector("Scene", "gravity", gravity, planar)  # [m/s²]
        self.descriptions: list[BodyDescription] = []
        self.joints: list[JointDescription] = []
        self.forces: list[Force] = []
        self.force_functions: list[tuple[int, ForceFunction]] = []
        self.overrides: dict[tuple[int, int], dict[str, Any]] = {}  # by indices of bodies, the smaller first
        self.apart: set[tuple[int, int]] = set()  # pairs that never touch, likewise
        self._number = next(_scenes)
        self._index: dict[str, int] = {}
        self._joint_index: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.descriptions)

    def __repr__(self) -> str:
        kinds = Counter(body.kind.name.lower() for body in self.descriptions)
        bodies = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
        joints = f", joints={len(self.joints)}" if self.joints else ""
        planar = ", planar=True" if self.planar else ""
        return f"Scene(bodies: {bodies}{joints}, gravity={self.gravity}{planar})"

    @property
    def bodies(self) -> tuple[Body, ...]:
        return tuple(Body(i, body.name, self._number) for i, body in enumerate(self.descriptions))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the bodies in the order of the model; the last is the world if a joint holds to it."""
        world = (WORLD,) if self.needs_world else ()
        return tuple(body.name for body in self.descriptions) + world

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Of the joints in the order of the model."""
        return tuple(joint.name for joint in self.joints)

    @property
    def needs_world(self) -> bool:
        return any(joint.b is None for joint in self.joints)

    def body(self, name: str) -> Body:
        """The body of that name."""
        return Body(self._find("Scene.body", "name", name), name, self._number)

    def description(self, body: Body | str) -> BodyDescription:
        return self.descriptions[self._find("Scene.description", "body", body)]

    # bodies

    def add_plane(self, normal: VectorLike = (0.0, 0.0, 1.0), offset: float = 0.0, **settings: Unpack[Moved]) -> Body:
        """The half space normal · x <= offset, static unless it is said to move: by default the ground z <= 0."""
        return self._add("plane", (Plane(normal, offset),), static=settings.get("moving", False) is False, **settings)

    def add_box(self, size: SizeLike, **settings: Unpack[Settings]) -> Body:
        """A box of three lengths, or one for a cube; other keywords as in `add_body`."""
        return self._add("box", (Box(size),), **settings)

    def add_sphere(self, radius: float, **settings: Unpack[Settings]) -> Body:
        """A ball, in a planar scene a disc; other keywords as in `add_body`."""
        return self._add("sphere", (Sphere(radius),), **settings)

    def add_capsule(self, radius: float, length: float, **settings: Unpack[Settings]) -> Body:
        """A capsule about local z, `length` without the caps; other keywords as in `add_body`."""
        return self._add("capsule", (Capsule(radius, length),), **settings)

    def add_cylinder(self, radius: float, length: float, **settings: Unpack[Settings]) -> Body:
        """A cylinder about local z; other keywords as in `add_body`."""
        return self._add("cylinder", (Cylinder(radius, length),), **settings)

    def add_mesh(
        self,
        mesh: MeshLike,
        *,
        parts: Sequence[MeshLike] | None = None,
        scale: float = 1.0,
        **settings: Unpack[Compound],
    ) -> Body:
        """A body that touches by the convex hull of a mesh, or by the hulls of the convex `parts` you give.

        mesh     a file that trimesh reads (STL, OBJ, PLY, ...), points (n, 3), (vertices, triangles), or a mesh of
                 trimesh; its frame is that of the body
        parts    convex parts that make up the mesh, each given like the mesh itself
        scale    by which all of it is multiplied: 1e-3 for a file in millimetres

        Mass and inertia are those of what the triangles enclose, if they are known and closed, and otherwise of the
        hulls at one density. Other keywords as in `add_body`.
        """
        size = positive("add_mesh", "scale", scale)
        vertices, triangles = read_mesh("add_mesh", "mesh", mesh)
        if parts is not None and (not isinstance(parts, tuple | list) or not parts):
            raise Refused("add_mesh", "parts", parts, "a list of convex parts")
        points = [vertices] if parts is None else [read_mesh("add_mesh", "parts", part)[0] for part in parts]
        hulls = tuple(Hull(size * each) for each in points)
        given: dict[str, Any] = dict(settings)
        if triangles is not None and is_closed(triangles) and given.get("inertia") is None:
            given |= enclosed(size * vertices, triangles, given)
        return self._add("mesh", hulls, **given)

    def add_particle(
        self,
        mass: float,
        position: VectorLike = ORIGIN,
        velocity: VectorLike = ORIGIN,
        *,
        name: str | None = None,
        **surface: Unpack[Surface],
    ) -> Body:
        """A point with a mass, which does not turn."""
        return self._add("particle", (Point(),), mass=mass, position=position, velocity=velocity, name=name, **surface)

    def add_body(self, shapes: Sequence[AnyShape] = (), **settings: Unpack[Compound]) -> Body:
        """A body of any number of shapes, `ss.shapes.Box(...)` and so on, each with its place in the body.

        mass, density      of a free body: one of the two
        inertia, centre    about and of the centre of mass, in body axes, where they are not those of the shapes at one
                           density; inertia is a number for all axes, three principal moments or a matrix
        position           of the frame in which the shapes are placed
        orientation        a quaternion (w, x, y, z), or (axis, angle)
        velocity, spin     of the centre of mass; for a moving body also functions of time
        static, moving     instead of free
        name               by which it is known, made of what it is and its number where none is given
        material           a Material, or its fields as keywords: friction=, restitution=, ...
        """
        if not isinstance(shapes, tuple | list) or not all(type(shape) in SHAPES.values() for shape in shapes):
            expected = "a list of Plane, Point, Sphere, Box, Capsule, Cylinder or Hull of stickslip.shapes"
            raise Refused("add_body", "shapes", shapes, expected)
        return self._add("body", tuple(shapes), **settings)

    def place(
        self,
        body: Body | str,
        *,
        position: VectorLike = None,
        orientation: OrientationLike = None,
        velocity: VectorLike = None,
        spin: TurnLike = None,
    ) -> None:
        """Put a body elsewhere, or give it another velocity, before the scene runs."""
        index = self._find("place", "body", body)
        old = self.descriptions[index]
        owner = f"body {old.name!r}"
        said = {"position": position, "orientation": orientation, "velocity": velocity, "spin": spin}
        new = replace(old, **self._checked(owner, old.kind, {k: v for k, v in said.items() if v is not None}))
        check_spin(owner, new)
        self.descriptions[index] = new

    # what acts on them

    def apply(
        self,
        body: BodyLike,
        force: VectorLike = ORIGIN,
        torque: TurnLike = ORIGIN,
        *,
        point: VectorLike | None = None,
    ) -> None:
        """Apply a force and a torque to a free body, added to those applied before.

        Both are constant in world axes. The force acts at the centre of mass, or at `point`, which moves with the body
        and is given in its frame. Instead of a vector, `force` may be a function (time, state) -> (force, torque);
        state.position(body), .quaternion(body), .velocity(body) and .spin(body) tell it where bodies are.
        """
        index = self._find("apply", "body", body)
        described = self.descriptions[index]
        owner = f"apply to {described.name!r}"
        if described.kind is not Kind.FREE:
            raise Refused(owner, "body", f"{described.kind.name.lower()} body", "a free one")
        if callable(force) and not isinstance(force, type):
            if torque is not ORIGIN or point is not None:
                raise Refused(owner, "force", force, "no torque and no point beside a function, which returns both")
            self.force_functions.append((index, force))
            return
        said = Force(
            index,
            vector(owner, "force", force, self.planar),
            ORIGIN if torque is ORIGIN else turning(owner, "torque", torque, self.planar),
            None if point is None else vector(owner, "point", point, self.planar),
        )
        if is_particle(described) and said.torque != ORIGIN:
            raise Refused(owner, "torque", torque, "none, because a particle does not turn")
        if is_particle(described) and point is not None:
            raise Refused(owner, "point", point, "none, because a particle is one point")
        self.forces.append(said)

    def set_pair(self, a: BodyLike, b: BodyLike, *, collide: bool = True, **said: Unpack[Pair]) -> None:
        """Say what two bodies do together, instead of what their materials say (scene/materials.py).

        The keywords are the fields of a Material. What is not given stays as the materials have it, but friction
        without friction_kinetic is both. A second call for the same pair replaces the first. `collide=False` lets them
        pass through each other.
        """
        first, second = self._find("set_pair", "a", a), self._find("set_pair", "b", b)
        owner = f"set_pair({self.descriptions[first].name!r}, {self.descriptions[second].name!r})"
        if first == second:
            raise Refused(owner, "b", self.descriptions[second].name, "another body than a")
        checked = checked_surface(owner, said, FIELDS)
        friction, kinetic = checked.get("friction"), checked.get("friction_kinetic")
        if isinstance(friction, FrictionLaw) and kinetic is not None:
            raise Refused(owner, "friction_kinetic", kinetic, "None beside a FrictionLaw")
        if friction is not None and kinetic is not None and kinetic > friction:
            raise Refused(owner, "friction_kinetic", kinetic, f"at most friction {friction}")
        pair = (min(first, second), max(first, second))
        self.overrides.pop(pair, None)
        if checked:  # else the two keep their materials
            self.overrides[pair] = checked
        if truth(owner, "collide", collide):
            self.apart.discard(pair)
        else:
            self.apart.add(pair)

    # joints

    def add_fixed(
        self, a: BodyLike, b: BodyLike | None = None, *, position: VectorLike, **settings: Unpack[Held]
    ) -> JointHandle:
        """Hold two bodies together as they are; b = None is the world. `position` is a point of the joint, world;
        keywords as in `add_hinge`."""
        return self._join(Joint.FIXED, a, b, position, None, **settings)

    def add_ball(
        self, a: BodyLike, b: BodyLike | None = None, *, position: VectorLike, **settings: Unpack[Held]
    ) -> JointHandle:
        """Hold one point of two bodies together; b = None is the world. Keywords as in `add_hinge`."""
        return self._join(Joint.BALL, a, b, position, None, **settings)

    def add_hinge(
        self,
        a: BodyLike,
        b: BodyLike | None = None,
        *,
        position: VectorLike,
        axis: VectorLike = None,
        **settings: Unpack[Driven],
    ) -> JointHandle:
        """Let a turn against b (None is the world) about an axis through `position`, both in world axes.

        limits             (least, greatest) angle of a seen from b, which is 0 when the scene begins   [rad]
        speed, strength    of a motor: the speed it wants and the most torque it has, inf for no bound   [rad/s, N m]
        stiffness, gain    make the motor a servo: the torque -stiffness (angle - target) - gain (rate - speed), as far
                           as its strength goes, by the shorter way where there are no limits   [N m/rad, N m s/rad]
        target             angle that a servo wants, 0 where None   [rad]
        effort             torque on a about the axis, and its opposite on b, with or without a motor   [N m]
        compliance         of the joint in every direction that it holds, with its damping, or six numbers: along the
                           joint's axes x, y, z and about them, z the axis; of a joint without one the world's, as
                           the scene begins   [m/N and rad/(N m), N s/m and N m s]
        collide            whether the two bodies may touch, False where it is not said
        name               of the joint, "joint 0" and so on by its index where None
        """
        axis = (0.0, 1.0, 0.0) if axis is None and self.planar else axis
        return self._join(Joint.HINGE, a, b, position, axis, **settings)

    def add_slider(
        self,
        a: BodyLike,
        b: BodyLike | None = None,
        *,
        position: VectorLike,
        axis: VectorLike,
        **settings: Unpack[Driven],
    ) -> JointHandle:
        """Let a slide against b (None is the world) along an axis; keywords as in `add_hinge`, in m, m/s and N."""
        return self._join(Joint.SLIDER, a, b, position, axis, **settings)

    # how the above is done

    def _add(
        self,
        what: str,
        shapes: tuple[AnyShape, ...],
        *,
        static: bool = False,
        moving: bool = False,
        name: str | None = None,
        **given: Any,
    ) -> Body:
        index = len(self.descriptions)
        name = free_name(what, name, f"{what}_{index}", "body", self._index, WORLD)
        owner = f"{what} {name!r}"
        if truth(owner, "static", static) and truth(owner, "moving", moving):
            raise Refused(owner, "moving", moving, "False beside static")
        kind = Kind.STATIC if static else Kind.MOVING if truth(owner, "moving", moving) else Kind.FREE
        check_shapes(shapes, self.planar)
        own = {field: value for field, value in given.items() if field in BODY_FIELDS}
        surface = {field: value for field, value in given.items() if field not in BODY_FIELDS}
        material = material_of(owner, **surface)
        body = BodyDescription(name, kind, shapes, **self._checked(owner, kind, own), material=material)
        check_mass(owner, body, self.planar)
        check_spin(owner, body)
        self.descriptions.append(body)
        self._index[name] = index
        return Body(index, name, self._number)

    def _checked(self, owner: str, kind: Kind, given: dict[str, Any]) -> dict[str, Any]:
        """Fields of a body, made canonical; those that may be None and are, are left out."""
        said = {name: value for name, value in given.items() if value is not None or BODY_FIELDS[name] is not None}
        return {name: self._field(owner, name, value, kind) for name, value in said.items()}

    def _field(self, owner: str, field: str, value: Any, kind: Kind) -> Any:
        match field:
            case "mass":
                return positive(owner, field, value, "a positive mass in kg")
            case "density":
                return positive(owner, field, value)
            case "inertia":
                return inertia_matrix(owner, value, self.planar)
            case "position" | "centre":
                return vector(owner, field, value, self.planar)
            case "orientation":
                return orientation(owner, value, self.planar)
            case _:
                return self._motion(owner, field, value, kind)

    def _find(self, owner: str, field: str, body: Body | str) -> int:
        if isinstance(body, Body):
            if body.scene != self._number:
                raise Refused(owner, field, body, "a body of this scene, and this is one of another")
            return body.index
        if isinstance(body, str) and body in self._index:
            return self._index[body]
        raise Refused(owner, field, body, "a body of this scene, or its name")

    def _motion(self, owner: str, field: str, value: Any, kind: Kind) -> Motion:
        """A velocity or a spin; what moves as prescribed may have a function of time."""
        if callable(value) and not isinstance(value, type):
            if kind is not Kind.MOVING:
                raise Refused(owner, field, value, "numbers, because only a moving body has a function of time")
            return value
        found = (vector if field == "velocity" else turning)(owner, field, value, self.planar)
        if kind is Kind.STATIC and found != ORIGIN:
            raise Refused(owner, field, value, "none for a static body: say moving instead of static")
        return found

    def _join(
        self,
        kind: Joint,
        a: Body | str,
        b: Body | str | None,
        position: Any,
        axis: Any,
        name: str | None = None,
        **given: Any,
    ) -> JointHandle:
        what = kind.name.lower()
        first = self._find(what, "a", a)
        second = None if b is None else self._find(what, "b", b)
        owner = f"{what} of {self.descriptions[first].name!r}"
        self._check_ends(owner, kind, first, second)
        place = vector(owner, "position", position, self.planar)
        along, index = self._axis(owner, kind, axis), len(self.joints)
        settings = {field: joint_field(owner, kind, field, value) for field, value in given.items()}
        name = free_name(what, name, f"joint {index}", "joint", self._joint_index)
        described = JointDescription(kind, first, second, place, along, name, **settings)
        check_motor(owner, described)
        soft, damped = (np.broadcast_to(getattr(described, field), 6) for field in ("compliance", "damping"))
        if (damped[soft == 0] != 0).any():
            expected = "0 where compliance is 0, because a rigid joint has none"
            raise Refused(owner, "damping", given["damping"], expected)
        self._joint_index[name] = index
        self.joints.append(described)
        return JointHandle(index, kind)

    def _check_ends(self, owner: str, kind: Joint, first: int, second: int | None) -> None:
        if first == second:
            raise Refused(owner, "b", self.descriptions[first].name, "another body than a")
        ends = [self.descriptions[end] for end in (first, second) if end is not None]
        if all(end.kind is not Kind.FREE for end in ends):
            raise Refused(owner, "a", ends[0].name, "a free body, as at least one of the two must be")
        for field, end in zip("ab", ends, strict=False):
            if is_particle(end) and kind is not Joint.BALL:
                raise Refused(owner, field, end.name, "a body that turns: a particle only fits a ball joint")

    def _axis(self, owner: str, kind: Joint, axis: Any) -> Vector3:
        """The unit axis, world; z where the joint has none."""
        if kind in (Joint.FIXED, Joint.BALL):
            return 0.0, 0.0, 1.0
        if axis is None:
            raise Refused(owner, "axis", axis, "a direction, a vector that is not zero")
        if not self.planar or kind is Joint.SLIDER:
            return direction(owner, "axis", axis, self.planar)
        found = direction(owner, "axis", axis)
        if found[0] or found[2]:
            raise Refused(owner, "axis", axis, "the y axis (0, 1, 0) or none in a planar scene")
        return found


def enclosed(vertices: Any, triangles: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Mass, centre and inertia of a free body from its triangles and the mass or density that is given."""
    mass, density = given.get("mass"), given.get("density")
    if (mass is None) == (density is None) or given.get("static") or given.get("moving"):
        return {}  # nothing is needed, or `check_mass` says what is wrong
    body = solid(vertices, triangles)
    if body.volume < 0:  # all triangles are clockwise
        body = solid(vertices, triangles[:, ::-1])
    if mass is None:
        mass = positive("add_mesh", "density", density) * body.volume
    inertia = positive("add_mesh", "mass", mass, "a positive mass in kg") / body.volume * body.inertia
    return {"mass": mass, "density": None, "centre": body.centroid, "inertia": inertia}


def free_name(
    what: str, name: str | None, made: str, holder: str, taken: dict[str, int], reserved: str | None = None
) -> str:
    """The name given, if it is free; where None the one made, if need be with a line behind it."""
    if name is None:
        while made in taken:
            made += "_"
        return made
    if not isinstance(name, str) or not name or not name.isprintable() or name == reserved:
        but = f" and not {reserved!r}" if reserved else ""
        raise Refused(what, "name", name, f"a printable text that is not empty{but}")
    if name in taken:
        raise Refused(what, "name", name, f"a name that is not taken, and {holder} {taken[name]} has it")
    return name


def material_of(owner: str, material: Material | None = None, **said: float | None) -> Material:
    """The material, with the fields that are given beside it."""
    if material is not None and not isinstance(material, Material):
        raise Refused(owner, "material", material, "a Material")
    given = checked_surface(owner, said, {"material": Material, **Compound.__annotations__})
    return replace(material or RIGID, **given) if given else material or RIGID


def checked_surface(owner: str, said: Any, keywords: Iterable[str]) -> dict[str, Any]:
    """The fields of a Material that are not None; `keywords` are those that might have been meant by another."""
    for field, value in said.items():
        if field not in FIELDS:
            raise Refused(owner, field, value, f"one of the keywords {', '.join(keywords)}")
    return {field: coefficient(owner, field, value) for field, value in said.items() if value is not None}


def check_shapes(shapes: tuple[AnyShape, ...], planar: bool) -> None:
    """In a planar scene every shape lies in the plane y = 0, in another one a box has a depth."""
    for shape in shapes:
        what = type(shape).__name__
        if not planar:
            if isinstance(shape, Box) and shape.size[1] == 0:
                x, _, z = shape.size
                raise Refused(what, "size", (x, z), "one positive length or three, because this scene is not planar")
        elif isinstance(shape, Hull):
            said = f"{len(shape.corners)} points"
            raise Refused(what, "corners", said, "another shape, because this scene is planar")
        elif isinstance(shape, Plane):
            vector(what, "normal", shape.normal, planar=True)
        else:
            vector(what, "position", shape.position, planar=True)
            orientation(what, shape.orientation, planar=True)


def check_mass(owner: str, body: BodyDescription, planar: bool) -> None:
    """A free body has one mass, and an inertia if it turns."""
    if body.mass is not None and body.density is not None:
        raise Refused(owner, "density", body.density, f"no density beside mass {body.mass}")
    if body.centre is not None and body.inertia is None:
        raise Refused(owner, "centre", body.centre, "an inertia beside it, about that centre")
    if body.kind is not Kind.FREE:
        return
    if any(isinstance(shape, Plane) for shape in body.shapes):
        raise Refused(owner, "shapes", "a free body with a Plane", "static or moving, because a half space has no mass")
    total = extent(body.shapes, planar)
    if body.mass is None and body.density is None:
        raise Refused(owner, "mass", None, "a mass or a density, because this body is free")
    if body.density is not None and not 0 < body.density * total < math.inf:
        raise Refused(owner, "density", body.density, f"a mass instead, because the shapes have volume {total:g}")
    if body.inertia is None and not 0 < total < math.inf and not is_particle(body):
        raise Refused(owner, "inertia", None, f"an inertia, because the shapes have volume {total:g}")


def check_spin(owner: str, body: BodyDescription) -> None:
    if is_particle(body) and body.spin != ORIGIN:
        raise Refused(owner, "spin", body.spin, "none, because a particle does not turn")


def joint_field(owner: str, kind: Joint, field: str, value: Any) -> Any:
    """A setting of a joint, checked."""
    keywords = (Driven if kind >= Joint.HINGE else Held).__annotations__
    if field not in keywords:
        raise Refused(owner, field, value, f"one of the keywords {', '.join(keywords)}")
    if value is None and field in ("limits", "target"):
        return None
    if field == "limits":
        return joint_limits(owner, kind, value)
    if field in ("compliance", "damping") and isinstance(value, tuple | list):
        if len(value) != 6:
            raise Refused(owner, field, value, "one number >= 0, or six: along the joint's axes and about them")
        return tuple(not_negative(owner, field, each) for each in value)
    return JOINT_FIELDS.get(field, not_negative)(owner, field, value)


def joint_limits(owner: str, kind: Joint, limits: Any) -> tuple[float, float]:
    expected = "two numbers (least, greatest), least <= 0 <= greatest, because a joint is at 0 when the scene begins"
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        raise Refused(owner, "limits", limits, expected)
    lower, upper = (real(owner, "limits", limit, expected) for limit in limits)
    if not lower <= 0 <= upper:
        raise Refused(owner, "limits", limits, expected)
    turned = [limit for limit in (lower, upper) if math.isfinite(limit) and abs(limit) >= math.pi]
    if kind is Joint.HINGE and turned:
        raise Refused(owner, "limits", limits, "angles between -π and π, or infinite, in rad")
    return lower, upper


def check_motor(owner: str, joint: JointDescription) -> None:
    """A motor has a strength, a target is that of a servo."""
    for field in ("speed", "stiffness", "gain"):
        if getattr(joint, field) and not joint.strength:
            raise Refused(owner, "strength", joint.strength, f"a positive number beside a {field}, or inf")
    if joint.target is not None and not joint.stiffness:
        raise Refused(owner, "stiffness", joint.stiffness, "a positive number beside a target")
    if joint.target is not None and joint.limits and not joint.limits[0] <= joint.target <= joint.limits[1]:
        raise Refused(owner, "target", joint.target, f"a position within the limits {joint.limits}")
