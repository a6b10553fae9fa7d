"""Quaternions against SciPy's rotations and against the closed forms of their derivative and exponential."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stickslip.dynamics.rotations import SMALL, to_matrix, turn

pytestmark = pytest.mark.core


def random_rotations(count=20, seed=0):
    return Rotation.random(count, rng=np.random.default_rng(seed))


def matrix_of(q):
    R = np.empty((3, 3))
    to_matrix(np.asarray(q, np.float64), R)
    return R


def turned(q, h, spin):
    q = np.array(q, np.float64)
    turn(q, h, *spin)
    return q


def test_matrices_are_those_of_scipy():
    for rotation in random_rotations():
        np.testing.assert_allclose(matrix_of(rotation.as_quat(scalar_first=True)), rotation.as_matrix(), atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-4, 1.9 * SMALL**0.5, 2.1 * SMALL**0.5, 0.3, 3.0, 10.0])
def test_a_turn_is_the_exponential_map(angle):
    random = np.random.default_rng(1)
    for rotation in random_rotations(5):
        axis = random.normal(size=3)
        spin = axis / np.linalg.norm(axis) * angle / 0.01
        q = turned(rotation.as_quat(scalar_first=True), 0.01, spin)
        expected = Rotation.from_rotvec(0.01 * spin) * rotation  # world axes: the turn comes after
        np.testing.assert_allclose(matrix_of(q), expected.as_matrix(), atol=2e-15)
        np.testing.assert_allclose(np.linalg.norm(q), 1.0, atol=1e-15)


def test_many_turns_about_one_axis_add_up():
    q, spin = np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, -2.0, 0.5])
    for _ in range(10_000):
        turn(q, 1e-3, *spin)
    np.testing.assert_allclose(matrix_of(q), Rotation.from_rotvec(10.0 * spin).as_matrix(), atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(q), 1.0, atol=1e-15)


def test_no_turn_changes_no_bit():
    q = random_rotations(1)[0].as_quat(scalar_first=True)
    assert (turned(q, 0.01, (0.0, 0.0, 0.0)) == q).all()


def rate(q, spin, h=1e-6):
    """The derivative of q while the body turns with ω (world axes), by differences."""
    return (turned(q, h, spin) - turned(q, -h, spin)) / (2 * h)


def test_the_rate_of_the_notes():
    """Corrected from the print: q = (√½, 0, 0, √½) and ω = (1, 0, 0) in world axes."""
    half = math.sqrt(0.5)
    expected = [0.0, 0.3535533906, -0.3535533906, 0.0]
    np.testing.assert_allclose(rate(np.array([half, 0.0, 0.0, half]), (1.0, 0.0, 0.0)), expected, atol=1e-9)


def test_the_rate_is_half_the_product_with_the_spin():
    """q̇ = ½ (0, ω) q."""
    random = np.random.default_rng(2)
    for rotation in random_rotations(5):
        q, spin = rotation.as_quat(scalar_first=True), random.normal(size=3)
        product = [-spin @ q[1:], *(q[0] * spin + np.cross(spin, q[1:]))]
        np.testing.assert_allclose(rate(q, spin), np.array(product) / 2, atol=1e-9)
