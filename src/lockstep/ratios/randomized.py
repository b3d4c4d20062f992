"""Ratios that are randomized by an auxiliary x: r-MCMC, exchange, and mixtures of both with pseudo-marginal ratios."""

from __future__ import annotations

from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.core.arguments import require_protocol
from lockstep.core.parts import FLAG, choose, part
from lockstep.core.types import Array, Key, Memory, Position, Randomization, Ratio, Shape
from lockstep.ratios.probes import PROBES, some_candidates


@part
class Randomized:
    """``base + randomization.log_weight(x, θ, θ')``, x drawn anew at each update and forgotten.

    The base is any `Ratio` (exact or pseudo-marginal), or None: then it is the log proposal ratio alone.
    """

    base: Ratio | None
    randomization: Randomization

    def __post_init__(self) -> None:
        if self.base is not None:
            require_protocol(self.base, Ratio, "base", "a ratio or None")
        require_protocol(
            self.randomization, Randomization, "randomization", "ls.Density(sample, log_density, involution)"
        )

    @property
    def is_memory_random(self) -> bool:
        return self.base is not None and getattr(self.base, "is_memory_random", True)

    @property
    def when_stuck(self) -> str | None:
        """What helps its base, or the randomization."""
        return getattr(self.base, "when_stuck", None) or getattr(self.randomization, "when_stuck", None)

    @property
    def can_be_violated(self) -> bool:
        return any(getattr(own, "can_be_violated", False) for own in (self.base, self.randomization))

    @property
    def when_violated(self) -> str:
        """What to say of updates that broke a promise."""
        own: tuple[Any, ...] = (self.base, self.randomization)
        return "; ".join(part.when_violated for part in own if getattr(part, "can_be_violated", False))

    @property
    def exact_when(self) -> str | None:
        own = getattr(self.randomization, "exact_when", None)
        base = "always" if self.base is None else getattr(self.base, "exact_when", None)
        if own is None or base is None:
            return None
        return own if base == "always" else f"{own}, and {base}"

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        key_base, key_x = jr.split(key)
        base = () if self.base is None else self.base.noise(key_base, position, shape)
        # Over a base without noise, x is drawn from the key unsplit, as other ratios draw theirs.
        return base, self.randomization.noise(key_x if jax.tree.leaves(base) else key, position, shape)

    def init(self, noise: Any, position: Position) -> Memory:
        return () if self.base is None else self.base.init(None if noise is None else noise[0], position)

    def require_start(self, key: Key, proposal: Any, position: Position) -> None:
        """Refuse a base or a randomization that breaks its own promise at some candidates, where they can tell."""
        base: Any = self.base
        if hasattr(base, "require_start"):
            base.require_start(key, proposal, position)
        if hasattr(self.randomization, "require_start"):
            key_candidates, key_x = jr.split(key)
            candidates = some_candidates(key_candidates, proposal, position)
            self.randomization.require_start(self.randomization.noise(key_x, position, (PROBES,)), position, candidates)

    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> tuple[Array, Memory] | tuple[Array, Memory, Array]:
        noise_base, noise_x = noise
        x = self.randomization.sample(noise_x, position, candidate)
        weight = self.randomization.log_weight(x, position, candidate)
        result = self._weighed(noise_base, position, memory, candidate, log_proposal_ratio, weight)
        if not getattr(self.randomization, "can_be_violated", False):
            return result
        log_ratio, candidate_memory, *broken = result
        randomization: Any = self.randomization
        is_violated = randomization.is_violated(x, position, candidate)
        return log_ratio, candidate_memory, broken[0] | is_violated if broken else is_violated

    def _weighed(
        self,
        noise_base: Any,
        position: Position,
        memory: Memory,
        candidate: Position,
        log_proposal_ratio: Array,
        weight: Array,
    ) -> Any:
        """The ratio of the base, with the weight of x."""
        if self.base is None:
            return log_proposal_ratio + weight, memory
        # The weight goes through the base as the proposal ratio does: the universal rule has both inside its minimum.
        is_number = weight == weight
        if type(is_number) is FLAG and is_number:  # interpreted: no need to choose
            return self.base(noise_base, position, memory, candidate, log_proposal_ratio + weight)
        log_proposal_ratio = log_proposal_ratio + choose(is_number, weight, 0.0)
        log_ratio, *rest = self.base(noise_base, position, memory, candidate, log_proposal_ratio)
        # Where the base forbids the candidate, a weight that cannot be computed there does not matter.
        return choose(is_number | (log_ratio == -np.inf), log_ratio, np.nan), *rest
