"""The errors stickslip raises, and files that are read or written in full or not at all.

Each message is one sentence: the field, the value, what was expected.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stickslip.engine.trajectory import Trajectory
    from stickslip.solvers.solution import Solution


class InputError(ValueError):
    """What was given is not a problem: a wrong shape, a NaN, a negative friction coefficient, an unknown name."""


class FileError(InputError):
    """A file that cannot be read as a problem, or a path that cannot be written."""


class SolveFailed(RuntimeError):
    """Raised by `Solution.require()`; the last iterate is kept in `solution`."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


class StepFailed(SolveFailed):
    """Raised by `simulate` where a step is not solved; its problem is in `file`, the steps before in `trajectory`."""

    trajectory: Trajectory

    def __init__(self, message: str, solution: Solution, step: int, file: str) -> None:
        super().__init__(message, solution)
        self.step, self.file = step, file


class InexactWarning(UserWarning):
    """Steps of a run missed tol, by no more than it accepts."""


class IntegrationFailed(RuntimeError):
    """An adaptive integrator could not go on to the end."""


class RangeFailed(RuntimeError):
    """The limits of a force were not found to the digits that are promised."""


@contextlib.contextmanager
def reading(name: str, expected: str, damaged: str = "this file cannot be read") -> Iterator[None]:
    """What cannot be read is said with the name of the file; `damaged` is what any other failure means."""
    try:
        yield
    except InputError as error:
        raise FileError(f"{name}: {error}") from None
    except FileNotFoundError:
        raise FileError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise FileError(f"{name}: this is a folder, expected {expected}") from None
    except PermissionError:
        raise FileError(f"{name}: this file may not be read") from None
    except OSError as error:
        raise FileError(f"{name}: {damaged} ({error.strerror or error})") from None


@contextlib.contextmanager
def writing(name: str) -> Iterator[None]:
    """What cannot be written is said with the name of the file."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else " ".join(str(error).split())
        raise FileError(f"{name}: cannot be written ({reason})") from None


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """The name of a new file, which takes the place of the one at `path` at once when all is written, or goes away."""
    import secrets

    name = os.fspath(path)
    target = os.path.realpath(name)
    if os.path.isdir(target):
        raise FileError(f"{name}: this is a folder, expected the name of a file")
    stem, suffix = os.path.splitext(target)
    temporary = f"{stem}.{secrets.token_hex(4)}.tmp{suffix}"
    try:
        with writing(name):
            yield temporary
            os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)
