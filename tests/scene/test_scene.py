"""What a scene takes and what it refuses."""

import copy
import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.scene.compile import compile_scene
from stickslip.scene.materials import Material
from stickslip.scene.model import Kind
from stickslip.scene.scene import Scene
from stickslip.scene.shapes import Box, Plane, Point, Sphere

NAN = math.nan


def test_the_scene_of_the_first_example():
    scene = Scene()
    scene.add_plane(friction=1.0)
    box = scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(0, 5, 0), spin=(0, 0, 6.283))
    model, state, drives = compile_scene(scene)
    assert (box.index, box.name) == (1, "box_1")
    assert model.friction_static[tuple(model.shape_material)] == 1.0
    np.testing.assert_array_equal(state.position[1], [0, 0, 0.5])
    np.testing.assert_array_equal(state.velocity[1], [0, 5, 0, 0, 0, 6.283])
    np.testing.assert_allclose(model.inertia[1], np.eye(3) / 6, rtol=1e-15)
    assert not drives
    assert repr(scene) == "Scene(bodies: 1 static, 1 free, gravity=(0.0, 0.0, -9.81))"


def test_names_and_handles_stand_for_the_same_body():
    scene = Scene()
    crate = scene.add_box(1.0, mass=1.0, name="crate")
    assert scene.body("crate") == crate
    assert scene.description(crate) == scene.description("crate")
    assert scene.names == ("crate",)
    assert scene.bodies == (crate,)
    assert copy.deepcopy(scene).description(crate) == scene.description(crate)


def test_a_name_that_is_made_up_avoids_those_given():
    scene = Scene()
    scene.add_sphere(1.0, mass=1.0, name="box_1")
    assert scene.add_box(1.0, mass=1.0).name not in ("box_1",)
    assert len(set(scene.names)) == 2


def test_a_body_of_another_scene_is_refused():
    scene, other = Scene(), Scene()
    scene.add_box(1.0, mass=1.0)
    foreign = other.add_box(1.0, mass=1.0)
    with pytest.raises(InputError, match="expected a body of this scene, and this is one of another"):
        scene.apply(foreign, force=(1, 0, 0))


def test_material_and_its_fields_as_keywords():
    scene = Scene()
    steel = Material(friction=0.3, restitution=0.2)
    body = scene.add_box(1.0, mass=1.0, material=steel, restitution=0.6, friction=None)
    assert scene.description(body).material == Material(friction=0.3, restitution=0.6)


def test_orientations_that_are_the_same():
    scene = Scene()
    a = scene.add_box(1.0, mass=1.0, orientation=((0, 0, 2), math.pi / 2))
    b = scene.add_box(1.0, mass=1.0, orientation=(3, 0, 0, 3))
    np.testing.assert_allclose(scene.description(a).orientation, [math.sqrt(0.5), 0, 0, math.sqrt(0.5)], rtol=1e-15)
    np.testing.assert_allclose(scene.description(a).orientation, scene.description(b).orientation, rtol=1e-15)


def test_a_planar_scene_takes_short_forms():
    scene = Scene(gravity=(0, -10), planar=True)
    body = scene.add_box(size=(2, 1), mass=3.0, position=(1, 2), velocity=(4, 5), spin=6, orientation=0.5)
    scene.apply(body, force=(7, 8), torque=9)
    model, state, _ = compile_scene(scene)
    np.testing.assert_array_equal(model.gravity, [0, 0, -10])
    np.testing.assert_array_equal(state.position, [[1, 0, 2]])
    np.testing.assert_array_equal(state.velocity, [[4, 0, 5, 0, 6, 0]])
    np.testing.assert_allclose(state.quaternion, [[math.cos(0.25), 0, math.sin(0.25), 0]], rtol=1e-15)
    np.testing.assert_array_equal(model.force, [[7, 0, 8]])
    np.testing.assert_array_equal(model.torque, [[0, 9, 0]])
    np.testing.assert_array_equal(model.inverse_mass, [[1 / 3, 0, 1 / 3]])
    np.testing.assert_array_equal(model.shape_size, [[1, 0, 0.5]])
    inertia = 3 * (2**2 + 1**2) / 12
    np.testing.assert_allclose(model.inverse_inertia, [np.diag([0, 1 / inertia, 0])], rtol=1e-15)


def test_three_lengths_and_two_make_the_same_planar_body():
    scene = Scene(planar=True)
    for size in [(2, 1), (2, 9, 1)]:
        scene.add_box(size=size, density=5.0)
    model, _, _ = compile_scene(scene)
    for array in (model.mass, model.inertia, model.shape_size):
        np.testing.assert_array_equal(array[0], array[1])
    assert model.mass[0] == 10.0  # 5 kg/m²


def test_place_moves_a_body_and_nothing_else():
    scene = Scene()
    body = scene.add_box(1.0, mass=2.0, position=(1, 2, 3), velocity=(4, 5, 6))
    scene.place(body, position=(7, 8, 9), spin=(0, 0, 1))
    _, state, _ = compile_scene(scene)
    np.testing.assert_array_equal(state.position, [[7, 8, 9]])
    np.testing.assert_array_equal(state.velocity, [[4, 5, 6, 0, 0, 1]])
    with pytest.raises(InputError, match=r"^body 'box_0': position is \(1, 2\), expected three finite numbers"):
        scene.place(body, position=(1, 2))


def test_a_refused_body_leaves_the_scene_as_it_was():
    scene = Scene()
    with pytest.raises(InputError):
        scene.add_box(1.0, mass=-1.0, name="crate")
    assert len(scene) == 0
    assert scene.add_box(1.0, mass=1.0, name="crate").index == 0


def with_two(planar=False):
    scene = Scene(planar=planar)
    scene.add_sphere(1.0, mass=1.0, name="a")
    scene.add_sphere(1.0, mass=1.0, name="b")
    scene.add_sphere(1.0, static=True, name="s")
    scene.add_particle(1.0, name="p")
    return scene


REFUSED = [
    (lambda s: s.add_box(1.0, mass=-1), "box 'box_4': mass is -1, expected a positive mass in kg"),
    (lambda s: s.add_box(1.0, mass=NAN), "box 'box_4': mass is nan, expected a positive mass in kg"),
    (lambda s: s.add_box(1.0, mass="1"), "box 'box_4': mass is '1', expected a positive mass in kg"),
    (lambda s: s.add_box(1.0, mass=10**400), "box 'box_4': mass is 1000"),
    (lambda s: s.add_box(1.0), "box 'box_4': mass is None, expected a mass or a density, because this body is free"),
    (lambda s: s.add_box(1.0, mass=1, density=2), "box 'box_4': density is 2.0, expected no density beside mass 1.0"),
    (lambda s: s.add_box(1.0, density=0), "box 'box_4': density is 0, expected a positive number"),
    (lambda s: s.add_box((1, 2), mass=1), "Box: size is (1.0, 2.0), expected one positive length or three, because"),
    (
        lambda s: s.add_box(1.0, mass=1, name="a"),
        "box: name is 'a', expected a name that is not taken, and body 0 has it",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, name="world"),
        "box: name is 'world', expected a printable text that is not empty",
    ),
    (lambda s: s.add_box(1.0, mass=1, name=3), "box: name is 3, expected a printable text"),
    (
        lambda s: s.add_box(1.0, mass=1, position=(0, 0)),
        "box 'box_4': position is (0, 0), expected three finite numbers",
    ),
    (lambda s: s.add_box(1.0, mass=1, position=[0, NAN, 0]), "box 'box_4': position is [0, nan, 0], expected three"),
    (lambda s: s.add_box(1.0, mass=1, position="abc"), "box 'box_4': position is 'abc', expected three"),
    (
        lambda s: s.add_box(1.0, mass=1, orientation=(0, 0, 0, 0)),
        "box 'box_4': orientation is (0, 0, 0, 0), expected a q",
    ),
    (lambda s: s.add_box(1.0, mass=1, orientation=0.5), "box 'box_4': orientation is 0.5, expected a quaternion"),
    (
        lambda s: s.add_box(1.0, mass=1, orientation=((0, 0, 0), 1)),
        "box 'box_4': orientation is ((0, 0, 0), 1), expected",
    ),
    (lambda s: s.add_box(1.0, mass=1, spin=2), "box 'box_4': spin is 2, expected three finite numbers"),
    (lambda s: s.add_box(1.0, static=True, moving=True), "box 'box_4': moving is True, expected False beside static"),
    (lambda s: s.add_box(1.0, static=1), "box 'box_4': static is 1, expected True or False"),
    (
        lambda s: s.add_box(1.0, static=True, velocity=(1, 0, 0)),
        "box 'box_4': velocity is (1, 0, 0), expected none for a",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, velocity=math.sin),
        "box 'box_4': velocity is <built-in function sin>, expected nu",
    ),
    (lambda s: s.add_box(1.0, mass=1, friction=-1), "box 'box_4': friction is -1, expected a number >= 0"),
    (lambda s: s.add_box(1.0, mass=1, fricton=1), "box 'box_4': fricton is 1, expected one of the keywords material, "),
    (lambda s: s.add_box(1.0, mass=1, material=0.5), "box 'box_4': material is 0.5, expected a Material"),
    (
        lambda s: s.add_box(1.0, mass=1, inertia=(1, 1, 3)),
        "box 'box_4': inertia is (1, 1, 3), expected principal moments",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, inertia=(1, 1, -1)),
        "box 'box_4': inertia is (1, 1, -1), expected a positive def",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, inertia=[[1, 2, 0], [2, 1, 0], [0, 0, 1]]),
        "box 'box_4': inertia is [[1, 2, 0],",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]),
        "box 'box_4': inertia is [[1, 1, 0],",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, inertia="round"),
        "box 'box_4': inertia is 'round', expected a positive number, ",
    ),
    (lambda s: s.add_box(1.0, mass=1, inertia=0), "box 'box_4': inertia is 0, expected a positive definite one"),
    (
        lambda s: s.add_body([Sphere(1)], mass=1, centre=(0, 0, 1)),
        "body 'body_4': centre is (0.0, 0.0, 1.0), expected an",
    ),
    (
        lambda s: s.add_body([Plane()], mass=1),
        "body 'body_4': shapes is 'a free body with a Plane', expected static or",
    ),
    (
        lambda s: s.add_body([], mass=1),
        "body 'body_4': inertia is None, expected an inertia, because the shapes have vol",
    ),
    (lambda s: s.add_body([Point((1, 0, 0)), Point()], mass=1), "body 'body_4': inertia is None, expected an inertia"),
    (
        lambda s: s.add_body([Point()], density=1),
        "body 'body_4': density is 1.0, expected a mass instead, because the sh",
    ),
    (
        lambda s: s.add_body(["box"], mass=1),
        "add_body: shapes is ['box'], expected a list of Plane, Point, Sphere, Box, ",
    ),
    (lambda s: s.add_particle(0.0), "particle 'particle_4': mass is 0.0, expected a positive mass in kg"),
    (
        lambda s: s.place("p", spin=(0, 0, 1)),
        "body 'p': spin is (0.0, 0.0, 1.0), expected none, because a particle does",
    ),
    (lambda s: s.apply("x", (1, 0, 0)), "apply: body is 'x', expected a body of this scene, or its name"),
    (lambda s: s.apply("s", (1, 0, 0)), "apply to 's': body is 'static body', expected a free one"),
    (lambda s: s.apply("a", (1, 0)), "apply to 'a': force is (1, 0), expected three finite numbers"),
    (lambda s: s.apply("p", torque=(1, 0, 0)), "apply to 'p': torque is (1, 0, 0), expected none, because a particle"),
    (
        lambda s: s.apply("p", point=(1, 0, 0)),
        "apply to 'p': point is (1, 0, 0), expected none, because a particle is o",
    ),
    (
        lambda s: s.apply("a", max, torque=(1, 0, 0)),
        "apply to 'a': force is <built-in function max>, expected no torque",
    ),
    (lambda s: s.set_pair("a", "a"), "set_pair('a', 'a'): b is 'a', expected another body than a"),
    (
        lambda s: s.set_pair("a", "b", restitution=2),
        "set_pair('a', 'b'): restitution is 2, expected a number from 0 to 1",
    ),
    (
        lambda s: s.set_pair("a", "b", friction=0.1, friction_kinetic=0.2),
        "set_pair('a', 'b'): friction_kinetic is 0.2, e",
    ),
    (lambda s: s.add_ball("a", "c", position=(0, 0, 0)), "ball: b is 'c', expected a body of this scene, or its name"),
    (lambda s: s.add_ball("a", "a", position=(0, 0, 0)), "ball of 'a': b is 'a', expected another body than a"),
    (lambda s: s.add_ball("s", position=(0, 0, 0)), "ball of 's': a is 's', expected a free body, as at least one of"),
    (lambda s: s.add_ball("a", position=(0, 0)), "ball of 'a': position is (0, 0), expected three finite numbers"),
    (lambda s: s.add_fixed("a", "p", position=(0, 0, 0)), "fixed of 'a': b is 'p', expected a body that turns"),
    (lambda s: s.add_hinge("a", position=(0, 0, 0)), "hinge of 'a': axis is None, expected a direction"),
    (
        lambda s: s.add_hinge("a", position=(0, 0, 0), axis=(0, 0, 0)),
        "hinge of 'a': axis is (0, 0, 0), expected a direct",
    ),
    (
        lambda s: hinge(s, limits=(1, -1)),
        "hinge of 'a': limits is (1, -1), expected two numbers (least, greatest), least",
    ),
    (lambda s: hinge(s, limits=(0.1, 1)), "hinge of 'a': limits is (0.1, 1), expected two numbers (least, greatest)"),
    (
        lambda s: hinge(s, limits=(-4, 4)),
        "hinge of 'a': limits is (-4, 4), expected angles between -π and π, or infinite",
    ),
    (lambda s: hinge(s, limits=3), "hinge of 'a': limits is 3, expected two numbers"),
    (lambda s: hinge(s, limits=(NAN, 1)), "hinge of 'a': limits is nan, expected two numbers"),
    (lambda s: hinge(s, speed=1), "hinge of 'a': strength is 0.0, expected a positive number beside a speed, or inf"),
    (lambda s: hinge(s, strength=-1), "hinge of 'a': strength is -1, expected a number >= 0, or inf"),
    (lambda s: hinge(s, stiffness=1), "hinge of 'a': strength is 0.0, expected a positive number beside a stiffness"),
    (lambda s: hinge(s, gain=1), "hinge of 'a': strength is 0.0, expected a positive number beside a gain, or inf"),
    (lambda s: hinge(s, target=1, strength=1), "hinge of 'a': stiffness is 0.0, expected a positive number beside a t"),
    (lambda s: hinge(s, target=NAN), "hinge of 'a': target is nan, expected a finite number"),
    (lambda s: hinge(s, stiffness=-1), "hinge of 'a': stiffness is -1, expected a number >= 0"),
    (lambda s: hinge(s, gain=math.inf), "hinge of 'a': gain is inf, expected a number >= 0"),
    (lambda s: hinge(s, effort=math.inf), "hinge of 'a': effort is inf, expected a finite number"),
    (
        lambda s: hinge(s, limits=(-1, 1), target=2, stiffness=1, strength=1),
        "hinge of 'a': target is 2.0, expected a position within the limits (-1.0, 1.0)",
    ),
    (lambda s: hinge(s, name=""), "hinge: name is '', expected a printable text that is not empty"),
    (lambda s: hinge(s, name=3), "hinge: name is 3, expected a printable text"),
    (
        lambda s: (hinge(s, name="elbow"), s.add_ball("b", position=(0, 0, 0), name="elbow")),
        "ball: name is 'elbow', expected a name that is not taken, and joint 0 has it",
    ),
    (lambda s: hinge(s, compliance=-1), "hinge of 'a': compliance is -1, expected a number >= 0"),
    (lambda s: hinge(s, damping=1), "hinge of 'a': damping is 1, expected 0 where compliance is 0, because a rigid"),
    (lambda s: hinge(s, collide=0), "hinge of 'a': collide is 0, expected True or False"),
    (lambda s: Scene(gravity=(0, NAN, 0)), "Scene: gravity is (0, nan, 0), expected three finite numbers"),
    (lambda s: Scene(planar=1), "Scene: planar is 1, expected True or False"),
    (lambda s: s.body("x"), "Scene.body: name is 'x', expected a body of this scene, or its name"),
]


def hinge(scene, **given):
    scene.add_hinge("a", "b", position=(0, 0, 0), axis=(0, 0, 1), **given)


@pytest.mark.parametrize(("act", "sentence"), REFUSED, ids=[sentence[:50] for _, sentence in REFUSED])
def test_what_cannot_be_gets_one_sentence(act, sentence):
    with pytest.raises(InputError) as caught:
        act(with_two())
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


PLANAR_REFUSED = [
    (
        lambda s: s.add_box(1.0, mass=1, position=(0, 1, 0)),
        "box 'box_4': position is (0, 1, 0), expected two finite num",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, spin=(1, 0, 0)),
        "box 'box_4': spin is (1, 0, 0), expected a finite number (about y",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, orientation=((1, 0, 0), 1)),
        "box 'box_4': orientation is ((1, 0, 0), 1), expected ",
    ),
    (
        lambda s: s.add_box(1.0, mass=1, inertia=(1, 1, 1)),
        "box 'box_4': inertia is (1, 1, 1), expected a positive number",
    ),
    (lambda s: s.add_plane((0, 1, 0)), "Plane: normal is (0.0, 1.0, 0.0), expected two finite numbers (x, z)"),
    (
        lambda s: s.add_body([Box(1, position=(0, 1, 0))], mass=1),
        "Box: position is (0.0, 1.0, 0.0), expected two finite",
    ),
    (lambda s: s.apply("a", (1, 1, 1)), "apply to 'a': force is (1, 1, 1), expected two finite numbers"),
    (
        lambda s: s.add_hinge("a", position=(0, 0), axis=(1, 0, 0)),
        "hinge of 'a': axis is (1, 0, 0), expected the y axis",
    ),
    (
        lambda s: s.add_slider("a", position=(0, 0), axis=(0, 1, 0)),
        "slider of 'a': axis is (0, 1, 0), expected two fini",
    ),
]


@pytest.mark.parametrize(("act", "sentence"), PLANAR_REFUSED, ids=[sentence[:50] for _, sentence in PLANAR_REFUSED])
def test_what_leaves_the_plane_gets_one_sentence(act, sentence):
    with pytest.raises(InputError) as caught:
        act(with_two(planar=True))
    assert str(caught.value).startswith(sentence)


def test_kinds():
    scene = Scene()
    bodies = [
        scene.add_plane(),
        scene.add_plane(moving=True, velocity=(1, 0, 0)),
        scene.add_box(1.0, static=True, mass=3.0),
        scene.add_box(1.0, moving=True, spin=(0, 0, 1)),
        scene.add_particle(1.0),
    ]
    kinds = [Kind.STATIC, Kind.MOVING, Kind.STATIC, Kind.MOVING, Kind.FREE]
    assert [scene.description(body).kind for body in bodies] == kinds


def test_joints_have_names():
    scene = Scene()
    for name in ("a", "b", "c", "d"):
        scene.add_sphere(0.1, mass=1.0, name=name)
    scene.add_fixed("a", position=(0, 0, 0), name="joint 1")
    scene.add_ball("b", position=(0, 0, 0))
    scene.add_hinge("c", position=(0, 0, 0), axis=(0, 0, 1), name="wrist")
    scene.add_slider("d", position=(0, 0, 0), axis=(0, 0, 1))
    assert scene.joint_names == ("joint 1", "joint 1_", "wrist", "joint 3")
    assert [joint.name for joint in scene.joints] == list(scene.joint_names)
