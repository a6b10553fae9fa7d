"""Nonsmooth Newton for friction problems, with a proximal point loop around it for redundant contacts.

Two equations that hold just where the law does, contact by contact, y = r - u:

    Alart-Curnier [1]    F_n = r_n - max(0, y_n),   F_t = r_t - P(y_t) on the disc |.| <= μ max(0, y_n)        (1)
    natural map [2]      F = r - P_K(r - ũ),   ũ = u + μ |u_t| e_n                                             (2)

(1) is Coulomb's law; (2) with ũ = u is also the associated one. With F' = A + B W, block diagonal A and B from the
generalised derivatives (the shift μ|u_t| included), a Newton step solves

    (A + B W) dr = -F                                                                                          (3)

and is shortened until |F| falls below the largest of the last MEMORY values. F is not smooth, and |F| has valleys that
are no solutions: where no step down to SHORTEST does, the full one is taken, whatever |F| says.

W is often singular, and (3) then is too. So W is replaced by W + α and q by q - α c, c the impulses at hand [3]. A few
Newton steps on that problem, until |F| has fallen to the share REDUCTION or STEPS are made, give the next c. α is
lowered after quick success and raised after failure; impulses of a failure are kept if they lower the residual.
A fixed point r = c solves the problem itself, whatever α is: nothing is regularised in the answer.

Where there is no solution r grows without bound, and a residual relative to |r| falls all the same. So progress is
measured relative to velocities alone, by the error that makes a residual believable in problems/residual.py.

All in scaled variables, r_i / s_i and s_i u_i with s_i = √(d / tr W_ii), where each diagonal block of W has trace d:
there the weights (usually ρ) of r against u are 1, and F has one unit.

[1] Alart, Curnier, A mixed formulation for frictional contact problems prone to Newton like solution methods, Computer
    Methods in Applied Mechanics and Engineering 92 (1991) 353-375.
[2] Christensen, Pang, Frictional contact algorithms based on semismooth Newton methods, in Reformulation: Nonsmooth,
    Piecewise Smooth, Semismooth and Smoothing Methods, Kluwer 1998.
[3] Acary, Brémond, Huber, On solving contact problems with Coulomb friction: formulations and numerical comparisons,
    in Advanced Topics in Nonsmooth Dynamics, Springer 2018.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from stickslip.checks import checked, count, not_negative, one_of
from stickslip.errors import InputError
from stickslip.jit import bare, kernel
from stickslip.problems.blocks import ContactBlocks, contact_blocks, velocities
from stickslip.problems.cone import ConeProblem
from stickslip.problems.matrix import Dense, Sparse, Vector, as_sparse, both_sides
from stickslip.problems.residual import cone_velocity_error, length, relative_cone_map
from stickslip.solvers.block_lu import MOST_CONTACTS, MOST_UPDATES, BlockPattern, analyse, blank
from stickslip.solvers.block_lu import factorise as factorise_blocks
from stickslip.solvers.block_lu import solve as back_substitute
from stickslip.solvers.linear import factorise
from stickslip.solvers.solution import Solution, Status, conclude, expect, start_from

MEMORY = 20  # values of |F| with which a step is compared
ARMIJO = 1e-3
SHORTEST = 0.1
REDUCTION = 0.7  # of |F| asked of a proximal problem
STEPS = 20  # in one proximal problem at most
QUICK = 8  # steps up to which α is lowered
LOWER, RAISE = 0.5, 10.0  # α after quick success and after failure
FAITHFUL = 1e-6  # relative error of (3) up to which elimination without row exchanges is trusted
SMALLEST, LARGEST = 1e-10, 1e4  # α at least; beyond, the method has failed


@dataclass(frozen=True, kw_only=True)
@checked(tol=not_negative, max_iter=count, equation=one_of("alart_curnier", "natural_map"), proximal=not_negative)
class ConeNewton:
    """Nonsmooth Newton for ConeProblem; an iteration is one linear system (3)."""

    tol: float = 1e-8
    equation: Literal["alart_curnier", "natural_map"] = "natural_map"
    proximal: float = 1e-2  # the first α, relative to the trace of W_ii; 0 for Newton's method alone
    max_iter: int = 1000

    def __post_init__(self) -> None:
        if not 0.0 <= self.proximal < LARGEST:
            raise InputError(f"ConeNewton: proximal is {self.proximal}, expected a number >= 0 below {LARGEST:g}")

    def solve(self, problem: ConeProblem, x0: Vector | None = None) -> Solution:
        """Solve from x0, or from zero."""
        started = expect(self, problem, ConeProblem)
        if problem.law != "coulomb" and self.equation == "alart_curnier":
            raise InputError(
                f"ConeNewton: equation 'alart_curnier' is Coulomb's law and the problem's is {problem.law!r}, "
                "expected equation='natural_map'"
            )
        system = scaled(problem)
        with np.errstate(all="ignore"):  # overflow shows in the residual
            run = plain if self.proximal == 0.0 else proximal_point
            r, ended, iterations = run(self, system, start_from(problem, x0))
        return conclude(problem, self, r, ended, iterations, started)


class System(NamedTuple):
    """The problem in scaled variables, and the pattern of (3) where that is small enough for block_lu."""

    problem: ConeProblem
    scale: Vector  # (d nc,) s: r = s * (scaled r), u = (scaled u) / s
    W: Sparse
    q: Vector
    blocks: ContactBlocks
    elimination: BlockPattern | None

    def residual(self, r: Vector, u: Vector) -> float:
        """The problem's own."""
        problem = self.problem
        return float(relative_cone_map(self.scale * r, u / self.scale, problem.q, problem.mu, problem.shift))

    def error(self, r: Vector, u: Vector) -> float:
        """Relative to velocities alone."""
        return float(cone_velocity_error(self.blocks.diagonal, r, u, self.q, self.problem.mu, self.problem.shift))

    def solved(self, r: Vector, u: Vector, tol: float) -> bool:
        # conclude multiplies by W in another order of summation, hence 0.999
        return self.error(r, u) <= math.sqrt(0.999 * tol) and self.residual(r, u) <= 0.999 * tol


class Linearised(NamedTuple):
    """F, and the blocks of its derivative A + B W."""

    F: Vector  # (d nc,)
    A: Dense  # (nc, d, d)
    B: Dense  # (nc, d, d)

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.F))


class Proximal(NamedTuple):
    """How Newton's method on one proximal problem ended."""

    r: Vector
    reached: bool  # |F| as small as asked
    steps: int


def scaled(problem: ConeProblem) -> System:
    d = problem.dimension
    scale = contact_scale(problem)
    W = both_sides(as_sparse(problem.W), scale)
    return System(problem, scale, W, scale * problem.q, contact_blocks(W, d), elimination(problem))


def elimination(problem: ConeProblem) -> BlockPattern | None:
    if not 0 < problem.contacts <= MOST_CONTACTS:
        return None
    found = analyse(problem.blocks, MOST_UPDATES)
    return found if found.start.size else None


def contact_scale(problem: ConeProblem) -> Vector:
    """s_i = √(d / tr W_ii) for each component, 1 where the trace is zero."""
    return np.repeat(np.sqrt(problem.weights), problem.dimension)


def plain(settings: ConeNewton, system: System, r: Vector) -> tuple[Vector, Status, int]:
    """Newton's method alone. Returns the last r."""
    scaled_r = r / system.scale
    end = newton(settings, system, scaled_r, system.W @ scaled_r + system.q, 0.0, 0.0, settings.max_iter)
    if end.steps == 0:
        return r, Status.STALLED, 0
    return system.scale * end.r, Status.MAX_ITER if end.steps == settings.max_iter else Status.STALLED, end.steps


def proximal_point(settings: ConeNewton, system: System, r: Vector) -> tuple[Vector, Status, int]:
    """Proximal problems one after the other. Returns the solution, or the r with the least error on the way."""
    best, r = r, r / system.scale
    u = system.W @ r + system.q
    error = least = system.error(r, u)
    alpha, steps = settings.proximal, 0
    while not system.solved(r, u, settings.tol):
        if steps >= settings.max_iter:
            return best, Status.MAX_ITER, steps
        target = REDUCTION * linearised(settings, system, r, u).length
        end = newton(settings, system, r, u, alpha, target, min(STEPS, settings.max_iter - steps))
        steps += max(end.steps, 1)
        end_u = system.W @ end.r + system.q
        end_error = system.error(end.r, end_u)
        if end.reached or end_error < error:
            r, u, error = end.r, end_u, end_error
        if error < least:
            best, least = system.scale * r, error
        if not end.reached:
            alpha *= RAISE
        elif end.steps <= QUICK:
            alpha = max(LOWER * alpha, SMALLEST)
        if not alpha <= LARGEST:
            return best, Status.STALLED, steps
    return best if steps == 0 else system.scale * r, Status.SOLVED, steps


def newton(
    settings: ConeNewton, system: System, centre: Vector, u: Vector, alpha: float, target: float, limit: int
) -> Proximal:
    """Newton's method for W + α, q - α c from the centre c, until |F| <= target or the residual of the problem itself
    is at most tol."""
    r = centre
    state = linearised(settings, system, r, u)
    recent: deque[float] = deque(maxlen=MEMORY)
    for steps in range(limit + 1):
        if state.length <= target or system.solved(r, u - alpha * (r - centre), settings.tol):
            return Proximal(r, True, steps)
        if steps == limit:
            break
        dr = newton_step(system, state, alpha)
        if dr is None or not np.isfinite(dr).all():
            break
        du = system.W @ dr + alpha * dr
        recent.append(state.length)
        step, state = line_search(settings, system, r, u, dr, du, max(recent))
        r, u = r + step * dr, u + step * du
    return Proximal(r, False, steps)


def newton_step(system: System, state: Linearised, alpha: float) -> Vector | None:
    """dr of (3) with W + α; None where the matrix is singular.

    By block_lu, which does not exchange rows between contacts, where what it finds solves (3) to FAITHFUL.
    """
    if system.elimination is not None:
        dr = np.empty_like(state.F)
        if eliminate(system.elimination, system.blocks, state.F, state.A, state.B, alpha, dr) <= FAITHFUL:
            return dr
    factor = factorise(newton_matrix(system.blocks, state.A, state.B, alpha))
    return None if factor is None else factor.solve(-state.F)


def newton_matrix(W: ContactBlocks, A: Dense, B: Dense, alpha: float) -> Sparse:
    """A + B (W + α), with all entries of its blocks, be they zero or not."""
    own, others = newton_blocks(W, A, B, alpha)
    count, every = np.diff(W.start), np.arange(len(own))
    rows, columns = np.append(every, np.repeat(every, count)), np.append(every, W.first // A.shape[1])
    order, start = np.lexsort((columns, rows)), np.append(0, np.cumsum(count + 1))
    return sparse.bsr_array((np.concatenate([own, others])[order], columns[order], start)).tocsr()


@kernel
def newton_blocks(W, A, B, alpha):
    """The blocks of A + B (W + α): those on the diagonal, and the others."""
    d = A.shape[1]
    own, others = np.empty_like(A), np.empty((W.first.size, d, d))
    for i in range(A.shape[0]):
        for a in range(d):
            for c in range(d):
                entry = A[i, a, c] + alpha * B[i, a, c]
                for e in range(d):
                    entry += B[i, a, e] * W.diagonal[d * e + c, i]
                own[i, a, c] = entry
        for k in range(W.start[i], W.start[i + 1]):
            for a in range(d):
                for c in range(d):
                    entry = 0.0
                    for e in range(d):
                        entry += B[i, a, e] * W.others[d * e + c, k]
                    others[k, a, c] = entry
    return own, others


def line_search(
    settings: ConeNewton, system: System, r: Vector, u: Vector, dr: Vector, du: Vector, worst: float
) -> tuple[float, Linearised]:
    """The first of 1, ½, ¼ … that brings |F| below the worst recent value, 1 where none down to SHORTEST does."""
    full = state = linearised(settings, system, r + dr, u + du)
    step = 1.0
    while not state.length <= (1.0 - ARMIJO * step) * worst:
        step *= 0.5
        if step < SHORTEST:
            return 1.0, full
        state = linearised(settings, system, r + step * dr, u + step * du)
    return step, state


def linearised(settings: ConeNewton, system: System, r: Vector, u: Vector) -> Linearised:
    problem, d = system.problem, system.problem.dimension
    blocks = (problem.contacts, d, d)
    result = Linearised(np.empty(problem.size), np.empty(blocks), np.empty(blocks))
    EQUATIONS[settings.equation](r, u, problem.mu, problem.shift, *result)
    return result


@bare
def alart_curnier(r, u, mu, shift, F, A, B):
    """(1) and its derivatives by r (A) and by u (B)."""
    d = A.shape[1]
    for i in range(mu.size):
        b = d * i
        clear(A[i], B[i])
        y_n, y_1, y_2 = r[b] - u[b], r[b + 1] - u[b + 1], r[b + 2] - u[b + 2] if d == 3 else 0.0
        y_t = math.sqrt(y_1 * y_1 + y_2 * y_2)
        if y_n <= 0.0:  # open
            for a in range(d):
                F[b + a], A[i, a, a] = r[b + a], 1.0
        elif y_t <= mu[i] * y_n:  # stick
            for a in range(d):
                F[b + a], B[i, a, a] = u[b + a], 1.0
        else:  # slip: r_t = μ y_n t, t the direction of y_t
            t_1, t_2, across = y_1 / y_t, y_2 / y_t, mu[i] * y_n / y_t
            F[b], B[i, 0, 0] = u[b], 1.0
            F[b + 1], A[i, 1, 0], B[i, 1, 0] = r[b + 1] - mu[i] * y_n * t_1, -mu[i] * t_1, mu[i] * t_1
            B[i, 1, 1], A[i, 1, 1] = across * t_2 * t_2, 1.0 - across * t_2 * t_2
            if d == 3:
                F[b + 2], A[i, 2, 0], B[i, 2, 0] = r[b + 2] - mu[i] * y_n * t_2, -mu[i] * t_2, mu[i] * t_2
                B[i, 2, 2], A[i, 2, 2] = across * t_1 * t_1, 1.0 - across * t_1 * t_1
                A[i, 1, 2] = A[i, 2, 1] = across * t_1 * t_2
                B[i, 1, 2] = B[i, 2, 1] = -across * t_1 * t_2


@bare
def clear(A, B):
    for a in range(A.shape[0]):
        for c in range(A.shape[0]):
            A[a, c] = B[a, c] = 0.0


@bare
def natural_map(r, u, mu, shift, F, A, B):
    """(2) and its derivatives by r (A) and by u (B): A = I - P', B = P' ũ'."""
    d = A.shape[1]
    for i in range(mu.size):
        b = d * i
        clear(A[i], B[i])
        P = B[i]  # the derivative of the projection
        slip, y_t = 0.0, 0.0
        for a in range(1, d):
            y_t += (r[b + a] - u[b + a]) ** 2
            slip += u[b + a] * u[b + a]
        slip, y_t = math.sqrt(slip), math.sqrt(y_t)
        y_n = r[b] - u[b] - shift[i] * slip
        for a in range(d):
            F[b + a] = r[b + a]
        if mu[i] * y_t <= -y_n:  # open: the projection is zero
            pass
        elif y_t <= mu[i] * y_n:  # stick: it is the identity
            for a in range(d):
                F[b + a], P[a, a] = u[b + a], 1.0
            F[b] += shift[i] * slip
        else:  # slip: it is p_n (1, μ t), t the direction of y_t
            square = 1.0 + mu[i] * mu[i]
            p_n = (y_n + mu[i] * y_t) / square
            across = mu[i] * p_n / y_t
            F[b] -= p_n
            P[0, 0] = 1.0 / square
            for a in range(1, d):
                t_a = (r[b + a] - u[b + a]) / y_t
                F[b + a] -= mu[i] * p_n * t_a
                P[0, a] = P[a, 0] = mu[i] * t_a / square
                for c in range(1, d):
                    P[a, c] = (mu[i] * mu[i] / square - across) * t_a * (r[b + c] - u[b + c]) / y_t
                P[a, a] += across
        for a in range(d):
            for c in range(d):
                A[i, a, c] = -P[a, c]
            A[i, a, a] += 1.0
            if slip > 0.0:
                for c in range(1, d):
                    P[a, c] += P[a, 0] * shift[i] * u[b + c] / slip


EQUATIONS = {"alart_curnier": alart_curnier, "natural_map": natural_map}


@kernel
def eliminate(pattern, W, F, A, B, alpha, dr):
    """dr of (3) by block_lu; returns |(A + B (W + α)) dr + F| / |F|, inf where a block is singular."""
    n, d = A.shape[0], A.shape[1]
    M, x = blank(pattern), np.zeros((n, 3))
    fill(pattern, W, A, B, alpha, M)
    if not factorise_blocks(pattern, M):
        return np.inf
    for i in range(n):
        for a in range(d):
            x[i, a] = -F[d * i + a]
    back_substitute(pattern, M, x)
    for i in range(n):
        for a in range(d):
            dr[d * i + a] = x[i, a]
    du = np.empty_like(dr)
    velocities(W, np.zeros_like(dr), dr, du)
    error = np.empty_like(dr)
    for i in range(n):
        for a in range(d):
            total = F[d * i + a]
            for c in range(d):
                j = d * i + c
                total += A[i, a, c] * dr[j] + B[i, a, c] * (du[j] + alpha * dr[j])
            error[d * i + a] = total
    return length(error) / length(F)


@kernel
def fill(pattern, W, A, B, alpha, M):
    """A + B (W + α) in the order of elimination; M is zero before."""
    d = A.shape[1]
    own, others = newton_blocks(W, A, B, alpha)
    for a in range(d):
        for c in range(d):
            at = 3 * a + c
            for k in range(pattern.order.size):
                M.diagonal[k, at] = own[pattern.order[k], a, c]
            for k in range(others.shape[0]):
                f = pattern.own[k]
                if f >= 0:
                    M.lower[f, at] = others[k, a, c]
                else:
                    M.upper[-1 - f, at] = others[k, a, c]
    if d == 2:
        M.diagonal[:, 8] = 1.0
