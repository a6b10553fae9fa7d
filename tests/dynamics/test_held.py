"""Steps of bodies with joints: second order, joints to rounding at any speed, momentum kept, misfits taken back."""

import math

import numpy as np
import pytest
from jointed_scenes import four_bar, hanging_chain, tree_scene
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.dynamics.joints import RECOVERY
from stickslip.engine.engine import Engine
from stickslip.scene.compile import compile_scene

G = 9.81


def engine_of(scene, h):
    return Engine(*compile_scene(scene), h, ss.Coulomb())


def marched(engine, steps):
    record, made, _ = engine.march(steps, 0)
    assert made == steps
    return record


def joint_error(engine):
    """Of all rigid rows, and of their velocities, at the state of the engine, whose rows are those of that state."""
    rows, v = engine.work.held.rows, engine.state.velocity
    rate = np.einsum("rk,rk->r", rows.jacobian_a, v[rows.body_a]) + np.einsum(
        "rk,rk->r", rows.jacobian_b, v[rows.body_b]
    )
    return np.abs(rows.error).max(), np.abs(rate[np.isinf(rows.lower)]).max()


def worst_energy(scene, duration, h):
    found = ss.simulate(scene, duration, h).energy
    return np.abs(found - found[0]).max()


MECHANISMS = {
    "pendulum": lambda: hanging_chain(1),
    "double pendulum": lambda: hanging_chain(2),
    "chain": lambda: hanging_chain(5),
    "four-bar linkage": lambda: pushed(four_bar(), 3.0),
}


def pushed(linkage, rate):
    """A parallelogram that turns: its uprights with the rate, the bar on top without."""
    upright = {"velocity": (0.25 * rate, 0, 0), "spin": (0, rate, 0)}
    for body, motion in zip(linkage.bodies, (upright, upright, {"velocity": (0.5 * rate, 0, 0)}), strict=True):
        linkage.place(body, **motion)
    return linkage


@pytest.mark.parametrize("name", MECHANISMS)
def test_energy_is_kept_to_second_order(name):
    """The error falls by four when the step is halved."""
    errors = [worst_energy(MECHANISMS[name](), 0.8, h) for h in (4e-3, 2e-3, 1e-3)]
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 4.0, rtol=0.1)


def test_the_energy_of_a_pendulum_does_not_drift():
    """Over a hundred swings what it is off by is as small at the end as at the beginning."""
    found = ss.simulate(hanging_chain(1, angle=1.5), 120.0, 0.01).energy
    off = np.abs(found - found[0]).reshape(-1)[1:].reshape(10, -1).max(axis=1)
    np.testing.assert_allclose(off, off[0], rtol=0.02)


@pytest.mark.parametrize(
    ("count", "rate"),
    [(1, 10), (2, 10), (6, 10), (1, 20), (2, 20), (6, 20), (1, 40), (2, 30)],
)
def test_joints_hold_at_high_speed(count, rate):
    """A straight chain that whirls by up to 0.4 rad in a step."""
    scene = hanging_chain(count, gravity=(0, 0, 0), angle=math.pi / 2)
    for i, body in enumerate(scene.bodies):
        scene.place(body, velocity=(0, (i + 0.5) * 0.5 * rate, 0), spin=(0, 0, rate))
    engine = engine_of(scene, 0.01)
    for _ in range(100):
        marched(engine, 1)
        position, velocity = joint_error(engine)
        assert position < 1e-10
        assert velocity < 1e-12 * rate


def momentum(model, state):
    """Linear, and angular about the origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    for b in range(model.kind.size):
        if np.isfinite(model.mass[b]):
            R = rotation(state.quaternion[b])
            linear += model.mass[b] * state.velocity[b, :3]
            angular += R @ model.inertia[b] @ R.T @ state.velocity[b, 3:]
            angular += np.cross(state.position[b], model.mass[b] * state.velocity[b, :3])
    return np.concatenate([linear, angular])


def rotation(q):
    return Rotation.from_quat(q, scalar_first=True).as_matrix()


@pytest.mark.parametrize("parents", [[None, 0, 1, 2, 3], [None, 0, 0, 0, 1]], ids=["chain", "tree"])
@pytest.mark.parametrize("seed", range(3))
def test_free_mechanisms_keep_their_momentum(parents, seed):
    """To rounding, with inertias that differ about their axes."""
    rng = np.random.default_rng(seed)
    scene = tree_scene(parents, rng)
    for body in scene.bodies:
        scene.place(body, velocity=tuple(rng.normal(size=3)), spin=tuple(rng.normal(size=3)))
    engine = engine_of(scene, 0.01)
    before = momentum(engine.model, engine.state)
    for _ in range(50):
        marched(engine, 2)
        np.testing.assert_allclose(momentum(engine.model, engine.state), before, atol=1e-11)
        assert joint_error(engine)[0] < 1e-10


def test_a_start_that_the_joints_forbid_is_projected():
    """v <- v - M⁻¹Gᵀ(...)⁻¹ G v: a rod on a ball joint at its end, hit at the centre, turns with 3/4 of v/d."""
    scene = hanging_chain(1, gravity=(0, 0, 0), angle=0.0)
    scene.place(scene.bodies[0], velocity=(1.0, 0, 0))
    engine = engine_of(scene, 0.01)
    d = 0.25
    inertia = 0.5**2 / 12
    rate = d / (inertia + d**2)  # angular momentum about the joint is kept: m v d = (I + m d²) ω
    np.testing.assert_allclose(engine.state.velocity[0], [rate * d, 0, 0, 0, -rate, 0], atol=1e-14)


@pytest.mark.parametrize("size", [1e-5, 1e-3])
def test_a_misfit_is_taken_back_by_a_share_in_each_step(size):
    """And what is at rest then moves by no more than the square of it in a step."""
    h = 0.01
    model, state, drives = compile_scene(hanging_chain(4, gravity=(0, 0, 0)))
    rng = np.random.default_rng(3)
    state.position[:4] += size * rng.normal(size=(4, 3))
    engine = Engine(model, state, drives, h, ss.Coulomb())
    error = engine.work.held.rows.error.copy()
    for _ in range(5):
        marched(engine, 1)
        left = engine.work.held.rows.error
        np.testing.assert_allclose(left, (1 - RECOVERY) * error, atol=1e-12)
        error = left.copy()
        assert np.abs(state.velocity[:4, :3]).max() < 100 * size**2 / h


def test_a_misfit_gives_no_speed():
    model, state, drives = compile_scene(hanging_chain(4, gravity=(0, 0, 0)))
    state.position[:4] += 0.01 * np.random.default_rng(3).normal(size=(4, 3))
    engine = Engine(model, state, drives, 0.01, ss.Coulomb())
    marched(engine, 40)
    assert joint_error(engine)[0] < 1e-10
    assert np.abs(state.velocity).max() < 1e-12


def test_the_energy_of_two_bodies_that_tumble_as_one_does_not_drift():
    """Not at all."""
    scene = ss.Scene(gravity=(0, 0, 0))
    rng = np.random.default_rng(1)
    for x in (-1.0, 1.0):
        spin, velocity = tuple(rng.normal(size=3)), tuple(rng.normal(size=3))
        scene.add_body(mass=1.0, inertia=1.0, position=(x, 0, 0), velocity=velocity, spin=spin)
    scene.add_fixed(*scene.bodies, position=(0.2, 0.5, -0.3))
    found = ss.simulate(scene, 200.0, 0.05).energy[1:]
    assert np.ptp(found) < 1e-12 * found[0]


def test_a_hanging_weight_pulls_with_its_weight():
    """The impulse of the joint is h m g, from the first step on."""
    scene = ss.Scene()
    weight = scene.add_sphere(0.1, mass=3.0, position=(0, 0, -1))
    joint = scene.add_ball(weight, position=(0, 0, 0))
    run = ss.simulate(scene, 0.1, 0.01)
    np.testing.assert_allclose(run.joint(joint).impulse, np.tile([0, 0, 3.0 * G * 0.01], (10, 1)), atol=1e-12)
    np.testing.assert_allclose(run.position(weight), np.tile([0, 0, -1.0], (11, 1)), atol=1e-13)


def whirl(h, rate=5.0, mass=2.0, radius=0.7):
    """How far the pull on a whirling ball is from m ω² r, as a share."""
    scene = ss.Scene(gravity=(0, 0, 0))
    ball = scene.add_sphere(0.1, mass=mass, position=(radius, 0, 0), velocity=(0, rate * radius, 0), spin=(0, 0, rate))
    joint = scene.add_hinge(ball, position=(0, 0, 0), axis=(0, 0, 1))
    run = ss.simulate(scene, 0.4, h)
    names = run.joint(joint).rows
    pull = run.joint(joint).impulse[:, [names.index(f"force {axis}") for axis in "xyz"]] / h
    return np.abs(np.linalg.norm(pull, axis=1) / (mass * rate**2 * radius) - 1).max()


def test_a_whirling_mass_pulls_with_its_centripetal_force():
    """m ω² r to second order."""
    errors = [whirl(h) for h in (0.02, 0.01, 0.005)]
    assert errors[-1] < 1e-3
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 4.0, rtol=0.05)
