"""Systems under way: what makes one step after another, for `simulate` and `Simulation` alike.

`SystemStepper` steps a system of fixed contact points (engine/systems.py). `ModelStepper` steps a model of a robot,
dynamics/mujoco.py, whose contacts come and go: its step is (1) there, as a ContactProblem, so that formulations and
solvers are those of scenes. A contact that goes on starts from its impulse of the step before. Where no
solution is found that takes overlaps back, as of links of a robot that no joint can part, the step is made without
that: nothing gets worse, and `unrecovered` counts such steps. After one of them overlaps are left, and one step in
AGAIN looks for a solution that takes them back. Either has

    put(q, v)               to go on from another state; the last step is forgotten
    step(), accept(step)    what a step would do; and to make it
    state()                 the columns of the recorder for the instant
    kept(step, status)      what of the step that was accepted last `block` needs
    block(kept)             the columns of the recorder for some steps in a row
    memory(kept, inside)    what a run that was kept up to there goes on from beside q and v, as the columns of
                            REMEMBERED; `inside`: the contacts that a watch saw in their locking sectors
    recall(memory)          to go on from there
    names()                 of the contacts of the last step
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stickslip.checks import vector
from stickslip.dynamics.generalized import System, evaluate
from stickslip.dynamics.model_rows import FRAME, NUMBER, PLACE, met
from stickslip.dynamics.mujoco import RECOVERY, LoadedModel, Now, Run
from stickslip.engine.arguments import SCHEME
from stickslip.engine.model_newton import PART, SLIDES, STATE, bounded, carried, model_step
from stickslip.engine.recorder import MODEL, Columns, Header, nothing_remembered
from stickslip.engine.rows import METHODS
from stickslip.engine.running import in_words
from stickslip.engine.system_trajectory import ModelTrajectory, SystemTrajectory, contact_columns
from stickslip.engine.systems import (
    Force,
    SystemStep,
    applied,
    contact_part,
    solved_step,
    spinning_rows,
    step_columns,
    step_system,
    together,
)
from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.friction.terms import SPRINGS
from stickslip.problems.matrix import Dense, Indices, Vector
from stickslip.solvers.solution import Solver
from stickslip.solvers.status import Status


class QuickStep(NamedTuple):
    """A step that compiled code solved, with the fields of a SystemStep; its problem is made when it is asked for."""

    now: Now
    make: Callable[[Now, Dense], ContactProblem]  # of the instant and the impulses of the step before
    before: Dense  # (nc before, 3)
    seconds: float
    residual: float
    iterations: int
    after: Vector
    impulses: Dense  # (nc, 3)
    joints: Vector
    did: Indices  # (nc, 3)   of model_newton.py
    wrong: float  # velocity of the worst contact that the law does not allow   [m/s]
    worst: int  # which that is

    @property
    def problem(self) -> ContactProblem:
        return self.make(self.now, self.before)

    @property
    def impulse(self) -> Vector:
        return self.impulses.ravel()

    @property
    def friction(self) -> Vector:
        return self.now.mu

    @property
    def left_out(self) -> Indices:
        return self.did[:, PART]

    @property
    def sliding(self) -> Any:
        return self.did[:, SLIDES] == 1

    @property
    def state(self) -> Indices:
        return self.did[:, STATE]

    @property
    def velocity(self) -> Vector:
        return self.now.A @ self.after

    @property
    def method(self) -> int:
        return NEWTON if self.impulses.size + self.joints.size else 0

    @property
    def errors(self) -> dict[str, Any]:
        return {"velocity_error": self.wrong, "force_error": 0.0, "worst": self.worst}

    def graded(self, accept: float) -> Status:
        return Status.SOLVED


Step: TypeAlias = SystemStep | QuickStep


QUICK = "cone_interior_point"  # what compiled code leaves; where that fails too, auto tries all that it knows
NEWTON = METHODS.index("ConeNewton")
AGAIN = 10  # steps between two that try to take overlaps back, where that failed
NO_IMPULSES, NO_KEYS, NO_JOINTS = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0)  # before the first step


@dataclass
class How:
    """The settings of a run."""

    h: float
    formulation: Formulation
    solver: str | Solver
    tol: float
    scheme: Scheme | None
    accept: float = math.nan
    recovery: float = RECOVERY  # share of the error of constraints and limits of a model that a step takes back


def stepper_of(system: System, q: Any, v: Any, how: How, force: Force | None, control: Force | None) -> Stepper:
    """What steps a system from (q, v); a model starts at home where no q is given."""
    if isinstance(system, LoadedModel):
        return ModelStepper(system, system.home if q is None else q, v, how, force, control)
    if control is not None:
        raise InputError(f"simulate: control is given for {system.name!r}, expected it for a model with actuators only")
    if q is None:
        raise InputError(f"simulate: q is None for the system {system.name!r}, expected its coordinates")
    return SystemStepper(system, q, v, how, force)


class SystemStepper:
    """A system with fixed contact points."""

    def __init__(self, system: System, q: Any, v: Any, how: How, force: Force | None) -> None:
        self.system, self.how, self.number = system, how, 0
        self.scheme: Scheme = SCHEME("simulate", "scheme", how.scheme or how.formulation.scheme)
        self.force = applied(system, "force", force, system.velocities)
        self.put(q, np.zeros(system.velocities) if v is None else v)

    def put(self, q: Vector, v: Vector) -> None:
        self.at: Any = evaluate(self.system, q, v, self.number * self.how.h)
        self.previous: Vector | None = None
        self.gap = self.at.gap

    @property
    def q(self) -> Vector:
        return self.at.q

    @property
    def v(self) -> Vector:
        return self.at.v

    def step(self) -> Step:
        now, euler = self.number * self.how.h, self.scheme == "euler"
        return step_system(self.system, self.at, self.how, self.force, now, self.previous, euler)

    def accept(self, one: Step) -> None:
        assert isinstance(one, SystemStep)
        self.number += 1
        self.gap, self.at, self.previous = self.at.gap, one.after, one.impulse

    def state(self) -> dict[str, Any]:
        at = self.at
        return {"q": at.q, "v": at.v, "gap": at.gap, "kinetic": at.v @ at.M @ at.v / 2}

    def kept(self, one: Step, status: Status) -> Any:
        columns = step_columns(one, status, self.number * self.how.h) | self.state() | {"joint_impulse": one.joints}
        return columns, contact_part(one, self.gap)

    def block(self, kept: list[Any]) -> dict[str, Any]:
        columns, contacts = map(together, zip(*kept, strict=True))
        return columns | contact_columns(len(kept), self.gap.size, contacts)

    def memory(self, kept: Any, inside: set[Any]) -> Columns:
        count = self.gap.size
        memory = nothing_remembered(count)
        memory["memory/key"][:] = np.arange(count)[:, None]
        memory["memory/inside"][:] = [i in inside for i in range(count)]
        _, contacts = kept
        memory["memory/impulse"][:] = contacts["impulse"]
        memory["memory/moment"][:] = contacts.get("moment", 0.0)
        return memory

    def recall(self, memory: Columns) -> None:
        rows = len(spinning_rows(self.system, self.at) if self.how.formulation.spin else self.at.A)
        self.previous = impulses_of(memory)[:, : rows // max(1, self.gap.size)].ravel()

    def header(self, **run: Any) -> Header:
        said = in_words(self.how) | {"planar": self.at.dimension == 2, "scheme": self.scheme} | run
        return Header.of_system(self.system, self.names(), len(self.at.G), **said)

    def trajectory(self, record: Any) -> SystemTrajectory:
        return SystemTrajectory(record, self.system)

    def names(self) -> tuple[str, ...]:
        return tuple(contact.name for contact in self.system.contacts)


class Made(NamedTuple):
    """A step of a model that was made, and where it led."""

    step: Any  # a Step
    status: Status
    time: float  # of its end   [s]
    q: Vector
    v: Vector
    held: Vector  # impulses of equality constraints
    state: Vector  # what MuJoCo would go on from
    left: bool  # it left overlaps as they are
    unrecovered: int  # how many steps did, up to here


CONTACT_ROW, BOUNDED_ROW, STATE_ROW, LAST_ROW = range(4)  # what a row of the memory of a model is about


class ModelStepper:
    """A model of a robot; its steps are Euler's, (1) of dynamics/mujoco.py.

    The next step depends on the state of MuJoCo (mjSTATE_INTEGRATION), on the contacts of this one, known again by
    their geoms and places, and their impulses, and on those of the bounded rows. In the columns of REMEMBERED:

                    key                            impulse        trend       moment    moved   waited
        contacts    geom, geom, number             of contact     its place   of spin           CONTACT_ROW
        rows        key                            first: λ                                     BOUNDED_ROW
        state                                      first: number                                STATE_ROW
        one last    first_new, unrecovered                                              left    LAST_ROW
    """

    def __init__(
        self, system: LoadedModel, q: Any, v: Any, how: How, force: Force | None, control: Force | None
    ) -> None:
        if SCHEME("simulate", "scheme", how.scheme or "euler") != "euler":
            raise InputError(
                f"simulate: scheme is {how.scheme!r}, expected 'euler' for {system.name!r}: a model's steps"
            )
        self.system, self.how, self.number = system, how, 0
        self.scheme: Scheme = "euler"
        self.left, self.unrecovered = False, 0  # did the last step leave overlaps as they are, and how many did
        self.leaves = False  # does the one that `step` looks at
        self.run, self.controls = Run(system), system.model.nu
        formulation = how.formulation
        self.law = formulation.law(how.h)
        cones = type(formulation) is Coulomb and self.law.answers and self.law.stabilised != SPRINGS
        self.quick = cones and how.solver == "auto"
        self.control = None if control is None else applied(system, "control", control, self.controls)
        self.force = None if force is None else applied(system, "force", force, system.velocities)
        self.put(q, np.zeros(system.velocities) if v is None else v)

    def put(self, q: Vector, v: Vector) -> None:
        name = self.system.name
        start = vector(name, "q", q, self.system.coordinates).copy()
        self.run.mujoco.mj_normalizeQuat(self.run.model, start)
        self.run.forget()
        self.run.time = self.number * self.how.h
        self.run.place(start, vector(name, "v", v, self.system.velocities))
        self.impulse: Vector | None = None
        self.last: Now | None = None
        self.joints, self.keys, self.settled = NO_JOINTS, NO_KEYS, True

    @property
    def q(self) -> Vector:
        return np.array(self.run.data.qpos)

    @property
    def v(self) -> Vector:
        return np.array(self.run.data.qvel)

    def look(self) -> Now:
        """What the next step starts from."""
        self.find()
        return self.run.gathered()

    def find(self) -> None:
        """MuJoCo's part of it."""
        run, d = self.run, self.run.data
        if self.control is not None:
            d.ctrl[:] = self.control(run.time, self.q, self.v)
        if self.force is not None:
            d.qfrc_applied[:] = self.force(run.time, self.q, self.v)
        if not self.settled:
            run.settle()
        run.find(self.how.h)

    def problem(self, now: Now, before: Dense | None = None) -> ContactProblem:
        """Of the next step, or of one after other impulses, (nc before, d)."""
        h, impulse = self.how.h, self.impulse if before is None else before
        M, momentum = self.run.effective(now, h)
        count, n, A = len(now.contact), now.v.size, now.A
        wanted, lower, upper = bounded(now.row, h, self.how.recovery, self.law.brake)
        if self.how.formulation.spin and now.patch.any():
            A = np.concatenate([A.reshape(count, 3, n), now.spin[:, None]], axis=1).reshape(-1, n)
        return ContactProblem(
            h=h,
            M=M,
            f=momentum,
            v=now.v,
            H=A.T,
            mu=now.mu,
            gap=now.gap,
            restitution=now.restitution,
            previous=None if impulse is None else carried(now.tag, impulse, len(A) // count if count else 3).ravel(),
            patch=now.patch,
            point=now.place.ravel(),
            time=self.run.time,
            G=now.rows.T,
            b=wanted,
            lower=lower,
            upper=upper,
        )

    def step(self) -> Step:
        self.find()
        if self.quick:
            for leave in self.ways():
                one = self.quick_step(leave)
                if one is not None:
                    self.leaves = leave
                    return one
        return self.hard_step()

    def ways(self) -> tuple[bool, ...]:
        """Whether to leave overlaps as they are, in the order that is tried."""
        if not self.left:
            return (False,)
        return (True,) if self.number % AGAIN else (False, True)

    def hard_step(self) -> Step:
        """The step that compiled code does not solve, or does not know: by a solver, and without taking overlaps back
        where that fails."""
        now, first = self.run.gathered(), QUICK if self.quick else self.how.solver
        one, self.leaves = self.solver_step(now, first), False
        if self.solved(one):
            return one
        if overlaps(now):
            contact, row = met(now.contact, now.row)
            quick = self.quick_step(True) if self.quick else None
            again = quick or self.solver_step(now, first, now._replace(contact=contact, row=row))
            if self.solved(again):
                self.leaves = True
                return again
        return self.solver_step(now, self.how.solver) if self.quick else one

    def solved(self, one: Step) -> bool:
        return one.graded(self.how.tol) == Status.SOLVED

    def solver_step(self, now: Now, solver: str | Solver, posed: Now | None = None) -> SystemStep:
        """The step from what was found, or from what is `posed` instead, by a solver."""
        started, how = clock.perf_counter(), self.how
        problem = self.problem(now if posed is None else posed)
        return solved_step(problem, how, solver, started, now)

    def quick_step(self, leave: bool) -> QuickStep | None:
        """The step by engine/model_newton.py, which may leave overlaps; None where that does not solve it."""
        started, run, d, how = clock.perf_counter(), self.run, self.run.data, self.how
        M, before = run.mass(), NO_IMPULSES if self.impulse is None else self.impulse
        old = self.keys, self.joints
        smooth = M, d.qfrc_smooth, d.qvel, *run.implicit
        given: tuple[Any, ...] = (*run.found(), *smooth, before, *old, how.recovery, leave, self.law, how.tol)
        found, start, answer = model_step(*given)
        solved, residual, steps, v, p, joints, did, wrong, worst = answer
        if not solved:
            return None
        now, seconds = Now(M, start, np.array(d.qpos), *found), clock.perf_counter() - started
        return QuickStep(now, self.problem, before, seconds, residual, steps, v, p, joints, did, wrong, worst)

    def accept(self, one: Step) -> None:
        now = one.now
        assert now is not None
        self.last, self.settled = now, False
        self.run.remember(now)
        self.left = self.leaves
        self.unrecovered += self.left
        self.run.advance(one.after, self.how.h)
        self.number += 1
        if isinstance(one, QuickStep):
            self.impulse = one.impulses
        else:
            count = len(now.contact)
            self.impulse = one.impulse.reshape(count, one.impulse.size // count if count else 3)
        self.joints, self.keys = one.joints, now.key

    def state(self) -> dict[str, Any]:
        return {"q": self.q, "v": self.v, "kinetic": self.v @ self.run.mass() @ self.v / 2}

    def kept(self, one: Step, status: Status) -> Any:
        held = one.joints[: self.run.data.ne]
        goes_on = self.run.state(), self.left, self.unrecovered
        return Made(one, status, self.number * self.how.h, self.q, self.v, held, *goes_on)

    def memory(self, kept: Made, inside: set[Any]) -> Columns:
        now, contacts = kept.step.now, len(kept.step.now.contact)
        ends = np.cumsum([contacts, now.key.size, kept.state.size, 1])
        memory = nothing_remembered(int(ends[-1]))
        key, impulse = memory["memory/key"], memory["memory/impulse"]
        rows, state = slice(*ends[:2]), slice(*ends[1:3])
        impulses = kept.step.impulse.reshape(contacts, -1) if contacts else NO_IMPULSES
        key[:contacts], memory["memory/trend"][:contacts] = now.tag[:, : NUMBER + 1], now.place
        memory["memory/inside"][:contacts] = [i in inside for i in range(contacts)]
        impulse[:contacts] = impulses[:, :3]
        memory["memory/moment"][:contacts] = impulses[:, 3] if impulses.shape[1] == 4 else 0.0
        key[rows, 0], impulse[rows, 0], impulse[state, 0] = now.key, kept.step.joints, kept.state
        key[-1, :2], memory["memory/moved"][-1] = (now.first_new, kept.unrecovered), kept.left
        memory["memory/waited"][:] = np.repeat(range(4), np.diff(ends, prepend=0))
        return memory

    def recall(self, memory: Columns) -> None:
        key, impulse, what = memory["memory/key"], memory["memory/impulse"], memory["memory/waited"]
        contact, bounded_row = what == CONTACT_ROW, what == BOUNDED_ROW
        self.run.put(impulse[what == STATE_ROW, 0])
        first_new, self.unrecovered, _ = key[-1].tolist()
        self.run.recall(key[contact], memory["memory/trend"][contact], first_new)
        self.left = bool(memory["memory/moved"][-1])
        self.impulse = impulses_of(memory)[contact, : 4 if self.how.formulation.spin else 3].copy()
        self.joints, self.keys = impulse[bounded_row, 0].copy(), key[bounded_row, 0].copy()

    def block(self, kept: list[Made]) -> dict[str, Any]:
        instants = [each.step.now for each in kept]
        contact, tag = (np.concatenate([getattr(now, name) for now in instants]) for name in ("contact", "tag"))
        M, v = np.array([now.M for now in instants]), np.array([each.v for each in kept])
        columns = together([step_columns(each.step, each.status, each.time) for each in kept]) | {
            "q": np.array([each.q for each in kept]),
            "v": v,
            "kinetic": np.einsum("si,sij,sj->s", v, M, v) / 2,
            "joint_impulse": np.array([each.held for each in kept]),
            "contact_start": np.cumsum([0, *map(len, (now.contact for now in instants))]),
        }
        part = stacked([contact_part(each.step, now.gap) for each, now in zip(kept, instants, strict=True)]) | {
            "shape_a": tag[:, 1],
            "shape_b": tag[:, 0],
            "feature": tag[:, NUMBER],
            "point": contact[:, PLACE:FRAME],
            "normal": contact[:, FRAME : FRAME + 3],
            "tangent": contact[:, FRAME + 3 : FRAME + 6],
        }
        return columns | {f"contacts/{name}": value for name, value in part.items()}

    def header(self, **run: Any) -> Header:
        self.run.find(self.how.h)  # so that constraints are counted
        said = in_words(self.how) | {"planar": False, "scheme": self.scheme, "digest": self.system.digest} | run
        return Header.of_system(self.system, self.system.geoms, int(self.run.data.ne), MODEL, **said)

    def trajectory(self, record: Any) -> SystemTrajectory:
        return ModelTrajectory(record, self.system)

    def names(self) -> tuple[str, ...]:
        return () if self.last is None else self.system.contact_names(self.last.geom)


Stepper: TypeAlias = SystemStepper | ModelStepper


def impulses_of(memory: Columns) -> Dense:
    """(rows, 4) impulses in space and moments about the normal."""
    return np.column_stack([memory["memory/impulse"], memory["memory/moment"]])


def stacked(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of contacts one after another; zeros where a step, as one without contacts, has no such column."""
    names = {name: None for part in parts for name in part}
    return {name: np.concatenate([part.get(name, np.zeros(len(part["gap"]))) for part in parts]) for name in names}


def overlaps(now: Now) -> bool:
    """Is there something that a step would take back?"""
    return bool((now.gap < 0).any() or (now.error[~np.isfinite(now.bound)] < 0).any())
