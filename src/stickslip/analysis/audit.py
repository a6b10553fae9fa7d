"""An audit of a simulator's contacts by Coulomb's law, step by step, and what the same step does under it exactly.

MuJoCo or PyBullet runs as it is. At each step its contact forces f and the velocities u⁺ = A(q) v⁺ that the step ends
with are held against the law of rigid contact with friction,

    0 <= f_n ⊥ u_n⁺ >= 0,     |f_t| <= μ f_n,     f_t against u_t⁺ where it slides, u_t⁺ = 0 where |f_t| < μ f_n     (1)

    creep          |u_t⁺| of contacts that press and have friction to spare, |f_t| < SPARE μ f_n: they should stick
    outside        |f_t| above μ f_n, as a share of it
    pull           -f_n where that is positive
    power          f_t·u_t⁺ where friction drives, which it never should
    penetration    how deep bodies overlap
    wrong          the velocity that (1) does not allow at the worst contact, |p - P(p - ρ ũ)| / ρ with p = h f
    residual       of all contacts that touch
    difference     of the acceleration from that of the same step, from the same state, solved by (1) without softness;
                   MuJoCo's alone

Softness is MuJoCo's choice and not an error: forces that are unique and smooth functions of the state can be inverted
and differentiated, and a solver for them is quick. This tells what it costs in a given model. Its settings `impratio`
and `cone`, `noslip_iterations`, `solref` and `timestep` change that; `audit_settings` runs the audit for each.

audit_mujoco.py and audit_pybullet.py say how forces and velocities are read off either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from stickslip.checks import checked, either, function, is_number, mapping, number, one_of, shown, truth, vector
from stickslip.engine.arguments import seconds as seconds_kind
from stickslip.engine.running import MOST_STEPS
from stickslip.engine.trajectory import aligned
from stickslip.errors import InputError
from stickslip.problems.matrix import Dense, Vector
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
    contact: str  # what touches what; "" of what is the whole model's


@dataclass(frozen=True, eq=False)
class Audit:
    """What a simulator's contacts did in n steps; a measure is (n,), the worst of all contacts in a step."""

    name: str
    settings: Mapping[str, Any]  # that were changed
    dt: float
    time: Vector  # (n,)   of the start of the steps   [s]
    contacts: Vector  # (n,)   that pressed
    measures: Mapping[str, Vector]  # by the names of MEASURES; PyBullet's have no difference
    failures: int  # steps that could not be solved exactly, whose difference is NaN
    worst: tuple[Moment, ...] = field(default=())
    engine: str = "MuJoCo"

    def __getattr__(self, name: str) -> Vector:
        if name in MEASURES and name in self.measures:
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

    @property
    def title(self) -> str:
        """The simulator and its settings, in words."""
        changed = ", ".join(f"{name}={value:g}" for name, value in self.settings.items())
        return f"{self.engine} {'with ' + changed if changed else 'as it is'}"

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.title}, {self.time.size} steps of {self.dt:g} s, up to "
            f"{int(self.contacts.max(initial=0))} contacts that press"
        ]
        rows = [("", "median", "greatest", "at [s]", "where")]
        for moment in self.worst:
            what, unit = MEASURES[moment.measure]
            values = f"{self.typical(moment.measure):.3g}", f"{moment.value:.3g}"
            at = (f"{moment.time:.4g}", moment.contact) if moment.value > 0 else ("", "")
            rows.append((f"{what} [{unit}]" if unit else what, *values, *at))
        lines += aligned(rows, left=(0, 4))
        if self.failures:
            lines.append(f"{self.failures} steps could not be solved exactly: their difference is not counted")
        return "\n".join(lines)


class Touching(NamedTuple):
    """The contacts of a step, as a simulator has them; components are those along the normal and two tangents."""

    f: Dense  # (nc, 3)   forces on the side that the normal points to   [N]
    u: Dense  # (nc, 3)   velocities of that side past the other at the end of the step   [m/s]
    before: Dense  # (nc, 3)   the same at its start
    mu: Vector  # (nc,)
    gap: Vector  # (nc,)   [m]
    rho: Vector  # (nc,)   3 / tr W_ii; NaN where the mass matrix is not at hand   [kg]


class Grades:
    """Measures of one step after another."""

    def __init__(self, weight: float) -> None:
        self.weight = weight  # of all bodies   [N]
        self.time: list[float] = []
        self.pressing: list[int] = []
        self.columns: dict[str, list[float]] = {}
        self.found: dict[str, Moment] = {}

    def add(self, now: float, h: float, contacts: Touching, name_of: Callable[[int], str], **others: float) -> None:
        """Grade the contacts of a step that began at the time `now`; `others` are measures of the step as a whole."""
        per, presses = by_contact(contacts, h, self.weight)
        self.time.append(now)
        self.pressing.append(int(presses.sum()))
        for name, values in per.items():
            if name in others:
                continue
            worst = int(np.nan_to_num(values, nan=-1.0).argmax()) if values.size else -1
            self.note(name, float(values[worst]) if values.size else 0.0, now, name_of(worst) if values.size else "")
        others.setdefault("residual", residual_of(contacts, h))
        for name, value in others.items():
            self.note(name, value, now, "")

    def note(self, name: str, value: float, now: float, where: str) -> None:
        self.columns.setdefault(name, []).append(value)
        if value > self.found.setdefault(name, Moment(name, 0.0, 0.0, "")).value:
            self.found[name] = Moment(name, value, now, where)

    def verdict(self, **run: Any) -> Audit:
        return Audit(
            time=np.array(self.time),
            contacts=np.array(self.pressing),
            measures={name: np.array(values) for name, values in self.columns.items()},
            worst=tuple(self.found[name] for name in MEASURES if name in self.found),
            **run,
        )


def by_contact(contacts: Touching, h: float, weight: float) -> tuple[dict[str, Vector], Any]:
    """Measures of each contact, and which of them press."""
    f, u, mu, gap = contacts.f, contacts.u, contacts.mu, contacts.gap
    least = FORCE * max(weight, float(f[:, 0].max(initial=0.0)))
    friction, slip = np.linalg.norm(f[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    presses, most = f[:, 0] > least, mu * f[:, 0]
    bounded = presses & (most > 0)
    return {
        "creep": np.where(presses & (friction < SPARE * most), slip, 0.0),
        "outside": np.where(bounded, np.maximum(friction / np.where(bounded, most, 1.0) - 1, 0), 0.0),
        "pull": np.where(-f[:, 0] > least, -f[:, 0], 0.0),
        "power": np.maximum((f[:, 1:] * u[:, 1:]).sum(axis=1), 0.0),
        "penetration": np.maximum(-gap, 0.0),
        "wrong": wrong_velocities(contacts, h),
    }, presses


def wrong_velocities(contacts: Touching, h: float) -> Vector:
    """|p - P(p - ρ ũ)| / ρ of each contact that touches."""
    wrong = np.zeros(contacts.gap.size)
    for i in np.flatnonzero(touches(contacts)):
        p, u = h * contacts.f[i], contacts.u[i].copy()
        mu, rho = contacts.mu[i : i + 1].copy(), contacts.rho[i : i + 1].copy()
        wrong[i] = cone_map_length(p, u, mu, mu, rho) / rho[0] if rho[0] > 0 else np.nan
    return wrong


def residual_of(contacts: Touching, h: float) -> float:
    """Of all contacts that touch."""
    on = np.flatnonzero(touches(contacts))
    if on.size == 0:
        return 0.0
    p, u, start = (np.ascontiguousarray(each[on]).ravel() for each in (h * contacts.f, contacts.u, contacts.before))
    mu = np.ascontiguousarray(contacts.mu[on])
    return float(relative_cone_map(p, u, start, mu, mu))


def touches(contacts: Touching) -> Any:
    return (contacts.gap <= 0) | (contacts.f[:, 0] > 0)


CONTROL = either(function, vector, expected="controls, or a function of (t, q, v)")  # a kind of argument


@checked(
    seconds=seconds_kind,
    control=CONTROL,
    settings=mapping,
    engine=one_of("mujoco", "pybullet"),
    floating=truth,
    ground=number,
)
def audit(
    model: Any,
    data: Any = None,
    *,
    seconds: float = 2.0,
    control: Callable[[float, Vector, Vector], Any] | Any = None,
    settings: Mapping[str, Any] | None = None,
    engine: Literal["mujoco", "pybullet"] | None = None,
    floating: bool = False,
    ground: float | None = None,
) -> Audit:
    """Grade a simulator's contacts by Coulomb's law: run it as it is, or take what was recorded.

    model       a path, a model of `load_model`, a mujoco.MjModel, or a PyBullet world: its client, or the module itself
    data        a mujoco.MjData to start from, with its controls; else the start of the file. Or a record, one step
                apart, which is graded as it is: copies of mujoco.MjData made after each mj_step; a mapping, or a tuple,
                of arrays qpos, qvel and perhaps ctrl, act, time over time; a Trajectory of `simulate`
    seconds     how long the simulator runs where there is no record
    control     the controls, constant or a function of (t, q, v); else those of `data`
    settings    of MuJoCo to change: cone, impratio, noslip_iterations, solref and timestep (in steps of the file)
    engine      "mujoco" or "pybullet", of a path; a PyBullet world of yours is put back as it was
    floating, ground     as in `load_model`, of a path
    """
    if is_number(data):
        raise InputError(f"audit: data is {shown(data)}, expected mujoco.MjData or a record; perhaps seconds is meant")
    is_path = isinstance(model, str | os.PathLike)
    if not is_path and (floating or ground is not None):
        raise InputError("audit: floating or ground is given, expected them with the path of a file only")
    if engine == "pybullet" or hasattr(model, "getContactPoints"):
        from stickslip.analysis.audit_pybullet import audit_pybullet

        if engine == "mujoco":
            raise InputError("audit: engine is 'mujoco' for a PyBullet world, expected 'pybullet'")
        for name, given in (("data", data), ("control", control), ("settings", settings)):
            if given is not None:
                raise InputError(f"audit: {name} is given, expected none with PyBullet: set it in a world of your own")
        return audit_pybullet(model, seconds, floating, ground)
    from stickslip.analysis.audit_mujoco import audit_mujoco
    from stickslip.dynamics.mujoco import load_model

    if is_path:
        model = load_model(model, floating=floating, ground=ground, quiet=True)
    return audit_mujoco(model, data, seconds, control, dict(settings or {}))


def steps_in(seconds: float, step: float) -> int:
    """How many steps of a simulator come nearest to a time, one at least."""
    if not seconds / step <= MOST_STEPS:
        raise InputError(f"audit: seconds is {seconds:g}, expected at most {MOST_STEPS:g} steps of {step:g} s")
    return max(1, round(seconds / step))


@checked(seconds=seconds_kind)
def audit_settings(model: Any, seconds: float = 2.0, **options: Any) -> dict[str, Audit]:
    """The audit with each of MuJoCo's settings that bring its contacts closer to Coulomb's law, by name."""
    from stickslip.dynamics.mujoco import audited

    loaded = audited(model)
    return {name: audit(loaded, seconds=seconds, settings=settings, **options) for name, settings in SETTINGS.items()}


def settings_table(audits: Mapping[str, Audit]) -> str:
    """The median of each measure, a row for each of the settings."""
    names = {"creep": "m/s", "penetration": "m", "wrong": "m/s", "residual": "", "difference": "/s²"}
    rows = [("median of the steps in contact", *(f"{name} [{unit}]" if unit else name for name, unit in names.items()))]
    rows += [(name, *(f"{one.typical(what):.2e}" for what in names)) for name, one in audits.items()]
    return "\n".join(aligned(rows, left=(0,)))
