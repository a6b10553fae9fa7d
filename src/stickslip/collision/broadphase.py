"""From all shapes to the contacts between them.

Two shapes can touch where the boxes about them, grown by the reach of their bodies, overlap. Few shapes are compared
each with each. Many go into grids: one for each power of two in the size of their boxes, its cells as wide as the
widest of those. The boxes of a grid that meet a given one then have their centres in the cells next to it. A shape is
looked up in the grid of its own size and in all coarser ones.

Shapes are sorted by grid and cell, x before y before z, as words in a dictionary. What may meet a shape then lies in up
to nine runs, one for each column of cells along z that is near, and where a run begins is found from where it began for
the shape before. So all passes go through memory from one end to the other, nothing is hashed, and time is proportional
to the shapes and to the sizes (powers of two) that occur. Pairs are sorted in the end, so that the order of contacts
depends on nothing else.

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
from stickslip.collision.placement import BOUND, HALF, PLANE, REACH, place, tabulate
from stickslip.jit import bare, inlined, kernel
from stickslip.scene.model import Floats, Integers, Kind, Model

Booleans = NDArray[np.bool_]
FREE = int(Kind.FREE)
FEW = 24  # shapes that are compared each with each
LEVELS = 64  # powers of two in the size of boxes, from 2^-40
FINEST = -40
ROUNDED = 6  # bits of the widths of cells: one is up to a 32nd wider than it must be
KEY_BITS = 62  # where they do not suffice, cells are wider
DIGIT = 11  # bits of it at most by which shapes are sorted at a time


class Grids(NamedTuple):
    """Where many shapes are sorted into cells."""

    planes: Integers  # the shapes that are planes
    others: Integers  # and those that are not
    key: Integers  # (ns,)   of others, sorted by its grid and the cell it is in; and its number, at first that alone
    spare: Integers  # (ns,)   room to sort
    counts: Integers  # (2^DIGIT,)   likewise
    widest: Floats  # (LEVELS,)   width of the widest box in a grid, a little rounded up, and of its cells   [m]
    origin: Floats  # (3,)   where cells are counted from   [m]
    bits: Integers  # (4,)   of a cell's number along each axis, and of a shape's
    begun: Integers  # (LEVELS, 4, 4)   where the run in a column began for the shape before, by grid and column
    box: Floats  # (ns, 6)   the centres and half lengths of the boxes about the shapes, by key


class Workspace(NamedTuple):
    """What `find_contacts` needs of a Model, and room; no call depends on what another left."""

    planar: bool
    bodies: int
    apart: Integers  # see Model
    # the shapes
    body: Integers  # (ns,)
    position: Floats  # (ns, 3)   in the frames of their bodies
    rotation: Floats  # (ns, 3, 3)
    kind: Integers  # (ns,)   see `tabulate`
    where: Floats  # (ns, PLACES)
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
    kind, where, table = tabulate(model)
    count, flat = kind.size, kind == PLANE
    planes, others = np.flatnonzero(flat), np.flatnonzero(~flat)
    room = max(count * (count - 1) // 2 if count <= FEW else 16 * count, 1)
    grids = Grids(
        planes=planes,
        others=others,
        key=np.concatenate([others, planes]),
        spare=np.zeros(count, np.int64),
        counts=np.zeros(1 << DIGIT, np.int64),
        widest=np.zeros(LEVELS),
        origin=np.zeros(3),
        bits=np.zeros(4, np.int64),
        begun=np.zeros((LEVELS, 4, 4), np.int64),
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
        where=where,
        table=table,
        free=model.kind[model.shape_body] == FREE,
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
    kind, where, table, body, planar = work.kind, work.where, work.table, work.body, work.planar
    place(kind, body, work.position, work.rotation, state.position, state.quaternion, reach, planar, where, table)
    free, apart, grids, pairs, ordered = work.free, work.apart, work.grids, work.pairs, work.ordered
    found = near_pairs(kind, where, body, free, apart, work.bodies, grids, pairs, ordered)
    if found > pairs.shape[0]:
        return meet_more(found, work, contacts)
    return meet(
        pairs, found, kind, where, table, planar, work.hulls, work.simplex, work.outline, work.clipped, work.spots,
        contacts,
    )  # fmt: skip


@kernel
def meet_more(found, work, contacts):
    """The same with room for more pairs."""
    kind, where, pairs, ordered = work.kind, work.where, np.empty((found, 2), np.int64), np.empty((found, 2), np.int64)
    found = near_pairs(kind, where, work.body, work.free, work.apart, work.bodies, work.grids, pairs, ordered)
    return meet(
        pairs, found, kind, where, work.table, work.planar, work.hulls, work.simplex, work.outline, work.clipped,
        work.spots, contacts,
    )  # fmt: skip


@bare
def near_pairs(kind, where, body, free, apart, bodies, grids, pairs, ordered):
    """The pairs of shapes that may touch, the greater first, in order. Returns how many.

    Where those that are near, of which these are some, are more than there is room for, it returns how many are near.
    """
    if kind.size <= FEW:
        found = each_with_each(kind, where, pairs)
        return leave_out(pairs, found, where, body, free, apart, bodies)
    planes, others, key, spare, count, widest, origin, bits, begun, box = grids
    fill_grids(others.size, where, key, spare, count, widest, origin, bits, box)
    found = pairs_with_planes(where, planes, others, pairs)
    found = neighbours(others.size, key, widest, origin, bits, begun, box, pairs, found)
    if found > pairs.shape[0]:
        return found
    found = leave_out(pairs, found, where, body, free, apart, bodies)
    sort_pairs(pairs, found, spare, ordered)
    return found


@bare
def each_with_each(kind, where, pairs):
    """Pairs of shapes, the greater first, that are near. Returns how many."""
    found = NONE
    for a in range(1, kind.size):
        for b in range(a):
            if kind[a] != PLANE and kind[b] != PLANE:
                near = boxes_meet(where, a, b)
            elif kind[b] == PLANE:
                near = kind[a] != PLANE and over_plane(where, a, b)
            else:
                near = over_plane(where, b, a)
            if near:
                found = add_pair(pairs, found, a, b)
    return found


@bare
def pairs_with_planes(where, planes, others, pairs):
    """In the order of the shapes, which they have in the end; returns how many they are, be there room or not."""
    found = NONE
    for s in others:
        for p in planes:
            if over_plane(where, s, p):
                found = add_pair(pairs, found, s, p)
    return found


@bare
def over_plane(where, s, p):
    """Is the ball about shape s within reach of plane p?"""
    x, y, z = where[s, 0] - where[p, 0], where[s, 1] - where[p, 1], where[s, 2] - where[p, 2]
    height = where[p, HALF] * x + where[p, HALF + 1] * y + where[p, HALF + 2] * z
    return height <= where[s, BOUND] + where[s, REACH] + where[p, REACH]


@bare
def boxes_meet(where, a, b):
    x = abs(where[a, 0] - where[b, 0]) - (where[a, HALF] + where[b, HALF])
    y = abs(where[a, 1] - where[b, 1]) - (where[a, HALF + 1] + where[b, HALF + 1])
    z = abs(where[a, 2] - where[b, 2]) - (where[a, HALF + 2] + where[b, HALF + 2])
    return max(x, y, z) <= 0.0


@bare
def add_pair(pairs, found, a, b):
    """Without room, the last one is overwritten."""
    k = min(found, pairs.shape[0] - 1)
    pairs[k, 0], pairs[k, 1] = max(a, b), min(a, b)
    return found + 1


@bare
def leave_out(pairs, found, where, body, free, apart, bodies):
    """Keep the pairs that may touch: of two bodies, one of them free, not kept apart, and the balls about them near."""
    kept = 0
    for k in range(found):
        a, b = pairs[k, 0], pairs[k, 1]
        body_a, body_b = body[a], body[b]
        x, y, z = where[a, 0] - where[b, 0], where[a, 1] - where[b, 1], where[a, 2] - where[b, 2]
        near = where[a, BOUND] + where[a, REACH] + where[b, BOUND] + where[b, REACH]
        wanted = body_a != body_b and (free[a] or free[b]) and x * x + y * y + z * z <= near * near
        if wanted and apart.size > 0:
            pair = min(body_a, body_b) * bodies + max(body_a, body_b)
            at = np.searchsorted(apart, pair)
            wanted = at == apart.size or apart[at] != pair
        if wanted:
            pairs[kept, 0], pairs[kept, 1] = a, b
            kept += 1
    return kept


@bare
def fill_grids(size, where, key, spare, count, widest, origin, bits, box):
    """Sort the shapes by grid and cell; within a cell they have any order. They are taken in the order of last time:
    where bodies rest, or move alike, it is theirs still."""
    last = (1 << bits_of(where.shape[0] - 1.0)) - 1
    widest[:] = 0.0
    x_0 = y_0 = z_0 = np.inf
    x_1 = y_1 = z_1 = -np.inf
    for i in range(size):
        s = key[i] & last
        fill_box(where, s, box, i)
        width, level = size_of(box, i)
        widest[level] = max(widest[level], width)
        x, y, z = box[i, 0], box[i, 1], box[i, 2]
        if abs(x) + abs(y) + abs(z) < np.inf:
            x_0, y_0, z_0 = min(x_0, x), min(y_0, y), min(z_0, z)
            x_1, y_1, z_1 = max(x_1, x), max(y_1, y), max(z_1, z)
    origin[0], origin[1], origin[2] = x_0, y_0, z_0
    finest, coarsest = occupied(widest)
    for level in range(finest, coarsest + 1):  # lest all cells change with the speed of a body
        unit = 2.0 ** (level + FINEST - ROUNDED)
        widest[level] = np.ceil(widest[level] / unit) * unit
    total = share_bits(
        x_1 - x_0, y_1 - y_0, z_1 - z_0, where.shape[0], coarsest - finest, widest[finest], widest, bits
    )  # fmt: skip
    b_x, b_y, b_z, b = bits[0], bits[1], bits[2], bits[3]
    before, in_order = -1, True
    for i in range(size):
        level = size_of(box, i)[1] if coarsest > finest else finest
        per_cell = 1.0 / widest[level]
        x = number(box[i, 0] - x_0, per_cell, b_x)
        y = number(box[i, 1] - y_0, per_cell, b_y)
        z = number(box[i, 2] - z_0, per_cell, b_z)
        cell = (((level - finest) << b_x | x) << b_y | y) << b_z | z
        in_order, before, key[i] = in_order and cell >= before, cell, cell << b | key[i] & last
    if not in_order:
        sort_keys(size, b, total, key, spare, count)
        for i in range(size):
            fill_box(where, key[i] & last, box, i)


@bare
def fill_box(where, s, box, i):
    """Put the box about shape s at place i of those that are sorted."""
    for r in range(6):
        box[i, r] = where[s, r]


@bare
def size_of(box, i):
    """The width of a box, and the grid it belongs to."""
    width = 2.0 * max(box[i, 3], box[i, 4], box[i, 5])
    return width, min(LEVELS - 1, max(0, math.frexp(width)[1] - FINEST))


@bare
def occupied(widest):
    """The finest and the coarsest grid that has shapes."""
    finest, coarsest = 0, LEVELS - 1
    while finest < LEVELS - 1 and widest[finest] == 0.0:
        finest += 1
    while coarsest > finest and widest[coarsest] == 0.0:
        coarsest -= 1
    return finest, coarsest


@bare
def share_bits(x, y, z, size, levels, width, widest, bits):
    """The bits of numbers: of cells along each axis, where shapes are up to x, y and z apart and cells as wide as those
    of the finest grid, and of shapes. Cells become wider where these are too many. Returns how many there are in all,
    with those of the grid."""
    rest = bits[3] = bits_of(size - 1.0)
    rest += bits_of(levels)
    bits[0], bits[1], bits[2] = bits_of(x / width), bits_of(y / width), bits_of(z / width)
    while rest + bits[0] + bits[1] + bits[2] > KEY_BITS:
        for axis in range(3):
            bits[axis] = max(0, bits[axis] - 1)
        for level in range(LEVELS):
            widest[level] *= 2.0
    return rest + bits[0] + bits[1] + bits[2]


@bare
def bits_of(greatest):
    """Of whole numbers up to the greatest."""
    bits = 0
    while bits < KEY_BITS and greatest >= 2.0**bits:
        bits += 1
    return bits


@bare
def number(x, per_cell, bits):
    """Of the cell at x along an axis; the first or the last one beyond them."""
    return min(max(math.floor(x * per_cell), 0), (1 << bits) - 1)


@bare
def sort_keys(size, first, total, key, spare, count):
    """By counting digits from bit `first` on, an even number of them: the keys end where they were."""
    pairs = (total - first + 2 * DIGIT - 1) // (2 * DIGIT)
    digit = (total - first + 2 * pairs - 1) // (2 * pairs) if pairs > 0 else 0
    for k in range(pairs):
        by_digit(size, first + 2 * k * digit, digit, key, spare, count)
        by_digit(size, first + (2 * k + 1) * digit, digit, spare, key, count)


@bare
def by_digit(size, shift, digit, key, by_key, count):
    last = (1 << digit) - 1
    count[: last + 1] = 0
    for k in range(size):
        count[key[k] >> shift & last] += 1
    total = 0
    for d in range(last + 1):
        count[d], total = total, total + count[d]
    for k in range(size):
        d = key[k] >> shift & last
        by_key[count[d]] = key[k]
        count[d] += 1


@bare
def neighbours(size, key, widest, origin, bits, begun, box, pairs, found):
    """Add the pairs of each shape with those in coarser grids, and with those behind it in the order of its own."""
    b_x, b_y, b_z, b = bits[0], bits[1], bits[2], bits[3]
    finest, coarsest = occupied(widest)
    begun[finest : coarsest + 1] = 0
    for i in range(size):
        x, y, z, h_x, h_y, h_z = box[i, 0], box[i, 1], box[i, 2], box[i, 3], box[i, 4], box[i, 5]
        level = finest + (key[i] >> b_x + b_y + b_z + b)
        for grid in range(level, coarsest + 1):
            if widest[grid] == 0.0:
                continue
            per_cell, about, own = 1.0 / widest[grid], 0.5 * widest[grid], grid == level
            f_x, f_y, f_z = x - origin[0], y - origin[1], z - origin[2]
            r_x, r_y, r_z = h_x + about, h_y + about, h_z + about
            first_x, last_x = number(f_x - r_x, per_cell, b_x), number(f_x + r_x, per_cell, b_x)
            first_y, last_y = number(f_y - r_y, per_cell, b_y), number(f_y + r_y, per_cell, b_y)
            first_z, last_z = number(f_z - r_z, per_cell, b_z), number(f_z + r_z, per_cell, b_z)
            own_column = key[i] >> b_z + b if own else -1
            for k_x in range(first_x, last_x + 1):
                for k_y in range(first_y, last_y + 1):
                    column = ((grid - finest) << b_x | k_x) << b_y | k_y
                    if column < own_column:
                        continue
                    j = i + 1
                    if column > own_column:
                        c, d = k_x - first_x & 3, k_y - first_y & 3
                        j = begun[grid, c, d] = first_from(size, key, (column << b_z | first_z) << b, begun[grid, c, d])
                    behind = (column << b_z | last_z) + 1 << b
                    while j < size and key[j] < behind:
                        if (
                            max(
                                abs(x - box[j, 0]) - (h_x + box[j, 3]),
                                abs(y - box[j, 1]) - (h_y + box[j, 4]),
                                abs(z - box[j, 2]) - (h_z + box[j, 5]),
                            )
                            <= 0.0
                        ):
                            last = (1 << b) - 1
                            found = add_pair(pairs, found, key[i] & last, key[j] & last)
                        j += 1
    return found


@bare
def first_from(size, key, wanted, at):
    """The first of the sorted keys that is not less than the one wanted, or their number; looked for from `at` on, in
    steps that grow, and then between the last two."""
    step, low, high = 1, at, at
    while low > 0 and key[low - 1] >= wanted:
        high, low, step = low - 1, max(low - step, 0), 2 * step
    step = 1
    while high < size and key[high] < wanted:
        low, high, step = high + 1, min(high + step, size), 2 * step
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def in_order(pairs, count):
    for k in range(1, count):
        a, b = pairs[k - 1, 0], pairs[k, 0]
        if a > b or (a == b and pairs[k - 1, 1] > pairs[k, 1]):
            return False
    return True


@bare
def sort_pairs(pairs, count, start, work):
    """By the greater shape, then by the other: two counting sorts, unless they are in order, as those of bodies that
    lie on one plane."""
    if in_order(pairs, count):
        return
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
