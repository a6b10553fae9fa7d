"""The matrices that the papers print, by their names, for any scene, system or robot.

Trinkle's final formulation [1], page 11, with n_d directions d_j at the angles offset + 2π j / n_d of a tangent plane:

    0 <= (p_n, p_f, s)  ⊥  [ G_nᵀM⁻¹G_n  G_nᵀM⁻¹G_f  0 ]  (p_n)   [ G_nᵀ v* + ψ/h + ∂ψ/∂t ]
                           [ G_fᵀM⁻¹G_n  G_fᵀM⁻¹G_f  E ]  (p_f) + [ G_fᵀ v* + w_f         ]  >= 0                 (1)
                           [ U           -Eᵀ         0 ]  ( s )   [ 0                    ]

v* = M⁻¹ f is the velocity at the end of the step without contacts. Tangential motion of surfaces, w_f, is not in the
notes. Joints are not either: their rows G_b are met by λ_b = -S⁺ (G_bᵀ v + b), S = G_bᵀ M⁻¹ G_b, so that M⁻¹ becomes
K = M⁻¹ - M⁻¹ G_b S⁺ G_bᵀ M⁻¹ and v* the velocity that keeps to them.

Peiret, Kövecses and Font-Llagunes 2017 [2], with v not yet eliminated, the unknowns (v, hλ_b, hλ_t, hλ_n, w_up, w_lo):

    [ M    -J_bᵀ  -J_tᵀ  -J_nᵀ   0    0 ]
    [ J_b   ε_b    0      0      0    0 ]
    [ J_t   0      ε_t    0     -E    E ]        (35) where ε = 0, else (39)                                       (2)
    [ J_n   0      0      ε_n    0    0 ]
    [ 0     0      Eᵀ     μ      0    ρ ]
    [ 0     0     -Eᵀ     μ      ρ    0 ]

A contact that slides has the rows of J_t along and across its slip, E_i = I, and μ_i = (μ, 0), (34); with relaxation
μ_i = (μ, μ) and across ε_l of (43), with the normal impulse of the step before. Which contacts there are, and what
their springs and bristles are, is up to the formulation Phantom.

Trinkle and Pang [3], forces c = (c_n, c_t, c_o, c_r) contact by contact, J their map to generalized forces:

    a = A c + b,     A = Jᵀ M⁻¹ J,     b = Jᵀ M⁻¹ (f - c_bias) + d/dt(Jᵀ) v                                        (3)

R the contacts that roll, v_t = v_o = v_r = 0, and N those that slide. At velocity level, with a step, a are the
velocities at its end, c the impulses, b the velocities without contacts, and all contacts roll.

A, M_c, H, h, a of Peiret 2019 are fields of `friction_coupling`.

[1] Trinkle, Add Coulomb friction, lecture notes, 2018.
[2] Peiret, Kövecses, Font-Llagunes, A friction model for non-singular complementarity formulations for multibody
    systems with contacts, DETC2017-67988 (printed errors corrected, docs/peiret2017.md).
[3] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from stickslip.checks import checked, instance, not_negative, vector
from stickslip.dynamics.constrained import drift, response
from stickslip.dynamics.generalized import Given
from stickslip.engine.arguments import seconds
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.snapshot import Snapshot, World, closed, friction_sizes, slips, snapshot
from stickslip.engine.step_problem import named_problem
from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows, contact_terms
from stickslip.friction.bounded import lateral_relaxation
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.directions import axes, polyhedral_directions, sliding_axis
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.phantom import Phantom
from stickslip.friction.polyhedral import AXES, DIRECTIONS, angle
from stickslip.friction.stabilisation import RELAXATION, Relaxation
from stickslip.friction.terms import LawNumbers
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector, as_dense
from stickslip.problems.mixed import MixedLCP
from stickslip.scene.scene import Scene

# Trinkle 2018


@dataclass(frozen=True, eq=False)
class TrinkleMatrices:
    """(1): nc contacts, n_d directions each."""

    names: tuple[str, ...]  # (nc,)
    h: float  # [s]
    M: Dense  # (nv, nv)
    G_n: Dense  # (nv, nc)
    G_f: Dense  # (nv, n_d nc)   contact after contact
    G_b: Dense  # (nv, nb)   rows of joints
    U: Dense  # (nc, nc)   diag(μ)
    E: Dense  # (n_d nc, nc)
    psi: Vector  # (nc,)   gaps   [m]
    dpsi_dt: Vector  # (nc,)   by the motion of surfaces   [m/s]
    w_f: Vector  # (n_d nc,)   the same along the directions
    v_star: Vector  # (nv,)   v + M⁻¹ (P_app + T), and along the joints
    inverse: Dense  # (nv, nv)   M⁻¹; with joints K

    @property
    def directions(self) -> int:
        return self.w_f.size // max(self.psi.size, 1)

    @property
    def matrix(self) -> Dense:
        """The LCP matrix."""
        G, none = np.hstack([self.G_n, self.G_f]), np.zeros_like(self.U)
        above = [G.T @ self.inverse @ G, np.vstack([none, self.E])]
        return np.block([above, [np.hstack([self.U, -self.E.T]), none]])

    @property
    def vector(self) -> Vector:
        """The LCP vector."""
        normal = self.G_n.T @ self.v_star + self.psi / self.h + self.dpsi_dt
        return np.concatenate([normal, self.G_f.T @ self.v_star + self.w_f, np.zeros(self.psi.size)])

    @property
    def lcp(self) -> LCP:
        return LCP(self.matrix, self.vector)

    def velocity(self, z: Vector) -> Vector:
        """v at the end of the step, of an answer (p_n, p_f, s)."""
        nc, nf = self.psi.size, self.w_f.size
        z = vector("TrinkleMatrices", "z", z, self.vector.size)
        return self.v_star + self.inverse @ (self.G_n @ z[:nc] + self.G_f @ z[nc : nc + nf])


@checked(world=world_kind, dt=seconds, directions=DIRECTIONS, offset=angle, q=vector, v=vector, force=vector)
def trinkle_matrices(
    world: World,
    dt: float,
    directions: int = 4,
    offset: float = 0.0,
    q: Given = None,
    v: Given = None,
    force: Given = None,
) -> TrinkleMatrices:
    """The matrices of Trinkle's final formulation for the next step: of a scene as it stands, of a system at (q, v).

    `directions` of each tangent plane, the first at the angle `offset` from its first tangent; in the plane there are
    two. Friction is the static one.
    """
    owner = "trinkle_matrices"
    problem, names = named_problem(owner, world, dt, q, v, force, None)
    refuse_bounded(owner, problem)
    d, nc = problem.dimension, problem.contacts
    D = polyhedral_directions(directions, d, offset)
    each = np.zeros((d, D.shape[1]))
    each[1:] = D
    H, G_b = as_dense(problem.H), as_dense(problem.G)
    K, v_star = held_inverse(problem, G_b)
    along = np.kron(np.eye(nc), each)
    return TrinkleMatrices(
        names=names,
        h=problem.h,
        M=as_dense(problem.M),
        G_n=H[:, ::d],
        G_f=H @ along,
        G_b=G_b,
        U=np.diag(problem.mu),
        E=np.repeat(np.eye(nc), D.shape[1], axis=0),
        psi=problem.gap,
        dpsi_dt=problem.w[::d],
        w_f=along.T @ problem.w,
        v_star=v_star,
        inverse=K,
    )


def refuse_bounded(owner: str, problem: ContactProblem) -> None:
    bounded = np.isfinite(problem.lower) | np.isfinite(problem.upper)
    if bounded.any():
        raise InputError(
            f"{owner}: the scene has {int(bounded.sum())} rows of limits and motors, expected rigid joints only; "
            f"StewartTrinkle().pose(contact_problem(...)) has them"
        )


def held_inverse(problem: ContactProblem, G: Dense) -> tuple[Dense, Vector]:
    """K and v* of (1)."""
    inverse = as_dense(problem.inverse)
    free = inverse @ problem.f
    back = inverse @ G
    S = np.linalg.pinv(G.T @ back + np.diag(problem.compliance), hermitian=True)
    return inverse - back @ S @ back.T, free - back @ S @ (G.T @ free + problem.b)


# Peiret 2017


@dataclass(frozen=True, eq=False)
class LeadMatrix:
    """(2), and what it is made of."""

    names: tuple[str, ...]  # (nc,)   contacts that take part
    M: Dense  # (nv, nv)
    J_b: Dense  # (nb, nv)   joints
    J_t: Dense  # (t nc, nv)   t tangents a contact
    J_n: Dense  # (nc, nv)
    E: Dense  # (t nc, k)   axes of all contacts
    mu: Dense  # (k, nc)
    rho: float  # phantom inertia   [kg]
    epsilon: Vector  # (nb + t nc + nc,)   of joints, tangents and normals; zero in (35)
    d: Vector  # the vector beside the matrix
    sliding: tuple[bool, ...]  # (nc,)

    @property
    def J(self) -> Dense:
        """(J_b, J_t, J_n) of (39)."""
        return np.vstack([self.J_b, self.J_t, self.J_n])

    @property
    def H(self) -> Dense:
        """(nb + t nc + nc, 2 k) of (39): what w_up and w_lo add to the rows of J."""
        return np.pad(np.hstack([-self.E, self.E]), ((len(self.J_b), len(self.J_n)), (0, 0)))

    @property
    def N(self) -> Dense:
        """(2 k, 2 k) of (39): the phantom inertia."""
        return np.kron(np.array([[0.0, self.rho], [self.rho, 0.0]]), np.eye(len(self.mu)))

    @property
    def matrix(self) -> Dense:
        """The lead matrix."""
        J, H, n = self.J, self.H, self.M.shape[0]
        none, bounds = np.zeros((n, H.shape[1])), -H.T
        bounds[:, len(self.J_b) + len(self.J_t) :] += np.vstack([self.mu, self.mu])
        return np.block([[self.M, -J.T, none], [J, np.diag(self.epsilon), H], [none.T, bounds, self.N]])

    @property
    def problem(self) -> MixedLCP:
        """The step as a mixed LCP in all of the unknowns."""
        low = np.full(self.d.size, -np.inf)
        low[self.M.shape[0] + len(self.J_b) + len(self.J_t) :] = 0.0
        return MixedLCP(self.matrix, self.d, low, np.full(self.d.size, np.inf))

    @cached_property
    def singular_values(self) -> Vector:
        """Of the matrix, with rows and columns scaled in turns until their largest entries are 1 or so."""
        return np.asarray(np.linalg.svd(equilibrated(self.matrix), compute_uv=False), np.float64)

    @property
    def rank(self) -> int:
        """By NumPy's rule, of the scaled matrix, for masses, compliances and ρ have different units."""
        s = self.singular_values
        return int((s > s.max(initial=0.0) * s.size * np.finfo(np.float64).eps).sum())

    @property
    def condition(self) -> float:
        """Of the scaled matrix; infinite where its rank is not full."""
        s = self.singular_values
        return math.inf if self.rank < s.size else float(s[0] / s[-1])

    @checked(rho=not_negative)
    def with_inertia(self, rho: float) -> LeadMatrix:
        """The same with another phantom inertia."""
        return replace(self, rho=rho)

    @checked(inertias=vector)
    def over(self, inertias: Sequence[float]) -> list[tuple[float, int, float]]:
        """(ρ, rank, condition) for each phantom inertia."""
        found = (self.with_inertia(rho) for rho in inertias)
        return [(one.rho, one.rank, one.condition) for one in found]

    def __str__(self) -> str:
        size = len(self.matrix)
        regular = "regular" if self.rank == size else f"singular, its rank is {self.rank}"
        return f"lead matrix of {size} rows, {len(self.names)} contacts, ρ = {self.rho:g} kg: {regular}"


@checked(
    world=world_kind,
    dt=seconds,
    inertia=not_negative,
    directions=AXES,
    relaxed=instance(bool, Relaxation),
    q=vector,
    v=vector,
    force=vector,
    previous=vector,
)
def lead_matrix(
    world: World,
    dt: float,
    inertia: float = 1.0,
    directions: int = 2,
    relaxed: bool | Relaxation = False,
    q: Given = None,
    v: Given = None,
    force: Given = None,
    previous: Given = None,
) -> LeadMatrix:
    """The lead matrix (35) of Peiret 2017 for the next step, or with relaxation (39).

    `directions`: axes of a contact that sticks. `relaxed`: True for the springs and dampers of the materials, or a
    Relaxation of one's own. `previous`: impulses of the step before (n, t[, o] of each contact found), which ε across
    the slip and the bristles need; zero where None. Without relaxation contacts are those that touch.
    """
    owner = "lead_matrix"
    stabilisation = RELAXATION if relaxed is True else relaxed or None
    formulation = Phantom(inertia, directions, stabilisation=stabilisation)
    problem, names = named_problem(owner, world, dt, q, v, force, None)
    if previous is not None:
        problem = replace(problem, previous=previous)
    rows = formulation.rows(problem)
    d, t, nc = problem.dimension, problem.dimension - 1, rows.count
    turn = [own_tangents(rows, i) for i in range(nc)]
    J = as_dense(problem.H).T.reshape(-1, d, problem.f.size)[rows.contacts]
    J_t = np.array([T @ one[1:] for T, one in zip(turn, J, strict=True)]).reshape(-1, problem.f.size)
    J_b = as_dense(problem.G).T
    blocks = [np.eye(t) if rows.sliding[i] else axes(directions, d) for i in range(nc)]
    bounds = [np.full((block.shape[1], 1), mu) for block, mu in zip(blocks, rows.mu, strict=True)]
    if stabilisation is None:
        for i in np.flatnonzero(rows.sliding):
            bounds[i][1:] = 0.0  # (34)
    E, mu = (block_diag(np.zeros((0, 0)), *parts) for parts in (blocks, bounds))
    terms, offset = relaxation_of(rows, problem, formulation.law(problem.h), turn, relaxed is not False)
    epsilon = np.concatenate([problem.compliance if relaxed is not False else 0.0 * problem.compliance, terms])
    right = np.concatenate([-problem.f, problem.b, offset, np.zeros(2 * len(mu))])
    return LeadMatrix(
        names=tuple(names[i] for i in rows.contacts),
        M=as_dense(problem.M),
        J_b=J_b,
        J_t=J_t,
        J_n=J[:, 0],
        E=E,
        mu=mu,
        rho=inertia,
        epsilon=epsilon,
        d=right,
        sliding=tuple(bool(slides) for slides in rows.sliding),
    )


def own_tangents(rows: ActiveRows, i: int) -> Dense:
    """The axes of J_t of a contact in its tangents: (e_t, e_l) where it slides."""
    t = rows.dimension - 1
    if not rows.sliding[i] or t == 1:
        return np.eye(t)
    c, s = sliding_axis(rows.slip[i])
    return np.array([[c, s], [-s, c]])


def relaxation_of(
    rows: ActiveRows, problem: ContactProblem, law: LawNumbers, turn: list[Dense], relaxed: bool
) -> tuple[Vector, Vector]:
    """ε and the offsets of tangents and normals, in the order of J_t and J_n."""
    t, terms = rows.dimension - 1, contact_terms(problem, law)
    w = problem.w.reshape(-1, rows.dimension)[rows.contacts]
    epsilon, normal = terms.compliance[rows.contacts], w[:, 0] + terms.offset[rows.contacts]
    tangent = np.zeros((rows.count, t))
    offset = np.array([T @ w_t for T, w_t in zip(turn, w[:, 1:], strict=True)]).reshape(-1, t)
    for i in range(rows.count if relaxed else 0):
        tangent[i] = rows.compliance_tangent[i]
        if not rows.sliding[i]:
            offset[i] += rows.bristle[i]
        elif t == 2:
            tangent[i, 1] = lateral_relaxation(rows.h, rows.mu[i], rows.previous[i, 0], rows.slip[i], tangent[i, 0])
    return np.concatenate([tangent.ravel(), epsilon]), np.concatenate([offset.ravel(), normal])


def equilibrated(matrix: Dense) -> Dense:
    """The matrix with rows and columns divided by the roots of their largest entries, five times (Ruiz)."""
    A = matrix.copy()
    for _ in range(5):
        row, column = (np.abs(A).max(axis=axis, initial=0.0) for axis in (1, 0))
        A /= np.sqrt(np.where(row > 0, row, 1.0))[:, None] * np.sqrt(np.where(column > 0, column, 1.0))
    return A


# Trinkle and Pang


@dataclass(frozen=True, eq=False)
class DistributedContacts:
    """(3), four components a contact; those that it has not are zero rows, with e = 0."""

    names: tuple[str, ...]  # (nc,)
    M: Dense  # (nv, nv)
    J: Dense  # (nv, 4 nc)
    A: Dense  # (4 nc, 4 nc)
    b: Vector  # (4 nc,)
    problem: LimitSurfaceProblem

    @property
    def W(self) -> Dense:
        """J by its other name, the wrench matrix of the contacts."""
        return self.J

    @property
    def rolling(self) -> tuple[int, ...]:
        """R."""
        return tuple(int(i) for i in np.flatnonzero(~self.problem.slip.any(axis=1)))

    @property
    def sliding(self) -> tuple[int, ...]:
        """N."""
        return tuple(int(i) for i in np.flatnonzero(self.problem.slip.any(axis=1)))


@checked(world=world_kind, q=vector, v=vector, force=vector, dt=seconds)
def distributed_contacts(
    world: World, q: Given = None, v: Given = None, force: Given = None, dt: float | None = None
) -> DistributedContacts:
    """A, b, J and the sets of rolling and sliding contacts of Trinkle and Pang: at acceleration level, or with a step
    `dt` at velocity level. The contacts are those that touch."""
    owner = "distributed_contacts"
    if dt is not None:
        return at_velocity_level(owner, world, q, v, force, dt)
    return of_snapshot(closed(owner, snapshot(owner, world, q, v, force)))


def of_snapshot(now: Snapshot) -> DistributedContacts:
    """Of contacts that all touch."""
    J = padded(now.at.A, now.contacts, now.dimension).T
    moved = response(now.at, np.column_stack([J, now.force - now.at.bias]))
    b = J.T @ (moved[:, -1] + drift(now.at)) + padded(now.at.drift[:, None], now.contacts, now.dimension)[:, 0]
    A = J.T @ moved[:, :-1]
    slip = in_space(slips(now))
    mu = np.where(slip.any(axis=1), now.mu_kinetic, now.mu)
    problem = LimitSurfaceProblem((A + A.T) / 2, b, mu, in_space(friction_sizes(now)), slip)
    return DistributedContacts(now.names, now.at.M, J, problem.A, problem.b, problem)


def at_velocity_level(owner: str, world: World, q: Given, v: Given, force: Given, dt: float) -> DistributedContacts:
    spin = isinstance(world, Scene) and not world.planar
    problem, names = named_problem(owner, world, dt, q, v, force, LimitSurface() if spin else None)
    refuse_bounded(owner, problem)
    if problem.contacts == 0:
        raise InputError(f"{owner}: no contact is found within a step of {dt:g} s, expected at least one")
    d, nc = problem.dimension, problem.contacts
    K, v_star = held_inverse(problem, as_dense(problem.G))
    J = padded(as_dense(problem.H).T, nc, d).T
    w = padded(problem.w[:, None], nc, d)[:, 0]
    b = J.T @ v_star + w
    b[::4] += problem.gap / problem.h
    A = J.T @ K @ J
    posed = LimitSurfaceProblem((A + A.T) / 2, b, problem.mu, in_space(friction_sizes(problem)))
    return DistributedContacts(names, as_dense(problem.M), J, posed.A, posed.b, posed)


def padded(rows: Dense, contacts: int, d: int) -> Dense:
    """Rows (d nc, k) as (4 nc, k), with zeros for the components that are missing."""
    whole = np.pad(rows.reshape(contacts, d, -1), ((0, 0), (0, 4 - d), (0, 0)))
    return whole.reshape(4 * contacts, -1)


def in_space(friction: Dense) -> Dense:
    """Friction components (nc, d - 1) as (nc, 3), likewise."""
    return np.pad(friction, ((0, 0), (0, 3 - friction.shape[1])))
