"""Parts that are fitted before a run, such as an expansion at a mode yet to be found, and where chains then begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.declared import Part
from lockstep.core.kernel import Kernel
from lockstep.core.types import Key, Position
from lockstep.core.warnings import warn
from lockstep.coupling.pair import legs
from lockstep.starts.start import Starts, initial_positions, start_keys, start_of
from lockstep.storage.fitted import digest_of, read_fitted, write_fitted
from lockstep.subsampling.scatter import Scattered

FAR = 10.0  # standard deviations: an expansion at the mode says little there


class Fitted(NamedTuple):
    """A kernel without unfitted parts, where its chains begin, and a sentence if that is not where the user said."""

    kernel: Any
    initial: Any
    began: str | None = None


def fitted(kernel: Kernel, initial: Any, chains: int, key: Key, progress: bool | None = None) -> Fitted:
    """The kernel with every part that has a method ``fit`` fitted, and where its chains are to begin.

    ``fit(position, progress)`` returns the fitted part, and where chains may begin: `Scattered` around a mode, a
    position, or the very ``position`` that it was given if the fit has found none. If the user gave one position, the
    chains begin there; if starts for each chain (`Starts`, a `Pair`, a function of a key), they are kept. A function of
    the kernel, of ``initial`` and of the key alone, so that it can be repeated.
    """
    found, start = fitted_parts(kernel, initial, key, progress)
    return Fitted(found, initial) if start is None else Fitted(found, *_begin(start, initial, chains, key))


def fitted_once(
    kernel: Kernel, initial: Any, chains: int, seed: int, directory: Path | None, changed: str, progress: bool | None
) -> Fitted:
    """The same in a run with this seed; with a directory it is written there, and not computed a second time."""
    if not any(has_fit(node) for node in jax.tree.leaves(kernel, is_leaf=has_fit)):
        return Fitted(kernel, initial)
    key, _ = random.two_keys(random.seeded(seed))
    digest = None if directory is None else digest_of(kernel, initial, seed, chains)
    if directory is None or digest is None:
        return fitted(kernel, initial, chains, key, progress)
    before = (kernel, initial)
    if (known := read_fitted(directory, digest, before)) is not None:
        return Fitted(*known)
    found = fitted(kernel, initial, chains, key, progress)
    write_fitted(directory, digest, before, tuple(found), changed)
    return found


def has_fit(node: object) -> bool:
    """Whether a part of a kernel is to be fitted."""
    return isinstance(node, Part) and node.fit is not None


def fitted_parts(kernel: Kernel, initial: Any, key: Key, progress: bool | None = None) -> tuple[Any, Any]:
    """The kernel with every part that has a method ``fit`` fitted, and where that says chains may begin, if it does."""
    position: Any = None
    known: dict[int, tuple[Any, Any]] = {}

    def fit(node: Any) -> Any:
        nonlocal position
        if not has_fit(node):
            return node
        if position is None:
            position, *_ = legs(start_of(initial).one(key))
        if id(node) not in known:
            known[id(node)] = node.fit(position, progress)
        return known[id(node)][0]

    found = jax.tree.map(fit, kernel, is_leaf=has_fit)
    if not known:
        return kernel, None
    return found, next((start for _, start in known.values() if start is not position), None)


def _begin(start: Position, initial: Any, chains: int, key: Key) -> tuple[Any, str | None]:
    """Where chains begin if a fit has found where they may."""
    given = start_of(initial)
    if not isinstance(start, Scattered):
        return (initial, None) if given.is_each else (start, "chains began where a fit has put them, not at `initial`")
    if given.is_each:
        warn_if_far(start, initial_positions(initial, chains, key))
        return initial, None
    starts = Starts(start.draw(start_keys(key, range(chains))))
    if given.is_left_out:
        return starts, "chains began scattered around the mode that was found from a draw of the prior"
    return starts, "chains began scattered around the mode that was found from `initial`, not at `initial`"


def warn_if_far(start: Scattered, positions: Position) -> None:
    """Tell of chains that begin where estimates around the mode are of no use."""
    distances = np.max([start.distances(leg) for leg in legs(positions)], axis=0)
    if not np.max(distances) <= FAR:
        chain = int(np.argmax(distances))
        warn(
            f"initial: chain {chain} begins {distances[chain]:.3g} standard deviations from the mode, where estimates "
            f"around the mode are so noisy that it may never leave; give one position, and chains begin around the mode"
        )
