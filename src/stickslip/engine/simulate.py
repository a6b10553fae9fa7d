"""`simulate(scene, ...)`: from a scene to a Trajectory.

Every scene, joint, formulation and solver takes one road: the loop of engine/march.py, which calls the outside where a
step needs that (engine/engine.py).

A step whose solve fails ends the run with StepFailed: it names the time, the worst contact and its bodies, and the file
with the problem, which `stickslip solve` reads. With `keep_going` the run goes on from the best impulses found, and the
trajectory's status says which steps failed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.generalized import System
from stickslip.engine.engine import Engine, StepNotSolved
from stickslip.engine.march import Ended
from stickslip.engine.recorder import Chunk, ContactColumns, Header, Recorder
from stickslip.engine.rows import ACTIVE, FOUND, METHODS, Record
from stickslip.engine.running import count_steps, progress_bar
from stickslip.engine.systems import Force, simulate_system
from stickslip.engine.trajectory import Trajectory
from stickslip.engine.watch import JamWatch, watch_for
from stickslip.errors import InputError, StepFailed
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import contact_residuals
from stickslip.problems.files import save
from stickslip.scene.compile import compile_scene
from stickslip.scene.scene import Scene
from stickslip.solvers.solution import Solver

MOST_STEPS = 1024  # in one call of the compiled loop
CHUNK_SECONDS = 0.2  # that such a call should take: progress and Ctrl-C in between


def simulate(
    world: Scene | System,
    duration: float,
    dt: float,
    friction: Formulation | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    path: str | os.PathLike[str] | None = None,
    keep_going: bool = False,
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
    the formulation where none is given. `tol`: bound on the residual of each step, the problem's own where none is
    given. `path`: an HDF5 file that grows with the run. `progress`: a bar on stderr; where None, on a terminal and for
    runs that take more than two seconds. `watch`: "jamming" looks for sliding contacts that enter their locking sector,
    step by step; what it found is in `events` of the trajectory. `scheme`: how bodies in contact move: "midpoint", by
    the mean of their velocities at both ends of the step, second order in dt, or "euler", by that at its end, as most
    papers print it; that of the formulation where none is given. Bodies that nothing touches move by the mean.
    `q`, `v`, `force`: where a system starts, at rest where there is no v, and generalized forces beside its bias,
    constant or a function of (t, q, v); a scene has its own.
    """
    if not isinstance(world, Scene):
        name = system_name(world)
        if q is None:
            raise InputError(f"simulate: q is None for the system {name!r}, expected its coordinates")
        return simulate_system(
            world, q, np.zeros(world.velocities) if v is None else v, duration, dt, friction, solver, tol, force,
            keep_going, watch, path, progress, scheme,
        )  # fmt: skip
    for name, given in (("q", q), ("v", v), ("force", force)):
        if given is not None:
            raise InputError(f"simulate: {name} is given for a scene, expected it for a system only")
    scene = world
    formulation: Formulation = Coulomb() if friction is None else friction
    steps = count_steps(duration, dt)
    model, state, drives = compile_scene(scene)
    start = state.copy()
    engine = Engine(model, state, drives, float(dt), formulation, solver or formulation.solver, tol, keep_going, scheme)
    run = Run(engine, scene.names, watch_for(watch))
    header = Header.of(
        model,
        scene.names,
        dt=engine.h,
        formulation=repr(formulation),
        solver=str(engine.solver),
        tol=engine.tol,
        methods=METHODS,
        joint_names=scene.joint_names,
    )
    with Recorder(header, start, path) as recorder, progress_bar(steps, progress) as done:
        try:
            for chunk in run.chunks(steps):
                recorder.append(chunk)
                done(chunk.time.size)
        except StepFailed as error:
            error.trajectory = Trajectory(recorder.finish(finished=False))
            raise
        return Trajectory(recorder.finish())


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

    def chunks(self, steps: int) -> Iterator[Chunk]:
        """The steps, some at a time; one by one where Python functions drive the scene or a watch looks."""
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
                    yield chunk_of(stopped.record, stopped.made, made, engine.h, time.perf_counter() - started)
                raise failure(engine, self.names, stopped) from None
            seconds = time.perf_counter() - started
            if count:
                events = () if self.watch is None else engine.look(self.watch, self.names, record)
                yield chunk_of(record, count, made, engine.h, seconds)._replace(events=events)
            made += count
            if ended == Ended.FULL:
                room = 2 * max(room, int(engine.work.count[FOUND]))
            elif not alone:
                size = (
                    max(16, size * 2) if seconds < CHUNK_SECONDS / 2 else max(1, round(size * CHUNK_SECONDS / seconds))
                )
                room = max(room, 4 * size * max(8, int(record.contact_start[count]) // count))


def chunk_of(record: Record, count: int, made: int, dt: float, seconds: float) -> Chunk:
    """The first `count` steps of a record, which share its time evenly."""
    last = int(record.contact_start[count])
    return Chunk(
        time=dt * np.arange(made + 1.0, made + count + 1.0),
        position=record.position[:count],
        quaternion=record.quaternion[:count],
        velocity=record.velocity[:count],
        status=record.status[:count],
        iterations=record.iterations[:count],
        residual=record.residual[:count],
        seconds=np.full(count, seconds / count),
        contact_start=record.contact_start[: count + 1],
        contacts=ContactColumns(
            shape_a=record.shape_a[:last],
            shape_b=record.shape_b[:last],
            feature=record.feature[:last],
            point=record.point[:last],
            normal=record.normal[:last],
            gap=record.gap[:last],
            friction=record.friction[:last],
            impulse=record.impulse[:last],
            velocity=record.velocity_after[:last],
            state=record.state[:last],
            tangent=record.tangent[:last],
            moment=record.moment[:last],
            spin=record.spin[:last],
            left_out=record.left_out[:last],
        ),
        method=record.method[:count],
        joint_impulse=record.joint_impulse[:count],
    )


def failure(engine: Engine, names: tuple[str, ...], stopped: StepNotSolved) -> StepFailed:
    """The error of a step that was not solved, with its problem saved beside."""
    answer = stopped.solved.answer
    number, work = engine.made, engine.work
    file = f"stickslip-failed-step-{number}.h5"
    try:
        save(answer.problem, file)  # type: ignore[arg-type]  # formulations make no CylinderProblem
        kept = f"The problem is saved in {file}"
    except InputError:
        kept, file = "Its friction is a function, so the problem is not saved", ""
    where = ""
    contacts = stopped.members[stopped.members < work.count[ACTIVE]]
    if isinstance(answer.problem, ConeProblem) and contacts.size:
        errors = contact_residuals(answer.problem, answer.x, answer.y)[: contacts.size]
        worst = work.rows.found[contacts[int(np.argmax(errors))]]
        a, b = (names[engine.model.shape_body[shape[worst]]] for shape in work.contacts[:2])
        where = f"; the worst contact is {worst}, between {a!r} and {b!r}"
    return StepFailed(
        f"step {number} at time {engine.time:g} s was not solved: {answer.method} ended with {answer.status.name}, "
        f"residual {answer.residual:.1e} (tol {answer.solver.tol:.0e}){where}. {kept}; try a "
        f"smaller dt, a larger tol, another solver, or keep_going=True",
        answer,
        number,
        file,
    )
