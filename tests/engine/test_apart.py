"""Overlaps that a step leaves are taken back in positions, by as little as masses allow, and without speed."""

import warnings

import numpy as np
import pytest

import stickslip as ss
from stickslip.collision.broadphase import find_contacts, workspace
from stickslip.collision.contacts import room_for
from stickslip.engine import outside
from stickslip.engine.ahead import NOTABLE
from stickslip.engine.apart import LEFT, part
from stickslip.engine.engine import Engine
from stickslip.engine.rows import FOUND, NEEDED
from stickslip.scene.compile import compile_scene


def before_parting(scene):
    """The state of a scene, the law of its steps and their arrays, with nothing that overlapped at the start of one."""
    model, state, drives = compile_scene(scene)
    engine = Engine(model, state, drives, 1e-2, ss.Coulomb())
    engine.look_ahead()
    engine.work.count[FOUND] = 0
    return state, engine.rules.law, engine.work


def parted(scene):
    """The state of a scene after `part`."""
    state, law, work = before_parting(scene)
    assert part(state, law, work)
    return state


@pytest.mark.parametrize("mass", [1.0, 3.0])
def test_two_balls_part_as_their_masses_say(mass):
    """The least Σ m d² that leaves no more than what is not notable: shares of the way inverse to the masses."""
    scene, radius, overlap = ss.Scene(gravity=(0, 0, 0)), 0.1, 0.01
    scene.add_sphere(radius, mass=1.0, position=(0, 0, 0))
    scene.add_sphere(radius, mass=mass, position=(2 * radius - overlap, 0, 0), velocity=(1, 2, 3))
    state = parted(scene)
    way = overlap - NOTABLE * 2 * radius
    np.testing.assert_allclose(state.position[0], (-way * mass / (1 + mass), 0, 0), atol=1e-12)
    np.testing.assert_allclose(state.position[1], (2 * radius - overlap + way / (1 + mass), 0, 0), atol=1e-12)
    np.testing.assert_array_equal(state.velocity, [[0] * 6, [1, 2, 3, 0, 0, 0]])


def test_a_stack_is_lifted_as_a_whole():
    """Each box by what all below it lack, but for the overlaps that are let be."""
    scene, side, overlap, boxes = ss.Scene(), 0.1, 0.01, 5
    scene.add_plane()
    for k in range(boxes):
        scene.add_box(side, mass=1.0, position=(0, 0, (k + 0.5) * side - (k + 1) * overlap))
    z = parted(scene).position[1:, 2]
    lacking = (np.arange(boxes) + 0.5) * side - z
    most = (np.arange(boxes) + 1) * (1 + LEFT) * NOTABLE * side
    assert (lacking <= most).all()
    assert (lacking >= 0).all()


def test_what_joints_hold_to_the_world_stays():
    scene = ss.Scene(gravity=(0, 0, 0))
    hung = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0))
    scene.add_ball(hung, position=(0, 0, 0))
    scene.add_sphere(0.1, mass=1.0, position=(0.19, 0, 0))
    state = parted(scene)
    np.testing.assert_array_equal(state.position[0], (0, 0, 0))
    np.testing.assert_allclose(state.position[1], (0.2 - NOTABLE * 0.2, 0, 0), atol=1e-12)


@pytest.mark.parametrize("mass", [1.0, 3.0])
def test_what_is_held_together_goes_together(mass):
    """Two balls on a line with a third that overlaps one of them weigh what both do."""
    scene, radius, overlap = ss.Scene(gravity=(0, 0, 0)), 0.1, 0.01
    near, far = (scene.add_sphere(radius, mass=mass, position=(x, 0, 0)) for x in (0.0, -0.5))
    scene.add_fixed(near, far, position=(-0.25, 0, 0))
    scene.add_sphere(radius, mass=1.0, position=(2 * radius - overlap, 0, 0))
    x = parted(scene).position[:, 0]
    way = overlap - NOTABLE * 2 * radius
    np.testing.assert_allclose(x[:2], np.array([0.0, -0.5]) - way / (1 + 2 * mass), atol=1e-12)
    np.testing.assert_allclose(x[2], 2 * radius - overlap + way * 2 * mass / (1 + 2 * mass), atol=1e-12)


def test_a_door_turns_about_its_hinge():
    """A ball of mass m overlaps it at the distance r from the hinge, where it weighs I / r²; its anchor stays."""
    scene, radius, overlap, r, length, thick, mass = ss.Scene(gravity=(0, 0, 0)), 0.1, 1e-3, 0.8, 1.0, 0.05, 2.0
    door = scene.add_box((length, 0.5, thick), mass=mass, position=(0.5 * length, 0, 0))
    scene.add_hinge(door, position=(0, 0, 0), axis=(0, 1, 0))
    scene.add_sphere(radius, mass=1.0, position=(r, 0, 0.5 * thick + radius - overlap))
    state = parted(scene)
    weight = mass * ((length**2 + thick**2) / 12 + 0.25 * length**2) / r**2
    way = overlap - NOTABLE * thick
    rise = state.position[1, 2] - (0.5 * thick + radius - overlap)
    np.testing.assert_allclose(rise, way * weight / (1 + weight), rtol=1e-2)
    angle = 2 * np.arctan2(state.quaternion[0, 2], state.quaternion[0, 0])
    np.testing.assert_allclose(r * angle, way / (1 + weight), rtol=1e-2)
    expected = 0.5 * length * np.array([np.cos(angle), 0, -np.sin(angle)])
    np.testing.assert_allclose(state.position[0], expected, atol=1e-12)


def test_where_there_is_no_room_nothing_moves():
    scene = ss.Scene(gravity=(0, 0, 0))
    bodies = [scene.add_sphere(0.1, mass=1.0, position=(x, 0, 0)) for x in (0.0, -0.5)]
    scene.add_fixed(*bodies, position=(-0.25, 0, 0))
    scene.add_sphere(0.1, mass=1.0, position=(0.19, 0, 0))
    state, law, work = before_parting(scene)
    rows, start = work.slabs.rows, state.copy()
    small = rows._replace(place=rows.place[:1].copy(), G=rows.G[:1].copy())
    assert not part(state, law, work._replace(slabs=work.slabs._replace(rows=small)))
    assert work.count[NEEDED] > 1
    np.testing.assert_array_equal(state.position, start.position)


def test_thin_cards_stay_apart_where_steps_are_accepted_before_they_are_solved(monkeypatch):
    """A card falls with 5 m/s on forty; what the accepted steps have wrong would take it through a tenth of one."""
    monkeypatch.setattr(outside, "IN_TURN", 0)  # no further effort where a wrong velocity carries so far
    scene, thick, cards = ss.Scene(), 6e-4, 40
    scene.add_plane(friction=0.3)
    for k in range(cards):
        scene.add_box((0.088, 0.063, thick), mass=1.8e-3, position=(0, 0, (k + 0.5) * thick), friction=0.3)
    scene.add_box(
        (0.088, 0.063, thick), mass=1.8e-3, position=(0.01, 0, cards * thick + 0.01), orientation=((0.3, 1, 0), 0.1),
        velocity=(0, 0, -5.0), friction=0.3,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InexactWarning)
        run = ss.simulate(scene, 0.06, 2e-3, effort=8)
    model, room, depth = compile_scene(scene)[0], room_for(1024), 0.0
    for k in range(len(run) + 1):
        found = find_contacts(run.state(k), np.zeros(model.kind.size), workspace(model), room)
        depth = max(depth, -room.gap[:found].min(initial=0.0))
    assert max(run.velocity_error) * 2e-3 > 0.01 * thick  # else nothing would be shown
    assert depth < 0.01 * thick
