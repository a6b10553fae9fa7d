"""Pictures of one contact of the user's own world: its generalized friction cone, its solutions, its limit surface.

`draw_cone` is figure 2 of Peiret, Kövecses and Font-Llagunes 2019 for any coupling: the velocity changes W λ of unit
normal impulses with friction all the way round, in space and in a section through the normal. `draw_solutions` is their
figure 4 for any `solvability`: what the other forces do to the contact (δu₀), what the contact forces add (δu_c), and
both (du). `draw_limit_surface` shows the friction that a contact over a patch can carry at its normal force, and the
load on it (Trinkle and Pang).
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from stickslip.analysis.coupling import FrictionCoupling, unit
from stickslip.analysis.solvability import ContactSolution, Solvability
from stickslip.checks import checked, heading, instance, not_negative, vector, whole
from stickslip.checks import path as file_path
from stickslip.errors import InputError
from stickslip.problems.friction_sets import nearest
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Vector
from stickslip.view.comparisons import page
from stickslip.view.figures import DASHED, INK, PAPER, write
from stickslip.view.trajectories import LINES, PALETTE, TOTAL, WRONG, dress

RIM = 97  # points of a cone's rim
MESH = 61  # of a limit surface, in either angle; every other one is drawn as an edge
WIDE = 6.2  # inches that a panel takes
ABOVE, BELOW = (9.0, 13.0), (9.0, -17.0)  # where the label of an arrow is, from its middle   [points]


# the generalized friction cone


def frictions_kind(owner: str, field: str, value: Any) -> tuple[float, ...]:
    """A kind of argument: one friction coefficient or several."""
    given = value if isinstance(value, tuple | list) and value else (value,)
    return tuple(not_negative(owner, field, each, "one friction coefficient >= 0, or several") for each in given)


@checked(coupling=instance(FrictionCoupling), mu=frictions_kind, path=file_path, title=heading)
def draw_cone(
    coupling: FrictionCoupling,
    mu: float | tuple[float, ...],
    path: str | os.PathLike[str],
    direction: ArrayLike | None = None,
    title: str = "",
) -> None:
    """The generalized friction cone for one or more coefficients, in space (of a contact in space) and in the section
    through the normal and `direction`, which is where it jams first if nothing is said."""
    frictions: Any = mu
    flat = len(coupling.W) == 2
    sheet = page(
        WIDE if flat else 2 * WIDE, 5.6, title or f"Generalized friction cone, μ_jam = {coupling.mu_jam:.4g}", path
    )
    if not flat:
        space: Any = sheet.add_subplot(1, 2, 1, projection="3d")
        rims = [coupling.cone(one).surface(RIM) for one in frictions]
        labels = tuple(f"$δu_{axis}$ [1/kg]" for axis in "ton")
        draw_space(space, 1.05 * max(float(np.abs(rim).max()) for rim in rims), labels)
        for i, one in enumerate(frictions):
            draw_cone_in_space(space, coupling, one, PALETTE[i % len(PALETTE)])
        space.legend(fontsize=9, frameon=False, loc="upper left", labelcolor=INK)
    draw_section(sheet.add_subplot(1, 1 if flat else 2, 1 if flat else 2), coupling, frictions, direction)
    write(sheet, path)


def draw_space(axes: Any, half: float, labels: tuple[str, ...]) -> None:
    """The tangent plane, as wide as twice `half`, the normal, the three axes and the view."""
    square = np.array([[-half, half], [-half, half]])
    axes.plot_surface(square, square.T, np.zeros((2, 2)), color=INK, alpha=0.10, linewidth=0)
    axes.plot([0, 0], [0, 0], [0, half], color=INK, linewidth=1, linestyle=DASHED)
    axes.set(xlim=(-half, half), ylim=(-half, half), zlim=(-half / 3, half))
    axes.set_box_aspect((1, 1, 0.72), zoom=0.95)
    dress_space(axes, labels)
    axes.zaxis.labelpad = -1


def dress_space(axes: Any, labels: tuple[str, ...], elevation: float = 14, azimuth: float = -66) -> None:
    """As `dress` does in the plane, seen from there   [°]."""
    axes.tick_params(colors=INK, labelsize=7)
    axes.view_init(elev=elevation, azim=azimuth)
    axes.set_facecolor(PAPER)
    for axis, label in zip((axes.xaxis, axes.yaxis, axes.zaxis), labels, strict=True):
        axis.set_label_text(label, color=INK)
        axis.set_pane_color(PAPER)
        axis._axinfo["grid"].update(color=LINES, linewidth=0.6)
        axis.set_major_locator(MaxNLocator(4))


def draw_cone_in_space(axes: Any, coupling: FrictionCoupling, mu: float, colour: str) -> None:
    """The velocity changes by unit normal impulse, as the rim of a cone with its vertex at rest."""
    n, x, y = coupling.cone(mu).surface(RIM).T
    scale = np.linspace(0.0, 1.0, 2)[:, None]
    axes.plot_surface(scale * x, scale * y, scale * n, color=colour, alpha=0.25, linewidth=0, rstride=1, cstride=1)
    axes.plot(x, y, n, color=colour, linewidth=2, label=f"μ = {mu:.3g}")
    for i in range(0, RIM - 1, 12):
        axes.plot([0, x[i]], [0, y[i]], [0, n[i]], color=colour, linewidth=0.6)


def draw_section(
    axes: Axes, coupling: FrictionCoupling, frictions: tuple[float, ...], direction: ArrayLike | None
) -> None:
    """The plane of the normal and a direction: between which lines contact forces in that plane change the velocity."""
    tangents = coupling.h.size
    if direction is None:
        e = coupling.e_jam if coupling.e_jam.any() else np.eye(tangents)[0]
    else:
        e = unit(direction, tangents)
    reach = 0.0
    for i, mu in enumerate(frictions):
        edges = [coupling.W @ np.concatenate([[1.0], side * mu * e]) for side in (-1.0, 1.0)]
        corners = np.array([[0.0, 0.0], *[(edge[1:] @ e, edge[0]) for edge in edges]])
        colour = PALETTE[i % len(PALETTE)]
        axes.add_patch(Polygon(corners, closed=True, facecolor=colour, alpha=0.16, linewidth=0))
        jams = coupling.margin(e, mu) < 0
        axes.plot(*corners[[0, 2]].T, color=colour, linewidth=1.2, label=f"μ = {mu:.3g}")
        axes.plot(*corners[[0, 1]].T, color=colour, linewidth=3.0 if jams else 1.2)
        reach = max(reach, float(np.abs(corners).max()))
    axes.axhspan(-2 * reach, 0, color=TOTAL, alpha=0.22, zorder=0, linewidth=0)
    axes.axhline(0.0, color=INK, linewidth=1.0)
    axes.text(-1.03 * reach, -0.06 * reach, "closes", color=INK, fontsize=9, va="top")
    dress(axes, "along the slip direction [1/kg]", "normal [1/kg]")
    way = ", ".join(f"{part:.3g}" for part in e)
    axes.set_title(f"section along ({way}); thick: friction against it jams", loc="left", fontsize=10, color=INK)
    axes.legend(fontsize=9, frameon=False, labelcolor=INK)
    axes.set_aspect("equal")
    axes.set(xlim=(-1.08 * reach, 1.08 * reach), ylim=(-0.45 * reach, 1.08 * reach))


# the solutions


@checked(found=instance(Solvability), path=file_path, contact=whole, title=heading)
def draw_solutions(found: Solvability, path: str | os.PathLike[str], contact: int = 0, title: str = "") -> None:
    """Each solution as a diagram of one contact: the load δu₀, what contact forces add, and what comes of both."""
    if contact >= found.problem.contacts:
        raise InputError(
            f"draw_solutions: contact is {contact}, expected a number below {found.problem.contacts}, the contacts"
        )
    d = found.free.size // found.problem.contacts
    shown: list[ContactSolution | None] = [*found.solutions] or [None]
    across, down = min(len(shown), 3), math.ceil(len(shown) / 3)
    heading = title or found.describe().splitlines()[0].split(" (")[0]
    if found.names:
        heading += f": {found.names[contact]}"
    sheet = page(WIDE * across if across > 1 else 1.3 * WIDE, 4.6 * down, heading, path)
    e = plane_of(found, contact, d)
    for number, solution in enumerate(shown):
        draw_diagram(sheet.add_subplot(down, across, number + 1), found, solution, contact, d, e)
    write(sheet, path)


def plane_of(found: Solvability, contact: int, d: int) -> Vector:
    """The direction in the tangent plane that is drawn: that of the slip, of the load, or of the coupling."""
    own = slice(d * contact, d * (contact + 1))
    for given in (found.slip[contact, :2], found.free[own][1:3], found.W[own, own][0, 1:3]):
        way = np.zeros(d - 1)
        way[: given.size] = given[: d - 1]
        if np.linalg.norm(way) > 1e-12 * (1 + np.linalg.norm(found.free)):
            return way / float(np.linalg.norm(way))
    return np.eye(d - 1)[0]


def draw_diagram(
    axes: Axes, found: Solvability, solution: ContactSolution | None, contact: int, d: int, e: Vector
) -> None:
    own = slice(d * contact, d * (contact + 1))
    to_plane = np.zeros((2, d))
    to_plane[0, 1:], to_plane[1, 0] = e, 1.0  # along the direction, along the normal
    W, mu, load = to_plane @ found.W[own, own], float(found.problem.mu[contact]), to_plane @ found.free[own]
    edges = [W @ np.concatenate([[1.0], side * mu * e]) for side in (-1.0, 1.0)]
    total = load if solution is None else to_plane @ solution.acceleration[own]
    reach = 1.25 * max(float(np.abs([load, total]).max()), 1e-9)
    far = 40 * reach / min(float(np.linalg.norm(edge)) for edge in edges)
    corners = np.array([[0.0, 0.0], *(far * edge for edge in edges)])
    axes.add_patch(Polygon(corners, closed=True, facecolor=PALETTE[0], alpha=0.12, linewidth=0))
    axes.plot(*corners[[0, 2]].T, color=PALETTE[0], linewidth=0.8)
    axes.plot(*corners[[0, 1]].T, color=PALETTE[0], linewidth=2.2 if found.slip[contact].any() else 0.8)
    axes.axhspan(-4 * reach, 0, color=TOTAL, alpha=0.22, zorder=0, linewidth=0)
    axes.axhline(0.0, color=INK, linewidth=1.0)
    free = np.abs(total - load).max() <= 1e-9 * reach
    if solution is None:
        words = "no solution: every force closes the contact"
        arrow(axes, np.zeros(2), load, PALETTE[3], "$δu_0$", ABOVE)
        along = edges[0] / np.linalg.norm(edges[0]) * 0.6 * reach
        arrow(axes, load, load + along, WRONG, "$δu_c$", BELOW)
    else:
        words = f"{solution.modes[contact]}, normal force {solution.force[d * contact]:.4g}"
        arrow(axes, np.zeros(2), load, PALETTE[3], "$du = δu_0$" if free else "$δu_0$", ABOVE)
        if not free:
            arrow(axes, load, total, PALETTE[1], "$δu_c$", ABOVE)
        if not free and np.abs(total).max() > 1e-9 * reach:
            arrow(axes, np.zeros(2), total, PALETTE[2], "$du$", BELOW)
    axes.set_title(words, loc="left", fontsize=10, color=INK)
    dress(axes, "along the slip", "normal")
    axes.set_aspect("equal")
    axes.set(xlim=(-1.2 * reach, 1.2 * reach), ylim=(-1.05 * reach, 1.05 * reach))


def arrow(axes: Axes, start: Vector, end: Vector, colour: str, label: str, beside: tuple[float, float]) -> None:
    """Between two places, with a label beside its middle   [points]."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.0, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
    axes.annotate("", tuple(end), tuple(start), arrowprops=look, zorder=6)
    side = "left" if beside[0] > 0 else "right" if beside[0] < 0 else "center"
    behind = {"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 1.0}
    axes.annotate(
        label, tuple((start + end) / 2), beside, textcoords="offset points", ha=side, va="center", color=colour,
        fontsize=11, zorder=7, bbox=behind,
    )  # fmt: skip


# limit surfaces


@checked(problem=instance(LimitSurfaceProblem), path=file_path, contact=whole, title=heading)
def draw_limit_surface(
    problem: LimitSurfaceProblem,
    forces: ArrayLike,
    path: str | os.PathLike[str],
    contact: int = 0,
    title: str = "",
) -> None:
    """What friction a contact can carry at its normal force, (c_t, c_o, c_r), and the load that it does carry; `forces`
    (4 nc,) of all contacts."""
    if contact >= problem.contacts:
        raise InputError(f"draw_limit_surface: contact is {contact}, expected a number below {problem.contacts}")
    c = vector("draw_limit_surface", "forces", forces, problem.size).reshape(-1, 4)[contact]
    surface = boundary(problem, contact, float(c[0]))
    load = c[1:]
    share = gauge_of(problem, contact, float(c[0]), load)
    heading = title or f"Limit surface at {c[0]:.4g} N; the load takes {100 * share:.3g} % of it"
    sheet = page(2 * WIDE, 5.0, heading, path)
    space: Any = sheet.add_subplot(1, 2, 1, projection="3d")
    x, y, z = surface[:, ::2, ::2]
    space.plot_surface(x, y, z, color=PALETTE[0], alpha=0.22, linewidth=0.2, edgecolor=PAPER, rstride=1, cstride=1)
    space.plot([0, load[0]], [0, load[1]], [0, load[2]], color=PALETTE[1], linewidth=2)
    space.plot([load[0]], [load[1]], [load[2]], "o", color=PALETTE[1], markersize=7)
    dress_space(space, ("$c_t$ [N]", "$c_o$ [N]", "$c_r$ [N m]"))
    flat = sheet.add_subplot(1, 2, 2)
    draw_flat(flat, surface, load)
    write(sheet, path)


def draw_flat(axes: Axes, surface: Dense, load: Vector) -> None:
    """Force against moment: the outline of the surface seen along the direction across the load's force."""
    force_of_load = float(np.linalg.norm(load[:2]))
    along: Vector = load[:2] / force_of_load if force_of_load > 0 else np.array([1.0, 0.0])
    x, y, z = surface
    force, moment = (along[0] * x + along[1] * y).ravel(), z.ravel()
    angle = np.linspace(0.0, 2 * np.pi, 361)
    size = np.array([max(np.abs(force).max(), 1e-300), max(np.abs(moment).max(), 1e-300)])
    points = np.column_stack([force, moment]) / size
    outline = points[[int(np.argmax(points @ [math.cos(a), math.sin(a)])) for a in angle]] * size
    outline = np.vstack([outline, outline[:1]])
    axes.fill(*outline.T, color=PALETTE[0], alpha=0.16, linewidth=0)
    axes.plot(*outline.T, color=PALETTE[0], linewidth=1.6)
    axes.plot([0.0, force_of_load], [0.0, float(load[2])], color=PALETTE[1], linewidth=2)
    axes.plot([force_of_load], [float(load[2])], "o", color=PALETTE[1], markersize=8)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    dress(axes, f"force along ({along[0]:.3g}, {along[1]:.3g}) [N]", "moment about the normal [N m]")


def boundary(problem: LimitSurfaceProblem, contact: int, normal: float) -> Dense:
    """(3, MESH, MESH) points of the surface: far points brought to the nearest of the set."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, MESH), np.linspace(0, 2 * np.pi, MESH))
    far = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)])
    s = np.array([[onto_set(problem, contact, normal, 100 * point) for point in row] for row in far.transpose(1, 2, 0)])
    points: Dense = (s * problem.e[contact]).transpose(2, 0, 1)
    return points


def onto_set(problem: LimitSurfaceProblem, contact: int, normal: float, s: Vector) -> Vector:
    """The nearest friction to s, in forces c / e."""
    form, bound = problem.scaled, float(problem.mu[contact]) * max(normal, 0.0)
    near, D, (kind, first, last) = np.empty(3), np.empty((3, 3)), form.set.kind[contact]
    scale = bound if bound > 0 else 1.0
    target = np.ascontiguousarray(s * scale, np.float64)
    own = form.set.planes[first:last]
    nearest(kind, own, form.set.gauge, form.state[contact], form.alive[contact], bound, target, near, D, False)
    return near


def gauge_of(problem: LimitSurfaceProblem, contact: int, normal: float, load: Vector) -> float:
    """By how much the load, on its ray from the middle, fills the set: 1 on the surface."""
    e, bound = problem.e[contact], float(problem.mu[contact]) * max(normal, 0.0)
    s = np.divide(load, e, out=np.zeros(3), where=e > 0)
    length = float(np.linalg.norm(s))
    if length == 0 or bound == 0:
        return 0.0
    low, high = 0.0, 4.0 * bound  # the ray leaves the set between them
    for _ in range(60):
        middle = (low + high) / 2
        point = middle * s / length
        inside = np.linalg.norm(onto_set(problem, contact, normal, point / bound) - point) <= 1e-9 * bound
        low, high = (middle, high) if inside else (low, middle)
    return length / low
