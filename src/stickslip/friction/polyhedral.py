"""The LCP of friction with a polyhedral cone, shared by Stewart–Trinkle and Anitescu–Potra.

A contact has n_d directions D in its tangent plane (friction/directions.py); its friction is D p_f with p_f >= 0 and
Σ p_f <= μ p_n, and s >= 0 is the speed of slip. With G_n, G_f the columns of H for normals and directions [1],

    [ G_nᵀ M⁻¹ G_n   G_nᵀ M⁻¹ G_f    0 ] [p_n]   [ G_nᵀ v* + w_n + d ]
    [ G_fᵀ M⁻¹ G_n   G_fᵀ M⁻¹ G_f    E ] [p_f] + [ G_fᵀ v* + w_f     ]  >= 0  ⊥  (p_n, p_f, s) >= 0             (1)
    [ U              -Eᵀ             0 ] [ s ]   [ 0                 ]

v* = M⁻¹ f, U = diag(μ), E one column of ones a contact, d the gap term (friction/stabilisation.py). Bounded joint rows
follow as rows of a mixed problem.

The matrix is copositive, and Lemke's method finds a solution [2]. It is singular, and other pivoting methods may not.

[1] Trinkle, Add Coulomb friction, lecture notes, 2018.
[2] Anitescu, Potra, Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
    complementarity problems, Nonlinear Dynamics 14 (1997) 231-247.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from stickslip.checks import checked, number, wholes
from stickslip.friction.active import ActiveRows
from stickslip.friction.assembly import Unknowns, couple, posed_as, room_for_unknowns
from stickslip.friction.directions import polyhedral_directions
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.stabilisation import Stabilisation
from stickslip.jit import kernel
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.mixed import MixedLCP

MOST_DIRECTIONS = 1000  # each is an unknown of every contact
DIRECTIONS, AXES = wholes(3, MOST_DIRECTIONS), wholes(2, MOST_DIRECTIONS)  # kinds of argument


def angle(owner: str, field: str, value: Any) -> float:
    """A kind of argument."""
    return number(owner, field, value, "an angle in rad")


@dataclass(frozen=True)
@checked(directions=DIRECTIONS, offset=angle)
class Polyhedral(Formulation):
    """Friction with a polyhedral cone; the formulations made of it choose how gaps are met."""

    # of friction, in the tangent plane; 2 in the plane, whatever is said here. An odd number is a polygon without the
    # opposites of its corners: friction then depends on the sense of motion, by up to 1 - cos(π / directions)
    directions: int = 8
    _: KW_ONLY
    offset: float = 0.0  # angle of the first direction from the first tangent   [rad]
    stabilisation: Stabilisation = None

    def posed(self, rows: ActiveRows) -> Posed:
        """Without a starting point: of the methods of `auto` Lemke's then comes first, and it takes none."""
        D = polyhedral_directions(self.directions, rows.dimension, self.offset)
        unknowns = Unknowns(*polyhedral_unknowns(D, rows.mu, rows.lower, rows.upper))
        return posed_as(MixedLCP if rows.lower.size else LCP, rows, unknowns)

    def left(self, rows: ActiveRows, p: Dense) -> Vector:
        """μ p_n - Σ p_f, with the least p_f >= 0 that make up the friction: of two neighbouring directions."""
        return left_of_directions(self.directions, self.offset, rows.mu, p)


@kernel
def left_of_directions(directions, offset, mu, p):
    left, half = np.empty(mu.size), math.pi / directions
    for i in range(mu.size):
        used = abs(p[i, 1])
        if p.shape[1] > 2:
            off = (math.atan2(p[i, 2], p[i, 1]) - offset) % (2 * half) - half  # from the middle between the two
            used = math.hypot(p[i, 1], p[i, 2]) * math.cos(off) / math.cos(half)
        left[i] = mu[i] * p[i, 0] - used
    return left


@kernel
def polyhedral_unknowns(D, mu, lower, upper):
    """(1) with unknowns (p_n, p_f, s), contact after contact in each, then λ of the bounded joint rows."""
    tangents, n_d = D.shape
    k, d = mu.size, tangents + 1
    slip = k * (1 + n_d)  # where s begins
    unknowns = room_for_unknowns(slip + k, k * (2 * n_d + 1), d * k, lower, upper)
    row, value, place, entry, _, _, _, _ = unknowns
    e = 0
    for i in range(k):
        s = slip + i
        row[i, 0], value[i, 0] = d * i, 1.0
        e = couple(place, entry, e, s, i, mu[i])
        for j in range(n_d):
            f = k + n_d * i + j
            for a in range(tangents):
                row[f, a], value[f, a] = d * i + 1 + a, D[a, j]
            e = couple(place, entry, e, f, s, 1.0)
            e = couple(place, entry, e, s, f, -1.0)
    return unknowns
