"""What each random class promises: its matrix class by definition, existence and uniqueness by brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, lsq_linear
from solution_pieces import pieces, points

from stickslip.errors import InputError
from stickslip.problems.matrix import as_dense
from stickslip.problems.random_classes import KINDS, MIXED_KINDS, random_lcp, random_mixed
from stickslip.problems.residual import residual

SEEDS = range(4)


def smallest_eigenvalue(M):
    """Of the symmetric part: its sign decides definiteness."""
    return np.linalg.eigvalsh(M + M.T).min() / 2


def subsets(n):
    return (list(rows) for size in range(1, n + 1) for rows in itertools.combinations(range(n), size))


def exact_determinant(M):
    rows = [[Fraction(float(entry)) for entry in row] for row in M]
    result = Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], result = rows[pivot], rows[k], -result
        result *= rows[k][k]
        for i in range(k + 1, len(rows)):
            share = rows[i][k] / rows[k][k]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k], strict=True)]
    return result


def is_p_matrix(M):
    return all(exact_determinant(M[np.ix_(rows, rows)]) > 0 for rows in subsets(len(M)))


def is_strictly_copositive(M):
    """Kaplan: no principal submatrix has a positive eigenvector with an eigenvalue <= 0."""
    for rows in subsets(len(M)):
        values, vectors = np.linalg.eigh((M + M.T)[np.ix_(rows, rows)])
        for value, v in zip(values, vectors.T, strict=True):
            if value <= 0 and ((v > 0).all() or (v < 0).all()):
                return False
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_solutions_are_as_promised(kind, density, n):
    for seed in SEEDS:
        problem = random_lcp(kind, n, seed, density)
        assert problem.size == n
        if kind == "badly-scaled":
            problem = rescaled(problem)
        found = pieces(problem)
        if KINDS[kind].solvable:
            assert found
        if KINDS[kind].unique:
            assert len(points(problem)) == 1


def rescaled(problem):
    """The same problem in units where every diagonal entry and the largest of each row are near 1."""
    M, q = as_dense(problem.M), problem.q
    D = 1 / np.abs(q)
    E = 1 / (D * np.diag(M))
    return type(problem)(D[:, None] * M * E, D * q)


@pytest.mark.parametrize("kind", MIXED_KINDS)
@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_mixed_solutions_are_as_promised(kind, density, n):
    for seed in SEEDS:
        problem = random_mixed(kind, n, seed, density)
        assert pieces(problem)
        if MIXED_KINDS[kind].unique:
            assert len(points(problem)) == 1


@pytest.mark.parametrize("density", [1.0, 0.2])
@pytest.mark.parametrize("seed", SEEDS)
class TestMatrices:
    def test_pd(self, seed, density):
        M = as_dense(random_lcp("pd", 20, seed, density).M)
        np.testing.assert_allclose(M, M.T, rtol=1e-14)
        assert smallest_eigenvalue(M) > 0.09

    def test_psd(self, seed, density):
        M = as_dense(random_lcp("psd", 20, seed, density).M)
        values = np.linalg.eigvalsh(M + M.T)
        assert values.min() > -1e-12
        assert (values < 1e-12).sum() >= 10  # singular
        assert abs(M - M.T).max() > 0.1  # and not symmetric

    @pytest.mark.parametrize("n", [2, 3, 8])
    def test_p(self, seed, density, n):
        M = as_dense(random_lcp("p", n, seed, density).M)
        assert is_p_matrix(M)
        assert smallest_eigenvalue(M) < 0

    @pytest.mark.parametrize("n", [2, 3, 8])
    def test_copositive(self, seed, density, n):
        M = as_dense(random_lcp("copositive", n, seed, density).M)
        assert is_strictly_copositive(M)
        assert smallest_eigenvalue(M) < 0

    def test_degenerate(self, seed, density):
        problem = random_lcp("degenerate", 9, seed, density)
        M = as_dense(problem.M)
        assert smallest_eigenvalue(M) > 0.9
        np.testing.assert_array_equal(M, np.round(M))
        np.testing.assert_array_equal(problem.q, np.round(problem.q))
        (z,) = points(problem)
        z = np.round(z)
        w = problem.value(z)
        assert residual(problem, z) == 0.0  # exactly
        assert ((z == 0) & (w == 0)).sum() >= 3

    def test_rank_deficient(self, seed, density):
        problem = random_lcp("rank-deficient", 30, seed, density)
        M = as_dense(problem.M)
        values, vectors = np.linalg.eigh(M)
        kept = values > 1e-10
        assert kept.sum() <= 10
        assert values.min() > -1e-12
        root = np.sqrt(values[kept])
        outside = problem.q - vectors[:, kept] @ (vectors[:, kept].T @ problem.q)
        assert abs(outside).max() < 1e-12  # q in the range of M
        A, b = root[:, None] * vectors[:, kept].T, -(vectors[:, kept].T @ problem.q) / root
        z = lsq_linear(A, b, (0, np.inf), method="bvls", tol=1e-14).x
        assert residual(problem, z) < 1e-10

    def test_badly_scaled(self, seed, density):
        problem = random_lcp("badly-scaled", 6, seed, density)
        assert is_p_matrix(as_dense(problem.M))
        large = as_dense(random_lcp("badly-scaled", 60, seed, density).M)
        assert np.diag(large).max() / np.diag(large).min() > 1e12

    def test_skew(self, seed, density):
        problem = random_lcp("skew", 15, seed, density)
        M = as_dense(problem.M)
        np.testing.assert_array_equal(M, -M.T)
        A, cost, need = M[7:, :7], problem.q[:7], -problem.q[7:]
        answer = linprog(cost, A_ub=-A, b_ub=-need)
        assert answer.status == 0  # feasible and bounded
        z = np.concatenate([answer.x, -answer.ineqlin.marginals])
        assert residual(problem, z) < 1e-9

    def test_indefinite(self, seed, density):
        M = as_dense(random_lcp("indefinite", 20, seed, density).M)
        assert smallest_eigenvalue(M) < 0

    def test_mixed(self, seed, density):
        for kind in MIXED_KINDS:
            problem = random_mixed(kind, 20, seed, density)
            M = as_dense(problem.M)
            assert smallest_eigenvalue(M) > (0.09 if kind == "pd" else -1e-12)
            low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
            fixed = problem.lower == problem.upper
            counts = [(~low & ~high), (low & ~high), (~low & high), (low & high & ~fixed), fixed]
            assert [int(rows.sum()) for rows in counts] == [4] * 5


@pytest.mark.parametrize("make", [random_lcp, random_mixed])
def test_the_seed_decides(make):
    a, b, c = make("pd", 10, 7), make("pd", 10, 7), make("pd", 10, 8)
    np.testing.assert_array_equal(a.M, b.M)
    np.testing.assert_array_equal(a.q, b.q)
    assert not np.array_equal(a.q, c.q)


@pytest.mark.parametrize("kind", KINDS)
def test_density_below_one_is_sparse(kind):
    assert isinstance(random_lcp(kind, 8).M, np.ndarray)
    thin = random_lcp(kind, 400, density=0.005)
    assert isinstance(thin.M, sparse.csr_array)
    assert thin.M.nnz < 0.1 * 400**2


@pytest.mark.parametrize("make", [random_lcp, random_mixed])
def test_bad_requests(make):
    name = make.__name__
    with pytest.raises(InputError, match=rf"^{name}: kind is 'nice', expected one of pd, psd, "):
        make("nice", 3)
    with pytest.raises(InputError, match=rf"^{name}: n is 0, expected at least 1$"):
        make("pd", 0)
    for density in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match=rf"^{name}: density is .*, expected a number in \(0, 1\]$"):
            make("pd", 3, density=density)
