"""What a run of a system in generalized coordinates leaves: a Trajectory whose state is q and v instead of bodies.

    run.q, run.v, run.gap, run.kinetic                 over the n + 1 instants, the start included
    run.impulse, run.velocity, run.friction, run.state   of all nc contacts in each of the n steps

and all that every Trajectory has: contacts(step), joint("constraint"), events, save, load, plot. A system's functions
are not in a file: where it was loaded, `system` is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.dynamics.generalized import System
from stickslip.engine.recorder import Record
from stickslip.engine.trajectory import Recorded, Trajectory
from stickslip.errors import InputError
from stickslip.friction.penalty import Penalty
from stickslip.scene.model import Floats, Integers


class SystemTrajectory(Trajectory):
    """Step i leads from time[i] to time[i + 1]; d is 2 or 3 components of a contact, normal first."""

    def __init__(self, record: Record, system: System | None = None) -> None:
        super().__init__(record)
        self.system = system

    kinetic = Recorded("kinetic", "(n + 1,) ½ vᵀ M(q) v [J]")
    kinetic_energy = kinetic

    @property
    def impulse(self) -> Floats:
        """(n, nc, d) [N s]"""
        return self._by_contact("impulse")[..., : self.header.dimension]

    @property
    def velocity(self) -> Floats:  # type: ignore[override]  # a system has no bodies to ask for
        """(n, nc, d) of the contacts at the end of the step, with the rows of its start [m/s]"""
        return self._by_contact("velocity")[..., : self.header.dimension]

    @property
    def friction(self) -> Floats:
        """(n, nc) the coefficient that held"""
        return self._by_contact("friction")

    @property
    def state(self) -> Integers:  # type: ignore[override]
        """(n, nc) of problems.contact_states.State"""
        return self._by_contact("state").astype(int)

    def _by_contact(self, name: str) -> Floats:
        """A column of contacts as (n, nc, ...): in every step there are all."""
        column = self._record.read(f"contacts/{name}")
        return column.reshape(len(self), len(self.header.names), *column.shape[1:])


class ModelTrajectory(SystemTrajectory):
    """A run of a model of a robot: contacts come and go, so they are asked for by `contacts(step)`, with the geoms for
    bodies."""

    def origin(self, body: str) -> Floats:
        """(n + 1, 3) of the origin of a body; the model must be there, which it is not in a file [m]"""
        if self.system is None:
            raise InputError(
                f"Trajectory: this is a loaded run of {self.header.name!r}, expected its `system` to be set"
            )
        here, number = self.system.here, self.system.body(body)  # type: ignore[attr-defined]  # of a LoadedModel
        places = []
        for q in self.q:
            here.place(q)
            places.append(here.data.xpos[number].copy())
        return np.array(places)

    def _by_contact(self, name: str) -> Floats:
        raise InputError(f"Trajectory: contacts of {self.header.name!r} come and go, expected contacts(step).{name}")


class PenaltyRun(SystemTrajectory):
    """The m = n + 1 instants an integrator went through with contacts by springs; see engine/integrate.py.

    A step leads from one instant to the next, and `contacts` has the impulses between them.
    """

    def __init__(self, record: Record, system: System | None = None, contact: Penalty | None = None) -> None:
        super().__init__(record, system)
        self.contact = contact  # None where it was loaded

    velocity = Recorded("contact_velocity", "(m, nc, d) of the contacts [m/s]")
    force = Recorded("contact_force", "(m, nc, d) [N]")
    impulse = Recorded("contact_impulse", "(m, nc, d) ∫ λ dt [N s]")
    normal_work = Recorded("normal_work", "(m, nc) ∫ λ_n u_n dt [J]")
    friction_work = Recorded("friction_work", "(m, nc) ∫ λ_t·u_t dt, never growing [J]")
    stored = Recorded("stored", "(m,) energy in the springs of the contacts [J]")


def contact_columns(steps: int, count: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the contact rows of some steps, which all have all contacts, from those (steps, nc, ...) given."""
    columns: dict[str, Any] = dict.fromkeys(("shape_a", "shape_b", "feature"), np.tile(np.arange(count), steps))
    columns |= {name: np.reshape(value, (steps * count, *np.shape(value)[2:])) for name, value in given.items()}
    start = count * np.arange(steps + 1)
    return {"contact_start": start} | {f"contacts/{name}": value for name, value in columns.items()}


def in_space(values: Floats) -> Floats:
    """(..., 3) of components (..., d): in the plane the third is zero."""
    if values.shape[-1] == 3:
        return values
    return np.concatenate([values, np.zeros((*values.shape[:-1], 3 - values.shape[-1]))], axis=-1)
