"""A scene under way: its arrays, the compiled loop, and the way outside of it where a step needs that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.checks import Refused, instance, number, one_of, positive, whole
from stickslip.dynamics.motion import drift
from stickslip.engine.arguments import SCHEME
from stickslip.engine.boxed import ALONE, advance, boxed
from stickslip.engine.finish import begin
from stickslip.engine.interrupts import listening, uninterrupted
from stickslip.engine.march import DONE, FRESH, FULL, HELP, LOOK, Ended, once_more
from stickslip.engine.outside import (
    Solved,
    contacts_among,
    finish_by_bodies,
    finish_sweeps,
    matrix_of,
    put_back,
    rows_of,
    solve_rows,
    whole_step,
)
from stickslip.engine.rows import (
    ACTIVE,
    BOUNCED,
    FOUND,
    ISLAND,
    ITERATIONS,
    LARGE,
    METHOD,
    METHODS,
    NEEDED,
    STATUS,
    Memory,
    Record,
    Rules,
    components,
    from_step,
    no_memory,
    room_for_contacts,
    room_to_record,
    room_to_work,
)
from stickslip.engine.running import not_finite
from stickslip.engine.settle import IN_A_ROW, tried_again
from stickslip.engine.team import helped
from stickslip.engine.watch import JamEvent, JamWatch
from stickslip.friction.active import ActiveRows, held_by_bristles
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.friction.penalty import Penalty
from stickslip.friction.terms import GAP
from stickslip.problems.matrix import all_finite, as_dense
from stickslip.scene.compile import Drives
from stickslip.scene.model import Model, State
from stickslip.solvers.nsgs import invert_blocks
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import METHODS as METHODS_BY_NAME
from stickslip.solvers.solve import Auto
from stickslip.solvers.status import SOLVED, Status

FIRST_ROOM = 64  # contacts
UNMADE = -1  # in the place of a status: of a step that is not made yet
SWEEPS, PATIENCE, FEW, LONG_PATIENCE = 2000, 40, 300, 200  # of Gauss–Seidel in the compiled loop, see Rules
ACCEPT = 1e-2  # residual that a run goes on with where nothing else is said; why, is in docs/engine.md
EFFORT, EXACT = 100, 150  # see Rules
KEPT = ("key", "impulse", "trend", "moment", "moved", "waited")  # of Memory, of each contact


class StepNotSolved(Exception):
    """A step was not solved; the state is as it was before."""

    def __init__(self, solved: Solved, members: np.ndarray) -> None:
        super().__init__()
        self.solved = solved
        self.members = members


class JointsLost(StepNotSolved):
    """A step came to positions in which a joint is further apart than accepted; the state is as it was before."""

    def __init__(self, joint: int, share: float) -> None:
        Exception.__init__(self)
        self.joint, self.share = joint, share


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
        threads: int = 1,
    ) -> None:
        self.threads = threads
        self.model, self.state, self.drives = model, state, drives
        self.formulation, self.solver, self.keep_going = formulation, solver, keep_going
        self.tol = step_tolerance(formulation, solver, tol)
        self.accept = accepted(self.tol, accept)
        effort = EFFORT if effort is None else whole("simulate", "effort", effort, 1, SWEEPS)
        scheme = SCHEME("simulate", "scheme", scheme or formulation.scheme)
        law, auto = formulation.law(h), solver == "auto" or isinstance(solver, Auto)
        self.rules = Rules(
            law=law,
            tol=self.tol,
            accept=self.accept,
            swept=auto and formulation.cone_law is not None and law.answers,
            associated=formulation.cone_law == "associated",
            asks=drives.frictions is not None,
            relaxes_friction=formulation.relaxes_friction,
            stops=not keep_going,
            euler=scheme == "euler",
            sweeps=SWEEPS,
            effort=effort,
            exact=EXACT,
            patience=PATIENCE,
            few=FEW,
            long_patience=LONG_PATIENCE,
        )
        self.work = room_to_work(model, formulation.spin, FIRST_ROOM, 2 * FIRST_ROOM, drives.motors)
        self.memory = no_memory(FIRST_ROOM, self.work.held.wanted.size)
        self.made = 0
        self.room: Record | None = None  # to record in, used again and again
        self.record: Record | None = None  # of the march under way, or the last: a part of that
        self.box: Any = None  # of all these, made when it is needed
        self.restart()

    def go_on(self, state: State, memory: Memory, made: int) -> None:
        """Go on after so many steps, to the same bits: from this state, which keeps to its joints, and with what was
        remembered of the step that led there."""
        for array, value in zip(self.state, state, strict=True):
            array[:] = value
        self.memory, self.made, self.box = memory, made, None
        self.factorise()

    def factorise(self) -> None:
        """The factors of the joints where the next step starts, those that the one before left, to the same bits."""
        if self.work.held.wanted.size:
            held = self.state.copy()  # that it keeps to its joints is to change no bit of the state
            begin(held, self.rules, self.work, self.memory)

    def restart(self) -> None:
        """Go on from the state as it is now, whoever changed it."""
        if self.work.held.wanted.size:  # else there is nothing to do, and a call takes all arrays apart
            begin(self.state, self.rules, self.work, self.memory)

    @property
    def h(self) -> float:
        return self.rules.law.h

    @property
    def step_bytes(self) -> int:
        """That a step without contacts takes in a record."""
        return 8 * (13 * self.work.free.size + self.work.held.wanted.size + 8)

    @property
    def time(self) -> float:
        """At the start of the next step   [s]"""
        return self.made * self.h

    def reserve(self, steps: int, room: int) -> Record:
        """Room to record so many steps, and contacts in all of them together."""
        if self.room is None or self.room.residual.size < steps or self.room.gap.size < room:
            self.room, self.box = room_to_record(self.work, steps, room), None
        return self.room

    def compile(self) -> None:
        """Have the loop compiled, where it is not yet, lest its first steps seem to take as long."""
        self.reserve(1, 0)
        with uninterrupted():
            self.pack()
            advance(self.box, 0, 0, FRESH)

    def pack(self) -> None:
        if self.box is None:
            self.box = boxed(self.state, self.rules, self.work, self.memory, self.room, ALONE)

    def advance(self, box: Any, times: int, first: int, island: int) -> Any:
        """The loop, on several threads where there are enough contacts for that."""
        if self.threads == 1 or self.work.contacts.capacity < LARGE:
            return advance(box, times, first, island)
        with helped(self.work.slabs.post, self.threads, lambda: advance(box, 0, 0, HELP)):
            return advance(box, times, first, island)

    def march(self, steps: int, room: int) -> tuple[Record, int, Ended]:
        """Up to `steps` steps, recorded, over what was recorded before; also how many were made, and why it ended: DONE
        or FULL."""
        whole = self.reserve(steps, room)
        first, island = whole.residual.size - steps, FRESH
        whole.contact_start[first] = 0
        self.record, at = from_step(whole, first) if first else whole, first
        record = self.record
        record.status[:] = UNMADE
        self.drive()
        with listening():
            while True:
                with uninterrupted():
                    self.pack()
                    _, now, ended = self.advance(self.box, 1, at, island)
                    self.made += now - at
                at = now
                if ended in (DONE, FULL):
                    return record, at - first, Ended(ended)
                island = self.give(ended)

    def give(self, ended: int) -> int:
        """What the loop ended for, room or the impulses of an island; returns the island to go on from."""
        if ended == Ended.NO_ROOM:
            self.enlarge()
            self.factorise()  # anew: a step that is found to need room at its end has others
            return FRESH
        if ended == Ended.ASKS:
            self.tell_friction()
            return 0
        if ended == Ended.LOOSE:
            self.restart()
            raise JointsLost(int(self.work.count[ISLAND]), float(self.work.residual[0]))
        return self.outside()

    def tell_friction(self) -> None:
        """Give the contacts of the step at hand whose friction is a function of the state its value."""
        work, laws = self.work, self.drives.frictions
        n, D = int(work.count[ACTIVE]), work.rows.jacobian.shape[2]
        if laws is None or n == 0:
            return
        found, law, contacts = work.rows.found[:n], work.law, work.contacts
        a, b = (work.surfaces.material[shape[found]] for shape in (contacts.shape_a, contacts.shape_b))
        speed = np.linalg.norm(law.before[: D * n].reshape(n, D)[:, 1:3], axis=1)
        told, mu = laws.told(a, b, speed, contacts.point[found], self.time)
        law.mu[:n][told] = mu[told]
        if not self.rules.associated:
            law.shift[:n][told] = mu[told]
        if min(D, 3) == 3:
            invert_blocks(law.own[:, :n], law.mu[:n], law.inverse[:n])

    def frictions(self, a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
        """Static and kinetic friction of the contacts of the step prepared last, of materials a and b; where it is a
        function of the state, both what that says now."""
        static, kinetic, law = self.model.friction_static[a, b], self.model.friction_kinetic[a, b], self.work.law
        if self.drives.frictions is not None:
            told = self.drives.frictions.by_law(a, b)
            static = np.where(told, law.mu[: a.size], static)
            kinetic = np.where(told, law.mu[: a.size], kinetic)
        return {"mu": static, "mu_kinetic": kinetic}

    def look_ahead(self) -> None:
        """Fill the rows of the next step, of all contacts that are found, and make none."""
        law = self.rules.law._replace(stabilised=GAP, rest_speed=np.inf)
        record = room_to_record(self.work, 1, 0)
        self.drive()
        while True:
            box = boxed(self.state, self.rules._replace(law=law), self.work, self.memory, record, ALONE)
            _, _, ended = advance(box, 1, 0, LOOK)
            if ended != Ended.NO_ROOM:
                self.tell_friction()
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
        members = work.islands.member[work.islands.start[island] : work.islands.start[island + 1]].copy()
        contacts = members[: contacts_among(members, int(count[ACTIVE]))]
        exact = members.size <= self.rules.exact
        solved = finish_by_bodies(work, self.rules, members, exact) if self.rules.swept else None
        if solved is None:
            solved = self.by_rows(members, contacts, exact)
        if not solved.ok and not self.keep_going:
            raise StepNotSolved(solved, members)
        if solved.q is not None:
            D = work.rows.jacobian.shape[2]
            work.law.q[D * contacts] = solved.q[: D * contacts.size : D]
        put_back(work, members, solved.impulses, solved.states)
        work.islands.swept[island], work.islands.hard[island] = 0, True
        count[ITERATIONS] += solved.iterations
        solver, residual = (solved.answer or solved).solver, (solved.answer or solved).residual
        count[METHOD] = method_number(solver)
        if not solved.ok or int(count[STATUS]) == SOLVED:  # NumPy takes long to compare with an Enum
            count[STATUS] = int(solved.status)
        if count[BOUNCED] > 0 and solved.q is None and once_more(work, island):
            return island
        work.residual[0] = max(work.residual[0], residual)
        return island + 1

    def by_rows(self, members: np.ndarray, contacts: np.ndarray, exact: bool) -> Solved:
        """Solve an island by way of its ActiveRows."""
        work, rows = self.work, self.rows(members)
        if not all_finite(rows.q):
            raise not_finite(self.made, self.time, "the velocities of contacts and joints", rows.q)
        if self.formulation.bristles:
            work.law.mu[contacts], work.law.sliding[contacts] = rows.mu, rows.sliding
        if not self.rules.swept:
            new = ~work.answer.known[contacts] if self.formulation.lagged else None
            return solve_rows(self.formulation, rows, self.solver, self.tol, self.accept, new)
        due = tried_again(members, int(work.count[ACTIVE]), work.answer.waited)
        p = work.answer.p.reshape(-1, rows.dimension)[contacts]  # that the sweeps came to
        newest = replace(rows, previous=p) if np.isfinite(p).all() else rows
        solved = finish_sweeps(self.formulation, newest, rows.previous, self.tol, self.accept, exact, exact or due)
        if due and not exact and solved.status != Status.SOLVED:  # nor would the next step, from here
            work.answer.waited[contacts] += IN_A_ROW
        return solved

    def rows(self, members: np.ndarray | None = None) -> ActiveRows:
        """The rows of the step that was prepared last, or of some of its blocks."""
        chosen = whole_step(self.work) if members is None else members
        sets = self.drives.surfaces
        rows = rows_of(self.work, self.rules, chosen, self.time, self.formulation.grain_axis, sets)
        return held_by_bristles(rows) if self.formulation.bristles else rows

    def enlarge(self) -> None:
        """Room for the contacts and places of the step at hand, and half as many again; what is remembered stays."""
        work, old = self.work, self.memory
        capacity = grown(work.contacts.capacity, int(work.count[FOUND]))
        reach = max(2 * capacity, grown(work.rows.place.size, int(work.count[NEEDED])))
        D, self.box = components(self.model, self.formulation.spin), None
        self.work = work._replace(**room_for_contacts(D, work.bodies, work.held, capacity, reach))
        self.memory = no_memory(capacity, work.held.wanted.size)
        kept = int(old.known[0])
        self.memory.known[0], self.memory.joint[:] = kept, old.joint
        for name in KEPT:
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


def checked_formulation(owner: str, friction: Formulation | None) -> Formulation:
    if friction is None:
        return Coulomb()
    if isinstance(friction, Penalty):
        expected = "a formulation, or integrate_scene and integrate_system for springs, which have no steps"
        raise Refused(owner, "friction", friction, expected)
    return instance(Formulation, expected="a formulation such as Coulomb() or Phantom()")(owner, "friction", friction)


def checked_solver(owner: str, solver: str | Solver | None, formulation: Formulation) -> str | Solver:
    """A solver by its name or value, that of the formulation where None."""
    if solver is None:
        return formulation.solver
    if isinstance(solver, str):
        one_of(*METHODS_BY_NAME)(owner, "solver", solver)
    elif isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise Refused(owner, "solver", solver, "the name of a solver or one such as NSGS(tol=1e-8)")
    return solver


def step_tolerance(formulation: Formulation, solver: str | Solver, tol: float | None) -> float:
    """That each step is solved to: the caller's, the solver's, or that of the problems the formulation makes."""
    return positive("simulate", "tol", getattr(solver, "tol", formulation.tolerance) if tol is None else tol)


def accepted(tol: float, accept: float | None) -> float:
    """The residual that a run goes on with."""
    if accept is None:
        return max(tol, ACCEPT)
    expected = f"a number that is not below tol, {tol:g}"
    found = number("simulate", "accept", accept, expected)
    if found < tol:
        raise Refused("simulate", "accept", accept, expected)
    return found


def method_number(solver: Solver) -> int:
    name = type(solver).__name__
    return METHODS.index(name) if name in METHODS else len(METHODS) - 1
