"""What a step leaves of overlaps, taken back in positions.

A step that is accepted before it is solved moves bodies by velocities that are wrong by w, and so into each other by
h w: of a card of 0.6 mm a tenth in 2 ms, where 0.03 m/s are accepted. One that was looked at from its end as often as
may be (engine/ahead.py) may leave some too. With ψ the gaps at the end, and a >= 0 the overlaps that are let be, what
the law leaves in a step of those at the start or what is not notable, bodies are moved by the least d, as their masses
measure it, with

    ψ + J d >= -a,            d = M⁻¹ Jᵀ λ,   0 <= λ  ⊥  ψ + a + J d >= 0                                        (1)

by Gauss–Seidel, and again from where they are then. No velocity changes, so no kinetic energy comes of it.

Joints hold: M⁻¹ is then the upper left block of the inverse of (1) in dynamics/articulated.py, so that G d = 0 with
the rows G of the joints where they are then. What an impulse does is told by its G at the nodes of their factors, as in
a step (engine/rows.py), and after each round joints are put exactly where they belong. Joints also bend the way of
bodies within a step, in a chain that runs over an edge in every one. Rows of velocities do not make up for that, for
(1) of engine/ahead.py may stop a point and not push it: most of what is left there is this.
"""

from __future__ import annotations

import math

from stickslip.collision.broadphase import find_contacts
from stickslip.collision.contacts import AT_THE_END
from stickslip.dynamics.contact_rows import fill_side
from stickslip.dynamics.held import articulate, begin_again, correct, displace, set_out
from stickslip.dynamics.joints import RECOVERY
from stickslip.dynamics.rotations import turn
from stickslip.engine.ahead import DEEP, GROWS, NOTABLE, first_of_pair
from stickslip.engine.prepare import approach, fill_nodes, let_go, measure
from stickslip.engine.rows import FOUND, NEEDED
from stickslip.engine.sweep import cone_distance
from stickslip.friction.terms import recovered, rigid
from stickslip.jit import bare

ROUNDS, SWEEPS = 10, 300  # of (1) at most, and of Gauss–Seidel in each
LEFT = 0.5  # times what is notable: overlaps beyond a that are left; GROWS where joints hold a body and it is deep
ALIKE = 1e-3  # of the deepest: corrections that end sweeps


@bare
def thickness(width, radius, b):
    """The least width of a body, that of a ball too; infinite of a plane."""
    return width[b] if width[b] < 1e300 or radius[b] == 0.0 else 2.0 * radius[b]


@bare
def least_thickness(bodies, free, width):
    """That of all bodies that are free."""
    least = 1e300
    for b in range(free.size):
        if free[b]:
            least = min(least, thickness(width, bodies.radius, b))
    return least


@bare
def carried_off(member, n, body, radius, width, h, mu, shift, scale, p, u):
    """How far wrong velocities of contacts carry bodies in a step, as the greatest share of the thinner of two."""
    D, most = p.size // mu.size, 0.0
    for k in range(member.size):
        i = member[k]
        if i < n:
            at, s = D * i, scale[i]
            u_2, p_2 = (u[at + 2], p[at + 2]) if D > 2 else (0.0, 0.0)
            far = cone_distance(mu[i], shift[i], p[at] / s, p[at + 1] / s, p_2 / s, s * u[at], s * u[at + 1], s * u_2)
            thick = min(thickness(width, radius, body[i, 0]), thickness(width, radius, body[i, 1]))
            most = max(most, h * math.sqrt(far) / (s * thick))
    return most


@bare
def part(state, law, work):
    """Move bodies by (1). False where there is not enough room for that; NEEDED says how much."""
    node, joints = work.held.tree.node, work.held.wanted.size > 0
    d = work.answer.free if joints else work.trial.velocity  # of no further use there
    for b in range(work.gain.size):
        work.gain[b] = 0.0
    for _ in range(ROUNDS):
        seen = min(find_contacts(state, work.gain, work.collision, work.ahead), work.ahead.gap.size)
        deepest = overlaps(law, work, seen)
        if deepest == 0.0:
            return True
        if joints and not follow_joints(state, law.h, work, seen):
            return False
        shift(state.position, work, seen, joints, deepest, d)
        for b in range(d.shape[0]):
            if work.free[b] and node[b] < 0:
                for r in range(3):
                    state.position[b, r] += d[b, r]
                turn(state.quaternion[b], 1.0, d[b, 3], d[b, 4], d[b, 5])
        if joints:
            move_held(state, law.h, work, seen)
    return True


@bare
def overlaps(law, work, seen):
    """a of (1) for the contacts seen at the end of the step. Returns the deepest overlap that is deeper, or 0."""
    contacts, ahead, body, node = work.contacts, work.ahead, work.surfaces.body, work.held.tree.node
    width, radius, let_be, deepest, at = work.width, work.bodies.radius, work.answer.after, 0.0, 0
    for k in range(seen):
        a, b = ahead.shape_a[k], ahead.shape_b[k]
        at = first_of_pair(contacts, work.count[FOUND], at, a, b)
        notable = NOTABLE * min(thickness(width, radius, body[a]), thickness(width, radius, body[b]))
        stiffness = work.surfaces.stiffness[work.surfaces.material[a], work.surfaces.material[b]]
        let_be[k], m = notable if rigid(law, stiffness) else math.inf, at
        while m < work.count[FOUND] and contacts.shape_a[m] == a and contacts.shape_b[m] == b:
            if contacts.feature[m] < AT_THE_END:
                let_be[k] = max(let_be[k], -min(contacts.gap[m] - law.h * recovered(law, contacts.gap[m]), 0.0))
            m += 1
        bent = node[body[a]] >= 0 or node[body[b]] >= 0
        left = GROWS if bent and -ahead.gap[k] > DEEP * notable else LEFT
        if -ahead.gap[k] > let_be[k] + left * notable:
            deepest = max(deepest, -ahead.gap[k])
    return deepest


@bare
def follow_joints(state, h, work, seen):
    """The factors of the joints at the state, and G of the contacts seen at the nodes of the bodies that they hold; z
    is zero there. False where there is no room for it."""
    held, ahead, rows, frame, at = work.held, work.ahead, work.slabs.rows, work.frame, 0
    for k in range(seen):
        rows.body[k, 0], rows.body[k, 1] = work.surfaces.body[ahead.shape_a[k]], work.surfaces.body[ahead.shape_b[k]]
        for r in range(3):
            frame[0, r] = ahead.normal[k, r]
        for side in range(2):
            centre = state.position[rows.body[k, side]]
            fill_side(ahead.point[k], centre, 1.0 - 2.0 * side, frame, rows.jacobian[k, side, :1])
    work.count[NEEDED] = measure(seen, work.free, held.tree.node, held.tree.path, rows.body)
    if work.count[NEEDED] > rows.place.size:
        return False
    articulate(held, state, h)
    set_out(held, state, 0.0, work.answer.v, work.share, work.bodies.turned)  # from where they are
    for k in range(seen):
        rows.start[k] = at
        at = fill_nodes(False, work.free, held, rows.body[k], rows.jacobian[k], at, rows.place, rows.G)
        let_go(
            work.free, work.bodies.root_mass, work.bodies.root, work.sign, rows.body[k], rows.jacobian[k], 0,
            rows.start[k], at, rows.place, rows.G,
        )  # fmt: skip
    rows.start[seen] = at
    for b in range(work.answer.z.shape[0]):
        for r in range(6):
            work.answer.z[b, r] = 0.0
    return True


@bare
def move_held(state, h, work, seen):
    """Move bodies that joints hold by the pushes of (1), and joints to where they belong."""
    held, rows, impulse = work.held, work.slabs.rows, work.answer.u
    for k in range(seen):
        for side in range(2):
            i = held.tree.node[rows.body[k, side]]
            if i >= 0:
                for r in range(6):
                    held.factors.x[i, r] += rows.jacobian[k, side, 0, r] * impulse[k]
    for i in range(held.wanted.size):
        held.wanted[i] = 0.0
    begin_again(held)
    displace(held, state, math.inf)
    correct(held, state, h, 1.0 - RECOVERY, 0.0, work.answer.v)


@bare
def shift(position, work, seen, joints, deepest, d):
    """λ and d of (1) for the contacts seen, d of bodies that joints hold as z at the nodes of their factors alone."""
    bodies, ahead, free, node, sign = work.bodies, work.ahead, work.free, work.held.tree.node, work.sign
    impulse, let_be, z, body = work.answer.u, work.answer.after, work.answer.z, work.surfaces.body
    start, place, G = work.slabs.rows.start, work.slabs.rows.place, work.slabs.rows.G
    for b in range(d.shape[0]):
        for r in range(6):
            d[b, r] = 0.0
    for k in range(seen):
        impulse[k] = 0.0
    for _ in range(SWEEPS):
        moved = 0.0
        for k in range(seen):
            a, b = body[ahead.shape_a[k]], body[ahead.shape_b[k]]
            x, n = ahead.point[k], ahead.normal[k]
            own = shifted(bodies, free, node, position, a, x, n, 0.0, d) + shifted(
                bodies, free, node, position, b, x, n, 0.0, d
            )
            gap = ahead.gap[k] + let_be[k] + approach(x, n, position, d, a, b)
            if joints:
                for t in range(start[k], start[k + 1]):
                    for r in range(6):
                        own += sign[place[t]] * G[t, 0, r] ** 2
                        gap += G[t, 0, r] * z[place[t], r]
            if not own > 0.0:
                continue
            step = max(impulse[k] - gap / own, 0.0) - impulse[k]
            if step != 0.0:
                impulse[k] += step
                moved = max(moved, abs(step) * own)
                shifted(bodies, free, node, position, a, x, n, step, d)
                shifted(bodies, free, node, position, b, x, n, -step, d)
                if joints:
                    for t in range(start[k], start[k + 1]):
                        for r in range(6):
                            z[place[t], r] += sign[place[t]] * G[t, 0, r] * step
        if moved <= ALIKE * deepest:
            break


@bare
def shifted(bodies, free, node, position, b, x, n, step, d):
    """d of body b after a push `step` at x along n; returns by how much a unit moves x along n."""
    if not free[b] or node[b] >= 0:
        return 0.0
    m, K = bodies.inverse_mass[b], bodies.inverse[b]
    r_x, r_y, r_z = x[0] - position[b, 0], x[1] - position[b, 1], x[2] - position[b, 2]
    t_x, t_y, t_z = r_y * n[2] - r_z * n[1], r_z * n[0] - r_x * n[2], r_x * n[1] - r_y * n[0]
    w_x = K[0, 0] * t_x + K[0, 1] * t_y + K[0, 2] * t_z
    w_y = K[1, 0] * t_x + K[1, 1] * t_y + K[1, 2] * t_z
    w_z = K[2, 0] * t_x + K[2, 1] * t_y + K[2, 2] * t_z
    if step != 0.0:
        for r in range(3):
            d[b, r] += m[r] * n[r] * step
        d[b, 3] += w_x * step
        d[b, 4] += w_y * step
        d[b, 5] += w_z * step
    return m[0] * n[0] ** 2 + m[1] * n[1] ** 2 + m[2] * n[2] ** 2 + t_x * w_x + t_y * w_y + t_z * w_z
