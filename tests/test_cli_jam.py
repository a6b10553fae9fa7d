"""`stickslip jam`: the worst poses of the rod, the arm and a robot, and one sentence for bad input."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stickslip.cli import main

ARM = str(Path(__file__).parents[1] / "examples" / "robots" / "arm.urdf")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["jam", *arguments])


def rows(text):
    return [line.split() for line in text.splitlines() if line.startswith(("minimum", "at an edge"))]


def test_rod(run, tmp_path):
    result = run("rod", "--mu", "2", "--resolution", "40", "--save", "rod.png")
    assert result.exit_code == 0, result.output
    assert rows(result.stdout) == [["minimum", "1.333333", "63.4349°", "(-1.000,", "0.000)", "0.3529", "96.4"]]
    assert "searched theta from 1° to 89° in 39 steps, 40 of 40 poses exist" in result.stdout
    assert "% of the poses can jam" in result.stdout
    assert (tmp_path / "rod.png").read_bytes().startswith(b"\x89PNG")


def test_arm_within_the_ranges_given(run, tmp_path):
    result = run("arm", "--joint", "theta3=85:120", "--resolution", "40", "--save", "arm.png")
    assert result.exit_code == 0, result.output
    assert [row[1] for row in rows(result.stdout) if row[0] == "minimum"] == ["0.420787"]
    assert (tmp_path / "arm.png").exists()


def test_robot_is_the_arm(run, tmp_path):
    pytest.importorskip("pinocchio", reason="needs the extra robots (pin)")
    joints = ("--joint", "elbow=20:110", "--joint", "wrist=-30:40")
    result = run(ARM, "--frame", "tip", "--plane", "z=0", *joints, "--touch", "shoulder", "--resolution", "30")
    assert result.exit_code == 0, result.output
    assert [row[1] for row in rows(result.stdout) if row[0] == "minimum"] == ["0.403912", "0.420787"]
    with_point = run(ARM, "--frame", "hand", "--point", "0.1,0,0", *joints, "--touch", "shoulder", "--resolution", "30")
    assert with_point.stdout.splitlines()[1:] == result.stdout.splitlines()[1:]


def test_one_joint_with_others_fixed(run, tmp_path):
    pytest.importorskip("pinocchio", reason="needs the extra robots (pin)")
    result = run(ARM, "--frame", "tip", "--joint", "elbow=1:179", "--joint", "shoulder=10", "--resolution", "50")
    assert result.exit_code == 0, result.output
    assert "searched elbow from 1° to 179° in 49 steps, 50 of 50 poses exist" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["rod", "--mu", "-1"], "--mu is -1.0, expected a friction coefficient >= 0"),
        (["rod", "--frame", "tip"], "rod has its own contact, expected no --frame"),
        (["rod", "--joint", "phi=0:90"], "--joint is 'phi', expected a range of theta"),
        (["rod", "--joint", "theta=90:0"], "ranges['theta'] is (1.5707963267948966, 0.0), expected two rising numbers"),
        (["rod", "--save", "map.txt"], "expected .png, .pdf or .svg"),
        (["absent.urdf", "--frame", "tip", "--joint", "elbow=0:90"], "'absent.urdf' is no file"),
        ([ARM, "--joint", "elbow=0:90"], "--frame is missing, expected the name of a frame"),
        ([ARM, "--frame", "toe", "--joint", "elbow=0:90"], "frame is 'toe', expected one of universe"),
        ([ARM, "--frame", "tip", "--joint", "knee=0:90"], "joint is 'knee', expected one of turn, shoulder"),
        ([ARM, "--frame", "tip", "--joint", "elbow=high"], "--joint is 'elbow=high', expected NAME=VALUE or"),
        ([ARM, "--frame", "tip"], "--joint gives 0 ranges, expected one to 6 of turn, shoulder, elbow, wrist"),
        ([ARM, "--frame", "tip", "--plane", "up", "--joint", "elbow=0:9"], "plane is 'up', expected an axis and"),
        (
            [ARM, "--frame", "tip", "--point", "1,2", "--joint", "elbow=0:9"],
            "point is (1.0, 2.0), expected three finite numbers",
        ),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence(run, arguments, part):
    if arguments[0].endswith("urdf"):
        pytest.importorskip("pinocchio", reason="needs the extra robots (pin)")
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("stickslip: ")
    assert result.stderr.count("\n") == 1
    assert part in result.stderr


def test_without_pinocchio_the_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    result = run(ARM, "--frame", "tip", "--joint", "elbow=0:90")
    assert result.exit_code == 2
    assert "expected the extra: pip install 'stickslip[robots]'" in result.stderr
