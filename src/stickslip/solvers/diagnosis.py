"""What a solution of a friction problem says about itself: `Solution.explain()`.

    the worst contact   has the largest share |F_i| of the residual |F| / max(|q|, |r|, |u|), F = r - P_K(r - ũ)
    its state           open, stick or slip, by problems/contact_states.py
    the rank of W       up to DENSE rows from the eigenvalues of its symmetric part, diagonal scaled to 1: those above
                        RANK, or above the digits lost where W is semidefinite only to few digits.
                        Beyond, by Sylvester's law of inertia [1]: S - σ I has as many negative pivots as S has
                        eigenvalues below σ. S = H Hᵀ where the bodies are known (rank H = rank W), otherwise the
                        symmetric part of W, scaled alike. Beyond LARGEST rows it is not computed
    existence           by solvers/existence.py

Where the rank is less than the number of rows, some impulses move nothing and can be added to a solution as long as
the cones allow it: impulses need not be unique. Velocities are, under the associated law with W symmetric, because they
are the gradient of a convex function of r; under Coulomb's law they need not be.

[1] Golub, Van Loan, Matrix Computations, Johns Hopkins University Press 2013, section 8.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from stickslip.checks import checked, instance
from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem, Law
from stickslip.problems.contact_states import State, contact_residuals, contact_states
from stickslip.problems.matrix import Indices, Matrix, Vector
from stickslip.solvers.existence import ROUNDING, Existence, cone_existence, negative_share, unit_diagonal
from stickslip.solvers.linear import ldl

if TYPE_CHECKING:
    from stickslip.solvers.solution import Solution

DENSE = 2000  # rows up to which all eigenvalues are computed
LARGEST = 40_000  # rows up to which a sparse factorisation counts them
RANK = 1e-10  # an eigenvalue below counts as zero, the diagonal scaled to 1


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The worst contact, the state of each, the rank of W and whether a solution exists; str() says it in words."""

    solved: bool
    residual: float
    tol: float
    shares: Vector  # (nc,) of the residual: its square is the sum of theirs
    states: Indices  # (nc,) State of each contact
    size: int  # rows of W
    rank: int | None  # of W; None where it was not computed: too large, or large and not semidefinite
    law: Law
    existence: Existence

    @property
    def worst(self) -> int | None:
        """The contact with the largest share of the residual; None without contacts."""
        return int(np.argmax(self.shares)) if self.shares.size else None

    @property
    def undetermined(self) -> int | None:
        """How many independent combinations of impulses move nothing."""
        return None if self.rank is None else self.size - self.rank

    @checked(state=instance(State))
    def count(self, state: State) -> int:
        return int((self.states == state).sum())

    def __str__(self) -> str:
        return " ".join(
            [outcome(self), worst_contact(self), all_states(self), uniqueness(self), verdict(self), remedy(self)]
        )


def diagnose(solution: Solution) -> Diagnosis:
    """What can be said of a solution of a ConeProblem."""
    problem = solution.problem
    if not isinstance(problem, ConeProblem):
        raise InputError(f"explain: the problem is {problem!r}, expected a ConeProblem")
    return Diagnosis(
        solved=solution.solved,
        residual=solution.residual,
        tol=solution.solver.tol,
        shares=contact_residuals(problem, solution.x, solution.y),
        states=contact_states(problem, solution.x, solution.y),
        size=problem.size,
        rank=delassus_rank(problem),
        law=problem.law,
        existence=cone_existence(problem),
    )


def delassus_rank(problem: ConeProblem) -> int | None:
    """The rank of W to RANK, or to the digits it has; None where it is not computed."""
    if problem.size > DENSE and problem.bodies is not None:
        H = problem.bodies.H
        return inertia_rank(sparse.csr_array(H @ H.T), RANK)
    lost = negative_share(problem.W) if problem.size <= LARGEST else np.inf
    smallest = lost if ROUNDING < lost < np.inf else RANK
    if problem.size <= DENSE:
        values = np.linalg.eigvalsh(unit_diagonal(problem.W).toarray())
        return int((np.abs(values) > smallest).sum())
    return inertia_rank(problem.W, smallest) if lost < np.inf else None


def inertia_rank(matrix: Matrix, smallest: float) -> int | None:
    """The number of eigenvalues of a semidefinite matrix above `smallest`, by the pivots of S - smallest I."""
    n = matrix.shape[0]
    if n > LARGEST:
        return None
    factor = ldl(sparse.csr_array(unit_diagonal(matrix) - smallest * sparse.eye_array(n)))
    return None if factor is None else int((factor.qdldl.factors()[1] > 0).sum())


# in words


def outcome(found: Diagnosis) -> str:
    if found.residual <= found.tol and not found.solved:
        return (
            f"Not solved: the residual is {found.residual:.1e}, at most {found.tol:.0e}, but only because the impulses "
            "are huge; the velocities are wrong."
        )
    ended, compared = ("Solved", "at most") if found.solved else ("Not solved", "above")
    return f"{ended}: the residual is {found.residual:.1e}, {compared} {found.tol:.0e}."


def worst_contact(found: Diagnosis) -> str:
    if found.worst is None:
        return "There are no contacts."
    doing = {State.OPEN: "is open", State.STICK: "sticks", State.SLIP: "slips"}[State(found.states[found.worst])]
    return f"The worst contact is {found.worst} (it {doing}, its residual is {found.shares[found.worst]:.1e})."


def all_states(found: Diagnosis) -> str:
    if not np.isfinite(found.residual):
        return "Impulses or velocities are not finite, so open, stick and slip mean nothing."
    counts = [found.count(state) for state in State]
    return "Of {} contacts {} are open, {} stick and {} slip.".format(found.states.size, *counts)


def uniqueness(found: Diagnosis) -> str:
    if found.rank is None:
        return f"The rank of W ({found.size} rows) was not computed."
    if found.undetermined == 0:
        return f"W has full rank {found.rank}."
    known = (
        "velocities are determined" if found.law == "associated" else "under Coulomb's law velocities may differ too"
    )
    return (
        f"W has rank {found.rank} of {found.size}: {found.undetermined} combinations of impulses move nothing, so "
        f"impulses need not be unique ({known})."
    )


def verdict(found: Diagnosis) -> str:
    known = "A solution exists" if found.existence.guaranteed else "A solution is not guaranteed"
    return f"{known}: {found.existence.reason}."


def remedy(found: Diagnosis) -> str:
    if found.solved and found.undetermined:
        return "Compare velocities rather than impulses with another solution."
    if found.solved:
        return "Nothing needs to be done."
    if found.existence.refuted:
        return "Look at the data of the contacts named: no method can solve this."
    if not found.existence.guaranteed:
        return "Look at the contacts named, or at the gaps behind w; a small w > 0 in their normals frees a grip."
    return "Try method='auto', raise max_iter, or pass x0 from a similar problem; look first at the worst contact."
