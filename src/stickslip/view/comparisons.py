"""The picture of a comparison: the paths under each formulation, and how far they end from the reference.

Paths are seen along the axis in which the reference moves least, with the outline of the body where it starts and ends;
a body that moves along a line has its way drawn over time instead. Errors are drawn over the step, or formulation by
formulation where there is one step only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from stickslip.engine.trajectory import Trajectory
from stickslip.scene.model import Floats
from stickslip.sweeps.compare import Comparison
from stickslip.view.figures import DASHED, INK, PAPER, check_path, write
from stickslip.view.trajectories import LINES, PALETTE, TOTAL, draw_outline, drawable, dress, legend

STRAIGHT = 0.02  # a path narrower than this share of its length is a line
MARKS = "os^Dv<>P"
THIN: dict[str, Any] = {"facecolor": "none", "linewidth": 0.9, "zorder": 1}
REFERENCE_LINE: dict[str, Any] = {"color": TOTAL, "linewidth": 5.0, "solid_capstyle": "round"}


def draw_comparison(comparison: Comparison, path: str | os.PathLike[str], title: str = "") -> None:
    """Paths at the coarsest and at the finest step, and the errors."""
    steps = sorted({outcome.dt for outcome in comparison.outcomes}, reverse=True)
    shown = steps[:1] if len(steps) == 1 else [steps[0], steps[-1]]
    figure = page(
        5.0 * len(shown) + 4.8, 5.8, title or f"{comparison.body} under several formulations of friction", path
    )
    panels = figure.subplots(1, len(shown) + 1, width_ratios=[5.0] * len(shown) + [4.0])
    for axes, dt in zip(panels, shown, strict=False):
        draw_paths(axes, comparison, dt)
        axes.set_title(f"step {in_words(dt)}", loc="left", fontsize=10, color=INK)
    share_limits(panels[:-1])
    if len(steps) > 1:
        draw_convergence(panels[-1], comparison)
        explain(figure, comparison)
    else:
        draw_errors(panels[-1], comparison)
        legend(figure, [reference_handle(comparison)])
    write(figure, path)


def page(width: float, height: float, title: str, path: str | os.PathLike[str] | None = None) -> Figure:
    """An empty page; where it is for a path, that is one that a picture can be written to."""
    if path is not None:
        check_path(path)
    margins = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.10, wspace=0.04)
    figure = Figure(figsize=(width, height), dpi=110, facecolor=PAPER, layout=margins)
    figure.suptitle(title, x=0.015, ha="left", fontsize=13, color=INK, weight="bold")
    return figure


def looks(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Colour and mark of each formulation, the same in every panel."""
    names = dict.fromkeys(outcome.name for outcome in comparison.outcomes)
    return {name: {"color": PALETTE[i % len(PALETTE)], "marker": MARKS[i % len(MARKS)]} for i, name in enumerate(names)}


def draw_paths(axes: Axes, comparison: Comparison, dt: float) -> None:
    """The paths of all runs with this step over that of the reference."""
    body, look = comparison.body, looks(comparison)
    reference = comparison.reference.run
    view = seen(reference, body)
    axes.plot(*line(reference, body, view), zorder=2, **REFERENCE_LINE)
    for outcome in comparison.outcomes:
        if outcome.dt != dt:
            continue
        colour = look[outcome.name]["color"]
        across, up = line(outcome.run, body, view)
        axes.plot(across, up, color=colour, linewidth=1.5, zorder=3)
        axes.plot(across[-1:], up[-1:], markersize=6, markeredgecolor=PAPER, zorder=5, **look[outcome.name])
        if len(view) == 2:
            draw_outline(axes, outcome.run, body, view, -1, edgecolor=(colour, 0.55), **THIN)
    if len(view) == 2:
        draw_outline(axes, reference, body, view, 0, edgecolor=(INK, 0.55), **THIN)
        dress(axes, f"{'xyz'[view[0]]} [m]", f"{'xyz'[view[1]]} [m]")
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.06)
    else:
        dress(axes, "time [s]", f"{'xyz'[view[0]]} [m]")


def seen(run: Trajectory, body: str) -> tuple[int, ...]:
    """The two axes of the picture, or the one along which the body moves in a line."""
    extent = np.ptp(drawable(run.position(body)), axis=0)
    first, second = np.argsort(-extent, kind="stable")[:2]
    if extent[second] <= STRAIGHT * extent[first]:
        return (int(first),)
    return int(min(first, second)), int(max(first, second))


def line(run: Trajectory, body: str, view: tuple[int, ...]) -> tuple[Floats, Floats]:
    position = drawable(run.position(body))
    if len(view) == 1:
        return run.time, position[:, view[0]]
    return position[:, view[0]], position[:, view[1]]


def share_limits(panels: Sequence[Axes]) -> None:
    """The same limits in all panels: each is scaled as if it showed the data of all."""
    every = [axes.dataLim.get_points() for axes in panels]
    for axes in panels:
        axes.update_datalim(np.concatenate(every))
        axes.autoscale_view()


def draw_convergence(axes: Axes, comparison: Comparison) -> None:
    """Error over step, both logarithmic, with a line of order one."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, look in looks(comparison).items():
        own = sorted((each for each in comparison.outcomes if each.name == name), key=lambda outcome: outcome.dt)
        error = [each.error if each.error > 0 else np.nan for each in own]
        axes.plot([each.dt for each in own], error, linewidth=1.4, markersize=6, markeredgecolor=PAPER, **look)
    steps = np.array(sorted({outcome.dt for outcome in comparison.outcomes}))
    errors = [outcome.error for outcome in comparison.outcomes if outcome.dt == steps[-1] and outcome.error > 0]
    if errors:
        guide = 0.6 * min(errors) * steps / steps[-1]
        axes.plot(steps, guide, color=INK, linewidth=1.0, linestyle=DASHED)
        axes.annotate("order 1", (steps[0], guide[0]), (4, -10), textcoords="offset points", fontsize=9, color=INK)
    dress(axes, "step [s]", "distance from the reference at the end [m]")
    axes.set_xticks(steps, [f"{step:g}" for step in steps])
    axes.tick_params(which="minor", labelsize=8, labelcolor=INK, labelbottom=False)


def draw_errors(axes: Axes, comparison: Comparison) -> None:
    """One step: a mark for each formulation, the nearest to the reference on top."""
    look = looks(comparison)
    ranked = sorted(comparison.outcomes, key=lambda outcome: -outcome.error)
    positive = [outcome.error for outcome in ranked if 0 < outcome.error < np.inf]
    least, most = min(positive, default=1.0) / 4, 10 * max(positive, default=1.0)
    axes.set_xscale("log")
    for row, outcome in enumerate(ranked):
        error = max(outcome.error, least)
        axes.axhline(row, color=LINES, linewidth=0.8, zorder=1)
        axes.plot([error], [row], markersize=8, markeredgecolor=PAPER, **look[outcome.name])
        label = f"{outcome.error:.2g} m"
        axes.annotate(label, (error, row), (8, 0), textcoords="offset points", va="center", fontsize=9, color=INK)
    dress(axes, "distance from the reference at the end [m]", "")
    axes.set_yticks(range(len(ranked)), [outcome.name for outcome in ranked])
    axes.set_xlim(least, most)
    axes.set_ylim(-0.7, len(ranked) - 0.3)
    axes.tick_params(which="minor", labelbottom=False)
    axes.grid(axis="y", visible=False)


def explain(figure: Figure, comparison: Comparison) -> None:
    """The reference and, with colour and mark, the formulations."""
    marks = [
        Line2D([], [], linewidth=1.5, markersize=6, label=name, **look) for name, look in looks(comparison).items()
    ]
    legend(figure, [reference_handle(comparison), *marks])


def reference_handle(comparison: Comparison) -> Line2D:
    reference = comparison.reference
    return Line2D([], [], label=f"{reference.name}, step {in_words(reference.dt)}", **REFERENCE_LINE)


def in_words(seconds: float) -> str:
    return f"{1e3 * seconds:g} ms"
