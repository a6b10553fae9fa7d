"""Compiled kernels on disk: the pack, the cache, and the same bits wherever machine code comes from.

Each case is a process of its own that runs kernels of a small module: sums whose rounding depends on their order, which
the compiler may choose.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import pack
from stickslip.problems.mechanical import box_stack

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")

KERNELS = """
import sys
from pathlib import Path
import numpy as np
from stickslip import pack

pack.PACK = Path(sys.argv[1])

from stickslip.jit import dense, kernel


@dense
def total(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s


@kernel
def mean(x):
    return total(x) / x.size


@kernel
def spread(x):
    away = np.empty(x.size)
    for i in range(x.size):
        away[i] = x[i] - mean(x)
    return total(away)


x = np.random.default_rng(0).normal(size=1001)
called = {"total": total, "mean": mean, "spread": spread}
print(*(called[name](x).hex() for name in sys.argv[2:]))
"""
ALL = ("spread", "mean", "total")


class Place:
    """A folder with the module, a cache and maybe a pack."""

    def __init__(self, folder: Path) -> None:
        self.module, self.cache, self.pack = folder / "kernels.py", folder / "cache", folder / "kernels.zip"
        self.module.write_text(KERNELS)

    def start(self, *names: str, **settings: str | None) -> subprocess.Popen[str]:
        given = {**os.environ, "STICKSLIP_CACHE": str(self.cache), **settings}
        command = [sys.executable, str(self.module), str(self.pack), *names]
        environment = {name: value for name, value in given.items() if value is not None}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *names: str, **settings: str | None) -> tuple[list[str], str]:
        """Numbers to the last bit, and what was said on stderr."""
        process = self.start(*names, **settings)
        numbers, said = process.communicate()
        assert process.returncode == 0, said
        return numbers.split(), said

    def files(self, kind: str) -> dict[str, Path]:
        return {file.name: file for file in self.cache.glob(f"*{kind}")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, list[str]]:
    """A place whose kernels a process has compiled, and what it printed."""
    place = Place(tmp_path_factory.mktemp("cold"))
    numbers, said = place.run(*ALL)
    assert said == ""
    return place, numbers


@pytest.fixture
def warm(cold: tuple[Place, list[str]], place: Place) -> Place:
    """A place with a cache of all kernels."""
    shutil.copytree(cold[0].cache, place.cache)
    return place


@pytest.fixture
def packed(cold: tuple[Place, list[str]], place: Place) -> Place:
    """A place whose kernels are in a pack, with an empty cache."""
    pack.write_pack(place.pack, cold[0].files(pack.PROGRAM))
    return place


def test_a_kernel_that_python_calls_has_a_program_and_others_have_code_to_link(place: Place):
    place.run("spread")
    assert len(place.files(pack.PROGRAM)) == 1
    assert len(place.files(pack.CODE)) == 3
    place.run("spread", "mean")
    assert len(place.files(pack.PROGRAM)) == 2
    assert len(place.files("")) == 5  # and nothing else is left: no lock, no half of a file


def test_a_run_from_the_cache_gives_the_bits_of_the_run_that_compiled(cold, warm: Place):
    assert warm.run(*ALL) == (cold[1], "")


def test_a_run_from_the_pack_gives_the_bits_of_the_run_that_compiled_and_writes_nothing(cold, packed: Place):
    assert packed.run(*ALL) == (cold[1], "")
    assert not packed.cache.exists()


def test_bits_do_not_depend_on_what_was_called_or_compiled_before(cold, place: Place):
    """A callee that is compiled, loaded, or called by itself is the same code to its callers."""
    place.run("mean")
    assert place.run("total", "spread")[0] == [cold[1][2], cold[1][0]]


def test_two_processes_at_once_share_a_cache_and_compile_nothing_twice(cold, place: Place):
    """While one compiles the other waits: of each file one was made, and no file was made anew."""
    listen = """
from numba.core import event
class Counter(event.Listener):
    def on_start(self, event): print("compiling", event.data["dispatcher"].py_func.__name__, file=sys.stderr)
    def on_end(self, event): pass
event.register("numba:compile", Counter())
"""
    place.module.write_text(KERNELS.replace("x = np.random", f"{listen}\nx = np.random"))
    processes = [place.start(*ALL) for _ in range(2)]
    (first, said), (second, also_said) = (process.communicate() for process in processes)
    assert first.split() == second.split() == cold[1]
    compiled = [line for line in (said + also_said).splitlines() if line.split()[1] in ALL]
    assert sorted(compiled) == sorted(f"compiling {name}" for name in ALL)


def alter(path: Path, **facts: str) -> None:
    """The pack with another word about what it is for."""
    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name) for name in file.namelist()}
    content[pack.ABOUT] = json.dumps(json.loads(content[pack.ABOUT]) | facts).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"Numba": "0.1.0"}, "is for Numba 0.1.0 and not"),
        ({"the processor": "abacus"}, "is for the processor abacus and not"),
        ({"Python": "CPython 2.7"}, "is for Python CPython 2.7 and not"),
    ],
)
def test_a_pack_for_something_else_is_explained_in_a_sentence_and_kernels_are_compiled(
    cold, packed: Place, facts, told
):
    alter(packed.pack, **facts)
    numbers, said = packed.run("mean")
    assert numbers == [cold[1][1]]
    assert said.count("\n") == 1
    assert told in said
    assert packed.run("mean") == (numbers, "")  # compiled once, so nothing to say


def test_a_processor_that_the_pack_is_not_for_is_told_in_a_sentence(packed: Place):
    numbers, said = packed.run("mean", NUMBA_CPU_NAME="x86-64" if platform.machine() == "x86_64" else "generic-rv64")
    assert len(numbers) == 1
    assert "is for the processor" in said
    assert said.count("\n") == 1


def test_a_truncated_pack_is_explained_in_a_sentence_and_kernels_are_compiled(cold, packed: Place):
    packed.pack.write_bytes(packed.pack.read_bytes()[:-100])
    numbers, said = packed.run("mean")
    assert numbers == [cold[1][1]]
    assert "cannot be read" in said
    assert said.count("\n") == 1


def test_a_damaged_file_in_the_cache_is_compiled_again(cold, warm: Place):
    for file in warm.files(pack.PROGRAM).values():
        file.write_bytes(file.read_bytes()[:100])
    numbers, said = warm.run("mean")
    assert numbers == [cold[1][1]]
    assert "cannot be read" in said
    assert warm.run("mean") == (numbers, "")


def test_a_cache_that_cannot_be_written_is_explained_in_a_sentence(cold, place: Place):
    place.cache.write_text("a file, so no folder can be made here")
    numbers, said = place.run("spread", "mean")
    assert numbers == cold[1][:2]
    assert "cannot be kept" in said
    assert "STICKSLIP_CACHE" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("home", ["kernels.py", None], ids=["no folder", "not set"])
def test_without_a_home_kernels_work(cold, packed: Place, home: str | None):
    """From the pack in silence; compiled, a sentence says that they are not kept."""
    folder = home and str(packed.module.with_name(home))
    nowhere = {"STICKSLIP_CACHE": None, "XDG_CACHE_HOME": None, "HOME": folder}
    assert packed.run("mean", **nowhere) == ([cold[1][1]], "")
    if folder:
        packed.pack.unlink()
        numbers, said = packed.run("mean", **nowhere)
        assert numbers == [cold[1][1]]
        assert "cannot be kept" in said


@pytest.mark.parametrize("version", [(0, 60), (0, 99)])
def test_an_unknown_numba_compiles_by_itself_and_a_sentence_says_so(cold, packed: Place, version: tuple[int, int]):
    other = f"import numba; numba.version_info = numba.version_info._replace(short={version})"
    packed.module.write_text(f"{other}\n{KERNELS}")
    numbers, said = packed.run("spread")
    assert np.isclose(float.fromhex(numbers[0]), float.fromhex(cold[1][0]), rtol=1e-12)
    assert "Numba compiles every kernel by itself" in said
    assert said.count("\n") == 1


def test_a_function_of_the_callers_can_call_a_kernel(packed: Place):
    """Also one that came as machine code, which cannot be linked: it is then compiled."""
    with packed.module.open("a") as file:
        file.write("import numba\nprint(numba.njit(lambda x: mean(x))(x))\n")
    numbers, _ = packed.run("mean")
    assert np.isclose(float.fromhex(numbers[0]), float(numbers[1]), rtol=1e-14)


def test_one_thread_and_many_give_the_same_bits():
    problem = box_stack(3, stir=0.01)
    alone, found = ss.solve(problem).x, []
    threads = [threading.Thread(target=lambda: found.append(ss.solve(problem).x)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all((x == alone).all() for x in found)
