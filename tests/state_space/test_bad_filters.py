"""What cannot be filtered is refused, by the name of the function and the step."""

import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np
import pytest
from linear_normal import (
    THETA,
    draw,
    initial,
    log_initial,
    log_observation,
    log_prior,
    log_transition,
    model,
    transition,
)

import lockstep as ls

DATA = np.array([0.3, -0.2, 0.5, 1.0])
WALK = ls.RandomWalk({"phi": 0.1, "log_sigma": 0.4})


def changed(**functions):
    given = {"initial": initial, "transition": transition, "log_observation": log_observation, "draw": draw}
    return ls.models.StateSpace(**{**given, **functions})


def run(made, data=DATA, particles=5, **options):
    return made.filter(jr.key(0), THETA, data, particles=particles, **options)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"particles": 0}, ValueError, "particles is 0"),
        ({"particles": 2.5}, ValueError, "particles is 2.5"),
        ({"data": []}, ValueError, "data is empty"),
        ({"data": np.array(["a"])}, TypeError, "data is"),
        ({"data": 1.0}, ValueError, "leading axis"),
        ({"times": [0, 1, 2]}, ValueError, "4 observations; give one time for each"),
        ({"times": [0, 2, 2, 3]}, ValueError, "increasing"),
        ({"times": [0, 1, 2.5, 3]}, TypeError, "whole numbers"),
        ({"inputs": np.zeros(5)}, ValueError, "must have length 4, one row for each time from 0 to 3"),
        ({"resampling": "stratified"}, ValueError, "resampling is 'stratified'.*'systematic', 'multinomial'"),
        ({"threshold": 0.0}, ValueError, "threshold is 0.0"),
        ({"quantiles": 1.5}, ValueError, "quantiles is 1.5"),
    ],
)
def test_arguments(options, error, told):
    with pytest.raises(error, match=told):
        run(model(), **options)


def test_a_key_is_a_key():
    with pytest.raises(TypeError, match="key is 3"):
        model().filter(3, THETA, DATA, particles=5)


@pytest.mark.parametrize(
    ("functions", "error", "told"),
    [
        (
            {"log_observation": lambda theta, x, y, t: jnp.array([1.0, 2.0]) * x},
            ValueError,
            r"log_observation returned an array of shape \(2,\) for one particle",
        ),
        ({"log_observation": lambda theta, x, y, t: x > 0}, TypeError, "log_observation returned bool"),
        ({"transition": lambda z, x, theta, t: jnp.stack([x, x])}, ValueError, "transition returned float64.2. for a"),
        ({"transition": lambda z, x, theta: x}, TypeError, "transition must take 4 positional arguments"),
        ({"transition": None}, TypeError, "transition of StateSpace must be a function"),
        ({"initial": lambda z, theta: None}, TypeError, "initial returned None"),
        ({"draw": lambda key, count: jr.normal(key, (count - 1,))}, ValueError, "draw, called with"),
    ],
)
def test_functions(functions, error, told):
    with pytest.raises(error, match=told):
        run(changed(**functions))


def test_nan_weights_are_told_with_their_step():
    broken = changed(log_observation=lambda theta, x, y, t: jnp.where(t == 2, jnp.nan, 0.0) + x)
    with pytest.raises(
        FloatingPointError, match="log_observation returned no number for a particle at observation 2, time 2"
    ):
        run(broken)


def test_no_weight_at_all_is_minus_infinity_and_counted():
    empty = changed(log_observation=lambda theta, x, y, t: jnp.where(t == 1, -jnp.inf, 0.0 * x))
    with pytest.warns(ls.LockstepWarning, match="no particle had a weight at 1 of 4 observations, first at number 1"):
        found = run(empty, paths=2)
    assert found.log_likelihood == -np.inf
    assert found.collapsed == 1
    assert np.all(np.isfinite(found.means))
    assert not np.any(np.isnan(found.increments))


def test_weights_that_underflow_are_none():
    """e^-1000 is no number, but the ratio of two of them is."""
    tiny = changed(log_observation=lambda theta, x, y, t: -1000.0 + jst.norm.logpdf(y, x))
    normal = changed(log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, x))
    assert np.isclose(run(tiny).log_likelihood, run(normal).log_likelihood - 4000)


class Numpy:
    """The same model on NumPy arrays, with a fault at one time."""

    def __init__(self, fault=None):
        self.fault = fault

    def initial(self, rng, theta, count):
        return rng.normal(size=count)

    def transition(self, x, theta, t, rng):
        if self.fault == "raises" and t == 2:
            raise ArithmeticError("no such state")
        moved = theta["phi"] * x + np.exp(theta["log_sigma"]) * rng.normal(size=x.shape)
        return moved[1:] if self.fault == "too few" and t == 2 else moved

    def log_observation(self, theta, x, y, t):
        found = -0.5 * ((y - x) / 0.8) ** 2 - np.log(0.8) - 0.5 * np.log(2 * np.pi)
        if self.fault == "nan" and t == 2:
            found[0] = np.nan
        return found.sum() if self.fault == "sum" and t == 1 else found

    def observe(self, rng, x, theta, t):
        return x + 0.8 * rng.normal(size=x.shape)

    @property
    def model(self):
        names = ("initial", "transition", "log_observation", "observe")
        return ls.models.StateSpace(**{name: ls.blackbox(getattr(self, name)) for name in names})


@pytest.mark.parametrize(
    ("fault", "error", "told"),
    [
        ("too few", ValueError, r"transition returned an array of shape \(4,\) at time 2; the first axis.*length 5"),
        ("sum", ValueError, r"log_observation returned an array of shape \(\) at time 1"),
        ("raises", ArithmeticError, "no such state"),
        ("nan", FloatingPointError, "log_observation returned no number for a particle at observation 2, time 2"),
    ],
)
def test_functions_on_numpy_arrays(fault, error, told):
    with pytest.raises(error, match=told):
        run(Numpy(fault).model)


def test_a_kernel_of_numpy_functions_names_the_step():
    kernel = ls.particle_marginal(log_prior, Numpy("too few").model, DATA, WALK, particles=5)
    with pytest.raises(ValueError, match=r"transition returned an array of shape \(4,\) at time 2"):
        ls.sample(kernel, THETA, draws=3, chains=1)


def test_nan_weights_in_a_kernel_are_an_error():
    kernel = ls.particle_marginal(log_prior, Numpy("nan").model, DATA, WALK, particles=5)
    with pytest.raises(ValueError, match=r"\(log_observation returned no number .* at observation 2, time 2\) is nan"):
        ls.sample(kernel, THETA, draws=200, chains=1)


def nan_above(theta, x, y, t):
    """No number at time 2 if φ is large."""
    return jnp.where((t == 2) & (theta["phi"] > 0.9), jnp.nan, 0.0) + log_observation(theta, x, y, t)


def nan_state(z, x, theta, t):
    return jnp.where((t == 3) & (theta["phi"] > 0.9), jnp.nan, transition(z, x, theta, t))


WITHOUT_A_NUMBER = [
    ({"log_observation": nan_above}, "log_observation returned no number for a particle at observation 2, time 2"),
    pytest.param(
        {"transition": nan_state},
        "transition returned a state that is NaN at observation 3, time 3",
        marks=pytest.mark.study,
    ),
]


@pytest.mark.parametrize(("functions", "told"), WITHOUT_A_NUMBER)
@pytest.mark.parametrize("paths", [False, pytest.param(True, marks=pytest.mark.study)])
def test_nan_weights_in_compiled_kernels_are_told_with_function_and_step(functions, told, paths):
    marginal = ls.particle_marginal(log_prior, changed(**functions), DATA, WALK, particles=5, paths=paths)
    with pytest.raises(ValueError, match=told):
        ls.sample(marginal, {"phi": 0.95, "log_sigma": -0.5}, draws=3, chains=1)
    with pytest.warns(ls.LockstepWarning, match=f"log ratios .* were NaN.*{told}"):
        ls.sample(marginal, {"phi": 0.85, "log_sigma": -0.5}, draws=100, chains=1, seed=1)


@pytest.mark.study  # the suite has particles without a number in a run, below
@pytest.mark.parametrize(("functions", "told"), WITHOUT_A_NUMBER)
def test_a_conditional_filter_without_a_number_at_the_start_is_told_with_function_and_step(functions, told):
    known = {"log_initial": log_initial, "log_transition": log_transition}
    gibbs = ls.particle_gibbs(log_prior, changed(**functions, **known), DATA, WALK, particles=5)
    with pytest.raises(FloatingPointError, match=told):
        ls.sample(gibbs, {"phi": 0.95, "log_sigma": -0.5}, draws=3, chains=1)


def test_nan_weights_of_candidates_of_numpy_functions_are_told_with_the_step():
    class Above(Numpy):
        def log_observation(self, theta, x, y, t):
            return super().log_observation(theta, x, y, t) + (np.nan if t == 2 and theta["phi"] > 0.9 else 0.0)

    kernel = ls.particle_marginal(log_prior, Above().model, DATA, WALK, particles=5)
    told = "log_observation returned no number for a particle at observation 2, time 2"
    with pytest.warns(ls.LockstepWarning, match=f"log ratios .* were NaN.*{told}"):
        ls.sample(kernel, {"phi": 0.85, "log_sigma": -0.5}, draws=60, chains=1, seed=1)


def test_a_start_where_no_particle_has_a_weight_is_told_with_the_step():
    empty = changed(log_observation=lambda theta, x, y, t: jnp.where(t == 1, -jnp.inf, 0.0 * x))
    kernel = ls.particle_marginal(log_prior, empty, DATA, WALK, particles=5)
    with pytest.raises(ValueError, match=r"\(no particle had a weight at observation 1, time 1\) is -inf"):
        ls.sample(kernel, THETA, draws=3, chains=1)


def test_one_particle_without_a_number_is_not_lost_in_a_conditional_filter():
    """Some particles have no weight that is a number: the path stays, and the update is counted."""
    known = {"log_initial": log_initial, "log_transition": log_transition}
    some = changed(log_observation=lambda theta, x, y, t: jnp.where(x > 2.5, jnp.nan, 0.0 * x), **known)
    kernel = ls.particle_gibbs(log_prior, some, DATA, WALK, particles=5)
    with pytest.warns(ls.LockstepWarning, match="log_observation returned no number for a particle at observation"):
        run = ls.sample(kernel, THETA, draws=100, chains=1, seed=3)
    is_bad = run.info.is_valid == 0
    assert 0 < is_bad.sum() < 50
    assert np.array_equal(run.paths[:, 1:][is_bad[:, 1:]], run.paths[:, :-1][is_bad[:, 1:]])


def test_arguments_of_the_kernel():
    with pytest.raises(TypeError, match="model must be an ls"):
        ls.particle_marginal(model(), log_prior, DATA, WALK, 5)
    with pytest.raises(TypeError, match="log_prior is a black box, but"):
        ls.particle_marginal(ls.blackbox(lambda theta: 0.0), model(), DATA, WALK, 5)
    keyed = changed(draw=None)
    with pytest.raises(TypeError, match="there is no draw"):
        ls.particle_marginal(log_prior, keyed, DATA, WALK, 5, correlation=0.9)
    with pytest.raises(TypeError, match="batched=True"):
        changed(initial=ls.blackbox(lambda rng, theta: 0.0, batched=True))
    plain = ls.sample(ls.standard(lambda x: -(x**2), ls.RandomWalk(1.0)), 0.0, draws=5, chains=1)
    with pytest.raises(AttributeError, match="keeps no paths"):
        _ = plain.paths


def test_functions_of_numpy_and_of_jax_do_not_share_a_generator():
    boxed = ls.blackbox(lambda rng, theta, count: rng.normal(size=count))
    with pytest.raises(
        TypeError, match=r"transition of StateSpace is no black box.*ls.blackbox\(transition\), or give"
    ):
        changed(initial=boxed, draw=None)
    # Noise that is drawn serves both.
    made = changed(initial=ls.blackbox(lambda noise, theta, count: noise))
    assert np.isfinite(run(made).log_likelihood)


def test_a_function_that_takes_no_input_is_told_so():
    for made in (Numpy().model, changed()):
        with pytest.raises(TypeError, match="must take") as told:
            run(made, inputs=np.zeros(4))
        assert "the input of that time after it" in told.value.__notes__[0]
        assert "without a random generator" not in str(told.value)
    with pytest.raises(TypeError, match="if it is written for NumPy, wrap it"):
        run(changed(initial=lambda rng, theta, count: rng.normal(size=count)))


def test_a_figure_names_the_states():
    state = {"level": jnp.zeros(()), "slopes": jnp.zeros(2)}
    made = ls.models.StateSpace(lambda key, theta: state, lambda key, x, theta, t: x, lambda theta, x, y, t: x["level"])
    axes = run(made).figure().axes
    assert [axis.get_ylabel() for axis in axes] == ["level", "slopes[0]", "slopes[1]", "effective\nparticles"]


def test_data_of_another_size_than_the_states_have_a_panel_of_their_own():
    found = run(
        ls.models.StateSpace(
            lambda key, theta: jr.normal(key), lambda key, x, theta, t: jr.normal(key), lambda theta, x, y, t: -x * x
        )
    )
    few = np.where(np.arange(len(DATA)) == 0, np.nan, np.sin(np.arange(len(DATA))))
    for data, labels in ((few, ["state"]), (1e3 * few, ["state", "data"]), (1e-3 * few, ["state", "data"])):
        axes = found.figure(data).axes
        assert [axis.get_ylabel() for axis in axes[:-1]] == labels
        assert [len(axis.lines) for axis in axes[:-1]] == ([2] if len(labels) == 1 else [1, 1])
