"""Inner chains that are too short, on the marriages of the Florentine families: which the test of curvature sees.

The model is edges + gwesp(0.25) with the prior N(0, 10 I), on the 16 families of the published study (Kang, Hughes and
Haran, 2021), Pucci without a tie. One inner cycle is one transition of the model, ``simulate(key, theta, x)``: as many
proposals to toggle a tie as there are pairs of families, 120.

How many draws: those of a run on end count as few, for its statistic grows with the number of independent ones. Thinned
by 20 they are nearly independent, and 50,000 of them have the power of many more on end. Five simulations at each make
variance times cost smallest, if a simulation costs as much as ten cycles and its noise has six times the variance that
the draws themselves have.
"""

from __future__ import annotations

from types import SimpleNamespace

import jax.numpy as jnp
import networkx
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.check.batches import mean_is_zero
from lockstep.check.curvature import _entries, _posterior
from lockstep.core.precision import double_precision

pytestmark = [pytest.mark.study, pytest.mark.optimized]  # which takes long: compiled as users' programs are


SIMULATIONS = 5
LONG = 1_200  # toggles: ten cycles
WALK = ls.RandomWalk(np.array([[0.6, 0.0], [-0.3, 0.35]]))  # of the shape that the posterior has
START = np.array([-1.5, 0.0])


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 10


def marriages(toggles):
    graph = networkx.florentine_families_graph()
    graph.add_node("Pucci")
    return ls.models.ERGM(["edges", "gwesp(0.25)"], graph, toggles=toggles)


def checked(run, points=50_000):
    finding = ls.check.curvature(
        run, log_prior, marriages(LONG), marriages(1).data, simulations=SIMULATIONS, points=points
    )
    print(finding)
    assert finding.values["points"] == points
    return finding


def run_with(inner, seed):
    model = marriages(1)
    kernel = ls.exchange(log_prior, model.log_likelihood, model.simulate, model.data, WALK, inner=inner)
    return ls.sample(kernel, START, draws=1_000, chains=50, thin=20, warmup=200, seed=seed, progress=False)


@pytest.mark.parametrize(("inner", "is_seen"), [(1, True), (2, True), (5, False)])
def test_one_and_two_inner_cycles_are_rejected_and_five_are_not(inner, is_seen):
    print(f"\ninner={inner}:")
    assert bool(checked(run_with(inner, seed=0))) is not is_seen


def test_long_simulations_pass_and_a_posterior_shifted_by_half_a_standard_deviation_does_not():
    """Of a tenth of the draws it is seen already."""
    kernel = marriages(LONG).posterior(log_prior, WALK)
    run = ls.sample(kernel, START, draws=1_000, chains=50, thin=5, warmup=100, seed=0, progress=False)
    assert checked(run)
    for component in (0, 1):
        shifted = run.positions.copy()
        shifted[..., component] += 0.5 * shifted[..., component].std()
        assert not checked(SimpleNamespace(positions=shifted, info=None), points=5_000)


def test_a_hundred_runs_with_long_simulations_are_rejected_about_once():
    """Four chains of 250 draws each time, thinned by 5: all chains are run at once, and all draws simulated at once.

    A run that is refused, for its draws seem too dependent, is not rejected. Fewer simulations are as good here: they
    cost power, and nothing is there to be seen.
    """
    model = marriages(LONG)
    kernel = model.posterior(log_prior, WALK)
    run = ls.sample(kernel, START, draws=250, chains=400, thin=5, warmup=50, seed=0, progress=False)
    with double_precision():
        posterior = _posterior(log_prior, model, model.data, None, jnp.asarray(START))
        entries = _entries(posterior, run.positions, 3, 1)
    found = []
    for four in np.split(entries, 100):
        try:
            found.append(mean_is_zero(four, ["1", "12", "2"]).p_value)
        except ValueError:
            continue
    p_values = np.array(found)
    print(f"\nbelow 1 %: {np.sum(p_values < 0.01)} of {len(p_values)}; below 5 %: {np.sum(p_values < 0.05)}")
    assert len(p_values) >= 90
    # More than 4 have probability 0.3 %, if 1 is expected; more than 12 have 0.15 %, if 5 are.
    assert np.sum(p_values < 0.01) <= 4 and np.sum(p_values < 0.05) <= 12
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
