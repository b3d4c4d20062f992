"""A Poisson number of rows whose weights replace the sum over all rows, exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from lockstep.core import random
from lockstep.core.evaluation import Evaluation
from lockstep.core.parts import part, static
from lockstep.core.randomization import Randomization
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.subsample import Subsample
from lockstep.ratios.bound_check import (
    is_asymmetric,
    is_broken,
    is_usable,
    require_bound,
    require_few_rows,
    watched_row,
)
from lockstep.subsampling.rows import draw_indices


class Arrivals(NamedTuple):
    """Arrivals of a Poisson process of rate 1: gaps between them, the rows they bring, uniforms for keeping those."""

    gaps: Array
    rows: Array
    keeps: Array


class Process(NamedTuple):
    """A Poisson process: its first arrivals, and the key of all further ones (None: there are none)."""

    first: Arrivals
    key: Any


class Kept(NamedTuple):
    """The rows that are kept, told by the process and by the pair of positions at which they were drawn."""

    noise: Any
    position: Position
    candidate: Position


@part
class Minibatch(Randomization):
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
    chunk: int = static(default=8)

    exact_when = "the bound holds for every row (a row that breaks it makes the ratio NaN, which is counted)"
    can_be_violated = True
    when_violated = (
        "at {count} updates ({share}) a row changed by more than its bound, or the distance was not the same in both "
        "directions: raise what `row` or `distance` of the bound returns"
    )

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Process:
        key_first, key_further = random.split(key)
        return Process(self._draw(key_first, shape), random.split(key_further, shape) if shape else key_further)

    def sample(self, noise: Process, position: Position, candidate: Position) -> Kept:
        return Kept(noise, position, candidate)

    def log_weight(self, x: Kept, position: Position, candidate: Position) -> Array:
        total, size = self.cumulative[-1], self.distance(x.position, x.candidate)
        extra, rate = self.chi * (total * size) ** 2, self.rate(size)
        is_known = is_usable(size, rate)

        def terms(arrivals: Arrivals) -> Array:
            c, rows = self.coefficients[arrivals.rows], self.estimator.rows.take(arrivals.rows)

            def change(row: Tree, old: Position, new: Position) -> Array:
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

        return jnp.where(is_known, self.sum_over_arrivals(x.noise, jnp.where(is_known, rate, 0.0), terms), jnp.nan)

    def is_violated(self, x: Kept, position: Position, candidate: Position) -> Array:
        """Whether a row that is chosen whatever its bound breaks it, or the distance depends on the direction."""
        there, back = self.distance(position, candidate), self.distance(candidate, position)
        watched = watched_row(self, x.noise)
        return is_asymmetric(there, back) | is_broken(self, watched, there, position, candidate)

    def require_start(self, noise: Process, position: Position, candidates: Position) -> None:
        """Refuse a bound that does not hold between the position and some candidates."""
        require_bound(self, position, candidates, is_two_way=True)
        sizes = jax.vmap(self.distance, in_axes=(None, 0))(position, candidates)
        require_few_rows(jax.vmap(self.rate)(sizes), self.estimator.rows.size, "tunamh")

    def rate(self, size: Array) -> Array:
        """λ + CM, how many rows an update draws on average."""
        mass = self.cumulative[-1] * size
        return self.chi * mass**2 + mass

    def sum_over_arrivals(self, process: Process, rate: Array, terms: Any) -> Array:
        """The sum of ``terms(arrivals)`` over all arrivals up to the time ``rate``."""

        def add(time: Array, total: Array, arrivals: Arrivals) -> tuple[Array, Array]:
            times = time + jnp.cumsum(arrivals.gaps)
            return times[-1], total + jnp.sum(jnp.where(times <= rate, terms(arrivals), 0.0))

        zero = jnp.zeros((), float)
        time, total = add(zero, zero, process.first)
        if process.key is None:
            return total

        def body(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            number, time, total = carry
            return number + 1, *add(time, total, self._draw(random.fold_in(process.key, number)))

        # The number of arrivals has no bound: go on until one is too late.
        return jax.lax.while_loop(lambda carry: carry[1] <= rate, body, (jnp.zeros((), int), time, total))[2]

    def _draw(self, key: Key, shape: Shape = ()) -> Arrivals:
        key_gaps, key_rows, key_keeps = random.split(key, 3)
        shape = (*shape, self.chunk)
        return Arrivals(
            random.exponential(key_gaps, shape),
            draw_indices(key_rows, self.estimator.rows.size, self.cumulative, shape),
            random.uniform(key_keeps, shape),
        )

    def distance(self, position: Position, candidate: Position) -> Array:
        """M of the bound."""
        return self.bound.distance(position, candidate, self.estimator.control.center)


@part
class PoissonProduct(Evaluation):
    """An unbiased, non-negative estimate of the posterior from a Poisson number of rows.

    With ``|r_i(θ)| ≤ c_i M(θ)``, r counted from a reference position, and K ~ Poisson(λ), λ = 2CM(θ), rows drawn with
    probabilities c_i/C: ``e^{known(θ)} Π_{k≤K} (1 + C r_{i_k}(θ)/(c_{i_k} λ))`` has the mean
    ``e^{known(θ) + Σ r_i(θ)}``.
    """

    minibatch: Minibatch
    reference: Position

    name = "log_likelihood"
    is_random = True
    exact_when = Minibatch.exact_when
    can_be_violated = True
    when_violated = Minibatch.when_violated

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Process:
        return self.minibatch.noise(key, position, shape)

    def __call__(self, noise: Process, position: Position) -> Array:
        one, estimator = self.minibatch, self.minibatch.estimator
        size, total = one.distance(self.reference, position), one.cumulative[-1]
        rate = self.rate(size)
        is_known = is_usable(size, rate)

        def terms(arrivals: Arrivals) -> Array:
            c, rows = one.coefficients[arrivals.rows], estimator.rows.take(arrivals.rows)

            def remainder(row: Tree) -> Array:
                return estimator.remainder(position, row) - estimator.remainder(self.reference, row)

            r = jax.vmap(remainder)(rows)
            return jnp.where(jnp.abs(r) <= c * size * (1 + 1e-9), jnp.log1p(total * r / (c * rate)), jnp.nan)

        found = one.sum_over_arrivals(noise, jnp.where(is_known, rate, 0.0), terms)
        return estimator.known(position) + jnp.where(is_known, found, jnp.nan)

    def is_violated(self, noise: Process, position: Position) -> Array:
        """Whether a row that is chosen whatever its bound breaks it."""
        one = self.minibatch
        size = one.distance(self.reference, position)
        return is_broken(one, watched_row(one, noise), size, self.reference, position)

    def require_start(self, candidates: Position) -> None:
        """Refuse a bound that does not hold between the reference and some candidates."""
        one = self.minibatch
        require_bound(one, self.reference, candidates, is_two_way=False)
        sizes = jax.vmap(one.distance, in_axes=(None, 0))(self.reference, candidates)
        require_few_rows(self.rate(sizes), one.estimator.rows.size, "poisson_product")

    def rate(self, size: Array) -> Array:
        """λ = 2CM, how many rows an estimate draws on average."""
        return 2 * self.minibatch.cumulative[-1] * size
