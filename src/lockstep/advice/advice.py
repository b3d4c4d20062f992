"""What `ls.advise` returns: options, findings, and the kernel that it would take."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from os import PathLike
from typing import Any

import jax
import numpy as np

from lockstep.advice.figure import draw
from lockstep.advice.pilot import Look
from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.core.rule import Rule
from lockstep.estimators.samples import with_count
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.sampling import Run, Starts, sample
from lockstep.separation.rates import sides_of


def rule_of(rules: tuple[Rule, ...], name: str) -> Rule:
    """The rule of a name."""
    return next(rule for rule in rules if rule.name == name)


@dataclasses.dataclass(frozen=True, eq=False)
class Option:
    """One rule with the number of samples that it needs for the wanted number of separations.

    ``discrepancy`` is that of the kernel with so many samples (a bound from above if ``is_bound``);
    ``samples_per_effective_draw`` and ``seconds_per_effective_draw`` are what it costs. ``is_extrapolated``: the number
    of samples lies beyond those that were tried.
    """

    rule: str
    count: int
    expected_separations: float
    discrepancy: float
    is_bound: bool
    samples_per_effective_draw: float
    seconds_per_effective_draw: float
    is_extrapolated: bool

    @property
    def told_discrepancy(self) -> str:
        return "not known" if math.isnan(self.discrepancy) else f"{'< ' * self.is_bound}{self.discrepancy:.2g}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """Which rule, how many samples, and why.

    Attributes
    ----------
    rule, count
        The rule that is advised and its number of samples m (for ``two_sided``: on each side); None if no rule can be.
    options
        Every rule with the number of samples that it needs, the best first.
    findings, problems
        Sentences: why, and what could be wrong.
    kernel
        The advised kernel.
    looks
        What was measured, a number of samples at a time.
    rules
        The rules that there were to choose from.
    """

    rule: str | None
    count: int | None
    options: tuple[Option, ...]
    findings: tuple[str, ...]
    problems: tuple[str, ...]
    updates: int
    separations: float
    looks: tuple[Look, ...]
    estimator: Estimator
    proposal: Proposal
    pilot: Run | None
    rules: tuple[Rule, ...]

    @property
    def kernel(self) -> MetropolisHastings:
        if self.rule is None or self.count is None:
            raise ValueError(f"no rule can be advised: {'; '.join(self.problems)}")
        estimator, rule = rule_of(self.rules, self.rule).prepared(with_count(self.estimator, self.count))
        return MetropolisHastings(self.proposal, Estimated(estimator, rule))

    def sample(self, chains: int = 4, seed: int | None = None, **options: Any) -> Run:
        """Run the advised kernel for the updates that the advice was asked for, from where the pilot ended.

        The number of samples was chosen before this run begins and does not change in it. ``options`` go to
        `ls.sample`.
        """
        kernel = self.kernel
        assert self.pilot is not None  # there is a rule
        places = jax.tree.map(lambda leaf: np.asarray(leaf), self.pilot.walked)
        spread = np.arange(chains) * self.pilot.draws // max(1, -(-chains // self.pilot.chains)) // self.pilot.chains
        start = jax.tree.map(
            lambda leaf: np.stack([leaf[c % leaf.shape[0], -1 - spread[c // leaf.shape[0]]] for c in range(chains)]),
            places,
        )
        options.setdefault("draws", math.ceil(self.updates / chains))
        options.setdefault("initial", Starts(start, is_walked=True))
        return sample(kernel, chains=chains, seed=self.pilot.seed + 1 if seed is None else seed, **options)

    def figure(self, path: str | PathLike[str] | None = None) -> Any:
        """Predicted separations and kernel discrepancy against m for each rule, with the chosen one marked."""
        return draw(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pilot run, for a file."""
        return {
            "rule": self.rule,
            "count": self.count,
            "updates": self.updates,
            "separations": self.separations,
            "options": [dataclasses.asdict(option) for option in self.options],
            "findings": list(self.findings),
            "problems": list(self.problems),
            "looks": [dataclasses.asdict(look) for look in self.looks],
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        wanted = f"for {self.separations:g} separations in {self.updates:,} updates"
        if self.rule is None:
            yield f"Advice {wanted}: none"
        else:
            sides = " on each side" if sides_of(rule_of(self.rules, self.rule), self.estimator) > 1 else ""
            yield f"Advice {wanted}: {self.rule} with m = {self.count}{sides}"
        row = "  {:<12}{:>10}{:>14}{:>16}{:>22}{:>22}".format
        if self.options:
            yield row("rule", "m", "separations", "discrepancy", "samples/eff. draw", "seconds/eff. draw")
        for option in self.options:
            yield row(
                option.rule,
                f"{'~' * option.is_extrapolated}{option.count:,}",
                f"{option.expected_separations:.3g}",
                option.told_discrepancy,
                f"{option.samples_per_effective_draw:,.3g}",
                f"{option.seconds_per_effective_draw:.2g}",
            )
        for sentence in self.findings:
            yield f"  - {sentence}"
        for sentence in self.problems:
            yield f"  ! {sentence}"
