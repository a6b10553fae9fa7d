"""`simulate_system(system, q, v, ...)`: steps of a system in generalized coordinates under any formulation of friction.

    M(q) v⁺ = M(q) v + h (f - c(q, v)) + Aᵀ(q) p + Gᵀ(q) ν,    q⁺ = q moved by h v⁺                           (1)

is the ContactProblem of friction/contact_problem.py, so formulations and solvers are those of scenes. All contacts
take part in every step; those that are open carry nothing. Of the error of a constraint half is taken back in a step,
as of joints. The method is of order one; forces that depend on q and v are those at the start of the step.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.generalized import Instant, System, evaluate
from stickslip.dynamics.joints import RECOVERY
from stickslip.engine.simulate import count_steps
from stickslip.engine.step import (
    LAGGED,
    contact_states,
    friction_that_held,
    loaded_without_friction,
    solve_contacts,
)
from stickslip.engine.watch import JamEvent, JamWatch, watch_for
from stickslip.errors import StepFailed
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.problems.files import save
from stickslip.problems.matrix import Dense, Indices, Vector, vector
from stickslip.solvers.solution import Solution, Solver, Status

Force: TypeAlias = Callable[[float, Vector, Vector], ArrayLike] | ArrayLike  # (n,), constant or of (t, q, v)


@dataclass(frozen=True, eq=False)
class SystemTrajectory:
    """What a run of a system leaves. Step i leads from time[i] to time[i + 1]; d is 2 or 3 components, normal first."""

    system: System
    time: Vector  # (n + 1,)   [s]
    q: Dense  # (n + 1, p)
    v: Dense  # (n + 1, n_v)
    gap: Dense  # (n + 1, nc)   [m]
    impulse: Dense  # (n, nc, d)   [N s]
    velocity: Dense  # (n, nc, d)   of the contacts at the end of the step, with the rows of its start   [m/s]
    friction: Dense  # (n, nc)   coefficient that held
    state: Indices  # (n, nc)   of problems.contact_states.State
    status: Indices  # (n,)   of solvers.solution.Status
    residual: Vector  # (n,)
    iterations: Indices  # (n,)
    seconds: Vector  # (n,)
    events: tuple[JamEvent, ...] = ()  # what a watch saw

    def __len__(self) -> int:
        return self.status.size

    @property
    def failures(self) -> Indices:
        """Steps that were not solved."""
        return np.flatnonzero(self.status != Status.SOLVED)

    @property
    def kinetic_energy(self) -> Vector:
        """(n + 1,) ½ vᵀ M(q) v   [J]."""
        return np.array([v @ np.asarray(self.system.mass(q)) @ v / 2 for q, v in zip(self.q, self.v, strict=True)])

    def __repr__(self) -> str:
        return f"SystemTrajectory({self.system.name!r}, steps={len(self)}, failures={self.failures.size})"


@dataclass(frozen=True, eq=False)
class SystemStep:
    """One step: where it led, and what its solve found."""

    problem: ContactProblem
    answer: Solution
    q: Vector
    v: Vector
    impulse: Vector  # (d nc,)
    velocity: Vector  # (d nc,)
    friction: Vector  # (nc,)
    seconds: float


def simulate_system(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    dt: float,
    friction: Formulation | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    force: Force | None = None,
    keep_going: bool = False,
    watch: Literal["jamming"] | None = None,
) -> SystemTrajectory:
    """Run a system from (q, v) for `duration` seconds in steps of `dt`; words are those of `simulate`.

    `force`: generalized forces beside the bias, constant or a function of (t, q, v). `watch`: "jamming" records in
    `events` the sliding contacts that enter their locking sector.
    """
    formulation: Formulation = Coulomb() if friction is None else friction
    steps = count_steps(duration, dt)
    at = evaluate(system, q, v)
    watching = watch_for(watch)
    made: list[SystemStep] = []
    events: list[JamEvent] = []
    previous = np.zeros(len(at.A))
    states, gaps = [(at.q, at.v)], [at.gap]
    for number in range(steps):
        applied = applied_force(system, force, number * dt, at)
        one = step_system(system, at, dt, applied, formulation, solver or formulation.solver, tol, previous)
        if not one.answer.solved and not keep_going:
            error = failure(system, one.answer, number, dt)
            error.trajectory = trajectory(system, dt, states, gaps, made)
            raise error
        made.append(one)
        if watching is not None:
            events += look(watching, system, one, formulation.slip_speed, number, dt)
        previous = one.impulse
        at = evaluate(system, one.q, one.v)
        states.append((at.q, at.v))
        gaps.append(at.gap)
    return replace(trajectory(system, dt, states, gaps, made), events=tuple(events))


def look(watch: JamWatch, system: System, one: SystemStep, slip_speed: float, number: int, dt: float) -> list[JamEvent]:
    """Have the watch look at a step; contacts are known by their numbers."""
    states = contact_states(one.problem, one.friction, one.impulse, one.velocity)
    contacts = [(i, contact.name) for i, contact in enumerate(system.contacts)]
    return watch.look(one.problem, one.friction, states, slip_speed, number * dt, number, contacts)


def step_system(
    system: System,
    at: Instant,
    h: float,
    force: Vector,
    formulation: Formulation,
    solver: str | Solver,
    tol: float | None,
    previous: Vector,
) -> SystemStep:
    """One step (1) from an instant; `previous` are the contact impulses of the step before."""
    started = clock.perf_counter()
    problem = system_problem(system, at, h, force, previous)
    if isinstance(formulation, LAGGED) and problem.contacts:
        new = previous[:: problem.dimension] == 0
        problem = loaded_without_friction(problem, new, formulation, solver, tol) if new.any() else problem
    impulses, answer = solve_contacts(formulation, problem, solver, tol)
    v = problem.velocity_after(impulses)
    return SystemStep(
        problem=problem,
        answer=answer,
        q=system.moved(at.q, h * v),
        v=v,
        impulse=impulses.p,
        velocity=problem.H.T @ v,
        friction=friction_that_held(problem, formulation.slip_speed),
        seconds=clock.perf_counter() - started,
    )


def system_problem(
    system: System, at: Instant, h: float, force: Vector | float = 0.0, previous: Vector | None = None
) -> ContactProblem:
    """The ContactProblem of a step of size h."""
    contacts = system.contacts
    return ContactProblem(
        h=h,
        M=at.M,
        f=at.M @ at.v + h * (force - at.bias),
        v=at.v,
        H=at.A.T,
        mu=np.array([contact.friction for contact in contacts], float),
        mu_kinetic=[contact.friction_kinetic for contact in contacts],
        gap=at.gap,
        restitution=[contact.restitution for contact in contacts],
        previous=previous,
        G=at.G.T,
        b=RECOVERY * at.constraint_error / h,
    )


def applied_force(system: System, force: Force | None, now: float, at: Instant) -> Vector:
    if force is None:
        return np.zeros(system.velocities)
    given: Any = force(now, at.q, at.v) if callable(force) else force
    return vector(system.name, "force", given, system.velocities)


def failure(system: System, answer: Solution, number: int, dt: float) -> StepFailed:
    """The error of a step that was not solved, with its problem saved beside."""
    file = f"stickslip-failed-step-{number}.h5"
    save(answer.problem, file)  # type: ignore[arg-type]  # formulations make no CylinderProblem
    return StepFailed(
        f"step {number} of {system.name!r} at time {number * dt:g} s was not solved: {answer.method} ended with "
        f"{answer.status.name}, residual {answer.residual:.1e} (tol {answer.solver.tol:.0e}). The problem is saved in "
        f"{file}; try a smaller dt, a larger tol, another solver, or keep_going=True",
        answer,
        number,
        file,
    )


def trajectory(
    system: System, dt: float, states: list[tuple[Vector, Vector]], gaps: list[Vector], made: list[SystemStep]
) -> SystemTrajectory:
    nc, n = len(system.contacts), len(made)
    d = made[0].problem.dimension if made else 3

    def contacts(name: str) -> Dense:
        return np.array([getattr(one, name) for one in made], float).reshape(n, nc, -1 if n * nc else d)

    return SystemTrajectory(
        system=system,
        time=dt * np.arange(n + 1.0),
        q=np.array([q for q, _ in states]),
        v=np.array([v for _, v in states]),
        gap=np.array(gaps),
        impulse=contacts("impulse"),
        velocity=contacts("velocity"),
        friction=np.array([one.friction for one in made], float).reshape(n, nc),
        state=np.array(
            [contact_states(one.problem, one.friction, one.impulse, one.velocity) for one in made], np.int64
        ).reshape(n, nc),
        status=np.array([int(one.answer.status) for one in made], np.int64),
        residual=np.array([one.answer.residual for one in made]),
        iterations=np.array([one.answer.iterations for one in made], np.int64),
        seconds=np.array([one.seconds for one in made]),
    )
