"""How a contact's gap enters the velocities of a step. It is named and chosen, never hidden:

    0 <= p_n  ⊥  u_n + ε p_n + d >= 0                                                                         (1)

    Gap(recovery)     ε = 0,  d = ψ/h where ψ > TOUCHING: the gap may close, no more [1];
                      d = recovery ψ/h elsewhere: this share of the overlap is taken back in a step. Recovery 1 takes
                      it back at once and leaves the velocity of that behind; a small share does so gently. It holds
                      for gaps that are rounding too, else contacts at rest would open and close for ever
    Relaxation(k, b)  ε = 1/(h² k + h b),  d = ε h k ψ: a spring and a damper, met implicitly [2];
                      a rigid contact, k = ∞, has ε = 0 and d = ψ/h
    None              ε = d = 0 where the contact is closed, ψ <= TOUCHING; open contacts are left out. What overlaps
                      stays so

Friction has a relaxation of its own, a bristle of stiffness k_t and damping b_t [2]:

    u_t + ε_t p_t + d_t,    ε_t = 1/(h² k_t + h b_t),   d_t = -ε_t (p_t + h b_t u_t) of the step before          (2)

[1] Stewart, Trinkle, An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb
    friction, International Journal for Numerical Methods in Engineering 39 (1996) 2673-2691.
[2] Lacoursière, A regularized time stepper for multibody systems, UMINF 06.04 (2006); (40) to (42) of Peiret, Kövecses,
    Font-Llagunes, A friction model for non-singular complementarity formulations, DETC2017-67988.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.problems.matrix import Vector

TOUCHING = 1e-9  # gaps up to this are rounding   [m]


@dataclass(frozen=True)
class Gap:
    """The gap term ψ/h, with a share of an overlap taken back in a step."""

    recovery: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.recovery <= 1:
            raise InputError(f"Gap: recovery is {self.recovery!r}, expected a share from 0 to 1")


@dataclass(frozen=True)
class Relaxation:
    """Springs and dampers; where a value is None, it is the contact's own."""

    stiffness: float | None = None  # normal   [N/m]
    damping: float | None = None  # normal   [N s/m]
    stiffness_tangent: float | None = None  # [N/m]
    damping_tangent: float | None = None  # [N s/m]

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "stiffness_tangent", "damping_tangent"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"Relaxation: {name} is {value!r}, expected a number >= 0 or None")


Stabilisation: TypeAlias = Gap | Relaxation | None
GAP, GENTLE, RELAXATION = Gap(1.0), Gap(0.2), Relaxation()  # the defaults


def check_stabilisation(owner: str, stabilisation: Stabilisation) -> None:
    if not (stabilisation is None or isinstance(stabilisation, Gap | Relaxation)):
        raise InputError(f"{owner}: stabilisation is {stabilisation!r}, expected Gap(), Relaxation() or None")


def check_relaxation(owner: str, stabilisation: Relaxation) -> None:
    if not isinstance(stabilisation, Relaxation):
        raise InputError(f"{owner}: stabilisation is {stabilisation!r}, expected Relaxation()")


def takes_part(problem: ContactProblem, stabilisation: Stabilisation) -> np.ndarray:
    """Which contacts are in the problem: all, or without stabilisation the closed ones."""
    gap: Vector = problem.gap
    return gap <= (TOUCHING if stabilisation is None else math.inf)


def normal_terms(problem: ContactProblem, stabilisation: Stabilisation) -> tuple[Vector, Vector]:
    """d and ε of (1), contact by contact."""
    gap: Vector = problem.gap
    none = np.zeros_like(gap)
    if stabilisation is None:
        return none, none
    if isinstance(stabilisation, Gap):
        return np.where(gap > TOUCHING, gap, stabilisation.recovery * gap) / problem.h, none
    stiffness, damping = chosen(problem, stabilisation, "stiffness"), chosen(problem, stabilisation, "damping")
    share, compliance = relaxed(problem.h, stiffness, damping, "stiffness and damping")
    return share * gap, compliance


def tangent_terms(problem: ContactProblem, stabilisation: Stabilisation) -> tuple[Vector, Vector]:
    """ε_t of (2) and ε_t h b_t, contact by contact; zero but for a Relaxation."""
    if not isinstance(stabilisation, Relaxation):
        return np.zeros(problem.contacts), np.zeros(problem.contacts)
    damping = chosen(problem, stabilisation, "damping_tangent")
    stiffness = chosen(problem, stabilisation, "stiffness_tangent")
    _, compliance = relaxed(problem.h, stiffness, damping, "stiffness_tangent and damping_tangent")
    with np.errstate(invalid="ignore"):
        return compliance, np.where(compliance > 0, compliance * problem.h * damping, 0.0)


def chosen(problem: ContactProblem, relaxation: Relaxation, name: str) -> Vector:
    own: Vector = getattr(problem, name)
    value = getattr(relaxation, name)
    return own if value is None else np.full_like(own, value)


def relaxed(h: float, stiffness: Vector, damping: Vector, names: str) -> tuple[Vector, Vector]:
    """h k ε and ε of springs and dampers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isinf(stiffness), 1 / h, stiffness / (h * stiffness + damping))
        compliance = 1 / (h * (h * stiffness + damping))
    if not np.isfinite(compliance).all():
        i = int(np.argmin(np.isfinite(compliance)))
        raise InputError(f"ContactProblem: {names} of contact {i} are both 0, expected one of them to be positive")
    return share, compliance
