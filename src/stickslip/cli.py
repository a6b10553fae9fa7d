"""The command line: it parses, calls and prints. Heavy modules are imported inside the commands."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from typing import TYPE_CHECKING, Any

import click

from stickslip import __version__
from stickslip.errors import FileError, InputError, SolveFailed

if TYPE_CHECKING:
    from rich.console import Console

    from stickslip.demo import Outcome
    from stickslip.solvers.solution import Solution

NOT_SOLVED, BAD_INPUT = 1, 2  # exit codes


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
@click.pass_context
def solve(ctx: click.Context, file: str, method: str, tol: float | None, target: str | None) -> None:
    """Solve the problem in FILE: FCLIB, LCP, mixed LCP or box layout, HDF5.

    Exit code 0: solved to the tolerance. 1: not solved. 2: bad input.
    """
    from stickslip.problems.files import load
    from stickslip.solvers.solve import solve as solve_problem

    if target is not None and not target.endswith((".npz", ".h5")):
        raise InputError(f"solve: --save is {target!r}, expected a name that ends with .npz or .h5")
    problem = load(file)
    answer = solve_problem(problem, method=method, tol=tol)
    show_answer(terminal(), repr(problem), answer)
    if target is not None:
        save_answer(answer, target)
        click.echo(f"answer written to {target}")
    if not answer.solved:
        ctx.exit(NOT_SOLVED)


@main.command()
@click.option(
    "--figure", default="stickslip-demo.png", show_default=True, metavar="PATH", help="Where the picture goes."
)
@click.option("--seed", default=0, show_default=True, help="For the random problems and the pile of balls.")
@click.pass_context
def demo(ctx: click.Context, figure: str, seed: int) -> None:
    """Build a set of problems, solve them, print a table and draw a picture.

    Exit code 1 if a problem that has a solution is not solved.
    """
    from stickslip import demo as show
    from stickslip.view.figures import check_path

    check_path(figure)
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


def terminal() -> Console:
    """Plain text, 80 columns wide, where the output is no terminal."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(width=80, color_system=None)


def show_outcomes(console: Console, outcomes: list[Outcome]) -> None:
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
    stem, suffix = os.path.splitext(path)
    temporary = f"{stem}.{secrets.token_hex(4)}{suffix}"
    try:
        if suffix == ".npz":
            np.savez(temporary, **fields)
        else:
            with h5py.File(temporary, "x") as file:
                for name, value in fields.items():
                    file[name] = value
        os.replace(temporary, path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise FileError(f"{path}: cannot be written ({reason})") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)


def report_progress(text: str) -> None:
    """A line on stderr: overwritten on a terminal, kept in a log."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)
