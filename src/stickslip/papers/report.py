"""What a paper's page at the command line is made of: numbers of ours beside known ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Announce: TypeAlias = Callable[[str], None]  # what is told what is computed next


@dataclass(frozen=True)
class Check:
    """Numbers computed here, beside the same numbers from elsewhere."""

    what: str
    ours: ArrayLike
    known: ArrayLike
    tolerance: float | None  # on the largest difference; None where the number is not determined, only shown

    @property
    def difference(self) -> float:
        return float(np.abs(np.subtract(self.ours, self.known)).max())

    @property
    def holds(self) -> bool:
        return self.tolerance is None or self.difference <= self.tolerance


@dataclass(frozen=True)
class Report:
    """A table of a paper, made again."""

    title: str
    columns: str  # what the numbers of a check are
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    digits: int = 6  # behind the point
    draw: Callable[[str], None] | None = None  # the figure, to a path

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.holds)
