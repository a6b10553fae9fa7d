"""MuJoCo and PyBullet, each with its defaults, on some of the scenes of scenes.py.

A scene of planes, balls, boxes and capsules of one coefficient of friction, without restitution, becomes a Setting of
engine_scenes.py, which engine_peers.py gives to the peers; scenes with joints are Settings from the start.
"""

from __future__ import annotations

from time import thread_time
from typing import Any

import numpy as np
from engine_peers import bullet, mujoco
from engine_scenes import ORIGIN, Block, Plane, Setting, everywhere
from scene_course import Case, Course

from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Kind
from stickslip.scene.shapes import Box, Capsule, Sphere
from stickslip.scene.shapes import Plane as PlaneShape

ENGINES = {"mujoco": mujoco(), "pybullet": bullet(damping=0.04)}
ON = (
    "balls-200",
    "boxes-50",
    "boxes-300",
    "capsules-100",
    "cards-30",
    "heap-shot",
    "bullet-plate",
    "tower-30",
    "tower-10-doubling",
    "wall-hit",
    "dominoes",
    "jenga",
    "chain100",
    "ragdoll",
)


def setting_of(case: Case) -> Setting:
    if case.setting is not None:
        return case.setting
    scene, model = case.scene, case.model
    frictions = {body.material.friction for body in scene.descriptions if body.material.friction is not None}
    assert len(frictions) == 1
    assert not any(body.material.restitution for body in scene.descriptions)
    surface = everywhere(frictions.pop())
    pushed = {force.body: force.force for force in scene.forces}
    planes, blocks = [], []
    for k, body in enumerate(scene.descriptions):
        (shape,) = body.shapes
        if isinstance(shape, PlaneShape):
            x, y, z = (shape.offset * n for n in shape.normal)
            planes.append(Plane((x, y, z), shape.normal, surface))
            continue
        assert not callable(body.velocity)
        assert not callable(body.spin)
        static = body.kind is Kind.STATIC
        mass = 0.0 if static else float(model.mass[k])
        push = pushed.get(k, ORIGIN)
        said = (mass, body.position, surface, body.velocity, body.spin, push, body.orientation, static)
        blocks.append(Block(size_of(shape), *said))
    return Setting(case.name, scene.gravity, tuple(planes), tuple(blocks), case.dt, case.steps, 1, lambda *_: {})


def size_of(shape: Any) -> tuple[float, ...]:
    match shape:
        case Sphere():
            return (shape.radius,)
        case Capsule():
            return shape.radius, shape.length
        case Box():
            return tuple(shape.size)
        case _:
            raise TypeError(f"{shape} is not given to peers")


def run_peer(name: str, case: Case, cap: float) -> tuple[Course, float, float, int]:
    """The course, the mean and the greatest seconds of a step, and the steps made within the cap."""
    setting, model = setting_of(case), case.model
    world = ENGINES[name](setting)
    spent: list[float] = []
    frames = [world.read()]
    while len(spent) < case.steps and sum(spent) < cap:
        started = thread_time()
        world.step(1)
        spent.append(thread_time() - started)
        frames.append(world.read())
    world.close()
    made = len(spent)
    blocks = [k for k, body in enumerate(case.scene.descriptions) if not isinstance(body.shapes[0], PlaneShape)]
    position = np.zeros((made + 1, model.kind.size, 3))
    quaternion = np.tile([1.0, 0.0, 0.0, 0.0], (made + 1, model.kind.size, 1))
    velocity = np.zeros((made + 1, model.kind.size, 6))
    place_planes(case, position, quaternion)
    for column, parts in ((position, 0), (quaternion, 1)):
        column[:, blocks] = np.array([frame[parts] for frame in frames])
    velocity[:, blocks, :3] = np.array([frame[2] for frame in frames])
    velocity[:, blocks, 3:] = np.array([frame[3] for frame in frames])
    return Course(model, case.dt, position, quaternion, velocity), sum(spent) / made, max(spent), made


def place_planes(case: Case, position: Any, quaternion: Any) -> None:
    """All bodies as they start; what the peers move is written over."""
    _, state, _ = compile_scene(case.scene)
    position[:], quaternion[:] = state.position, state.quaternion
