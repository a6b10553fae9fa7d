"""Audits of MuJoCo's and PyBullet's contacts: what is found is what they did, and made-up faults have their size."""

import copy
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'stickslip[mujoco]'")
sys.path.insert(0, str(Path(__file__).parents[1] / "dynamics"))

from models import GRAVITY, slope  # noqa: E402

GRIPPER = Path(__file__).parents[2] / "examples" / "robots" / "gripper.xml"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "slope.xml"
    path.write_text(slope(math.radians(10), 0.5, option='cone="elliptic"'))
    return path


def test_the_creep_of_a_block_is_its_velocity_in_mujoco(file):
    """And the same block creeps by less than 1e-10 m/s under Coulomb's law."""
    found = ss.audit(file, seconds=1.0)
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    for _ in range(500):
        mujoco.mj_step(m, d)
    assert found.creep[-1] == pytest.approx(np.linalg.norm(d.qvel[:2]), rel=1e-6)
    assert found.creep[-1] > 1e-4
    assert f"{found.typical('creep'):.3g}" in str(found)
    sim = ss.Simulation(ss.load_model(file), dt=2e-3)
    sim.step(500)
    assert np.abs(sim.v).max() < 1e-10
    # an exact step stops the block at once: it is apart by the acceleration that takes all of its velocity
    assert found.difference[-1] == pytest.approx(np.linalg.norm(d.qvel[:2]) / 2e-3, rel=1e-3)
    assert found.failures == 0


def test_a_block_that_slides_obeys_the_law(tmp_path):
    path = tmp_path / "steep.xml"
    path.write_text(slope(math.radians(45), 0.3, option='cone="elliptic"'))
    found = ss.audit(path, seconds=0.5)
    assert found.creep[100:].max() == 0.0  # what slides does not creep
    assert found.outside.max() < 1e-6
    assert found.pull.max() == 0.0
    assert found.power.max() == 0.0


def test_made_up_faults_are_found():
    """Forces and velocities by hand: one contact outside its cone, one that pulls, one whose friction drives, one that
    creeps."""
    from stickslip.analysis.audit import Grades, Touching

    f = np.array([[10.0, 8.0, 0.0], [-2.0, 0.0, 0.0], [10.0, 0.0, 5.0], [10.0, 1.0, 0.0]])
    u = np.array([[0.0, -0.1, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.3], [0.0, 0.003, 0.004]])
    gap, mu = np.array([0.0, 0.0, -0.02, 0.0]), np.full(4, 0.5)
    grades = Grades(weight=GRAVITY)
    grades.add(0.0, 1e-3, Touching(f, u, np.zeros((4, 3)), mu, gap, np.ones(4)), lambda i: f"contact {i}")
    worst = {name: moment.value for name, moment in grades.found.items()}
    where = {name: moment.contact for name, moment in grades.found.items()}
    assert worst["outside"] == pytest.approx(0.6)
    assert worst["pull"] == pytest.approx(2.0)
    assert worst["power"] == pytest.approx(1.5)
    assert worst["penetration"] == pytest.approx(0.02)
    assert worst["creep"] == pytest.approx(0.005)
    assert [where[name][-1] for name in ("outside", "pull", "power", "creep")] == ["0", "1", "2", "3"]
    assert grades.pressing == [3]


def test_settings_that_bring_it_closer(file):
    plain = ss.audit(file, seconds=0.4)
    stiff = ss.audit(file, seconds=0.4, settings={"impratio": 100.0})
    still = ss.audit(file, seconds=0.4, settings={"noslip_iterations": 10})
    assert stiff.typical("creep") < 0.1 * plain.typical("creep")
    assert still.typical("creep") < 0.1 * plain.typical("creep")
    with pytest.raises(ss.InputError, match="settings has 'softness', expected cone"):
        ss.audit(file, settings={"softness": 1})


def test_from_a_model_and_data_of_mujoco(file):
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    d.qpos[2] = 1.1
    found = ss.audit(m, seconds=0.1, data=d)
    assert found.contacts.max() == 0  # it falls
    fell = np.abs(found.difference)
    assert fell.max() < 1e-9
    with pytest.raises(ss.InputError, match="model is 3, expected a path"):
        ss.audit(3)


def test_the_command(file, tmp_path):
    picture = tmp_path / "audit.png"
    result = CliRunner().invoke(main, ["audit", str(file), "--seconds", "0.2", "--settings", "--save", str(picture)])
    assert result.exit_code == 0, result.output
    assert "creep where it should stick [m/s]" in result.stdout
    assert "noslip_iterations 10" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = CliRunner().invoke(main, ["audit", str(GRIPPER), "--seconds", "0.1", "--control", "20,0,1"])
    assert "control has shape (3,), expected (2,)" in told.output
    bad = CliRunner().invoke(main, ["audit", str(tmp_path / "none.xml")])
    assert bad.exit_code != 0
    assert "is no file, expected an MJCF or URDF file" in bad.output


# records


def stepped(file, steps=150):
    """MuJoCo's own steps: its data after each, and states before each and at the end."""
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    after, states = [], {"qpos": [d.qpos.copy()], "qvel": [d.qvel.copy()], "time": [0.0]}
    for _ in range(steps):
        mujoco.mj_step(m, d)
        after.append(copy.copy(d))
        for name in ("qpos", "qvel"):
            states[name].append(getattr(d, name).copy())
        states["time"].append(d.time)
    return m, after, states


def test_a_record_is_graded_as_the_run_was(file):
    """Data after each step, states over time as a mapping, as a tuple and as an object: all give what the live audit
    gives."""
    m, after, states = stepped(file)
    live = ss.audit(m, seconds=0.3)
    ways = after, states, (states["qpos"], states["qvel"]), SimpleNamespace(**states)
    for record in ways:
        found = ss.audit(m, record)
        assert found.time.size == 150
        for name in ("creep", "penetration", "outside", "residual", "wrong"):
            np.testing.assert_allclose(found.measures[name], live.measures[name], rtol=1e-4, atol=1e-9, err_msg=name)
        known = np.isfinite(found.difference)
        assert known.sum() >= 149  # before the first of the data is nothing
        np.testing.assert_allclose(found.difference[known], live.difference[known], rtol=1e-4, atol=1e-6)
    assert ss.audit(m, data=states).creep[-1] == ss.audit(m, states).creep[-1]


def test_a_run_of_ours_is_graded_by_its_own_impulses(file):
    """The block does not creep, and the residual is the run's."""
    model = ss.load_model(file)
    run = ss.simulate(model, 0.2, 2e-3)
    found = ss.audit(model, run)
    assert found.engine == "stickslip"
    assert found.greatest("creep") < 1e-10
    assert found.greatest("outside") < 1e-8
    np.testing.assert_array_equal(found.residual, run.residual)
    assert (found.contacts[1:] > 0).all()
    assert "stickslip as it is, 100 steps" in str(found)
    other = ss.load_model(GRIPPER)
    with pytest.raises(ss.InputError, match=r"data is a run of .*, expected one of 'gripper'"):
        ss.audit(other, run)


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"qpos": np.zeros((3, 7))}, "data has no 'qvel', expected qpos and qvel"),
        ({"qpos": np.zeros((3, 7)), "qvel": np.zeros((3, 6)), "speed": 1}, "data has 'speed', expected qpos"),
        ((np.zeros((3, 7)), np.zeros((2, 6))), r"data\['qvel'\] has shape \(2, 6\), expected \(3, 6\)"),
        ((np.zeros((1, 7)), np.zeros((1, 6))), r"data\['qpos'\] has 1 states, expected two or more"),
        (
            {"qpos": np.zeros((3, 7)), "qvel": np.zeros((3, 6)), "time": [0, 1, 3]},
            r"data\['time'\] has steps from 1 to 2 s",
        ),
        ([1, 2, 3, 4], r"data is \[1, 2, 3, 4\], expected a mujoco.MjData"),
    ],
)
def test_a_bad_record_gets_one_sentence(file, record, sentence):
    with pytest.raises(ss.InputError, match=sentence) as error:
        ss.audit(file, record)
    assert "\n" not in str(error.value)


# PyBullet


@pytest.fixture
def bullet():
    pybullet = pytest.importorskip("pybullet", reason="PyBullet is not installed: pip install pybullet")
    client = pytest.importorskip("pybullet_utils.bullet_client").BulletClient(connection_mode=pybullet.DIRECT)
    yield client
    client.disconnect()


def bullet_block(world, angle, mu, h=1 / 240):
    """A block on a slope; Bullet takes the product of both frictions."""
    world.setGravity(GRAVITY * math.sin(angle), 0, -GRAVITY * math.cos(angle))
    world.setTimeStep(h)
    floor = world.createMultiBody(0, world.createCollisionShape(world.GEOM_PLANE))
    shape = world.createCollisionShape(world.GEOM_BOX, halfExtents=[0.1, 0.1, 0.1])
    block = world.createMultiBody(1.0, shape, basePosition=[0, 0, 0.1])
    for body in (floor, block):
        world.changeDynamics(body, -1, lateralFriction=math.sqrt(mu))
    return block


def test_the_creep_of_a_block_is_its_velocity_in_pybullet(bullet):
    """And the world is put back as it was."""
    block = bullet_block(bullet, math.radians(10), 0.5)
    found = ss.audit(bullet, seconds=0.5)
    assert found.engine == "PyBullet"
    assert bullet.getBasePositionAndOrientation(block)[0] == (0.0, 0.0, 0.1)
    places = []
    for _ in range(120):
        places = bullet.getBasePositionAndOrientation(block)[0]
        bullet.stepSimulation()
    linear, angular = map(np.array, bullet.getBaseVelocity(block))
    points = [np.array(one[6]) for one in bullet.getContactPoints() if one[9] > 1e-3]
    fastest = max(np.linalg.norm((linear + np.cross(angular, x - places))[:2]) for x in points)
    assert found.creep[-1] == pytest.approx(fastest, rel=1e-3)  # to go back costs it some digits
    assert found.creep[-1] > 0
    assert "difference" not in found.measures
    assert "PyBullet as it is, 120 steps" in str(found)


def test_a_block_that_slides_in_pybullet_obeys_the_law(bullet):
    bullet_block(bullet, math.radians(45), 0.3)
    found = ss.audit(bullet, seconds=0.5)
    assert found.creep[60:].max() == 0.0
    assert found.outside.max() < 1e-6
    assert found.power[60:].max() == 0.0


def test_forces_of_pybullet_carry_the_weight(bullet):
    """Σ f over the contacts, by the audit's own reading, is the weight; ρ is that of a box, by hand."""
    from stickslip.analysis.audit_pybullet import Judge

    block = bullet_block(bullet, 0.1, 0.5)
    for _ in range(240):
        bullet.stepSimulation()
    judge = Judge(bullet)
    before = judge.state()
    bullet.stepSimulation()
    found = bullet.getContactPoints()
    contacts = judge.contacts(found, before, judge.state())
    assert contacts.f[:, 0].sum() == pytest.approx(GRAVITY * math.cos(0.1), rel=1e-3)
    assert judge.mass() == 1.0
    r = np.array(found[0][6]) - before[block].place[0]
    inertia = 0.2**2 / 6
    by_hand = 3.0 + (2 * r @ r) / inertia  # tr (I/m - [r] J⁻¹ [r])
    assert contacts.rho[0] == pytest.approx(3.0 / by_hand, rel=1e-6)


def test_the_response_of_an_arm_in_pybullet_is_that_of_pinocchio(bullet, tmp_path):
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'stickslip[robots]'")
    from stickslip.analysis.audit_pybullet import Judge

    inertial = """<inertial><origin xyz="0 0 {c}"/><mass value="{m}"/><inertia ixx=".03" iyy=".025" izz=".02" ixy="0"
    ixz="0" iyz="0"/></inertial>"""
    links = "".join(
        f'<link name="{name}">{inertial.format(c=c, m=m)}</link>'
        for name, c, m in (("base", 0, 1), ("upper", 0.2, 2), ("lower", 0.15, 1.5))
    )
    joint = """<joint name="{n}" type="continuous"><parent link="{a}"/><child link="{b}"/><origin xyz="0 0 .4"/>
    <axis xyz="{x}"/></joint>"""
    joints = joint.format(n="one", a="base", b="upper", x="0 1 0")
    joints += joint.format(n="two", a="upper", b="lower", x="1 0 0")
    path = tmp_path / "arm.urdf"
    path.write_text(f"<robot name='arm'>{links}{joints}</robot>")
    body = bullet.loadURDF(str(path), useFixedBase=True, flags=bullet.URDF_USE_INERTIA_FROM_FILE)
    robot = ss.load_robot(path, ss.FramePoint("lower", point=(0.1, 0.05, 0.3)))
    for i, angle in enumerate((0.3, -0.7)):
        bullet.resetJointState(body, i, angle)
    q, judge = robot.pose({"one": 0.3, "two": -0.7}), Judge(bullet)
    state = bullet.getLinkState(body, 1, computeForwardKinematics=1)
    turn = np.reshape(bullet.getMatrixFromQuaternion(state[5]), (3, 3))
    place = np.array(state[4]) + turn @ [0.1, 0.05, 0.3]
    A = robot.contacts[0].rows(q)
    expected = np.trace(A @ np.linalg.solve(robot.mass(q), A.T))
    assert judge.response(body, 1, place, judge.state_of(body), {}) == pytest.approx(expected, rel=1e-5)


def test_a_file_in_pybullet_and_what_is_missing(tmp_path, monkeypatch):
    pytest.importorskip("pybullet", reason="PyBullet is not installed: pip install pybullet")
    box = tmp_path / "box.urdf"
    box.write_text(
        """<robot name="box"><link name="box"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0"
        ixz="0" iyz="0"/></inertial><collision><geometry><box size=".2 .2 .2"/></geometry></collision></link></robot>"""
    )
    arguments = ["audit", str(box), "--engine", "pybullet", "--floating", "--ground", "-0.1", "--seconds", "0.2"]
    result = CliRunner().invoke(main, [*arguments, "--save", str(tmp_path / "a.svg")])
    assert result.exit_code == 0, result.output
    assert "box: PyBullet as it is, 48 steps" in result.stdout
    assert (tmp_path / "a.svg").is_file()
    for wrong, sentence in (
        ({"engine": "pybullet", "control": [1.0]}, "control is given, expected none with PyBullet"),
        ({"engine": "bullet"}, "engine is 'bullet', expected"),
    ):
        with pytest.raises(ss.InputError, match=sentence):
            ss.audit(box, **wrong)
    (tmp_path / "bad.urdf").write_text("<robot")
    with pytest.raises(ss.FileError, match=r"bad.urdf' could not be read, PyBullet says"):
        ss.audit(tmp_path / "bad.urdf", engine="pybullet")
    monkeypatch.setitem(sys.modules, "pybullet", None)
    with pytest.raises(ss.InputError, match="PyBullet is missing, expected it to be there: pip install pybullet"):
        ss.audit(box, engine="pybullet")


@pytest.mark.parametrize("degrees", [3.7, 5.0, 10.0])
def test_the_creep_of_mujoco_has_a_closed_form(tmp_path, degrees):
    """Friction with the damping b and the impedance d lets a block on n corners creep at (1 - d) / d · g sin θ / (n b):
    at 3.7° and MuJoCo's defaults 165 µm/s, whatever its mass and size."""
    angle = math.radians(degrees)
    path = tmp_path / "slope.xml"
    path.write_text(slope(angle, 0.5, option='cone="elliptic"'))
    found = ss.audit(path, seconds=1.0).typical("creep")
    b, d = 2 / (0.95 * 0.02), 0.9  # of solref and solimp, by default
    assert found == pytest.approx((1 - d) / d * GRAVITY * math.sin(angle) / (4 * b), rel=0.02)
    if degrees == 3.7:
        assert found == pytest.approx(165e-6, abs=0.5e-6)
    still = ss.Simulation(ss.load_model(path), dt=2e-3)
    still.step(500)
    assert np.abs(still.v).max() < 1e-10
