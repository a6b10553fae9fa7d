"""Where compiled kernels are kept: the pack that came with the installation, and the user's cache.

Both hold the same files, each named after all that its machine code depends on: the kernel, the sources it is made of,
the types of its arguments, the versions of Numba, LLVM and Python, and the processor. So nothing in them is ever wrong or
out of date; what is not there is compiled.

    pack     stickslip/compiled/kernels.zip, made by `python -m stickslip.precompile`, usually while installing; read only
    cache    STICKSLIP_CACHE, or stickslip in the user's cache folder; old files in it can be deleted at any time

Where one of them cannot be used, one sentence on stderr says why, once, and kernels are compiled instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import platform
import secrets
import sys
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import serialize

from stickslip.compiling import Compiled, processor

PACK = Path(__file__).parent / "compiled" / "kernels.zip"
ABOUT = "about.json"  # in the pack: the versions and the processor that it is for


def here() -> dict[str, str]:
    """What machine code depends on beside its sources."""
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "python": platform.python_implementation() + " " + ".".join(map(str, sys.version_info[:2])),
        "machine": processor().machine,
        "processor": f"{processor().name} {processor().features}".strip(),
    }


def key_of(kernel: str, content: str, arguments: tuple[Any, ...]) -> str:
    """The name of the file of a kernel of these sources, for arguments of these types."""
    told = json.dumps([kernel, content, [str(argument) for argument in arguments], here()])
    return hashlib.sha256(told.encode()).hexdigest()[:40]


def find(key: str) -> Compiled | None:
    """What was kept under this name, in the pack or in the cache."""
    data = pack().get(key)
    if data is None:
        with contextlib.suppress(OSError):
            data = (cache_folder() / key[:2] / key).read_bytes()
    if data is None:
        return None
    try:
        return pickle.loads(zlib.decompress(data))
    except Exception as error:  # a damaged file can make pickle raise anything
        say(f"a compiled kernel cannot be read ({error}), so it is compiled again")
        return None


def keep(key: str, compiled: Compiled) -> None:
    """Write to the cache, so that another process sees the whole file or none."""
    file = cache_folder() / key[:2] / key
    new = file.with_name(f"{key}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(zlib.compress(serialize.dumps(compiled), 1))
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        say(
            f"compiled kernels cannot be kept in {cache_folder()} ({error.strerror}), so every process compiles them: "
            "let STICKSLIP_CACHE name a folder that can be written"
        )


def cache_folder() -> Path:
    said = os.environ.get("STICKSLIP_CACHE")
    if said:
        return Path(said)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "stickslip"


@cache
def pack() -> dict[str, bytes]:
    """The files of the pack, read at first use. Empty where there is none, or none for this machine."""
    content, reason = read_pack(PACK)
    if reason:
        say(
            f"{reason}, so kernels are compiled at first use, once; `python -m stickslip.precompile` does it beforehand"
        )
    return content


def read_pack(path: Path) -> tuple[dict[str, bytes], str]:
    """The files of a pack that is for this machine; or none and, where there is a pack, why it cannot serve."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read(ABOUT))
            other = [
                f"{name} {about.get(name)}, here is {value}"
                for name, value in here().items()
                if about.get(name) != value
            ]
            if other:
                return {}, f"the machine code that came with it is for {'; '.join(other)}"
            return {name: file.read(name) for name in file.namelist() if name != ABOUT}, ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return {}, f"the machine code in {path} cannot be read ({error})"


@cache
def say(sentence: str) -> None:
    """One sentence, once."""
    print(f"stickslip: {sentence}.", file=sys.stderr, flush=True)
