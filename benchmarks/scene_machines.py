"""Scenes of scenes.py: machines, those of engine_joints.py among them, and what is driven."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from engine import scene_of
from engine_joints import chain100, fourbar, gripper, quadruped, ragdoll, vehicle
from engine_scenes import Setting
from scene_course import Case, Check, Course, at_least, at_most, at_rest, near

import stickslip as ss


def of_setting(setting: Setting, checks: Any = lambda course: [], driven: bool = False) -> Case:
    """A scene of engine_joints.py."""
    scene, _ = scene_of(setting)
    steps = setting.before + setting.steps
    gain = None if driven else 0.01
    return Case(setting.name, "machine", scene, setting.dt, steps, checks, gain=gain, setting=setting)


def shaken_gripper() -> Case:
    """A box of 0.5 kg between two fingers that press twenty times as hard as its weight asks for, shaken at 5 Hz and up
    to 1 g up and down and across: it does not creep."""
    scene = ss.Scene()
    rate, most = 2 * math.pi * 5.0, 9.81 / (2 * math.pi * 5.0)

    def velocity(time: float) -> tuple[float, float, float]:
        return 0.0, 0.5 * most * math.sin(rate * time), most * math.sin(rate * time)

    hand = scene.add_box((0.3, 0.1, 0.05), moving=True, position=(0, 0, 0.3), velocity=velocity)
    box = scene.add_box(0.1, mass=0.5, position=(0, 0, 0.15), friction=0.8)
    fingers = []
    force = 20 * 0.5 * 9.81 / (2 * 0.8)
    for side in (-1, 1):
        finger = scene.add_box((0.02, 0.06, 0.15), mass=0.3, position=(side * 0.06, 0, 0.15), friction=0.8)
        scene.add_slider(finger, hand, position=(side * 0.06, 0, 0.15), axis=(-side, 0, 0), effort=force)
        fingers.append(finger)

    def checks(course: Course) -> list[Check]:
        held = course.position[:, box.index] - 0.5 * sum(course.position[:, f.index] for f in fingers)
        off = np.linalg.norm(held[course.frame(0.4) :] - held[course.frame(0.4)], axis=1)
        period = round(0.2 / course.dt)
        return [
            at_most("creep from period to period m", off[::period].max(), 1e-6),
            at_most("moves against the fingers m", off.max(), 1e-4),
        ]

    return Case("gripper-shaken", "machine", scene, 2e-3, 1000, checks, gain=None)


def slider_crank() -> Case:
    """Planar: the crank turns at 10 rad/s, the piston is where geometry has it."""
    scene = ss.Scene(planar=True)
    crank_length, rod_length, speed = 0.1, 0.3, 10.0
    crank = scene.add_box((crank_length, 0.02), mass=1.0, position=(crank_length / 2, 0))
    rod = scene.add_box((rod_length, 0.02), mass=1.0, position=(crank_length + rod_length / 2, 0))
    piston = scene.add_box((0.06, 0.06), mass=2.0, position=(crank_length + rod_length, 0))
    scene.add_hinge(crank, position=(0, 0), speed=speed, strength=math.inf)
    scene.add_hinge(rod, crank, position=(crank_length, 0))
    scene.add_hinge(piston, rod, position=(crank_length + rod_length, 0))
    scene.add_slider(piston, position=(crank_length + rod_length, 0), axis=(1, 0))

    def checks(course: Course) -> list[Check]:
        w, _, y, _ = course.quaternion[:, crank.index].T
        angle = 2 * np.arctan2(y, w)
        exact = crank_length * np.cos(angle) + np.sqrt(rod_length**2 - (crank_length * np.sin(angle)) ** 2)
        turned = np.unwrap(angle)[-1]
        return [
            at_most("piston off m", np.abs(course.position[:, piston.index, 0] - exact).max(), 1e-6),
            near("turned rad", abs(turned), speed * course.time[-1], 0.05),
        ]

    return Case("slider-crank", "planar", scene, 2e-3, 1000, checks, gain=None)


def rope_bridge(planks: int = 20) -> Case:
    """Planks that hang in an arc, two joints between each two, and a crate of 50 kg that falls on the middle."""
    scene = ss.Scene()
    length, depth, thick, bend = 0.25, 1.0, 0.04, 0.06  # of each plank against the next, rad
    angles = bend * (np.arange(planks) - 0.5 * (planks - 1))
    ends = np.zeros((planks + 1, 2))
    ends[1:] = np.cumsum(length * np.stack([np.cos(angles), np.sin(angles)], axis=1), axis=0)
    boards = []
    for angle, (x, z) in zip(angles, 0.5 * (ends[:-1] + ends[1:]), strict=True):
        turn = ((0, 1, 0), float(-angle))
        size = (0.9 * length, depth, thick)
        boards.append(scene.add_box(size, mass=4.0, position=(x, 0, z), orientation=turn, friction=0.6))
    for k, (x, z) in enumerate(ends):
        for y in (-0.45, 0.45):
            a, b = (boards[0], None) if k == 0 else (boards[k - 1], boards[k] if k < planks else None)
            scene.add_ball(a, b, position=(x, y, z))
    middle = 0.5 * ends[-1, 0]
    crate = scene.add_box(0.4, mass=50.0, position=(middle + 0.1, 0, ends[:, 1].min() + 0.6), friction=0.6)

    def checks(course: Course) -> list[Check]:
        return [at_least("crate's lowest m", course.position[:, crate.index, 2].min(), ends[:, 1].min() - 0.5)]

    return Case("rope-bridge", "machine", scene, 2e-3, 1000, checks)


def conveyor() -> Case:
    """Crates fall on a belt of 1 m/s and go with it."""
    rng, scene = np.random.default_rng(10), ss.Scene()
    scene.add_box((30, 1, 0.2), moving=True, position=(0, 0, -0.1), velocity=(1, 0, 0), friction=0.5)
    for k in range(12):
        place = (0.35 * (k % 6), 0.35 * (k // 6) - 0.2, 0.3)
        scene.add_box(0.2, mass=2.0, position=place, orientation=((0, 0, 1), float(rng.uniform(0, 1))), friction=0.5)

    def checks(course: Course) -> list[Check]:
        off = course.velocity[-1, course.free, :3] - (1.0, 0.0, 0.0)
        return [at_most("off the belt's speed m/s", np.abs(off).max(), 1e-3)]

    return Case("conveyor", "machine", scene, 5e-3, 400, checks, gain=None)


def chain(scene: ss.Scene, links: int, height: float) -> None:
    """Capsules along x in a wave, joined end to end, with their middle over the origin."""
    pitch, last = 0.1, None
    for k in range(links):
        x, wave = pitch * (k - 0.5 * (links - 1)), 0.02
        place, turn = (x, wave * math.sin(k), height), ((0, 1, 0), 0.5 * math.pi)
        link = scene.add_capsule(0.02, 0.06, mass=0.05, position=place, orientation=turn, friction=0.3)
        if last is not None:
            scene.add_ball(link, last, position=(x - 0.5 * pitch, wave * math.sin(k - 0.5), height))
            scene.set_pair(link, last, collide=False)
        last = link


def chain_on_pegs() -> Case:
    """A chain falls on two pegs, hangs between them, and slides off."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for x in (-0.35, 0.3):
        peg = ((1, 0, 0), 0.5 * math.pi)
        scene.add_cylinder(0.06, 0.5, static=True, position=(x, 0, 0.8), orientation=peg, friction=0.3)
    chain(scene, 20, 1.0)
    return Case("chain-on-pegs", "machine", scene, 4e-3, 500)


def chain_on_boxes() -> Case:
    """A chain falls on twelve boxes."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for k in range(12):
        scene.add_box(0.15, mass=1.0, position=(0.3 * (k % 4) - 0.45, 0.3 * (k // 4) - 0.3, 0.075))
    chain(scene, 30, 0.6)
    return Case("chain-on-boxes", "machine", scene, 3e-3, 500)


MACHINES = (
    lambda: of_setting(chain100()),
    lambda: of_setting(fourbar()),
    lambda: of_setting(vehicle(), lambda course: [at_most("creep m", course.moved(1, 1.0), 1e-3)]),
    lambda: of_setting(ragdoll(), lambda course: [at_rest(course, 1.0)]),
    lambda: of_setting(gripper(), lambda course: [at_most("creep", abs(course.moved(4, 1.7)), 1e-3)], driven=True),
    lambda: of_setting(quadruped(), lambda course: [at_most("creep m", course.moved(1, 1.0), 1e-3)], driven=True),
    shaken_gripper,
    slider_crank,
    rope_bridge,
    chain_on_pegs,
    chain_on_boxes,
    conveyor,
)
