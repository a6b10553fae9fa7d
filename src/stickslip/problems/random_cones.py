"""Random friction problems of known classes, of any number of contacts, each the same for the same seed.

`WELL_POSED` and `ILL_POSED` say of each class whether a solution always exists, and why. The reason is one theorem [1]:
with a positive definite mass matrix M, Coulomb's problem and the associated one have a solution if some motion v has
Hᵀ v + w inside the dual cone of every contact. Two ways to make sure of that:

    H has full column rank: then Hᵀ v can be any vector, and W = Hᵀ M⁻¹ H is positive definite;
    H is made from a motion v₀ that opens every contact, Hᵀ v₀ = e_n in each: then Hᵀ (λ v₀) + w is inside for large λ,
    however many contacts there are.

Masses, momenta and contact velocities are of order 1 unless a class says otherwise.

[1] Acary, Cadoux, Lemaréchal, Malick, A formulation of the linear discrete Coulomb friction problem via convex
    optimization, Zeitschrift für Angewandte Mathematik und Mechanik 91 (2011) 155-175.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from stickslip.checks import checked, one_of, whole, wholes
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Dense, Vector
from stickslip.problems.random_classes import Kind

COEFFICIENTS = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0, 1.5)  # of friction, mixed in one problem


@checked(contacts=wholes(1, 100_000), seed=whole, dimension=wholes(2, 3))
def random_cone(kind: str, contacts: int, seed: int = 0, dimension: int = 3) -> ConeProblem:
    """A friction problem of one of the `CONE_KINDS`, with 2 or 3 components a contact."""
    one_of(*CONE_KINDS)("random_cone", "kind", kind)
    return CONE_KINDS[kind].make(np.random.default_rng(seed), contacts, dimension)


def bodies(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """More velocities than contact components; w is random."""
    return moved(rng, independent_map(rng, contacts, d), mixed_friction(rng, contacts))


def definite(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """W = A Aᵀ + I/10 and q, without bodies."""
    n = d * contacts
    return ConeProblem(definite_matrix(rng, n), rng.normal(size=n), mixed_friction(rng, contacts))


def gyroscopic(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """The same with a skew part of about a thousandth, as implicit gyroscopic terms leave it."""
    n = d * contacts
    skew = rng.normal(size=(n, n)) / np.sqrt(n)
    W = definite_matrix(rng, n) + 1e-3 * (skew - skew.T)
    return ConeProblem(W, rng.normal(size=n), mixed_friction(rng, contacts))


def resting(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """w = 0, as in a time step without restitution, and momenta that press on every contact."""
    H = independent_map(rng, contacts, d)
    f = H @ np.tile(np.append(-1.0, np.zeros(d - 1)), contacts) + 0.2 * rng.normal(size=H.shape[0])
    return ConeProblem.from_bodies(definite_matrix(rng, H.shape[0]), H, f, mixed_friction(rng, contacts))


def hyperstatic(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """About four contact components for each velocity."""
    return moved(rng, opening_map(rng, contacts, d), mixed_friction(rng, contacts))


def frictionless(rng: Generator, contacts: int, d: int) -> ConeProblem:
    return moved(rng, opening_map(rng, contacts, d), np.zeros(contacts))


def huge_friction(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """μ from 10 to 1000."""
    return moved(rng, independent_map(rng, contacts, d), 10.0 ** rng.uniform(1, 3, size=contacts))


def mass_ratio(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """A column of point masses from 1 g to 1 t on each other, pushed sideways; contact i is under mass i."""
    support = np.eye(contacts) - np.eye(contacts, k=-1)
    mass = np.repeat(10.0 ** rng.uniform(-3, 3, size=contacts), d)
    mass[:d] = 1e-3
    mass[-d:] = 1e3 if contacts > 1 else mass[-d:]
    velocity = np.tile(np.append(-0.01, np.zeros(d - 1)), contacts) + 0.003 * rng.normal(size=d * contacts)
    return ConeProblem.from_bodies(
        np.diag(mass), np.kron(support, np.eye(d)).T, mass * velocity, mixed_friction(rng, contacts)
    )


def duplicates(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """Each contact is one of a third as many, w and μ included."""
    few = (contacts + 2) // 3
    which = rng.integers(0, few, size=contacts)
    components = (d * which[:, None] + np.arange(d)).ravel()
    H, w, mu = independent_map(rng, few, d), rng.normal(size=d * few), mixed_friction(rng, few)
    return moved(rng, H[:, components], mu[which], w[components])


def immovable(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """A fifth of the contacts, one at least, belong to nothing that moves: their columns of H are zero."""
    H = independent_map(rng, contacts, d)
    still = rng.permutation(contacts)[: max(1, contacts // 5)]
    H[:, (d * still[:, None] + np.arange(d)).ravel()] = 0.0
    return moved(rng, H, mixed_friction(rng, contacts))


def jammed(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """Many contacts on few velocities, without a motion that opens them all; w closes some of them."""
    velocities = max(d, d * contacts // 4)
    return moved(rng, columns_of_length_one(rng.normal(size=(velocities, d * contacts))), mixed_friction(rng, contacts))


def odd_units(rng: Generator, contacts: int, d: int) -> ConeProblem:
    """Impulses in units of 1e-6 to 1e6 N s, velocities in units of 1e-6 to 1e6 m/s."""
    impulse, velocity = 10.0 ** rng.uniform(-6, 6, size=2)
    problem = definite(rng, contacts, d)
    return ConeProblem(velocity / impulse * problem.W, velocity * problem.q, problem.mu)


WELL_POSED = {
    "bodies": Kind(bodies, True, "H has full column rank"),
    "definite": Kind(definite, True, "W is symmetric positive definite: H is its square root, M the identity"),
    "gyroscopic": Kind(gyroscopic, True, "W is positive definite, W⁻¹ is M and H the identity"),
    "resting": Kind(resting, True, "H has full column rank"),
}

ILL_POSED = {
    "hyperstatic": Kind(hyperstatic, True, "a motion opens every contact; W is rank deficient"),
    "frictionless": Kind(frictionless, True, "a motion opens every contact; W is rank deficient, μ = 0"),
    "huge-friction": Kind(huge_friction, True, "H has full column rank"),
    "mass-ratio": Kind(mass_ratio, True, "H has full column rank; masses differ by 1e6"),
    "duplicates": Kind(duplicates, True, "H has full column rank without the copies, and copies open alike"),
    "immovable": Kind(immovable, False, "none where w closes a contact that nothing can move"),
    "jammed": Kind(jammed, False, "none where contacts that grip each other must close"),
    "odd-units": Kind(odd_units, True, "units do not change whether there is a solution; W is positive definite"),
}

CONE_KINDS = WELL_POSED | ILL_POSED


def moved(rng: Generator, H: Dense, mu: Vector, w: Vector | None = None) -> ConeProblem:
    """The problem of a contact map: random masses, momenta and, if not given, w."""
    velocities, n = H.shape
    M = definite_matrix(rng, velocities)
    return ConeProblem.from_bodies(M, H, rng.normal(size=velocities), mu, rng.normal(size=n) if w is None else w)


def definite_matrix(rng: Generator, n: int) -> Dense:
    A = rng.normal(size=(n, n)) / np.sqrt(n)
    return A @ A.T + 0.1 * np.eye(n)


def independent_map(rng: Generator, contacts: int, d: int) -> Dense:
    """H with half as many velocities again as columns, and 3 more: of full column rank, with probability one."""
    n = d * contacts
    return columns_of_length_one(rng.normal(size=(n + n // 2 + 3, n)))


def opening_map(rng: Generator, contacts: int, d: int) -> Dense:
    """H on a quarter as many velocities as columns, or d, with Hᵀ v₀ = e_n in each contact for a v₀ of length 1."""
    n = d * contacts
    velocities = max(d, n // 4)
    v = rng.normal(size=velocities)
    v /= np.linalg.norm(v)
    H = columns_of_length_one(rng.normal(size=(velocities, n)))
    return H + np.outer(v, np.tile(np.eye(1, d).ravel(), contacts) - v @ H)


def columns_of_length_one(H: Dense) -> Dense:
    return np.asarray(H / np.linalg.norm(H, axis=0), np.float64)


def mixed_friction(rng: Generator, contacts: int) -> Vector:
    return rng.choice(COEFFICIENTS, size=contacts)
