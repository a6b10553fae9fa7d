"""Friction coupling: the rod's closed forms, the arm's numbers, invariance, what is held, rank, bad input."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.dynamics.generalized import evaluate
from stickslip.dynamics.mechanisms import arm_on_the_plane, rod_on_its_foot
from stickslip.scene.shapes import Point

pytestmark = pytest.mark.core

# the pose at which the paper prints its numbers, x = 0.340 m and θ₃ = 101.75°
POSE_A = arm_on_the_plane(0.34, math.radians(101.75))
VELOCITY_A = np.array([0.572823613326, 2.05620866219, 0.0, 1.0])


def rod_coupling(degrees, mass=1.0, length=1.0):
    return ss.system_coupling(ss.rod(mass, length), rod_on_its_foot(math.radians(degrees), length))


def random_system(seed, d=3, n=6):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, n))
    return L @ L.T + 0.1 * np.eye(n), rng.normal(size=(d, n)), rng


# the rod


@pytest.mark.parametrize("degrees", [5.0, 15.0, 30.0, 45.0, 60.0, 75.0, 85.0])
@pytest.mark.parametrize(("mass", "length"), [(1.0, 1.0), (3.0, 0.2)])
def test_rod_has_its_closed_form(degrees, mass, length):
    c, s, k = rod_coupling(degrees, mass, length), math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    expected = np.array([[1 + 3 * k * k, -3 * s * k, 0], [-3 * s * k, 1 + 3 * s * s, 0], [0, 0, 4.0]])
    np.testing.assert_allclose(mass * c.W, expected, atol=1e-12)
    assert c.mu_jam == pytest.approx((1 + 3 * k * k) / (3 * s * k), abs=1e-10)
    assert c.mu_crit == pytest.approx(3 * s * k / (1 + 3 * s * s), abs=1e-10)
    np.testing.assert_allclose(c.e_jam, [-1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(c.effective_mass @ c.W, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("degrees", "mu_jam", "mu_crit"),
    [
        (15.0, 5.0653841409, 0.624499414632),
        (30.0, 2.50185116649, 0.742307488958),
        (45.0, 5 / 3, 0.6),
        (60.0, 1.34715062811, 0.399704032516),
        (math.degrees(math.atan(2)), 4 / 3, 6 / 17),
        (75.0, 1.60128252576, 0.197418393587),
    ],
)
def test_rod_has_the_recomputed_numbers(degrees, mu_jam, mu_crit):
    c = rod_coupling(degrees)
    assert c.mu_jam == pytest.approx(mu_jam, abs=1e-10)
    assert c.mu_crit == pytest.approx(mu_crit, abs=1e-10)


def test_rod_at_45_degrees_with_friction_2():
    c = rod_coupling(45.0)
    assert math.degrees(c.locking_angle(2.0)) == pytest.approx(67.1146195238, abs=1e-9)
    t1_t2_n = np.array([[-0.171875, 0, -0.703125], [0, 0.0625, 0], [-0.703125, 0, -1.421875]])
    order = [2, 0, 1]
    np.testing.assert_allclose(c.cone(2.0).Q, t1_t2_n[np.ix_(order, order)], atol=1e-12)


def test_planar_rod_is_the_rod():
    q = math.radians(40.0)
    plane = ss.system_coupling(ss.planar_rod(2.0, 0.8), [0.0, 0.4 * math.sin(q), q])
    space = rod_coupling(40.0, 2.0, 0.8)
    np.testing.assert_allclose(plane.W, space.W[:2, :2], atol=1e-14)
    assert plane.mu_jam == pytest.approx(space.mu_jam)
    assert plane.e_jam.tolist() == [-1.0]
    assert plane.jams(-1.0, plane.mu_jam + 1e-9)
    assert not plane.jams(1.0, 100.0)
    assert plane.cone(2.0).surface().shape == (2, 2)


# the arm


def test_arm_at_the_pose_of_the_paper():
    c = ss.system_coupling(ss.arm(density=1.0), POSE_A)
    expected = [[2.49414940797, 0, -5.92730885244], [0, 0.785935995985, 0], [-5.92730885244, 0, 30.0888193579]]
    np.testing.assert_allclose(c.W, expected, atol=1e-9)
    assert c.mu_jam == pytest.approx(0.42078951343, abs=1e-10)
    assert c.mu_crit == pytest.approx(0.196993733185, abs=1e-10)
    np.testing.assert_allclose(c.e_jam, [0.0, -1.0], atol=1e-12)
    assert math.degrees(c.locking_angle(0.5)) == pytest.approx(65.3855229971, abs=1e-7)


def test_arm_slides_within_its_locking_sector():
    """(45) and the first column of (46)."""
    arm = ss.arm(density=1.0)
    u = evaluate(arm, POSE_A, VELOCITY_A).A @ VELOCITY_A
    np.testing.assert_allclose(u, [0.0, -0.34, -1.0], atol=1e-10)
    e = u[1:] / np.linalg.norm(u[1:])
    np.testing.assert_allclose(e, [-0.321902733239, -0.94677274482], atol=1e-10)
    c = ss.system_coupling(arm, POSE_A)
    assert c.jams(e, 0.5)
    column = c.W @ [1.0, *(-0.5 * e)]
    np.testing.assert_allclose(column, [-0.311757827844, 0.126497472629, 8.31632819347], atol=1e-8)
    assert c.margin(u[1:], 0.5) == pytest.approx(column[0], abs=1e-12)


def test_arm_does_not_depend_on_its_density():
    light, heavy = (ss.system_coupling(ss.arm(density=rho), POSE_A) for rho in (1.0, 2.0))
    np.testing.assert_allclose(light.W, 2 * heavy.W, atol=1e-12)
    assert light.mu_jam == pytest.approx(heavy.mu_jam, abs=1e-13)


@pytest.mark.parametrize(
    ("x", "degrees", "mu_jam", "mu_crit", "way"),
    [
        (0.338816632494, 101.747123164, 0.42078682251, 0.196815981262, -1.0),
        (0.785229945518, 76.6620624336, 0.403911780254, 0.212439487782, 1.0),
    ],
)
def test_arm_at_its_minima(x, degrees, mu_jam, mu_crit, way):
    c = ss.system_coupling(ss.arm(), arm_on_the_plane(x, math.radians(degrees)))
    assert c.mu_jam == pytest.approx(mu_jam, abs=1e-10)
    assert c.mu_crit == pytest.approx(mu_crit, abs=1e-9)
    np.testing.assert_allclose(c.e_jam, [0.0, way], atol=1e-12)


def test_printed_mass_matrix_is_refused():
    """(42) as printed, without L₃ in three entries, is not positive definite."""
    right = ss.arm(density=2.0)

    def printed(q):
        M = np.array(right.mass(q))
        for i, j in ((0, 2), (2, 0), (1, 2), (2, 1), (2, 2)):
            M[i, j] /= 0.1
        return M

    with pytest.raises(ss.InputError, match=r"M has the eigenvalue -0\.0107, expected a positive definite matrix"):
        ss.system_coupling(replace(right, mass=printed), POSE_A)


# invariance


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), angle=st.floats(0, 2 * math.pi), mu=st.floats(0.05, 5.0))
def test_invariant_under_coordinates_and_tangent_basis(seed, angle, mu):
    M, A, rng = random_system(seed)
    T = 0.3 * rng.normal(size=(6, 6)) + 2 * np.eye(6)  # v = T w
    R = np.eye(3)
    R[1:, 1:] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    one, other = ss.friction_coupling(M, A), ss.friction_coupling(T.T @ M @ T, R @ A @ T)
    for name in ("a", "mu_jam", "mu_crit"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-7)
    assert other.locking_angle(mu) == pytest.approx(one.locking_angle(mu), abs=1e-5)
    np.testing.assert_allclose(other.e_jam, R[1:, 1:] @ one.e_jam, atol=1e-7)
    np.testing.assert_allclose(T @ other.projector @ np.linalg.inv(T), one.projector, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), angle=st.floats(0, 2 * math.pi))
def test_invariant_with_joints_and_another_contact_held(seed, angle):
    M, A, rng = random_system(seed, n=8)
    G, B = rng.normal(size=(1, 8)), rng.normal(size=(3, 8))
    T = 0.3 * rng.normal(size=(8, 8)) + 2 * np.eye(8)
    turned = np.eye(3)
    turned[1:, 1:] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    one = ss.friction_coupling(M, A, G, [(B, ss.Sliding((1.0, 0.0), 0.1))])
    way = tuple(turned[1:, 1])
    other = ss.friction_coupling(T.T @ M @ T, A @ T, -3 * G @ T, [(turned @ B @ T, ss.Sliding(way, 0.1))])
    np.testing.assert_allclose(other.W, one.W, atol=1e-7 * np.abs(one.W).max())


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), mass=st.floats(1e-6, 1e6), length=st.floats(1e-3, 1e3))
def test_invariant_under_units(seed, mass, length):
    """Kilograms and metres against other units, velocities of rotation left in rad/s: three rows of v have a length."""
    M, A, _ = random_system(seed)
    unit = np.array([length] * 3 + [1.0] * 3)  # v = w * unit
    scaled = M * np.outer(unit, unit) * mass / length**2, A * unit / length
    one, other = ss.friction_coupling(M, A), ss.friction_coupling(*scaled)
    assert other.mu_jam == pytest.approx(one.mu_jam, rel=1e-7)
    assert other.mu_crit == pytest.approx(one.mu_crit, rel=1e-7)
    assert other.rank == one.rank == 3
    np.testing.assert_allclose(other.W * mass, one.W, rtol=1e-7, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), mu=st.floats(0.05, 5.0))
def test_cone_and_projector(seed, mu):
    M, A, _ = random_system(seed)
    c = ss.friction_coupling(M, A)
    P, cone = c.projector, c.cone(mu)
    np.testing.assert_allclose(P @ P, P, atol=1e-7)
    contact_forces = np.linalg.solve(M, A.T)
    np.testing.assert_allclose(P @ contact_forces, contact_forces, atol=1e-7 * np.abs(contact_forces).max())
    points = cone.surface(64)
    size = np.abs(points).max() ** 2 * np.abs(cone.Q).max()
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", points, cone.Q, points) / size, 0.0, atol=1e-8)
    assert cone.lowest <= points[:, 0].min() + 1e-12
    assert (cone.lowest < 0) == (mu > c.mu_jam)
    # Q's blocks as the paper writes them, (29) to (31)
    M_t, m_n, m_tn = c.effective_mass[1:, 1:], c.effective_mass[0, 0], c.effective_mass[1:, 0]
    Q_t = M_t @ (np.eye(2) - (mu / c.a) ** 2 * np.outer(c.h, c.h)) @ M_t
    np.testing.assert_allclose(cone.Q[1:, 1:], Q_t, rtol=1e-6, atol=1e-8 * np.abs(cone.Q).max())
    H_inverse = np.linalg.inv(c.H)
    Q_n = (c.h @ H_inverse @ H_inverse @ c.h - mu**2) * m_n**2
    assert cone.Q[0, 0] == pytest.approx(Q_n, rel=1e-6, abs=1e-8 * np.abs(cone.Q).max())
    Q_tn = (M_t - mu**2 * m_n * np.eye(2)) @ m_tn
    np.testing.assert_allclose(cone.Q[1:, 0], Q_tn, rtol=1e-6, atol=1e-8 * np.abs(cone.Q).max())


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), mu=st.floats(0.05, 5.0), angle=st.floats(0, 2 * math.pi))
def test_sector_is_where_friction_closes_the_contact(seed, mu, angle):
    M, A, _ = random_system(seed)
    c = ss.friction_coupling(M, A)
    e = np.array([math.cos(angle), math.sin(angle)])
    half = c.locking_angle(mu) / 2
    inside = math.acos(np.clip(e @ c.e_jam, -1, 1)) < half
    acceleration = (A @ np.linalg.solve(M, A.T @ [1.0, *(-mu * e)]))[0]  # δu_n by a unit normal force
    assert c.margin(e, mu) == pytest.approx(acceleration, abs=1e-9 * c.a)
    if abs(acceleration) > 1e-9 * c.a:
        assert c.jams(e, mu) == (acceleration < 0) == inside


# what is held


def test_bilateral_rows_are_as_if_the_mass_were_infinite_along_them():
    M, A, rng = random_system(3)
    G = rng.normal(size=(2, 6))
    held = ss.friction_coupling(M, A, bilateral=G)
    null = np.linalg.svd(G)[2][2:].T
    np.testing.assert_allclose(held.W, ss.friction_coupling(null.T @ M @ null, A @ null).W, atol=1e-10)
    assert held.held == ("2 bilateral rows",)
    np.testing.assert_allclose(held.W_alone, ss.friction_coupling(M, A).W)
    assert "without them mu_jam would be" in held.explain()


@pytest.mark.parametrize("how", ["sticking", "frictionless", ss.Sliding((1.0, 2.0), 0.3)], ids=str)
def test_another_contact_held(how):
    """Against the equations M v̇ = Aᵀλ + Fᵀν, C v̇ = 0 solved whole for each unit force."""
    M, A, rng = random_system(4)
    B = rng.normal(size=(3, 6))
    if how == "sticking":
        C = F = B
    elif how == "frictionless":
        C = F = B[:1]
    else:
        C, F = B[:1], B[:1] - 0.3 * np.array([1.0, 2.0]) @ B[1:] / math.sqrt(5)
    whole = np.block([[M, -F.T], [C, np.zeros((len(C), len(C)))]])
    forces = np.vstack([A.T, np.zeros((len(C), 3))])
    c = ss.friction_coupling(M, A, held=[(B, how)])
    np.testing.assert_allclose(c.W, A @ np.linalg.solve(whole, forces)[:6], atol=1e-10)
    assert len(c.held) == 1


def test_redundant_rows_are_met_by_rank():
    M, A, rng = random_system(6)
    G = rng.normal(size=(2, 6))
    once, thrice = ss.friction_coupling(M, A, G), ss.friction_coupling(M, A, np.vstack([G, G[0], G[0] - 2 * G[1]]))
    np.testing.assert_allclose(thrice.W, once.W, atol=1e-9)
    flat = ss.friction_coupling(M, np.vstack([A[:2], A[1]]))  # the two tangents are one
    assert flat.rank == 2
    assert "span 2" in flat.explain()
    assert flat.mu_jam == pytest.approx(flat.a / np.linalg.norm(flat.h))
    assert math.isfinite(flat.mu_crit)
    np.testing.assert_allclose(flat.projector @ flat.projector, flat.projector, atol=1e-9)


def test_a_contact_that_cannot_move():
    M, A, _ = random_system(7)
    c = ss.friction_coupling(M, A, bilateral=A)
    assert c.rank == 0
    assert c.mu_jam == math.inf
    assert "cannot move" in c.explain()


def test_without_coupling_nothing_jams():
    c = ss.friction_coupling(np.eye(3), np.eye(3))
    assert c.mu_jam == math.inf
    assert c.mu_crit == 0.0
    assert c.locking_angle(100.0) == 0.0
    assert not c.jams((1.0, 0.0), 100.0)
    assert "no friction makes this contact jam" in c.explain(0.5)


# scenes


def test_rod_as_a_scene():
    for degrees in (30.0, 60.0):
        angle, scene = math.radians(degrees), ss.Scene()
        scene.add_plane(name="ground")
        scene.add_body(
            [Point((-0.5, 0, 0))], mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), centre=(0, 0, 0), name="rod",
            position=(0.5 * math.cos(angle), 0, 0.5 * math.sin(angle)), orientation=((0, 1, 0), -angle),
        )  # fmt: skip
        assert [set(pair) for pair in ss.scene_contacts(scene)] == [{"rod", "ground"}]
        c = ss.scene_coupling(scene, ("rod", "ground"))
        np.testing.assert_allclose(c.W, rod_coupling(degrees).W, atol=1e-12)


def arm_scene(q, limits=None):
    """The arm as bodies and hinges: nothing of dynamics/mechanisms.py but the lengths."""
    scene = ss.Scene()
    scene.add_plane(name="ground")
    scene.add_body([], mass=1e-3, inertia=1e-3, centre=(0, 0, 0), position=(0, 0, 0.6), name="base")
    scene.add_hinge("base", position=(0, 0, 0.6), axis=(0, 0, 1))
    joint, before = np.array([0.0, 0.0, 0.6]), "base"
    for i, (length, angle) in enumerate(zip((0.5, 0.5, 0.1), q, strict=False)):
        along = np.array([math.cos(angle), 0.0, -math.sin(angle)])
        inertia = 2 * length**3 / 12
        scene.add_body(
            [Point((length / 2, 0, 0))] if i == 2 else [], mass=2 * length, inertia=(1e-4, inertia, inertia),
            centre=(0, 0, 0), position=tuple(joint + along * length / 2), orientation=((0, 1, 0), angle),
            name=f"link {i}",
        )  # fmt: skip
        scene.add_hinge(f"link {i}", before, position=tuple(joint), axis=(0, 1, 0), limits=limits)
        joint, before = joint + along * length, f"link {i}"
    return scene


def test_arm_as_a_scene_of_hinges():
    c = ss.scene_coupling(arm_scene(POSE_A), ("link 2", "ground"))
    assert c.mu_jam == pytest.approx(0.42078951343, abs=1e-9)
    assert c.held == ("20 rows of joints",)
    limited = ss.scene_coupling(arm_scene(POSE_A, limits=(-1.0, 1.0)))
    assert limited.mu_jam == pytest.approx(0.42078951343, abs=1e-9)
    assert limited.left_out == ()  # limits that are not reached do not act
    at_its_limits = ss.scene_coupling(arm_scene(POSE_A, limits=(0.0, 1.0)))
    assert at_its_limits.left_out == tuple(f"joint 'joint {i}' (lower limit)" for i in (1, 2, 3))


def test_contacts_of_a_scene_that_are_not_there():
    scene = ss.Scene()
    scene.add_plane(name="ground")
    scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), name="box")
    with pytest.raises(ss.InputError, match="contact is 9, expected a number below 4"):
        ss.scene_coupling(scene, 9)
    with pytest.raises(ss.InputError, match="'box' and 'ground' touch at 4 points, the contacts 0, 1, 2, 3; expected"):
        ss.scene_coupling(scene, ("box", "ground"))
    with pytest.raises(ss.InputError, match="'ball' and 'box' touch nowhere"):
        ss.scene_coupling(scene, ("box", "ball"))
    held = ss.scene_coupling(scene, 0, {1: "sticking", 2: "frictionless", 3: ss.Sliding((1, 0), 0.2)})
    assert len(held.held) == 3


# bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.diag([1.0, -1.0, 1.0]), np.eye(3)), "M has the eigenvalue -1, expected a positive definite matrix"),
        ((np.eye(3),), "A is missing, expected the rows of the contact beside the mass matrix"),
        ((np.eye(3), np.eye(4)), r"A has shape \(4, 4\), expected rows n, t or n, t, o and 3 columns as M has"),
        ((np.eye(3), [[1.0, 0, np.nan], [0, 1, 0]]), r"A\[0, 2\] is nan, expected a finite number"),
        ((np.eye(3), np.eye(3), np.eye(2)), r"bilateral has shape \(2, 2\), expected 3 columns"),
        ((np.eye(3), np.eye(3), None, [(np.eye(3), "stuck")]), r"held\[0\] is 'stuck', expected 'sticking'"),
        ((np.eye(3), np.eye(3), None, [(np.eye(3), ss.Sliding((0, 0), 1.0))]), "expected a direction, a vector that"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(ss.InputError, match=words):
        ss.friction_coupling(*arguments)


def test_bad_questions_are_refused():
    c = rod_coupling(45.0)
    with pytest.raises(ss.InputError, match="mu is -1, expected a friction coefficient >= 0"):
        c.locking_angle(-1)
    with pytest.raises(ss.InputError, match=r"direction has shape \(3,\), expected \(2,\)"):
        c.jams((1, 0, 0), 1.0)
    with pytest.raises(ss.InputError, match="contact is 1, expected a number below 1 for 'rod'"):
        ss.system_coupling(ss.rod(), rod_on_its_foot(1.0), contact=1)


def test_held_within_its_own_locking_sector_is_said():
    at = evaluate(ss.rod(), rod_on_its_foot(math.atan(2.0)))
    inside, outside = (
        ss.friction_coupling(at.M, np.eye(5)[:3], held=[(at.A, ss.Sliding(d, 2.0))]) for d in ((-1, 0), (1, 0))
    )
    assert inside.held[-1] == "of which one slides within its own locking sector"
    assert len(outside.held) == 1


def test_held_at_its_own_jamming_limit():
    """Painlevé's rod once more: a contact that slides at exactly μ_jam has no finite answer."""
    at = evaluate(ss.rod(), rod_on_its_foot(math.atan(2.0)))
    with pytest.raises(ss.InputError, match="held contacts are at their own jamming limit"):
        ss.friction_coupling(at.M, np.eye(5)[:3], held=[(at.A, ss.Sliding((-1.0, 0.0), 4 / 3))])
