"""Distance of two convex shapes by the algorithm of Gilbert, Johnson and Keerthi [1].

The distance is that of the origin to the difference D = {a - b} of the two shapes. A simplex of at most four points of
D holds the nearest point v so far; the point w of D farthest along -v joins it, and what is not needed for the nearest
point of the new simplex leaves. It ends where no point of D is nearer by more than rounding: |v|² - v·w <= 1e-14 |v|².

The shapes must be apart by more than rounding, which collision/convex.py sees to. Capsules and balls are meant without
their radius. A simplex is an array of four rows (a - b, a + b, weight): points of the two shapes, seen from the centre
of the second, and how much each counts in the nearest one.

[1] Gilbert, Johnson, Keerthi, A fast procedure for computing the distance between complex objects in
    three-dimensional space, IEEE Journal on Robotics and Automation 4 (1988) 193-203.
[2] Ericson, Real-time collision detection, Morgan Kaufmann 2005, section 5.1.5.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.collision.hulls import farthest_corner
from stickslip.collision.manifold import NONE
from stickslip.collision.placement import BOX, CYLINDER, HULL
from stickslip.collision.vectors import ahead, cross, inner, into_frame, into_world, minus, row, sign
from stickslip.jit import bare
from stickslip.scene.model import Floats

MOST = 64  # iterations
PRECISION = 1e-14
WEIGHT, COLUMNS = 6, 7


def simplex() -> Floats:
    return np.zeros((4, COLUMNS))


@bare
def direction_between(A, B, d, hulls, simplex):
    """The unit vector from B to A, whose centre is seen from that of B at d, along the distance between them.

    Also returns twice the point midway between the nearest ones, seen from the centre of B.
    """
    v, middle, count, square = d, d, NONE, math.inf
    for _ in range(MOST):
        a = ahead(d, 1.0, support(A, (-v[0], -v[1], -v[2]), hulls))
        b = support(B, v, hulls)
        w = minus(a, b)
        if square < math.inf and square - inner(v, w) <= PRECISION * square:
            break
        simplex[count, 0], simplex[count, 1], simplex[count, 2] = w
        simplex[count, 3], simplex[count, 4], simplex[count, 5] = ahead(a, 1.0, b)
        count, nearer = reduce(simplex, count + 1)
        if not 0.0 < inner(nearer, nearer) < square:  # only rounding is left
            break
        v, middle, square = nearer, (0.0, 0.0, 0.0), inner(nearer, nearer)
        for k in range(count):
            middle = ahead(middle, simplex[k, WEIGHT], (simplex[k, 3], simplex[k, 4], simplex[k, 5]))
    length = math.sqrt(inner(v, v))
    return (v[0] / length, v[1] / length, v[2] / length), middle


@bare
def support(A, direction, hulls):
    """The point of A farthest along the direction, seen from its centre."""
    x, y, z = into_frame(A.axes, direction)
    across = math.hypot(x, y)
    if A.kind == HULL:
        local = farthest_corner(hulls, A.number, (x, y, z))
    elif A.kind == BOX:
        local = (sign(x) * A.size[0], sign(y) * A.size[1], sign(z) * A.size[2])
    elif A.kind == CYLINDER and across > 0.0:
        local = (A.size[0] * x / across, A.size[0] * y / across, sign(z) * A.size[1])
    else:
        local = (0.0, 0.0, sign(z) * A.size[1])
    return into_world(A.axes, local)


@bare
def reduce(simplex, count):
    """Keep the points whose hull has the point nearest to the origin, with their weights. Returns how many, and it.

    The nearest point is in one of the faces with the point that came last: the others were as near before.
    """
    last = count - 1
    best, i, j, weights, nearest = math.inf, NONE, NONE, (0.0, 0.0, 1.0), row(simplex, last)
    if count == 2:
        weights, nearest = nearest_on_segment(row(simplex, NONE), row(simplex, last))
    for k in range(last):
        for m in range(k + 1, last):
            its_weights, candidate = nearest_on_triangle(row(simplex, k), row(simplex, m), row(simplex, last))
            if inner(candidate, candidate) < best:
                best, i, j, weights, nearest = inner(candidate, candidate), k, m, its_weights, candidate
    left = NONE
    for k, weight in ((i, weights[0]), (j, weights[1]), (last, weights[2])):
        if weight > 0.0:
            for c in range(WEIGHT):
                simplex[left, c] = simplex[k, c]
            simplex[left, WEIGHT] = weight
            left += 1
    return left, nearest


@bare
def nearest_on_segment(p, q):
    """The point of a segment nearest to the origin: weights of p, of nothing and of q, and the point."""
    edge = minus(q, p)
    from_p, from_q = -inner(edge, p), inner(edge, q)
    if from_p <= 0.0:
        return (1.0, 0.0, 0.0), p
    if from_q <= 0.0:
        return (0.0, 0.0, 1.0), q
    t = from_p / (from_p + from_q)
    return (1.0 - t, 0.0, t), ahead(p, t, edge)


@bare
def nearest_on_triangle(p, q, r):
    """The point of a triangle nearest to the origin [2]: weights of p, q and r, and the point.

    Triangles get long and thin as the iteration converges; cross products lose least then.
    """
    pq, pr, qr = minus(q, p), minus(r, p), minus(r, q)
    n = cross(pq, pr)
    u, v, w = inner(n, cross(q, qr)), -inner(n, cross(r, pr)), inner(n, cross(p, pq))
    total = inner(n, n)
    if u > 0.0 and v > 0.0 and w > 0.0:
        scale = inner(n, p) / total
        return (u / total, v / total, w / total), (scale * n[0], scale * n[1], scale * n[2])
    best, weights, nearest = math.inf, (0.0, 0.0, 1.0), r
    for k in range(3):
        if k == 0:
            (a, _, b), candidate = nearest_on_segment(q, r)
            its_weights = (0.0, a, b)
        elif k == 1:
            its_weights, candidate = nearest_on_segment(p, r)
        else:
            (a, _, b), candidate = nearest_on_segment(p, q)
            its_weights = (a, b, 0.0)
        if inner(candidate, candidate) < best:
            best, weights, nearest = inner(candidate, candidate), its_weights, candidate
    return weights, nearest
