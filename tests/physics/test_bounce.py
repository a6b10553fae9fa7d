"""Restitution: after n bounces a ball rises to e²ⁿ of the height it fell from."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from laws import EVERY, G, simulate

import stickslip as ss

E = 0.5


def dropped(height):
    scene = ss.Scene()
    scene.add_plane(restitution=E, friction=0.3)
    return scene, scene.add_sphere(0.1, mass=2.0, position=(0, 0, 0.1 + height))


def bounces(v):
    """The steps that turn the ball round."""
    return np.flatnonzero((v[:-1] < 0) & (v[1:] > 0))


@EVERY
def test_newton_answers_the_velocity(friction):
    scene, ball = dropped(0.05)
    v = simulate(scene, 0.15, 0.005, friction).velocity(ball)[:, 2]
    k = bounces(v)
    assert k.size == 1
    np.testing.assert_allclose(v[k + 1], -E * v[k], rtol=1e-9)


@EVERY
def test_poisson_answers_the_impulse(friction):
    """Compression stops the ball and what gravity adds in the step, expansion gives e times that impulse."""
    h = 0.005
    scene, ball = dropped(0.05)
    run = simulate(scene, 0.15, h, replace(friction, impact=ss.Poisson()))
    v = run.velocity(ball)[:, 2]
    k = bounces(v)
    assert k.size == 1
    np.testing.assert_allclose(v[k + 1], E * (G * h - v[k]), rtol=1e-9)
    np.testing.assert_allclose(run.contacts(step=int(k[0])).impulse[0, 0], (1 + E) * 2.0 * (G * h - v[k[0]]), rtol=1e-9)


@pytest.mark.parametrize("impact", [ss.Newton(), ss.Poisson()], ids=str)
def test_heights_fall_by_the_square_of_e(impact):
    """A step sees an impact up to h late and begins the rise that much lower, and the rise itself is v h/2 short."""
    height, h = 1.0, 2e-4 if isinstance(impact, ss.Newton) else 1e-3
    scene, ball = dropped(height)
    run = ss.simulate(scene, 1.2, h, friction=ss.Coulomb(impact=impact))
    k = bounces(run.velocity(ball)[:, 2])
    assert k.size >= 3
    z = run.position(ball)[:, 2] - 0.1
    rises = np.array([z[first:last].max() for first, last in pairwise(k[:3])])
    expected = height * E ** (2 * np.arange(1, 3))
    speed = np.sqrt(2 * G * height) * E ** np.arange(3)
    allowed = np.cumsum((speed[:-1] + speed[1:]) * h / expected)
    assert (np.abs(rises / expected - 1) <= allowed).all()


@pytest.mark.parametrize("impact", [ss.Newton(), ss.Poisson()], ids=str)
def test_a_row_of_equal_balls_hands_the_speed_on(impact):
    """One elastic impact at a time, as the balls are apart: the last one leaves with the speed of the first."""
    scene = ss.Scene(gravity=(0, 0, 0))
    balls = [
        scene.add_sphere(
            0.1, mass=1.0, position=(0.3 * i, 0, 0), velocity=(1.0 if i == 0 else 0.0, 0, 0), restitution=1.0
        )
        for i in range(4)
    ]
    run = ss.simulate(scene, 1.0, 0.01, friction=ss.Coulomb(impact=impact))
    np.testing.assert_allclose([run.velocity(ball)[-1, 0] for ball in balls], [0, 0, 0, 1.0], atol=1e-9)


def test_what_falls_slower_than_the_rest_speed_stays():
    scene, ball = dropped(0.0)
    scene.place(ball, velocity=(0, 0, -5e-4))
    run = ss.simulate(scene, 0.1, 0.01)
    assert np.abs(run.position(ball)[:, 2] - 0.1).max() < 1e-5
