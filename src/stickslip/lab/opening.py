"""What the lab can be opened with: worlds, runs, and files of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stickslip.checks import shown
from stickslip.dynamics.mujoco import LoadedModel, load_model
from stickslip.engine.recorder import MODEL
from stickslip.engine.trajectory import Trajectory
from stickslip.errors import InputError
from stickslip.lab.session import Settings, settings_of
from stickslip.lab.session import World as SessionWorld
from stickslip.scene.files import load_run
from stickslip.scene.scene import Scene

MODELS = (".urdf", ".xml", ".mjcf")

World = Scene | LoadedModel | Trajectory | Sequence[Trajectory] | str | os.PathLike[str]


def loaded_runs(files: Sequence[str], model: str | LoadedModel | None = None) -> list[Trajectory]:
    """Saved runs, those of a robot with its model."""
    runs = [Trajectory.load(file) for file in files]
    if model is not None:
        robot = load_model(model, quiet=True) if isinstance(model, str) else model
        for run in runs:
            if run.header.world != MODEL:
                raise InputError(f"view: {run!r} is no run of a robot, expected one of {robot.name!r}")
            run.system = robot  # type: ignore[attr-defined]  # of a ModelTrajectory
    return runs


def opened_files(files: Sequence[str], floating: bool = False, ground: float | None = None) -> World:
    """What the files of a command line hold: one of any kind, several runs, or a robot and runs of it."""
    first, *others = files
    robot = Path(first).suffix.lower() in MODELS
    if not robot and (floating or ground is not None):
        raise InputError(f"view: floating and ground are given for {first!r}, expected them for a robot only")
    if not robot:
        return loaded_runs(files) if others else first
    model = load_model(first, floating=floating, ground=ground, quiet=True)
    return loaded_runs(others, model) if others else model


def opened(world: World) -> tuple[SessionWorld, Settings, str]:
    """What a session shows, its settings, and a name."""
    if isinstance(world, Scene):
        return world, Settings(), ""
    if isinstance(world, LoadedModel):
        return world, Settings(dt=world.timestep), world.name
    runs = [world] if isinstance(world, Trajectory) else world
    if isinstance(runs, Sequence) and not isinstance(runs, str):
        return list(runs), Settings(), ""
    if not isinstance(world, str | os.PathLike):
        raise InputError(f"view: the world is {world!r}, expected a Scene, a model, a Trajectory, several, or a file")
    path = Path(world)
    match path.suffix.lower():
        case ".yaml" | ".yml":
            scene, run = load_run(path)
            return scene, settings_of(run), path.name
        case ".h5" | ".hdf5":
            return [Trajectory.load(path)], Settings(), path.name
        case suffix if suffix in MODELS:
            model = load_model(path, quiet=True)
            return model, Settings(dt=model.timestep), path.name
    raise InputError(f"view: the file is {shown(str(path))}, expected one that ends with .yaml, .h5, .urdf or .xml")
