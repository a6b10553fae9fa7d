"""What all tests share: the same matrix products everywhere, and how much of what is random is tried.

What a test is made of (random orthogonal factors, say) has the same bits on every x86-64 machine. To be said before
NumPy is loaded; only where the processor has what it asks for.

Tests that try a law on many random problems ask the fixture `share` how many: a share of them by default, all with
`pytest --thorough`, which CI runs.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

PROCESSOR = Path("/proc/cpuinfo")
if PROCESSOR.exists() and {"avx2", "fma"} <= set(PROCESSOR.read_text().split()):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

SHARE = 10  # one of so many is tried by default


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="try every random problem, not one in ten")


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> Callable[[int], int]:
    """How many of so many random cases to try; at least one."""
    thorough = pytestconfig.getoption("thorough")
    return lambda count: count if thorough else -(-count // SHARE)
