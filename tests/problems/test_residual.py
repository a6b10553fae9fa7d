"""Residuals against values by hand, against the formulas written out in NumPy, and against NaN."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import judge, length, project_cone, residual, unit_free_residual

pytestmark = pytest.mark.core

NAN, INF = math.nan, math.inf


def plain_projection(mu, x):
    normal, tangent = x[0], x[1:]
    slip = np.linalg.norm(tangent)
    if mu * slip <= -normal:
        return np.zeros_like(x)
    if slip <= mu * normal:
        return x
    new_normal = (mu * slip + normal) / (1 + mu**2)
    return np.concatenate([[new_normal], mu * new_normal * tangent / slip])


def plain_cone_residual(problem, r):
    d, W = problem.dimension, np.asarray(problem.W)
    u = W @ r + problem.q
    F = np.empty_like(r)
    for k, mu in enumerate(problem.mu):
        part = slice(d * k, d * k + d)
        shifted = u[part].copy()
        shifted[0] += mu * np.linalg.norm(u[part][1:])
        F[part] = r[part] - plain_projection(mu, r[part] - shifted)
    scale = max(np.linalg.norm(problem.q), np.linalg.norm(r), np.linalg.norm(u))
    return np.linalg.norm(F) / scale if scale > np.finfo(float).eps else np.linalg.norm(F)


def random_cone(rng, contacts, d):
    n = d * contacts
    A = rng.normal(size=(n, max(n - 2, 1)))
    return ConeProblem(A @ A.T, rng.normal(size=n), rng.choice([0.0, 0.3, 1.0, 5.0], size=contacts))


def test_lcp_by_hand():
    problem = LCP([[2, 1], [1, 2]], [-5, -6])
    assert residual(problem, [1, 0]) == pytest.approx(math.sqrt(34 / 61))  # w = (-3, -5)
    assert residual(problem, [0, 0]) == 1.0
    assert residual(problem, [4 / 3, 7 / 3]) <= 1e-15
    assert residual(problem, [-1, 20]) == pytest.approx(math.sqrt(401 / 61))  # w = (13, 33), so z itself


def test_mixed_by_hand():
    conic = MixedLCP(np.eye(3), [-3, 0, 4], [-INF, 0, -INF], [INF, INF, 0])
    # w = (-2, 2, 5); the free row gives w, the second min(z, w) = 2, the third max(z, w) = 5
    assert residual(conic, [1, 2, 1]) == pytest.approx(math.sqrt(4 + 4 + 25) / 5)
    box = MixedLCP([[1.0]], [1.5], [-1], [1])
    assert residual(box, [0.5]) == pytest.approx(1.5 / 2.5)  # w = 2 takes 0.5 to the bound -1
    assert residual(box, [-1]) == 0.0  # w = 0.5 pushes outwards
    fixed = MixedLCP([[1.0]], [7.0], [2], [2])
    assert residual(fixed, [2]) == 0.0
    assert residual(fixed, [5]) == pytest.approx(3 / 8)


def test_cone_by_hand():
    slope = ConeProblem(np.eye(3) / 2, [-3, -4, 0], [0.5])  # m = 2: stops at mu >= 4/3, slips here
    assert residual(slope, [6, 3, 0]) <= 1e-15  # u = (0, -2.5, 0), friction mu r_n against the slip
    assert residual(slope, [0, 0, 0]) == pytest.approx(
        np.linalg.norm(plain_projection(0.5, np.array([1.0, 4.0, 0.0]))) / 5
    )
    planar = ConeProblem(np.eye(2) / 2, [-3, -4], [2])
    assert residual(planar, [6, 8]) == 0.0  # sticks


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_cone_residual_is_the_formula_written_out(d, seed):
    rng = np.random.default_rng(seed)
    problem = random_cone(rng, 1 + seed % 5, d)
    for scale in (1e-3, 1.0, 1e3):
        r = scale * rng.normal(size=problem.size)
        assert residual(problem, r) == pytest.approx(plain_cone_residual(problem, r), rel=1e-12)


@settings(max_examples=300, deadline=None)
@given(mu=st.floats(0, 10), y=st.tuples(*[st.floats(-1e6, 1e6)] * 3))
def test_projection_is_the_nearest_point_of_the_cone(mu, y):
    y = np.array(y)
    p = np.array(project_cone(mu, *y))
    slack = 1e-9 * (1 + np.linalg.norm(y))
    assert np.linalg.norm(p[1:]) <= mu * p[0] + slack  # in K
    gap = y - p
    assert mu * np.linalg.norm(gap[1:]) <= -gap[0] + (1 + mu) * slack  # y - p in the polar cone
    assert abs(gap @ p) <= slack * (1 + np.linalg.norm(y))  # and orthogonal to p


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 1000),
    bad=st.sampled_from([NAN, INF, -INF]),
    where=st.integers(0, 5),
    in_y=st.booleans(),
    second=st.sampled_from([0.0, NAN, INF, -INF]),
)
def test_nan_and_inf_never_read_as_small(seed, bad, where, in_y, second):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(6, 6))
    problems = (
        LCP(M, rng.normal(size=6)),
        MixedLCP(M, rng.normal(size=6), [-INF, 0, -1, 2, -INF, 0], [INF, INF, 1, 2, 0, INF]),
        ConeProblem(M, rng.normal(size=6), [0.0, 0.7]),
        ConeProblem(M, rng.normal(size=6), [0.0, 0.7, 2.0]),
    )
    for problem in problems:
        x = np.abs(rng.normal(size=6)) * rng.integers(0, 2)
        y = problem.value(x)
        broken = y if in_y else x
        broken[where], broken[(where + 1) % 6] = bad, second if second else broken[(where + 1) % 6]
        assert residual(problem, x, y) == INF
        if not in_y:
            assert residual(problem, x) == INF
            if isinstance(problem, ConeProblem):
                assert unit_free_residual(problem, x) == INF


def test_a_nan_beside_an_inf_is_seen():
    problem = ConeProblem(np.eye(3), np.zeros(3), [0.5])
    assert residual(problem, np.zeros(3), np.array([1.0, NAN, INF])) == INF


def test_an_overflowing_distance_is_infinite():
    huge = np.full(2, 1.7e308)
    assert residual(LCP(np.eye(2), [1, 1]), huge) == INF
    assert residual(MixedLCP(np.eye(2), [1, 1], [0, 0], [INF, INF]), huge) == INF


def test_without_a_scale_nothing_is_divided():
    assert residual(LCP(np.eye(2), [0, 0]), [3, 4]) == 5.0
    assert residual(LCP(np.eye(2), [0, 0]), [0, 0]) == 0.0
    assert residual(MixedLCP(np.eye(1), [0], [-INF], [INF]), [3]) == 3.0
    assert residual(MixedLCP(np.eye(1), [0], [-1], [1]), [0.5]) == 0.5
    cone = ConeProblem(np.eye(3), np.zeros(3), [0.5])
    assert residual(cone, np.zeros(3)) == unit_free_residual(cone, np.zeros(3)) == 0.0
    tiny = [-1e-17, 0.0, 0.0]
    assert residual(cone, tiny) == 1e-17


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_unit_free_residual_does_not_depend_on_units(d, seed):
    rng = np.random.default_rng(seed)
    problem, r = random_cone(rng, 4, d), rng.normal(size=4 * d)
    expected = unit_free_residual(problem, r)
    for force, speed in ((2.0**40, 2.0**-30), (2.0**-60, 2.0**-60), (2.0**-20, 2.0**50)):  # exact in binary
        changed = ConeProblem(problem.W * (speed / force), problem.q * speed, problem.mu)
        assert unit_free_residual(changed, force * r) == expected
    changed = ConeProblem(problem.W * (1e-3 / 7), problem.q * 1e-3, problem.mu)
    assert unit_free_residual(changed, 7 * r) == pytest.approx(expected, rel=1e-12)


def test_the_unit_free_residual_is_the_plain_one_where_each_trace_is_d():
    rng = np.random.default_rng(3)
    W = rng.normal(size=(6, 6))
    np.fill_diagonal(W, 1.0)
    problem, r = ConeProblem(W, rng.normal(size=6), [0.5, 0.2]), rng.normal(size=6)
    assert unit_free_residual(problem, r) == residual(problem, r)


def test_sparse_and_dense_agree():
    from scipy import sparse

    rng = np.random.default_rng(4)
    dense = random_cone(rng, 5, 3)
    thin = ConeProblem(sparse.csr_array(dense.W), dense.q, dense.mu)
    r = rng.normal(size=15)
    assert residual(thin, r) == pytest.approx(residual(dense, r), rel=1e-13)
    assert unit_free_residual(thin, r) == pytest.approx(unit_free_residual(dense, r), rel=1e-13)


def test_length_neither_overflows_nor_underflows():
    for size in (5e-324, 1e-310, 1e-200, 1.0, 1e200, 1e307):
        assert length(np.array([3 * size, 0.0, 4 * size])) == pytest.approx(5 * size, rel=1e-9)
    assert length(np.zeros(3)) == length(np.zeros(0)) == 0.0
    assert math.isnan(length(np.array([1.0, NAN, 2.0])))
    assert length(np.array([1.0, -INF])) == INF


def test_points_are_taken_as_any_array_of_the_right_shape():
    problem = LCP([[2, 1], [1, 2]], [-5, -6])
    point = [1, 0]
    strided = np.zeros(4)
    strided[::2] = point
    assert residual(problem, point) == residual(problem, np.array(point)) == residual(problem, strided[::2])
    for wrong in ([1], [1, 2, 3], [[1, 2]]):
        with pytest.raises(InputError, match=r"^residual: x has shape .*, expected \(2,\)$"):
            residual(problem, wrong)
    with pytest.raises(
        InputError, match=r"^residual: the problem is 'problem', expected an LCP, .* or LimitSurfaceProblem$"
    ):
        residual("problem", point)


@pytest.mark.core
def test_a_scale_that_overflows_does_not_make_the_residual_small():
    huge = np.full(4, 1e308)
    assert residual(LCP(np.eye(4), -huge), np.zeros(4)) == np.inf
    assert residual(MixedLCP(np.eye(4), -huge, np.zeros(4), np.full(4, np.inf)), np.zeros(4)) == np.inf


@pytest.mark.core
@pytest.mark.parametrize("unit", [2.0**-900, 2.0**-300, 2.0**300, 2.0**900])
@pytest.mark.parametrize("d", [2, 3])
def test_the_residual_of_a_cone_problem_neither_overflows_nor_underflows(unit, d):
    """Impulses and velocities in other units: the same residual."""
    rng = np.random.default_rng(d)
    W, q, r = np.eye(6 * d), rng.standard_normal(6 * d), rng.standard_normal(6 * d)
    mu = np.array([0.0, 0.1, 0.3, 0.5, 1.0, 1000.0])
    one, other = ConeProblem(W, q, mu), ConeProblem(W, unit * q, mu)
    assert unit_free_residual(other, unit * r) == pytest.approx(unit_free_residual(one, r), rel=1e-14)
    expected = residual(one, r)
    if unit < 1.0:  # too small a scale is not divided by
        expected *= unit * max(length(q), length(r), length(W @ r + q))
    assert residual(other, unit * r) == pytest.approx(expected, rel=1e-14, abs=0.0)


def closing_walls(kind, unit=1.0):
    """A body between two walls that come closer, W in units of `unit`: no velocity opens both contacts."""
    W = unit * np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(3))
    return kind(W, [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0], [0.5, 0.5])


@pytest.mark.parametrize("kind", [ConeProblem, CylinderProblem])
@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_huge_impulses_do_not_make_a_solution(kind, unit):
    """Both contacts close with velocity 1 whatever equal impulses do: the residual is √2 / |r|."""
    problem = closing_walls(kind, unit)
    r = 2.0**28 * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    u, error, solved = judge(problem, r, 1e-8)
    np.testing.assert_array_equal(u, problem.q)
    assert error == pytest.approx(math.sqrt(2) / length(r))
    assert error <= 1e-8
    assert not solved


@pytest.mark.parametrize("kind", [ConeProblem, CylinderProblem])
@pytest.mark.parametrize("size", [1e8, 1e16, 1e18, 1e300])
def test_nor_do_impulses_beside_which_velocities_vanish(kind, size):
    """r - u is r to rounding, so that the residual is zero."""
    problem = kind(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])  # u = q whatever r is
    _, error, solved = judge(problem, np.array([size, 0.0, 0.0]), 1e-7)
    assert error <= 1e-8
    assert not solved


@pytest.mark.parametrize("mass", [1e-12, 1e-4, 1.0, 1e4, 1e12])
@pytest.mark.parametrize("kind", [ConeProblem, CylinderProblem])
def test_a_solution_is_believed_whatever_its_mass(kind, mass):
    """A resting block of that mass: r = m (1, 0, 0) is exact. With a thousandth less the velocity is off by 1e-3."""
    problem, r = kind(np.eye(3) / mass, [-1.0, 0.0, 0.0], [0.5]), np.array([mass, 0.0, 0.0])
    assert judge(problem, r, 1e-14)[2]
    assert judge(problem, (1 - 1e-3) * r, 1e-2)[2]
    assert not judge(problem, (1 - 1e-3) * r, 1e-7)[2]


def test_linear_problems_are_judged_by_their_residual():
    problem = LCP([[2, 1], [1, 2]], [-5, -6])
    w, error, solved = judge(problem, np.array([1.0, 0.0]), 1.0)
    np.testing.assert_array_equal(w, [-3, -5])
    assert (error, solved) == (pytest.approx(math.sqrt(34 / 61)), True)
    assert not judge(problem, np.array([1.0, 0.0]), 0.1)[2]


def test_velocities_of_a_wrong_shape_are_refused():
    problem = closing_walls(ConeProblem)
    with pytest.raises(InputError, match=r"^ConeProblem: r has shape \(5,\), expected \(6,\)$"):
        problem.value(np.zeros(5))
