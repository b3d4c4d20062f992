"""Plain Python functions on NumPy arrays as parts of kernels."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import is_array, shapes
from lockstep.core.parts import part, static
from lockstep.core.trees import is_alike, is_concrete, is_key
from lockstep.host.call import calling, sampling
from lockstep.host.callback import on_host
from lockstep.host.callee import Callee
from lockstep.host.failures import forgiven
from lockstep.host.generator import RandomKey, is_generator, own_generator

ONE_NUMBER = jax.ShapeDtypeStruct((), np.float64)
# The shapes of the samples of functions, as they were last seen: a callback must know them before it is called.
_SAMPLE_SHAPES: weakref.WeakKeyDictionary[Callee, tuple[int, ...]] = weakref.WeakKeyDictionary()


@part
class BlackBox:
    """A Python function that is called on the host; made by `ls.blackbox`."""

    callee: Callee = static()
    is_vectorized: bool = static(default=False)
    is_batched: bool = static(default=False)
    is_callback: bool = static(default=False)  # compiled code calls it back, instead of being interpreted
    like: Any = static(default=(ONE_NUMBER, None))  # what it returns, for callbacks: a leaf, or leaves and structure
    slot: Any = None  # where errors of a callback are noted, if they are to be forgiven

    def __call__(self, *arguments: Any) -> Any:
        return self._called(calling, arguments, self.like)

    def all_samples(self, count: int, *arguments: Any) -> Any:
        """All samples of an estimator, from one call or from one call each."""
        like = jax.ShapeDtypeStruct((count, *_SAMPLE_SHAPES.get(self.callee, ())), np.float64)
        way = functools.partial(sampling, count=count, is_vectorized=self.is_vectorized)
        return self._called(way, arguments, (like, None))

    def _called(self, way: Callable[[Callee], Callable[..., Any]], arguments: tuple[Any, ...], like: object) -> Any:
        """The function called in a way of `lockstep.host.call`: here and now, or back from compiled code."""
        if self.is_callback and not is_concrete(arguments):
            return self._called_back(way, arguments, like)
        with own_generator():
            if not self.is_batched:
                return way(self.callee)(*arguments)
            result = way(self.callee)(*map(_batch_of_one, arguments))
            return jax.tree.map(lambda leaf: np.asarray(leaf)[0], result)

    def _called_back(self, way: Callable[[Callee], Callable[..., Any]], arguments: tuple[Any, ...], like: Any) -> Any:
        """The function's value in compiled code: all that `vmap` maps over at once if batched, else one by one."""
        given = jax.tree.map(RandomKey.of, arguments, is_leaf=is_key)
        leaves, structure = jax.tree.flatten((given, self.slot))
        wanted = jax.tree.unflatten(like[1], like[0]) if like[1] is not None else like[0]

        def host(*arrays: Any) -> Any:
            given, slot = jax.tree.unflatten(structure, arrays)
            batch = (len(arrays[0]),) if self.is_batched else ()
            blank = jax.tree.map(lambda want: np.zeros((*batch, *want.shape), want.dtype), wanted)
            return forgiven(slot, blank, lambda: _fitted(way(self.callee)(*given), wanted, batch))

        return on_host(host, wanted, *leaves, is_batched=self.is_batched)

    def __repr__(self) -> str:
        return f"blackbox({self.callee!r})"


def see_sample(box: BlackBox, shape: tuple[int, ...]) -> None:
    """Remember the shape of the samples of a black box."""
    _SAMPLE_SHAPES[box.callee] = shape


def see_alike(box: BlackBox, other: BlackBox) -> None:
    """Remember that the samples of a black box are shaped as those of another."""
    if other.callee in _SAMPLE_SHAPES:
        see_sample(box, _SAMPLE_SHAPES[other.callee])


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
    A function with a parameter called ``stop_below`` gets the value below which its candidate is certain to be
    rejected, and may return minus infinity as soon as it knows that its result will be less: the draws are the same,
    and the log ratios of such candidates minus infinity. It is minus infinity where that is not known: at the start, in
    couplings, and for everything but log densities, their estimates, and the one sample of a naive estimator with
    ``count=1``.

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
    names = ("callee", "is_vectorized", "is_batched", "is_callback", "like", "slot")
    return BlackBox(**{name: changes.get(name, getattr(box, name)) for name in names})


def _batch_of_one(argument: Any) -> Any:
    return argument if is_generator(argument) else jax.tree.map(lambda leaf: np.asarray(leaf)[None], argument)


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
