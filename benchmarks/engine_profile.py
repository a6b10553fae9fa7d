"""No claim: where the time of a step of the compiled loop goes, scene by scene of engine.py without joints.

A run of the loop is counted first: calls of the compiled loop, steps that it left to the interior point method or to a
step in Python, sweeps. Then one state from the end of that run is kept, and each stage of its step is repeated alone
inside a compiled loop, so that the way from Python is not part of it. What a stage costs in the loop may be a little
more, for there its data have been pushed out of the nearest cache by the others.

    python benchmarks/engine_profile.py [--only slide stick slip stack slab pile]
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")  # before NumPy reads them

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time
from typing import Any
from unittest.mock import patch

import numpy as np
from engine import JOINTLESS, kinds_of, scene_of, scenes
from engine_scenes import Setting
from peers import duration, table
from stickslip.engine.step import Engine
from stickslip.engine.sweeps import judged, room_for_answer, room_for_law

import stickslip.engine.simulate as simulation
from stickslip.dynamics.contact_rows import fill_rows
from stickslip.dynamics.motion import advance, free_motion
from stickslip.engine.march import look, march, note, note_contacts, pose, remember, room_to_record, solve, states
from stickslip.jit import kernel
from stickslip.scene.compile import compile_scene

STEPS = {"slide": 300, "stick": 1000, "slip": 1000, "stack": 1000, "slab": 1000, "pile": 150}
ROUNDS, SPENT = 7, 0.05  # of each stage, and the seconds that one should take


@kernel
def free_motions(state, rules, work, times):
    for _ in range(times):
        free_motion(work.bodies, state, rules.h)


@kernel
def advances(state, rules, work, times):
    for _ in range(times):
        advance(work.bodies, state, rules.h, work.bodies.v)


@kernel
def looks(state, rules, work, times):
    for _ in range(times):
        look(state, rules, work)


@kernel
def fills(state, work, count, times):
    for _ in range(times):
        fill_rows(work.surfaces.body, work.bodies, state.position, work.contacts, count, work.rows)


@kernel
def poses(state, rules, work, memory, law, answer, times):
    for _ in range(times):
        pose(state, rules, work, memory, law, answer)


@kernel
def solves(rules, work, memory, law, answer, times):
    sweeps = 0
    for _ in range(times):
        answer.p[:] = answer.start
        sweeps, _, _ = solve(rules, work, memory, law, answer)
    return sweeps


@kernel
def judgements(rules, work, law, answer, times):
    total = 0.0
    for _ in range(times):
        total += judged(work.rows, work.moving, law, work.bodies.v, rules.tol, answer.p, answer.u, answer.v)[0]
    return total


@kernel
def notes(state, rules, work, memory, record, count, law, answer, times):
    for _ in range(times):
        note_contacts(record, 0, work.contacts, law, answer)
        states(answer.p, answer.u, law.mu, law.own, rules.tol, 0, record.state)
        remember(memory, work.contacts, work.rows, count, answer.p, answer.p)
        note(record, 0, count, state, 1, 0.0)


@dataclass
class Calls:
    """A function that counts how often it was called, and how long that took."""

    function: Callable[..., Any]
    count: int = 0
    seconds: float = 0.0

    def __call__(self, *arguments: Any) -> Any:
        started = thread_time()
        answer = self.function(*arguments)
        self.count, self.seconds = self.count + 1, self.seconds + thread_time() - started
        return answer


def profile(setting: Setting) -> tuple[list[str], list[str]]:
    """The row of the run, and that of the stages of one of its steps."""
    kind, (scene, _) = kinds_of(setting)[0], scene_of(setting)
    steps = STEPS[setting.name]

    def start() -> simulation.Run:
        model, state, drives = compile_scene(scene)
        law = kind.friction
        return simulation.Run(model, state, drives, setting.dt, law, law.solver, kind.tol, True, scene.names)

    list(start().chunks(steps))  # compile, off the clock
    run = start()
    loop, path = Calls(march), Calls(simulation.followed_path)
    with patch.multiple(simulation, march=loop, followed_path=path):
        started = thread_time()
        chunks = list(run.chunks(steps))
        seconds = thread_time() - started
    sweeps = np.concatenate([chunk.iterations for chunk in chunks])
    counted = [setting.name, duration(seconds / steps), f"{loop.count}", duration(loop.seconds / steps)]
    counted += [
        f"{path.count}",
        duration(path.seconds / steps),
        f"{sweeps.mean():.1f}",
        f"{np.percentile(sweeps, 90):.0f}",
    ]
    return counted, stages(setting, run)


def stages(setting: Setting, run: simulation.Run) -> list[str]:
    engine, rules, model, state = Engine.of(run.model, run.dt), simulation.compiled_rules(run), run.model, run.state
    assert rules is not None
    engine.enlarge(8 * len(setting.blocks) + 64)
    work, memory = engine.work, engine.memory
    record = room_to_record(model, 1, work.contacts.capacity)
    while march(state, rules, work, memory, record, 0)[0] == 0:  # a step, so that there is something to start from
        if not simulation.followed_path(engine, state, rules):
            run.one_step(engine, 0)
    count = look(state, rules, work)
    free = spent(free_motions, state, rules, work)
    collision = spent(looks, state, rules, work) - free
    rows = spent(fills, state, work, count)
    law, answer = room_for_law(3, count), room_for_answer(3, count, work.bodies.v)
    asked = spent(poses, state, rules, work, memory, law, answer) - rows
    sweeps = solves(rules, work, memory, law, answer, 1)
    solved = spent(solves, rules, work, memory, law, answer)
    judge = spent(judgements, rules, work, law, answer)
    noted = spent(notes, state, rules, work, memory, record, count, law, answer)
    moved = spent(advances, state.copy(), rules, work)
    times = [free, collision, rows, asked, solved, noted, moved]
    shares = [f"{duration(time)} ({time / sum(times):.0%})" for time in times]
    each = duration((solved - (1 + (sweeps > 0)) * judge) / max(1, sweeps) / count)
    return [setting.name, f"{count}", duration(sum(times)), *shares, duration(judge), f"{sweeps}", each]


def spent(function: Callable[..., Any], *arguments: Any) -> float:
    """Seconds a time, the best of some rounds."""
    function(*arguments, 1)
    started = thread_time()
    function(*arguments, 1)
    times = max(1, round(SPENT / max(1e-6, thread_time() - started)))
    best = np.inf
    for _ in range(ROUNDS):
        started = thread_time()
        function(*arguments, times)
        best = min(best, (thread_time() - started) / times)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=JOINTLESS, default=JOINTLESS, help="scenes")
    rows = [profile(setting) for setting in scenes(parser.parse_args().only)]
    print("\na run, per step:\n")
    head = ["scene", "loop", "calls of march", "in march", "interior point calls", "in them", "sweeps", "90 %"]
    print(table(head, [counted for counted, _ in rows]))
    print("\none step, each stage alone:\n")
    head = ["scene", "contacts", "sum", "free motion", "collision", "rows", "law, recall", "solve", "record", "advance"]
    head += ["residual", "sweeps", "a contact and sweep"]
    print(table(head, [parts for _, parts in rows]))


if __name__ == "__main__":
    main()
