"""Runs of a scene in a sweep: what may vary beside the scene's own numbers (scene/vary.py), and what is measured.

A measure by its name is what a run has at its end, or over all of it:

    box.position, box.velocity, box.spin           of a body; with .x, .y or .z one component
    box.speed, box.turn                            |v|, and the angle by which it turned about the vertical
    energy, kinetic, potential                     [J]
    residual, velocity_error, iterations, contacts    of the steps
    steps, inexact, failures                       how many

Those of bodies and energies are taken at the end, those of steps the greatest of all; `:end`, `:max`, `:min` or `:mean`
behind the name says otherwise, such as `box.position.z:max`.

Where only such numbers vary as an ensemble can vary (sweeps/ensemble.py), and only such are measured as it keeps, the
runs of a chunk are its copies, to the same bits: 0.1 ms each beside their steps instead of 1.5 ms of Python, in which
no other thread has a turn. All other runs are made one by one, and so is what an ensemble refuses or does not finish: a
run of its own says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import shown
from stickslip.engine.names import read_formulation
from stickslip.engine.running import count_steps
from stickslip.engine.simulate import run_scene
from stickslip.engine.trajectory import Trajectory
from stickslip.errors import InputError
from stickslip.scene.model import Floats, Kind
from stickslip.scene.scene import Scene
from stickslip.scene.vary import place_of, varied
from stickslip.sweeps.compare import first_free_body, turn
from stickslip.sweeps.ensemble import Ensemble, ensemble

NEEDED = ("duration", "dt")
RUN = (*NEEDED, "law", "solver", "tol", "accept", "effort", "scheme", "keep_going", "every")  # settings of a run

OF_BODY: dict[str, Callable[[Any, str], Floats]] = {
    "position": lambda run, body: run.position(body),
    "velocity": lambda run, body: run.velocity(body),
    "spin": lambda run, body: run.spin(body),
    "speed": lambda run, body: np.linalg.norm(run.velocity(body), axis=-1),
    "turn": turn,
}
OF_INSTANTS = ("energy", "kinetic", "potential")
OF_STEPS = {"residual": "residual", "velocity_error": "velocity_error", "iterations": "iterations"}
OF_STEPS |= {"contacts": "contact_count"}
COUNTS: dict[str, Callable[[Trajectory], int]] = {
    "steps": len,
    "inexact": lambda run: run.inexact.size,
    "failures": lambda run: run.failures.size,
}
REDUCED: dict[str, Callable[[Floats], Any]] = {
    "end": lambda values: values[-1],
    "max": lambda values: values.max(axis=0),
    "min": lambda values: values.min(axis=0),
    "mean": lambda values: values.mean(axis=0),
}


@dataclass(frozen=True)
class SceneRun:
    """The function of a sweep over a scene: settings of the run, and values of its numbers by name."""

    scene: Scene

    def __call__(self, **given: Any) -> Trajectory:
        settings = settings_of(given)
        given = {name: given[name] for name in given if name not in RUN}
        law = settings.pop("law", None)
        settings["friction"] = read_formulation(law) if isinstance(law, str) else law
        return run_scene(varied(self.scene, given), progress=False, save_failed=False, **settings)

    def at_once(self, measure: Callable[[Any], Any], given: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """What is measured of those of some runs, by their place, that can be copies of one ensemble."""
        if not isinstance(measure, Measures) or not all(map(kept_by_copies, measure.names)):
            return {}
        alike: dict[Any, dict[int, Mapping[str, Any]]] = {}
        for i, each in enumerate(given):  # settings are alike as numbers and texts, others as objects
            said = settings_of(each).values()
            key = tuple(value if isinstance(value, int | float | str) else id(value) for value in said)
            alike.setdefault(key, {})[i] = each
        return {i: row for group in alike.values() for i, row in self.copies(measure, group).items()}

    def copies(self, measure: Measures, given: dict[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """The same of runs whose settings are alike."""
        places, (first, *others) = list(given), given.values()
        settings = settings_of(first)
        if not others or settings.pop("every", 1) != 1 or settings.get("keep_going"):
            return {}
        samples = [{name: each[name] for name in each if name not in RUN} for each in given.values()]
        try:
            if isinstance(settings.get("law"), str):
                settings["law"] = read_formulation(settings["law"])
            made = ensemble(self.scene, samples=samples, threads=1, progress=False, **settings)
        except InputError:
            return {}
        columns = {name: measured_of_copies(made, name) for name in measure.names}
        whole = np.isfinite(made.state.velocity).all(axis=(1, 2, 3))
        return {places[i]: {name: columns[name][i] for name in columns} for i in np.flatnonzero(whole).tolist()}

    def check(self, names: Sequence[str], fixed: Mapping[str, Any]) -> None:
        """Are these, of all that is varied or fixed, what a run can be told?"""
        for name in names:
            if name not in RUN:
                place_of(self.scene, name, RUN)
        for name in NEEDED:
            if name not in names:
                raise InputError(f"sweep: {name} is missing, expected it for a scene: {name}=... seconds")
        if all(name in fixed for name in NEEDED):
            count_steps(fixed["duration"], fixed["dt"])
        if isinstance(fixed.get("law"), str):
            read_formulation(fixed["law"])


@dataclass(frozen=True)
class Measures:
    """Measures by their names, as a function of a run."""

    names: tuple[str, ...]

    def __call__(self, run: Any) -> dict[str, Any]:
        if not isinstance(run, Trajectory):
            raise InputError(f"sweep: a run returned {shown(run)}, expected a Trajectory for measures by name")
        return {name: measured(run, name) for name in self.names}


def settings_of(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in RUN if name in given}


def kept_by_copies(name: str) -> bool:
    """Does an ensemble keep what a measure needs?"""
    quantity, _, how = name.partition(":")
    if quantity in ("residual", "velocity_error"):
        return how in ("", "max")
    what = quantity if quantity in (*COUNTS, *OF_INSTANTS) else parts(quantity)[1]
    return how in ("", "end") and what in ("position", "velocity", "spin", "speed", *OF_INSTANTS, *COUNTS)


def measured_of_copies(made: Ensemble, name: str) -> Floats:
    """(n, …) what `measured` is of each copy."""
    quantity = name.partition(":")[0]
    if quantity in ("residual", "velocity_error"):
        return getattr(made, quantity)
    if quantity in COUNTS:
        return {"steps": np.full(len(made), made.steps), "inexact": made.missed}.get(quantity, 0 * made.missed)
    return over_time(made, quantity)[:, -1]


def measured(run: Trajectory, name: str) -> Any:
    quantity, _, how = name.partition(":")
    if quantity in COUNTS:
        return COUNTS[quantity](run)
    return REDUCED[how or ("max" if quantity in OF_STEPS else "end")](over_time(run, quantity))


def over_time(run: Any, quantity: str) -> Floats:
    """What is measured of a run, or of each copy of an ensemble, at all instants or in all steps."""
    if quantity in (*OF_STEPS, *OF_INSTANTS):
        return getattr(run, OF_STEPS.get(quantity, quantity))
    body, what, axis = parts(quantity)
    values = OF_BODY[what](run, body)
    return values if axis is None else values[..., axis]


def parts(quantity: str) -> tuple[str, str, int | None]:
    """Body, quantity and component."""
    axis = None
    if quantity[-2:-1] == "." and quantity[-1] in "xyz":
        quantity, axis = quantity[:-2], "xyz".index(quantity[-1])
    body, _, what = quantity.rpartition(".")
    return body, what, axis


def check_measures(names: Sequence[str], bodies: Sequence[str]) -> None:
    """Are these measures of a scene with these bodies?"""
    for name in names:
        quantity, colon, how = name.partition(":")
        body, what, axis = parts(quantity)
        vectors = ("position", "velocity", "spin")
        known = quantity in (*COUNTS, *OF_STEPS, *OF_INSTANTS) or (
            what in OF_BODY and body in bodies and (axis is None or what in vectors)
        )
        if not known:
            of_bodies = ", ".join(f"{each}.{{{','.join(OF_BODY)}}}" for each in bodies[:3]) + ", …" * (len(bodies) > 3)
            others = ", ".join((*OF_INSTANTS, *OF_STEPS, *COUNTS))
            raise InputError(f"sweep: measure is {shown(name)}, expected one of {of_bodies}, {others}")
        if colon and how not in REDUCED:
            raise InputError(f"sweep: measure is {shown(name)}, expected {', '.join(REDUCED)} after the colon")


def usual_measures(scene: Scene) -> Measures:
    """Where the first free body ends, the energy, and how good the steps were."""
    free = any(body.kind is Kind.FREE for body in scene.descriptions)
    body = (f"{first_free_body(scene)}.position",) if free else ()
    return Measures((*body, "energy", "residual", "inexact"))


def measures_of(scene: Scene | None, measure: Any) -> Callable[[Any], Any]:
    """What is measured of a run: the caller's function, or quantities by name."""
    if measure is None:
        return usual_measures(scene) if scene is not None else as_it_is
    if callable(measure):
        return measure
    names = (measure,) if isinstance(measure, str) else tuple(measure) if isinstance(measure, Sequence) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"sweep: measure is {shown(measure)}, expected a function, or names of what is measured")
    if scene is not None:
        check_measures(names, scene.names)
    return Measures(names)


def as_it_is(result: Any) -> Any:
    """What the function returned: a number, or numbers and texts by name."""
    return result
