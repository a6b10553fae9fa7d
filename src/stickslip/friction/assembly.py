"""From rows to a problem with bounds:  w = (Pᵀ W P + K) z + Pᵀ q + d,   lower <= z <= upper.                     (1)

P takes the unknowns z of a formulation to the impulses x = P z of friction/active.py. An unknown stands for at most two
components of x, so of P its `row` and `value` are kept, two for each unknown. K couples unknowns of the friction law
with each other; d is its offset. A formulation lists these in a kernel of its own, as `Unknowns`; what is made of them
is the same for all, dense where W is, and sparse where it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from stickslip.friction.active import ActiveRows
from stickslip.friction.formulation import Posed
from stickslip.friction.impact import RowImpulses
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Indices, Sparse, Vector, all_finite
from stickslip.problems.mixed import MixedLCP


class Unknowns(NamedTuple):
    """The n unknowns of (1)."""

    row: Indices  # (n, 2)   of x
    value: Dense  # (n, 2)   P[row, unknown]; 0 where an unknown stands for fewer components
    place: Indices  # (e, 2)   row and column of the entries of K
    entry: Vector  # (e,)   their values
    offset: Vector  # (n,)   d
    lower: Vector  # (n,)
    upper: Vector  # (n,)
    start: Vector  # (n,)   a starting point


@kernel
def room_for_unknowns(size, entries, components, lower, upper):
    """So many unknowns that stand for nothing yet, with the bounds [0, ∞). Behind them those of bounded joint rows,
    which follow so many components of contacts in x."""
    whole = size + lower.size
    row, value = np.zeros((whole, 2), np.int64), np.zeros((whole, 2))
    low, high = np.zeros(whole), np.full(whole, np.inf)
    row[size:, 0], value[size:, 0] = components + np.arange(lower.size), 1.0
    low[size:], high[size:] = lower, upper
    return row, value, np.zeros((entries, 2), np.int64), np.zeros(entries), np.zeros(whole), low, high, np.zeros(whole)


@kernel
def couple(place, entry, e, row, column, value):
    """The entry number e of K. Returns the next number."""
    place[e, 0], place[e, 1], entry[e] = row, column, value
    return e + 1


def posed_as(
    kind: type[LCP] | type[MixedLCP],
    rows: ActiveRows,
    unknowns: Unknowns,
    start: Vector | None = None,
    normal: Indices | None = None,
) -> Posed:
    """The problem (1), an LCP only where all bounds are [0, ∞), and the way back, x = P z; `normal` as in Posed."""
    row, value, size, shape = unknowns.row, unknowns.value, rows.q.size, rows.previous.shape

    def decode(z: Vector) -> RowImpulses:
        x = impulses_of(row, value, z, size)
        bounded = shape[0] * shape[1]
        return RowImpulses(x[:bounded].reshape(shape), x[bounded:])

    return Posed(problem_of(kind, rows, unknowns), start, decode, normal)


def problem_of(kind: type[LCP] | type[MixedLCP], rows: ActiveRows, unknowns: Unknowns) -> Any:
    """Unchecked where it is dense and found sound as it is made: checks would cost more than to solve a few rows."""
    lower, upper = unknowns.lower, unknowns.upper
    if isinstance(rows.W, np.ndarray):
        M, q, sound = assembled_dense(rows.W, rows.q, *unknowns[:7])
        if sound:
            return kind.unchecked(M=M, q=q, lower=lower, upper=upper)
    else:
        M, q = assembled_sparse(rows.W, rows.q, unknowns)
    return LCP(M, q) if kind is LCP else MixedLCP(M, q, lower, upper)


def assembled_sparse(W: Sparse, q: Vector, unknowns: Unknowns) -> tuple[Sparse, Vector]:
    """Pᵀ W P + K and Pᵀ q + d."""
    row, value, place, entry, offset = unknowns[:5]
    n, used = len(row), value != 0.0
    P = sparse.csr_array((value[used], (row[used], np.nonzero(used)[0])), shape=(q.size, n))
    K = sparse.csr_array((entry, (place[:, 0], place[:, 1])), shape=(n, n))
    return P.T @ (W @ P) + K, P.T @ q + offset


@kernel
def assembled_dense(W, q, row, value, place, entry, offset, lower, upper):
    """The same for a dense symmetric W; what comes of it is symmetric to the last bit, but for K. Also whether it is
    finite, with bounds between which something lies."""
    n, size = row.shape[0], q.size
    M, b, across, sound = np.zeros((n, n)), offset.copy(), np.empty(size), True  # across: a row of Pᵀ W
    for a in range(n):
        sound = sound and lower[a] <= upper[a] and lower[a] < np.inf and upper[a] > -np.inf
        for j in range(size):
            across[j] = 0.0
        for e in range(2):
            r, v = row[a, e], value[a, e]
            if v != 0.0:
                b[a] += v * q[r]
                for j in range(size):
                    across[j] += v * W[r, j]
        if value[a, 0] == 0.0 and value[a, 1] == 0.0:
            continue
        for c in range(a + 1):
            M[a, c] = value[c, 0] * across[row[c, 0]] + value[c, 1] * across[row[c, 1]]
            M[c, a] = M[a, c]
    for e in range(entry.size):
        M[place[e, 0], place[e, 1]] += entry[e]
    return M, b, sound and all_finite(M) and all_finite(b)


@kernel
def impulses_of(row, value, z, size):
    """x = P z."""
    x = np.zeros(size)
    for a in range(z.size):
        for e in range(2):
            x[row[a, e]] += value[a, e] * z[a]
    return x
