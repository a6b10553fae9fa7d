"""Interior point: closed forms, degenerate, redundant and badly scaled problems, the public contact problems."""

from pathlib import Path

import numpy as np
import pytest
from known_answers import CLOSED_FORMS, INFEASIBLE, random_known, string_under_a_ceiling
from scipy import sparse

from stickslip import LCP, PGS, ConeProblem, InputError, InteriorPoint, MixedLCP, SemismoothNewton, Status, load
from stickslip.problems.residual import residual

DATA = Path(__file__).parents[2] / "../shared/data"
PUBLIC = sorted([*DATA.glob("lcp_nofric_*.h5"), *DATA.glob("mlcp_nofric_*.h5"), *DATA.glob("box_*.h5")])


@pytest.mark.core
@pytest.mark.parametrize("known", CLOSED_FORMS)
def test_closed_forms(known):
    known = known()
    answer = InteriorPoint().solve(known.problem).require()
    np.testing.assert_allclose(answer.x, known.z, atol=1e-6)
    np.testing.assert_allclose(answer.y, known.w, atol=1e-6)


@pytest.mark.parametrize("kind", ["pd", "psd", "degenerate", "skew", "mixed", "kkt", "scaled"])
def test_random_monotone_problems(kind):
    for n in (1, 2, 5, 17, 40):
        for seed in range(4):
            known = random_known(kind, n, seed)
            answer = InteriorPoint().solve(known.problem).require()
            assert residual(known.problem, answer.x) <= 1e-10
            if kind in ("psd", "degenerate"):  # w is the same for all solutions
                np.testing.assert_allclose(answer.y, known.w, atol=1e-6)
            if kind in ("pd", "kkt"):  # definite where free or active: one solution
                np.testing.assert_allclose(answer.x, known.z, atol=1e-6)


@pytest.mark.parametrize("n", [3, 20])
def test_four_methods_agree(n):
    problem = random_known("pd", n, 9).problem
    solvers = [InteriorPoint(), SemismoothNewton(), SemismoothNewton(function="min"), PGS(max_iter=100_000)]
    answers = [solver.solve(problem).require().x for solver in solvers]
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], atol=1e-7)


@pytest.mark.core
def test_redundant_supports_share_the_load_evenly():
    # all solutions have Σ z = 1; the central path leads to their analytic centre
    answer = InteriorPoint().solve(LCP(np.ones((4, 4)), -np.ones(4))).require()
    np.testing.assert_allclose(answer.x, 0.25, atol=1e-8)


@pytest.mark.core
def test_degenerate_everywhere():
    # z = w = 0 is the only solution: no row is strictly complementary, the slowest case for an interior point
    answer = InteriorPoint().solve(LCP([[2.0, 1.0], [1.0, 2.0]], [0.0, 0.0]), np.ones(2)).require()
    np.testing.assert_allclose(answer.x, 0.0, atol=1e-9)


@pytest.mark.core
def test_many_decades():
    # a mass of a gram beside one of a thousand tonnes: z_i = -q_i / a_i
    a, q = np.array([1e3, 1e-6, 1.0]), np.array([-1e-3, -1e-6, 1.0])
    answer = InteriorPoint(tol=1e-13).solve(LCP(np.diag(a), q)).require()
    np.testing.assert_allclose(answer.x, [1e-6, 1.0, 0.0], atol=1e-12)


@pytest.mark.core
def test_far_and_narrow_bounds():
    lower, upper = np.array([-1e300, 0.0, 1.0]), np.array([1e300, 1e-9, np.nextafter(1.0, 2.0)])
    answer = InteriorPoint(tol=1e-14).solve(MixedLCP(np.eye(3), [-2.0, -1.0, 5.0], lower, upper)).require()
    np.testing.assert_allclose(answer.x, [2.0, 1e-9, 1.0], atol=1e-12)


@pytest.mark.core
def test_fixed_rows_are_constants():
    # with z_1 = 3 the first row reads 2 z_0 + 3 - 5 = 0; the second has no diagonal and any w
    problem = MixedLCP([[2.0, 1.0], [1.0, 0.0]], [-5.0, 7.0], [0.0, 3.0], [np.inf, 3.0])
    answer = InteriorPoint().solve(problem).require()
    np.testing.assert_allclose(answer.x, [1.0, 3.0], atol=1e-9)


@pytest.mark.core
def test_no_rows_no_bounds_no_force():
    assert InteriorPoint().solve(LCP(np.zeros((0, 0)), np.zeros(0))).require().x.size == 0
    assert InteriorPoint().solve(LCP(np.zeros((2, 2)), [1.0, 0.0])).require().iterations == 0
    free = MixedLCP([[2.0, 1.0], [-1.0, 1.0]], [-3.0, 0.0], [-np.inf] * 2, [np.inf] * 2)
    np.testing.assert_allclose(InteriorPoint().solve(free).require().x, [1.0, 1.0], atol=1e-9)


@pytest.mark.core
def test_starting_at_the_answer_takes_no_iteration():
    known = string_under_a_ceiling(k=4, flat=3)
    assert InteriorPoint().solve(known.problem, known.z).iterations == 0


def test_sparse_and_dense_agree():
    known = string_under_a_ceiling(k=60, flat=101)  # 221 rows: beyond what is treated as dense
    M, q, lower, upper = (getattr(known.problem, name) for name in ("M", "q", "lower", "upper"))
    assert sparse.issparse(M)
    one = InteriorPoint().solve(known.problem).require()
    other = InteriorPoint().solve(MixedLCP(M.toarray(), q, lower, upper)).require()
    np.testing.assert_allclose(one.x, known.z, atol=1e-6)
    np.testing.assert_allclose(other.x, one.x, atol=1e-8)


@pytest.mark.core
@pytest.mark.parametrize("problem", INFEASIBLE)
def test_a_problem_without_solution_is_not_solved(problem):
    answer = InteriorPoint().solve(problem)
    assert answer.status in (Status.STALLED, Status.MAX_ITER, Status.NONFINITE)
    assert answer.residual > 1e-6
    assert answer.residual == residual(problem, answer.x)


@pytest.mark.core
def test_inconsistent_equations_are_not_solved():
    # x + y = 1 and x + y = 2
    A = np.array([[1.0, 1.0], [1.0, 1.0]])
    M = np.block([[np.eye(2), -A.T], [A, np.zeros((2, 2))]])
    answer = InteriorPoint().solve(MixedLCP(M, [0.0, 0.0, -1.0, -2.0], [-np.inf] * 4, [np.inf] * 4))
    assert not answer.solved


@pytest.mark.core
def test_a_problem_that_is_not_monotone_ends_honestly():
    # z ≥ 0 ⊥ -z - 1 ≥ 0 has no solution, z ≥ 0 ⊥ 1 - z ≥ 0 has z = 0 and z = 1
    assert not InteriorPoint().solve(LCP([[-1.0]], [-1.0])).solved
    answer = InteriorPoint().solve(LCP([[-1.0]], [1.0]), np.array([0.6]))
    assert not answer.solved or min(abs(answer.x[0]), abs(answer.x[0] - 1.0)) < 1e-9


@pytest.mark.core
def test_overflow_is_never_solved():
    # the start gives w = 2e400; what is called solved must still be z = 1/2
    answer = InteriorPoint().solve(LCP([[2e200]], [-1e200]), np.array([1e200]))
    assert answer.x == pytest.approx(0.5) if answer.solved else answer.status is Status.NONFINITE


@pytest.mark.core
def test_iteration_limit():
    answer = InteriorPoint(max_iter=2).solve(random_known("skew", 20, 0).problem)
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 2)


@pytest.mark.core
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": -1e-10}, "InteriorPoint: tol is -1e-10, expected a number >= 0"),
        ({"tol": float("nan")}, "InteriorPoint: tol is nan, expected a number >= 0"),
        ({"max_iter": 0}, "InteriorPoint: max_iter is 0, expected a whole number of at least 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError) as caught:
        InteriorPoint(**settings)
    assert str(caught.value) == message


@pytest.mark.core
def test_other_problems_are_refused():
    with pytest.raises(InputError, match="expected an LCP or MixedLCP"):
        InteriorPoint().solve(ConeProblem(np.eye(3), np.zeros(3), [0.5]))
    with pytest.raises(InputError, match="x0"):
        InteriorPoint().solve(LCP([[1.0]], [1.0]), np.array([np.nan]))


@pytest.mark.skipif(not PUBLIC, reason="the public problems are not beside this clone")
@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.stem)
def test_public_frictionless_problems(path):
    problem = load(path)
    answer = InteriorPoint().solve(problem).require()
    assert residual(problem, answer.x) <= 1e-10
