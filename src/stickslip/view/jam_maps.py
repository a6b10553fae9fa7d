"""The picture of a jam map: μ_jam over one parameter as a line, over two as contours, with the worst poses marked; over
more parameters the least of all values of the others, over the first two."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm

from stickslip.analysis.jamming import JamMap
from stickslip.checks import checked, heading, instance
from stickslip.checks import path as file_path
from stickslip.view.comparisons import page
from stickslip.view.figures import GROUND, INK, PAPER, write
from stickslip.view.trajectories import PALETTE, dress

ROUND = (1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0)  # levels in each decade
SPAN = 12.0  # levels go from the least μ_jam to so many times it
SAME_VALUE = 1e-4  # relative difference up to which two minima have one value
COLOURS = "YlOrRd_r"
MU_JAM = r"$\mu_\mathrm{jam}$"


@checked(jam_map=instance(JamMap), path=file_path, title=heading)
def draw_jam_map(jam_map: JamMap, path: str | os.PathLike[str], title: str = "") -> None:
    """Draw a map; `title` is its heading."""
    figure = page(7.6, 5.6, title or f"{jam_map.family.name}: friction from which on it jams", path)
    axes = figure.subplots()
    (draw_line if len(jam_map.axes) == 1 else draw_contours)(axes, jam_map)
    write(figure, path)


def draw_line(axes: Axes, jam_map: JamMap) -> None:
    across = in_units(jam_map.axes[0], jam_map.family.units[0])
    axes.plot(across, np.where(np.isfinite(jam_map.mu_jam), jam_map.mu_jam, np.nan), color=PALETTE[0], linewidth=2)
    dress(axes, label(jam_map, 0), MU_JAM)
    finite = jam_map.mu_jam[np.isfinite(jam_map.mu_jam)]
    if finite.size:
        axes.set_ylim(0, min(finite.max(), SPAN / 2 * finite.min()) * 1.05)
    mark_minima(axes, jam_map)


def draw_contours(axes: Axes, jam_map: JamMap) -> None:
    """Filled contours, dark where little friction suffices; grey where there is no pose."""
    x, y = (in_units(axis, unit) for axis, unit in zip(jam_map.axes[:2], jam_map.family.units[:2], strict=True))
    least = np.fmin.reduce(jam_map.mu_jam.reshape(x.size, y.size, -1), axis=2)  # NaN where there is no pose at all
    dress(axes, label(jam_map, 0), label(jam_map, 1))
    axes.set_facecolor(GROUND)
    finite = least[np.isfinite(least)]
    if finite.size == 0:
        axes.text(0.5, 0.5, "no pose can jam", transform=axes.transAxes, ha="center", color=INK)
        return
    levels = contour_levels(float(finite.min()))
    mu = np.where(np.isinf(least), 10 * levels[-1], least).T
    norm = BoundaryNorm(levels, 256, extend="max")
    filled = axes.contourf(x, y, mu, levels=levels, norm=norm, cmap=COLOURS, extend="max")
    axes.contour(x, y, mu, levels=levels[1:], colors=INK, linewidths=0.5, alpha=0.6)
    axes.grid(False)
    bar = axes.figure.colorbar(filled, ax=axes, ticks=levels, format="%.3g", pad=0.02)
    bar.set_label(MU_JAM, color=INK)
    bar.ax.tick_params(colors=INK, labelsize=9)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    mark_minima(axes, jam_map)


def mark_minima(axes: Axes, jam_map: JamMap) -> None:
    """A dot at each minimum, and its value; of several that are equal, only at the first."""
    said: list[float] = []
    for worst in jam_map.minima:
        place = list(map(in_units, worst.parameters.tolist(), jam_map.family.units))
        x, y = place[:2] if len(place) > 1 else (place[0], worst.mu_jam)
        axes.plot([x], [y], "o", color=INK, markersize=6, markeredgecolor=PAPER, zorder=5)
        if any(math.isclose(worst.mu_jam, other, rel_tol=SAME_VALUE) for other in said):
            continue
        said.append(worst.mu_jam)
        axes.annotate(
            f"{worst.mu_jam:.4f}",
            (x, y),
            xytext=(0, 10) if len(place) == 2 else (0, -18),
            textcoords="offset points",
            ha="center",
            fontsize=10,
            color=INK,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.85},
        )


def contour_levels(least: float) -> list[float]:
    """The least value, rounded down to two digits, and round numbers up to SPAN times it."""
    if least <= 0:
        return [0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
    decade = 10.0 ** math.floor(math.log10(least))
    first = math.floor(10 * least / decade) * decade / 10
    grid = (scale * decade * power for power in (1.0, 10.0, 100.0) for scale in ROUND)
    return [first, *(level for level in grid if 1.04 * first < level <= SPAN * first)]


def in_units(values: Any, unit: str) -> Any:
    return np.degrees(values) if unit == "rad" else values


def label(jam_map: JamMap, number: int) -> str:
    unit = jam_map.family.units[number]
    return f"{list(jam_map.family.ranges)[number]} [{'°' if unit == 'rad' else unit}]"
