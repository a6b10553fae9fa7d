"""Sweeps: every run has its row, whatever the parameters, the function and the file."""

import csv
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import Executor, Future
from pathlib import Path

import h5py
import numpy as np
import pytest
from throws import GRAVITY, noisy, same, slowly, sometimes, throw

import stickslip as ss
from stickslip.errors import FileError, InputError

HERE = str(Path(__file__).parent)


def test_every_combination_has_its_row():
    speeds, angles = [1.0, 2.0, 4.0], np.linspace(0.1, 1.4, 5)
    found = ss.sweep(throw, over={"speed": speeds, "angle": angles})
    assert len(found) == found.done.size == 15
    expected = np.array(list(itertools.product(speeds, angles)))
    np.testing.assert_array_equal(np.column_stack([found["speed"], found["angle"]]), expected)
    np.testing.assert_allclose(found["reach"], expected[:, 0] ** 2 * np.sin(2 * expected[:, 1]) / GRAVITY, rtol=1e-15)
    assert found.parameters == ("speed", "angle")
    assert found.measured == ("reach", "time")


def test_samples_are_run_row_by_row():
    rows = [{"speed": 1.0, "angle": 0.3}, {"speed": 3.0, "angle": 0.7}]
    columns = {"speed": [1.0, 3.0], "angle": [0.3, 0.7]}
    same(ss.sweep(throw, samples=rows), ss.sweep(throw, samples=columns))
    np.testing.assert_array_equal(ss.sweep(throw, samples=rows)["speed"], [1.0, 3.0])


class Column:
    """A column as pandas has it: it knows its values by an index of its own."""

    def __init__(self, values):
        self.values = np.array(values)

    def __len__(self):
        return self.values.size

    def __getitem__(self, label):
        raise KeyError(label)

    def to_numpy(self):
        return self.values


@pytest.mark.parametrize(
    "samples",
    [
        {"speed": [1.0, 2.0], "angle": [0.1, 0.2]},
        {"speed": Column([1.0, 2.0]), "angle": Column([0.1, 0.2])},
        [{"speed": 1.0, "angle": 0.1}, {"angle": 0.2, "speed": 2.0}],
        np.array([(1.0, 0.1), (2.0, 0.2)], [("speed", float), ("angle", float)]),
    ],
)
def test_samples_may_be_said_in_many_ways(samples):
    found = ss.sweep(throw, samples=samples)
    same(found, ss.sweep(throw, samples={"speed": [1.0, 2.0], "angle": [0.1, 0.2]}))
    column = Column([0.1, 0.2])
    same(ss.sweep(throw, over={"angle": column}, speed=1.0), ss.sweep(throw, over={"angle": [0.1, 0.2]}, speed=1.0))


def test_a_parameter_may_be_a_vector_or_a_value_of_any_kind():
    def ends(start, law, loud):
        return {"length": float(np.linalg.norm(start)), "name": type(law).__name__, "as loud": loud}

    starts = np.array([[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]])
    found = ss.sweep(ends, over={"start": starts, "law": [ss.Coulomb(), ss.Phantom()], "loud": [True]})
    np.testing.assert_array_equal(found["length"], [5.0, 5.0, 3.0, 3.0])
    assert found["name"].tolist() == ["Coulomb", "Phantom"] * 2
    assert found["as loud"].tolist() == [1.0] * 4
    assert found["law"].tolist() == [repr(ss.Coulomb()), repr(ss.Phantom())] * 2
    np.testing.assert_array_equal(found["start"], np.repeat(starts, 2, axis=0))
    np.testing.assert_array_equal(found["start.y"], [4.0, 4.0, 2.0, 2.0])


def test_random_numbers_depend_on_the_number_of_the_run_alone():
    found = ss.sweep(noisy, over={"speed": [1.0, 2.0]}, repeat=50, seed=3, workers=3)
    sources = [np.random.default_rng(np.random.SeedSequence(3, spawn_key=(i,))) for i in range(100)]
    expected = [noisy(1.0 if i < 50 else 2.0, rng) for i, rng in enumerate(sources)]
    np.testing.assert_array_equal(found["value"], expected)
    np.testing.assert_array_equal(found["repetition"], np.tile(np.arange(50.0), 2))
    assert not np.array_equal(ss.sweep(noisy, over={"speed": [1.0, 2.0]}, repeat=50, seed=4)["value"], found["value"])


def test_a_grid_over_nothing_is_one_run_or_its_repetitions():
    assert ss.sweep(lambda: 2.0, over={})["value"].tolist() == [2.0]
    assert ss.sweep(lambda rng: rng.random(), repeat=3)["repetition"].tolist() == [0, 1, 2]


def test_random_numbers_are_nothing_to_vary():
    with pytest.raises(InputError, match="sweep: rng varies or is fixed, expected another name"):
        ss.sweep(lambda rng: rng, over={"rng": [1, 2]})


def test_a_run_that_raises_is_a_row_with_its_reason(tmp_path):
    with pytest.warns(ss.FailedRuns, match="3 of 20 runs failed, the first is run 3: ZeroDivisionError: there is noth"):
        found = ss.sweep(sometimes, over={"number": range(20)}, out=tmp_path / "table.h5")
    assert found.failed.tolist() == [3, 10, 17]
    assert found.reason(10) == "ZeroDivisionError: there is nothing in 10"
    assert np.isnan(found["value"][found.failed]).all()
    np.testing.assert_array_equal(found["value"][found.done], found.done)
    loaded = ss.Sweep.load(tmp_path / "table.h5")
    assert loaded.reason(17) == found.reason(17)
    same(found, loaded)


def test_what_failed_is_run_again_on_request(tmp_path):
    flag = tmp_path / "mended"

    def mends(number):
        if number == 2 and not flag.exists():
            raise OSError("not yet")
        return number

    out = tmp_path / "table.h5"
    with pytest.warns(ss.FailedRuns):
        ss.sweep(mends, over={"number": range(4)}, out=out)
    flag.touch()
    with pytest.warns(ss.FailedRuns):
        assert ss.sweep(mends, over={"number": range(4)}, out=out).failed.tolist() == [2]
    mended = ss.sweep(mends, over={"number": range(4)}, out=out, retry=True)
    np.testing.assert_array_equal(mended["value"], [0, 1, 2, 3])
    assert ss.Sweep.load(out).failed.size == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"over": {"speed": [1.0], "angl": [0.2]}}, "sweep: throw takes no 'angl', expected speed, angle"),
        ({"over": {"speed": [1.0]}}, "sweep: throw needs 'angle'"),
        ({"over": {"speed": [], "angle": [1.0]}}, "sweep: speed in over is [], expected a list"),
        ({"over": {"speed": 3.0, "angle": [1.0]}}, "sweep: speed in over is 3.0, expected a list of values"),
        ({"over": {"speed": np.array(3.0), "angle": [1.0]}}, "sweep: speed in over is 3.0, expected a list of values"),
        ({"over": {"speed": {"a": 3.0}, "angle": [1.0]}}, "sweep: speed in over is {'a': 3.0}, expected a list"),
        ({"over": {1: [1.0]}}, "sweep: over has values of 1, expected names as texts"),
        ({"samples": [{1: 1.0}, {2: 1.0}]}, "sweep: samples have different names, expected [1] in each"),
        ({"over": {"speed": "fast", "angle": [1.0]}}, "sweep: speed in over is 'fast'"),
        ({"samples": {"speed": [1.0, 2.0], "angle": [1.0]}}, "expected columns that are equally long"),
        ({"samples": [{"speed": 1.0}, {"angle": 1.0}]}, "sweep: samples have different names"),
        ({"samples": {}}, "sweep: samples is {}, expected columns by name"),
        ({"over": {"": [1.0]}}, "sweep: over has values of '', expected names as texts"),
        ({"over": {"a\0b": [1.0]}}, "expected names as texts"),
        ({}, "sweep: over and samples are both given or both missing"),
        ({"over": {"speed": [1.0]}, "samples": {"angle": [1.0]}}, "sweep: over and samples are both given"),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "speed": 2.0}, "sweep: speed is fixed and varied"),
        (
            {"over": {"speed": [1.0]}, "angle": 1.0, "engine": "magic"},
            "sweep: engine is 'magic', expected one of threads",
        ),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "engine": 10**5000}, "sweep: engine is a int, expected one of"),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "measure": 10**5000}, "sweep: measure is a int, expected a function"),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "workers": 0}, "sweep: workers is 0"),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "seed": -1}, "sweep: seed is -1"),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "repeat": 0}, "sweep: repeat is 0"),
        ({"over": {"speed": [1.0]}, "angle": 1.0, "out": "absent/table.h5"}, "absent/table.h5: cannot be written"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_runs(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        ss.sweep(throw, **arguments)
    assert sentence in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_what_a_function_returns_must_be_numbers_or_texts():
    with pytest.warns(ss.FailedRuns, match="value is <object object"):
        ss.sweep(lambda a: object(), over={"a": [1.0]})
    with pytest.warns(ss.FailedRuns, match="expected \\(2,\\) as in the runs before"):
        ss.sweep(lambda a: np.zeros(a), over={"a": [2, 2, 3]}, workers=1)
    with pytest.warns(ss.FailedRuns, match="a is varied and measured, expected another name"):
        ss.sweep(lambda a: {"a": a}, over={"a": [1.0]})
    with pytest.warns(ss.FailedRuns, match="expected a number as in the runs before"):
        ss.sweep(lambda a: a, over={"a": [2, "two"]}, workers=1)


@pytest.mark.parametrize("name", ["", ".", "a\0b", "\ud800"])
def test_what_no_column_can_be_called_is_a_row_that_says_so(name, tmp_path):
    with pytest.warns(ss.FailedRuns, match="run 1: sweep: a measure is called .*, expected a name"):
        found = ss.sweep(
            lambda a: {name: a} if a else {"a/b": a, "..": a}, over={"a": [0, 1]}, out=tmp_path / "table.h5"
        )
    assert found.done.tolist() == [0]
    same(found, ss.Sweep.load(tmp_path / "table.h5"))


def test_texts_of_any_kind_are_kept(tmp_path):
    found = ss.sweep(lambda a: a, over={"a": ["é", "\ud800"]}, out=tmp_path / "table.h5")
    assert found["value"].tolist() == ["é", "?"]  # what is no letter
    same(found, ss.Sweep.load(tmp_path / "table.h5"))


@pytest.mark.parametrize(("raised", "reason"), [(SystemExit(3), "SystemExit: 3"), (ValueError(), "ValueError")])
def test_a_run_that_would_end_the_process_is_a_row(raised, reason):
    def raises(a):
        if a:
            raise raised
        return a

    with pytest.warns(ss.FailedRuns):
        found = ss.sweep(raises, over={"a": [0, 1]})
    assert found.done.tolist() == [0]
    assert found.reason(1) == reason


def test_only_trajectories_are_kept(tmp_path):
    with pytest.warns(ss.FailedRuns, match="a run returned {'reach'.*expected a Trajectory where keep is given"):
        ss.sweep(throw, over={"speed": [1.0], "angle": [0.3]}, keep=tmp_path / "runs")


# files


def test_a_sweep_goes_on_from_its_file(tmp_path):
    out, calls = tmp_path / "table.h5", []

    def counted(number):
        calls.append(number)
        if number == 12 and len(calls) < 15:
            raise KeyboardInterrupt
        return {"half": number / 2, "text": "é" * number}

    with pytest.raises(KeyboardInterrupt):
        ss.sweep(counted, over={"number": range(20)}, out=out, workers=1)
    before = ss.Sweep.load(out)
    assert 0 < before.done.size < 20
    np.testing.assert_array_equal(before["half"][before.done], before.done / 2)
    calls[:] = [0] * 100
    after = ss.sweep(counted, over={"number": range(20)}, out=out)
    assert sorted(calls[100:]) == before.waiting.tolist()  # none is run twice
    same(after, ss.sweep(counted, over={"number": range(20)}))
    same(after, ss.Sweep.load(out))
    assert after["text"][19] == "é" * 19
    calls.clear()
    same(ss.sweep(counted, over={"number": range(20)}, out=out), after)
    assert calls == []


def test_the_file_of_another_sweep_is_refused_and_stays(tmp_path):
    out = tmp_path / "table.h5"
    ss.sweep(throw, over={"speed": [1.0], "angle": [0.1, 0.2]}, out=out)
    kept = out.read_bytes()
    for over, part in (
        ({"speed": [1.0], "angle": [0.1, 0.3]}, "other values of angle"),
        ({"speed": [1.0, 2.0], "angle": [0.1, 0.2]}, "2 runs over speed, angle"),
    ):
        with pytest.raises(FileError, match=part):
            ss.sweep(throw, over=over, out=out)
    with pytest.raises(FileError, match="that was other than now, or with other settings"):
        ss.sweep(lambda speed, angle: speed, over={"speed": [1.0], "angle": [0.1, 0.2]}, out=out)
    settings = {"over": {"speed": [1.0]}, "out": tmp_path / "data.h5"}
    data = np.linspace(0.0, 1.0, 2000)
    ss.sweep(lambda speed, data: speed, **settings, data=data)
    for i, change in ((1000, 1.0), (3, 1e-12)):  # where the text of an array is cut short, and its digits are
        with pytest.raises(FileError, match="that was other than now, or with other settings"):
            ss.sweep(lambda speed, data: speed, **settings, data=np.where(np.arange(2000) == i, data + change, data))
    (tmp_path / "notes.h5").write_text("not a table")
    with pytest.raises(FileError, match="no HDF5 file"):
        ss.sweep(throw, over={"speed": [1.0], "angle": [0.1, 0.2]}, out=tmp_path / "notes.h5")
    assert out.read_bytes() == kept
    assert len(ss.sweep(throw, over={"speed": [3.0], "angle": [0.1]}, out=out, fresh=True)) == 1


def test_a_sweep_can_be_watched(tmp_path):
    out = tmp_path / "table.h5"
    running = threading.Thread(target=lambda: ss.sweep(slowly, over={"number": range(100)}, out=out, workers=1))
    running.start()
    while not out.exists():
        time.sleep(0.001)
    seen = []
    while running.is_alive():
        seen.append(ss.Sweep.load(out))
        if seen[-1].done.size:
            np.testing.assert_array_equal(seen[-1]["square"][seen[-1].done], seen[-1].done ** 2.0)
    assert any(0 < part.done.size < 100 for part in seen)


def test_two_sweeps_do_not_share_a_file(tmp_path):
    out = tmp_path / "table.h5"
    over = {"number": range(20)}
    ss.sweep(slowly, over=over, out=out)
    program = f"""
import stickslip as ss
from throws import slowly
try:
    ss.sweep(slowly, over={over!r}, out={str(out)!r}, retry=True)
except ss.FileError as error:
    print(error)
"""
    with h5py.File(out, "r+") as file:  # as a sweep has it while it runs
        file["status"][7] = 0
        file.flush()
        second = subprocess.run([sys.executable, "-c", program], cwd=HERE, capture_output=True, text=True, check=True)
    assert second.stdout == f"{out}: another sweep writes to this file, expected its end\n"
    assert ss.Sweep.load(out).waiting.tolist() == [7]


KILLED = """
import sys
import stickslip as ss
from throws import slowly
print("begins", flush=True)
ss.sweep(slowly, over={"number": range(300)}, out=sys.argv[1], workers=2)
"""


def test_killed_at_random_moments_and_resumed_is_the_same_table(tmp_path):
    out = tmp_path / "table.h5"
    rng, killed = np.random.default_rng(5), 0
    for _ in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(out)], cwd=HERE, stdout=subprocess.PIPE, text=True
        ) as program:
            program.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.25))
            killed += program.poll() is None
            program.kill()
        if out.exists():
            part = ss.Sweep.load(out)
            if part.done.size:
                np.testing.assert_array_equal(part["square"][part.done], part.done**2.0)
    assert killed >= 3
    whole = ss.sweep(slowly, over={"number": range(300)}, out=out)
    assert whole.done.size == 300
    same(whole, ss.sweep(slowly, over={"number": range(300)}))
    assert [path.name for path in tmp_path.iterdir() if "tmp" not in path.name] == ["table.h5"]


FULL = """
import resource, sys
import numpy as np
import stickslip as ss
from throws import same
most = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
def large(number):
    return {"half": number / 2} if number < 50 else {"half": number / 2, "many": np.full(1000, number)}
try:
    found = ss.sweep(large, over={"number": range(100)}, out=sys.argv[1], workers=1)
    same(found, ss.sweep(large, over={"number": range(100)}, workers=1))
    print("the same")
except ss.FileError as error:
    print(error)
"""


def test_a_full_disk_in_the_middle_is_one_sentence_and_the_sweep_goes_on_where_there_is_room(tmp_path):
    pytest.importorskip("resource", reason="this system has no limits to the size of a file")
    out = tmp_path / "table.h5"

    def sweep(room):
        command = [sys.executable, "-c", FULL, str(out), str(room)]
        ended = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    assert sweep(60_000) == f"{out}: cannot be written (File too large)\n"
    kept = ss.Sweep.load(out)
    assert kept.done.size > 10
    np.testing.assert_array_equal(kept["half"][kept.done], kept.done / 2)
    assert [path.name for path in tmp_path.iterdir()] == ["table.h5"]
    assert sweep(10_000_000) == "the same\n"


def test_ctrl_c_keeps_what_is_done(tmp_path):
    out = tmp_path / "table.h5"
    ss.sweep(slowly, over={"number": [0]}, out=tmp_path / "first.h5")
    assert ss.Sweep.load(tmp_path / "first.h5").done.size == 1  # and what that takes is imported
    program = KILLED.replace("ss.sweep(", "\ntry:\n    ss.sweep(") + (
        "except ss.SweepStopped as stopped:\n    print(stopped, len(stopped.sweep.done), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(out)], cwd=HERE, stdout=subprocess.PIPE, text=True
    ) as running:
        running.stdout.readline()
        while not out.exists() or ss.Sweep.load(out).done.size < 20:
            time.sleep(0.01)
        running.send_signal(2)
        told = running.stdout.read()
    assert "sweep: stopped after" in told
    assert "of 300 runs" in told
    assert ss.Sweep.load(out).done.size >= int(told.split()[-1]) >= 20


class AtOnce(Executor):
    """Runs what it is told in the thread of the sweep."""

    def submit(self, function, *given):
        done = Future()
        done.set_result(function(*given))
        return done


def pressed_unheard(number):
    """Ctrl-C within the callback of a weak reference, where Python drops the error."""
    if number == 3:
        weakref.finalize(set[int]((1,)), signal.raise_signal, signal.SIGINT)
    return {"half": number / 2}


def test_ctrl_c_that_python_drops_is_heard_after_the_chunk(monkeypatch):
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(ss.SweepStopped) as stopped:
        ss.sweep(pressed_unheard, over={"number": range(100)}, engine=AtOnce())
    assert len(dropped) == 1
    assert 4 <= stopped.value.sweep.done.size < 100
    assert signal.getsignal(signal.SIGINT) is usual


# columns, tables, pictures


def test_csv_has_every_digit(tmp_path):
    found = ss.sweep(throw, over={"speed": [1.0, 1 / 3], "angle": [math.pi / 7]})
    found.save_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["reach"]) for row in rows] == found["reach"].tolist()
    assert [row["status"] for row in rows] == ["done", "done"]


def test_pandas_has_the_same_columns():
    pytest.importorskip("pandas", reason="pandas is not installed")
    found = ss.sweep(throw, over={"speed": [1.0, 2.0], "angle": [0.3]})
    frame = found.frame()
    assert list(frame.columns) == ["speed", "angle", "reach", "time", "status", "reason"]
    np.testing.assert_array_equal(frame["reach"], found["reach"])


def test_a_column_that_is_not_there_is_named():
    found = ss.sweep(throw, over={"speed": [1.0], "angle": [0.3]})
    with pytest.raises(InputError, match="there is no column 'height', expected one of speed, angle, reach, time"):
        found["height"]


def test_anyone_can_read_the_file(tmp_path):
    found = ss.sweep(throw, over={"speed": [1.0, 2.0], "angle": [0.3]}, out=tmp_path / "table.h5")
    with h5py.File(tmp_path / "table.h5") as file:
        np.testing.assert_array_equal(file["measured/reach"][()], found["reach"])
        assert file["status"][()].tolist() == [1, 1]


def test_pictures(tmp_path):
    found = ss.sweep(throw, over={"speed": np.linspace(1, 3, 9), "angle": [0.3, 0.6]})
    figure = found.plot("speed", "reach", hue="angle", path=tmp_path / "lines.png")
    drawn = figure.axes[0].lines
    np.testing.assert_array_equal(drawn[1].get_ydata(), found["reach"][found["angle"] == 0.6])
    figure = found.map("speed", "angle", "reach", path=tmp_path / "map.png")
    mesh = figure.axes[0].collections[0].get_array()
    np.testing.assert_array_equal(mesh, found["reach"].reshape(9, 2).T)
    assert all(os.path.getsize(tmp_path / name) > 5000 for name in ("lines.png", "map.png"))
    partly = ss.sweep(throw, over={"speed": [1.0, np.nan], "angle": [0.3, 0.6]})
    assert partly.map("speed", "angle", "reach").axes[0].collections[0].get_array().shape == (2, 1)
    with pytest.raises(InputError, match="speed is a number in no run"):
        ss.sweep(throw, over={"speed": [np.nan], "angle": [0.3]}).map("speed", "angle", "reach")
    with pytest.raises(InputError, match="speed and angle are no grid"):
        ss.sweep(throw, samples={"speed": range(9), "angle": range(9)}).map("speed", "angle", "reach")
