"""The papers' matrices of one's own scenes and systems, against first principles and the steps they stand for."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.scene.shapes import Point

H = 5e-3


def balls():
    """A ball on a plane that rises and slides beneath it, and a smaller one on its shoulder; both move."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4, name="lift", moving=True, velocity=(0.3, -0.1, 0.05))
    scene.add_sphere(0.2, mass=3.0, position=(0, 0, 0.2), velocity=(0.1, 0, 0.0), spin=(1, 2, 3), name="lower")
    way = np.array([0.6, 0.0, 0.8])
    scene.add_sphere(
        0.1, mass=1.5, position=tuple([0, 0, 0.2] + 0.3 * way), spin=(0, -1, 0.5), name="upper", friction=0.7
    )
    scene.set_pair("lift", "lower", friction=0.4)
    scene.set_pair("lower", "upper", friction=0.7)
    return scene, way


def wrench(arm, direction):
    return np.concatenate([direction, np.cross(arm, direction)])


@pytest.mark.core
@pytest.mark.parametrize(("directions", "offset"), [(3, 0.0), (5, 0.3), (8, -0.1)])
def test_trinkle_matrices_of_two_balls(directions, offset):
    """G_n = (n, r × n) for the one body and its opposite for the other, d_j at equal angles, U, E, ψ, ∂ψ/∂t by hand."""
    scene, way = balls()
    found = ss.trinkle_matrices(scene, H, directions, offset)
    lower, upper = (2 / 5 * m * r**2 for m, r in ((3.0, 0.2), (1.5, 0.1)))
    np.testing.assert_allclose(found.M, np.diag([3] * 3 + [lower] * 3 + [1.5] * 3 + [upper] * 3), atol=1e-14)
    z = np.array([0, 0, 1.0])
    floor = np.concatenate([wrench(-0.2 * z, z), np.zeros(6)])
    between = np.concatenate([wrench(0.2 * way, -way), wrench(-0.1 * way, way)])
    np.testing.assert_allclose(found.G_n.T, [floor, between], atol=1e-12)
    D = found.G_f.reshape(12, 2, directions)
    for i, (n, arms) in enumerate([(z, (-0.2 * z, None)), (way, (0.2 * way, -0.1 * way))]):
        d = D[:3, i] if i == 0 else D[6:9, i]
        np.testing.assert_allclose(n @ d, 0.0, atol=1e-12)
        turn = np.arccos(np.clip(np.sum(d * np.roll(d, -1, axis=1), axis=0), -1, 1))
        np.testing.assert_allclose(turn, 2 * np.pi / directions, atol=1e-7)
        np.testing.assert_allclose(np.cross(d[:, 0], d[:, 1]) @ n, math.sin(2 * np.pi / directions), atol=1e-12)
        for j in range(directions):
            first = wrench(arms[0], d[:, j] if i == 0 else -d[:, j])
            np.testing.assert_allclose(D[:6, i, j], first, atol=1e-12)
            if arms[1] is not None:
                np.testing.assert_allclose(D[6:, i, j], wrench(arms[1], d[:, j]), atol=1e-12)
    np.testing.assert_array_equal(found.U, np.diag([0.4, 0.7]))
    np.testing.assert_array_equal(found.E, np.kron(np.eye(2), np.ones((directions, 1))))
    np.testing.assert_allclose(found.psi, 0.0, atol=1e-15)
    np.testing.assert_allclose(found.dpsi_dt, [-0.05, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.w_f, found.G_f[:3].T @ [-0.3, 0.1, -0.05] * ([1] * directions + [0] * directions))
    fall = np.concatenate([[0.1, 0, -9.81 * H, 1, 2, 3], [0, 0, -9.81 * H, 0, -1, 0.5]])
    np.testing.assert_allclose(found.v_star, fall, atol=1e-12)
    G = np.hstack([found.G_n, found.G_f])
    np.testing.assert_allclose(found.matrix[: len(G.T), : len(G.T)], G.T @ np.linalg.inv(found.M) @ G, atol=1e-12)
    np.testing.assert_allclose(found.vector[:2], found.G_n.T @ fall + [-0.05, 0.0], atol=1e-12)


@pytest.mark.parametrize(("directions", "offset"), [(4, 0.0), (5, 0.3)])
def test_trinkles_lcp_is_the_step_that_is_made(directions, offset):
    scene, _ = balls()
    found = ss.trinkle_matrices(scene, H, directions, offset)
    answer = ss.Lemke(tol=1e-12).solve(found.lcp).require()
    run = ss.simulate(scene, H, H, ss.StewartTrinkle(directions, offset=offset), solver="lemke", tol=1e-12)
    made = np.concatenate([np.concatenate([run.velocity(b)[-1], run.spin(b)[-1]]) for b in ("lower", "upper")])
    np.testing.assert_allclose(found.velocity(answer.x), made, atol=1e-10)
    posed = ss.StewartTrinkle(directions, offset=offset).pose(ss.contact_problem(scene, H))
    np.testing.assert_allclose(posed.M, found.matrix, atol=1e-12)
    np.testing.assert_allclose(posed.q, found.vector, atol=1e-12)


def dragged_pendulum():
    """A bob on a hinge whose tip scratches along the ground."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    angle = 0.4
    along = np.array([math.cos(angle), 0, -math.sin(angle)])
    place = np.array([0, 0, 0.5 * math.sin(angle)])
    scene.add_body(
        [Point((0.25, 0, 0))], mass=2.0, inertia=(1e-3, 0.02, 0.02), centre=(0, 0, 0),
        position=tuple(place + 0.25 * along), orientation=((0, 1, 0), angle), name="bob",
    )  # fmt: skip
    scene.add_hinge("bob", position=tuple(place), axis=(0, 1, 0))
    return scene, angle


def test_joints_are_kept_in_trinkles_lcp():
    """One degree of freedom: K = s sᵀ / (sᵀ M s) with s the motion that the hinge leaves."""
    scene, angle = dragged_pendulum()
    found = ss.trinkle_matrices(scene, H, 6)
    along = np.array([math.cos(angle), 0, -math.sin(angle)])
    motion = np.concatenate([np.cross([0, 1, 0], 0.25 * along), [0, 1, 0]])
    np.testing.assert_allclose(found.inverse, np.outer(motion, motion) / (motion @ found.M @ motion), atol=1e-9)
    np.testing.assert_allclose(found.G_b.T @ found.v_star, 0.0, atol=1e-12)


def test_trinkle_matrices_of_a_system():
    rod, theta = ss.planar_rod(mass=2.0, length=0.8, friction=0.6), 1.1
    q, v = [0.3, 0.4 * math.sin(theta) + 1e-3, theta], [1.0, 0.2, -0.5]
    found = ss.trinkle_matrices(rod, H, q=q, v=v)
    np.testing.assert_allclose(found.G_n[:, 0], [0, 1, -0.4 * math.cos(theta)])
    np.testing.assert_allclose(found.G_f, np.outer([1, 0, 0.4 * math.sin(theta)], [1, -1]))
    np.testing.assert_allclose(found.v_star, np.array(v) - H * np.array([0, 9.81, 0]))
    assert found.psi[0] == pytest.approx(1e-3)
    assert found.vector[0] == pytest.approx(found.G_n[:, 0] @ found.v_star + 1e-3 / H)
    assert (found.U.item(), found.E.tolist()) == (0.6, [[1.0], [1.0]])


# Peiret 2017


def feet(speed):
    """A stool on three feet, which are not redundant, with springs."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5, name="floor")
    points = [Point((0.3 * math.cos(a), 0.3 * math.sin(a), -0.4)) for a in (0.2, 2.1, 4.4)]
    scene.add_body(
        points, mass=4.0, inertia=(0.3, 0.2, 0.25), centre=(0, 0, 0), position=(0, 0, 0.4), velocity=(speed, 0, 0),
        stiffness=1e5, damping=1e3, stiffness_tangent=3e4, damping_tangent=200.0, friction=0.5, name="stool",
    )  # fmt: skip
    return scene


@pytest.mark.parametrize("speed", [0.0, 0.8])
@pytest.mark.parametrize("relaxed", [False, True])
def test_the_lead_matrix_is_the_step_of_the_phantom_model(speed, relaxed):
    scene = feet(speed)
    previous = np.tile([4 * 9.81 * H / 3, 0.0, 0.0], 3)
    found = ss.lead_matrix(scene, H, inertia=0.7, relaxed=relaxed, previous=previous)
    assert found.sliding == (speed > 0,) * 3
    z = ss.solve(found.problem, tol=1e-12).require().x
    problem = replace(ss.contact_problem(scene, H), previous=previous)
    law = ss.Phantom(0.7, lateral=relaxed, stabilisation=ss.Relaxation() if relaxed else None)
    answer = ss.solve(law.pose(problem), tol=1e-12, x0=law.start(problem)).require()
    np.testing.assert_allclose(z[:6], problem.velocity_after(law.impulses(problem, answer.x)), atol=1e-9)


def test_rank_and_condition_over_the_phantom_inertia():
    """Without ρ the columns of w_up and w_lo are opposite: the rank lacks one a pair. With it the matrix is regular
    where contacts are not redundant; far from the inertia that the axes feel its condition grows in proportion."""
    found = ss.lead_matrix(feet(0.0), H, inertia=0.0, directions=2, relaxed=True)
    pairs = 6
    assert len(found.matrix) == 6 + 9 + 2 * pairs
    assert found.rank == len(found.matrix) - pairs
    assert found.condition == math.inf
    table = found.over([1e-6, 1e-4, 1e-2, 1.0])
    assert [rank for _, rank, _ in table] == [len(found.matrix)] * 4
    conditions = [condition for _, _, condition in table]
    assert conditions[0] > 10 * conditions[1] > 100 * conditions[3]
    assert "singular" in str(found)
    assert "regular" in str(found.with_inertia(1.0))


def test_redundant_feet_need_relaxation():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box((0.5, 0.3, 0.2), mass=2.0, position=(0, 0, 0.1), stiffness=1e5, stiffness_tangent=1e5)
    rigid = ss.lead_matrix(scene, H)
    soft = ss.lead_matrix(scene, H, relaxed=True)
    size = len(rigid.matrix)
    assert size == 6 + 12 + 2 * 8
    J = rigid.J
    assert rigid.rank < size == soft.rank
    assert np.linalg.matrix_rank(J) == 6


def test_joints_are_in_the_lead_matrix():
    scene, _ = dragged_pendulum()
    found = ss.lead_matrix(scene, H)
    assert found.J_b.shape == (5, 6)
    assert len(found.matrix) == 6 + 5 + 3 + 4
    np.testing.assert_array_equal(found.matrix[:6, 6:11], -found.J_b.T)
    np.testing.assert_array_equal(found.matrix[6:11, :6], found.J_b)
    z = ss.solve(found.problem, tol=1e-12).x
    np.testing.assert_allclose(found.J_b @ z[:6], 0.0, atol=1e-10)


# Trinkle and Pang


def spinning_ball(spin, patch):
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    scene.add_sphere(0.2, mass=3.0, position=(0, 0, 0.2), spin=(0, 0, spin), patch=patch, friction=0.3, name="ball")
    return scene


@pytest.mark.core
@pytest.mark.parametrize("spin", [0.0, 2.0])
def test_a_ball_on_a_patch_in_closed_form(spin):
    found = ss.distributed_contacts(spinning_ball(spin, 0.02))
    inertia = 2 / 5 * 3.0 * 0.2**2
    np.testing.assert_allclose(found.A, np.diag([1 / 3, 7 / 6, 7 / 6, 1 / inertia]), atol=1e-9)
    np.testing.assert_allclose(found.b, [-9.81, 0, 0, 0], atol=1e-9)
    assert (found.rolling, found.sliding) == (((), (0,)) if spin else ((0,), ()))
    np.testing.assert_allclose(found.A, found.W.T @ np.linalg.solve(found.M, found.W), atol=1e-12)
    c = ss.solve(found.problem, tol=1e-12).require().x
    moment = -0.3 * 3 * 9.81 * 0.02 if spin else 0.0
    np.testing.assert_allclose(c, [3 * 9.81, 0, 0, moment], atol=1e-8)


def test_velocity_and_acceleration_level_of_distributed_contacts():
    """From rest b of a step is h times that of the accelerations, and A is the same."""
    scene = spinning_ball(0.0, 0.02)
    now, step = ss.distributed_contacts(scene), ss.distributed_contacts(scene, dt=H)
    np.testing.assert_allclose(step.A, now.A, atol=1e-12)
    np.testing.assert_allclose(step.b, H * now.b, atol=1e-12)


def test_rolling_and_sliding_contacts_of_a_planar_system():
    rod, theta = ss.planar_rod(mass=2.0, length=0.8, friction=0.6), 1.1
    q = [0.3, 0.4 * math.sin(theta), theta]
    found = ss.distributed_contacts(rod, q, [1.0, 0.0, 0.0])
    assert found.sliding == (0,)
    assert found.problem.e.tolist() == [[1.0, 0.0, 0.0]]
    W = np.array([[0, 1, -0.4 * math.cos(theta)], [1, 0, 0.4 * math.sin(theta)]])
    np.testing.assert_allclose(found.A[:2, :2], W @ np.linalg.inv(found.M) @ W.T, atol=1e-12)
    assert ss.distributed_contacts(rod, q).rolling == (0,)


def test_the_letters_of_friction_coupling():
    """A, J, H, h, a of Peiret 2019 by its (25), from the rows that the result has."""
    scene, _ = dragged_pendulum()
    c = ss.friction_coupling(scene)
    S = c.J @ np.linalg.solve(c.M, c.J.T)
    K = np.linalg.inv(c.M)
    K = K - K @ c.J.T @ np.linalg.pinv(S) @ c.J @ K
    W = c.A @ K @ c.A.T
    np.testing.assert_allclose(c.a, W[0, 0], atol=1e-10)
    np.testing.assert_allclose(c.h, W[1:, 0], atol=1e-10)
    np.testing.assert_allclose(c.H, W[1:, 1:], atol=1e-10)


def test_bad_input():
    scene, _ = balls()
    rod = ss.planar_rod()
    with pytest.raises(ss.InputError, match="trinkle_matrices: directions is 2, expected a whole number of at least 3"):
        ss.trinkle_matrices(scene, H, 2)
    with pytest.raises(ss.InputError, match="offset is nan, expected an angle in rad"):
        ss.trinkle_matrices(scene, H, 4, math.nan)
    with pytest.raises(ss.InputError, match="StewartTrinkle: offset is inf, expected an angle"):
        ss.StewartTrinkle(offset=math.inf)
    with pytest.raises(ss.InputError, match="q is given with a Scene, expected it with a System only"):
        ss.contact_problem(scene, H, q=[0.0])
    with pytest.raises(ss.InputError, match="contact_problem: q is missing, expected the coordinates of 'planar rod'"):
        ss.contact_problem(rod, H)
    with pytest.raises(ss.InputError, match="dt is 0, expected a positive number of seconds"):
        ss.contact_problem(rod, 0, q=[0, 0, 1])
    with pytest.raises(ss.InputError, match="the world is 7, expected a Scene, a System or a Robot"):
        ss.contact_problem(7, H)
    with pytest.raises(ss.InputError, match="lead_matrix: inertia is -1, expected a number >= 0"):
        ss.lead_matrix(scene, H, inertia=-1)
