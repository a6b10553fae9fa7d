"""Runs one Siconos solver on one friction problem. Started by friction_public.py, in an interpreter that has
siconos.numerics.

The request comes as JSON on stdin: `problem` (a file in Siconos' .dat format, with the matrix in blocks or dense),
`solver`, `tolerances`, `repeats`, `budget`, `cap`, `results` (the file to write).
One JSON line per tolerance: {tol, seconds, median, flag, iterations, r}. Only the driver call is on the clock, from
r = u = 0, with options made anew for each run.

A solver is named as in the stored baselines: Siconos' name without its prefix, then
    NSGS/NSN, NSGS/NSN_GP, NSGS/P, NSGS/PLI, NSGS/QUARTIC   Gauss-Seidel with that solver of one contact
    NSN_AC/vi_eg                                            Newton's method after an extragradient start
A storage after @ is the file's business. Without a detail, the options are Siconos' own defaults.

A run beyond `cap` seconds ends the process by SIGALRM, whose default action works inside compiled code too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from typing import Any

import numpy as np
from siconos import numerics  # type: ignore[import-not-found]
from stopwatch import timed

UNLIMITED = 10_000_000  # iterations; the cap in seconds ends what does not converge
NEWTON_LIMIT = 1000  # Newton's methods stall rather than creep: then their last iterate is graded

ONE_CONTACT = {
    "NSN": numerics.SICONOS_FRICTION_3D_ONECONTACT_NSN,
    "NSN_GP": numerics.SICONOS_FRICTION_3D_ONECONTACT_NSN_GP,
    "P": numerics.SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnCone,
    "PLI": numerics.SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnConeWithLocalIteration,
    "QUARTIC": numerics.SICONOS_FRICTION_3D_ONECONTACT_QUARTIC,
}


def options(solver: str, dimension: int, tol: float) -> Any:
    family, _, detail = solver.partition("@")[0].partition("/")
    made = numerics.SolverOptions(getattr(numerics, f"SICONOS_FRICTION_{dimension}D_{family}"))
    made.dparam[numerics.SICONOS_DPARAM_TOL] = tol
    made.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = NEWTON_LIMIT if family.startswith("NSN") else UNLIMITED
    if detail == "vi_eg":
        made.iparam[numerics.SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY] = (
            numerics.SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY_VI_EG_NSN
        )
    elif detail:
        numerics.solver_options_update_internal(made, 0, ONE_CONTACT[detail])
    return made


def main() -> None:
    request = json.load(sys.stdin)
    numerics.numerics_set_verbose(0)
    problem = numerics.frictionContact_new_from_filename(request["problem"])
    driver = numerics.fc2d_driver if problem.dimension == 2 else numerics.fc3d_driver
    size = problem.dimension * problem.numberOfContacts

    def prepare(tol: float) -> tuple[np.ndarray, np.ndarray, Any]:
        fresh = np.zeros(size), np.zeros(size), options(request["solver"], problem.dimension, tol)
        signal.setitimer(signal.ITIMER_REAL, request["cap"])
        return fresh

    def run(prepared: tuple[np.ndarray, np.ndarray, Any]) -> tuple[int, int, np.ndarray]:
        r, u, made = prepared
        flag = driver(problem, r, u, made)
        return flag, int(made.iparam[numerics.SICONOS_IPARAM_ITER_DONE]), r

    with open(request["results"], "w") as results:
        for tol in request["tolerances"]:
            timing = timed(partial(prepare, tol), run, request["repeats"], request["budget"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            flag, iterations, r = timing.answer
            line = {"tol": tol, "seconds": timing.best, "median": timing.median, "flag": flag}
            results.write(json.dumps({**line, "iterations": iterations, "r": r.tolist()}) + "\n")
            results.flush()
    os._exit(0)  # without clean-up, as in siconos_worker.py


main()
