"""Interior point method for friction problems, Coulomb's law exactly.

De Saxcé's shift μ|u_t| has a kink where contacts stick. Written out, the law has none: with a multiplier s per contact

    0 <= r_n ⊥ u_n >= 0,        z = (μ r_n, r_t) ∈ L ⊥ y = (s, u_t) ∈ L,        u = W r + q,                   (1)

L = {x : x_0 >= |x_t|} the second-order cone. Where r_n > 0 the second pair says s = |u_t| and r_t against u_t; where
r_n = 0, s is any number >= |u_t|. The method follows the path on which every product is σ > 0,

    r_n u_n = σ,        z ∘ y = σ e,

by Newton's method with Nesterov–Todd scaling [1] (Q z = Q⁻¹ y = λ) and Mehrotra's predictor and corrector:

    du_n = c_n - (u_n / r_n) dr_n,    dy = Q c - Q² dz      =>      (W + D) dr = c + u - W r - q,               (2)

where D is 3 x 3 a contact: u_n / r_n in the normal row, the tangent rows of Q² diag(μ, 1, 1) below. s is eliminated. D
is not symmetric, because Coulomb's law is not associated; the problem is not monotone, and the path may turn back.
Where steps become short, the iterate is moved away from the boundary of the cones by an amount that grows from one such
restart to the next. Under the associated law y = (u_n/μ, u_t), there is no pair (r_n, u_n), D = diag(μ, 1, 1) Q²
diag(μ, 1, 1), and the method is the classical one. Contacts with μ = 0 keep the pair (r_n, u_n) alone.

(W + D) is factorised contact by contact, up to MOST_CONTACTS contacts, or over the bodies (solvers/cone_system.py):
ConeInteriorPoint does the first, the engine calls `iterate` for the second. W may be rank-deficient and
slightly unsymmetric. Contacts are scaled to tr W_ii = 3 and q to 1; nothing is added to W. Rounding in (2) ends the
method at residuals of about 1e-10.

[1] Nesterov, Todd, Primal-dual interior-point methods for self-scaled cones, SIAM J. Optimization 8 (1998) 324-364.
[2] Acary, Armand, Nguyen, Shpakovych, Second-order cone programming for frictional contact mechanics using interior
    point algorithm, Optimization Methods and Software 39 (2024) 634-663: the convex subproblem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stickslip.checks import checked, count, not_negative, whole
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.blocks import contact_weights
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.residual import length
from stickslip.solvers.block_lu import MOST_CONTACTS
from stickslip.solvers.body_lu import no_legs
from stickslip.solvers.cone_system import factorised, find_velocities, judge, prepare, substitute
from stickslip.solvers.solution import Solution, conclude, expect, start_from
from stickslip.solvers.status import MAX_ITER, NONFINITE, SOLVED, STALLED

TO_BOUNDARY = 0.95  # share of the way to the boundary of the cones that a step may go
NEAREST, FARTHEST = 1e-3, 0.1  # inside the cones, where the method starts from a given point
SHORT, PATIENCE = 0.05, 3  # so many steps shorter than this in a row end in a restart
PUSH, GROWTH = 10.0, 3.0  # the first restart multiplies σ by about PUSH, each later one by GROWTH more


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, restarts=whole)
class ConeInteriorPoint:
    """Primal-dual interior point method for ConeProblem; an iteration is one factorisation."""

    tol: float = 1e-8
    max_iter: int = 150
    restarts: int = 12  # where steps become short

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """From a point as far inside the cones as x0 is from a solution, or from the middle where there is no x0."""
        started = expect(self, problem, ConeProblem)
        if problem.contacts > MOST_CONTACTS:
            raise InputError(
                f"ConeInteriorPoint: the problem has {problem.contacts} contacts, expected at most {MOST_CONTACTS}"
            )
        r = start_from(problem, x0)
        ended, iterations = iterate(
            problem.blocks, no_legs(), problem.q, problem.mu, problem.shift, 0.999 * self.tol, self.max_iter,
            self.restarts, r,
        )  # fmt: skip
        return conclude(problem, self, r, ended, iterations, started)


class Iterate(NamedTuple):
    """One point of the method, or one direction. Scaled, see `scaling`."""

    z: Dense  # (nc, 3)  (μ r_n, r_t)
    y: Dense  # (nc, 3)  (s, u_t); (u_n / μ, u_t) under the associated law
    u_n: Vector  # (nc,)  not used under the associated law, except where μ = 0


@kernel
def iterate(W, legs, q, mu, shift, tol, max_iter, restarts, r):
    """Find r in place; W is not used but for its diagonal where the legs are known. Returns the status and the number
    of factorisations."""
    n = mu.size
    d = 2 if W.diagonal.shape[0] == 4 else 3
    u = np.empty_like(q)
    best, solved = judge(W, legs, q, mu, shift, tol, r, u)
    if solved:
        return SOLVED, 0
    scale, size = scaling(W, q, d)
    if not 0.0 < size < np.inf:
        return NONFINITE, 0
    system = prepare(W, legs, scale, mu == 0.0)
    if system.pattern.start.size == 0:
        return STALLED, 0
    coulomb = length(shift) > 0.0 or length(mu) == 0.0
    point, step, predicted = middle(mu), blank_iterate(n), blank_iterate(n)
    if length(r) > 0.0:
        near(r, u, mu, scale, size, d, min(max(math.sqrt(best), NEAREST), FARTHEST), point)
    frame, rho, c, c_n, x = np.empty((n, 4)), np.empty((n, 3)), np.zeros((n, 3)), np.zeros(n), np.empty((n, 3))
    best_r = r.copy()
    short, restarted = 0, 0
    for iteration in range(max_iter + 1):
        unscale(point, mu, scale, size, d, r)
        error, solved = judge(W, legs, q, mu, shift, tol, r, u)
        if solved:
            return SOLVED, iteration
        if error < best:
            best = error
            best_r[:] = r
        if iteration == max_iter or not error < np.inf:
            break
        infeasibility(point, u, mu, scale, size, d, coulomb, rho)
        gap = mean_product(point, point, 0.0, mu, coulomb)
        nesterov_todd(point, mu, frame)
        fill_diagonal(point, frame, mu, coulomb, system.D)
        if not factorised(system):
            break

        target(point, predicted, frame, mu, coulomb, 0.0, False, c, c_n)
        direction(system, point, frame, mu, coulomb, rho, c, c_n, x, predicted)
        if not coulomb:
            velocity_step(W, legs, mu, scale, rho, x, predicted)
        a = min(1.0, TO_BOUNDARY * longest(point, predicted, mu, coulomb))
        ratio = mean_product(point, predicted, a, mu, coulomb) / gap
        sigma = max(min(1.0, ratio) ** 3, 1e-4) * gap
        target(point, predicted, frame, mu, coulomb, sigma, True, c, c_n)
        direction(system, point, frame, mu, coulomb, rho, c, c_n, x, step)
        if not coulomb:
            velocity_step(W, legs, mu, scale, rho, x, step)
        a = min(1.0, TO_BOUNDARY * longest(point, step, mu, coulomb))
        move(point, step, a)

        short = short + 1 if a < SHORT else 0
        if short == PATIENCE:
            if restarted == restarts:
                break
            push_inside(point, math.sqrt(gap * PUSH * GROWTH**restarted))
            restarted += 1
            short = 0
    r[:] = best_r
    if not best < np.inf:
        return NONFINITE, iteration
    return (MAX_ITER if iteration == max_iter else STALLED), iteration


@kernel
def scaling(W, q, d):
    """One number a contact that makes tr W_ii = d, and the largest of |q| so scaled: r = size S r', u = size S⁻¹ u'."""
    scale = np.sqrt(contact_weights(W.diagonal))
    size = 0.0
    for i in range(scale.size):
        for a in range(d):
            size = max(size, scale[i] * abs(q[d * i + a]))
    return scale, size


@kernel
def blank_iterate(n):
    return Iterate(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n))


@kernel
def middle(mu):
    """r_n = u_n = 1 and all products 1."""
    n = mu.size
    z, y = np.zeros((n, 3)), np.zeros((n, 3))
    for i in range(n):
        z[i, 0] = mu[i] if mu[i] > 0.0 else 1.0
        y[i, 0] = 1.0 / z[i, 0]
    return Iterate(z, y, np.ones(n))


@kernel
def near(r, u, mu, scale, size, d, distance, point):
    """The point of the impulses r and their velocities u, moved into the cones by a distance."""
    for i in range(mu.size):
        force, speed = 1.0 / (size * scale[i]), scale[i] / size
        z_t, y_t = 0.0, 0.0
        for a in range(1, d):
            point.z[i, a] = force * r[d * i + a] if mu[i] > 0.0 else 0.0
            point.y[i, a] = speed * u[d * i + a]
            z_t += point.z[i, a] ** 2
            y_t += point.y[i, a] ** 2
        z_n = force * r[d * i] * (mu[i] if mu[i] > 0.0 else 1.0)
        point.z[i, 0] = max(z_n, math.sqrt(z_t)) + distance
        point.u_n[i] = max(0.0, speed * u[d * i]) + distance
        point.y[i, 0] = math.sqrt(y_t) + distance


@kernel
def normal(point, mu, i):
    """r_n of contact i. Where μ = 0, z_0 stands for r_n itself."""
    return point.z[i, 0] / mu[i] if mu[i] > 0.0 else point.z[i, 0]


@kernel
def unscale(point, mu, scale, size, d, r):
    for i in range(mu.size):
        s = size * scale[i]
        r[d * i] = s * normal(point, mu, i)
        for a in range(1, d):
            r[d * i + a] = s * point.z[i, a]


@kernel
def infeasibility(point, u, mu, scale, size, d, coulomb, error):
    """u - (W r + q), scaled: the velocity of the iterate less the one its impulses give."""
    error[:] = 0.0
    for i in range(mu.size):
        s = scale[i] / size
        own = point.u_n[i] if coulomb or mu[i] == 0.0 else mu[i] * point.y[i, 0]
        error[i, 0] = own - s * u[d * i]
        if mu[i] > 0.0:
            for a in range(1, d):
                error[i, a] = point.y[i, a] - s * u[d * i + a]


@kernel
def mean_product(point, step, a, mu, coulomb):
    """The mean of z·y and r_n u_n at point + a step."""
    z, y, dz, dy = point.z, point.y, step.z, step.y
    total, pairs = 0.0, 0
    for i in range(mu.size):
        if mu[i] > 0.0:
            for k in range(3):
                total += (z[i, k] + a * dz[i, k]) * (y[i, k] + a * dy[i, k])
            pairs += 1
        if coulomb or mu[i] == 0.0:
            total += (normal(point, mu, i) + a * normal(step, mu, i)) * (point.u_n[i] + a * step.u_n[i])
            pairs += 1
    return total / pairs


@kernel
def nesterov_todd(point, mu, frame):
    """Q = η [w_0, w_tᵀ; w_t, I + w_t w_tᵀ / (1 + w_0)] with Q z = Q⁻¹ y, kept as (η, w) a contact."""
    for i in range(mu.size):
        z0, z1, z2 = point.z[i, 0], point.z[i, 1], point.z[i, 2]
        y0, y1, y2 = point.y[i, 0], point.y[i, 1], point.y[i, 2]
        size_z, size_y = math.sqrt(determinant(z0, z1, z2)), math.sqrt(determinant(y0, y1, y2))
        z0, z1, z2 = z0 / size_z, z1 / size_z, z2 / size_z
        y0, y1, y2 = y0 / size_y, y1 / size_y, y2 / size_y
        gamma = math.sqrt(2.0 * (1.0 + z0 * y0 + z1 * y1 + z2 * y2))
        frame[i, 0] = math.sqrt(size_y / size_z)
        frame[i, 1], frame[i, 2], frame[i, 3] = (y0 + z0) / gamma, (y1 - z1) / gamma, (y2 - z2) / gamma


@kernel
def determinant(x0, x1, x2):
    """x_0² - |x_t|² without cancellation, and positive: rounding may have put x on the boundary."""
    t = math.sqrt(x1 * x1 + x2 * x2)
    return max(x0 - t, 1e-15 * x0) * (x0 + t)


@kernel
def scaled(frame, i, sign, x0, x1, x2):
    """Q x (sign = 1) or Q⁻¹ x (sign = -1)."""
    w0, w1, w2 = frame[i, 1], sign * frame[i, 2], sign * frame[i, 3]
    eta = frame[i, 0] if sign > 0.0 else 1.0 / frame[i, 0]
    along = w1 * x1 + w2 * x2
    more = x0 + along / (1.0 + w0)
    return eta * (w0 * x0 + along), eta * (x1 + more * w1), eta * (x2 + more * w2)


@kernel
def fill_diagonal(point, frame, mu, coulomb, D):
    """D of (2); Q² = η² (2 w wᵀ - J), J = diag(1, -1, -1). Where μ = 0 tangents have rows that do nothing."""
    for i in range(mu.size):
        if mu[i] == 0.0:
            D[i, 0] = point.u_n[i] / point.z[i, 0]
            D[i, 4] = D[i, 8] = 1.0
            continue
        square = frame[i, 0] * frame[i, 0]
        w0, w1, w2 = frame[i, 1], frame[i, 2], frame[i, 3]
        D[i, 3] = 2.0 * square * mu[i] * w0 * w1
        D[i, 6] = 2.0 * square * mu[i] * w0 * w2
        D[i, 4] = square * (2.0 * w1 * w1 + 1.0)
        D[i, 5] = D[i, 7] = square * 2.0 * w1 * w2
        D[i, 8] = square * (2.0 * w2 * w2 + 1.0)
        if coulomb:
            D[i, 0] = point.u_n[i] / normal(point, mu, i)
        else:
            D[i, 0] = square * mu[i] * mu[i] * (2.0 * w0 * w0 - 1.0)
            D[i, 1], D[i, 2] = D[i, 3], D[i, 6]


@kernel
def target(point, predicted, frame, mu, coulomb, sigma, corrected, c, c_n):
    """Q c and c_n of (2). Without correction c = -λ, which aims at products of zero; with it
    λ ∘ c = -λ∘λ - (Q dz)∘(Q⁻¹ dy) + σ e for the predicted direction (dz, dy)."""
    for i in range(mu.size):
        if coulomb or mu[i] == 0.0:
            c_n[i] = -point.u_n[i]
            if corrected:
                c_n[i] += (sigma - normal(predicted, mu, i) * predicted.u_n[i]) / normal(point, mu, i)
        if mu[i] == 0.0:
            continue
        c[i, 0], c[i, 1], c[i, 2] = -point.y[i, 0], -point.y[i, 1], -point.y[i, 2]
        if corrected:
            l0, l1, l2 = scaled(frame, i, 1.0, point.z[i, 0], point.z[i, 1], point.z[i, 2])
            p0, p1, p2 = scaled(frame, i, 1.0, predicted.z[i, 0], predicted.z[i, 1], predicted.z[i, 2])
            d0, d1, d2 = scaled(frame, i, -1.0, predicted.y[i, 0], predicted.y[i, 1], predicted.y[i, 2])
            e0 = sigma - (p0 * d0 + p1 * d1 + p2 * d2)
            e1, e2 = -(p0 * d1 + d0 * p1), -(p0 * d2 + d0 * p2)
            g0 = (l0 * e0 - l1 * e1 - l2 * e2) / determinant(l0, l1, l2)
            g0, g1, g2 = scaled(frame, i, 1.0, g0, (e1 - g0 * l1) / l0, (e2 - g0 * l2) / l0)
            c[i, 0] += g0
            c[i, 1] += g1
            c[i, 2] += g2


@kernel
def direction(system, point, frame, mu, coulomb, error, c, c_n, x, step):
    """The step of (2); x, three numbers a contact, becomes dr."""
    b = np.empty_like(x)
    for i in range(mu.size):
        if coulomb or mu[i] == 0.0:
            b[i, 0] = c_n[i] + error[i, 0]
        else:
            b[i, 0] = mu[i] * c[i, 0] + error[i, 0]
        b[i, 1] = c[i, 1] + error[i, 1] if mu[i] > 0.0 else 0.0
        b[i, 2] = c[i, 2] + error[i, 2] if mu[i] > 0.0 else 0.0
    substitute(system, b, x)
    for i in range(mu.size):
        if coulomb or mu[i] == 0.0:
            step.u_n[i] = c_n[i] - point.u_n[i] / normal(point, mu, i) * x[i, 0]
        z0, z1, z2 = mu[i] * x[i, 0] if mu[i] > 0.0 else x[i, 0], x[i, 1], x[i, 2]
        step.z[i, 0], step.z[i, 1], step.z[i, 2] = z0, z1, z2
        if mu[i] > 0.0:
            square = frame[i, 0] * frame[i, 0]
            w0, w1, w2 = frame[i, 1], frame[i, 2], frame[i, 3]
            along = 2.0 * (w0 * z0 + w1 * z1 + w2 * z2)
            step.y[i, 0] = c[i, 0] - square * (along * w0 - z0)
            step.y[i, 1] = c[i, 1] - square * (along * w1 + z1)
            step.y[i, 2] = c[i, 2] - square * (along * w2 + z2)


@kernel
def velocity_step(W, legs, mu, scale, error, x, step):
    """dy from du = W dr - (u - W r - q), x = dr, where Q c - Q² dz cancels: both cones near their boundary, Q² has
    eigenvalues 1 / σ and σ. The error of rounding then stays in the products, where it is small."""
    n = mu.size
    d = 2 if W.diagonal.shape[0] == 4 else 3
    dr, du = np.empty(d * n), np.zeros(d * n)
    for i in range(n):
        for a in range(d):
            dr[d * i + a] = scale[i] * x[i, a]
    find_velocities(W, legs, np.zeros(d * n), dr, du)
    for i in range(n):
        if mu[i] > 0.0:
            step.y[i, 0] = (scale[i] * du[d * i] - error[i, 0]) / mu[i]
            for a in range(1, d):
                step.y[i, a] = scale[i] * du[d * i + a] - error[i, a]


@kernel
def longest(point, step, mu, coulomb):
    """The longest step that leaves no cone, NaN where the direction is."""
    z, y, dz, dy = point.z, point.y, step.z, step.y
    a = np.inf
    for i in range(mu.size):
        if coulomb or mu[i] == 0.0:
            if not step.u_n[i] >= 0.0:
                a = least(a, -point.u_n[i] / step.u_n[i])
            if not dz[i, 0] >= 0.0:
                a = least(a, -z[i, 0] / dz[i, 0])
        if mu[i] > 0.0:
            a = least(a, to_boundary(z[i, 0], z[i, 1], z[i, 2], dz[i, 0], dz[i, 1], dz[i, 2]))
            a = least(a, to_boundary(y[i, 0], y[i, 1], y[i, 2], dy[i, 0], dy[i, 1], dy[i, 2]))
    return a


@kernel
def least(a, b):
    """min(a, b), NaN where either is."""
    return b if not b >= a else a


@kernel
def to_boundary(x0, x1, x2, d0, d1, d2):
    """The smallest t > 0 with det(x + t d) = 0 or x_0 + t d_0 = 0."""
    quadratic, linear = d0 * d0 - d1 * d1 - d2 * d2, x0 * d0 - x1 * d1 - x2 * d2
    constant = determinant(x0, x1, x2)
    t = -x0 / d0 if d0 < 0.0 else np.inf
    discriminant = linear * linear - quadratic * constant
    if not discriminant >= 0.0:
        return t if discriminant < 0.0 else discriminant
    half = -(linear + math.copysign(math.sqrt(discriminant), linear))
    first, second = half / quadratic, constant / half
    if 0.0 < first < t:
        t = first
    if 0.0 < second < t:
        t = second
    return t


@kernel
def move(point, step, a):
    for i in range(point.u_n.size):
        for k in range(3):
            point.z[i, k] += a * step.z[i, k]
            point.y[i, k] += a * step.y[i, k]
        point.u_n[i] += a * step.u_n[i]


@kernel
def push_inside(point, distance):
    """Away from the boundary of the cones."""
    for i in range(point.u_n.size):
        point.z[i, 0] += distance
        point.y[i, 0] += distance
        point.u_n[i] += distance
