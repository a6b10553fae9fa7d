"""Kinds of argument (checks.py) of all that runs or looks at a world: scenes, systems, formulations, steps."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeGuard

from stickslip.checks import (
    Kind,
    Refused,
    T,
    checked,
    count,
    either,
    function,
    instance,
    number_that,
    one_of,
    path,
    positive,
    truth,
    vector,
    wholes,
)
from stickslip.dynamics.generalized import System, is_system
from stickslip.errors import InputError
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.scene.scene import Scene

SCENE = instance(Scene)
FORMULATION = instance(Formulation, expected="a formulation, such as Coulomb()")
SCHEME = one_of(Scheme)
THREADS = wholes(1, 1024)
seconds = number_that(lambda found: found > 0, "a positive number of seconds")
MOST_SECONDS = 1e6  # for an adaptive integrator
FORCE = either(function, vector, expected="generalized forces, or a function of (t, q, v)")


def is_world(given: object) -> TypeGuard[Scene | System]:
    """Is this a scene or a system, rather than a problem or a matrix?"""
    return isinstance(given, Scene) or is_system(given)


def world(owner: str, field: str, value: Any) -> Any:
    if not is_world(value):
        raise Refused(owner, "the world" if field == "world" else field, value, "a Scene, a System or a Robot")
    return value


RUN: dict[str, Kind] = {
    **dict.fromkeys(("duration", "dt"), seconds),
    **dict.fromkeys(("tol", "accept"), positive),
    **dict.fromkeys(("keep_going", "progress"), truth),
    **dict.fromkeys(("q", "v"), vector),
    "effort": count,
    "path": path,
    "watch": one_of("jamming"),
    "scheme": SCHEME,
    "threads": THREADS,
    "force": FORCE,
}  # kinds of what runs are told, by the names that it has everywhere


def checked_run(**own: Kind) -> Callable[[T], T]:
    """`checked` for a function that runs a world: for its arguments that RUN has, and for its own."""

    def decorate(function: T) -> T:
        shared = {name: RUN[name] for name in signature(function).parameters if name in RUN}
        return checked(**shared | own)(function)

    return decorate


def spring_seconds(owner: str, field: str, value: Any) -> float:
    """Of an adaptive integrator, whose steps are microseconds."""
    found = seconds(owner, field, value)
    if found > MOST_SECONDS:
        raise Refused(owner, field, value, f"at most {MOST_SECONDS:g} seconds")
    return found


def refuse_state(owner: str, what: str = "a Scene", **given: Any) -> None:
    """Coordinates, velocities and forces are for a system; a scene or a problem has its own."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{owner}: {name} is given with {what}, expected it with a System only")
