"""Scene files: what is saved is what is loaded, and a wrong file gets one sentence with its line and key."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from stickslip.errors import FileError, InputError
from stickslip.scene import numbered_yaml
from stickslip.scene.compile import compile_scene
from stickslip.scene.files import Named, RunSettings, load_run, load_scene, save_scene
from stickslip.scene.model import Kind
from stickslip.scene.scene import Scene
from stickslip.scene.shapes import Box, Capsule, Cylinder, Plane, Point, Sphere

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenes"


def spatial_scene():
    scene = Scene(gravity=(0.1, -0.2, -9.80665))
    scene.add_plane((1, 2, 3), 0.1, friction=0.1, friction_kinetic=1 / 30)
    scene.add_plane(moving=True, velocity=(1 / 3, 0, 0), name="belt")
    scene.add_box((0.1, 0.2, 0.3), density=1 / 3, orientation=((1, 2, 3), 0.3), restitution=0.5, name="1e5")
    scene.add_sphere(0.1, mass=1e-7, velocity=(1, 2, 3), spin=(4, 5, 6), stiffness=1e5, damping=3.0, name="yes")
    scene.add_capsule(0.1, 0.7, mass=1.0, inertia=[[3, 0.1, 0], [0.1, 2, 0], [0, 0, 2.5]], name="null")
    scene.add_cylinder(0.1, 0.7, static=True, position=(1, 1, 1), name="a: b # c")
    scene.add_particle(0.3, position=(1e-300, 1e99, 5e-324), stiffness_tangent=2.0, damping_tangent=1.0, name="größe")
    parts = [
        Box(1, (1, 2, 3), (1, 2, 3, 4)),
        Sphere(0.1),
        Point((0, 0, 1)),
        Capsule(0.1, 1),
        Cylinder(1, 1, orientation=((0, 1, 0), 1)),
    ]
    scene.add_body(parts, mass=2.0, inertia=(1, 2, 2.5), centre=(0.1, 0.2, 0.3), name="~")
    scene.add_body([Plane(offset=-1.0)], moving=True, position=(0, 0, 1), spin=(0, 0, 1), name="0x10")
    scene.add_body(mass=1.0, inertia=2.0, name="no shape")
    scene.add_body([Sphere(0.3, (0.1, 0, 0))], density=3.0, name=" spaces ")
    scene.apply("1e5", force=(1, 0, 0), torque=(0, 1, 0))
    scene.apply("yes", force=(0, 0, 1), point=(0, 0, 0))
    scene.set_pair("1e5", "yes", friction=0.2, stiffness=1e4)
    scene.set_pair("~", "yes", collide=False)
    scene.add_fixed("no shape", position=(1, 2, 3))
    scene.add_ball("~", "yes", position=(1, 2, 3), compliance=1e-5, damping=0.1)
    scene.add_hinge("1e5", "a: b # c", position=(1, 2, 3), axis=(1, 2, 3), limits=(-1, math.inf), collide=True)
    scene.add_slider("null", position=(0, 0, 0), axis=(0, 1, 0), speed=-1.0, strength=math.inf)
    scene.add_slider(
        "yes", position=(0, 0, 0), axis=(0, 1, 0), target=-0.0, stiffness=3.0, strength=2.0, name="joint 5"
    )
    scene.add_hinge(
        "~", position=(0, 0, 0), axis=(0, 1, 0), gain=0.1, speed=2.0, strength=1.0, effort=-1.5, name="größe"
    )
    return scene


def planar_scene():
    scene = Scene(gravity=(0, -10), planar=True)
    scene.add_plane((0.1, 1), -0.3)
    scene.add_box((1, 2), mass=1.0, position=(1, 2), orientation=-0.3, velocity=(1, 1), spin=-3)
    scene.add_body([Box((1, 2), (0.3, 0.1), 0.2), Sphere(1)], mass=1.0, inertia=0.7)
    scene.add_particle(1.0, (0, 3))
    scene.apply("box_1", (1, 2), 3)
    scene.add_hinge("box_1", "body_2", position=(0, 1))
    scene.add_slider("box_1", position=(0, 1), axis=(1, -1))
    return scene


SCENES = {"empty": Scene(), "spatial": spatial_scene(), "planar": planar_scene()}


def compiled(scene):
    model, state, drives = compile_scene(scene)
    return model, state, drives.motors


def assert_same(a, b):
    for name in ("gravity", "planar", "descriptions", "joints", "forces", "overrides", "apart", "names", "joint_names"):
        assert getattr(a, name) == getattr(b, name), name
    for first, second in zip(compiled(a), compiled(b), strict=True):
        for name, x, y in zip(first._fields, first, second, strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes(), name


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_a_scene_comes_back_bit_by_bit(scene, tmp_path):
    save_scene(scene, tmp_path / "scene.yaml")
    loaded = load_scene(tmp_path / "scene.yaml")
    assert_same(scene, loaded)
    save_scene(loaded, tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_bytes() == (tmp_path / "scene.yaml").read_bytes()


finite = st.floats(-1e100, 1e100)


@given(st.tuples(*[st.floats(-1e3, 1e3)] * 4), st.tuples(finite, finite, finite), st.text(min_size=1))
@example((0.0, 0.0, 2.225073858507e-311, 2.225073858507e-311), (0.0, 0.0, 0.0), "0")
def test_any_number_and_any_name_come_back(quaternion, position, name):
    assume(math.hypot(*quaternion) > 0 and name.isprintable() and name != "world")
    scene = Scene()
    scene.add_box(1.0, mass=1.0, position=position, orientation=quaternion, name=name)
    data, _ = numbered_yaml.read(numbered_yaml.write([name, list(scene.descriptions[0].orientation), list(position)]))
    body = scene.descriptions[0]
    assert data == [name, list(body.orientation), list(position)]
    again = Scene()
    again.add_box(1.0, mass=1.0, position=data[2], orientation=data[1], name=data[0])
    assert again.descriptions[0] == body


def test_run_settings_come_back(tmp_path):
    run = RunSettings(1.0, 1e-3, Named("phantom", {"inertia": 1.0, "directions": 2}), Named("lemke"), 1e-10)
    save_scene(Scene(), tmp_path / "scene.yaml", run)
    assert load_run(tmp_path / "scene.yaml")[1] == run
    save_scene(Scene(), tmp_path / "scene.yaml")
    assert load_run(tmp_path / "scene.yaml")[1] == RunSettings()


def test_a_name_without_settings(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("run: {friction: coulomb, solver: {nsgs: {max_iter: 10}}}")
    assert load_run(path)[1] == RunSettings(friction=Named("coulomb"), solver=Named("nsgs", {"max_iter": 10}))


def test_a_function_is_not_saved(tmp_path):
    moved, pushed = Scene(), Scene()
    moved.add_plane(moving=True, velocity=lambda t: (t, 0, 0), name="belt")
    pushed.apply(pushed.add_sphere(1.0, mass=1.0, name="ball"), lambda t, state: ((t, 0, 0), (0, 0, 0)))
    for scene, what in ((moved, "the velocity of 'belt'"), (pushed, "a force on 'ball'")):
        with pytest.raises(InputError, match=f"^save_scene: {what} is 'a Python function', expected .* no functions$"):
            save_scene(scene, tmp_path / "scene.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(FileError, match=r"scene.yaml: cannot be written \(No such file or directory\)$"):
        save_scene(Scene(), tmp_path / "nowhere" / "scene.yaml")
    with pytest.raises(FileError, match=r"this is a folder, expected the name of a file$"):
        save_scene(Scene(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_load_and_say_how_to_run(path):
    scene, run = load_run(path)
    model, _, drives = compile_scene(scene)
    assert (model.kind == Kind.FREE).any()
    assert run.duration > run.dt > 0
    assert not drives


def test_the_box_of_the_example():
    model, state, _ = compile_scene(load_scene(EXAMPLES / "box.yaml"))
    pair = tuple(model.shape_material)
    expected = {
        "friction_static": 1.0,
        "friction_kinetic": 1.0,
        "restitution": 0.0,
        "stiffness": 1e10,
        "damping": 1e8,
        "stiffness_tangent": 1e8,
        "damping_tangent": 1e5,
    }
    assert {name: getattr(model, name)[pair] for name in expected} == expected
    assert model.mass[1] == 1.0
    np.testing.assert_allclose(model.inertia[1], np.eye(3) / 6, rtol=1e-15)
    np.testing.assert_array_equal(state.velocity[1], [0, 5, 0, 0, 0, 2 * math.pi])


def test_the_blocks_of_the_slope_lie_on_it():
    model, state, _ = compile_scene(load_scene(EXAMPLES / "slope.yaml"))
    normal = model.shape_rotation[0] @ [0, 0, 1]
    np.testing.assert_allclose(state.position[1:] @ normal, 0.1, rtol=1e-15)
    up = 2 * state.quaternion[1:, 0] * state.quaternion[1:, 2]  # R e_z, along x, of a turn about y
    np.testing.assert_allclose(up, normal[0], rtol=1e-15)


@pytest.mark.parametrize("end", ["", "\n", "# nothing\n"])
def test_a_file_without_anything_is_no_scene(tmp_path, end):
    path = tmp_path / "scene.yaml"
    path.write_text(end)
    with pytest.raises(FileError, match=r"line 1: the file is None, expected a mapping with the keys of a scene$"):
        load_scene(path)


BOX = "bodies:\n  - shape: box\n    size: 1\n    mass: 1\n    name: crate\n"

# a file, the line that is named, and what is said of it
WRONG = [
    (
        BOX + "    masss: 1\n",
        6,
        "bodies[0].masss is 1, expected one of the keys friction, friction_kinetic, restitution",
    ),
    (
        "gravitation: 1\n",
        1,
        "gravitation is 1, expected one of the keys gravity, planar, bodies, joints, forces, pairs",
    ),
    ("bodies:\n  - shape: box\n    mass: 1\n", 2, "bodies[0].size is missing"),
    ("bodies:\n  - size: 1\n", 2, "bodies[0].shape is missing"),
    (
        "bodies:\n  - size: 1\n    shape: bos\n",
        3,
        "bodies[0].shape is 'bos', expected one of 'plane', 'particle', 'box'",
    ),
    ("bodies:\n  - box\n", 2, "bodies[0] is 'box', expected a mapping of keys to values"),
    ("bodies: 3\n", 1, "bodies is 3, expected a list"),
    ("bodies:\n", 1, "bodies is None, expected a list"),
    ("- 1\n", 1, "the file is [1], expected a mapping with the keys of a scene"),
    (BOX + "    friction: rough\n", 6, "bodies[0].friction is 'rough', expected a number"),
    (BOX + '    friction: "1"\n', 6, "bodies[0].friction is '1', expected a number"),
    (BOX + "    friction: true\n", 6, "bodies[0].friction is True, expected a number"),
    (BOX + "    friction: -1\n", 6, "bodies[0].friction is -1.0, expected a number >= 0"),
    (BOX + "    static: yes\n", 6, "bodies[0].static is 'yes', expected true or false"),
    (BOX + "    position: [0, 0, z]\n", 6, "bodies[0].position[2] is 'z', expected a number"),
    (BOX + "    position: [0, 0]\n", 6, "bodies[0].position is [0.0, 0.0], expected three finite numbers (x, y, z)"),
    (BOX + "    position: [0, 0, .nan]\n", 6, "bodies[0].position is [0.0, 0.0, nan], expected three finite numbers"),
    (BOX + "    position:\n", 6, "bodies[0].position is None, expected a list"),
    (BOX + "    orientation: x\n", 6, "bodies[0].orientation is 'x', expected a number or a list or a mapping of keys"),
    (BOX + "    orientation: {axis: [0, 0, 1]}\n", 6, "bodies[0].orientation.angle is missing"),
    (
        BOX + "    orientation:\n      axis: [0, 0, 1]\n      angel: 1\n",
        8,
        "bodies[0].orientation.angel is 1, expected ",
    ),
    (
        BOX + "    orientation: [0, 0, 0, 0]\n",
        6,
        "bodies[0].orientation is [0.0, 0.0, 0.0, 0.0], expected a quaternion",
    ),
    (BOX + "    inertia: [1, 1, 3]\n", 6, "bodies[0].inertia is [1.0, 1.0, 3.0], expected principal moments of which"),
    (BOX + "    density: 2\n", 6, "bodies[0].density is 2.0, expected no density beside mass 1.0"),
    (BOX + "    mass: 2\n", 6, "bodies[0].mass is given a second time, first in line 4"),
    (BOX.replace("size: 1", "size: [1, -2, 3]"), 3, "bodies[0].size is [1.0, -2.0, 3.0], expected one positive length"),
    (BOX.replace("size: 1", "size: big"), 3, "bodies[0].size is 'big', expected a number or a list"),
    (BOX.replace("size: 1", "size: [1, b, 3]"), 3, "bodies[0].size[1] is 'b', expected a number"),
    (BOX.replace("mass: 1", "friction: 1"), 2, "bodies[0].mass is None, expected a mass or a density"),
    (
        BOX + "  - {shape: sphere, radius: 1, mass: 1, name: crate}\n",
        6,
        "bodies[1].name is 'crate', expected a name that",
    ),
    (
        "bodies:\n  - shape: compound\n    mass: 1\n    shapes:\n      - {shape: box, size: 1}\n"
        "      - shape: sphere\n        radius: -2\n",
        7,
        "bodies[0].shapes[1].radius is -2.0, expected a positive length in m",
    ),
    (
        "bodies:\n  - shape: compound\n    shapes:\n      - {shape: ball, size: 1}\n",
        4,
        "bodies[0].shapes[0].shape is 'ball', expected one of 'plane', 'point', 'sphere'",
    ),
    (
        BOX
        + "joints:\n  - joint: hinge\n    a: crate\n    position: [0, 0, 0]\n    axis: [0, 1, 0]\n    limits: [1, 0]\n",
        11,
        "joints[0].limits is [1.0, 0.0], expected two numbers (least, greatest)",
    ),
    (
        BOX + "joints:\n  - {joint: ball, a: crat, position: [0, 0, 0]}\n",
        7,
        "joints[0].a is 'crat', expected a body of",
    ),
    (
        BOX + "joints:\n  - {joint: ball, a: crate, limits: [0, 0]}\n",
        7,
        "joints[0].limits is [0, 0], expected one of the",
    ),
    (
        BOX + "forces:\n  - {body: crate, force: [1, 0]}\n",
        7,
        "forces[0].force is [1.0, 0.0], expected three finite num",
    ),
    (BOX + "pairs:\n  - {a: crate, b: crate}\n", 7, "pairs[0].b is 'crate', expected another body than a"),
    ("run:\n  duration: 1\n  dt: 0\n", 3, "run.dt is 0.0, expected a positive number"),
    (
        "run:\n  friction: {a: {}, b: {}}\n",
        2,
        "run.friction is {'a': {}, 'b': {}}, expected a name, or one name with its",
    ),
    ("run:\n  friction: 3\n", 2, "run.friction is 3, expected a text or a mapping of keys to values"),
    ("run:\n  friction: {box: 3}\n", 2, "run.friction.box is 3, expected a mapping of keys to values"),
    ("run: now\n", 1, "run is 'now', expected a mapping of keys to values"),
    ("gravity: [0, 0, 1e400]\n", 1, "gravity is [0.0, 0.0, inf], expected three finite numbers (x, y, z)"),
    (
        "planar: true\ngravity: [0, 1, 0]\n",
        2,
        "gravity is [0.0, 1.0, 0.0], expected two finite numbers (x, z), or three",
    ),
    ("gravity: &g [0, 0, 1]\nbodies: *g\n", 2, "bodies is the alias *g, expected the value written out"),
    ("gravity: &g [0, 0, *g]\n", 1, "gravity[2] is the alias *g, expected the value written out"),
    (
        "planar: !!python/name:os.system\n",
        1,
        "planar is '' with the tag tag:yaml.org,2002:python/name:os.system, expect",
    ),
    ("planar: !!int x\n", 1, "planar is 'x' with the tag tag:yaml.org,2002:int, expected a number or a text"),
    ("planar: true\n? [a, b]\n: 1\n", 2, "a key of the file is not a text, expected a word"),
    ("planar: true\nbodies: [1, 2\n", 3, "this is not YAML: "),
    ("planar: true\nbodies: @\n", 2, "this is not YAML: found character that cannot start any token"),
    ("planar: true\n---\nplanar: false\n", 2, "a second document starts here, expected one"),
    ("planar: true\nbodies: \x07\n", 2, "this is not YAML: "),
    ("bodies: " + "[" * 100_000, 1, "bodies is nested more than 20 deep, expected less"),
    ("gravity: [0, 0, " + "9" * 5000 + "]\n", 1, "gravity[2] is '999"),
]


@pytest.mark.parametrize(("text", "line", "sentence"), WRONG, ids=[f"{line} {s[:40]}" for _, line, s in WRONG])
def test_a_wrong_file_gets_one_sentence(tmp_path, text, line, sentence):
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_scene(path)
    assert str(caught.value).startswith(f"{path}, line {line}: {sentence}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileError, match=r"absent.yaml: there is no such file$"):
        load_scene(tmp_path / "absent.yaml")
    with pytest.raises(FileError, match=r"this is a folder, expected a scene file$"):
        load_scene(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(b"planar: \xff\xfe")
    with pytest.raises(FileError, match=r"bytes.yaml: byte 8 is not UTF-8, expected a scene file in YAML$"):
        load_scene(tmp_path / "bytes.yaml")


def test_numbers_are_those_of_yaml_1_2():
    text = "[1e-3, 1E5, .5, 5., +.inf, -.INF, 0x1F, 0o17, 010, yes, 12:30, 2020-01-01, ~, '1', TRUE]"
    data, _ = numbered_yaml.read(text)
    inf = math.inf
    assert data == [1e-3, 1e5, 0.5, 5.0, inf, -inf, 31, 15, 10, "yes", "12:30", "2020-01-01", None, "1", True]


def test_scenes_load_neither_yaml_nor_pydantic():
    code = "import sys, stickslip.scene.compile; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ)
    assert not {"yaml", "pydantic"} & set(run.stdout.split())
