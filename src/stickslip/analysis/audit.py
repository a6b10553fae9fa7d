"""An audit of MuJoCo's contacts by Coulomb's law, step by step, and what the same step does under that law exactly.

MuJoCo runs as it is. At each step its contact forces f and the velocities u⁺ = A(q) v⁺ that the step ends with are held
against the law of rigid contact with friction,

    0 <= f_n ⊥ u_n⁺ >= 0,     |f_t| <= μ f_n,     f_t against u_t⁺ where it slides, u_t⁺ = 0 where |f_t| < μ f_n     (1)

    creep          |u_t⁺| of contacts that press and have friction to spare, |f_t| < SPARE μ f_n: they should stick
    outside        |f_t| above μ f_n, as a share of it
    pull           -f_n where that is positive
    power          f_t·u_t⁺ where friction drives, which it never should
    penetration    how deep bodies overlap
    wrong          the velocity that (1) does not allow at the worst contact, |p - P(p - ρ ũ)| / ρ with p = h f
    difference     of the acceleration from that of the same step, from the same state, solved by (1) without softness

Softness is MuJoCo's choice and not an error: forces that are unique and smooth functions of the state can be inverted
and differentiated, and a solver for them is quick. This tells what it costs in a given model. Its settings `impratio`
and `cone`, `noslip_iterations`, `solref` and `timestep` change that; `audit_settings` runs the audit for each.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.checks import checked, either, function, instance, mapping, one_of, vector
from stickslip.dynamics.mujoco import LoadedModel, Run, audited, engine_of
from stickslip.engine.arguments import seconds as seconds_kind
from stickslip.engine.steppers import How, ModelStepper
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.problems.matrix import Vector
from stickslip.problems.residual import cone_map_length, relative_cone_map

SPARE = 0.95  # share of μ f_n below which friction should hold
FORCE = 1e-6  # share of the largest normal force of a step, and of the weight, below which a contact does not press
MEASURES = {
    "creep": ("creep where it should stick", "m/s"),
    "outside": ("friction outside its cone", "share"),
    "pull": ("normal force that pulls", "N"),
    "power": ("power of friction that drives", "W"),
    "penetration": ("penetration", "m"),
    "wrong": ("velocity that Coulomb's law forbids", "m/s"),
    "residual": ("residual", ""),
    "difference": ("acceleration apart from the exact step", "m/s², rad/s²"),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "elliptic cones": {"cone": 1},
    "elliptic cones, impratio 100": {"cone": 1, "impratio": 100.0},
    "noslip_iterations 10": {"noslip_iterations": 10},
    "solref of two steps": {"solref": 2.0},
    "a quarter of the step": {"timestep": 0.25},
    "all of these": {"cone": 1, "impratio": 100.0, "noslip_iterations": 10, "solref": 2.0, "timestep": 0.25},
}  # cone as in mjtCone; solref and timestep in steps of the file


@dataclass(frozen=True)
class Moment:
    """The worst of one measure."""

    measure: str
    value: float
    time: float  # [s]
    contact: str  # its geoms; "" of the difference, which is the whole model's


@dataclass(frozen=True, eq=False)
class Audit:
    """What MuJoCo's contacts did in n steps; a measure is (n,), the worst of all contacts in a step."""

    name: str
    settings: Mapping[str, Any]  # that were changed
    dt: float
    time: Vector  # (n,)   of the start of the steps   [s]
    contacts: Vector  # (n,)   that pressed
    measures: Mapping[str, Vector]  # by the names of MEASURES
    failures: int  # steps that could not be solved exactly, whose difference is NaN
    worst: tuple[Moment, ...] = field(default=())

    def __getattr__(self, name: str) -> Vector:
        if name in MEASURES:
            return self.measures[name]
        raise AttributeError(name)

    @checked(measure=one_of(*MEASURES))
    def greatest(self, measure: str) -> float:
        """Over all steps."""
        values = self.measures[measure]
        return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0

    @checked(measure=one_of(*MEASURES))
    def typical(self, measure: str) -> float:
        """The median over the steps in which something pressed."""
        values = self.measures[measure][self.contacts > 0]
        return float(np.nanmedian(values)) if np.isfinite(values).any() else 0.0

    def __str__(self) -> str:
        changed = ", ".join(f"{name}={value:g}" for name, value in self.settings.items())
        lines = [
            f"{self.name}: MuJoCo {'with ' + changed if changed else 'as it is'}, {self.time.size} steps of "
            f"{self.dt:g} s, up to {int(self.contacts.max(initial=0))} contacts that press"
        ]
        rows = [("", "median", "greatest", "at [s]", "where")]
        for moment in self.worst:
            what, unit = MEASURES[moment.measure]
            values = f"{self.typical(moment.measure):.3g}", f"{moment.value:.3g}"
            at = (f"{moment.time:.4g}", moment.contact) if moment.value > 0 else ("", "")
            rows.append((f"{what} [{unit}]" if unit else what, *values, *at))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines += ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:4], widths[1:4]), row[4])) for row in rows]
        if self.failures:
            lines.append(f"{self.failures} steps could not be solved exactly: their difference is not counted")
        return "\n".join(line.rstrip() for line in lines)


CONTROL = either(function, vector, expected="controls, or a function of (t, q, v)")  # a kind of argument


@checked(seconds=seconds_kind, control=CONTROL, settings=mapping)
def audit(
    model: Any,
    seconds: float = 2.0,
    *,
    data: Any = None,
    control: Callable[[float, Vector, Vector], Any] | Any = None,
    settings: Mapping[str, Any] | None = None,
) -> Audit:
    """Run MuJoCo as it is for so many seconds and grade its contacts by Coulomb's law.

    model       a path, a model of `load_model`, or a mujoco.MjModel
    data        a mujoco.MjData to start from, with its controls; else the start of the file
    control     the controls, constant or a function of (t, q, v); else those of `data`
    settings    of MuJoCo to change: cone, impratio, noslip_iterations, solref and timestep (in steps of the file)
    """
    mujoco = engine_of("audit")
    given = dict(settings or {})
    loaded = audited(model)
    m = changed(mujoco, loaded, given)
    d = mujoco.MjData(m)
    if data is not None:
        instance(mujoco.MjData)("audit", "data", data)
        for name in ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat"):
            getattr(d, name)[:] = getattr(data, name)
    judge = Judge(mujoco, loaded, m, d, control)
    steps = max(1, round(seconds / m.opt.timestep))
    for _ in range(steps):
        judge.step()
    return judge.verdict(loaded.name, given)


@checked(seconds=seconds_kind)
def audit_settings(model: Any, seconds: float = 2.0, **options: Any) -> dict[str, Audit]:
    """The audit with each of MuJoCo's settings that bring its contacts closer to Coulomb's law, by name."""
    loaded = audited(model)
    return {name: audit(loaded, seconds, settings=settings, **options) for name, settings in SETTINGS.items()}


def changed(mujoco: Any, loaded: LoadedModel, settings: dict[str, Any]) -> Any:
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
                for array in (m.geom_solref, m.pair_solref):
                    array[:, 0] = float(value) * loaded.timestep
            case _:
                known = "cone, impratio, noslip_iterations, solref or timestep"
                raise InputError(f"audit: settings has {name!r}, expected {known}")
    if "solref" in settings and "timestep" in settings:
        for array in (m.geom_solref, m.pair_solref):
            array[:, 0] *= float(settings["timestep"])
    return m


class Judge:
    """MuJoCo under way, with a stepper of ours that solves each of its steps exactly."""

    def __init__(self, mujoco: Any, loaded: LoadedModel, m: Any, d: Any, control: Any) -> None:
        self.mujoco, self.loaded, self.m, self.d, self.control = mujoco, loaded, m, d, control
        how = How(float(m.opt.timestep), Coulomb(stabilisation=None), "auto", 1e-8, None, recovery=0.0)
        self.exact = ModelStepper(loaded, loaded.home, None, how, None, None)
        self.rows: Run = self.exact.run
        self.weight = float(m.body_mass.sum()) * float(np.linalg.norm(m.opt.gravity))
        self.time: list[float] = []
        self.pressing: list[int] = []
        self.columns: dict[str, list[float]] = {name: [] for name in MEASURES}
        self.found: dict[str, Moment] = {name: Moment(name, 0.0, 0.0, "") for name in MEASURES}
        self.failures = 0

    def step(self) -> None:
        """One step of MuJoCo, graded."""
        m, d, mj, h = self.m, self.d, self.mujoco, float(self.m.opt.timestep)
        if self.control is not None:
            told = self.control(d.time, d.qpos.copy(), d.qvel.copy()) if callable(self.control) else self.control
            d.ctrl[:] = vector("audit", "control", told, m.nu)
        now = float(d.time)
        mj.mj_forward(m, d)
        geom, _, _, (A, _, gap, mu, _, _), moves = self.rows.contacts_of(d)
        f, six = np.zeros((d.ncon, 3)), np.zeros(6)
        for i in range(d.ncon):
            mj.mj_contactForce(m, d, i, six)
            f[i] = six[:3]
        f = f[moves]
        self.graded_rows, self.graded_mass = A, np.zeros((m.nv, m.nv))
        mj.mj_fullM(m, d, self.graded_mass)
        q, v = d.qpos.copy(), d.qvel.copy()
        difference = self.solved(q, v)
        mj.mj_step(m, d)
        u = (A @ d.qvel).reshape(-1, 3)
        self.time.append(now)
        acceleration = (d.qvel - v) / h
        apart = float(np.abs(acceleration - difference).max()) if difference is not None else math.nan
        self.note("difference", apart, now, "")
        self.grade(geom, gap, mu, h, f, u, (A @ v).ravel(), now)

    def solved(self, q: Vector, v: Vector) -> Vector | None:
        """v̇ of the same step by (1); None where it is not solved."""
        stepper, d = self.exact, self.d
        run = stepper.run
        run.data.ctrl[:] = d.ctrl
        if self.m.na:
            run.data.act[:] = d.act
        stepper.number = round(float(d.time) / stepper.how.h)
        kept = stepper.impulse, stepper.last, run.known
        stepper.put(q, v)
        stepper.impulse, stepper.last, run.known = kept
        run.place(q, v)
        one = stepper.step()
        if one.graded(1e-6) != 0:
            self.failures += 1
            return None
        stepper.last, (run.known, run.next_number) = stepper.now, stepper.found
        stepper.impulse, stepper.joints = one.impulse.reshape(-1, 3), one.joints
        return (one.after - v) / stepper.how.h

    def grade(self, geom: Any, gap: Vector, mu: Vector, h: float, f: Any, u: Any, before: Vector, now: float) -> None:
        """(1) of all contacts of a step."""
        least = FORCE * max(self.weight, float(f[:, 0].max(initial=0.0)))
        friction, slip = np.linalg.norm(f[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
        presses, most = f[:, 0] > least, mu * f[:, 0]
        holds = presses & (friction < SPARE * most)
        self.pressing.append(int(presses.sum()))
        per = {
            "creep": np.where(holds, slip, 0.0),
            "outside": np.where(presses & (most > 0), np.maximum(friction / np.where(most > 0, most, 1.0) - 1, 0), 0.0),
            "pull": np.where(-f[:, 0] > least, -f[:, 0], 0.0),
            "power": np.maximum((f[:, 1:] * u[:, 1:]).sum(axis=1), 0.0),
            "penetration": np.maximum(-gap, 0.0),
        }
        wrong, residual = self.natural_map(h * f, u, mu, gap, before)
        per["wrong"] = wrong
        for name, values in per.items():
            worst = int(values.argmax()) if values.size else -1
            where = self.loaded.contact_names(geom[worst : worst + 1])[0] if worst >= 0 else ""
            self.note(name, float(values[worst]) if worst >= 0 else 0.0, now, where)
        self.note("residual", residual, now, "")

    def natural_map(self, p: Any, u: Any, mu: Vector, gap: Vector, before: Vector) -> tuple[Vector, float]:
        """What is wrong with the velocity of each contact that touches, and the residual of all of them."""
        wrong, touching = np.zeros(gap.size), np.flatnonzero(gap <= 0)
        if touching.size == 0:
            return wrong, 0.0
        W = self.own_response(touching)
        for i, rho in zip(touching, W, strict=True):
            length = cone_map_length(p[i].copy(), u[i].copy(), mu[i : i + 1], mu[i : i + 1], np.array([rho]), 3)
            wrong[i] = length / rho
        flat, rate = p[touching].ravel(), u[touching].ravel()
        start = before.reshape(-1, 3)[touching].ravel()
        return wrong, float(relative_cone_map(flat, rate, start, mu[touching], mu[touching]))

    def own_response(self, touching: Any) -> Vector:
        """ρ = 3 / tr W_ii of contacts of MuJoCo's data as it was at the start of the step."""
        A, M = self.graded_rows, self.graded_mass
        inverse = np.linalg.solve(M, A.reshape(-1, M.shape[0]).T)
        own = np.einsum("xn,nx->x", A.reshape(-1, M.shape[0]), inverse).reshape(-1, 3).sum(axis=1)
        return 3.0 / np.maximum(own[touching], 1e-300)

    def note(self, name: str, value: float, now: float, where: str) -> None:
        self.columns[name].append(value)
        if value > self.found[name].value:
            self.found[name] = Moment(name, value, now, where)

    def verdict(self, name: str, settings: Mapping[str, Any]) -> Audit:
        return Audit(
            name=name,
            settings=settings,
            dt=float(self.m.opt.timestep),
            time=np.array(self.time),
            contacts=np.array(self.pressing),
            measures={name: np.array(values) for name, values in self.columns.items()},
            failures=self.failures,
            worst=tuple(self.found.values()),
        )


def settings_table(audits: Mapping[str, Audit]) -> str:
    """The median of each measure, a row for each of the settings."""
    names = {"creep": "m/s", "penetration": "m", "wrong": "m/s", "residual": "", "difference": "/s²"}
    rows = [("median of the steps in contact", *(f"{name} [{unit}]" if unit else name for name, unit in names.items()))]
    rows += [(name, *(f"{one.typical(what):.2e}" for what in names)) for name, one in audits.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows)
