"""Many scenes, each run with all defaults: does it finish, how well is it solved, and is it right?

Claim: every scene finishes within the cap and keeps its checks. What fails is printed as it is, with the time at which
a run ended and why. MuJoCo and PyBullet, with their defaults, are run beside on some scenes, under the same checks.

    heaps              scene_heaps.py       balls, boxes, mixed shapes, capsules, compounds, cards, logs, a shot
    towers             scene_towers.py      cubes, masonry, cards, dominoes, jenga, in space and in the plane
    machines           scene_machines.py    chains, grippers, vehicles, linkages, a bridge, a belt
    impacts and more   scene_impacts.py     fast, bouncing, spinning, sliding, starts in each other, other units

What is measured, and the checks that all scenes have, is in scene_course.py. The columns:

    steps          solved of those asked for; inexact and failed ones beside
    residual       the worst of a step
    wrong m/s      the worst velocity at a contact that its law does not allow
    overlap, energy gain, joint drift      see scene_course.py
    ms, slowest    CPU time of a step of `simulate`, and the slowest one; for peers their step alone

Each scene is run in a process of its own, after some steps off the clock that compile; its CPU time is capped.

    python benchmarks/scenes.py [--quick] [--cap 120] [--large] [--no-peers] [--only balls-200 tower-10 ...]
                                [--json FILE] [--list]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import json
import math
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
from peers import table
from scene_course import Case, Course, course_of
from scene_heaps import HEAPS, LARGE
from scene_impacts import IMPACTS
from scene_machines import MACHINES
from scene_peers import ENGINES, ON, run_peer
from scene_towers import TOWERS

import stickslip as ss
from stickslip.problems.mechanical import sphere_pile

CAP, QUICK = 120.0, 10.0  # seconds of CPU time a scene may take
FIRST = 3  # steps off the clock
COMPILING = 900.0  # seconds that a process may take beside


class OutOfTime(Exception):
    """The cap was reached."""


def catalogue(large: bool) -> dict[str, Case]:
    makers = (*HEAPS, *TOWERS, *MACHINES, *IMPACTS, *(LARGE if large else ()))
    cases = [make() for make in makers]
    named = {case.name: case for case in cases}
    assert len(named) == len(cases)
    return named


def compile_solvers() -> None:
    """What steps need outside of the loop is compiled in the middle of a run: have it done before, once."""
    pile = sphere_pile(layers=3, mu=0.5)
    for method in ("auto", "nsgs", "cone_interior_point", "cone_newton", "admm"):
        ss.solve(pile, method=method)


# one scene, in a process of its own


def run_ours(case: Case, cap: float) -> dict[str, Any]:
    def stop(*_: Any) -> None:
        raise OutOfTime

    warnings.simplefilter("ignore", ss.InexactWarning)  # counted in the table
    said: dict[str, Any] = {"friction": case.friction, "progress": False}
    ss.simulate(case.scene, min(FIRST, case.steps) * case.dt, case.dt, keep_going=True, **said)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where the problem of a step that fails is saved
        file = Path(folder) / "run.h5"
        signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, cap)
        started = thread_time()
        try:
            run, ended = ss.simulate(case.scene, case.steps * case.dt, case.dt, path=file, **said), ""
        except ss.StepFailed as failed:
            run, ended = failed.trajectory, str(failed)
        except OutOfTime:
            run, ended = ss.Trajectory.load(file), f"cut off at {cap:g} s"
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        spent = thread_time() - started
        with run:
            made = len(run)
            if ended:
                ended = f"at {run.time[-1]:.3g} s: {ended}"
            return row(case, course_of(case.model, case.dt, run), ended) | solves(run) | {
                "made": made, "ms": 1e3 * spent / max(1, made), "slowest": 1e3 * run.seconds.max(initial=0.0),
            }  # fmt: skip


def solves(run: ss.Trajectory) -> dict[str, Any]:
    """What the trajectory says about its steps: one line a column."""
    return {
        "failed": len(run.failures),
        "inexact": len(run.inexact),
        "residual": float(run.residual.max(initial=0.0)),
        "wrong": float(np.nanmax(run.velocity_error, initial=0.0)),
        "contacts": int(run.contact_count.max(initial=0)),
        "methods": {name: run.method.count(name) for name in dict.fromkeys(run.method)},
    }


def row(case: Case, course: Course, ended: str) -> dict[str, Any]:
    """What is measured for every engine. What a scene alone checks is not checked where the run did not finish."""
    checks = case.graded(course) if not ended else [c for c in case.graded(course) if c.what in UNIVERSAL]
    return {
        "ended": ended,
        "overlap": course.overlap(),
        "gain": course.gain if case.gain is not None else math.nan,
        "drift": course.drift,
        "checks": [(*check, check.passed) for check in checks],
    }


UNIVERSAL = ("overlap", "energy gain", "joint drift")


def run_other(engine: str, case: Case, cap: float) -> dict[str, Any]:
    course, mean, greatest, made = run_peer(engine, case, cap)
    ended = "" if made == case.steps else f"at {made * case.dt:.3g} s: cut off at {cap:g} s"
    return row(case, course, ended) | {"made": made, "ms": 1e3 * mean, "slowest": 1e3 * greatest}


# all scenes


def in_a_process(name: str, engine: str, cap: float, large: bool) -> dict[str, Any]:
    command = [sys.executable, __file__, "--only", name, "--engine", engine, "--cap", str(cap)]
    try:
        done = subprocess.run(
            command + ["--large"] * large, capture_output=True, text=True, timeout=2 * cap + COMPILING
        )
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"ended": "not ended by its cap"}
    except (IndexError, json.JSONDecodeError):
        return {"ended": "died: " + (done.stderr.strip().splitlines() or ["without a word"])[-1]}


def cells(case: Case, engine: str, found: dict[str, Any]) -> list[str]:
    made, failed = found.get("made", 0), found.get("failed")
    steps = f"{made - (failed or 0)}/{case.steps}"
    numbers = [found.get(key, math.nan) for key in ("residual", "wrong", "overlap", "gain", "drift", "ms", "slowest")]
    wrong = [f"{what} {value:.2g}" for what, value, _, _, passed in found.get("checks", []) if not passed]
    solved = [f"{found[key]}" if key in found else "" for key in ("inexact", "failed")]
    if found["ended"]:
        wrong.insert(0, shortened(found["ended"]))
    return [
        case.name if engine == "stickslip" else f"  {engine}", steps, *solved, *map(number, numbers),
        "; ".join(wrong) or "all kept",
    ]  # fmt: skip


def shortened(ended: str) -> str:
    """The first sentence of what ended a run."""
    return ended.split(". The problem")[0].split("; the worst")[0].replace(" was not solved", "")


def number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2g}"


def kept(found: dict[str, Any]) -> bool:
    return not found["ended"] and all(passed for *_, passed in found["checks"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"a cap of {QUICK:g} s")
    parser.add_argument("--cap", type=float, metavar="SECONDS", help=f"of CPU time a scene, {CAP:g} where not given")
    parser.add_argument("--large", action="store_true", help="5,000 balls too")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="SCENE")
    parser.add_argument("--list", action="store_true", help="the names of the scenes, and no more")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all numbers")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cap = options.cap or (QUICK if options.quick else CAP)
    cases = catalogue(options.large)
    if options.list:
        print(*cases, sep="\n")
        return 0
    chosen = options.only or list(cases)
    for name in chosen:
        if name not in cases:
            parser.error(f"no scene {name!r}, expected one of {', '.join(cases)}")
    if options.engine:
        case = cases[chosen[0]]
        found = run_ours(case, cap) if options.engine == "stickslip" else run_other(options.engine, case, cap)
        print(json.dumps(found))
        return 0
    compile_solvers()
    rows, all_found = [], {}
    for name in chosen:
        case = cases[name]
        engines = ["stickslip", *(ENGINES if name in ON and not options.no_peers else ())]
        for engine in engines:
            found = in_a_process(name, engine, cap, options.large)
            all_found[f"{name}/{engine}"] = found
            rows.append(cells(case, engine, found))
            print(*rows[-1], sep=" | ", flush=True)
        if options.json:
            options.json.write_text(json.dumps(all_found, indent=1))
    head = ["scene", "steps", "inexact", "failed", "residual", "wrong m/s", "overlap", "energy gain", "joint drift"]
    print("\n" + table([*head, "ms", "slowest ms", "what is wrong"], rows) + "\n")
    return verdicts({name: all_found[f"{name}/stickslip"] for name in chosen})


def verdicts(found: dict[str, dict[str, Any]]) -> int:
    unfinished = [name for name, one in found.items() if one["ended"]]
    broken = [name for name, one in found.items() if not one["ended"] and not kept(one)]
    claims = ((f"every one of {len(found)} scenes finishes", unfinished), ("those that do keep all checks", broken))
    for claim, but in claims:
        print(f"{'FAIL' if but else 'PASS'}: {claim}" + (f", but {len(but)}: {', '.join(but)}" if but else ""))
    return 1 if unfinished or broken else 0


if __name__ == "__main__":
    sys.exit(main())
