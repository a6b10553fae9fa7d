"""A problem made ready for methods that measure lengths: fixed rows removed, rows, columns and q near 1 in size.

    z = k s z',   w = (k / s) w',   M' = s M s,   q' = s q / k,   lower' = lower / (k s),   upper' = upper / (k s)

with positive factors s, one a row, and k. Signs, bounds and complementarity stay as they were, and so do symmetry
and monotonicity. All factors are powers of two: nothing is rounded, there or back.

[1] Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Matrix, Vector, as_sparse, both_sides
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import residual

LARGEST_EXPONENT = 100  # of a factor: beyond 2^100 products of factors would overflow


@dataclass(frozen=True, eq=False)
class Scaled:
    """The rows of a problem that are not fixed, equilibrated."""

    problem: LCP | MixedLCP
    rows: NDArray[np.intp]  # of the problem, with lower < upper
    fixed: Vector  # (n,)  the value of fixed rows, zero elsewhere
    unit: Vector  # k s:  z = unit z'
    dual_unit: Vector  # k / s:  w = dual_unit w'
    M: Matrix
    q: Vector
    lower: Vector
    upper: Vector

    def inside(self, x: Vector) -> Vector:
        """z' of the problem's x."""
        return x[self.rows] / self.unit

    def outside(self, z: Vector) -> Vector:
        """The problem's x of z'."""
        x = self.fixed.copy()
        x[self.rows] = self.unit * z
        return x

    def residual(self, z: Vector, w: Vector) -> float:
        """The problem's own residual; w' = M' z' + q' is at hand. At fixed rows any w is right."""
        y = np.zeros(self.fixed.size)
        y[self.rows] = self.dual_unit * w
        return residual(self.problem, self.outside(z), y)


def scaled(problem: LCP | MixedLCP) -> Scaled:
    n, lower, upper = problem.size, problem.lower, problem.upper
    rows = np.flatnonzero(lower < upper)
    M, q, fixed = problem.M, problem.q, np.zeros(n)
    if rows.size < n:
        fixed = np.where(lower < upper, 0.0, lower)
        q = problem.value(fixed)[rows]
        M = M[rows][:, rows]
    s = equilibrate(M)
    q = s * q
    largest = float(np.abs(q).max(initial=0.0))
    k = float(np.exp2(np.round(np.log2(largest)))) if largest > 0.0 else 1.0  # the power of two nearest to it
    unit = k * s
    return Scaled(problem, rows, fixed, unit, k / s, both_sides(M, s), q / k, lower[rows] / unit, upper[rows] / unit)


def equilibrate(M: Matrix, passes: int = 4) -> Vector:
    """Powers of two s for which the largest |s_i M_ij s_j| in every row or column is near 1 [1]."""
    csr = as_sparse(M)
    s, row = np.ones(csr.shape[0]), np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    for _ in range(passes):
        size, largest = np.abs(s[row] * csr.data * s[csr.indices]), np.zeros(s.size)
        np.maximum.at(largest, row, size)
        np.maximum.at(largest, csr.indices, size)
        s /= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    exponent = np.clip(np.round(np.log2(s)), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return np.exp2(exponent)
