"""Ranges of contact forces: closed forms, and points drawn at random from the admissible set."""

import numpy as np
import pytest
from scipy.optimize import linprog

import stickslip as ss
from stickslip.analysis.determinacy import determinacy
from stickslip.problems.matrix import as_dense
from stickslip.problems.mechanical import GRAVITY, STEP, box_stack

H = 0.01
STIFFNESS = 1e6 * np.arange(1.0, 5.0)
FEET = np.array([[0.5, 0.4, -0.7], [-0.5, 0.4, -0.7], [-0.5, -0.4, -0.7], [0.5, -0.4, -0.7]])
MASS = np.diag([10.0, 10.0, 10.0, 1.0, 1.5, 2.0])
ROCKING = np.array([1.0, -1.0, 1.0, -1.0])  # loads of the four legs that balance each other


def table(load, at, mu):
    """The four-legged table of Preclik, Popa and Rüde with its weight and a load."""
    frame = np.eye(3)[[2, 0, 1]]
    columns = np.hstack([np.vstack([frame.T, np.cross(arm, frame).T]) for arm in FEET])
    force = np.concatenate([np.array(load) - [0.0, 0.0, 10.0 * GRAVITY], np.cross(at, load)])
    return ss.ContactProblem(H, MASS, H * force, np.zeros(6), columns, np.full(4, mu))


@pytest.mark.core
@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize(
    ("load", "at", "solution"),
    [
        ((0.0, 0.0, -20.0), (0.2, 0.1, 0.0), (32.775, 28.775, 26.275, 30.275)),
        ((0.0, 0.0, -300.0), (0.45, 0.15, 0.0), (191.25, 64.05, 0.0, 142.8)),
    ],
)
def test_the_legs_of_a_table(load, at, solution, mu):
    """All loads are solution + t (1, -1, 1, -1); t ends where a leg would have to pull."""
    found = determinacy(table(load, at, mu))
    solution = np.array(solution)
    t_low = -min(solution[0], solution[2])
    t_high = min(solution[1], solution[3])
    np.testing.assert_allclose(found.lower[::3], solution + ROCKING * [t_low, t_high, t_low, t_high], atol=1e-6)
    np.testing.assert_allclose(found.upper[::3], solution + ROCKING * [t_high, t_low, t_high, t_low], atol=1e-6)
    assert found.rank == 6
    assert found.loads_determined == 3
    assert not found.unique[::3].any()
    assert found.describe().startswith("4 contacts: only 3 combinations of the 4 loads are determined")


@pytest.mark.core
def test_weights_choose_the_forces_of_springs():
    inverse = np.repeat(1 / STIFFNESS, 3)
    lifted = determinacy(table((0.0, 0.0, -300.0), (0.45, 0.15, 0.0), 0.0), weights=inverse)
    np.testing.assert_allclose(lifted.least[::3], [191.25, 64.05, 0.0, 142.8], atol=1e-8)
    saturated = determinacy(table((15.0, 5.0, -20.0), (0.2, 0.1, 0.0), 0.5), weights=inverse)
    expected = [
        [28.2210641593, -2.1039386868, -0.2098905697],
        [37.7039358407, -4.2078773736, -2.0133393711],
        [6.8460641593, -2.8221223632, -1.9372077806],
        [45.3289358407, -5.8660615764, -0.8395622786],
    ]
    np.testing.assert_allclose(saturated.least, np.ravel(expected), atol=1e-8)


def test_three_legs_are_determined():
    frame = np.eye(3)[[2, 0, 1]]
    columns = np.hstack([np.vstack([frame.T, np.cross(arm, frame).T]) for arm in FEET[:3]])
    weight = H * np.array([0.0, 0.0, -98.1, -98.1 * 0.1, 98.1 * -0.2, 0.0])  # at (-0.2, 0.1)
    found = determinacy(ss.ContactProblem(H, MASS, weight, np.zeros(6), columns, np.zeros(3)))
    assert found.determined
    assert found.describe() == "3 contacts: every force is determined"
    np.testing.assert_allclose(found.lower[::3].sum(), 98.1, rtol=1e-9)


def test_a_stack_of_ten_boxes():
    """A face carries n boxes in its middle: any corner takes between nothing and half of their weight."""
    found = determinacy(box_stack(10))
    weight = np.repeat(STEP * GRAVITY * np.arange(10, 0, -1), 4)
    np.testing.assert_allclose(found.lower[::3], 0.0, atol=1e-8)
    np.testing.assert_allclose(found.upper[::3], weight / 2, atol=1e-8)
    np.testing.assert_allclose(found.least[::3], weight / 4, atol=1e-8)
    assert found.rank == 60
    assert found.loads_determined == 30
    assert found.describe().endswith("and 28 more")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "problem", [table((6.0, 2.0, -20.0), (0.2, 0.1, 0.0), 0.5), box_stack(4)], ids=["table", "stack"]
)
def test_no_admissible_force_is_outside_its_range(problem, seed):
    found = determinacy(problem)
    J, mu = as_dense(found.problem.H), problem.mu
    np.testing.assert_allclose(J @ found.null_space, 0.0, atol=1e-12)
    force, drawn = found.least, []
    rng = np.random.default_rng(seed)
    for _ in range(500):  # hit and run: a random line through the last point, a random point of it
        direction = found.null_space @ rng.normal(size=found.null_space.shape[1])
        low, high = (reach(force, sign * direction, mu) for sign in (-1.0, 1.0))
        force = force + rng.uniform(-low, high) * direction
        drawn.append(force)
    drawn = np.array(drawn)
    np.testing.assert_allclose(J @ drawn.T, np.outer(J @ found.least, np.ones(500)), atol=1e-9)
    slack = 1e-7 * np.abs(found.least).max()
    assert (drawn >= found.lower - slack).all()
    assert (drawn <= found.upper + slack).all()


def reach(force, direction, mu):
    """How far one can go before a contact leaves its cone: by bisection."""

    def inside(t):
        part = (force + t * direction).reshape(-1, 3)
        return (np.linalg.norm(part[:, 1:], axis=1) <= mu * part[:, 0]).all()

    low, high = 0.0, 1.0
    while inside(high):
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return low


def test_ranges_lie_between_those_of_pyramids_inside_and_outside_the_cones():
    """An independent way: linear programs over friction pyramids of 24 faces, in the forces themselves."""
    problem = table((6.0, 2.0, -20.0), (0.2, 0.1, 0.0), 0.5)
    found, faces = determinacy(problem), 24
    angle = 2 * np.pi * np.arange(faces) / faces
    outward = np.column_stack([np.cos(angle), np.sin(angle)])
    for radius, inside in ((np.cos(np.pi / faces), True), (1.0, False)):
        block = np.column_stack([np.full(faces, -0.5 * radius), outward])
        sides = np.kron(np.eye(4), block)
        for i in range(12):
            low, high = (
                sign
                * linprog(sign * np.eye(12)[i], sides, np.zeros(4 * faces), problem.H, -problem.f / H, (None, None)).fun
                for sign in (1.0, -1.0)
            )
            if inside:
                assert found.lower[i] <= low + 1e-6
                assert high - 1e-6 <= found.upper[i]
            else:
                assert low - 1e-6 <= found.lower[i]
                assert found.upper[i] <= high + 1e-6


@pytest.mark.core
def test_a_particle_held_between_two_walls():
    """In the plane, without weight: the walls may press on it, and friction does nothing then."""
    columns = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])  # normals +x and -x, tangents y
    held = determinacy(ss.ConeProblem.from_bodies(np.eye(2), columns, np.zeros(2), [0.5, 0.5]))
    np.testing.assert_array_equal(held.lower[::2], 0.0)
    assert (held.upper == np.inf).all()
    assert (held.lower[1::2] == -np.inf).all()
    assert "as hard as they like" in held.describe()
    carried = determinacy(
        ss.ConeProblem.from_bodies(np.eye(2), columns, np.array([0.0, -1.0]), [0.5, 0.5]), motion=[0, 0]
    )
    np.testing.assert_allclose(carried.lower[::2], 1.0, rtol=1e-9)  # 2 μ N >= 1


@pytest.mark.core
def test_corners_may_push_against_each_other_while_their_loads_are_determined():
    """A box of 1 kg on two corners in the plane, μ = 0.5: each carries half, and their friction may be ±½ of that."""
    columns = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [-0.5, 0.5, 0.5, 0.5]], float)  # rows x, z, θ
    found = determinacy(
        ss.ContactProblem(H, np.diag([1, 1, 1 / 6]), [0, -H * 10.0, 0], np.zeros(3), columns, [0.5, 0.5])
    )
    np.testing.assert_allclose(found.lower, [5.0, -2.5, 5.0, -2.5], atol=1e-8)
    np.testing.assert_allclose(found.upper, [5.0, 2.5, 5.0, 2.5], atol=1e-8)
    assert found.loads_determined == 2
    assert found.describe() == "2 contacts: every load is determined, 2 components along the contacts are not"


@pytest.mark.core
def test_what_slides_has_friction_on_its_cone():
    """A box of four corners slides: loads vary, and each tangent force is -μ times its load."""
    problem = box_stack(1, mu=0.2, tilt=0.5)
    found = determinacy(problem)
    np.testing.assert_allclose(found.lower[1::3], -0.2 * found.upper[::3], rtol=1e-9)
    np.testing.assert_allclose(found.upper[1::3], -0.2 * found.lower[::3], atol=1e-12)
    np.testing.assert_allclose(found.upper[2::3] - found.lower[2::3], 0.0, atol=1e-12)


def test_a_scene_names_its_bodies():
    scene = ss.Scene()
    scene.add_plane(friction=0.5, name="floor")
    scene.add_box(size=1.0, mass=2.0, position=(0.0, 0.0, 0.5), name="crate")
    found = determinacy(scene)
    np.testing.assert_allclose(found.upper[::3], 2.0 * 9.81 / 2, rtol=1e-6)
    np.testing.assert_allclose(found.lower[::3], 0.0, atol=1e-6)
    assert "crate on floor" in found.describe()


@pytest.mark.core
def test_bad_input():
    with pytest.raises(ss.InputError, match="expected a ContactProblem, a ConeProblem, a Scene, a System"):
        determinacy(np.eye(3))
    with pytest.raises(ss.InputError, match="ConeProblem has no bodies"):
        determinacy(ss.ConeProblem(np.eye(3), np.zeros(3), [0.5]))
    standing = table((0.0, 0.0, -20.0), (0.2, 0.1, 0.0), 0.5)
    with pytest.raises(ss.InputError, match=r"motion has shape \(2,\), expected \(6,\)"):
        determinacy(standing, motion=[0.0, 0.0])
    with pytest.raises(ss.InputError, match="no forces within the friction cones make this motion"):
        determinacy(standing, motion=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ss.InputError, match=r"weights\[3\] is -1"):
        determinacy(standing, weights=[1.0, 1.0, 1.0, -1.0, 1.0, 1.0] * 2)
    with pytest.raises(ss.InputError, match="M is not positive definite, expected a mass matrix"):
        determinacy(ss.ConeProblem.from_bodies(np.diag([1.0, 1.0, -1.0]), np.eye(3), np.zeros(3), [0.5]))


def test_a_body_in_the_air_has_nothing_undetermined():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=1.0, mass=1.0, position=(0, 0, 2))
    found = ss.determinacy(scene)
    assert found.determined
    assert (found.rank, found.lower.size) == (0, 0)
    assert str(found) == "no contact: every force is determined"
    with pytest.raises(ss.InputError, match="nothing does"):
        ss.scene_coupling(scene, 0)
