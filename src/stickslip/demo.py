"""The set of problems behind `stickslip demo`: textbook cases, random classes, stacks, a chain and a pile of balls."""

from __future__ import annotations

import os
from dataclasses import dataclass

from stickslip.problems.cone import ConeProblem
from stickslip.problems.mechanical import (
    box_stack,
    chain,
    normal_lcp,
    pile_positions,
    polyhedral_lcp,
    sphere_pile,
)
from stickslip.problems.random_classes import random_lcp
from stickslip.problems.textbook import Case, murty_exponential, textbook
from stickslip.solvers.enumeration import all_solutions
from stickslip.solvers.solution import Problem, Solution, Status
from stickslip.solvers.solve import solve

LAYERS, RADIUS = 6, 0.05  # of the pile of balls [m]
SEVERAL = "two"  # the textbook case whose solutions are all shown


@dataclass(frozen=True, eq=False)
class Example:
    """A problem to show, and whether it has a solution at all."""

    name: str
    problem: Problem
    solvable: bool = True


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of an example."""

    example: Example
    answer: Solution

    @property
    def as_expected(self) -> bool:
        return self.answer.solved or not self.example.solvable

    @property
    def verdict(self) -> str:
        """The status in plain words; a proof that there is no solution is named."""
        certificate = self.answer.certificate
        if certificate is not None and certificate.infeasible:
            return "infeasible"
        return {Status.MAX_ITER: "limit reached", Status.NO_SOLUTION: "no solution"}.get(
            self.answer.status, self.answer.status.name.lower()
        )


def examples(seed: int) -> tuple[Example, ...]:
    return (
        Example("quadratic program", case("CPS 4").problem),
        Example("Murty exponential", murty_exponential(12).problem),
        Example("two solutions", case(SEVERAL).problem),
        Example("no feasible point", case("infeasible").problem, solvable=False),
        Example("feasible, unsolvable", case("feasible, unsolvable").problem, solvable=False),
        Example("random semidefinite", random_lcp("psd", 200, seed)),
        Example("random degenerate", random_lcp("degenerate", 200, seed)),
        Example("20 boxes, no friction", normal_lcp(box_stack(20))),
        Example("5 boxes, 4-sided cone", polyhedral_lcp(box_stack(5, seed=seed, stir=0.01))),
        Example("chain of 10 rods, mixed", chain(10, seed)),
        Example("box stack, 80 contacts", box_stack(20, seed=seed, stir=0.01)),
        pile(LAYERS, seed),
    )


def pile(layers: int, seed: int) -> Example:
    problem = sphere_pile(layers, mu=0.5, seed=seed, radius=RADIUS, stir=0.02)
    return Example(f"ball pile, {problem.contacts} contacts", problem)


def case(name: str) -> Case:
    return next(case for case in textbook() if case.name == name)


def run(example: Example) -> Outcome:
    """Solve twice and keep the second: the first may compile."""
    solve(example.problem)
    return Outcome(example, solve(example.problem))


def every_solution() -> str:
    """The solutions of the example that has several, in words."""
    found = all_solutions(case(SEVERAL).problem)
    points = " and ".join("(" + ", ".join(f"{value:g}" for value in z) + ")" for z in found.points)
    return f"all_solutions: 'two solutions' has {found.describe()}, {points}."


def draw(outcome: Outcome, path: str | os.PathLike[str]) -> None:
    """The pile of balls with its contact impulses."""
    from stickslip.view.figures import force_chains

    problem = outcome.example.problem
    assert isinstance(problem, ConeProblem)
    centres, pairs = pile_positions(LAYERS, RADIUS)
    force_chains(problem, centres, pairs, outcome.answer, path, radius=RADIUS)
