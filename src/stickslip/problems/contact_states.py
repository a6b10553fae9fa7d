"""What each contact does, open, stick or slip, and what it adds to the residual.

The state is decided by the complementary pairs of the law, compared in one unit: ρ_i = d / tr(W_ii) turns a velocity
into an impulse of contact i. The impulses given resolve δ, the root mean square of r - P_K(r - ρ ũ) over the contacts.

    open   r_n <= δ or r_n <= ρ g, with g = u_n (Coulomb) or g = u_n - μ|u_t| (associated)
    slip   not open, ρ|u_t| > δ, and ρ|u_t| exceeds what friction has left, μ r_n - |r_t|
    stick  otherwise: a contact at its limit that does not move sticks

In a time step what friction has left is measured by the set that the formulation bounds it with, which need not be a
cone, and u is the velocity under its law, with springs and dampers: `states_of`.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import checked, instance
from stickslip.jit import bare, kernel
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Indices, Vector, point
from stickslip.problems.residual import TINY, cone_map_length, length

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
