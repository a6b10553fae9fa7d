"""What a surface is like, and the one place that says what two surfaces do together.

friction      geometric mean √(μ₁ μ₂), static and kinetic each. A material whose friction is not given has no opinion
              and takes that of what it touches; where neither has one, it is FRICTION.
restitution   the greater of the two.
stiffness     springs in series, 1/k = 1/k₁ + 1/k₂, so a rigid surface (inf) leaves the other's.
damping       of the two springs, each damped, in series: the spring i takes the share sᵢ = k/kᵢ of the deformation and
              dissipates dᵢ sᵢ² of its rate squared, d = d₁ s₁² + d₂ s₂². That is exact where the motion is slow, or
              the materials have one d/k; a rigid surface leaves the other's; two rigid ones share equally.
The tangential stiffness and damping follow the same two rules.
patch         the greater of the two.

A pair of bodies may override any of these: `Scene.set_pair`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from stickslip.scene.model import Floats
from stickslip.scene.values import Refused, not_negative, real

FRICTION = 0.5  # where neither of two surfaces has an opinion


@dataclass(frozen=True)
class Material:
    friction: float | None = None  # static; None takes that of what it touches   [-]
    friction_kinetic: float | None = None  # None where it equals the static one   [-]
    restitution: float = 0.0  # 0 to 1   [-]
    stiffness: float = math.inf  # along the normal; inf is rigid   [N/m]
    damping: float = 0.0  # along the normal   [N s/m]
    stiffness_tangent: float = math.inf  # [N/m]
    damping_tangent: float = 0.0  # [N s/m]
    patch: float = 0.0  # e_r: the spin moment that a contact holds, over the force it holds; 0 is a point   [m]

    def __post_init__(self) -> None:
        for field in FIELDS:
            value = getattr(self, field)
            if value is not None or not field.startswith("friction"):
                object.__setattr__(self, field, coefficient("Material", field, value))
        if self.friction_kinetic is not None and (self.friction is None or self.friction_kinetic > self.friction):
            expected = "None where friction is None" if self.friction is None else f"at most friction {self.friction}"
            raise Refused("Material", "friction_kinetic", self.friction_kinetic, expected)


FIELDS = tuple(field.name for field in fields(Material))


def coefficient(owner: str, field: str, value: float) -> float:
    """One field of a material, checked."""
    match field:
        case "restitution":
            found = not_negative(owner, field, value, "a number from 0 to 1")
            if found > 1:
                raise Refused(owner, field, value, "a number from 0 to 1")
            return found
        case "stiffness" | "stiffness_tangent":
            found = real(owner, field, value, "a positive number, or inf for a rigid surface")
            if found <= 0:
                raise Refused(owner, field, value, "a positive number, or inf for a rigid surface")
            return found
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
    static = column(materials, "friction")
    kinetic = column(materials, "friction_kinetic")
    restitution = column(materials, "restitution")
    normal = column(materials, "stiffness"), column(materials, "damping")
    tangent = column(materials, "stiffness_tangent"), column(materials, "damping_tangent")
    patch = column(materials, "patch")
    return PairTable(
        mean_opinion(static),
        mean_opinion(np.where(np.isnan(kinetic), static, kinetic)),
        np.maximum.outer(restitution, restitution),
        *in_series(*normal),
        *in_series(*tangent),
        np.maximum.outer(patch, patch),
    )


def column(described: Sequence[Any], field: str) -> Floats:
    """One field of several materials or joints; nan where it is None."""
    values = (getattr(each, field) for each in described)
    return np.array([math.nan if value is None else value for value in values], np.float64)


def mean_opinion(mu: Floats) -> Floats:
    """The geometric mean of each two coefficients, where nan is no opinion."""
    a, b = mu[:, None], mu[None, :]
    agreed = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.sqrt(a * b)))
    return np.where(np.isnan(agreed), FRICTION, agreed)


@np.errstate(invalid="ignore")
def in_series(stiffness: Floats, damping: Floats) -> tuple[Floats, Floats]:
    """Stiffness and damping of each two damped springs, one behind the other."""
    a, b = stiffness[:, None], stiffness[None, :]
    share = np.where(np.isinf(a), np.where(np.isinf(b), 0.5, 0.0), np.where(np.isinf(b), 1.0, b / (a + b)))
    together = np.where(np.isinf(a), b, np.where(np.isinf(b), a, a * share))
    together = np.maximum(together, together.T)  # symmetric to the last bit
    damped = damping[:, None] * share**2
    return together, damped + damped.T
