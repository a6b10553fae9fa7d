"""Peiret, Kövecses, Font-Llagunes, A friction model for non-singular complementarity formulations for multibody systems
with contacts, DETC2017-67988: a cube slides and spins on the ground until friction stops it.

The paper prints no numbers for its figure 4. Those here were recomputed from its equations, with the printed errors
corrected (docs/peiret2017.md), by programs that share nothing with this package; the reference is Coulomb's law on four
equal springs as an ordinary differential equation, integrated to 1e-12.

Not said in the paper and assumed: g = 9.81 m/s², moments of inertia m l²/6, axes of friction along x and y, and for the
formulations whose bounds come from the step before, the weight on four corners at the start.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from stickslip.engine.simulate import simulate
from stickslip.engine.step_problem import scene_problem
from stickslip.friction.anitescu_potra import AnitescuPotra
from stickslip.friction.box import Box
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.friction.hybrid import Hybrid
from stickslip.friction.phantom import Phantom
from stickslip.friction.stabilisation import Relaxation
from stickslip.papers.report import Announce, Check, Report
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Vector, as_dense
from stickslip.problems.mixed import MixedLCP
from stickslip.scene.scene import Scene
from stickslip.solvers.judice_pires import JudicePires
from stickslip.solvers.lemke import Lemke
from stickslip.solvers.murty import Murty
from stickslip.solvers.solution import Solution, Solver
from stickslip.sweeps.compare import Comparison, compare, turn
from stickslip.view.comparisons import REFERENCE_LINE, draw_paths, explain, in_words, looks, page, share_limits
from stickslip.view.figures import INK, write
from stickslip.view.trajectories import dress

DURATION = 0.8  # [s]; all formulations have stopped by then
TOL = 1e-12  # of every step: how the springs share the load is seen in the last digits
SPRINGS = {"stiffness": 1e10, "damping": 1e8, "stiffness_tangent": 1e8, "damping_tangent": 1e5}  # table 1
REFERENCE = (0.440645803165, 1.58396763888, 1.95347242733)  # x, y [m] and yaw [rad] where the cube stops

POLYHEDRAL = {n: AnitescuPotra(directions=n, stabilisation=Relaxation()) for n in (4, 8)}  # by directions

FIGURE_4: dict[str, Formulation] = {
    "phantom": Phantom(),
    "hybrid": Hybrid(),
    "anitescu_potra": POLYHEDRAL[4],
    "box": Box(),
}

# formulation, step, where the cube stops (x, y, yaw), tolerance
FINAL_STATES: tuple[tuple[str, Formulation, float, tuple[float, float, float], float | None], ...] = (
    ("Coulomb, springs", Coulomb(Relaxation()), 1e-3, (0.440460034251, 1.58123138015, 1.95068806723), 1e-3),
    ("Coulomb, springs", Coulomb(Relaxation()), 1e-4, (0.44061765594, 1.58369688292, 1.95318881781), 1e-5),
    ("Coulomb, springs", Coulomb(Relaxation()), 2.5e-6, REFERENCE, 1e-5),  # against the differential equation
    ("phantom", Phantom(), 1e-2, (0.438427632951, 1.5565592344, 1.92372624646), 1e-3),
    ("phantom", Phantom(), 1e-3, (0.440371192613, 1.58124406088, 1.95062013336), 1e-3),
    ("phantom, no lateral force", Phantom(lateral=False), 1e-2, (0.443869289385, 1.55942265094, 1.9132951741), 1e-3),
    ("phantom, no lateral force", Phantom(lateral=False), 1e-3, (0.440956265244, 1.58149707498, 1.94951392674), 1e-3),
    ("hybrid", Hybrid(), 1e-2, (0.415502455823, 1.56723441554, 1.93809238553), 1e-3),
    ("hybrid", Hybrid(), 1e-3, (0.438096103369, 1.58233776379, 1.95246745244), 1e-3),
    ("AP, 4 directions", POLYHEDRAL[4], 1e-2, (0.0761681511, 1.5914613953, 1.8346927008), 1e-3),
    ("AP, 4 directions", POLYHEDRAL[4], 1e-3, (0.0778957724, 1.6166187714, 1.8670272519), 1e-3),
    ("AP, 8 directions", POLYHEDRAL[8], 1e-2, (0.4625357145, 1.6037736206, 2.0336527164), 1e-3),
    ("AP, 8 directions", POLYHEDRAL[8], 1e-3, (0.4587412837, 1.6266466808, 2.0563286922), 1e-3),
    ("AP, 4 directions, rigid", AnitescuPotra(directions=4), 1e-2, (0.0961127320, 1.5942866192, 1.8519623264), None),
    ("box", Box(), 1e-2, (0.806018619395, 1.35470539263, 2.20391489326), None),
    ("box", Box(), 1e-3, (0.827677933835, 1.35128540652, 2.26144229671), None),
)

BOX_TIPS = (
    "Under box friction the cube tips. Where corners touch again, the bound of their first step is a choice the paper"
    " leaves open, and the end depends on it: shown, not checked."
)

# contacts, axes of friction, springs, rank without and with phantom inertia, size
RANKS = (
    (1, 2, False, 11, 13, 13),
    (1, 4, False, 11, 17, 17),
    (4, 2, False, 26, 33, 34),
    (4, 4, False, 26, 47, 50),
    (4, 2, True, 26, 34, 34),
    (4, 4, True, 26, 50, 50),
)
POLYHEDRAL_RANKS = ((1, 5, 6), (4, 14, 24))  # contacts, rank and size of Anitescu and Potra's LCP
AXES = (2, 3, 4, 5, 8)
INERTIAS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 5e-2, 1.0, 1e2)  # [kg]
ALGORITHMS: tuple[tuple[str, Solver, bool], ...] = (
    ("Lemke", Lemke(), False),
    ("Murty", Murty(), False),
    ("Júdice–Pires, cold", JudicePires(), False),
    ("Júdice–Pires, from the step before", JudicePires(), True),
)  # name, solver, whether it starts from the impulses of the step before
RANK_DROPS = ((1e-2, 5.6234132519e-08), (1e-3, 3.16227766017e-09))  # step [s], phantom inertia [kg]


def cube(springs: bool = True) -> Scene:
    """The cube of table 1 on the ground."""
    scene = Scene()
    scene.add_plane(name="ground", friction=1.0)
    surface: dict[str, Any] = SPRINGS if springs else {}
    moving: dict[str, Any] = {"velocity": (0, 5, 0), "spin": (0, 0, 2 * math.pi)}
    scene.add_box(1.0, name="cube", mass=1.0, position=(0, 0, 0.5), **moving, **surface)
    return scene


# figure 4


def figure_4(announce: Announce) -> Report:
    """The paths at 10 ms and 1 ms, and where they end."""
    comparison = compare(
        cube(), DURATION, FIGURE_4, dts=(1e-2, 1e-3), reference_dt=1e-4, solver="auto", tol=TOL, announce=announce
    )
    ends = {(formulation, h): (end, tolerance) for _, formulation, h, end, tolerance in FINAL_STATES}
    reference = comparison.reference
    checks = [Check("reference, 0.1 ms", (*reference.position[:2], reference.turn), REFERENCE, 1e-3)]
    for outcome in comparison.outcomes:
        known, tolerance = ends[FIGURE_4[outcome.name], outcome.dt]
        ours = (*outcome.position[:2], outcome.turn)
        checks.append(Check(f"{outcome.name}, {in_words(outcome.dt)}", ours, known, tolerance))
    return Report(
        "Figure 4: where the cube stops",
        "x [m], y [m], yaw [rad]",
        tuple(checks),
        (
            "Phantom and hybrid run into the path of Coulomb's law as the step shrinks, the others beside it.",
            "Anitescu and Potra's LCP with the springs of table 1: without them it has many solutions.",
            BOX_TIPS,
        ),
        draw=partial(draw_figure_4, comparison),
    )


def draw_figure_4(comparison: Comparison, path: str) -> None:
    """Columns: 10 ms and 1 ms. Rows: path, yaw, distance from the reference."""
    steps = sorted({outcome.dt for outcome in comparison.outcomes}, reverse=True)
    figure = page(10.0, 10.4, "A cube slides and spins until friction stops it (Peiret et al. 2017, figure 4)")
    panels = figure.subplots(3, len(steps), height_ratios=(2.1, 1, 1))
    for column, dt in zip(panels.T, steps, strict=True):
        draw_paths(column[0], comparison, dt)
        column[0].set_title(f"step {in_words(dt)}", loc="left", fontsize=11, color=INK)
        draw_over_time(column[1], column[2], comparison, dt)
    share_limits(panels[0])
    for row in panels[1:]:
        share_limits(row)
    explain(figure, comparison)
    write(figure, path)


def draw_over_time(yaw: Axes, distance: Axes, comparison: Comparison, dt: float) -> None:
    body, fine = comparison.body, comparison.reference.run
    stride = round(dt / fine.header.dt)
    yaw.plot(fine.time, turn(fine, body), **REFERENCE_LINE)
    for outcome in comparison.outcomes:
        if outcome.dt == dt:
            colour = looks(comparison)[outcome.name]["color"]
            yaw.plot(outcome.run.time, turn(outcome.run, body), color=colour, linewidth=1.5)
            apart = np.linalg.norm(outcome.run.position(body) - fine.position(body)[::stride], axis=1)
            distance.semilogy(outcome.run.time[1:], apart[1:], color=colour, linewidth=1.5)
    dress(yaw, "", "yaw [rad]")
    dress(distance, "time [s]", "from the reference [m]")
    distance.set_ylim(1e-5, 1.0)


# where the cube stops


def final_states(announce: Announce) -> Report:
    """The end of every run of FINAL_STATES."""
    checks = []
    for label, formulation, h, known, tolerance in FINAL_STATES:
        announce(f"{label}, dt {h:g} s")
        run = simulate(cube(), DURATION, h, formulation, solver="auto", tol=TOL, scheme="euler")  # (23) of the paper
        ours = (*run.position("cube")[-1, :2], float(turn(run, "cube")[-1]))
        checks.append(Check(f"{label}, {in_words(h)}", ours, known, tolerance))
    x, y, yaw = REFERENCE
    return Report(
        "Where the cube stops",
        "x [m], y [m], yaw [rad]",
        tuple(checks),
        (
            f"Coulomb's law as a differential equation: x {x:.6f}, y {y:.6f}, yaw {yaw:.6f}.",
            "The rigid LCP on four corners has many solutions: its row is shown, not checked.",
            BOX_TIPS,
        ),
    )


# ranks


def ranks(announce: Announce) -> Report:
    """Rank of the matrix (35), velocities included, for the cube at rest."""
    checks = []
    for contacts, axes, springs, without, with_inertia, size in RANKS:
        problem = first_contacts(first_problem(1e-2, springs), contacts)
        name = f"{contacts} contact{'s' * (contacts > 1)}, {axes} axes, {'springs' if springs else 'rigid'}"
        for inertia, known in ((0.0, without), (1.0, with_inertia)):
            matrix = full_matrix(Phantom(inertia=inertia, directions=axes), problem)
            ours = np.linalg.matrix_rank(matrix), len(matrix)
            checks.append(Check(f"{name}, ρ = {inertia:g}", ours, (known, size), 0.0))
    for contacts, known, size in POLYHEDRAL_RANKS:
        posed = AnitescuPotra(directions=4).pose(first_contacts(first_problem(1e-2, False), contacts))
        matrix = as_dense(posed.M)
        name = f"Anitescu–Potra, {contacts} contact{'s' * (contacts > 1)}"
        checks.append(Check(name, (np.linalg.matrix_rank(matrix), len(matrix)), (known, size), 0.0))
    drops = [f"{in_words(h)}: {rank_drop(h):.1e} kg (recomputed elsewhere: {known:.1e})" for h, known in RANK_DROPS]
    return Report(
        "Rank of the matrix of the phantom-inertia model",
        "rank, size",
        tuple(checks),
        (
            "Four rigid corners are redundant: phantom inertia alone does not make that matrix regular, springs do.",
            f"With springs the rank drops below a phantom inertia of, by step, {'; '.join(drops)}.",
            "The paper says 1e-8 kg. It depends on the tolerance of the rank and on the scaling.",
        ),
        digits=0,
    )


def first_problem(h: float, springs: bool) -> ContactProblem:
    """The contacts of the cube, at rest: all of them stick."""
    scene = cube(springs)
    for body in scene.bodies[1:]:
        scene.place(body, velocity=(0, 0, 0), spin=(0, 0, 0))
    return scene_problem(scene, h).problem


def first_contacts(problem: ContactProblem, count: int) -> ContactProblem:
    """The same with the first `count` contacts only."""
    some = {name: getattr(problem, name)[:count] for name in (*SPRINGS, "mu", "gap")}
    H = as_dense(problem.H)[:, : problem.dimension * count]
    return ContactProblem(problem.h, as_dense(problem.M), problem.f, problem.v, H, **some)


def full_matrix(formulation: Phantom, problem: ContactProblem) -> np.ndarray:
    """[M -J; Jᵀ C]: the matrix of (35) and (39), before the velocities are eliminated. Posed is C + Jᵀ M⁻¹ J."""
    posed = formulation.pose(problem)
    J = as_dense(problem.H) @ np.array([formulation.impulses(problem, x).p for x in np.eye(posed.size)]).T
    M = as_dense(problem.M)
    return np.block([[M, -J], [J.T, as_dense(posed.M) - J.T @ np.linalg.solve(M, J)]])


def rank_drop(h: float) -> float:
    """The largest phantom inertia, on a grid of four in a decade, at which the matrix with springs loses its rank."""
    problem = first_problem(h, springs=True)
    for inertia in 10.0 ** np.arange(-4.0, -12.0, -0.25):
        matrix = full_matrix(Phantom(inertia=inertia), problem)
        if np.linalg.matrix_rank(matrix) < len(matrix):
            return float(inertia)
    return 0.0


# which algorithm solves how many steps


def algorithms(announce: Announce) -> Report:
    """Steps of the cube at 10 ms that each pivoting method leaves unsolved, by axes of friction and phantom inertia."""
    checks = []
    for axes in AXES:
        for inertia in INERTIAS:
            announce(f"{axes} axes, phantom inertia {inertia:g} kg")
            counts = unsolved(Phantom(inertia=inertia, directions=axes), 1e-2)
            known = (0.0, counts[1], 0.0 if axes == 2 else counts[2], 0.0)
            checks.append(Check(f"{axes} axes, ρ = {inertia:g} kg", counts, known, 0.0))
    for axes in AXES[1:]:
        announce(f"{axes} axes while sliding too")
        counts = unsolved(Phantom(directions=axes, sliding_directions=axes), 1e-2)
        checks.append(Check(f"{axes} axes while sliding too, ρ = 1 kg", counts, counts, None))
    return Report(
        f"How many of {round(DURATION / 1e-2)} steps of the cube each algorithm leaves unsolved",
        ", ".join(name for name, _, _ in ALGORITHMS),
        tuple(checks),
        (
            "Lemke's method needs no P-matrix; Júdice and Pires' solves all steps with two axes, the paper's case.",
            "Murty's is for P-matrices: the pair (w_up, w_lo) has the minor ρ (2 a - ρ), a the inertia of its axis.",
            "With more axes a block may be singular, as the paper says. Where what slides has them too, most are, and"
            " rounding may end Lemke's method as well: shown, not checked.",
        ),
        digits=0,
    )


def unsolved(formulation: Phantom, h: float) -> tuple[float, ...]:
    """Of the steps of the cube, how many each of ALGORITHMS leaves unsolved; the run itself is Lemke's."""
    problems: list[tuple[MixedLCP, Vector | None]] = []

    class Watching(Lemke):
        """Lemke's method, which keeps what it is asked."""

        def solve(self, problem: LCP | MixedLCP, x0: Vector | None = None) -> Solution:
            if isinstance(problem, MixedLCP) and problem.size:
                problems.append((problem, x0))
            return super().solve(problem, x0)

    simulate(cube(), DURATION, h, formulation, solver=Watching(), tol=1e-10)
    return tuple(
        float(sum(not solver.solve(problem, x0 if warm else None).solved for problem, x0 in problems))
        for _, solver, warm in ALGORITHMS
    )
