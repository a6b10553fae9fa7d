"""The command line: it parses, calls and prints. Heavy modules are imported inside the commands."""

from __future__ import annotations

import math
import sys
import textwrap
import warnings
from typing import TYPE_CHECKING, Any

import click

from stickslip import __version__
from stickslip.errors import InexactWarning, InputError, SolveFailed, replacing

if TYPE_CHECKING:
    from rich.console import Console

    from stickslip.analysis.jamming import Family, JamMap
    from stickslip.analysis.pushing import JammingDiagram
    from stickslip.demo import Solved
    from stickslip.engine.compare import Comparison
    from stickslip.engine.trajectory import Trajectory
    from stickslip.papers.report import Check, Report
    from stickslip.scene.files import RunSettings
    from stickslip.solvers.solution import Solution

NOT_SOLVED, BAD_INPUT = 1, 2  # exit codes
LISTED = 12  # bodies whose final state `run` prints
PLAIN_WIDTH = 80  # columns where the output is no terminal


class OneSentence(click.Group):
    """Our own errors as one sentence on stderr, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            click.echo(f"stickslip: {error}", err=True)
            ctx.exit(BAD_INPUT)
        except SolveFailed as error:
            click.echo(f"stickslip: {error}", err=True)
            ctx.exit(NOT_SOLVED)


@click.group(cls=OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stickslip")
def main() -> None:
    """Rigid bodies in frictional contact, as the complementarity problems they are."""


@main.command()
@click.argument("file")
@click.option("--method", default="auto", show_default=True, help="A solver by name, such as lemke or nsgs.")
@click.option("--tol", type=float, help="Bound on the residual.  [default: 1e-10, or 1e-8 for friction]")
@click.option("--save", "target", metavar="PATH", help="Write the answer to a .npz or .h5 file.")
@click.option(
    "--all", "every", is_flag=True, help="Look for every solution; of friction problems over patches a search."
)
@click.pass_context
def solve(ctx: click.Context, file: str, method: str, tol: float | None, target: str | None, every: bool) -> None:
    """Solve the problem in FILE: FCLIB, LCP, mixed LCP or box layout, HDF5.

    Exit code 0: solved to the tolerance. 1: not solved. 2: bad input.
    """
    from stickslip.problems.files import load
    from stickslip.solvers.solve import solve as solve_problem

    if target is not None and not target.endswith((".npz", ".h5")):
        raise InputError(f"solve: --save is {target!r}, expected a name that ends with .npz or .h5")
    problem = load(file)
    if every:
        show_all(problem, tol)
        return
    answer = solve_problem(problem, method=method, tol=tol)
    show_answer(terminal(), repr(problem), answer)
    if target is not None:
        save_answer(answer, target)
        click.echo(f"answer written to {target}")
    if not answer.solved:
        ctx.exit(NOT_SOLVED)


def show_all(problem: Any, tol: float | None) -> None:
    """Every solution of a problem, one in a line."""
    from stickslip.problems.limit_surface import LimitSurfaceProblem
    from stickslip.solvers.enumeration import all_solutions

    found = all_solutions(problem, tol=tol)
    if not isinstance(problem, LimitSurfaceProblem):
        click.echo(repr(found))
        return
    for number, solution in enumerate(found, 1):
        click.echo(f"{number}: {solution!r}")
    click.echo(found.searched)


@main.command()
@click.argument("scene", metavar="SCENE.yaml")
@click.option("--duration", type=float, help="Seconds to simulate.  [default: what the file says]")
@click.option("--dt", type=float, help="Step in seconds.  [default: what the file says]")
@click.option("--friction", metavar="NAME", help="A formulation, such as phantom or stewart_trinkle:directions=4.")
@click.option("--solver", metavar="NAME", help="A solver of its problem, such as lemke or nsgs.")
@click.option("--tol", type=float, help="Residual that each step aims for.")
@click.option("--accept", type=float, help="Residual that is good enough to go on with.  [default: 1e-2]")
@click.option("--save", "target", metavar="PATH", help="Write the trajectory to an HDF5 file while it runs.")
@click.option("--plot", "picture", metavar="PATH", help="Draw the run as .png, .pdf or .svg.")
@click.option(
    "--what",
    type=click.Choice(["path", "energy", "impulses", "residual"]),
    default="path",
    show_default=True,
    help="What --plot draws.",
)
@click.option("--keep-going", is_flag=True, help="Go on after a step that is not solved.")
@click.pass_context
def run(
    ctx: click.Context,
    scene: str,
    duration: float | None,
    dt: float | None,
    friction: str | None,
    solver: str | None,
    tol: float | None,
    accept: float | None,
    target: str | None,
    picture: str | None,
    what: Any,
    keep_going: bool,
) -> None:
    """Simulate a scene and print what came of it. Options go before what the section `run` of the file says.

    Exit code 0: every step solved, or accepted. 1: a step was not. 2: bad input.
    """
    from stickslip.engine.names import formulation, read_formulation, solver_named
    from stickslip.engine.simulate import simulate
    from stickslip.scene.files import load_run
    from stickslip.view.figures import check_path

    if picture is not None:
        check_path(picture)
    loaded, settings = load_run(scene)
    seconds, step = given_or_said(scene, duration, settings, "duration"), given_or_said(scene, dt, settings, "dt")
    said = settings.friction
    law = None if said is None else formulation(said.name, **said.settings)
    method = None if settings.solver is None else solver_named(settings.solver.name, settings.solver.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactWarning)  # said in the table
        trajectory = simulate(
            loaded,
            seconds,
            step,
            law if friction is None else read_formulation(friction),
            method if solver is None else solver,
            settings.tol if tol is None else tol,
            path=target,
            keep_going=keep_going,
            accept=settings.accept if accept is None else accept,
        )
    show_run(terminal(), scene, trajectory)
    click.echo("")
    if target is not None:
        click.echo(f"trajectory written to {target}")
    if picture is not None:
        trajectory.plot(picture, what)
        click.echo(f"{what} drawn in {picture}")
    if trajectory.failures.size:
        first, count = int(trajectory.failures[0]), trajectory.failures.size
        click.echo(f"stickslip: {count} of {len(trajectory)} steps were not solved, the first is {first}", err=True)
        ctx.exit(NOT_SOLVED)


@main.command()
@click.argument("scene", metavar="SCENE.yaml")
@click.option("--friction", required=True, metavar="A,B,...", help="Formulations, such as phantom,box:slip_speed=1e-4.")
@click.option("--dt", "dts", metavar="A,B,...", help="Steps in seconds.  [default: what the file says]")
@click.option("--duration", type=float, help="Seconds to simulate.  [default: what the file says]")
@click.option("--body", help="Whose motion is compared.  [default: the first free one]")
@click.option("--reference-dt", type=float, help="Step of the reference.  [default: a tenth of the finest]")
@click.option("--solver", metavar="NAME", help="A solver for all of them, such as auto.")
@click.option("--tol", type=float, help="Bound on the residual of each step; stiff springs need a small one.")
@click.option("--figure", metavar="PATH", help="Draw paths and errors as .png, .pdf or .svg.")
@click.pass_context
def compare(
    ctx: click.Context,
    scene: str,
    friction: str,
    dts: str | None,
    duration: float | None,
    body: str | None,
    reference_dt: float | None,
    solver: str | None,
    tol: float | None,
    figure: str | None,
) -> None:
    """Run a scene under several formulations and steps, against a fine run of Coulomb's law.

    Exit code 0: every step solved. 1: some were not. 2: bad input.
    """
    from stickslip.engine.compare import compare as compare_runs
    from stickslip.engine.names import read_formulation
    from stickslip.scene.files import load_run
    from stickslip.view.figures import check_path

    if figure is not None:
        check_path(figure)
    loaded, settings = load_run(scene)
    steps = [given_or_said(scene, None, settings, "dt")] if dts is None else numbers("--dt", dts)
    comparison = compare_runs(
        loaded,
        given_or_said(scene, duration, settings, "duration"),
        {text.strip(): read_formulation(text) for text in friction.split(",")},
        steps,
        body=body,
        reference_dt=reference_dt,
        solver=solver,
        tol=settings.tol if tol is None else tol,
        announce=report_progress,
    )
    report_progress("")
    show_comparison(comparison)
    if figure is not None:
        from stickslip.view.comparisons import draw_comparison

        draw_comparison(comparison, figure)
        click.echo(f"paths and errors drawn in {figure}")
    end_if_failed(ctx, comparison)


@main.command()
@click.argument("mechanism", metavar="ROBOT.urdf|ROBOT.xml|rod|arm")
@click.option("--frame", help="The frame whose origin touches.")
@click.option("--point", metavar="X,Y,Z", help="A point in that frame instead of its origin, in metres.")
@click.option("--plane", default="z=0", show_default=True, help="The plane it touches, such as z=0 or -x=0.5.")
@click.option(
    "--joint", "joints", multiple=True, metavar="NAME=A:B", help="A range to search (one or two), or NAME=A to fix one."
)
@click.option("--touch", metavar="JOINT", help="The joint that puts the point on the plane in each pose.")
@click.option("--mu", type=float, help="A friction coefficient, to be told how much of the map jams with it.")
@click.option("--resolution", default=200, show_default=True, help="Values of each parameter.")
@click.option("--save", "picture", metavar="PATH", help="Draw the map as .png, .pdf or .svg.")
def jam(
    mechanism: str,
    frame: str | None,
    point: str | None,
    plane: str,
    joints: tuple[str, ...],
    touch: str | None,
    mu: float | None,
    resolution: int,
    picture: str | None,
) -> None:
    """Map the friction from which on a contact jams, over one or two joints, and print the worst poses.

    Angles are in degrees, travels in metres. `rod` and `arm` are the mechanisms of Peiret 2019, by theta, and by x and
    theta3. Without --touch the plane is taken to be wherever the point is.
    """
    from stickslip.analysis.jamming import jam_map
    from stickslip.view.figures import check_path

    if picture is not None:
        check_path(picture)
    if mu is not None and not (math.isfinite(mu) and mu >= 0):
        raise InputError(f"jam: --mu is {mu}, expected a friction coefficient >= 0")
    if mechanism in ("rod", "arm"):
        if frame or point or touch or plane != "z=0":
            raise InputError(f"jam: {mechanism} has its own contact, expected no --frame, --point, --plane or --touch")
        family = named_family(mechanism, joints)
    else:
        family = family_of_robot(mechanism, frame, point, plane, joints, touch)
    found = jam_map(family, resolution)
    show_jam_map(found, mu)
    if picture is not None:
        from stickslip.view.jam_maps import draw_jam_map

        draw_jam_map(found, picture)
        click.echo(f"map drawn in {picture}")


@main.command()
@click.argument("world", metavar="SCENE.yaml|peg")
@click.option("--radius", type=float, default=1.0, show_default=True, help="Of the peg.")
@click.option("--depth", type=float, default=4.0, show_default=True, help="Of the peg in its hole, in the same unit.")
@click.option("--mu", type=float, default=0.3, show_default=True, help="Friction of the peg.")
@click.option("--body", help="The body of a scene that is pushed, at its centre of mass.")
@click.option("--base", metavar="F,F,F,T,T,T", help="A force and a torque, in newtons and newton metres.")
@click.option("--across", metavar="F,F,F,T,T,T", help="What is added to it x times.")
@click.option("--up", metavar="F,F,F,T,T,T", help="What is added to it y times.")
@click.option("--window", metavar="X,X,Y,Y", help="Least and greatest x and y.  [default: -1,1,-1,1]")
@click.option("--together", metavar="I+J,K+L,...", help="Contacts that act together.  [default: all that touch]")
@click.option("--save", "picture", metavar="PATH", help="Draw the diagram as .png, .pdf or .svg.")
def push(
    world: str,
    radius: float,
    depth: float,
    mu: float,
    body: str | None,
    base: str | None,
    across: str | None,
    up: str | None,
    window: str | None,
    together: str | None,
    picture: str | None,
) -> None:
    """Which pushes jam a world at rest, which wedge it and which go on, as for a peg in a hole.

    `peg` is the classical one, over F_x/F_z and M/(r F_z). In a scene the pushes are base + x across + y up.
    """
    from stickslip.analysis.pushing import peg_diagram
    from stickslip.view.figures import check_path

    if picture is not None:
        check_path(picture)
    if world == "peg":
        if body or base or across or up or together:
            raise InputError("push: peg has its own pushes, expected no --body, --base, --across, --up or --together")
        found = peg_diagram(radius, depth, mu, window_of(window) if window else None)
    else:
        found = scene_pushes(world, body, {"base": base, "across": across, "up": up}, window, together)
    click.echo(found.describe())
    for state in found.states:
        click.echo("")
        click.echo(f"held by {' and '.join(state.names)}:" if len(state.outline) else f"{state}; nothing is held")
        for x, y in state.outline:
            click.echo(f"  {x:12.6g} {y:12.6g}")
    if picture is not None:
        from stickslip.view.pushes import draw_jamming_diagram

        draw_jamming_diagram(found, picture)
        click.echo(f"diagram drawn in {picture}")


@main.command()
@click.argument("name", required=False)
@click.option("--figure", metavar="PATH", help="Where the picture goes.  [default: NAME.png]")
@click.pass_context
def paper(ctx: click.Context, name: str | None, figure: str | None) -> None:
    """Make a figure or table of a paper again; without NAME, list them.

    Exit code 1 if a number is not met to its tolerance.
    """
    from stickslip.papers.catalogue import PAPERS, entry

    if name is None:
        width = max(map(len, PAPERS))
        for known, item in PAPERS.items():
            click.echo(f"{known:{width}}  {item.about}")
        return
    item = entry(name)
    if figure is not None and not item.has_figure:
        raise InputError(f"paper: {name} has no figure, expected no --figure")
    picture = (figure or f"{name}.png") if item.has_figure else None
    report = item.make(picture, report_progress)
    report_progress("")
    show_report(report)
    if picture is not None:
        click.echo(f"drawn in {picture}")
    if report.failed:
        click.echo(f"stickslip: not met: {'; '.join(check.what for check in report.failed)}", err=True)
        ctx.exit(NOT_SOLVED)


@main.command()
@click.option(
    "--figure", default="stickslip-demo.png", show_default=True, metavar="PATH", help="Where the picture goes."
)
@click.option("--problems", is_flag=True, help="Instead of the box, solve a set of complementarity problems.")
@click.option("--seed", default=0, show_default=True, help="For the random ones of --problems.")
@click.pass_context
def demo(ctx: click.Context, figure: str, problems: bool, seed: int) -> None:
    """A box slides and spins under eight formulations of friction: a table and a picture.

    Exit code 1 if a step, or a problem that has a solution, is not solved.
    """
    from stickslip.view.figures import check_path

    check_path(figure)
    if problems:
        solve_problems(ctx, figure, seed)
    else:
        slide_box(ctx, figure)


@main.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """What is installed, where compiled kernels come from, and a test of a second.

    Exit code 1 if the test fails.
    """
    from stickslip import doctor as look

    click.echo(look.versions())
    click.echo(f"machine code: {look.machine_code()}")
    click.echo(f"cache: {look.cache()}")
    for extra, state in look.extras().items():
        click.echo(f"extra {extra}: {state}")
    right, told = look.self_test()
    click.echo(f"self-test: {told}")
    if not right:
        ctx.exit(NOT_SOLVED)


def slide_box(ctx: click.Context, figure: str) -> None:
    from stickslip import demo as show

    comparison = show.slide(report_progress)
    report_progress(f"drawing {figure}")
    show.draw_slide(comparison, figure)
    report_progress("")
    show_comparison(comparison)
    click.echo(textwrap.fill(show.READING, PLAIN_WIDTH))
    click.echo(f"The paths are drawn in {figure}")
    end_if_failed(ctx, comparison)


def solve_problems(ctx: click.Context, figure: str, seed: int) -> None:
    from stickslip import demo as show

    examples = show.examples(seed)
    outcomes = []
    for number, example in enumerate(examples, 1):
        report_progress(f"[{number}/{len(examples)}] {example.name}")
        outcomes.append(show.run(example))
    several = show.every_solution()
    report_progress(f"drawing {figure}")
    show.draw(outcomes[-1], figure)
    report_progress("")
    show_outcomes(terminal(), outcomes)
    click.echo("Each was solved twice and the second run timed, so that compilation is left out.")
    click.echo(several)
    click.echo(f"The pile of balls and its contact forces are drawn in {figure}")
    failed = [outcome.example.name for outcome in outcomes if not outcome.as_expected]
    if failed:
        click.echo(f"stickslip: not solved, although there is a solution: {'; '.join(failed)}", err=True)
        ctx.exit(NOT_SOLVED)


# what is given


def given_or_said(scene: str, given: float | None, settings: RunSettings, name: str) -> float:
    """An option, or what the file says in its place."""
    value: float | None = getattr(settings, name) if given is None else given
    if value is None:
        raise InputError(f"{scene}: run.{name} is missing, expected it in the file or as --{name}")
    return value


def window_of(text: str) -> tuple[tuple[float, float], tuple[float, float]]:
    values = numbers("--window", text)
    if len(values) != 4:
        raise InputError(f"--window is {text!r}, expected four numbers")
    return (values[0], values[1]), (values[2], values[3])


def scene_pushes(
    path: str, body: str | None, given: dict[str, str | None], window: str | None, together: str | None
) -> JammingDiagram:
    """The jamming diagram of a scene file."""
    from stickslip.analysis.pushing import jamming_diagram
    from stickslip.scene.files import load_scene

    pushes = []
    for name, text in given.items():
        if body is None or text is None:
            raise InputError(f"push: --{'body' if body is None else name} is missing, expected it for a scene")
        values = numbers(f"--{name}", text)
        if len(values) != 6:
            raise InputError(f"push: --{name} is {text!r}, expected three forces and three torques")
        pushes.append((body, values[:3], values[3:]))
    states = None
    if together is not None:
        try:
            states = [tuple(int(i) for i in part.split("+")) for part in together.split(",")]
        except ValueError:
            raise InputError(f"push: --together is {together!r}, expected numbers such as 0+1,2+3") from None
    shown = window_of(window) if window else ((-1.0, 1.0), (-1.0, 1.0))
    return jamming_diagram(load_scene(path), pushes[0], pushes[1], pushes[2], shown, together=states)


def numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} is {text!r}, expected numbers with commas between them") from None


def family_of_robot(
    path: str, frame: str | None, point: str | None, plane: str, joints: tuple[str, ...], touch: str | None
) -> Family:
    """The poses of a robot that `jam` is to search."""
    from stickslip.analysis.jamming import robot_family
    from stickslip.dynamics.pinocchio import FramePoint, load_robot, read_plane

    if frame is None:
        raise InputError("jam: --frame is missing, expected the name of a frame of the robot")
    normal, offset = read_plane(plane)
    place = (0.0, 0.0, 0.0) if point is None else tuple(numbers("--point", point))
    robot = load_robot(path, FramePoint(frame, place, normal, offset))  # type: ignore[arg-type]  # checked there
    values = dict(map(joint_values, joints))
    scaled = {
        name: tuple(v if robot.is_prismatic(name) else math.radians(v) for v in given) for name, given in values.items()
    }
    ranges = {name: (given[0], given[1]) for name, given in scaled.items() if len(given) == 2}
    if len(ranges) not in (1, 2):
        raise InputError(f"jam: --joint gives {len(ranges)} ranges, expected one or two of {', '.join(robot.joints)}")
    return robot_family(robot, ranges, {name: given[0] for name, given in scaled.items() if len(given) == 1}, touch)


def named_family(name: str, joints: tuple[str, ...]) -> Family:
    """The rod or the arm, with the ranges that are given."""
    from dataclasses import replace

    from stickslip.analysis.jamming import arm_family, rod_family

    family = rod_family() if name == "rod" else arm_family()
    ranges = dict(family.ranges)
    for parameter, given in map(joint_values, joints):
        if parameter not in ranges or len(given) != 2:
            raise InputError(f"jam: --joint is {parameter!r}, expected a range of {' or '.join(ranges)}")
        in_degrees = dict(zip(ranges, family.units, strict=True))[parameter] == "rad"
        least, greatest = map(math.radians, given) if in_degrees else given
        ranges[parameter] = (least, greatest)
    return replace(family, ranges=ranges)


def joint_values(text: str) -> tuple[str, tuple[float, ...]]:
    """Name and values of `elbow=-90:90` or `elbow=30`."""
    name, _, values = text.partition("=")
    try:
        found = tuple(float(part) for part in values.split(":"))
    except ValueError:
        found = ()
    if len(found) not in (1, 2):
        raise InputError(f"jam: --joint is {text!r}, expected NAME=VALUE or NAME=FROM:TO, such as elbow=-90:90")
    return name, found


def end_if_failed(ctx: click.Context, comparison: Comparison) -> None:
    if comparison.failed:
        counts = (f"{outcome.failures} of {outcome.name}, dt {outcome.dt:g}" for outcome in comparison.failed)
        click.echo(f"stickslip: steps were not solved: {'; '.join(counts)}", err=True)
        ctx.exit(NOT_SOLVED)


# what is printed


def terminal() -> Console:
    """Plain text, 80 columns wide, where the output is no terminal."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(width=PLAIN_WIDTH, color_system=None)


def show_table(headings: str, rows: list[tuple[str, ...]]) -> None:
    """Rows of cells under headings, which `|` separates. Plain text, so that no cell is ever cut."""
    titles = tuple(headings.split("|"))
    widths = [max(map(len, cells)) for cells in zip(titles, *rows, strict=True)]
    lines = [" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (titles, *rows)]
    first = widths[0]
    lines = [row[0].ljust(first) + line[first:] for row, line in zip((titles, *rows), lines, strict=True)]
    click.echo("\n".join(["", lines[0], "─" * len(lines[0]), *lines[1:]]))


def show_run(console: Console, scene: str, trajectory: Trajectory) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    from stickslip.scene.model import Kind

    header, energy, contacts = trajectory.header, trajectory.energy, trajectory.contact_count
    failed = trajectory.failures.size
    moving = np.flatnonzero(header.kind != Kind.STATIC)
    missed = failed + trajectory.inexact.size
    solved = Text(f"{missed} not to tol", "red" if failed else "yellow") if missed else Text("all solved", "green")
    table = Table.grid(padding=(0, 2))
    table.add_row("scene", Text(f"{scene}: {header.bodies} bodies, {moving.size} moving"))
    table.add_row("friction", Text(f"{header.formulation} by {header.solver}"))
    table.add_row("steps", Text(f"{len(trajectory)} of {header.dt:g} s, ") + solved)
    table.add_row("contacts", f"{contacts.max()} at most, {contacts[-1]} at the end, {contacts.mean():.3g} on average")
    table.add_row("residual", f"{trajectory.residual.max():.1e} at worst (tol {header.tol:.0e})")
    if missed:
        table.add_row("accuracy", Text(trajectory.accuracy))
    table.add_row("energy", f"{energy[0]:.6g} J at the start, {energy[-1]:.6g} J at the end")
    table.add_row("time", f"{duration(float(np.median(trajectory.seconds)))} a step (median; the first run compiles)")
    console.print(table)
    show_bodies(trajectory, [int(body) for body in moving])


def show_bodies(trajectory: Trajectory, bodies: list[int]) -> None:
    """Where the bodies that move are at the end, the angle of their orientation, and how they move there."""
    rows = []
    for body in bodies[:LISTED]:
        state = trajectory.position(body)[-1], trajectory.quaternion(body)[-1], trajectory.velocity(body)[-1]
        speed, spin = math.hypot(*state[2]), math.hypot(*trajectory.spin(body)[-1])
        angle = 2 * math.degrees(math.atan2(math.hypot(*state[1][1:]), abs(state[1][0])))
        place = (fixed(value, 5) for value in state[0])
        rows.append((trajectory.header.names[body], *place, f"{angle:.2f}", f"{speed:.3g}", f"{spin:.3g}"))
    if rows:
        show_table("body|x [m]|y [m]|z [m]|angle [°]|speed [m/s]|spin [rad/s]", rows)
    if len(bodies) > LISTED:
        click.echo(f"and {len(bodies) - LISTED} more bodies")


def show_comparison(comparison: Comparison) -> None:
    reference = comparison.reference
    for dt in dict.fromkeys(outcome.dt for outcome in comparison.outcomes):
        rows = [
            (
                outcome.name,
                *(fixed(value, 4) for value in (*outcome.position, outcome.turn)),
                f"{outcome.error:.1e}",
                f"{outcome.turn_error:+.1e}",
                f"{outcome.residual:.0e}",
                f"{1e3 * outcome.cost:.2g}",
            )
            for outcome in comparison.outcomes
            if outcome.dt == dt
        ]
        show_table(f"dt {1e3 * dt:g} ms|x [m]|y [m]|z [m]|turn|off [m]|off [rad]|resid.|ms", rows)
    click.echo("")
    end = ", ".join(fixed(value, 5) for value in reference.position)
    click.echo(f"Reference: {reference.name}, dt {1e3 * reference.dt:g} ms.")
    click.echo(f"There {comparison.body} ends at ({end}) m, turned by {fixed(reference.turn, 5)} rad.")


def show_jam_map(found: JamMap, mu: float | None) -> None:
    from stickslip.analysis.jamming import shown

    family = found.family
    click.echo(f"{family.name}, contact at {found.contact_name}")
    click.echo(f"searched {found.searched}")
    rows = []
    edge = () if found.edge is None else (found.edge,)
    for worst in (*found.minima, *edge):
        place = [shown(value, unit) for value, unit in zip(worst.parameters, family.units, strict=True)]
        way = ", ".join(fixed(part, 3) for part in worst.coupling.e_jam)
        angle = [] if mu is None else [f"{math.degrees(worst.coupling.locking_angle(mu)):.1f}"]
        kind = "at an edge" if worst is found.edge else "minimum"
        rows.append((kind, f"{worst.mu_jam:.6f}", *place, f"({way})", f"{worst.coupling.mu_crit:.4f}", *angle))
    if not rows:
        click.echo("no friction makes this contact jam in any of these poses")
        return
    sector = "" if mu is None else f"|sector at {mu:g} [°]"
    show_table(f"|mu_jam|{'|'.join(family.ranges)}|sliding along|mu_crit{sector}", rows)
    click.echo("")
    if mu is not None:
        click.echo(f"With mu = {mu:g}, {100 * found.share_that_jams(mu):.1f} % of the poses can jam.")


def show_report(report: Report) -> None:
    click.echo(f"{report.title} ({report.columns})")
    rows = [check_cells(check, report.digits) for check in report.checks]
    show_table("|here|known|apart|tol", rows)
    click.echo("")
    for note in report.notes:
        click.echo(textwrap.fill(note, PLAIN_WIDTH))


def check_cells(check: Check, digits: int) -> tuple[str, ...]:
    ours, known = (" ".join(fixed(value, digits) for value in values) for values in (check.ours, check.known))
    tolerance = "-" if check.tolerance is None else f"{check.tolerance:.0e}" if check.tolerance else "exact"
    apart = f"{check.difference:.1e}" + ("" if check.holds else " !")
    return check.what, ours, known, apart, tolerance


def fixed(value: float, digits: int) -> str:
    """With so many digits behind the point, and no minus before zeros."""
    text = f"{value:.{digits}f}"
    return text if text.strip("-0.") else text.lstrip("-")


def show_outcomes(console: Console, outcomes: list[Solved]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0))
    for heading in ("problem", "rows", "method", "status", "residual", "time"):
        right = heading in ("rows", "residual", "time")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    for outcome in outcomes:
        answer = outcome.answer
        colour = "green" if answer.solved else "yellow" if outcome.as_expected else "red"
        table.add_row(
            outcome.example.name,
            str(outcome.example.problem.size),
            type(answer.solver).__name__,
            f"[{colour}]{outcome.verdict}[/]",
            f"{answer.residual:.1e}",
            duration(answer.seconds),
        )
    console.print(table)


def show_answer(console: Console, problem: str, answer: Solution) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_row("problem", Text(problem))
    for earlier in answer.earlier:
        table.add_row("tried", Text(f"{earlier.method}: {earlier.status.name}, residual {earlier.residual:.1e}"))
    table.add_row("method", Text(answer.method))
    table.add_row("status", Text(answer.status.name, "green" if answer.solved else "red"))
    if answer.certificate is not None and answer.certificate.infeasible:
        table.add_row("proof", "no z >= 0 has M z + q >= 0: the problem has no feasible point")
    table.add_row("residual", f"{answer.residual:.1e} (tol {answer.solver.tol:.0e})")
    table.add_row("iterations", str(answer.iterations))
    table.add_row("time", f"{duration(answer.seconds)} (the first run of a method compiles it)")
    console.print(table)


def duration(seconds: float) -> str:
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e3 * seconds:.3f} ms"


def save_answer(answer: Solution, path: str) -> None:
    """x, y and how they were found. The file appears complete or not at all."""
    import h5py
    import numpy as np

    fields: dict[str, Any] = {
        "x": answer.x,
        "y": answer.y,
        "status": answer.status.name,
        "residual": answer.residual,
        "iterations": answer.iterations,
        "seconds": answer.seconds,
        "method": answer.method,
    }
    with replacing(path) as temporary:
        if path.endswith(".npz"):
            np.savez(temporary, **fields)
        else:
            with h5py.File(temporary, "x") as file:
                for name, value in fields.items():
                    file[name] = value


def report_progress(text: str) -> None:
    """A line on stderr: overwritten on a terminal, kept in a log."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)
