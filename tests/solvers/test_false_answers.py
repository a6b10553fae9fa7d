"""Nothing false: random problems of all scales, degenerate, singular and contradictory, against plain arithmetic.

An answer called solved has the documented residual in float64 and in long double, summed in another order than the
package sums. A problem said to have no solution has none among all choices of what is zero, tried one by one. Problems
are plain NumPy; nothing of the package makes or judges them.
"""

import itertools

import numpy as np
import pytest
from scipy import sparse

import stickslip as ss

COUNT = 2200
SIZES = (0, 1, 2, 3, 4, 5, 6, 8, 12, 20, 40)
CHOICES = 7000  # of what is zero, that are tried one by one
METHODS = [
    ss.Auto(),
    ss.Lemke(refactor=7),
    ss.Murty(max_iter=300),
    ss.JudicePires(max_iter=60),
    ss.PGS(max_iter=200),
    ss.SemismoothNewton(max_iter=60),
    ss.SemismoothNewton(function="min", max_iter=60),
    ss.InteriorPoint(max_iter=60),
]


def matrix(rng, n):
    A = rng.standard_normal((n, n))
    match rng.integers(8):
        case 0:
            M = A
        case 1:
            M = A @ A.T
        case 2:
            M = A[:, : n // 2] @ A[:, : n // 2].T
        case 3:
            M = A - A.T
        case 4:
            M = np.round(2 * A)
        case 5:
            M = A @ A.T + A - A.T
        case 6:
            M = np.abs(np.round(A))
        case _:
            M = np.tril(A, -1) + np.eye(n)
    return M * (rng.random((n, n)) < 0.4) if rng.random() < 0.3 else M


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice(SIZES))
    M, q = matrix(rng, n), rng.standard_normal(n)
    kind = rng.random()
    q = np.round(q) if kind < 0.2 else np.abs(q) if kind < 0.3 else 0 * q if kind < 0.4 else q
    if rng.random() < 0.5:
        M, q = M * 10.0 ** rng.uniform(-12, 12), q * 10.0 ** rng.uniform(-12, 12)
    if rng.random() < 0.3:
        row, column = 10.0 ** rng.uniform(-6, 6, n), 10.0 ** rng.uniform(-6, 6, n)
        M, q = M * row[:, None] * (row if rng.random() < 0.5 else column), q * row
    if rng.random() < 0.5:
        return ss.LCP(M, q)
    bounds = np.array([row_bounds(rng) for _ in range(n)]).reshape(n, 2)
    return ss.MixedLCP(M, q, bounds[:, 0], bounds[:, 1])


def row_bounds(rng):
    a, b = np.sort(rng.standard_normal(2))
    return [(0, np.inf), (-np.inf, np.inf), (-np.inf, 0), (a, b), (a, a), (0, 0), (a, np.inf)][rng.integers(7)]


def plain_residual(problem, z, number):
    """|z - P(z - w)| / |q|, or over 1 + |q|: as the documentation has it, w where it lies between the bounds."""
    M, q, lower, upper, z = (np.asarray(a, number) for a in (problem.M, problem.q, problem.lower, problem.upper, z))
    w = (M * z)[:, ::-1].sum(axis=1) + q
    off = np.minimum(np.maximum(w, z - upper), z - lower)
    bounds = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    scale = length(q) + (1 if bounds.any() else 0)
    return float(length(off) / scale if scale > np.finfo(float).eps else length(off))


def length(x):
    largest = np.abs(x).max(initial=0)
    return largest * np.sqrt(((x / largest) ** 2).sum()) if largest > 0 else largest


def solution_by_trying(problem):
    """A z with a residual of 1e-10, found by trying every choice of which rows are at a bound; None where none has."""
    lower, upper = problem.lower, problem.upper
    places = [
        [at for at, there in ((0, lo > -np.inf), (1, lo < up < np.inf), (2, lo < up)) if there]
        for lo, up in zip(lower, upper, strict=True)
    ]
    if np.prod([len(each) for each in places], dtype=float) > CHOICES:
        return None
    for choice in itertools.product(*places):
        z = np.select([np.array(choice) == 0, np.array(choice) == 1], [lower, upper], 0.0)
        inside = np.array(choice, int) == 2
        block, right = problem.M[np.ix_(inside, inside)], -(problem.q + problem.M @ z)[inside]
        z[inside] = np.linalg.lstsq(block, right, rcond=None)[0]
        z = np.clip(z, lower, upper)
        if plain_residual(problem, z, np.longdouble) <= 1e-10:
            return z
    return None


def says_there_is_none(answer):
    return answer.status is ss.Status.NO_SOLUTION or (answer.certificate is not None and answer.certificate.infeasible)


@pytest.mark.parametrize("part", range(8))
def test_nothing_false(part, share):
    for seed in share(COUNT // 8):
        problem = random_problem([part, seed])
        refuted = False
        for method in METHODS:
            try:
                answer = method.solve(problem)
            except ss.InputError:
                assert isinstance(method, ss.PGS)  # which wants a positive diagonal
                continue
            refuted = refuted or says_there_is_none(answer)
            if answer.solved:
                errors = [plain_residual(problem, answer.x, number) for number in (np.float64, np.longdouble)]
                assert max(errors) <= answer.solver.tol, (part, seed, method, errors, answer.residual)
        if refuted:
            assert solution_by_trying(problem) is None, (part, seed)


def test_a_sum_that_cancels_is_not_called_solved():
    """w = 1e16 z_1 - 1e16 z_2 + q: no z of size one makes it known to 1e-10."""
    problem = ss.MixedLCP([[0.0, 0.0], [1e16, -1e16]], [0.0, -1.0], [1.0, 0.0], [1.0, np.inf])
    answer = ss.solve(problem, "lemke")
    assert not answer.solved or plain_residual(problem, answer.x, np.longdouble) <= 1e-10


def test_the_caller_may_use_his_arrays_again():
    M, q, W = 2 * np.eye(3), -np.ones(3), np.eye(3)
    S = sparse.csr_array(2 * np.eye(3))
    problems = ss.LCP(M, q), ss.LCP(S, q), ss.MixedLCP(M, q, [0] * 3, [1] * 3), ss.ConeProblem(W, q, [0.5])
    before = [ss.solve(problem).require().x.copy() for problem in problems]
    M[:], q[:], W[:], S.data[:] = 7.0, 9.0, 5.0, 3.0
    for problem, x in zip(problems, before, strict=True):
        answer = ss.solve(problem).require()
        np.testing.assert_array_equal(answer.x, x)
        assert ss.residual(problem, x) <= answer.solver.tol


@pytest.mark.parametrize("problem", [ss.LCP([[2.0]], [-1.0]), ss.ConeProblem(np.eye(3), [-1.0, 0.2, 0.0], [0.5])])
def test_an_answer_stays_what_was_judged(problem):
    answer = ss.solve(problem)
    for array in (answer.x, answer.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0
    assert ss.solve(problem, x0=answer.x).solved


def test_a_row_that_is_wrong_for_its_own_size_is_named():
    """The residual is 1e-12, and the second row is wrong by all it has."""
    problem = ss.LCP(np.diag([1.0, 1e-12]), [-1.0, -1e-12])
    answer = ss.PGS(tol=1e-10, max_iter=1).solve(problem, x0=np.zeros(2))
    lazy = ss.Solution(np.array([1.0, 0.0]), problem.value(np.array([1.0, 0.0])), answer.status, 1e-12, 1, 0.0,
                       answer.solver, problem)  # fmt: skip
    assert lazy.worst == (1, 1.0)
    assert ss.solve(problem).worst[1] < 1e-12


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("index", [-1, 3, 2**30])
def test_indices_outside_of_a_sparse_matrix_are_refused(form, index):
    S = sparse.eye_array(3).asformat(form)
    (S.coords[0] if form == "coo" else S.indices)[1] = index
    with pytest.raises(ss.InputError, match="expected indices within"):
        ss.LCP(S, -np.ones(3))
    if form != "coo":
        T = sparse.eye_array(3).asformat(form)
        T.indptr[-1] = 9
        with pytest.raises(ss.InputError, match="expected them to rise"):
            ss.LCP(T, -np.ones(3))


def test_a_wrong_flag_of_scipy_is_not_believed():
    S = sparse.csr_array((np.array([1.0, 1.0, 2.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    S.has_canonical_format = True
    np.testing.assert_array_equal(ss.LCP(S, [0.0, 0.0]).M.toarray(), [[0.0, 2.0], [2.0, 0.0]])
