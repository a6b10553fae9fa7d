"""Every n-th step of a run, for its record: n steps become one.

The state is that at the end of the n steps, the contacts and what solved them those of the last. Residual and errors
are the worst of all n, iterations, seconds and impulses of joints their sums, so that the mean force of a joint is
right, and the status is that of the worst.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stickslip.checks import count
from stickslip.engine.recorder import CONTACT
from stickslip.engine.running import Chunk
from stickslip.errors import InputError
from stickslip.scene.model import Integers
from stickslip.solvers.status import Status

WORST = ("residual", "velocity_error", "force_error")
SUMS = ("iterations", "seconds", "joint_impulse")
LAST = ("time", "position", "quaternion", "velocity", "method", "worst")
RANK = np.array([0 if status is Status.SOLVED else 1 if status is Status.INEXACT else 2 + status for status in Status])
RANKED = {int(rank): int(status) for rank, status in zip(RANK, Status, strict=True)}


def checked_every(every: int, steps: int, watch: str | None) -> None:
    if steps % count("simulate", "every", every):
        raise InputError(f"simulate: every is {every}, expected a whole number of steps that divides all {steps}")
    if every > 1 and watch is not None:
        raise InputError(f"simulate: every is {every}, expected 1 beside watch, which looks at every step")


def thinned(chunks: Iterator[Chunk], every: int) -> Iterator[Chunk]:
    """The same steps, every so many of them as one."""
    steps = 0  # taken so far
    begun: dict[str, Any] = {}  # of the group that has not ended: its worst and its sums
    for columns, events, checkpoint in chunks:
        count = columns["time"].size
        number = steps + np.arange(1, count + 1)
        steps += count
        last = np.flatnonzero(number % every == 0)
        starts = np.unique(np.concatenate([[0], last[last + 1 < count] + 1]))
        groups = {name: np.maximum.reduceat(columns[name], starts) for name in WORST}
        groups |= {name: np.add.reduceat(columns[name], starts, axis=0) for name in SUMS}
        groups["status"] = np.maximum.reduceat(RANK[columns["status"]], starts)
        for name, before in begun.items():
            groups[name][0] = before + groups[name][0] if name in SUMS else max(before, groups[name][0])
        ended = number[-1] % every == 0
        begun = {} if ended else {name: column[-1].copy() for name, column in groups.items()}
        if last.size:
            thin = {name: column[: last.size] for name, column in groups.items()}
            thin["status"] = np.array([RANKED[rank] for rank in thin["status"].tolist()])
            thin |= {name: columns[name][last] for name in LAST}
            yield thin | contacts_of_steps(columns, last), events, checkpoint


def contacts_of_steps(columns: dict[str, Any], steps: Integers) -> dict[str, Any]:
    """The columns of the contacts of some steps only."""
    start = columns["contact_start"]
    rows = np.concatenate([np.arange(start[step], start[step + 1]) for step in steps])
    counts = np.concatenate([[0], np.cumsum(start[steps + 1] - start[steps])])
    return {"contact_start": counts} | {f"contacts/{name}": columns[f"contacts/{name}"][rows] for name in CONTACT}
