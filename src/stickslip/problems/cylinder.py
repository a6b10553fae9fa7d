"""Friction whose bounds are given (Tresca): an affine variational inequality over cylinders.

    u = W r + q,      r ∈ C,   (x - r) · u >= 0 for all x ∈ C,      C = {r : r_n >= 0, |r_t| <= g}  per contact

Contact by contact: 0 <= r_n ⊥ u_n >= 0, and r_t opposes slip with an impulse of at most g, whether the contact presses
or not. With g = μ r_n it would be Coulomb's law, problems/cone.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.errors import InputError
from stickslip.problems.blocks import ContactBlocks, contact_blocks, velocities_at
from stickslip.problems.matrix import Matrix, Vector, square, vector


@dataclass(frozen=True, eq=False)
class CylinderProblem:
    """Find r in C with (x - r) · (W r + q) >= 0 for all x in C, C = {r_n >= 0, |r_t| <= bound} contact by contact."""

    W: Matrix  # (d nc, d nc)   Delassus matrix, dense or SciPy-sparse   [1/kg]
    q: Vector  # (d nc,)        contact velocity of the free motion      [m/s]
    bound: Vector  # (nc,)      largest friction impulse, >= 0           [N s]

    tolerance: ClassVar[float] = 1e-8  # on the residual, where the caller states none

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", square("CylinderProblem", "W", self.W))
        object.__setattr__(self, "q", vector("CylinderProblem", "q", self.q, self.W.shape[0]))
        object.__setattr__(self, "bound", vector("CylinderProblem", "bound", self.bound))
        if (self.bound < 0).any():
            i = int(np.argmax(self.bound < 0))
            raise InputError(f"CylinderProblem: bound[{i}] is {self.bound[i]:g}, expected a friction bound >= 0")
        if self.q.size not in (2 * self.bound.size, 3 * self.bound.size):
            raise InputError(
                f"CylinderProblem: q has {self.q.size} entries and bound {self.bound.size}, "
                "expected 2 or 3 components a contact"
            )

    @property
    def size(self) -> int:
        return self.q.size

    @property
    def dimension(self) -> int:
        """2 or 3 components a contact."""
        return self.q.size // self.bound.size if self.bound.size else 3

    @cached_property
    def blocks(self) -> ContactBlocks:
        """W by pairs of contacts, made at the first use."""
        return contact_blocks(self.W, self.dimension)

    def value(self, r: Vector) -> Vector:
        """u = W r + q."""
        return velocities_at("CylinderProblem", self.blocks, self.q, r)

    def __repr__(self) -> str:
        return f"CylinderProblem(contacts={self.bound.size}, dimension={self.dimension})"
