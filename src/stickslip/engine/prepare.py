"""From a state to the rows of a step and the law they obey.

    free motion    where forces, gyroscopic terms and joints would take the bodies
    look           what touches, and which contacts take part (friction/terms.py)
    rows           J of each contact, and what an impulse of it does: M⁻¹Jᵀ, through joints where there are some
    law            w, ε, μ of each contact, W_ii of each block
    recall         the impulses of the step before
    islands        blocks that hang together through bodies that move
"""

from __future__ import annotations

import math

from stickslip.collision.broadphase import find_contacts
from stickslip.dynamics.articulated import substitute
from stickslip.dynamics.contact_rows import contact_velocity, fill_frame, fill_side, responds
from stickslip.dynamics.held import hold, rates, row_rate
from stickslip.dynamics.motion import free_motion
from stickslip.engine.rows import ACTIVE, BOUNDED, FOUND, ISLANDS, LIMITS, NEEDED
from stickslip.friction.terms import TAKES_PART, bounces, friction_of, normal_terms, part, tangent_terms
from stickslip.jit import inlined, kernel
from stickslip.solvers.nsgs import invert_blocks

FAR = 3.0  # a limit takes part where this many steps at the joint's speed, or that of the step before, would reach it


@inlined
def prepare(state, rules, work, memory):
    """Fill the rows, law and answer of the step from `state`. False where there is not enough room; NEEDED says how
    much."""
    count, h = work.count, rules.law.h
    free_motion(work.bodies, state, h)
    hold_free(work.held, work.bodies.v, work.answer.free, work.answer.v)
    found = find_contacts(state, work.bodies.reach, work.collision, work.contacts)
    count[FOUND] = found
    if found > work.contacts.gap.size:
        return False
    choose(work.surfaces, state, rules.law, work.contacts, found, work.rows, count)
    fill_rows(work, state)
    choose_bounded(work.held, state.velocity, work.answer.free, h, work.rows, count)
    if not reach(work):
        return False
    contact_law(work.surfaces, state.velocity, rules, work.contacts, work.rows, work.answer.free, count, work.law)
    bounded_law(work.held, work.rows, work.answer.free, count, work.law)
    own_blocks(work.rows, rules.relaxes_friction, count, work.law)
    own_bounded(work.rows, work.held.rows, count, work.law)
    recall(memory, work.contacts, work.rows, count, work.answer)
    part_islands(work)
    return True


@kernel
def hold_free(held, unheld, free, v):
    """Velocities with joints but without contacts, as `free` and as a start of v; λ of the bilateral rows is theirs."""
    for b in range(free.shape[0]):
        for r in range(6):
            free[b, r] = unheld[b, r]
    for i in range(held.impulse.size):
        held.impulse[i] = 0.0
    if held.wanted.size > 0:
        rates(held, free, True)
        hold(held, 1.0, free)
    for b in range(free.shape[0]):
        for r in range(6):
            v[b, r] = free[b, r]


@kernel
def choose(surfaces, state, law, contacts, found, rows, count):
    """Which contacts take part; those left out are recorded but have no rows."""
    n = 0
    for i in range(found):
        a, b = contacts.shape_a[i], contacts.shape_b[i]
        e, u_n = surfaces.restitution[surfaces.material[a], surfaces.material[b]], 0.0
        if e > 0.0 and contacts.gap[i] > 0.0:
            x, normal, body_a, body_b = contacts.point[i], contacts.normal[i], surfaces.body[a], surfaces.body[b]
            u_n = along(x, normal, state.position[body_a], state.velocity[body_a])
            u_n -= along(x, normal, state.position[body_b], state.velocity[body_b])
        rows.part[i] = part(law, contacts.gap[i], e, u_n)
        if rows.part[i] == TAKES_PART:
            rows.found[n] = i
            n += 1
    count[ACTIVE] = n


@kernel
def along(x, n, centre, v):
    """The velocity along n of the point x of a body."""
    r_x, r_y, r_z = x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]
    return (
        n[0] * (v[0] + v[4] * r_z - v[5] * r_y)
        + n[1] * (v[1] + v[5] * r_x - v[3] * r_z)
        + n[2] * (v[2] + v[3] * r_y - v[4] * r_x)
    )


@kernel
def fill_rows(work, state):
    """Frames and J of the contacts that take part."""
    contacts, rows, planar, body = work.contacts, work.rows, work.bodies.planar, work.surfaces.body
    for i in range(work.count[ACTIVE]):
        k = rows.found[i]
        a, b = body[contacts.shape_a[k]], body[contacts.shape_b[k]]
        rows.body[i, 0], rows.body[i, 1] = a, b
        n = contacts.normal[k]
        fill_frame(n[0], n[1], n[2], planar, rows.frame[i])
        fill_side(contacts.point[k], state.position[a], 1.0, rows.frame[i], rows.jacobian[i, 0])
        fill_side(contacts.point[k], state.position[b], -1.0, rows.frame[i], rows.jacobian[i, 1])


@kernel
def choose_bounded(held, before, free, h, rows, count):
    """The bounded joint rows that take part: motors, and limits that the step may reach."""
    joints, m = held.rows, 0
    for t in range(held.bounded.size):
        i = held.bounded[t]
        if joints.lower[i] == 0.0 and joints.upper[i] == math.inf and count[LIMITS] == 0:
            speed = max(-row_rate(joints, i, free), -row_rate(joints, i, before))
            if joints.bias[i] > FAR * max(speed, 0.0) and joints.bias[i] > 0.0:
                continue
        rows.number[m] = i
        m += 1
    count[BOUNDED] = m


@inlined
def reach(work):
    """What an impulse of each block does to the bodies. False where there is no room; NEEDED says how much."""
    rows, held, count = work.rows, work.held, work.count
    n, at = count[ACTIVE], 0
    for i in range(n + count[BOUNDED]):
        if i < n:
            a, b = rows.body[i, 0], rows.body[i, 1]
        else:
            a, b = held.rows.body_a[rows.number[i - n]], held.rows.body_b[rows.number[i - n]]
        rows.start[i] = at
        at += bodies_reached(work.free, held.tree, a, b)
    rows.start[n + count[BOUNDED]] = at
    count[NEEDED] = at
    if at > rows.reached.size:
        return False
    fill_responses(work.free, work.bodies.inverse_mass, work.bodies.inverse, held, rows, count)
    return True


@kernel
def bodies_reached(free, tree, a, b):
    total = 0
    if free[a]:
        total += 1 if tree.group[a] < 0 else bodies_of_group(tree, tree.group[a])
    if free[b] and (tree.group[b] < 0 or not (free[a] and tree.group[a] == tree.group[b])):
        total += 1 if tree.group[b] < 0 else bodies_of_group(tree, tree.group[b])
    return total


@kernel
def bodies_of_group(tree, group):
    total = 0
    for k in range(tree.group_start[group], tree.group_start[group + 1]):
        if tree.body[k] >= 0:
            total += 1
    return total


@kernel
def fill_responses(free, inverse_mass, inverse, held, rows, count):
    tree, joints, n = held.tree, held.rows, count[ACTIVE]
    D = rows.response.shape[1]
    for i in range(n + count[BOUNDED]):
        at = rows.start[i]
        j = rows.number[i - n] if i >= n else 0
        a, b = (rows.body[i, 0], rows.body[i, 1]) if i < n else (joints.body_a[j], joints.body_b[j])
        components = D if i < n else 1
        shared = free[a] and free[b] and tree.group[a] >= 0 and tree.group[a] == tree.group[b]
        for side in range(2):
            body = a if side == 0 else b
            if not free[body] or (side == 1 and shared):
                continue
            if tree.group[body] < 0:
                rows.reached[at] = body
                for c in range(components):
                    J = rows.jacobian[i, side, c] if i < n else (joints.jacobian_a[j] if side == 0 else joints.jacobian_b[j])
                    responds(inverse_mass[body], inverse[body], J, rows.response[at, c])
                at += 1
                continue
            filled = at
            for c in range(components):
                J = rows.jacobian[i, side, c] if i < n else (joints.jacobian_a[j] if side == 0 else joints.jacobian_b[j])
                first = load(held, body, J, True)
                if shared:
                    J = rows.jacobian[i, 1, c] if i < n else joints.jacobian_b[j]
                    first = min(first, load(held, b, J, False))
                filled = unload(held, tree.group[body], first, c, at, rows)
            at = filled


@kernel
def load(held, body, J, afresh):
    """A unit impulse along J on a body as the right side; returns its node."""
    tree, x = held.tree, held.factors.x
    if afresh:
        group = tree.group[body]
        for k in range(tree.group_start[group], tree.group_start[group + 1]):
            for r in range(6):
                x[k, r] = 0.0
    k = tree.node[body]
    for r in range(6):
        x[k, r] += J[r]
    return k


@kernel
def unload(held, group, first, c, at, rows):
    """The response of all bodies of a group, from place `at` on; returns the place behind."""
    tree = held.tree
    substitute(tree, held.factors, group, first)
    for k in range(tree.group_start[group], tree.group_start[group + 1]):
        if tree.body[k] >= 0:
            rows.reached[at] = tree.body[k]
            for r in range(6):
                rows.response[at, c, r] = held.factors.x[k, r]
            at += 1
    return at


@kernel
def contact_law(surfaces, before, rules, contacts, rows, free, count, law):
    """The law of each contact, by friction/terms.py."""
    D = rows.jacobian.shape[2]
    tangents = 1 if D == 2 else 2
    for i in range(count[ACTIVE]):
        k = rows.found[i]
        a, b = surfaces.material[contacts.shape_a[k]], surfaces.material[contacts.shape_b[k]]
        slip = 0.0
        for c in range(D):
            law.q[D * i + c] = contact_velocity(rows.body, rows.jacobian, i, c, free)
            law.before[D * i + c] = contact_velocity(rows.body, rows.jacobian, i, c, before)
            if 0 < c <= tangents:
                slip += law.before[D * i + c] ** 2
        if D == 4:
            slip += (surfaces.patch[a, b] * law.before[D * i + 3]) ** 2
        e, u_n = surfaces.restitution[a, b], law.before[D * i]
        law.restitution[i] = e if bounces(rules.law, e, u_n) else 0.0
        law.w[i], law.compliance[i] = normal_terms(
            rules.law, contacts.gap[k], e, u_n, surfaces.stiffness[a, b], surfaces.damping[a, b]
        )
        law.compliance_tangent[i], law.damped[i] = tangent_terms(
            rules.law, surfaces.stiffness_tangent[a, b], surfaces.damping_tangent[a, b]
        )
        law.mu[i], law.sliding[i] = friction_of(
            rules.law, surfaces.friction_static[a, b], surfaces.friction_kinetic[a, b], math.sqrt(slip)
        )
        law.shift[i] = 0.0 if rules.associated else law.mu[i]
        law.q[D * i] += law.w[i]


@kernel
def bounded_law(held, rows, free, count, law):
    joints = held.rows
    for t in range(count[BOUNDED]):
        i = rows.number[t]
        law.bounded_q[t] = row_rate(joints, i, free) + joints.bias[i]
        law.lower[t], law.upper[t] = joints.lower[i], joints.upper[i]


@kernel
def own_blocks(rows, relaxes_friction, count, law):
    """W_ii = J_i M⁻¹ J_iᵀ + ε_i of contacts, its inverse, and the scale that it gives."""
    own, d = law.own, 2 if law.own.shape[0] == 4 else 3
    n = count[ACTIVE]
    for i in range(n):
        for k in range(d * d):
            own[k, i] = 0.0
        for t in range(rows.start[i], rows.start[i + 1]):
            for side in range(2):
                if rows.body[i, side] == rows.reached[t]:
                    J, Y = rows.jacobian[i, side], rows.response[t]
                    for a in range(d):
                        for c in range(d):
                            total = 0.0
                            for k in range(6):
                                total += J[a, k] * Y[c, k]
                            own[d * a + c, i] += total
        own[0, i] += law.compliance[i]
        if relaxes_friction:
            for a in range(1, d):
                own[(d + 1) * a, i] += law.compliance_tangent[i]
        trace = own[0, i] + own[3, i] if d == 2 else own[0, i] + own[4, i] + own[8, i]
        law.scale[i] = math.sqrt(d / trace) if trace > 0.0 else 1.0
    if d == 3:
        invert_blocks(own[:, :n], law.mu[:n], law.inverse[:n])


@kernel
def own_bounded(rows, joints, count, law):
    n = count[ACTIVE]
    for t in range(count[BOUNDED]):
        i, total = rows.number[t], joints.compliance[rows.number[t]]
        for k in range(rows.start[n + t], rows.start[n + t + 1]):
            for r in range(6):
                if rows.reached[k] == joints.body_a[i]:
                    total += joints.jacobian_a[i, r] * rows.response[k, 0, r]
                if rows.reached[k] == joints.body_b[i]:
                    total += joints.jacobian_b[i, r] * rows.response[k, 0, r]
        law.bounded_own[t] = total


@kernel
def recall(memory, contacts, rows, count, answer):
    """Start from the impulses of the same contacts in the last step; `trend` is how they changed in it. Both lists are
    sorted by shapes and feature."""
    D, key, j, last = rows.jacobian.shape[2], memory.key, 0, memory.known[0]
    p, trend = answer.start, answer.trend
    for i in range(count[ACTIVE]):
        k = rows.found[i]
        a, b, f = contacts.shape_a[k], contacts.shape_b[k], contacts.feature[k]
        while j < last and (
            key[j, 0] < a or (key[j, 0] == a and (key[j, 1] < b or (key[j, 1] == b and key[j, 2] < f)))
        ):
            j += 1
        known = j < last and key[j, 0] == a and key[j, 1] == b and key[j, 2] == f
        for c in range(D):
            p[D * i + c] = trend[D * i + c] = 0.0
            if known and c < 3:
                for r in range(3):
                    p[D * i + c] += rows.frame[i, c, r] * memory.impulse[j, r]
                    trend[D * i + c] += rows.frame[i, c, r] * memory.trend[j, r]
            elif known:
                p[D * i + c] = memory.moment[j]
            answer.p[D * i + c] = p[D * i + c]
    for t in range(count[BOUNDED]):
        answer.bounded[t] = memory.joint[rows.number[t]]


@kernel
def part_islands(work):
    """Sort the blocks into islands, by union-find over bodies and groups of bodies with joints."""
    rows, held, islands, free, count = work.rows, work.held, work.islands, work.free, work.count
    tree, joints, n = held.tree, held.rows, count[ACTIVE]
    total, bodies = n + count[BOUNDED], free.size
    for i in range(total):
        a, b = ends(rows, joints, i, n)
        islands.root[place(tree, a, bodies)], islands.root[place(tree, b, bodies)] = -1, -1
    for i in range(total):
        a, b = ends(rows, joints, i, n)
        if free[a] and free[b]:
            x, y = find(islands.root, place(tree, a, bodies)), find(islands.root, place(tree, b, bodies))
            if x != y:
                islands.root[max(x, y)] = min(x, y)
    found = 0
    for i in range(total):
        a, b = ends(rows, joints, i, n)
        islands.label[find(islands.root, place(tree, a if free[a] else b, bodies))] = -1
    for i in range(total):
        a, b = ends(rows, joints, i, n)
        root = find(islands.root, place(tree, a if free[a] else b, bodies))
        if islands.label[root] < 0:
            islands.label[root] = found
            islands.start[found + 1], islands.stiff[found] = 0, 0
            found += 1
        label = islands.label[root]
        islands.of_block[i] = label
        islands.start[label + 1] += 1
        if (free[a] and tree.group[a] >= 0) or (free[b] and tree.group[b] >= 0):
            islands.stiff[label] = 1
    islands.start[0] = 0
    for k in range(found):
        islands.start[k + 1] += islands.start[k]
    for i in range(total - 1, -1, -1):  # from behind, so that start[k + 1] ends as the beginning of island k
        label = islands.of_block[i]
        islands.start[label + 1] -= 1
        islands.member[islands.start[label + 1]] = i
    for k in range(found):
        islands.start[k] = islands.start[k + 1]
    islands.start[found] = total
    count[ISLANDS] = found


@kernel
def ends(rows, joints, i, n):
    """The bodies of a block."""
    if i < n:
        return rows.body[i, 0], rows.body[i, 1]
    return joints.body_a[rows.number[i - n]], joints.body_b[rows.number[i - n]]


@kernel
def place(tree, body, bodies):
    """A body, or the group it is held in, among all of them."""
    return body if tree.group[body] < 0 else bodies + tree.group[body]


@kernel
def find(root, i):
    while root[i] >= 0:
        if root[root[i]] >= 0:
            root[i] = root[root[i]]
        i = root[i]
    return i
