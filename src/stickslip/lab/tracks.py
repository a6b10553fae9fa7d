"""What the lab can show at any instant: a scene under one formulation as it runs, or a run that is over.

A track has instants, numbered from 0, each with its time, the bodies' state, and the contacts of the step that led to
it. A live track keeps what happened in memory, as much as MEMORY allows, and forgets the oldest; a recorded one reads
its file where it is asked.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import numpy as np

from stickslip.engine.recorder import Header, Recorder
from stickslip.engine.simulation import Simulation
from stickslip.engine.trajectory import ContactTable, Trajectory, table_of
from stickslip.friction.formulation import Formulation
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Floats, Joint, Kind, Model, State
from stickslip.scene.scene import Scene
from stickslip.scene.values import rotated
from stickslip.solvers.status import Status
from stickslip.view.replay import BINS, FAILED, GOOD, INEXACT, strips

MEMORY = 300_000_000  # bytes that all live tracks together keep

Strips = dict[str, Any]  # time, residual, mark, kinetic, potential, counts; of a live track joint_error too


class Track(Protocol):
    """What the page asks of a run, live or over."""

    @property
    def name(self) -> str: ...
    @property
    def header(self) -> Header: ...
    def __len__(self) -> int: ...  # instants, at least one
    def time(self, i: int) -> float: ...
    def state(self, i: int) -> State: ...
    def contacts(self, i: int) -> ContactTable: ...
    def lasted(self, i: int) -> float: ...  # the step that led to an instant   [s]
    def strips(self) -> Strips: ...
    def trajectory(self) -> Trajectory: ...


class Kept(NamedTuple):
    """An instant of a live track, and the step that led to it; none led to the first."""

    time: float
    state: State
    columns: dict[str, Any] | None
    strip: tuple[float, ...]  # residual, mark, kinetic, potential, open, stick, slip, joint error


class LiveTrack:
    """A scene under one formulation, step by step."""

    def __init__(self, name: str, law: Formulation, scene: Scene, share: float = 1.0) -> None:
        self.name, self.law, self.scene = name, law, scene
        self.kept: deque[Kept] = deque()
        self.room, self.used = MEMORY * share, 0
        self.sim: Simulation
        self.held: int | None = None  # the body that a spring pulls

    def start(self, dt: float, solver: str | None, tol: float | None, state: State | None, now: float) -> None:
        """Go on from a state, that of the scene where None, at a time. What was kept stays, if the bodies are the same
        ones."""
        self.sim = Simulation(self.scene, dt, self.law, solver, tol, keep_going=True)
        self.sim.time = now
        if state is not None:
            self.sim.state = state
        self.header = self.sim.header
        if not self.kept:
            self._keep(now, None)

    @property
    def model(self) -> Model:
        return self.sim._engine.model

    def step(self) -> None:
        begun = time.perf_counter()
        self.sim.step()
        columns = {name: np.array(value) for name, value in self.sim.columns(time.perf_counter() - begun).items()}
        self._keep(self.kept[-1].time + self.sim.dt, columns)

    def _keep(self, now: float, columns: dict[str, Any] | None) -> None:
        state = self.sim.state.copy()
        sim, residual, mark, counts = self.sim, 0.0, GOOD, [0] * len(ContactState)
        if columns is not None:
            columns["time"] = np.array([now])
            residual, mark = sim.residual, {Status.SOLVED: GOOD, Status.INEXACT: INEXACT}.get(sim.status, FAILED)
            counts = np.bincount(columns["contacts/state"], minlength=len(ContactState)).tolist()
        strip = (residual, mark, sim.kinetic, sim.potential, *counts, joint_error(self.model, state))
        self.kept.append(Kept(now, state, columns, strip))
        self.used += weight(self.kept[-1])
        while self.used > self.room and len(self.kept) > 2:
            self.used -= weight(self.kept.popleft())

    def cut(self, i: int) -> None:
        """Forget what came after an instant, and be there."""
        while len(self.kept) > i + 1:
            self.used -= weight(self.kept.pop())
        self.sim.state, self.sim.time = self.kept[-1].state, max(0.0, self.kept[-1].time)

    def put(self, state: State) -> None:
        """Be elsewhere now: the last instant has this state, as if nothing had led to it."""
        self.sim.state = state
        last = self.kept.pop()
        self.used -= weight(last)
        self._keep(last.time, None)

    def __len__(self) -> int:
        return len(self.kept)

    def time(self, i: int) -> float:
        return self.kept[i].time

    def state(self, i: int) -> State:
        return self.kept[i].state

    def contacts(self, i: int) -> ContactTable:
        columns = self.kept[i].columns
        own = {
            name.removeprefix("contacts/"): value for name, value in (columns or {}).items() if name[:9] == "contacts/"
        }
        if not own:
            return empty_table(self.header)
        return table_of(self.header.names, self.header.shape_body, own, np.full(own["gap"].size, i - 1))

    def joint_impulse(self, i: int) -> Floats:
        columns = self.kept[i].columns
        return np.zeros(self.header.joint_row.size) if columns is None else columns["joint_impulse"][0]

    def lasted(self, i: int) -> float:
        return self.kept[i].time - self.kept[i - 1].time if i else self.sim.dt

    def strips(self) -> Strips:
        rows = np.array([(kept.time, *kept.strip) for kept in self.kept if kept.columns is not None]).reshape(-1, 9)
        edges = np.unique(np.linspace(0, len(rows), min(BINS, len(rows)) + 1).round().astype(int))
        first, last = edges[:-1], edges[1:] - 1
        if not len(rows):
            first = last = np.zeros(0, int)
        worst = [np.maximum.reduceat(rows[:, k], first) if len(rows) else rows[:, k] for k in (1, 2, 8)]
        potential = rows[last, 4]
        return {
            "time": rows[last, 0],
            "residual": worst[0],
            "mark": worst[1].astype(np.uint8),
            "kinetic": rows[last, 3],
            "potential": potential - np.min(rows[:, 4], initial=np.inf) if len(rows) else potential,
            "counts": rows[last, 5:8].astype(np.int32),
            "joint_error": worst[2],
        }

    def trajectory(self) -> Trajectory:
        """What is kept, as a run of its own."""
        kept = list(self.kept)
        recorder = Recorder(self.header, kept[0].state, start_time=kept[0].time)
        for each in kept[1:]:
            if each.columns is not None:
                recorder.append(each.columns)
        return Trajectory(recorder.finish())


class RecordedTrack:
    """A run that is over."""

    def __init__(self, run: Trajectory) -> None:
        self.run, self.header = run, run.header
        self.name = run.header.formulation.partition("(")[0].lower() or "run"
        self.times = run.time

    def __len__(self) -> int:
        return len(self.times)

    def time(self, i: int) -> float:
        return float(self.times[i])

    def state(self, i: int) -> State:
        return self.run.state(i)

    def contacts(self, i: int) -> ContactTable:
        return self.run.contacts(step=i - 1) if i else self.run.contacts(step=slice(0, 0))

    def joint_impulse(self, i: int) -> Floats:
        return self.run._record.read("joint_impulse", i - 1, i)[0] if i else np.zeros(self.header.joint_row.size)

    def lasted(self, i: int) -> float:
        return float(self.times[i] - self.times[i - 1]) if i else 1.0

    def strips(self) -> Strips:
        return strips(self.run)

    def trajectory(self) -> Trajectory:
        return self.run


def weight(kept: Kept) -> int:
    """Bytes, about."""
    arrays = [*kept.state, *(kept.columns or {}).values()]
    return sum(array.nbytes + 112 for array in arrays) + sys.getsizeof(kept)


def empty_table(header: Header) -> ContactTable:
    none = {name: np.zeros((0, *shape)) for name, shape in COLUMNS.items()}
    return table_of(header.names, header.shape_body, none, np.zeros(0, np.int64))


COLUMNS: dict[str, tuple[int, ...]] = dict.fromkeys(
    ("shape_a", "shape_b", "feature", "gap", "friction", "state", "moment", "spin", "left_out"), ()
) | dict.fromkeys(("point", "normal", "impulse", "velocity", "tangent"), (3,))


def joint_error(model: Model, state: State) -> float:
    """How far apart the two sides of a joint are, at worst   [m]; along the axis of a slider they may be."""
    if not model.joint.size:
        return 0.0
    ends = [
        state.position[body] + rotated(state.quaternion[body], anchor)
        for body, anchor in ((model.joint_a, model.joint_anchor_a), (model.joint_b, model.joint_anchor_b))
    ]
    apart = ends[0] - ends[1]
    axis = rotated(state.quaternion[model.joint_b], model.joint_frame_b[:, :, 2])
    slides = model.joint == Joint.SLIDER
    apart[slides] -= np.sum(apart * axis, axis=1, keepdims=True)[slides] * axis[slides]
    return float(np.linalg.norm(apart, axis=1).max())


def free_bodies(header: Header) -> Any:
    return np.flatnonzero(header.kind == Kind.FREE)


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
