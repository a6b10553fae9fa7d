"""The compiled loop makes the same steps whatever solves them, the room it has and the way it is cut."""

from functools import partial

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import engine as engine_module
from stickslip.engine import outside
from stickslip.engine import simulate as simulate_module
from stickslip.solvers.cone_interior_point import ConeInteriorPoint

H, STEPS, TIGHT = 0.01, 50, 1e-12


def heap_of_balls():
    """Balls fall on each other: each contact is one point, so impulses are unique."""
    random = np.random.default_rng(2)
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    for i in range(8):
        position = (*0.1 * random.normal(size=2), 0.2 + 0.25 * i)
        scene.add_sphere(0.1, mass=1.0 + 0.2 * i, position=position, spin=tuple(3.0 * random.normal(size=3)))
    return scene, ss.Coulomb()


def box_on_springs():
    """It slides and turns on four corners; springs share its weight, and sliding says where friction points."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    placed = {"position": (0, 0, 0.2), "velocity": (4.0, 2.0, 0), "spin": (0, 0, 6)}
    scene.add_box(size=(1.0, 0.8, 0.4), mass=2.0, stiffness=1e6, damping=1e4, **placed)
    return scene, ss.Coulomb(ss.Relaxation())


def discs_in_the_plane():
    """The wall is smooth: a disc that rests against it and the floor then has impulses that are determined."""
    scene = ss.Scene(planar=True)
    scene.add_plane(friction=0.4)
    scene.add_plane(normal=(1, 0), offset=-0.25, friction=0.0)
    for i in range(5):
        scene.add_sphere(0.1, mass=1.0, position=(0.03 * i, 0.15 + 0.25 * i), velocity=(-0.5, 0.0), spin=2.0 * i)
    return scene, ss.Coulomb()


def kinetic_friction():
    scene = ss.Scene()
    scene.add_plane(friction=0.6, friction_kinetic=0.3)
    scene.add_particle(mass=1.0, velocity=(1.0, 0.3, 0.0))
    scene.add_sphere(0.2, mass=1.0, position=(2, 0, 0.2), velocity=(3.0, 0, 0))
    return scene, ss.Coulomb()


def bouncing_balls():
    scene = ss.Scene()
    scene.add_plane(friction=0.3, restitution=0.6)
    scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0.2), velocity=(0.5, 0, -1), spin=(0, 8, 3))
    scene.add_sphere(0.1, mass=2.0, position=(0.05, 0.02, 0.45), velocity=(0, 0, -2))
    return scene, ss.Coulomb()


def moving_ground():
    scene = ss.Scene()
    scene.add_plane(friction=0.5, moving=True, velocity=(0.3, -0.2, 0.0))
    scene.add_box(size=1.0, moving=True, position=(2, 0, 0.2), velocity=(-1.0, 0, 0), spin=(0, 0, 1))
    scene.add_sphere(0.3, mass=1.0, position=(0, 0, 0.3))
    scene.add_sphere(0.3, mass=1.0, position=(1.1, 0.1, 0.3))
    return scene, ss.Coulomb()


def without_stabilisation():
    scene, _ = heap_of_balls()
    return scene, ss.Coulomb(None)


SCENES = pytest.mark.parametrize(
    "made",
    [
        heap_of_balls,
        box_on_springs,
        discs_in_the_plane,
        kinetic_friction,
        bouncing_balls,
        moving_ground,
        without_stabilisation,
    ],
    ids=lambda made: made.__name__,
)


def assert_alike(run, other, atol):
    """The same motion, and the same contacts as far as they carry something."""
    for i in range(run.header.bodies):
        for quantity in ("position", "quaternion", "velocity", "spin"):
            found, expected = (getattr(each, quantity)(i) for each in (run, other))
            np.testing.assert_allclose(found, expected, atol=atol, err_msg=f"{quantity} of {run.header.names[i]}")
    ours, theirs = (table[table.impulse[:, 0] > 1e-6] for table in (run.contacts(), other.contacts()))
    for name in ("step", "shape_a", "shape_b", "feature"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    slip = np.linalg.norm(ours.velocity[:, 1:], axis=1)
    decided = (ours.friction > 0) | (slip >= 10 * atol)  # a smooth contact that does not slide may be called either
    np.testing.assert_array_equal(ours.state[decided], theirs.state[decided])
    for name in ("point", "normal", "gap", "friction", "impulse", "velocity"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=10 * atol, err_msg=name)


@SCENES
def test_it_makes_the_steps_that_a_solver_of_the_library_makes(made):
    """A solver by name has every island solved outside of the loop, by the Delassus matrix."""
    scene, friction = made()
    run = ss.simulate(scene, STEPS * H, H, friction=friction, tol=TIGHT)
    other = ss.simulate(scene, STEPS * H, H, friction=friction, solver="nsgs", tol=TIGHT)
    assert run.contact_count.max() > 0
    assert_alike(run, other, 1e-8)
    assert run.residual.max() <= TIGHT


@SCENES
def test_how_it_is_cut_changes_no_bit(made, monkeypatch):
    scene, friction = made()
    run = ss.simulate(scene, STEPS * H, H, friction=friction)
    monkeypatch.setattr(simulate_module, "MOST_STEPS", 3)
    assert_alike(ss.simulate(scene, STEPS * H, H, friction=friction), run, 0.0)


def test_drives_that_do_nothing_change_no_bit():
    scene, friction = heap_of_balls()
    run = ss.simulate(scene, STEPS * H, H, friction=friction)
    scene.apply(scene.bodies[1], force=lambda time, state: ((0, 0, 0), (0, 0, 0)))
    assert_alike(ss.simulate(scene, STEPS * H, H, friction=friction), run, 0.0)


@pytest.mark.parametrize("most", [None, 1], ids=["interior point", "all methods"])
def test_where_it_gives_up_others_solve_the_step(monkeypatch, most):
    scene, friction = box_on_springs()
    run = ss.simulate(scene, STEPS * H, H, friction=friction, tol=TIGHT)
    monkeypatch.setattr(engine_module, "SWEEPS", 0)
    if most is not None:
        monkeypatch.setattr(outside, "ConeInteriorPoint", partial(ConeInteriorPoint, max_iter=most))
    other = ss.simulate(scene, STEPS * H, H, friction=friction, tol=1e-11)
    assert_alike(run, other, 1e-8)
    assert not {"sweeps", "correction"} & set(other.method)


def test_there_is_room_for_as_many_contacts_as_there_are():
    """120 contacts, more than the room it starts with; each corner carries a quarter."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(30):
        scene.add_box(size=1.0, mass=1.0 + i, position=(2.0 * i, 0, 0.5))
    run = ss.simulate(scene, 0.3, H, tol=1e-10)
    assert (run.contact_count == 120).all()
    load = run.contacts(step=-1).impulse[:, 0].reshape(30, 4).sum(axis=1)
    np.testing.assert_allclose(load, 9.81 * H * np.arange(1.0, 31.0), rtol=1e-8)


def test_it_starts_a_step_from_the_impulses_of_the_last():
    """A block at rest needs a correction in the first step, and then at most a sweep where rounding has added up."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=(2.0, 1.0, 0.5), mass=1.0, position=(0, 0, 0.25))
    scene.apply(scene.bodies[1], force=(1.0, 0.5, 0.0))
    run = ss.simulate(scene, 0.5, H)
    assert run.method[0] == "correction"
    assert set(run.method[1:]) <= {"none", "sweeps"}
    assert run.iterations[1:].max() <= 1


@pytest.mark.parametrize("balls", [1, 3])
def test_a_body_that_is_hit_stops_at_what_it_meets_in_the_same_step(balls):
    """Balls at rest before a wall, further from it than they come by themselves, and hit by one of 100 m/s: in that
    step alone they would fly half a metre."""
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_box(size=(0.02, 1.0, 1.0), static=True, position=(0.3, 0, 0))
    resting = [scene.add_sphere(0.05, mass=1.0, position=(0.2 - 0.15 * i, 0, 0)) for i in range(balls)]
    bullet = scene.add_sphere(0.05, mass=1.0, position=(0.1 - 0.15 * balls, 0, 0), velocity=(100.0, 0, 0))
    run = ss.simulate(scene, 0.05, 0.005)
    for ball in (*resting, bullet):
        assert run.position(ball)[:, 0].max() < 0.29 - 0.99 * 0.05
    assert run.energy[-1] <= run.energy[0]
    assert run.contacts().gap.min() > -0.01 * 0.05
