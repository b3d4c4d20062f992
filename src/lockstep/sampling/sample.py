"""``ls.sample``: run chains of a kernel and keep their draws."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from lockstep.chains.groups import run_task
from lockstep.chains.interrupt import stopped
from lockstep.chains.outcome import Outcome
from lockstep.chains.prepare import make_task
from lockstep.chains.task import Task
from lockstep.chains.until import Criterion
from lockstep.core.kernel import Kernel
from lockstep.core.precision import canonical, double_precision
from lockstep.core.warnings import warn
from lockstep.engine.bad_ratios import warn_of_ratios
from lockstep.lagged.warmup import is_coupled, with_coupled_warmup
from lockstep.results.convergence import stuck
from lockstep.results.run import Run
from lockstep.starts.start import warn_of_many_starts
from lockstep.storage.directory import changes_in
from lockstep.workers.pool import Workforce

WORTH_A_WARNING = 0.05  # the share of the chains that stick; the summary tells of a single one


def sample(
    kernel: Kernel,
    initial: Any = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int = 0,
    warmup: int | str = 0,
    thin: int = 1,
    directory: str | PathLike[str] | None = None,
    executor: Workforce = None,
    progress: bool | None = None,
    adapt: bool = False,
    changed: str = "refuse",
    on_error: str = "raise",
    until: Criterion | None = None,
    ahead: int | str = 1,
    names: Sequence[str] | None = None,
    devices: int | None = None,
) -> Run:
    """Run chains of a kernel and keep their draws.

    Everything is computed in double precision, in a scope of its own. The noise of a step depends on the seed, the
    chain and the step alone; a longer run begins with the draws of a shorter one.

    Ctrl-C stops at the end of a block of about a second and raises `ls.Interrupted` (a ``KeyboardInterrupt``), whose
    ``run`` holds the draws so far. So does the ``run`` of whatever a function of the kernel raises in the middle of a
    run; it is None if there are no draws yet.

    Parameters
    ----------
    kernel
        What `ls.standard`, `ls.penalty`, `ls.exchange`, … return, or any kernel with ``noise``, ``init`` and ``move``.
    initial
        A position for all chains, a function of a random key that draws one, or ``ls.Starts(positions)`` with a
        leading axis over the chains. Kernels of `ls.Parameters` take values by name in each of these places; left out,
        each of their chains begins at a draw from the prior. Kernels whose mode is not known yet (`ls.subsampled`,
        `ls.tunamh`, …) search it from here, with several chains from the first one's start. If this is one position,
        their chains then begin around the mode, each at a normal step of twice the standard deviations there, and
        ``run.began`` says so; starts that you give for each chain are kept.
    draws
        How many positions of each chain to keep.
    chains
        How many chains to run.
    seed
        A whole number.
    warmup
        How many updates to take and forget before the first draw. ``"coupled"``: as many as `ls.convergence` finds,
        by 500 lagged pairs of chains that begin as these do, to be within 0.01 of equilibrium in total variation;
        ``run.warmup`` tells them. It is refused with ``adapt``, which changes the kernel on the way.
    thin
        How many updates to take for each draw.
    directory
        Makes the run durable: draws are committed to this directory as they come. The same call again goes on where
        the last one stopped, or was killed, and with more ``draws`` extends the run; `ls.load` opens it. Another
        kernel, seed or start is refused: its code and data are compared, as far as they can be followed, and before the
        run goes on the last update of each chain is computed again and compared bit for bit.
    executor
        Where to run: a ``concurrent.futures.Executor`` of any make, or a number of processes on this machine. The
        chains are then computed as up to 64 tasks; which chains form a task depends on ``chains`` alone, so that all
        executors give the same draws, bit for bit. None: all chains together, in this process.
    progress
        True: a progress bar, or plain lines where there is no terminal. False: nothing. None: a bar on a terminal.
    adapt
        True: proposals that can learn (`RandomWalk`, `UniformWalk`, `CrankNicolson`) learn their covariance and scale
        in the warm-up, from all chains, and are frozen before the first draw; ``run.kernel`` has them as they then
        are. A warm-up of 0 becomes 1,000 updates.
    changed
        What to do if the directory holds a run of another model (kernel, start, or what their code uses). "refuse": an
        error says what differs. "accept": the run goes on from its last positions with the model as it is now; what
        differed is recorded at that draw, and shown by ``run.summary()`` and the report.
    on_error
        What an exception of a black box does. ``"raise"``: it ends the run and arrives as it was raised. ``"reject"``:
        the candidate counts as one of zero density, and the run goes on; ``run.failed`` and the summary tell how often.
        The target is then restricted to where the functions work. A run that an exception has ended may be resumed with
        ``"reject"``. A start that raises is always an error.
    until
        When the run is precise enough, such as ``ls.until.error(0.02) | ls.until.seconds(3600)``; ``draws`` is then the
        most that are taken. Judged at fixed numbers of draws, so that the same call, also after an interruption, stops
        at the same draw. The draws are those of a run of that length, and a stricter criterion or more ``draws`` extend
        it. With an executor it needs a directory.
    ahead
        How many updates of a chain to compute at once, from one state: those up to the first that changes the state are
        the very updates that one after the other would have given, and the rest is forgotten. It pays where few
        candidates are accepted and processors are idle. In compiled code all are one batch (a likelihood passes once
        over its data for all candidates); black boxes are called by the workers of ``executor``, which then makes
        updates of all chains ahead instead of dividing the chains. ``"auto"``: as many as are found to pay. A warm-up
        with ``adapt`` goes one after the other.
    names
        Names for the numbers of a position that is one vector, for summaries, reports and files. (`ls.Parameters` has
        names, priors and supports.)
    devices
        Over how many of JAX's devices the chains of compiled kernels are laid, in equal parts; the draws are the same
        but for rounding, so that a run is resumed on as many. None: over all that there are.
        ``jax.config.update("jax_num_cpu_devices", 8)``, called first, makes devices of eight cores of this machine.

    Returns
    -------
    Run
        With ``positions`` and ``info``, NumPy arrays of shape (chains, draws, ...).

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.0))
    >>> run = ls.sample(kernel, jnp.zeros(2), draws=500, chains=4, seed=1, warmup=100, thin=2)
    >>> run.positions.shape
    (4, 500, 2)
    """
    try:
        is_measured = is_coupled(warmup, adapt)
        counted: Any = 0 if is_measured else warmup
        warn_of_many_starts(initial, chains)
        task = make_task(
            *(kernel, initial, draws, chains, seed, counted, thin, directory),
            *(adapt, progress, changed, on_error, until, ahead, names, devices),
        )
        if is_measured:
            task = with_coupled_warmup(task, initial, executor, progress)
        return finished(task, run_task(task, executor, progress))
    except Exception as error:
        vars(error).setdefault("run", None)
        raise


def finished(task: Task, outcome: Outcome) -> Run:
    """The run of an outcome, with a warning of what its user should know; an incomplete one belongs to an exception."""
    run = None
    if outcome.output is not None:
        run = Run(
            *outcome.output,
            task.kernel,
            task.seed,
            task.warmup + task.adaptation,
            task.thin,
            outcome.totals.seconds + task.learning.seconds,
            task.directory,
            changes=() if task.directory is None else changes_in(task.directory),
            failed=outcome.totals.failed + task.learning.failed,
            failure=outcome.totals.failure or task.learning.failure,
            began=task.began,
            until=None if outcome.until is None else str(outcome.until),
            shown=task.shown,
        )
    if outcome.error is not None:
        vars(outcome.error)["run"] = run
        raise outcome.error
    if not outcome.is_complete:
        raise stopped(task, outcome.totals, run)
    assert run is not None
    if outcome.until is not None and not outcome.until.is_met:
        warn(str(outcome.until))
    sticks = stuck(run, WORTH_A_WARNING)
    if sticks is not None and run.acceptance > 0:  # of a run that accepted nothing there is a warning of its own
        warn(sticks)
    with double_precision():
        compiled = canonical(task.kernel, "kernel")
        bad_in_warmup = outcome.totals.bad_in_warmup + task.learning.bad
        warn_of_ratios(compiled, run.walked, run.info, task.thin, bad_in_warmup)
    return run
