"""What joints hold: velocities that keep to the bilateral rows, and positions that do.

A step of bodies with joints is RATTLE's [1]. With G the rows at its start and G⁺ those at its end,

    v⁺ = v* + M⁻¹ Gᵀ λ,     v* = v + M⁻¹ (h f + Hᵀ p),   G v⁺ + Σ λ + b = 0   forces f, contact impulses p         (1)
    x⁺ = x moved by ½ h (v + v⁺) + d,      d = M⁻¹ Gᵀ ν,   e(x⁺) = e(x)  by Newton's method with the rows G       (2)
    v  <- ½ (v* + v⁺) + d/h + M⁻¹ G⁺ᵀ κ,   G⁺ v = 0                                                              (3)

Half of the impulse of a joint acts along the rows at the start, half along those at the end, and so does what bends its
path. So joints hold in position and velocity to rounding at any speed, motion is second order in h, and energy does not
drift. Errors that were there at the start, bodies that do not fit, are taken back afterwards, by RECOVERY in a step and
without giving speed. Where a group of bodies is hit it moves with v⁺ or a share of it other than ½, and all of λ
acts at the start.

All of (1) to (3) are the system of dynamics/articulated.py with one factorisation a step: that of G⁺ is the next one's.
At speeds at which the rows turn too far in a step for (2) to converge it takes others, and angular momentum is kept to
the order of the step only. No correction turns a body by more than FARTHEST: where a chain of light links comes to be
straight under a heavy load, the whole one leads to another position that fits, far away. Compliant rows (Σ > 0) are
springs, met implicitly in (1).

Limits and motors are bounded rows, also where a motor has infinite strength: the solve of the step finds their impulses
beside those of contacts, and they are part of p. What a motor wants is read at the start of the step, and so is the
effort τ of a joint, with q̇ = J v its coordinate: v* has h M⁻¹ Jᵀ τ too.

[1] Andersen, Rattle: a velocity version of the Shake algorithm, Journal of Computational Physics 52 (1983) 24-34.
"""

from __future__ import annotations

import math
from collections import namedtuple
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from stickslip.dynamics.articulated import (
    Articulation,
    Factors,
    articulation,
    bodies_of,
    factorise,
    room_for_factors,
    substitute,
)
from stickslip.dynamics.contact_rows import push
from stickslip.dynamics.joints import (
    LOWER,
    MOTOR,
    PARTS,
    RECOVERY,
    JointRows,
    Placement,
    blank_rows,
    coordinate,
    coordinate_rate,
    fill_joint_rows,
    from_target,
    joint_errors,
    joint_rows,
    motor_row,
    place,
    room_for_joints,
    unplaced,
)
from stickslip.dynamics.motion import MEAN, WHIRLS, Booleans, times, turn_of
from stickslip.dynamics.rotations import to_matrix, turn
from stickslip.dynamics.taut import brace
from stickslip.jit import bare
from stickslip.scene.model import Floats, Integers, Joint, Kind, Model, Motors, State, motors_of

NEWTON_LIMIT, MOST_TURNS = 60, 30
FEW_TURNS = 8  # with the rows at the end alone; from then on bodies are braced
SLOW = 0.5  # of the error before, above which Newton's method for (2) takes the rows at the end
FARTHEST = 0.25  # angle by which a correction turns a body at most: rows that turn further say little   [rad]
EXACT = 5e-13  # error of a joint, in m and rad, at which Newton's method for (2) ends
UNKNOWN = -1.0
NOTABLE = 1e-9  # error at the start of a step that is worth taking back by itself, or of a trial that is


JointModel = namedtuple(
    "JointModel",
    "planar kind mass inertia inverse_mass inverse_inertia joint joint_a joint_b joint_anchor_a joint_anchor_b "
    "joint_frame_a joint_frame_b joint_lower joint_upper joint_target joint_strength joint_compliance joint_damping",
)  # what joints need of a Model; see there
OF_MODEL = attrgetter(*JointModel._fields)


class Held(NamedTuple):
    """The joints of a scene, their rows and factors at the state at hand, and room."""

    model: JointModel
    rows: JointRows
    tree: Articulation
    factors: Factors
    motors: Motors
    motor: Integers  # (nj,)   the motor's row of each joint, -1 where it has none
    along: JointRows  # (nj,)   row j is the rate of coordinate j, where joint j has one
    coordinate: Floats  # (nj, 2)   it and its rate; zeros where there is none
    bounded: Integers  # (m,)   rows with bounds: limits and motors
    soft: Integers  # (ng,)   1 where a group has compliant rows
    mass: Floats  # (nb, 6, 6)   world axes
    added: Floats  # (nb, 3, 3)   inertia that lets the step follow light bodies, see dynamics/taut.py
    added_before: Floats  # (nb, 3, 3)
    hub: Floats  # (nb, 3, 3)   room for it
    most: Floats  # (nb,)   likewise
    wanted: Floats  # (nr,)   right side of the rows
    impulse: Floats  # (nr,)   λ of all rows, in all of the step
    shift: Floats  # (nb, 6)   a correction of the positions
    way: Floats  # (nb, 6)   how far a body moves in this step, ½ h (v + v⁺) + d
    slim: Floats  # (nb,)   the greatest moment of inertia over the least, of a body that has several; else 0
    whirls: Booleans  # (nb,)   whether it turns by (5) of dynamics/motion.py, with
    late: Floats  # (nb, 3)   ½ h (Π - I ω₀)
    bent: Floats  # (nb, 6)   d of this step, or of a trial of it
    pose: Floats  # (nb, 7)   where it was at its start
    before: Floats  # (nr,)   errors at the start of the step that are worth taking back
    start: Floats  # (nr,)   errors at its start, while a trial has others
    nu: Floats  # (nr,)   ν of (2)
    last: Floats  # (1,)   the largest error before the last correction; 0 where none is left to make
    largest: Floats  # (1,)   of `wanted`; UNKNOWN where bodies have moved since
    placement: Placement
    turned: Floats  # (3,)


def held_by(model: Model, motors: Motors | None = None) -> Held:
    """`motors`: kept, not copied; those of the model where None."""
    subset, bodies, joints = JointModel(*OF_MODEL(model)), model.kind.size, model.joint.size
    motors = motors_of(model) if motors is None else motors
    if joints == 0:
        return with_room(subset, NO_ROWS, unjointed(bodies), motors, NONE, NO_ROWS, NONE, NONE)
    rows, upright = room_for_joints(model), np.tile([1.0, 0.0, 0.0, 0.0], (bodies, 1))
    joint_rows(subset, State(np.zeros((bodies, 3)), upright, np.zeros((bodies, 6))), 1.0, rows)  # wherever bodies are
    free, driven = rows.part < LOWER, np.flatnonzero(rows.part == PARTS.index(MOTOR))
    motor = np.full(joints, -1)
    motor[rows.joint[driven]] = driven
    held = np.bincount(rows.joint[free], minlength=joints)
    tree = tree_of(model, rows, held)
    soft = np.zeros(tree.group_start.size - 1, np.int64)
    for j in np.flatnonzero((model.joint_compliance > 0).any(axis=1) & (held > 0)):
        soft[max(tree.group[model.joint_a[j]], tree.group[model.joint_b[j]])] = 1
    a, b = model.joint_a.copy(), model.joint_b.copy()
    along = blank_rows(joints)._replace(joint=np.arange(joints), body_a=a, body_b=b)
    return with_room(subset, rows, tree, motors, motor, along, np.flatnonzero(~free), soft)


def with_room(
    model: JointModel, rows: JointRows, tree: Articulation, motors: Motors, motor: Integers, along: JointRows,
    bounded: Integers, soft: Integers,
) -> Held:  # fmt: skip
    """What is known of the joints of a scene, and room."""
    bodies, joints, count = model.kind.size, motor.size, rows.joint.size
    vectors, matrices = (lambda size: np.zeros((bodies, size))), (lambda size: np.zeros((bodies, size, size)))
    return Held(
        model, rows, tree, room_for_factors(tree), motors, motor, along, np.zeros((joints, 2)), bounded, soft,
        matrices(6), matrices(3), matrices(3), matrices(3), np.zeros(bodies), np.zeros(count), np.zeros(count),
        vectors(6), vectors(6), slimness(model) if joints else np.zeros(bodies), np.zeros(bodies, np.bool_),
        vectors(3), vectors(6), vectors(7), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(1), np.zeros(1),
        unplaced(), np.zeros(3),
    )  # fmt: skip


def slimness(model: JointModel) -> Floats:
    least, _, greatest = np.linalg.eigvalsh(model.inertia).T
    several = (model.kind == Kind.FREE) & (least > 0.0) & (greatest > least) & (not model.planar)
    return np.divide(greatest, least, out=np.zeros(least.size), where=several)


def tree_of(model: Model, rows: JointRows, held: Integers) -> Articulation:
    """`held` (nj,): how many bilateral rows each joint has."""
    first = np.searchsorted(rows.joint, np.arange(model.joint.size))
    turns = np.where(model.kind == Kind.FREE, 1.0 + (np.abs(model.inverse_inertia).sum(axis=(1, 2)) > 0), 0.0)
    return articulation(model.joint_a, model.joint_b, first.astype(np.int64), held, turns)


@lru_cache(maxsize=16)
def unjointed(bodies: int) -> Articulation:
    """Of so many bodies that no joint holds; to be read only."""
    return articulation(NONE, NONE, NONE, NONE, np.zeros(bodies))


NONE = np.zeros(0, np.int64)
NO_ROWS = blank_rows(0)


@bare
def follow(held, state):
    """The coordinates of the joints at a state, and their rates."""
    model, placement = held.model, held.placement
    for j in range(model.joint.size):
        kind = model.joint[j]
        if kind == Joint.HINGE or kind == Joint.SLIDER:
            place(model, state, j, placement, 0)
            coordinate_rate(kind, placement, 1.0, held.along, j)
            held.coordinate[j, 0] = coordinate(kind, model.joint_lower[j], model.joint_upper[j], placement)
            held.coordinate[j, 1] = row_rate(held.along, j, state.velocity)


@bare
def run_motors(held, h, inverse_mass, inverse, v):
    """The rows of motors as they are to act in the next step, and what the efforts of joints do to the velocities v."""
    model, motors, along = held.model, held.motors, held.along
    for j in range(model.joint.size):
        i = held.motor[j]
        if i >= 0:
            q, lower, upper = held.coordinate[j, 0], model.joint_lower[j], model.joint_upper[j]
            error = from_target(model.joint[j], lower, upper, q, motors.target[j])
            motor_row(h, error, motors.speed[j], motors.stiffness[j], motors.gain[j], motors.strength[j], held.rows, i)
        impulse = h * motors.effort[j]
        if impulse != 0.0:
            a, b = along.body_a[j], along.body_b[j]
            push(inverse_mass[a], inverse[a], along.jacobian_a[j], impulse, v[a])
            push(inverse_mass[b], inverse[b], along.jacobian_b[j], impulse, v[b])


@bare
def articulate(held, state, h):
    """Rows, masses and factors at a state."""
    fill_joint_rows(held.model, state, h, held.rows, held.placement, held.turned)
    factorise_all(held, state)


@bare
def factorise_all(held, state):
    """Masses and factors for the rows that are filled."""
    model, tree = held.model, held.tree
    R = held.placement.orientation
    for b in tree.bodies:
        to_matrix(state.quaternion[b], R)
        mass_of(model, b, R, held.added[b], held.mass[b])
    rows = held.rows
    factorise(tree, held.mass, rows.jacobian_a, rows.jacobian_b, rows.compliance, held.factors)


@bare
def articulate_braced(held, state, h, impulse, v):
    """The same with the inertia that these impulses of the rows ask for, which v are to be the velocities with.
    Returns whether that is more than before."""
    model, placement = held.model, held.placement
    fill_joint_rows(model, state, h, held.rows, placement, held.turned)
    more = brace(model, state, held.rows, impulse, h, placement, held.added, held.added_before, held.hub, held.most, v)
    factorise_all(held, state)
    return more


@bare
def mass_of(model, b, R, added, M):
    """The mass of a body, world axes, with what is added to its inertia; zero where it cannot move."""
    for r in range(6):
        for c in range(6):
            M[r, c] = 0.0
    for r in range(3):
        if model.inverse_mass[b, r] > 0.0:
            M[r, r] = model.mass[b]
    if model.planar:
        M[4, 4] = model.inertia[b, 1, 1] + added[1, 1] if model.inverse_inertia[b, 1, 1] > 0.0 else 0.0
        return
    I = model.inertia[b]  # noqa: E741
    for r in range(3):
        x, y, z = times(I, R[r, 0], R[r, 1], R[r, 2])
        for c in range(3):
            M[3 + r, 3 + c] = R[c, 0] * x + R[c, 1] * y + R[c, 2] * z + added[r, c]


@bare
def rates(held, v, soft):
    """wanted <- G v + b of the rows; zero for those that are compliant, unless they are meant too."""
    rows, wanted = held.rows, held.wanted
    for i in range(wanted.size):
        wanted[i] = row_rate(rows, i, v) + rows.bias[i] if soft or rows.compliance[i] == 0.0 else 0.0


@bare
def row_rate(rows, i, v):
    rate, a, b = 0.0, rows.body_a[i], rows.body_b[i]
    for k in range(6):
        rate += rows.jacobian_a[i, k] * v[a, k] + rows.jacobian_b[i, k] * v[b, k]
    return rate


@bare
def hold(held, v, impulse):
    """v <- v + Δv with M Δv = Gᵀ λ, G Δv + Σ λ = -wanted; λ is added to the impulses."""
    tree, x = held.tree, held.factors.x
    for group in range(tree.group_start.size - 1):
        begin, end = tree.group_start[group], tree.group_start[group + 1]
        for k in range(begin, end):
            if tree.body[k] < 0:
                for r in range(tree.size[k]):
                    x[k, r] = held.wanted[tree.first_row[k] + r]
        substitute(tree, held.factors, group)
        for k in range(begin, end):
            b = tree.body[k]
            if b >= 0:
                for r in range(6):
                    v[b, r] += x[k, r]
            else:
                for r in range(tree.size[k]):
                    impulse[tree.first_row[k] + r] += x[k, r]
            for r in range(6):
                x[k, r] = 0.0


@bare
def halve(held, free, v, shares):
    """v <- ½ (v* + v⁺) of (3), from v = v⁺ and `free` = v*, and half of λ, where bodies move by the mean."""
    tree = held.tree
    for group in range(tree.group_start.size - 1):
        mine = bodies_of(tree, group)
        if shares[mine[0]] != MEAN:  # as all of a group
            continue
        for b in mine:
            for r in range(6):
                v[b, r] = 0.5 * (free[b, r] + v[b, r])
        for k in range(tree.group_start[group], tree.group_start[group + 1]):
            if tree.body[k] < 0:
                for r in range(tree.size[k]):
                    held.impulse[tree.first_row[k] + r] *= 0.5


@bare
def set_out(held, state, h, v, shares, turned):
    """Note where the bodies of joints are, and how far they will move but for d; `turned` is Π - I ω₀."""
    for b in held.tree.bodies:
        share = shares[b]
        for r in range(6):
            held.way[b, r] = h * (share * v[b, r] + (1.0 - share) * state.velocity[b, r])
        for r in range(3):
            held.pose[b, r] = state.position[b, r]
        for r in range(4):
            held.pose[b, 3 + r] = state.quaternion[b, r]
        square = held.way[b, 3] ** 2 + held.way[b, 4] ** 2 + held.way[b, 5] ** 2
        held.whirls[b] = share == MEAN and square * square * held.slim[b] > WHIRLS
        for r in range(3):
            held.late[b, r] = 0.5 * h * turned[b, r]


@bare
def fasten(held, state, h, v, tried):
    """(2): correct the positions, which have moved already, going on from the trial of the same step where there was
    one. d / h is added to v (nb, 6); then what was wrong at the start is taken back, which gives no speed. Returns
    whether rows have turned so far that others had to be taken."""
    if tried:
        go_the_way(held, state)
    else:
        start_out(held, state)
    far = correct(held, state, h, 1.0, 1.0 / h, v)
    for i in range(held.before.size):
        if held.before[i] != 0.0:
            begin_again(held)
            correct(held, state, h, 1.0 - RECOVERY, 0.0, v)
            break
    return far


@bare
def try_to_fasten(held, trial):
    """The first corrections of (2), with the rows and factors at the start, for a trial whose bodies have moved
    already. Returns whether joints hold then."""
    rows, start, holds = held.rows, held.start, False
    for i in range(start.size):
        start[i] = rows.error[i]
    start_out(held, trial)
    for _ in range(FEW_TURNS):
        largest = misfit(held, trial, 1.0)
        holds = not largest > NOTABLE
        if holds or not largest < SLOW * held.last[0]:
            break
        displace(held, trial, largest)
        holds = held.last[0] == 0.0
        if holds:
            break
    for i in range(start.size):
        rows.error[i] = start[i]
    return holds


@bare
def start_out(held, state):
    """Before the corrections of a step: the errors to be kept, which are none where they are small."""
    rows, before = held.rows, held.before
    for i in range(before.size):
        before[i] = rows.error[i] if rows.compliance[i] == 0.0 and abs(rows.error[i]) > NOTABLE else 0.0
    go_the_way(held, state)
    begin_again(held)


@bare
def begin_again(held):
    """No d and no ν yet."""
    held.last[0], held.largest[0] = np.inf, UNKNOWN
    for i in range(held.nu.size):
        held.nu[i] = 0.0
    for b in range(held.bent.shape[0]):
        for r in range(6):
            held.bent[b, r] = 0.0


@bare
def misfit(held, state, kept):
    """wanted <- what errors are beside `kept` times those at the start, unless it is that; the largest of it."""
    rows, wanted, largest = held.rows, held.wanted, 0.0
    if held.largest[0] != UNKNOWN:
        return held.largest[0]
    joint_errors(held.model, state, rows, held.placement, held.turned)
    for i in range(wanted.size):
        holds = rows.compliance[i] == 0.0 and rows.lower[i] == -np.inf
        wanted[i] = rows.error[i] - kept * held.before[i] if holds else 0.0
        largest = max(largest, abs(wanted[i]))
    held.largest[0] = largest
    return largest


@bare
def correct(held, state, h, kept, speed, v):
    """Newton's method for positions with the errors `kept` times those at the start; d times `speed` is added to v,
    unless bodies must be braced on the way: what comes to be taut in a step is stopped, and does not bounce. Returns
    whether rows other than those at the start were needed."""
    turned, stopped = 0, False
    for _ in range(NEWTON_LIMIT):
        if held.last[0] == 0.0:
            break
        largest = misfit(held, state, kept)
        if not largest > EXACT or turned > MOST_TURNS:
            break
        if not largest < SLOW * held.last[0]:  # the rows have turned: from here on with those of the end
            turned += 1
            if turned <= FEW_TURNS:
                articulate(held, state, h)
            else:
                bear(held, speed)
                stopped = articulate_braced(held, state, h, held.impulse, v) or stopped
        displace(held, state, largest)
    bear(held, speed)
    if not stopped:
        for b in held.tree.bodies:
            for r in range(6):
                v[b, r] += speed * held.bent[b, r]
    return turned > 0


@bare
def bear(held, speed):
    """Add ν to the impulses."""
    for i in range(held.nu.size):
        held.impulse[i] += speed * held.nu[i]
        held.nu[i] = 0.0


@bare
def displace(held, state, largest):
    """One correction of the positions by `wanted`, whose largest is given, or so much of it as turns no body by more
    than FARTHEST; it is the last one where the rate of that before says that no error is left."""
    shift, bodies = held.shift, held.tree.bodies
    held.largest[0] = UNKNOWN
    left = largest * largest / held.last[0]
    held.last[0] = 0.0 if 0.0 < left < 0.1 * EXACT else largest
    for b in bodies:
        for r in range(6):
            shift[b, r] = 0.0
    hold(held, shift, held.nu)
    most = 0.0
    for b in bodies:
        most = max(most, shift[b, 3] ** 2 + shift[b, 4] ** 2 + shift[b, 5] ** 2)
    if most > FARTHEST**2:
        for i in range(held.wanted.size):
            held.wanted[i] *= FARTHEST / math.sqrt(most) - 1.0
        hold(held, shift, held.nu)
    for b in bodies:
        for r in range(6):
            held.way[b, r] += shift[b, r]
            held.bent[b, r] += shift[b, r]
    go_the_way(held, state)


@bare
def go_the_way(held, state):
    """Where the bodies of joints are, from where they were and how far they move."""
    way, pose = held.way, held.pose
    for b in held.tree.bodies:
        for r in range(3):
            state.position[b, r] = pose[b, r] + way[b, r]
        for r in range(4):
            state.quaternion[b, r] = pose[b, 3 + r]
        x, y, z = way[b, 3], way[b, 4], way[b, 5]
        if held.whirls[b]:
            R = held.placement.orientation
            to_matrix(state.quaternion[b], R)
            x, y, z = turn_of(held.model.inertia[b], R, x, y, z, held.late[b])
        turn(state.quaternion[b], 1.0, x, y, z)
