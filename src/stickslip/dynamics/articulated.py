"""Bodies held together by joints, solved directly: a block factorisation along the graph of bodies and joints.

The velocities v of the bodies and the impulses λ of the bilateral rows G obey

    [  M   -Gᵀ ] [ v ]   [ f ]
    [ -G   -Σ  ] [ λ ] = [ b ]                                                                                 (1)

with a block of 6 x 6 for each body and one of up to 6 x 6 for each joint. Eliminated from the leaves to the root, body,
joint, body, …, a tree fills nothing [1]: its cost grows linearly with its length, however many limbs a body has. Each
pivot is definite: a body's is its articulated inertia, a joint's, with the sign turned, the compliance of what hangs on
it. So a joint of the tree comes after the body on its outer side, whose motion no other joint has used up; one that
closes a loop comes last, and fills the path between its bodies. Which node follows which depends on the model alone:
`articulation` works it out once, by minimum degree, and the kernels follow its lists.

Redundant rows (a planar four-bar linkage has hinges in space: three rows too many) show up as zero pivots. Such a row
carries nothing: the others do what it asks for, unless it contradicts them.

With A = L D Lᵀ, D = ±1 by blocks, C the Cholesky factor of a pivot times its sign s, and B the blocks of L below it:

    C Cᵀ = s A_kk,   K = C⁻¹,      B_ik = s A_ik Kᵀ,      A_ij <- A_ij - s B_ik B_jkᵀ                          (2)

All blocks are 6 x 6, with zeros where a joint has fewer rows: loops of a known length are faster.

What an impulse along a row J of one body does to another row is J A⁻¹ Jᵀ, and with G = J L⁻ᵀ, zero but at the nodes on
the way from that body to the last of its group, W = G D Gᵀ: half of a substitution for each row, and no more.

[1] Baraff, Linear-time dynamics using Lagrange multipliers, SIGGRAPH 1996, 137-146.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from stickslip.jit import bare, inlined
from stickslip.scene.model import Floats, Integers

DEPENDENT = 1e-11  # of a pivot against what it is a difference of: below, the row depends on others


class Articulation(NamedTuple):
    """Nodes in the order of elimination, group after group of bodies that hang together, and the lists of (2)."""

    group_start: Integers  # (ng + 1,)   nodes of each group
    group: Integers  # (nb,)   of each body; -1 where no joint holds it
    body: Integers  # (nn,)   of a node; -1 where it is a joint
    bodies: Integers  # (nb in groups,)   those that joints hold, in the order of their nodes
    body_start: Integers  # (ng + 1,)   where those of each group begin
    node: Integers  # (nb,)   of a body; -1 where it has none
    size: Integers  # (nn,)   rows
    first_row: Integers  # (nn,)   of JointRows, of a joint
    ends: Integers  # (nn, 2)   blocks of a joint with its bodies a and b; -1 where that is not free
    body_first: Integers  # (nn, 2)   1 where the body is eliminated before its joint
    path: Integers  # (nn,)   how many nodes an impulse on this one changes on its way to the last of the group
    start: Integers  # (nn + 1,)   blocks below each pivot
    row: Integers  # (blocks,)   node of each, rising
    target: Integers  # block that each pair of blocks below a pivot is subtracted from, pivot after pivot


class Factors(NamedTuple):
    """What `factorise` fills, and room for one right side."""

    K: Floats  # (nn, 6, 6)   zero in the rows that depend on others, and in those that a joint does not have
    B: Floats  # (blocks, 6, 6)
    scale: Floats  # (nn, 6)   what a pivot of a joint is a difference of
    x: Floats  # (nn, 6)   right side, then solution; zero between uses
    rows: Floats  # (4, nn, 6)   the same of the components of a contact


def articulation(joint_a: Integers, joint_b: Integers, first: Integers, held: Integers, turns: Floats) -> Articulation:
    """The order for joints between bodies, each with `held` bilateral rows from row `first` of JointRows on.

    `turns` (nb,): 0 for a body that is not free, 1 for one that does not turn, 2 for the others.
    """
    bodies = turns.size
    neighbours = graph(joint_a, joint_b, held, turns)
    order = eliminated(neighbours, bodies)
    place = np.full(bodies + held.size, -1)
    place[order] = np.arange(len(order))
    node, joint_node = place[:bodies].copy(), place[bodies:].copy()
    below = filled(neighbours, order, place)
    start = np.cumsum([0, *(len(rows) for rows in below)])
    block = {(i, k): start[k] + at for k, rows in enumerate(below) for at, i in enumerate(rows)}
    target = [block[i, j] for rows in below for at, i in enumerate(rows) for j in rows[:at]]
    group, group_start = groups(order, below, bodies)
    joined = [which for which in order if which < bodies]
    ends, body_first = np.full((len(order), 2), -1), np.zeros((len(order), 2), np.int64)
    for j in np.flatnonzero(joint_node >= 0):
        for side, b in enumerate((joint_a[j], joint_b[j])):
            if turns[b] > 0:
                k, at = int(joint_node[j]), int(node[b])
                ends[k, side], body_first[k, side] = block[max(at, k), min(at, k)], at < k
    return Articulation(
        group_start=np.array(group_start, np.int64),
        group=group,
        body=np.array([which if which < bodies else -1 for which in order], np.int64),
        bodies=np.array(joined, np.int64),
        body_start=np.searchsorted(group[joined], np.arange(len(group_start))),
        node=node,
        size=np.array([6 if which < bodies else held[which - bodies] for which in order], np.int64),
        first_row=np.array([-1 if which < bodies else first[which - bodies] for which in order], np.int64),
        ends=ends.astype(np.int64),
        body_first=body_first,
        path=lengths(below),
        start=start.astype(np.int64),
        row=np.array([i for rows in below for i in rows], np.int64),
        target=np.array(target, np.int64),
    )


def graph(joint_a: Integers, joint_b: Integers, held: Integers, turns: Floats) -> dict[int, set[int]]:
    """Free bodies and the joints that hold them, as nodes b and nb + j, with their neighbours."""
    neighbours: dict[int, set[int]] = {}
    for j in range(held.size):
        ends = [int(b) for b in (joint_a[j], joint_b[j]) if turns[b] > 0]
        if held[j] == 0 or not ends:
            continue
        neighbours.setdefault(turns.size + j, set()).update(ends)
        for b in ends:
            neighbours.setdefault(b, set()).add(turns.size + j)
    return neighbours


def eliminated(neighbours: dict[int, set[int]], bodies: int) -> list[int]:
    """Nodes, component by component, by minimum degree; a joint after the body on its outer side, loops at the end."""
    fixed = {node for node, others in neighbours.items() if node >= bodies and len(others) == 1}
    order: list[int] = []
    for component in components(neighbours):
        outer = outer_bodies(neighbours, component, fixed)
        near = {node: set(neighbours[node]) for node in component}
        ready = [(len(near[node]), node) for node in component if node < bodies]  # and outdated degrees, later on
        heapify(ready)
        while near:
            degree, node = heappop(ready) if ready else min((len(others), each) for each, others in near.items())
            if node not in near or degree != len(near[node]):
                continue
            others = near.pop(node)
            for other in others:
                near[other] |= others - {other}
                near[other].discard(node)
                if other < bodies or outer.get(other, other) not in near:
                    heappush(ready, (len(near[other]), other))
            order.append(node)
    return order


def outer_bodies(neighbours: dict[int, set[int]], component: set[int], fixed: set[int]) -> dict[int, int]:
    """The joints of a tree through a component, from a joint that holds it to something fixed where there is one, and
    the body on the outer side of each."""
    outer: dict[int, int] = {}
    roots = sorted(component & fixed)
    if roots:
        (first,) = neighbours[roots[0]]
        outer[roots[0]] = first
    else:
        first = min(component)
    reached, new = {first}, [first]
    while new:
        body = new.pop(0)
        for joint in sorted(neighbours[body]):
            for other in sorted(neighbours[joint] - reached):
                outer[joint] = other
                reached.add(other)
                new.append(other)
    return outer


def components(neighbours: dict[int, set[int]]) -> list[set[int]]:
    found: list[set[int]] = []
    seen: set[int] = set()
    for node in sorted(neighbours):
        if node in seen:
            continue
        component, new = {node}, [node]
        while new:
            fresh = neighbours[new.pop()] - component
            component |= fresh
            new += fresh
        seen |= component
        found.append(component)
    return found


def filled(neighbours: dict[int, set[int]], order: list[int], place: Integers) -> list[list[int]]:
    """The places of the blocks below each pivot, those that elimination fills included."""
    near = {int(place[node]): set(place[list(others)].tolist()) for node, others in neighbours.items()}
    below = []
    for k in range(len(order)):
        rows = sorted(i for i in near[k] if i > k)
        for i in rows:
            near[i] |= set(rows) - {i}
        below.append(rows)
    return below


def lengths(below: list[list[int]]) -> Integers:
    """How many nodes there are from each to the last of its group, each followed by the first that it changes."""
    length = np.ones(len(below), np.int64)
    for k in range(len(below) - 1, -1, -1):
        if below[k]:
            length[k] += length[below[k][0]]
    return length


def groups(order: list[int], below: list[list[int]], bodies: int) -> tuple[Integers, list[int]]:
    """The group of each body, and where each begins: a pivot with nothing below it ends a group."""
    group, start = np.full(bodies, -1), [0]
    for k, node in enumerate(order):
        if node < bodies:
            group[node] = len(start) - 1
        if not below[k]:
            start.append(k + 1)
    return group.astype(np.int64), start


@inlined
def bodies_of(tree, group):
    """The bodies of a group."""
    return tree.bodies[tree.body_start[group] : tree.body_start[group + 1]]


def room_for_factors(articulation: Articulation) -> Factors:
    nodes, blocks = articulation.size.size, articulation.row.size
    return Factors(
        np.zeros((nodes, 6, 6)), np.zeros((blocks, 6, 6)), np.zeros((nodes, 6)), np.zeros((nodes, 6)),
        np.zeros((4, nodes, 6)),
    )  # fmt: skip


@bare
def factorise(tree, mass, jacobian_a, jacobian_b, compliance, factors):
    """Fill K and B of (2) for masses (nb, 6, 6) and the rows of joints."""
    K, B, scale = factors.K, factors.B, factors.scale
    for t in range(B.shape[0]):
        for r in range(6):
            for c in range(6):
                B[t, r, c] = 0.0
    for k in range(tree.size.size):
        set_pivot(tree, k, mass, compliance, K[k], scale[k])
        if tree.body[k] < 0:
            for side in range(2):
                J = jacobian_a if side == 0 else jacobian_b
                if tree.ends[k, side] >= 0:
                    set_end(J, tree.first_row[k], tree.size[k], tree.body_first[k, side] == 1, B[tree.ends[k, side]])
    pair = 0
    for k in range(tree.size.size):
        sign = 1.0 if tree.body[k] >= 0 else -1.0
        inverse_root(K[k], scale[k])
        begin, end = tree.start[k], tree.start[k + 1]
        for t in range(begin, end):
            divide(B[t], K[k], sign)
        for t in range(begin, end):
            i = tree.row[t]
            same = sign if tree.body[i] >= 0 else -sign
            subtract_square(K[i], B[t], same)
            if same < 0.0 and tree.body[i] < 0:
                grow(scale[i], B[t])
            for other in range(begin, t):
                subtract(B[tree.target[pair]], B[t], B[other], sign)
                pair += 1


@bare
def set_pivot(tree, k, mass, compliance, A, scale):
    for r in range(6):
        for c in range(r + 1):
            A[r, c] = mass[tree.body[k], r, c] if tree.body[k] >= 0 else 0.0
    if tree.body[k] < 0:
        for r in range(tree.size[k]):
            A[r, r] = compliance[tree.first_row[k] + r]
    for r in range(6):
        scale[r] = A[r, r]


@bare
def set_end(J, first, rows, body_first, block):
    """-G of a joint with one of its bodies; transposed where the joint is eliminated first."""
    for r in range(rows):
        for c in range(6):
            if body_first:
                block[r, c] = -J[first + r, c]
            else:
                block[c, r] = -J[first + r, c]


@bare
def inverse_root(A, scale):
    """From the lower half of A = C Cᵀ to K = C⁻¹, zeros above its diagonal; a row whose pivot is rounding is zero."""
    for j in range(6):
        square = A[j, j]
        for k in range(j):
            square -= A[j, k] * A[j, k]
        inverse = 1.0 / math.sqrt(square) if square > DEPENDENT * scale[j] else 0.0
        A[j, j] = inverse
        for i in range(j + 1, 6):
            rest = A[i, j]
            for k in range(j):
                rest -= A[i, k] * A[j, k]
            A[i, j] = rest * inverse
            A[j, i] = 0.0
    for i in range(1, 6):  # row i of K from those above it
        for j in range(i):
            rest = 0.0
            for k in range(j, i):
                rest -= A[i, k] * A[k, j]
            A[i, j] = rest
        for j in range(i):
            A[i, j] *= A[i, i]


@bare
def divide(B, K, sign):
    """B <- s B Kᵀ."""
    for r in range(6):
        x = lower(K, sign * B[r, 0], sign * B[r, 1], sign * B[r, 2], sign * B[r, 3], sign * B[r, 4], sign * B[r, 5])
        for j in range(6):
            B[r, j] = x[j]


@bare
def lower(K, a, b, c, d, e, f):
    """K times a vector; above its diagonal there are zeros."""
    return (
        K[0, 0] * a,
        K[1, 0] * a + K[1, 1] * b,
        K[2, 0] * a + K[2, 1] * b + K[2, 2] * c,
        K[3, 0] * a + K[3, 1] * b + K[3, 2] * c + K[3, 3] * d,
        K[4, 0] * a + K[4, 1] * b + K[4, 2] * c + K[4, 3] * d + K[4, 4] * e,
        K[5, 0] * a + K[5, 1] * b + K[5, 2] * c + K[5, 3] * d + K[5, 4] * e + K[5, 5] * f,
    )


@bare
def subtract(A, X, Y, sign):
    """A <- A - s X Yᵀ."""
    for r in range(6):
        a, b, c, d, e, f = X[r, 0], X[r, 1], X[r, 2], X[r, 3], X[r, 4], X[r, 5]
        for j in range(6):
            A[r, j] -= sign * (Y[j, 0] * a + Y[j, 1] * b + Y[j, 2] * c + Y[j, 3] * d + Y[j, 4] * e + Y[j, 5] * f)


@bare
def subtract_square(A, X, sign):
    """The lower half of A <- A - s X Xᵀ."""
    for r in range(6):
        a, b, c, d, e, f = X[r, 0], X[r, 1], X[r, 2], X[r, 3], X[r, 4], X[r, 5]
        for j in range(r + 1):
            A[r, j] -= sign * (X[j, 0] * a + X[j, 1] * b + X[j, 2] * c + X[j, 3] * d + X[j, 4] * e + X[j, 5] * f)


@bare
def grow(scale, B):
    for r in range(6):
        for k in range(6):
            scale[r] += B[r, k] * B[r, k]


@bare
def substitute(tree, factors, group):
    """x <- A⁻¹ x over the nodes of a group."""
    begin, end = tree.group_start[group], tree.group_start[group + 1]
    for k in range(begin, end):
        eliminate(k, tree.start, tree.row, factors.K, factors.B, factors.x)
    for k in range(end - 1, begin - 1, -1):
        recover(k, tree.body, tree.start, tree.row, factors.K, factors.B, factors.x)


@bare
def half_substitute(tree, factors, group, i, j, components, first, at, place, G):
    """From so many right sides in `rows`, at the nodes i and j of a group and zero elsewhere, to L⁻¹ x, which are zero
    but on the way from there to the last node: G, from `at` on, with its places, node k being place first + k. They are
    left zero. Returns what is behind. The components take each node in turn: they need not wait for each other."""
    end = tree.group_start[group + 1]
    while i < end or j < end:
        k = min(i, j)
        for c in range(components):
            x = factors.rows[c]
            eliminate(k, tree.start, tree.row, factors.K, factors.B, x)
            for r in range(6):
                G[at, c, r] = x[k, r]
                x[k, r] = 0.0
        place[at] = first + k
        at += 1
        after = tree.row[tree.start[k]] if tree.start[k] < tree.start[k + 1] else end  # the first that k changes
        i = after if i == k else i
        j = after if j == k else j
    return at


@bare
def eliminate(k, start, row, K, B, x):
    """y <- K y at a node, and z <- z - B y at those below it."""
    y = x[k]
    a, b, c, d, e, f = lower(K[k], y[0], y[1], y[2], y[3], y[4], y[5])
    y[0], y[1], y[2], y[3], y[4], y[5] = a, b, c, d, e, f
    for t in range(start[k], start[k + 1]):
        z, A = x[row[t]], B[t]
        for r in range(6):
            z[r] -= A[r, 0] * a + A[r, 1] * b + A[r, 2] * c + A[r, 3] * d + A[r, 4] * e + A[r, 5] * f


@bare
def recover(k, body, start, row, K, B, x):
    """y <- Kᵀ (s y - Bᵀ z) at a node, from the solution z at those below it."""
    y, C = x[k], K[k]
    if body[k] < 0:
        for r in range(6):
            y[r] = -y[r]
    for t in range(start[k], start[k + 1]):
        z, A = x[row[t]], B[t]
        a, b, c, d, e, f = z[0], z[1], z[2], z[3], z[4], z[5]
        for r in range(6):
            y[r] -= A[0, r] * a + A[1, r] * b + A[2, r] * c + A[3, r] * d + A[4, r] * e + A[5, r] * f
    a, b, c, d, e, f = y[0], y[1], y[2], y[3], y[4], y[5]
    y[0] = C[0, 0] * a + C[1, 0] * b + C[2, 0] * c + C[3, 0] * d + C[4, 0] * e + C[5, 0] * f
    y[1] = C[1, 1] * b + C[2, 1] * c + C[3, 1] * d + C[4, 1] * e + C[5, 1] * f
    y[2] = C[2, 2] * c + C[3, 2] * d + C[4, 2] * e + C[5, 2] * f
    y[3] = C[3, 3] * d + C[4, 3] * e + C[5, 3] * f
    y[4] = C[4, 4] * e + C[5, 4] * f
    y[5] = C[5, 5] * f
