"""One step, part by part: the problem that bodies and contacts make, the memory between steps, what a step tells."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.compile import compile_scene
from stickslip.engine.step import FIRST_ROOM, Engine, pose, step

H = 0.01


def engine_of(scene):
    model, state, _ = compile_scene(scene)
    return Engine.of(model, H), state


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


PLANAR = pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])


@PLANAR
def test_the_problem_has_the_masses_and_velocities_of_the_free_bodies(planar):
    engine, state = engine_of(leaning(planar))
    problem, count = pose(engine, state)
    assert count == problem.contacts > 0
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
    engine, state = engine_of(leaning(planar))
    problem, count = pose(engine, state)
    contacts, model, d = engine.work.contacts, engine.model, problem.dimension
    for i in range(count):
        x, F = contacts.point[i], engine.work.rows.frame[i, :d]

        def at(body, x=x):
            return state.velocity[body, :3] + np.cross(state.velocity[body, 3:], x - state.position[body])

        a, b = (model.shape_body[shape[i]] for shape in (contacts.shape_a, contacts.shape_b))
        np.testing.assert_allclose(problem.start_velocity[d * i : d * i + d], F @ (at(a) - at(b)), atol=1e-14)


@PLANAR
def test_a_step_tells_impulses_that_explain_the_motion(planar):
    """v⁺ = M⁻¹ (f + H p), u = Hᵀ v⁺ + w, and the body moves by h v⁺."""
    engine, state = engine_of(leaning(planar))
    before = state.copy()
    outcome = step(engine, state, ss.Coulomb(), "auto", 1e-12)
    problem, rows = outcome.problem, [0, 2, 4] if planar else list(range(6))
    v = np.linalg.solve(dense(problem.M), problem.f + dense(problem.H) @ outcome.impulse)
    np.testing.assert_allclose(dense(problem.H).T @ v + problem.w, outcome.velocity, atol=1e-13)
    whole = np.zeros(6)
    whole[rows] = v
    np.testing.assert_allclose(state.position[2], before.position[2] + H * whole[:3], atol=1e-14)
    turned = Rotation.from_rotvec(H * whole[3:]) * Rotation.from_quat(before.quaternion[2], scalar_first=True)
    np.testing.assert_allclose(
        Rotation.from_quat(state.quaternion[2], scalar_first=True).as_matrix(), turned.as_matrix(), atol=1e-14
    )
    np.testing.assert_array_equal(state.velocity[:2], before.velocity[:2])
    np.testing.assert_allclose(state.position[1], before.position[1] + H * before.velocity[1, :3], atol=1e-15)


def test_a_step_remembers_impulses_for_the_next():
    """The box turns, but its contacts with the ground keep their frames and so their components."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(1, 0, 0))
    engine, state = engine_of(scene)
    first = step(engine, state, ss.Coulomb(), "auto", None)
    np.testing.assert_allclose(first.problem.previous, 0.0)
    problem, _ = pose(engine, state)
    np.testing.assert_allclose(problem.previous, first.impulse, atol=1e-15)


def test_what_is_remembered_is_kept_when_room_is_made():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(1, 0, 0))
    engine, state = engine_of(scene)
    first = step(engine, state, ss.Coulomb(), "auto", None)
    engine.enlarge(3 * FIRST_ROOM)
    assert engine.work.contacts.capacity >= 3 * FIRST_ROOM
    problem, _ = pose(engine, state)
    np.testing.assert_allclose(problem.previous, first.impulse, atol=1e-15)


@pytest.mark.parametrize(
    "friction", [ss.Box(), ss.Hybrid(), ss.Phantom(), ss.Coulomb()], ids=lambda f: type(f).__name__
)
def test_friction_acts_on_a_contact_from_its_first_step(friction):
    """Bounds that come from the step before have one, though there was none."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_particle(mass=1.0, velocity=(2.0, 0, 0))
    engine, state = engine_of(scene)
    outcome = step(engine, state, friction, friction.solver, None)
    np.testing.assert_allclose(outcome.impulse, [9.81 * H, -0.5 * 9.81 * H, 0.0], atol=1e-12)


@pytest.mark.parametrize("friction", [ss.Phantom(), ss.StewartTrinkle()], ids=lambda f: type(f).__name__)
def test_it_tells_which_friction_held(friction):
    """Static where a contact starts at rest, kinetic where it slides."""
    scene = ss.Scene()
    scene.add_plane(friction=0.6, friction_kinetic=0.3)
    scene.add_particle(mass=1.0, position=(0, 0, 0))
    scene.add_particle(mass=1.0, position=(1, 0, 0), velocity=(2.0, 0, 0))
    engine, state = engine_of(scene)
    outcome = step(engine, state, friction, friction.solver, None)
    np.testing.assert_array_equal(outcome.mu, [0.6, 0.3])
    np.testing.assert_allclose(outcome.impulse[3:], [9.81 * H, -0.3 * 9.81 * H, 0.0], atol=1e-12)
    assert [ContactState(each) for each in outcome.state] == [ContactState.STICK, ContactState.SLIP]


def test_it_tells_which_contacts_are_open_stick_or_slip():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i, velocity in enumerate([(0, 0, 0), (2.0, 0, 0), (0, 0, 1.0)]):
        scene.add_particle(mass=1.0, position=(i, 0, 0), velocity=velocity)
    engine, state = engine_of(scene)
    outcome = step(engine, state, ss.Coulomb(), "auto", None)
    assert [ContactState(each) for each in outcome.state] == [ContactState.STICK, ContactState.SLIP, ContactState.OPEN]


def test_a_step_without_contacts():
    scene = ss.Scene()
    scene.add_sphere(0.1, mass=1.0, position=(0, 0, 5), velocity=(1, 0, 0))
    engine, state = engine_of(scene)
    outcome = step(engine, state, ss.Phantom(), "auto", None)
    assert outcome.count == 0
    assert outcome.answer.solved
    np.testing.assert_allclose(state.velocity[0, :3], [1.0, 0.0, -9.81 * H])
