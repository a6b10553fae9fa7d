"""The last step of an iterative method: with the rows at their bounds held there, w = 0 on all others.

    (M_FF + ρ) dz_F = -w_F,   z_F <- z_F + dz_F,   a few times

An affine problem is solved by this once the active set is right. ρ = PROXIMAL is added to the matrix, not to the
equation that is solved: the iteration ends at w_F = 0 even where M_FF is singular, near the z it began with.
A polished point is kept only if its residual is smaller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.problems.matrix import Vector
from stickslip.solvers.linear import Shifted
from stickslip.solvers.scaling import Scaled

PROXIMAL = 1e-11  # ρ, in the scaled problem, where M is near 1
HOLD = 1e20  # on the diagonal of a row that is held: so large that it does not move
ITERATIONS = 5


def polished(box: Scaled, system: Shifted, z: Vector, held: NDArray[np.bool_], error: float) -> Vector:
    """The best point on the way from z; z itself, with its residual `error`, if none is better.

    Rows that are held go to the nearer of their bounds.
    """
    factor = system.factorise(np.where(held, HOLD, PROXIMAL))
    if factor is None:
        return z
    nearer = np.where(z - box.lower <= box.upper - z, box.lower, box.upper)
    best, point = z, np.where(held, nearer, z)
    for _ in range(ITERATIONS):
        w = box.M @ point + box.q
        reached = box.residual(point, w)
        if reached < error:
            best, error = point, reached
        point = np.where(held, point, point + factor.solve(np.where(held, 0.0, -w)))
    return best
