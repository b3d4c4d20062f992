"""Two kernels driven by the same noise: the paper's coupling.

Both legs draw their noise from the same key. Proposal and accept noise are then equal bit for bit. The noise of the
ratios is equal where both draw it alike: the same ``draw``, the same ``count``, and estimators of the same make
(`two_sided`, `difference` and `universal` split their key, others do not). Where it is not, the two decide by
independent noise: still a coupling of the two kernels, but a looser one, with shorter separation times.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.kernel import Info, Kernel, State
from lockstep.core.parts import part
from lockstep.core.trees import choose, have_equal_values, is_alike, is_concrete, is_floating
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.coupling.infos import CoupledInfo, ShadowedInfo
from lockstep.coupling.pair import Pair, both
from lockstep.kernels.metropolis_hastings import MetropolisHastings

_NEVER = np.bool_(False)


class CoupledState(NamedTuple):
    """The states of both chains, and whether their positions are equal."""

    first: State
    second: State
    is_equal: Array

    @property
    def position(self) -> Pair:
        return Pair(self.first.position, self.second.position)


class OfTwo(Kernel):
    """Two chains, each with a kernel of one accept/reject: ``first`` and ``second``."""

    first: MetropolisHastings
    second: MetropolisHastings

    is_coupling = True
    kernels = property(lambda self: (self.first, self.second))

    def init(self, position: Position, key: Key | None = None) -> CoupledState:
        """The state at one position of both chains, or at a `Pair` of positions."""
        first, second = both(position)
        is_equal = np.bool_(True) if first is second else have_equal_values(first, second)
        return CoupledState(self.first.init(first, key), self.second.init(second, key), is_equal)

    def placed(self, position: Position) -> list[tuple[MetropolisHastings, Position]]:
        return list(zip(self.kernels, both(position), strict=True))

    def known(self, state: CoupledState, position: Position) -> list[tuple[Any, Position, Any]]:
        return [(*one, own) for one, own in zip(self.placed(position), (state.first, state.second), strict=True)]

    @property
    def exact_when(self) -> str | None:
        """The conditions of both kernels; None if one is approximate."""
        conditions = {kernel.exact_when for kernel in self.kernels}
        return None if None in conditions else "; and ".join(sorted(str(c) for c in conditions))


@part
class Coupled(OfTwo):
    """Two chains, one noise: they separate, shadow one another, and may coalesce and branch again.

    Marginally each chain is its kernel alone. Equality is carried as a flag: equal chains stay equal while they decide
    alike, and chains that differ become equal when both accept the same candidate of an independence proposal.

    Parameters
    ----------
    first, second
        Kernels with the same proposal.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def log_density(theta):
    ...     return -0.5 * jnp.sum(theta**2)
    >>> def one_sample(noise, position, candidate):
    ...     return log_density(candidate) - log_density(position) + noise
    >>> noisy = ls.estimators.mean(one_sample, 8, draw=lambda key, count: jr.normal(key, (count,)))
    >>> walk = ls.RandomWalk(1.0)
    >>> exact = ls.penalty(ls.estimators.known_variance(noisy, 1 / 8), walk)
    >>> run = ls.sample(ls.Coupled(exact, ls.naive(noisy, walk)), jnp.zeros(2), draws=200, chains=2, seed=1)
    >>> run.positions.first.shape, run.info.marks.shape
    ((2, 200, 2), (2, 200))
    """

    first: MetropolisHastings
    second: MetropolisHastings

    def __post_init__(self) -> None:
        require_coupling(self.first, self.second, "Coupled", ("first", "second"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        here, _ = both(position)
        return self.first.noise(key, here, shape), self.second.noise(key, here, shape)

    def move(self, state: CoupledState, noise: tuple[Any, Any]) -> tuple[CoupledState, CoupledInfo]:
        first, info = self.first.move(state.first, noise[0])
        second, other = self.second.move(state.second, noise[1])
        is_still = _is_still(self.first, state.first.position, noise[0])
        is_equal = state.is_equal & ((info.is_accepted == other.is_accepted) | is_still)
        if self.first.proposal.is_independent:
            is_equal |= info.is_accepted & other.is_accepted
        if _is_discrete(first.position):
            is_equal = have_equal_values(first.position, second.position)  # comparing whole numbers is safe
        return CoupledState(first, second, is_equal), coupled_info(info, other, state.is_equal, is_equal, is_still)


@part
class Shadowed(Kernel):
    """One exact chain, and marks where the approximate kernel would have decided otherwise (the paper's Algorithm 7).

    Between marks the approximate chain, started behind the last mark, walks in lockstep with the exact one.

    Parameters
    ----------
    exact
        The kernel that moves the chain.
    approximate
        The kernel whose decisions are compared, with the same proposal. It must not remember a random estimate: what
        it would remember depends on a path that it has not taken.

    See Also
    --------
    lockstep.separation.summary : separation times from such a run.
    """

    exact: MetropolisHastings
    approximate: MetropolisHastings

    def __post_init__(self) -> None:
        require_coupling(self.exact, self.approximate, "Shadowed", ("exact", "approximate"))
        if self.approximate.is_memory_random:
            raise ValueError(
                "Shadowed: the approximate kernel remembers a random estimate (pseudo-marginal, auxiliary variable), "
                "which it does not have at states of another chain; use ls.Coupled, in which it walks its own path"
            )

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        return self.exact.noise(key, position, shape), self.approximate.noise(key, position, shape)

    def init(self, position: Position, key: Key | None = None) -> State:
        return self.exact.init(position, key)

    def move(self, state: State, noise: tuple[Any, Any]) -> tuple[State, ShadowedInfo]:
        moved, info = self.exact.move(state, noise[0])
        here = State(state.position, self.approximate.ratio.init(None, state.position))
        _, other = self.approximate.move(here, noise[1])
        marks, gaps = info.is_accepted != other.is_accepted, _gap(info, other)
        if self.exact.proposal.can_stay:
            is_moving = ~_is_still(self.exact, state.position, noise[0])
            marks, gaps = marks & is_moving, choose(is_moving, gaps, 0.0)
        return moved, ShadowedInfo(info, other, marks, gaps)

    def known(self, state: State, position: Position) -> list[tuple[Any, Position, Any]]:
        (exact, place), approximate = self.placed(position)
        return [(exact, place, state), (*approximate, None)]

    is_coupling = True
    is_memory_random = property(lambda self: self.exact.is_memory_random)
    kernels = property(lambda self: (self.exact, self.approximate))
    exact_when = property(lambda self: self.exact.exact_when)


def _is_discrete(position: Position) -> bool:
    if isinstance(position, np.ndarray):
        return position.dtype.kind != "f"
    return not any(is_floating(leaf) for leaf in jax.tree.leaves(position))


def coupled_info(first: Info, second: Info, was_equal: Array, is_equal: Array, is_still: Array = _NEVER) -> CoupledInfo:
    """What to tell of an update of two chains; ``is_still``: what was proposed to equal chains is where they are."""
    gaps = choose(was_equal & ~is_still, _gap(first, second), 0.0)
    return CoupledInfo(first, second, was_equal & ~is_equal, gaps, was_equal, is_equal)


def _is_still(kernel: MetropolisHastings, position: Position, noise: Tree) -> Array:
    """Whether the candidate is the position itself: nothing separates then, whatever is decided."""
    if not kernel.proposal.can_stay:
        return _NEVER
    proposal_noise, *_ = noise
    return have_equal_values(kernel.proposal(proposal_noise, position)[0], position)


def _gap(first: Info, second: Info) -> Array:
    """|α₁ - α₂|, the probability that a shared accept variable falls between the two."""
    return abs(_alpha(first.log_ratio) - _alpha(second.log_ratio))


def _alpha(log_ratio: Array) -> Array:
    """The probability of acceptance; of a NaN and of plus infinity, which are refused, 0."""
    if isinstance(log_ratio, float):  # NumPy's numbers are
        return math.exp(min(log_ratio, 0.0)) if log_ratio < math.inf else 0.0
    return choose(log_ratio < math.inf, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0)


def require_coupling(first: Tree, second: Tree, name: str, arguments: tuple[str, str]) -> None:
    """Refuse kernels for which one noise is no coupling."""
    for kernel, argument in zip((first, second), arguments, strict=True):
        if not isinstance(kernel, MetropolisHastings):
            raise TypeError(
                f"{argument} of {name} must be a kernel of one accept/reject such as ls.naive(...); got {kernel!r}"
            )
    if not _is_equal(first.proposal, second.proposal):
        raise ValueError(
            f"{name}: the kernels have different proposals, {first.proposal!r} and {second.proposal!r}; drawn from "
            f"the same key these are no coupling. Give both the same proposal"
        )


def _is_equal(first: Tree, second: Tree) -> bool:
    if not is_alike(first, second):
        return False
    leaves = list(zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True))
    return not is_concrete(leaves) or all(np.array_equal(a, b) for a, b in leaves)
