"""Bodies and joints at random, as arrays of a model, and mechanisms as scenes."""

from __future__ import annotations

import math

import numpy as np

import stickslip as ss


def tree_scene(parents, rng, kinds=("add_ball", "add_hinge", "add_fixed", "add_slider"), loops=(), gravity=(0, 0, 0)):
    """Bodies with the parents given, -1 for the world and None for none, on joints of random kinds, places and axes."""
    scene = ss.Scene(gravity=gravity)
    bodies, positions = [], []
    for _ in parents:
        position = rng.normal(size=3)
        inertia = tuple(rng.uniform(0.5, 0.9, 3))
        turned = rng.normal(size=4)
        settings = {"mass": rng.uniform(0.5, 3.0), "orientation": tuple(turned / np.linalg.norm(turned))}
        bodies.append(scene.add_body(inertia=inertia, position=tuple(position), **settings))
        positions.append(position)
    pairs = [(i, parent) for i, parent in enumerate(parents) if parent is not None]
    for i, parent in (*pairs, *loops):
        kind = kinds[int(rng.integers(len(kinds)))]
        place = {"position": tuple(positions[i] + 0.3 * rng.normal(size=3))}
        if kind in ("add_hinge", "add_slider"):
            place["axis"] = tuple(rng.normal(size=3))
        getattr(scene, kind)(bodies[i], None if parent < 0 else bodies[parent], **place)
    return scene


def hanging_chain(count, gravity=(0, 0, -9.81), free=False, angle=1.0, length=0.5):
    """Rods on ball joints, straight, at an angle to the vertical; from the world unless free."""
    scene = ss.Scene(gravity=gravity)
    along = np.array([math.sin(angle), 0.0, -math.cos(angle)])
    before = None
    for i in range(count):
        inertia = (length**2 / 12, length**2 / 12, 1e-3)
        turn = {"orientation": ((0, 1, 0), -angle)}
        rod = scene.add_body(mass=1.0, inertia=inertia, position=tuple((i + 0.5) * length * along), **turn)
        if before is not None or not free:
            scene.add_ball(rod, before, position=tuple(i * length * along))
        before = rod
    return scene


def four_bar(gravity=(0, 0, -9.81)):
    """Three bars on four hinges about y, a parallelogram: one way to move, and three rows too many."""
    scene = ss.Scene(gravity=gravity)
    bar = {"mass": 1.0, "inertia": (0.02, 0.02, 0.02)}
    left = scene.add_body(position=(0.0, 0, 0.25), **bar)
    right = scene.add_body(position=(1.0, 0, 0.25), **bar)
    top = scene.add_body(mass=2.0, inertia=(0.2, 0.2, 0.2), position=(0.5, 0, 0.5))
    for body, other, place in (
        (left, None, (0, 0, 0)), (right, None, (1, 0, 0)), (top, left, (0, 0, 0.5)), (top, right, (1, 0, 0.5)),
    ):  # fmt: skip
        scene.add_hinge(body, other, position=place, axis=(0, 1, 0))
    return scene
