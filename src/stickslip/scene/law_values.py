"""The compiled part of friction laws (scene/friction_law.py): apart, so that a scene without them loads no compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from stickslip.errors import InputError
from stickslip.jit import kernel

SIGNATURE = numba.float64(*[numba.float64] * 5)


def compiled_law(f: Callable[..., float]) -> Any:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return f
    try:
        return numba.cfunc(SIGNATURE, error_model="numpy")(f)
    except Exception as error:  # numba raises many kinds; all say why the function cannot be compiled
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"FrictionLaw: f cannot be compiled, expected a function of 5 numbers that returns one: {reason}"
        ) from error


@kernel
def fill(law, speed, point, time, mu):
    """μ of each contact."""
    for i in range(mu.size):
        mu[i] = law(speed[i], point[i, 0], point[i, 1], point[i, 2], time)
