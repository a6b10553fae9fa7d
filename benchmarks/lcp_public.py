"""Claim: on every public problem with 100 rows or more, solve(problem, "auto") is at least 3 times faster than the
best peer at residual 1e-8.

Every lcp_*, mlcp_* and box_* file of the public data, at 1e-4, 1e-8 and 1e-12. Our time is the best of up to 15
calls within 0.3 s, compiled code warm, one thread, a fresh problem object per call. The peer's time is that of its
fastest solver whose answer, regraded by our residual, is at most the tolerance, whatever tolerance it was asked for:
once from the stored baselines (another machine), once measured here and now. A ratio is peer / ours.

    python benchmarks/lcp_public.py [--data FOLDER] [--cap 20] [--quick] [--only TEXT]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import dataclasses
import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
from peers import (
    DATA,
    ENUMERABLE,
    LCP_SOLVERS,
    MIXED_SOLVERS,
    Limits,
    Run,
    announce_siconos,
    best,
    duration,
    has_peers,
    siconos_python,
    siconos_runs,
    stored_baselines,
    stored_best,
    table,
)
from stopwatch import timed

from stickslip import LCP, MixedLCP, load, residual, solve

TOLERANCES = (1e-4, 1e-8, 1e-12)
CLAIM, CLAIMED_ROWS, CLAIMED_TOL = 3.0, 100, 1e-8


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One problem at one tolerance."""

    name: str
    rows: int
    tol: float
    residual: float  # ours
    method: str
    seconds: float  # ours
    live: tuple[str, float] | None  # the best peer here and now, and its seconds
    stored: tuple[str, float] | None

    @property
    def solved(self) -> bool:
        return self.residual <= self.tol

    def ratio(self, peer: tuple[str, float] | None) -> float | None:
        """None where no peer solved it; 0 where a peer did and we did not."""
        if peer is None:
            return None
        return peer[1] / self.seconds if self.solved else 0.0

    @property
    def worst(self) -> float:
        """The smaller of the two ratios; unbounded where only we solved it, 0 where nobody did."""
        ratios = [ratio for ratio in map(self.ratio, (self.live, self.stored)) if ratio is not None]
        return min(ratios) if ratios else math.inf if self.solved else 0.0

    def cells(self) -> list[str]:
        outcome = "" if self.solved else " unsolved"
        shown = [f"{peer[0]} {duration(peer[1])}" if peer else "none" for peer in (self.live, self.stored)]
        ratios = [
            "-" if ratio is None else f"{ratio:.3g}" for ratio in (self.ratio(self.live), self.ratio(self.stored))
        ]
        own = [f"{self.residual:.1e}{outcome}", self.method, duration(self.seconds)]
        return [self.name, str(self.rows), f"{self.tol:.0e}", *own, *shown, *ratios]


def live_runs(problem: LCP | MixedLCP, favourites: list[str], limits: Limits, quick: bool) -> list[Run]:
    """The stored favourites first; then the others, each with no more time than twice what the best needed."""
    if not has_peers(problem):
        return []
    if isinstance(problem, LCP):
        first, others = ["LEMKE", "PGS@sparse"], LCP_SOLVERS
    else:
        pairs = int(np.isfinite(problem.lower).sum())
        first, others = ["LCP_LEMKE"], tuple(s for s in MIXED_SOLVERS if s != "ENUM" or pairs <= ENUMERABLE)
    runs: list[Run] = []
    for solver in dict.fromkeys([*favourites, *first, *(() if quick else others)]):
        fastest = best(runs, CLAIMED_TOL)
        patience = limits.cap if fastest is None else min(limits.cap, max(1.0, 2 * fastest.seconds))
        runs += siconos_runs(problem, solver, TOLERANCES, dataclasses.replace(limits, cap=patience))
    return runs


def compare(path: Path, limits: Limits, quick: bool) -> list[Comparison]:
    problem, name, folder = load(path), path.stem, path.parent
    assert isinstance(problem, LCP | MixedLCP), path
    stored = {tol: stored_best(folder, name, tol) for tol in TOLERANCES}
    favourites = [entry[0] for entry in stored.values() if entry and entry[0] in LCP_SOLVERS + MIXED_SOLVERS]
    runs = live_runs(problem, favourites, limits, quick)
    comparisons = []
    for tol in TOLERANCES:
        run = partial(solve, method="auto", tol=tol)
        run(problem)  # compile, off the clock
        timing = timed(partial(dataclasses.replace, problem), run, limits.repeats, limits.budget)
        answer, fastest = timing.answer, best(runs, tol)
        live = (fastest.solver, fastest.seconds) if fastest else None
        error, method = residual(problem, answer.x), answer.method.split("(")[0]
        comparisons.append(Comparison(name, problem.size, tol, error, method, timing.best, live, stored[tol]))
    return comparisons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the public problems and baselines.json")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds a peer's run may take")
    parser.add_argument(
        "--quick", action="store_true", help="of the peer only the stored best solvers, Lemke and sparse Gauss-Seidel"
    )
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    options = parser.parse_args()

    files = [path for kind in ("lcp", "mlcp", "box") for path in sorted(options.data.glob(f"{kind}_*.h5"))]
    files = [path for path in files if options.only in path.stem]
    if not files:
        print(f"no public problems in {options.data}: nothing to compare")
        return 0
    announce_siconos()
    if not stored_baselines(options.data):
        print(f"no baselines.json in {options.data}: stored comparison skipped")

    header = ["problem", "rows", "tol", "our residual", "method", "our time", "live best", "stored best"]
    header += ["ratio live", "ratio stored"]
    comparisons: list[Comparison] = []
    for path in files:
        comparisons += compare(path, Limits(options.cap), options.quick)
        print(".", end="", flush=True)
    print("\n\n" + table(header, [comparison.cells() for comparison in comparisons]) + "\n")

    claimed = [c for c in comparisons if c.rows >= CLAIMED_ROWS and c.tol == CLAIMED_TOL]
    if not claimed or not (siconos_python() or stored_baselines(options.data)):
        print("nothing to judge the claim by: no peer took part, or no problem was large enough")
        return 0
    return verdict(claimed)


def verdict(claimed: list[Comparison]) -> int:
    for kind in ("live", "stored"):
        ratios = [ratio for c in claimed if (ratio := c.ratio(getattr(c, kind))) is not None]
        if ratios:
            mean = math.exp(sum(math.log(max(ratio, 1e-300)) for ratio in ratios) / len(ratios))
            count = f"{len(ratios)} of {len(claimed)} problems"
            print(f"{kind}: {count}, ratio at least {min(ratios):.2f}, geometric mean {mean:.1f}")
    alone = [c.name for c in claimed if c.live is None and c.stored is None and c.solved]
    if alone:
        print(f"solved by no peer, solved here: {', '.join(alone)}")
    short = [f"{c.name} ({c.worst:.2f})" for c in claimed if c.worst < CLAIM]
    print(
        f"{'FAIL' if short else 'PASS'}: at least {CLAIM:g}x on every public problem with {CLAIMED_ROWS} rows or more "
        f"at {CLAIMED_TOL:.0e}" + (f"; below it: {', '.join(short)}" if short else "")
    )
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
