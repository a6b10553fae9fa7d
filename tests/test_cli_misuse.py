"""The command line, misused: one sentence, exit code 2, and nothing written over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main

BAD_INPUT, STOPPED = 2, 130
SCENE = """
bodies:
  - {shape: plane, friction: 0.5}
  - {shape: box, name: crate, size: 0.2, mass: 1.0, position: [0, 0, 0.1], velocity: [1, 0, 0]}
run: {duration: 0.02, dt: 0.001}
"""
LONG = "x" * 5000
VARY = ("--vary", "friction=0.1,0.2")
PUSHES = ("--across", "1,0,0,0,0,0", "--up", "0,0,1,0,0,0")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scene.yaml").write_text(SCENE)
    ss.save(ss.LCP(np.eye(2), [-1.0, 1.0]), "problem.h5")
    Path("model.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    Path("folder").mkdir()
    os.mkfifo("pipe")


def run(*arguments):
    return CliRunner().invoke(main, arguments)


MISUSE = [
    ("run",),
    ("run", "absent.yaml"),
    ("run", "folder"),
    ("run", "pipe"),
    ("run", LONG),
    ("run", "nul\0"),
    ("run", "problem.h5"),
    ("run", "scene.yaml", "--duration", "1e308"),
    ("run", "scene.yaml", "--duration", "-1"),
    ("run", "scene.yaml", "--duration", "nan"),
    ("run", "scene.yaml", "--duration", "inf"),
    ("run", "scene.yaml", "--dt", "1e-300"),
    ("run", "scene.yaml", "--dt", "0"),
    ("run", "scene.yaml", "--dt", "0.03"),
    ("run", "scene.yaml", "--tol", "inf"),
    ("run", "scene.yaml", "--tol", "nan"),
    ("run", "scene.yaml", "--tol", "1e30"),
    ("run", "scene.yaml", "--accept", "1e30"),
    ("run", "scene.yaml", "--threads", "1000000000000"),
    ("run", "scene.yaml", "--tol", "-1"),
    ("run", "scene.yaml", "--accept", "1e-300"),
    ("run", "scene.yaml", "--solver", ""),
    ("run", "scene.yaml", "--solver", "nonsense"),
    ("run", "scene.yaml", "--friction", ""),
    ("run", "scene.yaml", "--friction", "coulomb:x"),
    ("run", "scene.yaml", "--friction", "stewart_trinkle:directions=1e9"),
    ("run", "scene.yaml", "--save", "scene.yaml"),
    ("run", "scene.yaml", "--save", "./folder/../scene.yaml"),
    ("run", "scene.yaml", "--save", "folder"),
    ("run", "scene.yaml", "--save", "pipe"),
    ("run", "scene.yaml", "--save", "absent/run.h5"),
    ("run", "scene.yaml", "--save", f"{LONG}.h5"),
    ("run", "scene.yaml", "--save", "nul\0.h5"),
    ("run", "scene.yaml", "--save", "a.png", "--plot", "a.png"),
    ("run", "scene.yaml", "--plot", "scene.txt"),
    ("run", "scene.yaml", "--plot", f"{LONG}.png"),
    ("run", "--resume", "absent.h5"),
    ("run", "--resume", "scene.yaml"),
    ("run", "--resume", "problem.h5"),
    ("run", "--resume", "pipe"),
    ("run", "scene.yaml", "--resume", "run.h5"),
    ("run", "--resume", "run.h5", "--dt", "1"),
    ("run", "--resume", "run.h5", "--save", "other.h5"),
    ("run", "--resume", "run.h5", "--save", "run.h5"),
    ("run", "--resume", "run.h5", "--duration", "0.001"),
    ("compare", "scene.yaml", "--friction", ""),
    ("compare", "scene.yaml", "--friction", "phantom", "--dt", "0"),
    ("compare", "scene.yaml", "--friction", "phantom", "--dt", "x"),
    ("compare", "scene.yaml", "--friction", "phantom", "--body", "absent"),
    ("compare", "scene.yaml", "--friction", "phantom", "--reference-dt", "1e-300"),
    ("compare", "scene.yaml", "--friction", "phantom", "--solver", "nonsense"),
    ("compare", "scene.yaml", "--friction", "phantom", "--tol", "nan"),
    ("compare", "scene.yaml", "--friction", "phantom", "--engine", "nonsense"),
    ("solve", "absent.h5"),
    ("solve", "folder"),
    ("solve", "pipe"),
    ("solve", LONG),
    ("solve", "scene.yaml"),
    ("solve", "problem.h5", "--tol", "inf"),
    ("solve", "problem.h5", "--tol", "0"),
    ("solve", "problem.h5", "--tol", "1"),
    ("solve", "problem.h5", "--method", ""),
    ("solve", "problem.h5", "--method", "nsgs"),
    ("solve", "problem.h5", "--save", "problem.h5"),
    ("solve", "problem.h5", "--save", "run.h5"),
    ("run", "scene.yaml", "--save", "problem.h5"),
    ("solve", "problem.h5", "--save", "answer.txt"),
    ("solve", "problem.h5", "--save", "absent/answer.h5"),
    ("solve", "problem.h5", "--save", f"{LONG}.npz"),
    ("demo", "--seed", "3"),
    ("demo", "--seed", "0", "--figure", "demo.png"),
    ("jam", "rod", "--resolution", "1000000000"),
    ("jam", "rod", "--resolution", "-1"),
    ("jam", "rod", "--resolution", LONG),
    ("jam", "rod", "--mu", "nan"),
    ("jam", "rod", "--joint", "theta=1:2", "--joint", "theta=3:4"),
    ("jam", "rod", "--joint", "theta=nan:4"),
    ("jam", "rod", "--joint", "absent=1:2"),
    ("jam", "absent.urdf", "--frame", "tip"),
    ("jam", "pipe", "--frame", "tip"),
    ("push", "peg", "--radius", "nan"),
    ("push", "peg", "--depth", "0"),
    ("push", "peg", "--mu", "-1"),
    ("push", "peg", "--window", "1,0,0,1"),
    ("push", "peg", "--window", "1,2"),
    ("push", "peg", "--window", ""),
    ("push", "peg", "--body", ""),
    ("jam", "rod", "--frame", ""),
    ("push", "peg", "--window", "nan,1,0,1"),
    ("push", "scene.yaml", "--body", "absent", *PUSHES, "--base", "0,0,0,0,0,0"),
    ("push", "scene.yaml", "--body", "crate", *PUSHES, "--base", "0,0,0"),
    ("sweep",),
    ("sweep", "absent.yaml", *VARY),
    ("sweep", "pipe", *VARY),
    ("sweep", "problem.h5", *VARY),
    ("sweep", "scene.yaml"),
    ("sweep", "scene.yaml", "--vary", "friction"),
    ("sweep", "scene.yaml", "--vary", "friction=0:1:1000000000"),
    ("sweep", "scene.yaml", "--vary", "friction=0:1:100000", "--vary", "gravity.z=0:1:100000"),
    ("sweep", "scene.yaml", "--vary", "friction=0:1:-3"),
    ("sweep", "scene.yaml", "--vary", "friction=0:inf:3"),
    ("sweep", "scene.yaml", "--vary", "friction=abc"),
    ("sweep", "scene.yaml", "--vary", "friction=0.1", "--vary", "friction=0.2"),
    ("sweep", "scene.yaml", "--vary", f"{LONG}=1"),
    ("sweep", "scene.yaml", *VARY, "--measure", "absent"),
    ("sweep", "scene.yaml", *VARY, "--out", "scene.yaml"),
    ("sweep", "scene.yaml", *VARY, "--out", "problem.h5"),
    ("sweep", "scene.yaml", *VARY, "--out", "problem.h5", "--fresh"),
    ("sweep", "scene.yaml", *VARY, "--out", "run.h5", "--fresh"),
    ("sweep", "scene.yaml", *VARY, "--out", "pipe"),
    ("sweep", "scene.yaml", *VARY, "--csv", "scene.yaml"),
    ("sweep", "scene.yaml", *VARY, "--csv", "a.h5", "--out", "a.h5"),
    ("sweep", "scene.yaml", *VARY, "--keep", LONG),
    ("sweep", "scene.yaml", *VARY, "--engine", "nonsense"),
    ("sweep", "scene.yaml", *VARY, "--engine", "dask:nonsense"),
    ("sweep", "scene.yaml", *VARY, "--workers", "0"),
    ("sweep", "scene.yaml", *VARY, "--law", "nonsense"),
    ("sweep", "scene.yaml", *VARY, "--duration", "nan"),
    ("sweep", "scene.yaml", *VARY, "--dt", "1000"),
    ("sweep", "scene.yaml", *VARY, "--map"),
    ("sweep", "scene.yaml", *VARY, "--retry"),
    ("sweep", "scene.yaml", *VARY, "--fresh"),
    ("export", "run.h5"),
    ("export", "run.h5", "run.h5"),
    ("export", "run.h5", "folder"),
    ("export", "run.h5", "a.html", "--ghost", "absent.h5"),
    ("export", "problem.h5", "a.html"),
    ("view", "absent.yaml"),
    ("view", "pipe"),
    ("view", LONG),
    ("view", "scene.yaml", "--port", "-1"),
    ("view", "scene.yaml", "--port", "70000"),
    ("view", "scene.yaml", "--host", ""),
    ("audit", "absent.xml"),
    ("audit", "pipe"),
    ("audit", "/proc/self/mem"),
    ("audit", "scene.yaml"),
    ("audit", "model.xml", "--seconds", "1e18"),
    ("nonsense",),
    ("solve", "problem.h5", "--nonsense"),
    ("paper", "absent"),
    ("demo", "--figure", "demo.txt"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", MISUSE, ids=lambda arguments: " ".join(arguments)[:60].replace("\0", "0"))
def test_one_sentence_and_nothing_written(arguments):
    if "run.h5" in arguments:
        ss.simulate(ss.load_scene("scene.yaml"), 0.01, 1e-3, path="run.h5").close()
    before = {path: path.read_bytes() for path in Path().glob("*.*") if path.is_file()}
    result = run(*arguments)
    assert result.exit_code == BAD_INPUT, result.output + repr(result.exception)
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("stickslip: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 1500
    assert {path: path.read_bytes() for path in Path().glob("*.*") if path.is_file()} == before


def test_a_run_goes_on_at_the_command_line():
    assert run("run", "scene.yaml", "--save", "run.h5").exit_code == 0
    result = run("run", "--resume", "run.h5", "--duration", "0.04")
    assert result.exit_code == 0
    assert "40 of 0.001 s, all solved" in result.output
    assert "trajectory written to run.h5" in result.output
    whole = ss.simulate(ss.load_scene("scene.yaml"), 0.04, 1e-3)
    with ss.Trajectory.load("run.h5") as longer:
        np.testing.assert_array_equal(longer.position("crate"), whole.position("crate"))


def process(*arguments, **settings):
    command = [sys.executable, "-c", "from stickslip.cli import main; main()", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **settings)


@pytest.mark.parametrize("arguments", [("solve", "problem.h5"), ("--help",), ("--version",), ("run", "--help")])
def test_a_full_output_is_one_sentence(arguments):
    with open("/dev/full", "w") as full, process(*arguments, stdout=full) as writer:
        assert writer.stderr.read() == "stickslip: the output cannot be written (No space left on device)\n"
    assert writer.returncode == BAD_INPUT


def test_a_limit_to_the_size_of_files_is_one_sentence_and_the_run_goes_on():
    resource = pytest.importorskip("resource", reason="this system has no limits to the size of a file")

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))

    settings = {"stdout": subprocess.DEVNULL, "preexec_fn": limited}
    with process("run", "scene.yaml", "--duration", "20000", "--save", "run.h5", **settings) as writer:
        assert writer.stderr.read() == "stickslip: run.h5: cannot be written (File too large)\n"
    assert writer.returncode == BAD_INPUT
    with ss.Trajectory.load("run.h5") as kept:
        steps = len(kept)
    assert steps > 0
    result = run("run", "--resume", "run.h5", "--duration", f"{0.001 * (steps + 10):.3f}")
    assert result.exit_code == 0, result.output


def test_a_closed_output_changes_nothing():
    """The file that is written must not take the number of the stream that is closed, nor what is printed."""
    script = 'exec "$0" -c "from stickslip.cli import main; main()" run scene.yaml --save run.h5 >&-'
    done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with ss.Trajectory.load("run.h5") as kept:
        assert kept.finished


def test_ctrl_c_while_modules_are_loaded_is_one_sentence():
    stops = (
        "import sys\nclass Stop:\n    def find_spec(self, *_): raise KeyboardInterrupt\nsys.meta_path[:0] = [Stop()]\n"
    )
    code = "from stickslip.__main__ import main\n" + stops + "main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (STOPPED, "stickslip: stopped\n")


def test_nothing_is_loaded_before_ctrl_c_is_caught():
    """What `import stickslip` loads comes before main(), where Ctrl-C would be a traceback."""
    code = "import os, importlib, sys; old = {*sys.modules}; import stickslip.__main__; print(*{*sys.modules} - old)"
    sources = {**os.environ, "PYTHONPATH": str(Path(ss.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=sources)
    assert set(done.stdout.split()) <= {"stickslip", "stickslip.__main__", "__future__"}


def test_ctrl_c_is_one_sentence_and_the_run_goes_on():
    with process("run", "scene.yaml", "--duration", "20000", "--save", "run.h5", stdout=subprocess.DEVNULL) as writer:
        until = time.monotonic() + 300
        while not Path("run.h5").exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        writer.send_signal(signal.SIGINT)
        said = writer.stderr.read()
    assert writer.returncode == STOPPED
    with ss.Trajectory.load("run.h5") as kept:
        steps = len(kept)
    assert said == (
        f"stickslip: stopped after {steps} steps, which are in run.h5; stickslip run --resume run.h5 goes on\n"
    )
    result = run("run", "--resume", "run.h5", "--duration", f"{0.001 * (steps + 10):.3f}")
    assert result.exit_code == 0, result.output
