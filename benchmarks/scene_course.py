"""What scenes.py measures: a scene with what is right about it, and what an engine made of it.

A Case is a scene, a step, and the checks that this scene alone has. A Course is the motion of all bodies, step by step,
the same for every engine; what is measured on it is measured for every engine alike:

    overlap        the deepest, by stickslip's own collision detection on the poses, over the thinnest free body
    energy gain    the greatest rise E(t) - min E(s < t), over the greatest kinetic energy, or, where little moves, over
                   the work of gravity along the thinnest body
    joint drift    how far anchors come apart, or axes turn, over the size of the smaller body of the joint

A Check is a number with its bounds. What is true of every scene (no overlap above 1 %, no energy out of nothing, joints
that hold) is checked for every scene, unless it is said why not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from engine_scenes import Setting, matrix
from numpy.typing import NDArray

import stickslip as ss
from stickslip.collision.broadphase import find_contacts, workspace
from stickslip.collision.contacts import room_for
from stickslip.engine.trajectory import kinetic_energy, potential_energy
from stickslip.friction.formulation import Formulation
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Joint, Kind, Model, Shape, State

Floats = NDArray[np.float64]

OVERLAP = 0.01  # of the thinnest body
GAIN = 0.01  # of the greatest kinetic energy
DRIFT = 1e-4  # of the size of a body


class Check(NamedTuple):
    """A number that should be within bounds."""

    what: str
    value: float
    least: float
    most: float

    @property
    def passed(self) -> bool:
        return bool(self.least <= self.value <= self.most)  # false for nan


def at_most(what: str, value: Any, most: float) -> Check:
    return Check(what, float(value), -math.inf, most)


def at_least(what: str, value: Any, least: float) -> Check:
    return Check(what, float(value), least, math.inf)


def near(what: str, value: Any, expected: float, tolerance: float) -> Check:
    return Check(what, float(value), expected - tolerance, expected + tolerance)


@dataclass(frozen=True, eq=False)
class Course:
    """What an engine made of a scene: all bodies at the start and after every step."""

    model: Model
    dt: float
    position: Floats  # (frames, bodies, 3)   of the centres of mass
    quaternion: Floats  # (frames, bodies, 4)   scalar first
    velocity: Floats  # (frames, bodies, 6)   linear, angular, world axes

    @property
    def time(self) -> Floats:
        return self.dt * np.arange(len(self.position))

    def frame(self, time: float) -> int:
        """The frame of that time, or the last."""
        return min(round(time / self.dt), len(self.position) - 1)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        return self.model.kind == Kind.FREE

    @cached_property
    def speed(self) -> Floats:
        """(frames, free bodies)"""
        return np.linalg.norm(self.velocity[:, self.free, :3], axis=2)

    @cached_property
    def kinetic(self) -> Floats:
        return np.asarray(kinetic_energy(self.model, self.quaternion, self.velocity))

    @cached_property
    def energy(self) -> Floats:
        return self.kinetic + potential_energy(self.model, self.position)

    @cached_property
    def gain(self) -> float:
        weight = np.linalg.norm(self.model.gravity) * self.model.mass[self.free].sum()
        scale = max(float(self.kinetic.max()), float(weight) * thinnest(self.model))
        return float((self.energy - np.minimum.accumulate(self.energy)).max()) / scale

    @cached_property
    def depth(self) -> Floats:
        """(frames,) the deepest overlap [m]"""
        return deepest(self.model, self.position, self.quaternion)

    def overlap(self, since: float = 0.0) -> float:
        """The deepest from a time on, as a share of the thinnest body."""
        return float(self.depth[self.frame(since) :].max()) / thinnest(self.model)

    @cached_property
    def drift(self) -> float:
        return joint_drift(self.model, self.position, self.quaternion)

    def moved(self, body: Any, since: float = 0.0) -> float:
        """How far a body is in the end from where it was [m]."""
        place = self.position[:, getattr(body, "index", body)]
        return float(np.linalg.norm(place[-1] - place[self.frame(since)]))


@dataclass(frozen=True, eq=False)
class Case:
    """One scene."""

    name: str
    kind: str  # heap, tower, machine, fast, impact, friction, start, units or planar
    scene: ss.Scene
    dt: float
    steps: int
    checks: Callable[[Course], list[Check]] = lambda course: []
    friction: Formulation | None = None
    overlap: float | None = OVERLAP  # None where bodies overlap at the start
    gain: float | None = GAIN  # None where something drives the scene
    setting: Setting | None = field(default=None, repr=False)  # the same for peers, where it was made for them

    @cached_property
    def model(self) -> Model:
        return compile_scene(self.scene)[0]

    def graded(self, course: Course) -> list[Check]:
        """What every scene has to keep, and what this one has to."""
        found = []
        if self.overlap is not None:
            found.append(at_most("overlap", course.overlap(), self.overlap))
        if self.gain is not None:
            found.append(at_most("energy gain", course.gain, self.gain))
        if self.model.joint.size:
            found.append(at_most("joint drift", course.drift, DRIFT))
        return found + self.checks(course)


def thinnest(model: Model) -> float:
    """The least width of a shape of a free body [m]."""
    widths = [
        width(Shape(kind), size)
        for kind, size, body in zip(model.shape, model.shape_size, model.shape_body, strict=True)
        if model.kind[body] == Kind.FREE and kind != Shape.PLANE
    ]
    return min(width for width in widths if width > 0.0)


def width(kind: Shape, size: Floats) -> float:
    match kind:
        case Shape.BOX:
            return 2.0 * float(size[size > 0.0].min())  # planar boxes have no depth
        case Shape.CYLINDER:
            return 2.0 * float(min(size[0], size[1]))
        case _:
            return 2.0 * float(size[0])


def deepest(model: Model, position: Floats, quaternion: Floats) -> Floats:
    """The deepest overlap of each frame, 0 where there is none [m]."""
    work, room = workspace(model), room_for(64)
    reach, still = np.zeros(model.kind.size), np.zeros((model.kind.size, 6))
    depth = np.zeros(len(position))
    for k in range(len(position)):
        state = State(np.ascontiguousarray(position[k]), np.ascontiguousarray(quaternion[k]), still)
        if not (np.isfinite(state.position).all() and np.isfinite(state.quaternion).all()):
            depth[k:] = np.inf
            break
        found = find_contacts(state, reach, work, room)
        if found > room.capacity:
            room = room_for(2 * found)
            found = find_contacts(state, reach, work, room)
        depth[k] = max(0.0, -room.gap[:found].min(initial=0.0))
    return depth


def joint_drift(model: Model, position: Floats, quaternion: Floats) -> float:
    """How far joints come apart or turn where they must not, over the size of the smaller of their bodies."""
    worst = 0.0
    size = np.full(model.kind.size, np.inf)
    np.minimum.at(size, model.shape_body, 2.0 * model.shape_bound)
    for j, kind in enumerate(model.joint):
        a, b = model.joint_a[j], model.joint_b[j]
        R_a, R_b = matrix(quaternion[:, a]), matrix(quaternion[:, b])
        off = position[:, a] + R_a @ model.joint_anchor_a[j] - position[:, b] - R_b @ model.joint_anchor_b[j]
        frame_a, frame_b = R_a @ model.joint_frame_a[j], R_b @ model.joint_frame_b[j]
        turn = np.zeros(1)
        match Joint(kind):
            case Joint.SLIDER:
                axis = frame_b[:, :, 2]
                off = off - (off * axis).sum(axis=1)[:, None] * axis
                turn = np.linalg.norm(frame_a - frame_b, axis=(1, 2)) / math.sqrt(2)  # for small angles, the angle
            case Joint.FIXED:
                turn = np.linalg.norm(frame_a - frame_b, axis=(1, 2)) / math.sqrt(2)
            case Joint.HINGE:
                turn = np.linalg.norm(frame_a[:, :, 2] - frame_b[:, :, 2], axis=1)
        length = min(size[a], size[b])
        worst = max(worst, float(np.linalg.norm(off, axis=1).max()) / length, float(turn.max()))
    return worst


def course_of(model: Model, dt: float, run: ss.Trajectory) -> Course:
    states = [run.state(i) for i in range(len(run) + 1)]
    return Course(model, dt, *(np.stack(column) for column in zip(*states, strict=True)))


# building blocks of scenes


def turned(rng: np.random.Generator) -> tuple[float, ...]:
    """Any orientation, all equally likely."""
    q = rng.normal(size=4)
    return tuple(float(x) for x in q / np.linalg.norm(q))


def open_box(scene: ss.Scene, side: float, friction: float = 0.5, **surface: Any) -> None:
    """A floor and four walls about the square from the origin to (side, side)."""
    for normal, offset in (
        ((0, 0, 1), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -side), ((0, 1, 0), 0.0), ((0, -1, 0), -side),
    ):  # fmt: skip
        scene.add_plane(normal, offset, friction=friction, **surface)


def lattice(
    count: int,
    across: int,
    side: float,
    layer: float,
    rng: np.random.Generator,
    loose: float,
    corner: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Floats:
    """Places for bodies above the floor of a box, in layers, each moved a little."""
    k = np.arange(count)
    cells = np.stack([k % across, k // across % across, k // across**2], axis=1) + 0.5
    return np.asarray(corner + cells * (side / across, side / across, layer) + rng.uniform(-loose, loose, (count, 3)))


def inside(course: Course, side: float, slack: float) -> Check:
    """Is every free body still in the box?"""
    place = course.position[-1, course.free]
    out = np.maximum(np.maximum(-place[:, :2], place[:, :2] - side).max(initial=0.0), -place[:, 2].min(initial=0.0))
    return at_most("left the box by m", out, slack)


def at_rest(course: Course, speed: float) -> Check:
    """The root mean square of the speeds in the end."""
    return at_most("speed in the end m/s", math.sqrt(float((course.speed[-1] ** 2).mean())), speed)
