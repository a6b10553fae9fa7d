"""A thousand random problems of distributed contacts: no crash, and no answer called solved that is not.

What is called solved is looked at here in plain NumPy, by the conditions themselves and not by the natural map: normal
forces and accelerations are complementary, friction is in its set, and no point of the set does more work.
"""

import numpy as np
import pytest
from limit_surfaces import SETS, excess, reach

import stickslip as ss

TOL = 1e-8
BATCHES, EACH = 10, 100
SOLVABLE = 0.95  # share of the problems with a guaranteed solution that `auto` must solve


def random_problem(random, name):
    """Few or many bodies, point and distributed contacts, sliding ones, no friction and a lot, singular A."""
    nc = int(random.integers(1, 7))
    J = random.normal(size=(int(random.integers(2, 4 * nc + 4)), 4 * nc))
    if random.random() < 0.2:
        J[:, 4:8] = -J[:, :4] if nc > 1 else 0.0  # contacts that press at each other
    scale = 10 ** random.uniform(-3, 3)
    A = J.T @ J * scale
    b = J.T @ random.normal(size=len(J)) * scale * 10 ** random.uniform(-2, 2)
    if random.random() < 0.3:
        b += random.normal(size=4 * nc) * np.abs(b).max()
    e = np.column_stack([random.uniform(0.2, 2, (nc, 2)), 10 ** random.uniform(-3, 1, nc)])
    e[random.random(nc) < 0.3, 2] = 0.0
    slip = random.normal(size=(nc, 3)) * (random.random((nc, 1)) < 0.2)
    mu = random.choice([0.0, 0.1, 0.5, 1.0, 3.0], nc)
    return ss.LimitSurfaceProblem(A, b, mu, e, slip, SETS[name])


def check(problem, name, answer):
    """Violations are at most TOL of the largest of |x|, |y|, |q|, and products of that with what they multiply."""
    e = problem.e
    c, a = answer.x.reshape(-1, 4), (problem.A @ answer.x + problem.b).reshape(-1, 4)
    s = np.divide(c[:, 1:], e, out=np.zeros_like(e), where=e > 0)
    tau = e * a[:, 1:]
    free = problem.b.reshape(-1, 4) * np.column_stack([np.ones(len(e)), e])
    size = max(np.linalg.norm(np.column_stack([c[:, 0], s])), np.linalg.norm(np.column_stack([a[:, 0], tau])))
    small = 1.1 * TOL * max(size, np.linalg.norm(free))
    assert not c[:, 1:][e == 0].any()
    assert (np.abs(np.minimum(c[:, 0], a[:, 0])) <= small).all()
    for i in range(len(e)):
        bound = problem.mu[i] * max(c[i, 0], 0.0)
        assert excess(name, s[i]) <= bound + 3 * small
        way = e[i] * problem.slip[i]
        if way.any():
            way = bound * way / np.linalg.norm(way)
        else:
            way = tau[i]
        if (e[i] > 0).all():
            lost = bound * reach(name, -way) + way @ s[i]
            assert lost <= 3 * small * (np.linalg.norm(way) + 2 * bound + small)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_crash_and_nothing_false(batch):
    random = np.random.default_rng(batch)
    promised = kept = 0
    for number in range(EACH):
        name = list(SETS)[number % 5] if number % 2 else "ellipsoid"
        problem = random_problem(random, name)
        answer = ss.solve(problem, tol=TOL)
        assert np.isfinite(answer.residual) or not answer.solved
        if answer.solved:
            check(problem, name, answer)
        if number % 4 == 0 and ss.existence(problem).guaranteed:
            promised += 1
            kept += answer.solved
    assert kept >= SOLVABLE * promised


@pytest.mark.core
def test_a_few_of_them_with_every_method():
    random = np.random.default_rng(99)
    for _ in range(10):
        problem = random_problem(random, "ellipsoid")
        for method in ("limit_surface_gauss_seidel", "limit_surface_newton", "potential_reduction"):
            solver = ss.solve(problem, method, tol=1e-6)
            assert solver.residual == ss.residual(problem, solver.x)
