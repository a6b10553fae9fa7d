"""What a contact does that closes faster than `rest_speed`, by its coefficient of restitution e.

    Newton     u_n⁺ + e u_n⁻ >= 0 instead of u_n⁺ >= 0: the velocity after the step answers that before it
    Poisson    the step is solved as if nothing bounced (compression); then the impulses e p_n are given to the contacts
               that closed, and the step is solved once more for what is needed beside them (expansion) [1]

For both, a contact bounces where it has closed, ψ <= 0; while ψ > 0 a contact that is about to bounce is left out of
the problem, for a gap term would take its speed away. A contact that bounces has no gap term. The impulses e p_n of
Poisson's rule come without friction; friction acts in both solves, so a body that slides through an impact loses less
speed than under Newton's rule.

[1] Anitescu, Potra, Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
    complementarity problems, Nonlinear Dynamics 14 (1997) 231-247.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.problems.matrix import Vector

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


def fast(problem: ContactProblem, impact: Impact) -> NDArray[np.bool_]:
    """The contacts that come to bounce: e > 0, and an approach faster than rest_speed."""
    approach = -problem.start_velocity[:: problem.dimension]
    return (problem.restitution > 0) & (approach > impact.rest_speed)


def still_open(problem: ContactProblem, impact: Impact) -> NDArray[np.bool_]:
    """Those that come to bounce but have not closed yet."""
    return fast(problem, impact) & (problem.gap > 0)


def rebound(problem: ContactProblem, impact: Impact) -> Vector:
    """d of a contact that bounces, for u_n + d >= 0: e u_n⁻ by Newton's rule, 0 in Poisson's compression."""
    if isinstance(impact, Poisson):
        return np.zeros(problem.contacts)
    return problem.restitution * problem.start_velocity[:: problem.dimension]


def poisson(
    problem: ContactProblem, solve: Callable[[ContactProblem], Impulses], rest_speed: float = REST_SPEED
) -> Impulses:
    """Impulses of compression and expansion together; `solve` finds the impulses of one problem, without restitution.

    Where nothing bounces, `solve` is called once.
    """
    compression = solve(problem)
    d = problem.dimension
    bounce = fast(problem, Poisson(rest_speed)) & (problem.gap <= 0)
    given = np.zeros_like(compression.p)
    given[::d] = np.where(bounce, problem.restitution * compression.p[::d], 0.0)
    if not given.any():
        return compression
    before = Impulses(compression.p + given, compression.joints)
    expansion = solve(
        replace(
            problem,
            f=problem.f + problem.H @ before.p + problem.G @ before.joints,
            gap=np.where(bounce, 0.0, problem.gap),
            b=problem.b + problem.compliance * before.joints,
            lower=problem.lower - before.joints,
            upper=problem.upper - before.joints,
            restitution=np.where(bounce, 0.0, problem.restitution),
            previous=np.zeros_like(given),
        )
    )
    return Impulses(before.p + expansion.p, before.joints + expansion.joints)
