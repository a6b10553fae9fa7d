"""All solutions of a small (mixed) LCP by brute force over every choice of active bounds, with linear programs.

Each row is at its lower bound (w >= 0), at its upper bound (w <= 0), inside (w = 0) or fixed (w of any sign). A choice
leaves a polyhedron of points; the solutions are the union of these pieces. A piece is returned as its bounding box.
"""

import itertools

import numpy as np
from scipy.optimize import linprog

from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import as_dense

NEAR = 1e-9


def pieces(problem):
    """(low, high) of each piece; low = high where it is a point, infinities where it is unbounded."""
    M, q = as_dense(problem.M), problem.q
    n = q.size
    lower, upper = (np.zeros(n), np.full(n, np.inf)) if isinstance(problem, LCP) else (problem.lower, problem.upper)
    return [
        piece
        for places in itertools.product(*(choices(lower[i], upper[i]) for i in range(n)))
        if (piece := extent(M, q, lower, upper, np.array(places)))
    ]


def points(problem):
    """The solutions, where each piece is a point; otherwise None."""
    found = []
    for low, high in pieces(problem):
        if not (high - low).max(initial=0.0) <= 1e-7:
            return None
        if not any(np.allclose(low, other, rtol=0, atol=1e-6) for other in found):
            found.append((low + high) / 2)
    return found


def choices(lower, upper):
    if lower == upper:
        return ["fixed"]
    return ["inside", *(["lower"] if np.isfinite(lower) else []), *(["upper"] if np.isfinite(upper) else [])]


def extent(M, q, lower, upper, places):
    inside = places == "inside"
    z = np.select([places == "lower", places == "upper", places == "fixed"], [lower, upper, lower], 0.0)
    rest = M @ z + q
    block = M[np.ix_(inside, inside)]
    if inside.sum() and np.linalg.matrix_rank(block) == inside.sum():
        z[inside] = np.linalg.solve(block, -rest[inside])
        w = M @ z + q
        slack = NEAR * (1 + np.abs(z).max() + np.abs(w).max())
        good = (
            (z >= lower - slack).all()
            and (z <= upper + slack).all()
            and (w[places == "lower"] >= -slack).all()
            and (w[places == "upper"] <= slack).all()
        )
        return (z, z) if good else None
    return extent_of_polyhedron(M, lower, upper, places, inside, z, rest)


def extent_of_polyhedron(M, lower, upper, places, inside, z, rest):
    """The box of {z_I : M_II z_I + rest_I = 0, w >= 0 at lower bounds, w <= 0 at upper ones}."""
    at_lower, at_upper = places == "lower", places == "upper"
    if not inside.any():
        good = (rest[at_lower] >= -NEAR).all() and (rest[at_upper] <= NEAR).all()
        return (z, z) if good else None
    columns = M[:, inside]
    low, high = z.copy(), z.copy()
    for k, row in enumerate(np.flatnonzero(inside)):
        for bound, sign in ((low, 1.0), (high, -1.0)):
            answer = linprog(
                sign * np.eye(inside.sum())[k],
                A_ub=np.vstack([-columns[at_lower], columns[at_upper]]),
                b_ub=np.concatenate([rest[at_lower], -rest[at_upper]]),
                A_eq=columns[inside],
                b_eq=-rest[inside],
                bounds=list(zip(lower[inside], upper[inside], strict=True)),
            )
            if answer.status == 2:
                return None
            assert answer.status in (0, 3), answer.message
            bound[row] = sign * (answer.fun if answer.status == 0 else -np.inf)
    return low, high
