"""Large islands in slabs: the same bits on any number of threads, and an answer that meets its law."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.rows import BINS, MOST_SLABS
from stickslip.engine.slabs import LARGE, cut
from stickslip.errors import InputError

RADIUS = 0.5


def heap(side, layers, shuffled=False, tray=False, planar=False):
    """Balls in rows that touch, between walls: one island of about three contacts a ball."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=0.5)
    places = [(x, y, RADIUS + z) for z in range(layers) for y in range(side) for x in range(side)]
    if planar:
        places = [(x, RADIUS + z) for z in range(layers) for x in range(side)]
    if shuffled:
        np.random.default_rng(0).shuffle(places)
    for place in places:
        scene.add_sphere(radius=RADIUS, mass=1.0, position=place, friction=0.5)
    if tray:  # a body that touches all of the uppermost
        size = (side, 0.2) if planar else (side, side, 0.2)
        at = ((side - 1) / 2,) if planar else ((side - 1) / 2, (side - 1) / 2)
        scene.add_box(size=size, mass=50.0, position=(*at, layers + 0.1), name="lid")
    return scene


def bits(run):
    return b"".join(run._record.read(name).tobytes() for name in run._record.columns if name != "seconds")


@pytest.mark.parametrize(
    "scene",
    [heap(14, 10), heap(14, 10, shuffled=True), heap(14, 10, tray=True), heap(50, 42, planar=True)],
    ids=["rows", "shuffled", "lid", "plane"],
)
@pytest.mark.filterwarnings("ignore::stickslip.errors.InexactWarning")
def test_the_bits_do_not_depend_on_the_threads(scene):
    one, two, five = (ss.simulate(scene, 0.015, 5e-3, effort=20, threads=threads) for threads in (1, 2, 5))
    assert one.contact_count.min() >= LARGE
    assert bits(one) == bits(two) == bits(five)


@pytest.mark.filterwarnings("ignore::stickslip.errors.InexactWarning")
def test_impulses_are_those_that_moved_the_balls():
    """Newton's second law for every ball, friction cones, and the weight on the ground."""
    run = ss.simulate(heap(14, 10, shuffled=True), 0.01, 5e-3, threads=2)
    contacts, balls = run.contacts(-1), 14 * 14 * 10
    gained = np.zeros((balls + 1, 3))  # the first body is the ground
    np.add.at(gained, contacts.body_a, contacts.vector)
    np.subtract.at(gained, contacts.body_b, contacts.vector)
    for ball in range(1, balls + 1):
        velocity = run.velocity(ball)
        change = velocity[-1] - velocity[-2] - np.array([0.0, 0.0, -9.81 * 5e-3])
        np.testing.assert_allclose(gained[ball], change, atol=1e-12)
    normal, friction = contacts.impulse[:, 0], np.linalg.norm(contacts.impulse[:, 1:], axis=1)
    assert (normal >= 0.0).all()
    assert (friction <= 0.5 * normal * (1 + 1e-9)).all()
    assert abs(gained[0, 2] + balls * 9.81 * 5e-3) < 1e-2 * balls * 9.81 * 5e-3


def test_a_cut_shares_no_body_within_a_colour():
    rng = np.random.default_rng(1)
    bodies, blocks = 3000, 8000
    position = rng.uniform(0, 10, (bodies, 3)) * [4, 2, 8]
    near = np.argsort(np.abs(position[:, 0] - position[rng.integers(bodies, size=blocks), 0][:, None]), axis=1)[:, :2]
    body = np.ascontiguousarray(near)
    body[:40, 1] = 7  # a body with contacts everywhere
    body[:40, 0] = rng.choice(np.arange(8, bodies), 40)
    body[40:60, 1] = 0  # one that is not free
    free = np.ones(bodies, bool)
    free[0] = False
    order, start, colour = np.zeros(blocks, int), np.zeros(MOST_SLABS + 2, int), np.zeros(4, int)
    room = np.zeros(BINS, int), np.zeros(bodies, int)
    gravity = np.array([0.0, 0.0, -9.81])
    slabs = cut(np.arange(blocks), body, free, position, gravity, order, start, colour, *room)
    assert slabs == colour[2] == colour[3] - 1 == 4
    assert sorted(order) == list(range(blocks))
    assert start[5] == blocks
    for first, last in ((colour[0], colour[1]), (colour[1], colour[2])):
        owner = {}
        for task in range(first, last):
            for b in body[order[start[task] : start[task + 1]]].ravel():
                assert not free[b] or owner.setdefault(b, task) == task
    assert start[5] - start[4] < 100  # the rest: only those of the body that is everywhere


def test_what_is_no_number_stays_within_its_arrays():
    bodies, blocks = 10, LARGE
    position = np.full((bodies, 3), np.nan)
    position[3] = np.inf
    body = np.random.default_rng(0).integers(0, bodies, (blocks, 2))
    order, start, colour = np.zeros(blocks, int), np.zeros(MOST_SLABS + 2, int), np.zeros(4, int)
    cut(
        np.arange(blocks), body, np.ones(bodies, bool), position, np.zeros(3), order, start, colour,
        np.zeros(BINS, int), np.zeros(bodies, int),
    )  # fmt: skip
    assert sorted(order) == list(range(blocks))


@pytest.mark.filterwarnings("ignore::stickslip.errors.InexactWarning")
def test_a_run_goes_on_and_steps_one_by_one_on_several_threads(tmp_path):
    scene = heap(14, 10)
    whole = ss.simulate(scene, 0.015, 5e-3, effort=10, threads=3)
    ss.simulate(scene, 0.005, 5e-3, effort=10, path=tmp_path / "run.h5").close()
    again = ss.resume(tmp_path / "run.h5", duration=0.015, threads=2)
    sim = ss.Simulation(scene, 5e-3, effort=10, threads=2)
    for _ in range(3):
        sim.step()
    for body in (0, 17, 1960):
        np.testing.assert_array_equal(again.position(body), whole.position(body))
        np.testing.assert_array_equal(sim.state.position(body), whole.position(body)[-1])


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "all"])
def test_threads_are_a_number(threads):
    with pytest.raises(InputError, match="threads is"):
        ss.simulate(heap(2, 1), 0.01, 5e-3, threads=threads)


def test_systems_run_on_one():
    system = ss.GeneralizedSystem(1, lambda q: np.eye(1), lambda q, v: [0.0], name="bead")
    with pytest.raises(InputError, match="threads is 2 for the system 'bead'"):
        ss.simulate(system, 0.1, 1e-2, q=[0.0], threads=2)
    with pytest.raises(InputError, match="threads is 2, expected it for a Scene only"):
        ss.Simulation(system, 1e-2, q=[0.0], threads=2)
