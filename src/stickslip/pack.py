"""Where compiled kernels are kept: the pack that came with the installation, and the user's cache.

Both hold the same files, each named after all that its content depends on: the kernel, the sources it is made of, the
types of its arguments, the versions of Numba, LLVM and Python, and the processor. So nothing in them is ever out of
date; what is not there is compiled.

    pack     stickslip/compiled/kernels.zip, made by `python -m stickslip.precompile`, usually while installing. It has
             the machine code of kernels that Python calls, and is only read
    cache    STICKSLIP_CACHE, or stickslip in the user's cache folder. It has machine code and code to link. Files in it
             can be deleted at any time

Where one of them cannot be used, one sentence on stderr says why, once, and kernels are compiled instead.
"""

from __future__ import annotations

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
from typing import NamedTuple

import llvmlite
import numba
from numba.core import serialize

from stickslip.compiling import Compiled, processor

PACK = Path(__file__).parent / "compiled" / "kernels.zip"
ABOUT = "about.json"  # in the pack: the versions and the processor that it is for
PROGRAM, CODE = ".program", ".code"


class Pack(NamedTuple):
    """The programs of a pack by name; or none and, where there is a pack, why it cannot serve."""

    programs: dict[str, bytes]
    fault: str = ""


def here() -> dict[str, str]:
    """What compiled code depends on beside its sources."""
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "Python": f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}",
        "machine": processor().machine,
        "processor": f"{processor().name} {processor().features}".strip(),
    }


def key_of(kernel: str, content: str, arguments: tuple[object, ...]) -> str:
    """The name of a kernel of these sources for arguments of these types."""
    facts = [kernel, content, [str(argument) for argument in arguments], here()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:40]


def find_program(key: str) -> Compiled | None:
    data = pack().programs.get(key + PROGRAM)
    return read(key + PROGRAM) if data is None else unpacked(key, data)


def find_code(key: str) -> Compiled | None:
    return read(key + CODE)


def keep_program(key: str, program: Compiled) -> None:
    explain_pack()
    write(key + PROGRAM, program)


def keep_code(key: str, code: Compiled) -> None:
    explain_pack()
    write(key + CODE, code)


def read(name: str) -> Compiled | None:
    try:
        data = (cache_folder() / name).read_bytes()
    except OSError:
        return None
    return unpacked(name, data)


def unpacked(name: str, data: bytes) -> Compiled | None:
    try:
        kept: Compiled = pickle.loads(zlib.decompress(data))
    except Exception as error:  # a damaged file can make pickle raise anything
        say(f"the compiled kernel {name} cannot be read ({error}), so it is compiled again")
        return None
    return kept


def write(name: str, compiled: Compiled) -> None:
    """Into the cache, so that another process sees the whole file or none."""
    folder = cache_folder()
    new = folder / f"{name}.{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(zlib.compress(serialize.dumps(compiled), 6))
            new.replace(folder / name)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        say(
            f"compiled kernels cannot be kept in {folder} ({error.strerror}), so every process compiles what it needs; "
            "let STICKSLIP_CACHE name a folder that can be written"
        )


def cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("STICKSLIP_CACHE") or os.path.join(root, "stickslip"))


@cache
def pack() -> Pack:
    """That of this installation, read at first use."""
    return read_pack(PACK)


def read_pack(path: Path) -> Pack:
    try:
        with zipfile.ZipFile(path) as file:
            made_for = json.loads(file.read(ABOUT))
            other = [f"{name} {made_for.get(name)} and not {value}" for name, value in here().items()
                     if made_for.get(name) != value]  # fmt: skip
            if other:
                return Pack({}, f"is for {', '.join(other)}")
            return Pack({name: file.read(name) for name in file.namelist() if name.endswith(PROGRAM)})
    except FileNotFoundError:
        return Pack({})
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return Pack({}, f"cannot be read ({error})")


def write_pack(path: Path, programs: dict[str, Path]) -> None:
    """A pack of these files, so that another process sees the whole pack or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_STORED) as file:  # programs are compressed already
            file.writestr(ABOUT, json.dumps(here()))
            for name, program in sorted(programs.items()):
                file.write(program, name)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def explain_pack() -> None:
    """Say why something is compiled although there is a pack."""
    if pack().fault:
        say(
            f"the machine code that was installed with it {pack().fault}, so kernels are compiled at their first use, "
            "once; `python -m stickslip.precompile` does it for all of them"
        )


@cache
def say(sentence: str) -> None:
    """One sentence, once."""
    print(f"stickslip: {sentence}.", file=sys.stderr, flush=True)
