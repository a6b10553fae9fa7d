"""What a solution says about itself: closed forms of states and ranks, shares that add up, words to act on."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import stickslip as ss
from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import State
from stickslip.problems.files import load
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import as_dense
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.random_cones import CONE_KINDS, random_cone
from stickslip.solvers import diagnosis
from stickslip.solvers.diagnosis import delassus_rank
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status, conclude

PUBLIC = (Path(__file__).parents[2] / "../shared/data").resolve()
public = pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public test sets are not beside the clone (../shared/data)"
)

OPEN, STICK, SLIP = State
G = 9.81


def on_slope(angle, mu=0.5, d=3, law="coulomb", lift=0.0):
    """A block of 2 kg on a slope, pulled away from it by `lift` of its weight."""
    q = G * np.array([lift - math.cos(angle), -math.sin(angle), 0.0])[:d]
    return ConeProblem(np.eye(d) / 2, q, [mu], law=law)


def judged(problem, r, tol=1e-8):
    """A Solution with r as its answer."""
    return conclude(problem, NSGS(tol=tol), np.asarray(r, float), Status.MAX_ITER, 7, 0.0)


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    ("angle", "mu", "lift", "state"),
    [
        (0.0, 0.5, 0.0, STICK),
        (0.46, 0.5, 0.0, STICK),  # atan(0.5) = 0.46365
        (0.47, 0.5, 0.0, SLIP),
        (0.46, 0.5, 1.1, OPEN),
        (0.1, 0.0, 0.0, SLIP),
        (0.0, 0.0, 0.0, STICK),
        (1.5, 1000.0, 0.0, STICK),  # atan(1000) = 1.5698
        (1.5705, 1000.0, 0.0, SLIP),
    ],
)
def test_the_state_of_a_block_on_a_slope(angle, mu, lift, state, d):
    problem = on_slope(angle, mu, d, lift=lift)
    answer = NSGS(tol=1e-12).solve(problem).require()
    assert list(answer.explain().states) == [state]


@pytest.mark.core
def test_a_light_contact_is_not_drowned_by_a_heavy_one():
    """Two blocks apart, of 1 g and of 1 t, on slopes where one slips and the other sticks, and the reverse."""
    slip, stick = G * np.array([-0.8, -0.6, 0.0]), G * np.array([-0.95, -0.3, 0.0])
    for q, states in (((slip, stick), [SLIP, STICK]), ((stick, slip), [STICK, SLIP])):
        problem = ConeProblem(np.diag(np.repeat([1e3, 1e-3], 3)), np.concatenate(q), [0.5, 0.5])
        answer = NSGS(tol=1e-10).solve(problem).require()
        assert list(answer.explain().states) == states


@pytest.mark.core
def test_the_worst_contact_is_the_one_that_was_spoilt():
    problem = ConeProblem(np.eye(12), np.tile([-1.0, 0.0, 0.0], 4), np.full(4, 0.5))
    r = np.tile([1.0, 0.0, 0.0], 4)
    r[6] += 0.1  # contact 2 presses too much: u_n = 0.1 beside r_n = 1.1
    found = judged(problem, r).explain()
    assert found.worst == 2
    scale = np.linalg.norm([1, 1, 1.1, 1])
    np.testing.assert_allclose(found.shares, [0, 0, 0.1 / scale, 0], atol=1e-15)
    assert f"The worst contact is 2 (it sticks, its residual is {0.1 / scale:.1e})" in str(found)


@pytest.mark.core
@pytest.mark.parametrize("kind", CONE_KINDS)
def test_the_rank_is_that_of_the_singular_values(kind):
    for seed, contacts in enumerate((1, 5, 12)):
        problem = random_cone(kind, contacts, seed, 2 + seed % 2)
        map_ = as_dense(problem.W) if problem.bodies is None else problem.bodies.H.toarray()
        assert delassus_rank(problem) == np.linalg.matrix_rank(map_)


def test_the_rank_by_inertia_is_that_of_the_eigenvalues(monkeypatch):
    """Sparse problems with bodies and without, through both ways."""
    piles = [sphere_pile(6), box_stack(12)]
    problems = piles + [ConeProblem(pile.W, pile.q, pile.mu) for pile in piles]
    expected = [np.linalg.matrix_rank(as_dense(pile.bodies.H)) for pile in piles] * 2
    assert [delassus_rank(problem) for problem in problems] == expected
    monkeypatch.setattr(diagnosis, "DENSE", 0)
    assert [delassus_rank(problem) for problem in problems] == expected
    monkeypatch.setattr(diagnosis, "LARGEST", 10)
    assert [delassus_rank(problem) for problem in problems] == [None] * 4
    text = str(NSGS(max_iter=1).solve(problems[0]).explain())
    assert f"The rank of W ({problems[0].size} rows) was not computed." in text


def test_four_feet_of_a_box_leave_six_combinations_of_impulses_open():
    """Each box of a stack has 4 contacts under it, 12 impulses for its 6 velocities."""
    answer = ss.solve(box_stack(3), ss.NSGS(tol=1e-6))
    found = answer.explain()
    assert (found.size, found.rank, found.undetermined) == (36, 18, 18)
    assert "W has rank 18 of 36: 18 combinations of impulses move nothing" in str(found)
    associated = replace(found, law="associated")
    assert "velocities are determined" in str(associated)
    assert "velocities are determined" not in str(found)


@pytest.mark.core
def test_a_solved_problem_in_words():
    text = str(NSGS().solve(on_slope(0.6)).explain())
    assert text.startswith("Solved: the residual is ")
    assert "at most 1e-08. The worst contact is 0 (it slips, its residual is " in text
    assert "Of 1 contacts 0 are open, 0 stick and 1 slip. W has full rank 3. A solution exists: some motion" in text
    assert text.endswith("Nothing needs to be done.")


@pytest.mark.core
def test_a_failure_that_has_a_solution_asks_for_another_try():
    found = judged(on_slope(0.6), [0.0, 0.0, 0.0]).explain()
    assert not found.solved
    assert found.existence.guaranteed
    assert str(found).startswith("Not solved: the residual is ")
    assert "method='auto'" in str(found)


@pytest.mark.core
def test_a_failure_without_a_solution_names_the_contact():
    """Contact 1 closes and cannot be moved."""
    W = np.diag([1.0, 1, 1, 0, 0, 0])
    problem = ConeProblem(W, [-1.0, 0, 0, -1.0, 0, 0], [0.5, 0.5])
    found = judged(problem, [1.0, 0, 0, 5.0, 0, 0]).explain()
    assert found.existence.refuted
    assert found.worst == 1
    assert "A solution is not guaranteed: contact 1 can press without moving any body (a grip)" in str(found)
    assert "there is no solution" in str(found)
    assert str(found).endswith("no method can solve this.")


@pytest.mark.core
def test_no_contacts():
    found = judged(ConeProblem(np.zeros((0, 0)), [], []), []).explain()
    assert found.worst is None
    assert (found.rank, found.undetermined) == (0, 0)
    assert "There are no contacts." in str(found)


@pytest.mark.core
@pytest.mark.parametrize("value", [np.inf, np.nan, 1e300])
def test_what_is_not_finite_is_said_to_be(value):
    r = np.array([1.0, 0, 0, value, 0, 0])
    answer = judged(ConeProblem(1e10 * np.eye(6), np.tile([-1.0, 0, 0], 2), [0.5, 0.5]), r)
    found = answer.explain()
    assert answer.status is Status.NONFINITE
    assert not np.isfinite(found.shares).all()
    assert "not finite" in str(found)


@pytest.mark.core
def test_a_solution_knows_its_problem_and_only_friction_is_explained():
    lcp = LCP(np.eye(2), [1.0, -1.0])
    answer = ss.solve(lcp)
    assert answer.problem is lcp
    with pytest.raises(InputError, match=r"explain: the problem is LCP.*expected a ConeProblem"):
        answer.explain()
    cone = on_slope(0.1)
    assert ss.solve(cone).problem is cone


def test_each_rank_of_w_is_found_in_a_sparse_and_a_dense_matrix_alike():
    problem = sphere_pile(3)
    dense = ConeProblem(problem.W.toarray(), problem.q, problem.mu)
    assert delassus_rank(dense) == delassus_rank(ConeProblem(sparse.csr_array(problem.W), problem.q, problem.mu))


@public
@pytest.mark.parametrize(
    ("name", "rank"), [("fc3d_Capsules-i125-1213", 570), ("gen_spheres_200", None), ("gen_boxes_300", None)]
)
def test_public_ranks(name, rank):
    """570 is stated with the data; where the bodies are known the rank of W is that of H."""
    problem = load(PUBLIC / f"{name}.h5")
    assert delassus_rank(problem) == (rank or np.linalg.matrix_rank(problem.bodies.H.toarray()))
