"""The file that a run writes: under another name until its first step is complete, and by one process at a time.

    target = Target("run.h5")        makes and locks run.h5.part; an older run.h5 stays as it is
    target.arrive()                  the new file takes the place of run.h5, at once
    target.leave()                   gives the lock back, and removes what never arrived

The lock is that of the operating system on the file itself (an open file description lock), so that it ends with the
process, however that ends, and nobody waits for one that was killed. Whoever would write to run.h5 locks run.h5.part
first and then looks whether run.h5 is locked: the file that another one writes is one or the other. Where a system has
no such locks (Windows), two processes are not told apart.

`reserve` has the disk promise room before HDF5 writes: once HDF5 has met a full disk it cannot close its file any more,
and ends the process with a segmentation fault.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct

from stickslip.errors import FileError, is_special, writing
from stickslip.texts import text_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TRAJECTORY = "stickslip trajectory"  # the format of its file
HDF5 = b"\x89HDF\r\n\x1a\n"
USER_BLOCKS = (0, 512)  # where HDF5 may begin in a file of ours
BUSY = (errno.EACCES, errno.EAGAIN)


class Target:
    """Where a file is to be, and the file that is written until then."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        with writing(self.name):
            self.path = os.path.realpath(self.name)
            check_replaceable(self.name, self.path)
            self.part = f"{self.path}.part"
            self.lock = self._locked_part()
            self.arrived = False
            if not is_locked(self.path):
                return
        self.leave()
        raise being_written(self.name)

    def _locked_part(self) -> int:
        """The descriptor of a new and empty file, which nobody else holds."""
        while True:
            lock = os.open(self.part, os.O_RDWR | os.O_CREAT, 0o666)
            if not lock_now(lock):
                os.close(lock)
                raise being_written(self.name)
            if same_file(lock, self.part):  # else another one has taken it to its place in between
                os.ftruncate(lock, 0)
                return lock
            os.close(lock)

    @property
    def now(self) -> str:
        """The name of the file at this moment."""
        return self.path if self.arrived else self.part

    def arrive(self) -> None:
        """Take the place of an older file."""
        if not self.arrived:
            os.replace(self.part, self.path)
            self.arrived = True

    def leave(self) -> None:
        """Let others write; a file that has not arrived goes away, and the older one stays."""
        if self.lock < 0:
            return
        if not self.arrived:
            with contextlib.suppress(OSError):
                os.remove(self.part)
        os.close(self.lock)
        self.lock = -1


def being_written(name: str) -> FileError:
    return FileError(f"{name}: another run is writing this file, expected one that nobody writes")


def check_replaceable(name: str, path: str) -> None:
    """May a trajectory take the place of what is there?"""
    if os.path.isdir(path):
        raise FileError(f"{name}: this is a folder, expected the name of a file")
    if is_special(path):
        raise FileError(f"{name}: this is a pipe or a device, expected the name of a file")
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        start = file.read(USER_BLOCKS[-1] + len(HDF5))
    other = start and not any(start[at : at + len(HDF5)] == HDF5 for at in USER_BLOCKS)
    if other or format_of(path) not in (None, TRAJECTORY):
        raise FileError(f"{name}: this file is no trajectory and would be lost, expected another name")


def format_of(path: str) -> str | None:
    """What an HDF5 file says that it holds: nothing, of a problem; None where it cannot be asked: another one writes
    it, or it is damaged."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return text_of(file.attrs.get("format", ""))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return None


def lock_now(file: int) -> bool:
    """Take the lock of an open file, unless another one has it."""
    if not hasattr(fcntl, "F_OFD_SETLK"):
        return True
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        if error.errno in BUSY:
            return False
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):  # a disk without locks
            raise
    return True


def is_locked(path: str) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock_now(file)
    finally:
        os.close(file)


def same_file(file: int, path: str) -> bool:
    """Is the open file the one at this path?"""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def reserve(file: int, start: int, count: int) -> None:
    """Have the disk promise `count` bytes from `start` on, or say that it is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, start, count)
