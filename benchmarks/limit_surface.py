"""Claims: the 400 problems of Trinkle and Pang's first example take `solve` less than 0.4 s in all; and a friction law
of the user's, an anisotropic superellipse in ten lines of Python, takes at most twice the time of the ellipsoid.

Beside them, without a claim: what spin costs, as the time of a Gauss-Seidel sweep per contact, in runs of 2,000 sweeps
over a pile of balls with some 1,000 distributed contacts, over that of the same pile with point contacts (NSGS).
Everything is compiled before the clock starts. The 400 problems are made off the clock, and solved one call each.

    python benchmarks/limit_surface.py [--layers 8]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
import dataclasses
import math
import sys

import numpy as np
from peers import duration, table
from scipy import sparse
from stopwatch import timed

import stickslip as ss
from stickslip.problems.cone import ConeProblem, delassus
from stickslip.problems.mechanical import sphere_pile
from stickslip.problems.rod_and_cube import example_1

LIMIT, TWICE = 0.4, 2.0
GRID = np.linspace(0.1, 1.0, 20)
PATCH = 0.01  # e_r of the balls, of radius 0.05   [m]
REPEATS, BUDGET = 20, 10.0
SWEEPS, NEVER = 2000, 1e-300  # sweeps of one run, and a tolerance that does not end it before


def superellipse(t, o, r, speed, x, y, z, time):  # type: ignore[no-untyped-def]
    """(t⁴ + (1.25 o)⁴ + r⁴)^¼ and its slope: the law of docs/limit_surface.md."""
    o = 1.25 * o
    value = math.sqrt(math.sqrt(t * t * t * t + o * o * o * o + r * r * r * r))
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    t, o, r = t / value, o / value, r / value
    return value, t * t * t, 1.25 * o * o * o, r * r * r


def sweep_of_400() -> bool:
    rows, holds = [], True
    for zeta in (2.0, 0.0):
        problems = [example_1((a, b), zeta).problem for a in GRID for b in GRID]

        def all_of_them(fresh: list[ss.LimitSurfaceProblem]) -> int:
            return sum(ss.solve(problem).solved for problem in fresh)

        found = timed(lambda made=problems: [dataclasses.replace(p) for p in made], all_of_them, REPEATS, BUDGET)
        holds = holds and found.median < LIMIT and found.answer == 400
        rows.append((f"ζ = {zeta:g}", found.answer, duration(found.median), duration(found.median / 400)))
    print(table(("example 1", "solved of 400", "time", "a problem"), rows), end="\n\n")
    return holds


def with_patches(pile: ConeProblem, patch: float) -> ss.LimitSurfaceProblem:
    """The same pile with a fourth row a contact: spin about the normal, whose column moves to the angular rows."""
    bodies = pile.bodies
    assert bodies is not None
    H, nc = sparse.csc_array(bodies.H), pile.contacts
    normal = sparse.coo_array(H[:, ::3])
    linear = normal.row % 6 < 3
    spin = sparse.csc_array((normal.data[linear], (normal.row[linear] + 3, normal.col[linear])), shape=(H.shape[0], nc))
    order = np.concatenate([np.arange(3 * nc).reshape(nc, 3), 3 * nc + np.arange(nc)[:, None]], axis=1).ravel()
    W, q = delassus(bodies.M, sparse.csr_array(sparse.hstack([H, spin]))[:, order], bodies.f)
    return ss.LimitSurfaceProblem(W, q, pile.mu, np.tile((1.0, 1.0, patch), (nc, 1)))


def cost_of_spin(layers: int) -> bool:
    pile = sphere_pile(layers)
    patches = with_patches(pile, PATCH)
    law = dataclasses.replace(patches, surface=ss.FrictionMap(superellipse))
    rows, each = [], {}
    for name, problem, solver in (
        ("point contacts, NSGS", pile, ss.NSGS(tol=NEVER, max_iter=SWEEPS, relaxation=1.0)),
        ("ellipsoid", patches, ss.LimitSurfaceGaussSeidel(tol=NEVER, max_iter=SWEEPS)),
        ("superellipse of the user", law, ss.LimitSurfaceGaussSeidel(tol=NEVER, max_iter=SWEEPS)),
    ):
        dataclasses.replace(solver, max_iter=2).solve(problem)  # compiles, and makes the blocks
        swept = timed(lambda: None, lambda _, s=solver, p=problem: s.solve(p), REPEATS, BUDGET)
        each[name] = swept.best / (SWEEPS * pile.contacts)
        rows.append((name, duration(each[name]), f"{swept.answer.residual:.1e}"))
    print(table((f"{pile.contacts} contacts", "a sweep, per contact", f"residual after {SWEEPS}"), rows), end="\n\n")
    point, ellipsoid, user = each.values()
    print(f"spin, per contact and sweep: {ellipsoid / point:.2f} times a point contact")
    print(f"the user's law: {user / ellipsoid:.2f} times the ellipsoid")
    return user <= TWICE * ellipsoid


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=8, help="of the pile; 8 have some 1,000 contacts")
    layers = parser.parse_args().layers
    ss.solve(example_1((0.1, 0.1)).problem)  # compiles
    holds = [sweep_of_400(), cost_of_spin(layers)]
    print("PASS" if all(holds) else "FAIL")
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
