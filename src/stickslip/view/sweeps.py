"""Pictures of a sweep: one column over another, and maps over two parameters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.errors import InputError
from stickslip.view.comparisons import MARKS, page
from stickslip.view.figures import GROUND, INK, write
from stickslip.view.trajectories import PALETTE, dress, labelled, legend

if TYPE_CHECKING:
    from stickslip.sweeps.sweep import Sweep

FEW = 40  # points of a line that are marked
COLOURS = "viridis"


def draw_lines(
    sweep: Sweep, x: str, y: str, hue: str | None, path: str | os.PathLike[str] | None, title: str
) -> Figure:
    """y over x, a line for each value of hue; where several runs share a point their mean, and a band from the least to
    the greatest."""
    across, up = columns(sweep, x, y)
    colour = np.zeros(len(sweep)) if hue is None else one_column(sweep, hue)
    figure = page(7.6, 5.2, title or f"{y} over {x}", path)
    axes = figure.subplots()
    values = list(dict.fromkeys(colour.tolist()))
    many = len(values) > len(PALETTE)
    shades = list(colormaps[COLOURS](np.linspace(0.0, 0.9, len(values)))) if many else PALETTE
    for i, value in enumerate(values):
        here = (colour == value) & np.isfinite(up)
        name = f"{hue} = {value:g}" if isinstance(value, float) else f"{value}"
        draw_line(axes, across[here], up[here], shades[i], MARKS[i % len(MARKS)], name if hue else "")
    dress(axes, x, y)
    if hue:
        legend(figure, labelled(axes))
    return write(figure, path)


def draw_line(axes: Axes, x: Any, y: Any, colour: Any, mark: str, name: str) -> None:
    points = np.unique(x) if x.dtype.kind == "f" else np.array(list(dict.fromkeys(x.tolist())))
    each = [y[x == point] for point in points]
    look = {"color": colour, "linewidth": 1.6, "zorder": 3}
    if len(points) <= FEW:
        look |= {"marker": mark, "markersize": 4}
    axes.plot(points, [values.mean() for values in each], label=name, **look)
    if any(values.size > 1 for values in each):
        low, high = [values.min() for values in each], [values.max() for values in each]
        axes.fill_between(points, low, high, color=colour, alpha=0.18, linewidth=0)


def draw_map(sweep: Sweep, x: str, y: str, z: str, path: str | os.PathLike[str] | None, title: str) -> Figure:
    """z over the values of x and y as colours, the mean where several runs share a point."""
    right, up = one_column(sweep, x), one_column(sweep, y)
    _, value = columns(sweep, x, z)
    across, up_values = ordered(right), ordered(up)
    if not across or not up_values:
        raise InputError(f"Sweep.map: {y if across else x} is a number in no run, expected a parameter of a grid")
    if len(across) * len(up_values) > 4 * len(sweep):
        raise InputError(f"Sweep.map: {x} and {y} are no grid, expected two parameters of one")
    picture = np.full((len(up_values), len(across)), np.nan)
    known = np.isfinite(value)
    for i, b in enumerate(up_values):
        for j, a in enumerate(across):
            here = known & (right == a) & (up == b)
            if here.any():
                picture[i, j] = value[here].mean()
    figure = page(7.6, 5.6, title or f"{z} over {x} and {y}", path)
    axes = figure.subplots()
    dress(axes, x, y)
    axes.grid(False)
    axes.set_facecolor(GROUND)
    drawn = axes.pcolormesh(edges(across), edges(up_values), np.ma.masked_invalid(picture), cmap=COLOURS)
    for values, ticks in ((across, axes.set_xticks), (up_values, axes.set_yticks)):
        if isinstance(values[0], str):
            ticks(range(len(values)), values)
    bar = figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label(z, color=INK)
    bar.ax.tick_params(colors=INK, labelsize=9)
    return write(figure, path)


def ordered(column: Any) -> list[Any]:
    """The values of a column: numbers from the least on, those that are some, texts as they come."""
    if column.dtype.kind == "f":
        return sorted(set(column[np.isfinite(column)].tolist()))
    return list(dict.fromkeys(column.tolist()))


def edges(values: list[Any]) -> Any:
    """Between the values, and as far beyond the first and the last; texts stand at 0, 1, 2 and so on."""
    at = np.arange(len(values), dtype=np.float64) if isinstance(values[0], str) else np.array(values)
    if at.size == 1:
        return at[0] + np.array([-0.5, 0.5])
    middle = (at[1:] + at[:-1]) / 2
    return np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])


def columns(sweep: Sweep, x: str, y: str) -> tuple[Any, Any]:
    up = one_column(sweep, y)
    if up.dtype.kind != "f":
        raise InputError(f"Sweep: {y} holds texts, expected a column of numbers to draw")
    return one_column(sweep, x), up


def one_column(sweep: Sweep, name: str) -> Any:
    found = sweep[name]
    if found.ndim != 1:
        raise InputError(
            f"Sweep: {name} has {found.shape[1:]} numbers a run, expected one, such as {name}.x or {name}.0"
        )
    return found
