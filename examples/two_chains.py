"""Two chains on the same random numbers: an exact one, and one that decides by noisy log ratios.

With a random walk they go in lockstep until one decision comes out otherwise. With an independence proposal they meet
again, at the first candidate that both accept.

    python examples/two_chains.py [folder]
"""

from __future__ import annotations

import figures
import numpy as np

import lockstep as ls
from lockstep.studies.nicholls2012 import coupled_pair
from lockstep.studies.nicholls2012.model import draw_target

SAMPLES = 8
SHOWN = 160


def paths(proposal: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ₁ + θ₂ of the exact and of the naive chain, and whether they are equal."""
    kernel = ls.Coupled(*coupled_pair(proposal, SAMPLES))
    run = ls.sample(kernel, draw_target, draws=SHOWN, chains=16, seed=seed, progress=False)
    exact, naive = (positions.sum(axis=-1) for positions in (run.positions.first, run.positions.second))
    equal = np.asarray(run.info.is_equal)
    # The chain whose first separation is nearest to the middle of the figure.
    first = np.where(equal.all(axis=1), SHOWN, equal.argmin(axis=1))
    chain = int(np.argmin(np.abs(first - SHOWN // 2)))
    return exact[chain], naive[chain], equal[chain]


def draw(axes, exact, naive, equal) -> None:
    steps = np.arange(len(exact))
    axes.step(steps, exact, where="post", color=figures.BLACK, linewidth=3.2, alpha=0.35, label="exact chain")
    axes.step(steps, naive, where="post", color=figures.ORANGE, linewidth=1.4, label=f"naive chain, m = {SAMPLES}")
    changes = np.flatnonzero(np.diff(equal.astype(int)))
    for step in changes:
        apart = equal[step]
        axes.axvline(step + 1, color=figures.ORANGE if apart else figures.BLUE, linestyle=":", linewidth=1.2)
    axes.set(ylabel="θ₁ + θ₂")


def main() -> None:
    figure, axes = figures.panels(2, 1, (8.0, 5.2), sharex=True)
    for one, proposal, title in zip(
        axes,
        ("random walk", "independence"),
        ("Random walk: in lockstep until they separate", "Independence proposal: they separate and coalesce"),
        strict=True,
    ):
        found = paths(proposal, seed=2)
        draw(one, *found)
        one.set_title(title, loc="left", fontsize=11)
        print(f"{proposal}: equal in {found[2].mean():.0%} of {SHOWN} updates")
    axes[0].set_ylim(top=17.5)
    axes[0].legend(frameon=False, loc="upper left", ncols=2)
    axes[1].set(xlabel="update")
    figures.save(figure, "two_chains")


if __name__ == "__main__":
    main()
