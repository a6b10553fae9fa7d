"""Friction sets, the problem of distributed contacts, its residual, and the paper's Jacobians."""

import math

import numpy as np
import pytest
from limit_surfaces import POLYHEDRON, SETS, excess, reach

import stickslip as ss
from stickslip.problems.friction_sets import nearest
from stickslip.problems.rod_and_cube import by_component, example_1, example_2, jacobian_1, jacobian_2, table_1

pytestmark = pytest.mark.core
ALIVE, STATE = np.ones(3, bool), np.zeros(5)


def projected(surface, bound, y, alive=ALIVE):
    x, D = np.empty(3), np.empty((3, 3))
    (own,), planes, gauge = surface.data
    nearest(own[0], planes, gauge, STATE, alive, bound, np.asarray(y, float), x, D, True)
    return x, D


@pytest.mark.parametrize("name", SETS)
def test_nearest_point_of_a_set(name):
    """x is nearest to y exactly if x is in the set and no point of it lies further along y - x."""
    random = np.random.default_rng(1)
    for _ in range(40):
        bound, y = random.uniform(0.1, 3.0), 3 * random.normal(size=3)
        x, _ = projected(SETS[name], bound, y)
        assert excess(name, x) <= bound * (1 + 1e-12)
        way = y - x
        assert bound * reach(name, way) - way @ x <= 1e-11 * (1 + way @ way)


@pytest.mark.parametrize("name", SETS)
def test_derivative_of_the_nearest_point(name):
    random = np.random.default_rng(2)
    checked = 0
    while checked < 10:
        bound, y = random.uniform(0.5, 2.0), 2 * random.normal(size=3)
        step = 1e-5
        ahead = [projected(SETS[name], bound, y + step * axis) for axis in np.eye(3)]
        back = [projected(SETS[name], bound, y - step * axis) for axis in np.eye(3)]
        if any(np.abs(a[1] - b[1]).max() > 1e-3 for a, b in zip(ahead, back, strict=True)):
            continue  # a kink in between
        slopes = np.column_stack([(a[0] - b[0]) / (2 * step) for a, b in zip(ahead, back, strict=True)])
        np.testing.assert_allclose(projected(SETS[name], bound, y)[1], slopes, atol=2e-6)
        checked += 1


@pytest.mark.parametrize("name", SETS)
def test_a_component_of_size_zero_carries_nothing(name):
    x, D = projected(SETS[name], 0.7, (2.0, -1.0, 3.0), np.array([True, True, False]))
    assert x[2] == 0.0
    assert not D[2].any()
    assert not D[:, 2].any()
    assert excess(name, x) == pytest.approx(0.7, abs=1e-12)


def test_no_normal_force_no_friction():
    for surface in SETS.values():
        assert not projected(surface, 0.0, (1.0, 2.0, 3.0))[0].any()


def test_corners_of_a_cube():
    cube = ss.Polyhedron(np.vstack([np.eye(3), -np.eye(3)]))
    assert cube.radius == pytest.approx(math.sqrt(3), abs=1e-14)
    np.testing.assert_allclose(projected(cube, 2.0, (3.0, -1.0, 5.0))[0], (2.0, -1.0, 2.0), atol=1e-14)


@pytest.mark.parametrize("zeta", [2.0, 1.0, 0.5, 0.0])
def test_determinant_of_the_first_jacobian(zeta):
    assert np.linalg.det(jacobian_1(1.5, zeta)) == pytest.approx(-zeta, abs=1e-14)


def test_the_jacobians_of_the_paper():
    """With the row that the print lost, columns n, t, o, r by contact."""
    eta, zeta, gamma, delta = 1.3, 1.7, 1.2, 0.4
    order = by_component(np.arange(8.0)).astype(int)
    first = [
        [-1, 0, 0, 0, 0, -1, 0, 0],
        [0, 0, 1, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, -1, 0, 0, 0],
        [0, 0, 1 - zeta, 1, 1 - eta, 0, -1, 0],
        [1 - zeta, 0, 0, 0, 1, 1, 0, 0],
        [eta - 1, 0, 1, 0, 0, 0, 0, 1],
        [1, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0],
    ]
    np.testing.assert_allclose(jacobian_1(eta, zeta)[:, order], first, atol=1e-15)
    order = by_component(np.arange(12.0)).astype(int)
    second = [
        [-1, 0, 0, 0, 0, 0, 0, -1, 1, 0, 0, 0],
        [0, 0, -1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, -1, -1, 0, 0, 0, 0, 0],
        [0, -1, gamma - 1, 1 - zeta, 1, -1, 1 - eta, 0, 0, -1, 0, 0],
        [1 - zeta, 1, 0, 0, 0, 1 - delta, 1, 1, gamma - 1, 0, 0, -1],
        [eta - 1, 0, delta - 1, 1, -1, 0, 0, -1, -1, 0, 1, 0],
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
    ]
    np.testing.assert_allclose(jacobian_2(eta, zeta, gamma, delta)[:, order], second, atol=1e-15)


def test_residual_of_printed_table_1():
    """Solution 2 as printed, in the reading that its numbers have, and not by maximum work."""
    printed = [5.6399, 4.1562, 1.7016, -0.8763, 2.2585, -0.6783, -4.8224, -2.9756, 1.3717, 2.6394, -0.3840, -0.1196]
    c = np.reshape(printed, (4, 3)).T.ravel()
    assert ss.residual(table_1().problem, c / np.tile((1.0, 1.0, 1.0, 2.0), 3)) < 5e-5
    assert ss.residual(example_2().problem, c) > 0.1


@pytest.mark.parametrize("name", SETS)
def test_residual_is_zero_where_friction_works_most(name):
    """One contact pressed down and pulled aside: c_n = 1 against b_n = -1, slip along τ, s where B reaches furthest."""
    tau = np.array([0.3, -0.5, 0.2])
    s, _ = projected(SETS[name], 0.4, -1e7 * tau)  # the nearest point to far away is the furthest one
    problem = ss.LimitSurfaceProblem(
        np.eye(4), [-1.0, *(tau - s)], [0.4], np.ones((1, 3)), surface=SETS[name]
    )  # y = x + q = (0, τ)
    assert ss.residual(problem, [1.0, *s]) < 1e-7
    assert ss.residual(problem, [1.0, *(0.9 * s)]) > 1e-3
    assert ss.residual(problem, [1.1, *s]) > 1e-3


def test_friction_in_a_component_of_size_zero_is_an_error():
    problem = ss.LimitSurfaceProblem(np.eye(4), [-1.0, 0, 0, 0], [0.4], [[1.0, 1.0, 0.0]])
    assert ss.residual(problem, [1.0, 0, 0, 0]) == 0.0
    assert ss.residual(problem, [1.0, 0, 0, 0.1]) > 0.05


def test_of_a_given_slip_only_the_direction_matters():
    slip = np.array([[0.3, -0.4, 1.2]])
    for length in (1e-9, 1.0, 1e6):
        problem = ss.LimitSurfaceProblem(np.eye(4), [-1.0, 0, 0, 0], [0.5], [[1.0, 1.0, 2.0]], slip=length * slip)
        c = ss.solve(problem, tol=1e-12).require().x
        work = np.array([1.0, 1.0, 4.0]) * slip[0]  # e² σ
        np.testing.assert_allclose(c, [1.0, *(-0.5 * work / np.linalg.norm([0.3, -0.4, 2.4]))], atol=1e-12)


def test_not_finite_is_never_small():
    problem = example_1((0.1, 0.1)).problem
    for bad in (np.nan, np.inf, -np.inf):
        assert ss.residual(problem, np.full(8, bad)) == np.inf


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": np.zeros(7)}, "b has shape"),
        ({"mu": [0.1]}, "expected 4 components a contact"),
        ({"mu": [0.1, -0.1]}, r"mu\[1\] is -0.1"),
        ({"e": np.ones((2, 2))}, "e has shape"),
        ({"e": -np.ones((2, 3))}, r"e\[0, 0\] is -1"),
        ({"slip": np.full((2, 3), np.nan)}, r"slip\[0, 0\] is nan"),
        ({"state": np.zeros((2, 4))}, "state has shape"),
        ({"surface": "round"}, "surface is 'round'"),
    ],
)
def test_bad_problems(change, words):
    given = {"A": np.eye(8), "b": np.zeros(8), "mu": [0.1, 0.2], "e": np.ones((2, 3))}
    with pytest.raises(ss.InputError, match=words):
        ss.LimitSurfaceProblem(**(given | change))


def not_convex(t, o, r, speed, x, y, z, time):
    value = (math.sqrt(abs(t)) + math.sqrt(abs(o)) + math.sqrt(abs(r))) ** 2
    root = math.sqrt(value)
    slopes = [root / math.sqrt(abs(s)) * math.copysign(1.0, s) if s != 0.0 else 0.0 for s in (t, o, r)]
    return value, slopes[0], slopes[1], slopes[2]


def not_homogeneous(t, o, r, speed, x, y, z, time):
    return t * t + o * o + r * r, 2 * t, 2 * o, 2 * r


def wrong_slope(t, o, r, speed, x, y, z, time):
    value = math.sqrt(t * t + o * o + r * r)
    return value, t, o, r


def negative(t, o, r, speed, x, y, z, time):
    return -1.0, 0.0, 0.0, 0.0


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (not_convex, "expected a convex function"),
        (not_homogeneous, r"expected f\(k s\) = k f\(s\)"),
        (wrong_slope, "slope"),
        (negative, "expected a positive finite number"),
        (0.5, "expected a function"),
    ],
)
def test_functions_that_are_no_gauge(f, words):
    with pytest.raises(ss.InputError, match=words):
        ss.FrictionMap(f)


def test_an_open_polyhedron_is_refused():
    with pytest.raises(ss.InputError, match="unbounded"):
        ss.Polyhedron(np.vstack([np.eye(3), [-1.0, 0.0, 0.0]]))
    assert len(POLYHEDRON.vertices) >= 4


def falling(t, o, r, speed, x, y, z, time):
    mu = 0.5 + 0.5 * math.exp(-speed)
    value = math.sqrt(t * t + o * o + r * r)
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return value / mu, t / (mu * value), o / (mu * value), r / (mu * value)


@pytest.mark.parametrize("speed", [0.0, 2.0])
def test_friction_may_depend_on_speed(speed):
    """Pressed with 1 and pulled with 9: friction is all of μ(speed)."""
    state = [[speed, 0.0, 0.0, 0.0, 0.0]]
    problem = ss.LimitSurfaceProblem(
        np.eye(4), [-1.0, 9.0, 0, 0], [1.0], np.ones((1, 3)), surface=ss.FrictionMap(falling), state=state
    )
    c = ss.solve(problem, tol=1e-12).require().x
    np.testing.assert_allclose(c, [1.0, -(0.5 + 0.5 * math.exp(-speed)), 0.0, 0.0], atol=1e-11)
