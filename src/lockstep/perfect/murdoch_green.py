"""Perfect draws by independence proposals with a known bound."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_number, whole
from lockstep.core.kernel import Kernel
from lockstep.core.precision import canonical
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.perfect.draw import PerfectDraw, precision_of, require, require_key, require_position
from lockstep.perfect.propp_wilson import noise_at
from lockstep.ratios import Carried

TOLERANCE = 1e-9  # of the bound: a proposal that is the target gives ratios of 0 up to rounding


def murdoch_green(key: Key, kernel: Kernel, worst: Position, log_bound: Any = 0.0, limit: int = 2**16) -> PerfectDraw:
    """An exact draw from the target of an independence sampler whose weights π/q are bounded.

    A candidate that is accepted from where π/q is largest is accepted from everywhere: there all paths meet. Going back
    step by step finds the last such candidate, and the kernel's own moves lead from it to time 0, with the same noise.

    *Exact when* the proposal does not depend on the position, and no weight π/q is above the bound. A candidate above
    the bound is an error.

    Parameters
    ----------
    key
        A random key.
    kernel
        `ls.standard` with an independence proposal.
    worst
        A position; best the one from which it is hardest to leave, where π/q is largest.
    log_bound
        The largest value of log π/q over all positions, minus that at ``worst``: 0 if ``worst`` is the place of the
        largest one.
    limit
        How many steps into the past to go at the most.

    Returns
    -------
    PerfectDraw
        The ``value``, and the number of ``steps``.

    Raises
    ------
    PerfectSimulationError
        At the limit, and where the bound is broken.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, lockstep as ls
    >>> kernel = ls.standard(lambda x: -0.5 * x**2, ls.IndependentNormal(0.0, 1.5))
    >>> draw = ls.perfect.murdoch_green(jax.random.key(0), kernel, worst=0.0)

    References
    ----------
    Murdoch and Green (1998), Scandinavian Journal of Statistics 25.
    """
    if not isinstance(kernel, MetropolisHastings) or not isinstance(kernel.ratio, Carried) or kernel.is_memory_random:
        raise TypeError(f"kernel of murdoch_green must come from ls.standard(log_density, proposal); got {kernel!r}")
    if not kernel.proposal.is_independent:
        raise ValueError(
            f"kernel of murdoch_green has the proposal {kernel.proposal.name}, which depends on the "
            f"position; take an independence proposal such as ls.IndependentNormal(mean, scale)"
        )
    limit = whole(limit, "limit of murdoch_green", 1)
    require_key(key)
    if is_concrete((log_bound,)) and not (is_number(log_bound) and np.isfinite(log_bound)):
        raise ValueError(f"log_bound is {log_bound!r}; it must be one number, the largest log π/q over that at worst")
    with precision_of(key, kernel, worst, log_bound) as is_own:
        if is_own:
            kernel, worst = canonical(kernel, "kernel"), canonical(worst, "worst")
        require_position(worst, "worst")
        value, steps, is_met, is_bounded = _draw(key, kernel, worst, log_bound, limit)
        value = require(
            is_bounded,
            "a candidate has a larger π/q than log_bound allows, so that the draw would not be exact; raise log_bound, "
            "or give the place of the largest π/q as worst",
            value,
        )
        value = require(
            is_met,
            f"in {limit:,} steps, the limit, no candidate was accepted from everywhere; a draw now would be biased: "
            f"raise the limit, or take a proposal that is closer to the target",
            value,
        )
    return PerfectDraw(value, steps)


@jax.jit
def _draw(key: Key, kernel: MetropolisHastings, worst: Position, log_bound: Array, limit: Array) -> Any:
    start = kernel.init(worst)

    def from_worst(t: Array) -> tuple[Any, Array, Array]:
        noise = noise_at(key, kernel, worst, t)
        candidate, log_q = kernel.proposal(noise.proposal, start.position)
        log_weight = kernel.ratio(noise.ratio, start.position, start.memory, candidate, log_q).log_ratio
        is_bounded = ~(log_weight > log_bound + TOLERANCE)
        return candidate, noise.accept <= log_weight - log_bound, is_bounded

    def look(carry: Tree) -> Any:
        t = carry[0] + 1
        candidate, is_certain, is_bounded = from_worst(t)
        return t, candidate, is_certain, carry[3] & is_bounded

    def is_searching(carry: Tree) -> Array:
        return ~carry[2] & carry[3] & (carry[0] < limit)

    first = look((jnp.array(0, np.int32), worst, jnp.array(False), jnp.array(True)))
    t, candidate, is_met, is_bounded = jax.lax.while_loop(is_searching, look, first)

    # FORWARD from the meeting at -t, through the steps -t+1, ..., -1.
    def forward(i: Array, state: Tree) -> Any:
        return kernel.move(state, noise_at(key, kernel, worst, t - i))[0]

    state = jax.lax.fori_loop(1, t, forward, kernel.init(candidate))
    return state.position, t, is_met | ~is_bounded, is_bounded
