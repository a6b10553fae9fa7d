"""What a step leaves of overlaps, taken back in positions.

A step that is accepted before it is solved moves bodies by velocities that are wrong by w, and so into each other by
h w: of a card of 0.6 mm a tenth in 2 ms, where 0.03 m/s are accepted. One that was looked at from its end as often as
may be (engine/ahead.py) may leave some too. With ψ the gaps at the end, and a >= 0 the overlaps that are let be, what
the law leaves in a step of those at the start or what is not notable, bodies are moved by the least d, as their masses
measure it, with

    ψ + J d >= -a,            d = M⁻¹ Jᵀ λ,   0 <= λ  ⊥  ψ + a + J d >= 0                                        (1)

by Gauss–Seidel, and again from where they are then. No velocity changes, so no kinetic energy comes of it. Bodies that
joints hold stay where they are.
"""

from __future__ import annotations

import math

from stickslip.collision.broadphase import find_contacts
from stickslip.collision.contacts import AT_THE_END
from stickslip.dynamics.rotations import turn
from stickslip.engine.ahead import NOTABLE, first_of_pair
from stickslip.engine.prepare import approach
from stickslip.engine.sweep import cone_distance
from stickslip.friction.terms import recovered
from stickslip.jit import bare

ROUNDS, SWEEPS = 10, 300  # of (1) at most, and of Gauss–Seidel in each
LEFT = 0.5  # times what is notable: overlaps beyond a that are left
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
def part(
    state, bodies, free, node, width, law, shape_body, contacts, found, collision, reach, ahead, d, impulse, let_be
):  # fmt: skip
    """Move bodies by (1); `contacts` are those of the start of the step, and the last arrays room for anything."""
    for b in range(reach.size):
        reach[b] = 0.0
    for _ in range(ROUNDS):
        seen = min(find_contacts(state, reach, collision, ahead), ahead.gap.size)
        deepest, at = 0.0, 0
        for k in range(seen):
            a, b = ahead.shape_a[k], ahead.shape_b[k]
            at = first_of_pair(contacts, found, at, a, b)
            thick = min(thickness(width, bodies.radius, shape_body[a]), thickness(width, bodies.radius, shape_body[b]))
            notable = NOTABLE * thick
            let_be[k], impulse[k] = notable, 0.0
            m = at
            while m < found and contacts.shape_a[m] == a and contacts.shape_b[m] == b:
                if contacts.feature[m] < AT_THE_END:
                    let_be[k] = max(let_be[k], -min(contacts.gap[m] - law.h * recovered(law, contacts.gap[m]), 0.0))
                m += 1
            if -ahead.gap[k] > let_be[k] + LEFT * notable:
                deepest = max(deepest, -ahead.gap[k])
        if deepest == 0.0:
            return
        for b in range(d.shape[0]):
            for r in range(6):
                d[b, r] = 0.0
        for _ in range(SWEEPS):
            moved = 0.0
            for k in range(seen):
                a, b = shape_body[ahead.shape_a[k]], shape_body[ahead.shape_b[k]]
                x, n = ahead.point[k], ahead.normal[k]
                own = shifted(bodies, free, node, state.position, a, x, n, 0.0, d) + shifted(
                    bodies, free, node, state.position, b, x, n, 0.0, d
                )
                if not own > 0.0:
                    continue
                gap = ahead.gap[k] + let_be[k] + approach(x, n, state.position, d, a, b)
                step = max(impulse[k] - gap / own, 0.0) - impulse[k]
                if step != 0.0:
                    impulse[k] += step
                    moved = max(moved, abs(step) * own)
                    shifted(bodies, free, node, state.position, a, x, n, step, d)
                    shifted(bodies, free, node, state.position, b, x, n, -step, d)
            if moved <= ALIKE * deepest:
                break
        for b in range(d.shape[0]):
            if free[b] and node[b] < 0:
                for r in range(3):
                    state.position[b, r] += d[b, r]
                turn(state.quaternion[b], 1.0, d[b, 3], d[b, 4], d[b, 5])


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
