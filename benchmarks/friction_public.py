"""Claim: solve(problem, tol=1e-8) reaches 1e-8 on every public friction problem; and over those with 20 contacts or
more it is, in the geometric mean, at least 5 times faster than the best Siconos solver of each problem at 1e-8, and at
least 3 times at 1e-4.

Every fc2d_*, fc3d_*, gfc2d_*, gfc3d_* and gen_* file of the public data. Our time is that of the call of solve, from
zero, the best of up to 200 calls within 0.3 s, compiled code warm, one thread. Each call gets a fresh problem object,
of which nothing is prepared but its matrix in blocks: the peers' time leaves out the making of their block matrix too.
What the blocks cost once is in a column of its own. The peer's time is that of its fastest solver whose answer,
regraded, is at most the tolerance, whatever tolerance it was asked for: once from the stored baselines (another
machine, up to 25 variants), once measured here and now (the variants stored as the problem's best, and Gauss-Seidel).
A ratio is peer / ours. Every answer, ours and theirs, is graded by `graded`, in plain NumPy, not by the library; of the
stored ones only the grades are left.

    python benchmarks/friction_public.py [--data FOLDER] [--cap 20] [--quick] [--only TEXT] [--tight]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import dataclasses
import math
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from peers import (
    DATA,
    Limits,
    Run,
    announce_siconos,
    ask,
    best,
    duration,
    siconos_python,
    stored_baselines,
    stored_best,
    table,
    unanswered,
)
from scipy import sparse
from stopwatch import timed

from stickslip import ConeProblem, InputError, Solution, load, solve
from stickslip.solvers.solve import METHODS

KINDS = ("fc2d", "fc3d", "gfc2d", "gfc3d", "gen")
CLAIMED_CONTACTS = 20
CLAIMS = {1e-4: 3.0, 1e-8: 5.0}  # the geometric mean of the ratios, by tolerance
REACHED = 1e-8  # on every problem
STORED_CAP = 20.0  # seconds a stored run could take
PATIENCE = 3.0  # times the cap, for the large generated problems

Peer = Literal["stored", "live"]
Storage = Literal["blocks", "dense"]


def public_problems(folder: Path, only: str = "") -> list[Path]:
    return [path for kind in KINDS for path in sorted(folder.glob(f"{kind}_*.h5")) if only in path.stem]


def friction_problem(path: Path) -> ConeProblem:
    problem = load(path)
    assert isinstance(problem, ConeProblem), path
    return problem


def time_limit(name: str, cap: float) -> float:
    return PATIENCE * cap if name.startswith("gen_") else cap


def graded(problem: ConeProblem, r: np.ndarray) -> float:
    """|r - P_K(r - ũ)| / max(|q|, |r|, |u|) with ũ = u + μ|u_t| e_n: the residual of FCLIB, in plain NumPy."""
    if not np.isfinite(r).all():
        return math.inf
    d, mu = problem.dimension, problem.mu
    u = problem.W @ r + problem.q
    impulses, velocities = r.reshape(-1, d), u.reshape(-1, d)
    x = impulses - velocities
    x[:, 0] -= mu * np.linalg.norm(velocities[:, 1:], axis=1)
    normal, tangent = x[:, 0], np.linalg.norm(x[:, 1:], axis=1)
    polar, inside = mu * tangent <= -normal, tangent <= mu * normal
    on_cone = (mu * tangent + normal) / (1 + mu**2)
    shrink = mu * on_cone / np.where(tangent > 0, tangent, 1.0)
    surface = np.column_stack([on_cone, shrink[:, None] * x[:, 1:]])
    projected = np.where(polar[:, None], 0.0, np.where(inside[:, None], x, surface))
    scale = max(np.linalg.norm(vector) for vector in (problem.q, r, u))
    error = float(np.linalg.norm(impulses - projected) / (scale if scale > np.finfo(float).eps else 1.0))
    return error if math.isfinite(error) and math.isfinite(scale) else math.inf


# ---- ours


def cone_methods() -> tuple[str, ...]:
    """The names of METHODS that take a ConeProblem. Asking them compiles their kernels, planar and spatial."""
    return tuple(name for name in METHODS if all(takes(name, problem) for problem in tiny_problems()))


def tiny_problems() -> list[ConeProblem]:
    """Two bodies, one pressed on the ground and one on the first, both pushed sideways: in the plane and in space."""
    problems = []
    for d in (2, 3):
        eye = np.eye(d)
        H = np.block([[eye, -eye], [np.zeros((d, d)), eye]])
        problems.append(ConeProblem.from_bodies(np.eye(2 * d), H, np.tile([-1.0, 0.3, 0.2][:d], 2), [0.5, 0.2]))
    return problems


def takes(method: str, problem: ConeProblem) -> bool:
    """Does the method take the problem? One that does not says so by InputError; an extra may not be installed."""
    try:
        solve(problem, method=method, tol=1e-4)
    except (InputError, ImportError):
        return False
    return True


@dataclasses.dataclass(frozen=True)
class Own:
    """Our answer to one problem at one tolerance."""

    method: str  # what answered; after auto, the last it tried
    iterations: int
    residual: float  # by `graded`
    seconds: float  # the call of solve
    preparation: float  # seconds, the blocks of the matrix


def measured(problem: ConeProblem, method: str, tol: float, limits: Limits) -> Own:
    """The best of several calls. One that is longer than the cap has no answer."""
    preparation = math.inf

    def prepare() -> ConeProblem:
        nonlocal preparation
        fresh = dataclasses.replace(problem)
        started = time.perf_counter()
        _ = fresh.blocks  # kept by the problem
        preparation = min(preparation, time.perf_counter() - started)
        signal.setitimer(signal.ITIMER_REAL, limits.cap)  # off the clock: it costs as much as a tiny solve
        return fresh

    def run(fresh: ConeProblem) -> Solution | None:
        with suppress(Late):
            return solve(fresh, method=method, tol=tol)
        return None

    with late_is_raised():
        timing = timed(prepare, run, limits.repeats, limits.budget)
    answer: Solution | None = timing.answer
    if answer is None:
        return Own(f"{method} > {limits.cap:g} s", 0, math.inf, math.inf, preparation)
    return Own(named(answer), answer.iterations, graded(problem, answer.x), timing.best, preparation)


def named(answer: Solution) -> str:
    return type(answer.solver).__name__


class Late(Exception):
    """The cap came first: heard when a compiled call returns, as Ctrl-C is."""


@contextmanager
def late_is_raised() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- the peer


def write_dat(problem: ConeProblem, storage: Storage, path: Path) -> None:
    """The problem in Siconos' own text format, to the last digit: its matrix in d x d blocks, or dense; by columns."""
    d, nc, n = problem.dimension, problem.contacts, problem.size
    with path.open("w") as file:
        put(file, [d], [nc], [0 if storage == "dense" else 1], [n], [n])
        if storage == "dense":
            put(file, [n, n], *sparse.csr_array(problem.W).toarray().T.tolist())
        else:
            blocks = sparse.bsr_array(sparse.csr_array(problem.W), blocksize=(d, d))
            blocks.sort_indices()
            ends = (d * np.arange(1, nc + 1)).tolist()
            put(file, [blocks.indices.size], [nc], [nc], ends, ends, [nc + 1], [blocks.indices.size])
            put(file, blocks.indptr.tolist(), blocks.indices.tolist())
            columnwise = blocks.data.transpose(0, 2, 1).reshape(-1, d * d).tolist()
            put(file, *(line for k, block in enumerate(columnwise) for line in ([k], block)))
        put(file, problem.q.tolist(), problem.mu.tolist())


def put(file: TextIO, *lines: Iterable[float]) -> None:
    """Shortest digits that read back as the same number."""
    file.writelines("\t".join(map(repr, line)) + "\n" for line in lines)


def variants(name: str, folder: Path, tolerances: Iterable[float], d: int) -> list[str]:
    """The stored best of the problem, tightest tolerance first, then Gauss-Seidel. What the baselines call @orig is the
    storage of a file we do not have: then both storages are asked."""
    stored = [entry[0] for tol in sorted(tolerances) if (entry := stored_best(folder, name, tol))]
    wanted = [*stored, *(("NSGS",) if d == 2 else ("NSGS/NSN", "NSGS"))]
    split = [(v.partition("@")[0], v.endswith("@orig")) for v in wanted]
    both = [[solver, f"{solver}@dense"] if orig else [v] for v, (solver, orig) in zip(wanted, split, strict=True)]
    return list(dict.fromkeys(v for names in both for v in names))


def live_runs(problem: ConeProblem, names: list[str], tolerances: tuple[float, ...], limits: Limits) -> list[Run]:
    """One solver after the other; once 1e-8 is reached, the next ones get twice the time that took."""
    python = siconos_python()
    if python is None:
        return []
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            storage: Storage = "dense" if name.endswith("@dense") else "blocks"
            file = Path(folder) / f"{storage}.dat"
            if not file.exists():
                write_dat(problem, storage, file)
            fastest = best(runs, REACHED)
            patience = limits.cap if fastest is None else min(limits.cap, max(1.0, 2 * fastest.seconds))
            capped = dataclasses.replace(limits, cap=patience)
            answers, code = ask((python, "siconos_friction_worker.py"), file, name, tolerances, capped)
            for line in answers:
                error = graded(problem, np.array(line["r"]))
                runs.append(Run(name, line["tol"], line["seconds"], line["median"], error))
            runs += [unanswered(name, tol, capped, code) for tol in tolerances[len(answers) :]]
    return runs


# ---- the comparison


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One problem at one tolerance."""

    name: str
    contacts: int
    tol: float
    own: Own
    stored: tuple[str, float] | None  # the best peer and its seconds; None where none reached tol
    live: tuple[str, float] | None
    cap: float  # of the runs of this benchmark

    @property
    def solved(self) -> bool:
        return self.own.residual <= self.tol

    def peer(self, kind: Peer) -> tuple[str, float] | None:
        return self.stored if kind == "stored" else self.live

    def ratio(self, kind: Peer) -> float:
        """Peer over ours; who did not solve it is counted at the time limit."""
        peer, limit = self.peer(kind), time_limit(self.name, STORED_CAP if kind == "stored" else self.cap)
        return (peer[1] if peer else limit) / (self.own.seconds if self.solved else limit)

    def shown(self, kind: Peer) -> list[str]:
        peer = self.peer(kind)
        if peer is None:
            return ["none", f"> {self.ratio(kind):.3g}" if self.solved else "-"]
        return [f"{peer[0]} {duration(peer[1])}", f"{self.ratio(kind):.3g}" if self.solved else "lost"]

    def cells(self, kinds: Iterable[Peer]) -> list[str]:
        outcome = "" if self.solved else " unsolved"
        own = [self.own.method, str(self.own.iterations), duration(self.own.preparation), duration(self.own.seconds)]
        peers = [cell for kind in kinds for cell in self.shown(kind)]
        return [self.name, str(self.contacts), f"{self.tol:.0e}", *own, f"{self.own.residual:.1e}{outcome}", *peers]


def compare(path: Path, tolerances: tuple[float, ...], cap: float, quick: bool) -> list[Comparison]:
    problem, name = friction_problem(path), path.stem
    limits = Limits(time_limit(name, cap), repeats=200)
    names = variants(name, path.parent, tolerances, problem.dimension)
    runs = [] if quick else live_runs(problem, names, tolerances, limits)
    comparisons = []
    for tol in tolerances:
        own, fastest = measured(problem, "auto", tol, limits), best(runs, tol)
        live = (fastest.solver, fastest.seconds) if fastest else None
        stored = stored_best(path.parent, name, tol)
        comparisons.append(Comparison(name, problem.contacts, tol, own, stored, live, cap))
    return comparisons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the public problems and baselines.json")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds a run may take; three times that for gen_*")
    parser.add_argument("--quick", action="store_true", help="beside the stored baselines only, no Siconos live")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument("--tight", action="store_true", help="at 1e-12 too")
    options = parser.parse_args()

    files = public_problems(options.data, options.only)
    if not files:
        print(f"no public friction problems in {options.data}: nothing to compare")
        return 0
    kinds: list[Peer] = []
    if stored_baselines(options.data):
        kinds.append("stored")
    else:
        print(f"no baselines.json in {options.data}: stored comparison skipped")
    if not options.quick:
        announce_siconos()
        if siconos_python():
            kinds.append("live")
    print(f"compiled: {', '.join(cone_methods())}")  # off the clock

    tolerances = (1e-4, 1e-8, 1e-12) if options.tight else (1e-4, 1e-8)
    comparisons: list[Comparison] = []
    for path in files:
        comparisons += compare(path, tolerances, options.cap, options.quick)
        print(".", end="", flush=True)
    header = ["problem", "contacts", "tol", "method", "iterations", "blocks", "our time", "residual"]
    header += [title for kind in kinds for title in (f"{kind} best", "ratio")]
    for tol in tolerances:
        print("\n\n" + table(header, [c.cells(kinds) for c in comparisons if c.tol == tol]), end="")
    print("\n")
    return verdict(comparisons, kinds)


def verdict(comparisons: list[Comparison], kinds: list[Peer]) -> int:
    """Each claim in one line; 1 if one of them fails."""
    failed = [f"{c.name} ({c.own.residual:.1e})" for c in comparisons if c.tol == REACHED and not c.solved]
    passed = [not failed]
    for tol, factor in CLAIMS.items():
        claimed = [c for c in comparisons if c.contacts >= CLAIMED_CONTACTS and c.tol == tol]
        for kind in kinds:
            met = [c for c in claimed if c.peer(kind)]
            sets = {"a peer solves": met, "in all, a peer without an answer at its time limit": claimed}
            for which, chosen in sets.items():
                if chosen:
                    passed.append(judge(chosen, kind, factor, f"{tol:.0e}, {kind}, {len(chosen)} problems {which}"))
    if not kinds:
        print("no peer took part: nothing to judge the speed by")
    unsolved = sorted({c.name for c in comparisons if c.tol == REACHED and kinds and not any(map(c.peer, kinds))})
    if unsolved:
        print(f"solved to {REACHED:.0e} by no peer: {', '.join(unsolved)}")
    short = f"; not: {', '.join(failed)}" if failed else ""
    print(f"{word(not failed)}: every problem reaches {REACHED:.0e}{short}")
    return 0 if all(passed) else 1


def judge(chosen: list[Comparison], kind: Peer, factor: float, title: str) -> bool:
    mean = geometric_mean(lambda c: c.ratio(kind), chosen)
    slower = sum(c.ratio(kind) < 1 for c in chosen)
    lost = sum(not c.solved for c in chosen)
    note = f"; {lost} not solved by us, at the time limit" if lost else ""
    print(f"{word(mean >= factor)}: {title}: geometric mean {mean:.2f} (>= {factor:g}); slower on {slower}{note}")
    return mean >= factor


def geometric_mean(value: Callable[[Any], float], items: list[Any]) -> float:
    return math.exp(sum(math.log(value(item)) for item in items) / len(items))


def word(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
