"""What is simulated at one of two positions, as a sample of an estimator."""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import whole
from lockstep.core.evaluation import Evaluation
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.observed import Seen
from lockstep.estimators.samples import Samples
from lockstep.host.black_box import BlackBox, see_sample
from lockstep.host.boxes import is_box
from lockstep.host.callee import Callee
from lockstep.host.functions import Function, wrapped


@part
class Side:
    """The summaries of data simulated at one of the two positions, as a sample of an estimator."""

    simulate: Function
    summaries: Function | None
    is_candidate: bool = static()
    seen: Seen | None = static(default=None)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Array:
        data = self.simulate(noise, candidate if self.is_candidate else position)
        if self.summaries is None:
            return listed(data)
        found = listed(self.summaries(data))
        if self.seen is not None:
            self.seen.require(data, found)
        return found


# Whose first simulation was held against what was observed: not a field, for fields are what a run is known by.
_HELD_AGAINST: weakref.WeakSet[Any] = weakref.WeakSet()


class HostSide:
    """The same for a black box: one call, or one for all simulations if it is vectorized."""

    def __init__(
        self,
        function: Callable[..., Any],
        summaries: Any,
        is_candidate: bool,
        is_vectorized: bool,
        seen: Seen | None = None,
    ) -> None:
        self.function, self.summaries, self.seen = function, summaries, seen
        self.is_candidate, self.is_vectorized = is_candidate, is_vectorized
        self.callee = Callee(function)
        kinds = ["rng", "position", "candidate", *(["count"] if self.callee.takes_count else [])]
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in kinds]
        )
        self.__name__ = repr(self.callee)

    def __call__(self, rng: Any, position: Position, candidate: Position, **keywords: Any) -> Any:
        theta = candidate if self.is_candidate else position
        if self.callee.rng_name is None:
            data = self.function(rng, theta, **keywords)
        else:
            data = self.function(theta, **{self.callee.rng_name: rng}, **keywords)
        if self.summaries is None:
            return listed(data)
        found = [self.summaries(one) for one in data] if self.is_vectorized else self.summaries(data)
        if self.seen is not None and self not in _HELD_AGAINST:
            self.seen.require(*((data[0], found[0]) if self.is_vectorized else (data, found)))
            _HELD_AGAINST.add(self)
        return listed(found)

    def calling(self, function: Callable[..., Any]) -> HostSide:
        """The same with another function."""
        return HostSide(function, self.summaries, self.is_candidate, self.is_vectorized, self.seen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostSide) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.function, self.summaries, self.is_candidate, self.is_vectorized, self.seen


def listed(found: object) -> Any:
    """Numbers in a list or a column of pandas, as users may return summaries, as the vector that is meant."""
    if not isinstance(found, (list, tuple)):
        is_table = hasattr(found, "__array__") and not isinstance(found, (np.ndarray, np.generic, jax.Array))
        return np.asarray(found) if is_table else found
    return jnp.stack(found) if any(isinstance(one, jax.Array) for one in found) else np.asarray(found, float)


class OfSimulations(Evaluation):
    """An unbiased estimate of a likelihood from independent simulations."""

    samples: Samples

    is_random = True
    count = property(lambda self: self.samples.count)

    def with_count(self, count: int) -> Self:
        """The same with another number of simulations."""
        return dataclasses.replace(self, samples=self.samples.with_count(count))  # type: ignore[type-var]

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.samples.noise(key, shape)


def simulations(
    simulate: Callable[..., Any],
    summaries: Any,
    is_candidate: bool,
    shape: Shape,
    count: int,
    draw: Callable[..., Any],
    name: str,
    seen: Seen | None = None,
) -> Samples:
    """``count`` simulations at one of two positions, of which summaries are kept, as the samples of an estimator."""
    own = None if draw is None else wrapped(Function, draw, f"draw of {name}")
    side = side_of(simulate, summaries, is_candidate, shape, name, seen)
    return Samples(side, own, whole(count, f"count of {name}", 1))


def side_of(
    simulate: Callable[..., Any], summaries: Any, is_candidate: bool, shape: Shape, name: str, seen: Seen | None = None
) -> Function:
    """Simulation and summaries at one of two positions, as a sample of an estimator."""
    if is_box(simulate):
        if simulate.is_batched:
            raise TypeError(f"simulate of {name} is a batched black box; take vectorized=True instead")
        given = summaries.callee.function if is_box(summaries) else summaries
        host = HostSide(simulate.callee.function, given, is_candidate, simulate.is_vectorized, seen)
        box = BlackBox(Callee(host), simulate.is_vectorized)
        see_sample(box, shape)
        return Function(box, f"simulate of {name}")
    inner = wrapped(Function, simulate, f"simulate of {name}")
    summarize = None if summaries is None else wrapped(Function, summaries, f"summaries of {name}")
    return Function(Side(inner, summarize, is_candidate, seen), f"simulate of {name}")
