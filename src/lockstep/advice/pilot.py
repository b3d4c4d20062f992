"""A pilot run, and what the rules would do at its pairs with another number of samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from lockstep.kernel import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.rules import corrected, plug_in
from lockstep.sampling import Run, Starts, sample
from lockstep.separation.predict import places_of
from lockstep.separation.prediction import RulePrediction
from lockstep.separation.rates import Seen, judge, seen_by
from lockstep.separation.replicates import Replicates, draw_replicates

PAIRS, REPLICATES = 256, 32
WARMUP, DRAWS, CHAINS = 2000, 4000, 4
MOST_SAMPLES = 2**25  # of one look at a number of samples


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
    """A run with the estimator as it is, and looks at other numbers of samples from its positions."""

    def __init__(self, estimator: Any, proposal: Any, initial: Any, seed: int, progress: bool | None) -> None:
        rule = corrected if getattr(estimator, "has_variance", True) else plug_in
        self.estimator, self.proposal, self.seed = estimator, proposal, seed
        self.kernel = MetropolisHastings(proposal, Estimated(estimator, rule))
        options: dict[str, Any] = {"chains": CHAINS, "progress": progress}
        before = sample(self.kernel, initial, draws=WARMUP, seed=seed, **options)
        # The second run finds everything compiled, so that its time tells the cost of an update.
        self.run: Run = sample(self.kernel, Starts(last_of(before)), draws=DRAWS, seed=seed + 1, **options)
        self.places, self.chains = places_of(self.run.positions, PAIRS)
        self.looks: dict[int, Look] = {}
        self._seen: Seen | None = None

    def look(self, count: int) -> Look:
        """The rules with so many samples, measured at the pairs of the pilot; remembered."""
        if count not in self.looks:
            self.looks[count] = self._look(count)
        return self.looks[count]

    @property
    def most(self) -> int:
        """The largest number of samples that a look can afford."""
        return max(MOST_SAMPLES // (2 * PAIRS * REPLICATES), self.estimator.count)

    @property
    def seconds_per_update(self) -> float:
        return self.run.seconds / (self.run.chains * self.run.draws)

    def _look(self, count: int) -> Look:
        estimator = self.estimator if count == self.estimator.count else self.estimator.with_count(count)
        forward, reverse = self._replicates(estimator)
        if self._seen is None:
            at_start = forward if count == self.estimator.count else self._replicates(self.estimator)[0]
            rule = self.kernel.ratio.rule  # type: ignore[attr-defined]
            self._seen = seen_by(rule, at_start, self.chains, self.run.info.log_ratio)
        judged = judge(estimator, forward, reverse, {}, self._seen, updates=1)
        is_noisy = np.all(forward.halves.variance > 0, axis=0) & np.all(np.isfinite(forward.halves.bias), axis=0)
        bias, variance = (
            float(np.mean(field[:, is_noisy])) if is_noisy.any() else 0.0
            for field in (forward.halves.bias, forward.halves.variance)
        )
        return Look(count, judged.rules, judged.problems, judged.asymmetry, bias, variance)

    def _replicates(self, estimator: Any) -> tuple[Replicates, Replicates]:
        return draw_replicates(estimator, self.proposal, self.places, REPLICATES, self.seed + 2)


def last_of(run: Run) -> Any:
    """The last positions of all chains."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:, -1], run.positions)
