"""What a prediction holds, and how it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

REFERENCES = {
    "penalty": "the exact penalty chain on the normal score of the same noise",
    "standard": "the standard chain, which has no noise",
}


@dataclasses.dataclass(frozen=True, eq=False)
class RulePrediction:
    """How far a rule is from an exact kernel; NaN where that cannot be told.

    Attributes
    ----------
    rho, rho_se
        Mean return time of separation: updates between two separations of coupled paths.
    expected_separations
        In all updates of the run.
    discrepancy, discrepancy_interval
        E abs(ᾱ_rule - ᾱ_exact), the noise integrated out at each (θ, θ'): the least probability of separation that any
        coupling of the two decisions can have, and what biases estimates. NaN, with an interval, if the replicates
        cannot resolve it.
    acceptance
        The acceptance rate under this rule.
    at_least
        Where ``rho`` is NaN because the rule is nearer to the exact one than the replicates can tell: what it exceeds.
    """

    rule: str
    rho: float
    rho_se: float
    expected_separations: float
    discrepancy: float
    discrepancy_interval: tuple[float, float]
    acceptance: float
    at_least: float = 0.0

    @property
    def sure_rho(self) -> float:
        """The return time, or what it exceeds; NaN if neither is known."""
        return self.at_least if np.isnan(self.rho) and self.at_least else self.rho

    @classmethod
    def unknown(cls, rule: str) -> RulePrediction:
        """Of a rule whose numbers are withheld."""
        nan = float("nan")
        return cls(rule, nan, nan, nan, nan, (nan, nan), nan)

    @property
    def least_rho(self) -> float:
        """The return time that the discrepancy allows at best."""
        return 1 / self.discrepancy if self.discrepancy else np.inf


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """Separation predicted without the exact chain, for the rule that was used and for the others.

    Attributes
    ----------
    rule
        The rule of the run's kernel.
    rules
        A `RulePrediction` for each rule by name; ``prediction.rho`` and so on are those of the rule that was used.
        ``two_sided`` is the corrected rule over `ls.estimators.two_sided`, with as many samples on each side.
    problems
        Why numbers are withheld.
    updates, pairs, replicates
        Of the run; where, and how often, the estimator was called for this.
    is_noise_free
        Whether no two estimates at a pair differ.
    against
        The exact chain: ``"penalty"``, on the normal score of the same noise, or ``"standard"``.
    singles
        At how many more pairs the estimator was called once, because the noise changes from pair to pair.
    """

    rule: str
    rules: dict[str, RulePrediction]
    problems: tuple[str, ...]
    updates: int
    pairs: int
    replicates: int
    is_noise_free: bool = False
    against: str = "penalty"
    singles: int = 0

    @property
    def used(self) -> RulePrediction:
        return self.rules[self.rule]

    rho = property(lambda self: self.used.rho)
    rho_se = property(lambda self: self.used.rho_se)
    expected_separations = property(lambda self: self.used.expected_separations)
    discrepancy = property(lambda self: self.used.discrepancy)
    discrepancy_interval = property(lambda self: self.used.discrepancy_interval)
    least_rho = property(lambda self: self.used.least_rho)
    is_trusted = property(lambda self: not np.isnan(self.used.rho))

    def __getitem__(self, rule: str) -> RulePrediction:
        return self.rules[rule]

    @property
    def calls(self) -> int:
        """How many estimates it took, both ways."""
        return 2 * self.pairs * self.replicates + self.singles

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a file."""
        return {**dataclasses.asdict(self), "calls": self.calls}

    def sentence(self) -> str:
        """The finding in plain words."""
        if not self.is_trusted:
            return f"separation cannot be predicted: {'; '.join(self.problems)}"
        count = self.expected_separations
        if self.is_noise_free and count == 0:
            return "the estimate has no noise: the kernel is `standard`"
        return (
            f"predicted to separate {number(count)} times in {self.updates:,} updates from {REFERENCES[self.against]} "
            f"({self._rho()}), kernel discrepancy {self._discrepancy(self.used)}"
        )

    def __repr__(self) -> str:
        more = f" and {self.singles:,} with one" if self.singles else ""
        head = (
            f"Prediction from {self.pairs} pairs × {self.replicates} estimates each way{more} ({self.calls:,} calls),"
        )
        problems = (f"  problem: {problem}" for problem in self.problems)
        return "\n".join([head, f"  against {REFERENCES[self.against]}", *self._table(), *problems])

    def _rho(self) -> str:
        return f"ρ = {number(self.rho)} ± {number(self.rho_se, 2)}" if np.isfinite(self.rho) else "ρ = ∞"

    def _table(self) -> Iterator[str]:
        row = "  {:<20}{:>18}{:>24}{:>24}".format
        yield row("rule", "ρ", f"in {self.updates:,} updates", "discrepancy")
        for name, found in self.rules.items():
            used = " (used)" if name == self.rule else ""
            if np.isnan(found.rho):
                bound = found.at_least and f"above {number(found.at_least)}"
                yield row(name + used, bound or "not predicted", "", self._discrepancy(found) if bound else "")
                continue
            rho = f"{number(found.rho)} ± {number(found.rho_se, 2)}" if np.isfinite(found.rho) else "∞"
            yield row(name + used, rho, number(found.expected_separations), self._discrepancy(found))

    @staticmethod
    def _discrepancy(found: RulePrediction) -> str:
        high = found.discrepancy_interval[1]
        if not np.isnan(found.discrepancy):
            return f"1/{number(found.least_rho)}" if found.discrepancy else "0"
        return f"below 1/{number(1 / high)}" if high else "0"


def number(value: float, digits: int = 3) -> str:
    """A number as it is printed."""
    return f"{value:,.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"
