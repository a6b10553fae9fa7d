"""`python -m stickslip.precompile`: compile everything beforehand, into the pack of this installation.

It runs recipes, each in a process of its own, some side by side, into a cache of their own; the machine code that they
leave is the pack. They run again until nothing is added, for what one recipe compiled another may load and then take
another way. `--to FOLDER` writes the pack elsewhere; `--processes N` says how many run at a time.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from stickslip import pack
from stickslip.compiling import processor

MOST_ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m stickslip.precompile", description=__doc__)
    parser.add_argument("--to", type=Path, default=pack.PACK.parent, help="folder of the pack")
    parser.add_argument("--processes", type=int, default=max(2, os.cpu_count() or 2), help="how many run at a time")
    parser.add_argument("--only", nargs="+", help="only these recipes")
    parser.add_argument("--recipe", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.recipe:
        from stickslip.recipes import RECIPES

        gc.disable()  # nothing that compiling makes is worth looking through
        pack.PACK = Path("none")
        RECIPES[given.recipe]()
    else:
        precompile(given.to / pack.PACK.name, given.processes, given.only)


def precompile(path: Path, processes: int, only: Iterable[str] | None = None) -> None:
    from stickslip.recipes import RECIPES

    names = list(only or RECIPES)
    started = time.perf_counter()
    print(f"stickslip: compiling kernels for {processor()}, {processes} processes", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        programs: dict[str, Path] = {}
        for _ in range(MOST_ROUNDS):
            before = len(programs)
            run(names, processes, cache)
            programs = {file.name: file for file in cache.glob(f"*{pack.PROGRAM}")}
            print(f"stickslip: {len(programs)} programs after {time.perf_counter() - started:.0f} s", flush=True)
            if len(programs) == before:
                break
        pack.write_pack(path, programs)
    print(f"stickslip: {path}, {path.stat().st_size / 1e6:.1f} MB", flush=True)


def run(names: list[str], processes: int, cache: Path) -> None:
    """Run recipes, so many at a time, the first ones first."""
    waiting = list(names)
    running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
    settings = {**os.environ, "STICKSLIP_CACHE": str(cache)}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                name = waiting.pop(0)
                command = [sys.executable, "-m", "stickslip.precompile", "--recipe", name]
                running[name] = subprocess.Popen(command, env=settings), time.perf_counter()
            for name, (process, begun) in list(running.items()):
                if process.poll() is None:
                    continue
                del running[name]
                if process.returncode:
                    raise SystemExit(f"stickslip: the recipe {name} ended with exit code {process.returncode}")
                print(f"stickslip: {name}, {time.perf_counter() - begun:.0f} s", flush=True)
            time.sleep(0.05)
    finally:
        for process, _ in running.values():
            process.kill()


if __name__ == "__main__":
    main()
