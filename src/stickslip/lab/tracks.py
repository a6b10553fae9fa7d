"""What the lab can show at any instant: a scene or a robot under one formulation as it runs, or a run that is over.

A track has instants, numbered from 0, each with its time, where the bodies are, and the contacts of the step that led
to it. A live track keeps what happened in memory, as much as MEMORY allows, and forgets the oldest; a recorded one
reads its file where it is asked. Robots are in lab/robots.py.

`step_problem` has the problem of the step that led to an instant and the motion it made, for determinacy; `coupling`
the friction coupling of one of its contacts. A run that is over knows them where its file holds its scene.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stickslip.analysis.coupling import FrictionCoupling, friction_coupling, scene_contacts
from stickslip.dynamics.mujoco import LoadedModel
from stickslip.engine.recorder import Header, Recorder
from stickslip.engine.simulate import written
from stickslip.engine.simulation import Simulation
from stickslip.engine.snapshot import has_patches, snapshot
from stickslip.engine.step_problem import free_rows, named_problem
from stickslip.engine.trajectory import ContactTable, Trajectory, own_contacts, table_of
from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.stabilisation import TOUCHING
from stickslip.problems.contact_states import State as ContactState
from stickslip.problems.matrix import Vector
from stickslip.scene.compile import compile_scene
from stickslip.scene.files import read_run
from stickslip.scene.model import Floats, Integers, Joint, Kind, Model, State
from stickslip.scene.scene import Scene
from stickslip.scene.values import rotated
from stickslip.solvers.status import Status
from stickslip.view.replay import FAILED, GOOD, INEXACT, bins_of, solids_of, strips
from stickslip.view.solids import SceneSolids, Solids

MEMORY = 300_000_000  # bytes that all live tracks together keep
NO_PATCH = np.zeros(0)  # of no contacts
STIFF, DAMPED = 15.0, 0.7  # frequency [rad/s] and damping ratio of the spring that drags a body
EXPLICIT = 0.5  # most of frequency × dt, for that spring is explicit

Strips = dict[str, Any]  # time, residual, mark, kinetic, potential, counts; of a live track joint_error too


class Pull(NamedTuple):
    """A spring from a place of a body to the mouse."""

    body: int
    grip: Floats  # (3,)   seen from where the body is, body axes   [m]
    target: Floats  # (3,)   [m]


class Moment(NamedTuple):
    """What a robot goes on from."""

    q: Vector
    v: Vector
    activation: Vector
    control: Vector  # of the step that led here


class Kept(NamedTuple):
    """An instant of a live track, and the step that led to it; none led to the first."""

    time: float
    state: State  # where things are drawn
    moment: Any  # what the simulation goes on from
    columns: dict[str, Any] | None
    strip: tuple[float, ...]  # residual, mark, kinetic, potential, open, stick, slip, joint error
    patch: Floats  # (m,)   of the contacts
    world: Any  # in which the step was made


class Track(ABC):
    """What all tracks can be asked of the step that led to an instant."""

    header: Header
    solids: Solids
    model: Any  # of a scene

    @abstractmethod
    def world_of(self, i: int) -> Any:
        """In which the step was made."""

    @abstractmethod
    def state(self, i: int) -> State: ...

    @abstractmethod
    def moment(self, i: int) -> Any: ...

    @abstractmethod
    def contacts(self, i: int) -> ContactTable: ...

    @abstractmethod
    def lasted(self, i: int) -> float: ...

    def standing(self, i: int, before: bool = False) -> Scene:
        """The scene as it stood at an instant, or before the step that led there."""
        return scene_at(self.world_of(i), self.state(max(0, i - before)))

    def step_problem(self, i: int) -> tuple[ContactProblem, Vector]:
        """The problem of the step, and the velocities it ended with."""
        before = self.standing(i, before=True)
        law = LimitSurface() if has_patches(before) else Coulomb()
        problem, _ = named_problem("lab", before, self.lasted(i), None, None, None, law)
        free = free_rows(self.model)
        return problem, self.state(i).velocity[free.body, free.component]

    def coupling(self, i: int, row: int) -> FrictionCoupling:
        """Of a contact of the step."""
        world, table = self.world_of(i), self.contacts(i)
        if isinstance(world, LoadedModel):
            before = self.moment(max(0, i - 1))
            number = number_of(table, row, snapshot("lab", world, before.q, before.v).pairs)
            return friction_coupling(world, q=before.q, v=before.v, contact=number)
        scene = self.standing(i, before=True)
        return friction_coupling(scene, contact=number_of(table, row, scene_contacts(scene)))


class Live(Track):
    """What runs here under one formulation, step by step, and what it did so far."""

    sim: Any

    def __init__(self, name: str, law: Formulation, world: Any, share: float = 1.0) -> None:
        self.name, self.law, self.world = name, law, world
        self.kept: deque[Kept] = deque()
        self.room, self.used = MEMORY * share, 0
        self.held: int | None = None  # the body that a spring pulls

    @abstractmethod
    def restore(self, moment: Any, now: float) -> None:
        """Be in another moment."""

    @abstractmethod
    def now(self) -> tuple[State, Any, tuple[float, float, float]]:
        """Where things are, what the simulation goes on from, and kinetic and potential energy and how far joints are
        apart at worst   [J, J, m]."""

    @abstractmethod
    def last_step(self, seconds: float) -> tuple[dict[str, Any], Floats]:
        """The columns of the last step, which took so long, as arrays that stay as they are, and the patches (m,) of
        its contacts   [m]."""

    def step(self) -> None:
        begun = time.perf_counter()
        self.sim.step()
        self._keep(self.kept[-1].time + self.sim.dt, self.last_step(time.perf_counter() - begun))

    def _keep(self, now: float, step: tuple[dict[str, Any] | None, Floats] = (None, NO_PATCH)) -> None:
        sim, residual, mark, counts = self.sim, 0.0, GOOD, [0] * len(ContactState)
        state, moment, (*energies, apart) = self.now()
        columns, patch = step
        if columns is not None:
            columns["time"] = np.array([now])
            residual, mark = sim.residual, {Status.SOLVED: GOOD, Status.INEXACT: INEXACT}.get(sim.status, FAILED)
            counts = np.bincount(columns["contacts/state"], minlength=len(ContactState)).tolist()
        strip = (residual, mark, *energies, *counts, apart)
        self.kept.append(Kept(now, state, moment, columns, strip, patch, self.world))
        self.used += weight(self.kept[-1])
        while self.used > self.room and len(self.kept) > 2:
            self.used -= weight(self.kept.popleft())

    def cut(self, i: int) -> None:
        """Forget what came after an instant, and be there."""
        while len(self.kept) > i + 1:
            self.used -= weight(self.kept.pop())
        self.restore(self.kept[-1].moment, max(0.0, self.kept[-1].time))

    def again(self) -> None:
        """The last instant is where the simulation is now, as if nothing had led to it."""
        last = self.kept.pop()
        self.used -= weight(last)
        self._keep(last.time)

    def __len__(self) -> int:
        return len(self.kept)

    def time(self, i: int) -> float:
        return self.kept[i].time

    def world_of(self, i: int) -> Any:
        return self.kept[i].world

    def state(self, i: int) -> State:
        return self.kept[i].state

    def moment(self, i: int) -> Any:
        return self.kept[i].moment

    def patches(self, i: int) -> Floats:
        return self.kept[i].patch

    def contacts(self, i: int) -> ContactTable:
        own = own_contacts(self.kept[i].columns or {})
        steps = np.full(own["gap"].size if own else 0, i - 1)
        return table_of(self.header.names, self.header.shape_body, own, steps)

    def joint_impulse(self, i: int) -> Floats:
        columns = self.kept[i].columns
        return np.zeros(self.header.joint_row.size) if columns is None else columns["joint_impulse"][0]

    def lasted(self, i: int) -> float:
        return self.kept[i].time - self.kept[i - 1].time if i else float(self.sim.dt)

    def strips(self) -> Strips:
        rows = np.array([(kept.time, *kept.strip) for kept in self.kept if kept.columns is not None]).reshape(-1, 9)
        first, last = bins_of(len(rows))
        residual, mark, joint_error = (np.maximum.reduceat(rows[:, k], first) for k in (1, 2, 8))
        return {
            "time": rows[last, 0],
            "residual": residual,
            "mark": mark.astype(np.uint8),
            "kinetic": rows[last, 3],
            "potential": rows[last, 4] - np.min(rows[:, 4], initial=np.inf),
            "counts": rows[last, 5:8].astype(np.int32),
            "joint_error": joint_error,
        }

    def record(self, header: Header, start: Any) -> Any:
        """What is kept, as the record of a run of its own that begins with `start`."""
        recorder = Recorder(header, start, start_time=self.kept[0].time)
        for each in list(self.kept)[1:]:
            if each.columns is not None:
                recorder.append(each.columns)
        return recorder.finish()


class LiveTrack(Live):
    """A scene under one formulation."""

    sim: Simulation

    def start(self, dt: float, solver: str | None, tol: float | None, moment: State | None, now: float) -> None:
        """Go on from a moment, the first of the world where None, at a time. What was kept stays."""
        self.sim = Simulation(self.world, dt, self.law, solver, tol, keep_going=True)
        self.sim.time = now
        if moment is not None:
            self.sim.state = moment
        self.header = self.sim.header
        self.solids = SceneSolids(self.header)
        if not self.kept:
            self._keep(now)

    @property
    def model(self) -> Model:
        return self.sim._engine.model

    def restore(self, moment: State, now: float) -> None:
        self.sim.state, self.sim.time = moment, now

    def now(self) -> tuple[State, State, tuple[float, float, float]]:
        state = self.sim.state.copy()
        return state, state, (self.sim.kinetic, self.sim.potential, joint_error(self.model, state))

    def last_step(self, seconds: float) -> tuple[dict[str, Any], Floats]:
        columns = {name: np.array(value) for name, value in self.sim.columns(seconds).items()}
        return columns, patch_sizes(self.model, columns["contacts/shape_a"], columns["contacts/shape_b"])

    def trajectory(self) -> Trajectory:
        """What is kept, with the scene, if it was the same all the time."""
        same = all(kept.world is self.world for kept in self.kept if kept.columns is not None)
        header = replace(self.header, scene=written(self.world) if same else "")
        return Trajectory(self.record(header, self.kept[0].state))

    def pull(self, pull: Pull | None) -> None:
        """Spring and damper from the grip to the target in the next step; nothing on bodies that were let go."""
        sim, model = self.sim, self.model
        if self.held is not None and (pull is None or self.held != pull.body):
            sim.apply(self.held)
            self.held = None
        if pull is None or pull.body >= model.kind.size or model.kind[pull.body] != Kind.FREE:
            return
        b, now = pull.body, sim.state.state
        arm = rotated(now.quaternion[b], pull.grip)
        velocity = now.velocity[b, :3] + np.cross(now.velocity[b, 3:], arm)
        force = model.mass[b] * spring(pull.target - now.position[b] - arm, velocity, sim.dt)
        force = force * (model.inverse_mass[b] > 0)
        torque = np.cross(arm, force) * (np.abs(model.inverse_inertia[b]).sum(axis=1) > 0)
        sim.apply(b, force, torque)
        self.held = b

    def put(self, i: int, pull: Pull) -> None:
        """Put a body where the mouse is, at the instant i, which is the last."""
        state = self.state(i).copy()
        if self.model.kind[pull.body] != Kind.FREE:
            return
        arm = rotated(state.quaternion[pull.body], pull.grip)
        state.position[pull.body] = np.where(self.model.inverse_mass[pull.body] > 0, pull.target - arm, 0.0)
        state.velocity[pull.body] = 0.0
        self.place(state)

    def place(self, state: State) -> None:
        """Be elsewhere now."""
        self.sim.state = state
        self.again()


class RecordedTrack(Track):
    """A run that is over."""

    def __init__(self, run: Trajectory) -> None:
        self.run, self.header = run, run.header
        self.name = run.header.formulation.partition("(")[0].lower() or "run"
        self.solids = solids_of("lab", run)
        self.times = run.time

    def __len__(self) -> int:
        return len(self.times)

    def time(self, i: int) -> float:
        return float(self.times[i])

    def state(self, i: int) -> State:
        return self.solids.state(self.run, i)

    def contacts(self, i: int) -> ContactTable:
        return self.run.contacts(step=i - 1) if i else self.run.contacts(step=slice(0, 0))

    def moment(self, i: int) -> Any:
        """As a live track has it."""
        if isinstance(self.solids, SceneSolids):
            return self.state(i)
        read, none = self.run._record.read, np.zeros(0)
        return Moment(read("q", i, i + 1)[0], read("v", i, i + 1)[0], none, none)

    @cached_property
    def world(self) -> Any:
        """The scene that ran, where the file holds it, or the model."""
        if not isinstance(self.solids, SceneSolids):
            return self.run.system  # type: ignore[attr-defined]  # of a ModelTrajectory
        return read_run(self.header.scene, "the scene of this run")[0] if self.header.scene else None

    @cached_property
    def model(self) -> Model | None:
        return compile_scene(self.world)[0] if isinstance(self.world, Scene) else None

    def patches(self, i: int) -> Floats:
        table = self.contacts(i)
        return np.zeros(len(table)) if self.model is None else patch_sizes(self.model, table.shape_a, table.shape_b)

    def joint_impulse(self, i: int) -> Floats:
        return self.run._record.read("joint_impulse", i - 1, i)[0] if i else np.zeros(self.header.joint_row.size)

    def lasted(self, i: int) -> float:
        return float(self.times[i] - self.times[i - 1]) if i else 1.0

    def world_of(self, i: int) -> Any:
        return self.world

    def standing(self, i: int, before: bool = False) -> Scene:
        if isinstance(self.world, LoadedModel):
            raise InputError("lab: a saved run of a robot does not hold its controls, expected one that runs here")
        if not isinstance(self.world, Scene):
            raise InputError(
                "lab: this run does not hold its scene, expected one of simulate(..., path=...) or of `stickslip run`"
            )
        return super().standing(i, before)

    def strips(self) -> Strips:
        return strips(self.run, self.solids)

    def trajectory(self) -> Trajectory:
        return self.run


def spring(way: Floats, velocity: Floats, dt: float) -> Floats:
    """Force over mass of the spring that drags things, stretched by `way`   [m/s²]."""
    w = min(STIFF, EXPLICIT / dt)
    return w**2 * way - 2 * DAMPED * w * velocity


def patch_sizes(model: Model, shape_a: Integers, shape_b: Integers) -> Floats:
    """(m,) of contacts between shapes   [m]."""
    return model.patch[model.shape_material[shape_a], model.shape_material[shape_b]]


def number_of(table: ContactTable, row: int, pairs: Sequence[tuple[str, str]]) -> int:
    """The number of a contact of a step among those that touch before it, which are between these pairs."""
    touching = np.flatnonzero(table.gap <= TOUCHING)
    if row not in touching:
        raise InputError("lab: this contact is apart, expected one that touches")
    number = int(np.searchsorted(touching, row))
    bodies = {table.names[table.body_a[row]], table.names[table.body_b[row]]}
    if number >= len(pairs) or set(pairs[number]) != bodies:
        raise InputError("lab: this contact is not among those that touch before the step, expected one that is")
    return number


def weight(kept: Kept) -> int:
    """Bytes, about."""
    arrays = [*kept.state, *(kept.columns or {}).values(), kept.patch]
    return sum(array.nbytes + 112 for array in arrays) + sys.getsizeof(kept)


def joint_error(model: Model, state: State) -> float:
    """How far apart the two sides of a joint are, at worst   [m]; along the axis of a slider they may be."""
    ends = [
        state.position[body] + rotated(state.quaternion[body], anchor)
        for body, anchor in ((model.joint_a, model.joint_anchor_a), (model.joint_b, model.joint_anchor_b))
    ]
    apart = ends[0] - ends[1]
    axis = rotated(state.quaternion[model.joint_b], model.joint_frame_b[:, :, 2])
    slides = model.joint == Joint.SLIDER
    apart[slides] -= np.sum(apart * axis, axis=1, keepdims=True)[slides] * axis[slides]
    return float(np.linalg.norm(apart, axis=1).max(initial=0.0))


def free_bodies(world: Header | Solids) -> Any:
    return np.flatnonzero(world.kind == Kind.FREE)


def scene_at(scene: Scene, state: State) -> Scene:
    """The scene with its bodies in this state, a scene of its own."""
    standing = deepcopy(scene)
    model, _, _ = compile_scene(scene)
    for i, body in enumerate(scene.descriptions):
        turn, velocity = state.quaternion[i], state.velocity[i]
        moving = {} if body.kind is not Kind.FREE else {"velocity": tuple(velocity[:3]), "spin": tuple(velocity[3:])}
        if body.kind is not Kind.STATIC:
            place = state.position[i] - rotated(turn, model.centre[i])
            standing.place(body.name, position=tuple(place), orientation=tuple(turn), **moving)
    return standing
