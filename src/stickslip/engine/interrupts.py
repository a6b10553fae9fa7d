"""Ctrl-C at the right moment: not within a write, which would be left half done, nor within a call of compiled code,
where Numba makes another error of it and what the call returned is lost."""

from __future__ import annotations

import signal
import threading
from typing import Any


class listening:
    """Ctrl-C is heard here first, and passed on to whom it was meant for unless something is `uninterrupted`.

    To begin and end that takes longer than a small step. So where much is uninterrupted, one piece after the other, it
    is begun once around all of it."""

    usual: Any = None  # whom Ctrl-C is meant for; None where nobody listens here
    pressed: list[Any]  # while something is uninterrupted

    def __enter__(self) -> None:
        self.first = listening.usual is None and in_main_thread() and callable(signal.getsignal(signal.SIGINT))
        if self.first:
            listening.pressed = []
            listening.usual = signal.signal(signal.SIGINT, heard)

    def __exit__(self, *_: object) -> None:
        if self.first:
            signal.signal(signal.SIGINT, listening.usual)
            listening.usual = None


def heard(*given: Any) -> None:
    if uninterrupted.under_way:
        listening.pressed.append(given)
    else:
        listening.usual(*given)


class uninterrupted:
    """Ctrl-C waits for the end of what is done in a `with` statement, of the outermost where one is within another."""

    under_way = False  # in the main thread, which alone hears of Ctrl-C

    def __enter__(self) -> None:
        self.outermost = not uninterrupted.under_way and in_main_thread()
        if self.outermost:
            self.listening = listening()
            self.listening.__enter__()
            uninterrupted.under_way = True

    def __exit__(self, *_: object) -> None:
        if self.outermost:
            uninterrupted.under_way = False
            usual = listening.usual
            self.listening.__exit__()
            if usual is not None and listening.pressed:
                given = listening.pressed[0]
                listening.pressed.clear()
                usual(*given)


class remembered:
    """Ctrl-C is passed on, and raised once more by `look` where nobody heard of it: Python drops an error that comes
    within the callback of a weak reference, of which a sweep makes many."""

    pressed = False

    def __enter__(self) -> remembered:
        self.usual: Any = signal.getsignal(signal.SIGINT)
        self.first = in_main_thread() and callable(self.usual)
        if self.first:
            signal.signal(signal.SIGINT, self.hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self.first:
            signal.signal(signal.SIGINT, self.usual)

    def hear(self, *given: Any) -> None:
        self.pressed = True
        self.usual(*given)

    def look(self) -> None:
        if self.pressed:
            raise KeyboardInterrupt


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
