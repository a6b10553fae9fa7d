"""What MuJoCo's files can have, crossed: motion without contact on many models, masses of many URDFs, contacts and
constraints of all kinds, and what all Systems can do."""

import math

import numpy as np
import pytest
from models import GRAVITY, slope, write_stl

import stickslip as ss

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'stickslip[mujoco]'")

LINK = '<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1"/>'
HINGE = f'<body><joint name="a" axis="0 1 0" damping=".05"/>{LINK}</body>'
TWO = f"""<body><joint name="a" axis="0 1 0"/>{LINK}
  <body pos=".3 0 0"><joint name="b" axis="0 1 0"/>{LINK}</body></body>"""
CORD = """<tendon><fixed name="t" stiffness="5" damping="0.5"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/>
</fixed></tendon>"""
STRING = (
    f"""<site name="w" pos="0 0 .5"/><body><joint name="a" axis="0 1 0"/>{LINK}<site name="s" pos=".2 0 0"/></body>"""
)
SPATIAL = """<tendon><spatial name="t" stiffness="50" damping=".3"><site site="w"/><site site="s"/></spatial></tendon>
<actuator><motor tendon="t"/></actuator>"""


@pytest.fixture
def load(tmp_path):
    def loaded(bodies, more="", option="", name="model.xml", **options):
        path = tmp_path / name
        text = bodies if "<mujoco" in bodies else f"<mujoco>{option}<worldbody>{bodies}</worldbody>{more}</mujoco>"
        path.write_text(text)
        return ss.load_model(path, quiet=True, **options)

    return loaded


def off(integrator="Euler", more=""):
    return f'<option integrator="{integrator}" {more}><flag contact="disable"/></option>'


def acts(kind):
    return f"<actuator>{kind}</actuator>"


FREE = {  # bodies, what else, option, controls
    "ball": (f'<body><joint type="ball" stiffness="2" damping=".1"/>{LINK}</body>', "", off(), 0),
    "chain on a ball": (
        f'<body><joint type="ball" damping=".1"/>{LINK}<body pos=".3 0 0"><joint axis="0 1 0"/>{LINK}</body></body>',
        "",
        off(),
        0,
    ),
    "two free bodies": (
        f'<body><freejoint/>{LINK}</body><body pos="1 0 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body>',
        "",
        off(),
        0,
    ),
    "gravity compensated": (f'<body gravcomp="1"><freejoint/>{LINK}</body>{HINGE}', "", off(), 0),
    "in a fluid": (f"<body><freejoint/>{LINK}</body>", "", off(more='density="1.2" viscosity=".1" wind="1 0 0"'), 0),
    "double pendulum": (TWO, "", off(), 0),
    "cord": (TWO, CORD, off(), 0),
    "cord, implicit": (TWO, CORD + acts('<velocity tendon="t" kv="1"/>'), off("implicitfast"), 0.3),
    "string": (STRING, SPATIAL, off(), 0.4),
    "motor": (HINGE, acts('<motor joint="a" gear="2"/>'), off(), 0.3),
    "motor with a limit": (HINGE, acts('<motor joint="a" forcelimited="true" forcerange="-.2 .2"/>'), off(), 0.3),
    "position": (HINGE, acts('<position joint="a" kp="20" kv="1"/>'), off("implicitfast"), 0.3),
    "velocity": (HINGE, acts('<velocity joint="a" kv="2"/>'), off(), 0.3),
    "intvelocity": (HINGE, acts('<intvelocity joint="a" kp="20" kv="1" actrange="-1 1"/>'), off("implicitfast"), 0.3),
    "damper": (HINGE, acts('<damper joint="a" kv="1" ctrlrange="0 1"/>'), off("implicitfast"), 0.3),
    "muscle": (HINGE, acts('<muscle joint="a" force="5" lengthrange=".1 1"/>'), off(), 0.3),
    "cylinder": (HINGE, acts('<cylinder joint="a" area=".1" timeconst=".1"/>'), off(), 0.3),
    "general": (
        HINGE,
        acts('<general joint="a" dyntype="filter" dynprm=".05" gainprm="3" biastype="affine" biasprm="0 -2 -.1"/>'),
        off(),
        0.3,
    ),
}


@pytest.mark.parametrize("name", FREE)
def test_without_contact_the_motion_is_that_of_mujoco(load, name):
    bodies, more, option, control = FREE[name]
    model = load(bodies, more, option)
    v = np.random.default_rng(0).uniform(-1, 1, model.velocities)
    data = mujoco.MjData(model.original)
    data.qvel[:], data.ctrl[:] = v, control
    sim = ss.Simulation(model, model.timestep, v=v)
    sim.control[:] = control
    for _ in range(500):
        mujoco.mj_step(model.original, data)
    sim.step(500)
    assert np.abs(data.qvel).max() > 1e-8
    np.testing.assert_allclose(sim.q, data.qpos, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.v, data.qvel, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("floating", [False, True])
def test_mass_and_bias_of_random_trees_are_those_of_pinocchio(tmp_path, seed, floating):
    """Branched robots with hinges and sliders about any axes and inertias turned any way, fixed and floating. A free
    base has its linear velocity in the axes of the world here, and in its own in Pinocchio."""
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'stickslip[robots]'")
    rng = np.random.default_rng(seed)
    path = tmp_path / "tree.urdf"
    path.write_text(random_tree(rng, 6))
    model = ss.load_model(path, quiet=True, floating=floating)
    robot = ss.load_robot(path, floating=floating)
    assert model.velocities == robot.velocities == 5 + 6 * floating
    for _ in range(4):
        angles = dict(zip(robot.joints[-5:], rng.uniform(-2, 2, 5), strict=True))
        q, p, v = model.pose(angles), robot.pose(angles), rng.uniform(-2, 2, robot.velocities)
        if floating:
            turn, place = rng.normal(size=4), rng.normal(size=3)
            turn /= np.linalg.norm(turn)
            q[:7], p[:7] = (*place, *turn), (*place, *turn[1:], turn[0])
            R = rotation(turn)
            change = np.eye(robot.velocities)
            change[:3, :3] = R.T
            M = change.T @ robot.mass(p) @ change
            np.testing.assert_allclose(model.mass(q), M, rtol=0, atol=1e-10)
            v[:6] = 0.0  # without the terms that a turning frame adds
            np.testing.assert_allclose(model.bias(q, v), change.T @ robot.bias(p, v), rtol=0, atol=1e-10)
        else:
            np.testing.assert_allclose(model.mass(q), robot.mass(p), rtol=0, atol=1e-10)
            np.testing.assert_allclose(model.bias(q, v), robot.bias(p, v), rtol=0, atol=1e-10)


def rotation(quaternion):
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quaternion)
    return R.reshape(3, 3)


def random_tree(rng, links):
    """A URDF; each link hangs on one before it."""
    text = ""
    for i in range(links):
        c, (a, b, d) = rng.uniform(-0.1, 0.1, 3), rng.uniform(0.02, 0.03, 3)
        turn = " ".join(f"{x:.6f}" for x in rng.uniform(-1, 1, 3))
        inertia = f'<inertia ixx="{a}" iyy="{b}" izz="{d}" ixy="0" ixz="0" iyz="0"/>'
        origin = f'<origin xyz="{c[0]} {c[1]} {c[2]}" rpy="{turn}"/>'
        text += f'<link name="l{i}"><inertial>{origin}<mass value="{rng.uniform(0.5, 2)}"/>{inertia}</inertial></link>'
        if i:
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            kind = "prismatic" if i == 3 else "revolute"
            place = " ".join(f"{x:.6f}" for x in rng.uniform(-0.3, 0.3, 3))
            text += f"""<joint name="j{i}" type="{kind}"><parent link="l{rng.integers(i)}"/><child link="l{i}"/>
            <origin xyz="{place}" rpy="{turn}"/><axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>
            <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>"""
    return f"<robot name='tree'>{text}</robot>"


# contact


@pytest.mark.parametrize("condim", [1, 3, 4, 6])
@pytest.mark.parametrize("shape", ["sphere", "box", "cylinder", "capsule", "ellipsoid"])
def test_every_shape_with_every_condim_is_carried(load, shape, condim):
    """In a quarter of a second the impulse of its weight."""
    body = f"""<geom type="plane" size="5 5 .1" condim="{condim}"/><body pos="0 0 .1"><freejoint/>
    <geom type="{shape}" size=".1 .1 .1" mass="2" condim="{condim}" friction=".6 .01 .001"/></body>"""
    run = ss.simulate(load(body), 0.25, 1e-3, q=[0, 0, 0.2 if shape == "capsule" else 0.1, 1, 0, 0, 0])
    assert not run.failures.size
    carried = run.contacts().impulse[:, 0].sum()
    assert carried == pytest.approx(2 * GRAVITY * 0.25, rel=1e-6)
    assert run.residual.max() <= 1e-8


@pytest.mark.parametrize("shape", ["sphere", "box", "capsule", "cylinder"])
def test_on_a_height_field(load, shape):
    heights = " ".join(f"{x:.3f}" for x in np.random.default_rng(0).uniform(0, 1, 64))
    field = f'<asset><hfield name="h" nrow="8" ncol="8" size="1 1 .2 .1" elevation="{heights}"/></asset>'
    body = f"""<geom type="hfield" hfield="h"/><body name="it" pos="0 0 .6"><freejoint/>
    <geom type="{shape}" size=".1 .1 .1"/></body>"""
    run = ss.simulate(load(body, field), 0.5, 2e-3)
    assert not run.failures.size
    assert run.contact_count.max() > 0
    assert run.contacts().gap.min() > -5e-3  # it does not fall through


def test_pairs_exclusions_keyframes_and_mocap(load):
    """Friction of a pair instead of the geoms', a body that is kept out of contact, one that is held by nothing."""
    text = """<mujoco><worldbody><geom name="f" type="plane" size="5 5 .1" contype="0" conaffinity="0"/>
    <body name="x" pos="0 0 .1"><freejoint/><geom name="x" type="box" size=".1 .1 .1" mass="1"/></body>
    <body name="y" pos=".1 0 .1"><freejoint/><geom name="y" type="box" size=".1 .1 .1" mass="1"/></body>
    <body name="hand" mocap="true" pos="0 1 .1"><geom type="box" size=".1 .1 .1"/></body></worldbody>
    <contact><pair geom1="f" geom2="x" friction=".3 .3 .01 .0001 .0001"/><pair geom1="f" geom2="y"/>
    <exclude body1="x" body2="y"/></contact>
    <keyframe><key name="high" qpos="0 0 .3 1 0 0 0 .1 0 .5 1 0 0 0"/></keyframe></mujoco>"""
    model = load(text)
    run = ss.simulate(model, 0.1, 1e-3, v=[1.0] + [0.0] * 11)
    assert run.v[-1, 0] == pytest.approx(1.0 - 0.3 * GRAVITY * 0.1, rel=1e-9)
    assert np.abs(run.v[-1, 6:]).max() < 1e-9  # y overlaps x, and feels nothing of it
    high = ss.simulate(model, 0.05, 1e-3, q=model.keyframe("high"))
    assert high.contact_count.sum() == 0


@pytest.mark.parametrize(
    ("constraint", "error"),
    [
        ('<connect body1="a" body2="b" anchor="0 0 -.125"/>', 3),
        ('<weld body1="a" body2="b"/>', 6),
        ('<joint joint1="j1" joint2="j2"/>', 1),
        ('<tendon tendon1="t1" tendon2="t2"/>', 1),
    ],
)
def test_equality_constraints_hold_in_contact(load, constraint, error):
    """Two balls fall to the ground, two pendulums swing against limits, dry friction and a limit of a tendon."""
    bodies = f"""<geom type="plane" size="5 5 .1"/><body name="a" pos="0 0 .5"><freejoint/><geom size=".1" mass="1"/>
    </body><body name="b" pos="0 0 .25"><freejoint/><geom size=".1" mass="1"/></body>
    <body pos="1 0 1"><joint name="j1" axis="0 1 0"/>{LINK}</body><body pos="1 1 1"><joint name="j2" axis="0 1 0"
    frictionloss=".1" limited="true" range="-60 60"/>{LINK}</body>"""
    more = f"""<tendon><fixed name="t1"><joint joint="j1" coef="1"/></fixed><fixed name="t2" limited="true"
    range="-.8 .8" frictionloss=".05"><joint joint="j2" coef="2"/></fixed></tendon><equality>{constraint}</equality>"""
    model = load(bodies, more)
    run = ss.simulate(model, 0.6, 1e-3)
    assert not run.failures.size
    held = model.here.constraints(run.q[-1])[1]
    assert held.shape == (error,)
    assert np.abs(held).max() < 1e-4
    assert np.abs(run.q[:, -1]).max() < 0.4 + 1e-6  # the limit of the tendon


def test_a_mesh_of_a_file_rests_on_its_face(load, tmp_path):
    """A tetrahedron, by the hull of an STL file."""
    write_stl(tmp_path / "part.stl", size=0.3)
    mesh = '<asset><mesh name="part" file="part.stl"/></asset>'
    bodies = """<geom type="plane" size="5 5 .1"/><body name="low"><freejoint/><geom type="mesh" mesh="part"/></body>"""
    model = load(bodies, mesh)
    run = ss.simulate(model, 0.3, 2e-3)
    assert not run.failures.size
    assert np.abs(run.v[-1]).max() < 1e-8
    weight = GRAVITY * model.original.body_mass.sum()
    assert run.contacts(-1).impulse[:, 0].sum() / 2e-3 == pytest.approx(weight, rel=1e-7)


def test_rows_that_no_joint_can_move_carry_nothing(load):
    """A slider that is welded where it is to the world: five of the six rows are rounding or nothing, and the motor's
    force is carried by the sixth."""
    bodies = f"""<body name="cart" pos="0 0 1" quat=".8 .36 .48 0"><joint type="slide" axis="1 0 0" damping="1"/>{LINK}
    </body>"""
    model = load(bodies, '<equality><weld body1="cart"/></equality>')
    run = ss.simulate(model, 0.2, 2e-3, force=[30.0])
    assert not run.failures.size
    assert np.abs(run.v).max() < 1e-9
    assert np.abs(run.joint("constraint").impulse).max() < 1.0  # N s: about 30 N and the weight, for 2 ms


# what every System can do


def test_files_and_what_goes_on_from_them(load, tmp_path):
    """Loaded to the bit, the same as by Simulation, and as of a run that goes on."""
    model = load(slope(math.radians(20)))
    path = tmp_path / "run.h5"
    run = ss.simulate(model, 0.3, 1e-3, path=path, watch="jamming")  # several blocks of the record
    again = ss.Trajectory.load(path)
    assert len(run) == len(again) == 300
    for name in ("q", "v", "residual", "kinetic"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    np.testing.assert_array_equal(again.contacts().impulse, run.contacts().impulse)
    sim = ss.Simulation(model, 1e-3)
    sim.step(300)
    np.testing.assert_array_equal(sim.q, run.q[-1])
    np.testing.assert_array_equal(sim.contacts.impulse, run.contacts(-1).impulse)
    longer = ss.resume(path, 0.4, world=model)
    np.testing.assert_array_equal(longer.q, ss.simulate(model, 0.4, 1e-3).q)


def test_a_force_that_goes_wrong_keeps_the_steps_before(load, tmp_path):
    """100 steps, of which 64 were handed over before, and the last did not end."""
    model = load(slope(0.1))

    def push(t, q, v):
        if t > 0.0999:
            raise ZeroDivisionError("push")
        return [1.0, 0, 0, 0, 0, 0]

    with pytest.raises(ZeroDivisionError) as caught:
        ss.simulate(model, 0.2, 1e-3, force=push, path=tmp_path / "run.h5")
    assert len(caught.value.trajectory) == 100
    assert len(ss.Trajectory.load(tmp_path / "run.h5")) == 100


def test_contacts_are_read_where_mujoco_keeps_them(load):
    """Contacts come and go for two seconds; what the step reads in MuJoCo's memory is what MuJoCo says they are."""
    bodies = "".join(f'<body pos="{0.15 * i} 0 {0.2 + 0.3 * i}"><freejoint/><geom size=".1"/></body>' for i in range(4))
    stepper = ss.Simulation(load(f'<geom type="plane" size="5 5 .1"/>{bodies}'), 2e-3)._stepper
    counts = set()
    for _ in range(600):
        one = stepper.step()
        found, d = one.now, stepper.run.data
        counts.add(d.ncon)
        if d.ncon:
            np.testing.assert_array_equal(found.place, d.contact.pos)
            np.testing.assert_array_equal(found.frame, d.contact.frame)
            np.testing.assert_array_equal(found.gap, d.contact.dist - d.contact.includemargin)
            np.testing.assert_array_equal(found.geom, d.contact.geom)
            np.testing.assert_array_equal(found.mu, d.contact.friction[:, 0])
        stepper.accept(one)
    assert len(counts) > 3


# a scene and a model


def test_a_mesh_of_a_scene_in_a_model(load):
    """A cube given as a mesh slides as the same cube given as a box; parts become geoms of one body."""
    cube = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    floor = """<geom name="floor" type="plane" size="5 5 .1" friction="0.3"/>
    <body pos="3 0 1"><freejoint/><geom size=".1"/></body>"""
    ends = []
    for mesh in (True, False):
        scene = ss.Scene()
        settings = {"mass": 1.0, "position": (0, 0, 0.1), "friction": 0.3, "name": "block"}
        body = scene.add_mesh(cube, **settings) if mesh else scene.add_box(size=0.2, **settings)
        assert body is not None
        v = np.zeros(12)
        v[6] = 1.0
        ends.append(ss.simulate(load(floor, scene=scene), 0.2, 1e-3, v=v).q[-1, 7:])
    np.testing.assert_allclose(*ends, atol=1e-6)
    assert ends[0][0] == pytest.approx(1.0 * 0.2 - 0.5 * 0.3 * GRAVITY * 0.2**2, rel=0.02)
    scene = ss.Scene()
    scene.add_mesh(np.concatenate([cube, cube + 0.4]), parts=[cube, cube + 0.4], mass=1.0, name="pair")
    assert load(floor, scene=scene).geoms[-2:] == ("pair", "pair 1")


# files


def test_declarations_below_other_lines_and_worlds_that_cannot_float(tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/></joint>'
    path = tmp_path / "late.urdf"
    text = f"<robot name='late'><link name='world'/><link name='a'>{inertial}</link>{joint}</robot>"
    path.write_text(f"\n<!-- by hand -->\n<?xml version='1.0'?>\n{text}")
    assert ss.load_model(path, quiet=True).velocities == 1
    with pytest.raises(ss.InputError, match=r"floating is True for .*, expected False: its link 'world' is the world"):
        ss.load_model(path, floating=True)


def test_what_is_not_implicit_is_said(load):
    muscle = acts('<muscle joint="a" force="5" lengthrange=".1 1"/>')
    assert "muscles pull as at the start" in " ".join(load(HINGE, muscle, off("implicitfast")).left_out)
    assert "a fluid drags as at the start" in " ".join(load(HINGE, "", off("implicitfast", 'density="1"')).left_out)
    assert load(HINGE, "", off("implicitfast")).left_out == ()


def test_a_fixed_base_never_touches_the_links_of_its_own_tree(load):
    """It overlaps its child and its grandchild, which no hinge can part from it; another body is pushed out."""
    arm = f"""<body name="base"><geom size=".1"/><body name="hip"><joint axis="0 1 0"/>{LINK}
    <body name="thigh" pos=".05 0 0"><joint axis="0 1 0"/><geom size=".08" mass="1"/></body></body></body>"""
    model = load(arm + '<body name="other" pos="0 0 .15"><freejoint/><geom size=".1" mass="1"/></body>')
    assert any("2 pairs of links overlap" in note for note in model.left_out)
    run = ss.simulate(model, 0.1, 1e-3)
    pairs = {frozenset((model.geoms[a], model.geoms[b])) for a, b in run_pairs(run)}
    assert not any("base" in "".join(pair) and "thigh" in "".join(pair) for pair in pairs)
    assert any("base" in "".join(pair) and "other" in "".join(pair) for pair in pairs)


def run_pairs(run):
    table = run.contacts()
    return zip(table.body_a.tolist(), table.body_b.tolist(), strict=True)
