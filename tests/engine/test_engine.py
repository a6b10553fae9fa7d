"""One step, part by part: the problem that bodies and contacts make, the memory between steps, what a step tells."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.engine import outside
from stickslip.engine.engine import FIRST_ROOM, Engine
from stickslip.engine.rows import ACTIVE, FOUND, METHODS, NO_SOLVE
from stickslip.engine.step_problem import engine_problem, scene_problem
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.compile import compile_scene

H = 0.01


def engine_of(scene, friction=None, **settings):
    friction = ss.Coulomb() if friction is None else friction
    return Engine(*compile_scene(scene), H, friction, friction.solver, **settings)


def stepped(engine, steps=1):
    record, made, _ = engine.march(steps, 1024)
    assert made == steps
    return record


def impulses(record, step=0):
    first, last = record.contact_start[step : step + 2]
    return record.impulse[first:last]


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def leaning(planar=False):
    """A box that leans on a moving one and stands on the ground, tilted and turning."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=0.5)
    if planar:
        scene.add_box(size=(1.0, 1.0), moving=True, position=(-1.0, 0.5), velocity=(0.3, 0.0))
        scene.add_box(size=(1.0, 0.5), mass=2.0, position=(0.0, 0.25), velocity=(0.2, -0.1), spin=0.4)
    else:
        scene.add_box(size=1.0, moving=True, position=(-1.0, 0, 0.5), velocity=(0.3, 0.1, 0), spin=(0, 0, 0.5))
        scene.add_box(
            size=(1.0, 0.7, 0.5), mass=2.0, position=(0, 0, 0.25), velocity=(0.2, 0, -0.1), spin=(0.1, 0.4, 2)
        )
    return scene


def sliding_box():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(1, 0, 0))
    return scene


PLANAR = pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])


@PLANAR
def test_the_problem_has_the_masses_and_velocities_of_the_free_bodies(planar):
    engine = engine_of(leaning(planar))
    state, problem = engine.state, engine_problem(engine)
    assert problem.contacts == engine.work.count[FOUND] > 0
    assert problem.dimension == (2 if planar else 3)
    inertia = engine.model.inertia[2]
    R = Rotation.from_quat(state.quaternion[2], scalar_first=True).as_matrix()
    if planar:
        M, v = np.diag([2.0, 2.0, inertia[1, 1]]), state.velocity[2, [0, 2, 4]]
        rows = [0, 2, 4]
    else:
        M = np.block([[2.0 * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), R @ inertia @ R.T]])
        v, rows = state.velocity[2], list(range(6))
    np.testing.assert_allclose(dense(problem.M), M, atol=1e-14)
    np.testing.assert_array_equal(problem.v, v)
    np.testing.assert_allclose(problem.f, M @ engine.work.bodies.v[2, rows], atol=1e-14)


@PLANAR
def test_its_contact_velocities_are_those_of_the_points(planar):
    engine = engine_of(leaning(planar))
    problem = engine_problem(engine)
    contacts, model, state, d = engine.work.contacts, engine.model, engine.state, problem.dimension
    for i in range(problem.contacts):
        x, F = contacts.point[i], engine.work.rows.frame[i, :d]

        def at(body, x=x):
            return state.velocity[body, :3] + np.cross(state.velocity[body, 3:], x - state.position[body])

        a, b = (model.shape_body[shape[i]] for shape in (contacts.shape_a, contacts.shape_b))
        np.testing.assert_allclose(problem.start_velocity[d * i : d * i + d], F @ (at(a) - at(b)), atol=1e-14)


def test_the_problem_of_a_scene_names_the_bodies_of_its_contacts():
    found = scene_problem(leaning(), H)
    assert found.problem.contacts == len(found.pairs)
    assert set(found.pairs) == {("box_2", "plane_0"), ("box_2", "box_1")}


@PLANAR
def test_looking_ahead_makes_no_step(planar):
    engine, other = engine_of(leaning(planar)), engine_of(leaning(planar))
    before = engine.state.copy()
    engine_problem(engine)
    for now, then in zip(engine.state, before, strict=True):
        np.testing.assert_array_equal(now, then)
    record, expected = stepped(engine, 3), stepped(other, 3)
    np.testing.assert_array_equal(record.position, expected.position)
    np.testing.assert_array_equal(impulses(record, 2), impulses(expected, 2))


@PLANAR
@pytest.mark.parametrize("scheme", ["midpoint", "euler"])
def test_a_step_tells_impulses_that_explain_the_motion(planar, scheme):
    """v⁺ = M⁻¹ (f + H p), u = Hᵀ v⁺ + w; the body is hit, so it moves by h v⁺ under either scheme."""
    engine = engine_of(leaning(planar), tol=1e-12, scheme=scheme)
    before, problem = engine.state.copy(), engine_problem(engine)
    record, rows = stepped(engine), [0, 2, 4] if planar else list(range(6))
    p, d = impulses(record), problem.dimension
    v = np.linalg.solve(dense(problem.M), problem.f + dense(problem.H) @ p[:, :d].ravel())
    u = (dense(problem.H).T @ v + problem.w).reshape(-1, d)
    np.testing.assert_allclose(record.velocity_after[: len(p), :d], u, atol=1e-13)
    whole = np.zeros(6)
    whole[rows] = v
    state = engine.state
    np.testing.assert_allclose(state.position[2], before.position[2] + H * whole[:3], atol=1e-14)
    turned = Rotation.from_rotvec(H * whole[3:]) * Rotation.from_quat(before.quaternion[2], scalar_first=True)
    np.testing.assert_allclose(
        Rotation.from_quat(state.quaternion[2], scalar_first=True).as_matrix(), turned.as_matrix(), atol=1e-14
    )
    np.testing.assert_array_equal(state.velocity[:2], before.velocity[:2])
    np.testing.assert_allclose(state.position[1], before.position[1] + H * before.velocity[1, :3], atol=1e-15)


@pytest.mark.parametrize(("scheme", "way"), [("midpoint", 1.0 - 0.5 * 9.81 * H / 2), ("euler", 1.0 - 0.5 * 9.81 * H)])
def test_what_slides_and_is_not_hit_moves_by_the_scheme(scheme, way):
    """By the mean of v and v⁺ = v - μ g h, or by v⁺."""
    engine = engine_of(sliding_box(), tol=1e-12, scheme=scheme)
    stepped(engine)
    np.testing.assert_allclose(engine.state.position[1], [H * way, 0, 0.5], atol=1e-10)


def test_a_step_remembers_impulses_for_the_next():
    """The box turns, but its contacts with the ground keep their frames and so their components."""
    engine = engine_of(sliding_box())
    np.testing.assert_allclose(engine_problem(engine).previous, 0.0)
    first = impulses(stepped(engine))
    np.testing.assert_allclose(engine_problem(engine).previous, first.ravel(), atol=1e-15)


def test_what_is_remembered_is_kept_when_room_is_made():
    engine = engine_of(sliding_box())
    first = impulses(stepped(engine))
    engine.work.count[FOUND] = 3 * FIRST_ROOM
    engine.enlarge()
    assert engine.work.contacts.capacity >= 3 * FIRST_ROOM
    np.testing.assert_allclose(engine_problem(engine).previous, first.ravel(), atol=1e-15)


def test_room_is_made_where_it_is_needed():
    """For contacts, and for the places that one of them acts on through joints: a chain of links on the floor."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    before = None
    for i in range(40):
        link = scene.add_box(size=(0.4, 0.2, 0.2), mass=1.0, position=(0.5 * i, 0, 0.1))
        if before is not None:
            scene.add_ball(link, before, position=(0.5 * i - 0.25, 0, 0.1))
        before = link
    engine = engine_of(scene)
    record = stepped(engine)
    assert engine.work.count[ACTIVE] == 160 > FIRST_ROOM
    tree = engine.work.held.tree
    assert engine.work.rows.start[160] == 4 * tree.path[tree.node[tree.node >= 0]].sum() > 2 * FIRST_ROOM
    np.testing.assert_allclose(impulses(record)[:, 0].sum(), 40 * 9.81 * H, rtol=1e-6)


@pytest.mark.parametrize(
    "friction", [ss.Box(), ss.Hybrid(), ss.Phantom(), ss.Coulomb()], ids=lambda f: type(f).__name__
)
def test_friction_acts_on_a_contact_from_its_first_step(friction):
    """Bounds that come from the step before have one, though there was none."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_particle(mass=1.0, velocity=(2.0, 0, 0))
    record = stepped(engine_of(scene, friction))
    np.testing.assert_allclose(impulses(record), [[9.81 * H, -0.5 * 9.81 * H, 0.0]], atol=1e-12)


@pytest.mark.parametrize("friction", [ss.Phantom(), ss.StewartTrinkle()], ids=lambda f: type(f).__name__)
def test_it_tells_which_friction_held(friction):
    """Static where a contact starts at rest, kinetic where it slides."""
    scene = ss.Scene()
    scene.add_plane(friction=0.6, friction_kinetic=0.3)
    scene.add_particle(mass=1.0, position=(0, 0, 0))
    scene.add_particle(mass=1.0, position=(1, 0, 0), velocity=(2.0, 0, 0))
    record = stepped(engine_of(scene, friction))
    np.testing.assert_array_equal(record.friction[:2], [0.6, 0.3])
    np.testing.assert_allclose(impulses(record)[1], [9.81 * H, -0.3 * 9.81 * H, 0.0], atol=1e-12)
    assert [ContactState(each) for each in record.state[:2]] == [ContactState.STICK, ContactState.SLIP]


def test_it_tells_which_contacts_are_open_stick_or_slip():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i, velocity in enumerate([(0, 0, 0), (2.0, 0, 0), (0, 0, 1.0)]):
        scene.add_particle(mass=1.0, position=(i, 0, 0), velocity=velocity)
    record = stepped(engine_of(scene))
    states = [ContactState(each) for each in record.state[:3]]
    assert states == [ContactState.STICK, ContactState.SLIP, ContactState.OPEN]


def test_a_step_without_contacts():
    scene = ss.Scene()
    scene.add_sphere(0.1, mass=1.0, position=(0, 0, 5), velocity=(1, 0, 0))
    engine = engine_of(scene, ss.Phantom())
    record = stepped(engine)
    assert record.contact_start[1] == 0
    assert record.status[0] == 0
    assert METHODS[record.method[0]] == METHODS[NO_SOLVE]
    np.testing.assert_allclose(engine.state.velocity[0, :3], [1.0, 0.0, -9.81 * H])


def test_an_answer_within_tol_is_solved(monkeypatch):
    """The interior point method is asked for more than tol; where it stalls on the way there, that does no harm."""
    monkeypatch.setattr("stickslip.engine.engine.SWEEPS", 1)
    monkeypatch.setattr(outside, "CLOSER", 1e-9)
    record = stepped(engine_of(leaning(), tol=1e-8))
    assert record.residual[0] <= 1e-8
