"""Users' functions: wrapped once, and checked where they are called."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_array, shapes
from lockstep.core.declared import Part
from lockstep.core.foreign import attribute
from lockstep.core.parts import part, set_field, show, static
from lockstep.core.shown import Showing
from lockstep.core.simulator import Simulation
from lockstep.core.trees import is_concrete, is_key
from lockstep.core.types import Key, Position, Shape
from lockstep.host.black_box import BlackBox
from lockstep.host.boxes import is_box
from lockstep.host.call import calling
from lockstep.host.callee import FOR_NUMBERS
from lockstep.host.generator import RandomKey

T = TypeVar("T")
FLOAT = np.float64
GENERATORS = (RandomKey, np.random.Generator)
GENERATOR_NAMES = frozenset({"rng", "generator"})  # of parameters


def call_checked(
    function: Callable[..., Any], name: str, arguments: tuple[Any, ...], call: Callable[..., Any] | None = None
) -> Any:
    """Call a user's function; a tracing failure becomes an error that names the function and the remedy.

    Other errors arrive as they are, with a note of what was called. ``call`` is another way to call it.
    """
    try:
        return (call or function)(*arguments)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        reason = str(error).split("\n", 1)[0]
        raise TypeError(
            f"{name} is not a JAX function: it needs the values of its arguments, which are not known while it is "
            f"being compiled. Write it with jax.numpy and jax.random instead of numpy, math or `if`, or let it be "
            f"called as it is with ls.blackbox(function). ({reason})"
        ) from error
    except Exception as error:
        explain(error, function, name, arguments)
        raise


def explain(error: Exception, function: Callable[..., Any], name: str, arguments: tuple[Any, ...]) -> None:
    """Note in a user's error what was called; another error if the function cannot be called like that at all."""
    _require_arity(function, name, arguments)
    error.add_note(f"{name} was called with {_given(arguments)}.")
    if hint := _hint(function, arguments, error):
        error.add_note(hint)


def _given(arguments: tuple[Any, ...]) -> str:
    """What a function was called with."""
    return ", ".join(
        "a random key" if is_key(a) else "a random generator" if isinstance(a, GENERATORS) else shapes(a)
        for a in arguments
    )


def _hint(function: Callable[..., Any], arguments: tuple[Any, ...], error: Exception) -> str:
    if is_box(function):
        return "The arguments of a black box are read-only: copy them first." if "read-only" in str(error) else ""
    return "If it is written for NumPy, wrap it: ls.blackbox(function)." if not is_concrete(arguments) else ""


def _require_arity(function: Callable[..., Any], name: str, arguments: tuple[Any, ...]) -> None:
    """Refuse a function that cannot take that many arguments."""
    box = function if is_box(function) else None
    try:
        signature = inspect.signature(function if box is None else box.callee.function)
    except (TypeError, ValueError):
        return
    try:
        if box is None:
            signature.bind(*arguments)
        else:
            box.callee.bind(signature, arguments)
    except TypeError as error:
        what = ""
        if box is None and GENERATOR_NAMES.intersection(signature.parameters):
            what = " (if it is written for NumPy, wrap it: ls.blackbox(function))"
        if box is not None:
            what = f" (it is called with {_given(arguments)})"
            if isinstance(arguments[0], GENERATORS) or is_key(arguments[0]):
                what += ", the generator as the parameter `rng` or the first one"
            elif FOR_NUMBERS.union(GENERATOR_NAMES).intersection(signature.parameters):
                what += ", without a random generator: a noisy log density is for ls.pseudo_marginal"
        raise TypeError(
            f"{name} must take {len(arguments)} positional argument{'s' * (len(arguments) > 1)}{what}, but its "
            f"signature is {signature} ({error})"
        ) from None


def arity(function: Callable[..., Any]) -> int:
    """How many positional arguments a function takes without being given defaults; 0 if that cannot be seen."""
    if is_box(function):
        return arity(function.callee.function)
    if isinstance(function, jax.tree_util.Partial):
        return arity(function.func) - len(function.args)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


@runtime_checkable
class Noisy(Protocol):
    """A part, of a user's own or not: what draws noise for itself is no plain function."""

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any: ...


def as_function(function: Callable[..., Any], name: str) -> Any:
    """Wrap a user's callable once, so that it is a pytree node whose data are leaves; parts stay as they are."""
    if not callable(function):
        raise TypeError(f"{name} must be a function, not {function!r}")
    if isinstance(function, type):
        raise TypeError(f"{name} must be a function, not the class {function.__name__}; give an instance of it")
    if isinstance(function, Noisy):
        raise TypeError(f"{name} must be a function, not {function!r}; are the arguments in the right order?")
    if jax.tree_util.all_leaves([function]):
        return jax.tree_util.Partial(function)
    return function


class Wrapped(Showing):
    """A function that is made of wrapped ones, so that it needs no wrapping."""

    box = None


def shown_by(*functions: Any) -> Any:
    """How positions are shown by the first of some wrapped functions that says so; None if none does."""
    said = (function.shown for function in functions if function is not None)
    return next((shown for shown in said if shown is not None), None)


def wrapped(kind: type[T], function: Any, name: str) -> T:
    """A user's function as a `Function` or a `Scalar`, wrapped once."""
    return function if isinstance(function, (kind, Wrapped)) else kind(function, name)  # type: ignore[call-arg, return-value]


class Checked(Part):
    """A user's function, wrapped once, and checked where it is called."""

    function: Any
    name: str
    is_scalar = False  # whether it must return one number

    def __post_init__(self) -> None:
        set_field(self, "function", as_function(self.function, self.name))

    @abstractmethod
    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""

    @abstractmethod
    def kept(self, result: Any) -> Any:
        """What a black box returned on the host, checked, and safe from what it does next."""

    @property
    def box(self) -> BlackBox | None:
        """The black box that it is; None: it is none."""
        return self.function if is_box(self.function) else None

    @property
    def hosted(self) -> Callable[[dict[Any, Any]], Any] | None:
        return None if self.box is None or self.box.is_callback else self._straight

    def _straight(self, functions: dict[Any, Any]) -> Any:
        callee = self.function.callee
        return functions.setdefault((callee, self.name, type(self)), calling(callee, self.kept, self.explain))

    def explain(self, error: Exception, arguments: tuple[Any, ...]) -> None:
        """Say more of an error of the function."""
        explain(error, self.function, self.name, arguments)

    @property
    def shown(self) -> Any:
        """As the part says that it is, or of which it is a method."""
        is_plain = isinstance(self.function, jax.tree_util.Partial)
        given = attribute(self.function.func, "__self__") if is_plain else self.function
        return given.shown if isinstance(given, (Part, Showing)) else None

    def __repr__(self) -> str:
        return show(self.function)


@part
class Function(Checked):
    """A user's function of any result."""

    function: Any
    name: str = static()

    def __call__(self, *arguments: Any) -> Any:
        return as_arrays(call_checked(self.function, self.name, arguments), self.name)

    def kept(self, result: Any) -> Any:
        # A copy: the function may fill the same array again, and is not to find it read-only.
        checked = as_arrays(result, self.name)
        return checked.copy() if type(checked) is np.ndarray else jax.tree.map(np.array, checked)


@part
class Scalar(Checked):
    """A user's function that must return one real number; whatever its dtype, the result is a float."""

    function: Any
    name: str = static()
    is_scalar = True

    def __call__(self, *arguments: Any) -> Any:
        return as_scalar(call_checked(self.function, self.name, arguments), self.name)

    def kept(self, result: Any) -> Any:
        return as_scalar(result, self.name)


def simulation(simulate: Function) -> Simulation:
    """What a user's simulator says of itself, however it is wrapped."""
    given = simulate.function
    while True:
        if is_box(given):
            given = given.callee.function
        elif isinstance(given, jax.tree_util.Partial):
            given = given.func
        else:
            return Simulation(given)


def as_arrays(result: Any, name: str) -> Any:
    """The result of a user's function if it is an array or a structure of arrays."""
    if type(result) is np.ndarray and result.dtype.kind == "f":
        return result
    if is_array(result):
        return result
    if result is None:
        raise TypeError(f"{name} returned None; it must return an array (is a `return` missing?)")
    for leaf in jax.tree.leaves(result):
        if not is_array(leaf):
            raise TypeError(f"{name} returned {leaf!r}; it must return an array or a structure of arrays")
    return result


def as_scalar(result: Any, name: str) -> Any:
    """The result of a user's function as one float, or an error that says what it returned instead."""
    kind = type(result)
    if kind is FLOAT:
        return result
    if kind is float or isinstance(result, np.floating):
        return FLOAT(result)
    if result is None:
        raise TypeError(f"{name} returned None; it must return one real number (is a `return` missing?)")
    if not jax.tree_util.all_leaves([result]):
        raise TypeError(f"{name} returned {shapes(result)}; it must return one real number")
    if not is_array(result) or is_key(result):
        what = "a random key" if is_key(result) else repr(result)
        raise TypeError(f"{name} returned {what}; it must return one real number")
    dtype = jnp.result_type(result)
    if dtype == np.bool_:
        raise TypeError(
            f"{name} returned a boolean; it must return one real number (a log density is "
            f"jnp.where(condition, 0.0, -jnp.inf), not the condition)"
        )
    if np.issubdtype(dtype, np.complexfloating):
        raise TypeError(f"{name} returned a complex number; it must return a real one (take .real if it is meant)")
    if np.ndim(result):
        raise ValueError(
            f"{name} returned an array of shape {np.shape(result)}; it must return one number (sum over the "
            f"components, for example with jnp.sum)"
        )
    return jnp.asarray(result, float) if isinstance(result, jax.Array) else np.float64(result)
