"""Named parameters wherever kernels go: executors, adaptation, ends and beginnings, couplings, particles, files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np
import pytest
from scipy import stats

import lockstep as ls

Y = np.array([1.2, 0.3, 2.1, 1.7])
PARAMETERS = ls.Parameters(mean=stats.norm(0, 10), scale=stats.halfnorm(0, 5))
WALK = ls.RandomWalk({"mean": 0.8, "scale": 0.6})


def log_likelihood(mean, scale):
    return jnp.sum(-0.5 * ((Y - mean) / scale) ** 2 - jnp.log(scale))


def on_numpy(mean, scale):
    return float(np.sum(-0.5 * ((Y - mean) / scale) ** 2 - np.log(scale)))


KERNEL = PARAMETERS.posterior(ls.standard(log_likelihood, WALK))
OPTIONS = {"draws": 128, "chains": 4, "warmup": 64, "seed": 3}


def assert_same(first, second):
    for name in ("mean", "scale"):
        np.testing.assert_array_equal(first.positions[name], second.positions[name])


@pytest.mark.study
def test_executors_groups_and_ends_that_are_resumed(tmp_path):
    """Starts from the prior, and draws, are the same in groups of chains, after an end, and from a directory."""
    with ThreadPoolExecutor(2) as executor:
        spread = ls.sample(KERNEL, **OPTIONS, executor=executor)
        durable = ls.sample(KERNEL, **{**OPTIONS, "draws": 64}, executor=executor, directory=tmp_path / "run")
        assert durable.positions["scale"].shape == (4, 64)
        resumed = ls.sample(KERNEL, **OPTIONS, executor=executor, directory=tmp_path / "run")
    assert_same(spread, resumed)
    assert_same(ls.load(tmp_path / "run"), resumed)
    plain = ls.sample(KERNEL, **OPTIONS)
    for name in ("mean", "scale"):
        np.testing.assert_allclose(plain.positions[name], spread.positions[name], rtol=1e-9)
    assert np.all(spread.positions["scale"] > 0)


@pytest.mark.study
def test_adaptation_finds_scales_on_the_real_line(tmp_path):
    wild = PARAMETERS.posterior(ls.standard(log_likelihood, ls.RandomWalk(50.0)))
    options = {"chains": 4, "warmup": 400, "adapt": True, "seed": 1, "directory": tmp_path / "run"}
    run = ls.sample(wild, draws=100, **options)
    assert 0.1 < run.acceptance < 0.6
    longer = ls.sample(wild, draws=150, **options)
    np.testing.assert_array_equal(longer.positions["scale"][:, :100], run.positions["scale"])


def test_updates_ahead_and_black_boxes():
    box = PARAMETERS.posterior(ls.standard(ls.blackbox(on_numpy), WALK))
    plain = ls.sample(box, draws=40, chains=2, seed=5)
    with ThreadPoolExecutor(2) as executor:
        ahead = ls.sample(box, draws=40, chains=2, seed=5, ahead=3, executor=executor)
    assert_same(plain, ahead)
    compiled = ls.sample(KERNEL, draws=40, chains=2, seed=5, ahead=3)
    for name in ("mean", "scale"):
        np.testing.assert_allclose(compiled.positions[name], plain.positions[name], rtol=1e-9)


def test_couplings_are_made_of_posteriors_or_made_posteriors():
    """`posterior` goes through a coupling to its kernels: the same pair, however it is made."""
    likelihood = ls.standard(log_likelihood, ls.RandomWalk(0.7))
    noisy = ls.penalty(
        ls.estimators.known_variance(
            ls.estimators.mean(
                lambda z, here, there: log_likelihood(**there) - log_likelihood(**here) + 0.5 * z,
                4,
                draw=lambda key, count: jr.normal(key, (count,)),
            ),
            0.25 / 4,
        ),
        ls.RandomWalk(0.7),
    )
    inside = PARAMETERS.posterior(ls.Coupled(likelihood, noisy))
    outside = ls.Coupled(PARAMETERS.posterior(likelihood), PARAMETERS.posterior(noisy))
    runs = [ls.sample(kernel, draws=60, chains=2, seed=2) for kernel in (inside, outside)]
    for leg in ("first", "second"):
        pair = [getattr(run.positions, leg)["scale"] for run in runs]
        np.testing.assert_array_equal(*pair)
        assert pair[0].min() > 0
    pairs = ls.Lagged(PARAMETERS.posterior(likelihood), 5)
    lagged = ls.sample(pairs, {"mean": 1.0, "scale": 1.0}, draws=500, chains=8, seed=2)
    first, second = lagged.positions.first["scale"], lagged.positions.second["scale"]
    assert np.any(first[:, 4] != second[:, 4]) and lagged.info.is_equal[:, -1].all()
    np.testing.assert_array_equal(first[:, -1], second[:, -1])


# --- vectors of all kinds in tables and files -------------------------------------------------------------------------
@pytest.mark.study
def test_vectors_have_their_labels_everywhere(tmp_path):
    parameters = ls.Parameters(
        share=stats.dirichlet([2.0, 3.0, 4.0]),
        cut=ls.ordered(2),
        rate=stats.gamma(2.0),
        log_prior=lambda share, cut, rate: -0.5 * jnp.sum(cut**2),
        dims={"share": ["party"], "rate": ["site", "year"]},
        coords={"party": ["red", "green", "blue"], "site": ["here", "there"], "year": [2001, 2002]},
    )
    kernel = parameters.posterior(ls.standard(lambda share, cut, rate: 0.0, ls.RandomWalk(0.5)))
    start = {"share": [0.2, 0.3, 0.5], "cut": [-1.0, 1.0], "rate": np.ones((2, 2))}
    run = ls.sample(kernel, start, draws=30, chains=2, seed=1, directory=tmp_path / "run")
    columns = ["share[red]", "share[green]", "share[blue]", "cut[0]", "cut[1]"]
    columns += ["rate[here, 2001]", "rate[here, 2002]", "rate[there, 2001]", "rate[there, 2002]"]
    for shown in (run, ls.load(tmp_path / "run")):
        np.testing.assert_allclose(shown.positions["share"].sum(axis=-1), 1.0, rtol=1e-12)
        assert np.all(np.diff(shown.positions["cut"], axis=-1) > 0) and np.all(shown.positions["rate"] > 0)
        assert list(shown.summary().table.index) == columns
        tree = shown.to_datatree()
        assert tree.posterior["share"].dims == ("chain", "draw", "party")
        assert tree.posterior["rate"].sel(site="there", year=2002).shape == (2, 30)
        assert list(shown.to_dataframe().columns) == ["chain", "draw", *columns]
    assert run.walked["share"].shape == (2, 30, 2)  # one number fewer than shares
    import xarray

    with xarray.open_datatree(run.to_netcdf(tmp_path / "run.nc")) as tree:
        np.testing.assert_array_equal(tree.posterior["share"], run.positions["share"])
        assert list(tree.posterior["party"].values) == ["red", "green", "blue"]
    with open(run.to_csv(tmp_path / "draws.csv")[0], encoding="utf-8") as file:
        header = next(line for line in file if not line.startswith("#"))
    assert header.count(",") == len(columns) and "share" in header
    page = run.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(column in page for column in ("share[green]", "cut[1]", "rate[there, 2002]"))


# --- state-space models -----------------------------------------------------------------------------------------------
def level_model(by_name):
    """A random walk seen with noise, its parameters by name or as a dict; the state is a dict itself."""

    def transition(z, state, sd, noise_sd, t):
        return {"level": state["level"] + sd * z}

    def log_observation(sd, noise_sd, state, y, t):
        return jst.norm.logpdf(y, state["level"], noise_sd)

    def log_transition(sd, noise_sd, state, previous, t):
        return jst.norm.logpdf(state["level"], previous["level"], sd)

    def observe(key, state, sd, noise_sd, t):
        return state["level"] + noise_sd * jr.normal(key)

    named = (transition, log_observation, log_transition, observe)
    if not by_name:
        named = (
            lambda z, state, theta, t: transition(z, state, theta["sd"], theta["noise_sd"], t),
            lambda theta, state, y, t: log_observation(theta["sd"], theta["noise_sd"], state, y, t),
            lambda theta, state, previous, t: log_transition(theta["sd"], theta["noise_sd"], state, previous, t),
            lambda key, state, theta, t: observe(key, state, theta["sd"], theta["noise_sd"], t),
        )
    return ls.models.StateSpace(
        initial=lambda z, theta: {"level": z},
        transition=named[0],
        log_observation=named[1],
        draw=lambda key, count: jr.normal(key, (count,)),
        observe=named[3],
        log_initial=lambda theta, state: jst.norm.logpdf(state["level"]),
        log_transition=named[2],
    )


LEVELS = ls.Parameters(sd=stats.gamma(2.0, scale=0.3), noise_sd=stats.gamma(4.0, scale=0.2))
STEP = ls.RandomWalk({"sd": 0.5, "noise_sd": 0.3})
SEEN = np.array([0.1, 0.9, 0.4, 1.8, 1.1, 2.0, 1.2, 1.9])


def kalman(sd, noise_sd):
    mean, variance, total = 0.0, 1.0, 0.0
    for time, y in enumerate(SEEN):
        variance = variance + (sd**2 if time else 0.0)
        spread = variance + noise_sd**2
        total = total - 0.5 * ((y - mean) ** 2 / spread + np.log(2 * np.pi * spread))
        gain = variance / spread
        mean, variance = mean + gain * (y - mean), (1 - gain) * variance
    return total


@pytest.mark.parametrize("by_name", [True, pytest.param(False, marks=pytest.mark.study)])
def test_particle_filters_take_named_parameters(by_name):
    """With the log prior given by hand, on the logarithms, the chain is the same."""
    kernel = LEVELS.posterior(ls.particle_marginal(None, level_model(by_name), SEEN, STEP, 16, paths=True))
    run = ls.sample(kernel, {"sd": 0.5, "noise_sd": 0.5}, draws=40, chains=2, seed=1)
    assert run.paths["level"].shape == (2, 40, 8) and run.positions["sd"].min() > 0

    def log_prior(log):
        sd, noise_sd = jnp.exp(log["sd"]), jnp.exp(log["noise_sd"])
        return log["sd"] - sd / 0.3 + log["sd"] + 3 * log["noise_sd"] - noise_sd / 0.2 + log["noise_sd"]

    inner = level_model(False)

    def at(function, where):
        def called(*arguments):
            return function.function(
                *(jax.tree.map(jnp.exp, one) if index == where else one for index, one in enumerate(arguments))
            )

        return called

    by_hand = ls.models.StateSpace(
        initial=at(inner.initial, 1),
        transition=at(inner.transition, 2),
        log_observation=at(inner.log_observation, 0),
        draw=inner.draw,
    )
    hand = ls.particle_marginal(log_prior, by_hand, SEEN, STEP, 16, paths=True)
    start = {"sd": np.log(0.5), "noise_sd": np.log(0.5)}
    other = ls.sample(hand, start, draws=40, chains=2, seed=1)
    np.testing.assert_allclose(np.exp(other.positions["sd"]), run.positions["sd"], rtol=1e-8)
    if by_name:
        found = run.forecast(3)  # from the values, whose names the model's functions take
        assert found.data.shape == (2, 40, 3)


@pytest.mark.study
def test_particles_are_advised_of_named_parameters():
    kernel = LEVELS.posterior(ls.particle_marginal(None, level_model(True), SEEN, STEP, 16))
    advice = ls.advise(kernel, {"sd": 0.5, "noise_sd": 0.5}, progress=False)
    assert advice.particles > 0 and "standard deviation of the log likelihood" in repr(advice)
    run = advice.sample(draws=10)
    assert run.positions["sd"].min() > 0


def test_particle_gibbs_has_the_posterior_of_the_exact_likelihood():
    """A kernel without a ratio of its own: against the posterior by a grid, with the Kalman filter's likelihood."""
    kernel = LEVELS.posterior(ls.particle_gibbs(None, level_model(True), SEEN, STEP, 8))
    run = ls.sample(kernel, {"sd": 0.5, "noise_sd": 0.5}, draws=600, chains=32, warmup=50, seed=1)
    axes = np.linspace(0.01, 3.0, 60), np.linspace(0.05, 2.5, 60)
    log_posterior = kalman(axes[0][:, None], axes[1])
    log_posterior += stats.gamma(2.0, scale=0.3).logpdf(axes[0])[:, None]
    log_posterior += stats.gamma(4.0, scale=0.2).logpdf(axes[1])[None]
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    for axis, name in enumerate(("sd", "noise_sd")):
        exact = weights.sum(axis=1 - axis) @ axes[axis]
        means = run.positions[name].mean(axis=1)
        assert abs(means.mean() - exact) < 5 * means.std(ddof=1) / np.sqrt(len(means)), (name, exact, means.mean())


def test_kernels_without_a_ratio_are_refused():
    """The prior would be left out, and nobody would know."""

    @ls.part
    class Still(ls.Kernel):
        is_memory_random = False

        def noise(self, key, position, shape=()):
            return jnp.zeros(shape)

        def init(self, position, key=None):
            return ls.State(position, ())

        def move(self, state, noise):
            return state, ls.Info(jnp.array(True), 0.0, jnp.array(True))

    with pytest.raises(TypeError, match="Still, that has no ratio around which a prior could be put"):
        PARAMETERS.posterior(Still())
    with pytest.raises(TypeError, match="no ratio around which"):
        PARAMETERS.posterior(ls.Cycle([ls.standard(log_likelihood, WALK), Still()]))
