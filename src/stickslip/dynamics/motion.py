"""How a body moves between contacts: gravity, applied forces, and the gyroscopic term.

Angular momentum in body axes Π = I ω obeys Π' = Π × ω: it turns against the body. A step of the implicit midpoint rule
with the exponential map, ω constant over the step and I ω the mean of Π at its two ends,

    Π⁺ = exp(-h ω) Π,      I ω = ½ (Π + Π⁺)                                                                   (1)

keeps the energy ½ Π·I⁻¹Π and the angular momentum in world axes exactly: Π⁺ - Π is at right angles to ω, and the body
turns by exp(h ω). Both halves have a closed form, because the mean of a vector and its image under a rotation by the
angle h|ω| is half way between them:

    Π  = I ω + a ω × I ω,    Π⁺ = I ω - a ω × I ω,    a = tan(h|ω|/2) / |ω|                                   (2)

The first, solved for the mean ω̄ by Newton's method, starts the step (`free_motion`): to second order the body would end
it with ω₀ = 2 ω̄ - I⁻¹Π. Where it turns by more than about 2 rad Newton's method may not end. It then turns about its
momentum, ω̄ = Π (ω·Π)/|Π|² with Π⁺ = Π, which keeps energy and momentum exactly as well; it does not precess. Torques,
contacts and joints turn ω₀ into ω⁺, with the inertia at the start, and their impulses I (ω⁺ - ω₀) are added to the
angular momentum, which at the end of the step (`arrive`) is in world axes

    R⁺ Π⁺ = R (Π + I (ω⁺ - ω₀))                                                                              (3)

A body moves (`move`) with the mean of its velocities at the two ends of the step, ½ (v + v⁺) and ½ (I⁻¹Π + ω⁺): exact
under constant forces, second order otherwise, and ω̄ where nothing acts. Where it is hit it moves with v⁺, all of the
step, so that what has been stopped at a surface stays there; where it bounces, with a share of it (friction/terms.py).

So bodies that only act on each other keep theirs exactly. But where a slim body is pushed while it turns far, (3) may
leave its momentum along an axis about which that is a lot of energy, up to (length/width)² times what it had. What it
may have is the energy at the start and what the push gave it, with the inertia at the start,

    2 E = Π·I⁻¹Π + ω⁺·I ω⁺ - ω₀·I ω₀                                                                         (4)

which is what (3) has where nothing pushes. Where the body turns by more than FAR, and (3) has more than (4) by
MOST_GAIN of what it had or got, Π⁺ is taken on the way from (3) to the momentum that turned with the body, as near to
(3) as the energy allows (`lessened`): there energy is kept, and momentum to the order of the step.

Joints that pull all the time are another matter. What moves by the mean has half of their impulses at the start of the
step, and with these the momentum Π + I (ω - ω₀), ω the half kicked spin. A free body would turn with the ω̄ of (1) for
that momentum. With the mean w of its velocities it turns as far to second order, but a little of its momentum comes to
be along another axis: a slim rod that whirls about one end, by θ in a step, spins up about its own axis, by the share
θ⁴/16 I_max/I_min in each step, until all its energy is there. So bodies of joints for which θ⁴ I_max/I_min is more than
WHIRLS turn by h ω̄ (dynamics/held.py),

    I ω̄ + a ω̄ × I ω̄ = Π + I (ω - ω₀) = I w + ½ (Π - I ω₀)                                                     (5)

To first order in h the gyroscopic terms add up to the usual torque -ω × I ω. Where I is a multiple of the
identity they vanish, and in the plane too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.dynamics.rotations import SMALL, to_matrix, turn
from stickslip.jit import bare, inlined
from stickslip.scene.model import Floats, Integers, Kind, Model

Booleans = NDArray[np.bool_]
STATIC, MOVING, FREE = int(Kind.STATIC), int(Kind.MOVING), int(Kind.FREE)
MEAN, END = 0.5, 1.0  # shares of v⁺ in the velocity by which a body moves
NEWTON_LIMIT = 20
CLOSE, LOST = 1e-15, 1e-6  # relative Newton steps: after which ω is exact to rounding, and of one that does not end
FURTHER = 0.01  # of a body's radius, by which it may come further than contacts were looked for
WHIRLS = 1.6e-3  # θ⁴ I_max/I_min above which bodies of joints turn by (5); at it a spin grows by 1e-4 in a step
FAR, MOST_GAIN = 0.1, 1e-2  # angle [rad], and share of its energy that a body may gain by turning so far
EYE = np.eye(3)


class Bodies(NamedTuple):
    """What motion needs of a Model, and room for what it computes. (The whole Model costs time at every call.)"""

    gravity: Floats  # (3,)
    planar: bool
    kind: Integers  # (nb,)
    inverse_mass: Floats  # (nb, 3)
    inertia: Floats  # (nb, 3, 3)
    inverse_inertia: Floats  # (nb, 3, 3)   body axes
    radius: Floats  # (nb,)   of a ball about the centre of mass that holds the body; 0 for a plane
    force: Floats  # (nb, 6)   force and torque in this step, world axes
    told: Floats  # (nb, 6)   by which the velocities of bodies that move as prescribed change in this step
    root_mass: Floats  # (nb, 3)   √ of the inverse masses
    root_inertia: Floats  # (nb, 3, 3)   S with S Sᵀ = I⁻¹, body axes
    R: Floats  # (nb, 3, 3)   body axes to world axes; of free bodies where they turn, or `orient` was asked
    root: Floats  # (nb, 3, 3)   R S: that of the inverse inertia in world axes
    inverse: Floats  # (nb, 3, 3)   inverse inertias, world axes
    reach: Floats  # (nb,)   how far the surface may come in this step
    further: Floats  # (nb,)   how far it came in a try of this step, where that was more
    v: Floats  # (nb, 6)   velocities at the end of this step
    turned: Floats  # (nb, 3)   Π - I ω₀ of (3), world axes; zero where I is a multiple of the identity
    alike: Booleans  # (nb,)   whether it is
    oriented: Booleans  # (nb,)   whether R, root and inverse are those of this step: see `orient`
    room: Floats  # (3, 3)


def bodies_of(model: Model) -> Bodies:
    count = model.kind.size
    return Bodies(
        model.gravity,
        model.planar,
        model.kind,
        model.inverse_mass,
        model.inertia,
        model.inverse_inertia,
        radii(model),
        np.concatenate([model.force, model.torque], axis=1),
        np.zeros((count, 6)),
        np.sqrt(model.inverse_mass),
        square_roots(model.inverse_inertia),
        np.empty((count, 3, 3)),
        np.zeros((count, 3, 3)),
        np.zeros((count, 3, 3)),
        np.empty(count),
        np.zeros(count),
        np.empty((count, 6)),
        np.zeros((count, 3)),
        (model.inertia == model.inertia[:, :1, :1] * EYE).all(axis=(1, 2)),
        np.zeros(count, np.bool_),
        np.empty((3, 3)),
    )


def square_roots(K: Floats) -> Floats:
    """S with S Sᵀ = K of symmetric matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


def radii(model: Model) -> Floats:
    """Of balls about the centres of mass that hold the bodies; planes count for nothing, as they do not turn."""
    far = np.linalg.norm(model.shape_position, axis=1) + model.shape_bound
    radius = np.zeros(model.kind.size)
    np.maximum.at(radius, model.shape_body, np.where(np.isfinite(far), far, 0.0))
    return radius


@bare
def free_motion(bodies, state, h):
    """Fill reach, turned and v: the velocities at the end of the step without contacts and joints."""
    g, R, v, turned = bodies.gravity, bodies.R, bodies.v, bodies.turned
    fall = h * h * math.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    for i in range(v.shape[0]):
        for a in range(6):  # a slice would cost a call
            v[i, a] = state.velocity[i, a]
        bodies.reach[i] = h * surface_speed(state.velocity[i], bodies.radius[i])
        if bodies.kind[i] != FREE:
            to_matrix(state.quaternion[i], R[i])
            for a in range(6):
                v[i, a] += bodies.told[i, a]
            continue
        bodies.oriented[i] = False
        if not (bodies.planar or bodies.alike[i]):
            turned[i, 0] = turned[i, 1] = turned[i, 2] = 0.0
            if turns(v[i]):
                to_matrix(state.quaternion[i], R[i])
                to_free_end(bodies.inertia[i], R[i], h, v[i], turned[i])
        pushed(g, bodies.inverse_mass[i], bodies.force[i], h, v[i])
        if turns(bodies.force[i]):
            orient(bodies, state, i)
            twist(bodies.inverse[i], bodies.force[i], h, v[i])
        way = h * surface_speed(v[i], bodies.radius[i])
        bodies.reach[i] = max(bodies.reach[i] + fall, way, bodies.further[i])


@bare
def surface_speed(v, radius):
    """The greatest speed on the surface of a ball that moves with v."""
    spin = math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + spin * radius


@bare
def comes_further(bodies, h, v, i):
    """Does the surface of a body come further with the velocities v than contacts were looked for, by more than FURTHER
    of its size? `reach` and `further` then say how far."""
    if bodies.kind[i] != FREE:
        return False
    way = h * surface_speed(v[i], bodies.radius[i])
    if not way > bodies.reach[i] + FURTHER * bodies.radius[i]:
        return False
    bodies.reach[i] = bodies.further[i] = way
    return True


@bare
def orient(bodies, state, i):
    """Fill R, root and inverse of a free body, where this step has not yet: of many bodies some only fall."""
    if not bodies.oriented[i]:
        to_matrix(state.quaternion[i], bodies.R[i])
        to_world(bodies.root_inertia[i], bodies.R[i], bodies.root[i], bodies.inverse[i])
        bodies.oriented[i] = True


@bare
def orient_all(bodies, state):
    for i in range(bodies.kind.size):
        if bodies.kind[i] == FREE:
            orient(bodies, state, i)


@bare
def to_world(S, R, root, inverse):
    """R S, and R S Sᵀ Rᵀ."""
    for a in range(3):
        x, y, z = R[a, 0], R[a, 1], R[a, 2]
        for b in range(3):
            root[a, b] = x * S[0, b] + y * S[1, b] + z * S[2, b]
    for a in range(3):
        x, y, z = root[a, 0], root[a, 1], root[a, 2]
        for b in range(a + 1):
            inverse[a, b] = inverse[b, a] = x * root[b, 0] + y * root[b, 1] + z * root[b, 2]


@bare
def pushed(g, m, force, h, v):
    """v after a time h under gravity and a force."""
    for a in range(3):
        if m[a] > 0.0:
            v[a] += h * (g[a] + m[a] * force[a])


@bare
def turns(v):
    """Has a velocity a spin, or a force a torque?"""
    return v[3] != 0.0 or v[4] != 0.0 or v[5] != 0.0


@bare
def twist(K, force, h, v):
    """v after a time h under a torque, but for the gyroscopic term."""
    for a in range(3):
        v[3 + a] += h * (K[a, 0] * force[3] + K[a, 1] * force[4] + K[a, 2] * force[5])


@bare
def to_free_end(I, R, h, v, turned):  # noqa: E741
    """From ω = I⁻¹ Π at the start of a step to ω₀ and Π - I ω₀ of (3), all in world axes, by Newton's method."""
    s_x, s_y, s_z = times_transposed(R, v[3], v[4], v[5])  # body axes
    p_x, p_y, p_z = times(I, s_x, s_y, s_z)
    x, y, z = mean_spin(I, h, s_x, s_y, s_z, p_x, p_y, p_z)
    l_x, l_y, l_z = times(I, x, y, z)
    turned[0], turned[1], turned[2] = times(R, 2.0 * (p_x - l_x), 2.0 * (p_y - l_y), 2.0 * (p_z - l_z))
    v[3], v[4], v[5] = times(R, 2.0 * x - s_x, 2.0 * y - s_y, 2.0 * z - s_z)


@bare
def turn_of(I, R, x, y, z, t):  # noqa: E741
    """The turn h ω̄ of (5) for h w = (x, y, z) and ½ h (Π - I ω₀) = t, world axes."""
    x, y, z = times_transposed(R, x, y, z)
    p_x, p_y, p_z = times(I, x, y, z)
    t_x, t_y, t_z = times_transposed(R, t[0], t[1], t[2])
    x, y, z = mean_spin(I, 1.0, x, y, z, p_x + t_x, p_y + t_y, p_z + t_z)
    return times(R, x, y, z)


@inlined
def mean_spin(I, h, s_x, s_y, s_z, p_x, p_y, p_z):  # noqa: E741
    """ω̄ of (2) for the momentum Π = (p_x, p_y, p_z), from a spin near it, by Newton's method; body axes."""
    x, y, z = s_x, s_y, s_z
    for _ in range(NEWTON_LIMIT):
        l_x, l_y, l_z = times(I, x, y, z)
        a = half_tangent(h, x, y, z)
        d_x, d_y, d_z = newton_step(
            I, x, y, z, l_x, l_y, l_z, a,
            l_x + a * (y * l_z - z * l_y) - p_x,
            l_y + a * (z * l_x - x * l_z) - p_y,
            l_z + a * (x * l_y - y * l_x) - p_z,
        )  # fmt: skip
        x, y, z = x - d_x, y - d_y, z - d_z
        if abs(d_x) + abs(d_y) + abs(d_z) <= CLOSE * (abs(x) + abs(y) + abs(z)):
            break
    if not abs(d_x) + abs(d_y) + abs(d_z) <= LOST * (abs(x) + abs(y) + abs(z)):
        s = (s_x * p_x + s_y * p_y + s_z * p_z) / (p_x * p_x + p_y * p_y + p_z * p_z)
        x, y, z = s * p_x, s * p_y, s * p_z
    return x, y, z


@bare
def newton_step(I, x, y, z, l_x, l_y, l_z, a, f_x, f_y, f_z):  # noqa: E741
    """The solution of (I + a [ω]× I - a [I ω]×) d = f, the derivative of (2) but for that of a."""
    a_1, a_2 = I[0, 0] + a * (y * I[2, 0] - z * I[1, 0]), I[0, 1] + a * (y * I[2, 1] - z * I[1, 1] + l_z)
    a_3, b_1 = I[0, 2] + a * (y * I[2, 2] - z * I[1, 2] - l_y), I[1, 0] + a * (z * I[0, 0] - x * I[2, 0] - l_z)
    b_2, b_3 = I[1, 1] + a * (z * I[0, 1] - x * I[2, 1]), I[1, 2] + a * (z * I[0, 2] - x * I[2, 2] + l_x)
    c_1, c_2 = I[2, 0] + a * (x * I[1, 0] - y * I[0, 0] + l_y), I[2, 1] + a * (x * I[1, 1] - y * I[0, 1] - l_x)
    c_3 = I[2, 2] + a * (x * I[1, 2] - y * I[0, 2])
    k_1, k_2, k_3 = b_2 * c_3 - b_3 * c_2, b_3 * c_1 - b_1 * c_3, b_1 * c_2 - b_2 * c_1
    det = a_1 * k_1 + a_2 * k_2 + a_3 * k_3
    return (
        (f_x * k_1 + f_y * (a_3 * c_2 - a_2 * c_3) + f_z * (a_2 * b_3 - a_3 * b_2)) / det,
        (f_x * k_2 + f_y * (a_1 * c_3 - a_3 * c_1) + f_z * (a_3 * b_1 - a_1 * b_3)) / det,
        (f_x * k_3 + f_y * (a_2 * c_1 - a_1 * c_2) + f_z * (a_1 * b_2 - a_2 * b_1)) / det,
    )


@bare
def half_tangent(h, x, y, z):
    """a of (2)."""
    t = 0.25 * h * h * (x * x + y * y + z * z)  # square of half the angle
    if t < SMALL:  # the series of its tangent over it, exact to rounding
        return 0.5 * h * (1.0 + t / 3.0 * (1.0 + t * 0.4 * (1.0 + t * (17.0 / 42.0) * (1.0 + t * (62.0 / 153.0)))))
    half = math.sqrt(t)
    return 0.5 * h * math.tan(half) / half


@bare
def times(A, x, y, z):
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@bare
def times_transposed(A, x, y, z):
    return (
        A[0, 0] * x + A[1, 0] * y + A[2, 0] * z,
        A[0, 1] * x + A[1, 1] * y + A[2, 1] * z,
        A[0, 2] * x + A[1, 2] * y + A[2, 2] * z,
    )


@bare
def move(bodies, state, h, v, shares):
    """Move every body for a time h, with v (nb, 6) at its end, by its share (nb,) of v and the rest of that before."""
    for i in range(v.shape[0]):
        move_body(bodies.kind[i], state, i, h, v[i], shares[i])


@bare
def move_body(kind, state, i, h, v, share):
    if kind == STATIC:
        return
    before, rest = state.velocity[i], 1.0 - share
    for a in range(3):
        state.position[i, a] += h * (share * v[a] + rest * before[a])
    turn(
        state.quaternion[i], h,
        share * v[3] + rest * before[3], share * v[4] + rest * before[4], share * v[5] + rest * before[5],
    )  # fmt: skip


@bare
def drift(state, h):
    """Move every body with its velocity for a time h."""
    for i in range(state.position.shape[0]):
        for a in range(3):
            state.position[i, a] += h * state.velocity[i, a]
        turn(state.quaternion[i], h, state.velocity[i, 3], state.velocity[i, 4], state.velocity[i, 5])


@bare
def arrive(bodies, state, v):
    """Leave in the state, whose bodies have been moved, the velocities at the end of the step: v, and (3) for spins."""
    for i in range(v.shape[0]):
        arrive_body(bodies, state, i, v[i])


@bare
def arrive_body(bodies, state, i, v):
    if bodies.kind[i] == STATIC:
        return
    end = state.velocity[i]
    s_x, s_y, s_z = end[3], end[4], end[5]
    for a in range(6):
        end[a] = v[a]
    if bodies.kind[i] != FREE or bodies.planar or bodies.alike[i]:
        return
    t = bodies.turned[i]
    if t[0] != 0.0 or t[1] != 0.0 or t[2] != 0.0 or turns(v):
        to_end(bodies, i, s_x, s_y, s_z, state.quaternion[i], end)


@bare
def to_end(bodies, i, x, y, z, q, v):
    """From ω⁺ to I⁻¹ Π⁺ of (3) with the spin (x, y, z) at the start and the orientation q at the end of the step; world
    axes."""
    R, I, K, t = bodies.R[i], bodies.inertia[i], bodies.inverse_inertia[i], bodies.turned[i]  # noqa: E741
    end = bodies.room
    t_x, t_y, t_z = times_transposed(R, t[0], t[1], t[2])
    x, y, z = times_transposed(R, x, y, z)
    p_x, p_y, p_z = times(I, x, y, z)
    had, free = weighed(K, p_x, p_y, p_z), weighed(K, p_x - t_x, p_y - t_y, p_z - t_z)  # Π, and I ω₀ = Π - t
    x, y, z = times_transposed(R, v[3], v[4], v[5])
    c_x, c_y, c_z = times(I, x, y, z)
    got = c_x * x + c_y * y + c_z * z
    c_x, c_y, c_z = c_x + t_x, c_y + t_y, c_z + t_z
    x, y, z = times(R, c_x, c_y, c_z)
    to_matrix(q, end)
    x, y, z = times_transposed(end, x, y, z)
    most = max(0.0, had + got - free) + MOST_GAIN * max(had, got)
    if weighed(K, x, y, z) > most and turns_far(R, end):
        x, y, z = lessened(K, most, x, y, z, c_x, c_y, c_z)
    x, y, z = times(K, x, y, z)
    v[3], v[4], v[5] = times(end, x, y, z)


@bare
def turns_far(R, end):
    """Are two orientations more than FAR apart? The trace of Rᵀ R⁺ is 1 + 2 cos of the angle."""
    trace = 0.0
    for a in range(3):
        for b in range(3):
            trace += R[a, b] * end[a, b]
    return trace < 1.0 + 2.0 * math.cos(FAR)


@bare
def weighed(K, x, y, z):
    """Twice the energy of a momentum in body axes."""
    k_x, k_y, k_z = times(K, x, y, z)
    return x * k_x + y * k_y + z * k_z


@bare
def lessened(K, most, x, y, z, c_x, c_y, c_z):
    """The point of the way from (x, y, z), which weighs more than `most`, to c that is the first to weigh that; c is
    made smaller where it weighs more."""
    weight = weighed(K, c_x, c_y, c_z)
    s = math.sqrt(most / weight) if weight > most else 1.0
    d_x, d_y, d_z = s * c_x - x, s * c_y - y, s * c_z - z
    k_x, k_y, k_z = times(K, d_x, d_y, d_z)
    b, c = -(x * k_x + y * k_y + z * k_z), weighed(K, x, y, z) - most
    s = min(1.0, c / (b + math.sqrt(max(0.0, b * b - c * (d_x * k_x + d_y * k_y + d_z * k_z)))))
    return x + s * d_x, y + s * d_y, z + s * d_z
