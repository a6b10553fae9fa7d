"""The one door: `solve(problem, method=..., tol=...)`, and the rules by which `method="auto"` chooses.

What `auto` does with an LCP or MixedLCP, in this order; it ends at the first method whose answer has a residual of
at most tol, and `Solution.attempts` lists every method that ran:

 1. with a starting point x0: block pivoting from the sets x0 suggests, at most `WARM` factorisations; a
    neighbouring problem (the next time step) usually needs one or two;
 2. tol of at least `LOOSE`, more than `FEW_ROWS` rows, M symmetric with a positive diagonal: projected Gauss–Seidel
    for `SWEEPS` sweeps, which cost no more than a few pivots each and are often enough for a loose tol;
 3. M symmetric and more than `LARGE` rows: the interior point method, whose iterations do not grow with the size;
 4. Lemke's method: it solves every monotone, copositive-plus and P-matrix problem that has a solution. If it ends on
    a ray that proves the problem infeasible, `auto` ends there;
 5. semismooth Newton (Fischer–Burmeister), then the interior point method if it has not run;
 6. at most `FEW` complementary pairs: enumeration of all solutions. It finds one, or shows that there is none
    (status NO_SOLUTION);
 7. block pivoting from the best answer so far, which may only lack the right sets, and from zero;
 8. where bounds lie so far away that M z there is too large for q to be seen beside it: Lemke's method, Newton's, the
    interior point method and enumeration once more, as if these bounds were infinite;
 9. at most `CHOICES` ways of putting rows at their bounds: the equations of the other rows by least squares, for each
    of them. Badly scaled problems, whose solutions the thresholds of all methods above may miss.

With a ConeProblem, where each method after the first starts from the best answer so far:

 1. nonsmooth Gauss–Seidel, given up as soon as by its own rate it would take more than `PATIENCE` further sweeps (half
    of that for tol of at least `LOOSE`, three times in the plane), about what the next method costs: the fastest where
    contacts are few or hang together loosely;
 2. the interior point method for cones, up to `MOST_CONTACTS` contacts: usually 10 to 30 factorisations, whatever the
    size, redundant contacts or not;
 3. nonsmooth Newton for `STEPS` iterations where the best residual so far is at most `CLOSE`: a tol below what the
    interior point method reaches, about 1e-10;
 4. up to `MODEST` contacts: nonsmooth Newton from where the interior point method stopped, for `POLISH` iterations;
    then both again, from the middle of the cones;
 5. what is left are large or jammed piles: ADMM, which creeps towards a solution where others jump about, and nonsmooth
    Newton from where it stopped, in turns of `TURNS` iterations.

Beyond `MOST_CONTACTS` contacts a factorisation takes seconds: then Gauss–Seidel runs for `LONG` sweeps, and ADMM once.

With a CylinderProblem of up to `MOST_DENSE` contacts: Gauss–Seidel for `FIRST` sweeps, nonsmooth Newton, and sweeps
again to their end; of more, the last alone.

With a LimitSurfaceProblem, each method from the best answer so far:

 1. Gauss–Seidel, given up as soon as by its own rate it would take more than `DISTRIBUTED` further sweeps;
 2. up to `MOST_DENSE` contacts: where the friction set is an Ellipsoid and no slip is given, the interior point method;
    nonsmooth Newton; for an Ellipsoid also the potential-reduction method of Wang, Monteiro and Pang, started afresh,
    and Newton again from where it ended; for other sets, Newton from the answer of the interior point method to the
    same problem with the Ellipsoid: contacts slip and open much alike;
 3. Gauss–Seidel for `LONG` sweeps;
 4. up to `MOST_SEARCHED` contacts, where `existence` says that there is a solution: the search through contact modes of
    solvers/contact_modes.py.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from stickslip.checks import Refused, checked, instance, positive
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.friction_sets import Ellipsoid
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Vector, as_dense, asymmetry
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import PROBLEMS, surest_residual, without_far_bounds
from stickslip.solvers.block_lu import MOST_CONTACTS
from stickslip.solvers.solution import Problem, Solution, Solver, Status, conclude, expect, solver_value

WARM = 10  # factorisations of block pivoting from x0
LOOSE = 1e-6  # tol from which projected Gauss–Seidel is worth trying
SWEEPS = 500  # of projected Gauss–Seidel
FEW_ROWS = 128  # up to which Lemke takes less than a tenth of a millisecond, whatever tol
SYMMETRIC = 0.01  # asymmetry of M that counts as none: contact matrices with gyroscopic terms are not exact
LARGE = 500  # rows from which the interior point method goes before Lemke, if M is symmetric
FEW = 20  # complementary pairs that enumeration takes on
CHOICES = 2000  # of what is at a bound, that are tried one by one: a third of a second
PATIENCE = 120  # sweeps of nonsmooth Gauss–Seidel still to come
CLOSE, STEPS = 1e-6, 60  # residual from which Newton's method is worth trying, and its iterations
MODEST, POLISH = 1000, 500  # contacts up to which Newton's method follows the interior point's, and its iterations
LONG = 10_000  # sweeps where there are too many contacts for the interior point method
TURNS = ((1000, 300), (4000, 300), (16_000, 1000))  # iterations of ADMM and of Newton's method
DISTRIBUTED = 1000  # sweeps over distributed contacts still to come
MOST_DENSE = 200  # distributed contacts, and those of cylinders, whose matrix is factorised densely
MOST_SEARCHED = 3  # distributed contacts whose modes are searched: 27 of them
FIRST = 200  # sweeps over cylinders before Newton's method


# each method's name at the command line and in files, and the class it stands for
METHODS = {
    "auto": ("solve", "Auto"),
    "lemke": ("lemke", "Lemke"),
    "murty": ("murty", "Murty"),
    "judice_pires": ("judice_pires", "JudicePires"),
    "pgs": ("pgs", "PGS"),
    "newton": ("newton", "SemismoothNewton"),
    "interior_point": ("interior_point", "InteriorPoint"),
    "enumeration": ("enumeration", "Enumeration"),
    "nsgs": ("nsgs", "NSGS"),
    "nsgs_bodies": ("nsgs_bodies", "BodyNSGS"),
    "cone_interior_point": ("cone_interior_point", "ConeInteriorPoint"),
    "cone_newton": ("cone_newton", "ConeNewton"),
    "admm": ("admm", "ADMM"),
    "apgd": ("apgd", "APGD"),
    "conic": ("conic", "Conic"),
    "tresca": ("fixed_point", "Tresca"),
    "de_saxce": ("fixed_point", "DeSaxceFixedPoint"),
    "cylinder_gauss_seidel": ("fixed_point", "CylinderGaussSeidel"),
    "cylinder_newton": ("cylinder_newton", "CylinderNewton"),
    "limit_surface_gauss_seidel": ("limit_surface_gauss_seidel", "LimitSurfaceGaussSeidel"),
    "limit_surface_interior_point": ("limit_surface_interior_point", "LimitSurfaceInteriorPoint"),
    "limit_surface_newton": ("limit_surface_newton", "LimitSurfaceNewton"),
    "potential_reduction": ("potential_reduction", "PotentialReduction"),
}


known_problem = instance(*PROBLEMS, expected=f"one of {', '.join(kind.__name__ for kind in PROBLEMS)}")


def known_method(owner: str, field: str, value: Any) -> Any:
    """A kind of argument: the name of a method, or a solver with its settings."""
    if isinstance(value, str):
        if value not in METHODS:
            raise Refused(owner, field, value, f"one of {', '.join(METHODS)}")
        return value
    return solver_value(owner, field, value)


@checked(method=known_method, tol=positive)
def solve(
    problem: Problem, method: str | Solver = "auto", tol: float | None = None, x0: Vector | None = None
) -> Solution:
    """Solve a problem to a residual of `tol` (if none is given 1e-10, or 1e-8 for friction problems).

    `method` is a name of METHODS or a solver value such as Lemke(refactor=20), whose own tol holds if none is given.
    """
    if isinstance(method, str) and tol is None:
        tol = known_problem("solve", "problem", problem).tolerance
    return solver_of(method, tol).solve(problem, x0)


def solver_of(method: str | Solver, tol: float | None) -> Solver:
    """The solver of a name or value, with another tol where one is given."""
    if isinstance(method, str):
        return named(method, tol)
    return method if tol is None else replace(method, tol=tol)  # type: ignore[type-var]


@lru_cache(maxsize=64)
def named(method: str, tol: float) -> Solver:
    """The solver value of a name."""
    module, name = METHODS[known_method("solve", "method", method)]
    return getattr(import_module(f"stickslip.solvers.{module}"), name)(tol=tol)


@dataclass(frozen=True, kw_only=True)
@checked(tol=positive)
class Auto:
    """The rules of solve.py: several methods in a documented order, all named in `Solution.attempts`."""

    tol: float = 1e-10

    def solve(self, problem: Problem, x0: Vector | None = None) -> Solution:
        started = expect(self, problem, *PROBLEMS)
        tried: list[Solution] = []
        for solver, start in ladder(problem, x0, self.tol, tried):
            answer = solver.solve(problem, start_of(start, problem, tried, x0))
            if decides(answer):
                if tried:
                    answer = replace(answer, earlier=tuple(tried), seconds=time.perf_counter() - started)
                return answer
            tried.append(answer)
        answer = best_failure(tried)
        others = tuple(other for other in tried if other is not answer)
        return replace(answer, earlier=others, seconds=time.perf_counter() - started)


class Start(Enum):
    """Where a method starts: at the answer with the least residual, at the last one, at no answer, at that of the same
    problem with the Ellipsoid, or where the caller says."""

    BEST, LAST, AFRESH, ROUND, GIVEN = range(5)


Rungs: TypeAlias = Iterator[tuple[Solver, Start]]


def ladder(problem: Problem, x0: Vector | None, tol: float, tried: list[Solution]) -> Rungs:
    """The methods worth trying, in order; `tried` grows while it is read."""
    if isinstance(problem, ConeProblem):
        return cone_ladder(problem, tol, tried)
    if isinstance(problem, CylinderProblem):
        return cylinder_ladder(problem, tol)
    if isinstance(problem, LimitSurfaceProblem):
        return limit_surface_ladder(problem, tol)
    return lcp_ladder(problem, x0, tol)


def lcp_ladder(problem: LCP | MixedLCP, x0: Vector | None, tol: float) -> Rungs:
    for solver in lcp_methods(problem, x0, tol):
        yield solver, Start.GIVEN
    yield chosen("judice_pires", tol, max_iter=WARM), Start.BEST
    yield chosen("judice_pires", tol, max_iter=WARM), Start.AFRESH
    if without_far_bounds(problem, tol) is not problem:
        yield WithoutFarBounds(tol=tol), Start.AFRESH
    if math.prod(map(len, choices_of_rows(problem))) <= CHOICES:
        yield EveryChoice(tol=tol), Start.AFRESH


@dataclass(frozen=True, kw_only=True)
class WithoutFarBounds:
    """The methods of solve.py on a problem without its far bounds. Its answer is one if it lies within them."""

    tol: float = 1e-10

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        started = time.perf_counter()
        near = without_far_bounds(problem, self.tol)
        answers = (each.solve(near) for each in lcp_methods(near, None, self.tol))
        x = next((each.x for each in answers if each.solved), np.zeros(problem.size))
        x = np.clip(x, problem.lower, problem.upper)
        return conclude(problem, self, x, Status.STALLED, 0, started)


@dataclass(frozen=True, kw_only=True)
class EveryChoice:
    """For every choice of rows at bounds, the z between that makes the other rows' |M z + q| least; of all of these the
    one with the least residual."""

    tol: float = 1e-10

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        started = time.perf_counter()
        M, best = as_dense(problem.M), (math.inf, np.zeros(problem.size))
        for choice in itertools.product(*choices_of_rows(problem)):
            z = np.array(choice)
            inside = np.isnan(z)
            z[inside] = 0.0
            try:
                for _ in range(2):  # refined once
                    z[inside] -= np.linalg.lstsq(M[np.ix_(inside, inside)], problem.value(z)[inside])[0]
            except np.linalg.LinAlgError:
                continue  # entries too large for it
            z = np.clip(z, problem.lower, problem.upper)
            best = min(best, (surest_residual(problem, z), z), key=lambda each: each[0])
        return conclude(problem, self, best[1], Status.STALLED, 0, started)


def choices_of_rows(problem: LCP | MixedLCP) -> list[list[float]]:
    """Where each row may be: at a finite bound, or between the bounds (nan)."""
    return [
        [*(bound for bound in dict.fromkeys((low, high)) if math.isfinite(bound)), *([math.nan] if low < high else [])]
        for low, high in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    ]


def lcp_methods(problem: LCP | MixedLCP, x0: Vector | None, tol: float) -> Iterator[Solver]:
    if x0 is not None:
        yield chosen("judice_pires", tol, max_iter=WARM)
    large, loose = problem.size > LARGE, tol >= LOOSE and problem.size > FEW_ROWS
    symmetric = (large or loose) and asymmetry(problem.M) <= SYMMETRIC
    if loose and symmetric and (problem.M.diagonal() > 0).all():
        yield chosen("pgs", tol, max_iter=SWEEPS)
    if large and symmetric:
        yield named("interior_point", tol)
    yield named("lemke", tol)
    yield named("newton", tol)
    if not (large and symmetric):
        yield named("interior_point", tol)
    if pairs(problem) <= FEW:
        yield named("enumeration", tol)


def cone_ladder(problem: ConeProblem, tol: float, tried: list[Solution]) -> Rungs:
    if problem.contacts > MOST_CONTACTS:
        yield chosen("nsgs", tol, max_iter=LONG), Start.BEST
        yield chosen("admm", tol, max_iter=TURNS[0][0]), Start.BEST
        return
    patience = (PATIENCE // 2 if tol >= LOOSE else PATIENCE) * (3 if problem.dimension == 2 else 1)
    yield chosen("nsgs", tol, patience=patience), Start.BEST
    yield named("cone_interior_point", tol), Start.BEST
    if any(answer.residual <= CLOSE for answer in tried):
        yield chosen("cone_newton", tol, max_iter=STEPS), Start.BEST
    if problem.contacts <= MODEST:
        # for what is left: of two equations the one that more often succeeds
        equation = "alart_curnier" if problem.law == "coulomb" else "natural_map"
        polish = chosen("cone_newton", tol, equation=equation, proximal=1e-3, max_iter=POLISH)
        yield polish, Start.BEST
        yield named("cone_interior_point", tol), Start.AFRESH
        yield polish, Start.LAST
    for turns, steps in TURNS:
        yield chosen("admm", tol, max_iter=turns), Start.BEST
        yield chosen("cone_newton", tol, max_iter=steps), Start.BEST


def cylinder_ladder(problem: CylinderProblem, tol: float) -> Rungs:
    if problem.contacts <= MOST_DENSE:
        yield chosen("cylinder_gauss_seidel", tol, max_iter=FIRST), Start.BEST
        yield named("cylinder_newton", tol), Start.BEST
    yield named("cylinder_gauss_seidel", tol), Start.BEST


def limit_surface_ladder(problem: LimitSurfaceProblem, tol: float) -> Rungs:
    yield chosen("limit_surface_gauss_seidel", tol, patience=DISTRIBUTED), Start.BEST
    if problem.contacts <= MOST_DENSE:
        if isinstance(problem.surface, Ellipsoid) and not problem.sliding.any():
            yield named("limit_surface_interior_point", tol), Start.AFRESH
        yield named("limit_surface_newton", tol), Start.BEST
        if isinstance(problem.surface, Ellipsoid):
            yield named("potential_reduction", tol), Start.AFRESH
            yield named("limit_surface_newton", tol), Start.BEST
        elif not problem.sliding.any():
            yield named("limit_surface_newton", tol), Start.ROUND
    yield chosen("limit_surface_gauss_seidel", tol, max_iter=LONG), Start.BEST
    if problem.contacts <= MOST_SEARCHED:
        from stickslip.solvers.limit_surface_existence import limit_surface_existence

        if limit_surface_existence(problem).verdict == "exists":
            yield ModeSearch(tol=tol), Start.AFRESH


@dataclass(frozen=True, kw_only=True)
class ModeSearch:
    """The first solution that the search through contact modes finds, of contact_modes.py."""

    tol: float = 1e-8

    def solve(self, problem: LimitSurfaceProblem, x0: Vector | None = None) -> Solution:
        from stickslip.solvers.contact_modes import search_modes

        started = time.perf_counter()
        found = search_modes(problem, tol=self.tol)
        x = found[0].c.copy() if len(found) else np.zeros(problem.size)
        return conclude(problem, self, x, Status.STALLED, len(found), started)


@lru_cache(maxsize=64)
def chosen(method: str, tol: float, **settings: Any) -> Solver:
    """A method with settings of its own."""
    return replace(named(method, tol), **settings)  # type: ignore[type-var]


def start_of(start: Start, problem: Problem, tried: list[Solution], x0: Vector | None) -> Vector | None:
    """The point that a method starts from."""
    if start is Start.GIVEN:
        return x0
    if start is Start.AFRESH:
        return None
    if start is Start.ROUND and isinstance(problem, LimitSurfaceProblem):
        alike = LimitSurfaceProblem(problem.A, problem.b, problem.mu, problem.e)
        return named("limit_surface_interior_point", problem.tolerance).solve(alike).x
    bounded = [answer for answer in tried if answer.status is not Status.UNBOUNDED and answer.residual < math.inf]
    if not bounded:
        return x0
    return (bounded[-1] if start is Start.LAST else min(bounded, key=lambda answer: answer.residual)).x


def decides(answer: Solution) -> bool:
    """Is the matter settled: solved, or shown to have no solution?"""
    if answer.status is Status.RAY:
        return answer.certificate is not None and answer.certificate.infeasible
    return answer.status is Status.SOLVED or answer.status is Status.NO_SOLUTION


def best_failure(tried: list[Solution]) -> Solution:
    """Where nothing decides: Lemke's ray if there is one, else the least residual."""
    rays = [answer for answer in tried if answer.status is Status.RAY]
    if rays:
        return rays[0]
    bounded = [answer for answer in tried if answer.status is not Status.UNBOUNDED]
    return min(bounded or tried, key=lambda answer: answer.residual)


def pairs(problem: LCP | MixedLCP) -> int:
    """Complementary pairs: one for each finite bound of a row that is not fixed."""
    finite = np.isfinite(problem.lower).astype(int) + np.isfinite(problem.upper)
    return int(finite[problem.lower < problem.upper].sum())
