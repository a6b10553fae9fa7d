"""The contacts of one instant, as arrays that are filled anew each step.

The normal points from body B to body A, so a positive gap and a positive relative velocity of A along it mean apart.
Shape A always has the greater index. A contact is known again in the next step by its two shapes and its feature: a
number that stays while the same features (corner, edge, face) of the two shapes meet. Contacts come sorted by
(shape_a, shape_b, feature).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.scene.model import Floats, Integers


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
