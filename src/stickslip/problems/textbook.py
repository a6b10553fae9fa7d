"""Small problems whose solutions are all known by hand: none, one, several, infinitely many.

Each remark says why. w is M z + q throughout, and U the upper triangular matrix with 1 on the diagonal, 2 above it.

[1] Cottle, Pang, Stone, The Linear Complementarity Problem, SIAM 2009.
[2] Murty, Computational complexity of complementary pivot methods, Mathematical Programming Study 7 (1978) 61-73.
[3] Fathi, Computational complexity of LCPs associated with positive definite symmetric matrices,
    Mathematical Programming 17 (1979) 335-344.
[4] Painlevé, Sur les lois du frottement de glissement, Comptes Rendus 121 (1895) 112-115.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.errors import InputError
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and all its solutions; where there are infinitely many, some of them and a description of the set."""

    name: str
    problem: LCP | MixedLCP
    solutions: tuple[Vector, ...]  # empty: it is proven that there is none
    remark: str
    continuum: str = ""  # the whole set, where it is infinite

    @property
    def count(self) -> float:
        return math.inf if self.continuum else len(self.solutions)


def textbook() -> tuple[Case, ...]:
    """Every case of this module, the parametrised ones at one or two small sizes."""
    return *one_by_one(), *known_by_name(), *several(), *painleve_paradoxes(), *mixed()


def one_by_one() -> tuple[Case, ...]:
    """Every kind of LCP in one unknown: w = m z + q."""
    return (
        lcp_case("1x1 pressed", [[1]], [-1], [[1]], "z = 0 gives w = -1, so w = 0 and z = 1"),
        lcp_case("1x1 apart", [[1]], [1], [[0]], "w >= 1 for every z >= 0, so z = 0"),
        lcp_case("1x1 grazing", [[1]], [0], [[0]], "z = w = 0: both vanish, a degenerate solution"),
        lcp_case("1x1 slack", [[0]], [1], [[0]], "w = 1 whatever z, so z = 0"),
        lcp_case("1x1 impossible", [[0]], [-1], [], "w = -1 whatever z: infeasible"),
        lcp_case("1x1 anything", [[0]], [0], [[0], [1], [7]], "w = 0 whatever z", continuum="every z >= 0"),
        lcp_case("1x1 two", [[-1]], [1], [[0], [1]], "z = 0 has w = 1; z = 1 has w = 0"),
        lcp_case("1x1 hopeless", [[-1]], [-1], [], "w <= -1 for every z >= 0: infeasible"),
        lcp_case("1x1 fragile", [[-1]], [0], [[0]], "w = -z, so z = 0; none or two once q moves"),
    )


def known_by_name() -> tuple[Case, ...]:
    """Examples that the literature quotes, and the variants of the public test sets."""
    pang = [[0, -1, -1], [1, 0, 0], [-1, 0, 0]]
    infinite = [[0, -1, 1], [1, 0, 0], [-1, 0, 0]]
    corner = "w_2 = z_1 - 1 and w_3 = 1 - z_1 leave only z_1 = 1, hence w_1 = 0"
    return (
        murty_exponential(6),
        lemke_exponential(6),
        fathi(6),
        lcp_case(
            "CPS 1",
            [[1, 1], [1, 1]],
            [-1, -1],
            [[1, 0], [0, 1], [0.25, 0.75]],
            "w_1 = w_2 = z_1 + z_2 - 1: positive semidefinite of rank 1, w = 0 is unique and z is not",
            continuum="the segment z_1 + z_2 = 1, z >= 0",
        ),
        lcp_case(
            "CPS 2",
            [[0, -1, 2], [2, 0, -2], [-1, 1, 0]],
            [-3, 6, -1],
            [[0, 1, 3]],
            "w = (2, 0, 0); M has a zero diagonal and is not a P-matrix, still the solution is unique",
        ),
        lcp_case(
            "CPS 4",
            [[11, 0, 10, -1], [0, 11, 10, -1], [10, 10, 21, -1], [1, 1, 1, 0]],
            [50, 50, 10, -6],
            [[2, 2, 2, 92]],
            "w = 0: a strictly convex quadratic program over x_1 + x_2 + x_3 >= 6 with its multiplier",
        ),
        lcp_case(
            "Pang isolated",
            pang,
            [0, -1, 1],
            [[1, 0, 0]],
            f"{corner}; w_1 = -z_2 - z_3, so z_2 = z_3 = 0: isolated, and lost at the slightest change of q_1",
        ),
        lcp_case("Pang perturbed", pang, [-1e-4, -1, 1], [], "w_1 = -1e-4 - z_2 - z_3 < 0: infeasible"),
        lcp_case(
            "infinitely many",
            infinite,
            [0, -1, 1],
            [[1, 0, 0], [1, 1, 1], [1, 20, 20]],
            f"{corner}, so z_2 = z_3",
            continuum="the ray (1, t, t), t >= 0",
        ),
        lcp_case(
            "infinitely many, perturbed",
            infinite,
            [-1e-4, -1, 1],
            [[1, 0, 1e-4], [1, 1, 1 + 1e-4]],
            f"{corner}, so z_3 = z_2 + 1e-4",
            continuum="the ray (1, t, t + 1e-4), t >= 0",
        ),
        lcp_case(
            "feasible, unsolvable",
            [[0, 1], [0, 0]],
            [-1, 1],
            [],
            "z = (0, 1) is feasible; w_2 = 1 forces z_2 = 0, and then w_1 = -1",
        ),
        lcp_case("infeasible", [[0, -1], [1, 0]], [-1, 1], [], "w_1 = -z_2 - 1 < 0 for every z >= 0"),
        lcp_case(
            "degenerate",
            [[2, 1], [1, 2]],
            [-2, -1],
            [[1, 0]],
            "positive definite, so unique; z_2 = w_2 = 0, every ratio test ties there",
        ),
    )


def several() -> tuple[Case, ...]:
    """LCPs with exactly two, three and 2^n solutions."""
    coupled = [[1, 2], [2, 1]]
    return (
        lcp_case(
            "two",
            coupled,
            [-1, -2],
            [[1, 0], [0, 2]],
            "det M = -3: not a P-matrix; w = 0 gives z = (1, 0) once more, with z_2 = w_2 = 0",
        ),
        lcp_case(
            "three",
            coupled,
            [-1, -1],
            [[1, 0], [0, 1], [1 / 3, 1 / 3]],
            "strictly copositive, so there is one for every q; one contact, the other, or both carry the load",
        ),
        two_each(4),
    )


def painleve_paradoxes() -> tuple[Case, ...]:
    """A sliding rod below and above the friction where its contact force turns paradoxical (4/3 at tan angle = 2)."""
    steep = math.atan(2.0)
    return (
        painleve_rod(steep, mu=1.0, spin=0.0),
        painleve_rod(steep, mu=2.0, spin=0.0),
        painleve_rod(steep, mu=2.0, spin=8.0),
    )


def mixed() -> tuple[Case, ...]:
    """Mixed problems: free, one-sided, boxed and fixed rows."""
    one = np.ones(1)
    return (
        impact(mass=2.0, speed=-3.0),
        impact(mass=2.0, speed=3.0),
        box_friction_block(mass=2.0, speed=0.25, bound=1.0),
        box_friction_block(mass=2.0, speed=3.0, bound=1.0),
        box_friction_block(mass=2.0, speed=-3.0, bound=1.0),
        Case(
            "box three",
            MixedLCP(-np.eye(1), np.zeros(1), -one, one),
            (-one, 0 * one, one),
            "w = -z: zero inside, and pushing outwards at both bounds",
        ),
        Case(
            "fixed row",
            MixedLCP(
                np.array([[1.0, 4.0], [-1.0, 1.0]]), -10 * np.ones(2), np.array([2.0, 0.0]), np.array([2.0, np.inf])
            ),
            (np.array([2.0, 12.0]),),
            "z_1 = 2 is given and its w may have any sign; then w_2 = z_2 - 12 = 0",
        ),
        Case(
            "free row, singular",
            MixedLCP(np.zeros((1, 1)), one, -np.inf * one, np.inf * one),
            (),
            "the equation 0 z + 1 = 0",
        ),
    )


def murty_exponential(n: int) -> Case:
    """M = U, q = -(1, ..., 1): Murty's least-index method takes 2^n - 1 pivots [2]. U is a P-matrix: z is unique."""
    q, z = -np.ones(n), unit(n)
    return Case(f"Murty exponential {n}", LCP(upper(n), q), (z,), "w = U e_n - 1 = (1, ..., 1, 0)")


def lemke_exponential(n: int) -> Case:
    """M = U, q_i = 2^i - 2^(n+1), i = 1 ... n: Lemke's method with covering vector (1, ..., 1) takes 2^n pivots [2]."""
    q = np.ldexp(1.0, np.arange(1, n + 1)) - 2.0 ** (n + 1)
    z = 2.0**n * unit(n)
    return Case(
        f"Lemke exponential {n}", LCP(upper(n), q), (z,), "w_i = 2^(n+1) + q_i = 2^i for i < n, w_n = 2^n + q_n = 0"
    )


def fathi(n: int) -> Case:
    """M = U Uᵀ, q = -(1, ..., 1): positive definite, and still 2^n - 1 pivots of the least-index method [3]."""
    U = upper(n)
    return Case(f"Fathi {n}", LCP(U @ U.T, -np.ones(n)), (unit(n),), "U Uᵀ e_n = U e_n, so w = (1, ..., 1, 0)")


def two_each(n: int) -> Case:
    """M = -I, q = (1, ..., 1): each z_i is 0 or 1, so there are 2^n solutions, the most that can be isolated."""
    corners = tuple(np.array(corner, np.float64) for corner in itertools.product((0, 1), repeat=n))
    return Case(f"two each {n}", LCP(-np.eye(n), np.ones(n)), corners, "w_i = 1 - z_i")


def painleve_rod(
    angle: float, *, mu: float, spin: float, mass: float = 1.0, half: float = 0.5, g: float = 9.81
) -> Case:
    """A uniform rod of half-length `half`, at `angle` to the floor, whose lower tip slides ahead of its centre [4].

    The tip's normal acceleration is a λ + b under the normal force λ, with
        a = (1 + 3 cos θ (cos θ - μ sin θ)) / m,      b = half spin² sin θ - g
    a < 0 is possible from μ = 4/3 on, first at tan θ = 2. Then there is no force for b < 0, and two for b > 0.
    """
    cosine, sine = math.cos(angle), math.sin(angle)
    a = (1 + 3 * cosine * (cosine - mu * sine)) / mass
    b = half * spin**2 * sine - g
    if a == 0 or b == 0:
        raise InputError(f"painleve_rod: a is {a:g} and b {b:g}, expected neither to vanish")
    forces = ([0.0] if b > 0 else []) + ([-b / a] if a * b < 0 else [])
    return lcp_case(
        f"Painlevé rod, mu = {mu:g}, spin = {spin:g}",
        [[a]],
        [b],
        [[force] for force in forces],
        f"a λ + b with a = {a:.3g}, b = {b:.3g}: λ = 0 where b > 0, λ = -b/a where that is positive",
    )


def impact(*, mass: float, speed: float) -> Case:
    """A mass reaching a wall without rebound: m v = m v0 + p with v free, 0 <= p ⊥ v >= 0."""
    problem = pushed_block(mass, speed, 0.0, np.inf)
    z = np.array([max(speed, 0.0), mass * max(-speed, 0.0)])
    return Case(f"impact at {speed:g}", problem, (z,), "v = max(v0, 0), p = m max(-v0, 0)")


def box_friction_block(*, mass: float, speed: float, bound: float) -> Case:
    """A block sliding on a floor: m v = m v0 + p with v free, friction impulse p in [-bound, bound] against v."""
    problem = pushed_block(mass, speed, -bound, bound)
    p = min(max(-mass * speed, -bound), bound)
    z = np.array([speed + p / mass, p])
    return Case(f"block at {speed:g}", problem, (z,), "p is -m v0 cut to the bounds: the block stops, or slips on")


def pushed_block(mass: float, speed: float, lower: float, upper: float) -> MixedLCP:
    """m v = m v0 + p with v free and the impulse p within bounds, against v."""
    M, q = np.array([[mass, -1.0], [1.0, 0.0]]), np.array([-mass * speed, 0.0])
    return MixedLCP(M, q, np.array([-np.inf, lower]), np.array([np.inf, upper]))


def lcp_case(
    name: str,
    M: Sequence[Sequence[float]],
    q: Sequence[float],
    solutions: Sequence[Sequence[float]],
    remark: str,
    continuum: str = "",
) -> Case:
    points = tuple(np.array(z, np.float64) for z in solutions)
    return Case(name, LCP(np.array(M, np.float64), np.array(q, np.float64)), points, remark, continuum)


def upper(n: int) -> Vector:
    """U: 1 on the diagonal, 2 above it."""
    return np.triu(np.full((n, n), 2.0)) - np.eye(n)


def unit(n: int) -> Vector:
    """e_n, the last unit vector."""
    return np.append(np.zeros(n - 1), 1.0)
