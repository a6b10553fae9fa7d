"""Several solutions of one problem of distributed contacts: a search over contact modes, and from random points.

At a solution each contact is in a mode, and in a mode the conditions of problems/limit_surface.py are equations (in its
scaled x = (c_n, s), y = (a_n, τ)):

    open    c_n = 0,  s = 0
    stick   a_n = 0,  τ = 0
    slip    a_n = 0,  s = P_λB(s - τ);  for the Ellipsoid s = -μ c_n τ / |τ|;  for a given slip s = μ c_n m

and inequalities. Where no contact slips by itself the equations are linear, and one conic program finds out whether
forces meet the inequalities; otherwise Newton's method, damped, starts from random forces in each mode. It also starts
from random forces on the natural map, with no mode in mind. Whatever is found counts only if the problem's own residual
says so. Solutions with the same modes and accelerations are one: their forces are then a family, whose dimension is the
rank that the equations of the mode lack.

The conic program is exact, so a mode without slip is found if it exists (to its tolerance). All else is a search: what
it has not found may exist.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from stickslip.checks import checked, count, instance, positive, whole
from stickslip.errors import InputError
from stickslip.problems.friction_sets import Ellipsoid
from stickslip.problems.limit_surface import LimitSurfaceProblem, judge_limit_surface
from stickslip.problems.matrix import Dense, Vector
from stickslip.solvers.conic import conic_solver
from stickslip.solvers.dense_newton import descend, newton, newton_step
from stickslip.solvers.limit_surface_newton import NaturalMap

OPEN, STICK, SLIP = "open", "stick", "slip"
MOST_MODES = 3**7  # beyond, only random starts
SAME = 1e-6  # accelerations closer than this, relative to the largest, are one solution
STILL = 1e-7  # τ or c_n below this share of the largest is zero, when a mode is named
RANK = 1e-9  # singular values below this share of the largest are zero
STEPS = 60  # of Newton's method from one start
PATIENT = 1e-12  # tolerance of the conic program


@dataclass(frozen=True, eq=False)
class ModeSolution:
    """A solution, and the family of forces it stands for."""

    modes: tuple[str, ...]  # open, stick or slip of each contact
    c: Vector
    a: Vector
    residual: float
    dimension: int  # of the forces with these modes and accelerations around c; 0: they are determined

    def __repr__(self) -> str:
        family = f", forces a family of dimension {self.dimension}" if self.dimension else ""
        return f"ModeSolution({' '.join(self.modes)}, residual={self.residual:.1e}{family})"


@dataclass(frozen=True, eq=False)
class ModeSolutions:
    """The distinct solutions that were found, and where they were looked for. It is a search, not a proof."""

    solutions: tuple[ModeSolution, ...]
    searched: str
    seconds: float

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[ModeSolution]:
        return iter(self.solutions)

    def __getitem__(self, number: int) -> ModeSolution:
        return self.solutions[number]

    def __repr__(self) -> str:
        found = ", ".join(repr(solution) for solution in self.solutions) or "none"
        return f"ModeSolutions({found}; {self.searched})"


@checked(problem=instance(LimitSurfaceProblem), tol=positive, starts=count, seed=whole)
def search_modes(problem: LimitSurfaceProblem, *, tol: float = 1e-10, starts: int = 20, seed: int = 0) -> ModeSolutions:
    """Distinct solutions: `starts` random points in each mode with slip, and 20 times as many on the natural map."""
    started = time.perf_counter()
    random, map_ = np.random.default_rng(seed), NaturalMap.of(problem)
    combinations = modes_of(problem)
    found = []
    for modes in combinations:
        if is_linear(problem, modes):
            found += [feasible(map_, modes)]
        else:
            found += [newton_in_mode(map_, modes, point) for point in random_points(problem, random, starts)]
    anywhere = 20 * starts
    for point in random_points(problem, random, anywhere):
        found.append(newton(map_, point, tol, STEPS)[0])
    solutions = distinct(map_, [x for x in found if x is not None], tol)
    return ModeSolutions(
        tuple(solutions), statement(problem, combinations, starts, anywhere), time.perf_counter() - started
    )


def statement(problem: LimitSurfaceProblem, combinations: list[tuple[str, ...]], starts: int, anywhere: int) -> str:
    linear = sum(is_linear(problem, modes) for modes in combinations)
    if not combinations:
        return f"searched from {anywhere} random points; more than {MOST_MODES} contact modes were not gone through"
    return (
        f"searched {len(combinations)} contact modes, {linear} by a conic program and {len(combinations) - linear} "
        f"from {starts} random points each, and from {anywhere} random points without a mode; not a proof"
    )


def modes_of(problem: LimitSurfaceProblem) -> list[tuple[str, ...]]:
    choices = [(OPEN, SLIP) if slides else (OPEN, STICK, SLIP) for slides in problem.sliding]
    if np.prod([float(len(choice)) for choice in choices]) > MOST_MODES:
        return []
    return list(itertools.product(*choices))


def is_linear(problem: LimitSurfaceProblem, modes: tuple[str, ...]) -> bool:
    """Has the mode linear equations, and a set that the conic program knows?"""
    slips = [mode == SLIP and not slides for mode, slides in zip(modes, problem.sliding, strict=True)]
    return isinstance(problem.surface, Ellipsoid) and not any(slips)


def random_points(problem: LimitSurfaceProblem, random: np.random.Generator, count: int) -> list[Vector]:
    """x with normal forces of the size of the problem, and friction inside its bounds."""
    form, typical = problem.scaled, typical_forces(problem)
    points = []
    for _ in range(count):
        x = np.zeros((problem.contacts, 4))
        x[:, 0] = typical * random.exponential(size=problem.contacts)
        direction = random.normal(size=(problem.contacts, 3)) * form.alive
        length = np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-300)
        x[:, 1:] = problem.mu[:, None] * x[:, :1] * direction / length * random.random((problem.contacts, 1))
        points.append(x.ravel())
    return points


def typical_forces(problem: LimitSurfaceProblem) -> Vector:
    """(nc,) normal forces that make up for the largest acceleration."""
    stiff, size = problem.scaled.W.diagonal[0], float(np.abs(problem.scaled.q).max(initial=0.0)) or 1.0
    return size / np.where(stiff > 0, stiff, 1.0)


def mode_equations(map_: NaturalMap, modes: tuple[str, ...], x: Vector) -> tuple[Vector, Dense]:
    """The equations of a mode and their derivative; (4 nc,) and (4 nc, 4 nc)."""
    problem, W = map_.problem, map_.W
    form = problem.scaled
    y = W @ x + form.q
    value, jacobian = map_(x)
    rho = np.repeat(map_.rho, 4)
    identity = np.eye(x.size)
    for i, mode in enumerate(modes):
        rows = slice(4 * i, 4 * i + 4)
        if mode == OPEN:
            value[rows], jacobian[rows] = x[rows], identity[rows]
            continue
        value[4 * i], jacobian[4 * i] = map_.rho[i] * y[4 * i], map_.rho[i] * W[4 * i]
        s = 4 * i + 1 + np.arange(3)
        alive = form.alive[i]
        if mode == STICK:
            value[s] = np.where(alive, rho[s] * y[s], x[s])
            jacobian[s] = np.where(alive[:, None], rho[s, None] * W[s], identity[s])
        elif problem.sliding[i]:
            value[s] = x[s] - problem.mu[i] * x[4 * i] * map_.ends[i]
            jacobian[s] = identity[s]
            jacobian[s, 4 * i] -= problem.mu[i] * map_.ends[i]
        elif isinstance(problem.surface, Ellipsoid):
            size = float(np.linalg.norm(y[s])) or 1e-300
            along = y[s] / size
            pressed = problem.mu[i] * x[4 * i]
            value[s] = x[s] + pressed * along
            jacobian[s] = identity[s] + pressed * (np.eye(3) - np.outer(along, along)) @ W[s] / size
            jacobian[s, 4 * i] += problem.mu[i] * along
    return value, jacobian


def newton_in_mode(map_: NaturalMap, modes: tuple[str, ...], x: Vector) -> Vector | None:
    """Newton's method on the equations of a mode, each step as short as it must be for |equations| to fall."""
    value, jacobian = mode_equations(map_, modes, x)
    size = float(np.linalg.norm(value))
    for _ in range(STEPS):
        if size <= 1e-14 * (1 + float(np.linalg.norm(x))):
            break
        if not np.isfinite(jacobian).all():
            return None
        found = descend(lambda at: mode_equations(map_, modes, at), x, value, newton_step(value, jacobian))
        if found is None:
            break
        x, value, jacobian = found
        size = float(np.linalg.norm(value))
    return x


def feasible(map_: NaturalMap, modes: tuple[str, ...]) -> Vector | None:
    """Forces of a mode without slip of its own, as deep inside their bounds as can be; None where there are none."""
    value, jacobian = mode_equations(map_, modes, np.zeros(4 * len(modes)))
    sticking = [i for i, mode in enumerate(modes) if mode == STICK]
    opened = [i for i, mode in enumerate(modes) if mode == OPEN]
    x, depth = deepest(map_, jacobian, -value, sticking, opened, map_.problem.mu)
    return x if depth >= -1e-7 else None


def deepest(
    map_: NaturalMap, L: Dense, r: Vector, sticking: list[int], opened: list[int], mu: Vector
) -> tuple[Vector, float]:
    """max t over L x = r, |s_i| <= μ_i c_i - t where it sticks, a_i >= t where it is open, c_i >= t elsewhere, t <= 1,
    in forces and accelerations of the size of the problem. x meets L x = r to rounding; t is -inf where nothing does.
    """
    import clarabel

    form, contacts = map_.problem.scaled, map_.problem.contacts
    n = L.shape[1]
    size = float(np.abs(form.q).max(initial=0.0)) or 1.0
    force = size / float(np.median(form.W.diagonal[0])) if (form.W.diagonal[0] > 0).all() else size
    identity = np.eye(n)
    rows, bounds = [np.append(0.0 * L[0], 1.0)], [1.0]
    for i in range(contacts):
        if i in opened:
            rows.append(np.append(-map_.W[4 * i] * force / size, 1.0))
            bounds.append(float(form.q[4 * i]) / size)
        elif i not in sticking:
            rows.append(np.append(-identity[4 * i], 1.0))
            bounds.append(0.0)
    cones = [clarabel.ZeroConeT(L.shape[0]), clarabel.NonnegativeConeT(len(rows))]
    blocks = [np.column_stack([L, np.zeros(L.shape[0])]), np.array(rows)]
    right = [r / force, np.array(bounds)]
    for i in sticking:
        cone = np.zeros((4, n + 1))
        cone[0, 4 * i], cone[0, n] = -mu[i], 1.0
        cone[1:, 4 * i + 1 : 4 * i + 4] = -np.eye(3)
        blocks.append(cone)
        right.append(np.zeros(4))
        cones.append(clarabel.SecondOrderConeT(4))
    goal = -np.append(np.zeros(n), 1.0)
    program = conic_solver(None, goal, np.vstack(blocks), np.concatenate(right), cones, exact=PATIENT)
    answer = np.array(program.solve().x)
    if not np.isfinite(answer).all():
        return np.zeros(n), -np.inf
    x = force * answer[:n]
    x += linalg.lstsq(L, r - L @ x, cond=1e-12)[0]
    if np.abs(L @ x - r).max(initial=0.0) > 1e-9 * (np.abs(r).max(initial=0.0) + np.abs(x).max(initial=0.0)):
        return x, -np.inf
    return x, float(answer[n])


def distinct(map_: NaturalMap, points: list[Vector], tol: float) -> list[ModeSolution]:
    """The solutions among the points, each once, those that move nothing first."""
    problem, form = map_.problem, map_.problem.scaled
    kept: list[ModeSolution] = []
    for x in points:
        c = form.forces(x)
        if not np.isfinite(c).all():
            continue
        a, error, solved = judge_limit_surface(problem, c, tol)
        if not solved:
            continue
        modes = modes_at(problem, form.coordinates(c), form.E * a)
        values = np.linalg.svd(mode_equations(map_, modes, form.coordinates(c))[1], compute_uv=False)
        dimension = x.size - int((values > RANK * values.max(initial=0.0)).sum())
        new = ModeSolution(modes, c, a, error, dimension)
        same = [k for k, other in enumerate(kept) if is_same(problem, new, other)]
        if not same:
            kept.append(new)
        elif error < kept[same[0]].residual:
            kept[same[0]] = new
    return sorted(kept, key=lambda solution: (float(np.linalg.norm(solution.a)), solution.modes))


def modes_at(problem: LimitSurfaceProblem, x: Vector, y: Vector) -> tuple[str, ...]:
    """The mode of each contact at a solution."""
    force = max(typical_forces(problem).min(initial=np.inf), np.abs(x).max(initial=0.0))
    speed = max(np.abs(problem.scaled.q).max(initial=0.0), np.abs(y).max(initial=0.0))
    names = []
    for i, slides in enumerate(problem.sliding):
        tau = y[4 * i + 1 : 4 * i + 4]
        if x[4 * i] <= STILL * force:
            names.append(OPEN)
        else:
            names.append(SLIP if slides or np.abs(tau).max() > STILL * speed else STICK)
    return tuple(names)


def is_same(problem: LimitSurfaceProblem, one: ModeSolution, other: ModeSolution) -> bool:
    scale = max(np.abs(problem.b).max(initial=0.0), np.abs(one.a).max(initial=0.0))
    if one.modes != other.modes or np.abs(one.a - other.a).max(initial=0.0) > SAME * scale:
        return False
    force = max(typical_forces(problem).min(initial=np.inf), np.abs(one.c).max(initial=0.0))
    forces = np.abs(one.c - other.c).max(initial=0.0) <= SAME * force
    return bool(forces or one.dimension > 0)


@checked(problem=instance(LimitSurfaceProblem))
def jamming_factor(problem: LimitSurfaceProblem) -> tuple[float, Vector]:
    """The least k such that with friction k μ all contacts can stick, and forces that do so; inf where none does.

    min over forces that hold everything still of max |s_i| / (μ_i c_n,i), by Dinkelbach's method: for the k at hand the
    conic program finds the forces deepest inside k μ, and their own greatest ratio is the next k. The k returned is
    that of the forces returned, which hold A c + b = 0 to rounding.
    """
    if not isinstance(problem.surface, Ellipsoid):
        raise InputError(f"jamming_factor: the surface is {problem.surface!r}, expected Ellipsoid()")
    if problem.sliding.any() or not (problem.mu > 0).all():
        raise InputError("jamming_factor: expected contacts that all roll, with friction")
    map_ = NaturalMap.of(problem)
    value, jacobian = mode_equations(map_, (STICK,) * problem.contacts, np.zeros(problem.size))
    k, best = np.inf, np.zeros(problem.size)
    trial = 1e3
    for _ in range(50):
        x, _depth = deepest(map_, jacobian, -value, list(range(problem.contacts)), [], trial * problem.mu)
        found = greatest_ratio(problem, x)
        if np.abs(problem.scaled.E * problem.value(problem.scaled.forces(x))).max() > 1e-9 * np.abs(problem.b).max():
            break
        if not found < k * (1 - 1e-14):
            break
        k, best = found, x
        trial = found
    return float(k), problem.scaled.forces(best)


def greatest_ratio(problem: LimitSurfaceProblem, x: Vector) -> float:
    parts = x.reshape(-1, 4)
    with np.errstate(divide="ignore"):
        ratio = np.where(parts[:, 0] > 0, np.linalg.norm(parts[:, 1:], axis=1) / (problem.mu * parts[:, 0]), np.inf)
    return float(ratio.max())
