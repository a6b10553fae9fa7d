"""`simulate_system(system, q, v, ...)`: steps of a system in generalized coordinates under any formulation of friction.

    M(q) v⁺ = M(q) v + h (f - c(q, v)) + Aᵀ(q) p + Gᵀ(q) ν,    q⁺ = q moved by h v⁺                           (1)

is the ContactProblem of friction/contact_problem.py, so formulations and solvers are those of scenes. All contacts
take part in every step; those that are open carry nothing. Of the error of a constraint half is taken back in a step,
as of joints. The method is of order one; forces that depend on q and v are those at the start of the step.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.generalized import Instant, System, evaluate
from stickslip.dynamics.joints import RECOVERY
from stickslip.engine.recorder import Header, Recorder
from stickslip.engine.simulate import count_steps, progress_bar, tolerance
from stickslip.engine.step import (
    LAGGED,
    contact_states,
    friction_that_held,
    loaded_without_friction,
    solve_contacts,
)
from stickslip.engine.system_trajectory import SystemTrajectory, contact_columns, in_space
from stickslip.engine.watch import JamEvent, JamWatch, watch_for
from stickslip.errors import StepFailed
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.problems.files import save
from stickslip.problems.matrix import Indices, Vector, vector
from stickslip.solvers.solution import Solution, Solver
from stickslip.solvers.solve import METHODS

Force: TypeAlias = Callable[[float, Vector, Vector], ArrayLike] | ArrayLike  # (n,), constant or of (t, q, v)


@dataclass(frozen=True, eq=False)
class SystemStep:
    """One step: where it led, and what its solve found."""

    problem: ContactProblem
    answer: Solution
    q: Vector
    v: Vector
    impulse: Vector  # (d nc,)
    joints: Vector  # (m,)   of the constraint's rows
    velocity: Vector  # (d nc,)
    friction: Vector  # (nc,)
    state: Indices  # (nc,)
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
    path: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> SystemTrajectory:
    """Run a system from (q, v) for `duration` seconds in steps of `dt`; words are those of `simulate`.

    `force`: generalized forces beside the bias, constant or a function of (t, q, v). `watch`: "jamming" records in
    `events` the sliding contacts that enter their locking sector.
    """
    formulation: Formulation = Coulomb() if friction is None else friction
    method = solver or formulation.solver
    steps = count_steps(duration, dt)
    at = evaluate(system, q, v)
    watching = watch_for(watch)
    header = Header.of_system(
        system,
        at,
        dt=float(dt),
        formulation=repr(formulation),
        solver=str(method),
        tol=tolerance(formulation, method, tol),
        methods=methods_of(method),
    )
    previous = np.zeros(len(at.A))
    with Recorder(header, state_of(at), path) as recorder, progress_bar(steps, progress) as done:
        for number in range(steps):
            applied = applied_force(system, force, number * dt, at)
            one = step_system(system, at, dt, applied, formulation, method, tol, previous)
            if not one.answer.solved and not keep_going:
                error = failure(system, one.answer, number, dt)
                error.trajectory = SystemTrajectory(recorder.finish(finished=False), system)
                raise error
            events = () if watching is None else look(watching, system, one, formulation.slip_speed, number, dt)
            gap, previous = at.gap, one.impulse
            at = evaluate(system, one.q, one.v)
            recorder.add(columns_of(header, one, gap, at, (number + 1) * dt), events)
            done(1)
        return SystemTrajectory(recorder.finish(), system)


def methods_of(solver: str | Solver) -> tuple[str, ...]:
    """What may solve a step: the classes of all solvers, and that of the user's own."""
    own = () if isinstance(solver, str) else (type(solver).__name__,)
    return tuple(dict.fromkeys(("none", *(name for _, name in METHODS.values()), *own)))


def state_of(at: Instant) -> dict[str, Any]:
    return {"q": at.q, "v": at.v, "gap": at.gap, "kinetic": at.v @ at.M @ at.v / 2}


def columns_of(header: Header, one: SystemStep, gap: Vector, after: Instant, now: float) -> dict[str, Any]:
    """The columns of the recorder for one step, which began with the gaps `gap`."""
    answer, d = one.answer, header.dimension
    step = {
        "time": now,
        **state_of(after),
        "status": int(answer.status),
        "iterations": answer.iterations,
        "residual": answer.residual,
        "seconds": one.seconds,
        "method": header.methods.index(type(answer.solver).__name__) if answer.problem.size else 0,
        "joint_impulse": one.joints,
    }
    contacts = {
        "friction": one.friction,
        "gap": gap,
        "impulse": in_space(one.impulse.reshape(-1, d)),
        "velocity": in_space(one.velocity.reshape(-1, d)),
        "state": one.state,
    }
    rows = contact_columns(1, gap.size, {name: value[None] for name, value in contacts.items()})
    return {name: np.asarray(value)[None] for name, value in step.items()} | rows


def look(
    watch: JamWatch, system: System, one: SystemStep, slip_speed: float, number: int, dt: float
) -> Sequence[JamEvent]:
    """What the watch sees in a step; contacts are known by their numbers."""
    contacts = [(i, contact.name) for i, contact in enumerate(system.contacts)]
    return watch.look(one.problem, one.friction, one.state, slip_speed, number * dt, number, contacts)


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
    velocity, mu = problem.H.T @ v, friction_that_held(problem, formulation.slip_speed)
    return SystemStep(
        problem=problem,
        answer=answer,
        q=system.moved(at.q, h * v),
        v=v,
        impulse=impulses.p,
        joints=impulses.joints,
        velocity=velocity,
        friction=mu,
        state=contact_states(problem, mu, impulses.p, velocity),
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
