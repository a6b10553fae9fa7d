"""Stewart–Trinkle on Trinkle's examples: numbers recomputed from first principles, exact but for rounding."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import G, contact_columns, impulses_of, particle, slide

from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.directions import polyhedral_directions
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.problems.lcp import LCP
from stickslip.solvers.lemke import Lemke

H = 0.01


@pytest.mark.core
@pytest.mark.parametrize("count", [4, 8, 16])
def test_directions_are_unit_vectors_at_equal_angles(count):
    D = polyhedral_directions(count, 3)
    angle = 2 * math.pi / count * np.arange(count)
    np.testing.assert_allclose(D, [np.cos(angle), np.sin(angle)], atol=1e-15)
    np.testing.assert_array_equal(polyhedral_directions(count, 2), [[1.0, -1.0]])


@pytest.mark.core
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_lcp_is_that_of_the_notes(dimension):
    m, mu = 2.0, 0.4
    posed = StewartTrinkle(directions=4).pose(particle([0.3, -1.0, 0.5][:dimension], m=m, mu=mu, gap=[0.02]))
    assert isinstance(posed, LCP)
    D = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]]) if dimension == 3 else np.array([[1.0, -1.0]])
    n_d = D.shape[1]
    expected = np.zeros((n_d + 2, n_d + 2))
    expected[0, 0] = 1 / m
    expected[1:-1, 1:-1] = D.T @ D / m
    expected[1:-1, -1] = 1.0
    expected[-1, 0], expected[-1, 1:-1] = mu, -1.0
    np.testing.assert_allclose(posed.M, expected, atol=1e-15)
    free = np.array([-1.0, 0.5])[: dimension - 1] @ D
    np.testing.assert_allclose(posed.q, [0.3 - H * G + 0.02 / H, *free, 0.0], atol=1e-14)


@pytest.mark.core
@pytest.mark.parametrize("dimension", [2, 3])
def test_particle_slides_to_rest(dimension):
    formulation, start = StewartTrinkle(directions=4), particle([0.0, 2.0, 0.0][:dimension])
    z = Lemke().solve(formulation.pose(start)).require().x
    assert z[0] == pytest.approx(0.0981, abs=1e-10)  # p_n
    assert z[-1] == pytest.approx(1.95095, abs=1e-10)  # s, the speed of slip
    assert slide(formulation, start, 1)[0][1] == pytest.approx(1.95095, abs=1e-10)
    assert slide(formulation, start, 40)[0][1] == pytest.approx(0.038, abs=1e-10)
    v, _, travel, _ = slide(formulation, start, 41)
    np.testing.assert_allclose(v, 0.0, atol=1e-10)
    assert travel[0] == pytest.approx(0.39779, abs=1e-10)


@pytest.mark.parametrize(
    ("directions", "end"),
    [
        (4, (0.399121278611, 0.348136665552)),
        (8, (0.385228822211, 0.177811311736)),
        (16, (0.340555295507, 0.217573225374)),
        (64, (0.342580613412, 0.202928690249)),
    ],
)
def test_where_a_particle_stops_depends_on_the_directions(directions, end):
    start = particle([0.0, 2 * math.cos(math.pi / 6), 2 * math.sin(math.pi / 6)])
    v, _, travel, _ = slide(StewartTrinkle(directions=directions), start, 70)
    np.testing.assert_allclose(v, 0.0, atol=1e-10)
    np.testing.assert_allclose(travel, end, atol=1e-10)


@pytest.mark.core
def test_an_impact_takes_two_steps():
    start = particle([-1.0, 0.0, 0.0], gap=[0.001])
    for steps, p_n, v_n in [(1, 0.9981, -0.1), (2, 0.1981, 0.0), (3, 0.0981, 0.0)]:
        v, gap, _, impulses = slide(StewartTrinkle(), start, steps)
        assert impulses.p[0] == pytest.approx(p_n, abs=1e-10)
        assert v[0] == pytest.approx(v_n, abs=1e-10)
        assert gap == pytest.approx(0.0, abs=1e-10)


def roll(formulation, h, steps, velocity):
    """A sphere of 2 kg and radius 0.5 m on the floor: its velocities, step by step."""
    m, radius, mu = 2.0, 0.5, 0.3
    M = np.diag([m] * 3 + [0.4 * m * radius**2] * 3)
    jacobian = contact_columns([[0.0, 0.0, -radius]])
    v = np.array([*velocity, 0.0, 0.0, 0.0, 0.0])
    history = [v]
    for _ in range(steps):
        problem = ContactProblem(h, M, M @ v - h * m * G * np.eye(6)[2], v, jacobian, [mu])
        v = problem.velocity_after(impulses_of(formulation, problem))
        history.append(v)
    return np.array(history[1:])


def test_a_sliding_sphere_comes_to_roll_at_five_sevenths():
    history = roll(StewartTrinkle(directions=4), H, 100, (7.0, 0.0))
    slip = history[:, 0] - 0.5 * history[:, 4]
    np.testing.assert_allclose(history[0, [0, 4]], [6.97057, 0.14715], atol=1e-10)
    assert slip[0] == pytest.approx(6.896995, abs=1e-10)
    assert int(np.argmax(np.abs(slip) < 1e-9)) + 1 == 68
    np.testing.assert_allclose(history[-1, [0, 4]], [5.0, 10.0], atol=1e-10)
    assert H * history[:, 0].sum() == pytest.approx(5.6695846, abs=1e-10)


@pytest.mark.parametrize("directions", [4, 8, 16])
def test_rolling_does_not_depend_on_the_directions(directions):
    """m v + (J / R²) R ω is conserved whatever friction does."""
    angle = math.pi / 6
    history = roll(StewartTrinkle(directions=directions), 2e-3, 500, (7 * math.cos(angle), 7 * math.sin(angle)))
    np.testing.assert_allclose(history[-1, :2], [4.330127018922, 2.5], atol=1e-10)


@pytest.mark.core
def test_a_moving_floor_carries_the_particle_along():
    belt = particle([0.0, 0.0, 0.0], w=[0.0, -0.3, 0.0])  # the floor moves with +0.3 m/s
    v = slide(StewartTrinkle(), belt, 30)[0]
    np.testing.assert_allclose(v, [0.0, 0.3, 0.0], atol=1e-10)
    lift = particle([0.0, 0.0, 0.0], w=[-0.2, 0.0, 0.0])  # the floor rises with 0.2 m/s
    impulses = impulses_of(StewartTrinkle(), lift)
    assert impulses.p[0] == pytest.approx(0.2 + H * G, abs=1e-10)


@pytest.mark.core
def test_no_contact_at_all():
    start = particle([0.0, 1.0, 0.0])
    nothing = replace(
        start, H=np.zeros((3, 0)), mu=np.zeros(0), mu_kinetic=None, w=None, gap=None, restitution=None, stiffness=None,
        damping=None, stiffness_tangent=None, damping_tangent=None, previous=None, patch=None, grain=None,
        point=None,
    )  # fmt: skip
    impulses = impulses_of(StewartTrinkle(), nothing)
    assert impulses.p.size == 0
    np.testing.assert_allclose(nothing.velocity_after(impulses), [-H * G, 1.0, 0.0], atol=1e-15)


def test_two_directions_are_too_few():
    with pytest.raises(InputError, match="StewartTrinkle: directions is 2, expected a whole number of at least 3"):
        StewartTrinkle(directions=2)


@pytest.mark.parametrize("offset", [0.0, 0.3, -2.0])
@pytest.mark.parametrize("directions", [4, 7, 8])
def test_friction_on_the_polygon_has_nothing_left(directions, offset):
    """μ p_n shared by two neighbouring directions, wherever the first of them is; half of it has half left."""
    law, mu, p_n = StewartTrinkle(directions, offset=offset), 0.5, 2.0
    D = polyhedral_directions(directions, 3, offset)
    shares = np.eye(directions) * 0.7 + np.roll(np.eye(directions), 1, axis=1) * 0.3
    friction = mu * p_n * shares @ D.T
    rows = SimpleNamespace(mu=np.full(directions, mu), dimension=3)
    on, half = (np.column_stack([np.full(directions, p_n), size * friction]) for size in (1.0, 0.5))
    np.testing.assert_allclose(law.left(rows, on), 0.0, atol=1e-14)
    np.testing.assert_allclose(law.left(rows, half), 0.5 * mu * p_n, rtol=1e-14)
