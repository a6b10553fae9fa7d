"""The block LU factorisation against dense linear algebra, on graphs of every kind."""

import numpy as np
import pytest

from stickslip.problems.blocks import contact_blocks
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.solvers.block_lu import MOST_UPDATES, analyse, blank, factorise, invert, scatter, solve

pytestmark = pytest.mark.core


def pairs(kind, n, rng):
    """Which contacts share a body."""
    match kind:
        case "none":
            return []
        case "chain":
            return [(i, i + 1) for i in range(n - 1)]
        case "star":
            return [(0, i) for i in range(1, n)]
        case "all":
            return [(i, j) for i in range(n) for j in range(i)]
        case "random":
            return [(i, j) for i in range(n) for j in range(i) if rng.random() < 3 / n]
    raise AssertionError(kind)


def matrix(kind, n, d, seed, one_way=False):
    """Unsymmetric, with blocks where contacts share a body, and its diagonal dominant enough to need no pivoting."""
    rng = np.random.default_rng(seed)
    W = np.zeros((d * n, d * n))
    for i in range(n):
        W[d * i : d * i + d, d * i : d * i + d] = rng.normal(size=(d, d))
    for i, j in pairs(kind, n, rng):
        W[d * i : d * i + d, d * j : d * j + d] = rng.normal(size=(d, d))
        if not one_way:
            W[d * j : d * j + d, d * i : d * i + d] = rng.normal(size=(d, d))
    return W + 4 * d * np.sqrt(n) * np.eye(d * n)


def solved(W, d, b, scale=None, rigid=None):
    """x with (S W S) x = b by the block factorisation; b and x have three components a contact."""
    n = W.shape[0] // d
    blocks = contact_blocks(W, d)
    pattern = analyse(blocks, MOST_UPDATES)
    A = blank(pattern)
    scatter(pattern, blocks, np.ones(n) if scale is None else scale, np.zeros(n, bool) if rigid is None else rigid, A)
    assert factorise(pattern, A)
    x = b.copy()
    solve(pattern, A, x)
    return x


@pytest.mark.parametrize("kind", ["none", "chain", "star", "all", "random"])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 7, 70])
def test_agrees_with_dense_linear_algebra(kind, d, n):
    W = matrix(kind, n, d, seed=n + d)
    b = np.zeros((n, 3))
    b[:, :d] = np.random.default_rng(0).normal(size=(n, d))
    expected = np.linalg.solve(W, b[:, :d].ravel()).reshape(n, d)
    np.testing.assert_allclose(solved(W, d, b)[:, :d], expected, rtol=1e-10, atol=1e-12)


def test_blocks_that_are_there_one_way_only():
    W = matrix("random", 30, 3, seed=5, one_way=True)
    b = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(solved(W, 3, b).ravel(), np.linalg.solve(W, b.ravel()), rtol=1e-10, atol=1e-12)


def test_scales_and_contacts_without_tangents():
    n, rng = 12, np.random.default_rng(3)
    W, b = matrix("random", n, 3, seed=1), rng.normal(size=(n, 3))
    scale, rigid = rng.uniform(0.5, 2.0, n), rng.random(n) < 0.5
    A = W * np.repeat(scale, 3) * np.repeat(scale, 3)[:, None]
    tangents = np.flatnonzero(np.repeat(rigid, 3) & (np.arange(3 * n) % 3 > 0))
    A[tangents], A[:, tangents] = 0.0, 0.0
    A[tangents, tangents] = 1.0
    np.testing.assert_allclose(solved(W, 3, b, scale, rigid).ravel(), np.linalg.solve(A, b.ravel()), rtol=1e-9)


@pytest.mark.parametrize("problem", [sphere_pile(4), box_stack(10)], ids=["pile", "stack"])
def test_mechanical_patterns(problem):
    n = problem.contacts
    W = problem.W.toarray() + np.eye(problem.size)
    b = np.random.default_rng(1).normal(size=(n, 3))
    np.testing.assert_allclose(solved(W, 3, b).ravel(), np.linalg.solve(W, b.ravel()), rtol=1e-8, atol=1e-10)


def test_the_order_of_a_chain_fills_nothing():
    pattern = analyse(contact_blocks(matrix("chain", 200, 3, 0), 3), MOST_UPDATES)
    assert pattern.row.size == 199
    assert pattern.target.size == 0
    assert sorted(pattern.order) == list(range(200))


def test_too_large_a_pattern_is_refused():
    pattern = analyse(contact_blocks(matrix("all", 30, 3, 0), 3), 100)
    assert pattern.start.size == 0


def test_singular_and_infinite_blocks_are_refused():
    for block in (np.zeros(9), np.full(9, np.nan), np.array([1.0, 2, 3, 2, 4, 6, 1, 1, 1])):
        D = block[None].copy()
        assert not invert(D, np.uint32(0))


def test_the_inverse_of_a_block_keeps_its_smallest_eigenvalue():
    w = np.array([0.8, 0.6, 0.0])  # eigenvalues 1e12 along w and 1 across: cofactors would lose the ones
    M = 1e12 * np.outer(w, w) + np.eye(3)
    D = M.reshape(1, 9).copy()
    assert invert(D, np.uint32(0))
    across = np.array([-0.6, 0.8, 0.0])
    np.testing.assert_allclose(D.reshape(3, 3) @ across, across, rtol=1e-3)
    np.testing.assert_allclose(D.reshape(3, 3)[2, 2], 1.0, rtol=1e-12)
