"""Which algorithm serves which pair of shapes.

              plane     sphere    capsule   box       cylinder  hull
    sphere    spheres   spheres   spheres   spheres   spheres   convex
    capsule   planes              capsules  capsules  convex    convex
    box       planes                        boxes     convex    convex
    cylinder  planes                                  convex    convex
    hull      hulls                                             convex

Each takes the shape named at the left first and puts its contacts into `spots`, normals from the second to the first.
"""

from __future__ import annotations

from stickslip.collision.boxes import UNSETTLED, box_box
from stickslip.collision.capsules import capsule_box, capsule_capsule
from stickslip.collision.convex import convex_pair
from stickslip.collision.hulls import hull_plane
from stickslip.collision.manifold import FEATURE, GAP, NONE, merge_planar, order_by_feature
from stickslip.collision.placement import BOX, CAPSULE, CYLINDER, HULL, PLANE, REACH, SPHERE, placed
from stickslip.collision.planes import box_plane, capsule_plane, cylinder_plane
from stickslip.collision.spheres import ball
from stickslip.jit import bare


@bare
def comes_first(kind, other):
    """Is a shape of this kind the first of a pair with the other: sphere, capsule, box, cylinder, hull, plane?"""
    if kind in (SPHERE, other) or other == PLANE:
        return True
    if other == SPHERE or kind == PLANE:
        return False
    if HULL in (kind, other):
        return other == HULL
    return kind == CAPSULE or other == CYLINDER


@bare
def meet(pairs, found, kind, where, table, planar, hulls, simplex, outline, clipped, spots, contacts):
    """Find the contacts of all pairs (a, b), a > b, one pair after the other. Returns how many there are."""
    shape_a, shape_b, feature, point, normal, gap = contacts
    total = 0
    for k in range(found):
        a, b = pairs[k, 0], pairs[k, 1]
        turned = not comes_first(kind[a], kind[b])
        first, second = (b, a) if turned else (a, b)
        A, B = placed(kind, where, table, first), placed(kind, where, table, second)
        margin, count = where[a, REACH] + where[b, REACH], NONE
        if A.kind == SPHERE and B.kind != HULL:
            count = ball(B, A.centre, A.size[0], margin, NONE, spots, count)
        elif B.kind == PLANE:
            if A.kind == CAPSULE:
                count = capsule_plane(A, B, margin, spots, count)
            elif A.kind == BOX:
                count = box_plane(A, B, margin, spots, count)
            elif A.kind == CYLINDER:
                count = cylinder_plane(A, B, margin, spots, count)
            else:
                count = hull_plane(A, B, margin, hulls, spots, count)
        elif A.kind == CAPSULE and B.kind == CAPSULE:
            count = capsule_capsule(A, B, margin, spots, count)
        elif A.kind == CAPSULE and B.kind == BOX:
            count = capsule_box(A, B, margin, spots, count)
        else:
            count = UNSETTLED
            if A.kind == BOX and B.kind == BOX:
                count = box_box(A, B, margin, hulls, outline, clipped, spots, NONE)
            if count == UNSETTLED:
                count = convex_pair(A, B, margin, hulls, simplex, outline, clipped, spots, NONE)
        if count > 1:
            order_by_feature(spots, count)
            if planar:
                count = merge_planar(spots, count)
        for spot in range(count):
            if total < gap.size:
                shape_a[total], shape_b[total] = a, b
                feature[total], gap[total] = int(spots[spot, FEATURE]), spots[spot, GAP]
                for c in range(3):
                    point[total, c] = spots[spot, c]
                    normal[total, c] = -spots[spot, 3 + c] if turned else spots[spot, 3 + c]
            total += 1
    return total
