"""Problems made to be hard, and plain arithmetic that judges answers to them: nothing of the package makes or judges.

Tests take a few of them; `python tests/solvers/attack.py --seed 7 --problems 10000` tries as many as you have time for,
and prints what is false and which solutions `auto` misses.
"""

import argparse
import itertools
import math
import time
import traceback
from collections import Counter
from fractions import Fraction

import numpy as np
from scipy import sparse

import stickslip as ss

SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 30, 40)
CHOICES = 1100  # of what is zero, that are tried one by one
EXACT_CHOICES, EXACT_ROWS = 130, 6  # in rational numbers
PAIRS = 10  # of which all solutions are enumerated
TOLS = (None, None, None, 1e-6, 1e-12)
LONG = 40.0  # seconds of processor time that no problem of 40 rows takes, all methods together
NAMES = ("auto", "lemke", "murty", "judice_pires", "pgs", "newton", "interior_point", "enumeration")
ITERATIVE = ("newton", "interior_point")  # which take most of the time, where they fail


# ------------------------------------------------------------------------------------------------------------ problems


def matrix(rng, n):
    A = rng.standard_normal((n, n))
    kinds = {
        "any": lambda: A,
        "definite": lambda: A @ A.T,
        "semidefinite": lambda: A[:, : (n + 1) // 2] @ A[:, : (n + 1) // 2].T,
        "rank one": lambda: np.outer(A[0], A[0]) if n else A,
        "skew": lambda: A - A.T,
        "monotone": lambda: A[:, : n // 2] @ A[:, : n // 2].T + np.triu(A, 1) - np.triu(A, 1).T,
        "integer": lambda: np.round(2 * A),
        "small integer": lambda: rng.integers(-1, 2, (n, n)).astype(float),
        "integer semidefinite": lambda: np.round(A[:, : n // 2]) @ np.round(A[:, : n // 2]).T,
        "copositive": lambda: np.abs(np.round(A)),
        "copositive plus": lambda: np.abs(A) + A @ A.T,
        "P": lambda: np.tril(A, -1) + np.diag(0.01 + rng.random(n)),
        "dominant": lambda: A + np.diag(np.abs(A).sum(axis=1)),
        "Z": lambda: n * np.eye(n) - rng.random((n, n)),
        "Murty": lambda: np.tril(np.full((n, n), 2.0), -1) + np.eye(n),
        "singular": lambda: A @ np.diag(rng.random(n) < 0.6) @ rng.standard_normal((n, n)),
        "parallel": lambda: np.ones((n, 1)) * A[:1] + 10.0 ** rng.uniform(-16, -4) * rng.standard_normal((n, n)),
        "twins": lambda: A[np.ix_(*[rng.integers(0, max(n // 2, 1), n)] * 2)] if n else A,
        "zero": lambda: 0 * A,
        "permutation": lambda: np.eye(n)[rng.permutation(n)] * np.sign(A),
        "negative": lambda: -A @ A.T,
        "Hilbert": lambda: 1.0 / (1.0 + np.arange(n)[:, None] + np.arange(n)),
    }
    kind = str(rng.choice(list(kinds)))
    M = kinds[kind]()
    return kind, M * (rng.random((n, n)) < 0.4) if rng.random() < 0.2 else M


def vector(rng, n, M):
    match rng.integers(8):
        case 0:
            return rng.integers(-2, 3, n).astype(float)
        case 1:
            return np.abs(rng.standard_normal(n))
        case 2:
            return np.zeros(n)
        case 3:  # degenerate: a solution with z_i = w_i = 0
            z, w = rng.random((2, n)) * rng.integers(0, 2, (2, n))
            return w * (z == 0) - M @ z
        case 4:
            z, w = rng.integers(0, 2, (2, n)).astype(float)
            return w * (z == 0) - np.round(M) @ z
        case 5:
            return -np.abs(rng.standard_normal(n))
        case _:
            return rng.standard_normal(n)


def row_bounds(rng):
    a, b = np.sort(rng.standard_normal(2))
    gap = 10.0 ** rng.uniform(-17, -6)
    far = 10.0 ** rng.uniform(3, 12)
    inf = np.inf
    choices = [(0, inf), (0, inf), (-inf, inf), (-inf, 0), (a, b), (a, a), (0, 0), (a, inf), (-inf, b), (a, a + gap)]
    choices += [(0, gap), (-far, far), (0, far), (-0.0, 0.0), (round(a), round(b))]
    return choices[rng.integers(len(choices))]


def random_problem(rng):
    """An LCP or a MixedLCP, and what it is."""
    n = int(rng.choice(SIZES))
    kind, M = matrix(rng, n)
    q = vector(rng, n, M)
    scaling = rng.random()
    if scaling < 0.35:
        M, q = M * 10.0 ** rng.uniform(-12, 12), q * 10.0 ** rng.uniform(-12, 12)
    elif scaling < 0.45:
        unit = 10.0 ** rng.uniform(-12, 12)
        M, q = M * unit, q * unit
    elif scaling < 0.65:
        row, column = 10.0 ** rng.uniform(-6, 6, n), 10.0 ** rng.uniform(-6, 6, n)
        M, q = M * row[:, None] * (row if rng.random() < 0.5 else column), q * row
    if n and rng.random() < 0.05:  # no z >= 0 will do
        M[0], q[0] = -np.abs(M[0]), -abs(q[0]) - rng.random()
    form = sparse.csr_array(M) if rng.random() < 0.15 else M
    if rng.random() < 0.5:
        return kind, ss.LCP(form, q)
    bounds = np.array([row_bounds(rng) for _ in range(n)], float).reshape(n, 2)
    return kind, ss.MixedLCP(form, q, bounds[:, 0], bounds[:, 1])


def random_start(rng, n):
    match rng.integers(8):
        case 0:
            return rng.standard_normal(n)
        case 1:
            return np.abs(rng.standard_normal(n)) * 10.0 ** rng.uniform(-12, 12)
        case 2:
            return np.full(n, -1e12)
    return None


# -------------------------------------------------------------------------------------------------------------- judges


def dense(problem):
    return problem.M.toarray() if sparse.issparse(problem.M) else problem.M


def length(x):
    largest = np.abs(x).max(initial=0)
    return largest * np.sqrt(((x / largest) ** 2).sum()) if largest > 0 else largest


def residual_with(problem, z, w, number=np.float64, literal=False):
    """|z - P(z - w)| / |q|, or over 1 + |q|, as the documentation has it; as w between the bounds, or literally."""
    lower, upper, z, w = (np.asarray(a, number) for a in (problem.lower, problem.upper, z, w))
    off = z - np.clip(z - w, lower, upper) if literal else np.minimum(np.maximum(w, z - upper), z - lower)
    return relative(problem, off, number)


def relative(problem, off, number=np.float64):
    bounds = np.concatenate([each[np.isfinite(each)] for each in (problem.lower, problem.upper)])
    scale = length(np.asarray(problem.q, number)) + (1 if bounds.any() else 0)
    return float(length(off) / scale if scale > 0 else length(off))


def residuals(problem, z, rng):
    """The residual by sums in several orders, in float64, in long double and rounded once."""
    M, q = dense(problem), problem.q
    n = q.size
    order = rng.permutation(n)
    terms = M * z
    long = (M.astype(np.longdouble) * z.astype(np.longdouble)).sum(axis=1) + q.astype(np.longdouble)
    mixed = isinstance(problem, ss.MixedLCP)
    found = {
        "product": residual_with(problem, z, M @ z + q, literal=mixed),
        "backwards": residual_with(problem, z, terms[:, ::-1].cumsum(axis=1)[:, -1] + q if n else q),
        "q first": residual_with(problem, z, np.column_stack([q, terms]).cumsum(axis=1)[:, -1]),
        "shuffled": residual_with(problem, z, terms[:, order].cumsum(axis=1)[:, -1] + q if n else q),
        "columns": residual_with(problem, z, np.einsum("ij,j", np.asfortranarray(M), z) + q),
        "long": residual_with(problem, z, long, np.longdouble),
    }
    if n <= 6:
        once = np.array([math.fsum([*row, b]) for row, b in zip(terms, q, strict=True)])
        found["once"] = residual_with(problem, z, once)
    return found


def sure_residual(problem, z):
    """The most that the residual may be by sums of float64: where it exceeds tol, no answer can be called solved."""
    M, q = dense(problem), problem.q
    unsure = (2 + np.sqrt(q.size)) * np.finfo(float).eps * (np.abs(M) @ np.abs(z) + np.abs(q))
    rows = [np.clip(M @ z + q + side * unsure, z - problem.upper, z - problem.lower) for side in (-1, 0, 1)]
    most = np.abs(rows).max(axis=0, initial=0.0)
    most += np.minimum(most, np.finfo(float).eps * np.abs(z))  # as z - P(z - w) is rounded
    return relative(problem, most)


def worst_row(problem, z):
    """By which share of its own size the worst row is wrong: what is nothing beside q may be all of z."""
    M, q = dense(problem), problem.q
    w = M @ z + q
    off = np.minimum(np.maximum(w, z - problem.upper), z - problem.lower)
    terms = np.maximum(np.abs(M) @ np.abs(z) + np.abs(q), 1e-300)
    share = np.where(off == w, 1.0 / terms, (np.abs(M) / terms[:, None]).max(axis=0, initial=0.0))
    return (np.abs(off) * share).max(initial=0.0)


def places(problem):
    """Where each row may be: at its lower bound (0), at its upper (1), between (2)."""
    return [
        [at for at, there in ((0, lo > -np.inf), (1, lo < up < np.inf), (2, lo < up)) if there]
        for lo, up in zip(problem.lower, problem.upper, strict=True)
    ]


def choices(problem, most):
    options = places(problem)
    if np.prod([len(each) for each in options], dtype=float) > most:
        return None
    return itertools.product(*options)


def solutions_by_trying(problem, tol=1e-10):
    """Every z with a residual of tol that a choice of rows at bounds gives by least squares."""
    M, q, lower, upper = dense(problem), problem.q, problem.lower, problem.upper
    long, long_q = M.astype(np.longdouble), q.astype(np.longdouble)
    for choice in choices(problem, CHOICES) or ():
        at = np.array(choice, int)
        inside = at == 2
        z = np.where(inside, 0.0, np.where(at == 0, lower, upper))
        block, right = M[np.ix_(inside, inside)], -(q + M @ z)[inside]
        for unit in (1.0, np.maximum(np.abs(block).max(axis=1, initial=0.0), 1e-300)):
            scaled = (block.T / unit).T
            try:
                z[inside] = np.linalg.lstsq(scaled, right / unit, rcond=None)[0]
                z[inside] += np.linalg.lstsq(scaled, -(q + M @ z)[inside] / unit, rcond=None)[0]
            except np.linalg.LinAlgError:
                break
            point = np.clip(z, lower, upper)
            error = residual_with(problem, point, long @ point + long_q, np.longdouble)
            if error <= tol:
                yield point
                break
            if not error <= 1e-3:
                break


def exact_solutions(problem):
    """Solutions in rational numbers: what each choice of rows at bounds determines, what is free at zero. Each is one;
    where a choice leaves something free there may be others."""
    tried = choices(problem, EXACT_CHOICES)
    if tried is None or problem.size > EXACT_ROWS:
        return
    M, q = [[Fraction(v) for v in row] for row in dense(problem).tolist()], [Fraction(v) for v in problem.q.tolist()]
    lower, upper = problem.lower, problem.upper
    for choice in tried:
        z = [Fraction(lower[i]) if at == 0 else Fraction(upper[i]) if at == 1 else None for i, at in enumerate(choice)]
        inside = [i for i, at in enumerate(choice) if at == 2]
        rows = [
            [M[i][j] for j in inside] + [-q[i] - sum(M[i][j] * z[j] for j in range(len(z)) if z[j] is not None)]
            for i in inside
        ]
        values = eliminated(rows, len(inside))
        if values is None:
            continue
        for i, value in zip(inside, values, strict=True):
            z[i] = value
        if solves_exactly(problem, M, q, z):
            yield z


def as_numbers(problem, z):
    """A rational solution in float64; None where that is none, for it has more digits or is too large."""
    x = np.clip(np.array([float(value) for value in z]), problem.lower, problem.upper)
    return x if max(residuals(problem, x, np.random.default_rng(0)).values()) <= 1e-13 else None


def eliminated(rows, unknowns):
    """A solution of the linear system (A | b), what is free zero; None if there is none."""
    pivots, r = [], 0
    for c in range(unknowns):
        p = next((i for i in range(r, len(rows)) if rows[i][c]), None)
        if p is None:
            continue
        rows[r], rows[p] = rows[p], rows[r]
        for i in range(len(rows)):
            if i != r and rows[i][c]:
                factor = rows[i][c] / rows[r][c]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[r], strict=True)]
        pivots.append(c)
        r += 1
    if any(row[-1] for row in rows[r:]):
        return None
    values = [Fraction(0)] * unknowns
    for i, c in enumerate(pivots):
        values[c] = rows[i][-1] / rows[i][c]
    return values


def solves_exactly(problem, M, q, z):
    for i, value in enumerate(z):
        w = sum(a * b for a, b in zip(M[i], z, strict=True)) + q[i]
        lower, upper = problem.lower[i], problem.upper[i]
        if not lower <= value <= upper or (w > 0 and value != lower) or (w < 0 and value != upper):
            return False
    return True


def says_there_is_none(answer):
    return answer.status is ss.Status.NO_SOLUTION or (answer.certificate is not None and answer.certificate.infeasible)


# -------------------------------------------------------------------------------------------------------------- attack


class Tally:
    def __init__(self):
        self.solves, self.counts, self.found = 0, Counter(), []

    def note(self, what, *where):
        self.counts[what] += 1
        self.found.append((what, *where))


def attack(seed, tally, names=NAMES, share=1.0):
    """One problem by every method; the slow ones on a share of the problems."""
    started = time.thread_time()  # asked for once: it is a call of the system
    rng = np.random.default_rng(seed)
    kind, problem = random_problem(rng)
    tol = TOLS[rng.integers(len(TOLS))]
    x0 = random_start(rng, problem.size)
    pairs = int(
        (np.isfinite(problem.lower).astype(int) + np.isfinite(problem.upper))[problem.lower < problem.upper].sum()
    )
    refuted, missed = [], False
    for name in names:
        if name == "enumeration" and pairs > PAIRS:
            continue
        if name == "auto" and 14 < pairs <= 20 and rng.random() < 0.8:
            continue  # enumeration takes long
        if name in ITERATIVE and share < 1.0 and rng.random() > share:
            continue
        try:
            answer = ss.solve(problem, name, tol, x0)
        except ss.InputError as error:
            if name != "pgs":
                tally.note("refused", seed, kind, name, str(error))
            continue
        except Exception as error:
            tally.note("crash", seed, kind, name, repr(error), traceback.format_exc()[-600:])
            continue
        tally.solves += 1
        if answer.solved:
            errors = residuals(problem, answer.x, rng)
            if not max(errors.values()) <= answer.solver.tol:
                tally.note("false", seed, kind, name, tol, answer.residual, errors)
            if not ((answer.x >= problem.lower) & (answer.x <= problem.upper)).all():
                tally.counts["outside"] += 1
        if says_there_is_none(answer):
            refuted.append((name, answer))
        if name == "auto" and not answer.solved and not says_there_is_none(answer):
            missed = True
    disputed = [name for name, _ in refuted]
    if refuted or missed:
        for z in solutions_by_trying(problem, 1e-10 if tol is None else tol):
            for name, answer in refuted:
                tally.note("false certificate", seed, kind, name, answer.status.name, z.tolist())
            if missed and worst_row(problem, z) <= 1e-6 and sure_residual(problem, z) <= (tol or 1e-10):
                tally.note("missed by auto", seed, kind, tol, problem.size)
                missed = False
            refuted.clear()
        if disputed:
            whole = (problem.q == np.round(problem.q)).all() and (dense(problem) == np.round(dense(problem))).all()
            for z in exact_solutions(problem):
                if whole or as_numbers(problem, z) is not None:
                    tally.note("false certificate, exactly", seed, kind, disputed, list(map(str, z)))
                    break
    if pairs <= 7 and rng.random() < 0.15:
        attack_enumeration(seed, kind, problem, rng, tally)
    seconds = time.thread_time() - started
    if seconds > LONG:
        tally.note("slow", seed, kind, seconds)


def attack_enumeration(seed, kind, problem, rng, tally):
    try:
        every = ss.all_solutions(problem)
    except ss.InputError as error:
        tally.note("refused", seed, kind, "all_solutions", str(error))
        return
    except Exception as error:
        tally.note("crash", seed, kind, "all_solutions", repr(error), traceback.format_exc()[-600:])
        return
    tally.solves += 1
    for z in [*every.points, *(piece.point for piece in every.continua)]:
        errors = residuals(problem, z, rng)
        if not max(errors.values()) <= 1e-10:
            tally.note("listed, and none", seed, kind, errors)
    for piece in every.continua:
        for k in range(piece.dimension):
            low, high = np.clip(piece.extent[k], -1.0, 1.0)
            for t in (low, high, 0.5 * low, 0.5 * high):
                z = np.clip(piece.point + t * piece.directions[:, k], problem.lower, problem.upper)
                off = residual_with(problem, z, dense(problem) @ z + problem.q)
                size = 1 + (np.abs(dense(problem)) @ np.abs(z)).max(initial=0.0) / max(length(problem.q), 1e-300)
                if not off <= 1e-7 * size:
                    tally.note("continuum holds none", seed, kind, piece.dimension, off, size)
                    break
    if not every.complete:
        tally.counts["incomplete"] += 1
        return
    for exact in exact_solutions(problem):
        z = as_numbers(problem, exact)
        if z is not None and not near_any(problem, z, every):
            tally.note("not listed", seed, kind, z.tolist(), every.describe(), every.reach)
            break


def near_any(problem, z, every, close=1e-5):
    size = max([1e-12, *(np.abs(each).max(initial=0.0) for each in (z, *every.points, *every.doubtful))])
    for other in [*every.points, *every.doubtful]:
        if np.abs(other - z).max(initial=0.0) <= close * max(size, np.abs(other).max(initial=0.0)):
            return True
    for piece in every.continua:
        along = piece.directions @ (piece.directions.T @ (z - piece.point))
        if np.abs(piece.point + along - z).max(initial=0.0) <= close * max(size, np.abs(piece.point).max(initial=0.0)):
            return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--share", type=float, default=1.0, help="of the problems, that the slow methods are tried on")
    given = parser.parse_args()
    tally = Tally()
    names = NAMES if given.only is None else (given.only,)
    with np.errstate(all="ignore"):
        for i in range(given.first, given.first + given.problems):
            before = len(tally.found)
            attack([given.seed, i], tally, names, given.share)
            for each in tally.found[before:]:
                print(*each, flush=True)
            if i % 1000 == 999:
                print(f"# {i + 1} problems, {tally.solves} solves, {dict(tally.counts)}", flush=True)
    print(f"# {given.problems} problems, {tally.solves} solves, {dict(tally.counts)}")


if __name__ == "__main__":
    main()
