"""Motion between contacts: falling, forces, and the free top against its closed forms and what it keeps."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.dynamics.motion import END, MEAN, arrive, bodies_of, free_motion, move, orient_all
from stickslip.scene.compile import compile_scene

pytestmark = pytest.mark.core


def body_of(inertia, spin=(0, 0, 0), gravity=(0, 0, 0), torque=(0, 0, 0), force=(0, 0, 0), **settings):
    """Arrays of one free body without shape."""
    scene = ss.Scene(gravity=gravity)
    body = scene.add_body(mass=2.0, inertia=inertia, spin=spin, **settings)
    scene.apply(body, force=force, torque=torque)
    model, state, _ = compile_scene(scene)
    return bodies_of(model), state


def advance(bodies, state, h, share=MEAN):
    """The second half of a step: from the velocities at its end to the state there."""
    move(bodies, state, h, bodies.v, np.full(bodies.kind.size, share))
    arrive(bodies, state, bodies.v)


def moved(bodies, state, h, steps):
    for _ in range(steps):
        free_motion(bodies, state, h)
        advance(bodies, state, h)


def rotation(state):
    return Rotation.from_quat(state.quaternion[0], scalar_first=True)


def angular_momentum(bodies, state):
    R = rotation(state).as_matrix()
    return R @ bodies.inertia[0] @ R.T @ state.velocity[0, 3:]


def rotational_energy(bodies, state):
    return angular_momentum(bodies, state) @ state.velocity[0, 3:] / 2


TILTED = {"orientation": ((1, 2, -1), 0.7)}


def test_the_gyroscopic_term_has_the_right_sign():
    """I = diag(1, 2, 3), ω = (1, 2, 3): ω' = I⁻¹ (I ω × ω) = (-6, 3, -2/3)."""
    h = 1e-6
    bodies, state = body_of((1.0, 2.0, 3.0), spin=(1, 2, 3))
    moved(bodies, state, h, 1)
    np.testing.assert_allclose((state.velocity[0, 3:] - [1, 2, 3]) / h, [-6.0, 3.0, -2.0 / 3.0], atol=1e-4)


@pytest.mark.parametrize("spin", [(1, 2, 3), (0.01, 5, 0.01), (4, 0, 0), (30, -20, 10)], ids=str)
@pytest.mark.parametrize(
    "inertia", [(1.0, 2.0, 2.9), (1.0, 1.0, 0.1), ((2, 0.3, 0), (0.3, 1.5, 0.2), (0, 0.2, 1))], ids=str
)
def test_a_free_body_keeps_momentum_and_energy(spin, inertia):
    bodies, state = body_of(inertia, spin=spin, **TILTED)
    L, E = angular_momentum(bodies, state), rotational_energy(bodies, state)
    moved(bodies, state, 0.01, 300)
    np.testing.assert_allclose(angular_momentum(bodies, state), L, atol=1e-12 * np.linalg.norm(L))
    np.testing.assert_allclose(rotational_energy(bodies, state), E, rtol=1e-12)


def test_it_keeps_them_for_ten_thousand_steps():
    bodies, state = body_of((1.0, 2.0, 2.9), spin=(0.1, 5, 0.2), **TILTED)
    L, E = angular_momentum(bodies, state), rotational_energy(bodies, state)
    moved(bodies, state, 0.01, 10_000)
    np.testing.assert_allclose(angular_momentum(bodies, state), L, atol=1e-10 * np.linalg.norm(L))
    np.testing.assert_allclose(rotational_energy(bodies, state), E, rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(state.quaternion[0]), 1.0, atol=1e-15)


def symmetric_top(h, t, I_1=1.0, I_3=1.6):
    """How far the axis of a symmetric top is from where it should be: it goes round L at the rate |L|/I_1."""
    spin = np.array([0.6, 0.0, 5.0])
    bodies, state = body_of((I_1, I_1, I_3), spin=spin)
    L = np.array([I_1, I_1, I_3]) * spin
    moved(bodies, state, h, round(t / h))
    axis = Rotation.from_rotvec(t / I_1 * L).apply([0.0, 0.0, 1.0])
    return np.linalg.norm(rotation(state).apply([0.0, 0.0, 1.0]) - axis)


def test_a_symmetric_top_precesses_at_its_rate():
    """Second order in h."""
    errors = [symmetric_top(h, 1.0) for h in (0.02, 0.01, 0.005)]
    assert errors[-1] < 1e-3
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 4.0, rtol=0.05)


def test_a_body_with_equal_moments_spins_steadily():
    bodies, state = body_of(0.7, spin=(3, -1, 2))
    moved(bodies, state, 0.1, 100)
    assert (state.velocity[0, 3:] == [3.0, -1.0, 2.0]).all()
    np.testing.assert_allclose(
        rotation(state).as_matrix(), Rotation.from_rotvec(10.0 * np.array([3, -1, 2])).as_matrix(), atol=1e-12
    )


def test_a_torque_adds_to_the_angular_momentum_what_it_should():
    bodies, state = body_of((1.0, 2.0, 2.9), spin=(1, 2, 3), torque=(0.5, -1.0, 2.0), **TILTED)
    L = angular_momentum(bodies, state)
    moved(bodies, state, 0.01, 100)
    np.testing.assert_allclose(angular_momentum(bodies, state), L + np.array([0.5, -1.0, 2.0]), atol=1e-12)


def test_impulses_add_to_the_angular_momentum_what_they_should():
    """Between the free motion and the end of the step contacts and joints change the spin; no part of that is lost."""
    h, impulse = 0.05, np.array([0.3, -2.0, 1.0])
    bodies, state = body_of((1.0, 2.0, 2.9), spin=(3, 2, 5), **TILTED)
    L = angular_momentum(bodies, state)
    free_motion(bodies, state, h)
    orient_all(bodies, state)
    bodies.v[0, 3:] += bodies.inverse[0] @ impulse
    advance(bodies, state, h)
    np.testing.assert_allclose(angular_momentum(bodies, state), L + impulse, atol=1e-13)


def test_impulses_that_stop_the_spin_are_not_lost_either():
    h = 0.05
    bodies, state = body_of((1.0, 2.0, 2.9), spin=(3, 2, 5), **TILTED)
    L = angular_momentum(bodies, state)
    free_motion(bodies, state, h)
    orient_all(bodies, state)
    impulse = -np.linalg.inv(bodies.inverse[0]) @ bodies.v[0, 3:]
    bodies.v[0, 3:] = 0.0
    advance(bodies, state, h)
    np.testing.assert_allclose(angular_momentum(bodies, state), L + impulse, atol=1e-13)


@pytest.mark.parametrize("h", [0.01, 0.25])
def test_what_falls_and_is_pushed(h):
    """v = v_0 + t (g + F/m), and the way is the parabola exactly, whatever the step."""
    t = 1.0
    bodies, state = body_of(1.0, gravity=(0, 0, -9.81), force=(1.0, -3.0, 0.5), velocity=(1, 2, 3))
    moved(bodies, state, h, round(t / h))
    a = np.array([0.5, -1.5, 0.25 - 9.81])
    np.testing.assert_allclose(state.velocity[0, :3], [1, 2, 3] + t * a, atol=1e-12)
    np.testing.assert_allclose(state.position[0], np.array([1, 2, 3]) + t**2 / 2 * a, atol=1e-12)


def test_what_is_hit_moves_with_its_velocity_at_the_end():
    """By h v⁺ and h ω⁺, all of the step; the others by the mean of the velocities at its two ends."""
    h, impulse, moment = 0.01, np.array([1.0, -2.0, 4.0]), np.array([0.02, 0.1, -0.3])
    for share in (MEAN, END, 0.3):
        bodies, state = body_of(0.7, gravity=(0, 0, -9.81), velocity=(1, 2, -3), spin=(3, -1, 2))
        before = state.copy()
        free_motion(bodies, state, h)
        bodies.v[0, :3] += impulse / 2.0
        bodies.v[0, 3:] += moment / 0.7
        mean = share * bodies.v[0] + (1 - share) * before.velocity[0]
        advance(bodies, state, h, share)
        np.testing.assert_allclose(state.position[0], before.position[0] + h * mean[:3], atol=1e-15)
        np.testing.assert_allclose(rotation(state).as_rotvec(), h * mean[3:], atol=1e-15)
        np.testing.assert_allclose(state.velocity[0], bodies.v[0], atol=1e-15)


def test_a_body_that_nothing_acts_on_turns_with_the_mean_of_its_spins():
    """ω̄ of the midpoint rule, half way between I⁻¹Π and the ω₀ that the free motion ends with; energy and momentum
    are kept because I ω̄ is the mean of Π at the two ends in body axes."""
    h, I = 0.05, np.array([1.0, 2.0, 2.9])  # noqa: E741
    bodies, state = body_of(tuple(I), spin=(3, 2, 5))
    start = state.velocity[0, 3:].copy()
    free_motion(bodies, state, h)
    mean = (bodies.v[0, 3:] + start) / 2
    advance(bodies, state, h)
    np.testing.assert_allclose(rotation(state).as_rotvec(), h * mean, atol=1e-14)
    end = rotation(state).inv().apply(state.velocity[0, 3:])
    np.testing.assert_allclose(I * mean, I * (start + end) / 2, atol=1e-13)


def test_only_what_is_free_falls():
    scene = ss.Scene()
    scene.add_box(size=1.0, static=True, position=(0, 0, 5))
    scene.add_box(size=1.0, moving=True, position=(0, 0, 2), velocity=(1, 0, 0), spin=(0, 0, math.pi / 2))
    model, state, _ = compile_scene(scene)
    moved(bodies_of(model), state, 0.01, 100)
    np.testing.assert_allclose(state.position, [[0, 0, 5], [1, 0, 2]], atol=1e-12)
    assert (state.quaternion[0] == [1, 0, 0, 0]).all()
    np.testing.assert_allclose(state.quaternion[1], [math.sqrt(0.5), 0, 0, math.sqrt(0.5)], atol=1e-12)


def test_a_planar_body_stays_in_its_plane():
    scene = ss.Scene(planar=True)
    body = scene.add_box(size=(1.0, 0.2), mass=2.0, position=(0, 3), velocity=(1, 0), spin=2.0)
    scene.apply(body, torque=0.3)
    model, state, _ = compile_scene(scene)
    moved(bodies_of(model), state, 0.01, 100)
    inertia = 2.0 * (1.0 + 0.2**2) / 12
    np.testing.assert_allclose(state.velocity[0], [1, 0, -9.81, 0, 2.0 + 0.3 / inertia, 0], atol=1e-12)
    np.testing.assert_allclose(state.position[0], [1, 0, 3 - 9.81 / 2], atol=1e-12)
    assert (state.quaternion[0, [1, 3]] == 0).all()
    angle = 2.0 + 0.3 / inertia / 2
    np.testing.assert_allclose(state.quaternion[0, [0, 2]], [math.cos(angle / 2), math.sin(angle / 2)], atol=1e-12)


def test_the_reach_covers_the_way_of_every_point():
    """No point of a body comes further in a step than its reach, for contacts to be found in time."""
    scene = ss.Scene()
    scene.add_box(size=(1.0, 0.6, 0.3), mass=1.0, velocity=(1, -2, 0.5), spin=(3, 5, -4), orientation=((1, 1, 0), 0.4))
    model, state, _ = compile_scene(scene)
    bodies, h = bodies_of(model), 0.02
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.3, 0.3) for z in (-0.15, 0.15)])
    for _ in range(50):
        before = state.position[0] + rotation(state).apply(corners)
        free_motion(bodies, state, h)
        advance(bodies, state, h)
        way = np.linalg.norm(state.position[0] + rotation(state).apply(corners) - before, axis=1)
        assert way.max() <= bodies.reach[0] * (1 + 1e-12)
