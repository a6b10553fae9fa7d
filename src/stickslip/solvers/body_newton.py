"""Nonsmooth Newton for friction problems over bodies: the method of solvers/cone_newton.py, compiled.

With F' = A + B W and W = G Gᵀ + ε, a step of the proximal problem, W + α and q - α c, is

    (A + B (G Gᵀ + ε + α)) dr = -F      <=>      dr + K G Gᵀ dr = -C⁻¹ F,      C = A + B (ε + α),  K = C⁻¹ B,

which is (1) of solvers/body_lu.py: a factorisation over the bodies. α > 0 makes C regular where contacts stick. Here
all contacts have three components; in the plane the last one is zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.problems.blocks import contact_weights
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.residual import cone_velocity_error, length, relative_cone_map
from stickslip.solvers.block_lu import invert
from stickslip.solvers.body_lu import (
    add_products,
    body_system,
    factorise_bodies,
    multiply,
    own_blocks,
    scaled_legs,
    solve_bodies,
)
from stickslip.solvers.cone_newton import (
    ARMIJO,
    LARGEST,
    LOWER,
    MEMORY,
    QUICK,
    RAISE,
    REDUCTION,
    SHORTEST,
    SMALLEST,
    STEPS,
    natural_map,
)

ROUGH = 1e-8  # relative error of a step beyond which it is refined


class Law(NamedTuple):
    """The problem, as it is and scaled: r = s x, u = v / s."""

    q: Vector  # (3 nc,)
    mu: Vector  # (nc,)
    shift: Vector  # (nc,)
    diagonal: Dense  # (9, nc)   of W
    scale: Vector  # (nc,)   s


class Point(NamedTuple):
    """Impulses, velocities, and the equation there."""

    x: Vector  # (3 nc,)
    v: Vector  # (3 nc,)
    F: Vector  # (3 nc,)
    A: Dense  # (nc, 3, 3)   F by x
    B: Dense  # (nc, 3, 3)   F by v


@kernel
def approach(legs, q, mu, shift, tol, proximal, max_iter, r):
    """Better r in place, down to a residual of tol. Returns the number of factorisations."""
    n = mu.size
    diagonal = own_blocks(legs, 3)
    scale = np.sqrt(contact_weights(diagonal))
    law = Law(q, mu, shift, diagonal, scale)
    system = body_system(scaled_legs(legs, scale, np.zeros(n, np.bool_)))
    if system.pattern.start.size == 0:
        return 0
    here, there = blank_point(n), blank_point(n)
    here.x[:] = (r.reshape(n, 3) / scale.reshape(n, 1)).ravel()
    free = (q.reshape(n, 3) * scale.reshape(n, 1)).ravel()
    velocities(system.legs, free, here.x, here.v)
    equation(law, here)
    solved, error = measured(law, here.x, here.v, tol)
    least, alpha, steps = error, proximal, 0
    while not solved and steps < max_iter and alpha <= LARGEST:
        made, reached = proximal_step(
            system, law, here, alpha, REDUCTION * length(here.F), min(STEPS, max_iter - steps), tol, there
        )
        steps += max(made, 1)
        velocities(system.legs, free, there.x, there.v)
        solved_there, error_there = measured(law, there.x, there.v, tol)
        if reached or error_there < error:
            here.x[:], here.v[:], solved, error = there.x, there.v, solved_there, error_there
            equation(law, here)
        if error < least or solved:
            least = error
            r[:] = (here.x.reshape(n, 3) * scale.reshape(n, 1)).ravel()
        if not reached:
            alpha *= RAISE
        elif made <= QUICK:
            alpha = max(LOWER * alpha, SMALLEST)
    return steps


@kernel
def blank_point(n):
    return Point(np.zeros(3 * n), np.zeros(3 * n), np.zeros(3 * n), np.zeros((n, 3, 3)), np.zeros((n, 3, 3)))


@kernel
def velocities(legs, free, x, v):
    v[:] = free
    add_products(legs, x.reshape(x.size // 3, 3), v.reshape(x.size // 3, 3))


@kernel
def equation(law, point):
    """F and its derivatives at a point."""
    natural_map(point.x, point.v, law.mu, law.shift, point.F, point.A, point.B)


@kernel
def measured(law, x, v, tol):
    """Does x solve the problem? And the error of its velocities."""
    n = law.mu.size
    r, u = np.empty(3 * n), np.empty(3 * n)
    for i in range(n):
        for a in range(3 * i, 3 * i + 3):
            r[a], u[a] = law.scale[i] * x[a], v[a] / law.scale[i]
    error = cone_velocity_error(law.diagonal, r, u, law.q, law.mu, law.shift)
    return error <= math.sqrt(tol) and relative_cone_map(r, u, law.q, law.mu, law.shift) <= tol, error


@kernel
def proximal_step(system, law, centre, alpha, target, limit, tol, point):
    """Newton's method for W + α, q - α c from the centre c, until |F| <= target or the problem itself is solved.
    Returns the factorisations made, and whether it came there."""
    n = law.mu.size
    C, K, c, dx, dv = np.empty((n, 9)), np.empty((n, 9)), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    recent, base = np.full(MEMORY, -np.inf), blank_point(n)
    point.x[:], point.v[:] = centre.x, centre.v
    equation(law, point)
    for made in range(limit + 1):
        size = length(point.F)
        if size <= target or measured(law, point.x, point.v - alpha * (point.x - centre.x), tol)[0]:
            return made, True
        if made == limit or not newton_step(system, point, alpha, C, K, c, dx, dv):
            break
        recent[made % MEMORY] = size
        base.x[:], base.v[:] = point.x, point.v
        worst, step = recent.max(), 1.0
        move(law, base, step, dx.ravel(), dv.ravel(), point)
        while not length(point.F) <= (1.0 - ARMIJO * step) * worst:
            step *= 0.5
            if step < SHORTEST:
                move(law, base, 1.0, dx.ravel(), dv.ravel(), point)
                break
            move(law, base, step, dx.ravel(), dv.ravel(), point)
    return made, False


@kernel
def move(law, base, step, dx, dv, point):
    """The point a step from the base."""
    point.x[:] = base.x + step * dx
    point.v[:] = base.v + step * dv
    equation(law, point)


@kernel
def newton_step(system, point, alpha, C, K, c, dx, dv):
    """dx with (A + B (W + α)) dx = -F, and dv = (W + α) dx; False where the matrix is singular."""
    legs, A, B, F = system.legs, point.A, point.B, point.F
    for i in range(C.shape[0]):
        for a in range(3):
            for b in range(3):
                C[i, 3 * a + b] = A[i, a, b] + B[i, a, b] * (legs.give[i, b] + alpha)
        if not invert(C, np.uint32(i)):
            return False
        for a in range(3):
            for b in range(3):
                K[i, 3 * a + b] = C[i, 3 * a] * B[i, 0, b] + C[i, 3 * a + 1] * B[i, 1, b] + C[i, 3 * a + 2] * B[i, 2, b]
    if not factorise_bodies(system, K):
        return False
    rest, more, size = -F.reshape(C.shape[0], 3), np.empty_like(dx), length(F)
    dx[:] = 0.0
    for _ in range(2):
        multiply(C, rest, c)
        solve_bodies(system, K, c, more)
        dx += more
        dv[:] = alpha * dx
        add_products(legs, dx, dv)
        for i in range(C.shape[0]):
            for a in range(3):
                total = -F[3 * i + a]
                for b in range(3):
                    total -= A[i, a, b] * dx[i, b] + B[i, a, b] * dv[i, b]
                rest[i, a] = total
        error = length(rest.ravel())
        if not error < np.inf:
            return False
        if error <= ROUGH * size:
            break
    return True
