"""Parts around others pass on all that the inner one says: what a base declares and they leave out is named here."""

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.declared import Part
from lockstep.core.precision import double_precision
from lockstep.estimators.combinations import Difference, KnownVariance, TwoSided
from lockstep.estimators.within import Within, WithinEvaluation
from lockstep.ratios.carried import Carried
from lockstep.ratios.posterior import Posterior
from lockstep.ratios.randomized import Randomized
from lockstep.ratios.screened import Screened

# Fitting replaces parts inside of others wherever they stand, and how a part computes on the host is its own.
OF_EACH = "computes_on_numpy hosted fit is_fitted reparametrized"
# An evaluation inside is not told where it may stop: the value that decides is another one here.
NO_LIMIT = "can_stop least"
# Noise of another form than that of the inner part has its own programs. What is screened is no sum of a proposal ratio
# and rule(estimate); what is drawn beside a candidate is drawn for values, not for positions.
LEFT_OUT = {
    Screened: f"name randomization noise_source estimator rule {NO_LIMIT}",
    Randomized: f"name noise_source estimator rule {NO_LIMIT}",
    Posterior: f"randomization base noise_source {NO_LIMIT}",
    KnownVariance: "name has_variance",  # it has one
    TwoSided: "name value is_sample evaluation",  # half of a difference is no sample
    Difference: "name value is_sample sides",
    Within: "name is_sample",
    WithinEvaluation: "noise_source can_stop probed has_path forecaster",  # of one with paths the kernel is taken
}


def declared(kind):
    bases = [base for base in kind.__mro__[1:] if base is not object and issubclass(base, Part)]
    return {name for base in bases for name in vars(base) if not name.startswith("_")}


@pytest.mark.parametrize("kind", LEFT_OUT, ids=lambda kind: kind.__name__)
def test_what_is_left_out_is_meant_to_be(kind):
    own = set(vars(kind)) | set(kind.__dataclass_fields__)
    assert declared(kind) - own == set(f"{LEFT_OUT[kind]} {OF_EACH}".split())


def test_a_screen_around_named_parameters_leaves_their_names_and_supports():
    parameters = ls.Parameters(s=ls.positive)
    kernel = parameters.posterior(ls.standard(lambda s: -s, ls.RandomWalk(1.0)))
    screened = ls.screened(kernel, lambda position: -jnp.exp(position["s"]) + position["s"])
    run = ls.sample(screened, {"s": 1.0}, draws=100, chains=2, seed=1)
    assert run.positions["s"].min() > 0 and run.positions["s"][0, 0] != run.positions["s"][0, -1]
    assert screened.shown is parameters
    with pytest.raises(ValueError, match="outside of its support"):
        ls.sample(screened, {"s": -1.0}, draws=5)


MODEL = ls.models.StateSpace(
    initial=lambda z, theta: z,
    transition=lambda z, x, theta, t: x + jnp.exp(theta) * z,
    log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, x),
    draw=lambda key, count: ls.random.normal(key, (count,)),
    observe=lambda key, x, theta, t: x + jr.normal(key),
)


@pytest.mark.parametrize("around", ["screen", "randomization"])
def test_paths_are_kept_through_what_stands_around_a_filter(around):
    data = np.linspace(-1.0, 1.0, 6)
    kernel = ls.particle_marginal(jst.norm.logpdf, MODEL, data, ls.RandomWalk(1.0), particles=10, paths=True)
    if around == "screen":
        wrapped = ls.screened(kernel, jst.norm.logpdf)
    else:
        nothing = ls.Density(
            lambda key, a, b: jr.normal(key), lambda x, a, b: jst.norm.logpdf(x), ls.involutions.Identity()
        )
        wrapped = ls.MetropolisHastings(kernel.proposal, Randomized(kernel.ratio, nothing))
    run = ls.sample(wrapped, -0.5, draws=20, chains=2, seed=1)
    assert run.paths.shape == (2, 20, 6) and np.ptp(run.paths) > 0
    assert run.forecast(3).states.shape == (2, 20, 3)


@pytest.mark.parametrize("is_screened", [False, True])
def test_a_second_chain_comes_to_remember_what_its_own_noise_makes(is_screened):
    """Two chains of a correlated kernel: the second's memory is that of a move with the noise that it was given."""

    def log_estimate(u, theta):
        return -0.5 * theta**2 + 1.5 * u - 1.125

    kernel = ls.pseudo_marginal(log_estimate, ls.RandomWalk(1.0), correlation=0.9, draw=jr.normal)
    kernel = ls.screened(kernel, lambda theta: -0.5 * theta**2) if is_screened else kernel

    @jax.jit
    def moved(key):
        start, key_noise, key_meet, key_first, key_second = jnp.array(0.1), *jr.split(key, 4)
        first, second = kernel.init(start, key_first), kernel.init(start, key_second)
        noise, meet = kernel.noise(key_noise, start), kernel.meeting_noise(key_meet)
        (_, info), (both, other) = kernel.move_both(first, second, noise, meet)
        own, _ = kernel.ratio.coupled_noise(noise.ratio, meet.ratio, first.memory, second.memory)
        alone, _ = kernel.move(second, noise._replace(ratio=own))
        flat = lambda state: jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(state.memory)])  # noqa: E731
        return info.is_accepted & other.is_accepted, flat(both), flat(alone)

    with double_precision():
        is_both, both, alone = jax.vmap(moved)(jr.split(jr.key(1), 200))
    assert 20 < np.sum(is_both) < 200
    np.testing.assert_allclose(both, alone, rtol=1e-9, atol=1e-9)


def test_what_is_carried_is_replaced_inside_of_all_that_stands_around_it():
    parameters = ls.Parameters(s=ls.positive)
    kernel = parameters.posterior(ls.pseudo_marginal(lambda key, s: -s + 0.1 * jr.normal(key), ls.RandomWalk(1.0)))
    ratio = ls.screened(kernel, lambda position: -jnp.exp(position["s"])).ratio
    assert ratio.evaluation is kernel.ratio.inner.evaluate
    changed = ratio.with_evaluation(Bounded(), None)
    assert isinstance(changed, Screened) and changed.surrogate is ratio.surrogate
    assert isinstance(changed.base, Posterior) and changed.base.placement is parameters
    assert isinstance(changed.evaluation, Bounded) and ls.naive(ONE, ls.RandomWalk(1.0)).ratio.with_evaluation is None


ONE = ls.estimators.mean(lambda key, a, b: a - b + jr.normal(key), 4)


def test_an_estimator_of_a_known_variance_takes_what_it_is_made_of():
    assert ls.estimators.known_variance(ls.estimators.two_sided(ONE), 1.0).sides == 2
    batched = ls.estimators.batch_means(lambda key, a, b: a - b + jr.normal(key), 8, batches=4)
    assert ls.estimators.known_variance(batched, 1.0).batches == batched.batches > 1
    assert ls.estimators.difference(ONE, batched).batches == batched.batches


@ls.part
class Bounded(ls.Evaluation):
    """A log density that is promised to stay below a bound, and is not."""

    is_random = False
    can_be_violated = True
    exact_when = "the bound holds"

    def noise(self, key, position, shape=()):
        return ()

    def __call__(self, noise, position):
        return -(position["s"] ** 2)

    def is_violated(self, noise, position):
        return position["s"] > 1.0


def test_a_promise_that_is_broken_within_a_posterior_is_counted():
    within = ls.Parameters(s=ls.positive).posterior(Bounded())
    kernel = ls.MetropolisHastings(ls.RandomWalk(1.0), Carried(within))
    with pytest.warns(ls.LockstepWarning, match="broke a promise"):
        run = ls.sample(kernel, {"s": 0.5}, draws=200, chains=2, seed=1)
    assert run.info.is_violated.any() and not run.info.is_violated.all()
