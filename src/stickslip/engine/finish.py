"""From the impulses of a step to the state at its end, and what is recorded of it.

velocities    v⁺ of all bodies, and the impulses of bilateral joint rows
shares        which bodies move with v⁺, or a share of it, instead of ½ (v + v⁺): see `mark_hit`
move          positions; those of joints corrected (dynamics/held.py), overlaps that are left (engine/apart.py)
states        open, stick or slip
remember      the impulses, for the next step
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.collision.contacts import plain
from stickslip.dynamics.articulated import bodies_of
from stickslip.dynamics.contact_rows import contact_velocity, fill_frame, push
from stickslip.dynamics.held import (
    NOTABLE,
    articulate,
    articulate_braced,
    fasten,
    follow,
    halve,
    hold,
    rates,
    row_rate,
    set_out,
)
from stickslip.dynamics.joints import is_limit
from stickslip.dynamics.motion import END, FREE, MEAN, MOVING, arrive, arrive_body, drift, move, move_body, orient_all
from stickslip.engine.ahead import MOST_LOOKS, put
from stickslip.engine.ahead import NOTABLE as NOTABLE_OVERLAP
from stickslip.engine.apart import least_thickness, part, thickness
from stickslip.engine.prepare import copy, hold_free
from stickslip.engine.rims import lessen, may_have
from stickslip.engine.rows import ACTIVE, BOUNCED, BOUNDED, FOUND, ISLAND, ITERATIONS, JOINT, LOOKS, METHOD, STATUS
from stickslip.engine.sweep import cone_distance
from stickslip.engine.taken_back import take_back
from stickslip.friction.terms import NOTHING, TAKES_PART, bounced_share
from stickslip.jit import bare, inlined
from stickslip.problems.contact_states import OPEN, state_of
from stickslip.solvers.status import SOLVED, Status

ROUNDING = 1e-10  # share of the speeds of a contact up to which its impulse is none
UNMARKED = -1.0  # a share that is not known yet
INEXACT, STALLED = int(Status.INEXACT), int(Status.STALLED)


@bare
def begin(state, rules, work, memory):
    """What a run does before its first step: factors of the joints, and velocities that keep to them. The impulses of
    joints are those that are remembered, or about what the first step would have without contacts: what makes its
    velocities keep to them where they lead to."""
    held, h, free = work.held, rules.law.h, work.answer.free
    if held.wanted.size == 0:
        return
    for b in range(held.added.shape[0]):
        for r in range(3):
            for c in range(3):
                held.added[b, r, c] = 0.0
    if nothing(memory.joint):
        put(state, work.trial)
        drift(work.trial, h)
        articulate(held, work.trial, h)
        copy(state.velocity, free)
        for b in range(free.shape[0]):
            if work.free[b]:
                for r in range(3):
                    free[b, r] += h * (
                        work.bodies.gravity[r] + work.bodies.inverse_mass[b, r] * work.bodies.force[b, r]
                    )
        hold_free(held, free)
        keep_joints(held, memory.joint)
    articulate_braced(held, state, h, memory.joint, free)
    rates(held, state.velocity, False)
    hold(held, state.velocity, held.nu)
    follow(held, state)


@bare
def nothing(x):
    for i in range(x.size):  # noqa: SIM110
        if x[i] != 0.0:
            return False
    return True


@bare
def keep_joints(held, joint):
    """Remember the impulses of bilateral rows; those of bounded ones are by themselves."""
    for i in range(joint.size):
        if held.rows.lower[i] == -np.inf:
            joint[i] = held.impulse[i]


@inlined
def end_velocities(work):
    """v⁺ of all bodies, and the impulses of joints, from the impulses that the answer holds."""
    held, answer, rows, bodies = work.held, work.answer, work.rows, work.bodies
    n, m = work.count[ACTIVE], work.count[BOUNDED]
    if held.wanted.size > 0:  # without joints answer.free and answer.v are bodies.v
        copy(bodies.v, answer.free)
    pushed = push_free(
        n, m, rows.body, rows.jacobian, work.free, bodies.inverse_mass, bodies.inverse, answer.p, answer.free
    )
    if held.wanted.size > 0:
        end_held(held, rows.jacobian.shape[2], n, m, rows.number, answer.p, pushed, answer.free, answer.v)


@inlined
def find_shares(state, rules, work):
    """The shares of v⁺ in the velocities by which bodies move."""
    if work.count[ACTIVE] > 0 or work.held.wanted.size > 0:
        share_out(state, rules, work)
    else:
        for b in range(work.share.size):
            work.share[b] = MEAN


@inlined
def share_out(state, rules, work):
    """The same where there are contacts or joints."""
    held, answer, rows, law = work.held, work.answer, work.rows, work.law
    n, m, share = work.count[ACTIVE], work.count[BOUNDED], work.share
    find_leaning(n, rows.body, work.free, work.islands.of_block, answer.p, work.islands.leans)
    mark_hit(
        n, rows.body, rows.jacobian, work.free, work.moving, law.scale, rules.euler, rules.law, rules.tol,
        law.restitution, work.contacts.gap, rows.found, work.islands.of_block, work.islands.leans, law.before,
        law.rolls, law.runs, answer.p, answer.v, work.gain, share, answer.after,
    )  # fmt: skip
    if work.count[BOUNCED] > 0:
        keep_apart(
            n, rows.body, rows.jacobian, work.free, work.moving, rules.law.h, work.bodies.radius, work.width,
            work.contacts.gap, rows.found, state.velocity, answer.v, share,
        )  # fmt: skip
    if held.wanted.size > 0:
        mark_hit_joints(n, m, rows.body, held, rules.law.rest_speed, answer.p, rows.number, state.velocity, share)
    for b in range(share.size):
        if share[b] == UNMARKED:
            share[b] = MEAN


@inlined
def finish(state, rules, work, memory, record, k, tried):
    """Make the step whose velocities and shares are known, which a trial has begun to put joints into place for if it
    was `tried`, and write it down as step k of the record. False, with the state as it was, where there is not enough
    room (NEEDED says how much), and where joints come apart by more than is accepted: ISLAND is the joint, the residual
    by how much."""
    h, held, answer, rows, law, bodies = rules.law.h, work.held, work.answer, work.rows, work.law, work.bodies
    n, m, share = work.count[ACTIVE], work.count[BOUNDED], work.share
    note_contacts(
        record, record.contact_start[k], work.contacts, work.count[FOUND], work.surfaces.material,
        work.surfaces.friction_static, bodies.planar, rows.part, rows.frame, rows.jacobian.shape[2], rules.swept,
        answer.state, rules.tol, law.mu, law.scale, answer.p, answer.after, work.frame,
    )  # fmt: skip
    record.worst[k] = worst_of(n, rules.swept, rows.found, law.mu, law.shift, law.scale, answer.p, answer.u, work.wrong)
    deep = rules.law.stabilised != NOTHING and ends_deep(rules, work)
    rolls = may_have(
        n, rows.body, held.tree.node, work.moving, law.rolls, work.contacts.gap, rows.found, rules.law, bodies, state,
        answer.v, answer.p, work.energy,
    )  # fmt: skip
    if held.wanted.size == 0 and not deep and not rolls:
        move_and_note(bodies, state, h, answer.v, share, record, k)
    else:
        if deep:
            orient_all(bodies, state)
        if held.wanted.size > 0:
            put(state, work.trial)
            if not tried:
                set_out(held, state, h, answer.v, share, bodies.turned)
        move(bodies, state, h, answer.v, share)
        if held.wanted.size > 0:
            halve(held, answer.free, answer.v, share)
            far = fasten(held, state, h, answer.v, tried)
        if deep and not part(state, rules.law, work):
            put(work.trial, state)
            return False
        arrive(bodies, state, answer.v)
        if rolls:
            lessen(bodies, state, work.energy)
    remember(
        memory, work.contacts, n, m, rows.found, rows.number, rows.frame, held.bounded, work.islands.of_block,
        work.islands.swept, work.islands.hard, answer.waited, answer.start, answer.p,
    )  # fmt: skip
    if held.wanted.size > 0:
        keep_joints(held, memory.joint)
        articulate_braced(held, state, h, memory.joint, state.velocity)
        rates(held, state.velocity, False)
        hold(held, state.velocity, held.impulse)
        if far:
            take_back(
                n, m, rows.body, rows.jacobian, answer.p, h, held, bodies, work.trial, state, work.gain, work.energy,
                work.islands.integers,
            )  # fmt: skip
        follow(held, state)
        row, far = loosest(held, bodies.radius)
        if not far <= rules.tol:
            work.wrong[0] = max(work.wrong[0], (abs(held.rows.error[row]) - abs(held.before[row])) / h)
            work.residual[0] = max(far, work.residual[0])
            record.worst[k] = JOINT - held.rows.joint[row]
            if rules.stops and not far <= rules.accept:
                put(work.trial, state)
                work.count[ISLAND], work.residual[0] = held.rows.joint[row], far
                return False
            if work.count[STATUS] == SOLVED or not far <= rules.accept:
                work.count[STATUS] = INEXACT if far <= rules.accept else STALLED
    if held.wanted.size > 0 or deep or rolls:
        for b in range(share.size):
            note_body(record, k, b, state)
    note(record, k, work.count, work.residual[0], work.wrong, held.impulse)
    return True


@bare
def ends_deep(rules, work):
    """May overlaps be left notably deeper than at the start: was the step not solved, or not seen to its end?"""
    if work.count[LOOKS] == MOST_LOOKS:
        return True
    wrong = rules.law.h * work.wrong[0]
    return wrong > 0.0 and wrong > NOTABLE_OVERLAP * least_thickness(work.bodies, work.free, work.width)


@bare
def loosest(held, radius):
    """The rigid joint row whose error has grown most in the step, and by how much, over the size of its bodies."""
    rows, row, most = held.rows, 0, 0.0
    for i in range(held.before.size):
        if rows.compliance[i] == 0.0 and rows.lower[i] == -np.inf:
            grown = abs(rows.error[i]) - abs(held.before[i]) - NOTABLE
            if not grown <= 0.0:
                grown /= max(radius[rows.body_a[i]], radius[rows.body_b[i]])
                if not grown <= most:
                    row, most = i, grown
    return row, most


@bare
def push_free(n, m, body, J, free, inverse_mass, inverse, p, v):
    """From velocities without impulses to those at the end without the bilateral rows. Returns whether one acts."""
    D, pushed = J.shape[2], False
    for i in range(n + m):
        for side in range(2):
            b = body[i, side]
            if free[b]:
                for c in range(D if i < n else 1):
                    if p[D * i + c] != 0.0:
                        pushed = True
                        push(inverse_mass[b], inverse[b], J[i, side, c], p[D * i + c], v[b])
    return pushed


@bare
def end_held(held, D, n, m, number, p, pushed, free, v):
    """v⁺, and the impulses of all joint rows. Without any other impulse both are known already."""
    if pushed:
        copy(free, v)
        for i in range(held.impulse.size):
            held.impulse[i] = 0.0
        rates(held, v, True)
        hold(held, v, held.impulse)
    for t in range(m):
        held.impulse[number[t]] = p[D * (n + t)]


@bare
def find_leaning(n, body, free, island, p, leans):
    """Which islands are pushed by something that is not free; the others keep their angular momentum."""
    D = p.size // body.shape[0]
    for i in range(n):
        leans[island[i]] = False
    for i in range(n):
        if p[D * i] > 0.0 and not (free[body[i, 0]] and free[body[i, 1]]):
            leans[island[i]] = True


@bare
def mark_hit(
    n, body, J, free, moving, scale, euler, law, tol, restitution, gap, found, island, leans, u, rolls, runs, p, v,
    gain, share, after,
):  # fmt: skip
    """Which bodies move with v⁺ or another share of it, and not with ½ (v + v⁺): their shares; the rest is UNMARKED.
    The velocities u⁺ of the contacts are filled in.

    Moving by the mean a body gains the energy p·½ (u + u⁺) at its contacts, which is less than nothing where it slides
    or rests; moving with v⁺ it never gains any. So it moves with v⁺ where a contact pushes that was approached faster
    than the rest speed, where it would gain, and where two free bodies push each other, which keeps their angular
    momentum; and if the formulation steps as its paper does (`euler`), wherever a contact pushes. A body that bounces,
    in an island that does not keep its angular momentum anyway, moves by the greatest share of v⁺ that its bounces ask
    for (friction/terms.py), unless one of the former asks for all of it. A rim that rolls asks for nothing.
    """
    for b in range(share.size):
        share[b], gain[b] = UNMARKED, 0.0
    D = p.size // body.shape[0]
    for i in range(n):
        power, speed, impulse, slip = 0.0, 0.0, 0.0, 0.0
        for c in range(D):  # friction bounded by the step before acts without a normal impulse too
            x, at = p[D * i + c], D * i + c
            after[at] = contact_velocity(body, J, moving, i, c, v) + runs[at]
            power += 0.5 * x * (u[at] + after[at])
            impulse += abs(x)
            slip += abs(u[at]) + abs(after[at])
        if not impulse > ROUNDING * scale[i] ** 2 * slip:
            continue
        if rolls[i]:
            continue
        a, b = body[i, 0], body[i, 1]
        if restitution[i] > 0.0 and leans[island[i]]:
            s = bounced_share(law, gap[found[i]], restitution[i], u[D * i], after[D * i])
            share[a], share[b] = max(share[a], s), max(share[b], s)
        elif euler or u[D * i] < -law.rest_speed or (free[a] and free[b]):
            share[a] = share[b] = END
        else:
            own = a if free[a] else b
            for r in range(3):
                speed += abs(v[own, r])
            gain[own] += power - unnoticed(tol) * speed * p[D * i]
    for b in range(share.size):
        if gain[b] > 0.0 and share[b] == UNMARKED:
            share[b] = END


@bare
def keep_apart(n, body, J, free, moving, h, radius, width, gap, found, before, v, share):
    """Bodies of which one bounces may be carried into each other by shares that differ, as a ball behind another that
    hits a peg. Those that would overlap notably move with v⁺, by which every gap stays open."""
    changed = True
    while changed:
        changed = False
        for i in range(n):
            a, b = body[i, 0], body[i, 1]
            if (share[a] == END or not free[a]) and (share[b] == END or not free[b]):
                continue
            moved = 0.0
            for side in range(2):
                k = body[i, side]
                s = MEAN if share[k] == UNMARKED else share[k]
                if moving[k]:
                    for r in range(6):
                        moved += J[i, side, 0, r] * (s * v[k, r] + (1.0 - s) * before[k, r])
            thick = min(thickness(width, radius, a), thickness(width, radius, b))
            if gap[found[i]] + h * moved < min(gap[found[i]], 0.0) - NOTABLE_OVERLAP * thick:
                share[a] = share[b] = END
                changed = True


@bare
def unnoticed(tol):
    """The share of p |v| that contacts may seem to give: what a solve to tol leaves."""
    return max(ROUNDING, 10.0 * tol)


@bare
def mark_hit_joints(n, m, body, held, rest_speed, p, number, before, share):
    """The same at limits that are reached and motors that pull; what hangs on a body that is hit, by joints, has the
    greatest share of them, and what hangs on compliant ones all of v⁺."""
    D, tree, joints = p.size // body.shape[0], held.tree, held.rows
    for t in range(m):
        i, j = n + t, number[t]
        pulls = joints.jacobian_a[j, 0] != 0.0 or joints.jacobian_a[j, 1] != 0.0 or joints.jacobian_a[j, 2] != 0.0
        a, b = held.model.kind[body[i, 0]], held.model.kind[body[i, 1]]
        pulls = pulls and a == FREE and b == FREE
        stopped = is_limit(joints, j) and row_rate(joints, j, before) < -rest_speed
        if p[D * i] != 0.0 and (pulls or stopped):
            share[body[i, 0]] = share[body[i, 1]] = END
    for group in range(tree.group_start.size - 1):
        greatest = END if held.soft[group] == 1 else UNMARKED
        for b in bodies_of(tree, group):
            greatest = max(greatest, share[b])
        if greatest != UNMARKED:
            share_group(tree, group, greatest, share)
    carry(held, share)


@bare
def share_group(tree, group, s, share):
    for b in bodies_of(tree, group):
        share[b] = s


@bare
def carry(held, share):
    """A body that moves as prescribed, and all that hangs on it by joints, moves with v⁺ where something of that does:
    what is held between two fingers of a hand would else slip by the difference."""
    joints, kind, tree = held.rows, held.model.kind, held.tree
    for away in range(2):  # to the body that moves, and back
        for j in range(joints.body_a.size):
            a, b = joints.body_a[j], joints.body_b[j]
            if kind[a] == MOVING or kind[b] == MOVING:
                hand, finger = (a, b) if kind[a] == MOVING else (b, a)
                if away == 0 and share[finger] == END:
                    share[hand] = END
                elif away == 1 and share[hand] == END and kind[finger] == FREE:
                    share_group(tree, tree.group[finger], END, share)


@bare
def note_contacts(
    record, begin, contacts, found, material, friction, planar, parts, frames, D, cones, state, tol, mu, scale, p,
    after, room,
):  # fmt: skip
    """All contacts found, those left out too. Impulses below tol times the greatest count for nothing in states; where
    the law is no cone's, the formulation has told the states."""
    at, greatest = 0, 0.0
    for i in range(found):
        if parts[i] == TAKES_PART:
            greatest = max(greatest, p[D * at])
            at += 1
    at = 0
    for i in range(found):
        j, a, b = begin + i, contacts.shape_a[i], contacts.shape_b[i]
        record.shape_a[j], record.shape_b[j], record.feature[j] = a, b, plain(contacts.feature[i])
        record.gap[j], record.left_out[j] = contacts.gap[i], parts[i]
        frame = frames[at] if parts[i] == TAKES_PART else room
        if parts[i] != TAKES_PART:
            fill_frame(contacts.normal[i, 0], contacts.normal[i, 1], contacts.normal[i, 2], planar, frame)
        for c in range(3):
            record.point[j, c], record.normal[j, c], record.tangent[j, c] = (
                contacts.point[i, c],
                frame[0, c],
                frame[1, c],
            )
            record.impulse[j, c] = record.velocity_after[j, c] = 0.0
        record.moment[j] = record.spin[j] = 0.0
        record.friction[j], record.state[j] = friction[material[a], material[b]], OPEN
        if parts[i] != TAKES_PART:
            continue
        for c in range(min(D, 3)):
            record.impulse[j, c], record.velocity_after[j, c] = p[D * at + c], after[D * at + c]
        if D == 4:
            record.moment[j], record.spin[j] = p[D * at + 3], after[D * at + 3]
        record.friction[j] = mu[at]
        if cones:
            p_t = math.sqrt(record.impulse[j, 1] ** 2 + record.impulse[j, 2] ** 2)
            u_t = math.sqrt(record.velocity_after[j, 1] ** 2 + record.velocity_after[j, 2] ** 2)
            record.state[j] = state_of(p[D * at], mu[at] * p[D * at] - p_t, u_t, scale[at] ** 2, tol * greatest)
        else:
            record.state[j] = state[at]
        at += 1


@bare
def remember(memory, contacts, n, m, found, number, frame, bounded, island, swept, hard, waited, start, p):
    """Keep the impulses and how they changed from those of the step before; a new contact changes by nothing."""
    D = p.size // (frame.shape[0] + bounded.size)
    memory.known[0] = n
    for i in range(n):
        k = found[i]
        memory.key[i, 0], memory.key[i, 1] = contacts.shape_a[k], contacts.shape_b[k]
        memory.key[i, 2] = plain(contacts.feature[k])
        known = 1.0 if start[D * i] > 0.0 else 0.0
        for r in range(3):
            x, y = 0.0, 0.0
            for c in range(min(D, 3)):
                x += frame[i, c, r] * p[D * i + c]
                y += frame[i, c, r] * (p[D * i + c] - start[D * i + c])
            memory.impulse[i, r], memory.trend[i, r] = x, known * y
        memory.moment[i] = p[D * i + 3] if D == 4 else 0.0
        memory.moved[i] = swept[island[i]] != 1
        memory.waited[i] = waited[i] + 1 if hard[island[i]] else 0
    for t in range(bounded.size):
        memory.joint[bounded[t]] = 0.0
    for t in range(m):
        memory.joint[number[t]] = p[D * (n + t)]


@bare
def worst_of(n, cones, found, mu, shift, scale, p, u, wrong):
    """The contact whose velocity is most wrong, -1 where none is. `wrong`: that velocity, |p - P_K(p - ρ ũ)| / ρ with
    ρ = s², and the greatest share of a friction impulse above μ p_n. Where the law is no cone's, of normals alone."""
    wrong[0] = wrong[1] = 0.0
    if n == 0:
        return -1
    D, worst = p.size // mu.size, -1
    for i in range(n):
        at, s = D * i, scale[i]
        if cones:
            u_2, p_2 = (u[at + 2], p[at + 2]) if D > 2 else (0.0, 0.0)
            far = cone_distance(mu[i], shift[i], p[at] / s, p[at + 1] / s, p_2 / s, s * u[at], s * u[at + 1], s * u_2)
            friction, most = math.sqrt(p[at + 1] ** 2 + p_2**2), mu[i] * max(p[at], 0.0)
            if friction > most:
                wrong[1] = max(wrong[1], (friction - most) / friction)
        else:
            far = (p[at] / s - max(p[at] / s - s * u[at], 0.0)) ** 2
        far = math.sqrt(far) / s
        if far > wrong[0] or not far < np.inf:
            wrong[0], worst = far, found[i]
    return worst


@bare
def move_and_note(bodies, state, h, v, shares, record, k):
    """`move`, `arrive` and `note_body` where nothing comes between, body by body: arrays go through the cache once."""
    for b in range(v.shape[0]):
        move_body(bodies.kind[b], state, b, h, v[b], shares[b])
        arrive_body(bodies, state, b, v[b])
        note_body(record, k, b, state)


@bare
def note_body(record, k, b, state):
    """The state of a body at the end."""
    for c in range(3):
        record.position[k, b, c] = state.position[b, c]
    for c in range(4):
        record.quaternion[k, b, c] = state.quaternion[b, c]
    for c in range(6):
        record.velocity[k, b, c] = state.velocity[b, c]


@bare
def note(record, k, count, residual, wrong, joint_impulse):
    """What the solve was like."""
    record.contact_start[k + 1] = record.contact_start[k] + count[FOUND]
    record.iterations[k], record.method[k], record.status[k] = count[ITERATIONS], count[METHOD], count[STATUS]
    record.residual[k], record.velocity_error[k], record.force_error[k] = residual, wrong[0], wrong[1]
    for i in range(joint_impulse.size):
        record.joint_impulse[k, i] = joint_impulse[i]
