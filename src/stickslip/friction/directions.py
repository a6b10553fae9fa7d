"""Directions in the tangent plane.

    D = F A,   A = [cos(α + jφ); sin(α + jφ)],  φ = 2π / n_d,   j = 0 … n_d - 1,   α an offset                 (1)

F = (t, o) of the contact, so the columns of A are the directions in its own components. In the plane there are two, the
two senses of the line. A contact that slides has directions of its own: e_t along its velocity, e_l across.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from stickslip.jit import kernel
from stickslip.problems.matrix import Dense, frozen


@cache
def polyhedral_directions(count: int, dimension: int, offset: float = 0.0) -> Dense:
    """A of (1), (2, count); in the plane (1, 2)."""
    found = np.array([[1.0, -1.0]]) if dimension == 2 else unit_vectors(2 * math.pi / count, count, offset)
    return frozen(found)


@cache
def axes(count: int, dimension: int) -> Dense:
    """`count` lines through the tangent plane at equal angles, each by one of its senses: (2, count), or (1, 1)."""
    if dimension == 2:
        return np.ones((1, 1))
    return frozen(unit_vectors(math.pi / count, count))


def unit_vectors(between: float, count: int, first: float = 0.0) -> Dense:
    """`count` vectors from the angle `first` to the first tangent on, with the angle `between` them; exact on the
    axes."""
    angle = first + between * np.arange(count, dtype=np.float64)
    vectors: Dense = np.stack([np.cos(angle), np.sin(angle)])
    vectors[np.abs(vectors) < 1e-15] = 0.0
    return vectors


@kernel
def sliding_axis(slip):
    """e_t along a velocity that is not zero, by its two components; e_l is (-s, c). In the plane it has one, ±1."""
    if slip.size == 1:
        return math.copysign(1.0, slip[0]), 0.0
    speed = math.hypot(slip[0], slip[1])
    return slip[0] / speed, slip[1] / speed
