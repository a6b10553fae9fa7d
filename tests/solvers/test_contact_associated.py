"""The exact solution of one contact under the associated law: the law as yardstick, projections, minimisation."""

import math

import numpy as np
import pytest

from stickslip.problems.cone import ConeProblem
from stickslip.problems.residual import project_cone, residual
from stickslip.solvers.contact_associated import solve_associated, solve_planar_associated

pytestmark = pytest.mark.core


def impulse(W, q, mu):
    """r of one contact in the plane or in space."""
    W, q = np.asarray(W, float), np.asarray(q, float)
    solve = solve_planar_associated if q.size == 2 else solve_associated
    return np.array(solve(float(mu), *W.ravel(), *q))


def error(W, q, mu, r):
    return residual(ConeProblem(W, q, [mu], law="associated"), r)


def state(W, q, mu, r):
    moving = np.linalg.norm(W @ r + q)
    return "open" if r[0] == 0 else "stick" if moving < 1e-9 * np.linalg.norm(q) else "edge"


def symmetric(rng, d):
    A = rng.standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


def slightly_unsymmetric(rng, d):
    return symmetric(rng, d) * (1 + 1e-3 * rng.standard_normal((d, d)))


def unsymmetric(rng, d):
    A, B = rng.standard_normal((2, d, d))
    return A @ A.T + 0.1 * np.eye(d) + 0.5 * (B - B.T)


def uncoupled(rng, d):
    """Normal and tangents apart; with q_n = 0 the edge is where Cramer's rule reads 0 / 0."""
    W = symmetric(rng, d)
    W[0, 1:] = W[1:, 0] = 0.0
    return W


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("make", [symmetric, slightly_unsymmetric, unsymmetric, uncoupled])
def test_random_contacts_obey_the_law(make, dimension):
    rng = np.random.default_rng(4)
    seen = {"open": 0, "stick": 0, "edge": 0}
    for _ in range(2000):
        W, q = make(rng, dimension), rng.standard_normal(dimension) * 10.0 ** rng.uniform(-6, 6)
        q[0] *= rng.choice([0.0, 1e-14, 1e-7, 1.0, 1.0, 1.0])
        mu = rng.choice([0.0, 10.0 ** rng.uniform(-6, 3), rng.uniform(0, 2)])
        r = impulse(W, q, mu)
        assert error(W, q, mu, r) <= 1e-12
        seen[state(W, q, mu, r)] += 1
    assert min(seen.values()) > 20


@pytest.mark.parametrize("dimension", [2, 3])
def test_what_rounding_costs_grows_with_the_condition(dimension):
    """Eigenvalues over six decades."""
    rng = np.random.default_rng(5)
    for _ in range(2000):
        Q, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
        W = Q * 10.0 ** rng.uniform(-3, 3, dimension) @ Q.T
        q, mu = rng.standard_normal(dimension), rng.uniform(0, 2)
        assert error(W, q, mu, impulse(W, q, mu)) <= 1e-15 * max(100.0, np.linalg.cond(W))


@pytest.mark.parametrize("dimension", [2, 3])
def test_with_a_multiple_of_the_identity_the_impulse_is_a_projection(dimension):
    """u = r / m + q with q = u - r / m is Moreau's decomposition: r = m P_K(-q)."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        m, mu, q = rng.uniform(0.1, 10), rng.uniform(0.01, 2), rng.standard_normal(dimension)
        expected = m * np.array(project_cone(mu, *-q, *[0.0] * (3 - dimension)))[:dimension]
        np.testing.assert_allclose(impulse(np.eye(dimension) / m, q, mu), expected, atol=1e-13 * m)


@pytest.mark.parametrize("dimension", [2, 3])
def test_no_other_point_of_the_cone_is_lower(dimension):
    """½ rᵀ W r + qᵀ r against its minimum along each of many rays of the cone."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        W, q, mu = symmetric(rng, dimension), rng.standard_normal(dimension), rng.uniform(0.05, 1.5)
        r = impulse(W, q, mu)
        tangent = rng.standard_normal((20_000, dimension - 1))
        tangent *= (mu * np.minimum(1.0, rng.uniform(0, 2, 20_000)) / np.linalg.norm(tangent, axis=1))[:, None]
        rays = np.column_stack([np.ones(20_000), tangent])
        lowest = -(np.minimum(rays @ q, 0.0) ** 2 / (2 * np.einsum("ki,ki->k", rays @ W, rays))).max()
        value = r @ W @ r / 2 + q @ r
        assert value <= lowest + 1e-14
        assert lowest <= 0.99 * value  # the rays are dense: some come close


def test_it_agrees_with_coulomb_where_the_contact_sticks():
    r = impulse(np.eye(3) / 2, [-1.0, 0.3, 0.2], 0.5)
    np.testing.assert_allclose(r, [2.0, -0.6, -0.4], rtol=1e-15)


def test_a_sliding_contact_also_separates():
    """u_n = μ |u_t|, the price of the associated law."""
    W, q, mu = np.diag([1.0, 2.0, 2.0]), np.array([-1.0, 3.0, 0.0]), 0.4
    u = W @ impulse(W, q, mu) + q
    assert u[1] > 1.0
    assert u[0] == pytest.approx(mu * math.hypot(u[1], u[2]), rel=1e-14)


def test_turning_the_tangents_turns_the_impulse():
    rng = np.random.default_rng(1)
    for _ in range(100):
        W, q, mu, angle = symmetric(rng, 3), rng.standard_normal(3), rng.uniform(0, 1), rng.uniform(0, 7)
        c, s = math.cos(angle), math.sin(angle)
        Q = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        expected = Q @ impulse(W, q, mu)
        np.testing.assert_allclose(impulse(Q @ W @ Q.T, Q @ q, mu), expected, atol=1e-12 * (1 + abs(expected).max()))


def test_a_plane_is_space_without_the_second_tangent():
    rng = np.random.default_rng(2)
    for _ in range(200):
        W, q, mu = unsymmetric(rng, 2), rng.standard_normal(2), rng.uniform(0, 2)
        in_space = np.zeros((3, 3))
        in_space[:2, :2], in_space[2, 2] = W, 1.0
        r = impulse(W, q, mu)
        np.testing.assert_allclose(impulse(in_space, [*q, 0.0], mu), [*r, 0.0], atol=1e-12 * (1 + abs(r).max()))


def test_frictionless_contact_only_pushes():
    W = symmetric(np.random.default_rng(0), 3)
    np.testing.assert_allclose(impulse(W, [-3.0, 1.0, 2.0], 0.0), [3.0 / W[0, 0], 0.0, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(impulse(W, [3.0, 1.0, 2.0], 0.0), [0.0, 0.0, 0.0])


@pytest.mark.parametrize("dimension", [2, 3])
def test_singular_blocks_that_allow_a_solution(dimension):
    """W = A Aᵀ of rank one or two, q in its range: the free velocity of a body that moves in fewer directions."""
    rng = np.random.default_rng(3)
    for rank in range(1, dimension):
        for _ in range(1000):
            A = rng.standard_normal((dimension, rank))
            W, q, mu = A @ A.T, A @ rng.standard_normal(rank), rng.uniform(0, 1)
            assert error(W, q, mu, impulse(W, q, mu)) <= 1e-12
