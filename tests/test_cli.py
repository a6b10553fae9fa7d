"""The command line: what it prints, and its exit codes."""

import os
import re

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import stickslip
from stickslip import demo
from stickslip.cli import duration, main
from stickslip.papers.catalogue import PAPERS, Entry
from stickslip.papers.report import Check, Report
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import save
from stickslip.problems.lcp import LCP

SOLVED, NOT_SOLVED, BAD_INPUT, STOPPED = 0, 1, 2, 130


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.fixture
def solvable(tmp_path):
    save(LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), tmp_path / "solvable.h5")
    return "solvable.h5"


@pytest.fixture
def infeasible(tmp_path):
    save(LCP([[0.0, -1.0], [1.0, 0.0]], [-1.0, 1.0]), tmp_path / "infeasible.h5")
    return "infeasible.h5"


def one_sentence(result):
    """What was said on stderr, which is a single line without a traceback."""
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("stickslip: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_version(run):
    assert run("--version").output.strip().endswith(stickslip.__version__)


def test_help_names_the_commands(run):
    result = run("--help")
    assert result.exit_code == 0
    for command in ("compare", "demo", "jam", "paper", "run", "solve", "sweep"):
        assert f"  {command} " in result.output


def test_solve_prints_what_was_found(run, solvable):
    result = run("solve", solvable)
    assert result.exit_code == SOLVED
    rows = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert rows["problem"].strip() == "LCP(n=2)"
    assert rows["status"].strip() == "SOLVED"
    assert rows["method"].startswith("Lemke(")
    assert float(rows["residual"].split()[0]) <= 1e-10
    assert int(rows["iterations"]) >= 1
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_solve_takes_a_method_and_a_tolerance(run, solvable):
    result = run("solve", solvable, "--method", "murty", "--tol", "1e-6")
    assert result.exit_code == SOLVED
    assert "Murty(tol=1e-06" in result.stdout


def test_solve_friction(run, tmp_path):
    save(ConeProblem(np.eye(3), [-1.0, 0.9, 0.0], [0.5]), tmp_path / "block.h5")
    result = run("solve", "block.h5")
    assert result.exit_code == SOLVED
    assert "NSGS" in result.stdout


def test_no_solution_is_exit_code_1(run, infeasible):
    result = run("solve", infeasible)
    assert result.exit_code == NOT_SOLVED
    assert "RAY" in result.stdout
    assert "no feasible point" in result.stdout


def test_save_npz(run, solvable, tmp_path):
    assert run("solve", solvable, "--save", "answer.npz").exit_code == SOLVED
    with np.load("answer.npz") as answer:
        np.testing.assert_allclose(answer["x"], [4 / 3, 7 / 3])
        np.testing.assert_allclose(answer["y"], [0.0, 0.0], atol=1e-12)
        assert answer["status"] == "SOLVED"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.npz", solvable]


def test_save_h5(run, solvable):
    assert run("solve", solvable, "--save", "answer.h5").exit_code == SOLVED
    with h5py.File("answer.h5") as answer:
        np.testing.assert_allclose(answer["x"][()], [4 / 3, 7 / 3])
        assert answer["status"].asstr()[()] == "SOLVED"
        assert answer["residual"][()] <= 1e-10


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["absent.h5"], "absent.h5"),
        (["foreign.h5"], "foreign.h5"),
        (["solvable.h5", "--method", "magic"], "'magic'"),
        (["solvable.h5", "--method", "nsgs"], "NSGS"),
        (["solvable.h5", "--tol", "-1"], "tol is -1.0"),
        (["solvable.h5", "--tol", "nan"], "tol is nan"),
        (["solvable.h5", "--save", "answer.txt"], ".npz or .h5"),
        (["solvable.h5", "--save", "absent/answer.npz"], "absent/answer.npz"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, solvable, tmp_path, arguments, part):
    (tmp_path / "foreign.h5").write_text("this is not HDF5")
    result = run("solve", *arguments)
    assert result.exit_code == BAD_INPUT
    assert part in one_sentence(result)


def test_unknown_options_are_exit_code_2(run, solvable):
    assert run("solve", solvable, "--speed", "11").exit_code == BAD_INPUT


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (4.56e-5, "0.046 ms"), (123.4, "123 s")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.fixture
def small_demo(monkeypatch):
    """The problems of the demo without the larger ones."""
    monkeypatch.setattr(demo, "LAYERS", 2)
    everything = demo.examples
    monkeypatch.setattr(demo, "examples", lambda seed: (*everything(seed)[:5], demo.pile(2, seed)))


def test_a_process_beside_the_demo_compiles_what_it_names():
    with demo.compiling_beside():
        demo.compile_last()


def test_doctor_tells_what_serves_and_tries_it(run):
    result = run("doctor")
    assert result.exit_code == SOLVED, result.output
    for part in ("machine code: ", "cache: ", "extra robots: ", "self-test: right"):
        assert part in result.stdout


def test_demo_of_problems_prints_a_table_and_draws(run, small_demo, tmp_path):
    result = run("demo", "--problems", "--figure", "pile.png")
    assert result.exit_code == SOLVED, result.output
    assert (tmp_path / "pile.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, result.stdout.splitlines())) <= 80
    rows = {line[:26].strip(): line[26:].split() for line in result.stdout.splitlines()}
    assert "solved" in rows["Murty exponential"]
    assert "infeasible" in rows["no feasible point"]
    assert rows["feasible, unsolvable"][2:4] == ["no", "solution"]
    assert "(0, 2) and (1, 0)" in result.stdout


def test_demo_fails_if_a_solvable_problem_is_not_solved(run, small_demo, monkeypatch):
    everything = demo.examples
    hopeless = demo.Example("hopeless", LCP([[0.0]], [-1.0]), solvable=True)
    monkeypatch.setattr(demo, "examples", lambda seed: (hopeless, *everything(seed)))
    result = run("demo", "--problems")
    assert result.exit_code == NOT_SOLVED
    assert "hopeless" in result.stderr.splitlines()[-1]


def test_demo_refuses_a_bad_path_at_once(run):
    result = run("demo", "--figure", "absent/pile.png")
    assert result.exit_code == BAD_INPUT
    assert "there is no folder absent" in one_sentence(result)


def test_demo_slides_the_cube_under_eight_formulations(run, monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "DURATION", 0.03)
    result = run("demo", "--figure", "cube.png")
    assert result.exit_code == SOLVED, result.output
    assert (tmp_path / "cube.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, result.stdout.splitlines())) <= 80
    rows = table(result.stdout)
    assert len(rows) == 8
    for name, cells in rows.items():
        _, y, z, turn, off, _, residual, _ = map(float, cells)
        lifts = name == "compliant_cone"
        assert (z > 0.51) == lifts
        assert lifts or (off < 0.01 and y == pytest.approx(0.15, abs=0.01) and turn == pytest.approx(0.19, abs=0.02))
        assert residual <= 1e-10


# scenes

SLIDER = """
bodies:
  - {shape: plane, name: floor, friction: 0.5}
  - {shape: particle, name: puck, mass: 2.0, velocity: [2, 0, 0]}
run: {duration: 0.6, dt: 0.01, friction: {stewart_trinkle: {directions: 4}}}
"""
STOPS = 0.39779  # where the puck stops with steps of 10 ms, h Σ (v - k μ g h)   [m]


@pytest.fixture
def slider(tmp_path):
    (tmp_path / "slider.yaml").write_text(SLIDER)
    return "slider.yaml"


def table(text):
    """The numbers of each row under a rule of dashes, by the words before them."""
    rows, inside = {}, False
    for line in text.splitlines():
        inside = line.startswith("──") or (inside and bool(line.strip()))
        if inside and not line.startswith("──"):
            words = line.split()
            first = next(i for i, word in enumerate(words) if is_number(word) and not line.startswith(word))
            rows[" ".join(words[:first])] = words[first:]
    return rows


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_run_does_what_the_file_says(run, slider):
    result = run("run", slider)
    assert result.exit_code == SOLVED, result.output
    assert "StewartTrinkle(directions=4" in result.stdout
    assert "60 of 0.01 s, all solved" in result.stdout
    assert "1 at most, 1 at the end" in result.stdout
    start, end = re.search(r"energy +(\S+) J at the start, (\S+) J at the end", result.stdout).groups()
    assert (float(start), float(end)) == pytest.approx((4.0, 0.0), abs=1e-15)
    x, y, z, *_ = map(float, table(result.stdout)["puck"])
    assert (x, y, z) == pytest.approx((STOPS, 0.0, 0.0), abs=1e-5)


def test_options_of_run_go_before_the_file(run, slider):
    result = run("run", slider, "--duration=0.1", "--dt=5e-3", "--friction=coulomb", "--solver=nsgs", "--tol=1e-10")
    assert result.exit_code == SOLVED, result.output
    assert "Coulomb(" in result.stdout
    assert "by nsgs" in result.stdout
    assert "20 of 0.005 s" in result.stdout
    assert "(tol 1e-10)" in result.stdout


def test_run_saves_and_draws(run, slider, tmp_path):
    result = run("run", slider, "--save", "puck.h5", "--plot", "puck.png", "--what", "energy")
    assert result.exit_code == SOLVED, result.output
    with stickslip.Trajectory.load("puck.h5") as saved:
        assert len(saved) == 60
        assert saved.position("puck")[-1, 0] == pytest.approx(STOPS, abs=1e-10)
    assert (tmp_path / "puck.png").read_bytes().startswith(b"\x89PNG")


def test_a_step_that_is_not_solved_is_exit_code_1(run, slider, tmp_path):
    arguments = ("run", slider, "--friction", "coulomb", "--solver", "nsgs", "--tol", "1e-300", "--accept", "1e-300")
    result = run(*arguments)
    assert result.exit_code == NOT_SOLVED
    assert "step 0 at time 0 s was not solved" in one_sentence(result)
    assert (tmp_path / "stickslip-failed-step-0.h5").exists()
    kept_going = run(*arguments, "--keep-going")
    assert kept_going.exit_code == NOT_SOLVED
    assert "steps were not solved, the first is 0" in one_sentence(kept_going)
    assert "puck" in table(kept_going.stdout)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "absent.yaml"], "absent.yaml: there is no such file"),
        (["run", "slider.yaml", "--friction", "honey"], "friction is 'honey', expected one of coulomb, phantom"),
        (["run", "slider.yaml", "--friction", "box:colour=3"], "box: colour is 3, expected one of the settings"),
        (["run", "slider.yaml", "--friction", "box:slip_speed"], "expected a name, or name:setting=value"),
        (["run", "slider.yaml", "--solver", "magic"], "'magic'"),
        (["run", "slider.yaml", "--dt", "-1"], "dt is -1.0, expected a positive number"),
        (["run", "slider.yaml", "--dt", "0.7"], "expected a whole number of steps"),
        (["run", "slider.yaml", "--plot", "puck.txt"], "expected .png, .pdf or .svg"),
        (["run", "slider.yaml", "--save", "absent/puck.h5"], "absent/puck.h5"),
        (["run", "timeless.yaml"], "timeless.yaml: run.duration is missing, expected it in the file or as --duration"),
        (["run", "wrong.yaml"], "Phantom: inertia is -1, expected a number >= 0"),
        (["compare", "slider.yaml", "--friction", "box", "--dt", "fast"], "--dt is 'fast', expected numbers"),
        (["compare", "slider.yaml", "--friction", "box", "--body", "moon"], "'moon'"),
        (["compare", "slider.yaml", "--friction", "box,honey"], "friction is 'honey'"),
        (["compare", "empty.yaml", "--friction", "box"], "the scene has no free body"),
        (["paper", "moby-dick"], "the name is 'moby-dick', expected one of peiret2017-fig4"),
        (["paper", "peiret2017-rank", "--figure", "a.png"], "peiret2017-rank has no figure"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_scenes_and_names_are_one_sentence_and_exit_code_2(run, slider, tmp_path, arguments, part):
    (tmp_path / "timeless.yaml").write_text(SLIDER.split("run:")[0])
    (tmp_path / "wrong.yaml").write_text(SLIDER.replace("stewart_trinkle: {directions: 4}", "phantom: {inertia: -1}"))
    (tmp_path / "empty.yaml").write_text("run: {duration: 1.0, dt: 0.1}")
    result = run(*arguments)
    assert result.exit_code == BAD_INPUT
    assert part in one_sentence(result)


def test_compare(run, slider, tmp_path):
    friction = "stewart_trinkle:directions=4,compliant_cone"
    result = run("compare", slider, "--friction", friction, "--dt", "1e-2,5e-3", "--figure", "puck.png")
    assert result.exit_code == SOLVED, result.output
    assert (tmp_path / "puck.png").read_bytes().startswith(b"\x89PNG")
    assert "Reference: Coulomb's law, dt 0.5 ms." in result.stdout
    coarse, fine = result.stdout.split("dt 5 ms")
    assert float(table(coarse)["stewart_trinkle:directions=4"][0]) == pytest.approx(STOPS, abs=1e-4)
    assert set(table(fine)) == {"stewart_trinkle:directions=4", "compliant_cone"}


# papers


def test_papers_are_listed(run):
    result = run("paper")
    assert result.exit_code == SOLVED
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names[:3] == ["peiret2017-fig4", "peiret2017-table", "peiret2017-rank"]
    assert names == list(PAPERS)


def test_a_paper_prints_known_numbers_beside_ours(run):
    result = run("paper", "peiret2017-rank")
    assert result.exit_code == SOLVED, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "4 contacts, 2 axes, rigid, ρ = 1 33 34 33 34 0.0e+00 exact" in lines


def test_a_number_that_is_not_met_is_exit_code_1(run, monkeypatch):
    report = Report("Title", "numbers", (Check("right", (1.0,), (1.0,), 1e-3), Check("wrong", (1.0,), (2.0,), 0.5)))
    monkeypatch.setattr(Entry, "make", lambda self, figure, announce: report)
    result = run("paper", "peiret2017-rank")
    assert result.exit_code == NOT_SOLVED
    assert one_sentence(result) == "stickslip: not met: wrong\n"


SCENE = """
bodies:
  - {shape: plane}
  - {shape: sphere, radius: 0.5, mass: 1.0, position: [0, 0, 0.5]}
run: {duration: 0.02, dt: 0.01}
"""


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE)
    return "scene.yaml"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--duration", "1e308"), "duration is 1e+308"),
        (("--duration", "1e30"), "expected at most 1e+09"),
        (("--dt", "1e-300"), "expected at most 1e+09"),
        (("--duration", "nan"), "duration is nan"),
        (("--dt", "inf"), "dt is inf"),
        (("--dt", "-0.01"), "dt is -0.01"),
        (("--tol", "inf"), "tol is inf"),
        (("--tol", "nan"), "tol is nan"),
        (("--tol", "0"), "tol is 0"),
        (("--accept", "nan"), "accept is nan"),
        (("--solver", ""), "solver is ''"),
        (("--solver", "nonsense"), "solver is 'nonsense'"),
        (("--friction", ""), "friction is ''"),
        (("--friction", "phantom:directions=1000000000"), "directions is 1000000000"),
        (("--plot", "x" * 5000 + ".png"), "cannot be written"),
    ],
)
def test_options_of_a_run_that_cannot_be(run, scene, options, said):
    result = run("run", scene, *options)
    assert result.exit_code == BAD_INPUT
    sentence = one_sentence(result)
    assert said in sentence
    assert len(sentence) < 500


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("jam", "rod", "--resolution", str(10**9)), "resolution is 1000000000"),
        (("jam", "arm", "--resolution", "10000"), "at most 4e+06 poses"),
        (("jam", "rod", "--resolution", "2"), "resolution is 2"),
        (("jam", "rod", "--joint", "theta=10:20", "--joint", "theta=30:40"), "names 'theta' twice"),
        (("jam", "rod", "--joint", "theta=nan:20"), "theta"),
        (("push", "peg", "--radius", "nan"), "radius is nan"),
        (("push", "peg", "--depth", "1e300"), "depth is 1e+300"),
        (("push", "peg", "--window", "0,inf,0,1"), "window"),
    ],
)
def test_options_of_analyses_that_cannot_be(run, arguments, said):
    result = run(*arguments)
    assert result.exit_code == BAD_INPUT
    assert said in one_sentence(result)


@pytest.mark.parametrize("command", ["run", "solve", "jam"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "long name", "empty", "binary", "missing"])
def test_files_that_are_none(run, tmp_path, command, kind):
    name = "file" if kind != "long name" else 5000 * "x"
    match kind:
        case "pipe":
            os.mkfifo(tmp_path / name)
        case "folder":
            (tmp_path / name).mkdir()
        case "empty":
            (tmp_path / name).write_bytes(b"")
        case "binary":
            (tmp_path / name).write_bytes(bytes(range(256)))
    if command == "jam":
        pytest.importorskip("pinocchio")
    result = run(command, name, *(("--frame", "tip") if command == "jam" else ()))
    assert result.exit_code == BAD_INPUT
    assert len(one_sentence(result)) < 500


def test_ctrl_c_is_one_sentence(run, solvable, monkeypatch):
    def stopped(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("stickslip.solvers.solve.solve", stopped)
    result = run("solve", solvable)
    assert result.exit_code == STOPPED
    assert one_sentence(result) == "stickslip: stopped\n"
