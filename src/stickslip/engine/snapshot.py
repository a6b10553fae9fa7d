"""A scene, a system or a robot at one instant: the same matrices for all of them, in the letters of the papers.

    M v̇ + c = f + Aᵀ λ + Gᵀ ν,      u = A v + w,      u̇ = A v̇ + Ȧ v + ẇ,      G v̇ + Ġ v = 0                       (1)

A system in generalized coordinates says all of it (dynamics/generalized.py). Of a scene, v are the velocities that can
change, as in engine/step_problem.py: M and the rows A, w, G are those of a step from the scene as it stands, f - c are
its forces with gravity, efforts of joints and -ω × I ω. Ȧ v + ẇ is the central difference of the contacts' velocities
between the scene moved a little ahead and a little back: along the normal that of the rate of the gap, along the
tangents that of the velocity in space, seen in the frame of now, for frames may turn. What moves as a function of time
adds the acceleration of that function, by a one-sided difference.

Contacts of a scene are those that touch now, overlaps too. Where one of them has a patch, all have a fourth row, spin.
Rows of a joint are held if they are rigid and two-sided, or a motor of infinite strength. Limits, other motors and
compliant joints act by forces that depend on the motion: `left_out` names them, for others to refuse or to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import vector
from stickslip.dynamics.generalized import Found, Given, Instant, System, evaluate
from stickslip.dynamics.joints import BOUNDED, JointRows, joint_row_names
from stickslip.dynamics.motion import drift
from stickslip.engine.arguments import refuse_state
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.engine import Engine
from stickslip.engine.rows import FOUND
from stickslip.engine.step_problem import engine_problem, free_rows, gyroscopic, touching_bodies
from stickslip.engine.systems import frictions, places_of
from stickslip.errors import InputError
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.limit_surface import LimitSurface
from stickslip.friction.stabilisation import TOUCHING
from stickslip.problems.matrix import Dense, Vector, as_dense
from stickslip.scene.compile import Drives, compile_scene
from stickslip.scene.model import Kind, Model, State
from stickslip.scene.scene import Scene

World: TypeAlias = Scene | System

LOOK = 1e-2  # the step whose rows are asked for: contacts are found as far as it would carry   [s]
NEAR = 1e-4  # contacts this far apart are found whatever moves   [m]
SETTLED = 1e-6  # velocities of a scene up to this are rest   [m/s]
AHEAD = 1e-5  # how far the central difference moves the fastest point of a body   [m]
LATER = 1e-4  # of the one-sided difference of prescribed velocities: its error is of order LATER²   [s]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """(1) of engine/snapshot.py, and what the contacts are like. Rows of A are n, t[, o[, r]] of each contact."""

    name: str
    at: Instant
    force: Vector  # (n,)   f; of a scene zero, for its forces are in the bias
    mu: Vector  # (nc,)   static
    mu_kinetic: Vector  # (nc,)
    patch: Vector  # (nc,)   e_r   [m]
    stiffness: Dense  # (nc, 2)   of the normal and the tangents; inf where rigid   [N/m]
    names: tuple[str, ...]  # (nc,)   of the contacts
    pairs: tuple[tuple[str, str], ...]  # of a scene the two bodies of each
    left_out: tuple[str, ...]  # in words: limits, motors and compliant joints that act now

    @property
    def contacts(self) -> int:
        return self.mu.size

    @property
    def dimension(self) -> int:
        return self.at.dimension

    @property
    def still(self) -> float:
        """Velocities of contacts up to this are rest: a scene that has come to rest keeps what its steps' tolerance
        leaves   [m/s]."""
        return SETTLED if self.pairs else TOUCHING

    @property
    def u(self) -> Dense:
        """(nc, d) velocities of the contacts."""
        return self.at.u.reshape(-1, self.dimension)

    @property
    def sizes(self) -> Dense:
        """(nc, d - 1) e of each friction component."""
        return friction_sizes(self)

    def keep(self, contacts: Sequence[int] | NDArray[Any]) -> Snapshot:
        """The same with some of the contacts."""
        chosen, d = np.asarray(contacts, np.int64), self.dimension
        rows = (d * chosen[:, None] + np.arange(d)).ravel()
        at = replace(self.at, A=self.at.A[rows], drift=self.at.drift[rows], w=self.at.w[rows], gap=self.at.gap[chosen])
        arrays = {name: getattr(self, name)[chosen] for name in ("mu", "mu_kinetic", "patch", "stiffness")}
        names, pairs = tuple(self.names[i] for i in chosen), tuple(self.pairs[i] for i in chosen) if self.pairs else ()
        return replace(self, at=at, names=names, pairs=pairs, **arrays)


def friction_sizes(of: Snapshot | ContactProblem) -> Dense:
    """(nc, d - 1) e of each friction component: 1 along tangents, the patch for spin."""
    e = np.ones((of.contacts, of.dimension - 1))
    if of.dimension == 4:
        e[:, 2] = of.patch
    return e


def snapshot(owner: str, world: World, q: Given = None, v: Given = None, force: Given = None) -> Snapshot:
    """A world at one instant: a scene as it stands, a system at (q, v) with applied forces."""
    if isinstance(world, Scene):
        refuse_state(owner, q=q, v=v, force=force)
        return of_scene(world)
    world_kind(owner, "world", world)
    if q is None:
        raise InputError(f"{owner}: q is missing, expected the coordinates of {world.name!r}")
    return of_system(world, q, v, force)


def has_patches(world: World) -> bool:
    """Has a scene contacts over patches, somewhere?"""
    return isinstance(world, Scene) and not world.planar and bool((compile_scene(world)[0].patch > 0).any())


def of_system(system: System, q: Given, v: Given, force: Given) -> Snapshot:
    at = evaluate(system, q, v)
    applied = np.zeros(at.v.size) if force is None else vector(system.name, "force", force, at.v.size)
    if at.found is not None:
        return of_found(system, at, at.found, applied)
    points = system.contacts
    wide = next((point.name for point in points if point.patch > 0), None)
    if at.dimension < 4 and wide is not None:
        raise InputError(f"{system.name}: contact {wide!r} has a patch but no row for spin, expected a point contact")
    return Snapshot(
        name=system.name,
        at=at,
        force=applied,
        **frictions(system, at, places_of(system, at), at.time),
        patch=np.array([point.patch for point in points], np.float64),
        stiffness=np.array([(p.stiffness, p.stiffness_tangent) for p in points], np.float64).reshape(-1, 2),
        names=tuple(f"contact {point.name!r}" for point in points),
        pairs=(),
        left_out=(),
    )


def of_found(system: System, at: Instant, found: Found, force: Vector) -> Snapshot:
    """Of a system whose contacts come and go: those that touch, with a row for spin where one has a patch."""
    touching, n = np.flatnonzero(at.gap <= TOUCHING), at.v.size
    patches = bool((found.patch[touching] > 0).any())
    A, drift, w = (np.asarray(x).reshape(at.gap.size, 3, -1)[touching] for x in (at.A, at.drift, at.w))
    if patches:
        A = np.concatenate([A, found.spin[touching][:, None]], axis=1)
        drift, w = (np.concatenate([x, np.zeros((touching.size, 1, 1))], axis=1) for x in (drift, w))
    held = replace(
        at, A=A.reshape(-1, n), drift=drift.ravel(), w=w.ravel(), gap=np.minimum(at.gap[touching], 0.0), found=None
    )
    names = [found.names[i] for i in touching]
    return Snapshot(
        name=system.name,
        at=held,
        force=force,
        mu=found.mu[touching],
        mu_kinetic=found.mu[touching],
        patch=found.patch[touching] if patches else np.zeros(touching.size),
        stiffness=np.full((touching.size, 2), np.inf),
        names=tuple(f"contact {i}, {name}" for i, name in enumerate(names)),
        pairs=tuple((a, b) for a, _, b in (name.partition(" on ") for name in names)),
        left_out=found.others,
    )


# at acceleration level


def closed(owner: str, now: Snapshot) -> Snapshot:
    """With the contacts that touch and do not part. One that approaches is refused, for it is about to be hit, and so
    is what acts by forces that depend on the motion."""
    refuse_left_out(owner, now)
    kept = []
    for i, (gap, speed) in enumerate(zip(now.at.gap, now.u[:, 0], strict=True)):
        if gap > TOUCHING or (speed > now.still and (now.pairs or gap >= -TOUCHING)):
            continue
        if gap < -TOUCHING and not now.pairs:
            raise InputError(f"{now.name}: the gap of {now.names[i]} is {gap:g}, expected one that just touches")
        if speed < -now.still:
            raise InputError(
                f"{now.name}: {now.names[i]} approaches with {-speed:g} m/s, expected a normal velocity of zero"
            )
        kept.append(i)
    if not kept:
        raise InputError(f"{now.name}: no contact touches at this state, expected at least one")
    return now.keep(kept)


def refuse_left_out(owner: str, now: Snapshot) -> None:
    if now.left_out:
        raise InputError(
            f"{owner}: {', '.join(now.left_out)} would act, expected rigid joints at acceleration level; a step has "
            f"them all: give dt"
        )


def slips(now: Snapshot) -> Dense:
    """(nc, d - 1) velocities of what slides, zero where a contact is at rest."""
    u = now.u[:, 1:] * (now.sizes > 0)
    if now.pairs:
        moving = np.linalg.norm(u * now.sizes, axis=1) > now.still
        return np.where(moving[:, None], u, 0.0)
    return np.where(np.abs(u) > now.still, u, 0.0)


def acceleration_step(now: Snapshot) -> ContactProblem:
    """(1) as a ContactProblem with h = 1: forces for impulses, accelerations for velocities."""
    return ContactProblem(
        h=1.0,
        M=now.at.M,
        f=now.force - now.at.bias,
        v=np.zeros(now.at.v.size),
        H=now.at.A.T,
        mu=now.mu,
        mu_kinetic=now.mu_kinetic,
        w=now.at.drift,
        stiffness=now.stiffness[:, 0],
        stiffness_tangent=now.stiffness[:, 1],
        patch=now.patch,
        G=now.at.G.T,
        b=now.at.constraint_drift,
    )


# scenes


@dataclass(frozen=True, eq=False)
class Rows:
    """What a scene in one place has: velocities of its contacts and of what its joints hold."""

    key: list[tuple[int, int, int]]  # shapes and feature of each contact
    frame: Dense  # (nc, 3, 3)   n, t, o
    u: Dense  # (nc, d)
    held: Vector  # (m,)   velocities of all joint rows


@dataclass(frozen=True, eq=False)
class Arrays:
    """A scene in arrays, and the engine whose next step is looked at."""

    scene: Scene
    model: Model
    state: State
    drives: Drives
    engine: Engine

    def beside(self, state: State, drives: Drives | None = None) -> Engine:
        """An engine like this one, in another state."""
        return looking(self.model, state, self.drives if drives is None else drives, self.engine.formulation)


def looking(model: Model, state: State, drives: Drives, formulation: Formulation) -> Engine:
    """An engine that finds contacts a little apart, also where nothing moves or falls."""
    engine = Engine(model, state, drives, LOOK, formulation)
    engine.work.bodies.further[:] = NEAR
    return engine


def of_scene(scene: Scene) -> Snapshot:
    model, state, drives = compile_scene(scene)
    formulation = LimitSurface() if (model.patch > 0).any() and not model.planar else Coulomb()
    arrays = Arrays(scene, model, state, drives, looking(model, state, drives, formulation))
    problem = engine_problem(arrays.engine)
    touching, d = np.flatnonzero(problem.gap <= TOUCHING), problem.dimension
    patches = d == 4 and bool((problem.patch[touching] > 0).any())
    kept = (d * touching[:, None] + np.arange(4 if patches else min(d, 3))).ravel()
    free, (held, left_out) = free_rows(model), joints_of(arrays, problem)
    rate_u, rate_held = drifts(arrays, touching)
    G = as_dense(problem.G).T[held]
    at = Instant(
        q=np.concatenate([state.position.ravel(), state.quaternion.ravel()]),
        v=state.velocity[free.body, free.component],
        M=as_dense(problem.M),
        bias=-forces_of(arrays, as_dense(problem.M)),
        A=as_dense(problem.H).T[kept],
        drift=rate_u.ravel()[kept],
        gap=problem.gap[touching],
        G=G,
        constraint_error=np.zeros(len(G)),
        constraint_drift=rate_held[held],
        w=problem.w[kept],
        constraint_rate=of_rows(arrays.engine.work.held.rows, prescribed(model, state.velocity))[held],
    )
    pairs = [touching_bodies(arrays.engine, scene)[i] for i in touching]
    return Snapshot(
        name="scene",
        at=at,
        force=np.zeros(at.v.size),
        mu=problem.mu[touching],
        mu_kinetic=problem.mu_kinetic[touching],
        patch=problem.patch[touching] if patches else np.zeros(touching.size),
        stiffness=np.column_stack([problem.stiffness, problem.stiffness_tangent])[touching],
        names=tuple(f"contact {i} between {a} and {b}" for i, (a, b) in enumerate(pairs)),
        pairs=tuple(pairs),
        left_out=left_out,
    )


def rows_of(engine: Engine) -> Rows:
    """Of the engine's next step."""
    engine.look_ahead()
    contacts, n = engine.work.contacts, int(engine.work.count[FOUND])
    shapes = (column[:n].tolist() for column in (contacts.shape_a, contacts.shape_b, contacts.feature))
    return Rows(
        key=list(zip(*shapes, strict=True)),
        frame=engine.work.rows.frame[:n, :3].copy(),
        u=of_contacts(engine, engine.state.velocity),
        held=of_rows(engine.work.held.rows, engine.state.velocity),
    )


def of_contacts(engine: Engine, velocity: Dense) -> Dense:
    """(nc, d) what velocities or accelerations (nb, 6) of bodies are at the contacts."""
    rows, n = engine.work.rows, int(engine.work.count[FOUND])
    return np.einsum("isck,isk->ic", rows.jacobian[:n], velocity[rows.body[:n]])


def of_rows(rows: JointRows, velocity: Dense) -> Vector:
    """(m,) the same along the rows of joints."""
    sides = ((rows.jacobian_a, rows.body_a), (rows.jacobian_b, rows.body_b))
    return np.sum([(jacobian * velocity[body]).sum(axis=1) for jacobian, body in sides], axis=0)


def prescribed(model: Model, velocity: Dense) -> Dense:
    """(nb, 6) of the bodies that are not free, zero elsewhere."""
    return np.where(model.kind[:, None] == Kind.FREE, 0.0, velocity)


def drifts(arrays: Arrays, touching: NDArray[np.int64]) -> tuple[Dense, Vector]:
    """Ȧ v + ẇ of contacts (nc, d), zero where they do not touch, and the same of joint rows (m,)."""
    now, speed = rows_of(arrays.engine), fastest(arrays.model, arrays.state)
    rate_u, rate_held = np.zeros_like(now.u), np.zeros_like(now.held)
    if speed > 0:
        e = AHEAD / speed
        ahead, behind = (rows_of(arrays.beside(moved(arrays.state, s * e))) for s in (1.0, -1.0))
        for i in touching:
            rate_u[i] = difference(now, ahead, behind, i, e)
        rate_held = (ahead.held - behind.held) / (2 * e)
    told = prescribed_acceleration(arrays.drives, arrays.state)
    arrays.engine.look_ahead()
    return rate_u + of_contacts(arrays.engine, told), rate_held + of_rows(arrays.engine.work.held.rows, told)


def difference(now: Rows, ahead: Rows, behind: Rows, i: int, e: float) -> Vector:
    """Ȧ v + ẇ of one contact; tangents by the velocity in space."""
    if now.key[i] not in ahead.key or now.key[i] not in behind.key:
        raise InputError(
            f"snapshot: contact {i} has other features a moment before or after, expected one that goes on as it is"
        )
    k, j = ahead.key.index(now.key[i]), behind.key.index(now.key[i])
    rate = (ahead.u[k] - behind.u[j]) / (2 * e)
    if rate.size > 2:
        in_space = ahead.frame[k].T @ ahead.u[k, :3] - behind.frame[j].T @ behind.u[j, :3]
        rate[1:3] = now.frame[i, 1:3] @ in_space / (2 * e)
    return rate


def moved(state: State, time: float) -> State:
    """The state after bodies have moved by their velocities."""
    other = state.copy()
    drift(other, time)
    return other


def fastest(model: Model, state: State) -> float:
    """The greatest speed of a body, its turning seen at the size of its shapes."""
    size = np.ones(model.kind.size)
    finite = np.isfinite(model.shape_bound)
    reach = np.linalg.norm(model.shape_position, axis=1) + np.where(finite, model.shape_bound, 0.0)
    np.maximum.at(size, model.shape_body, reach)
    linear, angular = (np.linalg.norm(state.velocity[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
    return float((linear + size * angular).max(initial=0.0))


def prescribed_acceleration(drives: Drives, state: State) -> Dense:
    """(nb, 6) of bodies that move by functions of time, now."""
    if not drives.motions:
        return np.zeros_like(state.velocity)
    told = []
    for time in (0.0, LATER, 2 * LATER):
        other = state.copy()
        drives.prescribe(time, other)
        told.append(other.velocity)
    return (-3 * told[0] + 4 * told[1] - told[2]) / (2 * LATER)


def forces_of(arrays: Arrays, M: Dense) -> Vector:
    """f - c of the rows of v: a step from rest has h times all of it but what depends on velocities."""
    model, state, drives = arrays.model, arrays.state, arrays.drives
    still = state.copy()
    still.velocity[model.kind == Kind.FREE] = 0.0
    rest = arrays.beside(still, Drives(motors=drives.motors))
    rest.look_ahead()
    free, given = free_rows(model), np.zeros((model.kind.size, 6))
    drives.add_forces(0.0, state, model, given[:, :3], given[:, 3:])
    given[:, 3:] -= gyroscopic(model, state.quaternion, state.velocity[:, 3:])
    constant: Vector = M @ rest.work.bodies.v[free.body, free.component] / rest.h
    return constant + given[free.body, free.component]


def joints_of(arrays: Arrays, problem: ContactProblem) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Which joint rows hold as equations, and the others that may act now, in words."""
    held = np.isinf(problem.lower) & np.isinf(problem.upper) & (problem.compliance == 0)
    words = []
    for i, (joint, what) in enumerate(joint_row_names(arrays.model)):
        reached = problem.b[i] <= TOUCHING / problem.h
        if held[i] or (what.endswith("limit") and not reached):
            continue
        how = what if what in BOUNDED else "compliant"
        words.append(f"joint {arrays.scene.joint_names[joint]!r} ({how})")
    return held, tuple(dict.fromkeys(words))
