"""The Delassus matrix by pairs of contacts: a d x d block for each pair that shares a body, the diagonal ones apart.

Component (a, c) of all blocks is one row of memory: a pass over them reads d² streams in order, which the compiler
vectorises. Indices are unsigned: signed ones cost a test for negative values at each access.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.checks import vector
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.matrix import Dense, Frozen, Matrix, Vector, not_negative, point, square


class ContactBlocks(NamedTuple):
    """W by pairs of contacts. Row d a + c of `diagonal` and `others` holds component (a, c) of every block."""

    diagonal: Dense  # (d d, nc)
    others: Dense  # (d d, nb)         contact after contact
    start: NDArray[np.uint32]  # (nc + 1,)   blocks start[i] … start[i + 1] - 1 are those of contact i
    first: NDArray[np.uint32]  # (nb,)       d j: where the impulse of the block's other contact begins


def contact_blocks(W: Matrix, d: int) -> ContactBlocks:
    """W in d x d blocks; a pair of contacts without a block has none stored."""
    if isinstance(W, np.ndarray):
        return ContactBlocks(*dense_blocks(W, d))
    blocks = sparse.bsr_array(W, blocksize=(d, d))
    blocks.sort_indices()
    contacts = blocks.indptr.size - 1
    contact = np.repeat(np.arange(contacts), np.diff(blocks.indptr))
    other = contact != blocks.indices
    diagonal = np.zeros((d * d, contacts))
    diagonal[:, contact[~other]] = by_component(blocks.data[~other])
    start = np.searchsorted(contact[other], np.arange(contacts + 1)).astype(np.uint32)
    first = (d * blocks.indices[other]).astype(np.uint32)
    return ContactBlocks(diagonal, by_component(blocks.data[other]), start, first)


def by_component(blocks: Dense) -> Dense:
    """(a c, nb) of (nb, a, c) blocks."""
    count, a, c = blocks.shape
    return np.ascontiguousarray(blocks.reshape(count, a * c).T)


@kernel
def dense_blocks(W, d):
    """The fields of ContactBlocks from a dense W."""
    contacts = W.shape[0] // d
    coupled, count = np.zeros((contacts, contacts), np.bool_), 0
    for i in range(contacts):
        for a in range(d * i, d * i + d):
            for j in range(contacts):
                for c in range(d * j, d * j + d):
                    if W[a, c] != 0.0:
                        coupled[i, j] = True
        for j in range(contacts):
            count += j != i and coupled[i, j]
    diagonal, others = np.zeros((d * d, contacts)), np.zeros((d * d, count))
    start, first = np.zeros(contacts + 1, np.uint32), np.zeros(count, np.uint32)
    k = 0
    for i in range(contacts):
        for j in range(contacts):
            if j != i and not coupled[i, j]:
                continue
            for a in range(d):
                for c in range(d):
                    if j == i:
                        diagonal[d * a + c, i] = W[d * i + a, d * j + c]
                    else:
                        others[d * a + c, k] = W[d * i + a, d * j + c]
            if j != i:
                first[k] = d * j
                k += 1
        start[i + 1] = k
    return diagonal, others, start, first


class OfContacts(Frozen):
    """What problems with a Delassus matrix share: u = W r + q, two or three components a contact."""

    W: Matrix
    q: Vector

    tolerance: ClassVar[float] = 1e-8  # on the residual, where the caller states none

    @property
    def contacts(self) -> int:
        raise NotImplementedError

    @property
    def size(self) -> int:
        return self.q.size

    @property
    def dimension(self) -> int:
        """2 or 3 components a contact."""
        return self.q.size // self.contacts if self.contacts else 3

    @cached_property
    def blocks(self) -> ContactBlocks:
        """W by pairs of contacts, made at the first use."""
        return contact_blocks(self.W, self.dimension)

    def value(self, r: Vector) -> Vector:
        """u = W r + q. A diverged r overflows to inf or nan without a warning: the residual is what tells."""
        r, u = point(type(self).__name__, "r", r, self.size), np.empty_like(self.q)
        velocities(self.blocks, self.q, r, u)
        return u

    def check(self, name: str, expected: str) -> None:
        """Make W, q and one number >= 0 a contact canonical."""
        owner = type(self).__name__
        self.hold(W=square(owner, "W", self.W))
        self.hold(q=vector(owner, "q", self.q, self.W.shape[0]))
        values, size = vector(owner, name, getattr(self, name)), self.q.size
        not_negative(owner, name, values, expected)
        if size not in (2 * values.size, 3 * values.size):
            entries = f"q has {size} entries and {name} {values.size}"
            raise InputError(f"{owner}: {entries}, expected 2 or 3 components a contact")
        self.hold(**{name: values})


@kernel
def velocities(W, q, r, u):
    """u = W r + q."""
    D, B, first, start = W.diagonal, W.others, W.first, W.start
    # the rows of B apart: the compiler then computes their addresses once, not for each contact
    one, two = np.uint32(1), np.uint32(2)
    if D.shape[0] == 4:
        B_nn, B_n1, B_1n, B_11 = B[0], B[1], B[2], B[3]
        for i in range(D.shape[1]):
            b = np.uint32(2 * i)
            r_n, r_1 = r[b], r[b + one]
            u_n, u_1 = q[b] + D[0, i] * r_n + D[1, i] * r_1, q[b + one] + D[2, i] * r_n + D[3, i] * r_1
            for k in range(start[i], start[i + 1]):
                j = first[k]
                r_n, r_1 = r[j], r[j + one]
                u_n += B_nn[k] * r_n + B_n1[k] * r_1
                u_1 += B_1n[k] * r_n + B_11[k] * r_1
            u[b], u[b + one] = u_n, u_1
        return
    B_nn, B_n1, B_n2, B_1n, B_11, B_12, B_2n, B_21, B_22 = B[0], B[1], B[2], B[3], B[4], B[5], B[6], B[7], B[8]
    for i in range(D.shape[1]):
        b = np.uint32(3 * i)
        r_n, r_1, r_2 = r[b], r[b + one], r[b + two]
        u_n = q[b] + D[0, i] * r_n + D[1, i] * r_1 + D[2, i] * r_2
        u_1 = q[b + one] + D[3, i] * r_n + D[4, i] * r_1 + D[5, i] * r_2
        u_2 = q[b + two] + D[6, i] * r_n + D[7, i] * r_1 + D[8, i] * r_2
        for k in range(start[i], start[i + 1]):
            j = first[k]
            r_n, r_1, r_2 = r[j], r[j + one], r[j + two]
            u_n += B_nn[k] * r_n + B_n1[k] * r_1 + B_n2[k] * r_2
            u_1 += B_1n[k] * r_n + B_11[k] * r_1 + B_12[k] * r_2
            u_2 += B_2n[k] * r_n + B_21[k] * r_1 + B_22[k] * r_2
        u[b], u[b + one], u[b + two] = u_n, u_1, u_2


@kernel
def without_own(W, q, r, i):
    """q_i + Σ_{j≠i} W_ij r_j."""
    B, first = W.others, W.first
    one, two = np.uint32(1), np.uint32(2)
    if B.shape[0] == 4:
        u_n, u_1 = q[2 * i], q[2 * i + 1]
        for k in range(W.start[i], W.start[i + 1]):
            j = first[k]
            r_n, r_1 = r[j], r[j + one]
            u_n += B[0, k] * r_n + B[1, k] * r_1
            u_1 += B[2, k] * r_n + B[3, k] * r_1
        return u_n, u_1, 0.0
    u_n, u_1, u_2 = q[3 * i], q[3 * i + 1], q[3 * i + 2]
    for k in range(W.start[i], W.start[i + 1]):
        j = first[k]
        r_n, r_1, r_2 = r[j], r[j + one], r[j + two]
        u_n += B[0, k] * r_n + B[1, k] * r_1 + B[2, k] * r_2
        u_1 += B[3, k] * r_n + B[4, k] * r_1 + B[5, k] * r_2
        u_2 += B[6, k] * r_n + B[7, k] * r_1 + B[8, k] * r_2
    return u_n, u_1, u_2


@kernel
def contact_weights(diagonal):
    """ρ_i = d / tr(W_ii), which turns a velocity of contact i into an impulse; 1 where the trace is not positive."""
    d = 2 if diagonal.shape[0] == 4 else 3 if diagonal.shape[0] == 9 else 4
    rho = np.ones(diagonal.shape[1])
    for i in range(rho.size):
        trace = 0.0
        for a in range(d):
            trace += diagonal[(d + 1) * a, i]
        if trace > 0.0:
            rho[i] = d / trace
    return rho


@kernel
def invert_block(W_nn, W_n1, W_n2, W_1n, W_11, W_12, W_2n, W_21, W_22):
    """The determinant and the adjugate of a 3 x 3 block, row by row."""
    A_nn, A_n1, A_n2 = W_11 * W_22 - W_12 * W_21, W_n2 * W_21 - W_n1 * W_22, W_n1 * W_12 - W_n2 * W_11
    A_1n, A_11, A_12 = W_12 * W_2n - W_1n * W_22, W_nn * W_22 - W_n2 * W_2n, W_n2 * W_1n - W_nn * W_12
    A_2n, A_21, A_22 = W_1n * W_21 - W_11 * W_2n, W_n1 * W_2n - W_nn * W_21, W_nn * W_11 - W_n1 * W_1n
    return W_nn * A_nn + W_n1 * A_1n + W_n2 * A_2n, A_nn, A_n1, A_n2, A_1n, A_11, A_12, A_2n, A_21, A_22
