"""A fingerprint of the noise itself: a few numbers, drawn as a run draws them.

JAX makes other numbers under ``JAX_DEFAULT_PRNG_IMPL`` and ``JAX_THREEFRY_PARTITIONABLE``, whatever the seed.
"""

from __future__ import annotations

import jax
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.random import TRANSFORM
from lockstep.host.generator import RandomKey

JAX = "random numbers of jax (JAX_DEFAULT_PRNG_IMPL, JAX_THREEFRY_PARTITIONABLE)"
NUMPY = "random numbers of numpy"
LOCKSTEP = "normal and exponential numbers of lockstep"


def noise_fingerprint() -> dict[str, str]:
    """Numbers that are the same wherever the noise is: bits, which no rounding touches, and NumPy's normal draws."""
    key = random.seeded(0)
    drawn = [jr.bits(key, (3,), "uint32"), jr.key_data(jr.split(key, 3))[-1, -1:], jr.key_data(jr.fold_in(key, 1))[-1:]]
    words = " ".join(f"{word:08x}" for word in np.concatenate(jax.device_get(drawn)).ravel().tolist())
    generator = RandomKey(np.array([1, 2], np.uint32)).generator()
    numbers = " ".join(f"{number:.9f}" for number in (generator.normal(), generator.gamma(2.0), generator.random()))
    return {JAX: f"{jr.key_impl(key)} {words}", NUMPY: numbers, LOCKSTEP: TRANSFORM}
