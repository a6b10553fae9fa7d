"""A jam at the level of impulses: an impact without collision.

Where a sliding contact jams, its force grows without limit as springs stiffen, and velocities jump while positions
stay. With the normal impulse P as the time of the process [1, 2],

    du/dP = W (1, -μ e_t),      e_t = u_t / max(|u_t|, u_s),      dv/dP = M⁻¹ Aᵀ (1, -μ e_t)                       (1)

from u_n = 0 on. The contact is compressed while u_n < 0. It comes back to u_n = 0 once it has stopped, or once its slip
has turned out of the locking sector: in space the direction of slip turns during the process, and then the slip need
not end. Compression ends at u_n = 0, and restitution gives back the share e² of the work ∫ u_n dP that it took, e the
energetic coefficient of restitution: e = 0 a damper that gives nothing back, e = 1 an elastic spring.

Other contacts that are closed stay so: the one that jams is soft beside them. With F the forces of unit normal
impulses, friction as in (1) by their own slips, and r their normal impulses by dP,

    du/dP = W F (1, r),      0 <= r_j  ⊥  du_n,j/dP >= 0      where u_n,j = 0, and r_j = 0 where it has parted     (2)

a small linear complementarity problem, of which every set of contacts that push is tried. Where it has not one solution
another contact jams as well, and the process is refused.

(1) is the limit of friction/penalty.py for stiff springs, with the same slip speed u_s below which a contact creeps.
One implicit step of a rigid formulation takes the direction of friction from the end of the jam instead. The two agree
where the direction of slip does not turn.

[1] Keller, Impact with friction, Journal of Applied Mechanics 53 (1986) 1-4.
[2] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378, sections 5 and 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stickslip.checks import checked, fraction, positive, vector, whole
from stickslip.dynamics.constrained import response
from stickslip.dynamics.generalized import Given
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.snapshot import Snapshot, World, refuse_left_out, snapshot
from stickslip.errors import InputError, IntegrationFailed
from stickslip.problems.matrix import Dense, Vector

CLOSED = 1e-9  # gaps [m] and normal velocities [m/s] up to this are zero
RTOL = 1e-10
SINGULAR = 1e-12  # what is less in (2) is zero
STEEP = 1e3  # by the natural impulse
MOST = 10  # other contacts, whose 2^MOST sets are tried
FAR = 1e6  # impulses of the natural size after which a process is taken to have no end


@dataclass(frozen=True, eq=False)
class Jam:
    """The process (1): m instants of it, components normal first."""

    normal_impulse: Vector  # (m,)   P   [N s]
    velocity: Dense  # (m, d)   u of the contact   [m/s]
    compression: int  # the instant at which compression ends
    impulse: Vector  # (d,)   in all   [N s]
    v: Vector  # (n,)   generalized velocities afterwards
    energy_lost: float  # kinetic   [J]
    normal_work: float  # ∫ u_n dP   [J]
    friction_work: float  # -∫ μ e_t·u_t dP, of all contacts   [J]
    others: dict[str, Vector]  # impulses (d,) of the other closed contacts, by their names   [N s]

    @property
    def stopped(self) -> bool:
        """Whether the slip came to an end: to less than a thousandth of what it was."""
        slip = np.linalg.norm(self.velocity[:, 1:], axis=1)
        return bool(slip[self.compression] < 1e-3 * slip[0])


@checked(world=world_kind, q=vector, v=vector, contact=whole, restitution=fraction, slip_speed=positive)
def through_jam(
    world: World,
    q: Given = None,
    v: Given = None,
    contact: int = 0,
    restitution: float = 0.0,
    slip_speed: float = 1e-6,
) -> Jam:
    """What becomes of the velocities where a contact slides in its locking sector: of a scene as it stands, of a system
    or robot at (q, v). Other contacts that are closed stay closed, or open; none is passed through."""
    whole = snapshot("through_jam", world, q, v)
    check(whole, contact)
    now = whole.keep([contact, *others_of(whole, contact)])
    if not now.u[:, 1:].any():
        raise InputError(
            f"through_jam: contact {contact} does not slide, expected one that slides in its locking sector"
        )
    process = Process.of(now, slip_speed)
    if not process.rate(process.start)[0] < 0:
        raise InputError(
            f"through_jam: contact {contact} slides along {now.u[0, 1:].tolist()} outside its locking sector, expected "
            f"one that jams"
        )
    d, size = process.d, process.start.size
    y0 = np.concatenate([process.start, np.zeros(size + 2)])
    impulse_scale = scale(process.W, process.start)
    times, path = until(process.rate, y0, 0.0, lambda y: y[0], impulse_scale)
    compression = len(times) - 1
    taken = path[-1, -2]
    if restitution > 0:
        left = (1 - restitution**2) * taken
        more, after = until(process.rate, path[-1], times[-1], lambda y: y[-2] - left, impulse_scale)
        times, path = np.concatenate([times, more[1:]]), np.vstack([path, after[1:]])
    impulses = path[-1, size : 2 * size]
    v_after = now.at.v + process.moved @ impulses
    own = (impulses.reshape(-1, d) * process.scales)[:, : now.dimension]
    M = now.at.M
    return Jam(
        normal_impulse=times,
        velocity=path[:, :d] / np.where(process.scales[0] > 0, process.scales[0], 1.0),
        compression=compression,
        impulse=own[0],
        v=v_after,
        energy_lost=float(now.at.v @ M @ now.at.v - v_after @ M @ v_after) / 2,
        normal_work=float(path[-1, -2]),
        friction_work=float(path[-1, -1]),
        others=dict(zip(now.names[1:], own[1:], strict=True)),
    )


@dataclass(frozen=True, eq=False)
class Process:
    """(2) of the contacts of a snapshot, the one that jams first; rows of spin in units of their patch."""

    W: Dense  # (d k, d k)
    moved: Dense  # (n, d k)   velocities by impulses
    start: Vector  # (d k,)   u at the start, normals zero
    scales: Dense  # (k, d)
    mu: Vector  # (k,)
    slip_speed: float
    steep: float  # rate by dP at which a contact comes back that has been let in

    @classmethod
    def of(cls, now: Snapshot, slip_speed: float) -> Process:
        scales = np.column_stack([np.ones(now.contacts), now.sizes])
        A = now.at.A * scales.reshape(-1, 1)
        u = (now.u * scales).ravel()
        u[:: now.dimension] = 0.0
        moved = response(now.at, A.T)
        W = A @ moved
        return cls(W, moved, u, scales, now.mu_kinetic, slip_speed, STEEP / scale(W, u))

    @property
    def d(self) -> int:
        return self.scales.shape[1]

    def forces(self, u: Vector) -> Dense:
        """F (d k, k): of unit normal impulses, with friction against the slips of u."""
        d, F = self.d, np.zeros((u.size, self.mu.size))
        for i, slip in enumerate(u.reshape(-1, d)[:, 1:]):
            F[d * i, i] = 1.0
            length = max(float(np.linalg.norm(slip)), self.slip_speed)
            F[d * i + 1 : d * (i + 1), i] = -self.mu[i] * slip / length
        return F

    def pushes(self, u: Vector, F: Dense) -> Vector:
        """(1, r) of (2)."""
        r = np.zeros(self.mu.size)
        r[0] = 1.0
        touching = np.flatnonzero(u[:: self.d] <= CLOSED)
        touching = touching[touching > 0]
        if touching.size:
            normal = self.W[:: self.d] @ F
            back = self.steep * np.minimum(u[self.d * touching], 0.0)  # what errors of integration let in
            r[touching] = pushing(normal[np.ix_(touching, touching)], normal[touching, 0] + back)
        return r

    def rate(self, y: Vector) -> Vector:
        """Of u, with which y begins, the impulses, and the works of the normal force that jams and of all friction."""
        size, d = self.start.size, self.d
        u = y[:size]
        F = self.forces(u)
        force = F @ self.pushes(u, F)
        friction = (force * u).reshape(-1, d)[:, 1:].sum()
        return np.concatenate([self.W @ force, force, [u[0], friction]])


def pushing(S: Dense, s: Vector) -> Vector:
    """r >= 0 with S r + s >= 0 and r ⊥ S r + s, if there is one such r and no other."""
    found: list[Vector] = []
    size = float(np.abs(S).max()) + float(np.abs(s).max())
    for count in range(s.size + 1):
        for chosen in combinations(range(s.size), count):
            r, act = np.zeros(s.size), list(chosen)
            block = S[np.ix_(act, act)]
            if act and abs(np.linalg.det(block / size)) < SINGULAR:
                continue
            r[act] = np.linalg.solve(block, -s[act]) if act else 0.0
            left = S @ r + s
            left[act] = 0.0
            same = any(np.abs(r - other).max() <= SINGULAR * (1 + np.abs(r).max()) for other in found)
            if (r >= -SINGULAR).all() and (left >= -SINGULAR * size).all() and not same:
                found.append(r)
    if len(found) != 1:
        raise InputError("through_jam: another closed contact jams as well, expected one jam at a time")
    return np.maximum(found[0], 0.0)


def others_of(whole: Snapshot, contact: int) -> list[int]:
    """The other contacts that are closed and do not part; one that approaches is refused."""
    kept = []
    for i, (gap, speed) in enumerate(zip(whole.at.gap, whole.u[:, 0], strict=True)):
        if i == contact or gap > CLOSED or speed > whole.still:
            continue
        if speed < -whole.still:
            raise InputError(
                f"through_jam: {whole.names[i]} approaches with {-speed:g} m/s, expected one that is at rest or parts"
            )
        kept.append(i)
    if len(kept) > MOST:
        raise InputError(f"through_jam: {len(kept)} other contacts are closed, expected at most {MOST}")
    return kept


def check(whole: Snapshot, contact: int) -> None:
    refuse_left_out("through_jam", whole)
    if contact >= whole.contacts:
        raise InputError(f"through_jam: contact is {contact!r}, expected a number below {whole.contacts}")
    gap, speed = whole.at.gap[contact], whole.u[contact, 0]
    if not whole.u[contact, 1:].any():
        raise InputError(f"through_jam: contact {contact} is at rest, expected one that slides: give v")
    if (abs(gap) > CLOSED and not whole.pairs) or abs(speed) > whole.still:
        raise InputError(
            f"through_jam: contact {contact} has the gap {gap:g} and the normal velocity {speed:g}, "
            f"expected both to be zero"
        )


def scale(W: Dense, u: Vector) -> float:
    """An impulse that changes the velocity by about its own size."""
    return float(np.linalg.norm(u) / np.linalg.norm(W))


def until(
    rate: Callable[[Vector], Vector], y0: Vector, start: float, mark: Callable[[Vector], float], impulse: float
) -> tuple[Vector, Dense]:
    """Integrate until the mark, a function of y, grows through zero."""
    from scipy.integrate import solve_ivp

    event: Any = lambda P, y: float(mark(y))  # noqa: E731  # with attributes
    event.terminal, event.direction = True, 1.0
    speed = float(np.linalg.norm(y0)) or 1.0
    span, atol = (start, start + FAR * impulse), RTOL * speed
    run = solve_ivp(lambda P, y: rate(y), span, y0, "Radau", rtol=RTOL, atol=atol, events=event)
    if run.status != 1:
        raise IntegrationFailed("through_jam: the contact is compressed without end: friction never lets it come back")
    return run.t, run.y.T
