"""The arrays of a run in one object, and the loop as Python calls it.

A call from Python takes apart every array of every tuple that it passes, 30 µs for those of a run, where a small step
takes 4. A Box is taken apart once, when it is made: it keeps the tuples as compiled code sees them, with a reference to
each array, and a call passes one pointer. Arrays are shared with the tuples that the Box was made of; where a tuple is
replaced, as when room grows, a new Box is needed.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import types
from numba.experimental import structref

from stickslip.engine.copies import keep_copy, no_copies, start_copy
from stickslip.engine.march import DONE, FRESH, HELP, march
from stickslip.engine.slabs import help_out
from stickslip.jit import kernel

FIELDS = ("state", "rules", "work", "memory", "record", "copies")

config: Any = numba.config

if config.DISABLE_JIT:

    class Box:
        """Without compilation, the tuples themselves."""

        def __init__(self, *tuples: Any) -> None:
            vars(self).update(zip(FIELDS, tuples, strict=True))

else:

    @structref.register
    class BoxType(types.StructRef):
        """The type of a Box in compiled code."""

    class Box(structref.StructRefProxy):  # type: ignore[no-redef]
        """The tuples of a run as compiled code sees them."""

        def __new__(cls, *tuples: Any) -> Box:
            return structref.StructRefProxy.__new__(cls, *tuples)

    structref.define_proxy(Box, BoxType, list(FIELDS))


ALONE = no_copies()  # of a run that is one


@kernel
def boxed(state, rules, work, memory, record, copies):
    """The tuples in a Box."""
    return Box(state, rules, work, memory, record, copies)


@kernel
def advance(box, times, first, island):
    """Fill the record from number `first` on, so many times, each writing over the one before; the first goes on from
    `island`. Returns how often it was filled, the steps in the record, and why it ended, as `march` does. Where there
    are copies the record has one step, and the scene begins anew with each copy.

    Python calls the loop by no other kernel: it is by far the largest, and would be compiled again for each. So helpers
    of a large scene (engine/slabs.py) call it too, with HELP instead of an island."""
    state, rules, work, memory, record = box.state, box.rules, box.work, box.memory, box.record
    copies, made = box.copies, first
    if island == HELP:
        help_out(work, rules)
        return 0, first, DONE
    for k in range(times):
        if copies.steps > 0 and island == FRESH:
            start_copy(copies, state, rules, work, memory)
        made, ended = march(state, rules, work, memory, record, first, island)
        if ended != DONE:
            return k, made, ended
        island = FRESH
        if copies.steps > 0:
            keep_copy(copies, state, record)
    return times, made, DONE
