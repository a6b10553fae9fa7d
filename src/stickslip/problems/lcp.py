"""The linear complementarity problem:  w = M z + q,   0 <= z  ⊥  w >= 0.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.checks import vector
from stickslip.problems.matrix import Matrix, OfRows, Vector, frozen, square


@dataclass(frozen=True, eq=False)
class LCP(OfRows):
    """Find z with  w = M z + q,  0 <= z ⊥ w >= 0.  M is dense or SciPy-sparse."""

    M: Matrix  # (n, n)
    q: Vector  # (n,)

    is_conic: ClassVar[bool] = True  # scaling q scales the solution

    def __post_init__(self) -> None:
        self.hold(M=square("LCP", "M", self.M))
        self.hold(q=vector("LCP", "q", self.q, self.M.shape[0]))

    @cached_property
    def lower(self) -> Vector:
        """(n,) of z, as a MixedLCP has them: zeros."""
        return frozen(np.zeros(self.size))

    @cached_property
    def upper(self) -> Vector:
        """(n,) of z: infinite."""
        return frozen(np.full(self.size, np.inf))

    def __repr__(self) -> str:
        return f"LCP(n={self.size})"
