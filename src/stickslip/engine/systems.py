"""`simulate_system(system, q, v, ...)`: steps of a system in generalized coordinates under any formulation of friction.

One step of size h from (q, v), G the rows of the constraint, g its error, ġ = ∂g/∂t, S = G M⁻¹ Gᵀ:

    v_f = v + h a(t + h/2, q_m, v_m)            without contacts and constraint, a = M⁻¹ (f - c) at the middle     (1)
    M(q) v⁺ = M(q) v_f + Aᵀ(q) p + Gᵀ(q) ν      p by the formulation, ν so that G(q) v⁺ + ġ = 0                    (2)
    q⁺ = q moved by h w + D                     w = s v⁺ + (1 - s) v, s = ½, or 1 where something is hit           (3)
    v_next = v̂ - M⁻¹Gᵀ S⁺ (G v̂ + ġ) at q⁺       v̂ = v⁺ + (D - D_r)/h + M⁻¹Gᵀ S⁺ (G v_f + ġ) / 2                    (4)

(2) is the ContactProblem of friction/contact_problem.py, so formulations and solvers are those of scenes. All contacts
take part in every step; those that are open carry nothing. Velocities w of surfaces that move and ġ are those of the
end of the step. The middle is that of a step along the constraint,
q_m = q moved by h v / 2 and v_m = v + h v̇ / 2. D takes the constraint's error to (1 - RECOVERY) of what it was at the
start, by Newton's method with the matrices at q; D_r is what of it takes back, and no velocity. (4) gives half of the
impulse that holds the smooth forces back, for the constraint at q⁺ to give it there: this is RATTLE [1] in the form
drift, kick, drift. Where nothing is hit, steps are of order two, and the energy of free motion does not drift.

Something is hit where a contact carries an impulse that was approached faster than the formulation's rest speed, and
where contacts would give energy, p·½ (u + u⁺) > 0; with the scheme "euler", by which most papers define their
formulation, where any contact carries one. Then (3) is Euler's. Where contacts only bounce s is theirs, that of
friction/terms.py.

[1] Andersen, Rattle: a "velocity" version of the Shake algorithm, J. Computational Physics 52 (1983) 24-34.
"""

from __future__ import annotations

import os
import time as clock
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from stickslip.checks import optional, vector
from stickslip.dynamics.constrained import drift, pull, response
from stickslip.dynamics.generalized import (
    Instant,
    System,
    a_system,
    constraint_rows,
    contact_rows,
    evaluate,
    positive_definite,
)
from stickslip.dynamics.joints import RECOVERY
from stickslip.dynamics.motion import END, MEAN
from stickslip.engine.arguments import checked_run
from stickslip.engine.engine import accepted, checked_formulation, checked_solver, method_number, step_tolerance
from stickslip.engine.finish import unnoticed, worst_of
from stickslip.engine.outside import graded, solve_rows
from stickslip.engine.recorder import Checkpoint, Header, Recorder
from stickslip.engine.running import Chunk, count_steps, not_finite, recorded, step_failed, told
from stickslip.engine.system_trajectory import SystemTrajectory, in_space
from stickslip.engine.watch import JamEvent, JamWatch, watch_for
from stickslip.errors import InputError, ModelWarning
from stickslip.friction.active import contact_terms, spread
from stickslip.friction.contact_problem import MATERIAL, ContactProblem
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.friction.terms import LawNumbers, bounced_share
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Dense, Indices, Vector, as_dense
from stickslip.scene.friction_law import FrictionLaw
from stickslip.solvers.solution import Solution, Solver
from stickslip.solvers.status import Status

if TYPE_CHECKING:
    from stickslip.engine.steppers import How, Step, Stepper

USED = (Status.SOLVED, Status.INEXACT)  # steps that a run goes on with
BLOCK, BLOCK_SECONDS = 64, 0.25  # steps that are handed over together, at most, and how long the first of them waits
NEWTON, ROUNDING = 10, 1e-15  # iterations for the positions of the constraint, and the share of q that ends them

Applied: TypeAlias = Callable[[float, Vector, Vector], Vector]
Force: TypeAlias = Callable[[float, Vector, Vector], ArrayLike] | ArrayLike  # (n,), constant or of (t, q, v)


@dataclass(frozen=True, eq=False)
class SystemStep:
    """One step: where it led, and what its solve found."""

    problem: ContactProblem
    answer: Solution
    after: Any  # the Instant; of a model v⁺
    impulse: Vector  # (d nc,)
    joints: Vector  # (m,)   of the constraint's rows
    velocity: Vector  # (d nc,)   A(q) v⁺
    friction: Vector  # (nc,)
    sliding: NDArray[np.bool_]  # (nc,)   at the start
    bouncing: NDArray[np.bool_]  # (nc,)
    left_out: Indices  # (nc,)   of friction/terms.py
    state: Indices  # (nc,)
    iterations: int
    seconds: float
    now: Any = None  # of a model, dynamics/mujoco.py, where it began

    @property
    def residual(self) -> float:
        return self.answer.residual

    @property
    def method(self) -> int:
        """Its number among METHODS."""
        return method_number(self.answer.solver) if self.answer.problem.size else 0

    @property
    def errors(self) -> dict[str, Any]:
        """What is wrong with the contacts of its answer; not known (NaN) where they obey no cone law."""
        problem, answer, wrong = self.answer.problem, self.answer, np.zeros(2)
        if not isinstance(problem, ConeProblem):
            return {"velocity_error": np.nan, "force_error": np.nan, "worst": -1}
        n, scale = problem.contacts, np.sqrt(problem.weights)
        worst = worst_of(n, True, np.arange(n), problem.mu, problem.shift, scale, answer.x, answer.y, wrong)
        return {"velocity_error": wrong[0], "force_error": wrong[1], "worst": worst}

    def graded(self, accept: float) -> Status:
        """How good it is for a run that accepts this residual."""
        return graded(self.answer, accept)


@checked_run(system=a_system, q=optional(vector), v=optional(vector))
def simulate_system(
    system: System,
    q: ArrayLike | None,
    v: ArrayLike | None,
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
    scheme: Scheme | None = None,
    accept: float | None = None,
    control: Force | None = None,
) -> SystemTrajectory:
    """Run a system from (q, v) for `duration` seconds in steps of `dt`; words are those of `simulate`.

    `force`: generalized forces beside the bias, constant or a function of (t, q, v). `control`: the same of a model's
    actuators. `watch`: "jamming" records in `events` the sliding contacts that enter their locking sector.
    """
    from stickslip.engine.steppers import How, stepper_of

    formulation = checked_formulation("simulate_system", friction)
    method = checked_solver("simulate_system", solver, formulation)
    tol = step_tolerance(formulation, method, tol)
    how = How(float(dt), formulation, method, tol, scheme, accepted(tol, accept))
    steps = count_steps(duration, dt)
    stepper = stepper_of(system, q, v, how, force, control)
    header = stepper.header(duration=float(duration), keep_going=keep_going, watch=watch or "")
    recorder = Recorder(header, stepper.state(), path)
    made = chunks(stepper, header, watch_for(watch), steps)
    run = recorded(recorder, made, steps, progress, stepper.trajectory)
    tell_unrecovered(stepper, steps)
    return told(run)


def chunks(stepper: Stepper, header: Header, watch: JamWatch | None, steps: int) -> Iterator[Chunk]:
    """Step by step, from where a stepper is, until there are `steps` of them in all; handed over in blocks. However it
    ends, the steps before are handed over."""
    made: list[Any] = []
    events: list[JamEvent] = []
    begun = clock.monotonic()

    def block() -> Chunk:
        columns = stepper.block(made)
        inside = set() if watch is None else watch.inside
        chunk = columns, tuple(events), Checkpoint(stepper.memory(made[-1], inside), np.zeros(header.joint_row.size))
        made.clear()
        events.clear()
        return chunk

    try:
        for number in range(stepper.number, steps):
            made.append(one_step(stepper, header, watch, number, events))
            if len(made) == BLOCK or clock.monotonic() - begun > BLOCK_SECONDS:
                yield block()
                begun = clock.monotonic()
    except BaseException:  # also where this generator is closed at a yield: then all that was made is handed over
        if made:
            yield block()
        raise
    if made:
        yield block()


def one_step(stepper: Stepper, header: Header, watch: JamWatch | None, number: int, events: list[JamEvent]) -> Any:
    """Make a step; what there is to record of it."""
    dt, one = header.dt, stepper.step()
    status = one.graded(header.accept)
    if isinstance(one, SystemStep) and status not in USED and not header.keep_going:
        raise step_failed(one.answer, number, f"of {header.name!r} at time {number * dt:g} s")
    stepper.accept(one)
    q, v = stepper.q, stepper.v
    if not q @ q + v @ v < np.inf:
        for name, value in (("q", q), ("v", v)):
            if not np.isfinite(value).all():
                raise not_finite(number, number * dt, f"{name} of {header.name!r}", value)
    if watch is not None:
        events += look(watch, stepper.names(), one, number, dt)
    return stepper.kept(one, status)


def tell_unrecovered(stepper: Any, steps: int) -> None:
    """Warn of steps that left overlaps as they were, for they could not be taken back."""
    count = getattr(stepper, "unrecovered", 0)
    if count:
        who = f"simulate: {count} of {steps} steps of {stepper.system.name!r}"
        warnings.warn(f"{who} left overlaps as they were: none was found that parts them", ModelWarning, stacklevel=3)


def step_columns(one: Step, status: Status, now: float) -> dict[str, Any]:
    """The columns of the recorder for a step that ended at the time `now`, but those of its state and contacts."""
    return {
        "time": now,
        "status": int(status),
        "iterations": one.iterations,
        "residual": one.residual,
        **one.errors,
        "seconds": one.seconds,
        "method": one.method,
    }


def together(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Columns of some steps, from what each has."""
    return {name: np.array([step[name] for step in steps]) for name in steps[0]}


def contact_part(one: Step, gap: Vector) -> dict[str, Any]:
    """The columns of the contacts of a step, which began with the gaps `gap`."""
    d = one.impulse.size // gap.size if gap.size else 3
    part = {
        "friction": one.friction,
        "gap": gap,
        "impulse": in_space(one.impulse.reshape(-1, d)[:, :3]),
        "velocity": in_space(one.velocity.reshape(-1, d)[:, :3]),
        "state": one.state,
        "left_out": one.left_out,
    }
    if d == 4:
        part |= {"moment": one.impulse[3::4], "spin": one.velocity[3::4]}
    return part


def look(watch: JamWatch, names: Sequence[str], one: Step, number: int, dt: float) -> Sequence[JamEvent]:
    """What the watch sees in a step; contacts are known by their numbers."""
    contacts = list(enumerate(names))
    d, size = one.problem.dimension, one.impulse.size
    kept = np.flatnonzero(np.arange(size) % d < 3)  # but those of spin
    W = as_dense(one.problem.response.W)[np.ix_(kept, kept)]
    slip = one.problem.start_velocity.reshape(-1, d)[:, 1:3]
    return watch.look(W, one.friction, slip, one.sliding, one.state, number * dt, number, contacts)


def step_system(
    system: System, at: Instant, how: How, force: Applied, now: float, previous: Vector | None, euler: bool
) -> SystemStep:
    """One step from an instant at the time `now`; `previous` are the contact impulses of the step before."""
    started, h = clock.perf_counter(), how.h
    free, back = free_velocity(system, at, h, force, now), pull(at)
    problem = system_problem(system, at, h, free, previous, now, how.formulation.spin)
    one = solved_step(problem, how, how.solver, started)
    v, s = one.after, share_of(one, how.formulation.law(h), euler, how.tol)
    w = s * v + (1.0 - s) * at.v
    q, shift = onto_constraint(system, at, back, system.moved(at.q, h * w), now + h)
    after = evaluate(system, q, v + shift / h + 0.5 * back @ (at.G @ free + problem.b), now + h)
    if len(at.G):
        along = after.v - pull(after) @ (after.G @ after.v + after.constraint_rate)
        after = evaluate(system, q, along, now + h)
    return replace(one, after=after, seconds=clock.perf_counter() - started)


def solved_step(problem: ContactProblem, how: How, solver: str | Solver, started: float, now: Any = None) -> SystemStep:
    """The step of a problem, with v⁺ for where it led; it was `started` at that second of the clock."""
    formulation, tol = how.formulation, how.tol
    rows, terms = formulation.rows(problem), contact_terms(problem, formulation.law(problem.h))
    solved = solve_rows(formulation, rows, solver, tol, tol, rows.previous[:, 0] == 0)
    impulses = spread(problem, rows.contacts, solved.impulses)
    v = problem.velocity_after(impulses)
    states = np.zeros(problem.contacts, np.int64)  # those that take no part are open
    states[rows.contacts] = solved.states
    return SystemStep(
        problem=problem,
        answer=solved.answer,
        after=v,
        impulse=impulses.p,
        joints=impulses.joints,
        velocity=problem.H.T @ v + problem.w,
        friction=terms.mu,
        sliding=terms.sliding,
        bouncing=terms.bounces,
        left_out=terms.part,
        state=states,
        iterations=solved.iterations,
        seconds=clock.perf_counter() - started,
        now=now,
    )


def free_velocity(system: System, at: Instant, h: float, force: Applied, now: float) -> Vector:
    """v_f of (1)."""
    start = response(at, (force(now, at.q, at.v) - at.bias)[:, None])[:, 0] + drift(at)
    q, v, n = system.moved(at.q, 0.5 * h * at.v), at.v + 0.5 * h * start, system.velocities
    bias = vector(system.name, "bias", system.bias(q, v), n)
    M = positive_definite(system.name, "M", system.mass(q), n)
    return at.v + h * linalg.solve(M, force(now + 0.5 * h, q, v) - bias, assume_a="pos")


def share_of(one: SystemStep, law: LawNumbers, euler: bool, tol: float) -> float:
    """s of (3)."""
    problem, bouncing, p, velocity = one.problem, one.bouncing, one.impulse, one.velocity
    d, before = problem.dimension, problem.start_velocity
    carries, fast = p.reshape(-1, d).any(axis=1), before[::d] < -law.rest_speed
    others = np.repeat(~bouncing, d)
    gain = (p * others) @ (before + velocity) / 2
    gain -= unnoticed(tol) * float(np.abs(velocity).max(initial=0.0)) * p[::d].sum()
    if (carries & ~bouncing & (fast | euler)).any():
        return END
    shares = [
        bounced_share(law, problem.gap[i], problem.restitution[i], before[d * i], velocity[d * i])
        for i in np.flatnonzero(carries & bouncing)
    ]
    return max(shares, default=END if gain > 0 else MEAN)


def onto_constraint(system: System, at: Instant, back: Dense, q: Vector, end: float) -> tuple[Vector, Vector]:
    """q moved by D of (3), and D - D_r; the step ends at the time `end`."""
    shift = np.zeros_like(at.v)
    if system.constraint is None or system.constraint.error is None:
        return q, shift
    left = (1.0 - RECOVERY) * at.constraint_error
    for _ in range(NEWTON):
        error = vector(system.name, "constraint error", system.constraint.error_at(q, end), left.size)
        correction = -back @ (error - left)
        q, shift = system.moved(q, correction), shift + correction
        if np.abs(correction).max() <= ROUNDING * (1.0 + np.abs(q).max()):
            break
    return q, shift + RECOVERY * back @ at.constraint_error


def system_problem(
    system: System, at: Instant, h: float, free: Vector, previous: Vector | None, now: float, spin: bool
) -> ContactProblem:
    """The ContactProblem (2) of a step of size h from the time `now`; `free` is the velocity v_f that it ends with.
    With `spin`, contacts in space have a row about their normal where one of them has a patch."""
    contacts, (w, rate) = system.contacts, own_motion(system, at, now + h)
    material: dict[str, Any] = {name: [getattr(contact, name) for contact in contacts] for name in MATERIAL}
    place = places_of(system, at)
    A = spinning_rows(system, at) if spin else at.A
    return ContactProblem(
        h=h,
        M=at.M,
        f=at.M @ free,
        v=at.v,
        H=A.T,
        w=with_spin(w, A.shape[0], len(contacts)),
        **frictions(system, at, place, now),
        point=place,
        time=now,
        surface=[contact.surface for contact in contacts],
        gap=at.gap,
        **material,
        previous=previous,
        G=at.G.T,
        b=rate,
    )


def places_of(system: System, at: Instant) -> Vector:
    """(3 nc,) where contacts are, zeros where they do not say."""
    if at.found is not None:
        return at.found.place.ravel()
    place = [np.zeros(3) if contact.place is None else contact.place(at.q) for contact in system.contacts]
    return vector(system.name, "place", np.concatenate([*place, np.zeros(0)]), 3 * len(place))


def frictions(system: System, at: Instant, place: Vector, now: float) -> dict[str, Vector]:
    """Static and kinetic friction of the contacts; by a law, both what it says now."""
    if at.found is not None:
        return {"mu": at.found.mu, "mu_kinetic": at.found.mu}
    static, kinetic = np.zeros(len(system.contacts)), np.zeros(len(system.contacts))
    slip = (at.A @ at.v).reshape(-1, at.dimension)[:, 1:] if static.size else np.zeros((0, 1))
    for i, contact in enumerate(system.contacts):
        if isinstance(contact.friction, FrictionLaw):
            speed = np.linalg.norm(slip[i : i + 1], axis=1)
            static[i] = kinetic[i] = contact.friction.values(speed, place[3 * i : 3 * i + 3].reshape(1, 3), now)[0]
        else:
            static[i], kinetic[i] = contact.friction, contact.friction_kinetic
    return {"mu": static, "mu_kinetic": kinetic}


def spinning_rows(system: System, at: Instant) -> Dense:
    """A with a fourth row a contact, the angular velocity about its normal, where one of them has a patch."""
    contacts, n = system.contacts, system.velocities
    if at.dimension != 3 or not any(contact.patch for contact in contacts):
        return at.A
    A = np.zeros((len(contacts), 4, n))
    A[:, :3] = at.A.reshape(-1, 3, n)
    for i, contact in enumerate(contacts):
        if contact.spin is not None:
            A[i, 3] = vector(system.name, f"spin of contact {i}", contact.spin(at.q), n)
        elif contact.patch:
            raise InputError(
                f"{system.name}: contact {contact.name!r} has a patch of {contact.patch:g} m, expected its spin, a "
                "function of q"
            )
    return A.reshape(-1, n)


def own_motion(system: System, at: Instant, end: float) -> tuple[Vector, Vector]:
    """w of the surfaces and ∂g/∂t of the constraint at the end of a step."""
    if not any(contact.moving for contact in system.contacts):
        w = at.w
    else:
        w = np.concatenate([contact_rows(system, i, at.q, end)[1] for i in range(len(system.contacts))])
    held = system.constraint
    return w, at.constraint_rate if held is None or not held.moving else constraint_rows(system, held, at.q, end)[1]


def with_spin(w: Vector, rows: int, contacts: int) -> Vector:
    """w of contacts that have so many rows in all; a surface does not spin by itself."""
    whole = np.zeros((contacts, rows // contacts if contacts else 0))
    whole[:, : w.size // contacts if contacts else 0] = w.reshape(contacts, -1) if contacts else 0.0
    return whole.ravel()


def applied(system: System, what: str, given: Force | None, size: int) -> Applied:
    """Forces or controls, so many, 0 where None, as a function that checks them."""
    if callable(given):
        return lambda now, q, v: vector(f"{system.name} at time {now:g} s", what, given(now, q, v), size)
    constant = np.zeros(size) if given is None else vector(system.name, what, given, size)
    return lambda now, q, v: constant
