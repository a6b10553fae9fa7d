"""What an audit reads off PyBullet [1]: forces and velocities of the contacts of a step.

stepSimulation finds contacts at the start of the step, and leaves their forces: normal, on body A along the normal that
points to it, and friction along two directions. Velocities of a contact are those of its point in either link, with the
positions of the start and the velocities of the end of the step. The friction of a pair is the product of both, as
Bullet takes it. W_ii comes from Bullet's own mass matrix and Jacobians, whose columns are, of a body with a free base,
its angular and linear velocity in its own axes, then the joints. With substeps, what is there is that of the last one.

[1] Coumans, Bai, PyBullet, a Python module for physics simulation in robotics, games and machine learning. pybullet.org
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.analysis.audit import Audit, Grades, Touching, steps_in
from stickslip.checks import path as file_path
from stickslip.dynamics.contact_rows import fill_frame
from stickslip.errors import FileError, InputError
from stickslip.problems.matrix import Dense, Vector

OWNER = "audit"
GRAVITY = 9.81  # of a world that is made of a file   [m/s²]
MOST_FRICTION = 10.0  # Bullet's own bound
ONE_VELOCITY = ("JOINT_REVOLUTE", "JOINT_PRISMATIC")  # kinds of joints that matrices are asked for


@dataclass
class Body:
    """A body of a world, at an instant; link 0 is its base, link i + 1 its link i."""

    place: Dense  # (links, 3)   of the centres of mass
    origin: Dense  # (links, 3)   of the frames that Jacobians refer to: of links, and the base's centre of mass
    turn: Dense  # (links, 3, 3)   of the same
    velocity: Dense  # (links, 6)   linear and angular
    joints: list[float]  # positions of those that move


def audit_pybullet(model: Any, seconds: float, floating: bool, ground: float | None) -> Audit:
    """`audit` of a world of PyBullet, or of one that is made of a file."""
    if not hasattr(model, "getContactPoints"):
        name, own = Path(file_path(OWNER, "model", model)).stem, world_of(model, floating, ground)
        try:
            return run(own, name, seconds)
        finally:
            own.disconnect()
    if not model.isConnected():
        raise InputError("audit: model is a PyBullet world that is not connected, expected pybullet.connect(...) first")
    kept = model.saveState()
    try:
        return run(model, "world", seconds)
    finally:
        model.restoreState(kept)
        model.removeState(kept)


def world_of(path: str | os.PathLike[str], floating: bool, ground: float | None) -> Any:
    """A world with the model of a file, gravity and, where it is asked for, the ground."""
    try:
        import pybullet
        from pybullet_utils.bullet_client import BulletClient
    except ModuleNotFoundError:
        raise InputError("audit: PyBullet is missing, expected it to be there: pip install pybullet") from None
    file = Path(path)
    if not file.is_file():
        raise FileError(f"audit: {str(file)!r} is no file, expected a URDF or MJCF file")
    world = BulletClient(connection_mode=pybullet.DIRECT)
    try:
        world.setGravity(0.0, 0.0, -GRAVITY)
        if ground is not None:
            plane = world.createCollisionShape(pybullet.GEOM_PLANE)
            world.createMultiBody(0.0, plane, basePosition=[0.0, 0.0, float(ground)])
        if file.suffix == ".urdf":
            world.loadURDF(str(file), useFixedBase=not floating)
        else:
            world.loadMJCF(str(file))
    except pybullet.error as error:
        world.disconnect()
        raise FileError(f"audit: {str(file)!r} could not be read, PyBullet says: {str(error).rstrip('.')}") from None
    return world


def run(world: Any, name: str, seconds: float) -> Audit:
    """So many seconds of a world, graded."""
    settings = world.getPhysicsEngineParameters()
    step = float(settings["fixedTimeStep"])
    h = step / max(1, int(settings["numSubSteps"]))
    gravity = np.linalg.norm([settings[f"gravityAcceleration{axis}"] for axis in "XYZ"])
    judge = Judge(world)
    grades = Grades(judge.mass() * float(gravity))
    for k in range(steps_in(seconds, step)):
        before = judge.state()
        world.stepSimulation()
        found = world.getContactPoints() or ()
        contacts = judge.contacts(found, before, judge.state())
        names = [judge.contact_name(one) for one in found]
        grades.add(k * step, h, contacts, names.__getitem__)
    return grades.verdict(name=name, settings={}, dt=step, failures=0, engine="PyBullet")


class Judge:
    """A world, and what of it stays as it is."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.bodies = [world.getBodyUniqueId(i) for i in range(world.getNumBodies())]
        self.links = {body: world.getNumJoints(body) for body in self.bodies}
        joints = {body: [world.getJointInfo(body, i) for i in range(self.links[body])] for body in self.bodies}
        simple = {getattr(world, name) for name in ONE_VELOCITY}
        self.moving = {body: [info[0] for info in infos if info[3] >= 0] for body, infos in joints.items()}
        self.known = {body: all(info[2] in simple for info in infos if info[3] >= 0) for body, infos in joints.items()}
        self.dynamics = {
            (body, link): world.getDynamicsInfo(body, link)[:2]
            for body in self.bodies
            for link in range(-1, self.links[body])
        }
        self.names = {body: world.getBodyInfo(body)[1].decode() or f"body {body}" for body in self.bodies}
        self.link_names = {(body, info[0]): info[12].decode() for body, infos in joints.items() for info in infos}

    def mass(self) -> float:
        """[kg]"""
        return float(sum(mass for mass, _ in self.dynamics.values()))

    def state(self) -> dict[int, Body]:
        return {body: self.state_of(body) for body in self.bodies}

    def state_of(self, body: int) -> Body:
        world, links = self.world, range(self.links[body])
        place, turn = world.getBasePositionAndOrientation(body)
        states = world.getLinkStates(body, links, computeLinkVelocity=1, computeForwardKinematics=1) if links else ()
        own = [(state[0], state[4], state[5], np.concatenate(state[6:8])) for state in states]
        base = place, place, turn, np.concatenate(world.getBaseVelocity(body))
        places, origins, turns, velocities = zip(base, *own, strict=True)
        rotations = [np.reshape(world.getMatrixFromQuaternion(each), (3, 3)) for each in turns]
        moving = self.moving[body]
        joints = [state[0] for state in world.getJointStates(body, moving)] if moving else []
        return Body(np.array(places), np.array(origins), np.array(rotations), np.array(velocities), joints)

    def contacts(self, found: Any, before: dict[int, Body], after: dict[int, Body]) -> Touching:
        """The contacts that PyBullet found in a step between two states."""
        count = len(found)
        f, u, start = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
        mu, gap, rho = np.zeros(count), np.zeros(count), np.zeros(count)
        inverse: dict[int, Any] = {}
        frame = np.zeros((3, 3))
        for i, one in enumerate(found):
            sides = (one[1], one[3]), (one[2], one[4])
            place = np.array(one[6])
            x, y, z = one[7]
            fill_frame(x, y, z, False, frame)
            force = one[9] * np.array(one[7]) + one[10] * np.array(one[11]) + one[12] * np.array(one[13])
            f[i] = frame @ force
            for velocity, then in ((u, after), (start, before)):
                a, b = (velocity_at(before[body], then[body], link, place) for body, link in sides)
                velocity[i] = frame @ (a - b)
            mu[i] = min(self.dynamics[sides[0]][1] * self.dynamics[sides[1]][1], MOST_FRICTION)
            gap[i] = one[8]
            own = sum(self.response(body, link, place, before[body], inverse) for body, link in sides)
            rho[i] = 3.0 / own if own > 0 else np.nan
        return Touching(f, u, start, mu, gap, rho)

    def response(self, body: int, link: int, place: Vector, at: Body, inverse: dict[int, Any]) -> float:
        """What a body adds to tr W_ii: tr J M⁻¹ Jᵀ of a point; 0 where it is fixed, NaN where M is not known."""
        free = self.dynamics[body, -1][0] > 0
        if not free and not self.moving[body]:
            return 0.0
        if not self.known[body]:
            return np.nan
        if body not in inverse:
            inverse[body] = self.inverse_mass(body, at)
        if inverse[body] is None:
            return np.nan
        J = self.jacobian(body, link, at.turn[link + 1].T @ (place - at.origin[link + 1]), at, len(inverse[body]))
        return float(np.trace(J @ inverse[body] @ J.T)) if J.shape[1] == len(inverse[body]) else np.nan

    def inverse_mass(self, body: int, at: Body) -> Dense | None:
        """M⁻¹; None where Bullet refuses, as it does for inertias that no body can have, or M cannot be inverted."""
        try:
            M = np.array(self.world.calculateMassMatrix(body, at.joints))
        except (SystemError, self.world.error):
            return None
        return np.linalg.inv(M) if np.linalg.cond(M) < 1 / np.finfo(float).eps else None

    def jacobian(self, body: int, link: int, local: Vector, at: Body, columns: int) -> Dense:
        """(3, columns) of a point of a link, in the axes of the base; Bullet knows none of a base."""
        if link >= 0:
            rest = [0.0] * len(at.joints)
            return np.array(self.world.calculateJacobian(body, link, local.tolist(), at.joints, rest, rest)[0])
        J = np.zeros((3, columns))
        if self.dynamics[body, -1][0] > 0:
            J[:, :3], J[:, 3:6] = -np.cross(np.eye(3), local).T, np.eye(3)
        return J

    def contact_name(self, one: Any) -> str:
        first, second = (self.link_name(body, link) for body, link in ((one[1], one[3]), (one[2], one[4])))
        return f"{first} on {second}"

    def link_name(self, body: int, link: int) -> str:
        return self.names[body] if link < 0 else f"{self.names[body]} {self.link_names[body, link]}"


def velocity_at(before: Body, after: Body, link: int, place: Vector) -> Vector:
    """Of a point of a link that lay there before the step, with its velocity after it."""
    velocity = after.velocity[link + 1]
    return velocity[:3] + np.cross(velocity[3:], place - before.place[link + 1])
