"""Robots from files, through Pinocchio: the paper's arm, a floating rod, and what is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.dynamics.generalized import evaluate
from stickslip.dynamics.mechanisms import arm_on_the_plane, rod_on_its_foot
from stickslip.dynamics.pinocchio import read_plane

pytest.importorskip("pinocchio", reason="needs the extra robots (pin)")

ARM = Path(__file__).parents[2] / "examples" / "robots" / "arm.urdf"


@pytest.fixture
def robot():
    return ss.load_robot(ARM, ss.FramePoint("tip", friction=0.5))


def relative(q):
    """Absolute angles of the closed form, as angles of joints."""
    return {"shoulder": q[0], "elbow": q[1] - q[0], "wrist": q[2] - q[1]}


@pytest.mark.parametrize("x", [0.2, 0.34, 0.6, 0.785])
@pytest.mark.parametrize("degrees", [60.0, 76.66, 101.75, 120.0])
def test_arm_from_a_urdf_is_the_arm_of_the_closed_form(robot, x, degrees):
    q = arm_on_the_plane(x, math.radians(degrees))
    file, closed = ss.system_coupling(robot, robot.pose(relative(q))), ss.system_coupling(ss.arm(), q)
    assert abs(robot.contacts[0].gap(robot.pose(relative(q)))) < 1e-12
    assert file.mu_jam == pytest.approx(closed.mu_jam, abs=1e-9)
    assert file.a == pytest.approx(closed.a, rel=1e-9)


def test_accelerations_of_the_arm(robot):
    """(46) with the complete bias; the print is for 1 kg/m, but without torque the density does not matter.

    The tangents x, y of a frame point stay in the world, while those of the closed form, -y and x here, turn with the
    arm: its components change by φ̇ times the other one.
    """
    q = arm_on_the_plane(0.34, math.radians(101.75))
    v = np.array([0.572823613326, 2.05620866219, 0.0, 1.0])
    at = evaluate(robot, robot.pose(relative(q)), [v[3], v[0], v[1] - v[0], v[2] - v[1]])
    n, x, y = at.contact_acceleration()
    radial_speed, around_speed = at.A[1] @ at.v, at.A[2] @ at.v
    closed = np.array([-9.78089272, 0.35661546, 0.21136206])
    np.testing.assert_allclose([n, -(y - v[3] * radial_speed), x + v[3] * around_speed], closed, atol=1e-6)


def test_drift_is_the_derivative_of_the_rows(robot):
    rng = np.random.default_rng(1)
    q, v = robot.moved(robot.pose(), rng.normal(size=4)), rng.normal(size=4)
    e, rows = 1e-6, robot.contacts[0].rows
    difference = (rows(robot.moved(q, e * v)) - rows(robot.moved(q, -e * v))) @ v / (2 * e)
    np.testing.assert_allclose(robot.contacts[0].drift(q, v), difference, atol=1e-8)


def test_velocity_map_is_the_derivative_of_moving(robot):
    rng = np.random.default_rng(2)
    q, v = robot.moved(robot.pose(), rng.normal(size=4)), rng.normal(size=4)
    assert robot.coordinates == 5  # the continuous joint has two
    e = 1e-6
    difference = (robot.moved(q, e * v) - robot.moved(q, -e * v)) / (2 * e)
    np.testing.assert_allclose(robot.velocity_map(q) @ v, difference, atol=1e-9)


def test_tip_is_put_on_the_plane_by_one_joint(robot):
    for joint in ("shoulder", "elbow"):
        q = robot.touching(robot.pose({"shoulder": 0.2, "elbow": 1.1, "wrist": 0.3}), joint)
        assert abs(robot.contacts[0].gap(q)) < 1e-12
    assert np.isnan(robot.touching(robot.pose({"shoulder": -1.5}), "wrist")).all()


def test_points_of_a_floating_rod(tmp_path):
    """The same file as a free body: the rod of the closed form, and a point that is not a frame's origin."""
    file = tmp_path / "rod.urdf"
    inertia = f'<inertia ixx="1e-6" iyy="{2 / 12}" izz="{2 / 12}" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="2"/>{inertia}</inertial>'
    file.write_text(f'<robot name="stick"><link name="stick">{inertial}</link></robot>')
    robot = ss.load_robot(file, ss.FramePoint("stick", point=(-0.5, 0, 0)), floating=True)
    angle = math.radians(60.0)
    q = robot.pose()
    q[:3] = [0.5 * math.cos(angle), 0, 0.5 * math.sin(angle)]
    q[3:] = [0, -math.sin(angle / 2), 0, math.cos(angle / 2)]
    assert abs(robot.contacts[0].gap(q)) < 1e-14
    closed = ss.system_coupling(ss.rod(mass=2.0), rod_on_its_foot(angle))
    np.testing.assert_allclose(ss.system_coupling(robot, q).W, closed.W, atol=1e-9)
    run = ss.simulate_system(robot, q, np.zeros(6), 0.05, 1e-3)
    assert run.failures.size == 0
    np.testing.assert_allclose(np.linalg.norm(run.q[:, 3:7], axis=1), 1.0, atol=1e-12)


def test_mjcf(tmp_path):
    file = tmp_path / "swing.xml"
    body = (
        '<mujoco><worldbody><body name="swing"><joint name="hinge" type="hinge" axis="0 1 0"/>'
        '<inertial pos="0.5 0 0" mass="3" diaginertia="1e-6 0.25 0.25"/>'
        '<site name="tip" pos="1 0 0"/></body></worldbody>{}</mujoco>'
    )
    file.write_text(body.format(""))
    robot = ss.load_robot(file, ss.FramePoint("tip"))
    at = evaluate(robot, [0.3])
    np.testing.assert_allclose(at.M, [[1.0]], atol=1e-9)  # m l²/3
    np.testing.assert_allclose(at.A[:, 0], [-math.cos(0.3), -math.sin(0.3), 0.0], atol=1e-12)
    file.write_text(body.format('<equality><weld body1="swing"/></equality>'))
    with pytest.raises(ss.FileError, match="has equality constraints, expected a mechanism without loops"):
        ss.load_robot(file)


def test_bad_input_is_refused(tmp_path, robot):
    with pytest.raises(ss.InputError, match="frame is 'finger', expected one of universe, ground, "):
        ss.load_robot(ARM, ss.FramePoint("finger"))
    with pytest.raises(ss.InputError, match="frame is 'ground', which cannot move; expected one behind a joint"):
        ss.load_robot(ARM, ss.FramePoint("ground"))
    with pytest.raises(ss.InputError, match=r"normal is \(0.0, 0.0, 2.0\) of length 2, expected a unit vector"):
        ss.FramePoint("tip", normal=(0, 0, 2))
    with pytest.raises(ss.InputError, match=r"FramePoint: point is \(0, nan, 0\), expected three finite numbers"):
        ss.FramePoint("tip", point=(0, math.nan, 0))
    with pytest.raises(ss.InputError, match="joint is 'knee', expected one of turn, shoulder, elbow, wrist"):
        robot.pose({"knee": 1.0})
    with pytest.raises(ss.FileError, match="is no file, expected a URDF or MJCF file"):
        ss.load_robot(tmp_path / "none.urdf")
    broken = tmp_path / "broken.urdf"
    for text, words in (
        ("<robot>", "is not XML"),
        ("<sdf/>", "begins with <sdf>, expected <robot>"),
        ("<robot name='x'/>", "could not be read"),
    ):
        broken.write_text(text)
        with pytest.raises(ss.FileError, match=words):
            ss.load_robot(broken)


def test_planes_in_words():
    assert read_plane("z=0") == ((0.0, 0.0, 1.0), 0.0)
    assert read_plane("-x=0.5") == ((-1.0, 0.0, 0.0), 0.5)
    for text in ("z", "w=0", "z=low", "z=nan"):
        with pytest.raises(ss.InputError, match="expected an axis and a number"):
            read_plane(text)
