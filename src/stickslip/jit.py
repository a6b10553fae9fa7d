"""The one decorator for compiled kernels, and where the compiled code is kept.

Numba finds its cache by the caller's source file alone: change a callee in another file and the old machine
code of the caller runs on. So the cache folder is named after a digest of all sources of this package and of
the flags that change the code. Only stickslip's kernels go there; the caller's own Numba settings are untouched.

The floating-point flags leave NaN and Inf alone (no `nnan`, no `ninf`): a diverged iterate must stay visible.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

FLAGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "arcp", "nsz"},
}


def kernel(function: F) -> F:
    """Compile `function` on first use. Kernels take canonical arrays, check nothing and never raise."""
    config: Any = numba.config
    if config.DISABLE_JIT:
        return silent(function)
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())  # read when the dispatcher is made, so only ours is moved
    try:
        compiled: F = numba.njit(**FLAGS)(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def silent(function: F) -> F:
    """The plain function where compilation is switched off, as quiet about overflow as compiled code."""

    @wraps(function)
    def plain(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return plain  # type: ignore[return-value]


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: STICKSLIP_CACHE, or the user's cache folder."""
    root = os.environ.get("STICKSLIP_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "stickslip"
    )
    package = Path(__file__).parent
    flags = (numba.__version__, os.environ.get("NUMBA_BOUNDSCHECK", "0"))
    digest = hashlib.sha256(repr(flags).encode())
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    return Path(root) / f"kernels-{digest.hexdigest()[:16]}"


class _Announcer(event.Listener):
    """Says on a terminal that a kernel is being compiled, so that the first call does not look hung."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("stickslip."):
            print(f"\rcompiling {function.__name__} (once, then cached) \x1b[K", end="", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


if sys.stderr.isatty():
    event.register("numba:compile", _Announcer())
