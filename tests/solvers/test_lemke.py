"""Lemke: closed forms, certificates, degenerate problems, accuracy at a thousand rows, the reduction of mixed rows."""

import numpy as np
import pytest
from scipy import sparse

from stickslip import LCP, InputError, Lemke, MixedLCP, Status, residual, solve
from stickslip.problems.mechanical import normal_lcp, polyhedral_lcp, sphere_pile
from stickslip.problems.random_classes import random_lcp, random_mixed
from stickslip.problems.textbook import lemke_exponential, murty_exponential


@pytest.mark.core
@pytest.mark.parametrize("n", [1, 2, 7])
def test_diagonal_problem_has_closed_form(n):
    rng = np.random.default_rng(n)
    a, q = rng.uniform(0.5, 2, n), rng.standard_normal(n)
    answer = Lemke().solve(LCP(np.diag(a), q)).require()
    np.testing.assert_allclose(answer.x, np.maximum(0, -q / a), rtol=1e-15)


@pytest.mark.core
def test_no_pivot_where_q_is_nonnegative():
    answer = Lemke().solve(LCP([[-1.0, 0], [5, -2]], [0.0, 3]))
    assert answer.solved
    assert answer.iterations == 0
    assert not answer.x.any()


@pytest.mark.core
def test_ray_proves_infeasibility():
    """z >= 0 cannot make -z_1 - z_2 - 1 >= 0; M = -e eᵀ makes it so."""
    problem = LCP(-np.ones((2, 2)), [-1.0, -1.0])
    answer = Lemke().solve(problem)
    assert answer.status is Status.RAY
    ray = answer.certificate
    v = ray.multiplier
    assert ray.infeasible
    assert (v >= 0).all()
    assert (problem.M.T @ v <= 0).all()
    assert problem.q @ v < 0
    with pytest.raises(RuntimeError, match=r"RAY.*no solution"):
        answer.require()


@pytest.mark.core
def test_ray_of_a_feasible_problem_proves_nothing():
    """M = [[0, 1], [0, 0]], q = (-1, 1): z = (0, 1) is feasible, so no multiplier exists; yet z_2 >= 1 and w_2 = 1."""
    answer = Lemke().solve(LCP([[0.0, 1.0], [0.0, 0.0]], [-1.0, 1.0]))
    assert answer.status is Status.RAY
    assert answer.certificate.multiplier is None


@pytest.mark.core
def test_the_ray_itself_stays_feasible_and_complementary():
    problem = LCP([[0.0, 1.0], [0.0, 0.0]], [-1.0, 1.0])
    ray = Lemke(covering=(1.0, 1.0)).solve(problem).certificate
    for t in (0.0, 1.0, 100.0):
        z, z0 = ray.z + t * ray.dz, ray.z0 + t * ray.dz0
        w = problem.value(z) + z0
        assert (z >= 0).all()
        assert (w >= -1e-12).all()
        assert abs(z @ w) <= 1e-10 * (1 + t)


@pytest.mark.core
@pytest.mark.parametrize("d", [(1.0, 1.0, 1.0), (1.0, 5.0, 0.1), (100.0, 0.01, 3.0)])
def test_any_positive_covering_vector(d):
    M = np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 2]])
    answer = Lemke(covering=d).solve(LCP(M, [-1.0, -1, -1]))
    np.testing.assert_allclose(answer.require().x, [1.5, 2, 1.5], rtol=1e-14)


def test_bad_settings_are_one_sentence():
    problem = LCP(np.eye(2), [-1.0, -1.0])
    with pytest.raises(InputError, match=r"covering\[1\] is -1"):
        Lemke(covering=(1.0, -1.0)).solve(problem)
    with pytest.raises(InputError, match=r"covering has shape \(3,\)"):
        Lemke(covering=(1.0, 1.0, 1.0)).solve(problem)
    with pytest.raises(InputError, match="refactor is 0"):
        Lemke(refactor=0)
    with pytest.raises(InputError, match=r"^Lemke: the problem is 'nonsense', expected an LCP or MixedLCP$"):
        Lemke().solve("nonsense")


def test_iteration_limit_is_reported():
    answer = Lemke(max_iter=3).solve(random_lcp("pd", 30, 0))
    assert answer.status is Status.MAX_ITER
    assert answer.iterations == 3


@pytest.mark.parametrize("n", [4, 8, 10])
def test_exponential_examples(n):
    for case in (lemke_exponential(n), murty_exponential(n)):
        answer = Lemke(max_iter=2 ** (n + 2)).solve(case.problem).require()
        np.testing.assert_allclose(answer.x, case.solutions[0], atol=1e-12)


@pytest.mark.core
@pytest.mark.parametrize("refactor", [1, 2, 7, 100])
def test_the_answer_does_not_depend_on_how_often_the_basis_is_factorised(refactor):
    problem = random_lcp("pd", 25, 3)
    exact = Lemke(refactor=100).solve(problem).require().x
    np.testing.assert_allclose(Lemke(refactor=refactor).solve(problem).require().x, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.core
def test_sparse_and_dense_agree():
    dense = normal_lcp(sphere_pile(4, seed=1))
    M = dense.M.toarray() if sparse.issparse(dense.M) else dense.M
    one, other = Lemke().solve(LCP(M, dense.q)), Lemke().solve(LCP(sparse.csr_array(M), dense.q))
    np.testing.assert_allclose(one.require().y, other.require().y, atol=1e-10)


def test_a_thousand_rows_lose_no_accuracy():
    for problem in (random_lcp("psd", 1000, 1), normal_lcp(sphere_pile(11, seed=2))):
        answer = Lemke().solve(problem).require()
        assert answer.residual <= 1e-13
        assert answer.iterations > 300


def test_degenerate_polyhedral_pile():
    """Stewart–Trinkle LCPs of a regular pile: copositive, rank-deficient, full of ties."""
    answer = Lemke().solve(polyhedral_lcp(sphere_pile(5, seed=0), 4))
    assert answer.require().residual <= 1e-12


@pytest.mark.core
def test_mixed_rows_of_every_kind():
    """z = clip(-q / a) row by row for a diagonal M; the fixed row stays put."""
    a, q = np.array([2.0, 1, 4, 1, 3]), np.array([-2.0, 3, -40, 2, 1])
    lower = np.array([-np.inf, 0, -5, -np.inf, 0.7])
    upper = np.array([np.inf, np.inf, 5, 1, 0.7])
    answer = Lemke().solve(MixedLCP(np.diag(a), q, lower, upper)).require()
    np.testing.assert_allclose(answer.x, np.clip(-q / a, lower, upper), atol=1e-14)


@pytest.mark.core
def test_free_rows_with_a_singular_block():
    """Least x²/2 - y over x = y, y >= 0: x + λ = 0, 0 <= y ⊥ -λ - 1 >= 0, y - x = 0. No diagonal for y and λ."""
    M = np.array([[1.0, 0, 1], [0, 0, -1], [-1, 1, 0]])
    problem = MixedLCP(M, [0.0, -1.0, 0.0], [-np.inf, 0, -np.inf], np.full(3, np.inf))
    answer = Lemke().solve(problem).require()
    np.testing.assert_allclose(answer.x, [1, 1, -1], atol=1e-14)


def test_redundant_equations_are_left_out_and_contradictory_ones_show():
    M = np.array([[1.0, -1, -1], [1, 0, 0], [1, 0, 0]])  # x = 1 twice, each with a multiplier of its own
    bounds = np.full(3, -np.inf), np.full(3, np.inf)
    answer = Lemke().solve(MixedLCP(M, [0.0, -1, -1], *bounds)).require()
    np.testing.assert_allclose(answer.x[0], 1)
    assert not Lemke().solve(MixedLCP(M, [0.0, -1, -2], *bounds)).solved


@pytest.mark.parametrize("kind", ["pd", "psd", "skew", "saddle"])
def test_mixed_problems_with_a_known_solution(kind):
    for seed in range(40):
        problem = random_mixed(kind, 1 + seed, seed)
        answer = Lemke().solve(problem).require()
        assert (problem.lower <= answer.x).all()
        assert (answer.x <= problem.upper).all()
        assert residual(problem, answer.x) <= 1e-10


@pytest.mark.core
def test_one_compiled_call_and_the_general_reduction_agree():
    """Small dense problems are reduced inside compiled code, sparse ones never are."""
    for kind in ("pd", "saddle"):
        for seed in range(15):
            problem = random_mixed(kind, 1 + seed % 9, seed)
            same = MixedLCP(sparse.csr_array(problem.M), problem.q, problem.lower, problem.upper)
            np.testing.assert_allclose(Lemke().solve(problem).require().y, Lemke().solve(same).require().y, atol=1e-8)


@pytest.mark.core
def test_equations_that_need_the_roles_of_a_pair_swapped():
    """A diode bridge in miniature: the equation z_2 = 1 has no free variable of its own."""
    M = np.array([[0.0, 1.0], [1.0, 0.0]])  # z_1 free: w_1 = z_2 - 1 = 0;  0 <= z_2 ⊥ w_2 = z_1 >= 0
    answer = Lemke().solve(MixedLCP(M, [-1.0, 0.0], [-np.inf, 0.0], [np.inf, np.inf])).require()
    np.testing.assert_allclose(answer.x, [0.0, 1.0], atol=1e-15)


@pytest.mark.core
def test_a_free_variable_without_an_equation_makes_no_false_proof():
    """0 = 0 and 0 <= z_2 ⊥ z_1 - 1 >= 0 with z_1 free: any z_1 >= 1 solves it, though z_1 = 0 would be infeasible."""
    problem = MixedLCP([[0.0, 0.0], [1.0, 0.0]], [0.0, -1.0], [-np.inf, 0.0], [np.inf, np.inf])
    ray = Lemke().solve(problem)
    assert ray.status is Status.RAY
    assert ray.certificate.multiplier is None
    assert solve(problem).require().x[0] >= 1 - 1e-9


@pytest.mark.core
def test_a_proof_is_held_against_the_problem_itself_where_elimination_leaves_rounding_alone():
    """q = 0, so z = 0 solves it; M = a aᵀ with a free row leaves a Schur complement that is zero but for rounding."""
    inf = np.inf
    for seed in range(20):
        a = 1e3 * np.random.default_rng(seed).standard_normal(6)
        M = sparse.csr_array(np.outer(a, a))
        problem = MixedLCP(M, np.zeros(6), [-inf, 0, 0, -inf, -inf, 0], [inf, inf, inf, 0.7, 1.4, 2])
        answer = Lemke().solve(problem)
        assert answer.certificate is None or not answer.certificate.infeasible
        assert solve(problem).solved


@pytest.mark.core
def test_a_proof_knows_rows_that_are_parallel_but_for_a_little():
    """w_0 + w_1 = 2⁻⁴² z_0 - 1 is not negative from z_0 = 2⁴² on, where there is a solution."""
    step = 2.0**-42
    problem = LCP([[-1.0, 1.0], [1.0 + step, -1.0]], [1.0, -2.0])
    z = np.array([2.0**42, 2.0**42 - 1.0])
    assert (problem.value(z) == 0).all()
    answer = Lemke().solve(problem)
    assert answer.solved or not answer.certificate.infeasible


@pytest.mark.core
def test_a_multiplier_of_a_mixed_problem_proves_it_in_its_own_rows():
    """z_0 free with z_0 - z_1 = -5, z_1 <= 1 below, and w_2 = z_0 - 3 >= 0 is asked: z_0 <= -4 says no."""
    M = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    problem = MixedLCP(M, [5.0, 0.0, -3.0], [-np.inf, -1.0, 0.0], [np.inf, 1.0, np.inf])
    v = Lemke().solve(problem).certificate.multiplier
    assert v[1] == 0
    assert v[2] > 0
    reach = M.T @ v
    assert reach[0] == pytest.approx(0, abs=1e-14)
    assert reach[2] == 0
    assert problem.q @ v + abs(reach[1]) < 0  # the most that vᵀ w can be


@pytest.mark.parametrize(("q", "none"), [(5e-11, False), (1e-9, True)])
def test_a_proof_knows_how_wrong_eliminated_equations_may_be(q, none):
    # 1e-3 z_0 + q = 0 with z_0 free, and w_1 = z_0 >= 0: never exactly, but z = 0 has the residual q
    M = np.array([[1e-3, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    problem = MixedLCP(M, np.array([q, 0.0, 0.0]), [-np.inf, 0.0, 0.0], [np.inf, np.inf, 1.0])
    assert (residual(problem, np.zeros(3)) > Lemke().tol) == none
    answer = Lemke().solve(problem)
    assert (answer.certificate is not None and answer.certificate.infeasible) == none
