"""Scenes of scenes.py: towers, walls, masonry and what stands in rows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scene_course import Case, Check, Course, at_least, at_most, at_rest

import stickslip as ss
from stickslip.scene.shapes import Box


def stays(course: Course, most: float, speed: float = 1e-3) -> list[Check]:
    """Nothing has moved."""
    free = np.flatnonzero(course.free)
    return [at_most("moved m", max(course.moved(int(b)) for b in free), most), at_rest(course, speed)]


def tower(count: int, heavier: float = 1.0) -> Case:
    """Cubes of 0.5 m, each `heavier` times the one below."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for k in range(count):
        scene.add_box(0.5, mass=heavier**k, position=(0, 0, 0.25 + 0.5 * k), friction=0.5)
    name = f"tower-{count}" + ("-doubling" if heavier > 1 else "")
    return Case(name, "tower", scene, 5e-3, 400, lambda course: stays(course, 1e-3))


def brick_wall(hit: bool) -> Case:
    """Eight courses of bricks in running bond, the ends halved; a ball of 20 kg comes at 10 m/s."""
    scene = ss.Scene()
    scene.add_plane(friction=0.6)
    length, depth, height, wide = 0.2, 0.1, 0.06, 6
    for row in range(8):
        starts = [0.0] if row % 2 == 0 else [0.0, 0.5]
        edges = starts + [starts[-1] + 1 + k for k in range(wide - (row % 2))] + ([wide] if row % 2 else [])
        for left, right in pairwise(edges):
            size = ((right - left) * length, depth, height)
            x = (0.5 * (left + right) - 0.5 * wide) * length
            scene.add_box(size, density=1800.0, position=(x, 0, (row + 0.5) * height), friction=0.6)
    if not hit:
        return Case("wall", "tower", scene, 5e-3, 200, lambda course: stays(course, 1e-3))
    scene.add_sphere(0.1, mass=20.0, position=(0.03, -1.0, 0.3), velocity=(0, 10, 0), friction=0.6)
    return Case("wall-hit", "tower", scene, 5e-3, 200)


def dominoes(count: int = 30, planar: bool = False) -> Case:
    """The first is pushed over; all fall, and the wave is as fast as it should be (0.5 to 2 m/s at this size)."""
    scene = ss.Scene(planar=planar)
    scene.add_plane((0, 1) if planar else (0, 0, 1), friction=0.4)
    height, thick, gap = 0.05, 0.008, 0.025
    for k in range(count):
        said = {"mass": 0.01, "friction": 0.4}
        if planar:
            spin = 10.0 if k == 0 else 0.0
            scene.add_box((thick, height), position=(gap * k, height / 2), spin=spin, **said)
        else:
            spin = (0, 10.0 if k == 0 else 0.0, 0)
            scene.add_box((thick, 0.025, height), position=(gap * k, 0, height / 2), spin=spin, **said)

    def checks(course: Course) -> list[Check]:
        fallen = course.position[-1, 1:, 2] < 0.7 * height / 2
        last = course.position[:, -1, 2] < 0.9 * height / 2
        when = course.time[last.argmax()] if last.any() else math.inf
        return [at_least("fallen", fallen.sum(), count), at_least("wave m/s", gap * count / when, 0.3)]

    return Case("dominoes" + ("-planar" if planar else ""), "planar" if planar else "tower", scene, 2e-3, 1000, checks)


def jenga() -> Case:
    """18 layers of three; a side block of the sixth is pulled out by 3 N and the tower stands."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    length, width, height = 0.075, 0.025, 0.015
    pulled = None
    for layer in range(18):
        for k in (-1, 0, 1):
            size = (length, width, height) if layer % 2 else (width, length, height)
            off = (0, k * width) if layer % 2 else (k * width, 0)
            block = scene.add_box(size, mass=0.014, position=(*off, (layer + 0.5) * height), friction=0.4)
            if layer == 5 and k == 1:
                pulled = block
    assert pulled is not None
    scene.apply(pulled, force=(3.0, 0, 0))

    def checks(course: Course) -> list[Check]:
        others = [int(b) for b in np.flatnonzero(course.free) if b != pulled.index]
        rest = course.position[-1, others] - course.position[0, others]
        return [
            at_least("pulled m", course.moved(pulled), 0.2),
            at_most("others moved m", np.linalg.norm(rest, axis=1).max(), 0.02),
        ]

    return Case("jenga", "tower", scene, 2e-3, 400, checks, gain=None)


def card_house(levels: int = 3) -> Case:
    """Cards of 1 mm lean on each other in pairs, with a long card between the levels."""
    scene = ss.Scene()
    scene.add_plane(friction=0.6)
    length, depth, thick, lean = 0.088, 0.063, 1e-3, math.radians(20)
    rise = thick * math.sin(lean) + length * math.cos(lean)
    half = 0.5 * (thick * math.cos(lean) + length * math.sin(lean))
    step = 4 * half + 2e-3
    floor = 0.0
    for level in range(levels):
        pairs = levels - level
        middles = [(k - 0.5 * (pairs - 1)) * step for k in range(pairs)]
        for x in middles:
            for side in (-1, 1):
                scene.add_box(
                    (thick, depth, length), mass=2e-3, position=(x + side * half, 0, floor + 0.5 * rise),
                    orientation=((0, 1, 0), -side * lean), friction=0.6,
                )  # fmt: skip
        floor += rise
        if pairs > 1:
            across = ((pairs - 1) * step + 0.02, depth, thick)
            scene.add_box(across, mass=2e-3 * pairs, position=(0, 0, floor + 0.5 * thick), friction=0.6)
        floor += thick
    return Case("card-house", "thin", scene, 2e-3, 500, lambda course: stays(course, 2e-3, 1e-2))


def arch(stones: int = 11, planar: bool = False) -> Case:
    """Half a circle of stones, each of two slabs whose outer faces are its joints."""
    scene = ss.Scene(planar=planar)
    scene.add_plane((0, 1) if planar else (0, 0, 1), friction=0.7)
    inner, outer, depth = 1.0, 1.35, 0.5
    angle = math.pi / stones
    slab, middle = 0.5 * inner * angle, 0.5 * (inner + outer)
    for k in range(stones):
        shapes = []
        for joint, into in ((k * angle, 1), ((k + 1) * angle, -1)):
            x = middle * math.cos(joint) - into * 0.5 * slab * math.sin(joint)
            z = middle * math.sin(joint) + into * 0.5 * slab * math.cos(joint)
            if planar:
                shapes.append(Box((outer - inner, slab), (x, z), -joint))
            else:
                shapes.append(Box((outer - inner, depth, slab), (x, 0, z), ((0, 1, 0), -joint)))
        scene.add_body(shapes, density=2000.0, friction=0.7)
    name = "arch" + ("-planar" if planar else "")
    return Case(name, "planar" if planar else "tower", scene, 5e-3, 400, lambda course: stays(course, 1e-3))


def planar_heap(count: int = 100) -> Case:
    """Discs and rectangles in a box of three lines."""
    rng, scene = np.random.default_rng(7), ss.Scene(planar=True)
    for normal, offset in (((0, 1), 0.0), ((1, 0), 0.0), ((-1, 0), -1.5)):
        scene.add_plane(normal, offset, friction=0.5)
    for k in range(count):
        x, z = 0.1 + 0.145 * (k % 10) + rng.uniform(-0.01, 0.01), 0.1 + 0.15 * (k // 10)
        if k % 2:
            scene.add_sphere(0.05, density=100.0, position=(x, z))
        else:
            scene.add_box((0.1, 0.07), density=100.0, position=(x, z), orientation=float(rng.uniform(0, 3)))
    return Case("heap-planar", "planar", scene, 5e-3, 400, lambda course: [at_rest(course, 0.05)])


TOWERS = (
    lambda: tower(10),
    lambda: tower(30),
    lambda: tower(10, 2.0),
    lambda: brick_wall(False),
    lambda: brick_wall(True),
    dominoes,
    lambda: dominoes(planar=True),
    jenga,
    card_house,
    arch,
    lambda: arch(planar=True),
    planar_heap,
)
