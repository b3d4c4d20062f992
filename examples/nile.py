"""The Nile's annual flow, 1871–1970: a local level model, filtered by particles and by Kalman's recursion.

python examples/nile.py [folder]
"""

from __future__ import annotations

import figures
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np

import lockstep as ls

# Flow at Aswan in 10⁸ m³ (Cobb 1978, Biometrika 65; the data set `Nile` of R, `nile` of statsmodels).
# fmt: off
FLOW = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
    831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
], float)
# fmt: on
YEARS = np.arange(1871, 1971)
LEVEL, SPREAD = 1000.0, 300.0  # of the level in 1871, before its flow is known

MODEL = ls.models.StateSpace(
    initial=lambda z, theta: LEVEL + SPREAD * z,
    transition=lambda z, level, theta, t: level + jnp.exp(theta["log_step"]) * z,
    log_observation=lambda theta, level, y, t: jst.norm.logpdf(y, level, jnp.exp(theta["log_noise"])),
    draw=lambda key, count: jr.normal(key, (count,)),
    observe=lambda key, level, theta, t: level + jnp.exp(theta["log_noise"]) * jr.normal(key),
)


def log_prior(theta):
    return jst.norm.logpdf(theta["log_step"], 3.5, 1.0) + jst.norm.logpdf(theta["log_noise"], 4.8, 0.5)


def kalman(log_step, log_noise):
    """The exact log likelihood, for arrays of parameters."""
    mean, variance, total = LEVEL, SPREAD**2, 0.0
    for year, y in enumerate(FLOW):
        variance = variance + (np.exp(2 * log_step) if year else 0.0)
        whole = variance + np.exp(2 * log_noise)
        total = total - 0.5 * (np.log(2 * np.pi * whole) + (y - mean) ** 2 / whole)
        gain = variance / whole
        mean, variance = mean + gain * (y - mean), (1 - gain) * variance
    return total


def exact():
    """Means and standard deviations of the posterior, on a grid."""
    step, noise = np.meshgrid(np.linspace(0.5, 6.0, 300), np.linspace(4.0, 5.6, 300), indexing="ij")
    log_density = kalman(step, noise) - 0.5 * (step - 3.5) ** 2 - 0.5 * ((noise - 4.8) / 0.5) ** 2
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    means = {"log_step": (weights * step).sum(), "log_noise": (weights * noise).sum()}
    spreads = {
        name: np.sqrt((weights * (values - means[name]) ** 2).sum())
        for name, values in (("log_step", step), ("log_noise", noise))
    }
    return means, spreads


def main() -> None:
    walk = ls.RandomWalk({"log_step": 0.7, "log_noise": 0.12})
    kernel = ls.particle_marginal(log_prior, MODEL, FLOW, walk, particles=400, paths=True)
    run = ls.sample(kernel, {"log_step": 3.5, "log_noise": 4.8}, draws=3000, chains=4, seed=1, warmup=200)
    print(run.summary())
    means, spreads = exact()
    for name in means:
        print(f"{name}: exact {means[name]:.3f} ± {spreads[name]:.3f}")
    figure, axes = figures.panels(1, 2, (9.0, 3.6), width_ratios=[2.2, 1.0])
    future = run.forecast(10)
    levels = np.concatenate([run.paths, future.states], axis=2).reshape(-1, 110)
    low, middle, high = np.quantile(levels, [0.05, 0.5, 0.95], axis=0)
    years = np.arange(1871, 1981)
    axes[0].fill_between(years, low, high, color=figures.BLUE, alpha=0.3, linewidth=0, label="level, 90 %")
    axes[0].plot(years, middle, color=figures.BLUE, linewidth=1.5)
    axes[0].axvline(1970.5, color="0.5", linewidth=0.8, linestyle=":")
    axes[0].plot(YEARS, FLOW, ".", color=figures.BLACK, markersize=4, label="annual flow")
    axes[0].set(xlabel="year", ylabel="flow, 10⁸ m³")
    axes[0].legend(frameon=False, fontsize=9)
    grid = np.linspace(1.0, 5.5, 120)
    noise = np.linspace(4.3, 5.3, 120)
    densities = np.exp(
        kalman(grid[:, None], noise) - 0.5 * (grid[:, None] - 3.5) ** 2 - 0.5 * ((noise - 4.8) / 0.5) ** 2 + 640
    ).sum(axis=1)
    axes[1].hist(run.positions["log_step"].ravel(), bins=30, density=True, color=figures.BLUE, alpha=0.4, label="run")
    scale = densities.sum() * (grid[1] - grid[0])
    axes[1].plot(grid, densities / scale, color=figures.BLACK, linewidth=1.5, label="Kalman, exact")
    axes[1].set(xlabel="log of the level's step", ylabel="density", xlim=(1.0, 5.5))
    axes[1].set(ylim=(0, 1.45))  # room for the legend
    axes[1].legend(frameon=False, fontsize=9, loc="upper left")
    figures.save(figure, "nile")


if __name__ == "__main__":
    main()
