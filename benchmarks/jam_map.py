"""How long a jam map of 200 × 200 poses of the arm takes, its minima included: the best and the median of five.

python benchmarks/jam_map.py
"""

from __future__ import annotations

import statistics
import time

import stickslip as ss


def seconds() -> float:
    begin = time.perf_counter()
    found = ss.jam_map(ss.arm_family(), resolution=200)
    assert len(found.minima) == 2
    return time.perf_counter() - begin


if __name__ == "__main__":
    times = [seconds() for _ in range(5)]
    print(f"200 × 200 map of the arm: {min(times):.2f} s at best, {statistics.median(times):.2f} s median of five")
