"""`integrate_system(system, q, v, ...)`: contact by springs and dampers, integrated with an adaptive step.

    q̇ = N(q) v,      M(q) v̇ = f - c(q, v) + Aᵀ λ(g, A v) + Gᵀ ν                                                   (1)

with the forces of friction/penalty.py, by the stiff methods of SciPy. Beside the state the impulses ∫ λ dt and the work
of the forces, ∫ λ_n u_n dt and ∫ λ_t·u_t dt, are integrated, so that they have the accuracy of the state. Constraints
hold at the level of accelerations; what their positions drift by is the error of the integration. The trajectory has
the instants that the integrator chose, and no forces of constraints.

The derivative that stiff methods need is taken by central differences, with steps that are small beside the overlap of
a spring and beside the slip speed: SciPy's own, which enlarges a step while the rate does not answer to it, ends with
infinite coordinates at stiff springs, for no rate answers to where a mechanism is along the ground.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import checked, instance, one_of, positive, vector
from stickslip.dynamics.constrained import drift, response
from stickslip.dynamics.generalized import Instant, System, a_system, evaluate
from stickslip.engine.arguments import spring_seconds
from stickslip.engine.recorder import Header, Record, Recorder
from stickslip.engine.system_trajectory import PenaltyRun, contact_columns, in_space
from stickslip.errors import IntegrationFailed
from stickslip.friction.penalty import Penalty
from stickslip.problems.contact_states import State
from stickslip.problems.matrix import Dense, Vector

Method = Literal["Radau", "BDF", "LSODA"]
FINE = 1e-5  # step of coordinates, a share of the overlap that matters
LARGEST = 1e-6  # and no more than this
STEEPNESS = 1e-3  # step of velocities, a share of the slip speed


@checked(
    system=a_system,
    q=vector,
    v=vector,
    duration=spring_seconds,
    contact=instance(Penalty),
    force=vector,
    rtol=positive,
    method=one_of(Method),
)
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
    start = evaluate(system, q, v)
    applied = np.zeros(start.v.size) if force is None else vector(system.name, "force", force, start.v.size)
    sizes = start.q.size, start.v.size, start.A.shape[0], 2 * start.gap.size

    def rate(t: float, y: Vector) -> Vector:
        if not np.isfinite(y).all():  # a step far too long; the method tries a shorter one
            return np.full(y.size, np.nan)
        at = evaluate(system, y[: sizes[0]], y[sizes[0] : sizes[0] + sizes[1]], t)
        forces, u = contact_forces(system, at, contact)
        pushed = applied - at.bias + at.A.T @ forces.ravel()
        if not np.isfinite(pushed).all():
            return np.full(y.size, np.nan)
        acceleration = response(at, pushed[:, None])[:, 0] + drift(at)
        power = forces * u
        work = np.concatenate([power[:, 0], power[:, 1:].sum(axis=1)])
        return np.concatenate([np.asarray(system.velocity_map(at.q)) @ at.v, acceleration, forces.ravel(), work])

    y0 = np.concatenate([start.q, start.v, np.zeros(sizes[2] + sizes[3])])
    speed = max(float(np.abs(start.v).max(initial=0.0)), contact.slip_speed)
    softness = speed / np.sqrt(contact.stiffness / np.trace(start.M))  # an overlap that matters
    scale = np.repeat([min(1.0, softness), speed, speed, speed**2], sizes)
    steps = np.repeat(small_steps(speed, softness, contact), sizes[:2])
    run = integrated("integrate_system", rate, duration, y0, method, rtol, scale, steps)
    names, told = tuple(point.name for point in system.contacts), in_words(contact, method, rtol)
    header = Header.of_system(system, names, len(start.G), planar=start.dimension == 2, springs=True, **told)
    return PenaltyRun(recorded(system, contact, header, run.t, run.y.T, sizes), system, contact)


def in_words(contact: Penalty, method: str, rtol: float) -> dict[str, Any]:
    """What the header of a trajectory says of how it was integrated."""
    said = {"formulation": repr(contact), "solver": f"{method}(rtol={rtol:g})", "methods": ("none", method)}
    return said | {"dt": np.nan, "tol": rtol, "accept": rtol}


def small_steps(speed: float, softness: float, contact: Penalty) -> tuple[float, float]:
    """Of coordinates and of velocities, for a central difference."""
    return min(FINE * softness, LARGEST), STEEPNESS * min(speed, contact.slip_speed)


def central_derivative(rate: Callable[[float, Vector], Vector], steps: Vector) -> Callable[[float, Vector], Dense]:
    """∂ rate/∂y by central differences over the first coordinates, one for each step; it depends on no others."""

    def derivative(t: float, y: Vector) -> Dense:
        J = np.zeros((y.size, y.size))
        for i, step in enumerate(steps):
            moved = y.copy()
            moved[i] = y[i] + step
            ahead, after = moved[i], rate(t, moved)
            moved[i] = y[i] - step
            J[:, i] = (after - rate(t, moved)) / (ahead - moved[i])
        if not np.isfinite(J).all():
            raise IntegrationFailed(f"at time {t:g} s the motion has left the range of numbers, expected smaller ones")
        return J

    return derivative


def integrated(
    owner: str, rate: Any, duration: float, y0: Vector, method: str, rtol: float, scale: Vector, steps: Vector
) -> Any:
    """What solve_ivp found, which has come to the end; `steps` are those of `central_derivative`."""
    from scipy.integrate import solve_ivp

    derivative = central_derivative(rate, steps)
    try:
        run = solve_ivp(rate, (0.0, duration), y0, method, rtol=rtol, atol=rtol * scale, jac=derivative)
    except np.linalg.LinAlgError as error:
        raise IntegrationFailed(f"{owner}: {method} met a matrix without an inverse ({error})") from None
    except ValueError as error:
        if "infs or NaNs" not in str(error):
            raise
        raise IntegrationFailed(f"{owner}: the motion has left the range of numbers, expected smaller ones") from None
    if not run.success:
        raise IntegrationFailed(
            f"{owner}: {method} stopped at time {run.t[-1]:g} s of {duration:g}: {run.message} "
            f"Try a larger slip_speed, a softer spring or a larger rtol"
        )
    return run


def contact_forces(system: System, at: Instant, contact: Penalty) -> tuple[Dense, Dense]:
    """Forces and velocities of all contacts, (nc, d)."""
    u = at.u.reshape(-1, at.dimension)
    forces = [contact.force(*one) for one in zip(at.gap, u, kinetic_friction(system), strict=True)]
    return np.array(forces).reshape(u.shape), u


def kinetic_friction(system: System) -> list[float]:
    return [float(point.friction_kinetic or 0.0) for point in system.contacts]


def recorded(
    system: System, contact: Penalty, header: Header, time: Vector, y: Dense, sizes: tuple[int, int, int, int]
) -> Record:
    """The instants as steps from one to the next, from the integrated columns."""
    q, v, impulse, work = np.split(y, np.cumsum(sizes)[:-1], axis=1)
    instants = [evaluate(system, *one) for one in zip(q, v, time.tolist(), strict=True)]
    forces, velocities = map(np.array, zip(*(contact_forces(system, at, contact) for at in instants), strict=True))
    steps, count, d = time.size - 1, len(system.contacts), header.dimension
    columns: dict[str, Any] = {
        "time": time,
        "q": q,
        "v": v,
        "gap": np.array([at.gap for at in instants]),
        "kinetic": [at.v @ at.M @ at.v / 2 for at in instants],
        "contact_velocity": velocities,
        "contact_force": forces,
        "contact_impulse": impulse.reshape(time.size, count, d),
        "normal_work": work[:, :count],
        "friction_work": work[:, count:],
        "stored": [sum(contact.stored(gap) for gap in at.gap) for at in instants],
    }
    recorder = Recorder(header, {name: column[0] for name, column in columns.items()})
    between = {name: column[1:] for name, column in columns.items()}
    slip = np.linalg.norm(velocities[1:, :, 1:], axis=2)
    slides = np.where(slip > contact.slip_speed, State.SLIP, State.STICK)
    contacts = {
        "friction": np.tile(kinetic_friction(system), (steps, 1)),
        "gap": columns["gap"][:-1],
        "impulse": in_space(np.diff(columns["contact_impulse"], axis=0)),
        "velocity": in_space(velocities[1:]),
        "state": np.where(forces[1:, :, 0] > 0, slides, State.OPEN),
    }
    recorder.append(between | contact_columns(steps, count, contacts) | {"method": np.ones(steps)})
    return recorder.finish()
