"""What two ranks of MPI need to exchange the velocities of bodies on their border, and to agree on a number.

    mpiexec -n 2 python benchmarks/ranks.py

docs/scale.md says of which use these numbers are. Both ranks send at once; the least of many times is what the library
and the memory cost, and the median also what the processes wait for a core on a machine that is busy.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

BODIES = (1, 100, 1_000, 10_000, 60_000, 100_000)
RANKS = MPI.COMM_WORLD


def measured(exchange: Callable[[], object], times: int) -> tuple[float, float]:
    """The least and the median   [µs]."""
    taken = []
    for _ in range(times):
        RANKS.Barrier()
        started = time.perf_counter()
        exchange()
        taken.append(1e6 * (time.perf_counter() - started))
    return min(taken), float(np.median(taken))


def main() -> None:
    other = 1 - RANKS.rank
    for bodies in BODIES:
        mine, theirs = np.ones((bodies, 6)), np.empty((bodies, 6))
        least, median = measured(lambda a=mine, b=theirs: RANKS.Sendrecv(a, other, recvbuf=b, source=other), 100)
        if RANKS.rank == 0:
            print(f"{bodies:8,} bodies, {mine.nbytes / 1e3:7.1f} kB: {least:8.1f} µs at best, {median:8.1f} µs median")
    least, median = measured(lambda: RANKS.allreduce(1.0, MPI.MAX), 300)
    if RANKS.rank == 0:
        print(f"the greatest of a number each: {least:.1f} µs at best, {median:.1f} µs median")


if __name__ == "__main__":
    main()
