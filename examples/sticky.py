"""Pseudo-marginal chains stick where an estimate came out too large: exact at every variance, but at a price.

The same target, known through estimates of its density whose logarithm has variance 0.2, 2 or 8.

    python examples/sticky.py [folder]
"""

from __future__ import annotations

import arviz_stats
import figures
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls

VARIANCES = (0.2, 2.0, 8.0)
SHOWN = 1000


def kernel(variance: float):
    """Log weights N(-v/2, v): e to them has mean 1, so the method is exact at every variance."""

    def log_estimate(z, theta):
        return -0.5 * theta**2 + jnp.sqrt(variance) * z - variance / 2

    return ls.pseudo_marginal(log_estimate, ls.RandomWalk(2.4), draw=lambda key: jr.normal(key))


def main() -> None:
    figure, axes = figures.panels(len(VARIANCES), 1, (8.0, 5.4), sharex=True, sharey=True)
    for one, variance in zip(axes, VARIANCES, strict=True):
        run = ls.sample(kernel(variance), lambda key: jr.normal(key), draws=20_000, chains=8, seed=1)
        effective = arviz_stats.ess(run.positions) / run.positions.size
        stays = np.diff(np.flatnonzero(np.append(run.info.is_accepted[0], True)), prepend=0).max()
        text = f"variance {variance:g}: acceptance {run.acceptance:.2f}, effective share {effective:.1%}"
        print(f"{text}, standard deviation {run.positions.std():.3f}, longest stay of a chain {stays}")
        one.plot(run.positions[0, :SHOWN], color=figures.BLUE, linewidth=0.9)
        one.set_title(text, loc="left", fontsize=10)
        one.set(ylabel="θ")
    axes[-1].set(xlabel="update")
    figures.save(figure, "sticky")


if __name__ == "__main__":
    main()
