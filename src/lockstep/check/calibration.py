"""Simulation-based calibration: the whole way from the prior over simulated data to the draws of a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.check.finding import Finding
from lockstep.core import random
from lockstep.core.arguments import MOST_SEED, is_number, whole
from lockstep.core.kernel import Kernel
from lockstep.core.precision import double_precision
from lockstep.core.shown import Shown
from lockstep.core.types import Key
from lockstep.host.boxes import is_box
from lockstep.host.functions import Function, as_function
from lockstep.host.generator import RandomKey
from lockstep.parameters.keywords import by_name
from lockstep.sampling.sample import sample

REFERENCES = 20_000  # sets of uniform ranks, by which the statistic is judged
BINS = 8


def calibration(
    parameters: Any,
    simulate: Callable[..., Any],
    make: Callable[..., Any],
    replicates: int = 200,
    draws: int = 31,
    thin: int = 10,
    false_alarms: float = 1e-3,
    seed: int = 0,
) -> Finding:
    """Whether draws are from the posterior, for parameters from the prior and data simulated at them.

    In each replicate values θ come from the prior, data from ``simulate`` at θ, and draws from the kernel for these
    data. Then θ and the draws are exchangeable, so that the rank of θ among them is uniform. Two chains begin at θ, and
    a random number of the draws comes from the first: for a reversible kernel that remembers nothing random the ranks
    are uniform exactly, however slowly it mixes (Besag and Clifford, 1989), and ``false_alarms`` is exact. Others need
    a ``thin`` over which they forget where they began.

    Parameters
    ----------
    parameters
        `ls.Parameters` with priors that can be drawn from.
    simulate
        ``simulate(key, theta)`` makes a data set; or a black box, ``simulate(rng, theta)``.
    make
        ``make(data)`` returns the kernel for the likelihood of these data, or for their posterior. A compiled kernel is
        compiled once for all data if its functions are the same, and the data an argument:
        ``jax.tree_util.Partial(log_likelihood, data)``.
    replicates
        How many data sets.
    draws, thin
        How many draws of each, and how many updates for each of them: enough that the chain moves on.
    false_alarms
        How often a right kernel may be called wrong.
    seed
        Of everything.

    Returns
    -------
    Finding
        ``residual`` is the probability that a right kernel looks so bad; ``worst`` the parameter; ``values`` has the
        ``ranks`` of each.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018), arXiv:1804.06788.
    """
    if not isinstance(parameters, Shown) or parameters.draw is None:
        raise TypeError(f"parameters is {parameters!r}; it must be ls.Parameters, with priors to draw from")
    _require_maker(make)
    replicates, draws = whole(replicates, "replicates", 20), whole(draws, "draws", BINS - 1)
    thin, seed = whole(thin, "thin", 1), whole(seed, "seed", 0, MOST_SEED)
    if not is_number(false_alarms) or not 1e-4 <= false_alarms < 1:
        raise ValueError(f"false_alarms is {false_alarms!r}; it must be a number from 0.0001 to 1")
    simulator = by_name(Function(simulate, "simulate"), parameters.names)  # type: ignore[attr-defined]
    rng = np.random.default_rng(seed)
    found: dict[str, list[np.ndarray]] = {}
    for key in random.split(random.seeded(seed), replicates):
        for name, rank in _ranks(parameters, simulator, make, key, draws, thin, rng).items():
            found.setdefault(name, []).append(rank)
    ranks = {name: np.array(values) for name, values in found.items()}
    columns = {
        f"{name}{list(index) if index else ''}": values[(slice(None), *index)]
        for name, values in ranks.items()
        for index in np.ndindex(values.shape[1:])
    }
    references = _statistic(rng.integers(0, draws + 1, size=(REFERENCES, replicates)), draws)
    seen = {name: _statistic(one[None], draws)[0] for name, one in columns.items()}
    chances = {name: (1 + np.sum(references >= one)) / (1 + REFERENCES) for name, one in seen.items()}
    worst = min(chances, key=chances.__getitem__)
    # Of several parameters the least counts, as many times.
    chance = min(1.0, float(chances[worst]) * len(chances))
    is_ok = chance > false_alarms
    sentence = (
        f"the ranks of {replicates} draws from the prior are uniform, as far as they tell (p = {chance:.2g})"
        if is_ok
        else f"the ranks of {worst} are not uniform over {replicates} data sets (p = {chance:.2g}): prior, simulator "
        f"and kernel do not fit together"
    )
    return Finding(is_ok, sentence, chance, worst, {"ranks": columns})


def _require_maker(make: Callable[..., Any]) -> None:
    """Refuse what is no function of one data set."""
    as_function(make, "make")
    try:
        inspect.signature(make).bind(None)
    except TypeError as error:
        raise TypeError(f"make is {make!r}; it must take one data set and return a kernel ({error})") from None


def _ranks(
    parameters: Any,
    simulate: Function,
    make: Callable[..., Any],
    key: Key,
    draws: int,
    thin: int,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """The ranks of values from the prior among the draws for data simulated there."""
    with double_precision():
        key_values, key_data = jr.split(key)
        truth = jax.tree.map(np.asarray, parameters.draw(key_values))
        given = RandomKey(np.asarray(jr.key_data(key_data))) if is_box(simulate.function) else key_data
        data = jax.tree.map(np.asarray, simulate(given, truth))
    kernel = make(data)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"make returned {kernel!r}; it must return a kernel for the likelihood of the data")
    kernel = kernel if kernel.shown is not None else parameters.posterior(kernel)
    number = int(rng.integers(2**31))
    run = sample(kernel, truth, draws=draws, chains=2, thin=thin, seed=number, progress=False)
    cut = int(rng.integers(draws + 1))
    ranks = {}
    for name, values in run.positions.items():
        taken = np.concatenate([values[0, :cut], values[1, : draws - cut]])
        below, same = (taken < truth[name]).sum(axis=0), (taken == truth[name]).sum(axis=0)
        ranks[name] = below + rng.integers(0, same + 1)  # what equals the truth stands on either side of it
    return ranks


def _statistic(ranks: np.ndarray, draws: int) -> np.ndarray:
    """How uneven ranks are: chi-squared over bins of equal size, as far as draws + 1 can be divided so."""
    bins = ranks * BINS // (draws + 1)
    counts = np.stack([(bins == one).sum(axis=1) for one in range(BINS)], axis=1)
    sizes = np.bincount(np.arange(draws + 1) * BINS // (draws + 1), minlength=BINS) / (draws + 1) * ranks.shape[1]
    return np.asarray(((counts - sizes) ** 2 / sizes).sum(axis=1))
