"""The lab's own world as a mechanism of the tab Jam: a contact point of its bodies, poses by one or two coordinates.

The point is fixed to both bodies where they touch, its normal and tangents are fixed in space, and nothing else
touches: the map is that of this contact alone, as in `robot_family`. What may vary in a pose:

    turn x, y, z     about the contact, of a body and all that joints fasten to it, if nothing fastens them to what is
                     fixed; counted from the pose in which the contact was chosen   [rad]
    a joint          a hinge or slider: what hangs behind it moves; of a robot its own coordinate, of a scene counted
                     from that pose   [rad, m]

Of a scene only the bodies take part that joints hold together with those of the contact; all of a robot does.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from stickslip.analysis.jamming import Family
from stickslip.dynamics.generalized import Constraint, ContactPoint, GeneralizedSystem
from stickslip.dynamics.mujoco import LoadedModel
from stickslip.engine.snapshot import snapshot
from stickslip.engine.step_problem import free_rows
from stickslip.engine.trajectory import ContactTable
from stickslip.errors import InputError
from stickslip.lab.jam import FLOOR, Mechanism, Place
from stickslip.lab.robots import joint_ranges
from stickslip.lab.tracks import Moment, scene_at
from stickslip.problems.matrix import Dense, Vector
from stickslip.scene.model import Floats, Integers, Joint, Kind, Model, State
from stickslip.scene.scene import Scene
from stickslip.scene.values import rotated
from stickslip.view.model_solids import rod_ends
from stickslip.view.solids import product

AXES = {"turn x": 0, "turn y": 1, "turn z": 2}
TURN = np.pi / 2  # how far a map turns a body each way   [rad]
RESOLUTION = 32  # values of a parameter of a map
JOINTED = 16  # values of a parameter of the map of a scene with joints, whose rows are those of the engine
SLIDE = 0.5  # how far a map moves a slider of a scene each way   [m]
INVERSE = np.array([1.0, -1.0, -1.0, -1.0])  # times a quaternion: the turn back


class Touch(NamedTuple):
    """A contact in space, and what it is between: bodies of a scene, or of a robot."""

    name: str
    a: int
    b: int  # the normal points from b to a
    point: Floats  # (3,)   [m]
    frame: Floats  # (3, 3)   n, t, o as rows

    def gap(self, sides: Floats) -> float:
        """From the point (2, 3) as it is fixed to a, and as it is to b."""
        return float(self.frame[0] @ (sides[0] - sides[1]))


class Coordinate(NamedTuple):
    """Something of a pose that may vary."""

    name: str
    unit: str
    bounds: tuple[float, float]
    moved: Callable[[Any, Any], Any]  # a moment of the world moved by a value, of a turn by value × axis
    read: Callable[[Any], float]  # its value in a moment
    axis: Floats | None = None  # of a turn


@dataclass(frozen=True, eq=False)
class Anchor:
    """A contact of the world, and what of its pose may vary. A moment is a State, or a Moment of a robot."""

    touch: Touch
    base: Any  # the moment in which it was chosen
    system: GeneralizedSystem
    q: Callable[[Any], Vector]  # of a moment
    place: Callable[[Vector], Place]  # of q
    coordinates: tuple[Coordinate, ...]
    resolution: int | None = None  # of maps

    def chosen(self, names: Sequence[str]) -> list[Coordinate]:
        known = {each.name: each for each in self.coordinates}
        return [known[name] for name in dict.fromkeys(names) if name in known]

    def moment(self, names: Sequence[str], values: Sequence[float]) -> Any:
        """The base with some coordinates at other values; turns about several axes are one turn."""
        moment, own = self.base, list(zip(self.chosen(names), values, strict=True))
        turns = [(each.moved, value * each.axis) for each, value in own if each.axis is not None]
        if turns:
            moment = turns[0][0](moment, np.sum([vector for _, vector in turns], axis=0))
        for each, value in own:
            if each.axis is None:
                moment = each.moved(moment, value)
        return moment

    def read(self, names: Sequence[str], moment: Any) -> Vector:
        return np.array([coordinate.read(moment) for coordinate in self.chosen(names)])

    def mechanism(self, names: Sequence[str]) -> Mechanism:
        """By one or two of the coordinates."""
        own = self.chosen(names)
        if not 1 <= len(own) <= 2:
            known = ", ".join(each.name for each in self.coordinates) or "none, for nothing here can be turned"
            raise InputError(f"lab: the coordinates are {', '.join(names)!r}, expected one or two of {known}")
        family = Family(
            self.system,
            lambda *values: self.q(self.moment([each.name for each in own], values)),
            {each.name: each.bounds for each in own},
            tuple(each.unit for each in own),
            self.touch.name,
        )
        return Mechanism(self.touch.name, family, self.place, resolution=self.resolution)


def touch_of(world: Any, table: ContactTable, row: int) -> Touch:
    """A contact of a step, between two bodies of a scene or two geoms of a robot."""
    a, b = int(table.body_a[row]), int(table.body_b[row])
    if isinstance(world, LoadedModel):
        a, b = world.model.geom_bodyid[[a, b]].tolist()
    normal, tangent = table.normal[row], table.tangent[row]
    return Touch(table.name(row), a, b, table.point[row], np.array([normal, tangent, np.cross(normal, tangent)]))


def turned(quaternion: Floats, by: Rotation) -> Floats:
    """Quaternions (..., 4) turned in space."""
    return product(np.roll(by.as_quat(), 1), quaternion)


def angle_about(now: Floats, base: Floats, axis: Floats) -> float:
    """How far a body has turned about an axis in space, from one quaternion to the other."""
    relative = product(now, INVERSE * base)
    return float(Rotation.from_quat(np.roll(relative, -1)).as_rotvec() @ axis)


def turn_coordinates(
    names: Sequence[str], moved: Callable[[Any, Any], Any], turn: Callable[[Any], Floats], base: Any
) -> list[Coordinate]:
    """Turns about axes in space; `turn` is the quaternion of what is turned, in a moment."""

    def coordinate(name: str) -> Coordinate:
        axis, before = np.eye(3)[AXES[name]], turn(base)
        return Coordinate(
            name, "rad", (-TURN, TURN), moved, lambda moment: angle_about(turn(moment), before, axis), axis
        )

    return [coordinate(name) for name in names]


# of a scene


def scene_anchor(scene: Scene, model: Model, base: State, touch: Touch) -> Anchor:
    parts = [group_of(model, body) for body in (touch.a, touch.b) if model.kind[body] == Kind.FREE]
    if not parts:
        raise InputError("lab: neither body of this contact is free, expected one that moves")
    group = np.unique(np.concatenate(parts))
    still = base._replace(velocity=np.zeros_like(base.velocity))
    body = touch.a if model.kind[touch.a] == Kind.FREE else touch.b
    jointed = bool(np.isin(model.joint_a, group).any() or np.isin(model.joint_b, group).any())
    bodies = GroupOfBodies(scene, model, still, touch, group, jointed)
    return Anchor(
        touch, still, bodies.system(), bodies.q, bodies.place,
        (*turns(model, still, touch, body), *scene_joints(model, still, body, group, scene.joint_names)),
        JOINTED if jointed else RESOLUTION,
    )  # fmt: skip


def fixed_to(base: State, body: Any, point: Floats) -> Floats:
    """A point in the axes of a body, or of several."""
    return rotated(INVERSE * base.quaternion[body], point - base.position[body])


def group_of(model: Model, body: int, without: int = -1) -> Integers:
    """The free bodies that joints fasten to a body, itself too; one joint may be left out."""
    found, waiting = {body}, [body]
    while waiting:
        one = waiting.pop()
        for j in np.flatnonzero((model.joint_a == one) | (model.joint_b == one)):
            other = int(model.joint_a[j] + model.joint_b[j] - one)
            if j != without and other not in found and model.kind[other] == Kind.FREE:
                found.add(other)
                waiting.append(other)
    return np.array(sorted(found))


def grounded(model: Model, group: Integers, without: int = -1) -> bool:
    """Do joints fasten some of these bodies to what is not free?"""
    pairs = zip(model.joint_a, model.joint_b, strict=True)
    return any(
        j != without and (a in group) != (b in group) and model.kind[b if a in group else a] != Kind.FREE
        for j, (a, b) in enumerate(pairs)
    )


def turns(model: Model, base: State, touch: Touch, body: int) -> list[Coordinate]:
    """About the contact, of a body and what is fastened to it."""
    group = group_of(model, body)
    if grounded(model, group):
        return []

    def moved(state: State, turn: Floats) -> State:
        by, new = Rotation.from_rotvec(turn), state.copy()
        new.position[group] = touch.point + by.apply(state.position[group] - touch.point)
        new.quaternion[group] = turned(state.quaternion[group], by)
        return new

    names = ["turn y"] if model.planar else list(AXES)
    return turn_coordinates(names, moved, lambda state: state.quaternion[body], base)


def scene_joints(model: Model, base: State, body: int, group: Integers, names: tuple[str, ...]) -> list[Coordinate]:
    """Hinges and sliders of a group; none of those that are part of a loop."""
    found = []
    for j in np.flatnonzero(np.isin(model.joint, (Joint.HINGE, Joint.SLIDER))):
        a, b = int(model.joint_a[j]), int(model.joint_b[j])
        if a not in group and b not in group:
            continue
        sides = [
            (side, sign)
            for end, other, sign in ((a, b, 1.0), (b, a, -1.0))
            if model.kind[end] == Kind.FREE
            and other not in (side := group_of(model, end, int(j)))
            and not grounded(model, side, int(j))
        ]
        if sides:
            side, sign = min(sides, key=lambda each: body in each[0])  # the contact stays where that is possible
            found.append(scene_joint(names[j], model, base, int(j), side, sign))
    return found


def scene_joint(name: str, model: Model, base: State, j: int, side: Integers, sign: float) -> Coordinate:
    a, b, slides = int(model.joint_a[j]), int(model.joint_b[j]), model.joint[j] == Joint.SLIDER

    def frame(state: State) -> tuple[Floats, Floats]:
        axis = rotated(state.quaternion[b], model.joint_frame_b[j][:, 2])
        return axis, state.position[b] + rotated(state.quaternion[b], model.joint_anchor_b[j])

    def moved(state: State, value: float) -> State:
        new, (axis, point) = state.copy(), frame(state)
        if slides:
            new.position[side] += sign * value * axis
            return new
        by = Rotation.from_rotvec(sign * value * axis)
        new.position[side] = point + by.apply(state.position[side] - point)
        new.quaternion[side] = turned(state.quaternion[side], by)
        return new

    def read(state: State) -> float:
        axis, point = frame(state)
        if slides:
            ends = [s.position[a] + rotated(s.quaternion[a], model.joint_anchor_a[j]) for s in (state, base)]
            axis_0, point_0 = frame(base)
            return float((ends[0] - point) @ axis - (ends[1] - point_0) @ axis_0)
        now, before = (product(INVERSE * s.quaternion[b], s.quaternion[a]) for s in (state, base))  # of a, seen from b
        return angle_about(now, before, model.joint_frame_b[j][:, 2])

    far = SLIDE if slides else np.pi
    return Coordinate(name, "m" if slides else "rad", (-far, far), moved, read)


@dataclass(frozen=True, eq=False)
class GroupOfBodies:
    """Some bodies of a scene as a system; q has the position and the quaternion of each."""

    scene: Scene
    model: Model
    base: State
    touch: Touch
    group: Integers
    jointed: bool

    @cached_property
    def number(self) -> Integers:
        """The rows of v of the scene for the six velocities of each body, -1 where there is none."""
        return free_rows(self.model).number[self.group].ravel()

    @cached_property
    def kept(self) -> Integers:
        """Which of the six velocities of each body there are."""
        return np.flatnonzero(self.number >= 0)

    def system(self) -> GeneralizedSystem:
        kept = self.kept
        contact = ContactPoint(lambda q: self.touch.gap(self.sides(q)), self.rows, 0.5, name=self.touch.name)
        return GeneralizedSystem(
            velocities=kept.size,
            mass=lambda q: self.inertia(q)[np.ix_(kept, kept)],
            bias=self.bias,
            contacts=(contact,),
            constraint=Constraint(self.joint_rows) if self.jointed else None,
            map_velocity=self.map_velocity,
            coordinates=7 * len(self.group),
            name=self.touch.name,
        )

    def q(self, state: State) -> Vector:
        return np.hstack([state.position[self.group], state.quaternion[self.group]]).ravel()

    def state(self, q: Vector) -> State:
        state, own = self.base.copy(), q.reshape(-1, 7)
        state.position[self.group], state.quaternion[self.group] = own[:, :3], own[:, 3:]
        return state

    def sides(self, q: Vector) -> Floats:
        """(2, 3) the point as it is fixed to either body."""
        state, bodies = self.state(q), [self.touch.a, self.touch.b]
        arms = fixed_to(self.base, bodies, self.touch.point)
        return state.position[bodies] + rotated(state.quaternion[bodies], arms)

    def place(self, q: Vector) -> Place:
        """Where the point of the body that moves is."""
        return Place(self.sides(q)[0 if self.touch.a in self.group else 1], self.touch.frame)

    def turned_inertia(self, q: Vector) -> Floats:
        R = Rotation.from_quat(np.roll(self.state(q).quaternion[self.group], -1, axis=1)).as_matrix()
        return R @ self.model.inertia[self.group] @ R.transpose(0, 2, 1)

    def inertia(self, q: Vector) -> Dense:
        turned = self.turned_inertia(q)
        blocks = [(m * np.eye(3), part) for m, part in zip(self.model.mass[self.group], turned, strict=True)]
        return block_diag(*(part for pair in blocks for part in pair))

    def bias(self, q: Vector, v: Vector) -> Vector:
        """Gravity, other forces of the scene, and ω × I ω."""
        model, group, all_six = self.model, self.group, np.zeros(6 * len(self.group))
        all_six[self.kept] = v
        spin = all_six.reshape(-1, 6)[:, 3:]
        momentum = np.einsum("bij,bj->bi", self.turned_inertia(q), spin)
        force = -model.mass[group, None] * model.gravity - model.force[group]
        torque = np.cross(spin, momentum) - model.torque[group]
        return np.hstack([force, torque]).ravel()[self.kept]

    def rows(self, q: Vector) -> Dense:
        """Of the contact; the columns of bodies that are not in the group fall out."""
        frame = self.touch.frame[: 2 if self.model.planar else 3]
        A, centre = np.zeros((len(frame), self.model.kind.size, 6)), self.state(q).position
        for body, sign, point in zip((self.touch.a, self.touch.b), (1, -1), self.sides(q), strict=True):
            A[:, body, :3] += sign * frame
            A[:, body, 3:] += sign * np.cross(point - centre[body], frame)
        return A[:, self.group].reshape(len(frame), -1)[:, self.kept]

    def joint_rows(self, q: Vector) -> Dense:
        """Those of the engine, for the bodies of the group."""
        G = snapshot("lab", scene_at(self.scene, self.state(q))).at.G
        own = G[:, self.number[self.kept]]
        return own[np.abs(own).max(axis=1, initial=0.0) > 0]

    def map_velocity(self, q: Vector) -> Dense:
        """Positions by velocities, quaternions by ½ (0, ω) q."""
        turns = [0.5 * product(np.eye(4)[1:], quaternion).T for quaternion in q.reshape(-1, 7)[:, 3:]]
        return block_diag(*(part for turn in turns for part in (np.eye(3), turn)))[:, self.kept]


# of a robot


def frames_of(model: LoadedModel) -> dict[str, tuple[int, Floats]]:
    """Points of a robot that could touch something: its sites, the ends of its last links, the origins of its bodies
    from the last to the first. By their names the body and the place in it."""
    m = model.model
    found = {
        f"site {m.site(i).name or i}": (int(m.site_bodyid[i]), np.array(m.site_pos[i]))
        for i in range(m.nsite)
        if m.body_weldid[m.site_bodyid[i]] != 0
    }
    moving = np.flatnonzero(m.body_weldid != 0)
    ends = {int(body): way for body, *way in rod_ends(m)}
    for body in reversed(moving.tolist()):
        if body in ends:
            found[f"end of {model.bodies[body]}"] = body, np.array(ends[body])
        found[model.bodies[body]] = body, np.zeros(3)
    return found


def frame_touch(model: LoadedModel, name: str, moment: Moment) -> Touch:
    """A point of a robot on a level floor."""
    body, local = frames_of(model)[name]
    here = model.here
    here.place(moment.q)
    point = here.data.xpos[body] + here.data.xmat[body].reshape(3, 3) @ local
    return Touch(name, body, 0, point, FLOOR)


def robot_anchor(model: LoadedModel, base: Moment, touch: Touch) -> Anchor:
    own = replace(model, model=copy.copy(model.model))  # with room of its own, for another thread
    here = own.here
    here.place(base.q)
    bodies = [touch.a, touch.b]
    arms = rotated(INVERSE * here.data.xquat[bodies], touch.point - here.data.xpos[bodies])

    def sides(q: Vector) -> Floats:
        here.place(q)
        return here.data.xpos[bodies] + rotated(here.data.xquat[bodies], arms)

    def rows(q: Vector) -> Dense:
        points, J = sides(q), np.zeros((2, 3, own.velocities))
        for k, body in enumerate(bodies):
            here.mujoco.mj_jac(here.model, here.data, J[k], None, points[k], body)
        return touch.frame @ (J[0] - J[1])

    moving = 0 if here.model.body_weldid[touch.a] else 1
    contact = ContactPoint(lambda q: touch.gap(sides(q)), rows, 0.5, name=touch.name)
    system = replace(own.with_points(), contacts=(contact,))
    still = base._replace(v=np.zeros_like(base.v))
    return Anchor(
        touch, still, system, lambda moment: moment.q, lambda q: Place(sides(q)[moving], touch.frame),
        (*robot_joints(model), *robot_turns(model, still, touch)), RESOLUTION,
    )  # fmt: skip


def robot_joints(model: LoadedModel) -> list[Coordinate]:
    """The last first: they move least."""

    def coordinate(name: str, bounds: tuple[float, float]) -> Coordinate:
        at = model.coordinate(name)
        slides = model.model.jnt_type[model.joints.index(name)] == 2

        def moved(moment: Moment, value: float) -> Moment:
            q = moment.q.copy()
            q[at] = value
            return moment._replace(q=q)

        return Coordinate(name, "m" if slides else "rad", bounds, moved, lambda moment: float(moment.q[at]))

    return [coordinate(name, bounds) for name, bounds in reversed(joint_ranges(model).items())]


def robot_turns(model: LoadedModel, base: Moment, touch: Touch) -> list[Coordinate]:
    """About the contact, of a robot with a free base, or of a free body."""
    m = model.model
    body = touch.a if m.body_weldid[touch.a] else touch.b
    root = int(m.body_rootid[body])
    joint = int(m.body_jntadr[root])
    if joint < 0 or m.jnt_type[joint] != 0:
        return []
    at = int(m.jnt_qposadr[joint])

    def moved(moment: Moment, turn: Floats) -> Moment:
        q, by = moment.q.copy(), Rotation.from_rotvec(turn)
        q[at : at + 3] = touch.point + by.apply(q[at : at + 3] - touch.point)
        q[at + 3 : at + 7] = turned(q[at + 3 : at + 7], by)
        return moment._replace(q=q)

    return turn_coordinates(list(AXES), moved, lambda moment: moment.q[at + 3 : at + 7], base)
