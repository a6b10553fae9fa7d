"""Ten boxes on top of each other stand still."""

import numpy as np
import pytest
from laws import EVERY, simulate

import stickslip as ss

RATIOS = pytest.mark.parametrize("ratio", [1.0, 2.0], ids=["equal", "each twice as heavy as the one below"])


def stack(ratio):
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    boxes = [scene.add_box(size=1.0, mass=ratio**i, position=(0, 0, 0.5 + i), friction=0.5) for i in range(10)]
    return scene, boxes


def drift(run, boxes):
    return max(np.linalg.norm(run.position(box) - run.position(box)[0], axis=1).max() for box in boxes)


@RATIOS
def test_they_stand_for_ten_seconds(ratio):
    scene, boxes = stack(ratio)
    assert drift(ss.simulate(scene, 10.0, 0.01), boxes) < 1e-6


@RATIOS
@EVERY
def test_they_stand_under_every_formulation(friction, ratio):
    scene, boxes = stack(ratio)
    run = ss.simulate(scene, 0.1, 0.01, friction=friction, solver="auto", tol=1e-8)
    assert drift(run, boxes) < 1e-6


@RATIOS
def test_each_contact_carries_what_is_above(ratio):
    h = 0.01
    scene, boxes = stack(ratio)
    run = simulate(scene, 0.05, h, ss.Coulomb())
    masses = ratio ** np.arange(10)
    for i, box in enumerate(boxes):
        contacts = run.contacts(step=-1, body=box)
        below = contacts.body_b < box.index
        load = contacts.impulse[below, 0].sum()
        np.testing.assert_allclose(load, masses[i:].sum() * 9.81 * h, rtol=1e-8)
