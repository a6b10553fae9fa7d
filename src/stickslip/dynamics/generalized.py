"""Mechanical systems in generalized coordinates: q, M(q), bias, and the points that may touch a surface.

    q̇ = N(q) v                                   velocities need not be the rates of coordinates               (1)
    M(q) v̇ + c(q, v) = f + Aᵀ(q) λ + Gᵀ(q) ν     bias c with gravity in it, applied forces f                   (2)
    u = A(q) v + w,    u̇ = A v̇ + Ȧ v + ẇ        contact velocities: normal, tangent[, other tangent]          (3)
    G(q) v + ∂g/∂t = 0                           bilateral constraints, g(q, t) = 0                            (4)

Surfaces that move by themselves, a belt, a shaking table, add w to the velocity of a contact; w_n is ∂/∂t of the gap.
Then gap, rows, w and drift are functions of time too, and so are the rows and the error of a constraint with a rate.

`System` is what others ask of such a system, `GeneralizedSystem` makes one of a user's own functions, and
dynamics/pinocchio.py one of a robot description. `evaluate` asks all of it at one state, checked, as an `Instant`.

Where a system does not say Ȧ v + ẇ, it is the central difference of A v + w along the motion, from q± = q moved by ±ε v
at the times t ± ε; its error is of order ε² |v|², and ε is chosen so that the motion is 1e-5 in size, and ε at most
1e-5 where something moves by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import linalg

from stickslip.checks import (
    Refused,
    bound,
    checked,
    count,
    either,
    function,
    instance,
    not_negative,
    number,
    text,
    tuple_of,
    vector,
)
from stickslip.errors import InputError
from stickslip.problems.matrix import Dense, Vector, canonical
from stickslip.remade import Remade
from stickslip.scene.friction_law import FrictionLaw
from stickslip.scene.materials import STIFFNESS, check_damper, coefficient

Given: TypeAlias = Any  # what a user's function returns: an array, or nested lists
DIFFERENCE = 1e-5  # largest change of a velocity coordinate in the central difference of A: error about 1e-10
SYMMETRY = 1e-10  # of M, relative to its largest entry

friction_of = either(instance(FrictionLaw), not_negative, expected="a number >= 0, or a FrictionLaw")


@dataclass(frozen=True, eq=False)
@checked(
    gap=function,
    rows=function,
    friction=friction_of,
    drift=function,
    name=text,
    stiffness=bound,
    stiffness_tangent=bound,
    spin=function,
    place=function,
    surface_velocity=function,
    **dict.fromkeys(("friction_kinetic", "restitution", "damping", "damping_tangent", "patch", "surface"), coefficient),
)
class ContactPoint:
    """A point of the system that may touch a surface, at rest or, with `surface_velocity`, moving by itself."""

    gap: Callable[..., float]  # of q, or (q, t) with a surface velocity: distance, negative inside   [m]
    rows: Callable[..., Given]  # A(q), or A(q, t): (2, n) or (3, n), rows normal, tangent[, other tangent]
    friction: float | FrictionLaw = 0.0  # static   [-]
    friction_kinetic: float | None = None  # where None, the static one
    restitution: float = 0.0  # [-]
    drift: Callable[..., Given] | None = None  # Ȧ v of (q, v), or Ȧ v + ẇ of (q, v, t); None: by central difference
    name: str = "contact"
    stiffness: float = math.inf  # along the normal; inf is rigid   [N/m]
    damping: float = 0.0  # along the normal   [N s/m]
    stiffness_tangent: float = math.inf  # [N/m]
    damping_tangent: float = 0.0  # [N s/m]
    patch: float = 0.0  # e_r of friction/limit_surface.py; 0 is a point   [m]
    surface: Any = None  # the friction set of distributed contacts; None is the run's
    spin: Callable[[Vector], Given] | None = None  # (n,): angular velocity about the normal from v; a patch needs it
    place: Callable[[Vector], Given] | None = None  # (3,), where the contact is, for friction by its place; else 0
    surface_velocity: Callable[[Vector, float], Given] | None = None  # w(q, t) of a surface that moves, as rows are

    @property
    def moving(self) -> bool:
        """Whether its functions are functions of time."""
        return self.surface_velocity is not None

    def velocity_rows(self, q: Vector, t: float) -> tuple[Given, Given]:
        """A and w of (3); w is None at a surface that is at rest."""
        return (self.rows(q), None) if self.surface_velocity is None else (self.rows(q, t), self.surface_velocity(q, t))

    def __post_init__(self) -> None:
        owner = f"ContactPoint {self.name!r}"
        STIFFNESS(owner, "stiffness", self.stiffness)
        check_damper(owner, self.stiffness_tangent, self.damping_tangent)
        if isinstance(self.friction, FrictionLaw) and self.friction_kinetic is not None:
            raise InputError(f"{owner}: friction_kinetic is given beside a FrictionLaw, expected None")
        static = self.friction.at_rest if isinstance(self.friction, FrictionLaw) else self.friction
        kinetic = static if self.friction_kinetic is None else self.friction_kinetic
        object.__setattr__(self, "friction_kinetic", kinetic)


@dataclass(frozen=True, eq=False)
@checked(rows=function, error=function, drift=function, rate=function)
class Constraint:
    """Bilateral constraints, G(q) v = 0, or with a `rate` G(q, t) v + ∂g/∂t = 0: then all functions are of time too."""

    rows: Callable[..., Given]  # G(q), or G(q, t): (m, n)
    error: Callable[..., Given] | None = None  # (m,) g, which should be zero; where None, nothing is taken back
    drift: Callable[..., Given] | None = None  # Ġ v of (q, v), or d/dt of the row of (q, v, t); None: by difference
    rate: Callable[[Vector, float], Given] | None = None  # ∂g/∂t (m,) where g is a function of time

    @property
    def moving(self) -> bool:
        """Whether its functions are functions of time."""
        return self.rate is not None

    def velocity_rows(self, q: Vector, t: float) -> tuple[Given, Given]:
        """G and ∂g/∂t of (4); the latter is None where g is no function of time."""
        return (self.rows(q), None) if self.rate is None else (self.rows(q, t), self.rate(q, t))

    def error_at(self, q: Vector, t: float) -> Given:
        """g, where there is one to ask."""
        assert self.error is not None
        return self.error(q, t) if self.moving else self.error(q)


class System(Protocol):
    """What a system in generalized coordinates must answer."""

    @property
    def name(self) -> str: ...

    @property
    def coordinates(self) -> int:
        """p, of q."""

    @property
    def velocities(self) -> int:
        """n, of v."""

    @property
    def contacts(self) -> tuple[ContactPoint, ...]: ...

    @property
    def constraint(self) -> Constraint | None: ...

    def mass(self, q: Vector) -> Given:
        """M (n, n)."""

    def bias(self, q: Vector, v: Vector) -> Given:
        """c (n,), gravity included."""

    def velocity_map(self, q: Vector) -> Given:
        """N (p, n)."""

    def moved(self, q: Vector, displacement: Vector) -> Vector:
        """q after a small motion, (n,) as velocities are."""


def is_system(given: object) -> bool:
    """Does this answer what a System must?"""
    asked = ("name", "coordinates", "velocities", "contacts", "constraint", "mass", "bias", "velocity_map", "moved")
    return not isinstance(given, type) and all(hasattr(given, name) for name in asked)


def a_system(owner: str, field: str, value: Any) -> Any:
    """A kind of argument."""
    if not is_system(value):
        raise Refused(owner, field, value, "a System, such as a GeneralizedSystem or a Robot")
    return value


@dataclass(frozen=True, eq=False)
@checked(
    velocities=count,
    mass=function,
    bias=function,
    contacts=tuple_of(instance(ContactPoint)),
    constraint=instance(Constraint),
    map_velocity=function,
    coordinates=count,
    name=text,
)
class GeneralizedSystem(Remade):
    """A system made of functions. q̇ = v unless `map_velocity` gives N(q), and then `coordinates` is its height."""

    velocities: int
    mass: Callable[[Vector], Given]
    bias: Callable[[Vector, Vector], Given]
    contacts: tuple[ContactPoint, ...] = ()
    constraint: Constraint | None = None
    map_velocity: Callable[[Vector], Given] | None = None
    coordinates: int = -1  # where -1, as many as velocities
    name: str = "system"

    def __post_init__(self) -> None:
        if self.coordinates == -1:
            object.__setattr__(self, "coordinates", self.velocities)
        if self.coordinates != self.velocities and self.map_velocity is None:
            raise InputError(
                f"GeneralizedSystem: coordinates is {self.coordinates} and velocities {self.velocities}, "
                f"expected a function map_velocity for N(q)"
            )

    def velocity_map(self, q: Vector) -> Given:
        return np.eye(self.velocities) if self.map_velocity is None else self.map_velocity(q)

    def moved(self, q: Vector, displacement: Vector) -> Vector:
        if self.map_velocity is None:
            return q + displacement
        return q + np.asarray(self.map_velocity(q)) @ displacement


@dataclass(frozen=True, eq=False)
class Found:
    """What the contacts of an instant are like where they come and go, as those of shapes do: one entry for each."""

    names: tuple[str, ...]
    mu: Vector  # (nc,)   friction
    restitution: Vector  # (nc,)
    patch: Vector  # (nc,)   e_r, 0 is a point   [m]
    place: Dense  # (nc, 3)   [m]
    spin: Dense  # (nc, n)   rows of the angular velocity about the normal
    others: tuple[str, ...] = ()  # limits and dry friction that may act now, in words


@dataclass(frozen=True, eq=False)
class Instant:
    """A system at one state, checked: the matrices of (2) to (4). Rows of A are n, t[, o], contact after contact."""

    q: Vector  # (p,)
    v: Vector  # (n,)
    M: Dense  # (n, n)
    bias: Vector  # (n,)
    A: Dense  # (d nc, n)
    drift: Vector  # (d nc,)   Ȧ v + ẇ   [m/s²]
    gap: Vector  # (nc,)
    G: Dense  # (m, n)
    constraint_error: Vector  # (m,)
    constraint_drift: Vector  # (m,)   Ġ v + d/dt ∂g/∂t
    w: Vector  # (d nc,)   velocity of surfaces that move by themselves   [m/s]
    constraint_rate: Vector  # (m,)   ∂g/∂t
    time: float = 0.0  # [s]
    found: Found | None = None  # contacts that are not those of `system.contacts`

    @property
    def u(self) -> Vector:
        """(d nc,) velocities of the contacts, A v + w."""
        return self.A @ self.v + self.w

    @property
    def dimension(self) -> int:
        """2 or 3 components a contact."""
        return len(self.A) // self.gap.size if self.gap.size else 3

    def rows(self, contact: int) -> Dense:
        """A of one contact."""
        return self.A[self.dimension * contact : self.dimension * (contact + 1)]

    def contact_acceleration(self, force: Vector | float = 0.0) -> Vector:
        """u̇ without contact and constraint forces, A M⁻¹(f - c) + Ȧ v + ẇ, (d nc,)."""
        return self.A @ linalg.solve(self.M, force - self.bias, assume_a="pos") + self.drift


def evaluate(system: System, q: Given, v: Given = None, time: float = 0.0) -> Instant:
    """All that a system says at (q, v) and a time; at rest where no v is given."""
    name, n = system.name, system.velocities
    q = vector(name, "q", q, system.coordinates)
    v = np.zeros(n) if v is None else vector(name, "v", v, n)
    if hasattr(system, "instant"):  # of a system whose contacts come and go
        return system.instant(q, v, time)
    rows = [contact_rows(system, i, q, time) for i in range(len(system.contacts))]
    if len({len(A) for A, _ in rows}) > 1:
        sizes = ", ".join(str(len(A)) for A, _ in rows)
        raise InputError(f"{name}: contacts have {sizes} rows, expected 2 for all (planar) or 3 for all")
    drift = [
        difference_or(system, f"drift of contact {i}", contact, q, v, time, len(rows[i][0]))
        for i, contact in enumerate(system.contacts)
    ]
    held, G = system.constraint, np.zeros((0, n))
    rate = error = along = np.zeros(0)
    if held is not None:
        G, rate = constraint_rows(system, held, q, time)
        said = np.zeros(len(G)) if held.error is None else held.error_at(q, time)
        error = vector(name, "constraint error", said, len(G))
        along = difference_or(system, "constraint drift", held, q, v, time, len(G))
    return Instant(
        q=q,
        v=v,
        M=positive_definite(name, "M", system.mass(q), n),
        bias=vector(name, "bias", system.bias(q, v), n),
        A=np.vstack([A for A, _ in rows]) if rows else np.zeros((0, n)),
        drift=np.concatenate(drift) if drift else np.zeros(0),
        gap=np.array([gap_of(contact, q, time) for contact in system.contacts], np.float64),
        G=G,
        constraint_error=error,
        constraint_drift=along,
        w=np.concatenate([w for _, w in rows]) if rows else np.zeros(0),
        constraint_rate=rate,
        time=time,
    )


def gap_of(contact: ContactPoint, q: Vector, time: float) -> float:
    given: Any = contact.gap(q, time) if contact.moving else contact.gap(q)
    if isinstance(given, np.ndarray) and given.size == 1:
        given = given.item()
    return number(f"contact {contact.name!r}", "gap", given)


def contact_rows(system: System, contact: int, q: Vector, time: float) -> tuple[Dense, Vector]:
    """A and w of one contact, checked."""
    names = f"A of contact {contact}", f"surface of contact {contact}"
    return checked_rows(system, system.contacts[contact], q, time, *names)


def constraint_rows(system: System, held: Constraint, q: Vector, time: float) -> tuple[Dense, Vector]:
    """G and ∂g/∂t, checked."""
    return checked_rows(system, held, q, time, "G", "constraint rate")


def checked_rows(
    system: System, of: ContactPoint | Constraint, q: Vector, time: float, name: str, of_itself: str
) -> tuple[Dense, Vector]:
    """Rows, and the velocity that they have by themselves, by the names that errors call them."""
    given, moves = of.velocity_rows(q, time)
    A = canonical(system.name, name, given)
    point = isinstance(of, ContactPoint)
    if A.ndim != 2 or A.shape[1] != system.velocities or (point and len(A) not in (2, 3)):
        rows = "rows n, t or n, t, o and " if point else ""
        raise InputError(
            f"{system.name}: {name} has shape {A.shape}, expected {rows}{system.velocities} columns, one for each "
            "velocity"
        )
    return A, np.zeros(len(A)) if moves is None else vector(system.name, of_itself, moves, len(A))


def difference_or(
    system: System, what: str, rows: ContactPoint | Constraint, q: Vector, v: Vector, time: float, count: int
) -> Vector:
    """Ȧ v + ẇ of so many rows, as the user's function says, or by the central difference along the motion."""
    if rows.drift is not None:
        given = rows.drift(q, v, time) if rows.moving else rows.drift(q, v)
        return vector(system.name, what, given, count)
    speed = float(np.abs(v).max())
    if speed == 0 and not rows.moving:
        return np.zeros(count)
    e = DIFFERENCE / max(speed, 1.0) if rows.moving else DIFFERENCE / speed

    def velocity(s: float) -> Vector:
        names = f"the matrix for the {what}", f"surface for the {what}"
        A, w = checked_rows(system, rows, system.moved(q, s * v), time + s, *names)
        return A @ v + w

    return vector(system.name, what, (velocity(e) - velocity(-e)) / (2 * e))


def positive_definite(owner: str, name: str, given: Given, size: int | None = None) -> Dense:
    """A symmetric positive definite matrix, or the error that says why not."""
    M = canonical(owner, name, given)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or (size is not None and M.shape[0] != size):
        expected = "a square matrix" if size is None else f"({size}, {size})"
        raise InputError(f"{owner}: {name} has shape {M.shape}, expected {expected}")
    skew = float(np.abs(M - M.T).max(initial=0.0))
    if skew > SYMMETRY * float(np.abs(M).max(initial=0.0)):
        raise InputError(f"{owner}: {name} differs from its transpose by {skew:.3g}, expected a symmetric matrix")
    try:
        linalg.cholesky(M)
    except linalg.LinAlgError:
        least = float(linalg.eigvalsh(M)[0])
        raise InputError(
            f"{owner}: {name} has the eigenvalue {least:.3g}, expected a positive definite matrix"
        ) from None
    return M
