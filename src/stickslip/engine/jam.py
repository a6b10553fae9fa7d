"""A jam at the level of impulses: an impact without collision.

Where a sliding contact jams, its force grows without limit as springs stiffen, and velocities jump while positions
stay. With the normal impulse P as the time of the process [1, 2],

    du/dP = W (1, -μ e_t),      e_t = u_t / max(|u_t|, u_s),      dv/dP = M⁻¹ Aᵀ (1, -μ e_t)                       (1)

from u_n = 0 on. The contact is compressed while u_n < 0. It comes back to u_n = 0 once it has stopped, or once its slip
has turned out of the locking sector: in space the direction of slip turns during the process, and then the slip need
not end. Compression ends at u_n = 0, and restitution gives back the share e² of the work ∫ u_n dP that it took, e the
energetic coefficient of restitution: e = 0 a damper that gives nothing back, e = 1 an elastic spring.

(1) is the limit of friction/penalty.py for stiff springs, with the same slip speed u_s below which a contact creeps.
One implicit step of a rigid formulation takes the direction of friction from the end of the jam instead. The two agree
where the direction of slip does not turn.

[1] Keller, Impact with friction, Journal of Applied Mechanics 53 (1986) 1-4.
[2] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378, sections 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.constrained import response
from stickslip.dynamics.generalized import System, evaluate
from stickslip.errors import InputError, IntegrationFailed
from stickslip.problems.matrix import Dense, Vector

CLOSED = 1e-9  # gaps [m] and normal velocities [m/s] up to this are zero
RTOL = 1e-10
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
    friction_work: float  # -∫ μ e_t·u_t dP   [J]

    @property
    def stopped(self) -> bool:
        """Whether the slip came to an end: to less than a thousandth of what it was."""
        slip = np.linalg.norm(self.velocity[:, 1:], axis=1)
        return bool(slip[self.compression] < 1e-3 * slip[0])


def through_jam(
    system: System, q: ArrayLike, v: ArrayLike, contact: int = 0, restitution: float = 0.0, slip_speed: float = 1e-6
) -> Jam:
    """What becomes of the velocities where a contact slides in its locking sector; other contacts are open."""
    at = evaluate(system, q, v)
    check(system, contact, restitution, slip_speed)
    A, mu = at.rows(contact), float(system.contacts[contact].friction_kinetic or 0.0)
    moved = response(at, A.T)
    W, u0 = A @ moved, A @ at.v
    d = u0.size
    if abs(at.gap[contact]) > CLOSED or abs(u0[0]) > CLOSED:
        raise InputError(
            f"through_jam: contact {contact} has the gap {at.gap[contact]:g} and the normal velocity {u0[0]:g}, "
            f"expected both to be zero"
        )

    def forces(u: Vector) -> Vector:
        return np.concatenate([[1.0], -mu * u[1:] / max(float(np.linalg.norm(u[1:])), slip_speed)])

    if not (W @ forces(u0))[0] < 0:
        raise InputError(
            f"through_jam: contact {contact} slides along {u0[1:].tolist()} outside its locking sector, expected one "
            f"that jams"
        )

    def rate(P: float, y: Vector) -> Vector:
        """Of u, the impulse, and the works of normal force and friction."""
        force = forces(y[:d])
        return np.concatenate([W @ force, force, [y[0], force[1:] @ y[1:d]]])

    def returned(P: float, y: Vector) -> float:
        return float(y[0])

    y0 = np.concatenate([[0.0], u0[1:], np.zeros(d + 2)])
    times, path = until(rate, y0, 0.0, returned, scale(W, u0))
    compression = len(times) - 1
    taken = path[-1, -2]
    if restitution > 0:

        def given_back(P: float, y: Vector) -> float:
            return float(y[-2] - (1 - restitution**2) * taken)

        more, after = until(rate, path[-1], times[-1], given_back, scale(W, u0))
        times, path = np.concatenate([times, more[1:]]), np.vstack([path, after[1:]])
    impulse = path[-1, d : 2 * d]
    v_after = at.v + moved @ impulse
    return Jam(
        normal_impulse=times,
        velocity=path[:, :d],
        compression=compression,
        impulse=impulse,
        v=v_after,
        energy_lost=float(at.v @ at.M @ at.v - v_after @ at.M @ v_after) / 2,
        normal_work=float(path[-1, -2]),
        friction_work=float(path[-1, -1]),
    )


def check(system: System, contact: int, restitution: float, slip_speed: float) -> None:
    if not (isinstance(contact, int) and 0 <= contact < len(system.contacts)):
        raise InputError(f"through_jam: contact is {contact!r}, expected a number below {len(system.contacts)}")
    if not 0 <= restitution <= 1:
        raise InputError(f"through_jam: restitution is {restitution!r}, expected a number from 0 to 1")
    if not 0 < slip_speed < math.inf:
        raise InputError(f"through_jam: slip_speed is {slip_speed!r}, expected a positive speed")


def scale(W: Dense, u: Vector) -> float:
    """An impulse that changes the velocity by about its own size."""
    return float(np.linalg.norm(u) / np.linalg.norm(W))


def until(
    rate: Callable[[float, Vector], Vector], y0: Vector, start: float, event: Any, impulse: float
) -> tuple[Vector, Dense]:
    """Integrate until the event, a function of (P, y), grows through zero."""
    from scipy.integrate import solve_ivp

    event.terminal, event.direction = True, 1.0
    speed = float(np.linalg.norm(y0)) or 1.0
    run = solve_ivp(rate, (start, start + FAR * impulse), y0, "Radau", rtol=RTOL, atol=RTOL * speed, events=event)
    if run.status != 1:
        raise IntegrationFailed("through_jam: the contact is compressed without end: friction never lets it come back")
    return run.t, run.y.T
