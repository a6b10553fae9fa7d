"""Claim: one call of solve(problem) with n <= 10 rows costs under 30 µs.

Random positive definite LCPs, n = 1 ... 10. The median and the best of many calls, each on a fresh problem:
made beforehand, and made within the call. Beside it a call of Siconos' own Python driver (LEMKE), options ready.
All sizes are gone through several times, and the quietest time counts for each: other work disturbs some of them.

    python benchmarks/lcp_tiny.py [--calls 500] [--rounds 7]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from peers import Limits, announce_siconos, siconos_runs, table
from stopwatch import timed

from stickslip import LCP, Solution, residual, solve

TOL = 1e-10
CLAIM = 30e-6  # seconds
BUDGET = 5.0  # seconds, beyond which no more calls are made
SIZES = range(1, 11)


class Cost(NamedTuple):
    """Of one call, in seconds."""

    median: float
    best: float


class Round(NamedTuple):
    residual: float
    ready: Cost  # solve(problem)
    built: Cost  # solve(LCP(M, q))
    siconos: Cost | None


def random_pd(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    q = rng.standard_normal(n)
    q[0] = -1.0  # z = 0 is no solution
    return A @ A.T + np.eye(n), q


def build_and_solve(data: tuple[np.ndarray, np.ndarray]) -> Solution:
    return solve(LCP(*data), tol=TOL)


def measure(n: int, calls: int) -> Round:
    data = random_pd(n)
    problem = LCP(*data)
    ready = timed(partial(LCP, *data), partial(solve, tol=TOL), calls, BUDGET)
    built = timed(partial(tuple, data), build_and_solve, calls, BUDGET)
    peers = [
        Cost(run.median, run.seconds)
        for run in siconos_runs(problem, "LEMKE", (TOL,), Limits(BUDGET, calls, BUDGET))
        if run.residual <= TOL
    ]
    error = residual(problem, ready.answer.x)
    return Round(error, Cost(ready.median, ready.best), Cost(built.median, built.best), min(peers, default=None))


def quietest(costs: Iterable[Cost | None]) -> Cost | None:
    return min((cost for cost in costs if cost), default=None)


def cells(cost: Cost | None) -> list[str]:
    return [f"{1e6 * seconds:.1f}" for seconds in cost] if cost else ["-", "-"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=500, help="per size and round")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()

    announce_siconos()
    for n in SIZES:
        build_and_solve(random_pd(n))  # compile, off the clock
    rounds = [[measure(n, options.calls) for n in SIZES] for _ in range(options.rounds)]
    rows, passed = [], True
    for n, measured in zip(SIZES, zip(*rounds, strict=True), strict=True):
        error = max(round_.residual for round_ in measured)
        ready = min(round_.ready for round_ in measured)
        built = min(round_.built for round_ in measured)
        passed &= error <= TOL and ready.median < CLAIM
        siconos = quietest(round_.siconos for round_ in measured)
        rows.append([str(n), f"{error:.0e}", *cells(ready), *cells(built), *cells(siconos)])
    header = ["n", "residual", "solve µs", "best", "with LCP(M, q) µs", "best", "Siconos LEMKE µs", "best"]
    print(table(header, rows))
    print(f"\n{'PASS' if passed else 'FAIL'}: the median call costs under {1e6 * CLAIM:.0f} µs for every n <= 10")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
