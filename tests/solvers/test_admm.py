"""What is particular to alternating directions; the laws are in test_friction.py."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import both_sides
from stickslip.problems.mechanical import GRAVITY, STEP, box_stack, sphere_pile
from stickslip.solvers.admm import ADMM, advance, ratio
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status

DATA = Path(__file__).parents[2] / "../shared/data"


def public(name):
    path = DATA / f"{name}.h5"
    if not path.exists():
        pytest.skip("the public test sets are not beside the clone (../shared/data)")
    return load(path)


@pytest.mark.parametrize("tilt", [0.0, 0.2, 0.7])  # rests, rests, slides: atan(0.5) = 0.46
def test_a_tower_of_boxes_slides_as_one_block(tilt):
    """The impulses of four-point faces are not determined; the velocities are, h g (sin - μ cos) at the foot."""
    answer = ADMM(tol=1e-11).solve(box_stack(2, mu=0.5, tilt=tilt)).require()
    slide = STEP * GRAVITY * max(0.0, math.sin(tilt) - 0.5 * math.cos(tilt))
    foot = np.tile([0.0, slide, 0.0], 4)
    np.testing.assert_allclose(answer.y, np.concatenate([foot, np.zeros(12)]), atol=1e-9)


def test_a_pile_moves_as_gauss_seidel_says():
    problem = sphere_pile(3)
    ours, theirs = ADMM(tol=1e-11).solve(problem).require(), NSGS(tol=1e-11).solve(problem).require()
    np.testing.assert_allclose(ours.y, theirs.y, atol=1e-8)


@pytest.mark.core
@pytest.mark.parametrize("law", ["coulomb", "associated"])
@pytest.mark.parametrize("d", [2, 3])
def test_contacts_alone_under_both_laws(law, d):
    """W_ii = 1/m: a contact that slips keeps q_n + r_n/m = 0 under Coulomb's law, and lifts by μ|u_t| otherwise."""
    m, mu, fall, slide = 2.0, 0.5, 3.0, 10.0
    q = np.array([-fall, slide, 0.0][:d])
    answer = ADMM(tol=1e-13).solve(ConeProblem(np.eye(d) / m, q, [mu], law=law)).require()
    lift = 0.0 if law == "coulomb" else mu * (slide - mu * fall) / (1 + mu**2)
    r_n = m * (fall + lift)
    np.testing.assert_allclose(answer.x, [r_n, -mu * r_n, 0.0][:d], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(answer.y[0], lift, atol=1e-11)


def test_the_associated_law_is_optimal():
    """r ∈ K, u ∈ K*, rᵀu = 0: together they prove that r minimises ½ rᵀWr + qᵀr over K."""
    problem = sphere_pile(3)
    problem = ConeProblem(problem.W, problem.q, problem.mu, law="associated")
    answer = ADMM(tol=1e-11).solve(problem).require()
    r, u = answer.x.reshape(-1, 3), answer.y.reshape(-1, 3)
    assert (np.hypot(r[:, 1], r[:, 2]) <= problem.mu * r[:, 0] + 1e-9).all()
    assert (problem.mu * np.hypot(u[:, 1], u[:, 2]) <= u[:, 0] + 1e-9).all()
    np.testing.assert_allclose((r * u).sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.core
def test_without_friction_only_normal_impulses_act():
    problem = ConeProblem(np.diag([1.0, 2.0, 2.0]), [-3.0, 1.0, 1.0], [0.0])
    answer = ADMM(tol=1e-12).solve(problem).require()
    np.testing.assert_allclose(answer.x, [3.0, 0.0, 0.0], atol=1e-10)


@pytest.mark.core
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_mass_do_not_change_the_iterations(scale):
    problem = box_stack(2, tilt=0.2)
    other = ConeProblem(scale * problem.W, scale * problem.q, problem.mu)  # the same impulses, other velocities
    few = ADMM(tol=1e-300, max_iter=7)  # before the first change of the penalty
    np.testing.assert_allclose(few.solve(other).x, few.solve(problem).x, rtol=1e-9, atol=1e-15)


def test_a_slightly_unsymmetric_matrix_is_taken_as_it_is():
    """The residual is that of the W given: solving with its symmetric part would leave an error of its skew part."""
    rng = np.random.default_rng(0)
    problem = sphere_pile(3)
    W = problem.W.toarray()
    W += 1e-3 * np.triu(W * rng.standard_normal(W.shape), 1)
    for matrix in (W, sparse.csr_array(W)):
        answer = ADMM(tol=1e-11).solve(ConeProblem(matrix, problem.q, problem.mu)).require()
        symmetric = ADMM(tol=1e-11).solve(ConeProblem((W + W.T) / 2, problem.q, problem.mu)).require()
        assert np.abs(answer.y - symmetric.y).max() > 1e-7


def test_a_start_near_the_answer_is_used():
    problem = box_stack(3, tilt=0.2)
    answer = ADMM(tol=1e-10).solve(problem).require()
    near = ADMM(tol=1e-8).solve(problem, x0=answer.x * (1 + 1e-6)).require()
    assert near.iterations < ADMM(tol=1e-8).solve(problem).iterations


@pytest.mark.core
def test_the_limit_is_said():
    answer = ADMM(tol=1e-14, max_iter=3).solve(box_stack(2, tilt=0.2))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 3)


@pytest.mark.core
@pytest.mark.parametrize("setting", [{"penalty": 0.0}, {"penalty": np.nan}, {"relaxation": 2.0}, {"relaxation": 0.0}])
def test_wrong_settings_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        ADMM(**setting)


@pytest.mark.core
def test_other_problems_are_refused():
    with pytest.raises(InputError, match="expected a ConeProblem"):
        ADMM().solve(LCP(np.eye(2), [1.0, 1.0]))


@pytest.mark.core
def test_no_contacts():
    assert ADMM().solve(ConeProblem(np.zeros((0, 0)), [], [])).solved


@pytest.mark.core
def test_scaling_dense_and_sparse_is_the_same():
    rng = np.random.default_rng(0)
    W, scale = rng.standard_normal((6, 6)), rng.uniform(1, 2, 6)
    expected = np.diag(scale) @ W @ np.diag(scale)
    np.testing.assert_allclose(both_sides(W, scale), expected)
    np.testing.assert_allclose(both_sides(sparse.csr_array(W), scale).toarray(), expected)


@pytest.mark.core
def test_the_ratio_is_bounded_and_one_where_nothing_moves():
    assert (ratio(0.0, 0.0), ratio(1.0, 0.0), ratio(0.0, 1.0), ratio(2.0, 1.0)) == (1.0, 10.0, 0.1, 2.0)


@pytest.mark.core
def test_a_solution_is_a_fixed_point():
    """With z the answer and y = z - u / κ, the solve returns z and nothing moves."""
    W, q, mu = np.diag([1.0, 1.0, 1.0]), np.array([-3.0, 10.0, 0.0]), np.array([0.5])
    z, u, kappa = np.array([3.0, -1.5, 0.0]), np.array([0.0, 8.5, 0.0]), 0.3
    y, rhs = z - u / kappa, np.empty(3)
    advance(y, z, z, rhs, q, mu, mu, kappa, 0.0, 3)
    np.testing.assert_allclose(z, [3.0, -1.5, 0.0])
    np.testing.assert_allclose(np.linalg.solve(W + kappa * np.eye(3), rhs), z)


@pytest.mark.parametrize(
    ("name", "tol"),
    [
        ("fc2d_FrictionContactProblem00237", 1e-8),
        ("fc3d_Capsules-i100-1090", 1e-8),
        ("fc3d_Confeti-ex13", 1e-8),
        ("fc3d_OneObject-i100000-499", 1e-8),
        ("fc3d_RockPile_tob1", 1e-4),
        ("fc3d_local_problem_test", 1e-8),
        ("gen_boxes_300", 1e-8),
        ("gen_spheres_200", 1e-4),
        ("gfc3d_Spheres-i099-356-679", 1e-8),
    ],
)
def test_public_friction_problems(name, tol):
    ADMM(tol=tol).solve(public(name)).require()
