"""From all shapes to the contacts between them.

Two shapes can touch where the boxes about them, grown by the reach of their bodies, overlap. Few shapes are compared
each with each. Many go into grids: one for each power of two in the size of their boxes, its cells as wide as the
widest of those. The boxes of a grid that meet a given one then have their centres in the cells next to it. A shape is
looked up in the grid of its own size and in all coarser ones; the cells are kept in a hash table. This takes time
proportional to the shapes and to the sizes (powers of two) that occur, and the same order of contacts every time.

Planes have no box: they are compared with all others by the distance of the centre.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.collision.faces import outline
from stickslip.collision.gjk import simplex
from stickslip.collision.hulls import Hulls
from stickslip.collision.manifold import NONE, spots
from stickslip.collision.pairs import meet
from stickslip.collision.placement import AXES, BOUND, HALF, PLANE, REACH, place, tabulate
from stickslip.jit import inlined, kernel
from stickslip.scene.model import Floats, Integers, Kind, Model

Booleans = NDArray[np.bool_]
FEW = 24  # shapes that are compared each with each
LEVELS = 64  # powers of two in the size of boxes, from 2^-40
FINEST = -40
CELL_BITS = 19  # of a cell's number along each axis; cells 2^19 apart share a key, and only then


class Grids(NamedTuple):
    """Where many shapes are sorted into cells."""

    planes: Integers  # the shapes that are planes
    others: Integers  # and those that are not
    level: Integers  # (ns,)   which grid a shape is in
    key: Integers  # (ns,)   and which cell of it
    widest: Floats  # (LEVELS,)   width of the widest box in a grid, and of its cells   [m]
    start: Integers  # (power of two + 1,)   where the shapes of a bucket start in `order`
    order: Integers  # (ns,)   shapes by bucket


class Workspace(NamedTuple):
    """What `find_contacts` needs of a Model, and room; nothing is kept from one call to the next."""

    planar: bool
    bodies: int
    apart: Integers  # see Model
    # the shapes
    body: Integers  # (ns,)
    position: Floats  # (ns, 3)   in the frames of their bodies
    rotation: Floats  # (ns, 3, 3)
    kind: Integers  # (ns,)   see `tabulate`
    table: Floats  # (ns, COLUMNS)
    free: Booleans  # (ns,)   is its body
    hulls: Hulls
    # the pairs
    pairs: Integers  # (room, 2)   shapes that may touch, the greater first
    ordered: Integers  # (room, 2)   work
    grids: Grids
    # one pair
    spots: Floats
    simplex: Floats
    outline: Floats
    clipped: Floats


def workspace(model: Model) -> Workspace:
    kind, table = tabulate(model)
    count = kind.size
    room = max(count * (count - 1) // 2 if count <= FEW else 16 * count, 1)
    grids = Grids(
        planes=np.flatnonzero(kind == PLANE),
        others=np.flatnonzero(kind != PLANE),
        level=np.zeros(count, np.int64),
        key=np.zeros(count, np.int64),
        widest=np.zeros(LEVELS),
        start=np.zeros((1 << (2 * count).bit_length()) + 1, np.int64),
        order=np.zeros(count, np.int64),
    )
    return Workspace(
        planar=model.planar,
        bodies=model.kind.size,
        apart=model.apart,
        body=model.shape_body,
        position=model.shape_position,
        rotation=model.shape_rotation,
        kind=kind,
        table=table,
        free=model.kind[model.shape_body] == Kind.FREE,
        hulls=Hulls(model.hull_range, model.hull_corner, model.hull_face, model.hull_rim),
        pairs=np.zeros((room, 2), np.int64),
        ordered=np.zeros((room, 2), np.int64),
        grids=grids,
        spots=spots(),
        simplex=simplex(),
        outline=outline(),
        clipped=outline(),
    )


@inlined
def find_contacts(state, reach, work, contacts):
    """All contacts with gap <= reach[body_a] + reach[body_b], sorted by (shape_a, shape_b, feature).

    Returns how many there are. Where that is more than `contacts` has room for, those beyond are not written.
    """
    kind, table, body, planar = work.kind, work.table, work.body, work.planar
    place(kind, body, work.position, work.rotation, state.position, state.quaternion, reach, planar, table)
    free, apart, grids, pairs, ordered = work.free, work.apart, work.grids, work.pairs, work.ordered
    found = near_pairs(kind, table, body, free, apart, work.bodies, grids, pairs, ordered)
    if found > pairs.shape[0]:
        return meet_more(
            found, kind, table, body, free, apart, work.bodies, grids, planar, work.hulls, work.simplex, work.outline,
            work.clipped, work.spots, contacts,
        )  # fmt: skip
    return meet(
        pairs, found, kind, table, planar, work.hulls, work.simplex, work.outline, work.clipped, work.spots, contacts
    )


@kernel
def meet_more(
    found, kind, table, body, free, apart, bodies, grids, planar, hulls, simplex, outline, clipped, spots, contacts
):  # fmt: skip
    """The same with room for more pairs."""
    pairs, ordered = np.empty((found, 2), np.int64), np.empty((found, 2), np.int64)
    found = near_pairs(kind, table, body, free, apart, bodies, grids, pairs, ordered)
    return meet(pairs, found, kind, table, planar, hulls, simplex, outline, clipped, spots, contacts)


@kernel
def near_pairs(kind, table, body, free, apart, bodies, grids, pairs, ordered):
    """The pairs of shapes that may touch, the greater first, in order. Returns how many.

    Where those that are near, of which these are some, are more than there is room for, it returns how many are near.
    """
    if kind.size <= FEW:
        found = each_with_each(kind, table, pairs)
        return leave_out(pairs, found, table, body, free, apart, bodies)
    planes, others, level, key, widest, start, order = grids
    fill_grids(table, others, level, key, widest, start, order)
    found = over_planes(table, planes, others, pairs)
    found = neighbours(table, others, level, key, widest, start, order, pairs, found)
    if found > pairs.shape[0]:
        return found
    found = leave_out(pairs, found, table, body, free, apart, bodies)
    sort_pairs(pairs, found, order, ordered)
    return found


@kernel
def each_with_each(kind, table, pairs):
    """Pairs of shapes, the greater first, that are near. Returns how many."""
    found = NONE
    for a in range(1, kind.size):
        for b in range(a):
            if kind[a] != PLANE and kind[b] != PLANE:
                near = boxes_meet(table, a, b)
            elif kind[b] == PLANE:
                near = kind[a] != PLANE and over_plane(table, a, b)
            else:
                near = over_plane(table, b, a)
            if near:
                found = add_pair(pairs, found, a, b)
    return found


@kernel
def over_planes(table, planes, others, pairs):
    """The near pairs with planes. Returns how many, be there room for them in `pairs` or not."""
    found = NONE
    for p in planes:
        for s in others:
            if over_plane(table, s, p):
                found = add_pair(pairs, found, s, p)
    return found


@kernel
def over_plane(table, s, p):
    """Is the ball about shape s within reach of plane p?"""
    x, y, z = table[s, 0] - table[p, 0], table[s, 1] - table[p, 1], table[s, 2] - table[p, 2]
    height = table[p, AXES + 6] * x + table[p, AXES + 7] * y + table[p, AXES + 8] * z
    return height <= table[s, BOUND] + table[s, REACH] + table[p, REACH]


@kernel
def boxes_meet(table, a, b):
    x = abs(table[a, 0] - table[b, 0]) - (table[a, HALF] + table[b, HALF])
    y = abs(table[a, 1] - table[b, 1]) - (table[a, HALF + 1] + table[b, HALF + 1])
    z = abs(table[a, 2] - table[b, 2]) - (table[a, HALF + 2] + table[b, HALF + 2])
    return max(x, y, z) <= 0.0


@kernel
def add_pair(pairs, found, a, b):
    """Without room, the last one is overwritten."""
    k = min(found, pairs.shape[0] - 1)
    pairs[k, 0], pairs[k, 1] = max(a, b), min(a, b)
    return found + 1


@kernel
def leave_out(pairs, found, table, body, free, apart, bodies):
    """Keep the pairs that may touch: of two bodies, one of them free, not kept apart, and the balls about them near."""
    kept = 0
    for k in range(found):
        a, b = pairs[k, 0], pairs[k, 1]
        body_a, body_b = body[a], body[b]
        x, y, z = table[a, 0] - table[b, 0], table[a, 1] - table[b, 1], table[a, 2] - table[b, 2]
        near = table[a, BOUND] + table[a, REACH] + table[b, BOUND] + table[b, REACH]
        wanted = body_a != body_b and (free[a] or free[b]) and x * x + y * y + z * z <= near * near
        if wanted and apart.size > 0:
            pair = min(body_a, body_b) * bodies + max(body_a, body_b)
            at = np.searchsorted(apart, pair)
            wanted = at == apart.size or apart[at] != pair
        if wanted:
            pairs[kept, 0], pairs[kept, 1] = a, b
            kept += 1
    return kept


@kernel
def fill_grids(table, others, level, key, widest, start, order):
    """Sort the shapes into the buckets of their cells, within a bucket by number."""
    widest[:] = 0.0
    for s in others:
        width = 2.0 * max(table[s, HALF], table[s, HALF + 1], table[s, HALF + 2])
        level[s] = min(LEVELS - 1, max(0, math.frexp(width)[1] - FINEST))
        widest[level[s]] = max(widest[level[s]], width)
    start[:] = 0
    for s in others:
        cell = 1.0 / widest[level[s]]
        x, y, z = table[s, 0] * cell, table[s, 1] * cell, table[s, 2] * cell
        key[s] = key_of(level[s], math.floor(x), math.floor(y), math.floor(z))
        start[bucket_of(key[s], start.size - 1)] += 1
    total = 0
    for k in range(start.size):
        total += start[k]
        start[k] = total
    for k in range(others.size - 1, -1, -1):
        s = others[k]
        bucket = bucket_of(key[s], start.size - 1)
        start[bucket] -= 1
        order[start[bucket]] = s


@kernel
def key_of(level, x, y, z):
    mask = (1 << CELL_BITS) - 1
    return (((level << CELL_BITS | (x & mask)) << CELL_BITS) | (y & mask)) << CELL_BITS | (z & mask)


@kernel
def bucket_of(key, buckets):
    """Cells that are near have buckets that are near: a block of 4 × 4 × 4 cells has 64 in a row, so that those about a
    shape are found in a few lines of the cache. Blocks lie anywhere, and within each the cells are shuffled, lest
    shapes in regular places share buckets."""
    block = key & ~(3 << 2 * CELL_BITS | 3 << CELL_BITS | 3)
    cell = (key >> 2 * CELL_BITS & 3) << 4 | (key >> CELL_BITS & 3) << 2 | (key & 3)
    block ^= block >> 31
    block = (block * 0x1E3779B97F4A7C15) & 0x7FFFFFFFFFFFFFFF
    return (block >> 30 << 6 | cell ^ (block >> 24 & 63)) & (buckets - 1)


@kernel
def neighbours(table, others, level, key, widest, start, order, pairs, found):
    """Add the pairs of each shape with those in coarser grids, and with those in its own cell and half of those about.

    The other half looks for it: a cell comes after another where it has the greater number along x, or the same and
    the greater along y, or both the same and the greater along z.
    """
    for s in others:
        for grid in range(level[s], LEVELS):
            if widest[grid] == 0.0:
                continue
            cell, about, own = 1.0 / widest[grid], 0.5 * widest[grid], grid == level[s]
            x, y, z = table[s, 0], table[s, 1], table[s, 2]
            r_x, r_y, r_z = table[s, HALF] + about, table[s, HALF + 1] + about, table[s, HALF + 2] + about
            own_x, own_y, own_z = math.floor(x * cell), math.floor(y * cell), math.floor(z * cell)
            low_y, low_z = math.floor((y - r_y) * cell), math.floor((z - r_z) * cell)
            high_y, high_z = math.floor((y + r_y) * cell), math.floor((z + r_z) * cell)
            for k_x in range(own_x if own else math.floor((x - r_x) * cell), math.floor((x + r_x) * cell) + 1):
                same_x = own and k_x == own_x
                for k_y in range(own_y if same_x else low_y, high_y + 1):
                    same_xy = same_x and k_y == own_y
                    for k_z in range(own_z if same_xy else low_z, high_z + 1):
                        wanted = key_of(grid, k_x, k_y, k_z)
                        bucket = bucket_of(wanted, start.size - 1)
                        last = s if same_xy and k_z == own_z else order.size
                        for k in range(start[bucket], start[bucket + 1]):
                            other = order[k]
                            if other < last and key[other] == wanted and boxes_meet(table, s, other):
                                found = add_pair(pairs, found, s, other)
    return found


@kernel
def sort_pairs(pairs, count, start, work):
    """By the greater shape, then by the other: two counting sorts."""
    for column, source, target in ((1, pairs, work), (0, work, pairs)):
        start[:] = 0
        for k in range(count):
            start[source[k, column]] += 1
        total = 0
        for s in range(start.size):
            total += start[s]
            start[s] = total
        for k in range(count - 1, -1, -1):
            s = source[k, column]
            start[s] -= 1
            target[start[s], 0], target[start[s], 1] = source[k, 0], source[k, 1]
