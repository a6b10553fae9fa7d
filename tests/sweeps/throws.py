"""Functions that the tests of sweeps run, at the top level of a module, so that other processes find them."""

import math
import os
import time

import numpy as np

import stickslip as ss

GRAVITY = 9.81


def throw(speed, angle):
    """How far, and how long, on flat ground."""
    return {"reach": speed**2 * math.sin(2 * angle) / GRAVITY, "time": 2 * speed * math.sin(angle) / GRAVITY}


def noisy(speed, rng):
    """A number that depends on the seed and the number of the run."""
    return speed * rng.standard_normal(), rng.integers(1000)


def slide(friction, speed, rng):
    """A box on rough ground, pushed at a random place: where it ends, bit by bit."""
    scene = ss.Scene()
    scene.add_plane(friction=friction)
    spin = rng.uniform(-3.0, 3.0)
    box = scene.add_box(size=(0.4, 0.3, 0.2), mass=2.0, position=(0, 0, 0.1), velocity=(speed, 0, 0), spin=(0, 0, spin))
    run = ss.simulate(scene, duration=0.1, dt=5e-3)
    return {"end": run.position(box)[-1], "spin": run.spin(box)[-1, 2], "residual": run.residual.max()}


def slowly(number):
    """Takes a while, so that a sweep can be stopped in between."""
    time.sleep(0.004)
    return {"square": number**2, "name": f"run {number}"}


def sometimes(number):
    if number % 7 == 3:
        raise ZeroDivisionError(f"there is nothing in {number}")
    return float(number)


def deadly(number):
    """Ends its process once in a while."""
    if number == 5:
        os._exit(3)
    return float(number)


def same(a, b):
    """The same bits in every column."""
    assert a.parameters == b.parameters
    assert a.measured == b.measured
    for name in (*a.parameters, *a.measured):
        np.testing.assert_array_equal(a[name], b[name])
    np.testing.assert_array_equal(a.done, b.done)
