"""One impact with friction along its path, against the closed forms of Routh's planar cases, and laws in space."""

import numpy as np
import pytest

from stickslip.friction.impact import Routh
from stickslip.friction.routh import single_impact


def planar(a, b, c):
    return np.array([[a, b], [b, c]])


def expected(W, u, segments, e, stronge):
    """The impulse along straight lines: (length, dp_t/dP) one after the other, the last one without end."""
    P, p_t, u_n, work, compressed, left = 0.0, 0.0, u[0], 0.0, None, None
    for length, friction in segments:
        rate = W[0, 0] + W[0, 1] * friction
        while length > 0:
            step = length
            if compressed is None:
                if rate > 0:
                    step = min(step, -u_n / rate)
            elif stronge:
                # u_n step + rate step²/2 = left
                end = 2 * left / (u_n + np.sqrt(u_n**2 + 2 * rate * left)) if u_n**2 + 2 * rate * left >= 0 else np.inf
                step = min(step, end)
            else:
                step = min(step, (1 + e) * compressed - P)
            done = u_n * step + rate * step**2 / 2
            P, p_t, u_n, length = P + step, p_t + friction * step, u_n + rate * step, length - step
            if compressed is None:
                work -= done
                if abs(u_n) < 1e-12:
                    compressed, left, u_n = P, e**2 * work, 0.0
            else:
                left -= done
                if (abs(left) if stronge else abs((1 + e) * compressed - P)) < 1e-12:
                    return np.array([P, p_t])
    raise AssertionError("the path has no end")


@pytest.mark.parametrize("stronge", [True, False], ids=["Stronge", "Poisson"])
@pytest.mark.parametrize("e", [0.3, 0.7, 1.0])
@pytest.mark.parametrize(
    ("W", "u", "mu", "kind"),
    [
        (planar(1.0, 0.2, 3.0), [-2.0, 0.5], 0.4, "sticks"),
        (planar(1.0, 0.2, 3.0), [-2.0, 2.0], 0.4, "sticks"),  # in expansion
        (planar(1.0, -0.3, 3.0), [-2.0, 20.0], 0.4, "slides"),
        (planar(1.5, -1.8, 3.0), [-2.0, 1.0], 0.3, "reverses"),
        (planar(1.5, -1.8, 3.0), [-2.0, 5.0], 0.3, "reverses"),  # in expansion
        (planar(1.5, 1.8, 3.0), [-2.0, -1.0], 0.3, "reverses"),
    ],
)
def test_rouths_cases(W, u, mu, kind, e, stronge):
    s, (b, c) = np.sign(u[1]), W[1]
    until = u[1] / (mu * c * s - b)  # impulse at which the slip ends
    after = {"sticks": -b / c, "reverses": mu * s, "slides": -mu * s}[kind]
    assert (abs(b / c) <= mu) == (kind != "reverses")
    path = [(until, -mu * s), (np.inf, after)] if kind != "slides" else [(np.inf, -mu * s)]
    p = single_impact(W, np.array(u), mu, e, stronge)
    np.testing.assert_allclose(p, expected(W, u, path, e, stronge), rtol=1e-9)
    end = np.array(u) + W @ p
    if kind == "slides":
        assert end[1] * s > 0
    elif end[1] * s <= 0 and kind == "sticks":
        assert end[1] == pytest.approx(0.0, abs=1e-9)


def rod(angle, mass=1.0, length=1.0):
    """W of the end of a rod that leans by an angle from the vertical."""
    x, z = 0.5 * length * np.sin(angle), -0.5 * length * np.cos(angle)
    inertia = mass * length**2 / 12
    J = np.array([[0.0, 1.0, x], [1.0, 0.0, -z]])  # n, t of (v_x, v_z, spin), the point at (x, z)
    return J @ np.diag([1 / mass, 1 / mass, 1 / inertia]) @ J.T


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_rod_without_slip_and_friction(e):
    """It falls straight: without friction the end comes back with e times its speed, whatever the hypothesis."""
    for angle in (0.2, 0.7, 1.3):
        W = rod(angle)
        for stronge in (True, False):
            p = single_impact(W, np.array([-1.0, 0.0]), 0.0, e, stronge)
            np.testing.assert_allclose(p, [(1 + e) / W[0, 0], 0.0], rtol=1e-9)


def random_impact(random, d):
    A = random.standard_normal((d, d + 1))
    u = random.standard_normal(d)
    u[0] = -abs(u[0]) - 0.1
    return A @ A.T, u, random.uniform(0, 2), random.uniform(0, 1)


@pytest.mark.parametrize("d", [2, 3])
def test_no_energy_comes_of_an_impact(d):
    random = np.random.default_rng(d)
    for _ in range(200):
        W, u, mu, e = random_impact(random, d)
        p = single_impact(W, u, mu, e, True)
        assert np.linalg.norm(p[1:]) <= mu * p[0] * (1 + 1e-12)
        assert p @ (2 * u + W @ p) / 2 <= 1e-9 * abs(p @ u)
        assert (u + W @ p)[0] >= -1e-9 * abs(u[0])


def test_a_plane_in_space():
    """Where the third direction has no part, space is the plane."""
    random = np.random.default_rng(5)
    for _ in range(50):
        W, u, mu, e = random_impact(random, 2)
        W_3 = np.zeros((3, 3))
        W_3[:2, :2], W_3[2, 2] = W, 1.0
        in_space = single_impact(W_3, np.append(u, 0.0), mu, e, True)
        np.testing.assert_allclose(in_space[:2], single_impact(W, u, mu, e, True), rtol=1e-6, atol=1e-9)
        assert in_space[2] == pytest.approx(0.0, abs=1e-12)


def test_tangents_have_no_preferred_direction():
    random = np.random.default_rng(6)
    for angle in (0.3, 2.0):
        R = np.eye(3)
        R[1:, 1:] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        for _ in range(20):
            W, u, mu, e = random_impact(random, 3)
            turned = single_impact(np.ascontiguousarray(R @ W @ R.T), R @ u, mu, e, True)
            np.testing.assert_allclose(turned, R @ single_impact(W, u, mu, e, True), rtol=1e-4, atol=1e-6)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="Routh: restitution is 'newton', expected 'stronge' or 'poisson'"):
        Routh("newton")
