"""Proposals on the states 0..n-1."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from lockstep.core import random
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal
from lockstep.core.trees import choose, is_concrete, namespace
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.proposals.scales import numbers_like


@part
class Finite(Proposal):
    """A proposal on the states 0..n-1: from state i to state j with probability ``matrix[i, j]``."""

    matrix: Array

    computes_on_numpy = True

    def __post_init__(self) -> None:
        if is_concrete(self.matrix):
            set_field(self, "matrix", _stochastic(self.matrix))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        leaves = jax.tree.leaves(position)
        if len(leaves) != 1 or np.shape(leaves[0]) or not np.issubdtype(jnp.result_type(leaves[0]), np.integer):
            raise TypeError(
                f"Finite moves one integer state, but the position is {jax.tree.map(jnp.result_type, position)} of "
                f"shape {jax.tree.map(np.shape, position)}; start from an integer such as jnp.array(0)"
            )
        return random.uniform(key, shape)

    def __call__(self, noise: Array, position: Position) -> tuple[Position, Array]:
        array_module = namespace(noise)
        matrix = array_module.asarray(self.matrix)
        row = array_module.cumsum(matrix[position])
        # Dividing by the last sum makes it exactly 1, so that a state of probability 0 is never chosen.
        candidate = (row / row[-1] <= noise).sum().astype(array_module.result_type(position))
        return candidate, array_module.log(matrix[candidate, position] / matrix[position, candidate])

    def coupled(
        self, noise: Array, meet: Array, position: Position, candidate: Position, other: Position
    ) -> tuple[Position, Array]:
        """The same candidate with probability min(1, Q/P), else one from what Q has more than P.

        P and Q are the rows of the two states.
        """
        array_module = namespace(meet)
        matrix = array_module.asarray(self.matrix)
        here, there = matrix[position], matrix[other]
        share = array_module.minimum(1.0, there[candidate] / here[candidate])
        uniform = array_module.exp(meet)
        # Given that it is above the share, the rest of the uniform number is uniform again.
        rest = (uniform - share) / array_module.where(share < 1, 1 - share, 1.0)
        more = array_module.cumsum(array_module.maximum(there - here, 0.0))
        drawn = (more / array_module.where(more[-1] > 0, more[-1], 1.0) < rest).sum()
        second = choose(uniform <= share, candidate, drawn.astype(array_module.result_type(candidate)))
        return second, array_module.log(matrix[second, other] / matrix[other, second])

    def require_start(self, position: Position) -> None:
        """Refuse a state that the matrix does not have; JAX would let an index beyond the end pass."""
        state, states = int(jax.tree.leaves(position)[0]), np.shape(self.matrix)[0]
        if not 0 <= state < states:
            raise ValueError(
                f"initial is {state}, but the states of Finite are 0 to {states - 1}; start at one of them"
            )

    def law(self, position: Position) -> tuple[Array, Array]:
        """One noise value for each candidate that can be proposed, and its probability."""
        row = np.asarray(self.matrix)[int(position)]
        cumulative = np.cumsum(row) / np.sum(row)
        is_possible = row > 0
        return (cumulative - row / 2)[is_possible], row[is_possible]


ROUNDING = 1e-12


def _stochastic(matrix: Array) -> Array:
    matrix = numbers_like(matrix, "matrix of Finite")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix of Finite has shape {matrix.shape}; it must be square, a row for each state")
    if np.any(matrix < -ROUNDING):
        raise ValueError(
            f"matrix of Finite has a negative entry, {matrix.min()}; its entries are probabilities: make them 0 or "
            f"positive"
        )
    matrix = matrix.clip(0.0)
    sums = matrix.sum(axis=1)
    if not np.allclose(sums, 1.0, rtol=0, atol=1e-8):
        row = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"matrix of Finite: row {row} sums to {sums[row]}, not to 1; divide it by its sum")
    if np.any((matrix > 0) != (matrix.T > 0)):
        i, j = np.argwhere((matrix > 0) & ~(matrix.T > 0))[0]
        raise ValueError(
            f"matrix of Finite proposes {j} from {i} but never {i} from {j}; such moves are never accepted: make both "
            f"entries positive or both zero"
        )
    return matrix / sums[:, None]
