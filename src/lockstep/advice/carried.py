"""How many samples an estimate of a likelihood should take that a pseudo-marginal chain carries along."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np

from lockstep.advice.budget import Budget
from lockstep.advice.pilot import CHAINS, DRAWS, FEWEST_DRAWS, SHARE, last_of, least_effective_size
from lockstep.core import random
from lockstep.core.evaluation import Evaluation
from lockstep.core.precision import canonical, double_precision
from lockstep.core.progress import duration
from lockstep.core.proposal import Proposal
from lockstep.core.types import Key, Position
from lockstep.core.warnings import warn
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.kernels.pseudo_marginal import pseudo_marginal
from lockstep.sampling import Run, Starts, sample
from lockstep.separation.predict import places_of

BEST = 1.7  # variance of a log estimate at which a pseudo-marginal chain is about as efficient as can be
PLACES, REPLICATES = 32, 32
FEWEST = 4  # places


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CountAdvice:
    """How many samples an estimate should take, and what that costs.

    Attributes
    ----------
    count
        The number that is advised; None if it cannot be told.
    variance
        The relative variance of an estimate from one sample, averaged over where the pilot went.
    seconds_per_effective_draw
        Of the pilot, for as many samples.
    kernel
        The pseudo-marginal kernel with that number.
    findings, problems
        Sentences: why, and what could be wrong.
    """

    count: int | None
    variance: float
    seconds_per_effective_draw: float
    kernel: MetropolisHastings | None
    findings: tuple[str, ...]
    problems: tuple[str, ...]
    pilot: Run | None

    def sample(self, **options: Any) -> Run:
        """Run the advised kernel, from where the pilot ended unless told otherwise; ``options`` go to `ls.sample`."""
        if self.kernel is None or self.pilot is None:
            raise ValueError(f"no number of samples can be advised: {'; '.join(self.problems)}")
        options.setdefault("chains", CHAINS)
        if options["chains"] == self.pilot.chains:
            options.setdefault("initial", Starts(last_of(self.pilot), is_walked=True))
        return sample(self.kernel, **options)

    def __repr__(self) -> str:
        head = "Advice: none" if self.count is None else f"Advice: pseudo_marginal with m = {self.count:,}"
        lines = [head, *(f"  - {told}" for told in self.findings), *(f"  ! {told}" for told in self.problems)]
        return "\n".join(lines)


def advise_carried(
    evaluation: Evaluation, proposal: Proposal, initial: Any, seed: int, progress: bool | None, budget: Budget
) -> CountAdvice:
    """An advice from a pilot of the pseudo-marginal chain, and from replicates of the estimate where it went."""
    if evaluation.with_count is None:
        raise TypeError(f"estimator {evaluation!r} has no with_count(count), which is what advise varies")
    kernel = pseudo_marginal(evaluation, proposal)
    options: dict[str, Any] = {"chains": CHAINS, "seed": seed, "progress": progress}
    draws = int(min(DRAWS, budget.left(SHARE) / CHAINS))
    if budget.is_timed:
        probes = [sample(kernel, initial, draws=FEWEST_DRAWS, **options) for _ in range(2)]
        budget.seconds_per_call = probes[1].seconds / (CHAINS * FEWEST_DRAWS)
        draws = int(min(DRAWS, budget.left(SHARE) / CHAINS))
    places = int(min(PLACES, (budget.left() - draws * CHAINS) / REPLICATES))
    if draws < FEWEST_DRAWS or places < FEWEST:
        told = f"{budget} are too little for an advice; give calls=2000 or more, or more seconds"
        warn(f"no number of samples can be advised: {told}")
        return CountAdvice(None, math.nan, math.nan, None, (), (told,), None)
    run = sample(kernel, initial, draws=draws, warmup=draws // 2, **options)
    variance = relative_variance(evaluation, places_of(run.walked, places)[0], seed + 1)
    count = max(1, math.ceil(variance / math.expm1(BEST))) if math.isfinite(variance) else None
    per_draw = CHAINS * draws / least_effective_size(run)
    per_update = run.seconds / (CHAINS * (draws + draws // 2))
    problems = []
    if count is None:
        problems.append("no estimate where the pilot went was positive: give more samples, or start elsewhere")
        return CountAdvice(None, variance, math.nan, None, (), tuple(problems), run)
    seconds = per_draw * per_update * count / evaluation.count
    if count > 4 * evaluation.count or per_draw > draws:
        problems.append(f"the pilot had m = {evaluation.count}, which mixes badly: ask again with count={count}")
    findings = (
        f"an estimate from one sample has a relative variance of {variance:.3g} where the pilot went; "
        f"m = {count:,} makes the variance of its logarithm about {math.log1p(variance / count):.2g} ({BEST} is best)",
        f"in plain words: {count:,} simulation{'s' * (count > 1)} an estimate; 1,000 effective draws then take about "
        f"{duration(1000 * seconds)} on this machine",
    )
    advised = pseudo_marginal(evaluation.with_count(count), proposal)
    return CountAdvice(count, variance, seconds, advised, findings, tuple(problems), run)


def relative_variance(evaluation: Evaluation, places: Position, seed: int) -> float:
    """M times the relative variance of an estimate from m samples, averaged over places; infinite if all were 0."""
    with double_precision():
        one, positions = called_back(canonical(evaluation, "estimator")), canonical(places, "positions")
        count = len(jax.tree.leaves(positions)[0])

        def replicates(key: Key, position: Position) -> Any:
            noise = one.noise(key, position, (REPLICATES,))
            return jax.lax.map(lambda each: one(each, position), noise)

        with raised_here():
            keys = random.split(random.seeded(seed), count)
            logs = np.asarray(jax.jit(lambda: jax.lax.map(lambda pair: replicates(*pair), (keys, positions)))())
    largest = logs.max(axis=1, keepdims=True)
    seen = np.isfinite(largest[:, 0])
    if not seen.any():
        return math.inf
    values = np.exp(logs[seen] - largest[seen])
    return float(evaluation.count * np.mean(values.var(axis=1, ddof=1) / values.mean(axis=1) ** 2))
