"""Sweeps of scenes: parameters by name, measures by name, trajectories that are kept, and the command line."""

import csv
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main
from stickslip.errors import InputError
from stickslip.sweeps.plan import plan_of
from stickslip.sweeps.scenes import Measures, SceneRun

GRAVITY = 9.81


@pytest.fixture
def block():
    scene = ss.Scene()
    scene.add_plane(friction=1.0, name="ground")
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), velocity=(1, 0, 0), name="block")
    return scene


def test_a_block_stops_where_coulomb_says(block):
    found = ss.sweep(
        block,
        over={"friction": [0.3, 0.6], "block.velocity.x": [0.5, 1.0]},
        measure=["block.position.x", "block.speed", "block.position.z:max", "steps"],
        duration=0.5,
        dt=1e-3,
    )
    v, mu = found["block.velocity.x"], found["friction"]
    np.testing.assert_allclose(found["block.position.x"], v**2 / (2 * mu * GRAVITY), rtol=2e-2)
    assert found["block.speed"].max() < 1e-9
    assert (found["steps"] == 500).all()
    np.testing.assert_allclose(found["block.position.z:max"], 0.1, atol=1e-9)


def test_a_run_of_a_sweep_is_the_run_of_simulate(block, tmp_path):
    found = ss.sweep(
        block, {"friction": [0.5], "law": [ss.Coulomb(), ss.Box()], "dt": [1e-2]}, duration=0.1, keep=tmp_path / "runs"
    )
    for number, law in enumerate([ss.Coulomb(), ss.Box()]):
        scene = ss.Scene()
        scene.add_plane(friction=0.5, name="ground")
        scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), velocity=(1, 0, 0), name="block", friction=0.5)
        run = ss.simulate(scene, 0.1, 1e-2, friction=law)
        np.testing.assert_array_equal(found["block.position"][number], run.position("block")[-1])
        assert found["energy"][number] == run.energy[-1]
        with found.run(number) as kept:
            np.testing.assert_array_equal(kept.position("block"), run.position("block"))
    with pytest.raises(InputError, match="no trajectories were kept"):
        ss.sweep(block, {"friction": [0.5]}, duration=0.1, dt=1e-2).run(0)


ENDS = ["block.position", "block.velocity.x:end", "block.spin:end", "block.speed", "energy", "kinetic", "potential:end",
        "residual", "velocity_error:max", "steps", "inexact", "failures"]  # fmt: skip
VARIED = {
    "materials": {"friction": [0.0, 0.3, 0.9], "block.velocity.x": [0.5, 1.0]},
    "gravity": {"gravity.z": [-1.0, -9.81, 3.0], "block.restitution": [0.0, 0.5]},
    "starts": {"block.position.z": [0.1, 0.15], "block.spin": [(1, 2, 3), (0, 0, 9)], "dt": [1e-2, 5e-3]},
    "laws": {"law": [ss.Coulomb(), ss.Box(), "coulomb"], "friction": [0.2, 0.7]},
}


@pytest.mark.parametrize("over", VARIED.values(), ids=VARIED)
def test_runs_made_at_once_have_the_bits_of_those_made_one_by_one(block, over):
    settings = {"dt": 1e-2, "duration": 0.2} | {name: None for name in over if name == "dt"}
    settings = {name: value for name, value in settings.items() if value is not None}
    plan, measure = plan_of("sweep", over, None, 1), Measures(tuple(ENDS))
    given = [{**settings, **plan.parameters(i)} for i in range(len(plan))]
    assert len(SceneRun(block).at_once(measure, given)) == len(plan)  # all are
    found = ss.sweep(block, over, measure=ENDS, **settings)
    alone = ss.sweep(block, over, measure=lambda run: measure(run), **settings)  # a function: one by one
    assert found.done.size == alone.done.size == len(plan)
    for name in ENDS:
        np.testing.assert_array_equal(found[name], alone[name], err_msg=name)


@pytest.mark.parametrize(
    ("over", "measure"),
    [
        ({"block.mass": [1.0, 2.0]}, ["energy"]),
        ({"friction": [0.1, 0.2]}, ["contacts"]),
        ({"friction": [0.1, 0.2]}, ["block.position.z:max"]),
        ({"friction": [0.1, 0.2]}, ["block.turn"]),
    ],
)
def test_what_an_ensemble_cannot_vary_or_keep_is_run_one_by_one(block, over, measure):
    plan = plan_of("sweep", over, None, 1)
    given = [{"dt": 1e-2, "duration": 0.1, **plan.parameters(i)} for i in range(2)]
    assert not SceneRun(block).at_once(Measures(tuple(measure)), given)
    assert ss.sweep(block, over, measure=measure, dt=1e-2, duration=0.1).done.size == 2


def test_a_body_that_hangs_on_a_joint_may_start_elsewhere():
    """A pendulum whose pivot stays: its length is how far it starts from there, so it swings as that says."""
    scene = ss.Scene()
    bob = scene.add_sphere(radius=0.05, mass=1.0, position=(0, 0, -1.0), velocity=(0.1, 0, 0), name="bob")
    scene.add_hinge(bob, position=(0, 0, 0), axis=(0, 1, 0))
    lengths = np.array([0.5, 1.0, 2.0])
    found = ss.sweep(scene, {"bob.position.z": -lengths}, measure="bob.position", duration=0.5, dt=1e-3)
    np.testing.assert_allclose(np.linalg.norm(found["bob.position"], axis=1), lengths, atol=1e-9)


@pytest.mark.parametrize(
    ("over", "reason"),
    [
        ({"block.velocity.x": [1.0, 1e101, 2.0]}, "velocity is (1e+101, 0.0, 0.0), expected three finite numbers"),
        ({"gravity.z": [-1.0, np.nan, -2.0]}, "gravity is (0.0, 0.0, nan), expected three finite numbers"),
        ({"law": ["box", "bocks", "coulomb"], "friction": [0.1, 0.2]}, "friction is 'bocks', expected one of coulomb"),
        (
            {"block.position.z": [5.0, 0.1, 6.0], "solver": [ss.NSGS(max_iter=1)], "tol": [1e-15], "accept": [1e-15]},
            "was not solved: NSGS",
        ),
    ],
)
def test_what_cannot_be_run_at_once_among_others_says_why(block, over, reason):
    with pytest.warns(ss.FailedRuns):
        found = ss.sweep(block, over, measure="block.position.x", duration=0.1, dt=1e-2)
    assert found.failed.tolist() == ([2, 3] if "law" in over else [1])
    assert reason in found.reason(int(found.failed[0]))


def test_a_measure_may_be_a_function(block):
    def slipped(run):
        return {"way": run.position("block")[-1, 0], "posed by": run.header.formulation}

    found = ss.sweep(
        block, {"law": ["coulomb", "stewart_trinkle:directions=4"]}, measure=slipped, duration=0.1, dt=1e-2
    )
    assert found["law"].tolist() == ["coulomb", "stewart_trinkle:directions=4"]
    assert "directions=4" in found["posed by"][1]


def test_values_that_a_scene_refuses_are_rows(block):
    with pytest.warns(ss.FailedRuns, match=r"1 of 2 runs failed, the first is run 1: body 'block': mass is -1\.0"):
        ss.sweep(block, {"block.mass": [1.0, -1.0]}, duration=0.02, dt=1e-2)


def test_steps_that_fail_leave_no_files(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(ss.FailedRuns, match="was not solved"):
        ss.sweep(block, {"solver": [ss.NSGS(max_iter=1)]}, tol=1e-14, accept=1e-14, duration=0.5, dt=1e-2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"over": {"frction": [1.0]}}, "the scene has no parameter 'frction'"),
        ({"over": {"block.masss": [1.0]}}, "the scene has no parameter 'block.masss'"),
        ({"over": {"friction": [1.0]}, "slover": "auto"}, "patch, surface, duration, dt, law, solver, tol, accept,"),
        (
            {"over": {"friction": [1.0]}, "measure": "blok.position"},
            "sweep: measure is 'blok.position', expected one of",
        ),
        ({"over": {"friction": [1.0]}, "measure": "block.speed.x"}, "sweep: measure is 'block.speed.x'"),
        ({"over": {"friction": [1.0]}, "measure": "energy:last"}, "expected end, max, min, mean after the colon"),
        ({"over": {"friction": [1.0]}, "measure": 3}, "sweep: measure is 3"),
        ({"over": {"block.speed.x": [1.0]}, "measure": "energy"}, "the scene has no parameter 'block.speed.x'"),
        (
            {"over": {"block.velocity.x": [1.0]}, "measure": "block.velocity.x"},
            "sweep: block.velocity.x is varied and measured, expected another name, such as block.velocity.x:end",
        ),
    ],
)
def test_names_are_checked_before_anything_runs(block, arguments, sentence):
    with pytest.raises(InputError) as error:
        ss.sweep(block, duration=0.1, dt=1e-2, **arguments)
    assert sentence in str(error.value)


def test_a_scene_needs_duration_and_dt(block):
    with pytest.raises(InputError, match="sweep: dt is missing"):
        ss.sweep(block, {"friction": [1.0]}, duration=0.1)


# the command line


@pytest.fixture
def command(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ss.save_scene(block, "block.yaml")
    return lambda *arguments: CliRunner().invoke(main, ["sweep", "block.yaml", *arguments])


RUN = ("--duration", "0.1", "--dt", "1e-2")


def test_the_command_prints_writes_and_draws(command):
    result = command(
        *RUN, "--vary", "friction=0.1:0.5:3", "--vary", "law=coulomb,box", "--measure", "block.position.x",
        "--out", "table.h5", "--csv", "table.csv", "--plot", "lines.png",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "6 of 6 runs done" in result.stdout
    with open("table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = ss.Sweep.load("table.h5")
    assert [row["law"] for row in rows] == ["coulomb", "box"] * 3
    assert [float(row["block.position.x"]) for row in rows] == found["block.position.x"].tolist()
    np.testing.assert_array_equal(found["friction"], np.repeat(np.linspace(0.1, 0.5, 3), 2))
    again = command(*RUN, "--vary", "friction=0.1:0.5:3", "--vary", "law=coulomb,box", "--measure", "block.position.x",
                    "--out", "table.h5", "--map", "--plot", "map.png")  # fmt: skip
    assert again.exit_code == 0, again.output


def test_runs_that_fail_are_exit_code_1(command):
    result = command(*RUN, "--vary", "block.mass=1,-1")
    assert result.exit_code == 1
    assert result.stderr.startswith("stickslip: 1 of 2 runs failed, the first is run 1: body 'block': mass is -1")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "--vary is missing"),
        (["--vary", "frction=1,2"], "no parameter 'frction'"),
        (["--vary", "friction"], "--vary is 'friction'"),
        (["--vary", "friction=a,b"], "--vary is 'friction=a,b'"),
        (["--vary", "dt=1e-2,1e-3"], "dt is given by --vary and by --dt"),
        (["--vary", "friction=1,2", "--measure", "nothing"], "measure is 'nothing'"),
        (["--vary", "friction=1,2", "--engine", "steam"], "engine is 'steam'"),
        (["--vary", "friction=1,2", "--plot", "table.txt"], "expected .png"),
        (["--vary", "friction=1,2", "--map", "--plot", "table.png"], "--map has 1 parameters"),
    ],
)
def test_bad_input_is_one_sentence(command, arguments, part):
    result = command(*RUN, *arguments)
    assert result.exit_code == 2
    assert part in result.stderr
    assert result.stderr.count("\n") == 1


def test_ctrl_c_is_exit_code_130_and_the_same_command_goes_on(command, tmp_path):
    arguments = ("--duration", "1.0", "--dt", "1e-3", "--vary", "friction=0.1:0.9:400", "--out", "table.h5")
    program = [sys.executable, "-m", "stickslip", "sweep", "block.yaml", *arguments]
    with subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        while not (tmp_path / "table.h5").exists() or ss.Sweep.load(tmp_path / "table.h5").done.size < 2:
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        told = running.stderr.read()
    assert running.returncode == 130
    assert "runs; they are in table.h5, and the same command goes on from there" in told
    done = ss.Sweep.load(tmp_path / "table.h5").done.size
    assert f"stopped after {done} of 400 runs" in told
