"""The potential-reduction interior point method of Wang, Monteiro and Pang [1] for distributed contacts.

With a multiplier κ of the ellipsoid the conditions (1) of problems/limit_surface.py are equations in positive variables
(contact by contact, in its scaled x = (c_n, s) and y = (a_n, τ) = W x + q):

    u = (c_n α, κ γ) = 0,   α - a_n = 0,   γ - (μ² c_n² - |s|²) = 0,   μ c_n τ + κ s = 0,   c_n, α, κ, γ >= 0     (1)

The last one is the maximum-work condition times c_n, so that it holds for an open contact too, whatever κ is there; of
a contact with a given slip it is s = μ c_n m, without κ and γ. With H = (u, v) of (1), the potential

    ψ = ζ log(|u|² + |v|²) - Σ log u_i,     ζ > the number of pairs,

falls along the step d of  H + H' d = σ mean(u) (1, 0),  0 <= σ < 1, and the variables stay positive. ψ -> -∞ leads to
H = 0; the method may end elsewhere where H' becomes singular. Only for the Ellipsoid; matrices are dense.

σ is what keeps the pairs alike on the way. Where a contact opens all of c_n, s and γ vanish, and κ is not determined;
with a small σ one pair of it runs ahead into the boundary, steps become short, and the method creeps: of 80 random
problems with A ≻ 0, of which most have contacts that open, σ = 0.1 solves 14 in 300 steps, and σ = 0.8 solves 79. Where
it ends without a solution it begins again with σ half as far from 1, which solves all.

[1] Wang, Monteiro, Pang, An interior point potential reduction method for constrained equations, Mathematical
    Programming 74 (1996) 159-195.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import checked, count, fraction, not_negative
from stickslip.problems.limit_surface import LimitSurfaceProblem, judge_limit_surface
from stickslip.problems.matrix import Dense, Indices, Vector, as_dense, both_sides
from stickslip.solvers.limit_surface_interior_point import expect_ellipsoid, to_zero
from stickslip.solvers.solution import Solution, Status, conclude, start_from

BOUNDARY = 0.95  # share of the way to where a variable would become zero
ARMIJO = 1e-4  # share of the slope of ψ that a step must gain
SHORTEST = 1e-10
ATTEMPTS = 3  # with σ ever nearer to 1


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, centring=fraction)
class PotentialReduction:
    """Wang, Monteiro and Pang's method for a LimitSurfaceProblem; an iteration is one linear solve."""

    tol: float = 1e-8
    max_iter: int = 300  # with each σ
    centring: float = 0.8  # σ

    def solve(self, problem: LimitSurfaceProblem, x0: Vector | None = None) -> Solution:
        """Start inside: at x0 with normal forces raised and friction shortened where it must be, or at s = 0."""
        started = expect_ellipsoid(self, problem)
        equations = Equations.of(problem)
        start = equations.start(problem.scaled.coordinates(start_from(problem, x0)))
        centring, steps = self.centring, 0
        for _ in range(ATTEMPTS):
            z, ended, made = self.reduce(equations, start, centring)
            centring, steps = (1.0 + centring) / 2, steps + made
            if ended == Status.SOLVED:
                break
        return conclude(problem, self, equations.forces(z), ended, steps, started)

    def reduce(self, equations: Equations, z: Vector, centring: float) -> tuple[Vector, Status, int]:
        """From z with one σ; also how it ended, and the steps made."""
        for steps in range(self.max_iter + 1):
            if judge_limit_surface(equations.problem, equations.forces(z), self.tol)[2]:
                return z, Status.SOLVED, steps
            found = reduce_potential(equations, z, centring) if steps < self.max_iter else z
            if found is None:
                return z, Status.STALLED, steps
            z = found
        return z, Status.MAX_ITER, self.max_iter


@dataclass(frozen=True, eq=False)
class Equations:
    """H of (1). z = (c_n, s, α, κ, γ): the kept components of x, then α of all contacts, κ and γ of those that rub.

    A contact rubs if it rolls and μ > 0; the s of the others follow c_n.
    """

    problem: LimitSurfaceProblem
    W: Dense  # E A E, its columns of s that follow c_n added to those of c_n
    normal: Indices  # (nc,)   rows of c_n in x
    rubs: Indices  # (k,)    contacts
    s: Indices  # (m,)    rows of s in x, of the components that carry friction
    owner: Indices  # (m,)   which of the k contacts has it
    follow: Dense  # (4 nc, nc)   x = follow c_n + s

    @classmethod
    def of(cls, problem: LimitSurfaceProblem) -> Equations:
        form = problem.scaled
        nc, sliding = problem.contacts, problem.sliding
        rubs = np.flatnonzero(~sliding & (problem.mu > 0))
        kept = form.alive[rubs]
        s = (4 * rubs[:, None] + 1 + np.arange(3))[kept]
        owner = np.nonzero(kept)[0]
        normal = 4 * np.arange(nc)
        follow = np.zeros((4 * nc, nc))
        follow[normal, np.arange(nc)] = 1.0
        for i in np.flatnonzero(sliding):
            follow[4 * i + 1 : 4 * i + 4, i] = -problem.mu[i] * form.way[i]
        W = both_sides(as_dense(problem.A), form.E)
        return cls(problem, W, normal, rubs, s, owner, follow)

    @property
    def pairs(self) -> int:
        return self.normal.size + self.rubs.size

    def split(self, z: Vector) -> list[Vector]:
        """c_n, s, α, κ, γ"""
        nc, m, k = self.normal.size, self.s.size, self.rubs.size
        return np.split(z, np.cumsum([nc, m, nc, k]))

    @property
    def positive(self) -> Indices:
        """Where in z the variables are that must stay positive: all but s."""
        nc, m = self.normal.size, self.s.size
        return np.concatenate([np.arange(nc), np.arange(nc + m, 2 * nc + m + 2 * self.rubs.size)])

    def coordinates(self, z: Vector) -> Vector:
        """x = (c_n, s), contact by contact."""
        c_n, s, *_ = self.split(z)
        x: Vector = self.follow @ c_n
        x[self.s] = s
        return x

    def forces(self, z: Vector) -> Vector:
        return self.problem.scaled.forces(self.coordinates(z))

    def start(self, x: Vector) -> Vector:
        """A point with all pairs positive, near x."""
        q, W = self.problem.scaled.q, self.W
        stiff = np.diag(W)[self.normal]
        size = np.abs(q).max(initial=0.0)
        size = size if size > 0 else 1.0
        typical = np.where(stiff > 0, size / np.where(stiff > 0, stiff, 1.0), 1.0)
        c_n = np.maximum(x[self.normal], typical)
        bound = 0.9 * self.problem.mu[self.rubs] * c_n[self.rubs]
        s = x[self.s]
        length = np.sqrt(np.bincount(self.owner, s**2, self.rubs.size))
        s = s * np.minimum(1.0, bound / np.maximum(length, 1e-300))[self.owner]
        held = np.bincount(self.owner, s**2, self.rubs.size)
        gamma = (self.problem.mu[self.rubs] * c_n[self.rubs]) ** 2 - held
        return np.concatenate([c_n, s, np.full(c_n.size, size), np.full(gamma.size, size), gamma])

    def value(self, z: Vector) -> Vector:
        """H, the pairs first."""
        c_n, s, alpha, kappa, gamma = self.split(z)
        mu = self.problem.mu[self.rubs]
        pressed = mu * c_n[self.rubs]
        y = self.W @ self.coordinates(z) + self.problem.scaled.q
        held = np.bincount(self.owner, s**2, self.rubs.size)
        return np.concatenate(
            [
                c_n * alpha,
                kappa * gamma,
                alpha - y[self.normal],
                gamma - (pressed**2 - held),
                pressed[self.owner] * y[self.s] + kappa[self.owner] * s,
            ]
        )

    def jacobian(self, z: Vector) -> Dense:
        c_n, s, alpha, kappa, gamma = self.split(z)
        nc, m, k = self.normal.size, self.s.size, self.rubs.size
        mu = self.problem.mu[self.rubs]
        pressed = mu * c_n[self.rubs]
        y = self.W @ self.coordinates(z) + self.problem.scaled.q
        by_x = np.hstack([self.W @ self.follow, self.W[:, self.s]])  # ∂y / ∂(c_n, s)
        of_rub, of_s = np.eye(nc)[self.rubs], np.eye(k)[self.owner]
        along = np.hstack([(mu[self.owner] * y[self.s])[:, None] * of_rub[self.owner], np.diag(kappa[self.owner])])
        along += pressed[self.owner, None] * by_x[self.s]
        held, none = np.hstack([-2 * (mu * pressed)[:, None] * of_rub, 2 * s * of_s.T]), np.zeros
        return np.vstack(
            [
                np.hstack([np.diag(alpha), none((nc, m)), np.diag(c_n), none((nc, 2 * k))]),
                np.hstack([none((k, 2 * nc + m)), np.diag(gamma), np.diag(kappa)]),
                np.hstack([-by_x[self.normal], np.eye(nc), none((nc, 2 * k))]),
                np.hstack([held, none((k, nc + k)), np.eye(k)]),
                np.hstack([along, none((m, nc)), s[:, None] * of_s, none((m, k))]),
            ]
        )


def reduce_potential(equations: Equations, z: Vector, centring: float) -> Vector | None:
    """One step of the method, or None where there is none."""
    value, jacobian, pairs = equations.value(z), equations.jacobian(z), equations.pairs
    moved = -value  # along d, H' d = target - H
    moved[:pairs] += centring * value[:pairs].mean()
    try:
        step = np.linalg.solve(jacobian, moved)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(step).all():
        return None
    zeta = 2.0 * pairs
    # of ψ along d
    slope = 2 * zeta * float(value @ moved) / float(value @ value) - float((moved[:pairs] / value[:pairs]).sum())
    if not slope < 0:
        return None
    inside = equations.positive
    length, before = min(1.0, BOUNDARY * to_zero(z[inside], step[inside])), potential(value, pairs, zeta)
    while length >= SHORTEST:
        trial = z + length * step
        if potential(equations.value(trial), pairs, zeta) <= before + ARMIJO * length * slope:
            return trial
        length *= 0.5
    return None


def potential(value: Vector, pairs: int, zeta: float) -> float:
    """ψ; inf where a pair is not positive."""
    u = value[:pairs]
    if not ((u > 0).all() and np.isfinite(value).all()):
        return np.inf
    return float(zeta * np.log(value @ value) - np.log(u).sum())
