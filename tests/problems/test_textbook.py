"""Every claim of the textbook cases: solutions by substitution, their number by brute force, pivots by counting."""

import math
from fractions import Fraction

import numpy as np
import pytest
from solution_pieces import pieces, points

from stickslip.errors import InputError
from stickslip.problems.residual import residual
from stickslip.problems.textbook import fathi, lemke_exponential, murty_exponential, painleve_rod, textbook, two_each

CASES = textbook()
FINITE = [case for case in CASES if not case.continuum]
INFINITE = {  # the bounding box of the whole set of solutions
    "1x1 anything": ([0], [math.inf]),
    "CPS 1": ([0, 0], [1, 1]),
    "infinitely many": ([1, 0, 0], [1, math.inf, math.inf]),
    "infinitely many, perturbed": ([1, 0, 1e-4], [1, math.inf, math.inf]),
}


def named(name):
    return next(case for case in CASES if case.name == name)


@pytest.mark.core
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_claimed_solutions_solve(case):
    for z in case.solutions:
        assert residual(case.problem, z) <= 1e-15


@pytest.mark.parametrize("case", FINITE, ids=lambda case: case.name)
def test_there_are_no_other_solutions(case):
    found = points(case.problem)
    assert found is not None, "a continuum of solutions"
    assert len(found) == len(case.solutions) == case.count
    for z in case.solutions:
        assert min(np.abs(z - other).max() for other in found) <= 1e-9 * (1 + np.abs(z).max())


@pytest.mark.parametrize("name", INFINITE)
def test_a_continuum_is_one_and_has_the_described_extent(name):
    case, (low, high) = named(name), INFINITE[name]
    assert case.count == math.inf
    found = pieces(case.problem)
    assert any((top > bottom + 1e-6).any() for bottom, top in found)
    np.testing.assert_allclose(np.min([bottom for bottom, _ in found], axis=0), low, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.max([top for _, top in found], axis=0), high, rtol=0, atol=1e-12)


def test_every_infinite_case_is_described_and_names_are_unique():
    assert {case.name for case in CASES if case.continuum} == set(INFINITE)
    assert len({case.name for case in CASES}) == len(CASES)


def exact(matrix):
    return [[Fraction(float(entry)) for entry in row] for row in matrix]


def pivot(tableau, row, column):
    scale = tableau[row][column]
    tableau[row] = [entry / scale for entry in tableau[row]]
    for i, other in enumerate(tableau):
        if i != row and other[column]:
            tableau[i] = [a - other[column] * b for a, b in zip(other, tableau[row], strict=True)]


def least_index_pivots(problem):
    """Murty's method in rational numbers: exchange z_i and w_i for the least i whose basic variable is negative."""
    n = problem.size
    tableau = exact(np.hstack([np.eye(n), -problem.M, problem.q[:, None]]))
    basis, count = list(range(n)), 0
    while negative := [i for i in range(n) if tableau[i][-1] < 0]:
        i = negative[0]
        basis[i] = (basis[i] + n) % (2 * n)
        pivot(tableau, i, basis[i])
        count += 1
    return count, [tableau[i][-1] if basis[i] >= n else 0 for i in range(n)]


def lemke_pivots(problem):
    """Lemke's method with covering vector (1, ..., 1) in rational numbers."""
    n = problem.size
    tableau = exact(np.hstack([np.eye(n), -problem.M, -np.ones((n, 1)), problem.q[:, None]]))
    basis, row, entering, count = list(range(n)), int(np.argmin(problem.q)), 2 * n, 0
    while True:
        leaving, basis[row] = basis[row], entering
        pivot(tableau, row, entering)
        count += 1
        if leaving == 2 * n:
            z = [0] * n
            for i, variable in enumerate(basis):
                if variable >= n:
                    z[variable - n] = tableau[i][-1]
            return count, z
        entering = (leaving + n) % (2 * n)
        row = min((tableau[i][-1] / tableau[i][entering], i) for i in range(n) if tableau[i][entering] > 0)[1]


@pytest.mark.parametrize("n", range(1, 8))
def test_least_index_pivoting_is_exponential_on_murty_and_fathi(n):
    for case in (murty_exponential(n), fathi(n)):
        count, z = least_index_pivots(case.problem)
        assert count == 2**n - 1
        np.testing.assert_array_equal(np.array(z, np.float64), case.solutions[0])


@pytest.mark.parametrize("n", range(1, 8))
def test_lemke_is_exponential_on_its_example(n):
    case = lemke_exponential(n)
    count, z = lemke_pivots(case.problem)
    assert count == 2**n
    np.testing.assert_array_equal(np.array(z, np.float64), case.solutions[0])


def test_large_ones_are_solved_by_what_they_claim():
    for case in (murty_exponential(500), fathi(500), lemke_exponential(40)):
        assert residual(case.problem, case.solutions[0]) == 0.0
    np.linalg.cholesky(fathi(20).problem.M)
    assert len(two_each(7).solutions) == 2**7


def test_the_rod_turns_paradoxical_at_four_thirds():
    for angle in np.linspace(0.01, math.pi / 2 - 0.01, 200):
        assert painleve_rod(angle, mu=4 / 3 - 1e-3, spin=0.0).count == 1
    steep = math.atan(2)
    assert painleve_rod(steep, mu=4 / 3 + 1e-3, spin=0.0).count == 0
    fast = math.sqrt(2 * 9.81 / (0.5 * math.sin(steep)))  # b = g
    assert painleve_rod(steep, mu=4 / 3 + 1e-3, spin=fast).count == 2
    assert painleve_rod(steep, mu=4 / 3 - 1e-3, spin=fast).count == 1


def test_the_rods_numbers_follow_from_newton_and_euler():
    angle, mu, mass, half, g, spin = 1.0, 0.7, 3.0, 0.4, 9.81, 2.0
    problem = painleve_rod(angle, mu=mu, spin=spin, mass=mass, half=half, g=g).problem
    tip = np.array([-half * math.cos(angle), -half * math.sin(angle)])  # from the centre; it slides towards -x
    force = np.array([mu, 1.0])
    acceleration = force / mass
    turn = (tip[0] * force[1] - tip[1] * force[0]) / (mass * half**2 / 3)
    assert problem.M[0, 0] == pytest.approx(acceleration[1] + turn * tip[0])
    assert problem.q[0] == pytest.approx(-g - spin**2 * tip[1])


def test_a_rod_on_the_edge_is_refused():
    with pytest.raises(InputError, match=r"^painleve_rod: a is .* and b 0, expected neither to vanish$"):
        painleve_rod(1.0, mu=0.1, spin=0.0, g=0.0)
