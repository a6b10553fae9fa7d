"""What every formulation starts from: the contacts that take part, and how they answer to impulses.

    (u, g) = W x + q,    x = (p, λ): the k contacts that take part and the m bounded joint rows                  (1)

W and q have the terms ε and d of the normals (friction/terms.py), so that 0 <= p_n ⊥ u_n >= 0 is the law of a contact;
what friction needs is beside them. Contacts that are left out have no rows here and no impulse. `ActiveRows` is all
that a formulation sees of a step: the engine fills one by compiled code, and `active_rows` makes one of a
ContactProblem that a user brings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.elimination import with_diagonal
from stickslip.friction.impact import RowImpulses
from stickslip.friction.terms import (
    TAKES_PART,
    LawNumbers,
    bounces,
    friction_of,
    normal_terms,
    part,
    returned,
    slip_of,
    tangent_terms,
)
from stickslip.jit import kernel
from stickslip.problems.friction_sets import FrictionSet
from stickslip.problems.matrix import Dense, Indices, Matrix, Vector


@dataclass(frozen=True, eq=False)
class ActiveRows:
    """One step as (1) of friction/active.py, and what friction needs to know of its contacts. Arrays are in C order."""

    contacts: Indices  # (k,)   their numbers among all contacts of the step
    dimension: int  # d: 2 in the plane, 3 in space, 4 with spin
    h: float  # step   [s]
    W: Matrix  # (d k + m, d k + m)   symmetric; dense, or CSR where it is large
    q: Vector  # (d k + m,)
    lower: Vector  # (m,)   of λ   [N s]
    upper: Vector  # (m,)
    mu: Vector  # (k,)   static or kinetic, as it holds now
    mu_static: Vector  # (k,)
    sliding: NDArray[np.bool_]  # (k,)
    slip: Dense  # (k, d - 1)   velocity of the tangents, and of spin, at the start   [m/s, rad/s]
    previous: Dense  # (k, d)   impulses of the step before
    compliance_tangent: Vector  # (k,)   ε_t
    bristle: Dense  # (k, d - 1)   d_t of a contact that sticks
    returned: Vector  # (k,)   e of contacts that bounce by Poisson's or Routh's rule, 0 elsewhere
    restitution: Vector  # (k,)   e, whether they bounce or not
    gap: Vector  # (k,)   [m]
    before: Dense  # (k, d)   velocities at the start   [m/s, rad/s]
    falls: Vector  # (d k + m,)   what forces without contacts add to the velocities in the step; 0 of joint rows
    patch: Vector  # (k,)   e_r of friction/limit_surface.py   [m]
    grain: Vector  # (k,)   angle of the axes of anisotropic friction   [rad]
    point: Dense  # (k, 3)   where the contacts are   [m]
    time: float  # at the start   [s]
    surfaces: tuple[FrictionSet | None, ...] = ()  # (k,)   friction sets of their materials; none has one where ()

    @property
    def count(self) -> int:
        return self.contacts.size

    @property
    def lagged(self) -> tuple[Vector | Dense | NDArray[np.bool_], ...]:
        """What kernels need to know of friction whose bounds or axes come from the step before: μ, which contacts slide
        and how, the impulses of that step, the bristles, and the bounds of joint rows."""
        bristles = self.compliance_tangent, self.bristle
        return self.mu, self.sliding, self.slip, self.previous, *bristles, self.lower, self.upper

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


def active_rows(problem: ContactProblem, law: LawNumbers) -> ActiveRows:
    """The rows of a ContactProblem."""
    terms = contact_terms(problem, law)
    d, response = problem.dimension, problem.response
    contacts = np.flatnonzero(terms.part == TAKES_PART)
    W, q = response.W, response.q.copy()
    if contacts.size < problem.contacts:  # only those that take part, and the joints
        kept = np.append((d * contacts[:, None] + np.arange(d)).ravel(), np.arange(d * problem.contacts, q.size))
        W, q = W[np.ix_(kept, kept)] if isinstance(W, np.ndarray) else W[kept][:, kept], q[kept]
    diagonal, normal = np.zeros_like(q), d * np.arange(contacts.size)
    diagonal[normal] = terms.compliance[contacts]
    before = np.ascontiguousarray(problem.start_velocity.reshape(-1, d)[contacts])
    slip, falls = np.ascontiguousarray(before[:, 1:]), np.zeros_like(q)
    falls[: before.size] = q[: before.size] - before.ravel()
    q[normal] += terms.offset[contacts]
    previous = problem.previous.reshape(-1, d)[contacts]
    compliance_tangent = terms.compliance_tangent[contacts]
    return ActiveRows(
        contacts=contacts,
        dimension=d,
        h=problem.h,
        W=with_diagonal(W, diagonal),
        q=q,
        lower=problem.lower[response.bounded],
        upper=problem.upper[response.bounded],
        mu=terms.mu[contacts],
        mu_static=problem.mu[contacts],
        sliding=terms.sliding[contacts],
        slip=slip,
        previous=previous,
        compliance_tangent=compliance_tangent,
        bristle=-(compliance_tangent[:, None] * previous[:, 1:] + terms.drag[contacts][:, None] * slip),
        returned=terms.returned[contacts],
        restitution=problem.restitution[contacts],
        gap=problem.gap[contacts],
        before=before,
        falls=falls,
        patch=problem.patch[contacts],
        grain=problem.grain[contacts],
        point=problem.point.reshape(-1, 3)[contacts],
        time=problem.time,
        surfaces=tuple(problem.surface[i] for i in contacts) if problem.surface else (),
    )


def held_by_bristles(rows: ActiveRows) -> ActiveRows:
    """The rows with those contacts sticking, under static friction, whose bristles hold, however fast they give way.

    A bristle that gives way at the speed at the start, u, has at the end of the step, by (2) of
    friction/stabilisation.py, the impulse p_t = -(u + d_t) / ε_t. Where that is inside the friction of the step before,
    |p_t| <= μ p_n, nothing slides. Rigid contacts, ε_t = 0, slide by their speed alone.
    """
    holds, held = bristles_hold(
        rows.sliding, rows.compliance_tangent, rows.slip, rows.bristle, rows.mu_static, rows.previous
    )
    if held == 0:
        return rows
    return replace(rows, sliding=rows.sliding & ~holds, mu=np.where(holds, rows.mu_static, rows.mu))


@kernel
def bristles_hold(sliding, soft, slip, bristle, mu, previous):
    """Which contacts that slide their bristles hold, and how many."""
    holds, held = np.zeros(sliding.size, np.bool_), 0
    for i in range(sliding.size):
        square = 0.0
        for c in range(slip.shape[1]):
            square += (slip[i, c] + bristle[i, c]) ** 2
        limit = mu[i] * max(previous[i, 0], 0.0) * soft[i]
        if sliding[i] and soft[i] > 0.0 and math.sqrt(square) <= limit:
            holds[i], held = True, held + 1
    return holds, held


LAW_OF_CONTACTS = (
    "gap", "restitution", "mu", "mu_kinetic", "stiffness", "damping", "stiffness_tangent", "damping_tangent", "patch",
)  # fmt: skip  # what `terms_of_all` asks of a ContactProblem


class ContactTerms(NamedTuple):
    """friction/terms.py for all contacts of a problem, (nc,) each."""

    part: Indices  # TAKES_PART, or why not
    offset: Vector  # d
    compliance: Vector  # ε
    compliance_tangent: Vector  # ε_t
    drag: Vector  # ε_t h b_t
    mu: Vector  # static or kinetic, as it holds now
    sliding: NDArray[np.bool_]
    returned: Vector
    bounces: NDArray[np.bool_]


def contact_terms(problem: ContactProblem, law: LawNumbers) -> ContactTerms:
    """The law of each contact; one that takes part and is relaxed must have a spring or a damper."""
    u = problem.start_velocity.reshape(-1, problem.dimension)
    free = np.ascontiguousarray(problem.response.q[: problem.H.shape[1] : problem.dimension])
    surfaces = (getattr(problem, name) for name in LAW_OF_CONTACTS)
    terms = ContactTerms(*terms_of_all(law, u, free, *surfaces))
    for names, compliance in (
        ("stiffness and damping", terms.compliance),
        ("stiffness_tangent and damping_tangent", terms.compliance_tangent),
    ):
        missing = np.isinf(compliance) & (terms.part == TAKES_PART)
        if missing.any():
            i = int(np.argmax(missing))
            raise InputError(f"ContactProblem: {names} of contact {i} are both 0, expected one of them to be positive")
    return terms


@kernel
def terms_of_all(law, u, free, gap, restitution, static, kinetic, k, b, k_t, b_t, patch):
    """The fields of ContactTerms for contacts with velocities u (nc, d) at the start, and normal velocities `free` at
    the end of a step without contacts."""
    count, d = u.shape
    kept, slides, bounced = np.empty(count, np.int64), np.empty(count, np.bool_), np.empty(count, np.bool_)
    offset, compliance, compliance_tangent = np.empty(count), np.empty(count), np.empty(count)
    drag, mu, given_back = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        u_n, u_t, u_o, u_r = u[i, 0], u[i, 1], u[i, 2] if d > 2 else 0.0, u[i, 3] if d > 3 else 0.0
        bounced[i] = bounces(law, gap[i], restitution[i], u_n, free[i])
        kept[i] = part(law, gap[i], bounced[i])
        offset[i], compliance[i] = normal_terms(law, gap[i], restitution[i], u_n, bounced[i], k[i], b[i])
        compliance_tangent[i], drag[i] = tangent_terms(law, k_t[i], b_t[i])
        mu[i], slides[i] = friction_of(law, static[i], kinetic[i], slip_of(u_t, u_o, u_r, patch[i]))
        given_back[i] = returned(law, restitution[i], bounced[i])
    return kept, offset, compliance, compliance_tangent, drag, mu, slides, given_back, bounced


def spread(problem: ContactProblem, contacts: Indices, impulses: RowImpulses) -> Impulses:
    """Impulses of all contacts and joint rows from those of the contacts that take part and of the bounded rows."""
    whole = np.zeros((problem.contacts, problem.dimension))
    whole[contacts] = impulses.p
    x = np.concatenate([whole.ravel(), impulses.bounded])
    return Impulses(x[: whole.size].copy(), problem.response.joints(x))
