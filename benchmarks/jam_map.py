"""Claim: a jam map of 200 × 200 poses of the arm, its minima included, takes under two seconds (median of five).

python benchmarks/jam_map.py
"""

from __future__ import annotations

import statistics
import sys
import time

import stickslip as ss

LIMIT = 2.0  # [s]


def seconds() -> float:
    begin = time.perf_counter()
    found = ss.jam_map(ss.arm_family(), resolution=200)
    assert len(found.minima) == 2
    return time.perf_counter() - begin


if __name__ == "__main__":
    times = [seconds() for _ in range(5)]
    median = statistics.median(times)
    verdict = "PASS" if median < LIMIT else "FAIL"
    print(f"{verdict}: 200 × 200 map of the arm: {min(times):.2f} s at best, {median:.2f} s median of five (under 2 s)")
    sys.exit(verdict != "PASS")
