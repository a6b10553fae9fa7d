"""By which share of its own speeds a contact's velocity is wrong.

The residual is one number for all contacts: where masses differ by many decades, a light contact may be wrong by all it
has and add nothing. Contact by contact, whatever the units,

    |r - P(r - ρ ũ)|₂ / ρ  over  | Σ_j |W_ij| |r_j| + |q_i| |₂,      ρ = d / tr(W_ii),

P the projection of the contact's law: the velocity that the law does not allow, over all that adds up to its velocity.
"""

from __future__ import annotations

import numpy as np

from stickslip.problems.blocks import contact_weights
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import map_lengths
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.limit_surface import LimitSurfaceProblem, natural_lengths
from stickslip.problems.matrix import Vector
from stickslip.problems.residual import cylinder_map_length


def own_errors(problem: ConeProblem | CylinderProblem | LimitSurfaceProblem, x: Vector, y: Vector) -> Vector:
    """(nc,) the share of each contact; y is problem.value(x). Infinite where one of them is not finite."""
    if isinstance(problem, LimitSurfaceProblem):
        return distributed_errors(problem, x, y)
    d, rho = problem.dimension, contact_weights(problem.blocks.diagonal)
    speeds = np.linalg.norm((abs(problem.W) @ np.abs(x) + np.abs(problem.q)).reshape(-1, d), axis=1)
    if isinstance(problem, ConeProblem):
        return shares(map_lengths(problem, x, y, rho) / rho, speeds)
    wrong = np.empty(problem.contacts)
    for i in range(problem.contacts):
        at, own = slice(d * i, d * (i + 1)), slice(i, i + 1)
        wrong[i] = cylinder_map_length(x[at], rho[i] * y[at], problem.bound[own], d)
    return shares(wrong / rho, speeds)


def distributed_errors(problem: LimitSurfaceProblem, c: Vector, a: Vector) -> Vector:
    """The same in the scaled (c_n, s) and (a_n, τ), in which all components compare."""
    form = problem.scaled
    x, y, rho = form.coordinates(c), form.E * a, contact_weights(form.W.diagonal)
    speeds = np.linalg.norm(((abs(problem.A) @ np.abs(c) + np.abs(problem.b)) * form.E).reshape(-1, 4), axis=1)
    mu, way, alive, state, kind, planes, gauge = form.law
    wrong, one = np.empty(problem.contacts), np.ones(1)
    for i in range(problem.contacts):
        at, own = slice(4 * i, 4 * i + 4), slice(i, i + 1)
        law = (mu[own], way[own], alive[own], state[own], kind[own], planes, gauge)
        wrong[i] = natural_lengths(x[at], y[at], form.q[at], *law, one, rho[own])[0]
    return shares(wrong / rho, speeds)


def shares(wrong: Vector, speeds: Vector) -> Vector:
    """wrong / speeds; of a contact at which nothing moves, what is wrong itself."""
    found = wrong / np.where(speeds > 0.0, speeds, 1.0)
    return np.where(np.isfinite(found), found, np.inf)
