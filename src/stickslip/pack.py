"""Where compiled kernels are kept: the pack that came with the installation, and the user's cache.

Both hold the same files, each named after all that its content depends on: the kernel, the sources it is made of, the
types of its arguments, the versions of Numba, LLVM and Python, and the processor. So nothing in them is ever out of
date; what is not there is compiled, by one process while others that need it wait.

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
import platform
import secrets
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba

try:
    import fcntl
except ImportError:  # not on Windows, where two processes may compile the same
    fcntl = None  # type: ignore[assignment]

PACK = Path(__file__).parent / "compiled" / "kernels.zip"
ABOUT = "about.json"  # in the pack: the versions and the processor that it is for
PROGRAM, CODE = ".program", ".code"  # how the names of files end: machine code, code to link
X86_LEVELS = {
    "x86-64-v3": {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
    "x86-64": set(),
}  # the best that the processor has all of


class Processor(NamedTuple):
    """What machine code is made for, as LLVM calls it."""

    machine: str
    name: str
    features: str = ""

    def __str__(self) -> str:
        return f"{self.machine} {self.name} {self.features}".strip()


@cache
def processor() -> Processor:
    """The level of this processor, or what Numba's own settings NUMBA_CPU_NAME and NUMBA_CPU_FEATURES say."""
    settings: Any = numba.config
    machine, architecture = llvm.get_process_triple(), platform.machine().lower()
    if settings.CPU_NAME is not None:
        return Processor(machine, settings.CPU_NAME, settings.CPU_FEATURES or "")
    if architecture in ("x86_64", "amd64"):
        has = {name for name, there in llvm.get_host_cpu_features().items() if there}
        return Processor(machine, next(level for level, needs in X86_LEVELS.items() if needs <= has))
    if architecture in ("aarch64", "arm64"):
        return Processor(machine, "generic")
    return Processor(machine, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def here() -> dict[str, str]:
    """What compiled code depends on beside its sources."""
    return {
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "Python": f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}",
        "the processor": str(processor()),
    }


def name_of(kernel: str, content: str, arguments: tuple[object, ...]) -> str:
    """The name of the files of a kernel of these sources for arguments of these types."""
    facts = [kernel, content, [str(argument) for argument in arguments], here()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:40]


# ---- the cache ----


def cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("STICKSLIP_CACHE") or os.path.join(root, "stickslip"))


def find(name: str) -> bytes | None:
    """A file of the pack or of the cache."""
    packed = pack().files.get(name)
    if packed is not None:
        return packed
    try:
        return (cache_folder() / name).read_bytes()
    except OSError:
        return None


def keep(name: str, data: bytes) -> None:
    """Write a file of the cache, so that another process sees the whole of it or nothing."""
    explain_pack()
    folder = cache_folder()
    new = folder / f"{name}.{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(data)
            new.replace(folder / name)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        say(
            f"compiled kernels cannot be kept in {folder} ({error.strerror}), so every process compiles what it needs; "
            "let STICKSLIP_CACHE name a folder that can be written"
        )


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """While a process makes a file, others that want to make the same wait, and then find it.

    They cannot wait in a circle: a kernel waits for those that it calls, and none calls itself. Where there are no
    locks two processes may make the same, and no harm is done.
    """
    with ExitStack() as stack:
        if fcntl is not None and name not in pack().files and not (cache_folder() / name).is_file():
            with suppress(OSError):  # `keep` tells why
                cache_folder().mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context(open(cache_folder() / f"{name}.lock", "w"))
                stack.callback(Path(lock.name).unlink, missing_ok=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# ---- the pack ----


class Pack(NamedTuple):
    """The files of a pack by name; or none and, where there is a pack, why it cannot serve."""

    files: dict[str, bytes]
    fault: str = ""


@cache
def pack() -> Pack:
    """That of this installation, read at first use."""
    return read_pack(PACK)


def read_pack(path: Path) -> Pack:
    try:
        with zipfile.ZipFile(path) as file:
            made_for = json.loads(file.read(ABOUT))
            other = [
                f"{name} {made_for.get(name)} and not {value}"
                for name, value in here().items()
                if made_for.get(name) != value
            ]
            if other:
                return Pack({}, f"is for {', '.join(other)}")
            return Pack({name: file.read(name) for name in file.namelist() if name.endswith(PROGRAM)})
    except FileNotFoundError:
        return Pack({})
    except (OSError, ValueError, LookupError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return Pack({}, f"cannot be read ({error})")


def write_pack(path: Path, files: dict[str, Path]) -> None:
    """A pack of these files, so that another process sees the whole pack or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_STORED) as zipped:  # the files are compressed already
            zipped.writestr(ABOUT, json.dumps(here()))
            for name, file in sorted(files.items()):
                zipped.write(file, name)
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
