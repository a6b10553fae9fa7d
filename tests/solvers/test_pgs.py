"""Projected Gauss-Seidel: closed forms, over-relaxation, what it refuses, and how it ends where it cannot succeed."""

import numpy as np
import pytest
from known_answers import diagonal_bounds, diagonal_lcp, random_known, string_under_a_ceiling
from scipy import sparse

from stickslip import LCP, PGS, ConeProblem, InputError, MixedLCP, Status
from stickslip.problems.residual import residual


@pytest.mark.core
@pytest.mark.parametrize("known", [diagonal_lcp(), diagonal_bounds()], ids=["lcp", "bounds"])
def test_one_sweep_solves_a_diagonal_problem(known):
    answer = PGS().solve(known.problem).require()
    np.testing.assert_allclose(answer.x, known.z, rtol=1e-15, atol=0)
    np.testing.assert_allclose(answer.y, known.w, atol=1e-15)


@pytest.mark.core
@pytest.mark.parametrize("as_sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("omega", [0.7, 1.0, 1.6])
def test_string_under_a_ceiling(omega, as_sparse):
    known = string_under_a_ceiling(k=4, flat=3, as_sparse=as_sparse)
    answer = PGS(omega=omega, tol=1e-11).solve(known.problem).require()
    np.testing.assert_allclose(answer.x, known.z, atol=1e-9)


def test_over_relaxation_is_faster_on_the_string():
    problem = string_under_a_ceiling(k=30, flat=11).problem
    assert PGS(omega=1.8).solve(problem).require().iterations < PGS().solve(problem).require().iterations / 3


@pytest.mark.core
def test_one_sweep_by_hand():
    problem = MixedLCP([[2.0, 1.0], [1.0, 4.0]], [-2.0, 3.0], [-np.inf, -0.5], [np.inf, 2.0])
    answer = PGS(max_iter=1, omega=0.5, tol=0.0).solve(problem, np.array([1.0, 1.0]))
    # w_0 = 1: z_0 = 1 - ½ 1/2 = 3/4; then w_1 = 3/4 + 4 + 3 = 31/4: z_1 = 1 - ½ 31/16 = 1/32
    np.testing.assert_array_equal(answer.x, [0.75, 0.03125])
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 1)


@pytest.mark.core
def test_redundant_supports():
    answer = PGS().solve(LCP(np.ones((4, 4)), -np.ones(4))).require()
    np.testing.assert_allclose(answer.x.sum(), 1.0, rtol=1e-9)


@pytest.mark.parametrize("kind", ["pd", "psd", "degenerate"])
@pytest.mark.parametrize("n", [1, 6, 30])
def test_symmetric_semidefinite_problems_have_one_w(kind, n):
    for seed in range(5):
        known = random_known(kind, n, seed)
        answer = PGS(max_iter=200_000).solve(known.problem).require()
        np.testing.assert_allclose(answer.y, known.w, atol=1e-6)


@pytest.mark.core
def test_dense_and_sparse_rows_give_the_same():
    known = random_known("pd", 12, 3)
    M, q = known.problem.M, known.problem.q
    thin = np.where(np.abs(M) > 0.4, M, 0.0) + 3 * np.eye(12)
    assert np.count_nonzero(thin) / thin.size < 0.4 < np.count_nonzero(M) / M.size
    for matrix in (M, thin):
        dense, csr = PGS().solve(LCP(matrix, q)).require(), PGS().solve(LCP(sparse.csr_array(matrix), q)).require()
        np.testing.assert_allclose(dense.x, csr.x, atol=1e-9)
        assert dense.iterations == csr.iterations


@pytest.mark.core
def test_starting_at_the_answer_takes_no_sweep():
    known = string_under_a_ceiling(k=4, flat=3)
    assert PGS().solve(known.problem, known.z).iterations == 0


@pytest.mark.core
def test_a_zero_diagonal_is_refused_by_name():
    with pytest.raises(InputError, match=r"PGS: M\[1, 1\] is 0, expected a positive diagonal"):
        PGS().solve(MixedLCP([[1.0, -1.0], [1.0, 0.0]], [1.0, 1.0], [0.0, -np.inf], [np.inf, np.inf]))
    with pytest.raises(InputError, match=r"PGS: M\[0, 0\] is -1, expected a positive diagonal"):
        PGS().solve(LCP([[-1.0]], [1.0]))


@pytest.mark.core
def test_a_fixed_row_needs_no_diagonal():
    problem = MixedLCP([[2.0, 1.0], [1.0, 0.0]], [-4.0, 7.0], [0.0, 3.0], [np.inf, 3.0])
    np.testing.assert_allclose(PGS().solve(problem).require().x, [0.5, 3.0])


@pytest.mark.core
def test_divergence_is_said():
    # z_0 = 3 z_1 + 1, z_1 = 3 z_0 + 1: each sweep multiplies by nine
    answer = PGS().solve(LCP([[1.0, -3.0], [-3.0, 1.0]], [-1.0, -1.0]))
    assert answer.status is Status.NONFINITE
    assert answer.residual == np.inf


@pytest.mark.core
def test_a_problem_without_solution_is_not_solved():
    # w_0 + w_1 = -2 for every z; each sweep adds one to z
    answer = PGS(max_iter=50).solve(LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]))
    assert answer.status is Status.MAX_ITER
    np.testing.assert_array_equal(answer.x, [99.0, 100.0])


@pytest.mark.core
def test_rounding_above_tol_is_a_stall():
    problem = random_known("pd", 6, 1).problem
    answer = PGS(tol=1e-300).solve(problem)
    assert answer.status is Status.STALLED  # whatever the residual: in another order its sums would differ by more
    assert answer.iterations < 10_000
    assert answer.residual < 1e-14
    assert answer.residual == residual(problem, answer.x)


@pytest.mark.core
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"omega": 2.5}, "PGS: omega is 2.5, expected a number between 0 and 2"),
        ({"omega": 0.0}, "PGS: omega is 0.0, expected a number between 0 and 2"),
        ({"omega": np.nan}, "PGS: omega is nan, expected a number between 0 and 2"),
        ({"tol": -1e-3}, "PGS: tol is -0.001, expected a number >= 0"),
        ({"tol": np.nan}, "PGS: tol is nan, expected a number >= 0"),
        ({"max_iter": 0}, "PGS: max_iter is 0, expected a whole number of at least 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError) as caught:
        PGS(**settings)
    assert str(caught.value) == message


@pytest.mark.core
def test_other_problems_are_refused():
    with pytest.raises(InputError, match="expected an LCP or MixedLCP"):
        PGS().solve(ConeProblem(np.eye(3), np.zeros(3), [0.5]))
    with pytest.raises(InputError, match=r"x0 has shape \(2,\), expected \(1,\)"):
        PGS().solve(LCP([[1.0]], [1.0]), np.zeros(2))
