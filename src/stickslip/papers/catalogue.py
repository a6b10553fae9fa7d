"""The figures and tables that `stickslip paper NAME` makes, by their names."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from stickslip.errors import InputError
from stickslip.papers.report import Announce, Report


@dataclass(frozen=True)
class Entry:
    """Where an item of a paper is made: `function(announce)` gives its report, which draws the figure if it has one."""

    about: str
    module: str
    function: str
    has_figure: bool

    def make(self, figure: str | None, announce: Announce) -> Report:
        """The report; where `figure` is a path, the figure is drawn there."""
        from stickslip.view.figures import check_path

        if figure is not None:
            check_path(figure)
        report: Report = getattr(import_module(f"stickslip.papers.{self.module}"), self.function)(announce)
        if figure is not None and report.draw is not None:
            announce(f"drawing {figure}")
            report.draw(figure)
        return report


PAPERS = {
    "peiret2017-fig4": Entry("figure 4: a cube slides and spins until it stops", "peiret2017", "figure_4", True),
    "peiret2017-table": Entry("where the cube stops, under each formulation", "peiret2017", "final_states", False),
    "peiret2017-rank": Entry("rank of the matrix with and without phantom inertia", "peiret2017", "ranks", False),
    "peiret2017-algorithms": Entry("which pivoting methods solve how many steps", "peiret2017", "algorithms", False),
    "peiret2019-fig2": Entry(
        "figure 2: the generalized friction cone of a rod", "peiret2019_coupling", "figure_2", True
    ),
    "peiret2019-fig3": Entry("figure 3: which way a rod jams", "peiret2019_coupling", "figure_3", True),
    "peiret2019-fig4": Entry("figure 4: none, one and two solutions", "peiret2019_solutions", "figure_4", True),
    "peiret2019-fig6": Entry("figure 6: μ_jam of the arm over its poses", "peiret2019_solutions", "figure_6", True),
    "peiret2019-arm": Entry("equations 46 to 49: the arm", "peiret2019_solutions", "equations", False),
    "peiret2019-jam": Entry("through the jam: impulses, springs, steps", "peiret2019_solutions", "jam", True),
    "trinkle2018": Entry("the Stewart–Trinkle LCP on particles and spheres", "trinkle2018", "examples", True),
    "trinkle-pang-fig3": Entry("example 1: 400 pairs of friction, four times", "trinkle_pang", "first_example", True),
    "trinkle-pang-table1": Entry("example 2: jamming and sliding", "trinkle_pang", "second_example", False),
    "preclik": Entry("the stiff limit of a table, and what slides lifts", "preclik", "examples", True),
}


def entry(name: str) -> Entry:
    if name not in PAPERS:
        raise InputError(f"paper: the name is {name!r}, expected one of {', '.join(PAPERS)}")
    return PAPERS[name]
