"""What a contact does that would close in a step, faster than `rest_speed`, by its coefficient of restitution e.

    Newton     u_n⁺ + e u_n⁻ >= 0 instead of u_n⁺ >= 0: the velocity after the step answers that before it
    Poisson    the impact is solved as if nothing bounced (compression); then the impulses e p_n are given to the
               contacts that closed, and it is solved once more for what is needed beside them (expansion) [1]
    Routh      one impact after the other, the fastest first, each followed along its path: friction/routh.py

For all, a contact bounces in the step in which it would close, and has neither gap term nor spring in it (under Newton
it parts as fast as its overlap would at rest, if it has one and that is faster). Under Poisson
and Routh the impact starts from the velocities before the step, u; the forces of the step come after it, with the rows
of contacts that bounced held to the velocity u' that the impact left them,

    0 <= p_n  ⊥  u_n⁺ - u_n' >= 0,                                                                                 (1)

so that a ball comes back with e u, whatever gravity does in the step. The impulses e p_n of Poisson's rule come without
friction; friction acts in both solves, so a body that slides through an impact loses less speed than under Newton's
rule. What this makes of a contact is in friction/terms.py.

[1] Anitescu, Potra, Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
    complementarity problems, Nonlinear Dynamics 14 (1997) 231-247.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import checked, instance, not_negative, one_of
from stickslip.friction.routh import single_impact
from stickslip.problems.matrix import Dense, Vector, as_dense

if TYPE_CHECKING:
    from stickslip.friction.active import ActiveRows

REST_SPEED = 1e-3  # [m/s]
IMPACTS = 100  # of each contact in a step, at most
FIRM = 1e-12  # share of the trace of W_ii that is added to it


@dataclass(frozen=True)
@checked(rest_speed=not_negative)
class Newton:
    """u_n⁺ = -e u_n⁻ where a contact closes faster than rest_speed."""

    rest_speed: float = REST_SPEED  # approach below which nothing bounces   [m/s]


@dataclass(frozen=True)
@checked(rest_speed=not_negative)
class Poisson:
    """The normal impulse of expansion is e times that of compression: to be stepped by `poisson`."""

    rest_speed: float = REST_SPEED  # approach below which nothing bounces   [m/s]


@dataclass(frozen=True)
@checked(restitution=one_of("stronge", "poisson"), rest_speed=not_negative)
class Routh:
    """The impulse followed along its path through slip, stick and reversed slip; `restitution` says when it ends."""

    restitution: Literal["stronge", "poisson"] = "stronge"
    rest_speed: float = REST_SPEED  # approach below which nothing bounces   [m/s]


Impact: TypeAlias = Newton | Poisson | Routh
NEWTON = Newton()  # the default
IMPACT = instance(Newton, Poisson, Routh, expected="Newton(), Poisson() or Routh()")  # a kind of argument


class RowImpulses(NamedTuple):
    """The impulses of the rows of friction/active.py."""

    p: Dense  # (k, d)   of contacts   [N s]
    bounded: Vector  # (m,)   λ of bounded joint rows   [N s, N m s]

    @property
    def x(self) -> Vector:
        return np.concatenate([self.p.ravel(), self.bounded]) if self.bounded.size else self.p.ravel()


Solve: TypeAlias = "Callable[[ActiveRows], RowImpulses]"


def stepped(impact: Impact, rows: ActiveRows, solve: Solve) -> RowImpulses:
    """The impulses of a step under an impact law; `solve` finds those of one problem."""
    if isinstance(impact, Newton):
        return solve(rows)
    return poisson(rows, solve) if isinstance(impact, Poisson) else routh(impact, rows, solve)


def poisson(rows: ActiveRows, solve: Solve) -> RowImpulses:
    """Impulses of compression, expansion and the forces of the step together.

    Where nothing is to be returned, or compression was not solved and is not finite, `solve` is called once.
    """
    bounces = rows.returned > 0
    if not bounces.any():
        return solve(rows)
    still = replace(rows, q=rows.q - rows.falls)
    compression = solve(still)
    if not np.isfinite(compression.p).all():
        return compression
    given = RowImpulses(compression.p.copy(), compression.bounded)
    given.p[:, 0] += rows.returned * compression.p[:, 0]
    expansion = solve(after(still, given))
    return with_forces(rows, RowImpulses(given.p + expansion.p, given.bounded + expansion.bounded), bounces, solve)


def routh(impact: Routh, rows: ActiveRows, solve: Solve) -> RowImpulses:
    """Impacts one after the other, the fastest first, then the forces of the step."""
    if not (rows.returned > 0).any():
        return solve(rows)
    k, d = rows.before.shape
    W, u, p, fall = rows.W, rows.before.copy(), np.zeros((k, d)), rows.falls[rows.normal]
    bounced, stronge = np.zeros(k, bool), impact.restitution == "stronge"
    for _ in range(IMPACTS * k):
        would_close = bounced | (rows.gap + rows.h * (u[:, 0] + fall) < 0)  # what bounced has closed
        closes = would_close & (u[:, 0] < -impact.rest_speed)
        if not closes.any():
            break
        i = int(np.argmin(np.where(closes, u[:, 0], np.inf)))
        own = d * i + np.arange(min(d, 3))
        block = np.array(as_dense(W[own][:, own]))
        block += FIRM * np.trace(block) * np.eye(own.size)  # a direction that joints hold answers to nothing
        one = single_impact(block, u[i, : own.size].copy(), rows.mu[i], rows.restitution[i], stronge)
        p[i, : own.size] += one
        u += np.asarray(W[: d * k][:, own] @ one).reshape(k, d)
        bounced[i] = True
    return with_forces(rows, RowImpulses(p, np.zeros(rows.lower.size)), bounced, solve)


def with_forces(rows: ActiveRows, impulses: RowImpulses, bounced: NDArray[np.bool_], solve: Solve) -> RowImpulses:
    """What impacts left, and beside it what the forces of the step need by (1)."""
    moved = after(rows, impulses)
    normal = rows.normal[bounced]
    left = rows.before[bounced, 0] + np.asarray(rows.W[normal] @ impulses.x)
    moved.q[normal] = rows.falls[normal] + np.minimum(left, 0.0)
    rest = solve(moved)
    return RowImpulses(impulses.p + rest.p, impulses.bounded + rest.bounded)


def after(rows: ActiveRows, given: RowImpulses) -> ActiveRows:
    """The rows where impulses have been given; what is found then comes on top."""
    return replace(
        rows,
        q=rows.q + rows.W @ given.x,
        lower=rows.lower - given.bounded,
        upper=rows.upper - given.bounded,
        previous=np.zeros_like(rows.previous),
        bristle=rows.bristle + rows.compliance_tangent[:, None] * given.p[:, 1:],
        returned=np.zeros_like(rows.returned),
    )
