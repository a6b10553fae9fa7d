"""What each contact does, open, stick or slip, and what it adds to the residual.

The state is decided by the complementary pairs of the law, compared in one unit: ρ_i = d / tr(W_ii) turns a velocity
into an impulse of contact i. The impulses given resolve δ, the root mean square of r - P_K(r - ρ ũ) over the contacts.

    open   r_n <= δ or r_n <= ρ g, with g = u_n (Coulomb) or g = u_n - μ|u_t| (associated)
    slip   not open, ρ|u_t| > δ, and ρ|u_t| exceeds what friction has left, μ r_n - |r_t|
    stick  otherwise: a contact at its limit that does not move sticks

In a time step what friction has left is measured by the set that the formulation bounds it with, which need not be a
cone, and u is the velocity under its law, with springs and dampers: `states_of`.

The residual is one number for all contacts: where masses differ by many decades, a light contact may be wrong by all it
has and add nothing. So `own_errors` says by which share of its own speeds its velocity is wrong, whatever the units,

    |r - P(r - ρ ũ)|₂ / ρ  over  | Σ_j |W_ij| |r_j| + |q_i| |₂,

P the projection of the contact's law: the velocity that the law does not allow, over all that adds up to its velocity.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import checked, instance
from stickslip.jit import bare, kernel
from stickslip.problems.blocks import contact_weights
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.limit_surface import LimitSurfaceProblem, natural_lengths
from stickslip.problems.matrix import Indices, Vector, point
from stickslip.problems.residual import TINY, cone_map_length, cylinder_map_length, length

RESOLVED = 1e-12  # of the impulses: no solution resolves more


class State(IntEnum):
    """What a contact does."""

    OPEN = 0  # carries nothing
    STICK = 1  # presses and does not slide
    SLIP = 2  # presses and slides


OPEN, STICK, SLIP = (int(state) for state in State)


@np.errstate(over="ignore", invalid="ignore")
@checked(problem=instance(ConeProblem))
def contact_states(problem: ConeProblem, r: ArrayLike, u: Vector | None = None) -> Indices:
    """State of each contact; OPEN where r is not finite."""
    impulses = point("contact states", "r", r, problem.size)
    velocities = problem.value(impulses) if u is None else point("contact states", "u", u, problem.size)
    d, rho = problem.dimension, problem.weights
    p, v = impulses.reshape(-1, d), rho[:, None] * velocities.reshape(-1, d)
    sliding = np.linalg.norm(v[:, 1:], axis=1)
    gap = v[:, 0] + (problem.shift - problem.mu) * sliding
    left = problem.mu * p[:, 0] - np.linalg.norm(p[:, 1:], axis=1)
    unresolved = max(length(map_lengths(problem, impulses, velocities, rho)), RESOLVED * length(impulses))
    delta = unresolved / np.sqrt(max(problem.contacts, 1))
    pressed = (p[:, 0] > delta) & (p[:, 0] > gap)
    slips = (sliding > delta) & (sliding > left)
    return np.where(pressed, np.where(slips, State.SLIP, State.STICK), State.OPEN)


@checked(problem=instance(ConeProblem))
def contact_residuals(problem: ConeProblem, r: ArrayLike, u: Vector | None = None) -> Vector:
    """|F_i| / max(|q|, |r|, |u|) of each contact, F = r - P_K(r - ũ): its square is its part of the residual's."""
    impulses = point("contact states", "r", r, problem.size)
    velocities = problem.value(impulses) if u is None else point("contact states", "u", u, problem.size)
    scale = max(length(problem.q), length(impulses), length(velocities))
    parts = map_lengths(problem, impulses, velocities, np.ones(problem.contacts))
    return parts / (scale if TINY < scale < np.inf else 1.0)


def map_lengths(problem: ConeProblem, r: Vector, u: Vector, rho: Vector) -> Vector:
    """|r - P_K(r - ρ ũ)| of each contact; inf where it is not finite."""
    d = problem.dimension
    parts = np.empty(problem.contacts)
    for i in range(problem.contacts):
        own, at = slice(i, i + 1), slice(d * i, d * (i + 1))
        parts[i] = cone_map_length(r[at], u[at], problem.mu[own], problem.shift[own], rho[own])
    return parts


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


@bare
def state_of(p_n, left, u_t, rho, delta):
    """Open, stick or slip of a contact whose friction has `left` before it meets its bounds."""
    if not (p_n > delta and p_n > 0.0):
        return OPEN
    if rho * u_t > delta and rho * u_t > left:
        return SLIP
    return STICK


@kernel
def states_of(p, left, slip, rho, tol):
    """The states of contacts with normal impulses p and slip speeds, (n,) each; impulses below tol times the greatest
    count for nothing."""
    state, greatest = np.empty(p.size, np.int64), 0.0
    for i in range(p.size):
        greatest = max(greatest, p[i])
    for i in range(p.size):
        state[i] = state_of(p[i], left[i], slip[i], rho[i], tol * greatest)
    return state
