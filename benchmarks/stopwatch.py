"""One clock for everybody: stickslip and its peers are timed by this same loop.

Imported by the peers' own interpreters too, so it needs nothing but the standard library.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

SLOW = 5.0  # seconds


class Timing(NamedTuple):
    answer: Any  # of the last run
    best: float  # seconds
    median: float


def timed(prepare: Callable[[], Any], run: Callable[[Any], Any], repeats: int, budget: float) -> Timing:
    """Up to `repeats` runs, until `budget` seconds are spent. `prepare` makes what a run needs, off the clock: a fresh
    problem or fresh options, so that nothing kept from one run helps the next. A second run is made unless the
    first was slow: the first may have loaded code or touched memory for the first time."""
    seconds: list[float] = []
    answer = None
    while len(seconds) < repeats and (not seconds or sum(seconds) < (budget if seconds[1:] else SLOW)):
        prepared = prepare()
        started = time.perf_counter()
        answer = run(prepared)
        seconds.append(time.perf_counter() - started)
    return Timing(answer, min(seconds), statistics.median(seconds))
