"""Through dynamic jamming three ways: springs, rigid steps, and impulses. Closed forms, balances and convergence."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.dynamics.generalized import evaluate
from stickslip.dynamics.mechanisms import arm_on_the_plane, rod_on_its_foot
from stickslip.engine.integrate import integrate_system
from stickslip.engine.jam import through_jam
from stickslip.engine.systems import simulate_system

ROD = ss.rod(friction=2.0), rod_on_its_foot(np.pi / 4), np.array([-1.0, 0.0, 0.0, 0.0, 0.0])
ARM_POSE = arm_on_the_plane(0.34, np.radians(101.75))
INWARDS = ss.arm(), ARM_POSE, np.array([0.572823613326, 2.05620866219, 0.0, 0.0])  # ẋ = -1 alone
TURNING = ss.arm(), ARM_POSE, np.array([0.572823613326, 2.05620866219, 0.0, 1.0])  # and φ̇ = 1, as in the paper
THAT_STOP = pytest.mark.parametrize("case", [ROD, INWARDS], ids=["rod", "arm"])
ALL = pytest.mark.parametrize("case", [ROD, INWARDS, TURNING], ids=["rod", "arm", "turning arm"])


def stopped(system, q, v):
    """Velocities with the contact brought to rest, v - M⁻¹Aᵀ W⁻¹ A v, and the energy ½ uᵀ W⁻¹ u that this takes."""
    at = evaluate(system, q, v)
    W = at.A @ np.linalg.solve(at.M, at.A.T)
    u = at.A @ v
    p = -np.linalg.solve(W, u)
    return v + np.linalg.solve(at.M, at.A.T @ p), -p @ u / 2, p


def damped(stiffness, slip_speed=1e-4):
    """A damper that gives less and less back the stiffer the spring is."""
    return ss.Penalty(stiffness, 4 * stiffness**0.6, slip_speed)


def particle(friction, gravity):
    """2 kg above the line z = 0, q = (x, z)."""
    surface = ss.ContactPoint(lambda q: q[1], lambda q: [[0, 1], [1, 0]], friction)
    return ss.GeneralizedSystem(2, lambda q: 2.0 * np.eye(2), lambda q, v: [0.0, 2.0 * gravity], (surface,))


# at the level of impulses


@THAT_STOP
def test_a_jam_ends_the_slip(case):
    jam = through_jam(*case, slip_speed=1e-7)
    v, lost, impulse = stopped(*case)
    np.testing.assert_allclose(jam.v, v, atol=1e-5)
    np.testing.assert_allclose(jam.impulse, impulse, atol=1e-6)
    assert jam.stopped
    assert jam.energy_lost == pytest.approx(lost, rel=1e-6)
    assert -jam.normal_work - jam.friction_work == pytest.approx(jam.energy_lost, rel=1e-8)
    system, q, start = case  # an impact, without a collision: compressed by s P until slip ends at P = 1 / (μ eHe - he)
    at, mu, coupling = evaluate(system, q, start), system.contacts[0].friction, ss.system_coupling(system, q)
    e = (at.A @ start)[1:]  # of length 1
    deepest = coupling.margin(e, mu) / (mu * e @ coupling.H @ e - coupling.h @ e)
    assert jam.velocity[:, 0].min() == pytest.approx(deepest, rel=1e-5)


def test_the_rod_in_closed_form():
    """While it slides u_t = -1 + (H μ + h) P and u_n = (a - μ |h|) P with a = H = 5/2, h = 3/2 along the slip."""
    jam = through_jam(*ROD, slip_speed=1e-7)
    sliding = jam.velocity[:, 1] < -1e-3
    P = jam.normal_impulse[sliding]
    np.testing.assert_allclose(jam.velocity[sliding, 0], -0.5 * P, atol=1e-8)
    np.testing.assert_allclose(jam.velocity[sliding, 1], -1.0 + 3.5 * P, atol=1e-8)
    assert jam.normal_work == pytest.approx(
        -((2 / 7) ** 2) / 4 - (1 / 7) ** 2 / (2 * 1.6), rel=1e-5
    )  # slip, then stick


def test_the_slip_of_the_turning_arm_leaves_its_sector_before_it_ends():
    jam = through_jam(*TURNING)
    system, q, _ = TURNING
    coupling = ss.system_coupling(system, q)
    assert not jam.stopped
    assert coupling.jams(jam.velocity[0, 1:], 0.5)
    assert not coupling.jams(jam.velocity[-1, 1:], 0.5)
    assert jam.friction_work < 0
    assert -jam.normal_work - jam.friction_work == pytest.approx(jam.energy_lost, rel=1e-8)


@ALL
def test_an_elastic_spring_gives_back_what_it_took(case):
    jam = through_jam(*case, restitution=1.0)
    assert jam.normal_work == pytest.approx(0.0, abs=1e-10)
    assert jam.velocity[-1, 0] > 0.01  # it leaves the surface
    assert jam.energy_lost == pytest.approx(-jam.friction_work, rel=1e-8)
    half = through_jam(*case, restitution=0.5)
    taken = through_jam(*case).normal_work
    assert half.normal_work == pytest.approx(0.75 * taken, rel=1e-6)


# springs


@ALL
@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_stiff_springs_tend_to_the_impulsive_jam(case, restitution):
    """By the square root of the stiffness: the time that a jam takes falls like that."""
    limit = through_jam(*case, restitution=restitution, slip_speed=1e-4).v
    errors = []
    for stiffness in (1e8, 1e10):
        spring = ss.Penalty(stiffness, slip_speed=1e-4) if restitution else damped(stiffness)
        run = integrate_system(*case, 40 / stiffness**0.5, spring, rtol=1e-7)
        assert (np.diff(run.friction_work[:, 0]) <= 1e-9).all()
        errors.append(np.abs(run.v[-1] - limit).max())
    assert errors[1] < 0.25 * errors[0]
    assert errors[1] < 0.02 * np.abs(limit).max()


@THAT_STOP
def test_forces_grow_and_slip_ends_within_the_jam(case):
    jam = [integrate_system(*case, 10 / k**0.5, damped(k), rtol=1e-7) for k in (1e6, 1e8)]
    peaks = [run.force[:, 0, 0].max() for run in jam]
    assert peaks[1] > 5 * peaks[0] > 1000.0  # the weight is 10 N
    slip = np.linalg.norm(jam[1].velocity[:, 0, 1:], axis=1)
    assert slip[0] == pytest.approx(1.0)
    assert slip[-1] < 0.02
    lost = jam[1].kinetic_energy[0] - jam[1].kinetic_energy[-1]
    assert lost == pytest.approx(stopped(*case)[1], rel=0.1)


def test_energy_and_momentum_of_a_bounce():
    """A particle on a spring without a damper: half a period in contact, back with its speed, p = 2 m v."""
    ball = ss.GeneralizedSystem(
        2,
        lambda q: 2.0 * np.eye(2),
        lambda q, v: np.zeros(2),
        (ss.ContactPoint(lambda q: q[1], lambda q: [[0, 1], [1, 0]]),),
    )
    k, m, speed = 1e4, 2.0, 3.0
    run = integrate_system(ball, [0.0, 0.0], [1.0, -speed], 1.5 * np.pi * np.sqrt(m / k), ss.Penalty(k))
    np.testing.assert_allclose(run.v[-1], [1.0, speed], rtol=1e-6)
    np.testing.assert_allclose(run.impulse[-1, 0], [2 * m * speed, 0.0], rtol=1e-6)
    assert run.gap.min() == pytest.approx(-speed * np.sqrt(m / k), rel=1e-2)  # instants are the integrator's own
    np.testing.assert_allclose(run.kinetic_energy + run.stored, run.kinetic_energy[0], rtol=1e-6)


def test_a_sliding_particle_slows_down_by_friction():
    block = particle(0.3, gravity=9.81)
    k = 1e5
    run = integrate_system(block, [0.0, -2 * 9.81 / k], [1.0, 0.0], 0.2, ss.Penalty(k, 100.0))
    np.testing.assert_allclose(run.v[:, 0], 1.0 - 0.3 * 9.81 * run.time, atol=1e-6)
    assert run.friction_work[-1, 0] == pytest.approx(run.v[-1, 0] ** 2 - 1.0, rel=1e-6)


# steps


@THAT_STOP
def test_rigid_steps_and_stiff_springs_agree(case):
    """Both tend to the contact at rest, by order one in the step and one half in the stiffness."""
    v = stopped(*case)[0]
    system, q, start = case
    stepped = [simulate_system(system, q, start, 4 * h, h, tol=1e-12) for h in (1e-4, 1e-5)]
    errors = [np.abs(run.v[-1] - v).max() for run in stepped]
    assert errors[1] < 0.11 * errors[0]
    assert errors[1] < 1e-3
    assert stepped[0].state[0, 0] == ss.State.STICK
    energy = stepped[1].kinetic_energy
    assert energy[0] - energy[1] == pytest.approx(stopped(*case)[1], rel=1e-3)
    springs = integrate_system(*case, 40 / 1e10**0.5, damped(1e10), rtol=1e-7)
    np.testing.assert_allclose(stepped[1].v[-1], springs.v[-1], atol=0.015)


@ALL
def test_steps_with_the_same_springs_tend_to_the_adaptive_integration(case):
    """Also where slip turns during the jam: order one in the step."""
    spring = damped(1e6, slip_speed=1e-6)
    exact = integrate_system(*case, 4e-3, spring).v[-1]
    law = ss.Coulomb(stabilisation=ss.Relaxation(stiffness=spring.stiffness, damping=spring.damping))
    errors = [
        np.abs(simulate_system(*case, 4e-3, h, law, tol=1e-12).v[-1] - exact).max() for h in (5e-5, 2.5e-5, 1.25e-5)
    ]
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (ratios > 1.7).all()
    assert errors[-1] < 5e-3 * np.abs(exact).max()


def test_one_rigid_step_takes_friction_from_the_end_of_the_jam():
    """Where slip turns, it is no limit of springs: u⁺ = u + W p with p_t = -μ p_n e_t(u⁺), not (1) of the process."""
    system, q, v = TURNING
    run = simulate_system(system, q, v, 1e-7, 1e-7, tol=1e-12)
    at = evaluate(system, q, v)
    W = at.A @ np.linalg.solve(at.M, at.A.T)
    p, after = run.impulse[0, 0], run.velocity[0, 0]
    np.testing.assert_allclose(after, at.A @ v + W @ p, atol=1e-5)
    np.testing.assert_allclose(p[1:], -0.5 * p[0] * after[1:] / np.linalg.norm(after[1:]), atol=1e-7)
    assert np.abs(run.v[-1] - through_jam(*TURNING).v).max() > 2.0  # rad/s


# watching


@pytest.mark.parametrize("height", [0.0, 0.01])
def test_a_rod_that_lands_in_its_sector_is_seen(height):
    system, q, v = ROD
    lifted = q + height * np.eye(5)[2]
    run = simulate_system(system, lifted, v, 0.1, 1e-3, watch="jamming")
    (event,) = run.events
    assert event.time == pytest.approx(np.sqrt(2 * height / 9.81), abs=2e-3)
    assert (event.contact, event.name, event.mu) == (0, "foot", 2.0)
    assert event.mu_jam == pytest.approx(5 / 3)
    assert event.margin == pytest.approx(2.5 - 2.0 * 1.5)
    assert simulate_system(system, q, -v, 0.01, 1e-3, watch="jamming").events == ()
    assert simulate_system(ss.rod(friction=1.5), q, v, 0.01, 1e-3, watch="jamming").events == ()


def leaning_capsule(friction):
    scene = ss.Scene()
    scene.add_plane(friction=friction, name="floor")
    half = np.pi / 8
    scene.add_capsule(
        radius=0.01, length=1.0, mass=1.0, position=(0, 0, 0.01 + 0.5 * np.sin(np.pi / 4)),
        orientation=(np.cos(half), 0, np.sin(half), 0), velocity=(-1.0, 0.0, 0.0), name="rod",
    )  # fmt: skip
    return scene


def test_a_scene_is_watched():
    scene = leaning_capsule(2.0)
    (event,) = ss.simulate(scene, 0.005, 1e-3, watch="jamming").events
    alone = ss.scene_coupling(scene, 0)
    assert event.name == "rod on floor"
    assert event.time == 0.0
    assert event.mu_jam == pytest.approx(alone.mu_jam, rel=1e-9)
    assert event.margin == pytest.approx(alone.margin([-1.0, 0.0], 2.0), rel=1e-9)
    assert "rod on floor jams" in str(event)
    assert ss.simulate(leaning_capsule(1.5), 0.005, 1e-3, watch="jamming").events == ()


def test_contacts_that_hold_each_other_are_counted():
    """A cube that slides with μ = 2 stands on its two front corners: S = [[1, -2], [-2, 1]], so s = 1 - 4."""
    scene = ss.Scene()
    scene.add_plane(friction=2.0)
    scene.add_box(size=1.0, mass=1.0, position=(0.0, 0.0, 0.5), velocity=(1.0, 0.0, 0.0))
    run = ss.simulate(scene, 0.002, 1e-3, watch="jamming")
    assert [event.margin for event in run.events] == pytest.approx([-3.0, -3.0])


def test_watching_changes_nothing():
    watched = ss.simulate(leaning_capsule(1.0), 0.02, 1e-3, watch="jamming")
    plain = ss.simulate(leaning_capsule(1.0), 0.02, 1e-3)
    np.testing.assert_allclose(watched.velocity("rod"), plain.velocity("rod"), atol=1e-6)


def test_bad_input():
    system, q, v = ROD
    with pytest.raises(ss.InputError, match="watch is 'slip', expected 'jamming'"):
        simulate_system(system, q, v, 1e-3, 1e-3, watch="slip")
    with pytest.raises(ss.InputError, match="Penalty: stiffness is 0, expected a positive number"):
        ss.Penalty(0)
    with pytest.raises(ss.InputError, match="Penalty: damping is nan, expected a number >= 0"):
        ss.Penalty(1.0, float("nan"))
    with pytest.raises(ss.InputError, match="method is 'RK45', expected one of Radau, BDF, LSODA"):
        integrate_system(system, q, v, 1e-3, ss.Penalty(1e4), method="RK45")
    with pytest.raises(ss.InputError, match="duration is -1, expected a positive number"):
        integrate_system(system, q, v, -1, ss.Penalty(1e4))
    with pytest.raises(ss.InputError, match="contact is None, expected a Penalty"):
        integrate_system(system, q, v, 1e-3, None)
    with pytest.raises(ss.InputError, match="outside its locking sector, expected one that jams"):
        through_jam(system, q, -v)
    with pytest.raises(ss.InputError, match="has the gap 0 and the normal velocity -1, expected both to be zero"):
        through_jam(system, q, v - np.eye(5)[2])
    with pytest.raises(ss.InputError, match="contact is 1, expected a number below 1"):
        through_jam(system, q, v, contact=1)
    with pytest.raises(ss.InputError, match="restitution is 2, expected a number from 0 to 1"):
        through_jam(system, q, v, restitution=2)
