"""The HTML replay of a run: its numbers are those of the run, and it asks nothing of a network."""

import base64
import gzip
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main
from stickslip.problems.contact_states import State
from stickslip.scene.values import rotated
from stickslip.view import replay
from stickslip.view.solids import MESHES, SceneSolids, along, placed

MASS, DT, G = 2.0, 1e-2, 9.81


@pytest.fixture(scope="module")
def run():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=(0.4, 0.4, 0.2), mass=MASS, position=(0, 0, 0.1), velocity=(3, 0, 0), name="</script><b>&")
    scene.add_body([ss_shape() for ss_shape in SHAPES], mass=1.0, position=(0, 2, 1.0))
    return ss.simulate(scene, duration=1.0, dt=DT, progress=False)


def shapes():
    from stickslip.scene.shapes import Capsule, Cylinder, Hull, Sphere

    return (
        lambda: Capsule(radius=0.1, length=0.4, position=(0.1, 0, 0)),
        lambda: Cylinder(radius=0.1, length=0.3),
        lambda: Sphere(radius=0.2, position=(0, 0.2, 0)),
        lambda: Hull([(0, 0, 0), (0.3, 0, 0), (0, 0.3, 0), (0.1, 0.1, 0.4)], position=(0.1, -0.2, 0)),
    )


SHAPES = shapes()


def read(path):
    """What the page of a file has to show, by the rules that the page itself follows."""
    text = path.read_text()
    numbers = re.search(r'id="data">([^<]*)<', text)[1]
    raw = gzip.decompress(base64.b64decode(numbers))
    length = int.from_bytes(raw[:4], "little")

    def filled(part):
        if isinstance(part, list):
            return [filled(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "array" in part:
            count = int(np.prod(part["shape"]))
            return np.frombuffer(raw, part["array"], count, 4 + length + part["at"]).reshape(part["shape"])
        return {key: filled(each) for key, each in part.items()}

    return text, filled(json.loads(raw[4 : 4 + length]))


def test_the_page_has_the_motion_the_forces_and_the_states_of_the_run(run, tmp_path):
    run.export(tmp_path / "run.html")
    _, page = read(tmp_path / "run.html")
    assert page["about"]["shown"] == "every step"
    assert np.array_equal(page["time"], run.time.astype(np.float32))
    for body in range(3):
        centre = run._record.read("position", body=body)
        assert np.array_equal(page["poses"][:, body, :3], centre.astype(np.float32))
        assert np.array_equal(page["poses"][:, body, 3:], run.quaternion(body).astype(np.float32))
    contacts, start = page["contacts"], page["contacts"]["start"]
    own = slice(start[-2], start[-1])  # of the last step: the box is at rest, so forces carry its weight
    of_box = contacts["body_a"][own] == 1
    assert np.isclose(contacts["force"][own, 0][of_box].sum(), MASS * G, rtol=1e-3)
    assert np.array_equal(contacts["state"][own], run.contacts(step=-1).state)
    assert start[1] == 0  # nothing is said of the time before the first step


def test_the_strips_have_the_worst_of_every_bin(run):
    few = replay.strips(run, replay.solids_of("export", run), bins=7)
    assert few["residual"].max() == run.residual.max()
    assert np.array_equal(few["time"][-1:], run.time[-1:])
    assert few["counts"].sum(axis=1)[-1] == run.contact_count[-1]
    every = replay.counts(run)
    for step in (0, 20, 99):
        assert every[step].tolist() == [int((run.contacts(step).state == kind).sum()) for kind in State]


def test_steps_that_missed_their_tolerance_are_marked():
    """Boxes thrown into each other, to a tolerance that no step can reach, and one that accepts what it got."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.4, mass=1.0, position=(0, 0, 0.21), velocity=(3, 0, 0), spin=(1, 2, 3))
    sharp = {"tol": 1e-30, "progress": False}
    with pytest.warns(ss.InexactWarning):
        inexact = ss.simulate(scene, 0.2, DT, **sharp)
    failed = ss.simulate(scene, 0.2, DT, keep_going=True, accept=1e-30, **sharp)
    assert np.flatnonzero(replay.marks(inexact) == replay.INEXACT).tolist() == inexact.inexact.tolist() != []
    assert np.flatnonzero(replay.marks(failed) == replay.FAILED).tolist() == failed.failures.tolist() != []


def test_a_long_run_is_thinned_out_and_says_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "INSTANTS", 11)
    monkeypatch.setattr(replay, "CONTACTS", 3)
    run.export(tmp_path / "run.html")
    _, page = read(tmp_path / "run.html")
    assert page["about"]["shown"].startswith("11 of 101 instants, the 3 strongest of up to")
    assert np.allclose(page["time"], np.linspace(0, 1, 11))
    assert np.diff(page["contacts"]["start"]).max() == 3


def test_ghosts_are_at_the_same_times(run, tmp_path):
    scene = ss.Scene()
    ball = scene.add_sphere(radius=0.1, mass=1.0, name="ball")
    coarse, fine = (ss.simulate(scene, 0.4, dt, progress=False) for dt in (0.02, 0.01))
    coarse.export(tmp_path / "run.html", [fine])
    _, page = read(tmp_path / "run.html")
    assert np.allclose(page["ghosts"][0]["poses"][:, ball.index, 2], coarse.position(ball)[:, 2], atol=1e-6)
    with pytest.raises(ss.InputError, match="different bodies"):
        coarse.export(tmp_path / "other.html", [run])
    assert not (tmp_path / "other.html").exists()


def test_the_page_names_no_place_outside_and_no_name_becomes_markup(run, tmp_path):
    run.export(tmp_path / "run.html")
    text, page = read(tmp_path / "run.html")
    assert "</script><b>&" in page["names"]
    assert "<b>&" not in text
    assert not re.search(r"https?:|//[a-z]+\.", text.replace(re.search(r'id="data">([^<]*)<', text)[1], ""))
    assert "{{" not in text


def test_a_path_that_is_no_page_and_a_system_are_refused(run, tmp_path):
    with pytest.raises(ss.InputError, match=r"ends with \.html"):
        run.export(tmp_path / "run.txt")
    rod = ss.rod()
    falls = ss.simulate(rod, 0.05, 1e-2, q=[0, 0, 2.0, 1.0, 0], progress=False)
    with pytest.raises(ss.InputError, match="'rod', which has no shapes"):
        falls.export(tmp_path / "rod.html")


def test_the_command_writes_the_page(run, tmp_path):
    run.save(tmp_path / "run.h5")
    said = CliRunner().invoke(main, ["export", str(tmp_path / "run.h5"), str(tmp_path / "run.html")])
    assert said.exit_code == 0
    assert "open it in a browser" in said.output
    assert len(read(tmp_path / "run.html")[1]["time"]) == 101
    said = CliRunner().invoke(main, ["export", str(tmp_path / "none.h5"), str(tmp_path / "run.html")])
    assert said.exit_code == 2
    assert "there is no such file" in said.output


@pytest.mark.parametrize("name", MESHES)
def test_meshes_are_closed_and_face_outwards(name):
    """The volume within, from the faces alone; open ones have none."""
    corner = MESHES[name].vertices[MESHES[name].faces]
    volume = np.einsum("fi,fi->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])) / 6
    around = 24 / 2 * np.sin(2 * np.pi / 24)  # area of the polygon that stands for a circle
    known = {"box": 8.0, "tube": 2 * around, "dart": around / 3, "ring": 0.3 * around * (1 - 0.7**2)}
    if name in known:
        assert np.isclose(volume, known[name])
    if name == "ball":
        assert 0.96 * 4 / 3 * np.pi < volume < 4 / 3 * np.pi


def test_parts_lie_where_the_shapes_are(run):
    """The outermost points of a turned body's parts, against support points of its shapes."""
    header, state = run.header, run.state(40)
    solids = SceneSolids(header)
    parts = solids.parts(solids.view(state))
    place, turn = placed(parts, state)
    for shape in np.flatnonzero(header.shape != 0):
        own = np.flatnonzero(parts.shape == shape)
        points = np.concatenate(
            [place[i] + rotated(turn[i], solids.meshes[parts.mesh[i]].vertices * parts.scale[i]) for i in own]
        )
        body = header.shape_body[shape]
        centre = state.position[body] + rotated(state.quaternion[body], header.shape_position[shape])
        reach = np.linalg.norm(points - centre, axis=1).max()
        size = header.shape_size[shape]
        expected = {1: size[0], 2: np.linalg.norm(size), 3: size[0] + size[1], 4: np.hypot(size[0], size[1])}
        expected[5] = np.linalg.norm([(0.15, 0.15, -0.2), (-0.15, 0.15, 0.2)], axis=1).max()  # its outermost corners
        assert np.isclose(reach, expected[int(header.shape[shape])])


def test_arrows_point_along_their_directions():
    directions = np.array([[0, 0, 1], [0, 0, -2], [1, 0, 0], [0.3, -0.4, 0.5]], float)
    assert np.allclose(
        rotated(along(directions), np.array([0.0, 0.0, 1.0])),
        directions / np.linalg.norm(directions, axis=1, keepdims=True),
    )
