"""Has a friction problem a solution? A condition that suffices, and a certificate for each answer.

Let W be positive semidefinite, symmetric or not. If

    some v has  Hᵀ v + w  in the interior of K*,    K* = {u : u_n >= μ |u_t|}  contact by contact                 (1)

then Coulomb's problem has a solution, and so has the associated one [1, 2]. In words: some motion of the bodies opens
every contact, steeper than the friction angle. (1) is a conic feasibility problem, and by duality it fails exactly if

    some r ∈ K other than 0 has  H r = 0  and  wᵀ r <= 0:    a grip, contacts that press on each other and move nothing.

Without (1) there may still be a solution: the verdict is then "not guaranteed". `refuted` says that there is none: the
grip's contacts press straight at each other, and w makes them close. Why (1) suffices: the problem is the variational
inequality of F(r) = u + μ |u_t| e_n over K, F continuous, and rᵀ F(r) >= rᵀ W r + qᵀ r. Were there r ∈ K
of any length with rᵀ F(r) < 0, a limit d of r / |r| would have dᵀ W d = 0, so H d = 0, and qᵀ d = wᵀ d <= 0: a grip.
So they are bounded, and then there is a solution [3, proposition 2.2.3].

Where no bodies are given, W + Wᵀ and q stand for Hᵀ and w: (W + Wᵀ) d = 0 says the same as dᵀ W d = 0, and for
W = Hᵀ M⁻¹ H the ranges of W + Wᵀ and Hᵀ are the same. An immediate case needs none of this: r = 0 solves the problem
if the free velocities open every contact.

Computed in numbers without units: each contact and each column of Hᵀ is scaled to length 1, the cones all become
{s_n >= |s_t|}. With C = scaled Hᵀ, y = scaled w of largest entry 1, and a share τ >= 0 of w (τ = 0 for a motion that
opens every contact whatever w is), the margin of (1) is

    max t over C v + τ y - t e_n ∈ cone, |v_i| <= 1, τ <= 1 = min |Cᵀ z|_1 + max(yᵀ z, 0) over z ∈ cone, Σ z_n = 1.

First v is looked for by descent on the squared distance of C v + τ y - e_n to the cone, which costs next to nothing
and finds most motions; where it finds none, the program above is solved by Clarabel's interior point method [4].
Neither is believed: a motion counts if it is inside by more than the rounding of W, and a grip if |Cᵀ z|_1 +
max(yᵀ z, 0), which no margin can exceed, is below `LEAK`.

[1] Acary, Cadoux, Lemaréchal, Malick, A formulation of the linear discrete Coulomb friction problem via convex
    optimization, Zeitschrift für Angewandte Mathematik und Mechanik 91 (2011) 155-175.
[2] Klarbring, Pang, Existence of solutions to discrete semicoercive frictional contact problems, SIAM Journal on
    Optimization 8 (1998) 414-442.
[3] Facchinei, Pang, Finite-Dimensional Variational Inequalities and Complementarity Problems, Springer 2003.
[4] Goulart, Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives, arXiv:2405.12762.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Dense, Matrix, Sparse, Vector, as_dense, as_sparse
from stickslip.solvers.conic import conic_solver
from stickslip.solvers.linear import cholesky, ldl, suits_lapack

ROUNDING = 1e-11  # of the terms that a velocity is the sum of: what is less is taken for zero
FEW_DIGITS = 1e-5  # negative eigenvalues of W up to this share are digits lost when it was written down, six in FCLIB
LEAK = 1e-7  # a grip may move the scaled bodies by this share of its normal impulses
FAST = 1e4  # times the velocities of w: a solution that needs more is ruled out
DEEP = 0.1  # descent aims at depth 1 and ends here
DESCENTS = 500  # steps of descent before Clarabel is asked


@dataclass(frozen=True, eq=False)
class Existence:
    """Whether a solution is guaranteed, why, and the certificate: a motion `v` that opens all contacts, or a `grip`."""

    verdict: Literal["exists", "not guaranteed"]
    reason: str
    margin: float = 0.0  # the depth inside K* that v reaches, in the units of (1)'s scaled program; 1 is deep
    v: Vector | None = None  # Hᵀ v + w is inside K*; without bodies (W + Wᵀ) v + q is
    grip: Vector | None = None  # r ∈ K, H r = 0 (or (W + Wᵀ) r = 0), wᵀ r <= 0, its largest entry 1
    refuted: bool = False  # the grip shows that there is no solution at all

    @property
    def guaranteed(self) -> bool:
        return self.verdict == "exists"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


def cone_existence(problem: ConeProblem) -> Existence:
    """Is a solution of this friction problem guaranteed? The certificate of the answer is verified in plain NumPy."""
    if opens_freely(problem):
        return Existence("exists", "the free velocities open every contact, so zero impulses are a solution")
    noise = negative_share(problem.W if problem.bodies is None else problem.bodies.M)
    if noise > FEW_DIGITS:
        name = "W" if problem.bodies is None else "the mass matrix M"
        return Existence("not guaranteed", f"{name} is not positive semidefinite, so the theorem says nothing about it")
    program = scaled_program(problem, problem.mu)
    found = certified(problem, program, *descend(program), noise)
    if found is None:
        v, share, z = maximise_depth(program)
        found = certified(problem, program, v, share, noise) or gripped(problem, program, z)
    return found if noise <= ROUNDING else in_few_digits(found, noise)


def opens_freely(problem: ConeProblem) -> bool:
    """Does r = 0 solve the problem?"""
    u = problem.q.reshape(-1, problem.dimension)
    slope = problem.mu - problem.shift  # zero under Coulomb's law: u_n >= 0 is all that r = 0 needs
    return bool((u[:, 0] >= slope * np.linalg.norm(u[:, 1:], axis=1)).all())


def negative_share(matrix: Matrix) -> float:
    """The share by which the diagonal is raised to make the matrix semidefinite: ROUNDING, FEW_DIGITS or inf."""
    S = unit_diagonal(matrix)
    diagonal = S.diagonal()
    if (diagonal < 0).any() or np.any(S[diagonal == 0].data):  # a zero on the diagonal asks for a zero row
        return np.inf
    identity = sparse.eye_array(S.shape[0])
    return next((e for e in (ROUNDING, FEW_DIGITS) if definite(sparse.csr_array(S + e * identity))), np.inf)


def unit_diagonal(matrix: Matrix) -> Sparse:
    """The symmetric part, scaled by a diagonal from both sides to have ones where its diagonal is positive."""
    S = as_sparse(matrix)
    S = (S + S.T) / 2
    diagonal = S.diagonal()
    scale = sparse.diags_array(1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))
    return sparse.csr_array(scale @ S @ scale)


def definite(S: Sparse) -> bool:
    """Are all pivots of the symmetric matrix positive?"""
    if suits_lapack(S):
        return cholesky(as_dense(S)) is not None
    factor = ldl(S)
    return factor is not None and bool((factor.qdldl.factors()[1] > 0).all())


@dataclass(frozen=True, eq=False)
class ScaledProgram:
    """C v + τ y ∈ {s : s_n >= |s_t|} contact by contact, the scaled form of Hᵀ v + w ∈ K*."""

    C: Sparse  # (d nc, nv)  rows · Hᵀ · columns
    y: Vector  # (d nc,)     rows · w · share
    rows: Vector  # (d nc,)  what velocities are multiplied by
    columns: Vector  # (nv,) what v is multiplied by
    share: float  # what τ is multiplied by
    mu: Vector
    d: int

    @cached_property
    def transposed(self) -> Sparse:
        return sparse.csr_array(self.C.T)

    def velocities(self, v: Vector, share: float) -> Dense:
        return (self.C @ v + share * self.y).reshape(-1, self.d)


def scaled_program(problem: ConeProblem, mu: Vector) -> ScaledProgram:
    if problem.bodies is None:
        map_, w = sparse.csr_array(as_sparse(problem.W) + as_sparse(problem.W).T), problem.q
    else:
        map_, w = sparse.csr_array(problem.bodies.H.T), problem.bodies.w
    return program_of(map_, w, mu, problem.dimension)


def program_of(map_: Sparse, w: Vector, mu: Vector, d: int) -> ScaledProgram:
    """The scaled form of  map v + w ∈ K*,  d components a contact."""
    squares = map_.multiply(map_).sum(axis=1).reshape(-1, d).sum(axis=1)
    length = np.where(squares > 0, np.sqrt(squares), np.linalg.norm(w.reshape(-1, d), axis=1))  # of a contact's rows
    steepness = np.column_stack([np.ones_like(mu)] + [mu] * (d - 1)) / np.hypot(1.0, mu)[:, None]
    rows = (steepness / nonzero(length)[:, None]).ravel()
    C = sparse.csr_array(sparse.diags_array(rows) @ map_)
    columns = 1 / nonzero(np.sqrt(C.multiply(C).sum(axis=0)))
    share = float(1 / nonzero(np.abs(rows * w).max(initial=0.0)))
    return ScaledProgram(
        sparse.csr_array(C @ sparse.diags_array(columns)), rows * w * share, rows, columns, share, mu, d
    )


def nonzero(scale: Vector) -> Vector:
    """The scales, with 1 for those that are zero."""
    return np.where(scale > 0, scale, 1.0)


def depth(s: Dense) -> Vector:
    """How far s is inside the cone {s_n >= |s_t|}, contact by contact; negative outside."""
    return s[:, 0] - np.linalg.norm(s[:, 1:], axis=1)


def descend(program: ScaledProgram) -> tuple[Vector, float]:
    """v and τ that lower ½ dist²(C v + τ y - e_n, cone) until each contact is inside by DEEP, or DESCENTS steps."""
    from scipy import optimize

    n = program.C.shape[1]

    def distance(x: Vector) -> tuple[float, Vector]:
        outside = beyond_the_cone(program.velocities(x[:n], x[n]) - unit_normals(program))
        g = outside.ravel()
        return 0.5 * float(g @ g), np.append(program.transposed @ g, program.y @ g)

    def stop_when_deep(x: Vector) -> None:
        if depth(program.velocities(x[:n], x[n])).min() >= DEEP:
            raise StopIteration

    bounds = optimize.Bounds(np.append(np.full(n, -np.inf), 0.0), np.inf)
    options = {"maxiter": DESCENTS, "maxfun": 2 * DESCENTS, "ftol": 0.0, "gtol": 0.0}
    x = optimize.minimize(
        distance, np.zeros(n + 1), jac=True, method="L-BFGS-B", bounds=bounds, callback=stop_when_deep, options=options
    ).x
    return x[:n], float(x[n])


def unit_normals(program: ScaledProgram) -> Dense:
    return np.eye(1, program.d).repeat(program.mu.size, axis=0)


def beyond_the_cone(s: Dense) -> Dense:
    """s minus its nearest point of the cone {s_n >= |s_t|}."""
    normal, tangent = s[:, 0], np.linalg.norm(s[:, 1:], axis=1)
    short = np.minimum(depth(s), 0.0) / 2
    along = np.divide(s[:, 1:], tangent[:, None], out=np.zeros_like(s[:, 1:]), where=tangent[:, None] > 0)
    beyond = np.column_stack([short, -short[:, None] * along])
    return np.where((tangent <= -normal)[:, None], s, beyond)


def maximise_depth(program: ScaledProgram) -> tuple[Vector, float, Vector]:
    """The conic program by Clarabel: v, τ and the dual z, as it returns them."""
    import clarabel

    n, d, mu = program.C.shape[1], program.d, program.mu
    smooth, sharp = np.flatnonzero(mu == 0), np.flatnonzero(mu > 0)  # half spaces, and cones
    order = np.concatenate([d * smooth, (d * sharp[:, None] + np.arange(d)).ravel()])
    inside = sparse.hstack([-program.C, -program.y[:, None], unit_normals(program).reshape(-1, 1)]).tocsr()[order]
    sides = sparse.hstack([sparse.eye_array(n + 1), sparse.csr_array((n + 1, 1))])
    A = sparse.vstack([inside, sides, -sides])
    b = np.concatenate([np.zeros(order.size), np.ones(2 * n + 1), [0.0]])  # |v_i| <= 1, 0 <= τ <= 1
    cones = [clarabel.NonnegativeConeT(smooth.size), *[clarabel.SecondOrderConeT(d)] * sharp.size]
    cones.append(clarabel.NonnegativeConeT(2 * n + 2))
    answer = conic_solver(None, -np.eye(1, n + 2, n + 1).ravel(), A, b, cones).solve()
    x, z = np.array(answer.x), np.zeros(d * mu.size)
    z[order] = np.array(answer.z)[: order.size]
    return x[:n], float(x[n]), z


def certified(
    problem: ConeProblem, program: ScaledProgram, v: Vector, share: float, rounding: float
) -> Existence | None:
    """The verdict "exists" if C v + τ y is inside by more than rounding."""
    found = opening(program, v, share, rounding)
    if found is None:
        return None
    law = "Coulomb's problem" if problem.law == "coulomb" else "the associated problem"
    return Existence(
        "exists",
        f"some motion opens every contact beyond its friction angle (margin {found.margin:.1e}), "
        f"so {law} has a solution (Acary, Cadoux, Lemaréchal, Malick 2011)",
        margin=found.margin,
        v=found.v,
    )


class Opening(NamedTuple):
    margin: float  # the least depth of C v + τ y, with the largest entry of v or τ one
    v: Vector  # in the problem's own units


def opening(program: ScaledProgram, v: Vector, share: float, rounding: float) -> Opening | None:
    """The motion v of (1), if C v + τ y is inside by more than rounding, contact by contact."""
    share = max(share, 0.0)
    longest = max(np.abs(v).max(initial=0.0), share)
    if not 0 < longest < np.inf:
        return None
    v, share = v / longest, share / longest
    margin = strict_depth(program, v, share, rounding)
    if margin is None:
        return None
    if strict_depth(program, v, 0.0, rounding) is None:
        return Opening(margin, program.columns * v / (share * program.share))
    # C v alone is inside, so a multiple of it makes up for any y
    lacking = np.maximum(-depth(program.velocities(0 * v, 1.0)), 0.0)
    factor = max(1.0, 2 * float((lacking / depth(program.velocities(v, 0.0))).max()))
    return Opening(margin, program.columns * v * factor / program.share)


def strict_depth(program: ScaledProgram, v: Vector, share: float, rounding: float) -> float | None:
    """The least depth of C v + τ y, if each is beyond the rounding of its own terms."""
    terms = (abs(program.C) @ np.abs(v) + share * np.abs(program.y)).reshape(-1, program.d)
    inside = depth(program.velocities(v, share))
    return float(inside.min()) if (inside > rounding * terms.sum(axis=1)).all() else None


class Grip(NamedTuple):
    r: Vector  # in K, its largest entry 1
    closing: bool  # wᵀ r < 0 by far: only velocities FAST times those of w could make up for the rounding of H r = 0


def gripped(problem: ConeProblem, program: ScaledProgram, z: Vector) -> Existence:
    """The verdict "not guaranteed", with z as a grip if it is one, or with a grip that refutes every solution."""
    grip = verified_grip(program, z)
    if grip is None:
        return Existence("not guaranteed", "neither a motion that opens every contact nor a grip could be certified")
    refuting = refutation(problem, grip)
    if refuting is None:
        return Existence("not guaranteed", pressing(grip.r, problem.dimension), grip=grip.r)
    reason = f"{pressing(refuting, problem.dimension)}, yet must close: there is no solution"
    return Existence("not guaranteed", reason, grip=refuting, refuted=True)


def verified_grip(program: ScaledProgram, z: Vector) -> Grip | None:
    s = z.reshape(-1, program.d).copy()
    s[:, 0] = np.maximum(s[:, 0], np.linalg.norm(s[:, 1:], axis=1))
    total = float(s[:, 0].sum())
    if not 0 < total < np.inf:
        return None
    s /= total
    moved, opening = float(np.abs(program.transposed @ s.ravel()).sum()), float(program.y @ s.ravel())
    if moved + max(opening, 0.0) > LEAK:
        return None
    r = program.rows * s.ravel() + 0.0
    return Grip(r / np.abs(r).max(), opening < -FAST * max(moved, ROUNDING))


def refutation(problem: ConeProblem, grip: Grip) -> Vector | None:
    """A grip that rules out every solution, if there is one.

    A solution has rᵀ u = wᵀ r. Where that is negative u is not in K*, which is what the associated law wants; Coulomb's
    law wants u_n >= 0, and that is refuted by a grip of normal impulses alone: one of the problem without friction.
    """
    found: Grip | None = grip
    if problem.law == "coulomb":
        frictionless = scaled_program(problem, np.zeros_like(problem.mu))
        found = verified_grip(frictionless, maximise_depth(frictionless)[2])
    return found.r if found is not None and found.closing and moves_nothing(problem, found.r) else None


def moves_nothing(problem: ConeProblem, r: Vector) -> bool:
    """Is rᵀ W = 0? So it is where H r = 0. Without bodies (W + Wᵀ) r = 0 is known, and the rest is in W - Wᵀ."""
    W = problem.W
    return problem.bodies is not None or bool(np.abs(W.T @ r - W @ r).max() <= LEAK * abs(W).max())


def pressing(r: Vector, d: int) -> str:
    """The contacts that carry a grip, the strongest first."""
    normal = r[::d]
    carriers = np.argsort(-normal, kind="stable")[: int((normal > 1e-3 * normal.max()).sum())]
    names = ", ".join(map(str, carriers[:5])) + (f" and {carriers.size - 5} more" if carriers.size > 5 else "")
    return f"contact{'s' if carriers.size > 1 else ''} {names} can press without moving any body (a grip)"


def in_few_digits(found: Existence, noise: float) -> Existence:
    """The same verdict, with what it is about where the matrix is semidefinite only to few digits.

    A motion inside by more than `noise` of its terms stays inside when the diagonal is raised by that share.
    """
    reason = f"{found.reason}; this is about the given matrix with its diagonal raised by {noise:.0e}, which makes it "
    return replace(found, reason=f"{reason}positive semidefinite")
