"""A rim that rolls: its lowest point, where it touches a plane, runs round it within a step.

A rim with the centre c, from the centre of mass of its body, the axis a and the radius r touches a plane with the
normal n at

    ρ = c - r m/|m|,      m = n - (n·a) a                                                                          (1)

In a step of h the body turns, c and a with it, by exp(h ω), and ρ runs from ρ₀ over ρ₁ in the middle to ρ₂. On the way
the velocity of the body where it touches, v + ω × ρ, changes at unchanged v and ω by

    e = ω × (ρ₂ - ρ₁)                                                                                              (2)

in the second half of the step, and in the first to second order. So the impulse p of the step acts at ρ₁, and the law
of the contact sees the velocity in the end, at ρ₂, with J at ρ₁

    u⁺ = J v⁺ + e,      where that at the start, at ρ₀, is  u = J v - e                                            (3)

The body moves with the mean of its velocities, and the gap ψ has the rate n·J v in the middle of the step. So

    ψ⁺ - ψ = ½ h n·(u + u⁺),      and p does the work ½ p·(u + u⁺)                                                 (4)

What rolls has u = u⁺ = 0, but for errors of third order: it neither sinks nor rises, and p does no work. An impulse at
ρ₀ would lag behind by half a step, which gives an Euler disk energy, and one at ρ₂ be ahead of it and brake.

Of these errors some would be gains. So a body that rolls on what does not move has its velocities made smaller, all by
the same factor, which leaves u⁺ = 0, where it would end with more energy than it had, than forces gave it, and than
taking back its overlaps gave (`lessen`). One that is hit in the same step moves with its velocity in the end; then it
does not roll, and the step is made again without (3) (engine/march.py).
"""

from __future__ import annotations

import math

from stickslip.collision.placement import AXES, CYLINDER, PLANE, SIZE
from stickslip.collision.planes import LOWER_RIM, UPPER_RIM
from stickslip.collision.vectors import about, ahead, cross, inner, minus
from stickslip.dynamics.contact_rows import fill_side
from stickslip.dynamics.motion import times_transposed, turns, weighed
from stickslip.dynamics.rotations import to_matrix
from stickslip.friction.stabilisation import TOUCHING
from stickslip.friction.terms import parting
from stickslip.jit import bare

NOTHING = (0.0, 0.0, 0.0)
SLOWEST, FASTEST = 1e-7, 0.5  # of the radius: runs in a step that are rounding, and of rims that lie all but level


@bare
def roll_rims(n, rolling, free, stopped, collision, contacts, rows, state, law, p, rolls, runs):
    """Which contacts, with the impulses p in the step before, are rims that roll on planes that do not turn: their J
    and e. None unless `rolling`, nor of bodies that are `stopped`, or that others which are free push."""
    D, kind, table = rows.jacobian.shape[2], collision.kind, collision.table
    for i in range(n):
        if p[D * i] > 0.0 and free[rows.body[i, 0]] and free[rows.body[i, 1]]:
            stopped[rows.body[i, 0]] = stopped[rows.body[i, 1]] = True
    for i in range(n):
        rolls[i], k = False, rows.found[i]
        for c in range(D):
            runs[D * i + c] = 0.0
        rim, plane, a, b = contacts.shape_a[k], contacts.shape_b[k], rows.body[i, 0], rows.body[i, 1]
        swapped = kind[rim] == PLANE
        if swapped:
            rim, plane, a, b = plane, rim, b, a
        rims = kind[rim] == CYLINDER and kind[plane] == PLANE and contacts.feature[k] in (LOWER_RIM, UPPER_RIM)
        touched = p[D * i] > 0.0 or contacts.gap[k] <= TOUCHING
        if rolling and rims and touched and not stopped[a] and not turns(state.velocity[b]):
            x, y, frame, at, sign = contacts.point[k], state.position[a], rows.frame[i], D * i, -1.0 if swapped else 1.0
            rolls[i] = run_round(
                table[rim], table[plane], y, state.velocity[a], state.velocity[b], law.h, law.rest_speed, sign, frame,
                x, runs[at : at + D],
            )  # fmt: skip
            fill_side(x, y, sign, frame, rows.jacobian[i, 1 if swapped else 0])
            fill_side(x, state.position[b], -sign, frame, rows.jacobian[i, 0 if swapped else 1])


@bare
def run_round(cylinder, plane, centre, v, v_plane, h, rest_speed, sign, frame, point, runs):
    """Does a contact roll, of a cylinder whose body is at `centre` and moves with v? Then its point moves from ρ₀ to
    ρ₁, and `runs` is e of (2), along the frame; where that belongs to the plane `sign` is -1. It does not where it runs
    too far or hardly, or is approached faster than what rolls may seem to be."""
    r, spin = cylinder[SIZE], (v[3], v[4], v[5])
    a = (cylinder[AXES + 6], cylinder[AXES + 7], cylinder[AXES + 8])
    n = (plane[AXES + 6], plane[AXES + 7], plane[AXES + 8])
    rho_0 = minus(point, centre)
    c = minus(rho_0, below(r, a, n))
    rho_1, rho_2 = lowest(r, a, c, n, spin, 0.5 * h), lowest(r, a, c, n, spin, h)
    far, e = minus(rho_2, rho_0), cross(spin, minus(rho_2, rho_1))
    u_n, e_n = inner(n, ahead(minus(v, v_plane), 1.0, cross(spin, rho_0))), inner(n, e)
    if not SLOWEST * r <= math.sqrt(inner(far, far)) <= FASTEST * r or u_n < -rest_speed - abs(e_n):
        return False
    for k in range(3):
        point[k] += rho_1[k] - rho_0[k]
    for k in range(min(runs.size, 3)):
        runs[k] = sign * inner(frame[k], e)
    return True


@bare
def lowest(r, a, c, n, spin, h):
    """ρ of (1) after a time h."""
    speed = math.sqrt(inner(spin, spin))
    if h * speed > 0.0:
        k, cosine, sine = ahead(NOTHING, 1.0 / speed, spin), math.cos(h * speed), math.sin(h * speed)
        a, c = about(k, cosine, sine, a), about(k, cosine, sine, c)
    return ahead(c, 1.0, below(r, a, n))


@bare
def below(r, a, n):
    """-r m/|m| of (1)."""
    m = ahead(n, -inner(n, a), a)
    return ahead(NOTHING, -r / math.sqrt(inner(m, m)), m)


@bare
def may_have(n, body, node, moving, rolls, gap, found, law, bodies, state, v, p, energy):
    """How much energy bodies that roll, and touch nothing that moves, may have in the end, with v then; of all others
    it is infinite. Returns whether one rolls."""
    if not any_of(n, rolls):
        return False
    D = p.size // body.shape[0]
    for b in range(energy.size):
        energy[b] = math.inf
    for i in range(n):
        a, b = body[i, 0], body[i, 1]
        if moving[a]:
            a, b = b, a
        if rolls[i] and not moving[a] and node[b] < 0:
            if energy[b] == math.inf:
                energy[b] = energy_of(bodies, state, b)
                for r in range(3):
                    energy[b] += 0.5 * law.h * bodies.force[b, 3 + r] * (state.velocity[b, 3 + r] + v[b, 3 + r])
            energy[b] += 0.5 * p[D * i] * parting(law, gap[found[i]])
    for i in range(n):
        if moving[body[i, 0]] and moving[body[i, 1]]:
            energy[body[i, 0]] = energy[body[i, 1]] = math.inf
    return True


@bare
def any_of(n, marked):
    for i in range(n):  # noqa: SIM110
        if marked[i]:
            return True
    return False


@bare
def lessen(bodies, state, energy):
    """Take from bodies that have more energy than they may what is too much."""
    for b in range(energy.size):
        if energy[b] < math.inf:
            moves, all_ = kinetic_energy(bodies, state, b), energy_of(bodies, state, b)
            if all_ > energy[b] and moves > 0.0:
                s = math.sqrt(max(0.0, 1.0 - (all_ - energy[b]) / moves))
                for r in range(6):
                    state.velocity[b, r] *= s


@bare
def energy_of(bodies, state, b):
    """That of motion, and under gravity and the force on the body, which is constant in a step."""
    energy = kinetic_energy(bodies, state, b)
    for r in range(3):
        if bodies.inverse_mass[b, r] > 0.0:
            f = bodies.gravity[r] / bodies.inverse_mass[b, r] + bodies.force[b, r]
            energy -= f * state.position[b, r]
    return energy


@bare
def kinetic_energy(bodies, state, b):
    v = state.velocity[b]
    to_matrix(state.quaternion[b], bodies.room)
    x, y, z = times_transposed(bodies.room, v[3], v[4], v[5])
    energy = 0.5 * weighed(bodies.inertia[b], x, y, z)
    for r in range(3):
        if bodies.inverse_mass[b, r] > 0.0:
            energy += 0.5 * v[r] * v[r] / bodies.inverse_mass[b, r]
    return energy
