"""Mass properties against quadrature, and against bodies cut into parts."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from stickslip.errors import InputError
from stickslip.scene.compile import compile_scene
from stickslip.scene.descriptions import mass_properties
from stickslip.scene.model import Shape
from stickslip.scene.scene import Scene
from stickslip.scene.shapes import Box, Capsule, Cylinder, Plane, Point, Sphere


def round_sections(shape):
    """The radius of the section of a round shape at height z, and where the shape ends and its sections kink."""
    match shape:
        case Sphere():
            return lambda z: math.sqrt(max(shape.radius**2 - z**2, 0.0)), [-shape.radius, shape.radius]
        case Cylinder():
            return lambda z: shape.radius, [-shape.length / 2, shape.length / 2]
        case Capsule():
            half, r = shape.length / 2, shape.radius
            return lambda z: math.sqrt(max(r**2 - max(abs(z) - half, 0.0) ** 2, 0.0)), [
                -half - r,
                -half,
                half,
                half + r,
            ]


def integral(function, breaks):
    return sum(quad(function, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(breaks))


ROUND = [Sphere(0.7), Cylinder(0.3, 1.1), Cylinder(2.0, 0.1), Capsule(0.3, 1.1), Capsule(1.2, 0.2)]


@pytest.mark.parametrize("shape", ROUND, ids=repr)
def test_round_shapes_are_the_sum_of_their_sections(shape):
    rho, breaks = round_sections(shape)
    across = integral(lambda z: math.pi * (rho(z) ** 4 / 4 + rho(z) ** 2 * z**2), breaks)
    along = integral(lambda z: math.pi * rho(z) ** 4 / 2, breaks)
    np.testing.assert_allclose(shape.volume, integral(lambda z: math.pi * rho(z) ** 2, breaks), rtol=1e-10)
    np.testing.assert_allclose(shape.inertia, [across, across, along], rtol=1e-10)


@pytest.mark.parametrize("shape", [*ROUND, Box((0.4, 9.0, 1.3)), Box((0.4, 1.3))], ids=repr)
def test_cuts_are_the_sum_of_their_chords(shape):
    if isinstance(shape, Box):
        rho, breaks = (lambda z: 0.2), [-0.65, 0.65]
    else:
        rho, breaks = round_sections(shape)
    np.testing.assert_allclose(shape.area, integral(lambda z: 2 * rho(z), breaks), rtol=1e-10)
    polar = integral(lambda z: 2 * rho(z) ** 3 / 3 + 2 * rho(z) * z**2, breaks)
    np.testing.assert_allclose(shape.moment, polar, rtol=1e-10)


def test_a_box_is_the_sum_of_its_points():
    size = np.array([0.4, 1.7, 0.9])
    nodes, weights = np.polynomial.legendre.leggauss(2)  # exact for squares
    points = np.array([[x, y, z] for x in nodes for y in nodes for z in nodes]) * size / 2
    weight = np.array([a * b * c for a in weights for b in weights for c in weights]) * size.prod() / 8
    squares = weight @ points**2
    box = Box(size)
    assert box.volume == pytest.approx(weight.sum(), rel=1e-14)
    np.testing.assert_allclose(box.inertia, squares.sum() - squares, rtol=1e-14)


def properties(shapes, planar=False, **given):
    scene = Scene(planar=planar)
    return mass_properties(scene.description(scene.add_body(shapes, **given)), planar)


QUATERNION = (0.5, -0.1, 0.7, 0.2)


def turned(vector, quaternion=QUATERNION):
    """R v, by the quaternion product q v q*, apart from the matrix that the package uses."""
    w, *u = np.array(quaternion) / np.linalg.norm(quaternion)
    t = 2 * np.cross(u, vector)
    return vector + w * t + np.cross(u, t)


def test_a_box_in_parts_has_the_mass_properties_of_the_whole():
    whole = properties([Box((1.0, 2.0, 3.0), position=(0.3, -1, 2), orientation=QUATERNION)], density=7.0)
    shift = turned(np.array([0.0, 0.0, 1.0]))
    parts = [
        Box((1.0, 2.0, 1.0), position=np.array([0.3, -1, 2]) + shift, orientation=QUATERNION),
        Box((1.0, 2.0, 2.0), position=np.array([0.3, -1, 2]) - shift / 2, orientation=QUATERNION),
    ]
    cut = properties(parts, density=7.0)
    assert cut.mass == pytest.approx(42.0, rel=1e-14) == whole.mass
    np.testing.assert_allclose(cut.centre, [0.3, -1, 2], atol=1e-14)
    np.testing.assert_allclose(cut.inertia, whole.inertia, atol=1e-13)
    axis = turned(np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(whole.inertia @ axis, 42 * (4 + 9) / 12 * axis, atol=1e-13)


def test_a_dumbbell_by_the_parallel_axis_theorem():
    m, r, d = 3.0, 0.2, 0.9
    found = properties([Sphere(r, position=(0, 0, -d)), Sphere(r, position=(0, 0, d))], mass=2 * m)
    ball = 2 / 5 * m * r**2
    np.testing.assert_allclose(found.inertia, np.diag([2 * (ball + m * d**2)] * 2 + [2 * ball]), atol=1e-14)
    np.testing.assert_allclose(found.centre, 0, atol=1e-16)


@pytest.mark.parametrize(
    ("shape", "moment"),
    [
        (Sphere(0.3), 0.3**2 / 2),
        (Box((0.4, 1.3)), (0.4**2 + 1.3**2) / 12),
        (Box(0.4), (0.4**2 + 0.4**2) / 12),
        (Box((0.4, 5.0, 1.3), orientation=0.7), (0.4**2 + 1.3**2) / 12),
        (Cylinder(0.2, 1.3), (0.4**2 + 1.3**2) / 12),
    ],
    ids=repr,
)
def test_planar_inertia_is_that_of_the_flat_shape_about_y(shape, moment):
    found = properties([shape], planar=True, mass=6.0)
    np.testing.assert_allclose(found.inertia, np.diag([0, 6 * moment, 0]), rtol=1e-14)


def test_a_planar_body_in_parts():
    whole = properties([Box((3.0, 1.0))], planar=True, density=2.0)
    cut = properties([Box((1.0, 1.0), position=(-1, 0)), Box((2.0, 1.0), position=(0.5, 0))], planar=True, density=2.0)
    assert cut.mass == whole.mass == 6.0
    np.testing.assert_allclose(cut.centre, 0, atol=1e-15)
    np.testing.assert_allclose(cut.inertia, whole.inertia, rtol=1e-14)


def test_the_sizes_and_bounds_that_collision_reads():
    scene = Scene()
    shapes = [Sphere(0.1), Box((1, 2, 3)), Capsule(0.1, 2), Cylinder(3, 8), Point((1, 1, 1)), Plane((0, 3, 4), 2.0)]
    scene.add_body(shapes, static=True)
    model, _, _ = compile_scene(scene)
    kinds = [Shape.SPHERE, Shape.BOX, Shape.CAPSULE, Shape.CYLINDER, Shape.SPHERE, Shape.PLANE]
    assert model.shape.tolist() == kinds
    sizes = [[0.1, 0, 0], [0.5, 1, 1.5], [0.1, 1, 0], [3, 4, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(model.shape_size, sizes)
    np.testing.assert_allclose(model.shape_bound, [0.1, math.sqrt(14) / 2, 1.1, 5.0, 0.0, math.inf], rtol=1e-15)
    np.testing.assert_allclose(model.shape_position[5], [0, 1.2, 1.6], rtol=1e-15)
    np.testing.assert_allclose(model.shape_rotation[5] @ [0, 0, 1], [0, 0.6, 0.8], rtol=1e-15)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Sphere(-1), "Sphere: radius is -1, expected a positive length in m"),
        (lambda: Sphere(math.inf), "Sphere: radius is inf, expected a positive length in m"),
        (lambda: Sphere("1"), "Sphere: radius is '1', expected a positive length in m"),
        (lambda: Sphere(True), "Sphere: radius is True, expected a positive length in m"),
        (
            lambda: Box((1, 2, -3)),
            "Box: size is (1, 2, -3), expected one positive length, three, or two (x, z) in a planar scene, in m",
        ),
        (lambda: Capsule(1, 0), "Capsule: length is 0, expected a positive length in m"),
        (lambda: Cylinder(math.nan, 1), "Cylinder: radius is nan, expected a positive length in m"),
        (
            lambda: Plane((0, 0, 0)),
            "Plane: normal is (0.0, 0.0, 0.0), expected a direction, a vector that is not zero",
        ),
        (lambda: Plane(offset=math.nan), "Plane: offset is nan, expected a finite number"),
        (
            lambda: Sphere(1, orientation=(0, 0, 0, 0)),
            "Sphere: orientation is (0, 0, 0, 0), "
            "expected a quaternion (w, x, y, z) that is not zero, or (axis, angle)",
        ),
        (
            lambda: Point((1, math.nan, 0)),
            "Point: position is (1, nan, 0), expected three finite numbers (x, y, z)",
        ),
    ],
)
def test_a_shape_that_cannot_be(make, sentence):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == sentence
