"""Models of robots: steps beside mj_step, and the public models that come in wheels of the registry.

    python benchmarks/robots.py            both tables
    python benchmarks/robots.py speed      a humanoid with 20 contacts, a quadruped, an arm with a gripper, a hand
    python benchmarks/robots.py models     every model of the wheels that are installed: it loads, or why not; those in
                                           MJCF run 2 s, with what they touch and the greatest residual

Wheels: gymnasium, gymnasium-robotics, dm_control, robosuite, metaworld, myosuite, newton, gym-aloha, gym-xarm,
safety-gymnasium, pybullet (pybullet_data), example-robot-data; those that are not installed are left out.
`pip install --no-deps --target FOLDER` and PYTHONPATH=FOLDER do for all but the last two.

Speed is processor time of a step after the model has come to rest by MuJoCo's own steps: mj_step of the model as its
file has it, with its own solver and settings, and Simulation.step at its defaults, from the same state and with the
same controls, in turns. The residual is that of Coulomb's law, to 1e-8.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np

import stickslip as ss

EXAMPLES = Path(__file__).parents[1] / "examples" / "robots"
MOST = 5.0  # times mj_step
SECONDS = 2.0  # that models run
TURNS, STEPS = 12, 40  # of either engine in turn, and how many steps it makes in each


def folder(package: str) -> Path | None:
    """Where a package is installed."""
    spec = find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


# speed


def humanoid_in_a_trough(place: Path) -> tuple[str, np.ndarray] | None:
    """dm_control's humanoid, which lies on its back in a trough of two planes under two planks: 20 contacts."""
    suite = folder("dm_control")
    if suite is None:
        return None
    spec = mujoco.MjSpec.from_file(str(suite / "suite" / "humanoid.xml"))
    spec.geom("floor").pos = [0, 0, -5]
    for side in (-1, 1):
        half = side * math.radians(15) / 2
        turn = [math.cos(half), math.sin(half), 0, 0]
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], quat=turn)
    for x in (0.3, -0.6):
        plank = spec.worldbody.add_body(name=f"plank at {x}", pos=[x, 0, 1.2])
        plank.add_freejoint()
        plank.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.5, 0.02], mass=10)
    spec.compile()
    path = place / "trough.xml"
    path.write_text(spec.to_xml())
    q = np.array(ss.load_model(path, quiet=True).home)
    q[2:7] = 0.5, math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0
    return str(path), q


def subjects(place: Path) -> Iterator[tuple[str, str, np.ndarray | None, tuple[float, ...]]]:
    """Name, file, start and controls of what is timed."""
    lying = humanoid_in_a_trough(place)
    if lying is not None:
        yield "humanoid", *lying, ()
        for name in ("quadruped", "manipulator"):  # the latter an arm with a gripper
            yield name, str(folder("dm_control") / "suite" / f"{name}.xml"), None, ()
    yield "hand with a box", str(EXAMPLES / "gripper.xml"), None, (20.0, 0.0)


def timed(path: str, q: np.ndarray | None, controls: tuple[float, ...]) -> tuple[float, ...]:
    """Contacts that carry, seconds of mj_step and of ours, the greatest residual."""
    model = ss.load_model(path, quiet=True)
    data = mujoco.MjData(model.original)
    data.qpos[:] = model.home if q is None else q
    data.ctrl[: len(controls)] = controls
    for _ in range(round(4.0 / model.timestep)):
        mujoco.mj_step(model.original, data)
    sim = ss.Simulation(model, model.timestep, q=data.qpos, v=data.qvel)
    sim.control[: len(controls)] = controls
    sim.step(100)
    theirs, ours, residual, carry, pressed = [], [], 0.0, [], []
    for _ in range(TURNS):
        started = time.thread_time()
        for _ in range(STEPS):
            mujoco.mj_step(model.original, data)
        between = time.thread_time()
        for _ in range(STEPS):
            sim.step()
            residual = max(residual, sim.residual)
        ended = time.thread_time()
        theirs.append((between - started) / STEPS)
        ours.append((ended - between) / STEPS)
        carry.append(int((sim.contacts.state != ss.State.OPEN).sum()))
        pressed.append(data.ncon)
    return float(np.mean(pressed)), float(np.mean(carry)), float(np.median(theirs)), float(np.median(ours)), residual


def speed() -> None:
    print(f"{'':18s}{'contacts':>18s}{'mj_step':>10s}{'stickslip':>11s}{'ratio':>7s}{'residual':>10s}")
    print(f"{'':18s}{'MuJoCo':>9s}{'ours':>9s}{'µs':>10s}{'µs':>11s}")
    slow, seen = [], 0
    with tempfile.TemporaryDirectory() as place:
        for name, path, q, controls in subjects(Path(place)):
            pressed, carry, theirs, ours, residual = timed(path, q, controls)
            columns = f"{pressed:9.1f}{carry:9.1f}{1e6 * theirs:10.1f}{1e6 * ours:11.1f}"
            print(f"{name:18s}{columns}{ours / theirs:7.2f}{residual:10.1e}", flush=True)
            seen += 1
            if not (ours <= MOST * theirs and residual <= 1e-8):
                slow.append(name)
    print(f"{'FAIL' if slow else 'PASS'}: {seen - len(slow)} of {seen} take at most {MOST:g} times mj_step, to 1e-8.")


# models


def files() -> Iterator[Path]:
    """Every model of the wheels that are installed."""
    places = (
        ("gymnasium", "envs/mujoco/assets/*.xml"),
        ("gymnasium_robotics", "envs/assets/**/*.xml"),
        ("dm_control", "**/*.xml"),
        ("robosuite", "models/assets/**/*.xml"),
        ("metaworld", "assets/**/*.xml"),
        ("myosuite", "**/*.xml"),
        ("newton", "**/*.xml"),
        ("gym_aloha", "assets/*.xml"),
        ("gym_xarm", "tasks/assets/*.xml"),
        ("safety_gymnasium", "**/*.xml"),
        ("pybullet_data", "mjcf/*.xml"),
        ("pybullet_data", "**/*.urdf"),
    )
    for package, pattern in places:
        root = folder(package)
        found = sorted(root.glob(pattern)) if root else []
        yield from (path for path in found if "random_urdfs" not in path.parts and is_model(path))
    root = folder("pinocchio")  # example-robot-data comes by cmeel, as Pinocchio does
    shares = [parent / "share" / "example-robot-data" / "robots" for parent in root.parents] if root else []
    yield from (path for share in shares if share.is_dir() for path in sorted(share.glob("**/*.urdf")))


def is_model(path: Path) -> bool:
    """Not a part that others include, nor some other XML file."""
    text = path.read_text(errors="replace")
    return path.suffix == ".urdf" or ("<mujoco" in text and "<mujocoinclude" not in text and "<worldbody" in text)


def row(path: Path) -> tuple[str, str]:
    """What became of a model: a word, and the rest of its line."""
    try:
        model = ss.load_model(path, quiet=True)
    except ss.InputError as error:
        if "floating=True" not in str(error):
            return "no", str(error).replace(str(path), path.name).removeprefix("load_model: ")
        try:
            model = ss.load_model(path, quiet=True, floating=True)
        except ss.InputError as worse:
            return "no", str(worse).replace(str(path), path.name).removeprefix("load_model: ")
    said = f"; {'; '.join(model.left_out)}" if model.left_out else ""
    if path.suffix == ".urdf":
        return "loads", f"{model.velocities:4d} velocities{said}"
    h = model.timestep
    try:
        run = ss.simulate(model, round(SECONDS / h) * h, h, progress=False)
    except ss.StepFailed as error:
        return "failed", str(error)
    touched = int(run.contact_count.max())
    result = f"{model.velocities:4d} velocities, up to {touched:2d} contacts, residual {run.residual.max():.1e}"
    return "runs" if not run.failures.size else "failed", f"{result}, {run.failures.size} steps failed{said}"


def models() -> None:
    counts: dict[str, int] = {}
    in_contact = 0
    for path in files():
        word, rest = row(path)
        counts[word] = counts.get(word, 0) + 1
        in_contact += word == "runs" and " 0 contacts" not in rest
        print(f"{word:7s}{'/'.join(path.parts[-3:]):60s} {rest}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()), f"; {in_contact} run with contact", sep="")


def main() -> None:
    warnings.simplefilter("ignore", ss.InexactWarning)
    asked = sys.argv[1:] or ["speed", "models"]
    if "speed" in asked:
        speed()
    if "models" in asked:
        models()


if __name__ == "__main__":
    main()
