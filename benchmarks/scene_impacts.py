"""Scenes of scenes.py: what is fast, what bounces, what spins, what starts in the wrong place, and other units."""

from __future__ import annotations

import math

import numpy as np
from engine_scenes import REST_OF_THE_CUBE
from scene_course import Case, Check, Course, at_least, at_most, at_rest, inside, lattice, near, open_box, turned

import stickslip as ss
from stickslip.scene.shapes import Cylinder, Sphere

# fast


def bullet_on_wall(speed: float = 300.0) -> Case:
    """A ball of 20 mm against a wall of 0.1 m."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box((0.1, 2, 2), static=True, position=(1.0, 0, 1.0), friction=0.5)
    bullet = scene.add_sphere(0.01, mass=0.03, position=(0, 0.0123, 1.0), velocity=(speed, 0, 0), friction=0.5)

    def checks(course: Course) -> list[Check]:
        return [at_most("came as far as m", course.position[:, bullet.index, 0].max(), 0.9401)]

    return Case("bullet-wall", "fast", scene, 1e-3, 500, checks)


def bullet_on_plate(speed: float = 300.0) -> Case:
    """A free plate of 10 mm that stands on the floor; what both have of momentum is what the bullet had."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    plate = scene.add_box((0.01, 0.5, 0.5), mass=20.0, position=(1.0, 0, 0.25), friction=0.3)
    bullet = scene.add_sphere(0.01, mass=0.03, position=(0, 0.02, 0.3), velocity=(speed, 0, 0), friction=0.3)

    def checks(course: Course) -> list[Check]:
        after = course.frame(0.01)
        momentum = 20.0 * course.velocity[after, plate.index, 0] + 0.03 * course.velocity[after, bullet.index, 0]
        behind = course.position[:, bullet.index, 0] - course.position[:, plate.index, 0]
        return [near("momentum kg m/s", momentum, 0.03 * speed, 0.9), at_most("passed through m", behind.max(), 0.0)]

    return Case("bullet-plate", "fast", scene, 1e-3, 1000, checks)


def bowling() -> Case:
    """Ten pins, a ball of 7 kg and 8 m/s."""
    scene = ss.Scene()
    scene.add_plane(friction=0.2)
    for row in range(4):
        for k in range(row + 1):
            x, y = row * 0.264, (k - 0.5 * row) * 0.305
            scene.add_cylinder(0.055, 0.38, mass=1.5, position=(x, y, 0.19), friction=0.2)
    ball = scene.add_sphere(0.108, mass=7.0, position=(-1.0, 0.04, 0.108), velocity=(8, 0, 0), friction=0.2)

    def checks(course: Course) -> list[Check]:
        down = np.abs(course.quaternion[-1, 1:11, 0] ** 2 + course.quaternion[-1, 1:11, 3] ** 2 - 1) > 0.2
        return [at_least("pins down", down.sum(), 4), at_least("ball went on m", course.moved(ball), 1.0)]

    return Case("bowling", "fast", scene, 5e-3, 300, checks)


def billiards() -> Case:
    """A break at 8 m/s, balls of e = 0.95 that touch each other, cushions of e = 0.8."""
    scene = ss.Scene()
    long, wide, radius = 2.54, 1.27, 0.0286
    scene.add_plane(friction=0.2)
    for normal, offset in (((1, 0, 0), 0.0), ((-1, 0, 0), -long), ((0, 1, 0), 0.0), ((0, -1, 0), -wide)):
        scene.add_plane(normal, offset, friction=0.2, restitution=0.8)
    balls = []
    for row in range(5):
        for k in range(row + 1):
            x, y = 1.9 + row * math.sqrt(3) * radius, wide / 2 + (2 * k - row) * radius
            balls.append(scene.add_sphere(radius, mass=0.17, position=(x, y, radius), friction=0.06))
    cue = scene.add_sphere(
        radius, mass=0.17, position=(0.6, wide / 2 + 0.001, radius), velocity=(8, 0, 0), friction=0.06
    )
    for i, a in enumerate([*balls, cue]):
        for b in balls[:i]:
            scene.set_pair(a, b, restitution=0.95)

    def checks(course: Course) -> list[Check]:
        return [
            at_most("left the table by m", course.depth.max(), 1e-3),
            at_least(
                "moved balls", (np.linalg.norm(course.position[-1] - course.position[0], axis=1) > 0.02).sum(), 10
            ),
        ]

    return Case("billiards", "impact", scene, 2e-3, 1000, checks)


def rattle(restitution: float) -> Case:
    """A ball in a closed box of planes, 10 m/s, no gravity."""
    scene = ss.Scene(gravity=(0, 0, 0))
    open_box(scene, 1.0, 0.0, restitution=restitution)
    scene.add_plane((0, 0, -1), -1.0, friction=0.0, restitution=restitution)
    ball = scene.add_sphere(0.05, mass=1.0, position=(0.5, 0.4, 0.3), velocity=(7, 5, 5.1), friction=0.0)

    def checks(course: Course) -> list[Check]:
        speed = np.linalg.norm(course.velocity[:, ball.index, :3], axis=1)
        bounced = (np.diff(np.sign(course.velocity[:, ball.index, :3]), axis=0) != 0).sum()
        slowest = math.sqrt(sum((v * restitution ** math.ceil(bounced / 3 + 2)) ** 2 for v in (7, 5, 5.1)))
        return [
            at_most("left the box by m", course.depth.max(), 1e-3),
            at_least("speed in the end m/s", speed[-1], slowest),
            at_least("bounces", bounced, 20),
        ]

    return Case(f"rattle-e-{restitution:g}", "impact", scene, 5e-3, 400, checks)


def squeezed() -> Case:
    """A box held by friction between two walls that press with 1000 N, and shaken by nothing but its weight."""
    scene = ss.Scene()
    box = scene.add_box(0.2, mass=10.0, position=(0, 0, 1.0), friction=0.5)
    for side in (-1, 1):
        wall = scene.add_box((0.1, 0.5, 0.5), mass=20.0, position=(side * 0.151, 0.02 * side, 1.0), friction=0.5)
        scene.add_slider(wall, position=(side * 0.151, 0, 1.0), axis=(-side, 0, 0), effort=1000.0)

    def checks(course: Course) -> list[Check]:
        return [at_most("creep m", course.moved(box, 0.2), 1e-4)]

    return Case("squeezed", "machine", scene, 5e-3, 400, checks, gain=None)


# impacts


def cradle(balls: int = 5) -> Case:
    """Newton's: the first ball is lifted by 0.5 rad, the last swings out as far."""
    scene = ss.Scene()
    length, radius, lift = 0.5, 0.03, 0.5
    hung = []
    for k in range(balls):
        x = 2 * radius * k
        angle = lift if k == 0 else 0.0
        place = (x - length * math.sin(angle), 0, -length * math.cos(angle))
        hung.append(scene.add_sphere(radius, mass=0.5, position=place, restitution=1.0, friction=0.0))
        scene.add_hinge(hung[-1], position=(x, 0, 0), axis=(0, 1, 0))

    def checks(course: Course) -> list[Check]:
        drop = length * (1 - math.cos(lift))
        rises = course.position[: course.frame(0.8)][:, [ball.index for ball in hung], 2].max(axis=0) + length
        lost = (course.energy[0] - course.energy[-1]) / (0.5 * 9.81 * drop)
        return [
            near("last ball rises, of the first's", rises[-1] / drop, 1.0, 0.05),
            at_most("others rise, of the first's", rises[1:-1].max() / drop, 0.05),
            at_most("energy lost", lost, 0.05),
        ]

    return Case("cradle", "impact", scene, 1e-3, 2000, checks)


def bounce(restitution: float) -> Case:
    """A ball falls 1 m; the tops of its bounces are e² of each other."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5, restitution=restitution)
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 1.1), friction=0.5)

    def checks(course: Course) -> list[Check]:
        z = course.position[:, ball.index, 2] - 0.1
        tops = [z[k] for k in range(1, len(z) - 1) if z[k - 1] < z[k] >= z[k + 1] and z[k] > 0.02][:4]
        off = max((abs(top / restitution ** (2 * (k + 1)) - 1) for k, top in enumerate(tops)), default=math.nan)
        return [at_most("tops off", off, 0.02), at_least("tops", len(tops), 3)]

    return Case(f"bounce-e-{restitution:g}", "impact", scene, 2e-3, 2000, checks)


def euler_disk() -> Case:
    """Rolls at a tilt of 0.5 rad, as fast as it should: Ω² = 4 g sin(α) / (r ...) of a thin disc, near enough."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    radius, thick, tilt = 0.0375, 0.006, 0.5
    z = radius * math.sin(tilt) + 0.5 * thick * math.cos(tilt)
    precession = math.sqrt(4 * 9.81 / (radius * math.sin(tilt)))
    # a disc that rolls on a circle of radius zero turns about the radius to its contact: Ω (z - cos(tilt) axis)
    axis = np.array([math.sin(tilt), 0, math.cos(tilt)])
    spin = precession * (np.array([0, 0, 1.0]) - math.cos(tilt) * axis)
    scene.add_cylinder(
        radius, thick, density=8000.0, position=(0, 0, z), orientation=((0, 1, 0), tilt), spin=tuple(spin), friction=0.5
    )

    def checks(course: Course) -> list[Check]:
        return [at_least("energy left after 0.5 s", course.energy[course.frame(0.5)] / course.energy[0], 0.8)]

    return Case("euler-disk", "impact", scene, 1e-3, 1500, checks)


def top() -> Case:
    """A spinning top on a round tip stands for two seconds."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    lean = 0.1
    shapes = [Sphere(0.003), Cylinder(0.03, 0.01, (0, 0, 0.03))]
    axis = np.array([math.sin(lean), 0, math.cos(lean)])
    body = scene.add_body(
        shapes, mass=0.1, position=(0, 0, 0.003), orientation=((0, 1, 0), lean), spin=tuple(200 * axis), friction=0.5
    )

    def checks(course: Course) -> list[Check]:
        _, x, y, _ = course.quaternion[:, body.index].T
        upright = 1 - 2 * (x * x + y * y)
        return [at_least("cosine of the lean", upright.min(), 0.9)]

    return Case("top", "impact", scene, 1e-3, 2000, checks)


# friction


def cube() -> Case:
    """The sliding, spinning cube of engine.py: where it stops under stiff springs is known."""
    scene = ss.Scene()
    scene.add_plane(friction=1.0)
    scene.add_box(1.0, mass=1.0, position=(0, 0, 0.5), velocity=(0, 5, 0), spin=(0, 0, 2 * math.pi), friction=1.0)

    def checks(course: Course) -> list[Check]:
        x, y, _ = REST_OF_THE_CUBE
        off = math.hypot(course.position[-1, 1, 0] - x, course.position[-1, 1, 1] - y)
        return [at_most("stops off by m", off, 0.02)]

    return Case("cube-slides", "friction", scene, 1e-3, 700, checks)


def tippe() -> Case:
    """A spinning cube on one corner, which falls over and slides; it comes to rest on a face."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    turn = ((1, -1, 0), math.atan(math.sqrt(2)))
    scene.add_box(
        0.1, mass=1.0, position=(0, 0, 0.05 * math.sqrt(3)), orientation=turn, velocity=(1, 0, 0), spin=(0, 0, 60),
        friction=0.3,
    )  # fmt: skip

    def checks(course: Course) -> list[Check]:
        return [at_rest(course, 1e-3), near("height m", course.position[-1, 1, 2], 0.05, 1e-4)]

    return Case("cube-on-corner", "friction", scene, 1e-3, 2000, checks)


def slope(tangent: float) -> Case:
    """A box on a slope of friction 0.5 rests below tan 0.5 and slides g (sin - mu cos) t²/2 above."""
    down = 9.81 / math.hypot(1, tangent)
    scene = ss.Scene(gravity=(down * tangent, 0, -down))
    scene.add_plane(friction=0.5)
    box = scene.add_box(0.3, mass=5.0, position=(0, 0, 0.15), friction=0.5)

    def checks(course: Course) -> list[Check]:
        time = course.time[-1]
        exact = max(0.0, 0.5 * down * (tangent - 0.5) * time**2)
        return [near("slid m", course.position[-1, box.index, 0], exact, max(1e-4, 0.01 * exact))]

    return Case(f"slope-{tangent:g}", "friction", scene, 5e-3, 400, checks)


def pushed_disc() -> Case:
    """A puck under a limit surface, pushed and spinning: it stops, and both motions stop together."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    disc = scene.add_cylinder(
        0.1, 0.02, mass=1.0, position=(0, 0, 0.01), velocity=(2, 0, 0), spin=(0, 0, 20), friction=0.3, patch=0.02
    )
    scene.apply(disc, force=(0.5, 0, 0))

    def checks(course: Course) -> list[Check]:
        return [at_rest(course, 1e-3), near("slid m", course.position[-1, disc.index, 0], 1.0, 0.6)]

    return Case("disc-limit-surface", "friction", scene, 5e-3, 400, checks, friction=ss.LimitSurface(), gain=None)


# starts


def inside_plane() -> Case:
    """A box that starts 50 mm in the floor comes up gently."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    box = scene.add_box(0.2, mass=1.0, position=(0, 0, 0.05), friction=0.5)

    def checks(course: Course) -> list[Check]:
        return [
            at_most("fastest m/s", course.speed.max(), 1.0),
            at_most("jumps to m", course.position[:, box.index, 2].max(), 0.11),
            at_most("overlap in the end", course.overlap(course.time[-1]), 0.01),
            at_rest(course, 1e-3),
        ]

    return Case("starts-in-plane", "start", scene, 5e-3, 400, checks, overlap=None, gain=None)


def coincident() -> Case:
    """Two boxes in one place, and two balls: they part gently."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for _ in range(2):
        scene.add_box(0.2, mass=1.0, position=(0, 0, 0.1), friction=0.5)
        scene.add_sphere(0.1, mass=1.0, position=(1, 0, 0.1), friction=0.5)

    def checks(course: Course) -> list[Check]:
        return [
            at_most("fastest m/s", course.speed.max(), 2.0),
            at_most("overlap in the end", course.overlap(course.time[-1]), 0.01),
        ]

    return Case("coincident", "start", scene, 5e-3, 400, checks, overlap=None, gain=None)


def crowded() -> Case:
    """Thirty balls that overlap by up to a third at the start."""
    rng, scene = np.random.default_rng(8), ss.Scene()
    open_box(scene, 0.6)
    for place in lattice(30, 4, 0.3, 0.075, rng, 5e-3, (0.15, 0.15, 0.02)):
        scene.add_sphere(0.05, mass=0.5, position=tuple(place), friction=0.5)

    def checks(course: Course) -> list[Check]:
        return [
            at_most("fastest m/s", course.speed.max(), 5.0),
            at_most("overlap in the end", course.overlap(course.time[-1]), 0.01),
            inside(course, 0.6, 0.0),
        ]

    return Case("starts-crowded", "start", scene, 5e-3, 400, checks, overlap=None, gain=None)


# units


def tiny() -> Case:
    """Grains of a millimetre and milligrams in a box of a centimetre, 0.1 ms."""
    rng, scene = np.random.default_rng(9), ss.Scene()
    open_box(scene, 0.01)
    for k, place in enumerate(lattice(60, 4, 0.01, 2e-3, rng, 5e-5)):
        said = {"density": 2500.0, "position": tuple(place), "orientation": turned(rng)}
        if k % 2:
            scene.add_box(1e-3, **said)
        else:
            scene.add_sphere(5e-4, **said)
    return Case("tiny", "units", scene, 2e-4, 1000, lambda course: [inside(course, 0.01, 0.0), at_rest(course, 5e-3)])


def huge() -> Case:
    """Blocks of 100 m and 1e6 kg and more, one on the other, and a ball that rolls into them."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for k in range(4):
        scene.add_box(100.0, mass=1e6 * (k + 1), position=(3.0 * k, 0, 50 + 100.0 * k), friction=0.5)
    scene.add_sphere(30.0, mass=1e7, position=(-300, 0, 30), velocity=(40, 0, 0), friction=0.5)
    return Case("huge", "units", scene, 2e-2, 1000)


IMPACTS = (
    bullet_on_wall,
    bullet_on_plate,
    bowling,
    billiards,
    lambda: rattle(0.9),
    lambda: rattle(1.0),
    squeezed,
    cradle,
    lambda: bounce(0.9),
    lambda: bounce(1.0),
    euler_disk,
    top,
    cube,
    tippe,
    lambda: slope(0.49),
    lambda: slope(0.51),
    pushed_disc,
    inside_plane,
    coincident,
    crowded,
    tiny,
    huge,
)
