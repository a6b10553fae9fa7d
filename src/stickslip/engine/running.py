"""What every run has: a number of steps, a bar that shows how far it got, and an error where a step is not solved."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from stickslip.errors import InexactWarning, InputError, StepFailed
from stickslip.problems.files import save
from stickslip.solvers.solution import Solution

if TYPE_CHECKING:
    from stickslip.engine.trajectory import Trajectory

    S = TypeVar("S", bound=Trajectory)

PATIENT = 2.0  # seconds before a progress bar shows


def checked_seconds(owner: str, field: str, value: Any) -> float:
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise InputError(f"{owner}: {field} is {value!r}, expected a positive number of seconds")
    return float(value)


def count_steps(duration: float, dt: float) -> int:
    checked_seconds("simulate", "duration", duration)
    checked_seconds("simulate", "dt", dt)
    steps = round(duration / dt)
    if abs(steps * dt - duration) > 1e-6 * dt or steps == 0:
        raise InputError(f"simulate: duration is {duration:g} and dt {dt:g}, expected a whole number of steps")
    return steps


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


def told(run: S) -> S:
    """The run, after a warning where some of its steps are inexact."""
    if run.inexact.size:
        warnings.warn(f"simulate: {run.accuracy}", InexactWarning, stacklevel=3)
    return run


def step_failed(answer: Solution, number: int, which: str, where: str = "") -> StepFailed:
    """The error of a step that was not solved, with its problem saved beside; `which` step it is, and `where`."""
    file = f"stickslip-failed-step-{number}.h5"
    try:
        save(answer.problem, file)
        kept = f"The problem is saved in {file}"
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
