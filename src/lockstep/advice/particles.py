"""How many particles: the noise of log likelihood estimates where the posterior is, and what a particle costs here."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import jax
import numpy as np
from scipy.special import ndtr

from lockstep.core.arguments import MOST_SEED, whole
from lockstep.core.kernel import Simple
from lockstep.core.types import Position
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.results.run import Run
from lockstep.sampling.sample import sample
from lockstep.starts.start import Starts
from lockstep.state_space.estimate import ParticleEstimate
from lockstep.state_space.noisiness import MOST, deviation, estimates

PLACES, REPLICATES = 12, 32  # where, and how often, estimates are made
PILOT = 300  # draws of each of four chains
CORRELATION = 0.99
GAIN = 1.5  # by which correlated noise must be better to be advised
MIXING = 10.0  # updates that an effective draw takes without noise, as is usual for a random walk
FEWEST, LARGEST = 8, 2**20


@dataclasses.dataclass(frozen=True)
class ParticleOption:
    """What so many particles do: noise, the acceptance that it leaves, and the time of an estimate on this machine.

    ``refresh`` is the autocorrelation time of correlated noise, in updates.
    """

    particles: int
    correlation: float
    deviation: float
    acceptance: float
    seconds: float
    refresh: float = 0.0

    @property
    def speed(self) -> float:
        """Effective draws a second, roughly: noise that is correlated takes updates of its own to be forgotten."""
        return 1 / (self.seconds * (MIXING / self.acceptance + self.refresh))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ParticleAdvice:
    """What `ls.advise` says of a particle filter.

    Attributes
    ----------
    particles, correlation
        What is advised.
    deviation
        The standard deviation of the log likelihood estimate with the particles that the kernel has.
    options
        Numbers of particles, with the noise of their log ratios and the time that they take.
    findings
        In plain words.
    kernel
        The advised kernel; ``sample()`` runs it.
    """

    particles: int
    correlation: float
    deviation: float
    options: tuple[ParticleOption, ...]
    findings: tuple[str, ...]
    kernel: Any
    pilot: Run

    def sample(self, chains: int = 4, seed: int | None = None, **options: Any) -> Run:
        """Run the advised kernel from where the pilot ended; ``options`` go to `ls.sample`."""
        rows = np.arange(chains) % self.pilot.chains, -1 - np.arange(chains) // self.pilot.chains % self.pilot.draws
        options.setdefault("initial", Starts(jax.tree.map(lambda leaf: np.asarray(leaf)[rows], self.pilot.positions)))
        return sample(self.kernel, chains=chains, seed=self.pilot.seed + 1 if seed is None else seed, **options)

    def __repr__(self) -> str:
        more = f", correlation {self.correlation:g}" if self.correlation else ""
        row = "  {:>9}{:>13}{:>20}{:>24}{:>14}".format
        lines = [f"Advice: {self.particles:,} particles{more}"]
        lines.append(row("particles", "correlation", "sd of log ratio", "acceptance by noise", "ms/estimate"))
        for one in self.options:
            values = f"{one.deviation:.2f}", f"{one.acceptance:.3f}", f"{1e3 * one.seconds:.3g}"
            lines.append(row(f"{one.particles:,}", f"{one.correlation:g}", *values))
        return "\n".join([*lines, *(f"  - {sentence}" for sentence in self.findings)])


def filtered_by(kernel: Simple) -> ParticleEstimate | None:
    """How a kernel estimates a likelihood by particles, if it does."""
    evaluation = kernel.ratio.evaluation
    return evaluation if isinstance(evaluation, ParticleEstimate) else None


def advise_particles(
    kernel: Simple, estimate: ParticleEstimate, initial: Any, seed: int, progress: bool | None
) -> ParticleAdvice:
    """A pilot run, the noise of estimates at its draws, the time of a particle, and the number that is best.

    The noise of a log ratio with variance s² leaves 2 Φ(-s/2) of the acceptance of a chain without noise (s² = 2σ² for
    independent estimates of variance σ²), and σ² falls as one over the particles.
    """
    seed = whole(seed, "seed", 0, MOST_SEED)
    pilot = (
        initial
        if isinstance(initial, Run)
        else sample(kernel, initial, draws=PILOT, chains=4, seed=seed, warmup=PILOT // 2, progress=progress)
    )
    chosen = np.linspace(pilot.draws // 4, pilot.draws - 1, PLACES // pilot.chains + 1).astype(int)
    places = jax.tree.map(lambda leaf: np.asarray(leaf)[:, chosen].reshape(-1, *leaf.shape[2:]), pilot.positions)
    with_evaluation = kernel.ratio.with_evaluation
    assert with_evaluation is not None  # it carries one
    now = estimate.filter.particles
    plain = estimate.with_particles(now, False)
    spread = deviation(estimates(plain, places, REPLICATES, seed))
    fixed, each = _cost(plain, places, seed)
    options = _options(spread * np.sqrt(2 * now), 0.0, fixed, each)
    if not estimate.is_of_keys and not estimate.filter.model.is_boxed:
        sorted_one = estimate.with_particles(now, True)
        differences = estimates(sorted_one, places, REPLICATES, seed, CORRELATION)
        ratio = float(np.median(np.std(differences, axis=1)))
        # The autocorrelation of the noise: the variance of its change is 2σ²(1 - c).
        kept = 1 - min(1.0, (ratio / spread) ** 2 / 2) if spread > 0 else 0.0
        refresh = (1 + kept) / max(1 - kept, 1e-6)
        options += _options(ratio * np.sqrt(now), CORRELATION, *_cost(sorted_one, places, seed), refresh)
    independent = max((one for one in options if not one.correlation), key=lambda one: one.speed)
    best = max(options, key=lambda one: one.speed)
    best = best if best.speed > GAIN * independent.speed else independent
    near = sorted(
        (one for one in options if one.correlation == best.correlation),
        key=lambda one: abs(np.log(one.particles / best.particles)),
    )
    shown = {(one.correlation, one.particles): one for one in (independent, best, *near[4:17:4])}
    made = estimate.with_particles(best.particles, bool(best.correlation))
    advised = MetropolisHastings(kernel.proposal, with_evaluation(made, best.correlation or None))
    findings = _findings(now, spread, best, independent)
    return ParticleAdvice(
        best.particles, best.correlation, spread, tuple(shown[key] for key in sorted(shown)), findings, advised, pilot
    )


def _options(ratio: float, correlation: float, fixed: float, each: float, refresh: float = 0.0) -> list[ParticleOption]:
    """Numbers of particles, with the standard deviation of the log ratio falling as one over their root."""
    counts = np.unique(np.round(np.geomspace(FEWEST, LARGEST, 120)).astype(int))
    found = []
    for count in counts.tolist():
        noise = ratio / np.sqrt(count)
        left = float(2 * ndtr(-noise / 2))
        found.append(ParticleOption(count, correlation, float(noise), left, fixed + each * count, refresh))
    return found


def _cost(estimate: ParticleEstimate, places: Position, seed: int) -> tuple[float, float]:
    """Seconds of an estimate: those of no particle, and those of each."""
    now = estimate.filter.particles
    counts, times = (now, 4 * now), []
    for count in counts:
        made = estimate.with_particles(count, estimate.filter.is_sorted)
        estimates(made, places, 4, seed)
        began = time.perf_counter()
        values = estimates(made, places, 4, seed)
        times.append((time.perf_counter() - began) / values.size)
    each = max(times[1] - times[0], 0.05 * times[1]) / (counts[1] - counts[0])
    return max(times[0] - each * now, 0.0), each


def _findings(now: int, spread: float, best: ParticleOption, plain: ParticleOption) -> tuple[str, ...]:
    with_plain = plain.deviation / np.sqrt(2)
    is_good = 0.9 <= spread <= MOST
    said = [
        f"with {now:,} particles the standard deviation of the log likelihood estimate is {spread:.2f} where the "
        f"posterior is{', which is good' if is_good else ' (good is 1.0 to 1.7)'}"
    ]
    if not np.isfinite(spread):
        said.append("some estimates of the likelihood were 0: take many more particles, or a guided filter")
    said.append(
        f"{plain.particles:,} particles give {with_plain:.2f} and most effective draws a second, by the known law "
        f"(Doucet et al. 2015: 1.0 to 1.7; Sherlock et al. 2015: 1.8, acceptance 7 %, in high dimension)"
    )
    if best.correlation:
        said.append(
            f"correlation={best.correlation:g} with {best.particles:,} particles is better still: at equal parameters "
            f"its log ratios have a standard deviation of {best.deviation:.2f}, and an estimate takes "
            f"{plain.seconds / best.seconds:.1f} times less time"
        )
    return tuple(said)
