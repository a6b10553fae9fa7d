"""Contacts over small patches: friction force and spin moment share one limit surface [1].

    0 <= p_n ⊥ u_n >= 0,      (p_t, p_o, p_r) maximises -(u_t, u_o, u_r) · p' over p' ∈ F(μ p_n)

at the velocities u of the end of the step, the twin of problems/limit_surface.py in time. The set F is one of
problems/friction_sets.py, with the sizes e = (e_t, e_o, e_r): (e_t, e_o) of the formulation, e_r the `patch` of the
materials, in metres: what moment a contact holds over what force. For a disc of radius a under even pressure that is
2/3 a, for a ring a. Without patches it is Coulomb's law.

Anisotropic friction has its axes fixed in a body, along `grain` and across it: e_t is for the way along. With a
FrictionMap the coefficient may depend on the state at the start of the step: sliding speed, place, time.

[1] Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from stickslip.errors import InputError
from stickslip.friction.active import ActiveRows, active_contacts, active_rows
from stickslip.friction.cones import cone_impulses, cone_rows, cone_start
from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.directions import SLIP_SPEED
from stickslip.friction.impact import NEWTON, Impact, check_impact, check_speed
from stickslip.friction.stabilisation import GENTLE, Stabilisation, check_stabilisation
from stickslip.problems.friction_sets import ELLIPSOID, Ellipsoid, FrictionMap, FrictionSet, Mixed
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Matrix, Vector


@dataclass(frozen=True)
class LimitSurface:
    """Friction with spin, over patches whose size the materials give. A Relaxation acts on the normals only."""

    surface: FrictionSet = ELLIPSOID
    sizes: tuple[float, float] = (1.0, 1.0)  # e_t, e_o: friction along and across the grain is e μ
    grain: tuple[float, float, float] | None = None  # axis of e_t, fixed in a body, its own axes; None: any direction
    grain_of: Literal["first", "second"] = "first"  # which of the two bodies of a contact has it, in the scene's order
    stabilisation: Stabilisation = GENTLE
    impact: Impact = NEWTON
    slip_speed: float = SLIP_SPEED  # above which friction is kinetic   [m/s]

    solver: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        check_stabilisation("LimitSurface", self.stabilisation)
        check_impact("LimitSurface", self.impact)
        check_speed("LimitSurface", "slip_speed", self.slip_speed)
        if not (len(self.sizes) == 2 and all(0 < size < math.inf for size in self.sizes)):
            raise InputError(f"LimitSurface: sizes is {self.sizes!r}, expected two positive numbers")
        if self.grain is not None and not (len(self.grain) == 3 and 0 < np.linalg.norm(self.grain) < math.inf):
            raise InputError(f"LimitSurface: grain is {self.grain!r}, expected a direction (x, y, z)")
        if self.grain is None and self.sizes[0] != self.sizes[1]:
            raise InputError(f"LimitSurface: grain is None with sizes {self.sizes!r}, expected the axis of the first")
        if self.grain_of not in ("first", "second"):
            raise InputError(f"LimitSurface: grain_of is {self.grain_of!r}, expected 'first' or 'second'")

    def pose(self, problem: ContactProblem) -> LimitSurfaceProblem:
        rows = self.rows(problem)
        W, q, mu = cone_rows(rows, "coulomb", np.zeros(rows.count))
        motors = mu.size - rows.count
        if motors and not isinstance(self.surface, Ellipsoid | Mixed):
            raise InputError(
                f"LimitSurface: the surface is {self.surface!r}, expected Ellipsoid() or Mixed() where joints have "
                "motors or limits"
            )
        if self.grain is not None:
            turn = turned(problem.grain[rows.contacts], q.size)
            W, q = turn.T @ W @ turn, turn.T @ q
        e = np.ones((mu.size, 3))
        e[: rows.count, :2] = self.sizes
        e[: rows.count, 2] = problem.patch[rows.contacts]
        return LimitSurfaceProblem(W, q, mu, e, surface=self.surface, state=self.states(problem, rows, mu.size))

    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        contacts = active_contacts(problem, self.stabilisation, self.impact)
        if self.grain is not None:
            x = turned(problem.grain[contacts], x.size) @ x
        return cone_impulses(problem, contacts, x)

    def start(self, problem: ContactProblem) -> Vector:
        rows = self.rows(problem)
        x = cone_start(rows)
        if self.grain is not None:
            x = turned(problem.grain[rows.contacts], x.size).T @ x
        return x

    def rows(self, problem: ContactProblem) -> ActiveRows:
        if problem.dimension != 4 and problem.contacts:
            raise InputError(
                f"LimitSurface: the problem has {problem.dimension} components a contact, expected 4, with spin"
            )
        by_law = isinstance(self.surface, FrictionMap)
        return patch_rows(problem, self.stabilisation, self.impact, self.slip_speed, by_law)

    def states(self, problem: ContactProblem, rows: ActiveRows, count: int) -> Dense:
        """(speed, x, y, z, time) of each contact; zeros for joints."""
        state = np.zeros((count, 5))
        state[: rows.count, 0] = np.linalg.norm(rows.slip[:, :2], axis=1)
        state[: rows.count, 1:4] = problem.point.reshape(-1, 3)[rows.contacts]
        state[: rows.count, 4] = problem.time
        return state


@lru_cache(maxsize=2)
def patch_rows(
    problem: ContactProblem, stabilisation: Stabilisation, impact: Impact, slip_speed: float, by_law: bool
) -> ActiveRows:
    """The rows that take part. A FrictionMap says itself what slip does to friction: then μ is the static one."""
    rows = active_rows(problem, stabilisation, impact, slip_speed)
    if by_law:
        return replace(rows, mu=problem.mu[rows.contacts])
    # a patch slides where one of its points does
    moves = np.hypot(np.linalg.norm(rows.slip[:, :2], axis=1), problem.patch[rows.contacts] * rows.slip[:, 2])
    sliding = moves > slip_speed
    mu = np.where(sliding, problem.mu_kinetic[rows.contacts], problem.mu[rows.contacts])
    return replace(rows, mu=mu, sliding=sliding)


def turned(angle: Vector, size: int) -> Matrix:
    """(n, n): components along and across the grain to those along t and o, four rows a contact; 1 elsewhere."""
    t = 4 * np.arange(angle.size) + 1
    turn = sparse.lil_array(sparse.eye_array(size, format="lil"))
    turn[t, t], turn[t + 1, t + 1] = np.cos(angle), np.cos(angle)
    turn[t + 1, t], turn[t, t + 1] = np.sin(angle), -np.sin(angle)
    return sparse.csr_array(turn)


def stribeck(static: float, kinetic: float, speed: float) -> FrictionMap:
    """μ = kinetic + (static - kinetic) exp(-v / speed) on the ellipsoid; used with materials whose friction is 1."""
    check_pair("stribeck", static, kinetic)
    if not 0 < speed < math.inf:
        raise InputError(f"stribeck: speed is {speed!r}, expected a positive number")
    static, kinetic, speed = float(static), float(kinetic), float(speed)

    def stribeck_law(t: Any, o: Any, r: Any, v: Any, x: Any, y: Any, z: Any, time: Any) -> Any:
        mu = kinetic + (static - kinetic) * math.exp(-v / speed)
        length = math.sqrt(t * t + o * o + r * r)
        if length == 0.0:
            return 0.0, 0.0, 0.0, 0.0
        return length / mu, t / (length * mu), o / (length * mu), r / (length * mu)

    return FrictionMap(stribeck_law)


def static_kinetic(static: float, kinetic: float, speed: float = SLIP_SPEED) -> FrictionMap:
    """μ = static up to `speed`, kinetic above, on the ellipsoid; used with materials whose friction is 1."""
    check_pair("static_kinetic", static, kinetic)
    check_speed("static_kinetic", "speed", speed)
    static, kinetic, speed = float(static), float(kinetic), float(speed)

    def static_kinetic_law(t: Any, o: Any, r: Any, v: Any, x: Any, y: Any, z: Any, time: Any) -> Any:
        mu = kinetic if v > speed else static
        length = math.sqrt(t * t + o * o + r * r)
        if length == 0.0:
            return 0.0, 0.0, 0.0, 0.0
        return length / mu, t / (length * mu), o / (length * mu), r / (length * mu)

    return FrictionMap(static_kinetic_law)


def check_pair(owner: str, static: float, kinetic: float) -> None:
    if not 0 < kinetic <= static < math.inf:
        raise InputError(f"{owner}: static is {static!r} and kinetic {kinetic!r}, expected 0 < kinetic <= static")
