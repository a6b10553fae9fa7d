"""A scene with other numbers in it: what is varied is compiled, what is not stays as it was."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import InputError
from stickslip.scene.vary import place_of, varied


def door():
    scene = ss.Scene()
    scene.add_plane(name="ground", friction=0.4)
    frame = scene.add_box(size=0.1, static=True, name="post", position=(0, 0, 1))
    leaf = scene.add_box(size=(1.0, 0.1, 2.0), mass=20.0, name="leaf.1", position=(0.5, 0, 1.1), velocity=(0, 0, 0))
    scene.add_sphere(radius=0.1, density=500.0, name="ball", position=(3, 0, 1))
    scene.add_hinge(leaf, frame, position=(0, 0, 1), axis=(0, 0, 1), name="hinge", strength=3.0, speed=1.0)
    scene.set_pair("ground", "ball", friction=0.9, restitution=0.5)
    return scene


def compiled(**values):
    return ss.compile_scene(varied(door(), {name.replace("__", "."): value for name, value in values.items()}))


def test_every_material_and_the_pairs_that_say_it():
    model, _, _ = compiled(friction=0.3)
    assert np.unique(model.friction_static).tolist() == [0.3]
    model, _, _ = compiled(restitution=0.7)
    assert model.restitution.min() == model.restitution.max() == 0.7


def test_one_body():
    model, state, _ = ss.compile_scene(
        varied(door(), {"ball.mass": 2.0, "ball.velocity.y": -3.0, "leaf.1.position.z": 1.2, "ball.radius": 0.2})
    )
    assert model.mass[3] == 2.0
    assert state.velocity[3, :3].tolist() == [0.0, -3.0, 0.0]
    assert state.position[2].tolist() == [0.5, 0.0, 1.2]
    assert model.shape_bound[3] == 0.2
    heavier, _, _ = compiled(ball__density=1000.0)
    assert heavier.mass[3] == pytest.approx(1000.0 * 4 / 3 * np.pi * 1e-3)


def test_gravity_and_joints():
    model, _, drives = compiled(gravity__z=-1.62, hinge__speed=-2.0)
    assert model.gravity.tolist() == [0.0, 0.0, -1.62]
    assert drives.motors.speed.tolist() == [-2.0]


def test_the_scene_itself_stays():
    scene = door()
    before = ss.compile_scene(scene)[0]
    varied(scene, {"friction": 0.1, "ball.mass": 7.0, "gravity.z": 0.0, "hinge.speed": 0.0})
    after = ss.compile_scene(scene)[0]
    for name, a, b in zip(before._fields, before, after, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("frction", "the scene has no parameter 'frction', expected one of ground.…"),
        ("ball.frction", "expected one of mass, density"),
        ("box.mass", "the scene has no parameter 'box.mass'"),
        ("hinge.friction", "expected one of compliance"),
        ("ball.size", "the scene has no parameter 'ball.size'"),
    ],
)
def test_a_parameter_that_does_not_exist_is_one_sentence(name, part):
    with pytest.raises(InputError) as error:
        place_of(door(), name)
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ball.mass", -1.0),
        ("friction", -0.1),
        ("ball.velocity", (1.0, 2.0)),
        ("post.velocity.x", 1.0),
        ("restitution", 2),
    ],
)
def test_values_are_checked_as_the_scene_checks_them(name, value):
    with pytest.raises(InputError, match="expected"):
        varied(door(), {name: value})
    with pytest.raises(InputError, match="expected a vector"):
        varied(door(), {"ball.mass.x": 1.0})
