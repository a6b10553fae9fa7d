"""The examples of Trinkle and Pang [1]: a cube between a rod that pushes, a hump below and a rod beside it.

The cube has side 2 and its centre at the origin, z up. Three small patches touch it, at r with normal n into the cube:

    1  the moving rod on the front face     r = (1, η - 1, ζ - 1)         n = (-1, 0, 0)   t = (0, 1, 0)
    2  the hump under the bottom face       r = (0, 0, -1) or a corner    n = (0, 0, 1)    t = (0, 1, 0)
    3  the fixed rod on the right face      r = (1 - δ, 1, γ - 1)         n = (0, -1, 0)   t = (0, 0, -1)

and o = n × t. A force f at r moves the cube by (f, r × f), a moment about the normal by (0, n). The moving rod slides
along x and turns about it: q = (cube, cube's rotation, rod's place, rod's angle). It feels the reaction of contact 1;
with its coordinates against its axis both rows are +1. With J of these columns,

    q̈ = M⁻¹ (J c + F),    a = Jᵀ q̈,    F = (0, 0, -weight, 0, 0, 0, -τ_1, -τ_2),    A = Jᵀ M⁻¹ J,   b = Jᵀ M⁻¹ F.

Everything is at rest, so all contacts roll. docs/trinkle_pang.md lists what is wrong in print, and how we know.

[1] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.errors import InputError
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector

DIAGONAL = np.array([1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 4.0, 2.0])  # of M by the text, of M⁻¹ by the numbers of Table 1
WEIGHT = 10.0  # [N]; not in print, but the vertical forces of Table 1 add up to it


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A problem with the bodies behind it."""

    J: Dense  # (nv, 4 nc)   contact by contact, n, t, o, r
    inverse_mass: Vector  # (nv,)
    F: Vector  # (nv,)   applied forces
    problem: LimitSurfaceProblem

    def acceleration(self, c: Vector) -> Vector:
        """q̈"""
        return self.inverse_mass * (self.J @ c + self.F)


def contact_columns(r: ArrayLike, n: ArrayLike, t: ArrayLike) -> Dense:
    """What (c_n, c_t, c_o, c_r) at the place r do to a body with its centre at the origin: (6, 4)."""
    place, normal, tangent = (np.asarray(v, np.float64) for v in (r, n, t))
    directions = (normal, tangent, np.cross(normal, tangent))
    forces = [np.concatenate([f, np.cross(place, f)]) for f in directions]
    return np.column_stack([*forces, np.concatenate([np.zeros(3), normal])])


def jacobian_1(eta: float = 1.5, zeta: float = 2.0) -> Dense:
    """J of example 1, (8, 8): its determinant is -ζ."""
    return with_rod([rod(eta, zeta), contact_columns((0, 0, -1), (0, 0, 1), (0, 1, 0))])


def jacobian_2(eta: float = 1.5, zeta: float = 1.5, gamma: float = 1.5, delta: float = 0.5) -> Dense:
    """J of example 2, (8, 12): the hump is under the corner, and there is a third contact."""
    corner = contact_columns((-1, -1, -1), (0, 0, 1), (0, 1, 0))
    side = contact_columns((1 - delta, 1, gamma - 1), (0, -1, 0), (0, 0, -1))
    return with_rod([rod(eta, zeta), corner, side])


def rod(eta: float, zeta: float) -> Dense:
    return contact_columns((1, eta - 1, zeta - 1), (-1, 0, 0), (0, 1, 0))


def with_rod(columns: list[Dense]) -> Dense:
    """The cube's columns over the two rows of the moving rod, which feels c_n and c_r of the first contact."""
    J = np.zeros((8, 4 * len(columns)))
    J[:6] = np.hstack(columns)
    J[6, 0], J[7, 3] = 1.0, 1.0
    return J


def example_1(
    mu: ArrayLike,
    zeta: float = 2.0,
    diagonal_is_inverse: bool = False,
    *,
    eta: float = 1.5,
    torque: tuple[float, float] = (5.0, 3.0),
    e: ArrayLike = ((1.0, 1.0, 1.0), (1.0, 1.0, 0.25)),
    diagonal: ArrayLike = DIAGONAL,
    weight: float = WEIGHT,
) -> Mechanism:
    """Two contacts, μ = (μ_1, μ_2) or one for both; rod at (η, ζ) with force and moment τ, sizes e of the patches."""
    return mechanism(jacobian_1(eta, zeta), mu, e, torque, diagonal_is_inverse, diagonal, weight)


def example_2(
    mu: ArrayLike = 0.9,
    diagonal_is_inverse: bool = False,
    *,
    eta: float = 1.5,
    zeta: float = 1.5,
    gamma: float = 1.5,
    delta: float = 0.5,
    torque: tuple[float, float] = (6.0, 3.0),
    e: ArrayLike = (1.0, 1.0, 2.0),
    diagonal: ArrayLike = DIAGONAL,
    weight: float = WEIGHT,
) -> Mechanism:
    """Three contacts, with another one beside the cube at (δ, γ): it can jam."""
    J = jacobian_2(eta, zeta, gamma, delta)
    return mechanism(J, mu, e, torque, diagonal_is_inverse, diagonal, weight)


def table_1(mu: float = 0.9) -> Mechanism:
    """Example 2 as Table 1 was computed: M⁻¹ = diag, the moment of o_2 about y with the wrong sign, and friction
    antiparallel to (a_t, a_o, a_r) instead of that of maximum work.

    Antiparallel to a on the ellipsoid is maximum work of s over the unit ball against a / e in the place of e a; so the
    problem is in the forces s, x = (c_n, s): with A = E⁻¹ Jᵀ M⁻¹ J E and e = 1. `table_1_forces` gives c.
    """
    J = jacobian_2()
    J[4, 6] = -1.0
    made = mechanism(J, mu, (1.0, 1.0, 2.0), (6.0, 3.0), True)
    E = made.problem.scaled.E
    A, b = made.problem.A * E / E[:, None], made.problem.b / E
    return replace(made, problem=LimitSurfaceProblem(A, b, made.problem.mu, np.ones((3, 3))))


def table_1_forces(x: Vector) -> Vector:
    """c = E x, e_r = 2."""
    return np.tile((1.0, 1.0, 1.0, 2.0), 3) * x


def mechanism(
    J: Dense,
    mu: ArrayLike,
    e: ArrayLike,
    torque: tuple[float, float],
    diagonal_is_inverse: bool,
    diagonal: ArrayLike = DIAGONAL,
    weight: float = WEIGHT,
) -> Mechanism:
    """μ and the sizes e of each contact, or one for all."""
    given, contacts = np.asarray(diagonal, np.float64), J.shape[1] // 4
    if given.shape != (8,) or not (given > 0).all():
        raise InputError(f"mechanism: diagonal is {diagonal!r}, expected 8 positive numbers")
    inverse = given if diagonal_is_inverse else 1 / given
    F = np.array([0.0, 0.0, -weight, 0.0, 0.0, 0.0, -torque[0], -torque[1]])
    A, b = J.T @ (inverse[:, None] * J), J.T @ (inverse * F)
    friction = np.broadcast_to(np.asarray(mu, np.float64), (contacts,))
    sizes = np.broadcast_to(np.asarray(e, np.float64), (contacts, 3))
    return Mechanism(J, inverse, F, LimitSurfaceProblem(A, b, friction, sizes))


def by_component(c: Vector) -> Vector:
    """(n_1, n_2, …, t_1, …, o_1, …, r_1, …), the paper's order, from contact by contact."""
    return c.reshape(-1, 4).T.ravel()
