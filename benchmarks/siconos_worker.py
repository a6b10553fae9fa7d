"""Runs one Siconos solver on one problem. Started by peers.py, in an interpreter that has siconos.numerics.

The request comes as JSON on stdin: `problem` (.npz with M, q and the number of leading equations), `solver`
(Siconos' name without its prefix; PGS@sparse is PGS on sparse storage), `tolerances`, `repeats`, `budget`, `cap`,
`results` (the file to write).
One JSON line per tolerance: {tol, seconds, median, flag, z}. Only the driver call is on the clock, from z = 0.

A run beyond `cap` seconds ends the process by SIGALRM, whose default action works inside compiled code too.
"""

from __future__ import annotations

import ctypes
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


class MixedStruct(ctypes.Structure):
    """MixedLinearComplementarityProblem.h: the C struct behind numerics.MLCP."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("isStorageType1", "isStorageType2", "n", "m")),
        *((name, ctypes.c_void_p) for name in ("blocksRows", "blocksIsComp", "M", "q", "A", "B", "C", "D", "a", "b")),
    ]


class LCPStruct(ctypes.Structure):
    """LinearComplementarityProblem.h: the C struct behind numerics.LCP."""

    _fields_ = [("size", ctypes.c_int), ("M", ctypes.c_void_p), ("q", ctypes.c_void_p)]


def sparse_lcp(M: np.ndarray, q: np.ndarray) -> Any:
    """LCP(M, q) takes sparse matrices from SciPy only; without it the struct is pointed to a matrix of Siconos' own."""
    matrix = numerics.NM_create(numerics.NM_SPARSE, q.size, q.size)
    rows, columns = np.nonzero(M)
    numerics.NM_triplet_alloc(matrix, rows.size)
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        numerics.NM_entry(matrix, i, j, M[i, j])
    problem = numerics.LCP(np.eye(q.size), q)
    LCPStruct.from_address(int(problem.this)).M = int(matrix.this)
    problem.kept = matrix  # alive as long as the struct points to it
    return problem


def mixed_problem(M: np.ndarray, q: np.ndarray, equations: int) -> Any:
    """Some mixed solvers read (M, q), others the blocks [A C; D B], (a, b) of the same data. The Python interface
    cannot set those, so they are written into the struct."""
    problem, e = numerics.MLCP(equations, M, q), equations
    struct = MixedStruct.from_address(int(problem.this))
    blocks = {"A": M[:e, :e], "B": M[e:, e:], "C": M[:e, e:], "D": M[e:, :e], "a": q[:e], "b": q[e:]}
    kept = [np.array(block, order="F") for block in blocks.values()]
    for name, block in zip(blocks, kept, strict=True):
        setattr(struct, name, block.ctypes.data)
    struct.isStorageType2 = 1
    problem.kept = kept  # alive as long as the struct points to them
    return problem


def main() -> None:
    request = json.load(sys.stdin)
    numerics.numerics_set_verbose(0)
    with np.load(request["problem"]) as file:
        M, q, equations = np.asfortranarray(file["M"]), file["q"], int(file["equations"])
    name, _, storage = request["solver"].partition("@")
    if equations:
        problem, kind, driver = mixed_problem(M, q, equations), "MLCP", numerics.mlcp_driver
    else:
        problem = sparse_lcp(M, q) if storage == "sparse" else numerics.LCP(M, q)
        kind, driver = "LCP", numerics.linearComplementarity_driver
    solver = getattr(numerics, f"SICONOS_{kind}_{name}")

    def prepare(tol: float) -> tuple[np.ndarray, np.ndarray, Any]:
        options = numerics.SolverOptions(solver)
        options.dparam[numerics.SICONOS_DPARAM_TOL] = tol
        options.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = NEWTON_LIMIT if "NEWTON" in name else UNLIMITED
        if equations:
            numerics.mlcp_driver_init(problem, options)
        signal.setitimer(signal.ITIMER_REAL, request["cap"])
        return np.zeros(q.size), np.zeros(q.size), options

    def run(prepared: tuple[np.ndarray, np.ndarray, Any]) -> tuple[int, np.ndarray]:
        z, w, options = prepared
        return driver(problem, z, w, options), z

    with open(request["results"], "w") as results:
        for tol in request["tolerances"]:
            timing = timed(partial(prepare, tol), run, request["repeats"], request["budget"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            flag, z = timing.answer
            line = {"tol": tol, "seconds": timing.best, "median": timing.median, "flag": flag, "z": z.tolist()}
            results.write(json.dumps(line) + "\n")
            results.flush()
    os._exit(0)  # without clean-up: Siconos would free what NumPy owns


main()
