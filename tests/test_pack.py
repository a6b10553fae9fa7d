"""Compiled kernels on disk: the pack, the cache, and the same bits wherever machine code comes from.

Each case is a process of its own that runs kernels of a small module: sums whose rounding depends on their order, which
the compiler may choose.
"""

from __future__ import annotations

import json
import os
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

from stickslip.jit import bare, kernel


@bare
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
    return np.sqrt(total(x - mean(x)))


x = np.random.default_rng(0).normal(size=1001)
called = {"total": total, "mean": mean, "spread": spread}
print(*(called[name](x).hex() for name in sys.argv[2:]))
"""


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

    def programs(self) -> dict[str, Path]:
        return {file.name: file for file in self.cache.glob(f"*{pack.PROGRAM}")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def packed(place: Place) -> Place:
    """A place whose kernels are in a pack, with an empty cache."""
    place.run("spread", "mean")
    pack.write_pack(place.pack, place.programs())
    for file in place.cache.iterdir():
        file.unlink()
    return place


def test_a_kernel_that_python_calls_has_a_program_and_others_have_none(place: Place):
    place.run("spread")
    assert len(place.programs()) == 1
    place.run("spread", "mean")
    assert len(place.programs()) == 2


def test_cold_warm_and_packed_runs_give_the_same_bits(place: Place):
    cold, _ = place.run("spread", "mean", "total")
    warm, _ = place.run("spread", "mean", "total")
    pack.write_pack(place.pack, place.programs())
    place.cache = place.cache / "empty"
    loaded, said = place.run("spread", "mean", "total")
    assert (cold, said) == (warm, "")
    assert cold == loaded
    assert not place.cache.exists()


def test_bits_do_not_depend_on_what_was_called_or_compiled_before(place: Place):
    """A callee that is compiled, loaded, or called by itself is the same code to its callers."""
    alone, _ = place.run("spread")
    before, _ = place.run("total", "mean", "spread")
    place.cache = place.cache / "other"
    place.run("mean")
    after, _ = place.run("total", "spread")
    assert alone[-1] == before[-1] == after[-1]


def test_two_processes_at_once_share_a_cache(place: Place):
    processes = [place.start("spread", "mean") for _ in range(2)]
    said = [process.communicate() for process in processes]
    assert said[0] == said[1]
    assert said[0][1] == ""
    assert len(place.programs()) == 2


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
        ({"numba": "0.1.0"}, "is for numba 0.1.0 and not"),
        ({"processor": "abacus"}, "is for processor abacus and not"),
        ({"Python": "CPython 2.7"}, "is for Python CPython 2.7 and not"),
    ],
)
def test_a_pack_for_something_else_is_explained_in_a_sentence_and_kernels_are_compiled(packed: Place, facts, told):
    expected, _ = packed.run("spread")
    alter(packed.pack, **facts)
    numbers, said = packed.run("spread")
    assert numbers == expected
    assert said.count("\n") == 1
    assert told in said
    again, said = packed.run("spread")
    assert (again, said) == (expected, "")  # compiled once, so nothing to say


def test_a_damaged_pack_is_explained_in_a_sentence_and_kernels_are_compiled(packed: Place):
    expected, _ = packed.run("spread")
    packed.pack.write_bytes(packed.pack.read_bytes()[:-100])
    numbers, said = packed.run("spread")
    assert numbers == expected
    assert "cannot be read" in said
    assert said.count("\n") == 1


def test_a_damaged_file_in_the_cache_is_compiled_again(place: Place):
    expected, _ = place.run("spread")
    for file in place.programs().values():
        file.write_bytes(file.read_bytes()[:100])
    numbers, said = place.run("spread")
    assert numbers == expected
    assert "cannot be read" in said
    assert place.run("spread") == (expected, "")


def test_a_cache_that_cannot_be_written_is_explained_in_a_sentence(place: Place):
    place.cache.write_text("a file, so no folder can be made here")
    numbers, said = place.run("spread", "mean")
    assert len(numbers) == 2
    assert "cannot be kept" in said
    assert "STICKSLIP_CACHE" in said
    assert said.count("\n") == 1


def test_without_a_home_kernels_are_compiled(place: Place, tmp_path: Path):
    nowhere = {"STICKSLIP_CACHE": None, "XDG_CACHE_HOME": None, "HOME": str(place.module)}  # no folder
    numbers, said = place.run("mean", **nowhere)
    assert len(numbers) == 1
    assert "cannot be kept" in said


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
