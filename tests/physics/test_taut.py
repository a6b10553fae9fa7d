"""Joints that cannot be held are not lost silently."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import stickslip as ss

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


def test_a_taut_chain_says_which_joint_it_lost():
    """Twenty planks in a straight line have no way to sag and carry nothing across: the joints come apart, and the run
    says so, with the joint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InexactWarning)
        run = ss.simulate(bridge(20, 0.0), 0.2, 2e-3)
    lost = np.flatnonzero(run.status != ss.Status.SOLVED)
    assert lost.size > 0
    assert (run.worst[lost] <= -2).any()
    assert "at the joint 'hinge" in run.accuracy


@pytest.mark.parametrize("planks", [2, 4])
def test_a_chain_that_sags_keeps_its_joints(planks):
    run = ss.simulate(bridge(planks, 1e-2), 0.2, 2e-3)
    assert (run.status == ss.Status.SOLVED).all()
    assert (run.worst > -2).all()
