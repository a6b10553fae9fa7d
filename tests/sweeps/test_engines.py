"""The same sweep gives the same bits on every engine, also where workers die."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from throws import deadly, same, slide, slowly

import stickslip as ss
from stickslip.errors import InputError

HERE = str(Path(__file__).parent)
OVER = {"friction": [0.2, 0.5], "speed": np.linspace(0.5, 2.0, 10)}


@pytest.fixture(scope="module")
def reference():
    """One run after another, by hand: what no engine has touched."""
    return ss.sweep(slide, over=OVER, seed=1, engine=ThreadPoolExecutor(1))


def test_threads_and_processes(reference):
    for engine in ("threads", "processes"):
        same(ss.sweep(slide, over=OVER, seed=1, engine=engine, workers=2), reference)


def test_any_executor(reference):
    with ThreadPoolExecutor(3) as pool:
        same(ss.sweep(slide, over=OVER, seed=1, engine=pool), reference)
        assert pool.submit(int, 3).result() == 3  # it is the caller's, and goes on
    with pytest.raises(InputError, match="cannot be sent to another process"), ProcessPoolExecutor(1) as pool:
        ss.sweep(lambda a: a, over={"a": [1]}, engine=pool)


def test_a_function_that_no_other_process_finds_is_refused():
    with pytest.raises(InputError, match="cannot be sent to another process"):
        ss.sweep(lambda a: a, over={"a": [1]}, engine="processes")


def test_a_process_that_dies_costs_its_run_alone():
    with pytest.warns(ss.FailedRuns, match="1 of 12 runs failed, the first is run 5: the process that ran it died"):
        found = ss.sweep(deadly, over={"number": range(12)}, engine="processes", workers=2)
    np.testing.assert_array_equal(found["value"][found.done], np.delete(np.arange(12.0), 5))


DASK = """
import os, signal, sys, threading
import stickslip as ss
from throws import slide, slowly

if __name__ == "__main__":
    from distributed import Client, LocalCluster
    from test_engines import OVER
    ss.sweep(slide, over=OVER, seed=1, engine="dask", workers=2, out=sys.argv[1])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        pid = list(client.run(os.getpid).values())[0]
        threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
        ss.sweep(slowly, over={"number": range(600)}, engine=client.get_executor(), out=sys.argv[2])
        assert pid not in client.run(os.getpid).values()
"""


def test_dask_with_two_workers_of_which_one_is_killed(tmp_path, reference):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'stickslip[dask]'")
    (tmp_path / "on_dask.py").write_text(DASK)
    first, second = tmp_path / "first.h5", tmp_path / "second.h5"
    environment = {**os.environ, "PYTHONPATH": HERE}
    command = [sys.executable, str(tmp_path / "on_dask.py"), str(first), str(second)]
    subprocess.run(command, env=environment, check=True, timeout=300)
    same(ss.Sweep.load(first), reference)
    whole = ss.Sweep.load(second)
    assert whole.done.size == 600
    same(whole, ss.sweep(slowly, over={"number": range(600)}, workers=8))


MPI = """
import sys
import stickslip as ss
from throws import slide

if __name__ == "__main__":
    from test_engines import OVER
    ss.sweep(slide, over=OVER, seed=1, engine="mpi", out=sys.argv[1])
"""


def test_mpi_with_two_workers(tmp_path, reference):
    pytest.importorskip("mpi4py.futures", reason="mpi4py is not installed: pip install 'stickslip[mpi]'")
    launcher = Path(sys.executable).parent / "mpiexec"
    if not launcher.exists():
        pytest.skip("there is no mpiexec beside Python: pip install mpich")
    (tmp_path / "on_mpi.py").write_text(MPI)
    command = [str(launcher), "-n", "3", sys.executable, "-m", "mpi4py.futures", str(tmp_path / "on_mpi.py")]
    environment = {**os.environ, "PYTHONPATH": HERE}
    subprocess.run([*command, str(tmp_path / "table.h5")], env=environment, check=True, timeout=300)
    same(ss.Sweep.load(tmp_path / "table.h5"), reference)


def test_an_engine_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "mpi4py.futures", None)
    for engine in ("dask", "mpi"):
        with pytest.raises(InputError, match=rf"pip install 'stickslip\[{engine}\]'"):
            ss.sweep(slowly, over={"number": [1]}, engine=engine)


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import stickslip as ss\n"
        "from throws import slowly\n"
        "ss.sweep(slowly, over={'number': [1]}, engine='processes')\n"
    )
    environment = {**os.environ, "PYTHONPATH": HERE}
    told = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert "__name__ == '__main__'" in told.stderr
    assert told.returncode == 1
