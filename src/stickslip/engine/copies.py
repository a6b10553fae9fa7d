"""Copies of one scene that run one after another in one call of the compiled loop: an ensemble.

The arrays of a run are set up once. Before the first step of a copy its start, the tables of its materials and gravity
are put into them, and the memory of the copy before is forgotten; after each step the state is kept where it is asked
for, and what the steps were like. A run of its own has no copies: all arrays here are empty then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.finish import begin
from stickslip.engine.rows import Surfaces
from stickslip.jit import bare
from stickslip.scene.model import Floats, Integers, State
from stickslip.solvers.status import SOLVED


class Copies(NamedTuple):
    """What n copies start from and what they leave, after every so many steps."""

    made: Integers  # (1,)   steps, of all copies together
    steps: int  # of a copy
    every: int  # steps from one frame to the next
    position: Floats  # (n, nb, 3)   at the start
    quaternion: Floats  # (n, nb, 4)
    velocity: Floats  # (n, nb, 6)
    tables: Floats  # (n or 0, 8, nm, nm)   those of Surfaces in their order; 0 where they are the same in all copies
    gravity: Floats  # (n or 0, 3)   likewise
    positions: Floats  # (n, frames, nb, 3)   the first is the start
    quaternions: Floats  # (n, frames, nb, 4)
    velocities: Floats  # (n, frames, nb, 6)
    residual: Floats  # (n,)   the worst of all steps
    velocity_error: Floats  # (n,)   likewise
    missed: Integers  # (n,)   steps that missed tol


def room_for_copies(start: State, tables: Floats, gravity: Floats, steps: int, every: int) -> Copies:
    """`start`: the states of all copies, with a leading axis."""
    count, bodies = start.position.shape[:2]
    shape = count, steps // every + 1 if every else 0, bodies
    copies = Copies(
        np.zeros(1, np.int64), steps, every, *start, tables, gravity, np.full((*shape, 3), np.nan),
        np.full((*shape, 4), np.nan), np.full((*shape, 6), np.nan), np.zeros(count), np.zeros(count),
        np.zeros(count, np.int64),
    )  # fmt: skip
    if every:
        copies.positions[:, 0], copies.quaternions[:, 0], copies.velocities[:, 0] = start
    return copies


def no_copies() -> Copies:
    nobody = State(np.zeros((0, 0, 3)), np.zeros((0, 0, 4)), np.zeros((0, 0, 6)))
    return room_for_copies(nobody, no_tables(), np.zeros((0, 3)), 0, 0)


def no_tables() -> Floats:
    return np.zeros((0, len(Surfaces._fields[2:]), 0, 0))


@bare
def start_copy(copies, state, rules, work, memory):
    """At the first step of a copy: its start, and nothing of the copy before."""
    c = copies.made[0] // copies.steps
    if copies.made[0] != c * copies.steps:
        return
    for b in range(state.position.shape[0]):
        for i in range(3):
            state.position[b, i] = copies.position[c, b, i]
        for i in range(4):
            state.quaternion[b, i] = copies.quaternion[c, b, i]
        for i in range(6):
            state.velocity[b, i] = copies.velocity[c, b, i]
    if copies.gravity.shape[0] > 0:
        for i in range(3):
            work.bodies.gravity[i] = copies.gravity[c, i]
    if copies.tables.shape[0] > 0:
        tables = work.surfaces[2:]
        for k in range(len(tables)):
            for i in range(copies.tables.shape[2]):
                for j in range(copies.tables.shape[3]):
                    tables[k][i, j] = copies.tables[c, k, i, j]
    memory.known[0] = 0
    for i in range(memory.joint.size):
        memory.joint[i] = 0.0
    begin(state, rules, work, memory)


@bare
def keep_copy(copies, state, record):
    """After a step: what it was like, and where bodies are where a frame is due."""
    c = copies.made[0] // copies.steps
    copies.made[0] += 1
    if not record.residual[0] <= copies.residual[c]:
        copies.residual[c] = record.residual[0]
    if not record.velocity_error[0] <= copies.velocity_error[c]:
        copies.velocity_error[c] = record.velocity_error[0]
    if record.status[0] != SOLVED:
        copies.missed[c] += 1
    step = copies.made[0] - c * copies.steps
    if step % copies.every != 0:
        return
    k = step // copies.every
    for b in range(state.position.shape[0]):
        for i in range(3):
            copies.positions[c, k, b, i] = state.position[b, i]
        for i in range(4):
            copies.quaternions[c, k, b, i] = state.quaternion[b, i]
        for i in range(6):
            copies.velocities[c, k, b, i] = state.velocity[b, i]
