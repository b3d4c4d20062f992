"""Lattices: their bonds, their neighbours, and colours such that no two neighbours have the same."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import flag, whole
from lockstep.core.types import Array, Shape


class Adjacency(NamedTuple):
    """For each site a run of entries: ``bonds`` and the ``sites`` at their other ends, from ``first`` on."""

    first: np.ndarray
    sites: np.ndarray
    bonds: np.ndarray


def shape_of(shape: Any, is_periodic: bool, name: str) -> tuple[int, int]:
    """Rows and columns, refused if they are none; a lattice that is periodic needs three of each."""
    flag(is_periodic, f"periodic of {name}")
    if not isinstance(shape, (tuple, list, np.ndarray)) or len(shape) != 2:
        raise ValueError(f"shape of {name} is {shape!r}; it must be a pair (rows, columns)")
    rows, columns = (whole(length, f"shape of {name}", 1) for length in shape)
    if is_periodic and min(rows, columns) < 3:
        raise ValueError(
            f"shape of {name} is {(rows, columns)}; a periodic lattice needs at least 3 rows and 3 columns, or its "
            f"bonds would be double"
        )
    return rows, columns


@functools.cache
def bonds_of(shape: Shape, is_periodic: bool) -> np.ndarray:
    """The pairs of neighbouring sites, a row each; site ``r * columns + c`` is row r, column c."""
    site = np.arange(shape[0] * shape[1]).reshape(shape)
    pairs = [(site[:, :-1], site[:, 1:]), (site[:-1], site[1:])]
    if is_periodic:
        pairs += [(site[:, -1:], site[:, :1]), (site[-1:], site[:1])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


@functools.cache
def neighbours_of(shape: Shape, is_periodic: bool) -> Adjacency:
    """What is next to what on a lattice."""
    return adjacency(bonds_of(shape, is_periodic), shape[0] * shape[1])


def adjacency(bonds: np.ndarray, sites: int) -> Adjacency:
    """What is next to what by some bonds."""
    ends = np.concatenate([bonds, bonds[:, ::-1]])
    numbers = np.tile(np.arange(len(bonds)), 2)
    order = np.argsort(ends[:, 0], kind="stable")
    first = np.searchsorted(ends[order, 0], np.arange(sites + 1))
    return Adjacency(first.astype(np.int64), ends[order, 1].astype(np.int64), numbers[order].astype(np.int64))


@functools.cache
def colours_of(shape: Shape, is_periodic: bool) -> np.ndarray:
    """A colour for each site: two, unless the lattice is periodic with an odd number of rows or columns."""
    beside = neighbours_of(shape, is_periodic)
    rows, columns = np.indices(shape)
    colour = ((rows + columns) % 2).ravel()
    for site in range(colour.size):
        near = beside.sites[beside.first[site] : beside.first[site + 1]]
        before = {int(colour[other]) for other in near if other < site}
        if colour[site] in before:
            colour[site] = next(c for c in range(5) if c not in before)
    return colour.reshape(shape)


def is_bipartite(shape: Shape, is_periodic: bool) -> bool:
    """Whether two colours are enough."""
    return not is_periodic or (shape[0] % 2 == 0 and shape[1] % 2 == 0)


def neighbour_sum(x: Array, is_periodic: bool) -> Array:
    """At each site the sum over its neighbours."""
    if is_periodic:
        return sum(jnp.roll(x, step, axis) for axis in (0, 1) for step in (1, -1))
    x = jnp.pad(x, 1)
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]


def bond_sum(product: Any, x: Array, is_periodic: bool) -> Array:
    """The sum over bonds of ``product(spin, spin at the other end)``."""
    right = product(x[:, :-1], x[:, 1:]).sum() + product(x[:-1], x[1:]).sum()
    if is_periodic:
        right = right + product(x[:, -1], x[:, 0]).sum() + product(x[-1], x[0]).sum()
    return right
