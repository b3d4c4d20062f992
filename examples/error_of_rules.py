"""How far the equilibrium of each rule is from the target, against the number of samples, without running a chain.

On five states the transition matrix of a kernel is added up over a law of its noise. Two estimators: one whose noise is
biased and skewed (the paper's), and the log of an unbiased ratio, for which a penalty does harm.

    python examples/error_of_rules.py [folder]
"""

from __future__ import annotations

import figures
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls

LOG_TARGET = np.array([0.0, -0.7, 0.4, -1.5, 0.9])
COUNTS = (4, 8, 16, 32)
NOISES = 2**18
PROPOSAL = ls.Finite((np.ones((5, 5)) - np.eye(5)) / 4)
RULES = {
    "naive": (ls.naive, figures.ORANGE, 9),
    "penalty": (ls.penalty, figures.PURPLE, 5),
    "corrected": (ls.corrected, figures.GREEN, 5),
}


def log_ratio(position, candidate):
    return jnp.asarray(LOG_TARGET)[candidate] - jnp.asarray(LOG_TARGET)[position]


ESTIMATORS = {
    "D − 1 + 1/average of exponentials": (
        lambda average, position, candidate: log_ratio(position, candidate) - 1 + 1 / average,
        lambda key, count: jr.exponential(key, (count,)),
    ),
    "log of an average of lognormal weights": (
        lambda average, position, candidate: log_ratio(position, candidate) + jnp.log(average),
        lambda key, count: jnp.exp(jr.normal(key, (count,)) - 0.5),
    ),
}


def errors(combine, draw) -> dict[str, list[float]]:
    """Total variation between equilibrium and target, by rule, for each number of samples."""
    target = np.exp(LOG_TARGET) / np.exp(LOG_TARGET).sum()
    found: dict[str, list[float]] = {rule: [] for rule in RULES}
    for count in COUNTS:
        estimator = ls.estimators.smooth(None, combine, count, draw=draw)
        # The same noise for all rules: their differences are known better than each of them.
        noise = jax.jit(lambda key, estimator=estimator: estimator.noise(key, 0, (NOISES,)))(jr.key(count))
        law = ls.check.Law(jax.tree.map(np.asarray, noise), np.full(NOISES, 1 / NOISES))
        for rule, (make, _, _) in RULES.items():
            matrix = ls.check.transition_matrix(make(estimator, PROPOSAL), np.arange(5), law)
            found[rule].append(ls.check.total_variation(ls.check.stationary(matrix), target))
    return found


def main() -> None:
    figure, axes = figures.panels(1, 2, (9.0, 4.0), sharey=True)
    for one, (name, parts) in zip(axes, ESTIMATORS.items(), strict=True):
        found = errors(*parts)
        for rule, (_, colour, size) in RULES.items():
            one.plot(COUNTS, found[rule], "o-", color=colour, markersize=size, linewidth=size / 3, label=rule)
            print(f"{name}, {rule}: " + ", ".join(f"{value:.5f}" for value in found[rule]))
        one.set(xscale="log", yscale="log", xlabel="samples in an estimate, m")
        one.set_xticks(COUNTS, [str(m) for m in COUNTS])
        one.minorticks_off()
        one.set_title(name, loc="left", fontsize=10)
    axes[0].set(ylabel="total variation from the target")
    axes[1].legend(frameon=False)
    figures.save(figure, "error_of_rules")


if __name__ == "__main__":
    main()
