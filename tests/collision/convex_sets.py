"""The shapes as convex sets, written anew: their support functions, and how far outside a point is."""

import numpy as np
from scipy.optimize import nnls

from stickslip.scene.model import Shape


def support(kind, size, directions):
    """max over the shape, about the origin, of direction · x, for each row."""
    d = np.abs(directions)
    length = np.linalg.norm(directions, axis=1)
    match kind:
        case Shape.SPHERE:
            return size[0] * length
        case Shape.BOX:
            return d @ np.array(size)
        case Shape.CAPSULE:
            return size[0] * length + size[1] * d[:, 2]
        case Shape.CYLINDER:
            return size[0] * np.hypot(d[:, 0], d[:, 1]) + size[1] * d[:, 2]
        case Shape.HULL:
            return (directions @ np.array(size.shape.corners).T).max(axis=1)
    raise ValueError(kind)


def outside(kind, size, x):
    """How far the point x is from a shape about the origin, 0 inside."""
    match kind:
        case Shape.SPHERE:
            return max(0.0, np.linalg.norm(x) - size[0])
        case Shape.BOX:
            return np.linalg.norm(np.maximum(np.abs(x) - size, 0))
        case Shape.CAPSULE:
            axis = np.array([0, 0, np.clip(x[2], -size[1], size[1])])
            return max(0.0, np.linalg.norm(x - axis) - size[0])
        case Shape.CYLINDER:
            return np.hypot(max(0.0, np.hypot(x[0], x[1]) - size[0]), max(0.0, abs(x[2]) - size[1]))
        case Shape.HULL:  # the nearest mixture of its corners
            corners = np.array(size.shape.corners)
            weights, _ = nnls(np.vstack([corners.T, 1e3 * np.ones(len(corners))]), np.array([*x, 1e3]))
            return np.linalg.norm(weights @ corners - x)
    raise ValueError(kind)


def overlap(first, second, position, R_first, R_second, directions):
    """By how much `second`, seen from `first` at `position`, overlaps it along each direction from first to second."""
    return (
        support(*first, directions @ R_first)
        + support(*second, -directions @ R_second)
        - directions @ np.asarray(position)
    )
