"""Systems under way: what makes one step after another, for `simulate` and `Simulation` alike.

`SystemStepper` steps a system of fixed contact points (engine/systems.py). `ModelStepper` steps a model of a robot,
dynamics/mujoco.py, whose contacts come and go: its step is (1) there, as a ContactProblem, so that formulations and
solvers are those of scenes. A contact that goes on starts from its impulse of the step before. Where no
solution is found that takes overlaps back, as of links of a robot that no joint can part, the step is made without
that: nothing gets worse, and `unrecovered` counts such steps.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import vector
from stickslip.dynamics.generalized import System, evaluate
from stickslip.dynamics.mujoco import RECOVERY, LoadedModel, Now, Run
from stickslip.engine.engine import check_scheme
from stickslip.engine.model_newton import bounded, carried, quick_step
from stickslip.engine.outside import solve_rows
from stickslip.engine.recorder import MODEL, Header
from stickslip.engine.rows import METHODS
from stickslip.engine.system_trajectory import ModelTrajectory, SystemTrajectory, contact_columns
from stickslip.engine.systems import (
    Force,
    SystemStep,
    applied_force,
    contact_part,
    own_columns,
    spread_states,
    step_columns,
    step_system,
)
from stickslip.errors import InputError
from stickslip.friction.active import contact_terms, spread
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.friction.terms import SPRINGS
from stickslip.problems.matrix import Dense, Vector
from stickslip.solvers.solution import Solver
from stickslip.solvers.status import Status

Control = Callable[[float, Vector, Vector], ArrayLike] | ArrayLike  # (nu,), constant or of (t, q, v)


@dataclass(eq=False)
class QuickStep:
    """A step that compiled code solved, with the fields of a SystemStep; its problem is made when it is asked for."""

    make: Callable[[], ContactProblem]
    rows: Dense  # A
    after: Vector
    impulse: Vector
    joints: Vector
    friction: Vector
    sliding: Any
    left_out: Any
    state: Any
    iterations: int
    seconds: float
    residual: float
    method: int
    wrong: float  # velocity of the worst contact that the law does not allow   [m/s]
    worst: int  # which that is

    @cached_property
    def problem(self) -> ContactProblem:
        return self.make()

    @property
    def velocity(self) -> Vector:
        return self.rows @ self.after

    @property
    def errors(self) -> dict[str, Any]:
        return {"velocity_error": self.wrong, "force_error": 0.0, "worst": self.worst}

    def graded(self, accept: float) -> Status:
        return Status.SOLVED


Step: TypeAlias = SystemStep | QuickStep


QUICK = "cone_interior_point"  # what compiled code leaves; where that fails too, auto tries all that it knows
NEWTON = METHODS.index("ConeNewton")
NOTHING = np.zeros((0, 3))  # impulses of no contacts


class Stepper(Protocol):
    """A system under way."""

    number: int  # of steps made
    scheme: Scheme

    @property
    def q(self) -> Vector: ...

    @property
    def v(self) -> Vector: ...

    def put(self, q: Vector, v: Vector) -> None:
        """Go on from another state; the last step is forgotten."""

    def step(self) -> Step:
        """What a step would do; `accept` makes it."""

    def accept(self, one: Step) -> None: ...

    def state(self) -> dict[str, Any]:
        """The columns of the recorder for the instant."""

    def columns(self, one: Step, status: Status) -> dict[str, Any]:
        """The columns of the recorder for a step that was accepted."""

    def header(self, **run: Any) -> Header: ...

    def trajectory(self, record: Any) -> SystemTrajectory: ...

    def names(self) -> tuple[str, ...]:
        """Of the contacts of the last step."""


@dataclass
class How:
    """The settings of a run."""

    h: float
    formulation: Formulation
    solver: str | Solver
    tol: float
    scheme: Scheme | None
    recovery: float = RECOVERY  # share of the error of constraints and limits of a model that a step takes back


def stepper_of(system: System, q: Any, v: Any, how: How, force: Force | None, control: Control | None) -> Stepper:
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
        self.scheme: Scheme = check_scheme(how.scheme or how.formulation.scheme)
        self.force = applied_force(system, force)
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
        how, now = self.how, self.number * self.how.h
        solving = how.formulation, how.solver, how.tol, self.previous, self.scheme == "euler"
        return step_system(self.system, self.at, how.h, self.force, now, *solving)

    def accept(self, one: Step) -> None:
        assert isinstance(one, SystemStep)
        self.number += 1
        self.gap, self.at, self.previous = self.at.gap, one.after, one.impulse

    def state(self) -> dict[str, Any]:
        at = self.at
        return {"q": at.q, "v": at.v, "gap": at.gap, "kinetic": at.v @ at.M @ at.v / 2}

    def columns(self, one: Step, status: Status) -> dict[str, Any]:
        columns = step_columns(one, status, self.number * self.how.h) | self.state() | {"joint_impulse": one.joints}
        part = contact_part(one, self.gap)
        rows = contact_columns(1, self.gap.size, {name: value[None] for name, value in part.items()})
        return own_columns(columns) | rows

    def header(self, **run: Any) -> Header:
        return Header.of_system(self.system, self.at, **run)

    def trajectory(self, record: Any) -> SystemTrajectory:
        return SystemTrajectory(record, self.system)

    def names(self) -> tuple[str, ...]:
        return tuple(contact.name for contact in self.system.contacts)


class ModelStepper:
    """A model of a robot; its steps are Euler's, (1) of dynamics/mujoco.py."""

    def __init__(
        self, system: LoadedModel, q: Any, v: Any, how: How, force: Force | None, control: Control | None
    ) -> None:
        if how.scheme is not None and check_scheme(how.scheme) != "euler":
            raise InputError(
                f"simulate: scheme is {how.scheme!r}, expected 'euler' for {system.name!r}: a model's steps"
            )
        self.system, self.how, self.number = system, how, 0
        self.scheme: Scheme = "euler"
        self.left, self.unrecovered = False, 0  # did the last step leave overlaps as they are, and how many did
        self.run, self.controls = Run(system), system.model.nu
        formulation = how.formulation
        self.law = formulation.law(how.h)
        cones = type(formulation) is Coulomb and self.law.answers and self.law.stabilised != SPRINGS
        self.quick = cones and how.solver == "auto"
        self.control = None if control is None else given_controls(system, control)
        self.force = None if force is None else applied_force(system, force)
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

    @property
    def q(self) -> Vector:
        return np.array(self.run.data.qpos)

    @property
    def v(self) -> Vector:
        return np.array(self.run.data.qvel)

    def look(self) -> Now:
        """What the next step starts from."""
        run, d = self.run, self.run.data
        if self.control is not None:
            d.ctrl[:] = self.control(run.time, self.q, self.v)
        if self.force is not None:
            d.qfrc_applied[:] = self.force(run.time, self.q, self.v)
        if self.last is not None:
            run.place(d.qpos, d.qvel)
        known = run.known, run.next_number
        self.now = run.now(self.how.h)
        self.found = run.known, run.next_number
        run.known, run.next_number = known
        return self.now

    def problem(self, now: Now) -> ContactProblem:
        """Of the next step."""
        how = self.how
        return model_problem(self.run, now, how, how.formulation.spin, self.impulse)

    def step(self) -> Step:
        now = self.look()
        first = QUICK if self.quick else self.how.solver
        one, self.left = self.step_from(now, first), False
        if self.solved(one):
            return one
        if overlaps(now):
            again = self.step_from(without_overlaps(now), first)
            if self.solved(again):
                self.left = True
                return again
        return self.step_from(now, self.how.solver) if self.quick else one

    def solved(self, one: Step) -> bool:
        return one.graded(self.how.tol) == Status.SOLVED

    def step_from(self, now: Now, solver: str | Solver) -> Step:
        """The step from what was found, in compiled code if that solves it, else by a solver."""
        started, how = clock.perf_counter(), self.how
        if self.quick and solver == QUICK:
            one = self.quick_step(now, started)
            if one is not None:
                return one
        formulation, problem = how.formulation, self.problem(now)
        rows = formulation.rows(problem)
        solved = solve_rows(formulation, rows, solver, how.tol, how.tol, rows.previous[:, 0] == 0)
        impulses = spread(problem, rows.contacts, solved.impulses)
        v = problem.velocity_after(impulses)
        terms = contact_terms(problem, formulation.law(how.h))
        return SystemStep(
            problem=problem,
            answer=solved.answer,
            after=v,
            impulse=impulses.p,
            joints=impulses.joints,
            velocity=problem.H.T @ v + problem.w,
            friction=terms.mu,
            sliding=terms.sliding,
            left_out=terms.part,
            state=spread_states(problem, rows.contacts, solved.states),
            iterations=solved.iterations,
            seconds=clock.perf_counter() - started,
        )

    def quick_step(self, now: Now, started: float) -> QuickStep | None:
        """The step by engine/model_newton.py; None where that does not solve it."""
        run, before, last = self.run, self.impulse, self.last
        contacts = now.A, now.gap, now.mu, now.restitution, now.was, NOTHING if before is None else before
        old = (now.key[:0], now.error[:0]) if last is None else (last.key, self.joints)
        rows = now.rows, now.error, now.bound, now.key, *old, self.how.recovery
        given: tuple[Any, ...] = (now.M, now.force, now.v, *run.implicit, *contacts, *rows, self.law, self.how.tol)
        solved, residual, steps, v, p, joints, mu, sliding, taken, state, wrong, worst = quick_step(*given)
        if not solved:
            return None
        return QuickStep(
            make=lambda: model_problem(run, now, self.how, False, before),
            rows=now.A,
            after=v,
            impulse=p,
            joints=joints,
            friction=mu,
            sliding=sliding,
            left_out=taken,
            state=state,
            iterations=steps,
            seconds=clock.perf_counter() - started,
            residual=residual,
            method=NEWTON if p.size + joints.size else 0,
            wrong=wrong,
            worst=worst,
        )

    def accept(self, one: Step) -> None:
        self.last, (self.run.known, self.run.next_number) = self.now, self.found
        self.unrecovered += self.left
        self.run.advance(one.after, self.how.h)
        self.number += 1
        count = self.last.gap.size
        self.impulse = one.impulse.reshape(count, one.impulse.size // count if count else 3)
        self.joints = one.joints

    def state(self) -> dict[str, Any]:
        return {"q": self.q, "v": self.v, "kinetic": self.v @ self.run.mass() @ self.v / 2}

    def columns(self, one: Step, status: Status) -> dict[str, Any]:
        assert self.last is not None
        now, held = self.last, self.run.data.ne
        columns = step_columns(one, status, self.number * self.how.h)
        kinetic = one.after @ now.M @ one.after / 2
        columns |= {"q": self.q, "v": self.v, "kinetic": kinetic, "joint_impulse": one.joints[:held]}
        part = contact_part(one, now.gap) | {
            "shape_a": now.geom[:, 1],
            "shape_b": now.geom[:, 0],
            "feature": now.number,
            "point": now.place,
            "normal": now.frame[:, :3],
            "tangent": now.frame[:, 3:6],
        }
        rows = {f"contacts/{name}": value for name, value in part.items()}
        return own_columns(columns) | rows | {"contact_start": np.array([0, now.gap.size])}

    def header(self, **run: Any) -> Header:
        known = self.run.known, self.run.next_number
        self.run.now(self.how.h)  # so that constraints are counted
        self.run.known, self.run.next_number = known
        held, system = int(self.run.data.ne), self.system
        return Header(
            names=system.geoms,
            planar=False,
            world=MODEL,
            name=system.name,
            coordinates=system.coordinates,
            velocities=system.velocities,
            shape_body=np.arange(len(system.geoms)),
            joint_names=("constraint",) if held else (),
            joint_row=np.zeros(held, np.int64),
            joint_row_kind=tuple(f"row {i}" for i in range(held)),
            **run,
        )

    def trajectory(self, record: Any) -> SystemTrajectory:
        return ModelTrajectory(record, self.system)

    def names(self) -> tuple[str, ...]:
        return () if self.last is None else self.system.contact_names(self.last.geom)


def overlaps(now: Now) -> bool:
    """Is there something that a step would take back?"""
    return bool((now.gap < 0).any() or (now.error[~np.isfinite(now.bound)] < 0).any())


def without_overlaps(now: Now) -> Now:
    """The same with contacts and limits that are met, and constraints that hold: they need only not get worse."""
    constraint, limit = np.isposinf(now.bound), np.isneginf(now.bound)
    error = np.where(constraint | (limit & (now.error < 0)), 0.0, now.error)
    return now._replace(gap=np.maximum(now.gap, 0.0), error=error)


def given_controls(system: LoadedModel, control: Control) -> Callable[[float, Vector, Vector], Vector]:
    """The controls as a function that checks them."""
    given: Any = control

    def controls(now: float, q: Vector, v: Vector) -> Vector:
        return vector(system.name, "control", given(now, q, v) if callable(given) else given, system.model.nu)

    return controls


def model_problem(run: Run, now: Now, how: How, spin: bool, impulse: Vector | None = None) -> ContactProblem:
    """The ContactProblem of a step of a model; `impulse` (nc before, d) are those of the step before."""
    h = how.h
    M, momentum = run.effective(now, h)
    count, n = now.gap.size, now.v.size
    A = now.A
    if spin and now.patch.any():
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
        previous=None if impulse is None else carried(now.was, impulse, len(A) // count if count else 3).ravel(),
        patch=now.patch,
        point=now.place.ravel(),
        time=run.time,
        **bounded_rows(now, h, how.recovery),
    )


def bounded_rows(now: Now, h: float, recovery: float) -> dict[str, Any]:
    """Constraints, dry friction and limits as joint rows of a ContactProblem."""
    wanted, lower, upper = bounded(now.error, now.bound, h, recovery)
    return {"G": now.rows.T, "b": wanted, "lower": lower, "upper": upper}
