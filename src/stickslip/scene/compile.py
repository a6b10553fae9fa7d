"""A scene compiled to the flat arrays that kernels read, and the Python functions that arrays cannot hold.

`compile_scene(scene)` gives Model and State (scene/model.py says what each field means) and the Drives: functions of
time and state that push a body, functions of time that move one, and the motors of joints. Most scenes have no
functions, and then the loop needs no Python. The scene stays as it is and may be changed and compiled again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.checks import Refused, checked, instance
from stickslip.scene.descriptions import (
    Body,
    BodyDescription,
    Force,
    ForceFunction,
    JointDescription,
    MassProperties,
    Motion,
    is_particle,
    mass_properties,
)
from stickslip.scene.friction_law import UNDECIDED, FrictionLaw, FrictionTable, SetTable, number
from stickslip.scene.materials import Material, PairTable, check_damper, column, combine
from stickslip.scene.model import Floats, Integers, Kind, Model, Motors, State
from stickslip.scene.scene import WORLD, Scene
from stickslip.scene.shapes import AnyShape, Hull, Plane, model_size
from stickslip.scene.values import frame_along, rotated, rotation_matrix, turning, vector


class StateView:
    """The bodies of a state as the scene describes them: what a force function sees."""

    def __init__(self, state: State, centre: Floats) -> None:
        self.state, self.centre = state, centre  # the arrays themselves, to be read; centre (nb, 3) is that of Model

    def index(self, body: Any) -> int:
        """The number of a body that is given by its handle."""
        return body.index

    def position(self, body: Any) -> Floats:
        """(3,) of the origin of the body, as the scene placed it   [m]"""
        i = self.index(body)
        return self.state.position[i] - rotated(self.state.quaternion[i], self.centre[i])

    def quaternion(self, body: Any) -> Floats:
        """(4,) scalar first, body axes to world axes"""
        return self.state.quaternion[self.index(body)].copy()

    def velocity(self, body: Any) -> Floats:
        """(3,) of the centre of mass, world axes   [m/s]"""
        return self.state.velocity[self.index(body), :3].copy()

    def spin(self, body: Any) -> Floats:
        """(3,) angular velocity, world axes   [rad/s]"""
        return self.state.velocity[self.index(body), 3:].copy()


@dataclass(frozen=True)
class Drives:
    """What drives a scene: its Python functions, in the order of its bodies, and the motors of its joints."""

    forces: tuple[tuple[Body, ForceFunction], ...] = ()  # (time, StateView) -> (force, torque)
    motions: tuple[tuple[Body, Motion, Motion], ...] = ()  # velocity and spin, at least one a function of time
    planar: bool = False
    motors: Motors | None = field(default=None, compare=False)  # those of the Model where None
    frictions: FrictionTable | None = field(default=None, compare=False)  # where friction is a function of the state
    surfaces: SetTable | None = field(default=None, compare=False)  # friction sets by two materials, where any has one

    def __bool__(self) -> bool:
        """Are there functions, which a step must call?"""
        return bool(self.forces or self.motions)

    def add_forces(self, time: float, state: State, model: Model, force: Floats, torque: Floats) -> None:
        """Add what the functions give at this time to force and torque, (nb, 3) each, at the centres of mass."""
        view = StateView(state, model.centre)
        for body, function in self.forces:
            owner = f"the force on {body.name!r} at time {time:g}"
            given = function(time, view)
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise Refused(owner, "the value returned", given, "a pair (force, torque)")
            force[body.index] += vector(owner, "force", given[0], self.planar)
            torque[body.index] += turning(owner, "torque", given[1], self.planar)

    def prescribe(self, time: float, state: State) -> None:
        """Write the velocities of the bodies that move by functions of time into the state."""
        for body, velocity, spin in self.motions:
            owner = f"moving body {body.name!r} at time {time:g}"
            linear = velocity(time) if callable(velocity) else velocity
            angular = spin(time) if callable(spin) else spin
            state.velocity[body.index, :3] = vector(owner, "velocity", linear, self.planar)
            state.velocity[body.index, 3:] = turning(owner, "spin", angular, self.planar)


@checked(scene=instance(Scene))
def compile_scene(scene: Scene) -> tuple[Model, State, Drives]:
    """The arrays and functions of a scene as it is now."""
    bodies = [*scene.descriptions, *([WORLD_BODY] if scene.needs_world else [])]
    masses = [mass_properties(body, scene.planar) if body.kind is Kind.FREE else IMMOVABLE for body in bodies]
    rotation = stack((rotation_matrix(body.orientation) for body in bodies), 9).reshape(-1, 3, 3)
    centre = stack((properties.centre for properties in masses), 3)
    position = stack((body.position for body in bodies), 3) + (rotation @ centre[:, :, None])[:, :, 0]

    force, torque = applied(scene, len(bodies))
    material, kinds, table = surfaces(scene, bodies)
    model = Model(
        gravity=np.array(scene.gravity),
        planar=scene.planar,
        **body_arrays(scene, bodies, masses),
        centre=centre,
        force=force,
        torque=torque,
        **shape_arrays(scene, bodies, centre, material),
        **table._asdict(),
        apart=apart(scene, len(bodies)),
        **(joint_arrays(scene.joints, position, rotation) if scene.joints else NO_JOINTS),
    )
    drives = drives_of(scene, friction_table(scene, material, kinds), set_table(scene, material, kinds))
    constant = [(*still_if_function(body.velocity), *still_if_function(body.spin)) for body in bodies]
    quaternion = stack((body.orientation for body in bodies), 4)
    state = State(position, quaternion, stack(constant, 6))
    drives.prescribe(0.0, state)
    return model, state, drives


def still_if_function(motion: Motion) -> tuple[float, ...]:
    return (0.0, 0.0, 0.0) if callable(motion) else motion


def stack(rows: Iterable[Any], width: int) -> Floats:
    """Rows of numbers as an array, also where there are none."""
    return np.array(list(rows), np.float64).reshape(-1, width)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def body_arrays(scene: Scene, bodies: list[BodyDescription], masses: list[MassProperties]) -> dict[str, Any]:
    count = len(bodies)
    mass = np.array([properties.mass for properties in masses], np.float64)
    inertia = np.array([properties.inertia for properties in masses], np.float64).reshape(count, 3, 3)
    inverse_mass, inverse_inertia = np.empty((count, 3)), np.zeros((count, 3, 3))
    inverse_mass[:] = 1.0 / mass[:, None]
    finite = np.isfinite(inverse_mass[:, 0]) & (mass > 0)
    free = [i for i, body in enumerate(bodies) if body.kind is Kind.FREE]
    turning = [i for i in free if not is_particle(bodies[i])]
    if scene.planar:
        inverse_mass[:, 1] = 0.0
        inverse_inertia[turning, 1, 1] = 1.0 / inertia[turning, 1, 1]
    elif turning:
        inverse_inertia[turning] = inverse_symmetric(inertia[turning])
    finite &= np.isfinite(inverse_inertia).all(axis=(1, 2))
    for i in free:
        if not finite[i]:
            owner = f"body {bodies[i].name!r}"
            raise Refused(owner, "mass", float(mass[i]), "a mass and an inertia that have an inverse")
    return {
        "kind": np.array([body.kind for body in bodies], np.int64),
        "mass": mass,
        "inverse_mass": inverse_mass,
        "inertia": inertia,
        "inverse_inertia": inverse_inertia,
    }


def inverse_symmetric(matrices: Floats) -> Floats:
    """Their inverses, symmetric to the last bit; nan where there is none."""
    try:
        inverse = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(matrices, np.nan)
        return np.concatenate([inverse_symmetric(matrix[None]) for matrix in matrices])
    return (inverse + inverse.transpose(0, 2, 1)) / 2


def applied(scene: Scene, count: int) -> tuple[Floats, Floats]:
    """The constant forces and torques at the centres of mass."""
    force, torque = np.zeros((count, 3)), np.zeros((count, 3))
    for each in scene.forces:
        if each.point is None:
            force[each.body] += each.force
        torque[each.body] += each.torque
    return force, torque


def drives_of(scene: Scene, frictions: FrictionTable | None, sets: SetTable | None) -> Drives:
    moving = [i for i, body in enumerate(scene.descriptions) if callable(body.velocity) or callable(body.spin)]
    handles = scene.bodies if moving or scene.forces or scene.force_functions else ()
    forces = [
        (handles[each.body], at_point(handles[each.body], each)) for each in scene.forces if each.point is not None
    ]
    forces += [(handles[body], function) for body, function in scene.force_functions]
    motions = [(handles[i], scene.descriptions[i].velocity, scene.descriptions[i].spin) for i in moving]
    ordered = tuple(sorted(forces, key=lambda drive: drive[0].index))
    return Drives(ordered, tuple(motions), scene.planar, motors(scene), frictions, sets)


def motors(scene: Scene) -> Motors:
    """What the joints are driven by, as the scene begins; a target that is not given is 0."""
    rows = ([getattr(joint, name) or 0.0 for joint in scene.joints] for name in Motors._fields)
    return Motors(*np.array([*rows], np.float64))


def at_point(body: Body, applied: Force) -> ForceFunction:
    """A constant force at a point that moves with the body: its arm, and so its torque, turns with it."""
    force, point = np.array(applied.force), np.array(applied.point)

    def force_and_torque(time: float, view: StateView) -> tuple[Floats, Floats]:
        arm = rotated(view.state.quaternion[body.index], point - view.centre[body.index])
        return force, np.cross(arm, force)

    return force_and_torque


def surfaces(scene: Scene, bodies: list[BodyDescription]) -> tuple[list[int], list[Material], PairTable]:
    """The material of each body, numbered, these materials, and what each two of them do.

    Bodies share a number if they have the same material and the same overrides with the same partners; so a pair of
    numbers never stands for one pair of bodies with an override and another without.
    """
    partners: dict[int, list[Any]] = {}
    for (a, b), override in sorted(scene.overrides.items()):
        said = tuple(sorted(override.items()))
        partners.setdefault(a, []).append((b, said))
        partners.setdefault(b, []).append((a, said))
    numbers: dict[tuple[Material, tuple[Any, ...]], int] = {}
    material = [
        numbers.setdefault((body.material, tuple(partners.get(i, ()))), len(numbers)) for i, body in enumerate(bodies)
    ]
    kinds = [each for each, _ in numbers]
    table = combine(kinds)
    for (a, b), override in scene.overrides.items():
        override_pair(scene, table, (material[a], material[b]), (a, b), override)
    return material, kinds, table


def said_of_pairs(scene: Scene, material: list[int], name: str) -> dict[tuple[int, int], Any]:
    """What pairs of bodies say of themselves, by their two materials in either order."""
    told = {pair: said[name] for pair, said in scene.overrides.items() if name in said}
    return {(material[i], material[j]): value for (a, b), value in told.items() for i, j in ((a, b), (b, a))}


def friction_table(scene: Scene, material: list[int], kinds: list[Material]) -> FrictionTable | None:
    """Who says what of friction, where something is a function of the state."""
    pairs = said_of_pairs(scene, material, "friction")
    opinion = tuple(kind.friction for kind in kinds)
    laws = [*opinion, *pairs.values()]
    return FrictionTable(opinion, pairs) if any(isinstance(each, FrictionLaw) for each in laws) else None


def set_table(scene: Scene, material: list[int], kinds: list[Material]) -> SetTable | None:
    """The friction set of each two materials, None where neither has one; None where no material and no pair has."""
    said = said_of_pairs(scene, material, "surface")
    if not said and all(kind.surface is None for kind in kinds):
        return None
    return {
        (a, b): said.get((a, b), common_set(kinds[a], kinds[b])) for a in range(len(kinds)) for b in range(len(kinds))
    }


def common_set(a: Material, b: Material) -> Any:
    """The friction set of two materials; what they do not agree on is for the pair to say (`UNDECIDED`)."""
    if a.surface is None or b.surface is None or a.surface == b.surface:
        return b.surface if a.surface is None else a.surface
    return UNDECIDED


def override_pair(
    scene: Scene, table: PairTable, cell: tuple[int, int], pair: tuple[int, int], override: dict[str, Any]
) -> None:
    if "friction" in override:
        override = {"friction_kinetic": override["friction"]} | override
    for name, value in override.items():
        if name != "surface":
            values = getattr(table, "friction_static" if name == "friction" else name)
            values[cell] = values[cell[::-1]] = number(value) if name.startswith("friction") else value
    a, b = (scene.descriptions[index].name for index in pair)
    check_damper(f"set_pair({a!r}, {b!r})", float(table.stiffness_tangent[cell]), float(table.damping_tangent[cell]))
    static, kinetic = float(table.friction_static[cell]), float(table.friction_kinetic[cell])
    if kinetic > static:
        raise Refused(f"set_pair({a!r}, {b!r})", "friction_kinetic", kinetic, f"at most the static friction {static:g}")


def shape_arrays(scene: Scene, bodies: list[BodyDescription], centre: Floats, material: list[int]) -> dict[str, Any]:
    shapes = [shape for body in bodies for shape in body.shapes]
    owner = integers(i for i, body in enumerate(bodies) for _ in body.shapes)
    position: list[Any] = []
    rotation, bound = [], []
    for shape in shapes:
        if isinstance(shape, Plane):
            position.append(shape.offset * np.array(shape.normal))
            rotation.append(frame_along(shape.normal))
            bound.append(math.inf)
        else:
            rotation.append(rotation_matrix(shape.orientation))
            place = shape.position
            position.append(place + rotation[-1] @ shape.middle if isinstance(shape, Hull) else place)
            bound.append(shape.bound)
    return {
        "shape": integers(shape.kind for shape in shapes),
        "shape_body": owner,
        "shape_size": stack((model_size(shape, scene.planar) for shape in shapes), 3),
        "shape_position": stack(position, 3) - centre[owner],
        "shape_rotation": stack(rotation, 9).reshape(-1, 3, 3),
        "shape_bound": np.array(bound, np.float64),
        "shape_material": np.array(material, np.int64)[owner],
        **hull_arrays(shapes),
    }


def hull_arrays(shapes: list[AnyShape]) -> dict[str, Any]:
    """The hulls among the shapes, seen from the centres of the boxes about them."""
    ranges = np.zeros((len(shapes), 4), np.int64)
    corners: list[Floats] = []
    faces: list[Any] = []
    rims: list[Any] = []
    for row, shape in zip(ranges, shapes, strict=True):
        if isinstance(shape, Hull):
            row[0], row[2] = len(corners), len(faces)
            seen = shape.hull.corners - shape.middle
            for face in shape.hull.faces:
                faces.append((*face.normal, face.height - face.normal @ shape.middle, len(rims), face.corners.size))
                rims += [(*seen[corner], corner) for corner in face.corners]
            corners += list(seen)
            row[1], row[3] = len(corners), len(faces)
    return {
        "hull_range": ranges,
        "hull_corner": stack(corners, 3),
        "hull_face": stack(faces, 6),
        "hull_rim": stack(rims, 4),
    }


def integers(values: Iterable[int]) -> Integers:
    return np.array([int(value) for value in values], np.int64)


def apart(scene: Scene, count: int) -> Integers:
    """Pairs that never touch: those said, and those a joint holds unless it lets them collide."""
    held = (sorted((joint.a, joint.b)) for joint in scene.joints if joint.b is not None and not joint.collide)
    numbers = {a * count + b for a, b in (*scene.apart, *held)}
    return np.array(sorted(numbers), np.int64)


def joint_arrays(joints: Sequence[JointDescription], position: Floats, rotation: Floats) -> dict[str, Any]:
    """The joints, seen from their two bodies as these are when the scene begins; the world is the last body."""
    world = len(rotation) - 1
    a, b = integers(j.a for j in joints), integers(world if j.b is None else j.b for j in joints)
    place = stack((joint.position for joint in joints), 3)
    frame = stack((frame_along(joint.axis) for joint in joints), 9).reshape(-1, 3, 3)
    to_a, to_b = rotation[a].transpose(0, 2, 1), rotation[b].transpose(0, 2, 1)
    limits = stack((joint.limits or (-math.inf, math.inf) for joint in joints), 2)
    return {
        "joint": integers(joint.kind for joint in joints),
        "joint_a": a,
        "joint_b": b,
        "joint_anchor_a": (to_a @ (place - position[a])[:, :, None])[:, :, 0].copy(),
        "joint_anchor_b": (to_b @ (place - position[b])[:, :, None])[:, :, 0].copy(),
        "joint_frame_a": to_a @ frame,
        "joint_frame_b": to_b @ frame,
        "joint_lower": limits[:, 0].copy(),
        "joint_upper": limits[:, 1].copy(),
        "joint_target": column(joints, "speed"),
        "joint_strength": column(joints, "strength"),
        **{f"joint_{name}": directions(joints, name) for name in ("compliance", "damping")},
    }


def directions(joints: Sequence[JointDescription], name: str) -> Floats:
    """A field of the joints that is one number for all directions, or six."""
    rows = (getattr(joint, name) for joint in joints)
    return stack((row if isinstance(row, tuple) else 6 * (row,) for row in rows), 6)


IMMOVABLE = MassProperties(math.inf, np.zeros(3), np.zeros((3, 3)))
WORLD_BODY = BodyDescription(WORLD, Kind.STATIC)
NO_JOINTS = joint_arrays((), np.zeros((0, 3)), np.zeros((0, 3, 3)))
