"""Transition matrices on finite spaces, built from a kernel's own proposal and ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.check.law import Law, as_law
from lockstep.check.points import points_of
from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import law_of, real_numbers
from lockstep.core.kernel import Kernel, Simple
from lockstep.core.precision import canonical, double_precision
from lockstep.core.trees import describe, one_of
from lockstep.core.types import Array, Position, Tree
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here

SUM_TOLERANCE = 1e-6


def transition_matrix(kernel: Kernel, states: Tree, law: object = None) -> np.ndarray:
    """The transition matrix of a kernel on a finite space, as exact as sums of floats are.

    The kernel's own proposal and ratio are called at every pair of states and every value of the noise; the accept step
    is integrated analytically, P(accept) = min(1, e^{log ratio}).

    Parameters
    ----------
    kernel
        A kernel whose proposal can be enumerated (it has a method ``law(position)``, as `Finite` has), or a `Cycle` or
        `Mixture` of such.
    states
        All positions of the space, with a leading axis over them.
    law
        The finite law of the ratio's noise: a pair (values, weights), or None where there is none. `product` joins laws
        for ratios with several noises. For a `Cycle` or `Mixture`: a list, one law a kernel.

    Returns
    -------
    numpy.ndarray
        Rows sum to 1. For a kernel that remembers a random estimate the states are pairs: pair ``i * K + k`` is state i
        with the memory made by value k of the law.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, lockstep as ls
    >>> log_pi = np.array([0.0, -0.7, 0.4])
    >>> kernel = ls.standard(lambda state: jnp.asarray(log_pi)[state], ls.Finite(np.full((3, 3), 1 / 3)))
    >>> matrix = ls.check.transition_matrix(kernel, np.arange(3))
    >>> ls.check.stationarity_error(matrix, np.exp(log_pi)) < 1e-15
    True
    """
    return matrix_of(kernel, states, law, "kernel")


def matrix_of(kernel: Any, states: Tree, law: object, name: str) -> np.ndarray:
    """The transition matrix of a kernel that came as the argument of this name."""
    remedy = "of one accept/reject, or a Cycle or Mixture of such"
    given = adopted(kernel, Kernel, name, remedy)
    if given.composed is not None:
        return given.composed(_each(given, states, law, name))
    kernel = given.simple
    if kernel is None:
        raise TypeError(f"{name} must be {remedy}; got {given!r}")
    if kernel.proposal.law is None:
        raise TypeError(
            f"{name} needs a proposal with a method law(position) that enumerates its candidates, such as "
            f"ls.Finite; {kernel.proposal.name} has none"
        )
    if kernel.ratio.correlation is not None:
        raise ValueError(f"{name} has correlated noise, which leaves every finite set; test it by invariance")
    law = as_law(law)
    with double_precision():
        kernel, states = called_back(canonical(kernel, name)), points_of(states, "states")
        key, state = random.seeded(0), one_of(states, 0)
        jax.eval_shape(kernel.proposal.noise, key, state)  # refuses what are no states of its own
        noise = jax.eval_shape(kernel.ratio.noise, key, state)
        if jax.tree.leaves(noise) and not jax.tree.leaves(law.values):
            raise ValueError(f"law has no values, but {name} draws noise; give the finite law of it, (values, weights)")
        with raised_here():
            return _pairs(kernel, states, law) if kernel.is_memory_random else _simple(kernel, states, law)


def _simple(kernel: Kernel, states: Tree, law: Law) -> np.ndarray:
    count = len(jax.tree.leaves(states)[0])
    matrix = np.zeros((count, count))
    for i, j, probability, accepted in _offers(_offer, kernel, states, law):
        if j != i:
            matrix[i, j] += probability * accepted
    matrix[np.diag_indices(count)] += 1 - matrix.sum(axis=1)
    return matrix


def _pairs(kernel: Kernel, states: Tree, law: Law) -> np.ndarray:
    count, values = len(jax.tree.leaves(states)[0]), len(law.weights)
    matrix = np.zeros((count, values, count, values))
    for i, j, probability, accepted in _offers(_offer_to_pairs, kernel, states, law):
        matrix[i, :, j, :] += probability * accepted
    square = matrix.reshape(count * values, count * values)
    square[np.diag_indices(count * values)] += 1 - square.sum(axis=1)
    return square


def _offers(
    offer: Callable[[Any, Law, Any, Any], tuple[Any, Array]], kernel: Any, states: Tree, law: Law
) -> Iterator[tuple[int, int, float, np.ndarray]]:
    """All that may be proposed: from which state to which, how probably, and how probably that is accepted."""
    states = jax.tree.map(np.asarray, states)
    for i in range(len(jax.tree.leaves(states)[0])):
        position = one_of(states, i)
        for noise, probability in zip(*kernel.proposal.law(position), strict=True):
            candidate, accepted = offer(kernel, law, np.asarray(noise), position)
            yield i, _index(candidate, states), probability, np.asarray(accepted)


@jax.jit
def _offer(kernel: Simple, law: Law, noise: Tree, position: Position) -> tuple[Any, Array]:
    """A candidate, and the probability that it is accepted."""
    candidate, log_proposal_ratio = kernel.proposal(noise, position)
    memory = kernel.init(position).memory

    def probability(noise: Tree) -> Array:
        log_ratio, *_ = kernel.ratio(noise, position, memory, candidate, log_proposal_ratio)
        return _accept(log_ratio)

    return candidate, jnp.sum(law.weights * _over_noise(probability, law))


@jax.jit
def _offer_to_pairs(kernel: Simple, law: Law, noise: Tree, position: Position) -> tuple[Any, Array]:
    """A candidate, and the probabilities that it is accepted by each memory with each new one."""
    candidate, log_proposal_ratio = kernel.proposal(noise, position)

    def probability(old_noise: Tree, noise: Tree) -> Array:
        memory = kernel.ratio.init(old_noise, position)
        log_ratio, *_ = kernel.ratio(noise, position, memory, candidate, log_proposal_ratio)
        return _accept(log_ratio)

    accepted = _over_noise(lambda old: _over_noise(lambda new: probability(old, new), law), law)
    return candidate, accepted * law.weights


def _each(kernel: Kernel, states: Tree, law: object, name: str) -> list[np.ndarray]:
    """The transition matrices of the kernels that one is made of."""
    laws = law if isinstance(law, list) else [law] * len(kernel.kernels)
    if len(laws) != len(kernel.kernels):
        raise ValueError(
            f"law is a list of {len(laws)}, but {name} has {len(kernel.kernels)} kernels; give one for each"
        )
    return [matrix_of(k, states, k_law, name) for k, k_law in zip(kernel.kernels, laws, strict=True)]


def stationary(matrix: Array) -> np.ndarray:
    """The stationary probabilities of a transition matrix, whose rows sum to 1."""
    matrix = _stochastic(matrix)
    equations = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    return np.linalg.lstsq(equations, np.eye(len(matrix) + 1)[-1], rcond=None)[0]


def stationarity_error(matrix: Array, weights: Array) -> float:
    """The largest entry of ``abs(π P - π)``, for π proportional to ``weights``."""
    matrix, pi = _with_law(matrix, weights)
    return float(np.max(np.abs(pi @ matrix - pi)))


def balance_error(matrix: Array, weights: Array) -> float:
    """The largest violation of detailed balance, ``abs(π_i P_ij - π_j P_ji)``."""
    matrix, pi = _with_law(matrix, weights)
    flow = pi[:, None] * matrix
    return float(np.max(np.abs(flow - flow.T)))


def total_variation(first: Tree, second: Tree) -> float:
    """The total variation distance of two laws, given by weights."""
    first, second = law_of(first, "first"), law_of(second, "second")
    if first.shape != second.shape:
        raise ValueError(f"first has shape {first.shape} and second {second.shape}; give laws of the same states")
    return float(np.sum(np.abs(first - second)) / 2)


def _with_law(matrix: Array, weights: Array) -> tuple[np.ndarray, np.ndarray]:
    """A transition matrix, and a law of its states."""
    found, pi = _stochastic(matrix), law_of(weights, "weights")
    if pi.shape != found.shape[:1]:
        raise ValueError(f"weights has shape {pi.shape}, but matrix has {len(found)} states; give a weight for each")
    return found, pi


def _stochastic(matrix: Array) -> np.ndarray:
    found = np.asarray(real_numbers(matrix, "matrix"))
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ValueError(f"matrix has shape {found.shape}; it must be square")
    if not np.all(found > -SUM_TOLERANCE) or not np.allclose(found.sum(axis=1), 1, rtol=0, atol=SUM_TOLERANCE):
        sums = found.sum(axis=1)
        raise ValueError(
            f"matrix has rows that sum to {sums.min():.6g} … {sums.max():.6g}; each must be a law, and sum to 1"
        )
    return found


def _accept(log_ratio: Array) -> Array:
    """The probability of acceptance; NaN and plus infinity are refused."""
    return jnp.where(log_ratio < jnp.inf, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0)


def _over_noise(function: Callable[..., Any], law: Law) -> Array:
    if not jax.tree.leaves(law.values):
        return jnp.full(law.weights.shape, function(law.values))
    return jax.vmap(function)(law.values)


def _index(candidate: Position, states: Tree) -> int:
    is_equal = [
        np.all(np.asarray(state) == np.asarray(leaf), axis=tuple(range(1, np.ndim(state))))
        for state, leaf in zip(jax.tree.leaves(states), jax.tree.leaves(candidate), strict=True)
    ]
    where = np.flatnonzero(np.all(is_equal, axis=0))
    if where.size != 1:
        raise ValueError(f"states: the candidate {describe(candidate)} is {where.size} times among them, not once")
    return int(where[0])
