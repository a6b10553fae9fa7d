"""A flat cube that slides: it does not lift, it stops where it should, and the associated law makes it fly."""

import numpy as np
from laws import EVERY, G, but, over, simulate

import stickslip as ss


def sliding_cube(speed=6.0, mu=0.5):
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    return scene, scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(speed, 0, 0))


@over(but(ss.CompliantCone))
def test_it_does_not_lift_and_stops_where_it_should(friction):
    """v_k = v_0 - k μ g h until it rests: Euler's steps add up to less than v_0²/(2 μ g) by about ½ v_0 h, and those by
    the mean of velocities to it, but for the last one."""
    h = 0.02
    scene, cube = sliding_cube()
    run = simulate(scene, 1.3, h, friction)
    x = run.position(cube)
    speeds = 6.0 - 0.5 * G * h * np.arange(1, 100)
    assert np.abs(x[:, 2] - 0.5).max() < 1e-9
    ahead = 0.0 if friction.scheme == "euler" else 6.0 * h / 2
    np.testing.assert_allclose(x[-1], [h * speeds[speeds > 0].sum() + ahead, 0.0, 0.5], atol=1e-8)
    assert abs(x[-1, 0] - 6.0**2 / (2 * 0.5 * G)) < (6.0 if friction.scheme == "euler" else 0.5 * G * h) * h
    np.testing.assert_allclose(run.velocity(cube)[-1], 0.0, atol=1e-9)


def test_under_the_associated_law_it_flies():
    """u_n = μ |u_t|: the faster it slides, the faster it rises."""
    scene, cube = sliding_cube()
    run = simulate(scene, 0.3, 0.01, ss.CompliantCone())
    assert run.position(cube)[:, 2].max() > 0.6


def test_a_particle_under_the_associated_law():
    """One step by hand: u_n = μ |u_t| with u_n = p - g h, |u_t| = 1 - μ p."""
    mu, h = 0.5, 0.01
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    particle = scene.add_particle(mass=1.0, velocity=(1.0, 0.0, 0.0))
    run = simulate(scene, h, h, ss.CompliantCone())
    p = (mu + G * h) / (1 + mu**2)
    np.testing.assert_allclose(run.contacts(step=0).impulse, [[p, -mu * p, 0.0]], atol=1e-10)
    np.testing.assert_allclose(run.velocity(particle)[-1], [1 - mu * p, 0.0, p - G * h], atol=1e-10)
    np.testing.assert_allclose(p, 0.47848, atol=1e-12)


@EVERY
def test_without_friction_it_keeps_its_speed(friction):
    scene, cube = sliding_cube(mu=0.0)
    run = simulate(scene, 0.1, 0.01, friction)
    np.testing.assert_allclose(run.velocity(cube), np.tile([6.0, 0.0, 0.0], (11, 1)), atol=1e-9)
