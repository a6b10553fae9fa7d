"""Theorem 1 of Trinkle and Pang as a function, and its certificates checked here."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.problems.rod_and_cube import contact_columns, example_1, example_2

pytestmark = pytest.mark.core


def between_walls(b):
    """A body of unit mass and inertia between two walls, patches opposite to each other."""
    J = np.hstack(
        [contact_columns((-1, 0, 0), (1, 0, 0), (0, 1, 0)), contact_columns((1, 0, 0), (-1, 0, 0), (0, 1, 0))]
    )
    return ss.LimitSurfaceProblem(J.T @ J, b, [0.5, 0.5], np.full((2, 3), 0.5))


def test_small_friction_is_unique():
    found = ss.existence(example_1((0.1, 0.1)).problem)
    assert found.verdict == "exists and unique"
    assert found.guaranteed
    assert 0.1 < found.mu_bound < found.mu_estimate


def test_any_friction_where_all_contacts_roll():
    assert ss.existence(example_1((1.0, 1.0)).problem).verdict == "exists"
    assert ss.existence(replace(example_1((9.0, 9.0)).problem, surface=ss.Mixed())).verdict == "exists"


@pytest.mark.parametrize("zeta", [2.0, 0.0])
def test_example_1_is_guaranteed_as_the_paper_says(zeta):
    for mu in ((0.1, 0.1), (0.5, 1.0), (1.0, 1.0)):
        assert ss.existence(example_1(mu, zeta).problem).guaranteed


def test_the_bound_is_a_bound():
    """W (I - U) is positive definite for random U just below the bound; above the estimate some U makes it not so."""
    random = np.random.default_rng(0)
    for _ in range(20):
        nc = int(random.integers(1, 4))
        J = random.normal(size=(4 * nc + 2, 4 * nc))
        W, e = J.T @ J, np.ones((nc, 3))
        found = ss.existence(ss.LimitSurfaceProblem(W, -np.ones(4 * nc), np.zeros(nc), e))
        assert 0 < found.mu_bound <= found.mu_estimate
        for _ in range(50):
            omega = random.normal(size=(nc, 3))
            omega /= np.linalg.norm(omega, axis=1, keepdims=True)
            U = np.zeros_like(W)
            for i in range(nc):
                U[4 * i + 1 : 4 * i + 4, 4 * i] = found.mu_bound * omega[i]
            M = W @ (np.eye(4 * nc) - U)
            assert np.linalg.eigvalsh(M + M.T)[0] > 0


def test_below_the_bound_every_solver_finds_the_same():
    """Uniqueness, seen from random starts."""
    random = np.random.default_rng(1)
    for _ in range(5):
        J = random.normal(size=(10, 8))
        A, b = J.T @ J, random.normal(size=8) - np.tile((2.0, 0, 0, 0), 2)
        bound = ss.existence(ss.LimitSurfaceProblem(A, b, np.zeros(2), np.ones((2, 3)))).mu_bound
        problem = ss.LimitSurfaceProblem(A, b, np.full(2, 0.999 * bound), np.ones((2, 3)))
        assert ss.existence(problem).verdict == "exists and unique"
        found = ss.search_modes(problem, starts=3)
        assert len(found) == 1


def test_with_slips_friction_must_be_small():
    problem = replace(example_1((0.3, 0.3)).problem, slip=np.array([[1.0, 0, 0], [0, 0, 0]]))
    assert ss.existence(problem).verdict == "exists"
    assert ss.existence(replace(problem, mu=20 * problem.mu)).verdict == "not guaranteed"


def test_accelerations_that_open_all_contacts():
    problem = between_walls([1.0, 0, 0, 0, -0.5, 0, 0, 0])
    found = ss.existence(problem)
    assert found.verdict == "exists"
    a = (problem.A @ found.v + problem.b).reshape(2, 4)
    assert (a[:, 0] > 0.5 * np.linalg.norm(0.5 * a[:, 1:], axis=1)).all()


def test_walls_that_close():
    problem = between_walls([-1.0, 0, 0, 0, -1.0, 0, 0, 0])
    found = ss.existence(problem)
    assert found.verdict == "not guaranteed"
    parts = found.grip.reshape(2, 4)
    assert (np.linalg.norm(parts[:, 1:] / 0.5, axis=1) <= 0.5 * parts[:, 0] + 1e-9).all()
    np.testing.assert_allclose(problem.A @ found.grip, 0.0, atol=1e-6)
    assert problem.b @ found.grip < -0.5


def test_walls_at_rest():
    """The grip does no work: b = 0 along it, Theorem 1 (B) with equality."""
    problem = between_walls([-1.0, 0, 0, 0, 1.0, 0, 0, 0])
    found = ss.existence(problem)
    assert found.verdict == "exists"
    np.testing.assert_allclose(problem.A @ found.v + problem.b, 0.0, atol=1e-9)
    assert ss.solve(problem).solved


def test_example_2_is_guaranteed():
    for mu in (0.5, 0.9):
        assert ss.existence(example_2(mu).problem).guaranteed


def test_not_semidefinite():
    problem = ss.LimitSurfaceProblem(-np.eye(4), -np.ones(4), [0.5], np.ones((1, 3)))
    assert ss.existence(problem).verdict == "not guaranteed"
