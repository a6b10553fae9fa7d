"""The arrays of a scene are what scene/model.py says of them, and the drives are the functions of a scene."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.scene.compile import StateView, compile_scene
from stickslip.scene.model import Joint, Kind, Model, motors_of
from stickslip.scene.scene import Scene
from stickslip.scene.shapes import Box, Sphere
from stickslip.scene.values import rotation_matrix

INTEGERS = ("kind", "shape", "shape_body", "shape_material", "apart", "joint", "joint_a", "joint_b", "hull_range")


def mixed_scene():
    scene = Scene()
    scene.add_plane(friction=0.8)
    scene.add_box((1, 2, 3), density=2.0, position=(1, 2, 3), orientation=((1, 2, 3), 0.7), velocity=(1, 0, 0))
    scene.add_body(
        [Sphere(0.5, (0, 0, 1)), Box(0.5, (0, 0, -1))], mass=2.0, position=(4, 0, 0), orientation=(1, 1, 0, 0)
    )
    scene.add_particle(3.0, (0, 0, 5), (0, 1, 0))
    scene.add_box(1.0, moving=True, velocity=(0, 0, 1), spin=(0, 2, 0))
    scene.add_body(mass=1.0, inertia=(1, 2, 2.5), centre=(0.1, 0, 0))
    return scene


def check_canonical(model, state):
    for name, array in (*model._asdict().items(), *state._asdict().items()):
        if name == "planar":
            assert isinstance(array, bool)
            continue
        assert array.dtype == (np.int64 if name in INTEGERS else np.float64), name
        assert array.flags.c_contiguous, name
        assert not np.isnan(array).any(), name


def test_every_array_is_canonical_and_fits():
    scene = mixed_scene()
    scene.add_hinge("box_1", position=(0, 0, 0), axis=(0, 0, 1))
    model, state, _ = compile_scene(scene)
    check_canonical(model, state)
    nb, ns, nj = 7, 6, 1
    for name in ("mass", "kind"):
        assert getattr(model, name).shape == (nb,)
    assert model.inverse_mass.shape == model.centre.shape == model.force.shape == model.torque.shape == (nb, 3)
    assert model.inertia.shape == model.inverse_inertia.shape == (nb, 3, 3)
    assert model.shape_size.shape == model.shape_position.shape == (ns, 3)
    assert model.shape_rotation.shape == (ns, 3, 3)
    assert model.joint_frame_a.shape == model.joint_frame_b.shape == (nj, 3, 3)
    assert (state.position.shape, state.quaternion.shape, state.velocity.shape) == ((nb, 3), (nb, 4), (nb, 6))


@pytest.mark.parametrize("planar", [False, True])
def test_an_empty_scene_has_arrays_too(planar):
    model, state, drives = compile_scene(Scene(planar=planar))
    check_canonical(model, state)
    for name in Model._fields[2:]:
        assert getattr(model, name).shape[0] == 0, name
    assert not drives


def test_only_free_bodies_have_inverse_masses():
    model, _, _ = compile_scene(mixed_scene())
    free = model.kind == Kind.FREE
    assert free.tolist() == [False, True, True, True, False, True]
    assert np.isinf(model.mass[~free]).all()
    assert not model.inverse_mass[~free].any()
    assert not model.inverse_inertia[~free].any()
    np.testing.assert_allclose(model.inverse_mass[free] * model.mass[free, None], 1.0, rtol=1e-15)


def test_inverse_inertias():
    model, _, _ = compile_scene(mixed_scene())
    for body in (1, 2, 5):
        np.testing.assert_allclose(model.inertia[body] @ model.inverse_inertia[body], np.eye(3), atol=1e-14)
        np.testing.assert_array_equal(model.inverse_inertia[body], model.inverse_inertia[body].T)
    assert not model.inertia[3].any()  # a particle does not turn
    assert not model.inverse_inertia[3].any()


def test_shapes_are_seen_from_the_centre_of_mass():
    scene = mixed_scene()
    model, state, _ = compile_scene(scene)
    turn = rotation_matrix(scene.description("body_2").orientation)
    for shape, place in ((2, (0, 0, 1)), (3, (0, 0, -1))):
        in_world = state.position[2] + turn @ model.shape_position[shape]
        np.testing.assert_allclose(in_world, [4, 0, 0] + turn @ place, atol=1e-15)
    volumes = np.array([math.pi / 6, 0.5**3])
    np.testing.assert_allclose(model.centre[2], [0, 0, (volumes[0] - volumes[1]) / volumes.sum()], rtol=1e-14)
    np.testing.assert_array_equal(model.centre[5], [0.1, 0, 0])
    np.testing.assert_array_equal(model.shape_body, [0, 1, 2, 2, 3, 4])


def test_the_axes_of_the_ground():
    model, _, _ = compile_scene(mixed_scene())
    np.testing.assert_array_equal(model.shape_rotation[0], np.eye(3))
    np.testing.assert_array_equal(model.shape_position[0], 0)


def test_joints_meet_when_the_scene_begins():
    scene = mixed_scene()
    axis = np.array([1.0, 2.0, 2.0]) / 3
    scene.add_hinge("body_2", "box_1", position=(0.3, 0.4, 0.5), axis=3 * axis, limits=(-1, 2), speed=3, strength=4)
    scene.add_slider("box_1", position=(1, 1, 1), axis=(0, 0, -1), compliance=0.1, damping=0.2, collide=True)
    scene.add_ball("box_1", "particle_3", position=(1, 0, 0), collide=True)
    scene.add_fixed("body_5", "body_2", position=(1, 0, 0))
    model, state, _ = compile_scene(scene)
    assert scene.names[-1] == "world"
    assert model.joint.tolist() == [Joint.HINGE, Joint.SLIDER, Joint.BALL, Joint.FIXED]
    assert model.joint_a.tolist() == [2, 1, 1, 5]
    assert model.joint_b.tolist() == [1, 6, 3, 2]
    assert (model.kind[6], model.mass[6]) == (Kind.STATIC, math.inf)
    for j, (joint, along) in enumerate(zip(scene.joints, [axis, (0, 0, -1), (0, 0, 1), (0, 0, 1)], strict=True)):
        ends = (
            (model.joint_a, model.joint_anchor_a, model.joint_frame_a),
            (
                model.joint_b,
                model.joint_anchor_b,
                model.joint_frame_b,
            ),
        )
        frames = []
        for body, anchor, frame in ends:
            turn = rotation_matrix(tuple(state.quaternion[body[j]]))
            np.testing.assert_allclose(state.position[body[j]] + turn @ anchor[j], joint.position, atol=1e-15)
            frames.append(turn @ frame[j])
        np.testing.assert_allclose(frames[0], frames[1], atol=1e-15)
        np.testing.assert_allclose(frames[0][:, 2], along, atol=1e-15)
        np.testing.assert_allclose(frames[0].T @ frames[0], np.eye(3), atol=1e-15)
        assert np.linalg.det(frames[0]) == pytest.approx(1.0)
    np.testing.assert_array_equal(model.joint_lower, [-1, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(model.joint_upper, [2, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(model.joint_target, [3, 0, 0, 0])
    np.testing.assert_array_equal(model.joint_strength, [4, 0, 0, 0])
    np.testing.assert_array_equal(model.joint_compliance, np.outer([0, 0.1, 0, 0], np.ones(6)))
    np.testing.assert_array_equal(model.joint_damping, np.outer([0, 0.2, 0, 0], np.ones(6)))
    assert model.apart.tolist() == [1 * 7 + 2, 2 * 7 + 5]


def test_pairs_that_never_touch_are_sorted_and_single():
    scene = Scene()
    bodies = [scene.add_sphere(0.1, mass=1.0) for _ in range(4)]
    scene.set_pair(bodies[3], bodies[0], collide=False)
    scene.set_pair(bodies[0], bodies[1], collide=False)
    scene.add_ball(bodies[1], bodies[0], position=(0, 0, 0))
    model, _, _ = compile_scene(scene)
    assert model.apart.tolist() == [1, 3]


def test_a_planar_hinge_turns_about_y():
    scene = Scene(planar=True)
    body = scene.add_box((1, 1), mass=1.0, orientation=0.3)
    scene.add_hinge(body, position=(0, 1))
    model, state, _ = compile_scene(scene)
    turn = rotation_matrix(tuple(state.quaternion[0]))
    np.testing.assert_allclose(turn @ model.joint_frame_a[0] @ [0, 0, 1], [0, 1, 0], atol=1e-15)
    np.testing.assert_array_equal(model.joint_anchor_b, [[0, 0, 1]])


def test_forces_add_up():
    scene = Scene()
    body = scene.add_box(1.0, mass=1.0)
    scene.apply(body, force=(1, 2, 3))
    scene.apply(body, force=(1, 0, 0), torque=(0, 0, 5))
    model, _, drives = compile_scene(scene)
    np.testing.assert_array_equal(model.force, [[2, 2, 3]])
    np.testing.assert_array_equal(model.torque, [[0, 0, 5]])
    assert not drives


def driven(drives, model, state, time=0.0):
    force, torque = np.zeros_like(model.force), np.zeros_like(model.torque)
    drives.add_forces(time, state, model, force, torque)
    return force, torque


@pytest.mark.parametrize("planar", [False, True])
def test_a_force_at_a_point_has_an_arm_that_turns_with_the_body(planar):
    scene = Scene(planar=planar)
    body = scene.add_body([Box(1.0, position=(1, 0, 0))], mass=1.0)
    scene.apply(body, force=(0, 0, 2), torque=(0, 1, 0), point=(3, 0, 0))
    model, state, drives = compile_scene(scene)
    np.testing.assert_array_equal(model.torque, [[0, 1, 0]])
    np.testing.assert_array_equal(model.force, [[0, 0, 0]])
    force, torque = driven(drives, model, state)
    np.testing.assert_array_equal(force, [[0, 0, 2]])
    np.testing.assert_allclose(torque, [np.cross([2, 0, 0], [0, 0, 2])])  # the centre of mass is at x = 1
    angle = 0.4
    state.quaternion[0] = [math.cos(angle / 2), 0, math.sin(angle / 2), 0]
    arm = 2 * np.array([math.cos(angle), 0, -math.sin(angle)])
    np.testing.assert_allclose(driven(drives, model, state)[1], [np.cross(arm, [0, 0, 2])], rtol=1e-14)


def test_a_force_function_sees_time_and_state():
    scene = Scene()
    anchor = scene.add_particle(1.0, position=(0, 0, 1))
    body = scene.add_body([Sphere(1.0, (1, 0, 0))], mass=1.0, position=(2, 0, 0), velocity=(0, 3, 0), spin=(0, 0, 4))

    def spring(time, state):
        stretch = state.position(anchor) - state.position(body)
        return time * stretch - state.velocity(body), -state.spin(body)

    scene.apply(body, spring)
    model, state, drives = compile_scene(scene)
    force, torque = driven(drives, model, state, time=10.0)
    np.testing.assert_allclose(force, [[0, 0, 0], [-20, -3, 10]])
    np.testing.assert_allclose(torque, [[0, 0, 0], [0, 0, -4]])


def test_a_view_gives_the_origin_of_the_body():
    scene = Scene()
    body = scene.add_body([Sphere(1.0, (1, 2, 3))], mass=1.0, position=(5, 6, 7), orientation=((1, 1, 0), 0.8))
    model, state, _ = compile_scene(scene)
    assert np.linalg.norm(state.position[0] - [5, 6, 7]) == pytest.approx(math.sqrt(14))
    np.testing.assert_allclose(StateView(state, model.centre).position(body), [5, 6, 7], rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda t, s: (1, 2, 3), "the force on 'ball' at time 0.5: the value returned is (1, 2, 3), expected a pair"),
        (
            lambda t, s: ((1, 2), (0, 0, 0)),
            "the force on 'ball' at time 0.5: force is (1, 2), expected three finite nu",
        ),
        (
            lambda t, s: ((1, 2, 3), (0, 0, math.nan)),
            "the force on 'ball' at time 0.5: torque is (0, 0, nan), expected",
        ),
    ],
)
def test_what_a_force_function_returns_is_checked(function, sentence):
    scene = Scene()
    scene.apply(scene.add_sphere(1.0, mass=1.0, name="ball"), function)
    model, state, drives = compile_scene(scene)
    with pytest.raises(InputError) as caught:
        driven(drives, model, state, time=0.5)
    assert str(caught.value).startswith(sentence)


def test_a_body_moves_by_functions_of_time():
    scene = Scene()
    still = scene.add_box(1.0, moving=True, velocity=(1, 0, 0))
    shaken = scene.add_box(1.0, moving=True, velocity=lambda t: (0, math.cos(t), 0), spin=(0, 0, 2))
    turned = scene.add_plane(moving=True, spin=lambda t: np.array([t, 0, 0]))
    _, state, drives = compile_scene(scene)
    np.testing.assert_array_equal(state.velocity[still.index], [1, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(state.velocity[shaken.index], [0, 1, 0, 0, 0, 2])
    assert bool(drives)
    drives.prescribe(math.pi, state)
    np.testing.assert_array_equal(state.velocity[shaken.index], [0, -1, 0, 0, 0, 2])
    np.testing.assert_array_equal(state.velocity[turned.index], [0, 0, 0, math.pi, 0, 0])


def test_a_motion_that_is_no_velocity_is_refused():
    scene = Scene()
    scene.add_box(1.0, moving=True, velocity=lambda t: 1.0, name="belt")
    with pytest.raises(
        InputError, match=r"^moving body 'belt' at time 0: velocity is 1.0, expected three finite numbers"
    ):
        compile_scene(scene)


def test_a_scene_may_be_changed_and_compiled_again():
    scene = mixed_scene()
    first, state, _ = compile_scene(scene)
    scene.add_box(1.0, mass=1.0)
    scene.place("box_1", position=(9, 9, 9))
    second, changed, _ = compile_scene(scene)
    assert (first.mass.size, second.mass.size) == (6, 7)
    np.testing.assert_array_equal(state.position[1], [1, 2, 3])
    np.testing.assert_array_equal(changed.position[1], [9, 9, 9])


def test_an_inertia_too_small_for_its_inverse_is_refused():
    scene = Scene()
    scene.add_sphere(1e-100, mass=1e-200, name="speck")
    with pytest.raises(InputError, match=r"^body 'speck': mass is 1e-200, expected a mass and an inertia that have an"):
        compile_scene(scene)


def test_what_drives_joints_is_beside_the_model():
    scene = Scene()
    for name in "abc":
        scene.add_sphere(0.1, mass=1.0, name=name)
    servo = {"target": 0.5, "stiffness": 6.0, "gain": 7.0, "strength": 8.0}
    scene.add_hinge("a", position=(0, 0, 0), axis=(0, 0, 1), speed=1.0, **servo)
    scene.add_ball("b", position=(0, 0, 0))
    scene.add_slider("c", position=(0, 0, 0), axis=(0, 0, 1), effort=-2.0)
    model, _, drives = compile_scene(scene)
    assert not drives  # no functions
    expected = {"target": [0.5, 0, 0], "speed": [1, 0, 0], "stiffness": [6, 0, 0], "gain": [7, 0, 0]}
    expected |= {"strength": [8, 0, 0], "effort": [0, 0, -2]}
    for name, values in drives.motors._asdict().items():
        np.testing.assert_array_equal(values, expected[name])
    np.testing.assert_array_equal(model.joint_strength, [8, 0, 0])
    for name, values in motors_of(model)._asdict().items():
        np.testing.assert_array_equal(values, expected[name] if name in ("speed", "strength") else np.zeros(3))
