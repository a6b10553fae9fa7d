"""Semismooth Newton: the equations and their derivatives, closed forms, agreement, and honest failure."""

import numpy as np
import pytest
from known_answers import CLOSED_FORMS, INFEASIBLE, random_known, string_under_a_ceiling
from scipy import sparse

from stickslip import LCP, ConeProblem, InputError, InteriorPoint, MixedLCP, SemismoothNewton, Status
from stickslip.problems.residual import box_map_length, length, residual
from stickslip.solvers.newton import fischer_map, min_map

FUNCTIONS = ["fischer-burmeister", "min"]
MAPS = [fischer_map, min_map]
INF = np.inf


def evaluated(row_map, z, w, lower, upper):
    result = np.empty((3, len(z)))
    row_map(*(np.asarray(x, float) for x in (z, w, lower, upper)), *result)
    return result


@pytest.mark.core
def test_fischer_map_by_hand():
    # φ(3, 4) = 3 + 4 - 5 = 2;  -φ(3, 4) from above;  w;  φ(3, -φ(12, -5)) = φ(3, 6) in a box
    value, by_z, by_w = evaluated(fischer_map, [4, 7, 9, 0], [4, -4, -2.5, 5], [1, -INF, -INF, -3], [INF, 10, INF, 12])
    np.testing.assert_allclose(value, [2, -2, -2.5, 9 - np.sqrt(45)])
    outer, inner = 1 - np.array([3, 6]) / np.sqrt(45), 1 - np.array([12, -5]) / 13
    np.testing.assert_allclose(by_z, [2 / 5, 2 / 5, 0, outer[0] + outer[1] * inner[0]])
    np.testing.assert_allclose(by_w, [1 / 5, 1 / 5, 1, outer[1] * inner[1]])


@pytest.mark.core
def test_fischer_map_keeps_its_digits_near_the_axes():
    # φ(1, b) = b - b²/2 + …,  ∂φ/∂a = b²/2 + …  for small b; naively both would be lost in 1 + b - √(1 + b²)
    b = 1e-12
    value, by_z, by_w = evaluated(fischer_map, [1.0], [b], [0.0], [INF])
    np.testing.assert_allclose([value[0], by_z[0], by_w[0]], [b, b * b / 2, 1 - b], rtol=1e-11)


@pytest.mark.core
@pytest.mark.parametrize("row_map", MAPS)
def test_derivatives_are_those_of_the_value(row_map):
    rng, n, h = np.random.default_rng(0), 60, 1e-6
    lower = np.where(rng.random(n) < 0.4, -INF, -rng.random(n))
    upper = np.where(rng.random(n) < 0.4, INF, rng.random(n))
    z, w = rng.normal(size=n), rng.normal(size=n)
    _, by_z, by_w = evaluated(row_map, z, w, lower, upper)
    for derivative, dz, dw in ((by_z, h, 0), (by_w, 0, h)):
        ahead = evaluated(row_map, z + dz, w + dw, lower, upper)[0]
        behind = evaluated(row_map, z - dz, w - dw, lower, upper)[0]
        np.testing.assert_allclose(derivative, (ahead - behind) / (2 * h), atol=1e-8)


@pytest.mark.core
@pytest.mark.parametrize("row_map", MAPS)
def test_zeros_are_the_complementary_points(row_map):
    values, bounds = (-2.0, -0.5, 0.0, 1.5), [(-INF, INF), (-0.5, INF), (-INF, 1.5), (-0.5, 1.5)]
    for lower, upper in bounds:
        for z in values:
            for w in values:
                solves = lower <= z <= upper and (w == 0 or (z == lower and w > 0) or (z == upper and w < 0))
                value = evaluated(row_map, [z], [w], [lower], [upper])[0, 0]
                assert (value == 0) == solves, (z, w, lower, upper)


@pytest.mark.core
def test_min_map_is_the_natural_map_of_the_residual():
    rng, n = np.random.default_rng(1), 50
    z, w, lower = rng.normal(size=n), rng.normal(size=n), -rng.random(n)
    value = evaluated(min_map, z, w, lower, -lower)[0]
    assert length(value) == pytest.approx(box_map_length(z, w, lower, -lower), rel=1e-14)


@pytest.mark.core
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("known", CLOSED_FORMS)
def test_closed_forms(function, known):
    known = known()
    answer = SemismoothNewton(function=function).solve(known.problem).require()
    np.testing.assert_allclose(answer.x, known.z, atol=1e-8)
    np.testing.assert_allclose(answer.y, known.w, atol=1e-8)


@pytest.mark.core
def test_an_equation_takes_one_step():
    answer = SemismoothNewton(function="min").solve(LCP([[4.0, 1.0], [1.0, 3.0]], [-1.0, -2.0])).require()
    assert answer.iterations == 1
    np.testing.assert_allclose(answer.x, [1 / 11, 7 / 11])


@pytest.mark.core
@pytest.mark.parametrize("function", FUNCTIONS)
def test_redundant_supports_make_the_system_singular(function):
    answer = SemismoothNewton(function=function).solve(LCP(np.ones((4, 4)), -np.ones(4))).require()
    np.testing.assert_allclose(answer.x.sum(), 1.0, rtol=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", ["pd", "psd", "degenerate", "skew", "mixed", "kkt", "scaled"])
def test_random_monotone_problems(function, kind):
    for n in (1, 2, 5, 17, 40):
        known = random_known(kind, n, 11)
        answer = SemismoothNewton(function=function).solve(known.problem).require()
        assert residual(known.problem, answer.x) <= 1e-10
        if kind in ("psd", "degenerate"):  # w is the same for all solutions
            np.testing.assert_allclose(answer.y, known.w, atol=1e-6)
        if kind in ("pd", "kkt"):  # definite where free or active: one solution
            np.testing.assert_allclose(answer.x, known.z, atol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sparse_problems_agree_with_the_interior_point(function):
    known = string_under_a_ceiling(k=60, flat=101)  # 221 rows: beyond what is treated as dense
    assert sparse.issparse(known.problem.M)
    newton = SemismoothNewton(function=function).solve(known.problem).require()
    np.testing.assert_allclose(newton.x, known.z, atol=1e-7)
    np.testing.assert_allclose(newton.x, InteriorPoint().solve(known.problem).require().x, atol=1e-6)


@pytest.mark.core
@pytest.mark.parametrize("function", FUNCTIONS)
def test_starting_at_the_answer_takes_no_step(function):
    known = string_under_a_ceiling(k=4, flat=3)
    assert SemismoothNewton(function=function).solve(known.problem, known.z).iterations == 0


@pytest.mark.core
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("problem", INFEASIBLE)
def test_a_problem_without_solution_is_not_solved(function, problem):
    answer = SemismoothNewton(function=function, max_iter=30).solve(problem)
    assert answer.status in (Status.STALLED, Status.MAX_ITER)
    assert answer.residual > 1e-6
    assert answer.residual == residual(problem, answer.x)


@pytest.mark.core
@pytest.mark.parametrize("function", FUNCTIONS)
def test_overflow_is_never_solved(function):
    # the start gives w = 2e400; what is called solved must still be z = 1/2
    answer = SemismoothNewton(function=function).solve(LCP([[2e200]], [-1e200]), np.array([1e200]))
    assert answer.x == pytest.approx(0.5) if answer.solved else answer.status is Status.NONFINITE


@pytest.mark.core
def test_iteration_limit():
    problem = random_known("skew", 20, 0).problem
    answer = SemismoothNewton(max_iter=1).solve(problem)
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 1)


@pytest.mark.core
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"function": "max"}, "SemismoothNewton: function is 'max', expected 'fischer-burmeister' or 'min'"),
        ({"tol": -1.0}, "SemismoothNewton: tol is -1.0, expected a number >= 0"),
        ({"max_iter": 0}, "SemismoothNewton: max_iter is 0, expected a whole number of at least 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError) as caught:
        SemismoothNewton(**settings)
    assert str(caught.value) == message


@pytest.mark.core
def test_other_problems_are_refused():
    with pytest.raises(InputError, match="expected an LCP or MixedLCP"):
        SemismoothNewton().solve(ConeProblem(np.eye(3), np.zeros(3), [0.5]))


@pytest.mark.core
def test_all_rows_fixed():
    answer = SemismoothNewton().solve(MixedLCP(np.eye(2), [5.0, -5.0], [1.0, 2.0], [1.0, 2.0])).require()
    np.testing.assert_array_equal(answer.x, [1.0, 2.0])
