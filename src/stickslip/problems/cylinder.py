"""Friction whose bounds are given (Tresca): an affine variational inequality over cylinders.

    u = W r + q,      r ∈ C,   (x - r) · u >= 0 for all x ∈ C,      C = {r : r_n >= 0, |r_t| <= g}  per contact

Contact by contact: 0 <= r_n ⊥ u_n >= 0, and r_t opposes slip with an impulse of at most g, whether the contact presses
or not. With g = μ r_n it would be Coulomb's law, problems/cone.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.problems.blocks import OfContacts
from stickslip.problems.matrix import Matrix, Vector


@dataclass(frozen=True, eq=False)
class CylinderProblem(OfContacts):
    """Find r in C with (x - r) · (W r + q) >= 0 for all x in C, C = {r_n >= 0, |r_t| <= bound} contact by contact."""

    W: Matrix  # (d nc, d nc)   Delassus matrix, dense or SciPy-sparse   [1/kg]
    q: Vector  # (d nc,)        contact velocity of the free motion      [m/s]
    bound: Vector  # (nc,)      largest friction impulse, >= 0           [N s]

    def __post_init__(self) -> None:
        self.check("bound", "a friction bound")

    @property
    def contacts(self) -> int:
        return self.bound.size

    def __repr__(self) -> str:
        return f"CylinderProblem(contacts={self.bound.size}, dimension={self.dimension})"
