"""Scaling loses nothing: powers of two, there and back, the same residual bit for bit."""

import numpy as np
import pytest
from known_answers import diagonal_bounds, random_known, string_under_a_ceiling

from stickslip.problems.matrix import as_dense
from stickslip.problems.residual import residual
from stickslip.solvers.scaling import equilibrate, scaled

PROBLEMS = [diagonal_bounds().problem, string_under_a_ceiling().problem, random_known("scaled", 12, 0).problem]


@pytest.mark.core
@pytest.mark.parametrize("problem", PROBLEMS)
def test_there_and_back(problem):
    box = scaled(problem)
    assert (np.frexp(box.unit)[0] == 0.5).all()  # powers of two
    x = np.random.default_rng(0).normal(size=problem.size)
    if hasattr(problem, "lower"):
        x = np.where(problem.lower == problem.upper, problem.lower, x)
    z = box.inside(x)
    w = box.M @ z + box.q
    np.testing.assert_array_equal(box.outside(z), x)
    np.testing.assert_allclose(box.dual_unit * w, problem.value(x)[box.rows], rtol=1e-13)
    assert box.residual(z, w) == pytest.approx(residual(problem, x), rel=1e-13)


@pytest.mark.core
def test_rows_and_columns_come_near_one():
    s = 10.0 ** np.linspace(-6, 6, 9)
    M = s[:, None] * (np.ones((9, 9)) + np.eye(9)) * s
    scale = equilibrate(M)
    largest = np.abs(as_dense(M) * scale * scale[:, None]).max(axis=1)
    assert (largest > 0.2).all()
    assert (largest < 5).all()


@pytest.mark.core
def test_empty_rows_keep_their_size():
    np.testing.assert_array_equal(equilibrate(np.diag([0.0, 4.0])), [1.0, 0.5])
