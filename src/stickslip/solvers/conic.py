"""Interior point on the convexified friction problem, by Clarabel [1], and the loop that makes it Coulomb's law.

    minimise  ½ rᵀ W r + (q + o)ᵀ r    over    |r_t| <= μ r_n    contact by contact                            (1)

With o = 0 and W symmetric this is the associated law, solved once. Coulomb's law is the fixed point o = μ |u_t| e_n
(De Saxcé [2, 3]), found by the loop of solvers/fixed_point.py. An optimisation problem knows only the symmetric part
of W; where W is unsymmetric the rest joins o as ½ (W - Wᵀ) r, in the same loop, so that its fixed point solves the
problem as given.

Clarabel gets the problem in units where each diagonal block of W has trace d and q the length 1, the cone as the
second-order cone of (μ r_n, r_t) / max(1, μ), and r_n >= 0, r_t = 0 where μ = 0. Where contacts are on the verge of
slip or of opening, the error is the square root of the duality gap: so the gap is asked to be GAP, and what Clarabel
calls almost solved is taken, for the residual decides. The loop cannot be more accurate than that, about 1e-9.

[1] Goulart, Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives, arXiv:2405.12762.
[2] De Saxcé, Feng, The bipotential method, Mathematical and Computer Modelling 28 (1998) 225-245.
[3] Acary, Cadoux, Lemaréchal, Malick, A formulation of the linear discrete Coulomb friction problem via convex
    optimization, ZAMM 91 (2011) 155-175.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from stickslip.checks import checked, count, not_negative, whole
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Sparse, Vector, as_sparse, asymmetry
from stickslip.solvers.cone_newton import contact_scale
from stickslip.solvers.fixed_point import fixed_point, slip_speed
from stickslip.solvers.solution import Solution, conclude, expect

GAP = 1e-18  # Clarabel's tolerance on the duality gap
FEASIBLE = 1e-10  # on feasibility; asked for more, Clarabel takes rounding for lack of progress, and gives up early
SYMMETRIC = 1e-12  # asymmetry up to this share of the largest entry is rounding


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_outer=count, memory=whole)
class Conic:
    """Interior point for ConeProblem through Clarabel; an iteration is one conic problem."""

    tol: float = 1e-8
    max_outer: int = 100
    memory: int = 5  # updates of μ|u_t| that are mixed; 0 for none

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Solve; x0, where there is one, gives the first μ|u_t|."""
        started = expect(self, problem, ConeProblem)
        convex = ConvexProblem(problem)
        d = problem.dimension

        def image(r: Vector, u: Vector) -> Vector:
            offset = convex.skew @ r
            offset[::d] += problem.shift * slip_speed(u, d)
            return offset

        def solve_inner(offset: Vector, r: Vector, tol: float) -> tuple[Vector, bool]:
            return convex.solve(offset)

        return conclude(problem, self, *fixed_point(self, problem, self.max_outer, solve_inner, image, x0), started)


class ConvexProblem:
    """(1) for one W and many offsets o: set up by Clarabel once."""

    skew: Sparse  # ½ (W - Wᵀ), empty where W is symmetric up to rounding

    def __init__(self, problem: ConeProblem) -> None:
        import clarabel

        n, d, mu = problem.size, problem.dimension, problem.mu
        self.scale = contact_scale(problem)
        self.q = self.scale * problem.q
        self.size = float(np.linalg.norm(self.q)) or 1.0
        W, S = as_sparse(problem.W), sparse.diags_array(self.scale)
        self.skew = sparse.csr_array((W - W.T) / 2)
        if asymmetry(W) <= SYMMETRIC:
            self.skew = sparse.csr_array((n, n))
        cone = np.ones((mu.size, d))
        cone[:, 0] = np.where(mu > 0.0, mu, 1.0)
        cone /= np.maximum(mu, 1.0)[:, None]
        sliding, smooth = [clarabel.SecondOrderConeT(d)], [clarabel.NonnegativeConeT(1), clarabel.ZeroConeT(d - 1)]
        cones = [part for coefficient in mu for part in (sliding if coefficient > 0.0 else smooth)]
        self.solver = conic_solver(
            sparse.triu(S @ (W + W.T) @ S / 2), self.q / self.size, sparse.diags_array(-cone.ravel()), np.zeros(n),
            cones, presolve_enable=False, tol_gap_abs=GAP, tol_gap_rel=GAP, tol_feas=FEASIBLE,
        )  # fmt: skip

    def solve(self, offset: Vector) -> tuple[Vector, bool]:
        """r of (1), and whether Clarabel calls it solved or almost so."""
        self.solver.update(q=(self.q + self.scale * offset) / self.size)
        answer = self.solver.solve()
        return self.scale * self.size * np.array(answer.x), str(answer.status) in ("Solved", "AlmostSolved")


def conic_solver(
    P: Any, q: Vector, A: Any, b: Vector, cones: list[Any], exact: float | None = None, **settings: Any
) -> Any:
    """Clarabel for  min ½ xᵀ P x + qᵀ x  over  b - A x ∈ cones,  quiet and on one thread, P = 0 where it is None;
    `exact` is what its three tolerances are, and `settings` are its own. Where q is to change, presolve_enable must be
    False."""
    import clarabel

    chosen = clarabel.DefaultSettings()
    P = sparse.csc_matrix((q.size, q.size)) if P is None else P
    tolerances = {} if exact is None else dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), exact)
    for name, value in {"verbose": False, "max_threads": 1, **tolerances, **settings}.items():
        setattr(chosen, name, value)
    return clarabel.DefaultSolver(sparse.csc_matrix(P), q, sparse.csc_matrix(A), b, cones, chosen)
