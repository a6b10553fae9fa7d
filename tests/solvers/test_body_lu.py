"""Systems of contacts factorised over their bodies: against dense linear algebra, and the methods that are made of them
against those over the contacts."""

import numpy as np
import pytest

from stickslip.problems.blocks import contact_blocks
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.residual import judge_cone
from stickslip.solvers.body_lu import (
    Legs,
    add_products,
    body_system,
    factorise_bodies,
    no_legs,
    own_blocks,
    scaled_legs,
    solve_bodies,
)
from stickslip.solvers.body_newton import approach
from stickslip.solvers.cone_interior_point import iterate
from stickslip.solvers.cone_system import factorised, find_velocities, own_only, prepare, substitute
from stickslip.solvers.status import SOLVED

pytestmark = pytest.mark.core


def legs_of(bodies, each, d=3, seed=0, compliance=0.0):
    """A row of bodies on a floor, `each` contacts between neighbours and on the floor."""
    rng = np.random.default_rng(seed)
    ends = [(b,) for b in range(bodies) for _ in range(each)]
    ends += [(b, b + 1) for b in range(bodies - 1) for _ in range(each)]
    ends += [(0, bodies - 1)] if bodies > 2 else []
    start = np.cumsum([0] + [len(end) for end in ends])
    G = np.zeros((start[-1], 3, 6))
    G[:, :d] = rng.normal(size=(start[-1], d, 6))
    give = np.zeros((len(ends), 3))
    give[:, 0] = compliance
    return Legs(start.astype(np.int64), np.concatenate(ends).astype(np.int64), G, give, bodies)


def dense(legs, d=3):
    """G (d nc, 6 nb), and W = G Gᵀ + ε."""
    n = legs.start.size - 1
    G = np.zeros((d * n, 6 * legs.bodies))
    for i in range(n):
        for t in range(legs.start[i], legs.start[i + 1]):
            b = 6 * legs.body[t]
            G[d * i : d * i + d, b : b + 6] += legs.G[t, :d]
    return G, G @ G.T + np.diag(legs.give[:, :d].ravel())


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("bodies", [1, 2, 5, 12])
def test_agrees_with_dense_linear_algebra(bodies, each):
    legs = legs_of(bodies, each)
    G, _ = dense(legs)
    n, rng = legs.start.size - 1, np.random.default_rng(1)
    K, c, x = rng.normal(size=(n, 9)), rng.normal(size=(n, 3)), np.empty((n, 3))
    blocks = np.zeros((3 * n, 3 * n))
    for i in range(n):
        K[i] += 4 * np.eye(3).ravel()  # unsymmetric, and so that no pivoting between bodies is needed
        blocks[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = K[i].reshape(3, 3)
    system = body_system(legs)
    assert factorise_bodies(system, K)
    solve_bodies(system, K, c, x)
    expected = np.linalg.solve(np.eye(3 * n) + blocks @ G @ G.T, c.ravel())
    np.testing.assert_allclose(x.ravel(), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_velocities_and_diagonal_are_those_of_the_matrix(d):
    legs = legs_of(4, 2, d, compliance=0.3)
    _, W = dense(legs, d)
    blocks, rng = contact_blocks(W, d), np.random.default_rng(2)
    np.testing.assert_allclose(own_blocks(legs, d), blocks.diagonal, rtol=1e-12)
    q, r, u = rng.normal(size=W.shape[0]), rng.normal(size=W.shape[0]), np.empty(W.shape[0])
    find_velocities(own_only(legs, d), legs, q, r, u)
    np.testing.assert_allclose(u, W @ r + q, rtol=1e-10, atol=1e-12)
    x, more = np.zeros((q.size // d, 3)), np.zeros((q.size // d, 3))
    x[:, :d] = r.reshape(-1, d)
    add_products(legs, x, more)
    np.testing.assert_allclose(more[:, :d].ravel(), W @ r, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("by_bodies", [False, True])
def test_the_systems_of_the_interior_point_method(by_bodies):
    """(S W S + D) x = b, tangents of smooth contacts left out."""
    legs, rng = legs_of(3, 2, compliance=0.1), np.random.default_rng(3)
    _, W = dense(legs)
    n = W.shape[0] // 3
    scale, smooth = rng.uniform(0.5, 2.0, n), np.arange(n) % 3 == 0
    kept = ~(np.repeat(smooth, 3) & (np.arange(3 * n) % 3 > 0))
    S = np.repeat(scale, 3) * kept
    matrix, b = W * S * S[:, None], np.where(kept, rng.normal(size=3 * n), 0.0)
    system = prepare(*((own_only(legs, 3), legs) if by_bodies else (contact_blocks(W, 3), no_legs())), scale, smooth)
    for i in range(n):
        D = rng.normal(size=(3, 3)) + 6 * np.eye(3)
        D = np.diag(D.diagonal()) if smooth[i] else D
        system.D[i] = D.ravel()
        matrix[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += D
    assert factorised(system)
    x = np.empty((n, 3))
    substitute(system, b.reshape(n, 3), x)
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(matrix, b), rtol=1e-9, atol=1e-11)


def test_scaled_legs_are_those_of_the_scaled_matrix():
    legs, scale = legs_of(3, 2, compliance=0.2), np.random.default_rng(4).uniform(0.5, 2.0, 13)
    _, W = dense(legs)
    n = W.shape[0] // 3
    S = np.repeat(scale[:n], 3)
    np.testing.assert_allclose(
        dense(scaled_legs(legs, scale[:n], np.zeros(n, bool)))[1], W * S * S[:, None], rtol=1e-12
    )


def legs_behind(problem):
    """Of a problem whose M is diagonal: G = Hᵀ M^-1/2."""
    H, M = problem.bodies.H.toarray(), problem.bodies.M.diagonal()
    rows = (H / np.sqrt(M)[:, None]).T.reshape(problem.contacts, 3, -1, 6)
    ends = [np.flatnonzero(np.abs(row).sum(axis=(0, 2)) > 0) for row in rows]
    start, body = np.cumsum([0] + [len(end) for end in ends]), np.concatenate(ends)
    G = np.concatenate([rows[i][:, end].swapaxes(0, 1) for i, end in enumerate(ends)])
    return Legs(start, body, np.ascontiguousarray(G), np.zeros((problem.contacts, 3)), H.shape[0] // 6)


PROBLEMS = {
    "stack": box_stack(4, 0.4, stir=0.05),
    "leaning stack": box_stack(3, 0.6, tilt=0.2, stir=0.02),
    "pile": sphere_pile(2, 0.3),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_legs_make_the_matrix_of_the_problem(name):
    np.testing.assert_allclose(dense(legs_behind(PROBLEMS[name]))[1], PROBLEMS[name].W.toarray(), atol=1e-12)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("coulomb", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_methods_over_bodies_agree_with_those_over_contacts(name, coulomb, smooth):
    """Each solves the problem. They agree in the velocities, which are unique where impulses are not; under Coulomb's
    law with loads that are not determined, those of stacks, velocities are not unique either."""
    problem = PROBLEMS[name]
    legs, W, q = legs_behind(problem), problem.blocks, problem.q
    mu = np.where(np.arange(problem.contacts) % 4 == 0, 0.0, problem.mu) if smooth else problem.mu
    shift = mu if coulomb else np.zeros_like(mu)

    def velocities(r):
        u = np.empty_like(q)
        assert judge_cone(W, q, mu, shift, 1e-8, r, u)[1]
        return u

    over_contacts, over_bodies, newton = (np.zeros_like(q) for _ in range(3))
    assert iterate(W, no_legs(), q, mu, shift, 1e-8, 100, 12, over_contacts)[0] == SOLVED
    assert iterate(own_only(legs, 3), legs, q, mu, shift, 1e-6, 100, 12, over_bodies)[0] == SOLVED
    answers = []
    for r in (over_contacts, over_bodies, newton):
        assert 0 < approach(legs, q, mu, shift, 1e-10, 1e-2, 300, r) < 300
        answers.append(velocities(r))
        again = r.copy()
        assert approach(legs, q, mu, shift, 1e-9, 1e-2, 300, again) == 0
        np.testing.assert_array_equal(again, r)
    if not coulomb or name == "pile":
        np.testing.assert_allclose(answers[1], answers[0], atol=1e-8)
        np.testing.assert_allclose(answers[2], answers[0], atol=1e-8)


def test_the_plane():
    """Contacts of two components, padded by a third that does nothing."""
    legs = legs_of(4, 3, 2, seed=5)
    _, W = dense(legs, 2)
    n, blocks, answers = legs.start.size - 1, contact_blocks(W, 2), []
    q = W @ np.tile([-1.0, 0.0], n)  # stopped by unit impulses
    mu, u = np.full(n, 0.4), np.empty_like(q)
    for matrix, known in ((blocks, no_legs()), (own_only(legs, 2), legs)):
        r = np.zeros_like(q)
        assert iterate(matrix, known, q, mu, mu, 1e-9, 100, 12, r)[0] == SOLVED
        assert judge_cone(blocks, q, mu, mu, 1e-8, r, u)[1]
        answers.append(u.copy())
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-7 * np.abs(q).max())
