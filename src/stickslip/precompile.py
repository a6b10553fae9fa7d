"""`python -m stickslip.precompile`: compile everything beforehand, into the pack of this installation.

It runs recipes, each in a process of its own, some side by side, into a cache of their own; the machine code that they
leave is the pack. No kernel is compiled twice: who needs one that another process is at waits for it.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stickslip import pack
from stickslip.jit import refusal


def main() -> None:
    # one more than there are cores, for some wait for others; at most four, for each takes half a gigabyte
    most = min((os.cpu_count() or 1) + 1, 4)
    parser = argparse.ArgumentParser(prog="python -m stickslip.precompile", description=__doc__)
    parser.add_argument("--to", type=Path, default=pack.PACK.parent, help="folder of the pack")
    parser.add_argument("--processes", type=int, default=most, help="how many run at a time")
    parser.add_argument("--recipe", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.recipe:
        follow(given.recipe)
    elif refusal():
        raise SystemExit(f"stickslip: nothing can be compiled beforehand: {refusal()}.")
    else:
        precompile(given.to / pack.PACK.name, given.processes)


def follow(recipe: str) -> None:
    """Run a recipe in this process, which is for nothing else."""
    from stickslip.recipes import RECIPES

    gc.disable()  # nothing that compiling makes is worth looking through
    pack.PACK = Path("none")
    RECIPES[recipe]()
    print(f"stickslip: {recipe}, {time.process_time():.0f} s of processor time", flush=True)


def precompile(path: Path, processes: int) -> None:
    from stickslip.recipes import RECIPES

    started = time.perf_counter()
    print(f"stickslip: compiling kernels for {pack.processor()} in {processes} processes", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        follow_all(list(RECIPES), processes, folder)
        programs = {file.name: file for file in Path(folder).glob(f"*{pack.PROGRAM}")}
        pack.write_pack(path, programs)
    size, seconds = path.stat().st_size / 1e6, time.perf_counter() - started
    print(f"stickslip: {len(programs)} programs in {path}, {size:.1f} MB, after {seconds:.0f} s", flush=True)


def follow_all(recipes: list[str], processes: int, cache: str) -> None:
    """Run recipes in processes of their own, so many at a time, the first ones first."""
    waiting, running = list(recipes), dict[str, subprocess.Popen[bytes]]()
    settings = {**os.environ, "STICKSLIP_CACHE": cache}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                command = [sys.executable, "-m", "stickslip.precompile", "--recipe", waiting[0]]
                running[waiting.pop(0)] = subprocess.Popen(command, env=settings)
            time.sleep(0.05)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                if running.pop(name).returncode:
                    raise SystemExit(f"stickslip: the recipe {name} failed")
    finally:
        for process in running.values():
            process.kill()


if __name__ == "__main__":
    main()
