"""The errors stickslip raises, and files that are read or written in full or not at all.

Each message is one sentence: the field, the value, what was expected.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.engine.trajectory import Trajectory
    from stickslip.solvers.solution import Solution

LONGEST_NAME = 500  # of a file that a sentence shows in full
LONGEST_SENTENCE = 500


class InputError(ValueError):
    """What was given is not a problem: a wrong shape, a NaN, a negative friction coefficient, an unknown name."""

    def __str__(self) -> str:
        """In one line, also where it shows an array, and cut in the middle where it shows a text without end."""
        said = super().__str__()
        said = " ".join(said.split()) if "\n" in said else said
        return said if len(said) <= LONGEST_SENTENCE else f"{said[: LONGEST_SENTENCE - 250]}...{said[-200:]}"


class FileError(InputError):
    """A file that cannot be read as a problem, or a path that cannot be written."""


class SolveFailed(RuntimeError):
    """Raised by `Solution.require()`; the last iterate is kept in `solution`."""

    def __init__(self, message: str, solution: Solution | None) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.solution), self.__dict__


class StepFailed(SolveFailed):
    """Raised by `simulate` where a step is not solved; its problem is in `file`, the steps before in `trajectory`.
    Where joints came apart there is no problem, and `solution` is None."""

    trajectory: Trajectory

    def __init__(self, message: str, solution: Solution | None, step: int, file: str) -> None:
        super().__init__(message, solution)
        self.step, self.file = step, file

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.solution, self.step, self.file), self.__dict__


class RunFailed(RuntimeError):
    """A run cannot go on: its state is no longer made of numbers. The steps before are in `trajectory`."""

    trajectory: Trajectory


class InexactWarning(UserWarning):
    """Steps of a run missed tol, by no more than it accepts."""


class ModelWarning(UserWarning):
    """A file of a robot has something that has no counterpart here; the model's `left_out` says what."""


class IntegrationFailed(RuntimeError):
    """An adaptive integrator could not go on to the end."""


class RangeFailed(RuntimeError):
    """The limits of a force were not found to the digits that are promised."""


UNSOLVED = (SolveFailed, RunFailed, IntegrationFailed, RangeFailed)  # what was given is right, and there is no answer


def extra(owner: str, module: str, name: str, wanted: str) -> Any:
    """A module that an extra of the installation brings, or the sentence that it is missing."""
    try:
        return import_module(module)
    except ImportError:  # also of what it needs itself, such as the libraries of MPI
        raise InputError(f"{owner}: {name} is missing, expected the extra: pip install 'stickslip[{wanted}]'") from None


def short(name: str) -> str:
    """A name as a sentence shows it."""
    return name if len(name) <= LONGEST_NAME else f"{name[:40]}...{name[-40:]}"


def is_special(name: str) -> bool:
    """Neither a file nor a folder: a pipe, a device, a socket."""
    return os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)


@contextlib.contextmanager
def reading(name: str, expected: str, damaged: str = "this file cannot be read") -> Iterator[None]:
    """What cannot be read is said with the name of the file; `damaged` is what any other failure means."""
    if "\0" in name:
        raise FileError(f"{name!r}: a name of a file has no null byte, expected {expected}")
    try:
        if is_special(name):  # opening a pipe would wait for somebody to write into it
            raise FileError(f"this is a pipe or a device, expected {expected}")
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
        raise FileError(f"{short(name)}: {damaged} ({' '.join(str(error.strerror or error).split())})") from None


@contextlib.contextmanager
def writing(name: str) -> Iterator[None]:
    """What cannot be written is said with the name of the file."""
    try:
        yield
    except InputError:
        raise
    except (OSError, RuntimeError, ValueError) as error:  # ValueError: a null byte in the name
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else " ".join(str(error).split())
        raise FileError(f"{short(name)}: cannot be written ({reason})") from None


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """The name of a new file, which takes the place of the one at `path` at once when all is written, or goes away."""
    import secrets

    name = os.fspath(path)
    with writing(name):
        target = os.path.realpath(name)
    if os.path.isdir(target):
        raise FileError(f"{name}: this is a folder, expected the name of a file")
    if is_special(target):
        raise FileError(f"{name}: this is a pipe or a device, expected the name of a file")
    stem, suffix = os.path.splitext(target)
    temporary = f"{stem}.{secrets.token_hex(4)}.tmp{suffix}"
    try:
        with writing(name):
            yield temporary
            os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)
