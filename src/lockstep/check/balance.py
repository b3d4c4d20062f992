"""Pointwise "very detailed balance" of a randomized ratio, and of its involution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.flatten_util import ravel_pytree

from lockstep.check.finding import Finding
from lockstep.check.points import draws_of, pairs_of, points_of, tolerance_of
from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import shapes
from lockstep.core.kernel import Kernel, Simple
from lockstep.core.precision import canonical, double_precision
from lockstep.core.randomization import Randomization
from lockstep.core.trees import describe, is_floating, one_of
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here
from lockstep.ratios.involutions import Identity, as_involution, log_abs_jacobian

STANDARD_ERRORS = 6.0


def involution(
    function: Callable[..., Any],
    x: Array,
    position: Position = None,
    candidate: Position = None,
    tolerance: float = 1e-8,
) -> Finding:
    """Whether f(f(x)) = x and the stated Jacobian is that of f, at given points.

    Parameters
    ----------
    function
        A ready-made involution, a part that returns ``(f(x), log_abs_jacobian)``, or a function of x.
    x
        Points, with a leading axis over them.
    position, candidate
        Positions with the same leading axis, if f depends on them. The way back is taken with the two swapped.
    tolerance
        The largest deviation that passes.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> ls.check.involution(lambda x: 2 * x, jnp.array([0.5, 1.0]))
    WRONG: f(f(x)) is not x: off by 3 at x = 1.0; an involution must undo itself
    """
    tolerance = tolerance_of(tolerance)
    with double_precision():
        f, x = as_involution(function), points_of(x, "x")
        position, candidate = (
            value if value is None else _as_many(value, name, x)
            for value, name in ((position, "position"), (candidate, "candidate"))
        )

        def deviations(x: Array, position: Position, candidate: Position) -> tuple[Any, Any]:
            image, log_jacobian = f(x, position, candidate)
            back, _ = f(image, candidate, position)
            return _distance(back, x), jnp.abs(log_jacobian - _jacobian(f, x, position, candidate, log_jacobian))

        round_trip, jacobian = (np.asarray(d) for d in jax.jit(jax.vmap(deviations))(x, position, candidate))
    for deviation, sentence in (
        (round_trip, "f(f(x)) is not x: off by {:.3g} at x = {}; an involution must undo itself"),
        (jacobian, "the logarithm of the Jacobian is off by {:.3g} at x = {}; autodiff gives another value"),
    ):
        worst = int(np.argmax(np.where(np.isnan(deviation), np.inf, deviation)))
        if not deviation[worst] <= tolerance:
            where = one_of(x, worst)
            return Finding(False, sentence.format(deviation[worst], describe(where)), float(deviation[worst]), where)
    residual = float(max(round_trip.max(), jacobian.max()))
    return Finding(True, f"f undoes itself and has the stated Jacobian, to {residual:.1e}", residual)


def balance(
    kernel: Kernel,
    positions: Position,
    candidates: Position = None,
    replicates: int = 1000,
    seed: int = 0,
    tolerance: float = 1e-8,
) -> Finding:
    """Whether a randomized kernel is in very detailed balance, point by point.

    At pairs (θ, θ') and draws of x it compares, in logarithms,
    ``π(θ) q(θ, θ') ξ(x; θ, θ') α(θ, θ'; x)`` with ``π(θ') q(θ', θ) ξ(f(x); θ', θ) |f'(x)| α(θ', θ; f(x))``, the
    acceptance probabilities from the kernel's own ratio, the Jacobian from autodiff. It also looks at the involution,
    and at whether ``sample`` draws from ξ: then balance also holds on average over the draws, within Monte Carlo error.

    Parameters
    ----------
    kernel
        From `ls.randomized` or `ls.exchange`, or any `MetropolisHastings` with a `Randomized` ratio. (Where no density
        ξ is stated, as in `ls.exchange`, the two log ratios must be opposite, and that is all that can be checked.)
    positions
        Some positions, with a leading axis over them.
    candidates
        As many candidates; proposed by the kernel if left out.
    replicates
        How many x to draw at each pair.
    seed
        Of those draws.
    tolerance
        The largest residual that passes.

    Returns
    -------
    Finding
        With ``residual``, the ``worst`` point (position, candidate, x) and a sentence that says what is wrong.
    """
    randomized = randomized_of(kernel, "balance")
    if randomized.ratio.correlation is not None:
        raise ValueError("balance: correlated noise has no way back; test such a kernel by invariance")
    (replicates, seed), tolerance = draws_of(replicates, seed), tolerance_of(tolerance)
    with double_precision():
        simple = called_back(canonical(randomized, "kernel"))
        here = points_of(positions, "positions")
        there, log_q = _candidates(simple, here, candidates, seed)
        with raised_here():
            x, residuals, scores = jax.block_until_ready(_at_pairs(simple, here, there, log_q, replicates, seed))
        own = simple.ratio.randomization.involution or Identity()
        theta, other = (jax.tree.map(lambda leaf: jnp.repeat(leaf, replicates, axis=0), p) for p in (here, there))
        about_involution = involution(own, x, theta, other, tolerance)
    where = int(np.argmax(np.where(np.isnan(residuals), np.inf, residuals)))
    residual, score = float(residuals[where]), float(np.max(np.abs(scores)))
    worst = {"position": one_of(theta, where), "candidate": one_of(other, where), "x": one_of(x, where)}
    place = f"at θ = {describe(worst['position'])}, θ' = {describe(worst['candidate'])}, x = {describe(worst['x'])}"
    values = {"sampling_score": score}
    if not about_involution:
        return Finding(False, about_involution.sentence, max(residual, about_involution.residual), worst, values)
    if not residual <= tolerance:
        sentence = (
            f"very detailed balance is violated by e^{residual:.3g} {place}: the weight is not that of its density"
        )
        return Finding(False, sentence, residual, worst, values)
    if score > STANDARD_ERRORS:
        sentence = (
            f"balance holds at every x but not on average ({score:.1f} standard errors): `sample` does not draw x from "
            f"`log_density`"
        )
        return Finding(False, sentence, residual, worst, values)
    sentence = f"very detailed balance holds to {residual:.1e} at {len(scores)} pairs with {replicates} x each"
    if simple.ratio.randomization.log_density is None:
        sentence += "; no density of x is stated, so where x is drawn was not checked"
    return Finding(True, sentence, residual, worst, values)


def randomized_of(kernel: Kernel, check: str) -> Simple:
    """A kernel of one accept/reject that has a randomization, as which it came to a check."""
    given = adopted(kernel, Kernel, "kernel", "a kernel such as that of ls.randomized").simple
    if given is None or given.ratio.randomization is None:
        raise TypeError(
            f"{check} takes a kernel with a Randomized ratio, such as ls.randomized gives; got {kernel!r}. Others can "
            f"be checked on a few states, by ls.check.transition_matrix"
        )
    return given


def _as_many(values: object, name: str, x: Array) -> Any:
    """As many points as there are x."""
    points, count = points_of(values, name), len(jax.tree.leaves(x)[0])
    if len(jax.tree.leaves(points)[0]) != count:
        raise ValueError(f"{name} is {shapes(values)}, but there are {count} x; give a {name} for each")
    return points


def _candidates(kernel: Simple, positions: Position, candidates: Position, seed: int) -> tuple[Any, Any]:
    """Candidates and their log proposal ratios, which cancel in the comparison where they are not known."""
    pairs = len(jax.tree.leaves(positions)[0])
    if candidates is not None:
        return pairs_of(positions, candidates)[1], jnp.zeros(pairs)
    noise = kernel.proposal.noise(random.seeded(seed), one_of(positions, 0), (pairs,))
    proposed, log_q = jax.vmap(kernel.proposal)(noise, positions)
    return proposed, jnp.broadcast_to(jnp.asarray(log_q, float), (pairs,))


def _at_pairs(
    kernel: Any, here: Position, there: Position, log_q: Array, replicates: int, seed: int
) -> tuple[Any, Any, Any]:
    """Draws of x at each pair, the residual at each x, and how far balance on average is off, in standard errors."""
    randomization = kernel.ratio.randomization
    pairs = len(log_q)
    key_base, key_x, key_back = random.split(random.fold_in(random.seeded(seed), 1), 3)
    noises = [randomization.noise(key, one_of(here, 0), (pairs, replicates)) for key in (key_x, key_back)]

    def at_pair(
        position: Position, candidate: Position, log_q: Array, keys: Key, noise: Tree, other_noise: Tree
    ) -> Any:
        ahead, back = _base(kernel, position, candidate, log_q, keys)
        draw, weigh = randomization.sample, randomization.log_weight
        x = jax.vmap(lambda n: draw(n, position, candidate))(noise)
        y = jax.vmap(lambda n: draw(n, candidate, position))(other_noise)
        residuals = jax.vmap(lambda x: _residual(randomization, x, position, candidate, ahead, back))(x)
        # π q E[α(θ, θ'; X)] = π' q' E[α(θ', θ; Y)], both sides over the larger of π q and π' q'.
        flow = jnp.exp(jnp.minimum(0.0, ahead + jax.vmap(lambda x: weigh(x, position, candidate))(x)))
        flow_back = jnp.exp(jnp.minimum(0.0, back + jax.vmap(lambda y: weigh(y, candidate, position))(y)))
        flow, flow_back = flow * jnp.exp(jnp.minimum(0.0, -ahead)), flow_back * jnp.exp(jnp.minimum(0.0, ahead))
        error = jnp.sqrt((jnp.var(flow) + jnp.var(flow_back)) / replicates + 1e-20)
        return x, residuals, (jnp.mean(flow) - jnp.mean(flow_back)) / error

    keys = jr.split(key_base, (pairs, 2))
    x, residuals, scores = jax.jit(jax.vmap(at_pair))(here, there, log_q, keys, *noises)
    x = jax.tree.map(lambda leaf: leaf.reshape((pairs * replicates, *leaf.shape[2:])), x)
    is_density_known = randomization.log_density is not None
    return x, np.abs(np.asarray(residuals)).ravel(), np.asarray(scores) * is_density_known


def _base(kernel: Any, position: Position, candidate: Position, log_q: Array, keys: Key) -> tuple[Any, Any]:
    """The log ratio without the randomization, there and back."""
    base = kernel.ratio.base
    if base is None:
        return log_q, -log_q
    noise, other = base.noise(keys[0], position), base.noise(keys[1], position)
    memory, candidate_memory = base.init(noise, position), base.init(other, candidate)
    there, *_ = base(other, position, memory, candidate, log_q)
    back, *_ = base(noise, candidate, candidate_memory, position, -log_q)
    return there, back


def _residual(
    randomization: Randomization, x: Array, position: Position, candidate: Position, there: Array, back: Array
) -> Any:
    """The violation of very detailed balance at one x, in logarithms."""
    weight = randomization.log_weight(x, position, candidate)
    f = randomization.involution or Identity()
    image, stated = f(x, position, candidate)
    if randomization.log_density is None:
        # The density is not known: at x and at f(x) the two log ratios must be opposite.
        return there + weight + back + randomization.log_weight(image, candidate, position)
    log_jacobian = _jacobian(f, x, position, candidate, stated)
    forward = jnp.minimum(0.0, there + weight)
    reverse = jnp.minimum(0.0, back + randomization.log_weight(image, candidate, position))
    densities = randomization.log_density(image, candidate, position) - randomization.log_density(
        x, position, candidate
    )
    return forward - (there + densities + log_jacobian + reverse)


def _jacobian(f: Any, x: Array, position: Position, candidate: Position, stated: Any) -> Any:
    """The log Jacobian by autodiff; where x is partly discrete, what f states must be believed."""
    if len({is_floating(leaf) for leaf in jax.tree.leaves(x)}) > 1:
        return stated
    return log_abs_jacobian(lambda x: f(x, position, candidate)[0], x)


def _distance(first: Tree, second: Tree) -> Any:
    first, second = (
        ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), tree))[0] for tree in (first, second)
    )
    return jnp.max(jnp.abs(first - second))
