"""``ls.sample``: run chains of a kernel."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from contextlib import ExitStack
from os import PathLike
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from lockstep.arguments import MOST_SEED, flag, path_of, whole
from lockstep.coupling import Pair
from lockstep.host.callback import raised_here
from lockstep.host.failures import Failures
from lockstep.host.reject import rejecting
from lockstep.kernel import require_protocol
from lockstep.precision import canonical, double_precision
from lockstep.sampling import driver
from lockstep.sampling.comparison import require_choice
from lockstep.sampling.directory import NAME, Point, Record, Writer, accept, changes_in, open_run, write_changes
from lockstep.sampling.driver import Output
from lockstep.sampling.drivers import driver_of
from lockstep.sampling.fit import fitted
from lockstep.sampling.interrupt import Interrupted, Stop
from lockstep.sampling.pace import Pace
from lockstep.sampling.problems import require_ratios, warn_of_ratios
from lockstep.sampling.progress import Progress
from lockstep.sampling.run import Run
from lockstep.sampling.segments import has_begun, last_segment, read_output
from lockstep.sampling.starts import chain_keys, initial_positions, initial_states, like_initial_states, states_at
from lockstep.sampling.task import Task
from lockstep.sampling.totals import Totals
from lockstep.sampling.witness import Witness, last_info, require_alike, require_repeatable
from lockstep.types import Kernel

CHANGE_STREAM = 2**31 + 1  # of random numbers: beyond the chains' and that of the adaptation
FEWEST_FAILURES = 100  # that tell that a function always fails
MOST_STEPS = 2**38  # of a chain: cells of noise are numbered with 32 bits
MOST_CHAINS = 2**24


def sample(
    kernel: Any,
    initial: Any,
    draws: int = 1000,
    chains: int = 4,
    seed: int = 0,
    warmup: int = 0,
    thin: int = 1,
    directory: str | PathLike[str] | None = None,
    executor: Any = None,
    progress: bool | None = None,
    adapt: bool = False,
    changed: str = "refuse",
    on_error: str = "raise",
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
        leading axis over the chains.
    draws
        How many positions of each chain to keep.
    chains
        How many chains to run.
    seed
        A whole number.
    warmup
        How many updates to take and forget before the first draw.
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
    from lockstep.sampling.groups import is_grouped, run_groups

    try:
        task = make_task(
            kernel, initial, draws, chains, seed, warmup, thin, directory, adapt, progress, changed, on_error
        )
        if executor is not None or is_grouped(task.directory):
            outcome = run_groups(task, executor, progress)
        else:
            outcome = run_chains(task, progress)
        return finished(task, outcome)
    except Exception as error:
        vars(error).setdefault("run", None)
        raise


def make_task(
    kernel: Any,
    initial: Any,
    draws: int,
    chains: int,
    seed: int,
    warmup: int,
    thin: int,
    directory: str | PathLike[str] | None,
    adapt: bool = False,
    progress: bool | None = False,
    changed: str = "refuse",
    on_error: str = "raise",
) -> Task:
    """The arguments of a run, checked, with its kernel fitted and adapted."""
    changed = require_choice(changed)
    require_protocol(kernel, Kernel, "kernel", "a kernel such as ls.standard(log_density, proposal)")
    draws, chains = whole(draws, "draws", 1, MOST_STEPS), whole(chains, "chains", 1, MOST_CHAINS)
    warmup, thin = whole(warmup, "warmup", 0, MOST_STEPS), whole(thin, "thin", 1, MOST_STEPS)
    if warmup + draws * thin > MOST_STEPS:
        raise ValueError(
            f"draws is {draws:,}, which with thin={thin:,} and warmup={warmup:,} takes more updates of a chain than "
            f"there is noise for, {MOST_STEPS:,}; take fewer"
        )
    seed = whole(seed, "seed", 0, most=MOST_SEED)
    if on_error not in ("raise", "reject"):
        raise ValueError(f'on_error is {on_error!r}; it must be "raise" or "reject"')
    flag(progress, "progress", is_none_allowed=True)
    path = None if directory is None else path_of(directory, "directory")
    with double_precision(), raised_here():
        key_start, _ = jr.split(jr.key(seed))
        kernel, initial = fitted(kernel, initial, key_start, progress)
        task = Task(kernel, initial, draws, chains, seed, warmup, thin, path, changed=changed, on_error=on_error)
        if not flag(adapt, "adapt"):
            return task
        from lockstep.sampling.adapt import DEFAULT_WARMUP, adapted

        return adapted(dataclasses.replace(task, warmup=0, adaptation=warmup or DEFAULT_WARMUP), progress)


class Outcome(NamedTuple):
    """What running a task leaves: draws (None if they were only written to disk), counts, and whether it is whole.

    ``error`` is what ended it before, if anything did.
    """

    output: Output | None
    totals: Totals
    is_complete: bool
    error: Exception | None = None


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
        )
    if outcome.error is not None:
        vars(outcome.error)["run"] = run
        raise outcome.error
    if not outcome.is_complete:
        raise stopped(task, outcome.totals, run)
    assert run is not None
    with double_precision():
        compiled = canonical(task.kernel, "kernel")
        bad_in_warmup = outcome.totals.bad_in_warmup + task.learning.bad
        warn_of_ratios(compiled, run.positions, run.info, task.thin, bad_in_warmup)
    return run


def stopped(task: Task, totals: Totals, run: Run | None) -> Interrupted:
    """What to raise when a run was stopped: how far it came, and how to go on."""
    where = f"stopped after {totals.updates:,} of {task.chains * (task.warmup + task.draws * task.thin):,} updates"
    error = Interrupted(
        f"{where}; all of them are kept in {task.directory}. Call again with the same arguments to go on"
        if task.directory is not None
        else f"{where}; the draws so far are the `run` of this exception. A run with a directory could be resumed"
        if run is not None
        else f"{where}; none is kept. With a directory it could be resumed"
    )
    error.run = run
    return error


def run_chains(task: Task, progress: bool | None, is_collected: bool = True, outer: Stop | None = None) -> Outcome:
    """Run the chains of a task here, from where its directory stands, until it is done or ``outer`` has it stop."""
    with ExitStack() as stack:
        began = time.perf_counter()
        stack.enter_context(double_precision())
        stack.enter_context(raised_here())
        kernel = canonical(task.kernel, "kernel")
        key_start, key_run = jr.split(jr.key(task.seed))
        keys = chain_keys(key_run, np.arange(task.first, task.first + task.count))
        shown = stack.enter_context(Progress(task.updates, "sampling", progress))
        shown.say(driver_of(kernel).BEGINNING)
        # What a finished run holds is only read: its model is compared, and not called. Of a run that has begun the
        # state is read: nothing is evaluated at its start.
        is_over = is_finished(task)
        starts = (task.initial, task.chains, key_start, task.first, task.count)
        begin = like_initial_states if has_begun(task.directory) else initial_states
        state = None if is_over else begin(kernel, *starts)
        failures = None
        if task.on_error == "reject":
            kernel, failures = stack.enter_context(rejecting(kernel))
        point, writer = Point(0, state, None, Totals()), None
        collector = Collector(task.count, task.draws) if is_collected else None
        if task.directory is not None:
            configuration = task.configuration()
            record = stack.enter_context(open_run(task.directory, configuration, task.about(), changed=task.changed))
            writer = Writer(task.directory, record, task.draws)
            if is_over:
                point = Point(writer.segments[-1].step, None, None, writer.segments[-1].totals)
            else:
                point = writer.resume(state) or point
                point, record = settled(kernel, keys, key_start, task, record, point)
            if failures is not None:
                failures.taken()  # of the update that was repeated
            write_changes(task.directory, record)
            for segment in writer.segments if collector is not None else ():
                if segment.draws:
                    collector.add(read_output(segment))  # type: ignore[union-attr]
        shown.begin(point.step * task.count)
        stop = stack.enter_context(Stop(shown.is_shown, task.stop_file, outer))
        keepers = [keeper for keeper in (collector, writer) if keeper is not None]
        like = initial_positions(*starts) if state is None else state.position
        try:
            point = drive(kernel, keys, point, task, keepers, shown, stop, began, failures=failures)
        except Exception as error:
            if collector is None:
                raise
            return Outcome(collector.taken(like), collector.totals, False, error)
        output = None if collector is None else collector.taken(like)
        return Outcome(output, point.totals, point.step >= task.warmup + task.draws * task.thin)


def is_finished(task: Task) -> bool:
    """Whether the directory of a task holds all updates that it asks for."""
    if task.directory is None or not (task.directory / NAME).is_file():
        return False
    last = last_segment(task.directory)
    return last is not None and last.step >= task.warmup + task.draws * task.thin


def settled(kernel: Any, keys: Any, key_start: Any, task: Task, record: Record, point: Point) -> tuple[Point, Record]:
    """Where a run goes on, if the model computes what it did; else refused, or accepted with what it computes now.

    What a state remembers of its position (a log density, an estimate of it) is of the model that computed it: where
    the model was changed, it is evaluated anew.
    """
    if point.witness is not None and not record.is_renewed(point.step):
        told = list(record.other), list(record.suspects)
        found = require_repeatable(kernel, keys, task, point.step, point.state, point.witness, *told)
        if found is None:
            return point, record
        record = accept(task.directory, record, [found])  # type: ignore[arg-type]
    if point.witness is None:
        return point, record
    positions = point.state.position
    key = jr.fold_in(jr.fold_in(key_start, CHANGE_STREAM), point.step)
    numbers = np.arange(task.first, task.first + task.count)
    return point._replace(state=states_at(kernel, positions, positions, chain_keys(key, numbers))), record


def advance(kernel: Any, chain_keys: Any, state: Any, block: driver.Block, past: Any, cells: int) -> tuple[Any, Output]:
    """Take the steps of a block with all chains: states, and an output with leading axes (chains, draws).

    The one place where a driver takes steps; every driver takes these arguments and has leading axes (slots, chains).
    ``past`` holds the leaves of the info of a draw that the block continues.
    """
    is_thinned = block.thin > 1
    driving = driver_of(kernel)
    state, output = driving.advance(kernel, chain_keys, state, block, past=past, cells=cells, is_thinned=is_thinned)
    used = slice(0, (block.phase + block.steps - 1) // block.thin + 1)
    output = jax.tree.map(lambda leaf: np.swapaxes(np.asarray(leaf)[used], 0, 1), output)
    return state, output


def drive(
    kernel: Any,
    chain_keys: Any,
    point: Point,
    task: Task,
    keepers: Sequence[Any],
    shown: Progress,
    stop: Stop,
    began: float,
    pace: Pace | None = None,
    cells: int | None = None,
    failures: Failures | None = None,
) -> Point:
    """Blocks of about a second, one after the other, until the task is done or is to stop; what they leave is kept.

    Who drives several pieces of a run gives all of them one ``pace``, and one number of ``cells`` (one program).
    """
    total, chains = task.warmup + task.draws * task.thin, len(chain_keys)
    if point.step >= total:
        return point
    driving = driver_of(kernel)
    cells = cells or driving.cells_per_block(kernel, chain_keys, point.state, total - point.step)
    pace = pace or Pace()
    tried: list[Any] = []
    nothing = driving.no_info(kernel, chain_keys, point.state) if task.thin > 1 else None
    require_alike(point.pending, nothing, task.directory)
    try:
        while point.step < total and not stop.is_wanted:
            # A block ends at a whole cell, or where the warm-up or the run ends.
            is_warmup = point.step < task.warmup
            end = task.warmup if is_warmup else total
            room = cells * driver.CELL - point.step % driver.CELL
            most = min(end - point.step, room, pace.steps)
            # The last update before a segment is a block by itself: a resume takes it again and compares.
            is_due = any(keeper.is_due(point) for keeper in keepers)
            is_end = point.step + most == total and task.directory is not None and most > 1 + (point.step == 0)
            steps = 1 if is_due else most - 1 if is_end else most
            phase = 0 if is_warmup else (point.step - task.warmup) % task.thin
            compiled_before = driving.compilations()
            block_began = time.perf_counter()
            block = driver.Block(point.step, steps, task.thin, phase)
            past: Any = point.pending if phase else nothing
            state, output = advance(kernel, chain_keys, point.state, block, past, cells)
            now = time.perf_counter()
            if point.step < driving.TRIAL_STEPS:
                tried.append(output.info)
                if point.step + steps >= min(driving.TRIAL_STEPS, total):
                    require_ratios(kernel, state, jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *tried))
            before = jax.tree.unflatten(jax.tree.structure(output.info), past) if phase else None
            totals = point.totals.after(output.info, before, steps * chains, now - began, is_warmup)
            if failures is not None:
                totals = totals.with_failures(*failures.taken())
                _require_success(totals, is_last=point.step + steps == total)
            witness = Witness(point.state, steps, past if phase else None, last_info(output))
            pending = None
            if not is_warmup:
                output, pending = whole_draws(output, phase, steps, task.thin)
                for keeper in keepers:
                    keeper.add(output)
            point, began = Point(point.step + steps, state, pending, totals, witness), now
            for keeper in keepers:
                keeper.reach(point, is_last=point.step == total)
            shown.update(point.step * chains, str(totals))
            if driving.compilations() == compiled_before and (steps == most or not is_due):
                pace.learn(steps, now - block_began)
    finally:
        # Stopped, or an error in a user's function: what was computed is kept.
        for keeper in keepers:
            keeper.reach(point, is_last=point.step > 0)
    return point


def _require_success(totals: Totals, is_last: bool) -> None:
    """Raise if every evaluation has failed, of a hundred or of the whole run."""
    if totals.failed >= totals.ratios and (is_last or totals.ratios >= FEWEST_FAILURES):
        raise RuntimeError(
            f'on_error is "reject", but every one of {totals.failed:,} evaluations raised an exception, so that no '
            f"chain can move. The first of them:\n{totals.failure}"
        )


def whole_draws(output: Output, phase: int, steps: int, thin: int) -> tuple[Output, Any]:
    """The draws that a block completes, and the info (its leaves) of a draw that it only begins."""
    count, is_begun = (phase + steps) // thin, (phase + steps) % thin > 0
    pending = [np.array(leaf[:, -1]) for leaf in jax.tree.leaves(output.info)] if is_begun else None
    return jax.tree.map(lambda leaf: leaf[:, :count], output), pending


class Collector:
    """Arrays for all draws of a run in memory, filled block by block."""

    def __init__(self, chains: int, draws: int) -> None:
        self.chains, self.draws, self.filled = chains, draws, 0
        self.output: Output | None = None
        self.totals = Totals()

    def add(self, output: Output) -> None:
        """Put draws in their place, as far as they are wanted."""
        if self.output is None:
            shape = (self.chains, self.draws)
            self.output = jax.tree.map(lambda leaf: np.zeros((*shape, *leaf.shape[2:]), leaf.dtype), output)
        count = min(jax.tree.leaves(output)[0].shape[1], self.draws - self.filled)
        for target, leaf in zip(jax.tree.leaves(self.output), jax.tree.leaves(output), strict=True):
            target[:, self.filled : self.filled + count] = leaf[:, :count]
        self.filled += count

    def reach(self, point: Point, is_last: bool) -> None:
        """Keep the counts; memory is always up to date."""
        self.totals = point.totals

    def is_due(self, point: Point) -> bool:
        """Never."""
        return False

    def taken(self, like: Any) -> Output | None:
        """What was gathered, with positions in the structure of a state's."""
        if self.output is None or not self.filled:
            return None
        positions, info = jax.tree.map(lambda leaf: leaf[:, : self.filled], self.output)
        if isinstance(positions, Pair) and not isinstance(like, Pair):
            like = Pair(like, like)  # coupled chains that began at one position
        return Output(jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(positions)), info)
