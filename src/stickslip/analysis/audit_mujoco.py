"""What an audit reads off MuJoCo: forces and velocities of the contacts of a step, MuJoCo's own or of a record.

mj_step leaves in its data the contacts, forces and Jacobians of the start of the step, and q and v of its end: all that
is graded. Of a record of states alone the forces are those that MuJoCo finds at each state, and v⁺ is that of the next.
A Trajectory of `simulate` has its impulses with it: it is graded by these.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stickslip.analysis.audit import Audit, Grades, Touching, steps_in
from stickslip.checks import floats, shown, vector
from stickslip.dynamics.model_rows import FOUND, GAP, MU
from stickslip.dynamics.mujoco import LoadedModel, audited, engine_of
from stickslip.engine.steppers import How, ModelStepper
from stickslip.engine.system_trajectory import ModelTrajectory
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.problems.matrix import Dense, Vector

STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")  # of MjData, what a step starts from
UNEVEN = 1e-6  # share of the step up to which steps are equal


def audit_mujoco(model: Any, data: Any, seconds: float, control: Any, settings: dict[str, Any]) -> Audit:
    """`audit` of a model of MuJoCo."""
    mujoco = engine_of("audit")
    loaded = audited(model)
    if isinstance(data, ModelTrajectory):
        return of_trajectory(loaded, data)
    m = changed(loaded, settings)
    d = mujoco.MjData(m)
    if data is None or isinstance(data, mujoco.MjData):
        for name in STATE if data is not None else ():
            getattr(d, name)[:] = getattr(data, name)
        judge = Judge(mujoco, loaded, m, d, control)
        for _ in range(steps_in(seconds, m.opt.timestep)):
            judge.step()
        return judge.verdict(settings)
    if control is not None:
        raise InputError("audit: control is given with a record, expected it as 'ctrl' in the record")
    if isinstance(data, Sequence) and len(data) and all(isinstance(each, mujoco.MjData) for each in data):
        judge = Judge(mujoco, loaded, m, d, None)
        for before, after in zip([None, *data[:-1]], data, strict=True):
            judge.recorded(before, after)
        return judge.verdict(settings)
    states = states_of(m, d, data)
    m.opt.timestep = float(states["time"][1] - states["time"][0])
    judge = Judge(mujoco, loaded, m, d, None)
    for k in range(len(states["time"]) - 1):
        judge.between({name: values[k] for name, values in states.items()}, states["qvel"][k + 1])
    return judge.verdict(settings)


def states_of(m: Any, d: Any, data: Any) -> dict[str, Dense]:
    """A record of states by the names of STATE, each as large as in `d`, and its times."""
    names = (*STATE, "time")
    if isinstance(data, Mapping):
        given = dict(data)
    elif hasattr(data, "qpos") and hasattr(data, "qvel"):
        given = {name: getattr(data, name) for name in names if getattr(data, name, None) is not None}
    elif isinstance(data, tuple | list) and 2 <= len(data) <= 3:
        given = dict(zip(("qpos", "qvel", "ctrl"), data, strict=False))
    else:
        raise InputError(
            f"audit: data is {shown(data)}, expected a mujoco.MjData, a list of "
            "them, a Trajectory of a model, or arrays qpos and qvel over time"
        )
    for name in given:
        if name not in names:
            raise InputError(f"audit: data has {name!r}, expected {', '.join(names)}")
    for name in ("qpos", "qvel"):
        if name not in given:
            raise InputError(f"audit: data has no {name!r}, expected qpos and qvel over time")
    states = {name: floats("audit", f"data[{name!r}]", values) for name, values in given.items()}
    count = len(states["qpos"]) if states["qpos"].ndim else 0
    if count < 2:
        raise InputError(f"audit: data['qpos'] has {count} states, expected two or more, one step apart")
    for name, values in states.items():
        shape = (count,) if name == "time" else (count, getattr(d, name).size)
        if values.size != math.prod(shape):
            raise InputError(f"audit: data[{name!r}] has shape {values.shape}, expected {shape}")
        states[name] = values.reshape(shape)
    time = states.setdefault("time", m.opt.timestep * np.arange(count))
    steps = np.diff(time)
    if not (steps > 0).all() or np.ptp(steps) > UNEVEN * steps[0]:
        found = f"from {steps.min():g} to {steps.max():g} s"
        raise InputError(f"audit: data['time'] has steps {found}, expected equal ones above 0")
    return states


def of_trajectory(loaded: LoadedModel, run: ModelTrajectory) -> Audit:
    """A run of ours, by the impulses and velocities that it has with it."""
    m, h = loaded.original, float(run.header.dt)
    if run.q.shape[1] != m.nq or run.header.names != loaded.geoms:
        raise InputError(f"audit: data is a run of {run.header.name!r}, expected one of {loaded.name!r}")
    grades = Grades(weight_of(m))
    for k in range(len(run)):
        table = run.contacts(k)
        count = len(table.gap)
        contacts = Touching(
            f=table.impulse.reshape(count, 3) / h,
            u=table.velocity.reshape(count, 3),
            before=np.zeros((count, 3)),
            mu=table.friction,
            gap=table.gap,
            rho=np.ones(count),
        )
        names = loaded.contact_names(np.column_stack([table.body_b, table.body_a]))
        whole = {"residual": float(run.residual[k]), "wrong": float(run.velocity_error[k])}
        grades.add(float(run.time[k]), h, contacts, names.__getitem__, **whole)
    return grades.verdict(name=loaded.name, settings={}, dt=h, failures=0, engine="stickslip")


def weight_of(m: Any) -> float:
    """[N]"""
    return float(m.body_mass.sum()) * float(np.linalg.norm(m.opt.gravity))


def changed(loaded: LoadedModel, settings: dict[str, Any]) -> Any:
    """A copy of the model as the file has it, with other settings."""
    m = copy.copy(loaded.original)
    for name, value in settings.items():
        match name:
            case "cone" | "noslip_iterations":
                setattr(m.opt, name, int(value))
            case "impratio":
                m.opt.impratio = float(value)
            case "timestep":
                m.opt.timestep *= float(value)
            case "solref":
                time = float(value) * loaded.timestep * float(settings.get("timestep", 1.0))
                m.geom_solref[:, 0] = m.pair_solref[:, 0] = time
            case _:
                known = "cone, impratio, noslip_iterations, solref or timestep"
                raise InputError(f"audit: settings has {name!r}, expected {known}")
    return m


class Judge:
    """MuJoCo under way, or a record of it, with a stepper of ours that solves each of its steps exactly."""

    def __init__(self, mujoco: Any, loaded: LoadedModel, m: Any, d: Any, control: Any) -> None:
        self.mujoco, self.loaded, self.m, self.d, self.control = mujoco, loaded, m, d, control
        how = How(float(m.opt.timestep), Coulomb(stabilisation=None), "auto", 1e-8, None, recovery=0.0)
        self.exact = ModelStepper(loaded, loaded.home, None, how, None, None)
        self.grades = Grades(weight_of(m))
        self.failures = 0

    def step(self) -> None:
        """One step of MuJoCo, graded."""
        m, d, mj = self.m, self.d, self.mujoco
        if self.control is not None:
            told = self.control(d.time, d.qpos.copy(), d.qvel.copy()) if callable(self.control) else self.control
            d.ctrl[:] = vector("audit", "control", told, m.nu)
        now, v = float(d.time), d.qvel.copy()
        mj.mj_forward(m, d)
        touching, tag = self.contacts(d, v)
        exact = self.solved(d)
        mj.mj_step(m, d)
        self.grade(now, touching, tag, d.qvel, exact)

    def recorded(self, before: Any, after: Any) -> None:
        """A step of which MuJoCo's data are there, as they were after it; `before` it, where that was recorded too."""
        h = self.exact.how.h
        now = float(after.time) - h
        consecutive = before is not None and abs(float(before.time) - now) < UNEVEN * h
        v = before.qvel if consecutive else after.qvel - h * after.qacc
        touching, tag = self.contacts(after, v)
        exact = None
        if consecutive:
            self.put({name: getattr(before, name) for name in STATE} | {"ctrl": after.ctrl, "time": now})
            exact = self.solved(self.d)
        self.grade(now, touching, tag, after.qvel, exact)

    def between(self, state: Mapping[str, Any], v_next: Vector) -> None:
        """A step of which the state at its start is there, and the velocity at its end."""
        d, h = self.d, self.exact.how.h
        self.put(state)
        d.qacc_warmstart[:] = (v_next - state["qvel"]) / h
        self.mujoco.mj_forward(self.m, d)
        touching, tag = self.contacts(d, state["qvel"])
        self.grade(float(state["time"]), touching, tag, v_next, self.solved(d))

    def put(self, state: Mapping[str, Any]) -> None:
        """MuJoCo at a state."""
        for name, value in state.items():
            if name == "time":
                self.d.time = float(value)
            else:
                getattr(self.d, name)[:] = np.reshape(value, getattr(self.d, name).shape)

    def contacts(self, d: Any, v: Vector) -> tuple[Any, Any]:
        """The contacts of some data, u⁺ yet to come: what is graded, with A in the place of u, and their geoms."""
        m, mj = self.m, self.mujoco
        J, contact, tag = self.exact.run.contacts_of(d)
        A, six, f = J[: 3 * len(contact)], np.zeros(6), np.zeros((len(contact), 3))
        for i, found in enumerate(tag[:, FOUND]):
            mj.mj_contactForce(m, d, int(found), six)
            f[i] = six[:3]
        M = np.zeros((m.nv, m.nv))
        mj.mj_fullM(m, d, M)
        own = (A * np.linalg.solve(M, A.T).T).sum(axis=1).reshape(-1, 3).sum(axis=1)  # tr W_ii
        rho = 3.0 / np.maximum(own, 1e-300)
        before = (A @ v).reshape(-1, 3)
        return Touching(f, A, before, contact[:, MU].copy(), contact[:, GAP].copy(), rho), tag[:, :2]

    def solved(self, d: Any) -> Vector | None:
        """v⁺ of the same step by (1) of audit.py; None where it is not solved."""
        stepper = self.exact
        run = stepper.run
        for name in STATE[2:]:
            getattr(run.data, name)[:] = getattr(d, name)
        stepper.number = round(float(d.time) / stepper.how.h)
        kept = stepper.impulse, stepper.last, run.known, run.first_new
        stepper.put(d.qpos, d.qvel)
        stepper.impulse, stepper.last, run.known, run.first_new = kept
        one = stepper.step()
        if one.graded(1e-6) != 0:
            self.failures += 1
            return None
        stepper.last = one.now
        run.remember(one.now)
        stepper.impulse, stepper.joints = one.impulse.reshape(-1, 3), one.joints
        return one.after

    def grade(self, now: float, touching: Touching, geom: Any, end: Vector, exact: Vector | None) -> None:
        """A step to `end`, which an exact step leads to `exact`."""
        h = self.exact.how.h
        contacts = touching._replace(u=(touching.u @ end).reshape(-1, 3))
        apart = math.nan if exact is None else float(np.abs(end - exact).max()) / h
        names = self.loaded.contact_names
        self.grades.add(now, h, contacts, lambda i: names(geom[i : i + 1])[0], difference=apart)

    def verdict(self, settings: Mapping[str, Any]) -> Audit:
        h = self.exact.how.h
        return self.grades.verdict(name=self.loaded.name, settings=settings, dt=h, failures=self.failures)
