"""The picture of a jamming diagram: which pushes a world at rest holds, state of contact by state of contact."""

from __future__ import annotations

import os
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Polygon

from stickslip.analysis.pushing import JammingDiagram
from stickslip.checks import checked, heading, instance
from stickslip.checks import path as file_path
from stickslip.view.comparisons import page
from stickslip.view.figures import INK, write
from stickslip.view.trajectories import PALETTE, WRONG, dress

MOST_NAMED = 8  # states of contact that the legend lists


@checked(diagram=instance(JammingDiagram), path=file_path, title=heading)
def draw_jamming_diagram(diagram: JammingDiagram, path: str | os.PathLike[str], title: str = "") -> None:
    """Pushes that are held, in a colour for each state of contact; a state that wedges is hatched. White goes on."""
    wedge = ", and it wedges" if diagram.wedges else ""
    sheet = page(8.6, 6.0, title or f"{diagram.now.name}: pushes that jam{wedge}", path)
    axes = sheet.subplots()
    draw_states(axes, diagram)
    write(sheet, path)


def draw_states(axes: Axes, diagram: JammingDiagram) -> None:
    handles: list[Patch] = []
    for i, state in enumerate(diagram.states):
        colour = WRONG if state.wedges else PALETTE[i % len(PALETTE)]
        if len(state.outline) > 2:
            look: dict[str, Any] = {"hatch": "//", "edgecolor": colour} if state.wedges else {}
            axes.add_patch(Polygon(state.outline, facecolor=colour, alpha=0.22, linewidth=0, **look))
            axes.add_patch(Polygon(state.outline, fill=False, edgecolor=colour, linewidth=1.4))
        does = "wedges" if state.wedges else "jams"
        names = ", ".join(name.removeprefix("contact ").strip("'") for name in state.names)
        handles.append(Patch(facecolor=colour, alpha=0.4, label=f"{does}: {names}"))
    (x0, x1), (y0, y1) = diagram.window
    axes.axhline(0.0, color=INK, linewidth=0.7)
    axes.axvline(0.0, color=INK, linewidth=0.7)
    dress(axes, *diagram.labels)
    axes.set(xlim=(x0, x1), ylim=(y0, y1))
    if not diagram.wedges:
        handles.append(Patch(facecolor="none", edgecolor=INK, label="goes on"))
    axes.legend(
        handles=handles[:MOST_NAMED], loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=9,
        frameon=False, labelcolor=INK,
    )  # fmt: skip
