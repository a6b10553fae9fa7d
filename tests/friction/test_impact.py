"""Restitution by Newton's and by Poisson's rule."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import FORMULATIONS, KEEPS_CONTACT, TOLERANCES, G, impulses_of, name, particle, velocity_of

from stickslip.friction.active import spread
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.impact import Newton, Poisson, poisson
from stickslip.solvers.solve import solve

pytestmark = pytest.mark.core
H = 0.01
LATE = ("Box", "Hybrid", "Cylinder")  # friction is bounded by the normal impulse of the step before
every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS, ids=name)


@every_formulation
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_newton_returns_a_share_of_the_speed(formulation, e):
    v = velocity_of(formulation, particle([-2.0, 0.0, 0.0], restitution=[e]))
    np.testing.assert_allclose(v, [2.0 * e, 0.0, 0.0], atol=1e-9)


@every_formulation
def test_slow_contacts_do_not_bounce(formulation):
    v = velocity_of(formulation, particle([-0.9e-3, 0.0, 0.0], restitution=[1.0]))
    np.testing.assert_allclose(v, 0.0, atol=1e-9)


@every_formulation
@pytest.mark.parametrize("closes", [True, False])
def test_what_will_bounce_keeps_its_speed_until_the_step_in_which_it_would_close(formulation, closes):
    """It would come down by h (2 + h g): from just above that it falls freely, from just below it bounces."""
    fall = H * (2.0 + H * G)
    gap = fall + (-1e-6 if closes else 1e-6)
    v = velocity_of(formulation, particle([-2.0, 0.0, 0.0], restitution=[0.5], gap=[gap]))
    np.testing.assert_allclose(v, [1.0 if closes else -2.0 - H * G, 0.0, 0.0], atol=1e-8)


@pytest.mark.parametrize("formulation", [f for f in KEEPS_CONTACT if name(f) not in LATE], ids=name)
def test_friction_of_an_oblique_impact_follows_the_whole_impulse(formulation):
    """Newton: p_n = m (1 + e) |u_n⁻| + h m g, and as long as it slides p_t = μ p_n."""
    v = velocity_of(formulation, particle([-2.0, 5.0, 0.0], restitution=[0.5], mu=0.2))
    np.testing.assert_allclose(v, [1.0, 5.0 - 0.2 * (3.0 + H * G), 0.0], atol=1e-8)


def solve_rows(formulation):
    def solve_once(rows):
        posed = formulation.posed(rows)
        tol = TOLERANCES[type(posed.problem).__name__]
        return posed.decode(solve(posed.problem, formulation.solver, tol=tol, x0=posed.start).require().x)

    return solve_once


def under_poisson(formulation, problem):
    """Impulses of a step by Poisson's rule."""
    law = replace(formulation, impact=Poisson())
    rows = law.rows(problem)
    return spread(problem, rows.contacts, poisson(rows, solve_rows(law)))


@every_formulation
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_poisson_returns_a_share_of_the_impulse(formulation, e):
    """Compression m |u_n⁻|, expansion e times that, and the weight for a step."""
    start = particle([-2.0, 0.0, 0.0], restitution=[e], m=3.0)
    impulses = under_poisson(formulation, start)
    assert impulses.p[0] == pytest.approx(3.0 * ((1 + e) * 2.0 + H * G), abs=1e-8)
    np.testing.assert_allclose(start.velocity_after(impulses), [e * 2.0, 0.0, 0.0], atol=1e-8)


def test_poisson_solves_once_where_nothing_bounces():
    calls = []

    law = Coulomb(impact=Poisson())

    def count(rows):
        calls.append(rows)
        return solve_rows(law)(rows)

    poisson(law.rows(particle([-2.0, 0.0, 0.0])), count)
    assert len(calls) == 1


def test_poisson_keeps_joints():
    """Two point masses with a rod across: one hits the floor, both bounce as one body of 4 kg."""
    masses, v = np.array([1.0, 3.0]), np.array([-2.0, -2.0])
    problem = ContactProblem(
        H, np.diag(masses), masses * v, v, np.array([[1.0, 0.0], [0.0, 0.0]]), [0.0], restitution=[0.5],
        G=np.array([[1.0], [-1.0]]),
    )  # fmt: skip
    impulses = under_poisson(Coulomb(), problem)
    np.testing.assert_allclose(problem.velocity_after(impulses), [1.0, 1.0], atol=1e-9)
    assert impulses.p[0] == pytest.approx(4.0 * 3.0, abs=1e-8)
    assert impulses.joints[0] == pytest.approx(-3.0 * 3.0, abs=1e-8)


def test_three_balls_in_a_row_under_both_rules():
    """The first of three equal balls comes with speed 1, e = 1, the others rest and touch: under either rule only the
    contact that closes bounces, and the other passes its impulse on. Momentum and energy are kept."""
    contacts = np.array([[-1.0, 0.0], [1.0, -1.0], [0.0, 1.0]])  # ball i + 1 relative to ball i
    H_n = np.zeros((3, 4))
    H_n[:, ::2] = contacts
    v = np.array([1.0, 0.0, 0.0])
    row = ContactProblem(H, np.eye(3), v, v, H_n, [0.0, 0.0], restitution=[1.0, 1.0])
    newton = row.velocity_after(impulses_of(Coulomb(impact=Newton()), row))
    np.testing.assert_allclose(newton, [-1 / 3, 2 / 3, 2 / 3], atol=1e-9)
    assert newton @ newton == pytest.approx(1.0, abs=1e-9)
    poisson_end = row.velocity_after(under_poisson(Coulomb(), row))
    assert poisson_end.sum() == pytest.approx(1.0, abs=1e-9)
    # compression: all at 1/3 with impulses 2/3 and 1/3; only the contact that closed returns its own, 2/3; the other
    # may then only push, which takes 1/3
    np.testing.assert_allclose(poisson_end, [-1 / 3, 2 / 3, 2 / 3], atol=1e-9)
