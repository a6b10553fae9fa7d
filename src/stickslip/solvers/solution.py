"""What a solver returns: one type, the same fields whether it succeeded or not."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from stickslip.checks import Refused, instance, vector
from stickslip.errors import SolveFailed
from stickslip.problems.contact_states import own_errors
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Frozen, Vector, frozen
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import Problem as Problem
from stickslip.problems.residual import judge, row_errors
from stickslip.solvers.status import Status as Status

if TYPE_CHECKING:
    from stickslip.solvers.diagnosis import Diagnosis

REMEDY = {
    Status.RAY: "there may be no solution: look at `certificate`, or ask all_solutions(problem)",
    Status.MAX_ITER: "raise max_iter, pass x0 from a similar problem, or try method='auto'",
    Status.STALLED: "try method='lemke' or 'auto', or rescale the problem if its entries differ by many decades",
    Status.NO_SOLUTION: "the problem has no solution; look at its data",
    Status.UNBOUNDED: "impulses grow and velocities stay wrong: there may be no solution, ask existence(problem)",
    Status.NONFINITE: "the iteration diverged: try method='lemke', or rescale the problem",
}


class Solver(Protocol):
    """A frozen value with its settings as fields, and one method."""

    @property
    def tol(self) -> float: ...

    def solve(self, problem: Any, x0: Vector | None = None) -> Solution: ...


@dataclass(frozen=True, eq=False)
class Ray:
    """Lemke's certificate: (z, z0) + t (dz, dz0) stays feasible and complementary for every t >= 0.

    Where `multiplier` is not None it proves that no z >= 0 has M z + q >= 0 at all (Farkas): v >= 0, Mᵀ v <= 0, qᵀ v <
    0, the last by so much that no z has a residual of tol either. Otherwise the ray says that this method found
    nothing, not that nothing exists. For a MixedLCP the ray is in the variables of the LCP it was reduced to, and the
    multiplier in its own rows: vᵀ w < 0 for all z between the bounds, where the signs of w that they ask for make it
    positive (`farkas` in lemke.py).
    """

    z: Vector
    dz: Vector
    z0: float
    dz0: float
    multiplier: Vector | None

    @property
    def infeasible(self) -> bool:
        return self.multiplier is not None


@dataclass(frozen=True, eq=False)
class Solution(Frozen):
    x: Vector  # the answer: z of a (mixed) LCP, r of a cone problem, c of distributed contacts
    y: Vector  # problem.value(x): w = M z + q, or u = W r + q
    status: Status
    residual: float  # by the problem's own yardstick, recomputed from x, never the solver's word
    iterations: int
    seconds: float
    solver: Solver  # what ran, with its settings
    problem: Problem  # what was asked
    certificate: Ray | None = None
    earlier: tuple[Solution, ...] = ()  # what `auto` tried before

    @property
    def attempts(self) -> tuple[Solution, ...]:
        """Every method that ran, in order; the last one gave this answer, unless all failed."""
        return (*self.earlier, self)

    @property
    def method(self) -> str:
        """What ran, with its settings; after `auto`, the method whose answer this is."""
        return repr(self.solver)

    @property
    def solved(self) -> bool:
        return self.status is Status.SOLVED

    def require(self) -> Solution:
        """This solution if it is one; otherwise SolveFailed, with a remedy."""
        if self.status is Status.SOLVED:
            return self
        raise SolveFailed(
            f"{self.method} ended with {self.status.name} after {self.iterations} iterations, residual "
            f"{self.residual:.1e} (tol {self.solver.tol:.0e}): {REMEDY[self.status]}",
            self,
        )

    @property
    def worst(self) -> tuple[int, float]:
        """The row of a (mixed) LCP that is most wrong for its own size, and by which share of it.

        The residual is one number for rows that may have different units. Here an error of w_i counts against the
        terms w_i is the sum of, one of z_i against those of every w that it goes into: rows are compared whatever their
        scale. Of friction problems it is the contact whose velocity is most wrong for its own speeds, likewise: see
        problems/contact_states.py.
        """
        if isinstance(self.problem, LCP | MixedLCP):
            shares = row_errors(self.problem, self.x, self.y)
        else:
            shares = own_errors(self.problem, self.x, self.y)
        if not shares.size:
            return -1, 0.0
        worst = int(np.argmax(shares))
        return worst, float(shares[worst])

    def explain(self) -> Diagnosis:
        """Of a friction problem: the worst contact, open, stick or slip, the rank of W, whether a solution exists."""
        from stickslip.solvers.diagnosis import diagnose

        return diagnose(self)

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, residual={self.residual:.1e}, iterations={self.iterations}, "
            f"seconds={self.seconds:.2g}, method={self.method})"
        )


def conclude(
    problem: Problem,
    solver: Solver,
    x: Vector,
    ended: int,
    iterations: int,
    started: float,
    certificate: Ray | None = None,
) -> Solution:
    """Judge x by the problem's own residual. Only that makes a solution SOLVED; the Status `ended` tells the rest."""
    y, error, solved = judge(problem, x, solver.tol)
    if solved:
        status, certificate = Status.SOLVED, None  # a ray that starts at a solution, z0 = 0 to rounding, is no failure
    elif error <= solver.tol:  # but not to be believed; see problems/residual.py
        status = Status.STALLED if isinstance(problem, LCP | MixedLCP) else Status.UNBOUNDED
    elif not math.isfinite(error):
        status = Status.NONFINITE
    else:
        status = Status.STALLED if ended == Status.SOLVED else Status(ended)
    # by hand, since what a frozen dataclass makes takes a microsecond longer, a tenth of a tiny solve
    answer = object.__new__(Solution)
    answer.__dict__.update(
        x=frozen(x), y=frozen(y), status=status, residual=error, iterations=iterations,
        seconds=time.perf_counter() - started, solver=solver, problem=problem, certificate=certificate,
    )  # fmt: skip
    return answer


def expect(solver: Solver, problem: object, *classes: type) -> float:
    """Refuse a problem that is not of the solver's; else when the solve began, for `conclude`."""
    if not isinstance(problem, classes):
        instance(*classes)(type(solver).__name__, "problem", problem)
    return time.perf_counter()


def solver_value(owner: str, field: str, value: Any) -> Any:
    """A kind of argument: a solver with its settings, such as Lemke()."""
    if isinstance(value, type) or not (hasattr(value, "tol") and callable(getattr(value, "solve", None))):
        raise Refused(owner, field, value, "a solver, such as Lemke()")
    return value


def start_from(problem: Problem, x0: Vector | None) -> Vector:
    """A starting point of its own: a copy of x0, or zero."""
    return np.zeros(problem.size) if x0 is None else vector("solve", "x0", x0, problem.size)
