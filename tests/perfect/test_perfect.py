"""Perfect simulation of any monotone kernel and of independence samplers: exact draws, or an error."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from lattices import configurations, drawn, frequency_test, index_of, log_weights, probabilities
from scipy import stats

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.host.callback import raised_here
from lockstep.perfect import PerfectSimulationError, murdoch_green, propp_wilson

FIELD = np.array([[0.3, -0.2, 0.5]])
MODEL = ls.models.Ising((1, 3), field=FIELD)
UP = jnp.ones((1, 3), jnp.int8)


def test_coupling_from_the_past_draws_exactly_from_a_monotone_kernel():
    kernel = MODEL.heat_bath(0.6)
    draws = drawn(lambda key: propp_wilson(key, kernel, -UP, UP), 8000)
    expected = probabilities(log_weights(MODEL, 0.6, configurations((1, 3))))
    assert frequency_test(index_of(draws.value), expected) > 1e-5
    assert set(np.unique(draws.steps)) <= {2**k for k in range(10)} and draws.steps.max() >= 8


def test_noise_is_replayed_and_not_redrawn():
    """From any start at or before the time that was needed, the same noise leads to the same draw."""
    key, kernel = jr.key(4), MODEL.heat_bath(0.9)
    draw = propp_wilson(key, kernel, -UP, UP)
    steps = int(draw.steps)
    assert steps > 1
    with double_precision():
        step = jax.jit(lambda state, t: kernel.step(jr.fold_in(key, t), state)[0])
        for length in (steps, steps + 3):
            for start in (UP, -UP, jnp.array([[1, -1, 1]], jnp.int8)):
                state = kernel.init(start)
                for t in range(length, 0, -1):
                    state = step(state, t)
                assert np.array_equal(state.position, draw.value)


@ls.part
class Staircase:
    """A reflected walk on 0..4 whose levels it also counts down where it should count up, if it is not monotone."""

    is_monotone: bool = ls.static(default=True)

    def noise(self, key, position, shape=()):
        return jr.uniform(key, shape, float)

    def init(self, position, key=None):
        return ls.State(position, ())

    def move(self, state, noise):
        step = jnp.where(noise < 0.4, 1, -1)
        here = state.position
        new = jnp.clip(here + step, 0, 4)
        return ls.State(new if self.is_monotone else jnp.where(noise > 0.9, 4 - here, new), ()), ()

    def step(self, rng_key, state):
        return self.move(state, self.noise(rng_key, state.position))


def test_any_kernel_with_a_top_and_a_bottom():
    bottom, top = jnp.array(0), jnp.array(4)
    draws = drawn(lambda key: propp_wilson(key, Staircase(), bottom, top).value, 8000)
    expected = (0.4 / 0.6) ** np.arange(5)
    assert frequency_test(draws, expected / expected.sum()) > 1e-5


def failure(call: Any) -> str:
    with pytest.raises(PerfectSimulationError) as caught:
        call()
    return str(caught.value)


def test_there_is_an_error_rather_than_a_biased_draw():
    bottom, top = jnp.array(0), jnp.array(4)
    assert "limit" in failure(lambda: propp_wilson(jr.key(0), MODEL.heat_bath(3.0), -UP, UP, limit=4))
    assert "not monotone" in failure(lambda: propp_wilson(jr.key(0), Staircase(False), bottom, top, limit=64))
    with pytest.raises(ValueError, match="not below top"):
        propp_wilson(jr.key(0), Staircase(), top, bottom)
    with pytest.raises(ValueError, match="remembers a random estimate"):
        kernel = ls.pseudo_marginal(lambda key, x: -(x**2), ls.RandomWalk(1.0))
        propp_wilson(jr.key(0), kernel, -1.0, 1.0)


def test_the_error_also_leaves_compiled_programs():
    with raised_here(), pytest.raises(Exception, match="limit"):
        drawn(lambda key: propp_wilson(key, MODEL.heat_bath(3.0), -UP, UP, limit=4).value, 8)


def exponential(bound_at_worst=0.0):
    """The target e^{-x}, candidates e^{-x/2}/2: the largest weight is at 0."""
    proposal = ls.Independent(lambda key: 2.0 * jr.exponential(key), lambda x: -x / 2)
    return ls.standard(lambda x: jnp.where(x >= 0, -x, -jnp.inf), proposal)


@pytest.mark.parametrize(("worst", "log_bound"), [(0.0, 0.0), (1.0, 0.5)])
def test_independence_samplers_with_a_bound_draw_exactly(worst, log_bound):
    draws = drawn(lambda key: murdoch_green(key, exponential(), worst, log_bound), 8000)
    assert stats.kstest(draws.value, stats.expon.cdf).pvalue > 1e-5
    # A candidate is accepted from everywhere with probability 1/2, the mean of π/q over its bound.
    assert abs(draws.steps.mean() - 2.0) < 0.1


def test_the_way_from_the_meeting_has_the_noise_of_its_times():
    """From the candidate that all paths take at -t, the kernel's own moves at -t+1, …, -1 lead to the draw."""
    kernel, lengths = ls.standard(lambda x: -0.5 * x**2, ls.IndependentNormal(0.0, 3.0)), set()
    with double_precision():
        move = jax.jit(lambda state, key, t: kernel.move(state, kernel.noise(jr.fold_in(key, t), 0.0))[0])
        for number in range(30):
            key = jr.key(number)
            draw = murdoch_green(key, kernel, worst=jnp.zeros(()))
            state = kernel.init(jnp.zeros(()))
            for t in range(int(draw.steps), 0, -1):
                state = move(state, key, t)
            assert float(state.position) == pytest.approx(float(draw.value), abs=1e-12)
            lengths.add(int(draw.steps))
    assert {1, 2, 3} <= lengths


def test_murdoch_green_refuses():
    key, kernel = jr.key(0), exponential()
    assert "larger π/q" in failure(lambda: [murdoch_green(k, kernel, 5.0) for k in jr.split(key, 20)])
    assert "limit" in failure(lambda: murdoch_green(key, kernel, 0.0, log_bound=30.0, limit=50))
    with pytest.raises(ValueError, match="depends on the position"):
        murdoch_green(key, ls.standard(lambda x: -(x**2), ls.RandomWalk(1.0)), 0.0)
    with pytest.raises(TypeError, match="must come from"):
        murdoch_green(key, Staircase(), 0.0)
