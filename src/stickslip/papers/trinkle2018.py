"""Trinkle, Add Coulomb friction, lecture notes, 13 April 2018: the Stewart–Trinkle LCP on a particle and on a sphere.

The notes have no numbers. Those here follow from their equations, with the printed errors corrected
(docs/trinkle2018.md); all are exact but for rounding. g = 9.81 m/s², h = 10 ms.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine.simulate import simulate
from stickslip.engine.trajectory import Trajectory
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.papers.report import Announce, Check, Report
from stickslip.scene.scene import Scene
from stickslip.scene.values import Vector3
from stickslip.view.comparisons import REFERENCE_LINE, page
from stickslip.view.figures import INK, write
from stickslip.view.trajectories import PALETTE, dress

H = 0.01  # [s]
EXACT = 1e-10
ANGLE = math.pi / 6  # of the velocity, from the first direction of friction
STOPS = {
    4: (0.399121278611, 0.348136665552),
    8: (0.385228822211, 0.177811311736),
    16: (0.340555295507, 0.217573225374),
    64: (0.342580613412, 0.202928690249),
}  # directions of friction, and where a particle of 2 m/s stops   [m]
SMALL_STEP = 1e-6  # for derivatives   [s]


def examples(announce: Announce) -> Report:
    announce("particles")
    checks = [*straight(), *oblique(), *impact()]
    announce("spheres")
    checks += [*rolling(), *rolling_obliquely(), *turning()]
    return Report(
        "The Stewart–Trinkle LCP",
        "as named",
        tuple(checks),
        (
            "Where an obliquely thrown particle stops depends on the directions of friction.",
            "The speed at which a sphere rolls does not: m v + (J/R²) R ω is kept whatever friction does.",
        ),
        draw=draw,
    )


def thrown(formulation: Formulation, velocity: Vector3, steps: int, height: float = 0.0) -> Trajectory:
    """A particle of 1 kg over the ground, μ = 0.5."""
    scene = Scene()
    scene.add_plane(friction=0.5)
    scene.add_particle(1.0, (0.0, 0.0, height), velocity, name="particle")
    return simulate(scene, steps * H, H, formulation, tol=1e-12)


def straight() -> list[Check]:
    run = thrown(StewartTrinkle(directions=4), (2.0, 0.0, 0.0), 60)
    v, x = run.velocity("particle")[:, 0], run.position("particle")[:, 0]
    return [
        Check("particle: p_n of a step [N s]", run.contacts(0).impulse[0, 0], 0.0981, EXACT),
        Check("particle: v after 1, 40, 41 steps [m/s]", v[[1, 40, 41]], (1.95095, 0.038, 0.0), EXACT),
        Check("particle: x where it stops [m]", x[-1], 0.39779, EXACT),
    ]


def oblique() -> list[Check]:
    return [
        Check(f"particle at 30°, n_d = {count}: x, y [m]", path_at_30_degrees(StewartTrinkle(count))[-1], stop, EXACT)
        for count, stop in STOPS.items()
    ]


def path_at_30_degrees(formulation: Formulation) -> np.ndarray:
    """(n + 1, 2)"""
    velocity = (2 * math.cos(ANGLE), 2 * math.sin(ANGLE), 0.0)
    return thrown(formulation, velocity, 70).position("particle")[:, :2]


def impact() -> list[Check]:
    """The gap closes in the first step, the velocity ends in the second."""
    run = thrown(StewartTrinkle(), (0.0, 0.0, -1.0), 3, height=0.001)
    p = [run.contacts(step).impulse[0, 0] for step in range(3)]
    return [
        Check("impact: p_n of three steps [N s]", p, (0.9981, 0.1981, 0.0981), EXACT),
        Check("impact: v_z after them [m/s]", run.velocity("particle")[1:, 2], (-0.1, 0.0, 0.0), EXACT),
    ]


def rolled(directions: int, velocity: tuple[float, float], dt: float) -> Trajectory:
    """A sphere of 2 kg and radius 0.5 m on the ground, μ = 0.3, for one second."""
    scene = Scene()
    scene.add_plane(friction=0.3)
    scene.add_sphere(0.5, mass=2.0, position=(0, 0, 0.5), velocity=(*velocity, 0.0), name="sphere")
    return simulate(scene, 1.0, dt, StewartTrinkle(directions))


def rolling() -> list[Check]:
    run = rolled(4, (7.0, 0.0), H)
    v, spin = run.velocity("sphere")[:, 0], run.spin("sphere")[:, 1]
    slip = v - 0.5 * spin
    return [
        Check("sphere: v, ω, slip after a step", (v[1], spin[1], slip[1]), (6.97057, 0.14715, 6.896995), EXACT),
        Check("sphere: first step that rolls", np.argmax(np.abs(slip) < 1e-9), 68, 0.0),
        Check("sphere: v = 5/7 v_0, ω, at the end", (v[-1], spin[-1]), (5.0, 10.0), EXACT),
        Check("sphere: x after 1 s [m]", run.position("sphere")[-1, 0], 5.6695846, EXACT),
    ]


def rolling_obliquely() -> list[Check]:
    velocity = (7 * math.cos(ANGLE), 7 * math.sin(ANGLE))
    ends = {count: rolled(count, velocity, 2e-3).velocity("sphere")[-1, :2] for count in (4, 8, 16)}
    known = (4.330127018922, 2.5)
    return [Check(f"sphere at 30°, n_d = {count}: v_x, v_y [m/s]", end, known, EXACT) for count, end in ends.items()]


def turning() -> list[Check]:
    """Derivatives of spin and quaternion of bodies in free flight, from a small step."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_sphere(0.1, mass=1.0, inertia=(1.0, 2.0, 3.0), spin=(1, 2, 3), name="top")
    half = math.sqrt(0.5)
    scene.add_sphere(0.1, mass=1.0, position=(9, 0, 0), orientation=(half, 0, 0, half), spin=(1, 0, 0), name="ball")
    run = simulate(scene, SMALL_STEP, SMALL_STEP, StewartTrinkle())
    spin = np.diff(run.spin("top"), axis=0)[0] / SMALL_STEP
    quaternion = np.diff(run.quaternion("ball"), axis=0)[0] / SMALL_STEP
    return [
        Check("J = diag ω = (1, 2, 3): dω/dt", spin, (-6.0, 3.0, -2 / 3), 1e-4),
        Check("q = (√½, 0, 0, √½), ω = (1, 0, 0): dq/dt", quaternion, (0.0, half / 2, -half / 2, 0.0), 1e-6),
    ]


# the figure


def draw(path: str) -> None:
    """The paths of the particle thrown at 30°, for several numbers of directions and for the round cone."""
    figure = page(9.6, 5.0, "A particle thrown at 30° to the directions of friction")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    round_cone = path_at_30_degrees(Coulomb())
    left.plot(*round_cone.T, label="round cone", **REFERENCE_LINE)
    for count, colour in zip(STOPS, PALETTE, strict=False):
        way = path_at_30_degrees(StewartTrinkle(count))
        left.plot(*way.T, color=colour, linewidth=1.6, label=f"{count} directions")
        left.plot(*way[-1:].T, color=colour, marker="o", markersize=6)
        right.plot([count], [math.dist(way[-1], round_cone[-1])], color=colour, marker="o", markersize=8, linestyle="")
    dress(left, "x [m]", "y [m]")
    left.set_aspect("equal", adjustable="datalim")
    left.legend(frameon=False, fontsize=9.5, labelcolor=INK)
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    dress(right, "directions of friction $n_d$", "from where the round cone stops it [m]")
    right.set_xticks(list(STOPS), [str(count) for count in STOPS])
    right.minorticks_off()
    write(figure, path)
