"""The runs of a sweep on an engine: anything with the interface of `concurrent.futures.Executor`.

Runs go to the engine in chunks of about half a second, by the time that those before took, and no more chunks than keep
it busy: each costs 20 µs to 15 ms beside its runs, depending on the engine. What a run gives depends on its parameters
and its number alone: the random numbers of run i are those of SeedSequence(seed, spawn_key=(i,)). So the engine, the
chunks and the order in which they end leave no trace.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Refused, shown
from stickslip.errors import FileError, InputError, SolveFailed, extra
from stickslip.sweeps.plan import Plan
from stickslip.sweeps.table import Row, fit_for_a_name

CHUNK_SECONDS = 0.5
AHEAD = 2  # chunks at the engine for each of its workers
MOST_AHEAD = 64  # where nobody knows how many workers it has
ENGINES = ("threads", "processes", "dask", "mpi")
RNG = "rng"  # the argument by which a function asks for random numbers


@dataclass(frozen=True)
class Task:
    """What is done in every run."""

    function: Callable[..., Any]
    fixed: Mapping[str, Any]  # arguments that are the same in all runs
    measure: Callable[[Any], Any]  # numbers and texts by name, of what the function returned
    seed: int
    random: bool  # the function takes random numbers
    keep: str = ""  # a folder for what it returned, where that can be saved

    def row(self, number: int, parameters: dict[str, Any]) -> Row:
        """A run; whatever it raises is its reason."""
        started = time.perf_counter()
        measured: dict[str, Any] = {}
        reason = ""
        if self.random:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(number,))
            parameters = {**parameters, RNG: np.random.default_rng(sequence)}
        try:
            result = self.function(**self.fixed, **parameters)
            if self.keep and not hasattr(result, "save"):
                raise InputError(f"sweep: a run returned {shown(result)}, expected a Trajectory where keep is given")
            if self.keep:
                result.save(kept_path(self.keep, number))
            measured = canonical(self.measure(result))
        except (InputError, SolveFailed) as error:
            reason = str(error)
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return Row(measured, " ".join(reason.split()), time.perf_counter() - started)

    def rows_at_once(self, parameters: Sequence[dict[str, Any]]) -> dict[int, Row]:
        """Those of the runs, by their place, that a function which knows how has made in one call."""
        at_once = getattr(self.function, "at_once", None)
        if at_once is None or self.keep:
            return {}
        started = time.perf_counter()
        made = at_once(self.measure, [{**self.fixed, **given} for given in parameters])
        seconds = (time.perf_counter() - started) / max(1, len(made))
        return {i: Row(canonical(measured), "", seconds) for i, measured in made.items()}


def kept_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"run-{number:06d}.h5")


def canonical(measured: Any) -> dict[str, Any]:
    """What was measured, as texts and numbers by name."""
    found = measured if isinstance(measured, Mapping) else {"value": measured}
    return {str(name): number_or_text(str(name), value) for name, value in found.items()}


def number_or_text(name: str, value: Any) -> Any:
    if not fit_for_a_name(name):
        raise InputError(f"sweep: a measure is called {shown(name)}, expected a name")
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise InputError(f"sweep: {name} is {shown(value)}, expected a number, an array of numbers or a text")
    return float(array) if array.ndim == 0 else array.astype(np.float64)


def run_chunk(task: Task, numbers: Sequence[int], parameters: Sequence[dict[str, Any]]) -> list[Row]:
    """Some runs, wherever the engine has its workers: at once as far as that can be, the others one after another."""
    rows = task.rows_at_once(parameters)
    return [rows.get(i) or task.row(number, parameters[i]) for i, number in enumerate(numbers)]


def run_all(
    task: Task,
    plan: Plan,
    waiting: Sequence[int],
    engine: Engine,
    put: Callable[[Sequence[int], Sequence[Row]], None],
    look: Callable[[], None],
) -> None:
    """All waiting runs; `put` takes the rows of a chunk when it is done, before each `look` may end it. What is done is
    put also where this ends by an error or Ctrl-C."""
    queue, size = deque(waiting), 1
    pending: dict[Future[list[Row]], list[int]] = {}
    lost: deque[int] = deque()  # runs of chunks whose worker died, to be tried alone
    try:
        while queue or pending or lost:
            look()
            while queue and not lost and len(pending) < engine.ahead:
                share = math.ceil(len(queue) / engine.ahead)  # the last chunks are small, so that all end together
                numbers = [queue.popleft() for _ in range(min(size, share))]
                pending[engine.submit(task, plan, numbers)] = numbers
            if lost and not pending:
                numbers = [lost.popleft()]
                pending[engine.submit(task, plan, numbers)] = numbers
            for future in futures.wait(pending, return_when=futures.FIRST_COMPLETED).done:
                numbers = pending.pop(future)
                try:
                    rows = future.result()
                except futures.BrokenExecutor:
                    engine.renew(future)
                    broken = [numbers, *pending.values()]
                    pending.clear()
                    if len(broken) == 1 and len(numbers) == 1:  # alone, so it was this one
                        put(numbers, [Row({}, "the process that ran it died", math.nan)])
                    else:
                        lost.extend(number for each in broken for number in each)
                    break
                put(numbers, rows)
                engine.proven = True
                each = max(sum(row.seconds for row in rows) / len(rows), 1e-7)
                size = max(1, min(2 * max(size, len(rows)), round(CHUNK_SECONDS / each)))
    except BaseException as error:
        for future in pending:
            future.cancel()
        for future, numbers in pending.items():  # what had ended in the meantime
            ended = future.done() and not future.cancelled() and future.exception() is None
            if ended and not isinstance(error, FileError):
                put(numbers, future.result())
        raise


@dataclass(eq=False)
class Engine:
    """An executor, and how it is made again where it breaks."""

    executor: Executor
    workers: int | None
    make: Callable[[], Executor] | None = None
    proven: bool = False  # it has brought a result

    @property
    def ahead(self) -> int:
        return MOST_AHEAD if self.workers is None else AHEAD * self.workers

    def submit(self, task: Task, plan: Plan, numbers: list[int]) -> Future[list[Row]]:
        return self.executor.submit(run_chunk, task, numbers, [plan.parameters(number) for number in numbers])

    def renew(self, future: Future[list[Row]]) -> None:
        """Another executor after one that broke; the error where none can be made or none ever worked."""
        if self.make is None:
            raise InputError(f"sweep: the engine broke ({future.exception()}), expected one that goes on; sweep again")
        if not self.proven:
            raise InputError(
                "sweep: the processes ended before their first run, expected a function that another process can "
                "import, and a script that calls sweep under `if __name__ == '__main__':`"
            )
        self.executor.shutdown(wait=False)
        self.executor = self.make()


def known_engine(owner: str, field: str, value: Any) -> Any:
    """A kind of argument: the name of an engine, or an executor."""
    if value.partition(":")[0] in ENGINES if isinstance(value, str) else callable(getattr(value, "submit", None)):
        return value
    raise Refused(owner, field, value, f"one of {', '.join(ENGINES)}, or an Executor")


@contextlib.contextmanager
def engine_of(engine: str | Executor, workers: int | None, task: Task) -> Iterator[Engine]:
    """The engine of a name, for as long as the sweep runs, or an executor of the caller's."""
    if not isinstance(engine, str):
        if isinstance(engine, futures.ProcessPoolExecutor):
            check_pickle(task)
        yield Engine(engine, workers or workers_of(engine))
        return
    name, _, address = engine.partition(":")
    count = workers or cores()
    if name in ("processes", "mpi"):
        check_pickle(task)
    with contextlib.ExitStack() as stack:
        make = None
        match name:
            case "threads":
                executor: Executor = futures.ThreadPoolExecutor(count)
            case "processes":
                make = lambda: futures.ProcessPoolExecutor(  # noqa: E731
                    count, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
                )
                executor = make()
            case "dask":
                executor = dask_executor(stack, address, count)
            case _:
                executor = extra("sweep", "mpi4py.futures", "mpi4py", "mpi").MPIPoolExecutor(workers)
        made = Engine(executor, workers_of(executor), make)
        stack.push(lambda kind, *_: made.executor.shutdown(wait=kind is None))
        yield made


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def dask_executor(stack: contextlib.ExitStack, address: str, count: int) -> Executor:
    """Of a cluster at an address, or of one on this machine with a thread in each of its processes."""
    dask = extra("sweep", "distributed", "dask", "dask")
    if address:
        try:
            client = stack.enter_context(dask.Client(address))
        except Exception as error:  # a name that is none, or nobody who answers
            raise InputError(
                f"sweep: engine is {shown(f'dask:{address}')}, expected a cluster there ({error})"
            ) from None
    else:
        cluster = stack.enter_context(dask.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None))
        client = stack.enter_context(dask.Client(cluster))
    return client.get_executor()


def workers_of(executor: Any) -> int | None:
    """How many runs an executor makes at a time, where it tells."""
    client = getattr(executor, "_client", None)  # of dask
    if client is not None:
        return max(1, sum(client.nthreads().values()))
    found = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    return found if isinstance(found, int) and found > 0 else None


def check_pickle(task: Task) -> None:
    """Can what is to be run go to another process?"""
    try:
        pickle.dumps(task)
    except Exception as error:
        raise InputError(
            f"sweep: the function cannot be sent to another process ({error}), expected one at the top level of a "
            f"module, or engine='threads'"
        ) from None
