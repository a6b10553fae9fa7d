"""Contacts that MuJoCo found as rows: Jacobians, friction and identity of all of them in one compiled pass. And the
mass that a step of a model has, with dampers and stiff springs.

    u = F (J_2 - J_1) v            F: normal from the first to the second geom, tangent, other tangent             (1)

J of a point x of a body has for each degree of freedom above it the column c_lin + c_ang × (x - s), with c the motion
axes `cdof` about the centre of mass s of the tree, as MuJoCo keeps them.

A contact whose normal no joint can move, as of an object on sliders along a table, can do nothing: its impulse would be
any, and its overlap stay. It is left out.

A contact goes on to be the one of the last step that has the same two geoms and is nearest, each taken once.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel

STILL = 1e-12  # entries of a normal's row up to this are rounding   [m/rad, -]


@kernel
def add_rows(sign, body, place, frame, tree, centre, axes, A, spin):
    """Add sign · F J of a point of a body to A (3, n), and its turning about the normal to spin (n,)."""
    parent, dof_count, dof_first, dof_parent, root = tree
    while body > 0 and dof_count[body] == 0:
        body = parent[body]
    if body == 0:
        return
    s = centre[root[body]]
    x, y, z = place[0] - s[0], place[1] - s[1], place[2] - s[2]
    i = dof_first[body] + dof_count[body] - 1
    while i >= 0:
        a, b, c = axes[i, 0], axes[i, 1], axes[i, 2]
        l_x, l_y, l_z = axes[i, 3] + b * z - c * y, axes[i, 4] + c * x - a * z, axes[i, 5] + a * y - b * x
        for k in range(3):
            A[k, i] += sign * (frame[3 * k] * l_x + frame[3 * k + 1] * l_y + frame[3 * k + 2] * l_z)
        spin[i] += sign * (frame[0] * a + frame[1] * b + frame[2] * c)
        i = dof_parent[i]


@kernel
def restitution_of(first, second):
    """e of a contact of MuJoCo, whose softness is solref = (time constant, damping ratio), or with a minus before each
    (stiffness, damping) of a unit mass: that of a damped oscillator, exp(-π ζ / √(1 - ζ²)), 0 from ζ = 1 on."""
    ratio = second if first > 0.0 else -second / (2.0 * math.sqrt(max(-first, 1e-300)))
    if ratio >= 1.0:
        return 0.0
    return math.exp(-math.pi * max(ratio, 0.0) / math.sqrt(1.0 - ratio * ratio))


@kernel
def contact_rows(geom, dist, held, place, frame, friction, dim, solref, geom_body, tree, centre, axes, n):
    """A (3 nc, n), spin (nc, n), gap, μ, patch and restitution of contacts, and which of them can move along their
    normal; `tree` says how bodies hang together."""
    count = dist.size
    A, spin = np.zeros((3 * count, n)), np.zeros((count, n))
    gap, mu, patch, bounce = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    moves = np.zeros(count, np.bool_)
    for i in range(count):
        for side in range(2):
            body, sign, rows = geom_body[geom[i, side]], 2.0 * side - 1.0, A[3 * i : 3 * i + 3]
            add_rows(sign, body, place[i], frame[i], tree, centre, axes, rows, spin[i])
        gap[i] = dist[i] - held[i]
        mu[i] = friction[i, 0] if dim[i] > 1 else 0.0
        patch[i] = friction[i, 2] / friction[i, 0] if dim[i] > 3 and friction[i, 0] > 0.0 else 0.0
        bounce[i] = restitution_of(solref[i, 0], solref[i, 1])
        for j in range(n):
            moves[i] = moves[i] or abs(A[3 * i, j]) > STILL
    return A, spin, gap, mu, patch, bounce, moves


@kernel
def identify(geom, place, old_geom, old_place, old_id, first_new):
    """The numbers of contacts, and for each the contact of the last step that it was, -1 where it is new."""
    count, before = len(geom), len(old_geom)
    number, was, taken = np.empty(count, np.int64), np.full(count, -1), np.zeros(before, np.bool_)
    for i in range(count):
        nearest = math.inf
        for j in range(before):
            if taken[j] or geom[i, 0] != old_geom[j, 0] or geom[i, 1] != old_geom[j, 1]:
                continue
            away = 0.0
            for k in range(3):
                away += (place[i, k] - old_place[j, k]) ** 2
            if away < nearest:
                nearest, was[i] = away, j
        if was[i] >= 0:
            taken[was[i]] = True
            number[i] = old_id[was[i]]
        else:
            number[i] = first_new
            first_new += 1
    return number, was, first_new


@kernel
def reach(v, h, dof_body, parent, root, centre, mass_centre, axes, size, speed):
    """How far the fastest body may come in a step: |speed of its centre| + |spin| times its size; `speed` (nb, 6) is
    room to work."""
    speed[:] = 0.0
    for i in range(v.size):
        for k in range(6):
            speed[dof_body[i], k] += axes[i, k] * v[i]
    far = 0.0
    for b in range(1, parent.size):
        for k in range(6):
            speed[b, k] += speed[parent[b], k]
        s, x = centre[root[b]], mass_centre[b]
        r_x, r_y, r_z = x[0] - s[0], x[1] - s[1], x[2] - s[2]
        a, b_, c = speed[b, 0], speed[b, 1], speed[b, 2]
        l_x, l_y, l_z = (
            speed[b, 3] + b_ * r_z - c * r_y,
            speed[b, 4] + c * r_x - a * r_z,
            speed[b, 5] + a * r_y - b_ * r_x,
        )
        fast = math.sqrt(l_x * l_x + l_y * l_y + l_z * l_z) + size[b] * math.sqrt(a * a + b_ * b_ + c * c)
        far = max(far, fast)
    return h * far


@kernel
def effective_mass(M, force, v, h, damping, servo, springs, spring_dof, stiff):
    """M̂ of (1) of dynamics/mujoco.py, and its momentum at the end of the step without contacts and constraints. `servo`
    (n, n), or empty, is the damping of actuators; springs with h² k above `stiff` of the inertia are taken at the end
    of the step."""
    n = v.size
    own, momentum = M.copy(), np.empty(n)
    for i in range(n):
        own[i, i] += h * damping[i]
    if servo.size > 0:
        for i in range(n):
            for j in range(n):
                own[i, j] += h * servo[i, j]
    for i in range(n):
        momentum[i] = h * force[i]
        for j in range(n):
            momentum[i] += own[i, j] * v[j]
    for k in range(springs.size):
        i = spring_dof[k]
        if h * h * springs[k] > stiff * M[i, i]:
            own[i, i] += h * h * springs[k]  # v of this share stays out of the momentum: its force is at q + h v⁺
    return own, momentum
