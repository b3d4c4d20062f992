"""The command `lockstep`.

Whatever is slow to import is imported inside the command that needs it, so that `--help` answers at once.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def show_version(is_wanted: bool) -> None:
    """Print the version of the installed distribution, and stop."""
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"lockstep {version('lockstep-mcmc')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Sample when the Metropolis-Hastings log ratio can only be estimated."""


@app.command()
def paper(
    full: Annotated[
        bool, typer.Option("--full", help="Publication precision, and the efficiency comparison (about 15 minutes).")
    ] = False,
    out: Annotated[Path, typer.Option(help="Directory for the figures, results.json and report.html.")] = Path(
        "results"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    m: Annotated[
        list[int] | None,
        typer.Option("--m", min=5, help="Numbers of samples m; repeat for several. Default: 8, 16, … 256."),
    ] = None,
    updates: Annotated[
        int | None,
        typer.Option(min=3_200, help="Updates of a run, all chains together. Default: 1 million (full: 10)."),
    ] = None,
) -> None:
    """Reproduce the figures and numbers of Nicholls, Fox and Muir Watt (2012).

    Prints a table of the paper's numbers, a reference, and what is measured
    here; writes figures, results.json and a self-contained report.html.

    The paper does not state its proposals. Those used here agree with its
    numbers, which does not prove that they were the authors' settings.
    """
    from rich.console import Console

    from lockstep.studies.nicholls2012.progress import Jobs
    from lockstep.studies.nicholls2012.settings import COUNTS, FULL, QUICK, Settings
    from lockstep.studies.nicholls2012.study import run_study
    from lockstep.studies.nicholls2012.table import print_table

    counts = tuple(sorted(set(m))) if m else COUNTS
    settings = Settings(updates or (FULL if full else QUICK), counts, is_full=full, seed=seed)
    console = Console(soft_wrap=not Console().is_terminal)
    outcome = run_study(settings, out, Jobs(console))
    print_table(outcome.rows, Console(width=None if console.is_terminal else 110))
    for finding in outcome.findings:
        console.print(f"• {finding}", markup=False, highlight=False)
    console.print(f"Report: {out / 'report.html'}", markup=False, highlight=False)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="Directory of a run.", metavar="DIR")],
    out: Annotated[Path | None, typer.Option(help="The page to write. Default: report.html in the directory.")] = None,
) -> None:
    """Write a self-contained HTML report of a run: findings, traces, ranks, densities, diagnostics."""
    import lockstep

    run = lockstep.load(directory)
    typer.echo(f"Report: {run.report(out or directory / 'report.html')}")


def main() -> None:
    """Run the command; an error is one line, unless `--debug` asks for its traceback."""
    try:
        app()
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"Error: {str(error) or type(error).__name__}", err=True)
        raise SystemExit(1) from None
