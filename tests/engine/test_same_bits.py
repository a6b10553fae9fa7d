"""A run has the same bits in every process, whatever its hashes are and however many threads BLAS may take."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stickslip as ss
from stickslip.engine.names import FORMULATIONS

RUN = """
import hashlib, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import test_same_bits
for name in sys.argv[2:]:
    run = test_same_bits.run(name)
    columns = [run._record.read(column).tobytes() for column in run._record.columns if column != "seconds"]
    print(name, hashlib.sha256(b"".join(columns)).hexdigest())
"""
SLOW = {"phantom", "stewart_trinkle"}  # by pivoting, where there are many contacts


def wall(columns, rows):
    """Boxes that lean on each other and slide: one island, whose problems are large enough for threads."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(columns):
        for j in range(rows):
            place = (0.2 * i, 0.05 * j, 0.1 + 0.2 * j)
            scene.add_box(size=0.2, mass=1.0, position=place, velocity=(0.1 * i, 0, 0), name=f"box {i} {j}")
    return scene


def run(name):
    size = (2, 2) if name in SLOW else (5, 3)
    return ss.simulate(wall(*size), 0.01, 5e-3, FORMULATIONS[name](), keep_going=True)


def digests(names, **environment):
    command = [sys.executable, "-c", RUN, str(Path(__file__).parent), *names]
    settings = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def here():
    return digests(FORMULATIONS, OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="1")


@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_processes_and_threads(here, threads):
    there = digests(FORMULATIONS, OPENBLAS_NUM_THREADS=threads, PYTHONHASHSEED=threads + "7")
    assert list(there) == list(FORMULATIONS)
    assert there == here
