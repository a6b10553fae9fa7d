"""Scenes of scenes.py: heaps, poured, dropped and shot at."""

from __future__ import annotations

import math

import numpy as np
from scene_course import Case, Check, Course, at_most, at_rest, inside, lattice, open_box, turned

import stickslip as ss
from stickslip.scene.shapes import Box, Capsule, Sphere


def balls(count: int, seed: int, dt: float, steps: int, side: float, friction: float = 0.5) -> Case:
    """Balls of 0.1 m ± 10 %, poured into a box."""
    rng, scene = np.random.default_rng(seed), ss.Scene()
    open_box(scene, side, friction)
    across = int(side / 0.115)
    for place in lattice(count, across, side, 0.113, rng, 1e-3):
        radius = 0.05 * (1 + 0.1 * rng.uniform(-1, 1))
        scene.add_sphere(radius, density=1000.0, position=tuple(place), friction=friction)
    name = f"balls-{count}" + (f"-seed-{seed}" if seed else "") + ("" if friction == 0.5 else f"-mu-{friction:g}")

    def checks(course: Course) -> list[Check]:
        return [inside(course, side, 0.0), at_rest(course, 0.05)]

    return Case(name, "heap", scene, dt, steps, checks)


def boxes(count: int, dt: float, steps: int, side: float, friction: float = 0.5) -> Case:
    """Boxes of three sizes, dropped at any angle."""
    rng, scene = np.random.default_rng(1), ss.Scene()
    open_box(scene, side, friction)
    for place in lattice(count, round(side / 0.22), side, 0.22, rng, 5e-3, (0, 0, 0.1)):
        size = rng.choice([0.08, 0.1, 0.12], 3)
        scene.add_box(tuple(size), density=500.0, position=tuple(place), orientation=turned(rng), friction=friction)
    name = f"boxes-{count}" + (f"-{1e3 * dt:g}ms" if dt != 5e-3 else "") + (f"-mu-{friction:g}" if friction > 1 else "")

    def checks(course: Course) -> list[Check]:
        return [inside(course, side, 0.0), at_rest(course, 0.05)]

    return Case(name, "heap", scene, dt, steps, checks)


def mixed(count: int = 200) -> Case:
    """Balls, boxes, capsules and cylinders."""
    rng, scene, side = np.random.default_rng(2), ss.Scene(), 1.0
    open_box(scene, side)
    for k, place in enumerate(lattice(count, 6, side, 0.17, rng, 5e-3)):
        said = {"density": 800.0, "position": tuple(place), "orientation": turned(rng)}
        match k % 4:
            case 0:
                scene.add_sphere(0.05, **said)
            case 1:
                scene.add_box((0.1, 0.08, 0.06), **said)
            case 2:
                scene.add_capsule(0.03, 0.08, **said)
            case _:
                scene.add_cylinder(0.04, 0.08, **said)

    def checks(course: Course) -> list[Check]:
        return [inside(course, side, 0.0), at_rest(course, 0.05)]

    return Case(f"mixed-{count}", "heap", scene, 5e-3, 400, checks)


def capsules(count: int = 100) -> Case:
    rng, scene, side = np.random.default_rng(3), ss.Scene(), 0.9
    open_box(scene, side)
    for place in lattice(count, 4, side, 0.22, rng, 5e-3):
        scene.add_capsule(0.03, 0.12, density=800.0, position=tuple(place), orientation=turned(rng), friction=0.5)

    def checks(course: Course) -> list[Check]:
        return [inside(course, side, 0.0), at_rest(course, 0.05)]

    return Case(f"capsules-{count}", "heap", scene, 5e-3, 400, checks)


def compounds(count: int = 60) -> Case:
    """Dumbbells, angles and crosses."""
    rng, scene, side = np.random.default_rng(4), ss.Scene(), 0.9
    open_box(scene, side)
    kinds = (
        [Sphere(0.05, (0, 0, -0.07)), Sphere(0.05, (0, 0, 0.07)), Capsule(0.02, 0.14)],
        [Box((0.16, 0.04, 0.04)), Box((0.04, 0.04, 0.12), (0.06, 0, 0.08))],
        [Box((0.18, 0.03, 0.03)), Box((0.03, 0.18, 0.03)), Box((0.03, 0.03, 0.18))],
    )
    for k, place in enumerate(lattice(count, 3, side, 0.26, rng, 5e-3)):
        scene.add_body(kinds[k % 3], density=800.0, position=tuple(place), orientation=turned(rng))

    def checks(course: Course) -> list[Check]:
        return [inside(course, side, 0.0), at_rest(course, 0.05)]

    return Case(f"compounds-{count}", "heap", scene, 5e-3, 400, checks)


def cards(count: int = 30) -> Case:
    """Cards of 0.6 mm, thrown one above the other."""
    rng, scene, side = np.random.default_rng(5), ss.Scene(), 0.2
    open_box(scene, side, 0.3)
    for k in range(count):
        tilt = (tuple(rng.normal(size=3)), float(rng.uniform(0, 0.2)))
        x, y = 0.1 + rng.uniform(-0.01, 0.01, 2)
        scene.add_box(
            (0.088, 0.063, 6e-4), mass=1.8e-3, position=(x, y, 0.02 + 0.02 * k), orientation=tilt, friction=0.3
        )

    def checks(course: Course) -> list[Check]:
        return [inside(course, side, 0.0), at_rest(course, 0.05)]

    return Case(f"cards-{count}", "thin", scene, 2e-3, 500, checks)


def logs(rows: int = 6) -> Case:
    """Cylinders of 2 m in a stack of 21, the lowest layer between two stakes."""
    scene = ss.Scene()
    scene.add_plane(friction=0.6)
    radius, length = 0.15, 2.0
    for row in range(rows):
        for k in range(rows - row):
            x = (2 * k + row - (rows - 1)) * radius
            scene.add_cylinder(
                radius,
                length,
                density=600.0,
                position=(x, 0, radius + row * math.sqrt(3) * radius),
                orientation=((1, 0, 0), math.pi / 2),
                friction=0.6,
            )
    for side in (-1, 1):
        x = side * (rows * radius + 0.05)
        scene.add_box((0.1, 2.0, 1.0), static=True, position=(x, 0, 0.5), friction=0.6)

    def checks(course: Course) -> list[Check]:
        return [at_rest(course, 0.02), at_most("moved m", max(course.moved(b) for b in range(1, 22)), 0.02)]

    return Case("logs", "heap", scene, 5e-3, 300, checks)


def shot_at() -> Case:
    """A heap of 40 boxes on the floor, hit by a steel ball of 100 m/s."""
    rng, scene = np.random.default_rng(6), ss.Scene()
    scene.add_plane(friction=0.5)
    for level in range(4):
        for i in range(5 - level):
            for j in range(5 - level):
                x, y = (i - 2 + 0.5 * level) * 0.105, (j - 2 + 0.5 * level) * 0.105
                turn = ((0, 0, 1), float(rng.uniform(-0.02, 0.02)))
                scene.add_box(0.1, mass=0.5, position=(x, y, 0.05 + 0.1 * level), orientation=turn, friction=0.5)
    scene.add_sphere(0.03, mass=0.9, position=(-1.0, 0.01, 0.17), velocity=(100, 0, 0), friction=0.5)
    return Case("heap-shot", "fast", scene, 2e-3, 400)


HEAPS = (
    lambda: balls(200, 0, 5e-3, 400, 0.6),
    lambda: balls(200, 1, 5e-3, 400, 0.6),
    lambda: balls(200, 2, 2e-3, 800, 0.6),
    lambda: balls(200, 0, 5e-3, 400, 0.6, friction=5.0),
    lambda: balls(1000, 0, 2e-3, 1000, 1.0),
    lambda: boxes(50, 5e-3, 400, 0.66),
    lambda: boxes(50, 1e-2, 200, 0.66),
    lambda: boxes(300, 5e-3, 500, 1.1),  # after 400 one is still falling from the top of the heap, in a start of four
    lambda: boxes(50, 5e-3, 800, 0.66, friction=5.0),  # they hold each other up, and fall one by one
    mixed,
    capsules,
    compounds,
    cards,
    logs,
    shot_at,
)
LARGE = (lambda: balls(5000, 0, 2e-3, 1000, 1.7),)
