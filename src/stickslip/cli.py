"""The command line: it parses, calls and prints. Heavy modules are imported inside the commands."""

from __future__ import annotations

import math
import os
import sys
import textwrap
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from stickslip import __version__
from stickslip.errors import UNSOLVED, InexactWarning, InputError, replacing, short

if TYPE_CHECKING:
    from collections.abc import Collection

    from rich.console import Console

    from stickslip.analysis.jamming import Family, JamMap
    from stickslip.analysis.pushing import JammingDiagram
    from stickslip.demo import Solved
    from stickslip.engine.trajectory import Trajectory
    from stickslip.papers.report import Report
    from stickslip.scene.files import RunSettings
    from stickslip.solvers.solution import Solution
    from stickslip.sweeps.compare import Comparison
    from stickslip.sweeps.sweep import Sweep

NOT_SOLVED, BAD_INPUT, STOPPED = 1, 2, 130  # exit codes
LISTED = 12  # bodies whose final state `run` prints
ROWS = 40  # of the table that `sweep` prints
PLAIN_WIDTH = 80  # columns where the output is no terminal


class Command(click.Command):
    """A command to which an empty text says nothing."""

    def invoke(self, ctx: click.Context) -> Any:
        for each in self.params:
            given = ctx.params.get(each.name or "")
            if given == "" or (isinstance(given, tuple) and "" in given):
                raise InputError(f"{ctx.info_name}: {each.opts[0]} is '', expected {each.make_metavar(ctx)}")
        return super().invoke(ctx)


class OneSentence(click.Group):
    """What goes wrong as one sentence on stderr, without a traceback."""

    command_class = Command

    def main(self, *given: Any, **settings: Any) -> Any:
        occupy_streams()
        try:
            return super().main(*given, **settings)
        except OSError as error:
            # of the output, also of --help: files have sentences of their own, and `| head` has click's
            silence(sys.stdout)
            click.echo(f"stickslip: the output cannot be written ({error.strerror or error})", err=True)
            sys.exit(BAD_INPUT)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk is to be known here, not when Python ends
            return result
        except InputError as error:
            end(str(error), BAD_INPUT)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx is not None else ctx.command_path
            end(f"{short(error.format_message())} ({command} --help lists what there is)", BAD_INPUT)
        except UNSOLVED as error:
            end(str(error), NOT_SOLVED)
        except MemoryError:
            end("there is not enough memory for this", BAD_INPUT)
        except KeyboardInterrupt as stopped:
            end(told_of(stopped), STOPPED)


def end(sentence: str, code: int) -> NoReturn:
    """End the command with a sentence."""
    try:
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)
    click.echo(f"stickslip: {sentence}", err=True)
    sys.exit(code)


def told_of(stopped: KeyboardInterrupt) -> str:
    """What Ctrl-C leaves."""
    run = getattr(stopped, "trajectory", None)
    if run is None:
        return "stopped"
    path = run._record.path
    kept = f", which are in {path}; stickslip run --resume {path} goes on" if path else ", which were not saved"
    return f"stopped after {len(run)} steps{kept}"


def occupy_streams() -> None:
    """Where a stream is closed its number is free, and a file that is opened next would take it and what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def silence(stream: Any) -> None:
    """Let what is left to print go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def check_outputs(command: str, read: str | None, **written: str | None) -> None:
    """A command writes over nothing that it reads, and nothing twice."""
    taken = {} if read is None else {"what is read": read}
    for option, path in written.items():
        if path is None:
            continue
        for other, name in taken.items():
            if same_file(path, name):
                raise InputError(f"{command}: --{option} is {path!r}, which is {other}, expected another file")
        taken[f"that of --{option}"] = path


def same_file(a: str, b: str) -> bool:
    try:
        return os.path.realpath(a) == os.path.realpath(b) or os.path.samefile(a, b)
    except (OSError, ValueError):
        return False


def a_picture(ctx: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Of an option: where a picture can be written, asked before anything is done."""
    if path is not None:
        from stickslip.view.figures import check_path

        check_path(path)
    return path


@click.group(cls=OneSentence, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name="stickslip")
def main() -> None:
    """Rigid bodies in frictional contact, as the complementarity problems they are."""


@main.command()
@click.argument("file")
@click.option("--method", default="auto", help="A solver by name, such as lemke or nsgs.")
@click.option("--tol", type=float, help="Bound on the residual.  [default: 1e-10, or 1e-8 for friction]")
@click.option("--save", "target", metavar="PATH", help="Write the answer to a .npz or .h5 file.")
@click.option(
    "--all", "every", is_flag=True, help="Look for every solution; of friction problems over patches a search."
)
def solve(file: str, method: str, tol: float | None, target: str | None, every: bool) -> None:
    """Solve the problem in FILE: FCLIB, LCP, mixed LCP or box layout, HDF5.

    Exit code 0: solved to the tolerance. 1: not solved. 2: bad input.
    """
    from stickslip.engine.target import format_of
    from stickslip.problems.files import load
    from stickslip.solvers.solve import solve as solve_problem

    if target is not None and not target.endswith((".npz", ".h5")):
        raise InputError(f"solve: --save is {target!r}, expected a name that ends with .npz or .h5")
    check_outputs("solve", file, save=target)
    if target is not None and os.path.isfile(target) and (kept := format_of(target)):
        raise InputError(f"solve: --save is {target!r}, which holds a {kept}, expected another file")
    problem = load(file)
    if every:
        show_all(problem, tol)
        return
    answer = solve_problem(problem, method=method, tol=tol)
    show_answer(repr(problem), answer)
    if target is not None:
        save_answer(answer, target)
        click.echo(f"answer written to {target}")
    if not answer.solved:
        sys.exit(NOT_SOLVED)


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
@click.argument("scene", metavar="SCENE.yaml", required=False)
@click.option("--duration", type=float, help="Seconds to simulate.  [default: what the file says]")
@click.option("--dt", type=float, help="Step in seconds.  [default: what the file says]")
@click.option("--friction", metavar="NAME", help="A formulation, such as phantom or stewart_trinkle:directions=4.")
@click.option("--solver", metavar="NAME", help="A solver of its problem, such as lemke or nsgs.")
@click.option("--tol", type=float, help="Residual that each step aims for.")
@click.option("--accept", type=float, help="Residual that is good enough to go on with.  [default: 1e-2]")
@click.option("--save", "target", metavar="PATH", help="Write the trajectory to an HDF5 file while it runs.")
@click.option("--resume", "begun", metavar="PATH", help="Go on with the run in this file, instead of a scene.")
@click.option("--plot", "picture", metavar="PATH", callback=a_picture, help="Draw the run as .png, .pdf or .svg.")
@click.option(
    "--what", type=click.Choice(["path", "energy", "impulses", "residual"]), default="path", help="What --plot draws."
)
@click.option("--keep-going", is_flag=True, help="Go on after a step that is not solved.")
@click.option("--every", default=1, help="Steps that become one in the trajectory.")
@click.option("--threads", default=1, help="Threads for thousands of contacts that hang together.")
def run(
    scene: str | None,
    target: str | None,
    begun: str | None,
    picture: str | None,
    what: Any,
    threads: int,
    **given: Any,
) -> None:
    """Simulate a scene and print what came of it. Options go before what the section `run` of the file says.

    Exit code 0: every step solved, or accepted. 1: a step was not. 2: bad input.
    """

    check_outputs("run", scene if begun is None else begun, save=target, plot=picture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactWarning)  # said in the table
        if begun is not None:
            trajectory = go_on(begun, scene, target, threads, **given)
        elif scene is None:
            raise InputError("run: SCENE.yaml is missing, expected the name of a scene file, or --resume")
        else:
            trajectory = run_scene(scene, target, threads, **given)
    show_run(begun or scene or "", trajectory)
    click.echo("")
    if target is not None or begun is not None:
        click.echo(f"trajectory written to {begun or target}")
    if picture is not None:
        trajectory.plot(picture, what)
        click.echo(f"{what} drawn in {picture}")
    if trajectory.failures.size:
        first, count = int(trajectory.failures[0]), trajectory.failures.size
        end(f"{count} of {len(trajectory)} steps were not solved, the first is {first}", NOT_SOLVED)


def go_on(
    path: str,
    scene: str | None,
    save: str | None,
    threads: int,
    duration: float | None,
    keep_going: bool,
    every: int,
    **given: Any,
) -> Trajectory:
    """Go on with the run in a file, which has its own settings."""
    from stickslip.engine.resume import resume

    own = {"save": save, "keep-going": keep_going or None, "every": None if every == 1 else every}
    for name, value in ({"SCENE.yaml": scene} | given | own).items():
        if value is not None:
            raise InputError(f"run: {name} is given with --resume, expected none: the run goes on as it began")
    return resume(path, duration, threads=threads)


def run_scene(
    scene: str, target: str | None, threads: int, friction: str | None, keep_going: bool, every: int, **given: Any
) -> Trajectory:
    """Simulate the scene in a file, as that and the options say."""
    from stickslip.engine.names import read_formulation
    from stickslip.engine.simulate import simulate
    from stickslip.scene.files import load_run

    loaded, settings = load_run(scene)
    told = run_values(scene, settings, (), law=None if friction is None else read_formulation(friction), **given)
    told |= {"friction": told.pop("law", None), "keep_going": keep_going, "every": every, "threads": threads}
    return simulate(loaded, path=target, **told)


@main.command()
@click.argument("scene", metavar="SCENE.yaml")
@click.option("--friction", required=True, metavar="A,B,...", help="Formulations, such as phantom,box:slip_speed=1e-4.")
@click.option("--dt", "dts", metavar="A,B,...", help="Steps in seconds.  [default: what the file says]")
@click.option("--duration", type=float, help="Seconds to simulate.  [default: what the file says]")
@click.option("--body", help="Whose motion is compared.  [default: the first free one]")
@click.option("--reference-dt", type=float, help="Step of the reference.  [default: a tenth of the finest]")
@click.option("--solver", metavar="NAME", help="A solver for all of them, such as auto.")
@click.option("--tol", type=float, help="Bound on the residual of each step; stiff springs need a small one.")
@click.option("--figure", metavar="PATH", callback=a_picture, help="Draw paths and errors as .png, .pdf or .svg.")
@click.option("--engine", metavar="NAME", help="Run all at once: threads, processes, dask or mpi.")
@click.option("--workers", type=int, help="How many of them.  [default: as many as there are cores]")
@click.option("--keep", metavar="FOLDER", help="Keep what is done; the same command goes on from it.")
def compare(
    scene: str,
    friction: str,
    dts: str | None,
    duration: float | None,
    tol: float | None,
    figure: str | None,
    **given: Any,
) -> None:
    """Run a scene under several formulations and steps, against a fine run of Coulomb's law.

    Exit code 0: every step solved. 1: some were not. 2: bad input.
    """
    from stickslip.engine.names import read_formulation
    from stickslip.scene.files import load_run
    from stickslip.sweeps.compare import compare as compare_runs

    check_outputs("compare", scene, figure=figure)
    loaded, settings = load_run(scene)
    steps = [given_or_said(scene, None, settings, "dt")] if dts is None else numbers("--dt", dts)
    comparison = compare_runs(
        loaded,
        given_or_said(scene, duration, settings, "duration"),
        {text.strip(): read_formulation(text) for text in friction.split(",")},
        steps,
        tol=settings.tol if tol is None else tol,
        announce=report_progress,
        **given,
    )
    report_progress("")
    show_comparison(comparison)
    draw("paths and errors", comparison, "comparisons.draw_comparison", figure)
    end_if_failed(comparison)


@main.command()
@click.argument("scene", metavar="SCENE.yaml")
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="What varies: FROM:TO:COUNT, or values with commas. A name is that of a material (friction), of a body or "
    "joint (box.velocity.y, elbow.speed), gravity, or of the run (dt, duration, law, solver, tol, accept). Repeatable.",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="What is kept of a run, such as box.position.x, energy:max or residual. Repeatable.",
)
@click.option("--duration", type=float, help="Seconds to simulate.  [default: what the file says]")
@click.option("--dt", type=float, help="Step in seconds.  [default: what the file says]")
@click.option("--law", metavar="NAME", help="A formulation of friction for all runs.  [default: what the file says]")
@click.option("--out", metavar="PATH", help="An HDF5 file that grows with the sweep, and from which it goes on.")
@click.option("--fresh", is_flag=True, help="Begin anew where that file holds another sweep.")
@click.option("--retry", is_flag=True, help="Run those again that failed.")
@click.option("--keep", metavar="FOLDER", help="Keep the trajectory of every run.")
@click.option("--engine", default="threads", help="threads, processes, dask, dask:ADDRESS or mpi.")
@click.option("--workers", type=int, help="How many runs at a time.  [default: one for each core]")
@click.option("--csv", metavar="PATH", help="Write the table as text.")
@click.option(
    "--plot", "picture", metavar="PATH", callback=a_picture, help="Draw it: one measure over one or two parameters."
)
@click.option("--map", "as_map", is_flag=True, help="Draw --plot as a map over two parameters.")
def sweep(
    scene: str,
    vary: tuple[str, ...],
    measures: tuple[str, ...],
    duration: float | None,
    dt: float | None,
    law: str | None,
    out: str | None,
    csv: str | None,
    picture: str | None,
    as_map: bool,
    **given: Any,
) -> None:
    """Run a scene for all combinations of some values, and print the table.

    \b
    stickslip sweep box.yaml --vary friction=0.1:1.0:50 --vary dt=1e-3,1e-2 \\
        --measure box.position.x --out sweep.h5

    The same command goes on from what is in --out. Exit code 0: every run done. 1: some failed. 2: bad input.
    130: stopped by Ctrl-C, with what was done in --out.
    """
    from stickslip.scene.files import load_run
    from stickslip.sweeps.sweep import FailedRuns, SweepStopped
    from stickslip.sweeps.sweep import sweep as sweep_scene

    check_outputs("sweep", scene, out=out, keep=given["keep"], csv=csv, plot=picture)
    for option, said, other, value in (
        ("map", as_map, "plot", picture), ("fresh", given["fresh"], "out", out), ("retry", given["retry"], "out", out),
    ):  # fmt: skip
        if said and value is None:
            raise InputError(f"sweep: --{option} is given without --{other}, expected both")
    loaded, settings = load_run(scene)
    varied = [varied_values(text) for text in vary]
    over = dict(varied)
    if len(over) < len(varied):
        raise InputError(f"sweep: --vary names {', '.join(name for name, _ in varied)}, expected each name once")
    if not over:
        raise InputError("sweep: --vary is missing, expected what varies, such as --vary friction=0.1:1.0:10")
    if picture is not None and as_map and len(over) < 2:
        raise InputError(f"sweep: --map has {len(over)} parameters, expected two, by --vary")
    fixed = run_values(scene, settings, over, duration=duration, dt=dt, law=law)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FailedRuns)  # said below
            found = sweep_scene(loaded, over, measure=measures or None, out=out, **given, **fixed)
    except SweepStopped as stopped:
        where = "" if out is None else f"; they are in {out}, and the same command goes on from there"
        end(f"{stopped}{where}", STOPPED)
    show_sweep(found)
    if csv is not None:
        found.save_csv(csv)
        click.echo(f"table written to {csv}")
    if out is not None:
        click.echo(f"table kept in {out}")
    if picture is not None:
        draw_sweep(found, list(over), picture, as_map)
        click.echo(f"drawn in {picture}")
    if found.failed.size:
        first = int(found.failed[0])
        said = f"{found.failed.size} of {len(found)} runs failed, the first is run {first}: {found.reason(first)}"
        end(said, NOT_SOLVED)


@main.command()
@click.argument("mechanism", metavar="ROBOT.urdf|ROBOT.xml|rod|arm")
@click.option("--frame", help="The frame whose origin touches.")
@click.option("--point", metavar="X,Y,Z", help="A point in that frame instead of its origin, in metres.")
@click.option("--plane", default="z=0", help="The plane it touches, such as z=0 or -x=0.5.")
@click.option("--joint", "joints", multiple=True, metavar="NAME=A:B", help="A range to search, or NAME=A to fix one.")
@click.option("--touch", metavar="JOINT", help="The joint that puts the point on the plane in each pose.")
@click.option("--mu", type=float, help="A friction coefficient, to be told how much of the map jams with it.")
@click.option("--resolution", default=200, help="Values of each parameter.")
@click.option("--save", "picture", metavar="PATH", callback=a_picture, help="Draw the map as .png, .pdf or .svg.")
@click.option("--engine", metavar="NAME", help="What computes the map: threads, processes, dask or mpi.")
@click.option("--workers", type=int, help="How many of them.  [default: as many as there are cores]")
@click.option("--out", metavar="FILE.h5", help="Keep what is done; the same command goes on from it.")
def jam(
    mechanism: str, joints: tuple[str, ...], mu: float | None, picture: str | None, plane: str, **given: Any
) -> None:
    """Map the friction from which on a contact jams, over some joints, and print the worst poses.

    Angles are in degrees, travels in metres. `rod` and `arm` are the mechanisms of Peiret 2019, by theta, and by x and
    theta3. Without --touch the plane is taken to be wherever the point is.
    """
    from stickslip.analysis.jamming import jam_map

    if mu is not None and not (math.isfinite(mu) and mu >= 0):
        raise InputError(f"jam: --mu is {mu}, expected a friction coefficient >= 0")
    contact = {name: given.pop(name) for name in ("frame", "point", "touch")}
    if mechanism in ("rod", "arm"):
        if any(contact.values()) or plane != "z=0":
            raise InputError(f"jam: {mechanism} has its own contact, expected no --frame, --point, --plane or --touch")
        family = named_family(mechanism, joints)
    else:
        family = family_of_robot(mechanism, joints, plane, **contact)
    found = jam_map(family, **given)
    show_jam_map(found, mu)
    draw("map", found, "jam_maps.draw_jam_map", picture)


@main.command()
@click.argument("model", metavar="MODEL.xml|MODEL.urdf")
@click.option("--seconds", default=2.0, help="How long the simulator runs.")
@click.option("--engine", type=click.Choice(["mujoco", "pybullet"]), default="mujoco", help="Which.")
@click.option("--control", metavar="U,U,...", help="The controls of MuJoCo's actuators, constant.  [default: zeros]")
@click.option("--settings", is_flag=True, help="Compare settings of MuJoCo that bring its contacts closer to the law.")
@click.option("--floating", is_flag=True, help="The base of a URDF is free.")
@click.option("--ground", type=float, metavar="Z", help="Add a plane at this height, for a URDF has none.")
@click.option(
    "--save", "picture", metavar="PATH", callback=a_picture, help="Draw the audit over time as .png, .pdf or .svg."
)
def audit(
    model: str, seconds: float, engine: Any, control: str | None, settings: bool, picture: str | None, **base: Any
) -> None:
    """Run MuJoCo or PyBullet as it is and grade its contacts by Coulomb's law, step by step.

    Each step of MuJoCo is then solved exactly from the same state, and the accelerations are compared. Its contacts are
    soft by design, which makes its forces unique, smooth and quick to find: this tells what that costs in a model.
    """
    from stickslip.analysis.audit import audit as audited
    from stickslip.analysis.audit import audit_settings, settings_table
    from stickslip.dynamics.mujoco import load_model

    given = None if control is None else numbers("--control", control)
    if engine == "pybullet":
        if settings:
            raise InputError("audit: --settings is given, expected it with --engine mujoco only")
        found = audited(model, seconds=seconds, control=given, engine=engine, **base)
        click.echo(str(found))
    else:
        loaded = load_model(model, quiet=True, **base)
        for sentence in loaded.left_out:
            click.echo(f"{model}: {sentence}", err=True)
        found = audited(loaded, seconds=seconds, control=given)
        click.echo(str(found))
        if settings:
            click.echo("")
            click.echo(settings_table(audit_settings(loaded, seconds, control=given)))
    draw("audit", found, "audits.draw_audit", picture)


@main.command()
@click.argument("world", metavar="SCENE.yaml|peg")
@click.option("--radius", type=float, default=1.0, help="Of the peg.")
@click.option("--depth", type=float, default=4.0, help="Of the peg in its hole, in the same unit.")
@click.option("--mu", type=float, default=0.3, help="Friction of the peg.")
@click.option("--body", help="The body of a scene that is pushed, at its centre of mass.")
@click.option("--base", metavar="F,F,F,T,T,T", help="A force and a torque, in newtons and newton metres.")
@click.option("--across", metavar="F,F,F,T,T,T", help="What is added to it x times.")
@click.option("--up", metavar="F,F,F,T,T,T", help="What is added to it y times.")
@click.option("--window", metavar="X,X,Y,Y", help="Least and greatest x and y.  [default: -1,1,-1,1]")
@click.option("--together", metavar="I+J,K+L,...", help="Contacts that act together.  [default: all that touch]")
@click.option("--save", "picture", metavar="PATH", callback=a_picture, help="Draw the diagram as .png, .pdf or .svg.")
def push(
    world: str, radius: float, depth: float, mu: float, window: str | None, picture: str | None, **scene: str | None
) -> None:
    """Which pushes jam a world at rest, which wedge it and which go on, as for a peg in a hole.

    `peg` is the classical one, over F_x/F_z and M/(r F_z). In a scene the pushes are base + x across + y up.
    """
    from stickslip.analysis.pushing import peg_diagram

    if world == "peg":
        if any(scene.values()):
            raise InputError("push: peg has its own pushes, expected no --body, --base, --across, --up or --together")
        found = peg_diagram(radius, depth, mu, window_of(window) if window else None)
    else:
        found = scene_pushes(world, window, **scene)
    click.echo(found.describe())
    for state in found.states:
        click.echo("")
        click.echo(f"held by {' and '.join(state.names)}:" if len(state.outline) else f"{state}; nothing is held")
        for x, y in state.outline:
            click.echo(f"  {x:12.6g} {y:12.6g}")
    draw("diagram", found, "pushes.draw_jamming_diagram", picture)


@main.command()
@click.argument("files", nargs=-1, metavar="[SCENE.yaml|RUN.h5...|ROBOT.urdf [RUN.h5...]|MODEL.xml [RUN.h5...]]")
@click.option("--host", default="127.0.0.1", help="Another opens it to others, who need its token.")
@click.option("--port", default=8080, help="The next that is free where it is taken.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--keep", is_flag=True, help="Stay when the last tab is closed.")
@click.option("--floating", is_flag=True, help="The base of a URDF is free.")
@click.option("--ground", type=float, metavar="Z", help="A plane at this height, for a robot without one.")
def view(
    files: tuple[str, ...], host: str, port: int, no_browser: bool, keep: bool, floating: bool, ground: float | None
) -> None:
    """Open the lab in the browser: a scene or a robot that runs, or saved runs: several of one scene, or those of a
    robot, whose own file goes first.

    Without a file it begins with a tour. It ends when its last tab is closed, or with Ctrl-C.
    """
    from stickslip.lab.opening import opened_files
    from stickslip.lab.tour import STOPS
    from stickslip.lab.view import view as open_lab

    world = opened_files(files, floating, ground) if files else STOPS[0].scene()
    settings = None if files else STOPS[0].settings
    lab = open_lab(world, host=host, port=port, browser=not no_browser, keep=keep, settings=settings)
    click.echo(f"The lab is at {lab.address}")
    try:
        lab.wait()
    except KeyboardInterrupt:
        click.echo("")
    finally:
        lab.close()


@main.command()
@click.argument("run", metavar="RUN.h5")
@click.argument("page", metavar="RUN.html")
@click.option("--ghost", "ghosts", multiple=True, metavar="OTHER.h5", help="A run of the same bodies, shown beside it.")
@click.option("--model", metavar="MODEL.xml", help="Of a run of a robot, whose shapes are in its own file.")
def export(run: str, page: str, ghosts: tuple[str, ...], model: str | None) -> None:
    """Write a saved run as one HTML file that replays it in any browser, without a network."""
    from stickslip.lab.opening import loaded_runs

    first, *others = loaded_runs((run, *ghosts), model)
    first.export(page, others)
    click.echo(f"replay written to {page}, open it in a browser")


@main.command()
@click.argument("name", required=False)
@click.option("--figure", metavar="PATH", help="Where the picture goes.  [default: NAME.png]")
def paper(name: str | None, figure: str | None) -> None:
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
        end(f"not met: {'; '.join(check.what for check in report.failed)}", NOT_SOLVED)


@main.command()
@click.option(
    "--figure", default="stickslip-demo.png", metavar="PATH", callback=a_picture, help="Where the picture goes."
)
@click.option("--problems", is_flag=True, help="Instead of the box, solve a set of complementarity problems.")
@click.option("--seed", type=int, help="For the random ones of --problems.  [default: 0]")
def demo(figure: str, problems: bool, seed: int | None) -> None:
    """A box slides and spins under eight formulations of friction: a table and a picture.

    Exit code 1 if a step, or a problem that has a solution, is not solved.
    """
    if seed is not None and not problems:
        raise InputError(f"demo: --seed is {seed}, and the box has nothing random, expected --problems with it")
    if problems:
        solve_problems(figure, seed or 0)
    else:
        slide_box(figure)


@main.command()
def doctor() -> None:
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
        sys.exit(NOT_SOLVED)


def slide_box(figure: str) -> None:
    from stickslip import demo as show
    from stickslip.view.comparisons import draw_comparison

    comparison = show.slide(report_progress)
    report_progress(f"drawing {figure}")
    draw_comparison(comparison, figure, "A cube slides and spins until friction stops it, under eight formulations")
    report_progress("")
    show_comparison(comparison)
    click.echo(textwrap.fill(show.READING, PLAIN_WIDTH))
    click.echo(f"The paths are drawn in {figure}")
    page = os.path.splitext(figure)[0] + ".html"
    comparison.outcomes[0].run.export(page, [each.run for each in comparison.outcomes[1:4]])
    click.echo(f"Four of the runs replay in {page}: open it in a browser.")
    click.echo("stickslip view runs scenes live in the browser, with a tour to start with.")
    end_if_failed(comparison)


def solve_problems(figure: str, seed: int) -> None:
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
    show_outcomes(outcomes)
    click.echo("Each was solved twice and the second run timed, so that compilation is left out.")
    click.echo(several)
    click.echo(f"The pile of balls and its contact forces are drawn in {figure}")
    failed = [outcome.example.name for outcome in outcomes if not outcome.as_expected]
    if failed:
        end(f"not solved, although there is a solution: {'; '.join(failed)}", NOT_SOLVED)


# what is given


def given_or_said(scene: str, given: float | None, settings: RunSettings, name: str) -> float:
    """An option, or what the file says in its place."""
    value: float | None = getattr(settings, name) if given is None else given
    if value is None:
        raise InputError(f"{scene}: run.{name} is missing, expected it in the file or as --{name}")
    return value


def varied_values(text: str) -> tuple[str, list[Any]]:
    """Name and values of `friction=0.1:1.0:50`, `dt=1e-3,1e-2` or `law=coulomb,phantom`."""
    name, _, said = text.partition("=")
    name, parts = name.strip(), said.split(":")
    if not (name and said):
        raise InputError(f"sweep: --vary is {text!r}, expected NAME=FROM:TO:COUNT or NAME=A,B,...")
    if name in ("law", "solver"):
        return name, said.split(",")
    try:
        if len(parts) == 3:
            import numpy as np

            from stickslip.checks import number, whole
            from stickslip.sweeps.plan import MOST_RUNS

            count = whole("sweep", f"the count of --vary {name}", int(parts[2]), 1, MOST_RUNS)
            first, last = (number("sweep", f"an end of --vary {name}", float(part)) for part in parts[:2])
            return name, np.linspace(first, last, count).tolist()
        return name, [int(part) if part.strip().isdecimal() else float(part) for part in said.split(",")]
    except InputError:
        raise
    except ValueError:
        raise InputError(f"sweep: --vary is {text!r}, expected NAME=FROM:TO:COUNT or NAME=A,B,...") from None


def run_values(scene: str, settings: RunSettings, over: Collection[str], **given: Any) -> dict[str, Any]:
    """What runs are told: options, or what the file says, but for what varies."""
    from stickslip.engine.names import law_and_solver

    law, solver = law_and_solver(settings)
    told = {"law": law, "solver": solver, "tol": settings.tol, "accept": settings.accept}
    for name, value in given.items():
        if value is not None and name in over:
            raise InputError(f"sweep: {name} is given by --vary and by --{name}, expected one of the two")
    told |= {name: value for name, value in given.items() if value is not None}
    told |= {name: given_or_said(scene, given[name], settings, name) for name in ("duration", "dt") if name not in over}
    return {name: value for name, value in told.items() if name not in over and value is not None}


def window_of(text: str) -> tuple[tuple[float, float], tuple[float, float]]:
    values = numbers("--window", text)
    if len(values) != 4:
        raise InputError(f"--window is {text!r}, expected four numbers")
    return (values[0], values[1]), (values[2], values[3])


def scene_pushes(
    path: str, window: str | None, body: str | None, together: str | None, **given: str | None
) -> JammingDiagram:
    """The jamming diagram of a scene file."""
    from stickslip.analysis.pushing import jamming_diagram
    from stickslip.scene.files import load_scene

    pushes = []
    for name in ("base", "across", "up"):
        text = given[name]
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
    path: str, joints: tuple[str, ...], plane: str, frame: str | None, point: str | None, touch: str | None
) -> Family:
    """The poses of a robot that `jam` is to search."""
    from stickslip.analysis.jamming import MOST_PARAMETERS, robot_family
    from stickslip.dynamics.pinocchio import FramePoint, load_robot, read_plane

    if frame is None:
        raise InputError("jam: --frame is missing, expected the name of a frame of the robot")
    normal, offset = read_plane(plane)
    place = (0.0, 0.0, 0.0) if point is None else tuple(numbers("--point", point))
    robot = load_robot(path, FramePoint(frame, place, normal, offset))  # type: ignore[arg-type]  # checked there
    values = by_name(joints)
    scaled = {
        name: tuple(v if robot.is_prismatic(name) else math.radians(v) for v in given) for name, given in values.items()
    }
    ranges = {name: (given[0], given[1]) for name, given in scaled.items() if len(given) == 2}
    if not 1 <= len(ranges) <= MOST_PARAMETERS:
        expected = f"one to {MOST_PARAMETERS} of {', '.join(robot.joints)}"
        raise InputError(f"jam: --joint gives {len(ranges)} ranges, expected {expected}")
    return robot_family(robot, ranges, {name: given[0] for name, given in scaled.items() if len(given) == 1}, touch)


def named_family(name: str, joints: tuple[str, ...]) -> Family:
    """The rod or the arm, with the ranges that are given."""
    from dataclasses import replace

    from stickslip.analysis.jamming import arm_family, rod_family

    family = rod_family() if name == "rod" else arm_family()
    ranges = dict(family.ranges)
    for parameter, given in by_name(joints).items():
        if parameter not in ranges or len(given) != 2:
            raise InputError(f"jam: --joint is {parameter!r}, expected a range of {' or '.join(ranges)}")
        in_degrees = dict(zip(ranges, family.units, strict=True))[parameter] == "rad"
        least, greatest = map(math.radians, given) if in_degrees else given
        ranges[parameter] = (least, greatest)
    return replace(family, ranges=ranges)


def by_name(joints: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """The values of each joint, which is named once: of `elbow=-90:90` or `elbow=30`."""
    found: dict[str, tuple[float, ...]] = {}
    for text in joints:
        name, _, values = text.partition("=")
        try:
            given = tuple(float(part) for part in values.split(":"))
        except ValueError:
            given = ()
        if len(given) not in (1, 2):
            raise InputError(f"jam: --joint is {text!r}, expected NAME=VALUE or NAME=FROM:TO, such as elbow=-90:90")
        if name in found:
            raise InputError(f"jam: --joint names {name!r} twice, expected each joint once")
        found[name] = given
    return found


def end_if_failed(comparison: Comparison) -> None:
    if comparison.failed:
        counts = (f"{outcome.failures} of {outcome.name}, dt {outcome.dt:g}" for outcome in comparison.failed)
        end(f"steps were not solved: {'; '.join(counts)}", NOT_SOLVED)


# what is drawn and printed


def draw(what: str, found: Any, by: str, path: str | None) -> None:
    """Draw what was found, by a function of stickslip.view, where a path is given."""
    if path is not None:
        module, function = by.split(".")
        getattr(import_module(f"stickslip.view.{module}"), function)(found, path)
        click.echo(f"{what} drawn in {path}")


def terminal() -> Console:
    """Plain text, 80 columns wide, where the output is no terminal."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(width=PLAIN_WIDTH, color_system=None)


def show_table(headings: str, rows: list[tuple[str, ...]]) -> None:
    """Rows of cells under headings, which `|` separates. Plain text, so that no cell is ever cut."""
    from stickslip.engine.trajectory import aligned

    lines = aligned([tuple(headings.split("|")), *rows], left=(0,), gap=" ")
    click.echo("\n".join(["", lines[0], "─" * len(lines[0]), *lines[1:]]))


def show_run(scene: str, trajectory: Trajectory) -> None:
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
    terminal().print(table)
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


def show_sweep(found: Sweep) -> None:
    """The first rows of a table, and how many there are."""
    from stickslip.sweeps.table import flat_columns

    columns = flat_columns({name: found[name] for name in (*found.parameters, *found.measured)})
    rows = [
        (str(i), *(f"{column[i]:.6g}" if column.dtype.kind == "f" else str(column[i]) for column in columns.values()))
        for i in range(min(ROWS, len(found)))
    ]
    show_table("|".join(("run", *columns)), rows)
    more = f"and {len(found) - ROWS} more runs; " if len(found) > ROWS else ""
    click.echo(f"\n{more}{found.done.size} of {len(found)} runs done, {found.seconds.sum():.3g} s of runs")


def draw_sweep(found: Sweep, over: list[str], picture: str, as_map: bool) -> None:
    """The first measure over the first parameter, or over two."""
    from stickslip.sweeps.table import flat_columns

    measure = next(iter(flat_columns({name: found[name] for name in found.measured})), None)
    if measure is None:
        raise InputError(f"sweep: no run measured anything, expected one at least to draw {picture}")
    if as_map:
        found.map(over[0], over[1], measure, picture)
    else:
        found.plot(over[0], measure, over[1] if len(over) > 1 else None, picture)


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
                f"{float(f'{1e3 * outcome.cost:.2g}'):g}",  # two digits, without an exponent
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
    import numpy as np

    click.echo(f"{report.title} ({report.columns})")
    rows: list[tuple[str, ...]] = []
    for check in report.checks:
        ours, known = (" ".join(fixed(v, report.digits) for v in np.ravel(each)) for each in (check.ours, check.known))
        tolerance = "-" if check.tolerance is None else f"{check.tolerance:.0e}" if check.tolerance else "exact"
        apart = f"{check.difference:.1e}" + ("" if check.holds else " !")
        rows.append((check.what, ours, known, apart, tolerance))
    show_table("|here|known|apart|tol", rows)
    click.echo("")
    for note in report.notes:
        click.echo(textwrap.fill(note, PLAIN_WIDTH))


def fixed(value: float, digits: int) -> str:
    """With so many digits behind the point, and no minus before zeros."""
    text = f"{value:.{digits}f}"
    return text if text.strip("-0.") else text.lstrip("-")


def show_outcomes(outcomes: list[Solved]) -> None:
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
    terminal().print(table)


def show_answer(problem: str, answer: Solution) -> None:
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
    terminal().print(table)


def duration(seconds: float) -> str:
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e3 * seconds:.3f} ms"


def save_answer(answer: Solution, path: str) -> None:
    """x, y and how they were found. The file appears complete or not at all."""
    import numpy as np

    from stickslip.problems.files import made_whole

    names = ("x", "y", "status", "residual", "iterations", "seconds", "method")
    fields = {name: getattr(answer, name) for name in names} | {"status": answer.status.name}
    if path.endswith(".npz"):
        with replacing(path) as temporary:
            np.savez(temporary, **fields)
    else:
        with made_whole(path) as file:
            file.update(fields)


def report_progress(text: str) -> None:
    """A line on stderr: overwritten on a terminal, kept in a log."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)
