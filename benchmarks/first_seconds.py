"""How long a newcomer waits: `pip install .` in a fresh environment, then the first result of everything, with an empty
home that must stay empty.

    python benchmarks/first_seconds.py            promised seconds, for two quiet cores and a warm download cache
    python benchmarks/first_seconds.py --slack 4  the same times four, for a busy machine

Each command is a process of its own, run twice; the quicker counts, for the first may wait for the disk. "compiled"
counts kernels that were compiled, "written" files outside of the working folder; both must be none.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNT = """
import atexit, sys
from numba.core import event
class Counter(event.Listener):
    count = 0
    def on_start(self, event): self.count += event.data["dispatcher"].py_func.__module__.startswith("stickslip.")
    def on_end(self, event): pass
counter = Counter()
event.register("numba:compile", counter)
atexit.register(lambda: print("compiled", counter.count, file=sys.stderr))
"""
FORMULATION = """
import stickslip as ss
from stickslip.engine.names import formulation
scene = ss.Scene()
scene.add_plane(friction=1.0)
scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(0, 5, 0), stiffness=1e10, damping=1e8)
ss.simulate(scene, 1e-2, 1e-2, formulation("{name}"))
"""
PROBLEM = """
import stickslip as ss
from stickslip.problems.mechanical import box_stack
ss.save(box_stack(5, stir=0.01), "{path}")
"""
NAMES = "from stickslip.engine.names import FORMULATIONS; print(*FORMULATIONS)"


def readme_scene() -> str:
    """The first block of Python in README.md."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


class Newcomer:
    """A fresh environment, an empty home and a working folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.venv = folder / "home", folder / "work", folder / "venv"
        self.home.mkdir()
        self.work.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PIP_INDEX_URL", "TMPDIR") if name in os.environ}
        self.environment = {**kept, "HOME": str(self.home), "MPLCONFIGDIR": str(self.work / "matplotlib")}

    def install(self) -> float:
        subprocess.run([sys.executable, "-m", "venv", self.venv], check=True)
        started = time.perf_counter()
        command = [self.venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT]
        subprocess.run(command, check=True)  # in the caller's environment, for the download cache
        return time.perf_counter() - started

    def python(self, code: str) -> str:
        command = [self.venv / "bin" / "python", "-c", code]
        done = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{code}\nended with exit code {done.returncode}: {done.stderr}")
        return done.stdout + done.stderr

    def timed(self, code: str) -> tuple[float, int]:
        """Seconds of the quicker of two runs, and how many kernels a run before them compiled."""
        compiled, seconds = int(self.python(COUNT + code).rsplit("compiled", 1)[1]), []
        for _ in range(2):
            started = time.perf_counter()
            self.python(code)
            seconds.append(time.perf_counter() - started)
        return min(seconds), compiled

    def command(self, *words: str) -> str:
        """The command line as a line of Python."""
        return f"from stickslip.cli import main; main({list(words)!r}, standalone_mode=False)"

    def written(self) -> list[str]:
        return [str(file.relative_to(self.home)) for file in self.home.rglob("*") if file.is_file()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slack", type=float, default=1.0, help="allow so many times the promised seconds")
    slack = parser.parse_args().slack
    passed = True

    def report(name: str, seconds: float, promised: float, compiled: int = 0) -> None:
        nonlocal passed
        right = seconds <= slack * promised and compiled == 0
        passed &= right
        print(f"{name:36} {seconds:7.2f} s  promised {promised:5.0f} s  {compiled} compiled{'' if right else '  FAIL'}")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder))
        report("pip install .", newcomer.install(), 150)
        print(newcomer.python(newcomer.command("doctor")).strip())
        report("the README's first scene", *swapped(newcomer.timed(readme_scene()), 3))
        report("stickslip demo", *swapped(newcomer.timed(newcomer.command("demo")), 6))
        for name in newcomer.python(NAMES).split():
            report(f"first step, {name}", *swapped(newcomer.timed(FORMULATION.format(name=name)), 3))
        path = newcomer.work / "problem.h5"
        newcomer.python(PROBLEM.format(path=path))
        report("stickslip solve", *swapped(newcomer.timed(newcomer.command("solve", str(path))), 2))
        pack = next(newcomer.venv.rglob("compiled/kernels.zip")).stat().st_size
        written = newcomer.written()
        print(f"the pack has {pack / 1e6:.1f} MB; written to the home: {', '.join(written) or 'nothing'}")
    passed &= not written
    print("PASS" if passed else "FAIL")
    sys.exit(not passed)


def swapped(measured: tuple[float, int], promised: float) -> tuple[float, float, int]:
    seconds, compiled = measured
    return seconds, promised, compiled


if __name__ == "__main__":
    main()
