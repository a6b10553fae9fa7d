"""Large islands, slab by slab: the same sweeps on any number of threads, to the last bit.

Space is cut into slabs across the longest axis that is not that of gravity, so that loads travel within a slab, with
about as many blocks in each. A body is in the slab of its centre, and a block in the first of those of its two bodies.
Blocks of slabs 0, 2, 4, … then share no body, nor do those of 1, 3, 5, …: a sweep goes over the even slabs, all at
once, then over the odd ones, and last over what is left, blocks of bodies so large that they are further apart than two
slabs. How many slabs there are, and so the order of the sweep, depends on the blocks alone. Sums are taken slab by slab
and then in order.

The rows of the island are copied into this order, and its bodies numbered by it, so that a sweep reads memory from one
end to the other, whatever the order in which the scene names its bodies. That costs as much as a sweep or two.

Leader and helpers (engine/team.py) run the same machine code, `work_off`: two compiled copies of one loop need not
round alike.
"""

from __future__ import annotations

import math

from stickslip.engine.rows import ACTIVE, BINS, LARGE, MOST_SLABS
from stickslip.engine.sweep import (
    add_up,
    clear,
    distances,
    find_velocities,
    judged,
    relative,
    respond,
    scaled_error,
    sweep,
)
from stickslip.engine.team import DONE, JOB, add, announce, take, wait_for_others, wait_for_tasks
from stickslip.jit import bare, inlined

THICK = 3.0  # bodies across a slab of a heap as long as wide and high: of thinner ones more sweeps are needed
SWEEP, CLEAR, PUSH, JUDGE, JUDGE_SCALED = range(5)  # what is done in each slab
FIRST, WHAT = JOB, JOB + 1  # places in the post


@bare
def cut(member, body, free, position, gravity, order, start, colour, bins, bin_of):
    """Cut an island of many blocks into slabs. Returns how many there are, 0 where it is too small."""
    if member.size < LARGE:
        return 0
    axis, low, width = long_axis(member, body, free, position, gravity)
    for k in range(BINS):
        bins[k] = 0
    for k in range(member.size):
        for side in range(2):
            b = body[member[k], side]
            bin_of[b] = BINS  # of what is not free
            if free[b]:
                at = (position[b, axis] - low) / width
                bin_of[b] = int(at) if 0.0 <= at < BINS else BINS - 1  # there too what is no number
        i = member[k]
        bins[min(bin_of[body[i, 0]], bin_of[body[i, 1]])] += 1
    along = (member.size / 3.0) ** (1.0 / 3.0)  # bodies, in a cube of them
    slabs, before = min(MOST_SLABS, max(2, int(along / THICK))), 0
    for k in range(BINS):
        here = bins[k]
        bins[k] = before * slabs // member.size
        before += here
    colour[0], colour[1], colour[2], colour[3] = 0, (slabs + 1) // 2, slabs, slabs + 1
    for k in range(slabs + 2):
        start[k] = 0
    for k in range(member.size):
        start[task_of(member[k], body, bin_of, bins, slabs) + 1] += 1
    for k in range(slabs + 1):
        start[k + 1] += start[k]
    for k in range(member.size - 1, -1, -1):  # from behind, so that start[k + 1] ends as the beginning of task k
        at = task_of(member[k], body, bin_of, bins, slabs) + 1
        start[at] -= 1
        order[start[at]] = member[k]
    for k in range(slabs + 1):
        start[k] = start[k + 1]
    start[slabs + 1] = member.size
    return slabs


@bare
def long_axis(member, body, free, position, gravity):
    """The axis across gravity along which the bodies of an island reach furthest, where they begin, and how wide a bin
    is."""
    down = 0
    for r in range(1, 3):
        if abs(gravity[r]) > abs(gravity[down]):
            down = r
    axis, begins, longest = 0, 0.0, -1.0
    for r in range(3):
        low, high = math.inf, -math.inf
        for k in range(member.size):
            for side in range(2):
                b = body[member[k], side]
                if free[b]:
                    low, high = min(low, position[b, r]), max(high, position[b, r])
        if high - low > longest and (r != down or gravity[down] == 0.0):
            axis, begins, longest = r, low, high - low
    return axis, begins, longest / BINS


@bare
def task_of(i, body, bin_of, bins, slabs):
    """The number of the slab of a block in the order of tasks: the even ones, the odd ones, the rest."""
    a, b = bin_of[body[i, 0]], bin_of[body[i, 1]]
    first, last = bins[min(a, b)], bins[max(a, b)] if max(a, b) < BINS else bins[min(a, b)]
    if last > first + 1:
        return slabs
    return first // 2 if first % 2 == 0 else (slabs + 1) // 2 + first // 2


@inlined
def put_in_order(work, slabs, island):
    """The rows of an island that is cut, in the order of its slabs."""
    total = work.islands.start[island + 1] - work.islands.start[island]
    number_bodies(total, work.rows.start, work.rows.place, work.slabs)
    copy_in_order(total, work.rows, work.law, work.answer, work.slabs)


@bare
def number_bodies(total, start, place, to):
    """Bodies by their first block in the order of slabs, and the places of all blocks by these numbers."""
    order, number, new_start, new_place = to.order, to.bin, to.rows.start, to.rows.place
    for k in range(total):
        for t in range(start[order[k]], start[order[k] + 1]):
            number[place[t]] = -1
    bodies, at = 0, 0
    for k in range(total):
        new_start[k] = at
        for t in range(start[order[k]], start[order[k] + 1]):
            b = place[t]
            if number[b] < 0:
                number[b], to.home[bodies] = bodies, b
                bodies += 1
            new_place[at] = number[b]
            at += 1
    new_start[total] = at


@bare
def copy_in_order(total, rows, law, answer, to):
    D, new, found = law.q.size // law.mu.size, to.law, to.answer
    for k in range(total):
        i = to.order[k]
        t = rows.start[i]
        for at in range(to.rows.start[k], to.rows.start[k + 1]):
            for c in range(rows.G.shape[1]):
                for r in range(6):
                    to.rows.G[at, c, r] = rows.G[t, c, r]
            t += 1
        for c in range(D):
            new.q[D * k + c], found.p[D * k + c] = law.q[D * i + c], answer.p[D * i + c]
            found.start[D * k + c], found.trend[D * k + c] = answer.start[D * i + c], answer.trend[D * i + c]
        new.compliance[k], new.compliance_tangent[k] = law.compliance[i], law.compliance_tangent[i]
        new.mu[k], new.shift[k], new.scale[k] = law.mu[i], law.shift[i], law.scale[i]
        found.moved[k] = answer.moved[i]
        for c in range(law.own.shape[0]):
            new.own[c, k] = law.own[c, i]
        if law.inverse.shape[0] > 0:
            for c in range(9):
                new.inverse[k, c] = law.inverse[i, c]


@inlined
def put_back(work, island):
    """What the solve of an island that is cut has found."""
    copy_back(work.islands.start[island + 1] - work.islands.start[island], work.slabs, work.answer)


@bare
def copy_back(total, slabs, answer):
    order, rows, found, bodies = slabs.order, slabs.rows, slabs.answer, 0
    D = found.p.size // order.size
    for k in range(total):
        i = order[k]
        for c in range(D):
            answer.p[D * i + c], answer.u[D * i + c] = found.p[D * k + c], found.u[D * k + c]
        for t in range(rows.start[k], rows.start[k + 1]):
            bodies = max(bodies, rows.place[t] + 1)
    for b in range(bodies):
        for r in range(6):
            answer.z[slabs.home[b], r] = found.z[b, r]


@bare
def work_off(slabs, n, sign, rules):
    """Do tasks of the job that is posted until there are none left."""
    post, sums, rows, law, answer = slabs.post, slabs.sums, slabs.rows, slabs.law, slabs.answer
    start, place, G, p, u, z = rows.start, rows.place, rows.G, answer.p, answer.u, answer.z
    soft = law.compliance_tangent if rules.relaxes_friction else law.compliance_tangent[:0]
    while True:
        k = take(post)
        if k < 0:
            return
        k += post[FIRST]
        member, what = slabs.member[slabs.start[k] : slabs.start[k + 1]], post[WHAT]
        if what == SWEEP:
            change = sweep(
                member, n, sign, start, place, G, law.q, law.compliance, soft, law.mu, law.own, law.inverse, law.lower,
                law.upper, rules.associated, slabs.omega[0], p, z,
            )  # fmt: skip
            sums[k, 0] = change * change
        elif what == CLEAR:
            clear(member, start, place, z)
        elif what == PUSH:
            add_up(member, n, sign, start, place, G, p, z)
        else:
            if what == JUDGE:
                find_velocities(member, n, start, place, G, law.compliance, soft, law.q, z, p, u)
            sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3] = distances(
                member, n, what == JUDGE_SCALED, law.mu, law.shift, law.scale, law.lower, law.upper, law.q, p, u
            )
        add(post, DONE, 1)


@inlined
def help_out(work, rules):
    """What a helper does for as long as the leader has work."""
    while wait_for_tasks(work.slabs.post):
        work_off(work.slabs, work.count[ACTIVE], work.sign, rules)


@bare
def in_slabs(what, slabs, n, sign, rules):
    """Do something in all slabs, in those of a colour at once. Returns the sums, each in the order of the slabs."""
    colour, post, sums = slabs.colour, slabs.post, slabs.sums
    for c in range(3):
        tasks = colour[c + 1] - colour[c]
        post[FIRST], post[WHAT] = colour[c], what
        announce(post, tasks)
        work_off(slabs, n, sign, rules)
        wait_for_others(post, tasks)
    x, y, v, w = 0.0, 0.0, 0.0, 0.0
    for k in range(colour[3]):
        x, y, v, w = x + sums[k, 0], y + sums[k, 1], v + sums[k, 2], w + sums[k, 3]
    return x, y, v, w


@inlined
def everywhere(what, work, rules):
    return in_slabs(what, work.slabs, work.count[ACTIVE], work.sign, rules)


@inlined
def sweep_over(work, rules, rows, law, answer, member, slabs, soft, omega):
    """`sweep` of an island, in so many slabs, or as it is where there are none."""
    if slabs > 0:
        work.slabs.omega[0] = omega
        return math.sqrt(everywhere(SWEEP, work, rules)[0])
    return sweep(
        member, work.count[ACTIVE], work.sign, rows.start, rows.place, rows.G, law.q, law.compliance, soft, law.mu,
        law.own, law.inverse, law.lower, law.upper, rules.associated, omega, answer.p, answer.z,
    )  # fmt: skip


@inlined
def respond_to(work, rules, rows, law, answer, member, slabs, soft):
    """`respond`, likewise."""
    if slabs > 0:
        everywhere(CLEAR, work, rules)
        everywhere(PUSH, work, rules)
    else:
        respond(member, work.count[ACTIVE], work.sign, rows.start, rows.place, rows.G, answer.p, answer.z)


@inlined
def judge(work, rules, rows, law, answer, member, slabs, soft, tol):
    """`judged`, likewise."""
    if slabs > 0:
        far, p_p, u_u, q_q = everywhere(JUDGE, work, rules)
        error, solved = relative(far, p_p, u_u, q_q), False
        if error <= tol:
            far, p_p, u_u, q_q = everywhere(JUDGE_SCALED, work, rules)
            solved = scaled_error(far, p_p, u_u, q_q) <= math.sqrt(tol)
        return error, solved
    return judged(
        member, work.count[ACTIVE], rows.start, rows.place, rows.G, law.compliance, soft, law.mu, law.shift, law.scale,
        law.lower, law.upper, law.q, answer.z, tol, answer.p, answer.u,
    )  # fmt: skip
