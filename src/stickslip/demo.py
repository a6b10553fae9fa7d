"""What `stickslip demo` shows: the cube of Peiret 2017 under eight formulations of friction.

With --problems it is a set of complementarity problems: textbook cases, random classes, stacks and a pile of balls.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from stickslip.friction.anitescu_potra import AnitescuPotra
from stickslip.friction.box import Box
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.compliant_cylinder import CompliantCylinder
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.hybrid import Hybrid
from stickslip.friction.phantom import Phantom
from stickslip.friction.stabilisation import Relaxation
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.pack import pack
from stickslip.papers.peiret2017 import cube
from stickslip.problems.cone import ConeProblem
from stickslip.problems.mechanical import box_stack, chain, normal_lcp, pile_positions, polyhedral_lcp, sphere_pile
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.random_classes import random_lcp
from stickslip.problems.textbook import Case, murty_exponential, textbook
from stickslip.solvers.cone_interior_point import ConeInteriorPoint
from stickslip.solvers.enumeration import all_solutions
from stickslip.solvers.lemke import Lemke
from stickslip.solvers.solution import Problem, Solution, Status
from stickslip.solvers.solve import Auto, solve
from stickslip.sweeps.compare import Comparison, compare

DURATION, STEP = 0.8, 1e-2  # of the cube   [s]
SOLVER = Auto(tol=1e-10)  # how its springs share the load is seen in the last digits
READING = (
    "Coulomb, phantom, hybrid and the compliant cylinder tend to the reference as the step shrinks. The others do not: "
    "facets and boxes make friction depend on its direction, and under the compliant cone what slides lifts."
)
LAYERS, RADIUS = 6, 0.05  # of the pile of balls [m]
SEVERAL = "two"  # the textbook case whose solutions are all shown


@dataclass(frozen=True, eq=False)
class Example:
    """A problem to show, and whether it has a solution at all."""

    name: str
    problem: Problem
    solvable: bool = True


@dataclass(frozen=True, eq=False)
class Solved:
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


def slide(announce: Callable[[str], None]) -> Comparison:
    """The box of Peiret 2017 under each formulation, all on the springs that the paper gives it."""
    springs = Relaxation()
    formulations: dict[str, Formulation] = {
        "coulomb": Coulomb(springs),
        "phantom": Phantom(),
        "hybrid": Hybrid(),
        "compliant_cylinder": CompliantCylinder(),
        "stewart_trinkle (8)": StewartTrinkle(directions=8, stabilisation=springs),
        "anitescu_potra (4)": AnitescuPotra(directions=4, stabilisation=springs),
        "box": Box(),
        "compliant_cone": CompliantCone(),
    }
    with compiling_beside():
        return compare(
            cube(), DURATION, formulations, [STEP], solver=SOLVER, reference_solver=SOLVER, announce=announce
        )


@contextmanager
def compiling_beside() -> Iterator[None]:
    """Compile in another process, into the cache that both share, what the cube needs last: half of its first run.
    Not where machine code was installed."""
    if pack().files:
        yield
        return
    beside = subprocess.Popen(
        [sys.executable, "-c", "from stickslip.demo import compile_last; compile_last()"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        beside.terminate()
        beside.wait()


def compile_last() -> None:
    """Solve a small problem by the interior point method, and one by Lemke's."""
    ConeInteriorPoint().solve(box_stack(1))
    Lemke().solve(MixedLCP(np.eye(2), np.array([-1.0, 1.0]), np.zeros(2), np.ones(2)))


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


def run(example: Example) -> Solved:
    """Solve twice and keep the second: the first may compile."""
    solve(example.problem)
    return Solved(example, solve(example.problem))


def every_solution() -> str:
    """The solutions of the example that has several, in words."""
    found = all_solutions(case(SEVERAL).problem)
    points = " and ".join("(" + ", ".join(f"{value:g}" for value in z) + ")" for z in found.points)
    return f"all_solutions: 'two solutions' has {found.describe()}, {points}."


def draw(outcome: Solved, path: str | os.PathLike[str]) -> None:
    """The pile of balls with its contact impulses."""
    from stickslip.view.figures import force_chains

    problem = outcome.example.problem
    assert isinstance(problem, ConeProblem)
    centres, pairs = pile_positions(LAYERS, RADIUS)
    force_chains(problem, centres, pairs, outcome.answer, path, radius=RADIUS)
