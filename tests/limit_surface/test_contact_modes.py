"""Several solutions of one problem: jamming and sliding of the cube between two rods."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problems.rod_and_cube import by_component, example_1, example_2, table_1, table_1_forces

# q̈ of the sliding solution: (is the diagonal M⁻¹?, μ)
SLIDING = {
    (False, 0.75): (
        (-0.26405663, -0.07310909, -0.07546799, -0.16646693, -0.09099894, -0.02024875, -0.29943172, -0.17994981)
    ),
    (False, 0.8): (
        (-0.14163724, -0.03525989, -0.02603734, -0.07899764, -0.05296030, -0.00847786, -0.16387846, -0.08133158)
    ),
    (True, 0.75): (
        (-0.92005915, -0.23893599, -0.16756737, -0.53005127, -0.36248389, -0.05217928, -1.07521145, -0.54257080)
    ),
    (True, 0.8): (
        (-0.40395975, -0.09821266, -0.06317017, -0.21497343, -0.15180326, -0.01854811, -0.47058733, -0.21836411)
    ),
}


@pytest.mark.parametrize("reading", SLIDING, ids=str)
def test_jamming_and_sliding_coexist(reading):
    inverse, mu = reading
    cube = example_2(mu, inverse)
    jammed, sliding = ss.all_solutions(cube.problem)
    assert jammed.modes == ("stick", "stick", "stick")
    assert jammed.dimension == 4
    np.testing.assert_allclose(cube.acceleration(jammed.c), 0.0, atol=1e-11)
    assert sliding.modes == ("slip", "slip", "slip")
    assert sliding.dimension == 0
    np.testing.assert_allclose(cube.acceleration(sliding.c), SLIDING[reading], atol=1e-8)


def test_table_1_as_printed():
    """In the reading its numbers have: jamming with forces that are a family, and one sliding solution."""
    cube = table_1()
    jammed, sliding = ss.search_modes(cube.problem)
    assert (jammed.dimension, sliding.dimension) == (4, 0)
    c = by_component(table_1_forces(sliding.c))
    printed = [5.6399, 4.1562, 1.7016, -0.8763, 2.2585, -0.6783, -4.8224, -2.9756, 1.3717, 2.6394, -0.3840, -0.1196]
    np.testing.assert_allclose(c, printed, atol=5e-5)
    a = cube.J.T @ cube.acceleration(table_1_forces(sliding.c))
    tangential = [0.0815, -0.9582, 0.7526, 0.4483, 1.2624, -1.5219, -0.2454, 0.1629, 0.1327]
    np.testing.assert_allclose(by_component(a)[3:], tangential, atol=5e-5)
    np.testing.assert_allclose(cube.acceleration(table_1_forces(sliding.c))[:3], [-1.2926, -0.3194, -0.3431], atol=5e-5)


def test_printed_jamming_forces_are_one_of_the_family():
    """Nearest to Solution 1 of Table 1: nothing moves, and all slacks are positive as printed."""
    cube = table_1()
    printed = [6, 4.2039, 3.9117, 1.5767, 2.3350, -1.6069, -4.1892, -2.9716, 3.0284, 3, -0.2292, 0.6971]
    c = np.reshape(printed, (4, 3)).T.ravel()
    c -= np.linalg.pinv(cube.J) @ (cube.J @ c + cube.F)
    np.testing.assert_allclose(by_component(c), printed, atol=1e-4)
    assert ss.residual(cube.problem, c / np.tile((1.0, 1.0, 1.0, 2.0), 3)) < 1e-14
    parts = c.reshape(3, 4)
    slack = (0.9 * parts[:, 0]) ** 2 - parts[:, 1] ** 2 - parts[:, 2] ** 2 - (parts[:, 3] / 2) ** 2
    np.testing.assert_allclose(slack, [6.87460, 0.01937, 0.51941], atol=1e-5)


def test_only_jamming_with_the_right_jacobian_at_the_printed_friction():
    found = ss.all_solutions(example_2(0.9).problem)
    assert [solution.modes for solution in found] == [("stick", "stick", "stick")]
    assert "27 contact modes" in found.searched
    assert "not a proof" in found.searched


def test_friction_from_which_it_jams():
    """By the conic program, and confirmed by solutions on both sides of it."""
    threshold, c = ss.jamming_factor(example_2(1.0).problem)
    assert threshold == pytest.approx(0.70368244, abs=5e-9)
    cube = example_2(threshold * (1 + 1e-9))
    np.testing.assert_allclose(cube.acceleration(c), 0.0, atol=1e-11)
    assert ss.residual(cube.problem, c) < 1e-12
    assert ("stick",) * 3 in {solution.modes for solution in ss.search_modes(example_2(0.7037).problem, starts=1)}
    assert ("stick",) * 3 not in {solution.modes for solution in ss.search_modes(example_2(0.7036).problem, starts=1)}


def test_jamming_does_not_depend_on_masses():
    one, other = (ss.jamming_factor(example_2(1.0, inverse).problem)[0] for inverse in (False, True))
    assert one == pytest.approx(other, abs=1e-8)


@pytest.mark.core
def test_a_unique_solution_is_found_once():
    problem = example_1((0.1, 0.1)).problem
    assert ss.existence(problem).verdict == "exists and unique"
    (only,) = ss.search_modes(problem, starts=3)
    np.testing.assert_allclose(only.c, ss.solve(problem, tol=1e-12).require().x, atol=1e-9)


@pytest.mark.core
def test_a_given_slip_leaves_open_or_slip():
    """A rod in the plane that slides and digs in has two solutions: open, or slip with a force (Painlevé)."""
    A = np.eye(4)
    A[0, 1] = A[1, 0] = 0.9
    problem = ss.LimitSurfaceProblem(A, [1.0, 0, 0, 0], [2.0], np.ones((1, 3)), slip=[[1.0, 0, 0]])
    opened, digging = sorted(ss.search_modes(problem, starts=2), key=lambda solution: solution.modes)
    assert opened.modes == ("open",)
    assert digging.modes == ("slip",)
    np.testing.assert_allclose(digging.c, [1.25, -2.5, 0, 0], atol=1e-12)  # 1 + (1 - 2 · 0.9) c_n = 0


def test_bad_input():
    with pytest.raises(ss.InputError, match="expected a LimitSurfaceProblem"):
        ss.search_modes(ss.LCP([[1.0]], [1.0]))
    with pytest.raises(ss.InputError, match="starts is 0"):
        ss.search_modes(example_1((0.1, 0.1)).problem, starts=0)
    with pytest.raises(ss.InputError, match="with friction"):
        ss.jamming_factor(example_1((0.0, 0.1)).problem)
