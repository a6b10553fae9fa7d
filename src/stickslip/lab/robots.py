"""A robot in the lab: a model of `load_model` under one formulation, step by step.

It is drawn by its geoms, and its contacts are between them. A body that is dragged while it runs is pulled by a spring
of the mass that is felt where it was taken, that of the direction in which it is least; while it stands its joints move
so that the point follows the mouse, by damped least squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.dynamics.mujoco import LoadedModel
from stickslip.engine.recorder import Header
from stickslip.engine.steppers import How, ModelStepper
from stickslip.engine.system_simulation import SystemSimulation
from stickslip.engine.system_trajectory import ModelTrajectory
from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.limit_surface import LimitSurface
from stickslip.lab.tracks import Live, Moment, Pull, spring
from stickslip.problems.matrix import Dense, Vector
from stickslip.scene.model import Floats, State
from stickslip.scene.scene import Scene
from stickslip.scene.values import rotated
from stickslip.view.model_solids import ModelSolids

REACHES, CLOSE = 20, 1e-6  # steps of damped least squares, and how near is there   [m]
DAMPING = 0.05  # of the least squares, as a share of the largest singular value


class ModelTrack(Live):
    """A model under one formulation; its `world` is a LoadedModel."""

    sim: SystemSimulation
    solids: ModelSolids

    def start(self, dt: float, solver: str | None, tol: float | None, moment: Moment | None, now: float) -> None:
        self.sim = SystemSimulation(self.world, dt, self.law, solver, tol, keep_going=True)
        self.stepper: ModelStepper = self.sim._model("lab")
        if moment is not None:
            self.restore(moment, now)
        self.header: Header = self.sim.header
        self.solids = ModelSolids(self.world)
        if not self.kept:
            self._keep(now)

    def restore(self, moment: Moment, now: float) -> None:
        """Controls stay as they are."""
        self.stepper.number = round(now / self.sim.dt)
        self.stepper.put(moment.q, moment.v)
        self.stepper.run.data.act[:] = moment.activation

    def control(self, values: Floats) -> None:
        """From the next step on."""
        self.sim.control = values

    def now(self) -> tuple[State, Moment, tuple[float, float, float]]:
        """Joints are apart by the error of equality constraints, at worst, as the last step found it   [m, rad]."""
        data, sim, last = self.stepper.run.data, self.sim, self.stepper.last
        moment = Moment(sim.q, sim.v, np.array(data.act), np.array(data.ctrl))
        apart = 0.0 if last is None else float(np.abs(last.error[np.isposinf(last.bound)]).max(initial=0.0))
        return self.solids.at(moment.q), moment, (sim.kinetic, self.solids.potential(moment.q), apart)

    def last_step(self, seconds: float) -> tuple[dict[str, Any], Floats]:
        assert self.stepper.last is not None
        return {name: np.array(value) for name, value in self.sim.columns().items()}, self.stepper.last.patch

    def trajectory(self) -> ModelTrajectory:
        first = self.kept[0]
        start = {"q": first.moment.q, "v": first.moment.v, "kinetic": first.strip[2]}
        return ModelTrajectory(self.record(self.header, start), self.world)

    # the mouse

    def grip(self, pull: Pull, q: Vector) -> tuple[Floats, Dense]:
        """Where the point is that was taken, and its Jacobian (3, n)."""
        state, run = self.solids.at(q), self.stepper.run
        point = state.position[pull.body] + rotated(state.quaternion[pull.body], pull.grip)
        run.place(q, self.sim.v)
        J = np.zeros((3, run.model.nv))
        run.mujoco.mj_jac(run.model, run.data, J, None, point, int(self.solids.body[pull.body]))
        return point, J

    def pull(self, pull: Pull | None) -> None:
        data = self.stepper.run.data
        data.xfrc_applied[:] = 0.0
        self.held = None
        if pull is None or pull.body >= len(self.solids.body):
            return
        point, J = self.grip(pull, self.sim.q)
        lightest = float(np.linalg.eigvalsh(J @ np.linalg.solve(self.stepper.run.mass(), J.T)).max(initial=0.0))
        if lightest <= 0:
            return  # it cannot move
        force = spring(pull.target - point, J @ self.sim.v, self.sim.dt) / lightest
        body = int(self.solids.body[pull.body])
        self.sim.apply(self.world.bodies[body], force, np.cross(point - data.xipos[body], force))
        self.held = pull.body

    def put(self, i: int, pull: Pull) -> None:
        q = self.moment(i).q
        for _ in range(REACHES):
            point, J = self.grip(pull, q)
            away = pull.target - point
            if np.linalg.norm(away) <= CLOSE or not J.any():
                break
            damped = J @ J.T + (DAMPING * np.linalg.norm(J, 2)) ** 2 * np.eye(3)
            q = self.within(self.world.moved(q, J.T @ np.linalg.solve(damped, away)))
        self.place(q)

    def within(self, q: Vector) -> Vector:
        """q with its hinges and sliders within their limits."""
        m = self.world.original
        own = np.flatnonzero(m.jnt_limited.astype(bool) & (m.jnt_type >= 2))
        at, q = m.jnt_qposadr[own], q.copy()
        q[at] = np.clip(q[at], m.jnt_range[own, 0], m.jnt_range[own, 1])
        return q

    def place(self, q: Vector) -> None:
        """Be elsewhere now, at rest."""
        self.stepper.put(q, np.zeros(self.world.velocities))
        self.again()

    # questions

    def step_problem(self, i: int) -> tuple[ContactProblem, Vector]:
        """With the actuators as they were."""
        if not i:
            raise InputError("lab: no step led here, expected an instant after the first")
        kept, before = self.kept[i], self.kept[i - 1].moment
        law = LimitSurface() if kept.patch.any() else Coulomb()
        how = How(self.lasted(i), law, "auto", 1e-8, None)
        stepper = ModelStepper(kept.world, before.q, before.v, how, None, kept.moment.control)
        stepper.run.data.act[:] = before.activation
        return stepper.problem(stepper.look()), kept.moment.v

    def standing(self, i: int, before: bool = False) -> Scene:
        raise InputError("lab: a robot is no scene, expected a scene to write as YAML; its own file is unchanged")


def joint_ranges(model: LoadedModel) -> dict[str, tuple[float, float]]:
    """The limits of hinges and sliders, half a turn or a metre each way where there are none   [rad, m]."""
    m, found = model.original, {}
    for i in np.flatnonzero(m.jnt_type >= 2):
        far = 1.0 if m.jnt_type[i] == 2 else np.pi  # a slider, a hinge
        low, high = m.jnt_range[i] if m.jnt_limited[i] else (-far, far)
        found[model.joints[i]] = float(low), float(high)
    return found


def control_ranges(model: LoadedModel) -> dict[str, tuple[float, float]]:
    """Those of the file; where it gives none, of a motor what lifts the model, of a servo its joint's range."""
    m, found = model.original, {}
    weight = float(m.body_subtreemass[0] * np.linalg.norm(m.opt.gravity)) or 1.0
    for i, name in enumerate(model.actuators):
        joint = int(m.actuator_trnid[i, 0]) if m.actuator_trntype[i] == 0 else -1
        servo = m.actuator_biastype[i] != 0 and m.actuator_biasprm[i, 1] != 0  # force -kp (length - ctrl)
        if m.actuator_ctrllimited[i]:
            low, high = m.actuator_ctrlrange[i]
        elif servo and joint >= 0 and m.jnt_limited[joint]:
            low, high = m.jnt_range[joint]
        else:
            far = np.pi if servo else 2 * weight / max(abs(float(m.actuator_gear[i, 0])), 1e-9)
            low, high = -far, far
        found[name] = float(low), float(high)
    return found
