"""What a formulation of friction is: a frozen value that makes a mathematical problem of the rows of a step.

`posed` is all of it: from ActiveRows (friction/active.py) to the problem, a starting point, and the way back from an
answer to impulses. What a formulation needs of the engine it declares as class attributes. For a ContactProblem,
`pose`, `start` and `impulses` are the same one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from stickslip.checks import checked, instance, not_negative, vector
from stickslip.friction.active import ActiveRows, active_rows, held_by_bristles, spread
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.impact import IMPACT, NEWTON, Impact, RowImpulses
from stickslip.friction.stabilisation import STABILISATION, Stabilisation
from stickslip.friction.terms import LawNumbers, law_numbers
from stickslip.jit import kernel
from stickslip.problems.cone import Law
from stickslip.problems.contact_states import states_of
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Indices, Vector, affine
from stickslip.problems.residual import Problem

SLIP_SPEED = 1e-3  # above which a contact slides, and friction is kinetic   [m/s]

Scheme: TypeAlias = Literal["midpoint", "euler"]


class Posed(NamedTuple):
    """The mathematical problem of a step, where to start from, and the impulses that a solution stands for."""

    problem: Problem
    start: Vector | None
    decode: Callable[[Vector], RowImpulses]
    normal: Indices | None = None  # (k,)   p_n among the unknowns of a MixedLCP that wants the loads of equal springs


@dataclass(frozen=True, kw_only=True)
@checked(stabilisation=STABILISATION, impact=IMPACT, slip_speed=not_negative)
class Formulation:
    """What all formulations share."""

    stabilisation: Stabilisation = None
    impact: Impact = NEWTON  # a step is made by friction.impact.stepped
    slip_speed: float = SLIP_SPEED  # above which a contact slides, and friction is kinetic   [m/s]

    solver: ClassVar[str] = "auto"  # a method that suits its problems
    tolerance: ClassVar[float] = LCP.tolerance  # on their residual, where the caller states none
    spin: ClassVar[bool] = False  # contacts have a fourth row, about their normal
    lagged: ClassVar[bool] = False  # needs the normal impulse of the step before
    relaxes_friction: ClassVar[bool] = False  # ε_t acts on the tangents of every contact
    bristles: ClassVar[bool] = False  # a contact that sticks has bristles, (2) of friction/stabilisation.py
    cone_law: ClassVar[Law | None] = None  # of its cone problems, where it makes such
    scheme: ClassVar[Scheme] = "euler"  # how positions move; euler: q⁺ = q + h v⁺, as printed

    def __init_subclass__(cls) -> None:
        cls.__repr__ = described  # type: ignore[assignment]  # before the decorator would write one

    def posed(self, rows: ActiveRows) -> Posed:
        """The mathematical problem of a step."""
        raise NotImplementedError

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        """How much friction each contact has left before it meets its bounds, by the set that this formulation bounds
        it with; p (k, d) are the impulses."""
        return rows.mu * p[:, 0] - friction_size(rows, p)

    def states(self, rows: ActiveRows, impulses: RowImpulses, tol: float) -> Indices:
        """Open, stick or slip of each contact (problems/contact_states.py)."""
        u, own = affine(rows.W, impulses.x, rows.q), np.ascontiguousarray(rows.W.diagonal())
        return states_in_step(
            u, own, impulses.p, self.left(rows, impulses.p), rows.compliance_tangent, rows.bristle, rows.sliding,
            rows.patch, self.relaxes_friction or self.bristles, self.bristles, tol,
        )  # fmt: skip

    @property
    def grain_axis(self) -> tuple[Vector, bool] | None:
        """The axis of anisotropic friction, fixed in the first or, where True, the second body of a contact."""
        return None

    def law(self, h: float) -> LawNumbers:
        """The law of a contact in a step of size h, for kernels."""
        return law_numbers(h, self.stabilisation, self.impact, self.slip_speed)

    def rows(self, problem: ContactProblem) -> ActiveRows:
        """The contacts and joint rows of a ContactProblem that take part."""
        rows = active_rows(problem, self.law(problem.h))
        return held_by_bristles(rows) if self.bristles else rows

    @checked(problem=instance(ContactProblem))
    def pose(self, problem: ContactProblem) -> Any:
        """The mathematical problem of a ContactProblem."""
        return self.posed(self.rows(problem)).problem

    @checked(problem=instance(ContactProblem))
    def start(self, problem: ContactProblem) -> Vector | None:
        """A starting point from the impulses of the step before, or None."""
        return self.posed(self.rows(problem)).start

    @checked(problem=instance(ContactProblem))
    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        """The impulses that a solution x of it stands for."""
        rows = self.rows(problem)
        posed = self.posed(rows)
        return spread(problem, rows.contacts, posed.decode(vector("impulses", "x", x, posed.problem.size)))


def friction_size(rows: ActiveRows, p: Dense) -> Vector:
    """|p_t| of each contact; over a patch that of (force, moment / e_r)."""
    friction = p[:, 1:].copy()
    if rows.dimension == 4:
        friction[:, 2] = np.divide(p[:, 3], rows.patch, out=np.zeros(rows.count), where=rows.patch > 0)
    return np.asarray(np.linalg.norm(friction, axis=1))


def described(formulation: Formulation) -> str:
    """Its name and settings, its own before those that all formulations have."""
    kind: Any = type(formulation)
    text = ", ".join(f"{name}={getattr(formulation, name)!r}" for name in settings_of(kind))
    return f"{kind.__name__}({text})"


@cache
def settings_of(kind: Any) -> list[str]:
    shared = {field.name for field in fields(Formulation)}
    return sorted((field.name for field in fields(kind)), key=lambda name: name in shared)


@kernel
def states_in_step(u, own, p, left, soft, bristle, sliding, patch, relaxed, bristles, tol):
    """By how fast contacts slip, without what springs along tangents give way; `own` is the diagonal of W."""
    k, d = p.shape
    p_n, slip, rho = np.empty(k), np.zeros(k), np.ones(k)
    for i in range(k):
        p_n[i], weight = p[i, 0], own[d * i]
        for c in range(1, d):
            x = u[d * i + c]
            if relaxed:
                x += soft[i] * p[i, c]
            if bristles and not sliding[i]:
                x += bristle[i, c - 1]
            if c == 3:
                x *= patch[i]
            slip[i] += x * x
            weight += own[d * i + c]
        slip[i] = math.sqrt(slip[i])
        if weight > 0.0:
            rho[i] = d / weight
    return states_of(p_n, left, slip, rho, tol)
