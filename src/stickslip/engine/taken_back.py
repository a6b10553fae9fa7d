"""Bodies that joints hold together gain nothing where the rows of the joints turn far in a step.

Where a chain comes to be straight, or a light link is thrown round, the positions of dynamics/held.py are met with
other rows than those at the start of the step. It is RATTLE's no longer, and nothing keeps its energy: a wrecking ball
that was caught by its chain gained up to 5 % of it. What a group of bodies may have in the end is

    E⁺ <= E + Σ ½ p·(u + u⁺)                                                                                       (1)

with its energy E of motion, gravity and forces, and the work of contacts, limits, motors and efforts. What is more is
taken from the motion of its bodies against each other,

    v <- V + s (v - V)                                                                                             (2)

with V the motion of a rigid body that has the momentum and the angular momentum of the group, none where a joint holds
it to what stands still. V keeps to all joints, so they still hold, and momenta stay what they are. Groups that hang on
what moves as prescribed, or by compliant joints, may gain, and are left alone.
"""

from __future__ import annotations

import math

from stickslip.collision.vectors import cross, inner, minus
from stickslip.dynamics.articulated import bodies_of
from stickslip.dynamics.held import row_rate
from stickslip.dynamics.motion import FREE, STATIC, times
from stickslip.dynamics.rotations import to_matrix
from stickslip.engine.rims import energy_of, kinetic_energy
from stickslip.jit import bare
from stickslip.solvers.linear import eliminate, substitute

AFLOAT, ANCHORED, DRIVEN = 0.0, 1.0, 2.0


@bare
def take_back(n, m, body, J, p, h, held, bodies, before, state, gain, hangs, swaps):
    """(2) for all groups that have gained from `before` to `state`; gain and hangs (nb,) and swaps (3,) are room."""
    tree, model, D = held.tree, held.model, J.shape[2]
    groups = tree.group_start.size - 1
    for group in range(groups):
        gain[group], hangs[group] = 0.0, DRIVEN if held.soft[group] == 1 else AFLOAT
    for b in tree.bodies:
        gain[tree.group[b]] += energy_of(bodies, state, b) - energy_of(bodies, before, b)
        for r in range(3, 6):
            turned = 0.5 * h * (before.velocity[b, r] + state.velocity[b, r])
            gain[tree.group[b]] -= bodies.force[b, r] * turned
    for i in range(n + m):
        for side in range(2):
            b = body[i, side]
            if model.kind[b] == FREE and tree.group[b] >= 0:
                for c in range(D if i < n else 1):
                    for r in range(6):
                        u = before.velocity[b, r] + state.velocity[b, r]
                        gain[tree.group[b]] -= 0.5 * p[D * i + c] * J[i, side, c, r] * u
    for j in range(model.joint.size):
        a, b = model.joint_a[j], model.joint_b[j]
        group = max(tree.group[a], tree.group[b])  # that of a body which is not free is -1
        if group >= 0:
            for end in (a, b):
                if model.kind[end] != FREE:
                    hangs[group] = max(hangs[group], ANCHORED if model.kind[end] == STATIC else DRIVEN)
            rates = row_rate(held.along, j, before.velocity) + row_rate(held.along, j, state.velocity)
            gain[group] -= 0.5 * h * held.motors.effort[j] * rates
    V, centre = held.shift[0], held.turned
    for group in range(groups):
        if gain[group] > 0.0 and hangs[group] != DRIVEN:
            mine = bodies_of(tree, group)
            for r in range(6):
                V[r] = 0.0
            if hangs[group] == AFLOAT:
                move_as_one(mine, bodies, state, held.placement.axes_a, swaps, V, centre)
            calm(mine, gain[group], V, centre, bodies, state)


@bare
def calm(mine, gain, V, centre, bodies, state):
    """(2) for bodies that have gained so much together; V is that of their centre, and the spin."""
    moves = 0.0
    add(mine, -1.0, V, centre, state)
    for b in mine:
        moves += kinetic_energy(bodies, state, b)
    share = math.sqrt(max(0.0, 1.0 - gain / moves)) if moves > 0.0 else 1.0
    for b in mine:
        for r in range(6):
            state.velocity[b, r] *= share
    add(mine, 1.0, V, centre, state)


@bare
def add(mine, sign, V, centre, state):
    """v <- v ± V."""
    for b in mine:
        v, w = state.velocity[b], (V[3], V[4], V[5])
        turned = cross(w, minus(state.position[b], centre))
        for r in range(3):
            v[r] += sign * (V[r] + turned[r])
            v[3 + r] += sign * w[r]


@bare
def move_as_one(mine, bodies, state, inertia, swaps, V, centre):
    """V, and the centre of mass: what moves as one has the momentum m V and, about its centre, I ω."""
    mass = 0.0
    for r in range(3):
        centre[r] = 0.0
        for c in range(3):
            inertia[r, c] = 0.0
    for b in mine:
        m = 1.0 / bodies.inverse_mass[b, 0]
        mass += m
        for r in range(3):
            centre[r] += m * state.position[b, r]
            V[r] += m * state.velocity[b, r]
    for r in range(3):
        centre[r], V[r] = centre[r] / mass, V[r] / mass
    for b in mine:
        m, v, R = 1.0 / bodies.inverse_mass[b, 0], state.velocity[b], bodies.room
        arm = minus(state.position[b], centre)
        to_matrix(state.quaternion[b], R)
        orbit, square = cross(arm, (v[0], v[1], v[2])), inner(arm, arm)
        for r in range(3):
            V[3 + r] += m * orbit[r]
            for c in range(3):
                own = inner((R[r, 0], R[r, 1], R[r, 2]), times(bodies.inertia[b], R[c, 0], R[c, 1], R[c, 2]))
                inertia[r, c] += own + m * ((square if r == c else 0.0) - arm[r] * arm[c])
                V[3 + r] += own * v[3 + c]
    if bodies.planar:
        V[3], V[4], V[5] = 0.0, V[4] / inertia[1, 1], 0.0
    elif eliminate(inertia, swaps):
        substitute(inertia, swaps, V[3:])
