"""The words that annotations of every part use."""

from __future__ import annotations

from typing import Any, TypeAlias

import jax

Array: TypeAlias = Any  # a JAX array (compiled) or a NumPy array (interpreted); leaves of pytrees are of this kind
Key: TypeAlias = jax.Array
Position: TypeAlias = Any  # any pytree of arrays
Memory: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]
