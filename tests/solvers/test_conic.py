"""What is particular to the interior point of Clarabel; the laws are in test_friction.py."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from stickslip.problems.cone import ConeProblem
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.residual import project_cone
from stickslip.solvers.cone_newton import ConeNewton
from stickslip.solvers.conic import Conic
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_associated_law_of_separate_contacts_is_a_projection(d):
    """With W_ii = w I the impulse is the point of the cone nearest to -q / w, found by one conic problem."""
    rng = np.random.default_rng(3)
    w, mu, y = 10.0 ** rng.uniform(-2, 2, 30), rng.uniform(0, 1, 30), rng.standard_normal((30, d))
    mu[:3], mu[3:6] = 0.0, 1000.0
    problem = ConeProblem(sparse.diags_array(np.repeat(w, d)), (-w[:, None] * y).ravel(), mu, law="associated")
    answer = Conic().solve(problem).require()
    assert answer.iterations == 1
    expected = [project_cone(m, *p, *[0.0] * (3 - d))[:d] for m, p in zip(mu, y, strict=True)]
    np.testing.assert_allclose(answer.x, np.ravel(expected), atol=1e-6)


@pytest.mark.parametrize("problem", [sphere_pile(3), box_stack(3, tilt=0.6, stir=0.1)], ids=str)
def test_velocities_of_the_associated_law_are_unique(problem):
    """Two methods that share nothing; the impulses need not agree."""
    associated = replace(problem, law="associated")
    expected = ConeNewton(tol=1e-11).solve(associated).require()
    answer = Conic(tol=1e-7).solve(associated).require()
    np.testing.assert_allclose(answer.y, expected.y, atol=1e-5 * np.abs(problem.q).max())


def test_no_impulse_of_the_cone_has_less_energy():
    """min ½ rᵀ W r + qᵀ r: no better where the answer is mixed with random impulses of the cone."""
    problem = replace(sphere_pile(3), law="associated")
    r = Conic(tol=1e-7).solve(problem).require().x
    rng = np.random.default_rng(0)

    def energy(r):
        return r @ (0.5 * problem.W @ r + problem.q)

    for _ in range(100):
        y = rng.standard_normal((problem.contacts, 3)) * np.abs(r).max()
        other = np.ravel([project_cone(m, *p) for m, p in zip(problem.mu, y, strict=True)])
        share = 10.0 ** rng.uniform(-3, 0)
        assert energy(r) <= energy((1 - share) * r + share * other) + 1e-9 * abs(energy(r))


@pytest.mark.parametrize("problem", [sphere_pile(3, mu=0.3), box_stack(3, tilt=0.2)], ids=str)
def test_coulomb_velocities_are_those_of_gauss_seidel(problem):
    expected = NSGS(tol=1e-11).solve(problem).require()
    answer = Conic().solve(problem).require()
    np.testing.assert_allclose(answer.y, expected.y, atol=1e-5 * np.abs(problem.q).max())


@pytest.mark.core
@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_an_unsymmetric_matrix_is_solved_as_it_is(law):
    """Its skew part is 1e-2 of it: with the symmetric part alone the residual could not be 1e-8."""
    rng = np.random.default_rng(1)
    A, K = rng.standard_normal((2, 30, 30))
    W = A @ A.T / 30 + 0.1 * np.eye(30) + 0.01 * (K - K.T)
    problem = ConeProblem(W, rng.standard_normal(30), np.full(10, 0.3), law=law)
    answer = Conic().solve(problem).require()
    symmetric = Conic().solve(ConeProblem((W + W.T) / 2, problem.q, problem.mu, law=law)).require()
    expected = ConeNewton(tol=1e-12).solve(problem).require()
    np.testing.assert_allclose(answer.x, expected.x, atol=1e-6)
    assert np.abs(symmetric.x - expected.x).max() > 1e-4


@pytest.mark.core
def test_a_start_gives_the_first_shift():
    """One conic problem is enough where the start is close to the solution."""
    problem = ConeProblem(np.eye(3), [-1.0, -2.0, 0.0], [0.5])  # slips: r = (1, 0.5, 0), u = (0, -1.5, 0)
    cold = Conic().solve(problem).require()
    warm = Conic().solve(problem, x0=np.array([1.001, 0.5, 0.0])).require()
    assert warm.iterations == 1 < cold.iterations
    np.testing.assert_allclose(warm.x, [1.0, 0.5, 0.0], atol=1e-6)


@pytest.mark.core
def test_the_limit_is_said():
    answer = Conic(max_outer=2).solve(sphere_pile(2))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 2)
