"""Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011.

A table of 10 kg stands on four legs with springs of 1, 2, 3 and 4 MN/m. As all of them stiffen, compliances s D with
s -> 0, the forces tend to those of the rigid table that minimise Σ λ²/k. The paper has no numbers; those here were
recomputed independently from its equations, with the printed errors corrected (docs/preclik.md).

Its friction is the associated law, under which what slides also lifts: u_n = μ |u_t|.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from stickslip.engine.stiff_limit import StiffLimit, stiff_limit
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.compliant_cylinder import CompliantCylinder
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.papers.report import Announce, Check, Report
from stickslip.papers.trinkle2018 import thrown
from stickslip.view.comparisons import page
from stickslip.view.figures import DASHED, INK, write
from stickslip.view.trajectories import PALETTE, dress

H, GRAVITY = 0.01, 9.81  # [s], [m/s²]
STIFFNESS = 1e6 * np.arange(1.0, 5.0)  # of the legs   [N/m]
FEET = np.array([[0.5, 0.4, -0.7], [-0.5, 0.4, -0.7], [-0.5, -0.4, -0.7], [0.5, -0.4, -0.7]])  # [m]
MASS = np.diag([10.0, 10.0, 10.0, 1.0, 1.5, 2.0])
AT, AT_THE_EDGE = (0.2, 0.1, 0.0), (0.45, 0.15, 0.0)  # where the table is loaded   [m]
SCALES = (1.0, 1e-2, 1e-4)
ALONG = (1.0, 0.0, 0.0)  # velocity of the particle that slides   [m/s]

WELDED = (23.378, 38.172, 16.878, 39.672)  # forces of the legs   [N]
WELDED_EQUAL = (32.775, 28.775, 26.275, 30.275)
WELDED_SOFT = (23.0201945587, 37.6080197881, 16.7898030922, 39.2511427816)
PULLING = (131.958, 123.342, -59.292, 202.092)
LIFTED = (191.25, 64.05, 0.0, 142.8)
INSIDE = (
    (25.254, -0.7689906348, -0.0491155047),
    (38.046, -1.5379812695, -0.7017689906),
    (12.804, -1.5827263267, -1.0526534860),
    (41.996, -2.1103017690, -0.1964620187),
)  # normal and two tangents
SATURATED = (
    (28.2210641593, -2.1039386868, -0.2098905697),
    (37.7039358407, -4.2078773736, -2.0133393711),
    (6.8460641593, -2.8221223632, -1.9372077806),
    (45.3289358407, -5.8660615764, -0.8395622786),
)


def examples(announce: Announce) -> Report:
    announce("legs of a table")
    welded, edge = welded_table((0.0, 0.0, -20.0), AT), (0.0, 0.0, -300.0)
    standing = {
        "inside": stiff_limit(standing_table((6.0, 2.0, -20.0), AT, 0.5)),
        "one on its cone": stiff_limit(standing_table((15.0, 5.0, -20.0), AT, 0.5)),
    }
    limit, pulling = stiff_limit(welded), stiff_limit(welded_table(edge, AT_THE_EDGE))
    lifted = stiff_limit(standing_table(edge, AT_THE_EDGE, 0.0))
    checks = [
        Check("welded legs: limit", limit.forces, WELDED, 1e-8),
        Check("welded legs: s = 1", limit.path(1.0)[0], WELDED_SOFT, 1e-8),
        Check("welded legs, equal springs: limit", stiff_limit(welded, np.ones(4)).forces, WELDED_EQUAL, 1e-8),
        Check("welded, load at the edge: limit", pulling.forces, PULLING, 1e-8),
        Check("standing, load at the edge: limit", lifted.forces[::3], LIFTED, 1e-8),
    ]
    for (name, found), known in zip(standing.items(), (INSIDE, SATURATED), strict=True):
        for leg, (ours, expected) in enumerate(zip(found.forces.reshape(4, 3), known, strict=True), 1):
            checks.append(Check(f"friction, {name}: leg {leg}", ours, expected, 1e-8))
    announce("what slides lifts")
    checks += artefact()
    errors = {"welded legs": limit, "no friction, one leg lifts": lifted} | {
        f"friction, {name}": found for name, found in standing.items()
    }
    return Report(
        "The stiff limit of a table on four legs, and the lift of the associated law",
        "forces [N]; particle as named",
        tuple(checks),
        (
            *(
                f"Error for s = 1, 1e-2, 1e-4, {name}: {', '.join(f'{e:.2e}' for e in found.errors(SCALES))} N."
                for name, found in errors.items()
            ),
            "It falls with s: order one. The associated law makes what slides lift, u_n = μ |u_t|; Coulomb's does not.",
        ),
        digits=6,
        draw=partial(draw, errors),
    )


def momentum(load: tuple[float, float, float], at: tuple[float, float, float]) -> np.ndarray:
    """After a step without legs, of the table with its weight and a load."""
    return H * np.concatenate([np.array(load) - [0.0, 0.0, 10.0 * GRAVITY], np.cross(at, load)])


def columns(arms: np.ndarray) -> np.ndarray:
    """H of contacts with the floor at these arms from the centre of mass: normal z, tangents x and y."""
    frame = np.eye(3)[[2, 0, 1]]
    return np.hstack([np.vstack([frame.T, np.cross(arm, frame).T]) for arm in arms])


def welded_table(load: tuple[float, float, float], at: tuple[float, float, float]) -> ContactProblem:
    """Legs that also pull: rows of joints."""
    return ContactProblem(
        H, MASS, momentum(load, at), np.zeros(6), np.zeros((6, 0)), np.zeros(0),
        G=columns(FEET)[:, ::3], compliance=1 / (H**2 * STIFFNESS),
    )  # fmt: skip


def standing_table(load: tuple[float, float, float], at: tuple[float, float, float], mu: float) -> ContactProblem:
    """Legs that stand on the floor, as stiff along it as across."""
    return ContactProblem(
        H, MASS, momentum(load, at), np.zeros(6), columns(FEET), np.full(4, mu),
        stiffness=STIFFNESS, stiffness_tangent=STIFFNESS,
    )  # fmt: skip


# what slides lifts


def artefact() -> list[Check]:
    checks = []
    for name, formulation, p, v in (
        ("cone", CompliantCone(), (0.47848, -0.23924), (0.76076, 0.38038)),
        ("cylinder", CompliantCylinder(), (0.0981, -0.04905), (0.95095, 0.0)),
        ("Coulomb", Coulomb(), (0.0981, -0.04905), (0.95095, 0.0)),
    ):
        run = thrown(formulation, ALONG, steps=1)
        impulse, velocity = run.contacts(0).impulse[0, :2], run.velocity("particle")[-1, [0, 2]]
        checks.append(Check(f"particle, {name}: p_n, p_t [N s]", impulse, p, 1e-10))
        checks.append(Check(f"particle, {name}: v_x, v_z [m/s]", velocity, v, 1e-10))
    return checks


# the figure


def draw(limits: dict[str, StiffLimit], path: str) -> None:
    """The error along the path to the stiff limit, and the height of a particle that slides."""
    figure = page(10.0, 4.8, "Springs that stiffen, and the lift of the associated law")
    left, right = figure.subplots(1, 2)
    draw_errors(left, limits)
    draw_heights(right)
    write(figure, path)


def draw_errors(axes: Axes, limits: dict[str, StiffLimit]) -> None:
    scales = np.logspace(-4, 1, 11)
    for (name, limit), colour in zip(limits.items(), PALETTE, strict=False):
        axes.loglog(scales, limit.errors(scales), color=colour, marker="o", markersize=4, linewidth=1.4, label=name)
    axes.loglog(scales, 0.1 * scales, color=INK, linewidth=1.0, linestyle=DASHED, label="order 1")
    dress(axes, "scale $s$ of the compliances", "largest error of a force [N]")
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)


def draw_heights(axes: Axes) -> None:
    """Under the cone a particle jumps, and then slides at the height h μ |u_t|, in contact all the same."""
    laws = CompliantCone(), CompliantCylinder(), Coulomb()
    lifted, flat, coulomb = (thrown(law, ALONG, steps=30) for law in laws)
    cushion = 0.5 * H * np.abs(lifted.velocity("particle")[:, 0])
    axes.plot(lifted.time, 1e3 * lifted.position("particle")[:, 2], color=PALETTE[0], linewidth=1.8, label="cone")
    axes.plot(lifted.time, 1e3 * cushion, color=INK, linewidth=1.0, linestyle=DASHED, label="$h μ |u_t|$ of it")
    axes.plot(flat.time, 1e3 * flat.position("particle")[:, 2], color=PALETTE[1], linewidth=4.0, label="cylinder")
    axes.plot(coulomb.time, 1e3 * coulomb.position("particle")[:, 2], color=PALETTE[2], linewidth=1.4, label="Coulomb")
    dress(axes, "time [s]", "height of a sliding particle [mm]")
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
