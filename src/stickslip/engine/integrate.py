"""`integrate_system(system, q, v, ...)`: contact by springs and dampers, integrated with an adaptive step.

    q̇ = N(q) v,      M(q) v̇ = f - c(q, v) + Aᵀ λ(g, A v) + Gᵀ ν                                                   (1)

with the forces of friction/penalty.py, by the stiff methods of SciPy. Beside the state the impulses ∫ λ dt and the work
of the forces, ∫ λ_n u_n dt and ∫ λ_t·u_t dt, are integrated, so that they have the accuracy of the state. Constraints
hold at the level of accelerations; what their positions drift by is the error of the integration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from stickslip.dynamics.constrained import drift, response
from stickslip.dynamics.generalized import Instant, System, evaluate
from stickslip.errors import InputError, IntegrationFailed
from stickslip.friction.penalty import Penalty
from stickslip.problems.matrix import Dense, Vector, vector

Method = Literal["Radau", "BDF", "LSODA"]


@dataclass(frozen=True, eq=False)
class PenaltyRun:
    """The instants an integrator went through: m of them, nc contacts with d components, normal first."""

    system: System
    contact: Penalty
    time: Vector  # (m,)   [s]
    q: Dense  # (m, p)
    v: Dense  # (m, n)
    gap: Dense  # (m, nc)   [m]
    velocity: Dense  # (m, nc, d)   of the contacts   [m/s]
    force: Dense  # (m, nc, d)   [N]
    impulse: Dense  # (m, nc, d)   ∫ λ dt   [N s]
    normal_work: Dense  # (m, nc)   ∫ λ_n u_n dt   [J]
    friction_work: Dense  # (m, nc)   ∫ λ_t·u_t dt, never growing   [J]

    @property
    def kinetic_energy(self) -> Vector:
        """(m,) [J]"""
        return np.array([v @ np.asarray(self.system.mass(q)) @ v / 2 for q, v in zip(self.q, self.v, strict=True)])

    @property
    def stored(self) -> Vector:
        """(m,) energy in the springs of the contacts   [J]"""
        return np.array([sum(self.contact.stored(gap) for gap in gaps) for gaps in self.gap])

    def __len__(self) -> int:
        return self.time.size

    def __repr__(self) -> str:
        return f"PenaltyRun({self.system.name!r}, {self.contact}, instants={len(self)})"


def integrate_system(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    contact: Penalty,
    force: ArrayLike | None = None,
    rtol: float = 1e-8,
    method: Method = "Radau",
) -> PenaltyRun:
    """Integrate a system from (q, v) for `duration` seconds; `force` are constant generalized forces beside the bias.

    `rtol` bounds the error of a step, relative to the largest of each kind of quantity.
    """
    from scipy.integrate import solve_ivp

    check(duration, rtol, method, contact)
    start = evaluate(system, q, v)
    applied = np.zeros(start.v.size) if force is None else vector(system.name, "force", force, start.v.size)
    sizes = start.q.size, start.v.size, start.A.shape[0], 2 * start.gap.size

    def rate(t: float, y: Vector) -> Vector:
        at = evaluate(system, y[: sizes[0]], y[sizes[0] : sizes[0] + sizes[1]])
        forces, u = contact_forces(system, at, contact)
        acceleration = response(at, (applied - at.bias + at.A.T @ forces.ravel())[:, None])[:, 0] + drift(at)
        power = forces * u
        work = np.concatenate([power[:, 0], power[:, 1:].sum(axis=1)])
        return np.concatenate([np.asarray(system.velocity_map(at.q)) @ at.v, acceleration, forces.ravel(), work])

    y0 = np.concatenate([start.q, start.v, np.zeros(sizes[2] + sizes[3])])
    speed = max(float(np.abs(start.v).max(initial=0.0)), contact.slip_speed)
    softness = speed / np.sqrt(contact.stiffness / np.trace(start.M))  # an overlap that matters
    scale = np.repeat([min(1.0, softness), speed, speed, speed**2], sizes)
    run = solve_ivp(rate, (0.0, duration), y0, method, rtol=rtol, atol=rtol * scale)
    if not run.success:
        raise IntegrationFailed(
            f"integrate_system: {method} stopped at time {run.t[-1]:g} s of {duration:g}: {run.message} "
            f"Try a larger slip_speed, a softer spring or a larger rtol"
        )
    return seen(system, contact, run.t, run.y.T, sizes)


def check(duration: float, rtol: float, method: str, contact: Penalty) -> None:
    for name, value in (("duration", duration), ("rtol", rtol)):
        if not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
            raise InputError(f"integrate_system: {name} is {value!r}, expected a positive number")
    if method not in get_args(Method):
        raise InputError(f"integrate_system: method is {method!r}, expected one of {', '.join(get_args(Method))}")
    if not isinstance(contact, Penalty):
        raise InputError(f"integrate_system: contact is {contact!r}, expected a Penalty")


def contact_forces(system: System, at: Instant, contact: Penalty) -> tuple[Dense, Dense]:
    """Forces and velocities of all contacts, (nc, d)."""
    u = (at.A @ at.v).reshape(-1, at.dimension)
    mu = [float(point.friction_kinetic or 0.0) for point in system.contacts]
    forces = [contact.force(*one) for one in zip(at.gap, u, mu, strict=True)]
    return np.array(forces).reshape(u.shape), u


def seen(system: System, contact: Penalty, time: Vector, y: Dense, sizes: tuple[int, int, int, int]) -> PenaltyRun:
    """What is asked of the instants, from the integrated columns."""
    q, v, impulse, work = np.split(y, np.cumsum(sizes)[:-1], axis=1)
    instants = [evaluate(system, *one) for one in zip(q, v, strict=True)]
    forces, velocities = zip(*(contact_forces(system, at, contact) for at in instants), strict=True)
    count = len(system.contacts)
    return PenaltyRun(
        system=system,
        contact=contact,
        time=time,
        q=q,
        v=v,
        gap=np.array([at.gap for at in instants]),
        velocity=np.array(velocities),
        force=np.array(forces),
        impulse=impulse.reshape(len(time), count, -1),
        normal_work=work[:, :count],
        friction_work=work[:, count:],
    )
