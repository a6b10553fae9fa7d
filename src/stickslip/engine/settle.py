"""How an island is solved in compiled code: sweeps, and where they are slow corrections of all its blocks at once.

One sweep is made even where the start is good enough: errors within tol, left alone, would add up from step to step.
After SLOW of them all blocks are corrected at once, as long as that does more, in turn by

    one body   to second order, in the six velocities of a body that alone is on up to eight contacts
               (engine/one_body.py); after one sweep, and once
    bodies     to first order, in time linear in the blocks (engine/correct.py); not for islands with joints
    Newton     dense and to second order (engine/newton.py), for up to MOST_ROWS; after one sweep where there are few
               rows or joints, else after LONG

and sweeps alone are abandoned once their rate predicts too many more. What is left then is solved outside of the loop
(engine/outside.py), unless the island is large and its residual what the run accepts: an effort without end for the
last digits of a heap, whose rigid contacts have no stable solution that anyone has found, would help nobody. A residual
is that of all masses together: where one that is accepted leaves velocities by which a light, fast body would go
notably into another (engine/apart.py), sweeps go on for a while. Two sorts
are another matter. Large islands with many contacts a body, whose factors over the bodies fill little, a wall or a
tower of Jenga, are left to Newton's method over the bodies after EARLY sweeps: ten of its steps do more than a hundred
sweeps, in the same time. And where all contacts of an island last, it is tried outside after some steps, and more and
more seldom as that fails.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.ahead import NOTABLE
from stickslip.engine.apart import carried_off
from stickslip.engine.correct import PACKED, TOO_DEAR, correct_bodies
from stickslip.engine.newton import MOST_ROWS, newton
from stickslip.engine.one_body import find_loads, one_place
from stickslip.engine.rows import ACTIVE, CORRECTION, SWEEPS
from stickslip.engine.slabs import cut, judge, put_back, put_in_order, respond_to, sweep_over
from stickslip.engine.sweep import into_cone, judged, respond, start_at, strained
from stickslip.jit import bare, inlined, kernel
from stickslip.solvers.nsgs import within

CLOSER = 0.7  # share of tol that is aimed for: what is left adds up from step to step
SLOW, LONG = 2, 8  # sweeps after which all blocks are corrected at once by bodies, and by Newton's method
ROUNDED = 8  # sweeps after which z, which they change bit by bit, is computed anew
OMEGA = 1.3  # over-relaxation of sweeps over large islands, from the fifth on
LONGER = 4  # times the effort, where a residual that is accepted hides velocities that carry bodies into each other
EARLY = 8  # sweeps after which a large island with many contacts a body is left to Newton's method over its bodies
AGAIN = (2, 16, 128, 1024, 8192)  # steps after which a large island that keeps its contacts is tried outside
IN_A_ROW = 3  # steps, each time
MOST_TRIED = 600  # blocks; of more it would take seconds
FEW_ROWS = 15  # up to which Newton's method comes first
BY_BODIES, BY_NEWTON, BY_SWEEPS = range(3)
UNSOLVED, TO_TOL, TO_ACCEPT = range(3)  # how far an island was solved


@inlined
def settle(state, work, rules, island):
    """Solve an island from a state. Returns sweeps, residual, how far that is solved, and the method."""
    rows, law, answer, n, tol = work.rows, work.law, work.answer, work.count[ACTIVE], CLOSER * rules.tol
    begin, end = work.islands.start[island], work.islands.start[island + 1]
    member, slabs = work.islands.member[begin:end], 0
    if work.islands.stiff[island] == 0:
        slabs = cut(
            member, rows.body, work.free, state.position, work.bodies.gravity, work.slabs.order, work.slabs.start,
            work.slabs.colour, work.slabs.bins, work.slabs.bin,
        )  # fmt: skip
    if slabs > 0:
        put_in_order(work, slabs, island)
        rows, law, answer = work.slabs.rows, work.slabs.law, work.slabs.answer
        member = work.slabs.member[: end - begin]
    p, z = answer.p, answer.z
    soft = law.compliance_tangent if rules.relaxes_friction else law.compliance_tangent[:0]
    body = -1
    if rows.G.shape[1] == 3 and work.islands.stiff[island] == 0:
        body = one_place(member, n, rows.start, rows.place)
    if any_of(member, n, answer.moved):
        start_well(work, rules, rows, law, answer, member, slabs, soft, tol)
    respond_to(work, rules, rows, law, answer, member, slabs, soft)
    patience, large = rules.patience if member.size <= rules.few else rules.long_patience, member.size > rules.exact
    size = row_count(member, n, rows.G.shape[1])
    at_once = work.islands.stiff[island] == 1 or size <= FEW_ROWS or body >= 0
    stage = BY_NEWTON if at_once and size <= MOST_ROWS else BY_SWEEPS if at_once else BY_BODIES
    slow_after = 1 if at_once else SLOW
    promising, due, last, before, method = 0.0, 1, 0, np.inf, SWEEPS
    error, solved, made, told, packed = np.inf, False, 0, 0, False
    while made < rules.sweeps:
        omega = OMEGA if large and made >= 4 else 1.0
        made += 1
        change = sweep_over(work, rules, rows, law, answer, member, slabs, soft, omega)
        if not (made == due or made == rules.sweeps or made == rules.effort or not promising < change < np.inf):
            continue
        if made - told >= ROUNDED:
            told = made
            respond_to(work, rules, rows, law, answer, member, slabs, soft)
        error, solved = judge(work, rules, rows, law, answer, member, slabs, soft, tol)
        helped = made < slow_after
        while not (solved or helped) and stage < BY_SWEEPS and (at_once or stage == BY_BODIES or made >= LONG):
            method, told = CORRECTION, made
            if body >= 0:
                error, solved = find_loads(
                    member, body, n, rows.start, rows.G, law.compliance, soft, law.mu, law.shift, law.scale, law.lower,
                    law.upper, law.q, rules.associated, work.islands.numbers, work.islands.integers[:6], error, tol,
                    p, answer.u, z,
                )  # fmt: skip
                body = -1
                if solved:
                    break
            if stage == BY_NEWTON:
                error_after, solved = newton(
                    member, n, work.sign, rows.start, rows.place, rows.G, law.compliance, soft, law.mu, law.shift,
                    law.scale, law.lower, law.upper, law.q, size, rules.associated, work.islands.mark,
                    work.islands.numbers, work.islands.integers, error, tol, p, answer.u, z,
                )  # fmt: skip
            else:
                error_after, solved, packed = corrected(
                    member, n, work.sign, rows.start, rows.place, rows.G, law.compliance, soft, law.mu, law.shift,
                    law.scale, law.lower, law.upper, law.q, work.islands.mark, work.islands.label, error, tol, p,
                    answer.u, z,
                )  # fmt: skip
            helped, error = error_after < 0.5 * min(error, before), error_after
            if not helped and (stage == BY_NEWTON or error <= rules.tol):
                break
            if not helped:
                stage = BY_NEWTON if size <= MOST_ROWS else BY_SWEEPS
        hope = patience if last >= 8 else 4 * patience  # the first rate is not much to go by
        goal = rules.accept if large and error > rules.accept else rules.tol
        slow = not helped and last >= 4 and not within(hope, made - last, before, error, goal)
        slow = slow and (made >= rules.effort or not large)
        enough = large and made >= rules.effort and error <= rules.accept
        if enough and slabs == 0 and made < LONGER * rules.effort:
            enough = (
                carried_off(
                    member, n, rows.body, work.bodies.radius, work.width, rules.law.h, law.mu, law.shift, law.scale, p,
                    answer.u,
                )
                <= NOTABLE
            )  # fmt: skip
        enough = enough or (not helped and error <= rules.tol)
        elsewhere = large and packed and not helped and made >= EARLY
        if solved or enough or slow or elsewhere or change == 0.0 or not error < np.inf:
            break
        promising, due = change * tol / error, made + 2 if helped and made >= slow_after else 2 * made
        last, before = made, error
    # Where contacts grip and no impulse does what they ask for, impulses without bound make any residual small.
    grips = method == CORRECTION and error <= rules.tol and not large and strained(member, n, law.scale, law.q, p)
    solved = solved and not grips
    if not (solved or grips) and error <= rules.tol:  # close enough, if not to what was aimed for
        error, solved = judge(work, rules, rows, law, answer, member, slabs, soft, rules.tol)
    far = TO_TOL if solved else UNSOLVED
    if not solved and large and not packed and error <= rules.accept:
        error, solved = judge(work, rules, rows, law, answer, member, slabs, soft, rules.accept)
        far = TO_ACCEPT if solved and not tried_again(member, n, answer.waited) else UNSOLVED
    if slabs > 0:
        put_back(work, island)
    return made, error, far, method


@inlined
def start_well(work, rules, rows, law, answer, member, slabs, soft, tol):
    """The best of p, p + trend and p - trend/2. The second follows a smooth motion. The third is for a contact that
    closed a gap in one step and stopped in the next: it rests with the mean of these impulses, and either of them would
    make it open again."""
    n, best, least = work.count[ACTIVE], 0.0, np.inf
    for share in (0.0, 1.0, -0.5):
        start_at(member, n, law.mu, answer.start, share, answer.trend, answer.p)
        respond_to(work, rules, rows, law, answer, member, slabs, soft)
        error, _ = judge(work, rules, rows, law, answer, member, slabs, soft, tol)
        if error < least:
            best, least = share, error
    start_at(member, n, law.mu, answer.start, best, answer.trend, answer.p)


@bare
def any_of(member, n, flags):
    """Is one of the contacts flagged?"""
    for k in range(member.size):  # noqa: SIM110
        if member[k] < n and flags[member[k]]:
            return True
    return False


@bare
def tried_again(member, n, waited):
    """Is it time to try for tol outside again? All contacts of the island have waited for AGAIN[k] steps, or some more:
    the first stops what had begun to move, the next have the loads of rest."""
    if member.size > MOST_TRIED:
        return False
    least = AGAIN[-1] + IN_A_ROW
    for k in range(member.size):
        if member[k] < n:
            least = min(least, waited[member[k]])
    for k in range(len(AGAIN)):  # noqa: SIM110
        if AGAIN[k] <= least < AGAIN[k] + IN_A_ROW:
            return True
    return False


@bare
def row_count(member, n, d):
    """Rows of the blocks: d of a contact, one of a bounded joint row."""
    rows = 0
    for k in range(member.size):
        rows += d if member[k] < n else 1
    return rows


@kernel
def corrected(
    member, n, sign, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, mark, order, error, tol, p,
    u, z,
):  # fmt: skip
    """Correct all blocks of an island at once by its bodies, if that makes its residual smaller. Returns it, whether it
    is solved, and whether Newton's method over the bodies is worth its while."""
    d = G.shape[1]
    delta, kept = np.zeros((member.size, d)), np.empty((member.size, d))
    kind = correct_bodies(member, start, place, G, compliance, soft, mu, scale, p, u, mark, order, delta)
    if kind == TOO_DEAR:
        return error, False, False
    for k in range(member.size):
        at = d * member[k]
        for c in range(d):
            kept[k, c] = p[at + c]
            p[at + c] += delta[k, c]
        into_cone(mu[member[k]], d, at, p)
    respond(member, n, sign, start, place, G, p, z)
    error_after, solved = judged(
        member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, tol, p, u
    )
    if error_after < error:
        return error_after, solved, kind == PACKED
    for k in range(member.size):
        for c in range(d):
            p[d * member[k] + c] = kept[k, c]
    respond(member, n, sign, start, place, G, p, z)
    return error, False, kind == PACKED
