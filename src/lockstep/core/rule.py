"""The base of rules, which make a log ratio of an estimate."""

from __future__ import annotations

from abc import abstractmethod

from lockstep.core.declared import Part, declared
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.types import Array


class Rule(Part):
    """Makes a log ratio of an estimate of D and its cumulants."""

    @abstractmethod
    def __call__(self, estimate: Estimate) -> Array:
        """The log ratio, without that of the proposal."""

    def exact_when(self, estimator: Estimator) -> str | None:
        """The conditions under which it is exact with that estimator; None: it is approximate."""
        return None

    def suits(self, estimator: Estimator) -> bool:
        """Whether it can be used with that estimator."""
        return not self.needs_variance or estimator.has_variance

    def prepared(self, estimator: Estimator) -> tuple[Estimator, Rule]:
        """The estimator and the rule of its kernel: themselves, unless it stands for a rule over another estimator."""
        return estimator, self

    @property
    @abstractmethod
    def needs_variance(self) -> bool:
        """Whether it reads the variance of the estimate."""

    # Plain, for it is read at every update: whether nothing but the value is, so that cumulants need not be computed.
    reads_value_alone = False

    @declared
    def error(self) -> str | None:
        """The order of its error in the number of samples m, in words."""
        return None

    @declared
    def order(self) -> float:
        """The discrepancy of its kernel falls about as m to minus this power."""
        return 1.0

    @declared
    def is_advised(self) -> bool:
        """Whether `ls.advise` may choose it."""
        return True

    @declared
    def colour(self) -> str:
        """In figures."""
        return "#7F7F7F"

    @declared
    def marker(self) -> str:
        """In figures, one of matplotlib's."""
        return "P"
