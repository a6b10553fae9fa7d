"""Laws of friction with closed forms, for every solver of friction problems."""

import math

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status

CONE_SOLVERS = [NSGS(tol=1e-12)]  # a new solver of friction problems is one more entry
H, G = 0.01, 9.81  # step and gravity

every_solver = pytest.mark.parametrize("solver", CONE_SOLVERS, ids=lambda solver: type(solver).__name__)


def column(masses, mu, push=0.0):
    """Point masses on top of each other, contact i under mass i; the lowest stands on the ground."""
    n = len(masses)
    support = np.eye(n) - np.diag(np.ones(n - 1), -1)  # contact i: mass i relative to mass i - 1
    jacobian = np.kron(support, np.eye(3))
    mass = np.repeat(masses, 3)
    force = np.kron(np.ones(n), [-H * G, 0.0, 0.0]) * mass
    force[-2] += push  # along the first tangent, on the highest
    return ConeProblem.from_bodies(sparse.diags_array(mass), jacobian.T, force, np.full(n, mu))


@pytest.mark.core
@every_solver
@pytest.mark.parametrize("angle", [0.0, 0.2, 0.4635, 0.4637, 1.0])  # atan(0.5) = 0.46365
@pytest.mark.parametrize("dimension", [2, 3])
def test_block_sticks_iff_slope_is_below_friction_angle(solver, angle, dimension):
    m, mu = 2.0, 0.5
    q = H * G * np.array([-math.cos(angle), -math.sin(angle), 0.0])[:dimension]
    answer = solver.solve(ConeProblem(np.eye(dimension) / m, q, [mu])).require()
    slip = H * G * max(0.0, math.sin(angle) - mu * math.cos(angle))
    np.testing.assert_allclose(answer.y, [0.0, -slip, 0.0][:dimension], atol=1e-10)


@pytest.mark.core
@every_solver
def test_a_column_carries_the_weight_above_each_contact(solver):
    masses = np.array([5.0, 2.0, 1.0, 3.0])
    answer = solver.solve(column(masses, mu=0.3)).require()
    weight_above = H * G * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(answer.x.reshape(-1, 3)[:, 0], weight_above, rtol=1e-9)
    np.testing.assert_allclose(answer.y, 0.0, atol=1e-10)


@pytest.mark.core
@every_solver
@pytest.mark.parametrize(("share", "moves"), [(0.99, False), (1.01, True)])
def test_the_top_of_a_column_slides_when_pushed_beyond_friction(solver, share, moves):
    masses, mu = np.array([5.0, 2.0]), 0.3
    limit = mu * masses[1] * H * G
    answer = solver.solve(column(masses, mu, push=share * limit)).require()
    expected = (share - 1) * limit / masses[1] if moves else 0.0  # the rest of the push, as velocity
    np.testing.assert_allclose(answer.y.reshape(-1, 3)[:, 1], [0.0, expected], atol=1e-10)


@pytest.mark.core
@every_solver
def test_a_solution_as_start_needs_no_iteration(solver):
    problem = column(np.array([5.0, 2.0, 1.0]), 0.3, push=0.1)
    answer = solver.solve(problem).require()
    again = solver.solve(problem, x0=answer.x)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.x, answer.x)
    assert again.x is not answer.x


@pytest.mark.core
@every_solver
def test_no_contacts(solver):
    answer = solver.solve(ConeProblem(np.zeros((0, 0)), [], []))
    assert answer.solved
    assert answer.x.size == 0


@pytest.mark.core
@every_solver
def test_other_problems_are_refused(solver):
    with pytest.raises(InputError, match="expected a ConeProblem"):
        solver.solve(LCP(np.eye(2), [1.0, 1.0]))


@every_solver
def test_an_immovable_contact_that_closes_is_never_called_solved(solver):
    problem = ConeProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])  # u = q whatever r is
    assert solver.solve(problem).status is not Status.SOLVED
