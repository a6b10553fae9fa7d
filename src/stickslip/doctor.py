"""What `stickslip doctor` tells: what is installed, where machine code comes from, and whether answers are right."""

from __future__ import annotations

import os
import platform
import re
import time
from importlib import metadata

import stickslip as ss
from stickslip import pack
from stickslip.jit import refusal

CORE = ("numpy", "scipy", "numba", "llvmlite")
REQUIREMENT = re.compile(r"^(?P<package>[\w.-]+).*extra == ['\"](?P<extra>[\w-]+)['\"]")


def versions() -> str:
    parts = [f"Python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in CORE)]
    return f"stickslip {ss.__version__} on {', '.join(parts)}; {pack.processor()}"


def machine_code() -> str:
    """Where it comes from."""
    installed = pack.pack()
    if refusal():
        return f"by Numba alone, at the first use of each kernel: {refusal()}"
    if installed.fault:
        return f"compiled at the first use of each kernel, for what was installed {installed.fault}"
    if not installed.files:
        return "compiled at the first use of each kernel; `python -m stickslip.precompile` does it for all of them"
    return f"{len(installed.files)} programs came with the installation: {pack.PACK}, {size(pack.PACK.stat().st_size)}"


def cache() -> str:
    """What was compiled on this machine."""
    folder = pack.cache_folder()
    files = list(folder.glob(f"*{pack.PROGRAM}")) + list(folder.glob(f"*{pack.CODE}"))
    content = f"{len(files)} files, {size(sum(file.stat().st_size for file in files))}" if files else "empty"
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return f"{folder}, {content}{'' if os.access(there, os.W_OK) else '; it cannot be written'}"


def extras() -> dict[str, str]:
    """Each optional part of the installation, and what it lacks."""
    missing: dict[str, list[str]] = {}
    for requirement in (metadata.requires("stickslip") or []) if is_installed("stickslip") else []:
        found = REQUIREMENT.match(requirement)
        if found:
            lacking = missing.setdefault(found["extra"], [])
            lacking += [] if is_installed(found["package"]) else [found["package"]]
    return {
        extra: f"needs {', '.join(names)}: pip install 'stickslip[{extra}]'" if names else "complete"
        for extra, names in missing.items()
    }


def is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def self_test() -> tuple[bool, str]:
    """A block slides to rest over v²/(2 μ g), to the order of a step, and every step is solved."""
    speed, mu, g, dt = 3.0, 0.5, 9.81, 1e-2
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    block = scene.add_box(size=(0.4, 0.4, 0.2), mass=2.0, position=(0, 0, 0.1), velocity=(speed, 0, 0))
    started = time.perf_counter()
    run = ss.simulate(scene, duration=1.0, dt=dt, progress=False)
    seconds = time.perf_counter() - started
    expected, found = speed**2 / (2 * mu * g), float(run.position(block)[-1, 0])
    right = abs(found - expected) < speed * dt and float(run.residual.max()) <= 1e-8
    verdict = "right" if right else "wrong"
    return right, f"{verdict}: a block slid {found:.3f} m where v²/(2 μ g) = {expected:.3f} m, in {seconds:.1f} s"


def size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
