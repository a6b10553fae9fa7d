"""Stewart and Trinkle's time step: the polyhedral LCP of friction/polyhedral.py with the gap term ψ/h.

A contact may close its gap within the step but no more, so nothing is ever penetrated and an impact takes two steps:
the first ends at ψ = 0, the second without velocity.

[1] Stewart, Trinkle, An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb
    friction, International Journal for Numerical Methods in Engineering 39 (1996) 2673-2691.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from stickslip.friction.polyhedral import Polyhedral
from stickslip.friction.stabilisation import GAP, Stabilisation


@dataclass(frozen=True)
class StewartTrinkle(Polyhedral):
    """Polyhedral cones at the end of the step, with the gap term."""

    _: KW_ONLY
    stabilisation: Stabilisation = GAP
