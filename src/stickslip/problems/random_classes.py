"""Random problems of known classes, of any size, each the same for the same seed.

`KINDS` and `MIXED_KINDS` say what each class promises: whether a solution exists, whether it is the only one, and why.
The reasons are theorems of chapter 3 of [1]: a P-matrix gives exactly one solution for every q, and positive definite
matrices are P-matrices; a strictly copositive matrix gives at least one for every q; a positive semidefinite one gives
at least one as soon as the problem is feasible. Where q is made from a solution, it is one up to rounding.

`density` is the share of nonzeros in the random factors. Below 1 the matrix is sparse, and denser than its factors.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Matrix, Vector
from stickslip.problems.mixed import MixedLCP

Make: TypeAlias = Callable[[Generator, int, Any], Any]  # of a number of rows and a density, or of contacts and d


@dataclass(frozen=True)
class Kind:
    """A class of problems: how one is made, and what holds for every one of them."""

    make: Make
    solvable: bool  # a solution exists, always
    why: str
    unique: bool = False  # and there is no other


def random_lcp(kind: str, n: int, seed: int = 0, density: float = 1.0) -> LCP:
    """An LCP with n rows of one of the `KINDS`."""
    M, q = chosen("random_lcp", KINDS, kind, n, density).make(np.random.default_rng(seed), n, density)
    return LCP(M, q)


def random_mixed(kind: str, n: int, seed: int = 0, density: float = 1.0) -> MixedLCP:
    """A mixed LCP over a monotone matrix of one of the `MIXED_KINDS`.

    Rows are free, bounded below, bounded above, boxed and fixed in turn, shuffled. z is drawn first, with bounds and
    w to match (zero inside, pushing outwards at a bound), then q = w - M z: so z is a solution.
    """
    rng = np.random.default_rng(seed)
    M = chosen("random_mixed", MIXED_KINDS, kind, n, density).make(rng, n, density)
    z, w, lower, upper = complementary_point_in_a_box(rng, n)
    return MixedLCP(M, w - M @ z, lower, upper)


def chosen(caller: str, kinds: dict[str, Kind], kind: str, n: int, density: float) -> Kind:
    if kind not in kinds:
        raise InputError(f"{caller}: kind is {kind!r}, expected one of {', '.join(kinds)}")
    if n < 1:
        raise InputError(f"{caller}: n is {n}, expected at least 1")
    if not 0 < density <= 1:
        raise InputError(f"{caller}: density is {density:g}, expected a number in (0, 1]")
    return kinds[kind]


def definite(rng: Generator, n: int, density: float) -> Any:
    """A Aᵀ + I/10: symmetric positive definite."""
    A = factor(rng, n, n, density)
    return A @ A.T + 0.1 * identity(n, density)


def semidefinite(rng: Generator, n: int, density: float) -> Any:
    """A Aᵀ + B - Bᵀ with A of n/2 columns: xᵀ M x = |Aᵀ x|² >= 0, not symmetric."""
    A, B = factor(rng, n, (n + 1) // 2, density), factor(rng, n, n, density)
    return A @ A.T + B - B.T


def skew(rng: Generator, n: int, density: float) -> Any:
    """[0, -Aᵀ; A, 0], the matrix of a linear program and its dual: xᵀ M x = 0."""
    A = factor(rng, n - n // 2, n // 2, density)
    return blocks([[zeros(n // 2, n // 2, density), -A.T], [A, zeros(n - n // 2, n - n // 2, density)]])


def saddle(rng: Generator, n: int, density: float) -> Any:
    """[K, -Aᵀ; A, 0] with K positive definite: velocities and impulses, xᵀ M x = x_1ᵀ K x_1 >= 0."""
    velocities, impulses = n - n // 3, n // 3
    A = factor(rng, impulses, velocities, density)
    return blocks([[definite(rng, velocities, density), -A.T], [A, zeros(impulses, impulses, density)]])


def square(rng: Generator, n: int, density: float) -> Any:
    """Without structure."""
    return factor(rng, n, n, density)


def p_matrix(rng: Generator, n: int, density: float) -> Any:
    """[S, 0; B, T] with S and T of unit diagonal, rows and columns shuffled alike; one entry of B is 4."""
    half = n // 2
    S, T = unit_diagonal(definite(rng, half, density)), unit_diagonal(definite(rng, n - half, density))
    B = factor(rng, n - half, half, density)
    if half:
        B = with_entry(B, 0, 0, 4.0)
    order = rng.permutation(n)
    return blocks([[S, zeros(half, n - half, density)], [B, T]])[order][:, order]


def copositive(rng: Generator, n: int, density: float) -> Any:
    """S + N + Nᵀ with S positive definite of unit diagonal, N >= 0 above the diagonal; its first entry is 4."""
    S, N = unit_diagonal(definite(rng, n, density)), abs(factor(rng, n, n, density))
    N = np.triu(N, 1) if density == 1 else sparse.csr_array(sparse.triu(N, 1))
    if n > 1:
        N = with_entry(N, 0, 1, 4.0)
    return S + N + N.T


def degenerate_lcp(rng: Generator, n: int, density: float) -> tuple[Matrix, Vector]:
    """A Aᵀ + I in whole numbers, and a solution of zeros and ones where z_i = w_i = 0 in every third row."""
    signs = sign(factor(rng, n, n, density))
    M = signs @ signs.T + identity(n, density)
    turn = rng.permutation(np.arange(n) % 3)
    z, w = (turn == 1).astype(np.float64), (turn == 2).astype(np.float64)
    return M, w - M @ z


def hyperstatic_lcp(rng: Generator, n: int, density: float) -> tuple[Matrix, Vector]:
    """M = A Aᵀ with A of n/3 columns, q = M c: more contacts than the motions they restrain."""
    A = factor(rng, n, max(n // 3, 1), density)
    M = A @ A.T
    return M, M @ rng.normal(size=n)


def badly_scaled_lcp(rng: Generator, n: int, density: float) -> tuple[Matrix, Vector]:
    """D M E and D q with M positive definite; D, E diagonal, powers of two from 2^-26 to 2^26 (1.5e-8 to 6.7e7)."""
    M, q = definite(rng, n, density), rng.normal(size=n)
    D, E = np.ldexp(1.0, rng.integers(-26, 27, size=(2, n)))
    return scaled(M, D, E), D * q


def any_q(matrix: Make) -> Make:
    """LCPs of a class of matrices, with any q."""
    return lambda rng, n, density: (matrix(rng, n, density), rng.normal(size=n))


def solvable(matrix: Make) -> Make:
    """LCPs of a class of matrices, with a q that is made from a solution."""
    return lambda rng, n, density: with_a_solution(rng, matrix(rng, n, density))


KINDS = {
    "pd": Kind(any_q(definite), True, "M is symmetric positive definite", unique=True),
    "psd": Kind(solvable(semidefinite), True, "q is made from a solution; M is positive semidefinite, not symmetric"),
    "p": Kind(
        any_q(p_matrix),
        True,
        "every principal submatrix of [S, 0; B, T] is of the same form, so its determinant is the product of one "
        "of S and one of T, both positive: a P-matrix. Not positive definite for n >= 2: with b = 4 between unit "
        "diagonals, (1, -1) gives 1 - 4 + 1 < 0",
        unique=True,
    ),
    "copositive": Kind(
        any_q(copositive),
        True,
        "xᵀ M x >= xᵀ S x > 0 for x >= 0, x != 0: strictly copositive. Not positive semidefinite for n >= 2: "
        "(1, -1, 0, ...) gives 1 + 1 - 2 s - 8 < 0, as |s| < 1",
    ),
    "degenerate": Kind(
        degenerate_lcp, True, "M is positive definite; z_i = w_i = 0 in a third of the rows, exactly", unique=True
    ),
    "rank-deficient": Kind(
        hyperstatic_lcp,
        True,
        "the LCP is the optimality condition of min |Aᵀ (z + c)|² over z >= 0, a convex quadratic that has a minimum; "
        "w and Aᵀ z are unique, z is not",
    ),
    "badly-scaled": Kind(
        badly_scaled_lcp,
        True,
        "z solves (M, q) exactly when z' = E⁻¹ z solves (D M E, D q), with w' = D w: positive scales keep every sign",
        unique=True,
    ),
    "skew": Kind(solvable(skew), True, "q is made from a solution: a linear program that is feasible and bounded"),
    "indefinite": Kind(any_q(square), False, "entries without structure: none, one or many"),
}

MIXED_KINDS = {
    "pd": Kind(definite, True, "z is drawn first; M is positive definite", unique=True),
    "psd": Kind(semidefinite, True, "z is drawn first; M is positive semidefinite"),
    "skew": Kind(skew, True, "z is drawn first; M is skew"),
    "saddle": Kind(saddle, True, "z is drawn first; M is positive semidefinite, as with joints and contacts"),
}


def with_a_solution(rng: Generator, M: Matrix) -> tuple[Matrix, Vector]:
    """M and q = w - M z for a drawn 0 <= z ⊥ w >= 0."""
    n = M.shape[0]
    size, active = np.abs(rng.normal(size=n)), rng.random(n) < 0.5
    z, w = np.where(active, size, 0.0), np.where(active, 0.0, size)
    return M, w - M @ z


def complementary_point_in_a_box(rng: Generator, n: int) -> tuple[Vector, Vector, Vector, Vector]:
    """z, w, lower, upper with z in the bounds, w zero inside them and pushing outwards at them."""
    turn = rng.permutation(np.arange(n) % 5)
    free, below, above, boxed, fixed = (turn == kind for kind in range(5))
    place = rng.integers(0, 3, size=n)  # at the lower bound, inside, at the upper one: where there is one
    at_lower = (below | boxed) & (place == 0)
    at_upper = (above | boxed) & (place == 2)
    z, push, room = rng.normal(size=n), np.abs(rng.normal(size=n)), 0.1 + rng.random(size=(2, n))
    lower = np.where(free | above, -np.inf, np.where(fixed | at_lower, z, z - room[0]))
    upper = np.where(free | below, np.inf, np.where(fixed | at_upper, z, z + room[1]))
    w = np.select([at_lower, at_upper, fixed], [push, -push, rng.normal(size=n)], 0.0)
    return z, w, lower, upper


def factor(rng: Generator, rows: int, columns: int, density: float) -> Any:
    """Normal entries, scaled so that a row has length about 1; sparse below density 1."""
    scale = 1.0 / np.sqrt(max(density * columns, 1.0))
    if density == 1:
        return scale * rng.normal(size=(rows, columns))
    count = max(round(density * rows * columns), min(rows, columns))
    where = rng.integers(0, max(rows, 1), size=count), rng.integers(0, max(columns, 1), size=count)
    return sparse.csr_array(sparse.coo_array((scale * rng.normal(size=count), where), shape=(rows, columns)))


def identity(n: int, density: float) -> Any:
    return np.eye(n) if density == 1 else sparse.csr_array(sparse.eye_array(n))


def zeros(rows: int, columns: int, density: float) -> Any:
    return np.zeros((rows, columns)) if density == 1 else sparse.csr_array((rows, columns))


def blocks(rows: list[list[Any]]) -> Any:
    if isinstance(rows[0][0], np.ndarray):
        return np.block(rows)
    return sparse.csr_array(sparse.block_array(rows))


def unit_diagonal(M: Any) -> Any:
    scale = 1.0 / np.sqrt(M.diagonal())
    return scaled(M, scale, scale)


def scaled(M: Any, rows: Vector, columns: Vector) -> Any:
    if isinstance(M, np.ndarray):
        return rows[:, None] * M * columns
    return sparse.csr_array(sparse.diags_array(rows) @ M @ sparse.diags_array(columns))


def sign(M: Any) -> Any:
    return np.sign(M) if isinstance(M, np.ndarray) else M.sign()


def with_entry(M: Any, row: int, column: int, value: float) -> Any:
    changed = M.copy() if isinstance(M, np.ndarray) else M.tolil()
    changed[row, column] = value
    return changed if isinstance(M, np.ndarray) else sparse.csr_array(changed)
