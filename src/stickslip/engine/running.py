"""What every run has: a number of steps, a bar that shows how far it got, and an error where a step is not solved."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from stickslip.checks import shown
from stickslip.engine.arguments import seconds
from stickslip.engine.interrupts import listening, uninterrupted
from stickslip.engine.recorder import Checkpoint, Record, Recorder
from stickslip.engine.rows import METHODS
from stickslip.engine.threads import one_thread
from stickslip.engine.watch import JamEvent
from stickslip.errors import FileError, InexactWarning, InputError, RunFailed, StepFailed
from stickslip.problems.files import save
from stickslip.solvers.solution import Solution

if TYPE_CHECKING:
    from stickslip.engine.trajectory import Trajectory

    S = TypeVar("S", bound=Trajectory)

Chunk: TypeAlias = tuple[dict[str, Any], Sequence[JamEvent], Checkpoint]  # what Recorder.append takes

MOST_STEPS = 10**9  # of a run: days of the smallest scene
PATIENT = 2.0  # seconds before a progress bar shows


def count_steps(duration: float, dt: float) -> int:
    """How many steps of dt make up a duration."""
    duration, dt = seconds("simulate", "duration", duration), seconds("simulate", "dt", dt)
    if duration / dt > MOST_STEPS:
        given = f"duration is {duration:g} and dt {dt:g}, which makes {duration / dt:.3g} steps"
        raise InputError(f"simulate: {given}, expected at most {MOST_STEPS:g}")
    steps = round(duration / dt)
    if abs(steps * dt - duration) > 1e-6 * dt or steps == 0:
        raise InputError(f"simulate: duration is {duration:g} and dt {dt:g}, expected a whole number of steps")
    return steps


def recorded(
    recorder: Recorder,
    chunks: Iterable[Chunk],
    steps: int,
    progress: bool | None,
    trajectory_of: Callable[[Record], S],
) -> S:
    """Make a run of its chunks. However it ends, its steps are kept in its file, and in `trajectory` of the error."""
    with one_thread(), listening(), recorder, progress_bar(steps, progress, made=recorder.steps) as done:
        try:
            for chunk in chunks:
                with uninterrupted():
                    recorder.append(*chunk)
                done(chunk[0]["time"].size)
            recorder.finish()
        except BaseException as error:
            with suppress(FileError):
                recorder.finish(finished=False)
            if recorder.record is not None:
                error.trajectory = trajectory_of(recorder.record)  # type: ignore[attr-defined]
            raise
    return trajectory_of(recorder.finish())


def in_words(how: Any) -> dict[str, Any]:
    """What the header of a record says of how the steps of an Engine, or of a system, are made."""
    made_by = {"formulation": repr(how.formulation), "solver": str(how.solver), "methods": METHODS}
    return {"dt": how.h, "tol": how.tol, "accept": how.accept} | made_by


def not_finite(step: int, now: float, what: str, value: Any) -> RunFailed:
    """The error of a step that leads to a state which is not made of numbers."""
    return RunFailed(
        f"step {step} at time {now:g} s leads to {shown(np.asarray(value).tolist())} for {what}, expected finite "
        f"numbers; the steps before are kept, try a smaller dt"
    )


@contextmanager
def progress_bar(
    count: int, wanted: bool | None, doing: str = "simulating", what: str = "steps", made: int = 0
) -> Iterator[Any]:
    """A function to call with the number of steps made; it draws a bar once the run has taken two seconds.

    `doing` and `what` are the words of the bar; so many were `made` before."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=count, completed=made)
    started = time.monotonic()
    try:

        def advance(count: int) -> None:
            bar.advance(task, count)
            if not bar.live.is_started and time.monotonic() - started > PATIENT:
                bar.start()

        yield advance
    finally:
        bar.stop()


def told(run: S) -> S:
    """The run, after a warning where some of its steps are inexact."""
    if run.inexact.size:
        warnings.warn(f"simulate: {run.accuracy}", InexactWarning, stacklevel=4)
    return run


def step_failed(answer: Solution, number: int, which: str, where: str = "", keep: bool = True) -> StepFailed:
    """The error of a step that was not solved; `which` step it is, and `where`. Its problem is saved beside to keep."""
    file, kept = f"stickslip-failed-step-{number}.h5" if keep else "", "Its problem is not saved"
    if keep:
        try:
            save(answer.problem, file)
            kept = f"The problem is saved in {file}"
        except FileError as error:
            kept, file = f"Its problem is not saved ({error})", ""
        except InputError:
            kept, file = "Its friction is a function, so the problem is not saved", ""
    return StepFailed(
        f"step {number} {which} was not solved: {answer.method} ended with {answer.status.name}, "
        f"residual {answer.residual:.1e} (tol {answer.solver.tol:.0e}){where}. {kept}; try a "
        f"smaller dt, a larger tol or accept, another solver, or keep_going=True",
        answer,
        number,
        file,
    )
