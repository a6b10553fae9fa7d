"""Solvers for distributed contacts: the examples of Trinkle and Pang, point contacts as a limit, and each other."""

from dataclasses import replace

import numpy as np
import pytest
from limit_surfaces import SETS

import stickslip as ss
from stickslip.problems.rod_and_cube import example_1, example_2

SOLVERS = [
    ss.LimitSurfaceGaussSeidel(),
    ss.LimitSurfaceNewton(),
    ss.PotentialReduction(),
    ss.LimitSurfaceInteriorPoint(),
]
GRID = np.linspace(0.1, 1.0, 20)

# (ζ, is the diagonal M⁻¹?): |a| of contact 2 along the tangents at the pairs of PAIRS, its sum over the 400 problems of
# the grid, and how many of them slide
PAIRS = [(0.1, 0.1), (0.3, 0.2), (0.5, 0.5), (0.1, 1.0), (1.0, 0.1), (1.0, 1.0)]
EXAMPLE_1 = {
    (2.0, False): ((0.0119312310, 0.0000677048, 0, 0, 0.0095616422, 0), 0.28558053, 43),
    (0.0, False): ((0.7399838769, 0.5123522047, 0.0996965548, 0.0092756307, 0.7590873276, 0), 79.540618, 306),
    (2.0, True): ((1.2733643495, 0.2821412623, 0, 0, 1.1448755267, 0), 34.183165, 139),
    (0.0, True): ((6.8582740832, 4.7071049060, 1.0522495180, 0.0880918601, 4.1797352175, 0), 639.570785, 319),
}


def slip_of_contact_2(answer):
    return float(np.hypot(*answer.y[5:7]))


def named(solver):
    return type(solver).__name__


@pytest.mark.core
@pytest.mark.parametrize("reading", EXAMPLE_1, ids=str)
@pytest.mark.parametrize("solver", ["auto", *SOLVERS], ids=lambda s: s if isinstance(s, str) else named(s))
def test_sampled_values_of_example_1(reading, solver):
    known, _, _ = EXAMPLE_1[reading]
    for mu, slip in zip(PAIRS, known, strict=True):
        answer = ss.solve(example_1(mu, *reading).problem, method=solver, tol=1e-10).require()
        assert slip_of_contact_2(answer) == pytest.approx(slip, abs=1e-8)


@pytest.mark.parametrize("reading", EXAMPLE_1, ids=str)
def test_sums_and_counts_of_example_1(reading):
    _, total, count = EXAMPLE_1[reading]
    slips = [
        slip_of_contact_2(ss.solve(example_1((a, b), *reading).problem, tol=1e-12).require())
        for a in GRID
        for b in GRID
    ]
    assert sum(slips) == pytest.approx(total, abs=1e-5)
    assert sum(slip > 1e-8 for slip in slips) == count


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_sliding_only_for_small_friction_below(solver):
    """The paper's reading of its figure: contact 2 slides where μ_2 is small."""
    for mu_1 in GRID[::6]:
        slips = [
            slip_of_contact_2(solver.solve(example_1((mu_1, mu_2)).problem).require()) > 1e-6 for mu_2 in GRID[::3]
        ]
        assert slips == sorted(slips, reverse=True)


@pytest.mark.core
@pytest.mark.parametrize("name", SETS)
def test_solvers_agree_on_every_set(name):
    """Gauss-Seidel solves contact by contact, Newton all at once; A is positive definite and friction small."""
    for mu in ((0.1, 0.1), (0.1, 0.05)):
        problem = replace(example_1(mu).problem, surface=SETS[name])
        one = ss.solve(problem, "limit_surface_gauss_seidel", tol=1e-12).require()
        other = ss.solve(problem, "limit_surface_newton", tol=1e-12).require()
        np.testing.assert_allclose(one.x, other.x, atol=1e-8)


@pytest.mark.core
def test_a_ball_as_a_map_is_the_ellipsoid():
    for mu in PAIRS:
        problem = example_1(mu).problem
        as_map = replace(problem, surface=SETS["ball as a map"])
        one, other = (ss.solve(p, tol=1e-12).require() for p in (problem, as_map))
        np.testing.assert_allclose(one.x, other.x, atol=1e-9)


def test_a_polyhedron_of_many_faces_is_nearly_the_ellipsoid():
    random = np.random.default_rng(0)
    problem = example_1((0.1, 0.1)).problem
    round_ = ss.solve(problem, tol=1e-10).require()
    errors = []
    for count in (12, 48):
        faces = ss.Polyhedron.inside_ellipsoid(random.normal(size=(count, 3)))
        answer = ss.solve(replace(problem, surface=faces), tol=1e-10).require()
        errors.append(np.abs(answer.x - round_.x).max())
    assert errors[1] < errors[0] < 0.2


def point_contacts(seed):
    """A random ConeProblem of point contacts, and the same as a LimitSurfaceProblem, spin rows and all."""
    random = np.random.default_rng(seed)
    nc = int(random.integers(1, 5))
    J = random.normal(size=(6 * nc, 4 * nc))
    A = J.T @ J / (6 * nc)
    b = random.normal(size=4 * nc) - np.tile((1.0, 0, 0, 0), nc)
    rows = np.flatnonzero(np.arange(4 * nc) % 4 < 3)
    mu = random.uniform(0, 0.4, nc)
    return ss.ConeProblem(A[np.ix_(rows, rows)], b[rows], mu), A, b, mu, rows


@pytest.mark.core
@pytest.mark.parametrize("seed", range(10))
def test_without_patches_it_is_coulomb_friction(seed):
    cone, A, b, mu, rows = point_contacts(seed)
    r = ss.solve(cone, tol=1e-12).require().x
    for e_r in (0.0, 1e-10):
        e = np.tile((1.0, 1.0, e_r), (mu.size, 1))
        answer = ss.solve(ss.LimitSurfaceProblem(A, b, mu, e), tol=1e-12).require()
        np.testing.assert_allclose(answer.x[rows], r, atol=1e-8)
        np.testing.assert_allclose(answer.y[rows], cone.value(r), atol=1e-8)


@pytest.mark.core
def test_a_planar_contact():
    """e = (1, 0, 0): 2 kg on the ground pulled by 10 N, μ = 0.3, g = 9.81."""
    problem = ss.LimitSurfaceProblem(np.eye(4) / 2, [-9.81, 5.0, 7.0, 9.0], [0.3], [[1.0, 0.0, 0.0]])
    answer = ss.solve(problem, tol=1e-12).require()
    np.testing.assert_allclose(answer.x, [19.62, -5.886, 0.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(answer.y, [0.0, 5.0 - 2.943, 7.0, 9.0], atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_every_solver_finds_a_solution_of_example_2(solver):
    for mu in (0.5, 0.75, 0.9):
        answer = replace(solver, tol=1e-7).solve(example_2(mu).problem)
        assert answer.solved
        assert answer.residual == ss.residual(example_2(mu).problem, answer.x)


def test_solvers_refuse_other_problems():
    for solver in SOLVERS:
        with pytest.raises(ss.InputError, match="expected a LimitSurfaceProblem"):
            solver.solve(ss.LCP([[1.0]], [1.0]))
    with pytest.raises(ss.InputError, match="Ellipsoid"):
        ss.PotentialReduction().solve(replace(example_1((0.1, 0.1)).problem, surface=ss.Mixed()))


def test_a_problem_without_solution_is_not_called_solved():
    """A contact that slides and digs in (Painlevé): a_n = (W_nn - μ w) c_n + b_n with both negative."""
    A = np.eye(4)
    A[0, 1] = A[1, 0] = 0.9
    problem = ss.LimitSurfaceProblem(A, [-1.0, 0, 0, 0], [2.0], np.ones((1, 3)), slip=[[1.0, 0, 0]])
    assert not ss.existence(problem).guaranteed
    assert not ss.solve(problem).solved
