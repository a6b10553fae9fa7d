"""The same sweep of 2,000 runs on threads, processes, dask and MPI, and what a copy of an ensemble costs.

Claims: every engine gives the same bits as one run after another, and so do copies of
ensembles; a copy of an ensemble costs at most 5 µs beside its steps, and n threads make the steps at 0.9 of n times the
pace of one.

Wall time says what the engines cost on this machine as busy as it is: the load is printed, and processor time beside.
The pace of threads is the best of several rounds of one thread and two in turn. Where cores are shared it is bounded
beside, by the processor time that the same copies take on n threads and on one: what threads lose to each other (locks,
caches, waiting that spins) is processor time, and what they lose to Python's lock is the share of the work that runs
under it, which is measured too, as what an ensemble takes beside its compiled calls.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.sweeps import ensemble as ensembles
from stickslip.sweeps.scenes import Measures

MOST_BESIDE = 5.0  # µs a copy
PACE = 0.9
ROUNDS = 7  # of one thread and two in turn, of which the best count
SLIDE = {"friction": np.linspace(0.05, 1.0, 40).tolist(), "speed": np.linspace(0.5, 3.0, 50).tolist()}


def slide(friction: float, speed: float, rng: np.random.Generator) -> dict[str, Any]:
    """A box that slides and spins for 50 steps."""
    scene = ss.Scene()
    scene.add_plane(friction=friction)
    spin = (0.0, 0.0, rng.uniform(-3.0, 3.0))
    box = scene.add_box(size=(0.4, 0.3, 0.2), mass=2.0, position=(0, 0, 0.1), velocity=(speed, 0, 0), spin=spin)
    run = ss.simulate(scene, duration=0.25, dt=5e-3)
    return {"end": run.position(box)[-1], "residual": run.residual.max()}


def on_engine(engine: Any, runs: int, out: str) -> None:
    """One sweep in this process; its seconds are printed."""
    over = SLIDE | {"speed": SLIDE["speed"][: max(1, runs // len(SLIDE["friction"]))]}
    slide(0.5, 1.0, np.random.default_rng())  # compiled
    started = time.perf_counter()
    ss.sweep(slide, over=over, engine=engine, workers=2 if isinstance(engine, str) else 1, out=out)
    print(time.perf_counter() - started)


def sweeps(runs: int) -> bool:
    print(f"{runs} runs of 50 steps, 2 workers; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    tables: dict[str, ss.Sweep] = {}
    seconds: dict[str, float] = {}
    launcher = Path(sys.executable).parent / "mpiexec"
    for engine in ("one thread", "threads", "processes", "dask", "mpi"):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "table.h5")
            command = [sys.executable, __file__, "--one", engine, str(runs), out]
            if engine == "mpi":
                command[:1] = [str(launcher), "-n", "3", sys.executable, "-m", "mpi4py.futures"]
            used = processor_of_children()
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            except FileNotFoundError:
                print(f"  {engine:10} left out: there is no {launcher}")
                continue
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["died"])[-1]
                print(f"  {engine:10} left out: {reason}")
                if "not installed" in reason:
                    continue
                return False
            used = processor_of_children() - used
            seconds[engine], tables[engine] = float(done.stdout.split()[-1]), ss.Sweep.load(out)
        same = all(
            np.array_equal(tables[engine][name], tables["one thread"][name]) for name in ("end", "residual", "speed")
        )
        ratio = seconds[engine] / seconds["one thread"]
        bits = "same bits" if same and tables[engine].done.size == runs else "OTHER BITS"
        print(
            f"  {engine:10} {seconds[engine]:7.2f} s, {ratio:5.2f} of one thread, {used:6.1f} s of the processor with "
            f"all that is loaded, {bits}",
            flush=True,
        )
        if bits != "same bits":
            return False
    return True


def processor_of_children() -> float:
    """[s] of those that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def at_once(runs: int) -> bool:
    """A sweep of a scene, run by run and as copies of ensembles: processor time, and whether the bits are the same."""
    scene = ss.Scene()
    scene.add_plane()
    scene.add_box(size=(0.4, 0.3, 0.2), mass=2.0, position=(0, 0, 0.1), name="box")
    over = {"friction": SLIDE["friction"], "box.velocity.x": SLIDE["speed"][: max(1, runs // len(SLIDE["friction"]))]}
    names = Measures(("box.position", "residual"))
    found, seconds = [], []
    for measure in (lambda run: names(run), list(names.names)):  # a function is asked run by run
        started = time.process_time()
        found.append(ss.sweep(scene, over, measure=measure, duration=0.25, dt=5e-3, workers=1))
        seconds.append(time.process_time() - started)
    same = all(np.array_equal(found[0][name], found[1][name]) for name in names.names)
    bits = "same bits" if same and found[1].done.size == len(found[1]) else "OTHER BITS"
    print(f"\na scene, {runs} runs: {seconds[0]:.2f} s of the processor one by one, {seconds[1]:.2f} s at once, {bits}")
    return bits == "same bits"


def tosses(count: int, steps: int, threads: int) -> tuple[float, float, float]:
    """Wall and processor seconds of an ensemble, and those within compiled calls."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=(0.4, 0.3, 0.2), mass=2.0, position=(0, 0, 0.11), name="box")
    rng = np.random.default_rng(0)
    samples = {"box.velocity": rng.normal(size=(count, 3)), "friction": rng.uniform(0.1, 1.0, count)}
    inside: list[float] = []
    compiled = ensembles.advance

    def timed(*arguments: Any) -> Any:
        started = time.thread_time()
        found = compiled(*arguments)
        inside.append(time.thread_time() - started)
        return found

    ensembles.advance = timed
    wall, processor = time.perf_counter(), time.process_time()
    try:
        ss.ensemble(scene, steps * 5e-3, 5e-3, samples=samples, threads=threads)
    finally:
        ensembles.advance = compiled
    return time.perf_counter() - wall, time.process_time() - processor, sum(inside)


def ensemble(count: int) -> bool:
    tosses(10, 10, 1)
    one, two = (min(tosses(count, steps, 1)[1] for _ in range(5)) for steps in (1, 2))
    beside = 1e6 * (2 * one - two) / count  # what no step costs
    print(f"\nensemble of {count} copies: {beside:.2f} µs a copy beside its steps (at most {MOST_BESIDE:g})")
    ones, twos = zip(*((tosses(count // 4, 100, 1), tosses(count // 4, 100, 2)) for _ in range(ROUNDS)), strict=True)
    (wall_1, processor_1, _), (wall_2, processor_2, inside) = (
        tuple(map(min, zip(*of, strict=True))) for of in (ones, twos)
    )
    lost, under_lock = processor_1 / processor_2, 1 - inside / processor_2
    bound = lost * (1 - under_lock)
    load = os.getloadavg()[0]
    print(f"  2 threads: {wall_1 / wall_2:.2f} times the pace of one by the wall clock, at a load of {load:.1f}")
    print(f"  the same work takes {1 / lost:.3f} of the processor time, {100 * under_lock:.2f} % under Python's lock:")
    print(f"  {bound:.3f} of 2 times where both cores are free (at least {PACE:g})")
    return beside <= MOST_BESIDE and max(bound, wall_1 / wall_2 / 2) >= PACE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--copies", type=int, default=4000)
    parser.add_argument("--one", nargs=3, metavar=("ENGINE", "RUNS", "OUT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        engine, runs, out = given.one
        if engine == "one thread":
            from concurrent.futures import ThreadPoolExecutor

            engine = ThreadPoolExecutor(1)
        on_engine(engine, int(runs), out)
        return 0
    right = [sweeps(given.runs), at_once(given.runs), ensemble(given.copies)]
    print("\nPASS" if all(right) else "\nFAIL")
    return not all(right)


if __name__ == "__main__":
    sys.exit(main())
