"""Unit quaternions (w, x, y, z): body axes to world axes.

A body that turns with angular velocity ω (world axes) for a time h gets the quaternion exp(h ω / 2) q: the exponential
map, exact while ω is constant, so a step changes neither the length of q nor the axis.
"""

from __future__ import annotations

import math

from stickslip.jit import bare

SMALL = 1e-4  # angle below which sin(a)/a is its series, exact to rounding


@bare
def to_matrix(q, R):
    """The rotation matrix of a unit quaternion, written into R (3, 3)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)


@bare
def to_matrices(quaternion, R):
    """Those of many, written into R (n, 3, 3), which is returned."""
    for i in range(quaternion.shape[0]):
        to_matrix(quaternion[i], R[i])
    return R


@bare
def turn(q, h, wx, wy, wz):
    """q <- exp(h ω / 2) q, renormalised against rounding."""
    half = 0.5 * h * math.sqrt(wx * wx + wy * wy + wz * wz)
    if half == 0.0:
        return
    sinc = math.sin(half) / half if half > SMALL else 1.0 - half * half / 6.0
    s = 0.5 * h * sinc
    a, b, c, d = math.cos(half), s * wx, s * wy, s * wz
    w, x, y, z = q[0], q[1], q[2], q[3]
    w, x, y, z = (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    q[0], q[1], q[2], q[3] = w * scale, x * scale, y * scale, z * scale
