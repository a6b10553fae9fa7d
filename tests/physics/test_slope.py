"""A block on a slope: it stays below the angle of friction, and slides above it as the closed form says."""

import math

import numpy as np
import pytest
from laws import CONES, EVERY, FORMULATIONS, G, but, displacement, name, over, simulate

import stickslip as ss

MU = 0.5


def on_tilted_plane(slope, **surface):
    """A block on a plane that is tilted; it would slide along the direction returned."""
    angle = math.atan(slope)
    normal, downhill = (math.sin(angle), 0.0, math.cos(angle)), (math.cos(angle), 0.0, -math.sin(angle))
    scene = ss.Scene()
    scene.add_plane(normal=normal, friction=MU)
    position = tuple(0.2 * component for component in normal)
    block = scene.add_box(size=(1.0, 1.0, 0.4), mass=1.0, position=position, orientation=((0, 1, 0), angle), **surface)
    return scene, block, np.array(downhill)


def in_tilted_gravity(slope, **surface):
    """The same, with the plane level and gravity tilted."""
    angle = math.atan(slope)
    scene = ss.Scene(gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    scene.add_plane(friction=MU)
    block = scene.add_box(size=(1.0, 1.0, 0.4), mass=1.0, position=(0, 0, 0.2), **surface)
    return scene, block, np.array([1.0, 0.0, 0.0])


@EVERY
def test_below_the_angle_of_friction_it_stays_for_ten_seconds(friction):
    scene, block, _ = in_tilted_gravity(0.98 * MU)
    run = simulate(scene, 10.0, 0.05, friction)
    assert np.linalg.norm(run.position(block) - run.position(block)[0], axis=1).max() < 1e-10


@pytest.mark.parametrize("friction", [ss.Coulomb(), ss.Coulomb(ss.Relaxation()), ss.Coulomb(None)], ids=str)
@pytest.mark.parametrize("tilted", [in_tilted_gravity, on_tilted_plane])
def test_it_stays_in_small_steps_too(friction, tilted):
    scene, block, _ = tilted(0.98 * MU)
    run = simulate(scene, 10.0, 0.005, friction)
    assert np.linalg.norm(run.position(block) - run.position(block)[0], axis=1).max() < 1e-10


@EVERY
@pytest.mark.parametrize("tilted", [in_tilted_gravity, on_tilted_plane])
def test_above_it_slides_as_far_as_it_should(friction, tilted):
    """½ a t² with a = g (sin α - μ cos α); Euler's steps are ½ a t h ahead of it."""
    slope, t, h = 1.1 * MU, 0.3, 0.01
    angle = math.atan(slope)
    a = G * (math.sin(angle) - MU * math.cos(angle))
    scene, block, downhill = tilted(slope)
    moved = displacement(simulate(scene, t, h, friction), block)
    assert abs(moved @ downhill - a * t**2 / 2) <= a * t * h / 2 * (1 + 1e-6)
    if not isinstance(friction, ss.CompliantCone):  # which lifts the block off the slope: u_n = μ |u_t|
        ahead = h if friction.scheme == "euler" else 0.0
        np.testing.assert_allclose(moved, a * t * (t + ahead) / 2 * downhill, atol=1e-9)


@over([friction for friction in FORMULATIONS if isinstance(friction, CONES[:2])])
def test_friction_that_is_a_damper_creeps_as_it_should(friction):
    """Each of four corners carries p = ¼ h m g sin α, and moves with ε_t p, ε_t = 1/(h² k_t + h b_t)."""
    slope, h, t = 0.3, 0.01, 0.5
    k, b = 1e8, 1e6
    soft = {"stiffness": 1e8, "damping": 1e6, "stiffness_tangent": k, "damping_tangent": b}
    scene, block, downhill = in_tilted_gravity(slope, **soft)
    run = simulate(scene, t, h, friction)
    speed = h * G * math.sin(math.atan(slope)) / 4 / (h**2 * k + h * b)
    np.testing.assert_allclose(run.velocity(block)[-1] @ downhill, speed, rtol=1e-6)


@over(but(*CONES))
def test_friction_with_bristles_gives_way_but_does_not_creep(friction):
    """The springs k_t of the corners hold g m sin α together; polyhedral cones have none, and are rigid."""
    slope, k = 0.3, 1e6
    soft = {"stiffness": 1e8, "damping": 1e6, "stiffness_tangent": k, "damping_tangent": 1e4}
    scene, block, downhill = in_tilted_gravity(slope, **soft)
    run = simulate(scene, 1.0, 0.01, friction)
    rigid = isinstance(friction, ss.StewartTrinkle | ss.AnitescuPotra)
    given_way = 0.0 if rigid else G * math.sin(math.atan(slope)) / (4 * k)
    corner = run.contacts(step=-1).velocity[:, 1:]
    np.testing.assert_allclose(corner, 0.0, atol=1e-12)
    foot = displacement(run, block) @ downhill - 0.2 * 2 * run.quaternion(block)[-1, 2]  # the block leans as well
    np.testing.assert_allclose(foot, given_way, atol=1e-12, err_msg=name(friction))
