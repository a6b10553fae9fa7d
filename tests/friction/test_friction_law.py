"""Friction that is a function of the state, μ(z): in materials, for pairs, in systems, under every formulation."""

import math

import numpy as np
import pytest

import stickslip as ss

G = 9.81
RAMP = ss.FrictionLaw(lambda speed, x, y, z, time: 0.2 + 0.3 * time)
PLACED = ss.FrictionLaw(lambda speed, x, y, z, time: 0.0 if x < 0.5 else 0.4)
VISCOUS = ss.FrictionLaw(lambda speed, x, y, z, time: 0.3 * speed)
FORMULATIONS = [
    ss.Coulomb(),
    ss.CompliantCylinder(),
    ss.Cylinder(),
    ss.StewartTrinkle(),
    ss.Box(),
    ss.Hybrid(),
    ss.Phantom(),
    ss.LimitSurface(),
]


def slide(law, friction, planar=False, duration=0.4, dt=5e-3, speed=3.0, ground=None):
    scene = ss.Scene(planar=planar)
    scene.add_plane(name="ground", friction=law if ground is None else ground)
    velocity = (speed, 0.0) if planar else (speed, 0.0, 0.0)
    scene.add_particle(1.0, velocity=velocity, name="particle")
    if ground is not None:
        scene.set_pair("ground", "particle", friction=law)
    return ss.simulate(scene, duration, dt, friction=friction, tol=1e-11)


@pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
@pytest.mark.parametrize("friction", FORMULATIONS, ids=lambda f: type(f).__name__)
def test_friction_that_grows_with_time(friction, planar):
    """v⁺ = v - h g μ(t) at the times at which steps begin; bounds of the step before are the same, the weight is."""
    run = slide(RAMP, friction, planar)
    mu = 0.2 + 0.3 * run.time[:-1]
    exact = 3.0 - G * np.concatenate([[0.0], np.cumsum(mu)]) * 5e-3
    np.testing.assert_allclose(run.velocity("particle")[:, 0], exact, atol=1e-8)
    np.testing.assert_allclose(run.contacts().friction, mu, atol=1e-14)


def test_under_the_associated_law_it_is_the_slope_of_the_lift():
    run = slide(RAMP, ss.CompliantCone(), duration=5e-3)
    v = run.velocity("particle")[-1]
    assert v[2] == pytest.approx(0.2 * v[0], rel=1e-9)


def test_friction_by_place_and_by_speed():
    run = slide(PLACED, ss.Coulomb(), duration=1.0)
    x, v = run.position("particle")[:, 0], run.velocity("particle")[:, 0]
    assert v[x < 0.5].min() == pytest.approx(3.0)
    assert v[-1] == pytest.approx(math.sqrt(max(9.0 - 2 * 0.4 * G * (x[-1] - 0.5), 0.0)), abs=3e-2)
    fast = slide(VISCOUS, ss.Coulomb(), duration=0.5, dt=1e-3)
    assert fast.velocity("particle")[-1, 0] == pytest.approx(3.0 * (1 - 0.3 * G * 1e-3) ** 500, rel=1e-9)


def test_two_surfaces_take_the_mean_and_a_pair_its_own():
    law = ss.FrictionLaw(lambda speed, x, y, z, time: 0.8)
    for surfaces, expected in [
        (({"friction": law}, {}), 0.8),
        (({"friction": law}, {"friction": 0.2}), 0.4),
        (({"friction": law}, {"friction": law}), 0.8),
    ]:
        scene = ss.Scene()
        scene.add_plane(**surfaces[0])
        scene.add_particle(1.0, velocity=(1, 0, 0), **surfaces[1])
        assert ss.simulate(scene, 1e-2, 1e-2).contacts().friction[0] == pytest.approx(expected)
    run = slide(RAMP, ss.Coulomb(), duration=1e-2, ground=0.9)
    assert run.contacts(step=1).friction[0] == pytest.approx(0.2 + 0.3 * 5e-3)


def test_live_and_in_the_problem_of_a_step():
    from stickslip.engine.step_problem import scene_problem

    scene = ss.Scene()
    scene.add_plane(friction=VISCOUS)
    scene.add_particle(1.0, velocity=(2, 0, 0), name="particle")
    assert scene_problem(scene, 1e-3).problem.mu[0] == pytest.approx(0.6)
    sim = ss.Simulation(scene, dt=1e-3)
    sim.step(300)
    assert sim.state.velocity("particle")[0] == pytest.approx(2.0 * (1 - 0.3 * G * 1e-3) ** 300, rel=1e-8)


@pytest.mark.parametrize("friction", FORMULATIONS, ids=lambda f: type(f).__name__)
def test_in_a_system(friction):
    point = ss.ContactPoint(
        gap=lambda q: q[1], rows=lambda q: [[0.0, 1.0], [1.0, 0.0]], friction=RAMP, place=lambda q: [q[0], 0.0, q[1]]
    )
    block = ss.GeneralizedSystem(2, lambda q: np.eye(2), lambda q, v: [0.0, G], contacts=(point,))
    run = ss.simulate(block, duration=0.2, dt=5e-3, q=[0.0, 0.0], v=[3.0, 0.0], friction=friction, tol=1e-11)
    exact = 3.0 - G * 5e-3 * np.sum(0.2 + 0.3 * run.time[:-1])
    assert run.v[-1, 0] == pytest.approx(exact, abs=1e-8)


def test_what_is_refused(tmp_path):
    with pytest.raises(ss.InputError, match="FrictionLaw: f is 3, expected a function of 5 numbers"):
        ss.FrictionLaw(3)
    with pytest.raises(ss.InputError, match="is -1, expected a number >= 0"):
        ss.FrictionLaw(lambda speed, x, y, z, time: -1.0)
    with pytest.raises(ss.InputError, match=r"friction_kinetic is 0\.1, expected None beside a FrictionLaw"):
        ss.Material(friction=RAMP, friction_kinetic=0.1)
    scene = ss.Scene()
    scene.add_plane(friction=RAMP)
    with pytest.raises(ss.InputError, match="save_scene: the friction of 'plane_0' is FrictionLaw"):
        ss.save_scene(scene, tmp_path / "scene.yaml")
    fails = ss.FrictionLaw(lambda speed, x, y, z, time: 1.0 - speed)
    scene = ss.Scene()
    scene.add_plane(friction=fails)
    scene.add_particle(1.0, velocity=(2, 0, 0))
    with pytest.raises(ss.InputError, match="f is -1 at the speed 2"):
        ss.simulate(scene, 0.01, 0.01)
