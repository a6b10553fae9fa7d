"""The interior point method for cones: its own promises. The laws of friction are in test_friction.py."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.problems.residual import unit_free_residual
from stickslip.solvers.cone_interior_point import ConeInteriorPoint
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Status


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_stacks_with_more_contacts_than_they_need(mu, law):
    """20 boxes, four points a face: W has 240 rows and rank 120, and Gauss-Seidel creeps."""
    problem = replace(box_stack(20, mu), law=law)
    answer = ConeInteriorPoint(tol=1e-10).solve(problem).require()
    assert answer.iterations <= 30
    assert unit_free_residual(problem, answer.x) <= 1e-8


@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_the_number_of_iterations_hardly_grows_with_the_size(law):
    small, large = (ConeInteriorPoint().solve(replace(box_stack(count), law=law)).require() for count in (5, 80))
    assert large.iterations <= 2 * small.iterations


@pytest.mark.core
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_velocity_does_not_matter(unit):
    pile = sphere_pile(2, 0.3)
    answer = ConeInteriorPoint().solve(pile).require()
    other = ConeInteriorPoint().solve(ConeProblem(pile.W, pile.q * unit, pile.mu)).require()
    assert other.iterations == answer.iterations
    np.testing.assert_allclose(other.x, answer.x * unit, rtol=1e-9, atol=1e-12 * unit)


@pytest.mark.core
def test_contacts_without_friction_among_others():
    pile = sphere_pile(2, 0.4)
    problem = ConeProblem(pile.W, pile.q, np.where(np.arange(pile.contacts) % 3 == 0, 0.0, pile.mu))
    answer = ConeInteriorPoint(tol=1e-9).solve(problem).require()
    np.testing.assert_array_equal(answer.x.reshape(-1, 3)[::3, 1:], 0.0)
    np.testing.assert_allclose(answer.y, NSGS(tol=1e-10).solve(problem).require().y, atol=1e-7)


@pytest.mark.core
def test_a_point_nearby_shortens_the_way():
    pile = sphere_pile(3, 0.3)
    first = ConeInteriorPoint().solve(pile).require()
    neighbour = ConeProblem(pile.W, pile.q * (1 + 1e-4), pile.mu)
    assert ConeInteriorPoint().solve(neighbour, x0=first.x).require().iterations < first.iterations


@pytest.mark.core
def test_what_it_cannot_do_it_says():
    stuck = ConeProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])
    assert ConeInteriorPoint().solve(stuck).status is not Status.SOLVED
    assert ConeInteriorPoint(max_iter=2).solve(sphere_pile(2)).status is Status.MAX_ITER
    with pytest.raises(InputError, match="ConeInteriorPoint: the problem is LCP"):
        ConeInteriorPoint().solve(LCP(np.eye(2), [-1.0, -1.0]))
