"""A capsule held against a wall by a finger: it does not creep, and falls when the finger is too weak."""

from dataclasses import replace

import numpy as np
import pytest
from laws import EVERY, G, but, displacement, over, simulate

import stickslip as ss

MU, MASS = 0.5, 1.0
SPRINGS = ss.Relaxation(stiffness=1e8, damping=1e6)


def gripped(margin, guided):
    """The finger presses so that friction can hold `margin` times the weight of the capsule.

    It stands on a floor without friction, or slides along a guide.
    """
    scene = ss.Scene()
    wall = scene.add_plane(normal=(1.0, 0.0, 0.0), name="wall")
    capsule = scene.add_capsule(0.1, 0.4, mass=MASS, position=(0.1, 0, 0.8), orientation=((1, 0, 0), np.pi / 2))
    finger = scene.add_box(size=(0.4, 1.0, 1.6), mass=2.0, position=(0.4, 0, 0.8))
    for other in (wall, finger):
        scene.set_pair(capsule, other, friction=MU)
    if guided:
        scene.add_slider(finger, position=(0.4, 0, 0.8), axis=(1.0, 0.0, 0.0))
    else:
        floor = scene.add_plane(name="floor")
        scene.set_pair(floor, finger, friction=0.0)
    scene.apply(finger, force=(-margin * MASS * G / (2 * MU), 0.0, 0.0))
    return scene, capsule


@EVERY
def test_a_firm_grip_does_not_creep(friction):
    scene, capsule = gripped(20.0, guided=False)
    run = simulate(scene, 10.0, 0.05, friction)
    assert np.linalg.norm(run.position(capsule) - run.position(capsule)[0], axis=1).max() < 1e-10


@EVERY
def test_nor_does_it_where_a_joint_guides_the_finger(friction):
    """Springs share the load. Rigid contacts need not: a finger that cannot turn may press on one end of the capsule
    alone, so that it swings down, which solves the problem of a step as well as the grip does."""
    scene, capsule = gripped(20.0, guided=True)
    run = simulate(scene, 0.2, 0.01, replace(friction, stabilisation=SPRINGS))
    assert np.abs(run.position(capsule)[:, 1:] - run.position(capsule)[0, 1:]).max() < 1e-10


@over(but(ss.CompliantCone))  # slides with u_n = μ |u_t|, so it opens the grip
@pytest.mark.parametrize("guided", [False, True], ids=["floor", "guide"])
def test_a_weak_grip_lets_it_slide(friction, guided):
    """Nine tenths of the weight are held, so it falls with g/10 once the springs are pressed."""
    t, h = 0.1, 0.01
    scene, capsule = gripped(0.9, guided)
    moved = displacement(simulate(scene, t, h, replace(friction, stabilisation=SPRINGS)), capsule)
    np.testing.assert_allclose(moved, [0.0, 0.0, -0.1 * G * t * (t + h) / 2], atol=1e-5)


@pytest.mark.parametrize("h", [4e-3, 2e-3])
def test_what_a_shaken_hand_holds_moves_with_its_fingers(h):
    """A hand moved as prescribed, 5 Hz and up to 1 g; two fingers slide on it and press twenty times as hard as needed.
    Nothing slips, so nothing may move against the fingers, in any step."""
    scene, rate, most = ss.Scene(), 2 * np.pi * 5.0, G / (2 * np.pi * 5.0)

    def velocity(time):
        return 0.0, 0.5 * most * np.sin(rate * time), most * np.sin(rate * time)

    hand = scene.add_box((0.3, 0.1, 0.05), moving=True, position=(0, 0, 0.3), velocity=velocity)
    box = scene.add_box(0.1, mass=0.5, position=(0, 0, 0.15), friction=0.8)
    fingers = []
    for side in (-1, 1):
        finger = scene.add_box((0.02, 0.06, 0.15), mass=0.3, position=(side * 0.06, 0, 0.15), friction=0.8)
        force = 20 * 0.5 * G / (2 * 0.8)
        scene.add_slider(finger, hand, position=(side * 0.06, 0, 0.15), axis=(-side, 0, 0), effort=force)
        fingers.append(finger)
    run = ss.simulate(scene, 0.4, h)
    held = run.position(box) - sum(run.position(finger) for finger in fingers) / 2
    assert np.abs(held - held[0]).max() < 1e-6


@pytest.mark.parametrize("mu", [0.5, 5.0])
@pytest.mark.parametrize("kind", ["ball", "box", "jointed"])
def test_overlaps_that_no_impulse_takes_back_are_let_be(kind, mu):
    """What stands on the floor of a slot that is 1e-7 m too narrow: the walls cannot both be left. It rests, carried by
    no more than its weight, and every step is marked: impulses without bound would make any residual small."""
    depth, h = 1e-7, 5e-3
    scene = ss.Scene()
    for normal, offset in (((0, 0, 1), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), depth - 0.2)):
        scene.add_plane(normal, offset, friction=mu)
    x, z = 0.1 - depth / 2, 0.1 - depth
    if kind == "box":
        bodies = [scene.add_box(0.2, mass=MASS, position=(x, 0, z))]
    else:
        bodies = [scene.add_sphere(0.1, mass=MASS, position=(x, 0.3 * k, z)) for k in range(1 + (kind == "jointed"))]
    if kind == "jointed":
        scene.add_hinge(*bodies, position=(x, 0.15, z), axis=(1, 0, 0))
    with pytest.warns(ss.InexactWarning):
        run = ss.simulate(scene, 0.2, h)
    assert len(run.inexact) == len(run) == 40
    weight = len(bodies) * MASS * G * h
    assert max(np.abs(run.contacts(step=k).impulse).max() for k in range(len(run))) <= weight
    assert max(np.abs(run.velocity(body)).max() for body in bodies) < 1e-9
