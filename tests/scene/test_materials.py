"""What two materials do together: the rules of scene/materials.py, one by one."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.scene.compile import compile_scene
from stickslip.scene.materials import FRICTION, Material, combine
from stickslip.scene.scene import Scene


def together(a, b):
    """Both orders, which must agree to the last bit."""
    table = combine([Material(**a), Material(**b)])
    for values in table:
        np.testing.assert_array_equal(values, values.T)
    return {name: float(values[0, 1]) for name, values in table._asdict().items()}


def test_friction_is_the_geometric_mean():
    found = together({"friction": 0.9, "friction_kinetic": 0.4}, {"friction": 0.4, "friction_kinetic": 0.1})
    assert found["friction_static"] == pytest.approx(0.6, rel=1e-15)
    assert found["friction_kinetic"] == pytest.approx(0.2, rel=1e-15)


def test_kinetic_friction_that_is_not_given_is_the_static_one():
    found = together({"friction": 0.9}, {"friction": 0.4, "friction_kinetic": 0.1})
    assert found["friction_static"] == pytest.approx(0.6, rel=1e-15)
    assert found["friction_kinetic"] == pytest.approx(0.3, rel=1e-15)


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.3, 1.0, 1000.0])
def test_the_same_friction_stays_what_it_is(mu):
    assert together({"friction": mu}, {"friction": mu})["friction_static"] == mu


def test_a_material_without_opinion_takes_the_friction_of_the_other():
    found = together({}, {"friction": 1.0, "friction_kinetic": 0.7})
    assert (found["friction_static"], found["friction_kinetic"]) == (1.0, 0.7)
    assert together({}, {"friction": 0.0})["friction_static"] == 0.0
    assert together({}, {})["friction_static"] == together({}, {})["friction_kinetic"] == FRICTION


def test_restitution_is_the_greater():
    assert together({"restitution": 0.2}, {"restitution": 0.7})["restitution"] == 0.7


def test_springs_are_in_series():
    found = together({"stiffness": 3e4, "stiffness_tangent": 2e4}, {"stiffness": 6e4})
    assert found["stiffness"] == pytest.approx(2e4, rel=1e-15)
    assert found["stiffness_tangent"] == 2e4
    assert together({}, {})["stiffness"] == math.inf


def test_a_rigid_surface_leaves_the_damping_of_the_other():
    found = together({"stiffness": 1e10, "damping": 1e8, "stiffness_tangent": 1e8, "damping_tangent": 1e5}, {})
    assert list(found.values())[3:] == [1e10, 1e8, 1e8, 1e5, 0.0]


def test_damping_of_materials_with_one_time_constant_keeps_it():
    """d/k = τ for both: two such springs in series move as one, with the same τ."""
    found = together({"stiffness": 3e4, "damping": 3e1}, {"stiffness": 6e4, "damping": 6e1})
    assert found["damping"] == pytest.approx(1e-3 * found["stiffness"], rel=1e-14)


def test_damping_dissipates_what_the_two_springs_do_when_slow():
    k, d = np.array([3e4, 5e4]), np.array([7.0, 2.0])
    x = (1 / k) / (1 / k).sum()  # how a unit rate of deformation is shared by two springs under one force
    found = together({"stiffness": k[0], "damping": d[0]}, {"stiffness": k[1], "damping": d[1]})
    assert found["damping"] == pytest.approx(d @ x**2, rel=1e-14)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"friction": -0.1}, "Material: friction is -0.1, expected a number >= 0"),
        ({"friction": math.inf}, "Material: friction is inf, expected a number >= 0"),
        (
            {"friction": 0.2, "friction_kinetic": 0.3},
            "Material: friction_kinetic is 0.3, expected at most friction 0.2",
        ),
        ({"friction_kinetic": 0.3}, "Material: friction_kinetic is 0.3, expected None where friction is None"),
        ({"restitution": 1.1}, "Material: restitution is 1.1, expected a number from 0 to 1"),
        ({"restitution": None}, "Material: restitution is None, expected a number from 0 to 1"),
        ({"stiffness": 0}, "Material: stiffness is 0, expected a positive number, or inf for a rigid surface"),
        ({"damping": -1}, "Material: damping is -1, expected a number >= 0"),
    ],
)
def test_a_material_that_cannot_be(given, sentence):
    with pytest.raises(InputError) as caught:
        Material(**given)
    assert str(caught.value) == sentence


def friction_of(scene, a, b):
    model, _, _ = compile_scene(scene)
    of = {int(body): int(material) for body, material in zip(model.shape_body, model.shape_material, strict=True)}
    cell = of[a.index], of[b.index]
    np.testing.assert_array_equal(model.friction_static, model.friction_static.T)
    return float(model.friction_static[cell]), float(model.friction_kinetic[cell])


def test_a_pair_overrides_only_its_own_bodies():
    scene = Scene()
    ground = scene.add_plane(friction=0.5)
    first, second, third = (scene.add_sphere(0.1, mass=1.0, position=(i, 0, 0.1)) for i in range(3))
    scene.set_pair(first, ground, friction=0.1)
    scene.set_pair("sphere_1", "sphere_2", friction=0.9, friction_kinetic=0.8)
    assert friction_of(scene, ground, first) == (0.1, 0.1)
    assert friction_of(scene, first, second) == (0.9, 0.8)
    for pair in [(ground, second), (ground, third), (second, third), (first, third)]:
        assert friction_of(scene, *pair) == (0.5, 0.5)


def test_bodies_that_are_alike_share_a_material():
    scene = Scene()
    ground = scene.add_plane(friction=0.5)
    for i in range(20):
        ball = scene.add_sphere(0.1, mass=1.0, position=(i, 0, 0.1), friction=0.2)
        if i % 2:
            scene.set_pair(ball, ground, friction=0.3, restitution=0.4)
    model, _, _ = compile_scene(scene)
    assert model.friction_static.shape == (3, 3)
    assert model.shape_material.tolist() == [0] + [1, 2] * 10
    np.testing.assert_allclose(model.friction_static[0], [0.5, math.sqrt(0.1), 0.3], rtol=1e-15)
    np.testing.assert_array_equal(model.restitution[0], [0, 0, 0.4])


def test_a_pair_override_replaces_an_older_one():
    scene = Scene()
    a, b = scene.add_plane(), scene.add_sphere(1.0, mass=1.0)
    scene.set_pair(a, b, friction=0.1, collide=False)
    scene.set_pair(b, a, restitution=0.4)
    model, _, _ = compile_scene(scene)
    assert friction_of(scene, a, b) == (0.5, 0.5)
    assert model.apart.size == 0


def test_a_kinetic_override_above_the_static_friction_is_refused():
    scene = Scene()
    a, b = scene.add_plane(friction=0.3, name="floor"), scene.add_sphere(1.0, mass=1.0, name="ball")
    scene.set_pair(a, b, friction_kinetic=0.4)
    with pytest.raises(
        InputError, match=r"^set_pair\('floor', 'ball'\): friction_kinetic is 0.4, expected at most the"
    ):
        compile_scene(scene)
