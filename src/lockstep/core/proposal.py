"""The base of proposals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core.declared import Part, declared
from lockstep.core.trees import is_alike
from lockstep.core.types import Array, Key, Position, Shape, Tree


class Proposal(Part):
    """Proposes a candidate."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of updates; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Tree, position: Position) -> tuple[Position, Array]:
        """The candidate, and log q(candidate → position) - log q(position → candidate)."""

    # Plain, for it is read at every update of coupled chains: whether the candidate does not depend on the position.
    is_independent = False

    # Plain for the same reason: whether the candidate may be the position itself with a probability above 0.
    can_stay = True

    @declared
    def is_short(self) -> bool:
        """Whether its steps are known to be so short that chains remember for long where they were."""
        return False

    @declared
    def adapted(self) -> Callable[..., Any] | None:
        """``adapted(positions, step)``: the same, fitted to positions (chains, draws, …) of the past; None: never."""
        return None

    @declared
    def coupled(self) -> Callable[..., tuple[Position, Array]] | None:
        """``coupled(noise, meet, position, candidate, other)``: what a second chain, at ``other``, is proposed.

        Given is what was proposed to the first: ``candidate``, made by ``noise`` at ``position``. The second's is its
        own proposal in law, and the very ``candidate`` as often as the two laws allow; it comes with its log proposal
        ratio. ``meet``, minus an exponential variable, is what is random in it besides. None: chains never meet.
        """
        return (lambda noise, meet, position, candidate, other: self(noise, other)) if self.is_independent else None

    @declared
    def law(self) -> Callable[..., tuple[Array, Array]] | None:
        """``law(position)``: one noise value for each possible candidate, and its probability; None: too many."""
        return None

    def require_start(self, position: Position) -> None:
        """Refuse a start from which no candidate would be accepted."""


def require_alike(candidate: Position, position: Position) -> None:
    """Refuse a candidate of another structure, shape or dtype than the position."""
    if not is_alike(candidate, position):
        raise ValueError(
            f"proposal returned a candidate of structure {jax.tree.structure(candidate)}; the position has "
            f"{jax.tree.structure(position)}"
        )
    for new, old in zip(jax.tree.leaves(candidate), jax.tree.leaves(position), strict=True):
        if jnp.shape(new) != jnp.shape(old) or jnp.result_type(new) != jnp.result_type(old):
            raise ValueError(
                f"proposal returned a candidate of shape {jnp.shape(new)} and dtype {jnp.result_type(new)}; the "
                f"position has shape {jnp.shape(old)} and dtype {jnp.result_type(old)}"
            )
