"""The states of chains where they begin, and the check that they can begin there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import shapes
from lockstep.core.kernel import Kernel, Simple
from lockstep.core.precision import on_device
from lockstep.core.proposal import Proposal, require_alike
from lockstep.core.trees import describe, is_floating, is_key, one_of
from lockstep.core.types import Key, Position
from lockstep.coupling.names import require_names
from lockstep.coupling.pair import both, legs
from lockstep.engine.choice import engine_of
from lockstep.engine.hosted import hosted, to_host
from lockstep.host.boxes import called_back, is_interpreted
from lockstep.starts.start import initial_positions

PROBE_SEED = 1_620_110_112  # of candidates on which promises are looked at; no seed that users take


def initial_states(
    kernel: Kernel, initial: Any, chains: int, key: Key, first: int = 0, count: int | None = None
) -> Any:
    """States of all chains, from one position, a function of a key, or `Starts`; refused where no chain can start.

    Of a group of the chains, the states of ``count`` of them beginning with ``first``.
    """
    positions = initial_positions(initial, chains, key, first, count)
    _, key_memory = random.two_keys(key)
    count = chains if count is None else count
    return states_at(kernel, positions, initial, random.fold_in(key_memory, np.arange(first, first + count)))


def states_at(kernel: Any, positions: Position, initial: Any, keys: Key) -> Any:
    """The states of chains at their positions, which came from ``initial``; what is random in them from keys."""
    chains = len(keys)
    leaves = jax.tree.leaves(positions)
    if not any(leaf.size for leaf in leaves):
        raise ValueError(f"initial is {initial!r}, which holds no number; give a position")
    first, second = both(positions)
    if _shapes(first) != _shapes(second):
        raise ValueError(
            f"initial is a Pair of {shapes(first)} and {shapes(second)}; the positions of two coupled chains must be "
            f"alike"
        )
    for leg in legs(positions):
        require_names(jax.tree.map(lambda leaf: np.asarray(leaf)[0], leg))
    _require_finite(positions, positions, chains, "initial holds {value} in the position", "give finite numbers")
    _require_proposable(kernel, positions, chains, jax.ShapeDtypeStruct(keys.shape[1:], keys.dtype))
    _require_promises(kernel, positions)
    state = engine_of(kernel).init(kernel, positions, keys)
    for one, places, own in kernel.known(state, positions):
        known = engine_of(kernel).init(one, places, keys) if own is None else own
        message = "{name} is {value} at the initial position"
        remedy = "start where it is finite, inside the support"
        blame = one.ratio.blame if one is kernel else partial(_name, one)
        _require_finite(known, positions, chains, message, remedy, blame)
    return state


def like_initial_states(
    kernel: Kernel, initial: Any, chains: int, key: Key, first: int = 0, count: int | None = None
) -> Any:
    """What looks like the states of all chains at their start, without a call of a black box: to read others from disk.

    Where that cannot be seen without a call, the states themselves.
    """
    positions = initial_positions(initial, chains, key, first, count)
    keys = random.fold_in(random.two_keys(key)[1], first + np.arange(chains if count is None else count))
    try:
        like = jax.eval_shape(jax.vmap(called_back(kernel).init), positions, keys)
    except (TypeError, jax.errors.JAXTypeError):
        like = None
    if like is None or any(is_key(leaf) for leaf in jax.tree.leaves(like)):
        return initial_states(kernel, initial, chains, key, first, count)
    return jax.tree.map(lambda leaf: engine_of(kernel).zeros(leaf.shape, leaf.dtype), like)


def _shapes(positions: Position) -> Any:
    return jax.tree.structure(positions), [np.shape(leaf) for leaf in jax.tree.leaves(positions)]


def _require_proposable(kernel: Kernel, positions: Position, chains: int, key: jax.ShapeDtypeStruct) -> None:
    """What the proposals say of a position comes before what the users' functions make of it."""
    for simple, places in kernel.placed(jax.tree.map(np.asarray, positions)):
        place = one_of(places, 0)
        try:
            _proposed.eval_shape(simple.proposal, key, place)
        except Exception as error:
            # It may compute with NumPy arrays alone. In compiled code that is told where it is called.
            if is_interpreted(kernel):
                _propose(simple.proposal, place)
            elif not isinstance(error, jax.errors.JAXTypeError):
                raise
        is_one = all(np.array_equal(leaf, np.broadcast_to(leaf[:1], leaf.shape)) for leaf in jax.tree.leaves(places))
        for chain in range(1 if is_one else chains):
            simple.proposal.require_start(one_of(places, chain))


@jax.jit
def _proposed(proposal: Proposal, key: Key, position: Position) -> None:
    """Never run: what a proposal makes of a position is found once for each kind."""
    candidate, _ = proposal(proposal.noise(key, position), position)
    require_alike(candidate, position)


def _propose(proposal: Proposal, position: Position) -> None:
    """The same with numbers."""
    noise = to_host(proposal.noise(random.seeded(PROBE_SEED), position))
    candidate, _ = hosted(proposal)(noise, position)
    require_alike(candidate, position)


def _require_promises(kernel: Kernel, positions: Position) -> None:
    """What a ratio takes on trust (an involution, a bound) is looked at on a few candidates of the first chain."""
    for simple, places in called_back(kernel).placed(positions):
        place = jax.tree.map(lambda leaf: on_device(np.asarray(leaf)[0]), places)
        key = random.seeded(PROBE_SEED)  # nothing of it comes into the draws
        simple.ratio.require_start(key, simple.proposal, place)


def _name(kernel: Simple, position: Position) -> str:
    return kernel.ratio.remembered_name


def _require_finite(
    values: object, positions: Position, chains: int, message: str, remedy: str, blame: Callable[[Position], str] = str
) -> None:
    for leaf in jax.tree.leaves(values):
        if not is_floating(leaf):
            continue
        numbers = np.asarray(leaf).reshape(chains, -1)
        is_bad = ~np.isfinite(numbers).all(axis=1)
        if is_bad.any():
            chain = int(np.argmax(is_bad))
            value = numbers[chain][~np.isfinite(numbers[chain])][0]
            position = one_of(positions, chain)
            told = message.format(name=blame(position), value=value)
            raise ValueError(f"{told} {describe(position)} of chain {chain}; {remedy}")
