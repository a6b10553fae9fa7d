"""Factors of square matrices: they solve, they say when they cannot, and scaling does not fool them."""

import numpy as np
import pytest
from scipy import sparse

from stickslip.solvers.linear import (
    LDL,
    LU,
    SINGULAR,
    Cholesky,
    DenseShifted,
    SignedShifted,
    SparseLU,
    SparseShifted,
    factorise,
    shifted,
    symmetrising_signs,
)

RNG = np.random.default_rng(2)


def chain(n):
    """Springs in a row: sparse, symmetric, positive definite."""
    return sparse.diags_array([-np.ones(n - 1), np.full(n, 2.5), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()


def drifting_chain(n):
    """The same with a drift: not symmetric."""
    return sparse.diags_array([-np.ones(n - 1), np.full(n, 2.5), np.full(n - 1, -0.5)], offsets=[-1, 0, 1]).tocsr()


def bodies_and_contacts(n):
    """[[A, -H], [Hᵀ, 0]]: a chain of bodies, a contact between neighbours."""
    H = sparse.diags_array([np.ones(n - 1), -np.ones(n - 1)], offsets=[0, -1], shape=(n, n - 1))
    return sparse.block_array([[chain(n), -H], [H.T, None]]).tocsr()


CASES = [
    (chain(9).toarray(), True, Cholesky),
    (chain(9), True, Cholesky),
    (drifting_chain(9).toarray(), False, LU),
    (drifting_chain(9), False, LU),
    (chain(200), True, LDL),
    (drifting_chain(200), False, SparseLU),
    (np.zeros((0, 0)), False, LU),
]


@pytest.mark.core
@pytest.mark.parametrize(("A", "definite", "kind"), CASES)
def test_factors_solve(A, definite, kind):
    n = A.shape[0]
    factor = factorise(A, definite)
    assert isinstance(factor, kind)
    x, X = RNG.normal(size=n), RNG.normal(size=(n, 3))
    np.testing.assert_allclose(factor.solve(A @ x), x, atol=1e-12)
    np.testing.assert_allclose(factor.solve(A @ X), X, atol=1e-12)


@pytest.mark.core
@pytest.mark.parametrize("definite", [True, False])
def test_weakest_pivot_by_hand(definite):
    # [[2, 1], [1, 2]]: the second pivot is 2 - 1/2, three quarters of 2
    assert factorise(np.array([[2.0, 1.0], [1.0, 2.0]]), definite).weakest_pivot() == pytest.approx(0.75)


def test_weakest_pivot_of_a_sparse_matrix():
    # the pivots of the chain tend to d = 2.5 - 1/d = 2, which is 4/5 of 2.5; elimination order does not matter much
    for factor in (factorise(chain(200), True), factorise(chain(200))):
        assert 0.6 <= factor.weakest_pivot() <= 0.8 + 1e-9


@pytest.mark.core
@pytest.mark.parametrize("A", [np.ones((3, 3)), np.zeros((2, 2)), np.diag([1.0, 0.0])])
@pytest.mark.parametrize("definite", [True, False])
def test_singular_matrices(A, definite):
    factor = factorise(A, definite)
    assert factor is None or factor.weakest_pivot() <= SINGULAR


def test_singular_sparse_matrices():
    n = 200
    path = sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1]).tolil()
    path[0, 0] = path[n - 1, n - 1] = 1.0  # the chain with both ends loose: constants are its null space
    for definite in (True, False):
        factor = factorise(path.tocsr(), definite)
        assert factor is None or factor.weakest_pivot() <= SINGULAR


@pytest.mark.parametrize("n", [3, 30, 100])
def test_rank_deficient_and_scaled_is_singular_but_scaled_alone_is_not(n):
    for _ in range(5):
        B, s = RNG.normal(size=(n, n - 1)), 10.0 ** RNG.uniform(-6, 6, n)
        for definite in (True, False):
            factor = factorise(s[:, None] * (B @ B.T) * s, definite)
            assert factor is None or factor.weakest_pivot() <= SINGULAR
            factor = factorise(s[:, None] * (B @ B.T + np.eye(n)) * s, definite)
            assert factor.weakest_pivot() > 1e-6


@pytest.mark.core
def test_signs_that_make_a_matrix_symmetric():
    np.testing.assert_array_equal(symmetrising_signs(chain(5)), np.ones(5))
    signs = symmetrising_signs(bodies_and_contacts(4))
    np.testing.assert_array_equal(signs * signs[0], [1, 1, 1, 1, -1, -1, -1])
    assert symmetrising_signs(drifting_chain(5)) is None
    # 0 = 1, 1 = 2, 2 = -0: no signs do
    frustrated = sparse.csr_array([[1.0, 2, 3], [2, 1, 2], [-3, 2, 1]])
    assert symmetrising_signs(frustrated) is None


@pytest.mark.core
@pytest.mark.parametrize(
    ("M", "kind"),
    [
        (chain(12).toarray(), DenseShifted),
        (drifting_chain(12), DenseShifted),
        (chain(200), SignedShifted),
        (chain(200).toarray(), SignedShifted),
        (drifting_chain(200), SparseShifted),
        (bodies_and_contacts(100), SignedShifted),
    ],
)
def test_one_matrix_many_diagonals(M, kind):
    system, n = shifted(M), M.shape[0]
    assert isinstance(system, kind)
    for decades in (1, 6):
        d, x = 10.0 ** RNG.uniform(-decades, decades, n), RNG.normal(size=n)
        factor = system.factorise(d)
        b = M @ x + d * x
        found = factor.solve(b)
        found += factor.solve(b - M @ found - d * found)
        np.testing.assert_allclose(found, x, rtol=1e-9, atol=1e-9)


def test_quasidefinite_factors_give_way_to_pivoting():
    # no mass and no compliance on the diagonal: LDLᵀ without pivoting has nothing to start from
    n = 80
    H = sparse.csr_array(np.tril(np.triu(RNG.normal(size=(n, n)), -2)) + 3 * np.eye(n))
    M = sparse.block_array([[None, -H], [H.T, None]]).tocsr()
    system, x = shifted(M), RNG.normal(size=2 * n)
    assert isinstance(system, SignedShifted)
    assert isinstance(system.refactorise(np.ones(2 * n)).factor, LDL)
    factor = system.factorise(np.zeros(2 * n))
    assert isinstance(factor.factor, SparseLU)
    np.testing.assert_allclose(factor.solve(M @ x), x, atol=1e-9)


@pytest.mark.core
def test_an_exactly_singular_sum_has_no_factor():
    assert shifted(np.zeros((2, 2))).factorise(np.array([1.0, 0.0])) is None


@pytest.mark.core
def test_a_pivot_that_is_not_a_number_is_weak():
    factors = np.asfortranarray([[1.0, 2.0, 3.0], [0.1, np.nan, 1.0], [0.1, 0.1, 1.0]])
    assert LU(factors, np.arange(3, dtype=np.int32)).weakest_pivot() == 0.0
