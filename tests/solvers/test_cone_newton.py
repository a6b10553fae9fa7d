"""What is particular to nonsmooth Newton on friction problems; the laws are in test_friction.py."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.residual import project_cone
from stickslip.solvers.cone_newton import EQUATIONS, ConeNewton, newton_matrix, scaled
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status

DATA = Path(__file__).parents[2] / "../shared/data"

every_equation = pytest.mark.parametrize("equation", EQUATIONS)


@pytest.mark.core
@every_equation
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("shifted", [True, False])
def test_derivatives_are_those_of_the_equation(equation, d, shifted):
    """Against central differences, away from the kinks; open, sticking and slipping contacts among 60 random ones."""
    rng = np.random.default_rng(1)
    contacts = 60
    mu = rng.uniform(0.1, 1.5, contacts)
    mu[:5] = 0.0
    shift = mu if shifted else np.zeros(contacts)
    r, u = rng.standard_normal((2, contacts * d))
    u[: 20 * d] *= 0.01
    r.reshape(-1, d)[:20, 0] += 2.0  # sticking, many of them

    def value(r, u):
        F, A, B = np.empty(contacts * d), np.empty((contacts, d, d)), np.empty((contacts, d, d))
        EQUATIONS[equation](r, u, mu, shift, F, A, B)
        return F.reshape(-1, d), A, B

    _, A, B = value(r, u)
    step = 1e-6
    for c in range(d):
        change = np.tile(np.eye(d)[c] * step, contacts)
        by_r = (value(r + change, u)[0] - value(r - change, u)[0]) / (2 * step)
        by_u = (value(r, u + change)[0] - value(r, u - change)[0]) / (2 * step)
        np.testing.assert_allclose(A[:, :, c], by_r, atol=1e-7)
        np.testing.assert_allclose(B[:, :, c], by_u, atol=1e-7)


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_the_newton_matrix_is_assembled_entry_by_entry(d):
    rng = np.random.default_rng(0)
    W = sparse.csr_array(sparse.random_array((7 * d, 7 * d), density=0.15, rng=rng))  # some without a diagonal block
    system = scaled(ConeProblem(W, np.zeros(7 * d), np.ones(7)))
    A, B = rng.standard_normal((2, 7, d, d))
    matrix = newton_matrix(system.blocks, A, B, 0.3)
    assert matrix.has_canonical_format
    expected = sparse.block_diag(A) + sparse.block_diag(B) @ (system.W + 0.3 * sparse.eye_array(7 * d))
    np.testing.assert_allclose(matrix.toarray(), expected.toarray(), atol=1e-14)


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_associated_law_of_separate_contacts_is_a_projection(d):
    """With W_ii = w I the impulse is the point of the cone nearest to -q / w."""
    rng = np.random.default_rng(3)
    w, mu, q = 10.0 ** rng.uniform(-5, 3, 30), rng.uniform(0, 1, 30), rng.standard_normal((30, d))
    mu[:3], mu[3:6] = 0.0, 1000.0
    problem = ConeProblem(sparse.diags_array(np.repeat(w, d)), (w[:, None] * q).ravel(), mu, law="associated")
    expected = [project_cone(m, *-y, *[0.0] * (3 - d))[:d] for m, y in zip(mu, q, strict=True)]
    answer = ConeNewton(tol=1e-14).solve(problem).require()
    np.testing.assert_allclose(answer.x, np.ravel(expected), atol=1e-9)


@every_equation
@pytest.mark.parametrize("problem", [sphere_pile(3, mu=0.3), box_stack(4, tilt=0.2), box_stack(3, tilt=0.6)], ids=str)
def test_velocities_are_those_of_gauss_seidel(equation, problem):
    expected = NSGS(tol=1e-11).solve(problem).require()
    answer = ConeNewton(tol=1e-11, equation=equation).solve(problem).require()
    np.testing.assert_allclose(answer.y, expected.y, atol=1e-8 * np.abs(problem.q).max())


@pytest.mark.core
@every_equation
def test_units_do_not_matter(equation):
    """Other units in each contact, powers of two: D W D and D q give D⁻¹ r, step by step."""
    problem = box_stack(2, tilt=0.2, stir=0.1)
    D = np.repeat(2.0 ** np.resize([3, -4, 0], problem.contacts), 3)
    other = ConeProblem(problem.W * D * D[:, None], D * problem.q, problem.mu)
    few = ConeNewton(tol=0.0, equation=equation, max_iter=5)
    np.testing.assert_allclose(few.solve(other).x * D, few.solve(problem).x, rtol=1e-6, atol=1e-9)


@pytest.mark.core
@every_equation
@pytest.mark.parametrize(("masses", "tol"), [([1.0, 1e6], 1e-14), ([1e6, 1.0], 1e-14), ([1.0, 1e-3, 1e3], 1e-12)])
def test_masses_a_million_times_apart(equation, masses, tol):
    """A column of point masses: each contact carries what stands on it. The residual is relative to the largest
    impulse, so tol / 1e-8 is the ratio of the smallest to the largest, or less."""
    n, weight = len(masses), np.array(masses)
    support = np.kron(np.eye(n) - np.diag(np.ones(n - 1), -1), np.eye(3))
    fall = np.kron(weight, [-1.0, 0.0, 0.0])
    problem = ConeProblem.from_bodies(sparse.diags_array(np.repeat(weight, 3)), support.T, fall, np.full(n, 0.3))
    answer = ConeNewton(tol=tol, equation=equation).solve(problem).require()
    np.testing.assert_allclose(answer.x[::3], np.cumsum(weight[::-1])[::-1], rtol=1e-8)


@pytest.mark.core
@every_equation
@pytest.mark.parametrize("proximal", [0.0, 0.01])
def test_the_limit_is_said(equation, proximal):
    answer = ConeNewton(equation=equation, proximal=proximal, max_iter=2).solve(sphere_pile(2))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 2)
    assert answer.residual > 1e-8


@pytest.mark.core
def test_a_singular_system_ends_newton_alone():
    problem = ConeProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])  # u = q whatever r is
    answer = ConeNewton(proximal=0.0, tol=1e-3).solve(problem)
    assert answer.status is Status.STALLED


@pytest.mark.core
def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="equation is 'newton', expected 'alart_curnier' or 'natural_map'"):
        ConeNewton(equation="newton")
    with pytest.raises(InputError, match="proximal is -1"):
        ConeNewton(proximal=-1.0)
    associated = replace(box_stack(1), law="associated")
    with pytest.raises(InputError, match="expected equation='natural_map'"):
        ConeNewton(equation="alart_curnier").solve(associated)


@every_equation
@pytest.mark.parametrize(
    "name",
    [
        "fc2d_FrictionContactProblem00237",
        "fc3d_Capsules-i100-1090",
        "fc3d_Capsules-i125-1213",
        "fc3d_Confeti-ex13",
        "fc3d_OneObject-i100000-499",
        "fc3d_Rover1039",
        "fc3d_local_problem_test",
        "gfc2d_granularflowonwall_00230_00206",
        "gfc3d_Box_Stacks-i0122-82-5",
        "gfc3d_Spheres-i099-356-679",
    ],
)
def test_public_friction_problems(name, equation):
    path = DATA / f"{name}.h5"
    if not path.exists():
        pytest.skip("the public test sets are not beside the clone (../shared/data)")
    ConeNewton(equation=equation).solve(load(path)).require()
