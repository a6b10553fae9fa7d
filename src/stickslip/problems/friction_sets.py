"""Friction sets of distributed contacts: which tangential forces and spin moments a normal force can hold.

    F(λ) = {(c_t, c_o, c_r) : (c_t / e_t, c_o / e_o, c_r / e_r) ∈ λ B},      λ = μ c_n,                           (1)

with a bounded convex set B around zero, the same for all contacts or one for each, and the sizes e of each. In
s = (c_t / e_t, c_o / e_o, c_r / e_r) everything is a force. A component with e = 0 carries nothing: e_r = 0
is a point contact, e = (1, 0, 0) a contact in the plane. The sets of Trinkle and Pang [1], and any other:

    Ellipsoid     |s| <= 1
    Mixed         |(s_t, s_o)| <= 1, |s_r| <= 1: force and moment do not share
    Polyhedron    N s <= 1, row by row
    FrictionMap   f(s) <= 1 for a function of the user's, its gauge
    FrictionSets  one of these for each contact

All that solvers ask of a set is the nearest point P_λB(y) and its derivative D. Since P_λB(y) = λ P_B(y / λ),

    ∂P/∂λ = (P - D y) / λ.                                                                                     (2)

The nearest point to a gauge's set solves  x + κ n = y,  n = ∇f(x),  f(x) = λ  for x and κ >= 0, here by Newton's method
with the derivative of n by differences; f(x) = λ is kept by scaling x. Its D is (I + κ n')⁻¹ along the surface.

[1] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numba
import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import Refused, checked, floats, instance, shown, tuple_of
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.problems.blocks import invert_block
from stickslip.problems.matrix import Dense, Frozen, Indices, Vector, frozen

BALL, MIXED, POLYHEDRON, GAUGE = range(4)
NO_PLANES = np.zeros((0, 3))
GAUGE_SIGNATURE = numba.types.UniTuple(numba.float64, 4)(*[numba.float64] * 8)
CHOICE_SIGNATURE = numba.types.UniTuple(numba.float64, 4)(*[numba.float64] * 9)  # which of several gauges, and the same
NEAR = 1e-14  # |y - x - κ n| / |y| at which a nearest point is exact
ROUGH = 1e-9  # above which it was not found
SHIFT = 1e-7  # step of differences, as a share of |x|
NEWTON_LIMIT = 60
SAMPLES = 64  # directions in which a user's function is tried

Gauge: TypeAlias = Callable[..., tuple[float, float, float, float]]


class SetsData(NamedTuple):
    """The friction sets of several contacts as kernels take them."""

    kind: Indices  # (nc, 3)   kind, from GAUGE on that FrictionMap, and where its rows of planes begin and end
    planes: Dense  # (m, 3)   rows N of all Polyhedrons
    gauge: Any  # the compiled function of the FrictionMaps, or None


class OneSet:
    """What the sets have that may be that of one contact."""

    kind: ClassVar[int]

    @property
    def data(self) -> SetsData:
        """One contact with this set, as kernels take it."""
        return sets_data(self, 1)


@dataclass(frozen=True)
class Ellipsoid(OneSet):
    """(c_t / e_t)² + (c_o / e_o)² + (c_r / e_r)² <= λ²: force and moment share one limit surface."""

    radius: ClassVar[float] = 1.0
    kind: ClassVar[int] = BALL


@dataclass(frozen=True)
class Mixed(OneSet):
    """(c_t / e_t)² + (c_o / e_o)² <= λ², |c_r| <= e_r λ: a disc and an interval."""

    radius: ClassVar[float] = math.sqrt(2.0)
    kind: ClassVar[int] = MIXED


@dataclass(frozen=True, eq=False)
class Polyhedron(OneSet, Frozen):
    """N (c_t / e_t, c_o / e_o, c_r / e_r) <= λ, row by row. The rows must bound the set on all sides."""

    planes: Dense  # (m, 3)   N

    kind: ClassVar[int] = POLYHEDRON

    def __post_init__(self) -> None:
        planes = floats("Polyhedron", "planes", self.planes)
        if planes.ndim != 2 or planes.shape[1] != 3:
            raise InputError(f"Polyhedron: planes has shape {planes.shape}, expected (m, 3)")
        self.hold(planes=planes)
        if not bounds_all_sides(planes):
            raise InputError("Polyhedron: planes leave the set unbounded, expected rows on all sides of zero")

    @classmethod
    def inside_ellipsoid(cls, directions: ArrayLike) -> Polyhedron:
        """The polyhedron whose faces touch the unit ball in the given directions (m, 3)."""
        rows = floats("Polyhedron.inside_ellipsoid", "directions", directions)
        if rows.ndim != 2 or rows.shape[1] != 3 or not rows.any(axis=1).all():
            raise Refused(
                "Polyhedron.inside_ellipsoid", "directions", directions, "directions (m, 3), none of them zero"
            )
        return cls(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    @cached_property
    def vertices(self) -> Dense:
        """(k, 3)"""
        triples = [list(chosen) for chosen in itertools.combinations(range(len(self.planes)), 3)]
        regular = [rows for rows in triples if abs(np.linalg.det(self.planes[rows])) > 1e-12]
        corners = np.array([np.linalg.solve(self.planes[rows], np.ones(3)) for rows in regular])
        return frozen(corners[(corners @ self.planes.T <= 1 + 1e-9).all(axis=1)])

    @property
    def radius(self) -> float:
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def __repr__(self) -> str:
        return f"Polyhedron(planes={len(self.planes)})"


def bounds_all_sides(planes: Dense) -> bool:
    """Is {N s <= 1} bounded? It is where 0 is inside the convex hull of the rows: no d other than 0 has N d <= 0."""
    from scipy.optimize import linprog

    if len(planes) < 4 or np.linalg.matrix_rank(planes) < 3:
        return False
    return all(
        linprog(sign * axis, A_ub=planes, b_ub=np.ones(len(planes)), bounds=(None, None)).status == 0
        for axis in np.eye(3)
        for sign in (1.0, -1.0)
    )


@dataclass(frozen=True, eq=False)
class FrictionMap(OneSet):
    """The user's own set {s : f(s) <= λ}, or law: f is compiled and runs inside the solver.

    f(s_t, s_o, s_r, speed, x, y, z, time) returns its value and its three derivatives by s. It must be a gauge: convex,
    positive but at zero, f(k s) = k f(s) for k >= 0, and smooth but at zero. `speed`, (x, y, z) and `time` are the
    sliding speed, the place and the time of the contact, as the problem states them: a coefficient of friction that
    depends on them divides s.
    """

    f: Gauge

    radius: ClassVar[float] = math.nan  # not known
    kind: ClassVar[int] = GAUGE

    def __post_init__(self) -> None:
        if not callable(self.f) or isinstance(self.f, type):
            raise Refused("FrictionMap", "f", self.f, "a function of 8 numbers that returns 4")
        check_gauge(self.f)
        _ = self.plain  # what cannot be compiled is refused here

    @cached_property
    def plain(self) -> Any:
        """f, compiled."""
        try:
            return numba.njit(GAUGE_SIGNATURE, error_model="numpy")(self.f)
        except Exception as error:  # numba raises many kinds; all say why the function cannot be compiled
            reason = str(error).strip().splitlines()[0]
            raise InputError(
                f"FrictionMap: f cannot be compiled, expected a function of 8 numbers that returns 4: {reason}"
            ) from error

    def __repr__(self) -> str:
        return f"FrictionMap({getattr(self.f, '__name__', 'f')})"


@lru_cache(maxsize=64)
def one_of(maps: tuple[FrictionMap, ...]) -> Any:
    """The gauges of several maps as one compiled function, whose first argument is the number of the one meant."""
    last = maps[-1].plain
    chosen: Any = lambda which, t, o, r, v, x, y, z, time: last(t, o, r, v, x, y, z, time)  # noqa: E731
    for each in maps[-2::-1]:
        chosen = either(each.plain, numba.njit(error_model="numpy")(chosen))
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return chosen
    return numba.cfunc(CHOICE_SIGNATURE, error_model="numpy")(chosen)


def either(first: Any, others: Any) -> Any:
    def chosen(which: Any, t: Any, o: Any, r: Any, v: Any, x: Any, y: Any, z: Any, time: Any) -> Any:
        if which < 0.5:
            return first(t, o, r, v, x, y, z, time)
        return others(which - 1.0, t, o, r, v, x, y, z, time)

    return chosen


FrictionSet: TypeAlias = Ellipsoid | Mixed | Polyhedron | FrictionMap
ELLIPSOID = Ellipsoid()


@dataclass(frozen=True, eq=False)
@checked(sets=tuple_of(instance(Ellipsoid, Mixed, Polyhedron, FrictionMap)))
class FrictionSets:
    """One set for each contact."""

    sets: tuple[FrictionSet, ...]

    @property
    def radius(self) -> float:
        return max((each.radius for each in self.sets), key=lambda radius: math.inf if math.isnan(radius) else radius)

    def __repr__(self) -> str:
        return f"FrictionSets({', '.join(dict.fromkeys(repr(each) for each in self.sets))})"


def friction_set(owner: str, given: Any, contacts: int) -> FrictionSet | FrictionSets:
    """A set for all contacts, or one for each; those that are all the same are one."""
    expected = "Ellipsoid(), Mixed(), Polyhedron(…) or FrictionMap(f), for all contacts or one for each"
    sets = given.sets if isinstance(given, FrictionSets) else tuple(given) if isinstance(given, Sequence) else (given,)
    if not all(isinstance(each, FrictionSet) for each in sets):
        raise Refused(owner, "surface", given, expected)
    if not isinstance(given, FrictionSets | Sequence):
        return sets[0]
    if len(sets) != contacts:
        raise InputError(f"{owner}: surface has {len(sets)} sets, expected {contacts}, one for each contact")
    if not sets:
        return ELLIPSOID
    return sets[0] if all(each == sets[0] for each in sets) else FrictionSets(sets)


@lru_cache(maxsize=64)
def sets_data(surface: FrictionSet | FrictionSets, contacts: int) -> SetsData:
    """The sets of all contacts for kernels."""
    sets = surface.sets if isinstance(surface, FrictionSets) else contacts * (surface,)
    maps = tuple(dict.fromkeys(each for each in sets if isinstance(each, FrictionMap)))
    shapes = list(dict.fromkeys(each for each in sets if isinstance(each, Polyhedron)))
    ends = np.cumsum([0, *(len(each.planes) for each in shapes)]).tolist()
    known: dict[Any, tuple[int, int, int]] = {each: (GAUGE + i, 0, 0) for i, each in enumerate(maps)}
    known |= {each: (POLYHEDRON, ends[i], ends[i + 1]) for i, each in enumerate(shapes)}
    rows = [known.get(each, (each.kind, 0, 0)) for each in sets]
    planes = np.vstack([each.planes for each in shapes]) if shapes else NO_PLANES
    return SetsData(frozen(np.array(rows, np.int64).reshape(-1, 3)), frozen(planes), one_of(maps) if maps else None)


def check_gauge(f: Gauge) -> None:
    """Refuse a function that is visibly no gauge, tried in SAMPLES directions."""
    points = np.random.default_rng(0).normal(size=(SAMPLES, 3))

    def at(s: Vector) -> tuple[float, Vector]:
        try:
            value, n_t, n_o, n_r = f(*map(float, s), 0.1, 0.0, 0.0, 0.0, 0.0)
            return float(value), np.array([n_t, n_o, n_r], np.float64)
        except Exception as error:  # whatever the user's function raises, or returns
            raise InputError(f"FrictionMap: f at s = {shown(s)} fails: {shown(error)}, expected 4 numbers") from error

    for a, b in itertools.pairwise(points):
        (f_a, n_a), (f_b, _), (f_m, _), (f_2, _) = at(a), at(b), at(0.5 * (a + b)), at(2 * a)
        small = 1e-9 * (abs(f_a) + abs(f_b))
        numbers = (f_a, f_b, f_m, f_2, *n_a)
        if not (all(map(math.isfinite, numbers)) and f_a > 0):
            fault = f"is {f_a:g}, expected a positive finite number"
        elif abs(f_2 - 2 * f_a) > 10 * small:
            fault = f"is {f_a:g} and {f_2:g} at twice that, expected f(k s) = k f(s)"
        elif f_m > 0.5 * (f_a + f_b) + small:
            fault = "lies below its value halfway to another point, expected a convex function"
        elif np.abs(differences(at, a) - n_a).max() > 1e-5 * (1 + np.abs(n_a).max()):
            fault = f"has the slope {differences(at, a)} by differences, not {n_a} as it returns"
        else:
            continue
        raise InputError(f"FrictionMap: f at s = ({a[0]:.3g}, {a[1]:.3g}, {a[2]:.3g}) {fault}")


def differences(at: Callable[[Vector], tuple[float, Vector]], s: Vector) -> Vector:
    step = 1e-6
    return np.array([(at(s + step * axis)[0] - at(s - step * axis)[0]) / (2 * step) for axis in np.eye(3)])


@kernel
def nearest(kind, planes, gauge, at, alive, bound, y, x, D, want):
    """x = P_λB(y) with λ = `bound`, and where wanted D = ∂x/∂y; components that are not alive come out zero.

    `at` is the state (speed, x, y, z, time). A gauge whose nearest point is not found gives NaN.
    """
    for j in range(3):
        x[j] = y[j] if alive[j] else 0.0
        for k in range(3):
            D[j, k] = 1.0 if j == k and alive[j] else 0.0
    if bound <= 0.0:
        x[:] = 0.0
        D[:] = 0.0
    elif kind == BALL:
        onto_ball(bound, 3, x, D)
    elif kind == MIXED:
        onto_ball(bound, 2, x, D)
        if abs(x[2]) > bound:
            x[2] = math.copysign(bound, x[2])
            D[2, 2] = 0.0
    elif kind == POLYHEDRON:
        onto_polyhedron(planes, alive, bound, x, D)
    elif gauge is not None:
        onto_gauge(gauge, kind - GAUGE, at, alive, bound, x, D, want)


@kernel
def onto_ball(bound, d, x, D):
    """The first d components of x and D, cut to length `bound`."""
    square = 0.0
    for j in range(d):
        square += x[j] * x[j]
    if not square > bound * bound:
        return
    size = math.sqrt(square)
    share = bound / size
    for j in range(d):
        for k in range(d):
            D[j, k] = share * (D[j, k] - x[j] / size * (x[k] / size))
    for j in range(d):
        x[j] *= share


@kernel
def onto_polyhedron(planes, alive, bound, x, D):
    """x and D on {N x <= bound}: the face, edge or corner whose multipliers are all of the right sign."""
    count = planes.shape[0]
    N = np.zeros((count, 3))
    for k in range(count):
        for j in range(3):
            if alive[j]:
                N[k, j] = planes[k, j]
    y = x.copy()
    small = 1e-12 * (bound + abs(y[0]) + abs(y[1]) + abs(y[2]))
    if fits(N, bound, small, y):
        return
    for i in range(count):
        if on_planes(N, bound, small, y, i, -1, -1, x, D):
            return
    for i in range(count):
        for j in range(i):
            if on_planes(N, bound, small, y, i, j, -1, x, D):
                return
    for i in range(count):
        for j in range(i):
            for k in range(j):
                if on_planes(N, bound, small, y, i, j, k, x, D):
                    return
    x[:] = np.nan


@kernel
def fits(N, bound, small, x):
    for k in range(N.shape[0]):
        size = abs(N[k, 0]) + abs(N[k, 1]) + abs(N[k, 2])
        if N[k, 0] * x[0] + N[k, 1] * x[1] + N[k, 2] * x[2] > bound + small * size:
            return False
    return True


@kernel
def on_planes(N, bound, small, y, i, j, k, x, D):
    """Is the nearest point to y where the planes i, j and k (-1: none) meet? Then x and D are set.

    By Gram and Schmidt: y goes to plane i, then along it to the others; the multipliers follow backwards.
    """
    chosen = (i, j, k)
    count = 1 if j < 0 else 2 if k < 0 else 3
    Q, R = np.zeros((3, 3)), np.zeros((3, 3))
    for a in range(count):
        for c in range(3):
            Q[a, c] = N[chosen[a], c]
        for b in range(a):
            R[b, a] = Q[a, 0] * Q[b, 0] + Q[a, 1] * Q[b, 1] + Q[a, 2] * Q[b, 2]
            for c in range(3):
                Q[a, c] -= R[b, a] * Q[b, c]
        size = math.sqrt(Q[a, 0] ** 2 + Q[a, 1] ** 2 + Q[a, 2] ** 2)
        if size <= 1e-10 * (abs(N[chosen[a], 0]) + abs(N[chosen[a], 1]) + abs(N[chosen[a], 2])):
            return False
        R[a, a] = size
        for c in range(3):
            Q[a, c] /= size
    excess, share = np.zeros(3), np.zeros(3)  # of y beyond the planes, in Q; multipliers
    point = y.copy()
    for a in range(count):
        wanted = bound
        for b in range(a):
            wanted -= R[b, a] * share[b]  # share holds the coordinates of the point in Q for now
        share[a] = wanted / R[a, a]
        excess[a] = y[0] * Q[a, 0] + y[1] * Q[a, 1] + y[2] * Q[a, 2] - share[a]
        for c in range(3):
            point[c] -= excess[a] * Q[a, c]
    for a in range(count - 1, -1, -1):
        share[a] = excess[a]
        for b in range(a + 1, count):
            share[a] -= R[a, b] * share[b]
        share[a] /= R[a, a]
        if share[a] < -small:
            return False
    if not fits(N, bound, small, point):
        return False
    x[:] = point
    for a in range(count):
        for b in range(3):
            for c in range(3):
                D[b, c] -= Q[a, b] * Q[a, c]
    return True


@kernel
def onto_gauge(gauge, which, at, alive, bound, x, D, want):
    """x and D on {f(x) <= bound}, f that of the gauges."""
    y, n, d, r, step = x.copy(), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    value = slope(gauge, which, at, alive, y, n)
    if value <= bound:
        return
    size = abs(y[0]) + abs(y[1]) + abs(y[2])
    H, M, V = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    trial, best = np.empty(3), np.inf
    step[:] = 0.0
    length = 1.0
    kappa = 0.0
    for _ in range(NEWTON_LIMIT):
        for j in range(3):
            trial[j] = (y[j] if best == np.inf else x[j]) + length * step[j]
        value = slope(gauge, which, at, alive, trial, n)
        pull, square, error = 0.0, 0.0, 0.0
        for j in range(3):
            trial[j] *= bound / value
            d[j] = y[j] - trial[j]
            pull += d[j] * n[j]
            square += n[j] * n[j]
        for j in range(3):
            r[j] = d[j] - pull / square * n[j]
            error += abs(r[j])
        if not error < best:
            if length < 1e-3 or best <= ROUGH * size * 1e-3:
                break
            length *= 0.25
            continue
        best, kappa, length = error, pull / square, 1.0
        x[:] = trial
        if error <= NEAR * size:
            break
        curve(gauge, which, at, alive, x, n, H)
        along_surface(kappa, H, n, M, V)
        for j in range(3):
            step[j] = V[j, 0] * r[0] + V[j, 1] * r[1] + V[j, 2] * r[2]
    if not best <= ROUGH * size:
        x[:] = np.nan
    if want:
        slope(gauge, which, at, alive, x, n)
        curve(gauge, which, at, alive, x, n, H)
        along_surface(kappa, H, n, M, D)
        for j in range(3):
            if not alive[j]:
                D[j, :] = 0.0
                D[:, j] = 0.0


@kernel
def slope(gauge, which, at, alive, x, n):
    """f at x, and n = ∇f along the components that are alive."""
    value, n[0], n[1], n[2] = gauge(which, x[0], x[1], x[2], at[0], at[1], at[2], at[3], at[4])
    for j in range(3):
        if not alive[j]:
            n[j] = 0.0
    return value


@kernel
def curve(gauge, which, at, alive, x, n, H):
    """H = ∂n/∂x by differences, symmetric; zero along components that are not alive."""
    shift = SHIFT * (abs(x[0]) + abs(x[1]) + abs(x[2]))
    for k in range(3):
        x_0, x_1, x_2 = x[0], x[1], x[2]
        if k == 0:
            x_0 += shift
        elif k == 1:
            x_1 += shift
        else:
            x_2 += shift
        _, H[0, k], H[1, k], H[2, k] = gauge(which, x_0, x_1, x_2, at[0], at[1], at[2], at[3], at[4])
        for j in range(3):
            H[j, k] = (H[j, k] - n[j]) / shift if alive[j] and alive[k] else 0.0
    for j in range(3):
        for k in range(j):
            H[j, k] = H[k, j] = 0.5 * (H[j, k] + H[k, j])


@kernel
def along_surface(kappa, H, n, M, V):
    """V: the inverse of I + κ H on the tangent plane of n, zero along n. M is room to work."""
    for j in range(3):
        for k in range(3):
            M[j, k] = kappa * H[j, k] + (1.0 if j == k else 0.0)
    invert(M, V)
    m_0 = V[0, 0] * n[0] + V[0, 1] * n[1] + V[0, 2] * n[2]
    m_1 = V[1, 0] * n[0] + V[1, 1] * n[1] + V[1, 2] * n[2]
    m_2 = V[2, 0] * n[0] + V[2, 1] * n[1] + V[2, 2] * n[2]
    l_0 = V[0, 0] * n[0] + V[1, 0] * n[1] + V[2, 0] * n[2]
    l_1 = V[0, 1] * n[0] + V[1, 1] * n[1] + V[2, 1] * n[2]
    l_2 = V[0, 2] * n[0] + V[1, 2] * n[1] + V[2, 2] * n[2]
    whole = n[0] * m_0 + n[1] * m_1 + n[2] * m_2
    V[0, 0], V[0, 1], V[0, 2] = V[0, 0] - m_0 * l_0 / whole, V[0, 1] - m_0 * l_1 / whole, V[0, 2] - m_0 * l_2 / whole
    V[1, 0], V[1, 1], V[1, 2] = V[1, 0] - m_1 * l_0 / whole, V[1, 1] - m_1 * l_1 / whole, V[1, 2] - m_1 * l_2 / whole
    V[2, 0], V[2, 1], V[2, 2] = V[2, 0] - m_2 * l_0 / whole, V[2, 1] - m_2 * l_1 / whole, V[2, 2] - m_2 * l_2 / whole


@kernel
def invert(M, V):
    """V = M⁻¹ of a 3 x 3 matrix by its adjugate; returns the determinant, and inf or nan in V where that is zero."""
    det, V[0, 0], V[0, 1], V[0, 2], V[1, 0], V[1, 1], V[1, 2], V[2, 0], V[2, 1], V[2, 2] = invert_block(
        M[0, 0], M[0, 1], M[0, 2], M[1, 0], M[1, 1], M[1, 2], M[2, 0], M[2, 1], M[2, 2]
    )
    for j in range(3):
        for k in range(3):
            V[j, k] /= det
    return det
