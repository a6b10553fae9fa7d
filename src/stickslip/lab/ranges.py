"""Between which limits rigid-body mechanics leaves the load of a contact, for the motion that the step at hand made.

The motion is that of the step itself, so the load that its solve found lies in the range. A step keeps velocities and
gaps of the size of its tolerance where all is at rest, which would be slip or lift. So gaps up to CLOSE count as
closed, and where no forces make the motion, velocities up to the first of REST with which some do count as none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.analysis.determinacy import Determinacy, determinacy
from stickslip.errors import InputError, RangeFailed, SolveFailed
from stickslip.friction.contact_problem import ContactProblem
from stickslip.problems.matrix import Vector
from stickslip.scene.model import Floats

CLOSE = 1e-6  # [m]
REST = (0.0, 1e-6, 1e-5, 1e-4)  # [m/s, rad/s]


def step_determinacy(step: ContactProblem, motion: Vector) -> Determinacy:
    """Of a step that ended with these velocities."""
    step = replace(step, gap=np.where(step.gap <= CLOSE, 0.0, step.gap))
    for rest in REST:
        try:
            return determinacy(step, motion=np.where(np.abs(motion) <= rest, 0.0, motion))
        except (InputError, RangeFailed, SolveFailed) as error:
            wrong = error
    raise wrong


def load_range(found: Determinacy, point: Floats) -> tuple[float, float, bool]:
    """Of the normal force of the contact at a point: least, greatest, and whether that is one value   [N]."""
    i = found.problem.dimension * int(np.argmin(np.linalg.norm(found.problem.point.reshape(-1, 3) - point, axis=1)))
    return float(found.lower[i]), float(found.upper[i]), bool(found.unique[i])


def in_words(found: Determinacy, point: Floats) -> str:
    """In Markdown."""
    least, greatest, unique = load_range(found, point)
    if not abs(least) > 1e-9 * abs(greatest):
        least = 0.0  # what rounding leaves of it
    load = f"determined, {least:.4g} N" if unique else f"not determined, {least:.4g} to {greatest:.4g} N"
    return f"normal force: **{load}**; {found.sentence()}"
