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

A scene, a system or a robot says what its other closed contacts do: one that parts lets go, one that slides is held
as it slides, one at rest sticks, or has no friction; `held` says otherwise, by its number. Limits, motors and compliant
joints of a scene act by forces that depend on the motion; they are left out, and the result says so. Over a patch of
size e_r friction has a third direction, spin, and the row of spin is multiplied by e_r: then all of the above holds as
it stands, with directions (t, o, e_r r).

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

from stickslip.checks import (
    Refused,
    as_floats,
    checked,
    is_number,
    mapping,
    not_negative,
    numbers,
    shown,
    vector,
    whole,
    wholes,
)
from stickslip.dynamics.generalized import Given, System, a_system, positive_definite
from stickslip.engine.arguments import SCENE, is_world, refuse_state
from stickslip.engine.snapshot import Snapshot, snapshot
from stickslip.errors import InputError
from stickslip.friction.stabilisation import TOUCHING
from stickslip.problems.matrix import Dense, Vector, as_dense, canonical
from stickslip.scene.scene import Scene

RANK = 1e-12  # see above
OWNER = "friction_coupling"
FIRST = 0  # the contact that is meant where none is named


def slip_direction(owner: str, field: str, value: Any) -> tuple[float, ...]:
    """A kind of argument: a direction in a tangent plane, perhaps with spin; a zero is refused at its use."""
    return numbers(owner, field, value, (1, 2, 3), "a direction (t,), (t, o) or (t, o, r)")


@dataclass(frozen=True)
@checked(direction=slip_direction, mu=not_negative)
class Sliding:
    """Another contact that slides in a direction of its tangent plane, with its kinetic friction."""

    direction: tuple[float, ...]  # of the slip velocity: (t, o), or (t,) in the plane; of any length but zero
    mu: float


How: TypeAlias = Literal["sticking", "frictionless", "open"] | Sliding  # what another contact does


@dataclass(frozen=True, eq=False)
class FrictionCone:
    """The generalized friction cone of a contact: the changes W λ of its velocity by forces with |λ_t| <= μ λ_n."""

    W: Dense  # (d, d)
    effective_mass: Dense  # (d, d)
    mu: float

    @property
    def Q(self) -> Dense:
        """The cone's quadratic form, order n, t[, o]: δuᵀ Q δu <= 0 inside. Where W is singular, on its range."""
        signs = np.diag([-(self.mu**2), *np.ones(len(self.W) - 1)])
        return self.effective_mass.T @ signs @ self.effective_mass

    @checked(count=wholes(3, 100_000))
    def surface(self, count: int = 128) -> Dense:
        """(count, d) velocity changes by unit normal impulse, sliding all the way round; in the plane (2, 2)."""
        if len(self.W) == 4:
            raise InputError("FrictionCone: the contact has spin, expected a contact at a point for a surface to draw")
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

    M: Dense  # (n, n)   mass matrix of all
    A: Dense  # (d, n)   rows of the contact
    J: Dense  # (m, n)   rows that are kept still beside it: of joints, and of other contacts
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


@checked(q=vector, v=vector)
def friction_coupling(
    M: Any,
    A: Any = None,
    bilateral: Any = None,
    held: Sequence[tuple[Any, How]] | Mapping[Any, How] | None = None,
    *,
    contact: int | Sequence[Any] = FIRST,
    q: Given = None,
    v: Given = None,
) -> FrictionCoupling:
    """Friction coupling of one contact. `M` is a world, a scene as it stands or a system or robot at (q, v), or a mass
    matrix.

    Of a world: `contact` is its number among those that touch, or the two bodies of a scene that touch at one point
    only; `held` says, by number or bodies, what others do: "sticking", "frictionless", "open" or Sliding(direction,
    mu). Those it does not mention go on as they move.

    Of a mass matrix M: `A` are the rows of the contact (n, t or n, t, o), `bilateral` those of joints, `held` other
    contacts that stay closed, each (its rows, what it does).
    """
    if is_world(M):
        if A is not None or bilateral is not None:
            raise InputError(f"{OWNER}: A and bilateral are for a mass matrix, expected none of them with a world")
        return world_coupling(snapshot(OWNER, M, q, v), contact, {} if held is None else mapping(OWNER, "held", held))
    refuse_state(OWNER, "a mass matrix", q=q, v=v, contact=None if contact is FIRST else contact)
    M = positive_definite(OWNER, "M", as_dense(canonical(OWNER, "M", M)))
    A = contact_matrix("A", A, len(M))
    G = np.zeros((0, len(M))) if bilateral is None else as_dense(canonical(OWNER, "bilateral", bilateral))
    if G.ndim != 2 or G.shape[1] != len(M):
        raise InputError(f"{OWNER}: bilateral has shape {G.shape}, expected {len(M)} columns as M has")
    pairs = [] if held is None else held
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs
    ):
        raise Refused(OWNER, "held", held, "a list of contacts, each (its rows, what it does)")
    others = [
        (f"contact held[{i}]", contact_matrix(f"held[{i}]", rows, len(M)), how) for i, (rows, how) in enumerate(pairs)
    ]
    return coupling(M, A, *kept_still(G, others))


@checked(system=a_system, q=vector, contact=whole, held=mapping, v=vector)
def system_coupling(
    system: System, q: ArrayLike, contact: int = 0, held: Mapping[int, How] | None = None, v: Given = None
) -> FrictionCoupling:
    """`friction_coupling` of a system in generalized coordinates at q."""
    return friction_coupling(system, contact=contact, held=held, q=q, v=v)


@checked(scene=SCENE, held=mapping)
def scene_coupling(
    scene: Scene, contact: int | Sequence[Any] = 0, held: Mapping[int, How] | None = None
) -> FrictionCoupling:
    """`friction_coupling` of a scene as it stands."""
    return friction_coupling(scene, contact=contact, held=held)


@checked(scene=SCENE)
def scene_contacts(scene: Scene) -> list[tuple[str, str]]:
    """The two bodies of each contact of a scene as it stands, in the order of their numbers."""
    return list(snapshot("scene_contacts", scene).pairs)


def world_coupling(now: Snapshot, contact: int | Sequence[Any], held: Mapping[Any, How]) -> FrictionCoupling:
    chosen = number_of(now, contact)
    ways = ways_of_others(now, chosen, held)
    still = [(now.names[i], scaled_rows(now, i), how) for i, how in ways.items() if how != "open"]
    let_go = tuple(f"{now.names[i]}, said to be open" for i, how in ways.items() if how == "open")
    words = "rows of joints" if now.pairs else "bilateral rows"
    C, F, said = kept_still(now.at.G, still, words)
    return coupling(now.at.M, scaled_rows(now, chosen), C, F, said, (*now.left_out, *let_go))


def scaled_rows(now: Snapshot, contact: int) -> Dense:
    """A of a contact, its row of spin in units of the patch."""
    return now.at.rows(contact) * np.concatenate([[1.0], now.sizes[contact]])[:, None]


def ways_of_others(now: Snapshot, chosen: int, held: Mapping[Any, How]) -> dict[int, How]:
    """What each other contact does, by its number; none for those that are apart, or part."""
    said = {number_of(now, other): how for other, how in held.items()}
    if chosen in said:
        raise InputError(f"{OWNER}: held has contact {chosen}, the one that is asked about; expected others")
    ways: dict[int, How] = {}
    for i in range(now.contacts):
        if i in said:
            ways[i] = said[i]
        elif i != chosen and now.at.gap[i] <= TOUCHING and now.u[i, 0] <= now.still:
            ways[i] = own_way(now, i)
    return ways


def own_way(now: Snapshot, contact: int) -> How:
    """What a closed contact does as it moves now."""
    slip = now.u[contact, 1:] * now.sizes[contact]
    if now.mu[contact] == 0:
        return "frictionless"
    if float(np.linalg.norm(slip)) <= now.still:
        return "sticking"
    return Sliding(tuple(slip), float(now.mu_kinetic[contact]))


def number_of(now: Snapshot, contact: int | Sequence[Any]) -> int:
    """The number of the contact that is meant."""
    if is_number(contact) or not now.pairs:
        if not (isinstance(contact, int | np.integer) and is_number(contact) and 0 <= contact < now.contacts):
            there = f"a number below {now.contacts}" if now.contacts else "bodies that touch, and nothing does"
            whose = "" if now.pairs or not now.contacts else f" for {now.name!r}"
            raise InputError(f"{OWNER}: contact is {shown(contact)}, expected {there}{whose}")
        return int(contact)
    if not isinstance(contact, tuple | list) or len(contact) != 2:
        raise Refused(OWNER, "contact", contact, "a number, or two bodies")
    wanted = {str(getattr(body, "name", body)) for body in contact}
    found = [i for i, pair in enumerate(now.pairs) if set(pair) == wanted]
    if len(found) != 1:
        bodies = " and ".join(map(repr, sorted(map(str, wanted))))
        many = f"at {len(found)} points, the contacts {', '.join(map(str, found))}" if found else "nowhere"
        raise InputError(f"{OWNER}: {bodies} touch {many}; expected one contact, or its number")
    return found[0]


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
    return FrictionCoupling(M, A, C, response.W, response.W_alone, projector, int(rank), held, left_out)


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


def contact_matrix(name: str, given: Any, columns: int) -> Dense:
    if given is None:
        raise InputError(f"{OWNER}: {name} is missing, expected the rows of the contact beside the mass matrix")
    A = as_dense(canonical(OWNER, name, given))
    if A.ndim != 2 or A.shape[0] not in (2, 3) or A.shape[1] != columns:
        raise InputError(
            f"{OWNER}: {name} has shape {A.shape}, expected rows n, t or n, t, o and {columns} columns as M has"
        )
    return A


def unit(direction: ArrayLike, size: int, name: str = "direction") -> Vector:
    """A direction of slip, of length 1."""
    given = vector(OWNER, name, np.atleast_1d(as_floats(OWNER, name, direction)), size)
    length = float(np.linalg.norm(given))
    if length == 0:
        raise InputError(f"{OWNER}: {name} is {given.tolist()}, expected a direction, a vector that is not zero")
    return given / length


def friction(mu: float, name: str = "mu") -> float:
    return not_negative(OWNER, name, mu, "a friction coefficient >= 0")
