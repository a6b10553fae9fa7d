"""Friction bounds that are given, and the two fixed points that make Coulomb's law of convex problems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.mechanical import GRAVITY, STEP, box_friction, box_stack, normal_lcp, sphere_pile
from stickslip.problems.residual import project_cone, residual
from stickslip.solvers.conic import Conic
from stickslip.solvers.fixed_point import (
    CylinderGaussSeidel,
    DeSaxceFixedPoint,
    Tresca,
    mixed,
    solve_disc,
)
from stickslip.solvers.lemke import Lemke
from stickslip.solvers.newton import SemismoothNewton
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status


def project_cylinder(bound, y):
    """Nearest point of {r_n >= 0, |r_t| <= bound}."""
    slip = np.linalg.norm(y[1:])
    return np.concatenate([[max(y[0], 0.0)], y[1:] * min(1.0, bound / slip) if slip > 0 else y[1:]])


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_separate_isotropic_contacts_are_projections(d):
    """With W_ii = w I the impulse is the point of the cylinder nearest to -q / w."""
    rng = np.random.default_rng(0)
    w, bound, y = 10.0 ** rng.uniform(-5, 3, 40), rng.uniform(0, 2, 40), rng.standard_normal((40, d))
    bound[:5] = 0.0
    problem = CylinderProblem(sparse.diags_array(np.repeat(w, d)), (-w[:, None] * y).ravel(), bound)
    answer = CylinderGaussSeidel(tol=1e-13).solve(problem).require()
    assert answer.iterations == 1
    np.testing.assert_allclose(answer.x.reshape(-1, d), list(map(project_cylinder, bound, y)), atol=1e-14)


@pytest.mark.core
@pytest.mark.parametrize("d", [2, 3])
def test_separate_contacts_need_one_sweep(d):
    """Each is solved exactly, symmetric or not."""
    rng = np.random.default_rng(1)
    blocks = [A @ A.T + 0.1 * np.eye(d) + 0.3 * (A - A.T) for A in rng.standard_normal((60, d, d))]
    problem = CylinderProblem(
        sparse.block_diag(blocks, format="csr"), rng.standard_normal(60 * d), rng.uniform(0, 1, 60)
    )
    assert CylinderGaussSeidel(tol=1e-13).solve(problem).require().iterations == 1


@pytest.mark.core
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_disc_satisfies_its_conditions(rank):
    """|r| <= g, and S r + b = -λ r with λ >= 0, zero inside: r is the projection of r - (S r + b)."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        half = rng.standard_normal((2, 2))[:, :rank] * 10.0 ** rng.uniform(-3, 3)
        S = half @ half.T
        bound, b = 10.0 ** rng.uniform(-2, 2), rng.standard_normal(2)
        r = np.array(solve_disc(bound, S[0, 0], S[0, 1], S[1, 0], S[1, 1], b[0], b[1]))
        size = np.linalg.norm(r)
        assert size <= bound * (1 + 1e-12)
        rest = S @ r + b
        scale = np.linalg.norm(S) * size + np.linalg.norm(b)
        if size < bound * (1 - 1e-9):
            np.testing.assert_allclose(rest, 0.0, atol=1e-9 * scale)
        else:
            assert rest @ r <= 1e-9 * scale * size
            np.testing.assert_allclose(rest[0] * r[1] - rest[1] * r[0], 0.0, atol=1e-9 * scale * size)


@pytest.mark.core
def test_without_friction_it_is_a_linear_complementarity_problem():
    pile = sphere_pile(2, mu=0.0)
    expected = Lemke().solve(normal_lcp(pile)).require()
    answer = CylinderGaussSeidel(tol=1e-12).solve(CylinderProblem(pile.W, pile.q, np.zeros(pile.contacts))).require()
    np.testing.assert_allclose(answer.y[::3], expected.y, atol=1e-9 * np.abs(pile.q).max())
    np.testing.assert_array_equal(answer.x.reshape(-1, 3)[:, 1:], 0.0)


@pytest.mark.core
def test_in_the_plane_it_is_a_box():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((30, 40))
    cone = ConeProblem(A @ A.T / 40, rng.standard_normal(30), np.full(15, 0.7))
    impulse = rng.uniform(0, 1, 15)
    expected = SemismoothNewton(tol=1e-13).solve(box_friction(cone, impulse)).require()
    answer = CylinderGaussSeidel(tol=1e-12).solve(CylinderProblem(cone.W, cone.q, cone.mu * impulse)).require()
    np.testing.assert_allclose(answer.x, expected.x, atol=1e-10)


@pytest.mark.core
def test_cylinder_residual_is_the_distance_to_the_projection():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((12, 12))
    problem = CylinderProblem(A @ A.T, rng.standard_normal(12), [0.0, 0.5, 1.0, 2.0])
    r = rng.standard_normal(12)
    u = A @ A.T @ r + problem.q
    projected = list(map(project_cylinder, problem.bound, (r - u).reshape(-1, 3)))
    expected = np.linalg.norm(r - np.ravel(projected)) / max(map(np.linalg.norm, (problem.q, r, u)))
    assert residual(problem, r) == pytest.approx(expected, rel=1e-12)
    assert residual(problem, np.full(12, np.nan)) == np.inf


@pytest.mark.core
def test_bad_cylinders_are_refused():
    with pytest.raises(InputError, match=r"bound\[1\] is -1, expected a friction bound >= 0"):
        CylinderProblem(np.eye(6), np.zeros(6), [1.0, -1.0])
    with pytest.raises(InputError, match="expected 2 or 3 components a contact"):
        CylinderProblem(np.eye(6), np.zeros(6), [1.0])
    with pytest.raises(InputError, match="expected a CylinderProblem"):
        CylinderGaussSeidel().solve(LCP(np.eye(2), [1.0, 1.0]))
    with pytest.raises(InputError, match="law is 'associated', expected 'coulomb'"):
        Tresca().solve(replace(box_stack(1), law="associated"))


@pytest.mark.core
def test_an_immovable_contact_that_closes_overflows():
    problem = CylinderProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])
    assert CylinderGaussSeidel().solve(problem).status is Status.NONFINITE


@pytest.mark.core
def test_mixing_finds_the_fixed_point_of_a_linear_map():
    """x = A x + b in three dimensions, with three earlier steps remembered."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((3, 3)), rng.standard_normal(3)  # no contraction is needed
    points = [np.zeros(3)]
    images = [b]
    for _ in range(3):
        points.append(mixed(points, images))
        images.append(A @ points[-1] + b)
    np.testing.assert_allclose(mixed(points, images), np.linalg.solve(np.eye(3) - A, b), rtol=1e-8)


@pytest.mark.parametrize(
    "solver",
    [
        Tresca(tol=1e-10),
        Tresca(tol=1e-10, memory=0),
        DeSaxceFixedPoint(tol=1e-10),
        DeSaxceFixedPoint(tol=1e-10, memory=0),
    ],
    ids=lambda solver: f"{type(solver).__name__}-{solver.memory}",
)
@pytest.mark.parametrize("problem", [sphere_pile(3, mu=0.3), box_stack(3, tilt=0.2)], ids=str)
def test_velocities_are_those_of_gauss_seidel(solver, problem):
    expected = NSGS(tol=1e-11).solve(problem).require()
    answer = solver.solve(problem).require()
    np.testing.assert_allclose(answer.y, expected.y, atol=1e-7 * np.abs(problem.q).max())


@pytest.mark.parametrize("solver", [Tresca(tol=1e-10), DeSaxceFixedPoint(tol=1e-10)], ids=lambda s: type(s).__name__)
def test_a_box_slides_down_a_steep_slope_as_a_point_would(solver):
    """All four corners with h g (sin α - μ cos α), however they share the weight; friction tips it at no angle."""
    tilt, mu = 0.6, 0.5
    answer = solver.solve(box_stack(1, mu, tilt=tilt)).require()
    slip = STEP * GRAVITY * (np.sin(tilt) - mu * np.cos(tilt))
    np.testing.assert_allclose(answer.y.reshape(4, 3), np.tile([0.0, slip, 0.0], (4, 1)), atol=1e-7 * slip)


def test_coulomb_is_a_fixed_point_of_the_bounds():
    """The cylinder whose bounds are μ r_n of Coulomb's solution has the same velocities."""
    pile = sphere_pile(3, mu=0.4)
    coulomb = NSGS(tol=1e-12).solve(pile).require()
    cylinders = CylinderProblem(pile.W, pile.q, pile.mu * coulomb.x[::3])
    answer = CylinderGaussSeidel(tol=1e-12).solve(cylinders).require()
    np.testing.assert_allclose(answer.y, coulomb.y, atol=1e-9 * np.abs(pile.q).max())


@pytest.mark.parametrize("inner", [Conic(), NSGS()], ids=lambda solver: type(solver).__name__)
def test_any_solver_of_the_associated_law_serves(inner):
    pile = sphere_pile(3, mu=0.3)
    expected = DeSaxceFixedPoint(tol=1e-9).solve(pile).require()
    answer = DeSaxceFixedPoint(tol=1e-7, inner=inner).solve(pile).require()
    np.testing.assert_allclose(answer.y, expected.y, atol=1e-5 * np.abs(pile.q).max())


@pytest.mark.core
def test_the_associated_law_has_nothing_to_iterate():
    rng = np.random.default_rng(3)
    mu, q = rng.uniform(0, 1, 20), rng.standard_normal((20, 3))
    answer = DeSaxceFixedPoint(tol=1e-12).solve(ConeProblem(np.eye(60), q.ravel(), mu, law="associated")).require()
    np.testing.assert_allclose(answer.x, np.ravel([project_cone(m, *-y) for m, y in zip(mu, q, strict=True)]))


@pytest.mark.core
@pytest.mark.parametrize("solver", [Tresca(max_iter=2), DeSaxceFixedPoint(max_iter=2)], ids=lambda s: type(s).__name__)
def test_the_limit_is_said(solver):
    answer = solver.solve(sphere_pile(2))
    assert (answer.status, answer.iterations) == (Status.MAX_ITER, 2)
    assert answer.residual > 1e-8
