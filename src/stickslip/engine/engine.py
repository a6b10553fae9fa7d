"""A scene under way: its arrays, the compiled loop, and the way outside of it where a step needs that."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np

from stickslip.dynamics.motion import drift
from stickslip.engine.boxed import advance, boxed
from stickslip.engine.finish import begin
from stickslip.engine.march import FRESH, LOOK, Ended
from stickslip.engine.outside import (
    Solved,
    finish_sweeps,
    matrix_of,
    members_of,
    put_back,
    rows_of,
    solve_rows,
    update_velocities,
    whole_step,
)
from stickslip.engine.rows import (
    ACTIVE,
    FOUND,
    ISLAND,
    ITERATIONS,
    METHOD,
    METHODS,
    NEEDED,
    STATUS,
    Record,
    Rules,
    components,
    no_memory,
    room_for_contacts,
    room_to_record,
    room_to_work,
)
from stickslip.engine.watch import JamEvent, JamWatch
from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.friction.terms import GAP
from stickslip.problems.matrix import as_dense
from stickslip.scene.compile import Drives
from stickslip.scene.model import Model, State
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import Auto
from stickslip.solvers.status import Status

FIRST_ROOM = 64  # contacts
SWEEPS, PATIENCE, FEW, LONG_PATIENCE = 2000, 40, 300, 200  # of Gauss–Seidel in the compiled loop, see Rules
ACCEPT = 1e-2  # residual that a run goes on with where nothing else is said; why, is in docs/engine.md
EFFORT, EXACT = 100, 100  # see Rules


class StepNotSolved(Exception):
    """A step was not solved; the state is as it was before."""

    def __init__(self, solved: Solved, members: np.ndarray) -> None:
        super().__init__()
        self.solved = solved
        self.members = members
        self.record: Record | None = None  # of the steps made before, in the same call
        self.made = 0


class Engine:
    """Steps of size h of a model, from a state that it moves."""

    def __init__(
        self,
        model: Model,
        state: State,
        drives: Drives,
        h: float,
        formulation: Formulation,
        solver: str | Solver = "auto",
        tol: float | None = None,
        keep_going: bool = False,
        scheme: Scheme | None = None,
        accept: float | None = None,
        effort: int | None = None,
    ) -> None:
        if formulation.spin and model.planar:
            name = type(formulation).__name__
            raise InputError(f"simulate: friction is {name} but the scene is planar, expected one in space")
        self.model, self.state, self.drives = model, state, drives
        self.formulation, self.solver, self.keep_going = formulation, solver, keep_going
        self.tol = step_tolerance(formulation, solver, tol)
        self.accept = accepted(self.tol, accept)
        self.rules = rules_of(
            formulation, h, self.tol, self.accept, checked_effort(effort), is_auto(solver),
            check_scheme(scheme or formulation.scheme),
        )  # fmt: skip
        self.work = room_to_work(model, formulation.spin, FIRST_ROOM, 2 * FIRST_ROOM, drives.motors)
        self.memory = no_memory(FIRST_ROOM, self.work.held.wanted.size)
        self.made = 0
        self.restart()

    def restart(self) -> None:
        """Go on from the state as it is now, whoever changed it."""
        begin(self.state, self.rules, self.work)

    @property
    def h(self) -> float:
        return self.rules.law.h

    @property
    def time(self) -> float:
        """At the start of the next step   [s]"""
        return self.made * self.h

    def march(self, steps: int, room: int) -> tuple[Record, int, Ended]:
        """Up to `steps` steps, recorded; also how many were made, and why it ended: DONE or FULL."""
        record = room_to_record(self.work, steps, room)
        made, ended, island = 0, int(Ended.DONE), FRESH
        self.drive()
        box = boxed(self.state, self.rules, self.work, self.memory, record)
        while True:
            _, made_now, ended = advance(box, 1, made, island)
            self.made += made_now - made
            made = made_now
            if ended in (Ended.DONE, Ended.FULL):
                return record, made, Ended(ended)
            try:
                island = self.give(Ended(ended))
            except StepNotSolved as stopped:
                stopped.record, stopped.made = record, made
                raise
            if ended == Ended.NO_ROOM:
                box = boxed(self.state, self.rules, self.work, self.memory, record)

    def give(self, ended: Ended) -> int:
        """What the loop ended for, room or the impulses of an island; returns the island to go on from."""
        if ended == Ended.NO_ROOM:
            self.enlarge()
            return FRESH
        return self.outside()

    def look_ahead(self) -> None:
        """Fill the rows of the next step, of all contacts that are found, and make none."""
        law = self.rules.law._replace(stabilised=GAP, rest_speed=np.inf)
        record = room_to_record(self.work, 1, 0)
        self.drive()
        while True:
            box = boxed(self.state, self.rules._replace(law=law), self.work, self.memory, record)
            _, _, ended = advance(box, 1, 0, LOOK)
            if ended != Ended.NO_ROOM:
                return
            self.enlarge()

    def drive(self) -> None:
        """What the scene's functions push in the middle of the next step, where bodies are half a step on, and how fast
        they prescribe bodies to be at its end."""
        if self.drives:
            bodies, middle, h = self.work.bodies, self.state.copy(), self.h
            bodies.told[:] = self.state.velocity
            self.drives.prescribe(self.time + h, self.state._replace(velocity=bodies.told))
            np.subtract(bodies.told, self.state.velocity, out=bodies.told)
            drift(middle, 0.5 * h)
            force = bodies.force
            force[:, :3], force[:, 3:] = self.model.force, self.model.torque
            self.drives.add_forces(self.time + 0.5 * h, middle, self.model, force[:, :3], force[:, 3:])

    def outside(self) -> int:
        """Solve the island that the loop returned with; returns the next one."""
        work, count = self.work, self.work.count
        island = int(count[ISLAND])
        members = members_of(work, island)
        rows = self.rows(members)
        contacts = members[members < count[ACTIVE]]
        if self.rules.swept:
            exact = members.size <= self.rules.exact
            solved = finish_sweeps(self.formulation, self.with_newest(rows, members), self.tol, self.accept, exact)
        else:
            new = ~work.answer.known[contacts]
            solved = solve_rows(self.formulation, rows, self.solver, self.tol, self.accept, new)
        if not solved.ok and not self.keep_going:
            raise StepNotSolved(solved, members)
        put_back(work, members, solved.impulses)
        update_velocities(work, members)
        work.islands.swept[island] = 0
        count[ITERATIONS] += solved.iterations
        count[METHOD] = method_number(solved.answer.solver)
        if not solved.ok or count[STATUS] == Status.SOLVED:
            count[STATUS] = solved.status
        work.residual[0] = max(work.residual[0], solved.answer.residual)
        return island + 1

    def rows(self, members: np.ndarray | None = None) -> ActiveRows:
        """The rows of the step that was prepared last, or of some of its blocks."""
        chosen = whole_step(self.work) if members is None else members
        return rows_of(self.work, self.rules, chosen, self.time, self.formulation.grain_axis)

    def with_newest(self, rows: ActiveRows, members: np.ndarray) -> ActiveRows:
        """The rows with the impulses that the sweeps came to as those to start from, where they are numbers."""
        i, D = members[members < self.work.count[ACTIVE]], rows.dimension
        newest = self.work.answer.p[(D * i[:, None] + np.arange(D)).ravel()].reshape(-1, D)
        return replace(rows, previous=newest) if np.isfinite(newest).all() else rows

    def enlarge(self) -> None:
        """Room for the contacts and places of the step at hand, and half as many again; what is remembered stays."""
        work, old = self.work, self.memory
        capacity = grown(work.contacts.capacity, int(work.count[FOUND]))
        reach = max(2 * capacity, grown(work.rows.place.size, int(work.count[NEEDED])))
        D = components(self.model, self.formulation.spin)
        self.work = work._replace(**room_for_contacts(D, work.free.size, work.held, capacity, reach))
        self.memory = no_memory(capacity, work.held.wanted.size)
        kept = int(old.known[0])
        self.memory.known[0], self.memory.joint[:] = kept, old.joint
        for name in ("key", "impulse", "trend", "moment", "moved"):
            getattr(self.memory, name)[:kept] = getattr(old, name)[:kept]

    def look(self, watch: JamWatch, names: tuple[str, ...], record: Record) -> list[JamEvent]:
        """Have a watch look at the step that was made last, of which the record has the states."""
        work, D = self.work, self.work.rows.jacobian.shape[2]
        n = int(work.count[ACTIVE])
        found, d = work.rows.found[:n], min(D, 3)
        W = np.asarray(as_dense(matrix_of(work, np.arange(n), D * n, rigid=True))).reshape(n, D, n, D)
        slip = work.law.before[: D * n].reshape(n, D)[:, 1:d]
        body, shapes = self.model.shape_body, [column[found].tolist() for column in work.contacts[:3]]
        named = [(key, f"{names[body[key[0]]]} on {names[body[key[1]]]}") for key in zip(*shapes, strict=True)]
        return watch.look(
            W[:, :d, :, :d].reshape(d * n, d * n), work.law.mu[:n], slip, work.law.sliding[:n], record.state[found],
            self.time - self.h, self.made - 1, named,
        )  # fmt: skip


def grown(room: int, needed: int) -> int:
    return needed + needed // 2 if needed > room else room


def is_auto(solver: str | Solver) -> bool:
    return solver == "auto" or isinstance(solver, Auto)


def check_scheme(scheme: Scheme) -> Scheme:
    if scheme not in get_args(Scheme):
        raise InputError(f"simulate: scheme is {scheme!r}, expected 'midpoint' or 'euler'")
    return scheme


def step_tolerance(formulation: Formulation, solver: str | Solver, tol: float | None) -> float:
    """That each step is solved to: the caller's, the solver's, or that of the problems the formulation makes."""
    given = getattr(solver, "tol", formulation.tolerance) if tol is None else tol
    if not (isinstance(given, int | float) and 0.0 < given < np.inf):
        raise InputError(f"simulate: tol is {given!r}, expected a positive number")
    return float(given)


def accepted(tol: float, accept: float | None) -> float:
    """The residual that a run goes on with."""
    if accept is None:
        return max(tol, ACCEPT)
    if not (isinstance(accept, int | float) and tol <= accept < np.inf):
        raise InputError(f"simulate: accept is {accept!r}, expected a number that is not below tol, {tol:g}")
    return float(accept)


def checked_effort(effort: int | None) -> int:
    """Sweeps over a large island before a residual of accept is enough."""
    if effort is None:
        return EFFORT
    if not isinstance(effort, int) or isinstance(effort, bool) or not 1 <= effort <= SWEEPS:
        raise InputError(f"simulate: effort is {effort!r}, expected a whole number of sweeps from 1 to {SWEEPS}")
    return effort


def rules_of(
    formulation: Formulation, h: float, tol: float, accept: float, effort: int, auto: bool, scheme: Scheme
) -> Rules:
    law = formulation.law(h)
    return Rules(
        law=law,
        tol=tol,
        accept=accept,
        swept=auto and formulation.cone_law is not None and law.answers,
        associated=formulation.cone_law == "associated",
        relaxes_friction=formulation.relaxes_friction,
        euler=scheme == "euler",
        sweeps=SWEEPS,
        effort=effort,
        exact=EXACT,
        patience=PATIENCE,
        few=FEW,
        long_patience=LONG_PATIENCE,
    )


def method_number(solver: Solver) -> int:
    name = type(solver).__name__
    return METHODS.index(name) if name in METHODS else len(METHODS) - 1
