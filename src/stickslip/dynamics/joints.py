"""The joints of one instant as rows of the step: (3) and (4) of friction/contact_problem.py.

Joint j fastens joint axes x, y, z and an anchor to each of its bodies. Seen from b, with e the anchor of a less the
anchor of b, θ the rotation that carries the axes of b to those of a, and q the coordinate:

    FIXED    e = 0, θ = 0
    BALL     e = 0
    HINGE    e = 0, z_a = z_b            q = angle of x_a about z_b
    SLIDER   e_x = e_y = 0, θ = 0        q = e_z

A row asks for 0 = g = rate + Σ λ + b, where rate = jacobian_a · v_a + jacobian_b · v_b is the derivative of e, θ or q:

    rigid        Σ = 0                   b = 0, and the error is kept by itself
    compliant    Σ = s / (h (h + c s))   b = error / (h + c s)
    limit        Σ = 0                   b = gap / h          λ in [0, ∞), gap = q - lower, or upper - q with -rate
    motor        Σ = 0                   b = -speed           λ in [-h strength, h strength]
    servo        Σ = 1 / (h (h k + g))   b = (k (q - target) - g speed) / (h k + g)           likewise

A servo is a motor with a stiffness k or a gain g: the spring λ/h = -k (q + h rate - target) - g (rate - speed), by
implicit Euler, as far as its strength goes. It is stable whatever k and g are. A hinge without two limits does not know
how often it has turned, and takes the shorter way to its target. What motors want may change from step to step, so
their rows are written anew at the start of each (dynamics/held.py). There an effort, a force or torque τ along q, acts
too: h τ, whatever else the joint does.

Compliance s = 1/k and damping c are those of each row, x, y, z of translations in m/N and N s/m, then of rotations in
rad/(N m) and N m s; a joint may be rigid in some directions and not in others. The row is
the spring λ/h = -k (error + h rate) - c rate, by implicit Euler, solved for the rate.

Translations are seen along the axes of b, at the anchor of a, from b's centre too: the rate is then the exact
derivative, and the impulses on a and b have no moment together, however far the anchors are apart. θ is the rotation
vector, for a hinge that of the shortest way from z_b to z_a: the rate is ω_a - ω_b, and though that is the derivative
of θ only at θ = 0, θ · rate is that of |θ|²/2 everywhere, so that a compliant joint has an energy. Neither sees an
error of exactly half a turn.

In a planar scene only translations in the plane and rotations about y have rows, and where neither body can give way
there are none. Which rows there are depends on the model alone, so the impulses of one step can start the next. In
particular a limit has its row wherever the joint is: no bound is known beforehand on how far a step may carry it.
A limited hinge turns within half a turn of the middle of its limits; where only one is given, of its zero.

RECOVERY. The positions of rigid joints are corrected after each step (dynamics/held.py), so what they are off by is
rounding. An error that was there at the start, bodies that do not fit, is taken back by this share in each step, by
moving the bodies and not by speeding them up. A limit only pushes: a joint that starts beyond it leaves it with the
speed of its recovery, which is that of overlaps, √(2 brake |gap|), at most (friction/stabilisation.py), with the brake
in rad/s² where it turns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.dynamics.rotations import to_matrix
from stickslip.errors import InputError
from stickslip.jit import bare, kernel
from stickslip.scene.model import Floats, Integers, Joint, Kind, Model

RECOVERY = 0.5  # the part of the error of a rigid joint, or of a limit passed, that a step takes back
MOTOR = "motor"
BALL, HINGE, SLIDER = int(Joint.BALL), int(Joint.HINGE), int(Joint.SLIDER)
FORCES, MOMENTS = (tuple(f"{kind} {axis}" for axis in "xyz") for kind in ("force", "moment"))
BOUNDED = ("lower limit", "upper limit", MOTOR)  # rows whose λ has bounds, by their names; the others are bilateral
PARTS = (*FORCES, *MOMENTS, *BOUNDED)  # what a row may be
MOMENT, LOWER, UPPER = 3, 6, 7  # numbers of PARTS: forces come before MOMENT, and all bilateral rows before LOWER
ALIGNED = 1e-9  # how far an axis of a planar joint may be out of the plane, or off its normal
SMALL = 1e-5  # square of the sine of an angle up to which three terms of a series are the angle


class JointRows(NamedTuple):
    """The rows that the joints of a scene have, joint after joint."""

    joint: Integers  # (nr,)
    part: Integers  # (nr,)       of PARTS
    body_a: Integers  # (nr,)
    body_b: Integers  # (nr,)
    jacobian_a: Floats  # (nr, 6)   row velocity = jacobian_a · v_a + jacobian_b · v_b
    jacobian_b: Floats  # (nr, 6)
    bias: Floats  # (nr,)         b   [m/s, rad/s]
    error: Floats  # (nr,)        of rigid rows, 0 for the others   [m, rad]
    compliance: Floats  # (nr,)   Σ   [1/kg, 1/(kg m²)]
    lower: Floats  # (nr,)        of λ   [N s, N m s]
    upper: Floats  # (nr,)


class Placement(NamedTuple):
    """Where the joint is, in world axes."""

    axes_a: Floats  # (3, 3)   axes_a[k] is the joint's axis k as fastened to a
    axes_b: Floats  # (3, 3)
    arm_a: Floats  # (3,)      from the centre of a to the anchor of a
    arm_b: Floats  # (3,)      from the centre of b to the anchor of a
    apart: Floats  # (3,)      from the anchor of b to the anchor of a
    orientation: Floats  # (3, 3)   of a, then of b, while the others are worked out


def room_for_joints(model: Model) -> JointRows:
    """The rows of the joints of `model`, yet to be filled; joints are checked to act in the plane where the scene is
    planar."""
    if model.planar:
        for j in range(model.joint.size):
            check_planar(Joint(model.joint[j]), j, model.joint_frame_a[j])
            check_planar(Joint(model.joint[j]), j, model.joint_frame_b[j])
    names = joint_row_names(model)
    rows = blank_rows(len(names))
    for i, (j, name) in enumerate(names):
        rows.joint[i], rows.part[i] = j, PARTS.index(name)
    return rows._replace(body_a=model.joint_a[rows.joint], body_b=model.joint_b[rows.joint])


def blank_rows(count: int) -> JointRows:
    joint, part, body_a, body_b = (np.zeros(count, np.int64) for _ in range(4))
    jacobian_a, jacobian_b = np.zeros((count, 6)), np.zeros((count, 6))
    return JointRows(joint, part, body_a, body_b, jacobian_a, jacobian_b, *(np.zeros(count) for _ in range(5)))


def check_planar(kind: Joint, j: int, frame: Floats) -> None:
    """One axis of the joint is normal to the plane y = 0: that of a hinge, but not that of a slider."""
    normal = np.abs(frame[1])  # how much of each joint axis is along y
    if np.minimum(normal, np.abs(normal - 1.0)).max() > ALIGNED:
        expected = "one of them along y"
    elif kind == Joint.HINGE and normal[2] < 0.5:
        expected = "the third along y"
    elif kind == Joint.SLIDER and normal[2] > 0.5:
        expected = "the third in the plane y = 0"
    else:
        return
    axes = ", ".join(f"({x:g}, {y:g}, {z:g})" for x, y, z in frame.T)
    raise InputError(f"Model: joint {j}, a {kind.name} of a planar scene, has axes {axes}, expected {expected}")


def joint_row_names(model: Model) -> tuple[tuple[int, str], ...]:
    """Of each row that `joint_rows` fills the joint, and what λ is: "force x" to "moment z" along the joint axes of b,
    "lower limit", "upper limit" or "motor"."""
    free, turning = model.kind == Kind.FREE, np.trace(model.inverse_inertia, axis1=1, axis2=2) > 0.0
    moves, turns = free[model.joint_a] | free[model.joint_b], turning[model.joint_a] | turning[model.joint_b]
    across = np.abs(model.joint_frame_b[:, 1]) > 0.5  # joint axes normal to the plane of a planar scene
    limited = model.joint_lower > -math.inf, model.joint_upper < math.inf, model.joint_strength > 0.0
    described = zip(*(column.tolist() for column in (model.joint, moves, turns, across, *limited)), strict=True)
    planar = bool(model.planar)
    return tuple((j, name) for j, joint in enumerate(described) for name in row_names(planar, *joint))


def row_names(
    planar: bool, kind: int, moves: bool, turns: bool, across: list[bool], lower: bool, upper: bool, motor: bool
) -> list[str]:
    """Of one joint."""
    hinge, slider = kind == HINGE, kind == SLIDER
    forces = 0 if not moves else 2 if slider else 3
    moments = 0 if not turns or kind == BALL else 2 if hinge else 3
    names = [FORCES[k] for k in range(forces) if not (planar and across[k])]
    names += [MOMENTS[k] for k in range(moments) if not planar or across[k]]
    if (turns and hinge) or (moves and slider):
        names += [name for name, there in (("lower limit", lower), ("upper limit", upper), (MOTOR, motor)) if there]
    return names


@kernel
def joint_rows(model, state, h, rows):
    """Fill `rows` for a step of size h from `state`."""
    fill_joint_rows(model, state, h, rows, unplaced(), np.zeros(3))


@bare
def fill_joint_rows(model, state, h, rows, placement, turned):
    """The same with room to work in."""
    q = 0.0
    for i in range(rows.joint.size):
        j, part = rows.joint[i], rows.part[i]
        if i == 0 or j != rows.joint[i - 1]:
            place_turned(model, state, j, placement, turned, True)
            q = coordinate(model.joint[j], model.joint_lower[j], model.joint_upper[j], placement)
        if part < MOMENT:
            axis = placement.axes_b[part]
            translation(placement, axis, 1.0, rows, i)
            hold(h, dot(axis, placement.apart), model.joint_compliance[j, part], model.joint_damping[j, part], rows, i)
        elif part < LOWER:
            axis = placement.axes_b[part - MOMENT]
            rotation(axis, 1.0, rows, i)
            hold(h, dot(axis, turned), model.joint_compliance[j, part], model.joint_damping[j, part], rows, i)
        elif part == LOWER:
            coordinate_rate(model.joint[j], placement, 1.0, rows, i)
            stop(h, q - model.joint_lower[j], rows, i)
        elif part == UPPER:
            coordinate_rate(model.joint[j], placement, -1.0, rows, i)
            stop(h, model.joint_upper[j] - q, rows, i)
        else:
            coordinate_rate(model.joint[j], placement, 1.0, rows, i)
            motor_row(h, 0.0, model.joint_target[j], 0.0, 0.0, model.joint_strength[j], rows, i)


@bare
def joint_errors(model, state, rows, placement, turned):
    """The errors of the rigid rows at another state than that which `rows` were filled at, in place."""
    for i in range(rows.joint.size):
        j, part = rows.joint[i], rows.part[i]
        if i == 0 or j != rows.joint[i - 1]:
            place_turned(model, state, j, placement, turned, False)
        if part < LOWER and model.joint_compliance[j, part] == 0.0:
            if part < MOMENT:
                rows.error[i] = dot(placement.axes_b[part], placement.apart)
            else:
                rows.error[i] = dot(placement.axes_b[part - MOMENT], turned)


@bare
def coordinate(kind, lower, upper, placement):
    """The angle of a hinge, the travel of a slider."""
    a, b = placement.axes_a, placement.axes_b
    if kind == Joint.SLIDER:
        return dot(b[2], placement.apart)
    if kind != Joint.HINGE:
        return math.nan
    # the turn about z in the turn from b to a, also where the two z differ
    angle = math.atan2(dot(a[0], b[1]) - dot(a[1], b[0]), dot(a[0], b[0]) + dot(a[1], b[1]))
    if lower > -math.inf and upper < math.inf:
        turns = (angle - 0.5 * (lower + upper)) / (2.0 * math.pi)
        angle -= 2.0 * math.pi * math.floor(turns + 0.5)
    return angle


@bare
def motor_row(h, error, speed, stiffness, gain, strength, rows, i):
    """Row i is a motor; one with a stiffness or a gain is a servo, `error` away from its target."""
    soft = h * stiffness + gain
    rows.bias[i] = (stiffness * error - gain * speed) / soft if soft > 0.0 else -speed
    rows.compliance[i] = 1.0 / (h * soft) if soft > 0.0 else 0.0
    rows.lower[i], rows.upper[i] = -h * strength, h * strength


@bare
def from_target(kind, lower, upper, q, target):
    """How far the coordinate is from a target; on a hinge without two limits by the shorter way."""
    error = q - target
    if kind == Joint.HINGE and not (lower > -math.inf and upper < math.inf):
        error -= 2.0 * math.pi * math.floor(error / (2.0 * math.pi) + 0.5)
    return error


@bare
def is_limit(rows, i):
    """Is row i that of a limit? A motor's has bounds on both sides, or on none."""
    return rows.lower[i] == 0.0 and rows.upper[i] == math.inf


@bare
def coordinate_rate(kind, placement, sign, rows, i):
    """Row i is the rate of the coordinate, times sign."""
    if kind == Joint.HINGE:
        rotation(placement.axes_b[2], sign, rows, i)
    else:
        translation(placement, placement.axes_b[2], sign, rows, i)


@bare
def translation(placement, axis, sign, rows, i):
    """Row i is the rate, times sign, at which the anchor of a moves along an axis of b as b sees it."""
    arm_a, arm_b = placement.arm_a, placement.arm_b
    for k in range(3):
        x, y = (k + 1) % 3, (k + 2) % 3
        rows.jacobian_a[i, k] = sign * axis[k]
        rows.jacobian_b[i, k] = -sign * axis[k]
        rows.jacobian_a[i, 3 + k] = sign * (arm_a[x] * axis[y] - arm_a[y] * axis[x])
        rows.jacobian_b[i, 3 + k] = -sign * (arm_b[x] * axis[y] - arm_b[y] * axis[x])
    leave_free(rows, i)


@bare
def rotation(axis, sign, rows, i):
    """Row i is the rate, times sign, at which a turns about an axis of b as b sees it."""
    for k in range(3):
        rows.jacobian_a[i, k] = rows.jacobian_b[i, k] = 0.0
        rows.jacobian_a[i, 3 + k] = sign * axis[k]
        rows.jacobian_b[i, 3 + k] = -sign * axis[k]
    leave_free(rows, i)


@bare
def leave_free(rows, i):
    """Row i asks for no rate, and bounds no impulse: what it is for is said next."""
    rows.bias[i] = rows.compliance[i] = rows.error[i] = 0.0
    rows.lower[i], rows.upper[i] = -math.inf, math.inf


@bare
def hold(h, error, s, c, rows, i):
    """Row i holds still, with its error kept beside, or takes it back as a spring of compliance s and a damper c do."""
    if s == 0.0:
        rows.error[i] = error
    else:
        rows.bias[i] = error / (h + c * s)
        rows.compliance[i] = s / (h * (h + c * s))


@bare
def stop(h, gap, rows, i):
    """Row i lets the gap close but not more, and takes back RECOVERY of what is past the limit."""
    rows.bias[i] = gap / h if gap > 0.0 else RECOVERY * gap / h
    rows.lower[i] = 0.0


@bare
def asked(rows, i, h, brake):
    """b of row i; of a limit that is passed no more than what a deceleration `brake` stops at the limit."""
    b = rows.bias[i]
    return max(b, -math.sqrt(-2.0 * brake * h * b / RECOVERY)) if b < 0.0 and is_limit(rows, i) else b


@bare
def rotation_between(placement, first, turned):
    """The rotation vector, world axes, that carries the axes of b to those of a: z alone (first = 2), or all (0)."""
    a, b = placement.axes_a, placement.axes_b
    x, y, z = 0.0, 0.0, 0.0  # the axis times the sine of the angle, twice that with all three axes
    cosine = 0.0 if first == 2 else -1.0  # likewise
    for k in range(first, 3):
        cosine += dot(a[k], b[k])
        x += b[k, 1] * a[k, 2] - b[k, 2] * a[k, 1]
        y += b[k, 2] * a[k, 0] - b[k, 0] * a[k, 2]
        z += b[k, 0] * a[k, 1] - b[k, 1] * a[k, 0]
    square = x * x + y * y + z * z
    if cosine > 0.0 and square < SMALL:  # the series of θ / sin θ, exact to rounding
        s, scale = (square, 1.0) if first == 2 else (0.25 * square, 0.5)
        scale *= 1.0 + s * (1.0 / 6.0 + s * (3.0 / 40.0))
    else:
        sine = math.sqrt(square)
        scale = math.atan2(sine, cosine) / sine if sine > 0.0 else 1.0
    turned[0], turned[1], turned[2] = scale * x, scale * y, scale * z


@bare
def place_turned(model, state, j, placement, turned, whole):
    """Write where joint j is into `placement`, and the rotation that its rows ask for into `turned`; of the axes of a,
    unless `whole`, those alone that this asks for. A ball asks for none."""
    kind = model.joint[j]
    first = 3 if kind == Joint.BALL else 2 if kind == Joint.HINGE else 0
    place(model, state, j, placement, 0 if whole and first == 2 else first)
    if kind != Joint.BALL:
        rotation_between(placement, first, turned)


@bare
def place(model, state, j, placement, first):
    """Write where joint j is into `placement`, with the axes of a from the first that is asked for on."""
    b, R, F_a, F_b = model.joint_b[j], placement.orientation, model.joint_frame_a[j], model.joint_frame_b[j]
    anchor_b, arm_b, apart = model.joint_anchor_b[j], placement.arm_b, placement.apart
    place_arms(model, state, j, placement)
    for k in range(first, 3):
        rotate(R, F_a[0, k], F_a[1, k], F_a[2, k], placement.axes_a[k])
    to_matrix(state.quaternion[b], R)
    rotate(R, anchor_b[0], anchor_b[1], anchor_b[2], apart)  # so far from the centre of b to its own anchor
    for k in range(3):
        rotate(R, F_b[0, k], F_b[1, k], F_b[2, k], placement.axes_b[k])
        apart[k] = arm_b[k] - apart[k]


@bare
def place_arms(model, state, j, placement):
    """Write the arms of joint j, and the orientation of its body a, into `placement`."""
    a, b, R, anchor = model.joint_a[j], model.joint_b[j], placement.orientation, model.joint_anchor_a[j]
    to_matrix(state.quaternion[a], R)
    rotate(R, anchor[0], anchor[1], anchor[2], placement.arm_a)
    for k in range(3):
        placement.arm_b[k] = state.position[a, k] + placement.arm_a[k] - state.position[b, k]


@kernel
def unplaced():
    return Placement(np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3), np.empty((3, 3)))


@bare
def rotate(R, x, y, z, image):
    for k in range(3):
        image[k] = R[k, 0] * x + R[k, 1] * y + R[k, 2] * z


@bare
def dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
