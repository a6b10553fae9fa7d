"""Claim: on dense random positive semidefinite LCPs, Lemke is faster than Siconos' lexicolemke and Drake's Moby.

M = A Aᵀ / n with A normal, n x (rank n); q = w - M z for a random complementary pair (z, w), so that a solution
exists though M is singular. All get the same arrays; every answer is graded by stickslip's residual, and a time
counts only where that is at most 1e-8. The growth exponent is the slope of log time over log n.

    python benchmarks/lcp_random.py [--sizes 100 300 1000 3000] [--rank 0.5] [--cap 120] [--seed 0]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import dataclasses
import multiprocessing
import signal
import sys
from multiprocessing.connection import Connection

import numpy as np
from peers import Limits, Run, announce_drake, announce_siconos, duration, moby_runs, siconos_runs, table, unanswered
from stopwatch import timed

from stickslip import LCP, Lemke, residual

TOL = 1e-8


def random_psd(n: int, rank: float, seed: int) -> LCP:
    rng = np.random.default_rng([seed, n])
    A = rng.standard_normal((n, max(1, round(rank * n))))
    M = A @ A.T / n
    basic = rng.random(n) < 0.5
    z, w = np.where(basic, rng.random(n), 0.0), np.where(basic, 0.0, rng.random(n))
    return LCP(M, w - M @ z)


def our_run(problem: LCP, limits: Limits) -> Run:
    """In a forked process, so that it can be ended at the cap like the others; compiled code is inherited."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=time_lemke, args=(problem, limits, sender))
    process.start()
    sender.close()
    try:
        run: Run = receiver.recv()
        process.join()
    except EOFError:
        process.join()
        run = unanswered("Lemke", TOL, limits, process.exitcode)
    return run


def time_lemke(problem: LCP, limits: Limits, sender: Connection) -> None:
    def prepare() -> LCP:
        signal.setitimer(signal.ITIMER_REAL, limits.cap)
        return dataclasses.replace(problem)

    timing = timed(prepare, Lemke(tol=TOL).solve, limits.repeats, limits.budget)
    signal.setitimer(signal.ITIMER_REAL, 0)
    sender.send(Run("Lemke", TOL, timing.best, timing.median, residual(problem, timing.answer.x)))


def peer_runs(problem: LCP, limits: Limits) -> list[Run]:
    siconos = siconos_runs(problem, "LEMKE", (TOL,), limits)
    drake = [run for name in ("Moby", "UnrevisedLemke") for run in moby_runs(problem, name, (TOL,), limits)]
    return [dataclasses.replace(run, solver=f"Siconos {run.solver}") for run in siconos] + [
        dataclasses.replace(run, solver=f"Drake {run.solver}") for run in drake
    ]


def growth(sizes: list[int], runs: list[Run]) -> str:
    """The exponent p of time ~ n^p, over the sizes that were solved."""
    points = [(n, run.seconds) for n, run in zip(sizes, runs, strict=True) if run.residual <= TOL]
    if len(points) < 2:
        return "-"
    n, seconds = np.log(np.array(points)).T
    return f"{np.polyfit(n, seconds, 1)[0]:.2f}"


def cell(run: Run) -> str:
    if run.residual <= TOL:
        return f"{duration(run.seconds)} ({run.residual:.0e})"
    return run.ended if run.ended != "answered" else f"wrong ({run.residual:.0e})"


def slower_than_ours(ours: Run, peer: Run) -> bool:
    """A peer that was ended at its cap, crashed or answered wrongly was not faster."""
    return ours.residual <= TOL and not (peer.residual <= TOL and peer.seconds <= ours.seconds)


def ratio(ours: Run, peer: Run, limits: Limits) -> str:
    if not ours.residual <= TOL:
        return "0"
    if peer.residual <= TOL:
        return f"{peer.seconds / ours.seconds:.1f}"
    return f"> {limits.cap / ours.seconds:.1f}" if peer.ended.startswith(">") else peer.ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--rank", type=float, default=0.5, help="rank of M as a share of n (1: positive definite)")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds a run may take")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    announce_siconos()
    announce_drake()
    Lemke(tol=TOL).solve(random_psd(80, options.rank, options.seed))  # compile, off the clock
    limits, columns = Limits(options.cap), list[list[Run]]()
    for n in options.sizes:
        problem = random_psd(n, options.rank, options.seed)
        columns.append([our_run(problem, limits), *peer_runs(problem, limits)])
        print(f"n = {n}: " + ", ".join(f"{run.solver} {cell(run)}" for run in columns[-1]), flush=True)

    ours, *peers = ([column[i] for column in columns] for i in range(len(columns[0])))
    header = ["solver", *(f"n = {n}" for n in options.sizes), "growth n^p"]
    print("\nbest time (residual):\n")
    print(table(header, [[runs[0].solver, *map(cell, runs), growth(options.sizes, runs)] for runs in (ours, *peers)]))
    if not peers:
        print("\nno peer to compare with")
        return 0
    print("\ntimes slower than Lemke:\n")
    rows = [[runs[0].solver, *(ratio(*pair, limits) for pair in zip(ours, runs, strict=True))] for runs in peers]
    print(table(header[:-1], rows))
    passed = all(slower_than_ours(*pair) for runs in peers for pair in zip(ours, runs, strict=True))
    print(f"\n{'PASS' if passed else 'FAIL'}: Lemke is faster than every peer that took part, at every size")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
