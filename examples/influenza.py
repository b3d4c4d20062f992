"""Influenza in a boarding school: a stochastic epidemic with binomial leaps, its R₀, hidden paths and a forecast.

The numbers of boys in bed on fourteen days of January and February 1978, of 763 (British Medical Journal, 4 March 1978,
page 587).

    python examples/influenza.py [folder]
"""

from __future__ import annotations

import figures
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np

import lockstep as ls

IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4])
BOYS = 763
STEPS = 4  # leaps a day
DAYS = np.arange(1, 15)
SEEN = 6  # days that the forecast knows


def initial(noise, theta):
    return {"susceptible": BOYS - 1, "infected": 1}


def transition(noise, state, theta, t):
    """A leap of a quarter of a day: infections and recoveries are binomial numbers."""
    force = jnp.exp(theta["log_beta"]) * state["infected"] / BOYS / STEPS
    infections = ls.models.leaps.binomial(noise[0], state["susceptible"], -jnp.expm1(-force))
    recovery = -jnp.expm1(-jnp.exp(theta["log_gamma"]) / STEPS)
    recoveries = ls.models.leaps.binomial(noise[1], state["infected"], recovery)
    return {
        "susceptible": state["susceptible"] - infections,
        "infected": state["infected"] + infections - recoveries,
    }


def log_observation(theta, state, y, t):
    """Counts are Poisson numbers around the infected (and 0.1, so that no count is impossible)."""
    return jst.poisson.logpmf(y, state["infected"] + 0.1)


def log_prior(theta):
    return jst.norm.logpdf(theta["log_beta"], 0.5, 1.0) + jst.norm.logpdf(theta["log_gamma"], -0.7, 1.0)


MODEL = ls.models.StateSpace(
    initial,
    transition,
    log_observation,
    draw=lambda key, count: jr.uniform(key, (count, 2)),
    observe=lambda key, state, theta, t: jr.poisson(key, state["infected"] + 0.1),
)
START = {"log_beta": 0.6, "log_gamma": -0.8}
WALK = ls.RandomWalk({"log_beta": 0.08, "log_gamma": 0.08})


def run_of(days: int, draws: int = 600) -> ls.Run:
    """The posterior of the first days."""
    kernel = ls.particle_marginal(
        log_prior, MODEL, IN_BED[:days], WALK, particles=200, times=STEPS * DAYS[:days], paths=True
    )
    return ls.sample(kernel, START, draws=draws, chains=4, seed=1, warmup=300, adapt=True)


def main() -> None:
    figure, axes = figures.panels(1, 2, (9.0, 3.8), sharey=True)
    run = run_of(len(DAYS))
    r0 = np.exp(run.positions["log_beta"] - run.positions["log_gamma"])
    print(run.summary())
    print(f"R0: mean {r0.mean():.2f}, 95 % {np.quantile(r0, 0.025):.2f} to {np.quantile(r0, 0.975):.2f}")
    infected = run.paths["infected"].reshape(-1, run.paths["infected"].shape[-1])
    band(axes[0], np.arange(infected.shape[1]) / STEPS, infected, figures.BLUE, "hidden infected, 90 %")
    axes[0].set_title(f"fourteen days: R₀ = {r0.mean():.1f} ± {r0.std():.1f}", fontsize=11)

    early = run_of(SEEN)
    future = early.forecast(STEPS * (len(DAYS) - SEEN))
    known = early.paths["infected"].reshape(-1, early.paths["infected"].shape[-1])
    ahead = future.data.reshape(-1, future.data.shape[-1])[:, STEPS - 1 :: STEPS]
    band(axes[1], np.arange(known.shape[1]) / STEPS, known, figures.BLUE, "hidden infected, 90 %")
    band(axes[1], DAYS[SEEN:], ahead, figures.ORANGE, "forecast of the counts, 90 %")
    axes[1].set_title(f"the first {SEEN} days, and what they foretell", fontsize=11)
    low, high = np.quantile(ahead, [0.05, 0.95], axis=0)
    print(
        "later counts inside the band:", int(np.sum((low <= IN_BED[SEEN:]) & (IN_BED[SEEN:] <= high))), "of", 14 - SEEN
    )
    for one in axes:
        one.plot(DAYS, IN_BED, "o", color=figures.BLACK, markersize=4, label="boys in bed")
        one.set(xlabel="day", ylim=(0, 560))  # room for the legend above what is shown
        one.legend(frameon=False, fontsize=8, loc="upper right")
    axes[0].set(ylabel="boys")
    figures.save(figure, "influenza")


def band(axis, days, draws, colour, label) -> None:
    low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95], axis=0)
    axis.fill_between(days, low, high, color=colour, alpha=0.3, linewidth=0, label=label)
    axis.plot(days, middle, color=colour, linewidth=1.4)


if __name__ == "__main__":
    main()
