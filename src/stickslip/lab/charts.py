"""Strips over time as SVG, drawn as the HTML replay draws them, for a panel of the page."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from stickslip.lab.tracks import Strips
from stickslip.scene.model import Floats, Integers
from stickslip.view.figures import COLOUR, INK, NAME, OPEN, SLIP, STICK
from stickslip.view.replay import FAILED, INEXACT
from stickslip.view.trajectories import LINES, PALETTE, WRONG

Tracks: TypeAlias = Sequence[tuple[str, Strips]]  # by name

WIDE, TALL, LEFT, RIGHT, TOP = 420, 66, 44, 6, 14  # of a panel, in units of the drawing
POINTS = 300  # of a line
TOTAL, KINETIC, POTENTIAL = "#5c6773", PALETTE[1], PALETTE[5]


def track_colour(k: int) -> str:
    """Of the first track, or of a ghost."""
    return PALETTE[(k + 2) % len(PALETTE) if k else 0]


class Axis:
    """Time across, one quantity up."""

    def __init__(self, top: float, times: tuple[float, float], low: float, high: float) -> None:
        self.top, self.times, self.low, self.high = top, times, low, high if high > low else low + 1.0

    def x(self, t: Floats) -> Floats:
        first, last = self.times
        return LEFT + (WIDE - LEFT - RIGHT) * (np.asarray(t) - first) / ((last - first) or 1.0)

    def y(self, value: Any) -> Floats:
        share = (np.asarray(value, float) - self.low) / (self.high - self.low)
        return self.top + TOP + (TALL - TOP - 6) * (1.0 - np.clip(share, 0.0, 1.0))

    def frame(self, title: str, ticks: Sequence[tuple[float, str]]) -> str:
        parts = [text(LEFT, self.top + 10, title, "start", bold=True)]
        for value, word in ticks:
            y = float(self.y(value))
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDE - RIGHT}" stroke="{LINES}"/>')
            parts.append(text(LEFT - 4, y + 3.5, word, "end"))
        return "".join(parts)

    def line(self, t: Floats, values: Floats, colour: str, width: float = 1.2, dashed: bool = False) -> str:
        seen = thinned(np.flatnonzero(np.isfinite(values)))
        if not len(seen):
            return ""
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(self.x(t[seen]), self.y(values[seen]), strict=True))
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'


def text(x: float, y: float, words: str, anchor: str, colour: str = INK, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>{html.escape(words)}</text>'


def chart(tracks: Tracks, apart: Sequence[Strips], tol: float, now: float, script: str) -> str:
    """The strips of all tracks: the first, and others as ghosts. `apart`: of each ghost its distance from the first
    over time; `script` is run at a click."""
    times, panels = span(tracks, now), panels_of(tracks, apart, tol)
    height = tall(len(panels))
    drawn = "".join(panel(TALL * i, times, tracks) for i, panel in enumerate(panels))
    axis = Axis(0.0, times, 0.0, 1.0)
    ticks = "".join(
        text(float(axis.x(t)), height - 3, f"{t:.4g} s", anchor)
        for t, anchor in zip(np.linspace(*times, 3), ("start", "middle", "end"), strict=True)
    )
    x = float(axis.x(np.clip(now, *times)))
    return (
        f'<svg id="stickslip-strips" viewBox="0 0 {WIDE} {height}" width="100%" style="display:block;cursor:crosshair;'
        f'background:#fcfbf8;font:9.5px system-ui,sans-serif" onclick="{html.escape(script)}">{drawn}{ticks}'
        f'<path d="M{x:.1f} 2V{height - 14}" stroke="{INK}"/></svg>'
    )


def panels_of(tracks: Tracks, apart: Sequence[Strips], tol: float) -> list[Any]:
    """The functions that draw them, each with what it needs."""
    panels: list[Any] = [partial(residuals, tol=tol), energies, contacts]
    if any(len(each["distance"]) for each in apart):
        panels.append(partial(distances, apart=apart))
    if any(np.any(strips.get("joint_error", 0.0)) for _, strips in tracks):
        panels.append(joint_errors)
    return panels


def tall(panels: int) -> int:
    """How high a drawing with so many panels is."""
    return TALL * panels + 16


def span(tracks: Tracks, now: float) -> tuple[float, float]:
    time = tracks[0][1]["time"]
    return (float(time[0]), float(max(time[-1], time[0] + 1e-9))) if len(time) else (now, now + 1.0)


def time_at(across: float, times: tuple[float, float]) -> float:
    """The time under a click at this share of the width of the drawing."""
    share = (across * WIDE - LEFT) / (WIDE - LEFT - RIGHT)
    return times[0] + min(max(share, 0.0), 1.0) * (times[1] - times[0])


def residuals(top: float, times: tuple[float, float], tracks: Tracks, tol: float) -> str:
    """Dots on a logarithmic scale, the tolerance dashed, a ring round inexact steps and a cross on failed ones."""
    logs = [logarithm(strips["residual"]) for _, strips in tracks]
    shown = np.concatenate(logs)
    shown = shown[np.isfinite(shown)]
    low = math.floor(min(np.min(shown, initial=0.0), math.log10(tol) - 1))
    high = math.ceil(max(np.max(shown, initial=-99.0), math.log10(tol) + 1))
    axis = Axis(top, times, low, high)
    parts = [axis.frame("residual", [(low, f"1e{low}"), (high, f"1e{high}")])]
    ends = np.array(times)
    parts.append(axis.line(ends, np.full(2, math.log10(tol)), INK, 1.0, dashed=True))
    marked = set()
    for k, ((name, strips), values) in enumerate(zip(tracks, logs, strict=True)):
        parts.append(dots(axis, strips["time"], values, track_colour(k)))
        for kind, mark in ((INEXACT, ring), (FAILED, cross)):
            at = np.flatnonzero(strips["mark"] == kind)[-POINTS:]
            marked |= {kind} if len(at) else set()
            height = axis.y(np.where(np.isfinite(values[at]), values[at], high))
            parts += [mark(x, y) for x, y in zip(axis.x(strips["time"][at]), height, strict=True)]
        parts.append(text(LEFT + 58 + 88 * k, top + 10, name, "start", track_colour(k)))
    if high - math.log10(tol) > 2:  # there is room for the word
        parts.append(text(LEFT - 4, float(axis.y(math.log10(tol))) + 3.5, "tol", "end"))
    words = " ".join(word for kind, word in ((INEXACT, "○ inexact"), (FAILED, "✕ failed")) if kind in marked)
    return "".join(parts) + text(WIDE - RIGHT, top + 10, words, "end", WRONG)


def dots(axis: Axis, t: Floats, values: Floats, colour: str) -> str:
    seen = thinned(np.flatnonzero(np.isfinite(values)))
    drawn = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in zip(axis.x(t[seen]), axis.y(values[seen]), strict=True))
    return f'<path d="{drawn}" stroke="{colour}" stroke-width="2.4" stroke-linecap="round"/>'


def ring(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="none" stroke="{WRONG}" stroke-width="1.4"/>'


def cross(x: float, y: float) -> str:
    return f'<path d="M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7" stroke="{WRONG}" stroke-width="1.6"/>'


def energies(top: float, times: tuple[float, float], tracks: Tracks) -> str:
    totals = [strips["kinetic"] + strips["potential"] for _, strips in tracks]
    high = max((float(np.max(total[np.isfinite(total)], initial=0.0)) for total in totals), default=0.0) or 1.0
    axis, first = Axis(top, times, 0.0, high), tracks[0][1]
    parts = [axis.frame("energy [J]", [(0.0, "0"), (high, short(high))])]
    parts.append(axis.line(first["time"], first["kinetic"], KINETIC))
    parts.append(axis.line(first["time"], first["potential"], POTENTIAL))
    for k, ((_, strips), total) in enumerate(zip(tracks, totals, strict=True)):
        parts.append(axis.line(strips["time"], total, track_colour(k) if k else TOTAL, 1.8))
    for i, (word, colour) in enumerate((("total", TOTAL), ("kinetic", KINETIC), ("potential", POTENTIAL))):
        parts.append(text(LEFT + 72 + 50 * i, top + 10, word, "start", colour))
    return "".join(parts)


def contacts(top: float, times: tuple[float, float], tracks: Tracks) -> str:
    """Those of the first track that stick, slip and are open, one on the other."""
    strips = tracks[0][1]
    t, counts = strips["time"], strips["counts"]
    pick = thinned(np.arange(len(t)))
    order = (STICK, SLIP, OPEN)
    stack = np.cumsum(counts[pick][:, list(order)], axis=1) if len(pick) else np.zeros((0, 3))
    high = float(np.max(stack, initial=1))
    axis = Axis(top, times, 0.0, high)
    parts = [axis.frame("contacts", [(0.0, "0"), (high, f"{high:g}")])]
    x = axis.x(t[pick])
    below = axis.y(np.zeros(len(pick)))
    for column, state in enumerate(order):
        above = axis.y(stack[:, column])
        points = [*zip(x, above, strict=True), *zip(x[::-1], below[::-1], strict=True)]
        outline = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polygon points="{outline}" fill="{COLOUR[state]}"/>')
        parts.append(text(LEFT + 72 + 60 * column, top + 10, NAME[state], "start", COLOUR[state]))
        below = above
    return "".join(parts)


def distances(top: float, times: tuple[float, float], tracks: Tracks, apart: Sequence[Strips]) -> str:
    high = max((float(np.max(each["distance"], initial=0.0)) for each in apart), default=0.0) or 1e-12
    axis = Axis(top, times, 0.0, high)
    parts = [axis.frame("distance of ghosts from the first [m]", [(0.0, "0"), (high, short(high))])]
    parts += [axis.line(each["time"], each["distance"], track_colour(k), 1.6) for k, each in enumerate(apart, 1)]
    return "".join(parts)


def joint_errors(top: float, times: tuple[float, float], tracks: Tracks) -> str:
    shown = [(strips["time"], logarithm(strips["joint_error"])) for _, strips in tracks if "joint_error" in strips]
    values = np.concatenate([value[np.isfinite(value)] for _, value in shown])
    low, high = math.floor(np.min(values, initial=-16.0)), math.ceil(np.max(values, initial=-15.0))
    axis = Axis(top, times, low, high)
    parts = [axis.frame("joint errors [m]", [(low, f"1e{low}"), (high, f"1e{high}")])]
    for k, (t, value) in enumerate(shown):
        parts.append(axis.line(t, value, track_colour(k)))
    return "".join(parts)


def short(value: float) -> str:
    """Three digits, two where it needs an exponent."""
    if 1e3 <= value < 1e5:
        return f"{value:.0f}"
    return f"{value:.3g}" if 1e-3 <= value < 1e3 else f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")


def thinned(which: Integers) -> Integers:
    """At most POINTS of them, evenly."""
    return which[np.unique(np.linspace(0, len(which) - 1, min(POINTS, len(which))).astype(int))]


def logarithm(values: Floats) -> Floats:
    """log10, NaN where there is none."""
    return np.log10(values, out=np.full(len(values), np.nan), where=values > 0)
