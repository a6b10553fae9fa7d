"""The errors stickslip raises. Each message is one sentence: the field, the value, what was expected."""

from __future__ import annotations

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


class IntegrationFailed(RuntimeError):
    """An adaptive integrator could not go on to the end."""


class RangeFailed(RuntimeError):
    """The limits of a force were not found to the digits that are promised."""
