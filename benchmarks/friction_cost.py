"""Claims: a Gauss-Seidel sweep over a problem bigger than the caches takes at most twice the time of reading its data,
and its time and memory grow linearly (exponent at most 1.1), for NSGS and BodyNSGS.

The problems are piles of balls, sphere_pile, 400 to 53,000 contacts. Sweeps are timed after a few others, in the middle
of a solve: contacts open, slip and stick in about equal shares. Reading speed is that of a compiled sum over one array,
as one stream or as nine side by side, whichever is faster: once bigger than the caches and once as big as the
second-level cache, on the same core in the same run. What a sweep must read and write:

    NSGS      9 doubles and an index a block; per contact 9 of W_ii⁻¹, q, r read and written, μ, where its blocks start
    BodyNSGS  6 doubles and an index, read twice, per entry of H; per contact 18 of W_ii and its inverse, w, r twice, μ

A big pile has less surface and so more blocks a contact (15 to 20), so time is held against the blocks and memory
against the contacts; the exponent of time in contacts is printed too. Both include the way from cache to memory, which
alone makes a block dearer as the pile grows.

    python benchmarks/friction_cost.py [--layers 6 9 13 18 24 30]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import dataclasses
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from peers import duration, table
from stopwatch import timed

from stickslip.jit import kernel
from stickslip.problems.blocks import contact_blocks
from stickslip.problems.cone import ConeProblem
from stickslip.problems.mechanical import sphere_pile
from stickslip.solvers.nsgs import NSGS, inverses, sweep
from stickslip.solvers.nsgs_bodies import body_velocities, contact_rows, sweep_bodies

ROOFLINE, EXPONENT = 2.0, 1.1
BEFORE = 10  # sweeps before the clock starts
LARGE, SMALL = 128 << 20, 256 << 10  # bytes: beyond any cache here, and within the second level
REPEATS, BUDGET = 5000, 1.0


@dataclasses.dataclass(frozen=True)
class Cost:
    """One sweep of one method over one pile."""

    method: str
    contacts: int
    blocks: int  # of W, or entries of H
    seconds: float
    moved: int  # bytes read and written in a sweep
    stored: int  # bytes of what the method keeps of the problem
    peak: int  # bytes allocated at most while that was made

    def roofline(self, speed: float) -> float:
        return self.seconds / (self.moved / speed)


@kernel
def total(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s


@kernel
def total_of_nine(x):
    s = 0.0
    for i in range(x.shape[1]):
        s += x[0, i] + x[1, i] + x[2, i] + x[3, i] + x[4, i] + x[5, i] + x[6, i] + x[7, i] + x[8, i]
    return s


def reading_speed(size: int) -> float:
    """Bytes a second of a compiled sum over `size` bytes, its best of many passes."""
    x = np.ones((9, size // 72))
    total(x.ravel()), total_of_nine(x)  # compile, off the clock
    return x.nbytes / min(best_of(lambda: total(x.ravel())), best_of(lambda: total_of_nine(x)))


def delassus_cost(problem: ConeProblem) -> Cost:
    (W, V), peak = measured(lambda: (contact_blocks(problem.W, 3), inverses(problem.blocks.diagonal, problem.mu)))
    r, moved = started(problem), np.ones(problem.size, np.bool_)
    seconds = best_of(
        lambda r, moved: sweep(W, V, problem.q, problem.mu, False, False, NSGS.relaxation, r, moved),
        lambda: (r.copy(), moved.copy()),
    )
    blocks, contacts = W.first.size, problem.contacts
    traffic = blocks * (9 * 8 + 4) + contacts * (9 * 8 + 3 * 8 + 2 * 3 * 8 + 8 + 4)
    return Cost("NSGS", contacts, blocks, seconds, traffic, nbytes(W) + V.nbytes, peak)


def body_cost(problem: ConeProblem) -> Cost:
    bodies = problem.bodies
    assert bodies is not None
    rows, peak = measured(lambda: contact_rows(bodies, 3))
    V, r, v = inverses(rows.diagonal, problem.mu), started(problem), np.empty_like(rows.free)
    body_velocities(rows, r, v)
    seconds = best_of(lambda r, v: sweep_bodies(rows, V, problem.mu, False, r, v), lambda: (r.copy(), v.copy()))
    traffic = rows.row.size * (6 * 8 + 2 * 4) + problem.contacts * (18 * 8 + 3 * 8 + 2 * 3 * 8 + 8 + 4) + v.nbytes
    return Cost("BodyNSGS", problem.contacts, rows.row.size, seconds, traffic, nbytes(rows) + V.nbytes, peak)


def started(problem: ConeProblem) -> Any:
    return NSGS(tol=1e-14, max_iter=BEFORE).solve(problem).x


def best_of(run: Callable[..., Any], prepare: Callable[[], tuple[Any, ...]] = tuple) -> float:
    return timed(prepare, lambda prepared: run(*prepared), REPEATS, BUDGET).best


def measured(make: Callable[[], Any]) -> tuple[Any, int]:
    """What `make` makes, and the bytes it allocated at most."""
    make()  # compile, off the account
    tracemalloc.start()
    made = make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return made, peak


def nbytes(arrays: Iterable[Any]) -> int:
    return sum(array.nbytes for array in arrays)


def exponent(costs: list[Cost], quantity: str, against: str) -> float:
    """p of quantity ~ against^p."""
    x, y = ([getattr(cost, name) for cost in costs] for name in (against, quantity))
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def row(cost: Cost, large: float, small: float) -> list[str]:
    return [
        cost.method,
        f"{cost.contacts}",
        f"{cost.blocks / cost.contacts:.1f}",
        duration(cost.seconds),
        f"{cost.seconds / cost.contacts * 1e9:.0f} ns",
        f"{cost.seconds / cost.blocks * 1e9:.2f} ns",
        f"{cost.moved / 2**20:.1f} MB",
        f"{cost.roofline(large):.2f}",
        f"{cost.roofline(small):.2f}",
        f"{cost.stored / 2**20:.1f} MB",
        f"{cost.peak / 2**20:.1f} MB",
    ]


def verdict(passed: bool, claim: str) -> bool:
    print(f"{'PASS' if passed else 'FAIL'}: {claim}")
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, nargs="+", default=[6, 9, 13, 18, 24, 30], help="of the piles")
    options = parser.parse_args()

    large, small = reading_speed(LARGE), reading_speed(SMALL)
    print(f"reading: {large / 1e9:.1f} GB/s from an array of {LARGE >> 20} MB, {small / 1e9:.1f} GB/s in cache\n")
    costs: dict[str, list[Cost]] = {"NSGS": [], "BodyNSGS": []}
    for layers in options.layers:
        before = time.perf_counter()
        problem = sphere_pile(layers)
        built = time.perf_counter() - before
        for cost in (delassus_cost(problem), body_cost(problem)):
            costs[cost.method].append(cost)
        print(f"{layers} layers: {problem.contacts} contacts, built in {duration(built)}", flush=True)

    header = ["method", "contacts", "blocks (entries) a contact", "sweep", "a contact", "a block (entry)"]
    header += ["moved", "/ memory", "/ cache", "stored", "peak"]
    print("\nsweep time, and its ratio to reading what is moved from memory and from cache:\n")
    print(table(header, [row(cost, large, small) for method in costs.values() for cost in method]))

    print()
    claims = []
    for method, of_method in costs.items():
        biggest = of_method[-1]
        ratio = biggest.roofline(large)
        claims.append(
            verdict(
                ratio <= ROOFLINE, f"{method} at {biggest.contacts} contacts: {ratio:.2f} times reading (at most 2)"
            )
        )
        plain = exponent(of_method, "seconds", "contacts")
        p = exponent(of_method, "seconds", "blocks")
        claims.append(verdict(p <= EXPONENT, f"{method}: time ~ blocks^{p:.2f} (contacts^{plain:.2f})"))
        for quantity in ("stored", "peak"):
            p = exponent(of_method, quantity, "contacts")
            claims.append(verdict(p <= EXPONENT, f"{method}: {quantity} bytes ~ contacts^{p:.2f}"))
    return 0 if all(claims) else 1


if __name__ == "__main__":
    sys.exit(main())
