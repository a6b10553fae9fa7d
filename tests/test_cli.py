"""The command line: what it prints, and its exit codes."""

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import stickslip
from stickslip import demo
from stickslip.cli import duration, main
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import save
from stickslip.problems.lcp import LCP

SOLVED, NOT_SOLVED, BAD_INPUT = 0, 1, 2


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
    assert "demo" in result.output
    assert "solve" in result.output


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
    """The demo without its larger problems."""
    monkeypatch.setattr(demo, "LAYERS", 2)
    everything = demo.examples
    monkeypatch.setattr(demo, "examples", lambda seed: (*everything(seed)[:5], demo.pile(2, seed)))


def test_demo_prints_a_table_and_draws(run, small_demo, tmp_path):
    result = run("demo", "--figure", "pile.png")
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
    result = run("demo")
    assert result.exit_code == NOT_SOLVED
    assert "hopeless" in result.stderr.splitlines()[-1]


def test_demo_refuses_a_bad_path_at_once(run):
    result = run("demo", "--figure", "absent/pile.png")
    assert result.exit_code == BAD_INPUT
    assert "there is no folder absent" in one_sentence(result)
