"""Several auxiliary data sets in one exact ratio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.declared import passing_on
from lockstep.core.parts import part, static
from lockstep.core.randomization import Involution, Randomization
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.draws import draw_each
from lockstep.ratios.randomizations import AuxiliaryData, simulated, within


class DataSets(NamedTuple):
    """Data sets with a leading axis over them, and whether all are from the candidate or only the first of them."""

    is_all: Array
    values: Any


@part
class Turned(Involution):
    """The same data sets on the way back, on which the other of the two ways to draw them is taken."""

    is_proven = True

    def __call__(self, x: DataSets, position: Position, candidate: Position) -> tuple[DataSets, Array]:
        return x._replace(is_all=~x.is_all), 0.0


@part
@passing_on("single", "exact_when error")
class AveragedData(Randomization):
    """N data sets, drawn in one of two ways that balance each other, with probability 1/2 each.

    With w_i = L(θ, x_i)/L(θ', x_i): all x_i from θ', and the weight log N⁻¹ Σ w_i; or x_1 from θ' and the others from
    θ, and the weight -log N⁻¹ Σ 1/w_i. ``single`` is what a single data set would be.
    """

    single: AuxiliaryData
    count: int = static()

    involution = Turned()
    when_stuck = "average over more data sets (count)"
    is_density_when = AuxiliaryData.is_density_when

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Array, Any]:
        key_way, key_data = random.split(key)
        return jr.bernoulli(key_way, 0.5, shape), draw_each(self.single.draw, key_data, (*shape, self.count))

    def sample(self, noise: tuple[Array, Any], position: Position, candidate: Position) -> DataSets:
        is_all, noises = noise
        single = self.single
        candidate = within(single.log_prior, position, candidate)

        def one(noise: Tree, is_first: Array) -> Any:
            return simulated(single.simulate, (noise, choose(is_all | is_first, candidate, position)), single.data)

        return DataSets(is_all, over_sets(one, self.count, is_all, noises, np.arange(self.count) == 0))

    def log_weight(self, x: DataSets, position: Position, candidate: Position) -> Array:
        there, back = choose(x.is_all, position, candidate), choose(x.is_all, candidate, position)

        def one(data: Tree) -> Array:
            return self.single.log_weight(data, there, back)

        value = log_average(over_sets(one, self.count, x.is_all, x.values))
        return choose(x.is_all, value, -value)


def over_sets(function: Callable[..., Any], count: int, flag: Any, *rows: Any) -> Any:
    """A function of one data set over all: mapped in compiled code, one after the other where the flag is NumPy's."""
    if namespace(flag) is not np:
        return jax.vmap(function)(*rows)
    each = [function(*jax.tree.map(lambda leaf, i=i: leaf[i], rows)) for i in range(count)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *each)


def log_average(logs: Array) -> Array:
    """The logarithm of the average of numbers that are given by their logarithms."""
    array_module = namespace(logs)
    largest = logs.max()
    shift = choose(array_module.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):  # an average of 0
        return array_module.log(array_module.exp(logs - shift).mean()) + shift
