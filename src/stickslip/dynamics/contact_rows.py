"""The rows of the contacts: u = J_a v_a + J_b v_b, component by component, and what an impulse does to the bodies.

A contact at the point x with the frame (n, t, o) has for its body A the rows (c, (x - x_A) × c), c = n, t, o, and for B
the same with a minus sign. Beside J is kept M⁻¹Jᵀ, so that the Delassus block of two contacts is a sum of products of
the rows of the bodies they share. In the plane there is no o.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scene.model import Floats, Integers


class ContactRows(NamedTuple):
    """Room for `capacity` contacts. Side 0 is body A, side 1 body B."""

    body: Integers  # (capacity, 2)
    frame: Floats  # (capacity, 3, 3)   n, t, o by rows
    jacobian: Floats  # (capacity, 2, 3, 6)   by side and component
    response: Floats  # (capacity, 2, 3, 6)   M⁻¹ of it; zeros where the body is not free


def room_for_rows(capacity: int) -> ContactRows:
    return ContactRows(
        np.zeros((capacity, 2), np.int64),
        np.zeros((capacity, 3, 3)),
        np.zeros((capacity, 2, 3, 6)),
        np.zeros((capacity, 2, 3, 6)),
    )


@kernel
def fill_rows(shape_body, bodies, position, contacts, count, rows):
    """Frames, J and M⁻¹Jᵀ of the first `count` contacts."""
    d, planar = (2, True) if bodies.planar else (3, False)
    m, K = bodies.inverse_mass, bodies.inverse
    for i in range(count):
        a, b = shape_body[contacts.shape_a[i]], shape_body[contacts.shape_b[i]]
        rows.body[i, 0], rows.body[i, 1] = a, b
        n, point, F = contacts.normal[i], contacts.point[i], rows.frame[i]
        set_frame(n[0], n[1], n[2], planar, F)
        fill_side(point, position[a], m[a], K[a], 1.0, d, F, rows.jacobian[i, 0], rows.response[i, 0])
        fill_side(point, position[b], m[b], K[b], -1.0, d, F, rows.jacobian[i, 1], rows.response[i, 1])


@kernel
def set_frame(n_x, n_y, n_z, planar, F):
    """Tangents to a unit normal: t = x and o = y for n = z, turning smoothly with n but at n_z = -1/2, for walls with
    n_z = 0 up to rounding are common [1].

    [1] Duff et al., Building an orthonormal basis, revisited, J. Computer Graphics Techniques 6 (2017) 1-8.
    """
    F[0, 0], F[0, 1], F[0, 2] = n_x, n_y, n_z
    if planar:
        F[1, 0], F[1, 1], F[1, 2] = n_z, 0.0, -n_x
        return
    s = 1.0 if n_z > -0.5 else -1.0
    a = -1.0 / (s + n_z)
    b = n_x * n_y * a
    F[1, 0], F[1, 1], F[1, 2] = 1.0 + s * n_x * n_x * a, s * b, -s * n_x
    F[2, 0], F[2, 1], F[2, 2] = b, s + n_y * n_y * a, -n_y


@kernel
def fill_side(point, x, m, K, sign, d, F, J, Y):
    """Rows of a body with its centre of mass at x, inverse masses m along the axes and inverse inertia K."""
    r_x, r_y, r_z = point[0] - x[0], point[1] - x[1], point[2] - x[2]
    for c in range(d):
        f_x, f_y, f_z = sign * F[c, 0], sign * F[c, 1], sign * F[c, 2]
        t_x, t_y, t_z = r_y * f_z - r_z * f_y, r_z * f_x - r_x * f_z, r_x * f_y - r_y * f_x
        J[c, 0], J[c, 1], J[c, 2], J[c, 3], J[c, 4], J[c, 5] = f_x, f_y, f_z, t_x, t_y, t_z
        Y[c, 0], Y[c, 1], Y[c, 2] = m[0] * f_x, m[1] * f_y, m[2] * f_z
        Y[c, 3] = K[0, 0] * t_x + K[0, 1] * t_y + K[0, 2] * t_z
        Y[c, 4] = K[1, 0] * t_x + K[1, 1] * t_y + K[1, 2] * t_z
        Y[c, 5] = K[2, 0] * t_x + K[2, 1] * t_y + K[2, 2] * t_z


@kernel
def contact_velocity(body, jacobian, i, c, v):
    """Component c of contact i: J_a v_a + J_b v_b, with v (nb, 6)."""
    a, b = body[i, 0], body[i, 1]
    u = 0.0
    for k in range(6):
        u += jacobian[i, 0, c, k] * v[a, k] + jacobian[i, 1, c, k] * v[b, k]
    return u


@kernel
def relative(J, v):
    """J v of one side of a contact: normal, tangent, other tangent."""
    n, t, o = 0.0, 0.0, 0.0
    for k in range(6):
        n += J[0, k] * v[k]
        t += J[1, k] * v[k]
        o += J[2, k] * v[k]
    return n, t, o


@kernel
def move(Y, p_n, p_1, p_2, v):
    """v <- v + M⁻¹ Jᵀ p of one side of a contact."""
    for k in range(6):
        v[k] += Y[0, k] * p_n + Y[1, k] * p_1 + Y[2, k] * p_2


@kernel
def push(rows, count, p, v):
    """v <- v + M⁻¹ Jᵀ p, with the impulses p (d count,)."""
    d = p.size // count
    for i in range(count):
        p_n, p_1, p_2 = p[d * i], p[d * i + 1], p[d * i + 2] if d == 3 else 0.0
        move(rows.response[i, 0], p_n, p_1, p_2, v[rows.body[i, 0]])
        move(rows.response[i, 1], p_n, p_1, p_2, v[rows.body[i, 1]])
