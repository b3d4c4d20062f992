"""NumPy's generators from JAX's keys, so that black boxes draw from the same streams as compiled code."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeGuard

import jax
import jax.random as jr
import numpy as np

from lockstep.core.trees import is_key
from lockstep.core.types import Array, Tree


class _Level(threading.local):
    """The generators of a thread, one for each level of kernels that are run by functions of other kernels."""

    def __init__(self) -> None:
        self.current: Any = None  # the generator of this level, its bits, its state, and the key in that state


_LEVEL = _Level()


@contextmanager
def own_generator() -> Iterator[None]:
    """A scope with a generator of its own: a function that runs another kernel keeps the one that it was given."""
    outer, _LEVEL.current = _LEVEL.current, None
    try:
        yield
    finally:
        _LEVEL.current = outer


@jax.tree_util.register_pytree_node_class
class RandomKey:
    """A random key (or an array of keys) on the host: its words, in the last axis."""

    __slots__ = ("seed", "words")

    def __init__(self, words: Array, seed: int | None = None) -> None:
        self.words, self.seed = words, seed

    @classmethod
    def of(cls, leaf: Array) -> Any:
        """A typed JAX key as its words; whatever else a leaf is, unchanged."""
        return cls(jr.key_data(leaf)) if is_key(leaf) else leaf

    def generator(self) -> np.random.Generator:
        """The generator of this thread and level, set to the beginning of the stream of this key.

        Setting the state of one generator costs less than 1 µs, a tenth of making a new one; from Python's numbers it
        is set twice as fast as from arrays. Of several keys the stream depends on all.
        """
        bits: Any
        if (current := _LEVEL.current) is None:
            bits, key = np.random.Philox(key=0), [0, 0]
            generator, state = np.random.Generator(bits), bits.state
            state |= {"state": {"counter": (0, 0, 0, 0), "key": key}, "buffer": (0, 0, 0, 0)}
            current = _LEVEL.current = generator, bits, state, key
        generator, bits, state, key = current
        key[0] = seeds_of(np.asarray(self.words)[None])[0] if self.seed is None else self.seed
        bits.state = state
        return generator

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.words,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any]) -> RandomKey:
        return cls(*children)

    def __repr__(self) -> str:
        return "a random generator"


def is_generator(argument: object) -> bool:
    """Whether an argument will be a generator for the user's function."""
    return type(argument) is RandomKey or is_key(argument)


def seeds_of(words: Array) -> list[int]:
    """A number of 64 bits for each row of words; of more than two words (or of several keys) it depends on all."""
    words = np.ascontiguousarray(words, np.uint32)
    if words.ndim > 2 or words.shape[-1] != 2:
        return [int(np.random.SeedSequence(row.ravel().tolist()).generate_state(1, np.uint64)[0]) for row in words]
    return words.reshape(-1, 2).view(np.uint64).ravel().tolist()


def is_words(node: object) -> TypeGuard[RandomKey]:
    """Whether a node of a tree is a key on the host, of which the words are leaves."""
    return isinstance(node, RandomKey)


def as_keys(tree: Tree) -> Any:
    """The words of keys as JAX's keys again."""
    return jax.tree.map(lambda node: jr.wrap_key_data(node.words) if is_words(node) else node, tree, is_leaf=is_words)
