"""Systems in generalized coordinates: Lagrange's equations hold, derivatives agree, bad systems are refused."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.dynamics.generalized import evaluate
from stickslip.dynamics.mechanisms import arm_on_the_plane, rod_on_its_foot

pytestmark = pytest.mark.core

RNG = np.random.default_rng(5)
SYSTEMS = [ss.rod(mass=2.0, length=1.3), ss.planar_rod(mass=0.7), ss.arm(density=1.5)]


def gradient(f, q, e=1e-6):
    return np.array([(f(q + e * d) - f(q - e * d)) / (2 * e) for d in np.eye(q.size)])


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_bias_is_what_lagrange_derives_from_the_mass_matrix(system):
    q, v = RNG.uniform(-1, 1, system.velocities), RNG.uniform(-1, 1, system.velocities)
    M_rate = gradient(lambda x: np.asarray(system.mass(x)), q).transpose(1, 2, 0) @ v
    slope = gradient(lambda x: v @ system.mass(x) @ v / 2, q)
    weight = system.bias(q, np.zeros_like(v))
    np.testing.assert_allclose(system.bias(q, v), M_rate @ v - slope + weight, atol=1e-8)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_weight_comes_from_a_potential(system):
    """A gradient has a symmetric derivative."""
    q = RNG.uniform(-1, 1, system.velocities)
    slope = gradient(lambda x: np.asarray(system.bias(x, np.zeros(x.size))), q)
    np.testing.assert_allclose(slope, slope.T, atol=1e-8)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_normal_row_is_the_gradient_of_the_gap(system):
    q = RNG.uniform(-1, 1, system.velocities)
    contact = system.contacts[0]
    np.testing.assert_allclose(contact.rows(q)[0], gradient(contact.gap, q), atol=1e-8)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_drift_by_difference_agrees_with_the_one_derived(system):
    q, v = RNG.uniform(-1, 1, system.velocities), RNG.uniform(-3, 3, system.velocities)
    without = replace(system, contacts=(replace(system.contacts[0], drift=None),))
    np.testing.assert_allclose(evaluate(without, q, v).drift, evaluate(system, q, v).drift, atol=1e-8)


def test_tip_is_where_the_arm_was_sent():
    q = arm_on_the_plane(0.34, np.radians(101.75))
    assert abs(ss.arm().contacts[0].gap(q)) < 1e-15
    np.testing.assert_allclose(np.degrees(q[:3]), [2.5047048167, 106.159741081, 101.75], atol=1e-8)
    assert np.isnan(arm_on_the_plane(2.0, 1.0)).all()


def test_velocity_map_moves_coordinates():
    """A wheel that rolls along x: one velocity, two coordinates."""
    wheel = ss.GeneralizedSystem(
        1, lambda q: [[1.5]], lambda q, v: [0.0], coordinates=2, map_velocity=lambda q: [[1.0], [2.0]], name="wheel"
    )
    np.testing.assert_array_equal(wheel.moved(np.zeros(2), np.array([0.5])), [0.5, 1.0])


def test_equations_of_the_arm():
    """Peiret 2019, (46) and (48), with the complete bias."""
    instant = evaluate(
        ss.arm(density=1.0), arm_on_the_plane(0.34, np.radians(101.75)), [0.572823613326, 2.05620866219, 0.0, 1.0]
    )
    np.testing.assert_allclose(instant.contact_acceleration(), [-9.78089272, 0.35661546, 0.21136206], atol=1e-7)
    torque = np.array([-5.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(instant.contact_acceleration(torque), [3.20834740, 0.35661546, 1.49038102], atol=1e-7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": lambda q: np.diag([1.0, 1.0, -2.0])}, "M has the eigenvalue -2, expected a positive definite matrix"),
        ({"mass": lambda q: np.eye(2)}, r"M has shape \(2, 2\), expected \(3, 3\)"),
        ({"mass": lambda q: np.eye(3) + np.eye(3, k=1)}, "M differs from its transpose by 1"),
        ({"mass": lambda q: np.full((3, 3), np.nan)}, r"M\[0, 0\] is nan"),
        ({"bias": lambda q, v: [0.0]}, r"bias has shape \(1,\), expected \(3,\)"),
        ({"velocities": 0}, "velocities is 0, expected a whole number of at least 1"),
        ({"coordinates": 4}, "expected a function map_velocity"),
        ({"contacts": (ss.ContactPoint(lambda q: 0.0, lambda q: np.zeros((1, 3))),)}, "expected rows n, t or n, t, o"),
        ({"constraint": ss.Constraint(lambda q: np.zeros((1, 2)))}, r"G has shape \(1, 2\), expected 3 columns"),
    ],
)
def test_bad_systems_are_refused(change, words):
    with pytest.raises(ss.InputError, match=words):
        evaluate(replace(ss.planar_rod(), **change), [0.0, 1.0, 0.5])


def test_bad_values_are_refused():
    with pytest.raises(ss.InputError, match="friction is -1, expected a number >= 0"):
        ss.rod(friction=-1)
    with pytest.raises(ss.InputError, match=r"arm: lengths is \(0.5, 0, 0.1\), expected three positive lengths"):
        ss.arm(lengths=(0.5, 0, 0.1))
    with pytest.raises(ss.InputError, match=r"rod: q has shape \(3,\), expected \(5,\)"):
        evaluate(ss.rod(), [0.0, 1.0, 0.5])
    with pytest.raises(ss.InputError, match=r"rod: v\[0\] is inf"):
        evaluate(ss.rod(), rod_on_its_foot(1.0), [np.inf, 0, 0, 0, 0])
