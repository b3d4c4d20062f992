"""Proposals for one component of a position."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.arguments import shapes
from lockstep.core.parts import part, set_field, static
from lockstep.core.proposal import Proposal
from lockstep.core.trees import is_named
from lockstep.core.types import Array, Key, Position, Shape, Tree


@part
class Component(Proposal):
    """Moves one component of a position, named by its key, index or attribute; for component-wise updates.

    Examples
    --------
    >>> import lockstep as ls
    >>> ls.Component("sigma", ls.RandomWalk(0.1))
    Component(where='sigma', proposal=RandomWalk(scale=0.1))
    """

    where: str | int = static()
    proposal: Proposal

    computes_on_numpy = True

    def __post_init__(self) -> None:
        if isinstance(self.where, bool) or not isinstance(self.where, (str, int)):
            raise TypeError(f"where of Component is {self.where!r}; it must be the key, index or name of a component")
        remedy = "a proposal such as ls.RandomWalk(scale)"
        set_field(self, "proposal", adopted(self.proposal, Proposal, "proposal of Component", remedy))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.proposal.noise(key, self._get(position), shape)

    def __call__(self, noise: Tree, position: Position) -> tuple[Position, Array]:
        component, log_proposal_ratio = self.proposal(noise, self._get(position))
        return self._set(position, component), log_proposal_ratio

    def require_start(self, position: Position) -> None:
        """Refuse a component that its proposal would refuse."""
        self.proposal.require_start(self._get(position))

    @property
    def coupled(self) -> Any:
        """The component coupled as its proposal does; the candidates are the same if all else is."""
        inner = self.proposal.coupled
        if inner is None:
            return None

        def coupled(
            noise: Tree, meet: Array, position: Position, candidate: Position, other: Position
        ) -> tuple[Position, Array]:
            here, there, shared = self._get(position), self._get(other), self._get(candidate)
            component, log_proposal_ratio = inner(noise, meet, here, shared, there)
            return self._set(other, component), log_proposal_ratio

        return coupled

    @property
    def adapted(self) -> Any:
        """The same component with its proposal adapted, where that can be."""
        inner = self.proposal.adapted
        if inner is None:
            return None

        def adapted(positions: Position, step: float) -> Component:
            is_array = isinstance(positions, np.ndarray)
            mine = positions[:, :, self._index(positions[0, 0])] if is_array else self._get(positions)
            return Component(self.where, inner(mine, step))

        return adapted

    def _get(self, position: Position) -> Position:
        try:
            return getattr(position, self.where) if is_named(position) else position[self._index(position)]  # type: ignore[arg-type]
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise ValueError(
                f"where of Component is {self.where!r}, but the position, {shapes(position)}, has no component of that "
                f"name or index; give one that it has"
            ) from error

    def _set(self, position: Position, component: Position) -> Position:
        if is_named(position):
            return position._replace(**{str(self.where): component})
        if isinstance(position, dict):
            return {**position, self.where: component}
        index = self._index(position)
        if isinstance(position, (tuple, list)):
            return type(position)(component if i == index else old for i, old in enumerate(position))
        if isinstance(position, np.ndarray):
            candidate = position.copy()
            candidate[index] = component
            return candidate
        return position.at[index].set(component)

    def _index(self, position: Position) -> Any:
        """``where`` as it counts from the front; JAX would let an index beyond the end pass."""
        return self.where if isinstance(position, dict) else range(len(position))[self.where]  # type: ignore[index]
