"""Two chains of one kernel, the second behind the first by a lag, coupled so that they meet and then stay together."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import whole
from lockstep.core.kernel import Info, Kernel
from lockstep.core.parts import part, set_field
from lockstep.core.trees import choose, have_equal_values, is_concrete
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.coupling.cost import is_cheap
from lockstep.coupling.infos import LaggedInfo
from lockstep.coupling.pair import Pair, both

MEETING_STREAM = 2**31 + 2  # of random numbers: a kernel splits its key into fewer
SECOND_STREAM = 2**31 + 3  # of what the second chain remembers of its start


class LaggedState(NamedTuple):
    """The states X_t and Y_{t - lag}, whether they are equal, and how many updates Y still waits."""

    first: Any
    second: Any
    is_equal: Array
    waiting: Array

    @property
    def position(self) -> Pair:
        return Pair(self.first.position, self.second.position)


@part
class Lagged(Kernel):
    """A pair of chains of one kernel: X runs ahead by ``lag`` updates, then both move together until they meet.

    X takes ``lag`` updates alone. Then the pair (X_t, Y_{t - lag}) is moved by a coupling: they are proposed the same
    candidate as often as the laws of their proposals allow (`Proposal.coupled`), and share all other noise. Each is
    its kernel alone in law. They meet when both accept one candidate, and are equal for good from then on: position
    and what is remembered of it. The first chain is, draw by draw, the one that the kernel makes by itself.

    From the times at which pairs meet follow estimates without bias (`ls.unbiased`) and bounds of the distance to
    equilibrium (`ls.convergence`), which run such pairs.

    Parameters
    ----------
    kernel
        Any kernel whose chains can meet: its proposals must have a coupling, as all of Lockstep's have.
    lag
        By how many updates the first chain is ahead, at least 1.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.0))
    >>> def start(key):
    ...     first, second = jr.split(key)
    ...     return ls.Pair(5 * jr.normal(first, (2,)), 5 * jr.normal(second, (2,)))
    >>> run = ls.sample(ls.Lagged(kernel, lag=10), start, draws=300, chains=8, seed=1)
    >>> bool(run.info.is_equal[:, -1].all())
    True

    See Also
    --------
    lockstep.MaximallyCoupled : two different kernels with the same coupling.
    """

    kernel: Kernel
    lag: int = 1

    def __post_init__(self) -> None:
        kernel = adopted(self.kernel, Kernel, "kernel of Lagged", "a kernel such as ls.standard(log_density, proposal)")
        if kernel.is_coupling:
            raise TypeError(
                f"Lagged couples a kernel with itself; {kernel.name} is a coupling already: give its kernel"
            )
        if (reason := kernel.cannot_meet) is not None:
            raise ValueError(f"Lagged: two chains of {kernel!r} would never meet: {reason}")
        set_field(self, "kernel", kernel)
        if is_concrete(self.lag):
            lag = self.lag[()] if isinstance(self.lag, np.ndarray) else self.lag
            set_field(self, "lag", whole(lag, "lag of Lagged", 1))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        here, _ = both(position)
        meet = self.kernel.meeting_noise(random.fold_in(key, MEETING_STREAM), shape)
        return self.kernel.noise(key, here, shape), meet

    def init(self, position: Position, key: Key | None = None) -> LaggedState:
        """The state at one start of both chains, or at a `Pair` of starts, before the first has moved."""
        first, second = both(position)
        key_second = None if key is None else random.fold_in(key, SECOND_STREAM)
        states = self.kernel.init(first, key), self.kernel.init(second, key_second)
        return LaggedState(*states, np.bool_(False), jnp.asarray(self.lag))

    def move(self, state: LaggedState, noise: tuple[Any, Any]) -> tuple[LaggedState, LaggedInfo]:
        is_waiting = state.waiting > 0
        is_apart = ~(state.is_equal | is_waiting)
        (first, info), (second, other) = _moved(is_apart, self.kernel, state.first, state.second, *noise)
        waiting = state.waiting - is_waiting
        second = choose(state.is_equal, first, choose(is_waiting, state.second, second))
        other = choose(state.is_equal, info, choose(is_waiting, _nothing_done(info), other))
        is_equal = have_equal_values(first.position, second.position) & (waiting == 0)
        if self.kernel.is_memory_random:
            is_equal = is_equal & have_equal_values(first.memory, second.memory)
        # What is remembered of a position is a function of it, but for rounding: equal chains are equal bit for bit.
        second = choose(is_equal, first, second)
        return LaggedState(first, second, is_equal, waiting), LaggedInfo(info, other, is_equal)

    def placed(self, position: Position) -> list[tuple[Any, Position]]:
        return [placed for place in both(position) for placed in self.kernel.placed(place)]

    def known(self, state: LaggedState, position: Position) -> list[tuple[Any, Position, Any]]:
        chains = zip((state.first, state.second), both(position), strict=True)
        return [one for state, place in chains for one in self.kernel.known(state, place)]

    is_coupling = True
    kernels = property(lambda self: (self.kernel, self.kernel))
    is_memory_random = property(lambda self: self.kernel.is_memory_random)
    exact_when = property(lambda self: self.kernel.exact_when)
    error = property(lambda self: self.kernel.error)


def _nothing_done(info: Tree) -> Any:
    """The info of a chain that waits, like that of one that does not."""

    def still(one: Info) -> Info:
        never, always = one.is_accepted & False, one.is_valid | True
        return Info(never, choose(always, np.float64(-np.inf), one.log_ratio), always, never)

    return jax.tree.map(still, info, is_leaf=lambda node: isinstance(node, Info))


def _both(kernel: Kernel, first: Tree, second: Tree, noise: Tree, meet: Tree) -> Any:
    return kernel.move_both(first, second, noise, meet)


def _alone(kernel: Kernel, first: Tree, second: Tree, noise: Tree, meet: Tree) -> Any:
    """Only the first is moved; what is said of the second stands for nothing."""
    moved, info = kernel.move(first, noise)
    return (moved, info), (second, info)


def _moved(is_apart: Array, *arguments: Any) -> Any:
    """Both chains moved if they are apart, else the first alone: an evaluation that nobody needs is not made."""
    if isinstance(is_apart, np.generic):
        return (_both if is_apart else _alone)(*arguments)
    # A branch of compiled code costs about half a cheap update.
    return _both(*arguments) if is_cheap(_alone, *arguments) else _moved_compiled(is_apart, *arguments)


@jax.custom_batching.custom_vmap
def _moved_compiled(is_apart: Array, *arguments: Any) -> Any:
    return jax.lax.cond(is_apart, _both, _alone, *arguments)


@_moved_compiled.def_vmap
def _moved_together(axis_size: int, is_batched: Any, is_apart: Array, *arguments: Any) -> tuple[Any, Any]:
    """Of many pairs at once: the second legs are moved as long as one of the pairs is apart."""
    axes = jax.tree.map(lambda batched: 0 if batched else None, is_batched[1:])
    both, alone = (jax.vmap(branch, in_axes=axes, axis_size=axis_size) for branch in (_both, _alone))
    result = jax.lax.cond(is_apart.any(), both, alone, *arguments)
    return result, jax.tree.map(lambda leaf: True, result)
