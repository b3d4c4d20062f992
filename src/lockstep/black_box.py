"""Plain Python functions on NumPy arrays as parts of kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.arguments import is_array, shapes
from lockstep.parts import is_alike, is_concrete, is_key, part, static
from lockstep.randomness import RandomKey, is_traced, run_outside

ONE_NUMBER = jax.ShapeDtypeStruct((), np.float64)
_GENERATORS = (np.random.Generator, "Generator", "np.random.Generator", "numpy.random.Generator")


class Callee:
    """A user's function: where it takes its generator and the number of samples, and what it raised in a callback."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.rng_name: str | None = None  # None: the generator is the first argument
        self.takes_count = False
        self.sample_shape: tuple[int, ...] = ()  # of a sample, as it was last seen
        self.raised: BaseException | None = None
        self.is_deferring = False
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return
        self.takes_count = any(p.name == "count" for p in parameters)
        for index, p in enumerate(parameters):
            if p.name in ("rng", "generator") or p.annotation in _GENERATORS:
                self.rng_name = p.name if index and p.kind is not p.POSITIONAL_ONLY else None
                return

    def __call__(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Call the function, the noise first or by the name of its parameter."""
        if self.rng_name is not None and isinstance(arguments[0], np.random.Generator):
            keywords = {**keywords, self.rng_name: arguments[0]}
            arguments = arguments[1:]
        return run_outside(self.function, *arguments, **keywords)

    def repeat(self, rng: Any, others: list[Any], keywords: dict[str, Any], count: int) -> list[Any]:
        """Call the function that many times with one generator."""
        if self.rng_name is not None:
            arguments, keywords = others, {**keywords, self.rng_name: rng}
        else:
            arguments = [rng, *others]
        return run_outside(repeated, self.function, arguments, keywords, count)

    def bind(self, signature: inspect.Signature, arguments: tuple[Any, ...]) -> None:
        """A TypeError if the function cannot be called with these arguments."""
        names = []
        if self.rng_name is not None and (isinstance(arguments[0], RandomKey) or is_key(arguments[0])):
            names, arguments = [self.rng_name], arguments[1:]
        if self.takes_count:
            names.append("count")
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
        return getattr(self.function, "__name__", repr(self.function))


@part
class BlackBox:
    """A Python function that is called on the host; made by `ls.blackbox`."""

    callee: Callee = static()
    is_vectorized: bool = static(default=False)
    is_batched: bool = static(default=False)
    is_callback: bool = static(default=False)  # compiled code calls it back, instead of being interpreted
    like: Any = static(default=(ONE_NUMBER, None))  # what it returns, for callbacks: a leaf, or leaves and structure

    def __call__(self, *arguments: Any) -> Any:
        if self.is_callback:
            return self._call_back(arguments, {}) if is_traced(arguments) else self._call(arguments, {})
        callee = self.callee
        if callee.rng_name is None:
            return run_outside(callee.function, *map(own, arguments))
        return callee([*map(own, arguments)], {})

    def all_samples(self, count: int, *arguments: Any) -> Any:
        """All samples of an estimator, from one call or from one call each."""
        callee = self.callee
        keywords = {"count": count} if callee.takes_count else {}
        if self.is_callback and is_traced(arguments):
            like = jax.ShapeDtypeStruct((count, *callee.sample_shape), np.float64)
            return replaced(self, like=(like, None))._samples_back(arguments, keywords, count)
        return self._samples(arguments, keywords, count)

    def _samples(self, arguments: tuple[Any, ...], keywords: dict[str, Any], count: int) -> Any:
        if self.is_vectorized:
            return self._call(arguments, keywords)
        noise, *others = arguments
        prepared = [own(argument) for argument in others]
        if type(noise) is RandomKey or is_key(noise):
            return self.callee.repeat(own(noise), prepared, keywords, count)
        rows = [jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], noise) for i in range(count)]
        return [_kept(self.callee([row, *prepared], keywords)) for row in rows]

    def _call(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self.is_batched:
            result = self.callee([own(_batch_of_one(argument)) for argument in arguments], keywords)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[0], result)
        return self.callee([own(argument) for argument in arguments], keywords)

    def _samples_back(self, arguments: tuple[Any, ...], keywords: dict[str, Any], count: int) -> Any:
        if self.is_vectorized or self.is_batched:
            return self._call_back(arguments, keywords)
        return self._call_back(arguments, keywords, lambda given: self._samples(given, keywords, count))

    def _call_back(self, arguments: tuple[Any, ...], keywords: dict[str, Any], call: Any = None) -> Any:
        """The function's value in compiled code: all that `vmap` maps over at once if batched, else one by one."""
        leaves, structure = jax.tree.flatten(jax.tree.map(RandomKey.of, arguments, is_leaf=is_key))
        leaves = [_not_differentiated(jnp.asarray(leaf)) for leaf in leaves]
        ranks, dtypes = [leaf.ndim for leaf in leaves], [leaf.dtype for leaf in leaves]
        wanted = jax.tree.unflatten(self.like[1], self.like[0]) if self.like[1] is not None else self.like[0]

        def host(*words: Any) -> Any:
            leaves = [_from_words(word, dtype) for word, dtype in zip(words, dtypes, strict=True)]
            batch = leaves[0].shape[: leaves[0].ndim - ranks[0]] if self.is_batched else ()
            try:
                if self.callee.raised is not None:
                    raise self.callee.raised
                if self.is_batched:
                    leaves = [leaf.reshape((-1, *leaf.shape[len(batch) :])) for leaf in leaves]
                given = jax.tree.unflatten(structure, leaves)
                result = self.callee([*map(own, given)], keywords) if call is None else call(given)
                fitted = _fitted(result, wanted, (len(leaves[0]),) if self.is_batched else ())
            except BaseException as error:
                if not self.callee.is_deferring:
                    raise
                # Whoever waits for the compiled code raises it; until then there are no numbers.
                self.callee.raised = error
                fitted = jax.tree.map(lambda leaf: np.zeros((*batch, *leaf.shape), leaf.dtype), wanted)
            return jax.tree.map(lambda leaf, want: _to_words(leaf.reshape((*batch, *want.shape))), fitted, wanted)

        method = "broadcast_all" if self.is_batched else "sequential"
        sent = jax.tree.map(lambda want: jax.eval_shape(_to_words, want), wanted)
        words = jax.pure_callback(host, sent, *map(_to_words, leaves), vmap_method=method)
        return jax.tree.map(lambda word, want: _from_words(word, want.dtype), words, wanted)

    def __repr__(self) -> str:
        return f"blackbox({self.callee!r})"


def blackbox(function: Callable[..., Any], vectorized: bool = False, batched: bool = False) -> Any:
    """Let a kernel call a plain Python function on NumPy arrays.

    Give the result wherever a kernel takes a log density, a noisy log likelihood, a simulator, or the sample of an
    estimator. The kernel is then interpreted: the same steps, without a compiler, on NumPy arrays. The function may do
    what Python can (call SciPy, a compiled library, another program), and its exceptions and tracebacks arrive as they
    are. Its arguments are read-only.

    A function that needs random numbers draws them from a `numpy.random.Generator`, which takes the place of the random
    key of compiled functions: it is the parameter called ``rng``, wherever that stands, or else the first one. Its
    numbers depend on the seed, the chain and the step alone, so that runs can be repeated, resumed and coupled. All
    samples of an estimator share one generator, from which they draw one after the other. With a ``draw``, a JAX
    function, the noise that it makes takes the generator's place.

    Parameters
    ----------
    function
        Such as ``log_density(theta)``, ``log_estimate(theta, rng)``, ``sample(rng, position, candidate)`` or
        ``simulate(rng, theta)``.
    vectorized
        For the samples of an estimator: one call returns all m of them, a row each. If the function has a parameter
        ``count``, it gets m.
    batched
        One call for all chains: every array has a leading axis over the chains, and so must the result (in an
        estimator the second axis is over the m samples). The rest of the kernel is compiled. There is one generator for
        all chains; its numbers depend on the seed, the step and all chains of the call.

    Examples
    --------
    A log density, and a noisy log likelihood for the pseudo-marginal method:

    >>> import numpy as np, lockstep as ls
    >>> def log_density(theta):
    ...     return -0.5 * np.sum(theta**2)
    >>> def log_estimate(theta, rng):  # the average of 20 weights with mean 1
    ...     return log_density(theta) + np.log(np.mean(rng.exponential(size=20)))
    >>> exact = ls.standard(ls.blackbox(log_density), ls.RandomWalk(1.0))
    >>> noisy = ls.pseudo_marginal(ls.blackbox(log_estimate), ls.RandomWalk(1.0))
    >>> ls.sample(noisy, np.zeros(2), draws=100, chains=2, seed=1).positions.shape
    (2, 100, 2)

    Notes
    -----
    A black box ``combine`` of `ls.estimators.smooth` has differences for derivatives; vectorized, it gets several
    averages, a row each. A ``draw`` and the ``sample`` of `ls.Independent` make noise, which is always compiled: they
    cannot be black boxes.
    """
    if isinstance(function, BlackBox):
        raise TypeError(f"function of blackbox is a black box already, {function!r}; wrap it once")
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"function of blackbox must be a Python function, not {function!r}")
    for name, flag in (("vectorized", vectorized), ("batched", batched)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} of blackbox is {flag!r}; it must be True or False")
    return BlackBox(Callee(function), vectorized or batched, batched, batched)


def replaced(box: BlackBox, **changes: Any) -> BlackBox:
    """A black box with some fields changed."""
    names = ("callee", "is_vectorized", "is_batched", "is_callback", "like")
    return BlackBox(**{name: changes.get(name, getattr(box, name)) for name in names})


@jax.custom_jvp
def _not_differentiated(leaf: Any) -> Any:
    """An argument of a callback, through which no derivative goes: it would be zero without a word."""
    return leaf


@_not_differentiated.defjvp
def _refuse(primals: Any, tangents: Any) -> Any:
    raise TypeError("a black box has no derivative in compiled code; write this function with jax.numpy")


def _to_words(array: Any) -> Any:
    """Numbers of 64 bits as two of 32: the threads of callbacks do not know of double precision."""
    if array.dtype.itemsize != 8:
        return array
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape((*array.shape, 1)).view(np.uint32)
    return jax.lax.bitcast_convert_type(array, np.uint32)


def _from_words(words: Any, dtype: Any) -> Any:
    if dtype.itemsize != 8:
        return np.asarray(words) if is_concrete(words) else words
    if is_concrete(words):
        return np.ascontiguousarray(words).view(dtype)[..., 0]
    return jax.lax.bitcast_convert_type(words, dtype)


def own(argument: Any) -> Any:
    """An argument as a user's function gets it: read-only NumPy arrays, and a generator for a random key."""
    kind = type(argument)
    if kind is np.ndarray:
        argument.setflags(write=False)
        return argument
    if kind is RandomKey:
        return argument.generator()
    if isinstance(argument, np.generic):
        return argument
    if is_traced(argument):
        raise TypeError(
            "a black box was called in code that is being compiled, or by a function that is no black box; wrap the "
            "outermost function, ls.blackbox(function). A draw, an initial position and the sample of ls.Independent "
            "must be JAX functions"
        )
    if isinstance(argument, jax.Array):
        return RandomKey.of(argument).generator() if is_key(argument) else own(np.array(argument)[()])
    if jax.tree_util.all_leaves([argument]):
        return argument
    return jax.tree.map(own, argument, is_leaf=lambda node: isinstance(node, RandomKey))


def _batch_of_one(argument: Any) -> Any:
    if type(argument) is RandomKey or is_key(argument):
        return argument
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], argument)


def repeated(function: Any, arguments: Any, keywords: dict[str, Any], count: int) -> list[Any]:
    """That many results of a function, which may use its array again."""
    first = function(*arguments, **keywords)
    if type(first) is np.ndarray:
        return [first.copy(), *(_kept(function(*arguments, **keywords)) for _ in range(count - 1))]
    return [first, *[function(*arguments, **keywords) for _ in range(count - 1)]]


def _kept(result: Any) -> Any:
    """A sample that does not change when the function uses its array again."""
    return result.copy() if type(result) is np.ndarray else result


def _fitted(result: Any, wanted: Any, batch: tuple[int, ...]) -> Any:
    """A result with the structure, shapes and dtypes that compiled code expects."""
    if isinstance(result, list) and isinstance(wanted, jax.ShapeDtypeStruct):
        result = np.asarray(result)
    leaves, structure = jax.tree.flatten(result)
    expected = jax.tree.leaves(wanted)
    fits = is_alike(result, wanted) and all(is_array(leaf) for leaf in leaves)
    if not fits or any(np.shape(leaf) != (*batch, *want.shape) for leaf, want in zip(leaves, expected, strict=True)):
        sizes = ", ".join(str((*batch, *want.shape)) for want in expected)
        axis = " (its first axis is over the chains)" if batch else ""
        raise ValueError(f"a black box returned {shapes(result)}; here it must return arrays of shape {sizes}{axis}")
    for leaf in leaves:
        if np.asarray(leaf).dtype.kind == "c":
            raise TypeError("a black box returned complex numbers; it must return real ones")
    return jax.tree.unflatten(
        structure, [np.asarray(leaf, want.dtype) for leaf, want in zip(leaves, expected, strict=True)]
    )
