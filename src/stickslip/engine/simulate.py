"""`simulate(scene, ...)`: from a scene to a Trajectory.

Scenes without joints under Coulomb's law with the default solver run in the compiled loop, engine/march.py, many
steps a call; all others in engine/step.py, one step a call. Both make the same steps. Where the compiled loop
cannot solve a step, the interior point method does, and where that fails, step.py with all methods of `auto`.

A step whose solve fails ends the run with StepFailed: it names the time, the worst contact and its bodies, and the file
with the problem, which `stickslip solve` reads. With `keep_going` the run goes on from the best impulses found, and the
trajectory's status says which steps failed.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stickslip.errors import InputError, StepFailed
from stickslip.friction.cones import RoundCones
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.impact import Newton
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.stabilisation import Gap, Relaxation
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import contact_residuals
from stickslip.problems.files import save
from stickslip.problems.lcp import LCP
from stickslip.problems.residual import judge_cone
from stickslip.scene.compile import Drives, compile_scene
from stickslip.scene.model import Model, State
from stickslip.scene.scene import Scene
from stickslip.engine.march import Ended, Record, Rules, march, posed, remember, room_to_record
from stickslip.engine.recorder import Chunk, ContactColumns, Header, Recorder
from stickslip.engine.step import Engine, StepOutcome, step
from stickslip.engine.trajectory import Trajectory
from stickslip.engine.watch import JamEvent, JamWatch, watch_for
from stickslip.solvers.block_lu import MOST_CONTACTS
from stickslip.solvers.cone_interior_point import iterate as follow_path
from stickslip.solvers.solution import Solver, Status

CLOSER = 0.1  # share of tol that the interior point method goes down to, lest the next step start just above tol
SWEEPS, PATIENCE, FEW, LONG_PATIENCE = 2000, 40, 300, 200  # of Gauss–Seidel in the compiled loop, see Rules
FACTORISATIONS, RESTARTS = 150, 12  # of the interior point method, see ConeInteriorPoint
MOST_STEPS = 1024  # in one call of the compiled loop
CHUNK_SECONDS = 0.2  # that such a call should take: progress and Ctrl-C in between
ROUND = (RoundCones, LimitSurface)  # whose problems have the tolerance of ConeProblem
PATIENT = 2.0  # seconds before a progress bar shows


def simulate(
    scene: Scene,
    duration: float,
    dt: float,
    friction: Formulation | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    path: str | os.PathLike[str] | None = None,
    keep_going: bool = False,
    progress: bool | None = None,
    watch: Literal["jamming"] | None = None,
) -> Trajectory:
    """Run a scene for `duration` seconds in steps of `dt`.

    `friction`: a formulation, Coulomb() where none is given. `solver`: a name or value that suits its problem, that of
    the formulation where none is given. `tol`: bound on the residual of each step, the problem's own where none is
    given. `path`: an HDF5 file that grows with the run. `progress`: a bar on stderr; where None, on a terminal and for
    runs that take more than two seconds. `watch`: "jamming" looks for sliding contacts that enter their locking sector,
    step by step in Python; what it found is in `events` of the trajectory.
    """
    formulation: Formulation = Coulomb() if friction is None else friction
    steps = count_steps(duration, dt)
    model, state, drives = compile_scene(scene)
    watching = watch_for(watch)
    run = Run(
        model,
        state,
        drives,
        float(dt),
        formulation,
        solver or formulation.solver,
        tol,
        keep_going,
        scene.names,
        watching,
    )
    header = Header.of(
        model, scene.names, dt=run.dt, formulation=repr(formulation), solver=str(run.solver), tol=run.tolerance
    )
    with Recorder(header, state, path) as recorder, progress_bar(steps, progress) as done:
        try:
            for chunk in run.chunks(steps):
                recorder.append(chunk)
                done(chunk.time.size)
        except StepFailed as error:
            error.trajectory = Trajectory(recorder.finish(finished=False))
            raise
        return Trajectory(recorder.finish())


def count_steps(duration: float, dt: float) -> int:
    for name, value in (("duration", duration), ("dt", dt)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise InputError(f"simulate: {name} is {value!r}, expected a positive number of seconds")
    steps = round(duration / dt)
    if abs(steps * dt - duration) > 1e-6 * dt or steps == 0:
        raise InputError(f"simulate: duration is {duration:g} and dt {dt:g}, expected a whole number of steps")
    return steps


def tolerance(formulation: Formulation, solver: str | Solver, tol: float | None) -> float:
    """That each step is solved to: the caller's, the solver's, or that of the problem the formulation makes."""
    if tol is not None:
        return tol
    posed = ConeProblem if isinstance(formulation, ROUND) else LCP
    return getattr(solver, "tol", posed.tolerance)


@dataclass(eq=False)
class Run:
    """A run under way."""

    model: Model
    state: State
    drives: Drives
    dt: float
    formulation: Formulation
    solver: str | Solver
    tol: float | None
    keep_going: bool
    names: tuple[str, ...]
    watch: JamWatch | None = None

    @property
    def tolerance(self) -> float:
        return tolerance(self.formulation, self.solver, self.tol)

    def chunks(self, steps: int) -> Iterator[Chunk]:
        """The steps, some at a time."""
        engine = Engine.of(self.model, self.dt)
        rules = compiled_rules(self)
        made, size, room = 0, 16, 1024
        while made < steps:
            self.drive(engine, made * self.dt)
            if rules is None:
                yield self.one_step(engine, made)
                made += 1
                continue
            size = 1 if self.drives else min(size, steps - made, MOST_STEPS)
            record = room_to_record(self.model, size, room)
            started = time.perf_counter()
            count, ended = self.march(engine, rules, record)
            seconds = time.perf_counter() - started
            if count:
                yield chunk_of(record, count, made, self.dt, seconds)
            made += count
            match Ended(ended):
                case Ended.DONE:
                    size = size * 2 if seconds < CHUNK_SECONDS / 2 else max(1, round(size * CHUNK_SECONDS / seconds))
                    room = 4 * size * max(8, int(record.contact_start[count]) // count)
                case Ended.NO_ROOM:
                    engine.enlarge(2 * engine.work.contacts.capacity)
                case Ended.FULL:
                    room = max(2 * room, 4 * engine.work.contacts.capacity)
                case Ended.NOT_SOLVED:
                    yield self.one_step(engine, made)
                    made += 1

    def march(self, engine: Engine, rules: Rules, record: Record) -> tuple[int, int]:
        """Fill a record by the compiled loop, and by the interior point method where that needs it."""
        count, ended = 0, int(Ended.NOT_SOLVED)
        while True:
            count, ended = march(self.state, rules, engine.work, engine.memory, record, count)
            if ended != Ended.NOT_SOLVED or not followed_path(engine, self.state, rules):
                return count, ended

    def drive(self, engine: Engine, now: float) -> None:
        """What the scene's functions push and prescribe at this time."""
        if self.drives:
            force = engine.work.bodies.force
            force[:, :3], force[:, 3:] = self.model.force, self.model.torque
            self.drives.prescribe(now, self.state)
            self.drives.add_forces(now, self.state, self.model, force[:, :3], force[:, 3:])

    def one_step(self, engine: Engine, number: int) -> Chunk:
        before = self.state.copy()
        engine.time = number * self.dt
        outcome = step(engine, self.state, self.formulation, self.solver, self.tol)
        if not outcome.answer.solved and not self.keep_going:
            for array, value in zip(self.state, before, strict=True):
                array[:] = value
            raise failure(self, engine, outcome, number)
        events: Sequence[JamEvent] = ()
        if self.watch is not None:
            now, contacts = number * self.dt, named_contacts(self, engine, outcome.count)
            slow = self.formulation.slip_speed
            events = self.watch.look(outcome.problem, outcome.mu, outcome.state, slow, now, number, contacts)
        return chunk_of_one(engine, self.state, outcome, (number + 1) * self.dt)._replace(events=events)


def named_contacts(run: Run, engine: Engine, count: int) -> list[tuple[tuple[int, ...], str]]:
    """Of each contact the shapes and features, which persist, and the bodies by name."""
    keys = zip(*(column[:count].tolist() for column in engine.work.contacts[:3]), strict=True)
    body = run.model.shape_body
    return [(key, f"{run.names[body[key[0]]]} on {run.names[body[key[1]]]}") for key in keys]


def followed_path(engine: Engine, state: State, rules: Rules) -> bool:
    """Solve the step at hand by the interior point method, and remember its impulses for the loop to start from."""
    W, q, mu, start = posed(state, rules, engine.work, engine.memory)
    if mu.size > MOST_CONTACTS:
        return False
    p = start.copy()
    follow_path(W, q, mu, mu, CLOSER * rules.tol, FACTORISATIONS, RESTARTS, p)
    if not judge_cone(W, q, mu, mu, rules.tol, p, np.empty_like(p))[1]:
        return False
    remember(engine.memory, engine.work.contacts, engine.work.rows, mu.size, p, start)
    engine.memory.answered[0] = True
    return True


def compiled_rules(run: Run) -> Rules | None:
    """The rules of the compiled loop, or None where it does not apply."""
    law = run.formulation
    if (
        run.watch is not None
        or not isinstance(law, Coulomb)
        or not isinstance(law.impact, Newton)
        or run.solver != "auto"
        or run.model.joint.size
    ):
        return None
    springs = law.stabilisation if isinstance(law.stabilisation, Relaxation) else None
    return Rules(
        h=run.dt,
        tol=run.tolerance,
        relaxed=springs is not None,
        stiffness=-1.0 if springs is None or springs.stiffness is None else springs.stiffness,
        damping=-1.0 if springs is None or springs.damping is None else springs.damping,
        closed_only=law.stabilisation is None,
        recovery=law.stabilisation.recovery if isinstance(law.stabilisation, Gap) else 0.0,
        rest_speed=law.impact.rest_speed,
        slip_speed=law.slip_speed,
        sweeps=SWEEPS,
        patience=PATIENCE,
        few=FEW,
        long_patience=LONG_PATIENCE,
    )


def chunk_of(record: Record, count: int, made: int, dt: float, seconds: float) -> Chunk:
    """The first `count` steps of a record of the compiled loop, which shares its time evenly among them."""
    last = int(record.contact_start[count])
    return Chunk(
        time=dt * np.arange(made + 1.0, made + count + 1.0),
        position=record.position[:count],
        quaternion=record.quaternion[:count],
        velocity=record.velocity[:count],
        status=np.full(count, int(Status.SOLVED)),
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
            friction=record.mu[:last],
            impulse=record.impulse[:last],
            velocity=record.slip[:last],
            state=record.state[:last],
        ),
    )


def chunk_of_one(engine: Engine, state: State, outcome: StepOutcome, now: float) -> Chunk:
    count, contacts, d = outcome.count, engine.work.contacts, outcome.problem.dimension
    answer = outcome.answer
    return Chunk(
        time=np.array([now]),
        position=state.position[None],
        quaternion=state.quaternion[None],
        velocity=state.velocity[None],
        status=np.array([int(answer.status)]),
        iterations=np.array([answer.iterations]),
        residual=np.array([answer.residual]),
        seconds=np.array([outcome.seconds]),
        contact_start=np.array([0, count]),
        contacts=ContactColumns(
            shape_a=contacts.shape_a[:count],
            shape_b=contacts.shape_b[:count],
            feature=contacts.feature[:count],
            point=contacts.point[:count],
            normal=contacts.normal[:count],
            gap=contacts.gap[:count],
            friction=outcome.mu,
            impulse=three_components(outcome.impulse, d),
            velocity=three_components(outcome.velocity, d),
            state=outcome.state,
            tangent=engine.work.rows.frame[:count, 1],
            moment=outcome.impulse[3::4] if d == 4 else None,
            spin=outcome.velocity[3::4] if d == 4 else None,
        ),
        joint_impulse=outcome.joints[None],
    )


def three_components(values: Any, d: int) -> Any:
    """(nc, 3) from (d nc,): in the plane the third is zero; spin is left out."""
    parts = values.reshape(-1, d)
    return parts[:, :3] if d >= 3 else np.column_stack([parts, np.zeros(len(parts))])


def failure(run: Run, engine: Engine, outcome: StepOutcome, number: int) -> StepFailed:
    """The error of a step that was not solved, with its problem saved beside."""
    answer = outcome.answer
    file = f"stickslip-failed-step-{number}.h5"
    try:
        save(answer.problem, file)  # type: ignore[arg-type]  # formulations make no CylinderProblem
        kept = f"The problem is saved in {file}"
    except InputError:
        kept, file = "Its friction is a function, so the problem is not saved", ""
    where = ""
    if isinstance(answer.problem, ConeProblem) and outcome.count == answer.problem.contacts:
        worst = int(np.argmax(contact_residuals(answer.problem, answer.x, answer.y)))
        a, b = (run.names[run.model.shape_body[shape[worst]]] for shape in engine.work.contacts[:2])
        where = f"; the worst contact is {worst}, between {a!r} and {b!r}"
    return StepFailed(
        f"step {number} at time {number * run.dt:g} s was not solved: {answer.method} ended with {answer.status.name}, "
        f"residual {answer.residual:.1e} (tol {answer.solver.tol:.0e}){where}. {kept}; try a "
        f"smaller dt, a larger tol, another solver, or keep_going=True",
        answer,
        number,
        file,
    )


@contextmanager
def progress_bar(steps: int, wanted: bool | None) -> Iterator[Any]:
    """A function to call with the number of steps made; it draws a bar once the run has taken two seconds."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=steps)
    started = time.monotonic()
    try:

        def made(count: int) -> None:
            bar.advance(task, count)
            if not bar.live.is_started and time.monotonic() - started > PATIENT:
                bar.start()

        yield made
    finally:
        bar.stop()
