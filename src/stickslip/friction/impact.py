"""What a contact does that would close in a step, faster than `rest_speed`, by its coefficient of restitution e.

    Newton     u_n⁺ + e u_n⁻ >= 0 instead of u_n⁺ >= 0: the velocity after the step answers that before it
    Poisson    the step is solved as if nothing bounced (compression); then the impulses e p_n are given to the contacts
               that closed, and the step is solved once more for what is needed beside them (expansion) [1]

For both, a contact bounces in the step in which it would close, and has neither gap term nor spring in it. The
impulses e p_n of Poisson's rule come without friction; friction acts in both solves, so a body that slides through an
impact loses less speed than under Newton's rule. What this makes of a contact is in friction/terms.py.

[1] Anitescu, Potra, Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
    complementarity problems, Nonlinear Dynamics 14 (1997) 231-247.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from stickslip.errors import InputError
from stickslip.problems.matrix import Dense, Vector

if TYPE_CHECKING:
    from stickslip.friction.active import ActiveRows

REST_SPEED = 1e-3  # [m/s]


def check_speed(owner: str, name: str, speed: float) -> None:
    if not 0 <= speed < np.inf:
        raise InputError(f"{owner}: {name} is {speed!r}, expected a speed >= 0")


@dataclass(frozen=True)
class Newton:
    """u_n⁺ = -e u_n⁻ where a contact closes faster than rest_speed."""

    rest_speed: float = REST_SPEED  # approach below which nothing bounces   [m/s]

    def __post_init__(self) -> None:
        check_speed("Newton", "rest_speed", self.rest_speed)


@dataclass(frozen=True)
class Poisson:
    """The normal impulse of expansion is e times that of compression: to be stepped by `poisson`."""

    rest_speed: float = REST_SPEED  # approach below which nothing bounces   [m/s]

    def __post_init__(self) -> None:
        check_speed("Poisson", "rest_speed", self.rest_speed)


Impact: TypeAlias = Newton | Poisson
NEWTON = Newton()  # the default


def check_impact(owner: str, impact: Impact) -> None:
    if not isinstance(impact, Newton | Poisson):
        raise InputError(f"{owner}: impact is {impact!r}, expected Newton() or Poisson()")


class RowImpulses(NamedTuple):
    """The impulses of the rows of friction/active.py."""

    p: Dense  # (k, d)   of contacts   [N s]
    bounded: Vector  # (m,)   λ of bounded joint rows   [N s, N m s]

    @property
    def x(self) -> Vector:
        return np.concatenate([self.p.ravel(), self.bounded])


def poisson(rows: ActiveRows, solve: Callable[[ActiveRows], RowImpulses]) -> RowImpulses:
    """Impulses of compression and expansion together; `solve` finds those of one problem, without restitution.

    Where nothing is to be returned, or compression was not solved and is not finite, `solve` is called once.
    """
    compression = solve(rows)
    given = rows.returned * compression.p[:, 0]
    if not ((given > 0).any() and np.isfinite(compression.p).all()):
        return compression
    before = RowImpulses(compression.p.copy(), compression.bounded)
    before.p[:, 0] += given
    expansion = solve(
        replace(
            rows,
            q=rows.q + rows.W @ before.x,
            lower=rows.lower - before.bounded,
            upper=rows.upper - before.bounded,
            previous=np.zeros_like(rows.previous),
            bristle=rows.bristle + rows.compliance_tangent[:, None] * before.p[:, 1:],
            returned=np.zeros_like(rows.returned),
        )
    )
    return RowImpulses(before.p + expansion.p, before.bounded + expansion.bounded)
