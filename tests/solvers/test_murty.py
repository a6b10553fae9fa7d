"""Murty's principal pivoting: the unique solution of P-matrix problems, and a plain word elsewhere."""

import numpy as np
import pytest

from stickslip import LCP, InputError, Lemke, Murty, Status
from stickslip.problems.random_classes import random_lcp, random_mixed
from stickslip.problems.textbook import murty_exponential


@pytest.mark.core
@pytest.mark.parametrize("kind", ["pd", "p"])
@pytest.mark.parametrize("n", [1, 3, 12])
def test_finds_the_unique_solution_that_lemke_finds(kind, n):
    problem = random_lcp(kind, n, n)
    one, other = Murty().solve(problem).require(), Lemke().solve(problem).require()
    np.testing.assert_allclose(one.x, other.x, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_takes_exponentially_many_pivots_on_murtys_example(n):
    case = murty_exponential(n)
    answer = Murty().solve(case.problem).require()
    np.testing.assert_allclose(answer.x, case.solutions[0])
    assert answer.iterations == 2**n - 1


def test_a_warm_start_needs_no_pivot():
    problem = random_lcp("pd", 40, 1)
    first = Murty().solve(problem).require()
    again = Murty().solve(problem, first.x).require()
    assert again.iterations == 0
    np.testing.assert_allclose(again.x, first.x, atol=1e-12)


@pytest.mark.core
def test_a_zero_pivot_is_reported():
    answer = Murty().solve(LCP([[0.0, -1.0], [1.0, 0.0]], [-1.0, -1.0]))
    assert answer.status is Status.STALLED


def test_larger_problems_are_refactored():
    problem = random_lcp("pd", 300, 0)
    answer = Murty(refactor=30, max_iter=10**6).solve(problem).require()
    assert answer.residual <= 1e-13
    np.testing.assert_allclose(answer.x, Lemke().solve(problem).require().x, rtol=1e-7, atol=1e-9)


def test_mixed_rows():
    for seed in range(20):
        problem = random_mixed("pd", 1 + seed, seed)
        one, other = Murty().solve(problem).require(), Lemke().solve(problem).require()
        np.testing.assert_allclose(one.x, other.x, atol=1e-8)


def test_wrong_problem():
    with pytest.raises(InputError, match=r"^Murty: the problem is 1\.0, expected an LCP or MixedLCP$"):
        Murty().solve(1.0)
