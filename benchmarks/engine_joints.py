"""The scenes of engine.py with joints, as plain numbers, and what is right.

    pendulum    a rod on a hinge, from 60°: its period and its energy are known
    chain20     20 rods of 0.1 m on ball joints, from level: their energy is kept
    chain100    100 rods of 1 m on hinges with 1000 times their mass at the end, swinging from 30°: its energy is kept.
                Rods vibrate across at up to 3400 rad/s, so that a step has to be below 0.58 ms
    fourbar     crank, coupler and rocker between two points of the world, falling: its energy and its loop are kept
    vehicle     a body on four wheels (balls on hinges) whose brakes hold it on a slope of 0.3, mu = 0.8: it stands
    ragdoll     13 bodies, ball joints, hinges with limits and dry friction, falls down five stairs: it comes to rest
    gripper     two fingers squeeze a box of 1 kg with 40 N, mu = 0.8, while a slider lifts it by 0.2 m: it stays where
                it is held
    quadruped   a torso of 12 kg on four legs of two rods, each of eight hinges held by a servo: it stands

Blocks of one mechanism never touch each other. Drift of joints is computed from the poses, whatever coordinates an
engine has: the distance of the two anchors, and the angle between the axes of a hinge or the frames of a slider, both
as a share of the length of the block that the joint moves (an angle as that of its far end).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import numpy as np
from engine_scenes import (
    GRAVITY,
    ORIGIN,
    UP,
    Block,
    Floats,
    Joint,
    Motion,
    Motor,
    Plane,
    Quaternion,
    Setting,
    Vector,
    deepest,
    everywhere,
    matrix,
    tilted,
)
from scipy.special import ellipk

DOWN = (0.0, 0.0, -GRAVITY)
ABOUT_Y, ABOUT_X = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def rod(start: Vector, end: Vector, radius: float, mass: float, mu: float = 0.5, velocity: Vector = ORIGIN) -> Block:
    """A capsule whose axis goes from one point to another."""
    along = np.subtract(end, start)
    length = float(np.linalg.norm(along))
    x, y, z = (0.5 * (p + q) for p, q in zip(start, end, strict=True))
    return Block((radius, length), mass, (x, y, z), everywhere(mu), velocity, orientation=turned_to(along / length))


def turned_to(z: Floats) -> Quaternion:
    """The shortest turn of the z axis to this direction."""
    if z[2] < -1 + 1e-12:
        return (0.0, 1.0, 0.0, 0.0)
    q = np.array([1 + z[2], -z[1], z[0], 0.0])
    w, i, j, k = q / np.linalg.norm(q)
    return (float(w), float(i), float(j), float(k))


def pendulum() -> Setting:
    end = (math.sin(math.pi / 3), 0.0, -math.cos(math.pi / 3))
    return Setting(
        "pendulum",
        DOWN,
        (),
        (rod(ORIGIN, end, 0.02, 1.0),),
        2e-3,
        5000,
        5,
        grade_pendulum,
        joints=(Joint("hinge", 0, None, ORIGIN),),
    )


def chain(kind: Literal["ball", "hinge"], ends: Floats, radius: float, mass: float) -> tuple[list[Block], list[Joint]]:
    """Rods from the origin through these points, one after the other."""
    points = [ORIGIN, *((float(x), float(y), float(z)) for x, y, z in ends)]
    blocks = [rod(start, end, radius, mass) for start, end in pairwise(points)]
    return blocks, [Joint(kind, i, i - 1 if i else None, points[i]) for i in range(len(points))]


def chain20() -> Setting:
    blocks, joints = chain("ball", np.outer(np.arange(1, 21), [0.1, 0.0, 0.0]), 0.01, 0.1)
    return Setting("chain20", DOWN, (), tuple(blocks), 1e-3, 2000, 10, grade_kept, joints=tuple(joints[:-1]))


def chain100() -> Setting:
    """Bent by 0.16 m, so that rods swing across too; bent more, the load would be thrown up. The last joint is that of
    the load, a ball of 0.6 m. Bullet tells of no more than 128 coordinates, so no ball joints."""
    angle = math.pi / 6 + 0.005 * np.cos(math.pi * np.arange(101) / 100)
    along = np.column_stack([np.sin(angle), np.zeros(101), -np.cos(angle)])
    ends = np.cumsum(along[:-1], axis=0)
    blocks, joints = chain("hinge", ends, 0.02, 0.1)
    x, _, z = ends[-1] + 0.6 * along[-1]
    blocks.append(Block((0.6,), 1e4, (float(x), 0.0, float(z)), everywhere(0.5)))
    return Setting("chain100", DOWN, (), tuple(blocks), 5e-4, 1000, 5, grade_kept, joints=tuple(joints))


def fourbar() -> Setting:
    """Links of 0.3, 0.7 and 0.6 m between points 0.8 m apart: the crank could turn all the way round."""
    crank = np.array([0.3 * math.cos(2.0), 0.0, 0.3 * math.sin(2.0)])
    across = np.array([0.8, 0.0, 0.0]) - crank
    d = float(np.linalg.norm(across))
    along = (0.7**2 - 0.6**2 + d * d) / (2 * d)  # to the foot of the triangle of coupler and rocker
    up = np.array([-across[2], 0.0, across[0]]) / d
    elbow = crank + along / d * across + math.sqrt(0.7**2 - along**2) * up
    one, other = ((float(x), 0.0, float(z)) for x, _, z in (crank, elbow))
    ground = (0.8, 0.0, 0.0)
    blocks = rod(ORIGIN, one, 0.02, 0.5), rod(one, other, 0.02, 1.0), rod(other, ground, 0.02, 1.0)
    joints = (
        Joint("hinge", 0, None, ORIGIN),
        Joint("hinge", 1, 0, one),
        Joint("hinge", 2, 1, other),
        Joint("ball", 2, None, ground, closes=True),
    )
    return Setting("fourbar", DOWN, (), blocks, 2e-3, 1000, 5, grade_kept, joints=joints)


def vehicle() -> Setting:
    floor = Plane(ORIGIN, UP, everywhere(0.8))
    body = Block((1.6, 0.8, 0.3), 100.0, (0.0, 0.0, 0.4), everywhere(0.8))
    hubs = [(x, y, 0.25) for x in (-0.6, 0.6) for y in (-0.55, 0.55)]
    wheels = (Block((0.25,), 5.0, hub, everywhere(0.8)) for hub in hubs)
    brake = Motor("brake", 100.0)
    joints = tuple(Joint("hinge", i + 1, 0, hub, ABOUT_Y, motor=brake) for i, hub in enumerate(hubs))
    blocks = (body, *wheels)
    return Setting("vehicle", tilted(0.3), (floor,), blocks, 2e-3, 1000, 5, grade_vehicle, joints=joints)


def ragdoll() -> Setting:
    """Facing x, a little above the upper stair, on the way over its edge. Forwards is a negative angle of an elbow."""
    mu, speed, foot = 0.6, (1.5, 0.2, 0.0), 0.95
    friction = Motor("brake", 2.0)

    def box(size: Vector, mass: float, x: float, y: float, z: float) -> Block:
        return Block(size, mass, (x, y, foot + z), everywhere(mu), speed)

    def limb(y: float, upper: float, lower: float, radius: float, mass: float) -> Block:
        return rod((0.0, y, foot + upper), (0.0, y, foot + lower), radius, mass, mu, speed)

    blocks = [
        box((0.18, 0.3, 0.18), 10.0, 0.0, 0.0, 0.95),  # pelvis
        box((0.2, 0.34, 0.4), 20.0, 0.0, 0.0, 1.26),  # chest
        Block((0.11,), 5.0, (0.0, 0.0, foot + 1.62), everywhere(mu), speed),  # head
    ]
    joints = [
        Joint("hinge", 1, 0, (0.0, 0.0, foot + 1.05), ABOUT_Y, (-0.5, 1.0), friction),
        Joint("hinge", 2, 1, (0.0, 0.0, foot + 1.49), ABOUT_Y, (-0.7, 0.7), friction),
    ]
    for y in (-0.24, 0.24):
        upper = len(blocks)
        blocks += [limb(y, 1.42, 1.14, 0.045, 2.0), limb(y, 1.14, 0.86, 0.04, 1.5)]
        joints.append(Joint("ball", upper, 1, (0.0, y, foot + 1.42)))
        joints.append(Joint("hinge", upper + 1, upper, (0.0, y, foot + 1.14), ABOUT_Y, (-2.4, 0.05), friction))
    for y in (-0.1, 0.1):
        upper = len(blocks)
        blocks += [limb(y, 0.88, 0.48, 0.07, 7.0), limb(y, 0.48, 0.08, 0.05, 3.5)]
        blocks.append(box((0.25, 0.1, 0.06), 1.0, 0.06, y, 0.03))
        joints.append(Joint("ball", upper, 0, (0.0, y, foot + 0.88)))
        joints.append(Joint("hinge", upper + 1, upper, (0.0, y, foot + 0.48), ABOUT_Y, (-0.05, 2.4), friction))
        joints.append(Joint("hinge", upper + 2, upper + 1, (0.0, y, foot + 0.08), ABOUT_Y, (-0.6, 0.6), friction))
    stairs = []
    for i in range(5):
        front, back, height = 0.3 * (i + 1), 0.3 * i if i else -0.9, 0.18 * (5 - i)
        place = (0.5 * (front + back), 0.0, 0.5 * height)
        stairs.append(Block((front - back, 2.0, height), 0.0, place, everywhere(mu), static=True))
    floor = Plane(ORIGIN, UP, everywhere(mu))
    blocks += stairs
    return Setting("ragdoll", DOWN, (floor,), tuple(blocks), 2e-3, 2000, 10, grade_ragdoll, joints=tuple(joints))


def gripper() -> Setting:
    """Carriage, two fingers, box. The fingers are 1 mm from the box when they and the carriage begin to move."""
    floor, mu = Plane(ORIGIN, UP, everywhere(0.8)), everywhere(0.8)
    carriage = Block((0.3, 0.1, 0.05), 2.0, (0.0, 0.0, 0.3), mu)
    left, right = (Block((0.02, 0.06, 0.2), 0.3, (x, 0.0, 0.13), mu) for x in (-0.061, 0.061))
    box = Block((0.1, 0.1, 0.1), 1.0, (0.0, 0.0, 0.05), mu)
    lift = Motor("speed", 120.0, 0.2, damping=1e4)
    close, back = (Motor("speed", 40.0, speed, damping=2e3) for speed in (0.05, -0.05))
    joints = (
        Joint("slider", 0, None, carriage.position, UP, (0.0, 0.2), lift),
        Joint("slider", 1, 0, left.position, ABOUT_X, motor=close),
        Joint("slider", 2, 0, right.position, ABOUT_X, motor=back),
    )
    blocks = (carriage, left, right, box)
    return Setting("gripper", DOWN, (floor,), blocks, 2e-3, 1250, 5, grade_gripper, joints=joints)


def quadruped() -> Setting:
    """Knees are bent by 60°, each foot is below its hip."""
    floor, mu, link, bend = Plane(ORIGIN, UP, everywhere(0.8)), 0.8, 0.25, math.pi / 6
    foot = 0.02
    hip = foot + 2 * link * math.cos(bend)
    blocks = [Block((0.6, 0.3, 0.12), 12.0, (0.0, 0.0, hip), everywhere(mu))]
    servo, joints = Motor("servo", 40.0, stiffness=300.0, damping=10.0), []
    for x in (-0.25, 0.25):
        for y in (-0.18, 0.18):
            top, bottom = (x, y, hip), (x, y, foot)
            knee = (x - link * math.sin(bend), y, 0.5 * (hip + foot))
            upper = len(blocks)
            blocks += [rod(top, knee, 0.025, 1.0, mu), rod(knee, bottom, foot, 0.5, mu)]
            joints.append(Joint("hinge", upper, 0, top, ABOUT_Y, motor=servo))
            joints.append(Joint("hinge", upper + 1, upper, knee, ABOUT_Y, motor=servo))
    return Setting("quadruped", DOWN, (floor,), tuple(blocks), 2e-3, 1000, 5, grade_quadruped, joints=tuple(joints))


JOINTED: dict[str, Callable[[], Setting]] = {
    "pendulum": pendulum,
    "chain20": chain20,
    "chain100": chain100,
    "fourbar": fourbar,
    "vehicle": vehicle,
    "ragdoll": ragdoll,
    "gripper": gripper,
    "quadruped": quadruped,
}


# grades


def drift(setting: Setting, motion: Motion) -> dict[str, float]:
    """How far joints came apart at worst, as a share of the length of the block that they move."""
    turns = matrix(motion.quaternion)
    apart, bent = 0.0, 0.0
    for joint in setting.joints:
        (x_a, R_a), (x_b, R_b) = (carried(setting, motion, turns, block, joint) for block in (joint.a, joint.b))
        off, length = x_a - x_b, setting.blocks[joint.a].length
        match joint.kind:
            case "slider":
                axis = R_b @ np.array(joint.axis)
                off -= (off * axis).sum(axis=1)[:, None] * axis
                turn = np.linalg.norm(R_a - R_b, axis=(1, 2)) / math.sqrt(2)  # for small angles, the angle
            case "hinge":
                turn = np.linalg.norm((R_a - R_b) @ np.array(joint.axis), axis=1)
            case _:
                turn = np.zeros(1)
        apart = max(apart, float(np.linalg.norm(off, axis=1).max()) / length)
        bent = max(bent, float(turn.max()))
    return {"anchors off %": 100 * apart, "axes off %": 100 * bent}


def carried(setting: Setting, motion: Motion, turns: Floats, block: int | None, joint: Joint) -> tuple[Floats, Floats]:
    """The place of a joint as a block carries it through the frames, and how that block has turned since the start."""
    if block is None:
        return np.array(joint.place)[None], np.eye(3)[None]
    start = setting.blocks[block]
    turned = turns[:, block] @ matrix(np.array(start.orientation)).T
    return motion.position[:, block] + turned @ np.subtract(joint.place, start.position), turned


def energy(setting: Setting, motion: Motion) -> tuple[Floats, Floats]:
    """Kinetic and potential, at the recorded instants [J]."""
    mass = np.array([block.mass for block in setting.blocks])
    moments = np.array([block.moments for block in setting.blocks])
    spin = (matrix(motion.quaternion).swapaxes(-1, -2) @ motion.spin[..., None])[..., 0]  # in body axes
    moving = 0.5 * (mass[:, None] * motion.velocity**2 + moments * spin**2).sum(axis=(1, 2))
    return moving, -(mass * (motion.position @ np.array(setting.gravity))).sum(axis=1)


def grade_kept(setting: Setting, motion: Motion) -> dict[str, float]:
    """Energy is off by a share of what was, at most, turned from potential into kinetic."""
    kinetic, potential = energy(setting, motion)
    total = kinetic + potential
    off = (total - total[0]) / (potential[0] - potential.min())
    return {"energy off %": 100 * float(off[np.abs(off).argmax()]), **drift(setting, motion)}


def grade_pendulum(setting: Setting, motion: Motion) -> dict[str, float]:
    """The period, from the first to the last time the rod swings through the vertical."""
    (block,) = setting.blocks
    x = motion.position[:, 0, 0]
    (at,) = np.nonzero((x[:-1] > 0) & (x[1:] <= 0))
    crossings = (at + x[at] / (x[at] - x[at + 1])) * setting.stride * setting.dt
    period = (crossings[-1] - crossings[0]) / (len(crossings) - 1)
    arm = float(np.linalg.norm(block.position))
    amplitude = math.atan2(block.position[0], -block.position[2])
    slow = math.sqrt((block.moments[0] + block.mass * arm**2) / (block.mass * GRAVITY * arm))
    exact = 4 * slow * float(ellipk(math.sin(amplitude / 2) ** 2))
    return {"period off %": 100 * float(period / exact - 1), **grade_kept(setting, motion)}


def rest(setting: Setting, settled: float) -> int:
    """The frame of that time."""
    return round(settled / (setting.dt * setting.stride))


def grade_vehicle(setting: Setting, motion: Motion) -> dict[str, float]:
    body = motion.position[:, 0]
    return {
        "moved mm": 1e3 * float(np.linalg.norm(body[-1] - body[0])),
        "creep after 1 s mm": 1e3 * float(np.linalg.norm(body[-1] - body[rest(setting, 1.0)])),
        "deepest mm": deepest(setting, motion),
        **drift(setting, motion),
    }


def grade_ragdoll(setting: Setting, motion: Motion) -> dict[str, float]:
    turns = matrix(motion.quaternion)
    past = 0.0
    for joint in setting.joints:
        if joint.limits is not None:
            (_, R_a), (_, R_b) = (carried(setting, motion, turns, block, joint) for block in (joint.a, joint.b))
            relative = R_b.swapaxes(-1, -2) @ R_a
            angle = np.arctan2(relative[:, 0, 2] - relative[:, 2, 0], relative[:, 0, 0] + relative[:, 2, 2])  # about y
            past = max(past, float((angle - joint.limits[1]).max()), float((joint.limits[0] - angle).max()))
    speed = np.linalg.norm(motion.velocity[-1], axis=-1)
    x, _, z = motion.position[-1, 0]
    return {
        "pelvis x m": float(x),
        "pelvis z m": float(z),
        "fastest in the end m/s": float(speed.max()),
        "past limits mrad": 1e3 * past,
        "deepest mm": deepest(setting, motion),
        **drift(setting, motion),
    }


def grade_gripper(setting: Setting, motion: Motion) -> dict[str, float]:
    box, held = motion.position[:, 3], motion.position[:, 3] - motion.position[:, 1:3].mean(axis=1)
    return {
        "lifted mm": 1e3 * float(box[-1, 2] - box[0, 2]),
        "slip in all mm": 1e3 * float(np.linalg.norm(held[-1] - held[0])),
        "creep after 1.5 s mm": 1e3 * float(np.linalg.norm(held[-1] - held[rest(setting, 1.5)])),
        "deepest mm": deepest(setting, motion),
        **drift(setting, motion),
    }


def grade_quadruped(setting: Setting, motion: Motion) -> dict[str, float]:
    torso, w = motion.position[:, 0], motion.quaternion[-1, 0, 0]
    return {
        "sunk mm": 1e3 * float(torso[0, 2] - torso[-1, 2]),
        "turned mrad": 2e3 * math.acos(min(1.0, abs(float(w)))),
        "creep after 1 s mm": 1e3 * float(np.linalg.norm(torso[-1] - torso[rest(setting, 1.0)])),
        "deepest mm": deepest(setting, motion),
        **drift(setting, motion),
    }
