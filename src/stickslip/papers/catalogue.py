"""The figures and tables that `stickslip paper NAME` makes, by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from stickslip.errors import InputError
from stickslip.papers.report import Report

Announce: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Entry:
    """Where an item of a paper is made. `function(figure, announce)` gives its report; `figure` is a path or None."""

    about: str
    module: str
    function: str
    has_figure: bool

    def make(self, figure: str | None, announce: Announce) -> Report:
        module = import_module(f"stickslip.papers.{self.module}")
        report: Report = getattr(module, self.function)(figure, announce)
        return report


PAPERS = {
    "peiret2017-fig4": Entry("figure 4: a cube slides and spins until it stops", "peiret2017", "figure_4", True),
    "peiret2017-table": Entry("where the cube stops, under each formulation", "peiret2017", "final_states", False),
    "peiret2017-rank": Entry("rank of the matrix with and without phantom inertia", "peiret2017", "ranks", False),
    "trinkle2018": Entry("the Stewart–Trinkle LCP on particles and spheres", "trinkle2018", "examples", True),
    "trinkle-pang-fig3": Entry("example 1: 400 pairs of friction, four times", "trinkle_pang", "first_example", True),
    "trinkle-pang-table1": Entry("example 2: jamming and sliding", "trinkle_pang", "second_example", False),
    "preclik": Entry("the stiff limit of a table, and what slides lifts", "preclik", "examples", True),
}


def entry(name: str) -> Entry:
    if name not in PAPERS:
        raise InputError(f"paper: the name is {name!r}, expected one of {', '.join(PAPERS)}")
    return PAPERS[name]
