"""A user's log prior: it comes first, and None is a flat one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.arguments import shapes
from lockstep.core.parts import part
from lockstep.core.types import Position
from lockstep.host.functions import Scalar, wrapped


@part
class Flat:
    """A log prior that is constant: that of parameters which have theirs elsewhere, or none."""

    def __call__(self, position: Position) -> float:
        return 0.0


def prior_of(log_prior: Callable[..., Any]) -> Scalar:
    """A user's log prior, or a flat one."""
    return wrapped(Scalar, Flat() if log_prior is None else log_prior, "log_prior")


def require_order(log_likelihood: Callable[..., Any], call: str) -> None:
    """Refuse data, or nothing, where the log likelihood belongs: the prior was forgotten, or does not come first."""
    if not callable(log_likelihood):
        raise TypeError(
            f"log_likelihood is {shapes(log_likelihood)}; it must be a function, the second argument: {call}, with "
            f"None as log_prior for a flat one"
        )
