"""Distributed contacts: friction force and spin moment share one limit surface, and friction does maximum work [1].

A contact over a small patch has the components normal, tangent, other tangent, spin: n, t, o, r. Find forces c with

    a = A c + b,     0 <= c_n ⊥ a_n >= 0,     (c_t, c_o, c_r) maximises -σ · c' over c' ∈ F(μ c_n)                (1)

contact by contact, F of problems/friction_sets.py. At acceleration level σ is the sliding velocity (v_t, v_o, v_r) of a
contact that slides, and the acceleration (a_t, a_o, a_r) of one that rolls. At velocity level, in a time step, a are
the velocities at its end, c impulses, and every contact "rolls": σ = a.

With s = (c_t / e_t, c_o / e_o, c_r / e_r) and τ = (e_t σ_t, e_o σ_o, e_r σ_r) the set is λ B, λ = μ c_n, and all
components are forces, or accelerations. The maximum-work condition of (1) is a variational inequality, and its natural
map is the residual:

    min(c_n, a_n),      s - P_λB(s - τ),      λ = μ max(c_n, 0).                                                (2)

Of a given slip only the direction matters, so its τ is given the length λ.

[1] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import as_floats, finite, vector
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.blocks import ContactBlocks, contact_blocks, contact_weights, dense_blocks
from stickslip.problems.friction_sets import (
    ELLIPSOID,
    FrictionSet,
    FrictionSets,
    SetsData,
    friction_set,
    nearest,
    sets_data,
)
from stickslip.problems.matrix import Dense, Frozen, Indices, Matrix, Vector, affine, both_sides, not_negative, square

TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class LimitSurfaceProblem(Frozen):
    """Find c with a = A c + b, 0 <= c_n ⊥ a_n >= 0 and friction of maximum work, (1) of problems/limit_surface.py."""

    A: Matrix  # (4 nc, 4 nc)  dense or SciPy-sparse, contact by contact in the order n, t, o, r
    b: Vector  # (4 nc,)
    mu: Vector  # (nc,)        friction coefficient, >= 0
    e: Dense  # (nc, 3)        e_t, e_o [-], e_r [m]; 0 where a component carries nothing: e_r = 0 is a point contact
    slip: Any = None  # (nc, 3)   v_t, v_o, v_r; a zero row, or None, is a contact that rolls
    surface: FrictionSet | FrictionSets | Any = ELLIPSOID  # B, of all contacts, or a sequence, one for each
    state: Any = None  # (nc, 5)   (speed, x, y, z, time) for the function of a FrictionMap; 0 where None

    tolerance: ClassVar[float] = 1e-8  # on the residual, where the caller states none

    def __post_init__(self) -> None:
        owner = "LimitSurfaceProblem"
        self.hold(A=square(owner, "A", self.A))
        self.hold(b=vector(owner, "b", self.b, self.A.shape[0]))
        self.hold(mu=vector(owner, "mu", self.mu))
        nc = self.mu.size
        if self.b.size != 4 * nc:
            raise InputError(f"{owner}: b has {self.b.size} entries and mu {nc}, expected 4 components a contact")
        self.hold(e=rows_of(owner, "e", self.e, (nc, 3)))
        for name in ("mu", "e"):
            not_negative(owner, name, getattr(self, name), "a number")
        for name, shape in (("slip", (nc, 3)), ("state", (nc, 5))):
            given = getattr(self, name)
            self.hold(**{name: np.zeros(shape) if given is None else rows_of(owner, name, given, shape)})
        self.hold(surface=friction_set(owner, self.surface, nc))

    @property
    def size(self) -> int:
        return self.b.size

    @property
    def contacts(self) -> int:
        return self.mu.size

    @property
    def sliding(self) -> NDArray[np.bool_]:
        """(nc,)   has a slip of its own, along components that carry friction."""
        return np.asarray((self.slip * self.e).any(axis=1))

    def value(self, c: Vector) -> Vector:
        """a = A c + b."""
        c = as_floats("LimitSurfaceProblem", "c", c)
        if c.shape != self.b.shape:
            raise InputError(f"LimitSurfaceProblem: c has shape {c.shape}, expected {self.b.shape}")
        return affine(self.A, c, self.b)

    @cached_property
    def scaled(self) -> ScaledProblem:
        """The problem in s and τ, made at the first use."""
        sets = sets_data(self.surface, self.contacts)
        if isinstance(self.A, np.ndarray):
            E, way, q, *blocks = scaled_dense(self.A, self.b, self.e, self.slip)
            W = ContactBlocks(*blocks)
        else:
            E, way = scales(self.e, self.slip)
            W, q = contact_blocks(both_sides(self.A, E), 4), E * self.b
        return ScaledProblem(E, W, q, self.mu, way, self.e > 0, self.state, sets)

    def __repr__(self) -> str:
        return f"LimitSurfaceProblem(contacts={self.contacts}, surface={self.surface!r})"


def rows_of(owner: str, name: str, value: Any, shape: tuple[int, int]) -> Dense:
    array = as_floats(owner, name, value)
    if array.shape != shape:
        raise InputError(f"{owner}: {name} has shape {array.shape}, expected {shape}")
    finite(owner, name, array)
    return array


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """y = W x + q with x = (c_n, s), y = (a_n, τ) contact by contact: everything a force, or an acceleration."""

    E: Vector  # (4 nc,)   c = E x, y = E a; a component with e = 0 has 0 here
    W: ContactBlocks  # E A E in 4 x 4 blocks
    q: Vector  # (4 nc,)   E b
    mu: Vector  # (nc,)
    way: Dense  # (nc, 3)   τ / |τ| of a given slip; zero for a contact that rolls
    alive: NDArray[np.bool_]  # (nc, 3)   e > 0
    state: Dense  # (nc, 5)
    set: SetsData

    @property
    def law(self) -> tuple[Vector, Dense, NDArray[np.bool_], Dense, Indices, Dense, Any]:
        """What kernels need to know of the contacts beside W and q."""
        return self.mu, self.way, self.alive, self.state, self.set.kind, self.set.planes, self.set.gauge

    def forces(self, x: Vector) -> Vector:
        """c from (c_n, s)."""
        return self.E * x

    def coordinates(self, c: Vector) -> Vector:
        """(c_n, s) from c; a component that carries nothing keeps what it has."""
        return np.divide(c, self.E, out=c.copy(), where=self.E > 0)


@kernel
def scaled_dense(A, b, e, slip):
    """E and way of ScaledProblem, q and the blocks of a dense W, in one call."""
    E, way = scales(e, slip)
    W, q = np.empty_like(A), np.empty_like(b)
    for i in range(b.size):
        q[i] = E[i] * b[i]
        for j in range(b.size):
            W[i, j] = A[i, j] * E[j] * E[i]
    diagonal, others, start, first = dense_blocks(W, 4)
    return E, way, q, diagonal, others, start, first


@kernel
def scales(e, slip):
    """E and way of ScaledProblem."""
    E, way = np.ones(4 * len(e)), np.zeros_like(e)
    for i in range(len(e)):
        length = math.sqrt((e[i, 0] * slip[i, 0]) ** 2 + (e[i, 1] * slip[i, 1]) ** 2 + (e[i, 2] * slip[i, 2]) ** 2)
        for j in range(3):
            E[4 * i + 1 + j] = e[i, j]
            if length > 0.0:
                way[i, j] = e[i, j] * slip[i, j] / length
    return E, way


def judge_limit_surface(problem: LimitSurfaceProblem, c: Vector, tol: float) -> tuple[Vector, float, bool]:
    """a, the residual of (2), and whether c solves the problem."""
    a = problem.value(c)
    form = problem.scaled
    return a, *judge_forces(form.E, form.W.diagonal, c, a, form.q, *form.law, tol)


@kernel
def judge_forces(E, diagonal, c, a, q, mu, way, alive, state, kind, planes, gauge, tol):
    """`judge_contacts` of forces c and accelerations a."""
    x, y = c.copy(), np.empty_like(a)
    for i in range(c.size):
        y[i] = E[i] * a[i]
        if E[i] > 0.0:
            x[i] = c[i] / E[i]
    return judge_contacts(diagonal, x, y, q, mu, way, alive, state, kind, planes, gauge, tol)


@kernel
def judge_contacts(diagonal, x, y, q, mu, way, alive, state, kind, planes, gauge, tol):
    """The residual, |(2)| / max(|q|, |x|, |y|), and whether it is at most tol and to be believed."""
    one = np.ones(mu.size)
    law = (mu, way, alive, state, kind, planes, gauge)
    distance, size_x, size_y, size_q = natural_lengths(x, y, q, *law, one, one)
    scale = max(size_q, size_x, size_y)
    if not (distance < np.inf and scale < np.inf):
        return np.inf, False
    error = distance / scale if scale > TINY else distance
    if not error <= tol:
        return error, False
    rho = contact_weights(diagonal)
    distance, size_x, size_y, size_q = natural_lengths(x, y, q, *law, 1.0 / np.sqrt(rho), np.sqrt(rho))
    distance += TINY * size_x  # what x - y hides of y
    return error, distance <= math.sqrt(tol) * max(size_q, size_y)


@kernel
def natural_lengths(x, y, q, mu, way, alive, state, kind, planes, gauge, force, speed):
    """|(2)|, |x|, |y|, |q| in the variables force_i x_i, speed_i y_i; inf where one is not finite."""
    target, near, D = np.empty(3), np.empty(3), np.empty((3, 3))
    total, x_x, y_y, q_q = 0.0, 0.0, 0.0, 0.0
    for i in range(mu.size):
        f, v, b = force[i], speed[i], 4 * i
        c_n, a_n = f * x[b], v * y[b]
        total += min(c_n, a_n) ** 2
        bound = mu[i] * max(c_n, 0.0)
        slides = way[i, 0] != 0.0 or way[i, 1] != 0.0 or way[i, 2] != 0.0
        for j in range(3):
            tau = bound * way[i, j] if slides else v * y[b + 1 + j]
            target[j] = f * x[b + 1 + j] - tau
        own = planes[kind[i, 1] : kind[i, 2]]
        nearest(kind[i, 0], own, gauge, state[i], alive[i], bound, target, near, D, False)
        for j in range(3):
            total += (f * x[b + 1 + j] - near[j]) ** 2
        for j in range(b, b + 4):
            x_x += (f * x[j]) ** 2
            y_y += (v * y[j]) ** 2
            q_q += (v * q[j]) ** 2
    whole = total + x_x + y_y + q_q
    if not whole < np.inf:
        return np.inf, np.inf, np.inf, np.inf
    return math.sqrt(total), math.sqrt(x_x), math.sqrt(y_y), math.sqrt(q_q)
