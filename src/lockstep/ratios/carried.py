"""Ratios of an evaluation that is carried along: standard and pseudo-marginal Metropolis–Hastings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import is_number
from lockstep.core.declared import passing_on
from lockstep.core.evaluation import Evaluation
from lockstep.core.flat import flatten, unflatten
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal
from lockstep.core.ratio import Decision, Probed, Ratio, is_no_ratio, surely_below
from lockstep.core.trees import choose, is_concrete, is_floating, namespace
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree
from lockstep.host.draws import draw_each
from lockstep.host.functions import Function, Scalar, shown_by, wrapped
from lockstep.proposals.reflection import reflected
from lockstep.ratios.probes import some_candidates

_NORMAL_DRAW = "give a draw of standard normal numbers, for example draw=lambda key: jax.random.normal(key, (100,))"


@part
class Silence:
    """What draws nothing."""

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[()]:
        return ()


@part
class Exactly(Evaluation):
    """A log density that is known."""

    log_density: Any

    is_random = False
    exact_when = "always"
    noise_source = Silence()
    name = property(lambda self: self.log_density.name)

    def __post_init__(self) -> None:
        set_field(self, "log_density", wrapped(Scalar, self.log_density, "log_density"))

    @property
    def shown(self) -> Any:
        return shown_by(self.log_density)

    noise = Silence.noise

    def __call__(self, noise: Tree, position: Position) -> Array:
        return self.log_density(position)


@part
class Noisily(Evaluation):
    """A log density of which ``log_estimate(noise, position)`` is the logarithm of an unbiased estimate."""

    log_estimate: Any
    draw: Any = None

    is_random = True
    gains_by_correlation = True
    exact_when = "exp(log_estimate) is a non-negative, unbiased estimate of the density up to a constant"
    when_stuck = "give the estimate more particles or samples (the standard deviation of its logarithm is best near 1)"
    name = property(lambda self: self.log_estimate.name)

    def __post_init__(self) -> None:
        set_field(self, "log_estimate", wrapped(Scalar, self.log_estimate, "log_estimate"))
        if self.draw is not None:
            set_field(self, "draw", wrapped(Function, self.draw, "draw"))

    @property
    def shown(self) -> Any:
        return shown_by(self.log_estimate)

    @property
    def is_of_keys(self) -> bool:
        return self.draw is None

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return draw_each(self.draw, key, shape)

    def __call__(self, noise: Tree, position: Position) -> Array:
        return self.log_estimate(noise, position)


class Correlated(NamedTuple):
    """What a correlated pseudo-marginal ratio remembers: the estimate, the normal noise that made it, and a path."""

    value: Array
    noise: Any
    path: Any = ()


class Traced(NamedTuple):
    """What a ratio remembers of an estimate that comes with a path of hidden states."""

    value: Array
    path: Any


@part
@passing_on("evaluate", "shown can_be_violated when_violated error noise_source forecaster can_stop")
class Carried(Ratio):
    """``log_q + evaluate(noise, candidate) - memory``; the memory is the evaluation at the position.

    With a ``correlation`` ρ the noise is standard normal and part of the memory: u' = ρ u + √(1-ρ²) ε.
    """

    evaluate: Evaluation
    correlation: Array | None = None

    evaluation = property(lambda self: self.evaluate)
    name = property(lambda self: "Carried" if self.evaluate.is_random else "standard")

    def __post_init__(self) -> None:
        remedy = "an evaluation such as that of ls.standard(log_density, proposal).ratio"
        set_field(self, "evaluate", adopted(self.evaluate, Evaluation, "evaluate of Carried", remedy))
        if self.correlation is None:
            return
        if is_concrete(self.correlation) and not (is_number(self.correlation) and 0 <= self.correlation < 1):
            raise ValueError(f"correlation is {self.correlation!r}; it must be one number, at least 0 and below 1")
        if not self.evaluate.is_random:
            raise ValueError(
                f"correlation is {self.correlation!r}, but it has no meaning for a log density that is known exactly; "
                f"leave it out"
            )
        if self.evaluate.is_of_keys:
            raise TypeError(f"correlation is {self.correlation!r}, but there is no draw; {_NORMAL_DRAW}")

    @property
    def is_memory_random(self) -> bool:
        return self.evaluate.is_random

    def require_start(self, key: Key, proposal: Proposal, position: Position) -> None:
        if self.evaluate.can_be_violated:
            self.evaluate.require_start(some_candidates(key, proposal, position))

    @property
    def when_stuck(self) -> str | None:
        """What helps chains that do not leave an estimate that came out too high."""
        own = self.evaluate.when_stuck
        if own is None or not self.evaluate.gains_by_correlation:
            return own
        is_near = "a correlation nearer to 1" if self.correlation is not None else "correlation=0.99 with normal noise"
        return f"{own}, or {is_near}"

    @property
    def exact_when(self) -> str | None:
        own = self.evaluate.exact_when
        return own if own is None or self.correlation is None else f"{own}, and its noise is standard normal"

    @property
    def remembered(self) -> Any:
        return self.evaluate, self.correlation

    @property
    def remembered_name(self) -> str:
        return self.evaluate.name

    def blame(self, position: Position) -> str:
        return self.evaluate.blame(position)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        noise = self.evaluate.noise(key, position, shape)
        opened = jax.eval_shape(self.evaluate.opened, noise) if self.correlation is not None and not shape else ()
        for leaf in jax.tree.leaves(opened):
            if not is_floating(leaf):
                raise TypeError(f"correlation: draw made noise of dtype {jnp.result_type(leaf)}; {_NORMAL_DRAW}")
        return noise

    def init(self, noise: Tree, position: Position) -> Memory:
        return self._remembered(noise if self.correlation is None else self.evaluate.opened(noise), position)

    def _remembered(self, noise: Tree, position: Position) -> Memory:
        found = self.evaluate(noise, position)
        value, path = found if self.evaluate.has_path else (found, ())
        if self.correlation is not None:
            return Correlated(value, noise, path)
        return Traced(value, path) if self.evaluate.has_path else value

    def kept(self, memory: Memory) -> Any:
        return memory.path if self.evaluate.has_path else ()

    def with_evaluation(self, evaluation: Evaluation, correlation: Array | None) -> Carried:
        return Carried(evaluation, correlation)

    def cure(self, positions: Position) -> str | None:
        return self.evaluate.cure(positions)

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Any:
        return () if self.correlation is None else -random.exponential(key, shape)

    def coupled_noise(self, noise: Tree, meet: Tree, memory: Memory, other: Memory) -> tuple[Any, Array]:
        """A normal noise of the second chain that leads to the first's u' as often as the laws of the two overlap.

        u moves as by a Crank–Nicolson walk: from u and v both arrive at ρ u + √(1-ρ²) ε, or ε is reflected across the
        plane between them. If it is the same u', the second differs from the first's by no more than rounding.
        """
        if self.correlation is None:
            return noise, np.True_
        noise = self.evaluate.opened(noise)
        array_module, root = namespace(meet), self._root
        here, there, z = (flatten(value, array_module) for value in (memory.noise, other.noise, noise))
        apart = self.correlation * (here - there) / root
        mirrored, is_same = reflected(z, apart, meet)
        return unflatten(choose(is_same, z + apart, mirrored), noise), is_same

    @property
    def _root(self) -> Array:
        return (1 - self.correlation**2) ** 0.5  # type: ignore[operator]

    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        if self.correlation is None and not self.evaluate.has_path:
            value = self.evaluate(noise, candidate)
            log_ratio = log_proposal_ratio + (value - memory)
            if self.evaluate.can_be_violated:
                return Decision(log_ratio, value, self.evaluate.is_violated(noise, candidate))
            return Decision(log_ratio, value)
        if self.correlation is not None:
            root, fresh = self._root, self.evaluate.opened(noise)
            noise = jax.tree.map(lambda old, new: self.correlation * old + root * new, memory.noise, fresh)
        candidate_memory = self._remembered(noise, candidate)
        return Decision(log_proposal_ratio + (candidate_memory.value - memory.value), candidate_memory)

    def least(self, accept: Array, memory: Memory, log_proposal_ratio: Array) -> Array:
        # accept <= log_q + (value - memory), solved for the value.
        is_number = self.correlation is None and not self.evaluate.has_path
        return surely_below(memory if is_number else memory.value, accept, -log_proposal_ratio)

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        values = self.evaluate.probed(noise, candidates)
        if values is None:
            return
        should = "it must return a number, or minus infinity outside the support"
        bad = np.flatnonzero(is_no_ratio(np.asarray(values)))
        if bad.size:
            candidate, its_noise = jax.tree.map(lambda leaf: leaf[bad[0]], (candidates, noise))
            name = self.evaluate.blame(candidate, its_noise)
            yield Probed(f"{name} returned", values, is_no_ratio, should)
