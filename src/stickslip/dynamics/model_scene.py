"""Bodies of a Scene in a model of a robot: a box to grasp, a table.

Each body becomes one of the MjSpec, with its own mass and inertia, and each shape a geom. What two materials do
together is then decided as MuJoCo does it: the friction of a contact is the larger of its two geoms', the damping ratio
their mean. A patch becomes condim 4, restitution e the damping ratio of an oscillator that bounces so,
ζ = -ln e / √(π² + ln² e).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.errors import InputError
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Kind, Model, Shape
from stickslip.scene.scene import Scene

TIME_CONSTANT = 0.02  # of solref, MuJoCo's default   [s]
SMALL = 1e-12  # of shapes without a size   [m]


def add_scene(mujoco: Any, spec: Any, scene: Scene) -> list[str]:
    """Add the bodies of a scene, and say what of it is left out."""
    model, state, drives = compile_scene(scene)
    refuse(scene, model)
    names = scene.names
    for b, kind in enumerate(model.kind[: len(names)]):
        pose = {"pos": state.position[b].tolist(), "quat": state.quaternion[b].tolist()}
        body = spec.worldbody.add_body(name=names[b], **pose)
        if kind == Kind.FREE:
            body.add_freejoint()
            I = model.inertia[b]  # noqa: E741  # its letter
            body.explicitinertial, body.mass, body.ipos = True, float(model.mass[b]), [0.0, 0.0, 0.0]
            body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        for i in np.flatnonzero(model.shape_body == b):
            add_shape(mujoco, spec, body, model, int(i), names[b])
    said = (
        (state.velocity[: len(names)].any(), "velocities of the scene's bodies left out: give v"),
        (model.force.any() or model.torque.any() or drives, "forces on the scene's bodies left out: give force"),
    )
    return [sentence for condition, sentence in said if condition]


def refuse(scene: Scene, model: Model) -> None:
    """What cannot be a part of a model."""
    for condition, what, expected in (
        (scene.planar, "is planar", "one in space"),
        (model.joint.size > 0, f"has {model.joint.size} joints", "bodies without joints"),
        ((model.kind == Kind.MOVING).any(), "has bodies that move as prescribed", "free and static ones"),
        ((model.shape_size[:, 0] < SMALL)[model.shape != Shape.PLANE].any(), "has particles", "shapes with a size"),
    ):
        if condition:
            raise InputError(f"load_model: the scene {what}, expected {expected}")


def add_shape(mujoco: Any, spec: Any, body: Any, model: Model, i: int, name: str) -> None:
    """One geom; of a hull, with its corners as a mesh."""
    shape, material = Shape(int(model.shape[i])), int(model.shape_material[i])
    own = model.friction_static[material, material]
    patch, bounce = model.patch[material, material], model.restitution[material, material]
    turn = np.empty(4)
    mujoco.mju_mat2Quat(turn, np.ascontiguousarray(model.shape_rotation[i]).ravel())
    others = int((model.shape_body[:i] == model.shape_body[i]).sum())
    own_name = name if others == 0 else f"{name} {others}"
    mesh = {}
    if shape == Shape.HULL:
        first, last = model.hull_range[i, :2]
        spec.add_mesh(name=own_name, uservert=model.hull_corner[first:last].ravel().tolist())
        mesh = {"meshname": own_name}
    body.add_geom(
        name=own_name,
        type=getattr(mujoco.mjtGeom, f"mjGEOM_{'MESH' if shape == Shape.HULL else shape.name}"),
        **mesh,
        size=[0.0, 0.0, 1.0] if shape == Shape.PLANE else model.shape_size[i].tolist(),
        pos=model.shape_position[i].tolist(),
        quat=turn.tolist(),
        friction=[float(own), float(own * patch), 0.0],
        condim=4 if patch > 0 else 3,
        solref=[TIME_CONSTANT, damping_ratio(float(bounce))],
    )


def damping_ratio(restitution: float) -> float:
    """ζ of an oscillator that bounces with e; 1 where e is 0."""
    if restitution <= 0:
        return 1.0
    rate = math.log(restitution)
    return -rate / math.hypot(math.pi, rate)
