"""The words that annotations of every part use."""

from __future__ import annotations

from typing import Any, TypeAlias

import jax

Array: TypeAlias = Any  # a JAX array (compiled) or a NumPy array (interpreted); leaves of pytrees are of this kind
Key: TypeAlias = jax.Array
Tree: TypeAlias = Any  # a pytree of arrays, whose structure is up to the user or to the part that made it
Position: TypeAlias = Tree
Memory: TypeAlias = Tree
Shape: TypeAlias = tuple[int, ...]
