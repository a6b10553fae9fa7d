"""Rows of contacts against velocities of points taken numerically, and the Delassus matrix against J M⁻¹ Jᵀ."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.dynamics.contact_rows import contact_velocity, fill_frame
from stickslip.dynamics.motion import free_motion, move, orient_all
from stickslip.dynamics.rotations import to_matrix
from stickslip.engine import outside
from stickslip.engine.finish import push_free
from stickslip.engine.outside import matrix_of
from stickslip.engine.prepare import fill_places, fill_rows, measure
from stickslip.engine.rows import ACTIVE, room_to_work
from stickslip.engine.sweep import respond
from stickslip.problems.matrix import as_dense
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Kind

pytestmark = pytest.mark.core
PLANAR = pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
WORLDS = pytest.mark.parametrize(
    ("planar", "spin"), [(False, False), (False, True), (True, False)], ids=["space", "with spin", "plane"]
)


def crowd(planar, seed=0, spin=False):
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
    work = room_to_work(model, spin, len(pairs) + 3, 2 * len(pairs))
    contacts, n = work.contacts, len(pairs)
    for i, (a, b) in enumerate(pairs):
        contacts.shape_a[i], contacts.shape_b[i], contacts.feature[i] = a, b, i
        contacts.point[i], normal = random.normal(size=3), random.normal(size=3)
        if planar:
            contacts.point[i, 1] = normal[1] = 0.0
        if 3 in (a, b):
            contacts.point[i] = state.position[3]
        contacts.normal[i] = normal / np.linalg.norm(normal)
    work.count[ACTIVE], work.rows.found[:n] = n, np.arange(n)
    free_motion(work.bodies, state, 0.01)
    orient_all(work.bodies, state)
    fill(model, state, work, n)
    return model, state, work, n


def fill(model, state, work, n):
    """Rows and places of n contacts."""
    rows, contacts, bodies, held = work.rows, work.contacts, work.bodies, work.held
    fill_rows(
        n, rows.found, contacts.shape_a, contacts.shape_b, contacts.normal, contacts.point, model.shape_body,
        state.position, model.planar, rows.body, rows.frame, rows.jacobian,
    )  # fmt: skip
    room = measure(n, work.free, held.tree.node, held.tree.path, rows.body)
    fill_places(
        n, 0, work.free, bodies.root_mass, bodies.root, held, work.sign, rows.body, rows.jacobian, rows.start,
        rows.place, rows.G,
    )  # fmt: skip
    assert rows.start[n] == room <= rows.place.size


def dense_rows(rows, count, bodies):
    """J (d count, 6 bodies)."""
    d = rows.jacobian.shape[2]
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
        fill_frame(*n, False, F)
        np.testing.assert_allclose(F[0], n, atol=1e-15)
        np.testing.assert_allclose(F @ F.T, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(F), 1.0, atol=1e-14)


def test_the_frame_of_the_ground_is_that_of_the_world():
    F = np.empty((3, 3))
    fill_frame(0.0, 0.0, 1.0, False, F)
    np.testing.assert_array_equal(F, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_frames_of_planar_contacts_stay_in_the_plane():
    F = np.zeros((3, 3))
    for angle in np.linspace(0, 2 * np.pi, 9):
        fill_frame(np.sin(angle), 0.0, np.cos(angle), True, F)
        np.testing.assert_allclose(F[:2] @ F[:2].T, np.eye(2), atol=1e-15)
        np.testing.assert_allclose(F[:2, 1], 0.0)
    fill_frame(0.0, 0.0, 1.0, True, F)
    np.testing.assert_array_equal(F[1], [1, 0, 0])


@WORLDS
def test_rows_give_the_velocity_of_a_against_b(planar, spin):
    """The points of the two bodies that meet, moved for a short time either way; the spin is that about the normal."""
    model, state, work, count = crowd(planar, spin=spin)
    rows, contacts = work.rows, work.contacts
    d, h = 2 if planar else 3, 1e-5
    there = []
    for sign in (1.0, -1.0):
        later = state.copy()
        move(work.bodies, later, sign * h, state.velocity, work.share)
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
        if spin:
            expected = np.append(expected, contacts.normal[i] @ (state.velocity[a, 3:] - state.velocity[b, 3:]))
        u = [
            contact_velocity(rows.body, rows.jacobian, work.moving, i, c, state.velocity) for c in range(expected.size)
        ]
        np.testing.assert_allclose(u, expected, atol=1e-8)
        np.testing.assert_allclose(rows.frame[i, 0], contacts.normal[i])


@WORLDS
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("most", [None, 0], ids=["dense", "sparse"])
def test_the_delassus_matrix_is_that_of_the_rows(planar, spin, seed, most, monkeypatch):
    """J M⁻¹ Jᵀ with ε on the normals, however it is stored, and also over some of the contacts in any order."""
    model, state, work, count = crowd(planar, seed, spin)
    if most is not None:
        monkeypatch.setattr(outside, "DENSE", most)
    epsilon = np.random.default_rng(seed).uniform(size=count)
    epsilon[0] = 0.0  # contact 0 moves nothing; the engine finds none of that sort
    work.law.compliance[:count] = epsilon
    J = dense_rows(work.rows, count, model.kind.size)
    d = J.shape[0] // count
    rigid = J @ dense_inverse_mass(model, state) @ J.T
    expected = rigid.copy()
    expected[np.arange(0, d * count, d), np.arange(0, d * count, d)] += epsilon
    W = as_dense(matrix_of(work, np.arange(count), d * count))
    np.testing.assert_allclose(W, expected, atol=1e-13)
    np.testing.assert_allclose(W, W.T, atol=1e-14)
    np.testing.assert_allclose(as_dense(matrix_of(work, np.arange(count), d * count, rigid=True)), rigid, atol=1e-13)
    some = np.array([5, 1, 6])
    at = (d * some[:, None] + np.arange(d)).ravel()
    np.testing.assert_allclose(as_dense(matrix_of(work, some, d * 3)), expected[np.ix_(at, at)], atol=1e-13)


@WORLDS
def test_impulses_push_both_bodies(planar, spin):
    """By the rows at the end of a step, and by what sweeps keep of it in each place: v = v_free + L z."""
    model, state, work, count = crowd(planar, spin=spin)
    rows, bodies, members = work.rows, work.bodies, np.arange(count)
    J = dense_rows(rows, count, model.kind.size)
    p = np.random.default_rng(5).normal(size=J.shape[0])
    expected = state.velocity.ravel() + dense_inverse_mass(model, state) @ J.T @ p
    v, swept, z = state.velocity.copy(), state.velocity.copy(), np.zeros_like(work.answer.z)
    arrays = rows.body, rows.jacobian, work.free, bodies.inverse_mass, bodies.inverse
    assert push_free(count, 0, *arrays, p, v)
    no_moment = np.where(np.arange(p.size) % 4 == 3, 0.0, p) if spin else p  # cone laws have none
    respond(members, count, work.sign, rows.start, rows.place, rows.G, no_moment, z)
    swept[:, :3] += bodies.root_mass * z[:, :3]
    swept[:, 3:] += np.einsum("bij,bj->bi", bodies.root, z[:, 3:])
    by_rows = state.velocity.ravel() + dense_inverse_mass(model, state) @ J.T @ no_moment
    np.testing.assert_allclose(v.ravel(), expected, atol=1e-13)
    np.testing.assert_allclose(swept.ravel(), by_rows, atol=1e-13)
    fixed = model.kind != Kind.FREE
    assert (v[fixed] == state.velocity[fixed]).all()
    v[:] = state.velocity
    assert not push_free(count, 0, *arrays, 0 * p, v)
    assert (v == state.velocity).all()
