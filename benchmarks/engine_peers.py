"""MuJoCo and PyBullet on the scenes of engine.py, each with the settings that a user would try.

    mujoco/default    Newton's method, pyramidal cones, contact time constant 20 ms
    mujoco/elliptic   elliptic cones, impratio 10
    mujoco/stiff      elliptic cones, impratio 100, time constant of 4 steps, of limits and brakes too, tight tolerances
    mujoco/RK4        Runge and Kutta's method; where nothing touches
    mujoco/CG         as default with conjugate gradients; on the pile, where Newton's method takes half a second a step
    pybullet/default  sequential impulses, 50 iterations, damping 0.04
    pybullet/undamped the same without damping, and joints may turn faster than 100 rad/s
    pybullet/rigid    bodies in maximal coordinates (btRigidBody), undamped
    pybullet/Dantzig  likewise, with Dantzig's LCP solver

Only the engine's own step is timed; states are read in between. Sleeping is off.

Mechanisms are given to both as trees of joints, in reduced coordinates; a loop is closed by a constraint of its own
(MuJoCo's connect, Bullet's point to point). Motors: MuJoCo's velocity and position actuators with the gains of the
scene, integrated implicitly, and frictionloss for brakes; Bullet's velocity and position control.
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
from engine_joints import JOINTED
from engine_scenes import ORIGIN, UPRIGHT, Block, Joint, Motion, Plane, Quaternion, Setting, matrix

CONTACT_MEMORY = "1G"  # of MuJoCo
MUJOCO_SHAPE = {"ball": "sphere", "capsule": "capsule", "box": "box"}
MUJOCO_JOINT = {"ball": "ball", "hinge": "hinge", "slider": "slide"}
POINTS = '<geom condim="3"/>'
STIFF_POINTS = '<geom condim="3" solref="{constant} 1" solimp="0.99 0.999 0.0005"/>'
STIFF_JOINTS = (
    '<joint solreflimit="{constant} 1" solimplimit="0.99 0.999 0.0005" '
    'solreffriction="{constant} 1" solimpfriction="0.99 0.999 0.0005"/>'
)
FASTEST_JOINT = 1e6  # rad/s, of Bullet without damping
CLOSING_FORCE = 1e9  # N, that Bullet may close a loop with


@dataclass(frozen=True)
class Peer:
    name: str
    package: str  # that it needs
    start: Callable[[Setting], Any]  # a world, with step(count), read() and close()
    scenes: tuple[str, ...]

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
    def __init__(self, setting: Setting, options: str, defaults: str) -> None:
        self.engine = mujoco = import_module("mujoco")
        self.model = mujoco.MjModel.from_xml_string(mujoco_file(setting, options, defaults))
        self.data = mujoco.MjData(self.model)
        self.bodies = [self.model.body(f"block {k}").id for k in range(len(setting.blocks))]
        for k, (i, block) in enumerate(zip(self.bodies, setting.blocks, strict=True)):
            if is_free(setting, k):
                first = self.model.body_dofadr[i]
                spin = matrix(np.array(block.orientation)).T @ block.spin  # in body axes
                self.data.qvel[first : first + 6] = (*block.velocity, *spin)
            self.data.xfrc_applied[i, :3] = block.force
        driven = (joint.motor for joint in setting.joints if has_actuator(joint))
        self.data.ctrl[:] = [motor.speed for motor in driven if motor is not None]

    def step(self, count: int) -> None:
        self.engine.mj_step(self.model, self.data, nstep=count)

    def read(self) -> tuple[Any, Any, Any, Any]:
        """Positions are those of the last step only after another look; the next step looks again."""
        mujoco, model, data = self.engine, self.model, self.data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        moving = np.empty((len(self.bodies), 6))  # spin, velocity
        for row, body in zip(moving, self.bodies, strict=True):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, row, 0)
        return data.xpos[self.bodies], data.xquat[self.bodies], moving[:, 3:], moving[:, :3]

    def contacts(self) -> int:
        return int(self.data.ncon)

    def close(self) -> None:
        pass


def is_free(setting: Setting, block: int) -> bool:
    return not setting.blocks[block].static and block not in setting.tree


def has_actuator(joint: Joint) -> bool:
    """Brakes are part of the joint itself."""
    return joint.motor is not None and joint.motor.kind != "brake"


def mujoco_file(setting: Setting, options: str, defaults: str) -> str:
    planes = (
        f'<geom type="plane" size="0 0 1" pos="{numbers(plane.point)}" zaxis="{numbers(plane.normal)}" '
        f'friction="{plane.surface.greatest!r} 0 0"/>'
        for plane in setting.planes
    )
    tree = setting.tree
    roots = (k for k in range(len(setting.blocks)) if k not in tree or tree[k].b is None)
    bodies = (mujoco_body(setting, k, None) for k in roots)
    loops = (mujoco_loop(setting, joint) for joint in setting.joints if joint.closes)
    actuators = "".join(mujoco_actuator(joint) for joint in setting.joints if has_actuator(joint))
    if actuators:
        options += ' integrator="implicitfast"'
    return f"""<mujoco><size memory="{CONTACT_MEMORY}"/><compiler angle="radian"/>
    <option timestep="{setting.dt}" gravity="{numbers(setting.gravity)}" {options}/>
    <default>{defaults}</default>
    <worldbody>{"".join(planes)}{"".join(bodies)}</worldbody>
    <equality>{"".join(loops)}</equality><actuator>{actuators}</actuator></mujoco>"""


def mujoco_body(setting: Setting, k: int, parent: int | None) -> str:
    """A block with all that hangs from it, seen from its parent."""
    block, hanging = setting.blocks[k], [joint.a for joint in setting.tree.values() if joint.b == k]
    place, turn = seen_from(setting, parent, block)
    apart = 'contype="0" conaffinity="1"' if k in setting.jointed else ""
    size = block.half if block.shape == "box" else (*block.size[:1], *(0.5 * length for length in block.size[1:]))
    return (
        f'<body name="block {k}" pos="{numbers(place)}" quat="{numbers(turn)}">{mujoco_joint(setting, k)}'
        f'<geom type="{MUJOCO_SHAPE[block.shape]}" size="{numbers(size)}" mass="{block.mass!r}" '
        f'friction="{block.surface.greatest!r} 0 0" {apart}/>'
        f"{''.join(mujoco_body(setting, child, k) for child in hanging)}</body>"
    )


def mujoco_joint(setting: Setting, k: int) -> str:
    if k not in setting.tree:
        return "" if setting.blocks[k].static else "<freejoint/>"
    joint, block = setting.tree[k], setting.blocks[k]
    into = matrix(np.array(block.orientation)).T
    limits = f'range="{numbers(joint.limits)}"' if joint.limits else ""
    brake = f'frictionloss="{joint.motor.strength!r}"' if joint.motor and joint.motor.kind == "brake" else ""
    return (
        f'<joint name="joint {k}" type="{MUJOCO_JOINT[joint.kind]}" axis="{numbers(into @ joint.axis)}" '
        f'pos="{numbers(into @ np.subtract(joint.place, block.position))}" {limits} {brake}/>'
    )


def mujoco_loop(setting: Setting, joint: Joint) -> str:
    block = setting.blocks[joint.a]
    anchor = matrix(np.array(block.orientation)).T @ np.subtract(joint.place, block.position)
    other = "" if joint.b is None else f'body2="block {joint.b}"'
    return f'<connect body1="block {joint.a}" {other} anchor="{numbers(anchor)}"/>'


def mujoco_actuator(joint: Joint) -> str:
    motor = joint.motor
    assert motor is not None
    kind = f'position kp="{motor.stiffness!r}"' if motor.kind == "servo" else "velocity"
    return (
        f'<{kind} kv="{motor.damping!r}" joint="joint {joint.a}" forcerange="{-motor.strength!r} {motor.strength!r}"/>'
    )


def seen_from(setting: Setting, parent: int | None, block: Block) -> tuple[Any, Any]:
    """Place and quaternion of a block at the start."""
    if parent is None:
        return block.position, block.orientation
    origin = setting.blocks[parent]
    into = matrix(np.array(origin.orientation)).T
    w, v = origin.orientation[0], -np.array(origin.orientation[1:])  # the inverse of the parent's
    a, b = block.orientation[0], np.array(block.orientation[1:])
    return into @ np.subtract(block.position, origin.position), (w * a - v @ b, *(w * b + a * v + np.cross(v, b)))


def numbers(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def mujoco(options: str = "", defaults: str = POINTS) -> Callable[[Setting], MujocoWorld]:
    return lambda setting: MujocoWorld(setting, options, defaults.format(constant=4 * setting.dt))


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
        self.blocks: dict[int, tuple[int, int]] = {}  # body and link of each
        for k, block in enumerate(setting.blocks):
            if k not in setting.jointed:
                self.blocks[k] = self.add(block, maximal, damping), -1
        if setting.joints:
            self.add_mechanism(setting, damping)
        self.pushed = [(self.blocks[k][0], block.force) for k, block in enumerate(setting.blocks) if any(block.force)]

    def add_plane(self, plane: Plane, maximal: bool) -> None:
        shape = self.engine.createCollisionShape(
            self.engine.GEOM_PLANE, planeNormal=plane.normal, physicsClientId=self.world
        )
        body = self.engine.createMultiBody(
            0, shape, basePosition=plane.point, useMaximalCoordinates=maximal, physicsClientId=self.world
        )
        self.engine.changeDynamics(body, -1, lateralFriction=plane.surface.factor, physicsClientId=self.world)

    def shape_of(self, block: Block, **frame: Any) -> int:
        engine, world = self.engine, {"physicsClientId": self.world}
        match block.shape:
            case "ball":
                return engine.createCollisionShape(engine.GEOM_SPHERE, radius=block.size[0], **frame, **world)
            case "capsule":
                radius, height = block.size
                return engine.createCollisionShape(engine.GEOM_CAPSULE, radius=radius, height=height, **frame, **world)
            case _:
                half = block.half.tolist()
                return engine.createCollisionShape(engine.GEOM_BOX, halfExtents=half, **frame, **world)

    def add(self, block: Block, maximal: bool, damping: float) -> int:
        engine, world, shape = self.engine, {"physicsClientId": self.world}, self.shape_of(block)
        body: int = engine.createMultiBody(
            block.mass,
            shape,
            basePosition=block.position,
            baseOrientation=scalar_last(block.orientation),
            useMaximalCoordinates=maximal,
            **world,
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

    def add_mechanism(self, setting: Setting, damping: float) -> None:
        """One tree of joints, below a block that is free or below the world. The frame of a link is where its joint is,
        and has the axes of the world at the start."""
        engine, world, tree = self.engine, {"physicsClientId": self.world}, setting.tree
        (root,) = setting.jointed - set(tree) or (None,)
        links = sorted(tree)
        number = {root: 0, None: 0} | {k: i + 1 for i, k in enumerate(links)}
        origin = {root: ORIGIN if root is None else setting.blocks[root].position, None: ORIGIN}
        origin |= {k: tree[k].place for k in links}
        kinds = {"ball": engine.JOINT_SPHERICAL, "hinge": engine.JOINT_REVOLUTE, "slider": engine.JOINT_PRISMATIC}
        inside = {k: np.subtract(setting.blocks[k].position, origin[k]).tolist() for k in links}
        turned = {k: scalar_last(setting.blocks[k].orientation) for k in links}
        shapes = [
            self.shape_of(setting.blocks[k], collisionFramePosition=inside[k], collisionFrameOrientation=turned[k])
            for k in links
        ]
        assert root is None or setting.blocks[root].orientation == UPRIGHT
        body = engine.createMultiBody(
            0.0 if root is None else setting.blocks[root].mass,
            -1 if root is None else self.shape_of(setting.blocks[root]),
            basePosition=origin[root],
            linkMasses=[setting.blocks[k].mass for k in links],
            linkCollisionShapeIndices=shapes,
            linkVisualShapeIndices=[-1] * len(links),
            linkPositions=[np.subtract(origin[k], origin[tree[k].b]).tolist() for k in links],
            linkOrientations=[(0.0, 0.0, 0.0, 1.0)] * len(links),
            linkInertialFramePositions=[inside[k] for k in links],
            linkInertialFrameOrientations=[turned[k] for k in links],
            linkParentIndices=[number[tree[k].b] for k in links],
            linkJointTypes=[kinds[tree[k].kind] for k in links],
            linkJointAxis=[tree[k].axis for k in links],
            **world,
        )
        self.blocks |= {k: (body, number[k] - 1) for k in setting.jointed}
        for k in sorted(setting.jointed):
            block = setting.blocks[k]
            engine.changeDynamics(
                body,
                number[k] - 1,
                lateralFriction=block.surface.factor,
                localInertiaDiagonal=block.moments,  # Bullet's own for capsules is that of a box about it
                linearDamping=damping,
                angularDamping=damping,
                jointDamping=0.0,
                **world,
            )
        if root is not None:
            engine.resetBaseVelocity(body, setting.blocks[root].velocity, ORIGIN, **world)
        for k in links:
            if not damping:
                engine.changeDynamics(body, number[k] - 1, maxJointVelocity=FASTEST_JOINT, **world)
            self.drive(body, number[k] - 1, tree[k])
        for joint in setting.joints:
            if joint.closes:
                self.close_loop(setting, joint)

    def drive(self, body: int, link: int, joint: Joint) -> None:
        """Limits and motor; Bullet gives every joint a motor of its own, which is taken away."""
        engine, world = self.engine, {"physicsClientId": self.world}
        if joint.limits is not None:
            lower, upper = joint.limits
            engine.changeDynamics(body, link, jointLowerLimit=lower, jointUpperLimit=upper, **world)
        motor = joint.motor
        if joint.kind == "ball":
            engine.setJointMotorControlMultiDof(
                body, link, engine.POSITION_CONTROL, targetPosition=(0, 0, 0, 1), force=(0, 0, 0), **world
            )
        elif motor is not None and motor.kind == "servo":
            engine.setJointMotorControl2(
                body, link, engine.POSITION_CONTROL, targetPosition=0.0, force=motor.strength, **world
            )
        else:
            speed, strength = (motor.speed, motor.strength) if motor is not None else (0.0, 0.0)
            engine.setJointMotorControl2(
                body, link, engine.VELOCITY_CONTROL, targetVelocity=speed, force=strength, **world
            )

    def close_loop(self, setting: Setting, joint: Joint) -> None:
        (body, link), block = self.blocks[joint.a], setting.blocks[joint.a]
        inside = matrix(np.array(block.orientation)).T @ np.subtract(joint.place, block.position)
        assert joint.b is None
        constraint = self.engine.createConstraint(
            body,
            link,
            -1,
            -1,
            self.engine.JOINT_POINT2POINT,
            ORIGIN,
            inside.tolist(),
            joint.place,
            physicsClientId=self.world,
        )
        self.engine.changeConstraint(constraint, maxForce=CLOSING_FORCE, physicsClientId=self.world)

    def step(self, count: int) -> None:
        engine, world, pushed = self.engine, self.world, self.pushed
        for _ in range(count):
            for body, force in pushed:  # a force lasts one step
                place, _ = engine.getBasePositionAndOrientation(body, physicsClientId=world)
                engine.applyExternalForce(body, -1, force, place, engine.WORLD_FRAME, physicsClientId=world)
            engine.stepSimulation(physicsClientId=world)

    def read(self) -> tuple[Any, Any, Any, Any]:
        engine, world = self.engine, {"physicsClientId": self.world}
        states = []
        for _, (body, link) in sorted(self.blocks.items()):
            if link < 0:
                states.append(
                    engine.getBasePositionAndOrientation(body, **world) + engine.getBaseVelocity(body, **world)
                )
            else:
                state = engine.getLinkState(body, link, computeLinkVelocity=1, computeForwardKinematics=1, **world)
                states.append(state[:2] + state[6:8])
        position, quaternion, velocity, spin = (np.array(part) for part in zip(*states, strict=True))
        return position, np.roll(quaternion, 1, axis=1), velocity, spin

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


def scalar_last(quaternion: Quaternion) -> Quaternion:
    w, x, y, z = quaternion
    return x, y, z, w


def bullet(maximal: bool = False, damping: float = 0.0, solver: str | None = None) -> Callable[[Setting], BulletWorld]:
    return lambda setting: BulletWorld(setting, maximal, damping, solver)


SMALL = ("slide", "stick", "slip", "stack", "slab")
JOINTS = tuple(JOINTED)
FLYING, TOUCHING = JOINTS[:4], JOINTS[4:]
STIFF = 'cone="elliptic" impratio="100" tolerance="1e-12" ls_tolerance="1e-6"'
PEERS = (
    Peer("mujoco/default", "mujoco", mujoco(), SMALL + JOINTS),
    Peer("mujoco/elliptic", "mujoco", mujoco('cone="elliptic" impratio="10"'), SMALL + TOUCHING),
    Peer("mujoco/stiff", "mujoco", mujoco(STIFF, STIFF_POINTS + STIFF_JOINTS), SMALL + TOUCHING),
    Peer("mujoco/RK4", "mujoco", mujoco('integrator="RK4"'), FLYING),
    Peer("mujoco/CG", "mujoco", mujoco('solver="CG"'), ("pile",)),
    Peer("pybullet/default", "pybullet", bullet(damping=0.04), (*SMALL, "pile", *JOINTS)),
    Peer("pybullet/undamped", "pybullet", bullet(), (*SMALL, "pile", *JOINTS)),
    Peer("pybullet/rigid", "pybullet", bullet(maximal=True), (*SMALL, "pile")),
    Peer("pybullet/Dantzig", "pybullet", bullet(maximal=True, solver="CONSTRAINT_SOLVER_LCP_DANTZIG"), SMALL),
)


def missing() -> Iterator[str]:
    """The packages that are not installed."""
    return (name for name in dict.fromkeys(peer.package for peer in PEERS) if importlib.util.find_spec(name) is None)
