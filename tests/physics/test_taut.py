"""Joints that cannot be held are not lost silently."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.dynamics.held import hold, rates
from stickslip.engine.engine import Engine
from stickslip.engine.finish import begin
from stickslip.engine.rims import energy_of
from stickslip.engine.taken_back import take_back
from stickslip.scene.compile import compile_scene

PLANK = 0.25


def bridge(planks, sag):
    """Planks between two fixed ends, two ball joints between each two, gravity across."""
    scene, bodies, x = ss.Scene(), [], np.arange(planks + 1)
    points = np.stack([PLANK * x, 0 * x, -4 * sag * x / planks * (1 - x / planks)], axis=1)
    for p, q in pairwise(points):
        lean = -np.arctan2(q[2] - p[2], q[0] - p[0])
        middle = tuple((p + q) / 2)
        bodies.append(
            scene.add_box((0.9 * PLANK, 1, 0.04), mass=4, position=middle, orientation=((0, 1, 0), float(lean)))
        )
    for k, p in enumerate(points):
        for y in (-0.45, 0.45):
            a, b = (bodies[0], None) if k == 0 else (bodies[k - 1], bodies[k] if k < planks else None)
            scene.add_ball(a, b, position=(p[0], y, p[2]), name=f"hinge {k} at {y}")
    return scene


def hanging(links, mass, load, bend=0.0, planar=False, kind="ball"):
    """Links of 0.1 m below each other, each turned by `bend` to one side or the other, with a load at the last."""
    scene, last, place = ss.Scene(planar=planar), None, np.zeros(3)
    at = (lambda x: (x[0], x[2])) if planar else tuple
    for k in range(links + 1):
        angle = bend * (-1) ** k if k < links else 0.0
        down = np.array([np.sin(angle), 0, -np.cos(angle)])
        turned = -angle if planar else ((0, 1, 0), float(-angle))
        said = {"mass": mass if k < links else load, "position": at(place + 0.05 * down), "orientation": turned}
        body = scene.add_capsule(0.01, 0.07, **said)
        hold = scene.add_hinge if planar or kind == "hinge" else scene.add_ball
        hold(body, last, position=at(place), **({} if planar or kind == "ball" else {"axis": (0, 1, 0)}))
        last, place = body, place + 0.1 * down
    return scene


@pytest.mark.parametrize("bend", [0.0, 0.3])
@pytest.mark.parametrize("mass", [1e-3, 1.0])
@pytest.mark.parametrize("planar", [False, True])
def test_light_links_hold_a_tonne(bend, mass, planar):
    """At 2 ms a step cannot follow how links swing between their joints. They hold, gain no energy, and where they hang
    straight every joint carries the weight below it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InexactWarning)  # of the step in which bent links come to be straight
        run = ss.simulate(hanging(20, mass, 1000.0, bend, planar), 0.3, 2e-3, progress=False)
    assert len(run.failures) == 0
    gain = run.energy - run.energy[0]
    assert gain.max() <= 1e-9 * run.kinetic.max() + 1e-9
    assert run.residual[-50:].max() <= 1e-8
    if bend == 0.0:
        carried = [np.linalg.norm(run.joint(j).force[-1]) for j in range(21)]
        assert np.allclose(carried, [9.81 * (1000.0 + mass * (20 - j)) for j in range(21)])


def test_a_swing_is_that_of_its_load():
    """Ten links of 1 g and 1000 kg: a pendulum, whose energy a step that cannot follow the links keeps to 1 %, and
    which gains no more than 0.1 %."""
    scene = hanging(10, 1e-3, 1000.0)
    scene.place(scene.bodies[-1], velocity=(1.0, 0.0, 0.0))
    run = ss.simulate(scene, 0.5, 2e-3)
    assert (run.status == ss.Status.SOLVED).all()
    change = (run.energy - run.energy[0]) / run.kinetic[0]
    assert -1e-2 < change.min() <= change.max() < 1e-3


def test_a_straight_bridge_stays_straight():
    """Twenty planks in a straight line between two fixed ends have no way to sag but √(3/8 L e) for joints that are e
    apart together, 0.06 mm for 2 nm of 5 m."""
    run = ss.simulate(bridge(20, 0.0), 0.2, 2e-3)
    assert (run.status == ss.Status.SOLVED).all()
    assert np.abs(run.position("box_10") - run.position("box_10")[0]).max() < 6e-5


def torn():
    """Two links of 0.2 m between the world and a hand that goes further than they reach, after 0.1 s."""
    scene = ss.Scene(gravity=(0, 0, 0))
    first = scene.add_capsule(0.01, 0.1, mass=1.0, position=(0.1, 0, 0), name="first")
    second = scene.add_capsule(0.01, 0.1, mass=1.0, position=(0.3, 0, 0), name="second")
    hand = scene.add_box(0.02, moving=True, position=(0.4, 0, 0), velocity=(0.5, 0, 0), name="hand")
    scene.add_ball(first, position=(0, 0, 0))
    scene.add_ball(second, first, position=(0.2, 0, 0))
    scene.add_ball(hand, second, position=(0.4, 0, 0))
    return scene


def test_joints_that_no_position_holds_end_the_run():
    with pytest.raises(ss.StepFailed, match=r"joint \d between '\w+' and '\w+' came apart") as caught:
        ss.simulate(torn(), 0.2, 1e-2)
    assert caught.value.solution is None
    assert len(caught.value.trajectory) == caught.value.step
    sim = ss.Simulation(torn(), dt=1e-2)
    sim.step(max(1, caught.value.step)) if caught.value.step else None
    before = sim.state.copy()
    with pytest.raises(ss.StepFailed):
        sim.step()
    assert all((x == y).all() for x, y in zip(before, sim.state.copy(), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InexactWarning)
        run = ss.simulate(torn(), 0.2, 1e-2, keep_going=True)
    assert len(run) == 20
    assert len(run.failures) > 0
    assert (run.worst[run.failures] <= -2).all()
    assert "at the joint" in run.accuracy


def test_a_braced_chain_goes_on_to_the_same_bits(tmp_path):
    scene = hanging(6, 1e-3, 1000.0, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InexactWarning)
        ss.simulate(scene, 0.1, 2e-3, path=tmp_path / "half.h5").close()
        rest = ss.resume(tmp_path / "half.h5", duration=0.2)
        whole = ss.simulate(scene, 0.2, 2e-3)
    assert (rest.position(6) == whole.position(6)).all()


@pytest.mark.parametrize("planks", [2, 4])
def test_a_chain_that_sags_keeps_its_joints(planks):
    run = ss.simulate(bridge(planks, 1e-2), 0.2, 2e-3)
    assert (run.status == ss.Status.SOLVED).all()
    assert (run.worst > -2).all()


def whirling(kind, rate):
    """About a ball joint at the origin, slightly out of the plane: a round rod, a flat bar, or three rods in a row."""
    scene, before = ss.Scene(gravity=(0, 0, 0)), None
    for end in (0.0, 0.5, 1.0) if kind == "flail" else (0.0,):
        middle = end + 0.25
        how = {"mass": 0.3, "position": (middle, 0, 0), "velocity": (0, rate * middle, 0), "spin": (0, 0.01, rate)}
        if kind == "bar":
            body = scene.add_box((0.5, 0.04, 0.02), **how)
        else:
            body = scene.add_capsule(0.01, 0.5, orientation=((0, 1, 0), np.pi / 2), **how)
        scene.add_ball(body, before, position=(end, 0, 0))
        if before is not None:
            scene.set_pair(body, before, collide=False)
        before = body
    return scene, body


@pytest.mark.parametrize("kind", ["rod", "bar", "flail"])
@pytest.mark.parametrize("turn", [0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_what_whirls_about_a_ball_joint_keeps_its_energy(kind, turn, h):
    """A thousand steps that turn slim bodies by so much each. Nothing twists a round rod about its own axis; where the
    turn of a step is not that of the momentum with half of the pull in it, its energy goes there."""
    scene, body = whirling(kind, turn / h)
    run = ss.simulate(scene, 1000 * h, h)
    assert np.abs(run.energy / run.energy[0] - 1).max() < 2e-3
    if kind == "rod":
        turned = Rotation.from_quat(run.quaternion(body), scalar_first=True)
        assert np.abs(turned.inv().apply(run.spin(body))[:, 2]).max() < 0.02  # twice what it begins with across


@pytest.mark.parametrize("rate", [10.0, 20.0, 30.0])
def test_a_chain_that_whirls_gains_nothing(rate):
    """Six links on a circle, 0.1 to 0.3 rad a step: what braces them brings no energy, and in the plane
    of the circle it changes nothing, so hardly any is lost."""
    scene, last, length = ss.Scene(gravity=(0, 0, 0)), None, 0.5
    for k in range(6):
        x = (k + 0.5) * length
        said = {"position": (x, 0, 0), "velocity": (0, rate * x, 0), "spin": (0, 0, rate)}
        body = scene.add_capsule(0.02, length - 0.04, mass=1.0, orientation=((0, 1, 0), np.pi / 2), **said)
        scene.add_ball(body, last, position=(k * length, 0, 0))
        last = body
    run = ss.simulate(scene, 1.0, 1e-2, tol=1e-6)
    share = run.energy / run.energy[0]
    assert share.max() <= 1.0 + 1e-6
    assert share.min() >= 0.99


def wrecking_ball(links, mass, speed):
    scene, top, previous = ss.Scene(), 0.8, None
    for k in range(links):
        z = top - 0.035 * k - 0.02
        link = scene.add_capsule(0.006, 0.02, mass=0.05, position=(0, 0, z))
        scene.add_ball(link, previous, position=(0, 0, z + 0.0175))
        previous = link
    end = top - 0.035 * links
    ball = scene.add_sphere(0.05, mass=mass, position=(0, 0, end - 0.05), velocity=(speed, 0, 0))
    scene.add_ball(ball, previous, position=(0, 0, end + 0.002))
    return scene


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize(("links", "mass"), [(4, 1.0), (8, 4.3)])
def test_a_wrecking_ball_that_is_caught_by_its_chain_gains_nothing(links, mass, start):
    """It flies over the top, falls, and the chain of light links comes to be straight at 3 m/s. Positions that fit were
    sought too far away: it gained 13 % of its energy at one of these moments, 90 % in other scenes.

    The way is chaotic, so each of some starts beside each other goes its own. Heavy balls brace the links: what turns
    with them keeps some energy for a few steps and gives it back, which is no gain."""
    run = ss.simulate(wrecking_ball(links, mass, 3.0 + 1e-9 * start), 2.0, 5e-3)
    energy, most = np.asarray(run.energy), np.asarray(run.kinetic).max()
    anew = [energy[k] - energy[max(0, k - 10) : k].max() for k in range(1, energy.size)]
    assert max(anew) < 0.015 * most
    assert energy.max() - energy[0] < 0.015 * most


def flail(anchored, planar):
    """Three bodies of different mass on two joints, the first on the world too or on nothing."""
    scene = ss.Scene(planar=planar)
    at = (lambda x: (x, 0.0)) if planar else (lambda x: (x, 0.2 * x * x, 0.0))
    bodies = [scene.add_box((0.3, 0.1, 0.2), mass=1.0 + k, position=at(0.4 * k)) for k in range(3)]
    hold = scene.add_hinge if planar else scene.add_ball
    for a, b in pairwise(bodies):
        hold(a, b, position=at(0.2 + 0.4 * a.index))
    if anchored:
        hold(bodies[0], None, position=at(-0.2))
    scene.apply(bodies[2], force=(0.3, 2.0) if planar else (0.3, 0.7, 2.0))
    return scene


def momenta(model, state):
    """Of all bodies: linear, and angular about the origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    for b in np.flatnonzero(model.inverse_mass[:, 0] > 0):
        R = Rotation.from_quat(state.quaternion[b], scalar_first=True).as_matrix()
        p = model.mass[b] * state.velocity[b, :3]
        linear += p
        angular += np.cross(state.position[b], p) + R @ model.inertia[b] @ R.T @ state.velocity[b, 3:]
    return linear, angular


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("anchored", [False, True])
def test_what_is_taken_back_is_the_gain_and_no_momentum(anchored, planar):
    """By what a group has too much, to rounding; afloat it keeps its momenta, and its joints hold as before."""
    model, state, drives = compile_scene(flail(anchored, planar))
    engine = Engine(model, state, drives, 1e-3, ss.Coulomb(), "auto", 1e-8, False)
    held, bodies, h = engine.work.held, engine.work.bodies, 1e-3
    if not anchored:  # a motion as one, which any group has, and more below
        spin = np.array([0.0, 1.3, 0.0]) if planar else np.array([0.4, 1.3, -0.6])
        state.velocity[:, :3] = np.array([0.5, 0.0, -0.2]) + np.cross(spin, state.position)
        state.velocity[:, 3:] = spin
    begin(state, engine.rules, engine.work, engine.memory)
    push = np.random.default_rng(0).normal(size=state.velocity.shape) * (model.inverse_mass[:, :1] > 0)
    if planar:
        push[:, [1, 3, 5]] = 0.0
    state.velocity[:] += push
    rates(held, state.velocity, False)
    hold(held, state.velocity, held.impulse)  # to joints again
    before, told = state.copy(), momenta(model, state)
    before.velocity[:] *= 0.999
    free, room = np.flatnonzero(model.inverse_mass[:, 0] > 0), np.zeros((2, model.kind.size))
    had, has = (sum(energy_of(bodies, each, b) for b in free) for each in (before, state))
    after = state.copy()
    none = np.zeros((0, 2), np.int64), np.zeros((0, 2, 3, 6)), np.zeros(0)
    take_back(0, 0, *none, h, held, bodies, before, after, *room, np.zeros(3, np.int64))
    assert has > had
    assert sum(energy_of(bodies, after, b) for b in free) == pytest.approx(had, rel=1e-12)
    rates(held, after.velocity, False)
    assert np.abs(held.wanted).max() < 1e-12
    if not anchored:
        for x, y in zip(momenta(model, after), told, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
