"""What holds for every pair of shapes, wherever they are."""

import itertools

import numpy as np
import pytest
from convex_sets import outside, overlap
from scene_arrays import (
    box,
    capsule,
    contacts_of,
    cylinder,
    hull,
    matrix,
    model_of,
    plane,
    product,
    random_turn,
    sphere,
    state_of,
    turn,
)

from stickslip.scene.model import Shape

SHAPES = [
    sphere(0.4),
    sphere(0.0),
    box(0.3, 0.5, 0.7),
    box(1.0, 0.8, 0.1),
    capsule(0.2, 0.6),
    cylinder(0.5, 0.4),
    cylinder(0.2, 0.9),
    hull([(0, 0, 0), (1.1, 0.1, 0), (0.2, 0.9, 0.1), (0.3, 0.2, 1.2)]),
    hull([(0.5 * np.cos(a), 0.5 * np.sin(a), z) for a in np.arange(12) * np.pi / 6 for z in (-0.2, 0.3)]),
    hull([(x, y, z) for x in (-0.3, 0.3) for y in (-0.5, 0.5) for z in (-0.7, 0.7)]),
]
BOUNDED = list(itertools.combinations_with_replacement(SHAPES, 2))
PAIRS = [*BOUNDED, *((plane(), shape) for shape in SHAPES)]
SIZE = 1.0  # of the greatest of them
ROUND = 1e-4  # of normals between round surfaces: an error of 1e-5 in these changes the gap by 1e-10


def name(pair):
    return "-".join(f"{Shape(kind).name.lower()}{size[0]:g}" for kind, size in pair)


def random_pose(rng, pair, apart):
    """The second shape somewhere about the first, apart or overlapping by about as much as said."""
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    if pair[0][0] == Shape.PLANE:
        return np.array([*rng.uniform(-1, 1, 2), rng.uniform(0, 1)]), (turn((0, 0, 1), 0), random_turn(rng))
    turns = random_turn(rng), random_turn(rng)
    h = overlap(*pair, (0, 0, 0), *map(matrix, turns), direction[None])[0]
    return (h + rng.uniform(-apart, apart)) * direction, turns


def find(pair, position, turns, reach=3.0):
    return contacts_of(model_of(pair), state_of([(0, 0, 0), position], turns), reach)


def directions_about(n, rng, count):
    """Unit vectors all over the sphere, and at all distances from n."""
    everywhere = rng.standard_normal((count, 3))
    near = n + rng.standard_normal((count, 3)) * 10.0 ** rng.uniform(-7, 0, (count, 1))
    both = np.concatenate([everywhere, near])
    return both / np.linalg.norm(both, axis=1)[:, None]


@pytest.mark.parametrize("pair", BOUNDED, ids=name)
def test_the_gap_is_the_distance_and_its_normal_proves_it(pair):
    """-h(n) <= gap for every direction n is what a distance, or a depth of penetration, means; the normal attains it.

    The two surface points of the nearest contact are in the shapes: where these are apart, that proves it from the
    other side.
    """
    rng = np.random.default_rng(1)
    for apart in np.repeat([0.01, 0.3], 15):
        position, turns = random_pose(rng, pair, apart)
        rotations = [matrix(q) for q in turns]
        contacts = find(pair, position, turns)
        nearest = np.argmin(contacts.gap)
        gap, n, point = contacts.gap[nearest], contacts.normal[nearest], contacts.point[nearest]
        assert np.linalg.norm(n) == pytest.approx(1, abs=1e-14)
        h = overlap(*pair, position, *rotations, directions_about(n, rng, 3000))
        tolerance = 1.1e-6 if all(kind == Shape.BOX for kind, _ in pair) else 1e-9  # faces are preferred by 1e-6
        assert h.min() > -gap - tolerance * SIZE
        np.testing.assert_allclose(overlap(*pair, position, *rotations, n[None])[0], -gap, atol=1e-9 * SIZE)
        first = rotations[0].T @ (point - gap / 2 * n)
        second = rotations[1].T @ (point + gap / 2 * n - position)
        assert max(outside(*pair[0], first), outside(*pair[1], second)) < 2e-6 * SIZE


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_every_contact_is_on_both_surfaces(pair):
    rng = np.random.default_rng(2)
    for apart in np.repeat([0.01, 0.3], 10):
        position, turns = random_pose(rng, pair, apart)
        contacts = find(pair, position, turns, reach=0.05)
        assert contacts.gap.size <= 4
        for gap, n, point in zip(contacts.gap, contacts.normal, contacts.point, strict=True):
            if pair[0][0] == Shape.PLANE:
                assert point[2] - gap / 2 == pytest.approx(0, abs=1e-14)
            else:
                assert outside(*pair[0], matrix(turns[0]).T @ (point - gap / 2 * n)) < 1e-4 * SIZE
            assert outside(*pair[1], matrix(turns[1]).T @ (point + gap / 2 * n - position)) < 1e-4 * SIZE


@pytest.mark.core
@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_roles_swapped_normals_turn_around(pair):
    rng = np.random.default_rng(3)
    for _ in range(2):
        position, turns = random_pose(rng, pair, 0.1)
        one = find(pair, position, turns)
        model = model_of(pair[::-1])
        other = contacts_of(model, state_of([position, (0, 0, 0)], turns[::-1]), 3.0)
        k, m = np.argmin(one.gap), np.argmin(other.gap)
        np.testing.assert_allclose(one.gap[k], other.gap[m], atol=1e-9)
        np.testing.assert_allclose(one.normal[k], -other.normal[m], atol=ROUND)
        if pair[0][0] != pair[1][0]:
            np.testing.assert_array_equal(one.gap, other.gap)
            np.testing.assert_array_equal(one.point, other.point)
            np.testing.assert_array_equal(one.normal, -other.normal)


@pytest.mark.core
@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_contacts_move_with_the_scene(pair):
    rng = np.random.default_rng(4)
    for _ in range(2):
        position, turns = random_pose(rng, pair, 0.1)
        still = find(pair, position, turns)
        q, shift = random_turn(rng), rng.standard_normal(3)
        R = matrix(q)
        state = state_of([shift, R @ position + shift], [product(q, turns[0]), product(q, turns[1])])
        moved = contacts_of(model_of(pair), state, 3.0)
        assert moved.feature.tolist() == still.feature.tolist()
        np.testing.assert_allclose(moved.gap, still.gap, atol=1e-9)
        np.testing.assert_allclose(moved.normal, still.normal @ R.T, atol=ROUND)
        np.testing.assert_allclose(moved.point, still.point @ R.T + shift, atol=ROUND)


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_the_gap_grows_at_the_relative_normal_velocity(pair):
    """d gap / dt = n · (velocity of the second at the contact point), the first at rest, for the nearest contact."""
    rng, dt = np.random.default_rng(5), 1e-5
    for _ in range(10):
        position, turns = random_pose(rng, pair, 0.1)
        velocity, spin = rng.standard_normal((2, 3))
        rate = np.linalg.norm(spin)

        def after(t, position=position, turns=turns, velocity=velocity, spin=spin, rate=rate):
            return find(pair, position + t * velocity, (turns[0], product(turn(spin, rate * t), turns[1])))

        now, before, later = after(0.0), after(-dt), after(dt)
        k = np.argmin(now.gap)
        if now.gap.size > 1 and np.sort(now.gap)[1] - now.gap[k] < 1e-3:
            continue  # which one is nearest changes in the meantime
        n, arm = now.normal[k], now.point[k] - position
        expected = n @ (velocity + np.cross(spin, arm + now.gap[k] / 2 * n))
        change = (later.gap.min() - before.gap.min()) / (2 * dt)
        np.testing.assert_allclose(change, expected, atol=2e-3 if Shape.BOX in (pair[0][0], pair[1][0]) else 1e-4)


@pytest.mark.core
def test_the_same_arrays_give_the_same_bits():
    rng = np.random.default_rng(6)
    model = model_of([*SHAPES, *SHAPES])
    state = state_of(rng.uniform(-1, 1, (len(SHAPES) * 2, 3)), [random_turn(rng) for _ in range(len(SHAPES) * 2)])
    first, second = (contacts_of(model, state, 0.1) for _ in range(2))
    assert first.gap.size > 10
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
