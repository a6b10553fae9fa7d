"""The mixed linear complementarity problem with bounds:  w = M z + q,   lower <= z <= upper,  and row by row

    lower < z < upper   =>   w  = 0
    z = lower           =>   w >= 0
    z = upper           =>   w <= 0

One rule covers every kind of row: free (-inf, inf) is an equation, [0, inf) an LCP row, [-b, b] box friction,
lower = upper a fixed value. It is the affine variational inequality over a box [1].

[1] Dirkse, Ferris, The PATH solver, Optimization Methods and Software 5 (1995) 123-156.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import vector
from stickslip.errors import InputError
from stickslip.problems.matrix import Matrix, OfRows, Vector, square


@dataclass(frozen=True, eq=False)
class MixedLCP(OfRows):
    """Find z in [lower, upper] with w = M z + q zero inside the bounds and pushing outwards at them."""

    M: Matrix  # (n, n)
    q: Vector  # (n,)
    lower: Vector  # (n,)  -inf where there is none
    upper: Vector  # (n,)  +inf where there is none

    def __post_init__(self) -> None:
        self.hold(M=square("MixedLCP", "M", self.M))
        n = self.M.shape[0]
        self.hold(q=vector("MixedLCP", "q", self.q, n))
        for name in ("lower", "upper"):
            self.hold(**{name: vector("MixedLCP", name, getattr(self, name), n, infinite=True)})
        empty = (self.lower > self.upper) | (self.lower == np.inf) | (self.upper == -np.inf)
        if empty.any():
            i = int(np.argmax(empty))
            raise InputError(
                f"MixedLCP: row {i} has lower {self.lower[i]:g} and upper {self.upper[i]:g}, expected lower <= upper, "
                f"lower < inf and upper > -inf"
            )

    @property
    def is_conic(self) -> bool:
        """Are all finite bounds zero, so that scaling q scales the solution?"""
        return not ((np.isfinite(self.lower) & (self.lower != 0)) | (np.isfinite(self.upper) & (self.upper != 0))).any()

    def __repr__(self) -> str:
        free = int((np.isinf(self.lower) & np.isinf(self.upper)).sum())
        return f"MixedLCP(n={self.size}, free={free})"
