"""Jam maps: μ_jam over a family of poses, and the poses where it is least.

A family has some parameters, most often one or two; `pose` turns them into coordinates q of a system, NaN where there
is no such pose, or into a scene, None where there is none. μ_jam of analysis/coupling.py is evaluated on a grid over
the ranges. Each pose of the grid that is no worse than its neighbours starts a Nelder–Mead search within the ranges
(and once more from where that ended), until the simplex is PLACE of the ranges wide; what ends at one place is one
minimum. Where a search ends at the border of the ranges, or beside poses that do not exist, it found no minimum but an
edge; of these the lowest is kept, as μ_jam may be lower beyond it.

What is found is what the grid shows: a dip narrower than its spacing may be missed, and the map says its spacing.

The grid of a large map is a sweep (sweeps/sweep.py) where an engine is given: on all cores or a cluster, and with `out`
in a file from which the same call goes on.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import ndimage, optimize

from stickslip.analysis.coupling import FrictionCoupling, How, effective, friction_coupling, kept_still, mu_jam_of
from stickslip.checks import (
    Refused,
    checked,
    function,
    instance,
    mapping,
    not_negative,
    number,
    numbers,
    optional,
    positive,
    scalar,
    text,
    truth,
    tuple_of,
    whole,
    wholes,
)
from stickslip.checks import path as file_path
from stickslip.dynamics.generalized import System, a_system, gap_of, positive_definite
from stickslip.dynamics.mechanisms import ARM_HEIGHT, ARM_LENGTHS, LENGTHS, arm, arm_on_the_plane, rod, rod_on_its_foot
from stickslip.dynamics.pinocchio import Robot
from stickslip.errors import InputError
from stickslip.friction.stabilisation import TOUCHING
from stickslip.problems.matrix import Dense, Vector
from stickslip.remade import Remade, remade
from stickslip.scene.friction_law import number as friction_number
from stickslip.scene.scene import Scene

Contact: TypeAlias = int | Sequence[Any]  # its number, or the two bodies of a scene

PLACE = 1e-9  # width of the last simplex, as a share of the ranges
MOST_PARAMETERS = 6  # the search of a dip by its corners takes more and more steps
MOST_VALUES, MOST_POSES = 10_000, 4_000_000  # of a parameter, and in all: a minute or so
SAME = 1e-5  # searches that end within this share of the ranges found one minimum
LEVEL = 1e-12  # relative difference up to which two poses are equally bad: rounding
A_SCENE = instance(Scene, expected="a Scene, or None where there is none")  # a kind of argument


def parameter_ranges(owner: str, field: str, value: Any) -> dict[str, tuple[float, float]]:
    """A kind of argument: the least and the greatest value of each parameter, by its name."""
    found = {}
    for name, given in mapping(owner, field, value).items():
        least, greatest = numbers(owner, f"{field}[{name!r}]", given, (2,), "two rising numbers")
        if not least < greatest:
            raise Refused(owner, f"{field}[{name!r}]", given, "two rising numbers")
        found[text(owner, field, name)] = (least, greatest)
    return found


@dataclass(frozen=True, eq=False)
@checked(system=optional(a_system), pose=function, ranges=parameter_ranges, units=tuple_of(text), name=text)
class Family(Remade):
    """Poses of a system, or scenes, by one parameter, two, or up to six."""

    system: System | None  # None for scenes
    pose: Callable[..., Any]  # of the parameters: q, NaN where there is none; or a scene, None where there is none
    ranges: dict[str, tuple[float, float]]  # of each parameter, by its name
    units: tuple[str, ...]  # rad or m, of each
    name: str = ""  # that of the system where nothing is said

    def __post_init__(self) -> None:
        if not 1 <= len(self.ranges) <= MOST_PARAMETERS or len(self.units) != len(self.ranges):
            raise InputError(
                f"Family: ranges has {len(self.ranges)} parameters and units {len(self.units)} entries, expected one "
                f"to {MOST_PARAMETERS}, each with a unit"
            )
        if not self.name:
            object.__setattr__(self, "name", "scene" if self.system is None else self.system.name)

    @checked(parameters=number)
    def exists(self, *parameters: float) -> bool:
        """Is there such a pose?"""
        if len(parameters) != len(self.ranges):
            raise Refused("Family", "parameters", parameters, f"{len(self.ranges)} numbers: {', '.join(self.ranges)}")
        found = self.pose(*parameters)
        return found is not None if self.system is None else not np.isnan(found).any()

    def coupling(self, parameters: Vector, contact: Contact, held: Mapping[Any, How] | None) -> FrictionCoupling:
        """Of a contact in one pose."""
        found = self.pose(*parameters.tolist())
        world, q = (found, None) if self.system is None else (self.system, found)
        return friction_coupling(world, q=q, contact=contact, held=held)


@dataclass(frozen=True, eq=False)
class WorstPose:
    """A pose where μ_jam is lowest among those around it."""

    parameters: Vector  # one of each
    q: Any  # coordinates, or a scene
    coupling: FrictionCoupling

    @property
    def mu_jam(self) -> float:
        return self.coupling.mu_jam


@dataclass(frozen=True, eq=False)
class JamMap:
    """μ_jam over a family."""

    family: Family
    axes: tuple[Vector, ...]  # values of each parameter
    mu_jam: Dense  # (n,), (n, n), …   inf without coupling, NaN where there is no pose
    minima: tuple[WorstPose, ...]  # local minima, the worst first
    edge: WorstPose | None  # the lowest that a search found at an edge of the ranges or of the poses that exist
    contact: Contact

    @property
    def contact_name(self) -> str:
        system = self.family.system
        if system is not None and isinstance(self.contact, int):
            return system.contacts[self.contact].name
        return f"contact {self.contact}" if isinstance(self.contact, int) else " and ".join(map(str, self.contact))

    @property
    def searched(self) -> str:
        """What was looked at, in words."""
        parts = [
            f"{name} from {shown(axis[0], unit)} to {shown(axis[-1], unit)} in {axis.size - 1} steps"
            for name, unit, axis in zip(self.family.ranges, self.family.units, self.axes, strict=True)
        ]
        there = np.isfinite(self.mu_jam) | np.isinf(self.mu_jam)
        return f"{' and '.join(parts)}, {int(there.sum())} of {there.size} poses exist"

    @checked(mu=not_negative)
    def share_that_jams(self, mu: float) -> float:
        """Share of the poses that exist in which some slip direction jams with this friction."""
        there = ~np.isnan(self.mu_jam)
        return float((self.mu_jam[there] < mu).mean()) if there.any() else 0.0


@checked(
    family=instance(Family),
    resolution=wholes(3, MOST_VALUES),
    held=mapping,
    workers=wholes(1, 10_000),
    out=file_path,
    progress=truth,
)
def jam_map(
    family: Family,
    resolution: int = 200,
    contact: Contact = 0,
    held: Mapping[Any, How] | None = None,
    *,
    engine: str | Executor | None = None,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> JamMap:
    """μ_jam of a contact point over a family of poses, `resolution` values of each parameter, with its local minima.

    `held`: what the other contact points do, as in `friction_coupling`. Where it says nothing those that are closed in
    a pose stick, or have no friction. `engine`, `workers`, `out`, `progress`: those of `sweep`, for maps of many poses;
    "processes" is the engine for all cores, as poses are made by Python.
    """
    contact, poses = scalar(contact), resolution ** len(family.ranges)
    if poses > MOST_POSES:
        raise Refused("jam_map", "resolution", resolution, f"at most {MOST_POSES:.0e} poses in all, not {poses:.0e}")
    axes = tuple(np.linspace(*bounds, resolution) for bounds in family.ranges.values())
    others = dict(held or {})
    if family.system is not None:
        check_contacts(family.system, contact, others)
    line = Line(family, contact, others, tuple(axes[-1].tolist()) if len(axes) > 1 else ())
    over = {name: axis.tolist() for name, axis in zip(family.ranges, axes, strict=True)}
    if line.last:
        del over[list(family.ranges)[-1]]
    if engine is None and out is None:
        found: Any = [line(**dict(zip(over, values, strict=True))) for values in itertools.product(*over.values())]
    else:
        from stickslip.sweeps.sweep import FailedRuns, sweep

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FailedRuns)
            way = "threads" if engine is None else engine
            made = sweep(line, over, engine=way, workers=workers, out=out, progress=progress)
        if made.failed.size:
            raise InputError(made.reason(int(made.failed[0])))
        found = made["value"]
    mu = np.array(found).reshape([axis.size for axis in axes])
    minima, edge = local_minima(family, axes, mu, contact, others)
    return JamMap(family, axes, mu, minima, edge, contact)


@dataclass(frozen=True)
class Line:
    """The function of the sweep that a map is: μ_jam along the last parameter, where there are several."""

    family: Family
    contact: Contact
    held: Mapping[Any, How]
    last: tuple[float, ...]  # values of the last parameter; none where there is one parameter only

    def __call__(self, **parameters: float) -> Vector:
        first = tuple(parameters.values())
        poses = [(*first, value) for value in self.last] if self.last else [first]
        return mu_jam_along(self.family, poses, self.contact, self.held)

    def __repr__(self) -> str:
        """By this a sweep is known again: the calls that made the family, where it remembers them."""
        family, asked = self.family, (self.contact, sorted(self.held.items(), key=repr), self.last)
        try:
            made = pickle.dumps(family, 5).hex()
        except Exception:  # it was made of functions, and by no call
            made = repr(family)
        return f"jam map of {family.name}, {family.ranges}, {asked}: {made}"


def check_contacts(system: System, contact: Contact, held: Mapping[Any, How]) -> None:
    """Are there such contact points, and others than the one that is asked about held?"""
    count = len(system.contacts)
    for field, each in (("contact", contact), *(("held", other) for other in held)):
        if not (isinstance(each, int | np.integer) and not isinstance(each, bool) and 0 <= each < count):
            raise Refused("jam_map", field, each, f"a number below {count} for {system.name!r}")
    if contact in held:
        raise InputError(f"jam_map: held has contact {contact}, the one that is asked about; expected others")


def mu_jam_along(
    family: Family, parameters: list[tuple[float, ...]], contact: Contact, held: Mapping[Any, How]
) -> Vector:
    """μ_jam of many poses; those of a system that hold as many rows at once."""
    system, found = family.system, [family.pose(*values) for values in parameters]
    mu = np.full(len(found), math.nan)
    if system is None:
        for i, scene in enumerate(found):
            if scene is not None:
                mu[i] = friction_coupling(A_SCENE("jam_map", "the pose", scene), contact=contact, held=held).mu_jam
        return mu
    assert not isinstance(contact, Sequence)
    there = [i for i, q in enumerate(found) if not np.isnan(q).any()]
    still = {i: still_rows(system, found[i], contact, held) for i in there}
    for size in {len(C) for C, _ in still.values()}:
        alike = [i for i in there if len(still[i][0]) == size]
        M = np.array([system.mass(found[i]) for i in alike], float)
        A = np.array([rows_at(system, contact, found[i]) for i in alike], float)
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            for i in alike:
                name = f"M at q = {np.round(found[i], 6).tolist()}"
                positive_definite(system.name, name, system.mass(found[i]))
        C, F = (np.array([still[i][side] for i in alike]) for side in (0, 1))
        response = effective(M, A, C, F)
        mu[alike] = mu_jam_of(response.W, response.W_alone)
    return mu


def rows_at(system: System, contact: int, q: Vector) -> Dense:
    """A of a contact, as it is at the time 0."""
    return np.asarray(system.contacts[contact].velocity_rows(q, 0.0)[0], float)


def still_rows(system: System, q: Vector, contact: int, held: Mapping[Any, How]) -> tuple[Dense, Dense]:
    """Rows C and F of (1) of analysis/coupling.py: constraints, and contacts that stay closed."""
    none = np.zeros((0, system.velocities))
    G = none if system.constraint is None else np.asarray(system.constraint.velocity_rows(q, 0.0)[0], float)
    ways: dict[int, How] = {}
    for i, point in enumerate(system.contacts):
        if i in held:
            ways[i] = held[i]
        elif i != contact and gap_of(point, q, 0.0) <= TOUCHING:
            ways[i] = "sticking" if friction_number(point.friction) else "frictionless"
    points = ((f"contact {i}", rows_at(system, i, q), how) for i, how in ways.items() if how != "open")
    return kept_still(G, points)[:2] if ways else (G, G)


def local_minima(
    family: Family, axes: tuple[Vector, ...], mu: Dense, contact: Contact, held: Mapping[Any, How]
) -> tuple[tuple[WorstPose, ...], WorstPose | None]:
    """Every dip of the grid followed to its bottom: the minima inside, and the lowest place at an edge."""
    bounds = np.array([(axis[0], axis[-1]) for axis in axes])
    width = bounds[:, 1] - bounds[:, 0]
    found: list[tuple[float, Vector]] = []
    for index in dips(mu):
        start = np.array([axis[i] for axis, i in zip(axes, index, strict=True)])
        place, value = bottom(family, start, bounds, 1 / (len(axes[0]) - 1), contact, held)
        if all(np.abs((place - other) / width).max() > SAME for _, other in found):
            found.append((value, place))
    found.sort(key=lambda pair: pair[0])
    inside = [place for _, place in found if not at_edge(family, place, bounds)]
    outside = [place for _, place in found if at_edge(family, place, bounds)]

    def worst(place: Vector) -> WorstPose:
        return WorstPose(place, family.pose(*place.tolist()), family.coupling(place, contact, held))

    return tuple(map(worst, inside)), worst(outside[0]) if outside else None


def dips(mu: Dense) -> list[tuple[int, ...]]:
    """One index for each connected set of poses that are no worse than all their neighbours."""
    value = np.where(np.isnan(mu), np.inf, mu)
    least = ndimage.minimum_filter(value, size=3, mode="nearest")
    lowest = np.isfinite(value) & (value <= least * (1 + LEVEL))
    label, count = ndimage.label(lowest, structure=np.ones((3,) * mu.ndim))
    where = [np.argwhere(label == k + 1) for k in range(count)]
    return [tuple(int(i) for i in places[np.argmin(value[tuple(places.T)])]) for places in where]


def bottom(
    family: Family, start: Vector, bounds: Dense, step: float, contact: Contact, held: Mapping[Any, How]
) -> tuple[Vector, float]:
    """The bottom of the dip at `start`, by Nelder and Mead's method, twice. It sees the parameters as shares of their
    ranges, of which `step` is one."""
    low, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]

    def mu_at(shares: Vector) -> float:
        value = float(mu_jam_along(family, [tuple((low + shares * width).tolist())], contact, held)[0])
        return math.inf if math.isnan(value) else value

    place = (start - low) / width
    least = mu_at(place)
    for _ in range(2):
        corners = place + np.vstack([np.zeros(place.size), np.diag(np.where(place < 0.5, step, -step))])
        options = {"initial_simplex": corners, "xatol": PLACE, "fatol": LEVEL}
        within = [(0.0, 1.0)] * place.size
        answer = optimize.minimize(mu_at, place, method="Nelder-Mead", bounds=within, options=options)
        if answer.fun <= least:
            place, least = answer.x, float(answer.fun)
    return low + place * width, least


def at_edge(family: Family, place: Vector, bounds: Dense) -> bool:
    """Is there no pose close by in some direction, or is it out of the ranges?"""
    width = bounds[:, 1] - bounds[:, 0]
    beside = [place + s * SAME * width * axis for axis in np.eye(place.size) for s in (1, -1)]
    return any(
        (other < bounds[:, 0]).any() or (other > bounds[:, 1]).any() or not family.exists(*other.tolist())
        for other in beside
    )


def shown(value: float, unit: str) -> str:
    return f"{math.degrees(value):.6g}°" if unit == "rad" else f"{value:.6g} {unit}"


# families


@remade
@checked(mass=positive, length=positive)
def rod_family(mass: float = 1.0, length: float = 1.0) -> Family:
    """Painlevé's rod by its angle from the plane."""
    return Family(
        rod(mass, length),
        lambda theta: rod_on_its_foot(theta, length),
        {"theta": (math.radians(1.0), math.radians(89.0))},
        ("rad",),
    )


@remade
@checked(lengths=LENGTHS, height=positive, density=positive)
def arm_family(
    lengths: tuple[float, float, float] = ARM_LENGTHS, height: float = ARM_HEIGHT, density: float = 2.0
) -> Family:
    """The arm of Peiret 2019, or one of other lengths, height of the shoulder and mass per length, with its tip on the
    plane, by the tip's distance and the angle of the last link."""
    reach = sum(lengths)
    greatest = math.sqrt(max(reach**2 - height**2, 0.0))
    if not greatest > 0:
        raise InputError(f"arm_family: height is {height:g}, expected less than the length of the arm, {reach:g}")
    usual = (lengths, height) == (ARM_LENGTHS, ARM_HEIGHT)  # the ranges of figure 6
    x = (0.05, 1.0) if usual else (0.05 * greatest, greatest)
    return Family(
        arm(lengths, height, density),
        lambda x, theta3: arm_on_the_plane(x, theta3, lengths, height),
        {"x": x, "theta3": (0.0, math.pi)},
        ("m", "rad"),
    )


@remade
@checked(scene=function, ranges=parameter_ranges, units=tuple_of(text), name=text)
def scene_family(
    scene: Callable[..., Scene | None],
    ranges: Mapping[str, tuple[float, float]],
    units: Sequence[str],
    name: str = "scene",
) -> Family:
    """Scenes by some parameters: `scene` makes one of them, or None where there is none."""
    return Family(None, scene, dict(ranges), tuple(units), name)


@remade
@checked(robot=instance(Robot), ranges=parameter_ranges, fixed=mapping, touch=text, contact=whole)
def robot_family(
    robot: Robot,
    ranges: Mapping[str, tuple[float, float]],
    fixed: Mapping[str, float] | None = None,
    touch: str | None = None,
    contact: int = 0,
) -> Family:
    """Poses of a robot by some of its joints, the others fixed or neutral.

    `touch`: the joint that puts the contact point on its plane, the nearest way from its fixed or neutral place.
    Without it the plane is taken to be where the point is, with the same normal: μ_jam does not depend on the offset.
    """
    base, names = robot.pose(fixed), tuple(ranges)
    for name in names:
        robot.joint(name)
    if touch is not None and touch not in robot.joints:
        raise Refused("robot_family", "touch", touch, f"one of {', '.join(robot.joints)}")
    if touch in ranges:
        raise InputError(f"robot_family: touch is {touch!r}, expected a joint that has no range")

    def pose(*values: float) -> Vector:
        q = base.copy()
        for name, value in zip(names, values, strict=True):
            robot.set_joint(q, name, value)
        return q if touch is None else robot.touching(q, touch, contact)

    units = tuple("m" if robot.is_prismatic(name) else "rad" for name in names)
    return Family(robot, pose, dict(ranges), units)
