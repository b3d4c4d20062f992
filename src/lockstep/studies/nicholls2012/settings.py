"""How large the study is, and where its random numbers come from."""

from __future__ import annotations

import dataclasses
import math
import zlib

import numpy as np

COUNTS = (8, 16, 32, 64, 128, 256)
MOST_FOR_BIAS = 64  # beyond it the bias of the corrected rule is lost in the noise
SHOWN_COUNT = 8  # the m of the trajectories and the densities
CHAINS = 8
QUICK, FULL = 1_000_000, 10_000_000
MOST_KEPT = 10_000_000  # updates whose every mark is kept; longer runs are thinned
FLAT_UP_TO = 64


@dataclasses.dataclass(frozen=True)
class Settings:
    """The sizes of a study.

    Attributes
    ----------
    updates
        Of a run, all chains together.
    counts
        The numbers of samples m.
    is_full
        Whether τ is measured by replicates of its own, and whether the efficiency of the algorithms is compared.
    """

    updates: int = QUICK
    counts: tuple[int, ...] = COUNTS
    is_full: bool = False
    seed: int = 0
    chains: int = CHAINS
    replicates: int = 1000

    @property
    def bias_counts(self) -> tuple[int, ...]:
        """The numbers of samples at which the bias is measured."""
        return tuple(m for m in self.counts if m <= MOST_FOR_BIAS)

    def draws(self, pair: str, m: int) -> tuple[int, int]:
        """Draws of each chain and the updates of each draw, for the separation times of a pair of kernels.

        Separations of the Penalty Estimate become rarer as m^{3/2}, and its runs grow alike once they would hold too
        few. From standard Metropolis–Hastings the naive chain separates often: half a run is enough.
        """
        growth = {"penalty_estimate": max(1.0, m / FLAT_UP_TO) ** 1.5, "standard": 0.5}
        updates = self.updates * growth.get(pair, 1.0)
        thin = math.ceil(updates / MOST_KEPT)
        return math.ceil(updates / self.chains / thin), thin

    def seed_of(self, *words: object) -> int:
        """A seed of its own for each part of the study, so that no two share their noise."""
        label = zlib.crc32(" ".join(map(str, words)).encode())
        return int(np.random.SeedSequence([self.seed, label]).generate_state(1)[0])
