"""The contacts of one instant, as arrays that are filled anew each step.

The normal points from body B to body A, so a positive gap and a positive relative velocity of A along it mean apart.
Shape A always has the greater index. A contact is known again in the next step by its two shapes and its feature: a
number that stays while the same features (corner, edge, face) of the two shapes meet. Contacts come sorted by
(shape_a, shape_b, feature).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import bare
from stickslip.scene.model import Floats, Integers

AT_THE_END = 1 << 40  # added to the feature of a contact that tells of the end of a step, see engine/ahead.py


class Contacts(NamedTuple):
    """Room for `capacity` contacts; the first `count` of them, returned beside, are meant."""

    shape_a: Integers  # (capacity,)
    shape_b: Integers  # (capacity,)    shape_b < shape_a
    feature: Integers  # (capacity,)
    point: Floats  # (capacity, 3)   midway between the two surfaces, world   [m]
    normal: Floats  # (capacity, 3)   unit, from B to A, world
    gap: Floats  # (capacity,)      negative where they overlap   [m]

    @property
    def capacity(self) -> int:
        return int(self.gap.size)


def room_for(capacity: int) -> Contacts:
    return Contacts(
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 3)),
        np.zeros(capacity),
    )


@bare
def put_in(others, count, contacts, found):
    """Put so many contacts that tell of the end of the step among those found, after those with the same features.
    Returns how many there are then, be there room for them or not."""
    for j in range(count):
        a, b, f = others.shape_a[j], others.shape_b[j], plain(others.feature[j])
        at = 0
        while at < found and (contacts.shape_a[at], contacts.shape_b[at], plain(contacts.feature[at])) <= (a, b, f):
            at += 1
        found += 1
        if found <= contacts.gap.size:
            for k in range(found - 1, at, -1):
                copy_contact(contacts, k - 1, contacts, k)
            copy_contact(others, j, contacts, at)
    return found


@bare
def plain(feature):
    """The feature that meets, whether at the start of the step or at its end."""
    return feature - AT_THE_END if feature >= AT_THE_END else feature


@bare
def copy_contact(source, j, target, k):
    target.shape_a[k], target.shape_b[k], target.feature[k] = source.shape_a[j], source.shape_b[j], source.feature[j]
    target.gap[k] = source.gap[j]
    for r in range(3):
        target.point[k, r], target.normal[k, r] = source.point[j, r], source.normal[j, r]
