"""Problems are checked and made canonical where they enter; the Delassus matrix is what its formula says."""

import re

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import LARGEST_BLOCK, BodyForm, ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import as_dense, as_sparse, density
from stickslip.problems.mixed import MixedLCP

pytestmark = pytest.mark.core

NAN, INF = np.nan, np.inf
I2, I3, O2, O3 = np.eye(2), np.eye(3), np.zeros(2), np.zeros(3)


def sparse_with_nan():
    return sparse.coo_array(([1.0, NAN], ([0, 1], [0, 0])), shape=(2, 2))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LCP([[1, 2]], [1]), "LCP: M has shape (1, 2), expected a square matrix"),
        (lambda: LCP([1, 2], [1]), "LCP: M has shape (2,), expected a square matrix"),
        (lambda: LCP(3.0, [1]), "LCP: M has shape (), expected a square matrix"),
        (lambda: LCP(sparse.csr_array((2, 3)), [1, 2]), "LCP: M has shape (2, 3), expected a square matrix"),
        (lambda: LCP(I2, [1, 2, 3]), "LCP: q has shape (3,), expected (2,)"),
        (lambda: LCP(I2, [[1, 2]]), "LCP: q has shape (1, 2), expected (2,)"),
        (lambda: LCP(I2, [1, NAN]), "LCP: q[1] is nan, expected a finite number"),
        (lambda: LCP(I2, [-INF, 1]), "LCP: q[0] is -inf, expected a finite number"),
        (lambda: LCP([[1, INF], [0, 1]], O2), "LCP: M[0, 1] is inf, expected a finite number"),
        (lambda: LCP(sparse_with_nan(), O2), "LCP: M[1, 0] is nan, expected a finite number"),
        (lambda: LCP("text", O2), "LCP: M is 'text', expected an array of real numbers"),
        (lambda: LCP(I2, ["1", "2"]), "LCP: q is ['1', '2'], expected an array of real numbers"),
        (lambda: LCP(I2, [1, 2j]), "LCP: q is [1, 2j], expected an array of real numbers"),
        (lambda: LCP([[1, 2], [3]], O2), "LCP: M is [[1, 2], [3]], expected an array of real numbers"),
        (lambda: LCP(I2, [None, 1]), "LCP: q is [None, 1], expected an array of real numbers"),
        (
            lambda: LCP(1j * sparse.eye_array(2), O2),
            "LCP: M has entries of type complex128, expected real numbers",
        ),
        (lambda: MixedLCP(I2, O2, [0], [1, 1]), "MixedLCP: lower has shape (1,), expected (2,)"),
        (lambda: MixedLCP(I2, O2, [0, NAN], [1, 1]), "MixedLCP: lower[1] is nan, expected a number or an infinity"),
        (
            lambda: MixedLCP(I2, O2, [0, 2], [1, 1]),
            "MixedLCP: row 1 has lower 2 and upper 1, expected lower <= upper, lower < inf and upper > -inf",
        ),
        (
            lambda: MixedLCP(I2, O2, [INF, 0], [INF, 1]),
            "MixedLCP: row 0 has lower inf and upper inf, expected lower <= upper, lower < inf and upper > -inf",
        ),
        (
            lambda: MixedLCP(I2, O2, [0, -INF], [1, -INF]),
            "MixedLCP: row 1 has lower -inf and upper -inf, expected lower <= upper, lower < inf and upper > -inf",
        ),
        (lambda: ConeProblem(I3, O3, [-0.5]), "ConeProblem: mu[0] is -0.5, expected a friction coefficient >= 0"),
        (lambda: ConeProblem(I3, O3, [NAN]), "ConeProblem: mu[0] is nan, expected a finite number"),
        (lambda: ConeProblem(I3, O3, 0.5), "ConeProblem: mu has shape (), expected a vector"),
        (
            lambda: ConeProblem(I3, O3, [1, 1]),
            "ConeProblem: q has 3 entries and mu 2, expected 2 or 3 components a contact",
        ),
        (lambda: ConeProblem(I3, O2, [1]), "ConeProblem: q has shape (2,), expected (3,)"),
        (
            lambda: ConeProblem.from_bodies(I2, I3, O2, [1]),
            "ConeProblem: H has shape (3, 3), expected a matrix with 2 rows as M has",
        ),
        (
            lambda: ConeProblem.from_bodies(I2, O2, O2, [1]),
            "ConeProblem: H has shape (2,), expected a matrix with 2 rows as M has",
        ),
        (lambda: ConeProblem.from_bodies(I2, np.ones((2, 3)), O3, [1]), "ConeProblem: f has shape (3,), expected (2,)"),
        (
            lambda: ConeProblem.from_bodies(I2, np.ones((2, 3)), O2, [1], w=O2),
            "ConeProblem: w has shape (2,), expected (3,)",
        ),
        (
            lambda: ConeProblem.from_bodies(np.diag([1.0, 0.0]), np.ones((2, 3)), O2, [1]),
            "ConeProblem: M is singular in the block of rows [1], expected an invertible mass matrix",
        ),
        (
            lambda: ConeProblem.from_bodies(np.ones((LARGEST_BLOCK + 1,) * 2), np.ones((65, 3)), np.ones(65), [1]),
            "ConeProblem: M is singular, expected an invertible mass matrix",
        ),
        (
            lambda: ConeProblem(I3, O3, [1], BodyForm(I2, np.ones((2, 2)), O2, O2)),
            "ConeProblem: bodies.H has 2 columns, expected 3 as q has entries",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, says):
    with pytest.raises(InputError, match=f"^{re.escape(says)}$"):
        make()


def test_dense_arrays_become_float64_in_c_order():
    problem = LCP(np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32), (5, 6))
    for array in (problem.M, problem.q):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
    np.testing.assert_array_equal(problem.M, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(problem.value(np.array([1.0, -1.0])), [4, 5])


def test_sparse_matrices_become_sorted_csr_with_duplicates_added():
    rows, columns, values = [1, 0, 1, 0], [1, 1, 1, 0], [1, 2, 3, 4]
    M = LCP(sparse.coo_matrix((values, (rows, columns))), O2).M
    assert isinstance(M, sparse.csr_array)
    assert M.has_canonical_format
    assert (M.dtype, M.indices.dtype, M.indptr.dtype) == (np.float64, np.int32, np.int32)
    np.testing.assert_array_equal(M.toarray(), [[4, 2], [0, 4]])


def test_the_callers_sparse_matrix_is_left_alone():
    given = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2, 2])), shape=(2, 2))
    problem = LCP(given, O2)
    np.testing.assert_array_equal(given.indices, [1, 0])
    np.testing.assert_array_equal(problem.M.indices, [0, 1])


def test_a_diverged_point_is_valued_without_warnings():
    M = np.array([[1.0, -1.0], [1e300, 1e300]])
    for x in ([INF, INF], [NAN, 0.0], [1e300, 1e300]):
        for problem in (LCP(M, O2), MixedLCP(M, O2, O2, O2), ConeProblem(M, O2, [0.5])):
            assert not np.isfinite(problem.value(np.array(x))).all()


def test_sizes_and_names():
    assert repr(LCP(I2, O2)) == "LCP(n=2)"
    assert repr(MixedLCP(I2, O2, [-INF, 0], [INF, INF])) == "MixedLCP(n=2, free=1)"
    assert repr(ConeProblem(np.eye(6), np.zeros(6), [1, 1])) == "ConeProblem(contacts=2, dimension=3)"
    assert ConeProblem(np.eye(6), np.zeros(6), [1, 1, 1]).dimension == 2
    assert ConeProblem(np.zeros((0, 0)), [], []).contacts == 0


@pytest.mark.parametrize(
    ("lower", "upper", "conic"),
    [([-INF, 0], [INF, INF], True), ([0, 0], [INF, 0], True), ([0, -1], [INF, 1], False), ([0, 0], [INF, 2], False)],
)
def test_conic_means_that_every_finite_bound_is_zero(lower, upper, conic):
    assert MixedLCP(I2, O2, lower, upper).is_conic is conic


def blocks(rng, sizes):
    """A mass matrix of dense blocks of the given sizes, with rows and columns shuffled alike."""
    n = sum(sizes)
    M, start = np.zeros((n, n)), 0
    for size in sizes:
        A = rng.normal(size=(size, size))
        M[start : start + size, start : start + size] = A @ A.T + np.eye(size) + 0.1 * (A - A.T)
        start += size
    order = rng.permutation(n)
    return M[order][:, order]


@pytest.mark.parametrize("sizes", [[1] * 12, [6, 6, 6], [3, 1, 6, 1, 3, 2], [LARGEST_BLOCK + 6], [70, 6, 1]])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array, sparse.coo_array])
def test_delassus_equals_the_dense_formula(sizes, kind):
    rng = np.random.default_rng(len(sizes))
    M = blocks(rng, sizes)
    H = rng.normal(size=(len(M), 9)) * (rng.random((len(M), 9)) < 0.5)
    f, w = rng.normal(size=len(M)), rng.normal(size=9)
    problem = ConeProblem.from_bodies(kind(M), kind(H), f, [0.1, 0.2, 0.3], w)
    W = H.T @ np.linalg.solve(M, H)
    q = H.T @ np.linalg.solve(M, f) + w
    assert isinstance(problem.W, sparse.csr_array)
    np.testing.assert_allclose(problem.W.toarray(), W, rtol=0, atol=1e-12 * abs(W).max())
    np.testing.assert_allclose(problem.q, q, rtol=0, atol=1e-12 * abs(q).max())
    np.testing.assert_array_equal(problem.bodies.M.toarray(), M)
    np.testing.assert_array_equal(problem.bodies.H.toarray(), H)


def test_many_columns_of_a_coupled_mass_are_solved_in_parts():
    rng = np.random.default_rng(5)
    M, H = blocks(rng, [LARGEST_BLOCK + 1]), rng.normal(size=(LARGEST_BLOCK + 1, 600))
    problem = ConeProblem.from_bodies(M, H, np.ones(len(M)), np.ones(200))
    W = H.T @ np.linalg.solve(M, H)
    np.testing.assert_allclose(problem.W.toarray(), W, rtol=0, atol=1e-11 * abs(W).max())


def test_delassus_stays_sparse_and_no_offset_means_zero():
    n = 300
    problem = ConeProblem.from_bodies(2 * sparse.eye_array(n), sparse.eye_array(n), np.ones(n), np.ones(n // 3))
    assert problem.W.nnz == n
    np.testing.assert_array_equal(problem.bodies.w, np.zeros(n))
    np.testing.assert_array_equal(problem.q, np.full(n, 0.5))


def test_no_bodies_and_no_contacts_are_allowed():
    assert ConeProblem.from_bodies(np.zeros((0, 0)), np.zeros((0, 0)), [], []).size == 0
    assert ConeProblem.from_bodies(I2, np.zeros((2, 0)), O2, []).size == 0
    assert ConeProblem.from_bodies(np.eye(65) + 1, np.zeros((65, 0)), np.ones(65), []).size == 0


def test_dense_and_sparse_forms_of_a_matrix():
    M = np.array([[1.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(as_dense(as_sparse(M)), M)
    assert as_dense(M) is M
    assert density(M) == density(as_sparse(M)) == 0.5
    assert density(np.zeros((0, 0))) == 0.0
