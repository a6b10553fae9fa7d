"""What a surface is like, and the one place that says what two surfaces do together.

friction      geometric mean √(μ₁ μ₂), static and kinetic each. A material whose friction is not given has no opinion
              and takes that of what it touches; where neither has one, it is FRICTION. It may be a function of the
              state, scene/friction_law.py.
restitution   the greater of the two.
stiffness     springs in series, 1/k = 1/k₁ + 1/k₂, so a rigid surface (inf) leaves the other's.
damping       of the two springs, each damped, in series: the spring i takes the share sᵢ = k/kᵢ of the deformation and
              dissipates dᵢ sᵢ² of its rate squared, d = d₁ s₁² + d₂ s₂². That is exact where the motion is slow, or
              the materials have one d/k; a rigid surface leaves the other's; two rigid ones share equally.
The tangential stiffness and damping follow the same two rules. A tangential stiffness of 0 is a pure damper; of two
pure dampers in series each takes a share of the motion that is inverse to its damping.
patch         the greater of the two.
surface       the friction set, for distributed contacts; a material without one takes that of what it touches. Two that
              differ need one that is said for the pair.

A pair of bodies may override any of these: `Scene.set_pair`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import Refused, fraction, not_negative, number_that, real
from stickslip.scene.friction_law import FrictionLaw, number
from stickslip.scene.model import Floats

FRICTION = 0.5  # where neither of two surfaces has an opinion
FEW = 4  # materials of most scenes
STIFFNESS = number_that(lambda k: k > 0, "a positive number, or inf for a rigid surface", real)  # a kind of argument


@dataclass(frozen=True)
class Material:
    friction: float | FrictionLaw | None = None  # static; None takes that of what it touches   [-]
    friction_kinetic: float | None = None  # None where it equals the static one   [-]
    restitution: float = 0.0  # 0 to 1   [-]
    stiffness: float = math.inf  # along the normal; inf is rigid   [N/m]
    damping: float = 0.0  # along the normal   [N s/m]
    stiffness_tangent: float = math.inf  # 0 is a pure damper   [N/m]
    damping_tangent: float = 0.0  # [N s/m]
    patch: float = 0.0  # e_r: the spin moment that a contact holds, over the force it holds; 0 is a point   [m]
    surface: Any = None  # a set of problems/friction_sets.py; None takes that of what it touches, or the run's

    def __post_init__(self) -> None:
        for field in FIELDS:
            value = getattr(self, field)
            if value is not None or not field.startswith(("friction", "surface")):
                object.__setattr__(self, field, coefficient("Material", field, value))
        check_damper("Material", self.stiffness_tangent, self.damping_tangent)
        if isinstance(self.friction, FrictionLaw):
            if self.friction_kinetic is not None:
                raise Refused("Material", "friction_kinetic", self.friction_kinetic, "None beside a FrictionLaw")
        elif self.friction_kinetic is not None and (self.friction is None or self.friction_kinetic > self.friction):
            expected = "None where friction is None" if self.friction is None else f"at most friction {self.friction}"
            raise Refused("Material", "friction_kinetic", self.friction_kinetic, expected)


FIELDS = tuple(field.name for field in fields(Material))
NUMBERS = FIELDS[:-1]  # all but the friction set


def check_damper(owner: str, stiffness: float, damping: float) -> None:
    """A contact without tangential stiffness is a damper."""
    if stiffness == 0 and damping == 0:
        raise Refused(owner, "damping_tangent", damping, "a positive number where stiffness_tangent is 0")


def coefficient(owner: str, field: str, value: Any) -> Any:
    """One field of a material, checked."""
    match field:
        case "friction" if isinstance(value, FrictionLaw):
            return value
        case "surface":
            if isinstance(value, type | np.ndarray) or not (hasattr(value, "data") and hasattr(value, "radius")):
                raise Refused(owner, field, value, "Ellipsoid(), Mixed(), Polyhedron(…) or FrictionMap(f)")
            return value
        case "stiffness_tangent" if real(owner, field, value, "a number >= 0, or inf for a rigid surface") == 0:
            return 0.0
        case "restitution":
            return fraction(owner, field, value)
        case "stiffness" | "stiffness_tangent":
            return STIFFNESS(owner, field, value)
        case _:
            return not_negative(owner, field, value)


class PairTable(NamedTuple):
    """What each two of nm materials do together, (nm, nm) each and symmetric; the names are those of Model."""

    friction_static: Floats
    friction_kinetic: Floats
    restitution: Floats
    stiffness: Floats
    damping: Floats
    stiffness_tangent: Floats
    damping_tangent: Floats
    patch: Floats


def combine(materials: Sequence[Material]) -> PairTable:
    """All pairs of materials, by the rules at the top of this file."""
    if len(materials) > FEW:
        return pair_table(columns_of(materials))
    return PairTable(*(table.copy() for table in combine_few(tuple(materials))))


@lru_cache(maxsize=64)
def combine_few(materials: tuple[Material, ...]) -> PairTable:
    """The same, remembered: a scene is often compiled again and again."""
    return pair_table(columns_of(materials))


def columns_of(materials: Sequence[Material]) -> dict[str, Floats]:
    """(nm,) the fields that are numbers; nan where they are None."""
    opinions = (number(material.friction) for material in materials)
    static = np.array([math.nan if opinion is None else opinion for opinion in opinions], np.float64)
    return {field: static if field == "friction" else column(materials, field) for field in NUMBERS}


def pair_table(columns: Mapping[str, Floats]) -> PairTable:
    """The same of columns (…, nm): the tables (…, nm, nm) of many sets of materials at once."""
    static, kinetic = columns["friction"], columns["friction_kinetic"]
    return PairTable(
        mean_opinion(static),
        mean_opinion(np.where(np.isnan(kinetic), static, kinetic)),
        np.maximum(*each_two(columns["restitution"])),
        *in_series(columns["stiffness"], columns["damping"]),
        *in_series(columns["stiffness_tangent"], columns["damping_tangent"], dampers=True),
        np.maximum(*each_two(columns["patch"])),
    )


def each_two(values: Floats) -> tuple[Floats, Floats]:
    """Values (…, nm) down and across a table."""
    return values[..., :, None], values[..., None, :]


def column(described: Sequence[Any], field: str) -> Floats:
    """One field of several materials or joints; nan where it is None."""
    values = (getattr(each, field) for each in described)
    return np.array([math.nan if value is None else value for value in values], np.float64)


def mean_opinion(mu: Floats) -> Floats:
    """The geometric mean of each two coefficients, where nan is no opinion."""
    a, b = each_two(mu)
    agreed = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.sqrt(a * b)))
    return np.where(np.isnan(agreed), FRICTION, agreed)


@np.errstate(invalid="ignore")
def in_series(stiffness: Floats, damping: Floats, dampers: bool = False) -> tuple[Floats, Floats]:
    """Stiffness and damping of each two damped springs, one behind the other; with pure dampers among them."""
    (a, b), (c, d) = each_two(stiffness), each_two(damping)
    share = np.where(np.isinf(a), np.where(np.isinf(b), 0.5, 0.0), np.where(np.isinf(b), 1.0, b / (a + b)))
    if dampers:
        share = np.where((a == 0) & (b == 0), d / (c + d), share)
    together = np.where(np.isinf(a), b, np.where(np.isinf(b), a, a * share))
    together = np.maximum(together, np.swapaxes(together, -1, -2))  # symmetric to the last bit
    damped = c * share**2
    return together, damped + np.swapaxes(damped, -1, -2)
