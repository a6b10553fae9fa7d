"""The blocks in which the file of a run was written, with their checksums: /writes of engine/recorder.py.

A block has so many steps, contacts, events and remembered contacts, the first one the start of the run. The rows of
a column that belong to a block are held against their CRC-32 when they are first read, and never again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError

COUNTS = ("steps", "contacts", "events", "memory", "ended")  # the columns of writes/counts
STEPS, ENDED = COUNTS.index("steps"), COUNTS.index("ended")
GOES_ON, AT_END, LOST = range(3)  # of `ended`; LOST: nothing that a next step could start from


def checksum(rows: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(rows).data)


def entry(counts: Sequence[int], joint: NDArray[Any], sums: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """The row of a block: what it brought the counts to, and the checksums of its rows by column."""
    numbers, joints = np.array(counts, np.int64), np.asarray(joint, np.float64)
    own = np.array([*sums.values()], np.uint32)
    return {"counts": numbers, "joint": joints, "checksums": np.append(own, of_row(numbers, joints, own))}


def of_row(counts: NDArray[Any], joint: NDArray[Any], sums: NDArray[Any]) -> np.uint32:
    """The checksum of a row."""
    return np.uint32(zlib.crc32(sums.tobytes(), zlib.crc32(joint.tobytes(), zlib.crc32(counts.tobytes()))))


@dataclass(eq=False)
class Ledger:
    """Of the blocks that count."""

    columns: tuple[str, ...]  # whose checksums there are
    counts: NDArray[np.int64]  # (w, 5)   so far, after each block
    joint: NDArray[np.float64]  # (w, nr)
    checksums: NDArray[np.uint32]  # (w, C + 1)   by column, and of the row itself
    seen: set[tuple[str, int]] = field(default_factory=set)  # columns and blocks that were found to be whole

    @classmethod
    def of(cls, columns: tuple[str, ...], rows: Mapping[str, NDArray[Any]], steps: int) -> Ledger:
        """Of the rows of /writes, as far as they are about so many steps; those of a write that was cut short are left
        out."""
        counts, joint, sums = (rows[name] for name in ("counts", "joint", "checksums"))
        whole = 0
        while whole < min(map(len, (counts, joint, sums))) and counts[whole, STEPS] <= steps:
            if sums[whole, -1] != of_row(counts[whole], joint[whole], sums[whole, :-1]):
                if whole and counts[whole - 1, STEPS] == steps:
                    break
                raise InputError(f"/writes is damaged: row {whole} does not have its checksum")
            whole += 1
        counts, joint, sums = counts[:whole], joint[:whole], sums[:whole]
        if not len(counts) or counts[-1, STEPS] != steps or (np.diff(counts[:, :ENDED], axis=0, prepend=0) < 0).any():
            raise InputError(f"/writes is damaged: its blocks do not add up to the {steps} steps of /steps")
        return cls(columns, counts, joint, sums)

    @property
    def ended(self) -> bool:
        """Did the run come to its end?"""
        return bool(self.counts[-1, ENDED] == AT_END)

    @property
    def lost(self) -> bool:
        """Can the run not go on?"""
        return bool(self.counts[-1 - self.ended, ENDED] == LOST)

    @property
    def remembered(self) -> tuple[int, int]:
        """The first of the contacts remembered last, and the one after the last; an end remembers nothing new."""
        ends = [0, *self.ends("memory").tolist()]
        last = len(ends) - 1 - self.ended
        return ends[last - 1], ends[last]

    def ends(self, kind: str) -> NDArray[np.int64]:
        """(w,) the rows of a kind that there are after each block; one more of poses than of steps."""
        column = self.counts[:, COUNTS.index("steps" if kind == "poses" else kind)]
        return column + 1 if kind == "poses" else column

    def check(self, name: str, kind: str, start: int, stop: int, read: Callable[[int, int], NDArray[Any]]) -> None:
        """Hold the blocks that rows start to stop of a column are in against their checksums, once."""
        for block, first, last in self.blocks(kind, start, stop):
            if (name, block) in self.seen:
                continue
            if checksum(read(first, last)) != self.checksums[block, self.columns.index(name)]:
                raise InputError(
                    f"/{name} is damaged: rows {first} to {last - 1} do not have the checksum they were written with"
                )
            self.seen.add((name, block))

    def blocks(self, kind: str, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """The blocks in which rows start to stop are, with the first row of each and the one after its last."""
        ends = self.ends(kind)
        begins = np.append(0, ends[:-1])
        for block in np.flatnonzero((begins < stop) & (ends > start) & (ends > begins)).tolist():
            yield block, int(begins[block]), int(ends[block])
