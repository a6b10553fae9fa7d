"""The picture of an audit: what a simulator's contacts did that Coulomb's law does not allow, over time."""

from __future__ import annotations

import os

import numpy as np

from stickslip.analysis.audit import MEASURES, Audit
from stickslip.checks import checked, instance
from stickslip.checks import path as file_path
from stickslip.view.comparisons import page
from stickslip.view.figures import INK, write
from stickslip.view.trajectories import PALETTE, dress

PANELS = (
    ("velocity [m/s]", ("wrong", "creep")),
    ("penetration [m]", ("penetration",)),
    ("acceleration [m/s², rad/s²]", ("difference",)),
)


@checked(audit=instance(Audit), path=file_path)
def draw_audit(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Velocities, penetration and the difference in acceleration, in panels with logarithmic axes."""
    panels = [(label, names) for label, names in PANELS if names[0] in audit.measures]
    sheet = page(8.6, 7.4, f"{audit.name}: contacts of {audit.title}", path)
    for axes, (label, names) in zip(sheet.subplots(len(panels), 1, sharex=True), panels, strict=True):
        for colour, name in zip(PALETTE, names, strict=False):
            values = np.where(audit.measures[name] > 0, audit.measures[name], np.nan)
            axes.plot(audit.time, values, color=colour, linewidth=1.2, label=MEASURES[name][0])
        if np.isfinite([line.get_ydata() for line in axes.lines]).any():
            axes.set_yscale("log")
        dress(axes, "", label)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, fontsize=8.5, frameon=False, labelcolor=INK)
    axes.set_xlabel("time [s]")
    write(sheet, path)
