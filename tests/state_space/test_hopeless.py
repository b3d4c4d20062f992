"""Filters that stop where their candidate is certain to be rejected: the draws are the same."""

import jax.numpy as jnp
import jax.scipy.stats as jst
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.core.random import seeded
from lockstep.engine.hosted import Compiled, to_host
from lockstep.host.limit import stopping_below
from lockstep.state_space.filter import require_filter
from lockstep.state_space.series import series
from lockstep.state_space.stopping import bounds_of, run_until

HIGHEST = float(jst.norm.logpdf(0.0))
WALK = ls.RandomWalk(3.0)
TIMES = np.array([0, 1, 3, 4, 7, 8, 9, 12])
DATA = np.array([0.3, -0.2, np.nan, 0.9, 1.4, 0.2, -0.6, 0.1])


def model(log_bound=None, **more):
    functions = {
        "initial": lambda z, theta: z,
        "transition": lambda z, x, theta, t: 0.9 * x + jnp.exp(theta) * z,
        "log_observation": lambda theta, x, y, t: jst.norm.logpdf(y, x),
        "draw": lambda key, count: ls.random.normal(key, (count,)),
        "log_bound": log_bound,
    }
    return ls.models.StateSpace(**functions | more)


def highest(theta, y, t):
    return HIGHEST


def both(stopping, without, data=DATA, proposal=WALK, chains=2, draws=150, **more):
    """Runs with and without a bound."""
    kernels = [ls.particle_marginal(jst.norm.logpdf, one, data, proposal, 20, **more) for one in (stopping, without)]
    return [ls.sample(kernel, 0.0, draws=draws, chains=chains, seed=1) for kernel in kernels]


@pytest.mark.parametrize(
    ("chains", "more"),
    [(1, {}), (3, {"times": TIMES}), (2, {"correlation": 0.9}), (2, {"paths": True}), (2, {"threshold": 0.5})],
    ids=["one", "times", "correlated", "paths", "threshold"],
)
def test_the_draws_are_the_same(chains, more):
    early, run = both(model(highest), model(), chains=chains, **more)
    assert np.array_equal(early.positions, run.positions)
    assert np.array_equal(early.info.is_accepted, run.info.is_accepted)
    is_stopped = np.isneginf(early.info.log_ratio)
    assert is_stopped.mean() > 0.2 and not is_stopped[run.info.is_accepted].any()
    np.testing.assert_allclose(early.info.log_ratio[~is_stopped], run.info.log_ratio[~is_stopped], rtol=0, atol=1e-10)
    if "paths" in more:
        np.testing.assert_allclose(early.paths, run.paths, rtol=0, atol=1e-10)


def test_updates_ahead_stop_too():
    kernel = ls.particle_marginal(jst.norm.logpdf, model(highest), DATA, WALK, 20)
    run, ahead = (ls.sample(kernel, 0.0, draws=100, chains=2, seed=1, ahead=ahead) for ahead in (1, 4))
    assert np.array_equal(ahead.positions, run.positions)
    assert np.isneginf(ahead.info.log_ratio).mean() > 0.2


def test_a_guided_filter_bounds_its_weights():
    def propose(z, x, theta, y, t):
        moved = 0.9 * x + jnp.exp(theta) * 1.5 * z
        return moved, jst.norm.logpdf(z * 1.5) - jst.norm.logpdf(z) + jnp.log(1.5)

    early, run = both(model(lambda theta, y, t: HIGHEST + jnp.log(1.5), propose=propose), model(propose=propose))
    assert np.array_equal(early.positions, run.positions)
    assert np.isneginf(early.info.log_ratio).mean() > 0.2


class Counted:
    """A model of black boxes that counts its transitions."""

    def __init__(self, log_bound=None):
        self.transitions = 0
        self.model = ls.models.StateSpace(
            initial=ls.blackbox(lambda rng, theta, count: rng.normal(size=count)),
            transition=ls.blackbox(self.transition),
            log_observation=ls.blackbox(lambda theta, x, y, t: HIGHEST - 0.5 * (y - x) ** 2),
            log_bound=log_bound,
        )

    def transition(self, rng, x, theta, t):
        self.transitions += 1
        return 0.9 * x + np.exp(theta) * rng.normal(size=x.shape)


def test_black_boxes_are_called_less_often():
    early, whole = Counted(ls.blackbox(highest)), Counted()
    runs = []
    for one in (early, whole):
        kernel = ls.particle_marginal(ls.blackbox(lambda theta: -0.5 * theta**2), one.model, DATA, WALK, 20)
        runs.append(ls.sample(kernel, 0.0, draws=100, chains=1, seed=1))
    assert np.array_equal(runs[0].positions, runs[1].positions)
    assert early.transitions < 0.8 * whole.transitions


@pytest.fixture
def double():
    with double_precision():
        yield


@pytest.mark.usefixtures("double")
def test_a_filter_stops_neither_too_early_nor_too_late():
    made = require_filter(model(highest), series(DATA), 20, "systematic", 1.0, is_sorted=False)
    noise = made.noise(seeded(3))
    _, increments, _ = made(noise, jnp.float64(0.0), lambda cloud: cloud.increment)
    reached = np.cumsum(np.asarray(increments))
    bounds = np.asarray(bounds_of(made, 0.0, jnp))
    assert 0 < bounds[2] < 1e-8  # the observation is missing
    assert (np.asarray(increments) <= bounds).all()
    most = reached + np.append(np.cumsum(bounds[::-1])[-2::-1], 0.0)  # what it may still become, after each step
    assert (np.diff(most) <= 0).all()
    for index in range(len(DATA) - 1):
        for least, is_stopped in ((most[index] + 1e-6, True), (reached[-1] - 1e-6, False)):
            cloud, _ = run_until(made, noise, jnp.float64(0.0), jnp.float64(least))
            assert np.isneginf(cloud.log_likelihood) == is_stopped
            if not is_stopped:
                assert float(cloud.log_likelihood) == pytest.approx(reached[-1], abs=1e-12)


@pytest.mark.usefixtures("double")
def test_what_is_compiled_by_itself_does_not_take_the_first_limit_for_all():
    kernel = canonical(ls.particle_marginal(jst.norm.logpdf, model(highest), DATA, WALK, 20), "kernel")
    alone, noise = Compiled(kernel.ratio.evaluate), to_host(seeded(1))
    with stopping_below(np.float64(1e9)):
        assert np.isneginf(kernel.ratio.evaluate(seeded(1), jnp.float64(0.0)))
        value = alone(noise, np.float64(0.0))
    assert np.isfinite(value) and alone(noise, np.float64(0.0)) == value


def test_a_bound_that_is_exceeded_is_told():
    kernel = ls.particle_marginal(jst.norm.logpdf, model(lambda theta, y, t: -2.0), DATA, WALK, 20)
    with pytest.raises(ValueError, match=r"log_bound returned -2 at observation \d, time \d, where the estimate added"):
        ls.sample(kernel, 0.0, draws=100, chains=2, seed=1)


def test_a_bound_that_is_seldom_exceeded_is_counted():
    kernel = ls.particle_marginal(
        jst.norm.logpdf, model(lambda theta, y, t: HIGHEST - 0.5 * (theta > 1)), DATA, WALK, 20
    )
    with pytest.warns(ls.LockstepWarning, match="log_bound returned"):
        run = ls.sample(kernel, 0.0, draws=300, chains=2, seed=1)
    assert 0 < (~run.info.is_valid).mean() < 0.5


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"look_ahead": lambda theta, x, y, t: 0.0}, "no meaning with look_ahead"),
        ({"log_bound": ls.blackbox(highest)}, "write it with jax.numpy"),
    ],
    ids=["look ahead", "black box"],
)
def test_bounds_that_cannot_be_used(more, error):
    with pytest.raises(TypeError, match=error):
        model(**{"log_bound": highest} | more)


@pytest.mark.parametrize("wrong", [lambda theta, y, t: jnp.zeros(3), lambda theta, y, t: "high"])
def test_a_bound_is_one_number(wrong):
    kernel = ls.particle_marginal(jst.norm.logpdf, model(wrong), DATA, WALK, 20)
    with pytest.raises(TypeError, match="log_bound"):
        ls.sample(kernel, 0.0, draws=10, chains=1, seed=1)


def test_couplings_know_all_log_ratios():
    kernel = ls.particle_marginal(jst.norm.logpdf, model(highest), DATA, WALK, 20)
    run = ls.sample(ls.Coupled(kernel, kernel), 0.0, draws=50, chains=1, seed=1)
    assert np.isfinite(run.info.first.log_ratio).all()


def test_candidates_outside_of_the_prior():
    def log_prior(theta):
        return jnp.where(jnp.abs(theta) < 1, 0.0, -jnp.inf)

    walk = ls.RandomWalk(1.0)
    kernels = [ls.particle_marginal(log_prior, one, DATA, walk, 20) for one in (model(highest), model())]
    early, run = (ls.sample(kernel, 0.0, draws=100, chains=2, seed=1) for kernel in kernels)
    assert np.array_equal(early.positions, run.positions)


def test_a_resumed_run_is_the_same(tmp_path):
    kernel = ls.particle_marginal(jst.norm.logpdf, model(highest), DATA, WALK, 20)
    whole = ls.sample(kernel, 0.0, draws=120, chains=2, seed=1)
    ls.sample(kernel, 0.0, draws=50, chains=2, seed=1, directory=tmp_path / "run")
    more = ls.sample(kernel, 0.0, draws=120, chains=2, seed=1, directory=tmp_path / "run")
    assert np.array_equal(whole.positions, more.positions)
    assert np.array_equal(whole.info.log_ratio, more.info.log_ratio)
