"""How far a point is from solving its problem: one yardstick per problem, used by every solver and every test.

    LCP           | min(z, w) |₂ / |q|₂
    MixedLCP      | z - P(z - w) |₂ / |q|₂        P projects on [lower, upper]; all finite bounds zero
                  | z - P(z - w) |₂ / (1 + |q|₂)  otherwise: then the bounds set a scale of their own
    ConeProblem   | r - P_K(r - ũ) |₂ / max(|q|₂, |r|₂, |u|₂),   ũ = u + μ|u_t| e_n  (De Saxcé)
                  the same with ũ = u under the associated law
    Cylinder…     | r - P_C(r - u) |₂ / max(|q|₂, |r|₂, |u|₂)
    LimitSurface… | (2) of problems/limit_surface.py |₂ / max(|q|₂, |x|₂, |y|₂),  in its scaled x and y

These are the definitions of FCLIB and Siconos, so that figures compare. No division where the scale is zero; of
friction problems, where it is below 2.2e-16, as there.
NaN and Inf never read as small: whatever is not finite gives inf.

A residual relative to |r| becomes small where r grows without bound, solution or not: two walls that close on a body
are "solved" by huge impulses. So a residual of tol is believed only if the velocities are right as well,

    | r - P_K(r - ũ) |₂ + ε |r|₂ <= √tol max(|q|₂, |u|₂)    in scaled variables r_i / s_i and s_i u_i,  s_i = √ρ_i,

ρ_i = d / tr(W_ii), in which each W_ii has trace d and impulses compare with velocities: see `judge`. ε |r| is what
rounding hides of u in r - ũ.

Sums in another order give other residuals. An answer to a (mixed) LCP solves it only if no order would give more than
tol: with w_i uncertain by

    e_i = (2 + √n_i) ε (Σ_j |M_ij z_j| + |q_i|),    n_i the number of terms,

wherever the residual of row i depends on it. Where terms cancel so far that e alone exceeds tol, no answer in this
arithmetic can be trusted to tol, and none is called solved.

With step length 1 in the projection the cone residual depends on units. `unit_free_residual` does not: it
projects with ρ_i and weighs velocities by ρ_i in the norms.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from stickslip.checks import checked, instance
from stickslip.jit import kernel
from stickslip.problems.blocks import ContactBlocks, contact_weights, velocities
from stickslip.problems.cone import ConeProblem
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem, judge_limit_surface
from stickslip.problems.matrix import Vector, affine, point
from stickslip.problems.mixed import MixedLCP

TINY = float(np.finfo(np.float64).eps)
LARGEST = float(np.finfo(np.float64).max)
NEVER = -1.0  # a tolerance that no residual meets
SMALL = 1e-100  # a sum of squares between this and its inverse has lost nothing worth having


Problem: TypeAlias = LCP | MixedLCP | ConeProblem | CylinderProblem | LimitSurfaceProblem
PROBLEMS = get_args(Problem)


@checked(problem=instance(*PROBLEMS))
def residual(problem: Any, x: ArrayLike, y: Vector | None = None) -> float:
    """The residual of x by the problem's own yardstick; y is problem.value(x) where it is at hand."""
    x = point("residual", "x", x, problem.size)
    if y is None or isinstance(problem, LimitSurfaceProblem):
        return judge(problem, x, NEVER)[1]  # the machine code that judges an answer: the same bits
    y = point("residual", "y", y, problem.size)
    if isinstance(problem, LCP | MixedLCP):
        return judge_at(problem, x, y, NEVER)[0]
    if isinstance(problem, ConeProblem):
        return float(relative_cone_map(x, y, problem.q, problem.mu, problem.shift))
    return float(relative_cylinder_map(x, y, problem.q, problem.bound))


def judge(problem: Any, x: Vector, tol: float) -> tuple[Vector, float, bool]:
    """problem.value(x), the residual, and whether x solves the problem: a residual of tol or less, and believable."""
    if isinstance(problem, ConeProblem):
        u = np.empty(x.size)
        return u, *judge_blocks(*problem.blocks, problem.q, problem.mu, problem.shift, tol, x, u)
    if isinstance(problem, CylinderProblem):
        u = np.empty(x.size)
        return u, *judge_cylinder(problem.blocks, problem.q, problem.bound, tol, x, u)
    if isinstance(problem, LimitSurfaceProblem):
        return judge_limit_surface(problem, x, tol)
    y = affine(problem.M, x, problem.q)
    return y, *judge_at(problem, x, y, tol)


def judge_at(problem: LCP | MixedLCP, x: Vector, y: Vector, tol: float) -> tuple[float, bool]:
    """The residual of x, where y = problem.value(x), and whether x solves the problem."""
    q, lower, upper = problem.q, problem.lower, problem.upper
    if isinstance(problem.M, np.ndarray):
        return judge_box(problem.M, q, lower, upper, tol, x, y)
    error = float(relative_box_map(x, y, q, lower, upper))
    return error, error <= tol and rounded_residual(problem, x, y) <= tol


def residual_scale(problem: LCP | MixedLCP) -> float:
    """What the residual is relative to."""
    return (float(length(problem.q)) + (0.0 if problem.is_conic else 1.0)) or 1.0


def without_far_bounds(problem: LCP | MixedLCP, tol: float, alike: float = 0.0) -> LCP | MixedLCP:
    """The problem without the bounds that are so far away that the rounding of M z there is more than tol of q, or q
    less than the share `alike` of M z; itself where it has none."""
    size = np.asarray(abs(sparse.csr_array(problem.M)).sum(axis=0)).ravel()  # of the columns of M
    bounds, size_of_q = np.stack([problem.lower, problem.upper]), length(problem.q)
    with np.errstate(over="ignore"):
        terms = size * np.abs(np.where(np.isfinite(bounds), bounds, 0.0))
        far = (TINY * terms > tol * residual_scale(problem)) | ((alike * terms > size_of_q) & (size_of_q > 0.0))
    if not far.any():
        return problem
    return MixedLCP(problem.M, problem.q, *np.where(far, [[-np.inf], [np.inf]], bounds))


def row_errors(problem: LCP | MixedLCP, x: Vector, y: Vector) -> Vector:
    """How wrong each row is for its own size, whatever its units: errors of w_i over the sum of the sizes of its terms,
    errors of z_i by what they change in every w, likewise."""
    size = abs(problem.M)
    terms = size @ np.abs(x) + np.abs(problem.q)
    terms = np.where(terms > 0.0, terms, 1.0)
    off = np.clip(y, x - problem.upper, x - problem.lower)
    beside = off != y  # there the error is one of z
    changes = size.multiply(1.0 / terms[:, None]).max(axis=0) if sparse.issparse(size) else size / terms[:, None]
    most = np.asarray(changes.toarray() if sparse.issparse(changes) else changes.max(axis=0, initial=0.0)).ravel()
    return np.abs(off) * np.where(beside, most, 1.0 / terms)


def surest_residual(problem: LCP | MixedLCP, x: Vector) -> float:
    """The residual that x has at most, whichever way it is summed."""
    y = problem.value(x)
    return max(residual(problem, x, y), rounded_residual(problem, x, y))


def rounded_residual(problem: LCP | MixedLCP, x: Vector, y: Vector) -> float:
    """The greatest residual that sums in another order may give."""
    q, lower, upper = problem.q, problem.lower, problem.upper
    if sparse.issparse(problem.M):
        terms = abs(problem.M) @ np.abs(x) + np.abs(q)
        rounding = (2.0 + np.sqrt(np.diff(problem.M.indptr))) * TINY * terms
    else:
        rounding = rounding_of(problem.M, x, q)
    return float(relative_box_map_up_to(x, y, q, lower, upper, rounding))


@checked(problem=instance(ConeProblem))
def unit_free_residual(problem: ConeProblem, x: ArrayLike) -> float:
    """The cone residual with ρ_i = d / tr(W_ii): the same whatever the units of force and velocity."""
    r = point("residual", "x", x, problem.size)
    u, one, rho = problem.value(r), np.ones(problem.contacts), problem.weights
    distance, *sizes = cone_lengths(r, u, problem.q, problem.mu, problem.shift, one, rho)
    return float(relative_to_data(distance, max(sizes)))  # no unit to compare with


@kernel
def length(x):
    """|x|₂ without overflow or underflow; NaN and Inf come through."""
    largest = 0.0
    for i in range(x.size):
        a = abs(x[i])
        if not a <= largest:  # true for NaN too
            largest = a
            if not a < np.inf:
                return a
    if largest == 0.0:
        return 0.0
    scale = max(largest, 1e-300)  # 1/scale must not overflow: compiled code multiplies by it
    total = 0.0
    for i in range(x.size):
        total += (x[i] / scale) ** 2
    root = math.sqrt(total)
    if scale > 1.0 and root > LARGEST / scale:
        return np.inf
    return scale * root


@kernel
def relative_box_map(z, w, q, lower, upper):
    """|z - P(z - w)|, relative to `box_scale`."""
    return relative_to_data(box_map_length(z, w, lower, upper), box_scale(q, lower, upper))


@kernel
def box_scale(q, lower, upper):
    """|q|, or 1 + |q| where a bound is neither zero nor infinite."""
    conic = True
    for i in range(q.size):
        conic = conic and (lower[i] == 0.0 or lower[i] == -np.inf) and (upper[i] == 0.0 or upper[i] == np.inf)
    return length(q) if conic else 1.0 + length(q)


@kernel
def judge_box(M, q, lower, upper, tol, z, w):
    """The residual of a dense problem, and whether z solves it, in one call."""
    error = relative_box_map(z, w, q, lower, upper)
    return error, error <= tol and relative_box_map_up_to(z, w, q, lower, upper, rounding_of(M, z, q)) <= tol


@kernel
def rounding_of(M, z, q):
    """e_i of a dense M."""
    error = np.empty(q.size)
    for i in range(q.size):
        terms = abs(q[i])
        for j in range(q.size):
            terms += abs(M[i, j] * z[j])
        error[i] = (2.0 + math.sqrt(q.size)) * TINY * terms
    return error


@kernel
def relative_box_map_up_to(z, w, q, lower, upper, error):
    """The largest |z - P(z - w')| over all w' within `error` of w, relative as in `relative_box_map`."""
    map_ = np.empty(z.size)
    for i in range(z.size):
        at_least = abs(median(z[i] - upper[i], w[i] - error[i], z[i] - lower[i]))
        most = max(at_least, abs(median(z[i] - upper[i], w[i] + error[i], z[i] - lower[i])))
        map_[i] = most + min(most, TINY * abs(z[i]))  # as z - P(z - w) is rounded where it is computed as written
    return relative_to_data(length(map_), box_scale(q, lower, upper))


@kernel
def median(low, x, high):
    """x brought between low and high; z - P(z - w) is w between z - upper and z - lower."""
    return min(max(x, low), high)


@kernel
def relative_to_data(distance, scale):
    """distance / scale, however small the scale is: q of 1e-20 is no rounding. Inf where either is not finite, since
    distance / inf would read as zero."""
    if not (distance < np.inf and scale < np.inf):
        return np.inf
    return distance / scale if scale > 0.0 else distance


@kernel
def over(distance, scale):
    """The same, undivided where the scale is rounding, as Siconos has it for friction."""
    if not (distance < np.inf and scale < np.inf):
        return np.inf
    return distance / scale if scale > TINY else distance


@kernel
def box_map_length(z, w, lower, upper):
    """|z - P(z - w)| over the box [lower, upper]."""
    map_ = np.empty(z.size)
    for i in range(z.size):
        if not (abs(z[i]) < np.inf and abs(w[i]) < np.inf):
            return np.inf
        map_[i] = median(z[i] - upper[i], w[i], z[i] - lower[i])  # z - w would lose a small w beside a large z
    return length(map_)


@kernel
def project_cone(mu, y_n, y_1, y_2):
    """Nearest point of K = {|r_t| <= μ r_n} to y. Nothing is allocated."""
    return project(mu, y_n, y_1, y_2, abs(y_1) if y_2 == 0.0 else math.hypot(y_1, y_2))


@kernel
def project(mu, y_n, y_1, y_2, y_t):
    """The same with y_t = |(y_1, y_2)| at hand."""
    # polar cone first: at mu = 0 the cone is a ray, and the next test alone would keep y_n < 0
    if mu * y_t <= -y_n:
        return 0.0, 0.0, 0.0
    if y_t <= mu * y_n:
        return y_n, y_1, y_2
    r_n = (y_n + mu * y_t) / (1.0 + mu * mu)
    if y_t < 1e-300:  # 1/y_t must not overflow: compiled code multiplies by it
        return r_n, 0.0, 0.0
    return r_n, mu * r_n * y_1 / y_t, mu * r_n * y_2 / y_t


@kernel
def cone_map_length(r, u, mu, shift, rho):
    """|r - P_K(r - ρ ũ)|, ũ = u + shift |u_t| e_n, over all contacts."""
    return cone_lengths(r, u, u, mu, shift, np.ones(mu.size), rho)[0]


@kernel
def judge_cone(W, q, mu, shift, tol, r, u):
    """u = W r + q in place; the residual, and whether r solves the problem."""
    velocities(W, q, r, u)
    return judge_velocities(W.diagonal, q, mu, shift, tol, r, u)


@kernel
def judge_velocities(diagonal, q, mu, shift, tol, r, u):
    """The same where u = W r + q is at hand."""
    error = relative_cone_map(r, u, q, mu, shift)
    return error, error <= tol and cone_velocity_error(diagonal, r, u, q, mu, shift) <= math.sqrt(tol)


@kernel
def judge_blocks(diagonal, others, start, first, q, mu, shift, tol, r, u):
    """The same for a call from Python, where each array goes over faster than a tuple of arrays."""
    return judge_cone(ContactBlocks(diagonal, others, start, first), q, mu, shift, tol, r, u)


@kernel
def relative_cone_map(r, u, q, mu, shift):
    """|r - P_K(r - ũ)| / max(|q|, |r|, |u|), one call."""
    one = np.ones(mu.size)
    distance, size_r, size_u, size_q = cone_lengths(r, u, q, mu, shift, one, one)
    return over(distance, max(size_q, size_r, size_u))


@kernel
def cone_velocity_error(diagonal, r, u, q, mu, shift):
    """(|r - P_K(r - ũ)| + ε |r|) / max(|q|, |u|) in scaled variables; `diagonal` is that of ContactBlocks."""
    scale = np.sqrt(contact_weights(diagonal))
    distance, size_r, size_u, size_q = cone_lengths(r, u, q, mu, shift, 1.0 / scale, scale)
    return by_velocities(distance, size_r, size_u, size_q)


@kernel
def cone_lengths(r, u, q, mu, shift, force, speed):
    """|r - P_K(r - ũ)|, |r|, |u| and |q| in the variables force_i r_i, speed_i u_i and speed_i q_i; inf if one is not
    finite. Where their squares could overflow or underflow, all are divided by the largest first."""
    distance, r_r, u_u, q_q = cone_squares(r, u, q, mu, shift, force, speed, 1.0)
    if SMALL < r_r + u_u + q_q < 1.0 / SMALL:
        return math.sqrt(distance), math.sqrt(r_r), math.sqrt(u_u), math.sqrt(q_q)
    d = r.size // max(mu.size, 1)
    largest = 0.0
    for j in range(r.size):
        for x in (force[j // d] * r[j], speed[j // d] * u[j], speed[j // d] * q[j]):
            if not abs(x) < np.inf:
                return np.inf, np.inf, np.inf, np.inf
            largest = max(largest, abs(x))
    largest = max(largest, 1e-300)
    distance, r_r, u_u, q_q = cone_squares(r, u, q, mu, shift, force, speed, 1.0 / largest)
    return largest * math.sqrt(distance), largest * math.sqrt(r_r), largest * math.sqrt(u_u), largest * math.sqrt(q_q)


@kernel
def cone_squares(r, u, q, mu, shift, force, speed, unit):
    """The squares of these lengths, in multiples of 1 / unit. Nothing is allocated."""
    d = 2 if r.size == 2 * mu.size else 3
    distance, r_r, u_u, q_q = 0.0, 0.0, 0.0, 0.0
    for i in range(mu.size):
        b = d * i
        f, s = unit * force[i], unit * speed[i]
        r_n, r_1, r_2 = f * r[b], f * r[b + 1], f * r[b + 2] if d == 3 else 0.0
        u_n, u_1, u_2 = s * u[b], s * u[b + 1], s * u[b + 2] if d == 3 else 0.0
        q_n, q_1, q_2 = s * q[b], s * q[b + 1], s * q[b + 2] if d == 3 else 0.0
        y_n, y_1, y_2 = r_n - u_n - shift[i] * math.sqrt(u_1 * u_1 + u_2 * u_2), r_1 - u_1, r_2 - u_2
        p_n, p_1, p_2 = project(mu[i], y_n, y_1, y_2, math.sqrt(y_1 * y_1 + y_2 * y_2))
        distance += (r_n - p_n) ** 2 + (r_1 - p_1) ** 2 + (r_2 - p_2) ** 2
        r_r += r_n * r_n + r_1 * r_1 + r_2 * r_2
        u_u += u_n * u_n + u_1 * u_1 + u_2 * u_2
        q_q += q_n * q_n + q_1 * q_1 + q_2 * q_2
    return distance, r_r, u_u, q_q


@kernel
def by_velocities(distance, size_r, size_u, size_q):
    """`distance` and what r - u hides of u, relative to velocities alone."""
    return relative_to_data(distance + TINY * size_r, max(size_q, size_u))


@kernel
def judge_cylinder(W, q, bound, tol, r, u):
    """The same over cylinders."""
    velocities(W, q, r, u)
    error = relative_cylinder_map(r, u, q, bound)
    return error, error <= tol and cylinder_velocity_error(W.diagonal, r, u, q, bound) <= math.sqrt(tol)


@kernel
def relative_cylinder_map(r, u, q, bound):
    """|r - P_C(r - u)| / max(|q|, |r|, |u|)."""
    d = 2 if r.size == 2 * bound.size else 3
    return over(cylinder_map_length(r, u, bound, d), max(length(q), length(r), length(u)))


@kernel
def cylinder_velocity_error(diagonal, r, u, q, bound):
    """`cone_velocity_error` over cylinders."""
    rho = contact_weights(diagonal)
    d = 2 if diagonal.shape[0] == 4 else 3
    s = np.repeat(np.sqrt(rho), d)
    distance = cylinder_map_length(r / s, s * u, bound / np.sqrt(rho), d)
    return by_velocities(distance, length(r / s), length(s * u), length(s * q))


@kernel
def cylinder_map_length(r, u, bound, d):
    """|r - P_C(r - u)| over all contacts of dimension d."""
    map_ = np.empty(r.size)
    for j in range(r.size):
        if not (abs(r[j]) < np.inf and abs(u[j]) < np.inf):
            return np.inf
    for i in range(bound.size):
        b = d * i
        map_[b] = min(r[b], u[b])
        y_1 = r[b + 1] - u[b + 1]
        y_2 = r[b + 2] - u[b + 2] if d == 3 else 0.0
        y = math.hypot(y_1, y_2)
        share = bound[i] / y if y > bound[i] else 1.0
        map_[b + 1] = r[b + 1] - share * y_1 if y > bound[i] else u[b + 1]
        if d == 3:
            map_[b + 2] = r[b + 2] - share * y_2 if y > bound[i] else u[b + 2]
    return length(map_)
