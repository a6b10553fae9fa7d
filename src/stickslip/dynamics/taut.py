"""Light bodies that joints pull at hard: inertia that lets a step follow them.

A force f on a body at the arm r, both in world axes, has the moment r × f, and turning the body by θ changes it: the
joint's geometric stiffness, (θ × r)·(θ × f) = θᵀ K θ. A link of 1 g that carries a tonne swings between its joints at
√(K / I), in tens of microseconds. RATTLE, explicit in the directions of its rows, can follow ω h < 2 and no more:
beyond, its positions have no solution, and joints come apart. Nothing that is slower depends on such a swing. So where
a step cannot follow it, the body turns as if its inertia were greater, as in the implicit step of Tournier et al. [1]
and, as much as stability asks for and no more, in Andrews et al. [2]:

    I <- I + (1 - 1/ρ) h² K / ω²,      ρ = tr(I⁻¹ K) h² / ω² where that exceeds 1, ω = FOLLOWED                (1)

with I about the joint where that does not move, so h² K <= ω² I after it, and the fastest swing has ω rad a step. K is
bounded by what has no negative part, as a link that is pushed would fall over as fast,

    K <= |r||f| (1 - ½ (r̂ r̂ᵀ + f̂ f̂ᵀ)) + |m|                                                                  (2)

with equality where f pulls along r; m is the moment that the joint carries. Forces are those of the step before, or of
the present one where its positions do not converge. In smaller steps (1) changes nothing, and mass never changes: what
hangs still carries the same loads.

What is added brings no energy. From one step to the next A = I - R I₀ Rᵀ becomes A', and directions in which it grows
beside others in which it shrinks are taken apart: the part D of A' - A without negative eigenvalues joins at rest, and
then what is too much is let go at the spin that is there,

    ω <- ω - (I + D)⁻¹ D ω,      I <- R I₀ Rᵀ + A' <= I + D                                                    (3)

each of which only lowers ½ ωᵀ I ω. Without it a link that turns would trade spin about axes that are braced for spin
about its own, which is not, and gain a thousandfold.

[1] Tournier, Nesme, Gilles, Faure, Stable constrained dynamics, ACM Transactions on Graphics 34 (2015) 132.
[2] Andrews, Teichmann, Kry, Geometric stiffness for real-time constrained multibody dynamics, Computer Graphics Forum
    36 (2017) 235-246.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.dynamics.joints import LOWER, MOMENT, place_arms
from stickslip.dynamics.motion import times, twist
from stickslip.dynamics.rotations import to_matrix
from stickslip.jit import bare
from stickslip.scene.model import Joint, Kind

FOLLOWED = 1.5  # rad a step of the fastest swing
JACOBI = 6  # sweeps of rotations at most
ROUNDED = 1e-16  # share of a diagonal up to which what is beside it is rounding


@bare
def brace(model, state, rows, impulse, h, placement, added, before, hub, most, v):
    """added (nb, 3, 3) <- the inertia that (1) adds to each body, world axes, for these impulses of rows; spins of v
    become those with what is added more than `before`. Returns whether something is. `hub` (nb, 3, 3) and `most` (nb,)
    are room."""
    for b in range(added.shape[0]):
        for r in range(3):
            for c in range(3):
                before[b, r, c], added[b, r, c], hub[b, r, c] = added[b, r, c], 0.0, 0.0
    scale, i, more = h / FOLLOWED**2, np.int64(0), False  # a bare 0 is a type of its own to Numba
    if not may_swing(model, state, rows, impulse, scale, most):
        return False
    for j in range(model.joint.size):
        x, y, z, moment, i = pulled(rows, impulse, i, j)
        a, b = model.joint_a[j], model.joint_b[j]
        if most[a] <= 1.0 and most[b] <= 1.0:
            continue
        place_arms(model, state, j, placement)
        stiffen(model, a, placement.arm_a, x, y, z, moment, scale, added)
        stiffen(model, b, placement.arm_b, x, y, z, moment, scale, added)
        if model.joint[j] != Joint.SLIDER:
            if model.kind[b] != Kind.FREE:
                turn_about(model.mass[a], placement.arm_a, hub[a])
            elif model.kind[a] != Kind.FREE:
                turn_about(model.mass[b], placement.arm_b, hub[b])
    for b in range(added.shape[0]):
        if added[b, 0, 0] != 0.0 or added[b, 1, 1] != 0.0 or added[b, 2, 2] != 0.0:
            to_matrix(state.quaternion[b], placement.orientation)
            keep_excess(model, b, placement.orientation, hub[b], placement.axes_a, added[b])
            more = more or trace(added[b]) > trace(before[b])
            join(model, b, placement, before[b], added[b], hub[b], v[b])
    return more


@bare
def pulled(rows, impulse, i, j):
    """The impulse that joint j gives body a, and the size of its moment, from its rows, which begin at i; and where
    those of the next one begin. Limits and motors are left out."""
    x = y = z = square = 0.0
    while i < rows.joint.size and rows.joint[i] <= j:
        J, p = rows.jacobian_a[i], impulse[i]
        if rows.part[i] < MOMENT:
            x, y, z = x + p * J[0], y + p * J[1], z + p * J[2]
        elif rows.part[i] < LOWER:
            square += p * p
        i += 1
    return x, y, z, math.sqrt(square), i


@bare
def may_swing(model, state, rows, impulse, scale, most):
    """most (nb,) <- what ρ is at most: tr I⁻¹ tr K >= tr(I⁻¹ K). Does it exceed 1 anywhere?"""
    i, found = np.int64(0), False
    for b in range(most.size):
        most[b] = 0.0
    for j in range(model.joint.size):
        x, y, z, moment, i = pulled(rows, impulse, i, j)
        a, b, r = model.joint_a[j], model.joint_b[j], model.joint_anchor_a[j]
        force, arm, apart = math.sqrt(x * x + y * y + z * z), 0.0, 0.0
        for k in range(3):
            arm, apart = arm + r[k] * r[k], apart + (state.position[a, k] - state.position[b, k]) ** 2
        arm = math.sqrt(arm)
        most[a] += scale * (2.0 * force * arm + 3.0 * moment) * trace(model.inverse_inertia[a])
        most[b] += scale * (2.0 * force * (arm + math.sqrt(apart)) + 3.0 * moment) * trace(model.inverse_inertia[b])
        found = found or most[a] > 1.0 or most[b] > 1.0
    return found


@bare
def stiffen(model, b, r, x, y, z, moment, scale, added):
    """(2) for the force (x, y, z) at the arm r of body b, times `scale`."""
    if model.kind[b] != Kind.FREE or not trace(model.inverse_inertia[b]) > 0.0:
        return
    force, arm = math.sqrt(x * x + y * y + z * z), math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    K = added[b]
    if force > 0.0 and arm > 0.0:
        f, size = (x / force, y / force, z / force), scale * force * arm
        for a in range(3):
            K[a, a] += size
            for c in range(3):
                K[a, c] -= 0.5 * size * (r[a] * r[c] / (arm * arm) + f[a] * f[c])
    for a in range(3):
        K[a, a] += scale * moment


@bare
def turn_about(mass, r, hub):
    """What a body that turns about the point r from its centre has of inertia beside I."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    for a in range(3):
        for c in range(3):
            hub[a, c] = mass * ((square if a == c else 0.0) - r[a] * r[c])


@bare
def keep_excess(model, b, R, hub, inverse, K):
    """K <- (1 - 1/ρ) K, or nothing where ρ <= 1."""
    total = 0.0
    if model.planar:
        total = K[1, 1] / (model.inertia[b, 1, 1] + hub[1, 1])
    else:
        invert_sum(model.inertia[b], R, hub, inverse)
        for r in range(3):
            for c in range(3):
                total += inverse[r, c] * K[r, c]
    share = 1.0 - 1.0 / total if total > 1.0 else 0.0
    for r in range(3):
        for c in range(3):
            K[r, c] *= share


@bare
def trace(A):
    return A[0, 0] + A[1, 1] + A[2, 2]


@bare
def join(model, b, placement, before, after, D, v):
    """(3): the spin in v with what is added `after` instead of `before`; D is room, and so is the placement but for the
    orientation of b."""
    if model.planar:
        more = max(after[1, 1] - before[1, 1], 0.0)
        v[4] -= more / (model.inertia[b, 1, 1] + before[1, 1] + more) * v[4]
        return
    for r in range(3):
        for c in range(3):
            D[r, c] = after[r, c] - before[r, c]
    keep_positive(D, placement.axes_a)
    for r in range(3):
        for c in range(3):
            placement.axes_a[r, c] = before[r, c] + D[r, c]
    invert_sum(model.inertia[b], placement.orientation, placement.axes_a, placement.axes_b)
    x, y, z = times(D, v[3], v[4], v[5])
    x, y, z = times(placement.axes_b, x, y, z)
    v[3], v[4], v[5] = v[3] - x, v[4] - y, v[5] - z


@bare
def keep_positive(D, V):
    """D <- its part without negative eigenvalues, by Jacobi's rotations; V becomes the eigenvectors, by columns."""
    for r in range(3):
        for c in range(3):
            V[r, c] = 1.0 if r == c else 0.0
    for _ in range(JACOBI):
        beside, size = abs(D[0, 1]) + abs(D[0, 2]) + abs(D[1, 2]), abs(D[0, 0]) + abs(D[1, 1]) + abs(D[2, 2])
        if beside <= ROUNDED * size:
            break
        for a in range(2):
            for b in range(a + 1, 3):
                if D[a, b] != 0.0:
                    rotate(D, V, a, b)
    x, y, z = max(D[0, 0], 0.0), max(D[1, 1], 0.0), max(D[2, 2], 0.0)
    for r in range(3):
        for c in range(3):
            D[r, c] = x * V[r, 0] * V[c, 0] + y * V[r, 1] * V[c, 1] + z * V[r, 2] * V[c, 2]


@bare
def rotate(D, V, a, b):
    """The rotation in the plane of two axes that makes D[a, b] zero."""
    lean = (D[b, b] - D[a, a]) / (2.0 * D[a, b])
    t = (1.0 if lean >= 0.0 else -1.0) / (abs(lean) + math.sqrt(lean * lean + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(3):
        D[k, a], D[k, b] = c * D[k, a] - s * D[k, b], s * D[k, a] + c * D[k, b]
        V[k, a], V[k, b] = c * V[k, a] - s * V[k, b], s * V[k, a] + c * V[k, b]
    for k in range(3):
        D[a, k], D[b, k] = c * D[a, k] - s * D[b, k], s * D[a, k] + c * D[b, k]


@bare
def slow(added, bodies, h):
    """Inverse inertias of the bodies, and what torques do to their velocities, with what (1) adds."""
    for b in range(added.shape[0]):
        A = added[b]
        if A[0, 0] == 0.0 and A[1, 1] == 0.0 and A[2, 2] == 0.0:
            continue
        torque, v, inverse, R = bodies.force[b], bodies.v[b], bodies.inverse[b], bodies.R[b]
        twist(inverse, torque, -h, v)
        if bodies.planar:
            inverse[1, 1] = 1.0 / (1.0 / inverse[1, 1] + A[1, 1])
        else:
            invert_sum(bodies.inertia[b], R, A, inverse)
        twist(inverse, torque, h, v)


@bare
def invert_sum(I, R, A, inverse):  # noqa: E741
    """(R I Rᵀ + A)⁻¹."""
    for r in range(3):
        x, y, z = times(I, R[r, 0], R[r, 1], R[r, 2])
        for c in range(3):
            inverse[r, c] = R[c, 0] * x + R[c, 1] * y + R[c, 2] * z + A[r, c]
    a, b, c = inverse[0, 0], inverse[0, 1], inverse[0, 2]
    d, e, f = inverse[1, 1], inverse[1, 2], inverse[2, 2]
    k_1, k_2, k_3 = d * f - e * e, c * e - b * f, b * e - c * d
    det = a * k_1 + b * k_2 + c * k_3
    inverse[0, 0], inverse[0, 1], inverse[0, 2] = k_1 / det, k_2 / det, k_3 / det
    inverse[1, 1], inverse[1, 2], inverse[2, 2] = (a * f - c * c) / det, (b * c - a * e) / det, (a * d - b * b) / det
    inverse[1, 0], inverse[2, 0], inverse[2, 1] = inverse[0, 1], inverse[0, 2], inverse[1, 2]
