"""Nothing false under friction: random and badly scaled problems, against plain arithmetic (attack_friction.py)."""

import numpy as np
import pytest
from attack import Tally
from attack_friction import attack, own_errors, random_cone

import stickslip as ss

COUNT = 240
FALSE = ("false", "crash", "slow", "wrong for its own speeds")


@pytest.mark.parametrize("part", range(4))
def test_nothing_false(part, share):
    tally = Tally()
    with np.errstate(all="ignore"):
        for seed in share(COUNT // 4):
            attack([100 + part, seed], tally, share=0.3)
    assert not [each for each in tally.found if each[0] in FALSE]
    assert tally.counts["exists, not found"] <= tally.solves // 100


def test_the_worst_contact_is_told_by_its_own_speeds():
    """The second contact is a millionth as heavy and as fast, and wrong by all it has."""
    problem = ss.ConeProblem(np.diag([1.0, 1.0, 1.0, 1e6, 1e6, 1e6]), [-1.0, 0, 0, -1e-6, 0, 0], [0.5, 0.5])
    lazy = np.array([1.0, 0, 0, 0, 0, 0])
    answer = ss.solve(problem)
    told = ss.Solution(lazy, problem.value(lazy), answer.status, 1e-6, 1, 0.0, answer.solver, problem)
    assert told.worst == (1, 1.0)
    assert answer.require().worst[1] < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_contact_is_what_plain_arithmetic_says(seed):
    problem = random_cone(np.random.default_rng([7, seed]))
    r = np.random.default_rng(seed).standard_normal(problem.size)
    cylinder = ss.CylinderProblem(problem.W, problem.q, np.full(problem.contacts, 0.5))
    solver = ss.NSGS()
    for each in (problem, cylinder):
        told = ss.Solution(r, each.value(r), ss.Status.MAX_ITER, 1.0, 1, 0.0, solver, each)
        found = own_errors(each, r)
        assert told.worst[0] == np.argmax(found)
        assert told.worst[1] == pytest.approx(found.max(), rel=1e-9)


def test_a_limit_surface_has_a_worst_contact():
    problem = ss.LimitSurfaceProblem(np.eye(8), [-1.0, 0.3, 0, 0.1] * 2, [0.5] * 2, [[1.0, 1.0, 0.1]] * 2)
    answer = ss.solve(problem).require()
    assert answer.worst[1] < 1e-6
    wrong = answer.x.copy()
    wrong[4] += 1.0
    told = ss.Solution(wrong, problem.value(wrong), answer.status, 1.0, 1, 0.0, answer.solver, problem)
    assert told.worst[0] == 1
    assert told.worst[1] > 0.1
