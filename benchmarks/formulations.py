"""Claims: a step of `simulate` takes at most 0.3 ms under every formulation where a box slides on its four corners; and
to pose, solve and read back one takes at most 0.3 ms there, and 5 ms for ten stacked boxes with eight directions of
friction; by `auto`, from the step before.

`simulate` is timed whole, the best of several runs. For the second claim geometry stays as it is at the start;
velocities and impulses are those of the steps made. Mean over the steps, each the best of three.

OPENBLAS_NUM_THREADS=1 python benchmarks/formulations.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

import stickslip as ss
from stickslip.friction.active import ActiveRows, spread
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.formulation import Formulation
from stickslip.friction.impact import RowImpulses
from stickslip.problems.matrix import Dense, as_dense
from stickslip.problems.mechanical import box_stack

H, MU, STEPS = 1e-3, 0.5, 200
BOX_LIMIT, STACK_LIMIT = 0.3, 5.0  # [ms]
RUNS = 6
LAWS: tuple[Formulation, ...] = (
    ss.Coulomb(), ss.StewartTrinkle(8), ss.AnitescuPotra(8), ss.Box(), ss.Hybrid(), ss.Phantom(), ss.CompliantCone(),
    ss.CompliantCylinder(), ss.LimitSurface(),
)  # fmt: skip


def steps_of(law: Formulation, boxes: int) -> Iterator[ActiveRows]:
    """The rows of steps of a tower that slides and turns."""
    bodies = box_stack(boxes, MU).bodies
    assert bodies is not None
    contacts = as_dense(bodies.H)
    if law.spin:
        contacts = with_spin(contacts, boxes)
    d, weight = (4 if law.spin else 3), np.tile([0.0, 0.0, -9.81 * H, 0.0, 0.0, 0.0], boxes)
    v = np.tile([1.0, 0.3, 0.0, 0.0, 0.0, 0.5], boxes)
    v += 0.01 * np.random.default_rng(0).normal(size=v.size) * (boxes > 1)
    M, previous = as_dense(bodies.M), np.zeros(4 * d * boxes)
    previous[::d] = np.repeat(np.arange(boxes, 0, -1.0), 4) * 9.81 * H / 4
    for _ in range(STEPS):
        problem = ContactProblem(
            H, M, M @ (v + weight), v, contacts, np.full(4 * boxes, MU), previous=previous,
            patch=np.full(4 * boxes, 0.01),
        )  # fmt: skip
        rows = law.rows(problem)
        yield rows
        impulses = spread(problem, rows.contacts, step(law, rows))
        v, previous = problem.velocity_after(impulses), impulses.p


def with_spin(contacts: Dense, boxes: int) -> Dense:
    """A fourth row a contact: the angular velocity about z of a box relative to the one below."""
    whole = np.zeros((len(contacts), 16 * boxes))
    for i in range(4 * boxes):
        box = i // 4
        whole[:, 4 * i : 4 * i + 3] = contacts[:, 3 * i : 3 * i + 3]
        whole[6 * box + 5, 4 * i + 3] = 1.0
        if box:
            whole[6 * box - 1, 4 * i + 3] = -1.0
    return whole


def step(law: Formulation, rows: ActiveRows) -> RowImpulses:
    posed = law.posed(rows)
    return posed.decode(ss.solve(posed.problem, "auto", law.tolerance, posed.start).require().x)


def milliseconds(law: Formulation, boxes: int) -> float:
    """The mean over the steps."""
    best = []
    for rows in list(steps_of(law, boxes)):
        times = []
        for _ in range(3):
            started = time.thread_time_ns()
            step(law, rows)
            times.append(time.thread_time_ns() - started)
        best.append(min(times))
    return float(np.mean(best)) * 1e-6


def simulated(law: Formulation) -> float:
    """A step of `simulate`, set-up and all."""
    scene = ss.Scene()
    scene.add_plane(friction=MU)
    scene.add_box((1.0, 1.0, 0.5), mass=1.0, position=(0.0, 0.0, 0.25), velocity=(3.0, 0.2, 0.0), friction=MU)
    times = []
    for _ in range(RUNS):
        started = time.thread_time()
        ss.simulate(scene, STEPS * H, H, friction=law, progress=False)
        times.append(time.thread_time() - started)
    return 1e3 * min(times) / STEPS


def said(law: Formulation, took: float, limit: float) -> bool:
    """Print a line; is it too slow?"""
    print(f"    {type(law).__name__:20s}{took:8.3f} ms{'' if took <= limit else '   too slow'}")
    return took > limit


if __name__ == "__main__":
    failed = False
    print(f"a step of simulate, 1 box, 4 contacts (at most {BOX_LIMIT} ms)")
    for law in LAWS:
        failed |= said(law, simulated(law), BOX_LIMIT)
    for boxes, limit, laws in ((1, BOX_LIMIT, LAWS), (10, STACK_LIMIT, LAWS[1:3])):
        print(f"its problem alone, {boxes} box{'es' * (boxes > 1)}, {4 * boxes} contacts (at most {limit} ms)")
        for law in laws:
            failed |= said(law, milliseconds(law, boxes), limit)
    print("FAIL" if failed else "PASS")
    sys.exit(failed)
