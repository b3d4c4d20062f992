"""A picture under noise: its pixels, their attraction and the noise, from one noisy picture.

The pixels x = ±1 are an Ising field with unknown attraction θ; what is seen is y = x + noise of unknown size. Three
kernels in turn leave the posterior of all three alone: a heat-bath sweep over the pixels given y; an exchange for θ, in
which the pixels of the moment are the data; and a step for the noise. Each is made of parts that are there.

    python examples/restoration.py [folder]
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from figures import BLUE, ORANGE, panels, save

import lockstep as ls

SIDE, TRUTH, NOISE = 32, 0.42, 1.0


@ls.part
class Sweep:
    """A heat-bath sweep over the hidden pixels: an Ising field in the field y/noise² that the noisy pixels make."""

    noisy: Any
    exact_when = "always"
    is_memory_random = False

    def noise(self, key, position, shape=()):
        return ls.models.Ising(self.noisy.shape).heat_bath(0.0).noise(key, position["field"], shape)

    def init(self, position, key=None):
        return ls.State(position, ())

    def move(self, state, noise):
        position = state.position
        model = ls.models.Ising(self.noisy.shape, field=self.noisy * jnp.exp(-2 * position["log_noise"]))
        moved, _ = model.heat_bath(position["theta"]).move(ls.State(position["field"], ()), noise)
        return ls.State(position | {"field": moved.position}, ()), ls.Info(np.True_, 0.0, np.True_)


def restoration(noisy, log_prior, steps=(0.03, 0.05)) -> ls.Cycle:
    """The kernel on positions ``{"field": …, "theta": …, "log_noise": …}``."""
    model = ls.models.Ising(noisy.shape)

    def log_joint(position):
        x, log_noise = position["field"], position["log_noise"]
        misfit = jnp.sum((noisy - x) ** 2) * jnp.exp(-2 * log_noise) / 2 + noisy.size * log_noise
        return log_prior(position) + model.log_likelihood(position["theta"], x) - misfit

    # The exchange of constants is that of ls.exchange; the density under it has the pixels in the place of data.
    attraction = ls.Component("theta", ls.RandomWalk(steps[0]))
    exchange = ls.exchange(
        log_prior,
        lambda position, x: model.log_likelihood(position["theta"], x),
        lambda key, position: model.simulate(key, position["theta"]),
        np.ones(noisy.shape, np.int8),  # what simulated data look like
        attraction,
    )
    exact = ls.standard(log_joint, attraction)
    theta = ls.MetropolisHastings(attraction, ls.Randomized(exact.ratio, exchange.ratio.randomization))
    noise = ls.standard(log_joint, ls.Component("log_noise", ls.RandomWalk(steps[1])))
    return ls.Cycle([Sweep(jnp.asarray(noisy)), theta, noise])


def log_prior(position):
    is_inside = (position["theta"] >= 0) & (position["theta"] <= 1)
    return jnp.where(is_inside, 0.0, -jnp.inf) - position["log_noise"] ** 2 / 2


def start(noisy):
    return {"field": np.where(noisy > 0, 1, -1).astype(np.int8), "theta": 0.3, "log_noise": 0.0}


def main(draws: int = 2_400, chains: int = 4) -> None:
    key_picture, key_noise = jax.random.split(jax.random.key(5))
    picture = np.asarray(ls.models.Ising((SIDE, SIDE)).simulate(key_picture, TRUTH))
    noisy = picture + NOISE * np.asarray(jax.random.normal(key_noise, picture.shape))
    kernel = restoration(noisy, log_prior)
    run = ls.sample(kernel, start(noisy), draws=draws, chains=chains, warmup=100, seed=0)
    up = (run.positions["field"] == 1).mean(axis=(0, 1))
    wrong = [np.mean(np.where(guess > 0, 1, -1) != picture) for guess in (noisy, up - 0.5)]
    theta, noise = run.positions["theta"], np.exp(run.positions["log_noise"])
    print(f"pixels wrong: {wrong[0]:.1%} by the sign of each, {wrong[1]:.1%} by the posterior")
    print(f"attraction {theta.mean():.3f} ± {theta.std():.3f} (truth {TRUTH})")
    print(f"noise      {noise.mean():.3f} ± {noise.std():.3f} (truth {NOISE})")
    figure, axes = panels(1, 5, size=(13.0, 3.0), width_ratios=(1, 1, 1, 1.1, 1.1))
    pictures = (picture, "hidden"), (noisy, "seen"), (up, "probability of white")
    for one, (image, title) in zip(axes, pictures, strict=False):
        one.imshow(image, cmap="gray", vmin=0 if image is up else -1.5, vmax=1 if image is up else 1.5)
        one.set(title=title, xticks=[], yticks=[])
        one.spines[:].set_visible(False)
    for one, values, truth, name in (
        (axes[3], theta, TRUTH, "attraction θ"),
        (axes[4], noise, NOISE, "size of the noise"),
    ):
        one.hist(values.ravel(), 25, density=True, color=BLUE)
        one.axvline(truth, color=ORANGE, linestyle="--", linewidth=2, label="truth")
        one.set(xlabel=name, ylabel="posterior density")
        one.legend(frameon=False)
    save(figure, "restoration")


if __name__ == "__main__":
    main()
