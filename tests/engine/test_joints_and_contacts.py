"""Joints and contacts together, under every formulation: loads by statics, accelerations by hand, and islands apart."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.names import FORMULATIONS
from stickslip.solvers.solve import Auto

G, H = 9.81, 0.01
LIFTS = ("anitescu_potra", "compliant_cone")  # a contact that slides lifts, so its load comes and goes
EVERY = pytest.mark.parametrize("name", FORMULATIONS)
KEEPS_CONTACT = pytest.mark.parametrize("name", [name for name in FORMULATIONS if name not in LIFTS])


def law(name):
    return FORMULATIONS[name]()


def row(run, joint, name):
    """What a row of a joint carried, step by step   [N s]"""
    found = run.joint(joint)
    return found.impulse[:, found.rows.index(name)]


def lever(friction=0.4):
    """A ball on an arm of 1 m, on a hinge at the height of its centre, rests on the floor."""
    scene = ss.Scene()
    scene.add_plane(friction=friction)
    ball = scene.add_sphere(0.1, mass=2.0, position=(1, 0, 0.1))
    return scene, ball, scene.add_hinge(ball, position=(0, 0, 0.1), axis=(0, 1, 0))


@EVERY
def test_a_ball_on_an_arm_rests_on_the_floor(name):
    """The moment of the contact about the hinge is that of the weight; normal and friction share it."""
    scene, ball, _ = lever()
    run = ss.simulate(scene, 0.2, H, law(name))
    p = run.contacts(step=-1).impulse[0]
    np.testing.assert_allclose(1.0 * p[0] + 0.1 * p[1], 2.0 * G * H, rtol=1e-6)
    np.testing.assert_allclose(run.position(ball), np.tile([1, 0, 0.1], (21, 1)), atol=1e-7)
    assert run.contact_count[-1] == 1


def hinge_load(name):
    scene, _, hinge = lever(friction=0.0)
    run = ss.simulate(scene, 0.2, H, law(name))
    return run.contacts(step=-1).impulse[0, 0], run.joint(hinge)


@EVERY
def test_on_a_smooth_floor_the_hinge_carries_nothing(name):
    """The contact is below the centre of the ball."""
    normal, hinge = hinge_load(name)
    np.testing.assert_allclose(normal, 2.0 * G * H, rtol=1e-6)
    np.testing.assert_allclose(hinge.impulse[-1], 0.0, atol=1e-8)


def pushed_box(push, mu=0.3):
    """A smooth ball on a slider, driven by a motor of that strength, pushes a box over the floor."""
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    ball = scene.add_sphere(0.1, mass=1.0, position=(-0.35, 0, 0.15))
    box = scene.add_box(size=(0.5, 0.5, 0.3), mass=3.0, position=(0, 0, 0.15))
    scene.set_pair(ball, box, friction=0.0)
    joint = scene.add_slider(ball, position=(-0.35, 0, 0.15), axis=(1, 0, 0), speed=50.0, strength=push)
    return scene, ball, box, joint


@KEEPS_CONTACT
def test_a_motor_pushes_a_box_against_friction(name):
    """Both gain (F - μ m g)/(M + m) in a second, and the motor gives all it has."""
    push, mu = 20.0, 0.3
    scene, ball, box, joint = pushed_box(push, mu)
    run = ss.simulate(scene, 0.2, H, law(name))
    a = (push - mu * 3.0 * G) / 4.0
    np.testing.assert_allclose(run.velocity(box)[:, 0], a * run.time, atol=1e-6)
    np.testing.assert_allclose(run.velocity(ball)[:, 0], a * run.time, atol=1e-6)
    np.testing.assert_allclose(row(run, joint, "motor"), push * H, rtol=1e-9)
    contacts = run.contacts(step=-1, body=box)
    floor = contacts.impulse[np.abs(contacts.normal[:, 2]) > 0.5]
    np.testing.assert_allclose(floor[:, 0].sum(), 3.0 * G * H, rtol=1e-6)


@EVERY
def test_a_motor_that_is_too_weak_pushes_nothing(name):
    """Less than μ m g: nothing moves, and the box holds against the ball with the force of the motor."""
    scene, ball, box, joint = pushed_box(5.0)
    run = ss.simulate(scene, 0.1, H, law(name), tol=1e-10)  # as a share of the motor's 50 m/s
    for body in (ball, box):
        np.testing.assert_allclose(run.velocity(body), 0.0, atol=1e-7)
    np.testing.assert_allclose(row(run, joint, "motor")[-1], 5.0 * H, rtol=1e-6)
    contacts = run.contacts(step=-1, body=ball)
    np.testing.assert_allclose(contacts.impulse[:, 0].sum(), 5.0 * H, rtol=1e-5)


def lift(mu=0.2, speed=2.0):
    """A platform on a vertical slider, at its lower limit, and a box that slides over it."""
    scene = ss.Scene()
    platform = scene.add_box(size=(4, 2, 0.2), mass=5.0, position=(0, 0, 1.0), friction=mu)
    box = scene.add_box(size=0.4, mass=2.0, position=(-1, 0, 1.3), velocity=(speed, 0, 0), friction=mu)
    return scene, platform, box, scene.add_slider(platform, position=(0, 0, 1), axis=(0, 0, 1), limits=(0.0, 1.0))


@KEEPS_CONTACT
def test_a_limit_carries_its_load_while_a_contact_slides(name):
    """(M + m) g at the limit, and the box loses μ g in a second."""
    scene, platform, box, joint = lift()
    run = ss.simulate(scene, 0.2, H, law(name))
    np.testing.assert_allclose(row(run, joint, "lower limit")[1:], 7.0 * G * H, rtol=1e-6)
    np.testing.assert_allclose(row(run, joint, "upper limit"), 0.0)
    np.testing.assert_allclose(run.velocity(box)[:, 0], 2.0 - 0.2 * G * run.time, atol=1e-6)
    np.testing.assert_allclose(run.position(platform), np.tile([0, 0, 1.0], (21, 1)), atol=1e-8)


def side_load(name):
    """The impulse across the slider in the last step."""
    scene, _, _, joint = lift()
    run = ss.simulate(scene, 0.2, H, law(name))
    return np.hypot(row(run, joint, "force x")[-1], row(run, joint, "force y")[-1])


@pytest.mark.parametrize("name", [name for name in FORMULATIONS if name not in LIFTS])
def test_a_slider_takes_the_friction_of_what_slides_on_it(name):
    """μ m g across its axis."""
    assert side_load(name) == pytest.approx(0.2 * 2.0 * G * H, rel=1e-6)


# --- what hangs together, and what does not -------------------------------------------------------------------------


def add_stack(scene, x=0.0, count=4, slide=0.3):
    boxes = []
    for i in range(count):
        place = {"position": (x + 0.02 * i, 0, 0.25 + 0.5 * i), "velocity": (slide if i == 0 else 0.0, 0, 0)}
        boxes.append(scene.add_box(size=0.5, mass=1.0 + i, **place))
    return boxes


def add_pendulum(scene, x):
    ball = scene.add_sphere(0.1, mass=1.0, position=(x + 1.0, 0, 5))
    scene.add_hinge(ball, position=(x, 0, 5), axis=(0, 1, 0))
    return ball


def floor():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    return scene


def assert_same_bits(run, other, bodies, others):
    for body, same in zip(bodies, others, strict=True):
        for quantity in ("position", "quaternion", "velocity", "spin"):
            np.testing.assert_array_equal(getattr(run, quantity)(body), getattr(other, quantity)(same))


@EVERY
def test_a_pendulum_far_away_changes_no_bit(name):
    alone, together = floor(), floor()
    boxes, same = add_stack(alone), add_stack(together)
    add_pendulum(together, 50.0)
    runs = [ss.simulate(scene, 0.1, H, law(name), keep_going=True) for scene in (alone, together)]
    assert_same_bits(*runs, boxes, same)


def test_nor_does_a_stack_change_a_pendulum():
    alone, together = floor(), floor()
    ball = add_pendulum(alone, 50.0)
    add_stack(together)
    same = add_pendulum(together, 50.0)
    runs = [ss.simulate(scene, 0.3, H) for scene in (alone, together)]
    assert_same_bits(*runs, [ball], [same])


def alone_and_together():
    """Runs of two stacks, each alone and both in one scene, and their bodies."""
    first, second, both = floor(), floor(), floor()
    boxes, others = add_stack(first), add_stack(second, 20.0, 2, -0.5)
    same, same_others = add_stack(both), add_stack(both, 20.0, 2, -0.5)
    runs = [ss.simulate(scene, 0.2, H, tol=1e-10) for scene in (first, second, both)]
    return runs, boxes, others, same, same_others


def test_islands_are_solved_as_each_alone():
    (first, second, both), boxes, others, same, same_others = alone_and_together()
    for run, bodies, images in ((first, boxes, same), (second, others, same_others)):
        for body, image in zip(bodies, images, strict=True):
            for quantity in ("position", "quaternion", "velocity", "spin"):
                found, expected = getattr(both, quantity)(image), getattr(run, quantity)(body)
                np.testing.assert_allclose(found, expected, atol=1e-8)


def test_islands_are_solved_as_each_alone_to_the_bit():
    (first, second, both), boxes, others, same, same_others = alone_and_together()
    assert_same_bits(first, both, boxes, same)
    assert_same_bits(second, both, others, same_others)


@EVERY
def test_auto_by_name_and_by_value_give_the_same_bits(name):
    scenes = floor(), floor()
    bodies = [[*add_stack(scene), add_pendulum(scene, 3.0)] for scene in scenes]
    solvers = "auto", Auto(tol=1e-8)
    runs = [
        ss.simulate(scene, 0.1, H, law(name), solver=solver, tol=1e-8, keep_going=True)
        for scene, solver in zip(scenes, solvers, strict=True)
    ]
    assert_same_bits(*runs, *bodies)
    assert runs[0].method == runs[1].method


def whirling(beside):
    """Two rods that hang on each other whirl round, above a floor on which, far away, a ball rests or not."""
    scene, spin = ss.Scene(), np.array([1.0, 12.0, 0.0])
    scene.add_plane(friction=0.5)
    rods = [
        scene.add_box(
            size=(0.05, 0.05, 1.0), mass=1.0, position=(0, 0, z), spin=spin, velocity=np.cross(spin, (0, 0, z - 4))
        )
        for z in (3.5, 2.5)
    ]
    joints = scene.add_ball(rods[0], position=(0, 0, 4)), scene.add_ball(rods[1], rods[0], position=(0, 0, 3))
    if beside:
        scene.add_sphere(0.1, mass=1.0, position=(9, 0, 0.1))
    return scene, rods, joints


@EVERY
def test_joints_bear_the_same_whether_a_step_was_looked_at_from_its_end_or_not(name):
    """Only where something touches is a step tried before it is made; what goes on from that ends on the same bits."""
    runs = []
    for beside in (False, True):
        scene, rods, joints = whirling(beside)
        run = ss.simulate(scene, 0.2, 2e-3, law(name))
        assert run.contact_count[-1] == beside
        runs.append((run, rods, joints))
    (alone, rods, joints), (tried, *_) = runs
    for rod in rods:
        assert (tried.position(rod) == alone.position(rod)).all()
        assert (tried.velocity(rod) == alone.velocity(rod)).all()
    for joint in joints:
        assert (tried.joint(joint).impulse == alone.joint(joint).impulse).all()
