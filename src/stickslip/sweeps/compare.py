"""One scene under several formulations of friction and steps, measured against a fine run of Coulomb's law.

    comparison = compare(scene, 0.7, {"phantom": Phantom(), "box": Box()}, dts=[1e-2, 1e-3])
    comparison.outcomes[0].error, comparison.outcomes[0].cost

The reference is Coulomb's law at a tenth of the finest step. Where contacts have a stiffness it is relaxed by it, which
makes its motion unique: redundant rigid contacts may share a load in many ways, and under friction move in many ways.

A step that is not solved does not end a comparison: the run goes on from the best impulses found, and the outcome
counts such steps.

The runs are independent: with `engine` they are a sweep (sweeps/sweep.py), on all cores or on a cluster, and with
`keep` its table and their trajectories are in a folder, from which the same call goes on.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, instance, positive, wholes
from stickslip.checks import path as file_path
from stickslip.engine.running import count_steps
from stickslip.engine.simulate import run_scene
from stickslip.engine.trajectory import Trajectory
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.stabilisation import Relaxation
from stickslip.scene.compile import compile_scene
from stickslip.scene.descriptions import Body
from stickslip.scene.model import Floats, Kind
from stickslip.scene.scene import Scene
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import known_method
from stickslip.sweeps.run import known_engine

FINER = 10  # the reference has this many steps for one of the finest run
REFERENCE_TOL = 1e-12  # of its steps: how stiff springs share a load is seen in the last digits


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run, and how far it ends from the reference."""

    name: str
    run: Trajectory
    position: Floats  # (3,)   of the body at the end   [m]
    turn: float  # of the body about the vertical, since the start   [rad]
    error: float  # distance from the end of the reference   [m]
    turn_error: float  # turn less that of the reference   [rad]

    @property
    def dt(self) -> float:
        return self.run.header.dt

    @property
    def cost(self) -> float:
        """Time of a step, the median: the first ones may compile   [s]."""
        return float(np.median(self.run.seconds))

    @property
    def residual(self) -> float:
        """The worst of all steps."""
        return float(self.run.residual.max())

    @property
    def failures(self) -> int:
        """Steps that missed tol."""
        return int(self.run.failures.size + self.run.inexact.size)


@dataclass(frozen=True, eq=False)
class Comparison:
    body: str
    reference: Outcome
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Those with steps that were not solved, the reference included."""
        return tuple(outcome for outcome in (self.reference, *self.outcomes) if outcome.failures)


@checked(
    scene=instance(Scene),
    solver=known_method,
    tol=positive,
    engine=known_engine,
    workers=wholes(1, 10_000),
    keep=file_path,
)
def compare(
    scene: Scene,
    duration: float,
    formulations: Mapping[str, Formulation],
    dts: Sequence[float],
    body: Body | str | None = None,
    reference_dt: float | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    reference_solver: Solver | None = None,
    announce: Callable[[str], None] = lambda text: None,
    *,
    engine: str | Executor | None = None,
    workers: int | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Run all formulations with all steps; `announce` is told what runs next.

    `body`: whose motion is compared, the first free one where none is given. `solver` and `tol` hold for all but the
    reference, and where none is given each formulation has its own; `reference_solver` brings its own tol. `engine`,
    `workers`: those of `sweep`, for all runs at once; one after the other where None. `keep`: a folder for what is
    done, from which the same comparison goes on if it was stopped.
    """
    if not (formulations and dts):
        raise InputError("compare: there is no formulation or no dt, expected one at least")
    finest = min(dts) / FINER if reference_dt is None else reference_dt
    for dt in (*dts, finest):
        count_steps(duration, dt)
    chosen = scene.description(first_free_body(scene) if body is None else body).name
    name, law = reference_law(scene)
    reference_tol = REFERENCE_TOL if reference_solver is None else None
    asked = [Asked(name, finest, law, reference_solver, reference_tol)]
    asked += [Asked(name, dt, friction, solver, tol) for dt in dts for name, friction in formulations.items()]
    one_run = OneRun(scene, duration, tuple(asked))
    folder = tempfile.mkdtemp(prefix="stickslip-") if keep is None and engine is not None else keep
    if folder is None:
        runs = []
        for number, each in enumerate(asked):
            announce(f"{each.name}, dt {each.dt:g} s")
            runs.append(one_run(number))
    else:
        runs = all_at_once(one_run, "threads" if engine is None else engine, workers, folder, announce)
    ends = [(run.position(chosen)[-1], float(turn(run, chosen)[-1])) for run in runs]
    outcomes = [
        Outcome(each.name, run, end, turned, float(np.linalg.norm(end - ends[0][0])), turned - ends[0][1])
        for each, run, (end, turned) in zip(asked, runs, ends, strict=True)
    ]
    comparison = Comparison(chosen, outcomes[0], tuple(outcomes[1:]))
    if folder is not None and keep is None:  # its trajectories are read from there as long as it lives
        weakref.finalize(comparison, shutil.rmtree, folder, ignore_errors=True)
    return comparison


@dataclass(frozen=True)
class Asked:
    """A run of a comparison."""

    name: str
    dt: float
    friction: Formulation
    solver: str | Solver | None
    tol: float | None


@dataclass(frozen=True)
class OneRun:
    """The function of the sweep that a comparison is."""

    scene: Scene
    duration: float
    asked: tuple[Asked, ...]

    def __call__(self, number: int) -> Trajectory:
        each = self.asked[int(number)]
        return run_scene(
            self.scene, self.duration, each.dt, each.friction, each.solver, each.tol, keep_going=True, progress=False
        )

    def __repr__(self) -> str:
        """The same whenever it is made of the same scene: by this a sweep is known again."""
        return f"comparison of {self.duration!r} s of {said(self.scene)}: {self.asked!r}"


def all_at_once(
    one_run: OneRun,
    engine: str | Executor,
    workers: int | None,
    keep: str | os.PathLike[str],
    announce: Callable[[str], None],
) -> list[Trajectory]:
    """All runs on an engine, kept in a folder."""
    from stickslip.sweeps.sweep import FailedRuns, made_folder, sweep

    folder, numbers = made_folder(file_path("compare", "keep", keep)), list(range(len(one_run.asked)))
    announce(f"{len(numbers)} runs at once")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedRuns)
        found = sweep(
            one_run, samples={"number": numbers}, measure="residual", engine=engine, workers=workers, keep=folder,
            out=os.path.join(folder, "table.h5"), progress=False,
        )  # fmt: skip
    for number in found.failed.tolist():
        each = one_run.asked[number]
        raise InputError(f"compare: {each.name} with dt {each.dt:g} s has no run: {found.reason(number)}")
    return [found.run(number) for number in numbers]


def said(scene: Scene) -> str:
    """A scene in words that are the same whenever it is built."""
    return repr({name: value for name, value in vars(scene).items() if not name.startswith("_")})


def first_free_body(scene: Scene) -> str:
    for description in scene.descriptions:
        if description.kind is Kind.FREE:
            return description.name
    raise InputError("compare: the scene has no free body, expected one whose motion can be compared")


def reference_law(scene: Scene) -> tuple[str, Coulomb]:
    """Coulomb's law and what to call it: relaxed where contacts of the scene have a stiffness."""
    model, _, _ = compile_scene(scene)
    if np.isfinite(model.stiffness).any():
        return "Coulomb's law with springs", Coulomb(Relaxation())
    return "Coulomb's law", Coulomb()


def turn(run: Trajectory, body: str) -> Floats:
    """(n + 1,) by which a body has turned about the vertical since the start, or about y in the plane   [rad].

    Turns of more than half a circle in a step cannot be told from shorter ones.
    """
    w, x, y, z = run.quaternion(body).T
    if run.header.planar:
        angle = 2 * np.arctan2(y, w)
        return np.unwrap(angle - angle[0], period=2 * math.pi)
    angle = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    return angle - angle[0]
