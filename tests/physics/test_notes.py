"""The numbers of Trinkle's notes (printed errors corrected), by the whole engine: particle, sphere, impact."""

import math

import numpy as np
import pytest
from laws import G

import stickslip as ss
from stickslip.scene.shapes import Sphere

H = 0.01


def thrown_particle(angle=0.0, planar=False):
    """Mass 1, 2 m/s along the ground, μ = 0.5."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=0.5)
    velocity = (2.0, 0.0) if planar else (2.0 * math.cos(angle), 2.0 * math.sin(angle), 0.0)
    return scene, scene.add_particle(mass=1.0, velocity=velocity)


@pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
@pytest.mark.parametrize(
    "friction", [ss.StewartTrinkle(4), ss.AnitescuPotra(4), ss.Coulomb(), ss.Phantom(), ss.Box(), ss.Hybrid()], ids=str
)
def test_a_particle_slides_to_rest(friction, planar):
    scene, particle = thrown_particle(planar=planar)
    run = ss.simulate(scene, 0.5, H, friction=friction, scheme="euler")
    v = run.velocity(particle)[:, 0]
    np.testing.assert_allclose(run.contacts(step=0).impulse[0, :2], [0.0981, -0.04905], atol=1e-10)
    np.testing.assert_allclose(v[[1, 40, 41]], [1.95095, 0.038, 0.0], atol=1e-10)
    np.testing.assert_allclose(run.position(particle)[-1], [0.39779, 0.0, 0.0], atol=1e-10)


def test_by_the_mean_of_velocities_it_stops_where_it_should():
    """v_0²/(2 μ g) but for the last step, in which it comes to rest: ½ h v there, instead of v²/(2 μ g)."""
    scene, particle = thrown_particle()
    x = ss.simulate(scene, 0.5, H).position(particle)[-1, 0]
    last = 2.0 - 40 * 0.5 * G * H
    assert x == pytest.approx(2.0**2 / G - last**2 / G + H * last / 2, abs=1e-10)


@pytest.mark.parametrize(
    ("directions", "x", "y"),
    [
        (4, 0.399121278611, 0.348136665552),
        (8, 0.385228822211, 0.177811311736),
        (16, 0.340555295507, 0.217573225374),
        (64, 0.342580613412, 0.202928690249),
    ],
)
def test_its_way_depends_on_the_directions(directions, x, y):
    scene, particle = thrown_particle(angle=math.pi / 6)
    run = ss.simulate(scene, 0.8, H, friction=ss.StewartTrinkle(directions))
    np.testing.assert_allclose(run.position(particle)[-1], [x, y, 0.0], atol=1e-10)


@pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
def test_an_impact_takes_two_steps(planar):
    """From a gap of 1 mm with 1 m/s: the first step ends at the ground, the second at rest."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=0.5)
    start = ((0, 1e-3), (0, -1.0)) if planar else ((0, 0, 1e-3), (0, 0, -1.0))
    particle = scene.add_particle(1.0, *start)
    run = ss.simulate(scene, 3 * H, H, friction=ss.StewartTrinkle())
    np.testing.assert_allclose(run.contacts().impulse[:, 0], [0.9981, 0.1981, 0.0981], atol=1e-10)
    np.testing.assert_allclose(run.velocity(particle)[:, 2], [-1.0, -0.1, 0.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(run.position(particle)[1:, 2], 0.0, atol=1e-12)


def thrown_ball(angle=0.0, planar=False):
    """A ball of 2 kg, R = 0.5 m, 7 m/s, μ = 0.3; in the plane a disc that is given the inertia of the ball."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=0.3)
    if planar:
        inertia = 0.4 * 2.0 * 0.5**2
        return scene, scene.add_body([Sphere(0.5)], mass=2.0, inertia=inertia, position=(0, 0.5), velocity=(7.0, 0.0))
    velocity = (7.0 * math.cos(angle), 7.0 * math.sin(angle), 0.0)
    return scene, scene.add_sphere(0.5, mass=2.0, position=(0, 0, 0.5), velocity=velocity)


@pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
@pytest.mark.parametrize("friction", [ss.StewartTrinkle(), ss.Coulomb()], ids=str)
def test_a_ball_rolls_from_step_68(friction, planar):
    scene, ball = thrown_ball(planar=planar)
    run = ss.simulate(scene, 1.0, H, friction=friction, scheme="euler")
    v, spin = run.velocity(ball)[:, 0], run.spin(ball)[:, 1]
    np.testing.assert_allclose([v[1], spin[1], v[1] - 0.5 * spin[1]], [6.97057, 0.14715, 6.896995], atol=1e-10)
    slip = v - 0.5 * spin
    assert slip[67] > 1e-3
    np.testing.assert_allclose(slip[68:], 0.0, atol=1e-10)
    assert 67 * H < 2 / 7 * 7.0 / (0.3 * G) <= 68 * H
    np.testing.assert_allclose([v[-1], spin[-1]], [5.0, 10.0], atol=1e-12)
    np.testing.assert_allclose(run.position(ball)[-1, 0], 5.6695846, atol=1e-7)


@pytest.mark.parametrize("directions", [4, 8, 16])
def test_a_ball_rolls_on_in_its_direction(directions):
    scene, ball = thrown_ball(math.pi / 6)
    run = ss.simulate(scene, 1.0, 5e-3, friction=ss.StewartTrinkle(directions))
    np.testing.assert_allclose(run.velocity(ball)[-1], [4.330127018922, 2.5, 0.0], atol=1e-10)
