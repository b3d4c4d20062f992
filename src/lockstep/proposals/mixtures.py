"""Independent candidates around several places at once."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg
import jax.scipy.special

from lockstep.core import random
from lockstep.core.flat import flatten, require_floating, size, unflatten
from lockstep.core.parts import part
from lockstep.core.proposal import Proposal
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.proposals.independent import Candidate


@part
class StudentMixture(Proposal):
    """Independent candidates from a mixture of multivariate Student t laws, one around each mode of a target.

    ``means`` (k, d), ``factors`` (k, d, d), ``log_weights`` (k,). Made by `lockstep.subsampled` where it finds several
    modes.
    """

    means: Array
    factors: Array
    log_weights: Array
    degrees: Array = 5.0

    is_independent = True

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Candidate:
        require_floating(position, "StudentMixture")
        key_which, key_normal, key_square = random.split(key, 3)
        which = jr.categorical(key_which, self.log_weights, shape=shape)
        z = random.normal(key_normal, (*shape, size(position)))
        z = z / jnp.sqrt(jr.gamma(key_square, self.degrees / 2, shape, float) * (2 / self.degrees))[..., None]
        vectors = self.means[which] + jnp.einsum("...ij,...j->...i", self.factors[which], z)
        return Candidate(unflatten(vectors, position, shape), self._log_density(vectors))

    def __call__(self, noise: Candidate, position: Position) -> tuple[Position, Array]:
        return noise.position, self._log_density(flatten(position, jnp)) - noise.log_density

    def _log_density(self, vectors: Array) -> Array:
        """Up to a constant, of vectors with any leading axes."""
        parts = []
        for mean, factor, log_weight in zip(self.means, self.factors, self.log_weights, strict=True):
            z = jax.scipy.linalg.solve_triangular(factor, (vectors - mean)[..., None], lower=True)[..., 0]
            log_t = -0.5 * (self.degrees + z.shape[-1]) * jnp.log1p(jnp.sum(z * z, axis=-1) / self.degrees)
            parts.append(log_weight + log_t - jnp.sum(jnp.log(jnp.diagonal(factor))))
        return jax.scipy.special.logsumexp(jnp.stack(parts), axis=0)
