"""Parts of users' own: classes that have the methods of a base without inheriting from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lockstep.core.declared import Part, declared
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.evaluation import Evaluation
from lockstep.core.foreign import attribute
from lockstep.core.kernel import Kernel
from lockstep.core.parts import part
from lockstep.core.proposal import Proposal
from lockstep.core.randomization import Involution, Randomization
from lockstep.core.ratio import Decision, Ratio
from lockstep.core.rule import Rule
from lockstep.core.types import Array, Memory, Position, Tree

Base = TypeVar("Base", bound=Part)
MAKING = ("adapted", "fit", "taken", "with_count")  # methods that return a part of the same kind, perhaps with more


def adopted(value: object, base: type[Base], name: str, remedy: str) -> Base:
    """A part where it is handed over: as it is if it inherits from the base, else adopted if it has its methods.

    What has not got them is refused by the ``name`` of the argument, with a remedy.
    """
    if isinstance(value, base):
        return value
    if isinstance(value, Part):
        raise TypeError(f"{name} must be {remedy}; got {value!r}: are the arguments in the right order?")
    if isinstance(value, type) or not all(hasattr(value, needed) for needed in base.__abstractmethods__):
        raise TypeError(f"{name} must be {remedy}; got {value!r}")
    return ADAPTERS[base](value)


def _adapter(base: type[Part]) -> Callable[[type[Any]], type[Any]]:
    """Complete the class of the adapters of a base: what the base declares and the class lacks is passed on."""

    def complete(cls: type[Any]) -> type[Any]:
        names = {name for kind in base.__mro__ if issubclass(kind, Part) for name in vars(kind)}
        for name in names - vars(cls).keys() - {"name"}:
            if not name.startswith("_"):
                setattr(cls, name, _passed(cls, base, name))
        return part(cls)

    return complete


def _passed(cls: type[Any], base: type[Part], name: str) -> Any:
    """What the user's part has under a name, else the default."""

    def read(self: Any) -> Any:
        try:
            value = getattr(self.given, name)
        except AttributeError:
            return getattr(super(cls, self), name)
        return _adopting(value, base) if name in MAKING and value is not None else value

    return declared(read)


def _adopting(make: Callable[..., Any], base: type[Part]) -> Callable[..., Any]:
    """A method that returns a part of a user's own, or a tuple with one in front: that is adopted too."""

    def made(*arguments: Any) -> Any:
        result = make(*arguments)
        if type(result) is tuple:
            return (_taken_in(result[0], base), *result[1:])
        return _taken_in(result, base)

    return made


def _taken_in(value: object, base: type[Part]) -> Any:
    return value if isinstance(value, base) else ADAPTERS[base](value)


class Adapter:
    """A user's part: it has what the base declares, and whatever else the part has."""

    given: Any

    def __repr__(self) -> str:
        return repr(self.given)

    def __getattr__(self, name: str) -> Any:
        if name == "given" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.given, name)

    @property
    def name(self) -> str:
        return str(attribute(self.given, "name", type(self.given).__name__))


@_adapter(Proposal)
class AdoptedProposal(Adapter, Proposal):
    """A proposal of a user's own."""

    given: Any

    def __call__(self, noise: Tree, position: Position) -> tuple[Position, Array]:
        return self.given(noise, position)


@_adapter(Ratio)
class AdoptedRatio(Adapter, Ratio):
    """A ratio of a user's own: it may return the fields of a `Decision` as a plain tuple, the last left out."""

    given: Any

    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        return Decision(*self.given(noise, position, memory, candidate, log_proposal_ratio))


@_adapter(Evaluation)
class AdoptedEvaluation(Adapter, Evaluation):
    """An evaluation of a user's own."""

    given: Any

    def __call__(self, noise: Tree, position: Position) -> Array:
        return self.given(noise, position)


@_adapter(Estimator)
class AdoptedEstimator(Adapter, Estimator):
    """An estimator of a user's own."""

    given: Any

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        return self.given(noise, position, candidate)


@_adapter(Rule)
class AdoptedRule(Adapter, Rule):
    """A rule of a user's own."""

    given: Any

    def __call__(self, estimate: Estimate) -> Array:
        return self.given(estimate)


@_adapter(Randomization)
class AdoptedRandomization(Adapter, Randomization):
    """A randomization of a user's own."""

    given: Any


@_adapter(Involution)
class AdoptedInvolution(Adapter, Involution):
    """An involution of a user's own."""

    given: Any

    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
        return self.given(x, position, candidate)


@_adapter(Kernel)
class AdoptedKernel(Adapter, Kernel):
    """A kernel of a user's own."""

    given: Any


ADAPTERS: dict[type[Part], type[Any]] = {
    Proposal: AdoptedProposal,
    Ratio: AdoptedRatio,
    Evaluation: AdoptedEvaluation,
    Estimator: AdoptedEstimator,
    Rule: AdoptedRule,
    Randomization: AdoptedRandomization,
    Involution: AdoptedInvolution,
    Kernel: AdoptedKernel,
}
