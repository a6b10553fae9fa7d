"""Models from MJCF and URDF files: MuJoCo's own motion, Pinocchio's matrices, closed forms of friction, bad files."""

import math
from pathlib import Path

import numpy as np
import pytest
from models import CHAIN, GRAVITY, INERTIAL, slope, urdf, write_stl

import stickslip as ss
from stickslip.engine.names import FORMULATIONS

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'stickslip[mujoco]'")

ARM = Path(__file__).parents[2] / "examples" / "robots" / "arm.urdf"


@pytest.fixture
def load(tmp_path):
    def loaded(text, name="model.xml", **options):
        path = tmp_path / name
        path.write_text(text)
        return ss.load_model(path, **options)

    return loaded


# without contact


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_without_contact_the_motion_is_that_of_mujoco(load, integrator):
    """Free fall with spin, springs, dampers, armature, a motor and a velocity servo, to 1e-9 after 500 steps. Under the
    implicit integrator MuJoCo's gyroscopic torque of a free body is that of the end of a step, so it does not spin."""
    model = load(CHAIN.format(option=f'integrator="{integrator}"', kv=1.5))
    own, data = model.original, mujoco.MjData(model.original)
    v = np.arange(9) * 0.3 - 1.0
    v[3:6] *= integrator == "Euler"
    data.qvel[:], data.ctrl[:] = v, (0.3, -0.5)
    sim = ss.Simulation(model, dt=2e-3, v=v)
    sim.control[:] = 0.3, -0.5
    for _ in range(500):
        mujoco.mj_step(own, data)
    sim.step(500)
    np.testing.assert_allclose(sim.q, data.qpos, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.v, data.qvel, rtol=0, atol=1e-9)
    assert sim.time == pytest.approx(1.0)


def test_a_stiff_spring_stays_stable(load):
    """ω h = 20, at which explicit steps blow up: the energy never grows."""
    k, h = 1e6, 0.02
    text = f"""<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" axis="1 0 0" stiffness="{k}"/>
    <geom size=".1" mass="1"/></body></worldbody></mujoco>"""
    run = ss.simulate(load(text), 1.0, h, q=[0.1])
    energy = k * run.q[:, 0] ** 2 / 2 + run.kinetic
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()
    assert abs(run.q[-1, 0]) < 1e-6


def test_mass_and_bias_are_those_of_pinocchio():
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'stickslip[robots]'")
    model, robot = ss.load_model(ARM, quiet=True), ss.load_robot(ARM)
    rng = np.random.default_rng(3)
    for _ in range(10):
        angles = dict(zip(robot.joints, rng.uniform(-2, 2, robot.velocities), strict=True))
        q, p, v = model.pose(angles), robot.pose(angles), rng.uniform(-3, 3, robot.velocities)
        np.testing.assert_allclose(model.mass(q), robot.mass(p), rtol=0, atol=1e-10)
        np.testing.assert_allclose(model.bias(q, v), robot.bias(p, v), rtol=0, atol=1e-10)


def test_velocity_map_is_the_rate_of_the_coordinates(load):
    model = load(CHAIN.format(option="", kv=0))
    rng = np.random.default_rng(1)
    q = model.moved(model.home, rng.uniform(-1, 1, model.velocities))
    v, e = rng.uniform(-1, 1, model.velocities), 1e-6
    rate = (model.moved(q, e * v) - model.moved(q, -e * v)) / (2 * e)
    np.testing.assert_allclose(model.velocity_map(q) @ v, rate, atol=1e-8)


# contact


@pytest.mark.parametrize("degrees", [5, 20, 38])
def test_a_block_on_a_slope_does_not_creep(load, degrees):
    angle = math.radians(degrees)  # below arctan 0.8 = 38.66°
    sim = ss.Simulation(load(slope(angle)), dt=2e-3)
    sim.step(500)
    assert np.abs(sim.v).max() < 1e-10
    assert abs(sim.q[0]) < 1e-9
    assert sim.residual <= 1e-8
    weight = sim.contacts.impulse[:, 0].sum() / sim.dt
    assert weight == pytest.approx(GRAVITY * math.cos(angle), rel=1e-7)


def test_a_block_slides_as_coulomb_says(load):
    angle, mu = math.radians(45), 0.3
    run = ss.simulate(load(slope(angle, mu)), 0.5, 1e-3)
    expected = GRAVITY * (math.sin(angle) - mu * math.cos(angle)) * 0.5
    assert run.v[-1, 0] == pytest.approx(expected, rel=1e-9)


def test_spin_friction_of_condim_4_is_a_patch(load):
    """A ball that spins about the vertical slows down by the torque μ_spin m g."""
    text = """<mujoco><worldbody><geom type="plane" size="5 5 .1" friction="0.5 0.02"/>
    <body pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" mass="2" condim="4" friction="0.5 0.02"/></body>
    </worldbody></mujoco>"""
    model = load(text)
    slowed = 0.02 * 2 * GRAVITY / (0.4 * 2 * 0.1**2)
    run = ss.simulate(model, 0.02, 1e-3, friction=ss.LimitSurface(), v=[0, 0, 0, 0, 0, 5.0])
    assert run.v[-1, 5] == pytest.approx(5.0 - 0.02 * slowed, rel=1e-6)
    freely = ss.simulate(model, 0.02, 1e-3, v=[0, 0, 0, 0, 0, 5.0])  # a point has no spin friction
    assert freely.v[-1, 5] == pytest.approx(5.0, rel=1e-9)


@pytest.mark.parametrize("ratio", [0.1, 0.4])
def test_the_damping_ratio_of_solref_is_a_restitution(load, ratio):
    text = f"""<mujoco><worldbody><geom type="plane" size="5 5 .1" solref="0.02 {ratio}"/>
    <body pos="0 0 .3"><freejoint/><geom type="sphere" size=".1" mass="1" solref="0.02 {ratio}"/></body>
    </worldbody></mujoco>"""
    run = ss.simulate(load(text), 0.3, 1e-4)
    before, after = run.v[:, 2].min(), run.v[:, 2].max()
    assert after / -before == pytest.approx(math.exp(-math.pi * ratio / math.sqrt(1 - ratio**2)), rel=1e-3)


def test_limits_and_dry_friction(load):
    """A rod falls onto its limit and stays there; one with dry friction above its weight's torque does not move, and
    one below has the closed form of the acceleration."""
    rod = """<body pos="{x} 0 0"><joint axis="0 1 0" {joint}/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".01"
    mass="1"/></body>"""
    torque = 1 * GRAVITY * 0.2
    kinds = ('limited="true" range="-90 30"', f'frictionloss="{1.1 * torque}"', f'frictionloss="{0.5 * torque}"')
    bodies = "".join(rod.format(x=i, joint=joint) for i, joint in enumerate(kinds))
    model = load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    run = ss.simulate(model, 1.0, 1e-3)
    assert run.q[-1, 0] == pytest.approx(math.radians(30), abs=1e-6)
    assert np.abs(run.q[:, 1]).max() < 1e-12
    inertia = model.mass(model.home)[2, 2]
    assert run.v[1, 2] / 1e-3 == pytest.approx(0.5 * torque / inertia, rel=1e-6)


@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_a_limit_that_starts_violated_is_taken_back_as_gently_as_an_overlap(load, h):
    """It starts 0.4 rad beyond, and leaves with √(2 brake 0.4) and no more."""
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint axis="0 1 0" limited="true" range="20 90"
    damping="0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".01" mass="1"/></body></worldbody></mujoco>"""
    run = ss.simulate(load(text), 0.2, h, q=[math.radians(20) - 0.4])
    brake = ss.Coulomb().stabilisation.brake
    assert run.v[1, 0] == pytest.approx(math.sqrt(2 * brake * 0.4), rel=1e-6)
    assert run.v.max() <= run.v[1, 0] * (1 + 1e-6)


def test_equality_constraints_hold(load):
    """A four-bar linkage closed by `connect`, and a joint that follows another."""
    text = """<mujoco><worldbody>
    <body name="a" pos="0 0 0"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      <body name="b" pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      </body></body>
    <body name="c" pos="0 1 0"><joint name="c" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
    <body name="d" pos="0 2 0"><joint name="d" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body></worldbody>
    <equality><connect body1="b" anchor=".3 0 0"/><joint joint1="c" joint2="d" polycoef="0 2 0 0 0"/></equality>
    </mujoco>"""
    model = load(text)
    run = ss.simulate(model, 0.5, 1e-3, q=[0.0, 0.0, 0.0, 0.0])
    assert np.abs(run.q[:, 2] - 2 * run.q[:, 3]).max() < 1e-6
    assert np.abs(run.q[-1, 3]) > 0.1  # it fell
    here = model.here
    assert np.abs(here.constraints(run.q[-1])[1][:3]).max() < 1e-6


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("condim", [3, 4])
def test_every_formulation_carries_a_block(load, name, condim):
    """The weight is carried and nothing sinks, whatever the formulation; on 10°, at μ = 0.8, it stays or nearly so."""
    text = slope(math.radians(10), geom=f'condim="{condim}"')
    formulation = FORMULATIONS[name]()
    if isinstance(formulation, ss.Penalty):
        pytest.skip("springs have no steps")
    run = ss.simulate(load(text), 0.1, 1e-3, friction=formulation)
    assert not run.failures.size
    carried = run.contacts(-1).impulse[:, 0].sum() / 1e-3
    assert carried == pytest.approx(GRAVITY * math.cos(math.radians(10)), rel=0.02)
    assert abs(run.q[-1, 2] - 0.1) < 1e-4
    assert abs(run.q[-1, 0]) < 2e-3


def test_the_quick_way_agrees_with_the_problem_itself(load):
    """The residual that the problem's own function computes after the fact."""
    from stickslip.engine.steppers import How, ModelStepper, QuickStep

    model, friction = load(slope(math.radians(30))), ss.Coulomb()
    stepper = ModelStepper(model, model.home, None, How(1e-3, friction, "auto", 1e-8, None), None, None)
    for _ in range(20):
        one = stepper.step()
        assert isinstance(one, QuickStep)
        posed = friction.pose(one.problem)
        assert ss.residual(posed, one.impulse) <= 1e-8
        np.testing.assert_allclose(
            one.problem.velocity_after(ss.Impulses(one.impulse, one.joints)), one.after, atol=1e-12
        )
        stepper.accept(one)


def test_solvers_agree_on_a_moving_model(load):
    text = slope(math.radians(42), 0.6)
    ends = [ss.simulate(load(text), 0.1, 1e-3, solver=solver).q[-1] for solver in ("auto", "nsgs", "cone_newton")]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-7)


def test_overlaps_that_nothing_can_part_are_left(load):
    """A block on a slider between two walls that are 2 mm too near: it stays where it is, and the run says so."""
    walls = "".join(f'<geom name="{x}" type="box" size=".1 1 1" pos="{x} 0 0"/>' for x in (-0.199, 0.199))
    block = '<body><joint type="slide" axis="1 0 0"/><geom type="box" size=".1 .1 .1"/></body>'
    text = f"<mujoco><worldbody>{walls}{block}</worldbody></mujoco>"
    model = load(text)
    with pytest.warns(ss.ModelWarning, match="10 of 10 steps of 'model' left overlaps as they were"):
        run = ss.simulate(model, 0.02, 2e-3, force=[3.0])
    assert not run.failures.size
    assert np.abs(run.v).max() < 1e-9
    sim = ss.Simulation(model, 2e-3)
    sim.step(5)
    assert sim.unrecovered == 5


def test_links_of_a_urdf_that_overlap_at_zero_never_touch(tmp_path):
    """The first link and the third, a ball of 0.1 m each at one place."""
    link = f'<link name="{{}}">{INERTIAL}<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    hinge = """<joint name="{0}{1}" type="continuous"><parent link="{0}"/><child link="{1}"/>
    <origin xyz="{2} 0 0"/><axis xyz="0 0 1"/></joint>"""
    links = "".join(link.format(name) for name in "abcd")
    joints = hinge.format("a", "b", 0.3) + hinge.format("b", "c", 0.3) + hinge.format("c", "d", -0.25)
    path = tmp_path / "snake.urdf"
    path.write_text(f"<robot name='snake'>{links}{joints}</robot>")
    with pytest.warns(ss.ModelWarning, match="1 pairs of links overlap where all joints are at zero, and never touch"):
        model = ss.load_model(path)
    run = ss.simulate(model, 0.02, 1e-3, v=[1.0, 0.5, 0.3])
    assert run.contact_count.sum() == 0


# what every System can do


def test_trajectories_analyses_and_files(load, tmp_path):
    model = load(slope(math.radians(20)))
    run = ss.simulate(model, 0.05, 1e-3, path=tmp_path / "run.h5", watch="jamming")
    again = ss.Trajectory.load(tmp_path / "run.h5")
    assert (again.q == run.q).all()
    assert (again.contacts(-1).impulse == run.contacts(-1).impulse).all()
    assert run.contacts(-1).names == ("floor", "block")
    assert set(run.contacts().feature.tolist()) == {0, 1, 2, 3}  # contacts keep their numbers
    for what in ("path", "energy", "impulses", "residual"):
        run.plot(tmp_path / f"{what}.png", what)
    assert run.origin("block").shape == (51, 3)
    found = ss.determinacy(model, q=run.q[-1])
    assert "only 3 combinations of the 4 loads" in str(found)
    assert ss.contact_problem(model, 1e-3, q=run.q[-1]).contacts == 4


def test_a_jam_map_is_that_of_the_same_robot_in_pinocchio():
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'stickslip[robots]'")
    robot = ss.load_robot(ARM, ss.FramePoint("tip"))
    model = ss.load_model(ARM, quiet=True)
    same = model.with_points(ss.FramePoint("tip"))
    rng = np.random.default_rng(0)
    for _ in range(5):
        angles = dict(zip(robot.joints, rng.uniform(-2, 2, robot.velocities), strict=True))
        q, p = model.pose(angles), robot.pose(angles)
        np.testing.assert_allclose(same.contacts[0].rows(q), robot.contacts[0].rows(p), atol=1e-10)
        assert same.contacts[0].gap(q) == pytest.approx(robot.contacts[0].gap(p), abs=1e-10)
        coupling = [ss.friction_coupling(one, q=at).mu_jam for one, at in ((same, q), (robot, p))]
        assert coupling[0] == pytest.approx(coupling[1], rel=1e-9)


def test_controls_state_and_reset(load):
    sim = ss.Simulation(load(CHAIN.format(option="", kv=0)), dt=2e-3)
    sim.control = [1.0, 0.0]
    sim.step(10)
    first = sim.q
    sim.reset()
    assert sim.time == 0
    assert (sim.control == 0).all()
    sim.control[sim.system.actuator("motor")] = 1.0
    sim.step(10)
    np.testing.assert_array_equal(sim.q, first)
    sim.q = sim.system.pose({"elbow": 0.5})
    assert sim.q[sim.system.coordinate("elbow")] == 0.5
    assert sim.position("lower").shape == (3,)
    with pytest.raises(ss.InputError, match="actuator is 'nobody', expected one of motor, servo"):
        sim.system.actuator("nobody")


def test_a_system_of_functions_has_a_simulation_too():
    system = ss.GeneralizedSystem(1, lambda q: [[2.0]], lambda q, v: [2.0 * GRAVITY])
    sim = ss.Simulation(system, 0.1, q=[0.0])
    sim.force = [2.0 * GRAVITY + 4.0]
    sim.step(10)
    assert sim.v[0] == pytest.approx(2.0)
    with pytest.raises(ss.InputError, match="has no control, expected a model of load_model"):
        _ = sim.control


# a scene and a model


def test_a_box_of_a_scene_in_a_model(load):
    """A block of a scene on the floor of a model does what the same block of the file does, under all shapes."""
    angle = math.radians(45)
    alone = slope(angle, 0.3).split("<body")[0] + "</worldbody></mujoco>"
    scene = ss.Scene()
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), friction=0.3, name="block")
    ours = ss.simulate(load(alone, scene=scene), 0.2, 1e-3)
    theirs = ss.simulate(load(slope(angle, 0.3)), 0.2, 1e-3)
    np.testing.assert_allclose(ours.q[-1], theirs.q[-1], atol=1e-9)


def test_shapes_masses_and_places_of_a_scene_are_kept(load):
    scene = ss.Scene()
    scene.add_plane(friction=0.4, offset=-1.0, restitution=0.5)
    scene.add_sphere(radius=0.1, mass=2.0, position=(1, 0, 0), restitution=0.5, patch=0.02, friction=0.5)
    scene.add_capsule(radius=0.05, length=0.4, mass=1.0, position=(0, 1, 0), orientation=((1, 0, 0), 0.3))
    scene.add_cylinder(radius=0.1, length=0.3, mass=3.0, position=(0, 0, 1))
    compiled, state, _ = ss.compile_scene(scene)
    model = load(CHAIN.format(option="", kv=0).replace('contact="disable"', 'contact="enable"'), scene=scene)
    m = model.original
    assert m.nv == 9 + 3 * 6
    for b in range(1, 4):
        own = model.body(scene.names[b])
        assert m.body_mass[own] == pytest.approx(compiled.mass[b])
        expected = np.linalg.eigvalsh(compiled.inertia[b])
        np.testing.assert_allclose(np.sort(m.body_inertia[own]), expected, rtol=1e-9)
        np.testing.assert_allclose(m.body_pos[own], state.position[b])
    run = ss.simulate(model, 0.6, 1e-3)
    assert not run.failures.size
    bounced = run.v[:, 9 + 2]
    assert bounced.max() / -bounced.min() == pytest.approx(0.5, rel=0.05)


def test_what_cannot_be_in_a_model_is_refused(load):
    planar = ss.Scene(planar=True)
    with pytest.raises(ss.InputError, match="the scene is planar, expected one in space"):
        load(slope(0.1), scene=planar)
    jointed = ss.Scene()
    jointed.add_hinge(jointed.add_box(size=1.0, mass=1.0), position=(0, 0, 0), axis=(0, 1, 0))
    with pytest.raises(ss.InputError, match="the scene has 1 joints, expected bodies without joints"):
        load(slope(0.1), scene=jointed)


# files


def test_what_is_left_out_is_said(load):
    text = slope(0.1, geom='condim="6"', option='integrator="RK4"')
    with pytest.warns(ss.ModelWarning, match="rolling friction of 1 geoms.*Runge-Kutta"):
        model = load(text)
    assert len(model.left_out) == 2


def test_packages_are_found_above_the_file_and_in_the_path_of_ros(tmp_path, monkeypatch):
    package = tmp_path / "ws" / "my_robot"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    write_stl(package / "meshes" / "part.stl")
    inside, outside = package / "urdf" / "one.urdf", tmp_path / "one.urdf"
    for path in (inside, outside):
        path.write_text(urdf("package://my_robot/meshes/part.stl"))
    assert ss.load_model(inside).velocities == 1
    with pytest.raises(ss.FileError, match="is not there, expected it at its path, in a package above"):
        ss.load_model(outside)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
    assert ss.load_model(outside, floating=True, ground=0.0).velocities == 7
    inside.write_text(urdf("package://my_robot/meshes/part.dae"))
    (package / "meshes" / "part.dae").write_text("")
    with pytest.warns(ss.ModelWarning, match=r"1 collision mesh of the format .dae left out"):
        ss.load_model(inside)


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("<mujoco", "a.xml", "is not XML"),
        ("<sdf/>", "a.xml", "begins with <sdf>, expected <mujoco>"),
        ("<mujoco><foo/></mujoco>", "a.xml", "unrecognized element; Element 'foo'"),
        ("<mujoco><asset><mesh file='no.stl'/></asset></mujoco>", "a.xml", "MuJoCo says: .*no.stl"),
        ("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>", "a.xml", "has no joints, expected a model"),
        (urdf("meshes/no.stl"), "a.urdf", "the mesh 'meshes/no.stl'"),
        (f"<robot name='r'><link name='a'>{INERTIAL}</link></robot>", "a.urdf", "has no joints"),
    ],
)
def test_a_bad_file_gets_one_sentence(load, text, name, sentence):
    with pytest.raises(ss.InputError, match=sentence) as error:
        load(text, name)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ss.FileError, match="is no file, expected an MJCF or URDF file"):
        ss.load_model(tmp_path / "none.xml")


def test_a_model_without_contacts_runs(load):
    run = ss.simulate(load(CHAIN.format(option="", kv=0)), 0.1, 1e-3)
    assert run.contact_count.sum() == 0
    assert not run.failures.size
