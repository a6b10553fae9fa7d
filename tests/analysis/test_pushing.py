"""Pushes that jam, wedge or go on: the classical peg, a peg as a scene, a box that slips or tips, grips."""

import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

import stickslip as ss
from stickslip.cli import main
from stickslip.dynamics.mechanisms import PEG_STATES
from stickslip.scene.shapes import Point


def goes_on(x, y, ratio, mu):
    """Simunovic and Whitney: between |x| < 1/μ and |y + μ (1 + λ) x| < λ."""
    return abs(x) < 1 / mu and abs(y + mu * (1 + ratio) * x) < ratio


@pytest.mark.core
@pytest.mark.parametrize(("radius", "depth", "mu"), [(1.0, 4.0, 0.3), (0.5, 0.7, 0.4), (10.0, 35.0, 0.15)])
def test_the_peg_has_its_parallelogram(radius, depth, mu):
    found, ratio = ss.peg_diagram(radius, depth, mu), depth / (2 * radius * mu)
    assert not found.wedges
    corners = [(1 / mu, -1), (1 / mu, -1 - 2 * ratio), (-1 / mu, 1), (-1 / mu, 1 + 2 * ratio)]
    leaning = {(0, 3): (1, 2), (1, 2): (0, 3), (0, 2): (2, 3), (1, 3): (0, 1)}  # corners that each state ends at
    for state in found.states:
        for k in leaning[state.contacts]:
            assert np.abs(state.outline - corners[k]).max(axis=1).min() < 1e-6 * ratio
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(-1, 1, (60, 2)) * [1.4 / mu, 1.2 * (1 + 2 * ratio)]:
        assert found.verdict(x, y) == ("goes on" if goes_on(x, y, ratio, mu) else "jams")


@pytest.mark.core
@pytest.mark.parametrize("mu", [0.1, 0.5])
@pytest.mark.parametrize(("share", "wedges"), [(0.98, True), (1.02, False)])
def test_a_peg_wedges_where_the_cones_see_each_other(mu, share, wedges):
    """λ = l / (2 r μ) < 1; a grip is two opposite forces along the line between the two points."""
    depth = share * 2 * mu
    found = ss.peg_diagram(1.0, depth, mu)
    assert [state.wedges for state in found.states] == [wedges, wedges, False, False]
    assert found.wedges == wedges
    if wedges:
        assert found.verdict(0.0, 0.0) == "wedges"
        (n1, t1), (n2, t2) = found.states[0].grip.reshape(2, 2)
        assert n1 == pytest.approx(n2) == pytest.approx(0.5)
        assert t1 == pytest.approx(-t2) == pytest.approx(0.5 * depth / 2, rel=1e-6)


def tilted_peg(mu):
    """A planar peg that leans in a slot: its lower left corner on the left wall, the right edge of the mouth on its
    side. Walls are points and planes, so that normals are the peg's and the wall's own."""
    lean, width, depth = 0.05, 0.02, 0.03
    scene = ss.Scene(gravity=(0, 0, 0), planar=True)
    scene.add_plane(normal=(1, 0), offset=0.0, friction=mu, name="left wall")
    along, side = np.array([math.sin(lean), math.cos(lean)]), np.array([math.cos(lean), -math.sin(lean)])
    corner = np.array([0.0, 0.0])
    centre = corner + 0.05 * along + width / 2 * side
    scene.add_box((width, 0.1), mass=0.1, position=tuple(centre), orientation=lean, friction=mu, name="peg")
    mouth = corner + width * side + depth * along
    scene.add_body([Point((0, 0, 0))], static=True, position=tuple(mouth), friction=mu, name="edge")
    return scene, mouth - corner, side


@pytest.mark.parametrize("mu", [0.3, 1.2, 2.2])
def test_a_peg_as_a_scene(mu):
    """Two contacts whose normals are not parallel: it wedges where the line between them is in both cones, and its held
    pushes are those of a linear program written down by hand."""
    scene, line, side = tilted_peg(mu)
    found = ss.jamming_diagram(
        scene, ("peg", (0, 0, -1), 0.0), ("peg", (1, 0, 0), 0.0), ("peg", (0, 0, 0), 0.02), ((-4, 4), (-6, 6))
    )
    assert found.now.contacts == 2
    way = line / np.linalg.norm(line)
    at_wall, at_edge = math.acos(way @ [1.0, 0.0]), math.acos(way @ side)
    assert found.wedges == (max(at_wall, at_edge) < math.atan(mu))
    A, bias = found.now.at.A, found.now.at.bias
    np.testing.assert_allclose(bias, 0.0, atol=1e-12)
    rng = np.random.default_rng(1)
    for x, y in rng.uniform(-1, 1, (25, 2)) * [3.9, 5.9]:
        push = found.base + x * found.across + y * found.up
        sides = np.array([[-mu, 1, 0, 0], [-mu, -1, 0, 0], [0, 0, -mu, 1], [0, 0, -mu, -1]])
        held = linprog(np.zeros(4), sides, np.zeros(4), A.T, -push, [(None, None)] * 4).status == 0
        assert (found.verdict(x, y) != "goes on") == held


def test_a_box_slips_or_tips():
    """Pushed at its centre with F along any way: held while F <= μ m g, round the cone, where tipping comes later."""
    scene = ss.Scene()
    scene.add_plane(friction=0.25)
    scene.add_box((1.0, 1.0, 0.5), mass=2.0, position=(0, 0, 0.25), friction=0.25, name="box")
    none = (0, 0, 0)
    found = ss.jamming_diagram(
        scene, ("box", none, none), ("box", (1, 0, 0), none), ("box", (0, 1, 0), none), ((-9, 9), (-9, 9))
    )
    (state,) = found.states
    np.testing.assert_allclose(np.linalg.norm(state.outline, axis=1), 0.25 * 2 * 9.81, rtol=1e-5)
    assert not found.wedges
    high = ss.Scene()
    high.add_plane(friction=2.0)
    high.add_box((0.4, 0.4, 1.0), mass=2.0, position=(0, 0, 0.5), friction=2.0, name="box")
    tips = ss.jamming_diagram(
        high, ("box", none, none), ("box", (1, 0, 0), none), ("box", (0, 1, 0), none), ((-9, 9), (-9, 9))
    )
    edge = 2 * 9.81 * 0.2 / 0.5
    assert tips.verdict(0.999 * edge, 0.0) == "jams"
    assert tips.verdict(1.001 * edge, 0.0) == "goes on"
    np.testing.assert_allclose(np.abs(tips.states[0].outline).max(axis=0), edge, rtol=1e-5)


def test_fingers_that_grip():
    """A ball between two plates of friction: they press on each other through it."""
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_plane(normal=(1, 0, 0), offset=-0.1, friction=0.4, name="left")
    scene.add_plane(normal=(-1, 0, 0), offset=-0.1, friction=0.4, name="right")
    scene.add_sphere(0.1, mass=1.0, friction=0.4, name="ball")
    none = (0, 0, 0)
    found = ss.jamming_diagram(scene, ("ball", none, none), ("ball", (1, 0, 0), none), ("ball", (0, 0, 1), none))
    assert found.wedges
    assert found.verdict(5.0, 7.0) == "wedges"
    np.testing.assert_allclose(found.states[0].grip[::3], 0.5, atol=1e-6)
    assert "wedges" in str(found)


def test_the_picture(tmp_path):
    for depth in (0.5, 4.0):
        ss.draw_jamming_diagram(ss.peg_diagram(1.0, depth, 0.3), tmp_path / "peg.png")
        assert (tmp_path / "peg.png").stat().st_size > 10_000


def test_the_command(tmp_path):
    picture = tmp_path / "peg.png"
    done = CliRunner().invoke(main, ["push", "peg", "--depth", "4", "--mu", "0.5", "--save", str(picture)])
    assert done.exit_code == 0
    assert "contact 'tip left' and contact 'mouth right': does not wedge" in done.output
    assert picture.exists()
    scene, _, _ = tilted_peg(0.3)
    ss.save_scene(scene, tmp_path / "peg.yaml")
    push = ["push", str(tmp_path / "peg.yaml"), "--body", "peg", "--base", "0,0,-1,0,0,0", "--across", "1,0,0,0,0,0"]
    done = CliRunner().invoke(main, [*push, "--up", "0,0,0,0,0.02,0", "--window", "-4,4,-6,6"])
    assert done.exit_code == 0
    assert "2 contacts, 1 states of contact" in done.output
    done = CliRunner().invoke(main, push)
    assert done.exit_code == 2
    assert "--up is missing, expected it for a scene" in done.output
    done = CliRunner().invoke(main, ["push", "peg", "--body", "x"])
    assert "peg has its own pushes" in done.output


def test_bad_input():
    peg, zero = ss.peg(), np.zeros(3)
    axes = np.eye(3)
    with pytest.raises(ss.InputError, match=r"together\[1\] is 4, expected a whole number of at least 0 and at most 3"):
        ss.jamming_diagram(peg, *axes, q=zero, together=[(0, 4)])
    with pytest.raises(ss.InputError, match=r"window is .* expected two pairs of rising numbers"):
        ss.jamming_diagram(peg, *axes, ((1, 0), (0, 1)), q=zero)
    with pytest.raises(ss.InputError, match="directions is 3, expected a whole number of at least 4"):
        ss.jamming_diagram(peg, *axes, q=zero, directions=3)
    with pytest.raises(ss.InputError, match="friction is 0, expected a positive number"):
        ss.peg_diagram(friction=0)
    scene, _, _ = tilted_peg(0.3)
    with pytest.raises(ss.InputError, match=r"base is \[.*\], expected \(body, force, torque\)"):
        ss.jamming_diagram(scene, [1.0], [1.0], [1.0])
    assert len(PEG_STATES) == len(peg.contacts)
