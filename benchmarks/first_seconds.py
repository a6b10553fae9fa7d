"""How long a newcomer waits: `pip install .` in a fresh environment, then the first result of everything, with an empty
home that must stay empty.

    python benchmarks/first_seconds.py            promised seconds, for two quiet cores and a warm download cache
    python benchmarks/first_seconds.py --slack 4  the same times four, for a busy machine
    python benchmarks/first_seconds.py --environment .venv    without the install, where `pip install .` was done

Each command is a process of its own. It runs once to count the kernels that are compiled, which must be none, and twice
for the time; the quicker counts, for another may wait for the disk. Beside the seconds stands the processor time, which
a busy machine changes less. At the end no file may have come or changed in the home and in the environment, but for the
list of fonts that matplotlib makes for itself.
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
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COUNT = """
import atexit, sys
from numba.core import event
class Counter(event.Listener):
    count = 0
    def on_start(self, event): self.count += str(event.data["dispatcher"].py_func.__module__).startswith("stickslip.")
    def on_end(self, event): pass
counter = Counter()
event.register("numba:compile", counter)
atexit.register(lambda: print("kernels compiled:", counter.count))
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
COLLECTION = ROOT.parent / "shared" / "data"  # the public problems, where they are
FCLIB = ("fc3d_Rover1039.h5", "fc3d_OneObject-i100000-499.h5", "fc3d_Capsules-i125-1213.h5", "gfc3d_Example1.h5")
NAMES = "from stickslip.engine.names import FORMULATIONS; print(*FORMULATIONS)"


def readme_scene() -> str:
    """The first block of Python in README.md."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


class Measured(NamedTuple):
    seconds: float
    processor: float  # seconds of processor time, of all processes
    compiled: int = 0  # kernels


def measured(command: list[str | Path], **settings: Any) -> Measured:
    """Run a command; its output, where it fails."""
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **settings)
    seconds, after = time.perf_counter() - started, os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with exit code {done.returncode}:\n{done.stdout}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    found = re.search(r"kernels compiled: (\d+)", done.stdout)
    return Measured(seconds, used, int(found[1]) if found else 0)


class Newcomer:
    """A fresh environment, an empty home and a working folder."""

    def __init__(self, folder: Path, environment: Path | None = None) -> None:
        self.home, self.work, self.venv = folder / "home", folder / "work", environment or folder / "venv"
        self.home.mkdir()
        self.work.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        self.environment = {**kept, "HOME": str(self.home)}

    def install(self) -> Measured:
        subprocess.run([sys.executable, "-m", "venv", self.venv], check=True)
        command = [self.venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT]
        return measured(command)  # in the caller's environment, for the download cache

    def run(self, code: str) -> Measured:
        return measured([self.venv / "bin" / "python", "-c", code], cwd=self.work, env=self.environment)

    def told(self, code: str) -> str:
        command = [self.venv / "bin" / "python", "-c", code]
        return subprocess.run(
            command, cwd=self.work, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()

    def first(self, code: str) -> Measured:
        """The quicker of two runs, with the number of kernels that a run before them compiled."""
        compiled = self.run(COUNT + code).compiled
        return min(self.run(code), self.run(code))._replace(compiled=compiled)

    def files(self) -> dict[Path, float]:
        """All files but those of the working folder and of matplotlib, and when they were written."""
        found = (file for folder in (self.home, self.venv) for file in folder.rglob("*") if file.is_file())
        return {file: file.stat().st_mtime for file in found if "matplotlib" not in file.parts}


def command_line(*words: str) -> str:
    """A command as a line of Python."""
    return f"from stickslip.cli import main; main({list(words)!r}, standalone_mode=False)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slack", type=float, default=1.0, help="allow so many times the promised seconds")
    parser.add_argument("--environment", type=Path, help="where it is installed already")
    given = parser.parse_args()
    slack, kept = given.slack, []

    def report(name: str, promised: float, found: Measured) -> None:
        kept.append(found.seconds <= slack * promised and found.compiled == 0)
        compiled = f"  {found.compiled} kernels compiled" if found.compiled else ""
        print(
            f"{name:40} {found.seconds:7.2f} s of {promised:3.0f} promised, processor {found.processor:6.2f} s"
            f"{compiled}{'' if kept[-1] else '  FAIL'}",
            flush=True,
        )

    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder), given.environment and given.environment.resolve())
        if given.environment is None:
            report("pip install .", 150, newcomer.install())
        print(newcomer.told(command_line("doctor")))
        before = newcomer.files()
        report("the README's first scene", 3, newcomer.first(readme_scene()))
        report("stickslip demo", 6, newcomer.first(command_line("demo")))
        for name in newcomer.told(NAMES).split():
            report(f"first step, {name}", 3, newcomer.first(FORMULATION.format(name=name)))
        path = newcomer.work / "problem.h5"
        newcomer.run(PROBLEM.format(path=path))
        for file in (path, *(COLLECTION / name for name in FCLIB)):
            if file.exists():
                report(f"stickslip solve {file.name}", 2, newcomer.first(command_line("solve", str(file))))
        pack = next(newcomer.venv.rglob("compiled/kernels.zip")).stat().st_size
        written = [str(file) for file, when in newcomer.files().items() if before.get(file) != when]
        print(f"the pack has {pack / 1e6:.1f} MB; written elsewhere: {', '.join(written) or 'nothing'}")
    passed = all(kept) and not written
    print("PASS" if passed else "FAIL")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
