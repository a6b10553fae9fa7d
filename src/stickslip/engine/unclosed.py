"""A file that a run has not closed, since it was killed or goes on, for HDF5 to read as one that was.

HDF5 marks a file that is being written, and opens it for those alone who read in its mode for a single writer and
multiple readers. There it waits for metadata that do not have their checksum, again and again and twice as long each
time, for the writer may be about to mend them: one flipped bit in the file of a killed run, and it waits for ever. The
writer's side of that mode is all that is needed: between any two writes the file is valid up to the last block. So the
mark is hidden here, and what is damaged is refused at once.

The mark is byte 11 of the superblock, 48 bytes at the end of the user block [1], of which the last four are the
checksum of the others: Jenkins' lookup3 [2].

[1] HDF5 File Format Specification Version 3.0, II.A, superblock version 3.   [2] burtleburtle.net/bob/c/lookup3.c
"""

from __future__ import annotations

import io
import struct
from typing import Any

SIGNATURE, VERSION, MARK, SIZE = b"\x89HDF\r\n\x1a\n", 3, 11, 48
MIX = ((0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4))  # -=, ^= turned, +=, by
FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))  # ^= and -= turned, by
WORD = 0xFFFFFFFF


class Unclosed(io.FileIO):
    """The bytes of a file whose superblock is at `start`, but for the mark that it is being written."""

    def __init__(self, name: str, start: int) -> None:
        super().__init__(name)
        self.start = start
        self.seek(start)
        self.superblock = unmarked(self.read(SIZE))

    def readinto(self, buffer: Any) -> int:
        place, view = self.tell(), memoryview(buffer).cast("B")
        count = super().readinto(view)
        first, last = max(place, self.start), min(place + count, self.start + len(self.superblock))
        if first < last:
            view[first - place : last - place] = self.superblock[first - self.start : last - self.start]
        return count

    def __del__(self) -> None:
        self.close()  # HDF5 does not


def unmarked(superblock: bytes) -> bytes:
    """A superblock without its mark; one that is damaged, or of another version, as it is."""
    kept, stored = superblock[:-4], superblock[-4:]
    if kept[:9] != SIGNATURE + bytes([VERSION]) or struct.pack("<I", lookup3(kept)) != stored:
        return superblock
    cleared = kept[:MARK] + b"\0" + kept[MARK + 1 :]
    return cleared + struct.pack("<I", lookup3(cleared))


def lookup3(content: bytes) -> int:
    """Jenkins' hash of bytes that are a whole number of words."""
    words = list(struct.unpack(f"<{len(content) // 4}I", content))
    s = [(0xDEADBEEF + len(content)) & WORD] * 3
    while len(words) > 3:
        s = [(x + word) & WORD for x, word in zip(s, words[:3], strict=True)]
        words = words[3:]
        for a, c, b, by in MIX:
            s[a] = (s[a] - s[c] & WORD) ^ turned(s[c], by)
            s[c] = s[c] + s[b] & WORD
    for i, word in enumerate(words):
        s[i] = s[i] + word & WORD
    for c, b, by in FINAL:
        s[c] = (s[c] ^ s[b]) - turned(s[b], by) & WORD
    return s[2]


def turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & WORD
