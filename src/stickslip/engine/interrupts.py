"""Ctrl-C at the right moment: not within a write, which would be left half done, nor within a call of compiled code,
where Numba makes another error of it and what the call returned is lost."""

from __future__ import annotations

import signal
import threading
from typing import Any


class uninterrupted:
    """Ctrl-C waits for the end of what is done in a `with` statement, of the outermost where one is within another."""

    under_way = False  # in the main thread, which alone hears of Ctrl-C

    def __enter__(self) -> None:
        self.outermost = (
            not uninterrupted.under_way
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is not None
        )
        if self.outermost:
            self.pressed: list[Any] = []
            self.usual: Any = signal.signal(signal.SIGINT, lambda *given: self.pressed.append(given))
            uninterrupted.under_way = True

    def __exit__(self, *_: object) -> None:
        if self.outermost:
            uninterrupted.under_way = False
            signal.signal(signal.SIGINT, self.usual)
            if self.pressed and callable(self.usual):
                self.usual(*self.pressed[0])
