"""A pilot run, and what the rules would do at its pairs with another number of samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from lockstep.advice.budget import Budget
from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.core.rule import Rule
from lockstep.coupling.names import named_arrays
from lockstep.coupling.pair import legs
from lockstep.estimators.samples import with_count
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.ratios.rules import corrected, plug_in
from lockstep.sampling import Run, Starts, sample
from lockstep.separation.predict import places_of
from lockstep.separation.prediction import RulePrediction
from lockstep.separation.rates import Seen, judge, seen_by
from lockstep.separation.replicates import Replicates, draw_replicates

PAIRS, REPLICATES = 256, 32
FEWEST_PAIRS, FEWEST_REPLICATES = 8, 8
WARMUP, DRAWS, CHAINS = 2000, 4000, 4
FEWEST_DRAWS = 32
PROBE = 64  # draws that tell the cost of an update
SHARE, LOOKS = (
    0.3,
    3,
)  # of a budget that is small: what the pilot run gets, and between how many looks the rest is split
MOST_SAMPLES = 2**25  # of one look at a number of samples


class TooLittleError(ValueError):
    """A budget that is too small for an advice."""


@dataclasses.dataclass(frozen=True, eq=False)
class Look:
    """What was found with one number of samples: rates of an update, the average bias and variance of D̂."""

    count: int
    rules: dict[str, RulePrediction]
    problems: tuple[str, ...]
    asymmetry: str
    bias: float
    variance: float


class Pilot:
    """A run with the estimator as it is, and looks at other numbers of samples from its positions.

    ``initial`` may be a run that there is already, of whatever kernel for the same target: its positions then serve.
    """

    def __init__(
        self,
        estimator: Estimator,
        proposal: Proposal,
        initial: Any,
        seed: int,
        progress: bool | None,
        budget: Budget,
        rules: tuple[Rule, ...],
    ) -> None:
        rule = corrected if corrected.suits(estimator) else plug_in
        self.rules = rules
        self.estimator, self.proposal, self.seed, self.budget = estimator, proposal, seed, budget
        self.rule, self.kernel = rule, MetropolisHastings(proposal, Estimated(estimator, rule))
        self.run = initial if isinstance(initial, Run) else self._walk(initial, progress)
        if budget.is_timed and not budget.seconds_per_call:
            budget.seconds_per_call = self.seconds_per_update
        self.replicates, pairs = self._size()
        *_, positions = legs(self.run.walked)
        self.places, self.chains = places_of(positions, min(pairs, self.run.chains * self.run.draws))
        self.pairs = len(jax.tree.leaves(self.places)[0])
        self.looks: dict[int, Look] = {}
        self._seen: Seen | None = None

    def look(self, count: int) -> Look:
        """The rules with so many samples, measured at the pairs of the pilot; remembered."""
        if count not in self.looks:
            self.looks[count] = self._look(count)
        return self.looks[count]

    def can_look(self, count: int) -> bool:
        """Whether the budget has room for a look at so many samples, or there was one."""
        return count in self.looks or self.budget.left(size=count / self.estimator.count) >= self.cost

    @property
    def cost(self) -> int:
        """How many estimates a look takes."""
        return 2 * self.pairs * self.replicates

    @property
    def most(self) -> int:
        """The largest number of samples that a look can afford."""
        return max(MOST_SAMPLES // self.cost, self.estimator.count)

    @property
    def seconds_per_update(self) -> float:
        return self.run.seconds / (self.run.chains * (self.run.draws * self.run.thin + self.run.warmup))

    def _walk(self, initial: Any, progress: bool | None) -> Run:
        """A run of the estimator's own, as long as the budget allows."""
        options: dict[str, Any] = {"chains": CHAINS, "progress": progress}
        if self.budget.is_timed:
            # The second run finds everything compiled, so that its time tells the cost of an update.
            draws = int(min(PROBE, max(1, self.budget.left(SHARE) / (4 * CHAINS))))
            probes = [sample(self.kernel, initial, draws=draws, seed=self.seed, **options) for _ in range(2)]
            self.budget.seconds_per_call = probes[1].seconds / (CHAINS * draws)
            self.budget.spend(2 * CHAINS * draws)
        draws = int(min(DRAWS, self.budget.left(SHARE) / CHAINS * DRAWS / (WARMUP + DRAWS)))
        if draws < FEWEST_DRAWS:
            raise TooLittleError
        warmup = draws * WARMUP // DRAWS
        before = sample(self.kernel, initial, draws=warmup, seed=self.seed, **options)
        run = sample(self.kernel, Starts(last_of(before), is_walked=True), draws=draws, seed=self.seed + 1, **options)
        self.budget.spend(CHAINS * (warmup + draws))
        return run

    def _size(self) -> tuple[int, int]:
        """Replicates and pairs of a look, such that some looks can be afforded."""
        calls = self.budget.left(1 / LOOKS)
        replicates = REPLICATES if calls >= 4 * REPLICATES * FEWEST_PAIRS else FEWEST_REPLICATES
        pairs = int(min(PAIRS, calls / (2 * replicates)))
        if pairs < FEWEST_PAIRS:
            raise TooLittleError
        return replicates, pairs

    def _look(self, count: int) -> Look:
        estimator = self.estimator if count == self.estimator.count else with_count(self.estimator, count)
        forward, reverse = self._replicates(estimator)
        if self._seen is None:
            at_start = forward if count == self.estimator.count else self._replicates(self.estimator)[0]
            self._seen = self._seen_in_run(at_start)
        judged = judge(estimator, forward, reverse, self.rules, self._seen, updates=1)
        is_noisy = forward.is_noisy & np.all(np.isfinite(forward.halves.bias), axis=0)
        bias, variance = (
            float(np.mean(field[:, is_noisy])) if is_noisy.any() else 0.0
            for field in (forward.halves.bias, forward.halves.variance)
        )
        return Look(count, judged.rules, judged.problems, judged.asymmetry, bias, variance)

    def _seen_in_run(self, at_start: Replicates) -> Seen:
        """The log ratios at the pairs, and those of the run if it is one of this estimator."""
        kernel = self.run.kernel
        ratio = None if kernel is None or kernel.simple is None else kernel.simple.ratio
        rule = None if ratio is None or ratio.estimator is not self.estimator else ratio.rule
        if rule is None:
            return seen_by(self.rule, at_start, self.chains, None)
        return seen_by(rule, at_start, self.chains, self.run.info.log_ratio)

    def _replicates(self, estimator: Estimator) -> tuple[Replicates, Replicates]:
        self.budget.spend(self.cost, estimator.count / self.estimator.count)
        return draw_replicates(estimator, self.proposal, self.places, self.replicates, self.seed + 2)


def last_of(run: Run) -> Any:
    """The last positions of all chains."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:, -1], run.walked)


def updates_per_effective_draw(pilot: Pilot) -> float:
    """Updates of the pilot for each effective draw of its slowest component."""
    return pilot.run.chains * pilot.run.draws * pilot.run.thin / least_effective_size(pilot.run)


def least_effective_size(run: Run) -> float:
    """The effective sample size of the slowest component, at least 1."""
    from arviz_stats.base import array_stats

    sizes = []
    for array in named_arrays(run.positions).values():
        components = np.asarray(array, float).reshape(*array.shape[:2], -1)
        sizes += [float(array_stats.ess(components[..., i], method="bulk")) for i in range(components.shape[2])]
    least = np.nanmin(sizes) if not np.all(np.isnan(sizes)) else np.nan
    return max(float(least), 1.0)
