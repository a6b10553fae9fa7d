"""Friction that depends on the state, μ(z): a function of the user's, compiled, instead of a number.

    law = FrictionLaw(f),      μ = f(speed, x, y, z, time)

of the sliding speed, the place and the time of a contact at the start of a step. It stands wherever a coefficient of
friction does, in a material or for a pair, and two surfaces do together what their values of the moment do: the
geometric mean √(μ₁ μ₂) (scene/materials.py). Static and kinetic friction are then one. Every formulation of friction
sees the value; the loop of a run asks for it once a step.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011,
    (13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import Refused, shown
from stickslip.errors import InputError
from stickslip.scene.model import Floats, Integers

UNDECIDED = object()  # the friction set of two materials that do not agree

Friction: TypeAlias = "float | FrictionLaw"
SetTable: TypeAlias = Mapping[tuple[int, int], Any]  # of two materials, the friction set of problems/friction_sets.py


@dataclass(frozen=True, eq=False)
class FrictionLaw:
    """μ as a function (speed, x, y, z, time) -> μ >= 0, compiled by Numba."""

    f: Callable[..., float]

    def __post_init__(self) -> None:
        if not callable(self.f) or isinstance(self.f, type):
            raise Refused("FrictionLaw", "f", self.f, "a function of 5 numbers that returns one")
        try:
            value = float(self.f(0.0, 0.0, 0.0, 0.0, 0.0))
        except Exception as error:  # whatever the user's function raises
            raise InputError(f"FrictionLaw: f at rest, at the origin and at time 0 fails: {shown(error)}") from error
        if not 0 <= value < math.inf:
            raise InputError(
                f"FrictionLaw: f at rest, at the origin and at time 0 is {value:g}, expected a number >= 0"
            )
        _ = self.compiled  # what cannot be compiled is refused here

    @cached_property
    def compiled(self) -> Any:
        from stickslip.scene.law_values import compiled_law

        return compiled_law(self.f)

    @property
    def at_rest(self) -> float:
        """μ at rest, at the origin and at time 0."""
        return float(self.f(0.0, 0.0, 0.0, 0.0, 0.0))

    def values(self, speed: Floats, point: Floats, time: float) -> Floats:
        """μ of contacts that slide at `speed` (n,) at the places `point` (n, 3)."""
        from stickslip.scene.law_values import fill

        mu = np.empty(speed.size)
        fill(self.compiled, np.ascontiguousarray(speed), np.ascontiguousarray(point), float(time), mu)
        wrong = ~((mu >= 0) & (mu < math.inf))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InputError(
                f"{self!r}: f is {mu[i]:g} at the speed {speed[i]:g}, the place {point[i]} and the time {time:g}, "
                "expected a number >= 0"
            )
        return mu

    def __reduce__(self) -> tuple[Any, ...]:
        return FrictionLaw, (self.f,)  # is compiled again where it arrives

    def __repr__(self) -> str:
        return f"FrictionLaw({getattr(self.f, '__name__', 'f')})"


def number(friction: Friction | None) -> float | None:
    """A coefficient as a number; that of a law at rest."""
    return friction.at_rest if isinstance(friction, FrictionLaw) else friction


@dataclass(frozen=True)
class FrictionTable:
    """What numbered materials say of friction, where one of them at least has a law."""

    opinion: tuple[Friction | None, ...]  # of each material
    pairs: Mapping[tuple[int, int], Friction]  # of those that have their own, both ways round

    def sides(self, a: int, b: int) -> tuple[Friction | None, ...]:
        """Who has a say in the friction of two materials."""
        return (self.pairs[a, b],) if (a, b) in self.pairs else (self.opinion[a], self.opinion[b])

    def by_law(self, a: Integers, b: Integers) -> NDArray[np.bool_]:
        """(n,) which contacts of materials a and b have friction by a law."""
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return np.array([any(isinstance(side, FrictionLaw) for side in self.sides(*pair)) for pair in pairs], np.bool_)

    def told(
        self, a: Integers, b: Integers, speed: Floats, point: Floats, time: float
    ) -> tuple[NDArray[np.bool_], Floats]:
        """Which contacts of materials a and b have friction by a law, and the friction of those."""
        told, mu = np.zeros(a.size, np.bool_), np.zeros(a.size)
        for x, y in set(zip(a.tolist(), b.tolist(), strict=True)):
            sides = self.sides(x, y)
            if not any(isinstance(side, FrictionLaw) for side in sides):
                continue
            here = (a == x) & (b == y)
            values = [
                side.values(speed[here], point[here], time) if isinstance(side, FrictionLaw) else side
                for side in sides
                if side is not None
            ]
            told[here] = True
            mu[here] = values[0] if len(values) == 1 else np.sqrt(values[0] * values[1])
        return told, mu
