"""All solutions of a linear complementarity problem, by implicit enumeration.

The solutions of  w = M z + q,  0 <= z ⊥ w >= 0  are a finite union of polyhedra: for each choice, pair by pair,
of which of z_i and w_i is zero, the set  {w = M z + q, z >= 0, w >= 0, the chosen ones = 0}  [1, 2]. The search
goes through these choices depth first [3] and gives a branch up as soon as its linear inequalities contradict
each other. They are kept as a dictionary, the basic variables in terms of the nonbasic ones,

    x_B = b + A x_N,      x = (z, w) >= 0,

where a variable chosen as zero leaves the basis for good, and dual pivots restore b >= 0. Four things keep the
tree small, and the answer trustworthy:

- Branching on a pair goes first to w_i = 0; then to z_i = 0, asking there that w_i be positive somewhere: if
  it is not, the branch lies inside its sibling. So a degenerate solution is met once, not 2^k times, and of a
  continuum its maximal pieces are met but hardly any of their faces.
- A row may show that its variable is zero, or positive, all over the branch: then there is no need to branch.
- What a row shows is a linear combination of the equations (Farkas' lemma). Before a branch is dropped it is
  formed again from M and q, with a bound on its rounding error. It then excludes every x >= 0 whose entries
  are below a certain number, and the least of these numbers is reported as `Solutions.reach`.
- What is left at a leaf is solved again from M and q, and listed only if the problem's own residual is small.

Bounds, fixed and free rows of a MixedLCP become pairs and equations first; rows and columns are scaled by
powers of two, which keeps complementarity and rounds nothing.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009, chapters 1 and 3.
[2] De Schutter, De Moor, The extended linear complementarity problem, Math. Programming 71 (1995) 289-325.
[3] Al-Khayyal, An implicit enumeration procedure for the general linear complementarity problem,
    Math. Programming Study 31 (1987) 1-20.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from stickslip.checks import checked, count, instance, positive
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector, as_dense
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import TINY, judge, residual_scale, surest_residual, without_far_bounds
from stickslip.solvers.contact_modes import ModeSolutions, search_modes
from stickslip.solvers.reduction import exchange
from stickslip.solvers.solution import Solution, Status, conclude, expect, start_from

MOST_PAIRS = 400  # a search keeps up to one dictionary per pair: 400³ doubles are half a gigabyte

OPEN, ZERO, WANTED = 0, 1, 2  # a variable is >= 0, chosen as zero, or asked to be positive somewhere

# For the scaled problem, whose entries are around one:
ROUNDING = 1e-11  # entries of a dictionary up to this count as zero
SLACK = 1e-9  # values down to -SLACK count as nonnegative; the residual decides later
SAME = 1e-8  # solutions closer than this are one
MOST_LEAVES = 1000  # that Enumeration looks at: more are those of a matrix that is singular, to rounding
MOST_NEARER = 20  # of the pieces with too large a residual, for which a better point is looked for
SHARP = 1e-3  # share of tol, above which the residual of an isolated solution is made smaller
ALMOST_ZERO = 1e-100  # a singular value that is zero, in units in which the equations are of order 1
WILD = 1e100  # a point that is no solution; its products would overflow
CANCELLED = 1e-13  # a difference of numbers this much larger is zero, when free variables are eliminated
FAR = 1e3  # a contradiction should exclude at least all x with entries below this


@dataclass(frozen=True, eq=False)
class Continuum:
    """A maximal piece of a solution set with infinitely many points: a polyhedron of dimension one or more.

    Its points are those of  {point + directions c}  that solve the problem; they are a convex set.
    """

    dimension: int
    point: Vector  # (n,)             a solution inside the piece, on none of its edges
    directions: Dense  # (n, dimension)   orthonormal basis of the piece's affine hull
    extent: Dense  # (dimension, 2)   point + t directions[:, k] solves for extent[k, 0] <= t <= extent[k, 1]
    bounded: bool

    def describe(self) -> str:
        if self.dimension > 1:
            bounded = "a bounded" if self.bounded else "an unbounded"
            return f"{bounded} polyhedron of dimension {self.dimension} around {shown(self.point)}"
        ends = [self.point + t * self.directions[:, 0] for t in self.extent[0] if math.isfinite(t)]
        if len(ends) == 2:
            return f"a segment from {shown(ends[0])} to {shown(ends[1])}"
        if len(ends) == 1:
            along = self.directions[:, 0] if math.isfinite(self.extent[0, 0]) else -self.directions[:, 0]
            return f"a half-line from {shown(ends[0])} along {shown(along)}"
        return f"a line through {shown(self.point)} along {shown(self.directions[:, 0])}"

    def __repr__(self) -> str:
        return f"Continuum({self.describe()})"


@dataclass(frozen=True, eq=False)
class Solutions:
    """Every solution of a problem: the isolated ones as points, the others as maximal continua.

    `complete` means that every branch of the search was closed: each one that was dropped contradicts the
    equations (of the problem without its free variables) by more than the rounding errors, or lies, to rounding,
    inside one that was kept. Then there is no solution but those listed, the doubtful included, unless it has an
    entry beyond `reach` in the units of the scaled problem, where M and q are around one; what lies between two bounds
    is within reach. So with `complete`,
    an empty list and nothing doubtful, it is proved that no solution of any reasonable size exists. Where `clear` is at
    least 1, it is proved also that no point of such a size has a residual of tol. Solutions closer than 1e-8 in these
    units are one. Where bounds are so far away that q is nothing beside them, the search looks once more without them;
    it is not complete where that leaves doubt.
    """

    points: tuple[Vector, ...]  # isolated solutions z, in lexicographic order
    continua: tuple[Continuum, ...]  # largest dimension first
    doubtful: tuple[Vector, ...]  # candidates whose residual is above tol: not exact, or rounding hides that they are
    complete: bool
    reach: float  # at least 1e3 if complete, often 1e9, and inf if the contradictions hold whatever the size
    clear: float  # how many times what tol allows the contradictions are; below 1 a residual of tol may yet be reached
    residual: float  # the worst of all points listed, whichever way it is summed; 0 if there are none
    nodes: int
    seconds: float

    @property
    def count(self) -> float:
        """How many solutions: 0, 1, 2 … or inf where there is a continuum."""
        return math.inf if self.continua else len(self.points)

    def __len__(self) -> int:
        """Isolated solutions and continua, each continuum counted once."""
        return len(self.points) + len(self.continua)

    def describe(self) -> str:
        isolated = "one isolated solution" if len(self.points) == 1 else f"{len(self.points)} isolated solutions"
        if not self.continua:
            sentence = isolated if self.points else self.nothing()
        else:
            pieces = [piece.describe() for piece in self.continua[:3]]
            if len(self.continua) > 3:
                pieces.append(f"{len(self.continua) - 3} more such pieces")
            sentence = "infinitely many solutions: " + ", ".join(pieces + ([isolated] if self.points else []))
        if self.doubtful:
            sentence += f"; {len(self.doubtful)} doubtful, with a residual above the tolerance"
        if self.reach < FAR:
            sentence += "; rounding leaves some branches open, there may be more"
        elif not self.complete:
            sentence += "; the search was not completed, there may be more"
        return sentence

    def nothing(self) -> str:
        """What it means that none is listed."""
        if self.doubtful or not self.complete:
            return "no certain solution"
        return "no solution" + (f" below {self.reach:.0e} times what is usual here" if self.reach < math.inf else "")

    def __repr__(self) -> str:
        return f"Solutions({self.describe()})"


def shown(z: Vector) -> str:
    return np.array2string(z + 0.0, precision=4, threshold=12, separator=", ", suppress_small=True)


@overload
def all_solutions(
    problem: LimitSurfaceProblem, *, tol: float | None = None, max_nodes: int = 1_000_000
) -> ModeSolutions: ...


@overload
def all_solutions(problem: LCP | MixedLCP, *, tol: float | None = None, max_nodes: int = 1_000_000) -> Solutions: ...


@checked(problem=instance(LCP, MixedLCP, LimitSurfaceProblem), tol=positive, max_nodes=count)
def all_solutions(
    problem: LCP | MixedLCP | LimitSurfaceProblem, *, tol: float | None = None, max_nodes: int = 1_000_000
) -> Solutions | ModeSolutions:
    """Every isolated solution of the problem, and its continua of solutions by dimension, point and directions.

    tol is on the problem's own residual of each solution listed (1e-10 unless stated). In general the cost grows
    exponentially with the number of complementary pairs: 25 take some 10 ms, 40 about a second, and longer where
    there are thousands of solutions to list. Where max_nodes branches were not enough, what was found is returned
    with `complete` false.

    Of a LimitSurfaceProblem the solutions cannot be enumerated: solvers/contact_modes.py searches for them, and says
    where it looked.
    """
    if isinstance(problem, LimitSurfaceProblem):
        return search_modes(problem) if tol is None else search_modes(problem, tol=tol)
    return search(problem, type(problem).tolerance if tol is None else tol, max_nodes)


def search(problem: LCP | MixedLCP, tolerance: float, max_nodes: int, max_leaves: int = sys.maxsize) -> Solutions:
    """What all_solutions lists, of so many leaves of the tree at most."""
    started = time.perf_counter()
    form = standard_form(problem)
    allowed, of_equations = allowances(form, tolerance)
    start = without_free_variables(form, of_equations)
    leaves: list[Leaf] = []
    if isinstance(start, Contradiction):
        complete, reach, clear, nodes = start.reach >= FAR, start.reach, start.clear, 0
    else:
        leaves, complete, reach, clear, nodes = enumerate_leaves(start, allowed, max_nodes, max_leaves)
    found = [sharper(form, solved_again(form, leaf), tolerance) for leaf in leaves]
    poor = [i for i, piece in enumerate(found) if piece.dimension and not piece.residual <= tolerance]
    for i in poor[:MOST_NEARER]:
        found[i] = nearer(form, found[i], tolerance)
    pieces, reach, clear = without_contradictory(form, found, tolerance, reach, clear)
    continua, points, doubtful = sorted_out(form, pieces, tolerance)
    complete = complete and reach > farthest_bound(form)
    near = without_far_bounds(problem, tolerance, SAME)
    unsure = [piece for piece in pieces if not piece.residual <= tolerance or undecided(form, piece)]
    if near is not problem and unsure:
        nearby = search(near, tolerance, max_nodes, max_leaves)
        points = with_those_of(problem, nearby, points, tolerance)
        doubtful = [z for z in doubtful if not any(same(form, z, point) for point in points)]
        elsewhere = [piece for piece in unsure if piece.dimension or at_other_bound(piece.z, problem, near)]
        complete = complete and nearby.complete and not (elsewhere or nearby.continua or doubtful)
    points = at_ends(problem, points)
    listed = [*points, *(piece.point for piece in continua)]
    return Solutions(
        points=tuple(points),
        continua=tuple(continua),
        doubtful=tuple(doubtful),
        complete=complete,
        reach=reach,
        clear=clear,
        residual=max((surest_residual(problem, z) for z in listed), default=0.0),
        nodes=nodes,
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True, kw_only=True)
@checked(tol=positive, max_nodes=count)
class Enumeration:
    """All solutions as a method: the first of them, or NO_SOLUTION where a completed search shows that no point has a
    residual of tol, unless its entries are so large that rounding hides whether it has."""

    tol: float = 1e-10
    max_nodes: int = 1_000_000  # and no more than MOST_LEAVES choices that may hold solutions

    def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
        """Solve. x0 is not used: the search starts from all of space."""
        started = expect(self, problem, LCP, MixedLCP)
        start_from(problem, x0)
        found = search(problem, self.tol, self.max_nodes, MOST_LEAVES)
        listed = [*found.points, *(piece.point for piece in found.continua), *found.doubtful]
        nothing = Status.NO_SOLUTION if found.complete else Status.MAX_ITER
        shown = found.clear >= 1.0 and found.reach >= hidden_beyond(standard_form(problem), self.tol)
        ended = Status.STALLED if listed or (found.complete and not shown) else nothing
        # of several, one that rounding leaves no doubt of
        solved = (x for x in listed if judge(problem, x, self.tol)[2])
        x = next(solved, listed[0] if listed else np.zeros(problem.size))
        return conclude(problem, self, x, ended, found.nodes, started)


# ---- the problem as pairs and equations ----

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StandardForm:
    """right = M left + q:  0 <= left_i ⊥ right_i >= 0 for i < pairs,  right_i = 0 and left_i free beyond.  Scaled.

    A row of the problem with one bound gives one pair, mirrored if the bound is above. A row with two gives two,
    (z - lower, v) and (v', upper - z)  with  w = v - v'. A free row gives an equation, a fixed one nothing.
    """

    problem: LCP | MixedLCP
    sided: Rows  # rows of the problem with one bound or two: the first pairs
    boxed: Rows  # rows with two: the next pairs
    boxed_among_sided: Rows
    free: Rows  # rows with none: the equations
    sign: Vector  # of the sided rows: -1 where the only bound is above
    M: Dense
    q: Vector
    left_unit: Vector  # what 1 in left means unscaled
    right_unit: Vector
    origin: Vector  # z at left = 0
    unsure: Vector  # by how much rounding made q wrong: w at the origin is a sum, and bounds may be far from zero

    @property
    def pairs(self) -> int:
        return self.sided.size + self.boxed.size

    def to_z(self, left: Dense) -> Dense:
        """The change of z when left = 0 becomes left (one, or several as columns)."""
        unscaled = (self.left_unit * left.T).T
        z = np.zeros((self.problem.size, *left.shape[1:]))
        z[self.sided] = (self.sign * unscaled[: self.sided.size].T).T
        z[self.free] = unscaled[self.pairs :]
        return z

    def right(self, z: Vector, left: Vector) -> Vector:
        """M left + q, computed from the problem's own data at z = origin + to_z(left)."""
        w = self.problem.value(z)
        beside_bound = self.sign * w[self.sided]
        beside_bound[self.boxed_among_sided] += (self.left_unit * left)[self.sided.size : self.pairs]
        room = self.problem.upper[self.boxed] - z[self.boxed]
        return np.concatenate([beside_bound, room, w[self.free]]) / self.right_unit


def standard_form(problem: LCP | MixedLCP) -> StandardForm:
    lower, upper = problem.lower, problem.upper
    below, above = np.isfinite(lower), np.isfinite(upper)
    sided = np.flatnonzero((below | above) & (lower < upper))
    boxed, free = np.flatnonzero(below & above & (lower < upper)), np.flatnonzero(~below & ~above)
    if sided.size + boxed.size > MOST_PAIRS:
        raise InputError(
            f"all_solutions: the problem has {sided.size + boxed.size} complementary pairs, expected at most "
            f"{MOST_PAIRS} (enumeration is practical to about 40; for one solution use solve)"
        )
    sign = np.where(below[sided], 1.0, -1.0)
    origin = np.where(below, lower, np.where(above, upper, 0.0))
    M, w = as_dense(problem.M), problem.value(origin)

    size = sided.size + boxed.size + free.size
    s, b, f = slice(0, sided.size), slice(sided.size, size - free.size), slice(size - free.size, size)
    table = np.zeros((size, size + 1))
    table[s, s] = sign[:, None] * M[np.ix_(sided, sided)] * sign
    table[s, f] = sign[:, None] * M[np.ix_(sided, free)]
    table[f, s] = M[np.ix_(free, sided)] * sign
    table[f, f] = M[np.ix_(free, free)]
    table[s, b] = sided[:, None] == boxed
    table[b, s] = -table[s, b].T
    table[:, -1] = np.concatenate([sign * w[sided], upper[boxed] - lower[boxed], w[free]])
    terms = np.abs(M) @ np.abs(origin) + np.abs(problem.q)
    unsure = np.where(origin.any(), TINY * (problem.size + 2), 0.0) * terms
    apart = np.where(lower[boxed] != 0.0, TINY, 0.0) * (np.abs(upper) + np.abs(lower))[boxed]
    table, right_unit, left_unit = balanced(table)
    M, q = table[:, :-1].copy(), table[:, -1].copy()
    return StandardForm(
        problem=problem,
        sided=sided,
        boxed=boxed,
        boxed_among_sided=np.searchsorted(sided, boxed),
        free=free,
        sign=sign,
        M=M,
        q=q,
        left_unit=left_unit,
        right_unit=right_unit,
        origin=origin,
        unsure=np.concatenate([unsure[sided], apart, unsure[free]]) / right_unit,
    )


def farthest_bound(form: StandardForm) -> float:
    """How far a variable with two bounds may go, in the units of the scaled problem."""
    width = (form.problem.upper - form.problem.lower)[form.boxed]
    return float((width / form.left_unit[form.boxed_among_sided]).max(initial=0.0))


def hidden_beyond(form: StandardForm, tol: float) -> float:
    """In the units of the scaled problem: where an entry is larger than this, the terms M_ij z_j of a row that is not
    at its bound are so large that their rounding exceeds tol, and no point can be called a solution."""
    inside, unit = np.append(form.sided, form.free), np.delete(form.left_unit, slice(form.sided.size, form.pairs))
    terms = np.abs(as_dense(form.problem.M))[np.ix_(inside, inside)] * unit
    return float(tol * residual_scale(form.problem) / (TINY * np.min(terms, initial=math.inf, where=terms > 0.0)))


def allowances(form: StandardForm, tol: float) -> tuple[Vector, Vector]:
    """By how much each variable of the pairs, left then right, and each equation may be wrong where the residual is
    tol."""
    units = np.concatenate([form.left_unit[: form.pairs], form.right_unit])
    allowed = tol * residual_scale(form.problem) / units
    return allowed[: 2 * form.pairs], allowed[2 * form.pairs :]


def balanced(table: Dense) -> tuple[Dense, Vector, Vector]:
    """Rows and columns of (A, b) scaled to entries around one, and the units of the variables x_B and x_N.

    Curtis and Reid's scaling: the logarithms of the scaled entries have the least sum of squares, so that a
    change of units is undone. Entries that stay below 1e-10 are left out of the next pass, not to be raised at
    the cost of the others. Then the largest entry of each row and column is brought to one (Ruiz).
    """
    with np.errstate(divide="ignore"):
        exponent = np.log2(np.abs(table))
    rows, columns = table.shape
    row, column, present = np.zeros(rows), np.zeros(columns), np.isfinite(exponent)
    counted = present
    for _ in range(3):
        total = np.where(counted, exponent, 0.0)
        normal = np.block(
            [
                [np.diag(counted.sum(axis=1)), counted.astype(float)],
                [counted.T.astype(float), np.diag(counted.sum(axis=0))],
            ]
        ) + 1e-6 * np.eye(rows + columns)  # fixes the factor that rows and columns may exchange
        row, column = np.split(-np.linalg.solve(normal, np.append(total.sum(axis=1), total.sum(axis=0))), [rows])
        counted = present & (exponent + row[:, None] + column > math.log2(1e-10))
    for _ in range(10):
        now = exponent + row[:, None] + column
        for factor, largest in ((row, now.max(axis=1, initial=-np.inf)), (column, now.max(axis=0, initial=-np.inf))):
            factor -= np.where(np.isfinite(largest), largest / 2, 0.0)
    row, column = np.exp2(np.round(row)), np.exp2(np.round(column))
    return row[:, None] * table * column, 1 / (row * column[-1]), column[:-1] / column[-1]


@dataclass(frozen=True, eq=False)
class Start:
    """The dictionary the search starts from:  x_B = b + A x_N  in the variables of the pairs alone.

    Variable i is left_i, variable pairs + i is right_i.
    """

    table: Dense  # (A, b), scaled
    error: Dense  # by how much rounding may have made each entry wrong, and one column more: what tol allows a row
    basic: Rows
    nonbasic: Rows
    unit: Vector  # x in the units of the standard form = unit * x here
    lines: int  # dimension of the free directions that change nothing else


class Contradiction(NamedTuple):
    """The equations alone contradict each other: how far that reaches, and how clearly it does."""

    reach: float
    clear: float


def without_free_variables(form: StandardForm, allowed: Vector) -> Start | Contradiction:
    """Free variables and equations pivoted out of the dictionary, largest pivots first.

    A free variable takes the place of an equation while the two are linked; where they are not (a singular
    block), an equation fixes the variable of a pair instead, and a free variable takes the place of such a one.
    `allowed` is by how much each equation may be wrong.
    """
    pairs, size = form.pairs, form.q.size
    table = np.column_stack([form.M, form.q])
    size_of_terms, error = np.abs(table), np.zeros((size, size + 2))
    error[:, -2], error[pairs:, -1] = form.unsure, allowed
    basic = np.concatenate([pairs + np.arange(pairs), np.full(size - pairs, -1)])  # -1: an equation
    nonbasic = np.concatenate([np.arange(pairs), np.full(size - pairs, -1)])  # -1: a free variable
    for equation, free in ((True, True), (True, False), (False, True)):
        while True:
            linked = np.abs(table[:, :-1]) * np.outer((basic < 0) == equation, (nonbasic < 0) == free)
            if not linked.any():
                break
            r, c = np.unravel_index(int(np.argmax(linked)), linked.shape)
            table, size_of_terms, error = exchanged(table, size_of_terms, error, int(r), int(c))
            basic[r], nonbasic[c] = nonbasic[c], basic[r]
            kept_rows, kept_columns = np.ones(table.shape[0], bool), np.ones(table.shape[1], bool)
            kept_rows[r], kept_columns[c] = basic[r] >= 0, nonbasic[c] >= 0
            table, size_of_terms = table[kept_rows][:, kept_columns], size_of_terms[kept_rows][:, kept_columns]
            error = error[kept_rows][:, np.append(kept_columns, True)]
            basic, nonbasic = basic[kept_rows], nonbasic[kept_columns[:-1]]
    left = np.where(basic < 0, np.abs(table[:, -1]), 0.0)
    if left.max(initial=0.0) > SLACK:
        i = int(np.argmax(left))
        margin, leak = float(left[i] - error[i, -2]), float(error[i, :-2].sum())
        clear = margin / error[i, -1] if error[i, -1] > 0 else math.inf
        return Contradiction(max(margin, 0.0) / leak if leak > 0 else math.inf if margin > 0 else 0.0, float(clear))
    lines = int((nonbasic < 0).sum())
    rows, columns = basic >= 0, np.append(nonbasic >= 0, True)
    table, row_unit, column_unit = balanced(table[rows][:, columns])
    error = error[rows][:, np.append(columns, True)] * np.append(column_unit, [1.0, 1.0]) / row_unit[:, None]
    basic, nonbasic = basic[rows], nonbasic[nonbasic >= 0]
    unit = np.empty(2 * pairs)
    unit[basic], unit[nonbasic] = row_unit, column_unit
    return Start(np.ascontiguousarray(table), np.ascontiguousarray(error), basic, nonbasic, unit, lines)


def exchanged(table: Dense, size_of_terms: Dense, error: Dense, r: int, c: int) -> tuple[Dense, Dense, Dense]:
    """The dictionary with the basic variable of row r and the nonbasic one of column c exchanged.

    Also the sizes of the terms each entry is the sum of, and bounds on errors. Entries that are only rounding beside
    these terms become zero: the scaling that follows must not raise them.
    """
    pivot, last = abs(table[r, c]), table.shape[1]
    row = -table[r] / table[r, c]
    row[c] = 1 / table[r, c]
    row_error = error[r] / pivot
    row_error[:last] += np.abs(row) * (error[r, c] / pivot + TINY)
    row_error[c] = np.abs(row[c]) * (error[r, c] / pivot + TINY)
    column, column_error = table[:, c].copy(), error[:, c].copy()
    column[r] = column_error[r] = 0.0
    terms = np.outer(column, row)
    result, size = table + terms, size_of_terms + np.abs(terms)
    result[:, c], size[:, c] = terms[:, c], np.abs(terms[:, c])
    result[r], size[r] = row, np.abs(row)
    carried = error + np.outer(np.abs(column), row_error)
    carried[:, :last] += np.outer(column_error, np.abs(row)) + TINY * (np.abs(terms) + np.abs(result))
    carried[:, c] = np.abs(column) * row_error[c] + column_error * np.abs(row[c]) + TINY * np.abs(terms[:, c])
    carried[r] = row_error
    kept = np.abs(result) > CANCELLED * size
    carried[:, :last] += np.where(kept, 0.0, np.abs(result))
    return np.where(kept, result, 0.0), size, carried


# ---- the search ----


class Dictionary(NamedTuple):
    """x_B = b + A x_N  and what has been chosen so far."""

    table: Dense  # (m, k + 1)  A and, last, b
    basic: Rows  # (m,)        variable of each row
    nonbasic: Rows  # (k,)        variable of each column
    place: Rows  # (m + k,)    row of a basic variable, ~column of a nonbasic one
    state: Rows  # (m + k,)    OPEN, ZERO or WANTED


class Proof(NamedTuple):
    """The starting dictionary, from which every conclusion is drawn again, and how far the conclusions reach."""

    table: Dense  # (m, k + 1)
    error: Dense  # (m, k + 2)  by how much its entries may be wrong, and what tol allows each row
    place: Rows  # (m + k,)
    reach: Vector  # (1,)  the branches dropped so far hold no x with all entries below this
    allowed: Vector  # (m + k,)  by how much a variable may be wrong
    clear: Vector  # (1,)  the least contradiction so far, over what that allows


class Leaf(NamedTuple):
    """A choice for every pair that leaves a solution: x inside its polyhedron, in the units of the standard form."""

    x: Vector
    zero: Mask  # variables that are zero all over it
    dimension: int


def enumerate_leaves(
    start: Start, allowed: Vector, max_nodes: int, max_leaves: int = sys.maxsize
) -> tuple[list[Leaf], bool, float, float, int]:
    """The leaves, whether the search was completed, its reach, how clear it is, and the nodes visited."""
    m, k = start.basic.size, start.nonbasic.size
    pairs = (m + k) // 2
    place = np.empty(m + k, np.intp)
    place[start.basic], place[start.nonbasic] = np.arange(m), ~np.arange(k)
    d = Dictionary(start.table.copy(), start.basic.copy(), start.nonbasic.copy(), place.copy(), np.zeros_like(place))
    proof = Proof(start.table, start.error, place, np.full(1, np.inf), allowed / start.unit, np.full(1, np.inf))
    waiting = Dictionary(*(np.empty((pairs, *array.shape), array.dtype) for array in d))
    first, counts = np.empty(pairs, np.intp), np.zeros(2, np.intp)
    leaves: list[Leaf] = []
    x = np.empty(m + k)
    while more := next_leaf(d, proof, waiting, first, counts, x, max_nodes):
        if len(leaves) == max_leaves:
            break
        open_columns = int((d.state[d.nonbasic] != ZERO).sum())
        leaves.append(Leaf(start.unit * x, d.state == ZERO, open_columns + start.lines))
    reach, nodes = float(proof.reach[0]), int(counts[1])
    return leaves, not more and nodes <= max_nodes and reach >= FAR, reach, float(proof.clear[0]), min(nodes, max_nodes)


@kernel
def next_leaf(d, proof, waiting, first, counts, x, max_nodes):
    """Begin, or go on from the leaf in d, to the next leaf, and to an x inside its polyhedron; False: no more.

    waiting and first hold, by depth, the dictionaries whose second branch is left, and the variable that was
    zero in the first one; counts are the depth and the nodes so far.
    """
    pairs = first.size
    alive = counts[1] == 0 and repair(d, proof)
    while True:
        if alive:
            counts[1] += 1
            if counts[1] > max_nodes:
                return False
            alive = propagate(d, proof, x)
        depth = counts[0]
        if alive:
            i = pair_to_branch_on(d)
            if i < 0:
                settle(d, proof, x)
                return True
            copy(d, at_depth(waiting, depth))
            first[depth] = pairs + i
            counts[0] += 1
            alive = set_to_zero(d, proof, pairs + i)
        elif depth > 0:
            counts[0] -= 1
            copy(at_depth(waiting, depth - 1), d)
            v = first[depth - 1]
            d.state[v] = WANTED
            alive = set_to_zero(d, proof, partner(d, v))
        else:
            return False


@kernel
def at_depth(waiting, depth):
    return Dictionary(
        waiting.table[depth],
        waiting.basic[depth],
        waiting.nonbasic[depth],
        waiting.place[depth],
        waiting.state[depth],
    )


@kernel
def copy(source, target):
    # loops: an assignment of slices compiles five seconds longer, for the sake of its error messages
    for i in range(source.table.shape[0]):
        target.basic[i] = source.basic[i]
        for j in range(source.table.shape[1]):
            target.table[i, j] = source.table[i, j]
    for j in range(source.nonbasic.size):
        target.nonbasic[j] = source.nonbasic[j]
    for v in range(source.place.size):
        target.place[v] = source.place[v]
        target.state[v] = source.state[v]


@kernel
def partner(d, v):
    pairs = d.state.size // 2
    return v + pairs if v < pairs else v - pairs


@kernel
def value(d, v):
    """Of variable v at the vertex x_N = 0."""
    r = d.place[v]
    return d.table[r, d.nonbasic.size] if r >= 0 else 0.0


@kernel
def pair_to_branch_on(d):
    """The undecided pair that is furthest from complementary at the vertex; -1 if all are decided."""
    pairs = d.state.size // 2
    chosen, most = -1, -1.0
    for i in range(pairs):
        if d.state[i] != ZERO and d.state[i + pairs] != ZERO:
            x, y = max(value(d, i), 0.0), max(value(d, i + pairs), 0.0)
            violation = x * y + 1e-6 * max(x, y)
            if violation > most:
                chosen, most = i, violation
    return chosen


@kernel
def propagate(d, proof, point):
    """Draw the conclusions that need no branching; False if the branch is empty or inside its sibling."""
    k = d.nonbasic.size
    changed = True
    while changed:
        changed = False
        for v in range(d.state.size):
            if d.state[v] == WANTED and value(d, v) <= ROUNDING and not can_be_positive(d, proof, v, point):
                return False
        for v in range(d.state.size):
            r, other, drop = d.place[v], partner(d, v), -1
            if r < 0 or d.state[v] == ZERO or d.state[other] == ZERO:
                continue
            least, largest = 0.0, 0.0
            for j in range(k):
                if d.state[d.nonbasic[j]] != ZERO:
                    least = min(least, d.table[r, j])
                    largest = max(largest, d.table[r, j])
            if largest <= ROUNDING and d.table[r, k] <= ROUNDING and is_zero(d, proof, r):
                drop = v
            elif least >= -ROUNDING and d.table[r, k] > SLACK:
                reach = contradiction(d, proof, r, -1.0)
                if reach >= FAR:
                    proof.reach[0] = min(proof.reach[0], reach)
                    drop = other
            if drop >= 0:
                changed = True
                if not set_to_zero(d, proof, drop):
                    return False
    return True


@kernel
def set_to_zero(d, proof, v):
    """Choose variable v as zero, and out of the basis; False if the branch has no point then."""
    d.state[v] = ZERO
    while repair(d, proof):
        c = largest_column(d, d.place[v])
        if c < 0:
            return True
        pivot(d, d.place[v], c)
    return False


@kernel
def largest_column(d, r):
    """The open column with the largest entry in row r, -1 if the row is zero (or is none)."""
    c, largest = -1, ROUNDING
    if r >= 0:
        for j in range(d.nonbasic.size):
            if abs(d.table[r, j]) > largest and d.state[d.nonbasic[j]] != ZERO:
                c, largest = j, abs(d.table[r, j])
    return c


@kernel
def repair(d, proof):
    """Dual simplex pivots until no variable is below zero, and none chosen as zero above; False: impossible.

    Any costs >= 0 will do, so each repair starts from costs around one, all different against ties.
    After many pivots least indices are taken (Bland), which cannot cycle.
    """
    m, k = d.basic.size, d.nonbasic.size
    rebuilt = False
    cost = np.empty(k)
    for step in range(1000 + 20 * (m + k)):
        by_index = step > 200 + 4 * (m + k)
        r = violated_row(d, by_index)
        if r < 0:
            return True
        if step == 0:
            start_costs(d, cost)
        sign = 1.0 if d.table[r, k] < 0.0 else -1.0
        c = least_index_column(d, r, sign) if by_index else least_ratio_column(d, r, sign, cost)
        if c >= 0:
            change_costs(d, r, c, cost)
            pivot(d, r, c)
            continue
        reach = contradiction(d, proof, r, sign)
        if reach >= FAR or rebuilt:
            proof.reach[0] = min(proof.reach[0], reach)
            return False
        rebuild(d, proof)
        start_costs(d, cost)
        rebuilt = True
    proof.reach[0] = 0.0
    return False


@kernel
def violated_row(d, by_index):
    """The row whose variable is furthest out of its bounds (or the one of least index that is out); -1: none."""
    k = d.nonbasic.size
    r, worst = -1, SLACK
    for i in range(d.basic.size):
        v = d.basic[i]
        violation = abs(d.table[i, k]) if d.state[v] == ZERO else -d.table[i, k]
        if violation > SLACK and (r < 0 or (v < d.basic[r] if by_index else violation > worst)):
            r, worst = i, violation
    return r


@kernel
def start_costs(d, cost):
    for j in range(cost.size):
        cost[j] = 1.0 + (0.6180339887498949 * d.nonbasic[j]) % 1.0


@kernel
def least_ratio_column(d, r, sign, cost):
    """The open column that keeps the costs >= 0, the largest pivot among the nearly equal (Harris); -1: none."""
    bound = np.inf
    for j in range(cost.size):
        a = sign * d.table[r, j]
        if a > ROUNDING and d.state[d.nonbasic[j]] != ZERO:
            bound = min(bound, (max(cost[j], 0.0) + 1e-9) / a)
    c, largest = -1, ROUNDING
    for j in range(cost.size):
        a = sign * d.table[r, j]
        if a > largest and d.state[d.nonbasic[j]] != ZERO and max(cost[j], 0.0) <= bound * a:
            c, largest = j, a
    return c


@kernel
def least_index_column(d, r, sign):
    c = -1
    for j in range(d.nonbasic.size):
        v = d.nonbasic[j]
        if sign * d.table[r, j] > ROUNDING and d.state[v] != ZERO and (c < 0 or v < d.nonbasic[c]):
            c = j
    return c


@kernel
def change_costs(d, r, c, cost):
    """The costs after a pivot in row r and column c."""
    step = max(cost[c], 0.0) / d.table[r, c]
    for j in range(cost.size):
        cost[j] -= step * d.table[r, j]
    cost[c] = abs(step)


@kernel
def pivot(d, r, c):
    """Exchange the basic variable of row r and the nonbasic one of column c."""
    exchange(d.table, d.basic, d.nonbasic, r, c)
    d.place[d.nonbasic[c]], d.place[d.basic[r]] = ~c, r


@kernel
def rebuild(d, proof):
    """The same basis from the starting dictionary, largest pivots first: the rounding errors of the way are gone."""
    basis = d.place.copy()
    for v in range(basis.size):
        d.place[v] = proof.place[v]
        if proof.place[v] >= 0:
            d.basic[proof.place[v]] = v
        else:
            d.nonbasic[~proof.place[v]] = v
    for i in range(d.table.shape[0]):
        for j in range(d.table.shape[1]):
            d.table[i, j] = proof.table[i, j]
    r, c = largest_exchange(d, basis)
    while r >= 0:
        pivot(d, r, c)
        r, c = largest_exchange(d, basis)


@kernel
def largest_exchange(d, basis):
    """The largest entry whose row is not of the basis and whose column is; -1 if they agree."""
    r, c, largest = -1, -1, 0.0
    for i in range(d.basic.size):
        if basis[d.basic[i]] < 0:
            for j in range(d.nonbasic.size):
                if basis[d.nonbasic[j]] >= 0 and abs(d.table[i, j]) > largest:
                    r, c, largest = i, j, abs(d.table[i, j])
    return r, c


@kernel
def row_again(d, proof, r, sign):
    """What row r, times sign, says of all variables,  Σ a_v x_v = constant,  formed again from the starting rows.

    Row r is a combination of those rows; its weights are the entries at the variables that were basic then.
    Returns the constant, a bound on the rounding of this sum, that with the errors of the starting rows, the leak
    Σ max(-a_v, 0) over the variables not chosen as zero, rounding included, and Σ |a_v| τ_v: if x has no entry above X,
    and none is wrong by more than τ_v, then Σ a_v x_v >= -leak X - Σ |a_v| τ_v.
    """
    m, k = d.basic.size, d.nonbasic.size
    weight = np.zeros(m)
    if proof.place[d.basic[r]] >= 0:
        weight[proof.place[d.basic[r]]] = sign
    for j in range(k):
        i = proof.place[d.nonbasic[j]]
        if i >= 0:
            weight[i] = -sign * d.table[r, j]
    roundoff = (m + 2) * 2.220446049250313e-16
    constant, error, inherited, leak, slack = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        term = weight[i] * proof.table[i, k]
        constant += term
        error += roundoff * abs(term)
        inherited += abs(weight[i]) * proof.error[i, k]
        slack += abs(weight[i]) * proof.error[i, k + 1]
    for v in range(m + k):
        if proof.place[v] >= 0:
            entry, wrong = weight[proof.place[v]], 0.0
        else:
            entry, wrong = 0.0, 0.0
            for i in range(m):
                term = weight[i] * proof.table[i, ~proof.place[v]]
                entry -= term
                wrong += roundoff * abs(term) + abs(weight[i]) * proof.error[i, ~proof.place[v]]
        slack += abs(entry) * proof.allowed[v]
        if d.state[v] != ZERO:
            leak += max(wrong - entry, 0.0)
    return constant, error, error + inherited, leak, slack


@kernel
def contradiction(d, proof, r, sign):
    """Row r, times sign, says that a nonnegative sum is negative: true of all x with entries up to the result.

    With sign -1 the contradiction is to x_v = 0, v the variable of the row.
    """
    v = d.basic[r]
    state = d.state[v]
    if sign < 0.0:
        d.state[v] = ZERO
    constant, _, error, leak, slack = row_again(d, proof, r, sign)
    d.state[v] = state
    margin = -constant - error
    if not margin > 0.0:
        return 0.0
    if slack > 0.0:
        proof.clear[0] = min(proof.clear[0], margin / slack)
    return margin / leak if leak > 0.0 else np.inf


@kernel
def is_zero(d, proof, r):
    """Does row r show that its variable is zero all over the branch, to rounding?

    A small value may be what makes a solution, so it must be smaller than what a contradiction can tell from
    zero at FAR: a solution lost here leaves a contradiction beside it that does not reach that far.
    """
    constant, error, _, leak, _ = row_again(d, proof, r, 1.0)
    return constant <= 1e-13 + 10.0 * error and leak <= SLACK


@kernel
def can_be_positive(d, proof, v, point):
    """Is variable v positive somewhere in the branch? If so, it is at point.

    Primal simplex for the largest x_v, least indices first (Bland), but only until x_v moves.
    """
    m, k = d.basic.size, d.nonbasic.size
    rebuilt = False
    for _ in range(1000 + 20 * (m + k)):
        if value(d, v) > ROUNDING:
            break
        r = d.place[v]
        c = least_index_column(d, r, 1.0) if r >= 0 else ~r
        if c < 0:
            if is_zero(d, proof, r):
                return False
            if rebuilt:
                break
            rebuild(d, proof)
            rebuilt = True
            continue
        out, length = first_to_block(d, c)
        if length * (d.table[r, c] if r >= 0 else 1.0) > ROUNDING:
            vertex(d, point)
            length = min(length, 1.0)
            point[d.nonbasic[c]] = length
            for i in range(m):
                point[d.basic[i]] += length * d.table[i, c]
            return True
        pivot(d, out, c)
    vertex(d, point)
    return True  # true, or not decided: then the branch is kept


@kernel
def first_to_block(d, c):
    """The row that first reaches zero as the variable of column c grows, and after how far (-1 and inf: none)."""
    k = d.nonbasic.size
    out, length = -1, np.inf
    for i in range(d.basic.size):
        if d.table[i, c] < -ROUNDING and d.state[d.basic[i]] != ZERO:
            room = d.table[i, k] / -d.table[i, c] if d.table[i, k] > ROUNDING else 0.0
            if room < length or (room == length and d.basic[i] < d.basic[out]):
                out, length = i, room
    return out, length


@kernel
def vertex(d, x):
    for v in range(x.size):
        x[v] = value(d, v)


@kernel
def settle(d, proof, x):
    """x inside the polyhedron of the leaf in d; what is zero all over it is chosen as zero."""
    point = np.empty(x.size)
    vertex(d, x)
    count = 1
    for v in range(x.size):
        if d.state[v] != ZERO and x[v] <= ROUNDING:
            if can_be_positive(d, proof, v, point):
                count += 1
                for u in range(x.size):
                    x[u] += point[u]
            else:
                set_to_zero(d, proof, v)
    for v in range(x.size):
        x[v] /= count


# ---- from leaves to solutions ----


@dataclass(frozen=True, eq=False)
class Piece:
    z: Vector
    dimension: int
    left: Vector  # (size,)  of the standard form, at z
    slack: Vector  # (2 pairs,)  left and right of the pairs, >= 0
    zero: Mask  # (2 pairs,)  which of them are zero all over the piece
    along: Dense  # (size, dimension)  changes of left that stay in its affine hull
    residual: float


def solved_again(form: StandardForm, leaf: Leaf) -> Piece:
    """The leaf's equations solved from the problem's data, by the singular value decomposition, from the leaf's x."""
    pairs, size = form.pairs, form.q.size
    left, right = np.zeros(size), np.zeros(size)
    left[:pairs], right[:pairs] = np.where(leaf.zero, 0.0, leaf.x).reshape(2, pairs)
    if form.free.size:
        left[pairs:] = np.linalg.lstsq(form.M[:, pairs:], right - form.M @ left - form.q)[0]
    return piece_from(form, leaf.zero, leaf.dimension, left, form.origin + form.to_z(left))


def piece_from(form: StandardForm, zero: Mask, dimension: int, left: Vector, z: Vector) -> Piece:
    """The piece of so many dimensions where `zero` are zero, at the solution of its equations nearest to a point; what
    singular ones say nothing of stays as it is."""
    pairs, size = form.pairs, form.q.size
    movable, equal = unknowns_and_equations(form, zero)
    U, s, Vt = np.linalg.svd(form.M[equal][:, movable])
    rank = min(int(movable.sum()) - dimension, s.size)
    inverse = np.divide(1.0, s[:rank], out=np.zeros(rank), where=s[:rank] > ALMOST_ZERO)
    for _ in range(2):
        gap = form.right(z, left)[equal]
        step = np.zeros(size)
        step[movable] = -Vt[:rank].T @ (inverse * (U.T[:rank] @ gap))
        left += step
        z += form.to_z(step)
    z = np.clip(z, form.problem.lower, form.problem.upper)
    along = np.zeros((size, dimension))
    along[movable] = Vt[rank:].T
    slack = np.concatenate([left[:pairs], form.right(z, left)[:pairs]])
    return Piece(z, dimension, left, slack, zero, along, surest_residual(form.problem, z))


def nearer(form: StandardForm, piece: Piece, tol: float) -> Piece:
    """A continuum may reach as far as bounds of 1e10, where rounding hides that its points are solutions. Then it is
    stood for by a point inside it that is small: where the terms of M z are least, and a little from there."""
    for _ in range(3):  # a linear program is solved to seven digits
        if piece.residual <= tol:
            break
        least = smallest_point(form, piece)
        if least is None:
            break
        share = min(1e-2, tol / piece.residual)  # of the way back, off the edges
        left = least + share * (piece.left - least)
        again = piece_from(form, piece.zero, piece.dimension, left, form.origin + form.to_z(left))
        if not again.residual < piece.residual or again.slack.min(initial=0.0) < -SLACK:
            break
        piece = again
    return piece


def sharper(form: StandardForm, piece: Piece, tol: float) -> Piece:
    """Where q is next to nothing beside the bounds, a point that takes a variable for zero can pass as a solution
    though another next to it is exact. So of each pair the smaller one is made zero, as long as that makes the residual
    smaller (Newton's method for min(left, right) = 0). A point that is wild, or no number, is left alone."""
    while piece.dimension == 0 and piece.residual > SHARP * tol and np.abs(piece.slack).max(initial=0.0) < WILD:
        left, right = piece.slack[: form.pairs], piece.slack[form.pairs :]
        again = piece_from(form, np.concatenate([left <= right, left > right]), 0, piece.left.copy(), piece.z.copy())
        close = np.abs(again.slack - piece.slack).max(initial=0.0) <= SAME * (1 + np.abs(piece.slack).max(initial=0.0))
        if not (close and again.residual < 0.5 * piece.residual):
            break
        piece = again
    return piece


def smallest_point(form: StandardForm, piece: Piece) -> Vector | None:
    """`left` of the point of a piece with the least Σ_j |M_j|∞ |z_j|."""
    size = np.abs(as_dense(form.problem.M)).max(axis=0, initial=0.0)
    z, slope_z = size * piece.z, size[:, None] * form.to_z(piece.along)
    pairs, far = form.pairs, np.abs(z).max(initial=0.0)
    slope = np.concatenate([piece.along[:pairs], (form.M @ piece.along)[:pairs]])[~piece.zero]
    if not far > 0.0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        unit = far / np.maximum(np.abs(slope_z).max(axis=0, initial=0.0), np.finfo(float).tiny)  # of c
        top = np.eye(z.size)
        rows = np.vstack(
            [
                np.hstack([slope_z * unit / far, -top]),
                np.hstack([-slope_z * unit / far, -top]),
                np.hstack([-slope * unit, np.zeros((len(slope), z.size))]),
            ]
        )
        room = np.concatenate([-z / far, z / far, np.maximum(piece.slack[~piece.zero], 0.0)])
        height = np.maximum(np.abs(rows).max(axis=1, initial=0.0), np.finfo(float).eps)  # so that none is huge
        rows, room = rows / height[:, None], room / height
    if not (np.isfinite(rows).all() and np.isfinite(room).all()):  # z sees next to nothing of a direction, or is huge
        return None
    cost = np.append(np.zeros(piece.dimension), np.ones(z.size))
    found = linprog(cost, A_ub=rows, b_ub=room, bounds=(None, None))
    return piece.left + piece.along @ (unit * found.x[: piece.dimension]) if found.status == 0 else None


def unknowns_and_equations(form: StandardForm, zero: Mask) -> tuple[Mask, Mask]:
    """Which of left are not given as zero, and which of right are."""
    movable, equal = np.ones(form.q.size, bool), np.ones(form.q.size, bool)
    movable[: form.pairs], equal[: form.pairs] = ~zero[: form.pairs], zero[form.pairs :]
    return movable, equal


def without_contradictory(
    form: StandardForm, pieces: list[Piece], tol: float, reach: float, clear: float
) -> tuple[list[Piece], float, float]:
    """Without the leaves that only rounding kept: their residual is poor, since their equations have no solution.

    Such a leaf has a singular system, which errors in the dictionary made look regular.
    """
    kept = []
    for piece in pieces:
        excluded, times = (0.0, 0.0) if piece.residual <= tol else excluded_below(form, piece.zero, tol)
        if excluded >= FAR * max(1.0, float(np.abs(piece.slack).max(initial=0.0))):
            reach, clear = min(reach, excluded), min(clear, times)
        else:
            kept.append(piece)
    return kept, reach, clear


def excluded_below(form: StandardForm, zero: Mask, tol: float) -> tuple[float, float]:
    """The equations K x + k = 0 of a leaf have no solution x whose entries are all below this in size; how clearly.

    For each left singular vector u of K:  |uᵀ k| = |uᵀ K x| <= |uᵀ K|₁ max |x|.
    """
    movable, equal = unknowns_and_equations(form, zero)
    K, k = form.M[equal][:, movable], form.q[equal]
    u = np.linalg.svd(K)[0].T
    roundoff = (k.size + 2) * np.finfo(float).eps
    margin = np.abs(u @ k) - np.abs(u) @ (roundoff * np.abs(k) + form.unsure[equal])
    leak = np.abs(u @ K).sum(axis=1) + roundoff * (np.abs(u) @ np.abs(K)).sum(axis=1)
    allowed, of_equations = allowances(form, tol)
    wrong = np.concatenate([allowed[form.pairs :], of_equations])[equal]
    with np.errstate(divide="ignore", invalid="ignore"):
        farthest, times = np.where(margin > 0, margin / leak, 0.0), margin / (np.abs(u) @ wrong)
    farthest = np.where(margin > SLACK * np.abs(u).sum(axis=1), farthest, 0.0)  # less the search takes for zero
    best = int(np.argmax(farthest)) if farthest.size else -1
    return (float(farthest[best]), float(times[best])) if best >= 0 else (0.0, 0.0)


def sorted_out(
    form: StandardForm, pieces: list[Piece], tol: float
) -> tuple[list[Continuum], list[Vector], list[Vector]]:
    """The continua that are inside no other, the isolated points, and those whose residual is above tol."""
    good = [seen(form, piece) for piece in pieces if piece.residual <= tol]
    poor = [piece for piece in pieces if not piece.residual <= tol]
    largest: list[Piece] = []
    for piece in sorted((piece for piece in good if piece.dimension), key=lambda piece: -piece.dimension):
        if not any(inside(piece, other) for other in largest):
            largest.append(piece)
    isolated = [piece for piece in good if not piece.dimension and not any(inside(piece, other) for other in largest)]
    points = distinct(isolated)
    doubtful = [piece for piece in poor if not any(inside(piece, other) for other in [*largest, *points])]
    return [continuum(form, piece) for piece in largest], in_order(points), in_order(doubtful)


def inside(piece: Piece, other: Piece) -> bool:
    """Does piece lie in other? What is zero all over the other is then zero at a point inside this one."""
    far = np.abs(piece.slack[other.zero]).max(initial=0.0)
    return bool(far <= SAME * (1 + np.abs(piece.slack).max(initial=0.0)))


def undecided(form: StandardForm, piece: Piece) -> bool:
    """Is there a pair of which both are zero, to what counts as the same? Beside far bounds that may hide several
    solutions, and which of them is one."""
    larger = np.maximum(piece.slack[: form.pairs], piece.slack[form.pairs :])
    return bool((larger <= SAME * (1 + np.abs(piece.slack).max(initial=0.0))).any())


def with_those_of(problem: LCP | MixedLCP, nearby: Solutions, points: list[Vector], tol: float) -> list[Vector]:
    """The points, and the solutions among those of the same problem without far bounds, each once."""
    every = list(points)
    for found in (*nearby.points, *nearby.doubtful):
        z = np.clip(found, problem.lower, problem.upper)
        known = (np.abs(z - point).max(initial=0.0) <= SAME * np.abs(z).max(initial=0.0) for point in every)
        if surest_residual(problem, z) <= tol and not any(known):
            every.append(z)
    return sorted(every, key=tuple)


def at_ends(problem: LCP | MixedLCP, points: list[Vector]) -> list[Vector]:
    """The points, each once, with rows that have next to no room at the end to which w pushes them, where that solves
    no worse: in units of the whole problem both ends may be one."""
    room = problem.upper - problem.lower
    ended: dict[bytes, Vector] = {}
    for z in points:
        narrow, best = (room > 0.0) & (room <= SAME * (1 + np.abs(z).max(initial=0.0))), z
        if narrow.any():
            w = problem.value(z)
            other = np.where(narrow & (w > 0), problem.lower, np.where(narrow & (w < 0), problem.upper, z))
            best = other if surest_residual(problem, other) <= surest_residual(problem, z) else z
        best = best + 0.0  # no zero is negative
        ended.setdefault(best.tobytes(), best)
    return list(ended.values())


def at_other_bound(z: Vector, problem: LCP | MixedLCP, near: LCP | MixedLCP) -> bool:
    """Is z at a bound that `near` does not have?"""
    lower, upper = problem.lower != near.lower, problem.upper != near.upper
    return bool((lower & (z == problem.lower) | upper & (z == problem.upper)).any())


def same(form: StandardForm, z: Vector, other: Vector) -> bool:
    """Are two points one, in the units of the scaled problem?"""
    rows, unit = np.append(form.sided, form.free), np.delete(form.left_unit, slice(form.sided.size, form.pairs))
    return bool(np.abs((z - other)[rows] / unit).max(initial=0.0) <= SAME)


def distinct(pieces: list[Piece]) -> list[Piece]:
    """One of each group of points closer than SAME. Sorted by a projection, only neighbours need comparing."""
    if not pieces:
        return []
    slack = np.array([piece.slack for piece in pieces])
    weight = 1 / np.sqrt(1.0 + np.arange(slack.shape[1]))
    radius = SAME * (1 + np.abs(slack).max(axis=1, initial=0.0))
    mark = slack @ weight
    kept: list[int] = []
    for i in np.argsort(mark, kind="stable"):
        again = False
        for j in reversed(kept):
            if mark[i] - mark[j] > radius[i] * weight.sum():
                break
            again = again or bool(np.abs(slack[i] - slack[j]).max(initial=0.0) <= radius[i])
        if not again:
            kept.append(int(i))
    return [pieces[i] for i in kept]


def seen(form: StandardForm, piece: Piece) -> Piece:
    """The piece as z sees it: without the directions that change multipliers of bounds alone."""
    if piece.dimension == 0 or not form.boxed.size:
        return piece
    of_z = np.delete(piece.along, slice(form.sided.size, form.pairs), axis=0)
    _, share, turned = np.linalg.svd(of_z)
    along = piece.along @ turned[: int((share > SAME).sum())].T
    return replace(piece, dimension=along.shape[1], along=along)


def in_order(pieces: list[Piece]) -> list[Vector]:
    """Their z in lexicographic order, blind to rounding."""
    size = max((float(np.abs(piece.z).max(initial=0.0)) for piece in pieces), default=1.0) or 1.0
    return sorted((piece.z for piece in pieces), key=lambda z: tuple(np.round(z / size, 9) + 0.0))


def continuum(form: StandardForm, piece: Piece) -> Continuum:
    pairs = form.pairs
    along = piece.along
    directions, triangle = np.linalg.qr(form.to_z(along))
    apart = np.abs(triangle.diagonal()) > ROUNDING * np.linalg.norm(triangle, axis=0)  # of those before, in units of z
    if not apart.all():
        along = along[:, apart]
        directions, triangle = np.linalg.qr(form.to_z(along))
    largest = np.abs(directions).argmax(axis=0)
    turn = np.sign(directions[largest, np.arange(along.shape[1])])  # the largest component is positive
    along = along @ np.linalg.inv(triangle) * turn
    movable, equal = unknowns_and_equations(form, piece.zero)
    block = form.M[np.ix_(equal, movable)]  # along which nothing may change; rounding of larger units did
    along[movable] -= np.linalg.lstsq(block, block @ along[movable], rcond=SAME)[0]
    directions = form.to_z(along)
    slope = np.concatenate([along[:pairs], (form.M @ along)[:pairs]])[~piece.zero]
    slack = np.maximum(piece.slack[~piece.zero], 0.0)
    steep = np.abs(slope) > SAME * np.abs(along).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(steep, -slack[:, None] / slope, np.nan)
    extent = np.array(
        [
            (np.max(t[s > 0], initial=-np.inf), np.min(t[s < 0], initial=np.inf))
            for t, s in zip(step.T, np.where(steep, slope, 0.0).T, strict=True)
        ]
    )
    return Continuum(along.shape[1], piece.z, directions, extent, is_bounded(np.where(steep, slope, 0.0)))


def is_bounded(slope: Dense) -> bool:
    """Is 0 the only c with slope c >= 0?  Stiemke: iff slope has full rank and some y > 0 has slopeᵀ y = 0."""
    size = np.abs(slope).max(axis=1, initial=0.0)
    slope = slope[size > 0] / size[size > 0, None]
    if np.linalg.matrix_rank(slope) < slope.shape[1]:
        return False
    found = linprog(np.zeros(slope.shape[0]), A_eq=slope.T, b_eq=np.zeros(slope.shape[1]), bounds=(1, None))
    return bool(found.status == 0)
