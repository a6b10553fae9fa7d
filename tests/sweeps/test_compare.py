"""Comparisons of formulations: closed forms of where a particle stops, and pictures of them."""

import math

import numpy as np
import pytest

from stickslip.engine.simulate import simulate
from stickslip.errors import FileError, InputError
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.stabilisation import Relaxation
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.scene.scene import Scene
from stickslip.solvers.nsgs import NSGS
from stickslip.sweeps.compare import compare, reference_law, turn
from stickslip.view.comparisons import draw_comparison, seen

G, MU, SPEED = 9.81, 0.5, 2.0


def puck(velocity=(SPEED, 0.0, 0.0), **surface):
    """A particle that slides on the floor."""
    scene = Scene()
    scene.add_plane(friction=MU, name="floor")
    scene.add_particle(1.0, velocity=velocity, name="puck", **surface)
    return scene


def stop(h, scheme):
    """Where the puck stops with steps h: h Σ max(v - k μ g h, 0) by euler; by midpoint half of the first speed more."""
    speeds = np.maximum(SPEED - MU * G * h * np.arange(round(1 / h)), 0.0)
    return h * (speeds[1:].sum() + (speeds[0] / 2 if scheme == "midpoint" else 0.0))


def test_errors_are_those_of_the_step():
    found = compare(puck(), 0.6, {"facets": StewartTrinkle(4), "round": Coulomb()}, [1e-2, 5e-3])
    assert found.body == "puck"
    assert found.reference.name == "Coulomb's law"
    assert found.reference.dt == 5e-4
    assert found.reference.position[0] == pytest.approx(stop(5e-4, "midpoint"), abs=1e-9)
    assert [(each.name, each.dt) for each in found.outcomes] == [
        ("facets", 1e-2), ("round", 1e-2), ("facets", 5e-3), ("round", 5e-3),
    ]  # fmt: skip
    for each in found.outcomes:
        expected = stop(each.dt, "midpoint" if each.name == "round" else "euler")
        assert each.position[0] == pytest.approx(expected, abs=1e-7)
        assert each.error == pytest.approx(abs(expected - stop(5e-4, "midpoint")), abs=1e-7)
        assert each.turn_error == 0.0
        assert each.failures == 0
        assert each.cost > 0
    assert found.failed == ()


def test_a_body_and_the_step_of_the_reference_can_be_chosen():
    scene = puck()
    scene.add_particle(1.0, (0, 5, 0), (0, 1, 0), name="other")
    found = compare(scene, 0.1, {"round": Coulomb()}, [1e-2], body="other", reference_dt=2e-3)
    assert found.body == "other"
    assert found.reference.dt == 2e-3
    assert found.reference.position[1] == pytest.approx(5 + 0.1 - MU * G * 0.1**2 / 2, abs=1e-3)
    assert compare(scene, 0.1, {"round": Coulomb()}, [0.1], body=scene.body("other")).body == "other"


def test_steps_that_are_not_solved_are_counted():
    found = compare(puck(), 0.05, {"round": Coulomb()}, [1e-2], solver=NSGS(max_iter=1), tol=1e-300)
    assert found.outcomes[0].failures == 5
    assert found.failed == (found.outcomes[0],)


def test_the_reference_has_springs_where_the_scene_has():
    assert reference_law(puck()) == ("Coulomb's law", Coulomb())
    assert reference_law(puck(stiffness=1e6)) == ("Coulomb's law with springs", Coulomb(Relaxation()))


def test_bad_comparisons_are_refused():
    with pytest.raises(InputError, match="no formulation or no dt"):
        compare(puck(), 1.0, {}, [0.1])
    with pytest.raises(InputError, match="no free body"):
        compare(Scene(), 1.0, {"round": Coulomb()}, [0.1])
    with pytest.raises(InputError, match=r"duration is 1 and dt 0.3, expected a whole number of steps"):
        compare(puck(), 1.0, {"round": Coulomb()}, [0.1], reference_dt=0.3)


@pytest.mark.parametrize("planar", [False, True])
def test_turns_of_more_than_a_circle_are_counted(planar):
    scene = Scene(gravity=(0, 0, 0), planar=planar)
    scene.add_sphere(0.1, mass=1.0, spin=-20.0 if planar else (0, 0, -20.0), name="top")
    turned = turn(simulate(scene, 1.0, 1e-2), "top")
    np.testing.assert_allclose(turned, -20.0 * np.linspace(0, 1, 101), atol=1e-9)


def test_a_path_is_seen_along_the_axis_of_least_motion():
    oblique = puck((math.cos(0.5), math.sin(0.5), 0.0))
    assert seen(simulate(oblique, 0.1, 1e-2), "puck") == (0, 1)
    assert seen(simulate(puck(), 0.1, 1e-2), "puck") == (0,)
    thrown = Scene()
    thrown.add_particle(1.0, velocity=(0, 1, 1), name="puck")
    assert seen(simulate(thrown, 0.3, 1e-2), "puck") == (1, 2)


@pytest.mark.parametrize("dts", [[1e-2], [1e-2, 5e-3, 2.5e-3]], ids=["one step", "three steps"])
def test_pictures(dts, tmp_path):
    formulations = {"facets": StewartTrinkle(4), "cone": CompliantCone(), "round": Coulomb()}
    found = compare(puck((1.0, 0.5, 0.0)), 0.1, formulations, dts)
    draw_comparison(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_runs_at_once_are_those_one_after_another(engine, tmp_path):
    asked = puck(), 0.2, {"facets": StewartTrinkle(4), "round": Coulomb()}, [1e-2, 5e-3]
    one = compare(*asked)
    all_ = compare(*asked, engine=engine, workers=2)
    for a, b in zip((one.reference, *one.outcomes), (all_.reference, *all_.outcomes), strict=True):
        assert (a.name, a.dt, a.error, a.turn_error, a.residual) == (b.name, b.dt, b.error, b.turn_error, b.residual)
        np.testing.assert_array_equal(a.run.position("puck"), b.run.position("puck"))


def test_a_comparison_goes_on_from_its_folder(tmp_path):
    asked = puck(), 0.2, {"round": Coulomb()}, [1e-2]
    first = compare(*asked, keep=tmp_path / "kept")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    assert len(files) == 3  # a table, the reference, a run
    again = compare(*asked, keep=tmp_path / "kept")
    assert again.outcomes[0].error == first.outcomes[0].error
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()} == files
    with pytest.raises(FileError, match="expected this one"):
        compare(puck((1.0, 0.0, 0.0)), *asked[1:], keep=tmp_path / "kept")
