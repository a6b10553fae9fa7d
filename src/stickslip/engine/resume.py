"""`resume("run.h5")`: go on with a run that was killed, broken off or finished, to the same bits as if it never was.

A step depends on the state, on what the engine remembers of the step before (the impulses it starts from, how they
changed, how often an island was hard to solve), on the time, and on how the run is made. The file of a run has all of
these, with every block that is written (engine/recorder.py). What a file cannot hold, Python functions, is given again.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stickslip.dynamics.generalized import System, a_system
from stickslip.dynamics.mujoco import LoadedModel
from stickslip.engine.arguments import FORMULATION, SCHEME, checked_run
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.engine import Engine
from stickslip.engine.names import value_of
from stickslip.engine.recorder import MODEL, SCENE, Checkpoint, Record, Recorder, own_version
from stickslip.engine.running import Chunk, count_steps, recorded, told
from stickslip.engine.simulate import Run, digest, memory_of
from stickslip.engine.steppers import How, ModelStepper, Stepper, stepper_of
from stickslip.engine.systems import Force, chunks, tell_unrecovered
from stickslip.engine.target import being_written, is_locked
from stickslip.engine.trajectory import Trajectory
from stickslip.engine.watch import watch_for
from stickslip.errors import FileError, InputError
from stickslip.friction.formulation import Formulation
from stickslip.scene.compile import compile_scene
from stickslip.scene.files import read_run
from stickslip.scene.model import State
from stickslip.scene.scene import Scene
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import known_method


@checked_run(world=world_kind, friction=FORMULATION, solver=known_method)
def resume(
    path: str | os.PathLike[str],
    duration: float | None = None,
    world: Scene | System | None = None,
    *,
    friction: Formulation | None = None,
    solver: str | Solver | None = None,
    force: Force | None = None,
    control: Force | None = None,
    progress: bool | None = None,
    threads: int = 1,
) -> Trajectory:
    """Go on with the run in a file of `simulate(..., path=...)`, up to `duration` seconds from its start, to the same
    bits as a run that was never stopped.

    `duration`: what the run was asked for where None; a run that has come so far already is returned as it is. `world`:
    the scene where it has Python functions, which no file holds, and every system. `friction`, `solver`: where they
    are made of functions or by the caller. `force`, `control`: those that a system ran with. All must be those of the
    run, of which the file knows enough to refuse most others. The file goes on as a copy, which takes its place when
    complete. `threads`: as in `simulate`.
    """
    if is_locked(os.fspath(path)):
        raise being_written(os.fspath(path))
    with Trajectory.load(path) as run:
        record, name = run._record, os.fspath(path)
        header, checkpoint = record.header, record.checkpoint()
        if checkpoint is None or math.isnan(header.duration):
            why = "its last step led to no numbers" if record.ledger and record.ledger.lost else "it has no checkpoint"
            raise FileError(f"{name}: this run cannot go on, {why}; expected one of simulate(..., path=...), every=1")
        seconds = header.duration if duration is None else duration
        steps = count_steps(seconds, header.dt)
        if steps < record.steps:
            has = record.steps * header.dt
            raise InputError(f"resume: duration is {seconds:g} s, expected at least the {has:g} s that {name} has")
        if header.version != own_version():
            warnings.warn(
                f"resume: {name} was written by stickslip {header.version}; {own_version()} goes on from its state, "
                f"and promises the same bits only for runs of its own",
                stacklevel=2,
            )
        formulation = same_value(name, "friction", header.formulation, friction)
        method = same_value(name, "solver", header.solver, solver)
        if control is not None and header.world != MODEL:
            raise InputError(f"resume: control is given for {name}, expected it for a model with actuators only")
        if threads != 1 and header.world != SCENE:
            raise InputError(f"resume: threads is {threads!r} for the run of a system, expected it for a scene only")
        given = name, record, checkpoint, world, formulation, method, force
        ready = ready_scene(*given, threads) if header.world == SCENE else ready_system(*given, control)
        if steps > record.steps:
            longer = replace(record, header=replace(header, duration=float(seconds)))
            recorder = Recorder.after(longer, path)
            goes_on = recorded(recorder, ready.chunks(steps), steps, progress, ready.trajectory)
            tell_unrecovered(ready.stepper, steps)
            return told(goes_on)
    return Trajectory.load(path)


class Ready(NamedTuple):
    """What goes on with a run: its chunks up to so many steps, the trajectory of a record, and what steps a system."""

    chunks: Callable[[int], Iterator[Chunk]]
    trajectory: Callable[[Record], Trajectory]
    stepper: Stepper | None = None


def same_value(name: str, field: str, text: str, given: Any) -> Any:
    """The formulation or solver of the run: what was given again, or what its text in the file says."""
    if given is not None:
        if str(given) != text:
            raise InputError(f"resume: {field} is {given}, expected that of the run in {name}, {text}")
        return given
    try:
        return value_of(text)
    except InputError:
        raise InputError(
            f"resume: {field} is None, but a file cannot hold that of {name}, {text}; expected it once more"
        ) from None


def ready_scene(
    name: str, record: Record, checkpoint: Checkpoint, world: Any, formulation: Formulation, solver: Any, force: Any,
    threads: int,
) -> Ready:  # fmt: skip
    header = record.header
    if force is not None:
        raise InputError("resume: force is given for a scene, expected it for a system only")
    if world is None and not header.scene:
        raise InputError(f"resume: world is None, but the scene of {name} has Python functions; expected it once more")
    scene = read_run(header.scene, name)[0] if world is None else world
    if not isinstance(scene, Scene):
        raise InputError(f"resume: world is {type(scene).__name__}, expected the Scene of {name}")
    model, state, drives = compile_scene(scene)
    if digest(model) != header.digest:
        raise InputError(f"resume: world is another scene than that of {name}, expected the same bodies and numbers")
    engine = Engine(
        model, state, drives, header.dt, formulation, solver, header.tol, header.keep_going, header.scheme,  # type: ignore[arg-type]
        header.accept, header.effort, threads,
    )  # fmt: skip
    last = State(*(record.read(column, record.steps, record.steps + 1)[0] for column in State._fields))
    memory, inside = memory_of(checkpoint)
    if record.steps:
        engine.go_on(last, memory, record.steps)
    return Ready(Run(engine, scene.names, watch_for(header.watch or None, inside), in_file=True).chunks, Trajectory)


def ready_system(
    name: str, record: Record, checkpoint: Checkpoint, world: Any, formulation: Formulation, solver: Any, force: Any,
    control: Any,
) -> Ready:  # fmt: skip
    header, made, memory = record.header, record.steps, checkpoint.contacts
    if world is None:
        raise InputError(f"resume: world is None, but {name} is a run of the system {header.name!r}; expected it again")
    a_system("resume", "world", world)
    system: System = world
    if header.world == MODEL and made and not len(memory["memory/key"]):
        raise FileError(f"{name}: this run cannot go on, it was written before runs of models could")
    q, v = (record.read(column, made, made + 1)[0] for column in ("q", "v"))
    if isinstance(system, LoadedModel) != (header.world == MODEL):
        raise InputError(f"resume: world is {type(system).__name__}, expected the {header.world} of {name}")
    if (q.size, v.size) != (system.coordinates, system.velocities):
        raise InputError(f"resume: world has {system.coordinates} coordinates, expected the {q.size} of {name}")
    how = How(header.dt, formulation, solver, header.tol, SCHEME("simulate", "scheme", header.scheme))
    stepper = stepper_of(system, q, v, how, force, control)
    stepper.number = made
    stepper.put(q, v)
    if not same_world(record, stepper):
        raise InputError(
            f"resume: world, the system {system.name!r}, has other contacts, gaps or energy than {name} ends with, "
            f"expected the same system"
        )
    if made:
        stepper.recall(memory)
    watch = watch_for(header.watch or None, set(np.flatnonzero(memory["memory/inside"]).tolist()))
    return Ready(lambda steps: chunks(stepper, header, watch, steps), stepper.trajectory, stepper)


def same_world(record: Record, stepper: Stepper) -> bool:
    """Is a system what the file says that it was in the end?"""
    header = record.header
    if isinstance(stepper, ModelStepper):
        return stepper.system.digest == header.digest
    now = stepper.state()
    ends = {name: record.read(name, record.steps, record.steps + 1)[0] for name in ("gap", "kinetic")}
    same = all(np.array_equal(now[name], end) for name, end in ends.items())
    return same and stepper.names() == header.names and stepper.system.name == header.name
