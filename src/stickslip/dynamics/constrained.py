"""Accelerations of a system in generalized coordinates along its bilateral constraints.

    M v̇ = F + Gᵀ ν,   G v̇ + Ġ v = 0        so   v̇ = K F - M⁻¹ Gᵀ S⁺ Ġ v,   K = M⁻¹ - M⁻¹ Gᵀ S⁺ G M⁻¹              (1)

with S = G M⁻¹ Gᵀ and its pseudo-inverse: constraints that repeat others count once.
"""

from __future__ import annotations

import numpy as np

from stickslip.dynamics.generalized import Instant
from stickslip.problems.matrix import Dense, Vector


def response(at: Instant, forces: Dense) -> Dense:
    """K F for each column F of generalized forces."""
    free = np.linalg.solve(at.M, forces)
    return np.asarray(free - pull(at) @ (at.G @ free), np.float64)


def drift(at: Instant) -> Vector:
    """v̇ that the motion along the constraints asks for by itself."""
    return -pull(at) @ at.constraint_drift


def pull(at: Instant) -> Dense:
    """M⁻¹ Gᵀ S⁺."""
    if not len(at.G):
        return np.zeros((at.v.size, 0))
    back = np.linalg.solve(at.M, at.G.T)
    return np.asarray(back @ np.linalg.pinv(at.G @ back, hermitian=True), np.float64)
