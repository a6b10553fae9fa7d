"""What every formulation starts from: the contacts that take part, and how they answer to impulses.

Contacts that are left out (friction/stabilisation.py, friction/impact.py) have no rows here and no impulse.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import friction_now, is_sliding
from stickslip.friction.elimination import with_diagonal
from stickslip.friction.impact import Impact, fast, rebound, still_open
from stickslip.friction.stabilisation import Stabilisation, normal_terms, takes_part, tangent_terms
from stickslip.problems.matrix import Dense, Indices, Matrix, Vector


@dataclass(frozen=True, eq=False)
class ActiveRows:
    """(u, g) = W x + q over the k contacts that take part and the m bounded joint rows, x = (p, λ).

    W and q have the terms ε and d of the normals, so that 0 <= p_n ⊥ u_n >= 0 is the law of a contact.
    """

    contacts: Indices  # (k,)   their numbers in the ContactProblem
    dimension: int  # d
    W: Matrix  # (d k + m, d k + m)
    q: Vector  # (d k + m,)
    lower: Vector  # (m,)   of λ
    upper: Vector  # (m,)
    mu: Vector  # (k,)   static or kinetic, as it holds now
    sliding: NDArray[np.bool_]  # (k,)
    slip: Dense  # (k, d - 1)   tangential velocity at the start
    previous: Dense  # (k, d)   impulses of the step before
    compliance_tangent: Vector  # (k,)   ε_t
    bristle: Dense  # (k, d - 1)   d_t of a contact that sticks

    @property
    def count(self) -> int:
        return self.contacts.size

    @property
    def normal(self) -> Indices:
        """Rows of the normals."""
        return self.dimension * np.arange(self.count)

    @property
    def tangent(self) -> Indices:
        """Rows of the tangents, contact after contact: (k, d - 1)."""
        return self.normal[:, None] + np.arange(1, self.dimension)

    @property
    def joint(self) -> Indices:
        """Rows of the bounded joint rows."""
        return np.arange(self.dimension * self.count, self.q.size)


@lru_cache(maxsize=2)  # pose, start and impulses of a step ask for the same
def active_rows(problem: ContactProblem, stabilisation: Stabilisation, impact: Impact, slip_speed: float) -> ActiveRows:
    contacts = active_contacts(problem, stabilisation, impact)
    d, response = problem.dimension, problem.response
    bounces = fast(problem, impact)
    offset, compliance = normal_terms(problem, stabilisation)
    offset = np.where(bounces, rebound(problem, impact), offset)
    compliance_tangent, damping = tangent_terms(problem, stabilisation)
    slip = problem.start_velocity.reshape(-1, d)[contacts, 1:]
    previous = by_contact(problem.previous, d)[contacts]
    sliding = is_sliding(slip, slip_speed)
    W, q = restricted(response.W, response.q, contacts, problem.contacts, d)
    diagonal = np.zeros_like(q)
    rows = d * np.arange(contacts.size)
    diagonal[rows] = compliance[contacts]
    q[rows] += offset[contacts]
    chosen = compliance_tangent[contacts]
    return ActiveRows(
        contacts=contacts,
        dimension=d,
        W=with_diagonal(W, diagonal),
        q=q,
        lower=problem.lower[response.bounded],
        upper=problem.upper[response.bounded],
        mu=friction_now(problem.mu[contacts], problem.mu_kinetic[contacts], sliding),
        sliding=sliding,
        slip=slip,
        previous=previous,
        compliance_tangent=chosen,
        bristle=-(chosen[:, None] * previous[:, 1:] + damping[contacts][:, None] * slip),
    )


def active_contacts(problem: ContactProblem, stabilisation: Stabilisation, impact: Impact) -> Indices:
    return np.flatnonzero(takes_part(problem, stabilisation) & ~still_open(problem, impact))


def by_contact(values: Any, d: int) -> Dense:
    return np.asarray(values, np.float64).reshape(-1, d)


def restricted(W: Matrix, q: Vector, contacts: Indices, count: int, d: int) -> tuple[Matrix, Vector]:
    """The rows of the contacts that take part and of the joints."""
    if contacts.size == count:
        return W, q.copy()
    rows = np.concatenate([(d * contacts[:, None] + np.arange(d)).ravel(), np.arange(d * count, q.size)])
    return (W[np.ix_(rows, rows)] if isinstance(W, np.ndarray) else W[rows][:, rows]), q[rows]


def spread(problem: ContactProblem, contacts: Indices, p: Dense, bounded: Vector) -> Impulses:
    """Impulses of all contacts and joint rows from those of the contacts that take part and of the bounded rows."""
    d = problem.dimension
    whole = np.zeros((problem.contacts, d))
    whole[contacts] = p
    x = np.concatenate([whole.ravel(), bounded])
    return Impulses(x[: whole.size].copy(), problem.response.joints(x))
