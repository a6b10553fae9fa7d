"""Which contact forces does rigid-body mechanics determine, and between which limits are the others?

A motion of rigid bodies, v⁺ after a step or rest, asks of the impulses x = (p, λ) of contacts and joint rows

    J x = M v⁺ - f,      J = (H, G),      x ∈ F,                                                                   (1)

F the face of the friction cones and bounds that the motion leaves open: the whole cone |p_t| <= μ p_n of a contact that
sticks, the ray p_t = -μ p_n u_t / |u_t| of one that slides, zero where one opens (engine/stiff_limit.py). So the
admissible x are a convex set, x₀ + N c with N the null space of J in the span of F, and a component varies over the
interval between the optima of two convex programs,

    lower_i = min x_i,      upper_i = max x_i      subject to (1):                                                   (2)

linear programs where the cones are polyhedral (no friction, sliding, the plane), solved by HiGHS, and programs over
second-order cones elsewhere, solved by Clarabel. A component is unique where N has a zero row, which is a matter of
geometry, or where the inequalities leave one value. Each optimum is verified after the fact: the point that attains it
is admissible, and the dual objective bounds what is beyond (`gap`).

Over a patch the cone is √(p_t² + p_o² + (p_r / e_r)²) <= μ p_n. At acceleration level forces and accelerations take the
places of impulses and velocities, and a contact that slides already has the ray of its slip.

Of all admissible x one minimises xᵀ D x: what springs of the compliances D tend to as they stiffen [1].

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.analysis.matrices import of_snapshot
from stickslip.analysis.solvability import cone_problem, largest, null_space, rank_of, solvability
from stickslip.checks import checked, optional, shown, vector, whole
from stickslip.dynamics.constrained import drift, response
from stickslip.dynamics.generalized import Given
from stickslip.engine.arguments import is_world, refuse_state, seconds
from stickslip.engine.snapshot import Snapshot, World, acceleration_step, closed, has_patches, slips, snapshot
from stickslip.engine.step_problem import named_problem
from stickslip.engine.stiff_limit import ENOUGH, RANK, STEP, Face, accurate, check_weights, even_weights, nearest
from stickslip.errors import InputError, RangeFailed
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.stabilisation import GAP
from stickslip.problems.cone import ConeProblem, Law
from stickslip.problems.matrix import Dense, Indices, Vector, as_dense
from stickslip.solvers.conic import conic_solver
from stickslip.solvers.existence import FEW_DIGITS, negative_share

LISTED = 12  # loads that the text shows
EQUAL = 1e-7  # ranges narrower than this share of the largest force are one value
ADMISSIBLE = 1e-7  # what an optimum may violate (1) by, in units of the largest force
CLOSED = 1e-6  # the largest duality gap of an optimum, in the same units
TIGHT = 1e-10  # tolerances that are asked of the solvers

Extremum: TypeAlias = Callable[[Vector], "Optimum"]


@dataclass(frozen=True, eq=False)
class Determinacy:
    """The forces of contacts (n, t[, o[, r]]) and joint rows that make a motion: impulses over the step."""

    problem: ContactProblem
    motion: Vector  # (nv,)    v⁺, or accelerations
    names: tuple[str, ...]  # (n,)   of the components
    rank: int  # of J, all contacts and joint rows together
    null_space: Dense  # (n, k)   orthonormal: forces of contacts and joints that balance each other
    freedom: Dense  # (n, m)   orthonormal: those of them that the motion leaves open
    lower: Vector  # (n,)   [N]
    upper: Vector  # (n,)   [N]
    least: Vector  # (n,)   the admissible forces with the least Σ D x²   [N]
    weights: Vector  # (n,)   D
    gap: float  # the largest duality gap of a limit, a share of the largest force
    unit: str  # of contact forces: N, or none where a ConeProblem does not say

    @property
    def unique(self) -> NDArray[np.bool_]:
        """(n,) the components that have one value."""
        return self.upper - self.lower <= EQUAL * largest(self.least)

    @property
    def determined(self) -> bool:
        """Whether every force is unique."""
        return bool(self.unique.all())

    @property
    def loads(self) -> Indices:
        """The components that are normal forces of contacts or forces of joint rows."""
        columns = self.problem.H.shape[1]
        return np.r_[0 : columns : self.problem.dimension, columns : columns + self.problem.b.size]

    @property
    def loads_determined(self) -> int:
        """How many independent combinations of the loads are determined."""
        varied = np.linalg.svd(self.freedom[self.loads], compute_uv=False)  # of unit columns, so that 1 is large
        return self.loads.size - int((varied > RANK).sum())

    def describe(self) -> str:
        """In words, and the limits of the loads that are not determined."""
        vague = self.loads[~self.unique[self.loads]]
        lines = [self.sentence()] + [f"  {self.names[i]}: {self.limits(i)}" for i in vague[:LISTED]]
        if vague.size > LISTED:
            lines.append(f"  and {vague.size - LISTED} more")
        return "\n".join(lines)

    def sentence(self) -> str:
        contacts, rows, loads = self.problem.contacts, self.problem.b.size, self.loads.size
        who = " and ".join(
            f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((contacts, "contact"), (rows, "joint row")) if n
        )
        single = int(self.unique[self.loads].sum())
        if self.determined:
            return f"{who or 'no contact'}: every force is determined"
        if single == loads:
            return f"{who}: every load is determined, {int((~self.unique).sum())} components along the contacts are not"
        alone = "no single load is" if single == 0 else f"{single} of the loads {'is' if single == 1 else 'are'} unique"
        sentence = f"{who}: only {self.loads_determined} combinations of the {loads} loads are determined, {alone}"
        if not np.isfinite(self.upper - self.lower).all():
            sentence += "; some press on each other as hard as they like"
        return sentence

    @checked(i=whole)
    def limits(self, i: int) -> str:
        """Of one component, in words."""
        rounding = EQUAL * largest(self.least)
        low, high = (0.0 if abs(force) < rounding else force for force in (self.lower[i], self.upper[i]))
        unit = self.unit if i < self.problem.H.shape[1] else ""
        return f"{low:.6g} to {high:.6g} {unit}".rstrip()

    __str__ = describe


@checked(motion=vector, weights=vector, q=vector, v=vector, force=vector, dt=optional(seconds))
def determinacy(
    problem: ContactProblem | ConeProblem | World,
    *,
    motion: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    q: Given = None,
    v: Given = None,
    force: Given = None,
    dt: float | None = STEP,
) -> Determinacy:
    """The range of every force that makes the motion of a problem, of a scene as it stands, or of a system or robot at
    (q, v) with applied forces.

    `motion`: v⁺ of the free rows; where None, the motion that Coulomb's law gives (of a ConeProblem, its own law).
    `weights`: D, of contacts (n, t[, o[, r]]) and then of joint rows; where None, all 1, of spin 1 / e_r². A
    ConeProblem has forces in the unit of its f. The contacts of a world are those of a step of size `dt`, overlaps as
    touching; with dt=None those that touch, and the motion are the accelerations of now.
    """
    if is_world(problem):
        if dt is None:
            now = closed("determinacy", snapshot("determinacy", problem, q, v, force))
            given = accelerations(now) if motion is None else motion
            return of_contact_problem(acceleration_step(now), now.names, "coulomb", given, weights, slips(now))
        formulation = LimitSurface() if has_patches(problem) else Coulomb()
        step, names = named_problem("determinacy", problem, dt, q, v, force, formulation)
        step = replace(step, gap=np.maximum(step.gap, 0.0))
        return of_contact_problem(step, names, "coulomb", motion, weights)
    refuse_state("determinacy", "a problem", q=q, v=v, force=force)
    if isinstance(problem, ContactProblem):
        return of_contact_problem(problem, None, "coulomb", motion, weights)
    if isinstance(problem, ConeProblem):
        if problem.bodies is None:
            raise InputError("determinacy: the ConeProblem has no bodies, expected one made by ConeProblem.from_bodies")
        M, H, f, w = (getattr(problem.bodies, name) for name in ("M", "H", "f", "w"))
        step = ContactProblem(1.0, M, f, np.zeros(f.size), H, problem.mu, w=w)
        if motion is None:  # v⁺ under the law of the problem as posed
            motion = step.velocity_after(Impulses(accurate(problem).x, np.zeros(0)))
        return of_contact_problem(step, None, problem.law, motion, weights, unit="")
    raise InputError(
        f"determinacy: the problem is {shown(problem)}, expected a ContactProblem, a ConeProblem, a Scene, a "
        f"System or a Robot"
    )


def accelerations(now: Snapshot) -> Vector:
    """v̇ of contacts that touch; where Coulomb's law has none or several it is refused."""
    slip = slips(now)
    if not slip.any():
        return solved_motion(acceleration_step(now))
    if now.contacts == 1 and now.dimension < 4:
        found = solvability(*cone_problem(now))
        if found.count != 1:
            raise InputError(f"determinacy: there is not one motion: {found.certificate}; expected motion=")
        forces = found.solutions[0].force
    else:
        forces = accurate(of_snapshot(now).problem).x.reshape(-1, 4)[:, : now.dimension].ravel()
    return response(now.at, (now.force - now.at.bias + now.at.A.T @ forces)[:, None])[:, 0] + drift(now.at)


def of_contact_problem(
    problem: ContactProblem,
    contacts: tuple[str, ...] | None,  # their names
    law: Law,
    motion: ArrayLike | None,
    weights: ArrayLike | None,
    slip: Dense | None = None,
    unit: str = "N",
) -> Determinacy:
    problem = replace(problem, restitution=np.zeros(problem.contacts), compliance=np.zeros(problem.b.size))
    if negative_share(problem.M) > FEW_DIGITS:
        raise InputError("determinacy: M is not positive definite, expected a mass matrix")
    D = even_weights(problem) if weights is None else vector("determinacy", "weights", weights)
    check_weights(problem, D)
    v = solved_motion(problem) if motion is None else vector("determinacy", "motion", motion, problem.v.size)
    face = Face.of(problem, D, v, law, slip)
    least, defect = nearest(problem, v, face)
    if not defect <= ENOUGH:
        raise InputError(
            f"determinacy: no forces within the friction cones make this motion (the best miss it by {defect:.1e})"
        )
    J = np.hstack([as_dense(problem.H), as_dense(problem.G)])
    lower, upper, gap = ranges(J, face, least)
    basis = face.basis[:, face.basis.any(axis=0)]  # contacts without a patch have no moment
    h = problem.h
    return Determinacy(
        problem=problem,
        motion=v,
        names=component_names(problem, contacts),
        rank=rank_of(J, RANK),
        null_space=null_space(J, RANK),
        freedom=np.linalg.qr(basis @ null_space(J @ basis, RANK))[0],
        lower=lower / h,
        upper=upper / h,
        least=least / h,
        weights=D,
        gap=gap,
        unit=unit,
    )


def component_names(problem: ContactProblem, contacts: tuple[str, ...] | None) -> tuple[str, ...]:
    contacts = contacts or tuple(f"contact {i}" for i in range(problem.contacts))
    parts = ("normal", "tangent", "other tangent", "spin")[: problem.dimension]
    joints = tuple(f"joint row {j}" for j in range(problem.b.size))
    return tuple(f"{contact}, {part}" for contact in contacts for part in parts) + joints


def solved_motion(problem: ContactProblem) -> Vector:
    """v⁺ under Coulomb's law, over patches that of their limit surfaces."""
    formulation = LimitSurface(stabilisation=GAP) if problem.dimension == 4 else Coulomb(stabilisation=GAP)
    return problem.velocity_after(formulation.impulses(problem, accurate(formulation.pose(problem)).x))


# the programs


class Optimum(NamedTuple):
    """min cᵀ y over the admissible y, or -inf."""

    y: Vector  # that attains it; where unbounded a direction of descent
    value: float
    dual: float  # a lower bound


@dataclass(frozen=True, eq=False)
class Program:
    """Admissible y of x = fixed + basis y:  B y = B y₀, y in the cones and intervals of the face.  y₀ has size 1."""

    B: Dense  # (rank, m)   orthonormal rows
    y0: Vector
    face: Face  # with bounds of y in the same unit

    @property
    def polyhedral(self) -> bool:
        return self.face.dimension == 2 or self.face.cones.size == 0

    def violation(self, y: Vector, homogeneous: bool = False) -> float:
        """How far y is from being admissible; of a direction y, from being one that never leaves."""
        target, low, high = self.B @ self.y0, self.face.lower, self.face.upper
        if homogeneous:
            target = np.zeros_like(target)
            low, high = (np.where(np.isfinite(bound), 0.0, bound) for bound in (low, high))
        d, worst = self.face.dimension, [0.0]
        for first, mu in zip(self.face.cones, self.face.mu, strict=True):
            worst.append(float(np.linalg.norm(y[first + 1 : first + d])) - mu * y[first])
        worst += [np.abs(self.B @ y - target).max(initial=0.0), (low - y).max(initial=0.0), (y - high).max(initial=0.0)]
        return float(np.max(worst))


def ranges(J: Dense, face: Face, x0: Vector) -> tuple[Vector, Vector, float]:
    """lower and upper of (2), and the largest duality gap."""
    lower, upper, worst = x0.copy(), x0.copy(), 0.0
    moves = np.abs(face.basis @ null_space(J @ face.basis, RANK))
    open_rows = np.flatnonzero(moves.max(axis=1, initial=0.0) > RANK)
    if open_rows.size == 0:
        return lower, upper, worst
    squares = (face.basis**2).sum(axis=0)
    y0 = face.basis.T @ (x0 - face.fixed) / np.where(squares > 0, squares, 1.0)
    program, size, minimise = programs(J, face, y0)
    for i in open_rows:
        c = face.basis[i]
        below, above = verified(program, c, minimise(c)), verified(program, -c, minimise(-c))
        lower[i], upper[i] = face.fixed[i] + size * below.value, face.fixed[i] - size * above.value
        worst = max([worst, *(o.value - o.dual for o in (below, above) if np.isfinite(o.value))])
    return lower, upper, worst


def programs(J: Dense, face: Face, y0: Vector) -> tuple[Program, float, Extremum]:
    """The admissible y around one of them, the size that they are divided by, and what minimises cᵀ y over them."""
    size = largest(y0)
    _, S, B = np.linalg.svd(J @ face.basis, full_matrices=False)
    scaled = replace(face, lower=face.lower / size, upper=face.upper / size)
    program = Program(B[RANK * S.max(initial=0.0) < S], y0 / size, scaled)
    return program, size, linear_program(program) if program.polyhedral else conic_program(program)


def verified(program: Program, c: Vector, found: Optimum) -> Optimum:
    """The optimum, or an error where it is not one."""
    if np.isinf(found.value):
        good = program.violation(found.y, homogeneous=True) <= ADMISSIBLE * -float(c @ found.y)
    else:
        good = program.violation(found.y) <= ADMISSIBLE and found.value - found.dual <= CLOSED
    if not good:
        raise RangeFailed("determinacy: the limits of a force were not found to seven digits")
    return found


def linear_program(program: Program) -> Extremum:
    """By HiGHS; a cone in the plane is two half-spaces."""
    from scipy.optimize import linprog

    face, m = program.face, program.y0.size
    sides = np.zeros((2 * face.cones.size, m))
    for k, (first, mu) in enumerate(zip(face.cones, face.mu, strict=True)):
        sides[2 * k : 2 * k + 2, first] = -mu
        sides[2 * k : 2 * k + 2, first + 1] = 1.0, -1.0
    b = program.B @ program.y0
    bounds = np.column_stack([face.lower, face.upper])
    options = {"primal_feasibility_tolerance": TIGHT, "dual_feasibility_tolerance": TIGHT}

    def minimise(c: Vector) -> Optimum:
        answer = linprog(c, sides, np.zeros(len(sides)), program.B, b, bounds, "highs", options=options)
        if answer.status == 3:
            return Optimum(receding(c), -np.inf, -np.inf)
        if answer.status != 0:
            return Optimum(program.y0, np.nan, np.nan)
        dual = b @ answer.eqlin.marginals
        for part, bound in ((answer.lower, face.lower), (answer.upper, face.upper)):
            held = np.isfinite(bound)
            dual += part.marginals[held] @ bound[held]
        return Optimum(answer.x, float(answer.fun), float(dual))

    def receding(c: Vector) -> Vector:
        """A direction of the recession cone in a box, along which cᵀ y falls."""
        low, high = (np.where(np.isfinite(bound), 0.0, s) for bound, s in ((face.lower, -1.0), (face.upper, 1.0)))
        box = np.column_stack([low, high])
        answer = linprog(c, sides, np.zeros(len(sides)), program.B, 0 * b, box, "highs", options=options)
        return np.zeros(m) if answer.x is None else answer.x

    return minimise


def conic_program(program: Program) -> Extremum:
    """By Clarabel, set up once; only the objective changes."""
    one = np.ones(program.y0.size)
    within = program.face.conic(program.B, program.B @ program.y0, one)
    solver = conic_solver(None, 0.0 * one, *within, exact=TIGHT, presolve_enable=False)

    def minimise(c: Vector) -> Optimum:
        solver.update(q=c)
        answer = solver.solve()
        y = np.array(answer.x)
        if str(answer.status) in ("DualInfeasible", "AlmostDualInfeasible"):
            return Optimum(y / largest(y), -np.inf, -np.inf)
        return Optimum(y, float(answer.obj_val), float(answer.obj_val_dual))

    return minimise
