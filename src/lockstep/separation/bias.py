"""How far posterior means are off, measured by a coupled pair of chains."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from lockstep.chains.outcome import completed
from lockstep.chains.prepare import make_task
from lockstep.chains.session import run_chains
from lockstep.core.arguments import MOST_SEED, require_run, whole
from lockstep.core.precision import double_precision
from lockstep.core.sampled import Sampled
from lockstep.core.types import Position
from lockstep.coupling.common_noise import Coupled
from lockstep.coupling.maximal import MaximallyCoupled
from lockstep.coupling.names import named_arrays
from lockstep.coupling.pair import Pair
from lockstep.estimators.combinations import two_sided
from lockstep.estimators.samples import with_count
from lockstep.host.functions import Function, wrapped
from lockstep.kernels import corrected
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.separation.predict import replicates_of
from lockstep.separation.summary import mean_and_error
from lockstep.separation.trust import asymmetry_of
from lockstep.starts.start import Starts

TIMES = 4
FEWEST_DRAWS = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Bias:
    """How far one posterior mean is off, beside the Monte Carlo standard error of the run's own mean."""

    name: str
    bias: float
    bias_se: float
    monte_carlo_error: float

    @property
    def is_lost(self) -> bool:
        """Whether the Monte Carlo error is larger than the bias can be."""
        return abs(self.bias) + 2 * self.bias_se < self.monte_carlo_error

    def __str__(self) -> str:
        return (
            f"{self.name}: bias {self.bias:.2g} ± {self.bias_se:.1g}, Monte Carlo error {self.monte_carlo_error:.2g}"
            + (" (the bias does not matter here)" if self.is_lost else "")
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Biases:
    """The biases of several posterior means, by name; ``updates`` is how many the coupled pair took."""

    of: dict[str, Bias]
    reference: Any
    updates: int

    def __getitem__(self, name: str) -> Bias:
        return self.of[name]

    def __iter__(self) -> Iterator[Bias]:
        return iter(self.of.values())

    def __len__(self) -> int:
        return len(self.of)

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name."""
        return {name: dataclasses.asdict(bias) for name, bias in self.of.items()}

    def __repr__(self) -> str:
        head = f"Biases by {self.updates:,} coupled updates against {self.reference.ratio.rule.name}"
        return "\n".join([head, *(f"  {bias}" for bias in self)])


def bias(
    run: Sampled, functions: Any = None, times: int = TIMES, draws: int | None = None, seed: int | None = None
) -> Biases:
    """Measure how far the posterior means of an approximate kernel are off.

    Two chains are coupled: the run's kernel, and `ls.corrected` with ``times`` as many samples (over
    `ls.estimators.two_sided` if the variance differs by direction). The average difference along the pair estimates the
    bias; chains that stay together most of the time make it precise. Their proposals are coupled maximally, so that
    chains that have separated meet again.

    Parameters
    ----------
    run
        From `ls.sample`, of an approximate kernel such as `ls.naive`.
    functions
        Whose posterior means: a function of a position, a dict of these by name, or None for the components themselves.
        They return a number or an array.
    times
        How many times the samples of the run's estimator the reference takes.
    draws
        Updates of each of the run's chains; by default as many as cost about as much as the run.
    seed
        Of the coupled chains; by default it follows from that of the run.

    Returns
    -------
    Biases
        For each mean ``bias``, ``bias_se`` and the ``monte_carlo_error`` of the run.

    Notes
    -----
    The reference has a bias of its own, smaller by its order in the number of samples.
    """
    require_run(run)
    kernel = run.kernel
    if not isinstance(kernel, MetropolisHastings) or kernel.ratio.rule is None or kernel.ratio.estimator is None:
        raise TypeError(f"run has the kernel {kernel!r}; bias needs one such as ls.naive(estimator, proposal)")
    reference = reference_of(run, kernel, whole(times, "times", 2))
    updates = run.draws * run.thin
    draws = max(FEWEST_DRAWS, updates // (1 + times)) if draws is None else whole(draws, "draws", 2)
    couple = Coupled if kernel.proposal.is_independent or kernel.cannot_meet else MaximallyCoupled
    last = jax.tree.map(lambda leaf: np.asarray(leaf)[:, -1], run.walked)
    seed = (run.seed + 7) % 2**31 if seed is None else whole(seed, "seed", 0, MOST_SEED)
    starts = Starts(Pair(last, last), is_walked=True)
    task = make_task(couple(kernel, reference), starts, draws, run.chains, seed, draws // 5)
    both = completed(task, run_chains(task, progress=False))
    means = _means(functions)
    shown = (lambda walked: walked) if run.shown is None else run.shown.all_values
    ours, theirs, own = (means(positions) for positions in (*map(shown, both.positions), run.positions))
    found = {
        name: Bias(name, *mean_and_error(ours[name] - theirs[name]), mean_and_error(own[name])[1]) for name in ours
    }
    return Biases(found, reference, draws * run.chains)


def reference_of(run: Sampled, kernel: MetropolisHastings, times: int) -> MetropolisHastings:
    """The corrected kernel with more samples, two-sided if the variance differs by direction."""
    estimator = kernel.ratio.estimator
    assert estimator is not None  # who calls this has made sure
    more = with_count(estimator, times * estimator.count)
    if estimator.sides == 1 and asymmetry_of(*replicates_of(run, kernel)):
        more = two_sided(more)
    return corrected(more, kernel.proposal)


def _means(functions: Any) -> Callable[[Any], dict[str, np.ndarray]]:
    """From positions of shape (chains, draws, …) to named arrays (chains, draws), one for each mean."""
    if functions is not None and not callable(functions) and not isinstance(functions, dict):
        raise TypeError(f"functions is {functions!r}; give a function of a position, or a dict of functions by name")
    given = {"function": functions} if callable(functions) else functions
    if given is not None:
        given = {name: wrapped(Function, function, "each of the functions") for name, function in given.items()}

    def evaluate(positions: Position) -> dict[str, np.ndarray]:
        with double_precision():
            values = positions if given is None else {n: jax.vmap(jax.vmap(f))(positions) for n, f in given.items()}
        named: dict[str, np.ndarray] = {}
        for name, array in named_arrays(values).items():
            flat = np.asarray(array, float).reshape(*array.shape[:2], -1)
            single = array.ndim == 2
            named |= {name if single else f"{name}[{i}]": flat[:, :, i] for i in range(flat.shape[2])}
        return named

    return evaluate
