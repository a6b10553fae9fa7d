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

from dataclasses import KW_ONLY, dataclass

import numpy as np

from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows
from stickslip.friction.assembly import matrix_like, pose_lcp, pose_mixed
from stickslip.friction.directions import polyhedral_directions
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.impact import RowImpulses
from stickslip.friction.stabilisation import Stabilisation
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.mixed import MixedLCP


@dataclass(frozen=True)
class Polyhedral(Formulation):
    """Friction with a polyhedral cone; the formulations made of it choose how gaps are met."""

    directions: int = 8  # of friction, in the tangent plane; 2 in the plane, whatever is said here
    _: KW_ONLY
    stabilisation: Stabilisation = None

    def __post_init__(self) -> None:
        check_directions(type(self).__name__, self.directions, 3)
        super().__post_init__()

    def posed(self, rows: ActiveRows) -> Posed:
        """Without a starting point: of the methods of `auto` Lemke's then comes first, and it takes none."""
        D = polyhedral_directions(self.directions, rows.dimension)
        k, n_d = rows.count, D.shape[1]

        def decode(z: Vector) -> RowImpulses:
            p = np.empty((k, rows.dimension))
            p[:, 0] = z[:k]
            p[:, 1:] = z[k : k + n_d * k].reshape(k, n_d) @ D.T
            return RowImpulses(p, z[k * (n_d + 2) :])

        return Posed(pose_polyhedral(rows, D), None, decode)


def pose_polyhedral(rows: ActiveRows, D: Dense) -> LCP | MixedLCP:
    """(1) with unknowns (p_n, p_f, s), contact after contact in each, then λ of the bounded joint rows."""
    k, m = rows.count, rows.joint.size
    n_d = D.shape[1]
    contact = np.arange(k)
    force = k + n_d * contact[:, None] + np.arange(n_d)  # columns of p_f, (k, n_d)
    slip = k + n_d * k + contact
    joint = slip.size + k + n_d * k + np.arange(m)
    size = k * (n_d + 2) + m
    P = matrix_like(
        rows.W,
        (rows.q.size, size),
        [
            (rows.normal, contact, 1.0),
            (rows.tangent[:, :, None], force[:, None, :], D),
            (rows.joint, joint, 1.0),
        ],
    )
    K = matrix_like(
        rows.W,
        (size, size),
        [(force, slip[:, None], 1.0), (slip[:, None], force, -1.0), (slip, contact, rows.mu)],
    )
    if m == 0:
        return pose_lcp(rows.W, rows.q, P, K)
    lower, upper = np.zeros(size), np.full(size, np.inf)
    lower[joint], upper[joint] = rows.lower, rows.upper
    return pose_mixed(rows.W, rows.q, P, K, np.zeros(size), lower, upper)


def check_directions(owner: str, directions: int, least: int) -> None:
    if not (isinstance(directions, int) and directions >= least):
        raise InputError(f"{owner}: directions is {directions!r}, expected a whole number of at least {least}")
