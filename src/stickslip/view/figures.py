"""Pictures, drawn without a display.

Space is seen in parallel projection: a camera turned about z by `AZIMUTH` and raised by `ELEVATION` gives each point
a place on paper and a depth, growing towards the eye. Balls and forces are drawn from the back to the front.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stickslip.errors import FileError, replacing
from stickslip.problems.cone import ConeProblem
from stickslip.problems.contact_states import State, contact_states
from stickslip.problems.matrix import Dense, Indices, Vector

OPEN, STICK, SLIP = State
NAME = {OPEN: "open", STICK: "sticking", SLIP: "slipping"}
COLOUR = {OPEN: "#9aa5b1", STICK: "#1f6fd6", SLIP: "#f2711c"}
PAPER, INK, GROUND, GLASS = "#fcfbf8", "#26323f", "#efece4", (0.62, 0.69, 0.77)
AZIMUTH, ELEVATION = math.radians(24.0), math.radians(13.0)
DASHED = (0, (2, 2))
WIDEST = 11.0  # the line of the largest normal impulse, in points


def force_chains(
    problem: ConeProblem,
    positions: Dense,
    pairs: Indices,
    solution: Any,
    path: str | os.PathLike[str],
    *,
    radius: float,
) -> None:
    """Balls of one radius and the impulses between them: width shows the normal impulse, colour open, stick or slip.

    `positions` (nb, 3) are the centres, `pairs` (nc, 2) the balls A, B of each contact, B = -1 for the floor z = 0. A
    solution has the impulses x, the velocities y and their residual.
    """
    figure = Figure(figsize=(10.0, 6.25), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    state = contact_states(problem, solution.x, solution.y)
    draw_floor(axes, positions, radius)
    ball = glass_ball(160)
    for right, up, depth in project(positions):
        stamp(axes, ball, right, up, radius, radius, 10 + depth)
    draw_forces(axes, positions, pairs, solution.x[:: problem.dimension], state)
    right, up, _ = project(positions).T
    axes.set_aspect("equal")
    axes.set_xlim(right.min() - 4 * radius, right.max() + 4 * radius)
    axes.set_ylim(up.min() - 3 * radius, up.max() + 2.5 * radius)
    explain(figure, problem, len(positions), state, solution.residual)
    write(figure, path)


def project(points: Dense) -> Dense:
    """Right, up and depth of points (n, 3): a rotation."""
    z = np.array([0.0, 0.0, 1.0])
    right = np.array([math.cos(AZIMUTH), -math.sin(AZIMUTH), 0.0])
    away = np.array([math.sin(AZIMUTH), math.cos(AZIMUTH), 0.0])
    up = math.cos(ELEVATION) * z + math.sin(ELEVATION) * away
    towards = math.sin(ELEVATION) * z - math.cos(ELEVATION) * away
    return points @ np.column_stack([right, up, towards])


def draw_floor(axes: Axes, centres: Dense, radius: float) -> None:
    """The ground, with a soft shadow under each ball that touches it."""
    (left, front, _), (right, back, _) = centres.min(axis=0) - 3.2 * radius, centres.max(axis=0) + 3.2 * radius
    corners = project(np.array([[left, front, 0], [right, front, 0], [right, back, 0], [left, back, 0]]))
    axes.fill(corners[:, 0], corners[:, 1], color=GROUND, linewidth=0, zorder=0)
    x, y = square_grid(80)
    shadow = np.dstack([np.full((*x.shape, 3), 0.2), 0.38 * np.clip(1.0 - np.hypot(x, y), 0.0, 1.0) ** 1.3])
    low = centres[centres[:, 2] < 1.5 * radius]
    for right, up, _ in project(low * [1.0, 1.0, 0.0]):
        stamp(axes, shadow, right, up, 1.25 * radius, 2.0 * math.sin(ELEVATION) * radius, 1)


def glass_ball(pixels: int) -> Dense:
    """A ball lit from the upper left, as RGBA: its rim is seen, and through the middle what lies behind."""
    x, y = square_grid(pixels)
    distance = np.hypot(x, y)
    z = np.sqrt(np.clip(1.0 - distance**2, 0.0, None))
    diffuse = np.clip(-0.45 * x + 0.65 * y + 0.61 * z, 0.0, 1.0)
    glint = np.clip(-0.28 * x + 0.42 * y + 0.865 * z, 0.0, 1.0) ** 60
    colour = np.multiply.outer(0.55 + 0.55 * diffuse, GLASS)
    colour += (1.0 - colour) * (0.75 * glint)[..., None]
    outline = np.clip((1.0 - distance) * pixels / 3, 0.0, 1.0)
    opacity = (0.05 + 0.40 * (1.0 - z) ** 2.4 + 0.45 * glint) * outline
    return np.clip(np.dstack([colour, opacity]), 0.0, 1.0)


def square_grid(pixels: int) -> tuple[Dense, Dense]:
    """x to the right and y up over [-1, 1]², the first row on top as pictures have it."""
    line = np.linspace(-1.0, 1.0, pixels)
    x, y = np.meshgrid(line, -line)
    return x, y


def stamp(axes: Axes, picture: Dense, x: float, y: float, wide: float, high: float, order: float) -> None:
    axes.imshow(picture, extent=(x - wide, x + wide, y - high, y + high), zorder=order, interpolation="bilinear")


def draw_forces(axes: Axes, centres: Dense, pairs: Indices, normal: Vector, state: Indices) -> None:
    """A line for each contact, from centre to centre or down to the floor."""
    start = centres[pairs[:, 0]]
    on_floor = (pairs[:, 1] < 0)[:, None]
    end = np.where(on_floor, start * [1.0, 1.0, 0.0], centres[pairs[:, 1]])
    width = WIDEST * normal / max(float(normal.max(initial=0.0)), np.finfo(np.float64).tiny)
    for a, b, points, kind in zip(project(start), project(end), width, state, strict=True):
        line, order = ([a[0], b[0]], [a[1], b[1]]), 10 + (a[2] + b[2]) / 2
        if kind == OPEN:
            axes.plot(*line, color=COLOUR[OPEN], linewidth=0.6, linestyle=DASHED, alpha=0.45, zorder=order)
            continue
        for colour, thickness, opacity in (("white", points + 1.2, 0.55), (COLOUR[kind], max(points, 0.5), 0.92)):
            axes.plot(*line, color=colour, linewidth=thickness, alpha=opacity, zorder=order, solid_capstyle="round")


def explain(figure: Figure, problem: ConeProblem, balls: int, state: Indices, residual: float) -> None:
    friction = f"Coulomb friction μ = {problem.mu.max(initial=0.0):g}, residual {residual:.0e}"
    figure.text(0.04, 0.93, f"{balls} balls, {problem.contacts} contacts", fontsize=17, color=INK, weight="bold")
    figure.text(0.04, 0.885, friction, fontsize=11.5, color=INK)
    handles = [
        Line2D([], [], color=COLOUR[kind], linewidth=width, label=f"{NAME[kind]}  {np.sum(state == kind)}")
        for kind, width in ((STICK, 4.0), (SLIP, 4.0), (OPEN, 1.0))
    ]
    handles[-1].set_linestyle(DASHED)
    figure.legend(
        handles=handles, loc="upper right", bbox_to_anchor=(0.97, 0.965), frameon=False, fontsize=11.5, labelcolor=INK
    )


def write(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, saved where there is a path, complete or not at all."""
    if path is not None:
        check_path(path)
        with replacing(path) as temporary:
            figure.savefig(temporary)
    return figure


def check_path(path: str | os.PathLike[str]) -> None:
    """Is this a path that a picture can be written to?"""
    name = os.fspath(path)
    folder, suffix = os.path.dirname(name) or ".", os.path.splitext(name)[1]
    if suffix not in (".png", ".pdf", ".svg"):
        raise FileError(f"{name}: the name ends with {suffix!r}, expected .png, .pdf or .svg")
    if not os.path.isdir(folder):
        raise FileError(f"{name}: there is no folder {folder}")
    if os.path.isdir(name):
        raise FileError(f"{name}: this is a folder, expected the name of a picture")
