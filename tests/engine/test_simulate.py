"""`simulate`: what it takes, what it refuses, how it fails, and scenes with functions of time and joints."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.names import FORMULATIONS as NAMED
from stickslip.errors import InputError, StepFailed
from stickslip.solvers.solution import Status

G = 9.81

FORMULATIONS = [make() for make in NAMED.values() if make not in (ss.Cylinder, ss.LimitSurface)]  # of these elsewhere


def over(formulations):
    return pytest.mark.parametrize("friction", formulations, ids=lambda friction: type(friction).__name__)


EVERY = over(FORMULATIONS)
KEEPS_CONTACT = over([each for each in FORMULATIONS if not isinstance(each, ss.CompliantCone)])  # it slides and lifts


def falling_ball():
    scene = ss.Scene()
    return scene, scene.add_sphere(0.1, mass=1.0, position=(0, 0, 5))


def stack(count=5):
    scene = ss.Scene()
    scene.add_plane(friction=0.5, name="ground")
    for i in range(count):
        scene.add_box(size=1.0, mass=1.0, position=(0.1 * i, 0, 0.5 + i), name=f"box {i}")
    return scene


# --- what it takes and refuses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("duration", "dt", "steps"), [(0.3, 0.1, 3), (1.0, 1 / 3, 3), (0.07, 0.01, 7), (1, 1, 1)])
def test_a_duration_is_a_whole_number_of_steps(duration, dt, steps):
    scene, ball = falling_ball()
    run = ss.simulate(scene, duration, dt)
    assert len(run) == steps
    np.testing.assert_allclose(run.time, dt * np.arange(steps + 1), rtol=1e-15)
    assert run.position(ball).shape == (steps + 1, 3)


@pytest.mark.parametrize(
    ("duration", "dt", "message"),
    [
        (0.25, 0.1, r"duration is 0\.25 and dt 0\.1, expected a whole number of steps"),
        (0.01, 0.1, "expected a whole number of steps"),
        (0.0, 0.1, r"duration is 0\.0, expected a positive number"),
        (-1.0, 0.1, "duration is -1.0, expected a positive number"),
        (1.0, 0.0, "dt is 0.0, expected a positive number"),
        (math.nan, 0.1, "duration is nan, expected a positive number"),
        (1.0, math.nan, "dt is nan, expected a positive number"),
        (math.inf, 0.1, "duration is inf, expected a positive number"),
        ("1 s", 0.1, "duration is '1 s', expected a positive number"),
    ],
)
def test_durations_that_are_none(duration, dt, message):
    with pytest.raises(InputError, match=message):
        ss.simulate(falling_ball()[0], duration, dt)


@over([ss.Coulomb(), ss.Phantom()])
@pytest.mark.parametrize("tol", [math.nan, -1e-8, 0.0])
def test_tolerances_that_are_none(friction, tol):
    with pytest.raises(InputError, match="tol"):
        ss.simulate(stack(), 0.05, 0.01, friction=friction, tol=tol)


def test_a_solver_that_does_not_fit():
    with pytest.raises(InputError, match="Lemke"):
        ss.simulate(stack(), 0.05, 0.01, friction=ss.Coulomb(), solver="lemke")


def test_coulomb_friction_is_the_default():
    run, other = (ss.simulate(stack(), 0.05, 0.01, **settings) for settings in ({}, {"friction": ss.Coulomb()}))
    np.testing.assert_array_equal(run.contacts().impulse, other.contacts().impulse)
    assert "Coulomb" in run.header.formulation


@EVERY
def test_a_scene_in_which_nothing_touches(friction):
    scene, ball = falling_ball()
    run = ss.simulate(scene, 0.1, 0.01, friction=friction)
    assert run.contact_count.sum() == 0
    np.testing.assert_allclose(run.velocity(ball)[-1], [0, 0, -G * 0.1], atol=1e-13)


def test_a_scene_in_which_nothing_moves():
    scene = ss.Scene()
    scene.add_plane()
    run = ss.simulate(scene, 0.1, 0.01)
    assert len(run) == 10
    assert run.energy[-1] == 0.0


def test_a_scene_is_left_as_it_was():
    scene, ball = falling_ball()
    first, second = (ss.simulate(scene, 0.1, 0.01).position(ball) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# --- failure --------------------------------------------------------------------------------------------------------

HASTY = ss.NSGS(max_iter=1)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The problem of a failed step is saved in the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_step_that_is_not_solved_is_told(elsewhere):
    with pytest.raises(StepFailed) as caught:
        ss.simulate(stack(), 0.05, 0.01, solver=HASTY)
    error = caught.value
    assert error.step == 0
    message = str(error)
    for part in ("step 0 at time 0 s", "NSGS", "MAX_ITER", "residual", "keep_going=True", error.file):
        assert part in message
    assert "between 'box" in message
    assert not error.solution.solved


def test_its_problem_can_be_solved_again(elsewhere):
    with pytest.raises(StepFailed) as caught:
        ss.simulate(stack(), 0.05, 0.01, solver=HASTY)
    problem = ss.load(elsewhere / caught.value.file)
    assert problem.contacts == 20
    again = ss.solve(problem, method=HASTY)
    np.testing.assert_allclose(again.residual, caught.value.solution.residual, rtol=1e-9)
    assert ss.solve(problem).solved


def test_the_steps_before_a_failure_are_kept(elsewhere):
    """The ball falls freely, then lands on a wobbly pile that one sweep does not solve."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    boxes = [scene.add_box(size=1.0, mass=1.0, position=(0.1 * i, 0, 0.51 + 1.01 * i)) for i in range(5)]
    path = elsewhere / "run.h5"
    with pytest.raises(StepFailed) as caught:
        ss.simulate(scene, 1.0, 0.01, solver=HASTY, path=path)
    error = caught.value
    assert 0 < error.step < 100
    assert len(error.trajectory) == error.step
    assert not error.trajectory.finished
    with ss.Trajectory.load(path) as run:
        assert len(run) == error.step
        assert not run.finished
        np.testing.assert_array_equal(run.position(boxes[0]), error.trajectory.position(boxes[0]))


def test_a_run_may_keep_going(elsewhere):
    run = ss.simulate(stack(), 0.05, 0.01, solver=HASTY, keep_going=True)
    assert len(run) == 5
    assert run.finished
    assert run.failures[0] == 0
    assert (run.status[run.failures] != Status.SOLVED).all()
    assert (run.residual[run.failures] > 1e-8).all()
    assert list(elsewhere.iterdir()) == []


def test_a_function_that_returns_nonsense_is_named():
    scene, ball = falling_ball()
    scene.apply(ball, force=lambda time, state: ((math.nan, 0, 0), (0, 0, 0)))
    with pytest.raises(InputError, match=r"force.*sphere.*time 0.*nan"):
        ss.simulate(scene, 0.1, 0.01)


# --- files ----------------------------------------------------------------------------------------------------------


@over([ss.Coulomb(), ss.Phantom()])
def test_a_file_holds_what_memory_does(tmp_path, friction):
    path = tmp_path / "run.h5"
    memory = ss.simulate(stack(), 0.3, 0.01, friction=friction)
    ss.simulate(stack(), 0.3, 0.01, friction=friction, path=path).close()
    with ss.Trajectory.load(path) as run:
        assert run.finished
        assert run.header.formulation == memory.header.formulation
        for name in ("time", "status", "residual", "iterations", "energy", "contact_count"):
            np.testing.assert_array_equal(getattr(run, name), getattr(memory, name))
        for i in range(run.header.bodies):
            np.testing.assert_array_equal(run.position(i), memory.position(i))
            np.testing.assert_array_equal(run.spin(i), memory.spin(i))
        for name in ("point", "normal", "gap", "impulse", "velocity", "state", "feature"):
            np.testing.assert_array_equal(getattr(run.contacts(), name), getattr(memory.contacts(), name))


# --- functions of time ----------------------------------------------------------------------------------------------


def test_a_force_that_changes_with_time():
    """m v' = F cos t, taken in the middle of each step: second order."""
    scene = ss.Scene(gravity=(0, 0, 0))
    ball = scene.add_sphere(0.1, mass=2.0)
    scene.apply(ball, force=lambda time, state: ((3.0 * math.cos(time), 0, 0), (0, 0, 0.1)))
    h = 0.01
    run = ss.simulate(scene, 1.0, h)
    expected = np.concatenate([[0.0], np.cumsum(1.5 * h * np.cos(run.time[:-1] + h / 2))])
    np.testing.assert_allclose(run.velocity(ball)[:, 0], expected, atol=1e-13)
    assert abs(run.velocity(ball)[-1, 0] - 1.5 * math.sin(1.0)) < h**2 / 10
    np.testing.assert_allclose(run.spin(ball)[:, 2], 0.1 * run.time / (0.4 * 2.0 * 0.1**2), atol=1e-12)


@over([ss.Coulomb(), ss.Phantom()])
def test_a_force_that_depends_on_the_state(friction):
    """A spring to the origin: half a period after its release the ball is on the other side."""
    scene = ss.Scene(gravity=(0, 0, 0))
    ball = scene.add_sphere(0.1, mass=1.0, position=(1, 0, 0))
    scene.apply(ball, force=lambda time, state: (-(math.pi**2) * state.position(ball), (0, 0, 0)))
    x = ss.simulate(scene, 1.0, 1e-2, friction=friction).position(ball)[:, 0]
    np.testing.assert_allclose(x[-1], -1.0, atol=2e-4)
    assert np.abs(x).max() < 1 + 1e-9


@KEEPS_CONTACT
def test_a_conveyor_takes_a_box_to_its_speed(friction):
    """μ g t until it goes along."""
    h, speed, mu = 0.01, 0.5, 0.5
    scene = ss.Scene()
    scene.add_plane(friction=mu, moving=True, velocity=(speed, 0, 0))
    box = scene.add_box(size=(1.0, 1.0, 0.2), mass=1.0, position=(0, 0, 0.1))
    run = ss.simulate(scene, 0.2, h, friction=friction)
    expected = np.minimum(mu * G * run.time, speed)
    np.testing.assert_allclose(run.velocity(box)[:, 0], expected, atol=1e-7)
    np.testing.assert_allclose(run.position(box)[:, 2], 0.1, atol=1e-8)


@EVERY
def test_a_tray_that_is_shaken_gently_keeps_its_load(friction):
    """It is moved by a function of time, with less than μ g, and as its load is: by the mean of the velocities at both
    ends of a step, or by that at its end."""
    h, mu = 0.01, 0.5
    scene = ss.Scene()
    tray = scene.add_box(
        size=(2.0, 2.0, 0.1),
        moving=True,
        velocity=lambda t: (0.2 * math.sin(6 * t), 0.1 * math.sin(9 * t), 0),
        friction=mu,
    )
    load = scene.add_box(size=0.4, mass=1.0, position=(0.3, 0.1, 0.25))
    run = ss.simulate(scene, 0.4, h, friction=friction)
    apart = run.position(load) - run.position(tray)
    np.testing.assert_allclose(apart, np.tile(apart[0], (len(apart), 1)), atol=1e-8)
    speed = 0.2 * np.sin(6 * run.time)
    way = h * np.cumsum(speed[1:] if friction.scheme == "euler" else (speed[1:] + speed[:-1]) / 2)
    np.testing.assert_allclose(run.position(tray)[1:, 0], way, atol=1e-13)


# --- joints ---------------------------------------------------------------------------------------------------------


def pendulum():
    """A rod on a hinge, let go horizontally, above a ground it does not touch."""
    scene = ss.Scene()
    scene.add_plane(offset=-2.0)
    rod = scene.add_box(size=(1.0, 0.1, 0.1), mass=2.0, position=(0.5, 0, 0))
    scene.add_hinge(rod, position=(0, 0, 0), axis=(0, 1, 0))
    return scene, rod


@EVERY
def test_a_pendulum_swings_the_same_under_every_formulation(friction):
    scene, rod = pendulum()
    reference = ss.simulate(scene, 0.3, 0.01)
    run = ss.simulate(scene, 0.3, 0.01, friction=friction)
    np.testing.assert_allclose(run.position(rod), reference.position(rod), atol=1e-12)
    np.testing.assert_allclose(run.spin(rod), reference.spin(rod), atol=1e-12)


def test_a_pendulum_swings_as_it_should():
    """½ I ω² = m g l sin φ at every angle φ it has fallen, to first order in h."""
    scene, rod = pendulum()
    errors = []
    for h in (0.004, 0.002):
        run = ss.simulate(scene, 0.4, h)
        x = run.position(rod)[-1]
        inertia = 2.0 * (1.0**2 + 0.1**2) / 12 + 2.0 * 0.5**2
        fast = math.sqrt(2 * 2.0 * G * -x[2] / inertia)
        errors.append(abs(run.spin(rod)[-1, 1] - fast))
        np.testing.assert_allclose(np.linalg.norm(x), 0.5, atol=1e-3)
    assert errors[1] < 0.6 * errors[0] < 0.02 * fast


@EVERY
def test_a_motor_drives_a_wheel_to_its_speed(friction):
    """With the torque it has, τ t / I, and no faster than it should."""
    scene = ss.Scene(gravity=(0, 0, 0))
    wheel = scene.add_cylinder(0.5, 0.1, mass=1.0)
    scene.add_hinge(wheel, position=(0, 0, 0), axis=(0, 0, 1), speed=1.0, strength=0.5)
    run = ss.simulate(scene, 0.5, 0.01, friction=friction)
    inertia = 0.5 * 0.5**2
    rtol = 2e-3 if isinstance(friction, ss.CompliantCone) else 1e-6  # whose law lets a motor exceed its bound a little
    np.testing.assert_allclose(run.spin(wheel)[1:, 2], np.minimum(0.5 * run.time[1:] / inertia, 1.0), rtol=rtol)


@KEEPS_CONTACT
def test_two_boxes_held_together_slide_like_one(friction):
    """Joint and contacts act in one problem: v_k = v_0 - k μ g h, and the upper box is carried along."""
    h, mu = 0.01, 0.3
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    lower = scene.add_box(size=(1.0, 1.0, 0.2), mass=1.0, position=(0, 0, 0.1), velocity=(1.0, 0, 0))
    upper = scene.add_box(size=(0.5, 0.5, 0.2), mass=3.0, position=(0.1, 0, 0.3), velocity=(1.0, 0, 0))
    scene.add_fixed(upper, lower, position=(0, 0, 0.2))
    run = ss.simulate(scene, 0.4, h, friction=friction)
    expected = np.maximum(1.0 - mu * G * run.time, 0.0)
    for box in (lower, upper):
        np.testing.assert_allclose(run.velocity(box)[:, 0], expected, atol=1e-7)
    apart = run.position(upper) - run.position(lower)
    np.testing.assert_allclose(apart, np.tile([0.1, 0.0, 0.2], (len(apart), 1)), atol=1e-8)


@EVERY
@pytest.mark.usefixtures("elsewhere")
def test_a_lever_on_a_hinge_lies_on_the_ground(friction):
    """One way to move and four contacts: which of them carry is open, but not their moment about the hinge."""
    h = 0.01
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    lever = scene.add_box(size=(2.0, 0.2, 0.2), mass=2.0, position=(0, 0, 0.1))
    scene.add_hinge(lever, position=(-1.0, 0, 0.1), axis=(0, 1, 0))
    run = ss.simulate(scene, 0.2, h, friction=friction)
    contacts = run.contacts(step=-1)
    moment = (contacts.point[:, 0] + 1.0) * contacts.impulse[:, 0] + 0.1 * contacts.impulse[:, 1]
    np.testing.assert_allclose(moment.sum(), 2.0 * G * h * 1.0, rtol=1e-6)
    np.testing.assert_allclose(run.position(lever)[-1], [0, 0, 0.1], atol=1e-8)
