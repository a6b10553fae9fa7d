"""A session of the lab: the worlds it shows and the one thread that owns them, without any page.

    with Session(scene, Settings(dt=1e-2)) as session:
        session.play()
        session.change(friction=0.2)
        session.ask(lambda s: s.tracks[0].state(-1))

Everything that touches a simulation happens in the worker. Callers hand it tasks, as many as QUEUE; what arrives faster
than that is refused, and of a drag only the newest target counts. After each frame the worker calls the listeners with
a `Frame`, in its own thread, thirty times a second at most; if a listener is slow, frames are left out.

A live session runs a scene, or a model of a robot, under one or more formulations side by side, in steps of the same
size. A change of dt, of friction or restitution of all surfaces, of solver or tol, or of the controls of a robot holds
from the instant that is shown, and so does running on after going back. Other formulations, and bodies that are dropped
in, begin a new history there.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from stickslip.dynamics.mujoco import LoadedModel
from stickslip.engine.names import FORMULATIONS, formulation, law_and_solver
from stickslip.engine.trajectory import ContactTable, Trajectory
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.lab.robots import ModelTrack
from stickslip.lab.tracks import LiveTrack, Moment, Pull, RecordedTrack, free_bodies
from stickslip.scene.compile import compile_scene
from stickslip.scene.files import RunSettings
from stickslip.scene.model import Floats, State
from stickslip.scene.scene import Scene
from stickslip.solvers.solve import METHODS
from stickslip.view.solids import MESHES, Solids, View

FRAMES = 30.0  # a second at most
QUEUE = 256  # tasks that may wait
MOST_TRACKS = 4  # side by side

T = TypeVar("T")
World: TypeAlias = Scene | LoadedModel | Sequence[Trajectory]


@dataclass(frozen=True)
class Settings:
    """How a live session runs. None: what the scene, or the formulation, says."""

    laws: dict[str, Formulation] = field(default_factory=lambda: {"coulomb": Coulomb()})  # the first is solid
    dt: float = 1e-2  # [s]
    friction: float | None = None  # of all surfaces
    restitution: float | None = None  # of all surfaces
    solver: str | Any | None = None
    tol: float | None = None
    speed: float = 1.0  # seconds of the scene in one of the clock

    def __post_init__(self) -> None:
        if not 1 <= len(self.laws) <= MOST_TRACKS:
            raise InputError(f"lab: {len(self.laws)} formulations are chosen, expected 1 to {MOST_TRACKS}")
        if isinstance(self.solver, str) and self.solver not in METHODS:
            raise InputError(f"lab: solver is {self.solver!r}, expected one of {', '.join(METHODS)}")
        for name in ("dt", "speed"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(f"lab: {name} is {getattr(self, name)!r}, expected a positive number")


def settings_of(run: RunSettings) -> Settings:
    """Those that a scene file asks for."""
    law, solver = law_and_solver(run)
    laws: dict[str, Formulation] = {} if law is None or run.friction is None else {run.friction.name: law}
    return Settings(laws=laws or {"coulomb": Coulomb()}, dt=run.dt or 1e-2, solver=solver, tol=run.tol)


class Frame(NamedTuple):
    """What is to be seen at one instant."""

    generation: int  # another one: other bodies or other tracks
    instant: int
    time: float
    states: tuple[State, ...]  # of each track
    contacts: ContactTable  # of the first
    lasted: float  # the step that led here   [s]
    playing: bool
    rate: float  # seconds of the scene in one of the clock, as it runs now
    live: bool
    message: str  # what went wrong, or what takes a while


def posted(task: Callable[..., None]) -> Callable[..., Future[None]]:
    """A method that is done by the worker, in its turn."""

    @wraps(task)
    def post(session: Session, *given: Any, **named: Any) -> Future[None]:
        return session.post(lambda s: task(s, *given, **named))

    return post


class Session(contextlib.AbstractContextManager["Session"]):
    def __init__(self, world: World, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.tracks: list[Any] = []
        self.generation = self.index = 0
        self.playing, self.rate, self.message = False, 0.0, ""
        self.world: Scene | LoadedModel | None = None  # what runs here
        self.controls: Floats = np.zeros(0)  # of a robot
        self.view: View
        self.pull: Pull | None = None
        self.listeners: list[Callable[[Frame], None]] = []
        self.frame: Frame
        self._tasks: queue.Queue[Callable[[], Callable[[], None]] | None] = queue.Queue(QUEUE)
        self._paced = (0.0, 0.0)  # clock and time of the scene when it began to run
        self._load(world)
        self._worker = threading.Thread(target=self._work, name="stickslip lab", daemon=True)
        self._worker.start()

    # what anybody may call, from any thread

    def ask(self, question: Callable[[Session], T], patience: float | None = 120.0) -> T:
        """Have the worker answer a question about this session, and wait for the answer."""
        return self.post(question).result(patience)

    def post(self, task: Callable[[Session], T]) -> Future[T]:
        """Have the worker do something; refused where too much waits already."""
        future: Future[T] = Future()

        def work() -> Callable[[], None]:
            try:
                answer = task(self)
            except Exception as error:
                self.message = str(error)
                return partial(future.set_exception, error)
            return partial(future.set_result, answer)

        try:
            self._tasks.put_nowait(work)
        except queue.Full:
            future.set_exception(InputError(f"lab: {QUEUE} tasks wait already, expected fewer"))
        return future

    @posted
    def play(self) -> None:
        if not self.live and self.index >= len(self.first) - 1:
            self.index = 0
        self.playing, self.message = True, ""
        self._pace()

    @posted
    def pause(self) -> None:
        self.playing = False

    @posted
    def step(self, steps: int = 1) -> None:
        """Some steps on, or back where negative, and pause."""
        self.playing = False
        if steps > 0 and self.live and self.index + steps >= len(self.first):
            self._branch()
            for _ in range(steps):
                self._one_step()
        else:
            self.index = int(np.clip(self.index + steps, 0, len(self.first) - 1))

    @posted
    def seek(self, seconds: float) -> None:
        """Show the instant nearest to a time, and pause."""
        self.playing, first = False, self.first
        i = bisect_left(range(len(first) - 1), seconds, key=first.time)  # times rise
        nearer = i > 0 and seconds - first.time(i - 1) < first.time(i) - seconds
        self.index = i - 1 if nearer else i

    @posted
    def reset(self) -> None:
        """Begin anew, with the world as it was opened."""
        self._load(self._opened)

    @posted
    def open(self, world: World, settings: Settings | None = None) -> None:
        """Another world."""
        self.settings = settings or Settings()
        self._load(world)

    @posted
    def change(self, **settings: Any) -> None:
        """Other settings, from the instant that is shown on."""
        laws = settings.get("laws")
        if laws is not None and not isinstance(laws, dict):
            own = self.settings.laws
            settings = settings | {"laws": {name: own.get(name) or formulation(name) for name in laws}}
        old, new = self.settings, replace(self.settings, **settings)
        if not self.live:
            self.settings = replace(old, speed=new.speed)
            self._pace()
            return
        self.settings = new
        try:
            if list(new.laws) != list(old.laws):
                self._begin([self.first.moment(self.index)], self.first.time(self.index))
            elif new != replace(old, speed=new.speed):
                self._restart()
        except Exception:
            self.settings = old
            raise
        self._pace()

    def drag(self, pull: Pull | None) -> None:
        """Pull a body by a spring while it runs, and put it elsewhere while it does not; None lets go."""
        self.pull = pull
        if pull is not None and not self.playing:
            self.post(lambda s: s._put(pull))

    @posted
    def drop(self, kind: str) -> None:
        """Add a box or a ball above what is there."""
        if self.world is None:
            raise InputError("lab: this is a finished run, expected a scene to drop things into")
        if kind not in ("box", "ball"):
            raise InputError(f"lab: {kind!r} cannot be dropped, expected box or ball")
        moments = [track.moment(min(self.index, len(track) - 1)) for track in self.tracks]
        solids, state = self.first.solids, self.first.state(self.index)
        across = typical_size(solids)
        free = state.position[free_bodies(solids)]
        top = float(free[:, 2].max()) if len(free) else 0.0
        above = self.view.centre[0], 0.0 if solids.planar else self.view.centre[1], top + 2.5 * across
        if isinstance(self.world, Scene):
            scene, count = deepcopy(self.world), len(self.world)
            dropped(scene, kind, across, above)
            self.world, moments = scene, [with_one_more(moment, count, scene) for moment in moments]
        else:
            self.world = with_body(self.world, kind, across, above)
            moments = [with_last_at_home(moment, self.world) for moment in moments]
        self._begin(moments, self.first.time(self.index))

    @posted
    def control(self, actuator: int, value: float) -> None:
        """The control of an actuator of a robot, from the next step on."""
        if self.robot is None or not 0 <= actuator < len(self.controls):
            raise InputError(f"lab: there is no actuator {actuator}, expected one of {len(self.controls)}")
        self._branch()
        self.controls[actuator] = value
        self._steer()

    def place(self, moment: Any) -> Future[None]:
        """Be elsewhere, and pause: the coordinates of a robot, or a State of a scene."""
        return self.post(lambda s: s._place(moment))

    def runs(self) -> list[Trajectory]:
        """All tracks as runs, the first first."""
        return self.ask(lambda s: [track.trajectory() for track in s.tracks])

    def standing(self) -> Scene:
        """The scene as it stands at the instant that is shown."""
        return self.ask(lambda s: s.first.standing(s.index))

    def close(self) -> None:
        """End the worker; afterwards nothing runs."""
        if self._worker.is_alive():
            self._tasks.put(None)
            self._worker.join(30.0)

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def live(self) -> bool:
        return self.world is not None

    @property
    def robot(self) -> LoadedModel | None:
        """What runs, where that is a robot."""
        return self.world if isinstance(self.world, LoadedModel) else None

    @property
    def first(self) -> Any:
        return self.tracks[0]

    # the worker

    def _work(self) -> None:
        self._show()
        while True:
            done: list[Callable[[], None]] = []
            with contextlib.suppress(queue.Empty):
                task = self._tasks.get(block=not self.playing)
                while task is not None:
                    done.append(task())
                    task = self._tasks.get_nowait()
                return
            begun = time.perf_counter()
            if self.playing:
                try:
                    self._advance(begun)
                except Exception as error:
                    self.playing, self.message = False, str(error)
            self._show()
            for tell in done:  # who asked sees what came of it
                tell()
            if self.playing:
                time.sleep(max(0.0, begun + 1.0 / FRAMES - time.perf_counter()))

    def _show(self) -> None:
        i, first = self.index, self.tracks[0]
        states = tuple(track.state(min(i, len(track) - 1)) for track in self.tracks)
        self.frame = Frame(
            self.generation, i, first.time(i), states, first.contacts(i), first.lasted(i), self.playing, self.rate,
            self.live, self.message,
        )  # fmt: skip
        for listener in self.listeners:
            try:
                listener(self.frame)
            except Exception as error:  # the page may fail, the session goes on
                self.message = f"this could not be shown: {error}"

    def _advance(self, begun: float) -> None:
        """As far as the clock asks for, but no longer than a frame may take."""
        clock, start = self._paced
        wanted = start + self.settings.speed * (begun - clock)
        before = self.first.time(self.index)
        if self.live:
            self._branch()
            while self.first.time(self.index) < wanted:
                self._one_step()
                if time.perf_counter() - begun > 0.8 / FRAMES:
                    break
            if self.first.time(self.index) < wanted - self.settings.speed / FRAMES:  # it cannot keep up: no hurry
                self._pace()
        else:
            times = self.tracks[0].times
            self.index = int(np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 1))
            self.playing = self.index < len(times) - 1
        spent = max(time.perf_counter() - begun, 1.0 / FRAMES)
        self.rate += 0.2 * ((self.first.time(self.index) - before) / spent - self.rate)

    def _one_step(self) -> None:
        for track in self.tracks:
            track.pull(self.pull)
            track.step()
        self.index = len(self.tracks[0]) - 1

    def _branch(self) -> None:
        """Forget what came after the instant that is shown."""
        if self.index < len(self.tracks[0]) - 1:
            for track in self.tracks:
                track.cut(self.index)

    def _pace(self) -> None:
        self._paced = time.perf_counter(), self.first.time(self.index)

    # worlds

    def _load(self, world: World) -> None:
        if isinstance(world, Scene | LoadedModel):
            if isinstance(world, Scene) and not world.descriptions:
                raise InputError("lab: the scene has no bodies, expected one at least")
            self._opened: World = world
            self.world = deepcopy(world) if isinstance(world, Scene) else world
            self.controls = np.zeros(len(world.actuators) if isinstance(world, LoadedModel) else 0)
            self._begin(None, 0.0)
        else:
            self._opened = list(world)
            check_runs(self._opened)
            self.world = None
            self.tracks = [RecordedTrack(run) for run in self._opened]
            self.index = 0
            self.generation += 1
        self.playing, self.message, self.pull = False, "", None
        self.view = self.first.solids.view(self.first.state(0), self.first.state(len(self.first) - 1))

    def _begin(self, moments: Sequence[Any] | None, now: float) -> None:
        """New tracks, each from its moment, with a history that begins now."""
        share, world, settings = 1.0 / len(self.settings.laws), self._surfaced(), self.settings
        kind: Any = LiveTrack if isinstance(world, Scene) else ModelTrack
        tracks = [kind(name, law, world, share) for name, law in settings.laws.items()]
        for k, track in enumerate(tracks):
            moment = None if moments is None else moments[min(k, len(moments) - 1)]
            track.start(settings.dt, settings.solver, settings.tol, moment, now)
        self.tracks, self.index = tracks, 0
        self.generation += 1
        self._steer()
        self._pace()

    def _surfaced(self) -> Scene | LoadedModel:
        """The world with the friction and restitution that the settings give all surfaces."""
        mu, e, world = self.settings.friction, self.settings.restitution, self.world
        if isinstance(world, LoadedModel):
            return world if mu is None and e is None else world.with_surfaces(mu, e)
        assert world is not None
        said: dict[str, Any] = {}
        if mu is not None:
            said |= {"friction": float(mu), "friction_kinetic": None}
        if e is not None:
            said["restitution"] = float(e)
        if not said:
            return world
        scene = deepcopy(world)
        scene.descriptions = [replace(body, material=replace(body.material, **said)) for body in scene.descriptions]
        for pair in scene.overrides.values():
            for key in said:
                pair.pop(key, None)
        return scene

    def _restart(self) -> None:
        """Go on from here under the present settings."""
        world = self._surfaced()
        for track in self.tracks:
            i = min(self.index, len(track) - 1)
            track.cut(i)
            track.world = world
            track.start(self.settings.dt, self.settings.solver, self.settings.tol, track.moment(i), track.time(i))
        self._steer()

    # a robot

    def _steer(self) -> None:
        if self.robot is not None:
            for track in self.tracks:
                track.control(self.controls)

    def _place(self, moment: Any) -> None:
        if self.world is None:
            raise InputError("lab: this is a finished run, expected what runs here to be moved")
        self.playing = False
        self._branch()
        for track in self.tracks:
            track.place(moment)

    def _put(self, pull: Pull) -> None:
        """Put a body where the mouse is, while nothing runs."""
        if self.playing or not self.live:
            return
        self._branch()
        for track in self.tracks:
            track.put(self.index, pull)


def dropped(scene: Scene, kind: str, across: float, above: Any) -> None:
    """Add a box or a ball to a scene."""
    if kind == "ball":
        scene.add_sphere(radius=across / 2, density=500.0, position=above)
    else:
        box = (across, across) if scene.planar else across
        scene.add_box(size=box, density=500.0, position=above)


def with_body(robot: LoadedModel, kind: str, across: float, above: Any) -> LoadedModel:
    """A model with a box or a ball more."""
    if robot.again is None:
        raise InputError(f"lab: {robot.name!r} does not know its file, expected a model of load_model to drop into")
    had = robot.again.keywords["scene"]  # type: ignore[attr-defined]  # a partial
    scene = Scene() if had is None else deepcopy(had)
    dropped(scene, kind, across, above)
    return robot.again(scene=scene)


def with_last_at_home(moment: Moment, robot: LoadedModel) -> Moment:
    """A moment of a model that has since got a body more, after all others."""
    q, v = robot.home.copy(), np.zeros(robot.velocities)
    q[: moment.q.size], v[: moment.v.size] = moment.q, moment.v
    return moment._replace(q=q, v=v)


def with_one_more(state: State, count: int, scene: Scene) -> State:
    """A state with one body more after the first `count`, as the scene has it."""
    _, new, _ = compile_scene(scene)
    for own, old in zip(new, state, strict=True):
        own[:count] = old[:count]
    return new


def typical_size(solids: Solids) -> float:
    """Of the free bodies: the median of their largest lengths   [m]."""
    parts = solids.parts(View(np.zeros(3), 0.0))
    own = np.isin(parts.body, free_bodies(solids)) & np.isin(parts.mesh, list(MESHES))
    lengths = 2 * parts.scale[own].max(axis=1, initial=0.0)
    lengths = lengths[lengths > 0]
    return float(np.median(lengths)) if lengths.size else 0.2


def check_runs(runs: Sequence[Trajectory]) -> None:
    if not runs:
        raise InputError("lab: there is no run, expected one at least")
    for run in runs:
        if not isinstance(run, Trajectory):
            raise InputError(f"lab: {run!r} is no run, expected a Trajectory")
        if run.header.names != runs[0].header.names:
            raise InputError("lab: the runs have different bodies, expected runs of one scene")


ALL_LAWS = tuple(FORMULATIONS)
