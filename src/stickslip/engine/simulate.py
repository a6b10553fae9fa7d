"""`simulate(scene, ...)`: from a scene to a Trajectory.

Every scene, joint, formulation and solver takes one road: the loop of engine/march.py, which calls the outside where a
step needs that (engine/engine.py).

A step aims for a residual of tol, and is good enough at one of `accept`: then it is marked INEXACT, and the run warns
at its end how many there were and which was the worst. A step above that ends the run with StepFailed: it names the
time, the worst contact and its bodies, and the file with the problem, which `stickslip solve` reads. With `keep_going`
the run goes on from the best impulses found, and the trajectory's status says which steps failed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.generalized import System
from stickslip.engine.engine import Engine, StepNotSolved
from stickslip.engine.march import Ended
from stickslip.engine.recorder import CONTACT, Header, Recorder
from stickslip.engine.rows import ACTIVE, FOUND, METHODS, Record
from stickslip.engine.running import count_steps, progress_bar, step_failed, told
from stickslip.engine.systems import Force, simulate_system
from stickslip.engine.trajectory import Trajectory
from stickslip.engine.watch import JamEvent, JamWatch, watch_for
from stickslip.errors import InputError, StepFailed
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.friction.penalty import Penalty
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import contact_residuals
from stickslip.scene.compile import compile_scene
from stickslip.scene.scene import Scene
from stickslip.solvers.solution import Solver

MOST_STEPS = 1024  # in one call of the compiled loop
CHUNK_SECONDS = 0.2  # that such a call should take: progress and Ctrl-C in between

OF_STEPS = (
    *("position", "quaternion", "velocity", "status", "iterations", "residual", "velocity_error", "force_error"),
    *("worst", "method", "joint_impulse"),
)


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
    """
    if isinstance(friction, Penalty):
        raise InputError(
            f"simulate: friction is {friction!r}, springs that have no steps; expected a formulation, or "
            f"integrate_scene and integrate_system for springs"
        )
    if not isinstance(world, Scene):
        name = system_name(world)
        if q is None:
            raise InputError(f"simulate: q is None for the system {name!r}, expected its coordinates")
        return simulate_system(
            world, q, np.zeros(world.velocities) if v is None else v, duration, dt, friction, solver, tol, force,
            keep_going, watch, path, progress, scheme, accept,
        )  # fmt: skip
    for name, given in (("q", q), ("v", v), ("force", force)):
        if given is not None:
            raise InputError(f"simulate: {name} is given for a scene, expected it for a system only")
    scene = world
    formulation: Formulation = Coulomb() if friction is None else friction
    steps = count_steps(duration, dt)
    model, state, drives = compile_scene(scene)
    start = state.copy()
    engine = Engine(
        model,
        state,
        drives,
        float(dt),
        formulation,
        solver or formulation.solver,
        tol,
        keep_going,
        scheme,
        accept,
        effort,
    )
    run = Run(engine, scene.names, watch_for(watch))
    header = Header.of(
        model,
        scene.names,
        scene.joint_names,
        dt=engine.h,
        formulation=repr(formulation),
        solver=str(engine.solver),
        tol=engine.tol,
        accept=engine.accept,
        methods=METHODS,
    )
    with Recorder(header, start, path) as recorder, progress_bar(steps, progress) as done:
        try:
            for chunk in run.chunks(steps):
                recorder.append(*chunk)
                done(chunk[0]["time"].size)
        except StepFailed as error:
            error.trajectory = Trajectory(recorder.finish(finished=False))
            raise
        return told(Trajectory(recorder.finish()))


def system_name(world: System) -> str:
    """Of a system in generalized coordinates, or the error that it is none."""
    if not all(hasattr(world, name) for name in ("mass", "bias", "velocities", "contacts", "moved")):
        raise InputError(f"simulate: world is {world!r}, expected a Scene or a System")
    return world.name


@dataclass(eq=False)
class Run:
    """A run under way."""

    engine: Engine
    names: tuple[str, ...]
    watch: JamWatch | None = None

    def chunks(self, steps: int) -> Iterator[tuple[dict[str, Any], Sequence[JamEvent]]]:
        """The columns and events of some steps at a time; of one where Python functions drive the scene or a watch
        looks."""
        engine = self.engine
        alone = bool(engine.drives) or self.watch is not None
        made, size, room = 0, 1, 1024  # the first step alone: it may compile, which the others' time must not show
        while made < steps:
            size = min(size, steps - made, MOST_STEPS)
            started = time.perf_counter()
            try:
                record, count, ended = engine.march(size, room)
            except StepNotSolved as stopped:
                if stopped.record is not None and stopped.made:
                    yield columns_of(stopped.record, stopped.made, made, engine.h, time.perf_counter() - started), ()
                raise failure(engine, self.names, stopped) from None
            seconds = time.perf_counter() - started
            if count:
                events = () if self.watch is None else engine.look(self.watch, self.names, record)
                yield columns_of(record, count, made, engine.h, seconds), events
            made += count
            if ended == Ended.FULL:
                room = 2 * max(room, int(engine.work.count[FOUND]))
            elif not alone:
                size = (
                    max(16, size * 2) if seconds < CHUNK_SECONDS / 2 else max(1, round(size * CHUNK_SECONDS / seconds))
                )
                room = max(room, 4 * size * max(8, int(record.contact_start[count]) // count))


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


def failure(engine: Engine, names: tuple[str, ...], stopped: StepNotSolved) -> StepFailed:
    """The error of a step that was not solved, with its problem saved beside."""
    answer, work, where = stopped.solved.answer, engine.work, ""
    contacts = stopped.members[stopped.members < work.count[ACTIVE]]
    if isinstance(answer.problem, ConeProblem) and contacts.size:
        errors = contact_residuals(answer.problem, answer.x, answer.y)[: contacts.size]
        worst = work.rows.found[contacts[int(np.argmax(errors))]]
        a, b = (names[engine.model.shape_body[shape[worst]]] for shape in work.contacts[:2])
        where = f"; the worst contact is {worst}, between {a!r} and {b!r}"
    return step_failed(answer, engine.made, f"at time {engine.time:g} s", where)
