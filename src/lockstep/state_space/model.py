"""State-space models: a hidden Markov process, and observations of it."""

from __future__ import annotations

from typing import Any

from lockstep.core.parts import part, set_field
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.functions import Function, wrapped
from lockstep.state_space.filtered import Filtered, filtered
from lockstep.state_space.functions import swarm
from lockstep.state_space.simulate import Simulated, simulated

ALL, ONE = True, False
NOISY = ("initial", "transition", "propose", "propose_initial")


@part
class StateSpace:
    """A hidden Markov process X₀, X₁, … with observations y of some of its states.

    Functions get their noise first, as everywhere: a random key, or what ``draw`` makes. Each is written for one
    particle and is then computed for all of them at once, compiled. A function on NumPy arrays is wrapped,
    ``ls.blackbox(function)``: it gets a generator in the place of the noise and is called once for all particles, which
    are the leading axis of ``state`` and of its result. A state is any structure of arrays, of whole numbers too.

    Parameters
    ----------
    initial
        ``initial(noise, theta)``: a draw of the state at time 0. (A black box: ``initial(rng, theta, count)`` returns
        ``count`` of them.)
    transition
        ``transition(noise, state, theta, t)``: a draw of the state at time t, given that at time t-1.
    log_observation
        ``log_observation(theta, state, y, t)``: the log density of an observation at time t.
    draw
        ``draw(key, count)``: noise of that many transitions, one a row, free of the state; it takes the place of the
        keys. Drawn at once it is several times faster. Standard normal numbers can be correlated.
    observe
        ``observe(key, state, theta, t)``: a draw of an observation, for `simulate` and for forecasts.
    propose
        ``propose(noise, state, theta, y, t)``: for a guided filter a draw of the state at time t from a law q that may
        look at the next observation, and the log weight log p(state' | state) - log q(state' | state, y).
    propose_initial
        ``propose_initial(noise, theta, y)``: the same for time 0, if that is observed.
    look_ahead
        ``look_ahead(theta, state, y, t)``: for an auxiliary filter a guess of the log density of the next observation,
        made at time t, given the state before the transitions that lead to it.
    log_bound
        ``log_bound(theta, y, t)``: a number that ``log_observation`` does not exceed at any state (for a guided filter:
        that plus the log weights of ``propose`` that lead to the observation). The filters of `ls.particle_marginal`
        then stop as soon as their candidate is certain to be rejected (not under `ls.Parameters`, whose priors come on
        top); the draws stay the same. An estimate that exceeds the bound is no number, and is counted and reported.
    log_initial, log_transition
        ``log_initial(theta, state)`` and ``log_transition(theta, state, previous, t)``: log densities, which
        `ls.particle_gibbs` needs.

    With ``inputs`` (covariates, a row for each time) every function that takes t takes the input of that time after it.

    Examples
    --------
    Stochastic volatility, simulated and filtered:

    >>> import jax.numpy as jnp, jax.random as jr, jax.scipy.stats as jst, numpy as np, lockstep as ls
    >>> model = ls.models.StateSpace(
    ...     initial=lambda z, theta: theta["sd"] * z,
    ...     transition=lambda z, x, theta, t: 0.95 * x + theta["sd"] * z,
    ...     log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, scale=jnp.exp(x / 2)),
    ...     draw=lambda key, count: ls.random.normal(key, (count,)),
    ...     observe=lambda key, x, theta, t: jnp.exp(x / 2) * jr.normal(key),
    ... )
    >>> states, data = model.simulate(jr.key(1), {"sd": 0.3}, times=50)
    >>> found = model.filter(jr.key(2), {"sd": 0.3}, data, particles=100)
    >>> found.means.shape, found.increments.shape
    ((50,), (50,))

    References
    ----------
    Gordon, Salmond and Smith (1993); Pitt and Shephard (1999); Chopin and Papaspiliopoulos (2020).
    """

    initial: Any
    transition: Any
    log_observation: Any
    draw: Any = None
    observe: Any = None
    propose: Any = None
    propose_initial: Any = None
    look_ahead: Any = None
    log_bound: Any = None
    log_initial: Any = None
    log_transition: Any = None

    def __post_init__(self) -> None:
        kinds = {
            "initial": (ALL, ONE),
            "transition": (ALL, ALL, ONE),
            "log_observation": (ONE, ALL, ONE),
            "observe": (ALL, ALL, ONE),
            "propose": (ALL, ALL, ONE, ONE),
            "propose_initial": (ALL, ONE, ONE),
            "look_ahead": (ONE, ALL, ONE),
            "log_bound": (ONE, ONE),
            "log_initial": (ONE, ALL),
            "log_transition": (ONE, ALL, ALL),
        }
        for name, mapped in kinds.items():
            function = getattr(self, name)
            if function is not None:
                set_field(self, name, swarm(function, name, *mapped))
            elif name in ("initial", "transition", "log_observation"):
                raise TypeError(f"{name} of StateSpace must be a function, not None")
        if self.log_bound is not None and self.look_ahead is not None:
            raise TypeError(
                "log_bound of StateSpace has no meaning with look_ahead, by which weights are divided; leave one of "
                "them out"
            )
        if self.log_bound is not None and self.log_bound.is_boxed and not self.is_boxed:
            raise TypeError(
                "log_bound of StateSpace is a black box, but the other functions are compiled; write it with jax.numpy"
            )
        if self.draw is not None:
            set_field(self, "draw", wrapped(Function, self.draw, "draw"))
        if self.is_boxed and self.draw is None:
            noisy = [name for name in NOISY if getattr(self, name) is not None]
            plain = [name for name in noisy if not getattr(self, name).is_boxed]
            if plain:
                raise TypeError(
                    f"{plain[0]} of StateSpace is no black box, but other functions are: its noise would be a NumPy "
                    f"generator, which JAX does not take. Wrap it as well, ls.blackbox({plain[0]}), or give draw"
                )

    @property
    def is_boxed(self) -> bool:
        """Whether a function of a filter is a black box, so that filters run interpreted."""
        parts = (self.initial, self.transition, self.log_observation, self.propose, self.propose_initial)
        return any(one is not None and one.is_boxed for one in (*parts, self.look_ahead))

    def simulate(self, key: Key, theta: Position, times: Array, inputs: Tree = None) -> Simulated:
        """A draw of the process and of its observations.

        Parameters
        ----------
        key
            A random key.
        theta
            The parameters, with any structure.
        times
            The times of the observations, increasing whole numbers; a number n stands for 0, 1, …, n-1.
        inputs
            Arrays with a row for each time from 0 to the last.

        Returns
        -------
        Simulated
            ``states``, a row for each time from 0 to the last, and ``data``, a row for each observation (None without
            ``observe``).
        """
        return simulated(self, key, theta, times, inputs)

    def filter(
        self,
        key: Key,
        theta: Position,
        data: Tree,
        particles: int,
        times: Array = None,
        inputs: Tree = None,
        resampling: str = "systematic",
        threshold: float = 1.0,
        quantiles: Any = (0.05, 0.5, 0.95),
        paths: int = 0,
        is_sorted: bool = False,
    ) -> Filtered:
        """A particle filter: an unbiased estimate of the likelihood, and what the data so far say of the states.

        Bootstrap, or guided if the model has ``propose``, or auxiliary if it has ``look_ahead``. All noise is drawn at
        once, before the loop.

        Parameters
        ----------
        key
            A random key.
        theta
            The parameters.
        data
            Observations, with a leading axis over them. One that is NaN (all of its numbers) is missing: its step has
            no weight.
        particles
            How many.
        times
            The time of each observation, increasing whole numbers; 0, 1, 2, … if left out. Between two observations
            there are as many transitions as there are times.
        inputs
            Arrays with a row for each time from 0 to the last.
        resampling
            "systematic" or "multinomial".
        threshold
            Resample where the effective sample size is below this share of the particles; 1: at every observation.
        quantiles
            Which ones of the filtering distribution to compute.
        paths
            How many whole paths to draw from the smoothing distribution, as the filter's genealogy knows it.
        is_sorted
            Sort particles along the state before they are resampled (a Hilbert curve in several dimensions), so that
            nearby noise gives nearby estimates.

        Returns
        -------
        Filtered
            ``log_likelihood``, its ``increments``, ``effective`` sample sizes, ``means`` and ``quantiles`` of the
            states at the observations, ``paths`` with a row for each time from 0, and ``figure()``.
        """
        return filtered(
            self, key, theta, data, particles, times, inputs, resampling, threshold, quantiles, paths, is_sorted
        )


def require_model(model: object) -> None:
    """Refuse what is no model."""
    if not isinstance(model, StateSpace):
        raise TypeError(f"model must be an ls.models.StateSpace; got {model!r}: are the arguments in the right order?")
