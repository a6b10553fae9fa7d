"""Performance profile of the methods for friction problems (Dolan, Moré, Math. Programming 91 (2002) 201-213).

Every method of solve that takes a ConeProblem, on every public friction problem, at 1e-4, 1e-8 and 1e-12. A line shows
the share of problems that a method solves within a factor τ of the time of the fastest method of stickslip; where it
ends on the right is the share it solves at all. Siconos' stored times (another machine) are drawn on the same scale:
the best of its variants problem by problem, which no one solver attains, and its Gauss-Seidel. They do not set the
scale, so they may lie left of τ = 1.

One process a method, so that its kernels are loaded once, and the methods take turns on each problem. A run beyond the
cap is ended, if need be with its process. Who does not reach a tolerance is not asked for a tighter one. Times as in
friction_public.py: the call of solve from zero, the matrix in blocks at hand, the best of a few calls, one thread;
answers graded in plain NumPy.

    python benchmarks/friction_profile.py [--out docs/friction_profile.png] [--cap 10] [--only TEXT] [--contacts 1]
                                          [--methods NAME ...] [--redraw]

The numbers go to a .json beside the picture. --methods measures these anew and keeps the others of that file;
--redraw measures none.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import dataclasses
import json
import math
import multiprocessing
import sys
from collections.abc import Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from friction_public import Own, cone_methods, friction_problem, measured, public_problems, takes, tiny_problems
from peers import DATA, Limits, duration, stored_baselines, stored_best, table
from stopwatch import SLOW

from stickslip import InputError

TOLERANCES = (1e-4, 1e-8, 1e-12)
ROUNDS = 3  # in which the methods take turns
QUICK = 0.5  # seconds, up to which a method takes part in more than one round
GRACE = 2.0  # seconds beyond the cap, for a fresh problem, the grade and the answer's way back
UNSOLVED = Own("unsolved", 0, math.inf, math.inf, math.inf)

Times = dict[str, dict[str, float]]  # seconds by method and problem, inf where unsolved


# ---- measuring


def answer_requests(method: str, pipe: Connection) -> None:
    """The worker: (path, tol, limits) comes in, an Own goes out. Without a request it ends."""
    for tiny in tiny_problems():
        takes(method, tiny)  # compile
    pipe.send("ready")
    read = lru_cache(maxsize=1)(friction_problem)
    while request := pipe.recv():
        path, tol, limits = request
        problem = read(path)
        pipe.send("loaded")
        try:
            pipe.send(measured(problem, method, tol, limits))
        except InputError:  # as of a method for the global form on a problem without one
            pipe.send(dataclasses.replace(UNSOLVED, method="not for it"))


class Worker:
    """One method in a process of its own, started anew after it had to be ended."""

    def __init__(self, method: str):
        self.method = method
        self.start()

    def start(self) -> None:
        processes = multiprocessing.get_context("spawn")
        self.pipe, end = processes.Pipe()
        self.process = processes.Process(target=answer_requests, args=(self.method, end), daemon=True)
        self.process.start()
        end.close()
        self.pipe.recv()

    def measure(self, path: Path, tol: float, limits: Limits) -> Own:
        """Our answer, or UNSOLVED where the process had to be ended or ended by itself."""
        try:
            self.pipe.send((path, tol, limits))
            self.pipe.recv()
            if self.pipe.poll(limits.cap + SLOW + GRACE):  # a second call follows one that is not slow
                own: Own = self.pipe.recv()
                return own
        except (EOFError, BrokenPipeError):
            print(f" {self.method} crashed on {path.stem}", end="")
        self.process.kill()
        self.start()
        return UNSOLVED

    def stop(self) -> None:
        self.pipe.send(None)
        self.process.join()


def measure_problem(workers: Sequence[Worker], path: Path, limits: Limits) -> dict[tuple[str, float], Own]:
    """The best answer of each method at each tolerance. The methods take turns, so that a slow moment of the machine
    does not hit one of them alone."""
    found: dict[tuple[str, float], Own] = {(worker.method, tol): UNSOLVED for worker in workers for tol in TOLERANCES}
    able = list(workers)
    for tol in TOLERANCES:
        for worker in able:
            found[worker.method, tol] = worker.measure(path, tol, limits)
        able = [worker for worker in able if found[worker.method, tol].residual <= tol]
        for worker in (ROUNDS - 1) * [worker for worker in able if found[worker.method, tol].seconds < QUICK]:
            again = worker.measure(path, tol, limits)
            if again.residual <= tol and again.seconds < found[worker.method, tol].seconds:
                found[worker.method, tol] = again
    return found


def measure(methods: Sequence[str], files: Sequence[Path], limits: Limits) -> dict[str, Any]:
    """{method: {tolerance: {problem: its Own as a dict}}}"""
    runs: dict[str, Any] = {method: {str(tol): {} for tol in TOLERANCES} for method in methods}
    workers = [Worker(method) for method in methods]
    for path in files:
        for (method, tol), own in measure_problem(workers, path, limits).items():
            runs[method][str(tol)][path.stem] = dataclasses.asdict(own)
        print(".", end="", flush=True)
    print()
    for worker in workers:
        worker.stop()
    return runs


# ---- the profile


def solved_times(runs: dict[str, Any], tol: float, problems: Sequence[str], cap: float) -> Times:
    def seconds(run: dict[str, Any] | None) -> float:
        return run["seconds"] if run and run["residual"] <= tol and run["seconds"] <= cap else math.inf

    return {method: {name: seconds(by[str(tol)].get(name)) for name in problems} for method, by in runs.items()}


def siconos_times(folder: Path, tol: float, problems: Sequence[str]) -> Times:
    """The stored best variant of each problem, and plain NSGS."""

    def gauss_seidel(name: str) -> float:
        runs = stored_baselines(folder).get(name, {}).get("runs", {}).get("NSGS", {}).values()
        return min((run["time"] for run in runs if run.get("residual", math.inf) <= tol), default=math.inf)

    best = {name: entry[1] if (entry := stored_best(folder, name, tol)) else math.inf for name in problems}
    return {"Siconos, best variant": best, "Siconos, NSGS": {name: gauss_seidel(name) for name in problems}}


def ratios(times: dict[str, float], fastest: dict[str, float]) -> np.ndarray:
    """Time over the fastest, sorted; unsolved ones left out. Zero where only this one solves it."""
    return np.sort(
        [
            seconds / fastest[name] if math.isfinite(fastest[name]) else 0.0
            for name, seconds in times.items()
            if math.isfinite(seconds)
        ]
    )


# ---- the picture

# six of Okabe and Ito's colours, which the colour-blind tell apart; then the same with dashes
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LEFT, RIGHT = 0.01, 1000.0  # of the τ axis; what lies beyond is drawn at its end


def draw(runs: dict[str, Any], problems: Sequence[str], folder: Path, cap: float, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    others = [method for method in runs if method != "auto"]
    figure, panels = plt.subplots(1, 3, figsize=(13, 5.2), sharey=True, layout="constrained")
    for panel, tol in zip(panels, TOLERANCES, strict=True):
        own = solved_times(runs, tol, problems, cap)
        fastest = {name: min(times[name] for times in own.values()) for name in problems}
        if stored_baselines(folder):
            styles = ("--", ":")
            for (label, times), style in zip(siconos_times(folder, tol, problems).items(), styles, strict=True):
                stairs(panel, ratios(times, fastest), len(problems), label, color="0.45", lw=1.4, ls=style)
        if "auto" in own:
            stairs(panel, ratios(own["auto"], fastest), len(problems), "auto", color="black", lw=4.0)
        for k, method in enumerate(others):
            colour, dashes = COLOURS[k % len(COLOURS)], "-" if k < len(COLOURS) else (0, (3, 1))
            stairs(panel, ratios(own[method], fastest), len(problems), method, color=colour, lw=1.7, ls=dashes)
        panel.axvline(1.0, color="0.8", lw=0.8, zorder=0)
        panel.set(xscale="log", xlim=(LEFT, RIGHT), ylim=(0, 1.02))
        panel.set_title(f"residual ≤ $10^{{{math.log10(tol):.0f}}}$")
        panel.set_xlabel("τ = time / fastest stickslip method")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"share of the {len(problems)} problems solved within τ")
    panels[0].yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    handles, labels = panels[0].get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: (labels[i] != "auto", labels[i].startswith("Siconos")))
    figure.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="outside lower center", ncols=6, frameon=False
    )
    figure.suptitle("Friction problems: how often each method is close to the fastest, and how often it gets there")
    figure.savefig(out, dpi=130)
    plt.close(figure)


def stairs(panel: Any, sorted_ratios: np.ndarray, count: int, label: str, **style: Any) -> None:
    """A step up by one problem at each ratio, and on to the right edge."""
    x = np.append(np.clip(sorted_ratios, LEFT, RIGHT), RIGHT)
    panel.step(x, np.arange(x.size) / count, where="pre", label=label, **style)


def summary(runs: dict[str, Any], problems: Sequence[str], folder: Path, cap: float) -> str:
    """For each method and tolerance: how many it solves, how often it is the fastest, its median ratio where solved."""
    rows = []
    each = {tol: solved_times(runs, tol, problems, cap) for tol in TOLERANCES}
    fastest = {
        tol: {name: min(times[name] for times in own.values()) for name in problems} for tol, own in each.items()
    }
    shown = {
        tol: {**own, **(siconos_times(folder, tol, problems) if stored_baselines(folder) else {})}
        for tol, own in each.items()
    }
    for method in shown[TOLERANCES[0]]:
        row = [method]
        for tol in TOLERANCES:
            found = ratios(shown[tol][method], fastest[tol])
            first = int((found <= 1).sum())
            middle = f"{np.median(found):.3g}" if found.size else "-"
            row += [f"{found.size}/{len(problems)}", str(first), middle]
        rows.append(row)
    header = ["method", *(f"{title} {tol:.0e}" for tol in TOLERANCES for title in ("solved", "τ ≤ 1", "median τ"))]
    return table(header, rows)


def slowest(runs: dict[str, Any], problems: Sequence[str], cap: float) -> str:
    """Where auto is furthest behind another method of ours, at 1e-8."""
    own = solved_times(runs, 1e-8, problems, cap)
    rows = []
    for name in problems:
        leader = min(own, key=lambda method: own[method][name])
        if own["auto"][name] > 1.5 * own[leader][name]:
            rows.append([name, leader, duration(own[leader][name]), duration(own["auto"][name])])
    return table(["problem", "fastest", "its time", "auto"], rows) if rows else "auto is nowhere 1.5 times behind"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the public problems and baselines.json")
    default = Path(__file__).resolve().parent.parent / "docs" / "friction_profile.png"
    parser.add_argument("--out", type=Path, default=default, help="the picture; the numbers go to a .json beside it")
    parser.add_argument("--cap", type=float, default=10.0, help="seconds a run may take")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument("--contacts", type=int, default=1, help="draw only problems with this many contacts or more")
    parser.add_argument("--methods", nargs="+", help="measure these, keep the others of the .json")
    parser.add_argument("--redraw", action="store_true", help="measure none, draw the .json")
    options = parser.parse_args()

    store = options.out.with_suffix(".json")
    kept = options.redraw or options.methods
    record: dict[str, Any] = json.loads(store.read_text()) if kept and store.exists() else {}
    runs: dict[str, Any] = record.get("runs", {})
    contacts: dict[str, int] = record.get("contacts", {})
    cap: float = record.get("cap", options.cap)
    if not options.redraw:
        files = public_problems(options.data, options.only)
        if not files:
            print(f"no public friction problems in {options.data}: nothing to measure")
            return 0
        contacts |= {path.stem: friction_problem(path).contacts for path in files}
        known = cone_methods()
        methods = options.methods or known
        if unknown := sorted(set(methods) - set(known)):
            parser.error(f"no methods for friction problems: {', '.join(unknown)}; these are: {', '.join(known)}")
        print(", ".join(methods))
        runs |= measure(methods, files, Limits(cap, repeats=5, budget=0.05))
        store.write_text(json.dumps({"cap": cap, "contacts": contacts, "runs": runs}, indent=1) + "\n")
    problems = [name for name, count in contacts.items() if count >= options.contacts]
    if not runs or not problems:
        print(f"nothing to draw: no numbers in {store}, or no problem with {options.contacts} contacts")
        return 1
    draw(runs, problems, options.data, cap, options.out)
    print("\n" + summary(runs, problems, options.data, cap) + "\n")
    if "auto" in runs:
        print(slowest(runs, problems, cap) + "\n")
    print(f"{options.out}, {store}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
