"""Threads that share the work of one step, without waiting for each other more than they must.

One thread leads: it runs the loop, and posts tasks 0 … k - 1 of a job where there are many. Every thread, the leader
too, then takes tasks until there are none left, and the leader goes on when all are done. A helper that sleeps, or
whose core is taken by somebody else, costs nothing: the others do its tasks.

The *ticket* is one number, how many tasks are left, beneath the number of the job. Who lowers it by one, in a single
operation of the processor, has that task; who looked at an older job cannot. What a job is stays as it is until all of
its tasks are done.

Helpers are threads of Python that are within one compiled call for as long as the leader is, see `helped`. They look at
the ticket for some microseconds, then sleep in between. Numba's own threads (`prange`) are not used: its usual pool
ends the process where two threads of Python enter it, as the runs of a sweep do.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from stickslip.jit import bare
from stickslip.scene.model import Integers

TICKET, DONE, STOP, JOB, SIZE = 0, 8, 16, 24, 32  # places in the post, each in a line of the cache of its own
LEFT = (1 << 32) - 1  # in a ticket: the tasks that are left
SPIN = 20_000  # looks at the ticket before a thread sleeps, about 40 µs
NAP = 0 if os.name == "nt" else 50  # that it sleeps   [µs]; under Windows until another thread had its turn

config: Any = numba.config


def new_post() -> Integers:
    """Where a leader posts its jobs."""
    return np.zeros(SIZE, np.int64)


if config.DISABLE_JIT:  # one thread only, see `helped`

    def load(post, at):
        return post[at]

    def store(post, at, value):
        post[at] = value

    def add(post, at, value):
        post[at] += value

    def swap(post, at, old, new):
        post[at] = new
        return True

    def nap():
        pass

else:
    import llvmlite.binding as llvm

    _system: Any = ctypes
    _sleep = _system.windll.kernel32.Sleep if os.name == "nt" else ctypes.CDLL(None).usleep
    llvm.add_symbol("stickslip_sleep", ctypes.cast(_sleep, ctypes.c_void_p).value)
    _asleep: Any = types.ExternalFunction("stickslip_sleep", types.int32(types.uint32))

    def address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
        """Of post[index], in LLVM."""
        made = context.make_array(array_type)(context, builder, array)
        return cgutils.gep(builder, made.data, index)

    @intrinsic
    def load(typing, post, at):
        """post[at], as the last thread to write it left it, with all that it wrote before."""

        def code(context, builder, signature, arguments):
            place = address(context, builder, signature.args[0], *arguments)
            return builder.load_atomic(place, "acquire", 8)

        return types.int64(post, types.int64), code

    @intrinsic
    def store(typing, post, at, value):
        """post[at] = value, after all that this thread wrote before."""

        def code(context, builder, signature, arguments):
            place = address(context, builder, signature.args[0], *arguments[:2])
            builder.store_atomic(arguments[2], place, "release", 8)
            return context.get_dummy_value()

        return types.void(post, types.int64, types.int64), code

    @intrinsic
    def add(typing, post, at, value):
        """post[at] += value, in one operation."""

        def code(context, builder, signature, arguments):
            place = address(context, builder, signature.args[0], *arguments[:2])
            builder.atomic_rmw("add", place, arguments[2], "acq_rel")
            return context.get_dummy_value()

        return types.void(post, types.int64, types.int64), code

    @intrinsic
    def swap(typing, post, at, old, new):
        """post[at] = new where it is still `old`, in one operation; whether it was."""

        def code(context, builder, signature, arguments):
            place = address(context, builder, signature.args[0], *arguments[:2])
            done = builder.cmpxchg(place, arguments[2], arguments[3], "acq_rel", "acquire")
            return builder.extract_value(done, 1)

        return types.boolean(post, types.int64, types.int64, types.int64), code

    @bare
    def nap():
        _asleep(NAP)


@bare
def announce(post, tasks):
    """A job with so many tasks; what it is has been written before."""
    store(post, DONE, 0)
    job = (load(post, TICKET) >> 32) + 1
    store(post, TICKET, (job << 32) | tasks)


@bare
def take(post):
    """The number of a task that nobody else has, counted from behind; -1 where there is none."""
    while True:
        ticket = load(post, TICKET)
        if ticket & LEFT == 0:
            return -1
        if swap(post, TICKET, ticket, ticket - 1):
            return (ticket & LEFT) - 1


@bare
def wait_for_tasks(post):
    """Until there is a task, or no more to do: False."""
    looks = 0
    while load(post, TICKET) & LEFT == 0:
        if load(post, STOP) != 0:
            return False
        looks += 1
        if looks > SPIN:
            nap()
    return True


@bare
def wait_for_others(post, tasks):
    """Until all tasks of the job are done."""
    looks = 0
    while load(post, DONE) < tasks:
        looks += 1
        if looks > SPIN:
            nap()


@contextmanager
def helped(post: Integers, threads: int, help_: Callable[[], Any]) -> Iterator[None]:
    """For a `with` statement: so many threads in all, of which all but one call `help_`, which returns once the post
    says STOP."""
    if threads == 1 or config.DISABLE_JIT:
        yield
        return
    post[STOP] = 0
    with ThreadPoolExecutor(threads - 1, "stickslip") as pool:
        try:
            for _ in range(threads - 1):
                pool.submit(help_)
            yield
        finally:
            post[STOP] = 1
