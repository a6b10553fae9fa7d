"""Rolling: a ball that slides at first, and a slab under 25 balls that are carried along."""

import math

import numpy as np
import pytest
from laws import FORMULATIONS, SQUARE, G, but, over, simulate

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
