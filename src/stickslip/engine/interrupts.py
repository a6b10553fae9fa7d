"""Ctrl-C at the right moment: not within a write, which would be left half done, nor within a call of compiled code,
where Numba makes another error of it and what the call returned is lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of what is done here."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    pressed: list[Any] = []
    usual = signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if pressed and callable(usual):
            usual(*pressed[0])
