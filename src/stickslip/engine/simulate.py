"""`simulate(scene, ...)`: from a scene to a Trajectory.

Every scene, joint, formulation and solver takes one road: the loop of engine/march.py, which calls the outside where a
step needs that (engine/engine.py).

A step aims for a residual of tol, and is good enough at one of `accept`: then it is marked INEXACT, and the run warns
at its end how many there were and which was the worst. A step above that ends the run with StepFailed: it names the
time, the worst contact and its bodies, and the file with the problem, which `stickslip solve` reads. With `keep_going`
the run goes on from the best impulses found, and the trajectory's status says which steps failed.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.generalized import System
from stickslip.engine.arguments import checked_run
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.engine import (
    FIRST_ROOM,
    KEPT,
    UNMADE,
    Engine,
    JointsLost,
    StepNotSolved,
    checked_formulation,
    checked_solver,
)
from stickslip.engine.march import Ended
from stickslip.engine.outside import strained
from stickslip.engine.recorder import CONTACT, Checkpoint, Header, Recorder
from stickslip.engine.rows import ACTIVE, FOUND, Memory, Record, no_memory
from stickslip.engine.running import Chunk, count_steps, in_words, not_finite, recorded, step_failed, told
from stickslip.engine.systems import Force, simulate_system
from stickslip.engine.thinned import checked_every, thinned
from stickslip.engine.trajectory import Trajectory
from stickslip.engine.watch import JamEvent, JamWatch, watch_for
from stickslip.errors import InputError, RunFailed, StepFailed
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import contact_residuals
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Model, State
from stickslip.scene.scene import Scene
from stickslip.solvers.solution import Solver

MOST_STEPS, MOST_BYTES = 512, 2**25  # in one call of the compiled loop; of few bodies more, where no file waits
ROOM, MOST_ROOM = 8, 2**17  # contacts a step that there is room for at first, and in all ahead of their number
CHUNK_SECONDS = 0.2  # that a call should take: progress and Ctrl-C in between
FIRST, GROWS = 4096, 64  # steps of a body in the first call, and times the steps of the last one at most in the next

OF_STEPS = (
    *("position", "quaternion", "velocity", "status", "iterations", "residual", "velocity_error", "force_error"),
    *("worst", "method", "joint_impulse"),
)


@checked_run(world=world_kind)
def simulate(
    world: Scene | System,
    duration: float,
    dt: float,
    friction: Formulation | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    path: str | os.PathLike[str] | None = None,
    keep_going: bool = False,
    accept: float | None = None,
    effort: int | None = None,
    progress: bool | None = None,
    watch: Literal["jamming"] | None = None,
    scheme: Scheme | None = None,
    *,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    force: Force | None = None,
    control: Force | None = None,
    every: int = 1,
    threads: int = 1,
) -> Trajectory:
    """Run a scene, or a system in generalized coordinates from (q, v), for `duration` seconds in steps of `dt`.

    `friction`: a formulation, Coulomb() where none is given. `solver`: a name or value that suits its problem, that of
    the formulation where none is given. `tol`: the residual that each step aims for, the problem's own where none is
    given. `accept`: the residual that is good enough to go on with, 1e-2 where none is given; such a step is INEXACT,
    and the run warns of them at its end. accept=1e-8 lets nothing pass that missed the usual tol. Above it the run
    raises StepFailed, or with `keep_going` goes on all the same. `path`: an HDF5 file that grows with the run.
    `progress`: a bar on stderr; where None, on a terminal and for runs that take more than two seconds. `watch`:
    "jamming" looks for sliding contacts that enter their locking sector, step by step; what it found is in `events` of
    the trajectory. `scheme`: how bodies in contact move: "midpoint", by the mean of their velocities at both ends of
    the step, second order in dt, or "euler", by that at its end, as most papers print it; that of the formulation where
    none is given. Bodies that nothing touches move by the mean. `q`, `v`, `force`: where a system starts, at rest where
    there is no v, and generalized forces beside its bias, constant or a function of (t, q, v); a scene has its own.
    A model of `load_model` starts at home where there is no q. `control`: the controls of its actuators, constant or a
    function of (t, q, v). `every`: of a scene, so many steps become one in the record, for long runs and large scenes
    (engine/thinned.py); such a run cannot be resumed. `threads`: that share the work where thousands of contacts hang
    together, as in heaps (engine/slabs.py); the bits do not depend on it.
    """
    if not isinstance(world, Scene):
        for name, number in (("every", every), ("threads", threads)):
            if number != 1:
                raise InputError(
                    f"simulate: {name} is {number!r} for the system {world.name!r}, expected it for a scene only"
                )
        return simulate_system(
            world, q, v, duration, dt, friction, solver, tol, force, keep_going, watch, path, progress, scheme, accept,
            control,
        )  # fmt: skip
    for name, given in (("q", q), ("v", v), ("force", force), ("control", control)):
        if given is not None:
            raise InputError(f"simulate: {name} is given for a scene, expected it for a system only")
    how: Any = {"keep_going": keep_going, "scheme": scheme, "accept": accept, "effort": effort, "threads": threads}
    record: Any = {"path": path, "progress": progress, "watch": watch, "every": every}
    return told(run_scene(world, duration, dt, friction, solver, tol, **record, **how))


def run_scene(
    scene: Scene,
    duration: float,
    dt: float,
    friction: Formulation | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    watch: Literal["jamming"] | None = None,
    every: int = 1,
    save_failed: bool = True,
    **how: Any,
) -> Trajectory:
    """`simulate` of a scene without the warning of inexact steps; `save_failed`: the problem of a step that is not
    solved goes to a file; `how`: the other settings of an Engine."""
    steps = count_steps(duration, dt)
    checked_every(every, steps, watch)
    engine, start = engine_of("simulate", scene, dt, friction, solver, tol, **how)
    run = Run(engine, scene.names, watch_for(watch), save_failed, in_file=path is not None)
    header = Header.of(
        engine.model,
        scene.names,
        scene.joint_names,
        **in_words(engine),
        duration=float(duration) if every == 1 else math.nan,
        scheme="euler" if engine.rules.euler else "midpoint",
        effort=engine.rules.effort,
        keep_going=engine.keep_going,
        watch=watch or "",
        scene="" if path is None else written(scene),
        digest=digest(engine.model),
    )
    chunks = run.chunks(steps)
    kept = chunks if every == 1 else thinned(chunks, every)
    recorder = Recorder(header, start, path, steps=steps // every)
    return recorded(recorder, kept, steps // every, progress, Trajectory)


def engine_of(
    owner: str,
    scene: Scene,
    dt: float,
    friction: Formulation | None,
    solver: str | Solver | None,
    tol: float | None,
    **how: Any,
) -> tuple[Engine, State]:
    """The engine of a scene as it is now, and the state that it starts from."""
    formulation = checked_formulation(owner, friction)
    method = checked_solver(owner, solver, formulation)
    model, state, drives = compile_scene(scene)
    start = state.copy()
    engine = Engine(model, state, drives, dt, formulation, method, tol, **how)
    check_fall(owner, engine, scene.names, model.gravity)
    return engine, start


def check_fall(owner: str, engine: Engine, names: tuple[str, ...], gravity: np.ndarray) -> None:
    """A step is right to tol of the speeds in it. Where gravity ((3,) or one for each copy) and constant forces carry a
    body so far in a step that tol of that is more than its own size, nothing that it rests on holds it."""
    model, h = engine.model, engine.h
    size = np.zeros(model.kind.size)
    np.maximum.at(size, model.shape_body, model.shape_bound)
    with np.errstate(over="ignore"):
        pull = np.linalg.norm(gravity, axis=-1).max() * (model.inverse_mass[:, 0] > 0)
        way = (pull + np.linalg.norm(model.force * model.inverse_mass, axis=1)) * h * h
        lost = np.flatnonzero((engine.tol * way > size) & (size > 0))
    if lost.size:
        body = lost[0]
        raise InputError(
            f"{owner}: gravity and forces carry {names[body]!r} {way[body]:.3g} m in a step of {h:g} s, and tol "
            f"{engine.tol:g} of that is more than its own size, {size[body]:.3g} m, expected a smaller dt, tol or force"
        )


def written(scene: Scene) -> str:
    """The scene as a file has it; nothing where a file cannot hold it, because it has functions."""
    from stickslip.scene.files import scene_text

    try:
        return scene_text(scene)
    except InputError:
        return ""


def digest(model: Model) -> str:
    """By which a model is known again."""
    arrays = zip(Model._fields, map(np.asarray, model), strict=True)
    said = b"".join(f"{name} {array.shape}".encode() + array.tobytes() for name, array in arrays)
    return hashlib.sha256(said).hexdigest()


@dataclass(eq=False)
class Run:
    """A run under way."""

    engine: Engine
    names: tuple[str, ...]
    watch: JamWatch | None = None
    save_failed: bool = True
    in_file: bool = False  # the steps are to be in a file soon

    def chunks(self, steps: int) -> Iterator[Chunk]:
        """The columns and events of some steps at a time, until there are `steps` of them in all, and what the next
        one starts from; of one step where Python functions drive the scene or a watch looks."""
        engine = self.engine
        alone = bool(engine.drives) or self.watch is not None
        first = max(1, FIRST // max(1, engine.work.free.size))
        most = MOST_STEPS if self.in_file else max(MOST_STEPS, first)
        most = 1 if alone else max(1, min(steps, most, MOST_BYTES // engine.step_bytes))
        made, room, size = engine.made, ROOM * most, first
        engine.reserve(most, room)
        engine.compile()
        while made < steps:
            size = min(size, steps - made, most)
            started, engine.record = time.perf_counter(), None
            try:
                record, count, ended = engine.march(size, room)
                seconds = time.perf_counter() - started
                events = () if self.watch is None or not count else engine.look(self.watch, self.names, record)
            except BaseException as stopped:
                begun: Any = engine.record
                if begun is not None and steps_in(begun):
                    yield self.chunk(begun, steps_in(begun), made, time.perf_counter() - started, ())
                if isinstance(stopped, StepNotSolved):
                    raise failure(engine, self.names, stopped, self.save_failed) from None
                raise
            numbers = finite_steps(record, count)
            if numbers:
                yield self.chunk(record, numbers, made, seconds, events, lost=numbers < count)
            if numbers < count:
                raise no_numbers(record, numbers, made + numbers, engine.h, self.names)
            made += count
            if ended == Ended.FULL:
                room = 2 * max(room, int(engine.work.count[FOUND]))
            else:
                room = max(room, min(most * int(1.25 * record.contact_start[count] / count), MOST_ROOM))
                size = max(1, round(size * min(GROWS, CHUNK_SECONDS / seconds)))

    def chunk(
        self, record: Record, count: int, made: int, seconds: float, events: Sequence[JamEvent], lost: bool = False
    ) -> Chunk:
        inside: set[Any] = set() if self.watch is None else self.watch.inside
        checkpoint = checkpoint_of(self.engine.memory, inside)._replace(lost=lost)
        return columns_of(record, count, made, self.engine.h, seconds), events, checkpoint


def checkpoint_of(memory: Memory, inside: set[Any]) -> Checkpoint:
    """A copy of what the next step starts from."""
    known = int(memory.known[0])
    contacts = {f"memory/{name}": getattr(memory, name)[:known].copy() for name in KEPT}
    keys = contacts["memory/key"].tolist() if inside else ()
    contacts["memory/inside"] = np.zeros(known, np.bool_)
    contacts["memory/inside"][: len(keys)] = [tuple(key) in inside for key in keys]
    return Checkpoint(contacts, memory.joint.copy())


def memory_of(checkpoint: Checkpoint) -> tuple[Memory, set[Any]]:
    """What `checkpoint_of` copied."""
    contacts = checkpoint.contacts
    known = len(contacts["memory/key"])
    memory = no_memory(max(known, FIRST_ROOM), checkpoint.joint.size)
    memory.known[0], memory.joint[:] = known, checkpoint.joint
    for name in KEPT:
        getattr(memory, name)[:known] = contacts[f"memory/{name}"]
    inside = contacts["memory/key"][contacts["memory/inside"]]
    return memory, {tuple(key) for key in inside.tolist()}


def steps_in(record: Record) -> int:
    """How many steps a march made before it was broken off."""
    return int((record.status != UNMADE).sum())


def finite_steps(record: Record, count: int) -> int:
    """How many of the first `count` steps lead to states of finite numbers, up to the first that does not."""
    states = [np.isfinite(column[:count]) for column in (record.position, record.quaternion, record.velocity)]
    if all(column.all() for column in states):
        return count
    return int(np.argmin(np.all([column.all(axis=(1, 2)) for column in states], axis=0)))


def no_numbers(record: Record, k: int, step: int, h: float, names: Sequence[str]) -> RunFailed:
    """The error of step k of the record, which leads to a state that is not made of numbers."""
    for field in State._fields:
        value = getattr(record, field)[k]
        if not np.isfinite(value).all():
            body = int(np.argmin(np.isfinite(value).all(axis=1)))
            return not_finite(step, h * step, f"the {field} of {names[body]!r}", value[body])
    raise AssertionError  # one of them is not finite, or this is not called


def columns_of(record: Record, count: int, made: int, dt: float, seconds: float) -> dict[str, Any]:
    """The columns of the first `count` steps of a record, which share its time evenly."""
    columns: dict[str, Any] = {name: getattr(record, name)[:count] for name in OF_STEPS}
    columns["time"] = dt * np.arange(made + 1.0, made + count + 1.0)
    columns["seconds"] = np.full(count, seconds / count)
    columns["contact_start"] = record.contact_start[: count + 1]
    return columns | {f"contacts/{name}": column for name, column in contacts_of(record, count).items()}


def contacts_of(record: Record, count: int) -> dict[str, Any]:
    """The columns of the contacts of the first `count` steps."""
    last = int(record.contact_start[count])
    return {name: getattr(record, "velocity_after" if name == "velocity" else name)[:last] for name in CONTACT}


def failure(engine: Engine, names: tuple[str, ...], stopped: StepNotSolved, save: bool = True) -> StepFailed:
    """The error of a step that was not solved, with its problem saved beside where it should be."""
    if isinstance(stopped, JointsLost):
        a, b = (names[body[stopped.joint]] for body in (engine.model.joint_a, engine.model.joint_b))
        return StepFailed(
            f"step {engine.made} at time {engine.time:g} s was not solved: joint {stopped.joint} between {a!r} and "
            f"{b!r} came apart by {stopped.share:.1e} of their size (accept {engine.accept:.0e}); try a smaller dt, a "
            f"larger accept, or keep_going=True",
            None,
            engine.made,
            "",
        )
    answer, work, where = stopped.solved.answer, engine.work, ""
    contacts = stopped.members[stopped.members < work.count[ACTIVE]]
    if isinstance(answer.problem, ConeProblem) and contacts.size:
        errors = contact_residuals(answer.problem, answer.x, answer.y)[: contacts.size]
        worst = work.rows.found[contacts[int(np.argmax(errors))]]
        a, b = (names[engine.model.shape_body[shape[worst]]] for shape in work.contacts[:2])
        where = f"; the worst contact is {worst}, between {a!r} and {b!r}"
        if strained(answer.problem, answer.x):
            where += "; impulses grow without bound, as where a body is pressed from two sides; springs, those of "
            where += "CompliantCone(), give way"
    return step_failed(answer, engine.made, f"at time {engine.time:g} s", where, save)
