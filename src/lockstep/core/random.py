"""Random numbers in bulk, at a third of the processor time that JAX takes for them: `ls.random`.

The generator is JAX's, Threefry, written out; what is made of its words is a polynomial or two, in operations that
compiled code takes four or eight at a time. The law is right to the tails: of 52 bits each are the radius and the angle
within a quarter turn, so that no normal number lies beyond 8.5.

XLA decides the speed. It would compute words anew for each of their uses, and eight at a time only where nothing wider
is near; so each stage is a loop of its own over the two halves of what it makes (`lax.map`), and leaves one array:
two numbers that are made together, such as a sine and a cosine, are the two parts of a complex number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

from lockstep.core.arguments import whole
from lockstep.core.trees import is_key
from lockstep.core.types import Array, Key, Shape

__all__ = ["exponential", "normal"]

TRANSFORM = "Box-Muller on words of Threefry, rows of 52 bits"  # recorded with a run: another one makes other draws

MOST_ON_HOST = 4096  # keys that are derived without a program

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0: with 52 others below them, of a number from 1 up to 2
_ROOT_HALF = np.float64(math.sqrt(0.5)).view(np.uint64)
_MANTISSA = np.uint64(2**52 - 1)
_SIGN, _AXIS = np.uint64(2**63), np.uint64(2**62)
_ATANH = [2 / (2 * n + 3) for n in range(9)]  # of (2 atanh(s) - 2s)/s³ in s², for s up to 0.172
_SINE = [(-1) ** n / math.factorial(2 * n + 1) for n in range(8)]  # of sin(x)/x in x², for x up to π/4
_COSINE = [(-1) ** n / math.factorial(2 * n) for n in range(9)]


ON_HOST = SimpleNamespace(
    add=np.add,
    shift_left=np.left_shift,
    shift_right_logical=np.right_shift,
    bitwise_xor=np.bitwise_xor,
    bitwise_or=np.bitwise_or,
)


def normal(key: Key, shape: Shape = ()) -> Array:
    """Standard normal numbers.

    As `jax.random.normal`, in a third of its processor time, and in double precision wherever a run is. Give it to
    estimators as ``draw=lambda key, count: ls.random.normal(key, (count,))``.

    Examples
    --------
    >>> import jax
    >>> import lockstep as ls
    >>> ls.random.normal(jax.random.key(0), (3, 2)).shape
    (3, 2)
    """
    shape = _checked(shape)
    return _normal(key, shape) if _has_words(key) else jr.normal(key, shape, float)


def exponential(key: Key, shape: Shape = ()) -> Array:
    """Standard exponential numbers: as `jax.random.exponential`, in less than half of its processor time."""
    shape = _checked(shape)
    return _exponential(key, shape) if _has_words(key) else jr.exponential(key, shape, float)


def uniform(key: Key, shape: Shape = ()) -> Array:
    """As `jax.random.uniform`, the same numbers from 0 up to 1, compiled sooner."""
    shape = _checked(shape)
    return _uniform(key, shape) if _has_words(key) and _is_counted(key) else jr.uniform(key, shape, float)


def below(key: Key, size: int, shape: Shape = ()) -> Array:
    """Whole numbers from 0 up to, but without, ``size``, equally likely to one part in 2⁵²/size.

    `jax.random.randint` takes four times as many words of Threefry, which take seconds to compile.
    """
    shape = _checked(shape)
    return _below(key, size, shape) if _has_words(key) else jr.randint(key, shape, 0, size, np.int32)


def split(key: Key, shape: int | Shape = 2) -> Key:
    """As `jax.random.split`, the same keys, in programs that are compiled in less than half the time."""
    if not _is_counted(key):
        return jr.split(key, shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if _is_known(key):
        return _like(key, _on_host(key, np.arange(math.prod(shape)).reshape(shape)))
    return _like(key, _derived(key, lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)))


def two_keys(key: Key) -> tuple[Key, Key]:
    """The two of ``jax.random.split(key)``."""
    if _is_counted(key) and _is_known(key):
        first, second = (_like(key, words) for words in _on_host(key, np.arange(2)))
    else:
        first, second = (fold_in(key, 0), fold_in(key, 1)) if _is_counted(key) else jr.split(key)
    return first, second


def fold_in(keys: Key, numbers: Any) -> Key:
    """As `jax.random.fold_in`, the same keys: each number into each key, with the axes of both."""
    if _is_counted(keys) and _is_known(keys, numbers):
        return _like(keys, _on_host(keys, numbers))
    fold = _fold_in
    for _ in range(np.ndim(numbers)):
        fold = jax.vmap(fold, in_axes=(None, 0))
    for _ in range(keys.ndim - (not is_key(keys))):
        fold = jax.vmap(fold, in_axes=(0, None))
    return fold(keys, numbers)


def seeded(seed: int) -> Key:
    """As `jax.random.key`, without a program."""
    settings: Any = jax.config
    if settings.jax_default_prng_impl != "threefry2x32":
        return jr.key(seed)
    seed = int(seed)  # of NumPy, it might have too few bits
    words: Any = np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
    return jr.wrap_key_data(words, impl="threefry2x32")


def _fold_in(key: Key, number: Array) -> Key:
    return _like(key, _derived(key, jnp.uint32(number))) if _is_counted(key) else jr.fold_in(key, number)


def _is_known(*arguments: Any) -> bool:
    """Whether these are numbers now, and few: words of Threefry are then made sooner than a program that makes them."""
    return all(not isinstance(each, jax.core.Tracer) and np.size(each) <= MOST_ON_HOST for each in arguments)


def _on_host(keys: Key, counter: Any) -> np.ndarray:
    """The words of `_derived` for each of the counter and each key."""
    with jax.ensure_compile_time_eval():  # though the function around it be traced
        words, counter = np.asarray(jr.key_data(keys)), np.asarray(counter, np.uint32)
    shape = (*words.shape[:-1], *counter.shape)
    first, second = np.moveaxis(words.reshape(-1, 1, 2), -1, 0)
    made = _threefry(first, second, np.zeros((1, 1), np.uint32), counter.reshape(1, -1), ON_HOST)
    return np.stack(np.broadcast_arrays(*made), axis=-1).reshape(*shape, 2)


def _is_counted(key: Key) -> bool:
    """Whether the keys that JAX derives from this one are words of Threefry at a counter."""
    settings: Any = jax.config
    return bool(jr.key_impl(key) == "threefry2x32" and settings.jax_threefry_partitionable)


def _like(key: Key, words: Array) -> Key:
    return jr.wrap_key_data(words, impl="threefry2x32") if is_key(key) else words


@jax.jit
def _derived(key: Key, counter: Array) -> Array:
    first, second = jr.key_data(key)
    words = _threefry(first, second, jnp.zeros_like(counter), counter)
    # One array with a barrier behind it: XLA would make all words once for each of the two.
    pairs = lax.optimization_barrier(lax.complex(*(lax.bitcast_convert_type(word, jnp.float32) for word in words)))
    return lax.bitcast_convert_type(jnp.stack([pairs.real, pairs.imag], axis=-1), jnp.uint32)


def _checked(shape: Shape) -> tuple[int, ...]:
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"shape is {shape!r}; give a tuple of whole numbers, such as (3, 2)")
    return tuple(whole(extent, "shape", 0) for extent in shape)


def _has_words(key: Key) -> bool:
    """Whether this is a key of Threefry, in a scope of double precision; of others JAX makes its own numbers."""
    is_raw = isinstance(key, (jax.Array, np.ndarray)) and key.dtype == np.uint32 and key.ndim == 1
    if not (is_raw or (is_key(key) and key.ndim == 0)):
        raise TypeError(f"key is {key!r}; give one key, such as jax.random.key(0)")
    return jnp.result_type(float) == np.float64 and jr.key_impl(key) == "threefry2x32"


@functools.partial(jax.jit, static_argnums=(1, 2))
def _below(key: Key, size: int, shape: tuple[int, ...]) -> Array:
    return _share(_counted(key, shape), size)


@functools.partial(jax.jit, static_argnums=1)
def _uniform(key: Key, shape: tuple[int, ...]) -> Array:
    return _from_one_to_two(_counted(key, shape)) - 1.0


def _counted(key: Key, shape: tuple[int, ...]) -> Array:
    """Numbers of 64 bits: the words of Threefry at 0, 1, 2 and so on."""
    counter = lax.iota(jnp.uint32, math.prod(shape))
    first, second = jr.key_data(key)
    return _pair(*_threefry(first, second, jnp.zeros_like(counter), counter)).reshape(shape)


def _share(bits: Array, size: int) -> Array:
    """The whole part of a uniform number times ``size``, which the largest misses by a digit that rounding keeps."""
    return ((_from_one_to_two(bits) - 1.0) * size).astype(np.int32)


@functools.partial(jax.jit, static_argnums=1)
def _exponential(key: Key, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    return _minus_log(_unit(_words(key, (-(-count // 2),)))).reshape(-1)[:count].reshape(shape)


@functools.partial(jax.jit, static_argnums=1)
def _normal(key: Key, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    # For radius and angle, of which half are taken at a time.
    halves = jnp.swapaxes(_words(key, (2, -(-count // 4))), 0, 1)
    plane = lax.map(lambda half: _point(*half), halves).reshape(-1)
    is_first = lax.broadcasted_iota(jnp.int32, (2, len(plane)), 0) == 0
    numbers = jnp.where(is_first, plane.real, plane.imag).reshape(-1)[:count]
    # Behind a barrier: the loop that makes them would run over the axes of the shape, of which the last may be short.
    return lax.optimization_barrier(numbers).reshape(shape)


def _point(radius: Array, angle: Array) -> Array:
    """Two independent normal numbers: a point of the plane, by the law of its radius and a uniform angle."""
    distance = jnp.sqrt(2 * _minus_log(_unit(radius)))
    # QUARTER TURNS: two bits say which; of the others an angle from -π/4 to π/4.
    bits = _joined(angle)
    x = (_from_one_to_two(bits << np.uint64(2)) - 1.5) * (math.pi / 2)
    sine = x * _polynomial(_SINE, x * x)
    cosine = _polynomial(_COSINE, x * x)
    # The larger coordinate lies left or right, below or above; the smaller one has either sign already.
    cosine = lax.bitcast_convert_type(lax.bitcast_convert_type(cosine, jnp.uint64) ^ (bits & _SIGN), jnp.float64)
    is_upright = (bits & _AXIS) != 0
    return lax.complex(distance * jnp.where(is_upright, sine, cosine), distance * jnp.where(is_upright, cosine, sine))


def _unit(words: Array) -> Array:
    """Uniform numbers, above 0 and up to 1."""
    return 2.0 - _from_one_to_two(_joined(words))


def _from_one_to_two(bits: Array) -> Array:
    """The 52 highest bits as a number from 1 up to, but without, 2."""
    return lax.bitcast_convert_type((bits >> np.uint64(12)) | _ONE, jnp.float64)


def _minus_log(u: Array) -> Array:
    """-log(u): by u = 2^e m with m from √½ to √2, and log m = 2 atanh((m - 1)/(m + 1))."""
    bits = lax.bitcast_convert_type(u, jnp.uint64) + (_ONE - _ROOT_HALF)
    # The exponent as the last digits of a number above 2^52, since there is no quicker way from integers.
    above = lax.bitcast_convert_type((bits >> np.uint64(52)) | np.uint64(0x4330000000000000), jnp.float64)
    exponent = above - (2.0**52 + 1023)
    m = lax.bitcast_convert_type((bits & _MANTISSA) + _ROOT_HALF, jnp.float64)
    s = (m - 1) * (1 / (m + 1))  # a quotient that is used twice would be a stage of its own
    # Of each sum one term at the most is a product, so that it is rounded alike wherever the two are one operation.
    square = s * s
    return -(exponent * math.log(2) + (s * (square * _polynomial(_ATANH, square)) + (s + s)))


def _polynomial(coefficients: Sequence[float], x: Array) -> Array:
    value: Array = np.float64(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = lax.add(lax.mul(value, x), np.float64(coefficient))
    return value


def _words(key: Key, shape: tuple[int, ...]) -> Array:
    """Pairs of words of 32 bits, as the two parts of complex numbers, of shape ``(2, *shape)``."""
    first, second = jr.key_data(key)
    counter = lax.iota(jnp.uint32, math.prod(shape))

    def half(which: Array) -> Array:
        words = _threefry(first, second, which, counter)
        return lax.complex(*(lax.bitcast_convert_type(word, jnp.float32) for word in words)).reshape(shape)

    made: Array = lax.map(half, jnp.arange(2, dtype=jnp.uint32))
    return made


def _joined(words: Array) -> Array:
    """A pair of words as one number of 64 bits."""
    return _pair(*(lax.bitcast_convert_type(word, jnp.uint32) for word in (words.real, words.imag)))


def _pair(high: Array, low: Array) -> Array:
    return (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)


def _threefry(first: Array, second: Array, x: Array, y: Array, by: Any = lax) -> tuple[Array, Array]:
    """Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, 2011), the bits that `jax.random.bits` makes."""
    keys = (first, second, first ^ second ^ _PARITY)
    x, y = by.add(x, first), by.add(y, second)
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = by.add(x, y)
            turned = by.shift_left(y, np.uint32(rotation)), by.shift_right_logical(y, np.uint32(32 - rotation))
            y = by.bitwise_xor(x, by.bitwise_or(*turned))
        x = by.add(x, keys[(group + 1) % 3])
        y = by.add(y, keys[(group + 2) % 3] + np.uint32(group + 1))
    return x, y
