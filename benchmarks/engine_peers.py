"""MuJoCo and PyBullet on the scenes of engine.py, each with the settings that a user would try.

    mujoco/default    Newton's method, pyramidal cones, contact time constant 20 ms
    mujoco/elliptic   elliptic cones, impratio 10
    mujoco/stiff      elliptic cones, impratio 100, time constant of 4 steps, tight tolerances
    mujoco/CG         as default with conjugate gradients; on the pile, where Newton's method takes half a second a step
    pybullet/default  sequential impulses, 50 iterations, damping 0.04
    pybullet/undamped the same without damping
    pybullet/rigid    bodies in maximal coordinates (btRigidBody), undamped
    pybullet/Dantzig  likewise, with Dantzig's LCP solver

Only the engine's own step is timed; states are read in between. Sleeping is off.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from time import thread_time
from typing import Any

import numpy as np
from engine_scenes import Block, Motion, Plane, Setting

CONTACT_MEMORY = "1G"  # of MuJoCo


@dataclass(frozen=True)
class Peer:
    name: str
    package: str  # that it needs
    start: Callable[[Setting], Any]  # a world, with step(count), read() and close()
    scenes: tuple[str, ...] = ("slide", "stick", "slip", "stack", "slab", "pile")

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None


@dataclass(frozen=True, eq=False)
class Timed:
    """A run of one engine."""

    motion: Motion
    seconds: float  # a step, the best run
    contacts: int  # in the end


def run_peer(peer: Peer, setting: Setting, repeats: int) -> Timed:
    best, motion, contacts = math.inf, None, 0
    for _ in range(repeats):
        world = peer.start(setting)
        world.step(setting.before)
        seconds, frames = 0.0, [world.read()]
        for _ in range(setting.steps // setting.stride):
            started = thread_time()
            world.step(setting.stride)
            seconds += thread_time() - started
            frames.append(world.read())
        best, contacts = min(best, seconds / setting.steps), world.contacts()
        motion = Motion(*(np.array(part) for part in zip(*frames, strict=True)))
        world.close()
    assert motion is not None
    return Timed(motion, best, contacts)


class MujocoWorld:
    def __init__(self, setting: Setting, options: str, contact: str) -> None:
        self.engine = mujoco = import_module("mujoco")
        self.model = mujoco.MjModel.from_xml_string(mujoco_file(setting, options, contact))
        self.data = mujoco.MjData(self.model)
        for i, block in enumerate(setting.blocks):
            self.data.qvel[6 * i : 6 * i + 6] = (*block.velocity, *block.spin)  # nothing is turned at the start
            self.data.xfrc_applied[i + 1, :3] = block.force

    def step(self, count: int) -> None:
        self.engine.mj_step(self.model, self.data, nstep=count)

    def read(self) -> tuple[Any, Any, Any]:
        pose, velocity = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        return pose[:, :3].copy(), pose[:, 3:].copy(), velocity[:, :3].copy()

    def contacts(self) -> int:
        return int(self.data.ncon)

    def close(self) -> None:
        pass


def mujoco_file(setting: Setting, options: str, contact: str) -> str:
    planes = (
        f'<geom type="plane" size="0 0 1" pos="{numbers(plane.point)}" zaxis="{numbers(plane.normal)}" '
        f'friction="{plane.surface.greatest!r} 0 0"/>'
        for plane in setting.planes
    )
    return f"""<mujoco><size memory="{CONTACT_MEMORY}"/>
    <option timestep="{setting.dt}" gravity="{numbers(setting.gravity)}" {options}/>
    <default><geom condim="3" {contact}/></default>
    <worldbody>{"".join(planes)}{"".join(map(mujoco_body, setting.blocks))}</worldbody></mujoco>"""


def mujoco_body(block: Block) -> str:
    size = numbers(block.size if block.ball else [0.5 * length for length in block.size])
    return (
        f'<body pos="{numbers(block.position)}"><freejoint/><geom type="{"sphere" if block.ball else "box"}" '
        f'size="{size}" mass="{block.mass!r}" friction="{block.surface.greatest!r} 0 0"/></body>'
    )


def numbers(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def mujoco(options: str = "", contact: str = "") -> Callable[[Setting], MujocoWorld]:
    return lambda setting: MujocoWorld(setting, options, contact.format(constant=4 * setting.dt))


class BulletWorld:
    def __init__(self, setting: Setting, maximal: bool, damping: float, solver: str | None) -> None:
        with quiet():
            self.engine = pybullet = import_module("pybullet")
        self.world = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*setting.gravity, physicsClientId=self.world)
        pybullet.setTimeStep(setting.dt, physicsClientId=self.world)
        if solver:
            kind = getattr(pybullet, solver)
            with quiet():
                pybullet.setPhysicsEngineParameter(constraintSolverType=kind, physicsClientId=self.world)
        for plane in setting.planes:
            self.add_plane(plane, maximal)
        self.blocks = [self.add(block, maximal, damping) for block in setting.blocks]
        self.pushed = [
            (k, block.force) for k, block in zip(self.blocks, setting.blocks, strict=True) if any(block.force)
        ]

    def add_plane(self, plane: Plane, maximal: bool) -> None:
        shape = self.engine.createCollisionShape(
            self.engine.GEOM_PLANE, planeNormal=plane.normal, physicsClientId=self.world
        )
        body = self.engine.createMultiBody(
            0, shape, basePosition=plane.point, useMaximalCoordinates=maximal, physicsClientId=self.world
        )
        self.engine.changeDynamics(body, -1, lateralFriction=plane.surface.factor, physicsClientId=self.world)

    def add(self, block: Block, maximal: bool, damping: float) -> int:
        engine, world = self.engine, {"physicsClientId": self.world}
        if block.ball:
            shape = engine.createCollisionShape(engine.GEOM_SPHERE, radius=block.size[0], **world)
        else:
            half = [0.5 * length for length in block.size]
            shape = engine.createCollisionShape(engine.GEOM_BOX, halfExtents=half, **world)
        body: int = engine.createMultiBody(
            block.mass, shape, basePosition=block.position, useMaximalCoordinates=maximal, **world
        )
        engine.changeDynamics(
            body,
            -1,
            lateralFriction=block.surface.factor,
            linearDamping=damping,
            angularDamping=damping,
            activationState=engine.ACTIVATION_STATE_DISABLE_SLEEPING,
            **world,
        )
        engine.resetBaseVelocity(body, block.velocity, block.spin, **world)
        return body

    def step(self, count: int) -> None:
        engine, world, pushed = self.engine, self.world, self.pushed
        for _ in range(count):
            for body, force in pushed:  # a force lasts one step
                place, _ = engine.getBasePositionAndOrientation(body, physicsClientId=world)
                engine.applyExternalForce(body, -1, force, place, engine.WORLD_FRAME, physicsClientId=world)
            engine.stepSimulation(physicsClientId=world)

    def read(self) -> tuple[Any, Any, Any]:
        position, quaternion, velocity = [], [], []
        for body in self.blocks:
            x, (q_x, q_y, q_z, q_w) = self.engine.getBasePositionAndOrientation(body, physicsClientId=self.world)
            position.append(x)
            quaternion.append((q_w, q_x, q_y, q_z))
            velocity.append(self.engine.getBaseVelocity(body, physicsClientId=self.world)[0])
        return np.array(position), np.array(quaternion), np.array(velocity)

    def contacts(self) -> int:
        return len(self.engine.getContactPoints(physicsClientId=self.world))

    def close(self) -> None:
        self.engine.disconnect(physicsClientId=self.world)


@contextmanager
def quiet() -> Iterator[None]:
    """Without what Bullet prints about itself."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            for descriptor, copy in enumerate(kept, 1):
                os.dup2(copy, descriptor)
                os.close(copy)


def bullet(maximal: bool = False, damping: float = 0.0, solver: str | None = None) -> Callable[[Setting], BulletWorld]:
    return lambda setting: BulletWorld(setting, maximal, damping, solver)


SMALL = ("slide", "stick", "slip", "stack", "slab")
STIFF = 'cone="elliptic" impratio="100" tolerance="1e-12" ls_tolerance="1e-6"'
PEERS = (
    Peer("mujoco/default", "mujoco", mujoco(), SMALL),
    Peer("mujoco/elliptic", "mujoco", mujoco('cone="elliptic" impratio="10"'), SMALL),
    Peer("mujoco/stiff", "mujoco", mujoco(STIFF, 'solref="{constant} 1" solimp="0.99 0.999 0.0005"'), SMALL),
    Peer("mujoco/CG", "mujoco", mujoco('solver="CG"'), ("pile",)),
    Peer("pybullet/default", "pybullet", bullet(damping=0.04)),
    Peer("pybullet/undamped", "pybullet", bullet()),
    Peer("pybullet/rigid", "pybullet", bullet(maximal=True)),
    Peer("pybullet/Dantzig", "pybullet", bullet(maximal=True, solver="CONSTRAINT_SOLVER_LCP_DANTZIG"), SMALL),
)


def missing() -> Iterator[str]:
    """The packages that are not installed."""
    return (name for name in dict.fromkeys(peer.package for peer in PEERS) if importlib.util.find_spec(name) is None)
