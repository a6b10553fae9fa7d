"""From a state to the rows of a step and the law they obey.

free motion    where forces, gyroscopic terms, efforts and joints would take the bodies; what motors want
look           what touches, and which contacts take part (friction/terms.py)
rows           J of each contact, and its G: J L, through joints where there are some
recall         the impulses of the step before, and what rolls on its rim (engine/rims.py)
law            d, ε, μ of each contact, W_ii of each block
islands        blocks that hang together through bodies that move
"""

from __future__ import annotations

import math

from stickslip.collision.broadphase import find_contacts
from stickslip.collision.contacts import AT_THE_END, plain, put_in
from stickslip.dynamics.articulated import half_substitute
from stickslip.dynamics.contact_rows import contact_velocity, fill_frame, fill_side, weigh
from stickslip.dynamics.held import hold, rates, row_rate, run_motors
from stickslip.dynamics.joints import asked, is_limit
from stickslip.dynamics.motion import free_motion, orient, orient_all
from stickslip.dynamics.taut import slow
from stickslip.engine.impacts import WHOLE, hand_on
from stickslip.engine.rims import roll_rims
from stickslip.engine.rows import ACTIVE, BOUNCED, BOUNDED, FOUND, ISLANDS, LIMITS, MISSED, NEEDED, SEEN
from stickslip.friction.terms import (
    GAP,
    NOTHING,
    TAKES_PART,
    bounces,
    friction_of,
    normal_terms,
    part,
    slip_of,
    tangent_terms,
)
from stickslip.jit import bare, inlined
from stickslip.solvers.nsgs import invert_blocks

HELD = 1e-12  # share of the response without joints below which a row is held by them
FAR = 3.0  # a limit takes part where this many steps at the joint's speed, or that of the step before, would reach it


@inlined
def prepare(state, rules, work, memory):
    """Fill the rows, law and answer of the step from `state`. False where there is not enough room; NEEDED says how
    much."""
    count, h, held, rows, law, answer = work.count, rules.law.h, work.held, work.rows, work.law, work.answer
    contacts, surfaces, bodies = work.contacts, work.surfaces, work.bodies
    free_motion(bodies, state, h)
    if held.wanted.size > 0:
        orient_all(bodies, state)
        slow(held.added, bodies, h)
        run_motors(held, h, bodies.inverse_mass, bodies.inverse, bodies.v)
    if held.wanted.size > 0:  # without joints answer.free and answer.v are bodies.v
        copy(bodies.v, answer.free)
        hold_free(held, answer.free)
        copy(answer.free, answer.v)
    count[SEEN] = find_contacts(state, bodies.reach, work.collision, contacts)
    found = count[SEEN]
    if count[MISSED] > 0 and found <= contacts.gap.size:
        found = put_in(work.missed, count[MISSED], contacts, found)
    count[FOUND] = found
    if found > contacts.gap.size:
        return False
    n = choose(
        surfaces.body, surfaces.material, surfaces.restitution, state, rules.law, contacts, found, answer.free,
        rows.part, rows.found,
    )  # fmt: skip
    count[ACTIVE] = n
    fill_rows(
        n, rows.found, contacts.shape_a, contacts.shape_b, contacts.normal, contacts.point, surfaces.body,
        state.position, bodies.planar, rows.body, rows.frame, rows.jacobian,
    )  # fmt: skip
    orient_touched(n, rows.body, work.free, bodies, state)
    m = 0
    if held.bounded.size > 0:
        m = fill_bounded(
            held.rows, held.bounded, state.velocity, answer.free, count[LIMITS] == 1, n, rows.number, rows.body,
            rows.jacobian,
        )  # fmt: skip
    count[BOUNDED] = m
    recall(
        n, m, memory, contacts, rows.found, rows.number, rows.frame, answer.known, answer.moved, answer.waited,
        answer.start, answer.trend, answer.p,
    )  # fmt: skip
    rolling = not rules.euler and rules.law.stabilised == GAP
    roll_rims(
        n, rolling, work.free, work.stopped, work.collision, contacts, rows, state, rules.law, answer.start, law.rolls,
        law.runs,
    )  # fmt: skip
    count[NEEDED] = measure(n + m, work.free, held.tree.node, held.tree.path, rows.body)
    if count[NEEDED] > rows.place.size:
        return False
    fill_places(
        n, m, work.free, bodies.root_mass, bodies.root, held, work.sign, rows.body, rows.jacobian, rows.start,
        rows.place, rows.G,
    )  # fmt: skip
    contact_law(
        n, work.moving, surfaces, state.velocity, rules.law, rules.associated, contacts, rows, answer.free, held.bent,
        law,
    )  # fmt: skip
    if m > 0:
        bounded_law(n, m, held.rows, rows.number, rules.law, answer.free, law.q, law.compliance, law.lower, law.upper)
    if held.wanted.size > 0:
        excuse(n, rows.jacobian, law.q)
    soft = law.compliance_tangent if rules.relaxes_friction else law.compliance_tangent[:0]
    own_blocks(
        n, m, work.sign, rows.start, rows.place, rows.G, law.compliance, soft, law.mu, law.own, law.inverse, law.scale
    )  # fmt: skip
    count[BOUNCED] = 0
    if rules.law.answers and any_bounces(n, law.restitution):
        count[BOUNCED] = hand_on(
            n, contacts, rows.found, surfaces.material, surfaces.restitution, rules.law, rows.body, rows.jacobian,
            work.moving, work.sign, rows.start, rows.place, rows.G, law.own, answer.free, law, answer.u, answer.z,
        )  # fmt: skip
        invert_again(n, law.own, law.mu, law.inverse)
        for i in range(n + m):
            work.islands.tried[i], work.islands.share[i] = WHOLE, 1.0
    count[ISLANDS] = part_islands(n + m, work.free, held.tree.group, rows.body, work.islands)
    return True


@bare
def copy(v, image):
    for b in range(v.shape[0]):
        for r in range(6):
            image[b, r] = v[b, r]


@bare
def hold_free(held, free):
    """Velocities with joints but without contacts; λ of the bilateral rows is theirs."""
    for i in range(held.impulse.size):
        held.impulse[i] = 0.0
    rates(held, free, True)
    hold(held, free, held.impulse)


@bare
def choose(shape_body, material, restitution, state, law, contacts, found, free, parts, active):
    """Which contacts take part; those left out are recorded but have no rows. Returns how many do."""
    n = 0
    for i in range(found):
        a, b = contacts.shape_a[i], contacts.shape_b[i]
        e, bouncing = restitution[material[a], material[b]], False
        if e > 0.0 and law.stabilised == NOTHING:  # elsewhere all take part
            x, normal, body_a, body_b = contacts.point[i], contacts.normal[i], shape_body[a], shape_body[b]
            u_n = approach(x, normal, state.position, state.velocity, body_a, body_b)
            u_f = approach(x, normal, state.position, free, body_a, body_b)
            bouncing = bounces(law, contacts.gap[i], e, u_n, u_f)
        parts[i] = part(law, contacts.gap[i], bouncing)
        if parts[i] == TAKES_PART:
            active[n] = i
            n += 1
    return n


@bare
def approach(x, n, position, velocity, a, b):
    """The velocity along n of the point x of body a relative to that of body b."""
    return along(x, n, position[a], velocity[a]) - along(x, n, position[b], velocity[b])


@bare
def along(x, n, centre, v):
    """The velocity along n of the point x of a body."""
    r_x, r_y, r_z = x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]
    return (
        n[0] * (v[0] + v[4] * r_z - v[5] * r_y)
        + n[1] * (v[1] + v[5] * r_x - v[3] * r_z)
        + n[2] * (v[2] + v[3] * r_y - v[4] * r_x)
    )


@bare
def fill_rows(n, found, shape_a, shape_b, normal, point, shape_body, position, planar, body, frame, J):
    """Frames and J of the contacts that take part."""
    for i in range(n):
        k = found[i]
        a, b = shape_body[shape_a[k]], shape_body[shape_b[k]]
        body[i, 0], body[i, 1] = a, b
        fill_frame(normal[k, 0], normal[k, 1], normal[k, 2], planar, frame[i])
        fill_side(point[k], position[a], 1.0, frame[i], J[i, 0])
        fill_side(point[k], position[b], -1.0, frame[i], J[i, 1])


@bare
def orient_touched(n, body, free, bodies, state):
    for i in range(n):
        for side in range(2):
            if free[body[i, side]]:
                orient(bodies, state, body[i, side])


@bare
def fill_bounded(joints, bounded, before, free, all_, n, number, body, J):
    """The bounded joint rows that take part: motors, and limits that the step may reach, or all. Returns how many."""
    m = 0
    for t in range(bounded.size):
        i = bounded[t]
        if is_limit(joints, i) and joints.bias[i] > 0.0 and not all_:
            speed = max(-row_rate(joints, i, free), -row_rate(joints, i, before))
            if joints.bias[i] > FAR * speed:
                continue
        number[m] = i
        body[n + m, 0], body[n + m, 1] = joints.body_a[i], joints.body_b[i]
        for r in range(6):
            J[n + m, 0, 0, r], J[n + m, 1, 0, r] = joints.jacobian_a[i, r], joints.jacobian_b[i, r]
        m += 1
    return m


@bare
def measure(blocks, free, node, path, body):
    """How much room the places of all blocks need at most."""
    room = 0
    for i in range(blocks):
        for side in range(2):
            b = body[i, side]
            if free[b]:
                room += 1 if node[b] < 0 else path[node[b]]
    return room


@bare
def fill_places(n, m, free, root_mass, root, held, sign, body, J, start, place, G):
    """The places of each block, bodies before nodes, and its G there."""
    at, node = 0, held.tree.node
    for i in range(n + m):
        start[i] = at
        for side in range(2):
            b = body[i, side]
            if free[b] and node[b] < 0:
                place[at] = b
                for c in range(G.shape[1] if i < n else 1):
                    weigh(root_mass[b], root[b], J[i, side, c], G[at, c])
                at += 1
        if held.wanted.size > 0:
            at = fill_nodes(i < n, free, held, body[i], J[i], at, place, G)
            for c in range(G.shape[1] if i < n else 1):
                let_go(free, root_mass, root, sign, body[i], J[i], c, start[i], at, place, G)
    start[n + m] = at


@bare
def fill_nodes(contact, free, held, body, J, at, place, G):
    """Those of the bodies that joints hold, by the factors of the joints, from `at` on; returns what is behind."""
    tree, x, a, b = held.tree, held.factors.rows, body[0], body[1]
    i, j, components = tree.node[a] if free[a] else -1, tree.node[b] if free[b] else -1, G.shape[1] if contact else 1
    for c in range(components):
        for r in range(6):
            if i >= 0:
                x[c, i, r] += J[0, c, r]
            if j >= 0:
                x[c, j, r] += J[1, c, r]
    together = i >= 0 and j >= 0 and tree.group[a] == tree.group[b]
    if i >= 0 and not together:
        at = half_substitute(tree, held.factors, tree.group[a], i, i, components, free.size, at, place, G)
    if j >= 0:
        other = i if together else j
        at = half_substitute(tree, held.factors, tree.group[b], j, other, components, free.size, at, place, G)
    return at


@bare
def let_go(free, root_mass, root, sign, body, J, c, begin, end, place, G):
    """A row that joints hold, whose response is rounding, is none: it moves nothing."""
    given, left = 0.0, 0.0
    for side in range(2):
        b = body[side]
        if free[b]:
            j, m, S = J[side, c], root_mass[b], root[b]
            for r in range(3):
                given += (m[r] * j[r]) ** 2 + (j[3] * S[0, r] + j[4] * S[1, r] + j[5] * S[2, r]) ** 2
    for t in range(begin, end):
        for r in range(6):
            left += sign[place[t]] * G[t, c, r] ** 2
    if left <= HELD * given:
        for r in range(6):
            J[0, c, r] = J[1, c, r] = 0.0
        for t in range(begin, end):
            for r in range(6):
                G[t, c, r] = 0.0


@bare
def contact_law(n, moving, surfaces, before, numbers, associated, contacts, rows, free, bent, law):
    """The law of each contact, by friction/terms.py. Joints bend the way of bodies by `bent`, and the gaps of rows for
    the end of the step know that: half of the slip that comes of it is before the impulse, half behind, and friction
    does no work by it."""
    body, J = rows.body, rows.jacobian
    D = J.shape[2]
    for i in range(n):
        k = rows.found[i]
        a, b = surfaces.material[contacts.shape_a[k]], surfaces.material[contacts.shape_b[k]]
        for c in range(D):
            law.q[D * i + c] = contact_velocity(body, J, moving, i, c, free) + law.runs[D * i + c]
            law.before[D * i + c] = contact_velocity(body, J, moving, i, c, before) - law.runs[D * i + c]
        at = D * i
        u_n, u_1 = law.before[at], law.before[at + 1]
        u_2, spin = law.before[at + 2] if D > 2 else 0.0, law.before[at + 3] if D > 3 else 0.0
        slip = slip_of(u_1, u_2, spin, surfaces.patch[a, b])
        e = surfaces.restitution[a, b]
        told = contacts.feature[k] >= AT_THE_END
        bouncing = not (told or law.rolls[i]) and bounces(numbers, contacts.gap[k], e, u_n, law.q[at])
        law.restitution[i] = e if bouncing else 0.0
        d, law.compliance[i] = normal_terms(
            numbers, contacts.gap[k], e, u_n, bouncing, surfaces.stiffness[a, b], surfaces.damping[a, b]
        )
        if told:
            d = contacts.gap[k] / numbers.h
            for c in range(1, D):
                law.q[at + c] += contact_velocity(body, J, moving, i, c, bent) / numbers.h
        law.compliance_tangent[i], law.damped[i] = tangent_terms(
            numbers, surfaces.stiffness_tangent[a, b], surfaces.damping_tangent[a, b]
        )
        law.mu[i], law.sliding[i] = friction_of(
            numbers, surfaces.friction_static[a, b], surfaces.friction_kinetic[a, b], slip
        )
        law.shift[i] = 0.0 if associated else law.mu[i]
        law.q[at] += d


@bare
def excuse(n, J, q):
    """A normal that joints hold has no gap term: no impulse could meet it."""
    D = J.shape[2]
    for i in range(n):
        moved = False
        for side in range(2):
            for r in range(6):
                moved = moved or J[i, side, 0, r] != 0.0
        if not moved:
            q[D * i] = 0.0


@bare
def bounded_law(n, m, joints, number, law, free, q, compliance, lower, upper):
    """The law of each bounded joint row."""
    D = q.size // lower.size
    for t in range(m):
        i, j = n + t, number[t]
        compliance[i], lower[i], upper[i] = joints.compliance[j], joints.lower[j], joints.upper[j]
        q[D * i] = row_rate(joints, j, free) + asked(joints, j, law.h, law.brake)


@bare
def own_blocks(n, m, sign, start, place, G, compliance, soft, mu, own, V, scale):
    """W_ii with ε_i, the inverse of it for contacts in space, and the scale that it gives."""
    d = 2 if own.shape[0] == 4 else 3
    for i in range(n + m):
        n_n, n_t, t_t, n_o, t_o, o_o = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for at in range(start[i], start[i + 1]):
            s = sign[place[at]]
            for k in range(6):
                n_n += s * G[at, 0, k] * G[at, 0, k]
            if i < n:
                for k in range(6):
                    g = s * G[at, 1, k]
                    n_t += g * G[at, 0, k]
                    t_t += g * G[at, 1, k]
            if i < n and d == 3:
                for k in range(6):
                    g = s * G[at, 2, k]
                    n_o += g * G[at, 0, k]
                    t_o += g * G[at, 1, k]
                    o_o += g * G[at, 2, k]
        own[0, i], own[1, i], own[d, i], own[d + 1, i] = n_n, n_t, n_t, t_t
        if d == 3:
            own[2, i] = own[6, i] = n_o
            own[5, i] = own[7, i] = t_o
            own[8, i] = o_o
        own[0, i] += compliance[i]
        if soft.size > 0 and i < n:
            for a in range(1, d):
                own[(d + 1) * a, i] += soft[i]
        trace = own[0, i]
        if i < n:
            trace = (trace + own[3, i] if d == 2 else trace + own[4, i] + own[8, i]) / d
        scale[i] = 1.0 / math.sqrt(trace) if trace > 0.0 else 1.0
    if d == 3:
        invert_blocks(own[:, :n], mu[:n], V[:n])


@bare
def any_bounces(n, restitution):
    for i in range(n):  # noqa: SIM110
        if restitution[i] > 0.0:
            return True
    return False


@bare
def invert_again(n, own, mu, V):
    """After changes of W_ii."""
    if own.shape[0] == 9:
        invert_blocks(own[:, :n], mu[:n], V[:n])


@bare
def recall(n, m, memory, contacts, found, number, frame, was_known, moved, waited, p, trend, newest):
    """Start from the impulses of the same contacts in the last step; `trend` is how they changed in it. Both lists are
    sorted by shapes and feature."""
    D, key, j, last = p.size // was_known.size, memory.key, 0, memory.known[0]
    for i in range(n):
        k = found[i]
        a, b, f = contacts.shape_a[k], contacts.shape_b[k], plain(contacts.feature[k])
        while j < last and (
            key[j, 0] < a or (key[j, 0] == a and (key[j, 1] < b or (key[j, 1] == b and key[j, 2] < f)))
        ):
            j += 1
        known = j < last and key[j, 0] == a and key[j, 1] == b and key[j, 2] == f
        was_known[i], moved[i] = known, known and memory.moved[j]
        waited[i] = memory.waited[j] if known else 0
        for c in range(D):
            x, y = 0.0, 0.0
            if known and c < 3:
                for r in range(3):
                    x += frame[i, c, r] * memory.impulse[j, r]
                    y += frame[i, c, r] * memory.trend[j, r]
            elif known:
                x = memory.moment[j]
            p[D * i + c] = newest[D * i + c] = x
            trend[D * i + c] = y
    for t in range(m):
        p[D * (n + t)] = newest[D * (n + t)] = memory.joint[number[t]]


@bare
def part_islands(total, free, group, body, islands):
    """Sort the blocks into islands, by union-find over bodies and groups of bodies with joints. Returns how many."""
    root, label, bodies = islands.root, islands.label, free.size
    for i in range(total):
        for side in range(2):
            root[place(group, body[i, side], bodies)] = -1
    for i in range(total):
        a, b = body[i, 0], body[i, 1]
        if free[a] and free[b]:
            x, y = find(root, place(group, a, bodies)), find(root, place(group, b, bodies))
            if x != y:
                root[max(x, y)] = min(x, y)
    for i in range(total):
        label[find(root, place(group, body[i, 0] if free[body[i, 0]] else body[i, 1], bodies))] = -1
    found = 0
    for i in range(total):
        a, b = body[i, 0], body[i, 1]
        at = find(root, place(group, a if free[a] else b, bodies))
        if label[at] < 0:
            label[at] = found
            islands.start[found + 1], islands.stiff[found] = 0, 0
            found += 1
        islands.of_block[i] = label[at]
        islands.start[label[at] + 1] += 1
        if (free[a] and group[a] >= 0) or (free[b] and group[b] >= 0):
            islands.stiff[label[at]] = 1
    islands.start[0] = 0
    for k in range(found):
        islands.start[k + 1] += islands.start[k]
    for i in range(total - 1, -1, -1):  # from behind, so that start[k + 1] ends as the beginning of island k
        k = islands.of_block[i]
        islands.start[k + 1] -= 1
        islands.member[islands.start[k + 1]] = i
    for k in range(found):
        islands.start[k] = islands.start[k + 1]
    islands.start[found] = total
    return found


@bare
def place(group, body, bodies):
    """A body, or the group it is held in, among all of them."""
    return body if group[body] < 0 else bodies + group[body]


@bare
def find(root, i):
    while root[i] >= 0:
        if root[root[i]] >= 0:
            root[i] = root[root[i]]
        i = root[i]
    return i
