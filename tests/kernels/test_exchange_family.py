"""The exchange family on an enumerated Ising chain in an asymmetric field: exact, or approximate as it should be."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from lattices import configurations, index_of, log_weights, probabilities

import lockstep as ls
from lockstep.check import Law, product, stationarity_error, stationary, total_variation, transition_matrix
from lockstep.core.precision import canonical, double_precision
from lockstep.models import heat_bath

TOLERANCE = 1e-12
MODEL = ls.models.Ising((1, 3), field=np.array([[0.3, -0.2, 0.5]]))
THETAS = np.array([0.1, 0.5, 1.1])
PROPOSAL = np.array([[0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
DATA = np.array([[1, -1, -1]], np.int8)
X = configurations((1, 3))
LIKELIHOOD = np.stack([probabilities(log_weights(MODEL, theta, X)) for theta in THETAS])
TARGET = np.exp(-THETAS) * LIKELIHOOD[:, index_of(DATA[None])[0]]
TARGET /= TARGET.sum()


@ls.part
class Table:
    """A proposal on three real numbers that can be enumerated; the noise is the number of the candidate."""

    def noise(self, key, position, shape=()):
        return jr.randint(key, shape, 0, 3)

    def law(self, position):
        return np.arange(3), PROPOSAL[int(np.argmin(np.abs(THETAS - position)))]

    def __call__(self, noise, position):
        here = jnp.argmin(jnp.abs(jnp.asarray(THETAS) - position))
        q = jnp.asarray(PROPOSAL)
        return jnp.asarray(THETAS)[noise], jnp.log(q[noise, here] / q[here, noise])


def log_prior(theta):
    return -theta


def simulate(noise, theta):
    """By inversion of the distribution function over all eight configurations."""
    weights = jax.vmap(lambda x: MODEL.log_likelihood(theta, x))(jnp.asarray(X))
    cumulative = jnp.cumsum(jax.nn.softmax(weights))
    return jnp.asarray(X)[jnp.clip(jnp.sum(cumulative < noise), 0, 7)]


def intervals(breaks):
    """The middle and the length of each interval that some breaks leave of [0, 1]."""
    breaks = np.unique(np.concatenate([[0.0], np.round(breaks, 15), [1.0]]))
    return Law((breaks[1:] + breaks[:-1]) / 2, np.diff(breaks))


UNIFORM = intervals(np.cumsum(LIKELIHOOD, axis=1)[:, :-1].ravel())
NO_NOISE = Law((), np.ones(1))


def error_of(kernel, law) -> float:
    return stationarity_error(transition_matrix(kernel, THETAS, law), TARGET)


def test_exchange_is_exact():
    kernel = ls.exchange(log_prior, MODEL.log_likelihood, simulate, DATA, Table())
    assert error_of(kernel, product(NO_NOISE, UNIFORM)) < TOLERANCE


def test_the_auxiliary_variable_method_is_exact():
    kernel = ls.auxiliary_variable(
        log_prior, MODEL.log_likelihood, simulate, lambda x: MODEL.log_likelihood(0.4, x), DATA, Table()
    )
    matrix = transition_matrix(kernel, THETAS, UNIFORM)
    with double_precision():
        ratio = canonical(kernel, "kernel").ratio
        memory = jax.jit(jax.vmap(lambda t: jax.vmap(lambda u: ratio.init(u, t))(jnp.asarray(UNIFORM.values))))
        extended = np.exp(np.asarray(memory(np.asarray(THETAS)))) * UNIFORM.weights
    assert np.allclose(extended.sum(axis=1) / extended.sum(), TARGET, rtol=0, atol=1e-13)
    assert stationarity_error(matrix, extended.ravel()) < TOLERANCE


# --- the bridge: its middle lies half way between two parameters ------------------------------------------------------
MIDDLES = [(a + b) / 2 for a, b in itertools.combinations(THETAS, 2)]


def site_law(site):
    """The breaks of a site's decision, over the parameters half way and the sums of its neighbours."""
    totals = (-2, 0, 2) if site == 1 else (-1, 1)
    field = np.asarray(MODEL.field)[0, site]
    return intervals([1 / (1 + math.exp(-2 * (theta * total + field))) for theta in MIDDLES for total in totals])


def sweep_law(is_palindrome):
    """Noise of one sweep: sites 0 and 2, then 1, and the way back for a palindrome; what is not used is 0.5."""
    visits = [(0, 0), (0, 2), (0, 1)] + ([(1, 0), (1, 2)] if is_palindrome else [])
    values, weights = product(*(site_law(site) for _, site in visits))
    noise = np.full((len(weights), 1, 2, 1, 3), 0.5)
    for (way, site), value in zip(visits, values, strict=True):
        noise[:, 0, way, 0, site] = value
    return Law(noise, weights)


def palindrome(noise, theta, x):
    return heat_bath.there_and_back(heat_bath.Site(theta, MODEL.field).rule(noise.dtype), noise, x, False)


def one_way(noise, theta, x):
    """A systematic sweep: each colour once."""
    is_up = heat_bath.Site(theta, MODEL.field).rule(noise.dtype)
    for is_visited in heat_bath._masks((1, 3), False):
        x = heat_bath.visit(is_up, noise[0], x, is_visited, False)
    return x


def bridged(transition):
    return ls.bridged_exchange(log_prior, MODEL.log_likelihood, simulate, DATA, Table(), 1, transition)


def test_bridged_exchange_is_exact_with_sweeps_there_and_back():
    kernel = bridged(palindrome)
    assert "reversible" in kernel.exact_when
    assert error_of(kernel, product(NO_NOISE, product(UNIFORM, sweep_law(True)))) < TOLERANCE


def test_systematic_sweeps_in_the_bridge_are_found_out():
    assert error_of(bridged(one_way), product(NO_NOISE, product(UNIFORM, sweep_law(False)))) > 1e6 * TOLERANCE


def test_a_path_walked_the_other_way_has_the_opposite_weight():
    bridge = bridged(palindrome).ratio.randomization
    path = jnp.asarray(X)[np.array([7, 1])]
    there = float(bridge.log_weight(path, 0.2, 0.9))
    back, log_jacobian = bridge.involution(path, 0.2, 0.9)
    assert log_jacobian == 0 and there != 0
    assert float(bridge.log_weight(back, 0.9, 0.2)) == pytest.approx(-there, rel=1e-5)


def test_balance_walks_the_path_the_other_way():
    kernel = ls.bridged_exchange(
        log_prior, MODEL.log_likelihood, simulate, DATA, ls.RandomWalk(0.3), 2, lambda key, theta, x: -x, jr.uniform
    )
    assert ls.check.balance(kernel, np.array([0.2, 0.6]), np.array([0.5, 0.4]), replicates=10)


# --- approximate members ----------------------------------------------------------------------------------------------
def matrix_of(acceptance) -> np.ndarray:
    """A transition matrix from the acceptance probabilities of all pairs."""
    matrix = PROPOSAL * acceptance
    np.fill_diagonal(matrix, 0.0)
    return matrix + np.diag(1 - matrix.sum(axis=1))


def sweep_matrices() -> np.ndarray:
    """The transition matrix of one palindromic sweep at each parameter, colour by colour."""
    result = []
    for theta in THETAS:
        blocks = []
        for mask in heat_bath._masks((1, 3), False):
            fixed = ~mask.ravel()
            is_reached = np.all(X.reshape(8, -1)[:, None, fixed] == X.reshape(8, -1)[None, :, fixed], axis=2)
            weights = is_reached * probabilities(log_weights(MODEL, theta, X))
            blocks.append(weights / weights.sum(axis=1, keepdims=True))
        result.append(blocks[0] @ blocks[1] @ blocks[0])
    return np.stack(result)


def test_double_metropolis_hastings_is_approximate_and_improves_geometrically():
    sweeps, start = sweep_matrices(), index_of(DATA[None])[0]
    errors = []
    for inner in (1, 2, 3, 4):
        kernel = ls.exchange(
            log_prior, MODEL.log_likelihood, lambda noise, theta, x: jnp.asarray(X)[noise], DATA, Table(), inner=inner
        )
        assert kernel.exact_when is None
        with double_precision():
            compiled = canonical(kernel, "kernel")

            def accepted(here, there, compiled=compiled, inner=inner):
                log_q = compiled.proposal(there, jnp.asarray(THETAS)[here])[1]
                position, candidate = jnp.asarray(THETAS)[here], jnp.asarray(THETAS)[there]

                def of(last):
                    noise = ((), jnp.full((inner,), last))
                    memory = compiled.init(position).memory
                    return jnp.exp(jnp.minimum(compiled.ratio(noise, position, memory, candidate, log_q)[0], 0.0))

                return jax.vmap(of)(jnp.arange(8))

            probability = np.asarray(jax.jit(jax.vmap(jax.vmap(accepted, (None, 0)), (0, None)))(*[jnp.arange(3)] * 2))
        # The last data set is where so many sweeps at the candidate lead from the data.
        led = np.stack([np.linalg.matrix_power(sweep, inner)[start] for sweep in sweeps])
        acceptance = np.einsum("abx,bx->ab", probability, led)
        errors.append(total_variation(stationary(matrix_of(acceptance)), TARGET))
    assert errors[0] > 1e-3
    rate = max(np.sort(np.abs(np.linalg.eigvals(sweep)))[-2] for sweep in sweeps)
    ratios = np.array(errors[1:]) / errors[:-1]
    assert np.all(ratios < 1.1 * rate) and np.all(ratios > 0.3 * rate)


# A model of three outcomes, on a fine grid of parameters: D is close to 0 for many pairs.
ENERGY = np.array([0.0, 1.2, -0.5])
GRID = np.linspace(-1.5, 2.5, 24)
REACH = 6
OUTCOMES = probabilities(np.zeros(3))[None] * np.exp(GRID[:, None] * ENERGY)
OUTCOMES /= OUTCOMES.sum(axis=1, keepdims=True)
GRID_TARGET = np.exp(-0.5 * (GRID - 0.3) ** 2) * OUTCOMES[:, 1]


def noisy_error(count, two_sided) -> float:
    """The total variation of noisy exchange, from its own ratio over all outcomes of its data sets."""
    kernel = ls.noisy_exchange(
        lambda t: -0.5 * (t - 0.3) ** 2,
        lambda t, x: t * jnp.asarray(ENERGY)[x],
        lambda noise, t: noise,
        np.array(1),
        ls.RandomWalk(1.0),
        count,
        two_sided=two_sided,
    )
    assert kernel.exact_when is None
    counts = np.array([c for c in itertools.product(range(count + 1), repeat=3) if sum(c) == count])
    sets = np.array([np.repeat(np.arange(3), c) for c in counts])
    ways = math.lgamma(count + 1) - np.vectorize(math.lgamma)(counts + 1.0).sum(axis=1)
    weights = np.exp(ways[:, None] + counts @ np.log(OUTCOMES).T)
    pairs = np.array([(i, j) for i in range(24) for j in range(24) if 0 < abs(i - j) <= REACH])
    with double_precision():
        ratio, sets, weights = (canonical(value, "value") for value in (kernel.ratio, sets, weights))

        def accepted(pair):
            i, j = pair
            here, there = jnp.asarray(GRID)[i], jnp.asarray(GRID)[j]

            def of(noise):
                return jnp.exp(jnp.minimum(ratio(noise, here, (), there, 0.0)[0], 0.0))

            if not two_sided:
                return weights[:, j] @ jax.vmap(of)(sets)
            both = jax.vmap(lambda a: jax.vmap(lambda b: of((a, b)))(sets))(sets)
            return weights[:, j] @ both @ weights[:, i]

        acceptance = np.asarray(jax.jit(lambda pairs: jax.lax.map(accepted, pairs))(jnp.asarray(pairs)))
    matrix = np.zeros((24, 24))
    matrix[tuple(pairs.T)] = acceptance / (2 * REACH)
    return total_variation(stationary(matrix + np.diag(1 - matrix.sum(axis=1))), GRID_TARGET)


def test_noisy_exchange_first_gets_worse_and_then_better_as_one_over_n():
    one, two, eight, sixteen = (noisy_error(count, False) for count in (1, 2, 8, 16))
    assert one < 1e-12  # the exchange algorithm itself
    assert two > 2 * eight > 1e-3
    assert 1.7 < eight / sixteen < 2.3


def test_two_sides_fall_faster():
    four, eight = noisy_error(4, True), noisy_error(8, True)
    assert four / eight > 2**1.5
    assert eight < noisy_error(8, False) / 3


def test_the_noisy_estimator_can_be_asked_for_more():
    kernel = ls.noisy_exchange(log_prior, MODEL.log_likelihood, MODEL.simulate, DATA, ls.RandomWalk(0.2), count=4)
    assert isinstance(kernel.ratio, ls.Estimated)
    assert kernel.ratio.rule is ls.rules.corrected
    assert kernel.ratio.estimator.with_count(32).count == 32


# --- runs -------------------------------------------------------------------------------------------------------------
def uniform_prior(theta):
    return jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf)


@pytest.mark.study
@pytest.mark.parametrize("member", ["bridged", "inner", "noisy"])
def test_every_member_runs_with_a_model(member):
    """5 by 4 in a field, θ ~ U(0, 1): close to the exact posterior mean."""
    model = ls.models.Ising((5, 4), field=0.1)
    data = model.simulate(jr.key(2), 0.4)
    common = (uniform_prior, model.log_likelihood, model.simulate, data, ls.RandomWalk(0.5))
    kernel = {
        "inner": lambda: ls.exchange(*common, inner=8),
        "bridged": lambda: ls.bridged_exchange(*common, bridges=2),
        "noisy": lambda: ls.noisy_exchange(*common, count=4),
    }[member]()
    grid = np.linspace(0, 1, 201)
    with double_precision():
        log_posterior = jax.vmap(lambda t: model.log_likelihood(t, data) - model.log_normalizer(t))(jnp.asarray(grid))
    mean = probabilities(log_posterior) @ grid
    run = ls.sample(kernel, 0.4, draws=150, chains=24, warmup=10, seed=3)
    value = run.positions.mean(axis=1)
    assert np.all((run.positions >= 0) & (run.positions <= 1))
    assert abs(value.mean() - mean) < 4 * value.std(ddof=1) / np.sqrt(len(value))


def test_nothing_is_simulated_where_the_prior_forbids_the_candidate():
    """A Potts model refuses θ < 0; a prior that is zero there keeps it from being asked."""
    model = ls.models.Potts((4, 4), colours=3)
    data = model.simulate(jr.key(0), 0.1)
    kernel = ls.exchange(uniform_prior, model.log_likelihood, model.simulate, data, ls.RandomWalk(0.5))
    run = ls.sample(kernel, 0.05, draws=100, chains=4, seed=0)
    assert np.all(run.positions >= 0)


def test_the_auxiliary_density_must_have_one_mass_on_every_support():
    """L = 1 on x ≤ θ, d = 0: the method samples from the posterior times the mass of f on the support at θ."""

    def log_likelihood(theta, x):
        return jnp.where(x <= theta, 0.0, -jnp.inf)

    def simulate(key, theta):
        return jr.randint(key, (), 0, theta + 1)

    def frequencies(auxiliary):
        proposal = ls.Finite(np.full((3, 3), 1 / 3))
        flat = lambda theta: jnp.zeros(())  # noqa: E731
        kernel = ls.auxiliary_variable(flat, log_likelihood, simulate, auxiliary, jnp.array(0), proposal)
        assert "does not depend on theta" in kernel.exact_when
        run = ls.sample(kernel, 0, draws=20_000, chains=4, seed=0)
        return np.bincount(run.positions.ravel()) / run.positions.size

    truth = np.array([6, 3, 2]) / 11
    own = frequencies(lambda theta, x: jnp.where(x <= theta, -jnp.log(theta + 1.0), -jnp.inf))
    # Standard errors are about 0.003.
    np.testing.assert_allclose(own, truth, atol=0.02)
    np.testing.assert_allclose(frequencies(lambda x: jnp.zeros(())), 1 / 3, atol=0.02)


# --- averages that are exact ------------------------------------------------------------------------------------------
def averaged(count, simulate=simulate, **options):
    return ls.averaged_exchange(log_prior, MODEL.log_likelihood, simulate, DATA, Table(), count, **options)


def sets_law(count):
    laws = product(*[UNIFORM] * count)
    return Law(np.stack(laws.values, axis=-1), laws.weights)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_averaged_exchange_is_exact_for_every_number_of_data_sets(count):
    coin = Law(np.array([True, False]), np.array([0.5, 0.5]))
    assert error_of(averaged(count), product(NO_NOISE, product(coin, sets_law(count)))) < TOLERANCE


def test_one_way_of_averaging_alone_is_found_out():
    for way in (True, False):
        always = Law(np.array([way]), np.ones(1))
        assert error_of(averaged(2), product(NO_NOISE, product(always, sets_law(2)))) > 1e9 * TOLERANCE


def test_the_way_back_of_an_average_has_the_opposite_weight():
    kernel = ls.averaged_exchange(
        log_prior, MODEL.log_likelihood, simulate, DATA, ls.RandomWalk(0.3), 3, draw=lambda key: jr.uniform(key)
    )
    finding = ls.check.balance(kernel, np.array([0.2, 0.6]), np.array([0.5, 0.4]), replicates=20)
    assert finding and "not checked" in finding.sentence


def test_averages_raise_the_acceptance_to_that_of_known_constants():
    def rate(kernel, law):
        return TARGET @ (1 - np.diag(transition_matrix(kernel, THETAS, law)))

    coin = Law(np.array([True, False]), np.array([0.5, 0.5]))
    rates = [rate(averaged(count), product(NO_NOISE, product(coin, sets_law(count)))) for count in (1, 2, 3)]
    log_target = jnp.log(jnp.asarray(TARGET))
    best = rate(ls.standard(lambda t: log_target[jnp.argmin(jnp.abs(jnp.asarray(THETAS) - t))], Table()), None)
    alone = rate(ls.exchange(log_prior, MODEL.log_likelihood, simulate, DATA, Table()), product(NO_NOISE, UNIFORM))
    assert rates[0] == pytest.approx(alone, rel=1e-12)
    assert rates[0] < rates[1] < rates[2] < best


def test_averages_of_black_boxes():
    """A simulator in NumPy, from its own keys: N data sets an update, and the posterior of a normal mean."""
    calls = []

    def black(rng, theta):
        calls.append(1)
        return theta + rng.normal(size=4)

    data = np.array([0.3, 1.2, -0.4, 0.5])
    kernel = ls.averaged_exchange(
        lambda theta: 0.0 * theta,
        ls.blackbox(lambda theta, x: -0.5 * float(np.sum((x - theta) ** 2))),
        ls.blackbox(black),
        data,
        ls.RandomWalk(1.0),
        3,
    )
    run = ls.sample(kernel, 0.4, draws=600, chains=2, seed=0)
    assert len(calls) == 3 * run.positions.size
    assert run.positions.mean() == pytest.approx(0.4, abs=0.15)
    assert run.positions.std() == pytest.approx(0.5, abs=0.1)
