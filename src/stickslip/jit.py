"""The one decorator for compiled kernels, and where the compiled code is kept.

Numba finds its cache by the caller's source file alone: change a callee in another file and the old machine
code of the caller runs on. So a compiled kernel is kept under a digest of its file, of all files of this package that
it imports, directly or not, and of the flags that change the code: a change compiles again what is made of it, and
nothing else. pack.py says where it is kept, compiling.py how it is made; the caller's own Numba settings are untouched.

The floating-point flags leave NaN and Inf alone (no `nnan`, no `ninf`): a diverged iterate must stay visible.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import event

from stickslip.pack import cache_folder, say

PACKAGE = Path(__file__).parent
NO_PART = {PACKAGE / "errors.py", PACKAGE / "checks.py"}  # kernels never raise, and check nothing
IMPORT = re.compile(r"^(?:from|import) +(stickslip[\w.]*)", re.MULTILINE)

F = TypeVar("F", bound=Callable[..., Any])

TRIED = (0, 63), (0, 68)  # the first and the last version of Numba that compiling.py was tried with

FLAGS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "arcp", "nsz"},
    "_nrt": True,  # arrays may be made; said, for a callee inherits what it does not say
}


def kernel(function: F) -> F:
    """Compile `function` on first use. Kernels take canonical arrays, check nothing and never raise."""
    return compiled(function)


def inlined(function: F) -> F:
    """A kernel that becomes part of its caller. For glue that takes tuples of many arrays, whose call costs more than
    what it does; the caller is compiled anew with it, so not for large ones with many callers."""
    return compiled(function, inline="always")


def bare(function: F) -> F:
    """A kernel that makes no arrays and so counts no references to them. Each access to a tuple of arrays counts all of
    them otherwise, which takes longer than a small step does. The inlined kernels it is made of make none either. Its
    loops, over the few numbers of a body, are not vectorised: to find out whether it pays costs more than they do."""
    return compiled(function, "short", _nrt=False)


def dense(function: F) -> F:
    """A bare kernel with long loops over neighbours in memory, which are vectorised."""
    return compiled(function, "long", _nrt=False)


def compiled(function: F, loops: str = "", **flags: Any) -> F:
    assert function.__closure__ is None, f"{function.__qualname__}: a kernel is known by its file, and captures nothing"
    config: Any = numba.config
    if config.DISABLE_JIT:
        return silent(function)
    content = content_of(Path(function.__code__.co_filename))
    if refusal():
        return by_numba_alone(function, FLAGS | flags, content)
    from stickslip.compiling import Kernel

    dispatcher: Any = Kernel(function, FLAGS | flags, content, loops)
    return dispatcher


@cache
def refusal() -> str:
    """Why compiling.py, which extends Numba from the inside, cannot be used; empty where it can."""
    first, last = (".".join(map(str, version)) for version in TRIED)
    tried = TRIED[0] <= numba.version_info.short <= TRIED[1]
    return "" if tried else f"this is Numba {numba.__version__}, and stickslip knows {first} to {last}"


def by_numba_alone(function: F, flags: dict[str, Any], content: str) -> F:
    """Numba's own compiler and cache, in a folder for this content: slower to start, and other last bits."""
    say(f"{refusal()}, so Numba compiles every kernel by itself at its first use, which takes minutes, once")
    config: Any = numba.config
    before, folder = config.CACHE_DIR, cache_folder() / f"{content}-{numba.__version__}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        config.CACHE_DIR = str(folder)  # read when the dispatcher is made
        return numba.njit(cache=True, **flags)(function)
    except OSError:
        return numba.njit(**flags)(function)
    finally:
        config.CACHE_DIR = before


def silent(function: F) -> F:
    """The plain function where compilation is switched off, as quiet about overflow as compiled code."""

    @wraps(function)
    def plain(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return plain  # type: ignore[return-value]


@cache
def content_of(source: Path) -> str:
    """A digest of all that the kernels of a file are made of, of how, and of the flags that change their code."""
    digest = hashlib.sha256(os.environ.get("NUMBA_BOUNDSCHECK", "0").encode())
    for file in sorted(made_of(source) | {PACKAGE / "compiling.py"}):
        digest.update(text_of(file).encode())
    return digest.hexdigest()[:16]


@cache
def made_of(source: Path) -> frozenset[Path]:
    """A file, and the files of this package that it imports, directly or not."""
    found, new = {source}, [source]
    while new:
        fresh = imported_by(new.pop()) - found
        found |= fresh
        new += fresh
    return frozenset(found)


@cache
def imported_by(source: Path) -> frozenset[Path]:
    """The files of this package that a file imports; all files of a folder where it imports from the folder."""
    files: set[Path] = set()
    for name in IMPORT.findall(text_of(source)):
        path = PACKAGE.parent.joinpath(*name.split("."))
        files |= {path.with_suffix(".py")} if path.with_suffix(".py").is_file() else set(path.rglob("*.py"))
    return frozenset(files - NO_PART)


@cache
def text_of(source: Path) -> str:
    return source.read_text(encoding="utf-8")


class _Announcer(event.Listener):
    """Says on a terminal that a kernel is being compiled, so that the first call does not look hung."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if str(function.__module__).startswith("stickslip."):  # functions that Numba writes have none
            print(f"\rcompiling {function.__name__} (once, then cached) \x1b[K", end="", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


if sys.stderr.isatty():
    event.register("numba:compile", _Announcer())
