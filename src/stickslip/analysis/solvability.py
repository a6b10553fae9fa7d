"""How many solutions has contact with Coulomb friction at the level of forces and accelerations: none, one, two, more?

Bodies touch and stay in touch for now, u_n = 0. With forces λ and accelerations u̇ of the contacts, normal first,

    u̇ = W λ + u̇₀,      W = A M⁻¹ Aᵀ,      u̇₀ = A M⁻¹ (f - c) + Ȧ v,      0 <= λ_n ⊥ u̇_n >= 0                    (1)

A contact that slides with velocity u_t has its friction from that: λ_t = -μ λ_n e_t, e_t = u_t / |u_t|. If it is the
only one, (1) is a linear complementarity problem in one unknown [1, (38), (47)],

    u̇_n = (a - μ hᵀ e_t) λ_n + u̇₀_n,      a = W_nn,  h = W_tn                                                    (2)

with the slope s = a - μ hᵀ e_t, and its solutions are known whatever the numbers are:

    s > 0                one                                    [2]: a matrix with positive principal minors
    s < 0,  u̇₀_n < 0     none: the contact jams                 Painlevé's paradox, inconsistent
    s < 0,  u̇₀_n > 0     two: it opens, or friction holds it    Painlevé's paradox, indeterminate
    s = 0 or u̇₀_n = 0    the cases between

Painlevé's principle chooses between the two: what would part without friction parts with it [1, 3]. It speaks of one
pair of bodies, no more.

A contact at rest may stick, |λ_t| <= μ λ_n and u̇_t = 0, or begin to slide, λ_t = -μ λ_n u̇_t / |u̇_t|. In the plane and
for a friction pyramid in space (`directions`) this is linear complementarity too, the form of problems/mechanical.py,
and `all_solutions` of solvers/enumeration.py lists every solution of it; each is named by what its contacts do.

The same holds of impulses and velocities of a step: then all contacts are at rest in the sense above, and limits and
motors of joints are further contacts (friction/cones.py).

Contacts over patches have a fourth component, spin. There the contact modes are searched for solutions
(solvers/contact_modes.py), which finds them without a proof that there are no more; the certificate says so.

[1] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378.
[2] Samelson, Thrall, Wesler, A partition theorem for Euclidean n-space, Proceedings of the AMS 9 (1958) 805-807.
[3] Painlevé, Sur les lois du frottement de glissement, Comptes Rendus 141 (1905) 401-405, 546-552.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.analysis.matrices import of_snapshot
from stickslip.checks import checked, floats, instance, one_of, shown, vector
from stickslip.dynamics.generalized import Given, System, a_system
from stickslip.engine.arguments import is_world, refuse_state, seconds
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.snapshot import Snapshot, World, closed, has_patches, snapshot
from stickslip.engine.step_problem import named_problem
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.polyhedral import DIRECTIONS
from stickslip.friction.stabilisation import GAP
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector, as_dense, canonical
from stickslip.problems.mechanical import friction_directions
from stickslip.solvers.contact_modes import ModeSolution, search_modes
from stickslip.solvers.enumeration import all_solutions

Mode = Literal["open", "stick", "slide"]
Rule = Literal["painleve", "dissipation"]

ROUNDING = 1e-12  # a slope or a load up to this share of its terms is zero
MAX_NODES = 20_000  # branches of the enumeration where nothing else is said: seconds
SAME = 1e-8  # forces closer than this share of the largest are one
MOST_MINORS = 12  # contacts whose principal minors are all formed, 4096 of them
RANK = 1e-9  # singular values below this share of the largest are zero


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """One solution of (1), or a connected set of them around `force`."""

    modes: tuple[Mode, ...]  # (nc,)   what each contact does
    force: Vector  # (d nc,)   λ   [N]
    acceleration: Vector  # (d nc,)   u̇   [m/s²]
    freedom: Dense  # (d nc, k)   orthonormal: how λ may vary; k = 0 for a solution by itself

    @property
    def normal(self) -> Vector:
        """(nc,) λ_n."""
        return self.force[:: self.force.size // len(self.modes)]

    def __str__(self) -> str:
        loads = ", ".join(f"{load:.6g}" for load in self.normal + 0.0)
        around = f", one of {self.freedom.shape[1]} parameters" if self.freedom.size else ""
        return f"{', '.join(self.modes)}: normal forces {loads}{around}"


@dataclass(frozen=True)
class Certificate:
    """Why there are so many solutions."""

    count: float  # of solutions: 0, 1, 2, … or inf
    by: Literal["theorem", "computation"]
    statement: str  # which theorem, with its numbers; or what was computed
    complete: bool = True  # False where a computation left something open

    def __str__(self) -> str:
        return f"{self.by}: {self.statement}"


@dataclass(frozen=True, eq=False)
class Solvability:
    """The solutions of a contact problem at the level of forces and accelerations."""

    problem: ConeProblem | LimitSurfaceProblem  # W, u̇₀ and μ, kinetic where a contact slides; the latter for patches
    slip: Dense  # (nc, d - 1)   u_t, zero where a contact is at rest
    solutions: tuple[ContactSolution, ...]
    certificate: Certificate
    names: tuple[str, ...] = ()  # of the contacts of a world

    @property
    def W(self) -> Dense:
        """(d nc, d nc)."""
        return as_dense(self.problem.W if isinstance(self.problem, ConeProblem) else self.problem.A)

    @property
    def free(self) -> Vector:
        """u̇₀ (d nc,)."""
        return self.problem.q if isinstance(self.problem, ConeProblem) else self.problem.b

    @property
    def count(self) -> float:
        return self.certificate.count

    @checked(rule=one_of(Rule))
    def choose(self, rule: Rule) -> ContactSolution | None:
        """The solution that a rule takes, None where there is none to take.

        "painleve": of one contact, it opens if it would open without friction. "dissipation": friction takes as much
        power as it can, -λ_t·u_t; where nothing slides, all are equal and the first is taken.
        """
        if rule == "dissipation":
            return max(self.solutions, key=self.friction_power, default=None)
        if self.problem.contacts != 1:
            raise InputError(
                f"choose: the problem has {self.problem.contacts} contacts, expected one: Painlevé's principle speaks "
                f"of a single pair of bodies"
            )
        parts = self.free[0] >= 0
        return next((s for s in self.solutions if (s.modes == ("open",)) == parts), None)

    @checked(solution=instance(ContactSolution))
    def friction_power(self, solution: ContactSolution) -> float:
        """-λ_t·u_t over the contacts   [W]"""
        tangent = solution.force.reshape(self.problem.contacts, -1)[:, 1:]
        return -float((tangent * self.slip).sum())

    def describe(self) -> str:
        words = {0: "no solution", 1: "one solution", 2: "two solutions", math.inf: "infinitely many solutions"}
        head = words.get(self.count, f"{self.count:g} solutions")
        return "\n".join([f"{head} ({self.certificate})", *(f"  {solution}" for solution in self.solutions)])

    __str__ = describe


@checked(slip=floats, q=vector, v=vector, force=vector, dt=seconds, directions=DIRECTIONS)
def solvability(
    problem: ConeProblem | World,
    slip: ArrayLike | None = None,
    *,
    q: Given = None,
    v: Given = None,
    force: Given = None,
    dt: float | None = None,
    directions: int = 8,
    max_nodes: int = MAX_NODES,
) -> Solvability:
    """All solutions of (1): of a scene as it stands, of a system or robot at (q, v) with applied forces, or of the W,
    q = u̇₀ and μ of a ConeProblem, `slip` (nc, d - 1) the velocities of what slides.

    Of a world the contacts are those that touch and do not part, at acceleration level; with `dt` all contacts of the
    next step of that size, at velocity level. One that sinks in or approaches is refused at acceleration level, for
    then (1) is not about it. `directions`: of the friction pyramid of a contact at rest in space; in the plane there
    are two. `max_nodes`: branches that the enumeration follows; where more would be needed, as with many contacts at
    rest, the certificate says that there may be more solutions.
    """
    if is_world(problem):
        if slip is not None:
            raise InputError("solvability: slip is given with a world, expected v, or the velocities of the scene")
        posed, sliding, names = friction_problem("solvability", problem, q, v, force, dt)
        if isinstance(posed, LimitSurfaceProblem):
            found = searched(posed, sliding)
        else:
            found = solvability(posed, sliding, directions=directions, max_nodes=max_nodes)
        return replace(found, names=names)
    if not isinstance(problem, ConeProblem):
        raise InputError(
            f"solvability: the problem is {shown(problem)}, expected a ConeProblem, a Scene, a System or a Robot"
        )
    refuse_state("solvability", "a problem", q=q, v=v, force=force, dt=dt)
    tangents = problem.dimension - 1
    shape = (problem.contacts, tangents)
    u_t = np.zeros(shape) if slip is None else canonical("solvability", "slip", slip)
    if u_t.shape != shape:
        raise InputError(f"solvability: slip has shape {u_t.shape}, expected {shape}: a velocity for each contact")
    if problem.contacts == 0:
        raise InputError("solvability: the problem has no contacts, expected at least one")
    if problem.contacts == 1 and u_t.any():
        return one_unknown(problem, u_t)
    return enumerated(problem, u_t, directions, max_nodes)


@checked(system=a_system, q=vector, v=vector, force=vector, directions=DIRECTIONS)
def solvability_at(
    system: System, q: Given, v: Given = None, force: Given = None, *, directions: int = 8
) -> Solvability:
    """`solvability` of a system in generalized coordinates at acceleration level."""
    return solvability(system, q=q, v=v, force=force, directions=directions)


def friction_problem(
    owner: str, world: World, q: Given = None, v: Given = None, force: Given = None, dt: float | None = None
) -> tuple[ConeProblem | LimitSurfaceProblem, Dense, tuple[str, ...]]:
    """The friction problem of a world, at acceleration level or, with dt, of its next step; the velocities of what
    slides, which only matter in the former; and the names of its contacts. With patches it is a LimitSurfaceProblem."""
    if dt is not None:
        patches = has_patches(world)
        formulation = LimitSurface(stabilisation=GAP) if patches else Coulomb(stabilisation=GAP)
        step, names = named_problem(owner, world, dt, q, v, force, formulation)
        if step.contacts == 0:
            raise InputError(f"{owner}: no contact is found within a step of {dt:g} s, expected at least one")
        posed = formulation.pose(step)
        tangents = 3 if patches else step.dimension - 1
        joints = tuple(f"bounded joint row {j}" for j in range(posed.contacts - step.contacts))
        return posed, np.zeros((posed.contacts, tangents)), names + joints
    now = closed(owner, snapshot(owner, world, q, v, force))
    if now.dimension == 4:
        found = of_snapshot(now)
        return found.problem, found.problem.slip, now.names
    return *cone_problem(now), now.names


@checked(world=world_kind, q=vector, v=vector, force=vector)
def acceleration_problem(
    world: World, q: Given = None, v: Given = None, force: Given = None
) -> tuple[ConeProblem, Dense]:
    """W, u̇₀ and μ of (1) as a ConeProblem, and the sliding velocities (nc, d - 1), of the contacts that touch."""
    now = closed("acceleration_problem", snapshot("acceleration_problem", world, q, v, force))
    if now.dimension == 4:
        raise InputError("acceleration_problem: contacts have patches, expected points; distributed_contacts has them")
    return cone_problem(now)


def cone_problem(now: Snapshot) -> tuple[ConeProblem, Dense]:
    """W, u̇₀ and μ of contacts without spin, by the components that they have, and their slips."""
    problem, d = of_snapshot(now).problem, now.dimension
    own = (4 * np.arange(now.contacts)[:, None] + np.arange(d)).ravel()
    return ConeProblem(problem.A[np.ix_(own, own)], problem.b[own], problem.mu), problem.slip[:, : d - 1].copy()


# contacts over patches


def searched(problem: LimitSurfaceProblem, slip: Dense) -> Solvability:
    """The solutions that a search over contact modes finds."""
    found = search_modes(problem)
    listed = [of_mode(problem, solution) for solution in found]
    count = math.inf if any(solution.freedom.size for solution in listed) else len(listed)
    why = f"{found.searched}; there may be more" if "not a proof" in found.searched else found.searched
    return Solvability(problem, slip, tuple(listed), Certificate(count, "computation", why, complete=False))


def of_mode(problem: LimitSurfaceProblem, solution: ModeSolution) -> ContactSolution:
    """A solution with its freedom: forces of what sticks, and rays of what slides, that accelerate nothing."""
    columns: list[Vector] = []
    for i, mode in enumerate(solution.modes):
        own = slice(4 * i, 4 * (i + 1))
        if mode == "stick":
            carries = np.concatenate([[1.0], problem.e[i]]) > 0
            columns += [np.eye(problem.size)[4 * i + k] for k in np.flatnonzero(carries)]
        elif mode == "slip":
            ray = np.zeros(problem.size)
            ray[own] = solution.c[own] / np.linalg.norm(solution.c[own])
            columns.append(ray)
    F = np.array(columns).reshape(len(columns), problem.size).T
    freedom = np.linalg.qr(F @ null_space(as_dense(problem.A) @ F, RANK))[0]
    modes: tuple[Mode, ...] = tuple("slide" if m == "slip" else m for m in solution.modes)  # type: ignore[misc]
    return ContactSolution(modes, solution.c, solution.a, freedom)


def rank_of(matrix: Dense, share: float) -> int:
    """How many singular values there are above this share of the largest."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    return int((singular > share * singular.max(initial=0.0)).sum())


def null_space(matrix: Dense, share: float) -> Dense:
    """Orthonormal columns with matrix @ columns = 0."""
    return np.linalg.svd(matrix)[2][rank_of(matrix, share) :].T


# one contact that slides


def one_unknown(problem: ConeProblem, slip: Dense) -> Solvability:
    """The cases of (2)."""
    W, mu, load = as_dense(problem.W), float(problem.mu[0]), float(problem.q[0])
    e = slip[0] / np.linalg.norm(slip[0])
    along = np.concatenate([[1.0], -mu * e])
    column = W @ along
    s, a = float(column[0]), float(W[0, 0])
    if abs(s) <= ROUNDING * (a + mu * abs(float(W[0, 1:] @ e))):
        s = 0.0
    if abs(load) <= ROUNDING * float(np.linalg.norm(problem.q)):
        load = 0.0
    numbers = f"a - μ h·e = {s:.6g}, free normal acceleration {load:.6g}"
    opens = ContactSolution(("open",), np.zeros(problem.size), problem.q.copy(), np.zeros((problem.size, 0)))

    def closed(normal: float, freedom: int = 0) -> ContactSolution:
        acceleration = column * normal + problem.q
        acceleration[0] = 0.0
        basis = np.repeat(along[:, None] / np.linalg.norm(along), freedom, axis=1)
        return ContactSolution(("slide",), along * normal, acceleration, basis)

    listed: tuple[ContactSolution, ...]
    if s > 0:
        listed = (opens,) if load >= 0 else (closed(-load / s),)
        why = f"the slope is positive, a 1×1 matrix of class P, so there is one solution for every load; {numbers}"
    elif s < 0 and load > 0:
        listed = (opens, closed(-load / s))
        why = f"the slope is negative and the load parts: opening and sliding both solve (Painlevé); {numbers}"
    elif load < 0:
        listed = ()
        why = f"no normal force accelerates the contact apart, and the load closes it (Painlevé); {numbers}"
    elif load > 0 or s < 0:
        listed = (opens,)
        why = f"only no force at all solves, on the border of Painlevé's cases; {numbers}"
    else:
        listed = (opens, closed(1.0, freedom=1))
        why = f"neither force nor load accelerates the contact: every normal force solves; {numbers}"
    count = math.inf if any(solution.freedom.size for solution in listed) else len(listed)
    return Solvability(problem, slip, listed, Certificate(count, "theorem", why))


# several contacts


@dataclass(frozen=True, eq=False)
class Modes:
    """The LCP of (1), z = (λ_n of all, friction of those at rest by direction, their slips); λ = force z."""

    lcp: LCP
    force: Dense  # (d nc, size)
    resting: list[int]  # contacts at rest with friction
    directions: int  # of the friction of each


def modes_of(problem: ConeProblem, slip: Dense, directions: int) -> Modes:
    d, nc = problem.dimension, problem.contacts
    slides = [bool(u_t.any()) for u_t in slip]
    resting = [i for i in range(nc) if not slides[i] and problem.mu[i] > 0]
    count = 2 if d == 2 else directions
    tangents = friction_directions(d, count)
    normal, along = np.zeros((d * nc, nc)), np.zeros((d * nc, count * len(resting)))
    law = normal.copy()  # forces of a unit of λ_n
    for i in range(nc):
        normal[d * i, i] = law[d * i, i] = 1.0
        if slides[i]:
            law[d * i + 1 : d * i + d, i] = -problem.mu[i] * slip[i] / np.linalg.norm(slip[i])
    for k, i in enumerate(resting):
        along[d * i + 1 : d * i + d, count * k : count * (k + 1)] = tangents
    one = np.kron(np.eye(len(resting)), np.ones((count, 1)))
    force = np.hstack([law, along, np.zeros((d * nc, len(resting)))])
    rows = np.hstack([normal, along])
    accelerate = rows.T @ as_dense(problem.W) @ force
    accelerate[nc:, nc + along.shape[1] :] += one
    limit = np.zeros((len(resting), force.shape[1]))
    limit[np.arange(len(resting)), resting] = problem.mu[resting]
    limit[:, nc : nc + along.shape[1]] = -one.T
    q = np.concatenate([rows.T @ problem.q, np.zeros(len(resting))])
    return Modes(LCP(np.vstack([accelerate, limit]), q), force, resting, count)


def enumerated(problem: ConeProblem, slip: Dense, directions: int, max_nodes: int) -> Solvability:
    modes = modes_of(problem, slip, directions)
    found = all_solutions(modes.lcp, max_nodes=max_nodes)
    pieces: list[tuple[Vector, Dense]] = [(z, np.zeros((z.size, 0))) for z in found.points]
    pieces += [(piece.point, piece.directions) for piece in found.continua]
    listed = distinct([named(problem, slip, modes, *piece) for piece in pieces])
    count = math.inf if any(solution.freedom.size for solution in listed) else len(listed)
    return Solvability(problem, slip, listed, certificate(problem, modes, found.complete, count, len(found.doubtful)))


def named(problem: ConeProblem, slip: Dense, modes: Modes, z: Vector, directions: Dense) -> ContactSolution:
    """A solution of the LCP as forces and modes. Directions of z that change no force are its own matter."""
    d = problem.dimension
    force = modes.force @ z
    acceleration = problem.value(force)
    moves = modes.force @ directions
    U, S, _ = np.linalg.svd(moves, full_matrices=False) if directions.size else (moves, np.zeros(0), None)
    freedom = U[:, SAME < S]
    size = largest(force)
    fast = SAME * max(largest(acceleration), largest(problem.q))

    def mode(i: int) -> Mode:
        if force[d * i] <= SAME * size:
            return "open"
        moving = slip[i].any() or np.abs(acceleration[d * i + 1 : d * i + d]).max() > fast
        return "slide" if moving else "stick"

    return ContactSolution(tuple(mode(i) for i in range(problem.contacts)), force, acceleration, freedom)


def largest(x: Vector) -> float:
    return float(np.abs(x).max(initial=0.0)) or 1.0


def distinct(solutions: Sequence[ContactSolution]) -> tuple[ContactSolution, ...]:
    """Each set of forces once, those with the fewest forces first."""
    kept: list[ContactSolution] = []
    for new in sorted(solutions, key=lambda s: -s.freedom.shape[1]):
        if not any(covers(old, new) for old in kept):
            kept.append(new)
    return tuple(sorted(kept, key=lambda s: (s.freedom.shape[1], float(s.normal.sum()))))


def covers(old: ContactSolution, new: ContactSolution) -> bool:
    """Do they have the same modes, and the new forces lie in the flat of the old ones?"""
    away = new.force - old.force
    away = away - old.freedom @ (old.freedom.T @ away)
    return old.modes == new.modes and bool(np.abs(away).max() <= SAME * max(largest(old.force), largest(new.force)))


def certificate(problem: ConeProblem, modes: Modes, complete: bool, count: float, doubtful: int) -> Certificate:
    if not modes.resting and problem.contacts <= MOST_MINORS and is_class_p(as_dense(modes.lcp.M)):
        return Certificate(
            1,
            "theorem",
            "no friction is undecided, and every principal minor of the matrix of normal forces is positive (class P), "
            "so there is one solution for every load (Samelson, Thrall, Wesler)",
        )
    pyramid = (
        f", friction pyramids of {modes.directions} directions" if modes.resting and problem.dimension == 3 else ""
    )
    searched = f"enumeration of the {modes.lcp.size} complementary pairs of the contact modes{pyramid}"
    open_ends = "" if complete and not doubtful else "; the search left some branches open, there may be more"
    return Certificate(count, "computation", searched + open_ends, complete and not doubtful)


def is_class_p(M: Dense) -> bool:
    """Are all principal minors positive, beyond rounding? Rows are scaled to their largest entries first."""
    scale = np.abs(M).max(axis=1)
    if not (scale > 0).all():
        return False
    scaled = M / scale[:, None]
    return all(
        np.linalg.det(scaled[np.ix_(rows, rows)]) > ROUNDING
        for size in range(1, len(M) + 1)
        for rows in combinations(range(len(M)), size)
    )
