"""Pictures of cones, solutions and limit surfaces: what they are drawn from, and that they are drawn."""

import math

import numpy as np
import pytest
from matplotlib.image import imread

import stickslip as ss
from stickslip.dynamics.mechanisms import rod_on_its_foot
from stickslip.view.contacts import boundary, gauge_of


def drawn(path):
    """A picture that is there, and not of one colour."""
    pixels = imread(path)
    return len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50


@pytest.mark.parametrize(
    "coupling",
    [
        ss.friction_coupling(ss.rod(), q=rod_on_its_foot(1.0)),
        ss.friction_coupling(ss.planar_rod(), q=[0.0, 0.5 * math.sin(0.9), 0.9]),
    ],
    ids=["space", "plane"],
)
def test_a_cone(coupling, tmp_path):
    ss.draw_cone(coupling, (0.3, 2.0), tmp_path / "cone.png")
    assert drawn(tmp_path / "cone.png")
    ss.draw_cone(coupling, 0.5, tmp_path / "one.png", direction=np.eye(coupling.h.size)[0], title="one")
    assert drawn(tmp_path / "one.png")


@pytest.mark.parametrize("gravity", [9.81, -9.81])
def test_solutions(gravity, tmp_path):
    found = ss.solvability(ss.rod(friction=2.0, gravity=gravity), q=rod_on_its_foot(0.8), v=[-1.0, 0, 0, 0, 0])
    ss.draw_solutions(found, tmp_path / "solutions.png")
    assert drawn(tmp_path / "solutions.png")
    with pytest.raises(ss.InputError, match="contact is 1, expected a number below 1"):
        ss.draw_solutions(found, tmp_path / "solutions.png", contact=1)


@pytest.mark.parametrize("surface", [ss.Ellipsoid(), ss.Mixed()], ids=["ellipsoid", "mixed"])
def test_a_limit_surface(surface, tmp_path):
    """Points of the surface fill it, half of a load fills half of it."""
    problem = ss.LimitSurfaceProblem(np.eye(4), np.zeros(4), [0.5], [[1.0, 0.8, 0.1]], surface=surface)
    for point in boundary(problem, 0, 10.0).reshape(3, -1).T[::97]:
        assert gauge_of(problem, 0, 10.0, point) == pytest.approx(1.0, abs=1e-6)
        assert gauge_of(problem, 0, 10.0, 0.5 * point) == pytest.approx(0.5, abs=1e-6)
    t, o, r = (np.abs(axis).max() for axis in boundary(problem, 0, 10.0))
    np.testing.assert_allclose([t, o, r], [5.0, 4.0, 0.5], rtol=2e-3)
    ss.draw_limit_surface(problem, [10.0, 1.0, 2.0, 0.2], tmp_path / "surface.png")
    assert drawn(tmp_path / "surface.png")
    with pytest.raises(ss.InputError, match="contact is 3, expected a number below 1"):
        ss.draw_limit_surface(problem, np.zeros(4), tmp_path / "surface.png", contact=3)
