"""Peskun's order of a randomized chain and its standard chain, and the paper's condition for minorization."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.check.balance import randomized_of
from lockstep.check.finding import Finding
from lockstep.check.law import as_law
from lockstep.check.matrix import matrix_of, stationary
from lockstep.check.points import draws_of, pairs_of, tolerance_of
from lockstep.core import random
from lockstep.core.arguments import real_numbers
from lockstep.core.kernel import Kernel
from lockstep.core.precision import canonical, double_precision
from lockstep.core.trees import describe, one_of
from lockstep.core.types import Array, Position, Tree


def asymptotic_variance(matrix: Array, function: Any) -> float:
    """The asymptotic variance of averages of a function along a chain, by the fundamental matrix.

    With Z = (I - P + 1π)⁻¹ and f centred: ⟨f, (2Z - I) f⟩_π.
    """
    pi, values = stationary(matrix), real_numbers(function, "function")
    matrix = np.asarray(matrix, float)
    if values.shape != pi.shape:
        raise ValueError(f"function has shape {values.shape}, but matrix has {len(pi)} states; give its value at each")
    f = values - pi @ values
    fundamental = np.linalg.inv(np.eye(len(pi)) - matrix + pi[None, :])
    return float((pi * f) @ (2 * fundamental @ f - f))


def peskun(
    kernel: Any, standard: Any, states: Tree, law: Any = None, functions: Any = None, tolerance: float = 1e-12
) -> Finding:
    """Whether a randomized chain stands below its standard chain on a finite space, as the paper's Appendix A says.

    That is ``α_ξ(θ, θ') ≤ α(θ, θ')`` for every pair, and so a larger asymptotic variance for every function.

    Parameters
    ----------
    kernel, standard
        The randomized kernel, and the standard kernel with the same proposal and target.
    states, law
        As in `transition_matrix`.
    functions
        Functions on the states, one a row; by default the indicator of each state.
    tolerance
        For rounding.
    """
    tolerance = tolerance_of(tolerance)
    below, above = matrix_of(kernel, states, law, "kernel"), matrix_of(standard, states, None, "standard")
    count = len(above)
    excess = (below - above)[~np.eye(count, dtype=bool)]
    rows = np.eye(count) if functions is None else np.atleast_2d(real_numbers(functions, "functions"))
    if rows.shape[1:] != (count,):
        raise ValueError(f"functions has shape {rows.shape}, but there are {count} states; give a row a function")
    variances = np.array([[asymptotic_variance(m, row) for m in (above, below)] for row in rows])
    gains = variances[:, 0] - variances[:, 1]
    residual = float(max(excess.max(), gains.max()))
    ratios = variances[:, 1] / variances[:, 0]
    is_ok = bool(excess.max() <= tolerance and gains.max() <= tolerance * max(1.0, variances.max()))
    sentence = (
        f"every move is at most as likely as in the standard chain, and asymptotic variances are "
        f"{ratios.min():.3f} to {ratios.max():.3f} times as large"
        if is_ok
        else f"a move is more likely than in the standard chain by {excess.max():.3g}, or a variance smaller by "
        f"{gains.max():.3g}: this is no randomization of that chain"
    )
    return Finding(is_ok, sentence, residual, None, {"variances": variances})


def minorization(
    kernel: Kernel,
    positions: Position,
    candidates: Position,
    law: object = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> Finding:
    """The ε of the paper's condition, ``Pr(ξ(f(X); θ', θ)/ξ(X; θ, θ') |f'(X)| ≥ 1) ≥ ε``, over given pairs.

    If ε > 0 holds everywhere, the randomized chain inherits irreducibility and minorization from the standard one:
    P_ξ ≥ ε P. The smallest probability over the pairs given is ``values["epsilon"]``. The ξ are densities: of a
    kernel with auxiliary data the likelihood must be normalised for this check, though not for sampling.

    Parameters
    ----------
    kernel
        With a `Randomized` ratio.
    positions, candidates
        Pairs, with a leading axis over them; both directions are looked at.
    law
        The finite law of the randomization's noise, for an exact answer; None: Monte Carlo.
    replicates, seed
        Of the Monte Carlo estimate.
    """
    randomized = randomized_of(kernel, "minorization")
    replicates, seed = draws_of(replicates, seed)
    with double_precision():
        simple = canonical(randomized, "kernel")
        points, others = pairs_of(positions, candidates)
        here, there = (
            jax.tree.map(lambda a, b: jnp.concatenate([a, b]), *p) for p in ((points, others), (others, points))
        )
        randomization = simple.ratio.randomization
        if law is None:
            noise = randomization.noise(random.seeded(seed), one_of(here, 0), (replicates,))
            weights = np.ones(replicates)  # counts, whose sum is exact in any order
        else:
            noise, weights = as_law(law)
            noise = jax.tree.map(jnp.asarray, noise)

        def share(position: Position, candidate: Position) -> Any:
            def log_weight(noise: Tree) -> Any:
                return randomization.log_weight(randomization.sample(noise, position, candidate), position, candidate)

            return jnp.sum(weights * (jax.vmap(log_weight)(noise) >= 0)) / np.sum(weights)

        shares = np.asarray(jax.jit(jax.vmap(share))(here, there))
    worst = int(np.argmin(shares))
    epsilon = min(float(shares[worst]), 1.0)
    error = 0.0 if law is not None else float(np.sqrt(epsilon * (1 - epsilon) / replicates))
    where = {"position": one_of(here, worst), "candidate": one_of(there, worst)}
    place = f"at θ = {describe(where['position'])}, θ' = {describe(where['candidate'])}"
    sentence = f"ε = {epsilon:.4g}" + (f" ± {error:.1g}" if error else "") + f", smallest {place}"
    if not epsilon > 0:
        sentence += "; no ε > 0 was found: the condition may fail there"
    if randomization.is_density_when is not None:
        sentence += f" (which holds only if {randomization.is_density_when})"
    return Finding(
        epsilon > 0, sentence, 1 - epsilon, where, {"epsilon": epsilon, "epsilon_se": error, "shares": shares}
    )
