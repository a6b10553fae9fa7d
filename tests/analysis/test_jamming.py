"""Jam maps: the minima of the rod and the arm, families of all kinds, and what is said about the search."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.jamming import dips
from stickslip.dynamics.generalized import evaluate
from stickslip.errors import InputError

pytestmark = pytest.mark.core


def test_rod_is_worst_where_its_tangent_is_2():
    found = ss.jam_map(ss.rod_family(), 50)
    assert len(found.minima) == 1
    assert found.edge is None
    assert found.minima[0].parameters[0] == pytest.approx(math.atan(2), abs=1e-6)
    assert found.minima[0].mu_jam == pytest.approx(4 / 3, abs=1e-12)
    theta = found.axes[0]
    np.testing.assert_allclose(found.mu_jam, (4 + np.tan(theta) ** 2) / (3 * np.tan(theta)), rtol=1e-10)


def test_arm_has_the_two_minima_of_figure_6():
    found = ss.jam_map(ss.arm_family(), 60)
    assert len(found.minima) == 2
    B, A = found.minima
    np.testing.assert_allclose(B.parameters, [0.785229945518, math.radians(76.6620624336)], atol=1e-6)
    np.testing.assert_allclose(A.parameters, [0.338816632494, math.radians(101.747123164)], atol=1e-6)
    assert B.mu_jam == pytest.approx(0.403911780254, abs=1e-11)
    assert A.mu_jam == pytest.approx(0.42078682251, abs=1e-11)
    np.testing.assert_allclose(np.degrees(A.q[:3]), [2.54376177858, 106.29976849, 101.747123164], atol=1e-4)
    np.testing.assert_allclose(B.coupling.e_jam, [0.0, 1.0], atol=1e-12)
    assert found.edge.mu_jam > 20


def test_arm_below_the_plane_is_worse():
    """With the last joint below the plane, which the paper leaves out."""
    family = replace(ss.arm_family(), ranges={"x": (0.05, 1.0), "theta3": (-math.pi, 0.0)})
    worst = ss.jam_map(family, 60).minima
    assert worst[0].mu_jam == pytest.approx(0.32086, abs=1e-5)
    np.testing.assert_allclose(worst[0].parameters, [0.6553, math.radians(-101.6)], atol=1e-3)
    assert worst[1].mu_jam == pytest.approx(0.41568, abs=1e-5)
    np.testing.assert_allclose(worst[1].parameters, [0.4562, math.radians(-79.5)], atol=1e-3)


def test_every_pose_of_a_map_is_that_of_the_coupling():
    family = ss.arm_family()
    found = ss.jam_map(family, 7)
    for i, x in enumerate(found.axes[0]):
        for j, theta in enumerate(found.axes[1]):
            q = family.pose(x, theta)
            expected = math.nan if np.isnan(q).any() else ss.system_coupling(family.system, q).mu_jam
            assert found.mu_jam[i, j] == pytest.approx(expected, rel=1e-10, nan_ok=True)


def test_a_family_with_a_constraint_and_a_contact_held():
    """The rod's centre on a vertical rail, and its foot held by a second point: as the coupling says."""
    rod = ss.rod()
    second = replace(rod.contacts[0], rows=lambda q: 2 * rod.contacts[0].rows(q)[[0, 2, 1]], name="second")
    railed = replace(
        rod, constraint=ss.Constraint(lambda q: np.eye(5)[:1]), contacts=(rod.contacts[0], second), name="railed"
    )
    family = replace(ss.rod_family(), system=railed)
    for held in ({}, {1: ss.Sliding((1.0, 0.0), 0.1)}):
        found = ss.jam_map(family, 9, held=held)
        expected = [ss.system_coupling(railed, family.pose(theta), 0, held).mu_jam for theta in found.axes[0]]
        np.testing.assert_allclose(found.mu_jam, expected, rtol=1e-10)


def test_a_valley_is_one_dip():
    """μ_jam does not depend on the azimuth of the rod: the lowest poses are a line, of which one is given."""
    family = ss.rod_family()

    def pose(theta, azimuth):
        q = family.pose(theta)
        q[4] = azimuth
        return q

    turned = replace(family, pose=pose, ranges={**family.ranges, "azimuth": (0.0, 1.0)}, units=("rad", "rad"))
    found = ss.jam_map(turned, 21)
    worst = [*found.minima, *([found.edge] if found.edge else [])]
    assert len(worst) == 1
    assert worst[0].mu_jam == pytest.approx(4 / 3, abs=1e-10)


def test_dips_of_a_grid():
    mu = np.array([[3.0, 2.0, 3.0, 9.0], [3.0, 3.0, 3.0, np.nan], [1.0, 1.0, 3.0, 0.5]])
    assert dips(mu) == [(0, 1), (2, 0), (2, 3)]
    assert dips(np.full((3, 3), np.nan)) == []
    assert dips(np.full(4, np.inf)) == []


def test_what_was_searched_is_said():
    found = ss.jam_map(ss.arm_family(), 5)
    assert found.searched.startswith("x from 0.05 m to 1 m in 4 steps and theta3 from 0° to 180° in 4 steps, ")
    assert found.share_that_jams(1e-3) == 0.0
    assert found.share_that_jams(1e9) == np.isfinite(found.mu_jam).sum() / (~np.isnan(found.mu_jam)).sum()


def test_a_robot_by_its_joints(tmp_path):
    pytest.importorskip("pinocchio", reason="needs the extra robots (pin)")
    file = tmp_path / "slide.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<limit lower="-4" upper="4" effort="1" velocity="1"/>'
    file.write_text(
        f'<robot name="slide"><link name="base"/><link name="car">{inertial}</link><link name="bar">{inertial}</link>'
        '<joint name="lift" type="prismatic"><parent link="base"/><child link="car"/>'
        f'<axis xyz="0 0 1"/>{limit}</joint>'
        '<joint name="swing" type="revolute"><parent link="car"/><child link="bar"/>'
        f'<axis xyz="0 1 0"/>{limit}</joint>'
        "</robot>"
    )
    robot = ss.load_robot(file, ss.FramePoint("bar", point=(1.0, 0, 0)))
    family = ss.robot_family(robot, {"swing": (0.1, 1.4)}, touch="lift")
    found = ss.jam_map(family, 40)
    q = family.pose(0.7)
    assert abs(evaluate(robot, q).gap[0]) < 1e-12
    # mass 2 moves up and down, inertia 0.1 swings at arm 1: a = 1/2 + 10 cos², |h| = 10 sin cos
    s, c = np.sin(found.axes[0]), np.cos(found.axes[0])
    np.testing.assert_allclose(found.mu_jam, (0.5 + 10 * c**2) / (10 * s * c), rtol=1e-9)
    best = math.atan(math.sqrt(21.0))  # of (0.5 t + 10.5 / t) / 10, t the tangent
    assert found.minima[0].parameters[0] == pytest.approx(best, abs=1e-6)
    assert family.units == ("rad",)
    assert ss.robot_family(robot, {"lift": (0.0, 1.0)}).units == ("m",)
    with pytest.raises(ss.InputError, match="touch is 'swing', expected a joint that has no range"):
        ss.robot_family(robot, {"swing": (0.0, 1.0)}, touch="swing")


def test_bad_families_are_refused():
    with pytest.raises(ss.InputError, match=r"ranges\['theta'\] is \(2.0, 1.0\), expected two rising numbers"):
        replace(ss.rod_family(), ranges={"theta": (2.0, 1.0)})
    with pytest.raises(ss.InputError, match="ranges has 3 parameters and units 1 entries, expected one to 6"):
        replace(ss.rod_family(), ranges=dict.fromkeys("abc", (0.0, 1.0)))
    with pytest.raises(ss.InputError, match="resolution is 2, expected a whole number of at least 3"):
        ss.jam_map(ss.rod_family(), 2)
    with pytest.raises(ss.InputError, match="contact is 3, expected a number below 1 for 'rod'"):
        ss.jam_map(ss.rod_family(), 5, contact=3)
    broken = replace(ss.rod_family(), system=replace(ss.rod(), mass=lambda q: -np.eye(5)))
    with pytest.raises(ss.InputError, match=r"M at q = \[.*\] has the eigenvalue -1, expected a positive definite"):
        ss.jam_map(broken, 5)


# more parameters, and engines


def arm_by(*more):
    """The arm by its two parameters, and by others that change nothing."""
    from stickslip.dynamics.mechanisms import arm, arm_on_the_plane

    ranges = {"x": (0.2, 0.6), "theta3": (1.0, 2.5)} | dict.fromkeys(more, (0.0, 1.0))
    units = ("m", "rad", *("rad" for _ in more))
    return ss.Family(arm(), lambda x, theta3, *others: arm_on_the_plane(x, theta3), ranges, units)


def test_a_map_over_five_parameters_is_that_over_two(tmp_path):
    """With three that change nothing, at each of their values; so is its minimum, and the picture of the least."""
    two, five = ss.jam_map(arm_by(), 5), ss.jam_map(arm_by("a", "b", "c"), 5)
    assert five.mu_jam.shape == (5,) * 5
    np.testing.assert_array_equal(five.mu_jam, np.broadcast_to(two.mu_jam[:, :, None, None, None], (5,) * 5))
    worst = min((*five.minima, five.edge), key=lambda pose: math.inf if pose is None else pose.mu_jam)
    known = min((*two.minima, two.edge), key=lambda pose: math.inf if pose is None else pose.mu_jam)
    assert worst.mu_jam == pytest.approx(known.mu_jam, rel=1e-6)
    ss.draw_jam_map(five, tmp_path / "five.png")
    assert (tmp_path / "five.png").stat().st_size > 5000


def test_seven_parameters_are_too_many():
    with pytest.raises(InputError, match="ranges has 7 parameters and units 7 entries, expected one to 6"):
        arm_by("a", "b", "c", "d", "e")


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_an_engine_gives_the_same_bits(engine, tmp_path):
    plain = ss.jam_map(ss.arm_family(), 7)
    found = ss.jam_map(ss.arm_family(), 7, engine=engine, workers=2, out=tmp_path / "map.h5")
    np.testing.assert_array_equal(found.mu_jam, plain.mu_jam)
    assert [pose.mu_jam for pose in found.minima] == [pose.mu_jam for pose in plain.minima]


def test_a_line_on_an_engine():
    line = ss.jam_map(ss.rod_family(), 9, engine="threads", workers=2)
    np.testing.assert_array_equal(line.mu_jam, ss.jam_map(ss.rod_family(), 9).mu_jam)


def test_a_map_that_was_stopped_goes_on(tmp_path):
    made, poses = [], ss.arm_family()

    def pose(x, theta3):
        made.append((x, theta3))
        if len(made) == 40:
            raise KeyboardInterrupt
        return poses.pose(x, theta3)

    family, out = ss.Family(poses.system, pose, poses.ranges, poses.units), tmp_path / "map.h5"
    with pytest.raises(KeyboardInterrupt):
        ss.jam_map(family, 9, engine="threads", workers=1, out=out)
    table = ss.Sweep.load(out)
    assert 0 < table.done.size < 9
    before = len(made)
    found = ss.jam_map(family, 9, out=out)
    np.testing.assert_array_equal(found.mu_jam, ss.jam_map(ss.arm_family(), 9).mu_jam)
    lines = {x for x, _ in made[before : before + 9 * table.waiting.size]}  # the search of the minima comes after them
    assert lines == set(found.axes[0][table.waiting])
    with pytest.raises(ss.FileError, match="expected this one, another out"):
        ss.jam_map(ss.arm_family(density=3.0), 9, out=out)


def test_a_pose_that_raises_says_so_through_an_engine():
    def pose(x, theta3):
        raise ValueError("no such pose")

    family = ss.Family(ss.arm_family().system, pose, {"x": (0, 1), "theta3": (0, 1)}, ("m", "rad"))
    with pytest.raises(InputError, match="ValueError: no such pose"):
        ss.jam_map(family, 5, engine="threads")
