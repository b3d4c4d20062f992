"""A prior around every ratio of the registry, exactly; and what users see of named parameters."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen
from matrices import errors
from registry import CASES, LOG_PI, LOG_PRIOR, ORDER, PROPOSALS, STATES
from scipy import stats

import lockstep as ls
from lockstep.core.shown import Placement
from lockstep.parameters.wrapping import around as with_prior
from lockstep.ratios.posterior import Posterior


@ls.part
class Table(Placement):
    """Coordinates on a finite space: another order of the states (the value at each of them), and a prior."""

    log_prior: np.ndarray

    def values(self, position):
        return jnp.asarray(ORDER)[position]

    def evaluate(self, position):
        return self.values(position), jnp.asarray(self.log_prior)[position]


def around(case, log_prior, stated):
    """A case with a prior around its ratios, and the target that is stated of it."""
    return dataclasses.replace(
        case,
        make=lambda proposal: with_prior(case.make(proposal), Table(log_prior)),
        log_target=np.asarray(case.log_target)[ORDER] + stated,
    )


# One of each ratio.
HERE = {"standard", "penalty", "universal", "averaged exchange", "pseudo-marginal", "screened", "TunaMH", "mixture"}
HERE |= {"mixed: exchange over pseudo-marginal", "tempering"}


@pytest.mark.parametrize("case", chosen([c for c in CASES if c.is_exact], HERE))
def test_a_prior_around_every_ratio_is_exact(case):
    found = errors(around(case, LOG_PRIOR, LOG_PRIOR), PROPOSALS["hastings"])
    assert all(error < 1e-14 for error in found.values()), found


@pytest.mark.parametrize("name", chosen(["standard", "universal", "penalty"], {"universal"}))
@pytest.mark.parametrize("wrong", [0 * LOG_PRIOR, -LOG_PRIOR, 2 * LOG_PRIOR, LOG_PRIOR[ORDER]])
def test_a_wrong_prior_or_jacobian_is_rejected(name, wrong):
    case = next(case for case in CASES if case.name == name)
    assert errors(around(case, wrong, LOG_PRIOR), PROPOSALS["hastings"])["stationarity"] > 1e-3


def test_states_outside_the_prior_are_never_entered():
    log_prior = np.where(STATES == 3, -np.inf, LOG_PRIOR)
    kernel = with_prior(ls.standard(lambda state: jnp.asarray(LOG_PI)[state], PROPOSALS["hastings"]), Table(log_prior))
    matrix = ls.check.transition_matrix(kernel, STATES)
    assert np.all(matrix[[0, 1, 2, 4], 3] == 0)


# --- what users write and see -----------------------------------------------------------------------------------------
Y = np.array([1.2, 0.3, 2.1, 1.7])
PARAMETERS = ls.Parameters(mean=stats.norm(0, 10), scale=stats.halfnorm(0, 5))


def by_name(xp):
    def log_likelihood(mean, scale):
        return xp.sum(-0.5 * ((Y - mean) / scale) ** 2 - xp.log(scale))

    return log_likelihood


def by_dict(theta):
    return by_name(jnp)(theta["mean"], theta["scale"])


@pytest.fixture(scope="module")
def run():
    kernel = PARAMETERS.posterior(ls.standard(by_name(jnp), ls.RandomWalk({"mean": 0.8, "scale": 0.6})))
    return ls.sample(kernel, draws=800, chains=4, warmup=100, seed=3)


def test_keywords_dicts_and_black_boxes_walk_alike(run):
    walk = run.kernel.proposal
    for likelihood in (by_dict, ls.blackbox(by_name(np)), ls.blackbox(lambda theta: by_name(np)(**theta))):
        other = ls.sample(PARAMETERS.posterior(ls.standard(likelihood, walk)), draws=30, chains=2, warmup=100, seed=3)
        for name in ("mean", "scale"):
            np.testing.assert_allclose(other.positions[name], run.positions[name][:2, :30], rtol=1e-9)


def test_values_are_shown_everywhere(run, tmp_path):
    assert np.all(run.positions["scale"] > 0) and np.any(run.walked["scale"] < 0)
    np.testing.assert_allclose(np.log(run.positions["scale"]), run.walked["scale"], rtol=1e-12, atol=1e-12)
    assert list(run.summary().table.index) == ["mean", "scale"]
    tree = run.to_datatree()
    np.testing.assert_array_equal(tree.posterior["scale"], run.positions["scale"])
    np.testing.assert_array_equal(run.to_dataframe()["scale"], run.positions["scale"].ravel())
    assert "scale (4, 800)" in repr(run)
    assert "scale" in run.report(tmp_path / "page.html").read_text(encoding="utf-8")
    header = next(line for line in run.to_csv(tmp_path / "draws.csv")[0].read_text().splitlines() if line[0] != "#")
    assert header == "accept_stat__,mean,scale"


def test_axes_and_labels_are_shown(tmp_path):
    parameters = ls.Parameters(
        effect=stats.norm(0, 1), spread=ls.positive, dims={"effect": ["school"]}, coords={"school": ["A", "B"]}
    )
    kernel = parameters.posterior(ls.standard(lambda effect, spread: -spread, ls.RandomWalk(0.8)))
    start = {"effect": [0.0, 1.0], "spread": 1.0}
    run = ls.sample(kernel, start, draws=60, chains=2, directory=tmp_path / "run")
    assert list(run.summary().table.index) == ["effect[A]", "effect[B]", "spread"]
    assert list(run.to_datatree().posterior["effect"].coords["school"].values) == ["A", "B"]
    assert list(run.to_dataframe().columns) == ["chain", "draw", "effect[A]", "effect[B]", "spread"]
    # RESUME and LOAD: the directory knows names, supports and labels.
    longer = ls.sample(kernel, start, draws=90, chains=2, directory=tmp_path / "run")
    np.testing.assert_array_equal(longer.walked["spread"][:, :60], run.walked["spread"])
    loaded = ls.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.positions["spread"], longer.positions["spread"])
    assert list(loaded.summary().table.index) == ["effect[A]", "effect[B]", "spread"]
    with pytest.raises(ls.RunDirectoryError):
        other = ls.Parameters(
            effect=stats.norm(0, 2), spread=ls.positive, dims={"effect": ["school"]}, coords={"school": 2}
        )
        changed = other.posterior(ls.standard(lambda effect, spread: -spread, ls.RandomWalk(0.8)))
        ls.sample(changed, start, draws=90, chains=2, directory=tmp_path / "run")


def test_nothing_is_called_outside_the_prior():
    calls = []

    def log_likelihood(a, b):
        calls.append((a, b))
        assert a < b
        return 0.0

    def log_prior(a, b):
        return 0.0 if a < b else -np.inf

    parameters = ls.Parameters(a=stats.uniform(0, 1), b=stats.uniform(0, 1), log_prior=ls.blackbox(log_prior))
    kernel = parameters.posterior(ls.standard(ls.blackbox(log_likelihood), ls.RandomWalk(2.0)))
    run = ls.sample(kernel, {"a": 0.2, "b": 0.7}, draws=300, chains=2)
    assert 2 < len(calls) < 602 and np.all(run.positions["a"] < run.positions["b"])
    with pytest.raises(ValueError, match="the prior is 0 at the initial position"):
        ls.sample(kernel, {"a": 0.7, "b": 0.2}, draws=3)


def noisy(noise, position, candidate):
    return by_dict(candidate) - by_dict(position) + 0.3 * noise


def draw(key, count):
    return jr.normal(key, (count,))


def test_estimators_predictions_and_couplings():
    """The prior is in the estimate that predictions see, exactly; coupled chains show both legs by name."""
    walk = ls.RandomWalk(0.7)
    estimator = ls.estimators.mean(noisy, 8, draw)
    kernel = PARAMETERS.posterior(ls.naive(estimator, walk))
    exact = PARAMETERS.posterior(ls.standard(by_name(jnp), walk))
    assert isinstance(kernel.ratio, Posterior)
    found, alone = kernel.ratio.estimator, PARAMETERS.posterior(estimator)
    here, there = {"mean": 0.3, "scale": -0.2}, {"mean": 0.9, "scale": 0.4}
    with jax.enable_x64(True):
        here, there = jax.tree.map(jnp.asarray, (here, there))
        noise = jnp.zeros(8)
        d = exact.ratio(None, here, exact.init(here).memory, there, 0.0).log_ratio
        assert float(found(noise, here, there).value) == pytest.approx(float(d), abs=1e-12)
        assert float(alone.value(noise, here, there)) == pytest.approx(float(d), abs=1e-12)
        assert found.with_count(3).count == 3
    run = ls.sample(ls.Shadowed(exact, kernel), draws=1500, chains=4, seed=1)
    assert run.positions["scale"].min() > 0
    single = ls.sample(kernel, draws=1500, chains=4, seed=1)
    prediction = ls.separation.predict(single, pairs=64, replicates=8)
    assert prediction.updates == 6000
    pair = ls.sample(ls.Coupled(exact, kernel), draws=50, chains=2, seed=1)
    assert pair.positions.second["scale"].min() > 0
    assert set(pair.to_datatree().reference_posterior) == {"mean", "scale"}


def test_lagged_pairs_estimate_values():
    kernel = ls.Parameters(rate=stats.gamma(3.0)).posterior(ls.standard(lambda rate: 0.0, ls.RandomWalk(1.2)))
    found = ls.unbiased(kernel, pairs=64, lag=20, start=20, end=40, seed=1)
    assert abs(found.estimate["rate"] - 3.0) < 5 * found.standard_error["rate"]


def test_priors_of_large_data():
    """What finds a mode first finds that of the posterior, in the coordinates of the chain."""
    rng = np.random.default_rng(0)
    data = rng.normal(1.0, 2.0, size=4000)

    def log_likelihood(mean, scale, row):
        return -0.5 * ((row - mean) / scale) ** 2 - jnp.log(scale)

    kernel = PARAMETERS.posterior(ls.subsampled(None, log_likelihood, data))
    run = ls.sample(kernel, {"mean": 0.0, "scale": 1.0}, draws=300, chains=2)
    assert abs(run.positions["scale"].mean() - data.std()) < 0.02 and run.acceptance > 0.8
    bound = ls.subsampling.logistic(lambda row: row)
    with pytest.raises(TypeError, match="does not hold in other coordinates"):
        PARAMETERS.posterior(ls.tunamh(None, log_likelihood, data[:, None], bound))


def test_names_of_vectors(tmp_path):
    kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.0))
    run = ls.sample(kernel, np.zeros(2), draws=50, chains=2, names=["slope", "height"], directory=tmp_path / "run")
    assert run.positions.shape == (2, 50, 2)
    assert list(run.summary().table.index) == ["slope", "height"]
    assert list(ls.load(tmp_path / "run").to_datatree().posterior) == ["slope", "height"]
    with pytest.raises(ValueError, match="do not fit the position"):
        ls.sample(kernel, np.zeros(3), draws=5, names=["slope", "height"])
    with pytest.raises(ValueError, match="the kernel names its own"):
        ls.sample(PARAMETERS.posterior(ls.standard(by_dict, ls.RandomWalk(1.0))), draws=5, names=["a", "b"])
    with pytest.raises(ValueError, match="initial is None; give a position"):
        ls.sample(kernel, draws=5)


def test_models_name_their_parameters():
    model = ls.models.ConwayMaxwellPoisson(np.ones((5, 1)))
    kernel = ls.exchange(None, model.log_likelihood, model.simulate, np.array([1, 2, 0, 1, 3]), ls.RandomWalk(0.3))
    assert kernel.shown.names == ("beta_0", "log_nu")
    graph = ls.models.ERGM(["edges", "stars(2)"], np.ones((4, 4)) - np.eye(4))
    kernel = ls.exchange(None, graph.log_likelihood, graph.simulate, graph.data, ls.RandomWalk(0.3))
    assert kernel.shown.names == ("edges", "stars_2")


STARTS = {
    "missing": ({"mean": 0.0}, "a value for each of mean, scale"),
    "outside": ({"mean": 0.0, "scale": -1.0}, "scale is -1.0, which is outside of its support, above 0.0"),
    "shape": ({"mean": [0.0, 1.0], "scale": 1.0}, r"mean has shape \(2,\)"),
}


@pytest.mark.parametrize("case", STARTS.values(), ids=STARTS)
def test_starts_are_values_by_name(case):
    kernel = PARAMETERS.posterior(ls.standard(by_dict, ls.RandomWalk(1.0)))
    with pytest.raises(ValueError, match=case[1]):
        ls.sample(kernel, case[0], draws=3)


def test_functions_take_all_names_or_one_dict():
    with pytest.raises(TypeError, match="takes mean by name, but not scale"):
        PARAMETERS.posterior(ls.standard(lambda mean: -mean, ls.RandomWalk(1.0)))
    kernel = PARAMETERS.posterior(ls.standard(lambda mean, **others: -jnp.abs(mean), ls.RandomWalk(1.0)))
    assert ls.sample(kernel, draws=5, chains=2).positions["mean"].shape == (2, 5)
    with pytest.raises(TypeError, match="it must be a kernel such as"):
        PARAMETERS.posterior(3)


def test_what_is_no_parameter_is_named():
    """An argument that nobody gives, and names that belong to `Parameters` itself."""
    told = r"takes extra, which is no parameter: those of ls\.Parameters are mean, scale"
    functions = {told: lambda mean, scale, extra: -mean, "'extra'": ls.blackbox(lambda mean, scale, extra: -mean)}
    for message, function in functions.items():
        with pytest.raises(TypeError, match=message):
            ls.sample(PARAMETERS.posterior(ls.standard(function, ls.RandomWalk(1.0))), draws=3, chains=1)
    kernel = PARAMETERS.posterior(ls.standard(lambda mean, scale, power=2: -(mean**power), ls.RandomWalk(1.0)))
    assert ls.sample(kernel, draws=3, chains=1).draws == 3
    for name in ("dims", "coords", "log_prior"):
        with pytest.raises(ValueError, match=f"a parameter cannot be called '{name}'"):
            ls.Parameters(**{name: stats.norm()})
    assert ls.Parameters(self=stats.norm()).names == ("self",)


def test_a_start_that_is_wanted_is_all_that_is_told():
    kernel = ls.Parameters(share=ls.simplex(3)).posterior(ls.standard(lambda share: share[0], ls.RandomWalk(1.0)))
    with pytest.raises(ValueError, match="share: a support alone is no law to draw from") as caught:
        ls.sample(kernel, draws=3)
    assert not any("NumPy" in note or "called with" in note for note in getattr(caught.value, "__notes__", ()))
