"""Pushed from rest in any direction of the plane: round cones answer alike, polygons show their corners.

A particle of mass 1 is pushed with twice the force that friction can hold, F = 2 μ g, at the angle φ. With a round
cone it is accelerated along the push by F - μ g. With n directions of friction at equal angles the friction is the
corner of the polygon that opposes the velocity best. Seen from the direction nearest to the push, |φ| <= π/n away,

    a = (F cos φ - μ g, F sin φ)                      while that is within π/n of it, else                        (1)
    a = F cos(π/n - φ) - μ g cos(π/n)                 along the normal of the side, at π/n                        (2)

so the answer repeats every 2π/n, and along the push it is between F - μ g and F - μ g cos(π/n), half way between.
"""

import math

import numpy as np
import pytest
from laws import G, over, simulate

import stickslip as ss

MU, PUSH = 0.5, 2.0  # force by the most that friction holds
ANGLES = 2 * math.pi * np.arange(48) / 48
STEPS, H = 5, 0.01


def pushed_all_round(friction, h=H, duration=STEPS * H):
    """Mean accelerations along and across the push, (48, 2); the particles are far from each other."""
    scene = ss.Scene()
    scene.add_plane(friction=MU)
    particles = [scene.add_particle(mass=1.0, position=(i, 0, 0)) for i in range(ANGLES.size)]
    for particle, angle in zip(particles, ANGLES, strict=True):
        scene.apply(particle, force=(PUSH * MU * G * math.cos(angle), PUSH * MU * G * math.sin(angle), 0.0))
    run = simulate(scene, duration, h, friction)
    v = np.array([run.velocity(particle)[-1] for particle in particles]) / duration
    along, across = np.cos(ANGLES), np.sin(ANGLES)
    return np.stack([along * v[:, 0] + across * v[:, 1], along * v[:, 1] - across * v[:, 0]], axis=1)


def polygonal(n, angle):
    """(1) and (2), along and across the push."""
    side = 2 * math.pi / n
    phi = angle - side * round(angle / side)
    F, bound = PUSH * MU * G, MU * G
    a = complex(F * math.cos(phi) - bound, F * math.sin(phi))
    middle = math.copysign(math.pi / n, phi)
    if abs(math.atan2(a.imag, a.real)) > math.pi / n:
        a = (F * math.cos(middle - phi) - bound * math.cos(math.pi / n)) * complex(math.cos(middle), math.sin(middle))
    a *= complex(math.cos(phi), -math.sin(phi))
    return a.real, a.imag


@over([ss.Coulomb(), ss.Coulomb(ss.Relaxation()), ss.CompliantCylinder(), ss.CompliantCone()])
def test_round_cones_answer_alike_in_every_direction(friction):
    a = pushed_all_round(friction)
    np.testing.assert_allclose(a, np.tile([a[0, 0], 0.0], (48, 1)), atol=1e-9)
    if not isinstance(friction, ss.CompliantCone):  # which lifts the particles, and so has less friction
        np.testing.assert_allclose(a[:, 0], (PUSH - 1) * MU * G, atol=1e-9)


def test_so_does_a_block_on_four_corners():
    def moved(angle):
        scene = ss.Scene()
        scene.add_plane(friction=MU)
        block = scene.add_box(size=(1.0, 1.0, 0.2), mass=1.0, position=(0, 0, 0.1))
        scene.apply(block, force=(PUSH * MU * G * math.cos(angle), PUSH * MU * G * math.sin(angle), 0.0))
        x = simulate(scene, 0.1, 0.01, ss.Coulomb()).position(block)[-1]
        return x[0] * math.cos(angle) + x[1] * math.sin(angle), x[1] * math.cos(angle) - x[0] * math.sin(angle)

    expected = (PUSH - 1) * MU * G * 0.1**2 / 2
    np.testing.assert_allclose([moved(angle) for angle in ANGLES], np.tile([expected, 0.0], (48, 1)), atol=1e-9)


@pytest.mark.parametrize("kind", [ss.StewartTrinkle, ss.AnitescuPotra])
@pytest.mark.parametrize("n", [4, 8, 16])
def test_polygons_show_their_corners(kind, n):
    a = pushed_all_round(kind(n))
    np.testing.assert_allclose(a, [polygonal(n, angle) for angle in ANGLES], atol=1e-9)
    turned = np.roll(a, 48 // n, axis=0)
    np.testing.assert_allclose(a, turned, atol=1e-9)
    if 48 % (2 * n) == 0:  # some angle is half way between two directions
        amplitude = MU * G * (1 - math.cos(math.pi / n))
        np.testing.assert_allclose(np.ptp(a[:: 24 // n, 0]), amplitude, atol=1e-9)


def test_a_box_holds_each_axis_for_itself():
    """A square about the circle: up to √2 too strong, along the diagonals."""
    F = PUSH * MU * G * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
    left = np.sign(F) * np.maximum(np.abs(F) - MU * G, 0.0)
    along, across = np.cos(ANGLES), np.sin(ANGLES)
    expected = np.stack([along * left[:, 0] + across * left[:, 1], along * left[:, 1] - across * left[:, 0]], axis=1)
    np.testing.assert_allclose(pushed_all_round(ss.Box()), expected, atol=1e-9)


@over([ss.Hybrid(), ss.Phantom()])
def test_axes_along_the_velocity_are_round_in_the_limit(friction):
    """Only the first step, from rest, is that of a square; what it costs is of first order in h."""
    expected = np.tile([(PUSH - 1) * MU * G, 0.0], (48, 1))
    error = [np.abs(pushed_all_round(friction, h, 0.08) - expected).max() for h in (0.01, 0.005, 0.0025)]
    assert error[0] < 0.1 * (PUSH - 1) * MU * G
    np.testing.assert_allclose([error[0] / error[1], error[1] / error[2]], 2.0, rtol=0.1)
