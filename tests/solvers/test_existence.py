"""Existence: closed forms, random problems with a known verdict, and certificates checked in plain NumPy."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from stickslip.analysis.existence import existence
from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load
from stickslip.problems.lcp import LCP
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.random_cones import CONE_KINDS, random_cone
from stickslip.problems.residual import residual
from stickslip.solvers.nsgs import NSGS

PUBLIC = (Path(__file__).parents[2] / "../shared/data").resolve()
public = pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public test sets are not beside the clone (../shared/data)"
)


def between_walls(clearance, mu=0.5, d=3, law="coulomb"):
    """A point mass between two walls that leave it `clearance` a step on either side, thrown at the first."""
    toward = np.diag([-1.0] + [1.0] * (d - 1))
    w = np.tile(np.append(clearance, np.zeros(d - 1)), 2)
    return ConeProblem.from_bodies(
        np.eye(d), np.hstack([np.eye(d), toward]), -np.eye(1, d).ravel(), np.full(2, mu), w, law
    )


def wedged(mu, angle, d=3):
    """A point mass pressed into a notch whose walls rise by `angle` on both sides; w = 0."""
    c, s = np.cos(angle), np.sin(angle)
    normals = np.array([[s, c], [-s, c]])
    tangents = np.array([[c, -s], [c, s]])
    H = np.zeros((d, 2 * d))
    H[:2, 0::d], H[:2, 1::d] = normals.T, tangents.T
    if d == 3:
        H[2, 2::3] = 1.0
    return ConeProblem.from_bodies(np.eye(d), H, -np.eye(1, d, 1).ravel(), np.full(2, mu))


def without_bodies(problem):
    return ConeProblem(problem.W, problem.q, problem.mu, law=problem.law)


def check_certificate(problem, found):
    """A motion opens every contact strictly; a grip is in K, moves nothing and is not opposed by w."""
    d, mu = problem.dimension, problem.mu
    if problem.bodies is None:
        map_, w = sparse.csr_array(problem.W) + sparse.csr_array(problem.W).T, problem.q
    else:
        map_, w = problem.bodies.H.T, problem.bodies.w
    assert found.v is None or found.grip is None
    if found.v is not None:
        assert found.guaranteed
        assert found.margin > 0
        u = (map_ @ found.v + w).reshape(-1, d)
        assert (u[:, 0] > mu * np.linalg.norm(u[:, 1:], axis=1)).all()
    if found.grip is not None:
        assert not found.guaranteed
        r = found.grip.reshape(-1, d)
        assert np.abs(r).max() == pytest.approx(1.0)
        assert (np.linalg.norm(r[:, 1:], axis=1) <= mu * r[:, 0] * (1 + 1e-12)).all()
        assert np.abs(map_.T @ found.grip).max() <= 1e-6 * abs(map_).max()
        assert w @ found.grip <= 1e-6 * np.abs(w) @ np.abs(found.grip)


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("form", [lambda problem: problem, without_bodies], ids=["bodies", "W"])
@pytest.mark.parametrize("clearance", [-1.0, -1e-3, 0.0, 1e-3, 0.5])
def test_between_two_walls(clearance, form, d):
    """With room the mass can open both contacts; without, the walls grip it, and closing walls leave no place."""
    problem = form(between_walls(clearance, d=d))
    found = existence(problem)
    check_certificate(problem, found)
    assert found.guaranteed == (clearance > 0)
    assert found.refuted == (clearance < 0)
    if clearance <= 0:
        np.testing.assert_allclose(found.grip, np.tile(np.eye(1, d).ravel(), 2), atol=1e-6)


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("offset", [-0.02, 0.02])
def test_a_notch_grips_iff_its_walls_are_steeper_than_the_friction_angle_allows(mu, offset, d):
    """Straight up the walls open at c - μ s each: positive iff tan(angle) < 1/μ. Otherwise friction holds the mass."""
    problem = wedged(mu, np.arctan(1 / mu) + offset, d)
    for form in (problem, without_bodies(problem)):
        found = existence(form)
        check_certificate(form, found)
        assert found.guaranteed == (offset < 0)
        assert (found.grip is not None) == (offset > 0)
        assert not found.refuted


@pytest.mark.core
@pytest.mark.parametrize(("mu", "law"), [(0.0, "coulomb"), (0.3, "coulomb"), (1000.0, "coulomb"), (0.3, "associated")])
def test_one_contact_that_can_move_has_a_solution(mu, law):
    problem = ConeProblem(np.diag([1.0, 2.0, 3.0]), [-1.0, 2.0, 0.0], [mu], law=law)
    found = existence(problem)
    assert found.guaranteed
    check_certificate(problem, found)
    assert ("associated" in str(found)) == (law == "associated")


@pytest.mark.core
def test_zero_impulses_are_a_solution_where_everything_opens():
    indefinite = -np.eye(3)
    q = [0.0, 5.0, 0.0]
    assert existence(ConeProblem(indefinite, q, [0.5])).guaranteed  # Coulomb: sliding apart at u_n = 0 is free
    assert not existence(ConeProblem(indefinite, q, [0.5], law="associated")).guaranteed
    assert existence(ConeProblem(indefinite, [2.5, 5.0, 0.0], [0.5], law="associated")).guaranteed
    assert existence(ConeProblem(np.zeros((0, 0)), [], [])).guaranteed


@pytest.mark.core
@pytest.mark.parametrize("W", [-np.eye(3), np.diag([1.0, 1.0, -1e-4]), [[0.0, 1, 0], [1, 1, 0], [0, 0, 1]]])
def test_the_theorem_is_not_applied_to_an_indefinite_matrix(W):
    found = existence(ConeProblem(W, [-1.0, 0.0, 0.0], [0.5]))
    assert not found.guaranteed
    assert found.reason.startswith("W is not positive semidefinite")
    moved = ConeProblem(
        np.eye(3), [-1.0, 0, 0], [0.5], ConeProblem.from_bodies(-np.eye(3), np.eye(3), W[0], [0.5]).bodies
    )
    assert existence(moved).reason.startswith("the mass matrix M is not")


@pytest.mark.core
def test_a_skew_matrix_moves_nothing_that_counts():
    """dᵀ W d = 0 for every d: the condition is that of a contact that cannot move.

    It is not necessary: u = (r_t - 1, -r_n) has the solution r = (2, 1), slipping at u = (0, -2) with r_t = μ r_n.
    """
    problem = ConeProblem([[0.0, 1.0], [-1.0, 0.0]], [-1.0, 0.0], [0.5])
    assert residual(problem, [2.0, 1.0]) == 0
    found = existence(problem)
    assert not found.guaranteed
    assert not found.refuted


@pytest.mark.core
def test_few_digits_are_named_in_the_verdict():
    """W of rank one, written with six digits, has a negative eigenvalue of about 1e-6."""
    a = np.array([1.0, 1 / 3, 0.7])
    W = np.round(np.outer(a, a) + np.diag([0.0, 0.0, 1e-9]), 6)
    assert np.linalg.eigvalsh(W)[0] < -1e-8
    problem = ConeProblem(W, [-1.0, 0.0, 0.0], [0.1])
    found = existence(problem)
    assert "diagonal raised by 1e-05" in found.reason
    check_certificate(problem, found)


@pytest.mark.parametrize("kind", CONE_KINDS)
def test_random_problems(kind):
    """Every class that promises a solution is recognised; what is refuted is never solved."""
    refuted = 0
    for seed in range(20):
        problem = random_cone(kind, 1 + 2 * seed, seed, 2 + seed % 2)
        found = existence(problem)
        check_certificate(problem, found)
        if CONE_KINDS[kind].solvable:
            assert found.guaranteed, f"seed {seed}: {found}"
        if found.refuted:
            assert not NSGS(max_iter=300).solve(problem).solved
            refuted += 1
    assert (refuted > 0) == (kind in ("immovable", "jammed"))


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("clearance", [-1e-3, 0.0, 1e-3])
def test_units_do_not_matter(unit, clearance):
    given = between_walls(clearance)
    for problem in (
        ConeProblem(unit * given.W, given.q, given.mu),
        ConeProblem(given.W, unit * given.q, given.mu),
        ConeProblem.from_bodies(unit * given.bodies.M, given.bodies.H, given.bodies.f, given.mu, given.bodies.w),
        ConeProblem.from_bodies(given.bodies.M, unit * given.bodies.H, given.bodies.f, given.mu, given.bodies.w),
    ):
        found = existence(problem)
        check_certificate(problem, found)
        assert found.guaranteed == (clearance > 0)


def test_piles_and_stacks_can_fly_apart():
    for problem in (sphere_pile(5), box_stack(8), without_bodies(sphere_pile(4)), without_bodies(box_stack(5))):
        found = existence(problem)
        assert found.guaranteed
        check_certificate(problem, found)


def test_a_lid_grips_a_stack():
    """A lid that does not move presses the boxes on the floor: the lid takes part, as without it there is no grip."""
    stack = box_stack(30)
    bodies = stack.bodies
    lid = sparse.lil_array((bodies.M.shape[0], 3))
    top = bodies.M.shape[0] - 6  # the velocities of the highest box
    lid[top + 2, 0] = -1.0
    lid[top, 1] = lid[top + 1, 2] = 1.0
    problem = ConeProblem.from_bodies(
        bodies.M, sparse.hstack([bodies.H, lid]), bodies.f, np.append(stack.mu, 0.5), np.append(bodies.w, np.zeros(3))
    )
    found = existence(problem)
    assert found.verdict == "not guaranteed"
    assert found.grip[-3] > 0
    assert not found.refuted
    check_certificate(problem, found)
    closing = ConeProblem.from_bodies(
        bodies.M, problem.bodies.H, bodies.f, problem.mu, np.append(bodies.w, [-0.01, 0, 0])
    )
    found = existence(closing)
    assert found.refuted
    check_certificate(closing, found)


def test_other_problems_are_refused():
    with pytest.raises(InputError, match="expected a ConeProblem"):
        existence(LCP(np.eye(2), [1.0, 1.0]))


def test_descent_and_the_conic_program_agree(monkeypatch):
    """Without descent, Clarabel alone decides: the same verdicts, and no smaller margin."""
    module = sys.modules["stickslip.solvers.existence"]
    problems = [random_cone(kind, 6, seed, 3) for kind in CONE_KINDS for seed in range(2)]
    first = [existence(problem) for problem in problems]
    monkeypatch.setattr(module, "descend", lambda program: (np.zeros(program.C.shape[1]), 0.0))
    for problem, before in zip(problems, first, strict=True):
        found = existence(problem)
        check_certificate(problem, found)
        assert found.verdict == before.verdict
        assert found.margin >= before.margin * (1 - 1e-6)


SMALL_PUBLIC = [path for path in sorted(PUBLIC.glob("*.h5")) if path.name.startswith(("fc", "gfc", "gen"))]


@public
@pytest.mark.parametrize("path", SMALL_PUBLIC, ids=lambda path: path.stem)
def test_every_public_problem_has_a_solution(path):
    problem = load(path)
    found = existence(problem)
    assert found.verdict == "exists"
    check_certificate(problem, found)
