"""What each random class of friction problems promises, by the definition of its structure."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.problems.matrix import as_dense
from stickslip.problems.random_cones import CONE_KINDS, ILL_POSED, WELL_POSED, random_cone

SIZES = (1, 2, 7, 40)

every_kind = pytest.mark.parametrize("kind", CONE_KINDS)
every_shape = pytest.mark.parametrize(("contacts", "d"), [(n, d) for n in SIZES for d in (2, 3)])


def smallest_eigenvalue(W):
    """Of the symmetric part, relative to the largest; zero where W is."""
    values = np.linalg.eigvalsh(W + W.T)
    return values[0] / max(values[-1], 1e-300)


def depth(u, mu):
    """The least u_n - μ |u_t|."""
    u = u.reshape(mu.size, -1)
    return (u[:, 0] - mu * np.linalg.norm(u[:, 1:], axis=1)).min()


@every_kind
@every_shape
def test_shape_and_seed(kind, contacts, d):
    problem, again, other = (random_cone(kind, contacts, seed, d) for seed in (5, 5, 6))
    assert (problem.contacts, problem.dimension) == (contacts, d)
    np.testing.assert_array_equal(as_dense(problem.W), as_dense(again.W))
    np.testing.assert_array_equal(problem.q, again.q)
    np.testing.assert_array_equal(problem.mu, again.mu)
    assert (problem.q != other.q).any()


@every_kind
@every_shape
def test_w_is_positive_semidefinite(kind, contacts, d):
    for seed in range(3):
        assert smallest_eigenvalue(as_dense(random_cone(kind, contacts, seed, d).W)) >= -1e-14


@pytest.mark.parametrize("kind", WELL_POSED)
@every_shape
def test_well_posed_problems_have_a_definite_w(kind, contacts, d):
    for seed in range(3):
        W = as_dense(random_cone(kind, contacts, seed, d).W)
        assert smallest_eigenvalue(W) > 1e-6
        assert (np.abs(W - W.T).max() > 1e-5) == (kind == "gyroscopic")


@pytest.mark.parametrize("kind", [kind for kind, promise in CONE_KINDS.items() if promise.solvable])
@every_shape
def test_solvable_problems_have_a_motion_that_opens_every_contact(kind, contacts, d):
    """The theorem's condition, by least squares on Hᵀ v = λ e_n - w where H is known, on W x = λ e_n - q otherwise."""
    for seed in range(3):
        problem = random_cone(kind, contacts, seed, d)
        if problem.bodies is None:
            map_, w = as_dense(problem.W), problem.q
        else:
            map_, w = problem.bodies.H.toarray().T, problem.bodies.w
        opening = np.tile(np.eye(1, d).ravel(), contacts)
        v = np.linalg.lstsq(map_, opening, rcond=1e-12)[0]
        rest = np.linalg.lstsq(map_, -w, rcond=1e-12)[0]
        size = 10 * (1 + problem.mu.max()) * np.abs(map_ @ rest + w).max() + np.abs(w).max() + 1e-300
        assert depth(map_ @ (size * v + rest) + w, problem.mu) > 0


@pytest.mark.parametrize("kind", ["hyperstatic", "frictionless", "jammed"])
def test_many_contacts_on_few_velocities(kind):
    for d in (2, 3):
        problem = random_cone(kind, 40, 1, d)
        assert np.linalg.matrix_rank(as_dense(problem.W)) == 10 * d


def test_classes_are_what_their_names_say():
    assert not random_cone("frictionless", 9).mu.any()
    mu = random_cone("huge-friction", 40).mu
    assert 10 <= mu.min() < mu.max() <= 1000
    M = random_cone("mass-ratio", 9).bodies.M.diagonal()
    assert M.max() / M.min() == pytest.approx(1e6)
    copies = random_cone("duplicates", 30, 2).W.toarray().reshape(30, 3, -1)
    assert len(np.unique(copies, axis=0)) <= 10
    still = random_cone("immovable", 30, 2).W.toarray().reshape(30, 3, -1)
    assert (~still.any(axis=(1, 2))).sum() == 6
    sizes = [np.abs(random_cone("odd-units", 3, seed).W).max() for seed in range(30)]
    assert min(sizes) < 1e-5
    assert max(sizes) > 1e5
    assert not random_cone("resting", 9).bodies.w.any()


def test_an_immovable_contact_that_closes_has_no_solution():
    """Its velocity is q whatever the impulses are: here some q_n < 0."""
    problem = random_cone("immovable", 30, 2)
    still = ~problem.W.toarray().reshape(30, 3, -1).any(axis=(1, 2))
    assert problem.q[::3][still].min() < 0
    assert not ILL_POSED["immovable"].solvable


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("wobbly", 3), r"kind is 'wobbly', expected one of bodies, "),
        (("bodies", 0), "contacts is 0, expected a whole number of at least 1"),
        (("bodies", 3, 0, 4), "dimension is 4, expected a whole number of at least 2 and at most 3"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        random_cone(*arguments)
