"""All solutions, against closed forms and against brute force over every choice of which constraint holds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import residual, surest_residual
from stickslip.solvers.enumeration import (
    Dictionary,
    Enumeration,
    Piece,
    Proof,
    Solutions,
    all_solutions,
    contradiction,
    piece_from,
    pivot,
    rebuild,
    sharper,
    standard_form,
)
from stickslip.solvers.solution import Status

INF = math.inf
CLOSE = 1e-6

# ---- known answers ----


def assert_points(found, expected):
    assert found.complete
    assert not found.continua
    assert not found.doubtful
    assert found.count == len(found) == len(expected)
    np.testing.assert_allclose(np.array(found.points), np.array(expected, dtype=float), atol=1e-12)


@pytest.mark.core
@pytest.mark.parametrize(
    ("a", "b", "forces"),
    [(2, -1, [0.5]), (2, 1, [0]), (2, 0, [0]), (-2, 1, [0, 0.5]), (-2, -1, []), (-2, 0, [0]), (0, -1, []), (0, 1, [0])],
)
def test_one_contact_has_none_one_or_two_solutions(a, b, forces):
    """Painlevé's scalar problem  u = a λ + b:  with a < 0 there are two solutions, or none."""
    assert_points(all_solutions(LCP([[a]], [b])), [[force] for force in forces])


@pytest.mark.core
def test_symmetric_pair_has_three_solutions():
    assert_points(all_solutions(LCP([[1, 2], [2, 1]], [-1, -1])), [[0, 1], [1 / 3, 1 / 3], [1, 0]])


@pytest.mark.core
@pytest.mark.parametrize("n", [1, 3, 8])
def test_zero_matrix_and_zero_q_are_solved_by_the_whole_orthant(n):
    found = all_solutions(LCP(np.zeros((n, n)), np.zeros(n)))
    (orthant,) = found.continua
    assert found.count == INF
    assert len(found) == 1
    assert not found.points
    assert orthant.dimension == n
    assert not orthant.bounded
    assert (orthant.point > 0).all()


@pytest.mark.core
def test_a_segment_of_solutions_and_its_ends():
    found = all_solutions(LCP(np.ones((2, 2)), [-1, -1]))
    (segment,) = found.continua
    assert segment.dimension == 1
    assert segment.bounded
    ends = sorted((segment.point + t * segment.directions[:, 0]).round(12).tolist() for t in segment.extent[0])
    assert ends == [[0, 1], [1, 0]]
    assert not found.points
    assert found.describe().startswith("infinitely many solutions: a segment from [")


@pytest.mark.core
def test_a_half_line_and_an_isolated_solution():
    """z_1 is free to grow where z_2 = 0 makes its row vanish; the other solution has w_1 = z_2 > 0."""
    problem = LCP([[0, 1], [0, -1]], [0, 1])
    found = all_solutions(problem)
    (half_line,) = found.continua
    np.testing.assert_allclose(half_line.directions, [[1], [0]], atol=1e-15)
    assert not half_line.bounded
    np.testing.assert_allclose(half_line.point[0] + half_line.extent[0], [0, INF], atol=1e-12)
    np.testing.assert_allclose(found.points, [[0, 1]], atol=1e-12)
    check_by_residual(problem, found)


@pytest.mark.core
def test_degenerate_solution_is_met_once():
    """z = 0 = w in all 12 pairs: 4096 bases give the same point, and a search that met them all would need as many."""
    A = np.random.default_rng(1).standard_normal((12, 12))
    assert_points(all_solutions(LCP(A @ A.T + np.eye(12), np.zeros(12)), max_nodes=500), [np.zeros(12)])


@pytest.mark.core
@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-13, 1e-12, 1e-11, 1e-10, 3e-10, 1e-9, 1e-8, 1e-6])
@pytest.mark.parametrize("sign", [1, -1])
def test_nearly_degenerate_solution_is_one(gap, sign):
    """A P-matrix, so one solution; w_2 or z_2 is as small as the gap, around every tolerance of the search."""
    found = all_solutions(LCP([[1, 1], [1, 2]], [-1, -1 + sign * gap]))
    assert found.complete
    assert found.count == 1
    np.testing.assert_allclose(found.points[0], [1, 0] if sign > 0 else [1 - gap, gap], rtol=0, atol=1e-9)


@pytest.mark.core
@pytest.mark.parametrize("gap", [1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9])
@pytest.mark.parametrize("stiffness", [1e-3, 1e-5, 1e-7])
def test_a_tiny_value_that_makes_the_solution_is_not_taken_for_zero(gap, stiffness):
    """A P-matrix, nearly singular: its solution has w_2 = gap, but w_2 = 0 would need z_2 = -gap / stiffness.

    Where the gap is next to rounding the solution may be missed, but then the search does not claim completeness.
    """
    found = all_solutions(LCP([[1, 1], [1, 1 + stiffness]], [-1, -1 + gap]))
    assert found.count == 1 or (gap < 1e-12 and not found.complete)
    for z in found.points:
        np.testing.assert_allclose(z, [1, 0], rtol=0, atol=1e-9)


@pytest.mark.core
@pytest.mark.parametrize(("q", "count"), [([-1, -1], INF), ([-1, -2], 0)])
def test_singular_equations_have_a_line_of_solutions_or_none(q, count):
    found = all_solutions(MixedLCP([[1, 1], [1, 1]], q, [-INF, -INF], [INF, INF]))
    assert found.complete
    assert found.count == count
    for line in found.continua:
        np.testing.assert_allclose(np.abs(line.directions.T), [[math.sqrt(0.5), math.sqrt(0.5)]], atol=1e-12)
        np.testing.assert_array_equal(line.extent, [[-INF, INF]])
        assert not line.bounded


@pytest.mark.core
@pytest.mark.parametrize(
    ("m", "q", "solutions"),
    [(-1, 0, [-1, 0, 1]), (1, 0, [0]), (1, -5, [1]), (1, 5, [-1]), (-1, 5, [-1]), (-2, 1, [-1, 0.5, 1])],
)
def test_one_row_with_two_bounds(m, q, solutions):
    assert_points(all_solutions(MixedLCP([[m]], [q], [-1], [1])), [[z] for z in solutions])


@pytest.mark.core
def test_box_friction_at_rest_on_both_bounds_is_a_segment():
    (segment,) = all_solutions(MixedLCP([[0]], [0], [-1], [3])).continua
    assert sorted(segment.point[0] + segment.extent[0] * segment.directions[0, 0]) == [-1, 3]
    assert segment.bounded


@pytest.mark.core
def test_fixed_free_and_mirrored_rows():
    """z_0 = 2 is given, w_1 = z_0 + z_1 + z_2 = 0 is an equation, z_2 <= 0 with w_2 = z_2 + 3 <= 0 at the bound."""
    M = [[0, 0, 0], [1, 1, 1], [0, 0, 1]]
    problem = MixedLCP(M, [5, 0, 3], [2, -INF, -INF], [2, INF, 0])
    assert_points(all_solutions(problem), [[2, 1, -3]])


@pytest.mark.core
def test_an_equation_without_its_own_variable_fixes_a_pair():
    """w_0 = z_1 - 1 = 0 holds for no z_0, but fixes z_1 = 1; then w_1 = z_0 + z_1 - 3 = 0 gives z_0 = 2."""
    assert_points(all_solutions(MixedLCP([[0, 1], [1, 1]], [-1, -3], [-INF, 0], [INF, INF])), [[2, 1]])


@pytest.mark.core
def test_identity_game_has_all_its_equilibria():
    """The k × k coordination game (payoff 1 for the same choice) has 2^k - 1 equilibria, one per set of choices."""
    k = 3
    cost = 2 - np.eye(k)
    found = all_solutions(LCP(np.block([[np.zeros((k, k)), cost], [cost, np.zeros((k, k))]]), -np.ones(2 * k)))
    assert found.count == 2**k - 1
    supports = {tuple(np.flatnonzero(z[:k] > 0)) for z in found.points}
    assert supports == {s for r in range(1, k + 1) for s in itertools.combinations(range(k), r)}


def test_decoupled_rows_multiply():
    """Ten times  w = 1 - z:  each z is 0 or 1, 1024 solutions in lexicographic order."""
    assert_points(all_solutions(LCP(-np.eye(10), np.ones(10))), list(itertools.product([0, 1], repeat=10)))


def test_legs_of_a_table_are_statically_indeterminate():
    """n legs on a circle carry the weight in n - 3 dimensions of ways, all legs down, each less than the weight."""
    n, weight = 25, 10.0
    angle = 2 * np.pi * np.arange(n) / n
    J = np.column_stack([np.ones(n), np.cos(angle), np.sin(angle)])
    problem = LCP(J @ J.T, -J @ [weight, 0.1 * weight, 0.0])
    found = all_solutions(problem)
    (forces,) = found.continua
    assert found.complete
    assert not found.points
    assert forces.dimension == n - 3
    assert forces.bounded
    np.testing.assert_allclose(J.T @ forces.point, [weight, 0.1 * weight, 0], atol=1e-9)
    np.testing.assert_allclose(J.T @ forces.directions, 0, atol=1e-9)
    np.testing.assert_allclose(problem.value(forces.point), 0, atol=1e-9)
    check_by_residual(problem, found)


def test_box_sliding_on_four_corners():
    """Coulomb friction with four directions a corner: one motion, and the forces beneath it are not determined."""
    mu, corners = 0.5, [(1, 1, -1), (1, -1, -1), (-1, 1, -1), (-1, -1, -1)]
    axes = [(0, 0, 1)], [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)]
    normal, tangent = (np.array([[*d, *np.cross(p, d)] for p in corners for d in some], float) for some in axes)
    J, E, v = np.vstack([normal, tangent]), np.kron(np.eye(4), np.ones((4, 1))), np.array([3.0, 0, -1, 0, 0, 0])
    M = np.zeros((24, 24))
    M[:20, :20] = J @ J.T
    M[4:20, 20:], M[20:, 4:20], M[20:, :4] = E, -E.T, mu * np.eye(4)
    problem = LCP(M, np.concatenate([J @ v, np.zeros(4)]))
    found = all_solutions(problem)
    assert found.complete
    assert found.continua
    assert not found.points
    check_by_residual(problem, found)
    for piece in found.continua:  # normal impulse 1, friction mu against the motion: v = (3 - mu, 0, 0)
        np.testing.assert_allclose(v + J.T @ piece.point[:20], [3 - mu, 0, 0, 0, 0, 0], atol=1e-9)
        np.testing.assert_allclose(J.T @ piece.directions[:20], 0, atol=1e-9)


# ---- laws ----


@pytest.mark.parametrize("n", [5, 12, 25])
def test_p_matrices_have_exactly_one_solution(n):
    for seed in range(10):
        problem = p_matrix(np.random.default_rng(seed), n)
        found = all_solutions(problem)
        assert found.complete
        assert found.count == 1
        check_by_residual(problem, found)


@pytest.mark.parametrize("n", [7, 25])
def test_skew_matrices_have_one_solution_or_a_segment(n):
    """A skew M is monotone: beside a solution with z + w > 0 there are only those along the kernel of M_αα, α its
    support, and a random skew matrix has a kernel, of dimension one, if its order is odd."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((n, n))
        problem = planted(rng, n, A - A.T)
        found = all_solutions(problem)
        assert found.complete
        assert not found.doubtful
        check_by_residual(problem, found)
        (z,) = [*found.points, *(segment.point for segment in found.continua)]
        assert sum(segment.dimension for segment in found.continua) == np.count_nonzero(z) % 2


@pytest.mark.parametrize("n", [6, 25])
def test_murtys_exponential_example(n):
    """Lower triangular P-matrix, on which Lemke and Murty need exponentially many pivots for some q; here q = -1."""
    M = np.eye(n) + 2 * np.tri(n, k=-1)
    assert_points(all_solutions(LCP(M, -np.ones(n))), [np.eye(n)[0]])
    assert_points(all_solutions(LCP(M @ M.T, -M @ (M.T @ np.eye(n)[0]))), [np.eye(n)[0]])


@pytest.mark.parametrize("n", [8, 16, 25])
def test_the_degree_does_not_depend_on_q(n):
    """Σ sign det M_αα over the solutions (α = support) is the same for every q, and 1 if M > 0 [CPS, ch. 6].

    A solution missed, or one too many, changes the sum by one. The planted solution must be in the list.
    """
    rng = np.random.default_rng(n)
    for trial in range(6):
        M = rng.random((n, n)) if trial % 2 else rng.standard_normal((n, n))
        degrees = set()
        for _ in range(4):
            problem = planted(rng, n, M)
            found = all_solutions(problem)
            assert found.complete
            assert not found.doubtful
            check_by_residual(problem, found)
            degrees.add(sum(int(np.sign(np.linalg.det(M[np.ix_(z > 0, z > 0)]))) for z in found.points))
        assert len(degrees) == 1
        if trial % 2:
            assert degrees == {1}


@pytest.mark.parametrize("make", ["positive_q", "integer", "low_rank", "sparse"])
def test_units_and_order_do_not_matter(make):
    """Each row and column in units of its own, 1e-8 to 1e8, and the pairs permuted: the same solutions.

    tol is wide since rounding in M z alone exceeds 1e-10 of |q| where the units of w differ so much.
    """
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = 1 + seed % 6
        problem = globals()[make](rng, n)
        row, column, order = 10 ** rng.uniform(-8, 8, n), 10 ** rng.uniform(-8, 8, n), rng.permutation(n)
        scaled = LCP((row[:, None] * problem.M * column)[np.ix_(order, order)], (row * problem.q)[order])
        plain, found = all_solutions(problem), all_solutions(scaled, tol=1e-4)
        assert found.complete
        assert not found.doubtful
        assert [piece.dimension for piece in found.continua] == [piece.dimension for piece in plain.continua]
        assert len(found.points) == len(plain.points)
        for z in plain.points:
            assert min(np.abs(z[order] - y * column[order]).max() for y in found.points) < 1e-8


@pytest.mark.core
def test_a_mixed_problem_with_zero_bounds_is_an_lcp():
    for seed in range(5):
        lcp = positive_q(np.random.default_rng(seed), 4)
        mixed_form = MixedLCP(lcp.M, lcp.q, np.zeros(4), np.full(4, INF))
        mirrored = MixedLCP(lcp.M, -lcp.q, np.full(4, -INF), np.zeros(4))
        one, two, three = all_solutions(lcp), all_solutions(mixed_form), all_solutions(mirrored)
        np.testing.assert_allclose(one.points, two.points, atol=1e-14)
        np.testing.assert_allclose(one.points, [-z for z in reversed(three.points)], atol=1e-14)


@pytest.mark.core
def test_sparse_matrices_are_the_same_problem():
    problem = LCP([[1, 2], [2, 1]], [-1, -1])
    assert_points(all_solutions(LCP(csr_array(problem.M), problem.q)), all_solutions(problem).points)


# ---- what it says ----


@pytest.mark.core
def test_says_that_the_search_was_cut_short():
    found = all_solutions(LCP(-np.eye(6), np.ones(6)), max_nodes=20)
    assert not found.complete
    assert 0 < found.count < 64
    assert found.nodes == 20
    assert "not completed" in repr(found)


@pytest.mark.core
def test_says_which_solutions_are_doubtful():
    """No residual in floating point is below 1e-30, unless it is zero: then nothing is claimed."""
    problem = planted(np.random.default_rng(0), 6)
    sure, strict = all_solutions(problem), all_solutions(problem, tol=1e-30)
    assert len(strict.points) + len(strict.doubtful) == len(sure.points)
    assert strict.doubtful
    assert all(residual(problem, z) == 0 for z in strict.points)
    assert "doubtful" in repr(strict)


@pytest.mark.core
def test_describes_itself():
    assert repr(all_solutions(LCP([[-1]], [-1]))) == "Solutions(no solution)"
    assert repr(all_solutions(LCP([[1]], [-1]))) == "Solutions(one isolated solution)"
    assert repr(all_solutions(LCP([[-1]], [1]))) == "Solutions(2 isolated solutions)"
    assert "a half-line from [0.]" in repr(all_solutions(LCP([[0]], [0])))
    assert "an unbounded polyhedron of dimension 2" in repr(all_solutions(LCP(np.zeros((2, 2)), [0, 0])))
    assert not all_solutions(LCP([[-1]], [-1]))


@pytest.mark.core
def test_no_rows_no_choice():
    assert_points(all_solutions(LCP(np.zeros((0, 0)), [])), [np.zeros(0)])


@pytest.mark.core
def test_refuses_what_it_cannot_enumerate():
    one = LCP([[1]], [-1])
    with pytest.raises(InputError, match=r"ConeProblem.*, expected an LCP, MixedLCP or LimitSurfaceProblem"):
        all_solutions(ConeProblem(np.eye(3), np.ones(3), [0.5]))
    with pytest.raises(InputError, match="401 complementary pairs, expected at most 400"):
        all_solutions(LCP(np.eye(401), np.ones(401)))
    with pytest.raises(InputError, match="tol is 0, expected a positive number"):
        all_solutions(one, tol=0)
    with pytest.raises(InputError, match="max_nodes is 0, expected a whole number of at least 1"):
        all_solutions(one, max_nodes=0)


@pytest.mark.core
@pytest.mark.parametrize(
    ("problem", "max_nodes", "status"),
    [
        (LCP([[1, 2], [2, 1]], [-1, -1]), 100, Status.SOLVED),
        (LCP(np.ones((2, 2)), [-1, -1]), 100, Status.SOLVED),
        (LCP([[-1]], [-1]), 100, Status.NO_SOLUTION),
        (LCP([[1, 2], [2, 1]], [-1, -1]), 1, Status.MAX_ITER),
    ],
)
def test_as_a_method_it_solves_or_shows_that_there_is_no_solution(problem, max_nodes, status):
    assert Enumeration(max_nodes=max_nodes).solve(problem).status is status


# ---- the dictionary ----


def proof_of(base, place):
    exact = np.zeros((base.shape[0], base.shape[1] + 1))
    return Proof(base, exact, place, np.full(1, INF), np.zeros(place.size), np.full(1, INF))


def random_dictionary(rng, m, k, pivots):
    base = rng.standard_normal((m, k + 1))
    place = np.concatenate([~np.arange(k), np.arange(m)])
    d = Dictionary(base.copy(), k + np.arange(m), np.arange(k), place.copy(), np.zeros(m + k, np.intp))
    for _ in range(pivots):
        r, c = np.unravel_index(np.argmax(np.abs(d.table[:, :k]) * rng.random((m, k))), (m, k))
        pivot(d, int(r), int(c))
    return d, proof_of(base, place)


def equation_errors(d, proof, rng):
    """How far points x_B = b + A x_N of the dictionary are from the equations it started from."""
    k = d.nonbasic.size
    x = np.empty(d.place.size)
    x[d.nonbasic] = rng.standard_normal(k)
    x[d.basic] = d.table[:, :k] @ x[d.nonbasic] + d.table[:, k]
    return np.abs(x[k:] - proof.table[:, :k] @ x[:k] - proof.table[:, k])


@pytest.mark.core
def test_pivots_keep_the_equations_and_rebuilding_removes_their_errors():
    rng = np.random.default_rng(5)
    for m, k in [(4, 6), (6, 4), (5, 5)]:
        d, proof = random_dictionary(rng, m, k, pivots=12)
        assert equation_errors(d, proof, rng).max() < 1e-9
        basis = set(d.basic.tolist())
        d.table[:] += 1e-4 * rng.standard_normal(d.table.shape)
        assert equation_errors(d, proof, rng).max() > 1e-5
        rebuild(d, proof)
        assert equation_errors(d, proof, rng).max() < 1e-9
        assert set(d.basic.tolist()) == basis
        assert d.place[d.basic].tolist() == list(range(m))
        assert (~d.place[d.nonbasic]).tolist() == list(range(k))


@pytest.mark.core
def test_a_contradiction_reaches_as_far_as_it_is_true():
    """x_1 = -1 + ε x_0  has no point x >= 0 with x_0 below 1/ε; errors in the dictionary do not count."""
    for ε, reach in [(1e-12, 1e12), (0.25, 4), (0, INF), (-1, INF)]:
        base, place = np.array([[ε, -1.0]]), np.array([-1, 0])
        d = Dictionary(np.array([[0.0, -2.0]]), np.array([1]), np.array([0]), place.copy(), np.zeros(2, np.intp))
        assert contradiction(d, proof_of(base, place), 0, 1.0) == pytest.approx(reach, rel=1e-2)


# ---- brute force: one square system A z = b for each choice, row by row, of z = lower, z = upper or w = 0 ----

AT_LOWER, AT_UPPER, INSIDE = 0, 1, 2


@dataclass(frozen=True)
class BruteForce:
    points: list  # isolated solutions
    pieces: list  # (A, b) of each choice with infinitely many solutions
    ends: list  # two points of each such piece, extreme in a random direction if it is bounded there
    dimensions: list  # of the maximal pieces, largest first


def bounds(problem):
    if isinstance(problem, LCP):
        return np.zeros(problem.size), np.full(problem.size, INF)
    return problem.lower, problem.upper


def choices(lower, upper):
    rows = []
    for low, high in zip(lower, upper, strict=True):
        if low == high:
            rows.append([AT_LOWER])
        else:
            rows.append([AT_LOWER] * bool(low > -INF) + [AT_UPPER] * bool(high < INF) + [INSIDE])
    return np.array(list(itertools.product(*rows)), dtype=int).reshape(-1, len(rows))


def brute_force(problem, *, with_dimensions=False):
    (lower, upper), n, M, q = bounds(problem), problem.size, problem.M, problem.q
    choice = choices(lower, upper)
    A = np.where((choice == INSIDE)[:, :, None], M, np.eye(n))
    b = np.where(choice == INSIDE, -q, np.where(choice == AT_LOWER, lower, upper))
    singular_values = np.linalg.svd(A, compute_uv=False)
    regular = singular_values[:, -1] > 1e-10 * singular_values[:, 0]
    points, pieces, ends, polyhedra = [], [], [], []
    z = np.linalg.solve(A[regular], b[regular][:, :, None])[:, :, 0]
    w, at = z @ M.T + q, choice[regular]
    moves = lower < upper
    good = (z >= lower - 1e-9) & (z <= upper + 1e-9)
    good &= ~(moves & (at == AT_LOWER)) | (w >= -1e-9)
    good &= ~(moves & (at == AT_UPPER)) | (w <= 1e-9)
    points.extend(z[good.all(axis=1)])
    direction = np.random.default_rng(0).standard_normal(n)
    for k in np.flatnonzero(~regular):
        if np.abs(A[k] @ np.linalg.lstsq(A[k], b[k])[0] - b[k]).max() > CLOSE:
            continue  # not even the equations have a solution
        polyhedron = Polyhedron(problem, choice[k])
        low, high = polyhedron.lowest(direction), polyhedron.lowest(-direction)
        if low is None:
            continue
        if np.abs(low - high).max() > CLOSE:
            pieces.append((A[k], b[k]))
            ends.append((low, high))
            polyhedra.append(polyhedron)
        else:
            points.append(low)
    isolated = [z for z in points if not any(np.abs(A @ z - b).max() <= CLOSE for A, b in pieces)]
    isolated = [z for i, z in enumerate(isolated) if all(np.abs(z - y).max() > CLOSE for y in isolated[:i])]
    return BruteForce(isolated, pieces, ends, maximal_dimensions(polyhedra) if with_dimensions else [])


class Polyhedron:
    """The solutions with one choice, by linear programming in a box so large that it only cuts unbounded ones."""

    def __init__(self, problem, choice):
        lower, upper = bounds(problem)
        M, moves, inside = problem.M, lower < upper, choice == INSIDE
        self.bounds = np.column_stack(
            [
                np.where(choice == AT_UPPER, upper, np.maximum(lower, -1e3)),
                np.where(choice == AT_LOWER, lower, np.minimum(upper, 1e3)),
            ]
        )
        self.equal = (M[inside], -problem.q[inside])
        sign = np.where(choice == AT_LOWER, -1.0, 1.0)[moves & ~inside]
        self.below = (sign[:, None] * M[moves & ~inside], -sign * problem.q[moves & ~inside])

    def lowest(self, cost):
        """A point of least costᵀ z, or None if there is no point."""
        found = linprog(
            cost,
            A_ub=self.below[0],
            b_ub=self.below[1],
            A_eq=self.equal[0],
            b_eq=self.equal[1],
            bounds=self.bounds,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert found.status in (0, 2), found.message
        return found.x if found.status == 0 else None

    def slacks(self, z):
        return np.concatenate([z - self.bounds[:, 0], self.bounds[:, 1] - z, self.below[1] - self.below[0] @ z])

    def inner_point(self):
        """A point at which every inequality that can be strict is strict, and the equations that remain."""
        n = self.bounds.shape[0]
        gradient = np.vstack([np.eye(n), -np.eye(n), -self.below[0]])
        z = np.mean([self.lowest(-row) for row in gradient], axis=0)
        return z, np.vstack([self.equal[0], gradient[self.slacks(z) <= CLOSE]])


def maximal_dimensions(polyhedra):
    """Dimensions of the polyhedra that lie in no other, each counted once."""
    found = []
    for polyhedron in polyhedra:
        z, equations = polyhedron.inner_point()
        found.append((z.size - np.linalg.matrix_rank(equations, tol=CLOSE), z, polyhedron))
    found.sort(key=lambda item: -item[0])
    kept = []
    for dimension, z, polyhedron in found:
        if not any(contains(other, z) for _, _, other in kept):
            kept.append((dimension, z, polyhedron))
    return [dimension for dimension, _, _ in kept]


def contains(polyhedron, z):
    A, b = polyhedron.equal
    return bool(polyhedron.slacks(z).min(initial=0.0) >= -CLOSE and np.abs(A @ z - b).max(initial=0.0) <= CLOSE)


def check_against_brute_force(problem, *, with_dimensions=False) -> Solutions:
    found, known = all_solutions(problem), brute_force(problem, with_dimensions=with_dimensions)
    assert found.complete
    assert not found.doubtful
    check_by_residual(problem, found)
    assert len(found.points) == len(known.points)
    for z in known.points:
        assert min(np.abs(z - y).max() for y in found.points) <= CLOSE
    assert bool(found.continua) == bool(known.pieces)
    for z in itertools.chain(*known.ends):  # the pieces of brute force lie in the continua
        assert min(off_hull(piece, z) for piece in found.continua) <= CLOSE
    for piece in found.continua:  # and the continua in those pieces
        assert any(
            np.abs(A @ piece.point - b).max() <= CLOSE and np.abs(A @ piece.directions).max() <= CLOSE
            for A, b in known.pieces
        )
    if with_dimensions:
        assert [piece.dimension for piece in found.continua] == known.dimensions
    return found


def off_hull(piece, z):
    """Distance from the affine hull of a continuum: a solution in the hull is in the continuum."""
    offset = z - piece.point
    return np.abs(offset - piece.directions @ (piece.directions.T @ offset)).max()


def check_by_residual(problem, found):
    assert found.residual <= 1e-10
    for z in found.points:
        assert residual(problem, z) <= 1e-10
    for piece in found.continua:
        assert piece.directions.shape == (problem.size, piece.dimension)
        np.testing.assert_allclose(piece.directions.T @ piece.directions, np.eye(piece.dimension), atol=1e-12)
        for direction, extent in zip(piece.directions.T, piece.extent, strict=True):
            assert extent[0] < 0 < extent[1]
            for t in np.clip(extent, -10, 10):
                assert residual(problem, piece.point + t * direction) <= 1e-9
            for t in extent[np.isfinite(extent)]:
                assert residual(problem, piece.point + 1.01 * t * direction) > 1e-7


# ---- random classes ----


def planted(rng, n, M=None):
    M = rng.standard_normal((n, n)) if M is None else M
    support, size = rng.random(n) < 0.5, rng.random(n) + 0.01
    return LCP(M, np.where(support, 0, size) - M @ np.where(support, size, 0))


def positive_q(rng, n):
    return LCP(rng.standard_normal((n, n)), rng.random(n) + 0.01)


def p_matrix(rng, n):
    A, B = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    return LCP(A @ A.T / n + 0.1 * np.eye(n) + (B - B.T), rng.standard_normal(n))


def integer(rng, n):
    return LCP(rng.integers(-2, 3, (n, n)), rng.integers(-2, 3, n))


def ties(rng, n):
    return LCP(rng.integers(0, 2, (n, n)), -rng.integers(0, 2, n))


def low_rank(rng, n):
    A = rng.integers(-2, 3, (n, max(1, n // 2))).astype(float)
    support = rng.random(n) < 0.6
    return LCP(A @ A.T, -A @ (A.T @ (support * rng.integers(1, 3, n))) + ~support * rng.integers(0, 2, n))


def bimatrix(rng, n):
    rows, columns = n - n // 2, n // 2
    A, B = rng.integers(1, 5, (rows, columns)), rng.integers(1, 5, (columns, rows))
    return LCP(np.block([[np.zeros((rows, rows)), A], [B, np.zeros((columns, columns))]]), -np.ones(n))


def skew(rng, n):
    A = rng.standard_normal((n, n))
    return LCP(A - A.T, rng.standard_normal(n))


def sparse(rng, n):
    M = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.4)
    return LCP(M, rng.standard_normal(n) * (rng.random(n) < 0.8))


def mixed(rng, n):
    """Rows of every kind, small integers: many ties, singular blocks of free rows, continua."""
    lower, upper = random_bounds(rng, n, ["lower", "upper", "free", "fixed", "boxed"])
    return MixedLCP(rng.integers(-2, 3, (n, n)), rng.integers(-2, 3, n), lower, upper)


def mixed_dense(rng, n):
    lower, upper = random_bounds(rng, n, ["lower", "upper", "free", "fixed", "boxed", "boxed"])
    return MixedLCP(rng.standard_normal((n, n)), rng.standard_normal(n), lower, upper)


def mostly_free(rng, n):
    """Free rows coupled by a singular block, and a few others: equations may fix pairs, or contradict."""
    lower, upper = random_bounds(rng, n, ["free", "free", "free", "lower", "boxed"])
    A, B = rng.integers(-1, 2, (n, 1 + n // 2)), rng.integers(-1, 2, (1 + n // 2, n))
    M = (A @ B).astype(float)
    return MixedLCP(M, -M @ np.clip(rng.integers(-2, 3, n), lower, upper), lower, upper)


def random_bounds(rng, n, kinds):
    kind = rng.choice(kinds, n)
    low, width = rng.integers(-2, 2, n), rng.integers(1, 3, n)
    lower = np.where((kind == "free") | (kind == "upper"), -INF, low)
    upper = np.select([kind == "fixed", (kind == "boxed") | (kind == "upper")], [low, low + width], INF)
    return lower, upper


CLASSES = [  # 1,000 problems
    (planted, 200, 10),
    (positive_q, 150, 10),
    (p_matrix, 150, 10),
    (integer, 150, 7),
    (ties, 50, 5),
    (low_rank, 75, 6),
    (bimatrix, 75, 8),
    (skew, 75, 9),
    (sparse, 75, 8),
]


@pytest.mark.parametrize(("make", "count", "largest"), CLASSES, ids=[make.__name__ for make, _, _ in CLASSES])
def test_agrees_with_brute_force(make, count, largest):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = 1 + seed % largest
        found = check_against_brute_force(make(rng, n), with_dimensions=n <= 4)
        if make is p_matrix:
            assert found.count == 1


@pytest.mark.parametrize(("make", "count", "largest"), [(mixed, 200, 5), (mixed_dense, 200, 6), (mostly_free, 100, 6)])
def test_mixed_rows_agree_with_brute_force(make, count, largest):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = 1 + seed % largest
        check_against_brute_force(make(rng, n), with_dimensions=n <= 3)


@pytest.mark.core
@pytest.mark.parametrize("unit", [1e-3, 1e-5, 1e-7, 1e-9])
def test_directions_of_other_units_share_no_rounding(unit):
    """Two rows ask for nothing: z_0 and z_2 are any. The others are of other units: w_1 = (2 z_1 - z_3)/unit + 3 unit,
    beside which the rounding of 1 is much."""
    M = np.zeros((4, 4))
    M[1] = [0.0, 2.0 / unit, 0.0, -1.0 / unit]
    problem = LCP(M, [0.0, 3.0 * unit, 0.0, 0.0])
    found = all_solutions(problem)
    assert [piece.dimension for piece in found.continua] == [3, 3]  # z_1 = 0, or w_1 = 0
    for piece in found.continua:
        for i in (0, 2):
            (along,) = piece.directions[:, np.abs(piece.directions[i]) > 0.5].T
            assert residual(problem, np.maximum(piece.point + along, 0.0)) <= 1e-12


@pytest.mark.parametrize("load", [1.0, 1e5, 1e11])
@pytest.mark.parametrize("room", [1e-5, 1e-9, 3e-14])
def test_a_row_pushed_to_the_far_end_of_a_narrow_room_is_there(room, load):
    """w_1 = z_1 + 2 z_0 - load < 0 wherever z_1 may be: it is at its upper bound."""
    problem = MixedLCP([[1.0, 0.0], [2.0, 1.0]], [0.0, -load], [-0.3, 0.0], [math.inf, room])
    found = all_solutions(problem)
    assert found.complete
    (z,) = found.points
    assert z[1] == room
    assert abs(z[0]) <= 1e-15 * room


def test_a_continuum_that_is_narrow_one_way_ends_at_its_bounds_the_other_way():
    """z_0 = z_1 between 0.3 and 0.5, and z_2 anything within 1e-12: a rectangle of which both sides are known."""
    M = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    problem = MixedLCP(M, np.zeros(3), [-np.inf, 0.3, 0.05], [np.inf, 0.5, 0.05 + 1e-12])
    (piece,) = all_solutions(problem).continua
    assert piece.bounded
    wide = np.abs(piece.directions[0]).argmax()
    assert np.ptp(piece.extent[wide]) == pytest.approx(0.2 * np.sqrt(2), rel=1e-9)
    assert np.ptp(piece.extent[1 - wide]) == pytest.approx(1e-12, rel=1e-3)


def test_multipliers_that_are_not_unique_make_no_continuum():
    """Rows that differ by many decades leave a multiplier of a bound open: such a z is a point, not a line."""
    M = [
        [-6.58e-07, 2.21e-09, -1.17e-09, 2.19e-08, -1.52e-07],
        [4560.0, 40.8, 7.66, -5830.0, 710.0],
        [-2.33e-05, -6.19e-08, -8.29e-09, 0.000145, 1.25e-05],
        [1.81e-07, -8.52e-10, -5.86e-10, 3.36e-07, -5.31e-08],
        [0.000137, 2.48e-05, -1.29e-05, 0.000908, 3.24e-05],
    ]
    q = [67800000000.0, 227000000000.0, 22600000000.0, 121000000000.0, -1080000000.0]
    problem = MixedLCP(M, q, [-np.inf, -1, 0, 0, 0], [1, np.inf, np.inf, np.inf, 1])
    found = all_solutions(problem)
    assert not found.continua
    assert found.points
    assert max(residual(problem, z) for z in found.points) <= 1e-10


@pytest.mark.parametrize("far", [1.0, 1e6, 1e8, 1e10])
def test_a_continuum_that_reaches_far_is_listed(far):
    """w = a (a · z), a > 0, has one sign, and z at the bounds it pushes to gives it the other: solutions are a · z = 0.

    In the middle of them z is of the size of the bounds, where rounding hides that w is zero."""
    a = np.array([0.1, 0.3, 0.7])
    problem = MixedLCP(np.outer(a, a), np.zeros(3), [-far, -far, -1.0], [far, 2.0 * far, 1.0])
    found = all_solutions(problem)
    (piece,) = found.continua
    assert (piece.dimension, piece.bounded, found.points, found.doubtful) == (2, True, (), ())
    assert found.residual <= 1e-10
    np.testing.assert_allclose(a @ piece.directions, 0.0, atol=1e-12)
    assert abs(a @ piece.point) <= 1e-12 * np.abs(piece.point).max()


def test_the_exact_one_of_solutions_that_bounds_make_look_alike():
    # beside bounds of 1 all entries of z are nothing, and (0, 4.3e-13) has a residual below tol; z = -M⁻¹ q is exact
    M, q = np.array([[32.0, -32.0], [-20.0, 180.0]]), np.array([2e-12, -7.7e-11])
    every = all_solutions(MixedLCP(M, q, lower=[0.0, -np.inf], upper=[1e12, 0.5]))
    z = -np.linalg.solve(M, q)
    assert (z > 0).all()
    assert every.describe() == "one isolated solution"
    np.testing.assert_allclose(every.points[0], z, rtol=1e-12)


def test_a_method_needs_one_solution_and_looks_at_no_more_than_some():
    n = 12  # z_i (1 - z_i) = 0: each entry is 0 or 1
    problem = LCP(-np.eye(n), np.ones(n))
    answer = Enumeration().solve(problem)
    assert answer.status == Status.SOLVED
    assert answer.iterations < 2 ** (n - 1)
    assert all_solutions(problem).count == 2**n


def test_a_search_that_does_not_reach_the_bounds_is_not_complete():
    # w_0 = -7e-12 whatever z, so z_0 is at its bound, further away than the search sees
    M = np.array([[0.0, 0.0, 0.0], [3e5, 0.0, 0.0], [2e5, -4e5, -6e5]])
    problem = MixedLCP(M, np.array([-7e-12, -2e-10, -5e-11]), [0.0] * 3, [3.5e8, np.inf, np.inf])
    assert residual(problem, np.array([3.5e8, 0.0, 0.0])) == 0.0
    every = all_solutions(problem)
    assert every.points or not every.complete


@pytest.mark.parametrize("far", [1e277, np.nan])
def test_a_wild_point_is_not_made_sharper(far):
    """No step leads from there to a solution."""
    form = standard_form(LCP([[1.0, 1.0], [1.0, 1.0]], [-1.0, -2.0]))
    left = np.array([far, far])
    piece = Piece(left, 0, left, np.tile(left, 2), np.zeros(4, bool), np.zeros((2, 0)), 1.0)
    assert sharper(form, piece, 1e-10) is piece


def test_singular_equations_move_a_point_no_further_than_they_say():
    """z_1 + z_2 = 1 and z_1 + z_2 = 2: as near to both as can be, from zero by the shortest way."""
    form = standard_form(LCP([[1.0, 1.0], [1.0, 1.0]], [-1.0, -2.0]))
    found = piece_from(form, np.array([False, False, True, True]), 0, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(found.z, [0.75, 0.75], rtol=1e-14)


def test_no_solution_is_said_as_far_as_it_is_known():
    """z_1 - (1 + ε) z_2 = 1 and z_1 - z_2 = 2, ε = 2^-46, at z = (2 + 1/ε, 1/ε), where rounding leaves one digit of
    what is 1 here: at a tol of 0.1 it is a solution, and is not denied. Without ε there is none at all."""
    free = [-np.inf, -np.inf], [np.inf, np.inf]
    far = MixedLCP([[1.0, -1.0 - 2.0**-46], [1.0, -1.0]], [-1.0, -2.0], *free)
    assert surest_residual(far, np.array([2.0**46 + 2.0, 2.0**46])) <= 0.1
    assert Enumeration(tol=0.1).solve(far).status is not Status.NO_SOLUTION
    none = MixedLCP([[1.0, -1.0], [1.0, -1.0]], [-1.0, -2.0], *free)
    assert Enumeration(tol=0.1).solve(none).status is Status.NO_SOLUTION
    assert all_solutions(none).describe().startswith("no solution")


def test_a_solution_between_far_bounds_is_found():
    """z = (1.7e-13, -1.3e-13, 0), which bounds of 1e5 hide: found without them."""
    M = [[369023620.0, 265393280.0, -126627448.0], [605952320.0, 1172684800.0, -289959872.0],
         [4801419.0, -352485184.0, 467610112.0]]  # fmt: skip
    problem = MixedLCP(M, [-2.7e-5, 5.4e-5, -5.4e-5], [-155289.8, -np.inf, -1.0], [155289.8, 0.0, 0.0])
    found = all_solutions(problem)
    assert found.describe() == "one isolated solution"
    z = np.linalg.solve(np.array(M)[:2, :2], [2.7e-5, -5.4e-5])
    np.testing.assert_allclose(found.points[0], [*z, 0.0], rtol=1e-12)
