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
and tangent; the rows of its constraint are joint rows.

Row 0 of the first kind is the state before the first step; step i leads from row i to row i + 1, and its contacts are
the rows contact_start[i] to contact_start[i + 1], its events likewise. Point, normal, tangent and gap are those at the
start of the step, impulse and velocity (normal, tangent, other tangent = normal × tangent; the last is 0 in planar
scenes), moment and spin (about the normal) those that its solve gave. A joint row's impulse is λ of dynamics/joints.py,
and `method` a number among the header's `methods`: what solved the step.

In a file each column is a dataset of that name, the header is in the attributes and in the group /header. The datasets
grow in blocks (HDF5's single writer, multiple readers mode, which keeps the file valid between any two writes), and the
number /steps is raised after the block has been flushed: what it counts is complete. /finished becomes 1 at the end.
The first bytes of the file, HDF5's user block, say in plain text how long it was then, so that one cut short is known.
Where a run was killed or still runs, h5py.File(path, "r", swmr=True) opens the file; so does Trajectory.load. Files of
version 1 have neither joints nor events, and none of the columns of ADDED[2]; those of version 1 and 2 have none of
ADDED[3]: what a file does not have reads as zeros.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, NamedTuple, NotRequired, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.dynamics.generalized import Instant, System
from stickslip.dynamics.joints import joint_row_names
from stickslip.engine.watch import JamEvent
from stickslip.errors import FileError, InputError, reading, replacing, writing
from stickslip.problems.files import check_hdf5, readable
from stickslip.scene.model import Floats, Integers, Model, State

FORMAT, FORMAT_VERSION = "stickslip trajectory", 3
INTERVAL = 1.0  # seconds between two writes
BLOCK_BYTES = 2**25  # what waits in memory before it is written all the same
USER_BLOCK, COMPLETE = 512, b"stickslip trajectory, bytes complete: %020d\n"  # with it a file begins
SMALL = 64  # more blocks than this in one write are small ones
POSES, STEPS, CONTACTS, EVENTS = "poses", "steps", "contacts", "events"  # what a row of a column stands for
SCENE, SYSTEM = "scene", "system"  # what runs
START = {CONTACTS: "contact_start", EVENTS: "event_start"}  # the column that says which rows belong to a step

Columns = dict[str, NDArray[Any]]


class Column(NamedTuple):
    rows: str  # POSES, STEPS, CONTACTS or EVENTS
    dtype: type
    shape: tuple[int, ...]  # of a row


CONTACT = {
    "shape_a": Column(CONTACTS, np.int32, ()),
    "shape_b": Column(CONTACTS, np.int32, ()),
    "feature": Column(CONTACTS, np.int64, ()),
    "point": Column(CONTACTS, np.float64, (3,)),
    "normal": Column(CONTACTS, np.float64, (3,)),
    "gap": Column(CONTACTS, np.float64, ()),
    "friction": Column(CONTACTS, np.float64, ()),
    "impulse": Column(CONTACTS, np.float64, (3,)),
    "velocity": Column(CONTACTS, np.float64, (3,)),
    "state": Column(CONTACTS, np.int8, ()),
    "tangent": Column(CONTACTS, np.float64, (3,)),
    "moment": Column(CONTACTS, np.float64, ()),
    "spin": Column(CONTACTS, np.float64, ()),
    "left_out": Column(CONTACTS, np.int8, ()),
}  # the columns of contacts


def layout(header: Header) -> dict[str, Column]:
    """Every column of a record by its name."""
    states = {name: Column(POSES, np.float64, shape) for name, shape in state_shapes(header).items()}
    return states | {
        "time": Column(POSES, np.float64, ()),
        "contact_start": Column(POSES, np.int64, ()),
        "event_start": Column(POSES, np.int64, ()),
        "status": Column(STEPS, np.int8, ()),
        "iterations": Column(STEPS, np.int32, ()),
        "residual": Column(STEPS, np.float64, ()),
        "velocity_error": Column(STEPS, np.float64, ()),
        "force_error": Column(STEPS, np.float64, ()),
        "worst": Column(STEPS, np.int64, ()),
        "seconds": Column(STEPS, np.float64, ()),
        "method": Column(STEPS, np.int8, ()),
        "joint_impulse": Column(STEPS, np.float64, (header.joint_row.size,)),
        **{f"contacts/{name}": column for name, column in CONTACT.items()},
        **{f"events/{name}": Column(EVENTS, dtype, ()) for name, dtype in EVENT.items()},
    }


def state_shapes(header: Header) -> dict[str, tuple[int, ...]]:
    """What a world is at an instant: its columns and the shapes of their rows."""
    count = len(header.names)
    if header.world == SCENE:
        return {"position": (count, 3), "quaternion": (count, 4), "velocity": (count, 6)}
    shapes: dict[str, tuple[int, ...]] = {"q": (header.coordinates,), "v": (header.velocities,)}
    shapes |= {"gap": (count,), "kinetic": ()}
    if header.springs:
        shapes |= dict.fromkeys(("contact_velocity", "contact_force", "contact_impulse"), (count, header.dimension))
        shapes |= {"normal_work": (count,), "friction_work": (count,), "stored": ()}
    return shapes


EVENT: dict[str, type] = {
    **dict.fromkeys(("step", "contact"), np.int64),
    **dict.fromkeys(("time", "mu", "mu_jam", "margin"), np.float64),
}  # of a JamEvent; its name is that of the contact
ADDED = {
    2: {
        *("event_start", "method", "joint_impulse"),
        *(f"contacts/{name}" for name in ("tangent", "moment", "spin", "left_out")),
        *(f"events/{name}" for name in EVENT),
    },
    3: {"velocity_error", "force_error", "worst"},
}  # the columns that came with a version


def empty() -> Any:
    """What a header has of things that its world does not have."""
    return np.zeros(0, np.int64)


class Ran(TypedDict):
    """How a run was made; see Header."""

    dt: float
    formulation: str
    solver: str
    tol: float
    accept: float
    methods: NotRequired[tuple[str, ...]]


def own_version() -> str:
    """Of the package that this module is a part of, installed or not."""
    return import_module("stickslip").__version__


@dataclass(frozen=True, eq=False)
class Header:
    """What does not change during a run, and what reading needs of the Model (see there)."""

    names: tuple[str, ...]  # of the bodies of a scene, of the contacts of a system
    dt: float  # [s]   NaN where steps differ
    formulation: str  # what posed the problems, with its settings
    solver: str  # what solved them
    tol: float  # that it was asked for
    planar: bool
    accept: float = math.nan  # residual that it went on with
    world: str = SCENE  # or SYSTEM
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
    methods: tuple[str, ...] = ("unknown",)  # what may solve a step
    joint_names: tuple[str, ...] = ()
    joint: Integers = field(default_factory=empty)  # (nj,)   of scene.model.Joint
    joint_a: Integers = field(default_factory=empty)  # (nj,)   bodies
    joint_b: Integers = field(default_factory=empty)  # (nj,)
    joint_row: Integers = field(default_factory=empty)  # (nr,)   the joint of each row
    joint_row_kind: tuple[str, ...] = ()  # (nr,)   "force x" and so on, see joint_row_names
    version: str = field(default_factory=own_version)  # of the stickslip that ran

    @classmethod
    def of(
        cls, model: Model, names: tuple[str, ...], joint_names: tuple[str, ...] | None = None, **run: Unpack[Ran]
    ) -> Header:
        """`joint_names`: "joint 0" and so on where None."""
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
    def of_system(cls, system: System, at: Instant, springs: bool = False, **run: Unpack[Ran]) -> Header:
        """The same of a system as it is at an instant; its constraint is a joint."""
        rows = len(at.G)
        return cls(
            tuple(contact.name for contact in system.contacts),
            planar=at.dimension == 2,
            world=SYSTEM,
            name=system.name,
            coordinates=system.coordinates,
            velocities=system.velocities,
            springs=springs,
            shape_body=np.arange(at.gap.size),
            joint_names=("constraint",) if rows else (),
            joint_row=np.zeros(rows, np.int64),
            joint_row_kind=tuple(f"row {i}" for i in range(rows)),
            **run,
        )

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
}  # what came with a version


@dataclass(eq=False)
class Record:
    """A header and its columns: NumPy arrays, or datasets of an open file, which are read when they are asked for."""

    header: Header
    columns: dict[str, Any]
    steps: int
    finished: bool  # the run came to its end
    file: Any = None  # h5py.File of the columns
    path: str = ""

    def read(self, name: str, start: int = 0, stop: int | None = None, body: int | None = None) -> NDArray[Any]:
        """Rows start to stop of a column, and of one body where it is given, as an array of its own."""
        if self.closed:
            raise FileError(f"{self.path}: the file of this trajectory was closed, expected it open; load it again")
        end = self.rows(name) if stop is None else stop
        where = slice(start, end) if body is None else (slice(start, end), body)
        with reading(self.path, "an HDF5 file"), readable(f"/{name}"):
            return np.array(self.columns[name][where])

    def column(self, name: str) -> Column:
        expected = layout(self.header)
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


class Store(Protocol):
    """Where a record grows."""

    def append(self, blocks: list[Columns]) -> None: ...

    def finish(self, finished: bool) -> Record: ...


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
        interval: float = INTERVAL,
    ) -> None:
        self.layout = layout(header)
        state = start._asdict() if isinstance(start, State) else start
        first = {"time": start_time, "contact_start": 0, "event_start": 0, **state}
        rows = {name: self.canonical(name, np.asarray(value)[None], 1) for name, value in first.items()}
        self.store: Store = MemoryStore(header) if path is None else FileStore(header, path)
        self.store.append([rows])
        self.interval = interval
        self.steps = self.contacts = self.events = 0  # so far
        self.waiting: list[Columns] = []
        self.waiting_bytes = 0
        self.written = time.monotonic()
        self.open = True  # for more steps
        self.record: Record | None = None

    def append(self, columns: Mapping[str, Any], events: Sequence[JamEvent] = ()) -> None:
        """Append k steps in a row, given as columns by name, and the events that a watch saw in them.

        The columns are those of the layout, with the states at the end of each step; those that are None or not there
        count as zeros. `contact_start` has k + 1 entries, from 0: the contacts of the step i are the rows
        contact_start[i] to contact_start[i + 1] of those given here. All is copied: arrays may be filled anew.
        """
        if not self.open:
            raise InputError("Recorder: this record has ended, or a write has failed, expected no more steps")
        start = np.asarray(columns["contact_start"])
        steps, contacts = np.size(columns["time"]), np.size(columns["contacts/gap"])
        if start.shape != (steps + 1,) or start[0] != 0 or start[-1] != contacts or (np.diff(start) < 0).any():
            raise InputError(
                f"Chunk: contact_start is {start}, expected {steps + 1} numbers that rise from 0 to {contacts} contacts"
            )
        counts = {POSES: steps, STEPS: steps, CONTACTS: contacts, EVENTS: len(events)}
        happened = {f"events/{name}": [getattr(event, name) for event in events] for name in EVENT}
        before = np.searchsorted(happened["events/step"], self.steps + np.arange(1, steps + 1))
        values = {**columns, **happened}
        values |= {"contact_start": start[1:] + self.contacts, "event_start": before + self.events}
        block = {name: self.canonical(name, values.get(name), counts[self.layout[name].rows]) for name in self.layout}
        self.steps, self.contacts, self.events = self.steps + steps, self.contacts + contacts, self.events + len(events)
        self.waiting.append(block)
        self.waiting_bytes += sum(value.nbytes for value in block.values())
        if self.waiting_bytes > BLOCK_BYTES or time.monotonic() - self.written >= self.interval:
            self.write()

    def canonical(self, name: str, given: ArrayLike | None, count: int) -> NDArray[Any]:
        column = self.layout[name]
        shape = (count, *column.shape)
        value: NDArray[Any] = np.zeros(shape, column.dtype) if given is None else np.array(given, column.dtype)
        if value.shape != shape:
            raise InputError(f"Chunk: {name} has shape {value.shape}, expected {shape}")
        return value

    def write(self) -> None:
        """Hand what waits to the store. If that fails, the record ends with the steps before."""
        blocks, self.waiting, self.waiting_bytes = self.waiting, [], 0
        self.open = False
        if blocks:
            self.store.append(blocks)
        self.open, self.written = True, time.monotonic()

    def finish(self, finished: bool = True) -> Record:
        """The record, for Trajectory(record); `finished` says whether the run came to its end."""
        if self.record is None:
            self.write()
            self.open = False
            self.record = self.store.finish(finished)
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


class MemoryStore:
    def __init__(self, header: Header) -> None:
        self.header = header
        columns = layout(header).items()
        self.blocks: list[Columns] = [{name: np.zeros((0, *column.shape), column.dtype) for name, column in columns}]

    def append(self, blocks: list[Columns]) -> None:
        """Small blocks are joined at once, large ones at the end."""
        for block in [joined(blocks)] if len(blocks) > SMALL else blocks:
            self.blocks.append({name: block.get(name, empty) for name, empty in self.blocks[0].items()})

    def finish(self, finished: bool) -> Record:
        columns = joined(self.blocks)
        return Record(self.header, columns, columns["status"].size, finished)


class FileStore:
    def __init__(self, header: Header, path: str | os.PathLike[str], called: str | None = None) -> None:
        """Begins the file, in the place of an older one; errors call it by its path unless by another name."""
        import h5py

        self.path = os.fspath(path)
        self.name = called or self.path
        if os.path.isdir(self.path):
            raise FileError(f"{self.name}: this is a folder, expected the name of a file")
        with writing(self.name):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path)
            self.file = h5py.File(
                self.path, "x", libver="latest", rdcc_nbytes=BLOCK_BYTES, rdcc_nslots=20011, userblock_size=USER_BLOCK
            )
            write_header(self.file, header)
            for name, column in layout(header).items():
                most = (None, *(max(1, length) for length in column.shape))
                self.file.create_dataset(
                    name, (0, *column.shape), column.dtype, maxshape=most, chunks=chunk_shape(column)
                )
            self.file["steps"], self.file["finished"] = np.int64(0), np.int8(0)
            self.file.swmr_mode = True

    def append(self, blocks: list[Columns]) -> None:
        with writing(self.name):
            for name, rows in joined(blocks).items():
                self.extend(name, rows)
            self.commit()

    def extend(self, name: str, rows: NDArray[Any]) -> None:
        dataset = self.file[name]
        end = dataset.shape[0]
        dataset.resize(end + len(rows), axis=0)
        dataset[end:] = rows

    def commit(self) -> None:
        """From here on, the steps written so far count."""
        self.file.flush()
        self.file["steps"][()] = self.file["status"].shape[0]
        self.file.flush()
        self.mark()

    def mark(self) -> None:
        """Note in the user block how long the file is now."""
        with open(self.path, "r+b") as plain:
            plain.write(COMPLETE % os.path.getsize(self.path))

    def finish(self, finished: bool) -> Record:
        self.close(finished)
        return open_record(self.path)

    def close(self, finished: bool) -> None:
        with writing(self.name):
            self.file["finished"][()] = finished
            self.file.close()
            self.mark()


def chunk_shape(column: Column) -> tuple[int, ...]:
    """The pieces in which HDF5 keeps a column: some steps of some bodies, so that one body is read without the rest."""
    if column.rows == CONTACTS or not column.shape:
        return (1024, *column.shape)
    count, *width = column.shape
    return (256, max(1, min(count, 64 // math.prod(width))), *width)


def write_header(file: Any, header: Header) -> None:
    file.attrs["format"], file.attrs["format_version"] = FORMAT, FORMAT_VERSION
    for name in (*TEXTS, *NUMBERS):
        file.attrs[name] = getattr(header, name)
    for name in ARRAYS:
        file[f"header/{name}"] = getattr(header, name)
    for name in LISTS:
        encoded = [text.encode() for text in getattr(header, name)]
        longest = max((len(text) for text in encoded), default=0)
        file[f"header/{name}"] = np.array(encoded, f"S{max(longest, 1)}")


def read_header(file: Any, number: int) -> Header:
    """The header of a file of the format version `number`."""
    older = since(HEADER_ADDED, number)
    fields: dict[str, Any] = {}
    with readable("/header"):
        fields |= {name: file[f"header/{name}"][()] for name in ARRAYS if name not in older}
        for name in LISTS:
            if name not in older:
                fields[name] = tuple(text.decode() for text in file[f"header/{name}"][()])
    with readable("the attributes"):
        fields |= {name: str(file.attrs[name]) for name in TEXTS if name not in older}
        fields |= {name: file.attrs[name].item() for name in NUMBERS if name not in older}
    return Header(**fields)


def save_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to a file, which appears complete or not at all, and replaces an older one at once."""
    name = os.fspath(path)
    with replacing(path) as temporary:
        store = FileStore(record.header, temporary, called=name)
        for column in record.columns:
            for start, stop in record.blocks(column):
                store.extend(column, record.read(column, start, stop))
        store.commit()
        store.close(record.finished)


def open_record(path: str | os.PathLike[str]) -> Record:
    """The record in a file, which stays open. What a killed run left is read as far as it got."""
    name = os.fspath(path)
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
    length, complete = os.path.getsize(name), int(number) if COMPLETE.startswith(title + b": ") else 0
    if length < complete:
        raise InputError(f"the file is truncated, it has {length} of {complete} bytes")


def open_file(name: str) -> Any:
    """The open h5py.File, also of a run that was killed or still writes."""
    import h5py

    try:
        return h5py.File(name, "r")
    except OSError:  # marked as being written, or damaged
        check_length(name)
        return h5py.File(name, "r", swmr=True)


def since(added: dict[int, set[str]], number: int) -> set[str]:
    """What came after the format version `number`."""
    return {name for version, names in added.items() if version > number for name in names}


def read_record(file: Any, name: str) -> Record:
    with readable("the attributes"):
        found, number = file.attrs.get("format"), file.attrs.get("format_version")
    if found != FORMAT:
        raise InputError("this file holds no trajectory, expected one that a run of stickslip has written")
    if number not in range(1, FORMAT_VERSION + 1):
        raise InputError(f"the format of this trajectory has version {number}, expected at most {FORMAT_VERSION}")
    header = read_header(file, number)
    with readable("/steps and /finished"):
        steps, finished = int(file["steps"][()]), bool(file["finished"][()])
    expected = layout(header)  # looked at after /steps: a run that still writes only adds to them
    later = since(ADDED, number)
    there = [column for column in expected if column not in later]
    columns = {column: checked(file, column, expected[column]) for column in there}
    record = Record(header, columns, steps, finished, file, name)
    counted = {POSES: f"those of {steps} steps", STEPS: f"those of {steps} steps"}
    for column in there:
        found, rows = columns[column].shape[0], record.rows(column)
        if found < rows:
            wanted = counted.get(expected[column].rows, f"{rows} {expected[column].rows}")
            raise InputError(f"/{column} has {found} rows, expected {wanted}")
    for column in expected:
        if column not in columns:
            shape = (record.rows(column), *expected[column].shape)
            columns[column] = np.broadcast_to(expected[column].dtype(0), shape)
    return record


def checked(file: Any, name: str, expected: Column) -> Any:
    """The dataset of a column, of the type and shape that it should have."""
    with readable(f"/{name}"):
        dataset = file[name]
        _, *shape = dataset.shape
        kind = dataset.dtype
    if kind != expected.dtype or tuple(shape) != expected.shape:
        raise InputError(
            f"/{name} has rows of shape {tuple(shape)} and type {kind}, "
            f"expected {expected.shape} and {np.dtype(expected.dtype)}"
        )
    return dataset
