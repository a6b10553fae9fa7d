"""What is particular to accelerated projected gradient; the laws are in test_friction.py."""

import math
from pathlib import Path

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag
from scipy.optimize import nnls

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load
from stickslip.problems.lcp import LCP
from stickslip.problems.mechanical import GRAVITY, STEP, box_stack, sphere_pile
from stickslip.problems.residual import project_cone
from stickslip.solvers.apgd import APGD, WINDOW
from stickslip.solvers.contact import respond
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status

DATA = Path(__file__).parents[2] / "../shared/data"


@pytest.mark.parametrize("tilt", [0.0, 0.2, 0.7])  # rests, rests, slides: atan(0.5) = 0.46
def test_a_tower_of_boxes_slides_as_one_block(tilt):
    """The impulses of four-point faces are not determined; the velocities are, h g (sin - μ cos) at the foot."""
    answer = APGD(tol=1e-11).solve(box_stack(2, mu=0.5, tilt=tilt)).require()
    slide = STEP * GRAVITY * max(0.0, math.sin(tilt) - 0.5 * math.cos(tilt))
    foot = np.tile([0.0, slide, 0.0], 4)
    np.testing.assert_allclose(answer.y, np.concatenate([foot, np.zeros(12)]), atol=1e-9)


def test_a_pile_moves_as_gauss_seidel_says():
    problem = sphere_pile(3)
    ours, theirs = APGD(tol=1e-11).solve(problem).require(), NSGS(tol=1e-11).solve(problem).require()
    np.testing.assert_allclose(ours.y, theirs.y, atol=1e-8)


def random_problem(d, law, contacts=4, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d * contacts, d * contacts))
    return ConeProblem(A @ A.T + np.eye(len(A)), rng.standard_normal(len(A)) - 1, rng.uniform(0, 1, contacts), law=law)


@pytest.mark.parametrize("seed", range(5))
def test_the_associated_law_is_the_minimum_over_the_cones(seed):
    """In the plane a cone is all sums of two rays: SciPy's non-negative least squares finds the minimum."""
    problem = random_problem(2, "associated", seed=seed)
    answer = APGD(tol=1e-12).solve(problem).require()
    rays = block_diag(*[np.array([[1.0, 1.0], [mu, -mu]]) for mu in problem.mu])
    L = np.linalg.cholesky(problem.W)  # ½ rᵀWr + qᵀr = ½ |Lᵀr + L⁻¹q|² - constant
    shares, _ = nnls(L.T @ rays, -np.linalg.solve(L, problem.q))
    np.testing.assert_allclose(answer.x, rays @ shares, atol=1e-9)


def test_the_associated_law_agrees_with_an_interior_point_method():
    problem = random_problem(3, "associated", contacts=8)
    rows = np.tile([1.0, 1.0, 1.0], (problem.contacts, 1))
    rows[:, 0] = problem.mu  # (μ r_n, r_t) in the second-order cone
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    peer = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(problem.W)),
        problem.q,
        sparse.csc_matrix(-np.diag(rows.ravel())),
        np.zeros(problem.size),
        [clarabel.SecondOrderConeT(3)] * problem.contacts,
        settings,
    ).solve()
    answer = APGD(tol=1e-12).solve(problem).require()
    np.testing.assert_allclose(answer.x, peer.x, atol=1e-6)


@pytest.mark.core
@pytest.mark.parametrize("law", ["coulomb", "associated"])
@pytest.mark.parametrize("d", [2, 3])
def test_contacts_alone_under_both_laws(law, d):
    """W_ii = 1/m: a contact that slips keeps q_n + r_n/m = 0 under Coulomb's law, and lifts by μ|u_t| otherwise."""
    m, mu, fall, slide = 2.0, 0.5, 3.0, 10.0
    q = np.array([-fall, slide, 0.0][:d])
    answer = APGD(tol=1e-13).solve(ConeProblem(np.eye(d) / m, q, [mu], law=law)).require()
    lift = 0.0 if law == "coulomb" else mu * (slide - mu * fall) / (1 + mu**2)
    r_n = m * (fall + lift)
    np.testing.assert_allclose(answer.x, [r_n, -mu * r_n, 0.0][:d], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(answer.y[0], lift, atol=1e-11)


@pytest.mark.core
def test_the_response_obeys_the_law_and_is_the_projection_without_a_shift():
    rng = np.random.default_rng(0)
    for mu in (0.0, 0.3, 1.0, 1000.0):
        for y in rng.standard_normal((50, 3)):
            np.testing.assert_allclose(respond(mu, 0.0, *y), project_cone(mu, *y), atol=1e-13)
            r = np.array(respond(mu, mu, *y))
            u = r - y
            lifted = u + np.array([mu * np.hypot(u[1], u[2]), 0.0, 0.0])
            assert np.hypot(r[1], r[2]) <= mu * r[0] + 1e-12
            assert mu * np.hypot(u[1], u[2]) <= lifted[0] + 1e-9 * (1 + mu)
            assert r @ lifted == pytest.approx(0.0, abs=1e-9 * (1 + mu))


@pytest.mark.core
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_mass_do_not_change_the_iterations(scale):
    problem = box_stack(2, tilt=0.2)
    other = ConeProblem(scale * problem.W, scale * problem.q, problem.mu)  # the same impulses, other velocities
    few = APGD(tol=1e-300, max_iter=15)
    np.testing.assert_allclose(few.solve(other).x, few.solve(problem).x, rtol=1e-9, atol=1e-15)


def test_a_slightly_unsymmetric_matrix_is_taken_as_it_is():
    """The residual is that of the W given: solving with its symmetric part would leave an error of its skew part."""
    rng = np.random.default_rng(0)
    problem = sphere_pile(3)
    W = problem.W.toarray()
    W += 1e-3 * np.triu(W * rng.standard_normal(W.shape), 1)
    answer = APGD(tol=1e-10).solve(ConeProblem(W, problem.q, problem.mu)).require()
    symmetric = APGD(tol=1e-10).solve(ConeProblem((W + W.T) / 2, problem.q, problem.mu)).require()
    assert np.abs(answer.y - symmetric.y).max() > 1e-7


def test_a_start_near_the_answer_is_used():
    problem = box_stack(3, tilt=0.2)
    answer = APGD(tol=1e-10).solve(problem).require()
    near = APGD(tol=1e-8).solve(problem, x0=answer.x * (1 + 1e-6)).require()
    assert near.iterations < APGD(tol=1e-8).solve(problem).iterations


@pytest.mark.core
def test_the_limit_is_said():
    answer = APGD(tol=1e-14, max_iter=3).solve(box_stack(2, tilt=0.2))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 3)


def test_the_limit_is_kept_across_windows():
    answer = APGD(tol=1e-300, max_iter=2 * WINDOW + 5).solve(random_problem(3, "coulomb", contacts=20))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 2 * WINDOW + 5)


@pytest.mark.core
def test_other_problems_are_refused():
    with pytest.raises(InputError, match="expected a ConeProblem"):
        APGD().solve(LCP(np.eye(2), [1.0, 1.0]))


@pytest.mark.core
def test_no_contacts():
    assert APGD().solve(ConeProblem(np.zeros((0, 0)), [], [])).solved


@pytest.mark.parametrize(
    ("name", "tol"),
    [
        ("fc2d_FrictionContactProblem00237", 1e-8),
        ("fc3d_Capsules-i125-1213", 1e-8),
        ("fc3d_Confeti-ex13", 1e-8),
        ("fc3d_OneObject-i100000-499", 1e-8),
        ("fc3d_RockPile_tob1", 1e-4),
        ("fc3d_local_problem_test", 1e-8),
        ("gen_boxes_300", 1e-4),
        ("gfc3d_Spheres-i099-356-679", 1e-8),
    ],
)
def test_public_friction_problems(name, tol):
    path = DATA / f"{name}.h5"
    if not path.exists():
        pytest.skip("the public test sets are not beside the clone (../shared/data)")
    APGD(tol=tol).solve(load(path)).require()
