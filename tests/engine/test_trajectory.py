"""A run is told back as it went: from memory, from its file, and from what a killed run left of its file."""

import contextlib
import math
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from stickslip.engine.recorder import (
    ADDED,
    ARRAYS,
    CONTACT,
    HEADER_ADDED,
    Header,
    Recorder,
    open_record,
    since,
)
from stickslip.engine.trajectory import Trajectory
from stickslip.engine.watch import JamEvent
from stickslip.errors import FileError, InputError
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.model import Joint, Kind, Model, Shape, State
from stickslip.solvers.solution import Status

G = 9.81
PAIR = ("box on floor", "ball on box")  # the first and the second contact of every step
NAMES = ("floor", "box", "ball")
METHODS = ("none", "sweeps", "correction")
ROWS = ("force x", "force y", "force z", "moment x", "moment y", "lower limit", "force x", "force y", "force z")
EVENTS = tuple(JamEvent(0.01 * i, i, i % 3 - 1, PAIR[i % 3 - 1], 0.5, 0.1 * i, -1.0) for i in (1, 5, 8))
BODY = SimpleNamespace(index=1, name="box")  # as a scene hands it out
INERTIA = np.diag([1.0, 2.0, 3.0])
CENTRE = np.array([0.2, 0.0, 0.1])  # of the box


def model() -> Model:
    """A floor, a box of 2 kg whose centre of mass is not its origin, and a ball of 0.5 kg."""
    unused = dict.fromkeys(Model._fields, np.zeros(0))
    return Model(
        **unused
        | {
            "gravity": np.array([0.0, 0.0, -G]),
            "planar": False,
            "kind": np.array([Kind.STATIC, Kind.FREE, Kind.FREE]),
            "mass": np.array([np.inf, 2.0, 0.5]),
            "inertia": np.array([np.zeros((3, 3)), INERTIA, 0.1 * np.eye(3)]),
            "centre": np.array([np.zeros(3), CENTRE, np.zeros(3)]),
            "shape": np.array([Shape.PLANE, Shape.BOX, Shape.BOX, Shape.SPHERE]),
            "shape_body": np.array([0, 1, 1, 2]),
            "shape_size": np.full((4, 3), 0.5),
            "shape_position": np.zeros((4, 3)),
            "shape_rotation": np.array([np.eye(3)] * 4),
            # a hinge with a lower limit between box and floor, a ball joint between ball and box
            "inverse_inertia": np.array([np.zeros((3, 3)), np.linalg.inv(INERTIA), 10 * np.eye(3)]),
            "joint": np.array([Joint.HINGE, Joint.BALL]),
            "joint_a": np.array([1, 2]),
            "joint_b": np.array([0, 1]),
            "joint_frame_b": np.array([np.eye(3)] * 2),
            "joint_lower": np.array([-1.0, -np.inf]),
            "joint_upper": np.array([np.inf, np.inf]),
            "joint_strength": np.zeros(2),
        }
    )


def header() -> Header:
    settings = {
        "formulation": "Coulomb()",
        "solver": "NSGS(tol=1e-08)",
        "tol": 1e-8,
        "accept": 1e-6,
        "methods": METHODS,
    }
    return Header.of(model(), NAMES, dt=0.01, **settings)


def about_z(angle):
    return np.array([math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)])


def state_at(t: float) -> State:
    """The origin of the box stays at (1, 2, 3) while it turns about z with 5 rad/s; the ball falls from rest."""
    x, y, z = [[math.cos(5 * t), -math.sin(5 * t), 0], [math.sin(5 * t), math.cos(5 * t), 0], [0, 0, 1]] @ CENTRE
    spin = np.array([0.0, 0.0, 5.0])
    position = np.array([[0, 0, 0], [1 + x, 2 + y, 3 + z], [0, 1, 20 - G * t**2 / 2]])
    velocity = np.zeros((3, 6))
    velocity[1] = [*np.cross(spin, [x, y, z]), *spin]
    velocity[2, 2] = -G * t
    return State(position, np.array([about_z(0), about_z(5 * t), about_z(0)]), velocity)


def contacts_of(step: int) -> list[tuple]:
    """None, one, two, none, one ... contacts, each with numbers that tell it from all others."""
    rows = []
    for k in range(step % 3):
        x = 10 * step + k
        vectors = [np.array([x, x + 0.25, x + 0.5]) + 100 * i for i in range(4)]
        point, normal, impulse, velocity = vectors
        row = (1 + 2 * k, 2 * k, 7 * x, point, normal, -1e-6 * x, 0.5 + k, impulse, velocity, (step + k) % 3)
        rows.append((*row, np.array([x, 0.0, k]), 2.0 * x, 3.0 * x, k % 2))
    return rows


def chunk_of(steps: range) -> dict:
    states = [state_at(0.01 * (i + 1)) for i in steps]
    rows = [row for i in steps for row in contacts_of(i)]
    columns = {
        "time": np.array([0.01 * (i + 1) for i in steps]),
        **{name: np.array([getattr(state, name) for state in states]).reshape(-1, 3, n) for name, n in SIZES},
        "status": np.array([Status.MAX_ITER if i == 4 else Status.SOLVED for i in steps]),
        "iterations": np.array([3 * i for i in steps]),
        "residual": np.array([1e-3 if i == 4 else 1e-9 * i for i in steps]),
        "seconds": np.array([1e-4 * i for i in steps]),
        "contact_start": np.cumsum([0, *(len(contacts_of(i)) for i in steps)]),
        "method": np.array([i % 3 for i in steps]),
        "joint_impulse": np.array([row_impulses(i) for i in steps]).reshape(-1, 9),
    }
    for i, name in enumerate(CONTACT):
        column = np.array([row[i] for row in rows])
        columns[f"contacts/{name}"] = column.reshape((-1, 3) if name in VECTORS else (-1,))
    return columns


def events_of(steps: range) -> tuple[JamEvent, ...]:
    return tuple(event for event in EVENTS if event.step in steps)


def row_impulses(step: int) -> list[float]:
    """Of each joint row, different in every step."""
    return [100.0 * step + row for row in range(9)]


SIZES = (("position", 3), ("quaternion", 4), ("velocity", 6))
VECTORS = ("point", "normal", "impulse", "velocity", "tangent")


def record(path=None, steps=10, size=4, **settings):
    with Recorder(header(), state_at(0.0), path, **settings) as recorder:
        for start in range(0, steps, size):
            some = range(start, min(start + size, steps))
            recorder.append(chunk_of(some), events_of(some))
    return recorder.finish()


@pytest.fixture(params=["memory", "file", "saved", "saved again"])
def run(request, tmp_path):
    """The same run, wherever it is kept."""
    if request.param == "memory":
        yield Trajectory(record())
        return
    path = tmp_path / "run.h5"
    trajectory = Trajectory(record(path if request.param == "file" else None))
    if request.param == "file":
        yield trajectory
        trajectory.close()
        return
    trajectory.save(path)
    if request.param == "saved again":
        with Trajectory.load(path) as first:
            first.save(path)  # over itself
    assert [each.name for each in tmp_path.iterdir()] == ["run.h5"]  # nothing half-written beside it
    with Trajectory.load(path) as loaded:
        yield loaded


def test_shapes_and_times(run):
    assert len(run) == 10
    np.testing.assert_array_equal(run.time, [0.0, *(0.01 * (i + 1) for i in range(10))])
    for array, width in (
        (run.position(BODY), 3),
        (run.quaternion(BODY), 4),
        (run.velocity(BODY), 3),
        (run.spin(BODY), 3),
    ):
        assert array.shape == (11, width)
        assert array.dtype == np.float64
    for array in (run.status, run.residual, run.iterations, run.seconds, run.contact_count):
        assert array.shape == (10,)
    assert run.energy.shape == (11,)
    assert run.finished


def test_a_body_is_named_by_its_handle_its_index_or_its_name(run):
    for body in (BODY, 1, np.int64(1), "box"):
        np.testing.assert_array_equal(run.spin(body), np.tile([0.0, 0.0, 5.0], (11, 1)))


def test_position_is_that_of_the_origin_and_velocity_that_of_the_centre_of_mass(run):
    np.testing.assert_allclose(run.position("box"), np.tile([1.0, 2.0, 3.0], (11, 1)), rtol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(run.velocity("box"), axis=1), 5.0 * CENTRE[0], rtol=1e-14)
    np.testing.assert_array_equal(run.position("ball")[:, 2], [state_at(t).position[2, 2] for t in run.time])


def test_the_state_of_an_instant(run):
    for instant, t in ((0, 0.0), (3, run.time[3]), (-1, run.time[-1])):
        for found, expected in zip(run.state(instant), state_at(t), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_energies_of_a_turning_box_and_a_falling_ball(run):
    t = run.time
    turning = 2.0 * (5.0 * CENTRE[0]) ** 2 / 2 + INERTIA[2, 2] * 5.0**2 / 2
    np.testing.assert_allclose(run.kinetic, turning + 0.5 * (G * t) ** 2 / 2, rtol=1e-14)
    np.testing.assert_allclose(run.potential, 2.0 * G * 3.1 + 0.5 * G * (20 - G * t**2 / 2), rtol=1e-14)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-14)  # no work is done but by gravity


def test_inertia_turns_with_the_body():
    quarter = about_z(math.pi / 2)  # its x axis, of inertia 1, along the y axis of the world
    start = State(np.zeros((3, 3)), np.tile(quarter, (3, 1)), np.zeros((3, 6)))
    start.velocity[1, 4] = 4.0
    run = Trajectory(Recorder(header(), start).finish())
    assert run.kinetic == pytest.approx([1.0 * 4.0**2 / 2], rel=1e-14)


def test_what_the_steps_took(run):
    np.testing.assert_array_equal(run.failures, [4])
    assert run.status[4] == Status.MAX_ITER
    assert (run.status[[0, 9]] == Status.SOLVED).all()
    np.testing.assert_array_equal(run.iterations, 3 * np.arange(10))
    np.testing.assert_array_equal(run.residual, [1e-3 if i == 4 else 1e-9 * i for i in range(10)])
    np.testing.assert_array_equal(run.seconds, [1e-4 * i for i in range(10)])
    np.testing.assert_array_equal(run.contact_count, np.arange(10) % 3)


@pytest.mark.parametrize("step", [0, 1, 2, 5, 8, 9])
def test_contacts_of_a_step(run, step):
    table = run.contacts(step=step)
    assert len(table) == step % 3
    assert (table.step == step).all()
    for found, expected in zip(table, contacts_of(step), strict=True):
        shape_a, shape_b = expected[:2]
        assert found.step == step
        assert (found.body_a, found.body_b) == ([0, 1, 1, 2][shape_a], [0, 1, 1, 2][shape_b])
        for value, given in zip(found[3:], expected, strict=True):
            np.testing.assert_array_equal(value, given)
        assert found.state is ContactState(expected[9])


def test_all_contacts_and_parts_of_them(run):
    table = run.contacts()
    np.testing.assert_array_equal(table.step, [1, 2, 2, 4, 5, 5, 7, 8, 8])
    np.testing.assert_array_equal(table.slip, table.velocity[:, 1:])
    np.testing.assert_array_equal(run.contacts(step=-2).gap, run.contacts(step=8).gap)
    np.testing.assert_array_equal(run.contacts(slice(2, 5)).gap, table.gap[1:4])
    np.testing.assert_array_equal(table[table.step == 5].gap, run.contacts(step=5).gap)
    assert len(run.contacts(slice(7, 3))) == 0
    ball = run.contacts(body="ball")
    assert len(ball) == 3  # the second contact of steps 2, 5 and 8, on the box
    assert ball.name(0) == "ball on box"
    assert (ball.friction == 1.5).all()


def test_what_a_table_says(run):
    text = repr(run.contacts(step=2))
    title, head, first, second = text.splitlines()
    assert title == "2 contacts"
    assert head.split()[:4] == ["step", "A", "B", "feature"]
    assert first.split()[:3] == ["2", "box", "floor"]
    assert second.split()[:3] == ["2", "ball", "box"]
    assert first.split()[-1] == "slip"
    assert second.split()[-1] == "apart"
    assert repr(run.contacts(step=0)) == "0 contacts"


def test_the_impulse_as_a_vector_of_the_world():
    """n, t and n × t are an orthonormal frame, so the vector has the components that were given."""
    normal, tangent = np.array([[0.6, 0.0, 0.8]]), np.array([[0.8, 0.0, -0.6]])
    other = np.array([[0.0, 1.0, 0.0]])
    table = replace(
        Trajectory(record()).contacts(1), normal=normal, tangent=tangent, impulse=np.array([[2.0, 3.0, 5.0]])
    )
    np.testing.assert_allclose(table.vector, 2 * normal + 3 * tangent + 5 * other, rtol=1e-15)


def test_what_joints_carried(run):
    hinge = run.joint("joint 0")
    assert (hinge.name, hinge.rows) == ("joint 0", ROWS[:6])
    np.testing.assert_array_equal(hinge.impulse, [row_impulses(i)[:6] for i in range(10)])
    np.testing.assert_allclose(hinge.force, hinge.impulse / 0.01, rtol=1e-12)
    for joint in (1, SimpleNamespace(index=1)):
        np.testing.assert_array_equal(run.joint(joint).impulse, [row_impulses(i)[6:] for i in range(10)])
    with pytest.raises(InputError, match="there is no joint 'elbow', expected one of 'joint 0, joint 1'"):
        run.joint("elbow")
    with pytest.raises(InputError, match="joint is 2, expected an index from 0 to 1"):
        run.joint(2)


def test_what_solved_each_step(run):
    assert run.method == tuple(METHODS[i % 3] for i in range(10))


def test_events_are_kept(run):
    assert run.events == EVENTS


def test_what_a_trajectory_says(run):
    assert repr(run) == (
        "Trajectory(10 steps to 0.1 s, 3 bodies, 9 contacts, Coulomb() by NSGS(tol=1e-08), "
        "1 of 10 steps failed (tol 1e-08, accept 1e-06); the worst, at 0.04 s, has a residual of 1.0e-03 and a "
        "velocity wrong by 0.0e+00 m/s between 'box' and 'floor')"
    )


def test_the_header_is_kept(run):
    kept, given = run.header, header()
    assert (kept.names, kept.dt, kept.tol, kept.planar) == (NAMES, 0.01, 1e-8, False)
    assert (kept.formulation, kept.solver, kept.version) == ("Coulomb()", "NSGS(tol=1e-08)", given.version)
    assert (kept.methods, kept.joint_names, kept.joint_row_kind) == (METHODS, ("joint 0", "joint 1"), ROWS)
    np.testing.assert_array_equal(kept.joint_row, [0] * 6 + [1] * 3)
    for name in set(ARRAYS) - {"joint_row"}:
        np.testing.assert_array_equal(getattr(kept, name), getattr(model(), name))


def test_arrays_that_are_handed_out_are_not_the_record(run):
    run.time[:] = -1.0
    run.residual[:] = -1.0
    assert (run.time >= 0.0).all()
    assert (run.residual >= 0.0).all()


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("interval", [0.0, 1e9])
def test_it_does_not_matter_in_which_chunks_a_run_came(tmp_path, size, interval):
    whole = record(size=10)
    with Trajectory(record(tmp_path / "run.h5", size=size, interval=interval)) as parts:
        for name in whole.columns:
            np.testing.assert_array_equal(parts._record.read(name), whole.read(name))


def test_the_caller_may_fill_its_arrays_anew():
    recorder = Recorder(header(), state_at(0.0))
    chunk = chunk_of(range(4))
    recorder.append(chunk)
    for array in chunk.values():
        array[...] = 0
    recorder.append(chunk_of(range(4, 8)))
    np.testing.assert_array_equal(Trajectory(recorder.finish()).iterations, 3 * np.arange(8))


def test_a_record_that_has_ended_takes_no_more_steps():
    recorder = Recorder(header(), state_at(0.0))
    recorder.finish()
    with pytest.raises(InputError, match="this record has ended"):
        recorder.append(chunk_of(range(4)))


def test_a_run_without_steps(tmp_path):
    for path in (None, tmp_path / "run.h5"):
        run = Trajectory(record(path, steps=0))
        assert len(run) == 0
        assert len(run.contacts()) == 0
        assert run.position("ball").tolist() == [[0.0, 1.0, 20.0]]
        assert "0 steps to 0 s" in repr(run)
        with pytest.raises(InputError, match="step is 0, expected none"):
            run.contacts(step=0)
        run.close()


def test_a_run_without_bodies(tmp_path):
    empty = State(np.zeros((0, 3)), np.zeros((0, 4)), np.zeros((0, 6)))
    nothing = {
        name: getattr(model(), name)[:0]
        for name in Model._fields
        if name.startswith(("shape", "joint", "kind", "mass", "inertia", "centre"))
    }
    bare = Header.of(model()._replace(**nothing), (), dt=0.01, formulation="", solver="", tol=1e-8)
    with Trajectory(Recorder(bare, empty, tmp_path / "run.h5").finish()) as run:
        assert run.energy.tolist() == [0.0]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("bax", "no body 'bax', expected one of 'floor, box, ball'"),
        (3, "body is 3, expected an index from 0 to 2"),
        (-1, "body is -1, expected an index from 0 to 2"),
        (1.0, "body is 1.0, expected a body of the scene, its index or its name"),
        ((1, 2), "expected a body of the scene, its index or its name"),
    ],
)
def test_a_body_that_is_not_there(run, body, sentence):
    with pytest.raises(InputError, match=sentence):
        run.position(body)


def test_a_scene_has_no_coordinates(run):
    with pytest.raises(InputError, match="a run of a scene, which has no q, expected one of position, quaternion"):
        _ = run.q


@pytest.mark.parametrize("step", [10, -11])
def test_a_step_that_is_not_there(run, step):
    with pytest.raises(InputError, match=f"step is {step}, expected one from -10 to 9"):
        run.contacts(step=step)


def test_steps_in_strides_are_refused(run):
    with pytest.raises(InputError, match="expected a slice of steps in a row"):
        run.contacts(slice(0, 8, 2))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("position", np.zeros((4, 2, 3)), r"position has shape \(4, 2, 3\), expected \(4, 3, 3\)"),
        ("residual", np.zeros(3), r"residual has shape \(3,\), expected \(4,\)"),
        ("contact_start", np.array([0, 0, 1, 3, 4]), "expected 5 numbers that rise from 0 to 3 contacts"),
        ("contact_start", np.array([0, 2, 1, 3, 3]), "expected 5 numbers that rise"),
        ("contact_start", np.array([1, 1, 1, 3, 3]), "expected 5 numbers that rise from 0"),
        ("contact_start", np.array([0, 0, 1, 3]), "expected 5 numbers"),
    ],
)
def test_a_chunk_that_does_not_fit(field, value, sentence):
    with pytest.raises(InputError, match=sentence):
        Recorder(header(), state_at(0.0)).append(chunk_of(range(4)) | {field: value})


def test_one_name_for_each_body():
    with pytest.raises(InputError, match="names has 2 entries, expected one for each of 3 bodies"):
        Header.of(model(), ("floor", "box"), dt=0.01, formulation="", solver="", tol=1e-8)


def test_one_name_for_each_joint():
    settings = {"dt": 0.01, "formulation": "", "solver": "", "tol": 1e-8}
    assert Header.of(model(), NAMES, **settings).joint_names == ("joint 0", "joint 1")
    assert Header.of(model(), NAMES, **settings, joint_names=("hip", "knee")).joint_names == ("hip", "knee")
    with pytest.raises(InputError, match="joint_names has 1 entries, expected one for each of 2 joints"):
        Header.of(model(), NAMES, **settings, joint_names=("hip",))


class Watched:
    """A column that notes what is read of it."""

    def __init__(self, column):
        self.column, self.read = column, []

    def __getitem__(self, where):
        self.read.append(where)
        return self.column[where]


def test_a_file_is_read_when_it_is_asked_and_only_there(tmp_path):
    with Trajectory(record(tmp_path / "run.h5")) as run:
        columns = run._record.columns
        columns |= {name: Watched(column) for name, column in columns.items()}
        for _ in range(2):  # first the blocks that this is in are held against their checksums
            for column in columns.values():
                column.read.clear()
            run.position("ball")
            run.contacts(step=5)
        assert columns["position"].read == [(slice(0, 11), 2)]
        assert columns["contacts/impulse"].read == [slice(4, 6)]
        assert columns["residual"].read == columns["velocity"].read == []


def test_a_closed_file_says_so(tmp_path):
    with Trajectory(record(tmp_path / "run.h5")) as run:
        pass
    assert "closed" in repr(run)
    with pytest.raises(FileError, match=r"run\.h5: the file of this trajectory was closed"):
        run.position("box")
    with h5py.File(tmp_path / "run.h5", "r+"):  # nobody holds it
        pass


def test_closing_keeps_what_is_in_memory():
    with Trajectory(record()) as run:
        pass
    assert run.time.size == 11


def test_a_run_that_is_broken_off_keeps_what_it_has(tmp_path):
    path = tmp_path / "run.h5"
    recorder = Recorder(header(), state_at(0.0), path)
    with contextlib.suppress(KeyboardInterrupt), recorder:
        recorder.append(chunk_of(range(6)))
        raise KeyboardInterrupt
    recorder.finish().close()
    with Trajectory.load(path) as run:
        assert len(run) == 6
        assert not run.finished
        assert "6 steps to 0.06 s, cut off" in repr(run)
        run.save(tmp_path / "copy.h5")
    with Trajectory.load(tmp_path / "copy.h5") as copy:
        assert not copy.finished


ENDLESS = """
import sys
sys.path.insert(0, sys.argv[1])
from test_trajectory import Recorder, chunk_of, header, state_at
recorder = Recorder(header(), state_at(0.0), sys.argv[2], interval=0.0)
step = 0
while True:
    recorder.append(chunk_of(range(step, step + 3)))
    step += 3
    print(step, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("lines", [1, 20, 90])
def test_a_killed_run_leaves_a_readable_file(tmp_path, lines):
    path = tmp_path / "run.h5"
    here = str(Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, here, str(path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        try:
            for _ in range(lines):
                told = int(writer.stdout.readline())
            with Trajectory.load(path) as running:
                assert len(running) >= told  # it can be watched, too
                check_complete(running)
        finally:
            writer.kill()
    with Trajectory.load(path) as killed:
        assert len(killed) >= told
        assert not killed.finished
        check_complete(killed)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])  # HDF5 itself would read zeros where the rest was
    with pytest.raises(FileError, match="the file is truncated"):
        Trajectory.load(path)


FULL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from test_trajectory import FileError, InputError, Recorder, chunk_of, header, state_at
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
recorder = Recorder(header(), state_at(0.0), sys.argv[2], interval=0.0)
try:
    for start in range(0, 100_000, 300):
        recorder.append(chunk_of(range(start, start + 300)))
except FileError as error:
    print(error)
try:
    recorder.append(chunk_of(range(300)))
except InputError as error:
    print(error)
"""


def test_a_full_disk_ends_the_record_with_the_steps_before(tmp_path):
    pytest.importorskip("resource", reason="this system has no limits to the size of a file")
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", FULL, str(Path(__file__).parent), str(path)]
    failed, refused = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    assert failed.startswith(f"{path}: cannot be written")
    assert "File too large" in failed
    assert "expected no more steps" in refused
    with Trajectory.load(path) as run:
        assert len(run) >= 300
        assert not run.finished
        check_complete(run)


def check_complete(run):
    """Every step that counts is there with all its rows."""
    steps = len(run)
    np.testing.assert_array_equal(run.iterations, 3 * np.arange(steps))
    np.testing.assert_array_equal(run.contact_count, np.arange(steps) % 3)
    np.testing.assert_array_equal(run.position("ball")[:, 2], [state_at(t).position[2, 2] for t in run.time])
    expected = [row for i in range(steps) for row in contacts_of(i)]
    np.testing.assert_array_equal(run.contacts().impulse, np.array([row[7] for row in expected]).reshape(-1, 3))


def test_what_a_chunk_does_not_say_is_zero():
    chunk = {name: column for name, column in chunk_of(range(4)).items() if name not in since(ADDED, 1)}
    recorder = Recorder(header(), state_at(0.0))
    recorder.append(chunk)
    check_zeros(Trajectory(recorder.finish()))


def check_zeros(run):
    table = run.contacts()
    assert len(table) > 0
    assert not any(getattr(table, name).any() for name in ("tangent", "moment", "spin", "left_out"))
    assert set(run.method) == {run.header.methods[0]}
    assert run.events == ()
    assert not any(run.joint(name).impulse.any() for name in run.header.joint_names)


def test_a_file_of_version_1_is_read_and_saved(tmp_path):
    """Its columns are there, what version 2 adds is zero, and joints it does not know."""
    path, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    record(path).close()
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 1
        for name in since(ADDED, 1):
            del file[name]
        for name in since(HEADER_ADDED, 1):
            where = file.attrs if name in file.attrs else file["header"]
            del where[name]
    with Trajectory.load(path) as run:
        check_complete(run)
        check_zeros(run)
        assert (run.header.methods, run.header.joint_names) == (("unknown",), ())
        run.save(copy)
    with Trajectory.load(copy) as run:
        check_complete(run)
        check_zeros(run)


def absent(path):
    path.unlink()


def folder(path):
    path.unlink()
    path.mkdir()


def text(path):
    path.write_text("no trajectory")


def truncated(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 4])


def other(path):
    with h5py.File(path, "w") as file:
        file["lcp/q"] = [1.0]


def newer(path):
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 99


def without_a_column(path):
    with h5py.File(path, "r+") as file:
        del file["quaternion"]


def with_another_column(path):
    with h5py.File(path, "r+") as file:
        del file["residual"]
        file["residual"] = np.zeros(10, np.int16)


def with_too_few_rows(path):
    with h5py.File(path, "r+") as file:
        file["velocity"].resize(8, axis=0)


def with_too_few_contacts(path):
    with h5py.File(path, "r+") as file:
        file["contacts/normal"].resize(8, axis=0)


def without_masses(path):
    with h5py.File(path, "r+") as file:
        del file["header/mass"]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (absent, "there is no such file"),
        (folder, "this is a folder, expected an HDF5 file"),
        (text, "this is not an HDF5 file"),
        (truncated, "the file is truncated"),
        (other, "holds no trajectory, expected one that a run of stickslip has written"),
        (newer, "the format of this trajectory has version 99, expected at most 4"),
        (without_a_column, "/quaternion cannot be read"),
        (with_another_column, "/residual has rows of shape .* and type int16, expected .* and float64"),
        (with_too_few_rows, "/velocity has 8 rows, expected those of 10 steps"),
        (with_too_few_contacts, "/contacts/normal has 8 rows, expected 9 contacts"),
        (without_masses, "/header is damaged"),
    ],
)
def test_a_file_that_is_no_trajectory(tmp_path, damage, sentence):
    path = tmp_path / "run.h5"
    record(path).close()
    damage(path)
    with pytest.raises(FileError, match=rf"run\.h5: .*{sentence}") as caught:
        Trajectory.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "sentence"), [(".", "this is a folder"), ("absent/run.h5", "No such file")])
def test_a_path_that_cannot_be_written(tmp_path, name, sentence):
    with pytest.raises(FileError, match=sentence):
        Trajectory(record()).save(tmp_path / name)
    with pytest.raises(FileError, match=sentence):
        Recorder(header(), state_at(0.0), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_run_takes_the_place_of_an_older_file_that_is_still_read(tmp_path):
    path = tmp_path / "run.h5"
    with Trajectory(record(path, steps=10)) as older, Trajectory(record(path, steps=4)) as newer_run:
        assert len(newer_run) == 4
        np.testing.assert_array_equal(older.iterations, 3 * np.arange(10))
    assert open_record(path).steps == 4
