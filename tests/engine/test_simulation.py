"""`Simulation`: its steps are those of `simulate`, and what its caller sets holds. Motors, servos and efforts by closed
forms."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import InputError, StepFailed
from stickslip.scene.model import State
from stickslip.scene.shapes import Sphere

G, H = 9.81, 1e-3


def pendulum(**hinge):
    """A rod of 1 kg that hangs from the origin; angles are about y, from -z towards -x."""
    scene = ss.Scene(planar=True)
    rod = scene.add_capsule(radius=0.02, length=0.96, mass=1.0, position=(0.0, -0.5), inertia=1 / 12, name="rod")
    scene.add_hinge(rod, position=(0.0, 0.0), name="pivot", **hinge)
    return scene


def cart(**slider):
    """2 kg on a horizontal slider."""
    scene = ss.Scene(planar=True)
    box = scene.add_box(size=(0.2, 0.2), mass=2.0, name="cart")
    scene.add_slider(box, position=(0.0, 0.0), axis=(1.0, 0.0), name="rail", **slider)
    return scene


def pile():
    """More contacts than a run first has room for."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(20):
        scene.add_box(size=0.4, mass=1.0, position=(0.5 * i, 0, 0.2), velocity=(0.1 * i, 0, 0))
    return scene


def arm():
    """Two links over the ground, with limits, a servo and an effort, and a puck that a motor drives against them."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    upper = scene.add_capsule(0.05, 0.4, mass=1.0, position=(0, 0, 0.7), name="upper")
    lower = scene.add_capsule(0.05, 0.4, mass=1.0, position=(0, 0, 0.3), spin=(0, 1, 0), name="lower")
    servo = {"target": 0.4, "stiffness": 30.0, "gain": 2.0, "strength": 15.0}
    scene.add_hinge(upper, position=(0, 0, 0.9), axis=(0, 1, 0), name="shoulder", effort=1.0, **servo)
    scene.add_hinge(lower, upper, position=(0, 0, 0.5), axis=(0, 1, 0), limits=(-0.5, 0.5), name="elbow")
    puck = scene.add_box(size=0.1, mass=0.5, position=(0.15, 0, 0.07))
    scene.add_slider(puck, position=(0.15, 0, 0.07), axis=(1, 0, 0), speed=-0.5, strength=4.0, collide=True)
    return scene


def driven():
    """Functions of time push one body and move another."""
    scene = ss.Scene()
    scene.add_plane(moving=True, velocity=lambda t: (math.sin(20 * t), 0, 0), friction=0.8)
    box = scene.add_box(size=0.4, mass=1.0, position=(0, 0, 0.2), name="box")
    scene.apply(box, lambda t, state: ((0, 3 * t - state.velocity(box)[1], 0), (0, 0, 0)))
    return scene


# --- the steps of simulate ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 7, 60])
@pytest.mark.parametrize("scene_of", [pile, arm, driven, pendulum])
def test_steps_are_those_of_simulate_to_the_bit(scene_of, at_once):
    scene = scene_of()
    run, sim = ss.simulate(scene, 0.6, 1e-2), ss.Simulation(scene, 1e-2)
    made = 0
    while made < 60:
        now = min(at_once, 60 - made)
        sim.step(now)
        made += now
        for array, expected in zip(sim.state.copy(), run.state(made), strict=True):
            assert array.tobytes() == expected.tobytes()
        assert sim.time == run.time[made]
        table, expected = sim.contacts, run.contacts(made - 1)
        for name in ("step", "body_a", "body_b", "feature", "gap", "impulse", "velocity", "state", "left_out", "point"):
            np.testing.assert_array_equal(getattr(table, name), getattr(expected, name))
        assert (sim.residual, sim.iterations, sim.method) == (
            run.residual[made - 1], run.iterations[made - 1], run.method[made - 1]
        )  # fmt: skip
        assert sim.status is ss.Status.SOLVED
        for name in scene.joint_names:
            joint, carried = sim.joint(name), run.joint(name)
            assert joint.rows == carried.rows
            np.testing.assert_allclose(joint.force, carried.force[made - 1], rtol=1e-9, atol=1e-12)
    for body in scene.bodies:
        np.testing.assert_array_equal(sim.state.position(body), run.position(body)[-1])
        np.testing.assert_array_equal(sim.state.spin(body.name), run.spin(body)[-1])
    assert math.isclose(sim.energy, run.energy[-1])


@pytest.mark.parametrize("friction", [ss.StewartTrinkle(), ss.CompliantCone()], ids=["lcp", "cone"])
def test_other_formulations_take_the_same_road(friction):
    scene = arm()
    run, sim = ss.simulate(scene, 0.2, 1e-2, friction=friction), ss.Simulation(scene, 1e-2, friction=friction)
    sim.step(20)
    assert sim.state.copy().velocity.tobytes() == run.state(20).velocity.tobytes()
    assert sim.method == run.method[-1]


def test_a_step_that_is_not_solved_leaves_the_state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hopeless = ss.Simulation(pile(), 1e-2, solver=ss.NSGS(tol=1e-300, max_iter=1))
    before = hopeless.state.copy()
    with pytest.raises(StepFailed, match="step 0 at time 0 s was not solved"):
        hopeless.step()
    assert hopeless.time == 0
    for array, expected in zip(hopeless.state.copy(), before, strict=True):
        np.testing.assert_array_equal(array, expected)
    patient = ss.Simulation(pile(), 1e-2, solver=ss.NSGS(tol=1e-300, max_iter=1), keep_going=True)
    patient.step(2)
    assert patient.time == 0.02
    assert patient.status is not ss.Status.SOLVED


# --- the state ------------------------------------------------------------------------------------------------------


def test_what_follows_depends_on_the_state_alone():
    scene = arm()
    sim = ss.Simulation(scene, 1e-2)
    sim.step(20)
    kept = sim.state.copy()
    sim.state = kept
    sim.step(20)
    expected = sim.state.copy()
    other = ss.Simulation(scene, 1e-2)
    other.state = kept
    other.step(20)
    sim.state = kept
    sim.step(20)
    for found in (sim, other):
        for array, value in zip(found.state.copy(), expected, strict=True):
            assert array.tobytes() == value.tobytes()


def test_reset_goes_back_to_the_beginning():
    scene = arm()
    sim = ss.Simulation(scene, 1e-2)
    sim.step(10)
    first = sim.state.copy()
    sim.joint("shoulder").target = 0.0
    sim.joint("elbow").effort = 2.0
    sim.apply("lower", force=(0, 3, 0))
    sim.step(5)
    sim.reset()
    assert sim.time == 0
    assert len(sim.contacts) == 0
    sim.step(10)
    for array, value in zip(sim.state.copy(), first, strict=True):
        assert array.tobytes() == value.tobytes()


def test_a_body_that_is_thrown_flies_its_parabola():
    scene = ss.Scene()
    stone = scene.add_body([Sphere(0.1, (0.1, 0, 0))], mass=1.0, name="stone")  # its centre is not its origin
    sim = ss.Simulation(scene, 1e-2)
    sim.step(3)
    sim.set(stone, position=(1, 2, 3), orientation=((0, 0, 1), math.pi / 2), velocity=(4, 5, 6), spin=(0, 0, 0))
    np.testing.assert_allclose(sim.state.position("stone"), (1, 2, 3), atol=1e-15)
    np.testing.assert_allclose(sim.state.quaternion(0), [math.sqrt(0.5), 0, 0, math.sqrt(0.5)], rtol=1e-15)
    np.testing.assert_allclose(sim.kinetic, (16 + 25 + 36) / 2, rtol=1e-15)
    sim.step(50)
    np.testing.assert_allclose(sim.state.position(stone), (3, 4.5, 3 + 3 - G / 8), rtol=1e-13)
    np.testing.assert_allclose(sim.state.velocity(stone), (4, 5, 6 - G / 2), rtol=1e-13)
    np.testing.assert_allclose(sim.time, 0.53)


def test_a_velocity_that_breaks_a_joint_is_made_to_keep_to_it():
    """A blow p at the centre of a rod, away from its pivot and across, turns it by p l / (I + m l²)."""
    sim = ss.Simulation(pendulum(), H)
    sim.set("rod", velocity=(-3.0, 2.0))
    pivot = sim.joint("pivot")
    np.testing.assert_allclose(pivot.velocity, 3.0 * 0.5 / (1 / 12 + 0.25), rtol=1e-12)
    np.testing.assert_allclose(sim.state.velocity("rod"), (-0.5 * pivot.velocity, 0, 0), atol=1e-12)


def test_a_force_acts_until_it_is_changed():
    scene = ss.Scene(gravity=(0, 0, 0))
    box = scene.add_box(size=1.0, mass=2.0)
    scene.apply(box, force=(1.0, 0, 0))
    sim = ss.Simulation(scene, 1e-2)
    sim.apply(box, force=(0, 4.0, 0), torque=(0, 0, 1.0))
    sim.step(100)
    np.testing.assert_allclose(sim.state.velocity(box), (0.5, 2.0, 0), rtol=1e-13)
    np.testing.assert_allclose(sim.state.spin(box), (0, 0, 3.0), rtol=1e-13)  # I = m / 6
    sim.apply(box)
    sim.step(100)
    np.testing.assert_allclose(sim.state.velocity(box), (1.0, 2.0, 0), rtol=1e-13)


def test_a_force_acts_beside_functions():
    scene = ss.Scene(gravity=(0, 0, 0))
    box = scene.add_box(size=1.0, mass=2.0)
    scene.apply(box, lambda t, state: ((0, 0, 2.0), (0, 0, 0)))
    sim = ss.Simulation(scene, 1e-2)
    sim.apply(box, force=(0, 4.0, 0))
    sim.step(50)
    np.testing.assert_allclose(sim.state.velocity(box), (0, 1.0, 0.5), rtol=1e-13)


# --- motors ---------------------------------------------------------------------------------------------------------


SERVOS = [(50.0, 0.0, 0.0), (50.0, 8.0, 0.3), (0.0, 8.0, 0.3), (1e9, 1.0, 0.0)]


@pytest.mark.parametrize(("stiffness", "gain", "speed"), SERVOS)
def test_a_servo_is_a_spring_met_implicitly(stiffness, gain, speed):
    """λ/h = -k (x + h v⁺ - target) - g (v⁺ - speed), solved for v⁺."""
    h, m, target = 1e-2, 2.0, 0.5 if stiffness else 0.0
    given = {"target": target} if stiffness else {}
    sim = ss.Simulation(cart(stiffness=stiffness, gain=gain, speed=speed, strength=math.inf, **given), h)
    rail = sim.joint("rail")
    for _ in range(50):
        x, v = rail.coordinate, rail.velocity
        sim.step()
        expected = (m * v - h * stiffness * (x - target) + h * gain * speed) / (m + h * (h * stiffness + gain))
        np.testing.assert_allclose(rail.velocity, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(rail.force[-1], m * (expected - v) / h, rtol=1e-6, atol=1e-6)
    if stiffness:
        assert abs(rail.coordinate - target) < 0.5  # nearer than where it began


def test_a_servo_has_no_more_than_its_strength():
    """Far from its target it pulls with all it has: v = F t / m."""
    sim = ss.Simulation(cart(target=10.0, stiffness=1e4, gain=10.0, strength=3.0), 1e-2)
    sim.step(100)
    np.testing.assert_allclose(sim.joint("rail").velocity, 3.0 / 2, rtol=1e-12)
    np.testing.assert_allclose(sim.joint("rail").force[-1], 3.0, rtol=1e-12)


@pytest.mark.parametrize("strength", [200.0, math.inf])
@pytest.mark.parametrize("limits", [None, (-3.0, 3.0)])
def test_a_servo_at_rest_carries_the_weight(strength, limits):
    """stiffness (target - q) = m g l sin q"""
    servo = {"stiffness": 40.0, "gain": 8.0, "strength": strength}
    sim = ss.Simulation(pendulum(target=1.0, limits=limits, **servo), H)
    sim.step(5000)
    pivot = sim.joint("pivot")
    q = pivot.coordinate
    assert abs(pivot.velocity) < 1e-9
    np.testing.assert_allclose(40.0 * (1.0 - q), G * 0.5 * math.sin(q), rtol=1e-7)
    np.testing.assert_allclose(pivot.force[-1], G * 0.5 * math.sin(q), rtol=1e-7)
    pivot.target, pivot.stiffness = -0.5, 80.0
    sim.step(5000)
    q = pivot.coordinate
    np.testing.assert_allclose(80.0 * (-0.5 - q), G * 0.5 * math.sin(q), rtol=1e-7)


def test_a_hinge_without_limits_takes_the_shorter_way():
    scene = pendulum(target=-3.0, stiffness=100.0, gain=20.0, strength=1e3)
    scene.gravity = (0.0, 0.0, 0.0)
    sim = ss.Simulation(scene, H)
    sim.state = turned(sim, 3.0)
    sim.step(10)
    assert sim.joint("pivot").velocity > 0
    sim.step(5000)
    np.testing.assert_allclose(sim.joint("pivot").coordinate, -3.0, rtol=1e-6)


def turned(sim, q):
    """The state of the pendulum at an angle."""
    state = sim.state.copy()
    state.position[0] = -0.5 * math.sin(q), 0, -0.5 * math.cos(q)
    state.quaternion[0] = math.cos(q / 2), 0, math.sin(q / 2), 0
    return state


@pytest.mark.parametrize("limits", [None, (-3.0, 3.0)])
@pytest.mark.parametrize("strength", [100.0, math.inf])
def test_a_motor_turns_with_its_speed(strength, limits):
    scene = pendulum(speed=1.0, strength=strength, limits=limits)
    sim = ss.Simulation(scene, 1e-2)
    sim.step(100)
    pivot = sim.joint("pivot")
    np.testing.assert_allclose((pivot.coordinate, pivot.velocity), (1.0 - 0.5e-2, 1.0), rtol=1e-3)
    pivot.speed = -1.0
    sim.step(10)
    np.testing.assert_allclose(pivot.velocity, -1.0, rtol=1e-3)
    pivot.strength = 0.0  # off
    before = sim.energy
    sim.step(100)
    np.testing.assert_allclose(sim.energy, before, atol=1e-3)


@pytest.mark.parametrize(
    "friction", [ss.Coulomb(), ss.StewartTrinkle(), ss.CompliantCone()], ids=["cone", "lcp", "soft"]
)
def test_a_motor_of_infinite_strength_pushes_what_is_in_its_way(friction):
    """A bar sweeps a block along under every formulation as one of great strength does."""

    def swept(strength):
        scene = ss.Scene()
        scene.add_plane(friction=0.5)
        bar = scene.add_box(size=(1, 0.1, 0.1), mass=1.0, position=(0.5, 0, 0.3), stiffness=1e6, damping=1e3)
        block = scene.add_box(size=0.4, mass=1.0, position=(0.8, 0.27, 0.2), stiffness=1e6, damping=1e3)
        scene.add_hinge(bar, position=(0, 0, 0.3), axis=(0, 0, 1), speed=1.0, strength=strength)
        sim = ss.Simulation(scene, 1e-2, friction=friction)
        sim.step(10)
        np.testing.assert_allclose(sim.joint(0).velocity, 1.0, rtol=1e-3)
        return sim.state.velocity(block)  # not forces: the loads of its corners are not determined

    np.testing.assert_allclose(swept(math.inf), swept(1e4), atol=1e-3)


def test_a_servo_stops_at_a_limit():
    sim = ss.Simulation(pendulum(target=0.4, stiffness=100.0, gain=10.0, strength=1e3, limits=(-0.5, 0.4)), H)
    pivot = sim.joint("pivot")
    pivot.target = 1.0
    sim.step(2000)
    q = pivot.coordinate
    np.testing.assert_allclose(q, 0.4, atol=1e-9)
    _, _, lower, upper, motor = pivot.force
    assert pivot.rows[2:] == ("lower limit", "upper limit", "motor")
    np.testing.assert_allclose((lower, motor), (0.0, 100.0 * (1.0 - q)), atol=1e-6)
    np.testing.assert_allclose(motor - upper, G * 0.5 * math.sin(q), rtol=1e-6)


# --- efforts --------------------------------------------------------------------------------------------------------


def test_an_effort_turns_a_pendulum_to_second_order():
    """Without gravity q = τ t² / (2 (I + m l²)); the error falls by four with half the step."""
    errors = []
    for h in (1e-2, 5e-3):
        scene = pendulum(effort=0.5)
        scene.gravity = (0.0, 0.0, 0.0)
        sim = ss.Simulation(scene, h)
        sim.step(round(1.0 / h))
        errors.append(abs(sim.joint("pivot").coordinate - 0.5 / 2 / (1 / 12 + 0.25)))
    assert errors[0] < 1e-3
    assert errors[1] < 0.3 * errors[0] or errors[1] < 1e-12


def test_an_effort_acts_on_both_bodies():
    """Two discs that turn about one axis, I_a = 1 and I_b = 3: spins τ t / I, of opposite sense, and nothing else."""
    scene = ss.Scene(gravity=(0, 0, 0))
    a = scene.add_body(mass=1.0, inertia=1.0, name="a")
    b = scene.add_body(mass=1.0, inertia=3.0, name="b")
    scene.add_hinge(a, b, position=(0, 0, 0), axis=(0, 0, 1), effort=6.0)
    sim = ss.Simulation(scene, 1e-2)
    sim.step(50)
    np.testing.assert_allclose(sim.state.spin(a), (0, 0, 3.0), atol=1e-12)
    np.testing.assert_allclose(sim.state.spin(b), (0, 0, -1.0), atol=1e-12)
    np.testing.assert_allclose(sim.state.velocity(a), 0, atol=1e-12)
    np.testing.assert_allclose(sim.joint(0).velocity, 4.0, rtol=1e-12)
    assert np.abs(sim.joint(0).force).max() < 1e-9


def test_an_effort_on_a_slider_is_a_force():
    sim = ss.Simulation(cart(effort=3.0), 1e-2)
    sim.step(100)
    np.testing.assert_allclose((sim.joint("rail").coordinate, sim.joint("rail").velocity), (0.75, 1.5), rtol=1e-12)


def test_a_controller_swings_a_pendulum_to_its_target():
    """kp (target - q) = m g l sin q where a PD controller of the caller's has brought it to rest."""
    sim = ss.Simulation(pendulum(), H)
    pivot = sim.joint("pivot")
    for _ in range(5000):
        pivot.effort = -40.0 * (pivot.coordinate - 1.0) - 8.0 * pivot.velocity
        sim.step()
    q = pivot.coordinate
    assert abs(pivot.velocity) < 1e-9
    np.testing.assert_allclose(40.0 * (1.0 - q), G * 0.5 * math.sin(q), rtol=1e-9)
    np.testing.assert_allclose(pivot.effort, G * 0.5 * math.sin(q), rtol=1e-9)


# --- what it refuses ------------------------------------------------------------------------------------------------


def state_with(sim, field, value):
    return sim.state.copy()._replace(**{field: np.array(value, float)})


def set_state(sim, given):
    sim.state = given


def set_joint(name, field, value):
    return lambda sim: setattr(sim.joint(name), field, value)


REFUSED = [
    (lambda sim: sim.step(0), "Simulation: n is 0, expected a whole number of at least 1"),
    (lambda sim: sim.step(1.5), "Simulation: n is 1.5, expected a whole number"),
    (lambda sim: ss.Simulation(pendulum(), -1.0), "Simulation: dt is -1.0, expected a positive number of seconds"),
    (lambda sim: sim.joint("knee"), "Simulation: there is no joint 'knee', expected one of 'pivot, weld'"),
    (lambda sim: sim.state.position("knee"), "Simulation: there is no body 'knee', expected one of 'rod, tip, world'"),
    (lambda sim: sim.joint(5), "Simulation: joint is 5, expected an index from 0 to 1"),
    (lambda sim: sim.joint("weld").coordinate, "joint 'weld': its kind is fixed, expected a hinge or a slider"),
    (set_joint("weld", "effort", 1.0), "joint 'weld': its kind is fixed, expected a hinge or a slider"),
    (set_joint("pivot", "target", 1.0), "joint 'pivot': target is 1.0, expected none, because the scene gave this"),
    (set_joint("pivot", "effort", math.nan), "joint 'pivot': effort is nan, expected a finite number"),
    (set_joint("pivot", "stiffness", -1), "joint 'pivot': stiffness is -1, expected a number >= 0"),
    (set_joint("pivot", "strength", "much"), "joint 'pivot': strength is 'much', expected a number >= 0, or inf"),
    (lambda sim: sim.set("rod", position=(1, 2, 3)), "set 'rod': position is (1, 2, 3), expected two finite numbers"),
    (lambda sim: sim.set("world", spin=1.0), "set 'world': velocity is 1.0, expected none for a static body"),
    (lambda sim: sim.apply("world", force=(1, 0)), "apply to 'world': body is 'static body', expected a free one"),
    (lambda sim: sim.apply("rod", force=1), "apply to 'rod': force is 1, expected two finite numbers"),
    (
        lambda sim: set_state(sim, State(np.zeros((1, 3)), np.zeros((1, 4)), np.zeros((1, 6)))),
        "Simulation: position has shape (1, 3), expected (3, 3)",
    ),
    (
        lambda sim: set_state(sim, state_with(sim, "velocity", np.full((3, 6), np.nan))),
        "Simulation: velocity[0, 0] is nan, expected a finite number",
    ),
    (
        lambda sim: set_state(sim, state_with(sim, "quaternion", np.full((3, 4), 1.0))),
        "Simulation: the quaternion of 'rod' has length 2, expected 1",
    ),
    (lambda sim: set_state(sim, None), "Simulation: state is None, expected a State of this scene, such as sim.state"),
    (lambda sim: set_state(sim, {}), "Simulation: state is {}, expected a State of this scene, such as sim.state.copy"),
    (
        lambda sim: set_state(sim, sim.state.copy()._replace(position=None)),
        "Simulation: position is None, expected an array of real numbers",
    ),
    (
        lambda sim: set_state(sim, sim.state.copy()._replace(velocity=np.full((3, 6), 1j))),
        "Simulation: velocity is [[1j, 1j, 1j, 1j, 1j, 1j],",
    ),
    (
        lambda sim: set_state(sim, state_with(sim, "position", np.full((3, 3), -1e200))),
        "Simulation: position of 'rod' is 1e+200, expected numbers up to 1e+100",
    ),
    (
        lambda sim: set_state(sim, state_with(sim, "velocity", np.ones((3, 6)))),
        "Simulation: velocity of 'world' is [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], expected none for a static body",
    ),
    (
        lambda sim: set_state(sim, state_with(sim, "position", np.ones((3, 3)))),
        "Simulation: the state leaves the plane y = 0",
    ),
]


@pytest.mark.parametrize(("act", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_wrong_input(act, message):
    scene = pendulum()
    tip = scene.add_sphere(0.05, mass=0.1, position=(0.0, -1.0), name="tip")
    scene.add_fixed(tip, "rod", position=(0.0, -1.0), name="weld")
    sim = ss.Simulation(scene, H)
    before = sim.state.copy()
    with pytest.raises(InputError) as error:
        act(sim)
    assert str(error.value).startswith(message)
    for array, expected in zip(sim.state.copy(), before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_it_says_what_it_is():
    sim = ss.Simulation(pendulum(), H)
    assert repr(sim) == "Simulation(2 bodies at 0 s, dt=0.001, Coulomb)"
    assert repr(sim.joint("pivot")) == "JointNow('pivot', hinge at 0, 0 a second)"
