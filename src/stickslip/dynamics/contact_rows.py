"""The rows of the contacts: u = J_a v_a + J_b v_b, component by component, and what an impulse does to the bodies.

A contact at the point x with the frame (n, t, o) has for its body A the rows (c, (x - x_A) × c), c = n, t, o, and for B
the same with a minus sign. In the plane there is no o. A contact over a patch has a fourth row, the spin about n.
"""

from __future__ import annotations

from stickslip.jit import bare


@bare
def fill_frame(n_x, n_y, n_z, planar, F):
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


@bare
def fill_side(point, x, sign, F, J):
    """Rows of a body with its centre of mass at x: those of the frame, and where there are four that of the spin."""
    r_x, r_y, r_z = point[0] - x[0], point[1] - x[1], point[2] - x[2]
    for c in range(min(J.shape[0], 3)):
        f_x, f_y, f_z = sign * F[c, 0], sign * F[c, 1], sign * F[c, 2]
        J[c, 0], J[c, 1], J[c, 2] = f_x, f_y, f_z
        J[c, 3], J[c, 4], J[c, 5] = r_y * f_z - r_z * f_y, r_z * f_x - r_x * f_z, r_x * f_y - r_y * f_x
    if J.shape[0] == 4:
        for k in range(3):
            J[3, k], J[3, 3 + k] = 0.0, sign * F[0, k]


@bare
def weigh(m, S, J, G):
    """G = J L of a body, L Lᵀ = M⁻¹: with the roots m of its inverse masses along the axes, and S of its inverse
    inertia, world axes."""
    for k in range(3):
        G[k] = m[k] * J[k]
        G[3 + k] = J[3] * S[0, k] + J[4] * S[1, k] + J[5] * S[2, k]


@bare
def push(m, K, J, x, v):
    """v <- v + M⁻¹ Jᵀ x of one body."""
    for k in range(3):
        v[k] += m[k] * J[k] * x
        v[3 + k] += (K[k, 0] * J[3] + K[k, 1] * J[4] + K[k, 2] * J[5]) * x


@bare
def contact_velocity(body, J, moving, i, c, v):
    """Component c of contact i: J_a v_a + J_b v_b, with v (nb, 6), of which those that do not move count as zero."""
    u = 0.0
    for side in range(2):
        b = body[i, side]
        if moving[b]:
            for k in range(6):
                u += J[i, side, c, k] * v[b, k]
    return u
