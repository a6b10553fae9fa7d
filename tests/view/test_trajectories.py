"""Pictures of a run: the outlines are those of the shapes, and every kind of run can be drawn."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from stickslip.engine.recorder import CONTACT, Header, Recorder
from stickslip.engine.trajectory import Trajectory
from stickslip.errors import FileError, InputError
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.model import Kind, Shape, State
from stickslip.solvers.solution import Status
from stickslip.view.trajectories import draw_energy, draw_impulses, draw_path, draw_residual, outline, usual_top

PICTURES = ("path", "energy", "impulses", "residual")
TOL = 1e-8


def header(bodies: int = 1, *, planar: bool = False, **shape) -> Header:
    """A floor and balls of 1 kg with a radius of 0.5 m, or with another shape."""
    n = bodies + 1
    kind, size = shape.get("kind", Shape.SPHERE), shape.get("size", (0.5, 0.0, 0.0))
    position, rotation = shape.get("position", (0.0, 0.0, 0.0)), shape.get("rotation", np.eye(3))
    return Header(
        names=("floor", *(f"ball {i}" for i in range(bodies))),
        dt=0.01,
        formulation="Coulomb()",
        solver="NSGS()",
        tol=TOL,
        gravity=np.array([0.0, 0.0, -9.81]),
        planar=planar,
        kind=np.array([Kind.STATIC] + [Kind.FREE] * bodies),
        mass=np.array([np.inf] + [1.0] * bodies),
        inertia=np.array([np.zeros((3, 3))] + [0.1 * np.eye(3)] * bodies),
        centre=np.zeros((n, 3)),
        shape=np.array([Shape.PLANE] + [kind] * bodies),
        shape_body=np.arange(n),
        shape_size=np.array([(0.0, 0.0, 0.0)] + [size] * bodies),
        shape_position=np.array([(0.0, 0.0, 0.0)] + [position] * bodies),
        shape_rotation=np.array([np.eye(3)] + [rotation] * bodies),
    )


def sliding(bodies: int = 1, steps: int = 20, *, planar: bool = False, contacts=None, **columns) -> Trajectory:
    """Balls that slide along x side by side, each with one contact; friction is half of what it may be."""
    k, m = steps, steps * bodies
    x = np.zeros((k + 1, bodies + 1, 3))
    x[:, 1:, 0] = 0.1 * np.arange(k + 1)[:, None]
    x[:, 1:, 1] = 0.0 if planar else np.arange(bodies)
    x[:, 1:, 2] = 0.5
    q = np.tile([1.0, 0.0, 0.0, 0.0], (k + 1, bodies + 1, 1))
    v = np.zeros((k + 1, bodies + 1, 6))
    v[:, 1:, 0] = 10.0
    usual = {
        "shape_a": np.tile(np.arange(1, bodies + 1), k),
        "shape_b": np.zeros(m, int),
        "feature": np.zeros(m, int),
        "point": np.zeros((m, 3)),
        "normal": np.tile([0.0, 0.0, 1.0], (m, 1)),
        "gap": np.zeros(m),
        "friction": np.full(m, 0.5),
        "impulse": np.tile([0.1, -0.025, 0.0], (m, 1)),
        "velocity": np.tile([0.0, 10.0, 0.0], (m, 1)),
        "state": np.full(m, ContactState.SLIP),
    }
    chunk = {
        "time": 0.01 * np.arange(1, k + 1),
        "position": x[1:],
        "quaternion": q[1:],
        "velocity": v[1:],
        "status": np.full(k, Status.SOLVED),
        "iterations": np.ones(k, int),
        "residual": np.full(k, 1e-10),
        "seconds": np.zeros(k),
        "contact_start": bodies * np.arange(k + 1),
    }
    chunk |= {f"contacts/{name}": column for name, column in (usual | (contacts or {})).items()}
    recorder = Recorder(header(bodies, planar=planar), State(x[0], q[0], v[0]))
    recorder.append(chunk | columns)
    return Trajectory(recorder.finish())


def drawn(picture, run: Trajectory) -> Figure:
    figure = Figure(layout="constrained")
    picture(run, figure)
    figure.draw_without_rendering()
    return figure


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


TURNED = np.array([math.cos(math.pi / 8), 0.0, math.sin(math.pi / 8), 0.0])  # by 45° about y


@pytest.mark.parametrize(
    ("kind", "size", "right", "up"),
    [
        (Shape.SPHERE, (0.3, 0.0, 0.0), 0.3, 0.3),
        (Shape.BOX, (0.4, 9.0, 0.2), 0.6 / math.sqrt(2), 0.6 / math.sqrt(2)),
        (Shape.CAPSULE, (0.1, 0.5, 0.0), 0.1 + 0.5 / math.sqrt(2), 0.1 + 0.5 / math.sqrt(2)),
        (Shape.CYLINDER, (0.3, 0.5, 0.0), 0.8 / math.sqrt(2), 0.8 / math.sqrt(2)),
    ],
)
def test_the_outline_of_a_turned_shape_reaches_as_far_as_the_shape(kind, size, right, up):
    centre = np.array([1.0, 2.0, 3.0])
    edge = outline(header(kind=kind, size=size), 1, centre, TURNED, (0, 2))
    np.testing.assert_allclose(edge.max(axis=0), [1.0 + right, 3.0 + up], rtol=1e-12)
    np.testing.assert_allclose(edge.min(axis=0), [1.0 - right, 3.0 - up], rtol=1e-12)


def test_the_outline_of_a_box_has_its_corners():
    edge = outline(header(kind=Shape.BOX, size=(0.4, 0.3, 0.2)), 1, np.zeros(3), np.array([1.0, 0, 0, 0]), (0, 1))
    corners = {tuple(corner) for corner in edge.round(12)}
    assert corners == {(0.4, 0.3), (-0.4, 0.3), (0.4, -0.3), (-0.4, -0.3)}


def test_a_shape_has_its_place_and_its_turn_in_the_body():
    sideways = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # its z axis along the x of the body
    bar = header(kind=Shape.CAPSULE, size=(0.1, 0.5, 0.0), position=(0.0, 0.0, 0.2), rotation=sideways)
    quarter = np.array([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])  # the x of the body along the y of the world
    edge = outline(bar, 1, np.zeros(3), quarter, (1, 2))
    np.testing.assert_allclose(edge.max(axis=0), [0.6, 0.3], rtol=1e-12)
    np.testing.assert_allclose(edge.min(axis=0), [-0.6, 0.1], rtol=1e-12)


def test_a_plane_has_no_outline():
    assert outline(header(), 0, np.zeros(3), TURNED, (0, 1)).shape == (0, 2)


def test_few_bodies_are_named_and_many_are_counted():
    assert texts(drawn(draw_path, sliding(2))) == ["ball 0", "ball 1", "start", "end"]
    assert texts(drawn(draw_path, sliding(30))) == ["path of each of 30 bodies", "end"]


def test_the_path_is_seen_from_above_and_in_the_plane_from_the_side():
    above, height = drawn(draw_path, sliding(1)).axes
    assert (above.get_xlabel(), above.get_ylabel()) == ("x [m]", "y [m]")
    assert (height.get_xlabel(), height.get_ylabel()) == ("time [s]", "height z [m]")
    (side,) = drawn(draw_path, sliding(1, planar=True)).axes
    assert (side.get_xlabel(), side.get_ylabel()) == ("x [m]", "z [m]")
    line = side.collections[0].get_segments()[0]
    np.testing.assert_allclose(line[[0, -1]], [[0.0, 0.5], [2.0, 0.5]], rtol=1e-15)


def test_energy_adds_up():
    run = sliding(2)
    total, kinetic, potential = (line.get_ydata() for line in drawn(draw_energy, run).axes[0].lines)
    np.testing.assert_allclose(kinetic, 2 * 10.0**2 / 2)
    np.testing.assert_allclose(potential, 0.0)  # from its lowest
    np.testing.assert_allclose(total, kinetic + potential)


def test_a_panel_for_each_of_few_contacts():
    figure = drawn(draw_impulses, sliding(3))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["ball 0 on floor", "ball 1 on floor", "ball 2 on floor", ""]
    _, slip, normal, bound = (line.get_ydata() for line in figure.axes[0].lines)
    for values, expected in ((slip, 0.025), (normal, 0.1), (bound, 0.05)):
        np.testing.assert_allclose(values, expected)


def test_contacts_of_one_pair_are_numbered():
    run = sliding(2)
    one_pair = np.tile([0, 1], 20)
    contacts = run.contacts()
    columns = {name: getattr(contacts, name) for name in CONTACT}
    twice = columns | {"shape_a": np.ones(40, int), "feature": one_pair}
    figure = drawn(draw_impulses, sliding(2, contacts=twice))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["ball 0 on floor, contact 1", "ball 0 on floor, contact 2"]


def test_sums_of_many_contacts():
    top, bottom = drawn(draw_impulses, sliding(10)).axes
    normal, bound, friction = (line.get_ydata() for line in top.lines)
    for values, expected in ((normal, 1.0), (bound, 0.5), (friction, 0.25)):
        np.testing.assert_allclose(values, expected)
    assert bottom.get_ylabel() == "contacts"


def test_contacts_are_read_some_steps_at_a_time(monkeypatch):
    monkeypatch.setattr("stickslip.view.trajectories.CONTACTS_AT_ONCE", 25)
    normal = drawn(draw_impulses, sliding(10)).axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(normal, 1.0)


def test_impacts_do_not_flatten_the_rest():
    values = np.ones(100)
    assert usual_top(values) is None
    values[50] = 100.0
    assert usual_top(values) == 2.0
    assert usual_top(np.zeros(5)) is None


def test_failures_stand_out_of_the_residual():
    status, residual = np.full(20, Status.SOLVED), np.full(20, 1e-10)
    status[[3, 7, 9]] = Status.MAX_ITER, Status.NONFINITE, Status.NO_SOLUTION
    residual[[3, 7, 9, 12]] = 1e-4, np.nan, 0.0, 0.0
    figure = drawn(draw_residual, sliding(1, status=status, residual=residual))
    assert texts(figure) == ["solved", "tol 1e-08", "failed, 3 of 20", "not shown: residual 0 in 1 step"]
    solved, tol, failed, _ = figure.axes[0].lines
    assert len(solved.get_ydata()) == 16
    np.testing.assert_array_equal(tol.get_ydata(), [TOL, TOL])
    np.testing.assert_allclose(failed.get_xdata(), [0.04, 0.08, 0.10])
    np.testing.assert_array_equal(failed.get_ydata(), [1e-4, 1e-4, TOL])


@pytest.mark.parametrize("what", PICTURES)
@pytest.mark.parametrize(("bodies", "steps", "planar"), [(0, 5, False), (1, 0, True), (1, 1, False), (30, 20, True)])
def test_every_run_can_be_drawn(tmp_path, what, bodies, steps, planar):
    sliding(bodies, steps, planar=planar).plot(tmp_path / "run.png", what)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("what", PICTURES)
def test_a_run_that_diverged_can_be_drawn(tmp_path, what):
    position, velocity = np.ones((20, 2, 3)), np.ones((20, 2, 6))
    position[10:, 1], velocity[10:, 1] = 1e200, 1e200
    position[15:, 1], velocity[15:, 1] = np.inf, np.nan
    impulse = np.tile([0.1, -0.025, 0.0], (20, 1))
    impulse[10:] = np.inf
    impulse[15:] = np.nan
    contacts = {"impulse": impulse}
    residual = np.geomspace(1e-10, 1e300, 20)
    residual[15:] = np.nan
    run = sliding(position=position, velocity=velocity, contacts=contacts, residual=residual)
    run.plot(tmp_path / "run.png", what)


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_the_picture_has_the_format_of_its_name(tmp_path, suffix, start):
    sliding().plot(tmp_path / f"run.{suffix}")
    assert (tmp_path / f"run.{suffix}").read_bytes().startswith(start)


def test_an_unknown_picture(tmp_path):
    with pytest.raises(InputError, match="what is 'speed', expected one of path, energy, impulses, residual"):
        sliding().plot(tmp_path / "run.png", "speed")


def test_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(FileError, match=r"expected \.png, \.pdf or \.svg"):
        sliding().plot(tmp_path / "run.gif")
