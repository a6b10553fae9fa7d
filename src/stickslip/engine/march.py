"""The loop: many steps in one compiled call, for every scene.

    prepare        rows and law of the step                              engine/prepare.py
    solve          island by island: compiled sweeps (engine/sweep.py), or
                   outside of the loop, by any solver of the library     engine/outside.py
    finish         velocities, positions, record                         engine/finish.py

Contacts are looked for as far as bodies may come at the speed they have. One that is hit in this step may come further,
into what was no part of it: then the step is made again, with what that body meets on its way. So it is where bodies
that turn would end in each other (engine/ahead.py), and where a body is hit that was taken to roll (engine/rims.py).

Where an island must be solved outside (a formulation that is no cone problem, a solver of the user's, sweeps that are
too slow) the loop returns, and is called again with its impulses in place. It also returns where friction is a function
of the state (scene/friction_law.py), once a step is prepared, and where joints come apart. So compiled code that is
seldom needed is no part of the loop, and every formulation takes the same road.
"""

from __future__ import annotations

from enum import IntEnum

from stickslip.collision.broadphase import find_contacts
from stickslip.dynamics.held import row_rate, set_out, try_to_fasten
from stickslip.dynamics.motion import MEAN, comes_further, move
from stickslip.engine.ahead import MOST_LOOKS, note_missed, set_off, turns_notably
from stickslip.engine.finish import end_velocities, find_shares, finish
from stickslip.engine.impacts import lowers
from stickslip.engine.prepare import prepare
from stickslip.engine.rows import (
    ACTIVE,
    BOUNCED,
    BOUNDED,
    FOUND,
    ISLAND,
    ISLANDS,
    ITERATIONS,
    LIMITS,
    LOOKS,
    METHOD,
    MISSED,
    NEEDED,
    SEEN,
    STATUS,
    TRIES,
)
from stickslip.engine.settle import TO_ACCEPT, TO_TOL, UNSOLVED, settle
from stickslip.friction.terms import NOTHING
from stickslip.jit import bare, inlined
from stickslip.solvers.status import SOLVED, Status


class Ended(IntEnum):
    """Why the loop returned."""

    DONE, NO_ROOM, OUTSIDE, FULL, ASKS, LOOSE = range(6)


DONE, NO_ROOM, OUTSIDE, FULL, ASKS, LOOSE = (int(ended) for ended in Ended)
INEXACT = int(Status.INEXACT)
MOST_TRIES = 3  # in which bodies that are hit look for what they meet on their way
MORE_TRIES, FEW = 16, 64  # the same in steps of few contacts: balls in a row hit each other one by one
# Instead of an island to go on from: the step has not begun; prepare it, and no more; help another thread
FRESH, LOOK, HELP = -1, -2, -3


@bare
def march(state, rules, work, memory, record, first, island):
    """Steps from number `first` of the record until that is full or one needs the outside; the first goes on from
    `island`, unless that is FRESH or LOOK. Returns the steps in the record and why it ended."""
    count, looks = work.count, island == LOOK
    for k in range(first, record.residual.size):
        if island < 0:
            if count[TRIES] > 0:
                work.bodies.further[:] = 0.0
            work.stopped[:] = False
            count[TRIES] = count[LOOKS] = count[MISSED] = 0
            count[LIMITS], island = looks, FRESH
        while True:
            tried = False
            if island == FRESH:
                if not prepare(state, rules, work, memory):
                    return k, NO_ROOM
                if looks:
                    return k, DONE
                if record.contact_start[k] + count[FOUND] > record.gap.size:
                    return k, FULL
                count[ITERATIONS] = count[METHOD] = count[STATUS] = 0
                work.residual[0] = 0.0
                island = 0
                if rules.asks and count[ISLANDS] > 0:
                    return k, ASKS
            for i in range(island, count[ISLANDS]):
                count[ISLAND] = i
                if not rules.swept:
                    return k, OUTSIDE
                while True:
                    sweeps, error, far, method = settle(state, work, rules, i)
                    work.islands.swept[i], work.islands.hard[i] = sweeps, far != TO_TOL
                    count[ITERATIONS] += sweeps
                    count[METHOD] = max(count[METHOD], method)
                    if far == UNSOLVED:
                        return k, OUTSIDE
                    if count[BOUNCED] == 0 or not once_more(work, i):
                        break
                if far == TO_ACCEPT and count[STATUS] == SOLVED:
                    count[STATUS] = INEXACT
                work.residual[0] = max(work.residual[0], error)
            island = FRESH
            end_velocities(work)
            if count[TRIES] < (MORE_TRIES if count[ACTIVE] <= FEW else MOST_TRIES) and any_comes_further(
                count[ACTIVE], work.rows.body, work.held.wanted.size > 0, work.bodies, rules.law.h, work.answer.v
            ):
                count[TRIES] += 1
                if find_contacts(state, work.bodies.reach, work.collision, work.ahead) > count[SEEN]:
                    continue  # once more, with what is met on the way
            find_shares(state, rules, work)
            if any_stops(count[ACTIVE], work.rows.body, work.free, work.law.rolls, work.share, work.stopped):
                continue  # once more, with what is hit
            if (
                count[LOOKS] < MOST_LOOKS
                and rules.law.stabilised != NOTHING
                and count[FOUND] > 0
                and turns_notably(work.bodies, work.width, rules.law.h, work.answer.v)
            ):
                tried = work.held.wanted.size > 0
                if ends_in_more(state, rules, work):
                    continue  # once more, with that
            if (
                count[LIMITS] == 1
                or work.held.bounded.size == 0
                or not passes_a_limit(
                    work.held.rows, work.held.bounded, work.rows.number, count[BOUNDED], work.answer.v
                )
            ):
                break
            count[LIMITS] = 1  # once more, with all limits
        if not finish(state, rules, work, memory, record, k, tried):
            return k, NO_ROOM if count[NEEDED] > work.rows.place.size else LOOSE
    return record.residual.size, DONE


@inlined
def ends_in_more(state, rules, work):
    """Try the step: does it end in something that did not take part? What that is joins what was missed."""
    count, h, held, joints = work.count, rules.law.h, work.held, work.held.wanted.size > 0
    count[LOOKS] += 1
    set_off(state, work.trial, work.gain)
    if joints:
        set_out(held, state, h, work.answer.v, work.share, work.bodies.turned)
    move(work.bodies, work.trial, h, work.answer.v, work.share)
    if joints and not try_to_fasten(held, work.trial):
        count[LOOKS] = MOST_LOOKS  # the step may end elsewhere
    seen, missed = find_contacts(work.trial, work.gain, work.collision, work.ahead), count[MISSED]
    count[MISSED] = note_missed(
        state, work.trial, rules.law, work.answer.v, work.width, work.surfaces, work.contacts, count[FOUND], work.ahead,
        seen, missed, work.missed,
    )  # fmt: skip
    return count[MISSED] > missed


@bare
def any_comes_further(n, body, joints, bodies, h, v):
    """Does a body that contacts, or joints, have pushed come further than contacts were looked for?"""
    more = False
    for i in range(n):
        for side in range(2):
            more = comes_further(bodies, h, v, body[i, side]) or more
    if joints:
        for b in range(v.shape[0]):
            more = comes_further(bodies, h, v, b) or more
    return more


@bare
def any_stops(n, body, free, rolls, share, stopped):
    """Which bodies do not move as what rolls does, of those that are taken to roll?"""
    more = False
    for i in range(n):
        for side in range(2):
            b = body[i, side]
            if rolls[i] and free[b] and share[b] != MEAN:
                stopped[b] = more = True
    return more


@bare
def once_more(work, island):
    """Must an island that bounces be solved again, lest it gain energy (engine/impacts.py)?"""
    rows, law, answer, islands = work.rows, work.law, work.answer, work.islands
    return lowers(
        islands.member[islands.start[island] : islands.start[island + 1]], work.count[ACTIVE], island, rows.body,
        rows.jacobian, work.moving, rows.start, rows.place, rows.G, answer.free, law.target, law.before, law.runs,
        answer.p, answer.z, islands.tried, islands.share, islands.first, law.q,
    )  # fmt: skip


@bare
def passes_a_limit(joints, bounded, number, m, v):
    """Does the step carry a joint past a limit that did not take part?"""
    t = 0
    for at in range(bounded.size):
        i = bounded[at]
        if t < m and number[t] == i:
            t += 1
        elif row_rate(joints, i, v) + joints.bias[i] < 0.0:
            return True
    return False
