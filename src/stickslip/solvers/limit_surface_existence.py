"""Has a problem of distributed contacts a solution, and only one? Theorem 1 of Trinkle and Pang [1] as a function.

In the scaled variables of problems/limit_surface.py, x = (c_n, s) and y = (a_n, τ) = W x + q, with B inside the ball of
radius R (1 for the Ellipsoid):

(A) W positive definite. Where μ_i of contacts with a given slip is at most some μ̄ > 0, there is a solution; where all
    μ_i are, only one. The paper leaves μ̄ open. Write s_i = -μ_i c_n,i ω_i with -ω_i ∈ B: of two solutions, z the
    difference of c_n and w_i = μ_i c_n,i (ω_i - ω_i'),  complementarity says z · Δa_n <= 0, and since ω_i is the point
    of maximum work whatever the normal force, w · Δτ >= 0. With Δs_i = -w_i - μ_i ω_i' z_i and v = (z, -w) that is

        vᵀ W (I - U) v <= 0,      U v = (0, μ_i ω_i' v_n,i),                                                        (1)

    impossible unless v = 0 if W (I - U) is positive definite for every such U. It is wherever all |μ_i ω_i'| < r, with

        r = m / |W_s|₂        m the least eigenvalue of W, W_s its columns of s; and for a symmetric W also
        r = √(m_n / L)        m_n the least eigenvalue of W's Schur complement on c_n, L the largest of W_ss,       (2)

    (from vᵀWUv <= |v|_W |Uv|_W). So μ̄ = r / R is a certified bound. The sharper estimate is the least μ for which the
    search below finds a U that makes W (I - U) indefinite: from random directions, in turns the eigenvector v and the
    ω that is worst for it. The largest μ̄ that this proof can give lies between the two; uniqueness may go further.

    With given slips s_i = μ_i c_n,i m_i is known, and the problem is the variational inequality of problems/cone.py's
    kind in (c_n, s of the others) with the matrix P W (I - U) Pᵀ; where its symmetric part is positive definite there
    is a solution. That is looked at for the μ and slips at hand, sharper than any bound.

(B) All contacts roll, W positive semidefinite, and qᵀ x >= 0 for all x ∈ K with W x = 0, K = {|s_i| <= R μ_i c_n,i}:
    then there is a solution, whatever μ > 0. A v with q + W v ∈ K* shows it (K* = {y_n >= R μ |τ|}): then qᵀ x =
    (q + W v)ᵀ x >= 0. Inside K* it is the condition of solvers/existence.py. On its boundary, as with q in the range
    of W, a system at rest, where q + W v = 0, it rests on the paper's theorem, whose proof is not printed. A grip, x ∈
    K with W x = 0 and qᵀ x < 0, refutes the condition.

[1] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg, sparse

from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector
from stickslip.solvers.existence import (
    ROUNDING,
    descend,
    maximise_depth,
    negative_share,
    opening,
    pressing,
    program_of,
    verified_grip,
)
from stickslip.solvers.limit_surface_newton import NaturalMap

SAFE = 1e-10  # by this share a bound is lowered, against rounding
SEARCHES, TURNS = 30, 200  # starts of the search for the worst U, and its turns
TO_ROUNDING = 1e-9  # |q + W v| / |q| up to which q is in the range of W


@dataclass(frozen=True, eq=False)
class LimitSurfaceExistence:
    """What Theorem 1 says of a problem, why, and the certificate."""

    verdict: Literal["exists and unique", "exists", "not guaranteed"]
    reason: str
    least_eigenvalue: float  # of the symmetric part of W, scaled; positive: (A) applies
    mu_bound: float = 0.0  # certified μ̄ of (A), 0 where it does not apply
    mu_estimate: float = 0.0  # not certified: above this the proof of (A) fails, 0 where it does not apply
    v: Vector | None = None  # (B): A v + b ∈ K*, in the problem's own units
    grip: Vector | None = None  # c ∈ K with A c = 0 and bᵀ c < 0, its largest entry 1

    @property
    def guaranteed(self) -> bool:
        return self.verdict != "not guaranteed"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


def limit_surface_existence(problem: LimitSurfaceProblem) -> LimitSurfaceExistence:
    form, map_ = problem.scaled, NaturalMap.of(problem)
    alive = np.column_stack([np.ones(problem.contacts, bool), form.alive]).ravel()
    kept = np.flatnonzero(alive)
    W = map_.W[np.ix_(kept, kept)]
    values = np.linalg.eigvalsh(0.5 * (W + W.T))
    least, largest = (float(values[0]), float(values[-1])) if values.size else (1.0, 1.0)
    if least > ROUNDING * largest:
        return definite_case(problem, map_, kept, least)
    if (problem.b[::4] >= 0).all():
        return LimitSurfaceExistence("exists", "the free accelerations open every contact: c = 0 is a solution", least)
    if problem.sliding.any():
        reason = "A is not positive definite and some contacts slide, so Theorem 1 says nothing about it"
        return LimitSurfaceExistence("not guaranteed", reason, least)
    if negative_share(map_.W) > ROUNDING:
        return LimitSurfaceExistence("not guaranteed", "A is not positive semidefinite", least)
    if math.isnan(problem.surface.radius):
        return LimitSurfaceExistence(
            "not guaranteed", "A is singular, and the size of a FrictionMap is not known", least
        )
    return rolling_case(problem, map_, least)


# (A)


def definite_case(
    problem: LimitSurfaceProblem, map_: NaturalMap, kept: np.ndarray, least: float
) -> LimitSurfaceExistence:
    W = map_.W[np.ix_(kept, kept)]
    normal = np.flatnonzero(kept % 4 == 0)
    friction = np.flatnonzero(kept % 4 != 0)
    owner = kept[friction] // 4
    radius = problem.surface.radius
    bound = certified_bound(W, normal, friction, least) / radius
    estimate = estimated_bound(W, normal, friction, owner) / radius
    largest = float(problem.mu.max(initial=0.0))
    if largest < bound or not friction.size:
        reason = f"A is positive definite, and all friction is below the certified bound {bound:.3g} (Theorem 1 A)"
        return LimitSurfaceExistence("exists and unique", reason, least, bound, estimate)
    if not problem.sliding.any():
        reason = "A is positive definite and all contacts roll (Theorem 1 A)"
        return LimitSurfaceExistence("exists", reason, least, bound, estimate)
    if slides_safely(problem, map_, kept):
        reason = "A is positive definite, and stays so with the friction of the contacts that slide (Theorem 1 A)"
        return LimitSurfaceExistence("exists", reason, least, bound, estimate)
    reason = f"the friction of contacts that slide exceeds what A allows; the certified bound is {bound:.3g}"
    return LimitSurfaceExistence("not guaranteed", reason, least, bound, estimate)


def certified_bound(W: Dense, normal: np.ndarray, friction: np.ndarray, least: float) -> float:
    """r of (2)."""
    if not friction.size:
        return math.inf
    bound = least / float(np.linalg.norm(W[:, friction], 2))
    if np.abs(W - W.T).max() <= ROUNDING * np.abs(W).max():
        across = W[np.ix_(normal, friction)]
        rest = W[np.ix_(normal, normal)] - across @ np.linalg.solve(W[np.ix_(friction, friction)], across.T)
        stiff = float(np.linalg.eigvalsh(W[np.ix_(friction, friction)])[-1])
        bound = max(bound, math.sqrt(max(float(np.linalg.eigvalsh(0.5 * (rest + rest.T))[0]), 0.0) / stiff))
    return (1 - SAFE) * bound


def estimated_bound(W: Dense, normal: np.ndarray, friction: np.ndarray, owner: np.ndarray) -> float:
    """1 / max of vᵀ W U v / vᵀ W v over v and U with |ω_i| <= 1, by turns from random starts."""
    if not friction.size:
        return math.inf
    random = np.random.default_rng(0)
    S = 0.5 * (W + W.T)
    worst = 0.0
    for _ in range(SEARCHES):
        v, last = random.normal(size=len(W)), -np.inf
        for _ in range(TURNS):
            pull = (W.T @ v)[friction]
            size = np.sqrt(np.bincount(owner, pull**2, normal.size))
            omega = np.sign(v[normal])[owner] * pull / np.maximum(size, 1e-300)[owner]
            WU = np.zeros_like(W)
            np.add.at(WU.T, normal[owner], (W[:, friction] * omega).T)
            values, vectors = linalg.eigh(0.5 * (WU + WU.T), S, subset_by_index=[len(W) - 1, len(W) - 1])
            v = vectors[:, 0]
            if values[0] <= last * (1 + 1e-12):
                break
            last = float(values[0])
        worst = max(worst, last)
    return 1 / worst if worst > 0 else math.inf


def slides_safely(problem: LimitSurfaceProblem, map_: NaturalMap, kept: np.ndarray) -> bool:
    """Is W positive definite in c_n and the s of contacts that roll, when the others follow c_n?"""
    follow = np.eye(problem.size)
    drop = []
    for i in np.flatnonzero(problem.sliding):
        rows = 4 * i + 1 + np.arange(3)
        follow[rows, 4 * i] = problem.mu[i] * map_.ends[i]
        drop.append(rows)
    free = np.setdiff1d(kept, np.concatenate(drop))
    reduced = (map_.W @ follow)[np.ix_(free, free)]
    values = np.linalg.eigvalsh(0.5 * (reduced + reduced.T))
    return bool(values[0] > ROUNDING * np.abs(values).max())


# (B)


def rolling_case(problem: LimitSurfaceProblem, map_: NaturalMap, least: float) -> LimitSurfaceExistence:
    q, W = problem.scaled.q, map_.W
    mu = problem.surface.radius * problem.mu
    program = program_of(sparse.csr_array(W + W.T), q, mu, 4)
    found, z = opening(program, *descend(program), ROUNDING), np.zeros(0)
    if found is None:
        v, share, z = maximise_depth(program)
        found = opening(program, v, share, ROUNDING)
    if found is not None:
        reason = "all contacts roll, and some accelerations open them all beyond friction (Theorem 1 B)"
        motion = 2 * problem.scaled.forces(found.v)  # the program is about (W + Wᵀ) v
        return LimitSurfaceExistence("exists", reason, least, v=motion)
    v = -linalg.lstsq(W, q)[0]
    if np.abs(W @ v + q).max() <= TO_ROUNDING * np.abs(q).max():
        reason = "all contacts roll, and b = -A v: no force that moves nothing does work (Theorem 1 B, with equality)"
        return LimitSurfaceExistence("exists", reason, least, v=problem.scaled.forces(v))
    grip = verified_grip(program, z)
    if grip is not None and grip.closing:
        reason = f"{pressing(grip.r, 4)}, against bᵀ c < 0: the condition of Theorem 1 B does not hold"
        c = problem.scaled.forces(grip.r)
        return LimitSurfaceExistence("not guaranteed", reason, least, grip=c / np.abs(c).max())
    return LimitSurfaceExistence("not guaranteed", "the condition of Theorem 1 B could not be certified", least)
