"""From the impulses of a step to the state at its end, and what is recorded of it.

    velocities    v⁺ of all bodies, and the impulses of bilateral joint rows
    hit           which bodies move with v⁺ instead of ½ (v + v⁺): see `mark_hit`
    move          positions; those of joints corrected (dynamics/held.py)
    states        open, stick or slip
    remember      the impulses, for the next step
"""

from __future__ import annotations

import math

from stickslip.dynamics.contact_rows import fill_frame
from stickslip.dynamics.held import articulate, fasten, halve, hold, rates, row_rate
from stickslip.dynamics.motion import arrive, move
from stickslip.engine.rows import ACTIVE, BOUNDED, FOUND, ITERATIONS, METHOD, STATUS
from stickslip.engine.sweep import velocity_of
from stickslip.friction.terms import TAKES_PART
from stickslip.jit import inlined, kernel
from stickslip.problems.contact_states import State as ContactState

OPEN, STICK, SLIP = (int(state) for state in ContactState)


@kernel
def begin(state, rules, work):
    """What a run does before its first step: factors of the joints, and velocities that keep to them."""
    if work.held.wanted.size > 0:
        articulate(work.held, state, rules.law.h)
        rates(work.held, state.velocity, False)
        hold(work.held, 0.0, state.velocity)


@inlined
def finish(state, rules, work, memory, record, k):
    """Make the step whose impulses the answer holds, and write it down as step k of the record."""
    h, held, answer = rules.law.h, work.held, work.answer
    end_velocities(work)
    mark_hit(work, rules, state.velocity)
    note_contacts(work, rules, record, record.contact_start[k])
    remember(work, memory)
    move(work.bodies, state, h, answer.v, work.hit)
    if held.wanted.size > 0:
        halve(held, answer.free, answer.v, work.hit)
        fasten(held, state, h, answer.v)
    arrive(work.bodies, state, answer.v)
    if held.wanted.size > 0:
        articulate(held, state, h)
        rates(held, state.velocity, False)
        hold(held, 1.0, state.velocity)
    note(work, record, k, state)


@kernel
def end_velocities(work):
    """v⁺ in `answer.v`; in `free` what it would be without the bilateral rows; their impulses in `held.impulse`."""
    answer, rows, held, n = work.answer, work.rows, work.held, work.count[ACTIVE]
    free, v, unheld = answer.free, answer.v, work.bodies.v
    for b in range(v.shape[0]):
        for r in range(6):
            free[b, r] = unheld[b, r]
    D = rows.jacobian.shape[2]
    pushed = False
    for i in range(n):
        for side in range(2):
            b = rows.body[i, side]
            if work.free[b]:
                for c in range(D):
                    if answer.p[D * i + c] != 0.0:
                        pushed = True
                        push(work.bodies, b, rows.jacobian[i, side, c], answer.p[D * i + c], free[b])
    for t in range(work.count[BOUNDED]):
        j, x = rows.number[t], answer.bounded[t]
        held.impulse[j] = x
        if x != 0.0:
            pushed = True
            push(work.bodies, held.rows.body_a[j], held.rows.jacobian_a[j], x, free[held.rows.body_a[j]])
            push(work.bodies, held.rows.body_b[j], held.rows.jacobian_b[j], x, free[held.rows.body_b[j]])
    if held.wanted.size > 0 and pushed:
        for i in range(held.impulse.size):
            if held.rows.lower[i] == -math.inf and held.rows.upper[i] == math.inf:
                held.impulse[i] = 0.0
        for b in range(v.shape[0]):
            for r in range(6):
                v[b, r] = free[b, r]
        rates(held, v, True)
        hold(held, 1.0, v)
    elif held.wanted.size == 0:
        for b in range(v.shape[0]):
            for r in range(6):
                v[b, r] = free[b, r]


@kernel
def push(bodies, b, J, x, v):
    """v <- v + M⁻¹ Jᵀ x of one body."""
    m, K = bodies.inverse_mass[b], bodies.inverse[b]
    for k in range(3):
        v[k] += m[k] * J[k] * x
        v[3 + k] += (K[k, 0] * J[3] + K[k, 1] * J[4] + K[k, 2] * J[5]) * x


@kernel
def mark_hit(work, rules, before):
    """Bodies that move with v⁺: those at a contact or limit that pushes and was approached faster than the rest speed,
    what hangs on them by joints, and what hangs on compliant joints. Where the formulation steps as its paper does
    (`euler`), all that a contact pushes."""
    rows, held, hit, tree = work.rows, work.held, work.hit, work.held.tree
    D, n, p = rows.jacobian.shape[2], work.count[ACTIVE], work.answer.p
    for b in range(hit.size):
        hit[b] = tree.group[b] >= 0 and held.soft[tree.group[b]] == 1
    marked = False
    for i in range(n):
        if p[D * i] > 0.0 and (rules.euler or work.law.before[D * i] < -rules.law.rest_speed):
            hit[rows.body[i, 0]] = hit[rows.body[i, 1]] = marked = True
    for t in range(work.count[BOUNDED]):
        j = rows.number[t]
        if held.rows.upper[j] == math.inf and work.answer.bounded[t] > 0.0:
            if row_rate(held.rows, j, before) < -rules.law.rest_speed:
                hit[held.rows.body_a[j]] = hit[held.rows.body_b[j]] = marked = True
    if not marked or tree.size.size == 0:
        return
    for group in range(tree.group_start.size - 1):
        any_hit = False
        for k in range(tree.group_start[group], tree.group_start[group + 1]):
            any_hit = any_hit or (tree.body[k] >= 0 and hit[tree.body[k]])
        if any_hit:
            for k in range(tree.group_start[group], tree.group_start[group + 1]):
                if tree.body[k] >= 0:
                    hit[tree.body[k]] = True


@kernel
def note_contacts(work, rules, record, begin):
    """All contacts found, those left out too."""
    contacts, rows, law, answer = work.contacts, work.rows, work.law, work.answer
    D, at, material = rows.jacobian.shape[2], 0, work.surfaces.material
    delta = resolved(work, rules)
    for i in range(work.count[FOUND]):
        j = begin + i
        a, b = contacts.shape_a[i], contacts.shape_b[i]
        record.shape_a[j], record.shape_b[j], record.feature[j] = a, b, contacts.feature[i]
        record.gap[j], record.left_out[j] = contacts.gap[i], rows.part[i]
        for c in range(3):
            record.point[j, c], record.normal[j, c] = contacts.point[i, c], contacts.normal[i, c]
            record.impulse[j, c] = record.velocity_after[j, c] = 0.0
        record.moment[j] = record.spin[j] = 0.0
        if rows.part[i] != TAKES_PART:
            note_left_out(work, record, i, j)
            continue
        for c in range(3):
            record.tangent[j, c] = rows.frame[at, 1, c]
        for c in range(min(D, 3)):
            record.impulse[j, c], record.velocity_after[j, c] = answer.p[D * at + c], velocity_of(work, at, c)
        if D == 4:
            record.moment[j], record.spin[j] = answer.p[D * at + 3], velocity_of(work, at, 3)
        record.friction[j] = law.mu[at]
        patch = work.surfaces.patch[material[a], material[b]] if D == 4 else 0.0
        record.state[j] = state_of(record, j, law.scale[at] ** 2, patch, delta)
        at += 1


@kernel
def note_left_out(work, record, i, j):
    """A contact that has no rows: its tangent, static friction, and the velocities of nothing."""
    n, frame = work.contacts.normal[i], work.rows.frame[work.rows.frame.shape[0] - 1]
    fill_frame(n[0], n[1], n[2], work.bodies.planar, frame)
    for c in range(3):
        record.tangent[j, c] = frame[1, c]
    material = work.surfaces.material
    a, b = material[work.contacts.shape_a[i]], material[work.contacts.shape_b[i]]
    record.friction[j] = work.surfaces.friction_static[a, b]
    record.state[j] = OPEN


@kernel
def resolved(work, rules):
    """Impulses below this share of the greatest count for nothing."""
    D, greatest = work.rows.jacobian.shape[2], 0.0
    for i in range(work.count[ACTIVE]):
        greatest = max(greatest, work.answer.p[D * i])
    return rules.tol * greatest


@kernel
def state_of(record, j, rho, patch, delta):
    """Open, stick or slip, from impulses and velocities compared in one unit, see problems/contact_states.py. Over a
    patch friction and slip are (force, moment / e_r) and (velocity, e_r spin)."""
    p, u = record.impulse[j], record.velocity_after[j]
    p_t, u_t = math.hypot(p[1], p[2]), math.hypot(u[1], u[2])
    if patch > 0.0:
        p_t, u_t = math.hypot(p_t, record.moment[j] / patch), math.hypot(u_t, patch * record.spin[j])
    if not (p[0] > delta and p[0] > 0.0):
        return OPEN
    if rho * u_t > delta and rho * u_t > record.friction[j] * p[0] - p_t:
        return SLIP
    return STICK


@kernel
def remember(work, memory):
    """Keep the impulses and how they changed from those of the step before; a new contact changes by nothing."""
    rows, contacts, answer = work.rows, work.contacts, work.answer
    D, n = rows.jacobian.shape[2], work.count[ACTIVE]
    memory.known[0] = n
    for i in range(n):
        k = rows.found[i]
        memory.key[i, 0], memory.key[i, 1] = contacts.shape_a[k], contacts.shape_b[k]
        memory.key[i, 2] = contacts.feature[k]
        known = 1.0 if answer.start[D * i] > 0.0 else 0.0
        for r in range(3):
            memory.impulse[i, r] = memory.trend[i, r] = 0.0
            for c in range(min(D, 3)):
                p = answer.p[D * i + c]
                memory.impulse[i, r] += rows.frame[i, c, r] * p
                memory.trend[i, r] += known * rows.frame[i, c, r] * (p - answer.start[D * i + c])
        memory.moment[i] = answer.p[D * i + 3] if D == 4 else 0.0
    memory.moved[0] = work.count[ITERATIONS] != 1
    for t in range(work.held.bounded.size):
        memory.joint[work.held.bounded[t]] = 0.0
    for t in range(work.count[BOUNDED]):
        memory.joint[rows.number[t]] = answer.bounded[t]


@kernel
def note(work, record, k, state):
    """The state at the end, and what the solve was like."""
    count = work.count
    record.contact_start[k + 1] = record.contact_start[k] + count[FOUND]
    record.iterations[k], record.method[k], record.status[k] = count[ITERATIONS], count[METHOD], count[STATUS]
    record.residual[k] = work.residual[0]
    for i in range(work.held.impulse.size):
        record.joint_impulse[k, i] = work.held.impulse[i]
    for i in range(state.position.shape[0]):
        for c in range(3):
            record.position[k, i, c] = state.position[i, c]
        for c in range(4):
            record.quaternion[k, i, c] = state.quaternion[i, c]
        for c in range(6):
            record.velocity[k, i, c] = state.velocity[i, c]
