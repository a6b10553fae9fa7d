"""Pictures of a run: the path of its bodies, its energy, its contact impulses and its residual over time.

Bodies and contacts are told apart while they are few; of many, the paths share a colour and the impulses are summed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from stickslip.engine.recorder import SCENE, Header
from stickslip.engine.trajectory import ContactTable, Named, Trajectory, body_index, counted
from stickslip.problems.contact_states import State
from stickslip.scene.model import Floats, Integers, Kind, Shape
from stickslip.scene.values import rotated
from stickslip.view.figures import COLOUR, DASHED, INK, NAME, PAPER, check_path, write

PALETTE = ("#1f6fd6", "#f2711c", "#2a9d6f", "#8e5bc0", "#c2394b", "#9c7a2b", "#3aa7b8", "#5c6773")
LINES, WRONG, TOTAL = "#e4e1d9", "#c2394b", "#b4bcc6"
FEW_CONTACTS = 6
INSTANTS = 500  # of the path of one body among many
CONTACTS_AT_ONCE = 2**18  # read from the file
END: dict[str, Any] = {"marker": "o", "markersize": 7}
START = END | {"markerfacecolor": PAPER}
SMALL = END | {"markersize": 2.5}
MARKS = {"start": START, "end": END}


def draw(run: Trajectory, path: str | os.PathLike[str], what: str) -> None:
    """Write the picture called `what` to `path`."""
    pictures = {"path": draw_path, "energy": draw_energy, "impulses": draw_impulses, "residual": draw_residual}
    check_path(path)
    margins = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
    figure = Figure(figsize=(9.0, 6.0), dpi=100, facecolor=PAPER, layout=margins)
    pictures[what](run, figure)
    with rc_context({"agg.path.chunksize": 10_000}):  # without it, Agg refuses long lines
        write(figure, path)


# the path


def draw_path(run: Trajectory, figure: Figure) -> None:
    """Seen from above, with the height over time beside or below; from the side where the scene is planar.

    Of a system its coordinates over time.
    """
    head(figure, run, "Path")
    if run.header.world != SCENE:
        draw_coordinates(run, figure)
        return
    moving = np.flatnonzero(run.header.kind != Kind.STATIC)
    few = moving.size <= len(PALETTE)
    instants = np.arange(len(run) + 1) if few else np.linspace(0, len(run), min(INSTANTS, len(run) + 1)).astype(int)
    paths = np.array([drawable(run.position(body)[instants]) for body in moving]).reshape(-1, instants.size, 3)
    if run.header.planar:
        view, axes = (0, 2), figure.subplots()
    else:
        view, (axes, height) = (0, 1), path_and_height(figure, paths)
        draw_height(height, run, run.time[instants], paths)
    lines = paths[..., view]
    axes.add_collection(LineCollection(list(lines), zorder=3, **look(moving.size, 0.5)))
    axes.autoscale_view()
    dress(axes, f"{'xyz'[view[0]]} [m]", f"{'xyz'[view[1]]} [m]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    if few:
        mark_few(figure, axes, run, moving, lines)
    else:
        mark_many(figure, axes, lines)


def draw_coordinates(run: Trajectory, figure: Figure) -> None:
    axes = figure.subplots()
    paths = drawable(run.q).T
    draw_over_time(axes, run, run.time, paths, "coordinates q")
    if len(paths) <= len(PALETTE):
        named = enumerate(PALETTE[: len(paths)])
        legend(figure, [Line2D([], [], color=colour, linewidth=1.8, label=f"$q_{i}$") for i, colour in named])


def path_and_height(figure: Figure, paths: Floats) -> NDArray[Any]:
    """Two panels, arranged so that the first one suits what it shows from above."""
    wide, deep, _ = extent(paths)
    if deep > 0.5 * wide:
        return figure.subplots(1, 2, width_ratios=(3, 2))
    return figure.subplots(2, 1, height_ratios=(3, 1))


def draw_height(axes: Axes, run: Trajectory, time: Floats, paths: Floats) -> None:
    """A body that keeps its height to rounding is seen to do so: the axis spans a fiftieth of the ways at least."""
    draw_over_time(axes, run, time, paths[:, :, 2], "height z [m]")
    low, high = axes.get_ylim()
    missing = max(0.0, 0.02 * extent(paths).max() - (high - low))
    axes.set_ylim(low - missing / 2, high + missing / 2)


def draw_over_time(axes: Axes, run: Trajectory, time: Floats, values: Floats, label: str) -> None:
    """A line for each row of values."""
    lines = [np.column_stack([time, each]) for each in values]
    axes.add_collection(LineCollection(lines, zorder=3, **look(len(lines), 0.05)))
    axes.autoscale_view()
    dress(axes, "time [s]", label)
    over(axes, run)


def extent(paths: Floats) -> Floats:
    """Along x, y, z, of all that can be drawn."""
    seen = paths[np.isfinite(paths).all(axis=-1)]
    return np.ptp(seen, axis=0) if seen.size else np.zeros(3)


def look(count: int, faintest: float) -> dict[str, Any]:
    """A colour for each line while they suffice, then thin lines, the fainter the more there are."""
    if count <= len(PALETTE):
        return {"colors": PALETTE, "linewidths": 1.8}
    return {"colors": PALETTE[0], "linewidths": 0.7, "alpha": max(faintest, 0.5 - count / 1000)}


def mark_few(figure: Figure, axes: Axes, run: Trajectory, moving: Integers, lines: Floats) -> None:
    """Where each body starts and ends, with its shapes."""
    handles = []
    for body, line, colour in zip(moving, lines, PALETTE, strict=False):
        axes.plot(*line[:1].T, color=colour, zorder=4, **START)
        axes.plot(*line[-1:].T, color=colour, zorder=5, **END)
        view = (0, 2) if run.header.planar else (0, 1)
        for instant, strength in ((0, 0.35), (-1, 0.8)):  # faint at the start
            look = {"facecolor": (colour, 0.08 * strength), "edgecolor": (colour, strength)}
            draw_outline(axes, run, int(body), view, instant, linewidth=1.0, zorder=2, **look)
        handles.append(Line2D([], [], color=colour, linewidth=1.8, label=run.header.names[body]))
    handles += [Line2D([], [], color=INK, linestyle="", label=label, **mark) for label, mark in MARKS.items()]
    legend(figure, handles)


def mark_many(figure: Figure, axes: Axes, lines: Floats) -> None:
    """A dot where each body ends."""
    axes.plot(*lines[:, -1].T, color=INK, linestyle="", zorder=4, **SMALL)
    path = Line2D([], [], color=PALETTE[0], linewidth=1.0, label=f"path of each of {len(lines)} bodies")
    legend(figure, [path, Line2D([], [], color=INK, linestyle="", label="end", **SMALL)])


def draw_outline(axes: Axes, run: Trajectory, body: Named, view: tuple[int, ...], instant: int, **look: Any) -> None:
    """The shapes of a body as they are seen at an instant."""
    i, state = body_index(run.header, body), run.state(instant)
    for shape in np.flatnonzero(run.header.shape_body == i):
        edge = drawable(outline(run.header, int(shape), state.position[i], state.quaternion[i], (view[0], view[1])))
        axes.fill(*edge.T, **look)


def outline(header: Header, shape: int, centre: Floats, quaternion: Floats, view: tuple[int, int]) -> Floats:
    """The silhouette (k, 2) of a shape, seen along the axis that `view` leaves out: its support points all around.

    A plane has none.
    """
    angle = np.linspace(0.0, 2.0 * math.pi, 180, endpoint=False)
    direction = np.zeros((angle.size, 3))
    direction[:, view[0]], direction[:, view[1]] = np.cos(angle), np.sin(angle)
    turned = rotated(quaternion, header.shape_rotation[shape].T)  # the axes of the shape in the world, as rows
    points = support(header, shape, direction @ turned.T) @ turned
    return (points + centre + rotated(quaternion, header.shape_position[shape]))[:, view]


def support(header: Header, number: int, direction: Floats) -> Floats:
    """The point of a shape that lies farthest in each unit direction (k, 3), in shape axes."""
    axis, size = np.array([0.0, 0.0, 1.0]), header.shape_size[number]
    match Shape(header.shape[number]):
        case Shape.HULL:
            first, last = header.hull_range[number, :2]
            corners = header.hull_corner[first:last]
            return corners[np.argmax(direction @ corners.T, axis=1)]
        case Shape.SPHERE:
            return size[0] * direction
        case Shape.BOX:
            return np.copysign(size, direction)
        case Shape.CAPSULE:
            return size[0] * direction + np.copysign(size[1], direction[:, 2:]) * axis
        case Shape.CYLINDER:
            across = direction * [1.0, 1.0, 0.0]
            across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), np.finfo(np.float64).tiny)
            return size[0] * across + np.copysign(size[1], direction[:, 2:]) * axis
        case Shape.PLANE:
            return np.zeros((0, 3))


# energy


def draw_energy(run: Trajectory, figure: Figure) -> None:
    """Potential energy is counted from its lowest value, so that the three lines share a scale.

    That of a system is not known.
    """
    head(figure, run, "Energy")
    axes = figure.subplots()
    kinetic = drawable(run.kinetic)
    lines = [(kinetic, PALETTE[1], 1.6, "kinetic")]
    if run.header.world == SCENE:
        potential = drawable(run.potential)
        above = potential - (np.nanmin(potential) if np.isfinite(potential).any() else 0.0)
        total, part = (kinetic + above, TOTAL, 4.5, "total"), (above, PALETTE[0], 1.6, "potential, above its lowest")
        lines = [total, *lines, part]
    for values, colour, width, label in lines:
        axes.plot(run.time, values, color=colour, linewidth=width, label=label)
    dress(axes, "time [s]", "energy [J]")
    over(axes, run)
    axes.set_ylim(bottom=0.0)
    legend(figure, labelled(axes))


# impulses


def draw_impulses(run: Trajectory, figure: Figure) -> None:
    """A panel for each contact while there are few, the sums over all contacts otherwise."""
    if run.contact_count.max(initial=0) <= FEW_CONTACTS:
        table = run.contacts()
        keys, which = np.unique(
            np.column_stack([table.shape_a, table.shape_b, table.feature]), axis=0, return_inverse=True
        )
        if len(keys) <= FEW_CONTACTS:
            draw_each(run, figure, table, keys, which)
            return
    draw_sums(run, figure)


def draw_each(run: Trajectory, figure: Figure, table: ContactTable, keys: Integers, which: Integers) -> None:
    head(figure, run, "Contact impulses, each step")
    count = len(keys)
    columns = 1 if count <= 1 else 2 if count <= 4 else 3
    panels = figure.subplots(math.ceil(count / columns) or 1, columns, sharex=True, sharey=True, squeeze=False)
    top = usual_top(table.impulse[:, 0])
    for i, axes in enumerate(panels.flat):
        lowest = i >= count - columns
        dress(axes, "time [s]" if lowest else "", "" if i % columns else "impulse [N s]")
        axes.tick_params(labelbottom=lowest)
        over(axes, run)
        if i < count:
            own = table[which == i]
            draw_contact(axes, run, own)
            crop(axes, own.impulse[:, 0], top)
            axes.set_title(title(table, which, i), loc="left", fontsize=10, color=INK)
        elif count:
            axes.set_axis_off()
        else:
            axes.text(0.5, 0.5, "no contacts", transform=axes.transAxes, ha="center", color=INK)
    handles = [
        Line2D([], [], color=INK, linewidth=1.0, label="normal $p_n$"),
        Line2D([], [], color=INK, linewidth=1.0, linestyle=DASHED, label="most friction $μ p_n$"),
        *(
            Line2D([], [], color=COLOUR[state], linewidth=2.4, label=f"friction $|p_t|$, {NAME[state]}")
            for state in (State.STICK, State.SLIP)
        ),
    ]
    legend(figure, handles)


def draw_contact(axes: Axes, run: Trajectory, own: ContactTable) -> None:
    """Zero in the steps in which the contact was not there."""
    time = run.time[1:]
    normal, friction, bound = np.zeros((3, time.size))
    state = np.full(time.size, State.OPEN)
    normal[own.step] = own.impulse[:, 0]
    bound[own.step] = own.friction * own.impulse[:, 0]
    friction[own.step] = np.linalg.norm(own.impulse[:, 1:], axis=1)
    state[own.step] = own.state
    for kind in (State.STICK, State.SLIP):
        here = state == kind
        here[:-1] |= state[1:] == kind  # from the step before to the step after: a single step is seen, colours join
        here[1:] |= state[:-1] == kind
        axes.plot(
            time, np.where(here, drawable(friction), np.nan), color=COLOUR[kind], linewidth=2.4, solid_capstyle="butt"
        )
    axes.plot(time, drawable(normal), color=INK, linewidth=1.0)
    axes.plot(time, drawable(bound), color=INK, linewidth=1.0, linestyle=DASHED)


def title(table: ContactTable, which: Integers, i: int) -> str:
    """The two bodies, and a number where they touch more than once."""
    names = [table.name(int(np.argmax(which == k))) for k in range(int(which.max()) + 1)]
    number = f", contact {names[: i + 1].count(names[i])}" if names.count(names[i]) > 1 else ""
    return names[i] + number


def draw_sums(run: Trajectory, figure: Figure) -> None:
    head(figure, run, "Contact impulses, each step, summed over all contacts")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    normal, friction, bound = np.zeros((3, len(run)))
    states = np.zeros((len(State), len(run)))
    for table in tables(run):
        np.add.at(normal, table.step, table.impulse[:, 0])
        np.add.at(friction, table.step, np.linalg.norm(table.impulse[:, 1:], axis=1))
        np.add.at(bound, table.step, table.friction * table.impulse[:, 0])
        np.add.at(states, (table.state, table.step), 1)
    time = run.time[1:]
    top.plot(time, normal, color=INK, linewidth=1.2, label="normal $Σ p_n$")
    top.plot(time, bound, color=INK, linewidth=1.0, linestyle=DASHED, label="most friction $Σ μ p_n$")
    top.plot(time, friction, color=PALETTE[2], linewidth=1.8, label="friction $Σ |p_t|$")
    dress(top, "", "impulse [N s]")
    crop(top, normal, usual_top(normal))
    order = (State.STICK, State.SLIP, State.OPEN)
    bottom.stackplot(
        time,
        *(states[state] for state in order),
        colors=[COLOUR[state] for state in order],
        labels=[NAME[state] for state in order],
        linewidth=0,
    )
    dress(bottom, "time [s]", "contacts")
    over(bottom, run)
    legend(figure, labelled(top, bottom))


def tables(run: Trajectory) -> Iterator[ContactTable]:
    """The contacts of all steps, some steps at a time."""
    end = np.cumsum(run.contact_count)
    start = 0
    while start < len(run):
        read = end[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(end, read + CONTACTS_AT_ONCE, side="right")))
        yield run.contacts(step=slice(start, stop))
        start = stop


def usual_top(values: Floats) -> float | None:
    """Where the axis should end so that a few impacts, far above all other values, do not flatten these."""
    seen = values[np.isfinite(values) & (values > 0)]
    if seen.size == 0 or seen.max() <= 6 * np.quantile(seen, 0.97):
        return None
    return float(2 * np.quantile(seen, 0.97))


def crop(axes: Axes, values: Floats, top: float | None) -> None:
    """From 0 to the top, or to all that is drawn; what is cut off is said."""
    axes.set_ylim(0.0, top)
    peak = values.max(initial=0.0)
    if top is not None and peak > top:
        axes.set_title(f"peak {peak:.3g} N s", loc="right", fontsize=9, color=INK)


# residual


def draw_residual(run: Trajectory, figure: Figure) -> None:
    """On a logarithmic scale. A residual of zero, as that of a step without contacts, has no place on it."""
    head(figure, run, "Residual of each step")
    axes = figure.subplots()
    time, residual, tol = run.time[1:], drawable(run.residual), run.header.tol
    failed, positive = np.isin(np.arange(len(run)), run.failures), residual > 0
    solved, zero = positive & ~failed, np.sum((residual == 0) & ~failed)
    lowest, highest = np.min(residual[positive], initial=tol / 10), np.max(residual[positive], initial=10 * tol)
    dots: dict[str, Any] = {"linestyle": "", "marker": ".", "markersize": 5 if solved.sum() < 2000 else 2}
    axes.set_yscale("log")
    axes.set_ylim(lowest / 3, highest * 3)
    axes.plot(time[solved], residual[solved], color=PALETTE[0], label="solved", **dots)
    axes.axhline(tol, color=INK, linewidth=1.0, linestyle=DASHED, label=f"tol {tol:g}")
    if failed.any():
        shown = np.where(positive, residual, np.where(residual == 0, tol, highest))  # not finite: at the top
        label = f"failed, {failed.sum()} of {len(run)}"
        axes.plot(time[failed], shown[failed], color=WRONG, linestyle="", marker="x", markersize=7, label=label)
    if zero:
        axes.plot([], [], linestyle="", label=f"not shown: residual 0 in {counted(zero, 'step')}")
    dress(axes, "time [s]", "residual")
    over(axes, run)
    legend(figure, labelled(axes))


# what all pictures share


def head(figure: Figure, run: Trajectory, text: str) -> None:
    """What is shown, and below it of which run."""
    each = "" if math.isnan(run.header.dt) else f" of {run.header.dt:g} s"
    steps = f"{len(run)} steps{each}" + ("" if run.finished else ", cut off")
    method = f"{run.header.formulation} by {run.header.solver}"
    room = 125 - len(steps)
    method = method if len(method) <= room else method[: room - 3] + "..."
    figure.suptitle(f"{text}\n", x=0.015, ha="left", fontsize=14, color=INK, weight="bold")
    figure.text(0.015, 0.93, f"{steps}, {method}", va="center", fontsize=9.5, color=INK)


def dress(axes: Axes, across: str, up: str) -> None:
    axes.set_facecolor(PAPER)
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(color=LINES, linewidth=0.8)
    axes.set_axisbelow(True)


def over(axes: Axes, run: Trajectory) -> None:
    """The time axis spans the run."""
    first, last = run.time[[0, -1]]
    if last > first:
        axes.set_xlim(first, last)


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Below the panels, where it hides nothing."""
    columns = min(len(handles), 6)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9.5, labelcolor=INK
    )


def labelled(*panels: Axes) -> list[Artist]:
    return [handle for axes in panels for handle in axes.get_legend_handles_labels()[0]]


def drawable(values: Floats) -> Floats:
    """Numbers that fit on an axis; a gap where a run that diverged has others."""
    return np.where(np.abs(values) < 1e100, values, np.nan)
