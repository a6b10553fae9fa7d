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
FIXED = 1e-7  # the same of a constraint's row
GAP, MU, PATCH, BOUNCE, PLACE, FRAME, WIDTH = 0, 1, 2, 3, 4, 7, 16  # columns of a contact's numbers
NUMBER, WAS, FOUND, TAGS = 2, 3, 4, 5  # of its tags, which begin with the two geoms
ERROR, BOUND = 0, 1  # of constraints, dry friction and limits


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
def found_rows(
    memory, words, fields, count, geom_body, tree, centre, axes, efc_J, efc_error, efc_bound, efc_kind, efc_number,
    equalities, frictions, limits, old_contact, old_tag, first_new,
):  # fmt: skip
    """All rows of an instant: `contact_rows` with their numbers, `other_rows`, and the first number that is free."""
    J, contact, tag = contact_rows(memory, words, fields, count, geom_body, tree, centre, axes)
    first_new = identify(contact, tag, old_contact, old_tag, first_new)
    sizes = equalities, frictions, limits
    rows, row, key = other_rows(efc_J, efc_error, efc_bound, efc_kind, efc_number, sizes, len(axes))
    return J, contact, tag, rows, row, key, first_new


@kernel
def contact_rows(memory, words, fields, count, geom_body, tree, centre, axes):
    """J (4 nc, n), three rows of each contact and then those of spin, what else there is to know of them, (nc, WIDTH)
    and (nc, TAGS), and last their places among the contacts found, (nc,). `memory` and `words` are MuJoCo's contacts
    as numbers and as integers, `fields` says where in them what is; `tree` says how bodies hang together."""
    at_dist, at_held, at_place, at_frame, at_friction, at_solref, at_geom, at_dim = fields
    n, kept = len(axes), 0
    J, contact, tag = np.zeros((4 * count, n)), np.empty((count, WIDTH)), np.empty((count, TAGS), np.int64)
    spin = np.zeros((count, n))
    for i in range(count):
        own, mine = contact[kept], tag[kept]
        rows, turn = J[3 * kept : 3 * kept + 3], spin[kept]
        rows[:], turn[:] = 0.0, 0.0
        for k in range(3):
            own[PLACE + k] = memory[i, at_place + k]
        for k in range(9):
            own[FRAME + k] = memory[i, at_frame + k]
        place, frame = own[PLACE : PLACE + 3], own[FRAME : FRAME + 9]
        for side in range(2):
            mine[side] = words[i, at_geom + side]
            add_rows(2.0 * side - 1.0, geom_body[mine[side]], place, frame, tree, centre, axes, rows, turn)
        moves = False
        for j in range(n):
            moves = moves or abs(rows[0, j]) > STILL
        if not moves:
            continue
        mu, dim = memory[i, at_friction], words[i, at_dim]
        own[GAP] = memory[i, at_dist] - memory[i, at_held]
        own[MU] = mu if dim > 1 else 0.0
        own[PATCH] = memory[i, at_friction + 2] / mu if dim > 3 and mu > 0.0 else 0.0
        own[BOUNCE] = restitution_of(memory[i, at_solref], memory[i, at_solref + 1])
        mine[NUMBER], mine[WAS], mine[FOUND] = -1, -1, i
        kept += 1
    for i in range(kept):
        J[3 * kept + i] = spin[i]
    return J[: 4 * kept], contact[:kept], tag[:kept]


@kernel
def identify(contact, tag, old_contact, old_tag, first_new):
    """Number the contacts, in place, and say which of those of the last step each was, -1 where it is new; the first
    number that is free then."""
    taken = np.zeros(len(old_tag), np.bool_)
    for i in range(len(tag)):
        nearest, was = math.inf, -1
        for j in range(len(old_tag)):
            if taken[j] or tag[i, 0] != old_tag[j, 0] or tag[i, 1] != old_tag[j, 1]:
                continue
            away = 0.0
            for k in range(PLACE, PLACE + 3):
                away += (contact[i, k] - old_contact[j, k]) ** 2
            if away < nearest:
                nearest, was = away, j
        tag[i, WAS] = was
        if was >= 0:
            taken[was] = True
            tag[i, NUMBER] = old_tag[was, NUMBER]
        else:
            tag[i, NUMBER] = first_new
            first_new += 1
    return first_new


@kernel
def other_rows(efc_J, efc_error, efc_bound, efc_kind, efc_number, sizes, n):
    """Rows (m, n), errors and bounds (m, 2) and keys (m,) of so many equality constraints, dry frictions and limits.
    Those that no joint can move, as of a weld of what is fixed already, are zeros."""
    equalities, frictions, limits = sizes
    count = equalities + frictions + limits
    rows, row, key = np.empty((count, n)), np.empty((count, 2)), np.empty(count, np.int64)
    for i in range(count):
        largest = 0.0
        for j in range(n):
            rows[i, j] = efc_J[n * i + j]
            largest = max(largest, abs(rows[i, j]))
        dry = equalities <= i < equalities + frictions
        row[i, ERROR] = 0.0 if dry else efc_error[i]
        row[i, BOUND] = np.inf if i < equalities else efc_bound[i] if dry else -np.inf
        key[i] = 8 * efc_number[i] + efc_kind[i]
        if largest <= FIXED:
            rows[i], row[i, ERROR] = 0.0, 0.0
    return rows, row, key


@kernel
def met(contact, row):
    """The same contacts and rows without overlaps, and constraints without errors: they need only not get worse."""
    contact, row = contact.copy(), row.copy()
    for i in range(len(contact)):
        contact[i, GAP] = max(contact[i, GAP], 0.0)
    for i in range(len(row)):
        if row[i, BOUND] == np.inf or (row[i, BOUND] == -np.inf and row[i, ERROR] < 0.0):
            row[i, ERROR] = 0.0
    return contact, row


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
