"""The types that every part of Lockstep speaks: states, noise, estimates, decisions, and the bases of the parts.

A base declares all that other parts may ask of one of its kind: the methods that it must have, which are abstract, and
whatever it may have, with the default and its meaning. Nothing else is looked for anywhere. A class of a user's own may
inherit from a base, or have its methods alone: then it is adopted where it is handed over (`lockstep.core.adopt`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.random as jr
import numpy as np

Array: TypeAlias = Any  # a JAX array (compiled) or a NumPy array (interpreted); leaves of pytrees are of this kind
Key: TypeAlias = jax.Array
Position: TypeAlias = Any  # any pytree of arrays
Memory: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]


class State(NamedTuple):
    """Where a chain is, and what its ratio remembers of that position."""

    position: Position
    memory: Memory


class Noise(NamedTuple):
    """Everything random in one update of `MetropolisHastings`. ``accept`` is minus an exponential variable."""

    proposal: Any
    ratio: Any
    accept: Array


class Info(NamedTuple):
    """What happened in an update.

    ``is_valid`` is false where the log ratio was NaN or plus infinity, which is no basis for a decision: the candidate
    is refused (minus infinity is one: a candidate of zero density). ``is_violated`` is true where the ratio found its
    own promise broken, such as the bound of the universal rule.
    """

    is_accepted: Array
    log_ratio: Array
    is_valid: Array
    is_violated: Array = np.False_


class Decision(NamedTuple):
    """What a ratio says of a candidate.

    The whole log ratio, what to remember of the candidate if it is accepted, and whether the ratio found its own
    promise broken.
    """

    log_ratio: Array
    memory: Memory
    is_violated: Array = np.False_


class Estimate(NamedTuple):
    """An estimate of D, and the first three cumulants of (value - D), known or estimated from ``count`` values."""

    value: Array
    bias: Array
    variance: Array
    third: Array
    count: int  # type: ignore[assignment]


class Probed(NamedTuple):
    """What a part of a ratio gave at several candidates: words for it, the values, which are bad, what they must be."""

    what: str
    values: Array
    is_bad: Callable[[Array], Array]
    should: str


def is_no_ratio(values: Array) -> Array:
    """Which values are no basis for a decision: NaN and plus infinity."""
    return ~(values < np.inf)


if TYPE_CHECKING:
    declared = property
else:

    class declared:
        """An attribute that a base declares, with its default: a property that a field or an attribute may replace.

        (A `property` would refuse to be replaced by a field of a subclass.)
        """

        def __init__(self, default: Callable[[Any], Any]) -> None:
            self.default, self.__doc__ = default, default.__doc__

        def __get__(self, owner: Any, kind: type | None = None) -> Any:
            return self if owner is None else self.default(owner)


class Part(ABC):  # noqa: B024
    """What all parts of a kernel may say of themselves."""

    @declared
    def name(self) -> str:
        """What to call it in messages."""
        return type(self).__name__

    @declared
    def computes_on_numpy(self) -> bool:
        """Whether it computes with NumPy arrays as well as with JAX's; else an interpreted kernel has it compiled."""
        return False

    @declared
    def fit(self) -> Callable[..., tuple[Any, Position]] | None:
        """``fit(position, progress)``: what takes its place in a run, and where that begins; None: nothing to fit."""
        return None


class Proposal(Part):
    """Proposes a candidate."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of updates; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Any, position: Position) -> tuple[Position, Array]:
        """The candidate, and log q(candidate → position) - log q(position → candidate)."""

    # Plain, for it is read at every update of coupled chains: whether the candidate does not depend on the position.
    is_independent = False

    # Plain for the same reason: whether the candidate may be the position itself with a probability above 0.
    can_stay = True

    @declared
    def adapted(self) -> Callable[..., Any] | None:
        """``adapted(positions, step)``: the same, fitted to positions (chains, draws, …) of the past; None: never."""
        return None

    @declared
    def coupled(self) -> Callable[..., tuple[Position, Array]] | None:
        """``coupled(noise, meet, position, candidate, other)``: what a second chain, at ``other``, is proposed.

        Given is what was proposed to the first: ``candidate``, made by ``noise`` at ``position``. The second's is its
        own proposal in law, and the very ``candidate`` as often as the two laws allow; it comes with its log proposal
        ratio. ``meet``, minus an exponential variable, is what is random in it besides. None: chains never meet.
        """
        return (lambda noise, meet, position, candidate, other: self(noise, other)) if self.is_independent else None

    @declared
    def law(self) -> Callable[..., tuple[Array, Array]] | None:
        """``law(position)``: one noise value for each possible candidate, and its probability; None: too many."""
        return None

    def require_start(self, position: Position) -> None:
        """Refuse a start from which no candidate would be accepted."""


class Ratio(Part):
    """Gives the whole log ratio, and what to remember of the candidate if it is accepted."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of updates; uses only the shape of ``position``."""

    @abstractmethod
    def init(self, noise: Any, position: Position) -> Memory:
        """What to remember of the first position; ``()`` if nothing."""

    @abstractmethod
    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        """The log ratio with the proposal's in it, and what to remember of the candidate."""

    @declared
    def exact_when(self) -> str | None:
        """The conditions under which a kernel of this ratio is exact; None: it is approximate."""
        return None

    @declared
    def error(self) -> str | None:
        """The order of its error, if it is approximate and that is known."""
        return None

    @declared
    def when_stuck(self) -> str | None:
        """What helps chains that stick."""
        return None

    @declared
    def can_be_violated(self) -> bool:
        """Whether it can find its own promise broken."""
        return False

    @declared
    def when_violated(self) -> str:
        """What to say of updates at which its promise was broken; {count} and {share} tell how many."""
        return f"{{count}} updates ({{share}}) broke a promise of {self.name}"

    def require_start(self, key: Key, proposal: Proposal, position: Position) -> None:
        """Refuse to start where its promise is broken at some candidates."""

    @declared
    def is_memory_random(self) -> bool:
        """Whether what it remembers is a random estimate."""
        return True

    @declared
    def remembered(self) -> Any:
        """What makes the memory: two ratios with the same remember the same numbers. ``()`` if nothing is."""
        return self

    @declared
    def remembered_name(self) -> str:
        """What to call the memory in messages: the name of the function whose value it is."""
        return "the log density"

    @declared
    def correlation(self) -> Array | None:
        """The correlation of successive noises; None: they are independent."""
        return None

    @declared
    def estimator(self) -> Estimator | None:
        """The estimator of D, if there is one."""
        return None

    @declared
    def rule(self) -> Rule | None:
        """The rule, if the log ratio is that of the proposal plus rule(estimate): such a ratio can be predicted."""
        return None

    def probe(self, noise: Any, position: Position, candidates: Position) -> Iterator[Probed]:
        """What its parts give at several candidates (a leading axis), to tell which of them makes a bad ratio."""
        return iter(())


class Evaluation(Part):
    """The log of a density at a position, up to a constant: known exactly, or estimated with noise."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of evaluations; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Any, position: Position) -> Array:
        """The log density, or the logarithm of its estimate."""

    @declared
    def is_random(self) -> bool:
        """Whether it is an estimate."""
        return True

    @declared
    def exact_when(self) -> str | None:
        """As of a ratio."""
        return None

    @declared
    def when_stuck(self) -> str | None:
        """As of a ratio."""
        return None

    # As of a ratio; plain, for it is read at every update.
    can_be_violated = False

    @declared
    def when_violated(self) -> str:
        """As of a ratio."""
        return f"{{count}} updates ({{share}}) broke a promise of {self.name}"

    def is_violated(self, noise: Any, position: Position) -> Array:
        """Whether the evaluation at a position finds its own promise broken."""
        return np.False_

    def require_start(self, candidates: Position) -> None:
        """Refuse to start where its promise is broken at some candidates (a leading axis)."""

    @declared
    def is_of_keys(self) -> bool:
        """Whether its noise is a random key, which cannot be correlated with another."""
        return False

    @declared
    def gains_by_correlation(self) -> bool:
        """Whether chains that stick are helped by noise that is correlated from one update to the next."""
        return False


class Estimator(Part):
    """Estimates D = log π(candidate)/π(position)."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of estimates; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Any, position: Position, candidate: Position) -> Estimate:
        """The estimate and its cumulants."""

    def value(self, noise: Any, position: Position, candidate: Position) -> Array:
        """The estimate alone, which may cost less."""
        return estimated(self, noise, position, candidate).value

    @declared
    def count(self) -> int:
        """How many samples an estimate takes."""
        return 1

    @declared
    def batches(self) -> int:
        """What the number of samples must be a multiple of."""
        return 1

    @declared
    def sides(self) -> int:
        """How many times ``count`` samples an estimate takes: 2 if it looks both ways, which makes it symmetric."""
        return 1

    @declared
    def has_variance(self) -> bool:
        """Whether the variance that it gives is a number."""
        return True

    @declared
    def is_variance_known(self) -> bool:
        """Whether that variance is known rather than estimated."""
        return False

    @declared
    def with_count(self) -> Callable[[int], Any] | None:
        """``with_count(count)``: the same with another number of samples; None: it has but one."""
        return None

    @declared
    def pooled(self) -> Callable[..., Any] | None:
        """``pooled(noise, position, candidate)``: one estimate from the samples of several; None: their average."""
        return None

    @declared
    def taken(self) -> Callable[..., tuple[Any, Any]] | None:
        """``taken(key, position, candidate, estimates)``: what takes samples as its noise, and samples; None: noise."""
        return None

    @declared
    def influences(self) -> Callable[..., Array] | None:
        """``influences(samples, position, candidate)``: what each adds to the linear part; None: that is not known."""
        return None


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


class Randomization(Part):
    """Draws the auxiliary x of a randomized ratio and weighs it."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of draws; uses only the shape of ``position``."""

    @abstractmethod
    def sample(self, noise: Any, position: Position, candidate: Position) -> Any:
        """The auxiliary x."""

    @abstractmethod
    def log_weight(self, x: Any, position: Position, candidate: Position) -> Array:
        """What x adds to the log ratio."""

    @declared
    def exact_when(self) -> str | None:
        """As of a ratio."""
        return None

    @declared
    def when_stuck(self) -> str | None:
        """As of a ratio."""
        return None

    @declared
    def can_be_violated(self) -> bool:
        """Whether it can find its own promise broken."""
        return False

    @declared
    def when_violated(self) -> str:
        """As of a ratio."""
        return f"{{count}} updates ({{share}}) broke a promise of {self.name}"

    def is_violated(self, x: Any, position: Position, candidate: Position) -> Array:
        """Whether its own promise is broken at an x."""
        return np.False_

    def require_start(self, noise: Any, position: Position, candidates: Position) -> None:
        """Refuse to start where its promise is broken at some candidates, each with its noise (a leading axis)."""

    @declared
    def log_density(self) -> Callable[..., Array] | None:
        """``log_density(x, position, candidate)`` of x, normalised; None: it is not known."""
        return None

    @declared
    def involution(self) -> Involution | None:
        """What pairs x with f(x); None: the identity."""
        return None

    @declared
    def is_density_when(self) -> str | None:
        """The conditions under which the weight is a ratio of densities of x; None: it is one."""
        return None


class Involution(Part):
    """Pairs x with f(x), and f(x) with x."""

    @abstractmethod
    def __call__(self, x: Any, position: Position, candidate: Position) -> tuple[Any, Array]:
        """f(x), and the logarithm of the Jacobian's absolute value."""

    is_proven = False  # whether algebra says that it undoes itself; else it is watched at every update


class Kernel(Part):
    """A Markov kernel whose randomness is drawn first and used second."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of updates; uses only the shape of ``position``."""

    @abstractmethod
    def init(self, position: Position, key: Key | None = None) -> Any:
        """The state at ``position``, which has an attribute of that name."""

    @abstractmethod
    def move(self, state: Any, noise: Any) -> tuple[Any, Any]:
        """One update, with all randomness given."""

    def step(self, rng_key: Key, state: Any) -> tuple[Any, Any]:
        """One update with the noise of ``rng_key``, as BlackJAX's loops call it."""
        return self.move(state, self.noise(rng_key, state.position))

    @declared
    def cannot_meet(self) -> str | None:
        """Why two chains of it, coupled by ``move_both``, would never become equal; None: they can."""
        return f"{self.name} has no method move_both, which moves two chains so that they meet"

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Any:
        """What is random in an array of ``move_both`` besides the noise of an update."""
        return -jr.exponential(key, shape, float)

    def move_both(self, first: Any, second: Any, noise: Any, meet: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """One update of two chains: each is moved as by ``move`` in law, and equal chains stay equal."""
        raise NotImplementedError(self.cannot_meet)

    @declared
    def exact_when(self) -> str | None:
        """The conditions under which the kernel is exact; None for an approximate one."""
        return None

    @declared
    def error(self) -> str | None:
        """The order of its error, if it is approximate and that is known."""
        return None

    @declared
    def when_stuck(self) -> str:
        """What helps chains that stick."""
        inner = (kernel.when_stuck for kernel in self.kernels)
        return "; or ".join(dict.fromkeys(inner)) or "take smaller steps"

    @declared
    def kernels(self) -> Sequence[Kernel]:
        """The kernels that it is made of."""
        return ()

    @declared
    def applications(self) -> Sequence[float]:
        """How often each of its kernels is applied in an update; empty if that has no meaning."""
        return ()

    @declared
    def is_coupling(self) -> bool:
        """Whether it moves two chains, or compares two kernels, of which the second is the one that is judged."""
        return False

    @declared
    def is_memory_random(self) -> bool:
        """Whether a state holds a random estimate; a kernel that does not say is taken to."""
        return not self.kernels or any(kernel.is_memory_random for kernel in self.kernels)

    @declared
    def is_memory_shared(self) -> bool:
        """Whether its kernels remember the same, so that a state holds it once."""
        return False

    @declared
    def remembered(self) -> tuple[Any, ...]:
        """What makes the memory of each kernel of one accept/reject in it, as of a ratio."""
        return (self,)

    def placed(self, position: Position) -> list[tuple[Any, Position]]:
        """The kernels of one accept/reject that it is made of, each with its position."""
        return [placed for kernel in self.kernels for placed in kernel.placed(position)]


def estimated(estimator: Estimator, noise: Any, position: Position, candidate: Position) -> Estimate:
    """What an estimator returns, refused if it is no estimate of one number."""
    estimate = estimator(noise, position, candidate)
    if not isinstance(estimate, Estimate):
        raise TypeError(
            f"estimator returned {type(estimate).__name__}; it must return "
            f"ls.Estimate(value, bias, variance, third, count)"
        )
    if type(estimate.value) is type(estimate.bias) is type(estimate.variance) is np.float64:
        return estimate
    for name, number in (("value", estimate.value), ("bias", estimate.bias), ("variance", estimate.variance)):
        if np.ndim(number):
            raise ValueError(f"estimator returned {name} of shape {np.shape(number)}; it must be one number")
    return estimate


def one_of(values: Any, index: int) -> Any:
    """One entry along the first axis of every leaf, as NumPy arrays."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[index]), values)


def describe(value: Any) -> str:
    """A short text of a position for error messages."""

    def show(leaf: Any) -> str:
        return str(np.asarray(leaf).tolist()) if np.size(leaf) <= 6 else f"array of shape {np.shape(leaf)}"

    paths = jax.tree_util.tree_flatten_with_path(value)[0]
    return ", ".join(f"{jax.tree_util.keystr(path)}: {show(leaf)}" if path else show(leaf) for path, leaf in paths)
