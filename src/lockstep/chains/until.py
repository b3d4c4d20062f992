"""When a run is precise enough: ``ls.until.error(0.02)``, ``ls.until.ess(400)``, ``ls.until.seconds(3600)``.

Criteria are combined by ``&`` and ``|``, and given to `ls.sample` as ``until``. They are judged at fixed numbers of
draws, the same in every run, by ArviZ's functions: the same call stops at the same draw, also after it was interrupted.
Judging seldom, at numbers that grow, keeps a criterion from being met by chance.
"""

from __future__ import annotations

import ast
import dataclasses
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.arguments import positive
from lockstep.core.types import Position
from lockstep.coupling.names import entries
from lockstep.coupling.pair import legs

__all__ = ["Criterion", "error", "ess", "seconds"]

FIRST = 128  # draws of each chain, below which no statistic is trusted
TAIL = 0.89  # ArviZ's default, so that a summary agrees; here it does not follow ArviZ's settings
STATISTIC_DIGITS, TIME_DIGITS = 2, 5  # binary digits of the numbers of draws at which statistics and times are judged


class Verdict(NamedTuple):
    """Whether a run has enough, and in words how far it is."""

    is_enough: bool
    told: str


class Look(NamedTuple):
    """What a criterion looks at: positions, arrays (chains, draws, ...), and the seconds that they took.

    ``known`` keeps verdicts on statistics, by criterion and draws, for looks that come between two of theirs.
    """

    positions: Any
    draws: int
    seconds: float
    known: dict[tuple[str, int], Verdict]


class Criterion(ABC):
    """When to stop a run; criteria are combined by ``&`` (both) and ``|`` (one of them)."""

    digits = STATISTIC_DIGITS
    first = FIRST
    is_judged_anytime = False  # not only at its own numbers of draws, as a part of another criterion

    @abstractmethod
    def judge(self, look: Look) -> Verdict:
        """Whether these draws are enough."""

    def at(self, look: Look) -> Verdict:
        """Its verdict at a look that may lie between two of its own: there the last one holds."""
        if self.is_judged_anytime:
            return self.judge(look)
        if look.draws < self.first:
            return Verdict(False, f"{look.draws:,} draws are too few to judge {self!r}")
        draws = rounded_down(look.draws, self.digits)
        key = repr(self), draws
        if key not in look.known:
            look.known[key] = self.judge(look._replace(draws=draws, positions=first_draws(look.positions, draws)))
        return look.known[key]

    def within(self) -> str:
        """How it is written as a part of ``&``."""
        return repr(self)

    def __and__(self, other: object) -> Criterion:
        return Both(self, require_criterion(other, "the right side of &"))

    def __or__(self, other: object) -> Criterion:
        return Either(self, require_criterion(other, "the right side of |"))

    def next_look(self, draws: int, seconds: float = np.inf) -> int:
        """The next number of draws, beyond this one, at which the criterion is judged; these took so many seconds.

        With ``seconds`` left out: at which it may be judged, however long draws take.
        """
        return max(self.first, rounded_up(draws + 1, self.digits))


def rounded_up(number: int, digits: int) -> int:
    """The smallest whole number from this one on with so many binary digits, and zeros.

    >>> [rounded_up(number, 2) for number in (1, 5, 128, 129, 193)]
    [1, 6, 128, 192, 256]
    """
    unit = 1 << max(0, number.bit_length() - digits)
    return -(-number // unit) * unit


@dataclasses.dataclass(frozen=True)
class Precision(Criterion):
    """A statistic of every component, on the right side of a number; one that does not exist is on the wrong side."""

    number: float

    @abstractmethod
    def statistic(self, values: np.ndarray) -> float:
        """Of one component, from an array (chains, draws)."""

    @abstractmethod
    def told(self, value: float) -> str:
        """The worst of them, in words."""

    @abstractmethod
    def shortfall(self, value: float) -> float:
        """How bad a value is: above 1 it does not suffice."""

    def judge(self, look: Look) -> Verdict:
        worst, where = 0.0, ""
        for name, entry in (pair for leg in legs(look.positions) for pair in entries(leg)):
            values = np.asarray(entry, float)
            if not np.isfinite(values).all() or (values == values.flat[0]).all():
                return Verdict(False, f"{name} never moved or is not finite, so that {self!r} cannot be judged")
            value = self.statistic(values)
            if not where or not self.shortfall(value) <= self.shortfall(worst):
                worst, where = value, name
        return Verdict(self.shortfall(worst) <= 1, f"{self.told(worst)} (of {where})")


class Error(Precision):
    """The Monte Carlo error of means."""

    def statistic(self, values: np.ndarray) -> float:
        from arviz_stats.base import array_stats

        return float(array_stats.mcse(values, method="mean") / values.std(ddof=1))

    def told(self, value: float) -> str:
        return f"the Monte Carlo error is {value:.3g} standard deviations"

    def shortfall(self, value: float) -> float:
        return value / self.number

    def __repr__(self) -> str:
        return f"error({self.number:g})"


class EffectiveSize(Precision):
    """Effective sample sizes, in the bulk and in the tails."""

    def statistic(self, values: np.ndarray) -> float:
        from arviz_stats.base import array_stats

        return float(np.fmin(array_stats.ess(values, method="bulk"), array_stats.ess(values, method="tail", prob=TAIL)))

    def told(self, value: float) -> str:
        return f"the effective sample size is {value:,.0f}"

    def shortfall(self, value: float) -> float:
        return self.number / value

    def __repr__(self) -> str:
        return f"ess({self.number:g})"


@dataclasses.dataclass(frozen=True)
class Time(Criterion):
    """So many seconds of computing, by the clock."""

    number: float
    digits = TIME_DIGITS
    first = 1
    is_judged_anytime = True

    def next_look(self, draws: int, seconds: float = np.inf) -> int:
        """Not before half of the draws that are left by the pace so far, or twice as many as now: looks are few."""
        left = draws * (self.number / seconds - 1) if seconds > 0 else np.inf
        return super().next_look(draws + int(max(0.0, min(left / 2, draws) - 1)))

    def judge(self, look: Look) -> Verdict:
        return Verdict(look.seconds >= self.number, f"{look.seconds:.3g} s have passed")

    def __repr__(self) -> str:
        return f"seconds({self.number:g})"


@dataclasses.dataclass(frozen=True)
class Combined(Criterion):
    """Two criteria, each judged at its own numbers of draws: between them its last verdict holds."""

    left: Criterion
    right: Criterion
    is_judged_anytime = True

    @property
    def first(self) -> int:  # type: ignore[override]
        """From how many draws on one of the two can be judged."""
        return min(self.left.first, self.right.first)

    def next_look(self, draws: int, seconds: float = np.inf) -> int:
        return min(self.left.next_look(draws, seconds), self.right.next_look(draws, seconds))

    def verdicts(self, look: Look) -> tuple[Verdict, Verdict]:
        """Of both, at what they look at."""
        return self.left.at(look), self.right.at(look)


class Both(Combined):
    """Enough when both are."""

    def judge(self, look: Look) -> Verdict:
        first, second = self.verdicts(look)
        return Verdict(first.is_enough and second.is_enough, f"{first.told} and {second.told}")

    def __repr__(self) -> str:
        return f"{self.left.within()} & {self.right.within()}"


class Either(Combined):
    """Enough when one is."""

    def judge(self, look: Look) -> Verdict:
        first, second = self.verdicts(look)
        met = [one.told for one in (first, second) if one.is_enough] or [first.told, second.told]
        return Verdict(first.is_enough or second.is_enough, " and ".join(met))

    def __repr__(self) -> str:
        return f"{self.left!r} | {self.right!r}"

    def within(self) -> str:
        return f"({self!r})"


def rounded_down(number: int, digits: int) -> int:
    """The largest whole number up to this one with so many binary digits, and zeros."""
    unit = 1 << max(0, number.bit_length() - digits)
    return number // unit * unit


def first_draws(positions: Position, draws: int) -> Any:
    """The first draws of each chain."""
    return jax.tree.map(lambda leaf: leaf[:, :draws], positions)


def error(share: float) -> Criterion:
    """Until the Monte Carlo error of every component's mean is at most this share of its standard deviation.

    Parameters
    ----------
    share
        0.02, say: a mean that is known up to a fiftieth of a posterior standard deviation.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(2.4))
    >>> run = ls.sample(kernel, jnp.zeros(1), draws=100_000, until=ls.until.error(0.05) | ls.until.seconds(60))
    >>> run.draws < 2_000, "was met" in run.until
    (True, True)
    """
    return Error(positive(share, "share"))


def ess(size: float) -> Criterion:
    """Until the effective sample size of every component, in the bulk and in the tails, is at least this.

    Parameters
    ----------
    size
        400, say, from which R-hat and Monte Carlo errors can be trusted.
    """
    return EffectiveSize(positive(size, "size"))


def seconds(number: float) -> Criterion:
    """Until so many seconds were spent computing, by the clock; the time between two calls does not count.

    Looked at after the first draw, and then when draws have doubled, or half of the time that was left has passed.

    Parameters
    ----------
    number
        3600, say.
    """
    return Time(positive(number, "number"))


def require_criterion(value: object, name: str) -> Criterion:
    """A criterion, or an error that names it."""
    if not isinstance(value, Criterion):
        raise TypeError(
            f"{name} is {value!r}; it must be a criterion, such as ls.until.error(0.02) | ls.until.seconds(3600)"
        )
    return value


def parsed(text: str) -> Criterion:
    """The criterion that a text describes; nothing in it is executed.

    >>> parsed("error(0.02) & ess(400) | seconds(60)")
    error(0.02) & ess(400) | seconds(60)
    """
    try:
        return _of(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, KeyError, AttributeError, RecursionError):
        raise ValueError(
            f"until is {text!r}; it must be error(…), ess(…) or seconds(…), combined by & and |, such as "
            f"'error(0.02) | seconds(3600)'"
        ) from None


def _of(node: Any) -> Criterion:
    if isinstance(node, ast.BinOp):
        combine: Any = {ast.BitAnd: Both, ast.BitOr: Either}[type(node.op)]
        return combine(_of(node.left), _of(node.right))
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    if len(node.args) != 1 or node.keywords:
        raise KeyError(name)
    return {"error": error, "ess": ess, "seconds": seconds}[name](node.args[0].value)
