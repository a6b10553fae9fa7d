"""Coulomb's law as it is: round cones, friction against the sliding velocity, 0 <= p_n ⊥ u_n >= 0.

The cone problem of problems/cone.py with the gap term in its normals, friction/stabilisation.py. The default takes back
a fifth of an overlap in a step: enough to keep piles from sinking, too little to make them jump. Joints are eliminated
or become contacts of the problem: friction/elimination.py and friction/cones.py.

Where contacts are redundant (a box on four corners) the impulses are not unique, and under friction the motion may not
be either. Relaxation() makes it so: then the load is shared as equal springs share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.friction.cones import RoundCones
from stickslip.friction.formulation import Scheme
from stickslip.friction.stabilisation import GENTLE, Stabilisation


@dataclass(frozen=True)
class Coulomb(RoundCones):
    """Isotropic Coulomb friction without facets. A Relaxation acts on the normals only."""

    stabilisation: Stabilisation = GENTLE

    scheme: ClassVar[Scheme] = "midpoint"
