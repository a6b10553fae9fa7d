"""One step of a scene under any formulation of friction, read aloud.

    look       where the bodies are, how they would move without contact, what touches
    pose       the ContactProblem of the step, and the mathematical problem the formulation makes of it
    solve      by any solver of that class; under Poisson's rule twice
    advance    the bodies with their new velocities

The compiled loop of engine/march.py is the same with Coulomb's law and its solver built in.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stickslip.collision.broadphase import find_contacts
from stickslip.dynamics.contact_rows import fill_rows
from stickslip.dynamics.joints import JointRows, joint_rows, room_for_joints
from stickslip.dynamics.motion import advance, free_motion
from stickslip.errors import InputError
from stickslip.friction.box import Box
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import friction_now, is_sliding
from stickslip.friction.formulation import Formulation
from stickslip.friction.hybrid import Hybrid
from stickslip.friction.impact import Poisson, poisson
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.phantom import Phantom
from stickslip.scene.model import Floats, Integers, Model, State
from stickslip.engine.assemble import FreeRows, contact_problem, free_rows, grain_angles, spread
from stickslip.engine.march import Memory, Work, no_memory, recall, remember, room_to_work, states
from stickslip.solvers.solution import Solution, Solver
from stickslip.solvers.solve import solve

FIRST_ROOM = 64  # contacts
LAGGED = (Box, Hybrid, Phantom)  # friction bounded or relaxed by the normal impulse of the step before


@dataclass(eq=False)
class Engine:
    """What the steps of one run share: the model, room to work, and the memory of the last step."""

    model: Model
    h: float
    free: FreeRows
    work: Work
    memory: Memory
    joints: JointRows
    time: float = 0.0  # at the start of the step   [s]

    @classmethod
    def of(cls, model: Model, h: float) -> Engine:
        room = room_to_work(model, FIRST_ROOM), no_memory(FIRST_ROOM), room_for_joints(model)
        return cls(model, h, free_rows(model), *room)

    def enlarge(self, count: int) -> None:
        """Room for `count` contacts and half as many again; what is remembered is kept."""
        capacity = count + count // 2
        self.work = room_to_work(self.model, capacity)._replace(bodies=self.work.bodies)
        old, self.memory = self.memory, no_memory(capacity)
        kept = int(old.known[0])
        self.memory.known[0] = kept
        self.memory.moved[:], self.memory.answered[:] = old.moved, old.answered
        for new, array in zip(self.memory[3:], old[3:], strict=True):
            new[:kept] = array[:kept]


@dataclass(frozen=True, eq=False)
class StepOutcome:
    """What a step found out beside the new state."""

    problem: ContactProblem
    answer: Solution  # of the mathematical problem; under Poisson's rule the worse of two
    count: int  # contacts
    mu: Floats  # (nc,)   static or kinetic, as it held in this step
    impulse: Floats  # (d nc,)
    joints: Floats  # (nr,)   impulses of the joint rows
    velocity: Floats  # (d nc,)   relative, at the end of the step
    state: Integers  # (nc,)
    seconds: float


def step(
    engine: Engine, state: State, formulation: Formulation, solver: str | Solver, tol: float | None
) -> StepOutcome:
    """Advance the state by one step. The solve may have failed, which the outcome says."""
    started = time.perf_counter()
    problem, count = pose(engine, state, formulation if isinstance(formulation, LimitSurface) else None)
    if isinstance(formulation, LAGGED):
        problem = with_first_loads(engine, problem, count, formulation, solver, tol)
    impulses, answer = solve_contacts(formulation, problem, solver, tol)
    v = problem.velocity_after(impulses)
    p, before = forces(problem, impulses.p), forces(problem, problem.previous)
    remember(engine.memory, engine.work.contacts, engine.work.rows, count, p, before)
    advance(engine.work.bodies, state, engine.h, spread(engine.free, v, engine.work.bodies.v))
    u = problem.H.T @ v + problem.w
    seconds = time.perf_counter() - started
    mu = friction_that_held(problem, formulation.slip_speed)
    did = contact_states(problem, mu, impulses.p, u)
    return StepOutcome(problem, answer, count, mu, impulses.p, impulses.joints, u, did, seconds)


def pose(engine: Engine, state: State, patches: LimitSurface | None = None) -> tuple[ContactProblem, int]:
    """The ContactProblem at hand, and its number of contacts; under LimitSurface they have spin rows."""
    model, h = engine.model, engine.h
    free_motion(engine.work.bodies, state, h)
    count = touch(engine, state)
    work = engine.work
    fill_rows(model.shape_body, work.bodies, state.position, work.contacts, count, work.rows)
    previous = np.zeros((2 if model.planar else 3) * count)
    recall(engine.memory, work.contacts, work.rows, count, previous, np.zeros_like(previous))
    joint_count = joint_rows(model, state, h, engine.joints) if model.joint.size else 0
    grain = None
    if patches is not None:
        if model.planar:
            raise InputError("simulate: friction is LimitSurface but the scene is planar, expected one in space")
        previous = np.column_stack([previous.reshape(-1, 3), np.zeros(count)]).ravel()
        if patches.grain is not None:
            axis, second = np.array(patches.grain, np.float64), patches.grain_of == "second"
            grain = grain_angles(work.rows, count, work.bodies.R, axis, second)
    problem = contact_problem(
        model, state, h, engine.free, work.bodies, work.contacts, work.rows, count, previous,
        engine.joints, joint_count, patches is not None, grain, engine.time,
    )  # fmt: skip
    return problem, count


def forces(problem: ContactProblem, p: Floats) -> Floats:
    """Impulses of contacts without those about their normals."""
    return p if problem.dimension < 4 else p.reshape(-1, 4)[:, :3].ravel()


def with_first_loads(
    engine: Engine,
    problem: ContactProblem,
    count: int,
    formulation: Formulation,
    solver: str | Solver,
    tol: float | None,
) -> ContactProblem:
    """The problem with an impulse of the step before for contacts that are new: that of a solve without friction.

    Friction that is bounded by the normal impulse of the step before would not act on them for a step.
    """
    work, memory = engine.work, engine.memory
    known = {tuple(key) for key in memory.key[: memory.known[0]].tolist()}
    keys = zip(*(column[:count].tolist() for column in work.contacts[:3]), strict=True)
    new = np.array([key not in known for key in keys], bool)
    return problem if not new.any() else loaded_without_friction(problem, new, formulation, solver, tol)


def loaded_without_friction(
    problem: ContactProblem, new: NDArray[np.bool_], formulation: Formulation, solver: str | Solver, tol: float | None
) -> ContactProblem:
    """The problem with normal impulses of a solve without friction as those of the step before, where `new` says so."""
    none = np.zeros(problem.contacts)
    smooth, _ = solve_contacts(formulation, replace(problem, mu=none, mu_kinetic=none), solver, tol)
    previous: Floats = problem.previous.copy()
    previous[:: problem.dimension][new] = smooth.p[:: problem.dimension][new]
    return replace(problem, previous=previous)


def touch(engine: Engine, state: State) -> int:
    """Find the contacts, with more room where there is not enough. Returns their number."""
    while True:
        work = engine.work
        count = int(find_contacts(state, work.bodies.reach, work.collision, work.contacts))
        if count <= work.contacts.capacity:
            return count
        engine.enlarge(count)


def solve_contacts(
    formulation: Formulation, problem: ContactProblem, solver: str | Solver, tol: float | None
) -> tuple[Impulses, Solution]:
    """The impulses of contacts and joints, and the answer of the mathematical problem they come from."""
    answers = []

    def solve_once(problem: ContactProblem) -> Impulses:
        answers.append(solve(formulation.pose(problem), method=solver, tol=tol, x0=formulation.start(problem)))
        return formulation.impulses(problem, answers[-1].x)

    if isinstance(formulation.impact, Poisson):
        impulses = poisson(problem, solve_once, formulation.impact.rest_speed)
    else:
        impulses = solve_once(problem)
    return impulses, min(answers, key=lambda answer: (answer.solved, -answer.residual))


def friction_that_held(problem: ContactProblem, slip_speed: float) -> Floats:
    """(nc,) static or kinetic, by the velocity at the start."""
    slip = problem.start_velocity.reshape(-1, problem.dimension)[:, 1:3]
    return friction_now(problem.mu, problem.mu_kinetic, is_sliding(slip, slip_speed))


def contact_states(problem: ContactProblem, mu: Floats, p: Floats, u: Floats) -> Integers:
    """Open, stick or slip of every contact."""
    d, size = problem.dimension, problem.H.shape[1]
    if d == 4:
        return patch_states(problem, mu, p, u)
    state = np.zeros(problem.contacts, np.int64)
    diagonal = np.zeros((d * d, problem.contacts))
    diagonal[:: d + 1] = problem.response.W.diagonal()[:size].reshape(-1, d).T
    states(p, u, mu, diagonal, 1e-8, 0, state)
    return state


def patch_states(problem: ContactProblem, mu: Floats, p: Floats, u: Floats) -> Integers:
    """The same of contacts with spin: friction and slip are (force, moment / e_r) and (velocity, e_r spin)."""
    e = problem.patch
    force, moment = np.hypot(*p.reshape(-1, 4)[:, 1:3].T), np.divide(p[3::4], e, out=np.zeros_like(e), where=e > 0)
    slip, spin = np.hypot(*u.reshape(-1, 4)[:, 1:3].T), e * u[3::4]
    own = problem.response.W.diagonal()[: 4 * problem.contacts].reshape(-1, 4)
    diagonal = np.zeros((9, problem.contacts))
    diagonal[0], diagonal[4], diagonal[8] = own[:, 0], 0.5 * (own[:, 1] + own[:, 2]), e * e * own[:, 3]
    state = np.zeros(problem.contacts, np.int64)
    columns = np.column_stack([p[::4], force, moment]), np.column_stack([u[::4], slip, spin])
    states(columns[0].ravel(), columns[1].ravel(), mu, diagonal, 1e-8, 0, state)
    return state
