"""A simulator says whether its draws are exact, and the kernels believe it."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.simulator import Simulator

WALK = ls.RandomWalk(0.1)


class Normal(Simulator):
    """A model of a user's own, with draws that are as good as it says."""

    def __init__(self, is_perfect):
        self.is_perfect = is_perfect

    simulation_error = "of draws by 20 sweeps from the data"

    def log_likelihood(self, theta, x):
        return -0.5 * jnp.sum((x - theta) ** 2)

    def simulate(self, key, theta, x=None):
        return theta + jr.normal(key, (3,))


def told(model, is_perfect):
    """A plain function that says it of itself."""

    def simulate(key, theta, x=None):
        return model.simulate(key, theta)

    simulate.is_perfect = is_perfect
    return simulate


MODELS = {
    "plain": (Normal(True), lambda model: lambda key, theta, x=None: model.simulate(key, theta)),
    "exact": (Normal(True), lambda model: model.simulate),
    "exact function": (Normal(False), lambda model: told(model, True)),
    "chain": (Normal(False), lambda model: model.simulate),
    "function of a chain": (Normal(True), lambda model: told(model, False)),
    "black box of a chain": (Normal(False), lambda model: ls.blackbox(model.simulate)),
}
KERNELS = {
    "exchange": ls.exchange,
    "bridged_exchange": lambda *arguments: ls.bridged_exchange(*arguments, bridges=2),
    "auxiliary_variable": lambda prior, likelihood, simulate, *rest: ls.auxiliary_variable(
        prior, likelihood, simulate, lambda x: -0.5 * jnp.sum(x**2), *rest
    ),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MODELS)
def test_kernels_believe_what_a_simulator_says(name, kernel):
    model, simulate = MODELS[name]
    made = KERNELS[kernel](lambda theta: -(theta**2), model.log_likelihood, simulate(model), np.zeros(3), WALK)
    if "chain" in name:
        words = "says that they are not perfect" if "function" in name else "20 sweeps from the data"
        assert made.exact_when is None and words in made.error
        return
    assert made.error is None
    condition = "simulate draws exactly from the likelihood"
    assert (condition in made.exact_when) == (name == "plain")
    rest = {"exchange": "always", "bridged_exchange": "transition is rev", "auxiliary_variable": "the mass of the aux"}
    assert rest[kernel] in made.exact_when or (name == "plain" and kernel == "exchange")


def test_models_say_how_they_draw():
    assert ls.models.Ising((4, 4)).is_perfect and ls.models.ConwayMaxwellPoisson(np.ones((2, 1))).is_perfect
    assert ls.models.Potts((4, 4), 3).is_perfect and not ls.models.Potts((4, 4), 3, sweeps=7).is_perfect
    assert "7 updates" in ls.models.Potts((4, 4), 3, sweeps=7).simulation_error


def test_a_summary_does_not_call_a_finite_chain_exact():
    model = Normal(False)
    kernel = ls.exchange(lambda theta: -(theta**2), model.log_likelihood, model.simulate, np.zeros(3), WALK)
    text = "\n".join(ls.sample(kernel, 0.5, draws=20, chains=2).summary().findings)
    assert "exact kernel" not in text
    assert "approximate kernel: error of draws by 20 sweeps from the data" in text


# --- data whose size is random: the points of a Poisson process on [0, 1] with the intensity e^θ
POINTS = np.random.default_rng(1).uniform(size=12)


def log_gamma_prior(theta):
    """e^θ from a Gamma law of shape 2 and rate 0.2; the posterior is one of shape 14 and rate 1.2."""
    return 2 * theta - 0.2 * np.exp(theta)


def test_black_boxes_may_simulate_data_of_any_length():
    def simulate(rng, theta):
        return rng.uniform(size=rng.poisson(np.exp(theta)))

    kernel = ls.exchange(
        ls.blackbox(log_gamma_prior), ls.blackbox(lambda theta, x: theta * len(x)), ls.blackbox(simulate), POINTS,
        ls.RandomWalk(0.5),
    )  # fmt: skip
    run = ls.sample(kernel, np.log(12.0), draws=1500, chains=8, seed=1, warmup=50)
    means = np.exp(run.positions).mean(axis=1)
    assert abs(means.mean() - 14 / 1.2) < 4.5 * means.std(ddof=1) / np.sqrt(8)
    assert means.std(ddof=1) < 1.0


def test_compiled_simulators_of_any_length_have_statistics_as_data():
    def simulate(key, theta):
        return jr.poisson(key, jnp.exp(theta)).astype(float)

    def log_prior(theta):
        return 2 * theta - 0.2 * jnp.exp(theta)

    kernel = ls.exchange(log_prior, lambda theta, count: theta * count, simulate, np.array(12.0), ls.RandomWalk(0.5))
    run = ls.sample(kernel, np.log(12.0), draws=1500, chains=8, seed=1, warmup=50)
    means = np.exp(run.positions).mean(axis=1)
    assert abs(means.mean() - 14 / 1.2) < 4.5 * means.std(ddof=1) / np.sqrt(8)
    ragged = ls.exchange(log_prior, lambda theta, x: theta, lambda key, theta: jr.normal(key, (3,)), POINTS, WALK)
    with pytest.raises(
        ValueError, match=r"must draw a data set like them; if its size is random.*statistics.*blackbox"
    ):
        ls.sample(ragged, 0.0, draws=2)
