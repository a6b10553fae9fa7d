"""Distributed contacts wherever there are contacts: in the plane, in systems, with motors, one set a pair, or none."""

import math

import numpy as np
import pytest
from limit_surfaces import SETS, superellipse

import stickslip as ss

G = 9.81
EVERY_SET = pytest.mark.parametrize("name", SETS)


def slanted(t, o, r, speed, x, y, z, time):
    """√(t² + 4 o² + r²): a gauge unlike the others of the run."""
    value = math.sqrt(t * t + 4 * o * o + r * r)
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return value, t / value, 4 * o / value, r / value


@EVERY_SET
def test_a_step_without_contact(name):
    scene = ss.Scene()
    scene.add_plane()
    scene.add_sphere(0.1, mass=1.0, position=(0, 0, 1.0), patch=0.02, name="ball")
    run = ss.simulate(scene, 0.1, 1e-2, friction=ss.LimitSurface(SETS[name]))
    assert run.position("ball")[-1, 2] == pytest.approx(1.0 - G * 0.1**2 / 2)


@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_in_the_plane_it_is_coulombs_law(dt):
    """(c_t, 0, 0) with |c_t| <= μ c_n: what Coulomb() does, for a stack of boxes that is pushed."""
    runs = []
    for friction in (ss.Coulomb(), ss.LimitSurface(), ss.LimitSurface(ss.Mixed())):
        scene = ss.Scene(planar=True)
        scene.add_plane(friction=0.4)
        for i in range(3):
            scene.add_box((0.2, 0.2), mass=1.0, position=(0.0, 0.1 + 0.2 * i), patch=0.1, friction=0.4)
        scene.apply("box_1", force=(12.0, 0.0))
        runs.append(ss.simulate(scene, 0.05, dt, friction=friction, tol=1e-11))
    for run in runs[1:]:
        for box in ("box_1", "box_2", "box_3"):
            np.testing.assert_allclose(run.velocity(box), runs[0].velocity(box), atol=1e-7)


def spinning_disc(patch, spin=None):
    """q = (x, y, z, angle): a disc of 2 kg and 0.01 kg m² that cannot tip."""
    point = ss.ContactPoint(
        gap=lambda q: q[2],
        rows=lambda q: [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]],
        friction=0.3,
        patch=patch,
        spin=spin,
    )
    M = np.diag([2.0, 2.0, 2.0, 2.0 * 0.05**2])
    return ss.GeneralizedSystem(4, lambda q: M, lambda q, v: [0, 0, 2.0 * G, 0], contacts=(point,), name="disc")


def test_a_disc_in_generalized_coordinates_stops_sliding_and_spinning_together():
    """(v, e_r ω) shrinks at the rate μ g where e_r is the radius of gyration."""
    disc = spinning_disc(0.05, lambda q: [0, 0, 0, 1])
    run = ss.simulate(disc, duration=0.4, dt=1e-3, q=np.zeros(4), v=[0.6, 0.8, 0, 8.0], friction=ss.LimitSurface())
    speed, spin = np.hypot(run.v[:, 0], run.v[:, 1]), np.abs(run.v[:, 3])
    stop = math.ceil(math.hypot(1.0, 8 * 0.05) / (0.3 * G * 1e-3))
    assert np.argmax(speed < 1e-6) == np.argmax(spin < 1e-4) == stop
    table = run.contacts(step=10)
    assert math.hypot(*table.impulse[0, 1:], table.moment[0] / 0.05) == pytest.approx(0.3 * table.impulse[0, 0])


def test_a_system_of_points_needs_no_spin_and_a_patch_does():
    run = ss.simulate(
        spinning_disc(0.0), duration=0.1, dt=1e-3, q=np.zeros(4), v=[1, 0, 0, 8.0], friction=ss.LimitSurface()
    )
    np.testing.assert_allclose(run.v[-1], [1 - 0.3 * G * 0.1, 0, 0, 8.0], atol=1e-8)
    with pytest.raises(ss.InputError, match=r"has a patch of 0\.05 m, expected its spin"):
        ss.simulate(spinning_disc(0.05), 0.1, 1e-3, q=np.zeros(4), v=np.zeros(4), friction=ss.LimitSurface())


@EVERY_SET
def test_motors_beside_every_set(name):
    """A motor runs a cart of 1 kg to 0.5 m/s, at once or with 1 N, while a puck rests on the ground."""
    for strength, speed in ((50.0, 0.5), (1.0, 0.2)):
        scene = ss.Scene()
        scene.add_plane(friction=0.3)
        scene.add_sphere(0.1, mass=2.0, inertia=1e3, position=(0, 0, 0.1), patch=0.02, name="puck")
        scene.add_box(0.1, mass=1.0, position=(0, 0, 1.0), name="cart")
        scene.add_slider("cart", position=(0, 0, 1.0), axis=(1, 0, 0), speed=0.5, strength=strength, name="motor")
        run = ss.simulate(scene, 0.2, 1e-2, friction=ss.LimitSurface(SETS[name]))
        assert run.residual.max() <= 1e-8
        assert run.velocity("cart")[-1, 0] == pytest.approx(speed, abs=1e-6)
        assert np.abs(run.velocity("puck")[-1, :2]).max() < 1e-9


@EVERY_SET
def test_a_motor_drags_a_block_over_every_set(name):
    """The joint row and the contact in one island: the motor's force is friction where it does not accelerate."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    scene.add_sphere(0.1, mass=2.0, inertia=1e3, position=(0, 0, 0.1), patch=0.02, name="puck")
    scene.add_box(0.1, mass=1.0, position=(0, 0, 1.0), name="cart", static=True)
    scene.add_slider("puck", "cart", position=(0, 0, 0.1), axis=(1, 0, 0), speed=0.5, strength=80.0, name="motor")
    run = ss.simulate(scene, 0.2, 1e-2, friction=ss.LimitSurface(SETS[name]))
    assert run.residual.max() <= 1e-8
    assert run.velocity("puck")[-1, 0] == pytest.approx(0.5, abs=1e-7)


def car(speeds, strength, mu, mass, wheel, patch=0.0, lift=0.0):
    """A body on four balls for wheels, each on a driven hinge along y."""
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    scene.add_box((1.6, 0.8, 0.3), mass=mass, position=(0, 0, 0.4 + lift), name="body")
    hubs = [(x, y, 0.25 + lift) for x in (-0.6, 0.6) for y in (-0.55, 0.55)]
    for i, (hub, speed) in enumerate(zip(hubs, speeds, strict=True)):
        scene.add_sphere(0.25, mass=wheel, position=hub, friction=mu, patch=patch, name=f"wheel {i}")
        scene.add_hinge(f"wheel {i}", "body", position=hub, axis=(0, 1, 0), speed=speed, strength=strength)
    return scene


@EVERY_SET
def test_four_driven_wheels(name):
    """(m + 4 I/R²) v' = 4 τ / R while the motors give all they have, v = R ω after; every step is solved."""
    run = ss.simulate(car([4.0] * 4, 30.0, 0.8, 100.0, 5.0, 0.02), 0.4, 1e-2, friction=ss.LimitSurface(SETS[name]))
    assert run.residual.max() <= 1e-8
    acceleration = 4 * 30.0 / 0.25 / (100.0 + 4 * 5.0 * (1 + 2 / 5))
    assert run.velocity("body")[10, 0] == pytest.approx(acceleration * 0.1, rel=1e-6)
    assert run.velocity("body")[-1, 0] == pytest.approx(0.25 * 4.0, rel=1e-6)


@pytest.mark.parametrize("name", ["ellipsoid", "mixed", "polyhedron"])
def test_heavy_wheels_that_agree_to_nanometres(name):
    """Four wheels that roll alike, up to gaps that differ in the last digits, can only do so with friction at its
    bound: forces far from those that sweeps come to, and yet every step is solved."""
    run = ss.simulate(car([5.0] * 4, 30.0, 0.9, 10.0, 10.0), 0.3, 5e-3, friction=ss.LimitSurface(SETS[name]))
    assert run.residual.max() <= 1e-8
    assert run.velocity("body")[-1, 0] == pytest.approx(0.25 * 5.0, rel=1e-4)


@EVERY_SET
def test_wheels_that_fight_each_other(name):
    """Dropped, and driven at four speeds, with light and heavy wheels: some slip, some lift, every step is solved."""
    for speeds, strength, patch, mu, mass, wheel in (
        ([-19.7, 5.8, 8.8, 13.4], 3000.0, 0.005, 0.5, 2.0, 10.0),
        ([17.0, -1.2, 7.8, -15.7], 30.0, 0.0, 0.9, 4.0, 1.0),
    ):
        scene = car(speeds, strength, mu, mass, wheel, patch, lift=0.05)
        run = ss.simulate(scene, 0.6, 1e-2, friction=ss.LimitSurface(SETS[name]))
        assert run.residual.max() <= 1e-8


def test_one_set_for_each_pair():
    """Three pucks slide and spin alike, over one ground: the ellipsoid shares force and moment, the others do not."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3, name="ground")
    sets = {"round": None, "apart": ss.Mixed(), "user": ss.FrictionMap(slanted), "four": ss.FrictionMap(superellipse)}
    for i, (name, surface) in enumerate(sets.items()):
        extra = {} if surface is None else {"surface": surface}
        scene.add_sphere(
            0.1, mass=2.0, inertia=(1e9, 1e9, 5e-3), position=(0, i, 0.1), velocity=(1, 0, 0), spin=(0, 0, 20.0),
            patch=0.05, name=name, **extra,
        )  # fmt: skip
    run = ss.simulate(scene, 1e-3, 1e-3, friction=ss.LimitSurface(), tol=1e-11)
    table = run.contacts(step=0)
    gauges = {
        "round": lambda s: np.linalg.norm(s),
        "apart": lambda s: max(math.hypot(s[0], s[1]), abs(s[2])),
        "user": lambda s: slanted(*s, 0, 0, 0, 0, 0)[0],
        "four": lambda s: superellipse(*s, 0, 0, 0, 0, 0)[0],
    }
    for contact in table:
        name = run.header.names[contact.body_a if contact.body_a else contact.body_b]
        s = np.array([*contact.impulse[1:], contact.moment / 0.05]) / (0.3 * contact.impulse[0])
        assert gauges[name](s) == pytest.approx(1.0, abs=1e-8)
    assert run.contacts(step=0).impulse[0, 1] != pytest.approx(run.contacts(step=0).impulse[1, 1], rel=0.001)


def test_two_materials_that_do_not_agree_need_a_word_for_the_pair():
    scene = ss.Scene()
    ground = scene.add_plane(friction=0.3, surface=ss.Mixed())
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0.1), surface=ss.Ellipsoid(), patch=0.01)
    with pytest.raises(ss.InputError, match="surface of two materials that touch is not the same"):
        ss.simulate(scene, 0.01, 0.01, friction=ss.LimitSurface())
    scene.set_pair(ground, ball, surface=ss.Ellipsoid())
    assert ss.simulate(scene, 0.01, 0.01, friction=ss.LimitSurface()).residual.max() <= 1e-8
    with pytest.raises(ss.InputError, match="surface is 3, expected Ellipsoid"):
        ss.Material(surface=3)


def test_several_sets_in_one_problem_are_each_contact_by_itself(tmp_path):
    """Contacts that do not know of each other: one problem with a set for each has the answers of four."""
    random = np.random.default_rng(1)
    sets = [ss.Ellipsoid(), ss.Mixed(), SETS["polyhedron"], SETS["superellipse"], ss.FrictionMap(slanted)]
    A, b = np.zeros((20, 20)), random.normal(size=20)
    b[::4] = -1.0 - random.random(5)
    mu, e = random.uniform(0.2, 0.6, 5), random.uniform(0.5, 1.5, (5, 3))
    alone = []
    for i, surface in enumerate(sets):
        J = random.normal(size=(6, 4))
        A[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = J.T @ J + np.eye(4)
        own = slice(4 * i, 4 * i + 4)
        one = ss.LimitSurfaceProblem(A[own, own], b[own], mu[i : i + 1], e[i : i + 1], surface=surface)
        alone.append(ss.solve(one, tol=1e-12).require().x)
    together = ss.LimitSurfaceProblem(A, b, mu, e, surface=sets)
    for method in ("limit_surface_gauss_seidel", "limit_surface_newton"):
        answer = ss.solve(together, method, tol=1e-11).require()
        np.testing.assert_allclose(answer.x, np.concatenate(alone), atol=1e-8)
    kept = ss.LimitSurfaceProblem(A[:12, :12], b[:12], mu[:3], e[:3], surface=sets[:3])
    ss.save(kept, tmp_path / "sets.h5")
    assert ss.residual(ss.load(tmp_path / "sets.h5"), np.concatenate(alone[:3])) < 1e-10
    with pytest.raises(ss.InputError, match="surface has 2 sets, expected 5"):
        ss.LimitSurfaceProblem(A, b, mu, e, surface=sets[:2])


def fourth(t, o, r, speed, x, y, z, time):
    """(t⁴ + o⁴ + r⁴)^¼"""
    value = math.sqrt(math.sqrt(t**4 + o**4 + r**4))
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return value, (t / value) ** 3, (o / value) ** 3, (r / value) ** 3


def test_a_given_slip_leads_to_the_point_of_most_work():
    """The dual of the norm with exponent 4 has 4/3: the work is |slip|_{4/3}; 200 problems, all to 1e-10."""
    random, surface = np.random.default_rng(3), ss.FrictionMap(fourth)
    for _ in range(200):
        J = random.normal(size=(6, 4))
        A, slip = J.T @ J + np.eye(4), random.normal(size=3)
        b = random.normal(size=4) - [3.0, 0, 0, 0]
        problem = ss.LimitSurfaceProblem(A, b, [0.1], [[1.0, 0.7, 0.4]], [slip], surface)
        answer = ss.solve(problem, tol=1e-10).require()
        c_n, s = answer.x[0], answer.x[1:] / [1.0, 0.7, 0.4]
        way = slip * [1.0, 0.7, 0.4]
        work = (np.abs(way) ** (4 / 3)).sum() ** 0.75
        assert -way @ s == pytest.approx(0.1 * c_n * work, rel=1e-9)


def opening_problem(seed):
    random = np.random.default_rng(seed)
    nc = int(random.integers(1, 6))
    J = random.normal(size=(4 * nc + 2, 4 * nc))
    A, b = J.T @ J / (4 * nc) + 0.1 * np.eye(4 * nc), 2.0 * random.normal(size=4 * nc)
    e = np.column_stack([np.ones((nc, 2)), random.uniform(0.1, 1, nc)])
    return ss.LimitSurfaceProblem(A, b, random.uniform(0.1, 0.8, nc), e)


def test_wang_monteiro_and_pang_solve_what_opens():
    """A ≻ 0: there is a solution, whatever opens, and the interior point method finds it."""
    opened = 0
    for seed in [*range(29), 155]:  # the last is not solved with σ = 0.8
        answer = ss.PotentialReduction().solve(opening_problem(seed)).require()
        opened += bool((answer.x[::4] < 1e-6).any())
    assert opened > 15


def test_a_pile_of_eight_boxes_keeps_its_tolerance():
    """Boxes that fall on each other at random: every step to tol, whatever solves it."""
    random, scene = np.random.default_rng(0), ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(8):
        turn = random.normal(size=4)
        place = (*(0.06 * random.normal(size=2)), 0.2 + 0.22 * i)
        scene.add_box(
            (0.2, 0.15, 0.1), mass=1.0, position=place, orientation=tuple(turn / np.linalg.norm(turn)), patch=0.02
        )
    run = ss.simulate(scene, 0.3, 5e-3, friction=ss.LimitSurface(), accept=1e-8)
    assert run.residual.max() <= 1e-8
    assert run.contact_count.max() > 12


def test_the_interior_point_method_is_for_ellipsoids_that_roll():
    with pytest.raises(ss.InputError, match="expected a LimitSurfaceProblem with an Ellipsoid"):
        ss.LimitSurfaceInteriorPoint().solve(
            ss.LimitSurfaceProblem(np.eye(4), -np.ones(4), [0.1], [[1, 1, 1]], surface=ss.Mixed())
        )
    with pytest.raises(ss.InputError, match="contact 0 has a slip of its own"):
        ss.LimitSurfaceInteriorPoint().solve(
            ss.LimitSurfaceProblem(np.eye(4), -np.ones(4), [0.1], [[1, 1, 1]], [[1, 0, 0]])
        )
    none = (
        ss.LimitSurfaceInteriorPoint()
        .solve(ss.LimitSurfaceProblem(np.eye(4), -np.ones(4), [0.0], [[1, 1, 1]]))
        .require()
    )
    np.testing.assert_allclose(none.x, [1, 0, 0, 0], atol=1e-7)
