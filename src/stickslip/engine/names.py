"""Formulations and solvers by name, with their settings, as scene files and commands give them.

    formulation("phantom", inertia=2.0)
    formulation("coulomb", stabilisation="relaxation", stiffness=1e6)
    read_formulation("stewart_trinkle:directions=4")              at the command line

Settings are the fields of the class. `stabilisation` is gap, relaxation or none, `impact` is newton, poisson or routh,
and the fields of these stand beside them: recovery; stiffness, damping, stiffness_tangent, damping_tangent; rest_speed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any

from stickslip.checks import shown
from stickslip.errors import InputError
from stickslip.friction.anitescu_potra import AnitescuPotra
from stickslip.friction.box import Box
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.compliant_cylinder import CompliantCylinder
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.cylinder import Cylinder
from stickslip.friction.formulation import Formulation
from stickslip.friction.hybrid import Hybrid
from stickslip.friction.impact import Newton, Poisson, Routh
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.phantom import Phantom
from stickslip.friction.stabilisation import Gap, Relaxation
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.scene.files import RunSettings
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import named

FORMULATIONS: dict[str, type] = {
    "coulomb": Coulomb,
    "phantom": Phantom,
    "hybrid": Hybrid,
    "box": Box,
    "stewart_trinkle": StewartTrinkle,
    "anitescu_potra": AnitescuPotra,
    "compliant_cone": CompliantCone,
    "compliant_cylinder": CompliantCylinder,
    "cylinder": Cylinder,
    "limit_surface": LimitSurface,
}  # a new formulation is one more entry

# the settings that are values of their own
PARTS: dict[str, dict[str, Any]] = {
    "stabilisation": {"gap": Gap(), "relaxation": Relaxation(), "none": None},
    "impact": {"newton": Newton(), "poisson": Poisson(), "routh": Routh()},
}
WORDS = {"true": True, "false": False, "none": None}


def formulation(name: str, **settings: Any) -> Formulation:
    """The formulation of a name of FORMULATIONS."""
    if name not in FORMULATIONS:
        raise InputError(f"friction is {name!r}, expected one of {', '.join(FORMULATIONS)}")
    value = FORMULATIONS[name]()
    for part, choices in PARTS.items():
        if part in settings:
            chosen = part_of(f"{name}: {part}", settings.pop(part), choices, getattr(value, part))
            value = replace(value, **{part: chosen})
    for setting, given in settings.items():
        value = with_setting(name, value, setting, given)
    return value


def read_formulation(text: str) -> Formulation:
    """The formulation of a text `name` or `name:setting=value:setting=value`."""
    name, *pairs = text.split(":")
    settings = {}
    for pair in pairs:
        setting, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"friction is {text!r}, expected a name, or name:setting=value")
        settings[setting.strip()] = read_value(value.strip())
    return formulation(name.strip(), **settings)


def solver_named(name: str, settings: Mapping[str, Any]) -> str | Solver:
    """A solver by its name; with settings, its value."""
    if not settings:
        return name
    value: Any = named(name, 1e-8)
    value = type(value)()  # with the tolerance of its class, where the settings have none
    for setting, given in settings.items():
        value = with_setting(name, value, setting, given)
    return value


def law_and_solver(run: RunSettings) -> tuple[Formulation | None, str | Solver | None]:
    """The formulation and the solver that a scene file asks for; None where it says nothing."""
    law, solver = run.friction, run.solver
    return (
        None if law is None else formulation(law.name, **law.settings),
        None if solver is None else solver_named(solver.name, solver.settings),
    )


def value_of(text: str) -> Any:
    """The value that was printed as `text`, a formulation or a solver with its settings. Nothing else is made of it: a
    text may come with a file from anywhere."""
    try:
        value = made_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        value = None
    if value is None or str(value) != text:
        raise InputError(f"{shown(text)} is no text that a formulation or solver of stickslip is printed as")
    return value


def made_of(node: ast.expr) -> Any:
    """The value of an expression of classes of the package, called with such values, numbers, texts and tuples."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=given, keywords=named):
            return settings_class(name)(*map(made_of, given), **{str(each.arg): made_of(each.value) for each in named})
        case ast.Name(id="inf" | "nan" as number):
            return float(number)
        case ast.Tuple(elts=parts):
            return tuple(made_of(part) for part in parts)
        case ast.Name(id=name):
            return name  # a solver by its name
    return ast.literal_eval(node)


def settings_class(name: str) -> type:
    """A formulation, a part of one, or a solver: a public dataclass of settings."""
    found = getattr(import_module("stickslip"), name, None)
    homes = ("stickslip.friction.", "stickslip.solvers.", "stickslip.problems.friction_sets")
    if not (isinstance(found, type) and is_dataclass(found) and found.__module__.startswith(homes)):
        raise ValueError(name)
    return found


def part_of(owner: str, given: Any, choices: Mapping[str, Any], default: Any) -> Any:
    """The part that a word stands for: the default where that is of this kind. What is no word the class checks."""
    word = "none" if given is None else given
    if not isinstance(word, str):
        return given
    if word not in choices:
        raise InputError(f"{owner} is {given!r}, expected one of {', '.join(choices)}")
    return default if type(default) is type(choices[word]) else choices[word]


def with_setting(name: str, value: Any, setting: str, given: Any) -> Any:
    """The value with one setting changed: its own, or that of one of its parts."""
    for part in (None, *PARTS):
        owner = value if part is None else getattr(value, part, None)
        if owner is None or setting not in names_of(owner):
            continue
        check_type(f"{name}: {setting}", given, getattr(owner, setting))
        changed = replace(owner, **{setting: given})
        return changed if part is None else replace(value, **{part: changed})
    raise InputError(f"{name}: {setting} is {given!r}, expected one of the settings {', '.join(settings_of(value))}")


def settings_of(value: Any) -> list[str]:
    parts = [getattr(value, part) for part in PARTS if getattr(value, part, None) is not None]
    return [setting for owner in (value, *parts) for setting in names_of(owner)]


def names_of(value: Any) -> list[str]:
    """Fields, those of the class itself before those that all formulations have."""
    return [field.name for field in sorted(fields(value), key=lambda field: field.kw_only is True)]


def check_type(owner: str, given: Any, default: Any) -> None:
    """A setting is of the type of its default, which is a number where that is None."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if isinstance(default, bool):
        fits, expected = isinstance(given, bool), "true or false"
    elif isinstance(default, int):
        fits, expected = is_number and isinstance(given, int), "a whole number"
    elif default is None or isinstance(default, float):
        fits, expected = is_number or (given is None and default is None), "a number"
    else:
        fits, expected = isinstance(given, type(default)), f"a {type(default).__name__}"
    if not fits:
        raise InputError(f"{owner} is {given!r}, expected {expected}")


def read_value(text: str) -> str | bool | int | float | None:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
