"""The command `lockstep`.

Whatever is slow to import is imported inside the command that needs it, so that `--help` answers at once.

Exit codes: 0 done; 1 an error in the model or its run; 2 wrong usage; 3 the directory holds a run with other settings;
4 another process writes to it; 5 it holds no run, or a damaged one; 6 it cannot be written; 130 stopped by Ctrl-C.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, NoReturn

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
    """Sample when the Metropolis-Hastings log ratio can only be estimated.

    Exit codes: 0 done, 1 error, 2 usage, 3 other settings, 4 locked, 5 no run
    or a damaged one, 6 not writable, 130 interrupted.
    """


def as_path(text: str) -> Path:
    """A path that is not empty: a variable of a shell that is not set would mean the directory that one is in."""
    if not text:
        raise typer.BadParameter("an empty text is no path; . is the directory that one is in")
    return Path(text)


Directory = Annotated[Path, typer.Argument(metavar="DIR", parser=as_path, help="The directory of a run.")]


@app.command()
def run(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL.PY",
            help="A file that defines `kernel` and `initial`, or a function that returns them (file.py:function).",
        ),
    ],
    draws: Annotated[int, typer.Option(min=1, help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(min=1, help="Number of chains.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    warmup: Annotated[int, typer.Option(min=0, help="Updates to forget before the first draw.")] = 0,
    thin: Annotated[int, typer.Option(min=1, help="Updates for each draw.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", parser=as_path, help="Directory of the run. Default: runs/MODEL."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes to share the chains between. Default: one, all chains together."),
    ] = None,
    adapt: Annotated[
        bool,
        typer.Option("--adapt", help="Let proposals learn in the warm-up, of 1,000 updates unless --warmup says else."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    changed: Annotated[
        str,
        typer.Option(
            metavar="refuse|accept",
            help="If the directory holds a run of another model: refuse, or go on with this one and record it.",
        ),
    ] = "refuse",
    on_error: Annotated[
        str,
        typer.Option(metavar="raise|reject", help="What an exception of a black box does: end the run, or reject."),
    ] = "raise",
    until: Annotated[
        str | None,
        typer.Option(
            metavar="CRITERION",
            help="Stop when it is met, after at most --draws: error(0.02), ess(400), seconds(3600), joined by & and |.",
        ),
    ] = None,
    ahead: Annotated[
        str,
        typer.Option(
            metavar="N|auto", help="Updates of a chain to compute at once; those of black boxes need --workers."
        ),
    ] = "1",
) -> None:
    """Run chains of a model; the same command again resumes, with more draws it extends."""
    from lockstep.chains.groups import run_task
    from lockstep.chains.interrupt import Interrupted, stopped
    from lockstep.chains.prepare import make_task
    from lockstep.engine.totals import failed_sentence
    from lockstep.model_file import load_model

    if changed not in ("refuse", "accept"):
        raise typer.BadParameter(f"{changed} is neither refuse nor accept", param_hint="--changed")
    criterion = None
    if until is not None:
        from lockstep.chains.until import parsed

        try:
            criterion = parsed(until)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--until") from None
    kernel, initial = load_model(model)
    out = out or Path("runs") / Path(model.partition(".py")[0]).name
    try:
        width = int(ahead) if ahead.isdecimal() else ahead
        settings = (draws, chains, seed, warmup, thin, out, adapt, not quiet, changed, on_error, criterion, width)
        task = make_task(kernel, initial, *settings)
    except Interrupted as stop:
        _stop(str(stop), out)
    outcome = run_task(task, workers, not quiet, is_collected=False)
    if not outcome.is_complete:
        _stop(str(stopped(task, outcome.totals, None)), out)
    if outcome.totals.bad:
        typer.echo(f"Warning: {outcome.totals.bad_share:.2%} of the log ratios were NaN or plus infinity.", err=True)
    if outcome.totals.failed:
        typer.echo(f"Warning: {failed_sentence(outcome.totals.failed, outcome.totals.failure)}.", err=True)
    if outcome.until is not None:
        draws = outcome.until.draws
        typer.echo(f"{'' if outcome.until.is_met else 'Warning: '}{outcome.until}.", err=not outcome.until.is_met)
    if task.began is not None:
        typer.echo(f"{task.began}.")
    typer.echo(f"{out}: {chains} chains of {draws:,} draws, acceptance {outcome.totals.acceptance:.2f}")


def _stop(message: str, out: Path) -> NoReturn:
    """Say how far a run came that was stopped, and end."""
    typer.echo(f"{message.partition(';')[0]}; all of it is in {out}.", err=True)
    typer.echo("The same command again goes on.", err=True)
    raise typer.Exit(130)


@app.command()
def status(
    directory: Directory,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Tell how far a run is, or all runs of a sweep, living or not."""
    from lockstep.results.standing import run_directories

    found = run_directories(directory)
    if as_json:
        told = [one.to_dict() for one in found]
        typer.echo(json.dumps(told if found[0].directory != directory else told[0]))
        return
    for one in found:
        typer.echo("\n".join(one.lines()))


@app.command()
def summary(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Runs, or sweeps; several are compared.")],
) -> None:
    """Print means, deviations, ESS and R-hat of a run, and separation times of a coupled one.

    Several runs, or those of a sweep, stand side by side.
    """
    import lockstep as ls
    from lockstep.coupling.infos import Marked
    from lockstep.results.standing import run_directories

    found = [one for directory in directories for one in run_directories(directory)]
    for one in found:
        if one.reason is not None:
            typer.echo(f"{one.directory}: damaged, and left out: {one.reason}", err=True)
    paths = [one.directory for one in found if one.reason is None]
    if len(paths) != 1:
        typer.echo(repr(ls.compare({str(path): ls.load(path) for path in paths})))
        return
    loaded = ls.load(paths[0])
    typer.echo(repr(loaded.summary()))
    if isinstance(loaded.info, Marked):
        typer.echo(repr(ls.separation.summary(loaded)))


@app.command()
def watch(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run, a sweep, or a directory that holds some.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page. Default: one that is free.")] = 0,
    terminal: Annotated[bool, typer.Option("--terminal", help="Show the numbers here, not on a page.")] = False,
) -> None:
    """Show runs while they go, on a page at 127.0.0.1 that keeps itself up to date; Ctrl-C ends it.

    The page only reads. Whoever is logged in on this machine can open it.
    """
    from lockstep.watch.numbers import Watch

    watched = Watch(directory)
    try:
        if terminal:
            from rich.console import Console

            from lockstep.watch.terminal import show

            show(watched, Console())
            return
        from lockstep.watch.server import Page

        with Page(watched, port) as page:
            typer.echo(f"{directory} is shown at {page.address} (Ctrl-C ends this)")
            page.serve_forever()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


@app.command()
def export(
    directory: Directory,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            parser=as_path,
            help="Where: FILE.nc, .zarr, .csv (a file a chain), .parquet, .arrow. Default: DIR.nc.",
        ),
    ] = None,
) -> None:
    """Write a run as netCDF or Zarr (ArviZ, xarray), CSV in CmdStan's layout (R), Parquet or Arrow."""
    import lockstep as ls

    to = to or directory.with_name(f"{directory.name}.nc")
    writers = {
        ".nc": ls.Run.to_netcdf,
        ".zarr": ls.Run.to_zarr,
        ".csv": ls.Run.to_csv,
        ".parquet": ls.Run.to_parquet,
        ".arrow": ls.Run.to_arrow,
    }
    if to.suffix not in writers:
        raise typer.BadParameter(f"{to} ends in none of {', '.join(writers)}", param_hint="--to")
    written = writers[to.suffix](ls.load(directory), to)
    typer.echo("\n".join(map(str, written if isinstance(written, list) else [written])))


@app.command()
def paper(
    full: Annotated[
        bool, typer.Option("--full", help="Publication precision, and the efficiency comparison (about 15 minutes).")
    ] = False,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", parser=as_path, help="Directory for the figures, results.json and report.html."),
    ] = Path("results"),
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
    directory: Directory,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=as_path, help="The page to write. Default: report.html in the directory."),
    ] = None,
) -> None:
    """Write a self-contained HTML report of a run: findings, traces, ranks, densities, diagnostics."""
    import lockstep

    run = lockstep.load(directory)
    typer.echo(f"Report: {run.report(out or directory / 'report.html')}")


def main() -> None:
    """Run the command; an error is one line, unless `--debug` asks for its traceback."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(arguments)
    except Exception as error:
        if "--debug" in sys.argv[1:]:
            raise
        kind = "" if _exit_code(error) > 1 else f"{type(error).__name__}: "
        typer.echo(f"Error: {kind}{str(error) or type(error).__name__}", err=True)
        raise SystemExit(_exit_code(error)) from None


def _exit_code(error: Exception) -> int:
    from lockstep.storage import errors

    codes = {
        errors.MismatchError: 3,
        errors.LockedError: 4,
        errors.DamagedError: 5,
        errors.NoRunError: 5,
        errors.StorageError: 6,
    }
    return codes.get(type(error), 1)  # type: ignore[arg-type]
