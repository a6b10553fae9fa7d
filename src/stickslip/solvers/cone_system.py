"""The linear systems (W + D) x = b of the interior point method, with a D of 3 x 3 a contact, over contacts or bodies.

Over the contacts by solvers/block_lu.py. Where the bodies behind W are known, W = G Gᵀ + ε, by (1) of
solvers/body_lu.py with K = (D + ε)⁻¹ and c = K b, and one step of iterative refinement: near a solution K is large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.problems.blocks import ContactBlocks, velocities
from stickslip.problems.matrix import Dense
from stickslip.problems.residual import judge_velocities
from stickslip.solvers.block_lu import (
    MOST_UPDATES,
    BlockMatrix,
    BlockPattern,
    analyse,
    blank,
    factorise,
    invert,
    scatter,
)
from stickslip.solvers.block_lu import solve as back_substitute
from stickslip.solvers.body_lu import (
    BodySystem,
    add_products,
    body_system,
    factorise_bodies,
    multiply,
    no_legs,
    own_blocks,
    scaled_legs,
    solve_bodies,
)


class System(NamedTuple):
    """W scaled, and the D that is added to it."""

    D: Dense  # (nc, 9)
    K: Dense  # (nc, 9)   of bodies
    bodies: BodySystem  # with no legs where the system is one over contacts
    pattern: BlockPattern  # over the contacts: the order of elimination, W and W + D
    base: BlockMatrix
    A: BlockMatrix


@kernel
def own_only(legs, d):
    """W of legs, with its diagonal blocks alone."""
    n = legs.start.size - 1
    return ContactBlocks(own_blocks(legs, d), np.zeros((d * d, 0)), np.zeros(n + 1, np.uint32), np.zeros(0, np.uint32))


@kernel
def find_velocities(W, legs, q, r, u):
    """u = W r + q."""
    if legs.bodies == 0:
        velocities(W, q, r, u)
        return
    n = legs.start.size - 1
    d = q.size // n
    x, y = np.zeros((n, 3)), np.zeros((n, 3))
    for i in range(n):
        for a in range(d):
            x[i, a], y[i, a] = r[d * i + a], q[d * i + a]
    add_products(legs, x, y)
    for i in range(n):
        for a in range(d):
            u[d * i + a] = y[i, a]


@kernel
def judge(W, legs, q, mu, shift, tol, r, u):
    """u = W r + q in place; the residual, and whether r solves the problem."""
    find_velocities(W, legs, q, r, u)
    return judge_velocities(W.diagonal, q, mu, shift, tol, r, u)


@kernel
def prepare(W, legs, scale, smooth):
    """The system of contacts scaled so; tangents of those that are smooth take no part. Where it would take too many
    products to factorise, its pattern is empty."""
    n = scale.size
    D, K = np.zeros((n, 9)), np.zeros((n, 9))
    if legs.bodies > 0:
        bodies = body_system(scaled_legs(legs, scale, smooth))
        return System(D, K, bodies, bodies.pattern, bodies.A, bodies.A)
    pattern = analyse(W, MOST_UPDATES)
    base, A = blank(pattern), blank(pattern)
    if pattern.start.size > 0:
        scatter(pattern, W, scale, smooth, base)
    return System(D, K, body_system(no_legs()), pattern, base, A)


@kernel
def factorised(system):
    """Factorise W + D. False where that fails."""
    D, K, legs = system.D, system.K, system.bodies.legs
    if legs.bodies > 0:
        K[:] = D
        for i in range(K.shape[0]):
            for a in range(3):
                K[i, 4 * a] += legs.give[i, a]
            if not invert(K, np.uint32(i)):
                return False
        return factorise_bodies(system.bodies, K)
    pattern, base, A = system.pattern, system.base, system.A
    A.lower[:] = base.lower
    A.upper[:] = base.upper
    for k in range(pattern.order.size):
        for e in range(9):
            A.diagonal[k, e] = base.diagonal[k, e] + D[pattern.order[k], e]
    return factorise(pattern, A)


@kernel
def substitute(system, b, x):
    """x with (W + D) x = b, three numbers a contact."""
    bodies, D, K = system.bodies, system.D, system.K
    if bodies.legs.bodies == 0:
        x[:] = b
        back_substitute(system.pattern, system.A, x)
        return
    c, rest, more = np.empty_like(b), b.copy(), np.empty_like(b)
    x[:] = 0.0
    for _ in range(2):
        multiply(K, rest, c)
        solve_bodies(bodies, K, c, more)
        x += more
        multiply(D, x, rest)
        add_products(bodies.legs, x, rest)
        rest[:] = b - rest
