"""What a run leaves, written down while it runs: in memory, or in an HDF5 file that is readable if the run is killed.

A record is a header and columns that grow. With n steps, nb bodies, nr joint rows, m contacts over all steps and e jam
events:

    n + 1 rows   time (), position (nb, 3), quaternion (nb, 4), velocity (nb, 6), contact_start (), event_start ()
    n rows       status (), iterations (), residual (), velocity_error (), force_error (), worst (), seconds (),
                 method (), joint_impulse (nr,)
    m rows       contacts/{shape_a, shape_b, feature, point, normal, gap, friction, impulse, velocity, state,
                 tangent, moment, spin, left_out}
    e rows       events/{time, step, contact, mu, mu_jam, margin}

The record of a system in generalized coordinates has instead of position, quaternion and velocity

    n + 1 rows   q (p,), v (n_v,), gap (nc,), kinetic ()
    n + 1 rows   contact_velocity, contact_force, contact_impulse (nc, d), normal_work, friction_work (nc,), stored ();
                 where the contacts are springs

and in every step a contact row for each of its nc contacts, shape and feature being its number, without point, normal
and tangent; the rows of its constraint are joint rows. That of a model of a robot, whose contacts come and go, has no
gap, its contact rows are those of a scene with geoms for shapes and bodies, and the feature is the number of a contact.

Row 0 of the first kind is the state before the first step; step i leads from row i to row i + 1, and its contacts are
the rows contact_start[i] to contact_start[i + 1], its events likewise. Point, normal, tangent and gap are those at the
start of the step, impulse and velocity (normal, tangent, other tangent = normal × tangent; the last is 0 in planar
scenes), moment and spin (about the normal) those that its solve gave. A joint row's impulse is λ of dynamics/joints.py,
and `method` a number among the header's `methods`: what solved the step.

In a file each column is a dataset of that name, the header is in the attributes and in the group /header. The datasets
grow in blocks (HDF5's single writer, multiple readers mode, which keeps the file valid between any two writes), and the
number /steps is raised after the block has been flushed: what it counts is complete. /finished becomes 1 at the end.
The first bytes of the file, HDF5's user block, say in plain text how long it was then, so that one cut short is known.
Where a run was killed or still runs, h5py.File(path, "r", swmr=True) opens the file; Trajectory.load does so too, and
says at once where it is damaged (engine/unclosed.py).

Each block also leaves, from version 4 on, with w blocks and k contacts that the engine remembered in all of them,

    w rows   writes/counts (5,)       steps, contacts, events and remembered contacts so far, and whether it is the end
             writes/joint (nr,)       the impulses of joint rows that the next step starts from
             writes/checksums (C,)    CRC-32 of the rows that the block has of each column, and of this very row
    k rows   memory/{key, impulse, trend, moment, moved, waited, inside}

With the last of them and the last state a run goes on to the same bits (engine/resume.py); what these rows are for a
model is said in engine/steppers.py. The rows of a block are held against their checksum when they are first read. Files
of version 1 have neither joints nor events, and none of the columns of ADDED[2]; those of version 1 and 2 have none of
ADDED[3]: what a file does not have reads as zeros. Those before version 4 have no checksums, and cannot go on.

A new file is written under the name path.part, and takes the place of an older one with its first step
(engine/target.py).
"""

from __future__ import annotations

import contextlib
import copy
import math
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.checks import shown
from stickslip.dynamics.generalized import System
from stickslip.dynamics.joints import joint_row_names
from stickslip.engine.interrupts import uninterrupted
from stickslip.engine.ledger import AT_END, GOES_ON, LOST, Ledger, checksum, entry
from stickslip.engine.target import TRAJECTORY, Target, is_locked, reserve
from stickslip.engine.unclosed import Unclosed
from stickslip.engine.watch import JamEvent
from stickslip.errors import FileError, InputError, reading, writing
from stickslip.problems.contact_states import State as ContactState
from stickslip.problems.files import check_hdf5, check_held, own_node, readable
from stickslip.scene.model import Floats, Integers, Joint, Kind, Model, Shape, State
from stickslip.solvers.status import Status
from stickslip.texts import fixed, text_of

FORMAT, FORMAT_VERSION = TRAJECTORY, 4
INTERVAL = 1.0  # seconds between two writes
READS, PAUSE = 20, 0.05  # times and seconds, until a file that is being written is read between two writes
BLOCK_BYTES = 2**25  # what waits in memory before it is written all the same
USER_BLOCK, COMPLETE = 512, b"stickslip trajectory, bytes complete: %020d\n"  # with it a file begins
AHEAD = 2**28  # bytes of a column that there is room for before they are needed
SLACK = 2**16  # bytes for what HDF5 itself needs in a write, beside 2 % of the file
POSES, STEPS, CONTACTS, EVENTS = "poses", "steps", "contacts", "events"  # what a row of a column stands for
MEMORY, WRITES = "memory", "writes"  # and of those that only a file has
SCENE, SYSTEM, MODEL = "scene", "system", "model"  # what runs: a model is a system whose contacts come and go
START = {CONTACTS: "contact_start", EVENTS: "event_start"}  # the column that says which rows belong to a step

Columns = dict[str, NDArray[Any]]


class Column(NamedTuple):
    rows: str  # POSES, STEPS, CONTACTS or EVENTS
    dtype: type
    shape: tuple[int, ...]  # of a row


CONTACT = {
    **dict.fromkeys(("shape_a", "shape_b"), Column(CONTACTS, np.int32, ())),
    "feature": Column(CONTACTS, np.int64, ()),
    **dict.fromkeys(("point", "normal"), Column(CONTACTS, np.float64, (3,))),
    **dict.fromkeys(("gap", "friction"), Column(CONTACTS, np.float64, ())),
    **dict.fromkeys(("impulse", "velocity"), Column(CONTACTS, np.float64, (3,))),
    "state": Column(CONTACTS, np.int8, ()),
    "tangent": Column(CONTACTS, np.float64, (3,)),
    **dict.fromkeys(("moment", "spin"), Column(CONTACTS, np.float64, ())),
    "left_out": Column(CONTACTS, np.int8, ()),
}  # the columns of contacts, in their order


REMEMBERED = {
    "memory/key": Column(MEMORY, np.int64, (3,)),
    **dict.fromkeys(("memory/impulse", "memory/trend"), Column(MEMORY, np.float64, (3,))),
    "memory/moment": Column(MEMORY, np.float64, ()),
    "memory/moved": Column(MEMORY, np.bool_, ()),
    "memory/waited": Column(MEMORY, np.int64, ()),
    "memory/inside": Column(MEMORY, np.bool_, ()),
}  # of the contacts of the last step: Memory of engine/rows.py, and whether a watch saw it in its locking sector


class Checkpoint(NamedTuple):
    """What the next step starts from beside the state."""

    contacts: Columns  # those of REMEMBERED
    joint: Floats  # (nr,)   λ of joint rows
    lost: bool = False  # it is not known, and the run cannot go on


def state_shapes(header: Header) -> dict[str, tuple[int, ...]]:
    """What a world is at an instant: its columns and the shapes of their rows."""
    count = len(header.names)
    if header.world == SCENE:
        return {"position": (count, 3), "quaternion": (count, 4), "velocity": (count, 6)}
    shapes: dict[str, tuple[int, ...]] = {"q": (header.coordinates,), "v": (header.velocities,)}
    shapes |= {"kinetic": ()} if header.world == MODEL else {"gap": (count,), "kinetic": ()}
    if header.springs:
        shapes |= dict.fromkeys(("contact_velocity", "contact_force", "contact_impulse"), (count, header.dimension))
        shapes |= {"normal_work": (count,), "friction_work": (count,), "stored": ()}
    return shapes


EVENT: dict[str, type] = {
    **dict.fromkeys(("step", "contact"), np.int64),
    **dict.fromkeys(("time", "mu", "mu_jam", "margin"), np.float64),
}  # of a JamEvent; its name is that of the contact
COLUMNS = {
    "time": Column(POSES, np.float64, ()),
    **dict.fromkeys(("contact_start", "event_start"), Column(POSES, np.int64, ())),
    "status": Column(STEPS, np.int8, ()),
    "iterations": Column(STEPS, np.int32, ()),
    **dict.fromkeys(("residual", "velocity_error", "force_error"), Column(STEPS, np.float64, ())),
    "worst": Column(STEPS, np.int64, ()),
    "seconds": Column(STEPS, np.float64, ()),
    "method": Column(STEPS, np.int8, ()),
    "joint_impulse": Column(STEPS, np.float64, (0,)),
    **{f"contacts/{name}": column for name, column in CONTACT.items()},
    **{f"events/{name}": Column(EVENTS, dtype, ()) for name, dtype in EVENT.items()},
}  # of a record without joints, beside its states
ADDED = {
    2: {
        *("event_start", "method", "joint_impulse"),
        *(f"contacts/{name}" for name in ("tangent", "moment", "spin", "left_out")),
        *(f"events/{name}" for name in EVENT),
    },
    3: {"velocity_error", "force_error", "worst"},
}  # the columns that came with a version
CHECKED = 4  # the version from which on blocks have checksums, and runs go on


def empty() -> Any:
    """What a header has of things that its world does not have."""
    return np.zeros(0, np.int64)


def own_version() -> str:
    """Of the package that this module is a part of, installed or not."""
    return import_module("stickslip").__version__


@dataclass(frozen=True, eq=False)
class Header:
    """What does not change during a run, and what reading needs of the Model (see there)."""

    names: tuple[str, ...]  # of the bodies of a scene, of the contacts of a system, of the geoms of a model
    dt: float  # [s]   NaN where steps differ
    formulation: str  # what posed the problems, with its settings
    solver: str  # what solved them
    tol: float  # that it was asked for
    planar: bool
    accept: float = math.nan  # residual that it went on with
    world: str = SCENE  # or SYSTEM, MODEL
    name: str = ""  # of the system
    coordinates: int = 0  # p, of the system
    velocities: int = 0  # n_v, of the system
    springs: bool = False  # are the contacts of the system
    gravity: Floats = field(default_factory=empty)
    kind: Integers = field(default_factory=empty)
    mass: Floats = field(default_factory=empty)
    inertia: Floats = field(default_factory=empty)
    centre: Floats = field(default_factory=empty)
    shape: Integers = field(default_factory=empty)
    shape_body: Integers = field(default_factory=empty)
    shape_size: Floats = field(default_factory=empty)
    shape_position: Floats = field(default_factory=empty)
    shape_rotation: Floats = field(default_factory=empty)
    hull_range: Integers = field(default_factory=empty)
    hull_corner: Floats = field(default_factory=empty)
    methods: tuple[str, ...] = ("unknown",)  # what may solve a step
    joint_names: tuple[str, ...] = ()
    joint: Integers = field(default_factory=empty)  # (nj,)   of scene.model.Joint
    joint_a: Integers = field(default_factory=empty)  # (nj,)   bodies
    joint_b: Integers = field(default_factory=empty)  # (nj,)
    joint_row: Integers = field(default_factory=empty)  # (nr,)   the joint of each row
    joint_row_kind: tuple[str, ...] = ()  # (nr,)   "force x" and so on, see joint_row_names
    version: str = field(default_factory=own_version)  # of the stickslip that ran
    duration: float = math.nan  # that was asked for; NaN where a run cannot go on   [s]
    scheme: str = ""  # how bodies in contact moved
    effort: int = 0  # sweeps over a large island
    keep_going: bool = False  # after a step that was not solved
    watch: str = ""  # what was looked for
    scene: str = ""  # as a scene file has it; nothing where a file cannot hold it
    digest: str = ""  # of the arrays of the scene

    @classmethod
    def of(cls, model: Model, names: tuple[str, ...], joint_names: tuple[str, ...] | None = None, **run: Any) -> Header:
        """`joint_names`: "joint 0" and so on where None; `run`: how it was made, in the other fields."""
        joints = model.joint.size
        joint_names = tuple(f"joint {j}" for j in range(joints)) if joint_names is None else tuple(joint_names)
        for what, found, count, each in (
            ("joint_names", joint_names, joints, "joints"),
            ("names", names, model.mass.size, "bodies"),
        ):
            if len(found) != count:
                raise InputError(f"Header: {what} has {len(found)} entries, expected one for each of {count} {each}")
        arrays: dict[str, Any] = {name: np.array(getattr(model, name)) for name in ARRAYS if name != "joint_row"}
        rows = joint_row_names(model)
        return cls(
            tuple(names),
            planar=bool(model.planar),
            joint_names=joint_names,
            joint_row=np.array([joint for joint, _ in rows], np.int64),
            joint_row_kind=tuple(kind for _, kind in rows),
            **run,
            **arrays,
        )

    @classmethod
    def of_system(cls, system: System, names: tuple[str, ...], rows: int, world: str = SYSTEM, **run: Any) -> Header:
        """The same of a system with these contacts, or a model with these geoms; its constraint of so many rows is a
        joint."""
        return cls(
            names,
            world=world,
            name=system.name,
            coordinates=system.coordinates,
            velocities=system.velocities,
            shape_body=np.arange(len(names)),
            joint_names=("constraint",) if rows else (),
            joint_row=np.zeros(rows, np.int64),
            joint_row_kind=tuple(f"row {i}" for i in range(rows)),
            **run,
        )

    @cached_property
    def layout(self) -> dict[str, Column]:
        """Every column of a record by its name."""
        states = {name: Column(POSES, np.float64, shape) for name, shape in state_shapes(self).items()}
        return states | COLUMNS | {"joint_impulse": Column(STEPS, np.float64, (self.joint_row.size,))}

    @property
    def bodies(self) -> int:
        return len(self.names) if self.world == SCENE else 0

    @property
    def dimension(self) -> int:
        """Components of a contact."""
        return 2 if self.planar else 3


ARRAYS, TEXTS, NUMBERS, LISTS = (
    tuple(each.name for each in fields(Header) if each.type in types)
    for types in (("Floats", "Integers"), ("str",), ("float", "int", "bool"), ("tuple[str, ...]",))
)
HEADER_ADDED = {
    2: {
        *("world", "name", "coordinates", "velocities", "springs"),
        *("methods", "joint_names", "joint", "joint_a", "joint_b", "joint_row", "joint_row_kind"),
    },
    3: {"accept"},
    4: {
        *("duration", "scheme", "effort", "keep_going", "watch", "scene", "digest"),
        *("hull_range", "hull_corner"),
    },
}  # what came with a version
LONG = {"scene"}  # texts that are kept as a dataset


@dataclass(eq=False)
class Record:
    """A header and its columns: NumPy arrays, or datasets of an open file, which are read when they are asked for."""

    header: Header
    columns: dict[str, Any]
    steps: int
    finished: bool  # the run came to its end
    file: Any = None  # h5py.File of the columns
    path: str = ""
    ledger: Ledger | None = None  # of the file, from version 4 on
    memory: Checkpoint | None = None  # what the next step starts from, where the record is no file

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of a record in a file reads the same file."""
        if self.path:
            return open_record, (os.path.abspath(self.path),)
        return Record, (self.header, self.columns, self.steps, self.finished, None, "", None, self.memory)

    def __deepcopy__(self, memo: dict[int, Any]) -> Record:
        return open_record(self.path) if self.path else copy.copy(self)  # what is in memory is never changed

    def checkpoint(self) -> Checkpoint | None:
        """What the next step starts from; None where the record does not say."""
        if self.ledger is None:
            return self.memory
        if self.ledger.lost:
            return None
        start, stop = self.ledger.remembered
        with reading(self.path, "an HDF5 file"):
            contacts = {name: self.rows_of(name, column, start, stop) for name, column in REMEMBERED.items()}
        return Checkpoint(contacts, self.ledger.joint[-1])

    def rows_of(self, name: str, column: Column, start: int, stop: int) -> NDArray[Any]:
        """Rows of a dataset of the file, held against their checksums."""
        dataset = checked(self.file, name, column)
        if self.ledger is not None:
            self.ledger.check(name, column.rows, start, stop, lambda first, last: dataset[first:last])
        return np.array(dataset[start:stop])

    def read(self, name: str, start: int = 0, stop: int | None = None, body: int | None = None) -> NDArray[Any]:
        """Rows start to stop of a column, and of one body where it is given, as an array of its own."""
        if self.closed:
            raise FileError(f"{self.path}: the file of this trajectory was closed, expected it open; load it again")
        end = self.rows(name) if stop is None else stop
        where = slice(start, end) if body is None else (slice(start, end), body)
        if not self.path:
            return np.array(self.columns[name][where])
        with reading(self.path, "an HDF5 file"), readable(f"/{name}"):
            column = self.columns[name]
            if self.ledger is not None:
                self.ledger.check(name, self.column(name).rows, start, end, lambda first, last: column[first:last])
            found = np.array(column[where])
            check_values(self.header, name, found)
        return found

    def column(self, name: str) -> Column:
        expected = self.header.layout
        if name not in expected:
            world = "a scene" if self.header.world == SCENE else f"the system {self.header.name!r}"
            known = ", ".join(state_shapes(self.header))
            raise InputError(f"Trajectory: this is a run of {world}, which has no {name}, expected one of {known}")
        return expected[name]

    def rows(self, name: str) -> int:
        match self.column(name).rows:
            case "poses":
                return self.steps + 1
            case "steps":
                return self.steps
            case ragged:
                return int(self.read(START[ragged], self.steps, self.steps + 1)[0])

    def blocks(self, name: str) -> Iterator[tuple[int, int]]:
        """Start and stop of runs of rows that are small enough to hold at once."""
        column = self.column(name)
        width = max(1, int(np.prod(column.shape)) * np.dtype(column.dtype).itemsize)
        count, size = self.rows(name), max(1, BLOCK_BYTES // width)
        return ((start, min(start + size, count)) for start in range(0, count, size))

    @property
    def closed(self) -> bool:
        return self.path != "" and not self.file

    def close(self) -> None:
        if self.file:
            self.file.close()


class Recorder:
    """Takes the steps of a run as they come, and keeps them in memory or, where a path is given, in that file.

    A file is written once a second: a run that is killed loses no more than that. Used in a `with` statement, the file
    is closed also where the run is broken off, and then says so.
    """

    def __init__(
        self,
        header: Header,
        start: State | Mapping[str, ArrayLike],
        path: str | os.PathLike[str] | None = None,
        *,
        start_time: float = 0.0,
        interval: float | None = None,
        steps: int = 0,
    ) -> None:
        """`steps`: how many are expected, where that is known; then there is room for all of them at once."""
        self.layout, self.waits = header.layout, path is not None
        state = start._asdict() if isinstance(start, State) else start
        first = {"time": start_time, "contact_start": 0, "event_start": 0, **state}
        rows = {
            name: self.canonical(name, self.layout[name], np.asarray(value)[None], 1) for name, value in first.items()
        }
        self.begin(header, MemoryStore(header, steps) if path is None else FileStore(header, path), interval)
        self.checkpoint = no_checkpoint(header)
        try:
            self.store.append([rows], self.checkpoint)
        except BaseException:
            self.store.finish(finished=False)
            raise
        self.steps = self.contacts = self.events = 0  # so far

    def begin(self, header: Header, store: MemoryStore | FileStore, interval: float | None = None) -> None:
        """Nothing waits to be written to the store yet."""
        self.layout, self.store, self.waits = header.layout, store, isinstance(store, FileStore)
        self.interval = INTERVAL if interval is None else interval
        self.waiting: list[Columns] = []
        self.waiting_bytes, self.written = 0, time.monotonic()
        self.open = True  # for more steps
        self.record: Record | None = None

    @classmethod
    def after(cls, record: Record, path: str | os.PathLike[str]) -> Recorder:
        """A recorder that goes on where a record ends, in a file that begins as a copy of it."""
        recorder = cls.__new__(cls)
        store = FileStore(record.header, path, at_end=True)
        try:
            copy_record(record, store)
            store.at_end = False
            with writing(store.target.name):
                store.target.arrive()
        except BaseException:
            store.close(finished=False, arrives=False)
            raise
        recorder.begin(record.header, store)
        recorder.checkpoint = record.checkpoint() or no_checkpoint(record.header)
        recorder.steps = record.steps
        recorder.contacts, recorder.events = (record.rows(name) for name in ("contacts/gap", "events/step"))
        return recorder

    def append(
        self, columns: Mapping[str, Any], events: Sequence[JamEvent] = (), checkpoint: Checkpoint | None = None
    ) -> None:
        """Append k steps in a row, given as columns by name, the events that a watch saw in them, and what the next
        step starts from.

        The columns are those of the layout, with the states at the end of each step; those that are None or not there
        count as zeros. `contact_start` has k + 1 entries, from 0: the contacts of the step i are the rows
        contact_start[i] to contact_start[i + 1] of those given here. All is copied: arrays may be filled anew.
        """
        if not self.open:
            raise InputError("Recorder: this record has ended, or a write has failed, expected no more steps")
        start = np.asarray(columns["contact_start"])
        steps, contacts = np.size(columns["time"]), np.size(columns["contacts/gap"])
        if start.shape != (steps + 1,) or start[0] != 0 or start[-1] != contacts or (start[1:] < start[:-1]).any():
            raise InputError(
                f"Chunk: contact_start is {start}, expected {steps + 1} numbers that rise from 0 to {contacts} contacts"
            )
        counts = {POSES: steps, STEPS: steps, CONTACTS: contacts, EVENTS: len(events)}
        values = {**columns, "contact_start": start[1:] + self.contacts, "event_start": np.full(steps, self.events)}
        if events:
            values |= {f"events/{name}": [getattr(event, name) for event in events] for name in EVENT}
            values["event_start"] += np.searchsorted(values["events/step"], self.steps + np.arange(1, steps + 1))
        block = {
            name: self.canonical(name, column, values.get(name), counts[column.rows])
            for name, column in self.layout.items()
            if self.waits or counts[column.rows] or name in columns
        }
        self.steps, self.contacts, self.events = self.steps + steps, self.contacts + contacts, self.events + len(events)
        self.waiting.append(block)
        if self.waits:
            self.waiting_bytes += sum(value.nbytes for value in block.values())
        self.checkpoint = checkpoint or self.checkpoint
        first = self.steps == steps  # with it the file takes its place
        if (
            not self.waits
            or first
            or self.waiting_bytes > BLOCK_BYTES
            or time.monotonic() - self.written >= self.interval
        ):
            self.write()

    def canonical(self, name: str, column: Column, given: ArrayLike | None, count: int) -> NDArray[Any]:
        if given is None:
            return zeros_of(column, count)
        value: NDArray[Any] = np.array(given, column.dtype) if self.waits else np.asarray(given)  # what waits is a copy
        if value.shape != (count, *column.shape):
            raise InputError(f"Chunk: {name} has shape {value.shape}, expected {(count, *column.shape)}")
        return value

    def write(self) -> None:
        """Hand what waits to the store. If that fails, the record ends with the steps before."""
        if not self.waiting:
            return
        with uninterrupted():
            blocks, self.waiting, self.waiting_bytes = self.waiting, [], 0
            self.open = False
            self.store.append(blocks, self.checkpoint)
            self.open, self.written = True, time.monotonic()

    def finish(self, finished: bool = True) -> Record:
        """The record, for Trajectory(record); `finished` says whether the run came to its end."""
        if self.record is None:
            try:
                if self.open:  # else a write has failed, and the steps before are all there is
                    self.write()
                self.open, self.record = False, self.store.finish(finished)
            finally:
                if self.record is None:
                    self.open, self.record = False, self.store.finish(finished=False)
        return self.record

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.finish(finished=kind is None)


def joined(blocks: list[Columns]) -> Columns:
    """One after another. The blocks are emptied on the way, so that no more than one column is there twice."""
    if len(blocks) == 1:
        return blocks[0]
    return {name: np.concatenate([block.pop(name) for block in blocks]) for name in list(blocks[0])}


def zeros_of(column: Column, rows: int) -> NDArray[Any]:
    return np.zeros((rows, *column.shape), column.dtype)


def nothing_remembered(rows: int) -> Columns:
    """So many rows of what a step starts from, zeros."""
    return {name: zeros_of(column, rows) for name, column in REMEMBERED.items()}


def no_checkpoint(header: Header, lost: bool = False) -> Checkpoint:
    """Before the first step, or where what the next one would start from is not known."""
    return Checkpoint(nothing_remembered(0), np.zeros(header.joint_row.size), lost)


class MemoryStore:
    """Columns with room for as many rows again, whenever they are full, or as a run of so many steps will need."""

    def __init__(self, header: Header, steps: int = 0) -> None:
        self.header, self.steps = header, steps
        self.checkpoint: Checkpoint | None = None
        self.columns: Columns = {}  # that have rows
        self.rows = dict.fromkeys(header.layout, 0)

    def append(self, blocks: list[Columns], checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        for block in blocks:
            made = self.rows["status"] + len(block.get("status", ()))
            more = max(2.0, 1.1 * (self.steps + 1) / max(made, 1)) if made != self.steps else 1.0
            for name, rows in block.items():
                self.extend(name, rows, more)

    def extend(self, name: str, rows: NDArray[Any], more: float) -> None:
        """Copy rows behind those that are there; without room for them, make it so many times as large."""
        begin, column = self.rows[name], self.columns.get(name)
        end = self.rows[name] = begin + len(rows)
        if column is None or end > len(column):
            most = max(2 * end, AHEAD * len(rows) // max(1, rows.nbytes))
            room = np.empty((min(int(more * end), most), *rows.shape[1:]), self.header.layout[name].dtype)
            if column is not None:
                room[:begin] = column[:begin]
            self.columns[name] = column = room
        column[begin:end] = rows

    def finish(self, finished: bool) -> Record:
        columns = {
            name: self.columns[name][: self.rows[name]] if name in self.columns else zeros_of(column, 0)
            for name, column in self.header.layout.items()
        }
        return Record(self.header, columns, self.rows["status"], finished, memory=self.checkpoint)


class FileStore:
    """A file that grows. It takes the place of an older one with its first step, or `at_end` when it is complete."""

    def __init__(self, header: Header, path: str | os.PathLike[str], at_end: bool = False) -> None:
        import h5py

        self.target, self.at_end, self.start = Target(path), at_end, MemoryStore(header)
        self.counts = dict.fromkeys((STEPS, CONTACTS, EVENTS, MEMORY), 0)
        self.layout = header.layout | REMEMBERED
        self.joint = np.zeros(header.joint_row.size)
        ledger = ledger_layout(len(self.layout), self.joint.size)
        with self.writing():
            reserve(self.target.lock, 0, SLACK)
            self.file = h5py.File(
                self.target.part, "w", libver="latest", rdcc_nbytes=BLOCK_BYTES, rdcc_nslots=20011,
                userblock_size=USER_BLOCK,
            )  # fmt: skip
            write_header(self.file, header)
            for name, column in (self.layout | ledger).items():
                most = (None, *(max(1, length) for length in column.shape))
                self.file.create_dataset(
                    name, (0, *column.shape), column.dtype, maxshape=most, chunks=chunk_shape(column)
                )
            self.file["writes/checksums"].attrs["columns"] = fixed(list(self.layout))
            arrays = {name: self.file[f"header/{name}"][()] for name in self.file["header"]}
            self.file.attrs["header_checksum"] = header_checksum(self.file, arrays)
            self.file["steps"], self.file["finished"] = np.int64(0), np.int8(0)
            self.file.swmr_mode = True

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Where it cannot begin, nothing is left of it."""
        try:
            with writing(self.target.name):
                yield
        except FileError:
            if not hasattr(self, "file"):
                self.target.leave()
            raise

    def append(self, blocks: list[Columns], checkpoint: Checkpoint) -> None:
        columns = joined([dict(block) for block in blocks])
        if not self.counts[STEPS]:
            self.start.append([columns], checkpoint)
        self.joint = checkpoint.joint
        self.write(columns | checkpoint.contacts, LOST if checkpoint.lost else GOES_ON)
        if self.counts[STEPS] and not self.at_end:
            with writing(self.target.name):
                self.target.arrive()

    def write(self, columns: Columns, ended: int) -> None:
        """Add a block. Nothing is written unless there is room for all of it."""
        counts = {kind: count + len(columns.get(COUNTED[kind], ())) for kind, count in self.counts.items()}
        sums = {name: checksum(columns[name]) if name in columns else 0 for name in self.layout}
        row = entry([*counts.values(), ended], self.joint, sums)
        rows = columns | {f"writes/{name}": value[None] for name, value in row.items()}
        with writing(self.target.name):
            end = self.file.id.get_filesize()
            growth = sum(self.growth(name, len(block)) for name, block in rows.items())
            reserve(self.target.lock, end, growth + SLACK + end // 50)
            for name, block in rows.items():
                self.extend(name, block)
            self.counts = counts
            self.file.flush()
            self.file["steps"][()] = counts[STEPS]  # from here on, the steps written so far count
            self.file.flush()
            self.mark()

    def growth(self, name: str, rows: int) -> int:
        """Bytes of the pieces of a dataset that so many rows more need."""
        dataset = self.file[name]
        before, piece = dataset.shape[0], dataset.chunks
        pieces = -(-(before + rows) // piece[0]) - -(-before // piece[0])
        across = math.prod(-(-length // width) for length, width in zip(dataset.shape[1:], piece[1:], strict=True))
        return pieces * across * math.prod(piece) * dataset.dtype.itemsize

    def extend(self, name: str, rows: NDArray[Any]) -> None:
        dataset = self.file[name]
        end = dataset.shape[0]
        dataset.resize(end + len(rows), axis=0)
        dataset[end:] = rows

    def mark(self) -> None:
        """Note in the user block how long the file is now."""
        with open(self.target.now, "r+b") as plain:
            plain.write(COMPLETE % (self.file.id.get_filesize() if self.file else os.path.getsize(self.target.now)))

    def finish(self, finished: bool) -> Record:
        """The record of what was written; one without steps that was broken off leaves an older file in its place."""
        arrives = finished or self.counts[STEPS] > 0
        self.close(finished, arrives)
        return open_record(self.target.name) if arrives else self.start.finish(finished)

    def close(self, finished: bool, arrives: bool) -> None:
        """Close the file, which takes its place or goes away."""
        if not self.file:
            return
        try:
            with writing(self.target.name):
                try:
                    if finished:
                        self.write({}, AT_END)
                        self.file["finished"][()] = True
                finally:
                    os.ftruncate(self.target.lock, self.file.id.get_filesize())  # what was reserved and not needed
                    self.file.close()
                    self.mark()
                if arrives:
                    self.target.arrive()
        finally:
            self.target.leave()


COUNTED = {STEPS: "status", CONTACTS: "contacts/gap", EVENTS: "events/step", MEMORY: "memory/moment"}


def ledger_layout(columns: int, joint_rows: int) -> dict[str, Column]:
    """The datasets of the blocks; see above."""
    return {
        "writes/counts": Column(WRITES, np.int64, (len(COUNTED) + 1,)),
        "writes/joint": Column(WRITES, np.float64, (joint_rows,)),
        "writes/checksums": Column(WRITES, np.uint32, (columns + 1,)),
    }


def chunk_shape(column: Column) -> tuple[int, ...]:
    """The pieces in which HDF5 keeps a column: some steps of some bodies, so that one body is read without the rest."""
    if column.rows in (MEMORY, WRITES):
        return (64, *(max(1, length) for length in column.shape))
    if column.rows == CONTACTS or not column.shape:
        return (1024, *column.shape)
    count, *width = column.shape
    return (256, max(1, min(count, 64 // math.prod(width))), *width)


def write_header(file: Any, header: Header) -> None:
    file.attrs["format"], file.attrs["format_version"] = fixed(FORMAT), FORMAT_VERSION
    for name in (*TEXTS, *NUMBERS):
        if name not in LONG:
            value = getattr(header, name)
            file.attrs[name] = fixed(value) if name in TEXTS else value
    for name in ARRAYS:
        file[f"header/{name}"] = getattr(header, name)
    for name in LISTS:
        encoded = [text.encode() for text in getattr(header, name)]
        longest = max((len(text) for text in encoded), default=0)
        file[f"header/{name}"] = np.array(encoded, f"S{max(longest, 1)}")
    for name in LONG:
        file[f"header/{name}"] = np.frombuffer(getattr(header, name).encode(), np.uint8)


def header_checksum(file: Any, arrays: Mapping[str, NDArray[Any]]) -> int:
    """Of the arrays of the header and of all attributes, whose texts HDF5 keeps without a checksum."""
    total = zlib.crc32(repr(column_names(file)).encode())
    for name in sorted(set(file.attrs) - {"header_checksum"}):
        value = file.attrs[name]
        text = value if isinstance(value, str) else np.asarray(value).tobytes().hex()
        total = zlib.crc32(f"{name} {text}".encode(), total)
    for name in sorted(arrays):
        total = zlib.crc32(arrays[name].tobytes(), zlib.crc32(f"{name} {arrays[name].shape}".encode(), total))
    return total


def column_names(file: Any) -> list[str]:
    """Of the columns that have checksums, in their order."""
    return [text_of(name) for name in own_node(file, "writes/checksums").attrs["columns"]]


def read_header(file: Any, number: int) -> Header:
    """The header of a file of the format version `number`."""
    older = since(HEADER_ADDED, number)
    fields: dict[str, Any] = {}
    with readable("/header"):
        arrays = {name: header_array(file, name) for name in file["header"]}
        if number >= CHECKED and file.attrs["header_checksum"] != header_checksum(file, arrays):
            raise InputError("/header is damaged: it does not have the checksum it was written with")
        fields |= {name: arrays[name] for name in ARRAYS if name not in older}
        for name in LISTS:
            if name not in older:
                fields[name] = tuple(text.decode() for text in arrays[name].tolist())
        fields |= {name: arrays[name].tobytes().decode() for name in LONG if name not in older}
    with readable("the attributes"):
        fields |= {name: text_of(file.attrs[name]) for name in TEXTS if name not in older | LONG}
        fields |= {name: number_of(file, name) for name in NUMBERS if name not in older}
    return checked_header(Header(**fields))


def header_array(file: Any, name: str) -> NDArray[Any]:
    dataset = own_node(file, f"header/{name}")
    check_held(dataset, f"header/{name}", packed=1)
    if dataset.dtype.kind not in "biufS":
        raise InputError(f"/header/{name} has type {dataset.dtype}, expected numbers or texts")
    return np.asarray(dataset[()])


def number_of(file: Any, name: str) -> Any:
    value = np.asarray(file.attrs[name])
    if value.shape != () or value.dtype.kind not in "biuf":
        raise InputError(f"the attribute {name} is {shown(value)}, expected a number")
    return value.item()


def checked_header(header: Header) -> Header:
    """A header whose arrays fit each other, and whose numbers are among those that mean something."""
    if header.world not in (SCENE, SYSTEM, MODEL):
        raise InputError(f"the attribute world is {header.world!r}, expected {SCENE!r}, {SYSTEM!r} or {MODEL!r}")
    nb, ns, nj, nr = len(header.names), header.shape_body.size, len(header.joint_names), header.joint_row.size
    joints = nj if header.joint.size or header.world == SCENE else 0
    shapes: dict[str, tuple[int, ...]] = {"shape_body": (ns,), "joint_row": (nr,)}
    shapes |= dict.fromkeys(("joint", "joint_a", "joint_b"), (joints,))
    if header.world == SCENE:
        shapes |= {"gravity": (3,), "kind": (nb,), "mass": (nb,), "inertia": (nb, 3, 3), "centre": (nb, 3)}
        shapes |= {"shape": (ns,), "shape_size": (ns, 3), "shape_position": (ns, 3), "shape_rotation": (ns, 3, 3)}
    for name, shape in shapes.items():
        found = getattr(header, name)
        if found.shape != shape:
            raise InputError(f"/header/{name} has shape {found.shape}, expected {shape}")
    if len(header.joint_row_kind) != nr:
        raise InputError(f"/header/joint_row_kind has {len(header.joint_row_kind)} entries, expected {nr}")
    limits = {"kind": len(Kind), "shape": len(Shape), "joint": len(Joint), "shape_body": nb}
    limits |= {"joint_a": nb, "joint_b": nb, "joint_row": nj}
    for name, limit in limits.items():
        check_limit(f"/header/{name}", getattr(header, name), limit)
    if not (header.dt > 0.0 or math.isnan(header.dt)):
        raise InputError(f"the attribute dt is {header.dt}, expected a positive number")
    return header


def check_limit(name: str, values: NDArray[Any], limit: int) -> None:
    if values.size and (values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= limit):
        raise InputError(f"{name} has entries from {values.min()} to {values.max()}, expected from 0 to {limit - 1}")


def check_values(header: Header, name: str, found: NDArray[Any]) -> None:
    """Are the numbers of a column among those that mean something?"""
    limits = {"status": len(Status), "method": len(header.methods), "contacts/state": len(ContactState)}
    limits |= dict.fromkeys(("contacts/shape_a", "contacts/shape_b"), header.shape_body.size)
    if name in limits:
        check_limit(f"/{name}", found, limits[name])
    if name in START.values() and (np.diff(found, prepend=0) < 0).any():
        raise InputError(f"/{name} falls, expected numbers that rise from 0")


def save_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to a file, which appears complete or not at all, and replaces an older one at once."""
    store = FileStore(record.header, path, at_end=True)
    whole = False
    try:
        copy_record(record, store)
        whole = True
    finally:
        store.close(record.finished and whole, arrives=whole)


def copy_record(record: Record, store: FileStore) -> None:
    """Write all steps of a record into a store, and what it remembers in the end."""
    poses = [name for name, column in record.header.layout.items() if column.rows == POSES]
    nothing, last = no_checkpoint(record.header), record.checkpoint() or no_checkpoint(record.header, lost=True)
    store.append([{name: record.read(name, 0, 1) for name in poses}], nothing if record.steps else last)
    starts = {kind: record.read(name) for kind, name in START.items()}
    for first, stop in record.blocks("position" if record.header.world == SCENE else "q"):
        first, stop = first, min(stop, record.steps)  # steps
        ranges = {POSES: (first + 1, stop + 1), STEPS: (first, stop)}
        ranges |= {kind: (int(start[first]), int(start[stop])) for kind, start in starts.items()}
        columns = {name: record.read(name, *ranges[column.rows]) for name, column in record.header.layout.items()}
        if stop > first:
            store.append([columns], last if stop == record.steps else nothing)


def open_record(path: str | os.PathLike[str]) -> Record:
    """The record in a file, which stays open. What a killed run left is read as far as it got."""
    name, tries = os.fspath(path), READS
    while True:
        try:
            return read_once(name)
        except FileError:
            tries -= 1
            if not tries or not is_locked(name):  # else it was read in the middle of a write
                raise
            time.sleep(PAUSE)


def read_once(name: str) -> Record:
    damaged = "the file is truncated or damaged, or just being begun"
    with contextlib.ExitStack() as opened, reading(name, "an HDF5 file", damaged):
        check_hdf5(name)
        record = read_record(opened.enter_context(open_file(name)), name)
        opened.pop_all()
        return record


def check_length(name: str) -> None:
    """Is a file that was not closed as long as its start says? HDF5 would show zeros where the rest was, or wait."""
    with open(name, "rb") as plain:
        title, _, number = plain.read(len(COMPLETE % 0)).partition(b": ")
    length, says = os.path.getsize(name), COMPLETE.startswith(title + b": ")
    if says and not number.strip().isdigit():
        raise InputError("the file is damaged, it does not say how long it is")
    complete = int(number) if says else 0
    if length < complete:
        raise InputError(f"the file is truncated, it has {length} of {complete} bytes")


def open_file(name: str) -> Any:
    """The open h5py.File, also of a run that was killed or still writes."""
    import h5py

    try:
        return h5py.File(name, "r")
    except OSError:  # marked as being written, or damaged
        check_length(name)
        return h5py.File(Unclosed(name, USER_BLOCK), "r")


def since(added: dict[int, set[str]], number: int) -> set[str]:
    """What came after the format version `number`."""
    return {name for version, names in added.items() if version > number for name in names}


def read_record(file: Any, name: str) -> Record:
    with readable("the attributes"):
        found, number = text_of(file.attrs.get("format")), file.attrs.get("format_version")
    if found != FORMAT:
        raise InputError("this file holds no trajectory, expected one that a run of stickslip has written")
    if number not in range(1, FORMAT_VERSION + 1):
        raise InputError(f"the format of this trajectory has version {number}, expected at most {FORMAT_VERSION}")
    header = read_header(file, number)
    with readable("/steps and /finished"):
        steps, finished = int(own_node(file, "steps")[()]), int(own_node(file, "finished")[()])
    if steps < 0 or finished not in (0, 1):
        raise InputError(f"/steps is {steps} and /finished {finished}, expected a number of steps, and 0 or 1")
    expected = header.layout  # looked at after /steps: a run that still writes only adds to them
    later = since(ADDED, number)
    there = [column for column in expected if column not in later]
    columns = {column: checked(file, column, expected[column]) for column in there}
    ledger = read_ledger(file, header, steps) if number >= CHECKED else None
    if ledger is not None and finished > ledger.ended:
        raise InputError("/finished is 1, but /writes does not say that the run has ended: the file is damaged")
    record = Record(header, columns, steps, bool(finished), file, name, ledger)
    counted = {POSES: f"those of {steps} steps", STEPS: f"those of {steps} steps"}
    for column in there:
        found, rows = columns[column].shape[0], record.rows(column)
        if found < rows:
            wanted = counted.get(expected[column].rows, f"{rows} {expected[column].rows}")
            raise InputError(f"/{column} has {found} rows, expected {wanted}")
        check_held(columns[column], column, packed=1)
    for column in expected:
        if column not in columns:
            shape = (record.rows(column), *expected[column].shape)
            columns[column] = np.broadcast_to(expected[column].dtype(0), shape)
    return record


def read_ledger(file: Any, header: Header, steps: int) -> Ledger:
    """The blocks of a file, as far as they count."""
    with readable("/writes/checksums"):
        names = column_names(file)
    datasets = ledger_layout(len(names), header.joint_row.size)
    rows = {}
    for name, column in datasets.items():
        dataset = checked(file, name, column)
        check_held(dataset, name, packed=1)
        with readable(f"/{name}"):
            rows[name.removeprefix("writes/")] = np.array(dataset[()])
    return Ledger.of(tuple(names), rows, steps)


def checked(file: Any, name: str, expected: Column) -> Any:
    """The dataset of a column, of the type and shape that it should have."""
    with readable(f"/{name}"):
        dataset = own_node(file, name)
        _, *shape = dataset.shape
        kind = dataset.dtype
    if kind != expected.dtype or tuple(shape) != expected.shape:
        raise InputError(
            f"/{name} has rows of shape {tuple(shape)} and type {kind}, "
            f"expected {expected.shape} and {np.dtype(expected.dtype)}"
        )
    return dataset
