"""What the lab draws, without drawing it: strips, marks, cones and ranges, against what they stand for."""

import re

import numpy as np
import pytest

import stickslip as ss
from stickslip.lab import charts
from stickslip.lab.anchors import scene_anchor, touch_of
from stickslip.lab.jam import Desk, arm_mechanism, cones, rod_mechanism, share
from stickslip.lab.marks import STATE_COLOURS, Look, joint_forces, marked, usual_force
from stickslip.lab.ranges import in_words, load_range, step_determinacy
from stickslip.lab.session import Session, Settings
from stickslip.lab.tour import STOPS
from stickslip.problems.contact_states import State
from stickslip.scene.values import rotated
from stickslip.view.replay import FAILED, INEXACT
from stickslip.view.solids import along

G = 9.81
LOOK = Look(thin=0.01, per_newton=0.02, least=0.0, cones=True, gaps=True)
Z = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def slope():
    """Two blocks on a slope after some steps: the rough one sticks, the smooth one slips."""
    with Session(STOPS[1].scene(), STOPS[1].settings) as session:
        session.step(30).result(120)
        yield session


# marks


def test_arrows_add_up_to_the_forces(slope):
    frame = slope.frame
    layers = marked(frame.contacts, frame.lasted, LOOK, np.zeros(len(frame.contacts)))
    shafts, heads = layers["shafts"], layers["heads"]
    tips = heads.position + rotated(heads.quaternion, Z) * heads.scale[:, 2:]
    force = (tips - frame.contacts.point[heads.which]) / LOOK.per_newton
    weight = 700 * 0.4 * 0.4 * 0.2 * G
    rough = np.isin(heads.which, np.flatnonzero(frame.contacts.body_a == 1))
    assert np.allclose(force[rough].sum(axis=0), [0, 0, weight], atol=1e-3 * weight)  # it stands
    bottoms = shafts.position - rotated(shafts.quaternion, Z) * shafts.scale[:, 2:]
    assert np.allclose(bottoms, frame.contacts.point[shafts.which])


def test_what_slips_ends_on_its_cone_and_what_sticks_inside(slope):
    frame = slope.frame
    table, force = frame.contacts, frame.contacts.vector / frame.lasted
    cone = marked(table, frame.lasted, LOOK, np.zeros(len(table)))["cones"]
    for row, turn, scale in zip(cone.which, cone.quaternion, cone.scale, strict=True):
        inside = rotated(turn * [1, -1, -1, -1], force[row] * LOOK.per_newton)  # in the axes of the cone
        share_used = np.hypot(*inside[:2]) / scale[0] / (inside[2] / scale[2])
        if table.state[row] == State.SLIP:
            assert share_used == pytest.approx(1.0, abs=1e-6)
        else:
            assert share_used <= 1.0 + 1e-9


def test_states_differ_in_shape_and_in_colour(slope):
    table = slope.frame.contacts
    layers = marked(table, slope.frame.lasted, LOOK, np.zeros(len(table)))
    assert sorted(layers["box"].which) == np.flatnonzero(table.state == State.STICK).tolist()
    assert sorted(layers["dart"].which) == np.flatnonzero(table.state == State.SLIP).tolist()
    assert len(layers["ring"].which) == 0
    assert np.array_equal(np.unique(layers["dart"].colour, axis=0), STATE_COLOURS[[State.SLIP]])
    along_slope = rotated(layers["dart"].quaternion, Z)
    assert np.allclose(along_slope, [-np.cos(0.5), 0, -np.sin(0.5)], atol=1e-6)  # downhill


def test_small_forces_are_left_out(slope):
    frame = slope.frame
    strongest = float(np.linalg.norm(frame.contacts.vector, axis=1).max()) / frame.lasted
    one = marked(frame.contacts, frame.lasted, LOOK._replace(least=0.999 * strongest), np.zeros(len(frame.contacts)))
    assert len(one["shafts"].which) == 1
    assert 0 < usual_force(frame.contacts.vector) <= strongest * frame.lasted


def test_patches_have_their_size():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_sphere(radius=0.1, mass=1.0, position=(0, 0, 0.1), patch=0.03, spin=(0, 0, 5.0))
    with Session(scene, Settings(laws={"limit_surface": ss.LimitSurface()}, dt=1e-2)) as session:
        session.step(2).result(120)
        table = session.frame.contacts
        size = session.first.patches(session.frame.instant)
        assert size.tolist() == [0.03]
        assert table.moment[0] < 0  # friction about the normal acts against the spin
        drawn = marked(table, session.frame.lasted, LOOK, size)["patches"]
    assert np.allclose(drawn.scale[0, :2], 0.03)


def test_a_hinge_carries_the_weight_that_hangs_on_it():
    scene = ss.Scene()
    bob = scene.add_sphere(radius=0.1, mass=2.0, position=(0, 0, -1.0))
    scene.add_hinge(bob, position=(0, 0, 0), axis=(0, 1, 0))
    with Session(scene, Settings(dt=1e-2)) as session:
        session.step(3).result(60)
        track, frame = session.tracks[0], session.frame
        impulse = track.joint_impulse(frame.instant)
        place, force = joint_forces(track.header, track.model, frame.states[0], impulse, frame.lasted)
    assert np.allclose(place, [[0, 0, 0]], atol=1e-9)
    assert np.allclose(force, [[0, 0, 2.0 * G]], atol=1e-6)


# strips


def strips(n=20, **changed):
    t = np.linspace(0.1, 2.0, n)
    made = {
        "time": t, "residual": np.full(n, 1e-9), "mark": np.zeros(n, np.uint8), "kinetic": t, "potential": 2 - t,
        "counts": np.tile([1, 2, 3], (n, 1)),
    }  # fmt: skip
    return made | changed


def test_a_click_on_the_strips_is_a_time():
    axis = charts.Axis(0.0, (0.1, 2.0), 0.0, 1.0)
    for t in (0.1, 0.7, 2.0):
        assert charts.time_at(float(axis.x(t)) / charts.WIDE, (0.1, 2.0)) == pytest.approx(t)
    assert charts.time_at(-1.0, (0.1, 2.0)) == 0.1
    assert charts.time_at(2.0, (0.1, 2.0)) == 2.0


def test_steps_that_missed_are_marked_and_names_are_no_markup():
    mark = np.zeros(20, np.uint8)
    mark[[3, 7]], mark[9] = INEXACT, FAILED
    drawn = charts.chart([("<b>law</b>", strips(mark=mark))], [], 1e-8, 1.0, "clicked(this)")
    assert drawn.count("<circle") == 2
    assert "○ inexact ✕ failed" in drawn
    assert "<b>" not in drawn
    good = charts.chart([("law", strips())], [], 1e-8, 1.0, "")
    assert "<circle" not in good
    assert "failed" not in good


def test_strips_of_nothing_and_of_what_diverged_are_drawn():
    empty = strips(0)
    assert "</svg>" in charts.chart([("law", empty)], [], 1e-8, 0.0, "")
    wild = strips(residual=np.full(20, np.inf), kinetic=np.full(20, np.nan))
    drawn = charts.chart(
        [("law", wild), ("ghost", strips())], [{"time": np.ones(1), "distance": np.ones(1)}], 1e-8, 1, ""
    )
    assert not re.search(r"nan|inf(?!l)", drawn.replace("inexact", ""))


# jamming


def test_the_rod_jams_where_painleve_says():
    desk = Desk.worst(rod_mechanism(), mu=1.5)
    assert np.isclose(desk.coupling().mu_jam, 4 / 3)
    assert np.isclose(np.tan(desk.parameters[0]), 2.0)  # the angle of the rod then
    assert "no solution" in desk.describe()
    desk.mu = 1.0
    assert "one solution" in desk.describe()
    assert "no direction jams" in desk.describe()


@pytest.mark.parametrize("mechanism", [rod_mechanism, arm_mechanism])
def test_the_generalized_cone_dips_below_the_plane_where_it_jams(mechanism):
    desk = Desk.worst(mechanism())
    at, limit = desk.mechanism.place(desk.q), desk.coupling().mu_jam
    heights = {}
    for mu in (0.99 * limit, 1.01 * limit):
        found = cones(desk.coupling(), mu, at, 0.3)
        heights[mu] = (found.generalized[0] - at.point) @ at.frame[0]
        assert (len(found.sector[1]) > 0) == (mu > limit)
        assert np.allclose((found.coulomb[0][1:] - at.point) @ at.frame[0], 0.3)  # its rim is 0.3 high
        e = found.e_jam[1] - found.e_jam[0]
        assert np.isclose(np.linalg.norm(e), 0.3)
        assert abs(e @ at.frame[0]) < 1e-12
    assert heights[0.99 * limit].min() > -1e-12
    assert heights[1.01 * limit].min() < 0


def test_links_end_at_the_contact():
    for mechanism in (rod_mechanism(), arm_mechanism()):
        desk = Desk.worst(mechanism)
        ends = mechanism.segments(desk.q).reshape(-1, 3)
        assert np.linalg.norm(ends - mechanism.place(desk.q).point, axis=1).min() < 1e-12


def test_a_click_on_a_map_is_a_pose_of_its_ranges():
    found = arm_mechanism().map
    low, high = zip(*found.family.ranges.values(), strict=True)
    assert np.allclose(share(found, 0.0, 0.0), low)
    assert np.allclose(share(found, 1.0, 1.0), high)
    assert share(found, -0.1, 0.5) is None


def test_the_cone_of_a_contact_of_a_scene_is_that_of_friction_coupling():
    """A leaning rod, hinged to nothing, as a scene; and the same contact by its own number."""
    scene = ss.Scene()
    scene.add_plane(friction=1.0)
    theta = np.arctan(2.0)
    lean = ((0, 1, 0), np.pi / 2 - theta)
    tip = np.array([np.cos(theta), 0.0, np.sin(theta)]) * 0.5
    scene.add_capsule(radius=1e-3, length=1.0, mass=1.0, position=tuple(tip + 1e-3 * Z), orientation=lean)
    with Session(scene, Settings(dt=1e-4)) as session:
        session.step(1).result(60)
        track, i = session.first, session.frame.instant
        coupling = track.coupling(i, 0)
        anchor = scene_anchor(track.world, track.model, track.state(i - 1), touch_of(scene, session.frame.contacts, 0))
    assert coupling.mu_jam == pytest.approx(4 / 3, rel=0.02)  # slender, but not infinitely
    alone = Desk(anchor.mechanism(["turn y"]), np.zeros(1)).coupling()
    assert alone.mu_jam == pytest.approx(coupling.mu_jam, rel=1e-6)  # by rows of its own, and nothing else touches
    assert np.allclose(alone.W, coupling.W, rtol=1e-6)
    assert np.allclose(anchor.touch.frame @ anchor.touch.frame.T, np.eye(3))


# ranges


@pytest.mark.parametrize("stop", [STOPS[0], STOPS[1], STOPS[2]])
@pytest.mark.parametrize("steps", [5, 40])
def test_the_load_that_a_step_found_lies_in_its_range(stop, steps):
    with Session(stop.scene(), Settings(dt=stop.settings.dt)) as session:
        session.step(steps).result(120)
        frame = session.frame
        found = step_determinacy(*session.first.step_problem(frame.instant))
        loads = frame.contacts.impulse[:, 0] / frame.lasted
        for point, load in zip(frame.contacts.point, loads, strict=True):
            least, greatest, _ = load_range(found, point)
            assert least - 1e-3 * loads.max() <= load <= greatest + 1e-3 * loads.max()
        assert "normal force:" in in_words(found, frame.contacts.point[0])


def test_four_feet_are_not_determined_and_a_ball_is():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.4, mass=2.0, position=(0, 0, 0.2))
    scene.add_sphere(radius=0.1, mass=3.0, position=(1, 0, 0.1))
    with Session(scene, Settings(dt=1e-2)) as session:
        session.step(5).result(60)
        frame = session.frame
        found = step_determinacy(*session.first.step_problem(frame.instant))
        of_ball = frame.contacts.body_a == 2
        least, greatest, unique = load_range(found, frame.contacts.point[of_ball][0])
        assert unique
        assert least == pytest.approx(3.0 * G, rel=1e-4)
        least, greatest, unique = load_range(found, frame.contacts.point[~of_ball][0])
    assert not unique
    assert least == pytest.approx(0.0, abs=1e-3)
    assert greatest == pytest.approx(2.0 * G / 2, rel=1e-3)  # two feet on a diagonal can carry it all


def test_upright_is_upright():
    assert np.allclose(rotated(along(np.array([[0.0, 0, 2]])), Z), [Z])
