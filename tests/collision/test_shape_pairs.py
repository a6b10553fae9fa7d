"""Closed forms: gap, normal and point of every pair of shapes."""

import numpy as np
import pytest
from scene_arrays import (
    box,
    capsule,
    contacts_of,
    cylinder,
    hull,
    matrix,
    model_of,
    plane,
    sphere,
    state_of,
    touching,
    turn,
)

from stickslip.scene.model import Shape

ABOUT_X, ABOUT_Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
pytestmark = pytest.mark.core


def the_one(contacts):
    assert contacts.gap.size == 1
    return contacts.gap[0], contacts.normal[0], contacts.point[0]


def by_place(points):
    """Points in an order that rounding does not change."""
    return np.array(sorted(map(tuple, points), key=lambda point: tuple(np.round(point, 9))))


def check(contacts, gap, normal, point):
    found = the_one(contacts)
    for value, expected in zip(found, (gap, normal, point), strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-14)


@pytest.mark.parametrize("distance", [0.3, 0.5, 2.0])
def test_two_spheres(distance):
    direction = np.array([2.0, -1.0, 2.0]) / 3
    check(
        touching(sphere(0.2), sphere(0.3), distance * direction),
        distance - 0.5,
        direction,
        (0.2 + (distance - 0.5) / 2) * direction,
    )


def test_two_points_at_one_place_have_a_normal():
    gap, normal, point = the_one(touching(sphere(0.0), sphere(0.0), (0, 0, 0)))
    assert gap == 0
    np.testing.assert_array_equal([normal, point], [(0, 0, 1), (0, 0, 0)])


@pytest.mark.parametrize("height", [0.1, 0.25, 3.0])
def test_sphere_and_plane(height):
    check(touching(plane(), sphere(0.25), (1, 2, height)), height - 0.25, (0, 0, 1), (1, 2, (height - 0.25) / 2))


def test_a_plane_that_leans():
    lean = turn(ABOUT_Y, 0.3)
    contacts = contacts_of(
        model_of([sphere(0.5), plane()]), state_of([(0, 0, 1), (0, 0, 0)], [turn(ABOUT_X, 0), lean]), 5
    )
    normal = matrix(lean)[:, 2]
    check(contacts, np.cos(0.3) - 0.5, -normal, np.array([0, 0, 1]) - normal * (np.cos(0.3) + 0.5) / 2)


@pytest.mark.parametrize(
    ("position", "gap", "normal"),
    [
        ((0, 0, 2), 0.7, (0, 0, 1)),  # over a face
        ((2, 0, 1.3), np.hypot(1.0, 0.3) - 0.3, np.array([1.0, 0.0, 0.3]) / np.hypot(1.0, 0.3)),  # an edge
        ((2, 4, 2), np.sqrt(6) - 0.3, np.array([1, 2, 1]) / np.sqrt(6)),  # a corner
        ((0.9, 0, 0), -0.1 - 0.3, (1, 0, 0)),  # the centre inside
    ],
)
def test_sphere_and_box(position, gap, normal):
    distance = gap + 0.3
    point = np.array(position) - np.array(normal) * (distance + 0.3) / 2
    check(touching(box(1, 2, 1), sphere(0.3), position), gap, normal, point)


@pytest.mark.parametrize(
    ("position", "gap", "normal"),
    [
        ((1.0, 0, 0.5), 0.2, (1, 0, 0)),  # beside the axis
        ((3, 0, 5), 5 - 0.8, (0.6, 0, 0.8)),  # beyond its end
    ],
)
def test_sphere_and_capsule(position, gap, normal):
    point = np.array(position) - np.array(normal) * (gap + 0.3 + 0.3) / 2
    check(touching(capsule(0.5, 1.0), sphere(0.3), position), gap, normal, point)


@pytest.mark.parametrize(
    ("position", "gap", "normal"),
    [
        ((0.9, 1.2, 0.3), 0.7, (0.6, 0.8, 0)),  # beside
        ((0.1, 0.1, 1.9), 0.6, (0, 0, 1)),  # above
        ((0.9 + 0.5 * 0.6, 1.2 + 0.5 * 0.8, -2), None, None),  # by the rim
        ((0.1, 0, 0.95), -0.35, (0, 0, 1)),  # inside, by the cap
        ((0.3, 0.4, 0.2), -0.3, (0.6, 0.8, 0)),  # on the side
    ],
)
def test_sphere_and_cylinder(position, gap, normal):
    if gap is None:  # 1.5 beyond the side, 1 below the cap
        gap, normal = np.hypot(1.5, 1.0) - 0.3, np.array([1.5 * 0.6, 1.5 * 0.8, -1]) / np.hypot(1.5, 1.0)
    point = np.array(position) - np.array(normal) * (gap + 0.3 + 0.3) / 2
    check(touching(cylinder(0.5, 1.0), sphere(0.3), position), gap, normal, point)


@pytest.mark.parametrize("height", [0.29, 0.3, 0.31])
def test_a_box_on_a_plane_has_its_four_lower_corners(height):
    contacts = touching(plane(), box(0.1, 0.2, 0.3), (1, 2, height), reach=0.1)
    corners = [(1 + x, 2 + y, (height - 0.3) / 2) for y in (-0.2, 0.2) for x in (-0.1, 0.1)]
    np.testing.assert_allclose(contacts.point, corners, atol=1e-15)
    np.testing.assert_allclose(contacts.gap, height - 0.3, atol=1e-15)
    np.testing.assert_array_equal(contacts.normal, np.tile([0, 0, 1], (4, 1)))


def test_a_box_on_its_edge_and_on_its_corner():
    edge = touching(plane(), box(1, 1, 1), (0, 0, np.sqrt(2)), turn(ABOUT_X, np.pi / 4), reach=0.01)
    np.testing.assert_allclose(edge.gap, [0, 0], atol=1e-14)
    np.testing.assert_allclose(np.sort(edge.point[:, 0]), [-1, 1], atol=1e-14)
    up = np.ones(3) / np.sqrt(3)
    corner = turn(np.cross(up, (0, 0, 1)), np.arccos(up[2]))
    gap, _, point = the_one(touching(plane(), box(1, 1, 1), (0, 0, 2), corner, reach=0.2))
    np.testing.assert_allclose([gap, *point], [2 - np.sqrt(3), 0, 0, (2 - np.sqrt(3)) / 2], atol=1e-14)


def test_of_all_corners_within_reach_the_lowest_four_count():
    contacts = touching(plane(), box(1, 1, 0.1), (0, 0, 0.2), turn(ABOUT_X, 0.05))
    assert contacts.feature.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("angle", [0.0, 0.1, 0.5])
def test_a_capsule_on_a_plane(angle):
    contacts = touching(plane(), capsule(0.2, 0.5), (0, 0, 1), turn(ABOUT_Y, np.pi / 2 + angle))
    ends = 0.5 * np.array([[-np.cos(angle), 0, np.sin(angle)], [np.cos(angle), 0, -np.sin(angle)]])
    np.testing.assert_allclose(contacts.gap, 0.8 + ends[:, 2], atol=1e-14)
    np.testing.assert_allclose(contacts.point[:, :2], ends[:, :2], atol=1e-14)
    np.testing.assert_allclose(contacts.point[:, 2], contacts.gap / 2, atol=1e-14)


def test_a_cylinder_stands_on_four_points_of_its_rim():
    contacts = touching(plane(), cylinder(0.5, 1), (0, 0, 0.9), reach=0.1)
    np.testing.assert_allclose(contacts.gap, -0.1, atol=1e-15)
    np.testing.assert_allclose(
        contacts.point, [(0.5, 0, -0.05), (0, 0.5, -0.05), (-0.5, 0, -0.05), (0, -0.5, -0.05)], atol=1e-15
    )


@pytest.mark.parametrize("upside_down", [0.0, np.pi])
@pytest.mark.parametrize("angle", [1e-6, 0.1, 0.5])
def test_a_cylinder_that_tilts_has_its_lowest_point(angle, upside_down):
    contacts = touching(plane(), cylinder(0.5, 1), (0, 0, 2), turn((1, 2, 0), angle + upside_down))
    lowest = np.argmin(contacts.gap)
    np.testing.assert_allclose(contacts.gap[lowest], 2 - np.cos(angle) - 0.5 * np.sin(angle), atol=1e-14)
    assert contacts.gap.size == 4
    spread = np.linalg.norm(contacts.point[:, None] - contacts.point, axis=2)[np.triu_indices(4, 1)]
    assert spread.min() > 0.5 * np.sin(np.pi / 8)


@pytest.mark.parametrize("angle", [0.0, 0.02, -0.3])
def test_a_cylinder_lies_on_the_ends_of_its_lowest_line(angle):
    contacts = touching(plane(), cylinder(0.5, 1), (0, 0, 1), turn(ABOUT_Y, np.pi / 2 + angle))
    ends = np.array([np.sin(angle), -np.sin(angle)])  # of the axis, at -z and +z
    np.testing.assert_allclose(contacts.gap, 1 - 0.5 * np.cos(angle) + ends, atol=1e-14)


def test_capsules_that_cross():
    contacts = touching(capsule(0.2, 1), capsule(0.3, 1), (0.1, 0.7, 0.4), turn(ABOUT_Y, np.pi / 2))
    check(contacts, 0.2, (0, 1, 0), (0, 0.3, 0.4))


def test_capsules_end_to_end():
    check(touching(capsule(0.2, 1), capsule(0.3, 1), (0, 0, 3)), 0.5, (0, 0, 1), (0, 0, 1.45))


@pytest.mark.parametrize("gap", [-0.1, 0.0, 0.3])
def test_parallel_capsules_touch_at_the_ends_of_their_overlap(gap):
    contacts = touching(capsule(0.2, 1), capsule(0.3, 2), (0.5 + gap, 0, 1.5))
    np.testing.assert_allclose(contacts.gap, [gap, gap], atol=1e-14)
    np.testing.assert_allclose(contacts.point, [(0.2 + gap / 2, 0, -0.5), (0.2 + gap / 2, 0, 1)], atol=1e-14)
    np.testing.assert_allclose(contacts.normal, [(1, 0, 0), (1, 0, 0)], atol=1e-14)


def test_capsules_that_cross_at_a_small_angle_touch_in_between_too():
    contacts = touching(capsule(0.2, 1), capsule(0.2, 1), (0.5, 0, 0), turn(ABOUT_X, 0.05))
    assert contacts.feature.tolist() == [0, 1, 2]
    np.testing.assert_allclose(contacts.gap[2], 0.1, atol=1e-14)
    across = np.sin(0.05) * np.cos(0.05)  # of the ball at the end of the overlap, from the other axis
    np.testing.assert_allclose(contacts.gap[:2], np.hypot(0.5, across) - 0.4, atol=1e-3)


@pytest.mark.parametrize("reach", [0.05, 0.3])
def test_ends_of_capsules_that_cross_touch_where_they_are_within_reach(reach):
    """At an angle of 0.4 the ends of the overlap are 0.1 to 0.2 farther apart than what is between."""
    contacts = touching(capsule(0.2, 1), capsule(0.2, 1), (0.41, 0, 0), turn(ABOUT_X, 0.4), reach=reach)
    assert contacts.feature.tolist() == ([2] if reach < 0.1 else [0, 1, 2])
    np.testing.assert_allclose(contacts.gap[-1], 0.01, atol=1e-14)


@pytest.mark.parametrize("gap", [-0.1, 0.0, 0.3])
def test_a_capsule_lies_on_a_box(gap):
    contacts = touching(box(1, 1, 1), capsule(0.2, 1), (0.5, 0, 1.2 + gap), turn(ABOUT_Y, np.pi / 2))
    np.testing.assert_allclose(contacts.gap, [gap, gap], atol=1e-14)
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.5, 1], atol=1e-14)
    np.testing.assert_allclose(contacts.point[:, 2], 1 + gap / 2, atol=1e-14)
    np.testing.assert_allclose(contacts.normal, [(0, 0, 1), (0, 0, 1)], atol=1e-14)


def test_a_capsule_across_an_edge_of_a_box():
    """The axis, along (1, 0, -1) in the plane of y, passes the edge x = z = 1 at a distance of 0.5."""
    at = np.array([1, 0, 1]) + 0.5 * np.array([1, 0, 1]) / np.sqrt(2)
    contacts = touching(box(1, 3, 1), capsule(0.2, 1), at, turn(ABOUT_Y, np.pi * 3 / 4))
    check(contacts, 0.3, np.array([1, 0, 1]) / np.sqrt(2), (1 + 0.15 / np.sqrt(2), 0, 1 + 0.15 / np.sqrt(2)))


def test_a_capsule_stands_on_a_box():
    check(touching(box(1, 1, 1), capsule(0.2, 1), (0.3, 0.4, 2.1)), -0.1, (0, 0, 1), (0.3, 0.4, 0.95))


@pytest.mark.parametrize("depth", [0.1, 0.5])
def test_a_capsule_whose_axis_is_in_the_box(depth):
    contacts = touching(box(1, 1, 1), capsule(0.2, 0.5), (0, 0.2, 1 - depth), turn(ABOUT_Y, np.pi / 2))
    np.testing.assert_allclose(contacts.gap, [-depth - 0.2] * 2, atol=1e-14)
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.5, 0.5], atol=1e-14)
    np.testing.assert_allclose(contacts.normal, [(0, 0, 1), (0, 0, 1)], atol=1e-14)


def test_a_capsule_whose_axis_cuts_an_edge_off():
    """Deeper along both faces than along the edge x = z = 1, of which the axis cuts off 0.1 across."""
    at = np.array([1, 0, 1]) - 0.1 * np.array([1, 0, 1]) / np.sqrt(2)
    contacts = touching(box(1, 3, 1), capsule(0.2, 2), at, turn(ABOUT_Y, np.pi * 3 / 4))
    gap, normal, _ = the_one(contacts)
    np.testing.assert_allclose([gap, *normal], [-0.3, np.sqrt(0.5), 0, np.sqrt(0.5)], atol=1e-14)


@pytest.mark.parametrize("gap", [-0.01, 0.0, 0.2])
@pytest.mark.parametrize("shift", [(0, 0), (0.3, -0.2)])
def test_a_box_on_a_box(gap, shift):
    contacts = touching(box(1, 0.8, 1), box(0.5, 0.4, 0.3), (*shift, 1.3 + gap), reach=0.3)
    corners = [(shift[0] + x, shift[1] + y) for x in (-0.5, 0.5) for y in (-0.4, 0.4)]
    np.testing.assert_allclose(contacts.gap, gap, atol=1e-15)
    np.testing.assert_allclose(by_place(contacts.point[:, :2]), by_place(corners), atol=1e-15)
    np.testing.assert_allclose(contacts.point[:, 2], 1 + gap / 2, atol=1e-15)
    np.testing.assert_array_equal(contacts.normal, np.tile([0, 0, 1], (4, 1)))


def test_the_corners_of_the_overlap_of_two_boxes():
    """One hangs over: two of its corners and two points where its edges cross the side of the other."""
    contacts = touching(box(1, 1, 1), box(1, 0.5, 1), (1.4, 0, 2), reach=0.0)
    np.testing.assert_array_equal(contacts.gap, np.zeros(4))
    corners = [(x, y, 1.0) for x in (0.4, 1.0) for y in (-0.5, 0.5)]
    np.testing.assert_allclose(by_place(contacts.point), corners, atol=1e-15)


def test_the_edges_of_boxes_that_cross():
    first, second = turn(ABOUT_X, np.pi / 4), turn(ABOUT_Y, np.pi / 4)
    model = model_of([box(1, 1, 1), box(1, 1, 1)])
    for gap in (-0.1, 0.0, 0.4):
        contacts = contacts_of(model, state_of([(0, 0, 0), (0.2, 0.3, 2 * np.sqrt(2) + gap)], [first, second]), 1.0)
        value, normal, point = the_one(contacts)
        np.testing.assert_allclose([value, *normal], [gap, 0, 0, 1], atol=1e-14)
        np.testing.assert_allclose(point, (0.2, 0.0, np.sqrt(2) + gap / 2), atol=1e-14)


def test_a_corner_over_a_corner_is_at_its_true_distance():
    gap, normal, point = the_one(touching(box(1, 1, 1), box(1, 1, 1), (2.3, 2.4, 3.2)))
    assert gap == pytest.approx(1.3, abs=1e-12)  # 0.3, 0.4, 1.2
    np.testing.assert_allclose(normal, np.array([0.3, 0.4, 1.2]) / 1.3, atol=1e-12)
    np.testing.assert_allclose(point, (1.15, 1.2, 1.6), atol=1e-12)


def test_parallel_edges_of_boxes_side_by_side():
    contacts = touching(box(1, 1, 1), box(1, 2, 1), (2.3, 0.5, 2.4))
    np.testing.assert_allclose(contacts.gap, [0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(np.sort(contacts.point[:, 1]), [-1, 1], atol=1e-12)


@pytest.mark.parametrize("gap", [-0.05, 0.0, 0.05])
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_a_cylinder_stands_on_a_box(gap, angle):
    contacts = touching(box(1, 1, 1), cylinder(0.5, 1), (0.2, 0.1, 2 + gap), turn((0, 0, 1), angle), reach=0.1)
    np.testing.assert_allclose(contacts.gap, gap, atol=1e-14)
    assert contacts.gap.size == 4
    radii = np.linalg.norm(contacts.point[:, :2] - (0.2, 0.1), axis=1)
    np.testing.assert_allclose(radii, 0.5, atol=1e-14)
    spread = np.linalg.norm(contacts.point[:, None] - contacts.point, axis=2)[np.triu_indices(4, 1)]
    assert spread.min() > 0.5  # a side of the square in the rim is 0.7


@pytest.mark.parametrize("gap", [-0.05, 0.0, 0.05])
def test_a_cylinder_lies_on_a_box(gap):
    contacts = touching(box(1, 1, 1), cylinder(0.5, 1), (0.4, 0.1, 1.5 + gap), turn(ABOUT_Y, np.pi / 2), reach=0.1)
    np.testing.assert_allclose(contacts.gap, [gap] * 2, atol=1e-14)
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.6, 1.0], atol=1e-14)


def test_a_cylinder_that_tilts_on_a_box_has_its_lowest_point():
    contacts = touching(box(2, 2, 1), cylinder(0.5, 1), (0, 0, 3), turn((1, 2, 0), 0.2))
    np.testing.assert_allclose(contacts.gap.min(), 2 - np.cos(0.2) - 0.5 * np.sin(0.2), atol=1e-12)


@pytest.mark.parametrize("gap", [-0.05, 0.0, 0.05])
def test_cylinders_end_on_end(gap):
    contacts = touching(cylinder(0.5, 1), cylinder(0.4, 1), (0, 0, 2 + gap), reach=0.1)
    np.testing.assert_allclose(contacts.gap, [gap] * 4, atol=1e-14)
    spread = np.linalg.norm(contacts.point[:, None] - contacts.point, axis=2)[np.triu_indices(4, 1)]
    assert spread.min() > 0.3


@pytest.mark.parametrize("gap", [-0.05, 0.0, 0.05])
def test_cylinders_side_by_side(gap):
    contacts = touching(cylinder(0.5, 1), cylinder(0.4, 2), (0.9 + gap, 0, 0.5), reach=0.1)
    np.testing.assert_allclose(contacts.gap, [gap] * 2, atol=1e-12)
    np.testing.assert_allclose(np.sort(contacts.point[:, 2]), [-1, 1], atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [(1, 0, 0)] * 2, atol=1e-12)


def test_cylinders_that_cross():
    gap, normal, point = the_one(
        touching(cylinder(0.5, 1), cylinder(0.4, 1), (1.0, 0.3, 0.2), turn(ABOUT_X, np.pi / 2))
    )
    np.testing.assert_allclose([gap, *normal], [0.1, 1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(point, (0.55, 0, 0.2), atol=1e-6)


@pytest.mark.parametrize("gap", [-0.05, 0.0, 0.05])
def test_a_capsule_lies_on_the_cap_of_a_cylinder(gap):
    contacts = touching(capsule(0.2, 2), cylinder(0.5, 1), (0, 1.2 + gap, 0), turn(ABOUT_X, np.pi / 2), reach=0.1)
    np.testing.assert_allclose(contacts.gap, [gap] * 2, atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [(0, 1, 0)] * 2, atol=1e-12)
    assert np.ptp(contacts.point[:, 2]) > 0.9  # nearly the whole diameter


def test_nothing_beyond_the_reach():
    assert touching(plane(), sphere(0.5), (0, 0, 0.75), reach=0.124).gap.size == 0
    assert touching(plane(), sphere(0.5), (0, 0, 0.75), reach=0.126).gap.size == 1


@pytest.mark.parametrize("kind", list(Shape))
def test_no_shapes_and_one_shape_have_no_contact(kind):
    assert contacts_of(model_of([]), state_of([])).gap.size == 0
    shape = hull(np.vstack([np.zeros(3), np.eye(3)])) if kind == Shape.HULL else (kind, (1.0, 1.0, 1.0))
    assert contacts_of(model_of([shape]), state_of([(0, 0, 0)]), 1.0).gap.size == 0
