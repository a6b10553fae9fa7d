"""Solutions of contact with friction: the arm of Peiret 2019, closed forms, and every mode tried by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.solvability import acceleration_problem, is_class_p, solvability, solvability_at
from stickslip.dynamics.mechanisms import arm_on_the_plane, rod_on_its_foot

pytestmark = pytest.mark.core

SLIDING_ARM = arm_on_the_plane(0.34, np.radians(101.75))
ARM_VELOCITY = [0.572823613326, 2.05620866219, 0.0, 1.0]  # of ẋ = -1, θ̇₃ = 0, φ̇ = 1
TORQUE = [-5.0, 0.0, 0.0, 0.0]
# δu₀ as printed (the bias lacks its φ̇ terms) and complete; normal first
PRINTED = {None: [-9.76644822, 1.0, -0.01689193], "torque": [3.22279191, 1.0, 1.26212703]}
COMPLETE = {None: [-9.78089272, 0.35661546, 0.21136206], "torque": [3.20834740, 0.35661546, 1.49038102]}


def arm_as_printed(density=1.0):
    """The arm with the bias that the numbers of the paper were made with: without the terms of φ̇."""
    arm = ss.arm(density=density)
    return replace(arm, bias=lambda q, v: arm.bias(q, v * [1.0, 1.0, 1.0, 0.0]))


@pytest.mark.parametrize(("system", "free"), [(arm_as_printed(), PRINTED), (ss.arm(density=1.0), COMPLETE)])
def test_equations_46_to_49(system, free):
    jammed = solvability_at(system, SLIDING_ARM, ARM_VELOCITY)
    np.testing.assert_allclose(jammed.problem.q, free[None], atol=1e-7)
    assert jammed.count == 0
    assert jammed.solutions == ()
    assert jammed.certificate.by == "theorem"
    pulled = solvability_at(system, SLIDING_ARM, ARM_VELOCITY, TORQUE)
    np.testing.assert_allclose(pulled.problem.q, free["torque"], atol=1e-7)
    opens, held = pulled.solutions
    assert (opens.modes, held.modes) == (("open",), ("slide",))
    np.testing.assert_array_equal(opens.force, 0.0)
    np.testing.assert_allclose(opens.acceleration, free["torque"], atol=1e-7)
    expected = 10.33748512 if free is PRINTED else 10.29115268
    np.testing.assert_allclose(held.normal, expected, atol=1e-7)
    np.testing.assert_allclose(held.acceleration[0], 0.0, atol=1e-12)
    column = (held.acceleration - opens.acceleration) / held.normal
    np.testing.assert_allclose(column, [-0.31175783, 0.12649747, 8.31632819], atol=1e-7)
    assert pulled.choose("painleve") is opens
    assert pulled.choose("dissipation") is held


def test_with_the_density_of_the_caption_the_torque_is_too_small():
    """ρ = 2 kg/m: the load still closes the contact, and there is no solution."""
    found = solvability_at(arm_as_printed(density=2.0), SLIDING_ARM, ARM_VELOCITY, TORQUE)
    assert found.count == 0
    np.testing.assert_allclose(found.problem.q[0], -3.27182816, atol=1e-7)


@pytest.mark.parametrize(("mu", "gravity", "count"), [(1.0, 9.81, 1), (1.0, -9.81, 1), (2.0, 9.81, 0), (2.0, -9.81, 2)])
def test_the_cases_of_a_rod_at_45_degrees(mu, gravity, count):
    """Figure 4 of the paper: μ_jam = 5/3. In closed form s = (5 - 3 μ) / 2m and λ_n = m g / (5/2 - 3/2 μ)."""
    found = solvability_at(ss.rod(friction=mu, gravity=gravity), rod_on_its_foot(np.pi / 4), [-1.0, 0, 0, 0, 0])
    assert found.count == len(found.solutions) == count
    for solution in found.solutions:
        expected = 0.0 if solution.modes == ("open",) else gravity / (2.5 - 1.5 * mu)
        np.testing.assert_allclose(solution.normal, expected, rtol=1e-12)
    chosen = found.choose("painleve")
    assert (None if chosen is None else chosen.modes) == (("open",) if gravity < 0 else ("slide",) if count else None)


@pytest.mark.parametrize(
    ("slope", "load", "count"),
    [(1, 1, 1), (1, -1, 1), (-1, 1, 2), (-1, -1, 0), (-1, 0, 1), (0, 1, 1), (0, -1, 0), (0, 0, np.inf)],
)
def test_every_case_of_one_unknown(slope, load, count):
    """W = [[1, 1], [1, 2]] and e = 1: the slope is 1 - μ."""
    problem = ss.ConeProblem([[1.0, 1.0], [1.0, 2.0]], [load, 0.5], [1.0 - slope])
    found = solvability(problem, [[3.0]])
    assert found.count == count
    for solution in found.solutions:
        np.testing.assert_allclose(problem.value(solution.force), solution.acceleration, atol=1e-12)
        assert solution.normal[0] * solution.acceleration[0] == 0
    assert f"{'infinitely many' if count == np.inf else ['no', 'one', 'two'][int(count)]} solution" in found.describe()


def modes_by_hand(problem):
    """Of a planar problem at rest, each mode of each contact tried: open, stick, slide forwards, slide backwards."""
    W, q, mu, found = problem.W, problem.q, problem.mu, []
    n = problem.contacts
    for modes in product(["open", "stick", 1.0, -1.0], repeat=n):
        matrix, right = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
        for i, mode in enumerate(modes):
            if mode == "open":
                matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = np.eye(2)
                continue
            matrix[2 * i], right[2 * i] = W[2 * i], -q[2 * i]
            if mode == "stick":
                matrix[2 * i + 1], right[2 * i + 1] = W[2 * i + 1], -q[2 * i + 1]
            else:
                matrix[2 * i + 1, 2 * i : 2 * i + 2] = mode * mu[i], 1.0
        force = np.linalg.solve(matrix, right)
        u = W @ force + q
        good = all(
            u[2 * i] > 0
            if mode == "open"
            else force[2 * i] > 0 and abs(force[2 * i + 1]) < mu[i] * force[2 * i]
            if mode == "stick"
            else force[2 * i] > 0 and mode * u[2 * i + 1] > 0
            for i, mode in enumerate(modes)
        )
        if good:
            found.append((tuple(m if isinstance(m, str) else "slide" for m in modes), force))
    return found


@pytest.mark.parametrize("contacts", [1, 2, 3])
def test_contacts_at_rest_agree_with_every_mode_tried_by_hand(contacts):
    rng = np.random.default_rng(contacts)
    counts = set()
    for _ in range(25):
        root = rng.normal(size=(2 * contacts, 2 * contacts))
        problem = ss.ConeProblem(root @ root.T, rng.normal(size=2 * contacts), rng.uniform(0.2, 8.0, contacts))
        found, expected = solvability(problem), modes_by_hand(problem)
        assert found.count == len(expected)
        counts.add(found.count)
        for modes, force in expected:
            match = [s for s in found.solutions if s.modes == modes and np.allclose(s.force, force, atol=1e-7)]
            assert len(match) == 1
        assert found.certificate.complete
    assert len(counts) > 1  # some problems have several solutions


def test_three_solutions_of_one_contact_at_rest():
    """Open as q_n = 1; stick with λ = (2, -3); slide with λ_n = -q_n / (1 - μ) = 1, as u̇_t = 4 - 3 is forwards."""
    W = np.array([[1.0, 1.0], [1.0, 2.0]])
    problem = ss.ConeProblem(W, -W @ [2.0, -3.0], [2.0])
    found = solvability(problem)
    assert [s.modes for s in found.solutions] == [("open",), ("slide",), ("stick",)]
    np.testing.assert_allclose(found.solutions[1].force, [1.0, -2.0], atol=1e-9)
    np.testing.assert_allclose(found.solutions[2].force, [2.0, -3.0], atol=1e-9)
    assert found.choose("painleve").modes == ("open",)


def test_sliding_contacts_with_little_friction_have_one_solution_by_theorem():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 9))
    problem = ss.ConeProblem(root @ root.T, rng.normal(size=6), np.full(3, 1e-3))
    found = solvability(problem, rng.normal(size=(3, 1)))
    assert found.certificate.by == "theorem"
    assert len(found.solutions) == 1


def test_class_p():
    assert is_class_p(np.array([[1.0, 5.0], [0.0, 1.0]]))  # not positive definite
    assert not is_class_p(np.array([[1.0, 2.0], [1.0, 1.0]]))
    assert not is_class_p(np.zeros((1, 1)))


def test_a_box_on_two_corners_has_a_line_of_friction_forces():
    """In the plane at rest: the loads are determined, and the corners may push against each other along the floor."""
    rows = [[[0, 1, -0.5], [1, 0, 0.5]], [[0, 1, 0.5], [1, 0, 0.5]]]
    corners = tuple(ss.ContactPoint(lambda q: q[1] - 0.5, lambda q, A=A: A, friction=0.5) for A in rows)
    box = ss.GeneralizedSystem(3, lambda q: np.diag([1, 1, 1 / 6]), lambda q, v: [0.0, 9.81, 0.0], corners, name="box")
    found = solvability_at(box, [0.0, 0.5, 0.0])
    (rest,) = found.solutions
    assert found.count == np.inf
    assert rest.modes == ("stick", "stick")
    np.testing.assert_allclose(rest.normal, 9.81 / 2, rtol=1e-9)
    np.testing.assert_allclose(np.abs(rest.freedom.ravel()), np.array([0, 1, 0, 1]) / np.sqrt(2), atol=1e-9)
    problem, slip = acceleration_problem(box, [0.0, 0.5, 0.0], [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(slip, [[2.0], [2.0]])
    slides = solvability(problem, slip)
    assert slides.solutions[0].modes == ("slide", "slide")
    np.testing.assert_allclose(slides.solutions[0].normal, 9.81 / 2 + np.array([-1, 1]) * 9.81 * 0.25, rtol=1e-9)


def test_a_rod_held_upright_by_a_constraint_does_not_jam():
    """θ held: no coupling between tangent and normal, so λ_n = m g whatever μ is."""
    rod = replace(ss.planar_rod(friction=5.0), constraint=ss.Constraint(lambda q: [[0.0, 0.0, 1.0]]))
    found = solvability_at(rod, [0.0, 0.5 * np.sin(1.0), 1.0], [-1.0, 0.0, 0.0])
    np.testing.assert_allclose(found.solutions[0].normal, 9.81, rtol=1e-12)


def test_bad_input():
    problem = ss.ConeProblem(np.eye(3), np.zeros(3), [0.5])
    with pytest.raises(ss.InputError, match="the problem is 3, expected a ConeProblem"):
        solvability(3)
    with pytest.raises(ss.InputError, match=r"slip has shape \(1, 3\), expected \(1, 2\)"):
        solvability(problem, [[1.0, 0.0, 0.0]])
    with pytest.raises(ss.InputError, match=r"slip\[0, 1\] is nan"):
        solvability(problem, [[1.0, np.nan]])
    with pytest.raises(ss.InputError, match="rule is 'best', expected 'painleve' or 'dissipation'"):
        solvability(problem).choose("best")
    two = ss.ConeProblem(np.eye(4), np.ones(4), [0.5, 0.5])
    with pytest.raises(ss.InputError, match="has 2 contacts, expected one"):
        solvability(two).choose("painleve")
    rod, q = ss.planar_rod(), np.array([0.0, 0.5 * np.sin(1.0), 1.0])
    with pytest.raises(ss.InputError, match="no contact touches"):
        solvability_at(rod, q + np.array([0.0, 0.1, 0.0]))
    with pytest.raises(ss.InputError, match=r"gap of contact 'foot' is -0\.1, expected one that just touches"):
        solvability_at(rod, q - [0.0, 0.1, 0.0])
    with pytest.raises(ss.InputError, match="contact 'foot' approaches with 1 m/s"):
        solvability_at(rod, q, [0.0, -1.0, 0.0])
    indefinite = replace(rod, mass=lambda q: np.diag([1.0, 1.0, -2.0]))
    with pytest.raises(ss.InputError, match="M has the eigenvalue -2, expected a positive definite matrix"):
        solvability_at(indefinite, q)
    with pytest.raises(ss.InputError, match=r"force\[0\] is nan, expected a finite number"):
        solvability_at(rod, q, force=[np.nan, 0.0, 0.0])
