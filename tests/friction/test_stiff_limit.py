"""The stiff limit of a table on four legs with springs of 1, 2, 3 and 4 MN/m: numbers recomputed independently."""

import numpy as np
import pytest
from by_hand import G, contact_columns, impulses_of, particle

from stickslip.engine.stiff_limit import stiff_limit
from stickslip.errors import InputError
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb

H = 0.01
STIFFNESS = 1e6 * np.arange(1.0, 5.0)
FEET = np.array([[0.5, 0.4, -0.7], [-0.5, 0.4, -0.7], [-0.5, -0.4, -0.7], [0.5, -0.4, -0.7]])
MASS = np.diag([10.0, 10.0, 10.0, 1.0, 1.5, 2.0])


def momentum(load, at):
    return H * np.concatenate([np.array(load) - [0.0, 0.0, 10.0 * G], np.cross(at, load)])


def welded(load, at, **fields):
    """Legs that also pull: joint rows."""
    return ContactProblem(
        H, MASS, momentum(load, at), np.zeros(6), np.zeros((6, 0)), np.zeros(0),
        G=contact_columns(FEET)[:, ::3], compliance=1 / (H**2 * STIFFNESS), **fields,
    )  # fmt: skip


def standing(load, at, mu):
    """Legs that stand on the floor, as stiff along it as across."""
    return ContactProblem(
        H, MASS, momentum(load, at), np.zeros(6), contact_columns(FEET), np.full(4, mu),
        stiffness=STIFFNESS, stiffness_tangent=STIFFNESS,
    )  # fmt: skip


def test_legs_that_pull():
    limit = stiff_limit(welded((0.0, 0.0, -20.0), (0.2, 0.1, 0.0)))
    np.testing.assert_allclose(limit.forces, [23.378, 38.172, 16.878, 39.672], atol=1e-8)
    np.testing.assert_allclose(
        limit.path(1.0)[0], [23.0201945587, 37.6080197881, 16.7898030922, 39.2511427816], atol=1e-8
    )
    np.testing.assert_allclose(limit.errors([1.0, 1e-2, 1e-4]), [5.640e-1, 5.721e-3, 5.722e-5], rtol=2e-4)
    np.testing.assert_allclose(limit.orders([1e-2, 1e-3, 1e-4]), 1.0, atol=1e-3)


def test_equal_springs_are_the_plain_minimum_norm():
    table = welded((0.0, 0.0, -20.0), (0.2, 0.1, 0.0))
    limit = stiff_limit(table, np.ones(4))
    np.testing.assert_allclose(limit.forces, [32.775, 28.775, 26.275, 30.275], atol=1e-8)
    by_pseudo_inverse = np.linalg.lstsq(table.G, -table.f, rcond=None)[0] / H
    np.testing.assert_allclose(limit.forces, by_pseudo_inverse, atol=1e-8)


def test_a_leg_that_would_have_to_pull_lifts():
    load, at = (0.0, 0.0, -300.0), (0.45, 0.15, 0.0)
    np.testing.assert_allclose(stiff_limit(welded(load, at)).forces, [131.958, 123.342, -59.292, 202.092], atol=1e-8)
    expected = [191.25, 64.05, 0.0, 142.8]
    standing_limit = stiff_limit(standing(load, at, mu=0.0))
    np.testing.assert_allclose(standing_limit.forces[::3], expected, atol=1e-8)
    np.testing.assert_allclose(
        standing_limit.path(1e-2)[0, ::3], [191.201827124, 64.0569434251, 0.0, 142.807364295], atol=1e-8
    )
    limits = stiff_limit(welded(load, at, lower=np.zeros(4), upper=np.full(4, np.inf)))  # the same as joint limits
    np.testing.assert_allclose(limits.forces, expected, atol=1e-8)


INSIDE = [
    [25.254, -0.7689906348, -0.0491155047],
    [38.046, -1.5379812695, -0.7017689906],
    [12.804, -1.5827263267, -1.0526534860],
    [41.996, -2.1103017690, -0.1964620187],
]
SATURATED = [
    [28.2210641593, -2.1039386868, -0.2098905697],
    [37.7039358407, -4.2078773736, -2.0133393711],
    [6.8460641593, -2.8221223632, -1.9372077806],
    [45.3289358407, -5.8660615764, -0.8395622786],
]


@pytest.mark.parametrize(("push", "forces"), [((6.0, 2.0), INSIDE), ((15.0, 5.0), SATURATED)])
def test_legs_with_friction(push, forces):
    limit = stiff_limit(standing((*push, -20.0), (0.2, 0.1, 0.0), mu=0.5))
    np.testing.assert_allclose(limit.forces.reshape(4, 3), forces, atol=1e-8)
    assert limit.residual < 1e-12
    errors = limit.errors([1.0, 1e-2, 1e-4])
    assert (errors[:-1] / errors[1:] > 93).all()
    assert (errors[:-1] / errors[1:] < 101).all()


def test_friction_far_along_the_path():
    limit = stiff_limit(standing((6.0, 2.0, -20.0), (0.2, 0.1, 0.0), mu=0.5))
    np.testing.assert_allclose(limit.errors([1.0, 1e-2, 1e-4]), [1.12, 1.17e-2, 1.17e-4], rtol=0.01)


def test_the_limit_while_the_table_slides():
    """The velocity is not zero, so contacts are on the rays that it leaves them; first order still."""
    table = standing((120.0, 0.0, -20.0), (0.2, 0.1, 0.0), mu=0.3)
    limit = stiff_limit(table)
    v = table.velocity_after(limit.impulses)
    assert v[0] > 0.01
    errors = limit.errors([1e-2, 1e-3, 1e-4])
    assert (errors[:-1] / errors[1:] > 8).all()


@pytest.mark.core
def test_the_associated_law_lifts_what_slides():
    """A particle at 1 m/s: u_n = μ |u_t| after the step, where Coulomb's law leaves it on the floor. Exact."""
    start = particle([0.0, 1.0, 0.0])
    lifted = impulses_of(CompliantCone(), start)
    np.testing.assert_allclose(lifted.p, [0.47848, -0.23924, 0.0], atol=1e-10)
    np.testing.assert_allclose(start.velocity_after(lifted), [0.38038, 0.76076, 0.0], atol=1e-10)
    flat = impulses_of(Coulomb(), start)
    np.testing.assert_allclose(flat.p, [0.0981, -0.04905, 0.0], atol=1e-10)
    np.testing.assert_allclose(start.velocity_after(flat), [0.0, 0.95095, 0.0], atol=1e-10)


def test_bad_weights_are_refused():
    table = standing((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), mu=0.5)
    with pytest.raises(InputError, match="weights has 3 entries, expected 12"):
        stiff_limit(table, np.ones(3))
    with pytest.raises(InputError, match=r"weights\[1\] is -1, expected a positive compliance"):
        stiff_limit(table, np.where(np.arange(12) == 1, -1.0, 1.0))
    rigid = ContactProblem(H, MASS, np.zeros(6), np.zeros(6), contact_columns(FEET), np.full(4, 0.5))
    np.testing.assert_array_equal(stiff_limit(rigid).forces, stiff_limit(rigid, np.ones(12)).forces)  # equal springs
    with pytest.raises(InputError, match=r"a scale is 0, expected a positive number"):
        stiff_limit(table).path([0.0])
