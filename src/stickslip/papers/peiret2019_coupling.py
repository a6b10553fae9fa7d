"""Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
Multibody System Dynamics 45 (2019) 361-378: friction coupling, figures 2 and 3.

Both are of the rod, whose numbers are closed forms in its angle θ. Known numbers were recomputed from the paper's
equations by programs that share nothing with this package (docs/peiret2019.md has the printed errors).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Wedge

from stickslip.analysis.coupling import FrictionCoupling, system_coupling
from stickslip.dynamics.mechanisms import rod, rod_on_its_foot
from stickslip.papers.report import Announce, Check, Report
from stickslip.view.comparisons import page
from stickslip.view.contacts import draw_cone_in_space, draw_space
from stickslip.view.figures import DASHED, INK, PAPER, write
from stickslip.view.trajectories import PALETTE, dress

ANGLE = math.radians(45.0)  # of the rod in figures 2 and 3
FRICTIONS = (0.3, 1.0, 2.0)  # of the cones in figure 2
POINTER = {"arrowstyle": "-", "color": INK, "linewidth": 0.8}  # from words to what they are about
SECTORS = (0.0, 60.0, 90.0, 120.0, 150.0)  # locking angles of figure 3   [°]

# θ [°], μ_jam, μ_crit
ROD = (
    (15.0, 5.0653841409, 0.624499414632),
    (30.0, 2.50185116649, 0.742307488958),
    (45.0, 5 / 3, 0.6),
    (60.0, 1.34715062811, 0.399704032516),
    (75.0, 1.60128252576, 0.197418393587),
)


def rod_at(theta: float) -> FrictionCoupling:
    return system_coupling(rod(), rod_on_its_foot(theta))


# figure 2


def figure_2(announce: Announce) -> Report:
    """The generalized friction cone of the rod at 45°."""
    checks = []
    for degrees, mu_jam, mu_crit in ROD:
        c = rod_at(math.radians(degrees))
        checks.append(Check(f"rod at {degrees:g}°", (c.mu_jam, c.mu_crit), (mu_jam, mu_crit), 1e-10))
    return Report(
        "Figure 2: the generalized friction cone of a rod",
        "mu_jam, mu_crit",
        tuple(checks),
        (
            "At mu_crit the normal lies on the cone: from there on a foot that sticks stays stuck. At mu_jam the cone"
            " touches the tangent plane: from there on sliding one way closes the contact.",
        ),
        digits=10,
        draw=draw_figure_2,
    )


def draw_figure_2(path: str) -> None:
    """Three views in space: several coefficients, the critical one, the one from which on the rod jams."""
    c = rod_at(ANGLE)
    figure = page(13.0, 5.0, "The generalized friction cone of a rod at 45° (Peiret et al. 2019, figure 2)")
    panels = (
        ("several coefficients", FRICTIONS),
        (f"critical, μ = {c.mu_crit:.3g}", (c.mu_crit,)),
        (f"jamming, μ = {c.mu_jam:.4g}", (c.mu_jam,)),
    )
    for k, (title, frictions) in enumerate(panels):
        axes: Any = figure.add_subplot(1, 3, k + 1, projection="3d")
        axes.set_title(title, fontsize=11, color=INK)
        half = 6.0 if len(frictions) > 1 else 5.0 if frictions[0] > 1 else 3.6
        draw_space(axes, half, (r"$m\,\delta u_x$", r"$m\,\delta u_y$", r"$m\,\delta u_n$"))
        for i, mu in enumerate(frictions):
            draw_cone_in_space(axes, c, mu, PALETTE[i if len(frictions) > 1 else k + 2])
        if len(frictions) > 1:
            axes.legend(fontsize=9, frameon=False, loc="upper left", labelcolor=INK)
    write(figure, path)


def figure_3(announce: Announce) -> Report:
    """The locking angle of the rod."""
    least, sector = rod_at(math.atan(2.0)), math.degrees(rod_at(ANGLE).locking_angle(2.0))
    return Report(
        "Figure 3: the locking angle of a rod",
        "angle [°], or mu",
        (
            Check("locking angle at 45°, mu 2", sector, 67.1146195238, 1e-9),
            Check("least mu_jam, tan θ = 2", least.mu_jam, 4 / 3, 1e-12),
            Check("mu_jam at 45°", rod_at(ANGLE).mu_jam, 5 / 3, 1e-12),
        ),
        ("The paper prints 67.1° and 4/3.",),
        digits=9,
        draw=draw_figure_3,
    )


def draw_figure_3(path: str) -> None:
    figure = page(11.5, 5.2, "Which way a rod jams (Peiret et al. 2019, figure 3)")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    draw_sectors(left)
    draw_top_view(right, rod_at(ANGLE), 2.0)
    write(figure, path)


def draw_sectors(axes: Axes) -> None:
    """μ over θ for several locking angles: μ = μ_jam / cos(α/2)."""
    theta = np.linspace(math.radians(2.0), math.radians(88.0), 300)
    mu_jam = np.array([rod_at(angle).mu_jam for angle in theta])
    shades = np.linspace(1.0, 0.35, len(SECTORS))
    for sector, shade in zip(SECTORS, shades, strict=True):
        mu = mu_jam / math.cos(math.radians(sector) / 2)
        axes.plot(np.degrees(theta), mu, color=PALETTE[0], alpha=shade, linewidth=2.4 if sector == 0 else 1.5)
        lowest = int(np.argmin(mu))
        axes.annotate(
            f"α = {sector:g}°",
            (math.degrees(theta[lowest]), mu[lowest]),
            xytext=(-26, 5 if sector else -14),
            textcoords="offset points",
            fontsize=9,
            color=INK,
        )
    axes.plot([math.degrees(ANGLE)], [2.0], "o", color=PALETTE[1], markersize=7, markeredgecolor=PAPER, zorder=5)
    axes.annotate("right: 45°, μ = 2", (45.0, 2.0), xytext=(8.0, 1.6), fontsize=9, color=INK, arrowprops=POINTER)
    dress(axes, "angle θ of the rod [°]", "friction coefficient μ")
    axes.set(xlim=(0, 90), ylim=(0, 7))
    axes.axhline(4 / 3, color=INK, linewidth=0.8, linestyle=DASHED)
    axes.text(1.5, 4 / 3 - 0.28, "4/3: below it no rod jams", fontsize=9, color=INK)


def draw_top_view(axes: Axes, c: FrictionCoupling, mu: float) -> None:
    """From above: the slip directions that jam, and the cone with its part below the plane."""
    n, x, y = c.cone(mu).surface(721).T
    reach = 1.08 * max(np.abs(x).max(), np.abs(y).max())
    half = math.degrees(c.locking_angle(mu)) / 2
    middle = math.degrees(math.atan2(c.e_jam[1], c.e_jam[0]))
    axes.add_patch(Wedge((0, 0), reach, middle - half, middle + half, color=PALETTE[1], alpha=0.22, linewidth=0))
    axes.add_patch(Polygon(np.column_stack([x, y]), color=PALETTE[0], alpha=0.18, linewidth=0))
    axes.plot(x, y, color=PALETTE[0], linewidth=1.8)
    below = n < 0
    axes.plot(np.where(below, x, np.nan), np.where(below, y, np.nan), color=INK, linewidth=3.2)
    for i in np.flatnonzero(below[1:] != below[:-1]):
        axes.plot([0, x[i]], [0, y[i]], color=INK, linewidth=1, linestyle=DASHED)
    axes.plot([0], [0], "o", color=INK, markersize=5)
    lowest = int(np.argmin(n))
    for words, place, at in (
        (f"sliding here\njams, {2 * half:.1f}°", (-0.85 * reach, -0.3 * reach), (-0.98, -0.86)),
        ("here the cone is\nbelow the plane", (x[lowest], y[lowest]), (0.42, -0.86)),
    ):
        axes.annotate(words, place, xytext=(at[0] * reach, at[1] * reach), fontsize=9, color=INK, arrowprops=POINTER)
    dress(axes, r"slip direction x, and $m\,\delta u_x$", r"slip direction y, and $m\,\delta u_y$")
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set_aspect("equal")
    axes.set_title("from above, θ = 45°, μ = 2; the rod leans towards +x", fontsize=10, color=INK, loc="left")
