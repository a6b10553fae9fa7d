"""Vectors as tuples of three numbers, for kernels: they live in registers, where small arrays would not."""

from __future__ import annotations

import math

from stickslip.jit import bare


@bare
def row(array, k):
    """The vector that row k of an array begins with."""
    return array[k, 0], array[k, 1], array[k, 2]


@bare
def inner(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@bare
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@bare
def minus(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@bare
def ahead(a, s, b):
    """a + s b"""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@bare
def about(k, cosine, sine, a):
    """The vector a turned about the unit vector k by the angle with this cosine and sine (Rodrigues)."""
    along, turned = inner(k, a), cross(k, a)
    return ahead(ahead(ahead(a, cosine - 1.0, a), sine, turned), (1.0 - cosine) * along, k)


@bare
def into_frame(axes, a):
    """The components of a vector along three axes."""
    return inner(axes[0], a), inner(axes[1], a), inner(axes[2], a)


@bare
def into_world(axes, a):
    """The vector that has the components a along three axes."""
    u, v, w = axes
    return (
        a[0] * u[0] + a[1] * v[0] + a[2] * w[0],
        a[0] * u[1] + a[1] * v[1] + a[2] * w[1],
        a[0] * u[2] + a[1] * v[2] + a[2] * w[2],
    )


@bare
def across(n):
    """A unit vector perpendicular to the unit vector n."""
    if abs(n[0]) > 0.6:
        length = math.hypot(n[0], n[1])
        return -n[1] / length, n[0] / length, 0.0
    length = math.hypot(n[1], n[2])
    return 0.0, -n[2] / length, n[1] / length


@bare
def sign(x):
    return 1.0 if x >= 0.0 else -1.0
