"""Runs one of Drake's LCP solvers on one problem. Started by peers.py, in an interpreter that has pydrake.

Request and results are those of siconos_worker.py; `solver` is Moby or UnrevisedLemke. pydrake offers Moby
through Solve(program) alone: Lemke's method, tried again with growing regularisation where it fails; Moby's
"fast" pivoting is not bound to Python. Building the program is not on the clock. There is no tolerance to set.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import numpy as np
from pydrake import solvers  # type: ignore[import-not-found]
from stopwatch import timed


def make_solver(name: str) -> Any:
    if name == "UnrevisedLemke":
        return solvers.UnrevisedLemkeSolver()
    # Drake renamed MobyLCPSolver to MobyLcpSolver at the end of 2025
    return solvers.MobyLcpSolver() if hasattr(solvers, "MobyLcpSolver") else solvers.MobyLCPSolver()


def main() -> None:
    request = json.load(sys.stdin)
    with np.load(request["problem"]) as file:
        M, q = file["M"], file["q"]
    program = solvers.MathematicalProgram()
    z = program.NewContinuousVariables(q.size)
    program.AddLinearComplementarityConstraint(M, q, z)

    def prepare() -> Any:
        signal.setitimer(signal.ITIMER_REAL, request["cap"])
        return make_solver(request["solver"])  # a fresh one: UnrevisedLemke starts from its last basis

    timing = timed(prepare, lambda solver: solver.Solve(program), request["repeats"], request["budget"])
    signal.setitimer(signal.ITIMER_REAL, 0)
    result = timing.answer
    with open(request["results"], "w") as results:
        for tol in request["tolerances"]:
            flag = 0 if result.is_success() else 1
            line = {"tol": tol, "seconds": timing.best, "median": timing.median, "flag": flag}
            results.write(json.dumps({**line, "z": result.GetSolution(z).tolist()}) + "\n")


main()
