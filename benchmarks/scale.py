"""Large scenes: time and memory a body, from 10^3 balls on, and against PyBullet and MuJoCo as far as they get.

    falling   balls in a cube of rows, none touching, in free fall
    boxes     the same with boxes that turn
    resting   balls on the ground, a contact each: collision, rows, sweeps and memory of every step
    stacks    boxes in columns of five on the ground, 20 contacts a column
    heap      balls that touch in a cube of rows between walls: all in one island, which rests on 3 contacts a ball
    dropped   balls in rows that are not quite straight, let go between walls: they fall on each other and settle

The claims: time is linear in bodies, with an exponent of at most 1.05 from 10^4 bodies on (falling, boxes, resting,
stacks); 10^3, which fit into the cache of a core, are printed beside with the exponent from there. The heaps are
printed too: their sweeps are bounded by `effort`, so they are linear as well, and the residual says how far such a
bound leads. And: the heap has the same bits on one thread and on two.

Times are of the processor, a step, the least of all, which those who share the machine disturb least; a scene is built
and set up off the clock, and what that takes is printed. On a machine that is busy --rounds 3 measures all sizes three
times in turn, and the quickest counts. --shuffled numbers the bodies in no order. What two threads
gain is the ratio of the least wall times of a step, taken in turn in one process, with the processor time beside, as a
machine that is busy has no second core to give. Memory is what the process grew by, without the scene's own
description; recorded, a frame is 104 bytes a body and 200 a contact (simulate(..., every=n) keeps every n-th). Each
size of each engine runs in a process of its own. A step of bodies that fall does little but touch memory, about 1.3 kB
a body in arrays of 0.7 kB a body: what plain sums over arrays of that size take for as many bytes, in the same process,
is printed beside.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from engine_scenes import ORIGIN, UP, Block, Plane, Setting, everywhere

DT = 5e-3
MOST = 1.05  # exponent
BEYOND_CACHE = 10_000  # bodies
PEERS = {"pybullet": 10_000, "mujoco": 10_000}  # most bodies that each is given
CAP = 400.0  # seconds of a process
MORE = 4
HELD, TOUCHED = 700, 1300  # bytes a falling body has in all arrays of a step, and those read and written in all passes
BEFORE = {"dropped": 40}  # steps off the clock, else two: that those who fall have met
GROUND = Plane(ORIGIN, UP, everywhere(0.5))


def falling(count: int) -> Setting:
    return setting("falling", rows(count, 3, 1.05, above=10.0))


def boxes(count: int) -> Setting:
    """Boxes of 0.7 m, which have room to turn."""
    balls = rows(count, 3, 1.3, above=10.0)
    return setting("boxes", [replace(ball, size=(0.7, 0.7, 0.7), spin=(1.0, 2.0, 3.0)) for ball in balls])


def resting(count: int) -> Setting:
    return setting("resting", rows(count, 2, 1.05))


def heap(count: int) -> Setting:
    return setting("heap", rows(count, 3, 1.0), walls(count, 1.0))


def dropped(count: int) -> Setting:
    chance = random.Random(0)
    balls = []
    for ball in rows(count, 3, 1.05):
        x, y, z = (at + chance.uniform(-0.02, 0.02) for at in ball.position)
        balls.append(replace(ball, position=(x, y, z + 0.05)))
    return setting("dropped", balls, walls(count, 1.05))


def walls(count: int, apart: float) -> list[Plane]:
    """About a cube of rows."""
    side = math.ceil(round(count ** (1 / 3), 6))
    ends = ((-0.5 - 0.5 * (apart - 1), 1.0), (apart * (side - 1) + 0.5 + 0.5 * (apart - 1), -1.0))
    sides = [(at, normal) for at, way in ends for normal in ((way, 0.0, 0.0), (0.0, way, 0.0))]
    return [Plane((at, at, 0.0), normal, everywhere(0.5)) for at, normal in sides]


def stacks(count: int) -> Setting:
    side = math.ceil(math.sqrt(count / 5))
    blocks = []
    for i in range(count):
        column, level = divmod(i, 5)
        place = (1.5 * (column % side), 1.5 * (column // side), 0.5 + level)
        blocks.append(Block((1.0, 1.0, 1.0), 1.0, place, everywhere(0.5)))
    return setting("stacks", blocks)


SCENES = {each.__name__: each for each in (falling, boxes, resting, stacks, heap, dropped)}
LINEAR = ("falling", "boxes", "resting", "stacks")


def rows(count: int, axes: int, apart: float, above: float = 0.0) -> list[Block]:
    """Balls of a diameter of 1 m in a square or a cube."""
    side = math.ceil(round(count ** (1 / axes), 6))
    places = ((i % side, i // side % side, i // side**2 if axes == 3 else 0) for i in range(count))
    if axes == 2:
        places = ((i % side, i // side, 0) for i in range(count))
    return [Block((0.5,), 1.0, (apart * x, apart * y, 0.5 + above + apart * z), everywhere(0.5)) for x, y, z in places]


def setting(name: str, blocks: list[Block], around: Any = ()) -> Setting:
    return Setting(name, (0.0, 0.0, -9.81), (GROUND, *around), tuple(blocks), DT, 0, 1, lambda *_: {})


# one process


def measure(engine: str, name: str, count: int, steps: int, shuffled: bool) -> dict[str, float]:
    """Time and memory of some steps, after some that nobody looks at."""
    given = SCENES[name](count)
    if shuffled:
        given = replace(given, blocks=tuple(random.Random(0).sample(given.blocks, count)))
    world, found = ours(given) if engine == "stickslip" else peer(engine, given)
    world.step(BEFORE.get(name, 2))
    seconds = []
    for _ in range(steps):
        started = time.thread_time()
        world.step(1)
        seconds.append(time.thread_time() - started)
    found |= {"step": min(seconds), "memory": grown(found.pop("before"))}
    if engine == "stickslip":
        found |= {"residual": world.residual, "contacts": float(world._engine.work.count[0])}
        found["plain"] = TOUCHED / HELD * plain_sums(count * HELD // 24, steps)
    return found


def plain_sums(size: int, times: int) -> float:
    """The least seconds of z = x + y over so many numbers: how fast memory of that size is, on this machine as busy as
    it is."""
    x, y, z = np.ones((3, size))
    seconds = []
    for _ in range(times):
        started = time.thread_time()
        np.add(x, y, out=z)
        seconds.append(time.thread_time() - started)
    return min(seconds)


def on_threads(count: int, steps: int) -> bool:
    """The heap on one thread and on two, step by step in turn. Are the bits the same?"""
    from engine import scene_of

    import stickslip as ss

    scene, _ = scene_of(heap(count))
    worlds = {threads: ss.Simulation(scene, dt=DT, threads=threads) for threads in (1, 2)}
    wall: dict[int, list[float]] = {1: [], 2: []}
    processor: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(steps + 1):
        for threads, world in worlds.items():
            started, used = time.perf_counter(), time.process_time()
            world.step(1)
            wall[threads].append(time.perf_counter() - started)
            processor[threads].append(time.process_time() - used)
    (one, two), (used_1, used_2) = ([min(of[threads][1:]) for threads in (1, 2)] for of in (wall, processor))
    same = all(np.array_equal(a, b) for a, b in zip(*(world._engine.state for world in worlds.values()), strict=True))
    print(
        f"  heap of {count:,}: two threads take {two / one:.2f} of the wall time of one ({1e3 * one:.0f} ms a step), "
        f"{used_2 / used_1:.2f} of its processor time ({1e3 * used_1:.0f} ms), {'same' if same else 'OTHER'} bits; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        flush=True,
    )
    return same


def ours(given: Setting) -> tuple[Any, dict[str, float]]:
    from engine import scene_of

    import stickslip as ss

    ss.Simulation(scene_of(SCENES["stacks"](50))[0], dt=DT).step(3)  # compiled, and loaded
    started = time.thread_time()
    scene, _ = scene_of(given)
    described, before = time.thread_time(), resident()
    world = ss.Simulation(scene, dt=DT)
    ready = time.thread_time()
    return world, {"describe": described - started, "set up": ready - described, "before": before}


def peer(engine: str, given: Setting) -> tuple[Any, dict[str, float]]:
    from engine_peers import PEERS as KNOWN

    name = {"pybullet": "pybullet/rigid", "mujoco": "mujoco/CG"}[engine]
    (chosen,) = [each for each in KNOWN if each.name == name]
    before, started = resident(), time.thread_time()
    world = chosen.start(given)
    return world, {"describe": 0.0, "set up": time.thread_time() - started, "before": before}


def resident() -> float:
    """Memory of this process now   [bytes]."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def grown(before: float) -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


# all of them


def run(engine: str, name: str, count: int, steps: int, shuffled: bool) -> dict[str, float] | str:
    command = [sys.executable, __file__, "--one", engine, name, str(count), str(steps)]
    command += ["--shuffled"] if shuffled else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(CAP, count / 5e3), check=False)
    except subprocess.TimeoutExpired:
        return f"> {CAP:g} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["died"])[-1][:60]
    return json.loads(done.stdout.splitlines()[-1])


def steps_of(name: str, count: int, given: argparse.Namespace) -> int:
    """Small scenes whose steps are all alike make up to MORE times as many: they are as easily disturbed, and sooner
    done."""
    return given.steps * (max(1, min(MORE, max(given.sizes) // count)) if name in LINEAR else 1)


def quickest(rounds: list[dict[str, float] | str]) -> dict[str, float] | str:
    """Of several rounds the one with the least time a step; what went wrong where all did."""
    measured = [each for each in rounds if not isinstance(each, str)]
    return min(measured, key=lambda each: each["step"]) if measured else rounds[0]


def growth(known: dict[int, dict[str, float]], what: str, least: int) -> float:
    """The exponent of a quantity over bodies, of sizes from the least on; nan where there is one only."""
    sizes = [size for size in known if size >= least]
    values = [known[size][what] for size in sizes]
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else math.nan


def show(engine: str, count: int, found: dict[str, float] | str) -> None:
    if isinstance(found, str):
        print(f"  {engine:9} {count:9,}  {found}", flush=True)
        return
    setup = 1e6 * (found["describe"] + found["set up"]) / count
    contacts = f"{found['contacts']:11,.0f} contacts, residual {found['residual']:.0e}" if "residual" in found else ""
    print(
        f"  {engine:9} {count:9,}  {1e6 * found['step'] / count:8.3f} µs a body and step"
        f"  {found['memory'] / count:7.0f} B a body  set-up {setup:5.0f} µs a body  {contacts}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--only", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1, help="of all sizes in turn, of which the quickest counts")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--shuffled", action="store_true", help="number the bodies in no order")
    parser.add_argument("--one", nargs=4, metavar=("ENGINE", "SCENE", "COUNT", "STEPS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        engine, name, count, steps = given.one
        print(json.dumps(measure(engine, name, int(count), int(steps), given.shuffled)))
        return 0
    failed = []
    for name in given.only:
        print(f"\n{name}")
        known: dict[int, dict[str, float]] = {}
        for engine in ("stickslip", *([] if given.no_peers else PEERS)):
            sizes = [count for count in given.sizes if count <= PEERS.get(engine, count)]
            rounds = [
                {count: run(engine, name, count, steps_of(name, count, given), given.shuffled) for count in sizes}
                for _ in range(given.rounds if engine == "stickslip" else 1)
            ]
            for count in sizes:
                found = quickest([each[count] for each in rounds])
                show(engine, count, found)
                if engine == "stickslip" and not isinstance(found, str):
                    known[count] = found
        if len(known) > 1:
            grows = growth(known, "step", 0), growth(known, "step", BEYOND_CACHE), growth(known, "memory", BEYOND_CACHE)
            print("  grows with the power {:.3f} of bodies, from 10^4 on {:.3f}, memory {:.3f}".format(*grows))
            if name in ("falling", "boxes"):
                shares = ", ".join(f"{1e6 * known[size]['plain'] / size:.3f}" for size in known)
                power = growth(known, "plain", BEYOND_CACHE)
                print(
                    f"  {TOUCHED} B a body of memory, added plainly, take {shares} µs: power {power:.3f} from 10^4 on"
                )
            if name in LINEAR and grows[1] > MOST:
                failed.append(f"{name} {grows[1]:.3f}")
        if len(known) < len(given.sizes):
            failed.append(f"{name} did not end")
    if "heap" in given.only:
        print("\nthreads")
        sizes = [count for count in given.sizes if 2_000 <= count <= 100_000]
        if not all(on_threads(count, given.steps) for count in sizes):
            failed.append("other bits on two threads")
    print("\nFAIL: " + ", ".join(failed) if failed else "\nPASS")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
