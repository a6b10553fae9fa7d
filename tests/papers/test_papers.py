"""The papers made again: every number to its tolerance."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import InputError
from stickslip.papers import peiret2017, peiret2019_solutions, trinkle_pang
from stickslip.papers.catalogue import PAPERS, entry
from stickslip.papers.report import Check
from stickslip.problems.rod_and_cube import example_1, example_2
from stickslip.sweeps.compare import compare


def quiet(text):
    pass


def test_a_check_is_about_the_largest_difference():
    check = Check("", (1.0, 2.0), (1.1, 2.0), 0.2)
    assert check.difference == pytest.approx(0.1)
    assert check.holds
    assert not Check("", (1.0, 2.0), (1.1, 2.0), 0.05).holds
    assert not Check("", (float("nan"),), (1.0,), 0.05).holds
    assert Check("", (1.0,), (5.0,), None).holds


@pytest.mark.parametrize("name", ["trinkle2018", "preclik"])
def test_examples(name, tmp_path):
    figure = tmp_path / "figure.png"
    report = entry(name).make(str(figure), quiet)
    assert report.failed == ()
    assert len(report.checks) > 10
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_where_the_cube_of_peiret_stops(monkeypatch):
    """At 10 ms, and Coulomb's law to 1e-5 by fine steps; `stickslip paper peiret2017-table` has those between too."""
    some = tuple(row for row in peiret2017.FINAL_STATES if row[2] in (1e-2, 2.5e-6))
    monkeypatch.setattr(peiret2017, "FINAL_STATES", some)
    report = peiret2017.final_states(quiet)
    assert report.failed == ()
    assert sum(check.tolerance is not None for check in report.checks) == 6


def test_ranks_of_peiret():
    assert peiret2017.ranks(quiet).failed == ()


def test_which_algorithms_solve_the_steps_of_peiret(monkeypatch):
    """With the least, a middling and the greatest phantom inertia; `stickslip paper peiret2017-algorithms` has more."""
    monkeypatch.setattr(peiret2017, "AXES", (2, 4))
    monkeypatch.setattr(peiret2017, "INERTIAS", (1e-10, 5e-2, 1e2))
    report = peiret2017.algorithms(quiet)
    assert report.failed == ()
    lemke, murty, cold, warm = np.array([check.ours for check in report.checks[:6]]).T
    assert not lemke.any()
    assert not warm.any()
    assert not cold[:3].any()  # with two axes
    assert murty.any() or cold[3:].any()
    assert report.checks[6].ours[0] <= 1  # with four axes while sliding too


@pytest.mark.parametrize(("h", "inertia"), peiret2017.RANK_DROPS)
def test_the_rank_drops_at_the_phantom_inertia_the_paper_says(h, inertia):
    """To two decades, as it depends on tolerance and scaling."""
    assert 1e-2 < peiret2017.rank_drop(h) / inertia < 1e2
    assert 1e-2 < peiret2017.rank_drop(h) / 1e-8 < 1e2


def test_figure_4_is_drawn(tmp_path):
    short = compare(peiret2017.cube(), 0.04, peiret2017.FIGURE_4, (2e-2, 1e-2), reference_dt=1e-2, solver="auto")
    peiret2017.draw_figure_4(short, str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["peiret2019-fig2", "peiret2019-fig3"])
def test_friction_coupling_of_peiret2019(name, tmp_path):
    report = entry(name).make(str(tmp_path / "figure.png"), quiet)
    assert report.failed == ()
    assert all(check.tolerance is not None for check in report.checks)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["peiret2019-fig4", "peiret2019-fig6", "peiret2019-arm"])
def test_solutions_of_peiret2019(name, tmp_path):
    figure = str(tmp_path / "figure.png") if PAPERS[name].has_figure else None
    report = entry(name).make(figure, quiet)
    assert report.failed == ()
    assert len(report.checks) >= 6
    if figure is not None:
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_through_the_jam_of_peiret2019(tmp_path, monkeypatch):
    """With two springs and two steps in the figure; `stickslip paper peiret2019-jam` has more."""
    monkeypatch.setattr(peiret2019_solutions, "STIFFNESSES", (1e6, 1e7))
    monkeypatch.setattr(peiret2019_solutions, "STEPS", (1e-5, 1e-6))
    figure = tmp_path / "figure.png"
    report = entry("peiret2019-jam").make(str(figure), quiet)
    assert report.failed == ()
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_trinkle_and_pang(tmp_path):
    figure = tmp_path / "figure.png"
    assert entry("trinkle-pang-fig3").make(str(figure), quiet).failed == ()
    assert figure.read_bytes().startswith(b"\x89PNG")
    report = trinkle_pang.second_example(quiet)
    assert report.failed == ()
    assert len(report.checks) == 14


@pytest.mark.parametrize("inverse", [False, True])
def test_example_1_for_any_rod(inverse):
    """det J = -ζ wherever the rod is; three methods agree, and the mechanism obeys Newton's law."""
    settings = {
        "eta": 0.7,
        "torque": (3.0, 1.0),
        "e": ((1.0, 0.5, 0.3), (0.8, 1.0, 0.6)),
        "diagonal": np.arange(1.0, 9.0),
    }
    cube = example_1((0.3, 0.6), 1.3, inverse, **settings)
    assert np.linalg.det(cube.J) == pytest.approx(-1.3)
    methods = ("limit_surface_gauss_seidel", "limit_surface_newton", "potential_reduction")
    answers = [ss.solve(cube.problem, method, tol=1e-10).require() for method in methods]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer.y, answers[0].y, atol=1e-7)
    np.testing.assert_allclose(cube.J.T @ cube.acceleration(answers[0].x), answers[0].y, atol=1e-12)


def test_example_2_jams_or_slides_for_other_data():
    """From the door: the jam that the least friction allows, and beside it a sliding solution."""
    cube = example_2(0.75, eta=1.5, zeta=1.5, torque=(6.0, 3.0), weight=10.0)
    jammed, sliding = ss.all_solutions(cube.problem)
    assert set(jammed.modes) == {"stick"}
    assert set(sliding.modes) == {"slip"}
    other = example_2(0.8, True, diagonal=(1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 4.0, 2.0), e=(1.0, 1.0, 2.0))
    assert len(ss.all_solutions(other.problem)) == 2
    factor, _ = ss.jamming_factor(example_2(1.0, eta=1.4, zeta=1.4, torque=(5.5, 2.5)).problem)
    for mu, jams in ((0.98 * factor, False), (1.02 * factor, True)):
        found = ss.all_solutions(example_2(mu, eta=1.4, zeta=1.4, torque=(5.5, 2.5)).problem)
        assert any(set(solution.modes) == {"stick"} for solution in found) == jams


def test_an_unknown_name():
    assert all(entry(name) is PAPERS[name] for name in PAPERS)
    with pytest.raises(InputError, match="the name is 'x', expected one of peiret2017-fig4"):
        entry("x")
