"""Which pairs are looked at: all that come near, no others, in order."""

import numpy as np
import pytest
from scene_arrays import box, capsule, contacts_of, cylinder, model_of, plane, random_turn, sphere, state_of

from stickslip.collision.broadphase import FEW, fill_grids, find_contacts, neighbours, workspace
from stickslip.collision.contacts import room_for
from stickslip.collision.placement import HALF
from stickslip.scene.model import Kind

FREE, MOVING, STATIC = Kind.FREE, Kind.MOVING, Kind.STATIC


def random_scene(rng, count, spread, sizes):
    shapes = []
    for kind in rng.integers(0, 4, count):
        a, b, c = 10.0 ** rng.uniform(*sizes, 3)
        shapes.append((sphere(a), box(a, b, c), capsule(a, b), cylinder(a, b))[kind])
    return shapes, rng.uniform(-spread, spread, (count, 3)), [random_turn(rng) for _ in range(count)]


def pair_by_pair(shapes, positions, turns, reach):
    """The contacts of each pair in a scene of its own."""
    rows = []
    for a in range(len(shapes)):
        for b in range(a):
            model = model_of([shapes[b], shapes[a]])
            found = contacts_of(model, state_of([positions[b], positions[a]], [turns[b], turns[a]]), reach[[b, a]])
            rows += [(a, b, f, g) for f, g in zip(found.feature, found.gap, strict=True)]
    return rows


@pytest.mark.parametrize(("count", "sizes"), [(10, (-1.0, 0.0)), (60, (-1.0, -0.5)), (60, (-2.5, 0.3))])
def test_the_same_contacts_as_pair_by_pair(count, sizes):
    assert 10 <= FEW < 60  # both ways are taken
    rng = np.random.default_rng(count)
    shapes, positions, turns = random_scene(rng, count - 1, 1.0, sizes)
    shapes, positions, turns = [plane(), *shapes], np.vstack([(0, 0, -0.5), positions]), [random_turn(rng), *turns]
    reach = rng.uniform(0, 0.1, count)
    contacts = contacts_of(model_of(shapes), state_of(positions, turns), reach)
    expected = np.array(pair_by_pair(shapes, positions, turns, reach))
    assert len(expected) > count / 2
    np.testing.assert_array_equal(np.stack(contacts[:3], 1), expected[:, :3])
    np.testing.assert_allclose(contacts.gap, expected[:, 3], atol=1e-12)  # kernels for few kinds are compiled apart


def spheres(rng, count, spread=1.0):
    radii = rng.uniform(0.04, 0.06, count)
    return model_of([sphere(r) for r in radii]), rng.uniform(-spread, spread, (count, 3)), radii


@pytest.mark.parametrize("far", [0.0, 1e4, 1e9])
def test_a_thousand_spheres_against_all_distances(far):
    """Also with one of them far away, and with all of them there."""
    rng = np.random.default_rng(0)
    model, positions, radii = spheres(rng, 1000)
    positions[7] = (far, 0, -far)
    gaps = np.linalg.norm(positions[:, None] - positions, axis=2) - radii[:, None] - radii - 0.02
    a, b = np.nonzero(np.tril(gaps <= 0, -1))
    contacts = contacts_of(model, state_of(positions), 0.01, capacity=5000)
    np.testing.assert_array_equal(contacts.shape_a, a)
    np.testing.assert_array_equal(contacts.shape_b, b)
    np.testing.assert_allclose(contacts.gap, gaps[a, b] + 0.02, atol=1e-14)


@pytest.mark.parametrize("stretch", [(1, 1, 1), (1e6, 1, 1), (1, 1e3, 1e9), (1e-3, 1e-3, 1e-3)])
def test_grids_of_any_proportion_find_all_boxes_that_meet(stretch):
    """Boxes of sizes from 1 mm to 1 m in a space of any shape, against all pairs."""
    rng = np.random.default_rng(2)
    sizes, positions = 10.0 ** rng.uniform(-3, 0, 400), rng.uniform(-1, 1, (400, 3)) * stretch
    positions[300:] = positions[:100] + sizes[:100, None] * rng.uniform(-1, 1, (100, 3))
    work = workspace(model_of([sphere(r) for r in sizes]))
    apart = np.abs(positions[:, None] - positions).max(axis=2) - sizes[:, None] - sizes
    work.where[:, :3], work.where[:, HALF : HALF + 3] = positions, sizes[:, None]
    _, others, key, spare, counts, widest, origin, bits, begun, box = work.grids
    pairs = np.zeros((100_000, 2), np.int64)
    fill_grids(others.size, work.where, key, spare, counts, widest, origin, bits, box)
    found = neighbours(others.size, key, widest, origin, bits, begun, box, pairs, 0)
    assert 50 < found < 100_000
    assert sorted(map(tuple, pairs[:found].tolist())) == list(zip(*np.nonzero(np.tril(apart <= 0, -1)), strict=True))


@pytest.mark.parametrize("shake", [0.0, 1e-3, 0.3])
def test_what_was_found_before_changes_no_bit(shake):
    """Shapes that fall together, or go their own ways, in a workspace that is used again and in a new one."""
    rng = np.random.default_rng(4)
    model, positions, _ = spheres(rng, 300, spread=0.3)
    used = workspace(model)
    for step in range(6):
        state, rooms = state_of(positions), [room_for(5000), room_for(5000)]
        reach = np.full(300, 0.01 + 0.002 * step)
        found = [
            find_contacts(state, reach, work, room) for work, room in zip((used, workspace(model)), rooms, strict=True)
        ]
        assert found[0] == found[1] > 200
        for again, new in zip(*rooms, strict=True):
            np.testing.assert_array_equal(again[: found[0]], new[: found[0]])
        positions = positions - [0, 0, 0.05] + shake * rng.uniform(-1, 1, (300, 3)) * 0.2


def test_how_a_sphere_is_turned_changes_no_bit():
    rng = np.random.default_rng(3)
    model, positions, _ = spheres(rng, 200, spread=0.3)
    level, turned = (
        contacts_of(model, state_of(positions, turns), 0.01, capacity=2000)
        for turns in ([(1, 0, 0, 0)] * 200, [random_turn(rng) for _ in range(200)])
    )
    assert level.gap.size > 200
    for a, b in zip(level, turned, strict=True):
        np.testing.assert_array_equal(a, b)


def test_more_pairs_than_there_was_room_for():
    model = model_of([sphere(1.0)] * 100)
    contacts = contacts_of(model, state_of(np.random.default_rng(0).uniform(0, 0.1, (100, 3))), capacity=5000)
    assert contacts.gap.size == 100 * 99 // 2
    assert list(zip(contacts.shape_a, contacts.shape_b, strict=True)) == [(a, b) for a in range(100) for b in range(a)]


@pytest.mark.core
@pytest.mark.parametrize("capacity", [0, 1, 3, 7])
def test_without_room_the_true_count_is_told_and_what_fits_is_there(capacity):
    model = model_of([plane(), box(1, 1, 1), box(1, 1, 1)])
    state = state_of([(0, 0, 0), (0, 0, 1), (0.5, 0, 3)])
    whole, part = contacts_of(model, state), room_for(capacity)
    assert find_contacts(state, np.zeros(3), workspace(model), part) == whole.gap.size == 8
    for few, all_ in zip(part, whole, strict=True):
        np.testing.assert_array_equal(few, all_[:capacity])


@pytest.mark.core
@pytest.mark.parametrize(
    ("kinds", "touches"),
    [
        ((FREE, FREE), True),
        ((FREE, STATIC), True),
        ((MOVING, FREE), True),
        ((MOVING, STATIC), False),
        ((STATIC, STATIC), False),
    ],
)
@pytest.mark.parametrize("others", [0, FEW])
def test_one_of_two_bodies_must_be_free(kinds, touches, others):
    shapes = [sphere(1.0)] * (2 + others)
    positions = [(0, 0, 0), (1, 0, 0), *((0, 10.0 * k, 0) for k in range(1, others + 1))]
    model = model_of(shapes, kinds=[*kinds, *[FREE] * others])
    assert contacts_of(model, state_of(positions)).gap.size == touches


@pytest.mark.core
@pytest.mark.parametrize("others", [0, FEW])
def test_bodies_kept_apart_and_shapes_of_one_body_never_touch(others):
    """Four bodies of two shapes each, all in one place."""
    bodies = [0, 0, 1, 1, 2, 2, 3, 3, *range(4, 4 + others)]
    count = 4 + others
    model = model_of([sphere(1.0)] * len(bodies), bodies=bodies, apart=[(0, 1), (3, 2), (1, 3)])
    positions = np.zeros((count, 3))
    positions[4:, 0] = 10.0 * np.arange(1, others + 1)
    contacts = contacts_of(model, state_of(positions))
    pairs = set(zip(model.shape_body[contacts.shape_a], model.shape_body[contacts.shape_b], strict=True))
    assert pairs == {(2, 0), (3, 0), (2, 1)}
    assert contacts.gap.size == 12


@pytest.mark.core
def test_shapes_are_placed_in_their_bodies():
    """Two spheres on a rod along the body's x, which is turned to point down."""
    model = model_of(
        [plane(), sphere(0.1), sphere(0.1)], bodies=[0, 1, 1], positions=[(0, 0, 0), (-1, 0, 0), (1, 0, 0)]
    )
    down = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    contacts = contacts_of(model, state_of([(0, 0, 0), (5, 0, 1.05)], [(1, 0, 0, 0), down]), 0.1)
    assert contacts.shape_a.tolist() == [2]
    np.testing.assert_allclose([*contacts.point[0], contacts.gap[0]], [5, 0, -0.025, -0.05], atol=1e-14)


@pytest.mark.core
def test_a_shape_turned_in_its_body():
    lies = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # its z along the body's x
    model = model_of([plane(), capsule(0.1, 1.0)], rotations=[np.eye(3), lies])
    contacts = contacts_of(model, state_of([(0, 0, 0), (0, 0, 0.1)]))
    np.testing.assert_allclose(contacts.point, [(-1, 0, 0), (1, 0, 0)], atol=1e-15)


@pytest.mark.core
def test_planes_do_not_touch_planes():
    assert contacts_of(model_of([plane(), plane()]), state_of([(0, 0, 0), (0, 0, -1)])).gap.size == 0


def test_what_is_not_finite_touches_nothing():
    positions = np.zeros((40, 3))
    positions[:, 0] = np.arange(40) * 0.9
    positions[3], positions[5] = np.nan, np.inf
    model = model_of([sphere(0.5)] * 40)
    contacts = contacts_of(model, state_of(positions))
    assert not {3, 5} & {*contacts.shape_a, *contacts.shape_b}
    assert contacts.gap.size == 39 - 4
