"""The linear complementarity problem:  w = M z + q,   0 <= z  ⊥  w >= 0.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.problems.matrix import Matrix, Vector, affine, square, vector


@dataclass(frozen=True, eq=False)
class LCP:
    """Find z with  w = M z + q,  0 <= z ⊥ w >= 0.  M is dense or SciPy-sparse."""

    M: Matrix  # (n, n)
    q: Vector  # (n,)

    tolerance: ClassVar[float] = 1e-10  # on the residual, where the caller states none

    def __post_init__(self) -> None:
        object.__setattr__(self, "M", square("LCP", "M", self.M))
        object.__setattr__(self, "q", vector("LCP", "q", self.q, self.M.shape[0]))

    @property
    def size(self) -> int:
        return self.q.size

    def value(self, z: Vector) -> Vector:
        """w = M z + q."""
        return affine(self.M, z, self.q)

    def __repr__(self) -> str:
        return f"LCP(n={self.size})"
