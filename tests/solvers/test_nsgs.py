"""What is particular to nonsmooth Gauss-Seidel; the laws are in test_friction.py."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from stickslip.problems.blocks import contact_blocks, velocities
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.random_cones import random_cone
from stickslip.problems.residual import residual
from stickslip.solvers.cone_interior_point import ConeInteriorPoint
from stickslip.solvers.contact import solve_contact, solve_planar_contact
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status
from stickslip.solvers.status import CHUNK

DATA = Path(__file__).parents[2] / "../shared/data"


@pytest.mark.core
@pytest.mark.parametrize("dimension", [2, 3])
def test_contacts_that_share_no_body_need_one_sweep(dimension):
    """Each local solve is exact, so nothing is left to do."""
    rng = np.random.default_rng(0)
    blocks = [A @ A.T + 0.1 * np.eye(dimension) for A in rng.standard_normal((50, dimension, dimension))]
    q = rng.standard_normal(50 * dimension)
    problem = ConeProblem(sparse.block_diag(blocks, format="csr"), q, rng.uniform(0, 1, 50))
    assert NSGS(tol=1e-13).solve(problem).require().iterations == 1


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_blocks_hold_the_whole_matrix(d):
    rng = np.random.default_rng(0)
    W = sparse.random_array((7 * d, 7 * d), density=0.15, rng=rng)  # some contacts without a diagonal block
    q, r, u = rng.standard_normal((3, 7 * d))
    velocities(contact_blocks(sparse.csr_array(W), d), q, r, u)
    np.testing.assert_allclose(u, W @ r + q, atol=1e-14)


@pytest.mark.core
def test_dense_and_sparse_give_the_same():
    problem = box_stack(2, tilt=0.2)
    dense = ConeProblem(problem.W.toarray(), problem.q, problem.mu)
    few = NSGS(max_iter=20)
    np.testing.assert_array_equal(few.solve(problem).x, few.solve(dense).x)


@pytest.mark.core
def test_sweeps_are_those_of_the_plain_algorithm():
    """Contacts whose neighbours rest are passed over, and blocks are inverted beforehand: the iterates are the same."""
    few = sphere_pile(3, stir=0.05)
    W = sparse.block_diag([few.W, box_stack(2, tilt=0.4).W, np.eye(6)], format="csr")  # islands, and two lone contacts
    q = np.concatenate([few.q, box_stack(2, tilt=0.4).q, [-1.0, 0.2, 0.1, 1.0, 0.0, 0.0]])
    mu = np.linspace(0.0, 0.8, q.size // 3)
    dense, r = W.toarray(), np.zeros(q.size)
    for sweeps in range(1, 31):
        for i in range(mu.size):
            own = slice(3 * i, 3 * i + 3)
            others = q[own] + dense[own] @ r - dense[own, own] @ r[own]
            r[own] = solve_contact(mu[i], *dense[own, own].ravel(), *others)
        if sweeps in (1, 2, 3, 10, 30):
            answer = NSGS(tol=0.0, max_iter=sweeps, relaxation=1.0).solve(ConeProblem(W, q, mu))
            np.testing.assert_allclose(answer.x, r, atol=1e-12 * abs(r).max())


@pytest.mark.core
@pytest.mark.parametrize("mu", [0.0, 1e-3, 0.3, 1000.0])
@pytest.mark.parametrize("q_n", [-1e-3, -1e-5, -1e-12, -1e-100, -1e-300, 0.0])
@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_a_barely_closing_contact(q_n, mu, law):
    W = [[2.0, 0.3, -0.2], [0.3, 1.5, 0.4], [-0.2, 0.4, 1.0]]
    NSGS(tol=1e-12).solve(ConeProblem(W, [q_n, 1.0, -2.0], [mu], law=law)).require()


@pytest.mark.core
@pytest.mark.parametrize("layers", [2, 3])
def test_the_associated_law_is_solved_too(layers):
    pile = sphere_pile(layers, mu=0.5, stir=0.05)
    answer = NSGS(tol=1e-10).solve(ConeProblem(pile.W, pile.q, pile.mu, law="associated")).require()
    r, u = answer.x.reshape(-1, 3), answer.y.reshape(-1, 3)
    slip = np.linalg.norm(u[:, 1:], axis=1)
    sliding = (slip > 1e-4) & (r[:, 0] > 1e-4)
    assert sliding.any()
    np.testing.assert_allclose(u[sliding, 0], 0.5 * slip[sliding], rtol=1e-4)  # sliding contacts separate
    assert residual(pile, answer.x) > 1e-3  # under Coulomb's law they do not


@pytest.mark.core
def test_where_rounding_is_above_tol_the_answer_is_stalled():
    rng = np.random.default_rng(0)
    blocks = [A @ A.T + 0.1 * np.eye(3) for A in rng.standard_normal((50, 3, 3))]
    problem = ConeProblem(sparse.block_diag(blocks, format="csr"), rng.standard_normal(150), np.full(50, 0.5))
    answer = NSGS(tol=0.0).solve(problem)
    assert (answer.status, answer.iterations) == (Status.STALLED, 2)  # the second sweep changes nothing
    assert 0.0 < answer.residual < 1e-14


@pytest.mark.core
def test_the_limit_is_said():
    answer = NSGS(tol=1e-12, max_iter=3).solve(box_stack(3))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 3)
    assert answer.residual > 1e-12


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_over_relaxed_sweeps_are_those_of_the_plain_algorithm(d):
    """ω is 1 for 4 sweeps, 1.2 up to the 16th, 1.3 up to the 32nd, then 1.4, as long as the residual falls."""
    problem = random_cone("definite", 8, seed=3, dimension=d)  # every contact meets every other
    W, q, mu, r = problem.W, problem.q, problem.mu, np.zeros(problem.size)
    errors = []
    for sweeps in range(1, 41):
        omega = 1.0 if sweeps <= 4 else 1.2 if sweeps <= 16 else 1.3 if sweeps <= 32 else 1.4
        for i in range(mu.size):
            own = slice(d * i, d * i + d)
            block, others = W[own, own], q[own] + W[own] @ r - W[own, own] @ r[own]
            local = solve_contact if d == 3 else solve_planar_contact
            x = np.array(local(mu[i], *block.ravel(), *others))
            y = r[own] + omega * (x - r[own])
            if x[0] <= 0.0 or y[0] <= 0.0:
                y = x
            y[1:] *= min(1.0, mu[i] * y[0] / max(np.linalg.norm(y[1:]), 1e-300))
            r[own] = y
        if sweeps in (4, 8, 16, 32):
            errors.append(residual(problem, r))
        if sweeps in (5, 8, 20, 40):
            answer = NSGS(tol=0.0, max_iter=sweeps).solve(problem)
            np.testing.assert_allclose(answer.x, r, atol=1e-12 * abs(r).max())
    assert sorted(errors, reverse=True) == errors


@pytest.mark.core
@pytest.mark.parametrize("relaxation", [1.0, 1.8, 3.0])
def test_relaxation_that_does_harm_is_taken_back(relaxation):
    """Beyond 2 it diverges even for linear equations."""
    problem = random_cone("definite", 20, seed=0)
    expected = ConeInteriorPoint(tol=1e-9).solve(problem).require()
    answer = NSGS(tol=1e-10, relaxation=relaxation).solve(problem).require()
    np.testing.assert_allclose(answer.x, expected.x, atol=1e-6 * abs(expected.x).max())


def test_a_run_of_several_chunks_is_one_run():
    """Without over-relaxation, which starts anew with each chunk."""
    problem, sweeps = box_stack(10), 2 * CHUNK + 5
    whole = NSGS(tol=1e-15, max_iter=sweeps, relaxation=1.0).solve(problem)
    half = NSGS(tol=1e-15, max_iter=CHUNK + 3, relaxation=1.0).solve(problem)
    rest = NSGS(tol=1e-15, max_iter=sweeps - CHUNK - 3, relaxation=1.0).solve(problem, x0=half.x)
    assert whole.iterations == sweeps
    np.testing.assert_array_equal(whole.x, rest.x)


def test_an_immovable_contact_that_closes_overflows():
    problem = ConeProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])  # u = q whatever r is
    assert NSGS().solve(problem).status is Status.NONFINITE


@pytest.mark.parametrize(
    "name",
    [
        "fc2d_FrictionContactProblem00031",
        "fc2d_FrictionContactProblem00237",
        "fc2d_SliderCrankLagrangian00000",
        "fc3d_Capsules-i125-1213",
        "fc3d_Confeti-ex13",
        "fc3d_FrictionContact3D_1c",
        "fc3d_NESpheres_30_1",
        "fc3d_Rover1039",
        "fc3d_Rover9770",
        "gfc2d_granularflowonwall_00230_00206",
        "gfc3d_Box_Stacks-i0122-82-5",
        "gfc3d_Spheres-i099-356-679",
    ],
)
def test_public_friction_problems(name):
    path = DATA / f"{name}.h5"
    if not path.exists():
        pytest.skip("the public test sets are not beside the clone (../shared/data)")
    NSGS().solve(load(path)).require()
