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


@pytest.mark.parametrize("friction", [ss.Coulomb(), ss.StewartTrinkle(), ss.Box(), ss.Phantom()], ids=NAME)
def test_steps_converge_to_the_sliding_rod(friction):
    duration, rod = 0.1, ss.planar_rod(friction=MU)
    exact = sliding_rod(duration)
    errors = []
    for dt in (2e-3, 1e-3):
        run = ss.simulate_system(rod, START, VELOCITY, duration, dt, friction=friction)
        assert run.failures.size == 0
        assert (run.state == State.SLIP).all()
        errors.append(np.abs(run.q[-1] - exact[:3]).max())
    assert errors[1] < 3e-3
    assert 1.7 < errors[0] / errors[1] < 2.3


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


@pytest.mark.core
def test_pendulum_by_a_constraint():
    """A mass held on the unit circle from (x, z) = (1, 0): at the bottom ½ v² = g, and the circle is kept."""
    bob = ss.GeneralizedSystem(
        2,
        lambda q: np.eye(2),
        lambda q, v: [0.0, 9.81],
        constraint=ss.Constraint(lambda q: [2 * q], lambda q: [q @ q - 1]),
        name="bob",
    )
    run = ss.simulate_system(bob, [1.0, 0.0], [0.0, 0.0], 0.6, 5e-4)
    np.testing.assert_allclose((run.q**2).sum(axis=1), 1.0, atol=1e-4)
    energy = run.kinetic_energy + 9.81 * run.q[:, 1]
    np.testing.assert_allclose(energy, 0.0, atol=2e-2)
    assert run.q[:, 1].min() == pytest.approx(-1.0, abs=1e-3)


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
        ss.simulate_system(rod, START, VELOCITY, 0.1, 1e-3, solver=patient)
    assert (tmp_path / caught.value.file).exists()
    assert len(caught.value.trajectory) == 0
    run = ss.simulate_system(rod, START, VELOCITY, 2e-3, 1e-3, solver=patient, keep_going=True)
    assert run.failures.tolist() == [0, 1]
