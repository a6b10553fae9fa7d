"""Two hundred well-posed and two hundred ill-posed friction problems: no crash, no answer called solved that is not.

Residuals are recomputed here in plain NumPy, independently of the package.
"""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problems.random_cones import ILL_POSED, WELL_POSED, random_cone

SEEDS = {**dict.fromkeys(WELL_POSED, 50), **dict.fromkeys(ILL_POSED, 25)}  # 4 and 8 kinds: 200 problems each
LARGEST = 40  # contacts

METHODS = ["auto", ss.NSGS(max_iter=1000)]  # one more method is one more entry

every_method = pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: method if isinstance(method, str) else type(method).__name__
)


def plain_residual(problem, r):
    """|r - P_K(r - ũ)| over the largest of |q|, |r|, |u|, contact by contact."""
    d = problem.dimension
    u = problem.W @ r + problem.q
    parts = []
    for mu, impulse, velocity in zip(problem.mu, r.reshape(-1, d), u.reshape(-1, d), strict=True):
        target = impulse - velocity
        if problem.law == "coulomb":
            target[0] -= mu * np.linalg.norm(velocity[1:])
        parts.append(impulse - nearest_in_cone(mu, target))
    return np.linalg.norm(parts) / scale_of(problem, r, u)


def scale_of(problem, r, u):
    scale = max(np.linalg.norm(problem.q), np.linalg.norm(r), np.linalg.norm(u))
    return scale if scale > np.finfo(float).eps else 1.0


def rounding(problem, r):
    """What another order of summation in u = W r + q and r - ũ may change: u is multiplied by up to 1 + μ."""
    terms = abs(problem.W) @ np.abs(r) + np.abs(problem.q)
    size = np.linalg.norm(terms) * (1 + problem.mu.max()) / scale_of(problem, r, problem.W @ r + problem.q)
    return 4 * np.finfo(float).eps * (1 + size)


def nearest_in_cone(mu, y):
    """The nearest point to y of {|r_t| <= μ r_n}: y, the tip, or the foot on the ray of the cone towards y_t."""
    tangent = np.linalg.norm(y[1:])
    if tangent <= mu * y[0]:
        return y
    ray = np.append(1.0, mu * y[1:] / tangent if tangent > 0 else y[1:])
    return max(ray @ y, 0.0) / (ray @ ray) * ray


def check(problem, answer, tol):
    assert answer.x.shape == (problem.size,)
    error = plain_residual(problem, answer.x) if np.isfinite(answer.x).all() else np.inf
    if answer.solved:
        assert error <= tol + rounding(problem, answer.x), f"called solved, but the residual is {error:.1e}"
    if np.isfinite(answer.residual):
        assert answer.residual == pytest.approx(error, rel=1e-9, abs=rounding(problem, answer.x))


def problem_of(kind, seed):
    """Contacts 1 to 40, planar and spatial in turn; every fifth under the associated law."""
    problem = random_cone(kind, 1 + (7 * seed) % LARGEST, seed, 2 + seed % 2)
    law = "associated" if seed % 5 == 4 else "coulomb"
    return ss.ConeProblem(problem.W, problem.q, problem.mu, problem.bodies, law)


@every_method
@pytest.mark.parametrize("kind", WELL_POSED)
def test_well_posed_problems(kind, method):
    unsolved = []
    for seed in range(SEEDS[kind]):
        problem = problem_of(kind, seed)
        answer = ss.solve(problem, method, tol=1e-8)
        check(problem, answer, 1e-8)
        if not answer.solved:
            unsolved.append((seed, problem, answer))
    if method == "auto":
        assert not unsolved


@every_method
@pytest.mark.parametrize("kind", ILL_POSED)
def test_ill_posed_problems(kind, method):
    for seed in range(SEEDS[kind]):
        problem = problem_of(kind, seed)
        check(problem, ss.solve(problem, method, tol=1e-8), 1e-8)


@pytest.mark.core
@every_method
@pytest.mark.parametrize("kind", SEEDS)
def test_a_few_small_ones(kind, method):
    for seed, contacts in enumerate((1, 2, 4)):
        problem = random_cone(kind, contacts, 100 + seed, 2 + seed % 2)
        answer = ss.solve(problem, method, tol=1e-8)
        check(problem, answer, 1e-8)
        if kind in WELL_POSED and method == "auto":
            assert answer.solved


def test_there_are_two_hundred_of_each():
    assert sum(SEEDS[kind] for kind in WELL_POSED) == 200
    assert sum(SEEDS[kind] for kind in ILL_POSED) == 200
