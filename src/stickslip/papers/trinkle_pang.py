"""Trinkle, Pang, Dynamic multi-rigid-body systems with concurrent distributed contacts, ICRA 1997: both examples.

The mechanisms are in problems/rod_and_cube.py; docs/trinkle_pang.md has the errors of the print. The figures have no
numbers in print, so those of example 1 are ours: found once by a program that shares nothing with this package.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from stickslip.papers.report import Announce, Check, Report
from stickslip.problems.matrix import Dense
from stickslip.problems.residual import residual
from stickslip.problems.rod_and_cube import (
    Mechanism,
    by_component,
    example_1,
    example_2,
    jacobian_1,
    table_1,
    table_1_forces,
)
from stickslip.solvers.contact_modes import jamming_factor, search_modes
from stickslip.solvers.solve import solve
from stickslip.view.comparisons import page
from stickslip.view.contacts import dress_space
from stickslip.view.figures import INK, PAPER, write

GRID = np.linspace(0.1, 1.0, 20)  # of μ_1 and of μ_2
SLIDES = 1e-8  # tangential acceleration above which contact 2 slides
PAIRS = ((0.1, 0.1), (0.3, 0.2), (0.5, 0.5), (0.1, 1.0), (1.0, 0.1), (1.0, 1.0))
EXAMPLE_1 = {
    (2.0, False): ((0.0119312310, 0.0000677048, 0.0, 0.0, 0.0095616422, 0.0), 0.28558053, 43),
    (0.0, False): ((0.7399838769, 0.5123522047, 0.0996965548, 0.0092756307, 0.7590873276, 0.0), 79.540618, 306),
    (2.0, True): ((1.2733643495, 0.2821412623, 0.0, 0.0, 1.1448755267, 0.0), 34.183165, 139),
    (0.0, True): ((6.8582740832, 4.7071049060, 1.0522495180, 0.0880918601, 4.1797352175, 0.0), 639.570785, 319),
}  # (ζ, is the diagonal M⁻¹?): |a| of contact 2 at PAIRS, its sum over the grid, and how many slide

# Table 1: forces n, t, o, r of the three contacts, and (a_t, a_o, a_r) and the cube's acceleration of Solution 2
JAMMED = (6, 4.2039, 3.9117, 1.5767, 2.3350, -1.6069, -4.1892, -2.9716, 3.0284, 3, -0.2292, 0.6971)
SLIDING = (5.6399, 4.1562, 1.7016, -0.8763, 2.2585, -0.6783, -4.8224, -2.9756, 1.3717, 2.6394, -0.3840, -0.1196)
SLIDING_A = (0.0815, -0.9582, 0.7526, 0.4483, 1.2624, -1.5219, -0.2454, 0.1629, 0.1327)
SLIDING_Q = (-1.2926, -0.3194, -0.3431)
PRINTED = 5e-5
THRESHOLD = 0.70368244  # from which friction on the cube jams, with the right Jacobian
CORRECTED = {
    (False, 0.75): np.array(
        [-0.26405663, -0.07310909, -0.07546799, -0.16646693, -0.09099894, -0.02024875, -0.29943172, -0.17994981]
    ),
    (False, 0.8): np.array(
        [-0.14163724, -0.03525989, -0.02603734, -0.07899764, -0.0529603, -0.00847786, -0.16387846, -0.08133158]
    ),
    (True, 0.75): np.array(
        [-0.92005915, -0.23893599, -0.16756737, -0.53005127, -0.36248389, -0.05217928, -1.07521145, -0.5425708]
    ),
    (True, 0.8): np.array(
        [-0.40395975, -0.09821266, -0.06317017, -0.21497343, -0.15180326, -0.01854811, -0.47058733, -0.21836411]
    ),
}  # q̈ of the sliding solution beside jamming: (is the diagonal M⁻¹?, μ)


def first_example(announce: Announce) -> Report:
    """Sampled values, sums and counts of the figure's surfaces, in both readings of the mass matrix."""
    checks = [
        Check(f"det J at ζ = {zeta:g}", np.linalg.det(jacobian_1(zeta=zeta)), -zeta, 1e-14)
        for zeta in (2.0, 1.0, 0.5, 0.0)
    ]
    surfaces = {}
    for (zeta, inverse), (known, total, count) in EXAMPLE_1.items():
        reading = f"ζ = {zeta:g}, {'M⁻¹' if inverse else 'M'} = diag"
        announce(f"400 problems, {reading}")
        surface = np.array([[slip((a, b), zeta, inverse) for b in GRID] for a in GRID])  # by μ_1 and μ_2
        surfaces[zeta, inverse] = surface
        sampled = [slip(mu, zeta, inverse) for mu in PAIRS]
        checks += [
            Check(f"{reading}: |a| of contact 2 at six pairs of μ", sampled, known, 1e-8),
            Check(f"{reading}: sum over the 400", surface.sum(), total, 1e-5),
            Check(f"{reading}: how many slide", (surface > SLIDES).sum(), count, 0.0),
        ]
    return Report(
        "Example 1: a rod pushes a cube over a hump",
        "as named",
        tuple(checks),
        ("The pairs (μ_1, μ_2) are " + ", ".join(f"({a:g}, {b:g})" for a, b in PAIRS) + ".",),
        draw=partial(draw, surfaces),
    )


def slip(mu: tuple[float, float], zeta: float, inverse: bool) -> float:
    """The tangential acceleration of contact 2."""
    a = solve(example_1(mu, zeta, inverse).problem, tol=1e-12).require().y
    return float(np.hypot(a[5], a[6]))


def second_example(announce: Announce) -> Report:
    """Table 1 in the reading that its numbers have, and the corrected problem, where jamming and sliding coexist."""
    announce("Table 1")
    printed = table_1()
    checks = [*sliding_checks(printed), jamming_check(printed)]
    for (inverse, mu), known in CORRECTED.items():
        announce(f"both solutions at μ = {mu:g}")
        cube = example_2(mu, inverse)
        found = search_modes(cube.problem).solutions
        reading = f"μ = {mu:g}, {'M⁻¹' if inverse else 'M'} = diag"
        jammed = [solution for solution in found if set(solution.modes) == {"stick"}]
        moving = [solution for solution in found if set(solution.modes) == {"slip"}]
        counts = (len(found), len(jammed), jammed[0].dimension if jammed else -1)
        checks.append(Check(f"{reading}: solutions, jammed ones, their dimension", counts, (2, 1, 4), 0.0))
        checks += [Check(f"{reading}: q̈ of the other", cube.acceleration(s.c), known, 1e-8) for s in moving]
    announce("the friction from which it jams")
    threshold, _ = jamming_factor(example_2(1.0).problem)
    checks.append(Check("the friction from which it jams", threshold, THRESHOLD, 5e-9))
    alone = search_modes(example_2(0.9).problem).solutions
    checks.append(Check("solutions found at μ = 0.9, corrected", len(alone), 1, 0.0))
    return Report(
        "Example 2: the cube between two rods, jammed or sliding",
        "forces and accelerations, contact by contact in the order n, t, o, r",
        tuple(checks),
        (
            "Table 1 is reproduced with M⁻¹ = diag, the moment of o_2 about y negated, and friction antiparallel to a.",
            "With the right Jacobian and maximum work, the printed μ = 0.9 has jamming only, as far as was searched.",
        ),
        digits=4,
    )


def sliding_checks(cube: Mechanism) -> list[Check]:
    """Solution 2 of Table 1."""
    (found,) = [solution for solution in search_modes(cube.problem) if set(solution.modes) == {"slip"}]
    c = table_1_forces(found.c)
    q = cube.acceleration(c)
    return [
        Check("Table 1, Solution 2: forces", by_component(c), SLIDING, PRINTED),
        Check("Table 1, Solution 2: a_t, a_o, a_r", by_component(cube.J.T @ q)[3:], SLIDING_A, PRINTED),
        Check("Table 1, Solution 2: acceleration of the cube", q[:3], SLIDING_Q, PRINTED),
    ]


def jamming_check(cube: Mechanism) -> Check:
    """Solution 1: the nearest forces that hold everything still. They are one of a family, so they prove the print."""
    c = np.reshape(JAMMED, (4, 3)).T.ravel()
    c = c - np.linalg.pinv(cube.J) @ (cube.J @ c + cube.F)
    still = residual(cube.problem, c / table_1_forces(np.ones(12)))
    what = "Table 1, Solution 1: nearest forces that jam"
    return Check(what if still < 1e-12 else f"{what} (residual {still:.0e})", by_component(c), JAMMED, 1e-4)


# the figure


def draw(surfaces: dict[tuple[float, bool], Dense], path: str) -> None:
    """The tangential acceleration of contact 2 over both coefficients, ζ = 2 and ζ = 0, both readings of M."""
    figure = page(10.4, 9.4, "Example 1: tangential acceleration of the contact under the cube")
    colours = LinearSegmentedColormap.from_list("", ["#d9e6f7", "#1f6fd6", "#8e5bc0", "#c2394b", "#f2711c"])
    for number, ((zeta, inverse), surface) in enumerate(surfaces.items()):
        axes = figure.add_subplot(2, 2, number + 1, projection="3d")
        below, rod = np.meshgrid(GRID, GRID)
        axes.plot_surface(below, rod, surface, cmap=colours, edgecolor=PAPER, linewidth=0.35, antialiased=True)
        where = "at the top" if zeta == 2 else "at the bottom"
        reading = "$M^{-1}$ = diag" if inverse else "$M$ = diag"
        axes.set_title(f"rod {where}, ζ = {zeta:g}, {reading}", fontsize=10.5, color=INK)
        dress_space(axes, ("μ under the cube", "μ at the rod", "acceleration [m/s²]"), elevation=26, azimuth=38)
        axes.set_box_aspect((1, 1, 0.72), zoom=0.9)
    write(figure, path)
