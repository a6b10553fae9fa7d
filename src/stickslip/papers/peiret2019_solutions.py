"""Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
Multibody System Dynamics 45 (2019) 361-378: how many solutions there are, and what becomes of a contact that jams.

Figure 4 is the rod at 45° under loads that push it onto the plane and pull it off; (46) to (49) are the arm in its
configuration A. The numbers in print belong to a density of 1 kg/m, not the 2 of the caption, and to a bias without the
terms of φ̇; both readings are here, recomputed independently (docs/peiret2019.md has the printed errors).

The figure through the jam is not in the paper, which describes it in words: sections 5 and 7.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike

from stickslip.analysis.jamming import JamMap, arm_family, jam_map
from stickslip.analysis.solvability import Solvability, solvability_at
from stickslip.dynamics.generalized import GeneralizedSystem, evaluate
from stickslip.dynamics.mechanisms import ARM_HEIGHT, ARM_LENGTHS, arm, arm_on_the_plane, rod, rod_on_its_foot
from stickslip.engine.integrate import integrate_system
from stickslip.engine.jam import Jam, through_jam
from stickslip.engine.systems import simulate_system
from stickslip.friction.penalty import Penalty
from stickslip.papers.report import Announce, Check, Report
from stickslip.problems.matrix import Vector
from stickslip.view.comparisons import page
from stickslip.view.contacts import arrow
from stickslip.view.figures import DASHED, INK, PAPER, write
from stickslip.view.jam_maps import draw_contours
from stickslip.view.trajectories import PALETTE, TOTAL, WRONG, dress

G = 9.81
THETA = np.pi / 4
SLIDING_ROD = np.array([-1.0, 0.0, 0.0, 0.0, 0.0])
ARM_POSE = arm_on_the_plane(0.34, np.radians(101.75))
INWARDS = np.array([0.572823613326, 2.05620866219, 0.0, 0.0])  # ẋ = -1 m/s, θ̇₃ = 0
TURNING = INWARDS + np.array([0.0, 0.0, 0.0, 1.0])  # and φ̇ = 1 rad/s
TORQUE = np.array([-5.0, 0.0, 0.0, 0.0])
EXACT = 1e-7

COLUMN = (-0.31175783, 0.12649747, 8.31632819)  # of λ_n, order n, t1, t2
PRINTED = ((-9.76644822, 1.0, -0.01689193), (3.22279191, 1.0, 1.26212703), 10.33748512)
COMPLETE = ((-9.78089272, 0.35661546, 0.21136206), (3.20834740, 0.35661546, 1.49038102), 10.29115268)
HEAVIER = -3.27182816  # δu₀ along the normal with the torque and 2 kg/m, as printed otherwise


# equations (46) to (49)


def equations(announce: Announce) -> Report:
    announce("the arm in configuration A")
    checks = []
    for name, system, known in (
        ("as printed", without_turning_terms(1.0), PRINTED),
        ("complete", arm(density=1.0), COMPLETE),
    ):
        pushed = solvability_at(system, ARM_POSE, TURNING)
        pulled = solvability_at(system, ARM_POSE, TURNING, TORQUE)
        checks += [
            Check(f"(46) δu₀, {name}", pushed.free, known[0], EXACT),
            Check(f"(47) number of solutions, {name}", pushed.count, 0, 0.0),
            Check(f"(48) δu₀, {name}", pulled.free, known[1], EXACT),
            Check(f"(49) number of solutions, {name}", pulled.count, 2, 0.0),
            Check(f"(49) λ_n where it slides, {name}", pulled.solutions[1].normal, known[2], EXACT),
            Check(f"(49) λ_n by Painlevé's principle, {name}", painleve(pulled), (0.0,), 0.0),
        ]
        opens, held = pulled.solutions
        column = (held.acceleration - opens.acceleration) / held.normal
        checks.append(Check(f"(46), (48) column of λ_n, {name}", column, COLUMN, EXACT))
    heavy = solvability_at(without_turning_terms(2.0), ARM_POSE, TURNING, TORQUE)
    checks += [
        Check("(48) δu₀ along n with 2 kg/m", heavy.free[0], HEAVIER, EXACT),
        Check("(49) number of solutions with 2 kg/m", heavy.count, 0, 0.0),
    ]
    return Report(
        "Equations (46) to (49): the arm with none and with two solutions",
        "n, t1, t2 [m/s², N]",
        tuple(checks),
        (
            "As printed: density 1 kg/m, and the bias without its terms of φ̇. The second component of (48) is +1.262, "
            "in print -1.262.",
            "With the 2 kg/m of the caption the torque is too small to open the contact, and (49) has no solution.",
        ),
        digits=8,
    )


def without_turning_terms(density: float) -> GeneralizedSystem:
    """The arm as the printed numbers have it."""
    whole = arm(density=density)
    return replace(whole, bias=lambda q, v: whole.bias(q, v * [1.0, 1.0, 1.0, 0.0]))


def painleve(found: Solvability) -> ArrayLike:
    chosen = found.choose("painleve")
    return () if chosen is None else chosen.normal


# figure 4


def figure_4(announce: Announce) -> Report:
    announce("a rod at 45°")
    found = {(mu, pulled): case(mu, pulled) for mu in (1.0, 2.0) for pulled in (True, False)}
    checks = []
    for (mu, pulled), one in found.items():
        load = "pulled off" if pulled else "pushed on"
        known = () if mu > 1 and not pulled else (0.0, 2 * G) if mu > 1 else (0.0,) if pulled else (G,)
        checks.append(Check(f"μ = {mu:g}, {load}: number of solutions", one.count, len(known), 0.0))
        for solution, normal in zip(one.solutions, known, strict=True):
            what = solution.modes[0]
            checks.append(Check(f"μ = {mu:g}, {load}: λ_n, {what}", solution.normal, normal, 1e-10))
    return Report(
        "Figure 4: solutions of a sliding rod at 45°, μ_jam = 5/3",
        "λ_n [N]",
        tuple(checks),
        (*(f"μ = {mu:g}, {'pulled' if p else 'pushed'}: {one.certificate}" for (mu, p), one in found.items()),),
        draw=partial(draw_figure_4, found),
    )


def case(mu: float, pulled: bool) -> Solvability:
    """The rod slides towards -x, against its lean; gravity pushes it onto the plane, or upside down pulls it off."""
    return solvability_at(rod(friction=mu, gravity=-G if pulled else G), rod_on_its_foot(THETA), SLIDING_ROD)


AWAY = 5.0  # of the label of an arrow from its middle   [points]
PANELS = (
    (1.0, "open", "slide"),
    (2.0, "open", "jam"),
    (2.0, "slide", "pull"),
)  # μ, and what is drawn where the load pulls (top) and pushes (bottom)


def draw_figure_4(found: dict[tuple[float, bool], Solvability], path: str) -> None:
    sheet = page(12.6, 5.8, "Contact accelerations of a rod that slides to the left at 45°, $μ_{jam}$ = 5/3")
    panels = sheet.subplots(2, 3)
    for column, (mu, *drawn) in enumerate(PANELS):
        for axes, what, pulled in zip(panels[:, column], drawn, (True, False), strict=True):
            draw_case(axes, found[mu, pulled], what, wide=3.0 if mu == 1 else 7.8)
            axes.set_title(f"({'abc'[column]})  μ = {mu:g}: {title(what, pulled)}", loc="left", fontsize=10, color=INK)
    for axes in panels[1]:
        axes.set_xlabel("tangential [g]", color=INK)
    for axes, load in zip(panels[:, 0], ("pulled off", "pushed on"), strict=True):
        axes.set_ylabel(f"{load}: normal [g]", color=INK)
    panels[0, 0].text(-0.25, 1.5, "what contact\nforces do", color=PALETTE[0], fontsize=9, ha="center", va="center")
    panels[1, 1].text(-7.4, -2.4, "the contact closes", color=INK, fontsize=9, va="center")
    write(sheet, path)


def title(what: str, pulled: bool) -> str:
    return {
        "open": "it opens",
        "slide": "or friction holds it" if pulled else "it slides on",
        "jam": "no solution, every force closes it",
        "pull": "no solution, it would have to be pulled",
    }[what]


def draw_case(axes: Axes, found: Solvability, what: str, wide: float) -> None:
    """The generalized friction cone in the plane of slip and normal, and the arrows δu₀, δu_c and their sum."""
    W, mu = found.W[:2, :2], float(found.problem.mu[0])
    free = found.free[1::-1] / G  # t, n
    with_slip, against = ((W @ [1.0, side * mu])[::-1] for side in (1.0, -1.0))  # friction to the right, to the left
    corners = np.array([[0.0, 0.0], 30 * with_slip, 30 * against])
    axes.add_patch(Polygon(corners, closed=True, facecolor=PALETTE[0], alpha=0.10, zorder=1))
    axes.plot(*corners[[1, 0]].T, color=PALETTE[0], linewidth=1.8, zorder=2)
    axes.plot(*corners[[0, 2]].T, color=PALETTE[0], linewidth=0.8, zorder=2)
    axes.axhspan(-10, 0, color=TOTAL, alpha=0.22, zorder=0, linewidth=0)
    axes.axhline(0.0, color=INK, linewidth=1.0, zorder=3)
    axes.plot([0, wide], [0, wide], color=TOTAL, linewidth=7, zorder=1.5)  # the rod, longer than the picture
    normal = {"open": 0.0, "jam": 1.0}.get(what, float(-free[1] / with_slip[1]))
    total = free + normal * with_slip
    arrow(axes, np.zeros(2), free, PALETTE[3], "$δu_0$", (AWAY if total[0] < 0 else -AWAY, 0.0))
    if normal:
        wrong = what in ("jam", "pull")
        beside = (AWAY, 0.0) if mu == 1 else (0.0, -2 * AWAY if wrong else 2 * AWAY)
        arrow(axes, free, total, PALETTE[1], "$δu_c$", beside)
        above = (0.0, 2.5 * AWAY if mu == 1 or wrong else -2 * AWAY)
        arrow(axes, np.zeros(2), total, WRONG if wrong else PALETTE[2], "$du$", above)
    dress(axes, "", "")
    axes.set_aspect("equal")
    axes.set_xlim(-wide, wide)
    axes.set_ylim(-0.4 * wide, 0.65 * wide)


# figure 6


MINIMA = {
    "B": (0.4039117803, 0.7852299, (9.332751, 57.482451, 76.662062)),
    "A": (0.4207868225, 0.3388166, (2.543762, 106.299768, 101.747123)),
}  # μ_jam, x [m], θ₁ θ₂ θ₃ [°]; the worst first


def figure_6(announce: Announce) -> Report:
    announce("μ_jam of the arm, 200 × 200 poses")
    found = jam_map(arm_family(), 200)
    checks = []
    for (name, (mu_jam, x, angles)), worst in zip(MINIMA.items(), found.minima, strict=True):
        checks += [
            Check(f"{name}: μ_jam", worst.mu_jam, mu_jam, 1e-9),
            Check(f"{name}: x [m]", worst.parameters[0], x, 1e-6),
            Check(f"{name}: θ₁, θ₂, θ₃ [°]", np.degrees(worst.q[:3]), angles, 1e-4),
        ]
    return Report(
        "Figure 6: friction from which on the arm can jam",
        "as named",
        tuple(checks),
        (
            f"Searched: {found.searched}. Minima at an edge of the poses that exist are left out.",
            "In print: 0.421 at x = 0.340 m and 2.5°, 106.2°, 101.8°, a place beside the flat minimum; and 0.404.",
        ),
        digits=8,
        draw=partial(draw_figure_6, found),
    )


def draw_figure_6(found: JamMap, path: str) -> None:
    sheet = page(12.0, 5.2, "Friction from which on the arm can jam, over the poses with its tip on the plane")
    map_axes, arm_axes = sheet.subplots(1, 2, width_ratios=(1.35, 1.0))
    draw_contours(map_axes, found)
    map_axes.set_xlabel("distance $x$ of the tip [m]", color=INK)
    map_axes.set_ylabel("angle $θ_3$ of the last link [°]", color=INK)
    for (name, _), worst, colour in zip(MINIMA.items(), found.minima, PALETTE, strict=False):
        links = [(L * np.cos(a), -L * np.sin(a)) for L, a in zip(ARM_LENGTHS, worst.q, strict=False)]
        joints = np.cumsum([(0.0, ARM_HEIGHT), *links], axis=0)
        label = f"{name}: $μ_{{jam}}$ = {worst.mu_jam:.4f}"
        arm_axes.plot(
            *joints.T, color=colour, linewidth=4, marker="o", markersize=7, markeredgecolor=PAPER, label=label
        )
        way = 0.16 * worst.coupling.e_jam[1]
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "shrinkA": 8, "mutation_scale": 13}
        arm_axes.annotate("", (joints[-1, 0] + way, -0.045), (joints[-1, 0], -0.045), arrowprops=look)
        x, theta = worst.parameters[0], np.degrees(worst.parameters[1])
        map_axes.text(x + 0.02, theta, name, color=PAPER, weight="bold", va="center")
    arm_axes.axhspan(-0.1, 0.0, color=TOTAL, alpha=0.3, linewidth=0)
    arm_axes.axhline(0.0, color=INK, linewidth=1.0)
    dress(arm_axes, "distance from the axis [m]", "height [m]")
    arm_axes.set_aspect("equal")
    arm_axes.set_xlim(-0.05, 1.0)
    arm_axes.set_ylim(-0.1, 0.78)
    arm_axes.legend(frameon=False, fontsize=10, labelcolor=INK, loc="upper right")
    arm_axes.set_title("worst poses, and the slip that jams first", loc="left", fontsize=10, color=INK)
    write(sheet, path)


# through the jam


CASES = (
    ("rod, μ = 2", rod(friction=2.0), rod_on_its_foot(THETA), SLIDING_ROD),
    ("arm, inwards", arm(), ARM_POSE, INWARDS),
    ("arm, turning", arm(), ARM_POSE, TURNING),
)
STIFFNESSES = (1e6, 1e7, 1e8, 1e9, 1e10)  # [N/m]
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)  # [s]


def jam(announce: Announce) -> Report:
    checks, jams = [], []
    for name, system, q, v in CASES:
        announce(name)
        one = through_jam(system, q, v, slip_speed=1e-7)
        jams.append(one)
        at = evaluate(system, q, v)
        back, u = np.linalg.solve(at.M, at.A.T), at.A @ at.v
        if name != "arm, turning":
            impulse = np.linalg.solve(at.A @ back, u)  # W⁻¹ A v, which brings the contact to rest
            checks.append(Check(f"{name}: contact at rest, v", one.v, at.v - back @ impulse, 1e-5))
            checks.append(Check(f"{name}: energy lost [J]", one.energy_lost, u @ impulse / 2, 1e-6))
        work = -one.normal_work - one.friction_work
        checks.append(Check(f"{name}: energy lost is work", one.energy_lost, work, 1e-8))
        step = simulate_system(system, q, v, STEPS[-1], STEPS[-1], tol=1e-12).v[-1]
        known = None if name == "arm, turning" else 1e-4
        checks.append(Check(f"{name}: one rigid step, v", step, one.v, known))
    return Report(
        "Through the jam: impulses, stiff springs and rigid steps",
        "velocities, [J]",
        tuple(checks),
        (
            "Inwards, the slip ends within the jam. Turning, it swings out of its locking sector before it ends, and "
            "one rigid step, whose friction has one direction, is not the limit of springs: it is shown, not judged.",
        ),
        draw=partial(draw_jam, jams, announce),
    )


def draw_jam(jams: list[Jam], announce: Announce, path: str) -> None:
    sheet = page(13.0, 4.8, "Impact without collision: a contact that jams")
    path_axes, spring_axes, step_axes = sheet.subplots(1, 3)
    for one, (name, *_), colour in zip(jams, CASES, PALETTE, strict=False):
        share = one.normal_impulse / one.normal_impulse[-1]
        slip = np.linalg.norm(one.velocity[:, 1:], axis=1)
        path_axes.plot(share, slip, color=colour, linewidth=2.0, label=name)
        path_axes.plot(share, 5 * one.velocity[:, 0], color=colour, linewidth=1.4, linestyle=DASHED)
    path_axes.plot([], [], color=INK, linewidth=2.0, label="slip $|u_t|$")
    path_axes.plot([], [], color=INK, linewidth=1.4, linestyle=DASHED, label="normal velocity $5 u_n$")
    dress(path_axes, "share of the normal impulse", "velocity of the contact [m/s]")
    path_axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    for one, (name, system, q, v), colour in zip(jams, CASES, PALETTE, strict=False):
        announce(f"{name}: springs and steps")
        springs = [spring_error(system, q, v, k) for k in STIFFNESSES]
        spring_axes.loglog(STIFFNESSES, springs, color=colour, marker="o", markersize=5, linewidth=1.6, label=name)
        steps = [np.abs(simulate_system(system, q, v, 4 * h, h, tol=1e-12).v[-1] - one.v).max() for h in STEPS]
        step_axes.loglog(STEPS, steps, color=colour, marker="o", markersize=5, linewidth=1.6, label=name)
    guide = np.array(STIFFNESSES)
    spring_axes.loglog(guide, 2e2 * guide**-0.5, color=INK, linewidth=1.0, linestyle=DASHED, label="order ½")
    step_axes.loglog(STEPS, 2e1 * np.array(STEPS), color=INK, linewidth=1.0, linestyle=DASHED, label="order 1")
    dress(spring_axes, "stiffness [N/m]", "difference of springs, largest of v")
    dress(step_axes, "step [s]", "difference of rigid steps, largest of v")
    for axes in (spring_axes, step_axes):
        axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    write(sheet, path)


def spring_error(system: GeneralizedSystem, q: Vector, v: Vector, stiffness: float) -> float:
    """Of a damped spring's velocities once the jam is over, from those of the impulsive process."""
    spring = Penalty(stiffness, 4 * stiffness**0.6, slip_speed=1e-4)
    run = integrate_system(system, q, v, 40 / stiffness**0.5, spring, rtol=1e-7)
    return float(np.abs(run.v[-1] - through_jam(system, q, v, slip_speed=1e-4).v).max())
