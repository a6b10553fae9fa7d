"""Contacts and bounded joint rows as one ConeProblem: what the formulations with true cones share.

A ConeProblem knows contacts only, so a bounded joint row lower <= λ <= upper becomes one, with rows of its own that are
coupled to nothing ("dummies", u = e r + c with e > 0):

    one bound     λ = lower + r_n (or upper - r_n) with μ = 0; its tangents are dummies and stay zero
    two bounds    λ = ½ (lower + upper) + r_t with μ = 1; its normal is a dummy with u_n = e (r_n - a), whose impulse
                  comes out as a = ½ (upper - lower), so that |r_t| <= a

Under Coulomb's law both are exact. Under the associated law a row with two bounds that moves also has u_n = |u_t|,
hence r_n = a + |u_t| / e: its bound is exceeded by |u_t| / e, and e is chosen so large that this is about a thousandth
of the bound. Limits (one bound) are exact under both laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from stickslip.checks import checked
from stickslip.friction.active import ActiveRows
from stickslip.friction.elimination import with_diagonal
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.impact import RowImpulses
from stickslip.friction.stabilisation import RELAXATION, RELAXING, Relaxation
from stickslip.problems.cone import ConeProblem, Law
from stickslip.problems.matrix import Indices, Matrix, Vector

EXCESS = 1e-3  # share of a joint row's bound by which the associated law may exceed it


@dataclass(frozen=True)
class RoundCones(Formulation):
    """Friction with round cones; the formulations made of it say by which law, and whether friction is relaxed."""

    cone_law: ClassVar[Law] = "coulomb"
    tolerance: ClassVar[float] = ConeProblem.tolerance

    def posed(self, rows: ActiveRows) -> Posed:
        W, q, mu = cone_rows(rows, self.cone_law, self.relaxes_friction)
        return Posed(ConeProblem(W, q, mu, law=self.cone_law), *cone_unknowns(rows))


@dataclass(frozen=True)
@checked(stabilisation=RELAXING)
class CompliantContacts(RoundCones):
    """Those whose contacts are springs and dampers, along the tangents too."""

    stabilisation: Relaxation = RELAXATION

    relaxes_friction: ClassVar[bool] = True


def cone_unknowns(rows: ActiveRows) -> tuple[Vector, Callable[[Vector], RowImpulses]]:
    """A starting point of the cone problem, and the impulses that an answer stands for."""
    if rows.lower.size:
        joints = JointContacts.of(rows)
        return joints.start(rows), joints.decode
    shape, none = rows.previous.shape, rows.lower
    return rows.previous.ravel(), lambda r: RowImpulses(r.reshape(shape), none)


@dataclass(frozen=True, eq=False)
class JointContacts:
    """How the m bounded joint rows sit in the cone problem, m contacts after the k true ones."""

    row: Indices  # (m,)   the row of the cone problem that is the joint row
    sign: Vector  # (m,)   λ = base + sign r
    base: Vector  # (m,)
    motor: np.ndarray  # (m,)   has two bounds
    reach: Vector  # (m,)   a, where there are two bounds; 0 elsewhere

    contacts: int  # k
    dimension: int  # d

    @classmethod
    def of(cls, rows: ActiveRows) -> JointContacts:
        lower, upper = rows.lower, rows.upper
        below, above = np.isfinite(lower), np.isfinite(upper)
        motor = below & above
        low, high = np.where(below, lower, 0.0), np.where(above, upper, 0.0)
        return cls(
            row=rows.dimension * (rows.count + np.arange(lower.size)) + motor,
            sign=np.where(above & ~below, -1.0, 1.0),
            base=np.where(motor, 0.5 * (low + high), low + high),
            motor=motor,
            reach=np.where(motor, 0.5 * (high - low), 0.0),
            contacts=rows.count,
            dimension=rows.dimension,
        )

    def start(self, rows: ActiveRows) -> Vector:
        """The impulses of the step before; of joint rows those of their middle."""
        r = np.zeros(self.dimension * (self.contacts + self.row.size))
        r[: rows.previous.size] = rows.previous.ravel()
        r[rows.previous.size :: self.dimension] = self.reach
        return r

    def decode(self, r: Vector) -> RowImpulses:
        p = r[: self.dimension * self.contacts].reshape(self.contacts, self.dimension)
        return RowImpulses(p, self.base + self.sign * r[self.row])


def cone_rows(rows: ActiveRows, law: Law, relaxed: bool) -> tuple[Matrix, Vector, Vector]:
    """W, q and μ of the cone problem of contacts and bounded joint rows, with ε_t on the tangents where relaxed."""
    d, k, m = rows.dimension, rows.count, rows.lower.size
    W = rows.W
    if relaxed:
        diagonal = np.zeros(rows.q.size)
        diagonal[rows.tangent] = rows.compliance_tangent[:, None]
        W = with_diagonal(W, diagonal)
    if m == 0:
        return W, rows.q, rows.mu
    joints = JointContacts.of(rows)
    own = W.diagonal()[rows.joint]
    q = rows.q + W[:, rows.joint] @ joints.base
    dummy = np.where(own > 0, own, 1.0)
    if law == "associated":
        speed = np.abs(q[rows.joint]) + own * joints.reach
        slow = joints.reach > 0
        dummy[slow] = np.maximum(dummy[slow], speed[slow] / (EXCESS * joints.reach[slow]))
    row = np.concatenate([np.arange(d * k), joints.row])  # of the cone problem: where each of ours lies
    sign = np.concatenate([np.ones(d * k), joints.sign])
    size = d * (k + m)
    entries, offset = np.zeros(size), np.zeros(size)
    pseudo = d * k + d * np.arange(m)[:, None] + np.arange(d)
    entries[pseudo] = dummy[:, None]
    entries[joints.row] = 0.0
    offset[row] = sign * q
    offset[pseudo[joints.motor, 0]] = -(dummy * joints.reach)[joints.motor]
    mu = np.concatenate([rows.mu, np.where(joints.motor, 1.0, 0.0)])
    return with_diagonal(placed(W, row, sign, size), entries), offset, mu


def placed(W: Matrix, row: Indices, sign: Vector, size: int) -> Matrix:
    """W with each row and column where `row` says, times its sign; zeros elsewhere."""
    if isinstance(W, np.ndarray):
        matrix = np.zeros((size, size))
        matrix[row[:, None], row] = sign[:, None] * W * sign
        return matrix
    P = sparse.csr_array((sign, (row, np.arange(sign.size))), shape=(size, sign.size))
    return P @ W @ P.T
