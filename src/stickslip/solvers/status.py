"""How a solve ended, also as plain numbers for kernels; and many sweeps, some at a time."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum


class Status(IntEnum):
    """How a solve ended. Kernels return these numbers."""

    SOLVED = 0  # the residual, recomputed, is at most tol, and not by the size of the impulses alone
    RAY = 1  # Lemke ended on a ray: the certificate holds it
    MAX_ITER = 2  # the iteration limit came first
    STALLED = 3  # no further progress: a singular pivot, a failed line search, or rounding above tol
    NONFINITE = 4  # the iterate overflowed or became NaN
    NO_SOLUTION = 5  # enumeration shows that the problem has none
    UNBOUNDED = 6  # the residual is small beside impulses that have grown huge, and velocities are wrong
    INEXACT = 7  # of a step: its residual is above tol, but not above what the run accepts


SOLVED, RAY, MAX_ITER, STALLED, NONFINITE = (int(status) for status in list(Status)[:5])  # for kernels
CHUNK = 1000  # sweeps in one compiled call; in between, Ctrl-C is heard


def in_chunks(sweep: Callable[[int], tuple[int, int]], limit: int, once: bool = False) -> tuple[int, int]:
    """`sweep(most)` makes up to so many sweeps, and says how it ended and how many they were: again until it ends with
    another word than MAX_ITER, or `limit` are made in all. Only one chunk where `once`."""
    ended, made = sweep(min(CHUNK, limit))
    while ended == MAX_ITER and made < limit and not once:
        ended, more = sweep(min(CHUNK, limit - made))
        made += more
    return ended, made
