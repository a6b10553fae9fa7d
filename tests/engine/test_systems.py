"""Systems in generalized coordinates, stepped: against an integrated law, against the same thing as a scene."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.dynamics.generalized import evaluate
from stickslip.dynamics.mechanisms import arm_on_the_plane
from stickslip.engine.names import FORMULATIONS
from stickslip.problems.contact_states import State
from stickslip.scene.shapes import Point

EVERY = [make() for make in FORMULATIONS.values() if make is not ss.LimitSurface]  # that is for bodies in space
NAME = lambda formulation: type(formulation).__name__  # noqa: E731
ANGLE, MU, SPEED = math.radians(60.0), 0.3, 3.0
START = np.array([0.5 * math.cos(ANGLE), 0.5 * math.sin(ANGLE), ANGLE])
VELOCITY = np.array([SPEED, 0.0, 0.0])


def sliding_rod(duration):
    """Painlevé's rod while it slides forward: λ_n from u̇_n = 0, friction -μ λ_n, integrated to 1e-11."""
    rod = ss.planar_rod(friction=MU)

    def rate(t, y):
        at = evaluate(rod, y[:3], y[3:])
        free, push = at.contact_acceleration()[0], at.A.T @ [1.0, -MU]
        normal = -free / (at.A[0] @ np.linalg.solve(at.M, push))
        return np.concatenate([y[3:], np.linalg.solve(at.M, push * normal - at.bias)])

    return solve_ivp(rate, (0.0, duration), [*START, *VELOCITY], rtol=1e-11, atol=1e-12).y[:, -1]


def errors_of_the_rod(friction):
    """Of q after 0.1 s in steps of 2 and 1 ms; the rod slides all the time."""
    duration, rod = 0.1, ss.planar_rod(friction=MU)
    exact = sliding_rod(duration)
    errors = []
    for dt in (2e-3, 1e-3):
        run = ss.simulate_system(rod, START, VELOCITY, duration, dt, friction=friction)
        assert run.failures.size == 0
        assert (run.state == State.SLIP).all()
        errors.append(np.abs(run.q[-1] - exact[:3]).max())
    return errors


@pytest.mark.parametrize("friction", [ss.StewartTrinkle(), ss.Box(), ss.Phantom()], ids=NAME)
def test_steps_converge_to_the_sliding_rod(friction):
    errors = errors_of_the_rod(friction)
    assert errors[1] < 3e-3
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_steps_with_the_mean_velocity_are_closer_to_the_sliding_rod():
    """By a hundred times: of the first order only the turning of the contact's rows within a step is left."""
    errors = errors_of_the_rod(ss.Coulomb())
    assert errors[1] < errors[0] < 2e-5


@pytest.mark.core
@pytest.mark.parametrize("friction", EVERY, ids=NAME)
def test_rod_as_a_system_and_as_a_scene_make_the_same_steps(friction):
    scene = ss.Scene(planar=True)
    scene.add_plane(friction=MU)
    scene.add_body(
        [Point((-0.5, 0, 0))], mass=1.0, inertia=1 / 12, centre=(0, 0, 0), position=(START[0], START[1]),
        orientation=-ANGLE, velocity=(SPEED, 0.0), name="rod", friction=MU,
    )  # fmt: skip
    world = ss.simulate(scene, 0.01, 1e-3, friction, tol=1e-12)
    run = ss.simulate_system(ss.planar_rod(friction=MU), START, VELOCITY, 0.01, 1e-3, friction, tol=1e-12)
    np.testing.assert_allclose(run.q[:, :2], world.position("rod")[:, [0, 2]], atol=1e-12)
    arm = np.abs(run.gap).max() / 2  # a contact of a scene lies midway in its gap
    np.testing.assert_allclose(run.v[:, 2], -world.spin("rod")[:, 1], atol=1e-11 + arm)


BOB = ss.GeneralizedSystem(
    2,
    lambda q: np.eye(2),
    lambda q, v: [0.0, 9.81],
    constraint=ss.Constraint(lambda q: [2 * q], lambda q: [q @ q - 1]),
    name="bob",
)  # a mass of 1 kg held on the unit circle


def test_pendulum_by_a_constraint():
    """From (1, 0) for 10 s, three swings: it stays on the circle, and its energy is kept to second order."""
    errors = []
    for dt in (1e-2, 5e-3):
        run = ss.simulate_system(BOB, [1.0, 0.0], [0.0, 0.0], 10.0, dt)
        np.testing.assert_allclose((run.q**2).sum(axis=1), 1.0, rtol=0, atol=1e-9)
        np.testing.assert_allclose((run.q * run.v).sum(axis=1), 0.0, atol=1e-9)
        errors.append(np.abs(run.kinetic_energy / 9.81 + run.q[:, 1]).max())
    assert errors[1] < 1e-4
    assert 3.8 < errors[0] / errors[1] < 4.2


@pytest.mark.core
def test_a_constraint_that_is_not_met_is_taken_back_without_a_push():
    """Half of what is left in each step, along the rod, and the bob at rest at the bottom stays at rest."""
    run = ss.simulate_system(BOB, [0.0, -1.01], [0.0, 0.0], 0.04, 1e-2)
    np.testing.assert_allclose((run.q**2).sum(axis=1) - 1, 0.0201 * 0.5 ** np.arange(5), rtol=1e-9)
    np.testing.assert_allclose(run.v, 0.0, atol=1e-12)


@pytest.mark.core
def test_free_flight_is_exact():
    """A constant force, and a motion that starts at rest or not: q = q_0 + v_0 t + a t²/2."""
    body = ss.GeneralizedSystem(2, lambda q: 2.0 * np.eye(2), lambda q, v: [0.0, 2.0 * 9.81])
    run = ss.simulate_system(body, [0.0, 1.0], [3.0, 4.0], 1.0, 0.05, force=[0.5, 0.0])
    t = run.time
    np.testing.assert_allclose(run.q, np.column_stack([3 * t + t**2 / 8, 1 + 4 * t - 9.81 * t**2 / 2]), atol=1e-13)
    np.testing.assert_allclose(run.v, np.column_stack([3 + t / 4, 4 - 9.81 * t]), atol=1e-13)


@pytest.mark.core
def test_an_oscillator_keeps_its_energy():
    """The step is (1 - h²/2, h - h³/4; -h, 1 - h²/2), so q² + (1 - h²/4) v² stays; q is of order two."""
    mass = ss.GeneralizedSystem(1, lambda q: np.eye(1), lambda q, v: [0.0])
    errors = []
    for dt in (0.1, 0.05):
        run = ss.simulate_system(mass, [1.0], [0.0], 20.0, dt, force=lambda t, q, v: -q)
        kept = run.q[:, 0] ** 2 + (1 - dt**2 / 4) * run.v[:, 0] ** 2
        np.testing.assert_allclose(kept, kept[0], rtol=1e-11)
        errors.append(np.abs(run.q[:, 0] - np.cos(run.time)).max())
    assert 3.8 < errors[0] / errors[1] < 4.2


def double_pendulum():
    """Two masses of 1 kg on rods of 1 m, by their angles from below: M(q) and c(q, v) vary."""

    def mass(q):
        c = math.cos(q[0] - q[1])
        return [[2.0, c], [c, 1.0]]

    def bias(q, v):
        s = math.sin(q[0] - q[1])
        return [s * v[1] ** 2 + 2 * 9.81 * math.sin(q[0]), -s * v[0] ** 2 + 9.81 * math.sin(q[1])]

    return ss.GeneralizedSystem(2, mass, bias, name="double pendulum")


def test_a_double_pendulum_to_second_order():
    system, q, v = double_pendulum(), [1.0, 0.5], [0.0, 1.0]

    def rate(t, y):
        return [*y[2:], *np.linalg.solve(system.mass(y[:2]), -np.array(system.bias(y[:2], y[2:])))]

    exact = solve_ivp(rate, (0.0, 1.0), [*q, *v], rtol=1e-11, atol=1e-12).y[:, -1]
    errors = []
    for dt in (1e-2, 5e-3):
        run = ss.simulate_system(system, q, v, 1.0, dt)
        errors.append(np.abs(np.concatenate([run.q[-1], run.v[-1]]) - exact).max())
    assert errors[1] < 1e-3
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_arm_drops_onto_the_plane_and_stops():
    """With friction below μ_jam everywhere on its way, and a damper on its joints."""
    arm = ss.arm(friction=0.2)
    q = arm_on_the_plane(0.6, math.radians(90.0))
    run = ss.simulate_system(
        arm, q - [0.05, 0, 0, 0], np.zeros(4), 0.5, 2e-3, force=lambda t, q, v: -v * [0.5, 0.5, 0.01, 0.5]
    )
    assert run.failures.size == 0
    assert run.gap[0, 0] > 0
    assert run.gap.min() > -1e-3
    assert (run.impulse[:, 0, 0] >= 0).all()
    limit = 0.2 * run.impulse[:, 0, 0] * (1 + 1e-6) + 1e-9
    assert (np.linalg.norm(run.impulse[:, 0, 1:], axis=1) <= limit).all()


@pytest.mark.core
def test_bad_input_is_refused():
    rod = ss.planar_rod()
    with pytest.raises(ss.InputError, match="duration is -1, expected a positive number of seconds"):
        ss.simulate_system(rod, START, VELOCITY, -1, 1e-3)
    with pytest.raises(ss.InputError, match=r"planar rod: q has shape \(2,\), expected \(3,\)"):
        ss.simulate_system(rod, START[:2], VELOCITY, 0.1, 1e-3)
    with pytest.raises(ss.InputError, match=r"planar rod: force has shape \(2,\), expected \(3,\)"):
        ss.simulate_system(rod, START, VELOCITY, 0.1, 1e-3, force=[1.0, 2.0])


def test_a_step_that_fails_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rod, patient = ss.planar_rod(friction=MU), ss.NSGS(max_iter=1, tol=1e-300)
    with pytest.raises(ss.StepFailed, match="step 0 of 'planar rod' at time 0 s was not solved") as caught:
        ss.simulate_system(rod, START, VELOCITY, 0.1, 1e-3, solver=patient, accept=1e-300)
    assert (tmp_path / caught.value.file).exists()
    assert len(caught.value.trajectory) == 0
    run = ss.simulate_system(rod, START, VELOCITY, 2e-3, 1e-3, solver=patient, keep_going=True, accept=1e-300)
    assert run.failures.tolist() == [0, 1]
