"""`existence(problem or world)`: is a solution guaranteed? Of problems by solvers/existence.py, or of distributed
contacts by limit_surface_existence.py beside it; here of worlds.

Of a scene, a system or a robot: at acceleration level the contacts that touch, of which those that slide have their
friction from the slip; then, and where contacts have patches, by the theorem of Trinkle and Pang, otherwise by a motion
that opens every contact. With a step `dt` the problem of that step.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from stickslip.analysis.matrices import of_snapshot
from stickslip.analysis.solvability import friction_problem
from stickslip.checks import checked, shown, vector
from stickslip.dynamics.generalized import Given
from stickslip.engine.arguments import is_world, refuse_state, seconds
from stickslip.engine.snapshot import World, closed, snapshot
from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.solvers.existence import Existence, cone_existence
from stickslip.solvers.limit_surface_existence import LimitSurfaceExistence, limit_surface_existence


@overload
def existence(problem: ConeProblem) -> Existence: ...


@overload
def existence(problem: LimitSurfaceProblem) -> LimitSurfaceExistence: ...


@overload
def existence(
    problem: World, *, q: Given = None, v: Given = None, force: Given = None, dt: float | None = None
) -> Existence | LimitSurfaceExistence: ...


@checked(q=vector, v=vector, force=vector, dt=seconds)
def existence(
    problem: ConeProblem | LimitSurfaceProblem | World,
    *,
    q: Given = None,
    v: Given = None,
    force: Given = None,
    dt: float | None = None,
) -> Existence | LimitSurfaceExistence:
    """Is a solution guaranteed? Of a friction problem, of a scene as it stands, or of a system or robot at (q, v): at
    acceleration level, or with `dt` of its next step. The certificate of the answer is verified in plain NumPy."""
    if isinstance(problem, ConeProblem | LimitSurfaceProblem):
        refuse_state("existence", "a problem", q=q, v=v, force=force, dt=dt)
        return of_problem(problem)
    if not is_world(problem):
        raise InputError(
            f"existence: the problem is {shown(problem)}, expected a ConeProblem, a LimitSurfaceProblem, a Scene, "
            f"a System or a Robot"
        )
    posed, slip, _ = friction_problem("existence", problem, q, v, force, dt)
    if isinstance(posed, ConeProblem) and np.any(slip):
        return of_problem(of_snapshot(closed("existence", snapshot("existence", problem, q, v, force))).problem)
    return of_problem(posed)


def of_problem(problem: ConeProblem | LimitSurfaceProblem) -> Existence | LimitSurfaceExistence:
    return cone_existence(problem) if isinstance(problem, ConeProblem) else limit_surface_existence(problem)
