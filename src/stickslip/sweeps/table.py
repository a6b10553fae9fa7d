"""The table of a sweep: a row for every run, in memory and, where there is a path, in an HDF5 file that grows with it.

    attributes      format, format_version, version, what (ran), digest (of it), seed, keep
    parameters/…    (n, …) float64 or text, of all runs from the beginning
    measured/…      (n, …) float64, nan where a run is not there or did not measure it, or text
    status          (n,) 0 waits, 1 done, 2 failed
    reason          (n,) text, why it failed
    seconds         (n,) that it took
    check           (n,) CRC-32 of the row; and one of all parameters as an attribute

The file is made whole, in the place of an older one at once, before the first run and whenever a run brings a new
column or a longer text: every dataset is there with all its n rows. From then on rows are written in place and nothing
else in the file changes, so that it is valid whenever the process is killed; the status of rows is written after them,
once they are on the disk. A disk that is full is known when the file is made. A row that is done or failed is held
against its checksum when it is read, so that damage is not taken for a result; files of version 1 have none.
"""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import FileError, InputError, reading, writing
from stickslip.problems.files import check_held, made_whole, own_node, readable
from stickslip.texts import fixed, text_of

FORMAT, FORMAT_VERSION = "stickslip sweep", 2
WAITS, DONE, FAILED = range(3)
LONGEST = 240  # bytes of a text
KINDS = tuple(map(np.dtype, (np.float64, np.int8, np.uint32)))  # of numbers: the same bytes as others are others
SLASH = "\u2215"  # in names, where HDF5 would make a folder

Column = NDArray[Any]


class Row(NamedTuple):
    """What a run left."""

    measured: dict[str, Any]  # numbers, arrays of them, or texts
    reason: str  # why it failed; empty where it did not
    seconds: float


@dataclass(frozen=True)
class About:
    """What a sweep is of; the same in every process that goes on with it."""

    what: str
    digest: str
    seed: int
    keep: str = ""  # the folder of its trajectories


@dataclass(eq=False)
class Table:
    about: About
    parameters: dict[str, Column]
    status: Column
    reason: Column
    seconds: Column
    measured: dict[str, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, about: About, parameters: dict[str, Column], count: int) -> Table:
        return cls(about, parameters, np.zeros(count, np.int8), np.zeros(count, "S1"), np.full(count, np.nan))

    def __len__(self) -> int:
        return self.status.size

    def put(self, numbers: Sequence[int], rows: Sequence[Row]) -> bool:
        """Rows into their places; True where that needed another column, or more room for texts."""
        grew = False
        for number, row in zip(numbers, rows, strict=True):
            measured = {name: as_bytes(value) for name, value in row.measured.items()}
            both = [name for name in measured if name in self.parameters]
            if both:
                measured, row = {}, row._replace(reason=f"{both[0]} is varied and measured, expected another name")
            for name, value in measured.items():
                grew |= self.make_room(name, value)
            reason = row.reason or next(filter(None, map(self.misfit, measured, measured.values())), "")
            if not reason:
                for name, value in measured.items():
                    self.measured[name][number] = value
            text = as_bytes(reason)[:LONGEST]
            if len(text) > self.reason.itemsize:
                self.reason, grew = wider(self.reason, text), True
            self.reason[number], self.seconds[number] = text, row.seconds
            self.status[number] = FAILED if reason else DONE
        return grew

    def make_room(self, name: str, value: Any) -> bool:
        """A column for a value that has none yet, or a wider one for a text; True where that was needed."""
        old = self.measured.get(name)
        if old is None:
            empty: Any = b"" if isinstance(value, bytes) else np.nan
            kind = f"S{max(1, len(value))}" if isinstance(value, bytes) else np.float64
            self.measured[name] = np.full((len(self), *np.shape(value)), empty, kind)
        elif isinstance(value, bytes) and old.dtype.kind == "S" and len(value) > old.itemsize:
            self.measured[name] = wider(old, value)
        return self.measured[name] is not old

    def misfit(self, name: str, value: Any) -> str:
        """Why a value has no place in its column; empty where it has."""
        column = self.measured[name]
        if isinstance(value, bytes) != (column.dtype.kind == "S"):
            expected = "a text" if column.dtype.kind == "S" else "a number"
            return f"{name} is {as_text(value)!r}, expected {expected} as in the runs before"
        if isinstance(value, bytes) and len(value) > column.itemsize:
            return f"{name} has {len(value)} bytes, expected at most {column.itemsize}"
        if np.shape(value) != column.shape[1:]:
            return f"{name} has shape {np.shape(value)}, expected {column.shape[1:]} as in the runs before"
        return ""

    def columns(self) -> dict[str, Column]:
        """All that the file holds, by the names and in the order that it has there: the status first, so that who reads
        the file from its beginning finds the rows that the status says are done."""
        named = {f"parameters/{name.replace('/', SLASH)}": column for name, column in self.parameters.items()}
        named |= {f"measured/{name.replace('/', SLASH)}": column for name, column in self.measured.items()}
        return {"status": self.status, **named, "reason": self.reason, "seconds": self.seconds}

    def flat(self) -> dict[str, Column]:
        """All that a reader of the table wants, as columns of one number or text each."""
        words = {"status": np.array(["waits", "done", "failed"])[self.status], "reason": self.reason}
        flat = flat_columns({**self.parameters, **self.measured}) | words
        return {name: texts(column) for name, column in flat.items()}


def flat_columns(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Columns of one number each: a vector `end` becomes end.x, end.y, end.z, any other array end.0, end.1 and on."""
    flat: dict[str, Column] = {}
    for name, column in columns.items():
        shape = column.shape[1:]
        for i in np.ndindex(shape):
            part = "xyz"[i[0]] if shape == (3,) else ".".join(map(str, i))
            flat[f"{name}.{part}" if part else name] = column[:, *i]
    return flat


def cells(column: Column) -> list[Any]:
    """Whole numbers without a point, others with all their digits."""
    if column.dtype.kind != "f":
        return column.tolist()
    return [int(value) if value.is_integer() else value for value in column.tolist()]


def as_bytes(value: Any) -> Any:
    """Texts are kept as UTF-8, in rows of one width, which HDF5 has in place."""
    return value.encode(errors="replace") if isinstance(value, str) else value


def fit_for_a_name(name: str) -> bool:
    """Can a column be called that in a file?"""
    return name not in ("", ".") and "\0" not in name and name == as_text(as_bytes(name))


def as_text(value: Any) -> Any:
    return value.decode(errors="ignore") if isinstance(value, bytes) else value


def texts(column: Column) -> Column:
    """A column as it is shown: texts as such."""
    return np.char.decode(column, "utf-8", "ignore") if column.dtype.kind == "S" else column


def wider(column: Column, text: bytes) -> Column:
    return column.astype(f"S{min(LONGEST, max(64, 2 * len(text)))}")


class TableFile:
    """The file of a table, open for as long as a sweep writes to it."""

    def __init__(self, table: Table, path: str | os.PathLike[str], fresh: bool = False) -> None:
        self.table, self.path = table, os.fspath(path)
        self.file: Any = None
        if fresh or not os.path.exists(self.path):
            self.make()
        else:
            self.open()

    def open(self) -> None:
        import h5py

        with writing(self.path):
            try:
                self.file = h5py.File(self.path, "r+")
            except BlockingIOError:
                raise FileError(f"{self.path}: another sweep writes to this file, expected its end") from None
            self.file["status"][()] = self.table.status  # runs to be made again wait, before their rows change
            self.file.flush()

    def make(self) -> None:
        """The whole file anew."""
        self.close()
        write_table(self.table, self.path)
        self.open()

    def put(self, numbers: Sequence[int], rows: Sequence[Row]) -> None:
        grew = self.table.put(numbers, rows)
        if grew or not self.file:
            self.make()
            return
        columns = self.table.columns()
        columns["check"] = checksums(columns, numbers)
        status = {"status": columns.pop("status")}
        with writing(self.path):
            self.write(numbers, {name: column for name, column in columns.items() if not name.startswith("parameters")})
            self.write(numbers, status)

    def write(self, numbers: Sequence[int], columns: Mapping[str, Column]) -> None:
        """Rows of columns, onto the disk, so that what counts later is there also where the machine stops."""
        for rows in stretches(numbers):
            for name, column in columns.items():
                self.file[name][rows] = column[rows]
        self.file.flush()
        os.fsync(self.file.id.get_vfd_handle())

    def close(self) -> None:
        if self.file:
            with writing(self.path):
                self.file.close()


def stretches(numbers: Sequence[int]) -> list[slice]:
    """Runs in a row as slices."""
    ordered = np.sort(np.asarray(numbers))
    parts = np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts]


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """A file appears complete or not at all, and replaces an older one at once."""
    about = table.about
    with made_whole(path) as file:
        said = {"format": FORMAT, "version": import_module("stickslip").__version__} | {
            name: getattr(about, name) for name in ("what", "digest", "keep")
        }
        file.attrs.update({name: fixed(text) for name, text in said.items()})
        file.attrs.update(format_version=FORMAT_VERSION, seed=about.seed)
        for group in ("parameters", "measured"):
            file.create_group(group, track_order=True)
        columns = table.columns()
        for name, column in columns.items():
            file[name] = column
        file["check"] = checksums(columns, range(len(table)))
        file.attrs["check"] = checksum_of_parameters(table.parameters)


def checksums(columns: Mapping[str, Column], rows: Sequence[int]) -> Column:
    """(n,) of the rows that are asked for, over all columns in the order of their names; zero else."""
    found = np.zeros(len(columns["status"]), np.uint32)
    ordered = [np.ascontiguousarray(columns[name]) for name in sorted(columns)]
    for i in rows:
        found[i] = zlib.crc32(b"".join(column[i].tobytes() for column in ordered))
    return found


def checksum_of_parameters(parameters: Mapping[str, Column]) -> int:
    return zlib.crc32(b"".join(np.ascontiguousarray(parameters[name]).tobytes() for name in sorted(parameters)))


def read_table(path: str | os.PathLike[str]) -> Table:
    """The table in a file, also of a sweep that was killed or still runs, as far as it got."""
    name = os.fspath(path)
    with reading(name, "the file of a sweep", "the file is truncated or damaged"), opened(name) as file:
        with readable("the header"):
            form, version = text_of(file.attrs.get("format")), int(file.attrs.get("format_version", -1))
        if form != FORMAT:
            raise InputError("this file holds no sweep, expected one that stickslip has written")
        if version not in range(1, FORMAT_VERSION + 1):
            raise InputError(f"the format has version {version}, expected at most {FORMAT_VERSION}")
        with readable("the header"):
            what, digest, keep = (text_of(file.attrs[key]) for key in ("what", "digest", "keep"))
            about, check = About(what, digest, int(file.attrs["seed"]), keep), int(file.attrs.get("check", -1))
            names = {group: list(own_group(file, group)) for group in ("parameters", "measured")}
        rows = int(own_column(file, "status", None).size)
        parts = {
            group: {name.replace(SLASH, "/"): own_column(file, f"{group}/{name}", rows) for name in names[group]}
            for group in names
        }
        status, reason, seconds = (own_column(file, name, rows) for name in ("status", "reason", "seconds"))
        table = Table(about, parts["parameters"], status, reason, seconds, parts["measured"])
        if not np.isin(table.status, (WAITS, DONE, FAILED)).all() or table.seconds.dtype.kind != "f":
            raise InputError("the state of a run is none that there is, the file is damaged")
        if version > 1:
            hold_against(table, own_column(file, "check", rows), check)
        return table


def own_group(file: Any, name: str) -> Any:
    group = own_node(file, name)
    if not hasattr(group, "keys"):
        raise InputError(f"/{name} is missing, expected a group")
    return group


def own_column(file: Any, path: str, rows: int | None) -> Column:
    """A column of the file itself, all of it in the file, of as many rows as there are runs."""
    dataset = own_node(file, path)
    with readable(f"/{path}"):
        # a group has no shape, nor has a type
        if not getattr(dataset, "shape", ()) or not (dataset.dtype in KINDS or dataset.dtype.kind == "S"):
            raise InputError(f"/{path} is missing, expected a column of numbers or texts")
    if rows is not None and dataset.shape[0] != rows:
        raise InputError(f"/{path} has {dataset.shape[0]} rows, expected {rows}, as there are runs")
    check_held(dataset, path)
    with readable(f"/{path}"):
        column: Column = dataset[()]
    return column


def hold_against(table: Table, check: Column, of_parameters: int) -> None:
    """Is it what was written? Rows that wait have nothing to be wrong yet."""
    made = np.flatnonzero(table.status != WAITS)
    wrong = np.flatnonzero(checksums(table.columns(), made.tolist())[made] != check[made])
    if wrong.size:
        raise InputError(f"run {made[wrong[0]]} differs from its checksum, the file is damaged")
    if checksum_of_parameters(table.parameters) != of_parameters:
        raise InputError("the parameters differ from their checksum, the file is damaged")


def is_sweep(path: str | os.PathLike[str]) -> bool:
    """Does a file say that it holds one, whole or damaged?"""
    try:
        with opened(os.fspath(path)) as file, readable("the header"):
            return text_of(file.attrs.get("format")) == FORMAT
    except (InputError, OSError):
        return False


@contextlib.contextmanager
def opened(name: str) -> Iterator[Any]:
    """As it is at this moment, read at once: it may be open for writing, also in this process."""
    import h5py

    with open(name, "rb") as plain:
        whole = plain.read()
    if b"\x89HDF" not in whole[:4096]:  # that of a trajectory has its own words in front
        raise InputError("this is no HDF5 file, expected that of a sweep")
    with readable("the file"):
        file = h5py.File(io.BytesIO(whole), "r")
    with file:
        yield file
