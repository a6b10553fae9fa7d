"""The exact solution of one contact: the law itself as yardstick, closed forms, and symmetries."""

import math

import numpy as np
import pytest

from stickslip.problems.blocks import invert_block
from stickslip.problems.cone import ConeProblem
from stickslip.problems.residual import residual
from stickslip.solvers.contact import solve_contact, solve_inverted, solve_planar_contact

pytestmark = pytest.mark.core


def impulse(W, q, mu):
    """r of one contact in the plane or in space."""
    W, q = np.asarray(W, float), np.asarray(q, float)
    solve = solve_planar_contact if q.size == 2 else solve_contact
    return np.array(solve(float(mu), *W.ravel(), *q))


def state(W, q, mu, r):
    slip = np.linalg.norm((W @ r + q)[1:])
    return "open" if r[0] == 0 else "stick" if slip < 1e-9 * np.linalg.norm(q) else "slip"


def symmetric(rng, d):
    A = rng.standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


def unsymmetric(rng, d):
    A, B = rng.standard_normal((2, d, d))
    return A @ A.T + 0.1 * np.eye(d) + 0.5 * (B - B.T)


def stretched(rng, d):
    """Eigenvalues over six decades."""
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    W = Q * 10.0 ** rng.uniform(-3, 3, d) @ Q.T
    return (W + W.T) / 2


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("make", [symmetric, unsymmetric, stretched])
def test_random_contacts_obey_the_law(make, dimension):
    rng = np.random.default_rng(4)
    seen = {"open": 0, "stick": 0, "slip": 0}
    for _ in range(2000):
        W, q = make(rng, dimension), rng.standard_normal(dimension) * 10.0 ** rng.uniform(-6, 6)
        mu = rng.choice([0.0, 10.0 ** rng.uniform(-6, 0), rng.uniform(0, 2)])
        r = impulse(W, q, mu)
        assert residual(ConeProblem(W, q, [mu]), r) <= 1e-12
        seen[state(W, q, mu, r)] += 1
    assert min(seen.values()) > 20


@pytest.mark.parametrize("make", [symmetric, unsymmetric])
def test_the_inverse_of_the_block_gives_the_same_impulse(make):
    rng = np.random.default_rng(6)
    seen = {"open": 0, "stick": 0, "slip": 0}
    for _ in range(2000):
        W, q = make(rng, 3), rng.standard_normal(3) * 10.0 ** rng.uniform(-6, 6)
        q[0] *= rng.choice([1.0, 1.0, 1e-3])
        mu = rng.choice([10.0 ** rng.uniform(-6, 3), rng.uniform(0, 2)])
        det, *adjugate = invert_block(*W.ravel())
        np.testing.assert_allclose(np.reshape(adjugate, (3, 3)) / det, np.linalg.inv(W), atol=1e-12 / det)
        r = np.array(solve_inverted(mu, *(np.array(adjugate) / det), *q))
        assert residual(ConeProblem(W, q, [mu]), r) <= 1e-11
        seen[state(W, q, mu, r)] += 1
    assert min(seen.values()) > 20


@pytest.mark.parametrize("angle", [0.0, 0.2, 0.4635, 0.4637, 1.0])  # atan(0.5) = 0.46365
@pytest.mark.parametrize("dimension", [2, 3])
def test_block_sticks_iff_slope_is_below_friction_angle(angle, dimension):
    h, m, g, mu = 0.01, 2.0, 9.81, 0.5
    q = h * g * np.array([-math.cos(angle), -math.sin(angle), 0.0])[:dimension]
    r = impulse(np.eye(dimension) / m, q, mu)
    slip = h * g * max(0.0, math.sin(angle) - mu * math.cos(angle))
    np.testing.assert_allclose(r / m + q, [0.0, -slip, 0.0][:dimension], atol=1e-15)


def test_planar_slip_has_its_closed_form():
    """Sliding to the right under W_nt ≠ 0: r_t = -μ r_n and u_n = 0 give r_n = -q_n / (W_nn - μ W_nt)."""
    W, q, mu = np.array([[2.0, 0.7], [0.7, 1.5]]), np.array([-1.0, 3.0]), 0.4
    r_n = 1.0 / (2.0 - 0.4 * 0.7)
    np.testing.assert_allclose(impulse(W, q, mu), [r_n, -mu * r_n], rtol=1e-14)


def test_frictionless_contact_only_pushes():
    W = symmetric(np.random.default_rng(0), 3)
    np.testing.assert_allclose(impulse(W, [-3.0, 1.0, 2.0], 0.0), [3.0 / W[0, 0], 0.0, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(impulse(W, [3.0, 1.0, 2.0], 0.0), [0.0, 0.0, 0.0])


def test_turning_the_tangents_turns_the_impulse():
    rng = np.random.default_rng(1)
    for _ in range(100):
        W, q, mu, angle = symmetric(rng, 3), rng.standard_normal(3), rng.uniform(0, 1), rng.uniform(0, 7)
        c, s = math.cos(angle), math.sin(angle)
        Q = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        expected = Q @ impulse(W, q, mu)
        np.testing.assert_allclose(impulse(Q @ W @ Q.T, Q @ q, mu), expected, atol=1e-12 * (1 + abs(expected).max()))


def test_impulse_scales_with_the_velocity():
    rng = np.random.default_rng(2)
    for _ in range(100):
        W, q, mu = symmetric(rng, 3), rng.standard_normal(3), rng.uniform(0, 1)
        for scale in (2.0**60, 2.0**-60, 2.0**-300):
            np.testing.assert_allclose(impulse(W, scale * q, mu), scale * impulse(W, q, mu), rtol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_singular_blocks_that_allow_a_solution(dimension):
    """W = A Aᵀ of rank one or two, q in its range: the free velocity of a body that moves in fewer directions."""
    rng = np.random.default_rng(3)
    for rank in range(1, dimension):
        for _ in range(300):
            A = rng.standard_normal((dimension, rank))
            W, q, mu = A @ A.T, A @ rng.standard_normal(rank), rng.uniform(0, 1)
            assert residual(ConeProblem(W, q, [mu]), impulse(W, q, mu)) <= 1e-12


@pytest.mark.parametrize("q_n", [-1e-12, -1e-100, -1e-200, -1e-300, -5e-324])
def test_a_barely_closing_contact_stays_finite(q_n):
    W, q, mu = symmetric(np.random.default_rng(5), 3), np.array([q_n, 1.0, -2.0]), 0.3
    r = impulse(W, q, mu)
    assert np.isfinite(r).all()
    assert residual(ConeProblem(W, q, [mu]), r) <= 1e-12
