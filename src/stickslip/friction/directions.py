"""Directions in the tangent plane.

    D = F A,   A = [cos jφ; sin jφ],  φ = 2π / n_d,   j = 0 … n_d - 1                                          (1)

F = (t, o) of the contact, so the columns of A are the directions in its own components. In the plane there are two, the
two senses of the line. A contact that slides has directions of its own: e_t along its velocity, e_l across.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stickslip.problems.matrix import Dense


def polyhedral_directions(count: int, dimension: int) -> Dense:
    """A of (1), (2, count); in the plane (1, 2)."""
    if dimension == 2:
        return np.array([[1.0, -1.0]])
    return unit_vectors(2 * math.pi / count, count)


def axes(count: int, dimension: int) -> Dense:
    """`count` lines through the tangent plane at equal angles, each by one of its senses: (2, count), or (1, 1)."""
    if dimension == 2:
        return np.ones((1, 1))
    return unit_vectors(math.pi / count, count)


def unit_vectors(between: float, count: int) -> Dense:
    """`count` vectors from the first tangent on, with the angle `between` them; exact on the axes."""
    angle = between * np.arange(count, dtype=np.float64)
    vectors: Dense = np.stack([np.cos(angle), np.sin(angle)])
    vectors[np.abs(vectors) < 1e-15] = 0.0
    return vectors


def sliding_frame(slip: Dense, sliding: NDArray[np.bool_]) -> Dense:
    """Of each contact, the matrix with columns (e_t, e_l): (nc, d - 1, d - 1), identity where it does not slide."""
    count, tangents = slip.shape
    frame = np.tile(np.eye(tangents), (count, 1, 1))
    if tangents == 2:
        along = slip[sliding] / np.linalg.norm(slip[sliding], axis=1, keepdims=True)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1)
        frame[sliding] = np.stack([along, across], axis=2)
    else:
        frame[sliding, 0, 0] = np.sign(slip[sliding, 0])
    return frame
