"""Balls that roll on balls: no energy comes from the place of a contact, whatever the step."""

import math

import numpy as np
import pytest

import stickslip as ss


@pytest.mark.parametrize("h", [4e-3, 2e-3, 1e-3])
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "free"])
def test_a_ball_that_rolls_off_a_ball_gains_nothing(h, fixed):
    scene = ss.Scene()
    scene.add_plane(friction=0.8)
    scene.add_sphere(0.5, mass=10.0, position=(0, 0, 0.5), static=fixed, friction=0.8)
    scene.add_sphere(0.1, mass=0.1, position=(0.6 * math.sin(0.1), 0, 0.5 + 0.6 * math.cos(0.1)), friction=0.8)
    energy = ss.simulate(scene, 0.8, h).energy
    assert np.diff(energy).max() <= 1e-12 * energy[0]
    assert energy[-1] > 0.998 * energy[0]
