"""Contacts over small patches: friction force and spin moment share one limit surface [1].

    0 <= p_n ⊥ u_n >= 0,      (p_t, p_o, p_r) maximises -(u_t, u_o, u_r) · p' over p' ∈ F(μ p_n)

at the velocities u of the end of the step, the twin of problems/limit_surface.py in time. The set F is one of
problems/friction_sets.py, with the sizes e = (e_t, e_o, e_r): (e_t, e_o) of the formulation, e_r the `patch` of the
materials, in metres: what moment a contact holds over what force. For a disc of radius a under even pressure that is
2/3 a, for a ring a. Without patches it is Coulomb's law. Materials and pairs of bodies may have sets of their own.

Contacts without a row for spin, those of planar scenes and of most systems in generalized coordinates, are the same
with e_r = 0, in the plane also e_o = 0 [1]: the rows they lack are zero. A bounded joint row is a contact of
friction/cones.py, whose set is the Ellipsoid whatever that of the others.

Anisotropic friction has its axes fixed in a body, along `grain` and across it: e_t is for the way along. With a
FrictionMap the coefficient may depend on the state at the start of the step: sliding speed, place, time.

[1] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

import copyreg
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy import sparse

from stickslip.checks import checked, instance, not_negative, one_of, positive, several
from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows
from stickslip.friction.cones import cone_rows, cone_unknowns, placed
from stickslip.friction.formulation import SLIP_SPEED, Formulation, Posed, Scheme
from stickslip.friction.impact import RowImpulses
from stickslip.friction.stabilisation import GENTLE, Stabilisation
from stickslip.jit import kernel
from stickslip.problems.friction_sets import (
    BALL,
    ELLIPSOID,
    GAUGE,
    MIXED,
    POLYHEDRON,
    FrictionMap,
    FrictionSet,
    FrictionSets,
    Mixed,
    friction_set,
    sets_data,
)
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Matrix, Vector, all_finite
from stickslip.remade import again, remade

SIZES = several(2, "two positive numbers", positive)  # kinds of argument
GRAIN = several(3, "a direction (x, y, z)")
SURFACE = instance(*get_args(FrictionSet), expected="Ellipsoid(), Mixed(), Polyhedron(…) or FrictionMap(f)")


@dataclass(frozen=True)
@checked(surface=SURFACE, sizes=SIZES, grain=GRAIN, grain_of=one_of("first", "second"))
class LimitSurface(Formulation):
    """Friction with spin, over patches whose size the materials give. A Relaxation acts on the normals only."""

    surface: FrictionSet = ELLIPSOID
    sizes: tuple[float, float] = (1.0, 1.0)  # e_t, e_o: friction along and across the grain is e μ
    grain: tuple[float, float, float] | None = None  # axis of e_t, fixed in a body, its own axes; None: any direction
    grain_of: Literal["first", "second"] = "first"  # which of the two bodies of a contact has it, in the scene's order
    _: KW_ONLY
    stabilisation: Stabilisation = GENTLE

    spin: ClassVar[bool] = True
    tolerance: ClassVar[float] = LimitSurfaceProblem.tolerance
    scheme: ClassVar[Scheme] = "midpoint"

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # made by `checked`
        if self.grain is not None and not 0 < math.hypot(*self.grain) < math.inf:
            raise InputError(f"LimitSurface: grain is {self.grain!r}, expected a direction (x, y, z)")
        if self.grain is None and self.sizes[0] != self.sizes[1]:
            raise InputError(f"LimitSurface: grain is None with sizes {self.sizes!r}, expected the axis of the first")

    @property
    def grain_axis(self) -> tuple[Vector, bool] | None:
        return None if self.grain is None else (np.array(self.grain, np.float64), self.grain_of == "second")

    def posed(self, rows: ActiveRows) -> Posed:
        given, sets = rows, self.sets(rows)
        rows = with_spin(with_friction(rows, sets))
        W, q, mu = cone_rows(rows, "coulomb", relaxed=False)
        start, whole = cone_unknowns(rows)
        d = given.dimension
        decode: Callable[[Vector], RowImpulses] = whole
        if d < 4:
            decode = lambda x: without_spin(whole(x), d)  # noqa: E731
        if self.grain is not None:
            turn = turned(rows.grain, W)
            W, q, start, own = turn.T @ W @ turn, turn.T @ q, turn.T @ start, decode
            decode = lambda x: own(turn @ x)  # noqa: E731
        e, state = data_of(self.sizes, rows, d, mu.size)
        surface = surface_of(self.surface, rows, sets, mu.size)
        trusted = isinstance(W, np.ndarray) and sound(W, q, mu, e, state)
        make = LimitSurfaceProblem.unchecked if trusted else LimitSurfaceProblem
        problem = make(A=W, b=q, mu=mu, e=e, slip=np.zeros_like(e), surface=surface, state=state)
        return Posed(problem, start, decode)

    def sets(self, rows: ActiveRows) -> tuple[FrictionSet, ...]:
        """The friction set of each contact: that of its materials, or of the formulation."""
        if not rows.surfaces:
            return rows.count * (self.surface,)
        for each in rows.surfaces:
            if each is not None and not isinstance(each, FrictionSet):
                raise InputError(
                    "LimitSurface: the surface of two materials that touch is not the same, expected one said for "
                    "their pair"
                )
        return tuple(self.surface if each is None else each for each in rows.surfaces)

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        """μ p_n less the gauge of the friction, by the set of each contact."""
        sets = self.sets(rows)
        wide = with_spin(with_friction(rows, sets))
        e, state = data_of(self.sizes, wide, rows.dimension, rows.count)
        grain = self.grain is not None
        own = sets_data(surface_of(self.surface, wide, sets, rows.count), rows.count)
        return left_of_sets(wide.mu, p, grain, rows.grain, e, state, *own)


def surface_of(
    own: FrictionSet, rows: ActiveRows, sets: tuple[FrictionSet, ...], count: int
) -> FrictionSet | FrictionSets:
    """The sets of so many contacts, those of joints behind the others, as a problem takes them; `own` is that of the
    formulation."""
    if count == rows.count and not rows.surfaces and not isinstance(own, Mixed):
        return own
    flat = (rows.patch == 0).tolist()  # without moments Mixed is the Ellipsoid, which more methods know
    known = [ELLIPSOID if none and isinstance(each, Mixed) else each for each, none in zip(sets, flat, strict=True)]
    return friction_set("LimitSurface", known + (count - rows.count) * [ELLIPSOID], count)


def data_of(sizes: tuple[float, float], rows: ActiveRows, d: int, count: int) -> tuple[Dense, Dense]:
    """The sizes e and states of so many contacts, those of joints behind the others; d is before `with_spin`."""
    e_t, e_o = map(float, sizes)
    return sizes_and_states(e_t, e_o, d, rows.patch, rows.slip, rows.point, float(rows.time), count)


def with_friction(rows: ActiveRows, sets: tuple[FrictionSet, ...]) -> ActiveRows:
    """With static friction where a FrictionMap says itself what slip does to it."""
    own = [isinstance(each, FrictionMap) for each in sets]
    return replace(rows, mu=np.where(own, rows.mu_static, rows.mu)) if any(own) else rows


def with_spin(rows: ActiveRows) -> ActiveRows:
    """The same with four components a contact, those that it had not zero: they carry nothing."""
    d, k = rows.dimension, rows.count
    if d == 4 or k == 0:
        return replace(rows, dimension=4) if k == 0 else rows
    if d == 3 and rows.patch.any():
        raise InputError(
            f"LimitSurface: a contact has a patch of {rows.patch.max():g} m and no row for spin, expected one, or no "
            "patch"
        )
    place = np.concatenate([(4 * np.arange(k)[:, None] + np.arange(d)).ravel(), 4 * k + np.arange(rows.lower.size)])
    q, none = np.zeros(4 * k + rows.lower.size), np.zeros((k, 4 - d))
    q[place] = rows.q
    wide: dict[str, Any] = {name: np.hstack([getattr(rows, name), none]) for name in ("slip", "previous", "bristle")}
    W = placed(rows.W, place, np.ones(place.size), q.size)
    return replace(rows, dimension=4, W=W, q=q, patch=np.zeros(k), **wide)


def without_spin(impulses: RowImpulses, d: int) -> RowImpulses:
    return RowImpulses(np.ascontiguousarray(impulses.p[:, :d]), impulses.bounded)


@kernel
def left_of_sets(mu, p, grain, angle, e, state, kind, planes, gauge):
    """μ p_n less the λ = μ p_n at which the set λ B of each contact reaches its friction, along and across the grain
    where there is one."""
    left, s = np.empty(mu.size), np.zeros(3)
    for i in range(mu.size):
        for j in range(p.shape[1] - 1):
            s[j] = p[i, 1 + j]
        if grain:
            c, a = math.cos(angle[i]), math.sin(angle[i])
            s[0], s[1] = c * s[0] + a * s[1], c * s[1] - a * s[0]
        for j in range(3):
            s[j] = s[j] / e[i, j] if e[i, j] > 0.0 else 0.0
        used = 0.0
        if kind[i, 0] == BALL:
            used = math.sqrt(s[0] ** 2 + s[1] ** 2 + s[2] ** 2)
        elif kind[i, 0] == MIXED:
            used = max(math.hypot(s[0], s[1]), abs(s[2]))
        elif kind[i, 0] == POLYHEDRON:
            for k in range(kind[i, 1], kind[i, 2]):
                used = max(used, planes[k, 0] * s[0] + planes[k, 1] * s[1] + planes[k, 2] * s[2])
        elif gauge is not None:
            at = state[i]
            used = gauge(kind[i, 0] - GAUGE, s[0], s[1], s[2], at[0], at[1], at[2], at[3], at[4])[0]
        left[i] = mu[i] * p[i, 0] - used
    return left


@kernel
def sizes_and_states(e_t, e_o, d, patch, slip, point, now, count):
    """(e_t, e_o, e_r) and (speed, x, y, z, time) of each contact; ones and zeros for joints."""
    e, state = np.ones((count, 3)), np.zeros((count, 5))
    for i in range(patch.size):
        e[i, 0], e[i, 1], e[i, 2] = e_t, e_o if d > 2 else 0.0, patch[i]
        state[i, 0], state[i, 4] = math.hypot(slip[i, 0], slip[i, 1]), now
        for j in range(3):
            state[i, 1 + j] = point[i, j]
    return e, state


@kernel
def sound(W, q, mu, e, state):
    """Are all of these finite, and friction and sizes not negative?"""
    good = all_finite(W) and all_finite(q) and all_finite(mu) and all_finite(e) and all_finite(state)
    for i in range(mu.size):
        good = good and mu[i] >= 0.0 and e[i, 0] >= 0.0 and e[i, 1] >= 0.0 and e[i, 2] >= 0.0
    return good


def turned(angle: Vector, W: Matrix) -> Matrix:
    """Components along and across the grain to those along t and o, four rows a contact; 1 elsewhere. As W is."""
    t, size = 4 * np.arange(angle.size) + 1, W.shape[0]
    own, above = np.ones(size), np.zeros(size - 1)
    own[t], own[t + 1], above[t] = np.cos(angle), np.cos(angle), -np.sin(angle)
    if isinstance(W, np.ndarray):
        return np.diag(own) + np.diag(above, 1) - np.diag(above, -1)
    return sparse.csr_array(sparse.diags_array([-above, own, above], offsets=[-1, 0, 1]))


@remade
@checked(static=positive, kinetic=positive, speed=positive)
def stribeck(static: float, kinetic: float, speed: float) -> FrictionMap:
    """μ = kinetic + (static - kinetic) exp(-v / speed) on the ellipsoid; used with materials whose friction is 1."""
    return by_speed("stribeck", static, kinetic, speed, smooth=True)


@remade
@checked(static=positive, kinetic=positive, speed=not_negative)
def static_kinetic(static: float, kinetic: float, speed: float = SLIP_SPEED) -> FrictionMap:
    """μ = static up to `speed`, kinetic above, on the ellipsoid; used with materials whose friction is 1."""
    return by_speed("static_kinetic", static, kinetic, speed, smooth=False)


def by_speed(owner: str, static: float, kinetic: float, speed: float, smooth: bool) -> FrictionMap:
    """The ellipsoid of a μ that falls with the speed of sliding."""
    if not kinetic <= static:
        raise InputError(f"{owner}: static is {static!r} and kinetic {kinetic!r}, expected 0 < kinetic <= static")

    def law(t: Any, o: Any, r: Any, v: Any, x: Any, y: Any, z: Any, time: Any) -> Any:
        if smooth:
            mu = kinetic + (static - kinetic) * math.exp(-v / speed)
        else:
            mu = kinetic if v > speed else static
        length = math.sqrt(t * t + o * o + r * r)
        if length == 0.0:
            return 0.0, 0.0, 0.0, 0.0
        return length / mu, t / (length * mu), o / (length * mu), r / (length * mu)

    law.__name__ = f"{owner}_law"
    return FrictionMap(law)


def sent(law: FrictionMap) -> tuple[Any, ...]:
    """How a law goes to another process: as the call that made it, or as its function, to be compiled there."""
    made = law.__dict__.get("_made_by")
    return (FrictionMap, (law.f,)) if made is None else (again, made)


copyreg.pickle(FrictionMap, sent)
