"""`integrate_scene(scene, ...)`: a scene whose contacts are springs and dampers, integrated with an adaptive step.

    ẋ = v,   q̇ = ½ ω ⊗ q,      M v̇ = f - c + Aᵀ λ(g, u) + Gᵀ ν,      G v̇ + Ġ v = 0                                 (1)

with the forces of friction/penalty.py at every contact that overlaps, all of them found anew wherever the integrator
looks. Bodies that move as prescribed do so. Rigid joints hold at the level of accelerations; limits, motors, efforts
and compliant joints are refused. The trajectory has the instants that the integrator chose; of each step the impulse
of a contact is its force at the end, times the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import checked, instance, one_of, positive
from stickslip.dynamics.joints import JointRows, joint_rows, room_for_joints
from stickslip.engine.arguments import SCENE, spring_seconds
from stickslip.engine.engine import Engine
from stickslip.engine.integrate import Method, in_words, integrated, small_steps
from stickslip.engine.recorder import Header, Recorder
from stickslip.engine.rows import FOUND
from stickslip.engine.snapshot import (
    AHEAD,
    Arrays,
    fastest,
    joints_of,
    looking,
    moved,
    of_contacts,
    of_rows,
    prescribed,
)
from stickslip.engine.step_problem import FreeRows, engine_problem, free_rows, generalized, gyroscopic, mass_matrix
from stickslip.engine.system_trajectory import in_space
from stickslip.engine.trajectory import Trajectory
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.penalty import Penalty
from stickslip.problems.contact_states import State as ContactState
from stickslip.problems.matrix import Dense, Vector, as_dense
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Kind, State
from stickslip.scene.scene import Scene

OWNER = "integrate_scene"


@checked(scene=SCENE, duration=spring_seconds, contact=instance(Penalty), rtol=positive, method=one_of(Method))
def integrate_scene(
    scene: Scene, duration: float, contact: Penalty, rtol: float = 1e-8, method: Method = "Radau"
) -> Trajectory:
    """Integrate a scene as it stands for `duration` seconds, its contacts the springs and dampers of a Penalty.

    Friction is the kinetic one of the materials. For a few bodies: every contact is seen by Python.
    """
    sprung = Sprung.of(scene, contact)
    y0 = sprung.pack(sprung.arrays.state)
    speed = max(fastest(sprung.arrays.model, sprung.arrays.state), contact.slip_speed)
    heaviest = float(sprung.M(sprung.arrays.engine).diagonal().max(initial=1.0))
    softness = speed / np.sqrt(contact.stiffness / heaviest)
    counts = 7 * len(sprung.arrays.model.kind), sprung.free.size
    scale = np.repeat([min(1.0, softness), speed], counts)
    steps = np.repeat(small_steps(speed, softness, contact), counts)
    run = integrated(OWNER, sprung.rate, duration, y0, method, rtol, scale, steps)
    return sprung.recorded(run.t, run.y.T, method, rtol)


class Pushed(NamedTuple):
    """The contacts of a scene in one state, (n, ...) each, and what they do to bodies."""

    force: Dense  # (n, d)
    u: Dense  # (n, d)
    mu: Vector
    wrench: Dense  # (nb, 6)


@dataclass(frozen=True, eq=False)
class Sprung:
    """A scene as (1)."""

    arrays: Arrays
    contact: Penalty
    free: FreeRows
    rigid: Any  # (m,) of bool: the joint rows that hold
    joints: JointRows  # room to work

    @classmethod
    def of(cls, scene: Scene, contact: Penalty) -> Sprung:
        model, state, drives = compile_scene(scene)
        arrays = Arrays(scene, model, state, drives, looking(model, state.copy(), drives, Coulomb()))
        rigid, left_out = joints_of(arrays, engine_problem(arrays.engine))
        if not rigid.all() or left_out:
            raise InputError(f"{OWNER}: the scene has limits, motors or compliant joints, expected rigid joints only")
        if drives.motors is not None and drives.motors.effort.any():
            raise InputError(f"{OWNER}: a joint has an effort, expected none")
        return cls(arrays, contact, free_rows(model), rigid, room_for_joints(model))

    def pack(self, state: State) -> Vector:
        free = self.free
        v = state.velocity[free.body, free.component]
        return np.concatenate([state.position.ravel(), state.quaternion.ravel(), v])

    def state(self, t: float, y: Vector) -> State:
        """The bodies as y has them, quaternions of length 1, and the velocities of what is moved."""
        n, free, start = len(self.arrays.model.kind), self.free, self.arrays.state
        quaternion = y[3 * n : 7 * n].reshape(n, 4)
        velocity = prescribed(self.arrays.model, start.velocity).copy()
        velocity[free.body, free.component] = y[7 * n :]
        quaternion = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
        state = State(y[: 3 * n].reshape(n, 3).copy(), quaternion, velocity)
        self.arrays.drives.prescribe(t, state)
        return state

    def looked(self, state: State) -> Engine:
        """The engine, which has looked for contacts in a state."""
        engine = self.arrays.engine
        for mine, given in zip(engine.state, state, strict=True):
            mine[:] = given
        engine.restart()
        engine.look_ahead()
        return engine

    def M(self, engine: Engine) -> Dense:
        return as_dense(mass_matrix(self.arrays.model, self.free, engine.state.quaternion))

    def pushed(self, engine: Engine) -> Pushed:
        """The springs of the contacts that were found."""
        work, model = engine.work, self.arrays.model
        n, rows, contacts = int(work.count[FOUND]), work.rows, work.contacts
        u = of_contacts(engine, engine.state.velocity)
        a, b = (model.shape_material[shape[:n]] for shape in (contacts.shape_a, contacts.shape_b))
        mu = model.friction_kinetic[a, b]
        each = zip(contacts.gap[:n].tolist(), u, mu.tolist(), strict=True)
        force = np.array([self.contact.force(gap, slip, one) for gap, slip, one in each]).reshape(u.shape)
        wrench = np.zeros((model.kind.size, 6))
        np.add.at(wrench, rows.body[:n], np.einsum("isck,ic->isk", rows.jacobian[:n], force))
        return Pushed(force, u, mu, wrench)

    def rate(self, t: float, y: Vector) -> Vector:
        if not np.isfinite(y).all():  # a step far too long; the method tries a shorter one
            return np.full(y.size, np.nan)
        state = self.state(t, y)
        engine = self.looked(state)
        M, model, free = self.M(engine), self.arrays.model, self.free
        whole = self.pushed(engine).wrench
        whole[:, :3] += model.force + np.where(model.kind[:, None] == Kind.FREE, model.mass[:, None], 0) * model.gravity
        whole[:, 3:] += model.torque
        self.arrays.drives.add_forces(t, state, model, whole[:, :3], whole[:, 3:])
        whole[:, 3:] -= gyroscopic(model, state.quaternion, state.velocity[:, 3:])
        acceleration = np.linalg.solve(M, whole[free.body, free.component])
        if self.rigid.size:
            G, drifts = self.held(state)
            back = np.linalg.solve(M, G.T)
            pull = np.linalg.pinv(G @ back, hermitian=True)
            acceleration = acceleration - back @ (pull @ (G @ acceleration + drifts))
        turning = 0.5 * spun(state.velocity[:, 3:], state.quaternion)
        return np.concatenate([state.velocity[:, :3].ravel(), turning.ravel(), acceleration])

    def held(self, state: State) -> tuple[Dense, Vector]:
        """G and Ġ v of the joints."""
        model, free = self.arrays.model, self.free
        e = AHEAD / max(fastest(model, state), 1e-12)
        ahead, behind = (self.row_velocities(moved(state, s * e), state.velocity) for s in (1.0, -1.0))
        rows = self.joints
        joint_rows(model, state, 1.0, rows)
        body = np.stack([rows.body_a, rows.body_b], axis=1)
        jacobian = np.stack([rows.jacobian_a, rows.jacobian_b], axis=1)[:, :, None, :]
        return as_dense(generalized(free, body, jacobian)).T, (ahead - behind) / (2 * e)

    def row_velocities(self, state: State, velocity: Dense) -> Vector:
        joint_rows(self.arrays.model, state, 1.0, self.joints)
        return of_rows(self.joints, velocity)

    def recorded(self, time: Vector, y: Dense, method: str, rtol: float) -> Trajectory:
        scene, model = self.arrays.scene, self.arrays.model
        header = Header.of(model, scene.names, scene.joint_names, **in_words(self.contact, method, rtol))
        states = [self.state(t, one) for t, one in zip(time.tolist(), y, strict=True)]
        columns = [self.contacts_of(state, step) for state, step in zip(states[1:], np.diff(time), strict=True)]
        recorder = Recorder(header, states[0]._asdict())
        counts = [len(one["gap"]) for one in columns]
        steps = time.size - 1
        recorder.append(
            {name: np.array([getattr(state, name) for state in states[1:]]) for name in State._fields}
            | {"time": time[1:], "method": np.ones(steps), "contact_start": np.concatenate([[0], np.cumsum(counts)])}
            | {f"contacts/{name}": np.concatenate([one[name] for one in columns]) for name in columns[0]}
        )
        return Trajectory(recorder.finish())

    def contacts_of(self, state: State, step: float) -> dict[str, Any]:
        """The columns of the contacts that push in a state."""
        engine = self.looked(state)
        found = self.pushed(engine)
        contacts, rows = engine.work.contacts, engine.work.rows
        on = np.flatnonzero(found.force[:, 0] > 0)
        slides = np.linalg.norm(found.u[on, 1:], axis=1) > self.contact.slip_speed
        return {
            **{name: getattr(contacts, name)[on].copy() for name in contacts._fields},
            "friction": found.mu[on],
            "impulse": in_space(step * found.force[on]),
            "velocity": in_space(found.u[on]),
            "state": np.where(slides, ContactState.SLIP, ContactState.STICK),
            "tangent": rows.frame[on, 1].copy(),
        }


def spun(spin: Dense, quaternion: Dense) -> Dense:
    """ω ⊗ q, both of world axes, (nb, 4)."""
    w, vector = quaternion[:, :1], quaternion[:, 1:]
    scalar = -np.sum(spin * vector, axis=1, keepdims=True)
    return np.hstack([scalar, w * spin + np.cross(spin, vector)])
