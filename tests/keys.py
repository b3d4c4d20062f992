"""What becomes of random keys: every draw from one, and every key that is made of another."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field

import jax
import jax.random as jr
import numpy as np
from jax.extend.core import jaxprs_in_params

from lockstep.core import random
from lockstep.core.trees import is_concrete, is_key
from lockstep.kernels.metropolis_hastings import MetropolisHastings

DRAW, MAKERS = "random_bits", ("random_split", "random_fold_in")
WORDS = "random_unwrap"  # a draw where `lockstep.core.random` takes the words of a key
DRAWERS = {random._words.__code__, random._counted.__code__}
# What is drawn, by the function that is running.
ROLES = {"fitted": "fit", "places": "start", "init": "memory", "noise": "update", "move": "update"}


@dataclass
class Uses:
    """What was drawn (keys, as words) with the role it was drawn for, and what was made: child, parent and maker."""

    drawn: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    made: list[tuple[tuple[int, ...], tuple[int, ...], str]] = field(default_factory=list)

    def __add__(self, other: Uses) -> Uses:
        return Uses(self.drawn + other.drawn, self.made + other.made)

    def faults(self) -> list[str]:
        """Keys that two consumers of noise see, that noise is drawn from and made of, or that are made in two ways."""
        found = []
        for key, times in Counter(key for key, _ in self.drawn).items():
            if times > 1:
                found.append(f"{key} is drawn from {times} times: {[role for one, role in self.drawn if one == key]}")
        found += self.mixed()
        above = self._ancestors()
        found += [f"{key} is drawn from, and so is a key that is made of it" for key, _ in self.drawn if key in above]
        return found

    def _ancestors(self) -> set[tuple[int, ...]]:
        """The keys of which those that are drawn from are made."""
        parents = {child: parent for child, parent, _ in self.made}
        found: set[tuple[int, ...]] = set()
        for key, _ in self.drawn:
            while (key := parents.get(key, ())) and key not in found:
                found.add(key)
        return found

    def mixed(self) -> list[str]:
        """Keys that are made by a split and by folding in a number."""
        makers = defaultdict(set)
        for child, _, maker in self.made:
            makers[child].add(maker)
        return [f"{child} is made by {sorted(how)}" for child, how in makers.items() if len(how) > 1]


@dataclass
class Record:
    """The uses of keys in a scope: those in the noise of each kernel of one accept/reject, and all others."""

    own: Uses = field(default_factory=Uses)
    legs: list[Uses] = field(default_factory=list)

    @property
    def whole(self) -> Uses:
        return sum(self.legs, self.own)


@contextmanager
def recorded():
    """A scope that writes down the uses of keys; nothing is compiled in it, so that all keys are known."""
    record = Record()
    current = [record.own]

    def noting(primitive, evaluate):
        def noted(keys, *others, **parameters):
            result = evaluate(keys, *others, **parameters)
            if primitive.name == DRAW:
                current[-1].drawn.extend((key, role()) for key in words(keys))
            elif primitive.name == WORDS:
                if any(frame.f_code in DRAWERS for frame in frames()):
                    current[-1].drawn.extend((key, role()) for key in rows(result))
            else:
                parents, children = words(keys), words(result)
                each = len(children) // len(parents)
                made = [(child, parents[i // each], primitive.name) for i, child in enumerate(children)]
                current[-1].made.extend(made)
            return result

        return noted

    noise_of_kernel = MetropolisHastings.noise

    def noise(self, key, position, shape=()):
        uses = Uses()
        record.legs.append(uses)
        current.append(uses)
        drawn = noise_of_kernel(self, key, position, shape)
        # Keys that are left in the noise are for users' functions, and for what goes on without an end.
        for leaf in jax.tree.leaves(drawn):
            if is_key(leaf) and is_concrete(leaf):
                uses.drawn.extend((key, "handed over") for key in words(leaf))
        current.pop()
        return drawn

    primitives = key_primitives()
    before = [primitive.impl for primitive in primitives]
    makers = random.split, random.fold_in
    try:
        random.split, random.fold_in = jr.split, fold_in  # the same keys, by operations that are seen here
        for primitive, evaluate in zip(primitives, before, strict=True):
            primitive.impl = noting(primitive, evaluate)
        MetropolisHastings.noise = noise
        with jax.disable_jit():
            yield record
    finally:
        for primitive, evaluate in zip(primitives, before, strict=True):
            primitive.impl = evaluate
        random.split, random.fold_in = makers
        MetropolisHastings.noise = noise_of_kernel


def fold_in(keys, numbers):
    """Each number into each key."""
    fold = jr.fold_in
    for _ in range(np.ndim(numbers)):
        fold = jax.vmap(fold, in_axes=(None, 0))
    for _ in range(keys.ndim):
        fold = jax.vmap(fold, in_axes=(0, None))
    return fold(keys, numbers)


def words(keys) -> list[tuple[int, ...]]:
    """The words of each of some keys."""
    return rows(jr.key_data(keys))


def rows(data) -> list[tuple[int, ...]]:
    data = np.asarray(data)
    return [tuple(row) for row in data.reshape(-1, data.shape[-1]).tolist()]


def frames():
    """The functions that are running."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def role() -> str:
    """What is being drawn, from the functions of the library that are running."""
    names = [frame.f_code.co_name for frame in frames()]
    what = next((ROLES[name] for name in names if name in ROLES), "other")
    return f"{what} of the adaptation" if "adapted" in names else what


def key_primitives():
    """The operations of JAX that take a key: draws, splits, numbers folded in, and its words."""

    def all_four(key):
        return jr.bits(key), jr.split(key), jr.fold_in(key, 0), jr.key_data(key)

    def equations(jaxpr):
        for equation in jaxpr.eqns:
            yield equation
            for inner in jaxprs_in_params(equation.params):
                yield from equations(inner)

    found = {e.primitive.name: e.primitive for e in equations(jax.make_jaxpr(all_four)(jr.key(0)).jaxpr)}
    return [found[name] for name in (DRAW, *MAKERS, WORDS)]
