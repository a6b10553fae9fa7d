"""Which contacts a pair has, and that they are known again while the same corners, edges and faces meet."""

import numpy as np
import pytest
from scene_arrays import box, capsule, cylinder, plane, product, touching, turn
from scipy.spatial import ConvexHull

from stickslip.collision.boxes import EDGES

pytestmark = pytest.mark.core
LIES = turn((0, 1, 0), np.pi / 2)


def on_top(below, above, height, noise, spin, rng):
    """Contacts of `above`, moved and turned a little at random by `noise`, about the height at which it rests."""
    wobble = product(turn(rng.standard_normal(3), noise * rng.uniform()), spin)
    return touching(below, above, np.array([0, 0, height]) + noise * rng.uniform(-1, 1, 3), wobble, reach=1e-3)


@pytest.mark.parametrize(
    ("below", "above", "height", "spin", "count"),
    [
        (plane(), box(0.5, 0.4, 0.3), 0.3, turn((0, 0, 1), 0.3), 4),
        (plane(), cylinder(0.5, 0.3), 0.3, turn((0, 0, 1), 0.3), 4),
        (plane(), capsule(0.2, 0.5), 0.2, LIES, 2),
        (plane(), cylinder(0.2, 0.5), 0.2, LIES, 2),
        (box(1, 1, 1), box(0.5, 0.4, 0.3), 1.3, turn((0, 0, 1), 0.3), 4),
        (box(0.5, 0.4, 0.3), box(1, 1, 1), 1.3, turn((0, 0, 1), 0.3), 4),
        (box(1, 1, 1), box(1, 1, 1), 2.0, turn((0, 0, 1), 0.0), 4),  # all edges of one over those of the other
        (box(1, 1, 1), box(1, 1, 1), 2.0, turn((0, 0, 1), np.pi / 4), 4),  # the overlap is an octagon
        (box(1, 1, 1), cylinder(0.5, 0.3), 1.3, turn((0, 0, 1), 0.3), 4),
        (cylinder(1.0, 0.5), cylinder(0.5, 0.3), 0.8, turn((0, 0, 1), 0.3), 4),
        (box(1, 1, 1), cylinder(0.2, 0.5), 1.2, LIES, 2),
        (box(1, 1, 1), capsule(0.2, 0.5), 1.2, LIES, 2),
    ],
)
def test_what_rests_keeps_its_contacts(below, above, height, spin, count):
    """Noise as a solver leaves it must not change which contacts there are, nor move them."""
    rng = np.random.default_rng(0)
    still = on_top(below, above, height, 0.0, spin, rng)
    assert still.gap.size == count
    for _ in range(20):
        contacts = on_top(below, above, height, 1e-7, spin, rng)
        if above[0] == cylinder(1, 1)[0] and count == 4:
            # the lowest point of a rim that is no longer level may take the place of one of the fixed spots
            assert len(set(contacts.feature) & set(still.feature)) >= 3
            continue
        assert contacts.feature.tolist() == still.feature.tolist()
        np.testing.assert_allclose(contacts.point, still.point, atol=1e-5)


@pytest.mark.parametrize("below", [plane(), box(3, 3, 1)])
@pytest.mark.parametrize("above", [box(0.5, 0.4, 0.3), capsule(0.2, 0.5), cylinder(0.2, 0.5)])
def test_features_persist_as_a_body_slides_and_turns(below, above):
    floor = 0.0 if below == plane() else 1.0
    spin = turn((1, 0, 0), 0.0) if above[0] == box(1, 1, 1)[0] else LIES
    rest = floor + (0.3 if above[0] == box(1, 1, 1)[0] else 0.2)
    features = {
        tuple(touching(below, above, (x, -x / 2, rest), product(turn((0, 0, 1), 3 * x), spin), reach=1e-3).feature)
        for x in np.linspace(0, 1, 50)
    }
    assert len(features) == 1


def test_the_lowest_point_of_a_rolling_rim_is_one_feature():
    tilted = turn((1, 0, 0), 0.5)
    features = {
        tuple(
            touching(
                plane(), cylinder(0.5, 0.1), (0, 0, 0.34), product(tilted, turn((0, 0, 1), angle)), reach=0.01
            ).feature
        )
        for angle in np.linspace(0, 6, 40)
    }
    assert len(features) == 1
    assert len(features.pop()) == 1


def test_a_corner_is_the_same_feature_when_another_face_is_turned_to_the_floor():
    """The two corners of the lowest edge, just before and after 45 degrees."""
    floor, before, after = box(3, 3, 1), turn((1, 0, 0), np.pi / 4 - 0.01), turn((1, 0, 0), np.pi / 4 + 0.01)
    height = 1 + np.sqrt(0.5)
    one, other = (touching(floor, box(0.5, 0.5, 0.5), (0, 0, height), q, reach=1e-2) for q in (before, after))
    assert one.gap.size == 2
    assert one.feature.tolist() == other.feature.tolist()


def test_features_of_a_pair_are_distinct():
    rng = np.random.default_rng(1)
    for _ in range(25):
        q = product(turn(rng.standard_normal(3), 0.02), turn((0, 0, 1), rng.uniform(0, 6)))
        for below, above in (
            (box(1, 1, 1), box(0.7, 1.2, 1)),
            (cylinder(1, 1), box(1, 1, 1)),
            (box(1, 1, 1), cylinder(1, 1)),
        ):
            contacts = touching(below, above, (*rng.uniform(-1, 1, 2), 2), q)
            assert len(set(contacts.feature)) == contacts.gap.size <= 4


def test_the_four_points_of_an_octagon_span_most_of_it():
    contacts = touching(box(1, 1, 1), box(1, 1, 1), (0, 0, 2), turn((0, 0, 1), np.pi / 4), reach=0.01)
    x, y = contacts.point[:, :2].T
    around = np.argsort(np.arctan2(y, x))
    x, y = x[around], y[around]
    area = 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    octagon = 8 * (np.sqrt(2) - 1)
    assert area > 0.6 * octagon  # a rectangle on two opposite sides has 0.5, a square on every other corner 0.71


def test_the_deepest_corner_of_an_overlap_is_never_left_out():
    rng = np.random.default_rng(2)
    for _ in range(50):
        q = product(turn((*rng.standard_normal(2), 0), 0.02), turn((0, 0, 1), np.pi / 4 + rng.uniform(-0.3, 0.3)))
        contacts = touching(box(2, 2, 1), box(1, 1, 1), (0, 0, 2), q)
        corners = touching(plane(), box(1, 1, 1), (0, 0, 1), q)  # the same, over a plane
        np.testing.assert_allclose(contacts.gap.min(), corners.gap.min(), atol=2e-6)


def test_boxes_all_but_flat_on_each_other_have_the_contacts_of_their_faces():
    """Where they lean so that two edges cross at the lowest point, that is one contact, and the faces have the others:
    within reach they span what they would if the boxes lay flat."""
    rng, crossed = np.random.default_rng(3), 0
    for _ in range(200):
        yaw, place = turn((0, 0, 1), rng.uniform(0.1, 1.4)), (*rng.uniform(-1, 1, 2), 2.02)
        lean = turn((*rng.standard_normal(2), 0), 0.02)
        flat = touching(box(1, 1, 1), box(1, 1, 1), place, yaw, reach=0.1)
        contacts = touching(box(1, 1, 1), box(1, 1, 1), place, product(lean, yaw), reach=0.1)
        crossed += (contacts.feature >= EDGES).any()
        assert 3 <= contacts.gap.size <= 4
        assert spanned(contacts) > 0.4 * spanned(flat)
    assert crossed > 50


def spanned(contacts):
    """The area of the outline of the points, seen from above."""
    return ConvexHull(contacts.point[:, :2]).volume


def test_edges_that_cross_are_known_from_their_parallels():
    """A bar that leans over one upper edge of another, then over the other: another feature."""
    across = product(turn((0, 0, 1), np.pi / 2), turn((0, 1, 0), np.pi / 4))
    features = set()
    for lean in (-0.3, 0.3):
        spin = product(turn((0, 1, 0), lean), across)
        contacts = touching(box(0.1, 3, 0.1), box(0.1, 3, 0.1), (0, 0, 0.29), spin, reach=0.1)
        features |= set(contacts.feature[contacts.feature >= EDGES])
    assert len(features) == 2
