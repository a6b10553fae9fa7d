"""Impacts within a step, under Newton's rule: one round after the other, and no energy out of friction.

Bodies that touch hand an impact on: the first of five balls in a row moves the second, that the third. Newton's rule
for all contacts at once, u⁺ = -e u with u = 0 where balls only touch, makes four of them fly together. So what each
contact is to have after the step is found in rounds, along the normals: all contacts that approach, and would close in
the step, answer by -e u with the others left out; then those that approach now; until none does faster than the rest
speed. The velocity r + τ of a contact at the end takes the place of -e u in its law

    0 <= p_n  ⊥  u⁺ - r - λ τ >= 0                                                                                 (1)

with r the velocity by which an overlap parts, 0 without one (`parting` of friction/terms.py).

The solve of the step, with friction and all other contacts, starts from there; without friction and forces its answer
is that of the rounds. Contacts that touch, or nearly touch, so give the same.

With friction, Newton's rule may create energy [1]. The kinetic energy that the impulses p of an island bring is

    Σ p · ½ (u + u⁺),                                                                                              (2)

u at the start of the step. It is never positive for λ = 0 and r = 0. Where it is positive for λ = 1 the island is
solved again, with the greatest λ that two more solves find by which it is not: for λ = ½, and for less than where a
straight line between the two predicts no gain. (2) is convex in λ where the same contacts push, but bodies that move by
a share other than ½ gain from their weight, too. A gain that is next to nothing costs next to nothing.

[1] Kane, Levinson, Dynamics: Theory and Applications, McGraw-Hill 1985.
"""

from __future__ import annotations

from stickslip.dynamics.contact_rows import contact_velocity
from stickslip.engine.places import felt
from stickslip.friction.terms import parting
from stickslip.jit import bare

ROUNDS = 50  # at most
PASSES, EXACT = 50, 1e-12  # of Gauss–Seidel over the normals of a round, and the share of the fastest that ends it
NOTICED = 1e-9  # share of Σ |p · u| below which (2) is rounding
CLOSER = 0.9  # share of the way from λ = ½ to the λ at which a straight line predicts no gain
FURTHER = 4.0  # times the way down to that from λ = 1, at most
WHOLE, HALF, BETWEEN, DECIDED = range(4)  # which λ of an island is being tried
OUT = -1.0  # a contact that has no τ, or takes no part in a round


@bare
def hand_on(
    n, contacts, found, material, restitution, law, body, J, moving, sign, start, place, G, own, free, step, room, z
):  # fmt: skip
    """Fill τ of (1), `step.target`, for the contacts that bounce, or OUT. Returns how many there are.

    `step` is the Law of the step, in which those that bounce by themselves are marked already; `room` (D nb,) is filled
    with anything. Where one round is enough, Newton's rule as it stands is left alone.
    """
    D, bounced = step.q.size // step.mu.size, 0
    for i in range(n):
        step.target[i] = OUT
        if step.restitution[i] > 0.0:
            parts = parting(law, contacts.gap[found[i]])
            step.target[i] = max(-step.restitution[i] * step.before[D * i] - parts, 0.0)
            bounced += 1
    if bounced == 0:
        return 0
    for i in range(n):
        clear(start, place, i, z)
    made = 0
    while made < ROUNDS:
        fastest = 0.0
        for i in range(n):
            done = felt(start, place, G, i, 0, z)
            u, k, room[D * i + 1] = step.before[D * i] + done, found[i], OUT
            if u >= -law.rest_speed:
                continue
            falls = contact_velocity(body, J, moving, i, 0, free) + step.runs[D * i] - step.before[D * i]
            if step.restitution[i] > 0.0 or contacts.gap[k] + law.h * (u + falls) < 0.0:  # what bounced has closed
                e = restitution[material[contacts.shape_a[k]], material[contacts.shape_b[k]]]
                room[D * i], room[D * i + 1] = done - (1.0 + e) * u, 0.0
                fastest = max(fastest, -u)
                if e > 0.0 and step.restitution[i] == 0.0:
                    step.restitution[i] = e
                    bounced += 1
        if fastest == 0.0:
            break
        answer_round(n, D, sign, start, place, G, own, step.compliance, EXACT * fastest, room, z)
        made += 1
    for i in range(n):
        if made > 1 and step.restitution[i] > 0.0:
            answer = step.target[i]  # what its law has now, OUT where that is a gap term or spring
            parts = parting(law, contacts.gap[found[i]])
            step.target[i] = max(step.before[D * i] + felt(start, place, G, i, 0, z) - parts, 0.0)
            if answer == OUT:
                falls = contact_velocity(body, J, moving, i, 0, free) + step.runs[D * i]
                step.q[D * i] = falls - parts - step.target[i]
                own[0, i] -= step.compliance[i]
                step.compliance[i] = 0.0
            else:
                step.q[D * i] += answer - step.target[i]
    for i in range(n):
        clear(start, place, i, z)
    return bounced


@bare
def clear(start, place, i, z):
    for t in range(start[i], start[i + 1]):
        for r in range(6):
            z[place[t], r] = 0.0


@bare
def answer_round(n, D, sign, start, place, G, own, compliance, small, room, z):
    """Impulses along the normals of the contacts of a round, 0 <= p ⊥ G z - w >= 0, with w and p of contact i in
    room[D i] and room[D i + 1]; z is what the impulses of all rounds do."""
    for _ in range(PASSES):
        moved = 0.0
        for i in range(n):
            p, response = room[D * i + 1], own[0, i] - compliance[i]
            if p == OUT or not response > 0.0:
                continue
            step = max(p + (room[D * i] - felt(start, place, G, i, 0, z)) / response, 0.0) - p
            room[D * i + 1] = p + step
            moved = max(moved, abs(step) * response)
            for t in range(start[i], start[i + 1]):
                b = place[t]
                for r in range(6):
                    z[b, r] += sign[b] * G[t, 0, r] * step
        if moved <= small:
            break


@bare
def lowers(
    member, n, island, body, J, moving, start, place, G, free, target, before, runs, p, z, tried, share, first, q
):  # fmt: skip
    """Does the answer of an island that bounces gain energy, or would a better λ be worth another solve? Then q is that
    of the next λ; z must be that of the impulses p."""
    if tried[island] == DECIDED:
        return False
    D, gain, most, bounces = q.size // target.size, 0.0, 0.0, False
    for m in range(member.size):
        i = member[m]
        if i >= n:
            continue
        bounces = bounces or target[i] > 0.0
        for c in range(D):
            after = contact_velocity(body, J, moving, i, c, free) + (felt(start, place, G, i, c, z) if c < 3 else 0.0)
            after += runs[D * i + c]
            gain += 0.5 * p[D * i + c] * (before[D * i + c] + after)
            most += abs(p[D * i + c]) * (abs(before[D * i + c]) + abs(after))
    if not bounces:
        tried[island] = DECIDED
        return False
    gained, at, old = gain > NOTICED * most, tried[island], share[island]
    if at == WHOLE and gained:
        first[island], share[island], tried[island] = gain, 0.5, HALF
    elif at == HALF and gained:
        share[island], tried[island] = 0.0, DECIDED
    elif at == HALF and first[island] > gain:
        down = 0.5 * first[island] / (first[island] - gain)
        share[island], tried[island] = 1.0 - min(FURTHER * down, 0.5 - CLOSER * (0.5 - down)), BETWEEN
    elif at == BETWEEN and gained:
        share[island], tried[island] = 0.5, DECIDED
    if share[island] == old:
        tried[island] = DECIDED
        return False
    for m in range(member.size):
        if member[m] < n and target[member[m]] > 0.0:
            q[D * member[m]] -= (share[island] - old) * target[member[m]]
    return True
