"""One thread of BLAS while a run is under way: a product that several threads share is summed in another order, and a
run would have other bits on a machine with more cores. The problems of steps are too small for threads to gain much.

Runs may be under way in several threads at once, and BLAS has one setting for all of them: the first to begin makes it,
and the last to end takes it back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_under_way: list[Any] = []  # what takes the limit back, once for each run


@cache
def libraries() -> ThreadpoolController:
    """Those of BLAS that this process has loaded; NumPy and SciPy have one each."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """For a `with` statement."""
    with _lock:
        _under_way.append(_under_way[0] if _under_way else libraries().limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            limit = _under_way.pop()
            if not _under_way:
                limit.restore_original_limits()
