"""Kernels on one state, in turn or at random: component-wise updates."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import real_numbers
from lockstep.core.kernel import Info, Kernel, State
from lockstep.core.parts import part, set_field, static
from lockstep.core.trees import choose, is_alike, is_concrete
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree


@part
class Cycle(Kernel):
    """Apply kernels one after the other, each to the state that the one before has left.

    *Exact when* every kernel is, for the same target.

    Kernels that carry the same log density share its memory. Otherwise each evaluates its own memory anew, which is
    refused for kernels that remember a random estimate: to refresh it would change their target. The `Info` of a cycle
    has a last axis over the kernels.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> def log_density(position):
    ...     return -0.5 * position["mean"] ** 2 - jnp.exp(position["log_scale"]) + position["log_scale"]
    >>> moves = [ls.Component("mean", ls.RandomWalk(1.0)), ls.Component("log_scale", ls.RandomWalk(0.5))]
    >>> kernel = ls.Cycle([ls.standard(log_density, move) for move in moves])
    >>> run = ls.sample(kernel, {"mean": 0.0, "log_scale": 0.0}, draws=100, chains=2, seed=1)
    >>> run.info.is_accepted.shape
    (2, 100, 2)
    """

    kernels: Any
    is_memory_shared: bool = static(init=False, default=False)

    def __post_init__(self) -> None:
        # A cycle within a cycle is one longer cycle.
        nested = (kernel.in_turn or (kernel,) for kernel in _kernels(self.kernels, "Cycle"))
        set_field(self, "kernels", tuple(itertools.chain.from_iterable(nested)))
        _require_one_shape(self.kernels, "Cycle")
        set_field(self, "is_memory_shared", _share_memory(self.kernels, "Cycle"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, ...]:
        keys = random.split(key, len(self.kernels))
        return tuple(kernel.noise(k, position, shape) for kernel, k in zip(self.kernels, keys, strict=True))

    def init(self, position: Position, key: Key | None = None) -> State:
        return State(position, _initial_memory(self, position, key))

    def move(self, state: State, noise: tuple[Any, ...]) -> tuple[State, Any]:
        infos = []
        for kernel, kernel_noise in zip(self.kernels, noise, strict=True):
            state, info = _move_one(self, kernel, state, kernel_noise)
            infos.append(info)
        return state, _stacked(infos)

    def meeting_noise(self, key: Key, shape: Shape = ()) -> tuple[Any, ...]:
        return _meeting_noises(self.kernels, key, shape)

    def move_both(self, first: State, second: State, noise: Tree, meet: Tree) -> tuple[tuple[State, Any], Any]:
        infos, others = [], []
        for kernel, kernel_noise, kernel_meet in zip(self.kernels, noise, meet, strict=True):
            (first, info), (second, other) = _move_both(self, kernel, first, second, kernel_noise, kernel_meet)
            infos.append(info)
            others.append(other)
        return (first, _stacked(infos)), (second, _stacked(others))

    cannot_meet = property(lambda self: _never_meeting(self.kernels))
    exact_when = property(lambda self: _all_exact(self.kernels))
    error = property(lambda self: _errors(self.kernels))
    remembered = property(lambda self: _remembered(self.kernels))
    applications = property(lambda self: (1.0,) * len(self.kernels))
    in_turn = property(lambda self: self.kernels)
    info_shape = property(lambda self: (len(self.kernels), *self.kernels[0].info_shape))

    def composed(self, matrices: list[np.ndarray]) -> np.ndarray:
        return functools.reduce(np.matmul, matrices)


@part
class Mixture(Kernel):
    """Apply one of several kernels, chosen at random with fixed weights, whatever the state.

    *Exact when* every kernel is, for the same target. Memory is shared as in `Cycle`.

    Parameters
    ----------
    kernels
        The kernels.
    weights
        Their probabilities, one each; equal if left out.
    """

    kernels: Any
    weights: Any = None
    is_memory_shared: bool = static(init=False, default=False)

    def __post_init__(self) -> None:
        set_field(self, "kernels", _kernels(self.kernels, "Mixture"))
        _require_one_shape(self.kernels, "Mixture")
        set_field(self, "is_memory_shared", _share_memory(self.kernels, "Mixture"))
        count = len(self.kernels)
        weights = np.full(count, 1 / count) if self.weights is None else self.weights
        if is_concrete(weights):
            weights = real_numbers(weights, "weights of Mixture")
            if weights.shape != (count,) or not np.all(weights > 0) or not np.isclose(weights.sum(), 1):
                raise ValueError(
                    f"weights of Mixture are {weights.tolist()}; give {count} positive numbers that sum to 1"
                )
        set_field(self, "weights", weights)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Array, tuple[Any, ...]]:
        key_choice, *keys = random.split(key, len(self.kernels) + 1)
        choice = jr.choice(key_choice, len(self.kernels), shape, p=jnp.asarray(self.weights))
        return choice, tuple(kernel.noise(k, position, shape) for kernel, k in zip(self.kernels, keys, strict=True))

    def init(self, position: Position, key: Key | None = None) -> State:
        return State(position, _initial_memory(self, position, key))

    def move(self, state: State, noise: tuple[Array, tuple[Any, ...]]) -> tuple[State, Any]:
        choice, noises = noise
        if isinstance(choice, np.generic):
            return _move_one(self, self.kernels[int(choice)], state, noises[int(choice)])
        result = _move_one(self, self.kernels[0], state, noises[0])
        for index, (kernel, kernel_noise) in enumerate(zip(self.kernels[1:], noises[1:], strict=True), start=1):
            result = choose(choice == index, _move_one(self, kernel, state, kernel_noise), result)
        return result

    def meeting_noise(self, key: Key, shape: Shape = ()) -> tuple[Any, ...]:
        return _meeting_noises(self.kernels, key, shape)

    def move_both(self, first: State, second: State, noise: Tree, meet: Tree) -> tuple[tuple[State, Any], Any]:
        """Both chains are moved by the same kernel."""
        choice, noises = noise
        moves = zip(self.kernels, noises, meet, strict=True)
        if isinstance(choice, np.generic):
            return _move_both(self, *[(k, first, second, n, m) for k, n, m in moves][int(choice)])
        results = [_move_both(self, kernel, first, second, *noisy) for kernel, *noisy in moves]
        found = results[0]
        for index, result in enumerate(results[1:], start=1):
            found = choose(choice == index, result, found)
        return found

    cannot_meet = property(lambda self: _never_meeting(self.kernels))
    exact_when = property(lambda self: _all_exact(self.kernels))
    error = property(lambda self: _errors(self.kernels))
    remembered = property(lambda self: _remembered(self.kernels))
    applications = property(lambda self: self.weights)
    info_shape = property(lambda self: self.kernels[0].info_shape)

    def composed(self, matrices: list[np.ndarray]) -> np.ndarray:
        return np.tensordot(np.asarray(self.weights), matrices, axes=1)


def _stacked(infos: list[Any]) -> Any:
    """One info with an axis over the kernels; of what they keep, the last."""
    if not isinstance(infos[-1], Info):
        return jax.tree.map(_stack, *infos)
    found: Info = jax.tree.map(_stack, *[info._replace(kept=()) for info in infos])
    return found._replace(kept=infos[-1].kept)


def _stack(*leaves: Array) -> Array:
    return np.array(leaves) if all(isinstance(leaf, np.generic) for leaf in leaves) else jnp.stack(leaves)


def _kernels(kernels: Any, name: str) -> tuple[Kernel, ...]:
    kernels = tuple(kernels) if isinstance(kernels, (list, tuple)) else (kernels,)
    if not kernels:
        raise ValueError(f"kernels of {name} is empty; it needs at least one kernel")
    remedy = "a kernel such as ls.standard(...)"
    found = tuple(adopted(kernel, Kernel, f"each of the kernels of {name}", remedy) for kernel in kernels)
    for kernel in found:
        if kernel.is_coupling:
            raise TypeError(f"{name} cannot be made of a {kernel.name}; compose the kernels that it couples")
    return found


def _require_one_shape(kernels: tuple[Kernel, ...], name: str) -> None:
    """What kernels tell of an update must fit together."""
    if len({kernel.info_shape for kernel in kernels}) > 1:
        raise ValueError(f"{name}: its kernels are cycles of different lengths; give cycles of one length, or none")


def _remembered(kernels: tuple[Kernel, ...]) -> tuple[Any, ...]:
    return tuple(itertools.chain.from_iterable(kernel.remembered for kernel in kernels))


def _share_memory(kernels: tuple[Kernel, ...], name: str) -> bool:
    first, *others = _remembered(kernels)
    is_shared = all(_is_same(first, other) for other in others)
    if not is_shared and any(kernel.is_memory_random for kernel in kernels):
        raise ValueError(
            f"{name}: a kernel that remembers a random estimate (pseudo-marginal, auxiliary variable) can only be "
            f"composed with kernels that carry the very same estimate; give each the same log_estimate and draw. (A "
            f"kernel of your own is taken to remember one unless it says is_memory_random = False)"
        )
    return is_shared


def _is_same(first: Tree, second: Tree) -> bool:
    leaves, others = jax.tree.leaves(first), jax.tree.leaves(second)
    return is_alike(first, second) and all(
        a is b or (isinstance(a, float) and isinstance(b, float) and a == b)
        for a, b in zip(leaves, others, strict=True)
    )


def _all_exact(kernels: tuple[Kernel, ...]) -> str | None:
    conditions = [kernel.exact_when for kernel in kernels]
    if None in conditions:
        return None
    special = list(dict.fromkeys(str(c) for c in conditions if c != "always"))
    return "; and ".join(special) or "always"


def _errors(kernels: tuple[Kernel, ...]) -> str | None:
    return "; and ".join(dict.fromkeys(kernel.error for kernel in kernels if kernel.error is not None)) or None


def _initial_memory(composed: Cycle | Mixture, position: Position, key: Key | None) -> Memory:
    return composed.kernels[0].init(position, key).memory if composed.is_memory_shared else ()


def _move_one(composed: Cycle | Mixture, kernel: Kernel, state: State, noise: Tree) -> tuple[State, Any]:
    start = state if composed.is_memory_shared else kernel.init(state.position)
    moved, info = kernel.move(start, noise)
    return (moved if composed.is_memory_shared else State(moved.position, ())), info


def _meeting_noises(kernels: tuple[Kernel, ...], key: Key, shape: Shape) -> tuple[Any, ...]:
    return tuple(
        k.meeting_noise(key_one, shape) for k, key_one in zip(kernels, random.split(key, len(kernels)), strict=True)
    )


def _never_meeting(kernels: tuple[Kernel, ...]) -> str | None:
    return next((kernel.cannot_meet for kernel in kernels if kernel.cannot_meet is not None), None)


def _move_both(
    composed: Cycle | Mixture, kernel: Kernel, first: State, second: State, noise: Tree, meet: Tree
) -> tuple[tuple[State, Any], tuple[State, Any]]:
    if composed.is_memory_shared:
        return kernel.move_both(first, second, noise, meet)
    starts = kernel.init(first.position), kernel.init(second.position)
    (moved, info), (other, other_info) = kernel.move_both(*starts, noise, meet)
    return (State(moved.position, ()), info), (State(other.position, ()), other_info)
