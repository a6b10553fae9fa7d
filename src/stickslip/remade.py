"""Values that are made of functions go from process to process as the call that made them: a pool of processes needs
to send them, and Python sends no function that was defined within another."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
V = TypeVar("V")


class Remade:
    """A frozen value which remembers the call of a `remade` function that it comes from."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        made = self.__dict__.get("_made_by")
        return super().__reduce_ex__(protocol) if made is None else (again, made)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self  # nothing of it ever changes


def remade(maker: Callable[P, V]) -> Callable[P, V]:
    """A function whose values are pickled as its call."""

    @wraps(maker)
    def make(*given: P.args, **named: P.kwargs) -> V:
        value = maker(*given, **named)
        object.__setattr__(value, "_made_by", (make, given, named))
        return value

    return make


def again(make: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return make(*given, **named)
