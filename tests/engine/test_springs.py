"""Contacts as springs, very stiff ones and in scenes, and surfaces that move: closed forms, systems against scenes."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.dynamics.mechanisms import arm_on_the_plane, rod_on_its_foot
from stickslip.scene.shapes import Point

G = 9.81
ROD = ss.rod(friction=2.0), rod_on_its_foot(np.pi / 4), np.array([-1.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("method", ["Radau", "BDF"])
@pytest.mark.parametrize(("stiffness", "damping"), [(1e9, 3e5), (1e11, 1e7)])
def test_very_stiff_springs_go_through_the_jam(stiffness, damping, method):
    """To the impulsive process, by the square root of the stiffness."""
    run = ss.integrate_system(*ROD, 20 / stiffness**0.5, ss.Penalty(stiffness, damping, 1e-4), method=method, rtol=1e-7)
    limit = ss.through_jam(*ROD, slip_speed=1e-4)
    assert np.abs(run.v[-1] - limit.v).max() < 3e3 / stiffness**0.5
    lost = run.kinetic_energy[0] - run.kinetic_energy[-1]
    assert lost == pytest.approx(limit.energy_lost, rel=0.1)


def test_the_turning_arm_on_stiff_springs():
    v = np.array([0.572823613326, 2.05620866219, 0.0, 1.0])
    case = ss.arm(), arm_on_the_plane(0.34, np.radians(101.75)), v
    run = ss.integrate_system(*case, 1e-3, ss.Penalty(1e9, 3e5, 1e-3), rtol=1e-6)
    assert np.abs(run.v[-1] - ss.through_jam(*case, slip_speed=1e-3).v).max() < 0.3


# scenes


def test_a_ball_bounces_on_its_spring():
    """Half a period in contact, back with its speed, and as deep as v √(m/k)."""
    k, m, speed = 1e4, 2.0, 3.0
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_plane(friction=0.0)
    scene.add_sphere(0.1, mass=m, position=(0, 0, 0.1), velocity=(1.0, 0, -speed), name="ball")
    run = ss.integrate_scene(scene, 1.5 * math.pi * math.sqrt(m / k), ss.Penalty(k))
    np.testing.assert_allclose(run.velocity("ball")[-1], [1.0, 0, speed], rtol=1e-6)
    assert run.position("ball")[:, 2].min() == pytest.approx(0.1 - speed * math.sqrt(m / k), rel=1e-2)


@pytest.mark.parametrize("stiffness", [1e6, 1e9])
def test_a_rod_as_a_scene_and_as_a_system(stiffness):
    theta = math.pi / 4
    scene = ss.Scene()
    scene.add_plane(friction=2.0)
    scene.add_body(
        [Point((-0.5, 0, 0))], mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), centre=(0, 0, 0), name="rod", friction=2.0,
        position=(0.5 * math.cos(theta), 0, 0.5 * math.sin(theta)), orientation=((0, 1, 0), -theta),
        velocity=(-1.0, 0, 0),
    )  # fmt: skip
    spring, duration = ss.Penalty(stiffness, 4 * stiffness**0.6, 1e-3), 10 / stiffness**0.5
    world = ss.integrate_scene(scene, duration, spring, rtol=1e-7)
    system = ss.integrate_system(*ROD, duration, spring, rtol=1e-7)
    np.testing.assert_allclose(world.velocity("rod")[-1], system.v[-1, :3], atol=2e-4)
    np.testing.assert_allclose(world.spin("rod")[-1, 1], -system.v[-1, 3], atol=2e-3)


def test_a_pendulum_in_a_scene_keeps_its_energy():
    """A hinge at the level of accelerations: period and energy of a rod that swings, no contact."""
    scene = ss.Scene()
    scene.add_box((0.05, 0.05, 1.0), mass=1.0, position=(0.5, 0, 0), orientation=((0, 1, 0), math.pi / 2), name="rod")
    scene.add_hinge("rod", position=(0, 0, 0), axis=(0, 1, 0))
    run = ss.integrate_scene(scene, 0.6, ss.Penalty(1e6), rtol=1e-9)
    inertia = (0.05**2 + 1.0) / 12 + 0.25
    down = -run.position("rod")[-1, 2]
    assert run.spin("rod")[-1, 1] ** 2 * inertia / 2 == pytest.approx(G * down, rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(run.position("rod"), axis=1), 0.5, atol=1e-6)


def test_a_block_is_carried_by_a_belt():
    """It speeds up by μ g until it moves with the belt; a damped spring carries its weight."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3, moving=True, velocity=(0.5, 0, 0))
    k = 1e5
    sunk = 2.0 * G / k
    scene.add_particle(2.0, position=(0, 0, -sunk), friction=0.3, name="block")
    run = ss.integrate_scene(scene, 0.3, ss.Penalty(k, 200.0), rtol=1e-7)
    time = run.time
    sliding = (time > 0.01) & (time < 0.15)
    np.testing.assert_allclose(run.velocity("block")[sliding, 0], 0.3 * G * time[sliding], atol=1e-4)
    assert run.velocity("block")[-1, 0] == pytest.approx(0.5, abs=1e-3)
    last = run.contacts(len(run) - 1)
    assert last.impulse[0, 0] / (time[-1] - time[-2]) == pytest.approx(2.0 * G, rel=1e-3)
    with pytest.raises(ss.InputError, match="integrate_scene: contact is None, expected a Penalty"):
        ss.integrate_scene(scene, 0.1, None)
    scene.add_hinge(scene.add_box(1.0, mass=1.0, position=(5, 0, 5)), position=(5, 0, 5), axis=(0, 1, 0), effort=1.0)
    with pytest.raises(ss.InputError, match="integrate_scene and integrate_system for springs, which have no steps"):
        ss.simulate(scene, 0.1, 1e-3, friction=ss.Penalty(k))
    with pytest.raises(ss.InputError, match="a joint has an effort, expected none"):
        ss.integrate_scene(scene, 0.1, ss.Penalty(k))


# surfaces and constraints that move by themselves


def block_on(surface, gap=lambda q, t: q[1], friction=0.3, mass=2.0):
    point = ss.ContactPoint(gap, lambda q, t: [[0, 1], [1, 0]], friction, surface_velocity=surface, name="under")
    return ss.GeneralizedSystem(2, lambda q: mass * np.eye(2), lambda q, v: [0, mass * G], (point,), name="block")


@pytest.mark.core
def test_a_belt_carries_a_block():
    belt = block_on(lambda q, t: [0.0, -0.5])
    run = ss.simulate(belt, 0.3, 1e-3, q=[0, 0], v=[0, 0])
    sliding = run.time < 0.5 / (0.3 * G) - 2e-3
    np.testing.assert_allclose(run.v[sliding, 0], 0.3 * G * run.time[sliding], atol=1e-9)
    assert run.v[-1, 0] == pytest.approx(0.5, abs=1e-9)
    assert ss.solvability(belt, q=[0, 0], v=[0, 0]).solutions[0].force[1] == pytest.approx(0.3 * 2 * G)


@pytest.mark.core
def test_a_shaken_table_throws_a_block():
    """z = a (1 - cos Ω t): weight m (g + a Ω² cos Ω t), and it leaves where that would be negative."""
    a, omega = 0.01, 40.0

    def table(t):
        return a * (1 - math.cos(omega * t))

    def speed(q, t):
        return [-a * omega * math.sin(omega * t), 0.0]

    system = block_on(speed, gap=lambda q, t: q[1] - table(t))
    dt = 1e-4
    run = ss.simulate(system, 0.06, dt, q=[0, 0], v=[0, 0])
    middle = run.time[:-1] + dt / 2
    off = math.acos(-G / (a * omega**2)) / omega
    held = run.time[1:] < off - 2e-3
    total, end = np.cumsum(run.impulse[:, 0, 0])[held], run.time[1:][held]
    np.testing.assert_allclose(total, 2.0 * (G * end + a * omega * np.sin(omega * end)), atol=5e-3)  # of 0.8 N s
    assert (run.impulse[middle > off + 2e-3, 0, 0][:20] == 0).all()
    at_start = ss.solvability(system, q=[0, 0], v=[0, 0])
    np.testing.assert_allclose(at_start.solutions[0].normal, 2.0 * (G + a * omega**2), rtol=1e-6)
    springs = ss.integrate_system(system, [0, 0], [0, 0], 0.03, ss.Penalty(1e7, 2e3), rtol=1e-7)
    np.testing.assert_allclose(springs.q[-1, 1], table(0.03), atol=2e-5)


def rheonomic(rate):
    """A mass on a wire x = g(t), free along z: g = ½ rate t²."""
    held = ss.Constraint(
        rows=lambda q, t: [[1.0, 0.0]], error=lambda q, t: [q[0] - 0.5 * rate * t * t], rate=lambda q, t: [-rate * t]
    )
    return ss.GeneralizedSystem(2, lambda q: 2.0 * np.eye(2), lambda q, v: [0, 2.0 * G], (), held, name="bead")


@pytest.mark.core
def test_a_constraint_that_moves_takes_its_system_along():
    run = ss.simulate(rheonomic(3.0), 0.5, 1e-3, q=[0, 0], v=[0, 0])
    np.testing.assert_allclose(run.q[:, 0], 1.5 * run.time**2, atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], 3.0 * run.time, atol=1e-9)
    np.testing.assert_allclose(run.q[:, 1], -0.5 * G * run.time**2, atol=1e-12)
    forces = run.joint("constraint").impulse[:, 0] / 1e-3
    np.testing.assert_allclose(forces[5:], 2.0 * 3.0, rtol=0.02)
    springs = ss.integrate_system(rheonomic(3.0), [0, 0], [0, 0], 0.5, ss.Penalty(1e6))
    np.testing.assert_allclose(springs.q[-1, 0], 1.5 * 0.25, atol=1e-6)


# arms of one's own


def test_an_arm_of_other_lengths_has_the_map_of_its_own():
    """Twice as large and three times as heavy per length: angles and μ_jam are the same, distances twice."""
    small = ss.jam_map(ss.arm_family(), 40)
    large = ss.jam_map(ss.arm_family((1.0, 1.0, 0.2), 1.2, density=6.0), 40)
    assert [worst.mu_jam for worst in large.minima] == pytest.approx([worst.mu_jam for worst in small.minima], rel=1e-6)
    for one, other in zip(large.minima, small.minima, strict=True):
        assert one.parameters[0] == pytest.approx(2 * other.parameters[0], rel=1e-3)
    other = ss.jam_map(ss.arm_family((0.4, 0.6, 0.15), 0.5), 40)
    assert abs(other.minima[0].mu_jam - small.minima[0].mu_jam) > 1e-3
    with pytest.raises(ss.InputError, match=r"arm_family: height is 3, expected less than the length of the arm, 1.1"):
        ss.arm_family(height=3.0)
