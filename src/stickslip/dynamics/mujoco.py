"""Models of robots from MJCF and URDF files, with the kinematics, inertia, collision and actuators of MuJoCo [1].

    model = load_model("humanoid.xml")             a System, dynamics/generalized.py
    model = load_model("arm.urdf", ground=0.0)     a URDF has no ground of its own

MuJoCo says where everything is, what the smooth forces are, and what touches; stickslip decides what contacts, limits,
joint friction and equality constraints do about it, by any formulation and solver. Of MuJoCo's contacts are taken

    friction       sliding friction μ; with condim 4 a patch e_r = μ_spin / μ, the ellipsoid that MuJoCo bounds friction
                   with, for formulations that have spin; condim 1 is frictionless; rolling (condim 6) is left out
    restitution    that of a damped oscillator with the damping ratio of solref: 0 for MuJoCo's default, 1
    margin         contacts hold bodies at this distance, as MuJoCo does; `gap` is counted from there
    softness       nothing: contacts are rigid, or as soft as the formulation's Relaxation says

A step of size h is MuJoCo's semi-implicit Euler step with impulses of rigid contacts instead of its soft forces:

    M̂ (v⁺ - v) = h f(q, v) + Aᵀ p + Gᵀ ν,       q⁺ = q moved by h v⁺,       M̂ = M + h D + h² K                     (1)

f: gravity, bias, springs, dampers, actuators, gravity compensation, fluid, what is applied. D has the damping of joints
and, where the file asks for an implicit integrator, of actuators and tendons; K has the springs of joints that are
stiff, h² k more than STIFF of the inertia, and their force is then that at the end of the step. Without contacts,
limits, constraints and stiff springs (1) is mj_step's own.

Limits are rows 0 <= λ ⊥ u + gap / h >= 0, dry friction of joints and tendons rows |λ| <= h f, equality constraints rows
u + RECOVERY g / h = 0, as limits that do not hold; large errors are taken back at √(2 BRAKE |g|) at most. What a file
has that is not among these is named in `left_out`, and once in a ModelWarning.

[1] Todorov, Erez, Tassa, MuJoCo: a physics engine for model-based control, IROS 2012. mujoco.readthedocs.io
"""

from __future__ import annotations

import copy
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import (
    checked,
    either,
    fraction,
    instance,
    mapping,
    not_negative,
    number,
    shown,
    text,
    truth,
    vector,
    whole,
)
from stickslip.checks import path as file_path
from stickslip.dynamics.generalized import DIFFERENCE, Constraint, ContactPoint, Found, GeneralizedSystem, Instant
from stickslip.dynamics.model_files import OWNER, compiled, part_links, read_spec
from stickslip.dynamics.model_rows import (
    BOUNCE,
    BOUND,
    ERROR,
    FRAME,
    GAP,
    MU,
    NUMBER,
    PATCH,
    PLACE,
    TAGS,
    WAS,
    WIDTH,
    contact_rows,
    effective_mass,
    found_rows,
    identify,
    reach,
)
from stickslip.dynamics.model_scene import TIME_CONSTANT, add_scene, damping_ratio
from stickslip.dynamics.pinocchio import FramePoint, on_its_plane
from stickslip.errors import InputError, ModelWarning, extra
from stickslip.problems.matrix import Dense, Indices, Vector
from stickslip.remade import remade
from stickslip.scene.scene import Scene

UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model without a name
STIFF = 0.25  # h² k / M from which a spring is taken at the end of the step
RECOVERY = 0.2  # share of the error of an equality constraint that a step takes back
NEAR = 1e-3  # contacts this far apart are found whatever moves   [m]
NEAR_LIMIT = 1e-2  # limits this far away are found whatever moves   [rad, m]
CONTACT_FIELDS = "dist", "includemargin", "pos", "frame", "friction", "solref", "geom", "dim"  # that are asked for
NO_CONTACTS = np.zeros((0, 1)), np.zeros((0, 2), np.int32), (0,) * len(CONTACT_FIELDS)  # as `contact_memory` has them
SOFT_FLAGS = ("mjENBL_SLEEP", "mjENBL_IPC", "mjENBL_SPECULATIVE", "mjENBL_OVERRIDE")  # of MuJoCo's own solver


class Gathered(NamedTuple):
    """What MuJoCo found at an instant, as arrays."""

    M: Dense  # (n, n)
    start: Dense  # (2, n)   v, and f of (1)
    q: Vector  # (p,)
    J: Dense  # (4 nc, n)   rows of contacts, and then those of spin
    contact: Dense  # (nc, WIDTH)   the numbers of contacts, by the columns of model_rows.py
    tag: Indices  # (nc, TAGS)   geoms, numbers, and which of the contacts of the step before they were
    rows: Dense  # (m, n)   equality constraints, dry friction, limits
    row: Dense  # (m, 2)   errors and bounds of these
    key: Indices  # (m,)   of a row, the same in all steps in which it is there
    first_new: int  # number that no contact has had


class Part:
    """A part of an array of a Now, as an attribute."""

    def __init__(self, array: str, at: Any) -> None:
        self.array, self.at = array, at

    def __get__(self, now: Any, owner: type | None = None) -> Any:
        return self if now is None else getattr(now, self.array)[self.at]


class Now(Gathered):
    """A model at an instant, all that a step needs."""

    v = Part("start", 0)  # (n,)
    force = Part("start", 1)  # (n,)   f of (1)
    gap = Part("contact", np.s_[:, GAP])  # (nc,)   [m]
    mu = Part("contact", np.s_[:, MU])  # (nc,)
    patch = Part("contact", np.s_[:, PATCH])  # (nc,)   e_r   [m]
    restitution = Part("contact", np.s_[:, BOUNCE])  # (nc,)
    place = Part("contact", np.s_[:, PLACE:FRAME])  # (nc, 3)
    frame = Part("contact", np.s_[:, FRAME:])  # (nc, 9)   normal, tangent, other tangent
    geom = Part("tag", np.s_[:, :2])  # (nc, 2)   the first and the second, to which the normal points
    error = Part("row", np.s_[:, ERROR])  # (m,)   of constraints; distances of limits; 0 of friction
    bound = Part("row", np.s_[:, BOUND])  # (m,)   of friction   [N, N m]; inf of constraints, -inf of limits

    @property
    def A(self) -> Dense:
        """(3 nc, n)"""
        return self.J[: 3 * len(self.contact)]

    @property
    def spin(self) -> Dense:
        """(nc, n)"""
        return self.J[3 * len(self.contact) :]


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A System (dynamics/generalized.py) from an MJCF or URDF file; its contacts come and go."""

    name: str
    model: Any  # mujoco.MjModel, with MuJoCo's own softness and solver switched off
    original: Any  # mujoco.MjModel as the file has it
    left_out: tuple[str, ...]  # what of the file has no counterpart here, in sentences
    again: Callable[..., LoadedModel] | None = None  # load_model with what it was given, but for other keywords

    contacts: tuple[ContactPoint, ...] = ()  # no fixed ones: see `instant` and `with_points`

    @property
    def coordinates(self) -> int:
        return int(self.model.nq)

    @property
    def velocities(self) -> int:
        return int(self.model.nv)

    @property
    def timestep(self) -> float:
        """The step that the file asks for   [s]"""
        return float(self.original.opt.timestep)

    @cached_property
    def geoms(self) -> tuple[str, ...]:
        """Names of the geoms; one without a name is called after its body."""
        m, bodies = self.model, self.bodies
        return tuple(m.geom(i).name or f"{bodies[m.geom_bodyid[i]]} geom {i}" for i in range(m.ngeom))

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, the world first."""
        return tuple(self.model.body(i).name or f"body {i}" for i in range(self.model.nbody))

    @cached_property
    def joints(self) -> tuple[str, ...]:
        return tuple(self.model.joint(i).name or f"joint {i}" for i in range(self.model.njnt))

    @cached_property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of `control`."""
        return tuple(self.model.actuator(i).name or f"actuator {i}" for i in range(self.model.nu))

    @cached_property
    def digest(self) -> str:
        """By which a model is known again."""
        import mujoco

        content = np.empty(mujoco.mj_sizeModel(self.original), np.uint8)
        mujoco.mj_saveModel(self.original, None, content)
        return hashlib.sha256(content.tobytes()).hexdigest()

    @cached_property
    def home(self) -> Vector:
        """(p,) the coordinates that the file starts with."""
        return np.array(self.model.qpos0)

    def keyframe(self, name: str | int) -> Vector:
        """(p,) the coordinates of a keyframe of the file, by its name, or its number where it has none."""
        name = either(text, whole, expected="the name of a keyframe")(self.name, "keyframe", name)
        known = tuple(self.model.key(i).name or str(i) for i in range(self.model.nkey))
        return np.array(self.model.key_qpos[self._index("keyframe", name, known, "no keyframes")])

    @checked(joints=mapping)
    def pose(self, joints: Mapping[str, float] | None = None, start: ArrayLike | None = None) -> Vector:
        """q with these hinges and sliders at these angles or travels (rad, m), the others as in `start`, or at home."""
        q = self.home.copy() if start is None else vector(self.name, "start", start, self.coordinates).copy()
        for name, value in (joints or {}).items():
            q[self.coordinate(name)] = number(self.name, f"joints[{name!r}]", value)
        return q

    @checked(joint=text)
    def coordinate(self, joint: str) -> int:
        """The place of a hinge or slider in q."""
        index = self._index("joint", joint, self.joints)
        if self.model.jnt_type[index] < 2:
            raise InputError(f"{self.name}: joint is {joint!r}, expected a hinge or a slider")
        return int(self.model.jnt_qposadr[index])

    def actuator(self, name: str) -> int:
        """The place of an actuator in the controls."""
        return self._index("actuator", text(self.name, "actuator", name), self.actuators)

    def body(self, name: str) -> int:
        """The number of a body."""
        return self._index("body", text(self.name, "body", name), self.bodies)

    def _index(self, what: str, name: str | int, known: tuple[str, ...], none: str = "none") -> int:
        """The number of a name among those that are known."""
        if str(name) not in known:
            listed = ", ".join(known) or f"none, for the file has {none}"
            raise InputError(f"{self.name}: {what} is {name!r}, expected one of {listed}")
        return known.index(str(name))

    # a System

    @cached_property
    def here(self) -> Run:
        """Room to work for the functions of q and v: one thread at a time."""
        return Run(self)

    @cached_property
    def constraint(self) -> Constraint | None:
        """The equality constraints of the file that are active at the start."""
        if not self.original.eq_active0.any():
            return None
        return Constraint(lambda q: self.here.constraints(q)[0], lambda q: self.here.constraints(q)[1])

    def mass(self, q: Vector) -> Dense:
        self.here.place(q)
        return self.here.mass()

    def bias(self, q: Vector, v: Vector) -> Vector:
        """-f of (1), all smooth forces, with the controls at 0."""
        self.here.place(q, v)
        return -self.here.smooth_force()

    def velocity_map(self, q: Vector) -> Dense:
        """N (p, n), by its columns: how q moves with each velocity, to the first order."""
        e = DIFFERENCE
        columns = [(self.moved(q, e * x) - self.moved(q, -e * x)) / (2 * e) for x in np.eye(self.velocities)]
        return np.column_stack(columns)

    def moved(self, q: Vector, displacement: Vector) -> Vector:
        import mujoco

        q = np.array(q, np.float64)
        mujoco.mj_integratePos(self.model, q, np.ascontiguousarray(displacement), 1.0)
        return q

    def instant(self, q: Vector, v: Vector, time: float = 0.0) -> Instant:
        """All that the model says at (q, v), with the contacts that are there; those that touch, and a little apart."""
        here = self.here
        q, v = vector(self.name, "q", q, self.coordinates), vector(self.name, "v", v, self.velocities)
        here.time = number(self.name, "time", time)
        now, speed = here.look(q, v), float(np.abs(v).max(initial=0.0))
        m = int(np.isposinf(now.bound).sum())
        drift, constraint_drift = np.zeros(len(now.A)), np.zeros(m)
        if speed > 0:
            e = DIFFERENCE / speed
            ahead, behind = (here.look(self.moved(q, s * e * v), v) for s in (1.0, -1.0))
            drift = contact_drift(now, ahead, behind, v, e)
            constraint_drift = (ahead.rows[:m] - behind.rows[:m]) @ v / (2 * e)
        found = {name: getattr(now, name) for name in ("mu", "restitution", "patch", "place", "spin")}
        return Instant(
            **{name: getattr(now, name) for name in ("q", "v", "M", "A", "gap")},
            bias=-now.force,
            drift=drift,
            G=now.rows[:m],
            constraint_error=now.error[:m],
            constraint_drift=constraint_drift,
            w=np.zeros(len(now.A)),
            constraint_rate=np.zeros(m),
            time=time,
            found=Found(names=self.contact_names(now.geom), others=self.row_words(now, m), **found),
        )

    def contact_names(self, geom: Indices) -> tuple[str, ...]:
        return tuple(f"{self.geoms[b]} on {self.geoms[a]}" for a, b in geom.tolist())

    def row_words(self, now: Now, first: int) -> tuple[str, ...]:
        """Dry friction and limits that act now, in words."""
        friction = int(np.isfinite(now.bound).sum())
        reached = int((now.error[first + friction :] <= 0).sum())
        words = ((friction, "dry joint friction"), (reached, "joint limits"))
        return tuple(f"{word} ({count} rows)" for count, word in words if count)

    @checked(friction=not_negative, restitution=fraction)
    def with_surfaces(self, friction: float | None = None, restitution: float | None = None) -> LoadedModel:
        """A copy whose surfaces all have this friction and restitution, those of the file where None."""
        both = copy.copy(self.model), copy.copy(self.original)
        for m in both:
            if friction is not None:
                for own, slide, spin in ((m.geom_friction, slice(0, 1), 1), (m.pair_friction, slice(0, 2), 2)):
                    patch = own[:, spin] / np.where(own[:, 0] > 0, own[:, 0], np.inf)
                    own[:, slide], own[:, spin] = friction, friction * patch
                m.geom_condim[:] = np.maximum(m.geom_condim, 3)
                m.pair_dim[:] = np.maximum(m.pair_dim, 3)
            if restitution is not None:
                m.geom_solref[:] = m.pair_solref[:] = TIME_CONSTANT, damping_ratio(restitution)
        return replace(self, model=both[0], original=both[1])

    @remade
    @checked(points=instance(FramePoint))
    def with_points(self, *points: FramePoint) -> GeneralizedSystem:
        """The same mechanism with fixed contact points instead of its own shapes, for jam maps and families of poses.

        points     their frames are bodies of the model
        """
        contacts = tuple(self.here.contact_point(point) for point in points)
        return GeneralizedSystem(
            velocities=self.velocities,
            mass=self.mass,
            bias=self.bias,
            contacts=contacts,
            constraint=self.constraint,
            map_velocity=self.velocity_map,
            coordinates=self.coordinates,
            name=self.name,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without what is worked out of it when it is asked for: that may be MuJoCo's memory, which is not copied."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        return (
            f"LoadedModel({self.name!r}, bodies={self.model.nbody - 1}, coordinates={self.coordinates}, "
            f"velocities={self.velocities}, actuators={self.model.nu})"
        )


def contact_drift(now: Now, ahead: Now, behind: Now, v: Vector, e: float) -> Vector:
    """Ȧ v of contacts: along the normal by the rates of the gap, along tangents by the velocity in space."""
    drift = np.zeros((len(now.gap), 3))
    sides = [side.A.reshape(-1, 3, v.size) @ v for side in (ahead, behind)]
    order = [same_contacts(now, side) for side in (ahead, behind)]
    for i, (k, j) in enumerate(zip(*order, strict=True)):
        if k < 0 or j < 0:
            if now.gap[i] > 0:
                continue  # apart, and about to be lost
            raise InputError(
                f"instant: contact {i} is not there a moment before or after, expected one that goes on as it is"
            )
        difference = ahead.frame[k].reshape(3, 3).T @ sides[0][k] - behind.frame[j].reshape(3, 3).T @ sides[1][j]
        drift[i] = now.frame[i].reshape(3, 3) @ difference / (2 * e)
        drift[i, 0] = (sides[0][k, 0] - sides[1][j, 0]) / (2 * e)
    return drift.ravel()


def same_contacts(now: Now, other: Now) -> Indices:
    """(nc,) which of the contacts of another instant each is, -1 where it is none."""
    tag = now.tag.copy()
    identify(now.contact, tag, other.contact, other.tag, 0)
    return tag[:, WAS]


class Run:
    """A model under way: MuJoCo's data, and the contacts of the step before."""

    def __init__(self, loaded: LoadedModel) -> None:
        import mujoco

        self.mujoco, self.loaded, self.model = mujoco, loaded, loaded.model
        self.data = mujoco.MjData(self.model)
        m = self.model
        self.tree = tuple(
            np.ascontiguousarray(a, np.int64)
            for a in (m.body_parentid, m.body_dofnum, m.body_dofadr, m.dof_parentid, m.body_rootid)
        )
        self.geom_body = np.ascontiguousarray(m.geom_bodyid, np.int64)
        d, parent, root = self.data, self.tree[0], self.tree[4]
        self.space = self.geom_body, self.tree, d.subtree_com, d.cdof
        dof_body, speed = np.ascontiguousarray(m.dof_bodyid, np.int64), np.zeros((m.nbody, 6))
        self.motion = dof_body, parent, root, d.subtree_com, d.xipos, d.cdof, body_sizes(m), speed
        self.settings, self.geom_gap = m.opt, m.geom_gap
        self.ignore_contacts = int(m.opt.disableflags) | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.find_contacts = int(m.opt.disableflags)
        self.gaps = np.array(loaded.original.geom_gap), np.array(loaded.original.pair_gap)
        sprung = np.flatnonzero((m.jnt_stiffness > 0) & (m.jnt_type >= 2))  # hinges and sliders
        self.springs, self.spring_dof = m.jnt_stiffness[sprung], m.jnt_dofadr[sprung].astype(np.int64)
        self.damping = np.array(m.dof_damping)
        self.servo = implicit_servos(mujoco, m)
        self.cords = np.array(m.tendon_damping) if is_implicit(mujoco, m) and m.tendon_damping.any() else None
        self.none = np.zeros((0, 0))
        self.time = 0.0
        self.forget()

    def forget(self) -> None:
        """The contacts of the step before."""
        self.known = np.zeros((0, WIDTH)), np.zeros((0, TAGS), np.int64)
        self.memory: tuple[Any, ...] = NO_CONTACTS
        self.first_new = 0

    def remember(self, now: Now) -> None:
        """The contacts of a step that was made."""
        self.known, self.first_new = (now.contact, now.tag), now.first_new

    def recall(self, tag: Indices, place: Dense, first_new: int) -> None:
        """The contacts of a step that was made, by what they are known again: geoms, numbers and places."""
        self.forget()
        self.known = np.zeros((len(tag), WIDTH)), np.zeros((len(tag), TAGS), np.int64)
        self.known[0][:, PLACE:FRAME], self.known[1][:, : NUMBER + 1] = place, tag
        self.first_new = first_new

    def reset(self) -> None:
        """Activations, controls and time as at the start."""
        self.mujoco.mj_resetData(self.model, self.data)
        self.time = 0.0
        self.forget()

    # where it is

    def place(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Kinematics and M at q."""
        d = self.data
        d.qpos[:] = q
        d.qvel[:] = 0.0 if v is None else v
        d.time = self.time
        self.settle()

    def settle(self) -> None:
        """The same where the data are."""
        m, d, mj = self.model, self.data, self.mujoco
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_tendon(m, d)
        mj.mj_makeM(m, d)
        mj.mj_factorM(m, d)

    def mass(self) -> Dense:
        M = np.empty((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, M)
        return M

    def state(self) -> Vector:
        """All that MuJoCo's next step depends on: time, q, v, activations, controls, forces ..."""
        kinds = self.mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(self.mujoco.mj_stateSize(self.model, kinds))
        self.mujoco.mj_getState(self.model, self.data, state, kinds)
        return state

    def put(self, state: Vector) -> None:
        """Go on from what `state` was then."""
        self.mujoco.mj_setState(self.model, self.data, np.array(state), self.mujoco.mjtState.mjSTATE_INTEGRATION)
        self.time = self.data.time
        self.settle()

    def smooth_force(self) -> Vector:
        """f of (1), where `place` has put it, in MuJoCo's memory; constraints have been made or are none."""
        m, d, mj = self.model, self.data, self.mujoco
        mj.mj_transmission(m, d)
        mj.mj_fwdVelocity(m, d)
        mj.mj_fwdActuation(m, d)
        mj.mj_fwdAcceleration(m, d)
        return d.qfrc_smooth

    def look(self, q: ArrayLike, v: ArrayLike, h: float = 0.0) -> Now:
        """All that a step of size h needs from (q, v)."""
        self.place(q, v)
        self.find(h)
        return self.gathered()

    def find(self, h: float) -> None:
        """MuJoCo's part of it where `place` has put it: contacts that such a step may close, constraints, forces."""
        m, d, mj = self.model, self.data, self.mujoco
        half = 0.5 * (NEAR + reach(d.qvel, h, *self.motion))  # MuJoCo adds those of the two geoms
        np.add(self.gaps[0], half, out=self.geom_gap)
        if m.npair:
            np.add(self.gaps[1], 2 * half, out=m.pair_gap)
        mj.mj_collision(m, d)
        self.settings.disableflags = self.ignore_contacts
        mj.mj_makeConstraint(m, d)
        self.settings.disableflags = self.find_contacts
        self.smooth_force()

    def gathered(self) -> Now:
        """What `find` found."""
        d = self.data
        J, contact, tag, rows, row, key, first_new = found_rows(*self.found())
        start = np.stack([d.qvel, d.qfrc_smooth])
        return Now(self.mass(), start, np.array(d.qpos), J, contact, tag, rows, row, key, first_new)

    def found(self) -> tuple[Any, ...]:
        """The arguments of `found_rows`, most of them MuJoCo's own memory. Its contacts lie where they lay."""
        d = self.data
        count = d.ncon
        if count > len(self.memory[0]):
            self.memory = contact_memory(d.contact)
        rows = d.efc_J, d.efc_pos, d.efc_frictionloss, d.efc_type, d.efc_id, d.ne, d.nf, d.nl
        return *self.memory, count, *self.space, *rows, *self.known, self.first_new

    def contacts_of(self, d: Any) -> tuple[Dense, Dense, Indices]:
        """What `contact_rows` makes of the contacts in some data."""
        memory, words, fields = contact_memory(d.contact) if d.ncon else NO_CONTACTS
        return contact_rows(memory, words, fields, d.ncon, self.geom_body, self.tree, d.subtree_com, d.cdof)

    def constraints(self, q: Vector) -> tuple[Dense, Vector]:
        """Rows and errors of the equality constraints at q."""
        d, n = self.data, self.model.nv
        self.place(q)
        self.mujoco.mj_makeConstraint(self.model, d)
        return np.array(d.efc_J[: d.ne * n]).reshape(-1, n), np.array(d.efc_pos[: d.ne])

    # a step

    def effective(self, now: Now, h: float) -> tuple[Dense, Vector]:
        """M̂ of (1), and its momentum at the end of the step without contacts and constraints."""
        return effective_mass(now.M, now.force, now.v, h, *self.implicit)

    @property
    def implicit(self) -> tuple[Any, ...]:
        """What is taken at the end of a step: dampers, actuators, springs, their joints, and STIFF."""
        more = self.none
        if self.servo is not None:
            more = self.servo_damping()
        if self.cords is not None:
            more = self.cord_damping() + (0.0 if more is self.none else more)
        return self.damping, more, self.springs, self.spring_dof, STIFF

    def servo_damping(self) -> Dense:
        """What actuators add to D: momentᵀ diag(-∂force/∂velocity) moment."""
        m, d = self.model, self.data
        moment = np.zeros((m.nu, m.nv))
        self.mujoco.mju_sparse2dense(moment, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        bias, gain = self.servo  # type: ignore[misc]  # asked for only where there are
        damped = -(bias + gain * d.ctrl)
        limited = m.actuator_forcelimited.astype(bool)
        outside = (d.actuator_force <= m.actuator_forcerange[:, 0]) | (d.actuator_force >= m.actuator_forcerange[:, 1])
        damped[limited & outside] = 0.0
        return moment.T @ (np.maximum(damped, 0.0)[:, None] * moment)

    def cord_damping(self) -> Dense:
        """What tendons add to D: Jᵀ diag(damping) J."""
        m, d = self.model, self.data
        J = np.zeros((m.ntendon, m.nv))
        self.mujoco.mju_sparse2dense(J, d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind)
        return J.T @ (self.cords[:, None] * J)  # type: ignore[index]  # asked for only where there are

    def advance(self, v: Vector, h: float) -> None:
        """To the end of the step with the velocity v: q, activations and time by MuJoCo's Euler step."""
        m, d = self.model, self.data
        self.settings.timestep = h
        np.subtract(v, d.qvel, out=d.qacc)
        d.qacc[:] /= h
        self.mujoco.mj_Euler(m, d)
        d.qvel[:] = v
        self.time = d.time

    # as functions of q

    def contact_point(self, point: FramePoint) -> ContactPoint:
        """A point of a body that may touch a plane."""
        body, local = self.loaded.body(point.frame), np.array(point.point, float)

        def where(q: Vector) -> Vector:
            self.place(q)
            return self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ local

        def jacobian(q: Vector) -> Dense:
            J = np.zeros((3, self.model.nv))
            self.mujoco.mj_jac(self.model, self.data, J, None, where(q), body)
            return J

        return on_its_plane(point, where, jacobian)


def contact_memory(found: Any) -> tuple[Any, Any, Any]:
    """MuJoCo's contacts, of which there is at least one, as an array of numbers and one of integers, with a row each,
    and where in a row is what; nothing is copied."""
    fields = [getattr(found, name) for name in CONTACT_FIELDS]
    first = fields[0]
    size = first.strides[0] // first.itemsize
    memory = np.lib.stride_tricks.as_strided(first, (len(first), size), (first.strides[0], first.itemsize))
    start = address(first)
    return memory, memory.view(np.int32), tuple((address(each) - start) // each.itemsize for each in fields)


def address(values: Any) -> int:
    return int(values.__array_interface__["data"][0])


def body_sizes(m: Any) -> Vector:
    """(nb,) how far the shapes of a body reach from its centre of mass; planes do not turn."""
    size = np.zeros(m.nbody)
    away = np.linalg.norm(m.geom_pos - m.body_ipos[m.geom_bodyid], axis=1) + m.geom_rbound
    np.maximum.at(size, m.geom_bodyid, away)
    return size


def is_implicit(mujoco: Any, m: Any) -> bool:
    """Does the file ask for an implicit integrator?"""
    return m.opt.integrator in (mujoco.mjtIntegrator.mjINT_IMPLICIT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST)


def implicit_servos(mujoco: Any, m: Any) -> tuple[Vector, Vector] | None:
    """∂force/∂velocity of actuators, constant and by control, where the file asks for an implicit integrator."""
    if m.nu == 0 or not is_implicit(mujoco, m) or m.nu != len(m.actuator_biastype):
        return None
    bias = np.where(m.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE, m.actuator_biasprm[:, 2], 0.0)
    gain = np.where(m.actuator_gaintype == mujoco.mjtGain.mjGAIN_AFFINE, m.actuator_gainprm[:, 2], 0.0)
    return (bias, gain) if bias.any() or gain.any() else None


def engine_of(owner: str) -> Any:
    """MuJoCo, or the sentence that it is missing."""
    return extra(owner, "mujoco", "MuJoCo", "mujoco")


@checked(path=file_path, floating=truth, ground=number, quiet=truth)
def load_model(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    ground: float | None = None,
    scene: Scene | None = None,
    quiet: bool = False,
) -> LoadedModel:
    """A model from an MJCF (.xml) or URDF (.urdf) file.

    floating     the base of a URDF is free; an MJCF says so itself
    ground       a plane z = ground is added, with MuJoCo's default friction of 1   [m]
    scene        its bodies are added: a box to grasp, a table (dynamics/model_scene.py)
    quiet        no ModelWarning of what is left out; `left_out` of the model has it in any case
    """
    mujoco = engine_of(OWNER)
    file = Path(path)
    spec, notes = read_spec(mujoco, file, floating, ground)
    if scene is not None:
        notes += add_scene(mujoco, spec, scene)
    original = compiled(mujoco, spec, file, notes)
    if part_links(mujoco, spec, original, notes, all_links=file.suffix == ".urdf"):
        original = compiled(mujoco, spec, file, notes)
    if original.nv == 0:
        free = "" if file.suffix != ".urdf" or floating else ", or floating=True"
        raise InputError(f"{OWNER}: {str(file)!r} has no joints, expected a model in which something can move{free}")
    notes += not_mapped(mujoco, original)
    name = file.stem if spec.modelname in ("", UNNAMED) else spec.modelname
    again = partial(load_model, file.absolute(), floating=floating, ground=ground, scene=scene, quiet=True)
    loaded = LoadedModel(name, rigid(mujoco, copy.copy(original)), original, tuple(notes), again)
    if notes and not quiet:
        warnings.warn(f"{OWNER}: of {str(file)!r}: {'; '.join(notes)}", ModelWarning, stacklevel=2)
    return loaded


def audited(model: Any) -> LoadedModel:
    """A loaded model of a path, of an MjModel, or of itself."""
    if isinstance(model, LoadedModel):
        return model
    if isinstance(model, str | os.PathLike):
        return load_model(model, quiet=True)
    if not hasattr(model, "geom_solref"):
        raise InputError(f"audit: model is {shown(model)}, expected a path, a model of load_model or a mujoco.MjModel")
    mujoco = engine_of("audit")
    own = rigid(mujoco, copy.copy(model))
    return LoadedModel("model", own, copy.copy(model), tuple(not_mapped(mujoco, model)))


def rigid(mujoco: Any, m: Any) -> Any:
    """A model whose constraints are made as rows of a dense matrix and never solved by MuJoCo."""
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    m.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON  # makes nothing that only a dual solver needs
    bits = mujoco.mjtDisableBit
    m.opt.disableflags |= int(bits.mjDSBL_EULERDAMP) | int(bits.mjDSBL_AUTORESET) | int(bits.mjDSBL_ISLAND)
    for name in SOFT_FLAGS:
        m.opt.enableflags &= ~int(getattr(mujoco.mjtEnableBit, name))
    m.jnt_margin[:] += NEAR_LIMIT
    m.tendon_margin[:] += NEAR_LIMIT
    return m


def not_mapped(mujoco: Any, m: Any) -> list[str]:
    """What of a model has no counterpart here, in sentences."""
    rolling = int((m.geom_condim == 6).sum() + (m.pair_dim == 6).sum())
    uneven = int((m.pair_friction[:, 0] != m.pair_friction[:, 1]).sum())
    coriolis = m.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICIT
    runge = m.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    implicit = is_implicit(mujoco, m)
    muscles = implicit and (m.actuator_gaintype == mujoco.mjtGain.mjGAIN_MUSCLE).any()
    fluid = implicit and (m.opt.density > 0 or m.opt.viscosity > 0)
    flags = [name for name in SOFT_FLAGS if m.opt.enableflags & int(getattr(mujoco.mjtEnableBit, name))]
    said = (
        (rolling, f"rolling friction of {rolling} geoms or pairs (condim 6) left out, their spin kept"),
        (uneven, f"friction of {uneven} pairs differs along their tangents: the first value is taken for both"),
        (m.nflex, f"{m.nflex} flexible bodies: their contacts left out"),
        (m.geom_surfacevel.any(), "surface velocities of geoms left out"),
        (m.geom_adhesion.any(), "adhesion of geoms left out"),
        (m.nplugin, f"{m.nplugin} plugins run as in MuJoCo, their contacts left out"),
        (runge, "steps are semi-implicit Euler's, not the Runge-Kutta steps that the file asks for"),
        (coriolis, "Coriolis forces are those of the start of a step, not implicit as the file asks for"),
        (muscles, "muscles pull as at the start of a step, not implicitly as the file asks for"),
        (fluid, "a fluid drags as at the start of a step, not implicitly as the file asks for"),
        (flags, f"settings of MuJoCo's own solver left out: {', '.join(flags)}"),
        (m.opt.noslip_iterations, "noslip_iterations left out, for nothing slips that should not"),
    )
    return [text for condition, text in said if condition]
