"""Priors of single parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from lockstep.core.declared import Part, declared
from lockstep.core.parts import part
from lockstep.core.types import Array, Key, Shape
from lockstep.parameters.supports import Support


class Prior(Part):
    """The log density of a parameter, called with its value."""

    support: Support

    @abstractmethod
    def __call__(self, value: Array) -> Array:
        """The log density, summed over the entries of an array."""

    @declared
    def draw(self) -> Callable[[Key], Array] | None:
        """``draw(key)``: a value; None: it is no law that can be drawn from."""
        return None


@part
class Flat(Prior):
    """A support alone: a density that is constant, or that a joint ``log_prior`` gives."""

    support: Support

    computes_on_numpy = True

    def __call__(self, value: Array) -> Array:
        return 0.0

    def __repr__(self) -> str:
        return repr(self.support)


def broadcast(own: Shape, name: str, shape: Shape | None) -> Shape:
    """The shape of a parameter whose prior has a shape: that of its named axes, if it has such."""
    if shape is None or shape == own:
        return own
    if own:
        raise ValueError(f"dims of {name}: its axes have lengths {shape}, but its prior is of shape {own}")
    return shape
