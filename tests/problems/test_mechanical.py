"""Mechanical problems against mechanics: Newton's laws, closed forms, and one formulation against another."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import lsq_linear
from scipy.spatial import cKDTree

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import as_dense
from stickslip.problems.mechanical import (
    FLOOR,
    GRAVITY,
    STEP,
    box_friction,
    box_stack,
    chain,
    frames,
    normal_lcp,
    normal_mixed,
    pile_positions,
    polyhedral_lcp,
    sphere_pile,
)
from stickslip.problems.residual import project_cone, residual

WEIGHT = STEP * GRAVITY  # impulse of 1 kg in one step


def ball_mass(radius=0.05):
    return 2500 * 4 / 3 * math.pi * radius**3


@pytest.mark.parametrize("layers", [1, 2, 3, 6])
def test_the_pile_is_close_packed_and_every_contact_is_listed_once(layers):
    centres, pairs = pile_positions(layers, radius=0.5)
    assert len(centres) == layers * (layers + 1) * (2 * layers + 1) // 6
    between = pairs[pairs[:, 1] != FLOOR]
    gap = np.linalg.norm(centres[between[:, 0]] - centres[between[:, 1]], axis=1) - 1
    assert np.abs(gap).max(initial=0) < 1e-12
    touching = cKDTree(centres).query_pairs(1 + 1e-9)
    assert {tuple(sorted(pair)) for pair in between.tolist()} == touching
    assert len(between) == len(touching)
    standing = pairs[pairs[:, 1] == FLOOR, 0]
    assert sorted(standing) == np.flatnonzero(centres[:, 2] < 0.5 + 1e-9).tolist()
    assert len(standing) == layers**2
    assert (centres[between[:, 0], 2] >= centres[between[:, 1], 2]).all()  # A is never the lower one


def test_one_ball_on_the_floor_by_hand():
    radius = 0.3
    problem = sphere_pile(1, mu=0.4, radius=radius, stir=0.0)
    m = ball_mass(radius)
    inertia = 0.4 * m * radius**2
    roll = 1 / m + radius**2 / inertia
    np.testing.assert_allclose(problem.W.toarray(), np.diag([1 / m, roll, roll]), rtol=1e-14)
    np.testing.assert_allclose(problem.q, [-WEIGHT, 0, 0], rtol=1e-14)
    np.testing.assert_array_equal(problem.mu, [0.4])
    assert residual(problem, [m * WEIGHT, 0, 0]) < 1e-15


@pytest.mark.parametrize("problem", [sphere_pile(3), box_stack(3, stir=0.1)], ids=["pile", "stack"])
def test_delassus_is_symmetric_positive_semidefinite_and_what_the_bodies_say(problem):
    W, bodies = problem.W.toarray(), problem.bodies
    H, M = bodies.H.toarray(), bodies.M.toarray()
    np.testing.assert_allclose(W, H.T @ np.linalg.solve(M, H), rtol=0, atol=1e-14 * abs(W).max())
    np.testing.assert_allclose(W, W.T, rtol=0, atol=1e-15 * abs(W).max())
    assert np.linalg.eigvalsh(W).min() > -1e-13 * abs(W).max()


def pile_bodies(layers):
    problem = sphere_pile(layers, seed=1)
    centres, pairs = pile_positions(layers)
    return problem, centres, pairs


def test_action_is_reaction_in_force_and_moment():
    problem, centres, pairs = pile_bodies(4)
    r = np.random.default_rng(0).normal(size=problem.size)
    wrench = (problem.bodies.H @ r).reshape(-1, 6)
    force = wrench[:, :3].sum(axis=0)
    moment = (np.cross(centres, wrench[:, :3]) + wrench[:, 3:]).sum(axis=0)
    on_floor = pairs[:, 1] == FLOOR
    normal, tangent, other = r.reshape(-1, 3)[on_floor].T
    feet = centres[pairs[on_floor, 0]] * [1, 1, 0]
    given_by_floor = np.column_stack([tangent, other, normal])  # the frame of n = z is z, x, y
    np.testing.assert_allclose(force, given_by_floor.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(moment, np.cross(feet, given_by_floor).sum(axis=0), atol=1e-12)


def test_a_rigid_motion_of_the_pile_moves_no_contact_between_balls():
    problem, centres, pairs = pile_bodies(4)
    linear, spin = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, -0.7])
    v = np.column_stack([linear + np.cross(spin, centres), np.tile(spin, (len(centres), 1))]).ravel()
    u = (problem.bodies.H.T @ v).reshape(-1, 3)
    between = pairs[:, 1] != FLOOR
    assert np.abs(u[between]).max() < 1e-13
    feet = centres[pairs[~between, 0]] * [1, 1, 0]
    expected = linear + np.cross(spin, feet)
    np.testing.assert_allclose(u[~between], expected[:, [2, 0, 1]], atol=1e-13)


def test_the_normal_points_from_b_to_a():
    problem, centres, pairs = pile_bodies(3)
    k = int(np.flatnonzero(pairs[:, 1] != FLOOR)[-1])
    a, b = pairs[k]
    apart = np.zeros((len(centres), 6))
    apart[a, :3], apart[b, :3] = centres[a] - centres[b], centres[b] - centres[a]
    assert (problem.bodies.H.T @ apart.ravel())[3 * k] == pytest.approx(2 * 0.1)  # u_n > 0 separates
    pushed = (problem.bodies.H @ np.eye(problem.size)[3 * k]).reshape(-1, 6)
    np.testing.assert_allclose(pushed[a, :3], (centres[a] - centres[b]) / 0.1, rtol=1e-12)
    np.testing.assert_allclose(pushed[b, :3], -pushed[a, :3])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3), min_size=1, max_size=5))
def test_frames_are_right_handed_and_orthonormal(vectors):
    normals = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    for frame, normal in zip(frames(normals), normals, strict=True):
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
        np.testing.assert_array_equal(frame[0], normal)
        assert np.linalg.det(frame) == pytest.approx(1)


def test_the_floors_frame_is_z_x_y():
    np.testing.assert_array_equal(frames(np.array([[0.0, 0.0, 1.0]]))[0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_gravity_alone_is_one_step_of_weight():
    problem = sphere_pile(3, stir=0.0)
    momentum = problem.bodies.f.reshape(-1, 6)
    np.testing.assert_allclose(momentum[:, 2], -ball_mass() * WEIGHT)
    assert not momentum[:, [0, 1, 3, 4, 5]].any()


def frictionless_impulses(problem):
    """min |M^-1/2 (f + H_n p)| over p >= 0, by SciPy: the LCP without friction as a least-squares problem."""
    bodies, d = problem.bodies, problem.dimension
    root = np.sqrt(bodies.M.diagonal())
    A, b = bodies.H[:, ::d].toarray() / root[:, None], -bodies.f / root
    return lsq_linear(A, b, (0, np.inf), method="bvls", tol=1e-14).x


@pytest.mark.parametrize("problem", [sphere_pile(3, seed=4), box_stack(4, seed=5, stir=0.1)], ids=["pile", "stack"])
def test_without_friction_both_formulations_have_the_same_solution(problem):
    p = frictionless_impulses(problem)
    bodies = problem.bodies
    v = (bodies.f + bodies.H[:, ::3] @ p) / bodies.M.diagonal()
    assert 0 < (p > 0).sum() < p.size  # some contacts open
    lcp, mixed = normal_lcp(problem), normal_mixed(problem)
    assert residual(lcp, p) < 1e-12
    assert residual(mixed, np.concatenate([v, p])) < 1e-12
    np.testing.assert_array_equal(np.isneginf(mixed.lower), np.arange(mixed.size) < v.size)
    assert np.isposinf(mixed.upper).all()
    assert residual(mixed, np.concatenate([v, 0 * p])) > 1e-3


def test_the_floor_carries_the_pile():
    """Without friction or stirring the pile sinks apart; the floor still gives the whole change of momentum."""
    problem = sphere_pile(3, stir=0.0)
    p = frictionless_impulses(problem)
    v = (problem.bodies.f + problem.bodies.H[:, ::3] @ p) / problem.bodies.M.diagonal()
    floor = p[pile_positions(3)[1][:, 1] == FLOOR].sum()
    falling = -ball_mass() * v.reshape(-1, 6)[:, 2].sum()
    assert floor + falling == pytest.approx(14 * ball_mass() * WEIGHT)
    assert falling > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_stirred_pile_has_open_slipping_and_sticking_contacts(seed):
    problem = sphere_pile(3, seed=seed)
    W, q = problem.W.toarray(), problem.q
    r = np.zeros(problem.size)
    for _ in range(1000):  # nonsmooth Gauss-Seidel, written out
        for i, mu in enumerate(problem.mu):
            b = slice(3 * i, 3 * i + 3)
            u = W[b] @ r + q[b]
            u[0] += mu * np.hypot(u[1], u[2])
            r[b] = project_cone(mu, *(r[b] - 3 / np.trace(W[b, b]) * u))
        if residual(problem, r) < 1e-9:
            break
    assert residual(problem, r) < 1e-9
    impulse, speed = r.reshape(-1, 3), problem.value(r).reshape(-1, 3)
    closed = impulse[:, 0] > 1e-6
    slips = np.hypot(speed[:, 1], speed[:, 2]) > 1e-5
    assert (~closed).any()
    assert (closed & slips).any()
    assert (closed & ~slips).any()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_stack_shares_its_weight_over_four_corners(count):
    problem = box_stack(count)
    above = np.arange(count, 0, -1)
    r = np.zeros((count, 4, 3))
    r[:, :, 0] = (WEIGHT * above / 4)[:, None]
    assert np.abs(problem.value(r.ravel())).max() < 1e-15  # nothing moves
    assert residual(problem, r.ravel()) < 1e-14
    lopsided = r.copy()
    lopsided[0, :, 0] += WEIGHT / 4 * np.array([1, -1, -1, 1])  # a self-stress: hyperstatic
    assert residual(problem, lopsided.ravel()) < 1e-14
    assert np.linalg.matrix_rank(problem.W.toarray()) == 6 * count


def slope_impulses(mu_used, tilt):
    """A box on a slope: friction mu_used p_n uphill at each corner; its moment loads the lower corners (+x) more."""
    normal, drag = WEIGHT * math.cos(tilt), mu_used * WEIGHT * math.cos(tilt)
    corners = np.array([normal - drag, normal - drag, normal + drag, normal + drag]) / 4
    return np.column_stack([corners, -mu_used * corners, 0 * corners]).ravel()


@pytest.mark.parametrize("tilt", [0.0, 0.2, 0.46])
def test_a_box_sticks_on_a_slope_below_the_friction_angle(tilt):
    problem = box_stack(1, mu=0.5, tilt=tilt)  # atan(0.5) = 0.4636
    r = slope_impulses(math.tan(tilt), tilt)
    assert np.abs(problem.value(r)).max() < 1e-15
    assert residual(problem, r) < 1e-14


@pytest.mark.parametrize("tilt", [0.47, 0.8, 1.2])
def test_a_box_slips_above_it(tilt):
    problem = box_stack(1, mu=0.5, tilt=tilt)
    r = slope_impulses(0.5, tilt)
    slip = WEIGHT * (math.sin(tilt) - 0.5 * math.cos(tilt))
    np.testing.assert_allclose(problem.value(r).reshape(4, 3), np.tile([0, slip, 0], (4, 1)), atol=1e-15)
    assert residual(problem, r) < 1e-14


def test_polyhedral_friction_is_stewart_and_trinkles_matrix():
    cone = box_stack(1, mu=0.3, stir=0.1, seed=2)
    W, nc, k = cone.W.toarray(), 4, 4
    N, D, E = np.zeros((12, 4)), np.zeros((12, 16)), np.zeros((16, 4))
    for c in range(nc):
        N[3 * c, c] = 1
        D[3 * c + 1 : 3 * c + 3, k * c : k * c + k] = [[1, 0, -1, 0], [0, 1, 0, -1]]
        E[k * c : k * c + k, c] = 1
    U = 0.3 * np.eye(nc)
    expected = np.block(
        [
            [N.T @ W @ N, N.T @ W @ D, np.zeros((nc, nc))],
            [D.T @ W @ N, D.T @ W @ D, E],
            [U, -E.T, np.zeros((nc, nc))],
        ]
    )
    problem = polyhedral_lcp(cone)
    assert isinstance(problem.M, sparse.csr_array)
    np.testing.assert_allclose(problem.M.toarray(), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(problem.q, np.concatenate([N.T @ cone.q, D.T @ cone.q, np.zeros(nc)]), atol=1e-16)


@pytest.mark.parametrize("directions", [3, 4, 8])
def test_a_ball_slipping_along_a_direction_solves_the_polyhedral_problem(directions):
    mu, slip = 0.5, 1.0
    cone = ConeProblem(np.diag([2.0, 3.0, 3.0]), [-4.0, -slip - 3.0, 0.0], [mu])
    problem = polyhedral_lcp(cone, directions)
    p_n = 2.0  # u_n = 2 p_n - 4 = 0; friction mu p_n = 1 along +x leaves u_x = -slip
    z = np.zeros(problem.size)
    z[0], z[1], z[-1] = p_n, mu * p_n, slip
    assert residual(problem, z) < 1e-15
    assert residual(cone, [p_n, mu * p_n, 0.0]) < 1e-15  # the cone itself agrees along its facets' directions


def test_in_the_plane_polyhedral_friction_is_exact():
    cone = ConeProblem(np.diag([2.0, 3.0]), [-4.0, 4.0], [0.5])
    problem = polyhedral_lcp(cone, directions=2)
    assert residual(problem, [2, 0, 1, 1]) < 1e-15  # p_n, towards +, towards -, slip
    assert residual(cone, [2, -1]) < 1e-15


@pytest.mark.parametrize("speed", [-3.0, -0.1, 0.0, 0.1, 3.0])
def test_box_friction_cuts_each_tangent_impulse_at_its_bound(speed):
    cone = ConeProblem(np.diag([2.0, 3.0, 3.0]), [-4.0, speed, -speed], [0.5])
    problem = box_friction(cone, [1.5])
    r = np.array([2.0, np.clip(-speed / 3, -0.75, 0.75), np.clip(speed / 3, -0.75, 0.75)])
    assert residual(problem, r) < 1e-15
    np.testing.assert_array_equal(problem.lower, [0, -0.75, -0.75])
    np.testing.assert_array_equal(problem.upper, [np.inf, 0.75, 0.75])


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("links", [1, 2, 6])
def test_a_chain_at_rest_presses_with_half_a_rod_at_each_end(links, pinned):
    problem = chain(links, pinned=pinned, stir=0.0)
    joints = links - 1 + pinned
    assert problem.size == 6 * links + 3 * joints + 2 * links
    p = np.full(2 * links, 0.1 * WEIGHT / 2)
    z = np.concatenate([np.zeros(6 * links + 3 * joints), p])
    assert residual(problem, z) < 1e-15
    np.testing.assert_array_equal(np.isneginf(problem.lower), np.arange(problem.size) < 6 * links + 3 * joints)


@pytest.mark.parametrize("pinned", [False, True])
def test_a_stirred_chain_holds_together_and_stays_above_the_floor(pinned):
    links = 5
    problem = chain(links, seed=3, pinned=pinned)
    nv, joints = 6 * links, 3 * (links - 1 + pinned)
    K, f = problem.M.toarray(), -problem.q[:nv]
    root, A = np.sqrt(np.diag(K)[:nv]), -K[:nv, nv:]
    np.testing.assert_array_equal(K[nv:, :nv], A.T)
    assert np.linalg.matrix_rank(A[:, :joints]) == joints
    # Gauss: v is the velocity nearest to the free one, in kinetic energy
    lower = np.concatenate([np.full(joints, -np.inf), np.zeros(2 * links)])
    impulses = lsq_linear(A / root[:, None], -f / root, (lower, np.inf), method="bvls", tol=1e-14).x
    v = (f + A @ impulses) / root**2
    assert residual(problem, np.concatenate([v, impulses])) < 1e-10
    ends = v.reshape(links, 6)
    rear = ends[:, :3] + np.cross(ends[:, 3:], [-0.1, 0, 0])
    front = ends[:, :3] + np.cross(ends[:, 3:], [0.1, 0, 0])
    np.testing.assert_allclose(front[:-1], rear[1:], atol=1e-10)
    if pinned:
        np.testing.assert_allclose(rear[0], 0, atol=1e-10)
    assert min(front[:, 2].min(), rear[:, 2].min()) > -1e-10
    assert abs(impulses[:joints]).max() > 1e-4


def test_velocity_of_a_joint_is_that_of_the_rods_ends():
    K = chain(2).M.toarray()
    v = np.random.default_rng(0).normal(size=(2, 6))
    rear = v[1, :3] + np.cross(v[1, 3:], [-0.1, 0, 0])
    front = v[0, :3] + np.cross(v[0, 3:], [0.1, 0, 0])
    np.testing.assert_allclose(K[12:15, :12] @ v.ravel(), rear - front, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda seed: sphere_pile(3, seed=seed), "W"),
        (lambda seed: box_stack(3, seed=seed, stir=0.1), "W"),
        (lambda seed: chain(3, seed=seed), "M"),
    ],
)
def test_the_seed_decides_the_motion_and_nothing_else(make, field):
    a, b, c = make(7), make(7), make(8)
    np.testing.assert_array_equal(a.q, b.q)
    assert not np.array_equal(a.q, c.q)
    np.testing.assert_array_equal(as_dense(getattr(a, field)), as_dense(getattr(c, field)))


def test_a_large_pile_stays_sparse():
    problem = sphere_pile(12)
    assert problem.contacts == 144 + sum(2 * k * (k - 1) for k in range(1, 13)) + 4 * sum(k * k for k in range(1, 12))
    assert problem.W.nnz < 3 * 23 * 3 * problem.size  # a ball has at most 12 contacts, a contact two balls


def test_bad_requests():
    cone = sphere_pile(1)
    for make, says in (
        (lambda: sphere_pile(0), r"^pile_positions: layers is 0, expected at least 1$"),
        (lambda: sphere_pile(2, radius=0.0), r"^pile_positions: radius is 0, expected a positive length$"),
        (lambda: box_stack(0), r"^box_stack: count is 0, expected at least 1$"),
        (lambda: chain(-1), r"^chain: links is -1, expected at least 1$"),
        (lambda: sphere_pile(1, mu=-1.0), r"^ConeProblem: mu\[0\] is -1, expected a friction coefficient >= 0$"),
        (lambda: polyhedral_lcp(cone, 2), r"^polyhedral_lcp: directions is 2, expected at least 3 in space$"),
        (
            lambda: polyhedral_lcp(ConeProblem(np.eye(2), [0, 0], [1])),
            r"^polyhedral_lcp: directions is 4, expected 2 in the plane$",
        ),
        (lambda: box_friction(cone, [-1]), r"^box_friction: normal_impulse\[0\] is -1, expected >= 0$"),
        (lambda: box_friction(cone, [1, 2]), r"^box_friction: normal_impulse has shape \(2,\), expected \(1,\)$"),
        (
            lambda: normal_mixed(ConeProblem(np.eye(3), np.zeros(3), [1])),
            r"^normal_mixed: the problem has no bodies, expected one made by ConeProblem.from_bodies$",
        ),
    ):
        with pytest.raises(InputError, match=says):
            make()
