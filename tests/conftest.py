"""What all tests share: the same matrix products everywhere, and how much of what is random is tried.

What a test is made of (random orthogonal factors, say) has the same bits on every x86-64 machine, whatever its
processor, if that has what we ask for, and the number of its cores, which the tests take already. To be said before
NumPy is loaded.

Ctrl-C reaches the programs that tests start, also where the tests themselves run in the background of a shell, whose
jobs ignore it, and what they start with them.

Tests that try a law on thousands of random problems ask the fixture `share` which: one in eleven by default, all with
`pytest --thorough`, which `.ci/run --thorough` runs.
"""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROCESSOR = Path("/proc/cpuinfo")
if PROCESSOR.exists() and {"avx2", "fma"} <= set(PROCESSOR.read_text().split()):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SHARE = 11  # no factor in common with what problems go through in turn: sizes, dimensions, laws, methods


def pytest_configure() -> None:
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help=f"try every random problem, not one in {SHARE}")


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> Callable[[int], range]:
    """The numbers of the random problems to try, of so many."""
    return lambda count: range(0, count, 1 if pytestconfig.getoption("thorough") else SHARE)


@pytest.fixture(scope="module", autouse=True)
def own_garbage() -> Iterator[None]:
    """What the tests of a file leave behind is collected with them: a warning of an object that was not closed, or an
    error in its end, would else fail whichever test of the process makes the collector run."""
    yield
    gc.collect()
