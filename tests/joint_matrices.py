"""The transition matrix of a lagged pair on a finite space, from a kernel's own `move_both`, as exact as sums are.

The noise of the proposal is enumerated by its law, that of the ratio by the finite law of the registry, and the
uniform number by which two chains meet by the intervals on which the coupling of `ls.Finite` is constant. The accept
variable is integrated analytically: both legs share it.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from registry import STATES, Case

from lockstep.check import as_law, transition_matrix
from lockstep.core.kernel import Noise, State
from lockstep.core.precision import canonical, double_precision
from lockstep.kernels.metropolis_hastings import Meeting

MOST = 2**19  # evaluations at once


def proposed(proposal):
    """For each two states: values of noise and of the meeting variable, and their probability; (rows, 5)."""
    rows = []
    matrix = np.asarray(proposal.matrix)
    for i in STATES:
        for j in STATES:
            for noise, chance in zip(*proposal.law(i), strict=True):
                candidate = int((np.cumsum(matrix[i]) / matrix[i].sum() <= noise).sum())
                ends = intervals(matrix[i], matrix[j], candidate)
                for low, high in itertools.pairwise(ends):
                    rows.append((i, j, noise, np.log((low + high) / 2), chance * (high - low)))
    return np.array(rows)


def intervals(here, there, candidate):
    """Where the uniform number by which the second chain chooses makes another choice; of a wrong coupling as well."""
    share = min(1.0, there[candidate] / here[candidate])
    residual = np.cumsum(np.maximum(there - here, 0))
    rest = residual / residual[-1] if residual[-1] > 0 else np.zeros(0)
    whole = share + (1 - share) * np.concatenate([rest, np.cumsum(there)])
    return np.unique(np.concatenate([[0.0, share, 1.0], whole]).clip(0, 1).round(15))


def joint(case: Case, proposal) -> tuple[np.ndarray, np.ndarray]:
    """P̄, from pairs of states to pairs of states, (n, n, n, n), and the matrix P of the kernel alone, (n, n).

    For a kernel that remembers a random estimate, states are those of the position and of what it remembers.
    """
    kernel = case.make(proposal)
    law = as_law(case.law)
    rows = proposed(proposal)
    with double_precision():
        kernel = canonical(kernel, "kernel")
        values = canonical(law.values, "law")
        classes, firsts = remembered(kernel, values, len(law.weights))
        count = len(firsts)  # states, as pairs of position and class
        single = lumped(transition_matrix(kernel, STATES, case.law), classes, firsts, kernel.is_memory_random)
        result = np.zeros((count, count, count, count))
        over_pairs = jax.vmap(_decisions, (None, *[0] * 6, None))
        evaluate = jax.jit(jax.vmap(over_pairs, (None, *[None] * 6, 0), axis_size=len(law.weights)))
        batch, left, right, weights = [], [], [], []
        for a, (i, k) in enumerate(firsts):
            for b, (j, m) in enumerate(firsts):
                for row in rows[(rows[:, 0] == i) & (rows[:, 1] == j)]:
                    batch.append((i, j, k, m, row[2], row[3]))
                    left.append(a), right.append(b), weights.append(row[4])
        batch, left, right, weights = map(np.array, (batch, left, right, weights))
        step = max(1, MOST // len(law.weights))
        for begin in range(0, len(batch), step):
            part = slice(begin, begin + step)
            i, j, k, m = batch[part, :4].T.astype(int)
            memories = jax.tree.map(lambda leaf: leaf[k], values), jax.tree.map(lambda leaf: leaf[m], values)  # noqa: B023
            found = evaluate(kernel, i, j, *memories, batch[part, 4], batch[part, 5], values)
            first, second, log_first, log_second = (
                np.broadcast_to(x, (len(law.weights), len(i))) for x in map(np.asarray, found)
            )
            one, two = (np.where(x < np.inf, np.exp(np.minimum(x, 0)), 0) for x in (log_first, log_second))
            weight = law.weights[:, None] * weights[part]
            noise = np.arange(len(law.weights))[:, None]
            to, too = classes[first, noise], classes[second, noise]
            a, b = np.broadcast_to(left[part], to.shape), np.broadcast_to(right[part], to.shape)
            both = np.minimum(one, two)
            outcomes = (
                (to, too, both),
                (to, b, one - both),
                (a, too, two - both),
                (a, b, 1 - np.maximum(one, two)),
            )
            for left_to, right_to, chance in outcomes:
                share = weight * chance
                if kernel.is_memory_random:
                    np.add.at(result, (a, b, left_to, right_to), share)
                else:  # the states do not depend on the noise: sums of pairs of sums, which round less
                    share = np.ascontiguousarray(share.T).sum(axis=1)
                    np.add.at(result, (a[0], b[0], left_to[0], right_to[0]), share)
    return result, single


def _decisions(kernel, i, j, old_first, old_second, noise, meet, value):
    """The candidates of two chains, and their log ratios: at this accept variable every candidate is taken."""
    ratio = kernel.ratio
    first, second = (State(s, ratio.init(v, s)) for s, v in ((i, old_first), (j, old_second)))
    update = Noise(noise, value, jnp.asarray(-1e300))
    (moved, info), (other, other_info) = kernel.move_both(first, second, update, Meeting(meet, ()))
    return moved.position, other.position, info.log_ratio, other_info.log_ratio


def remembered(kernel, values, count):
    """The class of each value of the noise at each state, numbered over all, and one (state, value) of each class."""
    if not kernel.is_memory_random:
        return np.repeat(STATES[:, None], count, axis=1), [(i, 0) for i in STATES]
    init = jax.vmap(jax.vmap(kernel.ratio.init, in_axes=(0, None)), in_axes=(None, 0))
    # What is remembered may be several numbers, such as those of a screen and of what it screens.
    leaves = jax.tree.leaves(init(values, jnp.asarray(STATES)))
    memory = np.stack([np.broadcast_to(leaf, (len(STATES), count)) for leaf in leaves], axis=2).round(12)
    classes, firsts = np.zeros(memory.shape[:2], int), []
    for i, row in enumerate(memory):
        distinct, first, inverse = np.unique(row, axis=0, return_index=True, return_inverse=True)
        classes[i] = inverse.ravel() + len(firsts)
        firsts += [(i, k) for k in first[: len(distinct)]]
    return classes, firsts


def lumped(matrix, classes, firsts, is_memory_random):
    """The matrix of the kernel alone on the same states."""
    if not is_memory_random:
        return matrix
    values = classes.shape[1]
    rows = matrix[[i * values + k for i, k in firsts]]
    return rows @ np.eye(len(firsts))[classes.ravel()]
