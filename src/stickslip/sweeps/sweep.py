"""`sweep(function or scene, ...)`: many runs over other parameters, on any engine, into a table that survives.

    throws = sweep(throw, over={"speed": np.linspace(1, 5, 50), "angle": [0.2, 0.4]}, out="throws.h5")
    throws["speed"], throws["value"]                   columns, a row for each run
    throws.plot("speed", "value", hue="angle", path="throws.png")

What is varied is in sweeps/plan.py, how it runs in sweeps/run.py, the file in sweeps/table.py, and what a scene can be
told and asked in sweeps/scenes.py.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from stickslip.checks import (
    checked,
    count,
    either,
    function,
    heading,
    instance,
    mapping,
    shown,
    text,
    truth,
    whole,
    wholes,
)
from stickslip.checks import path as file_path
from stickslip.engine.interrupts import remembered
from stickslip.engine.running import progress_bar
from stickslip.engine.trajectory import Trajectory
from stickslip.errors import FileError, InputError, replacing, short
from stickslip.scene.scene import Scene
from stickslip.sweeps import table as tables
from stickslip.sweeps.compare import said
from stickslip.sweeps.plan import REPETITION, Plan, plan_of
from stickslip.sweeps.run import RNG, Task, engine_of, kept_path, known_engine, run_all
from stickslip.sweeps.scenes import SceneRun, measures_of
from stickslip.sweeps.table import DONE, FAILED, WAITS, About, Column, Row, Table, TableFile

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class FailedRuns(UserWarning):
    """Some runs of a sweep failed; each is a row with its reason."""


class SweepStopped(KeyboardInterrupt):
    """Ctrl-C during a sweep; what was done is in `sweep`, and in its file."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(f"sweep: stopped after {sweep.done.size + sweep.failed.size} of {len(sweep)} runs")
        self.sweep = sweep

    def __reduce__(self) -> tuple[Any, ...]:
        return SweepStopped, (self.sweep,)


class Sweep:
    """The table of a sweep: columns by name, a row for each run. `sweep["friction"]`; also `len(sweep)`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @classmethod
    @checked(path=file_path)
    def load(cls, path: str | os.PathLike[str]) -> Sweep:
        """The table in a file, also of a sweep that was killed or still runs, as far as it got."""
        return cls(tables.read_table(path))

    @checked(path=file_path)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to an HDF5 file, which appears complete or not at all."""
        tables.write_table(self._table, path)

    @checked(path=file_path)
    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as text, with every digit; vectors have a column for each component."""
        flat = self._table.flat()
        with replacing(path) as temporary, open(temporary, "x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["run", *flat])
            writer.writerows(zip(range(len(self)), *map(tables.cells, flat.values()), strict=True))

    def frame(self) -> Any:
        """The table as a DataFrame of pandas, with the number of the run as its index."""
        try:
            import pandas
        except ImportError:
            raise InputError("Sweep.frame: pandas is not installed: pip install pandas") from None
        return pandas.DataFrame(self._table.flat()).rename_axis("run")

    def __len__(self) -> int:
        return len(self._table)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what was varied."""
        return tuple(self._table.parameters)

    @property
    def measured(self) -> tuple[str, ...]:
        """Names of what was measured."""
        return tuple(self._table.measured)

    @property
    def _columns(self) -> dict[str, Column]:
        return {**self._table.parameters, **self._table.measured}

    def __getitem__(self, name: str) -> Column:
        """(n, …) a parameter or a measure of all runs: numbers, nan where a run has none, or texts. One component of a
        vector is `end.x`, of another array `end.0`."""
        columns = self._columns
        found = columns.get(text("Sweep", "the column", name))
        if found is None:
            found = tables.flat_columns(columns).get(name)
        if found is None:
            raise InputError(f"Sweep: there is no column {shown(name)}, expected one of {', '.join(columns)}")
        return tables.texts(found).copy()

    def __contains__(self, name: str) -> bool:
        return name in self._columns or name in tables.flat_columns(self._columns)

    @property
    def done(self) -> Column:
        """The numbers of the runs that are done."""
        return np.flatnonzero(self._table.status == DONE)

    @property
    def failed(self) -> Column:
        """The numbers of those that failed; `reason` says why."""
        return np.flatnonzero(self._table.status == FAILED)

    @property
    def waiting(self) -> Column:
        """The numbers of those that are still to be made."""
        return np.flatnonzero(self._table.status == WAITS)

    def reason(self, number: int) -> str:
        """Why a run failed; empty where it did not."""
        return tables.as_text(self._table.reason[self._row(number)])

    def _row(self, number: int) -> int:
        return whole("Sweep", "number", number, 0, len(self) - 1)

    @property
    def seconds(self) -> Column:
        """(n,) that each run took   [s]"""
        return self._table.seconds.copy()

    def run(self, number: int) -> Trajectory:
        """The trajectory of a run, where `keep` was given."""
        folder, row = self._table.about.keep, self._row(number)
        if not folder:
            raise InputError("Sweep: no trajectories were kept, expected keep='folder' in sweep")
        return Trajectory.load(kept_path(folder, row))

    @checked(x=text, y=text, hue=text, path=file_path, title=heading)
    def plot(
        self, x: str, y: str, hue: str | None = None, path: str | os.PathLike[str] | None = None, title: str = ""
    ) -> Any:
        """Draw y over x, a line for each value of `hue`, with the spread where several runs share a point.

        Returns the figure of Matplotlib, and writes it where a path (.png, .pdf, .svg) is given."""
        from stickslip.view.sweeps import draw_lines

        return draw_lines(self, x, y, hue, path, title)

    @checked(x=text, y=text, z=text, path=file_path, title=heading)
    def map(self, x: str, y: str, z: str, path: str | os.PathLike[str] | None = None, title: str = "") -> Any:
        """Draw z over two parameters of a grid as colours; what was not made is left blank. Otherwise like `plot`."""
        from stickslip.view.sweeps import draw_map

        return draw_map(self, x, y, z, path, title)

    def __repr__(self) -> str:
        parts = [f"{self.done.size} of {len(self)} runs done"]
        parts += [f"{self.failed.size} failed"] if self.failed.size else []
        varied, measured = ", ".join(self.parameters) or "no parameters", ", ".join(self.measured) or "nothing yet"
        return f"Sweep({', '.join(parts)}: {varied} -> {measured})"


RUNNABLE = either(instance(Scene), function, expected="a function, or a Scene")  # a kind of argument


@checked(
    what=RUNNABLE,
    over=mapping,
    repeat=count,
    engine=known_engine,
    workers=wholes(1, 10_000),
    out=file_path,
    seed=whole,
    keep=file_path,
    retry=truth,
    fresh=truth,
    progress=truth,
)
def sweep(
    what: Callable[..., Any] | Scene,
    over: Mapping[str, Any] | None = None,
    *,
    samples: Any = None,
    repeat: int = 1,
    measure: Callable[[Any], Any] | str | Sequence[str] | None = None,
    engine: str | Executor = "threads",
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    keep: str | os.PathLike[str] | None = None,
    retry: bool = False,
    fresh: bool = False,
    progress: bool | None = None,
    **fixed: Any,
) -> Sweep:
    """Run a function or a scene for every combination of parameters, or for samples of them, into a table.

    what       a function of the parameters by name, which returns a number, numbers and texts by name, or a Trajectory;
               or a Scene, whose numbers are varied by their names (`friction`, `box.velocity.y`, `gravity.z`, see
               scene/vary.py) beside the settings of the run: duration, dt, law (a formulation of friction), solver,
               tol, accept, effort, scheme, keep_going
    over       values of each parameter by name: all combinations are run
    samples    instead: columns of equal length by name, or a list of mappings, a run for each row
    repeat     runs of each point, for functions that take random numbers
    measure    what is kept of a run: a function of what it returned, or names such as "box.position.x" and "energy:max"
               (sweeps/scenes.py); where None, what a function returned, and of a scene the usual
    engine     "threads", "processes", "dask" (or "dask:ADDRESS"), "mpi", or any concurrent.futures.Executor
    workers    how many of them, as many as there are cores where None
    out        an HDF5 file that grows chunk by chunk; where it is there already, the sweep goes on from it
    seed       a function with an argument `rng` gets a numpy Generator, which depends on this and the number of the run
    keep       a folder for the trajectories, run by run
    retry      run those again that failed, in a file that is there
    fresh      begin anew where the file is that of another sweep, instead of refusing
    progress   a bar on stderr with the time left; where None, on a terminal
    **fixed    parameters that are the same in all runs

    A run that raises is a row with its reason, and the sweep warns of such runs (FailedRuns) at its end. Ctrl-C raises
    SweepStopped, a KeyboardInterrupt, which has what was done. The same sweep gives the same bits on every engine.
    """
    plan = plan_of("sweep", over, samples, repeat)
    scene = what if isinstance(what, Scene) else None
    function = SceneRun(what) if isinstance(what, Scene) else what
    check_names(function, plan, fixed)
    folder = "" if keep is None else made_folder(keep)
    random = scene is None and RNG in (arguments_of(function) or {})
    task = Task(function, fixed, measures_of(scene, measure), seed, random, folder)
    for name in getattr(task.measure, "names", ()):
        if name in plan.names:
            raise InputError(f"sweep: {name} is varied and measured, expected another name, such as {name}:end")
    about = About(name_of(what), digest_of(task, scene), seed, folder)
    table = Table.of(about, plan.columns(), len(plan))
    if out is not None and os.path.exists(out):
        table = table if fresh and tables.is_sweep(out) else continued(tables.read_table(out), table, os.fspath(out))
    if retry:
        table.status[table.status == FAILED] = WAITS
    waiting = np.flatnonzero(table.status == WAITS).tolist()
    found = Sweep(table)
    if waiting:
        make_runs(found, task, plan, waiting, engine, workers, out, fresh, progress)
    failed = found.failed
    if failed.size:
        which = f"the first is run {failed[0]}: {found.reason(int(failed[0]))}"
        warnings.warn(f"sweep: {failed.size} of {len(found)} runs failed, {which}", FailedRuns, stacklevel=2)
    return found


def make_runs(
    found: Sweep,
    task: Task,
    plan: Plan,
    waiting: list[int],
    engine: str | Executor,
    workers: int | None,
    out: str | os.PathLike[str] | None,
    fresh: bool,
    progress: bool | None,
) -> None:
    table = found._table
    with engine_of(engine, workers, task) as made, remembered() as interrupt:
        file = None if out is None else TableFile(table, out, fresh)
        try:
            with progress_bar(len(table), progress, "sweeping", "runs", len(table) - len(waiting)) as done:

                def put(numbers: Sequence[int], rows: Sequence[Row]) -> None:
                    (table if file is None else file).put(numbers, rows)
                    done(len(numbers))

                run_all(task, plan, waiting, made, put, interrupt.look)
        except KeyboardInterrupt:
            if file is not None:
                file.make()  # it may have come in the middle of a write
            raise SweepStopped(found) from None
        finally:
            if file is not None:
                file.close()


def check_names(function: Any, plan: Plan, fixed: Mapping[str, Any]) -> None:
    """Does the function take what it will be told?"""
    for name in plan.names:
        if name in fixed:
            raise InputError(f"sweep: {name} is fixed and varied, expected one of the two")
    names = [*plan.names, *fixed]
    if isinstance(function, SceneRun):
        function.check(names, fixed)
        return
    if plan.repeat > 1 and REPETITION in names:
        raise InputError(f"sweep: a parameter is called {REPETITION!r}, expected another name beside repeat")
    arguments = arguments_of(function)
    if arguments is None:
        return
    if RNG in arguments and RNG in names:
        raise InputError(f"sweep: {RNG} varies or is fixed, expected another name: {RNG} is where random numbers go")
    taken = [name for name in arguments if name != RNG]
    for name in names:
        if name not in arguments and "**" not in arguments:
            raise InputError(f"sweep: {name_of(function)} takes no {name!r}, expected {', '.join(taken) or 'nothing'}")
    for name in taken:
        if name not in names and arguments[name]:
            raise InputError(f"sweep: {name_of(function)} needs {name!r}, expected it in over, samples or as a keyword")


def arguments_of(function: Any) -> dict[str, bool] | None:
    """The arguments of a function and whether it needs them; "**" where it takes any; None where nobody knows."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = {each.name: each.default is inspect.Parameter.empty for each in parameters if each.kind in by_name}
    return found | ({"**": False} if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters) else {})


def name_of(what: Any) -> str:
    if isinstance(what, Scene):
        return repr(what)
    return getattr(what, "__qualname__", None) or type(what).__qualname__


def digest_of(task: Task, scene: Scene | None) -> str:
    """Of what runs and what is measured, the same in every process: the text of functions, and all values."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # every digit of every number of an array
        told = said(scene) if scene is not None else source_of(task.function)
        parts = (told, source_of(task.measure), repr(sorted(task.fixed.items())), str(task.seed))
    return hashlib.sha256(ADDRESS.sub("", "\n".join(parts)).encode()).hexdigest()


def source_of(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return repr(function)


def made_folder(keep: str | os.PathLike[str]) -> str:
    folder = os.path.abspath(os.fspath(keep))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"{short(folder)}: cannot be made ({error.strerror})") from None
    return folder


def continued(old: Table, new: Table, path: str) -> Table:
    """The table of a file, to go on with; the error where it is that of another sweep."""
    if list(old.parameters) != list(new.parameters) or len(old) != len(new):
        differs = f"{len(old)} runs over {', '.join(old.parameters)}"
    elif others := [name for name, column in new.parameters.items() if not same(column, old.parameters[name])]:
        differs = f"a sweep with other values of {others[0]}"
    elif old.about.digest != new.about.digest:
        differs = f"a sweep of {old.about.what} that was other than now, or with other settings"
    else:
        old.about = new.about
        return old
    raise FileError(f"{path}: this file holds {differs}, expected this one, another out=..., or fresh=True")


def same(a: Column, b: Column) -> bool:
    """Have two columns the same values, nan where nan is?"""
    return np.array_equal(tables.texts(a), tables.texts(b), equal_nan=a.dtype.kind == "f")
