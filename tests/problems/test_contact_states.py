"""Open, stick or slip in closed form, whatever the units; shares that add up to the residual."""

import numpy as np
import pytest

from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import State, contact_residuals, contact_states
from stickslip.problems.mechanical import box_stack
from stickslip.problems.random_cones import CONE_KINDS, random_cone
from stickslip.problems.residual import residual
from stickslip.solvers.nsgs import NSGS

OPEN, STICK, SLIP = State


@pytest.mark.core
def test_a_contact_at_its_limit_that_does_not_move_sticks():
    problem = ConeProblem(np.eye(3), [-1.0, -0.6, -0.8], [1.0])
    assert residual(problem, [1.0, 0.6, 0.8]) <= 1e-16
    for slack in (-1e-14, 0.0, 1e-14):
        assert list(contact_states(problem, [1.0 + slack, 0.6, 0.8])) == [STICK]


@pytest.mark.core
def test_a_slipping_contact_separates_under_the_associated_law():
    """W = I, q = (-1, -2, 0), μ = 1/2: r is q's nearest point of the cone, negated; u = r + q, u_n = μ |u_t| > 0."""
    q = np.array([-1.0, -2.0, 0.0])
    ray = np.array([1.0, 0.5, 0.0])
    r = (ray @ -q) / (ray @ ray) * ray
    problem = ConeProblem(np.eye(3), q, [0.5], law="associated")
    assert residual(problem, r) <= 1e-15
    assert (r + q)[0] == pytest.approx(0.5 * abs((r + q)[1]))
    assert list(contact_states(problem, r)) == [SLIP]
    assert list(contact_states(ConeProblem(np.eye(3), -q, [0.5], law="associated"), 0 * r)) == [OPEN]


@pytest.mark.core
@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e4, 1e9])
def test_states_do_not_depend_on_units(unit):
    problem = box_stack(4, stir=0.1)
    r = NSGS(tol=1e-6).solve(problem).x
    states = contact_states(problem, r)
    assert set(states) == {OPEN, STICK, SLIP}
    np.testing.assert_array_equal(
        contact_states(ConeProblem(unit * problem.W, problem.q, problem.mu), r / unit), states
    )
    np.testing.assert_array_equal(
        contact_states(ConeProblem(problem.W, unit * problem.q, problem.mu), unit * r), states
    )


@pytest.mark.core
@pytest.mark.parametrize("law", ["coulomb", "associated"])
def test_shares_add_up_to_the_residual(law):
    rng = np.random.default_rng(3)
    for kind in CONE_KINDS:
        given = random_cone(kind, 6, 1, 2 + rng.integers(2))
        problem = ConeProblem(given.W, given.q, given.mu, law=law)
        r = rng.normal(size=problem.size)
        shares = contact_residuals(problem, r)
        assert shares.shape == (6,)
        assert np.linalg.norm(shares) == pytest.approx(residual(problem, r), rel=1e-12)
