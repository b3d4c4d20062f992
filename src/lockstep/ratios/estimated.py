"""Ratios of an estimate of D under a rule: naive, penalty, corrected."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.estimator import Estimator, estimated
from lockstep.core.parts import part, set_field
from lockstep.core.precision import canonical, double_precision
from lockstep.core.ratio import Decision, Probed, Ratio, is_no_ratio, surely_below
from lockstep.core.rule import Rule
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree
from lockstep.estimators.samples import as_estimator
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here

MOST_VARIANCE = 10.0  # of an estimate of D: beyond it e^-5 of the moves are left that there would be without noise


@part
class Estimated(Ratio):
    """``log_q + rule(estimate)``; nothing is remembered."""

    estimator: Estimator
    rule: Rule

    is_memory_random = False
    remembered = ()
    shown = property(lambda self: self.estimator.shown)
    error = property(lambda self: self.rule.error)

    def __post_init__(self) -> None:
        set_field(self, "estimator", as_estimator(self.estimator, "estimator"))
        set_field(self, "rule", adopted(self.rule, Rule, "rule", "a rule such as ls.rules.corrected"))
        if not self.rule.suits(self.estimator):
            raise ValueError(
                f"estimator {self.estimator!r} cannot estimate its own variance from count=1; {self.rule.name} needs "
                f"it: take count >= 2, or state the variance with ls.estimators.known_variance"
            )

    @property
    def when_stuck(self) -> str | None:
        """A penalty grows with the variance of the estimate."""
        return "take more samples (count)" if self.rule.needs_variance else None

    def cure(self, positions: Position) -> str | None:
        """Fewer samples than a rule can bear that takes off half of a variance: measured where chains stand."""
        if not self.rule.needs_variance:
            return None
        variance, count = self._variance(positions), self.estimator.count
        if not variance > MOST_VARIANCE:
            return None
        cured = f"About {round_up(count * variance):,} samples (count) instead of {count:,} would cure it"
        if not np.isfinite(variance):
            cured = f"Take many more samples (count) than {count:,}"
        return (
            f"where it stood an estimate of D has the variance {variance:.3g}, half of which the rule {self.rule.name} "
            f"takes off from the log ratio of any candidate: a chain that comes there once does not leave, and what it "
            f"leaves behind is no sample of the posterior, however many draws it has. {cured}; or keep chains from "
            f"such places: starts near the bulk of the posterior, and a prior that does not reach where the model "
            f"cannot have made these data"
        )

    def _variance(self, positions: Position) -> float:
        """Of an estimate of D = 0 at a typical one of some positions."""
        with double_precision():
            estimator, places = canonical(called_back(self.estimator), "estimator"), canonical(positions, "positions")
            keys = random.split(random.seeded(0), len(jax.tree.leaves(places)[0]))
            with raised_here():
                found = np.asarray(jax.block_until_ready(_variances(estimator, places, keys)))
        return float(np.median(np.where(np.isfinite(found), found, np.inf)))

    @property
    def exact_when(self) -> str | None:
        return self.rule.exact_when(self.estimator)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.estimator.noise(key, position, shape)

    @property
    def noise_source(self) -> Any:
        return self.estimator

    def init(self, noise: Tree, position: Position) -> Memory:
        return ()

    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        if self.rule.reads_value_alone:
            return Decision(log_proposal_ratio + self.estimator.value(noise, position, candidate), ())
        return Decision(log_proposal_ratio + self.rule(estimated(self.estimator, noise, position, candidate)), ())

    def least(self, accept: Array, memory: Memory, log_proposal_ratio: Array) -> Array:
        # The one sample is the estimate, and the log ratio is that of the proposal and this.
        is_sample = self.estimator.is_sample and self.rule.reads_value_alone
        return surely_below(accept, -log_proposal_ratio) if is_sample else -np.inf

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        estimates = jax.vmap(self.estimator, in_axes=(0, None, 0))(noise, position, candidates)
        yield Probed("estimator returned value", estimates.value, is_no_ratio, "it must be a number or minus infinity")
        if self.rule.needs_variance:
            should = "a variance must be finite and non-negative"
            yield Probed("estimator returned variance", estimates.variance, _is_no_variance, should)
            yield Probed("estimator returned bias", estimates.bias, _is_infinite, "a bias must be finite")


@jax.jit
def _variances(estimator: Estimator, places: Position, keys: Key) -> Array:
    def one(place_and_key: tuple[Position, Key]) -> Array:
        place, key = place_and_key
        return jnp.asarray(estimator(estimator.noise(key, place), place, place).variance, float)

    return jax.lax.map(one, (places, keys))


def round_up(count: float) -> int:
    """To two digits, upwards."""
    digits = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return int(math.ceil(count / digits) * digits)


def _is_no_variance(values: Array) -> Array:
    return ~((values >= 0) & (values < np.inf))


def _is_infinite(values: Array) -> Array:
    return ~np.isfinite(values)
