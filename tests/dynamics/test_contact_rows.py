"""Rows of contacts against velocities of points taken numerically, and the Delassus matrix against J M⁻¹ Jᵀ."""

import numpy as np
import pytest
from stickslip.dynamics.delassus import delassus_blocks

import stickslip as ss
from stickslip.collision.contacts import room_for
from stickslip.dynamics.contact_rows import contact_velocity, fill_rows, push, room_for_rows, set_frame
from stickslip.dynamics.motion import advance, bodies_of, free_motion
from stickslip.dynamics.rotations import to_matrix
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Kind

pytestmark = pytest.mark.core
PLANAR = pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])


def crowd(planar, seed=0):
    """Five bodies, the first static, the second moved, a particle among the others, and contacts between them all."""
    random = np.random.default_rng(seed)
    scene = ss.Scene(gravity=(0, 0) if planar else (0, 0, 0), planar=planar)
    linear, angular = (2, None) if planar else (3, 3)

    def placed():
        return {"position": tuple(random.normal(size=linear)), "velocity": tuple(random.normal(size=linear))}

    def turned():
        if planar:
            return {"orientation": float(random.normal()), "spin": float(random.normal())}
        turn = random.normal(size=4)
        return {"orientation": tuple(turn / np.linalg.norm(turn)), "spin": tuple(random.normal(size=angular))}

    size = (1.0, 0.3) if planar else (1.0, 0.6, 0.3)
    scene.add_plane()
    scene.add_box(size=size, moving=True, **placed(), **turned())
    scene.add_box(size=size, mass=2.0, **placed(), **turned())
    scene.add_particle(mass=0.5, **placed())
    scene.add_capsule(0.2, 0.5, mass=3.0, **placed(), **turned())
    model, state, _ = compile_scene(scene)
    pairs = [(1, 0), (2, 0), (2, 1), (3, 2), (4, 0), (4, 2), (4, 2), (4, 3)]
    contacts = room_for(len(pairs) + 3)
    for i, (a, b) in enumerate(pairs):
        contacts.shape_a[i], contacts.shape_b[i], contacts.feature[i] = a, b, i
        contacts.point[i], normal = random.normal(size=3), random.normal(size=3)
        if planar:
            contacts.point[i, 1] = normal[1] = 0.0
        if a == 3:
            contacts.point[i] = state.position[3]
        if b == 3:
            contacts.point[i] = state.position[3]
        contacts.normal[i] = normal / np.linalg.norm(normal)
    bodies, rows = bodies_of(model), room_for_rows(contacts.capacity)
    free_motion(bodies, state, 0.01)
    fill_rows(model.shape_body, bodies, state.position, contacts, len(pairs), rows)
    return model, state, bodies, contacts, rows, len(pairs)


def dense_rows(rows, count, d, bodies):
    """J (d count, 6 bodies)."""
    J = np.zeros((count, d, bodies, 6))
    for i in range(count):
        for side in range(2):
            J[i, :, rows.body[i, side]] += rows.jacobian[i, side, :d]
    return J.reshape(d * count, -1)


def dense_inverse_mass(model, state):
    """M⁻¹ (6 nb, 6 nb), zero where a body is not free."""
    blocks = np.zeros((model.kind.size, 6, model.kind.size, 6))
    for i in np.flatnonzero(model.kind == Kind.FREE):
        R = np.empty((3, 3))
        to_matrix(state.quaternion[i], R)
        blocks[i, :3, i, :3] = np.diag(model.inverse_mass[i])
        blocks[i, 3:, i, 3:] = R @ model.inverse_inertia[i] @ R.T
    return blocks.reshape(6 * model.kind.size, -1)


def directions(seed=3):
    random = np.random.default_rng(seed).normal(size=(30, 3))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    close = np.array([1e-9, 0.0, -1.0])
    return [*random, *np.eye(3), *-np.eye(3), np.array([0.6, -0.8, -0.0]), close / np.linalg.norm(close)]


def test_frames_are_right_handed_and_begin_with_the_normal():
    F = np.empty((3, 3))
    for n in directions():
        set_frame(*n, False, F)
        np.testing.assert_allclose(F[0], n, atol=1e-15)
        np.testing.assert_allclose(F @ F.T, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(F), 1.0, atol=1e-14)


def test_the_frame_of_the_ground_is_that_of_the_world():
    F = np.empty((3, 3))
    set_frame(0.0, 0.0, 1.0, False, F)
    np.testing.assert_array_equal(F, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_frames_of_planar_contacts_stay_in_the_plane():
    F = np.zeros((3, 3))
    for angle in np.linspace(0, 2 * np.pi, 9):
        set_frame(np.sin(angle), 0.0, np.cos(angle), True, F)
        np.testing.assert_allclose(F[:2] @ F[:2].T, np.eye(2), atol=1e-15)
        np.testing.assert_allclose(F[:2, 1], 0.0)
    set_frame(0.0, 0.0, 1.0, True, F)
    np.testing.assert_array_equal(F[1], [1, 0, 0])


@PLANAR
def test_rows_give_the_velocity_of_a_against_b(planar):
    """The points of the two bodies that meet, moved for a short time either way."""
    model, state, bodies, contacts, rows, count = crowd(planar)
    d, h = 2 if planar else 3, 1e-5
    there = []
    for sign in (1.0, -1.0):
        later = state.copy()
        advance(bodies._replace(planar=True), later, sign * h, state.velocity)  # as a body that keeps its velocity
        there.append(later)

    def displaced(body, x):
        def place(at):
            R, R_0 = np.empty((3, 3)), np.empty((3, 3))
            to_matrix(at.quaternion[body], R)
            to_matrix(state.quaternion[body], R_0)
            return at.position[body] + R @ R_0.T @ (x - state.position[body])

        return (place(there[0]) - place(there[1])) / (2 * h)

    for i in range(count):
        a, b = (model.shape_body[shape[i]] for shape in (contacts.shape_a, contacts.shape_b))
        x = contacts.point[i]
        expected = rows.frame[i, :d] @ (displaced(a, x) - displaced(b, x))
        u = [contact_velocity(rows.body, rows.jacobian, i, c, state.velocity) for c in range(d)]
        np.testing.assert_allclose(u, expected, atol=1e-8)
        np.testing.assert_allclose(rows.frame[i, 0], contacts.normal[i])


@PLANAR
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_delassus_matrix_is_that_of_the_rows(planar, seed):
    model, state, _, _, rows, count = crowd(planar, seed)
    d = 2 if planar else 3
    J = dense_rows(rows, count, d, model.kind.size)
    expected = J @ dense_inverse_mass(model, state) @ J.T
    blocks = delassus_blocks(model.kind == Kind.FREE, rows, count, d)
    W = np.zeros((d * count, d * count))
    for i in range(count):
        W[d * i : d * i + d, d * i : d * i + d] = blocks.diagonal[:, i].reshape(d, d)
        for k in range(blocks.start[i], blocks.start[i + 1]):
            j = int(blocks.first[k])
            assert j != d * i
            W[d * i : d * i + d, j : j + d] += blocks.others[:, k].reshape(d, d)
        assert (np.diff(blocks.first[blocks.start[i] : blocks.start[i + 1]].astype(int)) > 0).all()
    np.testing.assert_allclose(W, expected, atol=1e-13)
    np.testing.assert_allclose(W, W.T, atol=1e-14)


@PLANAR
def test_impulses_push_both_bodies(planar):
    model, state, _, _, rows, count = crowd(planar)
    d = 2 if planar else 3
    p = np.random.default_rng(5).normal(size=d * count)
    v = state.velocity.copy()
    push(rows, count, p, v)
    J = dense_rows(rows, count, d, model.kind.size)
    expected = state.velocity.ravel() + dense_inverse_mass(model, state) @ J.T @ p
    np.testing.assert_allclose(v.ravel(), expected, atol=1e-13)
    fixed = model.kind != Kind.FREE
    assert (v[fixed] == state.velocity[fixed]).all()
