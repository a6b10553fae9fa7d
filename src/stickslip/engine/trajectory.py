"""What a run leaves, and the questions one may ask of it.

    run.time, run.position(box), run.energy                    over the n + 1 instants, the start included
    run.status, run.residual, run.iterations, run.seconds      of the n steps
    run.method, run.inexact, run.failures                      what solved them, and which missed tol or failed
    run.velocity_error, run.force_error, run.worst             what is wrong with a step, in m/s, as a share, and where
    run.contacts(step=10), run.joint(0), run.events            what touched, what joints carried, what jammed

Step i leads from time[i] to time[i + 1]. A trajectory is in memory, or in an HDF5 file of which only what is asked for
is read; engine/recorder.py says what the file holds.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import Refused, checked, instance, is_number, one_of, scalar, shown, tuple_of
from stickslip.checks import path as file_path
from stickslip.engine.recorder import CONTACT, EVENT, MODEL, SCENE, Header, Record, open_record, save_record
from stickslip.engine.rows import JOINT
from stickslip.engine.watch import JamEvent
from stickslip.errors import InputError
from stickslip.friction.terms import APART
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.model import Floats, Integers, Kind, Model, State
from stickslip.scene.values import rotated
from stickslip.solvers.status import SOLVED, Status

INEXACT = int(Status.INEXACT)  # NumPy takes long to compare with an Enum
LISTED = 12  # contacts that the text of a table shows
LEFT_OUT = {APART: "apart"}

Plot = Literal["path", "energy", "impulses", "residual"]


class Handle(Protocol):
    """A body or joint as the scene gave it."""

    @property
    def index(self) -> int: ...


Named = Handle | SupportsIndex | str


class Recorded:
    """A whole column of the record as an attribute of a Trajectory, read when it is asked for."""

    def __init__(self, name: str, meaning: str, dtype: type = np.float64) -> None:
        self.name, self.__doc__, self.dtype = name, meaning, dtype

    def __get__(self, run: Any, owner: type | None = None) -> NDArray[Any]:
        if run is None:
            return self  # type: ignore[return-value]
        return run._record.read(self.name).astype(self.dtype, copy=False)


class Trajectory:
    def __init__(self, record: Record) -> None:
        self._record = record

    @classmethod
    @checked(path=file_path)
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """The trajectory in a file, also of a run that was killed or still runs, as far as it got.

        The file stays open until `close()`, the end of a `with` statement, or the last use of the trajectory.
        """
        record = open_record(path)
        if record.header.world == SCENE:
            return Trajectory(record)
        from stickslip.engine.system_trajectory import ModelTrajectory, PenaltyRun, SystemTrajectory

        if record.header.world == MODEL:
            return ModelTrajectory(record)
        return PenaltyRun(record) if record.header.springs else SystemTrajectory(record)

    @checked(path=file_path)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file, exactly. It appears complete or not at all, and replaces an older one at once."""
        save_record(self._record, path)

    @checked(path=file_path, what=one_of(Plot))
    def plot(self, path: str | os.PathLike[str], what: Plot = "path") -> None:
        """Draw the path of the bodies, the energy, the contact impulses or the residual, as .png, .pdf or .svg."""
        from stickslip.view.trajectories import draw

        draw(self, path, what)

    @checked(path=file_path)
    def export(self, path: str | os.PathLike[str], others: Sequence[Trajectory] = ()) -> None:
        """Write one HTML file that replays the run in any browser, without a network: bodies and contact forces in
        space, a scrub bar, and residual, energy and contact states over time.

        path       ends with .html
        others     runs of the same bodies, say under other formulations, shown as ghosts
        """
        from stickslip.view.replay import write_replay

        write_replay(self, path, tuple_of(instance(Trajectory))("export", "others", others))

    @property
    def header(self) -> Header:
        """What does not change: names, dt, formulation, solver, tol, masses, shapes."""
        return self._record.header

    @property
    def finished(self) -> bool:
        """Whether the run came to its end; False where it was killed, broken off, or still ran when it was loaded."""
        return self._record.finished

    # over time

    time = Recorded("time", "(n + 1,) [s]")

    def position(self, body: Named) -> Floats:
        """(n + 1, 3) of the origin of the body, as the scene placed it [m]"""
        i = body_index(self.header, body)
        centre = self._record.read("position", body=i)
        return centre - rotated(self.quaternion(i), self.header.centre[i])

    def quaternion(self, body: Named) -> Floats:
        """(n + 1, 4) scalar first, body axes to world axes"""
        return self._record.read("quaternion", body=body_index(self.header, body))

    def velocity(self, body: Named) -> Floats:
        """(n + 1, 3) of the centre of mass, world axes [m/s]"""
        return self._record.read("velocity", body=body_index(self.header, body))[:, :3]

    def spin(self, body: Named) -> Floats:
        """(n + 1, 3) angular velocity, world axes [rad/s]"""
        return self._record.read("velocity", body=body_index(self.header, body))[:, 3:]

    def state(self, instant: int) -> State:
        """All bodies at time[instant]."""
        i = checked_index("instant", instant, len(self) + 1)
        return State(*(self._record.read(name, i, i + 1)[0] for name in State._fields))

    q = Recorded("q", "(n + 1, p) of a system")
    v = Recorded("v", "(n + 1, n_v) of a system")
    gap = Recorded("gap", "(n + 1, nc) of the contacts of a system [m]")

    @property
    def energy(self) -> Floats:
        """(n + 1,) kinetic and potential [J]"""
        return self.kinetic + self.potential

    @cached_property
    def kinetic(self) -> Floats:
        """(n + 1,) of the free bodies, Σ m v²/2 + ω·I ω/2 [J]"""
        read, blocks = self._record.read, self._record.blocks("velocity")
        return np.concatenate(
            [kinetic_energy(self.header, read("quaternion", *block), read("velocity", *block)) for block in blocks]
        )

    @cached_property
    def potential(self) -> Floats:
        """(n + 1,) of the free bodies in gravity, -Σ m g·x [J]"""
        read, blocks = self._record.read, self._record.blocks("position")
        return np.concatenate([potential_energy(self.header, read("position", *block)) for block in blocks])

    # step by step

    def __len__(self) -> int:
        """The number of steps, n."""
        return self._record.steps

    status = Recorded("status", "(n,) of Status", np.int64)
    residual = Recorded("residual", "(n,) by the yardstick of the problem that was solved")
    velocity_error = Recorded(
        "velocity_error", "(n,) the worst velocity at a contact that its law does not allow [m/s]"
    )
    force_error = Recorded("force_error", "(n,) the worst share of a friction force that is outside its cone")
    worst = Recorded(
        "worst",
        "(n,) the contact of that velocity, among those of its step; -1 where none is, -2 - j for joint j",
        np.int64,
    )
    iterations = Recorded("iterations", "(n,)", np.int64)
    seconds = Recorded("seconds", "(n,) that each step took [s]")

    @property
    def method(self) -> tuple[str, ...]:
        """(n,) the names of what solved each step"""
        return tuple(self.header.methods[i] for i in self._record.read("method"))

    @property
    def failures(self) -> Integers:
        """The steps whose solve failed: their residual is above what the run accepts."""
        return np.flatnonzero((self.status != SOLVED) & (self.status != INEXACT))

    @property
    def inexact(self) -> Integers:
        """The steps that missed tol, but not by more than the run accepts."""
        return np.flatnonzero(self.status == INEXACT)

    @property
    def accuracy(self) -> str:
        """In a sentence: how many steps missed tol, and which was the worst, when, where and by how much."""
        missed = np.flatnonzero(self.status != SOLVED)
        if not missed.size:
            return f"every step solved to {np.max(self.residual, initial=0.0):.1e}"
        counts = [(self.inexact.size, "inexact"), (self.failures.size, "failed")]
        said = ", ".join(f"{count} of {counted(len(self), 'step')} {word}" for count, word in counts if count)
        step = missed[np.argmax(np.nan_to_num(self.residual[missed], nan=np.inf))]
        asked = f"tol {self.header.tol:.0e}, accept {self.header.accept:.0e}"
        wrong = f"a residual of {self.residual[step]:.1e} and a velocity wrong by {self.velocity_error[step]:.1e} m/s"
        return f"{said} ({asked}); the worst, at {self.time[step]:g} s, has {wrong}{self._place_of(int(step))}"

    def _place_of(self, step: int) -> str:
        """Between which bodies the worst contact of a step is."""
        if self.header.world == SCENE and self.worst[step] <= JOINT:
            return f" at the joint {self.header.joint_names[JOINT - self.worst[step]]!r}"
        if self.header.world != SCENE or not 0 <= self.worst[step] < self.contact_count[step]:
            return ""
        table = self.contacts(step=step)
        a, b = (table.names[body[self.worst[step]]] for body in (table.body_a, table.body_b))
        return f" between {a!r} and {b!r}"

    # joints, contacts and events

    def joint(self, joint: Named) -> JointImpulses:
        """What a joint carried in each step. It is named by its handle, its index or its name."""
        header = self.header
        j = index_of("joint", header.joint_names, joint)
        own = np.flatnonzero(header.joint_row == j)
        impulse = self._record.read("joint_impulse")[:, own]
        rows = tuple(header.joint_row_kind[row] for row in own)
        return JointImpulses(header.joint_names[j], rows, impulse, impulse / np.diff(self.time)[:, None])

    @property
    def events(self) -> tuple[JamEvent, ...]:
        """What simulate(..., watch=...) saw."""
        columns = [self._record.read(f"events/{name}").tolist() for name in EVENT]
        found = (dict(zip(EVENT, values, strict=True)) for values in zip(*columns, strict=True))
        return tuple(JamEvent(**one, name=self.contacts(one["step"]).name(one["contact"])) for one in found)

    @property
    def contact_count(self) -> Integers:
        """(n,)"""
        return np.diff(self._record.read("contact_start"))

    def contacts(self, step: int | slice = slice(None), body: Named | None = None) -> ContactTable:
        """The contacts of one step, of a slice of steps, or of all; of one body, or of all. Step -1 is the last."""
        first, last = step_range(step, len(self))
        bounds = self._record.read("contact_start", first, last + 1)
        columns = {name: self._record.read(f"contacts/{name}", bounds[0], bounds[-1]) for name in CONTACT}
        steps = np.repeat(np.arange(first, last), np.diff(bounds))
        table = table_of(self.header.names, self.header.shape_body, columns, steps)
        if body is None:
            return table
        i = body_index(self.header, body)
        return table[(table.body_a == i) | (table.body_b == i)]

    # the file

    def close(self) -> None:
        """Close the file. What is in memory stays."""
        self._record.close()

    def __enter__(self) -> Trajectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self._record.closed:
            return f"{kind}({self._record.path}, closed)"
        header = self.header
        parts = [
            f"{counted(len(self), 'step')} to {self.time[-1]:.6g} s" + ("" if self.finished else ", cut off"),
            counted(header.bodies, "body", "bodies") if header.world == SCENE else repr(header.name),
            counted(self._record.rows("contacts/gap"), "contact"),
            f"{header.formulation} by {header.solver}",
            self.accuracy,
        ]
        return f"{kind}({', '.join(parts)})"


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def checked_index(what: str, given: int, count: int) -> int:
    """An index from 0, or from the end where negative."""
    given = scalar(given)
    if not isinstance(given, int | np.integer) or not is_number(given) or not -count <= given < count:
        raise Refused(
            "Trajectory", what, given, f"one from {-count} to {count - 1}" if count else "none: there are no steps"
        )
    return int(given) % count


def step_range(step: int | slice, count: int) -> tuple[int, int]:
    if not isinstance(step, slice):
        first = checked_index("step", step, count)
        return first, first + 1
    first, last, stride = step.indices(count)
    if stride != 1:
        raise InputError(f"Trajectory: step is {step}, expected a slice of steps in a row")
    return first, max(first, last)


def body_index(header: Header, body: Named) -> int:
    if header.world != SCENE:
        raise InputError(
            f"Trajectory: this is a run of the system {header.name!r}, which has no bodies, expected a question about "
            f"q, v, gap or contacts"
        )
    return index_of("body", header.names, body)


def index_of(what: str, names: tuple[str, ...], given: Named, owner: str = "Trajectory") -> int:
    """The index of a body or joint that is given by its handle, its index or its name."""
    if isinstance(given, str):
        if given not in names:
            known = shown(", ".join(names) or "nothing")
            raise InputError(f"{owner}: there is no {what} {given!r}, expected one of {known}")
        return names.index(given)
    index = given if isinstance(given, type | list | tuple) else getattr(given, "index", given)
    if not isinstance(index, int | np.integer) or not is_number(index):
        raise InputError(f"{owner}: {what} is {shown(given)}, expected a {what} of the scene, its index or its name")
    if not 0 <= operator.index(index) < len(names):
        expected = f"an index from 0 to {len(names) - 1}" if names else f"none: there is no {what}"
        raise InputError(f"{owner}: {what} is {shown(index)}, expected {expected}")
    return operator.index(index)


@np.errstate(over="ignore", invalid="ignore")  # a run that diverged shows inf or nan
def kinetic_energy(header: Header | Model, quaternion: Floats, velocity: Floats) -> Floats:
    """Σ m v²/2 + ω·R I Rᵀ ω/2 over the free bodies, for each instant of quaternion (n, nb, 4), velocity (n, nb, 6)."""
    free = header.kind == Kind.FREE
    v, spin = velocity[:, free, :3], velocity[:, free, 3:]
    inverse = quaternion[:, free] * [1.0, -1.0, -1.0, -1.0]
    spin = rotated(inverse, spin)  # in body axes
    linear = np.einsum("b,nbi,nbi->n", header.mass[free], v, v)
    angular = np.einsum("nbi,bij,nbj->n", spin, header.inertia[free], spin)
    return (linear + angular) / 2


@np.errstate(over="ignore", invalid="ignore")
def potential_energy(header: Header | Model, position: Floats) -> Floats:
    """-Σ m g·x over the free bodies, for each instant of the centres of mass (n, nb, 3)."""
    free = header.kind == Kind.FREE
    return -np.einsum("b,nbi,i->n", header.mass[free], position[:, free], header.gravity)


@dataclass(frozen=True, eq=False)
class JointImpulses:
    """What a joint carried in n steps; the axes of its r rows are those of the joint, as fastened to its body b."""

    name: str
    rows: tuple[str, ...]  # "force x" to "moment z", "lower limit", "upper limit", "motor"
    impulse: Floats  # (n, r)   on a   [N s, N m s]
    force: Floats  # (n, r)   the mean over each step   [N, N m]

    def __repr__(self) -> str:
        return f"JointImpulses({self.name}: {', '.join(self.rows)}; {counted(len(self.impulse), 'step')})"


class Contact(NamedTuple):
    """One contact in one step: A touches B."""

    step: int
    body_a: int
    body_b: int
    shape_a: int
    shape_b: int
    feature: int  # the same number while the same features of the two shapes meet
    point: Floats  # at the start of the step, midway between the surfaces, world   [m]
    normal: Floats  # from B to A, world
    gap: float  # at the start of the step, negative where they overlap   [m]
    friction: float  # coefficient   [-]
    impulse: Floats  # on A: normal, tangent, other tangent   [N s]
    velocity: Floats  # of A relative to B after the step, the same components   [m/s]
    state: ContactState  # open, stick or slip
    tangent: Floats  # unit, world; the other tangent is normal × tangent
    moment: float  # impulse about the normal, on A   [N m s]
    spin: float  # angular velocity of A relative to B about the normal after the step   [rad/s]
    left_out: int  # 0 takes part in the problem, 1 apart


@dataclass(frozen=True, eq=False, repr=False)
class ContactTable:
    """Contacts as columns. `table[mask]` picks some of them, `table[i]` is one, and so is each turn of a loop."""

    step: Integers  # (m,)
    body_a: Integers  # (m,)
    body_b: Integers  # (m,)
    shape_a: Integers  # (m,)
    shape_b: Integers  # (m,)
    feature: Integers  # (m,)
    point: Floats  # (m, 3)
    normal: Floats  # (m, 3)
    gap: Floats  # (m,)
    friction: Floats  # (m,)
    impulse: Floats  # (m, 3)
    velocity: Floats  # (m, 3)
    state: Integers  # (m,)
    tangent: Floats  # (m, 3)
    moment: Floats  # (m,)
    spin: Floats  # (m,)
    left_out: Integers  # (m,)
    names: tuple[str, ...]  # of the bodies; of the contacts of a system

    @property
    def slip(self) -> Floats:
        """(m, 2) sliding velocity along the two tangents [m/s]"""
        return self.velocity[:, 1:]

    @property
    def vector(self) -> Floats:
        """(m, 3) impulse on A, world axes [N s]"""
        frame = np.stack([self.normal, self.tangent, np.cross(self.normal, self.tangent)], axis=1)
        return np.einsum("mk,mki->mi", self.impulse, frame)

    def name(self, which: int) -> str:
        """The two bodies of a contact; of a system, which has none, its own name."""
        a, b = self.names[self.body_a[which]], self.names[self.body_b[which]]
        return a if self.body_a[which] == self.body_b[which] else f"{a} on {b}"

    def __len__(self) -> int:
        return self.gap.size

    def __iter__(self) -> Iterator[Contact]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, which: SupportsIndex) -> Contact: ...
    @overload
    def __getitem__(self, which: Any) -> ContactTable: ...
    def __getitem__(self, which: Any) -> Contact | ContactTable:
        chosen: dict[str, Any] = {name: getattr(self, name)[which] for name in Contact._fields}
        if chosen["gap"].ndim == 0:
            plain = {name: value.item() for name, value in chosen.items() if np.ndim(value) == 0}
            return Contact(**chosen | plain | {"state": ContactState(chosen["state"])})
        return ContactTable(names=self.names, **chosen)

    def __repr__(self) -> str:
        lines = [counted(len(self), "contact")]
        if len(self):
            title = ("step", "A", "B", "feature", "gap [m]", "impulse n, t, o [N s]", "velocity n, t, o [m/s]", "state")
            lines += aligned([title, *(self._cells(contact) for contact in self[:LISTED])])
        if len(self) > LISTED:
            lines.append(f"and {len(self) - LISTED} more")
        return "\n".join(lines)

    def _cells(self, contact: Contact) -> tuple[str, ...]:
        surface = "surface" if contact.body_a == contact.body_b else self.names[contact.body_b]
        bodies = self.names[contact.body_a], surface
        vectors = (" ".join(f"{x:10.3e}" for x in v) for v in (contact.impulse, contact.velocity))
        state = LEFT_OUT.get(contact.left_out, contact.state.name.lower())
        return str(contact.step), *bodies, str(contact.feature), f"{contact.gap:.2e}", *vectors, state


def table_of(names: tuple[str, ...], shape_body: Integers, columns: Mapping[str, Any], steps: Integers) -> ContactTable:
    """The table of the columns of a record, with the bodies of its shapes, as arrays of the types that a record has;
    columns that are not given are zero."""
    typed: dict[str, Any] = {name: np.zeros((steps.size, *each.shape), each.dtype) for name, each in CONTACT.items()}
    for name, column in columns.items():
        typed[name][...] = column
    bodies = {f"body_{side}": shape_body[typed[f"shape_{side}"]] for side in "ab"}
    return ContactTable(names=names, step=steps, **bodies, **typed)


def own_contacts(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the contacts among those of steps."""
    return {name.removeprefix("contacts/"): column for name, column in columns.items() if name.startswith("contacts/")}


def aligned(rows: Sequence[tuple[str, ...]], left: Sequence[int] = (), gap: str = "  ") -> list[str]:
    """Rows of cells as lines, in columns to the right, some of them to the left."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    sides = ["<" if k in left else ">" for k in range(len(widths))]
    line = gap.join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [line.format(*row).rstrip() for row in rows]
