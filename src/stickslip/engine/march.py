"""The compiled loop: many steps of Coulomb friction in one call, for scenes without joints.

`march` is the step of engine/step.py with the kernels called directly. Only the solver is fixed, Gauss–Seidel in
the velocities of the bodies (engine/sweeps.py) from the impulses of the step before. Where that is slow the loop
returns before the step is made; the interior point method is called for the problem of that step (`posed`), and the
loop goes on from its impulses. So compiled code that is seldom needed is not part of the loop.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.collision.broadphase import Workspace, find_contacts, workspace
from stickslip.collision.contacts import Contacts, room_for
from stickslip.dynamics.contact_rows import ContactRows, contact_velocity, fill_rows, room_for_rows
from stickslip.dynamics.delassus import delassus_blocks
from stickslip.dynamics.motion import Bodies, advance, bodies_of, free_motion
from stickslip.friction.stabilisation import TOUCHING
from stickslip.jit import inlined, kernel
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.model import Floats, Integers, Kind, Model
from stickslip.engine.sweeps import judged, own_blocks, room_for_answer, room_for_law, settle

OPEN, STICK, SLIP = (int(state) for state in ContactState)


class Ended(IntEnum):
    """Why the loop returned."""

    DONE, NO_ROOM, NOT_SOLVED, FULL = range(4)


DONE, NO_ROOM, NOT_SOLVED, FULL = (int(ended) for ended in Ended)


class Rules(NamedTuple):
    """The numbers a step needs."""

    h: float  # step   [s]
    tol: float  # on the residual
    relaxed: bool  # springs and dampers at the normals instead of a gap term
    stiffness: float  # of them; negative for those of the materials   [N/m]
    damping: float  # likewise   [N s/m]
    closed_only: bool  # contacts with a gap are left out
    recovery: float  # share of an overlap that a step takes back, where there are no springs
    rest_speed: float  # approach below which nothing bounces   [m/s]
    slip_speed: float  # above which friction is kinetic   [m/s]
    sweeps: int  # of Gauss–Seidel at most
    patience: int  # see NSGS; for up to `few` contacts, for which the interior point method takes over
    few: int
    long_patience: int  # for more of them


class Surfaces(NamedTuple):
    """What the contact law needs of a Model."""

    body: Integers  # (ns,)
    material: Integers  # (ns,)
    friction_static: Floats  # (nm, nm)
    friction_kinetic: Floats  # (nm, nm)
    restitution: Floats  # (nm, nm)
    stiffness: Floats  # (nm, nm)
    damping: Floats  # (nm, nm)


class Work(NamedTuple):
    """What steps share, and arrays that each fills anew."""

    free: NDArray[np.bool_]  # (nb,)   whether a body moves by the forces on it
    moving: NDArray[np.bool_]  # (nb,)   whether it moves at all
    bodies: Bodies
    surfaces: Surfaces
    collision: Workspace
    contacts: Contacts
    rows: ContactRows


class Memory(NamedTuple):
    """The contacts of the last step and their impulses in world axes, by which the next one starts."""

    known: Integers  # (1,)   how many
    moved: NDArray[np.bool_]  # (1,)   whether the last step took more than a sweep
    answered: NDArray[np.bool_]  # (1,)   whether they are already those of the step at hand
    key: Integers  # (capacity, 3)   shape_a, shape_b, feature
    impulse: Floats  # (capacity, 3)
    trend: Floats  # (capacity, 3)   how they changed in that step


class Record(NamedTuple):
    """What a run leaves of each step, room for `steps` of them and `capacity` contacts in all."""

    position: Floats  # (steps, nb, 3)
    quaternion: Floats  # (steps, nb, 4)
    velocity: Floats  # (steps, nb, 6)
    iterations: Integers  # (steps,)
    residual: Floats  # (steps,)
    contact_start: Integers  # (steps + 1,)
    shape_a: Integers  # (capacity,)
    shape_b: Integers  # (capacity,)
    feature: Integers  # (capacity,)
    point: Floats  # (capacity, 3)
    normal: Floats  # (capacity, 3)
    gap: Floats  # (capacity,)
    impulse: Floats  # (capacity, 3)   n, t, o
    slip: Floats  # (capacity, 3)   relative velocity n, t, o
    mu: Floats  # (capacity,)
    state: Integers  # (capacity,)   of problems.contact_states.State


def room_to_work(model: Model, capacity: int) -> Work:
    surfaces = Surfaces(
        model.shape_body, model.shape_material, *(getattr(model, name) for name in Surfaces._fields[2:])
    )
    rooms = workspace(model), room_for(capacity), room_for_rows(capacity)
    return Work(model.kind == Kind.FREE, model.kind != Kind.STATIC, bodies_of(model), surfaces, *rooms)


def no_memory(capacity: int) -> Memory:
    impulse, trend = np.zeros((capacity, 3)), np.zeros((capacity, 3))
    flags = np.zeros(1, np.bool_), np.zeros(1, np.bool_)
    return Memory(np.zeros(1, np.int64), *flags, np.zeros((capacity, 3), np.int64), impulse, trend)


def room_to_record(model: Model, steps: int, capacity: int) -> Record:
    bodies = model.kind.size
    return Record(
        np.empty((steps, bodies, 3)),
        np.empty((steps, bodies, 4)),
        np.empty((steps, bodies, 6)),
        np.empty(steps, np.int64),
        np.empty(steps),
        np.zeros(steps + 1, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty((capacity, 3)),
        np.empty((capacity, 3)),
        np.empty(capacity),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 3)),
        np.empty(capacity),
        np.empty(capacity, np.int64),
    )


@kernel
def march(state, rules, work, memory, record, first):
    """Steps from number `first` of the record until that is full or one is not solved. Returns the steps in the record
    and why it ended."""
    h, bodies, contacts, rows, d = rules.h, work.bodies, work.contacts, work.rows, 2 if work.bodies.planar else 3
    law, answer = room_for_law(d, 0), room_for_answer(d, 0, bodies.v)
    for k in range(first, record.residual.size):
        count = look(state, rules, work)
        if count > contacts.gap.size:
            return k, NO_ROOM
        begin = record.contact_start[k]
        if begin + count > record.gap.size:
            return k, FULL
        sweeps, residual = 0, 0.0
        if count > 0:
            if count != law.mu.size:
                law, answer = room_for_law(d, count), room_for_answer(d, count, bodies.v)
            pose(state, rules, work, memory, law, answer)
            sweeps, residual, solved = solve(rules, work, memory, law, answer)
            if not solved:
                return k, NOT_SOLVED
            note_contacts(record, begin, contacts, law, answer)
            states(answer.p, answer.u, law.mu, law.own, rules.tol, begin, record.state)
            if not memory.answered[0]:
                remember(memory, contacts, rows, count, answer.p, answer.start)
            memory.moved[0], memory.answered[0] = sweeps != 1, False
            advance(bodies, state, h, answer.v)
        else:
            memory.known[0] = 0
            advance(bodies, state, h, bodies.v)
        note(record, k, count, state, sweeps, residual)
    return record.residual.size, DONE


@inlined
def look(state, rules, work):
    """How the bodies would move without contact, and what they touch. Returns the number of contacts that count."""
    free_motion(work.bodies, state, rules.h)
    count = find_contacts(state, work.bodies.reach, work.collision, work.contacts)
    if count > work.contacts.gap.size:
        return count
    return leave_out(work.surfaces, state, rules, work.contacts, count)


@kernel
def leave_out(surfaces, state, rules, contacts, count):
    """Leave out the contacts that will bounce but have not closed yet, for a gap term would take their speed away, and
    where there is no stabilisation all that are open. Returns how many are left."""
    kept = 0
    for i in range(count):
        a, b = contacts.shape_a[i], contacts.shape_b[i]
        if rules.closed_only and contacts.gap[i] > TOUCHING:
            continue
        e = surfaces.restitution[surfaces.material[a], surfaces.material[b]]
        if e > 0.0 and contacts.gap[i] > 0.0:
            x, n, body_a, body_b = contacts.point[i], contacts.normal[i], surfaces.body[a], surfaces.body[b]
            approach = along(x, n, state.position[body_b], state.velocity[body_b])
            approach -= along(x, n, state.position[body_a], state.velocity[body_a])
            if approach > rules.rest_speed:
                continue
        if kept < i:
            contacts.shape_a[kept], contacts.shape_b[kept], contacts.feature[kept] = a, b, contacts.feature[i]
            contacts.gap[kept] = contacts.gap[i]
            for c in range(3):
                contacts.point[kept, c], contacts.normal[kept, c] = contacts.point[i, c], contacts.normal[i, c]
        kept += 1
    return kept


@kernel
def along(x, n, centre, v):
    """The velocity along n of the point x of a body."""
    r_x, r_y, r_z = x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]
    return (
        n[0] * (v[0] + v[4] * r_z - v[5] * r_y)
        + n[1] * (v[1] + v[5] * r_x - v[3] * r_z)
        + n[2] * (v[2] + v[3] * r_y - v[4] * r_x)
    )


@inlined
def pose(state, rules, work, memory, law, answer):
    """What this step asks of its contacts, the impulses of the last step, and how they changed in it."""
    bodies, rows, contacts, count = work.bodies, work.rows, work.contacts, law.mu.size
    fill_rows(work.surfaces.body, bodies, state.position, contacts, count, rows)
    contact_law(work.surfaces, state.velocity, bodies.v, rules, contacts, rows, law)
    own_blocks(rows, law)
    recall(memory, contacts, rows, count, answer.start, answer.trend)
    answer.p[:] = answer.start


@kernel
def contact_law(surfaces, before, v, rules, contacts, rows, law):
    """Fill a Law but for `own` and `scales`.

    The laws are those of friction/stabilisation.py and friction/impact.py, contact by contact.
    """
    h, mu, w, body, J = rules.h, law.mu, law.w, rows.body, rows.jacobian
    d = law.q.size // mu.size
    for i in range(mu.size):
        a, b = surfaces.material[contacts.shape_a[i]], surfaces.material[contacts.shape_b[i]]
        for c in range(d):
            law.q[d * i + c] = contact_velocity(body, J, i, c, v)
        mu[i] = surfaces.friction_static[a, b]
        if surfaces.friction_kinetic[a, b] != mu[i]:
            slip = contact_velocity(body, J, i, 1, before) ** 2
            if d == 3:
                slip += contact_velocity(body, J, i, 2, before) ** 2
            if slip > rules.slip_speed**2:
                mu[i] = surfaces.friction_kinetic[a, b]
        gap, e = contacts.gap[i], surfaces.restitution[a, b]
        w[i] = law.compliance[i] = 0.0
        approach = -contact_velocity(body, J, i, 0, before) if e > 0.0 else 0.0
        if e > 0.0 and approach > rules.rest_speed:
            w[i] = -e * approach
        elif rules.relaxed:
            stiffness = surfaces.stiffness[a, b] if rules.stiffness < 0.0 else rules.stiffness
            damping = surfaces.damping[a, b] if rules.damping < 0.0 else rules.damping
            w[i] = gap / h if stiffness == np.inf else gap * stiffness / (h * stiffness + damping)
            law.compliance[i] = 1.0 / (h * (h * stiffness + damping))
        elif not rules.closed_only:
            w[i] = gap / h if gap > TOUCHING else rules.recovery * gap / h
        law.q[d * i] += w[i]


@inlined
def solve(rules, work, memory, law, answer):
    """Gauss–Seidel, if the answer is not known yet. Returns the sweeps, the residual and whether it is solved."""
    if memory.answered[0]:
        residual, solved = judged(work.rows, work.moving, law, work.bodies.v, rules.tol, answer.p, answer.u, answer.v)
        return 0, residual, solved
    patience = rules.patience if law.mu.size <= rules.few else rules.long_patience
    return settle(
        work.rows, work.bodies, work.moving, work.free, law, memory.moved[0], rules.tol, rules.sweeps, patience, answer
    )


@kernel
def recall(memory, contacts, rows, count, p, trend):
    """p, the impulses of the same contacts in the last step, and `trend`, how they changed in it; both lists are sorted
    by shapes and feature."""
    d, key, j, last = p.size // count if count else 0, memory.key, 0, memory.known[0]
    for i in range(count):
        a, b, f = contacts.shape_a[i], contacts.shape_b[i], contacts.feature[i]
        while j < last and (
            key[j, 0] < a or (key[j, 0] == a and (key[j, 1] < b or (key[j, 1] == b and key[j, 2] < f)))
        ):
            j += 1
        known = j < last and key[j, 0] == a and key[j, 1] == b and key[j, 2] == f
        for c in range(d):
            p[d * i + c] = trend[d * i + c] = 0.0
            if known:
                for k in range(3):
                    p[d * i + c] += rows.frame[i, c, k] * memory.impulse[j, k]
                    trend[d * i + c] += rows.frame[i, c, k] * memory.trend[j, k]


@kernel
def remember(memory, contacts, rows, count, p, start):
    """Keep the impulses p and how they changed from `start`; a contact that is new there changes by nothing."""
    d = p.size // count if count else 0
    memory.known[0] = count
    for i in range(count):
        memory.key[i, 0], memory.key[i, 1] = contacts.shape_a[i], contacts.shape_b[i]
        memory.key[i, 2] = contacts.feature[i]
        known = 1.0 if start[d * i] > 0.0 else 0.0
        for k in range(3):
            memory.impulse[i, k] = memory.trend[i, k] = 0.0
            for c in range(d):
                memory.impulse[i, k] += rows.frame[i, c, k] * p[d * i + c]
                memory.trend[i, k] += known * rows.frame[i, c, k] * (p[d * i + c] - start[d * i + c])


@kernel
def note_contacts(record, begin, contacts, law, answer):
    p, u, d = answer.p, answer.u, answer.p.size // law.mu.size
    for i in range(law.mu.size):
        j = begin + i
        record.shape_a[j], record.shape_b[j] = contacts.shape_a[i], contacts.shape_b[i]
        record.feature[j], record.gap[j], record.mu[j] = contacts.feature[i], contacts.gap[i], law.mu[i]
        for c in range(3):
            record.point[j, c], record.normal[j, c] = contacts.point[i, c], contacts.normal[i, c]
        for c in range(d):
            record.impulse[j, c], record.slip[j, c] = p[d * i + c], u[d * i + c]
        record.slip[j, 0] -= law.w[i] + law.compliance[i] * p[d * i]  # the velocity itself


@kernel
def states(p, u, mu, diagonal, resolved, begin, state):
    """Open, stick or slip of each contact, from impulses p and velocities u of the law; see contact_states.py.

    `diagonal` (d², nc): W_ii by columns. Impulses below `resolved` times the greatest count for nothing.
    """
    d = 2 if diagonal.shape[0] == 4 else 3
    delta = 0.0
    for i in range(mu.size):
        delta = max(delta, resolved * p[d * i])
    for i in range(mu.size):
        trace = diagonal[0, i] + diagonal[3, i] if d == 2 else diagonal[0, i] + diagonal[4, i] + diagonal[8, i]
        rho = d / trace if trace > 0.0 else 1.0
        p_t, u_t = abs(p[d * i + 1]), abs(u[d * i + 1])
        if d == 3:
            p_t, u_t = math.hypot(p_t, p[d * i + 2]), math.hypot(u_t, u[d * i + 2])
        if not (p[d * i] > delta and p[d * i] > rho * u[d * i]):
            state[begin + i] = OPEN
        elif rho * u_t > delta and rho * u_t > mu[i] * p[d * i] - p_t:
            state[begin + i] = SLIP
        else:
            state[begin + i] = STICK


@kernel
def note(record, k, count, state, sweeps, residual):
    record.contact_start[k + 1] = record.contact_start[k] + count
    record.iterations[k], record.residual[k] = sweeps, residual
    for i in range(state.position.shape[0]):
        for c in range(3):
            record.position[k, i, c] = state.position[i, c]
        for c in range(4):
            record.quaternion[k, i, c] = state.quaternion[i, c]
        for c in range(6):
            record.velocity[k, i, c] = state.velocity[i, c]


@kernel
def posed(state, rules, work, memory):
    """W, q and mu of the cone problem of the step at hand, which the loop returned from without an answer, and the
    impulses it started from."""
    d, count = 2 if work.bodies.planar else 3, look(state, rules, work)
    law, answer = room_for_law(d, count), room_for_answer(d, count, work.bodies.v)
    pose(state, rules, work, memory, law, answer)
    W = delassus_blocks(work.free, work.rows, count, d)
    W.diagonal[0] += law.compliance
    return W, law.q, law.mu, answer.start
