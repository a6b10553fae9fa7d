"""The peers, each in a subprocess of an interpreter that has it, and the answers regraded by our residual.

Siconos: the first of STICKSLIP_SICONOS_PYTHON, this interpreter, the python3 of every folder on PATH, and
/usr/bin/python3 that can import siconos.numerics. Drake: STICKSLIP_DRAKE_PYTHON, or this interpreter.
A solver that crashes, or is ended at its cap, is a run without an answer, never an error of the benchmark.

The stored baselines are read from baselines.json of the public data, in ../shared/data beside the clone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import LCP, MixedLCP, residual

HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "shared" / "data"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# without PATH, which is commercial, QP and NSQP, which Debian's build lacks, and LATIN, which is never near the best
LCP_SOLVERS: tuple[str, ...] = (
    *("LEMKE", "PIVOT", "PIVOT_LUMOD", "MURTY", "BARD", "AVI_CAOFERRIS", "PATHSEARCH"),
    *("NEWTON_FB_FBLSA", "NEWTON_MIN_FBLSA", "NEWTONMIN", "PGS", "PGS@sparse", "PSOR", "RPGS", "CPG"),
)
MIXED_SOLVERS: tuple[str, ...] = ("LCP_LEMKE", "FB", "PGS", "RPGS", "ENUM")
ENUMERABLE = 20  # complementary rows up to which ENUM is asked


@dataclass(frozen=True)
class Limits:
    """What a run may take; the same for stickslip and its peers, except where a peer has already been beaten."""

    cap: float  # seconds, after which a run is ended
    repeats: int = 15  # runs, of which the best counts
    budget: float = 0.3  # seconds, after which there are no more repeats


@dataclass(frozen=True)
class Run:
    """One peer's answer to one problem; without one, seconds is inf and `ended` says why."""

    solver: str
    tol: float  # asked for
    seconds: float  # best of its repeats, driver call only
    median: float
    residual: float  # ours, recomputed from its z
    ended: str = "answered"


@cache
def siconos_python() -> str | None:
    folders = os.environ.get("PATH", "").split(os.pathsep)
    candidates = [os.environ.get("STICKSLIP_SICONOS_PYTHON"), sys.executable]
    candidates += [str(Path(folder) / "python3") for folder in folders if folder] + ["/usr/bin/python3"]
    return first_with("siconos.numerics", candidates)


@cache
def drake_python() -> str | None:
    return first_with("pydrake.solvers", [os.environ.get("STICKSLIP_DRAKE_PYTHON") or sys.executable])


def first_with(module: str, candidates: Iterable[str | None]) -> str | None:
    """The first interpreter that can import the module."""
    for python in dict.fromkeys(path for path in candidates if path and os.access(path, os.X_OK)):
        if subprocess.run([python, "-E", "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def announce_siconos() -> None:
    python = siconos_python()
    print(f"Siconos: {python}" if python else "Siconos not installed: live comparison skipped")


def announce_drake() -> None:
    python = drake_python()
    print(f"Drake: {python}" if python else "Drake not installed (set STICKSLIP_DRAKE_PYTHON): Moby skipped")


def siconos_runs(problem: LCP | MixedLCP, solver: str, tolerances: Sequence[float], limits: Limits) -> list[Run]:
    python = siconos_python()
    return [] if python is None else peer_runs((python, "siconos_worker.py"), problem, solver, tolerances, limits)


def moby_runs(problem: LCP, solver: str, tolerances: Sequence[float], limits: Limits) -> list[Run]:
    python = drake_python()
    return [] if python is None else peer_runs((python, "moby_worker.py"), problem, solver, tolerances, limits)


def peer_runs(
    worker: tuple[str, str], problem: LCP | MixedLCP, solver: str, tolerances: Sequence[float], limits: Limits
) -> list[Run]:
    """One process, the tolerances in turn; what it had not answered when it ended is a run without an answer."""
    order, equations = equations_first(problem)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        M = problem.M if isinstance(problem.M, np.ndarray) else problem.M.toarray()
        np.savez(file, M=M[np.ix_(order, order)], q=problem.q[order], equations=equations)
        answers, code = ask(worker, file, solver, tolerances, limits)
    runs = [graded(problem, solver, order, answer) for answer in answers]
    return runs + [unanswered(solver, tol, limits, code) for tol in tolerances[len(runs) :]]


def ask(
    worker: tuple[str, str], file: Path, solver: str, tolerances: Sequence[float], limits: Limits
) -> tuple[list[dict[str, Any]], int]:
    """What a worker wrote about the problem in the file, one answer a tolerance, and the exit code of its process."""
    python, script = worker
    results = file.with_name("results.jsonl")
    results.unlink(missing_ok=True)
    request = {"problem": str(file), "results": str(results), "solver": solver, "tolerances": list(tolerances)}
    code = subprocess.run(
        [python, "-E", str(HERE / script)],
        input=json.dumps({**request, **dataclasses.asdict(limits)}).encode(),
        capture_output=True,
        env={**os.environ, **ONE_THREAD},
    ).returncode
    lines = results.read_text().splitlines() if results.exists() else []
    return [json.loads(line) for line in lines], code


def unanswered(solver: str, tol: float, limits: Limits, code: int | None) -> Run:
    """The run of a process that ended with this exit code before it answered."""
    ended = f"> {limits.cap:g} s" if code == -signal.SIGALRM else f"crashed ({code})"
    return Run(solver, tol, math.inf, math.inf, math.inf, ended)


def equations_first(problem: LCP | MixedLCP) -> tuple[np.ndarray, int]:
    """The order of rows the peers want, equations before complementary pairs, and the number of equations."""
    if isinstance(problem, LCP):
        return np.arange(problem.size), 0
    free = np.isinf(problem.lower) & np.isinf(problem.upper)
    return np.argsort(~free, kind="stable"), int(free.sum())


def has_peers(problem: LCP | MixedLCP) -> bool:
    """Siconos' Python interface takes equations and pairs 0 <= z ⊥ w >= 0, no other bounds."""
    if isinstance(problem, LCP):
        return True
    free = np.isinf(problem.lower) & np.isinf(problem.upper)
    return bool((free | ((problem.lower == 0) & np.isposinf(problem.upper))).all())


def graded(problem: LCP | MixedLCP, solver: str, order: np.ndarray, line: dict[str, Any]) -> Run:
    z = np.empty(problem.size)
    z[order] = line["z"]
    return Run(solver, line["tol"], line["seconds"], line["median"], residual(problem, z))


def best(runs: Iterable[Run], tol: float) -> Run | None:
    """The fastest run whose residual is at most tol, whatever tolerance it was asked for."""
    return min((run for run in runs if run.residual <= tol), key=lambda run: run.seconds, default=None)


@cache
def stored_baselines(folder: Path) -> dict[str, Any]:
    """The stored best times, problem by problem; empty where the file is not there."""
    path = folder / "baselines.json"
    problems: dict[str, Any] = json.loads(path.read_text())["problems"] if path.exists() else {}
    return problems


def stored_best(folder: Path, name: str, tol: float) -> tuple[str, float] | None:
    """The stored best solver and its seconds at this tolerance."""
    entry = stored_baselines(folder).get(name, {}).get("best", {}).get(str(tol))
    return (entry["solver"], entry["time"]) if entry else None


def duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "none"
    scale, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{seconds * scale:.3g} {unit}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown, aligned, so that it reads in a terminal and on a page."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *cells]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *cells]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )
