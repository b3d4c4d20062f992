"""The posterior of a model that exists only as a command-line program.

The program simulates epidemics in households; its likelihood is unknown. The probability of what was observed is
estimated by the share of simulations that show it. That estimate is unbiased, so the pseudo-marginal method is exact,
however few simulations a call makes.
"""

import argparse
import math
import subprocess
import sys
from pathlib import Path

import numpy as np

import lockstep as ls

SIMULATOR = [sys.executable, "-S", "-E", str(Path(__file__).with_name("simulator.py"))]
HOUSEHOLD = 6
OBSERVED = np.array([0, 3, 6, 1, 5])  # cases in five households, besides the first
SIMULATIONS = 200


def simulate(r0: float, seed: int) -> np.ndarray:
    """Final sizes from the program; what it writes to its standard error becomes the message of an exception."""
    command = [*SIMULATOR, f"{r0:.17g}", str(HOUSEHOLD), str(SIMULATIONS), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the simulator failed: {done.stderr.strip()}")
    return np.array(done.stdout.split(), dtype=int)


def log_estimate(log_r0: np.float64, rng: np.random.Generator) -> float:
    """Log prior, N(0, 1) of log R0, plus the log of an unbiased estimate of the likelihood.

    The households are independent: each needs simulations of its own, or the product would be biased.
    """
    total = -0.5 * log_r0**2
    for size in OBSERVED:
        sizes = simulate(math.exp(log_r0), seed=int(rng.integers(2**63)))
        share = np.mean(sizes == size)
        if share == 0:
            return -math.inf
        total += math.log(share)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="where to put the figure; none without it")
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    kernel = ls.pseudo_marginal(ls.blackbox(log_estimate), ls.RandomWalk(0.7))
    run = ls.sample(kernel, 0.5, draws=options.draws, chains=2, seed=1)
    r0 = np.exp(run.positions)
    low, median, high = np.quantile(r0, (0.05, 0.5, 0.95))
    print(f"R0: median {median:.2f}, 90 % interval {low:.2f} to {high:.2f}; acceptance {run.acceptance:.2f}")
    if options.folder:
        import figures

        figure, axes = figures.panels(1, 2, (9.0, 3.2), width_ratios=(2, 1))
        axes[0].plot(r0.T, linewidth=1.0)
        axes[0].set(xlabel="update", ylabel="R₀")
        axes[1].hist(r0.ravel(), 25, density=True, color=figures.BLUE, alpha=0.6)
        axes[1].set(xlabel="R₀", ylabel="posterior density")
        figures.save(figure, "command_line_simulator")


if __name__ == "__main__":
    main()
