"""Bad values for every argument of every public constructor and function.

Each either works or raises an error of ours that names the argument: the last frame of its traceback is in the package,
so that no user has to read an error of a library that was handed something which nobody looked at. Every public
callable is tried with all its arguments, or is one of a few exceptions with a reason.
"""

from __future__ import annotations

import functools
import inspect
import re
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import hypothesis
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import strategies
from scipy import stats

import lockstep as ls

PACKAGE = str(Path(ls.__file__).parent)
OURS = (TypeError, ValueError, ImportError, FloatingPointError, ls.RunDirectoryError, ls.perfect.PerfectSimulationError)

# What an argument may be called in an error as well.
NAMES = {
    "initial": "initial|position|start",
    "function": "function|involution",
    "positions": "positions|initial",
    "worst": "worst|position|limit",
    "bottom": "bottom|top|position",
    "top": "bottom|top|position",
    "kernel": "kernel|position",
    "data": "data|log_likelihood",  # they are what this function makes of them
    "start": "start|position",
    "states": "states|state",
    "pairs": "pairs|calls",
    "values": "values|sample",
    "first": "first|initial|position|law",
    "second": "second|initial|position|law",
}


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def of_row(theta, row):
    return -0.5 * jnp.sum((row["y"] - theta) ** 2)


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
POSITIONS, CANDIDATES = np.array([0.1, 0.3]), np.array([0.2, 0.5])
SUBSAMPLE = {
    "log_prior": log_density,
    "log_likelihood": of_row,
    "data": ROWS,
    "count": 2,
    "control": None,
    "weights": None,
    "initial": 0.0,
    "progress": False,
}
FINITE = ls.standard(lambda state: jnp.log(jnp.array([1 / 3, 2 / 3]))[state], ls.Finite(MATRIX))
PAIRS = {"kernel": STANDARD, "initial": 0.0, "seed": 0, "most": 200, "progress": False}
RUN = {"initial": 0.0, "draws": 2, "chains": 1, "seed": 0, "warmup": 0, "thin": 1, "progress": False}

VALUES = np.array([0, 1, 0, 1])

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
    ls.averaged_exchange: LIKELIHOOD | {"count": 2},
    ls.bridged_exchange: LIKELIHOOD | {"bridges": 2, "transition": lambda key, theta, x: x},
    ls.noisy_exchange: LIKELIHOOD | {"count": 2, "two_sided": True},
    ls.auxiliary_variable: LIKELIHOOD | {"auxiliary_log_density": lambda x: -(x**2)},
    ls.pseudo_marginal: {"log_estimate": lambda key, theta: 0.0, "proposal": WALK, "correlation": 0.0, "draw": None},
    ls.tunamh: MINIBATCH | {"chi": 0.1},
    ls.poisson_product: MINIBATCH,
    ls.screened: {"kernel": STANDARD, "surrogate": log_density},
    ls.Cycle: {"kernels": [STANDARD]},
    ls.Mixture: {"kernels": [STANDARD], "weights": [1.0]},
    ls.MetropolisHastings: {"proposal": WALK, "ratio": STANDARD.ratio},
    ls.Coupled: {"first": STANDARD, "second": NAIVE},
    ls.Shadowed: {"exact": STANDARD, "approximate": NAIVE},
    ls.until.error: {"share": 0.1},
    ls.until.ess: {"size": 100},
    ls.until.seconds: {"number": 1.0},
    ls.Lagged: {"kernel": STANDARD, "lag": 1},
    ls.MaximallyCoupled: {"first": STANDARD, "second": STANDARD},
    ls.Carried: {"evaluate": STANDARD.ratio.evaluate, "correlation": None},
    ls.Estimated: {"estimator": ESTIMATOR, "rule": ls.rules.plug_in},
    ls.Randomized: {"base": None, "randomization": DENSITY},
    ls.Screened: {"base": STANDARD.ratio, "surrogate": log_density},
    ls.Universal: {"estimator": ESTIMATOR, "bound": 1.0},
    ls.Density: {"sample": one_sample, "log_density": one_sample, "involution": ls.Identity(), "draw": None},
    ls.Reflection: {"total": 1.0},
    ls.Mobius: {"a": 1.0, "b": 1.0, "c": 1.0},
    ls.Transform: {"function": lambda x: -x, "is_of_x_alone": True},
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
    ls.estimators.subsample: SUBSAMPLE,
    ls.subsampling.Bound: {"row": lambda row: 1.0, "distance": lambda position, candidate: 1.0},
    ls.subsampling.Surrogate: {"row": of_row, "total": log_density},
    ls.subsampling.logistic: {"features": lambda row: row["x"]},
    ls.subsampling.robust: {"features": lambda row: row["x"], "degrees": 4.0, "scale": 1.0},
    ls.models.Ising: {"shape": (3, 3), "periodic": False, "field": 0.0, "limit": 64},
    ls.models.Potts: {"shape": (3, 3), "colours": 3, "periodic": False, "sweeps": None, "limit": 64},
    ls.models.ERGM: {
        **{"terms": ["edges"], "graph": None, "nodes": 4, "directed": False, "toggles": 10, "edges": None},
        **{"attributes": None, "missing": None, "fixed": None, "max_degree": None},
    },
    ls.models.ConwayMaxwellPoisson: {"design": np.ones((4, 1))},
    ls.check.stationary: {"matrix": MATRIX},
    ls.check.stationarity_error: {"matrix": MATRIX, "weights": [1 / 3, 2 / 3]},
    ls.check.balance_error: {"matrix": MATRIX, "weights": [1 / 3, 2 / 3]},
    ls.check.total_variation: {"first": [0.5, 0.5], "second": [0.25, 0.75]},
    ls.check.asymptotic_variance: {"matrix": MATRIX, "function": [0.0, 1.0]},
    ls.check.as_law: {"law": (np.arange(2.0), [0.5, 0.5])},
    ls.models.terms.stars: {"k": 2},
    ls.models.terms.out_stars: {"k": 2},
    ls.models.terms.in_stars: {"k": 2},
    ls.models.terms.gwesp: {"decay": 0.5},
    ls.models.terms.gwdegree: {"decay": 0.5},
    ls.models.terms.gwodegree: {"decay": 0.5},
    ls.models.terms.gwidegree: {"decay": 0.5},
    ls.models.terms.nodematch: {"values": VALUES, "by_category": False},
    ls.models.terms.nodecov: {"values": VALUES},
    ls.models.terms.nodeocov: {"values": VALUES},
    ls.models.terms.nodeicov: {"values": VALUES},
    ls.models.terms.nodefactor: {"values": VALUES},
    ls.models.terms.nodeofactor: {"values": VALUES},
    ls.models.terms.nodeifactor: {"values": VALUES},
    ls.models.terms.absdiff: {"values": VALUES},
    ls.models.terms.edgecov: {"matrix": np.zeros((4, 4)), "name": None},
    ls.models.terms.degree: {"k": 2},
    ls.models.terms.out_degree: {"k": 2},
    ls.models.terms.in_degree: {"k": 2},
    ls.models.terms.gwdsp: {"decay": 0.5},
    ls.ratios.Exactly: {"log_density": log_density},
    ls.ratios.Noisily: {"log_estimate": lambda key, theta: 0.0, "draw": None},
}


@functools.cache
def independent_run():
    """A run of many draws that do not depend on one another."""
    kernel = ls.standard(log_density, ls.IndependentNormal(0.0, 1.0))
    return ls.sample(kernel, 0.0, draws=600, chains=2, progress=False)


@functools.cache
def good_run(make=ls.naive):
    """A run, made when one is needed first; of a coupled kernel for what looks at pairs."""
    kernel = make(STANDARD, NAIVE) if make is ls.Shadowed else make(ESTIMATOR, WALK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ls.LockstepWarning)
        return ls.sample(kernel, 0.0, draws=200, chains=2, progress=False)


@functools.cache
def coupled_run():
    return ls.sample(ls.Coupled(STANDARD, STANDARD), 0.0, draws=50, chains=2, progress=False)


@functools.cache
def fitted():
    return ls.estimators.subsample(**SUBSAMPLE | {"control": "taylor"})


def numpyro_model(x, y=None):
    import numpyro

    slope = numpyro.sample("slope", numpyro.distributions.Normal(0.0, 1.0))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", numpyro.distributions.Normal(slope * x, 1.0), obs=y)


def from_numpyro(model, data, shared):
    return ls.interop.numpyro(model, np.arange(4.0), y=data, shared=shared)


PARAMETERS = ls.Parameters(theta=stats.norm(0, 1))


def simulated_there(key, theta):
    return theta + jr.normal(key, (3,))


def with_parameter(prior, log_prior, dims, coords):
    return ls.Parameters(prior=prior, log_prior=log_prior, dims=dims, coords=coords)


def pymc_model():
    import pymc

    with pymc.Model() as model:
        pymc.Normal("theta", 0.0, 1.0)
    return model


def started(positions):
    return ls.sample(STANDARD, ls.Starts(positions), draws=2, chains=2, progress=False)


def started_as_pairs(first, second):
    return ls.sample(ls.Coupled(STANDARD, NAIVE), ls.Pair(first, second), draws=2, chains=1, progress=False)


def with_law(values, weights):
    noisy = ls.estimators.mean(
        lambda noise, position, candidate: noise, 1, draw=lambda key, count: jr.normal(key, (1,))
    )
    return ls.check.transition_matrix(ls.naive(noisy, ls.Finite(MATRIX)), np.arange(2), ls.check.Law(values, weights))


def joined(first, second):
    return ls.check.product(first, second)


def written(how):
    """A method of a run that writes a file, as a function of the path."""

    def write(path):
        return getattr(good_run(), how)(path)

    write.__name__ = how
    return write


class Later(NamedTuple):
    """A good value that takes time to make: made when it is needed first."""

    make: Callable[[], Any]


QUICK |= {
    ls.random.normal: {"key": jr.key(0), "shape": (3,)},
    ls.random.exponential: {"key": jr.key(0), "shape": (3,)},
    ls.interval: {"lower": 0.0, "upper": 1.0},
    ls.simplex: {"size": 3},
    ls.ordered: {"size": 2},
    with_parameter: {"prior": ls.positive, "log_prior": None, "dims": None, "coords": None},
    ls.synthetic_likelihood: {
        "simulate": simulated_there,
        "summaries": None,
        "observed": np.ones(3),
        "count": 10,
        "shrinkage": 0.1,
        "draw": None,
    },
    ls.abc: {
        "simulate": simulated_there,
        "distance": jnp.sum,
        "epsilon": 0.1,
        "count": 2,
        "weight": "normal",
        "draw": None,
    },
}
STATES = {
    "initial": lambda noise, theta: noise,
    "transition": lambda noise, x, theta, t: x + noise,
    "log_observation": lambda theta, x, y, t: -0.5 * (y - x) ** 2,
    "draw": lambda key, count: jr.normal(key, (count,)),
    "log_initial": lambda theta, x: -0.5 * x**2,
    "log_transition": lambda theta, x, previous, t: -0.5 * (x - previous) ** 2,
}
PARTICLES = {
    "log_prior": log_density,
    "model": ls.models.StateSpace(**STATES),
    "data": np.arange(4.0),
    "proposal": WALK,
    "particles": 4,
    "times": None,
    "inputs": None,
}
QUICK |= {
    ls.models.StateSpace: STATES | dict.fromkeys(("observe", "propose", "propose_initial", "look_ahead", "log_bound")),
    ls.particle_gibbs: PARTICLES,
    ls.particle_marginal: PARTICLES
    | {"correlation": 0.0, "paths": False, "resampling": "systematic", "threshold": 1.0},
}
SLOW = {
    ls.sample: (
        RUN
        | {
            "kernel": STANDARD,
            "directory": None,
            "executor": None,
            "adapt": False,
            "changed": "refuse",
            "on_error": "raise",
            "until": None,
            "ahead": 1,
            "names": None,
            "devices": None,
        }
    ),
    ls.sweep: (
        RUN
        | {
            "make": lambda scale: STANDARD,
            "grid": {"scale": [1.0]},
            "directory": None,
            "executor": None,
            "changed": "refuse",
            "until": None,
        }
    ),
    ls.unbiased: PAIRS
    | {"function": None, "pairs": 2, "lag": 2, "start": 2, "end": 4, "directory": None, "executor": None},
    ls.convergence: PAIRS | {"pairs": 2, "lag": 2, "directory": None, "executor": None},
    started: {"positions": np.zeros(2)},
    started_as_pairs: {"first": 0.0, "second": 0.0},
    ls.subsampled: {
        "log_prior": log_density,
        "log_likelihood": of_row,
        "data": ROWS,
        "count": 2,
        "proposal": "normal",
        "initial": 0.0,
        "progress": False,
    },
    ls.subsampling.find_mode: {
        "log_prior": log_density,
        "log_likelihood": of_row,
        "data": ROWS,
        "initial": 0.0,
        "progress": False,
    },
    ls.subsampling.diagnose: {
        "estimator": Later(fitted),
        "proposal": WALK,
        "start": np.array(0.0),
        "mean": np.zeros(1),
        "factor": np.eye(1),
    },
    ls.check.involution: {
        "function": lambda x: -x,
        "x": np.ones(2),
        "position": None,
        "candidate": None,
        "tolerance": 1e-8,
    },
    ls.check.balance: {
        "kernel": ls.randomized(log_density, WALK, DENSITY),
        "positions": POSITIONS,
        "candidates": CANDIDATES,
        "replicates": 4,
        "seed": 0,
        "tolerance": 1e-6,
    },
    ls.check.symmetry: {
        "estimator": ESTIMATOR,
        "positions": POSITIONS,
        "candidates": CANDIDATES,
        "replicates": 4,
        "seed": 0,
    },
    ls.check.curvature: {
        "run": Later(independent_run),
        "log_prior": log_density,
        "model": SimpleNamespace(
            log_likelihood=lambda theta, x: theta * x, simulate=lambda key, theta: theta + jr.normal(key, (), float)
        ),
        "data": np.array(0.3),
        "simulations": 2,
        "points": 1200,
        "level": 0.01,
        "statistic": None,
        "seed": 0,
    },
    ls.surrogates.quadratic: {"run": Later(good_run), "ridge": 1.0},
    ls.check.calibration: {
        "parameters": PARAMETERS,
        "simulate": simulated_there,
        "make": lambda data: ls.standard(log_density, WALK),
        "replicates": 20,
        "draws": 7,
        "thin": 1,
        "false_alarms": 0.001,
        "seed": 0,
    },
    ls.check.minorization: {
        "kernel": ls.randomized(log_density, WALK, DENSITY),
        "positions": POSITIONS,
        "candidates": CANDIDATES,
        "law": None,
        "replicates": 4,
        "seed": 0,
    },
    ls.check.peskun: {
        "kernel": FINITE,
        "standard": FINITE,
        "states": np.arange(2),
        "law": None,
        "functions": None,
        "tolerance": 1e-12,
    },
    ls.check.transition_matrix: {"kernel": FINITE, "states": np.arange(2), "law": None},
    with_law: {"values": np.array([[-1.0], [1.0]]), "weights": [0.5, 0.5]},
    joined: {"first": (np.arange(2.0), [0.5, 0.5]), "second": None},
    ls.separation.first_passage: {
        "kernel": ls.Shadowed(STANDARD, NAIVE),
        "initial": 0.0,
        "replicates": 2,
        "seed": 0,
        "limit": 1000,
        "progress": False,
    },
    ls.separation.summary: {"run": Later(functools.partial(good_run, ls.Shadowed))},
    ls.separation.predict: {
        "run": Later(good_run),
        "kernel": NAIVE,
        "pairs": 8,
        "replicates": 8,
        "seed": 0,
        "calls": None,
        "seconds": None,
        "against": "penalty",
    },
    ls.separation.distance: {"run": Later(coupled_run), "order": 1.0},
    ls.compare: {"runs": Later(lambda: [good_run()])},
    ls.separation.bias: {"run": Later(good_run), "functions": None, "times": 2, "draws": 100, "seed": 0},
    ls.models.goodness_of_fit: {
        "model": ls.models.ERGM(["edges"], np.zeros((4, 4)), toggles=10),
        "run": np.zeros((2, 1)),
        "simulations": 2,
        "seed": 0,
    },
    ls.perfect.propp_wilson: {
        "key": jr.key(0),
        "kernel": FINITE,
        "bottom": 0,
        "top": 1,
        "limit": 64,
        "is_below": None,
    },
    ls.perfect.murdoch_green: {
        "key": jr.key(0),
        "kernel": ls.standard(log_density, ls.IndependentNormal(0.0, 1.5)),
        "worst": 0.0,
        "log_bound": 0.0,
        "limit": 64,
    },
    ls.advise: {
        "estimator": ESTIMATOR,
        "proposal": WALK,
        "initial": 0.0,
        "updates": 1000,
        "separations": 10.0,
        "seed": 0,
        "progress": False,
        "calls": 400,
        "seconds": None,
        "rules": (),
    },
    from_numpyro: {"model": numpyro_model, "data": np.arange(4.0), "shared": ()},
    ls.interop.pymc: {"model": Later(pymc_model)},
    written("report"): {"path": "report.html"},
    written("to_netcdf"): {"path": "run.nc"},
    written("to_zarr"): {"path": "run.zarr"},
}
# What takes its arguments on trust, and is looked at where it is used: tried there.
TRIED_BY = {
    ls.Starts: started,
    ls.Pair: started_as_pairs,
    ls.check.Law: with_law,
    ls.check.product: joined,
    ls.interop.numpyro: from_numpyro,
    ls.Parameters: with_parameter,
}
NOT_TRIED = {
    "a base that users inherit from": (
        *(ls.Estimator, ls.Evaluation, ls.Involution, ls.Kernel, ls.Proposal, ls.Randomization, ls.Ratio, ls.Rule),
    ),
    "a support as it is": (ls.real, ls.positive),
    "made by the package, for users to read": (
        *(ls.Run, ls.Sweep, ls.Info, ls.State, ls.Noise, ls.check.Finding, ls.perfect.PerfectDraw),
        *(ls.interop.RowModel, ls.interop.DensityModel, ls.models.terms.Term, ls.models.GoodnessOfFit),
        *(ls.subsampling.Diagnosis, ls.subsampling.Mode, ls.subsampling.Taylor),
        *(ls.separation.Bias, ls.separation.Biases, ls.separation.FirstPassage, ls.separation.Separation),
        *(ls.separation.Prediction, ls.separation.RulePrediction, ls.separation.Distance, ls.Comparison),
        ls.surrogates.Quadratic,
    ),
    "what a part returns in a compiled loop, looked at there": (ls.Decision, ls.Estimate),
    "a rule, called in a compiled loop with an estimate of the package": (
        *(ls.rules.plug_in, ls.rules.penalty, ls.rules.penalty_series, ls.rules.corrected),
    ),
    "an error or a warning": (
        *(ls.Interrupted, ls.RunDirectoryError, ls.LockstepWarning, ls.perfect.PerfectSimulationError),
    ),
    "for classes of a user's own, as they are written": (ls.part, ls.static),
    "whose bad arguments have a file of their own, interop/test_interop_particles.py": (ls.interop.particles,),
    "a formula in compiled loops, which answers bad numbers with -1": (
        ls.models.leaps.binomial,
        ls.models.leaps.poisson,
    ),
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


def arguments_of(function):
    arguments = (QUICK | SLOW)[function]
    return {name: value.make() if isinstance(value, Later) else value for name, value in arguments.items()}


MOST_SECONDS = 120  # of computation, far more than anything here takes


class Hanging(Exception):
    """Raised by the clock in what takes longer than that."""


def on_alarm(number, frame):
    raise Hanging


def complaint(function, arguments, argument, bad):
    """What is wrong with how a bad value is met; None if it works, or is refused in words of ours."""
    before = signal.signal(signal.SIGPROF, on_alarm)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
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
        names = NAMES.get(argument, argument)
        if not re.search(rf"\b({names})s?\b", str(error)):
            return f"does not name {argument}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


def public(module):
    """The public callables of a module and of the modules in it."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for value in (getattr(module, name) for name in names):
        if inspect.ismodule(value):
            yield from public(value)
        elif callable(value):
            yield value


def test_every_public_callable_is_tried_or_excepted_for_a_reason():
    excepted = [value for values in NOT_TRIED.values() for value in values]
    tried = [*QUICK, *SLOW, *TRIED_BY]
    for value in public(ls):
        is_tried = any(value is one for one in tried)
        is_excepted = any(value is one for one in excepted)
        is_without = not (is_excepted or inspect.signature(value).parameters)
        assert is_tried + is_excepted + is_without == 1, value


def test_every_argument_is_tried():
    for function, arguments in (QUICK | SLOW).items():
        assert set(inspect.signature(function).parameters) == set(arguments), function


def test_good_values_work():
    for function, arguments in QUICK.items():
        if function is not ls.load:
            function(**arguments)


@hypothesis.settings(max_examples=400, derandomize=True, deadline=None, database=None)
@hypothesis.given(strategies.data())
def test_bad_values_work_or_are_named(data):
    function = data.draw(strategies.sampled_from(list(QUICK)))
    argument = data.draw(strategies.sampled_from(list(QUICK[function])))
    name = data.draw(strategies.sampled_from(list(BAD)))
    assert complaint(function, QUICK[function], argument, BAD[name]) is None, (function.__name__, argument, name)


def test_an_object_is_refused_by_slower_functions_before_they_compute():
    for function, arguments in SLOW.items():
        if any(isinstance(value, Later) for value in arguments.values()) or function.__name__.startswith(
            ("report", "to_")
        ):
            continue
        for argument in arguments:
            assert complaint(function, arguments, argument, BAD["an object"]) is None, (function.__name__, argument)


@pytest.mark.study
@pytest.mark.parametrize("function", SLOW, ids=lambda function: function.__name__)
def test_slower_good_values_work(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ls.LockstepWarning)
        function(**arguments_of(function))


@pytest.mark.study
@pytest.mark.parametrize("function", [*QUICK, *SLOW], ids=lambda function: function.__name__)
def test_all_bad_values_work_or_are_named(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of the bad values are paths
    arguments = arguments_of(function)
    found = {
        (argument, name): told
        for argument in arguments
        for name, bad in BAD.items()
        if (told := complaint(function, arguments, argument, bad)) is not None
    }
    assert not found, "\n".join(f"{argument}={name}: {told}" for (argument, name), told in found.items())
