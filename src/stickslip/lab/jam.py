"""Where friction coupling makes a contact jam, as the lab shows it: a pose, the map it lies on, and both cones.

A `Desk` has a mechanism, a pose and a coefficient of friction. The mechanism is one of the papers', or the scene or
robot that the lab shows (lab/anchors.py). In space, at the contact, it shows Coulomb's cone of
forces of unit normal component, and the generalized cone of the velocity changes W λ that they make
(analysis/coupling.py), both with their axis along the normal; where the latter dips below the tangent plane friction
closes the contact. e_jam is the slip direction that jams first, the locking sector those that jam. How many solutions
there are is asked of a contact that slides along e_jam.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stickslip.analysis.coupling import FrictionCoupling, friction_coupling
from stickslip.analysis.jamming import Family, JamMap, arm_family, jam_map, rod_family, shown
from stickslip.analysis.solvability import solvability
from stickslip.dynamics.mechanisms import ARM_HEIGHT, ARM_LENGTHS
from stickslip.errors import InputError
from stickslip.problems.matrix import Dense, Vector
from stickslip.scene.model import Floats, Integers

RESOLUTION = {1: 120, 2: 48}  # values of each parameter of a map, by how many there are
RIM = 64  # points of a cone's rim
SLIP = 0.1  # speed at which the number of solutions is asked for   [m/s]
MOST = 3.0  # a cone is drawn no larger than so many times the other


class Place(NamedTuple):
    """A contact in space."""

    point: Floats  # (3,)   [m]
    frame: Floats  # (3, 3)   n, t, o as rows


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A family of poses that can be drawn."""

    name: str
    family: Family
    place: Callable[[Vector], Place]  # of q: its contact
    segments: Callable[[Vector], Floats] | None = None  # of q: links (k, 2, 3); None where the lab's own world is drawn
    resolution: int | None = None  # of its map

    @cached_property
    def map(self) -> JamMap:
        return jam_map(self.family, self.resolution or RESOLUTION[len(self.family.ranges)])


def rod_mechanism() -> Mechanism:
    def segments(q: Vector) -> Floats:
        x, y, z, theta, phi = q
        half = 0.5 * np.array([math.cos(theta) * math.cos(phi), math.cos(theta) * math.sin(phi), math.sin(theta)])
        centre = np.array([x, y, z])
        return np.array([[centre - half, centre + half]])

    return Mechanism("Painlevé's rod", rod_family(), lambda q: Place(np.zeros(3), FLOOR), segments)


def arm_mechanism() -> Mechanism:
    def corners(q: Vector) -> Floats:
        links = np.array(
            [(length * math.cos(a), 0.0, -length * math.sin(a)) for length, a in zip(ARM_LENGTHS, q[:3], strict=True)]
        )
        return np.cumsum(np.vstack([[(0.0, 0.0, ARM_HEIGHT)], links]), axis=0)

    def segments(q: Vector) -> Floats:
        found = corners(q)
        return np.stack([found[:-1], found[1:]], axis=1)

    across = np.array([(0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)])  # against the turn, and outwards
    return Mechanism("arm of Peiret 2019", arm_family(), lambda q: Place(corners(q)[-1], across), segments)


FLOOR = np.array([(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


class Cones(NamedTuple):
    """Triangles to be drawn at a contact, and the arrow of e_jam."""

    coulomb: tuple[Floats, Integers]  # vertices and faces
    generalized: tuple[Floats, Integers]
    sector: tuple[Floats, Integers]  # of slip directions that jam; no faces where none does
    e_jam: Floats  # (2, 3)   from and to


def cones(coupling: FrictionCoupling, mu: float, at: Place, size: float) -> Cones:
    """At a contact, the axis of Coulomb's cone `size` high."""
    rim = np.atleast_2d(coupling.cone(mu).surface(RIM))
    flat = len(coupling.W) == 2
    tall = float(np.abs(rim).max()) or 1.0
    generalized = in_space(rim / tall, at, size)
    angle = np.array([np.pi, 0.0]) if flat else np.linspace(0.0, 2 * np.pi, RIM)
    around = np.column_stack([np.ones(len(angle)), mu * np.cos(angle), mu * np.sin(angle)])[:, : len(coupling.W)]
    coulomb = in_space(around, at, size / max(1.0, mu / MOST))
    e = coupling.e_jam
    arrow = np.array([at.point, in_space(np.concatenate([[0.0], e])[None], at, size)[0]])
    return Cones(fan(at.point, coulomb), fan(at.point, generalized), sector(coupling, mu, at, size), arrow)


def sector(coupling: FrictionCoupling, mu: float, at: Place, size: float) -> tuple[Floats, Integers]:
    """The slip directions that jam: as wide as the locking angle about e_jam, in the tangent plane."""
    wide = coupling.locking_angle(mu)
    if wide <= 0 or len(coupling.W) != 3:
        return at.point[None], np.zeros((0, 3), np.int64)
    middle = math.atan2(coupling.e_jam[1], coupling.e_jam[0])
    angle = middle + np.linspace(-wide / 2, wide / 2, RIM)
    rim = np.column_stack([np.full(RIM, 0.01), 0.9 * np.cos(angle), 0.9 * np.sin(angle)])
    return fan(at.point, in_space(rim, at, size))


def in_space(components: Floats, at: Place, size: float) -> Floats:
    """Points of components n, t[, o], from the contact on."""
    return at.point + size * components @ at.frame[: components.shape[1]]


def fan(apex: Floats, rim: Floats) -> tuple[Floats, Integers]:
    i = np.arange(1, len(rim))
    return np.vstack([apex, rim]), np.column_stack([np.zeros_like(i), i, i + 1])


@dataclass(eq=False)
class Desk:
    """A mechanism in a pose, with a coefficient of friction."""

    mechanism: Mechanism
    parameters: Vector
    mu: float = 0.8

    @classmethod
    def worst(cls, mechanism: Mechanism, mu: float = 0.8) -> Desk:
        """In the pose that jams first."""
        minima = mechanism.map.minima
        middle = np.array([np.mean(bounds) for bounds in mechanism.family.ranges.values()])
        return cls(mechanism, minima[0].parameters if minima else middle, mu)

    @property
    def q(self) -> Vector:
        return self.mechanism.family.pose(*self.parameters.tolist())

    @property
    def exists(self) -> bool:
        return self.mechanism.family.exists(*self.parameters.tolist())

    def coupling(self, q: Vector | None = None) -> FrictionCoupling:
        """In this pose, or at q."""
        q = self.q if q is None else q
        return friction_coupling(self.system(q), q=q)

    def system(self, q: Vector) -> Any:
        """With this friction, and with the plane where the point is."""
        system: Any = self.mechanism.family.system
        (point,) = system.contacts
        away = point.gap(q)
        touching = replace(point, gap=lambda q: point.gap(q) - away, friction=self.mu, friction_kinetic=None)
        return replace(system, contacts=(touching,))

    def describe(self) -> str:
        """The pose, the coupling, and how many solutions there are, in words."""
        family = self.mechanism.family
        pose = ", ".join(
            f"{name} = {shown(value, unit)}"
            for name, value, unit in zip(family.ranges, self.parameters, family.units, strict=True)
        )
        if not self.exists:
            return f"{pose}: there is no such pose."
        return f"{pose}\n\n{self.at(self.q)}"

    def at(self, q: Vector) -> str:
        """The coupling and the solutions at q, in words."""
        return f"{explained(self.coupling(q), self.mu)}\n\n{self.solutions(q)}"

    def solutions(self, q: Vector) -> str:
        """Of the contact while it slides along e_jam."""
        coupling, system = self.coupling(q), self.system(q)
        if not coupling.e_jam.any():
            return "Sliding never jams it: there is one solution whatever the friction."
        slip = np.concatenate([[0.0], SLIP * coupling.e_jam])
        v = np.linalg.lstsq(coupling.A, slip, rcond=None)[0]
        if np.abs(coupling.A @ v - slip).max() > 1e-6 * SLIP:
            return "In this pose it cannot slide along e_jam: no motion of the mechanism does that."
        try:
            return f"Sliding along e_jam with {SLIP:g} m/s: {solvability(system, q=q, v=v).describe()}"
        except InputError as error:
            return f"How many solutions there are is not said: {error}"


def explained(coupling: FrictionCoupling, mu: float) -> str:
    verdict = f"μ = {mu:.3g} is below μ_jam = {coupling.mu_jam:.4g}: no direction jams."
    if mu > coupling.mu_jam:
        verdict = f"**μ = {mu:.3g} is above μ_jam = {coupling.mu_jam:.4g}: it can jam.**"
    return f"{verdict}\n\n{coupling.explain(mu)}"


def share(desk_map: JamMap, across: float, up: float) -> Dense | None:
    """The parameters under a click on the picture of a map, at shares of its axes; None beside it."""
    if not (0.0 <= across <= 1.0 and 0.0 <= up <= 1.0):
        return None
    ranges = list(desk_map.family.ranges.values())
    return np.array([low + part * (high - low) for (low, high), part in zip(ranges, (across, up), strict=False)])
