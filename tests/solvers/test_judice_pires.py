"""Block principal pivoting: agreement with Lemke, the safeguard against cycling, warm starts, singular blocks."""

import numpy as np
import pytest
from scipy import sparse

from stickslip import LCP, InputError, JudicePires, Lemke, MixedLCP, Status
from stickslip.problems.mechanical import normal_lcp, sphere_pile
from stickslip.problems.random_classes import random_lcp, random_mixed
from stickslip.problems.textbook import murty_exponential
from stickslip.solvers.judice_pires import at_bounds, first_sides, violations


@pytest.mark.core
@pytest.mark.parametrize("kind", ["pd", "p", "badly-scaled"])
def test_finds_the_unique_solution(kind):
    for n in (1, 2, 9, 23):
        problem = random_lcp(kind, n, n)
        one, other = JudicePires().solve(problem).require(), Lemke().solve(problem).require()
        np.testing.assert_allclose(one.x, other.x, rtol=1e-7, atol=1e-10 * np.abs(other.x).max())


@pytest.mark.core
def test_box_rows_have_a_closed_form():
    a, q = np.array([2.0, 1, 4, 1, 3]), np.array([-2.0, 3, -40, 2, 1])
    lower = np.array([-np.inf, 0, -5, -np.inf, 0.7])
    upper = np.array([np.inf, np.inf, 5, 1, 0.7])
    answer = JudicePires().solve(MixedLCP(np.diag(a), q, lower, upper)).require()
    np.testing.assert_allclose(answer.x, np.clip(-q / a, lower, upper), atol=1e-14)


def test_mixed_rows_agree_with_lemke():
    for seed in range(40):
        problem = random_mixed("pd", 1 + seed, seed)
        one, other = JudicePires().solve(problem).require(), Lemke().solve(problem).require()
        np.testing.assert_allclose(one.x, other.x, atol=1e-8)


def test_block_steps_alone_cycle_and_the_safeguard_ends_it():
    problem = LCP([[1.0, 0, 3], [3, 1, 0], [0, 3, 1]], [-1.0, -1, -1])
    minors = [np.linalg.det(problem.M[np.ix_(s, s)]) for s in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2])]
    assert min(minors) > 0  # a P-matrix: the solution is unique
    lower, upper = np.zeros(3), np.full(3, np.inf)
    sides, seen = first_sides(problem, lower, upper, np.array([1.0, 0, 0])), set()
    for _ in range(20):
        z = at_bounds(lower, upper, sides)
        F = np.flatnonzero(sides == 0)
        z[F] = np.linalg.solve(problem.M[np.ix_(F, F)], -problem.q[F]) if F.size else z[F]
        change = violations(z, problem.value(z), lower, upper, sides)
        if not change.any():
            break
        seen.add(sides.tobytes())
        sides = sides + change
    cycles = sides.tobytes() in seen
    answer = JudicePires(patience=2).solve(problem, np.array([1.0, 0, 0])).require()
    np.testing.assert_allclose(answer.x, np.full(3, 0.25))
    assert cycles, "the example no longer shows the cycle that the safeguard is for"


def test_few_factorisations_where_murty_needs_exponentially_many():
    answer = JudicePires().solve(murty_exponential(12).problem).require()
    assert answer.iterations <= 100


def test_a_warm_start_needs_one_factorisation():
    problem = random_lcp("pd", 60, 1)
    first = JudicePires().solve(problem).require()
    assert JudicePires().solve(problem, first.x).require().iterations == 1


def test_sparse_pile():
    pile = normal_lcp(sphere_pile(9, seed=3))
    softened = LCP(pile.M + 0.1 * pile.M.diagonal().mean() * sparse.eye_array(pile.size), pile.q)
    assert sparse.issparse(softened.M)
    assert JudicePires().solve(softened).require().residual <= 1e-12


@pytest.mark.core
def test_a_singular_block_is_reported():
    assert JudicePires().solve(LCP([[0.0]], [-1.0])).status is Status.STALLED
    assert JudicePires().solve(LCP(np.ones((2, 2)), [-1.0, -1.0])).solved  # one of the two pivots is enough
    with pytest.raises(InputError, match=r"^JudicePires: the problem is \[\], expected an LCP or MixedLCP$"):
        JudicePires().solve([])
