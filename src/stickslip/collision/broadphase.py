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
BLOCK_BITS = 3  # of that within a block of cells
PERIOD = 1024  # blocks along an axis that are told apart when they are counted
CELL_BITS = 19  # of a cell's number along each axis; cells 2^19 apart share a key, and only then


class Grids(NamedTuple):
    """Where many shapes are sorted into cells."""

    planes: Integers  # the shapes that are planes
    others: Integers  # and those that are not
    key: Integers  # (ns,)   which cell a shape is in, of which grid
    seen: Booleans  # (3, PERIOD)   whether there are blocks at such a number along an axis, up to a multiple of PERIOD
    bits: Integers  # (3,)   of the numbers of blocks along each axis by which they lie side by side, see `bucket_of`
    widest: Floats  # (LEVELS,)   width of the widest box in a grid, and of its cells   [m]
    start: Integers  # (power of two + 1,)   where the shapes of a bucket start in `order`
    order: Integers  # (ns,)   shapes by bucket
    cell: Integers  # (ns,)   their keys, in this order
    box: Floats  # (ns, 6)   and the centres and half lengths of the boxes about them


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
        key=np.zeros(count, np.int64),
        seen=np.zeros((3, PERIOD), np.bool_),
        bits=np.zeros(3, np.int64),
        widest=np.zeros(LEVELS),
        start=np.zeros((1 << (2 * count).bit_length()) + 1, np.int64),
        order=np.zeros(count, np.int64),
        cell=np.zeros(count, np.int64),
        box=np.zeros((count, 6)),
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
    planes, others, key, seen, bits, widest, start, order, cell, box = grids
    fill_grids(table, others, key, seen, bits, widest, start, order, cell, box)
    found = over_planes(table, planes, others, pairs)
    found = neighbours(others.size, bits, widest, start, order, cell, box, pairs, found)
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
def fill_grids(table, others, key, seen, bits, widest, start, order, cell, box):
    """Sort the shapes into the buckets of their cells, within a bucket by number."""
    widest[:] = 0.0
    for s in others:
        width = 2.0 * max(table[s, HALF], table[s, HALF + 1], table[s, HALF + 2])
        level = min(LEVELS - 1, max(0, math.frexp(width)[1] - FINEST))
        key[s], widest[level] = level, max(widest[level], width)
    seen[:] = False
    for s in others:
        per_cell = 1.0 / widest[key[s]]
        x, y, z = table[s, 0] * per_cell, table[s, 1] * per_cell, table[s, 2] * per_cell
        key[s] = key_of(key[s], math.floor(x), math.floor(y), math.floor(z))
        for axis in range(3):
            seen[axis, key[s] >> (2 - axis) * CELL_BITS + BLOCK_BITS & PERIOD - 1] = True
    share_bits(seen, start.size - 1, bits)
    start[:] = 0
    for s in others:
        start[bucket_of(key[s], start.size - 1, bits[0], bits[1], bits[2])] += 1
    total = 0
    for k in range(start.size):
        total += start[k]
        start[k] = total
    for k in range(others.size - 1, -1, -1):
        s = others[k]
        bucket = bucket_of(key[s], start.size - 1, bits[0], bits[1], bits[2])
        start[bucket] -= 1
        order[start[bucket]] = s
    for k in range(others.size):
        s = order[k]
        cell[k] = key[s]
        for r in range(3):
            box[k, r], box[k, 3 + r] = table[s, r], table[s, HALF + r]


@kernel
def key_of(level, x, y, z):
    mask = (1 << CELL_BITS) - 1
    return (((level << CELL_BITS | (x & mask)) << CELL_BITS) | (y & mask)) << CELL_BITS | (z & mask)


@kernel
def share_bits(seen, buckets, bits):
    """As many bits for the numbers of blocks along each axis as there are blocks along it, as far as buckets go; the
    longest axes give first."""
    left = 0
    for axis in range(3):
        blocks, bits[axis] = 0, 0
        for k in range(PERIOD):
            blocks += seen[axis, k]
        while 1 << bits[axis] < blocks:
            bits[axis] += 1
        left += bits[axis]
    while left > 0 and 1 << left + 3 * BLOCK_BITS > buckets:
        longest = 0
        for axis in range(1, 3):
            if bits[axis] > bits[longest]:
                longest = axis
        bits[longest] -= 1
        left -= 1


@kernel
def bucket_of(key, buckets, b_x, b_y, b_z):
    """Cells that are near have buckets that are near: a block of 8 × 8 × 8 cells has 512 in a row, and blocks side by
    side, up to 2^b of them along each axis, lie in rows as well, so that a pass over the buckets goes through space and
    finds what is about a shape in the cache. What is further away lies anywhere, shuffled, lest shapes in regular
    places share buckets."""
    inside = (1 << BLOCK_BITS) - 1
    level = key >> 3 * CELL_BITS
    along = (1 << CELL_BITS - BLOCK_BITS) - 1
    x, y, z = key >> 2 * CELL_BITS & inside, key >> CELL_BITS & inside, key & inside
    k_x, k_y, k_z = (
        key >> 2 * CELL_BITS + BLOCK_BITS & along,
        key >> CELL_BITS + BLOCK_BITS & along,
        key >> BLOCK_BITS & along,
    )
    near = ((k_x & (1 << b_x) - 1) << b_y | k_y & (1 << b_y) - 1) << b_z | k_z & (1 << b_z) - 1
    far = ((level << 19 | k_x >> b_x) << 19 | k_y >> b_y) << 19 | k_z >> b_z
    far ^= far >> 31
    far = (far * 0x1E3779B97F4A7C15) & 0x7FFFFFFFFFFFFFFF
    cell = (x << 2 * BLOCK_BITS | y << BLOCK_BITS | z) ^ (far >> 20 & (1 << 3 * BLOCK_BITS) - 1)
    return (near + (far >> 30) << 3 * BLOCK_BITS | cell) & (buckets - 1)


@kernel
def neighbours(count, bits, widest, start, order, cell, box, pairs, found):
    """Add the pairs of each shape with those in coarser grids, and with those in its own cell and half of those about.

    The other half looks for it: a cell comes after another where it has the greater number along x, or the same and
    the greater along y, or both the same and the greater along z. Shapes are taken in the order of buckets, so that
    what is about the next one is still in the cache, whatever their numbers.
    """
    b_x, b_y, b_z = bits[0], bits[1], bits[2]
    for i in range(count):
        x, y, z, h_x, h_y, h_z = box[i, 0], box[i, 1], box[i, 2], box[i, 3], box[i, 4], box[i, 5]
        level = cell[i] >> 3 * CELL_BITS
        for grid in range(level, LEVELS):
            if widest[grid] == 0.0:
                continue
            per_cell, about, own = 1.0 / widest[grid], 0.5 * widest[grid], grid == level
            r_x, r_y, r_z = h_x + about, h_y + about, h_z + about
            own_x, own_y, own_z = math.floor(x * per_cell), math.floor(y * per_cell), math.floor(z * per_cell)
            low_y, low_z = math.floor((y - r_y) * per_cell), math.floor((z - r_z) * per_cell)
            high_y, high_z = math.floor((y + r_y) * per_cell), math.floor((z + r_z) * per_cell)
            first_x, last_x = own_x if own else math.floor((x - r_x) * per_cell), math.floor((x + r_x) * per_cell)
            for k_x in range(first_x, last_x + 1):
                same_x = own and k_x == own_x
                for k_y in range(own_y if same_x else low_y, high_y + 1):
                    same_xy = same_x and k_y == own_y
                    for k_z in range(own_z if same_xy else low_z, high_z + 1):
                        wanted = key_of(grid, k_x, k_y, k_z)
                        bucket = bucket_of(wanted, start.size - 1, b_x, b_y, b_z)
                        last = i if same_xy and k_z == own_z else start[bucket + 1]
                        for j in range(start[bucket], last):
                            if cell[j] == wanted and (
                                max(
                                    abs(x - box[j, 0]) - (h_x + box[j, 3]),
                                    abs(y - box[j, 1]) - (h_y + box[j, 4]),
                                    abs(z - box[j, 2]) - (h_z + box[j, 5]),
                                )
                                <= 0.0
                            ):
                                found = add_pair(pairs, found, order[i], order[j])
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
