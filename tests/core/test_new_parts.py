"""A rule, a ratio and a proposal that the package has never heard of work with all of it, by what they say themselves.

Each is defined twice: inheriting from its base, and by its methods alone.
"""

from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.core.adopt import AdoptedEstimator, AdoptedProposal, AdoptedRatio, AdoptedRule

WALK = ls.RandomWalk(2.0)


def log_density(theta):
    return -0.5 * theta**2


def one_sample(noise, position, candidate):
    return log_density(candidate) - log_density(position) + noise


def noisy(count=16):
    return ls.estimators.mean(one_sample, count, draw=lambda key, count: jr.normal(key, (count,)))


def boxed(count=16):
    def sample(rng, position, candidate, count):
        return 0.5 * (position**2 - candidate**2) + rng.standard_normal(count)

    return ls.estimators.mean(ls.blackbox(sample, vectorized=True), count)


# --- a rule: twice the penalty that is needed ------------------------------------------------------------------------
@ls.part
class Timid(ls.Rule):
    name = "timid"
    needs_variance = True
    computes_on_numpy = True
    error = "O(1/m), and slow"
    colour, marker = "#E69F00", "X"

    def __call__(self, estimate):
        return estimate.value - estimate.variance


@ls.part
class TimidByMethods:
    """Without a word on anything but what it must say."""

    needs_variance = True

    def __call__(self, estimate):
        return estimate.value - estimate.variance


RULES = {"timid": Timid(), "TimidByMethods": TimidByMethods()}


# --- a ratio: Barker's ------------------------------------------------------------------------------------------------
@ls.part
class Barker(ls.Ratio):
    log_density: Any

    is_memory_random = False
    exact_when = "always"
    remembered_name = "the density of Barker"

    def noise(self, key, position, shape=()):
        return ()

    def init(self, noise, position):
        return self.log_density(position)

    def __call__(self, noise, position, memory, candidate, log_proposal_ratio):
        value = self.log_density(candidate)
        return ls.Decision(-jnp.logaddexp(0.0, memory - value - log_proposal_ratio), value)


@ls.part
class BarkerByMethods:
    log_density: Any

    is_memory_random = False

    def noise(self, key, position, shape=()):
        return ()

    def init(self, noise, position):
        return self.log_density(position)

    def __call__(self, noise, position, memory, candidate, log_proposal_ratio):
        value = self.log_density(candidate)
        return -jnp.logaddexp(0.0, memory - value - log_proposal_ratio), value, value < -2


RATIOS = {"inherited": Barker, "by methods": BarkerByMethods}


# --- a proposal: steps of one size ------------------------------------------------------------------------------------
@ls.part
class Hop(ls.Proposal):
    size: Any

    computes_on_numpy = True

    def noise(self, key, position, shape=()):
        return self.size * jr.rademacher(key, shape, float)

    def __call__(self, noise, position):
        return position + noise, 0.0

    def adapted(self, positions, step):
        return type(self)(step * np.std(positions))

    def require_start(self, position):
        if position > 100:
            raise ValueError("initial is too far for a hop; start nearer")


@ls.part
class HopByMethods:
    size: Any

    noise, __call__, adapted, require_start = Hop.noise, Hop.__call__, Hop.adapted, Hop.require_start


@ls.part
class Coin:
    """A proposal on two states, which can say all that it may propose."""

    def noise(self, key, position, shape=()):
        return jr.bernoulli(key, 0.5, shape)

    def __call__(self, noise, position):
        return jnp.where(noise, 1 - position, position), 0.0

    def law(self, position):
        return np.array([True, False]), np.array([0.5, 0.5])


HOPS = {"inherited": Hop, "by methods": HopByMethods}


@pytest.mark.parametrize("name", chosen(RULES, {"timid"}))
def test_a_new_rule(name, tmp_path):
    rule = RULES[name]
    runs = []
    for make in (noisy, boxed):
        kernel = ls.MetropolisHastings(WALK, ls.Estimated(make(), rule))
        runs.append(ls.sample(kernel, 0.0, draws=600, chains=4, seed=1))
        assert runs[-1].info.is_valid.all() and not runs[-1].info.is_violated.any()
    predicted = ls.separation.predict(runs[0], calls=2000)
    assert predicted.rule == name and predicted[name].rho > 0
    assert set(predicted.rules) == {"naive", "penalty", "penalty_series", "corrected", "two_sided", name}
    # It refuses more than the penalty method does, and is further from the exact chain.
    assert predicted[name].acceptance < predicted["penalty"].acceptance
    assert predicted[name].rho < predicted["penalty"].rho
    kernel = runs[0].kernel
    assert kernel.error == ("O(1/m), and slow" if name == "timid" else None) and kernel.exact_when is None
    summary = repr(runs[0].summary())
    assert "Timid" in repr(kernel) and "acceptance" in summary
    run = runs[0]
    advice = ls.advise(noisy(), WALK, run, updates=1000, separations=20, calls=6000, rules=[rule])
    assert name in {option.rule for option in advice.options}
    lines = {line.get_label() for line in advice.figure().axes[0].get_lines()}
    assert name.replace("_", "-") in lines


def test_a_rule_must_say_whether_it_needs_a_variance():
    with pytest.raises(TypeError, match="rule must be a rule such as"):
        ls.Estimated(noisy(), lambda estimate: estimate.value)
    with pytest.raises(ValueError, match="cannot estimate its own variance"):
        ls.Estimated(noisy(1), TimidByMethods())


def promises_of(name):
    """One of the two says that it broke a promise, which a user is told."""
    is_broken = name == "by methods"
    return pytest.warns(ls.LockstepWarning, match="broke a promise of Barker") if is_broken else nullcontext()


@pytest.mark.parametrize("name", RATIOS)
def test_a_new_ratio(name):
    ratio = RATIOS[name](jax.tree_util.Partial(log_density))
    kernel = ls.MetropolisHastings(WALK, ratio)
    with promises_of(name):
        run = ls.sample(kernel, 0.0, draws=300, chains=2, seed=1)
    assert np.all(run.info.log_ratio <= 0)
    assert run.info.is_violated.any() == (name == "by methods")
    # Next to a black box the ratio is compiled by itself: the same decisions from the same noise.
    walk = ls.blackbox(lambda theta: -0.5 * float(theta) ** 2)
    boxed = ls.MetropolisHastings(WALK, RATIOS[name](Boxed(walk)))
    with promises_of(name):
        interpreted = ls.sample(boxed, 0.0, draws=300, chains=2, seed=1)
    np.testing.assert_allclose(interpreted.positions, run.positions, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(interpreted.info.is_violated, run.info.is_violated)
    with pytest.raises(TypeError, match="nothing to predict" if name == "inherited" else "which is approximate but"):
        ls.separation.predict(run)
    finite = ls.MetropolisHastings(Coin(), RATIOS[name](jax.tree_util.Partial(lambda state: 0.7 * state)))
    matrix = ls.check.transition_matrix(finite, np.arange(2))
    assert ls.check.stationarity_error(matrix, np.exp([0.0, 0.7])) < 1e-15
    assert ls.Cycle([kernel, kernel]).is_memory_shared
    with pytest.raises(ValueError, match="Barker is nan" if name == "inherited" else "the log density is nan"):
        broken = RATIOS[name](jax.tree_util.Partial(lambda theta: theta * jnp.nan))
        ls.sample(ls.MetropolisHastings(WALK, broken), 0.0, draws=10)


@ls.part
class Boxed:
    """A black box as a function of the ratio's own."""

    box: Any

    def __call__(self, theta):
        return self.box(theta)


@pytest.mark.parametrize("name", chosen(HOPS, {"by methods"}))
def test_a_new_proposal(name):
    kernel = ls.standard(log_density, HOPS[name](1.5))
    run = ls.sample(kernel, 0.0, draws=200, chains=2, seed=1)
    hosted = ls.standard(ls.blackbox(lambda theta: -0.5 * float(theta) ** 2), HOPS[name](1.5))
    np.testing.assert_allclose(ls.sample(hosted, 0.0, draws=200, chains=2, seed=1).positions, run.positions, atol=1e-9)
    assert "adapt=True" in kernel.when_stuck
    adapted = ls.sample(kernel, 0.0, draws=50, chains=2, seed=1, warmup=256, adapt=True)
    assert type(adapted.kernel.proposal) is type(kernel.proposal) and adapted.kernel.proposal.size != 1.5
    with pytest.raises(ValueError, match="too far for a hop"):
        ls.sample(kernel, 200.0, draws=10)
    naive = ls.sample(ls.naive(noisy(), HOPS[name](1.5)), 0.0, draws=600, chains=4, seed=1)
    assert ls.separation.predict(naive, calls=2000)["corrected"].rho > 0
    pair = ls.sample(ls.Coupled(kernel, ls.naive(noisy(), HOPS[name](1.5))), 0.0, draws=50, chains=2, seed=1)
    assert pair.info.marks.shape == (2, 50)


def test_parts_by_methods_are_adopted_once_and_read_through():
    kernel = ls.MetropolisHastings(HopByMethods(1.5), BarkerByMethods(jax.tree_util.Partial(log_density)))
    assert type(kernel.proposal) is AdoptedProposal and type(kernel.ratio) is AdoptedRatio
    again = ls.MetropolisHastings(kernel.proposal, kernel.ratio)
    assert again.proposal is kernel.proposal and again.ratio is kernel.ratio
    assert repr(kernel.proposal) == "HopByMethods(size=1.5)" and kernel.proposal.size == 1.5
    assert kernel.proposal.name == "HopByMethods" and kernel.ratio.exact_when is None
    estimated = ls.Estimated(Exact(), TimidByMethods())
    assert type(estimated.estimator) is AdoptedEstimator and type(estimated.rule) is AdoptedRule
    assert type(estimated.estimator.with_count(3)) is AdoptedEstimator and estimated.estimator.with_count(3).count == 3
    assert estimated.estimator.has_variance and estimated.estimator.pooled is None
    with pytest.raises(TypeError, match=r"proposal must be .*: are the arguments in the right order"):
        ls.MetropolisHastings(kernel.ratio, kernel.proposal)
    with pytest.raises(TypeError, match=r"estimator must be .*: are the arguments in the right order"):
        ls.naive(WALK, noisy())


@ls.part
class Exact:
    count: int = ls.static(default=1)

    def noise(self, key, position, shape=()):
        return jnp.zeros(shape)

    def __call__(self, noise, position, candidate):
        return ls.Estimate(log_density(candidate) - log_density(position), 0.0, 0.0, 0.0, self.count)

    def with_count(self, count):
        return Exact(count)


@ls.part
class Walker:
    """A kernel by its methods: noise, init, move, and no step."""

    size: Any

    def noise(self, key, position, shape=()):
        return self.size * jr.normal(key, shape, float)

    def init(self, position, key=None):
        return ls.State(position, ())

    def move(self, state, noise):
        always = jnp.ones((), bool)
        return ls.State(state.position + noise, ()), ls.Info(always, 0.0 * noise, always, ~always)


def test_a_new_kernel():
    run = ls.sample(Walker(0.5), 0.0, draws=64, chains=2, seed=1)
    assert run.acceptance == 1 and run.kernel.when_stuck == "take smaller steps"
    state, info = run.kernel.step(jr.key(1), run.kernel.init(jnp.array(0.0)))
    assert info.is_accepted and state.position != 0
    with pytest.raises(TypeError, match="a prediction needs one such as"):
        ls.separation.predict(run)


@ls.part
class Guess:
    """An evaluation by its methods."""

    def noise(self, key, position, shape=()):
        return jr.normal(key, shape, float)

    def __call__(self, noise, position):
        return log_density(position) + 0.5 * noise - 0.125


@ls.part
class Turn:
    """An involution by its method."""

    def __call__(self, x, position, candidate):
        return -x, 0.0


@ls.part
class Nothing:
    """A randomization by its methods."""

    def noise(self, key, position, shape=()):
        return jr.normal(key, shape, float)

    def sample(self, noise, position, candidate):
        return noise

    def log_weight(self, x, position, candidate):
        return 0.0 * x


def test_evaluations_randomizations_and_involutions_are_their_methods_alone():
    normal = (lambda key, position, candidate: jr.normal(key), lambda x, position, candidate: -0.5 * x**2)
    kernels = [
        ls.pseudo_marginal(Guess(), WALK),
        ls.randomized(log_density, WALK, Nothing()),
        ls.randomized(log_density, WALK, ls.Density(*normal, Turn())),
    ]
    for kernel in kernels:
        run = ls.sample(kernel, 0.0, draws=2000, chains=4, seed=1)
        assert abs(run.positions.mean()) < 0.2 and 0.8 < run.positions.std() < 1.2
    with pytest.raises(TypeError, match="has noise of its own"):
        ls.pseudo_marginal(Guess(), WALK, draw=lambda key: jr.normal(key))


def test_a_kernel_in_a_cycle_says_whether_it_remembers_an_estimate():
    exact = ls.standard(log_density, WALK)
    with pytest.raises(ValueError, match="is_memory_random = False"):
        ls.Cycle([exact, Walker(0.5)])
    silent = ls.part(type("Silent", (Walker,), {"is_memory_random": False, "__annotations__": {}}))
    run = ls.sample(ls.Cycle([exact, silent(0.1)]), 0.0, draws=20, chains=2, seed=1)
    assert run.info.is_accepted[..., 1].all()


def test_a_field_is_no_default_of_what_a_base_declares():
    @ls.part
    class Counted(ls.Estimator):
        count: int = ls.static()
        has_variance: bool

        def noise(self, key, position, shape=()):
            return jnp.zeros(shape)

        def __call__(self, noise, position, candidate):
            return ls.Estimate(0.0, 0.0, 0.0, 0.0, self.count)

    with pytest.raises(TypeError, match="missing 2 required"):
        Counted()
    assert Counted(3, False).count == 3 and not Counted(3, False).has_variance and Counted(3, True).batches == 1

    @ls.part
    class Nothing(ls.Proposal):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()
