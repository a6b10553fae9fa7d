"""The stiff limit of compliant contacts: which of the many impulses of a rigid problem springs choose.

With x = (p, λ) the impulses of contacts and joint rows, J = (H, G) and K the friction cones and bounds, compliances s D
make the step of friction/compliant_cone.py

    x in K:   (Jᵀ v⁺ + c + s D x)ᵀ (y - x) >= 0  for all y in K,      M v⁺ = f + J x                            (1)

uniquely solvable. As s -> 0, v⁺ tends to the velocity v* of the rigid problem, which is unique, and x to the one of its
many impulses that minimises xᵀ D x [1]. The rigid solutions are the x of

    J x = M v* - f,     x in the face of K that u* = Jᵀ v* + c leaves open                                     (2)

contact by contact: the whole cone where u* = 0, the ray against the sliding velocity where u*_n = μ |u*_t| > 0 (under
Coulomb's law u*_n = 0), and zero where the contact opens. A bounded joint row is at its bound where it moves. So the
limit is a projection: with z = D^½ x and an orthonormal basis B of the rows of J D^-½ the nearest point to 0 of
{z in C : B z = b}. Its dual is smooth and convex in as many unknowns as B has rows,

    B P_C(Bᵀ y) = b,                                                                                           (3)

and Newton's method with a line search solves it to rounding. C stays a product of round cones only if both tangents of
a contact have the same weight; where they have not, and as a check elsewhere, the same is solved as a conic program,

    min xᵀ D x   over (2),                                                                                     (4)

to the accuracy of Clarabel. Spin over a patch e_r has the weight of its tangents over e_r². At acceleration level
forces take the place of impulses, and a contact that slides already has the ray against its slip. Over patches the
limit is known where none of them slides: there the law of the paper and Coulomb's have the same motion.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011,
    (24).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.checks import checked, optional, shown, vector
from stickslip.dynamics.generalized import Given
from stickslip.engine.arguments import is_world, refuse_state, seconds
from stickslip.engine.snapshot import World, acceleration_step, closed, friction_sizes, has_patches, slips, snapshot
from stickslip.engine.step_problem import named_problem
from stickslip.errors import InputError, SolveFailed
from stickslip.friction.active import contact_terms
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.elimination import with_diagonal
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.stabilisation import GAP
from stickslip.problems.cone import Law
from stickslip.problems.matrix import Dense, Vector, as_dense
from stickslip.problems.residual import project_cone
from stickslip.solvers.conic import conic_solver
from stickslip.solvers.solution import Solution
from stickslip.solvers.solve import solve

STEP = 1e-3  # of the ContactProblem that a world is looked at through   [s]
TOL = 1e-13  # asked of the rigid and of the regularised problems, which rounding may not allow
RESTS = 1e-8  # velocities below this share of the largest are zero
RANK = 1e-10  # singular values of J D^-½ below this share of the largest are zero
STEPS = 200  # of Newton's method
PATIENT = 1e-13  # tolerance of the conic program
NOISE = 1e-6  # momentum of contacts below this share of all is rounding: none of them presses
SPRINGS = "stiffness", "damping", "stiffness_tangent", "damping_tangent"  # of contacts, which are rigid where None
ACCURATE, ENOUGH = 1e-14, 1e-9  # defect of (3) at which it ends, and residual that every answer must have


@dataclass(frozen=True, eq=False)
class StiffLimit:
    """The weighted minimum-norm solution of a rigid step, and the way there."""

    problem: ContactProblem
    weights: Vector  # (d nc + nj,)   D
    impulses: Impulses
    rigid: Solution  # of the rigid problem, one of many
    residual: float  # |J x - (M v* - f)| relative to the right side

    @property
    def forces(self) -> Vector:
        """Of contacts and joint rows, (d nc + nj,): impulses over the step   [N, N m]."""
        return np.concatenate(self.impulses) / self.problem.h

    def path(self, scales: ArrayLike) -> Dense:
        """Forces with the compliances s D, a row for each scale s > 0."""
        return np.array([np.concatenate(self.regularised(s)) / self.problem.h for s in np.atleast_1d(scales)])

    @property
    def program(self) -> Vector:
        """The forces once more, by the conic program (4) instead of Newton's method on (3)."""
        v = self.problem.velocity_after(self.impulses)
        face = Face.of(self.problem, self.weights, v, "associated")
        return nearest(self.problem, v, face, conic=True)[0] / self.problem.h

    def regularised(self, scale: float) -> Impulses:
        """Impulses of (1)."""
        if not 0 < scale < np.inf:
            raise InputError(f"StiffLimit: a scale is {scale:g}, expected a positive number")
        return compliant_step(self.problem, scale * self.weights)[0]

    def errors(self, scales: ArrayLike) -> Vector:
        """The largest difference of a force on the path from its limit, for each scale   [N]."""
        return np.abs(self.path(scales) - self.forces).max(axis=1, initial=0.0)

    def orders(self, scales: Sequence[float]) -> Vector:
        """By which power of s the error falls from each scale to the next: 1 in the limit."""
        errors, s = self.errors(scales), np.asarray(scales, np.float64)
        return np.diff(np.log(errors)) / np.diff(np.log(s))


@checked(weights=vector, q=vector, v=vector, force=vector, dt=optional(seconds))
def stiff_limit(
    problem: ContactProblem | World,
    weights: ArrayLike | None = None,
    *,
    q: Given = None,
    v: Given = None,
    force: Given = None,
    dt: float | None = STEP,
) -> StiffLimit:
    """The limit of stiff springs for the given weights, the compliances of contacts (n, t[, o]) and then of joint rows.

    Of a ContactProblem, or of the step of size `dt` that a scene as it stands, or a system or robot at (q, v) makes
    next; with dt=None of the forces and accelerations of now, of contacts at rest. Without weights they are those of
    the problem: of its stiffnesses and dampings, and its joint compliances; where all of it is rigid, equal ones.
    """
    if not is_world(problem):
        refuse_state("stiff_limit", "a problem", q=q, v=v, force=force)
    else:
        problem = world_step("stiff_limit", problem, q, v, force, dt)
    if not isinstance(problem, ContactProblem):
        raise InputError(
            f"stiff_limit: the problem is {shown(problem)}, expected a ContactProblem, a Scene, a System or a Robot"
        )
    problem = replace(problem, restitution=np.zeros(problem.contacts))
    D = own_weights(problem) if weights is None else vector("stiff_limit", "weights", weights)
    check_weights(problem, D)
    impulses, rigid = compliant_step(problem, np.zeros_like(D)) if problem.dimension < 4 else patched_step(problem)
    v = problem.velocity_after(impulses)
    face = Face.of(problem, D, v, "associated")
    pressed = impulses.p[:: problem.dimension] > RESTS * float(np.abs(impulses.p).max(initial=0.0))
    if problem.dimension == 4 and face.cones.size < np.count_nonzero(problem.mu[pressed] > 0):
        raise InputError("stiff_limit: a contact over a patch slides, expected all of them at rest")
    x, defect = nearest(problem, v, face)
    if not defect <= ENOUGH:
        raise SolveFailed(f"stiff_limit: the minimum-norm solution has a defect of {defect:.1e}, not {ENOUGH:g}", rigid)
    columns = problem.H.shape[1]
    return StiffLimit(problem, D, Impulses(x[:columns], x[columns:]), rigid, defect)


def world_step(owner: str, world: World, q: Given, v: Given, force: Given, dt: float | None) -> ContactProblem:
    """The problem of a step, overlaps taken as touching; without a step that of the accelerations."""
    if dt is not None:
        step = named_problem(owner, world, dt, q, v, force, LimitSurface() if has_patches(world) else None)[0]
        return replace(step, gap=np.maximum(step.gap, 0.0))
    now = closed(owner, snapshot(owner, world, q, v, force))
    sliding = np.flatnonzero(slips(now).any(axis=1))
    if sliding.size:
        name = now.names[int(sliding[0])]
        raise InputError(f"{owner}: {name} slides, expected contacts at rest at acceleration level; a step has both")
    return acceleration_step(now)


def even_weights(problem: ContactProblem) -> Vector:
    """1 of every component, 1 / e_r² of spin."""
    e = friction_sizes(problem)
    own = np.column_stack([np.ones(problem.contacts), 1 / np.where(e > 0, e, 1.0) ** 2])
    return np.concatenate([own.ravel(), np.ones(problem.b.size)])


def own_weights(problem: ContactProblem) -> Vector:
    """The compliances of the problem; equal ones where all is rigid."""
    terms = contact_terms(problem, CompliantCone().law(problem.h))
    e = friction_sizes(problem)
    tangents = terms.compliance_tangent[:, None] / np.where(e > 0, e, 1.0) ** 2
    D = np.concatenate([np.column_stack([terms.compliance, tangents]).ravel(), problem.compliance])
    return D if D.any() else even_weights(problem)


def check_weights(problem: ContactProblem, D: Vector) -> None:
    size = problem.H.shape[1] + problem.b.size
    if D.size != size:
        raise InputError(
            f"stiff_limit: weights has {D.size} entries, expected {size}: contact components and joint rows"
        )
    if not (D > 0).all():
        i = int(np.argmin(D > 0))
        raise InputError(
            f"stiff_limit: weights[{i}] is {D[i]:g}, expected a positive compliance: from stiffness and "
            "stiffness_tangent of every contact and compliance of every joint row, from none of them, or as weights="
        )
    if problem.dimension == 4:
        tangents = D[: problem.H.shape[1]].reshape(-1, 4)[:, 1:]
        spin = tangents[:, 2] * problem.patch**2
        uneven = (problem.patch > 0) & (np.abs(spin - tangents[:, 0]) > RANK * tangents[:, 0])
        uneven |= tangents[:, 0] != tangents[:, 1]
        if uneven.any():
            i = int(np.argmax(uneven))
            raise InputError(
                f"stiff_limit: the tangents of contact {i}, which has a patch, have weights {tangents[i]}, expected "
                "equal ones"
            )


def compliant_step(problem: ContactProblem, D: Vector) -> tuple[Impulses, Solution]:
    """(1) with compliances D, which may be zero."""
    if problem.dimension == 4:
        raise InputError("StiffLimit: contacts have patches, expected points for the way to the limit")
    columns = problem.H.shape[1]
    rigid: dict[str, Any] = dict.fromkeys(SPRINGS)
    step = replace(problem, compliance=D[columns:], **rigid)
    formulation = CompliantCone()
    posed = formulation.pose(step)
    soft = np.zeros(posed.size)
    soft[:columns] = D[:columns]
    answer = accurate(replace(posed, W=with_diagonal(posed.W, soft)))
    return formulation.impulses(step, answer.x), answer


def patched_step(problem: ContactProblem) -> tuple[Impulses, Solution]:
    """The rigid step of contacts over patches. Where none of them slides, both laws have the same motion."""
    formulation = LimitSurface(stabilisation=GAP)
    answer = accurate(formulation.pose(problem))
    return formulation.impulses(problem, answer.x), answer


def accurate(problem: Any) -> Solution:
    """The answer of a problem, to ENOUGH at least."""
    answer = solve(problem, tol=TOL)
    return answer if answer.residual <= ENOUGH else answer.require()


def nearest(problem: ContactProblem, v: Vector, face: Face, conic: bool = False) -> tuple[Vector, float]:
    """The x of (2) that minimises xᵀ D x, and the relative defect of its momentum; by (4) where `conic`, or where the
    tangents of a contact have weights that differ."""
    J = np.hstack([as_dense(problem.H), as_dense(problem.G)])
    momentum = as_dense(problem.M) @ v - problem.f
    root = np.sqrt(face.weights)
    U, S, B = np.linalg.svd(J @ face.basis / root, full_matrices=False)
    kept = RANK * S.max(initial=0.0) < S
    b = (U.T @ (momentum - J @ face.fixed))[kept] / S[kept]
    uneven = any(face.weights[first + 1] != face.weights[first + 2] for first in face.cones if face.dimension == 3)
    z = (nearest_by_program if conic or uneven else project_onto_slice)(B[kept], b, face, root)
    x = face.fixed + face.basis @ (z / root)
    size = max(float(np.linalg.norm(momentum)), NOISE * float(np.linalg.norm(problem.f))) or 1.0
    return x, float(np.linalg.norm(J @ x - momentum)) / size


@dataclass(frozen=True, eq=False)
class Face:
    """x = fixed + basis y, y in a product of cones and intervals, with the weights of y."""

    fixed: Vector  # (n,)
    basis: Dense  # (n, m)
    weights: Vector  # (m,)
    cones: NDArray[np.int64]  # first coordinates of the cones, d each
    mu: Vector  # of the cones
    dimension: int
    lower: Vector  # (m,)   of y; infinite for the coordinates of cones
    upper: Vector  # (m,)

    @classmethod
    def of(cls, problem: ContactProblem, D: Vector, v: Vector, law: Law, given: Dense | None = None) -> Face:
        """What the velocities v of the rigid problem leave open, where what slides lifts (associated) or does not.
        `given`: slips (nc, d - 1) of contacts that slide already, zero for the others."""
        d, columns, n = problem.dimension, problem.H.shape[1], D.size
        mu = contact_terms(problem, CompliantCone().law(problem.h)).mu
        e = friction_sizes(problem)
        u = (problem.H.T @ v + problem.w).reshape(-1, d)
        u[:, 0] += problem.gap / problem.h
        u[:, 1:] *= e
        slides = np.zeros(problem.contacts, bool) if given is None else (given != 0).any(axis=1)
        mu = np.where(slides, problem.mu_kinetic, mu)
        g = problem.G.T @ v + problem.b
        lift = mu if law == "associated" else np.zeros_like(mu)
        free = problem.inverse_mass(problem.f)  # without impulses
        speeds = u, g, problem.H.T @ free, problem.G.T @ free
        small = RESTS * max(float(np.abs(speed).max(initial=0.0)) for speed in speeds)
        directions: list[Vector] = []
        cones, cone_mu, bounds = [], [], []
        fixed = np.zeros(n)
        for i in range(problem.contacts):
            along = e[i] * given[i] if given is not None and slides[i] else u[i, 1:]
            slip = float(np.linalg.norm(along))
            if u[i, 0] - lift[i] * slip > small:
                continue
            if mu[i] > 0 and slip <= small and not slides[i]:
                cones.append(len(directions))
                cone_mu.append(mu[i])
                directions += list(np.eye(n)[d * i : d * i + d] * np.concatenate([[1.0], e[i]])[:, None])
                bounds += d * [(-np.inf, np.inf)]
                continue
            ray = np.zeros(n)
            ray[d * i] = 1.0
            if mu[i] > 0:
                ray[d * i + 1 : d * i + d] = -mu[i] * e[i] * along / slip
            directions.append(ray)
            bounds.append((0.0, np.inf))
        for j in range(n - columns):
            low, high = problem.lower[j], problem.upper[j]
            if np.isfinite(low) and g[j] > small:
                fixed[columns + j] = low
            elif np.isfinite(high) and g[j] < -small:
                fixed[columns + j] = high
            else:
                directions.append(np.eye(n)[columns + j])
                bounds.append((low, high))
        basis = np.array(directions).reshape(len(directions), n).T
        lower, upper = np.array(bounds, np.float64).reshape(-1, 2).T.copy()
        return cls(
            fixed=fixed,
            basis=basis,
            weights=np.where(basis.any(axis=0), D @ basis**2, 1.0),
            cones=np.array(cones, np.int64),
            mu=np.array(cone_mu),
            dimension=d,
            lower=lower,
            upper=upper,
        )

    def conic(self, B: Dense, b: Vector, root: Vector, size: float = 1.0) -> tuple[Dense, Vector, list[Any]]:
        """The z = root y / size of the face with B z = b, as rows, right side and cones of `conic_solver`."""
        import clarabel

        eye, d, (low, high) = np.eye(root.size), self.dimension, map(np.isfinite, (self.lower, self.upper))
        rows = [B, -eye[low], eye[high]]
        right = [b, -(root * self.lower)[low] / size, (root * self.upper)[high] / size]
        cones = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(int(low.sum() + high.sum()))]
        for first, mu in zip(self.cones, self.mu, strict=True):
            part = slice(first, first + d)
            rows.append(-(np.append(mu, np.ones(d - 1)) / root[part])[:, None] * eye[part])
            right.append(np.zeros(d))
            cones.append(clarabel.SecondOrderConeT(d))
        return np.vstack(rows), np.concatenate(right), cones


def project_onto_slice(B: Dense, b: Vector, face: Face, root: Vector) -> Vector:
    """The nearest point to 0 of {z in C : B z = b} by Newton's method on (3); B has orthonormal rows."""
    y = b.copy()
    z, slope = project(B.T @ y, face, root)
    for _ in range(STEPS):
        defect = B @ z - b
        size = float(np.linalg.norm(defect))
        if size <= ACCURATE * np.linalg.norm(b):
            break
        matrix = B @ slope @ B.T
        step = -np.linalg.solve(matrix + min(1e-6, size) * np.eye(b.size), defect)
        before, length = dual(B.T @ y, z) - b @ y, 1.0
        descent = defect @ step
        while length > 1e-10:
            y_new = y + length * step
            z, slope = project(B.T @ y_new, face, root)
            if dual(B.T @ y_new, z) - b @ y_new <= before + 1e-4 * length * descent + 1e-15 * abs(before):
                break
            length *= 0.5
        y = y_new
    return z


def nearest_by_program(B: Dense, b: Vector, face: Face, root: Vector) -> Vector:
    """The same by (4): min |z|² over B z = b, z in C."""
    n, size = root.size, float(np.abs(b).max(initial=0.0)) or 1.0
    program = conic_solver(np.eye(n), np.zeros(n), *face.conic(B, b / size, root, size), exact=PATIENT)
    return size * np.array(program.solve().x)


def dual(point: Vector, z: Vector) -> float:
    """½ |point|² - ½ |point - z|², convex, with the gradient z = P_C(point)."""
    return float(0.5 * point @ point - 0.5 * (point - z) @ (point - z))


def project(point: Vector, face: Face, root: Vector) -> tuple[Vector, Dense]:
    """P_C(point) in the scaled coordinates z = root y, and its derivative."""
    low, high = root * face.lower, root * face.upper
    z = np.clip(point, low, high)
    slope = np.diag(((point > low) & (point < high)).astype(np.float64))
    d = face.dimension
    for first, mu in zip(face.cones, face.mu, strict=True):
        part = slice(first, first + d)
        scaled = mu * root[first + 1] / root[first]
        z[part], slope[part, part] = cone_projection(point[part], scaled)
    return z, slope


def cone_projection(point: Vector, mu: float) -> tuple[Vector, Dense]:
    """The nearest point of the cone |r_t| <= μ r_n, and its derivative."""
    d = point.size
    length = float(np.linalg.norm(point[1:]))
    normal, tangent, _ = project_cone(mu, point[0], length, 0.0)
    near = np.concatenate([[normal], tangent * point[1:] / length if length > 0 else np.zeros(d - 1)])
    if not near.any():
        return near, np.zeros((d, d))
    if length <= mu * point[0]:
        return near, np.eye(d)
    along = np.concatenate([[1.0], mu * point[1:] / length])
    slope = np.outer(along, along) / (1.0 + mu * mu)
    turn = np.eye(d - 1) - np.outer(point[1:], point[1:]) / length**2
    slope[1:, 1:] += mu * near[0] / length * turn
    return near, slope
