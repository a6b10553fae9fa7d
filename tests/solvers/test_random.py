"""Twenty thousand random problems, or a share of them: no crash, no answer called solved whose residual is not, every
solvable one solved.

Residuals are recomputed here in plain NumPy, independently of the package.
"""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problems.random_classes import KINDS, MIXED_KINDS, random_lcp, random_mixed

SEEDS, INDEFINITE_SEEDS = 1650, 300  # of 12 kinds and of the indefinite one, which is slow: 20,100 problems
LARGEST = 60  # rows

OTHERS = [
    ss.Lemke(refactor=7),
    ss.Murty(max_iter=500),
    ss.JudicePires(max_iter=60),
    ss.PGS(max_iter=300),
    ss.SemismoothNewton(max_iter=60),
    ss.SemismoothNewton(function="min", max_iter=60),
    ss.InteriorPoint(max_iter=60),
]

CASES = [(random_lcp, kind, promise) for kind, promise in KINDS.items()]
CASES += [(random_mixed, kind, promise) for kind, promise in MIXED_KINDS.items()]


def plain_residual(problem, z):
    """|z - P(z - w)| over |q|, or over 1 + |q| if a bound is finite and not zero."""
    lower = getattr(problem, "lower", np.zeros(problem.size))
    upper = getattr(problem, "upper", np.full(problem.size, np.inf))
    w = problem.M @ z + problem.q
    bounds = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    scale = np.linalg.norm(problem.q) + (1.0 if bounds.any() else 0.0)
    distance = np.linalg.norm(z - np.minimum(np.maximum(z - w, lower), upper))
    return distance / scale if scale > np.finfo(float).eps else distance


def run(solver, problem):
    """Solve and check; Gauss–Seidel refuses a diagonal that is not positive, and nothing else is ever refused."""
    movable = getattr(problem, "lower", np.zeros(problem.size)) < getattr(problem, "upper", np.inf)
    if isinstance(solver, ss.PGS) and not (problem.M.diagonal()[movable] > 0).all():
        with pytest.raises(ss.InputError, match="expected a positive diagonal"):
            solver.solve(problem)
    else:
        check(problem, solver.solve(problem))


def check(problem, answer):
    assert answer.x.shape == (problem.size,)
    if answer.solved:
        error = plain_residual(problem, answer.x)
        assert error <= answer.solver.tol * (1 + 1e-6) + 1e-15, f"called solved, but the residual is {error:.1e}"


@pytest.mark.parametrize(("make", "kind", "promise"), CASES, ids=[f"{m.__name__}-{k}" for m, k, _ in CASES])
def test_random_problems(make, kind, promise, share):
    unsolved = []
    for seed in share(INDEFINITE_SEEDS if kind == "indefinite" else SEEDS):
        problem = make(kind, 1 + seed % LARGEST, seed)
        answer = ss.solve(problem)
        check(problem, answer)
        run(OTHERS[(seed // LARGEST) % len(OTHERS)], problem)
        if promise.solvable and not answer.solved:
            unsolved.append((problem.size, seed, answer.status.name, answer.residual))
    assert not unsolved


@pytest.mark.core
@pytest.mark.parametrize(("make", "kind", "promise"), CASES, ids=[f"{m.__name__}-{k}" for m, k, _ in CASES])
def test_a_few_random_problems_by_every_method(make, kind, promise):
    for n in (1, 2, 5):
        problem = make(kind, n, 100 + n)
        for solver in OTHERS:
            run(solver, problem)
        if promise.solvable:
            assert ss.solve(problem).solved
