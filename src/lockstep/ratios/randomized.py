"""Ratios that are randomized by an auxiliary x: r-MCMC, exchange, and mixtures of both with pseudo-marginal ratios."""

from __future__ import annotations

from typing import Any

import jax.random as jr

from lockstep.kernel import require_protocol
from lockstep.parts import part
from lockstep.types import Array, Key, Memory, Position, Randomization, Ratio, Shape


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
    def exact_when(self) -> str | None:
        own = getattr(self.randomization, "exact_when", None)
        base = "always" if self.base is None else getattr(self.base, "exact_when", None)
        if own is None or base is None:
            return None
        return own if base == "always" else f"{own}, and {base}"

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        if self.base is None:
            return (), self.randomization.noise(key, position, shape)
        key_base, key_x = jr.split(key)
        return self.base.noise(key_base, position, shape), self.randomization.noise(key_x, position, shape)

    def init(self, noise: Any, position: Position) -> Memory:
        return () if self.base is None else self.base.init(None if noise is None else noise[0], position)

    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> tuple[Array, Memory]:
        noise_base, noise_x = noise
        log_ratio, candidate_memory = log_proposal_ratio, memory
        if self.base is not None:
            log_ratio, candidate_memory, *_ = self.base(noise_base, position, memory, candidate, log_proposal_ratio)
        x = self.randomization.sample(noise_x, position, candidate)
        return log_ratio + self.randomization.log_weight(x, position, candidate), candidate_memory
