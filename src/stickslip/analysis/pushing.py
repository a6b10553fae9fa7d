"""Which pushes jam, which wedge, and which go on: the diagram of a peg in a hole [1, 2], of any world with contacts.

A world at rest is pushed by generalized forces f. It stays at rest if its contacts can hold them,

    f - c + Aᵀ λ + Gᵀ ν = 0      for some λ ∈ K,     |λ_t| <= μ λ_n contact by contact                              (1)

The pushes that are held are a convex set of each state of contact, the contacts that act together; the state jams under
them, whatever the pusher does to their size. It wedges if the friction cones see each other,

    Aᵀ λ + Gᵀ ν = 0      for some λ ∈ K other than 0:                                                               (2)

then contacts can press on each other without limit, and once they do, no push need move it, not even a pull. A push
that no state holds goes on.

In a plane of pushes f = base + x across + y up the held ones are drawn: their outline is found by its support lines,
the greatest cos α x + sin α y subject to (1), which is the program (2) of analysis/determinacy.py with x and y as two
more forces. It is exact where friction cones are polyhedral, as in the plane, and there few directions find all
corners.

For a peg of radius r as deep as l in a hole of the same size, pushed with (F_x, F_z, M), F_z into the hole, the
classical diagram in F_x/F_z and M/(r F_z) follows, with λ = l / (2 r μ): what goes on lies between the lines [1, 2]

    F_x/F_z = ± 1/μ,      M/(r F_z) = ± λ - μ (1 + λ) F_x/F_z;      it wedges where λ < 1.                           (3)

[1] Simunovic, An information approach to parts mating, PhD thesis, MIT 1979.
[2] Whitney, Quasi-static assembly of compliantly supported rigid parts, Journal of Dynamic Systems, Measurement, and
    Control 104 (1982) 65-77.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from stickslip.analysis.determinacy import programs, verified
from stickslip.checks import Refused, checked, floats, number, numbers, positive, text, tuple_of, vector, wholes
from stickslip.dynamics.generalized import Given
from stickslip.dynamics.mechanisms import PEG_STATES, peg
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.snapshot import Snapshot, World, acceleration_step, closed, snapshot
from stickslip.engine.step_problem import free_rows
from stickslip.engine.stiff_limit import Face, even_weights
from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.problems.matrix import Dense, Vector, as_dense
from stickslip.scene.compile import compile_scene
from stickslip.scene.scene import Scene

Verdict: TypeAlias = Literal["jams", "wedges", "goes on"]
Window: TypeAlias = tuple[tuple[float, float], tuple[float, float]]  # the least and the greatest x, and y
Push: TypeAlias = Any  # (n,) generalized forces; of a scene (body, force, torque)

OWNER = "jamming_diagram"
HELD = 1e-6  # shares of a push up to this are nothing
CORNER = 1e-7  # corners of an outline closer than this share of its window are one


@dataclass(frozen=True, eq=False)
class ContactState:
    """Contacts that act together: what they hold."""

    contacts: tuple[int, ...]
    names: tuple[str, ...]
    wedges: bool
    grip: Vector  # (d k,)   λ of (2), Σ λ_n = 1; zeros where there is none
    outline: Dense  # (m, 2)   corners of the pushes (x, y) that are held, in turn; none where nothing in the window is

    def __str__(self) -> str:
        does = "wedges" if self.wedges else "does not wedge"
        return f"{' and '.join(self.names)}: {does}"


@dataclass(frozen=True, eq=False)
class JammingDiagram:
    """The pushes base + x across + y up, over a window of x and y."""

    now: Snapshot
    base: Vector  # (n,)
    across: Vector  # (n,)
    up: Vector  # (n,)
    window: Window  # of x and of y
    states: tuple[ContactState, ...]
    labels: tuple[str, str]  # of x and y

    @property
    def wedges(self) -> bool:
        """Whether some state wedges: then every push may be held."""
        return any(state.wedges for state in self.states)

    @checked(x=number, y=number)
    def verdict(self, x: float, y: float) -> Verdict:
        """What one push of the plane does."""
        return self.verdict_of(self.base + x * self.across + y * self.up)

    def verdict_of(self, push: Given) -> Verdict:
        """What any push does, (n,) generalized forces."""
        f = vector(OWNER, "push", push, self.now.at.v.size)
        held = [state for state in self.states if holds(self.now.keep(state.contacts), f)]
        if any(state.wedges for state in held):
            return "wedges"
        return "jams" if held else "goes on"

    def describe(self) -> str:
        lines = [f"{self.now.name}: {self.now.contacts} contacts, {len(self.states)} states of contact"]
        lines += [f"  {state}" for state in self.states]
        return "\n".join(lines)

    __str__ = describe


def window_kind(owner: str, field: str, value: Any) -> tuple[tuple[float, float], ...]:
    """A kind of argument: the least and the greatest x and y that are shown."""
    expected = "two pairs of rising numbers"
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Refused(owner, field, value, expected)
    pairs = tuple(numbers(owner, field, pair, (2,), expected) for pair in value)
    if not all(low < high for low, high in pairs):
        raise Refused(owner, field, value, expected)
    return pairs  # type: ignore[return-value]


@checked(world=world_kind, window=window_kind, q=vector, directions=wholes(4, 10_000), labels=tuple_of(text))
def jamming_diagram(
    world: World,
    base: Push,
    across: Push,
    up: Push,
    window: Window = ((-1.0, 1.0), (-1.0, 1.0)),
    *,
    q: Given = None,
    together: Sequence[Sequence[int]] | None = None,
    directions: int = 72,
    labels: tuple[str, str] = ("x", "y"),
) -> JammingDiagram:
    """Which of the pushes base + x across + y up jam a world at rest, wedge it or go on; x and y within the window.

    A push on a system or robot at q is a vector of generalized forces, one on a scene (body, force, torque), at the
    body's centre of mass. The weight acts beside. `together`: the states of contact, each the numbers of contacts that
    act together; where None, all that touch. `directions`: of support lines, for the outline.
    """
    now = closed(OWNER, snapshot(OWNER, world, q))
    if max(float(np.abs(motion).max(initial=0.0)) for motion in (now.at.v, now.at.w)) > now.still:
        raise InputError(f"{OWNER}: the world moves, expected one at rest")
    if len(labels) != 2:
        raise Refused(OWNER, "labels", labels, "two texts, of x and of y")
    given = {"base": base, "across": across, "up": up}
    pushes = tuple(generalized_push(world, now, name, push) for name, push in given.items())
    groups = [tuple(range(now.contacts))] if together is None else checked_states(now, together)
    states = tuple(state_of(now, group, pushes, window, directions) for group in groups)
    return JammingDiagram(now, pushes[0], pushes[1], pushes[2], window, states, labels)


@checked(radius=positive, depth=positive, friction=positive, window=window_kind)
def peg_diagram(
    radius: float = 1.0, depth: float = 4.0, friction: float = 0.3, window: Window | None = None
) -> JammingDiagram:
    """The classical diagram of a peg in a hole: x = F_x/F_z and y = M/(r F_z), F_z into the hole."""
    ratio = depth / (2 * radius * friction)
    wide, high = 1.5 / friction, 1.3 * (1 + 2 * ratio)
    return jamming_diagram(
        peg(radius, depth, friction),
        (0.0, -1.0, 0.0),
        (1.0, 0.0, 0.0),
        (0.0, 0.0, radius),
        ((-wide, wide), (-high, high)) if window is None else window,
        q=np.zeros(3),
        together=PEG_STATES,
        labels=("$F_x / F_z$", "$M / (r F_z)$"),
    )


def generalized_push(world: World, now: Snapshot, name: str, given: Push) -> Vector:
    """A push as generalized forces."""
    n = now.at.v.size
    if not isinstance(world, Scene):
        return vector(OWNER, name, given, n)
    if not (isinstance(given, tuple | list) and len(given) == 3):
        raise Refused(OWNER, name, given, "(body, force, torque)")
    body, force, torque = given
    if getattr(body, "name", body) not in world.names:
        raise Refused(OWNER, f"body of {name}", body, f"one of {', '.join(world.names)}")
    index = world.body(str(getattr(body, "name", body))).index
    whole = np.zeros((len(world.names), 6))
    whole[index, :3] = vector(OWNER, f"force of {name}", force, 3)
    turn = np.atleast_1d(floats(OWNER, f"torque of {name}", torque))  # a number is one about y, of a planar scene
    whole[index, 3:] = (0.0, turn[0], 0.0) if turn.size == 1 else vector(OWNER, f"torque of {name}", turn, 3)
    free = free_rows(compile_scene(world)[0])
    return whole[free.body, free.component]


def checked_states(now: Snapshot, together: Any) -> list[tuple[int, ...]]:
    if not isinstance(together, tuple | list):
        raise Refused(OWNER, "together", together, "a list of states, each the numbers of its contacts")
    states = [tuple_of(wholes(0, now.contacts - 1))(OWNER, "together", group) for group in together]
    for state, group in zip(states, together, strict=True):
        if not state:
            raise Refused(OWNER, "together", group, "numbers of contacts in each state")
    return states


# one state of contact


def state_of(
    now: Snapshot, group: tuple[int, ...], pushes: tuple[Vector, ...], window: Window, directions: int
) -> ContactState:
    some = now.keep(group)
    grip = gripped(some)
    return ContactState(group, some.names, bool(grip.any()), grip, outlined(some, pushes, window, directions))


def balance(now: Snapshot, f: Vector, more: Sequence[tuple[Vector, float, float]]) -> ContactProblem:
    """(1) as a ContactProblem at rest, with further forces between bounds, each (its direction, least, greatest)."""
    step = acceleration_step(now)
    m, columns = step.b.size, [direction for direction, _, _ in more]
    G = np.column_stack([as_dense(step.G), *columns]) if columns else as_dense(step.G)
    return ContactProblem(
        h=1.0,
        M=step.M,
        f=f - now.at.bias,
        v=step.v,
        H=step.H,
        mu=step.mu,
        patch=step.patch,
        G=G,
        lower=np.concatenate([np.full(m, -np.inf), [low for _, low, _ in more]]),
        upper=np.concatenate([np.full(m, np.inf), [high for _, _, high in more]]),
    )


def open_face(problem: ContactProblem) -> Face:
    """All forces that a world at rest may have."""
    return Face.of(problem, even_weights(problem), np.zeros(problem.v.size), "coulomb")


def admissible(problem: ContactProblem) -> tuple[Face, Vector] | None:
    """The face of all forces at rest, and coordinates y of some that are in balance, or None.

    The least t ∈ [0, 1] with J y + t (b - J y₀) = b, which y₀ and t = 1 begin with, is zero."""
    face = open_face(problem)
    J = np.hstack([as_dense(problem.H), as_dense(problem.G)]) @ face.basis
    y0 = np.clip(np.zeros(J.shape[1]), face.lower, face.upper)
    missing = -problem.f - J @ y0
    size = float(np.abs(missing).max(initial=0.0))
    if size <= HELD * float(np.abs(problem.f).max(initial=0.0)):
        return face, y0
    y, t = with_slack(np.column_stack([J, missing]) / size, face, y0)
    return (face, y) if t <= HELD else None


def with_slack(rows: Dense, face: Face, y0: Vector) -> tuple[Vector, float]:
    """The y of the face and the least slack t ∈ [0, 1] with the same `rows` (y, t) as (y0, 1) has."""
    n = y0.size + 1
    wider = replace(
        face,
        fixed=np.zeros(n),
        basis=np.eye(n),
        weights=np.ones(n),
        lower=np.append(face.lower, 0.0),
        upper=np.append(face.upper, 1.0),
    )
    program, scale, minimise = programs(rows, wider, np.append(y0, 1.0))
    c = np.eye(n)[-1]
    found = verified(program, c, minimise(c))
    return scale * found.y[:-1], scale * found.value


def holds(now: Snapshot, f: Vector) -> bool:
    """Can the contacts hold this push?"""
    return admissible(balance(now, f, ())) is not None


def gripped(now: Snapshot) -> Vector:
    """λ of (2) with Σ λ_n = 1, zeros where there is none: of forces in balance with Σ λ_n + t = 1 those of least t."""
    d, columns = now.dimension, now.at.A.shape[0]
    problem = balance(now, now.at.bias.copy(), ())
    face = open_face(problem)
    J = np.hstack([as_dense(problem.H), as_dense(problem.G)]) @ face.basis
    normal = np.zeros(columns + problem.b.size)
    normal[:columns:d] = 1.0
    size = float(np.abs(J).max(initial=0.0)) or 1.0
    rows = np.vstack([np.column_stack([J / size, np.zeros(len(J))]), np.append(normal @ face.basis, 1.0)])
    y, t = with_slack(rows, face, np.zeros(J.shape[1]))
    forces: Vector = (face.basis @ y)[:columns]
    return forces / (1 - t) if 1 - t > HELD else np.zeros(columns)


def outlined(now: Snapshot, pushes: tuple[Vector, ...], window: Window, directions: int) -> Dense:
    """The corners of the held pushes in the window."""
    base, across, up = pushes
    (x0, x1), (y0, y1) = window
    problem = balance(now, base, ((across, x0, x1), (up, y0, y1)))
    start = admissible(problem)
    if start is None:
        return np.zeros((0, 2))
    face, y = start
    J = np.hstack([as_dense(problem.H), as_dense(problem.G)])
    program, size, minimise = programs(J, face, y)
    wide, high = x1 - x0, y1 - y0
    corners: list[Vector] = []
    for angle in 2 * math.pi * (np.arange(directions) + 0.5) / directions:
        c = np.zeros(y.size)
        c[-2:] = -math.cos(angle) / wide, -math.sin(angle) / high
        corner = size * verified(program, c, minimise(c)).y[-2:]
        if not corners or np.abs((corner - corners[-1]) / [wide, high]).max() > CORNER:
            corners.append(corner)
    if len(corners) > 1 and np.abs((corners[0] - corners[-1]) / [wide, high]).max() <= CORNER:
        corners.pop()
    return np.array(corners)
