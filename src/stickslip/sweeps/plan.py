"""Which runs a sweep makes: every combination of some values, or samples; each with a number, and its parameters by it.

The number of a run is all that its random numbers depend on. In a grid the last parameter changes first, and the
repetitions of a point come one after another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import shown
from stickslip.errors import InputError
from stickslip.sweeps.table import as_bytes, fit_for_a_name

MOST_RUNS = 10**7  # whose table takes a gigabyte
REPETITION = "repetition"  # the column that tells the runs of one point apart


@dataclass(frozen=True, eq=False)
class Plan:
    names: tuple[str, ...]
    values: tuple[Sequence[Any], ...]  # of each parameter: those of its axis in a grid, those of every sample else
    grid: bool
    repeat: int = 1  # runs of each point

    @property
    def points(self) -> int:
        counts = [len(values) for values in self.values]
        return math.prod(counts) if self.grid else counts[0]

    def __len__(self) -> int:
        return self.points * self.repeat

    def parameters(self, number: int) -> dict[str, Any]:
        """What the run of that number is told."""
        indices = self.at(number // self.repeat)
        return {name: plain(values[i]) for name, values, i in zip(self.names, self.values, indices, strict=True)}

    def at(self, points: Any) -> tuple[Any, ...]:
        """The index along each parameter, of one point or of several."""
        if not (self.grid and self.names):
            return (points,) * len(self.names)
        return np.unravel_index(points, [len(values) for values in self.values])

    def columns(self) -> dict[str, NDArray[Any]]:
        """The parameters of all runs, as numbers where they are, else as texts."""
        columns = {
            name: np.repeat(column_of(values)[which], self.repeat, axis=0)
            for name, values, which in zip(self.names, self.values, self.at(np.arange(self.points)), strict=True)
        }
        if self.repeat > 1:
            columns[REPETITION] = np.tile(np.arange(self.repeat, dtype=np.float64), self.points)
        return columns


def plan_of(owner: str, over: Mapping[str, Any] | None, samples: Any, repeat: int) -> Plan:
    """A grid over `over`, or `samples`: columns of equal length by name, or a list of mappings."""
    if (over is None) == (samples is None) and (over is not None or repeat == 1):
        raise InputError(f"{owner}: over and samples are both given or both missing, expected one of them, or repeat")
    grid = samples is None
    told = (over or {}) if grid else columns_of_samples(owner, samples)
    # a column of pandas knows its values by its index; as an array, by their number
    given = {name: values.to_numpy() if hasattr(values, "to_numpy") else values for name, values in told.items()}
    where = "over" if grid else "samples"
    for name, values in given.items():
        if not isinstance(name, str) or not fit_for_a_name(name):
            raise InputError(f"{owner}: {where} has values of {shown(name)}, expected names as texts")
        if not is_list(values) or not len(values):
            raise InputError(f"{owner}: {name} in {where} is {shown(values)}, expected a list of values, one at least")
    lengths = {name: len(values) for name, values in given.items()}
    if not grid and len(set(lengths.values())) != 1:
        raise InputError(f"{owner}: samples have lengths {lengths}, expected columns that are equally long")
    plan = Plan(tuple(given), tuple(given.values()), grid, repeat)
    if len(plan) > MOST_RUNS:
        raise InputError(f"{owner}: there are {len(plan)} runs to make, expected at most {MOST_RUNS}")
    return plan


def is_list(values: Any) -> bool:
    """Can values be taken one by one, by their number?"""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__getitem__"):
        return False
    try:
        return len(values) >= 0
    except TypeError:  # of an array that is one number
        return False


def columns_of_samples(owner: str, samples: Any) -> Mapping[str, Any]:
    if isinstance(samples, Mapping) and samples:
        return samples
    if hasattr(samples, "columns") and hasattr(samples, "to_numpy"):  # a table of pandas
        return {str(name): samples[name] for name in samples.columns}
    if isinstance(samples, np.ndarray) and samples.dtype.names and samples.ndim == 1:
        return {name: samples[name] for name in samples.dtype.names}
    if not isinstance(samples, Sequence) or not samples or not all(isinstance(each, Mapping) for each in samples):
        raise InputError(f"{owner}: samples is {shown(samples)}, expected columns by name, or a list of mappings")
    names = list(samples[0])
    if any(each.keys() != samples[0].keys() for each in samples):
        raise InputError(f"{owner}: samples have different names, expected {shown(names)} in each")
    return {name: [each[name] for each in samples] for name in names}


def plain(value: Any) -> Any:
    """A Python number instead of one of NumPy's."""
    return value.item() if isinstance(value, np.generic) else value


def column_of(values: Sequence[Any]) -> NDArray[Any]:
    """Numbers as float64, also several in a row; everything else by its text, in UTF-8."""
    try:
        found = np.asarray(values)
    except ValueError:  # lists of different lengths
        found = np.empty(0, object)
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    return np.array([as_bytes(value if isinstance(value, str) else repr(plain(value))) for value in values])
