"""However a run ends, its steps are kept, in the error and in the file, and nothing else is touched."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.engine import Engine
from stickslip.scene.friction_law import FrictionLaw

DT = 1e-3
HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def crate(**given):
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), name="crate", **given)
    return scene


def pushed(function):
    scene = crate()
    scene.apply("crate", function)
    return scene


def after(seconds, what):
    """A force that is something else once so much time has passed."""

    def force(t, state):
        return what() if t > seconds else ((1.0, 0, 0), (0, 0, 0))

    return force


def raises(error):
    def function(*_):
        raise error

    return function


WRONG = {
    "raises": (raises(ZeroDivisionError("mine")), ZeroDivisionError, "mine"),
    "Ctrl-C": (raises(KeyboardInterrupt("now")), KeyboardInterrupt, "now"),
    "exit": (raises(SystemExit(3)), SystemExit, "3"),
    "closed": (raises(GeneratorExit("mine")), GeneratorExit, "mine"),
    "nan": (
        lambda: ((np.nan, 0, 0), (0, 0, 0)),
        ss.InputError,
        r"the force on 'crate' at time 0.0205: force is \(nan, 0, 0\), expected three finite numbers",
    ),
    "inf": (lambda: ((0, 0, 0), (0, np.inf, 0)), ss.InputError, r"'crate' at time 0.0205: torque is \(0, inf, 0\)"),
    "text": (lambda: "push", ss.InputError, r"'crate' at time 0.0205: the value returned is 'push', expected a pair"),
    "None": (lambda: None, ss.InputError, "at time 0.0205: the value returned is None, expected a pair"),
    "two numbers": (lambda: (1.0, 2.0), ss.InputError, "at time 0.0205: force is 1.0, expected three finite numbers"),
    "an array": (lambda: np.zeros(3), ss.InputError, "at time 0.0205: the value returned is .*, expected a pair"),
    "complex": (lambda: ((1j, 0, 0), (0, 0, 0)), ss.InputError, r"force is \(1j, 0, 0\), expected three"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("path", [None, "run.h5"])
def test_a_force_that_goes_wrong(wrong, path):
    what, error, sentence = WRONG[wrong]
    whole = ss.simulate(pushed(after(1.0, what)), 0.02, DT)
    with pytest.raises(error, match=sentence) as caught:
        ss.simulate(pushed(after(0.02, what)), 1.0, DT, path=path)
    check_kept(caught.value, whole, path)


def check_kept(error, whole, path):
    kept = error.trajectory
    assert len(kept) == len(whole) == 20
    assert not kept.finished
    np.testing.assert_array_equal(kept.position("crate"), whole.position("crate"))
    if path is not None:
        kept.close()
        with ss.Trajectory.load(path) as loaded:
            np.testing.assert_array_equal(loaded.position("crate"), whole.position("crate"))
        with ss.resume(path, 0.04, pushed(after(1.0, None))) as longer:  # with the function mended, it goes on
            assert len(longer) == 40


@pytest.mark.parametrize(
    ("motion", "sentence"),
    [
        (
            lambda t: (np.nan, 0, 0) if t > 0.0095 else (1.0, 0, 0),
            r"body 'belt' at time 0.01: velocity is \(nan",
        ),
        (lambda t: None if t > 0.0095 else (1.0, 0, 0), "moving body 'belt' at time 0.01: velocity is None, expected"),
    ],
)
def test_a_motion_that_goes_wrong(motion, sentence):
    scene = crate()
    scene.add_box(size=0.1, position=(1, 0, 1), moving=True, velocity=motion, name="belt")
    with pytest.raises(ss.InputError, match=sentence) as caught:
        ss.simulate(scene, 1.0, DT)
    assert len(caught.value.trajectory) == 9


@pytest.mark.parametrize("wrong", [None, "text", np.nan, 1j, True, (1.0, 2.0), [], {}, [[1, 2], [3]], 1e300], ids=repr)
@pytest.mark.parametrize("what", ["gap", "rows", "constraint"])
def test_a_system_whose_functions_return_what_is_no_number(what, wrong):
    """One sentence, and the steps before are kept."""
    calls = []

    def later(value):
        def function(q):
            calls.append(q)
            return value(q) if len(calls) < 90 else wrong

        return function

    asked = {"gap": lambda q: q[1], "rows": lambda q: [[0, 1.0], [1, 0]], "constraint": lambda q: [[1.0, -1.0]]}
    asked[what] = later(asked[what])
    point = ss.ContactPoint(asked["gap"], asked["rows"], friction=0.3)
    held = ss.Constraint(rows=asked["constraint"])
    system = ss.GeneralizedSystem(2, lambda q: np.eye(2), lambda q, v: [0, 9.81], contacts=(point,), constraint=held)
    with pytest.raises(ss.InputError) as caught:
        ss.simulate(system, 0.5, DT, q=[0, 0.5], v=[1, 1], path="run.h5")
    assert "\n" not in str(caught.value)
    kept = len(caught.value.trajectory)
    caught.value.trajectory.close()
    assert kept > 5
    with ss.Trajectory.load("run.h5") as run:
        assert len(run) == kept


@pytest.mark.parametrize("wrong", ["raises", "Ctrl-C", "exit", "closed"])
def test_a_system_whose_functions_go_wrong(wrong):
    what, error, _ = WRONG[wrong]

    def force(t, q, v):
        return what() if t > 0.02 else np.zeros(3)

    with pytest.raises(error) as caught:
        ss.simulate(ss.planar_rod(), 1.0, DT, q=[0, 1.0, 0.5], force=force, path="run.h5")
    assert len(caught.value.trajectory) == 20
    assert isinstance(caught.value.trajectory, ss.SystemTrajectory)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([np.nan, 0, 0], "planar rod at time 0.02 s: force.*nan"),
        ("push", "planar rod at time 0.02 s: force"),
        (None, "planar rod at time 0.02 s: force"),
        ([1.0, 2.0], r"planar rod at time 0.02 s: force has shape \(2,\), expected \(3,\)"),
    ],
)
def test_a_force_on_a_system_that_is_none(given, sentence):
    def force(t, q, v):
        return given if t > 0.0195 else np.zeros(3)

    with pytest.raises(ss.InputError, match=sentence) as caught:
        ss.simulate(ss.planar_rod(), 1.0, DT, q=[0, 1.0, 0.5], force=force)
    assert len(caught.value.trajectory) == 20


def test_friction_that_is_no_number():
    law = FrictionLaw(lambda speed, x, y, z, t: 0.5 if t < 0.01 else np.nan)
    with pytest.raises(ss.InputError, match="nan") as caught:
        ss.simulate(crate(friction=law, velocity=(1, 0, 0)), 1.0, DT)
    assert 9 <= len(caught.value.trajectory) <= 11


def test_a_state_that_is_no_number_ends_the_run(monkeypatch):
    """By whatever way it comes: here the state itself is spoilt while the run is under way."""
    march, spoilt = Engine.march, []

    def spoiling(engine, steps, room):
        if engine.made >= 30 and not spoilt:
            spoilt.append(engine.made)
            engine.state.velocity[1, 0] = np.nan
        return march(engine, steps, room)

    monkeypatch.setattr(Engine, "march", spoiling)
    with pytest.raises(
        ss.RunFailed, match=r"leads to \[nan, .* for the .* of 'crate', expected finite numbers"
    ) as caught:
        ss.simulate(crate(), 1.0, DT, path="run.h5")
    kept = caught.value.trajectory
    assert len(kept) == spoilt[0]
    assert np.isfinite(kept.energy).all()
    kept.close()
    with ss.Trajectory.load("run.h5") as loaded:
        assert len(loaded) == spoilt[0]


def test_a_live_state_that_is_no_number_is_told():
    sim = ss.Simulation(crate(), DT)
    sim.step(3)
    sim._engine.state.velocity[1] = np.nan
    with pytest.raises(ss.RunFailed, match="expected finite numbers"):
        sim.step()
    flying = ss.Simulation(crate(velocity=(0, 0, 1.0)), DT)
    flying._engine.state.position[1, 2] = 10.0
    flying._engine.state.velocity[1] = np.nan
    with pytest.raises(ss.RunFailed, match="the velocity of 'crate'"):
        flying.step()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # that numbers overflow
@pytest.mark.parametrize("speed", [1e10, 1e100, 1e200, 1e308])
def test_speeds_beyond_all_reason_have_an_answer_or_a_sentence(speed):
    with contextlib.suppress(ss.RunFailed, ss.StepFailed, ss.InputError):  # each of one sentence
        run = ss.simulate(crate(velocity=(speed, 0, 0)), 0.01, DT)
        assert np.isfinite(run.position("crate")).all()


@pytest.mark.parametrize(
    ("gravity", "size", "force"), [(1e12, 0.2, 0), (1e100, 0.2, 0), (9.81, 1e-12, 0), (9.81, 0.2, 1e12)]
)
def test_a_step_in_which_a_body_falls_beyond_all_measure_is_refused(gravity, size, force):
    """tol = 1e-8 of the way that it falls in a step is more than its size: it would sink into what it stands on."""
    scene = ss.Scene(gravity=(0, 0, -gravity))
    scene.add_plane(friction=0.5)
    scene.add_box(size=size, mass=1.0, position=(0, 0, size / 2), name="crate")
    scene.apply("crate", force=(force, 0, 0))
    sentence = "carry 'crate' .* m in a step of 0.01 s, and tol 1e-08 of that is more than its own size, .* smaller dt"
    for refused in (lambda: ss.simulate(scene, 0.1, 1e-2), lambda: ss.Simulation(scene, 1e-2)):
        with pytest.raises(ss.InputError, match=sentence):
            refused()
    with pytest.raises(ss.InputError, match=sentence):
        ss.ensemble(scene, 0.1, 1e-2, over={"crate.velocity.x": [0.0, 1.0]})


def test_the_same_fall_in_small_steps_is_rest():
    """A box under 1e12 m/s² in steps of 1e-8 s is one under 1 m/s² in steps of 10 ms."""
    scene = ss.Scene(gravity=(0, 0, -1e12))
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), name="crate")
    run = ss.simulate(scene, 1e-6, 1e-8)
    np.testing.assert_allclose(run.position("crate")[-1], (0, 0, 0.1), atol=1e-9)


def test_ctrl_c_keeps_every_step_that_was_made():
    """Whenever it comes: at any time a run that was stopped is the beginning of one that was not."""
    whole = ss.simulate(crate(velocity=(1, 0, 0)), 0.5, DT)

    def press(delay):
        while not Path("run.h5").exists():
            time.sleep(0.001)
        time.sleep(delay)
        signal.raise_signal(signal.SIGINT)

    for delay in (0.0, 0.1, 0.35):
        Path("run.h5").unlink(missing_ok=True)
        threading.Thread(target=press, args=[delay], daemon=True).start()
        with pytest.raises(KeyboardInterrupt) as caught:
            ss.simulate(crate(velocity=(1, 0, 0)), 1e3, DT, path="run.h5")  # seconds, should nothing stop it
        run = caught.value.trajectory
        same = min(len(run), 500) + 1
        np.testing.assert_array_equal(run.position("crate")[:same], whole.position("crate")[:same])
        assert len(run) == len(ss.Trajectory.load("run.h5"))
        with ss.resume("run.h5", DT * (len(run) + 10)) as longer:
            assert len(longer) == len(run) + 10


def test_a_failed_step_where_nothing_can_be_written_is_still_a_failed_step(tmp_path):
    def fail():
        solver = ss.InteriorPoint(tol=1e-300, max_iter=1)
        ss.simulate(crate(velocity=(1, 1, 0)), 0.01, DT, ss.StewartTrinkle(), solver=solver, accept=1e-300)

    with pytest.raises(ss.StepFailed, match="The problem is saved"):
        fail()
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(ss.StepFailed, match="Its problem is not saved") as caught:
        fail()
    os.chdir(tmp_path)
    assert caught.value.file == ""
    assert len(caught.value.trajectory) == 0


def test_a_run_that_fails_before_its_first_step_leaves_the_older_file():
    ss.simulate(crate(), 0.01, DT, path="run.h5").close()
    before = Path("run.h5").read_bytes()
    for wrong in (
        {"solver": "nonsense"},
        {"solver": ""},
        {"tol": -1.0},
        {"dt": 0.0},
        {"friction": "coulomb"},
        {"solver": ss.InteriorPoint(tol=1e-300, max_iter=1), "friction": ss.StewartTrinkle(), "accept": 1e-300},
    ):
        with pytest.raises((ss.InputError, ss.StepFailed)):
            ss.simulate(crate(velocity=(1, 1, 0)), **{"duration": 0.01, "dt": DT, "path": "run.h5"} | wrong)
        assert Path("run.h5").read_bytes() == before
        assert sorted(path.name for path in Path.cwd().glob("run*")) == ["run.h5"]


@pytest.mark.parametrize("content", [b"gravity: [0, 0, -9.81]\n", b"x" * 600])
def test_what_is_no_trajectory_is_not_written_over(content):
    Path("scene.yaml").write_bytes(content)
    with pytest.raises(ss.FileError, match="this file is no trajectory and would be lost"):
        ss.simulate(crate(), 0.01, DT, path="scene.yaml")
    with pytest.raises(ss.FileError, match="this file is no trajectory and would be lost"):
        ss.simulate(crate(), 0.01, DT).save("scene.yaml")
    assert Path("scene.yaml").read_bytes() == content


def test_problems_and_sweeps_are_not_written_over():
    ss.save(ss.LCP([[2.0]], [-1.0]), "problem.h5")
    ss.sweep(lambda a: a, {"a": [1.0]}, out="sweep.h5", progress=False, workers=1)
    for name in ("problem.h5", "sweep.h5"):
        before = Path(name).read_bytes()
        with pytest.raises(ss.FileError, match="this file is no trajectory and would be lost"):
            ss.simulate(crate(), 0.01, DT, path=name)
        with pytest.raises(ss.FileError, match="this file is no trajectory and would be lost"):
            ss.simulate(crate(), 0.01, DT).save(name)
        assert Path(name).read_bytes() == before


def test_two_runs_in_one_process_cannot_write_one_file():
    def second(t, state):
        with pytest.raises(ss.FileError, match="another run is writing this file"):
            ss.simulate(crate(), 0.01, DT, path="run.h5")
        return (0, 0, 0), (0, 0, 0)

    ss.simulate(pushed(second), 3 * DT, DT, path="run.h5").close()
    assert os.listdir() == ["run.h5"]
    ss.simulate(crate(), 0.01, DT, path="run.h5").close()  # afterwards one can


def test_a_file_left_over_from_a_killed_run_is_taken():
    Path("run.h5.part").write_bytes(b"left over")
    ss.simulate(crate(), 0.01, DT, path="run.h5").close()
    assert os.listdir() == ["run.h5"]


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import test_nothing_lost as t, stickslip as ss
from stickslip.engine import recorder
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    recorder.INTERVAL = 0.0
    ss.simulate(t.crate(velocity=(1, 0, 0)), 20.0, t.DT, path="run.h5")
except ss.FileError as error:
    print(error)
    print(len(error.trajectory))
"""


def test_a_limit_to_the_size_of_files_ends_a_run_with_a_sentence():
    pytest.importorskip("resource", reason="this system has no limits to the size of a file")
    command = [sys.executable, "-c", LIMITED, HERE, "3000000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # no segmentation fault when HDF5 shuts down
    sentence, steps = done.stdout.splitlines()
    assert sentence == "run.h5: cannot be written (File too large)"
    with ss.Trajectory.load("run.h5") as run:
        assert 100 < len(run) == int(steps) < 20000
        assert not run.finished
        again = ss.simulate(crate(velocity=(1, 0, 0)), DT * len(run), DT)
        np.testing.assert_array_equal(run.position("crate"), again.position("crate"))
    with ss.resume("run.h5", DT * (len(run) + 10)) as longer:  # where there is room again, it goes on
        assert len(longer) == len(run) + 10


FULL = """
import sys
sys.path.insert(0, sys.argv[1])
import test_nothing_lost as t, stickslip as ss
from stickslip.engine import recorder
try:
    recorder.INTERVAL = 0.0
    ss.simulate(t.crate(velocity=(1, 0, 0)), 20.0, t.DT, path="disk/run.h5")
except ss.FileError as error:
    print(error)
with ss.Trajectory.load("disk/run.h5") as run:
    print(len(run), run.finished)
"""


def test_a_full_disk_ends_a_run_with_a_sentence():
    """On a disk of 2 MB, mounted in a namespace of its own where that is allowed."""
    mount = "mkdir disk && mount -t tmpfs -o size=2m tmpfs disk"
    allowed = subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False)
    if allowed.returncode:
        pytest.skip("a small disk cannot be mounted here")
    Path("disk").rmdir()
    script = f'{mount} && exec "$0" -c "$1" "$2"'
    command = ["unshare", "-rm", "sh", "-c", script, sys.executable, FULL, HERE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sentence, kept = done.stdout.splitlines()
    assert sentence == "disk/run.h5: cannot be written (No space left on device)"
    steps, finished = kept.split()
    assert int(steps) > 100
    assert finished == "False"


SMALL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import test_nothing_lost as t, stickslip as ss
run = ss.simulate(t.crate(velocity=(1, 0, 0)), 0.01, t.DT)
table = ss.sweep(t.half, over={"number": range(50)}, workers=1, progress=False)
writers = {
    "scene.yaml": lambda name: ss.save_scene(t.crate(), name), "problem.h5": lambda name: ss.save(t.large(), name),
    "picture.png": run.plot, "page.html": run.export, "run.h5": run.save, "table.csv": table.save_csv,
    "table.h5": table.save,
}
for name, write in writers.items():
    write(name)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
for name, write in writers.items():
    try:
        write(name)
        print(name, "was written")
    except ss.FileError as error:
        print(error)
"""


def half(number):
    return {"half": number / 2}


def large():
    return ss.LCP(np.eye(40), -np.ones(40))


def test_what_has_no_room_leaves_the_older_file():
    """Scenes, problems, pictures, pages, runs and tables, each where files may have 100 bytes: one sentence, and what
    was there is there still, and nothing beside it."""
    pytest.importorskip("resource", reason="this system has no limits to the size of a file")
    done = subprocess.run([sys.executable, "-c", SMALL, HERE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["scene.yaml", "problem.h5", "picture.png", "page.html", "run.h5", "table.csv", "table.h5"]
    assert done.stdout.splitlines() == [f"{name}: cannot be written (File too large)" for name in names]
    assert sorted(os.listdir()) == sorted(names)
    assert ss.load_scene("scene.yaml").names == crate().names
    np.testing.assert_array_equal(ss.load("problem.h5").q, large().q)
    assert ss.Sweep.load("table.h5").done.size == 50
    assert len(Path("table.csv").read_text().splitlines()) == 51
    with ss.Trajectory.load("run.h5") as run:
        assert len(run) == 10
    assert Path("page.html").read_text().endswith("</html>\n")
    assert Path("picture.png").read_bytes().endswith(b"IEND\xaeB`\x82")


def test_errors_go_from_process_to_process():
    with pytest.raises(ss.StepFailed) as caught:
        ss.simulate(
            crate(velocity=(1, 1, 0)), 0.01, DT, ss.StewartTrinkle(), solver=ss.InteriorPoint(tol=1e-300, max_iter=1),
            accept=1e-300, path="run.h5",
        )  # fmt: skip
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert (copy.step, copy.file, len(copy.trajectory)) == (0, caught.value.file, 0)
    assert copy.solution.residual == caught.value.solution.residual


def test_a_run_that_still_writes_can_be_read_at_any_time():
    """The reader never sees rows that are not whole, whatever moment it comes."""
    seen = []

    def watching(t, state):
        if t > 0.002:
            with ss.Trajectory.load("run.h5") as run:
                seen.append(len(run))
                assert np.isfinite(run.energy).all()
        time.sleep(0.01)
        return (0, 0, 0), (0, 0, 0)

    ss.simulate(pushed(watching), 0.15, DT, path="run.h5").close()
    assert seen == sorted(seen)
    assert seen[0] == 1
    assert seen[-1] > 1
