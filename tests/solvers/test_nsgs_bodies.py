"""Gauss-Seidel in body velocities: the iterates of NSGS, without the Delassus matrix."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load
from stickslip.problems.lcp import LCP
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.nsgs_bodies import BodyNSGS, contact_rows
from stickslip.solvers.solution import Status

DATA = Path(__file__).parents[2] / "../shared/data"


def coupled(dimension, contacts=12, blocks=4, rows=5, seed=0):
    """Bodies of `rows` velocities coupled by their mass; a contact acts sparsely on two of them; w is not zero."""
    rng = np.random.default_rng(seed)
    masses = [A @ A.T + np.eye(rows) for A in rng.standard_normal((blocks, rows, rows))]
    masses[0][0, 1] += 0.1  # gyroscopic terms make M unsymmetric
    H = np.zeros((blocks * rows, dimension * contacts))
    for i in range(contacts):
        for body in rng.choice(blocks, 2, replace=False):
            part = rng.standard_normal((rows, dimension)) * (rng.random((rows, dimension)) < 0.6)
            H[rows * body : rows * body + rows, dimension * i : dimension * i + dimension] = part
    f, w = rng.standard_normal(blocks * rows), 0.1 * rng.standard_normal(dimension * contacts)
    return ConeProblem.from_bodies(sparse.block_diag(masses), H, f, np.full(contacts, 0.4), w)


PROBLEMS = {
    "pile": sphere_pile(3, stir=0.05),
    "slope": box_stack(3, tilt=0.3),
    "coupled": coupled(3),
    "plane": coupled(2),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


@pytest.mark.core
@every_problem
@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_the_iterates_are_those_of_nsgs(problem, law):
    problem = ConeProblem(problem.W, problem.q, problem.mu, problem.bodies, law)
    for sweeps in (1, 2, 25):
        settings = {"tol": 1e-14, "max_iter": sweeps}
        expected = NSGS(**settings, relaxation=1.0).solve(problem).x
        answer = BodyNSGS(**settings).solve(problem).x
        np.testing.assert_allclose(answer, expected, atol=1e-11 * abs(expected).max())


@pytest.mark.core
@every_problem
def test_own_blocks_are_those_of_the_delassus_matrix(problem):
    d = problem.dimension
    diagonal = contact_rows(problem.bodies, d).diagonal
    np.testing.assert_allclose(diagonal, problem.blocks.diagonal, atol=1e-13 * abs(diagonal).max())


@pytest.mark.core
@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_a_pile_is_solved(law):
    pile = PROBLEMS["pile"]
    problem = ConeProblem(pile.W, pile.q, pile.mu, pile.bodies, law)
    answer = BodyNSGS(tol=1e-10).solve(problem).require()
    again = BodyNSGS(tol=1e-10).solve(problem, x0=answer.x)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.x, answer.x)


def test_many_sweeps_do_not_drift():
    """tol below rounding: 3000 sweeps move v by 3000 small steps, and it is still M⁻¹ (H r + f)."""
    answer = BodyNSGS(tol=0.0, max_iter=3000).solve(box_stack(3, tilt=0.1, stir=0.1))
    assert answer.residual < 1e-13


@pytest.mark.core
def test_no_contacts():
    problem = ConeProblem.from_bodies(np.eye(6), np.zeros((6, 0)), np.ones(6), [])
    assert BodyNSGS().solve(problem).solved


@pytest.mark.core
def test_a_problem_without_bodies_is_refused():
    with pytest.raises(InputError, match="BodyNSGS: the problem has no bodies, expected one with M and H"):
        BodyNSGS().solve(ConeProblem(np.eye(3), [-1.0, 0.0, 0.0], [0.5]))
    with pytest.raises(InputError, match="expected a ConeProblem"):
        BodyNSGS().solve(LCP(np.eye(2), [1.0, 1.0]))


@pytest.mark.core
def test_a_mass_matrix_that_hangs_together_is_refused():
    chain = sparse.diags_array([np.full(65, 2.0), np.full(64, -1.0), np.full(64, -1.0)], offsets=[0, 1, -1])
    problem = ConeProblem.from_bodies(chain, np.eye(65)[:, :3], np.ones(65), [0.5])
    with pytest.raises(InputError, match="65 rows of M hang together, expected at most 64"):
        BodyNSGS().solve(problem)


@pytest.mark.core
def test_a_delassus_matrix_of_other_bodies_is_never_called_solved():
    pile = PROBLEMS["pile"]
    answer = BodyNSGS().solve(ConeProblem(2 * pile.W, pile.q, pile.mu, pile.bodies))
    assert answer.status is Status.STALLED
    assert answer.residual > 1e-3


@pytest.mark.parametrize(
    "name", ["gfc2d_granularflowonwall_00230_00206", "gfc3d_Box_Stacks-i0122-82-5", "gfc3d_Spheres-i099-356-679"]
)
def test_public_friction_problems(name):
    path = DATA / f"{name}.h5"
    if not path.exists():
        pytest.skip("the public test sets are not beside the clone (../shared/data)")
    BodyNSGS().solve(load(path)).require()
