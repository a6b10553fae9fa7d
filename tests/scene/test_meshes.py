"""Meshes in scenes: their mass properties and how they touch, against what is known in closed form."""

import itertools

import numpy as np
import pytest

import stickslip as ss
from stickslip.scene.compile import compile_scene
from stickslip.scene.meshes import is_closed, solid
from stickslip.scene.shapes import Hull

BOX = np.array(list(itertools.product((-0.5, 0.5), (-0.4, 0.4), (-0.3, 0.3))))
BOX_TRIANGLES = Hull(BOX).hull.triangles
MOMENTS = np.array([0.8**2 + 0.6**2, 1.0 + 0.6**2, 1.0 + 0.8**2]) / 12  # of a box of 1 m, 0.8 m and 0.6 m, 1 kg


def free_body(scene):
    model, _, _ = compile_scene(scene)
    free = np.flatnonzero(np.isfinite(model.mass))[0]
    return model.mass[free], model.centre[free], model.inertia[free]


@pytest.mark.parametrize("shift", [(0, 0, 0), (3, -2, 7)])
def test_a_solid_of_triangles_has_the_volume_centroid_and_inertia_of_the_box(shift):
    volume, centroid, inertia = solid(BOX + shift, BOX_TRIANGLES)
    assert volume == pytest.approx(0.48, rel=1e-13)
    np.testing.assert_allclose(centroid, shift, atol=1e-13)
    np.testing.assert_allclose(inertia, 0.48 * np.diag(MOMENTS), atol=1e-13)


def test_a_regular_tetrahedron():
    """I = m a² / 20 about every axis through its centre, V = a³ / (6 √2)."""
    corners = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]) + 5.0
    a, body = 2 * np.sqrt(2), Hull(corners)
    assert body.volume == pytest.approx(a**3 / (6 * np.sqrt(2)), rel=1e-12)
    np.testing.assert_allclose(body.inertia, body.volume * a**2 / 20 * np.eye(3), atol=1e-12)


def test_faces_are_joined_and_run_counter_clockwise():
    hull = Hull(BOX).hull
    assert sorted(face.corners.size for face in hull.faces) == [4] * 6
    for face in hull.faces:
        p, q, r = hull.corners[face.corners[:3]]
        assert np.cross(q - p, r - q) @ face.normal > 0
        np.testing.assert_allclose(hull.corners[face.corners] @ face.normal, face.height, atol=1e-14)
    wheel = [(np.cos(a), np.sin(a), z) for a in np.arange(40) * np.pi / 20 for z in (0, 1)]
    assert max(face.corners.size for face in Hull(wheel).hull.faces) == 8


def test_a_hollow_mesh_has_its_own_mass_properties_and_touches_by_its_hull():
    """A box with a box cut out of its middle: outer triangles outward, inner ones inward."""
    hollow = np.concatenate([BOX, 0.5 * BOX])
    triangles = np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES[:, ::-1] + 8])
    assert is_closed(triangles)
    scene = ss.Scene()
    scene.add_mesh((hollow, triangles), density=1000.0)
    mass, centre, inertia = free_body(scene)
    assert mass == pytest.approx(1000 * 0.48 * (1 - 1 / 8), rel=1e-12)
    np.testing.assert_allclose(centre, 0, atol=1e-13)
    np.testing.assert_allclose(inertia, 480 * (1 - 1 / 32) * np.diag(MOMENTS), rtol=1e-12, atol=1e-9)
    assert len(scene.descriptions[0].shapes[0].corners) == 8


def test_triangles_inside_out_are_turned():
    scene = ss.Scene()
    scene.add_mesh((BOX, BOX_TRIANGLES[:, ::-1]), mass=2.0)
    np.testing.assert_allclose(free_body(scene)[2], 2 * np.diag(MOMENTS), atol=1e-12)


def same_motion(build, duration=0.6, atol=1e-7):
    """The scene with boxes and the scene with their hulls end alike."""
    ends = []
    for mesh in (False, True):
        scene = ss.Scene()
        build(scene, mesh)
        run = ss.simulate(scene, duration, dt=5e-3)
        ends.append((run.state(-1).position, run.state(-1).velocity))
    for box, hull in zip(*ends, strict=True):
        np.testing.assert_allclose(hull, box, atol=atol)


def add(scene, mesh, **settings):
    return scene.add_mesh(BOX, **settings) if mesh else scene.add_box((1.0, 0.8, 0.6), **settings)


def test_a_mesh_slides_as_the_box_it_is():
    def build(scene, mesh):
        scene.add_plane(friction=0.4)
        add(scene, mesh, mass=2.0, position=(0, 0, 0.3), velocity=(2.0, 0.5, 0))

    same_motion(build)


def test_a_mesh_rests_on_a_mesh_as_a_box_on_a_box():
    def build(scene, mesh):
        scene.add_plane(friction=0.5)
        add(scene, mesh, mass=2.0, position=(0, 0, 0.3))
        add(scene, mesh, mass=1.0, position=(0.2, 0.1, 0.9), orientation=((0, 0, 1), 0.4))

    same_motion(build)


@pytest.mark.parametrize("partner", ["sphere", "capsule", "cylinder", "box"])
def test_every_shape_rests_on_a_mesh(partner):
    scene = ss.Scene()
    scene.add_mesh(BOX, static=True, position=(0, 0, 0.3), friction=0.5)
    size = {"sphere": (0.2,), "capsule": (0.2, 0.4), "cylinder": (0.2, 0.4), "box": (0.4,)}[partner]
    turn = ((1, 0, 0), 0.0 if partner in ("cylinder", "box") else np.pi / 2)
    body = getattr(scene, f"add_{partner}")(*size, mass=1.0, position=(0.1, 0.05, 0.801), orientation=turn)
    run = ss.simulate(scene, 0.5, dt=5e-3)
    assert run.position(body)[-1] == pytest.approx((0.1, 0.05, 0.8), abs=1e-7)
    assert np.abs(run.state(-1).velocity).max() < 1e-6


def test_parts_leave_room_between_them():
    """A table of three boards: a ball stands between its legs, where the hull of all is solid."""
    boards = [
        BOX * (1, 1, 0.1) + (0, 0, 0.47),
        BOX * (0.1, 1, 1) + (0.45, 0, 0.14),
        BOX * (0.1, 1, 1) - (0.45, 0, -0.14),
    ]
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    table = scene.add_mesh(np.concatenate(boards), parts=boards, mass=3.0, position=(0, 0, 0.16))
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0.1))
    run = ss.simulate(scene, 0.3, dt=5e-3)
    assert run.position(table)[-1] == pytest.approx((0, 0, 0.16), abs=1e-7)
    assert run.position(ball)[-1] == pytest.approx((0, 0, 0.1), abs=1e-7)


def test_files_are_read_and_scaled(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="trimesh, of the extra meshes, is not installed")
    path = tmp_path / "part.stl"
    trimesh.Trimesh(1000 * BOX, BOX_TRIANGLES).export(path)
    (tmp_path / "scene.yaml").write_text("bodies:\n  - {shape: mesh, mesh: part.stl, scale: 1.0e-3, mass: 1.0}\n")
    scene = ss.Scene()
    scene.add_mesh(path, scale=1e-3, mass=1.0)
    for each in (scene, ss.load_scene(tmp_path / "scene.yaml")):
        np.testing.assert_allclose(free_body(each)[2], np.diag(MOMENTS), atol=1e-7)


def test_a_scene_with_a_mesh_is_saved_to_the_bit(tmp_path):
    scene = ss.Scene()
    scene.add_mesh((BOX + 0.1, BOX_TRIANGLES), density=700.0, position=(0, 0, 1), name="part")
    scene.add_mesh(BOX / 3, static=True)
    ss.save_scene(scene, tmp_path / "scene.yaml")
    again = ss.load_scene(tmp_path / "scene.yaml")
    one, other = compile_scene(scene)[0], compile_scene(again)[0]
    for mine, read in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, read)


@pytest.mark.parametrize(
    ("mesh", "sentence"),
    [
        ([[0, 0, 0], [1, 0, 0]], "at least four points"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "do not lie in one plane"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, np.nan]], "finite"),
        ("no_such.stl", "a file with a mesh"),
        ((BOX, [[0, 1, 99]]), "numbers of 8 vertices"),
        (None, "at least four points"),
    ],
)
def test_what_is_no_mesh_is_refused_in_a_sentence(mesh, sentence):
    pytest.importorskip("trimesh", reason="trimesh, of the extra meshes, is not installed")
    with pytest.raises(ss.InputError, match=sentence) as error:
        ss.Scene().add_mesh(mesh, mass=1.0)
    assert "\n" not in str(error.value)


def test_planar_scenes_have_no_meshes():
    with pytest.raises(ss.InputError, match="planar"):
        ss.Scene(planar=True).add_mesh(BOX, mass=1.0)
