"""The contacts of one pair of shapes, before they go to the list of all: rows of an array called `spots`.

A row is (x, y, z, n_x, n_y, n_z, gap, feature), the point midway between the surfaces and the normal from the second
shape of the pair to the first. Kernels that add rows take how many there are and return how many there are then.

Kernels that take arrays and return from more than one place count references to them, which costs more than what these
small ones do: they have no branches, or take numbers only.

At most four contacts of a pair are kept: `spread` takes the deepest and those that span the greatest area with it. It
compares with a preference for the lower feature, so that rounding does not make it choose otherwise in the next step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.collision.vectors import cross, inner, minus, row
from stickslip.jit import bare
from stickslip.scene.model import Floats

GAP, FEATURE, COLUMNS = 6, 7, 8
ROOM = 20  # rows: an octagon clipped by an octagon, the nearest points, and one that is not wanted
KEPT: Any = np.int64(4)
CLEARLY = 1.01  # how many times greater a length must be to be preferred to one of a lower feature
NONE: Any = np.int64(0)  # numbers that kernels pass on are typed: Numba compiles a kernel anew for every plain constant


def spots() -> Floats:
    return np.zeros((ROOM, COLUMNS))


@bare
def put(spots, count, feature, gap, margin, point, normal):
    """One more contact, if its gap is at most the margin."""
    spots[count, 0], spots[count, 1], spots[count, 2] = point
    spots[count, 3], spots[count, 4], spots[count, 5] = normal
    spots[count, GAP], spots[count, FEATURE] = gap, feature
    return count + (gap <= margin)


@bare
def least_gap(spots, count):
    least = np.inf
    for k in range(count):
        least = min(least, spots[k, GAP])
    return least


@bare
def swap(spots, i, j):
    for c in range(COLUMNS):
        spots[i, c], spots[j, c] = spots[j, c], spots[i, c]


@bare
def order_by_feature(spots, count):
    for end in range(1, count):
        i = end
        while i > 0 and spots[i, FEATURE] < spots[i - 1, FEATURE]:
            swap(spots, i, i - 1)
            i -= 1


@bare
def merge_planar(spots, count):
    """Put the contacts into the plane y = 0, and of those that then coincide keep the first."""
    kept = NONE
    for i in range(count):
        x, z = spots[i, 0], spots[i, 2]
        new = True
        for k in range(kept):
            apart = abs(x - spots[k, 0]) + abs(z - spots[k, 2])
            new = new and apart > 1e-9 * (abs(x) + abs(z))
        if new:
            swap(spots, kept, i)
            spots[kept, 1], spots[kept, 4] = 0.0, 0.0
            kept += 1
    return kept


@bare
def spread(spots, count, shallow):
    """Of contacts with one normal keep four: the deepest, to within `shallow`, and those farthest about it."""
    if count <= KEPT:
        return count
    order_by_feature(spots, count)
    best = NONE
    for i in range(1, count):
        if spots[i, GAP] < spots[best, GAP] - shallow:
            best = i
    swap(spots, NONE, best)
    for kept in range(1, KEPT):
        best, farthest = kept, 0.0
        for i in range(kept, count):
            measure = outside(spots, kept, i)
            if measure > CLEARLY * farthest:
                best, farthest = i, measure
        swap(spots, kept, best)
    return KEPT


@bare
def keep_above(spots, count, gap):
    """Keep the contacts whose gap is greater than this."""
    kept = NONE
    for k in range(count):
        if spots[k, GAP] > gap:
            swap(spots, kept, k)
            kept += 1
    return kept


@bare
def drop_beside_last(spots, count):
    """Where there are more than four, drop the one nearest to the last."""
    if count <= KEPT:
        return count
    last, nearest = count - 1, NONE
    least = np.inf
    for k in range(last):
        way = minus(row(spots, k), row(spots, last))
        square = inner(way, way)
        if square < least:
            least, nearest = square, k
    swap(spots, nearest, last)
    return last


@bare
def outside(spots, kept, i):
    """How far point i is from the first, or the area of the triangles that it makes with pairs of the first ones.

    With three of them that area is least, and the same, for all points inside their triangle.
    """
    n, area = (spots[0, 3], spots[0, 4], spots[0, 5]), 0.0
    for k in range(kept):
        a, b = minus(row(spots, (k + 1) % kept), row(spots, k)), minus(row(spots, i), row(spots, k))
        if kept == 1:
            return inner(b, b)
        area += abs(inner(n, cross(a, b)))
    return area
