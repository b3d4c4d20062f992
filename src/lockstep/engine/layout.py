"""Where the chains lie in the arrays of a compiled block: side by side, where each of them has only a few numbers.

Compiled code takes four or eight neighbours in memory at a time. Of positions in the plane these would be two numbers
of one chain and the next two; with the axis of the chains last they are the same number of eight chains. Where a chain
has many numbers they are neighbours enough, and its axis comes first, as everywhere else.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array, Tree

FEW = 16  # numbers of one chain


def axes(tree: Tree, leading: int = 0) -> Any:
    """Where the chains lie when arrays are laid out: after so many leading axes, or last."""
    return jax.tree.map(lambda leaf: _axis(math.prod(leaf.shape[leading + 1 :]), leading), tree)


def laid_out(tree: Tree, leading: int = 0) -> Any:
    """Arrays whose chains come after so many leading axes, laid out."""
    return jax.tree.map(lambda leaf, axis: jnp.moveaxis(leaf, leading, axis), tree, axes(tree, leading))


def laid_out_steps(tree: Tree) -> Any:
    """Arrays with leading axes (chains, steps), laid out after an axis over the steps."""

    def lay(leaf: Array) -> Array:
        chains, steps, *rest = leaf.shape
        if _axis(math.prod(rest), 1) == 1:
            return jnp.swapaxes(leaf, 0, 1)
        # Of two axes XLA's transposition is quick.
        return leaf.reshape(chains, -1).T.reshape(steps, *rest, chains)

    return jax.tree.map(lay, tree)


def axes_of_laid_out(tree: Tree, chains: int, leading: int = 0) -> Any:
    """Where the chains lie in arrays that are laid out."""
    return jax.tree.map(lambda leaf: _axis(math.prod(leaf.shape[leading:]) // chains, leading), tree)


def chains_first(tree: Tree, chains: int, leading: int = 0) -> Any:
    """Arrays that are laid out, with their chains after the leading axes again. Those of NumPy are not copied."""

    def back(leaf: Array, axis: int) -> Any:
        return (np if isinstance(leaf, np.ndarray) else jnp).moveaxis(leaf, axis, leading)

    return jax.tree.map(back, tree, axes_of_laid_out(tree, chains, leading))


def _axis(numbers: int, leading: int) -> int:
    return -1 if numbers <= FEW else leading
