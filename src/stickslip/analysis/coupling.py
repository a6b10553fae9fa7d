"""Friction coupling of one contact: how its tangential forces open or close it, and where that makes it jam [1].

A contact of a system with mass matrix M and rows A (normal first) changes its own velocity by

    δu = W λ dt,   W = A M⁻¹ Aᵀ = [a  hᵀ; h  H]          inverse effective mass                              (25)
    δu_n = (a - μ hᵀe) λ_n dt                            sliding in the unit direction e                     (38)

The off-diagonal h couples normal and tangent. Friction closes the contact, δu_n < 0, where hᵀe > a/μ: possible from

    μ_jam = a / |h|     in the direction     e_jam = h / |h|                                                 (36, 40)

on, and then in a sector of directions about e_jam as wide as the locking angle α = 2 arccos(μ_jam / μ) (41). There the
acceleration problem has no solution or two. From μ_crit = |H⁻¹h| (34) on a contact that sticks can be pushed without
starting to slide. The generalized friction cone {W λ : |λ_t| <= μ λ_n} is u Q u = 0 with Q = M_c diag(-μ², I) M_c,
M_c = W⁻¹, and dips below the tangent plane u_n = 0 where μ > μ_jam.

What else holds the system enters by elimination. With rows C kept still, C v̇ = 0, by forces Fᵀν,

    W = A K Aᵀ,   K = M⁻¹ - M⁻¹Fᵀ (C M⁻¹ Fᵀ)⁻¹ C M⁻¹                                                         (1)

F = C for joints, for a contact that sticks (all its rows) and one without friction (its normal row); for one that
slides along d with μ, C is its normal row and F that row minus μ d times its tangent rows. Then W is not symmetric: h
is its first row, what tangential forces do to the normal velocity, and the first column stands in (34). Where a held
contact slides within its own locking sector, (1) is what keeps it closed, if it stays so; the result says that it does.

Redundant rows are met by rank, counted from singular values: above RANK times the trace of A M⁻¹ Aᵀ for the contact,
above RANK for the rows that are held, each scaled so that it has a unit effective mass. Inverses are pseudo-inverses.

[1] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378; equation numbers are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.generalized import Instant, System, evaluate, positive_definite
from stickslip.errors import InputError
from stickslip.problems.matrix import Dense, Vector, as_dense, canonical, vector

RANK = 1e-12  # see above
OWNER = "friction_coupling"


@dataclass(frozen=True)
class Sliding:
    """Another contact that slides in a direction of its tangent plane, with its kinetic friction."""

    direction: tuple[float, ...]  # of the slip velocity: (t, o), or (t,) in the plane; of any length but zero
    mu: float


How: TypeAlias = Literal["sticking", "frictionless"] | Sliding  # what another contact that stays closed does


@dataclass(frozen=True, eq=False)
class FrictionCone:
    """The generalized friction cone of a contact: the changes W λ of its velocity by forces with |λ_t| <= μ λ_n."""

    W: Dense  # (d, d)
    effective_mass: Dense  # (d, d)
    mu: float

    @property
    def Q(self) -> Dense:
        """The cone's quadratic form, order n, t[, o]: δuᵀ Q δu <= 0 inside. Where W is singular, on its range."""
        signs = np.eye(len(self.W))
        signs[0, 0] = -(self.mu**2)
        return self.effective_mass.T @ signs @ self.effective_mass

    def surface(self, count: int = 128) -> Dense:
        """(count, d) velocity changes by unit normal impulse, sliding all the way round; in the plane (2, 2)."""
        if len(self.W) == 2:
            impulses = np.array([[1.0, -self.mu], [1.0, self.mu]])
        else:
            angle = np.linspace(0.0, 2 * np.pi, count)
            impulses = np.column_stack([np.ones(count), self.mu * np.cos(angle), self.mu * np.sin(angle)])
        return impulses @ self.W.T

    @property
    def lowest(self) -> float:
        """Smallest normal component of the surface: negative where the cone dips below the tangent plane."""
        return float(self.W[0, 0] - self.mu * np.linalg.norm(self.W[0, 1:]))


@dataclass(frozen=True, eq=False)
class FrictionCoupling:
    """What friction does at one contact; the letters are those of analysis/coupling.py. Order n, t[, o]."""

    W: Dense  # (d, d)   inverse effective mass, with what is held   [1/kg]
    W_alone: Dense  # (d, d)   the same with nothing held
    projector: Dense  # (n, n)   P_c: onto the velocities that forces of this contact can change
    rank: int  # of W; below d where a direction of the contact cannot move, or repeats another
    held: tuple[str, ...]  # in words: what beside the contact was kept still
    left_out: tuple[str, ...] = ()  # in words: what could act, but was not considered

    @property
    def rounding(self) -> float:
        """What in W is taken as zero   [1/kg]."""
        return RANK * float(np.trace(self.W_alone))

    @property
    def a(self) -> float:
        """Normal velocity by normal force."""
        return float(self.W[0, 0])

    @property
    def h(self) -> Vector:
        """(d - 1,) normal velocity by tangential force."""
        return self.W[0, 1:]

    @property
    def H(self) -> Dense:
        """(d - 1, d - 1) tangential velocity by tangential force."""
        return self.W[1:, 1:]

    @cached_property
    def effective_mass(self) -> Dense:
        """M_c: W⁻¹, or its pseudo-inverse where the rank is not full   [kg]."""
        return inverse_by_rank(self.W, self.rounding)[0]

    @property
    def mu_jam(self) -> float:
        """Friction from which on some slip direction jams: a / |h|, infinite without coupling, 0 where a < 0."""
        return float(mu_jam_of(self.W, self.W_alone))

    @property
    def e_jam(self) -> Vector:
        """Slip direction that jams first; zeros without coupling."""
        length = float(np.linalg.norm(self.h))
        return self.h / length if length > self.rounding else np.zeros_like(self.h)

    @property
    def mu_crit(self) -> float:
        """Friction from which on a contact that sticks cannot be made to slide by its normal force."""
        column = self.W[1:, 0]
        ratio = inverse_by_rank(self.H, self.rounding)[0] @ column
        if np.linalg.norm(self.H @ ratio - column) > math.sqrt(RANK) * np.linalg.norm(column):
            return math.inf  # no tangential force can balance the normal one
        return float(np.linalg.norm(ratio))

    def margin(self, direction: ArrayLike, mu: float) -> float:
        """a - μ hᵀe, what a unit normal force does to the normal velocity while sliding along e   [1/kg]."""
        return self.a - friction(mu) * float(self.h @ unit(direction, self.h.size))

    def jams(self, direction: ArrayLike, mu: float) -> bool:
        """Does friction close the contact when it slides this way?"""
        return self.margin(direction, mu) < 0

    def locking_angle(self, mu: float) -> float:
        """Width of the sector of slip directions that jam, in radians; 0 up to μ_jam."""
        if friction(mu) <= self.mu_jam:
            return 0.0
        reach = mu * float(np.linalg.norm(self.h))  # a = -reach: friction in no direction opens the contact
        return 2 * math.acos(self.a / reach) if self.a > -reach else 2 * math.pi

    def cone(self, mu: float) -> FrictionCone:
        """The generalized friction cone."""
        return FrictionCone(self.W, self.effective_mass, friction(mu))

    def explain(self, mu: float | None = None) -> str:
        """In words, and for a friction coefficient whether the contact can jam."""
        lines = []
        if abs(self.a) <= self.rounding:
            lines.append("The normal direction cannot move: no force at this contact changes the motion along it.")
        elif math.isinf(self.mu_jam):
            lines.append("Normal and tangential directions are not coupled: no friction makes this contact jam.")
        else:
            way = ", ".join(f"{part:.4g}" for part in self.e_jam)
            lines.append(f"Jams from mu = {self.mu_jam:.6g} on, first when it slides along ({way}) of its tangents.")
        lines.append(f"From mu = {self.mu_crit:.6g} on it stays stuck under its normal force alone.")
        if mu is not None:
            angle = math.degrees(self.locking_angle(mu))
            verdict = f"a sector of {angle:.4g} degrees jams" if angle > 0 else "no direction jams"
            lines.append(f"With mu = {mu:g} {verdict}.")
        if self.held:
            alone = float(mu_jam_of(self.W_alone, self.W_alone))
            lines.append(f"Held beside it: {', '.join(self.held)}; without them mu_jam would be {alone:.6g}.")
        if self.left_out:
            lines.append(f"Not considered: {', '.join(self.left_out)}.")
        if self.rank < len(self.W):
            lines.append(
                f"Its {len(self.W)} components span {self.rank}: some direction cannot move or repeats another."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        held = f", held={self.held}" if self.held else ""
        return f"FrictionCoupling(mu_jam={self.mu_jam:.6g}, mu_crit={self.mu_crit:.6g}, rank={self.rank}{held})"


def friction_coupling(M: Any, A: Any, bilateral: Any = None, held: Sequence[tuple[Any, How]] = ()) -> FrictionCoupling:
    """Friction coupling of the contact with rows A (n, t or n, t, o) in a system with mass matrix M.

    `bilateral`: rows of joints. `held`: other contacts that stay closed, each (its rows, "sticking", "frictionless" or
    Sliding(direction, mu)).
    """
    M = positive_definite(OWNER, "M", as_dense(canonical(OWNER, "M", M)))
    A = contact_matrix("A", A, len(M))
    G = np.zeros((0, len(M))) if bilateral is None else as_dense(canonical(OWNER, "bilateral", bilateral))
    if G.ndim != 2 or G.shape[1] != len(M):
        raise InputError(f"{OWNER}: bilateral has shape {G.shape}, expected {len(M)} columns as M has")
    names = [f"held[{i}]" for i in range(len(held))]
    others = [
        (f"contact {name}", contact_matrix(name, rows, len(M)), how)
        for name, (rows, how) in zip(names, held, strict=True)
    ]
    return coupling(M, A, *kept_still(G, others))


def system_coupling(
    system: System, q: ArrayLike, contact: int = 0, held: Mapping[int, How] | None = None
) -> FrictionCoupling:
    """Friction coupling of one contact point of a system in generalized coordinates at q.

    Its constraints hold. Its other contact points are open unless `held` says what they do, by their number.
    """
    at = evaluate(system, q)
    C, F, words = holders(system, at, contact, held or {})
    return coupling(at.M, at.rows(contact), C, F, words)


def holders(system: System, at: Instant, contact: int, held: Mapping[int, How]) -> tuple[Dense, Dense, tuple[str, ...]]:
    """What is kept still beside one contact of a system: the rows C, the force rows F, and the same in words."""
    check_contacts(system, contact, held)
    return kept_still(at.G, ((f"contact {system.contacts[i].name!r}", at.rows(i), how) for i, how in held.items()))


def kept_still(
    G: Dense, others: Iterable[tuple[str, Dense, How]], rows_of: str = "bilateral rows"
) -> tuple[Dense, Dense, tuple[str, ...]]:
    """Rows C and F of (1), and the same in words: those of joints, G, and of other contacts that stay closed, each by
    its name, its rows and what it does."""
    C, F, words = [G], [G], [f"{len(G)} {rows_of}"] if len(G) else []
    for name, rows, how in others:
        still, force, said = held_rows(name, rows, how)
        C.append(still)
        F.append(force)
        words.append(f"{name} {said}")
    return np.vstack(C), np.vstack(F), tuple(words)


def held_rows(name: str, rows: Dense, how: How) -> tuple[Dense, Dense, str]:
    """Rows C and F of (1) of a contact that stays closed, and what it does in words."""
    if isinstance(how, Sliding):
        direction = unit(how.direction, len(rows) - 1, f"{name} direction")
        force = rows[:1] - friction(how.mu, f"{name} mu") * (direction @ rows[1:])
        way = ", ".join(f"{part:.4g}" for part in direction)
        return rows[:1], force, f"sliding along ({way}) with mu = {how.mu:g}"
    if how == "sticking":
        return rows, rows, how
    if how == "frictionless":
        return rows[:1], rows[:1], how
    raise InputError(f"{OWNER}: {name} is {how!r}, expected 'sticking', 'frictionless' or Sliding(direction, mu)")


def coupling(
    M: Dense, A: Dense, C: Dense, F: Dense, held: tuple[str, ...], left_out: tuple[str, ...] = ()
) -> FrictionCoupling:
    """From arrays that are checked."""
    response = effective(M, A, C, F)
    if (response.rank < response.rank_of_rows).any():
        raise InputError(f"{OWNER}: held contacts are at their own jamming limit, expected less friction there")
    if ((C * np.linalg.solve(M, F.T).T).sum(axis=1) < 0).any():
        held = (*held, "of which one slides within its own locking sector")
    M_c, rank = inverse_by_rank(response.W, RANK * np.trace(response.W_alone))
    projector = response.K @ A.T @ M_c @ A
    return FrictionCoupling(response.W, response.W_alone, projector, int(rank), held, left_out)


class Effective(NamedTuple):
    """(1), for one pose or a stack of them."""

    W: Dense  # (..., d, d)
    W_alone: Dense  # (..., d, d)
    K: Dense  # (..., n, n)
    rank: Any  # (...)   of C M⁻¹ Fᵀ
    rank_of_rows: Any  # (...)   of C M⁻¹ Cᵀ; that of C M⁻¹ Fᵀ is below it where contacts that slide are about to jam


def effective(M: Dense, A: Dense, C: Dense, F: Dense) -> Effective:
    """The inverse effective mass of (1), with leading axes for a stack of poses."""
    K = np.linalg.inv(M)
    K = (K + K.swapaxes(-1, -2)) / 2
    W_alone = A @ K @ A.swapaxes(-1, -2)
    if C.shape[-2] == 0:
        none = np.zeros(W_alone.shape[:-2], int)
        return Effective(W_alone, W_alone, K, none, none)
    Y = K @ F.swapaxes(-1, -2)
    S, R = C @ Y, C @ K @ C.swapaxes(-1, -2)
    scale = 1 / np.sqrt(np.where(np.diagonal(R, axis1=-2, axis2=-1) > 0, np.diagonal(R, axis1=-2, axis2=-1), 1.0))
    inverse, rank = scaled_inverse(S, scale)
    _, rank_of_rows = scaled_inverse(R, scale)
    K = K - Y @ inverse @ C @ K
    return Effective(A @ K @ A.swapaxes(-1, -2), W_alone, K, rank, rank_of_rows)


def scaled_inverse(S: Dense, scale: Vector) -> tuple[Dense, Any]:
    """Pseudo-inverse and rank in the given scale of rows and columns."""
    both = scale[..., :, None] * scale[..., None, :]
    inverse, rank = inverse_by_rank(S * both, np.full(S.shape[:-2], RANK))
    return inverse * both, rank


def inverse_by_rank(W: Dense, floor: Any) -> tuple[Dense, Any]:
    """Pseudo-inverse and rank, singular values up to `floor` taken as zero. Leading axes are a stack."""
    U, s, Vt = np.linalg.svd(W)
    kept = s > np.asarray(floor)[..., None]
    inverse = np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)
    return (Vt.swapaxes(-1, -2) * inverse[..., None, :]) @ U.swapaxes(-1, -2), kept.sum(axis=-1)


def mu_jam_of(W: Dense, W_alone: Dense) -> Any:
    """μ_jam = a / |h| of inverse effective masses (..., d, d); what is below RANK of W_alone's trace is rounding."""
    a, coupling = W[..., 0, 0], np.linalg.norm(W[..., 0, 1:], axis=-1)
    floor = RANK * np.trace(W_alone, axis1=-2, axis2=-1)
    coupled = coupling > floor
    mu = np.where(coupled, np.maximum(a, 0.0) / np.where(coupled, coupling, 1.0), np.inf)
    return np.where(a < -floor, 0.0, mu)


# what is given


def check_contacts(system: System, contact: int, held: Mapping[int, How]) -> None:
    """Are there such contact points, and others than the one that is asked about held?"""
    count = len(system.contacts)
    for number in (contact, *held):
        if not (isinstance(number, int) and 0 <= number < count):
            raise InputError(f"{OWNER}: contact is {number!r}, expected a number below {count} for {system.name!r}")
    if contact in held:
        raise InputError(f"{OWNER}: held has contact {contact}, the one that is asked about; expected others")


def contact_matrix(name: str, given: Any, columns: int) -> Dense:
    A = as_dense(canonical(OWNER, name, given))
    if A.ndim != 2 or A.shape[0] not in (2, 3) or A.shape[1] != columns:
        raise InputError(
            f"{OWNER}: {name} has shape {A.shape}, expected rows n, t or n, t, o and {columns} columns as M has"
        )
    return A


def unit(direction: ArrayLike, size: int, name: str = "direction") -> Vector:
    """A direction of slip, of length 1."""
    given = vector(OWNER, name, np.atleast_1d(np.asarray(direction, float)), size)
    length = float(np.linalg.norm(given))
    if length == 0:
        raise InputError(f"{OWNER}: {name} is {given.tolist()}, expected a direction, a vector that is not zero")
    return given / length


def friction(mu: float, name: str = "mu") -> float:
    if not (isinstance(mu, int | float | np.floating) and math.isfinite(mu) and mu >= 0):
        raise InputError(f"{OWNER}: {name} is {mu!r}, expected a friction coefficient >= 0")
    return float(mu)
