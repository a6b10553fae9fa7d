"""Rims, balls and rods that roll: no energy comes from the place of a contact, whatever the step."""

import math

import numpy as np
import pytest
from laws import G

import stickslip as ss

RADIUS, THICK = 0.0375, 0.006


def euler_disk(tilt, plane_first=True):
    """A disc that rolls on a circle of radius zero turns about the radius to its contact, with the precession
    Ω² = 4 g / (R sin(tilt)) where it is thin: it stands as high for ever."""
    scene = ss.Scene()
    if plane_first:
        scene.add_plane(friction=0.5)
    precession = math.sqrt(4 * G / (RADIUS * math.sin(tilt)))
    axis = np.array([math.sin(tilt), 0, math.cos(tilt)])
    scene.add_cylinder(
        RADIUS,
        THICK,
        density=8000.0,
        position=(0, 0, RADIUS * math.sin(tilt) + 0.5 * THICK * math.cos(tilt)),
        orientation=((0, 1, 0), tilt),
        spin=tuple(precession * (np.array([0, 0, 1.0]) - math.cos(tilt) * axis)),
    )
    if not plane_first:
        scene.add_plane(friction=0.5)
    return scene


@pytest.mark.parametrize("tilt", [0.3, 0.5])
def test_an_euler_disk_keeps_its_energy(tilt):
    """The first tenth of a second, in which the thick disc slips a little, is left out. What energy changes by in a
    step, and how far the rim is from the plane, fall at least with the square of the step."""
    changes, overlaps = [], []
    for h in (1e-3, 5e-4):
        run = ss.simulate(euler_disk(tilt), 0.5, h)
        energy, start = run.energy / run.energy[0], round(0.1 / h)
        assert energy.max() <= 1 + 1e-9
        assert energy[start:].max() - energy[start] < 1e-4 * (h / 1e-3) ** 2
        assert energy[-1] > 0.98
        changes.append(np.abs(np.diff(energy[start:])).max())
        overlaps.append(-min(run.contacts(step=k).gap.min() for k in range(start, len(run))))
    assert changes[1] < changes[0] / 3
    assert overlaps[1] < overlaps[0] / 3
    assert overlaps[0] < 1e-4 * RADIUS


@pytest.mark.parametrize("plane_first", [True, False])
def test_a_rim_that_rolls_is_said_to_stick(plane_first):
    touching = ss.simulate(euler_disk(0.5, plane_first), 0.3, 1e-3).contacts(step=299)
    carries = touching.impulse[:, 0] > 0
    assert carries.sum() == 1
    np.testing.assert_allclose(touching.velocity[carries, 1:], 0, atol=1e-12)
    assert (touching.state[carries] == ss.State.STICK).all()


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
