"""Robots in the lab: what runs is what `simulate` runs, and what is drawn is where MuJoCo has it."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main
from stickslip.engine.names import formulation
from stickslip.lab.anchors import frame_touch, frames_of, robot_anchor, scene_anchor, touch_of
from stickslip.lab.jam import Desk
from stickslip.lab.jam_tab import anchor_of
from stickslip.lab.opening import loaded_runs, opened_files
from stickslip.lab.output import Exports
from stickslip.lab.ranges import load_range, step_determinacy
from stickslip.lab.robots import control_ranges, joint_ranges
from stickslip.lab.session import Session, Settings
from stickslip.lab.tracks import STIFF, Pull
from stickslip.scene.values import rotated
from stickslip.view.model_solids import ModelSolids
from stickslip.view.solids import placed

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is missing: pip install 'stickslip[mujoco]'")

ROBOTS = Path(__file__).parents[2] / "examples/robots"
G, DT = 9.81, 2e-3

ALL_SHAPES = """<mujoco model="shapes"><asset>
  <mesh name="wedge" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .3"/>
  <hfield name="hills" nrow="3" ncol="4" size="1 2 .5 .1" elevation="0 1 2 3  4 5 6 7  8 9 10 11"/></asset><worldbody>
  <geom name="floor" type="plane" size="0 0 .1"/><geom name="hills" type="hfield" hfield="hills" pos="5 0 0"/>
  <body pos="0 0 1" euler="20 30 40"><freejoint/><geom name="ball" type="sphere" size=".1" pos=".3 0 0"/>
  <geom name="egg" type="ellipsoid" size=".1 .2 .3"/><geom name="box" type="box" size=".1 .2 .3" euler="0 0 30"/>
  <geom name="can" type="cylinder" size=".1 .2" pos="0 .4 0"/><geom name="pill" type="capsule" size=".1 .2"/>
  <geom name="wedge" type="mesh" mesh="wedge" pos="0 0 .5" euler="50 0 0"/>
  <geom name="hidden" type="sphere" size="9" group="4" mass="0" contype="0" conaffinity="0"/></body>
  </worldbody></mujoco>"""

PUCK = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1" friction="1"/>
  <body name="puck" pos="0 0 .1"><freejoint/><geom name="puck" type="box" size=".1 .1 .1" mass="2" friction="1"/></body>
  </worldbody></mujoco>"""

ARM = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><body name="upper" pos="0 0 1">
  <joint name="shoulder" axis="0 1 0" range="-100 100" limited="true"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size=".03" mass="1"/>
  <body name="lower" pos=".5 0 0"><joint name="elbow" axis="0 1 0" range="-150 150" limited="true"/>
  <geom name="lower" type="capsule" fromto="0 0 0 .4 0 0" size=".03" mass="1"/></body></body></worldbody></mujoco>"""


@pytest.fixture
def model_of(tmp_path):
    def load(text, name="model.xml", **settings):
        (tmp_path / name).write_text(text)
        return ss.load_model(tmp_path / name, **settings)

    return load


@pytest.fixture(scope="module")
def gripper():
    return ss.load_model(ROBOTS / "gripper.xml")


# drawing


def test_every_geom_is_drawn_where_mujoco_has_it(model_of):
    """The outermost points of each part along many directions, against supports of the shapes by their formulas."""
    loaded = model_of(ALL_SHAPES)
    m, d = loaded.model, mujoco.MjData(loaded.model)
    mujoco.mj_kinematics(m, d)
    solids = ModelSolids(loaded)
    state = solids.at(loaded.home)
    parts = solids.parts(solids.view(state))
    place, turn = placed(parts, state)
    rng = np.random.default_rng(3)
    ways = rng.normal(size=(40, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)

    def reach(name):
        own = np.flatnonzero(parts.shape == loaded.geoms.index(name))
        corners = [place[i] + rotated(turn[i], solids.meshes[parts.mesh[i]].vertices * parts.scale[i]) for i in own]
        return (np.concatenate(corners) @ ways.T).max(axis=0)

    def support(name):
        i = loaded.geoms.index(name)
        a, b, c = m.geom_size[i]
        local = ways @ d.geom_xmat[i].reshape(3, 3)
        flat = np.hypot(local[:, 0], local[:, 1])
        far = {
            "ball": a, "egg": np.linalg.norm(local * [a, b, c], axis=1), "box": np.abs(local) @ [a, b, c],
            "can": a * flat + b * np.abs(local[:, 2]), "pill": a + b * np.abs(local[:, 2]),
        }[name]  # fmt: skip
        return ways @ d.geom_xpos[i] + far

    for name in ("box", "can"):
        tol = 1e-12 if name == "box" else 0.1 * (1 - np.cos(np.pi / 24)) + 1e-12  # circles are polygons
        assert np.all(np.abs(reach(name) - support(name)) <= tol)
    for name in ("ball", "egg", "pill"):
        assert np.all(support(name) - reach(name) >= -1e-12)
        assert np.allclose(reach(name), support(name), atol=0.01)
    wedge = loaded.geoms.index("wedge")
    tips = np.array([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.3)]) - m.mesh_pos[0]
    local = np.array([rotated(m.mesh_quat[0] * [1, -1, -1, -1], tip) for tip in tips])  # MuJoCo turns meshes upright
    world = d.geom_xpos[wedge] + local @ d.geom_xmat[wedge].reshape(3, 3).T
    assert np.allclose(reach("wedge"), (world @ ways.T).max(axis=0), atol=1e-6)
    field = solids.meshes["field 0"].vertices
    assert np.allclose(field.min(axis=0), [-1, -2, 0])
    assert np.allclose(field.max(axis=0), [1, 2, 0.5])
    for x, y, height in field[[5, 6]]:  # inside; where a ray of MuJoCo's meets it
        fallen = mujoco.mj_ray(
            m, d, np.array([5 + x, y, 3.0]), np.array([0, 0, -1.0]), None, 1, -1, np.zeros(1, np.int32)
        )
        assert 3.0 - fallen == pytest.approx(height, abs=1e-9)
    assert "hidden" not in {loaded.geoms[i] for i in parts.shape}


def test_a_robot_without_shapes_has_bones_from_joint_to_joint():
    arm = ss.load_model(ROBOTS / "arm.urdf")
    solids = ModelSolids(arm)
    q = arm.pose({"shoulder": 0.4, "elbow": 0.7, "wrist": -0.2})
    state = solids.at(q)
    ends = np.array([state.position[i] + rotated(state.quaternion[i], way) for i, (_, *way) in enumerate(solids.bones)])
    lengths = np.linalg.norm(ends - state.position, axis=1)
    assert np.allclose(np.sort(lengths), [0.1, 0.5, 0.5])
    tip = arm.here
    tip.place(q)
    assert np.linalg.norm(ends - tip.data.xpos[arm.body("tip")], axis=1).min() < 1e-12


# running


@pytest.mark.parametrize("law", ["coulomb", "box"])
def test_steps_of_a_robot_are_those_of_simulate(gripper, law):
    control, friction = [20.0, 0.1], formulation(law)
    run = ss.simulate(gripper, 60 * DT, DT, friction=friction, control=control, keep_going=True, progress=False)
    with Session(gripper, Settings(laws={law: friction}, dt=DT)) as session:
        for k, value in enumerate(control):
            session.control(k, value).result(60)
        session.step(60).result(120)
        (kept,) = session.runs()
        assert len(session.frame.contacts) == run.contact_count[-1]
    assert np.array_equal(kept.q, run.q)
    assert np.array_equal(kept.residual, run.residual)
    assert np.array_equal(kept.contacts().impulse, run.contacts().impulse)


def test_going_back_and_on_is_the_same_run_and_controls_change_it(gripper):
    with Session(gripper, Settings(dt=DT)) as session:
        session.control(0, 20.0).result(60)
        session.step(40).result(60)
        end = session.first.moment(40).q
        session.step(-20).result(60)
        session.change(friction=None, dt=DT, tol=None).result(60)
        session.control(0, 20.0).result(60)
        session.step(20).result(60)
        assert np.allclose(session.first.moment(session.index).q, end, atol=1e-6)
        session.seek(20 * DT).result(60)
        session.control(0, -20.0).result(60)
        session.step(20).result(60)
        assert np.abs(session.first.moment(session.index).q - end).max() > 1e-3


def test_friction_and_restitution_of_a_robot(model_of):
    puck = model_of(PUCK)
    with Session(puck, Settings(dt=DT)) as session:
        session.change(friction=0.2).result(60)
        session.ask(lambda s: s.first.restore(s.first.moment(0)._replace(v=np.array([1.0, 0, 0, 0, 0, 0])), 0.0))
        session.step(10).result(60)
        assert session.first.moment(10).v[0] == pytest.approx(1.0 - 0.2 * G * 10 * DT, rel=1e-6)
        assert np.allclose(session.frame.contacts.friction, 0.2)
    with Session(puck.with_surfaces(restitution=0.5), Settings(dt=1e-3)) as session:
        session.place(puck.home + np.array([0, 0, 0.05, 0, 0, 0, 0])).result(60)
        session.step(300).result(120)
        heights = np.array([session.first.moment(i).q[2] - 0.1 for i in range(301)])
    bounce = int(np.argmin(heights[:150]))
    assert heights[bounce:].max() == pytest.approx(0.25 * 0.05, rel=0.1)  # e² h


def test_a_thing_is_dropped_into_a_running_robot(gripper, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # its file is found again from wherever
    with Session(gripper, Settings(dt=DT)) as session:
        session.step(10).result(60)
        before = session.first.moment(10).q
        session.drop("ball").result(60)
        session.drop("box").result(60)
        q = session.first.moment(0).q
        assert np.array_equal(q[: before.size], before)
        assert q.size == before.size + 14
        session.step(10).result(60)
        after = session.first.moment(10).q
        for height in (before.size + 2, before.size + 9):
            fallen = G * (10 * DT) * (11 * DT) / 2  # Euler's steps
            assert q[height] - after[height] == pytest.approx(fallen, rel=1e-6)
        session.reset().result(60)
        assert session.first.moment(0).q.size == before.size


# the mouse


def test_a_spring_drags_a_free_body_of_a_robot(model_of):
    """It hangs g/ω² below the mouse: the mass that is felt at its centre is its own."""
    puck = model_of(PUCK)
    with Session(puck, Settings(dt=DT)) as session:
        target, number = np.array([0.3, 0.2, 0.8]), puck.geoms.index("puck")
        session.ask(lambda s: setattr(s, "pull", Pull(number, np.zeros(3), target)))
        session.step(1500).result(120)
        assert np.allclose(session.frame.states[0].position[number], target - [0, 0, G / STIFF**2], atol=1e-5)
        session.drag(None)
        session.step(10).result(60)
        assert session.first.moment(session.index).v[2] == pytest.approx(-G * 10 * DT, abs=1e-4)


def test_joints_follow_the_mouse_while_nothing_runs_and_keep_their_limits(model_of):
    arm = model_of(ARM)
    with Session(arm, Settings(dt=DT)) as session:
        number, grip = arm.geoms.index("lower"), np.array([0.0, 0.0, -0.2])  # its far end

        def gripped():
            state = session.ask(lambda s: s.first.state(s.index))
            return state.position[number] + rotated(state.quaternion[number], grip)

        target = gripped() + np.array([-0.3, 0.0, 0.25])
        session.drag(Pull(number, grip, target))
        assert np.allclose(gripped(), target, atol=1e-3)
        session.drag(Pull(number, grip, np.array([-5.0, 0.0, 1.0])))  # out of reach
        session.ask(lambda s: None)
        q = session.first.moment(session.index).q
        for name, (low, high) in joint_ranges(arm).items():
            assert low - 1e-9 <= q[arm.coordinate(name)] <= high + 1e-9


# questions


def test_a_puck_on_four_corners_is_not_determined(model_of):
    with Session(model_of(PUCK), Settings(dt=DT)) as session:
        session.step(5).result(60)
        frame = session.frame
        found = step_determinacy(*session.first.step_problem(frame.instant))
        least, greatest, unique = load_range(found, frame.contacts.point[0])
    assert not unique
    assert least == pytest.approx(0.0, abs=1e-3)
    assert greatest == pytest.approx(2.0 * G / 2, rel=1e-3)  # two feet on a diagonal can carry it all


def test_the_range_of_a_robot_holds_its_actuators(gripper):
    """The fingers press with what the motor gives them."""
    with Session(gripper, Settings(dt=DT)) as session:
        session.control(0, 20.0).result(60)
        session.step(100).result(120)
        frame, table = session.frame, session.frame.contacts
        found = step_determinacy(*session.first.step_problem(frame.instant))
        left = [i for i in range(len(table)) if table.name(i).startswith("left finger")]
        load = table.impulse[left, 0].sum() / frame.lasted
        assert load == pytest.approx(10.0, rel=0.02)  # half of 20 N each, for the fingers are coupled
        for i in left:
            least, greatest, _ = load_range(found, table.point[i])
            assert least - 1e-2 <= table.impulse[i, 0] / frame.lasted <= greatest + 1e-2


def test_the_frame_of_an_arm_jams_as_its_family_says():
    """The tip of the arm of Peiret 2019, by the map of `arm_family` and as a frame of the URDF file."""
    arm, worst = ss.load_model(ROBOTS / "arm.urdf"), ss.jam_map(ss.arm_family(), 40).minima[0]
    theta = worst.q
    q = arm.pose({"shoulder": theta[0], "elbow": theta[1] - theta[0], "wrist": theta[2] - theta[1]})
    with Session(arm, Settings(dt=DT)) as session:
        session.place(q).result(60)
        moment = session.first.moment(0)
        assert "tip" in frames_of(arm)
        anchor = robot_anchor(arm, moment, frame_touch(arm, "tip", moment))
        desk = Desk(anchor.mechanism(["wrist", "elbow"]), anchor.read(["wrist", "elbow"], moment), 0.8)
        assert desk.coupling().mu_jam == pytest.approx(worst.mu_jam, rel=1e-4)
        assert anchor.place(moment.q).point[2] == pytest.approx(0.0, abs=1e-6)  # it stands on the floor there
        menu = anchor_of("frame: tip", session)
        assert menu.touch.name == "tip"


def test_the_contact_of_a_robot_jams_as_that_of_a_scene(model_of):
    """A leaning rod, as a model and as a scene; the pose of a click is the pose that is read."""
    theta = np.arctan(2.0)
    tilt, centre = np.pi / 2 - theta, 0.5 * np.array([np.cos(theta), 0, np.sin(theta)]) + [0, 0, 0.02]
    rod = f"""<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 .1"/>
    <body pos="{centre[0]} 0 {centre[2]}" euler="0 {np.degrees(tilt)} 0"><freejoint/>
    <geom type="capsule" size=".02 .5" density="700"/></body></worldbody></mujoco>"""
    scene = ss.Scene()
    scene.add_plane()
    scene.add_capsule(
        radius=0.02, length=1.0, density=700, position=tuple(centre), orientation=((0, 1, 0), tilt), name="rod"
    )
    anchors, couplings, model = [], [], model_of(rod)
    for world in (model, scene):
        with Session(world, Settings(dt=1e-3)) as session:
            session.step(1).result(60)
            track, table = session.first, session.frame.contacts
            couplings.append(track.coupling(1, 0))
            if world is scene:
                anchors.append(scene_anchor(track.world, track.model, track.moment(0), touch_of(scene, table, 0)))
            else:
                anchors.append(robot_anchor(track.world, track.moment(0), touch_of(model, table, 0)))
    values = [0.3, -0.4]
    for names in (["turn x", "turn y"], ["turn z", "turn x"]):
        desks = [Desk(anchor.mechanism(names), np.array(values)) for anchor in anchors]
        assert desks[0].coupling().mu_jam == pytest.approx(desks[1].coupling().mu_jam, rel=1e-6)
        for anchor in anchors:
            assert np.allclose(anchor.read(names, anchor.moment(names, values)), values)
    here = [Desk(anchor.mechanism(["turn y"]), np.zeros(1)).coupling() for anchor in anchors]
    for alone, beside in zip(here, couplings, strict=True):
        assert alone.mu_jam == pytest.approx(beside.mu_jam, rel=1e-6)  # by the engine's own rows: nothing else touches


def test_joints_of_a_scene_are_coordinates_of_its_pose():
    """A hinged rod on the floor: the hinge turns it, and the contact stays on it."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    rod = scene.add_capsule(
        radius=0.05, length=1.0, mass=1.0, position=(0.5, 0, 0.05), orientation=((0, 1, 0), np.pi / 2)
    )
    scene.add_hinge(rod, position=(0, 0, 0.05), axis=(0, 1, 0), name="pivot")
    with Session(scene, Settings(dt=1e-3)) as session:
        session.step(2).result(60)
        track, table = session.first, session.frame.contacts
        anchor = scene_anchor(track.world, track.model, track.moment(1), touch_of(scene, table, 0))
        assert [each.name for each in anchor.coordinates] == ["pivot"]  # it cannot be turned about the contact
        turned = anchor.moment(["pivot"], [0.3])
        assert np.allclose(anchor.read(["pivot"], turned), [0.3])
        assert np.linalg.norm(turned.position[1] - [0, 0, 0.05]) == pytest.approx(0.5, abs=1e-6)
        q = anchor.q(anchor.moment(["pivot"], [0.0]))
        rows = anchor.system.constraint.rows(q)
        assert rows.shape == (5, 6)
        W = Desk(anchor.mechanism(["pivot"]), np.zeros(1)).coupling().W
    free = np.linalg.svd(rows)[2][-1]  # the one motion that the hinge leaves
    A, M = anchor.system.contacts[0].rows(q), anchor.system.mass(q)
    assert np.allclose(W, np.outer(A @ free, A @ free) / (free @ M @ free), atol=1e-9)


def test_controls_have_ranges(gripper):
    ranges = control_ranges(gripper)
    assert ranges["lift"] == (-0.2, 0.4)  # a servo: those of its joint
    low, high = ranges["grip"]
    assert high == -low > G * 0.5


# files


def test_a_run_of_a_robot_is_written_and_shown_again(gripper, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Session(gripper, Settings(dt=DT)) as session:
        session.step(20).result(60)
        exports = Exports(session, tmp_path)
        assert exports.write("html", "robot").startswith("written: robot.html")
        exports.write("h5", "robot")
        with pytest.raises(ss.InputError, match="a robot is no scene"):
            exports.write("yaml", "robot")
        states = [session.first.state(i) for i in range(21)]
        coupling = session.first.coupling(13, 0)
    with pytest.raises(ss.InputError, match=r"expected `run.system = load_model\(...\)`"):
        Session([ss.Trajectory.load("robot.h5")])
    runs = opened_files([str(ROBOTS / "gripper.xml"), "robot.h5"])
    with Session(runs) as session:
        session.seek(13 * DT).result(60)
        assert np.allclose(session.frame.states[0].position, states[13].position)
        assert len(session.frame.contacts) == runs[0].contact_count[12]
        assert np.allclose(session.first.coupling(13, 0).W, coupling.W)
        with pytest.raises(ss.InputError, match="does not hold its controls"):
            session.first.step_problem(13)
    with pytest.raises(ss.InputError, match="is not the model of this run"):
        Session(loaded_runs(["robot.h5"], str(ROBOTS / "arm.urdf")))
    said = CliRunner().invoke(
        main, ["export", "robot.h5", "again.html", "--model", str(ROBOTS / "gripper.xml")], catch_exceptions=False
    )
    assert said.exit_code == 0, said.output
    assert Path("again.html").stat().st_size > 10_000


def test_what_is_for_robots_is_refused_for_scenes(tmp_path):
    with pytest.raises(ss.InputError, match="expected them for a robot only"):
        opened_files(["scene.yaml"], ground=0.0)
    model = opened_files([str(ROBOTS / "arm.urdf")], ground=-0.1)
    assert "ground" in model.geoms
