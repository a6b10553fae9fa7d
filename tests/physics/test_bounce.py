"""Restitution: after n bounces a ball rises to e²ⁿ of the height it fell from."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from laws import EVERY, G, but, over, simulate

import stickslip as ss

E = 0.5


def dropped(height):
    scene = ss.Scene()
    scene.add_plane(restitution=E, friction=0.3)
    return scene, scene.add_sphere(0.1, mass=2.0, position=(0, 0, 0.1 + height))


def bounces(v):
    """The steps that turn the ball round."""
    return np.flatnonzero((v[:-1] < 0) & (v[1:] > 0))


@EVERY
def test_newton_answers_the_velocity(friction):
    scene, ball = dropped(0.05)
    v = simulate(scene, 0.15, 0.005, friction).velocity(ball)[:, 2]
    k = bounces(v)
    assert k.size == 1
    np.testing.assert_allclose(v[k + 1], -E * v[k], rtol=1e-9)


@EVERY
def test_poisson_answers_the_impulse(friction):
    """Compression stops the ball, expansion gives e times that impulse, and the weight is carried for the step."""
    h = 0.005
    scene, ball = dropped(0.05)
    run = simulate(scene, 0.15, h, replace(friction, impact=ss.Poisson()))
    v = run.velocity(ball)[:, 2]
    k = bounces(v)
    assert k.size == 1
    np.testing.assert_allclose(v[k + 1], -E * v[k], rtol=1e-9)
    np.testing.assert_allclose(run.contacts(step=int(k[0])).impulse[0, 0], 2.0 * (G * h - (1 + E) * v[k[0]]), rtol=1e-9)


LAWS = pytest.mark.parametrize("impact", [ss.Newton(), ss.Poisson(), ss.Routh(), ss.Routh("poisson")], ids=str)


@LAWS
def test_heights_fall_by_the_square_of_e(impact):
    """Exactly, but seen at the ends of steps."""
    height, h = 1.0, 1e-3
    scene, ball = dropped(height)
    run = ss.simulate(scene, 1.2, h, friction=ss.Coulomb(impact=impact))
    k = bounces(run.velocity(ball)[:, 2])
    assert k.size >= 3
    z = run.position(ball)[:, 2] - 0.1
    rises = np.array([z[first:last].max() for first, last in pairwise(k[:3])])
    expected = height * E ** (2 * np.arange(1, 3))
    assert (np.abs(rises - expected) <= G * h**2 / 8 * 1.001).all()


@EVERY
@pytest.mark.parametrize("e", [1.0, 0.9, 0.5])
def test_each_bounce_leaves_the_square_of_e_of_the_energy(friction, e):
    """Over the floor, in steps of any size; and what bounces never overlaps."""
    scene = ss.Scene()
    scene.add_plane(restitution=e, friction=0.0)
    ball = scene.add_sphere(0.1, mass=2.0, position=(0, 0, 1.1))
    run = simulate(scene, 1.2, 0.01, friction)
    height, v = run.position(ball)[:, 2] - 0.1, run.velocity(ball)[:, 2]
    bounced = np.zeros(len(v))
    bounced[bounces(v) + 1] = 1
    assert bounced.sum() >= 1
    np.testing.assert_allclose(v**2 / 2 + G * height, G * e ** (2 * np.cumsum(bounced)), rtol=1e-9)
    assert height.min() > 0


def rattling(e, gravity):
    """A ball in a closed box of planes, 1 m wide, no friction."""
    scene = ss.Scene(gravity=gravity)
    for k in range(3):
        for side in (1, -1):
            scene.add_plane(tuple(side * np.eye(3)[k]), min(side, 0), friction=0.0, restitution=e)
    ball = scene.add_sphere(0.05, mass=1.0, position=(0.5, 0.4, 0.3), velocity=(7, 5, 5.1), friction=0.0)
    return scene, ball


@over([ss.Coulomb(), ss.Coulomb(impact=ss.Poisson()), ss.AnitescuPotra(), ss.StewartTrinkle()])
@pytest.mark.parametrize("e", [1.0, 0.9])
@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -G)], ids=["free", "falls"])
def test_what_rattles_in_a_box_stays_there(friction, e, gravity):
    """Without gravity every bounce turns one velocity round and takes (1 - e) of it; corners take several at once."""
    scene, ball = rattling(e, gravity)
    run = simulate(scene, 1.0, 5e-3, friction)
    x, v = run.position(ball), run.velocity(ball)
    assert x.min() > 0.05 - 1e-9
    assert x.max() < 0.95 + 1e-9
    if gravity == (0, 0, 0):
        bounced = np.cumsum(v[:-1] * v[1:] < 0, axis=0)
        assert bounced[-1].min() >= 4
        np.testing.assert_allclose(np.abs(v[1:]), np.array([7, 5, 5.1]) * e**bounced, rtol=1e-9)
    elif isinstance(friction.impact, ss.Newton):
        assert np.diff(run.energy).max() < 1e-9


@EVERY
def test_what_bounces_on_a_body_that_stands_gains_nothing(friction):
    """A ball falls on a heavy box on the floor, e = 1: it comes back no higher than it was, and the box stays."""
    scene = ss.Scene()
    floor = scene.add_plane(friction=0.5)
    box = scene.add_box(1.0, mass=20.0, position=(0, 0, 0.5), restitution=1.0)
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 1.6), restitution=1.0)
    scene.set_pair(box, floor, restitution=0.0)
    run = simulate(scene, 1.0, 0.01, friction)
    assert run.velocity(ball)[:, 2].max() > 2.0
    assert run.energy.max() <= run.energy[0] + 1e-9
    assert run.position(ball)[:, 2].max() <= 1.6 + 1e-9
    np.testing.assert_allclose(run.position(box)[:, 2], 0.5, atol=1e-9)


def test_a_system_in_its_own_coordinates_bounces_as_a_scene_does():
    e, h = 0.9, 0.01
    contact = ss.ContactPoint(lambda q: q[0], lambda q: np.array([[1.0, 0.0], [0.0, 1.0]]), 0.0, restitution=e)
    system = ss.GeneralizedSystem(2, lambda q: 2.0 * np.eye(2), lambda q, v: [2.0 * G, 0.0], (contact,))
    run = ss.simulate_system(system, [1.0, 0.0], [0.0, 0.0], 1.2, h)
    scene = ss.Scene()
    scene.add_plane(restitution=e, friction=0.0)
    ball = scene.add_sphere(0.1, mass=2.0, position=(0, 0, 1.1))
    same = ss.simulate(scene, 1.2, h)
    np.testing.assert_allclose(run.q[:, 0], same.position(ball)[:, 2] - 0.1, atol=1e-9)
    np.testing.assert_allclose(run.v[:, 0], same.velocity(ball)[:, 2], atol=1e-9)


@LAWS
def test_a_row_of_equal_balls_hands_the_speed_on(impact):
    """One elastic impact at a time, as the balls are apart: the last one leaves with the speed of the first."""
    scene = ss.Scene(gravity=(0, 0, 0))
    balls = [
        scene.add_sphere(
            0.1, mass=1.0, position=(0.3 * i, 0, 0), velocity=(1.0 if i == 0 else 0.0, 0, 0), restitution=1.0
        )
        for i in range(4)
    ]
    run = ss.simulate(scene, 1.0, 0.01, friction=ss.Coulomb(impact=impact))
    np.testing.assert_allclose([run.velocity(ball)[-1, 0] for ball in balls], [0, 0, 0, 1.0], atol=1e-9)


@pytest.mark.parametrize("impact", [ss.Newton(), ss.Routh()], ids=str)
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize("moving", [1, 2])
def test_newtons_cradle(impact, gap, moving):
    """Five equal balls that touch, or nearly: as many fly off as came, and the others rest."""
    scene = ss.Scene(gravity=(0, 0, 0))
    balls = [
        scene.add_sphere(
            0.1,
            mass=1.0,
            position=(i * (0.2 + gap) - (0.05 if i < moving else 0.0), 0, 0),
            velocity=(1.0 if i < moving else 0.0, 0, 0),
            restitution=1.0,
        )
        for i in range(5)
    ]
    run = ss.simulate(scene, 0.3, 0.01, friction=ss.Coulomb(impact=impact))
    expected = [0.0] * (5 - moving) + [1.0] * moving
    np.testing.assert_allclose([run.velocity(ball)[-1, 0] for ball in balls], expected, atol=1e-7)


@pytest.mark.parametrize("hanging", [False, True])
def test_a_long_row_of_balls_that_nearly_touch(hanging):
    """One step in which a dozen balls hit each other one by one: none goes into the next, and the last flies off."""
    scene, count, gap = ss.Scene(gravity=(0, 0, 0)), 12, 1e-4
    balls = []
    for i in range(count):
        x = i * (0.2 + gap) - (0.005 if i == 0 else 0.0)
        ball = scene.add_sphere(
            0.1, mass=1.0, position=(x, 0, 0), velocity=(1.0 if i == 0 else 0.0, 0, 0), restitution=1.0, friction=0.0
        )
        if hanging:
            scene.add_ball(ball, position=(x, 0, 5.0))
        balls.append(ball)
    run = ss.simulate(scene, 0.05, 0.01)
    x, v = (np.stack([of(ball)[:, 0] for ball in balls], axis=1) for of in (run.position, run.velocity))
    assert np.diff(x, axis=1).min() > 0.2 - 0.01 * 0.2
    np.testing.assert_allclose(v[-1], [0.0] * (count - 1) + [1.0], atol=0.02 if hanging else 1e-7)


@pytest.mark.parametrize("h", [1e-2, 2e-3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_box_that_tumbles_gains_nothing(h, seed):
    """Newton's rule with friction would: e = 0.9, μ = 0.5, thrown with spin."""
    random = np.random.default_rng(seed)
    scene = ss.Scene()
    scene.add_plane(friction=0.5, restitution=0.9)
    orientation = random.standard_normal(4)
    scene.add_box(
        (0.2, 0.3, 0.4),
        mass=1.0,
        position=(0, 0, 1),
        orientation=tuple(orientation / np.linalg.norm(orientation)),
        velocity=tuple(random.standard_normal(3)),
        spin=tuple(5 * random.standard_normal(3)),
    )
    energy = ss.simulate(scene, 1.5, h).energy
    assert np.diff(energy).max() <= 1e-9 * energy[0]
    assert energy[-1] > 0.1 * energy[0]  # it still bounces


@pytest.mark.parametrize("impact", [ss.Newton(), ss.Poisson(), ss.Routh()], ids=str)
@pytest.mark.parametrize("slide", [0.5, 8.0])
def test_a_ball_that_slides_and_bounces(impact, slide):
    """Friction changes the slip of a ball by 7/2 over its mass: it slides through, with μ times the normal impulse, or
    rolls off. Gravity acts in the step beside, and under Poisson's rule what is given back comes without friction."""
    e, mu, h, m = 0.5, 0.2, 1e-3, 2.0
    scene = ss.Scene()
    scene.add_plane(restitution=e, friction=mu)
    ball = scene.add_sphere(0.1, mass=m, position=(0, 0, 0.1), velocity=(slide, 0, -2.0))
    run = ss.simulate(scene, h, h, friction=ss.Coulomb(impact=impact))
    v, spin = run.velocity(ball)[-1], run.spin(ball)[-1]
    assert v[2] == pytest.approx(e * 2.0, rel=1e-9)
    slip = v[0] - 0.1 * spin[1]
    impulse = (1 + e) * 2.0 + G * h  # over the mass
    given = 2.0 + G * h if isinstance(impact, ss.Poisson) else impulse
    if slide - 3.5 * mu * given > 0:
        assert slip == pytest.approx(slide - 3.5 * mu * given, rel=1e-9)
    else:
        assert slip == pytest.approx(0.0, abs=1e-9)


def test_what_falls_slower_than_the_rest_speed_stays():
    scene, ball = dropped(0.0)
    scene.place(ball, velocity=(0, 0, -5e-4))
    run = ss.simulate(scene, 0.1, 0.01)
    assert np.abs(run.position(ball)[:, 2] - 0.1).max() < 1e-5


def test_newtons_cradle_that_hangs_keeps_its_energy():
    """Five balls on hinges, e = 1, through three impacts. From the second on they do not all touch, and gravity acts in
    the step of an impact. The ball that comes loses all its speed to the one that leaves, in both senses."""
    scene, length, radius, lift = ss.Scene(), 0.5, 0.03, 0.5
    hung = []
    for k in range(5):
        angle = lift if k == 0 else 0.0
        place = (2 * radius * k - length * np.sin(angle), 0, -length * np.cos(angle))
        hung.append(scene.add_sphere(radius, mass=0.5, position=place, restitution=1.0, friction=0.0))
        scene.add_hinge(hung[-1], position=(2 * radius * k, 0, 0), axis=(0, 1, 0))
    run = ss.simulate(scene, 2.0, 1e-3)
    drop = length * (1 - np.cos(lift))
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * 0.5 * G * drop
    rises = np.array([run.position(ball)[:, 2] for ball in hung]) + length
    assert rises[1:-1].max() < 1e-3 * drop
    np.testing.assert_allclose(rises[4].max() / drop, 1.0, atol=1e-3)
    np.testing.assert_allclose(rises[0, 1200:1700].max() / drop, 1.0, atol=1e-3)


@pytest.mark.parametrize("e", [0.4, 0.9])
@pytest.mark.parametrize("gap", [5e-4, 2e-3])
@pytest.mark.parametrize("above", [2e-3, 4e-3, 6e-3])
def test_balls_that_bounce_one_behind_the_other_do_not_overlap(e, gap, above):
    """The first turns round on a peg in the middle of a step, and the second, close behind, on the first. Moved by
    shares of their own they went into each other by 8 % of their size."""
    r, aside, scene = 0.025, 0.01, ss.Scene()
    scene.add_sphere(0.02, static=True, restitution=e)
    z = 0.02 + r + above
    first = scene.add_sphere(r, mass=1.0, position=(0, 0, z), velocity=(0.4, 0, -1.6), restitution=e)
    behind = (aside, 0, z + np.sqrt((2 * r + gap) ** 2 - aside**2))
    second = scene.add_sphere(r, mass=1.0, position=behind, velocity=(0.4, 0, -1.6), restitution=e)
    run = ss.simulate(scene, 0.03, 3e-3)
    apart = np.linalg.norm(run.position(first) - run.position(second), axis=1)
    assert apart.min() > 0.996 * 2 * r


def parting(overlap, h):
    """By Gap(0.2, brake=1): a fifth of the overlap in a step, and no faster than 1 m/s² stops at the surface."""
    return min(0.2 * overlap / h, np.sqrt(2 * overlap))


@over(but(ss.CompliantCone, ss.CompliantCylinder))  # which have springs
@pytest.mark.parametrize("overlap", [1e-5, 1e-3, 0.02])
@pytest.mark.parametrize("speed", [2e-3, 0.05, 1.0])
def test_what_bounces_and_overlaps_parts_as_if_it_rested(friction, overlap, speed):
    """Without weight: a ball in the floor comes back with e times its speed, or with that of its overlap if it is
    more."""
    h = 2e-3
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_plane(restitution=E, friction=0.3)
    ball = scene.add_sphere(0.1, mass=2.0, position=(0, 0, 0.1 - overlap), velocity=(0, 0, -speed))
    run = simulate(scene, h, h, replace(friction, stabilisation=ss.Gap(0.2, brake=1.0)))
    assert run.velocity(ball)[-1, 2] == pytest.approx(max(E * speed, parting(overlap, h)), rel=1e-7)


@pytest.mark.parametrize("speed", [2e-3, 0.05, 1.0])
def test_a_ball_in_the_floor_that_is_hit_parts_from_it(speed):
    """The hit is handed on to the floor, which the ball leaves no slower than its overlap asks for."""
    h, overlap = 2e-3, 1e-3
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_plane(restitution=E, friction=0.3)
    low = scene.add_sphere(0.1, mass=2.0, position=(0, 0, 0.1 - overlap), restitution=E)
    scene.add_sphere(0.1, mass=2.0, position=(0, 0, 0.3 - overlap), velocity=(0, 0, -speed), restitution=E)
    run = ss.simulate(scene, h, h)
    assert run.velocity(low)[-1, 2] >= parting(overlap, h) * (1 - 1e-7)


@pytest.mark.parametrize(("gap", "overlap"), [(0.05, 0.01), (0.0399999, 0.0000001), (0.021, 0.019)])
def test_at_velocity_level_what_lands_stays_in_by_less_than_one_step_of_its_approach(gap, overlap):
    """At 2 m/s and 10 ms a ball comes on by 2 cm in a step, and is stopped in the one after that in which it touches. A
    gap term stops it at the surface."""
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_plane()
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0.1 + gap), velocity=(0, 0, -2.0))
    for friction, depth in ((ss.AnitescuPotra(), overlap), (ss.AnitescuPotra(stabilisation=ss.Gap()), 0.0)):
        run = ss.simulate(scene, 0.1, 0.01, friction=friction)
        assert run.position(ball)[-1, 2] == pytest.approx(0.1 - depth, abs=1e-12)
