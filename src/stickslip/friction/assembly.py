"""The matrix of a mixed problem:  Pᵀ W P + K.

P takes the unknowns z to the impulses x of friction/active.py, K couples unknowns of the friction law with each other.
Both are dense where W is, and sparse where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Matrix, Vector
from stickslip.problems.mixed import MixedLCP

Entries: TypeAlias = tuple[ArrayLike, ArrayLike, ArrayLike]  # rows, columns, values: arrays that broadcast


def matrix_like(W: Matrix, shape: tuple[int, int], entries: Sequence[Entries]) -> Matrix:
    """A matrix from its entries, dense or sparse as W is; entries at one place are added."""
    rows, columns, values = (
        np.concatenate([np.ravel(part) for part in parts])
        for parts in zip(*(np.broadcast_arrays(*entry) for entry in entries), strict=True)
    )
    if not isinstance(W, np.ndarray):
        return sparse.csr_array((values, (rows, columns)), shape=shape)
    dense = np.zeros(shape)
    np.add.at(dense, (rows, columns), values)
    return dense


def pose_mixed(W: Matrix, q: Vector, P: Matrix, K: Matrix, offset: Vector, lower: Vector, upper: Vector) -> MixedLCP:
    """The problem in z with w = (Pᵀ W P + K) z + Pᵀ q + offset."""
    return MixedLCP(P.T @ (W @ P) + K, P.T @ q + offset, lower, upper)


def pose_lcp(W: Matrix, q: Vector, P: Matrix, K: Matrix) -> LCP:
    """The same with z >= 0 in every row."""
    return LCP(P.T @ (W @ P) + K, P.T @ q)
