"""A Poisson number of rows whose weights replace the sum over all rows, exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

from lockstep.estimators.subsample import Subsample
from lockstep.parts import is_key, part, static
from lockstep.types import Array, Key, Position, Shape


class Arrivals(NamedTuple):
    """Arrivals of a Poisson process of rate 1: gaps between them, a uniform for the row, and one for keeping it."""

    gaps: Array
    rows: Array
    keeps: Array


class Kept(NamedTuple):
    """The rows that are kept, told by the process and by the pair of positions at which they were drawn."""

    noise: Any
    position: Position
    candidate: Position


@part
class Minibatch:
    """The randomization of TunaMH: with |r_i(θ') - r_i(θ)| ≤ c_i M and λ = χ C² M², B ~ Poisson(λ + CM) rows are drawn.

    Row i comes with probability c_i/C and is kept with probability ``(λ c_i + C φ_i)/(λ c_i + C c_i M)``,
    ``φ_i = (r_i(θ) - r_i(θ') + c_i M)/2``; the weight is ``Π (λ c_i + C φ'_i)/(λ c_i + C φ_i)`` over those kept, φ'
    with θ and θ' swapped. B is the number of arrivals up to time λ + CM, counted in a loop without an end.
    """

    estimator: Subsample  # for its rows and what its control leaves of them
    bound: Any
    coefficients: Array
    cumulative: Array  # of the coefficients
    chi: Array
    chunk: int = static(default=16)

    exact_when = "the bound holds for every row (a row that breaks it makes the ratio NaN, which is counted)"

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Key:
        return jr.split(key, shape) if shape else key

    def sample(self, noise: Any, position: Position, candidate: Position) -> Kept:
        return Kept(noise, position, candidate)

    def log_weight(self, x: Kept, position: Position, candidate: Position) -> Array:
        total, size = self.cumulative[-1], self._distance(x.position, x.candidate)
        extra = self.chi * (total * size) ** 2
        rate = extra + total * size

        def terms(arrivals: Arrivals) -> Array:
            indices = jnp.searchsorted(self.cumulative, arrivals.rows * total, side="right")
            indices = indices.clip(0, self.estimator.rows.size - 1)
            c, rows = self.coefficients[indices], self.estimator.rows.take(indices)

            def change(row: Any, old: Position, new: Position) -> Array:
                return self.estimator.remainder(old, row) - self.estimator.remainder(new, row)

            def intensity(old: Position, new: Position) -> tuple[Array, Array]:
                difference = jax.vmap(change, in_axes=(0, None, None))(rows, old, new)
                return extra * c + total * (difference + c * size) / 2, difference

            drawn, difference = intensity(x.position, x.candidate)
            there, back = intensity(position, candidate)[0], intensity(candidate, position)[0]
            # KEEP by the law of the draw; the weight is that of the way back over that of the way there.
            is_kept = arrivals.keeps * (extra + total * size) * c <= drawn
            is_bounded = jnp.abs(difference) <= c * size * (1 + 1e-9)
            return jnp.where(is_bounded, jnp.where(is_kept, jnp.log(back) - jnp.log(there), 0.0), jnp.nan)

        def body(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            chunk, time, weight = carry
            arrivals = self._arrivals(x.noise, chunk)
            times = time + jnp.cumsum(arrivals.gaps)
            weight = weight + jnp.sum(jnp.where(times <= rate, terms(arrivals), 0.0))
            return chunk + 1, times[-1], weight

        zero = jnp.zeros((), float)
        return jax.lax.while_loop(lambda carry: carry[1] <= rate, body, (jnp.zeros((), int), zero, zero))[2]

    def _distance(self, position: Position, candidate: Position) -> Array:
        control = self.estimator.control
        return self.bound.distance(position, candidate, None if control is None else control.center)

    def _arrivals(self, noise: Any, chunk: Array) -> Arrivals:
        """The next arrivals of the process of a key. Arrivals that are given are all there is until eternity."""
        if not is_key(noise):
            return noise._replace(gaps=jnp.where(chunk == 0, noise.gaps, jnp.inf))
        key_gaps, key_rows, key_keeps = jr.split(jr.fold_in(noise, chunk), 3)
        return Arrivals(
            jr.exponential(key_gaps, (self.chunk,), float),
            jr.uniform(key_rows, (self.chunk,), float),
            jr.uniform(key_keeps, (self.chunk,), float),
        )
