"""The command `lockstep`.

Whatever is slow to import is imported inside the command that needs it, so that `--help` answers at once.
"""

import sys
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
def example(
    draws: Annotated[int, typer.Option(min=4, help="Draws of each chain.")] = 10_000,
    chains: Annotated[int, typer.Option(min=1, help="Number of chains.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
) -> None:
    """Sample a normal distribution in two dimensions from a noisy log ratio, by four kernels."""
    from time import perf_counter

    import arviz_stats
    import jax
    import jax.numpy as jnp
    from rich.console import Console
    from rich.table import Table

    import lockstep as ls

    count, noise_sd = 32, 4.0

    def log_density(position: jax.Array) -> jax.Array:
        return -0.5 * jnp.sum(position**2)

    def draw(key: jax.Array, count: int) -> jax.Array:
        return jax.random.normal(key, (count,))

    def one_sample(noise: jax.Array, position: jax.Array, candidate: jax.Array) -> jax.Array:
        return log_density(candidate) - log_density(position) + noise_sd * noise

    estimator = ls.estimators.mean(one_sample, count=count, draw=draw)
    proposal = ls.RandomWalk(1.5)
    kernels = {
        "standard": ls.standard(log_density, proposal),
        "naive": ls.naive(estimator, proposal),
        "penalty": ls.penalty(estimator, proposal),
        "corrected": ls.corrected(estimator, proposal),
    }

    table = Table(
        title=f"N(0, I) in two dimensions, log ratio estimated from {count} samples of sd {noise_sd:g}",
        caption="Exact: mean 0, sd 1 (first coordinate shown). ESS and R-hat are those of the worse\n"
        "coordinate. `standard` sees the density itself; seconds include compilation.",
    )
    table.add_column("kernel")
    for column in ("mean", "sd", "acceptance", "ESS bulk", "R-hat", "seconds"):
        table.add_column(column, justify="right")

    console = Console()
    for name, kernel in kernels.items():
        console.print(f"sampling with ls.{name}")
        start = perf_counter()
        run = ls.sample(kernel, jnp.zeros(2), draws=draws, chains=chains, seed=seed, progress=True)
        seconds = perf_counter() - start
        summary = arviz_stats.summary(run.to_datatree(), round_to="none")
        table.add_row(
            name,
            f"{summary['mean'].iloc[0]:.3f}",
            f"{summary['sd'].iloc[0]:.3f}",
            f"{run.info.is_accepted.mean():.3f}",
            f"{summary['ess_bulk'].min():.0f}",
            f"{summary['r_hat'].max():.3f}",
            f"{seconds:.1f}",
        )
    console.print(table)


def main() -> None:
    """Run the command; an error is one line, unless `--debug` asks for its traceback."""
    try:
        app()
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"Error: {str(error) or type(error).__name__}", err=True)
        raise SystemExit(1) from None
