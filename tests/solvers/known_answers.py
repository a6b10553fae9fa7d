"""Problems whose answer is known beforehand, for the tests of the iterative solvers."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from stickslip import LCP, MixedLCP

INF = np.inf


@dataclass(frozen=True, eq=False)
class Known:
    problem: LCP | MixedLCP
    z: np.ndarray
    w: np.ndarray


def diagonal_lcp():
    """z_i = max(0, -q_i / M_ii)."""
    a, q = np.array([2.0, 1.0, 4.0, 0.5]), np.array([-3.0, 5.0, -1.0, 0.0])
    return Known(LCP(np.diag(a), q), np.maximum(0, -q / a), np.maximum(0, q))


def diagonal_bounds():
    """z_i = -q_i / M_ii moved into its bounds: free, one-sided, boxed and fixed rows."""
    a, q = np.array([2.0, 1.0, 4.0, 0.5, 3.0, 1.0, 2.0]), np.array([-3.0, 5.0, -40.0, 2.0, 1.0, -2.0, 1.0])
    lower = np.array([-INF, 0.0, -5.0, -INF, -0.1, -INF, 0.7])
    upper = np.array([INF, INF, 5.0, 1.0, 5.0, 1.0, 0.7])
    z = np.clip(-q / a, lower, upper)
    return Known(MixedLCP(np.diag(a), q, lower, upper), z, a * z + q)


def string_under_a_ceiling(k=7, flat=9, as_sparse=True):
    """A loaded string, -u'' = f, kept under a ceiling: a parabola up to node k, then flat, then down again.

    The parabola u_i = f i (2 k + 1 - i) / 2 has second difference -f and u_k = u_(k+1): it meets the flat part
    smoothly, with u_k at the ceiling and no force there (degenerate); inside the flat part the ceiling takes f.
    """
    f, n = 0.01, 2 * k + flat
    rise = f * np.arange(1, k + 1) * (2 * k + 1 - np.arange(1, k + 1)) / 2
    z = np.concatenate([rise, np.full(flat, rise[-1]), rise[::-1]])
    w = np.concatenate([np.zeros(k), np.full(flat, -f), np.zeros(k)])
    T = sparse.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    M = T if as_sparse else T.toarray()
    return Known(MixedLCP(M, np.full(n, -f), np.full(n, -INF), np.full(n, rise[-1])), z, w)


def linear_programme():
    """max 3 x + 5 y,  x <= 4, 2 y <= 12, 3 x + 2 y <= 18: x = 2, y = 6 with prices 0, 3/2, 1 (Hillier, Lieberman)."""
    A, b, c = np.array([[1.0, 0], [0, 2], [3, 2]]), np.array([4.0, 12, 18]), np.array([3.0, 5])
    M = np.block([[np.zeros((2, 2)), A.T], [-A, np.zeros((3, 3))]])
    return Known(LCP(M, np.concatenate([-c, b])), np.array([2.0, 6, 0, 1.5, 1]), np.array([0.0, 0, 2, 0, 0]))


def equality_constrained():
    """min ½|x|² with a · x = 1: x = a / |a|², multiplier 1 / |a|². All rows free, the last one without a diagonal."""
    a = np.array([1.0, 2.0, -2.0])
    M = np.block([[np.eye(3), -a[:, None]], [a[None, :], np.zeros((1, 1))]])
    problem = MixedLCP(M, np.array([0.0, 0, 0, -1]), np.full(4, -INF), np.full(4, INF))
    return Known(problem, np.append(a, 1.0) / 9.0, np.zeros(4))


def nearest_point_of_the_simplex():
    """min ½|x - p|², x >= 0, Σ x = 1: x = max(0, p - θ) with θ = 0.2 for this p."""
    p = np.array([0.9, 0.5, 0.1, -0.4])
    M = np.block([[np.eye(4), -np.ones((4, 1))], [np.ones((1, 4)), np.zeros((1, 1))]])
    lower = np.array([0.0, 0, 0, 0, -INF])
    z = np.append(np.maximum(0, p - 0.2), -0.2)
    w = np.append(np.maximum(0, 0.2 - p), 0.0)
    return Known(MixedLCP(M, np.append(-p, -1.0), lower, np.full(5, INF)), z, w)


CLOSED_FORMS = [
    diagonal_lcp,
    diagonal_bounds,
    string_under_a_ceiling,
    linear_programme,
    equality_constrained,
    nearest_point_of_the_simplex,
]


def semidefinite(rng, n, rank):
    B = rng.normal(size=(n, rank))
    return B @ B.T / rank


def bounded_point(rng, lower, upper, degenerate):
    """z in the bounds, w pushing outwards at them; some rows with z at its bound and w = 0 if degenerate."""
    n = lower.size
    base = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    width = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    inwards = np.where(np.isfinite(lower), 1.0, -1.0)
    free, fixed = np.isinf(lower) & np.isinf(upper), lower == upper
    part = rng.integers(0, 3 if degenerate else 2, n)  # inside, at the bound, both
    z = np.where(free | (part == 0), base + inwards * width * rng.uniform(0.1, 0.9, n), base)
    w = np.where(~free & (part == 1), inwards * rng.uniform(0.1, 1.0, n), 0.0)
    return np.where(fixed, lower, z), np.where(fixed, rng.normal(size=n), w)


def random_known(kind, n, seed):
    """A monotone problem built around its solution. kind: pd, psd, degenerate, skew, mixed, kkt, scaled."""
    rng = np.random.default_rng([seed, n])
    lower, upper = np.zeros(n), np.full(n, INF)
    M = semidefinite(rng, n, max(1, n // 2))
    if kind == "pd":
        M = semidefinite(rng, n, n) + 0.1 * np.eye(n)
    if kind in ("skew", "mixed"):
        K = rng.normal(size=(n, n))
        M = M + (K - K.T) / 2
    if kind == "mixed":
        shape = rng.integers(0, 5, n)  # free, one-sided either way, boxed, fixed
        lower = np.select([shape == 0, shape == 2, shape == 3, shape == 4], [-INF, -INF, -0.5, 0.3], 0.0)
        upper = np.select([shape == 2, shape == 3, shape == 4], [1.0, 0.7, 0.3], INF)
    if kind == "kkt":
        m = max(1, 2 * n // 3)
        A = rng.normal(size=(n - m, m))
        M = np.block([[np.diag(rng.uniform(0.5, 2.0, m)), -A.T], [A, np.zeros((n - m, n - m))]])
        lower[:m] = -INF
    z, w = bounded_point(rng, lower, upper, kind == "degenerate")
    if kind == "scaled":
        s = 10.0 ** rng.uniform(-4, 4, n)
        M, z, w = s[:, None] * M * s, z / s, w * s
    q = w - M @ z
    problem = MixedLCP(M, q, lower, upper) if kind in ("mixed", "kkt") else LCP(M, q)
    return Known(problem, z, w)


# no z in the bounds has w of the right sign
INFEASIBLE = [
    LCP([[0.0]], [-1.0]),
    LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]),
    LCP([[0.0, 1.0], [-1.0, 0.0]], [1.0, -1.0]),
    MixedLCP([[0.0]], [1.0], [-INF], [INF]),
]
