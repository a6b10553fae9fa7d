"""Scenes in the plane y = 0."""

import numpy as np
import pytest
from scene_arrays import box, capsule, contacts_of, cylinder, model_of, plane, sphere, state_of, touching, turn

from stickslip.collision.broadphase import workspace
from stickslip.errors import InputError

pytestmark = pytest.mark.core
ABOUT_Y = (0.0, 1.0, 0.0)


@pytest.mark.parametrize("thickness", [0.0, 0.1, 5.0])
def test_a_box_stands_on_two_points(thickness):
    contacts = touching(plane(), box(0.5, thickness, 0.3), (1, 0, 0.3), reach=0.01, planar=True)
    np.testing.assert_allclose(contacts.gap, [0, 0], atol=1e-15)
    np.testing.assert_allclose(contacts.point, [(0.5, 0, 0), (1.5, 0, 0)], atol=1e-15)


@pytest.mark.parametrize("thickness", [0.0, 0.1, 5.0])
def test_a_box_on_a_box_has_two_points(thickness):
    contacts = touching(box(1, 0, 1), box(0.5, thickness, 0.3), (0.8, 0, 1.3), reach=0.01, planar=True)
    np.testing.assert_allclose(contacts.gap, [0, 0], atol=1e-15)
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [0.3, 1], atol=1e-15)
    np.testing.assert_allclose(contacts.point[:, 1:], [(0, 1), (0, 1)], atol=1e-15)
    np.testing.assert_array_equal(contacts.normal, [(0, 0, 1), (0, 0, 1)])


def test_a_corner_on_a_box_is_one_point():
    contacts = touching(
        box(1, 0, 1), box(0.5, 0, 0.5), (0.2, 0, 1 + np.sqrt(0.5)), turn(ABOUT_Y, np.pi / 4), 0.01, True
    )
    np.testing.assert_allclose(contacts.gap, [0], atol=1e-14)
    np.testing.assert_allclose(contacts.point, [(0.2, 0, 1)], atol=1e-14)


def test_a_corner_by_a_corner():
    contacts = touching(box(1, 0, 1), box(1, 0, 1), (2.3, 0, 2.4), planar=True)
    assert contacts.gap.size == 1
    np.testing.assert_allclose(contacts.gap, 0.5, atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [(0.6, 0, 0.8)], atol=1e-12)
    np.testing.assert_allclose(contacts.point, [(1.15, 0, 1.2)], atol=1e-12)


@pytest.mark.parametrize("reach", [0.01, 3.0])
def test_normals_and_points_stay_in_the_plane(reach):
    rng = np.random.default_rng(0)
    shapes = [box(0.5, 0, 0.3), capsule(0.1, 0.4), sphere(0.3), cylinder(0.3, 0.2), box(0.2, 0, 0.6)]
    for _ in range(20):
        positions = rng.uniform(-0.7, 0.7, (5, 3)) * (1, 0, 1)
        state = state_of(positions, [turn(ABOUT_Y, angle) for angle in rng.uniform(-3, 3, 5)])
        contacts = contacts_of(model_of(shapes, planar=True), state, reach)
        assert not contacts.point[:, 1].any()
        assert not contacts.normal[:, 1].any()
        np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=1), 1, atol=1e-12)
        pairs = contacts.shape_a * 5 + contacts.shape_b
        assert np.unique(pairs, return_counts=True)[1].max() <= 3  # two, and one in between for a capsule


def test_the_greatest_separation_in_the_plane_is_found_among_directions_in_it():
    """A rectangle against a rectangle, the separation by brute force over angles."""
    rng, angles = np.random.default_rng(1), np.linspace(0, 2 * np.pi, 20001)
    n = np.stack([np.cos(angles), 0 * angles, np.sin(angles)], 1)
    for _ in range(30):
        a, b, position = *rng.uniform(-3, 3, 2), rng.uniform(-1, 1, 3) * (1, 0, 1)
        state = state_of([(0, 0, 0), position], [turn(ABOUT_Y, a), turn(ABOUT_Y, b)])
        contacts = contacts_of(model_of([box(0.5, 0, 0.3), box(0.2, 0, 0.6)], planar=True), state, 3.0)
        widths = [
            np.abs(np.cos(angles + turned)) * half[0] + np.abs(np.sin(angles + turned)) * half[1]
            for turned, half in ((a, (0.5, 0.3)), (b, (0.2, 0.6)))
        ]
        separation = (n @ position - widths[0] - widths[1]).max()
        np.testing.assert_allclose(contacts.gap.min(), separation, atol=5e-4)


def test_a_cylinder_is_a_disc_or_a_rectangle():
    upright = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]  # its z along -y
    disc = model_of([plane(), cylinder(0.3, 5.0)], rotations=[np.eye(3), upright], planar=True)
    contacts = contacts_of(disc, state_of([(0, 0, 0), (1, 0, 0.4)]), 1.0)
    np.testing.assert_allclose([*contacts.point[0], contacts.gap[0]], [1, 0, 0.05, 0.1], atol=1e-15)
    rectangle = touching(plane(), cylinder(0.3, 0.5), (1, 0, 0.5), reach=0.01, planar=True)
    np.testing.assert_allclose(rectangle.point, [(0.7, 0, 0), (1.3, 0, 0)], atol=1e-15)


@pytest.mark.parametrize("shape", [box(1, 1, 1), capsule(0.1, 1), cylinder(0.1, 1)])
def test_a_shape_oblique_to_the_plane_is_refused(shape):
    c, s = np.cos(0.3), np.sin(0.3)
    oblique = [[1, 0, 0], [0, c, -s], [0, s, c]]
    with pytest.raises(InputError, match=r"shape 0: it is oblique to the plane y = 0"):
        workspace(model_of([shape], rotations=[oblique], planar=True))
