"""Bad values for every argument of every public constructor and function.

Each either works or raises an error of ours that names the argument: the last frame of its traceback is in the package,
so that no user has to read an error of a library that was handed something which nobody looked at.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import hypothesis
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import strategies

import lockstep as ls

PACKAGE = str(Path(ls.__file__).parent)
OURS = (TypeError, ValueError, ImportError, FloatingPointError, ls.RunDirectoryError)


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def of_row(theta, row):
    return -0.5 * (row["y"] - theta) ** 2


def one_sample(key, position, candidate):
    return jr.normal(key)


def simulate(key, theta):
    return theta + jr.normal(key)


def log_likelihood(theta, x):
    return -0.5 * (x - theta) ** 2


WALK = ls.RandomWalk(1.0)
STANDARD = ls.standard(log_density, WALK)
ESTIMATOR = ls.estimators.mean(one_sample, 4)
NAIVE = ls.naive(ESTIMATOR, WALK)
DENSITY = ls.tempering(log_density)
ROWS = {"y": np.arange(4.0)}
BOUND = ls.subsampling.Bound(lambda row: 1.0, lambda position, candidate: jnp.abs(candidate - position))
MATRIX = np.array([[0.5, 0.5], [0.25, 0.75]])
LIKELIHOOD = {
    "log_prior": log_density,
    "log_likelihood": log_likelihood,
    "simulate": simulate,
    "data": np.array(0.3),
    "proposal": WALK,
    "draw": None,
}
MINIBATCH = {
    "log_likelihood": of_row,
    "data": ROWS,
    "bound": BOUND,
    "proposal": WALK,
    "log_prior": log_density,
    "control": None,
    "initial": 0.0,
    "progress": False,
}
RUN = {"initial": 0.0, "draws": 2, "chains": 1, "seed": 0, "warmup": 0, "thin": 1, "progress": False}

# Good arguments of each; what takes no time is tried in every test run, the rest in the study.
QUICK = {
    ls.standard: {"log_density": log_density, "proposal": WALK},
    ls.naive: {"estimator": ESTIMATOR, "proposal": WALK},
    ls.penalty: {"estimator": ESTIMATOR, "proposal": WALK, "series": False},
    ls.corrected: {"estimator": ESTIMATOR, "proposal": WALK},
    ls.universal: {"estimator": ESTIMATOR, "bound": 1.0, "proposal": WALK},
    ls.randomized: {"log_density": log_density, "proposal": WALK, "randomization": DENSITY},
    ls.tempering: {"log_density": log_density},
    ls.exchange: LIKELIHOOD | {"inner": None},
    ls.bridged_exchange: LIKELIHOOD | {"bridges": 2, "transition": lambda key, theta, x: x},
    ls.noisy_exchange: LIKELIHOOD | {"count": 2, "two_sided": True},
    ls.auxiliary_variable: LIKELIHOOD | {"auxiliary_log_density": lambda x: -(x**2)},
    ls.pseudo_marginal: {"log_estimate": lambda key, theta: 0.0, "proposal": WALK, "correlation": 0.0, "draw": None},
    ls.tunamh: MINIBATCH | {"chi": 0.1},
    ls.poisson_product: MINIBATCH,
    ls.Cycle: {"kernels": [STANDARD]},
    ls.Mixture: {"kernels": [STANDARD], "weights": [1.0]},
    ls.MetropolisHastings: {"proposal": WALK, "ratio": STANDARD.ratio},
    ls.Coupled: {"first": STANDARD, "second": NAIVE},
    ls.Shadowed: {"exact": STANDARD, "approximate": NAIVE},
    ls.Lagged: {"kernel": STANDARD, "lag": 1},
    ls.MaximallyCoupled: {"first": STANDARD, "second": STANDARD},
    ls.Carried: {"evaluate": STANDARD.ratio.evaluate, "correlation": None},
    ls.Estimated: {"estimator": ESTIMATOR, "rule": ls.rules.plug_in},
    ls.Randomized: {"base": None, "randomization": DENSITY},
    ls.Universal: {"estimator": ESTIMATOR, "bound": 1.0},
    ls.Density: {"sample": one_sample, "log_density": one_sample, "involution": ls.Identity(), "draw": None},
    ls.Reflection: {"total": 1.0},
    ls.Mobius: {"a": 1.0, "b": 1.0, "c": 1.0},
    ls.Transform: {"function": lambda x: -x},
    ls.RandomWalk: {"scale": 1.0, "order": None},
    ls.UniformWalk: {"half_width": 1.0, "order": None},
    ls.IndependentNormal: {"mean": 0.0, "scale": 1.0, "order": None},
    ls.IndependentUniform: {"low": 0.0, "high": 1.0, "order": None},
    ls.IndependentStudent: {"mean": 0.0, "scale": 1.0, "degrees": 5.0, "order": None},
    ls.CrankNicolson: {"mean": 0.0, "scale": 1.0, "step": 0.5, "order": None},
    ls.Independent: {"sample": lambda key: jr.normal(key), "log_density": log_density},
    ls.Finite: {"matrix": MATRIX},
    ls.Component: {"where": 0, "proposal": WALK},
    ls.blackbox: {"function": log_density, "vectorized": False, "batched": False},
    ls.load: {"directory": "nothing-here"},
    ls.estimators.mean: {"sample": one_sample, "count": 4, "draw": None},
    ls.estimators.smooth: {"sample": one_sample, "combine": lambda w, position, candidate: w, "count": 4, "draw": None},
    ls.estimators.log_mean_exp: {"log_weight": one_sample, "count": 4, "draw": None},
    ls.estimators.known_variance: {"estimator": ESTIMATOR, "variance": 1.0},
    ls.estimators.two_sided: {"estimator": ESTIMATOR},
    ls.estimators.difference: {"at_position": ESTIMATOR, "at_candidate": ESTIMATOR},
    ls.estimators.gaussianized: {
        "difference": lambda position, candidate: 0.0,
        "score": lambda noise: noise,
        "variance": 1.0,
        "count": 1,
        "draw": lambda key, count: jr.normal(key),
    },
    ls.estimators.batch_means: {"samples": one_sample, "count": 32, "batches": 4, "draw": None, "combine": None},
    ls.estimators.subsample: {
        "log_likelihood": of_row,
        "data": ROWS,
        "count": 2,
        "log_prior": log_density,
        "control": None,
        "weights": None,
    },
    ls.subsampling.Bound: {"row": lambda row: 1.0, "distance": lambda position, candidate: 1.0},
    ls.subsampling.Surrogate: {"row": of_row, "total": log_density},
    ls.subsampling.logistic: {"features": lambda row: row["x"]},
    ls.subsampling.robust: {"features": lambda row: row["x"], "degrees": 4.0, "scale": 1.0},
    ls.models.Ising: {"shape": (3, 3), "periodic": False, "field": 0.0, "limit": 64},
    ls.models.Potts: {"shape": (3, 3), "colours": 3, "periodic": False, "sweeps": None, "limit": 64},
    ls.models.ERGM: {"terms": ["edges"], "graph": None, "nodes": 4, "directed": False, "toggles": 10},
    ls.models.ConwayMaxwellPoisson: {"design": np.ones((4, 1))},
    ls.check.stationary: {"matrix": MATRIX},
    ls.check.stationarity_error: {"matrix": MATRIX, "weights": [1 / 3, 2 / 3]},
    ls.check.balance_error: {"matrix": MATRIX, "weights": [1 / 3, 2 / 3]},
    ls.check.total_variation: {"first": [0.5, 0.5], "second": [0.25, 0.75]},
    ls.check.asymptotic_variance: {"matrix": MATRIX, "function": [0.0, 1.0]},
    ls.separation.summary: {"run": None},
    ls.separation.predict: {"run": None},
    ls.separation.bias: {"run": None},
}
SLOW = {
    ls.sample: RUN | {"kernel": STANDARD, "executor": None, "adapt": False, "changed": "refuse", "on_error": "raise"},
    ls.sweep: RUN | {"make": lambda scale: STANDARD, "grid": {"scale": [1.0]}, "changed": "refuse"},
    ls.subsampled: {
        "log_likelihood": of_row,
        "data": ROWS,
        "log_prior": log_density,
        "count": 2,
        "proposal": "normal",
        "initial": 0.0,
        "progress": False,
    },
    ls.subsampling.find_mode: {"log_likelihood": of_row, "data": ROWS, "initial": 0.0, "log_prior": log_density},
    ls.check.involution: {"function": lambda x: -x, "x": np.ones(2), "tolerance": 1e-8},
    ls.check.balance: {"kernel": ls.randomized(log_density, WALK, DENSITY), "positions": np.ones(2), "replicates": 4},
    ls.check.symmetry: {"estimator": ESTIMATOR, "positions": np.ones(2), "candidates": np.zeros(2), "replicates": 4},
    ls.check.transition_matrix: {
        "kernel": ls.standard(lambda state: jnp.log(jnp.array([1 / 3, 2 / 3]))[state], ls.Finite(MATRIX)),
        "states": np.arange(2),
    },
    ls.separation.first_passage: {
        "kernel": ls.Shadowed(STANDARD, NAIVE),
        "initial": 0.0,
        "replicates": 2,
        "seed": 0,
        "limit": 1000,
        "progress": False,
    },
    ls.perfect.propp_wilson: {"key": jr.key(0), "kernel": STANDARD, "bottom": 0, "top": 1, "limit": 4},
    ls.advise: {"estimator": ESTIMATOR, "proposal": WALK, "initial": 0.0, "calls": 2000, "progress": False},
}
BAD = {
    "None": None,
    "a text": "x",
    "an empty text": "",
    "bytes": b"x",
    "minus one": -1,
    "zero": 0,
    "a half": 0.5,
    "far too many": 10**20,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "true": True,
    "an empty list": [],
    "an empty dict": {},
    "a dict": {"a": 1.0},
    "an empty tuple": (),
    "an object": object(),
    "a class": int,
    "an empty array": np.array([]),
    "texts": np.array(["a", "b"]),
    "NaNs": np.full(3, np.nan),
    "a cube": np.zeros((2, 3, 4)),
    "a ragged list": [[1.0], [1.0, 2.0]],
    "a complex number": 1j,
    "a random key": jr.key(0),
    "a function without arguments": lambda: 0.0,
    "a proposal": WALK,
    "a kernel": STANDARD,
    "an estimator": ESTIMATOR,
    "a bound": BOUND,
    "a surrogate": ls.subsampling.Surrogate(of_row, log_density),
    "an involution": ls.Identity(),
}


def complaint(function, arguments, argument, bad):
    """What is wrong with how a bad value is met; None if it works, or is refused in words of ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ls.LockstepWarning)
            function(**arguments | {argument: bad})
    except Exception as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        where = trace.tb_frame.f_code.co_filename
        if any("was called with" in note for note in getattr(error, "__notes__", ())):
            return None  # a user's own function could not do with it, and the note names the function
        if not isinstance(error, OURS) or not where.startswith(PACKAGE):
            return f"raised {type(error).__name__} in {Path(where).name}: {error}"
        names = {"initial": "initial|position|start", "function": "function|involution"}.get(argument, argument)
        if not re.search(rf"\b({names})s?\b", str(error)):
            return f"does not name {argument}: {error}"
    return None


def test_good_values_work():
    for function, arguments in QUICK.items():
        if function not in (ls.load, ls.separation.summary, ls.separation.predict, ls.separation.bias):
            function(**arguments)


@hypothesis.settings(max_examples=400, derandomize=True, deadline=None, database=None)
@hypothesis.given(strategies.data())
def test_bad_values_work_or_are_named(data):
    function = data.draw(strategies.sampled_from(list(QUICK)))
    argument = data.draw(strategies.sampled_from(list(QUICK[function])))
    name = data.draw(strategies.sampled_from(list(BAD)))
    assert complaint(function, QUICK[function], argument, BAD[name]) is None, (function.__name__, argument, name)


@pytest.mark.study
@pytest.mark.parametrize("function", [*QUICK, *SLOW], ids=lambda function: function.__name__)
def test_all_bad_values_work_or_are_named(function):
    arguments = (QUICK | SLOW)[function]
    found = {
        (argument, name): told
        for argument in arguments
        for name, bad in BAD.items()
        if (told := complaint(function, arguments, argument, bad)) is not None
    }
    assert not found, "\n".join(f"{argument}={name}: {told}" for (argument, name), told in found.items())
