"""Unit quaternions (w, x, y, z): body axes to world axes.

A body that turns with angular velocity ω (world axes) for a time h gets the quaternion exp(h ω / 2) q: the exponential
map, exact while ω is constant, so a step changes neither the length of q nor the axis.
"""

from __future__ import annotations

import math

from stickslip.jit import bare

SMALL = 1e-3  # square of half an angle below which four or five terms of a series are its function


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
    t = 0.25 * h * h * (wx * wx + wy * wy + wz * wz)  # square of half the angle
    if t == 0.0:
        return
    if t < SMALL:  # exact to rounding
        sinc = 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0))
        a = 1.0 - t / 2.0 * (1.0 - t / 12.0 * (1.0 - t / 30.0))
    else:
        half = math.sqrt(t)
        sinc, a = math.sin(half) / half, math.cos(half)
    s = 0.5 * h * sinc
    b, c, d = s * wx, s * wy, s * wz
    w, x, y, z = q[0], q[1], q[2], q[3]
    w, x, y, z = (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )
    scale = 1.5 - 0.5 * (w * w + x * x + y * y + z * z)  # 1 / sqrt, of what is 1 but for rounding
    q[0], q[1], q[2], q[3] = w * scale, x * scale, y * scale, z * scale
