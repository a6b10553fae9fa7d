"""Friction coupling of a contact of a Scene in the pose it is given: analysis/coupling.py with the rows of the engine.

Joints hold as far as they are rigid and two-sided. Limits, motors and joints with compliance act by forces that depend
on the motion; they are left out, and the result says so. Bodies moved as prescribed stand as if they were fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stickslip.analysis.coupling import FrictionCoupling, How, coupling, kept_still
from stickslip.engine.step_problem import scene_problem
from stickslip.errors import InputError
from stickslip.problems.matrix import as_dense
from stickslip.scene.scene import Scene

INSTANT = 1e-6  # the step whose problem is asked for its matrices, which do not depend on it   [s]


def scene_coupling(
    scene: Scene, contact: int | Sequence[Any] = 0, held: Mapping[int, How] | None = None
) -> FrictionCoupling:
    """Friction coupling of one contact of a scene as it stands.

    `contact`: its number among those that touch, as `scene_contacts` lists them, or the two bodies it is between where
    they touch at one point only. The other contacts are open unless `held` says what they do, by their number.
    """
    problem, pairs = scene_problem(scene, INSTANT)
    chosen = number_of(scene, contact, pairs)
    J, d = as_dense(problem.H).T, problem.dimension
    rigid = np.isinf(problem.lower) & np.isinf(problem.upper) & (problem.compliance == 0)
    G = as_dense(problem.G).T[rigid]
    others = []
    for number, how in (held or {}).items():
        other = number_of(scene, number, pairs)
        if other == chosen:
            raise InputError(f"scene_coupling: held has contact {other}, the one that is asked about; expected others")
        name = f"contact {other} between {' and '.join(pairs[other])}"
        others.append((name, J[d * other : d * (other + 1)], how))
    left_out = [f"{int((~rigid).sum())} rows of limits, motors and compliant joints"] if not rigid.all() else []
    A = J[d * chosen : d * (chosen + 1)]
    return coupling(as_dense(problem.M), A, *kept_still(G, others, "rows of joints"), tuple(left_out))


def scene_contacts(scene: Scene) -> list[tuple[str, str]]:
    """The two bodies of each contact of a scene as it stands."""
    return scene_problem(scene, INSTANT).pairs


def number_of(scene: Scene, contact: int | Sequence[Any], pairs: list[tuple[str, str]]) -> int:
    """The number of the contact that is meant."""
    if isinstance(contact, int):
        if not 0 <= contact < len(pairs):
            there = f"a number below {len(pairs)}" if pairs else "bodies that touch, and nothing does"
            raise InputError(f"scene_coupling: contact is {contact}, expected {there}")
        return contact
    wanted = {getattr(body, "name", body) for body in contact}
    found = [i for i, pair in enumerate(pairs) if set(pair) == wanted]
    if len(found) != 1:
        bodies = " and ".join(map(repr, sorted(map(str, wanted))))
        many = f"at {len(found)} points, the contacts {', '.join(map(str, found))}" if found else "nowhere"
        raise InputError(f"scene_coupling: {bodies} touch {many}; expected one contact, or its number")
    return found[0]
