"""A user's function: where it takes its generator and the number of samples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.core.foreign import name_of
from lockstep.host.generator import is_generator

GENERATORS = (np.random.Generator, "Generator", "np.random.Generator", "numpy.random.Generator")
# A parameter of such a name is meant for random numbers, one of those for a position.
FOR_NUMBERS = frozenset(
    {"key", "rng_key", "prng_key", "random_key", "seed", "random_state", "random_generator", "random", "prng"}
    | {"gen", "rnd", "rand", "np_rng"}
)
FOR_POSITIONS = frozenset({"theta", "position", "candidate", "parameters", "params"})


class Callee:
    """A user's function, and what its signature says."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.rng_name: str | None = None  # None: the generator is the first argument
        parameters = self.parameters()
        self.takes_count = any(p.name == "count" for p in parameters)
        self.takes_limit = any(p.name == "stop_below" for p in parameters)
        for index, p in enumerate(parameters):
            if p.name in ("rng", "generator") or p.annotation in GENERATORS:
                self.rng_name = p.name if index and p.kind is not p.POSITIONAL_ONLY else None
                return

    def parameters(self) -> list[inspect.Parameter]:
        """The parameters of the function; none if they cannot be seen."""
        try:
            return list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return []

    def require_generator_first(self, count: int) -> None:
        """Refuse to give the generator as the first of that many arguments to a function that is meant otherwise."""
        positional = [p for p in self.parameters() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
        if not positional or positional[0].name in ("rng", "generator") or positional[0].annotation in GENERATORS:
            return
        first, *others = [p.name for p in positional]
        meant = next((name for name in others if name in FOR_NUMBERS), None)
        if meant is None and first not in FOR_POSITIONS:
            return
        meant = meant or (others[-1] if others else first)
        written = ", ".join("rng" if name == meant else name for name in [first, *others])
        raise TypeError(
            f"{self!r}({', '.join([first, *others])}) has no parameter called `rng`, so that the random generator "
            f"would be its first argument, `{first}`; write {self!r}({written}). It is a numpy.random.Generator: draw "
            f"with rng.normal(), rng.integers(10), …"
        )

    def bind(self, signature: inspect.Signature, arguments: tuple[Any, ...]) -> None:
        """A TypeError if the function cannot be called with these arguments."""
        names = []
        if self.rng_name is not None and is_generator(arguments[0]):
            names, arguments = [self.rng_name], arguments[1:]
        names += ["count"] * self.takes_count + ["stop_below"] * self.takes_limit
        signature.bind(*arguments, **dict.fromkeys(names))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callee) and (self.function is other.function or self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        try:
            hash(self.function)
        except TypeError:
            return id(self.function)
        return self.function

    def __repr__(self) -> str:
        return name_of(self.function)
