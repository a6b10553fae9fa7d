"""How far methods come with a large rigid heap, and how fast: the residual of gen_spheres_5000 over CPU seconds.

Each point is a run of its own from zero with a limit on iterations, twice that of the point before, until a run takes
more than --seconds; a step further down the line is a worse or better answer, not a later look at the same run.

    python benchmarks/friction_large.py [--data FOLDER] [--problem gen_spheres_5000] [--seconds 50]
                                        [--out docs/friction_large.png]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from friction_public import friction_problem, graded
from peers import DATA

from stickslip import ADMM, NSGS, ConeProblem
from stickslip.solvers.solution import Solver

METHODS: dict[str, Callable[[int], Solver]] = {
    "Gauss–Seidel, over-relaxed": lambda most: NSGS(max_iter=most),
    "Gauss–Seidel": lambda most: NSGS(max_iter=most, relaxation=1.0),
    "ADMM": lambda most: ADMM(max_iter=most),
}
FIRST = 8  # iterations


def curve(problem: ConeProblem, solver: Callable[[int], Solver], seconds: float) -> list[tuple[int, float, float]]:
    """(iterations, CPU seconds, residual) of runs twice as long each."""
    points: list[tuple[int, float, float]] = []
    most = FIRST
    while not points or points[-1][1] <= seconds:
        started = time.thread_time()
        answer = solver(most).solve(problem)
        points.append((most, time.thread_time() - started, graded(problem, answer.x)))
        most *= 2
    return points


def draw(curves: dict[str, list[tuple[int, float, float]]], title: str, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.0, 4.5), dpi=100)
    for name, points in curves.items():
        axes.loglog([seconds for _, seconds, _ in points], [residual for *_, residual in points], "o-", label=name)
    axes.set(xlabel="CPU seconds", ylabel="residual", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--problem", default="gen_spheres_5000")
    parser.add_argument("--seconds", type=float, default=50.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    problem = friction_problem(given.data / f"{given.problem}.h5")
    problem.blocks.diagonal  # noqa: B018  made once, beforehand
    curves = {}
    for name, solver in METHODS.items():
        solver(1).solve(problem)  # compile
        curves[name] = curve(problem, solver, given.seconds)
        for iterations, seconds, residual in curves[name]:
            print(f"{name:28} {iterations:8d} {seconds:8.2f} s {residual:9.2e}", flush=True)
    if given.out:
        draw(curves, f"{given.problem}, {problem.contacts} contacts", given.out)


if __name__ == "__main__":
    main()
