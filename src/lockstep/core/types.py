"""The types that every part of Lockstep speaks: states, noise, estimates, and the protocols of the parts."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np

Array: TypeAlias = Any  # a JAX array (compiled) or a NumPy array (interpreted); leaves of pytrees are of this kind
Key: TypeAlias = jax.Array
Position: TypeAlias = Any  # any pytree of arrays
Memory: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]


class State(NamedTuple):
    """Where a chain is, and what its ratio remembers of that position."""

    position: Position
    memory: Memory


class Noise(NamedTuple):
    """Everything random in one update of `MetropolisHastings`. ``accept`` is minus an exponential variable."""

    proposal: Any
    ratio: Any
    accept: Array


class Info(NamedTuple):
    """What happened in an update.

    ``is_finite`` is false where the log ratio was NaN or plus infinity, which is no basis for a decision: the candidate
    is refused (minus infinity is one: a candidate of zero density). ``is_violated`` is there only for ratios that can
    find their own promise broken, such as the bound of the universal rule.
    """

    is_accepted: Array
    log_ratio: Array
    is_finite: Array
    is_violated: Array | None = None


class Estimate(NamedTuple):
    """An estimate of D, and the first three cumulants of (value - D), known or estimated from ``count`` values."""

    value: Array
    bias: Array
    variance: Array
    third: Array
    count: int  # type: ignore[assignment]


@runtime_checkable
class Proposal(Protocol):
    """Proposes a candidate. May set ``is_independent = True`` if the candidate does not depend on the position."""

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any: ...
    def __call__(self, noise: Any, position: Position) -> tuple[Position, Array]: ...


@runtime_checkable
class Ratio(Protocol):
    """Gives the whole log ratio, and what to remember of the candidate if it is accepted.

    A third value may follow: whether the ratio found its own promise broken at this update (`Info.is_violated`).
    """

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any: ...
    def init(self, noise: Any, position: Position) -> Memory: ...
    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> tuple[Array, Memory] | tuple[Array, Memory, Array]: ...


@runtime_checkable
class Estimator(Protocol):
    """Estimates D = log π(candidate)/π(position)."""

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any: ...
    def __call__(self, noise: Any, position: Position, candidate: Position) -> Estimate: ...


@runtime_checkable
class Randomization(Protocol):
    """Draws the auxiliary x of a randomized ratio and weighs it."""

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any: ...
    def sample(self, noise: Any, position: Position, candidate: Position) -> Any: ...
    def log_weight(self, x: Any, position: Position, candidate: Position) -> Array: ...


@runtime_checkable
class Involution(Protocol):
    """Pairs x with f(x); returns f(x) and the logarithm of the Jacobian's absolute value."""

    def __call__(self, x: Any, position: Position, candidate: Position) -> tuple[Any, Array]: ...


@runtime_checkable
class Kernel(Protocol):
    """A Markov kernel whose randomness is drawn first and used second."""

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any: ...
    def init(self, position: Position, key: Key | None = None) -> State: ...
    def move(self, state: State, noise: Any) -> tuple[State, Any]: ...
    def step(self, rng_key: Key, state: State) -> tuple[State, Any]: ...


def one_of(values: Any, index: int) -> Any:
    """One entry along the first axis of every leaf, as NumPy arrays."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[index]), values)


def describe(value: Any) -> str:
    """A short text of a position for error messages."""

    def show(leaf: Any) -> str:
        return str(np.asarray(leaf).tolist()) if np.size(leaf) <= 6 else f"array of shape {np.shape(leaf)}"

    paths = jax.tree_util.tree_flatten_with_path(value)[0]
    return ", ".join(f"{jax.tree_util.keystr(path)}: {show(leaf)}" if path else show(leaf) for path, leaf in paths)
