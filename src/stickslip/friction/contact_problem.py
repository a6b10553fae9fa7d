"""The waist: one step of a mechanical system in contact, with no body in sight.

    M v⁺ = f + H p + G λ          momentum after the step: f = M v + h (applied and gyroscopic forces)         (1)
    u    = Hᵀ v⁺ + w              velocities of the contacts, w the part that moving surfaces add              (2)
    g    = Gᵀ v⁺ + Σ λ + b        velocities of the joint rows, Σ their compliance                             (3)
    lower <= λ <= upper,  g = 0 inside, >= 0 at the lower and <= 0 at the upper bound                          (4)

Impulses p of a contact are (normal, tangent[, other tangent[, spin]]) and obey the contact law of a formulation; λ are
impulses of joints: a row without bounds is a bilateral constraint, [0, ∞) a limit, [-a, a] a motor with its strength.
Everything above (bodies, shapes, mechanisms) ends in one of these; everything below starts from one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stickslip.checks import Refused, checked, instance, number, positive, vector
from stickslip.errors import InputError
from stickslip.friction.elimination import Response, inverse_of, respond
from stickslip.problems.friction_sets import FrictionSet
from stickslip.problems.matrix import Frozen, Matrix, Vector, canonical, not_negative, square

MATERIAL = {
    **dict.fromkeys(("restitution", "damping", "damping_tangent", "patch"), 0.0),
    **dict.fromkeys(("stiffness", "stiffness_tangent"), np.inf),
}  # what a contact's surfaces are like, beside friction, and what they are where nothing is said

Filled: TypeAlias = Any  # an array; what is left out, or None, is filled with its default


class Impulses(NamedTuple):
    """What a formulation finds: the impulses of a step."""

    p: Vector  # (d nc,)   of contacts   [N s]
    joints: Vector  # (nj,)   λ of joint rows   [N s, N m s]


@dataclass(frozen=True, eq=False)
@checked(h=positive, time=number)
class ContactProblem(Frozen):
    """One step of size h, equations (1) to (4) of friction/contact_problem.py."""

    h: float  # step   [s]
    M: Matrix  # (nv, nv)        mass, symmetric, dense or sparse as given   [kg, kg m²]
    f: Vector  # (nv,)           momentum without contacts and joints at the end of the step   [N s]
    v: Vector  # (nv,)           velocity at its start   [m/s]
    H: Matrix  # (nv, d nc)      contact impulses to generalized impulses
    mu: Vector  # (nc,)          static friction   [-]
    mu_kinetic: Filled = None  # (nc,)    where None, that of mu
    w: Filled = None  # (d nc,)     surface velocity   [m/s]
    gap: Filled = None  # (nc,)     at the start, negative where they overlap   [m]
    restitution: Filled = None  # (nc,)   [-]
    stiffness: Filled = None  # (nc,)   normal, inf where rigid   [N/m]
    damping: Filled = None  # (nc,)   normal   [N s/m]
    stiffness_tangent: Filled = None  # (nc,)   [N/m]
    damping_tangent: Filled = None  # (nc,)   [N s/m]
    previous: Filled = None  # (d nc,)   impulses of the step before, 0 for a new contact   [N s]
    patch: Filled = None  # (nc,)   e_r of friction/limit_surface.py   [m]
    grain: Filled = None  # (nc,)   angle of the axes of anisotropic friction, from the tangent to the other   [rad]
    point: Filled = None  # (3 nc,)   where the contacts are   [m]
    time: float = 0.0  # at the start   [s]
    surface: Any = ()  # (nc,)   friction sets of problems/friction_sets.py, None where a contact has none of its own
    G: Filled = None  # (nv, nj)   joint impulses to generalized impulses
    b: Filled = None  # (nj,)   velocity the rows ask for, with the opposite sign   [m/s, rad/s]
    compliance: Filled = None  # (nj,)   Σ, 0 where rigid
    lower: Filled = None  # (nj,)   of λ   [N s]
    upper: Filled = None  # (nj,)

    def __post_init__(self) -> None:
        rows = self._set("M", square("ContactProblem", "M", self.M)).shape[0]
        for name in ("f", "v"):
            self._set(name, vector("ContactProblem", name, getattr(self, name), rows))
        contacts = self._set("mu", coefficient("mu", self.mu)).size
        H = self._set("H", jacobian("H", self.H, rows))
        if H.shape[1] not in (2 * contacts, 3 * contacts, 4 * contacts):
            raise InputError(
                f"ContactProblem: H has {H.shape[1]} columns and mu {contacts} entries, expected 2, 3 or 4 columns for "
                "each contact"
            )
        self._set("mu_kinetic", coefficient("mu_kinetic", self.mu_kinetic, contacts, self.mu))
        for name, missing in (*MATERIAL.items(), ("gap", 0.0), ("grain", 0.0)):
            self._fill(name, contacts, missing)
        for name, count in (("w", H.shape[1]), ("previous", H.shape[1]), ("point", 3 * contacts)):
            self._fill(name, count, 0.0)
        self._set("surface", friction_sets(self.surface, contacts))
        self._set("G", jacobian("G", np.zeros((rows, 0)) if self.G is None else self.G, rows))
        for name, missing in (("b", 0.0), ("compliance", 0.0), ("lower", -np.inf), ("upper", np.inf)):
            self._fill(name, self.G.shape[1], missing)

    def _set(self, name: str, value: Any) -> Any:
        self.hold(**{name: value})
        return value

    def _fill(self, name: str, count: int, missing: float) -> None:
        given = getattr(self, name)
        value = np.full(count, missing) if given is None else given
        values = self._set(name, vector("ContactProblem", name, value, count, infinite=math.isinf(missing)))
        if name in MATERIAL or name == "compliance":
            not_negative("ContactProblem", name, values, "a number")

    @property
    def contacts(self) -> int:
        return self.mu.size

    @property
    def dimension(self) -> int:
        """2 or 3 components a contact, 4 with spin."""
        return self.H.shape[1] // self.mu.size if self.mu.size else 3

    @cached_property
    def inverse(self) -> Matrix:
        """M⁻¹, block by block."""
        return inverse_of(self.M)

    def inverse_mass(self, momentum: Vector) -> Vector:
        """M⁻¹ times a momentum."""
        return self.inverse @ vector("ContactProblem", "momentum", momentum, self.f.size)

    @checked(impulses=instance(Impulses))
    def velocity_after(self, impulses: Impulses) -> Vector:
        """v⁺ of (1)."""
        return self.inverse_mass(self.f + self.H @ impulses.p + self.G @ impulses.joints)

    @cached_property
    def start_velocity(self) -> Vector:
        """u at the start of the step, (d nc,)."""
        return self.H.T @ self.v + self.w

    @cached_property
    def response(self) -> Response:
        """How contacts and bounded joint rows answer to impulses, with the bilateral rows eliminated."""
        return respond(self)

    def __repr__(self) -> str:
        joints = f", joint_rows={self.G.shape[1]}" if self.G is not None and self.G.shape[1] else ""
        return f"ContactProblem(contacts={self.contacts}, dimension={self.dimension}, h={self.h:g}{joints})"


def coefficient(name: str, given: Any, count: int | None = None, missing: Filled = None) -> Vector:
    values = vector("ContactProblem", name, missing if given is None else given, count)
    not_negative("ContactProblem", name, values, "a friction coefficient")
    return values


def jacobian(name: str, given: Any, rows: int) -> Matrix:
    matrix = canonical("ContactProblem", name, given)
    if matrix.ndim != 2 or matrix.shape[0] != rows:
        raise InputError(
            f"ContactProblem: {name} has shape {matrix.shape}, expected a matrix with {rows} rows as M has"
        )
    return matrix


def friction_sets(given: Any, contacts: int) -> tuple[FrictionSet | None, ...]:
    """One friction set a contact, or None where it has none of its own; () where none has."""
    if not isinstance(given, tuple | list):
        raise Refused("ContactProblem", "surface", given, "a list of friction sets, one for each contact")
    sets = tuple(given)
    if sets and len(sets) != contacts:
        raise InputError(f"ContactProblem: surface has {len(sets)} entries, expected {contacts}, one for each contact")
    for each in sets:
        if each is not None and not isinstance(each, FrictionSet):
            raise InputError(
                f"ContactProblem: surface has {each!r}, expected Ellipsoid(), Mixed(), Polyhedron(…), FrictionMap(f) "
                "or None"
            )
    return sets if any(each is not None for each in sets) else ()
