"""Rolling: a ball that slides at first, a slab that carries 25 balls along, and disks that roll in circles."""

import math

import numpy as np
import pytest
from laws import FORMULATIONS, SQUARE, G, but, deepest, over, simulate

import stickslip as ss


def thrown_ball(angle, mu=0.3):
    """A ball with 7 m/s and no spin."""
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    along = np.array([math.cos(angle), math.sin(angle), 0.0])
    ball = scene.add_sphere(0.5, mass=2.0, position=(0, 0, 0.5), velocity=tuple(7.0 * along))
    return scene, ball, along


@over(but(ss.CompliantCone))  # which lifts the ball, and pushes it over a gap
@pytest.mark.parametrize("angle", [0.0, math.pi / 6], ids=["x", "30 degrees"])
def test_a_ball_ends_with_five_sevenths_of_its_speed(friction, angle):
    """Momentum about the point of contact is kept, whatever friction does: v = 5/7 v_0 and ω = v/R once it rolls."""
    scene, ball, along = thrown_ball(angle)
    run = simulate(scene, 1.0, 0.02, friction)
    np.testing.assert_allclose(run.velocity(ball)[-1], 5.0 * along, atol=1e-9)
    np.testing.assert_allclose(run.spin(ball)[-1], 10.0 * np.array([-along[1], along[0], 0.0]), atol=1e-9)


MASS, BALL, FORCE, GROUND, TOP = 10.0, 1.0, 150.0, 0.4, 0.8
ACCELERATION = (FORCE - GROUND * (MASS + 25 * BALL) * G) / (MASS + 2 / 7 * 25 * BALL)  # of the slab


def pulled_slab(direction):
    """A slab on the ground with 25 balls on it, pulled along a direction; the balls roll and lag behind."""
    scene = ss.Scene()
    ground = scene.add_plane()
    slab = scene.add_box(size=(20.0, 20.0, 1.0), mass=MASS, position=(0, 0, 0.5))
    scene.set_pair(ground, slab, friction=GROUND)
    places = [(2.0 * i, 2.0 * j, 1.5) for i in range(-2, 3) for j in range(-2, 3)]
    balls = [scene.add_sphere(0.5, mass=BALL, position=place) for place in places]
    for ball in balls:
        scene.set_pair(slab, ball, friction=TOP)
    along = np.array(direction) / np.linalg.norm(direction)
    scene.apply(slab, force=tuple(FORCE * along))
    return scene, slab, balls, along


def check_slab(run, slab, balls, along):
    t = run.time[-1]
    np.testing.assert_allclose(run.velocity(slab)[-1], ACCELERATION * t * along, atol=1e-8)
    for ball in balls:
        np.testing.assert_allclose(run.velocity(ball)[-1], 2 / 7 * ACCELERATION * t * along, atol=1e-8)


DIRECTIONS = pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0)], ids=["x", "diagonal"])


@DIRECTIONS
@pytest.mark.parametrize("stabilisation", [ss.Gap(0.2), ss.Relaxation(), None], ids=str)
def test_a_slab_carries_its_balls_for_a_second(direction, stabilisation):
    scene, slab, balls, along = pulled_slab(direction)
    tol = 1e-10 if stabilisation is None else None  # a gap of 1e-9 m that the solver leaves would end a contact
    check_slab(ss.simulate(scene, 1.0, 0.01, friction=ss.Coulomb(stabilisation), tol=tol), slab, balls, along)


@DIRECTIONS
@over(but(ss.CompliantCone, *SQUARE))  # the diagonal is one of eight directions of friction, but no corner of a square
def test_a_slab_carries_its_balls_whatever_the_formulation(friction, direction):
    scene, slab, balls, along = pulled_slab(direction)
    check_slab(simulate(scene, 0.05, 0.01, friction), slab, balls, along)


@over([friction for friction in FORMULATIONS if isinstance(friction, SQUARE)])
def test_bounds_along_two_axes_hold_the_slab_on_the_diagonal(friction):
    """Each axis is pulled with 150 N / √2, less than the 137 N it can hold; along x all is well."""
    scene, slab, balls, along = pulled_slab((1.0, 0.0, 0.0))
    check_slab(simulate(scene, 0.05, 0.01, friction), slab, balls, along)
    scene, slab, _, _ = pulled_slab((1.0, 1.0, 0.0))
    run = simulate(scene, 0.05, 0.01, friction)
    np.testing.assert_allclose(run.velocity(slab)[-1], 0.0, atol=1e-9)


def test_under_the_associated_law_the_slab_flies():
    scene, slab, _, _ = pulled_slab((1.0, 0.0, 0.0))
    run = simulate(scene, 0.05, 0.01, ss.CompliantCone())
    assert run.velocity(slab)[-1, 2] > 1e-3


def test_four_axes_let_the_slab_go_along_the_diagonal():
    """Which is one of them: there the bound is μ p_n again."""
    scene, slab, balls, along = pulled_slab((1.0, 1.0, 0.0))
    check_slab(simulate(scene, 0.05, 0.01, ss.Phantom(directions=4)), slab, balls, along)


def rolling_disk(radius, thickness, tilt, circle, restitution=0.0, plane_velocity=None):
    """A disk whose centre moves on a circle at the rate Ω, as its axis a turns about z, and which rolls on its rim. It
    touches at ρ from its centre, so ω = Ω z + s a with v + ω × ρ = 0, and ρ × F = Ω z × L with F = m (Ω z × v + g z):
    linear in Ω² and g."""
    axis, z = np.array([math.sin(tilt), 0, math.cos(tilt)]), np.array([0.0, 0.0, 1.0])
    rim = z - math.cos(tilt) * axis
    rho = -radius * rim / np.linalg.norm(rim) - 0.5 * thickness * axis
    v = np.cross(z, (circle, 0, 0))  # all at Ω = 1
    arm = np.cross(axis, rho)
    spin = z - (v + np.cross(z, rho)) @ arm / (arm @ arm) * axis
    across, along = (3 * radius**2 + thickness**2) / 12, radius**2 / 2
    momentum = across * spin + (along - across) * (spin @ axis) * axis
    rate = math.sqrt(G * np.cross(rho, z)[1] / (np.cross(z, momentum) - np.cross(rho, np.cross(z, v)))[1])
    carried = np.zeros(3) if plane_velocity is None else np.array(plane_velocity)
    scene = ss.Scene()
    if plane_velocity is None:
        scene.add_plane(friction=0.8, restitution=restitution)
    else:
        scene.add_plane(friction=0.8, moving=True, velocity=plane_velocity)
    disk = scene.add_cylinder(
        radius, thickness, mass=1.0, position=(circle, 0, -rho[2]), orientation=((0, 1, 0), tilt),
        velocity=tuple(rate * v + carried), spin=tuple(rate * spin), restitution=restitution,
    )  # fmt: skip
    return scene, disk, rate


def way_off(scene, disk, rate, circle, h, **settings):
    """How far it is off its circle after a second, and by how much its energy has changed."""
    run = ss.simulate(scene, 1.0, h, **settings)
    turns = rate * run.time[-1]
    x, y, _ = run.position(disk)[-1]
    error = math.hypot(x - circle * math.cos(turns), y - circle * math.sin(turns))
    return error, run.energy[-1] / run.energy[0] - 1, deepest(scene, run)


ROLLING = [(0.2, 0.05, 1.0, 0.4), (0.2, 0.05, 1.4, 1.0), (0.0375, 0.006, 1.2, 0.1)]  # radius, thickness, tilt, circle


@pytest.mark.parametrize(("radius", "thickness", "tilt", "circle"), ROLLING)
def test_a_disk_that_rolls_in_a_circle_stays_on_it_to_second_order(radius, thickness, tilt, circle):
    """Where it touches runs round its rim. With its impulses where that was at the start of the step it gained up to
    2.5 % of its energy and left its circle by a sixth of the radius."""
    scene, disk, rate = rolling_disk(radius, thickness, tilt, circle)
    error, energy, depth = way_off(scene, disk, rate, circle, 5e-3)
    assert error < 0.01 * circle
    assert abs(energy) < 1e-4
    assert depth < 1e-4 * thickness
    finer, _, _ = way_off(scene, disk, rate, circle, 2.5e-3)
    assert error / finer == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    "settings",
    [{"friction": ss.LimitSurface()}, {"friction": ss.StewartTrinkle(), "scheme": "midpoint"}],
    ids=["LimitSurface", "StewartTrinkle"],
)
def test_so_it_does_under_other_formulations(settings):
    scene, disk, rate = rolling_disk(*ROLLING[0])
    error, energy, depth = way_off(scene, disk, rate, 0.4, 5e-3, **settings)
    assert error < 0.01 * 0.4
    assert abs(energy) < 1e-4
    assert depth < 1e-4 * 0.05


def test_what_rolls_does_not_bounce():
    """Where it touches it is not approached, whatever its restitution: it rolls as one without."""
    (scene, disk, _), (other, same, _) = (rolling_disk(*ROLLING[0], restitution=e) for e in (0.0, 0.9))
    first, second = ss.simulate(scene, 0.5, 5e-3), ss.simulate(other, 0.5, 5e-3)
    np.testing.assert_allclose(second.position(same), first.position(disk), atol=1e-12)


def test_a_disk_rolls_on_a_plane_that_moves_as_on_one_that_rests():
    carried = (1.0, 0.3, 0.0)
    (scene, disk, _), (other, same, _) = rolling_disk(*ROLLING[0]), rolling_disk(*ROLLING[0], plane_velocity=carried)
    first, second = ss.simulate(scene, 0.5, 5e-3), ss.simulate(other, 0.5, 5e-3)
    expected = first.position(disk) + first.time[:, None] * carried
    np.testing.assert_allclose(second.position(same), expected, atol=1e-5)
